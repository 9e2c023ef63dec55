"""What the four levels mean: a table, and the rules for changing an entry of it.

Defaults and rules are those of apex/amp/frontend.py (NVIDIA/apex, dec4fdd6). Needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Properties:
    """One level: what is cast, what is patched, what is kept in FP32, how losses are scaled.

    `cast_model_type` is the name of the torch type that parameters, buffers and inputs get, or
    None for leaving them alone; `patch_torch_functions` puts casts around torch's functions;
    `keep_batchnorm_fp32` spares batch norms from the cast of the model; `master_weights` gives
    the optimizer FP32 copies of FP16 parameters; `loss_scale` is a number, or "dynamic".
    """

    opt_level: str
    cast_model_type: str | None
    patch_torch_functions: bool
    keep_batchnorm_fp32: bool | None
    master_weights: bool | None
    loss_scale: float | str
    enabled: bool = True


PROPERTIES: Mapping[str, Properties] = MappingProxyType(
    {
        "O0": Properties("O0", "float32", False, None, False, 1.0),
        "O1": Properties("O1", None, True, None, None, "dynamic"),
        "O2": Properties("O2", "float16", False, True, True, "dynamic"),
        "O3": Properties("O3", "float16", False, False, False, 1.0),
    }
)

#: What each level is called when it is selected.
BRIEFS: Mapping[str, str] = MappingProxyType(
    {
        "O0": "everything in FP32",
        "O1": "an FP32 model, casts around torch's functions",
        "O2": "an FP16 model with FP32 batch norms and FP32 master weights",
        "O3": "everything in FP16",
    }
)


def properties_for(opt_level: str, **overrides: Any) -> Properties:
    """Return a level's properties with every override applied that is not None.

    Raises RuntimeError for an unknown level and for overrides that contradict it, as Apex did;
    AssertionError for a keep_batchnorm_fp32 that is neither a bool nor "True" or "False";
    ValueError for a loss scale that is no positive number and not "dynamic" (Apex took any).

    >>> properties_for("O2", keep_batchnorm_fp32="False", loss_scale="128").loss_scale
    128.0
    """
    if opt_level not in PROPERTIES:
        raise RuntimeError(
            f"opt_level={opt_level!r} is none of 'O0', 'O1', 'O2', 'O3', whose first character "
            "is the letter O, not the digit zero"
        )
    properties = PROPERTIES[opt_level]
    for name, value in overrides.items():
        if value is not None:
            properties = replace(properties, **{name: _RULES[name](opt_level, value)})
    return properties


def listing(properties: Properties) -> str:
    """Return one line per property, as Apex printed them."""
    return "\n".join(
        f"{field.name:22} : {getattr(properties, field.name)}" for field in fields(properties)
    )


def _cast_model_type(opt_level: str, value: Any) -> str | None:
    name = None if value is False else str(value).removeprefix("torch.")
    if opt_level == "O1" and name not in (None, "float32"):
        raise RuntimeError(
            f"cast_model_type={value} contradicts O1, which casts the inputs of functions and "
            "leaves the model in FP32; select O2 or O3 to cast the model"
        )
    return name


def _patch_torch_functions(opt_level: str, value: Any) -> bool:
    if value and opt_level != "O1":
        raise RuntimeError(
            f"patch_torch_functions={value} goes with O1 alone, not {opt_level}; select O1"
        )
    return bool(value)


def _keep_batchnorm_fp32(opt_level: str, value: Any) -> bool:
    if opt_level == "O1":
        raise RuntimeError(
            f"keep_batchnorm_fp32={value} contradicts O1, where the whole model stays in FP32; "
            "leave it None"
        )
    # By equality, so that command-line text works.
    if value in ("True", "False"):
        return bool(value == "True")
    if value is not True and value is not False:
        raise AssertionError(
            f"keep_batchnorm_fp32={value!r} must be a bool, the text 'True' or 'False', or None"
        )
    return bool(value)


def _master_weights(opt_level: str, value: Any) -> bool:
    if opt_level == "O1":
        raise RuntimeError(
            f"master_weights={value} contradicts O1, where the weights themselves are FP32; "
            "leave it None"
        )
    return bool(value)


def _loss_scale(opt_level: str, value: Any) -> float | str:
    if value == "dynamic":
        return "dynamic"
    scale = float(value)
    if not 0 < scale < math.inf:
        raise ValueError(f"loss_scale={value!r} must be a positive number or 'dynamic'")
    return scale


_RULES: Mapping[str, Callable[[str, Any], Any]] = {
    "cast_model_type": _cast_model_type,
    "patch_torch_functions": _patch_torch_functions,
    "keep_batchnorm_fp32": _keep_batchnorm_fp32,
    "master_weights": _master_weights,
    "loss_scale": _loss_scale,
}
