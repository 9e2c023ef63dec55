"""A histogram seen through a format: which bars keep their values, which turn to zeros."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ampcourse.dynamic_range.report import check_scale, power_of_two_exponent, range_report
from ampcourse.formats import FloatFormat, get_format
from ampcourse.rounding import floor_log2

if TYPE_CHECKING:
    from ampcourse.dynamic_range.histogram import ExponentHistogram


@dataclass(frozen=True)
class Bar:
    """One bin after scaling: its exponent, what is kept of it and what rounds to zero.

    ``place`` is "below", "subnormal", "normal" or "above" the format's range. The bin that
    ends at the smallest subnormal is "below" although all but its power of two round up.
    """

    exponent: int
    kept: int
    flushed: int
    place: str


@dataclass(frozen=True)
class ScaledView:
    """The bars of a histogram and the window of a format, both as exponents after scaling.

    Subnormals reach from ``smallest`` to ``normal``, normal numbers from there to ``end``,
    each including the first exponent and not the last. The format's own end, ``largest``, may
    lie inside the last of these binades: E4M3 ends at 448, its window at 2^9.
    """

    label: str
    format: str
    #: Exponent of the scale.
    shift: int
    bars: tuple[Bar, ...]
    zeros: int
    flushed: int
    infs: int
    nans: int
    total: int
    smallest: int
    normal: int
    end: int
    #: The format's largest finite number, before any scale.
    largest: float

    def as_plain(self) -> dict[str, Any]:
        """Return lists, dicts, numbers and text only."""
        plain = asdict(self)
        plain["bars"] = list(plain["bars"])
        return plain


def scaled_view(
    histogram: ExponentHistogram, fmt: str | FloatFormat, scale: float = 1.0
) -> ScaledView:
    """Return what a histogram looks like when its values are scaled and rounded to a format.

    The scale is a power of two, the rounding is to nearest even; every count is exact. Raises
    as range_report does.

    >>> from ampcourse.dynamic_range.histogram import exponent_histogram
    >>> view = scaled_view(exponent_histogram([2.0**-25, 1.5 * 2.0**-25, 1.0]), "fp16")
    >>> view.bars[0], view.flushed
    (Bar(exponent=-25, kept=1, flushed=1, place='below'), 1)
    """
    fmt = get_format(fmt)
    shift = power_of_two_exponent(check_scale(scale))
    report = range_report(histogram, fmt, scale)
    smallest = floor_log2(fmt.smallest)
    bars = []
    for exponent, count in zip(histogram.exponents, histogram.counts, strict=True):
        place = exponent + shift
        # Half the smallest subnormal is the tie that goes to zero; all below it is flushed.
        tie = smallest - 1
        gone = count if place < tie else histogram.powers_at(exponent) if place == tie else 0
        bars.append(Bar(place, count - gone, gone, _place(place, smallest, fmt)))
    return ScaledView(
        label=histogram.label,
        format=fmt.name,
        shift=shift,
        bars=tuple(bars),
        zeros=histogram.zeros,
        flushed=report.flushed,
        infs=histogram.infs,
        nans=histogram.nans,
        total=histogram.total,
        smallest=smallest,
        normal=fmt.emin,
        end=fmt.emax + 1,
        largest=float(fmt.max),
    )


def _place(exponent: int, smallest: int, fmt: FloatFormat) -> str:
    if exponent < smallest:
        return "below"
    if exponent < fmt.emin:
        return "subnormal"
    return "normal" if exponent <= fmt.emax else "above"
