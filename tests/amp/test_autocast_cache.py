"""A weight is cast once per region, with torch's rules for which, and torch's surprises."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from ampcourse.amp.autocast import autocast
from tests.amp.twin_regions import Region

regions = pytest.mark.parametrize("region", [autocast, torch.autocast], ids=["ours", "torchs"])


class CountCasts(TorchDispatchMode):
    """Counts the casts of tensors of one shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape, self.count = shape, 0

    def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._to_copy.default and tuple(args[0].shape) == self.shape:
            self.count += 1
        return func(*args, **(kwargs or {}))


def weight_casts(layer: nn.Linear, context: AbstractContextManager[Any], uses: int) -> int:
    x = torch.randn(2, 4)
    with context, CountCasts((3, 4)) as casts:
        for _ in range(uses):
            layer(x)
    return casts.count


@regions
def test_a_weight_is_cast_once_in_a_region_and_anew_in_the_next(region: Region) -> None:
    layer = nn.Linear(4, 3)
    assert weight_casts(layer, region("cpu"), uses=3) == 1
    assert weight_casts(layer, region("cpu"), uses=2) == 1
    assert weight_casts(layer, region("cpu", cache_enabled=False), uses=3) == 3


@regions
def test_an_inner_region_has_the_outers_cache_setting_unless_it_says_so(region: Region) -> None:
    layer = nn.Linear(4, 3)
    with region("cpu", cache_enabled=False):
        assert weight_casts(layer, region("cpu"), uses=2) == 2
        assert weight_casts(layer, region("cpu", cache_enabled=True), uses=2) == 1


@regions
def test_after_an_inner_region_the_outers_cache_setting_is_back(region: Region) -> None:
    layer = nn.Linear(4, 3)
    with region("cpu"):
        with region("cpu", cache_enabled=False):
            pass
        with CountCasts((3, 4)) as casts:
            layer(torch.randn(2, 4))
            layer(torch.randn(2, 4))
    assert casts.count == 1


@regions
def test_a_region_left_by_an_exception_forgets_its_casts(region: Region) -> None:
    layer = nn.Linear(4, 3)
    wrong = torch.randn(2, 5)
    with pytest.raises(RuntimeError, match="shape"), region("cpu"):
        layer(wrong)  # the weight is cast before its product is refused
    assert weight_casts(layer, region("cpu"), uses=2) == 1


@regions
def test_weights_with_the_same_numbers_are_cast_one_by_one(region: Region) -> None:
    one, two, x = nn.Linear(4, 3), nn.Linear(4, 3), torch.randn(2, 4)
    two.load_state_dict(one.state_dict())
    with region("cpu"), CountCasts((3, 4)) as casts:
        total = one(x).sum() + two(2 * x).sum() + one(x).sum()
    total.backward()
    assert casts.count == 2
    assert one.weight.grad is not None
    assert two.weight.grad is not None
    assert torch.equal(one.weight.grad, two.weight.grad)


@regions
def test_both_uses_of_a_weight_share_the_recorded_cast(region: Region) -> None:
    weight = torch.randn(3, 3, requires_grad=True)
    with region("cpu"):
        product = torch.mm(weight, weight)
    left, right = (node for node, _ in product.grad_fn.next_functions)
    assert left is right
    product.sum().backward()
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32


@regions
@pytest.mark.parametrize(
    "make",
    [
        lambda w: w.detach(),  # requires no gradient
        lambda w: w * 1,  # no leaf
        lambda w: w.detach().double().requires_grad_(),  # not float32: not even cast
        lambda w: w.detach()[:].requires_grad_(),  # a view
    ],
)
def test_what_is_no_float32_leaf_that_requires_a_gradient_is_not_kept(
    region: Region, make: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    tensor = make(torch.randn(3, 4, requires_grad=True))
    square = torch.randn(4, 4, dtype=tensor.dtype)
    with region("cpu"), CountCasts((3, 4)) as casts:
        torch.mm(tensor, square)
        torch.mm(tensor, square)
    assert casts.count == (0 if tensor.dtype == torch.float64 else 2)


@regions
def test_inner_regions_leave_the_cache_and_the_outermost_clears_it(region: Region) -> None:
    layer, x = nn.Linear(4, 3), torch.randn(2, 4)
    with region("cpu"), CountCasts((3, 4)) as casts:
        layer(x)
        with region("cpu", enabled=False):
            layer(x)
        with region("cpu"):
            layer(x)
        layer(x)
    assert casts.count == 1


def gradient_after(region: Region, cache_enabled: bool) -> torch.Tensor | None:
    """Return the gradient of a weight whose first uses in a region recorded none."""
    layer, x = nn.Linear(4, 3), torch.randn(2, 4)
    with region("cpu", cache_enabled=cache_enabled):
        for context in (torch.no_grad, torch.inference_mode):
            with context():
                assert not layer(x).requires_grad
        later = layer(x)
    if later.requires_grad:
        later.sum().backward()
    return layer.weight.grad


@pytest.mark.parametrize("cache_enabled", [True, False])
def test_a_use_under_no_grad_does_not_take_the_gradient_from_a_later_use(
    cache_enabled: bool,
) -> None:
    assert gradient_after(autocast, cache_enabled) is not None
    if gradient_after(torch.autocast, cache_enabled) is None:
        pytest.skip("this torch loses it (pytorch#48049, #112583, mended in #165068)")


@regions
def test_under_no_grad_the_cache_works(region: Region) -> None:
    with torch.no_grad():
        assert weight_casts(nn.Linear(4, 3), region("cpu"), uses=3) == 1


def test_in_inference_mode_a_cast_is_not_kept() -> None:
    layer = nn.Linear(4, 3)
    with autocast("cpu"):
        with torch.inference_mode():
            layer(torch.randn(2, 4))
        assert weight_casts(layer, torch.no_grad(), uses=2) == 1


@regions
def test_a_weight_changed_within_a_region_is_stale_until_the_region_ends(region: Region) -> None:
    layer, x = nn.Linear(4, 3), torch.randn(2, 4)
    with region("cpu"):
        before = layer(x)
        with torch.no_grad():
            layer.weight.add_(1)
        assert torch.equal(layer(x), before)
    with region("cpu"):
        assert not torch.equal(layer(x), before)


@regions
def test_a_region_of_another_type_within_one_meets_the_cached_cast_and_fails(
    region: Region,
) -> None:
    layer, x = nn.Linear(4, 3), torch.randn(2, 4)
    with region("cpu", torch.bfloat16):
        layer(x)
        with region("cpu", torch.float16), pytest.raises(RuntimeError, match="same dtype"):
            layer(x)


def test_the_cache_keeps_nothing_alive_after_the_region() -> None:
    weight = nn.Parameter(torch.randn(3, 3))
    alive = weakref.ref(weight)
    with autocast("cpu"):
        torch.mm(weight, weight)
        del weight
    gc.collect()
    assert alive() is None
