"""Other accumulators against fractions, torch and numpy; errors in ulps."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ampcourse.tensor_core import gemm
from ampcourse.tensor_core.accumulate import (
    gemm_exact,
    gemm_fp16_accumulator,
    gemm_fp32,
    gemm_promoted,
    ulp_error,
)

SHAPES = [(1, 1, 1), (3, 50, 4), (5, 300, 2)]


def operands(shape: tuple[int, int, int], dtype: Any = np.float16) -> list[NDArray[Any]]:
    m, k, n = shape
    rng = np.random.default_rng(m * k * n)
    spread = 2.0 ** rng.integers(-6, 4, (m, k))
    A = (rng.standard_normal((m, k)) * spread).astype(dtype)
    return [A, rng.standard_normal((k, n)).astype(dtype), rng.standard_normal((m, n)).astype(dtype)]


def exact_sums(A: Any, B: Any, C: Any) -> list[list[Fraction]]:
    left, right, start = (
        np.vectorize(Fraction, otypes=[object])(x) for x in map(doubles, (A, B, C))
    )
    return [[Fraction(x) for x in row] for row in left @ right + start]


def doubles(x: NDArray[Any]) -> NDArray[np.float64]:
    return x.astype(np.float64)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_gemm_exact_is_the_sum_of_fractions_rounded_once(
    shape: tuple[int, int, int], dtype: Any
) -> None:
    A, B, C = operands(shape, dtype)
    truth = exact_sums(A, B, C)
    # float() of a Fraction rounds once, to nearest even; for float32 ask which is nearest.
    wide = gemm_exact(A, B, C, fmt="fp64")
    assert wide.dtype == np.float64
    assert wide.tolist() == [[float(x) for x in row] for row in truth]
    singles = gemm_exact(A, B, C)
    assert singles.dtype == np.float32
    for i, row in enumerate(truth):
        for j, x in enumerate(row):
            got = singles[i, j]
            near = [np.nextafter(got, np.float32(side)) for side in (-np.inf, np.inf)]
            error = abs(Fraction(float(got)) - x)
            assert all(error <= abs(Fraction(float(other)) - x) for other in near)


def test_gemm_exact_takes_a_tie_to_even_and_sees_what_breaks_it() -> None:
    A = [[1.0, 2.0**-24, 2.0**-100], [1.0, 2.0**-24, 0.0], [1 + 2.0**-23, 2.0**-24, 0.0]]
    got = gemm_exact(A, [[1.0]] * 3)
    assert got[:, 0].tolist() == [1 + 2.0**-23, 1.0, 1 + 2.0**-22]
    assert gemm_exact([[2.0**120, 2.0**-130]], [[1.0], [1.0]], -(2.0**120)).item() == 2.0**-130
    assert gemm_exact([[2.0**127]], [[2.0]]).item() == math.inf
    with pytest.raises(ValueError, match="B has an infinity or NaN"):
        gemm_exact([[1.0]], [[math.nan]])


@pytest.mark.parametrize("shape", SHAPES)
def test_gemm_fp32_is_torch_adding_in_order(shape: tuple[int, int, int]) -> None:
    torch = pytest.importorskip("torch", reason="the oracle is torch (the lab extra)")
    A, B, C = (torch.from_numpy(x) for x in operands(shape, np.float32))
    total = C.clone()
    for k in range(A.shape[1]):
        total = total + torch.outer(A[:, k], B[k])
    got = gemm_fp32(A, B, C)
    assert torch.is_tensor(got)
    assert torch.equal(got, total)


@pytest.mark.parametrize("shape", SHAPES)
def test_gemm_fp16_accumulator_rounds_the_exact_step_to_fp16(shape: tuple[int, int, int]) -> None:
    torch = pytest.importorskip("torch", reason="the oracle is torch (the lab extra)")
    A, B, C = operands(shape)
    wanted = np.zeros(C.shape)
    for i in range(len(A)):
        for j in range(B.shape[1]):
            s = float(C[i, j])
            for x, y in zip(A[i].tolist(), B[:, j].tolist(), strict=True):
                exact = Fraction(s) + Fraction(x) * Fraction(y)
                assert Fraction(float(exact)) == exact  # so numpy rounds once
                s = float(np.float16(float(exact)))
            wanted[i, j] = s
    got = gemm_fp16_accumulator(A, B, C)
    assert got.dtype == np.float32
    assert got.tolist() == wanted.tolist()
    assert torch.is_tensor(gemm_fp16_accumulator(torch.from_numpy(A), B, C))


def test_an_fp16_accumulator_overflows_and_sticks() -> None:
    assert gemm_fp16_accumulator([[1.0] * 4000], [[1.0]] * 4000).item() == 2048
    assert gemm_fp16_accumulator([[256.0, 1.0]], [[256.0], [1.0]]).item() == math.inf
    with pytest.raises(ValueError, match=r"C = 2049\.0 is not exact in fp16"):
        gemm_fp16_accumulator([[1.0]], [[1.0]], 2049.0)


def test_promotion_adds_parts_in_float32_to_nearest_even() -> None:
    rng = np.random.default_rng(9)
    A = rng.integers(-8, 9, (3, 300)) / 8
    B = rng.integers(-8, 9, (300, 2)) / 8
    C = rng.standard_normal((3, 2)).astype(np.float32)
    total = C.copy()
    for k in (0, 128, 256):
        total = total + gemm(A[:, k : k + 128], B[k : k + 128], input_format="e4m3")
    assert gemm_promoted(A, B, C).tolist() == total.tolist()
    halves = gemm_promoted(A, B, every=64, gpu="A100", input_format="fp16")
    assert halves.tolist() == (A @ B).tolist()


def test_promotion_helps_where_14_bits_do_not_suffice() -> None:
    rng = np.random.default_rng(10)
    A, B = (np.abs(rng.integers(1, 16, shape) / 16) for shape in ((4, 2048), (2048, 4)))
    truth = gemm_exact(A, B, fmt="fp64")
    plain = ulp_error(gemm(A, B, input_format="e4m3"), truth).max()
    promoted = ulp_error(gemm_promoted(A, B), truth).max()
    assert promoted * 8 < plain


@pytest.mark.parametrize("every", [0, -128])
def test_a_part_has_at_least_one_product(every: int) -> None:
    with pytest.raises(ValueError, match=f"every = {every}"):
        gemm_promoted([[1.0]], [[1.0]], every=every)


def test_an_ulp_is_the_spacing_at_the_exact_value() -> None:
    rng = np.random.default_rng(11)
    exact = (rng.standard_normal(1000) * 2.0 ** rng.integers(-140, 100, 1000)).astype(np.float32)
    for steps in (1, 2, 5):
        got = exact.copy()
        for _ in range(steps):
            got = np.nextafter(got, np.float32(np.inf))
        same = np.frexp(got)[1] == np.frexp(exact)[1]  # in one binade
        errors = ulp_error(got, exact.astype(np.float64))[same & (exact > 0)]
        assert len(errors) > 400
        assert set(errors.tolist()) == {float(steps)}
    spacing = np.spacing(np.abs(exact)).astype(np.float64)
    assert ulp_error(exact + spacing / 4, exact.astype(np.float64)).tolist() == [0.25] * 1000


def test_ulps_of_subnormals_other_formats_and_specials() -> None:
    assert ulp_error([3 * 2.0**-149], [2.0**-149]).tolist() == [2.0]
    assert ulp_error([2.0**-149], [0.0]).tolist() == [1.0]
    assert ulp_error([1 + 2.0**-10], [1.0], "fp16").tolist() == [1.0]
    assert ulp_error([65504.0], [65520.0], "fp16").tolist() == [0.5]
    inf = math.inf
    assert ulp_error([inf, inf, 1.0, -0.0], [inf, 1.0, inf, 0.0]).tolist() == [0.0, inf, inf, 0.0]
    assert np.isnan(ulp_error([math.nan], [1.0])).all()


def test_shapes_are_checked() -> None:
    for function in (gemm_exact, gemm_fp32, gemm_fp16_accumulator, gemm_promoted):
        with pytest.raises(ValueError, match=r"must be \(m, k\) and \(k, n\)"):
            function([[1.0]], [[1.0]] * 2)
