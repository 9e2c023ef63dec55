"""The lost-update widget: drag Δ until w + Δ is w again.

Python holds the state and works out every number; the panel sends gestures and draws.
"""

from __future__ import annotations

import random
from typing import Any

from ampcourse.formats import FloatFormat
from ampcourse.widgets import numerals
from ampcourse.widgets.front_end import PictureBox, anywidget, refusal, static, traitlets
from ampcourse.widgets.update import words
from ampcourse.widgets.update.readout import chance, note, readout, rows, sentence
from ampcourse.widgets.update.state import UpdateState

FORMAT_CHOICES = ("fp16", "bf16", "e4m3", "fp32")
_MOST_DRAWS = 1000


class UpdatePanel(anywidget.AnyWidget):
    """The drawn part: choices, number fields, slider, number line, read-outs."""

    _esm = static("dom.js", "controls.js", "lost_update.js")
    _css = static("theme.css", "controls.css", "lost_update.css")
    labels = traitlets.Dict(words.LABELS).tag(sync=True)
    #: For formats, modes and signs: a list of [what is sent, what is shown].
    choices = traitlets.Dict().tag(sync=True)
    readout = traitlets.Dict().tag(sync=True)
    #: What was refused last, as `front_end.refusal` has it, and in which field.
    problem = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class LostUpdate(PictureBox):
    """One weight update; `format`, `w`, `delta` and `mode` read the state and can be assigned.

    `result` is the rounded sum, `lost` whether it is w again. Observe the trait `state` to
    follow changes.
    """

    state = traitlets.Instance(UpdateState)

    def __init__(
        self,
        fmt: str | FloatFormat = "fp16",
        w: str | float = "1",
        delta: str | float = "0.001",
        *,
        mode: str = "nearest_even",
        seed: int = 0,
    ) -> None:
        self._generator = random.Random(seed)
        state = UpdateState.of(fmt, w, delta, mode)
        self._own = state.format
        self._panel = UpdatePanel(choices=_choices(state.format))
        super().__init__([self._panel], state=self._settled(state))
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def format(self) -> FloatFormat:
        """The format that w + Δ is rounded to; assign a FloatFormat or a name."""
        return self.state.format

    @format.setter
    def format(self, fmt: str | FloatFormat) -> None:
        self.state = self._settled(self.state.with_format(fmt))

    @property
    def w(self) -> float:
        """The weight, a number of the format; what is assigned is rounded to nearest."""
        return float(self.state.w)

    @w.setter
    def w(self, number: str | float) -> None:
        self.state = self._settled(self.state.with_w(number))

    @property
    def delta(self) -> str:
        """The update as number text; it is exact."""
        return self.state.delta

    @delta.setter
    def delta(self, number: str | float) -> None:
        self.state = self._settled(self.state.with_delta(number))

    @property
    def mode(self) -> str:
        """The rounding mode."""
        return self.state.mode

    @mode.setter
    def mode(self, mode: str) -> None:
        self.state = self._settled(self.state.with_mode(mode))

    @property
    def result(self) -> float:
        """The rounded sum; under stochastic rounding, the last draw."""
        return self.state.result.value

    @property
    def lost(self) -> bool:
        """Whether w + Δ == w although Δ is not 0."""
        return self.state.lost

    def picture(self) -> str:
        """Return the read-outs as text."""
        lines = [f"{row.term:<16} {row.markup}" for row in rows(self.state)]
        if self.mode == "stochastic":
            told = chance(self.state)
            lines += [told["told"], told["expected"]]
        told = [note(self.state), *lines, sentence(self.state)]
        return numerals.plain("\n".join(filter(None, told)))

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        panel = self._panel
        with panel.hold_sync():
            panel.choices = _choices(self._own)
            panel.readout = readout(self.state)
            panel.problem = {}

    def _settled(self, state: UpdateState) -> UpdateState:
        """Draw once where chance decides, so that there is a result to show."""
        if state.mode == "stochastic" and not sum(state.draws):
            return state.drawn(self._generator)
        return state

    def _after(self, content: dict[str, Any]) -> UpdateState:
        """Return what a gesture makes of the state; raises ValueError for a refused number."""
        state, gesture = self.state, content["gesture"]
        if gesture == "draw":
            return state.drawn(self._generator, min(int(content["times"]), _MOST_DRAWS))
        change = {
            "format": state.with_format,
            "mode": state.with_mode,
            "w": state.with_w,
            "delta": state.with_delta,
            "sign": lambda sign: state.with_sign(sign == "-"),
            "slide": lambda position: state.slid(int(position)),
        }[gesture]
        return self._settled(change(content["to"]))

    def _on_gesture(self, _panel: object, content: dict[str, Any], _buffers: object) -> None:
        panel = self._panel
        with panel.hold_sync():
            panel.problem = {}
            try:
                self.state = self._after(content)
            except ValueError as error:
                told = refusal(str(content.get("to", "")), error)
                panel.problem = {**told, "field": content["gesture"]}
            panel.answered += 1


def _choices(own: FloatFormat) -> dict[str, list[tuple[str, str]]]:
    names = [*FORMAT_CHOICES]
    if own.name not in names:
        names.append(own.name)
    return {
        "formats": [(name, name) for name in names],
        "modes": list(words.MODES.items()),
        "signs": list(words.SIGNS.items()),
    }
