"""The calls that a training script makes.

They follow apex/amp/frontend.py (NVIDIA/apex, dec4fdd6), handle.py (fab319f1) and
_initialize.py (1ccaaf4a).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch

from ampcourse.amp.opt_levels.annotations import take_registered
from ampcourse.amp.opt_levels.casts import Casts
from ampcourse.amp.opt_levels.loss_scaler import LossScaler
from ampcourse.amp.opt_levels.models import (
    cast_model,
    check_models,
    device_type_of,
    patch_forward,
    save_in_fp32,
)
from ampcourse.amp.opt_levels.optimizers import (
    OptimizerState,
    check_new,
    disable_casts_in_step,
    process,
    skip_next_step,
    state_of,
)
from ampcourse.amp.opt_levels.patches import Patches, patch_torch
from ampcourse.amp.opt_levels.properties import (
    BRIEFS,
    PROPERTIES,
    Properties,
    listing,
    properties_for,
)
from ampcourse.amp.opt_levels.state import _amp_state, say

_patches = Patches()


def initialize(
    models: Any,
    optimizers: Any = None,
    enabled: bool = True,
    opt_level: str = "O1",
    cast_model_type: Any = None,
    patch_torch_functions: bool | None = None,
    keep_batchnorm_fp32: bool | str | None = None,
    master_weights: bool | None = None,
    loss_scale: float | str | None = None,
    cast_model_outputs: torch.dtype | None = None,
    num_losses: int = 1,
    verbosity: int = 1,
    min_loss_scale: float | None = None,
    max_loss_scale: float = 2.0**24,
) -> Any:
    """Bring models and optimizers to one of the levels O0 to O3, in place, and return them.

    One or a list of each; what comes back has the same shape, without optimizers if there are
    none. An override that is not None replaces the level's property of that name (PROPERTIES).
    `num_losses` loss scales are kept, told apart by scale_loss's loss_id; verbosity 0 prints
    nothing, 2 each cast of O1. With enabled=False nothing happens, here or in scale_loss.

    A second call takes off the first one's patches of torch's functions; Apex piled them up.

    Raises RuntimeError, AssertionError and ValueError as properties_for does; RuntimeError for a
    model in FP16 or in a parallel wrapper and for an optimizer that was here before; TypeError
    for what is no module or no optimizer. Then neither models nor optimizers have changed.
    """
    returned = models if optimizers is None else (models, optimizers)
    if not enabled:
        deactivate()
        _amp_state.opt_properties = replace(PROPERTIES["O0"], enabled=False)
        return returned
    properties = properties_for(
        opt_level,
        cast_model_type=cast_model_type,
        patch_torch_functions=patch_torch_functions,
        keep_batchnorm_fp32=keep_batchnorm_fp32,
        master_weights=master_weights,
        loss_scale=loss_scale,
    )
    if num_losses < 1:
        raise ValueError(f"num_losses={num_losses} leaves no loss to scale; give 1 or more")
    model_list, optimizer_list = _checked(models, [] if optimizers is None else optimizers)
    deactivate()
    _amp_state.verbosity = verbosity
    say(f"Selected optimization level {opt_level}: {BRIEFS[opt_level]}", first_rank_only=True)
    say(listing(properties), first_rank_only=True)
    _prepare_models(model_list, optimizer_list, properties, cast_model_outputs)
    for optimizer in optimizer_list:
        process(optimizer, bool(properties.master_weights))
    _amp_state.opt_properties = properties
    _amp_state.loss_scalers = [
        LossScaler(
            properties.loss_scale, min_loss_scale=min_loss_scale, max_loss_scale=max_loss_scale
        )
        for _ in range(num_losses)
    ]
    if properties.patch_torch_functions:
        _activate(Casts(device_type_of(model_list), verbosity == 2), optimizer_list)
    return returned


def deactivate() -> None:
    """Take O1's patches off torch's functions and forget the level; Apex had no such call.

    Models stay cast, and optimizers keep their masters.
    """
    _patches.remove()
    _amp_state.opt_properties = None
    _amp_state.loss_scalers = []
    _amp_state.handle = None


@contextmanager
def scale_loss(
    loss: torch.Tensor,
    optimizers: Any,
    loss_id: int = 0,
    model: Any = None,
    delay_unscale: bool = False,
    delay_overflow_check: bool = False,
) -> Iterator[torch.Tensor]:
    """Yield the loss in FP32 times the loss scale; afterwards, unscale its gradients.

    Pass every optimizer that the backward pass makes gradients for. On leaving, the new gradients
    are divided by the scale and added to earlier ones, the scale moves, and if a gradient was inf
    or NaN the next step() of each optimizer is skipped, with a line that says so. With
    delay_unscale, gradients stay scaled until a later scale_loss without it. `model` is ignored.

    Raises RuntimeError before `initialize` and for optimizers that were not passed to it,
    IndexError for a loss_id from num_losses on.
    """
    properties = _amp_state.opt_properties
    if properties is None:
        raise RuntimeError(
            "amp.scale_loss needs a level; call model, optimizer = amp.initialize(model, "
            "optimizer, opt_level=...) first"
        )
    if not properties.enabled:
        yield loss
        return
    states = [state_of(optimizer) for optimizer in _as_list(optimizers, object, "optimizers")]
    scaler = _scaler(loss_id)
    # Nothing to scale, nothing to check and nothing to copy: as if amp were not there.
    if not properties.master_weights and not scaler.dynamic and scaler.loss_scale() == 1.0:
        yield loss.float()
    else:
        if not delay_unscale:
            for state in states:
                state.prepare_backward()
        try:
            yield loss.float() * scaler.loss_scale()
        except BaseException:
            for state in states:
                state.abandon_backward()
            raise
        if not delay_unscale:
            _unscale(states, scaler)
            if not delay_overflow_check and scaler.update_scale():
                for state in states:
                    skip_next_step(state.optimizer, scaler, loss_id)
        for state in states:
            state.params_have_scaled_gradients = delay_unscale
    if _amp_state.handle is not None:
        _amp_state.handle.clear_cache()


def _unscale(states: list[OptimizerState], scaler: LossScaler) -> None:
    scaler.clear_overflow_state()
    with disable_casts():
        for state in states:
            state.finish_backward(scaler)


def disable_casts() -> AbstractContextManager[None]:
    """Return a context in which O1's functions run on the types they get."""
    return nullcontext() if _amp_state.handle is None else _amp_state.handle.disabled()


