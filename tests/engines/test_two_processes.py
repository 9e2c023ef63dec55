"""DDP = one process, FSDP2 = DDP, ZeRO 1, 2 and 3 = DDP, bytes by rank; two processes with gloo.

The roundings granted are in `claims`, with their reasons. Launches are shared: each takes seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ampcourse.distributed import launch
from ampcourse.engines import command
from ampcourse.engines.scenes import scene
from ampcourse.engines.workers.setting import result_in
from ampcourse.engines.zero import missing
from tests.engines.claims import CLAIMS, close

ROOT = str(Path(__file__).parents[2])
TIMEOUT = 240.0
TOGETHER = ("ddp", "local_found_inf", "fsdp2")


@pytest.fixture(scope="module")
def played() -> dict[str, Any]:
    """What two processes saw in the scenes that need one launch between them."""
    path = {"PYTHONPATH": os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])}
    program = ["-m", "tests.engines.acts", *TOGETHER]
    return result_in(launch(program, 2, timeout=TIMEOUT, environment=path)[0])


@pytest.mark.parametrize("name", TOGETHER)
def test_what_two_processes_do_now_is_what_is_claimed(name: str, played: dict[str, Any]) -> None:
    CLAIMS[name](played[name])


def test_what_two_ranks_saved_one_rank_loads_bit_for_bit_and_trains_on() -> None:
    CLAIMS["checkpoint_2_to_1"](scene("checkpoint_2_to_1", TIMEOUT))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_after_a_rank_was_killed_training_goes_on_to_the_same_bits() -> None:
    CLAIMS["killed_rank"](scene("killed_rank", TIMEOUT))


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_zero_1_2_and_3_train_as_ddp_does_in_the_bytes_of_the_formulas() -> None:
    CLAIMS["deepspeed"](scene("deepspeed", TIMEOUT))


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_deepspeed_trains_a_net_with_batch_norms_alone_and_compiles_nothing(tmp_path: Path) -> None:
    shared = ["--recipe", "amp-bf16", "--device", "cpu", "--use", "subset", "--batch", "20"]
    shared += ["--model", "tiny", "--steps", "4"]
    command_line = [sys.executable, "-m", "ampcourse.engines", "--engine", "deepspeed", *shared]
    command_line += ["--stage", "3", "--json", str(tmp_path / "found.json")]
    fresh = os.environ | {"TORCH_EXTENSIONS_DIR": str(tmp_path / "compiled")}
    done = subprocess.run(command_line, capture_output=True, text=True, env=fresh)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "compiled").exists()
    found = json.loads((tmp_path / "found.json").read_text())
    plain = command.run(command.parser().parse_args(["--engine", "ddp", *shared]))
    assert close(found["losses"], plain["losses"], 2.0**-6)


def test_the_command_saves_on_two_ranks_and_goes_on_alone(tmp_path: Path) -> None:
    shared = ["--engine", "fsdp", "--recipe", "amp-fp16", "--device", "cpu", "--use", "subset"]
    shared += ["--batch", "20", "--checkpoints", str(tmp_path / "saved"), "--every", "2"]
    program = ["-m", "ampcourse.engines", *shared, "--json", str(tmp_path / "two.json")]
    printed = launch([*program, "--steps", "3"], 2, timeout=TIMEOUT)
    assert "step 3 of 3: loss" in printed[0]
    assert printed[1] == ""
    two = json.loads((tmp_path / "two.json").read_text())
    assert two["world_size"] == 2
    assert two["scale"] == 65536.0 / 2 ** two["skipped"]
    saved = sorted(path.name for path in (tmp_path / "saved").iterdir())
    assert saved == ["step-00000002", "step-00000003"]
    more = command.run(command.parser().parse_args([*shared, "--steps", "5"]))
    whole = command.run(command.parser().parse_args([*shared[:-4], "--steps", "5"]))
    assert more["first_step"] == 3
    assert more["skipped"] == whole["skipped"]
    assert more["scale"] == whole["scale"]
    # FP16 rounds to 11 bits: sums in another order give other weights, the losses stay near.
    assert close(more["losses"], whole["losses"][3:], 2.0**-10)
    assert close(two["losses"], whole["losses"][:3], 2.0**-10)
    with pytest.raises(ValueError, match="has batch=20, this training 10; start with the former"):
        command.run(_with(shared, "--batch", "10"))


def _with(shared: list[str], name: str, value: str) -> argparse.Namespace:
    changed = list(shared)
    changed[changed.index(name) + 1] = value
    return command.parser().parse_args([*changed, "--steps", "6"])
