"""The two moments of a training step at which most memory is held, and the batch that fits.

When the forward pass ends, all activations are there and no gradient is; when the optimizer steps,
it is the other way round. The larger of the two is a lower bound of the peak: in the backward pass
between them some of both are held, and gradients of activations are. What kernels work in, the
input and fragments come on top: `peak.predict` and a measurement have more of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ampcourse.memory.ledger import Assumptions, Ledger

FORWARD, STEP = "end of the forward pass", "optimizer's step"


@dataclass(frozen=True)
class Workload:
    """A model: its parameters, and the bytes that one sample leaves for the backward pass.

    `fp32` bytes where the layers compute in FP32, `half` under autocast or with 16-bit weights.
    """

    name: str
    parameters: int
    fp32: int
    half: int

    def __post_init__(self) -> None:
        for name in ("parameters", "fp32", "half"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} cannot be; give 0 or more")

    def per_sample(self, assumed: Assumptions) -> int:
        """Return the bytes of one sample's activations under these assumptions."""
        return self.half if assumed.casts or assumed.weights == "half" else self.fp32


_LAYERS, _WIDTH = 8, 4096

#: Workloads of the ledger widget. ResNet50's bytes are what `SavedTensors` finds for one more image
#: of 3 x 224 x 224, in FP32 and under autocast; a test takes them again. The perceptron is eight
#: square linear layers of width 4096, each with a ReLU, whose output the next layer shares.
WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {
        "resnet50": Workload("ResNet50, 224 px", 25_557_032, 85_909_504, 43_757_568),
        "perceptron": Workload(
            "perceptron, 8 × 4096",
            _LAYERS * (_WIDTH * _WIDTH + _WIDTH),
            4 * (_LAYERS + 1) * _WIDTH,
            2 * (_LAYERS + 1) * _WIDTH,
        ),
    }
)


@dataclass(frozen=True)
class Moment:
    """What is held at one moment, in bytes by use; uses that are not there have no entry."""

    name: str
    bytes: Mapping[str, int]

    @property
    def total(self) -> int:
        """The bytes held at this moment."""
        return sum(self.bytes.values())


def moments(ledger: Ledger, workload: Workload, batch: int) -> tuple[Moment, Moment]:
    """Return what is held at the end of the forward pass, and when the optimizer steps.

    Raises ValueError for a batch below 1.

    >>> from ampcourse.memory import ledger
    >>> end, step = moments(ledger("adam", "fp32"), WORKLOADS["perceptron"], 1)
    >>> end.bytes["activations"], "activations" in step.bytes
    (147456, False)
    """
    if batch < 1:
        raise ValueError(f"batch={batch} cannot be trained on; give 1 or more")
    rows, count = ledger.rows, workload.parameters
    end = {row.what: row.bytes * count for row in rows if not row.is_gradient}
    end["activations"] = workload.per_sample(ledger.assumptions) * batch
    step = {row.what: row.bytes * count for row in rows if not row.passing}
    return Moment(FORWARD, end), Moment(STEP, step)


def peak(ledger: Ledger, workload: Workload, batch: int) -> Moment:
    """Return the moment at which more is held; ValueError as for `moments`."""
    return max(moments(ledger, workload, batch), key=lambda moment: moment.total)


def largest_batch(ledger: Ledger, workload: Workload, limit: int) -> int:
    """Return the largest batch whose peak is at most `limit` bytes, 0 if not even one fits.

    Raises ValueError for a workload whose samples take no memory.
    """
    each = workload.per_sample(ledger.assumptions)
    if each == 0:
        raise ValueError(f"samples of {workload.name} take 0 bytes: any batch would fit")
    if ledger.kept * workload.parameters > limit:
        return 0
    return max(0, (limit - ledger.forward * workload.parameters) // each)
