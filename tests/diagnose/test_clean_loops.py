"""No finding comes of a loop with nothing wrong in it."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch

from ampcourse.diagnose import watch
from tests.diagnose.clean_loops import LOOPS


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_clean_loop_has_no_finding(loop: Callable[[], None]) -> None:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with watch() as report:
            loop()
    assert report.findings == (), str(report)
    assert not [note for note in report.notes if note.startswith("Could not look")]


def test_there_are_more_than_twenty_clean_loops() -> None:
    assert len(LOOPS) > 20
