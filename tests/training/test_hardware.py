"""The lesson says beforehand what the machine can do, and says so only where it knows."""

from __future__ import annotations

import platform
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ampcourse.training import hardware
from ampcourse.training.hardware import Hardware, this_machine


@pytest.fixture
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def pretend_cpu(monkeypatch: pytest.MonkeyPatch, capabilities: Any) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)


def words_of(machine: Hardware) -> str:
    return " ".join(str(machine).split())


def pretend_onednn(monkeypatch: pytest.MonkeyPatch, runs_bf16: Any) -> None:
    monkeypatch.setattr(hardware, "_onednn_bf16", lambda: runs_bf16)


NEITHER = "no bf16 instructions.* expect .* lose time"


@pytest.mark.parametrize(
    ("capabilities", "onednn", "bf16", "words"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, False, False, NEITHER),
        ({"avx512_bf16": True}, True, True, "a chance to gain"),
        ({"amx_bf16": True}, True, True, "a chance to gain"),
        ({"neon": True, "bf16": True}, True, True, "a chance to gain"),
        ({"neon": True, "bf16": True}, False, True, "does not say that it uses them"),
        ({"neon": True, "bf16": True}, None, True, "does not say that it uses them"),
        ({"avx512_f": True}, True, False, "without bf16 multipliers, so a gain or a loss"),
        ({"neon": True, "bf16": False}, False, False, NEITHER),
        ({"cpu_name": "bf16", "l2_cache_size": 1}, True, None, "does not say whether it has"),
    ],
)
def test_cpu_outlook_follows_its_instructions_and_the_library(
    without_gpu: Any,
    monkeypatch: pytest.MonkeyPatch,
    capabilities: Any,
    onednn: Any,
    bf16: Any,
    words: str,
) -> None:
    pretend_cpu(monkeypatch, capabilities)
    pretend_onednn(monkeypatch, onednn)
    machine = this_machine()
    assert machine.device == "cpu"
    assert machine.bf16 is bf16
    assert machine.amp == "bf16"
    assert re.search(words, words_of(machine))
    assert ("a chance to gain" in words_of(machine)) == bool(bf16 and onednn)


@pytest.mark.parametrize(("available", "expected"), [(True, None), (False, False)])
@pytest.mark.parametrize("error", [AttributeError, RuntimeError, NotImplementedError])
def test_pytorch_that_cannot_be_asked_about_onednn_is_no_error(
    monkeypatch: pytest.MonkeyPatch, error: Any, available: bool, expected: Any
) -> None:
    def refuse() -> bool:
        raise error("no such operator")

    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", refuse)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: available)
    assert hardware._onednn_bf16() is expected


