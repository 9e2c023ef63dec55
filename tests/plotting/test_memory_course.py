"""The course of a step shows the bytes it was given, phase by phase."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from ampcourse.plotting import figure_html
from ampcourse.plotting.memory_course import memory_course

MIB = 2**20
COURSE = [
    ("forward", {"weights": MIB, "input": MIB}),
    ("forward", {"weights": MIB, "input": MIB, "activations": 2 * MIB}),
    ("backward", {"weights": MIB, "input": MIB, "activations": MIB, "gradients": MIB}),
    ("optimizer", {"weights": MIB, "input": MIB, "gradients": MIB}),
]
OTHER = [("forward", {"weights": 8 * MIB}), ("backward", {}), ("optimizer", {"weights": MIB})]


def heights(shown: int = 3) -> dict[str, float]:
    found = {}
    for part in memory_course(COURSE, shown).collections:
        assert isinstance(part, PolyCollection)
        corners = np.concatenate([path.vertices for path in part.get_paths()])
        found[str(part.get_label())] = float(corners[:, 1].max())
    return found


def test_uses_are_stacked_in_mib_and_those_without_a_look_are_the_rest() -> None:
    assert heights() == {"weights": 1, "gradients": 2, "activations": 3, "rest": 4}


def test_a_use_that_has_not_appeared_yet_is_not_drawn() -> None:
    assert "gradients" not in heights(1)


def test_the_axis_is_that_of_the_whole_step_and_of_the_course_before() -> None:
    assert len({memory_course(COURSE, shown).get_ylim() for shown in (1, 2, 3)}) == 1
    ax = memory_course(COURSE, 3, OTHER, "FP32")
    assert ax.get_ylim()[1] > 8
    [dashed] = [line for line in ax.lines if line.get_label() == "FP32"]
    assert np.asarray(dashed.get_xydata()).tolist() == [[0, 8], [1, 0], [2, 1]]


def test_uses_differ_by_more_than_colour_and_the_page_stays_small() -> None:
    ax = memory_course(COURSE)
    looks = [(str(part.get_facecolor()[0]), part.get_hatch()) for part in ax.collections]
    assert len(set(looks)) == len(looks)
    assert len(figure_html(ax, "what it shows")) < 40_000


def test_a_step_has_three_phases() -> None:
    with pytest.raises(ValueError, match="3 phases"):
        memory_course(COURSE, 4)
