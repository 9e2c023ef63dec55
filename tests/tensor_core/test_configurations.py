"""The table of configurations: which exist, what they rest on, and the errors for others."""

from __future__ import annotations

import dataclasses

import pytest

from ampcourse.tensor_core import CONFIGURATIONS, Configuration, configuration
from tests.tensor_core.sums import label, limits

FP8 = ("e4m3", "e5m2")


@pytest.mark.parametrize("rule", CONFIGURATIONS, ids=label)
def test_block_length_fraction_bits_and_zero_are_those_of_the_papers(rule: Configuration) -> None:
    assert (rule.block_length, rule.fraction_bits, rule.zero_exponent) == limits(rule)


def test_each_gpu_has_the_formats_of_its_generation() -> None:
    pairs = {
        gpu: {f"{x.input_format}-{x.output_format}" for x in CONFIGURATIONS if x.gpu == gpu}
        for gpu in dict.fromkeys(x.gpu for x in CONFIGURATIONS)
    }
    first, ampere = {"fp16-fp32", "fp16-fp16"}, {"bf16-fp32", "tf32-fp32"}
    fp8 = {"e4m3-fp32", "e4m3-fp16", "e5m2-fp32", "e5m2-fp16"}
    assert pairs == {
        **dict.fromkeys(("V100", "T4"), first),
        **dict.fromkeys(("A100", "A2"), first | ampere),
        **dict.fromkeys(("Ada", "L40S", "H100", "H200", "B200"), first | ampere | fp8),
    }


def test_instructions_differ_only_for_fp8() -> None:
    by_key: dict[tuple[str, str, str], list[Configuration]] = {}
    for rule in CONFIGURATIONS:
        by_key.setdefault((rule.gpu, rule.input_format, rule.output_format), []).append(rule)
    for rules in by_key.values():
        rest = {
            dataclasses.replace(rule, instruction="mma.sync", evidence="").__repr__()
            for rule in rules
        }
        assert len(rest) == (len(rules) if rules[0].input_format in FP8 else 1)


def test_only_fp8_mma_sync_of_hopper_and_blackwell_is_emulated() -> None:
    for rule in CONFIGURATIONS:
        new = rule.gpu in ("H100", "H200", "B200") and rule.input_format in FP8
        assert rule.emulated == (new and rule.instruction == "mma.sync")


@pytest.mark.parametrize(
    ("gpu", "inputs", "outputs", "instruction", "start"),
    [
        ("V100", "fp16", "fp32", None, "recorded rows"),
        ("T4", "fp16", "fp32", None, "probes on a T4 (PeerJ CS 7:e330)"),
        ("H100", "fp16", "fp32", "wgmma", "paper arXiv 2511.10909"),
        ("H100", "e4m3", "fp32", "wgmma", "recorded rows read with C = 0"),
        ("H200", "e5m2", "fp16", "wgmma", "paper arXiv 2511.10909"),
        ("H100", "e4m3", "fp16", "mma.sync", "recorded rows"),
        ("H100", "e4m3", "fp32", "mma.sync", "inferred from H100's rows with fp16 output"),
        ("L40S", "e4m3", "fp16", None, "inferred from Ada's rows"),
        ("B200", "e4m3", "fp32", "mma.sync", "recorded rows"),
        ("B200", "e4m3", "fp32", "tcgen05", "paper arXiv 2511.10909"),
    ],
)
def test_the_record_says_what_it_rests_on(
    gpu: str, inputs: str, outputs: str, instruction: str | None, start: str
) -> None:
    assert configuration(gpu, inputs, outputs, instruction).evidence.startswith(start)


def test_what_has_no_recorded_rows_does_not_claim_any() -> None:
    for rule in CONFIGURATIONS:
        tcgen05, t4 = rule.instruction == "tcgen05", rule.gpu == "T4"
        wgmma = rule.instruction == "wgmma"
        fp8_rows = rule.input_format in FP8 and rule.output_format == "fp32"
        if tcgen05 or t4 or (wgmma and not fp8_rows):
            assert not rule.recorded
        if wgmma and rule.recorded:
            assert "C = 0" in rule.evidence


def test_the_default_instruction_is_the_one_made_for_fp8() -> None:
    names = {gpu: configuration(gpu, "e4m3").instruction for gpu in ("Ada", "H100", "B200")}
    assert names == {"Ada": "mma.sync", "H100": "wgmma", "B200": "tcgen05"}
    assert configuration("B200", "fp16").instruction == "mma.sync"


def test_names_may_be_in_any_case_and_formats_be_records() -> None:
    rule = configuration("a100", "float16", "FP32", "MMA.SYNC")
    assert rule is configuration("A100", rule.input, rule.output)
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.block_length = 16  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("V10",), "unknown GPU 'V10'; did you mean 'V100'? there is V100, T4, A100"),
        (("V100", "bf16"), "V100 has no Tensor Core for bf16; A100, A2, Ada, L40S, H100"),
        (("A100", "e4m3"), "A100 has no Tensor Core for e4m3; Ada, L40S, H100, H200, B200 have"),
        (("H100", "fp64"), "no configuration here multiplies fp64; they multiply fp16, bf16"),
        (
            ("H100", "bf16", "fp16"),
            "bf16 on H100 has no fp16 output, only fp32; fp16 output",
        ),
        (("A100", "fp16", "fp32", "wgmma"), "there is mma.sync"),
        (("H100", "fp16", "fp32", "wgma"), "did you mean 'wgmma'?"),
        (("H100", "fp17"), "unknown format 'fp17'"),
    ],
)
def test_a_combination_that_does_not_exist_says_which_do(
    arguments: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        configuration(*arguments)
    assert words in str(caught.value)


def test_a_gpu_is_named_by_text() -> None:
    with pytest.raises(TypeError, match="named by text, not by 100"):
        configuration(100)  # type: ignore[arg-type]
