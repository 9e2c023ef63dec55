"""What was handed in is found, sorted and reported, whatever became of it on the way."""

import os
import shutil
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from ampcourse.classroom.collection import Catalogue, Collection
from ampcourse.classroom.deadline import Deadlines, read_deadlines, read_moment
from ampcourse.classroom.roster import read_roster
from tests.classroom.conftest import LESSON, WRONG, notebook

Put = Callable[..., Path]
Gather = Callable[..., Collection]
DUE = Deadlines(read_moment("2026-12-01T23:59+00:00"))


def who(collection: Collection) -> list[str]:
    return [item.student.id for item in collection.handed]


def test_nbgraders_layout_is_read_with_its_timestamps(put: Put, gather: Gather) -> None:
    for student, day in (("ann", 1), ("bob", 2)):
        put(f"submitted/{student}/{LESSON}/{LESSON}.ipynb")
        stamp = f"2026-12-0{day} 20:00:00.000000 UTC"
        put(f"submitted/{student}/{LESSON}/timestamp.txt", stamp.encode())
    put(f"release/{LESSON}/{LESSON}.ipynb")  # nbgrader's other folders are no one's work
    found = gather(deadlines=DUE)
    assert [(item.student.id, item.late) for item in found.handed] == [
        ("ann", False),
        ("bob", True),
    ]
    assert not any(item.remarks for item in found.handed)


def test_a_zip_of_a_platforms_download_is_read(put: Put, gather: Gather, tmp_path: Path) -> None:
    path = tmp_path / "download.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(f"doejane_12345_67890_{LESSON}.ipynb", notebook())
        made.writestr("roe_LATE_54321_67891_homework.ipynb", notebook(WRONG))
        made.writestr("__MACOSX/._x.ipynb", b"\0")
    found = gather(path)
    assert [(item.student.id, item.late) for item in found.handed] == [
        ("12345", False),
        ("54321", True),
    ]
    assert "homework.ipynb is not named after the lesson" in found.handed[1].remarks[0]


def test_moodles_namesakes_are_kept_apart(put: Put, gather: Gather) -> None:
    for number in (11, 12):
        put(f"Jane Doe_{number}_assignsubmission_file_/{LESSON}.ipynb")
    assert who(gather()) == ["Jane Doe (11)", "Jane Doe (12)"]


def test_one_participant_in_two_lessons_is_one_student(
    put: Put, gather: Gather, course: Catalogue
) -> None:
    source = (course.source / f"{LESSON}.py").read_text("utf-8")
    (course.source / "91_other.py").write_text(source.replace("t90_", "t91_"), "utf-8")
    put(f"a/Jane Doe_11_assignsubmission_file_/{LESSON}.ipynb")
    other = notebook().replace(b"t90_", b"t91_").replace(LESSON.encode(), b"91_other")
    put("b/Jane Doe_77_assignsubmission_file_/91_other.ipynb", other)
    found = gather()
    assert [(item.student.id, item.lesson) for item in found.handed] == [
        ("Jane Doe", LESSON),
        ("Jane Doe", "91_other"),
    ]


def test_the_last_attempt_counts_and_the_others_are_named(put: Put, gather: Gather) -> None:
    for name, day in ((f"doe_1_12_{LESSON}.ipynb", 3), (f"doe_1_11_{LESSON}-10.ipynb", 1)):
        os.utime(put(name), (day * 86400, day * 86400))  # dates of downloads say nothing
    os.utime(put(f"doe_1_13_{LESSON}-9.ipynb"), (2 * 86400, 2 * 86400))
    found = gather()
    assert [item.path.name for item in found.handed] == [f"doe_1_11_{LESSON}-10.ipynb"]
    assert "one of 3 files handed in" in found.handed[0].remarks
    assert len(found.superseded) == 2


def test_the_lessons_own_name_counts_before_a_copy(put: Put, gather: Gather) -> None:
    put(f"ann/{LESSON}/{LESSON}.ipynb")
    put(f"ann/{LESSON}/{LESSON}-Copy1.ipynb", notebook(WRONG))
    put(f"ann/{LESSON}/.ipynb_checkpoints/{LESSON}-checkpoint.ipynb", notebook(WRONG))
    assert [item.path.name for item in gather().handed] == [f"{LESSON}.ipynb"]


def test_content_outweighs_a_name(put: Put, gather: Gather, course: Catalogue) -> None:
    shutil.copy(course.source / f"{LESSON}.py", course.source / "91_other.py")
    put("ann/91_other.ipynb")
    (item,) = gather().handed
    assert item.lesson == LESSON
    assert f"holds the lesson {LESSON}" in item.remarks[0]


