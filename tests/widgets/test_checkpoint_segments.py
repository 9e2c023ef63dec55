"""The checkpointing slider: the library's division, every number checked."""

from __future__ import annotations

import pytest

pytest.importorskip("anywidget", reason="needs the lab extra")

from ampcourse.memory.division import EqualLayers
from ampcourse.widgets import checkpoint_segments
from ampcourse.widgets.memory.readout import chain_marks
from ampcourse.widgets.memory.state import SegmentState


@pytest.mark.parametrize("layers", [1, 7, 25, 100])
def test_as_many_layers_are_marked_as_held_as_the_peak_says(layers: int) -> None:
    for segments in range(1, layers + 1):
        marks = [mark for part in chain_marks(SegmentState(layers, segments)) for mark in part]
        found = EqualLayers(layers, segments)
        assert len(marks) == layers
        assert marks.count("held") + marks.count("kept") == found.peak


def test_the_sentence_tells_the_peak_the_second_runs_and_the_best_division() -> None:
    assert str(checkpoint_segments(25, 5)).splitlines() == [
        "K....|K....|K....|K....|HHHHH",
        "25 layers in 5 segments: at most 9 of 25 inputs held, 20 layers run forward twice, "
        "about 1.27 times the work. Least is held with 4 to 7.",
    ]


def test_numbers_can_be_assigned_and_the_panel_follows() -> None:
    widget = checkpoint_segments(64, 4)
    widget.segments = 8
    assert (widget.peak, widget.recomputed) == (15, 56)
    assert widget._panel.view["segments"] == 8
    widget.layers = 5
    assert (widget.segments, widget._panel.view["layers"]) == (5, 5)


def test_a_gesture_changes_the_state_and_is_answered() -> None:
    widget = checkpoint_segments(9, 1)
    widget._on_gesture(widget._panel, {"gesture": "segments", "to": 3}, [])
    assert (widget.segments, widget._panel.answered) == (3, 1)


def test_the_curve_has_a_bar_for_each_number_of_segments_in_proportion() -> None:
    peaks = checkpoint_segments(9, 1)._panel.view["peaks"]
    assert [peak for _, peak, _, _ in peaks] == [EqualLayers(9, k).peak for k in range(1, 10)]
    assert [share * 9 for _, _, share, _ in peaks] == [peak for _, peak, _, _ in peaks]
    assert [k for k, _, _, best in peaks if best] == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0, 1), "layers=0 must be from 1 to 100"),
        ((101, 1), "layers=101 must be from 1 to 100"),
        ((9, 10), "segments=10 must be between 1 and the 9 layers there are"),
    ],
)
def test_numbers_that_cannot_be_are_refused(numbers: tuple[int, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        checkpoint_segments(*numbers)
