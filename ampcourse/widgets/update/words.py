"""Every word the lost-update widget shows, in one place, so that a translation needs one file.

LABELS go to the browser as they stand; the sentences serve Python. Markup is that of `numerals`.
"""

from __future__ import annotations

from ampcourse.widgets.bits import words

LABELS = {
    "formats": words.LABELS["formats"],
    "modes": "Rounding",
    "signs": "Sign of Δ",
    "w": "w",
    "delta": "Δ",
    "setW": "Set w",
    "setDelta": "Set Δ",
    "slider": "Δ, log scale",
    "draws": "Draws",
    "drawOne": "Draw again",
    "drawMany": "Draw 100 times",
    "readouts": words.LABELS["readouts"],
    "full": words.LABELS["full"],
    "exact": "w + Δ",
    "weight": "w",
    "result": "rounded",
    "both": "w = rounded",
    "silent": words.LABELS["silent"],
}

MODES = {
    "nearest_even": "nearest, ties to even",
    "toward_zero": "toward zero",
    "up": "up",
    "down": "down",
    "stochastic": "stochastic",
}

SIGNS = {"+": "+", "-": "−"}

TERMS = {
    "sum": "w + Δ exactly",
    "result": "Rounded",
    "moved": "w moved by",
    "ratio": "|w / Δ|",
    "above": "Next above w",
    "below": "Next below w",
    "lost_up": "Lost upward",
    "lost_down": "Lost downward",
}

LOST = "lost"
NOTHING = "nothing to add"
OVERFLOW = "overflow"
NO_RATIO = "none, Δ is 0"
UNMOVED = "0"
NEVER = "no Δ but 0"
ALWAYS = "any Δ: w is the largest number and this mode never leaves it"
MAYBE = "hatched: an exact sum in here may round to w"
ZONE = "hatched: every exact sum in here rounds to w"


def moved(steps: int) -> str:
    """Say in three words how far the weight went."""
    return f"moved {_steps(steps)} {'up' if steps > 0 else 'down'}"


def moved_by(change: str, share: str, steps: int) -> str:
    """Say how far the weight went, as a number, as a share of Δ and in steps of the format."""
    told = f"{change}, {_steps(steps)}"
    return f"{told}; {share} of Δ" if share else told


def gap(value: str, away: str, half: str) -> str:
    """Say where a neighbour is, how far away, and half of that."""
    return f"{value}, {away} away; half of that is {half}"


def beyond(away: str, half: str) -> str:
    """Say that there is no number on this side, and where it would be."""
    return f"none; it would be {away} away; half of that is {half}"


def limit(bound: str, ratio: str, included: bool) -> str:
    """Say up to which size an update is lost, and from which ratio."""
    if included:
        told, sign = f"|Δ| up to {bound}", "≥"
    else:
        told, sign = f"|Δ| below {bound}", ">"
    return f"{told}, |w / Δ| {sign} {ratio}" if ratio else told


def maybe(bound: str) -> str:
    """Say below which size an update may be lost by chance."""
    return f"by chance, |Δ| below {bound}"


def not_held(typed: str, name: str, value: str) -> str:
    """Say that the weight typed is no number of the format."""
    return f"{typed} is not a number of {name}; w is the nearest one, {value}."


def every(count: int) -> str:
    """Say that the grid is thinned out."""
    return f"one mark for every {_grouped(count)} numbers"


def spacing(gap: str) -> str:
    """Label a stretch of the line with the distance between its numbers."""
    return f"gap {gap}"


def added(w: str, delta: str, negative: bool, total: str, result: str) -> str:
    """Write the addition and what it is rounded to; `total` brings its own sign of equality."""
    return f"{plus(w, delta, negative)}{total} → {result}"


def plus(w: str, delta: str, negative: bool) -> str:
    """Write w plus or minus the size of Δ."""
    return f"{w} {'−' if negative else '+'} {delta}"


def sentence(name: str, mode: str, sum_: str, outcome: str) -> str:
    """Tell format, mode, addition and outcome in one sentence."""
    return f"{name}, {MODES[mode]}: {sum_} {outcome}."


def told_lost(w: str, chance: bool) -> str:
    """End the sentence on a lost update."""
    return f"gives {w} again, so the update is lost{' this time' if chance else ''}"


def told_moved(result: str, steps: int) -> str:
    """End the sentence on an update that counts."""
    return f"gives {result}, {_steps(steps)} {'above' if steps > 0 else 'below'} w"


def told_overflow(kind: str) -> str:
    """End the sentence on a sum too large for the format."""
    return f"overflows to {words.KINDS[kind]}"


def told_nothing(w: str) -> str:
    """End the sentence on a zero Δ."""
    return f"gives {w}: there is nothing to add"


def chance(percent: str, up: str, down: str) -> str:
    """Say where a stochastic rounding goes with which probability."""
    return f"rounds up to {up} with probability p{percent}, else down to {down}"


def certain(value: str) -> str:
    """Say that there is no chance in an exact sum."""
    return f"{value} is a number of the format: nothing to draw"


def expectation(down: str, up: str, total: str) -> str:
    """Write the expectation of a stochastic rounding; `total` brings its sign of equality."""
    return f"expectation: (1 − p) × {down} + p × {up}{total}, which is w + Δ, exactly"


def tally(draws: int, mean: str) -> str:
    """Say how many draws there were and their mean."""
    return f"{draws} draw{'' if draws == 1 else 's'}, mean {mean}"


def tally_bar(value: str, count: int, percent: str) -> str:
    """Label a bar of the tally."""
    return f"{value}: {count} (expected {percent})"


def wants_finite(what: str, text: str) -> str:
    """Refuse an infinity or a NaN."""
    return f"{what} = {text} is not a finite number; type one such as 0.001 or 0x1p-11"


def wants_written(what: str, text: str) -> str:
    """Refuse what cannot be added exactly."""
    return (
        f"{what} = {text} has over 800 digits or lies beyond 10^±400, where the sum is not "
        "worked out; type a number nearer to w"
    )


def wants_sign(name: str) -> str:
    """Refuse a format without a sign."""
    return f"{name} has no sign, so nothing can be subtracted in it; use fp16, bf16, e4m3 or fp32"


def wants_mode(mode: object) -> str:
    """Refuse an unknown rounding mode."""
    return f"unknown rounding mode {mode!r}; the modes here are {', '.join(MODES)}"


def _steps(steps: int) -> str:
    return f"{_grouped(abs(steps))} step{'' if abs(steps) == 1 else 's'}"


def _grouped(count: int) -> str:
    return f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") if count >= 10_000 else str(count)
