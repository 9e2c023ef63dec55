"""Results are kept as they come; what is missing or changed is graded again, and only that."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ampcourse.classroom import store as store_module
from ampcourse.classroom.collection import Catalogue
from ampcourse.classroom.deadline import Deadlines, read_moment
from ampcourse.classroom.grading import Progress
from ampcourse.classroom.marking import Marked
from ampcourse.classroom.record import from_json, to_json
from ampcourse.classroom.store import Store
from ampcourse.classroom.workers import Job
from ampcourse.courseware.kernel import KernelUnusable, Limits
from ampcourse.courseware.sheet import Sheet
from tests.classroom.conftest import LESSON, LIMITS, WRONG, here, notebook, raw
from tests.classroom.plain_kernels import PROTECTION, PlainKernels

Put = Callable[..., Path]
Graded = Callable[..., Progress]


class Counting:
    """Marks like `here`, notes whom, and stops after `most`, as Ctrl-C would."""

    def __init__(self, most: int = 1000) -> None:
        self.most = most
        self.marked: list[str] = []

    def __call__(
        self, jobs: Iterable[Job], sheets: dict[str, Sheet], limits: Limits
    ) -> Iterator[tuple[Job, Marked]]:
        for job, marked in here(jobs, sheets, limits):
            if len(self.marked) == self.most:
                raise KeyboardInterrupt
            self.marked.append(Path(job.shown).parent.name)
            yield job, marked


def scores(store: Store) -> dict[str, float | None]:
    return {record.student: record.score for record in store.records()}


@pytest.fixture
def three(put: Put) -> None:
    put(f"ann/{LESSON}.ipynb")
    put(f"bob/{LESSON}.ipynb", notebook(WRONG))
    put(f"cat/{LESSON}.ipynb", notebook({}))


@pytest.mark.usefixtures("three")
def test_each_student_gets_the_marks_and_the_cause(graded: Graded, store: Store) -> None:
    assert graded().graded == 3
    assert scores(store) == {"ann": 5, "bob": 4, "cat": 0}
    bob = store.find(LESSON, "bob")
    assert bob
    assert bob.causes == (("t90_1", "that is one less"),)
    assert bob.protection == PROTECTION


def test_only_a_traps_message_counts_as_a_misconception(
    graded: Graded, store: Store, put: Put
) -> None:
    put(f"ann/{LESSON}.ipynb", notebook({**WRONG, "t90_1": "def add_one(x):\n    return 'x'"}))
    graded()
    (record,) = store.records()
    assert record.score == 3
    assert record.causes == ()


@pytest.mark.usefixtures("three")
def test_after_an_interruption_only_the_rest_is_graded(graded: Graded, store: Store) -> None:
    with pytest.raises(KeyboardInterrupt):
        graded(Counting(most=1))
    assert scores(store) == {"ann": 5}
    again = Counting()
    assert graded(again).unchanged == 1
    assert again.marked == ["bob", "cat"]
    assert scores(store) == {"ann": 5, "bob": 4, "cat": 0}


@pytest.mark.usefixtures("three")
def test_a_changed_notebook_is_graded_again(graded: Graded, store: Store, put: Put) -> None:
    graded()
    put(f"bob/{LESSON}.ipynb")
    again = Counting()
    graded(again)
    assert again.marked == ["bob"]
    assert scores(store) == {"ann": 5, "bob": 5, "cat": 0}


@pytest.mark.usefixtures("three")
def test_a_changed_lesson_is_graded_again(graded: Graded, store: Store, course: Catalogue) -> None:
    graded()
    path = course.source / f"{LESSON}.py"
    path.write_text(
        path.read_text("utf-8").replace('check="t90_1" points=2', 'check="t90_1" points=4')
    )
    course.lesson.cache_clear()
    again = Counting()
    graded(again)
    assert again.marked == ["ann", "bob", "cat"]
    assert scores(store)["ann"] == 7


@pytest.mark.usefixtures("three")
def test_other_limits_are_graded_again(graded: Graded) -> None:
    graded()
    again = Counting()
    graded(again, limits=replace(LIMITS, cell=1.0))
    assert len(again.marked) == 3


@pytest.mark.usefixtures("three")
def test_a_new_deadline_is_noted_without_grading_again(graded: Graded, store: Store) -> None:
    graded()
    again = Counting()
    graded(again, deadlines=Deadlines(read_moment("2001-01-01")))
    assert again.marked == []
    assert [record.late for record in store.records()] == [True] * 3


@pytest.mark.usefixtures("three")
def test_a_result_that_was_cut_off_or_is_no_result_is_graded_again(
    graded: Graded, store: Store
) -> None:
    graded()
    path = store.path(LESSON, "bob")
    for content in (path.read_bytes()[:100], b"", b"[]", b'{"form": 1}', b'{"form": 99}'):
        path.write_bytes(content)
        again = Counting()
        graded(again)
        assert again.marked == ["bob"]
    assert scores(store)["bob"] == 4


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("fault", [KernelUnusable("no room"), ZeroDivisionError("a bug of ours")])
def test_what_could_not_be_graded_has_no_mark_and_is_tried_again(
    graded: Graded, store: Store, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fails(self: PlainKernels, lesson: object, limits: object) -> None:
        raise fault

    with monkeypatch.context() as broken:
        broken.setattr(PlainKernels, "start", fails)
        progress = graded()
    assert len(progress.problems) == 3
    assert scores(store) == {"ann": None, "bob": None, "cat": None}
    assert raw(store.path(LESSON, "ann"))["score"] is None
    assert str(fault) in progress.problems[0].report.problem
    assert graded().graded == 3
    assert scores(store)["ann"] == 5


def test_a_file_that_is_no_notebook_has_no_mark(graded: Graded, store: Store, put: Put) -> None:
    put(f"ann/{LESSON}.ipynb", b"")
    put(f"bob/{LESSON}.ipynb")
    progress = graded()
    assert [record.report.problem for record in progress.problems] == ["it is empty"]
    assert scores(store) == {"ann": None, "bob": 5}


@pytest.mark.usefixtures("three")
def test_on_a_full_disk_what_was_kept_is_whole_and_the_rest_follows(
    graded: Graded, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Path] = []

    def fills_up(path: Path, content: bytes) -> None:
        if path.parent.name == LESSON and len(kept) == 2:
            raise OSError(28, "No space left on device")
        kept.append(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    with monkeypatch.context() as full:
        full.setattr(store_module, "write_whole", fills_up)
        with pytest.raises(OSError, match="No space left"):
            graded()
    assert scores(store) == {"ann": 5}  # the other file kept is what collecting found
    assert graded().graded == 2


def test_a_record_comes_back_as_it_was(graded: Graded, store: Store, put: Put) -> None:
    put(f"Ann Ü 😀/{LESSON}.ipynb", notebook(WRONG))
    graded()
    (record,) = store.records()
    assert record.student == "Ann Ü 😀"
    assert record.report.tasks[0].failures[0].hint == "that is one less"
    assert from_json(to_json(record)) == record


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match="holds other things than results"):
        Store(tmp_path).open()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
