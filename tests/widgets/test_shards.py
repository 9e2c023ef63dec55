"""The shard painter: the ZeRO paper's bytes, every share painted once, every choice checked."""

from __future__ import annotations

import doctest
import re
from typing import Any

import pytest

pytest.importorskip("anywidget", reason="needs the lab extra")

from ampcourse.memory.ledger import STATE
from ampcourse.memory.shards import zero_bytes
from ampcourse.widgets import shards
from ampcourse.widgets.zero import words
from ampcourse.widgets.zero.state import PARAMETERS, RANKS, RECIPES, STAGES
from ampcourse.widgets.zero.widget import Shards


def gesture(widget: Shards, **content: Any) -> None:
    """Deliver a message as the browser's would arrive."""
    widget._panel._handle_custom_msg(content, [])


def row(widget: Shards, name: str) -> list[str]:
    """Return the texts of a row of the table."""
    (cells,) = (cells for told, cells in widget._panel.view["table"]["rows"] if told == name)
    return [text for text, _, _ in cells]


def test_the_table_has_the_papers_bytes_for_7_5_billion_on_64_ranks() -> None:
    # Quoted: arXiv 1910.02054, figure 1, where the last one is given as 1.9 GB.
    assert row(shards(0, 64), words.SUM) == ["120 GB", "31.4 GB", "16.6 GB", "1.88 GB"]


def test_stage_3_sends_half_as_much_again_as_the_others() -> None:
    assert row(shards(0, 4, 10**9), words.SENT) == ["3.00 GB", "3.00 GB", "3.00 GB", "4.50 GB"]
    assert "1.5 times as much as DDP" in str(shards(3))
    assert "per step, as much as DDP" in str(shards(2))


def test_autocast_tells_what_a_policy_would_save() -> None:
    told = shards(3, 4, 10**9, recipe="autocast")._panel.view
    assert "each sends 9.00 GB per step" in told["sentence"]
    assert "each rank sends 6.00 GB in stage 3" in told["notes"][0]
    assert len(shards(3)._panel.view["notes"]) == 1


@pytest.mark.parametrize("ranks", [1, 2, 7, 8])
@pytest.mark.parametrize("stage", STAGES)
def test_a_divided_part_is_painted_once_over_all_ranks_and_another_on_each(
    stage: int, ranks: int
) -> None:
    rows = shards(stage, ranks)._panel.view["painting"]
    divided = {0: "", 1: "S", 2: "GS", 3: "WGS"}[stage]
    assert len(rows) == ranks
    for parts in zip(*(row["parts"] for row in rows), strict=True):
        ends = [(part["from"], part["to"]) for part in parts]
        if parts[0]["letter"] in divided:
            assert [start for start, _ in ends] == [0, *(end for _, end in ends[:-1])]
            assert ends[-1][1] == 1
        else:
            assert set(ends) == {(0, 1)}


@pytest.mark.parametrize("recipe", RECIPES)
def test_widths_are_in_proportion_to_the_undivided_bytes(recipe: str) -> None:
    whole = zero_bytes(7_500_000_000, 1, 0, "adam", recipe)
    parts = shards(3, recipe=recipe)._panel.view["painting"][0]["parts"]
    sizes = [whole.weights, whole.gradients, whole.optimizer_state]
    assert [part["width"] * whole.total for part in parts] == pytest.approx(sizes, rel=2**-48)


def test_of_many_ranks_the_first_and_the_last_are_painted_and_the_others_counted() -> None:
    rows = shards(3, 64)._panel.view["painting"]
    assert [row["name"].split(":")[0] for row in rows] == [
        *(f"rank {number}" for number in range(6)),
        words.MORE,
        "rank 63",
    ]
    assert rows[6]["told"] == "57 more ranks, each with as much"


def test_sgd_with_16_bits_only_has_no_optimizer_state_to_divide() -> None:
    parts = shards(1, 4, optimizer="sgd", recipe="half")._panel.view["painting"][0]["parts"]
    assert [part["letter"] for part in parts] == ["W", "G"]


def test_an_uneven_division_is_told() -> None:
    assert "padded with 2 numbers" in str(shards(1, 4, 10))
    assert "padded with 1 number." in str(shards(1, 4, 11))
    assert "padded" not in str(shards(1, 4, 12)) + str(shards(0, 4, 10))


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ({"gesture": "stage", "to": "3"}, (3, 4, 7_500_000_000, "adam", "masters")),
        ({"gesture": "ranks", "to": 10}, (0, RANKS[10], 7_500_000_000, "adam", "masters")),
        (
            {"gesture": "parameters", "to": str(PARAMETERS[0])},
            (0, 4, PARAMETERS[0], "adam", "masters"),
        ),
        ({"gesture": "optimizer", "to": "sgd"}, (0, 4, 7_500_000_000, "sgd", "masters")),
        ({"gesture": "recipe", "to": "half"}, (0, 4, 7_500_000_000, "adam", "half")),
    ],
)
def test_each_gesture_changes_what_it_names(content: Any, read: tuple[Any, ...]) -> None:
    x = shards()
    gesture(x, **content)
    assert (x.stage, x.ranks, x.parameters, x.optimizer, x.recipe) == read
    assert x._panel.answered == 1


def test_everything_can_be_assigned() -> None:
    x = shards()
    x.stage, x.ranks, x.parameters, x.optimizer, x.recipe = 2, 8, 1000, "momentum", "autocast"
    assert x.bytes == zero_bytes(1000, 8, 2, "momentum", "autocast")
    assert x._panel.view["sentence"].startswith("Stage 2, 8 ranks, 1000 parameters")


def test_what_is_shown_is_among_the_choices_sent() -> None:
    x = shards(parameters=12_345)
    for name in ("stage", "parameters", "optimizer", "recipe"):
        assert x._panel.view[name] in [sent for sent, _ in x._panel.choices[name]]
    assert [sent for sent, _ in x._panel.choices["optimizer"]] == list(STATE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4,), "stage 4 is unknown; choose from 0, 1, 2, 3"),
        ((1, 9), "ranks 9 is unknown; choose from 1, 2, 3, 4, 5, 6, 7, 8, 16"),
        ((1, 4, 0), "parameters=0 must be 1 or more"),
        ((1, 4, 10, "lion"), "optimizer 'lion' is unknown; choose from sgd, momentum, adam"),
        ((1, 4, 10, "sgd", "O1"), "recipe 'O1' is unknown; choose from masters, autocast, half"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_legal(
    arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        shards(*arguments)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (999_600, "1.00 MB")]
)
def test_sizes_are_written_in_three_digits_of_powers_of_ten(count: int, text: str) -> None:
    assert words.size(count) == text


def test_docstring_examples_hold() -> None:
    result = doctest.testmod(words)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_functions_example_holds() -> None:
    [example] = doctest.DocTestFinder().find(shards, globs={"shards": shards})
    result = doctest.DocTestRunner().run(example)
    assert (result.failed, result.attempted) == (0, 1)
