"""The type-flow graph: the ops of a net, the types between them, and what autocast casts.

Python follows the types; the panel draws the graph and sends gestures.
"""

from __future__ import annotations

from typing import Any

from ampcourse.widgets.flow import words
from ampcourse.widgets.flow.readout import graph, text
from ampcourse.widgets.flow.state import FlowState
from ampcourse.widgets.flow.types import DEVICES, LOWER, Flow
from ampcourse.widgets.front_end import PictureBox, anywidget, static, traitlets


class FlowPanel(anywidget.AnyWidget):
    """The drawn part: choices, graph, read-outs."""

    _esm = static("dom.js", "controls.js", "type_flow.js")
    _css = static("theme.css", "controls.css", "type_flow.css")
    labels = traitlets.Dict(words.LABELS).tag(sync=True)
    #: A list of [what is sent, what is shown] for each choice.
    choices = traitlets.Dict(
        {
            "net": list(words.NETS.items()),
            "device": [(device, words.DEVICES[device]) for device in DEVICES],
            "lower": [(lower, lower) for lower in LOWER],
        }
    ).tag(sync=True)
    graph = traitlets.Dict().tag(sync=True)
    #: The place of the chosen op, counted from 0.
    place = traitlets.Int(0).tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class TypeFlow(PictureBox):
    """A net's types under autocast; `net`, `device`, `lower` and `op` can be assigned.

    `flows` has every op with its list, its casts and its type. Observe the trait `state` to
    follow changes.
    """

    state = traitlets.Instance(FlowState)

    def __init__(self, state: FlowState) -> None:
        self._panel = FlowPanel()
        super().__init__([self._panel], state=state)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)
        self._panel.observe(self._on_place, "place")

    @property
    def flows(self) -> tuple[Flow, ...]:
        """Every op of the net with its types."""
        return self.state.flows

    @property
    def net(self) -> str:
        """The name of the net; assign another."""
        return self.state.net

    @net.setter
    def net(self, net: str) -> None:
        self.state = self.state.with_net(net)

    @property
    def device(self) -> str:
        """The device type, "cpu" or "cuda"; assign the other."""
        return self.state.device

    @device.setter
    def device(self, device: str) -> None:
        self.state = self.state.with_device(device)

    @property
    def lower(self) -> str:
        """The region's type, "float16" or "bfloat16"; assign the other."""
        return self.state.lower

    @lower.setter
    def lower(self, lower: str) -> None:
        self.state = self.state.with_lower(lower)

    @property
    def op(self) -> str:
        """The name of the result of the chosen op; assign another."""
        return self.state.op

    @op.setter
    def op(self, op: str) -> None:
        self.state = self.state.with_op(op)

    def picture(self) -> str:
        """Return the graph as text."""
        return text(self.state)

    @traitlets.observe("state")
    def _on_state(self, change: Any) -> None:
        panel, old = self._panel, change["old"]
        with panel.hold_sync():
            # Choosing an op changes no type: then there is nothing to send but its place.
            if not isinstance(old, FlowState) or old.region != self.state.region:
                panel.graph = graph(self.state)
            panel.place = self.state.place

    def _on_place(self, change: Any) -> None:
        names = [flow.node.name for flow in self.flows]
        self.state = self.state.with_op(names[min(int(change["new"]), len(names) - 1)])

    def _on_gesture(self, panel: FlowPanel, content: dict[str, Any], _buffers: object) -> None:
        change = {
            "net": self.state.with_net,
            "device": self.state.with_device,
            "lower": self.state.with_lower,
        }[content["gesture"]]
        with panel.hold_sync():
            self.state = change(str(content["to"]))
            panel.answered += 1
