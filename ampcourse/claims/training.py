"""Claims about how mixed precision trains: types, scales, devices, what has to be called."""

from __future__ import annotations

import importlib.util
import warnings
from typing import TYPE_CHECKING

from ampcourse.benchmark.records import records
from ampcourse.claims.claim import Claim, Finding

if TYPE_CHECKING:
    import torch

FIRST_STEP_IMAGES = 16


def needs_cuda() -> Finding:
    """One step with autocast and a GradScaler on the CPU, and a GPU without Tensor Cores."""
    import torch

    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before = net.weight.detach().clone()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8)
    with torch.autocast("cpu", torch.float16):
        out = net(torch.ones(2, 4))
    scaler.scale(out.float().sum()).backward()
    scaler.step(optimizer)
    ran = out.dtype is torch.float16 and not torch.equal(before, net.weight)
    old = next(result for result in records() if "1080 Ti" in result.hardware)
    return Finding(
        "wrong" if ran else "right",
        f"On this CPU a net under autocast just gave {out.dtype}, and a GradScaler made its step. "
        f"A {old.hardware}, without Tensor Cores, ran {old.speedup:.2f} times as fast with "
        f"{old.memory_change:+.0%} memory.",
    )


def gradient_type() -> Finding:
    """The type of a weight's gradient under autocast and in a model that was cast."""
    types = {
        "under autocast": _gradient(cast=False).dtype,
        "in a model cast to FP16, as in O2 and O3": _gradient(cast=True).dtype,
    }
    both = len(set(types.values())) == 2
    words = " and ".join(f"{dtype} {where}" for where, dtype in types.items())
    return Finding(
        "right in part" if both else "wrong",
        f"The article says both. A gradient has the type of its parameter: here {words}.",
    )


def communication() -> Finding:
    """The bytes of a gradient under autocast against FP32, which is what DDP sends."""
    gradient = _gradient(cast=False)
    share = gradient.element_size() / 4
    return Finding(
        "right" if share == 0.5 else "wrong",
        f"A gradient under autocast has {gradient.element_size()} bytes an element, {share:g} "
        "times FP32's, and that is what is sent unless a communication hook compresses it.",
    )


def fixed_scale() -> Finding:
    """Whether another loss scale helps a layer whose output overflows."""
    import torch

    x, weight = torch.full((1, 64), 200.0).half(), torch.full((64, 1), 10.0).half()
    losses = [(scale * (x @ weight).float()).item() for scale in (1, 1024, 2048)]
    same = len(set(losses)) == 1
    return Finding(
        "wrong" if same else "right in part",
        f"A layer that sums 64 products of 200 and 10 in FP16 gives {losses[0]} at scales 1, 1024 "
        "and 2048 alike: where the forward pass overflows no scale helps, and where gradients "
        "do, a dynamic scale finds its value. Look first who overflowed.",
    )


def half_weights() -> Finding:
    """The update of an FP16 weight of 1 by 2^-12, and what the paper reports."""
    import torch

    weight = torch.ones((), dtype=torch.float16)
    for _ in range(1000):
        weight = weight + 2**-12
    return Finding(
        "depends",
        f"After 1000 updates of 2^-12 an FP16 weight of 1 is {weight.item():g}: such updates are "
        "lost. How much accuracy that costs depends on the model; Micikevicius et al. (ICLR "
        "2018) report 80 %, relative, for one Mandarin speech model.",
    )


def quarter_of_gradients() -> Finding:
    """The share of a ResNet50's gradients that FP16 flushes, at its first step on FashionMNIST."""
    below, flushed = first_step_shares()
    return Finding(
        "depends",
        f"Their measurement cannot be looked up. Of a fresh ResNet50's gradients on "
        f"{FIRST_STEP_IMAGES} FashionMNIST images {100 * below:.2g} % lie below 2^-24 and are not "
        f"0; FP16 would make {100 * flushed:.2g} % zero. It is another number for every batch, "
        "step and loss.",
    )


