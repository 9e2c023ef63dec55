"""Train the small transformer under a recipe, and the recorded curves of all of them.

``python -m ampcourse.low_precision.curves`` makes the record again.
"""

from __future__ import annotations

from typing import Any

from ampcourse.low_precision.recipe import Recipe


def train(recipe: str | Recipe, steps: int = 60, seed: int = 0) -> list[float]:
    """Return the loss of every step."""
    raise NotImplementedError


def recorded() -> dict[str, Any]:
    """Return {"command", "hardware", "versions", "date", "curves": {recipe: {"losses", ...}}}."""
    raise NotImplementedError
