"""The classroom's commands: what they are asked, what they say, and their exit status."""

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ampcourse.classroom.collection import Catalogue, Collection, collect
from ampcourse.classroom.deadline import read_deadlines
from ampcourse.classroom.feedback import write_pages
from ampcourse.classroom.grading import Marker, Progress, grade_class
from ampcourse.classroom.roster import read_roster
from ampcourse.classroom.store import Store
from ampcourse.classroom.workers import mark_all
from ampcourse.courseware.course import find_course
from ampcourse.courseware.kernel import Limits
from ampcourse.courseware.report import as_json


def any_name_prints() -> None:
    """Let standard output spell out what it cannot show: a name that is no text, a sign."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def is_class(paths: Iterable[Path]) -> bool:
    """Return whether what is to be graded is more than single notebooks."""
    folder = any(path.is_dir() and not path.name.endswith(".ipynb") for path in paths)
    return folder or any(path.suffix.lower() == ".zip" for path in paths)


@contextmanager
def collected(options: argparse.Namespace) -> Iterator[tuple[Catalogue, Collection]]:
    """Find what was handed in; what came out of zip files is there until the block ends."""
    any_name_prints()
    course = Catalogue(find_course().root)
    lessons = course.select(options.lessons) if options.lessons else []
    deadlines = read_deadlines(course, options.due)
    roster = read_roster(options.roster) if options.roster else None
    with tempfile.TemporaryDirectory(prefix="ampcollect") as scratch:
        paths = options.submissions
        yield course, collect(course, paths, Path(scratch), lessons, deadlines, roster)


def run_collect(options: argparse.Namespace) -> int:
    """List what was handed in; 1 if a notebook belongs to no lesson or cannot be read."""
    with collected(options) as (_, collection):
        for item in collection.handed:
            moment = f"{item.moment:%Y-%m-%d %H:%M}" if item.moment else "no date"
            late = "late" if item.late else ""
            print(f"{item.lesson:22} {item.student.id:24} {moment:16} {late:5} {item.shown}")
            for remark in (*item.remarks, item.problem):
                if remark:
                    print(f"  note: {remark}")
        tell_collection(collection)
        print(f"{len(collection.handed)} notebooks to grade")
        return int(bool(collection.unmatched) or any(item.problem for item in collection.handed))


def run_grade(options: argparse.Namespace) -> int:
    """Grade a class into its results folder; 1 if a notebook could not be graded."""
    store = Store(options.results or Path("grades"))
    store.open()
    with collected(options) as (course, collection):
        if not collection.handed and not collection.unmatched:
            raise ValueError("there is no notebook of this course's in what was named")
        store.keep_collection(collection)
        with kept(store), bar(len(collection.handed)) as report:
            progress = grade_class(course, collection, store, marker(options), Limits(), report)
    with kept(store):
        write_pages(course, store)
    if options.json:
        print(as_json([record.report for record in store.records()]))
    else:
        tell_collection(collection)
        tell(progress, store)
    return int(bool(progress.problems or collection.unmatched))


@contextmanager
def kept(store: Store) -> Iterator[None]:
    """Say what happens to results when a block is broken off or cannot write."""
    goes_on = f"what was graded is kept in {store.folder}; the same command goes on from there"
    try:
        yield
    except KeyboardInterrupt:
        print(f"ampcourse grade: {goes_on}", file=sys.stderr)
        raise
    except OSError as error:
        raise OSError(f"{error}: {goes_on}") from error


def marker(options: argparse.Namespace) -> Marker:
    """Return what marks: processes here, or a cluster."""
    if options.scheduler:
        from ampcourse.classroom.cluster import mark_on_cluster

        return partial(mark_on_cluster, address=options.scheduler)
    return partial(mark_all, count=options.workers)


@contextmanager
def bar(total: int) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar on standard error; the block gets a function that moves it."""
    from tqdm import tqdm

    with tqdm(total=total, unit="notebook", desc="grading", disable=None) as shown:

        def report(progress: Progress) -> None:
            shown.update(progress.done - shown.n)
            shown.set_postfix(unchanged=progress.unchanged, problems=len(progress.problems))

        yield report


def tell_collection(collection: Collection) -> None:
    """Print what was odd about what was handed in."""
    for title, lines in (
        ("belongs to no lesson", collection.unmatched),
        ("superseded", collection.superseded),
        ("no notebook", collection.strays),
        ("not on the roster", collection.unknown),
    ):
        for line in lines:
            print(f"{title}: {line}")
    for lesson, students in collection.missing.items():
        if students:
            print(f"{lesson}: nothing from {', '.join(students)}")


def tell(progress: Progress, store: Store) -> None:
    """Print what came of a class, and where the pages are."""
    for record in progress.problems:
        print(f"not graded: {record.report.file}: {record.report.problem}")
    late = sum(record.late for record in store.records())
    print(
        f"{progress.graded} graded now, {progress.unchanged} unchanged, "
        f"{len(progress.problems)} not graded; {late} late in all"
    )
    print(f"class: {store.class_page}\nfeedback: {store.folder / 'feedback'}", file=sys.stdout)


def run_self_test(options: argparse.Namespace) -> int:
    """Print a row for each task and what is not as it should be; 1 if anything is not."""
    from tqdm import tqdm

    from ampcourse.classroom.self_test import HEADER, self_test

    course = find_course()
    slugs = course.select(options.lessons)
    if not (course.root / "tests" / "wrong_answers").is_dir():
        raise ValueError(f"{course.root} has no tests/wrong_answers, which are what is tried")
    done = self_test(course, slugs, options.workers)
    found = dict(tqdm(done, total=len(slugs), unit="lesson", desc="trying", disable=None))
    rows = [row for slug in slugs for row in found[slug]]
    print("\n".join([HEADER, *map(str, rows)]))
    faults = [fault for row in rows for fault in row.faults]
    print("\n".join(faults) if faults else f"{len(rows)} tasks: all as it should be")
    return int(bool(faults))


def run_release(options: argparse.Namespace) -> int:
    """Write a release for learners."""
    from ampcourse.classroom.release import release

    course = Catalogue(find_course().root)
    slugs = course.select(options.lessons)
    count = release(course, options.folder, slugs)
    print(f"{options.folder}: {len(slugs)} lessons, {count} files, no answers")
    return 0


def run_check(options: argparse.Namespace) -> int:
    """Run a notebook and print which visible checks hold; 1 unless all do."""
    from ampcourse.classroom.visible import ONLY_VISIBLE, run_visible

    any_name_prints()
    found = run_visible(options.notebook)
    for item in found:
        print(f"{'✓' if item.holds else '✗'} {item.task}: {item.told}")
    print(f"{sum(item.holds for item in found)} of {len(found)} tasks. {ONLY_VISIBLE}")
    return int(not all(item.holds for item in found))


def run_export(options: argparse.Namespace) -> int:
    """Write marks for another system; 1 if some student's mark found no place there."""
    from ampcourse.classroom.export import export

    store = Store(options.results)
    if not options.results.is_dir():
        raise ValueError(f"{options.results} is no results folder: name one with --results")
    any_name_prints()
    course = Catalogue(find_course().root)
    outcome = export(course, list(store.records()), options)
    for line in outcome.left:
        print(f"left alone: {line}")
    print(f"{options.out}: {outcome.filled} marks")
    return int(bool(outcome.left))
