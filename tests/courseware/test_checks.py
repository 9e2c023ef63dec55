"""What a learner is told: call, got, expected, reason; the cause where it is known."""

from typing import Any

import pytest

from ampcourse.courseware import check, inf, progress, raises, task
from ampcourse.courseware.agent import evaluate
from ampcourse.courseware.checks import Check, TaskNotPassed, judge, recording
from ampcourse.courseware.matchers import expect


def fails(namespace_value: Any, *arguments: Any, **options: Any) -> str:
    """Return the failure of one check of the global `answer`."""
    global answer
    answer = namespace_value
    with pytest.raises(TaskNotPassed) as caught, task("t90_1"):
        check("answer", *arguments, **options)
    return str(caught.value)


answer: Any = None


def test_a_failure_reads_call_got_expected_reason() -> None:
    text = fails(65536.0, inf, "an all-ones exponent is reserved")
    assert text == (
        "t90_1 does not pass yet\n"
        "`answer` gave 65536.0; expected inf: an all-ones exponent is reserved"
    )


def test_a_trap_names_the_cause_instead_of_the_reason() -> None:
    traps = {"that is the square": 9, "that is the double": 6}
    assert fails(9, 27, "the cube", traps=traps).endswith("that is the square")
    assert fails(8, 27, "the cube", traps=traps).endswith("the cube")


def test_a_trap_is_known_in_spite_of_rounding_but_no_mark_is() -> None:
    traps = {"that is the share": 1 - 15508 / 22818}
    assert fails((22818 - 15508) / 22818, 0.5, "half", traps=traps).endswith("that is the share")
    assert fails(1 + 2**-52, 1.0, "one").endswith("one")
    exact = {"that is one": 1.0, "that is the next number": 1 + 2**-52}
    assert fails(1 + 2**-52, 2.0, "two", traps=exact).endswith("that is the next number")


def test_a_trap_that_is_right_is_no_trap() -> None:
    global answer
    answer = 4
    with task("t90_1"):
        check("answer", 4, "the square", traps={"that is the double": 4})


def test_the_type_is_told_where_the_value_looks_right() -> None:
    assert "gave 1.0 as float, not int" in fails(1.0, 1, "a count")
    assert "gave True as bool, not int" in fails(True, 1, "a count")


def test_the_first_wrong_element_of_a_sequence_is_told() -> None:
    assert "gave 7 at [1], where 2 belongs" in fails([1, 7, 9], [1, 2, 3], "counts")


def test_an_exception_is_told_with_its_text() -> None:
    words = "raised ZeroDivisionError: division by zero"
    with pytest.raises(TaskNotPassed, match=words), task("t90_1"):
        check("1 / 0", 0, "no division")


def test_an_untouched_stub_waits_and_any_other_error_does_not() -> None:
    def stub() -> None:
        raise NotImplementedError("t90_1")

    global answer
    answer = stub
    with pytest.raises(TaskNotPassed, match="t90_1 is not solved yet"), task("t90_1"):
        check("answer()", 1, "one")
    with pytest.raises(TaskNotPassed, match="NotImplementedError: later"), task("t90_1"):
        check("exec('raise NotImplementedError(\"later\")')", 1, "one")


def test_a_task_that_calls_an_unsolved_one_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    call = "exec('raise NotImplementedError(\"t90_1\")')"
    with pytest.raises(TaskNotPassed, match="t90_2 calls t90_1, which is"), task("t90_2"):
        check(call, 1, "one")
    assert (
        "t90_2 calls t90_1, which is not solved yet: solve t90_1 first" in capsys.readouterr().out
    )
    failure = judge(Check(call, expect(1), "one", task="t90_2"), evaluate(call, {}))
    assert failure.message == f"`{call}` calls t90_1, which is not solved yet"
    with pytest.raises(TaskNotPassed), task("t90_1"):
        check(call, 1, "one")
    assert "t90_1 is waiting for you" in capsys.readouterr().out


def test_a_function_not_run_yet_is_told_once() -> None:
    def checks() -> None:
        with task("t90_1"):
            check("not_there(1)", 1, "one")
            check("not_there(2)", 2, "two")

    with pytest.raises(TaskNotPassed) as caught:
        checks()
    assert str(caught.value).count("\n") == 1
    assert "run the cell that defines it first" in str(caught.value)


def test_a_missing_return_is_told() -> None:
    assert fails(None, 1, "one").endswith("is a `return` missing?")
    global answer
    answer = None
    with task("t90_1"):
        check("answer", None, "None may be right")


def test_a_tuple_for_a_list_is_told_as_such() -> None:
    assert "gave (1, 2) as tuple, not list" in fails((1, 2), [1, 2], "two numbers")


def test_a_half_finished_solution_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    def half(x: int) -> int:
        if x:
            return x
        raise NotImplementedError("t90_1")

    global answer
    answer = half

    def checks() -> None:
        with task("t90_1"):
            check("answer(1)", 1, "one")
            check("answer(0)", 0, "none")

    with pytest.raises(TaskNotPassed, match="t90_1 is not solved yet"):
        checks()
    assert "not finished" in capsys.readouterr().out


def test_one_failure_is_shown_for_each_reason() -> None:
    def checks() -> None:
        with task("t90_1"):
            for k in range(5):
                check(f"{k}", -1, "below zero")
            check("0", 1, "one")

    with pytest.raises(TaskNotPassed) as caught:
        checks()
    assert str(caught.value).count("\n") == 2


def test_of_one_reason_the_failure_with_a_known_cause_is_shown() -> None:
    def checks() -> None:
        with task("t90_1"):
            check("7", 1, "one")
            check("2", 1, "one", traps={"that is the double": 2})
            check("3", 1, "one", traps={"that is the triple": 3})

    with pytest.raises(TaskNotPassed) as caught:
        checks()
    assert str(caught.value).endswith("`2` gave 2; expected 1: that is the double")


def test_a_check_outside_a_task_says_where_it_belongs() -> None:
    with pytest.raises(RuntimeError, match="inside `with task"):
        check("1", 1, "one")


def test_recording_evaluates_nothing() -> None:
    with recording() as notes, task("t90_1"):
        check("never_defined()", 1, "one")
        check("also_never()", raises(ValueError), "two")
    assert [noted.call for noted in notes["t90_1"]] == ["never_defined()", "also_never()"]


def test_progress_counts_what_was_solved(capsys: pytest.CaptureFixture[str]) -> None:
    with task("t90_8"):
        check("1", 1, "one")
    progress({"t90_8": "First", "t90_9": "Second"})
    shown = capsys.readouterr().out
    assert "1 of 2 tasks solved" in shown
    assert "t90_9 Second: open" in shown


def test_cards_show_a_learners_text_as_text() -> None:
    from ampcourse.courseware import cards
    from ampcourse.courseware.checks import Check, Verdict
    from ampcourse.courseware.matchers import expect

    evil = "<script>alert(1)</script>"
    verdict = Verdict(Check(evil, expect(evil), evil), False, got=evil, hint=evil)
    assert "<script" not in cards.failed("t90_1", [verdict])._repr_html_()
