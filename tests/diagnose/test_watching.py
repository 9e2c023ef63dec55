"""The report's numbers, what is put in place while watching, and that all of it is removed."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import lr_scheduler
from torch.optim import optimizer as optimizer_hooks
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

import ampcourse.diagnose
from ampcourse.amp.grad_scaler import GradScaler as OurGradScaler
from ampcourse.diagnose import Finding, Report, diagnose, watch
from ampcourse.diagnose.finding import KINDS
from tests.diagnose.clean_loops import bf16, fp16, fp16_autocast_and_scaler


def in_place() -> dict[str, Any]:
    """Return everything that watching replaces or adds to."""
    classes = [
        torch.amp.GradScaler,
        OurGradScaler,
        torch.optim.Optimizer,
        nn.Module,
        *lr_scheduler.LRScheduler.__subclasses__(),
    ]
    state: dict[str, Any] = {str(cls): dict(vars(cls)) for cls in classes}
    state |= {"autograd": dict(vars(torch.autograd)), "clip": dict(vars(nn.utils.clip_grad))}
    state["module hooks"] = [
        dict(module_hooks._global_forward_hooks),
        dict(module_hooks._global_forward_pre_hooks),
        dict(module_hooks._global_forward_hooks_always_called),
    ]
    state["optimizer hooks"] = [
        dict(optimizer_hooks._global_optimizer_pre_hooks),
        dict(optimizer_hooks._global_optimizer_post_hooks),
    ]
    state["modes"] = _get_current_dispatch_mode_stack()
    state["filters"] = list(warnings.filters)
    return state


@pytest.mark.parametrize("raises", [False, True])
def test_everything_is_as_before_afterwards(raises: bool) -> None:
    before = in_place()
    model = nn.Sequential(nn.Linear(4, 2))
    hooks = dict(model._forward_hooks), dict(model[0]._forward_hooks)
    report = diagnose(model, lambda: model(torch.ones(1, 3 if raises else 4)).sum().backward())
    assert bool(report.error) == raises
    assert in_place() == before
    assert (dict(model._forward_hooks), dict(model[0]._forward_hooks)) == hooks


def test_while_watching_it_is_not() -> None:
    before = in_place()
    with watch():
        changed = in_place()
    assert {name for name in before if before[name] != changed[name]} >= {
        "autograd",
        "clip",
        "module hooks",
        "optimizer hooks",
        "modes",
        "filters",
    }


def test_watching_changes_no_bit_of_the_training() -> None:
    def weights() -> torch.Tensor:
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler("cpu")
        for _ in range(5):
            optimizer.zero_grad()
            with fp16():
                loss = model(torch.randn(4, 8)).float().square().mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            scaler.step(optimizer)
            scaler.update()
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    plain = weights()
    with watch():
        watched = weights()
    assert torch.equal(plain, watched)


def test_op_types_and_weight_casts_are_counted() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
    with watch(model) as report:
        for _ in range(3):
            with bf16():
                loss = model(torch.ones(1, 4)).float().sum()
            loss.backward()
    assert report.op_types["addmm", "bfloat16 -> bfloat16"] == 3
    assert report.op_types["relu", "bfloat16 -> bfloat16"] == 3
    assert report.op_types["sum", "float32 -> float32"] == 3
    assert report.weight_casts == {"0.weight": 3, "0.bias": 3, "2.weight": 3}


def test_what_watching_computes_itself_is_not_counted() -> None:
    model = nn.Linear(4, 2, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, optimizer) as report:
        model(torch.ones(1, 4)).mean().backward()
        optimizer.step()
    names = {op for op, _ in report.op_types}
    assert not names & {"isfinite", "eq", "abs", "clone", "_foreach_add_"}
    assert ("sum", "float32 -> float32") not in report.op_types


def test_a_report_reads_as_text_with_its_lesson_and_place() -> None:
    finding = Finding("update_missing", "train.py:7", "It was seen. Do this.", "06_grad_scaler")
    report = Report((finding,), {("addmm", "float16 -> float16"): 2}, {"fc.weight": 1}, steps=1)
    text = str(report)
    assert text.startswith("1 finding in 1 optimizer step.\n\n1. update_missing at train.py:7\n")
    assert "Lesson 06_grad_scaler" in text
    assert "2 × addmm: float16 -> float16" in text
    assert str(Report(())).startswith("No findings in 0 optimizer steps.")


def test_flushed_shares_are_in_the_text() -> None:
    flush = ampcourse.diagnose.report.GradientFlush(8, 4, 6, 3)
    assert "50.00% fc.weight: 3 of 6 values" in str(Report((), gradients={"fc.weight": flush}))


@pytest.mark.parametrize("record", [Report(()), Finding("a", "b", "c", "d")])
def test_reports_and_findings_cannot_be_changed(record: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.error = "changed"


def test_every_kind_has_advice_and_a_lesson_of_the_course() -> None:
    for advice, lesson in KINDS.values():
        assert advice.endswith(".")
        assert lesson in {
            "02_rounding",
            "04_gradient_range",
            "05_loss_scaling",
            "06_grad_scaler",
            "07_autocast",
            "08_training_loops",
            "12_bf16_fp8_fp4",
        }


def test_a_second_watch_inside_the_first_is_refused() -> None:
    with watch(), pytest.raises(RuntimeError, match="already watching"), watch():
        pass
    with watch():
        pass


def test_a_step_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="does one training step"):
        diagnose(nn.Identity(), torch.ones(1))


def test_the_report_of_a_failed_step_keeps_its_error() -> None:
    def step() -> None:
        raise ValueError("no such batch")

    report = diagnose(nn.Identity(), step)
    assert report.error == "ValueError: no such batch"
    assert report.findings == ()


def test_a_finding_seen_again_is_counted_and_not_repeated() -> None:
    model = nn.Linear(4, 2)
    with watch(model) as report:
        for _ in range(3):
            with fp16():
                model(torch.ones(1, 4)).float().sum().backward()
    (finding,) = report.findings
    assert "Seen 3 times." in finding.message


def test_compiled_before_or_while_watching_runs_op_by_op() -> None:
    model = nn.Sequential(nn.Linear(4, 2))
    compiled = torch.compile(model, backend="eager")
    compiled(torch.ones(1, 4))
    with watch(model) as report:
        compiled(torch.ones(1, 4))
    assert report.op_types["addmm", "float32 -> float32"] == 1


def test_importing_a_submodule_does_not_hide_the_functions() -> None:
    import ampcourse.diagnose.watching

    assert callable(ampcourse.diagnose.watch)
    assert ampcourse.diagnose.diagnose is diagnose
    with pytest.raises(AttributeError, match="no attribute 'wach'"):
        ampcourse.diagnose.wach  # noqa: B018


def test_a_loop_of_many_steps_reports_its_steps() -> None:
    with watch() as report:
        fp16_autocast_and_scaler()
    assert report.steps == 6
    assert report.snapshot() == report.snapshot()
