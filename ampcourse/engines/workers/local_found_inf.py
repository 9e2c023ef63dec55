"""Scene local_found_inf: each rank checks its own part of the gradients for inf."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.nn import functional as F

from ampcourse.distributed import Ranks
from ampcourse.engines.engine import local
from ampcourse.engines.fsdp import shard
from ampcourse.engines.workers import setting

STEPS, BAD_STEP, BAD_RANK, SCALE, RATE = 6, 2, 1, 1024.0, 0.05


def act(ranks: Ranks) -> dict[str, Any]:
    """Return what happens when found_inf is kept, shared, and left to torch's GradScaler."""
    expected = _one_process()
    return {
        "damaged": {"rank": BAD_RANK, "step": BAD_STEP},
        **{mode: _train(ranks, mode, expected) for mode in ("kept", "shared", "torch")},
    }


def _train(ranks: Ranks, mode: str, expected: list[torch.Tensor]) -> dict[str, Any]:
    model: Any = shard(setting.net(), None)
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=RATE)
    scaler = _Scaler(mode)
    seen: dict[str, list[Any]] = {}
    errors, losses = [], []
    for number, (images, labels) in enumerate(setting.batches(STEPS)):
        images, labels = setting.part(ranks, images, labels)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        (loss * scaler.scale).backward()
        if number == BAD_STEP and ranks.rank == BAD_RANK:
            local(parameters[0].grad).view(-1)[0] = torch.inf
        own = any(not bool(local(p.grad).isfinite().all()) for p in parameters)
        before = [local(p.detach()).clone() for p in parameters]
        scaler.step(optimizer, own)
        moved = any(not local(p.detach()).equal(b) for p, b in zip(parameters, before, strict=True))
        seen_now = {"own_found_inf": own, "skipped": not moved, "scale": scaler.scale}
        for name, value in seen_now.items():
            seen.setdefault(name, []).append(value)
        whole = torch.cat([p.detach().full_tensor().flatten() for p in parameters])
        errors.append(float((whole - expected[number]).norm() / expected[number].norm()))
        losses.append(loss.item())
    every = setting.by_rank(ranks, {**seen, "loss": losses})
    return {
        **{name: [one[name] for one in every] for name in every[0]},
        "weights_error": errors,
    }


class _Scaler:
    """The loss scale of one rank: it decides alone ("kept"), with all ("shared"), or is torch's."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self._scale = SCALE
        self._torch: Any = torch.amp.GradScaler("cpu", init_scale=SCALE)
        if mode == "torch":
            self._torch.scale(torch.zeros(()))  # it makes its scale when first used

    @property
    def scale(self) -> float:
        return float(self._torch.get_scale()) if self.mode == "torch" else self._scale

    def step(self, optimizer: torch.optim.Optimizer, own: bool) -> None:
        if self.mode == "torch":
            self._torch.step(optimizer)
            self._torch.update()
            return
        found = torch.tensor(float(own))
        if self.mode == "shared":
            dist.all_reduce(found, dist.ReduceOp.MAX)
        if found:
            self._scale /= 2
            return
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                local(parameter.grad).div_(self._scale)
        optimizer.step()


def _one_process() -> list[torch.Tensor]:
    """Return the weights after each step of a process that has the whole batch and skips one."""
    model = setting.net()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    found = []
    for number, (images, labels) in enumerate(setting.batches(STEPS)):
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        if number != BAD_STEP:
            optimizer.step()
        found.append(torch.cat([p.detach().flatten().clone() for p in model.parameters()]))
    return found


if __name__ == "__main__":
    setting.play(act)
