"""A linear layer whose products take quantised operands, and the conversion of a model."""

from __future__ import annotations

from collections.abc import Collection

from torch import nn

from ampcourse.low_precision.recipe import Recipe


class QuantizedLinear(nn.Linear):
    """A linear layer with quantised operands and FP32 master weights.

    Attributes ``weights``, ``activations``, ``gradients`` are the three quantisers, each with
    ``history`` (AmaxHistory or None) and ``scale`` (the last one used; None for blocks).
    """

    def __init__(
        self, in_features: int, out_features: int, recipe: str | Recipe = "bf16", bias: bool = True
    ) -> None:
        raise NotImplementedError


def convert(model: nn.Module, recipe: str | Recipe, keep: Collection[str] = ()) -> nn.Module:
    """Replace every nn.Linear but those named in ``keep`` in place; weights stay. Return model."""
    raise NotImplementedError
