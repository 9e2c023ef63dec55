"""The blocks that the numbers of the block FMA widget fill, one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.tensor_core.configurations import GPU_NAMES, configuration
from ampcourse.tensor_core.reference import BlockTerms, block_terms
from ampcourse.widgets.block.state import BlockState, formats_of


@dataclass(frozen=True)
class Chain:
    """Blocks in order, each taken apart; the result of one is the C of the next.

    `rounded` is the sum of all terms, exact and rounded once to the output format.
    """

    state: BlockState
    blocks: tuple[BlockTerms, ...]
    rounded: float

    @property
    def result(self) -> float:
        """What the GPU gives."""
        return self.blocks[-1].result


def chain(state: BlockState) -> Chain:
    """Take the numbers of a state apart, as many blocks as reach its last term."""
    length = state.configuration.block_length
    last = max((term.place for term in state.terms), default=0)
    count = last // length + 1
    a, b = state.vectors(count * length)
    c = state.entry("c").value
    blocks, carried = [], c
    for start in range(0, count * length, length):
        part = slice(start, start + length)
        formats = (state.input_format, state.output_format)
        blocks.append(block_terms(a[part], b[part], carried, state.gpu, *formats))
        carried = blocks[-1].result
    return Chain(state, tuple(blocks), _rounded(a, b, c, state.output_format, carried))


def every_gpu(state: BlockState) -> list[tuple[list[str], float]]:
    """Return the result on each GPU that has the formats, GPUs that agree together."""
    results: dict[str, tuple[list[str], float]] = {}
    for gpus in _alike(state):
        result = chain(state.with_gpu(gpus[0])).result
        # Text as the key: it keeps the sign of zero, and NaN equals NaN.
        results.setdefault(result.hex(), ([], result))[0].extend(gpus)
    return list(results.values())


def _alike(state: BlockState) -> list[list[str]]:
    """Return the GPUs that have the formats, those with the same rule together."""
    formats = (state.input_format, state.output_format)
    groups: dict[object, list[str]] = {}
    for gpu in GPU_NAMES:
        if formats in formats_of(gpu):
            rule = configuration(gpu, *formats)
            key = replace(rule, gpu="", generation="", evidence="", instruction="mma.sync")
            groups.setdefault(key, []).append(gpu)
    return list(groups.values())


def _rounded(a: list[float], b: list[float], c: float, output: str, result: float) -> float:
    if not all(map(math.isfinite, (*a, *b, c))):
        return result
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(c))
    return decode(encode(exact, output), output).value
