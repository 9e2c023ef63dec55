"""The parts of the capstone's script as this course writes them, for its demonstrations."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from ampcourse.training.capstone import SMALLEST_SCALE, Run, TrainingStopped

Step = Callable[[Run, torch.Tensor, torch.Tensor], tuple[float, bool]]


def train_step(run: Run, images: torch.Tensor, labels: torch.Tensor) -> tuple[float, bool]:
    """Train on one batch, piece by piece; return its mean loss and whether the step was taken."""
    run.optimizer.zero_grad()
    total = 0.0
    for x, y in zip(images.split(run.piece), labels.split(run.piece), strict=True):
        with run.autocast():
            loss = F.cross_entropy(run.model(x), y) * (len(x) / len(images))
        run.scaler.scale(loss).backward()
        total += loss.item()
    run.scaler.unscale_(run.optimizer)
    clip_grad_norm_(run.model.parameters(), run.max_norm)
    before = run.scaler.get_scale()
    if run.scaler.is_enabled() or math.isfinite(total):  # without a scaler nobody else looks
        run.scaler.step(run.optimizer)
    run.scaler.update()
    taken = math.isfinite(total) and run.scaler.get_scale() >= before
    if taken:
        run.scheduler.step()
    return total, taken


def half_repaired(run: Run, images: torch.Tensor, labels: torch.Tensor) -> tuple[float, bool]:
    """Take the lesson's given step with three repairs: zero_grad, and one clip, after unscaling."""
    run.optimizer.zero_grad()
    for x, y in zip(images.split(run.piece), labels.split(run.piece), strict=True):
        with run.autocast():
            scores = run.model(x)
        loss = F.cross_entropy(scores, y)
        run.scaler.scale(loss).backward()
    run.scaler.unscale_(run.optimizer)
    clip_grad_norm_(run.model.parameters(), run.max_norm)
    run.scaler.step(run.optimizer)
    run.scaler.update()
    run.scheduler.step()
    return loss.item(), True


def evaluate(run: Run) -> dict[str, float]:
    """Return accuracy and the macro averages of precision, recall and F1 on the test pictures."""
    from sklearn.metrics import precision_recall_fscore_support

    labels, guesses = [], []
    was_training = run.model.training
    run.model.eval()
    with torch.no_grad(), run.autocast():
        for images, theirs in run.test_batches():
            guesses += run.model(images).argmax(1).tolist()
            labels += theirs.tolist()
    run.model.train(was_training)
    scores = precision_recall_fscore_support(labels, guesses, average="macro", zero_division=0)
    right = sum(a == b for a, b in zip(labels, guesses, strict=True)) / len(labels)
    named = zip(("precision", "recall", "f1"), map(float, scores[:3]), strict=True)
    return {"accuracy": right, **dict(named)}


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write all that the run depends on; a file that is there is replaced whole or not at all."""
    batches = run.batches
    state: dict[str, Any] = {
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "scheduler": run.scheduler.state_dict(),
        "scaler": run.scaler.state_dict(),
        "order": batches.order,
        "position": batches.position,
        "generator": batches.generator.get_state(),
        "random": torch.get_rng_state(),
        "history": run.history,
    }
    if run.device == "cuda":
        state["random_cuda"] = torch.cuda.get_rng_state()
    draft = f"{os.fspath(path)}.part"
    torch.save(state, draft)
    os.replace(draft, path)


def load(run: Run, path: str | os.PathLike[str]) -> None:
    """Put a run into the state that `save` wrote."""
    state = torch.load(path, map_location="cpu")
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.batches.order, run.batches.position = state["order"], state["position"]
    run.batches.generator.set_state(state["generator"])
    run.history = state["history"]
    torch.set_rng_state(state["random"])
    if run.device == "cuda":
        torch.cuda.set_rng_state(state["random_cuda"])


def cause(run: Run, images: torch.Tensor, labels: torch.Tensor) -> str:
    """Return where the first number that is not finite arises on a batch.

    "input", "weights", "forward", "statistics" for what an earlier forward pass left in batch norm,
    or "gradients" if all of these are finite. The run stays as it was.
    """
    if not images.isfinite().all():
        return "input"
    if not all(p.isfinite().all() for p in run.model.parameters()):
        return "weights"
    model = copy.deepcopy(run.model)
    with torch.random.fork_rng(), torch.no_grad(), run.autocast():
        finite = all(
            F.cross_entropy(model(x), y).isfinite()
            for x, y in zip(images.split(run.piece), labels.split(run.piece), strict=True)
        )
    if not finite:
        return "forward"
    whole = all(values.isfinite().all() for values in run.model.buffers())
    return "gradients" if whole else "statistics"


def fit(run: Run, steps: int, step: Step = train_step) -> int:
    """Train for some steps, note each in `run.history`, and return how many were skipped.

    Raises TrainingStopped where the scale has fallen below SMALLEST_SCALE, and where a loss is not
    finite: that is so before it is scaled, and batch norm's statistics have seen it.
    """
    skipped = 0
    for _ in range(steps):
        images, labels = run.batches.draw()
        loss, taken = step(run, images, labels)
        scale = run.scaler.get_scale()
        run.history.append({"loss": loss, "scale": scale, "taken": taken})
        skipped += not taken
        if scale < SMALLEST_SCALE or not math.isfinite(loss):
            raise TrainingStopped(cause(run, images, labels), f"loss {loss:g}, scale {scale:g}")
    return skipped
