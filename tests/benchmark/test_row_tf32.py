"""A row has the TF32 state its recipe was measured with, not the one before and after it."""

from __future__ import annotations

import math

import pytest

from ampcourse.benchmark.context import Context
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.plans import Task
from ampcourse.benchmark.recipes import parse

TASK = Task("tiny", "3x3", 12, 16, "synthetic")


@pytest.mark.parametrize("recipe", ["fp32", "tf32", "default", "amp-bf16+nhwc"])
def test_the_state_in_a_row_is_the_one_that_was_in_force(recipe: str) -> None:
    machine = Machine()
    context = Context(machine, "a test", math.inf, peaks_s=0)
    step = context.step(parse(recipe), TASK, 0.1)
    before = machine.tf32()
    with step.active():
        in_force = machine.tf32()
    assert machine.tf32() == before
    assert context.row("training", "ok", "", parse(recipe), TASK)["machine"]["tf32"] == in_force
    if recipe != "default":
        assert in_force != before
