"""One real number in eight formats side by side, with a number field over them."""

from __future__ import annotations

from typing import Any

from ampcourse.widgets import numerals
from ampcourse.widgets.bits import words
from ampcourse.widgets.bits.comparison import ComparisonRow, compare
from ampcourse.widgets.bits.state import number_text
from ampcourse.widgets.front_end import PictureBox, anywidget, refusal, static, traitlets


class ComparisonPanel(anywidget.AnyWidget):
    """The drawn part: number field and table."""

    _esm = static("dom.js", "same_number.js")
    _css = static("theme.css", "same_number.css")
    labels = traitlets.Dict(words.COMPARISON_LABELS).tag(sync=True)
    typed = traitlets.Unicode().tag(sync=True)
    rows: traitlets.List[Any] = traitlets.List().tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class SameNumber(PictureBox):
    """One number in eight formats; `typed` can be assigned, `rows` reads the formats' codes."""

    typed = traitlets.Unicode()

    def __init__(self, value: str | float = "0.1") -> None:
        text = number_text(value)
        self._rows = compare(text)
        self._panel = ComparisonPanel()
        super().__init__([self._panel], typed=text)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def rows(self) -> dict[str, ComparisonRow]:
        """What each format makes of the number, by format name."""
        return self._rows

    def picture(self) -> str:
        """Return the table as text."""
        lines = [words.compared(numerals.shorten(self.typed))]
        for row in self._rows.values():
            data = row.as_data()
            cells = f"{data['name']:<5} {data['hex']:<11} {data['value']:<30} {data['error']:<12}"
            lines.append(f"{numerals.plain(cells)} {data['fate']}".rstrip())
        return "\n".join(lines)

    @traitlets.validate("typed")
    def _check_typed(self, proposal: dict[str, Any]) -> str:
        text = number_text(proposal["value"])
        compare(text)  # raises before anything changes
        return text

    @traitlets.observe("typed")
    def _on_typed(self, _change: object) -> None:
        self._rows = compare(self.typed)
        panel = self._panel
        with panel.hold_sync():
            panel.typed = self.typed
            panel.rows = [row.as_data() for row in self._rows.values()]
            panel.sentence = self._sentence()
            panel.problem = {}

    def _sentence(self) -> str:
        rows = self._rows.items()
        exact = [name for name, row in rows if row.error and row.error.absolute == 0]
        fates = [(name, row.fate) for name, row in rows if row.fate]
        return words.compared_sentence(numerals.shorten(self.typed), exact, fates)

    def _on_gesture(self, _panel: object, content: dict[str, Any], _buffers: object) -> None:
        panel = self._panel
        with panel.hold_sync():
            panel.problem = {}
            try:
                self.typed = str(content["text"])
            except ValueError as error:
                panel.problem = refusal(str(content["text"]), error)
            panel.answered += 1
