"""One comparison of a baseline with mixed precision, and all one must know to believe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

#: published: read at the source of whoever measured it. quoted: repeated from a text whose
#: measurement cannot be looked up. measured: by a command of this course on a named machine.
KINDS = ("published", "quoted", "measured")

#: Units of time, where less is faster, and of throughput, where more is.
TIMES = ("ms/step", "s", "min")
THROUGHPUTS = ("images/s", "relative")


@dataclass(frozen=True)
class Measurement:
    """One training run: the arithmetic it used, its speed, and what else is known of it.

    `precision` is the arithmetic of matrix products and convolutions: "fp32", "tf32", "fp16"
    or "bf16". `value` is in the unit of the Result. None stands for what was not reported.
    """

    precision: str
    value: float
    memory_mb: float | None = None
    accuracy: float | None = None

    def __post_init__(self) -> None:
        for name in ("value", "memory_mb"):
            number = getattr(self, name)
            if number is not None and not number > 0:
                raise ValueError(f"{name}={number!r} of a {self.precision} run must be above 0")


@dataclass(frozen=True)
class Result:
    """A baseline and a mixed-precision run of the same training on the same hardware.

    `baseline_inferred` says that nobody reported whether the baseline ran in FP32 or in TF32 and
    that we concluded it; `doubt` says why the numbers are not to be believed, if they are not.
    Raises ValueError for an unknown kind or unit and for an empty task, hardware, date or source.
    """

    task: str
    hardware: str
    kind: str
    unit: str
    baseline: Measurement
    amp: Measurement
    date: str
    source: str
    driver: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    baseline_inferred: bool = False
    doubt: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind={self.kind!r} is unknown; choose from {', '.join(KINDS)}")
        if self.unit not in TIMES + THROUGHPUTS:
            known = ", ".join(TIMES + THROUGHPUTS)
            raise ValueError(f"unit={self.unit!r} is unknown; choose from {known}")
        for name in ("task", "hardware", "date", "source"):
            if not getattr(self, name).strip():
                raise ValueError(f"a result without {name} cannot be believed; say what it was")

    @property
    def name(self) -> str:
        """The hardware, and the tool if it was not torch.amp: two rows must not look the same."""
        return ", ".join([self.hardware, *([self.flags["amp"]] if "amp" in self.flags else [])])

    @property
    def baseline_name(self) -> str:
        """The arithmetic of the baseline, with a question mark where it is our inference."""
        return self.baseline.precision.upper() + "?" * self.baseline_inferred

    @property
    def speedup(self) -> float:
        """How many times as fast as the baseline mixed precision was; below 1 it was slower."""
        if self.unit in TIMES:
            return self.baseline.value / self.amp.value
        return self.amp.value / self.baseline.value

    @property
    def memory_change(self) -> float | None:
        """Peak memory of the mixed-precision run against the baseline, -0.3 for 30 % less."""
        if self.baseline.memory_mb is None or self.amp.memory_mb is None:
            return None
        return self.amp.memory_mb / self.baseline.memory_mb - 1

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON data, without the fields that are empty."""
        data = asdict(self)
        for name in ("baseline", "amp"):
            data[name] = {k: v for k, v in data[name].items() if v is not None}
        return {k: v for k, v in data.items() if v not in (None, "", {}, False)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """Return the record that `to_json` wrote; the inverse of it."""
        runs = {name: Measurement(**data[name]) for name in ("baseline", "amp")}
        return cls(**{**data, **runs})
