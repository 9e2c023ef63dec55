"""Which ops ran in which types, how often weights were cast, and eps that vanish in a type."""

from __future__ import annotations

import math
from collections import Counter

import torch

from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.numbers_seen import dtype_name
from ampcourse.diagnose.op import Op

# A parameter may be cast for its forward and, by checkpointing, for its recomputation; a second
# model or a penalty may add one. More casts than this for one backward are a cache not used.
MOST_CASTS = 3


class OpTypes:
    """Counts ops by their types and casts by weight."""

    def __init__(self, names: Names, findings: Findings) -> None:
        self._names = names
        self._findings = findings
        self.counts: Counter[tuple[str, str]] = Counter()
        self.weight_casts: Counter[str] = Counter()
        self._casts_for_backward: Counter[str] = Counter()
        self._cast_at: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._outputs: Counter[torch.dtype] = Counter()

    def note(self, op: Op, outputs: list[torch.Tensor]) -> None:
        """Count an op, and a weight if the op casts one."""
        inputs = sorted({dtype_name(tensor.dtype) for tensor in op.inputs()})
        given = ", ".join(inputs) or "no float"
        self.counts[op.name, f"{given} -> {dtype_name(outputs[0].dtype)}"] += 1
        if not op.backward:
            self._outputs[outputs[0].dtype] += 1
        if op.name == "_to_copy" and isinstance(op.args[0], torch.Tensor):
            self._note_cast(op, op.args[0], outputs[0])

    def only_bfloat16(self) -> bool:
        """Return whether the forward ops since the last call made bfloat16 and no float16."""
        seen, self._outputs = self._outputs, Counter()
        return seen[torch.bfloat16] > 0 and seen[torch.float16] == 0

    def end_of_backward(self) -> None:
        """Judge the casts that led to a backward pass, and begin to count anew."""
        if self._casts_for_backward:
            most = max(self._casts_for_backward.values())
            often = [name for name, times in self._casts_for_backward.items() if times == most]
            name = max(often, key=lambda name: self._sizes[name])
            if most > MOST_CASTS:
                self._findings.add(
                    "repeated_weight_casts",
                    name,
                    f"{name} was cast {most} times for one backward pass, last in "
                    f"{self._cast_at[name]}.",
                )
        self._casts_for_backward.clear()

    def _note_cast(self, op: Op, weight: torch.Tensor, output: torch.Tensor) -> None:
        name = self._names.of_parameter(weight)
        if not name or weight.dtype == output.dtype:
            return
        self.weight_casts[name] += 1
        self._names.add_cast(output, name)
        if op.training and not op.backward:
            self._casts_for_backward[name] += 1
            self._cast_at[name] = str(op.place)
            self._sizes[name] = weight.numel()


# Op → the index of the number that is meant to keep a result away from 0.
_EPS_AT = {"add": 1, "add_": 1, "clamp": 1, "clamp_": 1, "clamp_min": 1, "clamp_min_": 1}
_NORMS = {"native_layer_norm", "native_batch_norm", "native_group_norm", "_native_batch_norm_legit"}


class VanishingEps:
    """Looks for small constants that become 0, or whose inverse root overflows, in their type."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def note(self, op: Op, outputs: list[torch.Tensor]) -> None:
        """Look at an op's constants."""
        dtype = outputs[0].dtype
        if dtype is not torch.float16 or op.backward:
            return
        if op.name in _EPS_AT:
            index = _EPS_AT[op.name]
            eps = op.args[index] if len(op.args) > index else op.kwargs.get("min")
            if isinstance(eps, torch.Tensor) and not eps.dim() and eps.is_floating_point():
                eps = eps.item()
            if isinstance(eps, float) and vanishes(eps, dtype):
                self._findings.add(
                    "vanishing_eps",
                    op.place.where,
                    f"{op.name} in {op.place} works in float16, where {eps:g} rounds to 0: "
                    "nothing is kept away from 0 any more.",
                )
        elif op.name in _NORMS:
            self._note_norm(op, outputs)

    def _note_norm(self, op: Op, outputs: list[torch.Tensor]) -> None:
        """A norm adds eps in float32, but may hand 1/sqrt(var + eps) to backward in float16."""
        eps = op.args[-1]
        half = outputs[-1].dtype is torch.float16
        if half and isinstance(eps, float) and eps > 0 and eps**-0.5 > 65504:
            self._findings.add(
                "vanishing_eps",
                op.place.where,
                f"{op.name} in {op.place} has eps = {eps:g} and keeps 1/sqrt(var + eps) in "
                f"float16: where the variance is 0 that is {eps**-0.5:.4g}, beyond 65504.",
            )


def vanishes(eps: float, dtype: torch.dtype) -> bool:
    """Return whether a number that is not 0 becomes 0 in a type (IEEE 754-2019, 4.3.1).

    >>> vanishes(1e-8, torch.float16), vanishes(1e-7, torch.float16)
    (True, False)
    """
    return eps != 0 and math.isfinite(eps) and torch.tensor(eps, dtype=dtype).item() == 0
