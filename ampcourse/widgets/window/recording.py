"""What the gradient window shows, brought to one form: histograms by step and by layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ampcourse.dynamic_range import ExponentHistogram
from ampcourse.widgets.window import words

_KEYS = ("label", "exponents", "counts", "powers_of_two", "zeros", "infs", "nans", "largest")
#: The axis reaches at least and at most so far; its ends are multiples of eight.
_LOW, _HIGH = (-80, -32), (24, 40)
#: The largest loss scale is 2 to this.
LARGEST_SHIFT = 24


@dataclass(frozen=True)
class Recording:
    """Histograms by layer for each step; a lone step is number 0."""

    steps: dict[int, dict[str, ExponentHistogram]]

    @classmethod
    def of(cls, histograms: Any) -> Recording:
        """Read a histogram, several, several by layer, or any of these by step.

        A histogram is an ExponentHistogram or its ``as_plain()``. A mapping with integer keys
        is one of steps, with text keys one of layers; other collections name their layers by
        the histograms' labels. Raises ValueError for plain data that is not complete, for two
        histograms of one name and for none at all, TypeError for anything else.
        """
        if _is_by_step(histograms):
            steps = {int(step): _by_layer(histograms[step]) for step in sorted(histograms)}
        else:
            steps = {0: _by_layer(histograms)}
        if not steps or not all(steps.values()):
            raise ValueError(words.wants_some())
        return cls(steps)

    def with_step(self, step: int, histograms: Any) -> Recording:
        """Add a step, or put another in its place."""
        steps = {**self.steps, int(step): _by_layer(histograms)}
        return Recording.of(dict(sorted(steps.items())))

    @cached_property
    def axis(self) -> tuple[int, int]:
        """The first exponent of the axis and the one after its last, for every loss scale."""
        bins = _ends(self.steps.values())
        low, high = min(bins, default=0), max(bins, default=0) + 1 + LARGEST_SHIFT
        return (
            min(max(low // 8 * 8, _LOW[0]), _LOW[1]),
            min(max(-(-high // 8) * 8, _HIGH[0]), _HIGH[1]),
        )


def _ends(steps: Iterable[dict[str, ExponentHistogram]]) -> list[int]:
    histograms = [histogram for layers in steps for histogram in layers.values()]
    return [e for h in histograms if h.counts for e in (h.exponents[0], h.exponents[-1])]


def _is_by_step(histograms: Any) -> bool:
    return (
        isinstance(histograms, Mapping)
        and bool(histograms)
        and all(isinstance(key, int) for key in histograms)
    )


def _by_layer(histograms: Any) -> dict[str, ExponentHistogram]:
    if _is_histogram(histograms):
        histograms = [histograms]
    if isinstance(histograms, Mapping):
        return {str(name): _histogram(found) for name, found in histograms.items()}
    if isinstance(histograms, str) or not isinstance(histograms, Iterable):
        raise TypeError(words.wants_histograms(histograms))
    layers: dict[str, ExponentHistogram] = {}
    for found in map(_histogram, histograms):
        name = found.label or words.UNNAMED
        if name in layers:
            raise ValueError(words.wants_names(name))
        layers[name] = found
    return layers


def _is_histogram(found: Any) -> bool:
    return isinstance(found, ExponentHistogram) or (
        isinstance(found, Mapping) and "counts" in found
    )


def _histogram(found: Any) -> ExponentHistogram:
    if isinstance(found, ExponentHistogram):
        return found
    if not _is_histogram(found):
        raise TypeError(words.wants_histograms(found))
    missing = [key for key in _KEYS if key not in found]
    if missing:
        raise ValueError(words.wants_key(missing))
    exponents, counts, powers = (list(found[key]) for key in _KEYS[1:4])
    first = exponents[0] if exponents else 0
    consecutive = exponents == list(range(first, first + len(counts)))
    if not consecutive or len(powers) != len(counts) or min([*counts, *powers, 0]) < 0:
        raise ValueError(words.wants_bins(found["label"]))
    rest = {key: found[key] for key in _KEYS[4:]}
    total = sum(counts) + rest["zeros"] + rest["infs"] + rest["nans"]
    return ExponentHistogram(
        label=str(found["label"]),
        first=first,
        counts=tuple(counts),
        powers_of_two=tuple(powers),
        population=int(found.get("population", total)),
        **rest,
    )
