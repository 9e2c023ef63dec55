"""A class of 200: every mark is the known truth, nothing is lost or doubled, and how fast.

Run alone: python3 -m ampcourse test -m benchmark -s -n 0 tests/benchmarks/test_class_of_200.py
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import psutil
import pytest

pytest.importorskip("jupytext", reason="needs the lab extra")

import nbformat

from ampcourse.classroom.record import Record
from ampcourse.classroom.store import Store
from ampcourse.courseware.answers import Answer, Desk, read_answers
from ampcourse.courseware.build import learner
from ampcourse.courseware.course import find_course
from ampcourse.courseware.sheet import make_sheet

LESSON = "01_floating_point"
STUDENTS = 200
STOCK = 20  # of the same files, graded by nbgrader in the same run
STOPS = (60, 130)  # results after which the grading is interrupted
COURSE = find_course()
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(COURSE.root),
    # nbgrader calls alembic by name, which lies beside the interpreter.
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}
pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600)]


def make_class(folder: Path) -> dict[str, float]:
    """Write the notebooks in nbgrader's layout and return the marks they must get."""
    lesson = COURSE.lesson(LESSON)
    desk, draw = Desk(make_sheet(lesson)), Random(200)
    answers = list(read_answers(COURSE, LESSON))
    worth: dict[Answer | str, float] = {}
    truth = {}
    for number in range(STUDENTS):
        notebook, total = learner(lesson), 0.0
        for task in lesson.tasks:
            answer = drawn([one for one in answers if one.task == task.id], draw)
            if answer is None:
                continue
            cell = next(cell for cell in notebook.cells if cell.id == task.id)
            cell.source = answer.text
            if answer not in worth:
                worth[answer] = desk.report(task.id, answer.text).score
            total += worth[answer]
        student = f"student{number:03}"
        path = folder / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
        truth[student] = round(total, 2)
    return truth


def drawn(answers: list[Answer], draw: Random) -> Answer | None:
    """Return a right answer in half of the cases, else any, or none at all."""
    kind = draw.random()
    if kind < 0.1:
        return None
    return draw.choice([one for one in answers if one.right] if kind < 0.55 else answers)


@contextmanager
def watched(process: subprocess.Popen[str], peak: list[float]) -> Iterator[None]:
    """Note the most memory that a process and all below it held, shared pages counted once."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.5):
            with contextlib.suppress(psutil.Error):
                family = [whole, *whole.children(recursive=True)]
                peak[0] = max(peak[0], sum(map(held, family)))

    whole = psutil.Process(process.pid)
    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def held(process: psutil.Process) -> int:
    """Return the bytes that a process holds, its part of shared pages; 0 once it is gone."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def grade(folder: Path, stop_at: int, peak: list[float]) -> tuple[int, float, str]:
    """Run the command, interrupt it once there are `stop_at` results; return what came of it."""
    command = [sys.executable, "-m", "ampcourse", "grade", "submitted", "--results", "grades"]
    results = folder / "grades" / "results" / LESSON
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--workers", "2"], cwd=folder, env=ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    with watched(process, peak):
        while process.poll() is None and stop_at:
            if len(list(results.glob("*.json"))) >= stop_at:
                os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does in a terminal
                break
            time.sleep(0.05)
        out, errors = process.communicate(timeout=1800)
    return process.returncode, time.perf_counter() - begin, out + errors


def stock_seconds(folder: Path) -> float:
    """Return the seconds that nbgrader's autograde takes for each of some of the notebooks."""
    stock = folder / "stock"
    for number in range(STOCK):
        student = f"student{number:03}"
        shutil.copytree(folder / "submitted" / student, stock / "submitted" / student)
    (stock / "source" / LESSON).mkdir(parents=True)
    shutil.copy(COURSE.instructor / f"{LESSON}.ipynb", stock / "source" / LESSON)
    (stock / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.course_id = 'amp'\n"
    )
    nbgrader = [sys.executable, "-m", "nbgrader"]
    made = [*nbgrader, "generate_assignment", LESSON, "--create", "--force"]
    subprocess.run(made, cwd=stock, env=ENVIRONMENT, check=True, capture_output=True)
    begin = time.perf_counter()
    done = [*nbgrader, "autograde", LESSON, "--create"]
    subprocess.run(done, cwd=stock, env=ENVIRONMENT, check=False, capture_output=True)
    seconds = time.perf_counter() - begin
    assert len(list((stock / "autograded").glob(f"*/{LESSON}"))) == STOCK
    return seconds / STOCK


def records(folder: Path) -> dict[str, Record]:
    return {record.student: record for record in Store(folder / "grades").records()}


def test_200_students_get_their_true_marks_though_interrupted_twice(tmp_path: Path) -> None:
    truth = make_class(tmp_path / "submitted")
    peak, seconds, now = [0.0], 0.0, []
    before: dict[str, Record] = {}
    for stop_at in (*STOPS, 0):
        status, took, told = grade(tmp_path, stop_at, peak)
        seconds += took
        assert status == (130 if stop_at else 0), told
        kept = records(tmp_path)
        assert {student: kept[student] for student in before} == before
        now.append(len(kept) - len(before))
        before = kept
    assert {student: record.score for student, record in before.items()} == truth
    found = re.search(r"(\d+) graded now, (\d+) unchanged, 0 not graded", told)
    assert found
    assert (int(found[1]), int(found[2])) == (now[-1], STUDENTS - now[-1])
    assert leftovers() == []
    ours, stock = seconds / STUDENTS, stock_seconds(tmp_path)
    protection = next(iter(before.values())).protection
    print(
        f"\n{STUDENTS} notebooks in {seconds:.0f} s on 2 workers, three starts included: "
        f"{ours:.2f} s each; nbgrader autograde {stock:.2f} s each: {stock / ours:.0f} times"
        f"\npeak memory {peak[0] / 1e9:.2f} GB; graded in runs of {now}; {protection}"
        f"\nload {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
    )


def leftovers() -> list[str]:
    """Return the commands of graders and kernels that outlived their command."""
    time.sleep(2)
    names = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = " ".join(process.info["cmdline"] or [])
        if "ampcourse grade submitted" in words:
            names.append(words)
    return names
