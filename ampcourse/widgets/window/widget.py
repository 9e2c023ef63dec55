"""The gradient window: a histogram of exponents, a format's range over it, a loss scale to slide.

Python holds the state and works out every number; the panel sends gestures and draws.
"""

from __future__ import annotations

from typing import Any

from ampcourse.dynamic_range import RangeReport
from ampcourse.formats import FloatFormat
from ampcourse.widgets import numerals
from ampcourse.widgets.front_end import PictureBox, anywidget, refusal, static, traitlets
from ampcourse.widgets.window import words
from ampcourse.widgets.window.readout import readout, rows, sentence
from ampcourse.widgets.window.recording import LARGEST_SHIFT, Recording
from ampcourse.widgets.window.state import WindowState

FORMAT_CHOICES = ("fp16", "bf16", "e5m2", "e4m3")


class WindowPanel(anywidget.AnyWidget):
    """The drawn part: choices, sliders, chart, read-outs."""

    _esm = static("dom.js", "controls.js", "gradient_window.js")
    _css = static("theme.css", "controls.css", "gradient_window.css")
    labels = traitlets.Dict({**words.LABELS, "axis": words.AXIS}).tag(sync=True)
    #: For formats and bar heights: a list of [what is sent, what is shown].
    choices = traitlets.Dict().tag(sync=True)
    largest_shift = traitlets.Int(LARGEST_SHIFT).tag(sync=True)
    readout = traitlets.Dict().tag(sync=True)
    problem = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class GradientWindow(PictureBox):
    """Where values lie in a format; `format`, `scale`, `layer` and `step` can be assigned.

    `report` has the counts of what is shown. `update` takes new histograms, also from within
    a training loop. Observe the trait `state` to follow changes.
    """

    state = traitlets.Instance(WindowState)

    def __init__(
        self, histograms: Any, fmt: str | FloatFormat = "fp16", *, scale: float = 1.0
    ) -> None:
        state = WindowState.of(histograms, fmt, scale)
        self._panel = WindowPanel(choices=_choices(state.format))
        super().__init__([self._panel], state=state)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def format(self) -> FloatFormat:
        """The format whose range is drawn; assign a FloatFormat or a name."""
        return self.state.format

    @format.setter
    def format(self, fmt: str | FloatFormat) -> None:
        self.state = self.state.with_format(fmt)

    @property
    def scale(self) -> float:
        """The loss scale, a power of two from 1 to 2^24."""
        return 2.0**self.state.shift

    @scale.setter
    def scale(self, scale: float) -> None:
        self.state = self.state.with_scale(scale)

    @property
    def layer(self) -> str:
        """The name of the histogram that is shown."""
        return self.state.layer

    @layer.setter
    def layer(self, layer: str) -> None:
        self.state = self.state.with_layer(layer)

    @property
    def step(self) -> int:
        """The step that is shown; 0 where there is only one."""
        return self.state.step

    @step.setter
    def step(self, step: int) -> None:
        self.state = self.state.with_step(step)

    @property
    def report(self) -> RangeReport:
        """How many values end in which class."""
        return self.state.report

    def update(self, histograms: Any, *, step: int | None = None) -> None:
        """Show new histograms; format, scale and layer stay, and so does the page.

        With a step they are added to those there are, and the view follows if it was at the
        last step. Raises as `gradient_window` does and then changes nothing.
        """
        recording = self.state.recording
        if step is None:
            recording = Recording.of(histograms)
        else:
            recording = recording.with_step(step, histograms)
        self.state = self.state.with_recording(recording)

    def picture(self) -> str:
        """Return the read-outs as text."""
        lines = [f"{words.TERMS[key]:<14} {text}" for key, text in rows(self.state)]
        return numerals.plain("\n".join([*lines, sentence(self.state)]))

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        panel = self._panel
        with panel.hold_sync():
            panel.readout = readout(self.state)
            panel.problem = {}

    def _after(self, content: dict[str, Any]) -> WindowState:
        """Return what a gesture makes of the state."""
        state = self.state
        to = content["to"]
        if content["gesture"] == "step":  # the slider counts places
            return state.with_step(list(state.recording.steps)[int(to)])
        if content["gesture"] == "scale":
            return state.with_shift(int(to))
        change = {
            "format": state.with_format,
            "height": state.with_height,
            "layer": state.with_layer,
        }[content["gesture"]]
        return change(to)

    def _on_gesture(self, _panel: object, content: dict[str, Any], _buffers: object) -> None:
        panel = self._panel
        with panel.hold_sync():
            panel.problem = {}
            try:
                self.state = self._after(content)
            except (ValueError, IndexError) as error:  # the recording changed meanwhile
                panel.problem = refusal("", ValueError(str(error)))
            panel.answered += 1


def _choices(own: FloatFormat) -> dict[str, list[tuple[str, str]]]:
    names = [*FORMAT_CHOICES]
    if own.name not in names:
        names.append(own.name)
    return {
        "formats": [(name, name) for name in names],
        "heights": list(words.HEIGHTS.items()),
    }
