"""Predict the most memory a training step needs, by rehearsing it without numbers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from ampcourse.memory.rehearsal import MakeOptimizer, Rehearsal, Watcher, rehearse

#: What memory is used for, in the order of a report.
USES = (
    "weights",
    "master weights",
    "buffers",
    "gradients",
    "optimizer state",
    "input",
    "weight casts",
    "activations",
    "temporary",
)


@dataclass(frozen=True)
class Prediction:
    """Bytes by use at the moment of a step when most are held, and in which phase that is.

    `phases` has the most bytes held in the "forward", "backward" and "optimizer" phase each.
    "activations" is whatever the forward pass made and still holds, "temporary" what backward
    pass and optimizer made beside gradients and state. A measured peak is higher: an allocator
    rounds up, and a convolution's kernel may ask for room to work in.
    """

    recipe: str
    phase: str
    bytes: dict[str, int]
    phases: dict[str, int]

    @property
    def peak(self) -> int:
        """The most bytes that are held at one time."""
        return sum(self.bytes.values())

    def __str__(self) -> str:
        lines = [f"{size / 2**20:10.1f} MiB  {use}" for use, size in self.bytes.items() if size]
        return "\n".join([*lines, f"{self.peak / 2**20:10.1f} MiB  peak, in the {self.phase}"])


def predict(
    model: nn.Module,
    optimizer: str | MakeOptimizer,
    recipe: str,
    inputs: torch.Tensor | Sequence[int],
    *,
    loss: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> Prediction:
    """Return the peak of a training step of `model`, by use, without running it.

    `optimizer` is "sgd", "momentum", "adam" or a function of the parameters; `recipe` is "fp32",
    "autocast", "O2" or "half"; `inputs` a tensor or its shape. The model may lie anywhere and is
    not touched. Raises ValueError for an unknown name. Before the first step the optimizer's
    state is not there yet; here it is.

    >>> predict(nn.Linear(8, 4), "adam", "fp32", (2, 8)).bytes["optimizer state"]  # and 2 counts
    296
    """
    watcher = _Lifetimes()
    rehearse(model, inputs, recipe, optimizer, watcher=watcher, loss=loss)
    return watcher.prediction(recipe)


def course(
    model: nn.Module,
    optimizer: str | MakeOptimizer,
    recipe: str,
    inputs: torch.Tensor | Sequence[int],
    *,
    loss: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> list[tuple[str, dict[str, int]]]:
    """Return what a training step of `model` holds from beginning to end, without running it.

    Each entry is (phase, bytes by use), the first before the forward pass, one more for each tensor
    that appears or goes. Arguments and errors are those of `predict`.

    >>> [phase for phase, _ in course(nn.Linear(8, 4), "sgd", "fp32", (2, 8))][:1]
    ['forward']
    """
    watcher = _Lifetimes()
    rehearse(model, inputs, recipe, optimizer, watcher=watcher, loss=loss)
    return watcher.course()


class _Lifetimes(Watcher):
    """Notes when each storage appears and goes, and what each is used for."""

    def __init__(self) -> None:
        super().__init__()
        self._events: list[tuple[int, int, str]] = []  # storage, bytes gained, phase
        self._uses: dict[int, str] = {}
        self._numbers: dict[int, int] = {}
        self._next = 0
        # The events of the step itself: before it all is put there, after it all goes.
        self._first, self._last = 0, 0

    def ready(self, rehearsal: Rehearsal) -> None:
        masters = [master for master, _ in rehearsal.masters]
        state = tree_leaves([*rehearsal.optimizer.state.values()])
        for use, tensors in (
            ("weights", rehearsal.model.parameters()),
            ("master weights", masters),
            ("buffers", rehearsal.model.buffers()),
            ("optimizer state", [t for t in state if isinstance(t, torch.Tensor)]),
            ("input", [rehearsal.inputs]),
        ):
            for tensor in tensors:
                self._uses.setdefault(self._number(tensor), use)
        for owner in (*rehearsal.model.parameters(), *masters):
            owner.register_post_accumulate_grad_hook(self._is_gradient)
        self._masters = masters
        self._first = len(self._events)

    def prediction(self, recipe: str) -> Prediction:
        """Return the uses at the moment when most bytes are held."""
        held = most = 0
        end = 0
        phases: dict[str, int] = {}
        for i, (_, size, phase) in enumerate(self._events):
            held += size
            phases[phase] = max(phases.get(phase, 0), held)
            if held > most:
                most, end = held, i + 1
        found = dict.fromkeys(USES, 0)
        for storage, size, _ in self._events[:end]:
            found[self._uses[storage]] += size
        return Prediction(recipe, self._events[end - 1][2], found, phases)

    def __exit__(self, *details: Any) -> None:
        self._last = len(self._events)
        super().__exit__(*details)

    def course(self) -> list[tuple[str, dict[str, int]]]:
        """Return phase and bytes by use, before the step and after each change in it."""
        held = dict.fromkeys(USES, 0)
        found = []
        for i, (storage, size, phase) in enumerate(self._events[: self._last], 1):
            held[self._uses[storage]] += size
            if i >= self._first:
                found.append((phase, dict(held)))
        return found

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                use = "activations" if self.phase == "forward" else "temporary"
                if func is torch.ops.aten._to_copy.default and self._is_weight(args[0]):
                    use = "weight casts" if self.phase == "forward" else "gradients"
                self._uses.setdefault(self._number(tensor), use)
        return result

    def _is_weight(self, tensor: torch.Tensor) -> bool:
        return self._uses.get(self._number(tensor)) == "weights"

    def _is_gradient(self, parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            self._uses[self._number(parameter.grad)] = "gradients"

    def _number(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._numbers:
            number = self._numbers[key] = self._next
            self._next += 1
            size = storage.nbytes()
            self._events.append((number, size, self.phase))
            weakref.finalize(storage, self._gone, key, number, size)
        return self._numbers[key]

    def _gone(self, key: int, number: int, size: int) -> None:
        del self._numbers[key]
        self._events.append((number, -size, self.phase))
