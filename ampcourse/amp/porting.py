"""From Apex's amp to torch.amp, call by call; and whose package an installed `apex` is.

Needs no torch. Only an NVIDIA/apex from before 8 May 2025 (cb65b8ed, pull request 1896) has amp,
and it was never on PyPI: the `apex` there is an extension of the web framework Pyramid.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import distributions
from pathlib import Path


@dataclass(frozen=True)
class Port:
    """One call of Apex, what does its work in torch.amp, and what to mind.

    `torch_amp` is empty where torch.amp offers nothing.
    """

    apex: str
    torch_amp: str
    note: str


PORTING: tuple[Port, ...] = (
    Port(
        "from apex import amp",
        "import torch",
        "GradScaler and autocast are torch.amp's; torch.cuda.amp is their deprecated address.",
    ),
    Port(
        'amp.initialize(model, optimizer, opt_level="O0")',
        "autocast(device, enabled=False), GradScaler(device, enabled=False)",
        "With both disabled, the same loop trains in FP32.",
    ),
    Port(
        'amp.initialize(model, optimizer, opt_level="O1")',
        "scaler = GradScaler(device); with autocast(device, dtype=torch.float16): the forward pass",
        "The nearest of the levels. O1 patched torch for good; autocast ends with its block, and "
        "its lists are other ones, which depend on the device. BCE on FP16 stays an error on CUDA.",
    ),
    Port(
        'amp.initialize(model, optimizer, opt_level="O2")',
        "",
        "torch.amp keeps parameters in FP32 and refuses FP16 gradients. Port to the row for O1, "
        "or cast the model and keep FP32 masters yourself.",
    ),
    Port(
        'amp.initialize(model, optimizer, opt_level="O3")',
        "",
        "That is model.half() and no scaler: an upper bound for speed, not a way to train. For "
        "16 bits without a scaler, autocast to bfloat16.",
    ),
    Port(
        "keep_batchnorm_fp32=True",
        "",
        "Nothing to set: under autocast batch norm's parameters and statistics are FP32.",
    ),
    Port(
        'loss_scale="dynamic"',
        "GradScaler(device)",
        "Both start at 2^16, halve on inf or NaN and double after 2000 good steps. torch's has no "
        "ceiling but float32's range; Apex's stopped at 2^24.",
    ),
    Port(
        "loss_scale=128.0",
        "loss = loss * 128.0, and gradients divided by 128 before the step",
        "GradScaler has no fixed scale. init_scale=128.0 starts there, but still moves.",
    ),
    Port(
        "min_loss_scale=1.0, max_loss_scale=2.0**24",
        "",
        "GradScaler has no limits; watch get_scale().",
    ),
    Port(
        "with amp.scale_loss(loss, optimizer) as scaled_loss: scaled_loss.backward()",
        "scaler.scale(loss).backward()",
        "Apex unscaled and moved the scale on leaving the block; torch unscales in step() or "
        "unscale_() and moves the scale in update().",
    ),
    Port(
        "optimizer.step()",
        "scaler.step(optimizer); scaler.update()",
        "Apex replaced optimizer.step for one call to skip it. A scheduler is stepped after "
        "both, and in both it moves on although the step was skipped.",
    ),
    Port(
        "clip_grad_norm_(amp.master_params(optimizer), max_norm)",
        "scaler.unscale_(optimizer); clip_grad_norm_(model.parameters(), max_norm)",
        "After the block in Apex, after unscale_ in torch: clipping scaled gradients shrinks the "
        "update by up to the scale.",
    ),
    Port(
        "num_losses=2; amp.scale_loss(loss1, optimizer, loss_id=1)",
        "one GradScaler for all losses, or one per loss with an optimizer of its own",
        "One GradScaler: scale every loss, step every optimizer, update once.",
    ),
    Port(
        "amp.scale_loss(loss, optimizer, delay_unscale=True)",
        "scaler.scale(loss).backward(), and no unscale_ until the last micro-batch",
        "torch adds scaled gradients up, so update() has to wait as well; Apex without "
        "delay_unscale unscaled each micro-batch before adding.",
    ),
    Port(
        "amp.state_dict(), amp.load_state_dict(state)",
        "scaler.state_dict(), scaler.load_state_dict(state)",
        "Keys differ: loss_scaler0 with loss_scale and unskipped becomes scale and "
        "_growth_tracker. Apex saved no masters: a resumed O2 lost their low bits.",
    ),
    Port(
        "@amp.half_function, @amp.float_function",
        "@torch.amp.custom_fwd(device_type=device, cast_inputs=torch.float16), or torch.float32",
        "custom_fwd is for autograd.Function; elsewhere, cast within autocast(enabled=False).",
    ),
    Port(
        "@amp.promote_function",
        "",
        "torch promotes mixed inputs by itself, with or without autocast.",
    ),
    Port(
        "amp.register_float_function(torch, 'sigmoid')",
        "with autocast(device, enabled=False): torch.sigmoid(x.float())",
        "autocast's lists stay as they are; torch.library.register_autocast adds operators made "
        "with torch.library, and no functions.",
    ),
)


@dataclass(frozen=True)
class InstalledApex:
    """Whose `apex` would be imported: "nvidia", "pyramid", "unknown" or "none".

    `has_amp` says whether it has NVIDIA's amp; `version` and `location` are None where unknown.
    """

    owner: str
    has_amp: bool
    version: str | None
    location: str | None
    message: str

    def __str__(self) -> str:
        return self.message


def which_apex(path: Sequence[str] | None = None) -> InstalledApex:
    """Return whose package `import apex` would find, without importing it.

    Looks along `path`, a list of folders, or else along sys.path.
    """
    folders = list(sys.path if path is None else path)
    spec = PathFinder.find_spec("apex", folders)
    found = distributions(name="apex", path=folders)
    metadata = next((item.metadata for item in found), None)
    version = metadata["Version"] if metadata is not None else None
    if spec is None:
        return InstalledApex("none", False, version, None, _MESSAGES["none"])
    folder = _folder(spec)
    summary = f"{metadata['Summary']} {metadata['Home-page']}" if metadata is not None else ""
    owner = _owner(folder, summary, spec.origin)
    has_amp = owner == "nvidia" and (folder / "amp" / "frontend.py").is_file()
    message = _MESSAGES["nvidia with amp" if has_amp else owner].format(location=folder)
    return InstalledApex(owner, has_amp, version, str(folder), message)


_REST = (
    "For amp of old, use `from ampcourse.amp import opt_levels as amp`; for new code, torch.amp."
)
_MESSAGES = {
    "none": "No package called apex is installed, and none is needed. " + _REST,
    "nvidia with amp": "The apex in {location} is NVIDIA's and still has amp. In new code, use "
    "torch.amp: NVIDIA removed apex.amp on 8 May 2025.",
    "nvidia": "The apex in {location} is NVIDIA's, without amp, which was removed on 8 May 2025. "
    + _REST,
    "pyramid": "The apex in {location} is not NVIDIA's. It is the one that `pip install apex` "
    "gets, an extension of the web framework Pyramid; remove it with `pip uninstall apex`. "
    + _REST,
    "unknown": "The apex in {location} is not NVIDIA's: it has none of its parts. If it is a file "
    "of your own, rename it. " + _REST,
}

#: Folders of NVIDIA's package that it has had since 2018 and still has.
_NVIDIA_PARTS = ("multi_tensor_apply", "normalization", "optimizers")


def _folder(spec: ModuleSpec) -> Path:
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin or "apex.py")


def _owner(folder: Path, summary: str, origin: str | None) -> str:
    parts = sum((folder / part).is_dir() for part in _NVIDIA_PARTS)
    if parts == len(_NVIDIA_PARTS) or (parts and "NVIDIA" in summary):
        return "nvidia"
    source = Path(origin).read_text("utf-8", "replace") if origin and Path(origin).is_file() else ""
    # Its first lines import Pyramid, which is what fails for those who wanted NVIDIA's.
    if re.search(r"^\s*(from|import)\s+pyramid\b", source, re.MULTILINE) or "Pyramid" in summary:
        return "pyramid"
    return "unknown"
