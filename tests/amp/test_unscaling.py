"""Unscaling gives torch's bits, and finds each inf and NaN and nothing else."""

from __future__ import annotations

import random

import pytest
import torch

from ampcourse.amp.loss_scale import to_float32
from ampcourse.amp.unscaling import SMALL, gradients_by_device, inverse_of, unscale_

INF, NAN = float("inf"), float("nan")


def torch_unscale(gradients: list[torch.Tensor], inverse: float) -> bool:
    """Unscale with torch's kernel and return its found_inf."""
    found_inf = torch.zeros(())
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, torch.tensor(inverse))
    return bool(found_inf)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    nan = a.isnan() & b.isnan()  # a NaN's payload is nobody's promise
    return a.dtype == b.dtype and bool(((a.view(integer) == b.view(integer)) | nan).all())


def assert_like_torch(gradients: list[torch.Tensor], inverse: float) -> None:
    theirs = [gradient.clone() for gradient in gradients]
    found_inf = unscale_(gradients, inverse)
    assert found_inf == torch_unscale(theirs, inverse)
    assert all(map(same_bits, gradients, theirs))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_any_gradients_are_unscaled_as_in_torchs_kernel(dtype: torch.dtype) -> None:
    rng = random.Random(2)
    generator = torch.Generator().manual_seed(2)
    for _ in range(300):
        scale = to_float32(2.0 ** rng.uniform(-126, 127))
        size = rng.choice([1, 3, 8, 33, 100])
        power = rng.uniform(-149, 128)
        gradient = (torch.randn(size, generator=generator).double() * 2.0**power).to(dtype)
        if rng.random() < 0.3:
            gradient[rng.randrange(size)] = rng.choice([INF, -INF, NAN])
        assert_like_torch([gradient, torch.ones(2, dtype=dtype)], inverse_of(scale))


@pytest.mark.parametrize("value", [INF, -INF, NAN])
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_single_inf_or_nan_is_found_at_every_place(value: float, size: int) -> None:
    for place in range(size):
        gradient = torch.ones(size)
        gradient[place] = value
        assert unscale_([torch.ones(3), gradient, torch.zeros(2)], 2.0**-16)


@pytest.mark.parametrize(
    "values",
    [[3e38, 3e38], [-3e38, -3e38], [3.4028235e38] * 9, [1e20] * 1000, [3e38, -3e38, 3e38, 3e38]],
    ids=["pair", "negative pair", "largest", "norm", "mixed"],
)
def test_finite_gradients_are_no_overflow_though_their_sum_may_be(values: list[float]) -> None:
    for inverse in (2.0**-16, 1.0, 2.0**10, inverse_of(3e38)):
        assert_like_torch([torch.tensor(values)], inverse)
        assert not unscale_([torch.tensor(values)], inverse)


def test_fp16_gradients_whose_sum_is_too_large_for_fp16_are_no_overflow() -> None:
    assert not unscale_([torch.full((4096,), 65504.0, dtype=torch.float16)], 1.0)


def test_inf_and_minus_inf_do_not_cancel() -> None:
    assert unscale_([torch.tensor([INF, -INF]), torch.tensor([1.0])], 0.5)
    assert unscale_([torch.tensor([INF]), torch.tensor([-INF])], 0.5)


@pytest.mark.parametrize("inverse", [2.0**20, INF])
def test_found_inf_speaks_of_the_scaled_gradient_not_of_the_unscaled(inverse: float) -> None:
    # With a scale below 1 a finite gradient can overflow on its way back; torch looks before.
    assert_like_torch([torch.tensor([3e38, 1.0, 0.0])], inverse)
    assert not unscale_([torch.tensor([3e38])], inverse)


@pytest.mark.parametrize("gradient", [torch.zeros(0), torch.tensor(3.0), torch.ones(3, 4).t()])
def test_empty_scalar_and_strided_gradients_are_unscaled(gradient: torch.Tensor) -> None:
    assert_like_torch([gradient.clone(), torch.ones(1)], 0.25)


def test_the_inverse_is_rounded_once_from_float64() -> None:
    rng = random.Random(3)
    scales = [to_float32(2.0 ** rng.uniform(-149, 128)) for _ in range(10_000)]
    ours = torch.tensor([inverse_of(scale) for scale in [*scales, 0.0, INF]])
    theirs = torch.tensor([*scales, 0.0, INF]).double().reciprocal().float()
    assert same_bits(ours, theirs)


class Bag:
    """Something with parameters, as far as unscaling is concerned."""

    def __init__(self, *gradients: torch.Tensor | None) -> None:
        params = [torch.zeros(0) if g is None else torch.zeros_like(g) for g in gradients]
        for param, gradient in zip(params, gradients, strict=True):
            param.grad = gradient
        self.param_groups = [{"params": params[:1]}, {"params": params[1:]}]


def test_gradients_are_taken_from_all_groups_and_parameters_without_are_left_out() -> None:
    a, b = torch.tensor([1.0]), torch.tensor([2.0])
    found = gradients_by_device(Bag(a, None, b))
    assert list(found) == [torch.device("cpu")]
    assert [g.data_ptr() for g in found[torch.device("cpu")]] == [a.data_ptr(), b.data_ptr()]
    assert gradients_by_device(Bag(None, None)) == {}


def test_fp16_gradients_are_refused_before_any_is_changed() -> None:
    first = torch.tensor([8.0])
    with pytest.raises(ValueError, match=r"Attempting to unscale FP16 gradients\."):
        gradients_by_device(Bag(first, torch.tensor([1.0], dtype=torch.float16)))
    assert first.item() == 8.0


def test_an_fp16_sparse_gradient_is_summed_before_the_check() -> None:
    values = torch.tensor([60000.0, 60000.0, 1.0], dtype=torch.float16)
    gradient = torch.sparse_coo_tensor(
        torch.tensor([[1, 1, 0]]), values, (3,), check_invariants=True
    )
    bag = Bag(gradient)
    (found,) = gradients_by_device(bag, allow_fp16=True).values()
    assert unscale_(found, 1.0)
    assert bag.param_groups[0]["params"][0].grad.is_coalesced()


def test_gradients_of_several_types_and_sizes_go_together() -> None:
    generator = torch.Generator().manual_seed(7)
    sizes = [SMALL - 1, SMALL, SMALL + 1, 5, 0]
    for bad in [None, *range(4)]:
        ours = [torch.randn(size, generator=generator) for size in sizes]
        ours[1], ours[3] = ours[1].double(), ours[3].bfloat16()
        if bad is not None:
            ours[bad][-1] = NAN
        theirs = [gradient.clone() for gradient in ours]
        assert unscale_(ours, 0.25) == (bad is not None)
        torch_unscale([theirs[0], theirs[2], theirs[4]], 0.25)
        torch_unscale([theirs[1]], 0.25)
        torch_unscale([theirs[3]], 0.25)
        assert all(map(same_bits, ours, theirs))
