"""The dispatch mode that sees every op, forward and backward, and knows where each belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ampcourse.diagnose.op import Op, schema_of
from ampcourse.diagnose.place import Place, user_line

# Forward places are kept for the backward passes to come; a few hundred bytes each.
_MOST_PLACES = 100_000
_NO_NUMBER = 2**64 - 1  # the sequence number of nodes that no forward op made


class OpWatch(TorchDispatchMode):
    """Calls `look(op)` after each op on plain tensors, and `accumulated` for gradients.

    Autograd numbers its nodes as forward ops make them, so an op of a backward pass is placed by
    the number of the node that runs. torch.compile does not compile below such a mode: a
    compiled module runs op by op, as it was written.
    """

    def __init__(
        self,
        look: Callable[[Op], None],
        accumulated: Callable[[Any, list[torch.Tensor]], None],
    ) -> None:
        super().__init__()
        self._look = look
        self._accumulated = accumulated
        # The modules that run: path, class, and whether gradients were on when it was called.
        self.running: list[tuple[str, str, bool]] = []
        self._places: dict[int, Place] = {}
        self.paused = False

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let what happens inside be no part of what is watched: our own looking, and scalers'."""
        paused, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = paused

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        # Subclasses (fake, distributed, quantized tensors) are not numbers one can look at.
        if not self.paused and not types:
            self._see(func, args, kwargs or {}, output)
        return output

    def _see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        node = torch._C._current_autograd_node()
        if node is not None and hasattr(node, "variable"):
            self._accumulated(node, [a for a in args if isinstance(a, torch.Tensor)])
            return
        schema = schema_of(func)
        place = self._place(node)
        if schema.is_view:
            return
        training = self.running[-1][2] if self.running else torch.is_grad_enabled()
        op = Op(func, schema, args, kwargs, output, place, node, training)
        if op.outputs():
            self._look(op)

    def _place(self, node: Any) -> Place:
        """Return where we are; remember it for the backward pass of this op."""
        if node is not None:
            place = self._places.get(node._sequence_nr()) or self._here()
        else:
            place = self._here()
        if torch.is_grad_enabled():
            latest = torch._C._autograd._get_sequence_nr() - 1
            if node is None or latest > node._sequence_nr():
                self._places.setdefault(latest, place)
            if len(self._places) > _MOST_PLACES:
                for number in list(self._places)[: _MOST_PLACES // 2]:
                    del self._places[number]
        return place

    def _here(self) -> Place:
        path, kind = self.running[-1][:2] if self.running else ("", "")
        return Place(path, kind, user_line())
