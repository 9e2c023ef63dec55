"""Setting up for real, in a small clone: from nothing, broken off, moved, twice at once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import PYPROJECT, Clone, add_wheel

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


def stamp(clone: Clone) -> dict[str, object]:
    content = json.loads((clone.venv / "ampcourse-stamp.json").read_text())
    assert isinstance(content, dict)
    return content


def is_whole(clone: Clone) -> bool:
    file = clone.venv / "ampcourse-stamp.json"
    return file.exists() and stamp(clone)["whole"] is True


def site_packages(clone: Clone) -> Path:
    pattern = "lib/python*/site-packages" if os.name == "posix" else "Lib/site-packages"
    (found,) = clone.venv.glob(pattern)
    return found


def until(reached: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    give_up = time.monotonic() + 60
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.02)


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_first_start_installs_and_later_ones_only_start(shared_clone: Clone) -> None:
    first = shared_clone.run("lab", "--port", "1")
    assert first.returncode == 0, first.stderr
    assert first.stdout == f"ran lab --port 1 in {shared_clone.venv}\n"
    assert "which happens once" in first.stderr
    assert "Done in" in first.stderr
    assert stamp(shared_clone)["extras"] == ["lab"]
    before = os.stat(shared_clone.venv / "ampcourse-stamp.json")

    second = shared_clone.run("lab", "fail")
    assert second.returncode == 3  # the command's own
    assert second.stdout == f"ran lab fail in {shared_clone.venv}\n"
    assert second.stderr == ""
    assert os.stat(shared_clone.venv / "ampcourse-stamp.json") == before


@pytest.mark.parametrize("argv", [("lab", "--help"), ("unknown",)])
def test_help_and_other_words_use_the_venv_once_it_is_there(
    shared_clone: Clone, argv: tuple[str, ...]
) -> None:
    shared_clone.run("lab")
    result = shared_clone.run(*argv)
    assert result.stdout == f"ran {' '.join(argv)} in {shared_clone.venv}\n"
    assert result.stderr == ""


def test_the_venv_python_starts_the_course_itself(shared_clone: Clone) -> None:
    shared_clone.run("lab")
    python = str(shared_clone.venv / ("Scripts" if os.name == "nt" else "bin") / "python")
    with shared_clone.popen("lab", python=python) as process:
        out, err = process.communicate(timeout=60)
    assert (out, err) == (f"ran lab in {shared_clone.venv}\n", "")


def test_no_network_says_so_and_leaves_the_lessons_usable(shared_clone: Clone) -> None:
    shared_clone.run("lab")
    failed = shared_clone.run(
        "test",
        PIP_NO_INDEX="0",
        PIP_FIND_LINKS="",
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_RETRIES="1",
    )
    assert failed.returncode == 1
    assert "could not reach the package index: check the network" in failed.stderr
    assert "ampcourse lab starts what is there" in failed.stderr
    assert "Traceback" not in failed.stderr
    again = shared_clone.run("lab")
    assert (again.returncode, again.stderr) == (0, "")


def test_a_failed_addition_names_the_cause_and_leaves_the_lessons_usable(
    shared_clone: Clone,
) -> None:
    shared_clone.run("lab")
    failed = shared_clone.run("test")
    assert failed.returncode == 1
    assert "pip finds no ampcourse-fake-test for Python" in failed.stderr
    assert "It said: ERROR: Could not find a version" in failed.stderr
    assert str(shared_clone.folder / ".ampcourse" / "install.log") in failed.stderr
    assert "Traceback" not in failed.stderr
    assert is_whole(shared_clone)
    again = shared_clone.run("lab")
    assert (again.returncode, again.stderr) == (0, "")


def test_the_test_tools_are_added_and_then_stay(shared_clone: Clone) -> None:
    shared_clone.run("lab")
    add_wheel(shared_clone.wheels, "ampcourse-fake-test")
    added = shared_clone.run("test")
    assert added.stdout == f"ran test in {shared_clone.venv}\n"
    assert "up to date" in added.stderr
    assert stamp(shared_clone)["extras"] == ["lab", "test"]
    assert shared_clone.run("lab").stderr == ""
    assert stamp(shared_clone)["extras"] == ["lab", "test"]


def test_a_linter_setting_reinstalls_nothing_but_a_new_requirement_does(
    shared_clone: Clone,
) -> None:
    shared_clone.run("lab")
    pyproject = shared_clone.folder / "pyproject.toml"
    pyproject.write_text(PYPROJECT + "[tool.ruff]\nline-length = 100\n")
    assert shared_clone.run("lab").stderr == ""

    add_wheel(shared_clone.wheels, "ampcourse-fake-lab", "2.5")
    pyproject.write_text(PYPROJECT.replace("lab>=1", "lab>=2"))
    backend = shared_clone.folder / "backend.py"
    backend.write_text(backend.read_text().replace("lab>=1", "lab>=2"))
    assert "up to date" in shared_clone.run("lab").stderr
    assert "2.5" in (site_packages(shared_clone) / "ampcourse_fake_lab.py").read_text()


def test_a_package_removed_by_hand_is_noticed(shared_clone: Clone) -> None:
    shared_clone.run("lab")
    for info in site_packages(shared_clone).glob("ampcourse_fake_lab-*"):
        info.rename(shared_clone.wheels / info.name)
    assert "up to date" in shared_clone.run("lab").stderr
    assert shared_clone.run("lab").stderr == ""


@posix
def test_ctrl_c_leaves_no_good_stamp_and_no_process_and_the_next_call_goes_on(
    clone: Clone, interrupt: Callable[["subprocess.Popen[str]"], None]
) -> None:
    (clone.folder / "slow").touch()
    with clone.popen("lab") as process:
        until((clone.folder / "slow.reached").exists, process)
        interrupt(process)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.endswith("Stopped. Run the same command again and it goes on from here.\n")
    assert "Traceback" not in err
    assert not is_whole(clone)
    give_up = time.monotonic() + 10
    while is_alive(process.pid):
        assert time.monotonic() < give_up
        time.sleep(0.05)

    # The same clone, to save time: the next start goes on and is broken off in other ways.
    _an_interrupt_of_the_parent_alone_ends_pip_as_well(clone)
    _a_pip_that_outlives_its_killed_parent_keeps_the_next_start_out(clone)


def _an_interrupt_of_the_parent_alone_ends_pip_as_well(clone: Clone) -> None:
    import fcntl

    (clone.folder / "slow.reached").unlink()
    with clone.popen("lab") as process:
        until((clone.folder / "slow.reached").exists, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    with (clone.folder / ".ampcourse" / "install.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while a pip still holds it
    assert not is_whole(clone)


def _a_pip_that_outlives_its_killed_parent_keeps_the_next_start_out(clone: Clone) -> None:
    (clone.folder / "slow.reached").unlink()
    with clone.popen("lab") as killed:
        assert killed.stderr is not None
        assert "where set-up broke off" in killed.stderr.readline()
        until((clone.folder / "slow.reached").exists, killed)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait(60) == -signal.SIGKILL
        assert not is_whole(clone)
        with clone.popen("lab") as waiting:
            assert waiting.stderr is not None
            assert "this one waits" in waiting.stderr.readline()
            time.sleep(0.5)
            assert waiting.poll() is None
            (clone.folder / "slow").unlink()
            out, _ = waiting.communicate(timeout=60)
    assert out == f"ran lab in {clone.venv}\n"
    assert is_whole(clone)


def test_of_two_starts_at_once_one_installs_and_the_other_waits(clone: Clone) -> None:
    with clone.popen("lab") as one, clone.popen("lab") as two:
        ends = [process.communicate(timeout=120) for process in (one, two)]
    assert [out for out, _ in ends] == [f"ran lab in {clone.venv}\n"] * 2
    texts = [err for _, err in ends]
    assert sum("which happens once" in text for text in texts) == 1
    assert sum("this one waits" in text for text in texts) == 1

    # The same clone, to save time: what a start finds of a .venv that is not whole.
    _a_half_unpacked_package_is_installed_again(clone)
    _a_clone_that_was_moved_gets_a_new_venv(clone)


def _a_half_unpacked_package_is_installed_again(clone: Clone) -> None:
    file = clone.venv / "ampcourse-stamp.json"
    file.write_text(json.dumps(stamp(clone) | {"whole": False}))
    data = site_packages(clone) / "ampcourse_fake_lab_data.txt"
    data.write_text("x" * 10)
    again = clone.run("lab")
    assert "left half installed, and done again: ampcourse_fake_lab-1.0\n" in again.stderr
    assert len(data.read_text()) == 1000
    assert is_whole(clone)


def _a_clone_that_was_moved_gets_a_new_venv(clone: Clone) -> None:
    clone.folder = clone.folder.rename(clone.folder.with_name("moved"))
    again = clone.run("lab")
    assert again.stdout == f"ran lab in {clone.venv}\n"
    assert "which happens once" in again.stderr
    if os.name == "posix":
        assert str(clone.venv) in (clone.venv / "bin" / "pip").read_text()


def unshared(script: str, clone: Clone, size: str) -> "subprocess.CompletedProcess[str]":
    """Run a shell script where the clone lies on a small disk that no other process sees."""
    setup = f'mount -t tmpfs -o size={size} tmpfs "$1" && cp -r "$2"/. "$1" && cd "$1"'
    disk = clone.folder.parent / "disk"
    disk.mkdir()
    command = ["unshare", "--mount", "sh", "-ec", f"{setup}\n{script}", "sh"]
    return subprocess.run(
        [*command, str(disk), str(clone.folder), sys.executable],
        env=clone.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def can_mount() -> bool:
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    try:
        return subprocess.run(probe, capture_output=True, timeout=20).returncode == 0
    except OSError:
        return False


needs_mount = pytest.mark.skipif(
    sys.platform != "linux" or not can_mount(), reason="needs the right to mount a small disk"
)


@needs_mount
@pytest.mark.parametrize("size", ["100k", "12m"])
def test_a_full_disk_says_so_and_is_never_taken_for_set_up(clone: Clone, size: str) -> None:
    failed = unshared('"$3" -m ampcourse lab; code=$?; ls -A .venv; exit $code', clone, size)
    assert failed.returncode == 1
    assert "The disk is full in" in failed.stderr
    assert "ran lab" not in failed.stdout
    assert "Traceback" not in failed.stderr


@needs_mount
def test_a_read_only_clone_says_where_writing_failed(clone: Clone) -> None:
    script = 'mount -o remount,ro "$1"\n"$3" -B -m ampcourse lab'
    failed = unshared(script, clone, "20m")
    assert failed.returncode == 1
    assert f"Writing in {clone.folder.parent / 'disk'} is not permitted" in failed.stderr
    assert "Traceback" not in failed.stderr
