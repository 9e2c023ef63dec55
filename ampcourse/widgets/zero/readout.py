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
        "rows": rows(state),
        "sentence": sentence(state),
        "notes": notes(state),
    }


def painting(state: ShardState) -> list[dict[str, Any]]:
    """Return the ranks that are drawn: each part's width, and which share of it is kept.

    Widths are those of the undivided parts, so that a whole row is what DDP keeps.
    """
    whole, found = _parts(state.at_stage(0)), _parts(state.bytes)
    total = sum(whole.values())
    drawn = (
        range(state.ranks) if state.ranks <= _DRAWN else (*range(_DRAWN - 2), None, state.ranks - 1)
    )
    told = words.size(state.bytes.total)
    return [
        {"name": words.MORE, "parts": [], "told": words.more(state.ranks - _DRAWN + 1)}
        if number is None
        else {
            "name": words.rank(number, told),
            "parts": [
                _part(state, name, number, whole[name] / total, found[name])
                for name in whole
                if whole[name]
            ],
        }
        for number in drawn
    ]


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


def rows(state: ShardState) -> list[dict[str, Any]]:
    """Return the table: for each stage the bytes of each part, their sum, what is sent."""
    found = []
    for stage in STAGES:
        kept = state.at_stage(stage)
        sizes = [*_parts(kept).values(), kept.total, state.traffic(stage).total]
        found.append(
            {
                "stage": words.STAGES[stage],
                "cells": [words.size(size) for size in sizes],
                "divided": [name in DIVIDED[stage] for name in words.PARTS],
                "share": kept.total / state.at_stage(0).total,
                "chosen": stage == state.stage,
            }
        )
    return found


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

    A capital letter is a whole part, a small one this rank's share.
    """
    lines = []
    for row in painting(state):
        if not row["parts"]:
            lines.append(f"  {row['told']}")
            continue
        marks = [_mark(part) for part in row["parts"]]
        lines.append(f"{' '.join(marks)}  {row['name']}")
    head = f"{'':<26} " + " ".join(f"{name:>15}" for name in words.HEAD[1:])
    table = [
        f"{'*' if row['chosen'] else ' '} {row['stage']:<24} "
        + " ".join(f"{cell:>15}" for cell in row["cells"])
        for row in rows(state)
    ]
    told = [*lines, head, *table, sentence(state), *notes(state)]
    return numerals.plain("\n".join(told))


def _mark(part: dict[str, Any]) -> str:
    whole = part["to"] - part["from"] == 1.0
    letter: str = part["letter"]
    return letter if whole else letter.lower()