def master_params(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    """Yield what the optimizer steps, FP32 masters under O2: what to clip, after scale_loss.

    Masters exist from the first scale_loss or zero_grad on; before, these are the model's own.
    """
    for group in optimizer.param_groups:
        yield from group["params"]


def state_dict(destination: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return each loss scale and its good steps in a row; nothing of models or masters."""
    destination = {} if destination is None else destination
    for index, scaler in enumerate(_amp_state.loss_scalers):
        destination[f"loss_scaler{index}"] = {
            "loss_scale": scaler.loss_scale(),
            "unskipped": scaler._unskipped,
        }
    return destination


def load_state_dict(state_dict: dict[str, Any]) -> None:
    """Set the loss scales to those of a state_dict, in order; call it after initialize().

    If there are more or fewer, it says so and loads those that fit, as Apex did. Raises
    RuntimeError, and changes nothing, if an entry is no loss scale.
    """
    strangers = [key for key in state_dict if "loss_scaler" not in key]
    if strangers:
        raise RuntimeError(
            f"{', '.join(map(repr, strangers))} is no loss scale; pass what amp.state_dict() "
            "returned, with the entries loss_scaler0, loss_scaler1, …"
        )
    scalers = _amp_state.loss_scalers
    if len(state_dict) != len(scalers):
        print(
            f"Warning: the state has {len(state_dict)} loss scales, amp has {len(scalers)} "
            "(num_losses); the first ones are loaded"
        )
    # Read everything before anything changes.
    values = [(entry["loss_scale"], entry["unskipped"]) for entry in state_dict.values()]
    for scaler, (loss_scale, unskipped) in zip(scalers, values, strict=False):
        scaler._loss_scale, scaler._unskipped = loss_scale, unskipped


def _checked(
    models: Any, optimizers: Any
) -> tuple[list[torch.nn.Module], list[torch.optim.Optimizer]]:
    model_list = _as_list(models, torch.nn.Module, "models")
    optimizer_list = _as_list(optimizers, torch.optim.Optimizer, "optimizers")
    check_models(model_list, _amp_state.allow_incoming_model_not_fp32)
    for optimizer in optimizer_list:
        check_new(optimizer)
    return model_list, optimizer_list


def _as_list(given: Any, kind: type, what: str) -> list[Any]:
    found = given if isinstance(given, list | tuple) else [given]
    for item in found:
        if not isinstance(item, kind):
            raise TypeError(
                f"{what} must be one {kind.__name__} or a list of them, not {type(item).__name__}"
            )
    return list(found)


def _prepare_models(
    models: list[torch.nn.Module],
    optimizers: list[torch.optim.Optimizer],
    properties: Properties,
    outputs: torch.dtype | None,
) -> None:
    if properties.cast_model_type is None:
        for model in models if outputs is not None else []:
            patch_forward(model, None, outputs)
        return
    dtype = getattr(torch, properties.cast_model_type)
    for model in models:
        cast_model(model, dtype, bool(properties.keep_batchnorm_fp32))
        patch_forward(model, dtype, outputs or torch.float32)
        save_in_fp32(model)
    for optimizer in optimizers:
        # State that is there from the start gets the type of its parameter.
        optimizer.load_state_dict(optimizer.state_dict())


def _activate(casts: Casts, optimizers: list[torch.optim.Optimizer]) -> None:
    global _patches
    _patches = patch_torch(casts, take_registered())
    _amp_state.handle = casts
    for optimizer in optimizers:
        disable_casts_in_step(optimizer, casts)


def _scaler(loss_id: int) -> LossScaler:
    if not 0 <= loss_id < len(_amp_state.loss_scalers):
        raise IndexError(
            f"loss_id={loss_id} has no loss scale; amp.initialize(..., num_losses=...) made "
            f"{len(_amp_state.loss_scalers)}, counted from 0"
        )
    return _amp_state.loss_scalers[loss_id]