def test_what_belongs_to_no_lesson_is_told(put: Put, gather: Gather) -> None:
    put("ann/diary.ipynb", b'{"cells": [], "metadata": {}}')
    put("ann/essay.pdf", b"")
    found = gather()
    assert not found.handed
    assert "which lesson it belongs to" in found.unmatched[0]
    assert [Path(path).name for path in found.strays] == ["essay.pdf"]


def test_a_folder_a_pipe_and_a_broken_file_with_a_notebooks_name_are_told(
    put: Put, gather: Gather, tmp_path: Path
) -> None:
    (tmp_path / "in" / "ann" / f"{LESSON}.ipynb").mkdir(parents=True)
    (tmp_path / "in" / "bob").mkdir()
    os.mkfifo(tmp_path / "in" / "bob" / f"{LESSON}.ipynb")
    put(f"cat/{LESSON}.ipynb", b'{"cells": [')
    problems = [item.problem for item in gather().handed]
    assert [words.split(":")[0] for words in problems] == [
        "it is a folder, not a notebook",
        "it is not a regular file, not a notebook",
        "it is not JSON",
    ]


def test_a_link_that_leads_out_of_the_folder_is_not_followed(
    put: Put, gather: Gather, tmp_path: Path
) -> None:
    (tmp_path / "secret.ipynb").write_bytes(notebook())
    put("bob/essay.pdf", b"")
    (tmp_path / "in" / "bob" / f"{LESSON}.ipynb").symlink_to(tmp_path / "secret.ipynb")
    (item,) = gather().handed
    assert item.problem == "it is a link that leads out of the folder"


def test_missing_students_are_told_by_the_roster_or_by_the_others(
    put: Put, gather: Gather, course: Catalogue, tmp_path: Path
) -> None:
    source = (course.source / f"{LESSON}.py").read_text("utf-8")
    (course.source / "91_other.py").write_text(source.replace("t90_", "t91_"), "utf-8")
    put(f"ann/{LESSON}.ipynb")
    put(
        "bob/91_other.ipynb",
        notebook().replace(b"t90_", b"t91_").replace(b"90_sample", b"91_other"),
    )
    assert gather().missing == {LESSON: ["bob"], "91_other": ["ann"]}
    path = tmp_path / "roster.csv"
    path.write_text("name,id\nAnn A,ann\nCat C,cat\n")
    found = gather(roster=read_roster(path), lessons=[LESSON])
    assert found.missing == {LESSON: ["cat"]}
    assert found.unknown == []
    assert gather(roster={"cat": ""}).unknown == ["ann", "bob"]


def test_a_roster_may_be_a_list_or_canvass_own_export(tmp_path: Path) -> None:
    path = tmp_path / "roster"
    path.write_text("ann\n\nbob\n")
    assert read_roster(path) == {"ann": "", "bob": ""}
    path.write_text('Student,ID,SIS Login ID\n    Points Possible,,\n"Doe, J",7,doej\n')
    assert read_roster(path) == {"7": ""}
    path.write_text("first,last\nA,B\n")
    with pytest.raises(ValueError, match="has the columns first, last"):
        read_roster(path)
    path.write_text("ann\nann\n")
    with pytest.raises(ValueError, match="'ann' twice"):
        read_roster(path)


def test_deadlines_hold_for_all_lessons_or_one(course: Catalogue) -> None:
    found = read_deadlines(course, ["2026-12-01", "90=2026-12-03T12:00+00:00"])
    assert found.passed("91_other", read_moment("2026-12-02T00:00"))
    assert not found.passed("91_other", read_moment("2026-12-01T23:59:59"))
    assert not found.passed(LESSON, read_moment("2026-12-03T12:00+00:00"))
    assert found.passed(LESSON, read_moment("2026-12-03T13:01+01:00"))
    assert not found.passed(LESSON, None)
    with pytest.raises(ValueError, match="'tomorrow' is no date and time"):
        read_deadlines(course, ["tomorrow"])


def test_late_by_a_files_date_is_told_to_rest_on_it(put: Put, gather: Gather) -> None:
    path = put(f"ann/{LESSON}.ipynb")
    moment = datetime.fromisoformat("2026-12-05T00:00+00:00").timestamp()
    os.utime(path, (moment, moment))
    (item,) = gather(deadlines=DUE).handed
    assert item.late
    assert "by the date of its file" in item.remarks[0]


def test_a_path_that_is_not_there_is_told(gather: Gather, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere is not there"):
        gather(tmp_path / "nowhere")
