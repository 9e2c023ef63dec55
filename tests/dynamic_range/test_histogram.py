"""Exponent histograms, against math.frexp and torch.frexp on every kind of bit pattern."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from ampcourse.dynamic_range import ExponentHistogram, exponent_histogram
from ampcourse.dynamic_range.values import CHUNK


def by_frexp(values: list[float]) -> dict[str, Any]:
    """Count with math.frexp, one value at a time."""
    finite = [v for v in values if math.isfinite(v) and v]
    split = [math.frexp(v) for v in finite]
    return {
        "counts": Counter(e - 1 for _, e in split),
        "powers": Counter(e - 1 for m, e in split if abs(m) == 0.5),
        "zeros": sum(v == 0 for v in values),
        "infs": sum(math.isinf(v) for v in values),
        "nans": sum(math.isnan(v) for v in values),
        "largest": max(map(abs, finite), default=0.0),
    }


def read(histogram: ExponentHistogram) -> dict[str, Any]:
    bins = zip(histogram.exponents, histogram.counts, histogram.powers_of_two, strict=True)
    rows = list(bins)
    return {
        "counts": Counter({e: n for e, n, _ in rows if n}),
        "powers": Counter({e: n for e, _, n in rows if n}),
        "zeros": histogram.zeros,
        "infs": histogram.infs,
        "nans": histogram.nans,
        "largest": histogram.largest,
    }


def patterns(dtype: str, count: int = 4000) -> np.ndarray:
    """Return random bit patterns, the special and the subnormal ones often enough."""
    width = np.dtype(dtype).itemsize * 8
    rng = np.random.default_rng(width)
    bits = rng.integers(0, 2**width, count, f"uint{width}", endpoint=False)
    top = {16: 10, 32: 23, 64: 52}[width]
    bits[: count // 4] &= np.array((1 << (width - 1)) | ((1 << top) - 1), bits.dtype)  # subnormal
    bits[:9] = 0
    bits[count // 4 : count // 2] &= np.array(~((1 << top) - 1) & (2**width - 1), bits.dtype)
    return bits.view(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_counts_are_those_of_frexp_for_numpy_and_torch(dtype: str) -> None:
    x = patterns(dtype)
    expected = by_frexp(x.tolist())
    assert expected["zeros"]
    assert expected["nans"]
    assert read(exponent_histogram(x)) == expected
    assert read(exponent_histogram(torch.from_numpy(x))) == expected


def test_every_bfloat16_code_is_counted_right() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    codes = np.arange(1 << 16, dtype=np.uint16)
    x = torch.from_numpy(codes.view(np.int16)).view(torch.bfloat16)
    expected = by_frexp(x.double().tolist())
    assert read(exponent_histogram(x)) == expected
    assert read(exponent_histogram(codes.view(ml_dtypes.bfloat16))) == expected


def test_subnormals_of_the_input_count_under_their_own_exponent() -> None:
    h = exponent_histogram(np.array([2.0**-149, 3 * 2.0**-149, 2.0**-127], np.float32))
    assert list(h.exponents) == list(range(-149, -126))
    assert (h.at(-149), h.at(-148), h.at(-127)) == (1, 1, 1)
    assert exponent_histogram([5e-324, 2.0**-1022]).at(-1074) == 1


def test_a_number_just_below_a_power_of_two_is_not_counted_as_one() -> None:
    below = np.nextafter(np.float32(8), np.float32(0))
    h = exponent_histogram(np.array([below, 8.0], np.float32))
    assert (h.at(2), h.at(3), h.powers_at(2), h.powers_at(3)) == (1, 1, 0, 1)


def test_bins_are_cut_to_those_that_are_filled_and_absent_ones_are_0() -> None:
    h = exponent_histogram([0.5, 16.0])
    assert (h.first, h.counts) == (-1, (1, 0, 0, 0, 0, 1))
    assert (h.at(-2), h.at(5), h.at(1), h.powers_at(9)) == (0, 0, 0, 0)
    assert (h.below(-1), h.below(0), h.below(4), h.below(99)) == (0, 1, 1, 2)


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()])
def test_empty_and_single_values(shape: tuple[int, ...]) -> None:
    for x in (np.zeros(shape), torch.zeros(shape)):
        h = exponent_histogram(x)
        size = int(np.prod(shape))
        assert (h.counts, h.zeros, h.total, h.population, h.largest) == ((), size, size, size, 0.0)


def test_layout_does_not_matter_and_long_inputs_go_in_chunks() -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 200, 200)).astype(np.float32)
    assert x.size > 2 * CHUNK
    expected = read(exponent_histogram(x))
    assert expected == by_frexp(x.ravel().tolist())
    tensor = torch.from_numpy(x)
    for view in (tensor.to(memory_format=torch.channels_last), tensor.transpose(1, 3)):
        assert read(exponent_histogram(view)) == expected
    part = np.repeat(x[..., ::2], 2, -1)
    assert read(exponent_histogram(part[..., ::2])) == read(exponent_histogram(tensor[..., ::2]))
    assert exponent_histogram(torch.ones(1).expand(1000)).at(0) == 1000


def test_two_histograms_add_up_to_that_of_both() -> None:
    x, y = patterns("float32"), patterns("float64", 1000)
    both = exponent_histogram([*x.tolist(), *y.tolist()], "g")
    assert exponent_histogram(x, "g") + exponent_histogram(y, "g") == both
    empty = exponent_histogram([], "g")
    assert both + empty == empty + both == both
    assert (empty + empty).counts == ()


def test_plain_data_is_plain() -> None:
    plain = exponent_histogram([1.0, 0.0, math.inf, math.nan, -3.0], "layer").as_plain()
    assert plain == {
        "label": "layer",
        "exponents": [0, 1],
        "counts": [1, 1],
        "powers_of_two": [1, 0],
        "zeros": 1,
        "infs": 1,
        "nans": 1,
        "largest": 3.0,
        "total": 5,
        "population": 5,
    }
    assert all(type(n) is int for n in plain["counts"] + plain["powers_of_two"])


def test_sparse_tensors_count_what_they_store() -> None:
    places, values = torch.tensor([[0, 0, 5]]), torch.tensor([1.0, 3.0, 2.0])
    x = torch.sparse_coo_tensor(places, values, (9,), check_invariants=True)
    assert read(exponent_histogram(x))["counts"] == Counter({2: 1, 1: 1})


@pytest.mark.parametrize(
    "bad",
    [[1, 2], np.arange(3), torch.arange(3), np.array([1j]), torch.tensor([1j]), "1.0", None,
     np.array([True]), np.zeros(2, np.longdouble), np.zeros(2, "f4,f4")],
    ids=str,
)  # fmt: skip
def test_what_holds_no_floats_is_refused(bad: Any) -> None:
    if isinstance(bad, np.ndarray) and bad.dtype == np.float64:
        pytest.skip("longdouble is float64 here")
    with pytest.raises(TypeError, match=r"holds no floating-point numbers .* pass floats"):
        exponent_histogram(bad)


def test_input_is_left_alone() -> None:
    x = np.array([1.0, 2.0])
    x.flags.writeable = False
    assert exponent_histogram(x).total == 2
    leaf = torch.ones(2, requires_grad=True)
    assert exponent_histogram(leaf * 2).at(1) == 2
