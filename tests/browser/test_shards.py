"""The shard painter in JupyterLab: stages and ranks by key, in both themes, on a narrow page."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab
from tests.browser.layout import cut_text, overhang

pytestmark = pytest.mark.browser

WIDGET = "from ampcourse.widgets import shards\nx = shards()\nx"


@pytest.fixture
def page(lab: Lab) -> Any:
    lab.open_cells([WIDGET, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-shard-painter .amp-held")
    return lab.page


def told(page: Any, text: str) -> None:
    """Wait for the sentence that a screen reader gets."""
    page.get_by_role("status").filter(has_text=text).wait_for()


def test_stages_and_ranks_are_chosen_by_key_and_the_kernel_follows(lab: Lab, page: Any) -> None:
    page.get_by_role("radio", name="0: nothing divided").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    told(page, "Stage 3, 4 ranks, 7.5 billion parameters: a rank keeps 30.0 GB (DDP: 120 GB)")
    ranks = page.get_by_role("slider", name="Ranks")
    ranks.focus()
    page.keyboard.press("End")
    told(page, "Stage 3, 1024 ranks")
    assert ranks.get_attribute("aria-valuetext") == "1024"
    page.get_by_role("radio", name="FP32, autocast").check()
    page.get_by_role("radio", name="SGD, momentum").check()
    page.get_by_role("radio", name="25.6 million").check()
    told(page, "25.6 million parameters")
    read = lab.run("print(x.stage, x.ranks, x.parameters, x.optimizer, x.recipe)")
    assert read.split() == ["3", "1024", "25557032", "momentum", "autocast"]


def test_shares_lie_side_by_side_and_are_told_in_words(page: Any) -> None:
    page.get_by_role("radio", name="1: optimizer state").check()
    told(page, "Stage 1")
    ends = page.locator(".amp-held.amp-use-optimizer-state").evaluate_all(
        "held => held.map(e => [e.getBoundingClientRect().left, e.getBoundingClientRect().right])"
    )
    assert len(ends) == 4
    for (_, right), (left, _) in pairwise(ends):
        assert abs(right - left) < 1
    parts = page.get_by_role("list", name="rank 2:").get_by_role("listitem").all_inner_texts()
    assert [text.strip() for text in parts] == [
        "weights: all of it, 15.0 GB",
        "gradients: all of it, 15.0 GB",
        "optimizer state: 1/4 of it, 22.5 GB",
    ]


def test_the_chosen_stage_and_what_it_divides_are_told_by_more_than_colour(page: Any) -> None:
    page.get_by_role("radio", name="2: and gradients").check()
    chosen = page.get_by_role("columnheader", name="chosen")
    chosen.filter(has_text="2").wait_for()
    assert chosen.count() == 1
    weight = "cells => cells.map(cell => getComputedStyle(cell).fontWeight)"
    row = page.get_by_role("row", name="gradients").get_by_role("cell")
    assert row.evaluate_all(weight) == ["400", "400", "700", "700"]


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    parts = ("input[type=range]", "input[type=radio]")
    press_shortcuts(lab, page, [f".amp-shard-painter {part}" for part in parts])


def test_nothing_sticks_out_from_360_to_700_pixels_and_axe_finds_nothing(
    lab: Lab, page: Any
) -> None:
    for width in (360, 500, 700):
        page.set_viewport_size({"width": width, "height": 1400})
        for stage, ranks, recipe in ((0, 4, "masters"), (3, 64, "autocast"), (1, 7, "half")):
            lab.run(f"x.stage, x.ranks, x.recipe = {stage}, {ranks}, {recipe!r}")
            told(page, f"Stage {stage}, {ranks} ranks")
            assert overhang(page, ".amp-shard-painter") <= 1, (width, stage)
            assert cut_text(page, ".amp-shard-painter .amp-notes p") == [], width
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-shard-painter") == [], theme


def test_the_plain_text_is_the_table_of_the_page(lab: Lab, page: Any) -> None:
    assert lab.outputs()[0].strip() == lab.run("print(x)").strip()
    texts = page.locator(".amp-stages tbody tr").first.locator("td").all_inner_texts()
    (line,) = (line for line in lab.outputs()[0].splitlines() if line.startswith("weights "))
    assert line.removeprefix("weights").split("  ")[-1].strip() == texts[-1]
    assert [text for text in texts if text not in line] == []
