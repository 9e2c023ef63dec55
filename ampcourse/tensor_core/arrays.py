"""Dot products and matrices as a chosen GPU's Tensor Cores compute them, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ampcourse.formats import FP32, FloatFormat
from ampcourse.tensor_core.array_operands import Result, check_array, give_back, is_tensor, read
from ampcourse.tensor_core.configurations import Configuration, configuration
from ampcourse.tensor_core.kernel import Side, Sums, side
from ampcourse.tensor_core.narrow import NarrowSums

#: Sums that are worked on at a time: small enough for the cache, large enough that the calls
#: into numpy do not count.
_TILE = 256
#: Operands that mma prepares at a time.
_SUMS = 2**22
#: gemm shows progress from this many multiply-adds on, about half a second.
_LONG = 2**28


def mma(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike = 0.0,
    gpu: str = "H100",
    input_format: str | FloatFormat = "fp16",
    output_format: str | FloatFormat = "fp32",
    instruction: str | None = None,
) -> Result:
    """Return c + the dot products of a and b along their last axis: a twin of `dot_product`.

    a and b are (..., K) with values exact in the input format, c is (...) with values exact in
    the output format; axes before the last broadcast. numpy arrays, nested lists or CPU
    tensors of any real dtype. The result is float32, a tensor if one was passed.

    Any K from 1 on: the last block is filled up with products of +0, as a kernel pads to the
    instruction's shape. That changes no sum: zero has an exponent too (see
    `Configuration.zero_exponent`), but a C that is not zero has a larger one, and a C of zero
    brings it along anyway.

    Infinities, NaN, signed zeros, subnormals and overflow are treated as in `reference`. A NaN
    that comes out has the code 0x7FFFFFFF (0x7FFF for fp16 output, here as float32), as
    modelled by mmasim 2.1.1, after arXiv 2511.10909.

    Raises ValueError for values that the formats do not hold, shapes that do not fit, and
    combinations that no GPU has (see `configuration`); TypeError for what is no real number.

    >>> mma([1.0], [1.0], -(1 - 2**-24), gpu="V100").view(np.uint32) == 0x34000000
    np.True_
    >>> mma([[1, 0, 0, 0, 1]] * 3, [2048, 0, 0, 0, -2048], [0.0, 2**-13, 3 * 2**-14], gpu="A100")
    array([0.        , 0.00012207, 0.00012207], dtype=float32)
    """
    rule = configuration(gpu, input_format, output_format, instruction)
    A, B, C = read(a, "a"), read(b, "b"), read(c, "c")
    shape = _dot_shape(A, B, C)
    for values, fmt, name in ((A, rule.input, "a"), (B, rule.input, "b"), (C, rule.output, "c")):
        check_array(values, fmt, name)
    length = A.shape[-1]
    A = np.broadcast_to(A, (*shape, length)).reshape(-1, length)
    B = np.broadcast_to(B, (*shape, length)).reshape(-1, length)
    D = np.broadcast_to(C, shape).reshape(-1).copy()
    rows = max(1, _SUMS // length)
    for start in range(0, len(D), rows):
        part = slice(start, start + rows)
        _chain(
            D[part],
            side(_padded(A[part].T, rule), rule),
            side(_padded(B[part].T, rule), rule),
            rule,
        )
    return give_back(_finish(D, rule).reshape(shape), is_tensor(a) or is_tensor(b) or is_tensor(c))


def gemm(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    gpu: str = "H100",
    input_format: str | FloatFormat = "fp16",
    output_format: str | FloatFormat = "fp32",
    instruction: str | None = None,
    progress: bool | None = None,
) -> Result:
    """Return A B + C for matrices, every element as `mma` has it.

    A is (m, k), B (k, n), C (m, n), a number, or None for zeros; domain, result and errors as
    for `mma`. With tqdm installed, progress is shown for what takes long, or as `progress`
    says. The work is done tile by tile and stops at once on an interrupt.

    >>> gemm([[1, 2], [3, 4]], [[0.5, 0], [0, 0.25]], gpu="T4")
    array([[0.5, 0.5],
           [1.5, 1. ]], dtype=float32)
    """
    rule = configuration(gpu, input_format, output_format, instruction)
    left, right = read(A, "A"), read(B, "B")
    start = read(0.0 if C is None else C, "C")
    m, k, n = matrix_shape(left, right, start)
    for values, fmt, name in (
        (left, rule.input, "A"),
        (right, rule.input, "B"),
        (start, rule.output, "C"),
    ):
        check_array(values, fmt, name)
    D = np.broadcast_to(start, (m, n)).copy()
    rows = side(_padded(left.T, rule)[:, :, None], rule)
    columns = side(_padded(right, rule)[:, None, :], rule)
    if progress is None:
        progress = m * n * k >= _LONG
    for i, j in _tiles(m, n, progress):
        _chain(D[i, j], rows[:, i], columns[:, :, j], rule)
    return give_back(_finish(D, rule), is_tensor(A) or is_tensor(B) or is_tensor(C))


def to_tf32(x: ArrayLike) -> Result:
    """Drop the low 13 of float32's 23 fraction bits, as Tensor Cores do to TF32 operands.

    Nothing is rounded: a magnitude gets smaller or stays. Takes and returns arrays as `mma`
    does; values must be exact in float32, else ValueError. As modelled by mmasim 2.1.1, after
    arXiv 2511.10909.

    >>> hex(to_tf32(1 + 2**-10 + 2**-11).view(np.uint32))
    '0x3f802000'
    """
    values = read(x, "x")
    check_array(values, FP32, "x")
    bits = values.astype(np.float32).view(np.int32) & np.int32(-1 << 13)
    return give_back(bits.view(np.float32), is_tensor(x))


def _dot_shape(
    a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]
) -> tuple[int, ...]:
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-1] or not a.shape[-1]:
        raise ValueError(
            f"a has shape {a.shape} and b {b.shape}; both need a last axis K of the same length, "
            "at least 1, along which the dot product runs"
        )
    try:
        return np.broadcast_shapes(a.shape[:-1], b.shape[:-1], c.shape)
    except ValueError:
        raise ValueError(
            f"a {a.shape} and b {b.shape} without their last axis and c {c.shape} do not broadcast "
            "to one shape; for a matrix product use gemm"
        ) from None


def matrix_shape(
    A: NDArray[np.float64], B: NDArray[np.float64], C: NDArray[np.float64]
) -> tuple[int, int, int]:
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != B.shape[0] or not A.shape[1]:
        raise ValueError(
            f"A has shape {A.shape} and B {B.shape}; they must be (m, k) and (k, n) with the same "
            "k, at least 1"
        )
    m, k, n = *A.shape, B.shape[1]
    if C.shape not in ((), (m, n)):
        raise ValueError(
            f"C has shape {C.shape}; it must be {(m, n)} like the product, or a number"
        )
    return m, k, n


def _chain(D: NDArray[np.float64], a: Side, b: Side, rule: Configuration) -> None:
    sums = (NarrowSums if a.narrow and b.narrow else Sums)(D.shape)
    sums.values[...] = D
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        sums.add_chain(a, b, rule)
    D[...] = sums.values


def _padded(terms: NDArray[np.float64], rule: Configuration) -> NDArray[np.float64]:
    """Fill up the first axis, k, with +0 to a multiple of what one step takes."""
    missing = -len(terms) % rule.chunk
    return np.concatenate([terms, np.zeros((missing, *terms.shape[1:]))])


def _tiles(m: int, n: int, progress: bool) -> Iterator[tuple[slice, slice]]:
    tiles = [
        (slice(i, i + _TILE), slice(j, j + _TILE))
        for i in range(0, m, _TILE)
        for j in range(0, n, _TILE)
    ]
    if not progress:
        return iter(tiles)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return iter(tiles)
    return iter(tqdm(tiles, desc=f"gemm {m} x {n}", unit="tile", leave=False))


def _finish(D: NDArray[np.float64], rule: Configuration) -> NDArray[np.float32]:
    """Return the sums as float32, zeros as +0 and NaN with the code that hardware gives."""
    with np.errstate(over="ignore"):
        result = (D + 0.0).astype(np.float32)
    nan = 0x7FFFFFFF if rule.output_format == "fp32" else 0x7FFFE000
    result.view(np.uint32)[np.isnan(result)] = nan
    return result
