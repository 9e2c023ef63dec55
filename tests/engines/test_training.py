"""A training alone: what it sees, where it goes on, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.pictures import synthetic
from ampcourse.benchmark.recipes import parse
from ampcourse.distributed import SINGLE, process_group
from ampcourse.engines import checkpoint
from ampcourse.engines.engine import Engine, storage_bytes
from ampcourse.engines.recipes import recipe_for
from ampcourse.engines.training import accuracy, batches, build_model, make_engine, train
from ampcourse.engines.workers.setting import ulps

DATA = synthetic(28, count=32)

#: Small, since FP16 is slow on a CPU.
BATCH = 4


def engine(name: str = "ddp", recipe: str = "fp32", model: str = "small") -> Engine:
    net = build_model(model, DATA)
    return make_engine(name, parse(recipe), net, Machine(), SINGLE, batch=BATCH)


def test_what_a_step_sees_depends_on_its_number_and_the_seed_alone() -> None:
    whole = dict(batches(70, 16, 3, 0, 10))
    assert all(torch.equal(positions, whole[n]) for n, positions in batches(70, 16, 3, 6, 10))
    first_epoch = torch.cat([whole[n] for n in range(4)])
    assert len(set(first_epoch.tolist())) == 64
    assert not torch.equal(whole[0], whole[4])
    assert not torch.equal(whole[0], dict(batches(70, 16, 4, 0, 1))[0])


@pytest.mark.parametrize("batch", [0, 71])
def test_a_batch_of_no_image_or_of_too_many_is_refused(batch: int) -> None:
    with pytest.raises(ValueError, match=f"batch={batch} must be between 1 and 70"):
        next(batches(70, batch, 0, 0, 1))


@pytest.mark.parametrize("recipe", ["fp32", "amp-fp16", "O2"])
def test_a_training_that_stopped_goes_on_to_the_same_bits(recipe: str, tmp_path: Path) -> None:
    def run(steps: int, folder: Path | None) -> tuple[dict[str, Any], torch.Tensor]:
        one = engine(recipe=recipe)
        found = train(one, DATA, batch=BATCH, steps=steps, folder=folder, every=2)
        return found, torch.cat([w.flatten().float() for w in one.weights().values()])

    whole, expected = run(6, None)
    run(4, tmp_path)
    rest, reached = run(6, tmp_path)
    assert rest["first_step"] == 4
    assert rest["losses"] == whole["losses"][4:]
    assert rest["scale"] == whole["scale"]
    assert ulps(reached, expected) == 0


@pytest.mark.parametrize("model", ["small", "tiny"])
@pytest.mark.parametrize("recipe", ["fp32", "amp-bf16", "amp-fp16"])
def test_fsdp_trains_alone_as_plain_training_does(model: str, recipe: str) -> None:
    plain = train(engine("ddp", recipe, model), DATA, batch=BATCH, steps=3)
    with process_group(alone=True):
        one = engine("fsdp", recipe, model)
        sharded = train(one, DATA, batch=BATCH, steps=3)
        assert 0 <= accuracy(one, DATA) <= 1
    # In FP32 the same sums; 16-bit copies are made for the same layers, but autocast's list of
    # operations and whole layers cast at their borders differ where layers meet.
    near = {"fp32": 2.0**-22, "amp-bf16": 2.0**-6, "amp-fp16": 2.0**-9}[recipe]
    assert sharded["losses"] == pytest.approx(plain["losses"], rel=near, abs=0)
    assert (sharded["scale"] is None) == (recipe != "amp-fp16")


def test_fsdps_loss_scale_and_its_count_of_good_steps_are_saved(tmp_path: Path) -> None:
    with process_group(alone=True):
        one: Any = engine("fsdp", "amp-fp16")
        one.scaler.scale(torch.zeros(()))  # the scale is made when it is first used
        one.scaler.update(1024.0)
        train(one, DATA, batch=BATCH, steps=2, folder=tmp_path)
        other: Any = engine("fsdp", "amp-fp16")
        train(other, DATA, batch=BATCH, steps=2, folder=tmp_path)
        assert (one.scale, other.scale) == (1024.0, 1024.0)
        assert one.scaler.state_dict() == other.scaler.state_dict()
        assert other.scaler.state_dict()["_growth_tracker"] == 2
        assert (other.steps, other.skipped) == (2, 0)


def test_a_checkpoint_without_its_mark_is_none_and_two_are_kept(tmp_path: Path) -> None:
    (tmp_path / "step-00000099").mkdir()
    (tmp_path / "step-00000098.part").mkdir()
    (tmp_path / "step-00000098.part" / checkpoint.MARK).touch()
    train(engine(), DATA, batch=BATCH, steps=5, folder=tmp_path, every=1)
    assert [path.name for path in checkpoint.complete(tmp_path)] == [
        "step-00000004",
        "step-00000005",
    ]


def test_a_checkpoint_of_another_training_is_refused_with_both_values(tmp_path: Path) -> None:
    train(engine(), DATA, batch=BATCH, steps=1, folder=tmp_path)
    other = engine(recipe="amp-bf16")
    message = re.escape("recipe='fp32', this training 'amp-bf16'")
    with pytest.raises(ValueError, match=message):
        train(other, DATA, batch=BATCH, steps=2, folder=tmp_path)


def test_memory_that_two_tensors_share_counts_once() -> None:
    row = torch.zeros(10)
    assert storage_bytes([row[:4], row[4:]]) == 40
    assert storage_bytes([row, torch.zeros(3, dtype=torch.float16)]) == 46


def test_ulps_count_fp32_numbers_between_two_also_across_0() -> None:
    one = torch.tensor([1.0, -1.0, 0.0])
    assert ulps(one, one) == 0
    assert ulps(one, torch.tensor([1.0, -1.0, -0.0])) == 0
    assert ulps(one, torch.nextafter(one, torch.tensor(torch.inf))) == 1
    tiny = torch.tensor([2.0**-149])
    assert ulps(tiny, -tiny) == 2


def test_the_small_net_is_refused_for_other_images() -> None:
    with pytest.raises(ValueError, match="the model small is for FashionMNIST at 28 px"):
        build_model("small", synthetic(32))
    with pytest.raises(ValueError, match="'vgg' is unknown; choose from small, tiny"):
        build_model("vgg", DATA)


def test_deepspeed_that_is_missing_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ampcourse.engines.zero.importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ModuleNotFoundError, match=r"pip install setuptools wheel && DS_ACCELERATOR=cpu"
    ):
        engine("deepspeed")


def test_deepspeeds_configuration_says_what_each_recipe_needs() -> None:
    from ampcourse.engines.zero import configuration

    found = {
        base: configuration(parse(base), 3, 8, 0.1) for base in ("fp32", "amp-bf16", "amp-fp16")
    }
    assert ["bf16" in found[base] for base in found] == [False, True, False]
    assert ["fp16" in found[base] for base in found] == [False, False, True]
    assert all(one["gradient_clipping"] == 0 for one in found.values())
    assert all(one["optimizer"]["params"]["torch_adam"] for one in found.values())
    assert 2 ** found["amp-fp16"]["fp16"]["initial_scale_power"] == 65536
    with pytest.raises(ValueError, match="stage 4 is unknown; ZeRO has 1, 2 and 3"):
        configuration(recipe_for("deepspeed", "fp32"), 4, 8, 0.1)
