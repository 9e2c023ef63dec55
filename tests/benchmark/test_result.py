"""A record computes its ratio the right way up and refuses what nobody could believe."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from ampcourse.benchmark import Measurement, Result


def result(unit: str = "s", baseline: Any = 2.0, amp: Any = 1.0, **more: Any) -> Any:
    given = {"kind": "measured", "date": "2026-01-02", "source": "a test", "hardware": "a GPU"}
    runs = Measurement("fp32", baseline), Measurement("bf16", amp)
    return Result(**{"task": "a task", **given, **more}, unit=unit, baseline=runs[0], amp=runs[1])


@pytest.mark.parametrize("unit", ["s", "min", "ms/step"])
def test_half_the_time_is_twice_the_speed(unit: str) -> None:
    assert result(unit, baseline=2.0, amp=1.0).speedup == 2.0


@pytest.mark.parametrize("unit", ["images/s", "relative"])
def test_twice_the_throughput_is_twice_the_speed(unit: str) -> None:
    assert result(unit, baseline=1.0, amp=2.0).speedup == 2.0


def test_memory_change_is_relative_to_the_baseline_and_negative_when_less() -> None:
    runs = {
        "baseline": Measurement("fp32", 1.0, memory_mb=1000),
        "amp": Measurement("fp16", 1.0, memory_mb=750),
    }
    assert dataclasses.replace(result(), **runs).memory_change == -0.25
    assert result().memory_change is None


@pytest.mark.parametrize("name", ["task", "hardware", "date", "source"])
def test_a_record_without_provenance_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"a result without {name}"):
        result(**{name: " "})


def test_unknown_kind_and_unit_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="published, quoted, measured"):
        result(kind="guessed")
    with pytest.raises(ValueError, match="images/s"):
        result(unit="hours")


@pytest.mark.parametrize("value", [0, -1.0, float("nan")])
def test_impossible_numbers_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        Measurement("fp32", value)


def test_json_brings_a_record_back_whole() -> None:
    more: Any = {"note": "why", "baseline_inferred": True, "doubt": "too few steps"}
    before = result(flags={"batch": 256}, versions={"torch": "2.9"}, **more)
    text = json.dumps(before.to_json())
    assert Result.from_json(json.loads(text)) == before
    assert "driver" not in text  # what is unknown is left out
    assert not {"baseline_inferred", "doubt"} & set(result().to_json())