def test_older_torch_is_answered_from_cpuinfo(
    without_gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    pretend_onednn(monkeypatch, True)
    info = {"model name": "A CPU", "flags": "fpu avx2 avx512_bf16"}
    monkeypatch.setattr(hardware, "_cpuinfo", lambda: info)
    assert str(this_machine()).startswith("A CPU: it has bf16 instructions")


@pytest.mark.parametrize(
    ("capabilities", "cpuinfo", "name"),
    [
        ({"cpu_name": "Apple M2"}, {}, "Apple M2"),
        ({"cpu_name": " "}, {"model name": "A CPU"}, "A CPU"),
        ({"cpu_name": "Unknown"}, {"model name": "A CPU"}, "A CPU"),
        ({}, {}, "arm"),
        (
            {"cpu_name": "AMD EPYC"},
            {"cpu family": "25", "model": "1"},
            "AMD EPYC 7003 (Zen 3)",
        ),
        (
            {"cpu_name": "AMD EPYC"},
            {"cpu family": "26", "model": "2"},
            "AMD EPYC (family 26, model 2)",
        ),
        ({"cpu_name": "AMD EPYC"}, {}, "AMD EPYC"),
        (
            {"cpu_name": "AMD EPYC 9654"},
            {"cpu family": "25", "model": "17"},
            "AMD EPYC 9654",
        ),
    ],
)
def test_cpu_is_named_as_exactly_as_the_system_tells(
    monkeypatch: pytest.MonkeyPatch, capabilities: Any, cpuinfo: Any, name: str
) -> None:
    pretend_cpu(monkeypatch, capabilities)
    monkeypatch.setattr(hardware, "_cpuinfo", lambda: cpuinfo)
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert hardware.cpu_name() == name


def test_cpuinfo_file_is_read_by_its_first_entries(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu avx\nmodel name\t: B\n")
    entries = hardware._cpuinfo(path)
    assert entries["model name"] == "A CPU"
    assert entries["flags"] == "fpu avx"
    assert hardware._cpuinfo(tmp_path / "none") == {}


@pytest.fixture
def pretend_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Make torch tell of a working GPU; returns what torch was asked."""

    def pretend(name: str, capability: Any, bf16: bool, hip: Any = None) -> dict[str, Any]:
        asked = {}

        def supported(including_emulation: Any = True) -> Any:
            asked["emulation"] = including_emulation
            return bf16

        monkeypatch.setattr(hardware, "_try_gpu", lambda: None)
        monkeypatch.setattr(torch.version, "hip", hip)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: name)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
        return asked

    return pretend


@pytest.mark.parametrize(
    ("name", "capability", "bf16", "fp16", "words"),
    [
        ("H200", (9, 0), True, True, "bf16 on Tensor Cores, so expect bf16 autocast to gain"),
        ("T4", (7, 5), False, True, "fp16 autocast with a GradScaler"),
        ("V100", (7, 0), False, True, "Tensor Cores for fp16, so expect a gain"),
        ("GTX 1660 Ti", (7, 5), False, True, "has no Tensor Cores"),
        ("P100", (6, 0), False, True, "fast fp16 arithmetic"),
        ("Jetson TX1", (5, 3), False, True, "fast fp16 arithmetic"),
        ("Jetson TX2", (6, 2), False, True, "fast fp16 arithmetic"),
        ("GTX 1080 Ti", (6, 1), False, False, "older than Tensor Cores, so expect"),
    ],
)
def test_gpu_is_used_and_measured_in_a_type_it_has(
    pretend_gpu: Any, name: str, capability: Any, bf16: bool, fp16: bool, words: str
) -> None:
    asked = pretend_gpu(name, capability, bf16)
    machine = this_machine()
    assert (machine.device, machine.name, machine.fp16) == ("cuda", name, fp16)
    assert machine.amp == ("bf16" if bf16 else "fp16")
    assert words in words_of(machine)
    assert asked == {"emulation": False}


def test_only_owners_of_a_gtx_16_read_about_it(pretend_gpu: Any) -> None:
    for name in ("T4", "V100"):
        pretend_gpu(name, (7, 5), bf16=False)
        assert "no Tensor Cores" not in words_of(this_machine())


def test_amd_gpu_is_promised_no_tensor_cores(pretend_gpu: Any) -> None:
    pretend_gpu("Radeon", (11, 0), bf16=True, hip="6.4")
    machine = this_machine()
    assert (machine.device, machine.amp, machine.tensor_cores) == ("cuda", "bf16", None)
    assert "Tensor Cores" not in words_of(machine)
    assert "ROCm" in words_of(machine)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            RuntimeError("CUDA error: no kernel image is available for execution on the device"),
            "Your GPU (sm_61) is not supported by this PyTorch; the CPU is measured.",
        ),
        (
            torch.OutOfMemoryError("CUDA out of memory."),
            "Your GPU (sm_61) has too little free memory; the CPU is measured.",
        ),
        (
            RuntimeError("cuDNN error: NOT_INITIALIZED\nCompile with"),
            "Your GPU (sm_61) failed (cuDNN error: NOT_INITIALIZED); the CPU is measured.",
        ),
    ],
)
def test_gpu_that_fails_its_first_operation_leaves_the_cpu_and_a_sentence(
    pretend_gpu: Any, monkeypatch: pytest.MonkeyPatch, error: Any, sentence: str
) -> None:
    def fail() -> None:
        warnings.warn("found a GPU that is too old", stacklevel=1)
        raise error

    pretend_gpu("GTX 1080 Ti", (6, 1), bf16=False)
    monkeypatch.setattr(hardware, "_try_gpu", fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = this_machine()
    assert (machine.device, machine.remark) == ("cpu", sentence)
    assert words_of(machine).startswith(sentence)


def test_text_is_wrapped_on_words_at_80_columns() -> None:
    text = str(Hardware("cpu", "a CPU with a name", False, False, remark="A remark. " * 9))
    assert max(map(len, text.splitlines())) <= 80
    assert "instructions. PyTorch computes" in " ".join(text.split())


def test_this_machine_has_a_name() -> None:
    assert this_machine().name.strip()
    assert isinstance(this_machine(), Hardware)
