"""What `initialize` leaves behind for the other calls, in one place for the whole process.

Apex had one such state, too, and scripts read it: `amp._amp_state.loss_scalers[0].loss_scale()`.
"""

from __future__ import annotations

import torch

from ampcourse.amp.opt_levels.casts import Casts
from ampcourse.amp.opt_levels.loss_scaler import LossScaler
from ampcourse.amp.opt_levels.properties import Properties


class AmpState:
    """The properties, loss scalers and casts in force; None and empty before `initialize`."""

    def __init__(self) -> None:
        self.opt_properties: Properties | None = None
        self.loss_scalers: list[LossScaler] = []
        self.handle: Casts | None = None
        self.verbosity = 1
        self.allow_incoming_model_not_fp32 = False


_amp_state = AmpState()


def say(message: str, first_rank_only: bool = False) -> None:
    """Print unless verbosity is 0; with several processes, only in the first if so asked."""
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    if first_rank_only and distributed and torch.distributed.get_rank() > 0:
        return
    if _amp_state.verbosity > 0:
        print(message)
