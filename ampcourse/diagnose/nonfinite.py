"""Which op first made an inf or NaN out of finite numbers, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import torch

from ampcourse.diagnose.names import Names
from ampcourse.diagnose.numbers_seen import (
    describe,
    dtype_name,
    is_nonfinite,
    listing,
    storage_key,
    what_is_wrong,
)
from ampcourse.diagnose.op import Op
from ampcourse.diagnose.place import Place

# These give memory as it was, which may hold anything and is written before it is read.
_UNWRITTEN = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}


@dataclass
class Origin:
    """Where an inf or NaN came from.

    ``source`` is "op" for one made from finite inputs, "constant" for one that was written or
    is a mask (nothing but -inf), "parameter" or "input" for one that was there before.
    """

    number: int
    source: str
    place: Place
    backward: bool
    text: str
    name: str = ""
    dtype: torch.dtype = torch.float32
    gave_nan: bool = False
    in_wider_too: bool = False
    from_scaling: bool = False
    became_nan: str = ""


class NonFinite:
    """Follows inf and NaN from op to op, by the memory they lie in."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._origins: dict[int, Origin] = {}
        self._numbers = count()
        self.scaling = False  # while a scaler multiplies a loss
        self.first_in_backward: Origin | None = None

    def note(self, op: Op) -> None:
        """Look at an op's outputs; find the origin of what is not finite in them."""
        if op.name in _UNWRITTEN:
            return
        outputs = op.outputs()
        bad = [tensor for tensor in outputs if is_nonfinite(tensor)]
        if bad:
            origin = self._inherited(op, bad[0]) or self._new(op, bad[0])
            for tensor in bad:
                self._origins[storage_key(tensor)] = origin
            if op.backward and self.first_in_backward is None and origin.source != "constant":
                self.first_in_backward = origin
        elif self._origins and not op.schema.mutated:
            for tensor in outputs:  # new numbers in memory that may have held others
                self._origins.pop(storage_key(tensor), None)

    def origin_of(self, tensor: torch.Tensor) -> Origin | None:
        """Return where a tensor's inf or NaN came from, if it was seen."""
        return self._origins.get(storage_key(tensor))

    def forget(self) -> None:
        """Let go of everything that was followed."""
        self._origins.clear()
        self.first_in_backward = None

    def _inherited(self, op: Op, output: torch.Tensor) -> Origin | None:
        """Return the earliest origin among an op's inputs, None if all of them are finite."""
        bad = [tensor for tensor in op.inputs() if is_nonfinite(tensor)]
        known = [self._origins.get(storage_key(tensor)) for tensor in bad]
        overwritten = [t for t in op.overwritten() if isinstance(t, torch.Tensor)]
        known += [self._origins.get(storage_key(t)) for t in overwritten]
        found = [origin for origin in known if origin is not None]
        if not found:
            return self._from_outside(op, bad[0]) if bad else None
        real = [origin for origin in found if origin.source != "constant"]
        has_nan = bool(output.isnan().any())
        if not real and has_nan and not any(bool(t.isnan().any()) for t in bad):
            return None  # a mask of -inf is meant to be there, the NaN made of it is not
        origin = min(real or found, key=lambda origin: origin.number)
        if has_nan and not origin.gave_nan and not origin.became_nan:
            origin.became_nan = f"{op.name} in {op.place}"
        return origin

    def _new(self, op: Op, output: torch.Tensor) -> Origin:
        made = f"{op.name}{' (backward)' if op.backward else ''} in {op.place}"
        inputs = listing(
            describe(tensor, self._names.of_tensor(tensor))
            for tensor in op.inputs()
            if tensor.numel() > 1 or tensor.dim()
        )
        text = f"{made} gave {what_is_wrong(output)} from finite inputs"
        constant = _writes_nonfinite(op) and not bool(output.isnan().any())
        wide = torch.float32 if output.dtype is torch.float16 else torch.float64
        again = op.repeated(wide)
        # What cannot be repeated is taken for an overflow in float16, which is common, and not
        # for one in the other types, which is not.
        unknown = output.dtype is not torch.float16
        in_wider_too = unknown if again is None else any(map(is_nonfinite, again))
        if not in_wider_too and again:
            ends = f"{dtype_name(output.dtype)} ends at {torch.finfo(output.dtype).max:.6g}"
            text += f"; {ends}, and in {dtype_name(wide)} {_largest(again)}"
        return Origin(
            number=next(self._numbers),
            source="constant" if constant else "op",
            place=op.place,
            backward=op.backward,
            text=f"{text} ({inputs})" if inputs else text,
            dtype=output.dtype,
            gave_nan=bool(output.isnan().any()),
            in_wider_too=in_wider_too,
            from_scaling=self.scaling,
        )

    def _from_outside(self, op: Op, tensor: torch.Tensor) -> Origin:
        """Make the origin of an inf or NaN that no op made while we looked."""
        name = self._names.of_tensor(tensor)
        written = not name and not bool((tensor.isnan() | (tensor == torch.inf)).any())
        what = f"parameter {name}" if name else f"a {dtype_name(tensor.dtype)} input"
        origin = Origin(
            number=next(self._numbers),
            source="parameter" if name else "constant" if written else "input",
            place=op.place,
            backward=op.backward,
            text=f"{what} of {op.name} in {op.place} had {what_is_wrong(tensor)} already",
            name=name,
            in_wider_too=True,
        )
        self._origins[storage_key(tensor)] = origin
        return origin


def _writes_nonfinite(op: Op) -> bool:
    """Return whether inf or NaN is among the op's number arguments, as in masked_fill(-inf)."""
    numbers = [*op.args, *op.kwargs.values()]
    return any(isinstance(n, float) and n - n != 0 for n in numbers) or (
        op.name in ("scalar_tensor", "lift_fresh", "lift_fresh_copy")
    )


def _largest(tensors: list[torch.Tensor]) -> str:
    largest = max((t.abs().max().item() for t in tensors if t.numel()), default=0.0)
    return f"it is {largest:.6g}"
