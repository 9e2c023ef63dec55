"""The form in which every lesson states its checks: `with task("t01_1"): check(…)`.

In a notebook each call is evaluated there and failures appear as one card. The grader runs
the same lines in its own process, where nothing is evaluated: it notes them down, sends only
the calls to the learner's kernel and judges what comes back (see `sheet` and `grade`).
"""

import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import dedent
from types import TracebackType
from typing import Any

from ampcourse.courseware import cards
from ampcourse.courseware.agent import Tree, evaluate
from ampcourse.courseware.matchers import Exactly, Matcher, expect
from ampcourse.courseware.plain import (
    encode,
    equal,
    first_difference,
    show,
    to_number,
    type_name,
)

# Faults that have nothing to do with a check's reason, told once for all checks of a task.
RUN_FIRST = "run the cell that defines it first"
NO_RETURN = "None is what a function gives that does not return: is a `return` missing?"
NEEDS = "it calls {task}, which is not solved yet: solve that first"
# What the learner's stub says, and nbgrader's own stub, which says nothing.
STUB_MESSAGE = re.compile(r"(t\d\d_\d+)?")


@dataclass(frozen=True)
class Check:
    """One call with what it must give, why, and the wrong values that have a known cause."""

    call: str
    expected: Matcher
    reason: str
    traps: tuple[tuple[str, Tree], ...] = ()
    line: int = 0  # of the check cell, by which the grader knows hidden checks
    task: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether a check held; if not, the parts of its message."""

    check: Check
    passed: bool
    waiting: bool = False  # the stub was still there
    needs: str = ""  # another task, whose stub was reached
    trapped: bool = False
    got: str = ""
    hint: str = ""

    @property
    def message(self) -> str:
        """The failure in one line: call, got, expected, reason."""
        if self.needs:
            return f"`{self.check.call}` calls {self.needs}, which is not solved yet"
        if self.waiting:
            return "not solved yet"
        expected = self.check.expected.text
        return f"`{self.check.call}` {self.got}; expected {expected}: {self.hint}"


class TaskNotPassed(AssertionError):
    """Raised at the end of a check cell, so that Validate and nbgrader count the failure."""

    def _render_traceback_(self) -> list[str]:
        # IPython prints these lines instead of a traceback through our own code.
        return [str(self)]


class task:
    """Gathers the checks of one task and shows what they found: `with task("t01_1"):`."""

    # One recorder at a time: the grader's (see `recording`); None in a notebook.
    recorder: "dict[str, list[Check]] | None" = None
    active: "task | None" = None
    solved: dict[str, bool] = {}  # noqa: RUF012 - what `progress` shows of this kernel

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.checks: list[Check] = []
        self.namespace = sys._getframe(1).f_globals

    def __enter__(self) -> "task":
        task.active = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task.active = None
        if error is not None:
            return
        if task.recorder is not None:
            task.recorder.setdefault(self.task_id, []).extend(self.checks)
            return
        self.show([judge(check, evaluate(check.call, self.namespace)) for check in self.checks])

    def show(self, verdicts: list[Verdict]) -> None:
        """Show the card for these verdicts; raise unless all checks held."""
        failed = worst(verdicts)
        task.solved[self.task_id] = not failed
        if not failed:
            return cards.display(cards.passed(self.task_id, len(verdicts)))
        if all(verdict.waiting or verdict.needs for verdict in failed):
            begun = any(verdict.passed for verdict in verdicts)
            needs = "" if any(verdict.waiting for verdict in failed) else failed[0].needs
            cards.display(cards.waiting(self.task_id, begun, needs))
            who = f"{self.task_id} calls {needs}, which" if needs else self.task_id
            raise TaskNotPassed(f"{who} is not solved yet")
        cards.display(cards.failed(self.task_id, failed))
        lines = [f"{self.task_id} does not pass yet"] + [verdict.message for verdict in failed]
        raise TaskNotPassed("\n".join(lines))


def check(call: str, expected: Any, reason: str, traps: dict[str, Any] | None = None) -> None:
    """State that evaluating `call` in the learner's namespace gives `expected`.

    `call` is an expression, or, over several lines, the body of a function that returns.
    `expected` is plain data or a matcher. `reason` says why, in words a learner can act on;
    checks that share it count as one item. `traps` maps a cause to the wrong value it leads
    to: where the value matches, the cause replaces the reason. Use it inside `with task(…)`.
    """
    if task.active is None:
        raise RuntimeError(f"check({call!r}, …) stands alone: put it inside `with task(…):`")
    matcher, call = expect(expected), dedent(call).strip()
    wrong = tuple((hint, encode(value)) for hint, value in (traps or {}).items())
    line = sys._getframe(1).f_lineno
    task.active.checks.append(Check(call, matcher, reason, wrong, line, task.active.task_id))


def judge(check: Check, outcome: dict[str, Any]) -> Verdict:
    """Judge the outcome of a call; one from a learner's kernel went through `readable`."""
    if check.expected.accepts(outcome):
        return Verdict(check, passed=True)
    if "error" in outcome:
        return judge_error(check, outcome["error"])
    if "value" not in outcome:
        got = str(outcome.get("no_result") or f"gave {outcome.get('not_plain', 'nothing')}")
        return Verdict(check, passed=False, got=got, hint=check.reason)
    value = outcome["value"]
    for alike in (equal, nearly_equal):
        for hint, tree in check.traps:
            if alike(tree, value):
                return Verdict(check, False, trapped=True, got=told(check, value), hint=hint)
    hint = NO_RETURN if value == ["none"] else check.reason
    return Verdict(check, False, got=told(check, value), hint=hint)


