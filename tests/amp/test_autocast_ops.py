"""Every op of the policy table gives the same under our autocast as under torch's."""

from __future__ import annotations

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


def differences(call: probing.Call, low: torch.dtype) -> list[str]:
    """Return in words what the four variants of a call differ in, forward and backward."""
    found = []
    for variant in probing.variants(call, low):
        for kind, run in (
            ("value", lambda region, call=variant: plain(call, region, low)),
            ("gradient", with_gradients(variant, low)),
        ):
            ours, theirs = outcome(run, autocast), outcome(run, torch.autocast)
            if "raises" in (ours[0], theirs[0]):
                same = ours[0] == theirs[0]
            else:
                same = ours == theirs
            if not same:
                types = [str(x.dtype) for x in tree_leaves(variant.args) if hasattr(x, "dtype")]
                found.append(f"{call.name} of {', '.join(types)}, {low}: another {kind}")
    return found


def plain(call: probing.Call, region: Region, low: torch.dtype) -> Any:
    with region("cpu", low):
        return call.func(*probing.fresh(call.args), **probing.fresh(call.kwargs))


def check(samples: int, calls: int, leave_out: set[str]) -> None:
    seen, found = set(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, recorded in probing.recorded_calls(samples, calls).items():
            if name in leave_out:
                continue
            seen.add(name)
            for call in recorded[:calls]:
                for low in LOWER:
                    found += differences(call, low)
    assert not found, "\n".join(found)
    assert len(seen) > 400


#: Backward formulas of complicated ops, slow in float16 and tried under the slow mark.
def test_every_op_gives_torchs_bits_once() -> None:
    check(1, 1, UNINITIALISED | DIFFERENCES.keys())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_op_gives_torchs_bits_on_many_samples() -> None:
    check(probing.SAMPLES, probing.CALLS, UNINITIALISED | DIFFERENCES.keys())


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
