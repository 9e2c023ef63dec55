"""How alike the solution cells of two submissions are, beyond what the lesson makes them.

Cells are cut into tokens in which every name, number of spaces and comment counts the same,
and these into runs of `RUN`. Runs that the lesson itself shows do not count, and a run that
half the class has counts little. Likeness is no proof: short right answers are alike.
"""

import io
import keyword
import math
import tokenize
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from ampcourse.courseware.build import learner
from ampcourse.courseware.source import Lesson
from ampcourse.courseware.submission import Submission

RUN = 6
ALIKE = 0.8
LEAST = 40  # runs that both must have: two short answers are alike by chance
SKIPPED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """Two students whose work on a lesson is alike, from 0 to 1."""

    lesson: str
    students: tuple[str, str]
    share: float
    same_file: bool


def tokens(text: str) -> list[str]:
    """Return the normalised tokens of code, as far as it can be cut into tokens."""
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in SKIPPED:
                continue
            if token.type == tokenize.NAME:
                found.append(token.string if keyword.iskeyword(token.string) else "name")
            elif token.type == tokenize.STRING:
                found.append("text")
            else:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass
    return found


def runs(text: str) -> set[int]:
    """Return the hashes of all runs of tokens in a cell."""
    words = tokens(text)
    return {
        zlib.crc32("\0".join(words[at : at + RUN]).encode("utf-8", "replace"))
        for at in range(len(words) - RUN + 1)
    }


@lru_cache(maxsize=32)
def given_runs(lesson: Lesson) -> frozenset[int]:
    """Return the runs that the learner's copy shows: stubs, set-up, demonstrations."""
    cells = learner(lesson).cells
    return frozenset().union(*(runs(cell.source) for cell in cells if cell.cell_type == "code"))


def fingerprint(lesson: Lesson, submission: Submission) -> tuple[int, ...]:
    """Return the runs of a learner's code that the lesson does not show."""
    own = set().union(*(runs(piece.text) for piece in submission.pieces))
    return tuple(sorted(own - given_runs(lesson)))


def alike(
    lesson: str, work: Iterable[tuple[str, str, tuple[int, ...]]], least: float = ALIKE
) -> list[Pair]:
    """Return the pairs that share at least `least` of their runs, the most alike first.

    `work` holds a student, the digest of the file and the fingerprint of each submission.
    The share is weighted: a run that n of N submissions have counts log(1 + N / n). Short
    work counts only where the files are the same to the byte.
    """
    entries = [(student, digest, frozenset(print_)) for student, digest, print_ in work]
    entries = [entry for entry in entries if entry[2]]
    common = Counter(run for _, _, own in entries for run in own)
    weight = {run: math.log(1 + len(entries) / count) for run, count in common.items()}
    totals = {student: math.fsum(weight[run] for run in own) for student, _, own in entries}
    pairs = []
    for (one, first, ours), (other, second, theirs) in combinations(entries, 2):
        low, high = sorted((totals[one], totals[other]))
        short = min(len(ours), len(theirs)) < LEAST
        if first != second and (short or low < least * high):
            continue
        shared = math.fsum(weight[run] for run in ours & theirs)
        share = shared / (low + high - shared)
        if share >= least:
            pairs.append(Pair(lesson, (one, other), share, first == second))
    return sorted(pairs, key=lambda pair: (-pair.same_file, -pair.share, pair.students))
