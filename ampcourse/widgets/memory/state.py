"""The states of the memory widgets: what is chosen, checked, without a widget library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ampcourse.memory.division import EqualLayers, best_segments
from ampcourse.memory.ledger import RECIPES, STATE, Assumptions, Ledger, ledger
from ampcourse.memory.moments import WORKLOADS, Moment, Workload, moments
from ampcourse.widgets.memory import words

MAX_EXPONENT = 12
MAX_LAYERS = 100
#: The assumptions that are a type rather than there or not there.
_TYPES = ("weights", "gradients", "state")


@dataclass(frozen=True)
class LedgerState:
    """A model, an optimizer, assumptions and a batch.

    Raises ValueError for what does not exist and for masters of FP32 weights.
    """

    workload: str
    optimizer: str
    assumptions: Assumptions
    batch: int
    workloads: dict[str, Workload] = field(default_factory=lambda: dict(WORKLOADS))

    def __post_init__(self) -> None:
        _check("model", self.workload, tuple(self.workloads))
        _check("optimizer", self.optimizer, tuple(STATE))
        if self.batch not in [2**e for e in range(MAX_EXPONENT + 1)]:
            most = words.LEGAL_BATCH.format(2**MAX_EXPONENT)
            raise ValueError(f"batch={self.batch}: {most}")
        assumed = self.assumptions
        if assumed.weights == "fp32" and (assumed.master_weights or assumed.master_gradients):
            raise ValueError(words.MASTERS_OF_FP32)

    @property
    def ledger(self) -> Ledger:
        """The bytes of each parameter."""
        return ledger(self.optimizer, self.assumptions)

    @property
    def recipe(self) -> str:
        """The recipe that these assumptions are, or "own"."""
        names = [name for name, assumed in RECIPES.items() if assumed == self.assumptions]
        return names[0] if names else words.OWN_RECIPE

    @property
    def moments(self) -> tuple[Moment, Moment]:
        """What is held at the end of the forward pass, and when the optimizer steps."""
        return moments(self.ledger, self.workloads[self.workload], self.batch)

    @property
    def reference(self) -> int:
        """The peak in FP32 with the same model, optimizer and batch."""
        return max(moment.total for moment in self.with_recipe("fp32").moments)

    def with_workload(self, workload: str) -> LedgerState:
        """Choose another model."""
        return replace(self, workload=workload)

    def with_optimizer(self, optimizer: str) -> LedgerState:
        """Choose another optimizer."""
        return replace(self, optimizer=optimizer)

    def with_recipe(self, recipe: str) -> LedgerState:
        """Take a recipe's assumptions."""
        _check("recipe", recipe, tuple(RECIPES))
        return replace(self, assumptions=RECIPES[recipe])

    def with_batch(self, batch: int) -> LedgerState:
        """Choose another batch, a power of two."""
        return replace(self, batch=int(batch))

    def toggled(self, name: str) -> LedgerState:
        """Turn one assumption into its opposite."""
        _check("assumption", name, tuple(words.TOGGLES))
        value: object = not is_on(self.assumptions, name)
        if name in _TYPES:
            value = "half" if value else "fp32"
        changed = replace(self.assumptions, **{name: value})  # type: ignore[arg-type]
        return replace(self, assumptions=changed)


def is_on(assumed: Assumptions, name: str) -> bool:
    """Return whether an assumption is there, for a type whether it has 16 bits."""
    value = getattr(assumed, name)
    return value == "half" if name in _TYPES else bool(value)


@dataclass(frozen=True)
class SegmentState:
    """A chain of equal layers, in segments; raises ValueError for numbers there are not."""

    layers: int
    segments: int

    def __post_init__(self) -> None:
        if not 1 <= self.layers <= MAX_LAYERS:
            raise ValueError(words.layers(self.layers, MAX_LAYERS))
        EqualLayers(self.layers, self.segments)

    @property
    def chain(self) -> EqualLayers:
        """What this division holds and recomputes."""
        return EqualLayers(self.layers, self.segments)

    @property
    def peaks(self) -> list[int]:
        """The inputs held at most, for one segment to one per layer."""
        return [EqualLayers(self.layers, k).peak for k in range(1, self.layers + 1)]

    @property
    def best(self) -> list[int]:
        """The numbers of segments with which least is held; √n is among them."""
        peaks = self.peaks
        return [k for k, peak in enumerate(peaks, 1) if peak == min(peaks)]

    def with_layers(self, layers: int) -> SegmentState:
        """Change the number of layers; as many segments as before, as far as that is possible."""
        return SegmentState(int(layers), max(1, min(self.segments, int(layers))))

    def with_segments(self, segments: int) -> SegmentState:
        """Change the number of segments."""
        return SegmentState(self.layers, int(segments))

    @classmethod
    def best_of(cls, layers: int) -> SegmentState:
        """Divide the layers into √n segments, rounded; ValueError for no layers."""
        return cls(layers, best_segments(layers))


def _check(what: str, value: str, legal: Sequence[str]) -> None:
    if value not in legal:
        raise ValueError(words.unknown(what, value, legal))
