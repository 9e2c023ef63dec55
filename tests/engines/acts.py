"""Several scenes in one launch: `python -m tests.engines.acts NAME...` prints all their results."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ampcourse.distributed import Ranks
from ampcourse.engines.workers import setting


def act(ranks: Ranks) -> dict[str, Any]:
    return {
        name: import_module(f"ampcourse.engines.workers.{name}").act(ranks) for name in sys.argv[1:]
    }


if __name__ == "__main__":
    setting.play(act)
