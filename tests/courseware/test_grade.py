"""Whatever is handed in: right marks for what is right, a report for every task, no hang."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ampcourse.courseware.build import learner
from ampcourse.courseware.course import Course
from ampcourse.courseware.grade import grade, grade_files
from ampcourse.courseware.kernel import Kernels, Limits
from ampcourse.courseware.report import Report, as_json, as_text
from ampcourse.courseware.sheet import Sheet
from tests.courseware.conftest import QUICK, RIGHT, SAMPLE, HandIn, Mark


def scores(report: Report) -> list[float]:
    return [task.score for task in report.tasks]


def with_first(text: str) -> dict[str, str]:
    """Return the right solutions with the first one replaced."""
    return {**RIGHT, "t90_1": text}


def insert(text: str, at: int = 1) -> Callable[[dict[str, Any]], None]:
    """Return a change that adds a code cell, as a learner's own has a random id."""
    cell = {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "id": "ab12cd34"}
    return lambda content: content["cells"].insert(at, cell)


def test_right_answers_get_full_marks(mark: Mark, hand_in: HandIn) -> None:
    report = mark(hand_in())
    assert scores(report) == [2, 3]
    assert report.notes == ()


def test_blank_work_scores_zero_and_is_called_blank(mark: Mark, hand_in: HandIn) -> None:
    report = mark(hand_in({}))
    assert scores(report) == [0, 0]
    assert all(task.blank for task in report.tasks)


def test_a_wrong_answer_is_told_call_got_expected_and_cause(mark: Mark, hand_in: HandIn) -> None:
    report = mark(hand_in(with_first("def add_one(x):\n    return x - 1")))
    assert scores(report) == [1, 3]  # infinity minus one is infinity all the same
    assert str(report.tasks[0].failures[0]) == ("`add_one(1)` gave 0; expected 2: that is one less")


def test_tabulated_visible_checks_earn_nothing(mark: Mark, hand_in: HandIn) -> None:
    table = "def add_one(x):\n    return {1: 2, float('inf'): float('inf')}[x]"
    assert scores(mark(hand_in(with_first(table)))) == [0, 3]


def test_added_cells_run_and_given_cells_do_not(mark: Mark, hand_in: HandIn) -> None:
    helper = insert("step = 1")
    answer = with_first(
        "def add_one(x):\n    assert 'demonstration' not in globals()\n    return x + step"
    )
    assert scores(mark(hand_in(answer, helper))) == [2, 3]


def test_what_a_demonstration_imports_may_be_used(mark: Mark, hand_in: HandIn) -> None:
    answer = with_first("def add_one(x):\n    return x + int(Fraction(1)) if x * 0 == 0 else x")
    assert scores(mark(hand_in(answer))) == [2, 3]


def test_a_name_of_a_demonstration_is_told_as_the_cause(mark: Mark, hand_in: HandIn) -> None:
    report = mark(hand_in(with_first("def add_one(x):\n    return demonstration")))
    assert scores(report) == [0, 3]
    assert report.tasks[0].note.startswith("demonstration comes from a demonstration cell")


def play(text: str) -> Callable[[dict[str, Any]], None]:
    """Return a change that edits the demonstration cell."""

    def change(content: dict[str, Any]) -> None:
        next(cell for cell in content["cells"] if cell["id"] == "cell-02")["source"] = text

    return change


def test_playing_with_a_demonstration_is_no_oddity(mark: Mark, hand_in: HandIn) -> None:
    report = mark(hand_in(None, play("demonstration = 7")))
    assert (scores(report), report.notes) == ([2, 3], ())


def test_a_helper_put_in_a_demonstration_cell_is_told_as_the_cause(
    mark: Mark, hand_in: HandIn
) -> None:
    answer = with_first("def add_one(x):\n    return x + helper")
    report = mark(hand_in(answer, play("helper = 1")))
    assert report.tasks[0].note.startswith("helper comes from a demonstration cell")


