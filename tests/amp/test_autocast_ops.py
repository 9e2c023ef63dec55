"""Every op of the policy table gives the same under our autocast as under torch's."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.utils._pytree import tree_leaves, tree_map

from ampcourse.amp import op_samples, probing
from ampcourse.amp.autocast import autocast
from ampcourse.amp.composites import DIFFERENCES
from ampcourse.amp.op_policy import policy
from tests.amp.twin_regions import LOWER, Region, bits, outcome

#: Their output is memory as it was found.
UNINITIALISED = {"empty_like", "new_empty", "new_empty_strided", "_efficientzerotensor"}


def with_gradients(call: op_samples.Call, low: torch.dtype) -> Callable[[Region], Any]:
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


def differences(call: op_samples.Call, low: torch.dtype, values_alone: bool) -> list[str]:
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


def plain(call: op_samples.Call, low: torch.dtype, region: Region) -> Any:
    with region("cpu", low):
        return call.func(*op_samples.fresh(call.args), **op_samples.fresh(call.kwargs))


def check(recorded: dict[str, list[op_samples.Call]], values_alone: bool) -> int:
    """Assert that no call differs; return how many ops were tried."""
    tried, found = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, calls in recorded.items():
            if name in UNINITIALISED or name in DIFFERENCES:
                continue
            tried += 1
            for call in calls:
                for low in LOWER:
                    found += differences(call, low, values_alone)
    assert not found, "\n".join(found)
    return tried


def test_ops_of_each_list_and_each_kind_of_composite_give_torchs_bits() -> None:
    x, square, images = torch.rand(3, 4), torch.rand(3, 3) + torch.eye(3), torch.rand(1, 2, 5, 5)
    made: list[tuple[Any, ...]] = [
        (torch.addmm, square, square, square),
        (torch.conv2d, images, torch.rand(3, 2, 2, 2)),
        (functional.conv_transpose2d, images, torch.rand(2, 3, 2, 2), torch.rand(3)),
        (torch.linalg.multi_dot, [square, x, x.t()]),
        (torch.einsum, "ab,cb,a->ca", x, x, torch.rand(3)),
        (torch.einsum, "...i,...i->...", x, x),
        (torch.einsum, "ii->i", square),
        (torch.einsum, "bA,Bb", x.t(), x),
        (torch.einsum, "ij,kl->", x, x),
        (torch.tensordot, x, x, 2),
        (torch.tensordot, x, x, 0),
        (torch.tensordot, x, torch.rand(3, 1), ([0, 1], [0, 1])),
        (torch.tensordot, x, torch.rand(4, 3), ([0, 1], [1, 0])),
        (torch.tensordot, x[..., None], torch.rand(4, 1, 3), ([0, 1], [2, 0])),
        (torch.tensordot, x.t(), torch.rand(4, 3), 2),
        (torch.tensordot, *[torch.ones(2, 3).to(torch.int32)] * 2, ([0, 1], [0, 1])),
        (torch.tensordot, torch.ones(2, 3).int(), torch.ones(3, 2).int(), ([0, 1], [1, 0])),
        (torch.tensordot, torch.ones(2, 3).int(), torch.ones(1, 3).int(), ([0, 1], [0, 1])),
        *[(torch.linalg.matrix_power, square, n) for n in (-2, 0, 1, 2, 3, 6, 7)],
        *[(functional.pad, images, (1, 1, 1, 1), mode) for mode in ("constant", "circular")],
        *[(functional.pad, images, (1, 1, 1, 1), mode) for mode in ("reflect", "replicate")],
        (functional.pad, images[None], (1, 1, 1, 1, 0, 0), "reflect"),
        (functional.max_pool3d, images, 2),
        (functional.cross_entropy, square, torch.tensor([0, 2, 1])),
        (functional.binary_cross_entropy, square / 3, square / 3),
        (functional.multi_margin_loss, square, torch.tensor([0, 2, 1])),
        (torch.linalg.inv, square),
        (torch.fft.rfft, x),
        (torch.prod, x, 1),
        (torch.stack, [x, x]),
        (torch.index_copy, x, 0, torch.tensor([1]), torch.rand(1, 4)),
        (torch.softmax, x, 0),
        (functional.layer_norm, x, (4,)),
        (functional.group_norm, images, 2),
        (torch.logsumexp, x, 0),
        (functional.normalize, x),
        (functional.interpolate, images, (7, 7), None, "bilinear"),
        (torch.Tensor.__matmul__, x, x.t()),
        (torch.Tensor.__rpow__, x, 2.0),
        (torch.Tensor.unflatten, x, 1, (2, 2)),
        (torch.meshgrid, [x[0], x[1]]),
        (functional.scaled_dot_product_attention, x[None], x[None], x[None]),
    ]
    recorded = {str(i): [op_samples.Call(f, tuple(a), {})] for i, (f, *a) in enumerate(made)}
    assert check(recorded, values_alone=True) == len(made)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_op_gives_torchs_bits_and_gradients() -> None:
    assert check(op_samples.recorded_calls(), values_alone=True) > 500


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
