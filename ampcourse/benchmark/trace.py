"""What happened when in a step: when the host issued work, when the device did it, and the gaps.

Traces come from torch.profiler's `export_chrome_trace`, or from a model of a GPU: kernels that
take their least time on the roofline, issued one by one by a host that needs the same time for
each. Times are in microseconds from the first event on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ampcourse.benchmark.devices import Device
from ampcourse.benchmark.layers import Workload, find_recipe
from ampcourse.benchmark.roofline import step_limit

#: A step that spends more than this issuing work is bound by its host.
HOST_BOUND = 0.9

# Categories of torch.profiler's trace. A wait is a call of the host, but no work it issues.
_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_HOST = ("cpu_op", "cuda_runtime", "cuda_driver")
_WAITS = ("synchronize", "streamwait", "eventquery")


@dataclass(frozen=True)
class Span:
    """One thing that took time: in the lane "host" or "device", of a kind, from start to end.

    The host's kinds are "op", "launch" (of work for the device) and "wait"; the device's are those
    of ampcourse.benchmark.kernels, or "kernel" where nobody knows.
    """

    lane: str
    kind: str
    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Trace:
    """The spans of one or several steps. `source` says where they are from."""

    spans: tuple[Span, ...]
    source: str

    @property
    def length(self) -> float:
        """Microseconds from the first event to the end of the last."""
        return max(span.end for span in self.spans) - min(span.start for span in self.spans)

    def of(self, lane: str) -> tuple[Span, ...]:
        """Return the spans of a lane, "host" or "device"."""
        return tuple(span for span in self.spans if span.lane == lane)

    @property
    def device_busy(self) -> float:
        """The share of the time in which the device did anything; streams that overlap count
        once."""
        return covered(self.of("device")) / self.length

    @property
    def host_busy(self) -> float:
        """The share of the time in which the host ran ops or issued work, waiting not counted."""
        waiting = covered(span for span in self.of("host") if span.kind == "wait")
        return (covered(self.of("host")) - waiting) / self.length

    @property
    def issue_share(self) -> float:
        """The share of the time that the host needs to issue the work; what it waits is left out.

        From the first event to the last op or launch, Python between them counted, as in
        `throughput.issue_seconds`. A GradScaler waits for the backward pass before the optimizer:
        the last launch is late, and the host may have had little to do.
        """
        work = [span.end for span in self.of("host") if span.kind != "wait"]
        first = min(span.start for span in self.spans)
        last = max(work, default=first)
        waits = (
            replace(span, end=min(span.end, last))
            for span in self.of("host")
            if span.kind == "wait" and span.start < last
        )
        return (last - first - covered(waits)) / self.length

    @property
    def host_bound(self) -> bool:
        """Whether a faster device would hardly help: the host issues nearly all the time."""
        return self.issue_share > HOST_BOUND


def covered(spans: Iterable[Span]) -> float:
    """Return the time that at least one of the spans covers."""
    total, reached = 0.0, float("-inf")
    for span in sorted(spans, key=lambda span: span.start):
        total += max(0.0, span.end - max(span.start, reached))
        reached = max(reached, span.end)
    return total


def read_trace(path: str | Path) -> Trace:
    """Return the trace that torch.profiler's export_chrome_trace wrote.

    Ops that lie inside another are left out, since their time is in the outer one.
    Raises ValueError, naming the file, for what is no such trace or holds no op.
    """
    try:
        events = json.loads(Path(path).read_text(encoding="utf-8"))["traceEvents"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no trace of torch.profiler: {error!r}") from error
    spans = [span for event in events if (span := _span(event)) is not None]
    if not spans:
        raise ValueError(f"{path} holds no op and no kernel: was anything run while profiling?")
    zero = min(span.start for span in spans)
    moved = [replace(span, start=span.start - zero, end=span.end - zero) for span in spans]
    return Trace(tuple(_outermost(moved)), f"torch.profiler, {Path(path).name}")


def _span(event: Mapping[str, Any]) -> Span | None:
    category, name = event.get("cat", ""), str(event.get("name", ""))
    if event.get("ph") != "X" or category not in _DEVICE + _HOST:
        return None
    lane = "device" if category in _DEVICE else "host"
    start = float(event["ts"])
    return Span(lane, _kind(category, name), name, start, start + float(event.get("dur", 0)))


def _kind(category: str, name: str) -> str:
    if category in _DEVICE:
        return "kernel"
    if any(word in name.lower() for word in _WAITS):
        return "wait"
    return "op" if category == "cpu_op" else "launch"


def _outermost(spans: Iterable[Span]) -> list[Span]:
    kept: list[Span] = []
    reached = float("-inf")
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.kind != "op" or span.start >= reached:
            kept.append(span)
        if span.kind == "op":
            reached = max(reached, span.end)
    return kept


def modelled_trace(work: Workload, device: str | Device, launch_us: float) -> Trace:
    """Return a step as a model has it: no kernel before it was issued, one after the other.

    `launch_us` is what the host needs to issue one. The layout is channels last. Where the recipe
    has a GradScaler, the host waits once, for what the scaler found in the gradients: torch's
    `GradScaler.step` calls `found_inf.item()` before the optimizer. Raises ValueError for a device
    that is not quoted or has no peak for the recipe, and a launch that takes no time.
    """
    if not launch_us > 0:
        raise ValueError(f"launch_us={launch_us}: issuing a kernel takes some time; try 25")
    spans, host, free = [], 0.0, 0.0
    looks = find_recipe(work.recipe).scaler
    for kernel in work.kernels:
        if looks and kernel.phase == "optimizer" and kernel.op != "unscale":
            looks = False
            if free > host:
                spans.append(Span("host", "wait", "found_inf.item", host, free))
                host = free
        spans.append(Span("host", "launch", kernel.op, host, host + launch_us))
        host += launch_us
        seconds = step_limit(replace(work, kernels=(kernel,)), device).seconds
        start = max(host, free)
        free = start + seconds * 1e6
        spans.append(Span("device", kernel.kind, kernel.op, start, free))
    if free > host:
        spans.append(Span("host", "wait", "synchronize", host, free))
    return Trace(tuple(spans), f"modelled: {launch_us:g} µs to issue each of {len(work.kernels)}")
