"""O1's patches: torch's functions replaced by ones that cast, and put back without a trace.

Which function gets which rule, and in which order, follows apex/amp/amp.py (NVIDIA/apex,
889d1712). Apex left its patches in for good.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import torch
from torch.nn.modules import rnn

from ampcourse.amp.opt_levels import lists
from ampcourse.amp.opt_levels.casts import Casts, Function, Rule, wrap

#: An owner of a function, the function's name in it, and the name of a rule of Casts.
Registration = tuple[Any, str, str]


class Patches:
    """Attributes of modules and classes that are replaced for a while."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute; an inherited one is covered."""
        self._replaced.append((owner, name, vars(owner).get(name, _INHERITED)))
        setattr(owner, name, value)

    def cover(self, owner: Any, names: Iterable[str], rule: Rule) -> None:
        """Put a rule before each of the functions that the owner has."""
        for name in names:
            function = getattr(owner, name, None)
            if function is not None:
                self.replace(owner, name, wrap(function, rule, name))

    def remove(self) -> None:
        """Put everything back, the last first."""
        for owner, name, value in reversed(self._replaced):
            if value is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._replaced.clear()


_INHERITED = object()


def patch_torch(casts: Casts, registered: Iterable[Registration] = ()) -> Patches:
    """Put the casts of O1 around torch's functions and methods, and around registered ones."""
    patches = Patches()
    for owner, name, rule in registered:
        patches.cover(owner, [name], getattr(casts, rule))
    functional, tensor = torch.nn.functional, torch.Tensor
    fp16 = *lists.TENSOR_FP16, *_methods(lists.TORCH_FP16)
    fp32 = *lists.TENSOR_FP32, *_methods(lists.TORCH_FP32)
    promoted = *lists.TENSOR_PROMOTED, *_methods(lists.TORCH_PROMOTED)
    patches.cover(functional, lists.FUNCTIONAL_FP16, casts.to_fp16)
    patches.cover(functional, lists.FUNCTIONAL_FP32, casts.to_fp32)
    patches.cover(functional, _shared(lists.TORCH_FP16), casts.to_fp16)
    patches.cover(functional, _shared(lists.TORCH_PROMOTED), casts.promote)
    patches.cover(torch, lists.TORCH_FP16, casts.to_fp16)
    patches.cover(torch, lists.TORCH_FP32, casts.to_fp32)
    patches.cover(tensor, fp16, casts.to_fp16)
    patches.cover(tensor, fp32, casts.to_fp32)
    patches.cover(torch, lists.TORCH_PROMOTED, casts.promote)
    patches.cover(torch, lists.TORCH_SEQUENCES, casts.promote_sequence)
    patches.cover(tensor, promoted, casts.promote)
    patches.cover(torch, _in_place(lists.TORCH_FP32), casts.refuse_fp16)
    patches.cover(tensor, _in_place(fp32), casts.refuse_fp16_first)
    patches.cover(tensor, _in_place((*fp16, *promoted)), casts.like_the_first)
    _patch_rnns(patches, casts)
    patches.cover(functional, lists.FUNCTIONAL_BANNED, casts.refuse_fp16)
    return patches


def _methods(names: Iterable[str]) -> list[str]:
    return [name for name in names if hasattr(torch.Tensor, name)]


def _shared(names: Iterable[str]) -> list[str]:
    # In Apex's days F.prelu and F.bilinear called torch's; now they are torch's, and a patch of
    # torch does not reach them. What torch.nn.functional lists itself is patched by now.
    functional = torch.nn.functional
    return [name for name in names if getattr(functional, name, None) is getattr(torch, name, 0)]


def _in_place(names: Iterable[str]) -> list[str]:
    return [f"{name}_" for name in names]


class _Backend:
    """What torch's RNN layers call, with room for other functions in place of some."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


def _patch_rnns(patches: Patches, casts: Casts) -> None:
    # torch.functional has the same backend, so only the RNN layers' reference to it is replaced.
    backend = _Backend(rnn._VF)
    rules = itertools.product(lists.RNNS, (("", casts.to_fp16_anew), ("_cell", casts.to_fp16)))
    for name, (suffix, rule) in rules:
        function: Function = getattr(rnn._VF, name + suffix)
        setattr(backend, name + suffix, wrap(function, rule, name + suffix))
    patches.replace(rnn, "_VF", backend)
