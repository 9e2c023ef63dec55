"""What the forward pass keeps for the backward pass, seen through saved-tensor hooks."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

#: What saved tensors are: results of layers, or autocast's 16-bit copies of weights.
KINDS = ("activation", "weight cast")


@dataclass(frozen=True)
class Saved:
    """A tensor that a module's operation saved for its backward pass.

    `storage` numbers the memory it lies in; `bytes` are those of the whole storage. `again` says
    that this memory was saved before and is still held, so that it costs nothing.
    """

    module: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    storage: int
    bytes: int
    again: bool


class SavedTensors:
    """A recorder of what the modules of `model` save while it is entered.

    Memory is counted by storage and once, however many operations save it. Parameters and buffers
    are left out: they are there anyway. Each tensor belongs to the innermost module that was
    running, and `calls` counts how often each module ran: a second time is a recomputation. Leave
    the recorder entered over the backward pass to see the memory being released: `live` is what
    is held now, `peak` the most that was. Memory that non-reentrant torch.utils.checkpoint saves
    again in the backward pass is not seen: its own hooks are in the way.

    >>> layer = nn.Linear(3, 5)
    >>> with SavedTensors(layer) as saved:
    ...     loss = layer(torch.ones(2, 3)).sum()
    >>> saved.live, saved.rows[0].shape  # the input: 2 x 3 numbers of 4 bytes
    (24, (2, 3))
    """

    def __init__(self, model: nn.Module) -> None:
        self.rows: list[Saved] = []
        self.calls: Counter[str] = Counter()
        #: Storage number and bytes of each module's first input, at its first call.
        self.inputs: dict[str, tuple[int, int]] = {}
        self.live = 0
        self.peak = 0
        self._model = model
        self._ids = _StorageNumbers()
        self._held: Counter[int] = Counter()
        self._running: list[str] = [""]
        self._stack = ExitStack()

    @property
    def bytes(self) -> int:
        """Bytes of everything saved, each storage once."""
        return sum(row.bytes for row in self.rows if not row.again)

    def by_module(self, kind: str | None = None) -> dict[str, int]:
        """Return the bytes each module was the first to save, in the order they were saved.

        With `kind`, "activation" or "weight cast", only those; ValueError for another.
        """
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind={kind!r} is unknown; choose from {', '.join(KINDS)}")
        found: dict[str, int] = {}
        for row in self.rows:
            if not row.again and kind in (None, row.kind):
                found[row.module] = found.get(row.module, 0) + row.bytes
        return found

    def __enter__(self) -> SavedTensors:
        model = self._model
        own = {self._ids.of(t) for t in (*model.parameters(), *model.buffers())}
        self._casts = _CastsSeen(self._ids, {self._ids.of(p) for p in model.parameters()})
        self._own = own
        for name, module in model.named_modules():
            self._stack.callback(module.register_forward_pre_hook(self._enters(name)).remove)
            leaves = module.register_forward_hook(self._leaves, always_call=True)
            self._stack.callback(leaves.remove)
        self._stack.enter_context(self._casts)
        self._stack.enter_context(saved_tensors_hooks(self._pack, _Held.tensor_of))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _enters(self, name: str) -> Callable[[nn.Module, tuple[Any, ...]], None]:
        def hook(module: nn.Module, args: tuple[Any, ...]) -> None:
            self._running.append(name)
            self.calls[name] += 1
            if name not in self.inputs and args and isinstance(args[0], torch.Tensor):
                size = args[0].untyped_storage().nbytes()
                self.inputs[name] = (self._ids.of(args[0]), size)

        return hook

    def _leaves(self, module: nn.Module, args: Any, output: Any) -> None:
        self._running.pop()

    def _pack(self, tensor: torch.Tensor) -> _Held:
        storage = self._ids.of(tensor)
        if storage in self._own:
            return _Held(tensor, None)
        again = self._held[storage] > 0
        size = tensor.untyped_storage().nbytes()
        kind = KINDS[storage in self._casts.storages]
        dtype = str(tensor.dtype).removeprefix("torch.")
        shape = tuple(tensor.shape)
        self.rows.append(Saved(self._running[-1], kind, dtype, shape, storage, size, again))
        self._held[storage] += 1
        if not again:
            self.live += size
            self.peak = max(self.peak, self.live)
        return _Held(tensor, lambda: self._released(storage, size))

    def _released(self, storage: int, size: int) -> None:
        self._held[storage] -= 1
        if not self._held[storage]:
            self.live -= size


class _Held:
    """What autograd holds in place of a saved tensor; when it goes, the tensor is released."""

    def __init__(self, tensor: torch.Tensor, released: Callable[[], None] | None) -> None:
        self.tensor = tensor
        self._released = released

    def tensor_of(self) -> torch.Tensor:
        return self.tensor

    def __del__(self) -> None:
        if self._released is not None:
            self._released()


class _StorageNumbers:
    """A number for each storage, never used again, though addresses are."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._next = 0

    def of(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        # _cdata is the address of the storage itself, which fake tensors have as well.
        key = storage._cdata
        if key not in self._numbers:
            self._numbers[key] = self._next
            self._next += 1
            weakref.finalize(storage, self._numbers.pop, key, None)
        return self._numbers[key]


class _CastsSeen(TorchDispatchMode):
    """Notes the storages that are conversions of parameters: autocast's weight casts."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first call imports all of torch._dynamo, which takes seconds

    def __init__(self, ids: _StorageNumbers, parameters: set[int]) -> None:
        super().__init__()
        self.storages: set[int] = set()
        self._ids = ids
        self._parameters = parameters

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and self._ids.of(args[0]) in self._parameters:
            self.storages.add(self._ids.of(result))
        return result
