"""The share of a gradient that float16 flushed is exact: held against counts made by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ampcourse.diagnose import diagnose, watch
from ampcourse.diagnose.gradients import compare
from ampcourse.diagnose.report import GradientFlush
from tests.diagnose.clean_loops import Scaler, fp16


class Times(nn.Module):
    """Multiplies a float16 copy of its weight by given numbers."""

    def __init__(self, factors: list[float]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(len(factors)))
        self.register_buffer("factors", torch.tensor(factors).half())

    def forward(self) -> torch.Tensor:
        return (self.weight.half() * self.factors).float()


# Times 2^-8, which is what comes from the loss: under 2^-25, on it (a tie, to 0), above it, true 0.
FACTORS = [2.0**-20, 2.0**-17, 1.5 * 2.0**-17, 2.0**-10, 1.0, 0.0, 0.0, 3.0]


def flush_of(scale: float) -> GradientFlush:
    model = Times(FACTORS)
    report = diagnose(model, lambda: (model().sum() * (scale * 2.0**-8)).backward())
    return report.gradients["weight"]


def test_what_is_under_or_on_half_the_smallest_subnormal_is_flushed() -> None:
    flush = flush_of(1.0)
    assert (flush.total, flush.zeros, flush.nonzero, flush.flushed) == (8, 4, 6, 2)
    assert flush.share == 2 / 6


def test_true_zeros_are_not_counted_as_flushed() -> None:
    assert flush_of(1024.0) == GradientFlush(total=8, zeros=2, nonzero=6, flushed=0)


def test_a_share_of_nothing_is_zero() -> None:
    assert GradientFlush(4, 4, 0, 0).share == 0.0


def test_zeros_by_cancellation_are_not_counted_as_flushed() -> None:
    tally = compare(torch.zeros(3).half(), torch.tensor([2.0**-24, 2.0**-25, 0.0]))
    assert (tally.zeros, tally.nonzero, tally.flushed) == (3, 2, 1)


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**-20])
def test_a_finding_names_the_share_and_that_no_scaler_scaled(scale: float) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    model[1].weight.data.fill_(2.0**-9)
    with watch(model) as report:
        with fp16():
            out = model(torch.ones(2, 4))
        (out.float().sum() * scale).backward()
    (finding,) = report.findings
    assert finding.kind == "gradient_underflow"
    assert "rounded 100% of its gradient values" in finding.message
    assert "not scaled by a GradScaler" in finding.message


def test_a_loss_scale_large_enough_leaves_no_finding() -> None:
    model, scaler = nn.Linear(4, 2), Scaler("cpu", init_scale=2.0**20)
    with watch(model) as report:
        with fp16():
            out = model(torch.ones(2, 4))
        scaler.scale(out.float().sum() * 2.0**-20).backward()
    assert report.findings == ()
    assert {name: flush.share for name, flush in report.gradients.items()} == {
        "weight": 0.0,
        "bias": 0.0,
    }


def test_bfloat16_and_float32_gradients_are_not_measured() -> None:
    model = nn.Linear(4, 2)
    report = diagnose(model, lambda: model(torch.ones(1, 4)).sum().backward())
    assert report.gradients == {}


def test_a_small_share_of_small_values_is_no_finding() -> None:
    model = Times([2.0**-16] * 19 + [2.0**-17])
    report = diagnose(model, lambda: (model().sum() * 2.0**-8).backward())
    assert report.gradients["weight"].share == 1 / 20
    assert report.gradients["weight"].lost == 0.5 / 19.5
    assert report.findings == ()
