"""Each planted fault is found, under its kind and at its module or line."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import pytest
import torch

from ampcourse.diagnose import watch
from ampcourse.diagnose.finding import KINDS
from tests.diagnose.planted import FAULTS, Planted


@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted.run.__name__)
def test_the_fault_and_no_other_is_found_at_its_place(planted: Planted) -> None:
    torch.manual_seed(0)
    ends = pytest.raises(planted.raises) if planted.raises else nullcontext()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ends, watch() as report:
            planted.run()
    found = [(finding.kind, finding.where) for finding in report.findings]
    kind, where = planted.kind, planted.where
    assert any(k == kind and (w == where or w.endswith("/" + where)) for k, w in found), str(report)
    assert {k for k, _ in found} - {planted.besides} == {kind}, str(report)


def test_every_kind_of_finding_is_planted() -> None:
    assert {planted.kind for planted in FAULTS} == set(KINDS)
