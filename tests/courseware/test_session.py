"""A session keeps what it can of a notebook whose code breaks its kernels."""

from typing import Any

import pytest

from ampcourse.courseware.kernel import KernelLost, Limits, Reply
from ampcourse.courseware.sandbox.notebook_kernel import NotebookKernels
from ampcourse.courseware.session import RESTARTS, Answers, OutOfTime, Run, Session
from ampcourse.courseware.sheet import Sheet
from ampcourse.courseware.submission import Piece


class Scripted:
    """A kernel that counts what runs in it and is lost after chosen code."""

    lost = False

    def __init__(self, log: list[str], fatal: str) -> None:
        self.log, self.fatal, self.last = log, fatal, ""

    def execute(self, code: str, seconds: float) -> Reply:
        self.log.append(code)
        self.last = code
        return Reply("ok")

    def evaluate(self, call: str, seconds: float) -> tuple[dict[str, Any], list[str]]:
        self.log.append(call)
        if self.fatal and self.fatal in call:
            raise KernelLost("ended its kernel")
        return {"value": ["none"]}, ["colorsys"]

    def refused(self, seconds: float) -> list[str]:
        if self.fatal and self.fatal in self.last:
            raise KernelLost("ended its kernel")
        return []

    def close(self) -> None:
        self.log.append("closed")


class ScriptedKernels(NotebookKernels):
    def __init__(self, fatal: str) -> None:
        self.log: list[str] = []
        self.fatal = fatal

    def start(self, lesson: Any, limits: Limits) -> Any:
        return Scripted(self.log, self.fatal)


def test_a_cell_whose_kernel_ends_after_it_is_not_run_for_ever(sheet: Sheet) -> None:
    kernels = ScriptedKernels(fatal="bad")
    session = Session(sheet.lesson, Limits(), kernels)
    run = Run(Piece("good = 1\nbad = 2"))
    session.add(run)
    assert kernels.log.count("closed") == 2
    assert kernels.log[-1] == "good = 1"  # the statement before the fatal one is kept
    assert run.error == "this cell ended its kernel"
    session.add(Run(Piece("after = 3")))
    assert session.runs[-1].error == ""


def test_a_second_run_skips_what_cost_a_kernel_but_forgets_its_error() -> None:
    run = Run(Piece("1\n2"), "this cell stopped", whole=False, skip={1}, refused=["colorsys"])
    again = run.again()
    assert (again.piece, again.whole, again.skip) == (run.piece, False, {1})
    assert (again.error, again.refused) == ("", [])
    again.skip.add(0)
    assert run.skip == {1}


def test_a_session_gives_up_after_so_many_kernels(sheet: Sheet) -> None:
    session = Session(sheet.lesson, Limits(), ScriptedKernels(fatal=""))
    for _ in range(RESTARTS):
        session.drop()
    with pytest.raises(OutOfTime, match=f"{RESTARTS + 1} times"):
        session.drop()


def test_two_calls_without_result_end_a_tasks_questions(sheet: Sheet) -> None:
    session = Session(sheet.lesson, Limits(), ScriptedKernels(fatal=""))
    answers = Answers(hangs=2)
    session.ask(["1", "2"], answers)
    assert [list(outcome) for outcome in answers.outcomes] == [["no_result"]] * 2


def test_a_call_that_costs_the_kernel_has_no_result_and_the_next_is_asked_of_another(
    sheet: Sheet,
) -> None:
    kernels = ScriptedKernels(fatal="bad")
    session = Session(sheet.lesson, Limits(), kernels)
    answers = Answers()
    session.ask(["1", "bad", "2"], answers)
    assert answers.outcomes == [
        {"value": ["none"]},
        {"no_result": "ended its kernel"},
        {"value": ["none"]},
    ]
    assert kernels.log == ["1", "bad", "closed", "2"]
    assert (answers.hangs, answers.refused) == (1, ["colorsys"] * 2)


def test_a_notebook_whose_time_is_used_up_is_asked_no_more(sheet: Sheet) -> None:
    session = Session(sheet.lesson, Limits(notebook=0), kernels := ScriptedKernels(fatal=""))
    with pytest.raises(OutOfTime, match="used up its 0 s"):
        session.ask(["1"], Answers())
    assert kernels.log == []
