"""Marks arrive in other systems' files, and nothing else in them changes."""

import argparse
import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.classroom.canvas import canvas_column, fill_canvas
from ampcourse.classroom.collection import Catalogue
from ampcourse.classroom.export import export
from ampcourse.classroom.gradebook import fill_gradebook
from ampcourse.classroom.grading import Progress
from ampcourse.classroom.moodle import fill_moodle
from ampcourse.classroom.record import Record
from ampcourse.classroom.store import Store
from ampcourse.classroom.table import as_csv, as_json
from ampcourse.classroom.worksheet import quoted, read_worksheet, split
from tests.classroom.conftest import LESSON, WRONG, notebook

CANVAS = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,A lesson for tests (4711),"
    '"Other, thing (12)",Final Score\r\n'
    '    Points Possible,,,,,5.00,"10, or so",(read only)\r\n'
    '"Doe, Jane",12345,u1,jane,"Section ""A""", ,7,98.5\r\n'
    "Roe\u00a0Bob ,54321,u2,bob,B,3.25,,\r\n"
    '"Poe, Sue",99999,u3,sue,B,1,,\r\n'
    '"Student, Test",777,,test,B,,,\r\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (grade),Feedback comments\n"
    'Participant 11,Jane Doe,j@x,"Submitted, on time",,5.00,Yes,-,\n'
    "Participant 12,Bob Roe,b@x,Submitted,,5.00,Yes,-,old\n"
    "Participant 13,Sue Poe,s@x,Submitted,4.00,5.00,No,-,\n"
)
Put = Callable[..., Path]


@pytest.fixture
def class_of(
    put: Put, graded: Callable[..., Progress], store: Store
) -> Callable[..., list[Record]]:
    """Grade notebooks at the given places; None is a file that cannot be graded."""

    def made(**places: dict[str, str] | None) -> list[Record]:
        for place, solutions in places.items():
            content = b"" if solutions is None else notebook(solutions)
            put(f"{place}.ipynb" if "." not in place else place, content)
        graded()
        return list(store.records())

    return made


@pytest.fixture
def canvas_records(class_of: Callable[..., list[Record]]) -> list[Record]:
    return class_of(
        **{
            f"doejane_12345_1_{LESSON}": WRONG,
            f"roebob_54321_2_{LESSON}": None,
            f"nobody_4_3_{LESSON}": {},
        }
    )


