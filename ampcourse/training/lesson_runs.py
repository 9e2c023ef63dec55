"""The training runs of lessons 04 and 05, recorded, for slides that must not wait for training.

`python -m ampcourse.training.lesson_runs` trains once more, a minute or two, and rewrites both
records; the lessons themselves train live.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ampcourse.dynamic_range.histogram import ExponentHistogram
from ampcourse.dynamic_range.recorder import GradientRecorder

if TYPE_CHECKING:
    import torch

FOLDER = Path(__file__).parent / "lesson_runs"
KINDS = ("activation_gradient", "weight_gradient")
#: Lesson 04: a step is recorded every so often, the first and the last among them.
EVERY, STEPS = 40, 201
#: Lesson 05: seeds of each arm, steps of each, and steps at the small learning rate afterwards.
SEEDS, DEEP_STEPS, SLOW_STEPS = 3, 100, 40
#: The learning rates of the two parts.
RATE, SLOW_RATE = 2e-3, 5e-6
_LOOK = 10
#: Lesson 05 tries this scale, a power of two: on the plateau at the start, too large later.
TRIAL = 18
_BATCH = 64
_TWIN_SCALE = 2.0**18


def load(name: str) -> dict[str, Any]:
    """Return a record, "small_cnn" of lesson 04 or "deep_net" of lesson 05, as it was written.

    Its "hardware" says on what it was made. Raises ValueError for any other name.
    """
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.json")))
        raise ValueError(f"name={name!r} is no recorded run; there is {known}")
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def histograms(kind: str, step: int) -> dict[str, ExponentHistogram]:
    """Return lesson 04's histograms by layer or parameter, for a recorded step.

    `kind` is "activation_gradient" or "weight_gradient". Raises KeyError for others and for a
    step that was not recorded.
    """
    found = load("small_cnn")["histograms"][kind][str(step)]
    return {name: _from_plain(plain) for name, plain in found.items()}


def train_small_cnn() -> dict[str, Any]:
    """Train lesson 04's CNN in FP32; return its losses, its gradients' histograms and the twin."""
    import torch
    from torch.nn.functional import cross_entropy

    from ampcourse.training.models import small_cnn

    images, labels = _images()
    torch.manual_seed(0)
    cnn = small_cnn(8)
    optimizer = torch.optim.Adam(cnn.parameters(), lr=2e-3)
    losses = {}
    with GradientRecorder(cnn, every=EVERY, samples=None, kinds=KINDS) as recorder:
        for step in range(STEPS):
            chosen = torch.randint(0, len(images), (_BATCH,))
            cnn.zero_grad()
            loss = cross_entropy(cnn(images[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            if step in recorder.steps:
                losses[step] = round(loss.item(), 4)
    found = {
        kind: {
            step: {name: asdict(h) for name, h in recorder.histograms(kind, step).items()}
            for step in recorder.steps
        }
        for kind in KINDS
    }
    layers = [type(layer).__name__ for layer in cnn]
    twin = _zeros(cnn, images[:_BATCH], labels[:_BATCH])
    return {"hardware": _hardware(), "layers": layers, "losses": losses, "twin": twin,
            "histograms": found}  # fmt: skip


def train_deep_net() -> dict[str, Any]:
    """Train lesson 05's arms, three seeds each; return losses, zeros and what masters kept."""
    import torch

    from ampcourse.training.data import fashion_mnist
    from ampcourse.training.half import Arm, HalfTraining, small_images

    images, labels = small_images(fashion_mnist(use="subset"))
    arms = (
        Arm("FP32", dtype=torch.float32),
        Arm("scale 1, no masters", 1.0, master=False),
        Arm("scale 1, masters", 1.0),
        Arm("scale 2^12, no masters", 2.0**12, master=False),
        Arm("scale 2^12, masters", 2.0**12),
    )
    recorded: dict[str, Any] = {}
    for arm in arms:
        runs = [
            HalfTraining(arm, images, labels, seed).run(DEEP_STEPS, RATE, look=_LOOK)
            for seed in range(SEEDS)
        ]
        recorded[arm.name] = {
            "losses": [[round(loss, 4) for loss in run.losses] for run in runs],
            "end": [round(run.loss(), 4) for run in runs],
            "zeros": [[_mean(layer) for layer in zip(*run.zeros, strict=True)] for run in runs],
        }
    trial = HalfTraining(Arm("trial", 2.0**TRIAL), images, labels).run(DEEP_STEPS, RATE)
    nans = [step for step, loss in enumerate(trial.losses, 1) if math.isnan(loss)]
    return {
        "hardware": _hardware(),
        "arms": recorded,
        "slow": [_slow(run) for run in runs],
        "growth": [_growth(run, HalfTraining(run.arm, images, labels, seed).model)
                   for seed, run in enumerate(runs)],
        "trial": {"exponent": TRIAL, "first_nan": nans[0] if nans else None},
    }  # fmt: skip


