"""The ten loops of lesson 08 are found, each by its own cause, as the lesson has them."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ampcourse.diagnose import watch

SOURCE = Path(__file__).parents[2] / "notebooks" / "source" / "08_training_loops.py"

# The lesson's loop → the finding, and a piece of the line that is to be named.
LOOPS = {
    "a": ("clip_before_unscale", "clip_grad_norm_"),
    "b": ("unscale_twice", "unscale_"),
    "c": ("update_before_step", "step(w.critic_optimizer)"),
    "d": ("half_parameters_under_scaler", "scaler.step"),
    "e": ("update_twice", "update()"),
    "f": ("scheduler_after_skip", "scheduler.step"),
    "g": ("unscale_after_step", "unscale_"),
    "h": ("scaled_penalty", "autograd.grad"),
    "i": ("dtype_mismatch", "2"),
    "j": ("step_without_scaler", "optimizer.step"),
}


def lesson() -> dict[str, Any]:
    """Return the lesson's names: its imports, the World and the loops, with the lesson's lines."""
    tree = ast.parse(SOURCE.read_text("utf-8"))
    kept: list[ast.stmt] = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.ClassDef) and node.name == "World")
        or (isinstance(node, ast.FunctionDef) and re.fullmatch(r"loop_.|loss_of", node.name))
    ]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(kept, []), str(SOURCE), "exec"), names)
    return names


@pytest.mark.skipif(not SOURCE.is_file(), reason="lesson 08 is not written yet")
@pytest.mark.parametrize("letter", LOOPS)
def test_a_loop_of_the_zoo_is_found_at_its_place(letter: str) -> None:
    names = lesson()
    world = names["World"]()
    with suppress(Exception), watch(world.net, world.optimizer, world.scaler) as report:
        names[f"loop_{letter}"](world)
    kind, where = LOOPS[letter]
    places = [finding.where for finding in report.findings if finding.kind == kind]
    assert places, str(report)
    assert where in _shown(places[0])


def _shown(place: str) -> str:
    """Return the text of a line of the lesson, or a module path as it is."""
    file, _, line = place.rpartition(":")
    return SOURCE.read_text("utf-8").splitlines()[int(line) - 1] if file else place
