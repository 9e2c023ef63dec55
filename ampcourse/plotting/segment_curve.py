"""Draw what a chain of layers holds, by the number of segments it is checkpointed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, GREEN, INK, PURPLE, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from ampcourse.memory.segments import Plan

#: The words of the figure, all in one place.
WORDS = {
    "segments": "segments",
    "size": "KiB held",
    "peak": "most, predicted",
    "kept": "after the forward pass",
    "measured": "most, measured",
    "extra": "run twice, %",
}


@styled
def segment_curve(
    plans: Sequence[Plan], measured: Mapping[int, int], marks: Mapping[str, float] | None = None
) -> Axes:
    """Return the upper of two Axes: bytes held over segments, and layers run twice below.

    `measured` maps numbers of segments to peaks in bytes; `marks` maps names to numbers of
    segments that get a dotted line.
    """
    figure = new_axes(height=4.2).figure
    figure.clear()
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    segments = [plan.segments for plan in plans]
    peaks, kept = ([getattr(p, name) / 1024 for p in plans] for name in ("peak", "kept"))
    # Where both are equal the dashes lie on the line: it is wide enough to be seen below them.
    upper.plot(segments, peaks, "-", color=BLUE, linewidth=3, label=WORDS["peak"])
    upper.plot(segments, kept, "--", color=PURPLE, linewidth=1.5, label=WORDS["kept"])
    sizes = [size / 1024 for size in measured.values()]
    upper.plot(list(measured), sizes, "D", color=VERMILLION, label=WORDS["measured"])
    extra = [100 * plan.extra_forward for plan in plans]
    lower.plot(segments, extra, "-", color=GREEN, linewidth=2)
    for name, place in (marks or {}).items():
        for ax in (upper, lower):
            ax.axvline(place, color=INK, linewidth=1, linestyle=":")
        offset = {"xytext": (4, -4), "textcoords": "offset points", "va": "top"}
        upper.annotate(name, (place, max(peaks)), **offset)
    upper.set_ylabel(WORDS["size"])
    lower.set_ylabel(WORDS["extra"])
    lower.set_xlabel(WORDS["segments"])
    upper.set_ylim(bottom=0)
    lower.set_ylim(0, 105)
    for ax in (upper, lower):
        ax.grid(True)
    upper.legend(loc="upper right")
    first: Axes = upper
    return first
