"""Grades a class: what is new or changed is marked, kept at once, and what was done stays."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ampcourse.classroom.collection import Collection, Handed
from ampcourse.classroom.deadline import now
from ampcourse.classroom.marking import Marked, ungraded
from ampcourse.classroom.record import Record, sheet_digest, submission_digest
from ampcourse.classroom.store import Store
from ampcourse.classroom.workers import Job
from ampcourse.courseware.course import Course
from ampcourse.courseware.kernel import Limits
from ampcourse.courseware.sheet import Sheet, make_sheet
from ampcourse.courseware.submission import SubmissionError, read_bytes

Marker = Callable[[Iterable[Job], dict[str, Sheet], Limits], Iterator[tuple[Job, Marked]]]


@dataclass
class Progress:
    """What a run has come to so far."""

    total: int = 0
    unchanged: int = 0
    graded: int = 0
    problems: list[Record] = field(default_factory=list)

    @property
    def done(self) -> int:
        return self.unchanged + self.graded + len(self.problems)

    def count(self, record: Record, fresh: bool) -> None:
        if record.report.problem:
            self.problems.append(record)
        elif fresh:
            self.graded += 1
        else:
            self.unchanged += 1


def grade_class(
    course: Course,
    collection: Collection,
    store: Store,
    marker: Marker,
    limits: Limits,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Mark what is missing or changed in the store, and keep each result as it comes.

    Whenever it stops, by Ctrl-C or on a full disk, what was kept is whole, and another call
    goes on from there. Raises OSError, SourceError.
    """
    progress = Progress(len(collection.handed))
    slugs = sorted({item.lesson for item in collection.handed})
    sheets = {slug: make_sheet(course.lesson(slug)) for slug in slugs}
    digests = {slug: sheet_digest(sheet, limits) for slug, sheet in sheets.items()}
    todo: dict[str, Record] = {}
    jobs: list[Job] = []

    def keep(record: Record, fresh: bool = True) -> None:
        store.keep(record)
        progress.count(record, fresh)
        report(progress)

    for item in collection.handed:
        wanted = expected(item, sheets[item.lesson], digests[item.lesson])
        known = store.find(item.lesson, item.student.id)
        if wanted.report.problem:
            keep(wanted)
        elif known and not known.report.problem and same(known, wanted):
            refreshed = renewed(known, wanted)
            if refreshed != known:
                store.keep(refreshed)
            progress.count(refreshed, fresh=False)
            report(progress)
        else:
            key = str(len(jobs))
            todo[key] = wanted
            jobs.append(Job(key, item.lesson, item.shown, partial(read, todo, key, item.path)))
    for job, marked in marker(jobs, sheets, limits):
        keep(filled(todo[job.key], marked))
    return progress


def expected(item: Handed, sheet: Sheet, digest: str) -> Record:
    """Return the record of a notebook before it is marked; its problem, if it cannot be read."""
    problem, content = item.problem, b""
    if not problem:
        try:
            content = read_bytes(item.path)
        except SubmissionError as error:
            problem = str(error)
    return Record(
        student=item.student.id,
        name=item.student.name,
        reference=item.student.reference,
        lesson=item.lesson,
        submitted=item.moment.isoformat() if item.moment else "",
        late=item.late,
        remarks=item.remarks,
        submission=submission_digest(content),
        sheet=digest,
        report=ungraded(sheet.lesson, item.shown, problem),
    )


def read(todo: dict[str, Record], key: str, path: Path) -> bytes:
    """Return a notebook's bytes when its turn comes, and note what they are by then."""
    try:
        content = read_bytes(path)
    except SubmissionError:
        content = b""  # marking will say that it is empty
    todo[key] = replace(todo[key], submission=submission_digest(content))
    return content


def same(known: Record, wanted: Record) -> bool:
    """Return whether a result still stands: the same notebook, the same sheet."""
    return (known.submission, known.sheet) == (wanted.submission, wanted.sheet)


def renewed(known: Record, wanted: Record) -> Record:
    """Return a standing result with what may have changed around it, such as a deadline."""
    return replace(
        known,
        name=wanted.name,
        reference=wanted.reference,
        submitted=wanted.submitted,
        late=wanted.late,
        remarks=wanted.remarks,
        report=replace(known.report, file=wanted.report.file),
    )


def filled(wanted: Record, marked: Marked) -> Record:
    """Return the record of a marked notebook."""
    return replace(
        wanted,
        report=marked.report,
        causes=marked.causes,
        fingerprint=marked.fingerprint,
        protection=marked.protection,
        graded=now().isoformat(),
    )
