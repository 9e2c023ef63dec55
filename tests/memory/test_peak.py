"""The rehearsed peak is what torch's profiler sees allocated, and a GPU's allocator reports."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from ampcourse.memory.ledger import ledger
from ampcourse.memory.peak import course, predict
from ampcourse.memory.rehearsal import OPTIMIZERS, Watcher, default_loss, rehearse

SHAPE = (64, 3, 16, 16)


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(1024, 10),
    )


def measured(optimizer: str, recipe: str, shape: tuple[int, ...]) -> int:
    """Return the peak that torch's profiler sees in the second step on the CPU."""
    model, x = net(), torch.randn(shape)
    made = OPTIMIZERS[optimizer](model.parameters())
    for group in made.param_groups:
        group["foreach"] = True  # as on a GPU, and as rehearsed

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=recipe == "autocast"):
            loss = default_loss(model(x))
        loss.backward()
        del loss
        made.step()

    step()
    made.zero_grad()
    state = [t for s in made.state.values() for t in s.values() if isinstance(t, torch.Tensor)]
    there = [*model.parameters(), *model.buffers(), x, *state]
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step()
    assert seen.profiler is not None
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak + sum(t.untyped_storage().nbytes() for t in there)


@pytest.mark.parametrize(
    ("optimizer", "recipe", "batch", "room"),
    [
        # The peak is in the optimizer, or in the backward pass; room for what kernels work in.
        ("adam", "fp32", 1, 1.001),
        ("momentum", "fp32", 64, 1.01),
        ("adam", "fp32", 64, 1.01),
        # BF16 kernels of CPUs take FP32 buffers of the images' size.
        ("adam", "autocast", 1, 1.001),
        ("momentum", "autocast", 1, 1.001),
        ("momentum", "autocast", 64, 1.3),
    ],
)
def test_the_prediction_is_the_profilers_peak_but_for_kernels_buffers(
    optimizer: str, recipe: str, batch: int, room: float
) -> None:
    shape = (batch, *SHAPE[1:])
    predicted = predict(net(), optimizer, recipe, shape).peak
    # oneDNN lays out weights anew, in buffers that depend on the CPU and the number of threads.
    with torch.backends.mkldnn.flags(enabled=False):
        seen = measured(optimizer, recipe, shape)
    assert predicted <= seen <= room * predicted


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
@pytest.mark.parametrize("recipe", ["fp32", "half"])
def test_weights_and_state_are_the_ledgers(optimizer: str, recipe: str) -> None:
    model = nn.Sequential(nn.Linear(64, 64, bias=False))
    found = predict(model, optimizer, recipe, (1, 64))
    rows = {row.what: row.bytes * 64 * 64 for row in ledger(optimizer, recipe).rows}
    state = sum(size for what, size in rows.items() if what not in ("weights", "gradients"))
    assert found.bytes["weights"] == rows["weights"]
    counter = 4 if optimizer == "adam" else 0  # its count of steps
    assert found.bytes["optimizer state"] == state + counter
    assert found.bytes["gradients"] == rows["gradients"]


def test_o2_keeps_batch_norms_in_fp32_and_masters_of_the_rest() -> None:
    model = nn.Sequential(nn.Linear(64, 32, bias=False), nn.BatchNorm1d(32))
    found = predict(model, "momentum", "O2", (8, 64)).bytes
    assert found["master weights"] == 4 * 64 * 32
    assert found["weights"] == 2 * 64 * 32 + 4 * 2 * 32
    assert found["buffers"] == 4 * 2 * 32 + 8
    assert found["optimizer state"] == 4 * (64 * 32 + 2 * 32)


def test_autocast_halves_activations_but_not_weights_or_state() -> None:
    layers = (nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()) for _ in range(4))
    model, shape = nn.Sequential(*layers), (64, 8, 32, 32)

    def one(output: torch.Tensor) -> torch.Tensor:
        return output[0, 0, 0, 0].float()

    fp32, amp = (predict(model, "adam", r, shape, loss=one).bytes for r in ("fp32", "autocast"))
    assert fp32["weights"] == amp["weights"]
    assert fp32["optimizer state"] == amp["optimizer state"]
    # Four ReLUs' outputs; under autocast the input's 16-bit copy is a fifth.
    images = 64 * 8 * 32 * 32
    assert 0 <= fp32["activations"] - 4 * images * 4 < 100
    assert 0 <= amp["activations"] - 2 * images * 5 < 100
    assert amp["weight casts"] > 0


def test_the_model_is_not_touched() -> None:
    model = net()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for recipe in ("autocast", "O2"):
        predict(model, "adam", recipe, SHAPE)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None and type(p) is nn.Parameter for p in model.parameters())


