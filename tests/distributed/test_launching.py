"""A launched program's output and failures come back, and none of its processes stay behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ampcourse.distributed import LaunchError, launch, launching

WORKER = str(Path(__file__).with_name("worker.py"))


SLEEPER = """
import os, pathlib, sys, time
(pathlib.Path(sys.argv[1]) / ("pid" + os.environ["RANK"])).write_text(str(os.getpid()))
time.sleep(600)
"""


FAILS_ONCE = """
import os, sys
import torch.distributed as dist
from ampcourse.distributed import process_group
with process_group(timeout=60) as ranks:
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    store = dist.distributed_c10d._get_default_store()
    print("attempt", attempt, "finds an earlier one's keys:", store.check(["mark"]))
    dist.barrier()
    store.set("mark", attempt)
    if attempt == "0" and ranks.rank == 1:
        sys.exit(3)
    dist.barrier()
"""

LAUNCHER = """
import sys
from ampcourse.distributed import launch
launch(sys.argv[1:], 2)
"""


def wait_for(folder: Path, names: str, count: int = 2, seconds: float = 100) -> None:
    end = time.monotonic() + seconds
    while len(list(folder.glob(names))) < count:
        assert time.monotonic() < end, f"no {count} {names} in {folder} after {seconds} s"
        time.sleep(0.1)


def pids(folder: Path) -> list[int]:
    """Return the numbers of the processes that have started; there must be two."""
    found = [int(path.read_text()) for path in folder.glob("pid*")]
    assert len(found) == 2
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended but that nobody has asked for its status still has a number.
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def ended(found: list[int], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while any(map(alive, found)) and time.monotonic() < end:
        time.sleep(0.1)
    return not any(map(alive, found))


def test_each_process_says_its_own_and_outputs_come_by_rank(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os; print('rank', os.environ['RANK'], os.environ['WORD'])")
    found = launch([str(program)], 2, environment={"WORD": "said"})
    assert found == ["rank 0 said\n", "rank 1 said\n"]


def test_the_failure_that_came_first_is_named_and_all_processes_have_ended(tmp_path: Path) -> None:
    with pytest.raises(LaunchError) as caught:
        launch([WORKER, "fail", str(tmp_path)], 2)
    message = str(caught.value)
    assert "on 2 processes failed, first in rank 1:" in message
    assert message.endswith("ValueError: rank 1 cannot go on")
    assert ended(pids(tmp_path), 0)


def test_after_a_failure_all_start_again_meet_anew_and_the_last_attempt_is_returned(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(FAILS_ONCE)
    found = launch([str(program)], 2, restarts=1)
    assert found == ["attempt 1 finds an earlier one's keys: False\n"] * 2


def test_a_program_that_takes_too_long_is_stopped_and_said_to(tmp_path: Path) -> None:
    program = tmp_path / "sleeper.py"
    program.write_text(SLEEPER)
    with pytest.raises(LaunchError, match=r"had not ended after 0.2 s and was stopped; .*\nrank 0"):
        launch([str(program), str(tmp_path)], 2, timeout=0.2)


@pytest.mark.skipif(os.name != "posix", reason="needs a signal that goes to one thread")
def test_an_interrupted_launch_leaves_no_process(tmp_path: Path) -> None:
    program = tmp_path / "sleeper.py"
    program.write_text(SLEEPER)

    def interrupt() -> None:
        wait_for(tmp_path, "pid*")
        time.sleep(0.5)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # as Ctrl-C does

    # Where the tests run in the background SIGINT is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            launch([str(program), str(tmp_path)], 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended(pids(tmp_path), 0)


@pytest.mark.skipif(os.name != "posix", reason="needs a signal that goes to one thread")
def test_a_second_interrupt_ends_workers_that_do_not_listen(tmp_path: Path) -> None:
    def interrupt() -> None:
        wait_for(tmp_path, "joined*")
        for _ in range(2):
            time.sleep(1)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            launch([WORKER, "deaf", str(tmp_path)], 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended(pids(tmp_path), 20)


@pytest.mark.skipif(os.name != "posix", reason="needs the number of a process's parent to change")
def test_workers_end_when_the_program_that_launched_them_was_killed(tmp_path: Path) -> None:
    program, launcher = tmp_path / "sleeper.py", tmp_path / "launcher.py"
    program.write_text(SLEEPER)
    launcher.write_text(LAUNCHER)
    with subprocess.Popen([sys.executable, launcher, program, tmp_path]) as kernel:
        wait_for(tmp_path, "pid*")
        kernel.kill()
    assert ended(pids(tmp_path), 40)


@pytest.mark.skipif(os.name != "posix", reason="needs the number of a process's parent to change")
def test_workers_end_when_torchrun_was_killed_outright(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", WORKER, "hang", str(tmp_path)]
    with subprocess.Popen(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL
    ) as torchrun:
        wait_for(tmp_path, "joined*")
        assert all(map(alive, pids(tmp_path)))
        torchrun.kill()
    assert ended(pids(tmp_path), 20)


def test_a_program_that_is_none_is_an_error_with_its_name() -> None:
    with pytest.raises(LaunchError, match="No module named ampcourse\\.nothing"):
        launch(["-m", "ampcourse.nothing"], 1)


def test_no_process_at_all_and_less_than_no_restart_are_refused() -> None:
    with pytest.raises(ValueError, match="processes=0 starts nothing"):
        launch([WORKER], 0)
    with pytest.raises(ValueError, match="restarts=-1 cannot be"):
        launch([WORKER], 1, restarts=-1)


def test_torchrun_has_the_time_it_gives_its_workers() -> None:
    from inspect import signature

    from torch.distributed.elastic.multiprocessing.api import PContext

    assert signature(PContext.close).parameters["timeout"].default < launching.GRACE
