"""NVIDIA Apex's amp in plain torch: the levels O0 to O3, for scripts that were written for it.

Apex had this until 8 May 2025 (NVIDIA/apex, cb65b8ed, pull request 1896); its successor is
torch.amp. A script runs with one import changed:

    from ampcourse.amp import opt_levels as amp     # instead of: from apex import amp

    model, optimizer = amp.initialize(model, optimizer, opt_level="O2")
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()

Where there is no GPU, a CPU will do. FP16 is slow there, and torch 2.14 has no FP16
LocalResponseNorm for it, so O3 stops at one; the other layers of torch.nn run. Not here: Apex's
fused optimizers, its amp.init of 2018, and what it did for torch before 1.0.

Deviations, each said where it is: a second `initialize` takes off the first one's patches, and
`deactivate` takes them off for good; a kept cast weight is dropped when the weight has changed;
errors come before anything has changed; gradients put aside come back if a backward raises.

The table of the levels, `PROPERTIES`, needs no torch; the rest imports it when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ampcourse.amp.opt_levels.properties import PROPERTIES, Properties

if TYPE_CHECKING:
    from ampcourse.amp.opt_levels.annotations import (
        float_function,
        half_function,
        promote_function,
        register_float_function,
        register_half_function,
        register_promote_function,
    )
    from ampcourse.amp.opt_levels.frontend import (
        deactivate,
        disable_casts,
        initialize,
        load_state_dict,
        master_params,
        scale_loss,
        state_dict,
    )
    from ampcourse.amp.opt_levels.state import _amp_state

__all__ = [
    "PROPERTIES",
    "Properties",
    "_amp_state",
    "deactivate",
    "disable_casts",
    "float_function",
    "half_function",
    "initialize",
    "load_state_dict",
    "master_params",
    "promote_function",
    "register_float_function",
    "register_half_function",
    "register_promote_function",
    "scale_loss",
    "state_dict",
]

_HOMES = {"annotations": "_function", "state": "_amp_state", "frontend": ""}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next(home for home, suffix in _HOMES.items() if name.endswith(suffix))
    return getattr(import_module(f"{__name__}.{home}"), name)
