"""The block FMA widget: one block of a Tensor Core's dot product taken apart, stage by stage.

Python holds the numbers and works out every bit; the panel sends gestures and draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ampcourse.tensor_core.configurations import GPU_NAMES
from ampcourse.widgets import numerals
from ampcourse.widgets.block import words
from ampcourse.widgets.block.chain import Chain, chain, every_gpu
from ampcourse.widgets.block.picture import BlockPicture
from ampcourse.widgets.block.state import BlockState, Entry, formats_of
from ampcourse.widgets.block.values import value
from ampcourse.widgets.front_end import PictureBox, anywidget, refusal, static, traitlets

_INPUTS = ("fp16", "bf16", "tf32", "e4m3", "e5m2")
_OUTPUTS = ("fp32", "fp16")
_STAGES = tuple(words.STAGES)

_GESTURES: dict[str, Callable[[BlockState, dict[str, Any]], BlockState]] = {
    "gpu": lambda state, to: state.with_gpu(str(to["to"])),
    "input": lambda state, to: state.with_formats(str(to["to"]), state.output_format),
    "output": lambda state, to: state.with_formats(state.input_format, str(to["to"])),
    "preset": lambda state, to: state.with_preset(str(to["to"])),
    "number": lambda state, to: state.with_number(str(to["field"]), str(to["text"])),
    "place": lambda state, to: state.moved(int(str(to["field"])[1:]), str(to["text"])),
    "add": lambda state, to: state.added(),
    "remove": lambda state, to: state.removed(int(to["place"])),
}


class BlockPanel(anywidget.AnyWidget):
    """The drawn part: selectors, numbers, stages and the grid of bits."""

    _esm = static("dom.js", "controls.js", "number_input.js", "block_fma.js")
    _css = static("theme.css", "controls.css", "block_fma.css")
    labels = traitlets.Dict(words.BLOCK_LABELS).tag(sync=True)
    stages: traitlets.List[Any] = traitlets.List(list(words.STAGES.values())).tag(sync=True)
    presets: traitlets.List[Any] = traitlets.List(
        [[key, label] for key, label in words.PRESETS.items()]
    ).tag(sync=True)
    #: What the selectors show: options with their state, title, evidence, note.
    setup = traitlets.Dict().tag(sync=True)
    #: The numbers as typed, with what each became.
    numbers = traitlets.Dict().tag(sync=True)
    blocks: traitlets.List[Any] = traitlets.List().tag(sync=True)
    every: traitlets.List[Any] = traitlets.List().tag(sync=True)
    #: Stages of all blocks in a row: block × 6 + stage.
    step = traitlets.Int(0).tag(sync=True)
    #: What was refused last and in which field; empty after a gesture that worked.
    problem = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class BlockFMA(PictureBox):
    """A dot product of the learner's numbers on a Tensor Core, taken apart.

    `gpu`, `result` and `correctly_rounded` read the state back, `stage` and `block` say what
    is drawn; `gpu` and `stage` can be assigned. Observe the trait `state` to follow changes.
    """

    state = traitlets.Instance(BlockState)

    def __init__(
        self,
        a: Sequence[str | float],
        b: Sequence[str | float],
        c: str | float,
        gpu: str,
        input_format: str,
        output_format: str,
    ) -> None:
        state = BlockState.of(a, b, c, gpu, input_format, output_format)
        self._chain = chain(state)
        self._panel = BlockPanel()
        super().__init__([self._panel], state=state)
        self.add_class("amp-explorer")
        self._panel.on_msg(self._on_gesture)

    @property
    def gpu(self) -> str:
        """The GPU; assign another of `GPU_NAMES`."""
        return self.state.gpu

    @gpu.setter
    def gpu(self, gpu: str) -> None:
        self.state = self.state.with_gpu(gpu)

    @property
    def chain(self) -> Chain:
        """The blocks taken apart."""
        return self._chain

    @property
    def result(self) -> float:
        """What the GPU gives."""
        return self._chain.result

    @property
    def correctly_rounded(self) -> float:
        """The exact sum rounded once."""
        return self._chain.rounded

    @property
    def block(self) -> int:
        """Which block is drawn, counted from 0."""
        return int(self._panel.step) // len(_STAGES)

    @property
    def stage(self) -> str:
        """Which stage is drawn; assign another of "products" to "rounding"."""
        return _STAGES[int(self._panel.step) % len(_STAGES)]

    @stage.setter
    def stage(self, stage: str) -> None:
        if stage not in _STAGES:
            raise ValueError(f"there is no stage {stage!r}; there is {', '.join(_STAGES)}")
        self._panel.step = self.block * len(_STAGES) + _STAGES.index(stage)

    def picture(self) -> str:
        """Return the blocks as text."""
        lines = [numerals.plain(self._title())]
        for picture in self._pictures():
            lines += picture.text()
        return "\n".join(lines)

    def _title(self) -> str:
        rule = self.state.configuration
        names = (rule.gpu, rule.input_format, rule.output_format)
        return words.title(*names, rule.block_length, rule.fraction_bits)

    def _pictures(self) -> list[BlockPicture]:
        return [BlockPicture(self._chain, i) for i in range(len(self._chain.blocks))]

    @traitlets.observe("state")
    def _on_state(self, _change: object) -> None:
        state, panel = self.state, self._panel
        self._chain = chain(state)
        pictures = self._pictures()
        with panel.hold_sync():
            panel.setup = self._setup()
            panel.numbers = _numbers(state)
            panel.blocks = [picture.as_data() for picture in pictures]
            panel.every = [
                [", ".join(names), value(result), state.gpu in names]
                for names, result in every_gpu(state)
            ]
            # A shorter chain keeps the stage.
            panel.step = min(self.block, len(pictures) - 1) * len(_STAGES) + (
                panel.step % len(_STAGES)
            )
            panel.problem = {}

    def _setup(self) -> dict[str, Any]:
        state = self.state
        pairs = formats_of(state.gpu)
        inputs = {pair[0] for pair in pairs}
        outputs = {pair[1] for pair in pairs if pair[0] == state.input_format}
        return {
            "gpu": [[name, name == state.gpu, True] for name in GPU_NAMES],
            "input": [[name, name == state.input_format, name in inputs] for name in _INPUTS],
            "output": [[name, name == state.output_format, name in outputs] for name in _OUTPUTS],
            "title": self._title(),
            "evidence": words.evidence(state.configuration.evidence),
            "note": state.note,
        }

    def _on_gesture(self, _panel: object, content: dict[str, Any], _buffers: object) -> None:
        panel = self._panel
        with panel.hold_sync():
            panel.problem = {}
            try:
                self.state = _GESTURES[content["gesture"]](self.state, content)
            except ValueError as error:
                told = refusal(str(content.get("text", "")), error)
                panel.problem = {**told, "field": str(content.get("field", ""))}
            panel.answered += 1


def _numbers(state: BlockState) -> dict[str, Any]:
    terms = [
        {
            "place": term.place,
            "a": term.a,
            "b": term.b,
            "notes": [*_notes(state, f"a{term.place}"), *_notes(state, f"b{term.place}")],
        }
        for term in state.terms
    ]
    return {"terms": terms, "c": {"text": state.c, "notes": _notes(state, "c")}}


def _notes(state: BlockState, field: str) -> list[str]:
    entry: Entry = state.entry(field)
    if entry.exact:
        return []
    became = numerals.typeset(numerals.shorten(numerals.exact(entry.value)))
    return [words.became(entry.text, entry.format, became)]