@pytest.mark.parametrize(
    ("fault", "why"), [("import colorsys", "imports colorsys"), ("1 / 0", "stopped")]
)
def test_a_name_lost_with_another_tasks_cell_is_told_as_the_cause(
    mark: Mark, hand_in: HandIn, fault: str, why: str
) -> None:
    first = f"{fault}\ndef add_one(x):\n    return x + 1"
    second = "def text_of(x):\n    return str(add_one(x) - 1)"
    report = mark(hand_in({"t90_1": first, "t90_2": second}))
    assert report.tasks[1].note == (
        f"add_one comes from the cell of t90_1, which {why}: mend that first"
    )


def test_a_later_cell_cannot_change_an_earlier_mark(mark: Mark, hand_in: HandIn) -> None:
    assert scores(mark(hand_in(None, insert("add_one = None", at=99)))) == [2, 3]


FORGERIES = {
    "an object equal to everything": (
        "class Same(int):\n"
        "    __eq__ = lambda self, other: True\n"
        "    __hash__ = int.__hash__\n"
        "def add_one(x):\n    return Same(0)"
    ),
    "a lying float": (
        "class Liar(float):\n"
        "    def hex(self): return (2.0).hex()\n"
        "def add_one(x):\n    return Liar(0)"
    ),
    "a replaced check": (
        "import ampcourse.courseware as c\n"
        "check = c.check = lambda *a, **k: None\n"
        "c.checks.judge = lambda *a: True\n"
        "def add_one(x):\n    return 0"
    ),
    "a patched agent": (
        "import sys\n"
        "agent = sys.modules['_ampcourse_agent']\n"
        "agent.evaluate = lambda call, names: {'value': True, 'passed': True}\n"
        "def add_one(x):\n    return 0"
    ),
    "broken trees": (
        "import sys\n"
        "sys.modules['_ampcourse_agent'].evaluate = lambda *a: {'value': ['list', [['int', 7]]]}\n"
        "def add_one(x):\n    return 0"
    ),
    **{
        f"an outcome of {forged}": (
            "import sys\n"
            f"sys.modules['_ampcourse_agent'].evaluate = lambda *a: {forged}\n"
            "def add_one(x):\n    return 0"
        )
        for forged in ("{'error': 7}", "{'error': {'bases': 7}}", "{'not_plain': {}}", "{}", "7")
    },
    "a transformer that drops calls": (
        "get_ipython().input_transformers_post.append(lambda lines: ['pass\\n'])\n"
        "def add_one(x):\n    return 0"
    ),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forgery_earns_nothing(mark: Mark, hand_in: HandIn, kind: str) -> None:
    report = mark(hand_in(with_first(FORGERIES[kind])))
    assert report.tasks[0].score == 0


GOOD = "def add_one(x):\n    return x + 1\n"
DISASTERS = {
    "an endless loop below the function": GOOD + "while True: pass",
    "a loop that ignores interrupts": (
        GOOD + "import time\n"
        "while True:\n"
        "    try:\n        time.sleep(9)\n"
        "    except BaseException:\n        pass"
    ),
    "os._exit": GOOD + "import os\nos._exit(0)",
    "sys.exit": GOOD + "import sys\nsys.exit(3)",
    "a kill of its process group": GOOD + "import os, signal\nos.killpg(0, signal.SIGKILL)",
    "a gigabyte printed": GOOD + "for k in range(100): print('x' * 10_000_000)",
    "all memory taken": GOOD + "hoard = [bytearray(10**8) for k in range(10**4)]",
    "a question to nobody": GOOD + "input('name?')",
    "an error with an endless text": GOOD + "raise ValueError('x' * 10**9)",
    "a syntax error in an added cell": "%%nonsense\n" + GOOD,
}


@pytest.mark.parametrize("kind", list(DISASTERS)[:-1])
def test_a_disaster_costs_no_marks_for_what_is_right(
    mark: Mark, hand_in: HandIn, kind: str
) -> None:
    report = mark(hand_in(with_first(DISASTERS[kind])))
    assert scores(report) == [2, 3]
    # The report tells what the cell did; to print a gigabyte to nobody may end in time.
    assert report.tasks[0].note or kind == "a gigabyte printed"


def test_a_syntax_error_costs_its_own_task_only(mark: Mark, hand_in: HandIn) -> None:
    report = mark(hand_in(with_first("def add_one(x:\n    return x + 1")))
    assert scores(report) == [0, 3]
    assert "SyntaxError" in report.tasks[0].note


BAD_CALLS = {
    "a call that hangs": "def add_one(x):\n    while True: pass",
    "a call that ends the kernel": "import os\ndef add_one(x):\n    os._exit(1)",
    "a call that exits": "def add_one(x):\n    raise SystemExit",
    "a generator": "def add_one(x):\n    yield x + 1",
    "a list without end": "def add_one(x):\n    a = []\n    a.append(a)\n    return a",
    "a huge int": "def add_one(x):\n    return 1 << 10**9",
    "text where numbers belong": "def add_one(x):\n    return 'two'",
    "an object whose repr kills": (
        "import os\nclass Bomb:\n    __repr__ = lambda self: os._exit(1)\n"
        "def add_one(x):\n    return Bomb()"
    ),
}


@pytest.mark.parametrize("kind", BAD_CALLS)
def test_a_bad_call_loses_its_task_and_no_other(mark: Mark, hand_in: HandIn, kind: str) -> None:
    report = mark(hand_in(with_first(BAD_CALLS[kind])))
    assert scores(report) == [0, 3]
    assert report.tasks[0].failures[0].got


def test_a_call_that_hangs_on_some_inputs_keeps_the_other_items(
    mark: Mark, hand_in: HandIn
) -> None:
    hangs = "def add_one(x):\n    while x == 7: pass\n    return x + 1"
    report = mark(hand_in(with_first(hangs)))
    assert scores(report) == [1, 3]
    assert "no result within 2 s" in report.tasks[0].failures[0].got


def test_a_forbidden_import_scores_zero_with_that_reason(mark: Mark, hand_in: HandIn) -> None:
    tries = "try:\n    import colorsys\nexcept ImportError:\n    pass\n" + GOOD
    report = mark(hand_in(with_first(tries)))
    assert scores(report) == [0, 3]
    assert "imports colorsys" in report.tasks[0].note


def test_a_forbidden_import_inside_the_call_scores_zero(mark: Mark, hand_in: HandIn) -> None:
    late = (
        "def add_one(x):\n"
        "    try:\n        import colorsys\n    except ImportError:\n        pass\n"
        "    return x + 1"
    )
    report = mark(hand_in(with_first(late)))
    assert scores(report) == [0, 3]


def edited_check(content: dict[str, Any]) -> None:
    for cell in content["cells"]:
        if cell["id"] in ("t90_1_check", "cell-01"):
            cell["source"] = "raise SystemExit"


def without_ids(content: dict[str, Any]) -> None:
    content["nbformat_minor"] = 0
    for cell in content["cells"]:
        del cell["id"]


def without_metadata(content: dict[str, Any]) -> None:
    without_ids(content)
    content["metadata"] = {}
    for cell in content["cells"]:
        cell["metadata"] = {}


def in_format_3(content: dict[str, Any]) -> None:
    for cell in content["cells"]:
        cell["input"] = cell.pop("source")
    content.update(nbformat=3, worksheets=[{"cells": content.pop("cells")}])


def without_first(content: dict[str, Any]) -> None:
    content["cells"] = [cell for cell in content["cells"] if cell["id"] != "t90_1"]


def retyped(content: dict[str, Any]) -> None:
    for cell in content["cells"]:
        if cell["id"] == "t90_1":
            cell["cell_type"] = "markdown"


def doubled(content: dict[str, Any]) -> None:
    cells = learner(Course(SAMPLE).lesson("90_sample")).cells
    stub = next(cell for cell in cells if cell.id == "t90_1")
    content["cells"].insert(6, {**content["cells"][4], "source": stub.source})


def reversed_cells(content: dict[str, Any]) -> None:
    content["cells"].reverse()


def more_points(content: dict[str, Any]) -> None:
    for cell in content["cells"]:
        cell["metadata"].setdefault("nbgrader", {})["points"] = 1000


@pytest.mark.parametrize(
    ("change", "expected", "note"),
    [
        (edited_check, [2, 3], "t90_1_check was edited"),
        (without_ids, [2, 3], ""),
        (without_metadata, [2, 3], "t90_1 is missing"),
        (in_format_3, [2, 3], ""),
        (without_first, [0, 3], "t90_1 is missing"),
        (retyped, [0, 3], "no code cell any more"),
        (doubled, [2, 3], "there 2 times"),
        (reversed_cells, [2, 3], ""),
        (more_points, [2, 3], ""),
    ],
)
def test_a_changed_notebook_keeps_the_marks_of_what_is_right(
    mark: Mark, hand_in: HandIn, change: Any, expected: list[float], note: str
) -> None:
    report = mark(hand_in(None, change, name="90_sample.ipynb"))
    assert scores(report) == expected
    assert report.points == 5
    assert note in " ".join(report.notes)


UNREADABLE = {
    "empty": b"",
    "truncated": b'{"cells": [{"cell_type": "co',
    "not JSON": b"print('hello')",
    "a JSON list": b"[1, 2]",
    "no cells": b'{"nbformat": 4}',
    "deeply nested": b"[" * 100_000,
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_unreadable_file_is_reported_not_marked(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "90_sample.ipynb"
    path.write_bytes(UNREADABLE[kind])
    (report,) = grade_files(Course(SAMPLE), [path], QUICK)
    assert report.problem
    assert [task.note for task in report.tasks] == ["not graded"] * 2
    assert report.file in as_text(report)
    assert json.loads(as_json([report]))[0]["problem"] == report.problem


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes in folders")
def test_a_folder_or_device_of_that_name_is_reported(tmp_path: Path) -> None:
    (tmp_path / "90_sample.ipynb").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")  # whoever opens it waits for a writer
    paths = [tmp_path / name for name in ("90_sample.ipynb", "pipe.ipynb", "nothing.ipynb")]
    reports = list(grade_files(Course(SAMPLE), [*paths, Path("/dev/zero")], QUICK))
    assert [bool(report.problem) for report in reports] == [True] * 4


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_other_encodings_and_line_ends_are_read(mark: Mark, hand_in: HandIn, encoding: str) -> None:
    path = hand_in(with_first("# é\r\n" + GOOD.replace("\n", "\r\n")))
    path.write_bytes(path.read_text("utf-8").encode(encoding))
    assert scores(mark(path)) == [2, 3]


def test_a_renamed_file_is_known_by_its_content(kernels: Kernels, hand_in: HandIn) -> None:
    path = hand_in(name="final (2).ipynb")
    (report,) = grade_files(Course(SAMPLE), [path], QUICK, kernels)
    assert report.lesson == "90_sample"
    assert report.score == 5


def test_the_notebook_limit_ends_a_submission_of_many_loops(
    sheet: Sheet, kernels: Kernels, hand_in: HandIn
) -> None:
    def loops(content: dict[str, Any]) -> None:
        for _ in range(50):
            insert("while True: pass", at=99)(content)
            insert("while True: pass", at=1)(content)

    start = time.monotonic()
    report = grade(sheet, hand_in(None, loops), Limits(cell=1, check=1, notebook=5), kernels)
    assert time.monotonic() - start < 30
    assert all("used up its 5 s" in task.note for task in report.tasks)


def test_a_solution_that_calls_an_unsolved_task_is_told_so(mark: Mark, hand_in: HandIn) -> None:
    text = "def text_of(x):\n    return str(add_one(x) - 1)"
    report = mark(hand_in({"t90_2": text}))
    first, second = report.tasks[:2]
    assert (first.blank, second.blank, second.score) == (True, False, 0)
    assert {failure.hint for failure in second.failures} == {
        "it calls t90_1, which is not solved yet: solve that first"
    }
