"""Put our functions in the place of torch's for a while, and everything back afterwards."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler

# Said once per torch.compile while module hooks are in place; they are ours, and known to be.
_COMPILE_WARNING = ("ignore", ".*when there are global hooks on modules.*", UserWarning)


class Patches:
    """Attributes that were replaced, in the order of replacing."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        """Let `around(original, *args, **kwargs)` be called where owner.name was.

        Does nothing if the owner itself has no such attribute, as a class that inherits it.
        """
        if name not in vars(owner):
            return
        original = vars(owner)[name]

        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs)

        setattr(owner, name, wrapper)
        self._undo.append(lambda: setattr(owner, name, original))

    def on_undo(self, action: Callable[[], None]) -> None:
        """Have something else undone with the rest, such as a hook removed."""
        self._undo.append(action)

    def quieten(self) -> None:
        """Keep torch from warning about our hooks."""
        action, text, category = _COMPILE_WARNING
        warnings.filterwarnings(action, text, category)  # type: ignore[arg-type]
        filters: list[Any] = warnings.filters  # type: ignore[assignment]
        added = filters[0]
        self.on_undo(lambda: filters.remove(added) if added in filters else None)

    def undo(self) -> None:
        """Put everything back, last first."""
        while self._undo:
            self._undo.pop()()


def scaler_classes() -> list[type]:
    """Return the classes whose methods are a GradScaler's: torch's and the course's."""
    from ampcourse.amp.dynamic_scale import DynamicScale
    from ampcourse.amp.grad_scaler import GradScaler

    return [torch.amp.grad_scaler.GradScaler, GradScaler, DynamicScale]


def scheduler_classes() -> Iterator[type]:
    """Yield the scheduler classes that have a step of their own, those of the user's too."""
    pending: list[type] = [LRScheduler]
    while pending:
        cls = pending.pop()
        pending += cls.__subclasses__()
        if "step" in vars(cls):
            yield cls
