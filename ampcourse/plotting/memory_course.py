"""Draw what a training step holds from its beginning to its end, by use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ampcourse.plotting.memory_bars import LOOKS
from ampcourse.plotting.style import CARD, INK, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    Course = Sequence[tuple[str, Mapping[str, int]]]

#: The words of the figure, all in one place.
WORDS = {
    "size": "MiB held",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "step",
}
_PHASES = ("forward", "backward", "optimizer")


@styled
def memory_course(
    course: Course, shown: int = 3, before: Course | None = None, before_name: str = "before"
) -> Axes:
    """Return bytes by use, stacked, through the first `shown` phases of a step.

    `course` has (phase, bytes by use) after each change, its phases "forward", "backward" and
    "optimizer", uses as in `memory_bars.LOOKS`, all others at the end as the rest. Each phase is
    equally wide. The sum of another course, `before`, is drawn as a dashed line. Raises ValueError
    for a `shown` that is not 1 to 3.
    """
    if not 1 <= shown <= len(_PHASES):
        raise ValueError(f"shown={shown}; a step has {len(_PHASES)} phases")
    ax = new_axes(width=8.2, height=3.6)  # a part of it is the legend's
    part = [entry for entry in course if entry[0] in _PHASES[:shown]]
    places, bottom = _places(part), [0.0] * len(part)
    for use, sizes in _layers(part).items():
        colour, hatch = LOOKS[use]
        top = [low + size / 2**20 for low, size in zip(bottom, sizes, strict=True)]
        ax.fill_between(
            places, bottom, top, step="post",
            facecolor=colour, hatch=hatch, edgecolor=CARD, linewidth=0, label=use,
        )  # fmt: skip
        bottom = top
    if before is not None:
        totals = [sum(sizes.values()) / 2**20 for _, sizes in before]
        line: dict[str, Any] = {
            "where": "post",
            "color": VERMILLION,
            "linewidth": 2,
            "linestyle": (0, (4, 2)),
        }
        ax.step(_places(before), totals, label=before_name, **line)
    for border in range(1, len(_PHASES)):
        ax.axvline(border, color=INK, linewidth=1, linestyle=":")
    highest = max(sum(sizes.values()) for _, sizes in [*course, *(before or ())]) / 2**20
    ax.set_xlim(0, len(_PHASES))
    ax.set_ylim(0, 1.08 * highest)
    ax.set_xticks([0.5, 1.5, 2.5], [WORDS[phase] for phase in _PHASES])
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel(WORDS["size"])
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), labelspacing=0.4)
    return ax


def _places(course: Course) -> list[float]:
    """Return where each entry stands, each phase being one wide."""
    counts = [sum(phase == name for name, _ in course) for phase in _PHASES]
    return [phase + i / max(count, 1) for phase, count in enumerate(counts) for i in range(count)]


def _layers(course: Course) -> dict[str, list[int]]:
    """Return the sizes of each use in the order of LOOKS, those without a look as the rest."""
    found = {use: [sizes.get(use, 0) for _, sizes in course] for use in LOOKS}
    others = [sum(n for use, n in sizes.items() if use not in LOOKS) for _, sizes in course]
    found["rest"] = [a + b for a, b in zip(found["rest"], others, strict=True)]
    return {use: sizes for use, sizes in found.items() if any(sizes)}
