"""Corners of the rules about calls: what is counted, what is a fault by luck, what is none."""

from __future__ import annotations

import torch
from torch import nn

from ampcourse.diagnose import diagnose, watch
from tests.diagnose.clean_loops import Scaler, bf16, fp16, loss_of, net


def test_an_update_between_two_steps_is_a_fault_even_if_the_scale_stays() -> None:
    first, second, scaler = net(), net(), Scaler("cpu", init_scale=1024.0)
    with watch() as report:
        scaler.scale(loss_of(first, fp16()) + loss_of(second, fp16())).backward()
        for model in (first, second):
            scaler.step(torch.optim.SGD(model.parameters(), 0.1))
            scaler.update()
    (finding,) = report.findings
    assert finding.kind == "update_before_step"
    assert "the same number, by luck" in finding.message


def test_using_one_gradient_twice_is_not_taken_for_a_missing_zero_grad() -> None:
    model = nn.Linear(8, 4)
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for _ in range(2)]
    with watch(model) as report:
        loss_of(model).backward()
        for optimizer in optimizers:
            optimizer.step()
    assert report.findings == ()


def test_casts_of_an_evaluation_are_not_held_against_the_next_step() -> None:
    model = nn.Linear(8, 4)
    with watch(model) as report:
        with torch.no_grad():
            for _ in range(6):
                loss_of(model, bf16())
        loss_of(model, bf16()).backward()
    assert report.findings == ()
    assert report.weight_casts["weight"] == 7


def test_a_module_called_on_its_own_has_the_path_in_the_outermost_model() -> None:
    with watch() as report:
        model = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
        model[0][1].weight.data.fill_(torch.inf)
        model[0][1](torch.ones(1, 4)).sum().backward()
    assert [finding.where for finding in report.findings] == ["0.1.weight"]


def test_steps_that_a_fused_optimizer_skips_by_itself_are_counted_as_skipped() -> None:
    model, scaler = nn.Linear(4, 2), Scaler("cpu", init_scale=2.0**17)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def step() -> None:
        for _ in range(3):  # scales 2^17 and 2^16 are too large for float16, 2^15 is not
            optimizer.zero_grad()
            with fp16():
                out = model(torch.ones(1, 4)).sum()
            scaler.scale(out.float()).backward()
            scaler.step(optimizer)
            scaler.update()

    report = diagnose(model, step, optimizer, scaler)
    assert (report.steps, report.skipped) == (3, 2)
