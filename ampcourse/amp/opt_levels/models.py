"""A model as O0, O2 and O3 leave it: parameters, buffers, inputs and outputs in another type.

What is done follows apex/amp/_initialize.py (NVIDIA/apex, 1ccaaf4a, the latest version we could
read) and fp16_utils/fp16util.py (d2ac4872).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


def check_models(models: Sequence[nn.Module], may_be_fp16: bool) -> None:
    """Raise RuntimeError for a model in a parallel wrapper, and for one with FP16 in it."""
    for model in models:
        if isinstance(model, nn.parallel.DistributedDataParallel | nn.DataParallel):
            raise RuntimeError(
                f"the model is in {type(model).__name__} already; wrap what amp.initialize "
                "returns instead"
            )
        named = [*model.named_parameters(), *model.named_buffers()]
        for name, tensor in named if not may_be_fp16 else []:
            if tensor.dtype == torch.float16:
                raise RuntimeError(
                    f"{name} is in float16, expected float32; pass the model without calling "
                    "half(), whatever the level"
                )


def device_type_of(models: Sequence[nn.Module]) -> str:
    """Return the type of the device that the models' parameters are on."""
    for model in models:
        for param in model.parameters():
            return str(param.device.type)
    return "cuda" if torch.cuda.is_available() else "cpu"


def cast_model(model: nn.Module, dtype: torch.dtype, keep_batchnorm_fp32: bool) -> None:
    """Cast floating-point parameters and buffers, which stay the same objects.

    Kept in FP32 are batch norms with weight and bias, affine=True; one without is cast.
    """
    if not keep_batchnorm_fp32:
        model.to(dtype)
        return
    for module in model.modules():
        if isinstance(module, _BatchNorm) and module.affine:
            continue
        own = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
        for tensor in own:
            _cast_in_place(tensor, dtype)
        if isinstance(module, nn.RNNBase):
            module.flatten_parameters()


def _cast_in_place(tensor: torch.Tensor, dtype: torch.dtype) -> None:
    if not tensor.is_floating_point():
        return
    tensor.data = tensor.data.to(dtype)
    if tensor.grad is not None:
        tensor.grad.data = tensor.grad.data.to(dtype)


def patch_forward(
    model: nn.Module, inputs: torch.dtype | None, outputs: torch.dtype | None
) -> None:
    """Cast what goes into the model's forward and what comes out of it."""
    forward = model.forward

    def casting_forward(*args: Any, **kwargs: Any) -> Any:
        if inputs is not None:
            args, kwargs = apply(args, _caster(inputs)), apply(kwargs, _caster(inputs))
        output = forward(*args, **kwargs)
        return output if outputs is None else apply(output, _caster(outputs))

    model.forward = casting_forward


def _caster(dtype: torch.dtype) -> Callable[[Any], Any]:
    def cast(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and not value.is_floating_point():
            return value
        return value.to(dtype)

    return cast


def apply(value: Any, cast: Callable[[Any], Any]) -> Any:
    """Return a value with everything in it cast that is a tensor or has a method `to`.

    Looks into mappings, which come back as dicts, and iterables, which come back as what they
    were; text and NumPy arrays stay as they are, as in Apex.
    """
    if hasattr(value, "to"):
        return cast(value)
    if isinstance(value, str | bytes) or type(value).__module__ == "numpy":
        return value
    if isinstance(value, Mapping):
        return {key: apply(item, cast) for key, item in value.items()}
    if hasattr(value, "_fields"):  # A named tuple takes its fields one by one; Apex failed here.
        return type(value)(*(apply(item, cast) for item in value))
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(apply(item, cast) for item in value)
    return value


class O2StateDictHook:
    """A hook that makes a saved model FP32, so that it loads into any level.

    It has the name of Apex's, by which torch.onnx knew to take it off before an export.
    """

    def __call__(self, module: nn.Module, state: dict[str, Any], *_: Any) -> None:
        for key, value in state.items():
            if isinstance(value, torch.Tensor) and value.dtype == torch.float16:
                state[key] = value.float()


def save_in_fp32(model: nn.Module) -> None:
    """Let the model's state_dict hold FP32 where the model has FP16."""
    for module in model.modules():
        module.register_state_dict_post_hook(O2StateDictHook())
