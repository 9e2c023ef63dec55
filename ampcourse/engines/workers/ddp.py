"""Scene ddp: an inf on one rank, and gradients averaged in FP32 and in BF16."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn import functional as F

from ampcourse.distributed import Ranks
from ampcourse.engines.workers import setting

STEPS, BAD_STEP, BAD_RANK = 4, 1, 1

#: A damaged pixel. FP32 holds it, FP16 ends at 65504.
BAD_PIXEL = 70_000.0


def act(ranks: Ranks) -> dict[str, Any]:
    """Return both parts; see scenes.scene."""
    return {"inf": inf_on_one_rank(ranks), "all_reduce": all_reduce(ranks)}


def inf_on_one_rank(ranks: Ranks) -> dict[str, Any]:
    """Train with DDP, autocast to FP16 and torch's GradScaler; one rank gets a damaged image."""
    torch.manual_seed(0)
    model = setting.net()
    wrapped: Any = ranks.wrap(model)
    own_finite: list[bool] = []

    def look(bucket: Any) -> Any:
        own_finite.append(bool(bucket.buffer().isfinite().all()))
        return allreduce_hook(dist.group.WORLD, bucket)

    wrapped.register_comm_hook(None, lambda state, bucket: look(bucket))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    seen: dict[str, list[Any]] = {}
    for number, (images, labels) in enumerate(setting.batches(STEPS)):
        images, labels = setting.part(ranks, images.clone(), labels)
        if number == BAD_STEP and ranks.rank == BAD_RANK:
            images[0, 0, 14, 14] = BAD_PIXEL
        before = _weights(model)
        own_finite.clear()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(wrapped(images).float(), labels)
        scaler.scale(loss).backward()
        averaged = _finite(model)
        scaler.step(optimizer)
        scaler.update()
        now = _weights(model)
        of_all = setting.by_rank(ranks, now)
        seen_now = {
            "loss": loss.item(),
            "own_gradients_finite": all(own_finite),
            "averaged_gradients_finite": averaged,
            "skipped": now.equal(before),
            "scale": scaler.get_scale(),
            "same_weights": all(one.equal(now) for one in of_all),
        }
        for name, value in seen_now.items():
            seen.setdefault(name, []).append(value)
    same = seen.pop("same_weights")
    every = setting.by_rank(ranks, seen)
    return {
        "damaged": {"rank": BAD_RANK, "step": BAD_STEP, "pixel": BAD_PIXEL},
        **{name: [one[name] for one in every] for name in seen},
        "same_weights": same,
    }


def all_reduce(ranks: Ranks) -> dict[str, Any]:
    """Average the ranks' FP32 gradients in FP32 and in BF16, as DDP and its bf16 hook do."""
    model = setting.net()
    images, labels = setting.part(ranks, *setting.batches(1)[0])
    F.cross_entropy(model(images), labels).backward()
    own = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    of_all = torch.stack(setting.by_rank(ranks, own)).double()
    exact, size = of_all.mean(0), of_all.abs().mean(0)
    found: dict[str, Any] = {"elements": own.numel(), "ranks": ranks.world_size}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        sent = own.to(dtype).div_(ranks.world_size)
        dist.all_reduce(sent)
        error = (sent.double() - exact).abs()
        some = size > 0
        found[name] = {
            "bytes": sent.numel() * sent.element_size(),
            "relative_error": float(error.norm() / exact.norm()),
            # A mean of numbers that nearly cancel can be wrong by any factor of itself.
            "largest_relative_error": float((error / exact.abs())[exact != 0].max()),
            "largest_error_over_inputs": float((error[some] / size[some]).max()),
            "share_changed": float((sent.float() != exact.float()).double().mean()),
        }
    return found


def _finite(model: torch.nn.Module) -> bool:
    """Return whether all gradients of the model are finite."""
    gradients = (p.grad for p in model.parameters() if p.grad is not None)
    return all(bool(g.isfinite().all()) for g in gradients)


def _weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


if __name__ == "__main__":
    setting.play(act)
