"""Everything the shard painter shows, worked out as plain data and as text."""

from __future__ import annotations

from typing import Any

from ampcourse.memory.shards import DIVIDED, ShardBytes
from ampcourse.widgets import numerals
from ampcourse.widgets.zero import words
from ampcourse.widgets.zero.state import RANKS, STAGES, ShardState

#: Of more ranks than these the first few and the last are drawn.
_DRAWN = 8


def view(state: ShardState) -> dict[str, Any]:
    """Return what the browser draws: a row per rank, the table of stages, the sentence."""
    return {
        "stage": str(state.stage),
        "ranks": [RANKS.index(state.ranks), len(RANKS) - 1, str(state.ranks)],
        "parameters": str(state.parameters),
        "optimizer": state.optimizer,
        "recipe": state.recipe,
        "painting": painting(state),
        "table": table(state),
        "sentence": sentence(state),
        "notes": notes(state),
    }


def painting(state: ShardState) -> list[dict[str, Any]]:
    """Return the ranks that are drawn: each part's width, and which share of it is kept.

    Widths are those of the undivided parts, so that a whole row is what DDP keeps.
    """
    if state.ranks <= _DRAWN:
        return [_rank(state, number) for number in range(state.ranks)]
    left_out = {"name": words.MORE, "parts": [], "told": words.more(state.ranks - _DRAWN + 1)}
    first = [_rank(state, number) for number in range(_DRAWN - 2)]
    return [*first, left_out, _rank(state, state.ranks - 1)]


def _rank(state: ShardState, number: int) -> dict[str, Any]:
    whole, found = _parts(state.at_stage(0)), _parts(state.bytes)
    total = sum(whole.values())
    return {
        "name": words.rank(number, words.size(state.bytes.total)),
        "parts": [
            _part(state, name, number, size / total, found[name])
            for name, size in whole.items()
            if size
        ],
    }


def _part(state: ShardState, name: str, number: int, width: float, kept: int) -> dict[str, Any]:
    divided = name in DIVIDED[state.stage]
    share = words.share(state.ranks, divided)
    return {
        "what": name,
        "letter": words.PARTS[name],
        "width": width,
        "from": number / state.ranks if divided else 0.0,
        "to": (number + 1) / state.ranks if divided else 1.0,
        "told": words.part(name, words.size(kept), share),
    }


def _parts(found: ShardBytes) -> dict[str, int]:
    return dict(
        zip(words.PARTS, (found.weights, found.gradients, found.optimizer_state), strict=True)
    )


def table(state: ShardState) -> dict[str, Any]:
    """Return the table: a column for each stage; parts, their sum and what is sent as rows."""
    kept = [state.at_stage(stage) for stage in STAGES]
    whole = kept[0].total
    parts: list[list[Any]] = [
        [
            name,
            [
                [words.size(_parts(found)[name]), name in DIVIDED[found.stage], 0.0]
                for found in kept
            ],
        ]
        for name in words.PARTS
    ]
    total = [[words.size(found.total), False, found.total / whole] for found in kept]
    sent = [[words.size(state.traffic(stage).total), False, 0.0] for stage in STAGES]
    return {
        "stages": [[words.COLUMNS[stage], stage == state.stage] for stage in STAGES],
        "rows": [*parts, [words.SUM, total], [words.SENT, sent]],
    }


def sentence(state: ShardState) -> str:
    """Tell the state in one sentence, and the padding if there is any."""
    sent, plain = state.traffic(state.stage).total, state.traffic(0).total
    return words.sentence(
        state.stage,
        state.ranks,
        words.parameters(state.parameters),
        words.size(state.bytes.total),
        words.size(state.at_stage(0).total),
        words.size(sent),
        sent / plain if plain else 0.0,
    ) + words.padding(state.bytes.padding)


def notes(state: ShardState) -> list[str]:
    """Return what is to be known about the numbers."""
    if state.recipe != "autocast" or state.ranks == 1:
        return [words.LEFT_OUT]
    return [words.policy(words.size(state.traffic(3, "half").total)), words.LEFT_OUT]


def text(state: ShardState) -> str:
    """Return the painter as text: a letter for each part that a rank keeps whole or a share of.

    A capital letter is a whole part, a small one this rank's share; a star is the chosen stage.
    """
    lines = []
    for row in painting(state):
        if not row["parts"]:
            lines.append(f"  {row['told']}")
            continue
        marks = [_mark(part) for part in row["parts"]]
        lines.append(f"{' '.join(marks)}  {row['name']}")
    found = table(state)
    heads = [f"*{name}" if chosen else name for name, chosen in found["stages"]]
    lines += [_line(words.LABELS["stage"], heads)]
    lines += [_line(row[0], [cell[0] for cell in row[1]]) for row in found["rows"]]
    told = [*lines, sentence(state), *notes(state)]
    return numerals.plain("\n".join(told))


def _line(name: str, cells: list[str]) -> str:
    return f"{name:<18} " + " ".join(f"{cell:>10}" for cell in cells)


def _mark(part: dict[str, Any]) -> str:
    whole = part["to"] - part["from"] == 1.0
    letter: str = part["letter"]
    return letter if whole else letter.lower()
