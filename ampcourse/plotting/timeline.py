"""Draw what host and device did when, in a window of a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, CARD, GREEN, GREY, INK, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ampcourse.benchmark.trace import Span, Trace

#: The words of the figure, all in one place.
WORDS = {
    "host": "host",
    "device": "device",
    "time": "µs from the start of the step",
    "op": "op",
    "launch": "issues a kernel",
    "wait": "waits",
    "convolution": "convolution",
    "linear": "convolution",
    "memory": "batch norm, ReLU, sum, cast",
    "kernel": "kernel",
}
# Colour and pattern differ together.
_LOOKS = MappingProxyType(
    {
        WORDS["op"]: (GREY, ""),
        WORDS["launch"]: (GREY, ""),
        WORDS["wait"]: (CARD, "//"),
        WORDS["convolution"]: (BLUE, ""),
        WORDS["memory"]: (VERMILLION, "xx"),
        WORDS["kernel"]: (GREEN, ""),
    }
)
_LANES = ("device", "host")
#: Spans below this share of the window are drawn as lines.
_THIN = 0.008


@styled
def timelines(traces: Mapping[str, Trace], start: float, end: float, columns: int = 4) -> Axes:
    """Return the first of several Axes, one per trace: two lanes from `start` to `end` in µs.

    The legend has `columns` columns. Raises ValueError for an empty window and for no trace.
    """
    if not (traces and start < end):
        raise ValueError(f"{len(traces)} traces from {start} to {end} µs leave nothing to draw")
    figure = new_axes(height=0.9 + 1.25 * len(traces)).figure
    figure.clear()
    rows = figure.subplots(len(traces), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (title, trace) in zip(rows, traces.items(), strict=True):
        inside = [span for span in trace.spans if span.end > start and span.start < end]
        _lanes(ax, inside, end - start)
        ax.set_title(title)
        ax.set_xlim(start, end)
        ax.set_ylim(-0.5, len(_LANES) - 0.5)
        ax.set_yticks(range(len(_LANES)), [WORDS[lane] for lane in _LANES])
        ax.tick_params(axis="y", length=0)
    rows[-1].set_xlabel(WORDS["time"])
    found = [ax.get_legend_handles_labels() for ax in rows]
    once = {
        label: handle
        for handles, labels in found
        for handle, label in zip(handles, labels, strict=True)
    }
    figure.legend(once.values(), once.keys(), loc="outside upper center", ncols=columns)
    first: Axes = rows[0]
    return first


def _lanes(ax: Axes, spans: Iterable[Span], window: float) -> None:
    groups: dict[tuple[str, str, bool], list[tuple[float, float]]] = {}
    for span in spans:
        name = WORDS.get(span.kind, WORDS["memory"])
        thin = span.end - span.start < _THIN * window
        groups.setdefault((span.lane, name, thin), []).append((span.start, span.end - span.start))
    for (lane, name, thin), ranges in groups.items():
        colour, hatch = _LOOKS[name]
        # A white edge would hide what is thin; its own colour makes it a line one can see.
        edge = colour if thin else INK if name == WORDS["wait"] else CARD
        ax.broken_barh(
            ranges,
            (_LANES.index(lane) - 0.34, 0.68),
            facecolor=colour,
            edgecolor=edge,
            hatch="" if thin else hatch,
            linewidth=0.6,
            label="_" if thin else name,
        )
