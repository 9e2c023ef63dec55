"""A table of a report, as text for a terminal or as Markdown."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

UNKNOWN = "?"


@dataclass(frozen=True)
class Table:
    """A title, a head, rows of text, remarks below; the first `words` columns are no numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...] = ()
    words: int = 1

    def text(self) -> str:
        """Return the table with columns aligned: words left, numbers right."""
        lines = [self.head, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        body = [
            "  ".join(
                cell.ljust(width) if i < self.words else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        rule = "-" * max(map(len, body))
        wrapped = (_wrap(r) for r in self.remarks)
        return "\n".join([self.title, rule, body[0], rule, *body[1:], rule, *wrapped])

    def markdown(self) -> str:
        """Return the table as Markdown, numbers right."""
        numbers = len(self.head) - self.words
        marks = ("---",) * self.words + ("---:",) * numbers
        cells = ["| " + " | ".join(line) + " |" for line in (self.head, marks, *self.rows)]
        return "\n".join([f"### {self.title}", "", *cells, *(f"\n{r}" for r in self.remarks)])


# Addresses stay whole.
_WRAPPING = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}


def _wrap(remark: str) -> str:
    return textwrap.fill(remark, 100, **_WRAPPING)  # type: ignore[arg-type]


def number(value: float | None, form: str = "", factor: float = 1.0) -> str:
    """Return a number in a form, by default whole from 100 on; UNKNOWN for None."""
    if value is None:
        return UNKNOWN
    return format(value * factor, form or (",.0f" if value >= 100 else ".3g"))
