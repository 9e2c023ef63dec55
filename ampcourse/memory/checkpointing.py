"""Gradient checkpointing by hand: keep the inputs of segments, compute the rest a second time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ampcourse.memory.division import best_segments, bounds

__all__ = ["Checkpointed", "best_segments", "bounds", "chain", "checkpoint"]


def checkpoint(
    run: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, *, keep_rng: bool = True
) -> torch.Tensor:
    """Return run(x), holding only x for the backward pass, which runs `run` a second time.

    The second run gets the first one's state of autocast and, unless `keep_rng` is False, of the
    random generators: dropout must drop the same elements, or the gradients belong to another
    network. Whatever else `run` changes happens twice: a batch norm's running statistics move
    twice. For loss.backward() only, not torch.autograd.grad; for real training, with DDP say,
    torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False) does this and more. Raises
    ValueError if `run` changes x in place, since the second run would start from the changed one.
    """
    # A function of no input with requires_grad gives an output without: then no parameter inside
    # would get a gradient. This one number sees to it.
    reason = torch.ones((), requires_grad=True)
    before = x._version
    output: torch.Tensor = _Checkpoint.apply(run, _Surroundings(x.device, keep_rng), x, reason)
    if x._version != before:
        raise ValueError(
            "the checkpointed segment changes its input in place, and what it computes a second "
            "time would start from that; let the segment begin one layer earlier, or give its "
            "first layer inplace=False"
        )
    return output


class Checkpointed(nn.Module):
    """The layers of a chain in segments, all but the last of which are checkpointed.

    The last one is run as it is: its backward pass comes first, while all of it is still there.
    Names of the parameters stay those of the chain. A layer may occur twice; if it does so in two
    segments, the sums of its gradients may be rounded in another order. Raises ValueError for a
    number of segments that is not between 1 and the number of layers.
    """

    def __init__(self, chain: nn.Sequential, segments: int, *, keep_rng: bool = True) -> None:
        super().__init__()
        self.keep_rng = keep_rng
        self.bounds = bounds(len(chain), segments)
        for name, layer in chain._modules.items():  # named_children leaves out repeated layers
            self.add_module(name, layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the chain returns."""
        layers = list(self._modules.values())
        *first, last = [nn.Sequential(*layers[start:end]) for start, end in self.bounds]
        for segment in first:
            x = checkpoint(segment, x, keep_rng=self.keep_rng)
        output: torch.Tensor = last(x)
        return output


def chain(model: nn.Module) -> nn.Sequential:
    """Return a model as a chain of the same layers: nn.Sequential, or one of torchvision's ResNets.

    A ResNet's chain has each residual block as one layer, since its sum joins input and output,
    and one layer of the first convolution, its batch norm and its ReLU. Parameters are shared
    with the model. Raises ValueError for any other model.
    """
    if isinstance(model, nn.Sequential):
        return model
    stem = ("conv1", "bn1", "relu")
    rest = ("maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "fc")
    if not all(hasattr(model, name) for name in (*stem, *rest)):
        raise ValueError(
            f"{type(model).__name__} is no chain of layers that is known here; give nn.Sequential "
            "or a ResNet of torchvision"
        )
    stages = [getattr(model, f"layer{i}") for i in (1, 2, 3, 4)]
    blocks = [block for stage in stages for block in stage]
    first = nn.Sequential(*(getattr(model, name) for name in stem))
    last = (model.avgpool, nn.Flatten(1), model.fc)
    return nn.Sequential(first, model.maxpool, *blocks, *last)


class _Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, run: Any, surroundings: Any, x: torch.Tensor, reason: Any) -> Any:
        ctx.run, ctx.surroundings = run, surroundings
        ctx.save_for_backward(x)
        return run(x)  # autograd does not record inside a Function

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        [x] = ctx.saved_tensors
        again = x.detach().requires_grad_(x.requires_grad)
        with torch.enable_grad(), ctx.surroundings.restored():
            output = ctx.run(again)
        torch.autograd.backward(output, gradients)
        return None, None, again.grad, None


class _Surroundings:
    """What the result of a run depends on beside its input: random state and autocast."""

    def __init__(self, device: torch.device, keep_rng: bool) -> None:
        self.kind = device.type
        self.devices = [device] if device.type == "cuda" and keep_rng else []
        self.cpu = torch.get_rng_state() if keep_rng else None
        self.cuda = [torch.cuda.get_rng_state(device) for device in self.devices]
        self.autocast = {
            "dtype": torch.get_autocast_dtype(self.kind),
            "enabled": torch.is_autocast_enabled(self.kind),
            "cache_enabled": torch.is_autocast_cache_enabled(),
        }

    @contextmanager
    def restored(self) -> Iterator[None]:
        keep = self.cpu is not None
        with (
            torch.random.fork_rng(devices=self.devices, enabled=keep),
            torch.autocast(self.kind, **self.autocast),
        ):
            if self.cpu is not None:
                torch.set_rng_state(self.cpu)
            for device, state in zip(self.devices, self.cuda, strict=True):
                torch.cuda.set_rng_state(state, device)
            yield
