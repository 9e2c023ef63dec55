"""The lesson says beforehand what the machine can do, and says so only where it knows."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("capabilities", "bf16", "words"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, False, "expect .* lose time"),
        ({"avx512_bf16": True}, True, "has bf16 instructions"),
        ({"amx_bf16": True}, True, "has bf16 instructions"),
        ({"neon": True, "bf16": True}, True, "has bf16 instructions"),
        ({"neon": True, "bf16": False}, False, "expect .* lose time"),
        ({"cpu_name": "bf16", "l2_cache_size": 1}, None, "does not say"),
    ],
)
def test_cpu_outlook_follows_its_instructions(
    without_gpu: Any, monkeypatch: pytest.MonkeyPatch, capabilities: Any, bf16: Any, words: str
) -> None:
    pretend_cpu(monkeypatch, capabilities)
    machine = this_machine()
    assert machine.device == "cpu"
    assert machine.bf16 is bf16
    assert machine.amp == "bf16"
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(str(machine))


def test_older_torch_is_answered_from_cpuinfo(
    without_gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    info = {"model name": "A CPU", "flags": "fpu avx2 avx512_bf16"}
    monkeypatch.setattr(hardware, "_cpuinfo", lambda: info)
    assert str(this_machine()).startswith("A CPU: it has bf16 instructions")


def test_cpuinfo_file_is_read_by_its_first_entries(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu avx\nmodel name\t: B\n")
    entries = hardware._cpuinfo(path)
    assert entries["model name"] == "A CPU"
    assert entries["flags"] == "fpu avx"
    assert hardware._cpuinfo(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("name", "capability", "bf16", "amp", "words"),
    [
        ("H200", (9, 0), True, "bf16", "expect bf16 autocast to gain"),
        ("T4", (7, 5), False, "fp16", "fp16 autocast with a GradScaler"),
        ("GTX 1080 Ti", (6, 1), False, "fp16", "older than Tensor Cores"),
    ],
)
def test_gpu_is_used_and_measured_in_a_type_it_has(
    monkeypatch: pytest.MonkeyPatch, name: str, capability: Any, bf16: Any, amp: Any, words: str
) -> None:
    asked = {}

    def supported(including_emulation: Any = True) -> Any:
        asked["emulation"] = including_emulation
        return bf16

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: name)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    machine = this_machine()
    assert (machine.device, machine.name, machine.amp) == ("cuda", name, amp)
    assert words in str(machine)
    assert asked == {"emulation": False}


def test_this_machine_has_a_name() -> None:
    assert this_machine().name.strip()
    assert isinstance(this_machine(), Hardware)
