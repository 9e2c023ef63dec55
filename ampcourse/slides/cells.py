"""Run a deck's Python: one namespace per deck, figures and numbers out of it."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ampcourse.plotting.style import lettering
from ampcourse.slides.picture import inline_svg
from ampcourse.slides.sources import checked_source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_VALUE = re.compile(r"\[\[(.+?)\]\]")
#: Letters of a figure against those in a lesson: what is read at a desk is read from the last row.
ENLARGED = 1.3


class Cells:
    """The Python of one deck, run in order; each run returns HTML."""

    def __init__(self, root: Path) -> None:
        """Make an empty namespace; `root` is the course's folder, for recorded sources."""
        self._root = root
        self._drawn: list[str] = []
        self._count = 0
        self._names: dict[str, Any] = {"figure": self._figure, "frames": self._frames}

    def run(self, code: str) -> str:
        """Run a block that draws: what `figure` and `frames` made in it."""
        self._drawn.clear()
        with lettering(ENLARGED):
            exec(compile(code, "<slide>", "exec"), self._names)
        return "\n".join(self._drawn)

    def output(self, code: str) -> str:
        """Run a block whose code is shown: what it printed."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.run(code)
        return printed.getvalue()

    def filled_in(self, text: str) -> str:
        """Replace each `[[expression]]`, or `[[expression:.3g]]`, by its value."""
        return _VALUE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        # An f-string, so that a format may follow the expression as people know it.
        return str(eval(f'f"""{{{found[1]}}}"""', self._names))

    def _figure(self, ax: Axes, *, alt: str, source: str, caption: str = "") -> None:
        """Put a figure on the slide."""
        self._drawn.append(self._framed(self._svg(ax, alt), source, caption))

    def _frames(
        self,
        steps: Sequence[tuple[Axes, str]],
        *,
        static: tuple[Axes, str],
        source: str,
        caption: str = "",
    ) -> None:
        """Put figures in one place, one after the other by the arrow keys; `static` is printed.

        A step and `static` are pairs of Axes and alt text.
        """
        if len(steps) < 2:
            raise ValueError(f"{len(steps)} step to show: frames() takes two or more")
        last = len(steps) - 1
        shown = []
        for place, (ax, alt) in enumerate(steps):
            # reveal.js: the first goes with the first key, the last comes with the last one.
            effect = {0: "fade-out", last: "fade-in"}.get(place, "current-visible")
            index = max(place - 1, 0)
            shown.append(
                f'<div class="frame fragment {effect}" data-fragment-index="{index}">'
                f"{self._svg(ax, alt)}</div>"
            )
        printed = f'<div class="static">{self._svg(*static)}</div>'
        self._drawn.append(
            self._framed(f'<div class="frames">{"".join(shown)}{printed}</div>', source, caption)
        )

    def _svg(self, ax: Axes, alt: str) -> str:
        self._count += 1
        return inline_svg(ax, alt, f"f{self._count}")

    def _framed(self, drawing: str, source: str, caption: str) -> str:
        told = escape(checked_source(source, self._root))
        finding = f"<span>{escape(caption)}</span> " if caption else ""
        line = f'<figcaption>{finding}<small class="source">{told}</small></figcaption>'
        return f"<figure>{drawing}{line}</figure>"
