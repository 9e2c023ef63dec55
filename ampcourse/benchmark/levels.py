"""One of Apex's levels for a model among others in the same process.

`opt_levels` keeps its state in one place for the whole process, as Apex did. A Level takes its
part out after `initialize` and puts it back while it is in force, patched functions included.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import nn

from ampcourse.amp import opt_levels
from ampcourse.amp.opt_levels.optimizers import state_of
from ampcourse.amp.opt_levels.patches import patch_torch
from ampcourse.amp.opt_levels.state import _amp_state


class Level:
    """A model and its optimizer, brought to a level in place; in force only where asked."""

    def __init__(self, name: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        with _kept():
            opt_levels.initialize(model, optimizer, opt_level=name, verbosity=0)
            self._state = _taken()
            # Takes initialize's patches off torch's functions; the casts stay with us.
            opt_levels.deactivate()

    @property
    def scale(self) -> float:
        """The loss scale."""
        return float(self._state["loss_scalers"][0].loss_scale())

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Put the level's state in its place, and O1's casts around torch's functions."""
        with _kept():
            _put(self._state)
            handle = self._state["handle"]
            patches = None if handle is None else patch_torch(handle)
            try:
                yield
            finally:
                if patches is not None:
                    patches.remove()

    def scale_loss(self, loss: torch.Tensor) -> AbstractContextManager[torch.Tensor]:
        """Return a context that gives the scaled loss and, on leaving, unscales its gradients."""
        return opt_levels.scale_loss(loss, self._optimizer)

    def state_dict(self) -> dict[str, Any]:
        """Return the loss scale, what it has counted, and O2's masters, which Apex left out."""
        with _kept():
            _put(self._state)
            return {"scale": opt_levels.state_dict(), "masters": self._masters()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state_dict; model and, after `make_ready`, optimizer have been loaded."""
        with _kept():
            _put(self._state)
            opt_levels.load_state_dict(state["scale"])
        with torch.no_grad():
            for master, saved in zip(self._masters(), state["masters"], strict=True):
                master.copy_(saved)

    def make_ready(self) -> None:
        """Make the masters, else made at the first backward pass.

        An optimizer's state takes the type of its parameters when it is loaded: with masters, FP32.
        """
        state_of(self._optimizer).make_ready()

    def _masters(self) -> list[torch.Tensor]:
        self.make_ready()
        return [parameter.detach() for parameter in opt_levels.master_params(self._optimizer)]


_NAMES = ("opt_properties", "loss_scalers", "handle", "verbosity")


def _taken() -> dict[str, Any]:
    return {name: getattr(_amp_state, name) for name in _NAMES}


def _put(state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(_amp_state, name, value)


@contextmanager
def _kept() -> Iterator[None]:
    before = _taken()
    try:
        yield
    finally:
        _put(before)
