"""Scene killed_rank: `killed_rank.py FOLDER`; rank 1 ends as if the machine had killed it."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.pictures import Pictures, pictures
from ampcourse.benchmark.recipes import parse
from ampcourse.distributed import Ranks
from ampcourse.engines.ddp import Ddp
from ampcourse.engines.training import train
from ampcourse.engines.workers import setting

STEPS, EVERY, KILLED_RANK, KILLED_BEFORE = 10, 3, 1, 7


def act(ranks: Ranks) -> dict[str, Any]:
    """Train undisturbed, then with checkpoints; in the first attempt rank 1 is killed."""
    folder = Path(sys.argv[1])
    data = pictures("fashion-mnist", use="subset")
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    note = folder / "attempts.jsonl"

    def before(step: int) -> None:
        if ranks.reports:
            with note.open("a", encoding="utf-8") as file:
                file.write(json.dumps([attempt, step]) + "\n")
        if attempt == 0 and ranks.rank == KILLED_RANK and step == KILLED_BEFORE:
            # As the kernel does it where memory runs out: no finally, no message.
            os.kill(os.getpid(), signal.SIGKILL)

    undisturbed, expected = _train(ranks, data)
    restarted, reached = _train(ranks, data, folder=folder, every=EVERY, before=before)
    steps = [json.loads(line) for line in note.read_text(encoding="utf-8").splitlines()]
    attempts = [[step for number, step in steps if number == n] for n in range(attempt + 1)]
    return {
        "killed": {"rank": KILLED_RANK, "before_step": KILLED_BEFORE},
        "checkpoint_every": EVERY,
        "attempts": [{"first_step": one[0], "last_step": one[-1]} for one in attempts],
        "loss": {"undisturbed": undisturbed["losses"], "last attempt": restarted["losses"]},
        "same_weights": setting.ulps(expected, reached) == 0,
    }


def _train(ranks: Ranks, data: Pictures, **options: Any) -> tuple[dict[str, Any], Any]:
    engine = Ddp(parse("fp32"), setting.net(), setting.LEARNING_RATE, Machine(), ranks)
    found = train(engine, data, batch=setting.BATCH, steps=STEPS, **options)
    return found, setting.flat(engine.weights())


if __name__ == "__main__":
    setting.play(act, alone=False)
