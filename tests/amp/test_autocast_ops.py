"""Every op of the policy table gives the same under our autocast as under torch's."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

from ampcourse.amp import probing
from ampcourse.amp.autocast import autocast
from ampcourse.amp.composites import DIFFERENCES
from ampcourse.amp.op_policy import policy
from tests.amp.twin_regions import LOWER, Region, bits, outcome

#: Their output is memory as it was found.
UNINITIALISED = {"empty_like", "new_empty", "new_empty_strided", "_efficientzerotensor"}


def with_gradients(call: probing.Call, low: torch.dtype) -> Callable[[Region], Any]:
    """Return a run of a call on leaves that require gradients, and of its backward."""

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        copy = value.detach().clone()
        return copy.requires_grad_() if copy.is_floating_point() else copy

    def run(region: Region) -> Any:
        args, kwargs = tree_map(leaf, (call.args, call.kwargs))
        with region("cpu", low):
            output = call.func(*args, **kwargs)
        outputs = [x for x in tree_leaves(output) if isinstance(x, torch.Tensor)]
        total = [x.abs().float().sum() for x in outputs if x.requires_grad]
        leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if total:
            torch.stack(total).sum().backward()
        return output, [x.grad for x in leaves if x.grad is not None]

    return run


def differences(call: probing.Call, low: torch.dtype, values_alone: bool) -> list[str]:
    """Return in words what the variants of a call differ in, forward and backward."""
    found = []
    for variant in probing.variants(call, low):
        runs = [with_gradients(variant, low)]
        if values_alone:
            runs.append(functools.partial(plain, variant, low))
        for run in runs:
            ours, theirs = outcome(run, autocast), outcome(run, torch.autocast)
            raises = "raises" in (ours[0], theirs[0])
            if (ours[0] if raises else ours) != (theirs[0] if raises else theirs):
                types = [x.dtype for x in tree_leaves(variant.args) if isinstance(x, torch.Tensor)]
                found.append(f"{call.name} of {types}, {low}: {ours[:1]} and {theirs[:1]}"[:300])
    return found


def plain(call: probing.Call, low: torch.dtype, region: Region) -> Any:
    with region("cpu", low):
        return call.func(*probing.fresh(call.args), **probing.fresh(call.kwargs))


def check(samples: int, calls: int, values_alone: bool) -> None:
    seen, found = set(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, recorded in probing.recorded_calls(samples, calls).items():
            if name in UNINITIALISED or name in DIFFERENCES:
                continue
            seen.add(name)
            for call in recorded[:calls]:
                for low in LOWER:
                    found += differences(call, low, values_alone)
    assert not found, "\n".join(found)
    assert len(seen) > 400


def test_every_op_gives_torchs_bits_once() -> None:
    check(1, 1, values_alone=False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_op_gives_torchs_bits_on_many_samples() -> None:
    check(probing.SAMPLES, probing.CALLS, values_alone=True)


def test_the_comparison_sees_a_type_a_bit_and_a_sign() -> None:
    one = torch.ones(2)
    assert bits(one) == bits(one.clone())
    assert bits(one) != bits(one.double())
    assert bits(torch.zeros(1)) != bits(-torch.zeros(1))
    assert bits(one) != bits(torch.tensor([1, 1 + 2**-23]))
    assert bits(torch.full((2,), torch.nan)) == bits(-torch.full((2,), torch.nan))


def test_the_table_has_the_ops_that_people_ask_about() -> None:
    cpu = policy("cpu")
    assert {"linear", "conv2d", "softmax", "layer_norm", "sum", "cat", "mse_loss"} <= cpu.keys()
