"""The scenes of lesson 13: what two processes do, live where that works, else as recorded.

Each scene is a small program in `ampcourse.engines.workers`, since what a notebook defines cannot
be sent to another process. All results are plain data: lists by rank, then by step.
"""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]

#: Name → what it shows.
SCENES = {
    "ddp": "an inf on one rank under DDP; the same gradients averaged in FP32 and in BF16",
    "local_found_inf": "sharded gradients: found_inf kept by each rank, and shared by all",
    "fsdp2": "FSDP2 trains as DDP does, with fewer bytes per rank",
    "checkpoint_2_to_1": "saved on two ranks, loaded and trained on by one",
    "killed_rank": "a rank is killed, torchrun starts all again, training goes on",
    "deepspeed": "DeepSpeed's ZeRO 1, 2 and 3 train as DDP does, with fewer bytes per rank",
}


def scene(name: str, timeout: float = 60.0) -> Result:
    """Launch a scene's processes on this machine and return what they saw.

    Raises ValueError for an unknown name and distributed.LaunchError, with the reason, where the
    processes could not be started, failed or ran out of time.

    "ddp" returns {"inf": {"scale": [[by step] by rank], "own_gradients_finite": [[..]..] before the
    all-reduce, "averaged_gradients_finite": [[..]..] after it, "skipped": [[..]..],
    "same_weights": [by step]}, "all_reduce": {"elements", "fp32" and "bf16": {"bytes",
    "relative_error": L2 norm of error over L2 norm, "largest_relative_error",
    "share_changed": of elements that are not the exact mean rounded to FP32}}}

    "local_found_inf" returns {"kept" and "shared": {"own_found_inf", "skipped", "scale": [[by
    step] by rank], "loss": [by step], "weights_error": [by step] relative to one process}}

    "fsdp2" returns {"loss": {"one process", "ddp", "fsdp2", "ddp bf16", "fsdp2 bf16": [by step]},
    "largest_difference": {"fsdp2": of weights to DDP's, in ulps, ...},
    "bytes": {"ddp" and "fsdp2" (and "fsdp2 bf16"): {"weights", "gradients", "optimizer": [by
    rank]}}, "parameters": count}

    "checkpoint_2_to_1" returns {"saved_at": step, "loss": {"two ranks": [..], "one rank": [..]} of
    the steps that follow, "same_weights_loaded": bool, "same_optimizer_loaded": bool,
    "files": {name: bytes}}

    "killed_rank" returns {"killed": {"rank", "step"}, "attempts": [{"first_step", "last_step"}],
    "checkpoint_every": steps, "loss": {"undisturbed": [..], "restarted": [..]},
    "same_weights": bool}

    "deepspeed" returns {"loss": {"ddp", "zero1", "zero2", "zero3": [by step]},
    "largest_difference": {"zero1", ...: of weights to DDP's, in ulps}, "bytes": {"ddp", "zero1",
    ...: {"weights", "gradients", "optimizer": [by rank]}}, "parameters": count, "config": the
    configuration of stage 2}
    """
    raise NotImplementedError


def recorded(name: str) -> Result:
    """Return a scene's recorded output: {"result": as `scene`, "command", "machine", "date", ...}.

    Raises ValueError for an unknown name.
    """
    raise NotImplementedError


def show_scene(name: str, timeout: float = 60.0, live: bool = True) -> tuple[Result, str]:
    """Return a scene's result and "live", or the recorded one and "recorded: " with the reason.

    With `live` False nothing is launched; the reason is then the command that made the record.
    Never raises for what a machine lacks (gloo, a free port, DeepSpeed, time, another system than
    Linux or macOS); ValueError for an unknown name.
    """
    raise NotImplementedError
