"""Traces of torch.profiler and of a model: who was busy, and who waited for whom."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ampcourse.benchmark.devices import Device
from ampcourse.benchmark.kernels import Kernel
from ampcourse.benchmark.layers import Workload
from ampcourse.benchmark.roofline import step_limit
from ampcourse.benchmark.trace import Span, Trace, covered, modelled_trace, read_trace

ROUND = Device("round", "quoted", {"fp32": 1}, 100, frozenset(), "a test")


def event(cat: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, **more}


def written(tmp_path: Path, events: list[dict[str, Any]]) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_overlapping_spans_count_once() -> None:
    spans = [Span("device", "kernel", "k", *ends) for ends in ((0, 10), (5, 8), (9, 12), (20, 21))]
    assert covered(spans) == 13
    assert covered([]) == 0


def test_a_gpu_trace_is_read_as_host_and_device(tmp_path: Path) -> None:
    events = [
        event("cpu_op", "aten::conv2d", 1000, 40),
        event("cpu_op", "aten::cudnn_convolution", 1010, 20),  # inside the one before
        event("cuda_runtime", "cudaLaunchKernel", 1020, 10),
        event("kernel", "volta_fp16_s884", 1035, 100),
        event("kernel", "other stream", 1085, 100),
        event("cuda_runtime", "cudaDeviceSynchronize", 1050, 150),
        event("python_function", "train.py(3): step", 900, 500),
        {"ph": "M", "name": "process_name"},
    ]
    trace = read_trace(written(tmp_path, events))
    assert [span.name for span in trace.of("host") if span.kind == "op"] == ["aten::conv2d"]
    assert trace.length == 200
    assert trace.device_busy == 150 / 200
    assert trace.host_busy == 40 / 200
    assert trace.issue_share == 40 / 200  # until the op is over
    assert not trace.host_bound
    assert trace.source == "torch.profiler, trace.json"


def test_what_torch_profiler_writes_can_be_read(tmp_path: Path) -> None:
    with torch.profiler.profile() as profile:
        torch.mm(torch.ones(64, 64), torch.ones(64, 64)).relu()
    path = tmp_path / "live.json"
    profile.export_chrome_trace(str(path))
    trace = read_trace(path)
    assert {"aten::mm", "aten::relu"} <= {span.name for span in trace.of("host")}
    assert trace.of("device") == ()
    assert 0 < trace.host_busy <= 1
    assert min(span.start for span in trace.spans) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "is no trace of torch.profiler"),
        ("[]", "is no trace of torch.profiler"),
        ('{"traceEvents": []}', "holds no op and no kernel"),
    ],
)
def test_what_is_no_trace_is_refused_by_its_name(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"odd\.json.*{words}"):
        read_trace(path)


def work(*megabytes: int) -> Workload:
    """Return kernels without arithmetic: 100 MB take 1 ms at 100 GB/s."""
    found = (Kernel("l", "forward", "relu", "relu", 0, n * 10**6) for n in megabytes)
    return Workload("fp32", 1, tuple(found))


def test_a_kernel_starts_when_it_was_issued_and_the_one_before_is_done() -> None:
    trace = modelled_trace(work(100, 100), ROUND, 10)
    ends = [(span.start, span.end) for span in trace.of("device")]
    assert ends == [pytest.approx((10, 1010)), pytest.approx((1010, 2010))]
    assert trace.device_busy == pytest.approx(2000 / 2010)
    assert trace.issue_share == pytest.approx(20 / 2010)
    assert [span.kind for span in trace.of("host")] == ["launch", "launch", "wait"]


def test_the_scaler_lets_the_host_wait_for_the_backward_pass_once() -> None:
    phases = [("forward", "relu"), ("backward", "relu"), ("optimizer", "unscale")]
    phases += [("optimizer", "add_"), ("optimizer", "add_")]
    found = tuple(Kernel("l", phase, op, "other", 0, 10**8) for phase, op in phases)
    scaled = modelled_trace(Workload("amp-fp16", 1, found), ROUND, 10)
    waits = [(span.start, span.end) for span in scaled.of("host") if span.kind == "wait"]
    assert waits == [pytest.approx((30, 3010)), pytest.approx((3030, 5020))]
    assert scaled.length == pytest.approx(5020)
    # 5 launches of 10 µs; the last of them ends at 60 % of the step.
    assert scaled.issue_share == pytest.approx(50 / 5020)
    assert not scaled.host_bound
    plain = modelled_trace(Workload("amp-bf16", 1, found), ROUND, 10)
    assert [span.kind for span in plain.of("host")].count("wait") == 1


def test_python_between_launches_issues_and_a_wait_inside_an_op_does_not() -> None:
    spans = (
        Span("host", "op", "a", 0, 10),
        Span("host", "op", "aten::item", 40, 80),
        Span("host", "wait", "cudaStreamSynchronize", 45, 75),
        Span("host", "wait", "cudaDeviceSynchronize", 80, 100),
    )
    assert Trace(spans, "a test").issue_share == (80 - 30) / 100


def test_small_kernels_leave_the_device_waiting_for_the_host() -> None:
    trace = modelled_trace(work(*[1] * 50), ROUND, 40)  # 10 µs each, 40 µs to issue
    assert trace.host_bound
    assert trace.length == pytest.approx(50 * 40 + 10)
    assert trace.device_busy == pytest.approx(500 / 2010)
    assert trace.host_busy == pytest.approx(2000 / 2010)


def test_the_device_needs_as_long_as_the_roofline_says() -> None:
    kernels = tuple(
        Kernel("l", "forward", "mm", "linear", flops, moved, "fp32")
        for flops, moved in ((10**9, 10**6), (10**6, 10**8), (10**9, 10**8))
    )
    both = Workload("fp32", 1, kernels)
    device = sum(s.end - s.start for s in modelled_trace(both, ROUND, 1).of("device"))
    assert device == pytest.approx(step_limit(both, ROUND).seconds * 1e6)


def test_a_host_that_needs_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="launch_us=0"):
        modelled_trace(work(1), ROUND, 0)


def test_waiting_is_not_busy() -> None:
    spans = (Span("host", "launch", "a", 0, 10), Span("host", "wait", "b", 10, 100))
    trace = Trace(spans, "a test")
    assert (trace.host_busy, trace.issue_share) == (0.1, 0.1)
    worked = replace(spans[1], kind="op")
    assert Trace((spans[0], worked), "a test").host_busy == 1.0
