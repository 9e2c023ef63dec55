"""The roofline explorer: a device's roof, the layers of a network, an op of one's own to move.

Python works out every number; the panel draws and sends gestures.
"""

from __future__ import annotations

from typing import Any

from ampcourse.benchmark.devices import DEVICES
from ampcourse.widgets.front_end import PictureBox, anywidget, static, traitlets
from ampcourse.widgets.roofline import words
from ampcourse.widgets.roofline.own import LEAST, MOST, Own
from ampcourse.widgets.roofline.readout import readout, text
from ampcourse.widgets.roofline.state import RooflineState


class RooflinePanel(anywidget.AnyWidget):
    """The drawn part: choices, chart, read-outs."""

    _esm = static("dom.js", "controls.js", "roofline.js")
    _css = static("theme.css", "controls.css", "roofline.css")
    labels = traitlets.Dict(words.LABELS).tag(sync=True)
    #: A list of [what is sent, what is shown] for each choice.
    choices = traitlets.Dict(
        {
            "device": list(DEVICES),
            "recipe": list(words.RECIPES.items()),
            "window": [(str(window), shown) for window, shown in words.WINDOWS.items()],
            "channels": [LEAST, MOST],
        }
    ).tag(sync=True)
    readout = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class RooflineExplorer(PictureBox):
    """Layers under a roof; `device`, `recipe`, `layer` and `own` can be assigned.

    `limit` is the step's limit with its layers. Observe the trait `state` to follow changes.
    """

    state = traitlets.Instance(RooflineState)

    def __init__(self, state: RooflineState) -> None:
        self._panel = RooflinePanel()
        super().__init__([self._panel], state=state)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def limit(self) -> Any:
        """The least time of the step and its layers (ampcourse.benchmark.roofline.StepLimit)."""
        return self.state.limit

    @property
    def device(self) -> str:
        """The name of the device; assign another."""
        return self.state.device

    @device.setter
    def device(self, device: str) -> None:
        self.state = self.state.with_device(device)

    @property
    def recipe(self) -> str:
        """The recipe, "fp32", "tf32" or "amp-fp16"; assign another."""
        return self.state.recipe

    @recipe.setter
    def recipe(self, recipe: str) -> None:
        self.state = self.state.with_recipe(recipe)

    @property
    def layer(self) -> str:
        """The name of the chosen layer; assign another."""
        return self.state.layer

    @layer.setter
    def layer(self, layer: str) -> None:
        self.state = self.state.with_layer(layer)

    @property
    def own(self) -> Own:
        """The convolution that can be moved; assign another."""
        return self.state.own

    @own.setter
    def own(self, own: Own) -> None:
        self.state = self.state.with_window(own.window).with_power(own.power)

    def picture(self) -> str:
        """Return the read-outs as text."""
        return text(self.state)

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        self._panel.readout = readout(self.state)

    def _on_gesture(self, panel: RooflinePanel, content: dict[str, Any], _buffers: object) -> None:
        state, to = self.state, content["to"]
        change = {
            "device": lambda: state.with_device(str(to)),
            "recipe": lambda: state.with_recipe(str(to)),
            "layer": lambda: state.with_layer(str(to)),
            "window": lambda: state.with_window(int(to)),
            "channels": lambda: state.with_power(int(to)),
        }[content["gesture"]]
        with panel.hold_sync():
            self.state = change()
            panel.answered += 1
