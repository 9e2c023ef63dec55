"""The same code under our autocast and under torch's, and a comparison of types and bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ampcourse.amp.autocast import autocast

LOWER = [torch.bfloat16, torch.float16]

#: A region's constructor: torch.autocast, or ours.
Region = Callable[..., Any]


def bits(value: Any) -> Any:
    """Return a result as plain data: type, shape and bytes of each tensor, NaNs made one."""
    if not isinstance(value, torch.Tensor):
        return type(value).__name__, repr(value)
    dense = value.detach().resolve_conj().resolve_neg()
    dense = dense.to_dense() if dense.layout != torch.strided else dense
    if dense.is_floating_point():
        dense = torch.where(dense.isnan(), torch.nan, dense)
    raw = dense.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return value.dtype, tuple(value.shape), value.requires_grad, raw


def outcome(run: Callable[[Region], Any], region: Region) -> Any:
    """Return the bits of what a run gives, or that it raises."""
    torch.default_generator.manual_seed(0)  # torch.manual_seed notes each call's stack
    try:
        result = run(region)
    except Exception as error:
        # Only that it fails: torch words the same failure differently when inputs are on other
        # types, and ours has words of its own for some.
        return "raises", type(error).__name__
    return [bits(leaf) for leaf in tree_leaves(result)]


def assert_twins(run: Callable[[Region], Any]) -> Any:
    """Assert that a run gives the same under both; return what it gives under ours."""
    ours, theirs = outcome(run, autocast), outcome(run, torch.autocast)
    assert [leaf[:3] for leaf in ours] == [leaf[:3] for leaf in theirs]
    assert ours == theirs
    assert ours[0] != "raises", ours
    return ours
