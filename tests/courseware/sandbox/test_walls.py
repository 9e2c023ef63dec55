"""Which kernels are chosen, and that the walls stand for a plain user as they do for root."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ampcourse.courseware.course import find_course
from ampcourse.courseware.kernel import Limits
from ampcourse.courseware.sandbox import best_kernels, isolation, walls
from ampcourse.courseware.sandbox.forked_kernel import ForkedKernels
from ampcourse.courseware.sandbox.notebook_kernel import NotebookKernels
from ampcourse.courseware.sheet import Sheet
from tests.courseware.conftest import SAMPLE


def test_with_bubblewrap_the_report_says_so(forked: ForkedKernels) -> None:
    assert forked.protection.startswith("bubblewrap: no network, ")


@pytest.mark.parametrize("script", [None, "exit 1", "echo 'No permissions' >&2; exit 1"])
def test_without_a_usable_bubblewrap_a_plain_process_is_used_and_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str | None
) -> None:
    if script:
        program = tmp_path / "bwrap"
        program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        program.chmod(0o755)
        assert walls.fault(str(program)) in ("No permissions", "it ended without a word")
    monkeypatch.setenv("PATH", str(tmp_path))
    with best_kernels() as kernels:
        assert isinstance(kernels, NotebookKernels)
        assert kernels.protection.startswith("a separate process with limits on time")


PLAIN_USER = """
import json, os, sys
from pathlib import Path
from ampcourse.courseware.course import Course
from ampcourse.courseware.kernel import Limits
from ampcourse.courseware.sandbox import best_kernels
lesson = Course(Path(sys.argv[1])).lesson("90_sample")
call = '''
import os
lines = open('/proc/self/status').read().splitlines()
rights = [line.split()[1] for line in lines if line.startswith('Cap')]
seen = [path for path in PATHS if os.access(path, os.R_OK)]
return os.getuid(), rights, seen, len([p for p in os.listdir('/proc') if p.isdigit()])
'''.replace("PATHS", repr(sys.argv[1:]))
with best_kernels() as kernels:
    kernel = kernels.start(lesson, Limits())
    outcome, _ = kernel.evaluate(call, 20)
    kernel.close()
print(json.dumps([os.getuid(), kernels.protection, outcome]))
"""


def test_the_walls_stand_for_a_plain_user_too(forked: ForkedKernels) -> None:
    user = [forked.bubblewrap, "--unshare-user", "--uid", "1234", "--gid", "1234"]
    user += ["--dev-bind", "/", "/", sys.executable, "-c", PLAIN_USER, str(SAMPLE)]
    done = subprocess.run(user, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    uid, protection, outcome = json.loads(done.stdout)
    assert (uid, protection) == (1234, forked.protection)
    _, (inner, rights, seen, processes) = outcome["value"]
    assert inner == ["int", hex(isolation.LEARNER)]
    assert rights == ["list", [["str", "0" * 16]] * 5]
    assert seen == ["list", []]
    assert processes == ["int", "0x2"]


IN_A_CLONE = """
import json, sys
from pathlib import Path
import ampcourse
from ampcourse.courseware.course import Course
from ampcourse.courseware.kernel import Limits
from ampcourse.courseware.sandbox import best_kernels
with best_kernels() as kernels:
    kernel = kernels.start(Course(Path(sys.argv[1])).lesson("90_sample"), Limits())
    call = "from ampcourse import encode\\nreturn encode.__file__"
    print(json.dumps([ampcourse.__file__, kernel.evaluate(call, 20)[0]]))
    kernel.close()
"""


def test_a_clone_in_tmp_that_is_not_installed_grades_with_its_own_package(
    forked: ForkedKernels, tmp_path: Path
) -> None:
    assert tmp_path.is_relative_to("/tmp")
    clone = tmp_path / "a clone" / "ampcourse"
    shutil.copytree(walls.PACKAGE, clone, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CLONE, str(SAMPLE)],
        cwd=clone.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        str(clone / "__init__.py"),
        {"value": ["str", str(clone / "encode.py")]},
    ]


def test_packages_of_other_pythons_are_not_shown() -> None:
    own = {str(Path(folder).resolve()) for folder in sys.path}
    hidden = walls.foreign_packages()
    assert not own & set(hidden)
    for folder in Path("/usr/lib").glob("python3*/dist-packages"):
        if str(folder) not in own:
            assert any(folder.is_relative_to(path) for path in hidden)


def test_folders_round_the_package_are_not_shown(sheet: Sheet) -> None:
    shown = walls.shown()
    assert not any(SAMPLE.is_relative_to(folder) for folder in shown)
    assert not any(Path.home().is_relative_to(folder) for folder in shown)


COURSE = find_course()


@pytest.mark.slow
@pytest.mark.parametrize("slug", COURSE.slugs)
def test_the_set_up_of_every_lesson_works_without_its_forbidden_modules(
    forked: ForkedKernels, slug: str
) -> None:
    kernel = forked.start(COURSE.lesson(slug), Limits())
    outcome, refused = kernel.evaluate("1", 20)
    kernel.close()
    assert (outcome, refused) == ({"value": ["int", "0x1"]}, [])
