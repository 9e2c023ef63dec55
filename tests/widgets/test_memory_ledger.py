"""The memory ledger: bytes of the library's ledger at two moments, every choice checked."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("anywidget", reason="needs the lab extra")

from ampcourse.memory.ledger import RECIPES, STATE, ledger
from ampcourse.memory.literature import FIGURES
from ampcourse.memory.moments import WORKLOADS, largest_batch
from ampcourse.widgets import memory_ledger
from ampcourse.widgets.memory import words
from ampcourse.widgets.memory.widget import MemoryLedger


def parts(widget: MemoryLedger, bar: int) -> dict[str, float]:
    """Return the share of each part of a bar."""
    return {part["what"]: part["share"] for part in widget._panel.view["bars"][bar]["parts"]}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("optimizer", STATE)
def test_rows_are_those_of_the_ledger(optimizer: str, recipe: str) -> None:
    widget = memory_ledger(optimizer, recipe)
    told = [(what, int(each)) for _, what, _, each, _ in widget._panel.view["rows"][:-1]]
    assert told == [(row.what, row.bytes) for row in ledger(optimizer, recipe).rows]


def test_bars_are_in_proportion_and_the_longest_is_whole() -> None:
    widget = memory_ledger("adam", "fp32", "perceptron", 1)
    end, step = parts(widget, 0), parts(widget, 1)
    assert step["gradients"] == step["weights"] == end["first moment"] == pytest.approx(0.25)
    assert "gradients" not in end
    assert sum(parts(widget, 2).values()) == 1.0
    assert [bar["peak"] for bar in widget._panel.view["bars"]] == [False, True, False]


def test_with_many_samples_the_peak_moves_to_the_end_of_the_forward_pass() -> None:
    widget = memory_ledger("adam", "fp32", "perceptron", 1)
    widget.batch = 4096
    assert [bar["peak"] for bar in widget._panel.view["bars"]] == [True, False, False]
    assert "at the end of forward: 100% of FP32's peak" in str(widget)


def test_toggling_leads_from_20_to_16_to_18_bytes() -> None:
    widget = memory_ledger("adam", "O2")
    told = [(widget.ledger.bytes_per_parameter, widget.recipe)]
    for assumption in ("master_gradients", "gradients"):
        widget.state = widget.state.toggled(assumption)
        told.append((widget.ledger.bytes_per_parameter, widget.recipe))
    assert told == [(20, "O2"), (16, "own"), (18, "own")]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_each_quoted_figure_is_found_by_its_assumptions(figure: Any) -> None:
    widget = memory_ledger()
    widget.state = type(widget.state)("resnet50", "adam", figure.assumptions, 1)
    assert f"{figure.source.split(',')[0]}, {figure.bytes} bytes" in widget._panel.view["quoted"]
    widget.optimizer = "sgd"
    assert widget._panel.view["quoted"] == words.quoted([])


def test_masters_of_fp32_weights_are_refused_and_nothing_changes() -> None:
    widget = memory_ledger("adam", "autocast")
    content = {"gesture": "toggle", "to": "master_weights"}
    widget._on_gesture(widget._panel, content, [])
    assert widget._panel.problem == words.MASTERS_OF_FP32
    assert (widget.recipe, widget._panel.answered) == ("autocast", 1)
    widget._on_gesture(widget._panel, {"gesture": "batch", "to": 3}, [])
    assert (widget.batch, widget._panel.problem, widget._panel.answered) == (8, "", 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lion",), "optimizer 'lion' is unknown; choose from sgd, momentum, adam"),
        (("adam", "O1"), "recipe 'O1' is unknown; choose from fp32, autocast, O2, half"),
        (("adam", "O2", "bert"), "model 'bert' is unknown; choose from resnet50, perceptron"),
        (("adam", "O2", "resnet50", 24), "batch=24: a batch is a power of two from 1 to 4096"),
    ],
)
def test_an_unknown_choice_is_refused_with_what_is_legal(
    arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        memory_ledger(*arguments)


def test_every_use_has_a_letter_of_its_own_in_each_ledger() -> None:
    for optimizer in STATE:
        for recipe in RECIPES:
            letters = [row[0] for row in memory_ledger(optimizer, recipe)._panel.view["rows"]]
            assert len(set(letters)) == len(letters)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "0.977 KiB"), (2**20, "1 MiB"), (5 * 2**40, "5 TiB")],
)
def test_sizes_are_written_in_three_digits(count: int, text: str) -> None:
    assert words.size(count) == text


def test_the_largest_batch_doubles_under_autocast_when_activations_dominate() -> None:
    batches = [
        largest_batch(ledger("momentum", recipe), WORKLOADS["resnet50"], 24 * 2**30)
        for recipe in ("fp32", "autocast")
    ]
    assert 1.9 < batches[1] / batches[0] < 2
