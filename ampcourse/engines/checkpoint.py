"""Checkpoints in a folder that all processes see: complete ones only, the newest two kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ampcourse.engines.engine import Engine

#: Written last: a folder without it is not complete.
MARK = "about.json"

#: How many are kept: if the newest is damaged, there is one before it.
KEPT = 2


def save(engine: Engine, folder: Path, about: dict[str, Any]) -> Path:
    """Write a checkpoint of the steps taken so far and return its folder; all processes call it.

    `about` is JSON data that `load` compares: what must not differ when training goes on. The
    folder must be one that the processes of all machines share.
    """
    final = folder / f"step-{engine.steps:08}"
    part = final.with_suffix(".part")
    if engine.ranks.reports:
        shutil.rmtree(part, ignore_errors=True)  # of an earlier attempt that was killed
        part.mkdir(parents=True)
    _together(engine)
    engine.save(part)
    _together(engine)
    if engine.ranks.reports:
        shutil.rmtree(final, ignore_errors=True)
        mark = {**about, "step": engine.steps, "world_size": engine.ranks.world_size}
        (part / MARK).write_text(json.dumps(mark, indent=1), encoding="utf-8")
        part.rename(final)
        for old in complete(folder)[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    _together(engine)
    return final


def complete(folder: Path) -> list[Path]:
    """Return the complete checkpoints in a folder, the newest last; none where there is none."""
    return sorted(path.parent for path in folder.glob(f"step-*/{MARK}") if ".part" not in str(path))


def load(engine: Engine, checkpoint: Path, about: dict[str, Any]) -> int:
    """Go on from a checkpoint and return the number of steps it has taken; all processes call it.

    Raises ValueError for one whose `about` differs, with both values, and where the engine cannot
    load what another number of processes saved.
    """
    mark = json.loads((checkpoint / MARK).read_text(encoding="utf-8"))
    for name, value in about.items():
        if mark.get(name) != value:
            raise ValueError(
                f"{checkpoint} has {name}={mark.get(name)!r}, this training {value!r}; start with "
                "the former, or give another folder"
            )
    engine.load(checkpoint, mark["world_size"])
    return int(mark["step"])


def _together(engine: Engine) -> None:
    engine.mean([0.0])  # returns once all processes have come here