def sheet(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sheet.csv"
    path.write_bytes(text.encode())
    return path


def test_canvas_gets_one_field_and_keeps_every_other_byte(
    canvas_records: list[Record], tmp_path: Path
) -> None:
    made = read_worksheet(sheet(tmp_path, CANVAS))
    column = canvas_column(made, "A lesson for tests")
    outcome = fill_canvas(made, canvas_records, column, scale=False)
    assert made.content() == CANVAS.replace(", ,7,98.5", ",4,7,98.5").encode()
    assert outcome.filled == 1
    assert sorted(line.split(":")[1] for line in outcome.left) == [
        " could not be graded, so there is no mark",
        " no row is theirs",
    ]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [("nothing", "no column is called"), ("i", "columns are called"), ("s", "columns are called")],
)
def test_an_ambiguous_canvas_column_is_refused(tmp_path: Path, wanted: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        canvas_column(read_worksheet(sheet(tmp_path, CANVAS)), wanted)
    assert "--column" in str(refused.value)


def test_two_columns_of_one_name_are_refused_even_so(tmp_path: Path) -> None:
    text = CANVAS.replace('"Other, thing (12)"', "A lesson for tests (12)")
    made = read_worksheet(sheet(tmp_path, text))
    with pytest.raises(ValueError, match="2 columns are called"):
        canvas_column(made, "A lesson for tests")
    assert canvas_column(made, "A lesson for tests (12)") == 6


def test_other_points_in_canvas_are_refused_or_scaled(
    canvas_records: list[Record], tmp_path: Path
) -> None:
    text = CANVAS.replace("5.00", "20")
    made = read_worksheet(sheet(tmp_path, text))
    with pytest.raises(ValueError, match=r"has 20 points for a lesson of 5: .*--scale"):
        fill_canvas(made, canvas_records, 5, scale=False)
    fill_canvas(made, canvas_records, 5, scale=True)
    assert made.content() == text.replace(", ,7,98.5", ",16,7,98.5").encode()


def test_moodle_gets_grades_and_feedback_where_it_takes_them(
    class_of: Callable[..., list[Record]], tmp_path: Path
) -> None:
    records = class_of(
        **{
            f"{name}_{number}_assignsubmission_file_/x.ipynb": WRONG
            for name, number in (("Jane Doe", 11), ("Bob Roe", 12), ("Sue Poe", 13))
        }
    )
    made = read_worksheet(sheet(tmp_path, MOODLE))
    outcome = fill_moodle(made, records, scale=False)
    rows = list(csv.DictReader(io.StringIO(made.content().decode())))
    assert [row["Grade"] for row in rows] == ["4", "4", "4.00"]
    assert "t90_1 Add one: 1 of 2 (that is one less)" in rows[1]["Feedback comments"]
    assert rows[0]["Status"] == "Submitted, on time"
    assert rows[2]["Feedback comments"] == ""
    assert any("Sue Poe" in line for line in outcome.left)


def test_moodles_feedback_is_escaped(class_of: Callable[..., list[Record]], tmp_path: Path) -> None:
    (record,) = class_of(**{"Jane Doe_11_assignsubmission_file_/x.ipynb": WRONG})
    task = replace(record.report.tasks[0], note="<b>\u202e")
    report = replace(record.report, tasks=(task, *record.report.tasks[1:]))
    made = read_worksheet(sheet(tmp_path, MOODLE))
    fill_moodle(made, [replace(record, report=report)], scale=False)
    assert b"&lt;b&gt;\\u202e" in made.content()


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=2),
        min_size=1,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_fields_are_found_where_pythons_own_reader_finds_them(
    rows: list[list[str]], end: str, quoting: int
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    found = split(text.getvalue())
    plain = [row for row in csv.reader(io.StringIO(text.getvalue(), newline="")) if row]
    assert [[one.value for one in row] for row in found] == plain
    places = [one for row in found for one in row]
    assert all(one.end <= two.start for one, two in pairwise(places))


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8")))
def test_a_quoted_value_is_read_back_as_it_was(value: str) -> None:
    assert next(csv.reader(io.StringIO(f"{quoted(value)},x", newline=""))) == [value, "x"]


@pytest.mark.parametrize("content", [b"\xff\xfea\0,\0", "a,b\n\u00e9,1".encode("latin-1"), b""])
def test_a_sheet_in_another_encoding_or_without_rows_is_refused(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"UTF-8|no table"):
        read_worksheet(tmp_path / "s.csv")


def test_csv_has_no_mark_where_there_is_none_and_no_formula(
    class_of: Callable[..., list[Record]],
) -> None:
    records = class_of(**{f"=1+2/{LESSON}": WRONG, f"bob/{LESSON}": None})
    rows = list(csv.DictReader(io.StringIO(as_csv(records).decode("utf-8-sig"))))
    assert [row["student"] for row in rows] == ["'=1+2", "bob"]
    assert [row[LESSON] for row in rows] == ["4", ""]
    assert [row[f"{LESSON} state"] for row in rows] == ["graded", "not graded"]
    assert [row["t90_1"] for row in rows] == ["1", ""]


def test_json_holds_everything_but_fingerprints(class_of: Callable[..., list[Record]]) -> None:
    entries = json.loads(as_json(class_of(**{f"ann/{LESSON}": WRONG, f"bob/{LESSON}": None})))
    assert [entry["score"] for entry in entries] == [4, None]
    assert entries[0]["causes"] == [["t90_1", "that is one less"]]
    assert "fingerprint" not in entries[0]


def test_nbgraders_gradebook_holds_the_marks_and_keeps_what_a_person_entered(
    class_of: Callable[..., list[Record]], tmp_path: Path
) -> None:
    api = pytest.importorskip("nbgrader.api", reason="needs nbgrader (the test extra)")
    records = class_of(**{f"ann/{LESSON}": WRONG, f"bob/{LESSON}": {}, f"cat/{LESSON}": None})
    path = tmp_path / "gradebook.db"
    outcome = fill_gradebook(path, records)
    assert (outcome.filled, len(outcome.left)) == (2, 1)
    with api.Gradebook(f"sqlite:///{path}") as book:
        scores = {one.student.id: one.score for one in book.assignment_submissions(LESSON)}
        assert scores == {"ann": 4, "bob": 0}
        assert book.find_assignment(LESSON).max_score == 5
        book.find_grade("t90_1_check", LESSON, LESSON, "bob").manual_score = 1.5
        comment = book.find_comment("t90_1", LESSON, LESSON, "ann").auto_comment
        assert "that is one less" in comment
        book.db.commit()
    fill_gradebook(path, records)
    with api.Gradebook(f"sqlite:///{path}") as book:
        assert book.find_submission(LESSON, "bob").score == 1.5
        assert len(book.assignment_submissions(LESSON)) == 2


def test_what_is_no_gradebook_is_told(
    class_of: Callable[..., list[Record]], tmp_path: Path
) -> None:
    pytest.importorskip("nbgrader.api", reason="needs nbgrader (the test extra)")
    (tmp_path / "g.db").write_bytes(b"no database, but long enough to be looked at" * 10)
    with pytest.raises(ValueError, match="no gradebook that nbgrader can write"):
        fill_gradebook(tmp_path / "g.db", class_of(**{f"ann/{LESSON}": WRONG}))


def test_an_export_never_overwrites_the_sheet_it_was_made_from(
    canvas_records: list[Record], course: Catalogue, tmp_path: Path
) -> None:
    path = sheet(tmp_path, CANVAS)
    options = argparse.Namespace(
        kind="canvas", lesson="90", sheet=path, column="", scale=False, out=path
    )
    with pytest.raises(ValueError, match="is the sheet itself"):
        export(course, canvas_records, options)
    assert path.read_bytes() == CANVAS.encode()
    options.out = tmp_path / "filled.csv"
    assert export(course, canvas_records, options).filled == 1
    assert options.out.read_bytes() == CANVAS.replace(", ,7,98.5", ",4,7,98.5").encode()