def first_step_shares() -> tuple[float, float]:
    """Return which shares of all gradients lie below 2^-24, and are 0 in FP16, none of them 0."""
    import torch

    from ampcourse.benchmark.models import build
    from ampcourse.training.data import fashion_mnist
    from ampcourse.training.loop import to_tensors

    data = fashion_mnist(use="subset")
    chosen = slice(FIRST_STEP_IMAGES)
    images, labels = to_tensors(data.train_images[chosen], data.train_labels[chosen], "cpu")
    net = build("resnet50")
    torch.nn.functional.cross_entropy(net(images), labels).backward()
    gradients = torch.cat([p.grad.flatten() for p in net.parameters() if p.grad is not None])
    below = gradients.abs().lt(2.0**-24) & gradients.ne(0)
    flushed = gradients.half().eq(0) & gradients.ne(0)
    return below.float().mean().item(), flushed.float().mean().item()


def old_names() -> Finding:
    """What torch says of torch.cuda.amp today, and where Apex's amp went."""
    import torch

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(torch.cuda.amp, "autocast")(enabled=False)  # noqa: B009
    deprecated = any(issubclass(w.category, FutureWarning) for w in caught)
    apex = "is" if importlib.util.find_spec("apex") else "is not"
    return Finding(
        "wrong" if deprecated else "right",
        f"torch {torch.__version__} {'warns' if deprecated else 'does not warn'} at "
        "torch.cuda.amp.autocast: torch.amp takes the device's name. NVIDIA removed apex.amp on "
        f"2025-05-08 (apex#1896); apex {apex} installed here, and the one on PyPI is another.",
    )


def barrier() -> Finding:
    """Why DDP needs no barrier."""
    return Finding(
        "wrong",
        "The all-reduce in the backward pass already makes every rank wait for the others; a "
        "barrier adds a wait and no order.",
    )


def capability() -> Finding:
    """Three cards that a compute capability alone misjudges."""
    return Finding(
        "wrong",
        "By NVIDIA's tables GTX 16xx cards have 7.5 and no Tensor Cores, and a P100 has 6.0 and "
        "fast FP16 arithmetic; a T4, 7.5, says yes to BF16 by emulation (torch's "
        "is_bf16_supported has including_emulation). Ask for what is needed, and measure.",
    )


def _gradient(cast: bool) -> torch.Tensor:
    import torch

    net = torch.nn.Linear(4, 1)
    x = torch.ones(2, 4)
    if cast:
        net, x = net.half(), x.half()
    with torch.autocast("cpu", torch.float16, enabled=not cast):
        loss = net(x).float().sum()
    loss.backward()
    assert net.weight.grad is not None
    return net.weight.grad


TRAINING = (
    Claim("CUDA only", "AMP needs CUDA and a GPU with Tensor Cores", "07", "computed", needs_cuda),
    Claim(
        "gradient type",
        "Weights and gradients are FP32; gradients are FP16",
        "07",
        "computed",
        gradient_type,
    ),
    Claim(
        "quarter vanishes",
        "A quarter of a ResNet50's gradients on FashionMNIST lie below 2^-24",
        "04",
        "computed",
        quarter_of_gradients,
    ),
    Claim(
        "FP16 weights", "Updating FP16 weights costs 80 % accuracy", "05", "quoted", half_weights
    ),
    Claim(
        "scale 1024",
        "If Apex overflows, set the scale to 1024 or 2048",
        "09",
        "computed",
        fixed_scale,
    ),
    Claim(
        "old names",
        "One imports torch.cuda.amp, or amp from apex",
        "09",
        "computed",
        old_names,
    ),
    Claim("communication", "AMP halves communication", "13", "computed", communication),
    Claim("barrier", "Distributed training needs a barrier every step", "13", "reasoned", barrier),
    Claim(
        "capability 7",
        "A compute capability of 7 or more means that AMP is supported",
        "10",
        "quoted",
        capability,
    ),
)
