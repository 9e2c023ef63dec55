"""What a watched run leaves behind: findings first, then the numbers they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ampcourse.diagnose.finding import Finding


@dataclass(frozen=True)
class GradientFlush:
    """What FP16 did to the gradient of one parameter, summed over the backward passes.

    ``flushed`` values are 0 in the float16 gradient and not 0 when the op that made it is done
    again in float32 from the same inputs: measured. Zeros that came in with those inputs are
    not in it; look for the place upstream. ``lost`` is the flushed values' share of the sum of
    magnitudes.
    """

    total: int
    zeros: int
    nonzero: int
    flushed: int
    lost: float = 0.0

    @property
    def share(self) -> float:
        """The share, of the values that are not 0 in float32, that float16 made 0."""
        return self.flushed / self.nonzero if self.nonzero else 0.0


@dataclass(frozen=True)
class Report:
    """Findings, and what ran: immutable, and readable as text.

    ==============  ==================================================================
    findings        what is wrong, in the order seen; empty for a clean run
    op_types        (op, types) → how often, e.g. ("addmm", "float16 -> float16")
    weight_casts    parameter → how often it was cast to another floating-point type
    gradients       parameter → GradientFlush, where its gradient was made in float16
    steps, skipped  optimizer steps asked for; those of them a scaler skipped
    notes           what is worth knowing and no fault
    error           the exception that ended the run, as text, or ""
    ==============  ==================================================================
    """

    findings: tuple[Finding, ...]
    op_types: Mapping[tuple[str, str], int] = field(default_factory=dict)
    weight_casts: Mapping[str, int] = field(default_factory=dict)
    gradients: Mapping[str, GradientFlush] = field(default_factory=dict)
    steps: int = 0
    skipped: int = 0
    notes: tuple[str, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        count = len(self.findings)
        head = f"{count} finding{'' if count == 1 else 's'}" if count else "No findings"
        ran = f"{head} in {self.steps} optimizer step{'' if self.steps == 1 else 's'}"
        if self.skipped:
            ran += f", {self.skipped} of them skipped by the scaler"
        blocks = [ran + ".", *(f"{i}. {text}" for i, text in enumerate(self.findings, 1))]
        if self.notes:
            blocks.append("\n".join(f"Note: {note}" for note in self.notes))
        if self.error:
            blocks.append(f"The run ended with {self.error}")
        return "\n\n".join([*blocks, *self.gradients_text(), self.types_text()])

    def gradients_text(self, most: int = 8) -> list[str]:
        """Return the share of each float16 gradient that was flushed, as no text or one."""
        if not self.gradients:
            return []
        rows = sorted(self.gradients.items(), key=lambda row: -row[1].share)
        rows = [(name, flush) for name, flush in rows if flush.flushed]
        if not rows:
            return [f"Flushed to 0: nothing, in {len(self.gradients)} gradients made in float16."]
        lines = [
            f"  {flush.share:7.2%} {name}: {flush.flushed} of {flush.nonzero} values"
            for name, flush in rows[:most]
        ]
        if len(rows) > most:
            lines.append(f"          and {len(rows) - most} more (report.gradients)")
        return ["Flushed to 0 in float16, of gradient values not 0:\n" + "\n".join(lines)]

    def types_text(self, most: int = 12) -> str:
        """Return the commonest ops with their types, and the casts of weights, as text."""
        rows = sorted(self.op_types.items(), key=lambda row: -row[1])
        lines = [f"  {n:>7} × {op}: {types}" for (op, types), n in rows[:most]]
        if len(rows) > most:
            lines.append(f"          and {len(rows) - most} more kinds (report.op_types)")
        text = "Ops and their types:\n" + "\n".join(lines) if lines else "No ops were seen."
        casts = sum(self.weight_casts.values())
        if casts:
            text += f"\nWeights were cast {casts} times, {len(self.weight_casts)} different ones."
        return text
