"""The outlier widget: one large value in a tensor, to drag, under three ways of sharing scales.

Python works out every number through `ampcourse.blocks`; the panel draws and sends gestures.
"""

from __future__ import annotations

from typing import Any

from ampcourse.widgets.front_end import PictureBox, anywidget, assignable, static, traitlets
from ampcourse.widgets.scaling import words
from ampcourse.widgets.scaling.fates import Fate
from ampcourse.widgets.scaling.readout import text, view
from ampcourse.widgets.scaling.state import LEAST, OutlierState


class OutlierPanel(anywidget.AnyWidget):
    """The drawn part: choice, sliders, three charts, table."""

    _esm = static("dom.js", "controls.js", "memory_parts.js", "outlier.js")
    _css = static("theme.css", "controls.css", "memory.css", "outlier.css")
    labels = traitlets.Dict(words.LABELS).tag(sync=True)
    #: A list of [what is sent, what is shown].
    elements = traitlets.List(list(words.ELEMENTS.items())).tag(sync=True)
    least = traitlets.Int(LEAST).tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class Outlier(PictureBox):
    """A tensor with an outlier; `element`, `place` and `exponent` can be assigned.

    `fates` tells what becomes of every value under one scale, 32-blocks and 16-blocks. Observe
    the trait `state` to follow changes.
    """

    state = traitlets.Instance(OutlierState)
    element = assignable("element", 'The format of the elements, "e2m1" or "e4m3"; assign another.')
    place = assignable("place", "The outlier's place, counted from 0; assign another.")
    exponent = assignable("exponent", "The outlier is 2 to this; assign another.")

    def __init__(self, state: OutlierState) -> None:
        self._panel = OutlierPanel()
        super().__init__([self._panel], state=state)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def fates(self) -> tuple[Fate, ...]:
        """What becomes of the values: one scale, 32-blocks, 16-blocks."""
        return self.state.fates

    @property
    def values(self) -> tuple[float, ...]:
        """The 64 values, the outlier among them."""
        return self.state.values

    def picture(self) -> str:
        """Return the widget as text."""
        return text(self.state)

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        self._panel.view = view(self.state)

    def _on_gesture(self, panel: OutlierPanel, content: dict[str, Any], _buffers: object) -> None:
        state, to = self.state, content["to"]
        with panel.hold_sync():
            if content["gesture"] == "element":
                self.state = state.with_element(to)
            elif content["gesture"] == "drag":
                self.state = state.dragged(int(to[0]), int(to[1]))
            elif content["gesture"] == "place":
                self.state = state.dragged(int(to), state.exponent)
            else:
                self.state = state.dragged(state.place, int(to))
            panel.answered += 1
