"""One histogram under the window of one format at one loss scale; no widget library here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ampcourse.dynamic_range import (
    ExponentHistogram,
    RangeReport,
    ScaledView,
    headroom,
    range_report,
    scaled_view,
)
from ampcourse.formats import FloatFormat, get_format
from ampcourse.widgets.window import words
from ampcourse.widgets.window.recording import LARGEST_SHIFT, Recording


@dataclass(frozen=True)
class WindowState:
    """What is looked at: a step and a layer of a recording, a format and a loss scale 2^shift."""

    recording: Recording
    step: int
    layer: str
    format: FloatFormat
    shift: int = 0
    height: str = "share"

    @classmethod
    def of(cls, histograms: Any, fmt: str | FloatFormat, scale: float) -> WindowState:
        """Look at the first layer of the last step.

        Raises as Recording.of does, and ValueError for an unknown format and for a scale that
        is no power of two from 1 to 2^24.
        """
        recording = Recording.of(histograms)
        last = max(recording.steps)
        state = cls(recording, last, next(iter(recording.steps[last])), get_format(fmt))
        state = state.with_scale(scale)
        _ = state.report  # raises for a format without zero
        return state

    def with_recording(self, recording: Recording) -> WindowState:
        """Look at other counts; at the last step if the last one was shown, else at the same."""
        followed = self.step == max(self.recording.steps)
        step = self.step if self.step in recording.steps and not followed else max(recording.steps)
        layers = recording.steps[step]
        layer = self.layer if self.layer in layers else next(iter(layers))
        return replace(self, recording=recording, step=step, layer=layer)

    def with_layer(self, layer: str) -> WindowState:
        """Look at another layer; raises ValueError if there is none of that name."""
        if layer not in self.layers:
            raise ValueError(words.wants_one_of("layer", layer, list(self.layers)))
        return replace(self, layer=layer)

    def with_step(self, step: int) -> WindowState:
        """Look at another step; raises ValueError if it was not recorded."""
        if step not in self.recording.steps:
            known = [str(number) for number in self.recording.steps]
            raise ValueError(words.wants_one_of("step", step, known))
        layers = self.recording.steps[step]
        layer = self.layer if self.layer in layers else next(iter(layers))
        return replace(self, step=step, layer=layer)

    def with_format(self, fmt: str | FloatFormat) -> WindowState:
        """Look through another format."""
        return replace(self, format=get_format(fmt))

    def with_shift(self, shift: int) -> WindowState:
        """Take the loss scale 2^shift, brought into 2^0 to 2^24."""
        return replace(self, shift=min(max(shift, 0), LARGEST_SHIFT))

    def with_scale(self, scale: float) -> WindowState:
        """Take a loss scale; raises ValueError unless it is a power of two from 1 to 2^24."""
        for shift in range(LARGEST_SHIFT + 1):
            if scale == 2**shift:
                return self.with_shift(shift)
        raise ValueError(words.wants_shift(scale))

    def with_height(self, height: str) -> WindowState:
        """Draw the bars by their share or by the logarithm of their count."""
        if height not in words.HEIGHTS:
            raise ValueError(words.wants_one_of("bar height", height, list(words.HEIGHTS)))
        return replace(self, height=height)

    @property
    def layers(self) -> dict[str, ExponentHistogram]:
        """The histograms of this step by layer."""
        return self.recording.steps[self.step]

    @property
    def histogram(self) -> ExponentHistogram:
        """The counts that are shown."""
        return self.layers[self.layer]

    @cached_property
    def view(self) -> ScaledView:
        """The bars after scaling and what is flushed of each."""
        return scaled_view(self.histogram, self.format, 2.0**self.shift)

    @cached_property
    def report(self) -> RangeReport:
        """How many values end in which class."""
        return range_report(self.histogram, self.format, 2.0**self.shift)

    @cached_property
    def headroom(self) -> int | None:
        """How often the scaled values can be doubled; None if all of them are zero."""
        if not self.histogram.largest:
            return None
        return headroom(self.histogram, self.format, 2.0**self.shift)
