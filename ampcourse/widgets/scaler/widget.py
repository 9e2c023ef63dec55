"""The scaler scrubber: a dynamic loss scale through time, with infs where the learner puts them.

Python runs the rule; the panel draws the timeline and sends gestures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ampcourse.widgets.front_end import PictureBox, anywidget, refusal, static, traitlets
from ampcourse.widgets.scaler import words
from ampcourse.widgets.scaler.picture import text, timeline
from ampcourse.widgets.scaler.trace import MAX_INTERVAL, ScalerTrace, Step

_GESTURES: dict[str, Callable[[ScalerTrace, dict[str, Any]], ScalerTrace]] = {
    "toggle": lambda trace, to: trace.toggled(int(to["step"])),
    "clear": lambda trace, to: trace.with_infs(()),
    "setting": lambda trace, to: trace.with_setting(str(to["field"]), str(to["text"])),
    "interval": lambda trace, to: trace.with_interval(int(to["to"])),
}


class ScalerPanel(anywidget.AnyWidget):
    """The drawn part: settings, timeline, scrubber, read-outs."""

    _esm = static("dom.js", "controls.js", "number_input.js", "scaler_scrubber.js")
    _css = static("theme.css", "controls.css", "scaler_scrubber.css")
    labels = traitlets.Dict(words.SCALER_LABELS).tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)
    timeline = traitlets.Dict().tag(sync=True)
    #: The step that is shown, counted from 1.
    step = traitlets.Int(1).tag(sync=True)
    problem = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class ScalerScrubber(PictureBox):
    """A loss scale over many steps; `step` and `infs` can be assigned, `history` reads back.

    Observe the trait `trace` to follow changes.
    """

    trace = traitlets.Instance(ScalerTrace)

    def __init__(self, trace: ScalerTrace) -> None:
        self._panel = ScalerPanel()
        super().__init__([self._panel], trace=trace)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def history(self) -> tuple[Step, ...]:
        """Every step with the state before and after it."""
        return self.trace.history

    @property
    def infs(self) -> frozenset[int]:
        """The steps whose gradients get an inf; assign other step numbers."""
        return self.trace.infs

    @infs.setter
    def infs(self, infs: Iterable[int]) -> None:
        self.trace = self.trace.with_infs(infs)

    @property
    def step(self) -> int:
        """The step that is shown, counted from 1; assign another."""
        return int(self._panel.step)

    @step.setter
    def step(self, step: int) -> None:
        if not 1 <= step <= self.trace.steps:
            raise ValueError(words.wants_count("step", step, 1, self.trace.steps))
        self._panel.step = step

    def picture(self) -> str:
        """Return the steps as text."""
        return text(self.trace)

    @traitlets.observe("trace")
    def _on_trace(self, _change: object) -> None:
        trace, panel = self.trace, self._panel
        with panel.hold_sync():
            panel.settings = {
                "init_scale": trace.init_scale,
                "growth_factor": trace.growth_factor,
                "backoff_factor": trace.backoff_factor,
                "growth_interval": trace.growth_interval,
                "longest": MAX_INTERVAL,
                "infs": sorted(trace.infs),
            }
            panel.timeline = timeline(trace)
            panel.problem = {}

    def _on_gesture(self, _panel: object, content: dict[str, Any], _buffers: object) -> None:
        panel = self._panel
        with panel.hold_sync():
            panel.problem = {}
            try:
                self.trace = _GESTURES[content["gesture"]](self.trace, content)
            except ValueError as error:
                told = refusal(str(content.get("text", "")), error)
                panel.problem = {**told, "field": str(content.get("field", ""))}
            panel.answered += 1