def test_a_step_too_large_for_any_machine_can_be_predicted() -> None:
    found = predict(net(), "sgd", "fp32", (10**6, *SHAPE[1:]))
    assert found.peak > 2**34


def test_a_function_of_the_parameters_can_make_the_optimizer() -> None:
    def make(parameters: object) -> torch.optim.Optimizer:
        return torch.optim.RMSprop(parameters, momentum=0.9)

    found = predict(nn.Linear(64, 64, bias=False), make, "fp32", (1, 64))
    assert found.bytes["optimizer state"] == 2 * 4 * 64 * 64 + 4


def test_tied_weights_count_once() -> None:
    first, second = (nn.Linear(64, 64, bias=False) for _ in range(2))
    second.weight = first.weight
    found = predict(nn.Sequential(first, second), "sgd", "O2", (1, 64))
    assert (found.bytes["weights"], found.bytes["master weights"]) == (2 * 4096, 4 * 4096)


def test_embeddings_take_integers() -> None:
    model = nn.Sequential(nn.Embedding(100, 16), nn.Linear(16, 4))
    assert predict(model, "adam", "half", torch.zeros(8, 5, dtype=torch.long)).peak > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: predict(net(), "adam", "O1", SHAPE), "'O1' is unknown; choose from fp32"),
        (lambda: predict(net(), "lion", "fp32", SHAPE), "'lion' is unknown; choose from sgd"),
    ],
)
def test_unknown_names_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_rehearsal_allocates_no_memory_for_numbers() -> None:
    ready = rehearse(net(), SHAPE, watcher=Watcher())
    assert all("Fake" in type(p.data).__name__ for p in ready.model.parameters())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("recipe", ["fp32", "autocast"])
def test_on_a_gpu_the_allocators_peak_is_near_the_prediction(recipe: str) -> None:
    from torchvision.models import resnet50

    model, x = resnet50(num_classes=10), torch.randn(32, 3, 224, 224, device="cuda")
    predicted = predict(model, "momentum", recipe, x.shape).peak
    model = model.cuda()
    optimizer = OPTIMIZERS["momentum"](model.parameters())
    labels = torch.zeros(32, dtype=torch.long, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        with torch.autocast("cuda", torch.float16, enabled=recipe == "autocast"):
            loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        del loss
        optimizer.step()
        optimizer.zero_grad()
    # Above by the room cuDNN's kernels work in, which depends on the ones it chose.
    assert predicted <= torch.cuda.max_memory_allocated() <= 1.25 * predicted


@pytest.mark.parametrize(
    ("fused", "bytes_each"), [(True, 16), (False, 20)], ids=["fused", "foreach"]
)
def test_adams_step_needs_four_bytes_more_by_foreach_than_what_it_keeps(
    fused: bool, bytes_each: int
) -> None:
    layers = nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)])
    count = sum(p.numel() for p in layers.parameters())
    adam = functools.partial(torch.optim.Adam, fused=fused or None)
    found = predict(layers, adam, "autocast", (1, 256)).phases["optimizer"]
    assert found / count == pytest.approx(bytes_each, rel=0.01)


def test_with_the_weights_behind_and_the_activations_in_front_backward_holds_most() -> None:
    front = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4))
    model = nn.Sequential(*front, nn.Flatten(), nn.Linear(16 * 8 * 8, 512))
    phases = predict(model, "momentum", "fp32", (16, 3, 32, 32)).phases
    assert phases["backward"] > 1.2 * max(phases["forward"], phases["optimizer"])


def test_the_peak_is_that_of_the_fullest_phase() -> None:
    found = predict(net(), "momentum", "fp32", SHAPE)
    assert found.peak == max(found.phases.values()) == found.phases[found.phase]


@pytest.mark.parametrize("recipe", ["fp32", "autocast", "O2"])
def test_the_course_of_a_step_rises_to_the_predicted_peak(recipe: str) -> None:
    told = predict(net(), "adam", recipe, SHAPE)
    held = course(net(), "adam", recipe, SHAPE)
    assert max(sum(sizes.values()) for _, sizes in held) == told.peak
    for phase, most in told.phases.items():
        assert max(sum(sizes.values()) for name, sizes in held if name == phase) == most


def test_a_step_begins_with_what_is_kept_and_ends_with_gradients_beside_it() -> None:
    model = net()
    (_, first), *_, (phase, last) = course(model, "adam", "fp32", SHAPE)
    parameters = sum(p.nbytes for p in model.parameters())
    kept = {"weights": parameters, "gradients": 0, "activations": 0}
    assert {use: first[use] for use in kept} == kept
    assert {use: last[use] for use in kept} == kept | {"gradients": parameters}
    assert first["optimizer state"] == last["optimizer state"] >= 2 * parameters
    assert phase == "optimizer"