def _growth(run: Any, start: torch.nn.Module) -> list[float]:
    """Return the largest gradient of one batch at the start and after training."""
    import torch
    from torch.nn.functional import cross_entropy

    largest = []
    for model in (start, run.model):
        loss = cross_entropy(model(run.images[:_BATCH]).float(), run.labels[:_BATCH])
        parts = torch.autograd.grad(run.arm.scale * loss, list(model.parameters()))
        found = max(part.abs().max().item() for part in parts)
        largest.append(round(found / run.arm.scale, 4))
    return largest


def _slow(run: Any) -> dict[str, Any]:
    """Go on from a network that has learned at a small learning rate, with masters and without."""
    found = {}
    for name, master in (("no masters", False), ("masters", True)):
        more = run.fork(master).run(SLOW_STEPS, SLOW_RATE, look=_LOOK)
        found[name] = {"unmoved": _mean(more.unmoved), "gain": round(run.loss() - more.loss(), 5)}
    return found


def _zeros(model: torch.nn.Module, x: torch.Tensor, labels: torch.Tensor) -> list[dict[str, Any]]:
    """Count, layer by layer, true zeros and what underflowed in an FP16 backward pass."""
    from copy import deepcopy

    half = deepcopy(model).half()
    without, twins = (output_gradients(half, x.half(), labels, s) for s in (1.0, _TWIN_SCALE))
    rows = []
    for gradient, twin in zip(without, twins, strict=True):
        lost = (gradient == 0) & (twin != 0)
        true = (gradient == 0) & (twin == 0)
        late = lost & (twin.abs() > 2.0**-25)
        counts = {"total": gradient.numel(), "true": int(true.sum())}
        rows.append(counts | {"underflowed": int(lost.sum()), "above": int(late.sum())})
    return rows


def output_gradients(
    model: torch.nn.Module, x: torch.Tensor, labels: torch.Tensor, scale: float
) -> list[torch.Tensor]:
    """Return the gradient of each layer's output for one batch, unscaled in FP32."""
    from torch.nn.functional import cross_entropy

    outputs = []
    for layer in model.children():
        x = layer(x)
        x.retain_grad()
        outputs.append(x)
    (scale * cross_entropy(x.float(), labels)).backward()
    return [y.grad.float() / scale for y in outputs if y.grad is not None]


def _images() -> tuple[torch.Tensor, torch.Tensor]:
    from ampcourse.training.data import fashion_mnist
    from ampcourse.training.loop import to_tensors

    data = fashion_mnist(use="subset")
    return to_tensors(data.train_images, data.train_labels, "cpu")


def _from_plain(plain: dict[str, Any]) -> ExponentHistogram:
    tuples = {name: tuple(plain[name]) for name in ("counts", "powers_of_two")}
    return ExponentHistogram(**{**plain, **tuples})


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def _hardware() -> str:
    import torch

    return f"CPU, {platform.machine()}, torch {torch.__version__.split('+')[0]}"


def main() -> None:
    """Train once more and write both records."""
    import torch

    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for name, train in (("small_cnn", train_small_cnn), ("deep_net", train_deep_net)):
        path = FOLDER / f"{name}.json"
        path.write_text(json.dumps(train(), separators=(",", ":")) + "\n", "utf-8")
        print(path, path.stat().st_size, "bytes", flush=True)


if __name__ == "__main__":
    main()
