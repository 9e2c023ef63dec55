"""The numbers that lesson 03 writes out are those of the library's records."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from ampcourse.tensor_core import CONFIGURATIONS, block_terms, configuration, gemm, mma
from ampcourse.tensor_core.configurations import GPU_NAMES
from ampcourse.tensor_core.throughput import GPUS

SOURCE = Path(__file__).parents[2] / "notebooks" / "source" / "03_tensor_cores.py"
TEXT = SOURCE.read_text("utf-8")


def row(first: str) -> list[str]:
    """Return the cells of the table row whose first cell starts like this."""
    found = re.findall(rf"^\| {re.escape(first)}[^|]*\|(.+)\|$", TEXT, re.MULTILINE)
    assert len(found) == 1, f"rows that start with {first!r}: {found}"
    return [cell.strip() for cell in found[0].split("|")]


COLUMNS = [cell.split(", ") for cell in row("FP16 inputs, FP32 sum")]


def table() -> dict[str, tuple[int, int]]:
    """Return L and F by GPU as the lesson's table has them."""
    lengths, bits = row("products in a block, $L$"), row("fraction bits, $F$")
    columns = zip(COLUMNS, lengths, bits, strict=True)
    return {name: (int(L), int(F)) for names, L, F in columns for name in names}


def sheets() -> dict[str, dict[str, float]]:
    """Return the lesson's data sheets, read from its source: GPU, field, number."""
    fields: list[str] = []
    found = {}
    for node in ast.parse(TEXT).body:
        if isinstance(node, ast.ClassDef) and node.name == "Sheet":
            fields = [x.target.id for x in node.body if isinstance(x, ast.AnnAssign)]  # type: ignore[union-attr]
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made, name = node.value.func, node.targets[0]
            if isinstance(made, ast.Name) and made.id == "Sheet" and isinstance(name, ast.Name):
                numbers = [ast.literal_eval(x) for x in node.value.args]
                found[name.id] = dict(zip(fields, numbers, strict=True))
    return found


SHEETS = sheets()


def prose(pattern: str) -> tuple[str, ...]:
    """Return the groups of a sentence that the lesson must have, whatever its line breaks."""
    found = re.search(pattern, " ".join(TEXT.split()))
    assert found, f"the lesson no longer says {pattern!r}: mend this test with it"
    return found.groups()


def test_table_names_every_gpu_once() -> None:
    assert sorted(name for names in COLUMNS for name in names) == sorted(GPU_NAMES)


@pytest.mark.parametrize("gpu", GPU_NAMES)
def test_table_has_the_lengths_and_bits_of_the_records(gpu: str) -> None:
    rule = configuration(gpu, "fp16", "fp32")
    assert table()[gpu] == (rule.block_length, rule.fraction_bits)


def test_all_of_the_table_but_the_t4_was_recorded_as_the_lesson_says() -> None:
    prose(r"All entries of the table but the T4's were also held against recorded outputs")
    recorded = {gpu for gpu in GPU_NAMES if configuration(gpu, "fp16", "fp32").recorded}
    assert recorded == set(GPU_NAMES) - {"T4"}


def test_the_model_has_as_many_gpus_as_the_lesson_counts() -> None:
    words = {"eight": 8, "nine": 9, "ten": 10}
    told, recorded = prose(r"model of (\w+) GPUs.* recorded on (\w+) of these GPUs")
    assert words[told] == len(GPU_NAMES)
    assert words[recorded] == len({rule.gpu for rule in CONFIGURATIONS if rule.recorded})


def test_as_many_outputs_agree_as_the_lesson_says() -> None:
    told, without_c = prose(r"agrees with (\d+),000 outputs .* (\d+),000 of FP8 if their C is")
    recorded = [rule.evidence for rule in CONFIGURATIONS if rule.recorded]  # 1,000 rows each
    assert int(without_c) == sum("read with C = 0" in text for text in recorded)
    assert int(told) == len(recorded) - int(without_c)


def test_fp8_of_mma_sync_on_an_h100_is_recorded_with_fp16_output_only() -> None:
    prose(r"`mma\.sync` with FP8 was recorded with FP16 output; for FP32 output the model infers")
    assert configuration("H100", "e4m3", "fp16", "mma.sync").evidence == "recorded rows"
    evidence = configuration("H100", "e4m3", "fp32", "mma.sync").evidence
    assert evidence == "inferred from H100's rows with fp16 output and B200's with fp32 output"


