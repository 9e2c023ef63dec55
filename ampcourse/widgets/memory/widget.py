"""The memory ledger and the checkpointing slider.

Python decides the numbers; the panels draw them and send gestures.
"""

from __future__ import annotations

from typing import Any

from ampcourse.memory.ledger import STATE, Ledger
from ampcourse.widgets.front_end import PictureBox, anywidget, static, traitlets
from ampcourse.widgets.memory import words
from ampcourse.widgets.memory.readout import ledger_text, ledger_view, segment_text, segment_view
from ampcourse.widgets.memory.state import MAX_EXPONENT, MAX_LAYERS, LedgerState, SegmentState


class LedgerPanel(anywidget.AnyWidget):
    """The drawn part of the ledger: choices, toggles, bars, table."""

    _esm = static("dom.js", "controls.js", "memory_parts.js", "memory_ledger.js")
    _css = static("theme.css", "controls.css", "memory.css")
    labels = traitlets.Dict(words.LEDGER_LABELS).tag(sync=True)
    #: A list of [what is sent, what is shown] for each choice.
    choices = traitlets.Dict().tag(sync=True)
    longest = traitlets.Int(MAX_EXPONENT).tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class MemoryLedger(PictureBox):
    """What a training step holds; `optimizer`, `recipe` and `batch` can be assigned.

    `ledger` has the bytes of each parameter, row by row. Observe the trait `state` to follow
    changes.
    """

    state = traitlets.Instance(LedgerState)

    def __init__(self, state: LedgerState) -> None:
        workloads = [(key, load.name) for key, load in state.workloads.items()]
        optimizers = [(name, words.OPTIMIZERS[name]) for name in STATE]
        recipes = list(words.RECIPES.items())
        choices = {"workload": workloads, "optimizer": optimizers, "recipe": recipes}
        toggles = list(words.TOGGLES.items())
        self._panel = LedgerPanel(choices={**choices, "toggles": toggles})
        super().__init__([self._panel], state=state)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def ledger(self) -> Ledger:
        """The bytes of each parameter, row by row."""
        return self.state.ledger

    @property
    def optimizer(self) -> str:
        """The optimizer: "sgd", "momentum" or "adam"; assign another."""
        return self.state.optimizer

    @optimizer.setter
    def optimizer(self, optimizer: str) -> None:
        self.state = self.state.with_optimizer(optimizer)

    @property
    def recipe(self) -> str:
        """The recipe, or "own" for other assumptions; assign another."""
        return self.state.recipe

    @recipe.setter
    def recipe(self, recipe: str) -> None:
        self.state = self.state.with_recipe(recipe)

    @property
    def batch(self) -> int:
        """The batch, a power of two; assign another."""
        return self.state.batch

    @batch.setter
    def batch(self, batch: int) -> None:
        self.state = self.state.with_batch(batch)

    def picture(self) -> str:
        """Return the ledger as text."""
        return ledger_text(self.state)

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        with self._panel.hold_sync():
            self._panel.view = ledger_view(self.state)
            self._panel.problem = ""

    def _on_gesture(self, panel: LedgerPanel, content: dict[str, Any], _buffers: object) -> None:
        state = self.state
        change = {
            "workload": state.with_workload,
            "optimizer": state.with_optimizer,
            "recipe": state.with_recipe,
            "toggle": state.toggled,
            "batch": lambda exponent: state.with_batch(2 ** int(exponent)),
        }[content["gesture"]]
        with panel.hold_sync():
            panel.problem = ""
            try:
                self.state = change(content["to"])
            except ValueError as error:
                panel.problem = str(error)
            panel.answered += 1


class SegmentPanel(anywidget.AnyWidget):
    """The drawn part of the slider: numbers, chain, curve."""

    _esm = static("dom.js", "controls.js", "memory_parts.js", "checkpoint_segments.js")
    _css = static("theme.css", "controls.css", "memory.css")
    labels = traitlets.Dict(words.SEGMENT_LABELS).tag(sync=True)
    longest = traitlets.Int(MAX_LAYERS).tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class CheckpointSegments(PictureBox):
    """A chain of equal layers in segments; `layers` and `segments` can be assigned.

    `peak` and `recomputed` are those of this division. Observe the trait `state` to follow changes.
    """

    state = traitlets.Instance(SegmentState)

    def __init__(self, state: SegmentState) -> None:
        self._panel = SegmentPanel()
        super().__init__([self._panel], state=state)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def peak(self) -> int:
        """The most inputs held at one time."""
        return self.state.chain.peak

    @property
    def recomputed(self) -> int:
        """The layers that run forward a second time."""
        return self.state.chain.recomputed

    @property
    def layers(self) -> int:
        """How many layers there are; assign another number."""
        return self.state.layers

    @layers.setter
    def layers(self, layers: int) -> None:
        self.state = self.state.with_layers(layers)

    @property
    def segments(self) -> int:
        """How many segments there are; assign another number."""
        return self.state.segments

    @segments.setter
    def segments(self, segments: int) -> None:
        self.state = self.state.with_segments(segments)

    def picture(self) -> str:
        """Return the chain as text."""
        return segment_text(self.state)

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        self._panel.view = segment_view(self.state)

    def _on_gesture(self, panel: SegmentPanel, content: dict[str, Any], _buffers: object) -> None:
        state = self.state
        change = {"layers": state.with_layers, "segments": state.with_segments}[content["gesture"]]
        with panel.hold_sync():
            self.state = change(int(content["to"]))
            panel.answered += 1
