"""Range reports, against torch, numpy and ml_dtypes rounding the same values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from ampcourse.decode import decode
from ampcourse.dynamic_range import CLASSES, RangeReport, exponent_histogram, range_report
from ampcourse.encode import encode
from ampcourse.formats import FP16, get_format

COUNTED = ("zeros", "flushed", "subnormal", "normal", "overflow", "infs", "nans")


def counts(report: RangeReport) -> dict[str, int]:
    return {name: getattr(report, name) for name in COUNTED}


def expected(before: np.ndarray, after: np.ndarray, fmt: str) -> dict[str, int]:
    """Classify by what an array became in a library's hands; overflow is inf or NaN there."""
    before, after = before.astype(float), after.astype(float)
    tiny = float(get_format(fmt).smallest_normal)
    finite = np.isfinite(before)
    large = finite & ~np.isfinite(after)
    kept = finite & (before != 0) & ~large
    return {
        "zeros": int((before == 0).sum()),
        "flushed": int((kept & (after == 0)).sum()),
        "subnormal": int((kept & (after != 0) & (abs(after) < tiny)).sum()),
        "normal": int((kept & (abs(after) >= tiny)).sum()),
        "overflow": int(large.sum()),
        "infs": int(np.isinf(before).sum()),
        "nans": int(np.isnan(before).sum()),
    }


def near_edges(dtype: str = "float32") -> np.ndarray:
    """Return the edges of FP16, BF16 and the FP8 formats and their neighbours on both sides."""
    edges = [2.0**-25, 2.0**-24, 2.0**-14, 2.0**-14 - 2.0**-25, 65504, 65519, 65520, 65536]
    edges += [2.0**-10, 2.0**-9, 2.0**-6, 2.0**-6 - 2.0**-10, 448, 464, 480]
    edges += [2.0**-17, 2.0**-16, 2.0**-14 - 2.0**-17, 57344, 61440]
    edges += [2.0**-134, 2.0**-133, 2.0**-126, 3.3895313892515355e38, 0, np.inf, np.nan]
    x = np.array(edges, dtype)
    outwards = np.where(np.isfinite(x), np.array(np.inf, dtype), x)
    every = np.concatenate([x, np.nextafter(x, np.zeros_like(x)), np.nextafter(x, outwards)])
    rng = np.random.default_rng(1)
    wide = np.ldexp(rng.uniform(-1, 1, 4000), rng.integers(-140, 120, 4000)).astype(dtype)
    return np.concatenate([every, -every, wide, np.zeros(7, dtype)])


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "e5m2", "e4m3"])
def test_counts_are_those_of_ml_dtypes_and_numpy_rounding(fmt: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    name = get_format(fmt).library_name
    dtype = np.float16 if fmt == "fp16" else getattr(ml_dtypes, name)
    x = near_edges()
    theirs = expected(x, x.astype(dtype), fmt)
    assert counts(range_report(x, fmt)) == theirs
    assert counts(range_report(torch.from_numpy(x), fmt)) == theirs


@pytest.mark.parametrize("fmt", ["fp16", "bf16"])
def test_counts_are_those_of_torch_rounding(fmt: str) -> None:
    x = torch.from_numpy(near_edges())
    rounded = x.to(getattr(torch, get_format(fmt).library_name)).float()
    assert counts(range_report(x, fmt)) == expected(x.numpy(), rounded.numpy(), fmt)


@pytest.mark.parametrize("scale", [2.0**16, 2.0**-3, 3.0, 1 / 3, 1000.0, 1e-30])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_product_with_the_scale_is_rounded_once(dtype: str, scale: float) -> None:
    with np.errstate(over="ignore"):
        x = near_edges()[::9].astype(dtype)
    tally = dict.fromkeys(COUNTED, 0)
    for value in x.tolist():
        if not np.isfinite(value):
            tally["nans" if np.isnan(value) else "infs"] += 1
            continue
        kind = decode(encode(Fraction(value) * Fraction(scale), FP16), FP16).kind
        names = {"zero": "flushed" if value else "zeros", "infinity": "overflow"}
        tally[names.get(kind, kind)] += 1
    assert counts(range_report(x, "fp16", scale)) == tally
    assert counts(range_report(torch.from_numpy(x), "fp16", scale)) == tally


@pytest.mark.parametrize("mode", ["nearest_away", "toward_zero", "up", "down", "to_odd"])
def test_every_mode_is_that_of_the_scalar_reference(mode: str) -> None:
    x = near_edges()[::9]
    finite = [float(v) for v in x if np.isfinite(v)]
    zero = sum(bool(v) and decode(encode(v, FP16, mode), FP16).kind == "zero" for v in finite)
    small = sum(decode(encode(v, FP16, mode), FP16).kind == "subnormal" for v in finite)
    report = range_report(x, "fp16", mode=mode)
    assert (report.flushed, report.subnormal) == (zero, small)
    assert report.total == x.size


def test_a_tie_goes_to_zero_and_anything_above_it_does_not() -> None:
    tie = np.float32(2.0**-25)
    above = np.nextafter(tie, np.float32(1))
    assert counts(range_report(np.array([tie, -tie]), "fp16"))["flushed"] == 2
    assert counts(range_report(np.array([above, -above]), "fp16"))["subnormal"] == 2


def test_true_zeros_are_not_underflow() -> None:
    report = range_report([0.0, -0.0, 1e-30, 1.0], "fp16")
    assert (report.zeros, report.flushed) == (2, 1)
    assert report.flushed_fraction == 0.25
    assert report.flushed_of_nonzero == 0.5
    assert report.fractions["zeros"] == 0.5
    assert sum(report.fractions.values()) == 1


def test_overflow_starts_at_65520() -> None:
    assert range_report([65519.0, -65519.99], "fp16").overflow == 0
    assert range_report([65520.0, -65520.0], "fp16").overflow == 2


@pytest.mark.parametrize("scale", [1.0, 2.0**8, 2.0**24, 2.0**-10, 2.0**100])
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "e5m2", "e4m3", "e2m1", "e3m2"])
def test_a_histogram_gives_the_same_flushed_count_and_says_where_it_is_in_doubt(
    fmt: str, scale: float
) -> None:
    x = near_edges()
    exact = range_report(x, fmt, scale)
    shifted = range_report(exponent_histogram(x), fmt, scale)
    for name in ("zeros", "flushed", "infs", "nans", "total"):
        assert getattr(shifted, name) == getattr(exact, name)
    assert shifted.overflow <= exact.overflow <= shifted.overflow + shifted.may_overflow
    rounded_up = shifted.subnormal - exact.subnormal
    assert 0 <= rounded_up <= shifted.may_be_normal
    assert (exact.may_overflow, exact.may_be_normal) == (0, 0)


