"""Everything the type-flow graph shows, worked out as plain data and as text."""

from __future__ import annotations

from typing import Any

from ampcourse.widgets.flow import words
from ampcourse.widgets.flow.state import FlowState
from ampcourse.widgets.flow.types import DEVICES, FP32, NOTHING, Flow, follow


def graph(state: FlowState) -> dict[str, Any]:
    """Return what the browser draws: ops, edges by place, read-outs, words."""
    flows = state.flows
    places = {flow.node.name: i for i, flow in enumerate(flows)}
    return {
        "net": state.net,
        "device": state.device,
        "lower": state.lower,
        "ops": [_op(flow) for flow in flows],
        "edges": [
            [places[name], i, kind == FP32, name in flow.casts]
            for i, flow in enumerate(flows)
            for name, kind in flow.reads
            if kind != NOTHING
        ],
        "rows": [rows(state, i) for i in range(len(flows))],
        "sentences": [sentence(flow) for flow in flows],
        "summary": summary(state),
    }


def _op(flow: Flow) -> dict[str, Any]:
    sign, badge = words.BADGES[flow.category]
    given = words.gives(flow.gives, flow.category == "error").partition(":")[0]
    return {
        "name": flow.node.name,
        "op": flow.node.op,
        "category": flow.category,
        "sign": sign,
        "badge": badge,
        "gives": given,
        "look": {FP32: "wide", NOTHING: "nothing"}.get(flow.gives, "narrow"),
    }


def rows(state: FlowState, place: int) -> list[dict[str, Any]]:
    """Return the read-outs of an op, as `controls.js` draws them."""
    return [
        {"key": key, "term": words.TERMS[key], "pieces": [["", text]], "full": ""}
        for key, text in _texts(state, place).items()
    ]


def _texts(state: FlowState, place: int) -> dict[str, str]:
    flow = state.flows[place]
    (other,) = (device for device in DEVICES if device != state.device)
    there = follow(state.net, other, state.lower)[place]
    inputs = [words.reads(name, kind, flow.target) for name, kind in flow.reads]
    return {
        "op": f"{flow.node.name} = {flow.node.op}({', '.join(flow.node.inputs)})",
        "list": words.listed(flow.category, state.lower),
        "inputs": "; ".join(inputs) or "nothing",
        "weights": words.weights(flow.node.weights, flow.target),
        "output": words.gives(flow.gives, flow.category == "error"),
        "other": words.elsewhere(other, words.BADGES[there.category][1], there.gives),
        "evidence": words.evidence(flow.evidence) if flow.node.inputs else "the net",
    }


def sentence(flow: Flow) -> str:
    """Tell an op in one sentence."""
    return words.sentence(flow.node.name, flow.node.op, flow.category, flow.gives)


def summary(state: FlowState) -> str:
    """Count ops in the lower precision and casts, in one sentence."""
    ops = state.flows[1:]
    low = sum(flow.gives == state.lower for flow in ops)
    activations = sum(len(flow.casts) for flow in ops)
    weights = sum(len(flow.node.weights) for flow in ops if flow.casts_weights)
    return words.summary(state.device, state.lower, low, len(ops), activations, weights)


def text(state: FlowState) -> str:
    """Return the graph as text: an op a line, and the sum of it."""
    lines = []
    for flow in state.flows:
        inputs = ", ".join(f"{n}*" if n in flow.casts else n for n in flow.node.inputs)
        call = f"{flow.node.op}({inputs})" if inputs else flow.node.op
        badge = words.BADGES[flow.category][1]
        lines.append(f"{flow.node.name:<8} {call:<40} {badge:<11} {flow.gives}")
    return "\n".join([*lines, f"* {words.LABELS['legend_cast']}", summary(state)])
