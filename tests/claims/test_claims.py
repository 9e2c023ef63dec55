"""Each claim's verdict, and the numbers in its evidence, against arithmetic done elsewhere."""

from functools import cache

import numpy as np
import pytest

from ampcourse.claims import CLAIMS, NUMBERS, Claim, Finding, speed, table, training

BY_NAME = {claim.name: claim for claim in CLAIMS}


@cache
def found(name: str) -> Finding:
    """Return what the check of a claim finds; some of them take seconds."""
    return BY_NAME[name].check()


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("range", "wrong"),
        ("smallest", "right in part"),
        ("exponent 0xFF", "wrong"),
        ("below 2^-24", "wrong"),
        ("factor of 8", "right in part"),
        ("convert first", "wrong"),
        ("CUDA only", "wrong"),
        ("gradient type", "right in part"),
        ("quarter vanishes", "depends"),
        ("FP16 weights", "depends"),
        ("scale 1024", "wrong"),
        ("old names", "wrong"),
        ("communication", "wrong"),
        ("barrier", "wrong"),
        ("capability 7", "wrong"),
        ("three lines", "depends"),
        ("half the memory", "right in part"),
        ("twice the batch", "right in part"),
        ("ten epochs", "not checkable"),
        ("RTX 4090", "depends"),
        ("V100's units", "right in part"),
    ],
)
def test_verdict_of_each_claim(name: str, verdict: str) -> None:
    assert found(name).verdict == verdict


def test_every_claim_has_its_own_name_and_one_sentence_of_evidence() -> None:
    assert len(BY_NAME) == len(CLAIMS) == 21
    for claim in CLAIMS:
        assert found(claim.name).evidence.endswith("."), claim.name


def test_range_is_numpys() -> None:
    evidence = found("range").evidence
    assert f"±{int(np.finfo(np.float16).max)}" in evidence
    assert f"±{np.finfo(np.float32).max:.4g}" in evidence
    assert f"{np.finfo(np.float16).max / 2**15:.4f}" in evidence


def test_a_cast_that_flushed_everything_below_the_smallest_would_make_the_claim_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    monkeypatch.setattr(torch.Tensor, "half", lambda x: torch.zeros_like(x))
    assert BY_NAME["below 2^-24"].check().verdict == "right"


def test_two_thirds_of_the_window_below_the_smallest_vanish_and_none_after_eight() -> None:
    # [2^-27, 2^-25] of [2^-27, 2^-24) in exponents: two of three.
    values = (2.0 ** np.linspace(-27, -24, 3001)[:-1]).astype(np.float32)
    assert 0.66 < np.mean(values.astype(np.float16) == 0) < 0.67
    assert not np.any((values * 8).astype(np.float16) == 0)
    assert "67% become 0, and times 8 0%" in found("factor of 8").evidence


def test_first_steps_flushed_share_is_no_larger_than_the_share_below_the_smallest() -> None:
    below, flushed = training.first_step_shares()
    assert 0 < flushed < below < 1


def test_largest_batch_fits_and_one_more_does_not() -> None:
    from ampcourse.memory.peak import predict

    memory = 2 * 2**30
    batch = speed._largest("fp32", memory)
    small, large = (
        predict(speed._resnet50(), "momentum", "fp32", (n, 1, 96, 96)).peak
        for n in (batch, batch + 1)
    )
    assert small <= memory < large


def test_the_articles_ratios_are_those_of_their_own_figures() -> None:
    assert f"{333 / 141:.2f} times" in found("ten epochs").evidence
    assert f"torch.amp {22.27 / 16.99:.2f} and Apex {22.27 / 16.51:.2f}" in (
        found("RTX 4090").evidence
    )


def test_volta_peak_is_the_product_of_its_counts() -> None:
    assert f"{80 * 8 * 64 * 2 * 1.53 / 1000:.1f} TFLOP/s" in (found("V100's units").evidence)


def test_table_has_a_row_for_each_claim() -> None:
    made = table(NUMBERS)
    assert list(made.index) == [claim.name for claim in NUMBERS]
    assert list(made["verdict"]) == [claim.check().verdict for claim in NUMBERS]


def test_unknown_verdicts_and_ways_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="verdict='maybe' is unknown"):
        Finding("maybe", "x.")
    with pytest.raises(ValueError, match="way='felt' is unknown"):
        Claim("x", "y", "01", "felt", BY_NAME["range"].check)
