"""The bit explorer: a format selector over a panel that the browser draws.

Python holds the state and works out every number; the panel sends gestures and draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ampcourse.formats import FORMATS, FloatFormat
from ampcourse.widgets.bits import words
from ampcourse.widgets.bits.readout import readout, rows, sentence
from ampcourse.widgets.bits.shape import shape, spans, title
from ampcourse.widgets.bits.state import BitState
from ampcourse.widgets.front_end import (
    PictureBox,
    anywidget,
    ipywidgets,
    refusal,
    static,
    traitlets,
)

_GESTURES: dict[str, Callable[[BitState, dict[str, Any]], BitState]] = {
    "flip": lambda state, to: state.flipped(int(to["bit"])),
    "set": lambda state, to: state.with_bit(int(to["bit"]), bool(to["one"])),
    "exponentField": lambda state, to: state.with_exponent_field(int(to["to"])),
    "significandField": lambda state, to: state.with_significand_field(int(to["to"])),
    "exponentWidth": lambda state, to: state.with_widths(
        int(to["to"]), state.format.significand_bits
    ),
    "significandWidth": lambda state, to: state.with_widths(
        state.format.exponent_bits, int(to["to"])
    ),
    "number": lambda state, to: state.with_typed(str(to["text"])),
    "negate": lambda state, to: state.negated(),
    "below": lambda state, to: state.stepped(up=False),
    "above": lambda state, to: state.stepped(up=True),
}


class BitPanel(anywidget.AnyWidget):
    """The drawn part: bit grid, sliders, read-outs."""

    _esm = static("dom.js", "controls.js", "explorer.js")
    _css = static("theme.css", "controls.css", "explorer.css")
    labels = traitlets.Dict(words.LABELS).tag(sync=True)
    shape = traitlets.Dict().tag(sync=True)
    readout = traitlets.Dict().tag(sync=True)
    #: What was refused last, as `front_end.refusal` has it; empty after a gesture that worked.
    problem = traitlets.Dict().tag(sync=True)
    #: Counts gestures handled, so that the browser knows when the next may go out.
    answered = traitlets.Int(0).tag(sync=True)


class Explorer(PictureBox):
    """One number in one format, every bit of it to flip.

    `format`, `code`, `value` and `typed` read the state back; all but `value` can be
    assigned. Observe the trait `state` to follow changes.
    """

    state = traitlets.Instance(BitState)

    def __init__(
        self, format: str | FloatFormat = "fp16", value: str | float = "0.1", *, code: int | None
    ) -> None:
        state = BitState.of(format, value)
        self._panel = BitPanel()
        self._formats = ipywidgets.RadioButtons(
            options=[*FORMATS, words.CUSTOM], orientation="horizontal"
        )
        super().__init__([self._formats, self._panel], state=state)
        self.add_class("amp-explorer")
        if code is not None:
            self.code = code
        self._panel.on_msg(self._on_gesture)
        self._formats.observe(self._on_format, "value")

    @property
    def format(self) -> FloatFormat:
        """The format whose code is shown; assign a FloatFormat or a name."""
        return self.state.format

    @format.setter
    def format(self, format: str | FloatFormat) -> None:
        self.state = self.state.with_format(format)

    @property
    def code(self) -> int:
        """The bits as an integer."""
        return self.state.code

    @code.setter
    def code(self, code: int) -> None:
        self.state = self.state.with_code(code)

    @property
    def value(self) -> float:
        """The value of the bits; exact for every format."""
        return self.state.value

    @property
    def typed(self) -> str:
        """The number text that errors refer to; assign another to encode it."""
        return self.state.typed

    @typed.setter
    def typed(self, text: str) -> None:
        self.state = self.state.with_typed(text)

    def picture(self) -> str:
        """Return fields and read-outs as text."""
        bits = f"{self.code:0{self.format.bits}b}"
        fields = " ".join(
            bits[len(bits) - low - width : len(bits) - low] for _, low, width in spans(self.format)
        )
        lines = [f"{words.TERMS[row.key]:<16} {row.text}" for row in rows(self.state)]
        return "\n".join(
            [title(self.format, self.state.custom), fields, *lines, sentence(self.state)]
        )

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        state, panel = self.state, self._panel
        with panel.hold_sync():
            panel.shape = shape(state.format, state.custom)
            panel.readout = readout(state)
            panel.problem = {}
        self._formats.value = words.CUSTOM if state.custom else state.format.name

    def _on_format(self, change: dict[str, Any]) -> None:
        if change["new"] == words.CUSTOM:
            if not self.state.custom:
                self.state = self.state.as_custom()
        elif change["new"] != self.format.name:
            self.format = change["new"]

    def _on_gesture(self, _panel: object, content: dict[str, Any], _buffers: object) -> None:
        panel = self._panel
        with panel.hold_sync():
            panel.problem = {}
            try:
                self.state = _GESTURES[content["gesture"]](self.state, content)
            except ValueError as error:
                panel.problem = refusal(str(content.get("text", "")), error)
            panel.answered += 1
