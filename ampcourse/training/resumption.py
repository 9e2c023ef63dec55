"""What a training depends on from here on, so that a resumed run can be held against the first."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional as F

from ampcourse.training.capstone import Batches, Run, fingerprint, start


def begun(seed: int, steps: int) -> Run:
    """Return a run of the small net, 200 images in batches of 40, that has made some steps.

    Its scale begins at 2^20, so that steps are skipped, and grows after three good ones.
    """
    run = start(
        "small", seed=seed, images=200, batch=40, epochs=4, scale=2.0**20, growth_interval=3
    )
    go_on(run, steps)
    return run


def go_on(run: Run, steps: int) -> None:
    """Make some steps with torch's scaler, whole batches, without clipping, and note each."""
    for _ in range(steps):
        images, labels = run.batches.draw()
        run.optimizer.zero_grad()
        with run.autocast():
            loss = F.cross_entropy(run.model(images), labels)
        before = run.scaler.get_scale()
        run.scaler.scale(loss).backward()
        run.scaler.step(run.optimizer)
        run.scaler.update()
        scale = run.scaler.get_scale()
        if scale >= before:
            run.scheduler.step()
        run.history.append({"loss": loss.item(), "scale": scale, "taken": scale >= before})


def future(run: Run) -> dict[str, Any]:
    """Return by name all on which a run's next steps depend; the run stays as it is.

    The batches are told by what they will draw, not by how that is kept: `position` is how many
    are left in this epoch, `order` which images they hold, `next orders` those of two more epochs.
    """
    momenta = [run.optimizer.state[p].get("momentum_buffer") for p in run.model.parameters()]
    scaler = run.scaler.state_dict()
    rest, after = _draws(run.batches)
    with torch.random.fork_rng(devices=[]):
        dropout = torch.rand(9).tolist()
    return {
        "weights": fingerprint(run.model),
        "momentum": [m if m is None else m.flatten().tolist() for m in momenta],
        "rate": run.optimizer.param_groups[0]["lr"],
        "schedule": run.scheduler.last_epoch,
        "scale": scaler.get("scale"),
        "count": scaler.get("_growth_tracker"),
        "position": len(rest),
        "order": rest,
        "next orders": after,
        "dropout": dropout,
        "history": list(run.history),
    }


def _draws(batches: Batches) -> tuple[list[list[int]], list[list[int]]]:
    """Return the places of the images of this epoch's remaining draws, and of two more epochs'."""
    other = copy.copy(batches)
    other.images, other.convert = torch.arange(len(batches.images)), torch.Tensor.long
    other.generator = torch.Generator()
    other.generator.set_state(batches.generator.get_state())
    before = other.generator.get_state()
    rest: list[list[int]] = []
    after: list[list[int]] = []
    while len(after) < 2 * len(batches):
        drawn = other.draw()[0].tolist()
        fresh = after or not torch.equal(other.generator.get_state(), before)
        (after if fresh else rest).append(drawn)
    return rest, after


def differences(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
    """Return the names under which two futures differ."""
    return [name for name in one if one[name] != two[name]]


def tried(action: Callable[..., object], *arguments: Any) -> str:
    """Return the name of the exception that an action raises, or "" if it raises none.

    NotImplementedError passes through: it says that a task is not begun.
    """
    try:
        action(*arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        return type(error).__name__
    return ""
