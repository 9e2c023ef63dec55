"""A linear layer whose products take quantised operands, and the conversion of a model."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from ampcourse.low_precision.quantizer import Quantizer
from ampcourse.low_precision.recipe import Recipe, get_recipe


class _Products(torch.autograd.Function):
    """The three products of a linear layer: y = x W^T + b, dx = dy W, dW = dy^T x.

    Each operand takes part in two of them, which sum over different axes: x over the features
    in y and over the tokens in dW, W over the inputs in y and over the outputs in dx, dy over
    the outputs in dx and over the tokens in dW.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        layer: QuantizedLinear,
    ) -> torch.Tensor:
        """Round what the forward product takes, and keep what the backward ones will."""
        needs_x, needs_weight = ctx.needs_input_grad[:2]
        rows, columns = layer.activations.pair(x, True, needs_weight, layer.training)
        inputs, outputs = layer.weights.pair(weight, True, needs_x, layer.training)
        ctx.save_for_backward(columns, outputs)
        ctx.layer = layer
        with torch.autocast(x.device.type, enabled=False):  # which would sum in 16 bits
            return functional.linear(rows, inputs, bias)

    @staticmethod
    @once_differentiable  # a gradient of the gradient would pass by what was rounded
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Round the gradient and multiply it with the kept operands; the bias sums it as it is."""
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias, _ = ctx.needs_input_grad
        layer = ctx.layer
        rows, columns = layer.gradients.pair(gradient, needs_x, needs_weight, layer.training)
        with torch.autocast(gradient.device.type, enabled=False):
            return (
                rows.mm(weight) if needs_x else None,
                columns.t().mm(x) if needs_weight else None,
                gradient.sum(0) if needs_bias else None,
                None,
            )


class QuantizedLinear(nn.Linear):
    """A linear layer with quantised operands, FP32 sums and FP32 master weights.

    ``weight`` and ``bias`` are FP32 parameters, which an optimizer updates as ever; what is
    multiplied are copies rounded by the recipe: activations and weights forward, gradients
    backward. Block formats lie along the axis that the product sums over, so that each matrix is
    rounded twice. Results, bias and parameter gradients stay in FP32. With the recipe "fp32"
    nothing is rounded and the layer is nn.Linear.

    ``activations``, ``weights`` and ``gradients`` are the layer's Quantizers; under delayed
    scaling each holds a history, which grows in training mode only, starts empty and is not
    part of state_dict. Takes FP32, BF16 or FP16 input of shape (..., in_features), also under
    autocast; what comes out is FP32, and has one derivative, not two. Raises ValueError for an
    unknown recipe, TypeError for input of another type.

    >>> layer = QuantizedLinear(32, 8, "mxfp4")
    >>> layer(torch.ones(4, 32)).shape, layer.weight.dtype
    (torch.Size([4, 8]), torch.float32)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        recipe: str | Recipe = "bf16",
        bias: bool = True,
    ) -> None:
        super().__init__(in_features, out_features, bias)
        self.recipe = get_recipe(recipe)
        self.activations = Quantizer(self.recipe.activations, self.recipe)
        self.weights = Quantizer(self.recipe.weights, self.recipe)
        self.gradients = Quantizer(
            self.recipe.gradients, self.recipe, self.recipe.gradient_rounding
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x W^T + b from rounded x and W."""
        tokens = x.reshape(-1, self.in_features)
        y: torch.Tensor = _Products.apply(tokens, self.weight, self.bias, self)
        return y.reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """Add the recipe to the layer's printed form."""
        return f"{super().extra_repr()}, recipe={self.recipe.name}"


def convert(model: nn.Module, recipe: str | Recipe, keep: Collection[str] = ()) -> nn.Module:
    """Replace every linear layer of a model by a QuantizedLinear in place; return the model.

    The parameters stay the very same objects, so an optimizer made before still updates them.
    A QuantizedLinear gets the new recipe, a subclass of nn.Linear of any other kind stays.
    ``keep`` names modules, as named_modules does ("head"), that stay as they are. Raises
    ValueError for an unknown recipe, for a name in keep that is no module, and for a model
    that is itself a linear layer, which has no place to be replaced in.

    >>> model = convert(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)), "fp8", ["2"])
    >>> type(model[0]).__name__, type(model[2]).__name__
    ('QuantizedLinear', 'Linear')
    """
    recipe = get_recipe(recipe)
    if isinstance(model, nn.Linear):
        raise ValueError("the model is one nn.Linear; make a QuantizedLinear, or wrap it first")
    # A layer with two names is one layer still, so both get the same new one.
    modules = dict(model.named_modules(remove_duplicate=False))
    unknown = sorted(set(keep) - set(modules))
    if unknown:
        raise ValueError(
            f"keep = {unknown} are no modules of the model; it has {list(modules)[1:]}"
        )
    fresh: dict[nn.Module, QuantizedLinear] = {}
    for name, module in modules.items():
        if type(module) in (nn.Linear, QuantizedLinear) and name not in keep:
            place, _, last = name.rpartition(".")
            new = fresh.setdefault(module, _quantized(module, recipe))
            setattr(modules[place], last, new)
    return model


def _quantized(linear: nn.Linear, recipe: Recipe) -> QuantizedLinear:
    """Return a QuantizedLinear that owns the parameters of a linear layer."""
    with torch.device("meta"):  # neither memory nor random numbers for weights that go at once
        layer = QuantizedLinear(
            linear.in_features, linear.out_features, recipe, linear.bias is not None
        )
    layer.weight, layer.bias = linear.weight, linear.bias
    return layer.train(linear.training)
