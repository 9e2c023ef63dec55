"""What a layer keeps for one of its operands: the format, and the history of its scale."""

from __future__ import annotations

import torch

from ampcourse.blocks import BlockScheme
from ampcourse.low_precision.amax import AmaxHistory, scale_for
from ampcourse.low_precision.fake_quantization import amax_of, fake_quantize
from ampcourse.low_precision.recipe import Recipe, operand_format


class Quantizer:
    """Rounds one operand of a layer, for the two products that it takes part in.

    ``history`` is an AmaxHistory under delayed scaling, else None; ``scale`` is the scale that
    was used last, None for formats that take none for the whole tensor.
    """

    def __init__(self, fmt: str | None, recipe: Recipe, mode: str = "nearest_even") -> None:
        self.fmt = fmt
        self.mode = mode
        self.margin = recipe.margin
        target = operand_format(fmt)
        self.scheme = target if isinstance(target, BlockScheme) else None
        self.per_block = self.scheme is not None and self.scheme.block is not None
        self.per_tensor = self.scheme is not None and self.scheme.block is None
        delayed = recipe.scaling == "delayed" and self.per_tensor
        self.history = AmaxHistory(recipe.history) if delayed else None
        self.scale: float | None = None

    def __repr__(self) -> str:
        return f"Quantizer({self.fmt or 'bf16'}, scale={self.scale}, history={self.history})"

    def pair(
        self, x: torch.Tensor, first: bool = True, second: bool = True, record: bool = True
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return a matrix rounded for a sum along its last axis, and for one along its first.

        A block must lie along the axis that a product sums over, so that its scale can be
        multiplied in once per block: block formats round the same numbers twice, others once.
        ``first`` and ``second`` say which are needed (None otherwise), ``record`` whether the
        amax enters the history.
        """
        if self.per_block:
            return (
                self._rounded(x, -1) if first else None,
                self._rounded(x, 0) if second else None,
            )
        if self.per_tensor:
            self._choose_scale(x, record)
        both = self._rounded(x, -1) if first or second else None
        return (both if first else None, both if second else None)

    def _rounded(self, x: torch.Tensor, axis: int) -> torch.Tensor:
        return fake_quantize(x, self.fmt, axis, scale=self.scale, mode=self.mode)

    def _choose_scale(self, x: torch.Tensor, record: bool) -> None:
        assert self.scheme is not None
        amax = amax_of(x)
        if self.history is None:
            self.scale = scale_for(amax, self.scheme.element, self.margin)
            return
        self.scale = self.history.scale(self.scheme.element, self.margin)
        if record:
            self.history.push(amax)
