"""Outputs recorded on eight GPUs, and probes that tell GPU generations apart.

The data are not part of the project; where they are missing these tests skip. `Configuration.
evidence` names them: T4, tcgen05, and wgmma but for FP8 with C = 0 have no rows.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ampcourse.tensor_core import CONFIGURATIONS, Configuration, configuration, dot_product, mma
from tests.tensor_core.sums import label

VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors"
FOLDER, PROBES = VECTORS / "tensor_cores", VECTORS / "tensor_core_probes.jsonl"
RECORDED = [rule for rule in CONFIGURATIONS if rule.recorded]
#: Rows of each file that the scalar reference is asked about in the normal suite.
SAMPLE = 10

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir() or not PROBES.is_file(),
    reason="needs the recorded outputs in ../shared/vectors, which are not part of the project",
)

Rows = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


@cache
def rows(rule: Configuration) -> Rows:
    """Return a, b, c and d of the file that belongs to a configuration."""
    path = FOLDER / f"{rule.gpu}_{rule.input_format}_{rule.output_format}.txt.gz"
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")[1:]
    fields = [line.split(";") for line in lines if line]
    a, b, c, d = (np.array([words(row[i]) for row in fields]) for i in range(4))
    c, d = c[:, 0], d[:, 0]
    if rule.output_format == "fp16":  # the recording rounded it
        c = c.astype(np.float16).astype(np.float32)
    if rule.evidence.startswith("recorded rows read with C = 0"):
        c = np.zeros_like(c)
    return a, b, c, d


def words(text: str) -> NDArray[np.float32]:
    return np.array([int(word, 16) for word in text.split()], np.uint32).view(np.float32)


def how(rule: Configuration) -> tuple[str, str, str, str]:
    return rule.gpu, rule.input_format, rule.output_format, rule.instruction


def test_every_file_belongs_to_one_configuration_that_names_it() -> None:
    files = {path.name.removesuffix(".txt.gz") for path in FOLDER.glob("*.txt.gz")}
    named = [f"{rule.gpu}_{rule.input_format}_{rule.output_format}" for rule in RECORDED]
    assert len(named) == len(set(named)) == 48
    assert files == set(named)


@pytest.mark.parametrize("rule", RECORDED, ids=label)
def test_mma_gives_every_recorded_output(rule: Configuration) -> None:
    a, b, c, d = rows(rule)
    assert len(d) == 1000
    wrong = np.flatnonzero(mma(a, b, c, *how(rule)).view(np.uint32) != d.view(np.uint32))
    assert not len(wrong), f"{len(wrong)} rows differ, the first is {wrong[0]}"


def scalar_mismatches(rule: Configuration, count: int) -> list[int]:
    a, b, c, d = rows(rule)
    return [
        i
        for i in range(count)
        if dot_product(a[i].tolist(), b[i].tolist(), float(c[i]), *how(rule)) != d[i]
    ]


@pytest.mark.parametrize("rule", RECORDED, ids=label)
def test_the_scalar_reference_gives_the_first_recorded_outputs(rule: Configuration) -> None:
    assert scalar_mismatches(rule, SAMPLE) == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", RECORDED, ids=label)
def test_the_scalar_reference_gives_every_recorded_output(rule: Configuration) -> None:
    assert scalar_mismatches(rule, 1000) == []


def test_both_twins_give_what_all_37_probes_expect() -> None:
    probes = [json.loads(line) for line in PROBES.read_text("utf-8").splitlines()]
    assert len(probes) == 37
    assert [found for probe in probes for found in wrong_answers(probe)] == []


def wrong_answers(probe: dict[str, Any]) -> list[tuple[str, str]]:
    a, b = (probe[side] + [0.0] * (probe["K"] - len(probe[side])) for side in "ab")
    wrong = []
    for gpu, text in probe["expected"].items():
        rule = configuration(gpu, probe["in_format"], probe["out_format"])
        c, want = float.fromhex(probe["c"]), float.fromhex(text)
        got = dot_product(a, b, c, *how(rule))
        if not got.hex() == float(mma(a, b, c, *how(rule))).hex() == want.hex():
            wrong.append((probe["name"], gpu))
    return wrong