def test_zeros_exponent_is_below_every_fp16_product_and_counts_in_tf32() -> None:
    prose(r"with FP32 output it lies below that of any FP16 product")
    rules = [rule for rule in CONFIGURATIONS if rule.output_format == "fp32"]
    assert max(rule.zero_exponent for rule in rules) < -14 - 14
    told = -int(prose(r"below zero's exponent, −(\d+) on an A100")[0])
    assert told == configuration("A100", "tf32").zero_exponent
    a, b = [2.0**-70, 2.0**-80], [2.0**-70 * (1 + 2.0**-9), -(2.0**-80)]  # 2^-140 … − 2^-160
    block = block_terms(a, b, 0.0, gpu="A100", input_format="tf32")
    without_zeros = 2.0**-140  # cut at 2^-164, no term loses a bit, and then the output does
    assert (block.emax, block.result) == (told, 2.0**-140 + 2.0**-149)
    assert block.result != without_zeros


def test_the_nan_of_mma_has_the_code_that_the_lesson_says() -> None:
    (code,) = prose(r"NaN that `mma` returns has the code (0x\w+)")
    for gpu in GPU_NAMES:
        d = mma(np.array([np.nan]), np.ones(1), np.float32(0), gpu=gpu)
        assert d.view(np.uint32) == int(code, 16)


def test_every_fp32_sum_is_cut_as_in_step_five() -> None:
    rules = [rule for rule in CONFIGURATIONS if rule.output_format == "fp32"]
    assert {rule.output_rounding for rule in rules} == {"toward_zero"}


def test_a_block_of_tf32_has_half_the_products() -> None:
    prose(r"A block holds half as many products as in FP16")
    for rule in CONFIGURATIONS:
        if rule.input_format == "tf32":
            assert 2 * rule.block_length == configuration(rule.gpu, "fp16").block_length


def test_fp8_on_hopper_has_the_bits_that_the_lesson_says() -> None:
    bits, output = prose(r"FP8 products with only \$F = (\d+)\$ and cuts the output to (\d+)")
    rule = configuration("H100", "e4m3", "fp32", "wgmma")
    assert (int(bits), int(output)) == (rule.fraction_bits, rule.output_fraction_bits)
    assert configuration("H100", "e4m3", "fp32", "mma.sync").emulated


def test_mixed_signs_have_smaller_errors_that_are_larger_relative_to_the_sum() -> None:
    prose(r"With mixed signs absolute errors are smaller, but .* far larger relative error")
    rng = np.random.default_rng(5)
    errors, relative = [], []
    for raw in (rng.uniform(0, 1, (2, 32, 4096)), rng.normal(size=(2, 32, 4096))):
        A, B = raw[0].astype(np.float16).astype(float), raw[1].T.astype(np.float16).astype(float)
        off = abs(gemm(A, B, gpu="H100") - A @ B)
        errors.append(off.mean())
        relative.append((off / abs(A @ B)).max())
    assert errors[1] < errors[0] / 10
    assert relative[1] > 10 * relative[0]


def test_three_sheets_were_found() -> None:
    assert list(SHEETS) == ["V100", "A100", "H100"]


@pytest.mark.parametrize("name", SHEETS)
def test_sheets_have_the_numbers_of_the_records(name: str) -> None:
    gpu = GPUS[name]
    assert SHEETS[name] == {
        "die_sms": gpu.chip_sms,
        "sms": gpu.sms,
        "fp32_cores": gpu.fp32_cores_per_sm,
        "tensor_cores": gpu.tensor_cores_per_sm,
        "fma": gpu.fma_per_clock["fp16"],
        "ghz": gpu.tensor_clock,
    }


def test_prose_about_the_v100_has_the_numbers_of_its_record() -> None:
    gpu = GPUS["V100"]
    cores, tensor_cores, fmas = map(
        int, prose(r"V100 has (\d+) FP32 cores.* and (\d+) Tensor Cores, .*block, (\d+) FMAs")
    )
    counts = (gpu.fp32_cores_per_sm, gpu.tensor_cores_per_sm, gpu.fma_per_clock["fp16"])
    assert (cores, tensor_cores, fmas) == counts
    die, used = map(int, prose(r"die with (\d+) SMs, of which the product uses (\d+)"))
    assert (die, used) == (gpu.chip_sms, gpu.sms)
    tflops, bandwidth = map(int, prose(r"\((\d+) TFLOP/s over (\d+) GB/s\)"))
    assert (tflops, bandwidth) == (gpu.quoted["fp16"], gpu.bandwidth)
    (ridge,) = map(int, prose(r"needs about (\d+) operations for each byte"))
    assert ridge == round(1000 * gpu.quoted["fp16"] / gpu.bandwidth)


def test_peaks_follow_the_width_on_a100_and_h100_as_the_lesson_says() -> None:
    for name in ("A100", "H100"):
        fmas = GPUS[name].fma_per_clock
        for fmt, width in (("tf32", 32), ("bf16", 16), ("fp8", 8)):
            if fmt in fmas:
                assert fmas[fmt] * width == fmas["fp16"] * 16
