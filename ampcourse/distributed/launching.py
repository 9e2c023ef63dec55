"""Start a program on several processes with torchrun and learn what became of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

#: torchrun gives its workers 30 s to end and then kills them; only then may it be killed itself.
GRACE = 40.0

#: Where processes find each other. torchrun keeps one store for all attempts (2.14), and who starts
#: again can find the address of a process that has ended: "1" makes it a new one for each.
FRESH_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


class LaunchError(RuntimeError):
    """A process of a launched program failed or ran out of time; the message has its error."""


def launch(
    program: Sequence[str],
    processes: int,
    *,
    timeout: float = 120.0,
    environment: Mapping[str, str] | None = None,
    restarts: int = 0,
) -> list[str]:
    """Run `program` under torchrun on this machine and return what each process printed, by rank.

    `program` is a file or "-m" and a module, with its arguments. `environment` is added to this
    process's. Each process computes with one thread unless OMP_NUM_THREADS says otherwise. When a
    process fails, torchrun ends all and starts all again, up to `restarts` times; what is returned
    was printed in the last attempt. Raises LaunchError with the first failing process's error, or
    after `timeout` seconds; the processes have ended then, as they have after an interrupt.
    Raises ValueError for less than one process, or less than no restart.
    """
    if processes < 1:
        raise ValueError(f"processes={processes} starts nothing; give 1 or more")
    if restarts < 0:
        raise ValueError(f"restarts={restarts} cannot be; give 0 or more")
    with tempfile.TemporaryDirectory(prefix="ampcourse-launch-") as logs:
        command = [sys.executable, "-m", "ampcourse.distributed.torchrun", "--standalone"]
        command += ["--nproc-per-node", str(processes), "--log-dir", logs, "--redirects", "3"]
        command += ["--max-restarts", str(restarts)]
        variables = {"OMP_NUM_THREADS": "1", FRESH_STORE: "1", **os.environ, **(environment or {})}
        with subprocess.Popen(
            [*command, *program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=variables,
            # A terminal and Jupyter interrupt the whole group; this one is stopped by `_stop`
            # alone, since a second signal would end torchrun before it has ended its workers.
            start_new_session=True,
        ) as torchrun:
            summary, late = _wait(torchrun, timeout)
        outputs = _by_rank(Path(logs), "stdout", processes)
        errors = _by_rank(Path(logs), "stderr", processes)
    if late:
        raise LaunchError(
            f"{' '.join(program)} on {processes} processes had not ended after {timeout:g} s and "
            f"was stopped; the last lines of each:\n{_tails(errors)}"
        )
    if torchrun.returncode:
        raise LaunchError(_failure(program, torchrun.returncode, summary, errors))
    return outputs


_LOST = re.compile(r"Connection (?:closed|reset) by peer|remote worker crashing")


def _wait(torchrun: subprocess.Popen[str], timeout: float) -> tuple[str, bool]:
    """Return what torchrun printed and whether it was late; it has ended, and so have its workers.

    Also if this process is interrupted meanwhile.
    """
    try:
        return torchrun.communicate(timeout=timeout)[0], False
    except subprocess.TimeoutExpired:
        return _stop(torchrun), True
    except BaseException:
        _stop(torchrun)
        raise


def _stop(torchrun: subprocess.Popen[str]) -> str:
    if os.name == "posix":
        torchrun.terminate()
    else:  # Windows has no signal that torchrun could answer: its workers are ended with it
        tree = ["taskkill", "/T", "/F", "/PID", str(torchrun.pid)]
        subprocess.run(tree, capture_output=True, check=False)
    try:
        return torchrun.communicate(timeout=GRACE)[0]
    except BaseException as error:  # also a second interrupt while this waits for the workers
        torchrun.kill()
        output = torchrun.communicate()[0]
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return output


def _by_rank(logs: Path, stream: str, processes: int) -> list[str]:
    # One folder per run, in it one per attempt, in it one per local rank: the last attempt's stay.
    paths = sorted(logs.rglob(f"{stream}.log"), key=lambda path: _number(path.parts[-3]))
    found = {int(path.parent.name): path for path in paths}
    return [
        found[rank].read_text(encoding="utf-8", errors="replace") if rank in found else ""
        for rank in range(processes)
    ]


def _number(attempt: str) -> int:
    return int(attempt.rpartition("_")[2])


def _failure(program: Sequence[str], code: int, summary: str, errors: Sequence[str]) -> str:
    first = re.search(r"Root Cause.*?rank\s*:\s*(\d+)", summary, re.DOTALL)
    what = f"{' '.join(program)} on {len(errors)} processes failed"
    if first is None:  # torchrun itself: no such module, no free port, no memory
        return f"{what} (torchrun's status {code}):\n{_tail(summary) or _tails(errors)}"
    # Who lost a neighbour can end before the neighbour that failed: its error is no cause.
    order = sorted(range(len(errors)), key=lambda rank: rank != int(first[1]))
    causes = [rank for rank in order if errors[rank].strip() and not _LOST.search(errors[rank])]
    rank = causes[0] if causes else order[0]
    return f"{what}, first in rank {rank}:\n{_tail(errors[rank]) or _tail(summary)}"


def _tails(errors: Sequence[str]) -> str:
    return "\n".join(
        f"rank {rank}: {_tail(text, 5) or 'printed no error'}" for rank, text in enumerate(errors)
    )


def _tail(text: str, lines: int = 40) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])
