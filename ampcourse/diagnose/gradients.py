"""What float16 flushed to zero on the way from the loss to each parameter's gradient."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.numbers_seen import listing, storage_key
from ampcourse.diagnose.op import Op
from ampcourse.diagnose.place import Place
from ampcourse.diagnose.report import GradientFlush

#: Shares from which on flushed gradients are a finding: of the values, and of their sum.
SHARE, LOST = 0.1, 1e-3

# Below this magnitude float16 has nothing but 0 (its smallest subnormal); what is larger and
# became 0 did so by cancellation, in another order of summing.
_SMALLEST = 2.0**-24


@dataclass
class _Tally:
    total: int = 0
    zeros: int = 0
    nonzero: int = 0
    flushed: int = 0
    lost: float = 0.0
    whole: float = 0.0

    def add(self, other: _Tally) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def result(self) -> GradientFlush:
        lost = self.lost / self.whole if self.whole else 0.0
        return GradientFlush(self.total, self.zeros, self.nonzero, self.flushed, lost)


class Flushes:
    """Does each backward op that gave float16 zeros again in float32 and compares."""

    def __init__(self, names: Names, findings: Findings) -> None:
        self._names = names
        self._findings = findings
        self._by_storage: dict[int, _Tally] = {}
        self._parameters: dict[str, _Tally] = {}
        self._made: list[tuple[Place, GradientFlush]] = []  # by one backward pass, in its order
        self.scale: float | None = None

    def note(self, op: Op, outputs: list[torch.Tensor]) -> None:
        """Measure an op of a backward pass; call it for no other."""
        if op.name == "_to_copy" and outputs[0].dtype is not torch.float16:
            tally = self._by_storage.get(storage_key(op.args[0]))
            if tally is not None:  # the same numbers, in a type that holds them all
                self._by_storage[storage_key(outputs[0])] = tally
            return
        half = [tensor for tensor in outputs if tensor.dtype is torch.float16]
        if not half or op.schema.mutated:
            return
        zeros = [int((tensor == 0).sum()) for tensor in half]
        again = op.repeated(torch.float32) if any(zeros) else None
        if any(zeros) and (again is None or len(again) != len(outputs)):
            return
        for i, tensor in enumerate(outputs):
            if tensor.dtype is torch.float16:
                tally = compare(tensor, again[i] if again else tensor)
                self._by_storage[storage_key(tensor)] = tally
                self._made.append((op.place, tally.result()))

    def accumulated(self, node: object, tensors: list[torch.Tensor]) -> None:
        """Note that a gradient has come to its parameter (an AccumulateGrad node runs)."""
        name = self._names.of_parameter(node.variable)  # type: ignore[attr-defined]
        for tensor in tensors:
            tally = self._by_storage.pop(storage_key(tensor), None)
            if tally is not None and name:
                self._parameters.setdefault(name, _Tally()).add(tally)

    def end_of_backward(self) -> None:
        """Judge where a backward pass lost gradients: the first place, then parameters."""
        self._by_storage.clear()
        first = next(((p, r) for p, r in self._made if r.share >= SHARE and r.lost >= LOST), None)
        self._made.clear()
        if first is None:
            return
        place, flush = first
        named = [f"{name} {r.share:.0%}" for name, r in self.parameters().items() if r.flushed]
        how = (
            "the loss not scaled by a GradScaler"
            if self.scale is None
            else f"at scale {self.scale:g}"
        )
        own = f" Of parameters' gradients: {listing(named)}." if named else ""
        self._findings.add(
            "gradient_underflow",
            place.where,
            f"Backward of {place} rounded {flush.share:.0%} of its gradient values "
            f"({flush.flushed} of {flush.nonzero} that are not 0 in float32) to 0 in float16, "
            f"{how}.{own} Whatever comes before this place in the net sees those zeros too.",
        )

    def parameters(self) -> dict[str, GradientFlush]:
        """Return what was measured for each parameter."""
        return {name: tally.result() for name, tally in self._parameters.items()}


def compare(half: torch.Tensor, wide: torch.Tensor) -> _Tally:
    """Count the zeros of a float16 result that its float32 twin does not have."""
    magnitude = wide.detach().abs().double()
    zero = half.detach() == 0
    flushed = zero & (magnitude > 0) & (magnitude < _SMALLEST)
    return _Tally(
        total=half.numel(),
        zeros=int(zero.sum()),
        nonzero=int((magnitude > 0).sum()),
        flushed=int(flushed.sum()),
        lost=float(magnitude[flushed].sum()),
        whole=float(magnitude[magnitude.isfinite()].sum()),
    )
