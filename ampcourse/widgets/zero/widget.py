"""The shard painter: what each rank keeps under ZeRO's stages, and what it sends.

Python works out every byte through `ampcourse.memory.shards`; the panel draws and sends gestures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ampcourse.memory.ledger import STATE
from ampcourse.memory.shards import ShardBytes
from ampcourse.widgets.front_end import PictureBox, anywidget, assignable, static, traitlets
from ampcourse.widgets.zero import words
from ampcourse.widgets.zero.readout import text, view
from ampcourse.widgets.zero.state import PARAMETERS, RANKS, ShardState


class ShardPanel(anywidget.AnyWidget):
    """The drawn part: choices, ranks, table of stages."""

    _esm = static("dom.js", "controls.js", "memory_parts.js", "shards.js")
    _css = static("theme.css", "controls.css", "memory.css", "shards.css")
    labels = traitlets.Dict(words.LABELS).tag(sync=True)
    #: A list of [what is sent, what is shown] for each choice.
    choices = traitlets.Dict().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class Shards(PictureBox):
    """Ranks and what they keep; `stage`, `ranks`, `parameters`, `optimizer`, `recipe` are settable.

    `bytes` is what the fullest rank keeps. Observe the trait `state` to follow changes.
    """

    state = traitlets.Instance(ShardState)
    stage = assignable("stage", "The stage, 0 to 3; assign another.")
    ranks = assignable("ranks", "How many ranks there are; assign another number.")
    parameters = assignable("parameters", "How many the model has; assign another number.")
    optimizer = assignable("optimizer", '"sgd", "momentum" or "adam"; assign another.')
    recipe = assignable("recipe", '"masters", "autocast" or "half"; assign another.')

    def __init__(self, state: ShardState) -> None:
        self._panel = ShardPanel(choices=_choices(state.parameters))
        super().__init__([self._panel], state=state)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def bytes(self) -> ShardBytes:
        """What the fullest rank keeps."""
        return self.state.bytes

    def picture(self) -> str:
        """Return the painter as text."""
        return text(self.state)

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        self._panel.view = view(self.state)

    def _on_gesture(self, panel: ShardPanel, content: dict[str, Any], _buffers: object) -> None:
        state = self.state
        change: dict[str, Callable[[Any], ShardState]] = {
            "stage": state.with_stage,
            "ranks": lambda place: state.with_ranks(RANKS[int(place)]),
            "parameters": state.with_parameters,
            "optimizer": state.with_optimizer,
            "recipe": state.with_recipe,
        }
        with panel.hold_sync():
            self.state = change[content["gesture"]](content["to"])
            panel.answered += 1


def _choices(own: int) -> dict[str, list[tuple[str, str]]]:
    counts = sorted({*PARAMETERS, own})
    return {
        "stage": [(str(stage), told) for stage, told in words.STAGES.items()],
        "parameters": [(str(count), words.parameters(count)) for count in counts],
        "optimizer": [(name, words.OPTIMIZERS[name]) for name in STATE],
        "recipe": list(words.RECIPES.items()),
    }
