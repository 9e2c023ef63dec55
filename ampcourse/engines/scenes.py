"""The scenes of lesson 13: what two processes do, live where that works, else as recorded.

Each scene is a small program in `ampcourse.engines.workers`, since what a notebook defines cannot
be sent to another process. All results are plain data: lists by rank, then by step.
"""

from __future__ import annotations

import json
import platform
import tempfile
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ampcourse.distributed import LaunchError, launch

Result = dict[str, Any]

#: Where the recorded outputs are.
FOLDER = Path(__file__).parent / "records"

#: Every scene runs on this many processes.
PROCESSES = 2

#: Name → what it shows.
SCENES = {
    "ddp": "an inf on one rank under DDP; the same gradients averaged in FP32 and in BF16",
    "local_found_inf": "sharded gradients: found_inf kept by each rank, and shared by all",
    "fsdp2": "FSDP2 trains as DDP does, with fewer bytes per rank",
    "checkpoint_2_to_1": "saved on two ranks, loaded and trained on by one",
    "killed_rank": "a rank is killed, torchrun starts all again, training goes on",
    "deepspeed": "DeepSpeed's ZeRO 1, 2 and 3 train as DDP does, with fewer bytes per rank",
}


def scene(name: str, timeout: float = 60.0) -> Result:
    """Launch a scene's processes on this machine and return what they saw.

    Raises ValueError for an unknown name and distributed.LaunchError, with the reason, where the
    processes could not be started, failed or ran out of time.

    Lists are by rank, then by step; `recorded` shows each scene's fields.
    """
    _check(name)
    if name == "deepspeed":
        from ampcourse.engines.zero import missing

        if missing():
            raise LaunchError(missing())
    with tempfile.TemporaryDirectory(prefix="ampcourse-scene-") as folder:
        if name == "checkpoint_2_to_1":
            saving = _play("checkpoint", PROCESSES, timeout, folder)
            loading = _play("checkpoint", 1, timeout, folder)
            loss = {"two ranks": saving.pop("loss"), "one rank": loading.pop("loss")}
            return {**loading, **saving, "loss": loss}
        if name == "killed_rank":
            return _play(name, PROCESSES, timeout, folder, restarts=1)
        return _play(name, PROCESSES, timeout)


def recorded(name: str) -> Result:
    """Return a scene's recorded output: {"result": as `scene`, "command", "machine", "date", ...}.

    Raises ValueError for an unknown name.
    """
    _check(name)
    found: Result = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def record(name: str, timeout: float = 300.0) -> Result:
    """Play a scene, write its output into the package as `recorded` returns it, and return it.

    `python -m ampcourse.engines.scenes NAME` does this. Raises as `scene`.
    """
    from ampcourse.benchmark.machine import Machine

    result = scene(name, timeout)
    found: Result = {
        "scene": name,
        "says": SCENES[name],
        "command": f"python -m ampcourse.engines.scenes {name}",
        "date": datetime.now(UTC).date().isoformat(),
        "processes": PROCESSES,
        "backend": "gloo",
        "machine": Machine().describe() | {"deepspeed": _deepspeed_version()},
        "result": result,
    }
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return found


def show_scene(name: str, timeout: float = 60.0, live: bool = True) -> tuple[Result, str]:
    """Return a scene's result, and in words whether it was played now or recorded earlier, and why.

    With `live` False nothing is launched. The words on a record name its machine, its date and the
    command that made it. Never raises for what a machine lacks (gloo, a free port, DeepSpeed, time,
    another system than Linux or macOS); ValueError for an unknown name.
    """
    _check(name)
    reason = _impossible() if live else ""
    if live and not reason:
        try:
            return scene(name, timeout), f"live, on {PROCESSES} processes of this machine"
        except (LaunchError, OSError) as error:  # OSError: no process or file could be made
            reason = reason_of(str(error))
    kept = recorded(name)
    machine = kept["machine"]
    why = f"since {reason}" if reason else "and shown without launching"
    where = f"{machine['cpu']}, torch {machine['torch']}, {kept['date']}, by {kept['command']}"
    return kept["result"], f"recorded earlier, {why} ({where})"


#: What the message of a failed launch contains → what that means to a reader.
REASONS = {
    "not installed": "DeepSpeed is not installed here",
    "had not ended after": "the processes were not done in time",
    "EADDRINUSE": "a port was taken that the processes wanted to meet at",
    "address already in use": "a port was taken that the processes wanted to meet at",
    "Distributed package doesn't have": "this torch was built without the backend gloo",
    "No module named 'torch.distributed'": "this torch was built without torch.distributed",
    "gloo": "gloo could not connect the processes",
    "Cannot allocate memory": "there was too little memory for two more processes",
}


def reason_of(message: str) -> str:
    """Return in a line why a launch failed, from LaunchError's message."""
    for text, reason in REASONS.items():
        if text.lower() in message.lower():
            return reason
    lines = message.strip().splitlines()
    return f"the processes failed: {lines[-1]}" if lines else "the processes failed"


def _play(
    module: str, processes: int, timeout: float, *arguments: str, restarts: int = 0
) -> Result:
    from ampcourse.engines.workers.setting import result_in

    program = ["-m", f"ampcourse.engines.workers.{module}", *arguments]
    outputs = launch(program, processes, timeout=timeout, restarts=restarts)
    try:
        return result_in(outputs[0])
    except ValueError as error:
        raise LaunchError(f"{module}: {error}") from None


def _impossible() -> str:
    """Return why no processes can be launched here, or ""."""
    if platform.system() not in ("Linux", "Darwin"):
        return f"two processes are launched on Linux and macOS only, this is {platform.system()}"
    try:
        import torch.distributed as dist
    except ImportError:
        return "torch is not installed here"
    if not dist.is_available():
        return "this torch was built without torch.distributed"
    return "" if dist.is_gloo_available() else "this torch was built without the backend gloo"


def _deepspeed_version() -> str | None:
    try:
        return version("deepspeed")
    except PackageNotFoundError:
        return None


def _check(name: str) -> None:
    if name not in SCENES:
        raise ValueError(f"scene {name!r} is unknown; choose from {', '.join(SCENES)}")


if __name__ == "__main__":
    import sys

    for chosen in sys.argv[1:]:
        record(chosen)
