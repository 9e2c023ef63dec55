"""The same matrix product added up in other ways, to hold the Tensor Core's against.

Each returns float32 and takes A (m, k), B (k, n) and C (m, n), a number or None for zeros, as
numpy arrays or CPU tensors. The order is fixed, k = 0, 1, 2, ..., so a result does not depend
on the machine.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ampcourse.formats import FP16, FP32, FloatFormat, get_format
from ampcourse.tensor_core.array_operands import Result, check_array, give_back, is_tensor, read
from ampcourse.tensor_core.arrays import gemm, matrix_shape
from ampcourse.tensor_core.reference import round_once

Floats = NDArray[np.float64]


def gemm_exact(
    A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None, fmt: str | FloatFormat = "fp32"
) -> Result:
    """Return A B + C added up exactly and rounded once to a format, to nearest even.

    Elements are finite numbers of any kind. The result is float32, or float64 for fmt="fp64",
    which is what `ulp_error` wants as the truth. Whole numbers of any size do the work, so it
    is slow: about two million products per second.

    Raises ValueError for infinities, NaN and shapes that do not fit.

    >>> gemm_exact([[1.0, 2.0**-24]], [[1.0], [1.0]]).item().hex()
    '0x1.0000000000000p+0'
    >>> gemm_exact([[1.0, 2.0**-24]], [[1.0], [1.0]], fmt="fp64").item().hex()
    '0x1.0000010000000p+0'
    """
    fmt = get_format(fmt)
    left, right, start = _read(A, B, C)
    for name, values in (("A", left), ("B", right), ("C", start)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has an infinity or NaN; an exact sum needs finite numbers")
    whole_left, whole_right, whole_start = map(_whole, (left, right, start))
    scale = whole_left[1] + whole_right[1]
    # Bring C to the scale of the products, or the products to that of C, whichever is finer.
    finest = max(scale, whole_start[1])
    sums = (whole_left[0] @ whole_right[0]) << (finest - scale)
    sums = sums + (whole_start[0] << (finest - whole_start[1]))
    rounded = [round_once(Fraction(int(x), 1 << finest), fmt) for x in sums.flat]
    dtype = np.float64 if fmt.name == "fp64" else np.float32
    result = np.array(rounded, dtype).reshape(sums.shape)
    return give_back(result, _any_tensor(A, B, C))


def gemm_fp32(A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None) -> Result:
    """Return A B + C in IEEE float32: every product and every sum rounded to nearest even.

    Raises ValueError for elements that float32 does not hold and shapes that do not fit.

    >>> gemm_fp32([[1.0, 2.0**-24, 2.0**-24]], [[1.0], [1.0], [1.0]]).item()
    1.0
    """
    left, right, start = _read(A, B, C)
    _check(FP32, A=left, B=right, C=start)
    single_left, single_right = left.astype(np.float32), right.astype(np.float32)
    total = np.broadcast_to(start, (len(left), right.shape[1])).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for column, row in zip(single_left.T, single_right, strict=True):
            total += column[:, None] * row
    return give_back(total, _any_tensor(A, B, C))


def gemm_fp16_accumulator(A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None) -> Result:
    """Return A B + C with a sum that is rounded to FP16 after each product.

    Each step is one fused multiply-add in FP16: the product is exact and the sum is rounded
    once, to nearest even. This is not what Tensor Cores with fp16 output do, which round once
    per block. Raises ValueError for elements that FP16 does not hold and shapes that do not fit.

    >>> gemm_fp16_accumulator([[1.0] * 3000], [[1.0]] * 3000).item()
    2048.0
    """
    left, right, start = _read(A, B, C)
    _check(FP16, A=left, B=right, C=start)
    total = np.broadcast_to(start, (len(left), right.shape[1])).copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for column, row in zip(left.T, right, strict=True):
            # Rounding to float64 first does no harm: an FP16 number and a product of two span
            # at most 11 + 2 + 40 bits where the sum is near a midpoint of FP16.
            total = (total + column[:, None] * row).astype(np.float16).astype(np.float64)
    return give_back(total.astype(np.float32), _any_tensor(A, B, C))


def gemm_promoted(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    every: int = 128,
    gpu: str = "H100",
    input_format: str | FloatFormat = "e4m3",
    instruction: str | None = None,
) -> Result:
    """Return A B + C with Tensor Core sums of `every` products, added in IEEE float32.

    What DeepSeek-V3 does on Hopper against the 14 bits of FP8 wgmma (technical report, arXiv
    2412.19437, section 3.3.2: N_C = 128): each part starts from 0, and CUDA cores add it to a
    float32 sum, rounded to nearest even. Here C is where that sum starts.

    Raises ValueError for every < 1 and as `gemm` does.

    >>> A, B = [[256.0] + [1.0] * 255], [[1.0]] + [[2.0**-6]] * 255
    >>> from ampcourse.tensor_core import gemm
    >>> gemm(A, B, input_format="e4m3").item(), gemm_promoted(A, B).item()
    (256.0, 258.0)
    """
    if every < 1:
        raise ValueError(f"every = {every}; a part has at least one product, 128 in DeepSeek-V3")
    left, right, start = _read(A, B, C)
    _check(FP32, C=start)
    total = np.broadcast_to(start, (len(left), right.shape[1])).astype(np.float32)
    for k in range(0, left.shape[1], every):
        part = slice(k, k + every)
        with np.errstate(over="ignore", invalid="ignore"):
            total += gemm(
                left[:, part],
                right[part],
                gpu=gpu,
                input_format=input_format,
                instruction=instruction,
                progress=False,
            )
    return give_back(total, _any_tensor(A, B, C))


def ulp_error(got: ArrayLike, exact: ArrayLike, fmt: str | FloatFormat = "fp32") -> Result:
    """Return |got - exact| in ulps of the format at the exact value, as float64.

    One ulp is the distance between neighbouring numbers of the format in the binade of
    ``exact``: 2^(e - significand_bits), e being its exponent and at least emin. ``exact`` is
    float64, best from gemm_exact with fmt="fp64", whose own error is below 2^-29 ulp of fp32.
    Rounding to nearest gives at most 0.5, one rounding toward zero less than 1. Equal
    infinities give 0, other infinities infinity, NaN NaN.

    >>> ulp_error([1 + 2**-22, 2.0], [1.0, 2.0 - 2**-24]).tolist()
    [2.0, 0.5]
    """
    fmt = get_format(fmt)
    result, truth = read(got, "got"), read(exact, "exact")
    _, exponents = np.frexp(truth)
    exponents = np.where(truth == 0, fmt.emin, np.maximum(exponents - 1, fmt.emin))
    ulp = np.ldexp(1.0, exponents - fmt.significand_bits)
    with np.errstate(invalid="ignore"):
        error = np.abs(result - truth) / ulp
    error = np.where(result == truth, 0.0, error)
    return give_back(error, is_tensor(got) or is_tensor(exact))


def _read(A: ArrayLike, B: ArrayLike, C: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    left, right, start = read(A, "A"), read(B, "B"), read(0.0 if C is None else C, "C")
    matrix_shape(left, right, start)
    return left, right, start


def _check(fmt: FloatFormat, **arrays: Floats) -> None:
    for name, values in arrays.items():
        check_array(values, fmt, name)


def _any_tensor(*arrays: object) -> bool:
    return any(is_tensor(x) for x in arrays)


def _whole(values: Floats) -> tuple[NDArray[np.object_], int]:
    """Return whole numbers (Python's, of any size) and s, so that values = whole / 2^s."""
    significands, exponents = np.frexp(values)
    wholes = (significands * 2.0**53).astype(np.int64).astype(object)
    shift = max(0, 53 - int(exponents.min(initial=0)))
    return wholes << (exponents.astype(object) + (shift - 53)), shift
