"""What is claimed of each scene, whether it is played now or was recorded.

Roundings. The gradient of two ranks is a sum of two numbers, of which the order does not matter,
divided by 2, which is exact: DDP, FSDP2 and ZeRO add the same two FP32 numbers and update each
weight by the same rule, so that their weights must have the same bits, if the update's few
operations are rounded alike for an element wherever it lies. Vector and scalar code of one CPU
may differ in a fused multiply-add, so `ULPS` of an Adam step's size are granted, far below the
differences that any mistake makes (a gradient summed, not averaged: 100 % of a step and more).
One process adds up 32 images' gradients in another order than two ranks with 16 each: a
difference of each gradient of the order of 2^-24 times the root of the additions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ampcourse.memory.shards import zero_bytes

#: Adam's numbers have at most this many roundings in a row that fused code may leave out.
ULPS = 8

#: Losses of FP32 trainings whose sums were added up in another order.
ORDER = 2.0**-24 * 16


def close(a: list[float], b: list[float], relative: float = ORDER) -> bool:
    return len(a) == len(b) > 0 and all(
        math.isclose(x, y, rel_tol=relative, abs_tol=0.0) for x, y in zip(a, b, strict=True)
    )


def ddp(found: dict[str, Any]) -> None:
    inf = found["inf"]
    assert inf["own_gradients_finite"] == [[True] * 4, [True, False, True, True]]
    assert inf["averaged_gradients_finite"] == [[True, False, True, True]] * 2
    assert inf["skipped"] == [[False, True, False, False]] * 2
    assert inf["scale"] == [[1024.0, 512.0, 512.0, 512.0]] * 2
    assert inf["same_weights"] == [True] * 4
    fp32, bf16 = found["all_reduce"]["fp32"], found["all_reduce"]["bf16"]
    assert fp32["bytes"] == 4 * found["all_reduce"]["elements"] == 2 * bf16["bytes"]
    # One addition rounded to 24 bits: half an ulp of the result. The division by 2 is exact.
    assert fp32["share_changed"] == 0
    assert 0 < fp32["largest_relative_error"] <= 2.0**-24
    # Each summand and the sum are rounded to 8 bits: to half an ulp, at most 2^-9 of a number.
    assert 2.0**-11 < bf16["relative_error"] < 2.0**-8
    assert 2.0**-10 < bf16["largest_error_over_inputs"] <= 2.0**-8 * (1 + 2.0**-8)
    assert bf16["share_changed"] > 0.5


def local_found_inf(found: dict[str, Any]) -> None:
    bad = [[False] * 6, [False, False, True, False, False, False]]
    everywhere = [bad[1]] * 2
    halved = [1024.0] * 2 + [512.0] * 4
    kept, shared = found["kept"], found["shared"]
    assert kept["own_found_inf"] == shared["own_found_inf"] == bad
    assert kept["skipped"] == bad
    assert kept["scale"] == [[1024.0] * 6, halved]
    assert max(kept["weights_error"][:2]) < ORDER
    assert min(kept["weights_error"][2:]) > 1000 * ORDER
    for mode in ("shared", "torch"):
        assert found[mode]["skipped"] == everywhere
        assert found[mode]["scale"] == [halved] * 2
        assert max(found[mode]["weights_error"]) < ORDER


def fsdp2(found: dict[str, Any]) -> None:
    loss = found["loss"]
    assert found["largest_difference_ulps"]["fsdp2"] <= ULPS
    assert close(loss["fsdp2"], loss["ddp"], 2.0**-24 * ULPS)
    assert close(loss["ddp"], loss["one process"])
    # BF16 has 8 bits: autocast and the policy cast the same layers, but neither is FP32.
    assert close(loss["fsdp2 bf16"], loss["ddp bf16"], 2.0**-8)
    assert close(loss["ddp bf16"], loss["ddp"], 2.0**-6)
    assert loss["ddp bf16"] != loss["ddp"]
    for name, stage in (("ddp", 0), ("fsdp2", 3), ("fsdp2 bf16", 3)):
        matches(found["bytes"][name], found["shapes"], stage, "fp32", "rows")


def matches(
    measured: dict[str, list[int]],
    shapes: list[list[int]],
    stage: int,
    recipe: str,
    division: str,
    kinds: tuple[str, ...] = ("weights", "gradients", "optimizer"),
) -> None:
    """The fullest rank keeps what the formula says, byte for byte, and no rank keeps more."""
    formula = zero_bytes(shapes, 2, stage, "adam", recipe, division=division)
    expected = {
        "weights": formula.weights,
        "gradients": formula.gradients,
        "optimizer": formula.optimizer_state,
    }
    assert {kind: max(measured[kind]) for kind in kinds} == {k: expected[k] for k in kinds}


def checkpoint_2_to_1(found: dict[str, Any]) -> None:
    assert found["same_weights_loaded"]
    assert found["same_optimizer_loaded"]
    assert len(found["loss"]["one rank"]) == 3
    assert close(found["loss"]["one rank"], found["loss"]["two ranks"])
    files = found["files"]
    # Each rank has written a half of the weights and of Adam's two moments, three times 4 bytes.
    assert min(files["__0_0.distcp"], files["__1_0.distcp"]) > 9098 * 12 / 2
    assert {".metadata", "about.json"} < set(files)


def killed_rank(found: dict[str, Any]) -> None:
    first, second = found["attempts"]
    assert (first["first_step"], first["last_step"]) == (0, found["killed"]["before_step"])
    last_saved = found["killed"]["before_step"] // found["checkpoint_every"]
    assert second["first_step"] == last_saved * found["checkpoint_every"] == 6
    assert second["last_step"] == 9
    assert found["loss"]["last attempt"] == found["loss"]["undisturbed"][6:]
    assert found["same_weights"]


def deepspeed(found: dict[str, Any]) -> None:
    loss, measured = found["loss"], found["bytes"]
    for stage, division in ((1, "even"), (2, "even"), (3, "tensors")):
        name = f"zero{stage}"
        assert found["largest_difference_ulps"][name] <= ULPS
        assert close(loss[name], loss["ddp"], 2.0**-24 * ULPS)
        assert loss[f"{name} bf16"] != loss["ddp"]
        assert close(loss[f"{name} bf16"], loss["ddp"], 2.0**-6)
        # Before the update stage 1 has cut out the gradients of its part, as stage 2.
        kinds = ("optimizer",) if stage == 1 else ("gradients", "optimizer")
        matches(measured[f"{name} bf16"], found["shapes"], stage, "masters", division, kinds)
    matches(measured["zero3 bf16"], found["shapes"], 3, "masters", "tensors")
    matches(measured["ddp"], found["shapes"], 0, "fp32", "flat")
    # Weights lie in one buffer that is padded to an even number for each rank.
    padded = zero_bytes(found["shapes"], 2, 3, "adam", "masters", division="even").weights * 2
    for stage in (1, 2):
        assert measured[f"zero{stage} bf16"]["weights"] == [padded] * 2
    # Stage 1 keeps whole gradients between micro-steps, stages 2 and 3 do not.
    between = found["gradients_between_micro_steps"]
    assert between["zero1 bf16"] == [2 * found["parameters"]] * 2
    assert max(between["zero2 bf16"]) < 2 * found["parameters"]
    assert between["zero3 bf16"] == measured["zero3 bf16"]["gradients"]
    # The default clips: the same first loss, other losses later.
    clipped = loss["zero2, gradient_clipping left away"]
    assert clipped[0] == loss["ddp"][0]
    assert not close(clipped[2:], loss["ddp"][2:], 2.0**-14)


CLAIMS: dict[str, Callable[[dict[str, Any]], None]] = {
    "ddp": ddp,
    "local_found_inf": local_found_inf,
    "fsdp2": fsdp2,
    "checkpoint_2_to_1": checkpoint_2_to_1,
    "killed_rank": killed_rank,
    "deepspeed": deepspeed,
}