@pytest.mark.parametrize("mode", ["nearest_away", "toward_zero", "to_odd"])
def test_a_histogram_is_exact_about_flushing_in_the_other_modes(mode: str) -> None:
    x = near_edges()
    for scale in (1.0, 2.0**8, 2.0**24):
        flushed = range_report(exponent_histogram(x), "fp16", scale, mode).flushed
        assert flushed == range_report(x, "fp16", scale, mode).flushed


def test_a_histogram_can_only_be_shifted() -> None:
    histogram = exponent_histogram([1.0])
    with pytest.raises(ValueError, match=r"3.0 is no power of two.*pass 2.0 or 4.0"):
        range_report(histogram, "fp16", 3.0)
    with pytest.raises(ValueError, match="rounds the two signs differently"):
        range_report(histogram, "fp16", mode="up")


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_that_is_no_positive_number_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="is no positive number"):
        range_report([1.0], "fp16", scale)


def test_reports_add_up_if_they_answer_the_same_question() -> None:
    x = near_edges()
    whole = range_report(x, "fp16", label="g")
    assert (
        range_report(x[:99], "fp16", label="g") + range_report(x[99:], "fp16", label="g") == whole
    )
    with pytest.raises(ValueError, match="do not add up"):
        whole + range_report(x, "bf16")


def test_plain_data_names_every_class() -> None:
    plain: dict[str, Any] = range_report([1.0], "fp16", label="g").as_plain()
    assert set(CLASSES) <= set(plain)
    assert (plain["label"], plain["format"], plain["total"]) == ("g", "fp16", 1)


def test_nothing_at_all_is_reported_as_nothing() -> None:
    report = range_report(np.zeros(0, np.float32), "fp16")
    assert report.total == 0
    assert np.isnan(report.flushed_fraction)