def judge_error(check: Check, error: dict[str, Any]) -> Verdict:
    """Judge a call that raised: the untouched stub is waiting, anything else is wrong."""
    kind, message = str(error.get("type")), str(error.get("message"))
    got = f"raised {kind}: {message}" if message else f"raised {kind}"
    if kind == "NotImplementedError" and STUB_MESSAGE.fullmatch(message):
        if message in ("", check.task):  # nbgrader's stub says nothing
            return Verdict(check, False, waiting=True, got=got, hint=check.reason)
        return Verdict(check, False, needs=message, got=got, hint=NEEDS.format(task=message))
    hint = RUN_FIRST if kind == "NameError" else check.reason
    return Verdict(check, False, got=got, hint=hint)


def told(check: Check, got: Tree) -> str:
    """Return what came out; of a long sequence, the first element that is wrong."""
    if isinstance(check.expected, Exactly):
        where = first_difference(check.expected.tree, got)
        if where:
            place, expected, found = where
            return f"gave {show(found)} at {place}, where {show(expected)} belongs"
        kinds = type_name(got), type_name(check.expected.tree)
        if kinds[0] != kinds[1] and looks_equal(check.expected.tree, got):
            return f"gave {show(got)} as {kinds[0]}, not {kinds[1]}"
    return f"gave {show(got)}"


def nearly_equal(trap: Tree, got: Tree) -> bool:
    """Return whether a wrong float is a trap's but for rounding: `(a - b) / a` for `1 - b / a`.

    This chooses words only; marks never depend on it.
    """
    numbers = to_number(trap), to_number(got)
    floats = [number for number in numbers if isinstance(number, float)]
    return len(floats) == 2 and math.isclose(*floats, rel_tol=1e-12)


def looks_equal(expected: Tree, got: Tree) -> bool:
    """Return whether two values differ in type alone, as 1, 1.0 and True do."""
    if {expected[0], got[0]} == {"list", "tuple"}:
        return equal(["list", expected[1]], ["list", got[1]])
    numbers = [bool(tree[1]) if tree[0] == "bool" else to_number(tree) for tree in (expected, got)]
    return show(expected) == show(got) or (None not in numbers and numbers[0] == numbers[1])


def worst(verdicts: list[Verdict]) -> list[Verdict]:
    """Return one failure per reason: the first whose cause is known, else the first.

    A fault of the whole task, such as a missing `return`, is told once.
    """
    chosen: dict[str, Verdict] = {}
    for verdict in verdicts:
        general = verdict.hint in (RUN_FIRST, NO_RETURN)
        reason = verdict.hint if general else verdict.check.reason
        if verdict.passed:
            continue
        if reason not in chosen or (verdict.trapped and not chosen[reason].trapped):
            chosen[reason] = verdict
    return list(chosen.values())


@contextmanager
def recording() -> Iterator[dict[str, list[Check]]]:
    """Note checks down by task id instead of evaluating them."""
    notes: dict[str, list[Check]] = {}
    task.recorder = notes
    try:
        yield notes
    finally:
        task.recorder = None


def progress(titles: dict[str, str]) -> None:
    """Show which of a lesson's tasks are solved in this session; the build appends the call."""
    cards.display(cards.progress(titles, task.solved))
