"""The figures of memory show the bytes they were given, by use and by layer."""

from ampcourse.plotting import figure_html
from ampcourse.plotting.memory_bars import LOOKS, layer_bars, memory_bars

BARS = {
    "one": {"weights": 2**20, "activations": 3 * 2**20, "buffers": 2**19, "input": 2**19},
    "two": {"weights": 2**20, "gradients": 0},
}


def test_each_bar_is_as_long_as_its_bytes_in_mib_and_says_so() -> None:
    ax = memory_bars(BARS)
    ends: dict[float, float] = {}
    for patch in ax.patches:
        middle = round(patch.get_y() + patch.get_height() / 2)  # type: ignore[attr-defined]
        ends[middle] = ends.get(middle, 0.0) + patch.get_width()  # type: ignore[attr-defined]
    assert ends == {1: 5.0, 0: 1.0}
    assert [text.get_text().strip() for text in ax.texts] == ["5", "1"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]


def test_what_has_no_look_is_the_rest_and_what_is_0_is_left_out() -> None:
    legend = memory_bars(BARS).get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["weights", "activations", "rest"]


def test_no_two_uses_look_the_same() -> None:
    assert len(set(LOOKS.values())) == len(LOOKS)


def test_layers_stand_in_pairs_with_the_seconds_share() -> None:
    ax = layer_bars({"conv": (2048, 1024), "none": (0, 512)}, ("FP32", "autocast"))
    widths = [patch.get_width() for patch in ax.patches]  # type: ignore[attr-defined]
    assert widths == [2.0, 0.0, 1.0, 0.5]
    assert [text.get_text().strip() for text in ax.texts] == ["50% of FP32"]
    hatches = {patch.get_hatch() for patch in ax.patches}
    assert len(hatches) == 2


def test_the_figures_become_html_with_their_alt_text() -> None:
    assert 'alt="bars"' in figure_html(memory_bars(BARS), "bars")
