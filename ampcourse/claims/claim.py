"""A claim, the way its verdict is found, and a table of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

#: "depends" is for a figure that holds for some machines or runs, "not checkable" for one that
#: nobody can look up and that this course did not measure.
VERDICTS = ("right", "right in part", "depends", "wrong", "not checkable")

#: How the evidence is found: by arithmetic or a run here and now, in records of runs, in a source
#: that is quoted, or by reasoning. What the evidence amounts to is this course's judgement.
WAYS = ("computed", "recorded", "quoted", "reasoned")


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim and the evidence for it, in words that hold the numbers.

    Raises ValueError for a verdict that is none of VERDICTS.
    """

    verdict: str
    evidence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict={self.verdict!r} is unknown; choose from {VERDICTS}")


@dataclass(frozen=True)
class Claim:
    """What an article says, which lesson takes it up, and how it is checked.

    Raises ValueError for a way of checking that is none of WAYS.
    """

    name: str
    says: str
    lesson: str
    way: str
    check: Callable[[], Finding]

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise ValueError(f"way={self.way!r} is unknown; choose from {', '.join(WAYS)}")


def table(claims: Sequence[Claim]) -> DataFrame:
    """Check each claim, and return one row per claim: what it says, the verdict, the evidence."""
    from pandas import DataFrame

    rows = []
    for claim in claims:
        finding = claim.check()
        rows.append(
            {
                "claim": claim.says,
                "verdict": finding.verdict,
                "what is so": finding.evidence,
                "found": claim.way,
                "lesson": claim.lesson,
            }
        )
    return DataFrame(rows, index=[claim.name for claim in claims])
