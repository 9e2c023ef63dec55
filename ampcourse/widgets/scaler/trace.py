"""What the scaler scrubber holds: settings, injected infs, and the steps that follow from them.

The rule itself is `ampcourse.amp.loss_scale.update`; no widget library here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from ampcourse.amp.loss_scale import LossScale, to_float32, update
from ampcourse.widgets.bits.state import number_text
from ampcourse.widgets.power_text import read_number
from ampcourse.widgets.scaler import words

MAX_STEPS = 200
MAX_INTERVAL = 20

Event = Literal["counted", "grown", "capped", "skipped"]


@dataclass(frozen=True)
class Step:
    """One training step: the scale it ran with, what was found, what it left behind."""

    number: int
    before: LossScale
    found_inf: bool
    after: LossScale
    event: Event


@dataclass(frozen=True)
class ScalerTrace:
    """Settings as typed, and the steps (counted from 1) whose gradients get an inf."""

    init_scale: str
    growth_factor: str
    backoff_factor: str
    growth_interval: int
    steps: int
    infs: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        init_scale: str | float,
        growth_factor: str | float,
        backoff_factor: str | float,
        growth_interval: int,
        steps: int,
        infs: Iterable[int],
    ) -> ScalerTrace:
        """Check the settings.

        Raises ValueError for malformed text, a scale that float32 does not have, a growth
        factor of 1 or less, a backoff factor outside 0 to 1, and counts out of range.
        """
        if not 1 <= steps <= MAX_STEPS:
            raise ValueError(words.wants_count("steps", steps, 1, MAX_STEPS))
        trace = cls("1", "2", "0.5", 1, int(steps)).with_interval(growth_interval)
        for name, given in (
            ("init_scale", init_scale),
            ("growth_factor", growth_factor),
            ("backoff_factor", backoff_factor),
        ):
            trace = trace.with_setting(name, number_text(given))
        return trace.with_infs(infs)

    def with_setting(self, name: str, text: str) -> ScalerTrace:
        """Change the first scale or a factor; raises ValueError for one that is not legal."""
        number = _number(text)
        if name == "init_scale":
            if not 0 < to_float32(number) < math.inf:
                raise ValueError(words.wants_scale(text))
            return replace(self, init_scale=text.strip())
        legal = 1 < number < math.inf if name == "growth_factor" else 0 < number < 1
        if not legal:
            raise ValueError(words.wants_factor(name, text))
        if name == "growth_factor":
            return replace(self, growth_factor=text.strip())
        return replace(self, backoff_factor=text.strip())

    def with_interval(self, growth_interval: int) -> ScalerTrace:
        """Change the growth interval; raises ValueError outside 1 to MAX_INTERVAL."""
        if not 1 <= growth_interval <= MAX_INTERVAL:
            raise ValueError(words.wants_count("growth_interval", growth_interval, 1, MAX_INTERVAL))
        return replace(self, growth_interval=int(growth_interval))

    def with_infs(self, infs: Iterable[int]) -> ScalerTrace:
        """Put infs into these steps and no other; raises ValueError for a step there is not."""
        chosen = frozenset(int(step) for step in infs)
        for step in chosen:
            if not 1 <= step <= self.steps:
                raise ValueError(words.wants_count("a step with an inf", step, 1, self.steps))
        return replace(self, infs=chosen)

    def toggled(self, step: int) -> ScalerTrace:
        """Put an inf into a step, or take it away."""
        return self.with_infs(self.infs ^ {step})

    @property
    def factors(self) -> tuple[float, float]:
        """The growth factor and the backoff factor."""
        return _number(self.growth_factor), _number(self.backoff_factor)

    @cached_property
    def history(self) -> tuple[Step, ...]:
        """Run the rule over all steps."""
        growth, backoff = self.factors
        state = LossScale(to_float32(_number(self.init_scale)))
        history = []
        for number in range(1, self.steps + 1):
            found_inf = number in self.infs
            after = update(state, found_inf, growth, backoff, self.growth_interval)
            event = self._event(state, found_inf, after)
            history.append(Step(number, state, found_inf, after, event))
            state = after
        return tuple(history)

    def _event(self, before: LossScale, found_inf: bool, after: LossScale) -> Event:
        if found_inf:
            return "skipped"
        if before.growth_tracker + 1 < self.growth_interval:
            return "counted"
        return "grown" if after.scale != before.scale else "capped"


def _number(text: str) -> float:
    value = read_number(text)
    try:
        return float(value)
    except OverflowError:  # a fraction beyond any float
        return math.inf if value > 0 else -math.inf
