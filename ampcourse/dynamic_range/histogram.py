"""How many values have which binary exponent, counted exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ampcourse.dynamic_range.values import chunks, flat

if TYPE_CHECKING:
    from ampcourse.dynamic_range.values import Values

#: Exponents of the smallest and the largest power of two of float64.
LOWEST, HIGHEST = -1074, 1023
_BIAS, _SIGNIFICAND_BITS = 1023, 52
_FIELD_ONES = 0x7FF
_FIRST_NORMAL = -1022
_SUBNORMAL_SHIFT = 64  # times 2^64 every float64 subnormal is a normal number


@dataclass(frozen=True)
class ExponentHistogram:
    """Counts per binary exponent: bin e holds the values with 2^e <= |x| < 2^(e + 1).

    Numbers that are subnormal in their own type count under their true exponent. How many
    of a bin are 2^e exactly is kept apart in ``powers_of_two``. A power of two lies on the
    tie between zero and the smallest subnormal, the rest of its bin above it, so with that
    count the values which round to zero are known exactly for every format and every scale
    that is a power of two.

    Two histograms add up to the histogram of both sets of values.
    """

    #: What was counted, for tables and figures.
    label: str
    #: The exponent of the first bin; bins are contiguous, and the outer ones are not empty.
    first: int
    counts: tuple[int, ...]
    #: Of each bin, how many values are exactly 2^e or -2^e.
    powers_of_two: tuple[int, ...]
    zeros: int
    infs: int
    nans: int
    #: The largest finite magnitude, 0.0 if there is none: of the sample, unless a recorder
    #: was told to look at all values and all of them are finite.
    largest: float
    #: How many values there were; more than ``total`` if only a sample was counted.
    population: int

    @property
    def exponents(self) -> range:
        """The exponents of the bins."""
        return range(self.first, self.first + len(self.counts))

    @property
    def total(self) -> int:
        """How many values were counted, with zeros, infinities and NaN."""
        return sum(self.counts) + self.zeros + self.infs + self.nans

    def below(self, exponent: int) -> int:
        """Return how many values lie strictly between 0 and 2^exponent in magnitude."""
        return sum(self.counts[: max(0, exponent - self.first)])

    def at(self, exponent: int) -> int:
        """Return how many values have this exponent."""
        return self._bin(self.counts, exponent)

    def powers_at(self, exponent: int) -> int:
        """Return how many values are 2^exponent or its negative."""
        return self._bin(self.powers_of_two, exponent)

    def __add__(self, other: ExponentHistogram) -> ExponentHistogram:
        if not isinstance(other, ExponentHistogram):
            return NotImplemented
        filled = [h for h in (self, other) if h.counts]
        first = min((h.first for h in filled), default=0)
        length = max((h.first + len(h.counts) for h in filled), default=0) - first
        return from_counts(
            first,
            sum((_rows(h, first, length) for h in filled), np.zeros((length, 2), np.int64)),
            label=self.label if self.label == other.label else "",
            zeros=self.zeros + other.zeros,
            infs=self.infs + other.infs,
            nans=self.nans + other.nans,
            largest=max(self.largest, other.largest),
            population=self.population + other.population,
        )

    def labelled(self, label: str) -> ExponentHistogram:
        """Return the same counts under another label."""
        return replace(self, label=label)

    def as_plain(self) -> dict[str, Any]:
        """Return lists, numbers and text only, as a front end takes them."""
        return {
            "label": self.label,
            "exponents": list(self.exponents),
            "counts": list(self.counts),
            "powers_of_two": list(self.powers_of_two),
            "zeros": self.zeros,
            "infs": self.infs,
            "nans": self.nans,
            "largest": self.largest,
            "total": self.total,
            "population": self.population,
        }

    def _bin(self, bins: tuple[int, ...], exponent: int) -> int:
        place = exponent - self.first
        return bins[place] if 0 <= place < len(bins) else 0


def exponent_histogram(x: Values, label: str = "") -> ExponentHistogram:
    """Count the values of an array or tensor by their binary exponent.

    Takes numpy arrays (ml_dtypes' types too), torch tensors on any device and nested lists of
    floats, of any shape and layout, empty ones included; the exponent is read from the bits.
    Of a sparse tensor the stored values count. Raises TypeError for integers and for types
    wider than float64.

    >>> h = exponent_histogram([1.0, -1.5, 3.0, 2.0**-149, 0.0])
    >>> h.first, h.at(0), h.at(1), h.powers_at(0), h.powers_at(-149), h.zeros
    (-149, 2, 1, 1, 1, 1)
    """
    values = flat(x)
    tally = Tally()
    for part in chunks(values):
        tally.add(part)
    return tally.histogram(label, len(values))


class Tally:
    """Counts that grow: the working side of a histogram.

    ``fields`` counts by biased exponent as field_counts does; ``subnormals`` has the exponents
    of float64's subnormal numbers, from LOWEST on, and is made when one turns up.
    """

    def __init__(self) -> None:
        self.fields = np.zeros((_FIELD_ONES + 1, 2), np.int64)
        self.subnormals = np.zeros((0, 2), np.int64)
        self.largest = 0.0

    def add(self, values: np.ndarray) -> None:
        """Count a one-dimensional array of float64."""
        if len(values):
            [fields] = field_counts(values, [len(values)])
            self.merge(values, fields, largest_finite(values, [0])[0])

    def merge(self, values: np.ndarray, fields: np.ndarray, largest: float) -> None:
        """Add values whose field counts and largest magnitude are known already."""
        self.fields = self.fields + fields
        if fields[0, 0]:
            self._add_subnormals(values)
        self.largest = max(self.largest, largest)

    def reach(self, values: np.ndarray) -> None:
        """Let ``largest`` be no smaller than these, if they are finite, without counting them."""
        finite = np.abs(values[np.isfinite(values)])
        self.largest = max(self.largest, float(finite.max(initial=0.0)))

    def histogram(self, label: str, population: int) -> ExponentHistogram:
        """Return the counts so far as a histogram."""
        first, bins = _FIRST_NORMAL, self.fields[1:_FIELD_ONES]
        if len(self.subnormals):
            first, bins = LOWEST, np.concatenate([self.subnormals, bins])
        return from_counts(
            first,
            bins,
            label=label,
            zeros=int(self.fields[0, 1]),
            infs=int(self.fields[_FIELD_ONES, 1]),
            nans=int(self.fields[_FIELD_ONES, 0]),
            largest=self.largest,
            population=population,
        )

    def _add_subnormals(self, values: np.ndarray) -> None:
        if not len(self.subnormals):
            self.subnormals = np.zeros((_FIRST_NORMAL - LOWEST, 2), np.int64)
        tiny = values[(np.abs(values) < 2.0**_FIRST_NORMAL) & (values != 0)]
        start = LOWEST + _SUBNORMAL_SHIFT + _BIAS
        [fields] = field_counts(tiny * 2.0**_SUBNORMAL_SHIFT, [len(tiny)])
        self.subnormals += fields[start : start + len(self.subnormals)]


def field_counts(values: np.ndarray, lengths: list[int]) -> np.ndarray:
    """Count float64 values by biased exponent, run by run.

    The values are runs of these lengths. Row e of a run's counts says of biased exponent e how
    many significand fields are not zero and how many are.
    """
    bits = values.view(np.int64)
    keys = (bits >> (_SIGNIFICAND_BITS - 1)) & (2 * _FIELD_ONES)
    keys |= (bits << (64 - _SIGNIFICAND_BITS)) == 0
    size = 2 * (_FIELD_ONES + 1)
    if len(lengths) > 1:
        keys += np.repeat(np.arange(len(lengths)) * size, lengths)
    counts = np.bincount(keys, minlength=len(lengths) * size)
    return counts.reshape(len(lengths), -1, 2)


def largest_finite(values: np.ndarray, starts: list[int]) -> list[float]:
    """Return the largest finite magnitude of each run, 0.0 without one; no run is empty."""
    magnitudes = np.abs(values)
    magnitudes[~(magnitudes < np.inf)] = 0.0
    return list(np.maximum.reduceat(magnitudes, starts).tolist())


def from_counts(first: int, bins: np.ndarray, **rest: Any) -> ExponentHistogram:
    """Return the histogram of counts, cut to the bins that are not empty.

    Row i of ``bins`` says of exponent first + i how many values are no powers of two and how
    many are.
    """
    filled = np.flatnonzero(bins.ravel()) // 2
    start, stop = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (-first, -first)
    kept = bins[start:stop]
    return ExponentHistogram(
        first=first + start,
        counts=tuple((kept[:, 0] + kept[:, 1]).tolist()),
        powers_of_two=tuple(kept[:, 1].tolist()),
        **rest,
    )


def _rows(histogram: ExponentHistogram, first: int, length: int) -> np.ndarray:
    """Return the counts of a histogram in the rows that from_counts takes."""
    bins = np.zeros((length, 2), np.int64)
    start = histogram.first - first
    place = slice(start, start + len(histogram.counts))
    bins[place, 1] = histogram.powers_of_two
    bins[place, 0] = histogram.counts
    bins[:, 0] -= bins[:, 1]
    return bins
