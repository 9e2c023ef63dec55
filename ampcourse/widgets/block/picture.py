"""Everything the block FMA widget shows about its blocks, worked out as plain data and as text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.tensor_core.reference import BlockTerms, Term
from ampcourse.widgets import numerals
from ampcourse.widgets.block import words
from ampcourse.widgets.block.chain import Chain
from ampcourse.widgets.block.grid import Grid, digits, last_place
from ampcourse.widgets.block.rows import Row, output_place, own_digits, sum_digits, text_row
from ampcourse.widgets.block.values import ulps, value


@dataclass(frozen=True)
class BlockPicture:
    """One block of a chain: its rows, its grid and a sentence for each stage."""

    chain: Chain
    number: int

    @property
    def block(self) -> BlockTerms:
        """The block taken apart."""
        return self.chain.blocks[self.number]

    @property
    def last(self) -> bool:
        """Whether the result of this block is that of the chain."""
        return self.number + 1 == len(self.chain.blocks)

    @cached_property
    def reference(self) -> float:
        """What the result is held against: exactly rounded, over all blocks at the end."""
        return self.chain.rounded if self.last else self.block.correctly_rounded

    @property
    def name(self) -> str:
        """Which block of how many, and what it adds."""
        first = self.number * self.block.configuration.block_length
        last = first + self.block.configuration.block_length - 1
        span = words.term_span(first, last, self.number)
        count = len(self.chain.blocks)
        return f"{words.block_name(self.number, count)}: {span}"

    @cached_property
    def drawn(self) -> list[Row]:
        """Return the rows of the terms that are not zero."""
        return [self._term(term) for term in self.block.terms if not _is_zero(term)]

    @cached_property
    def results(self) -> list[Row]:
        """Return the rows under the line: the sum, the result, what it is held against."""
        block = self.block
        gives = words.result_row(self.chain.state.gpu, self.number, len(self.chain.blocks))
        result = Row("result", gives, block.result, digits=own_digits(block.result))
        exact = Row("exact", words.EXACT, self.reference, digits=own_digits(self.reference))
        if block.truncated_sum is None:
            return [result, exact]
        total = sum_digits(block.truncated_sum, self.quantum)
        last = output_place(block.truncated_sum, block.configuration)
        return [Row("sum", words.SUM, block.truncated_sum, digits=total, cut=last), result, exact]

    @property
    def quantum(self) -> int:
        """The last place that is kept."""
        place = last_place(self.block.quantum or Fraction(1))
        assert place is not None
        return place

    def grid(self) -> Grid | None:
        """Return the common grid; None where an infinity or a NaN leaves nothing to align."""
        if self.block.emax is None:
            return None
        rows = [row.digits for row in (*self.drawn, *self.results) if row.digits]
        return Grid.around(rows, self.block.emax, self.quantum)

    def as_data(self) -> dict[str, Any]:
        """Return what the browser draws."""
        grid = self.grid()
        return {
            "name": self.name,
            "terms": [row.as_data(grid) for row in self.drawn],
            "results": [row.as_data(grid) for row in self.results],
            "zeros": self.zeros(),
            "columns": grid.columns if grid else 0,
            "kept": grid.column(grid.quantum) + 1 if grid else 0,
            "marks": self._marks(grid) if grid else [],
            "sentences": self.sentences(),
        }

    def zeros(self) -> str:
        """Say which terms are zero and not drawn."""
        zero = [term.index for term in self.block.terms if _is_zero(term)]
        offset = self.number * self.block.configuration.block_length
        places = _runs([offset + index for index in zero if index is not None])
        return words.zeros(places, words.owner_c(self.number) if None in zero else "")

    def sentences(self) -> list[str]:
        """Return one sentence for each stage."""
        block, rule = self.block, self.block.configuration
        if block.emax is None or block.truncated_sum is None:
            told = words.special(numerals.exact(block.result), words.SPECIAL_CAUSE)
            return [told] * len(words.STAGES)
        terms = [term for term in block.terms if not _is_zero(term)]
        lost = [term.lost for term in terms if term.lost]
        quantum = value(block.quantum or Fraction(1))
        how = words.ROUNDINGS[rule.output_rounding]
        narrow = rule.output_fraction_bits < rule.output.significand_bits
        output = words.kept_bits(rule.output_format, rule.output_fraction_bits if narrow else None)
        return [
            words.products(sum(term.index is not None for term in terms)),
            words.exponents(block.emax, self._owner(terms)),
            words.alignment(block.emax, rule.fraction_bits, quantum),
            words.cut(len(lost), len(terms), value(sum(lost, Fraction(0))), quantum),
            words.total(value(block.truncated_sum)),
            words.rounding(how, output, value(block.result), self.verdict()),
        ]

    def verdict(self) -> str:
        """Hold the result against the exactly rounded one."""
        result, exact = self.block.result, self.reference
        scope = words.SCOPE_CHAIN if self.last and self.number else ""
        if result == exact or (result != result and exact != exact):
            return words.verdict(None, False, "", scope)
        count = ulps(result, exact, self.block.configuration.output_format)
        if count is None:
            return words.verdict_of_zero(value(exact), scope)
        small = abs(count) < 10_000
        size = numerals.about(abs(count), 3, 6) if small else value(abs(count))
        return words.verdict(size, count > 0, value(exact), scope)

    def text(self) -> list[str]:
        """Return the block as lines for a terminal; a bar marks the cut."""
        grid = self.grid()
        rows = [*self.drawn, *self.results]
        lines = [self.name] if len(self.chain.blocks) > 1 else []
        lines += [text_row(row, grid) for row in rows]
        if zeros := self.zeros():
            lines.append(zeros)
        sentences = self.sentences()
        told = sentences[-1:] if grid is None else [sentences[3], sentences[-1]]
        return [*lines, *map(numerals.plain, told)]

    def _term(self, term: Term) -> Row:
        if term.index is None:
            key, label = "c", words.chain_c(self.number)
        else:
            place = term.index + self.number * self.block.configuration.block_length
            key, label = str(place), f"a_{{{place}}}·b_{{{place}}}"
        if term.product is None or term.exponent is None:
            return Row(key, label, term.value)
        return Row(
            key=key,
            label=label,
            number=term.product,
            exponent=self._exponent(term),
            largest=term.exponent == self.block.emax,
            digits=digits(term.product, term.exponent),
            cut=self.quantum,
            lost=term.lost or Fraction(0),
        )

    def _exponent(self, term: Term) -> str:
        if term.b is None:
            return str(term.exponent)
        format = self.chain.state.input_format
        parts = [decode(encode(factor, format), format).exponent for factor in (term.a, term.b)]
        second = f"({parts[1]})" if (parts[1] or 0) < 0 else str(parts[1])
        return f"{parts[0]} + {second} = {term.exponent}"

    def _owner(self, terms: list[Term]) -> str:
        owners = [self._term(t).label for t in terms if t.exponent == self.block.emax]
        if not owners:
            return words.OWNER_ZERO
        plain = owners[0] if owners[0] != words.chain_c(self.number) else words.owner_c(self.number)
        return words.owner_term(plain)

    def _marks(self, grid: Grid) -> list[dict[str, Any]]:
        marks = [("largest", self.block.emax or 0), ("quantum", grid.quantum)]
        return [
            {"kind": kind, "column": grid.column(place), "label": f"2^{{{place}}}"}
            for kind, place in marks
        ]


def _is_zero(term: Term) -> bool:
    return term.product is not None and not term.product


def _runs(places: list[int]) -> list[str]:
    """Write neighbouring places as runs.

    >>> _runs([1, 2, 3, 5, 7, 8])
    ['1 to 3', '5', '7', '8']
    """
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    texts = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else list(map(str, run)) for run in runs]
    return [text for parts in texts for text in parts]
