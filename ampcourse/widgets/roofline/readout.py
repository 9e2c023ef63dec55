"""Everything the roofline explorer shows of a state, worked out as plain data and as text.

Places run from 0 to 1 along logarithmic axes that stay the same for all devices.
"""

from __future__ import annotations

import math
from typing import Any

from ampcourse.benchmark.layers import find_recipe
from ampcourse.benchmark.roofline import LayerLimit, arithmetic
from ampcourse.widgets.roofline import words
from ampcourse.widgets.roofline.state import RooflineState

#: Powers of two at the ends of the axes: operations per byte, TFLOP/s.
X, Y = (1, 12), (-1, 11)


def readout(state: RooflineState) -> dict[str, Any]:
    """Return every read-out; the browser draws it and computes nothing."""
    return {
        "device": state.device,
        "recipe": state.recipe,
        "layer": state.layer,
        "layers": state.names,
        "window": str(state.own.window),
        "channels": [state.own.power, words.channels(state.own.channels)],
        "roofs": [
            {"kind": "base", "line": roof(state, "fp32")},
            {"kind": "own", "line": roof(state, fmt(state))},
        ],
        "roof_name": _roof_name(state),
        "ticks": {"x": _ticks(X, 2), "y": _ticks(Y, 2)},
        "dots": dots(state),
        "strip": strip(state),
        "rows": [
            {"key": key, "term": words.TERMS[key], "pieces": [["", text]], "full": ""}
            for key, text in rows(state).items()
        ],
        "sentence": sentence(state),
    }


def fmt(state: RooflineState) -> str:
    """Return the type in which convolutions compute; FP32 where the device lacks the recipe's."""
    return arithmetic(state.own.kernel(state.recipe), state.recipe, state.hardware)


def roof(state: RooflineState, kind: str) -> list[list[float]]:
    """Return the corners of the roof for a type: the slope, the ridge, the flat part."""
    device = state.hardware
    peak, ridge = device.peak(kind), device.ridge(kind)
    low = 2.0 ** X[0]
    corners = [(low, low * device.bandwidth / 1000), (ridge, peak), (2.0 ** X[1], peak)]
    return [[_place(x, X), _place(y, Y)] for x, y in corners]


def dots(state: RooflineState) -> list[dict[str, Any]]:
    """Return a dot for each layer with matrix arithmetic, the step's left out."""
    return [
        {
            "key": name,
            "at": [_place(layer.intensity, X), _place(_tflops(layer), Y)],
            "bound": layer.bound,
            "size": 0.0 if name == words.OWN else layer.seconds / state.limit.seconds,
            "own": name == words.OWN,
            "title": words.title(name, layer.seconds / state.limit.seconds),
        }
        for name, layer in state.layers.items()
        if layer.flops and name != words.STEP
    ]


def strip(state: RooflineState) -> list[dict[str, Any]]:
    """Return the kinds without matrix arithmetic, with their share of the step."""
    total = state.limit.seconds
    return [
        {"key": name, "share": layer.seconds / total, "told": words.share(layer.seconds / total)}
        for name, layer in state.layers.items()
        if not layer.flops
    ]


def rows(state: RooflineState) -> dict[str, str]:
    """Return the read-outs of the chosen layer, by key."""
    layer, device = state.chosen, state.hardware
    share = None if state.layer == words.OWN else layer.seconds / state.limit.seconds
    return {
        "operations": words.operations(layer.flops),
        "bytes": words.moved(layer.bytes),
        "intensity": words.intensity(layer.intensity, device.ridge(fmt(state))),
        "limit": words.bound(layer.bound),
        "time": words.time(layer.seconds, share),
        "rate": words.rate(_tflops(layer), device.peak(fmt(state))),
        "against": words.against(_against(state)),
        "step": words.step(state.limit.seconds, state.limit.images_per_second, _step(state)),
    }


def sentence(state: RooflineState) -> str:
    """Tell the chosen layer and the step in one sentence."""
    ratios = _against(state), _step(state)
    return words.sentence(state.layer, state.device, state.recipe, state.chosen.bound, *ratios)


def text(state: RooflineState) -> str:
    """Return the read-outs and the parts of the step as text."""
    lines = [f"{words.TERMS[key]:<11} {told}" for key, told in rows(state).items()]
    convolutions = sum(dot["size"] for dot in dots(state))
    parts = [f"layers with matrix products {words.share(convolutions)}"]
    parts += [f"{part['key']} {part['told']}" for part in strip(state)]
    return "\n".join([*lines, "; ".join(parts), sentence(state)])


def _roof_name(state: RooflineState) -> str:
    found = fmt(state).upper()
    wanted = find_recipe(state.recipe).convolution.upper()
    # A device without TF32: the choice says TF32, the roof is FP32's.
    return found if find_recipe(state.recipe).half or found == wanted else f"{found}, no {wanted}"


def _against(state: RooflineState) -> float | None:
    if state.layer not in state.baseline:  # casts, say
        return None
    return state.baseline[state.layer].seconds / state.chosen.seconds


def _step(state: RooflineState) -> float:
    return state.baseline[words.STEP].seconds / state.limit.seconds


def _tflops(layer: LayerLimit) -> float:
    return layer.flops / layer.seconds / 1e12


def _place(value: float, ends: tuple[int, int]) -> float:
    low, high = ends
    return min(max((math.log2(value) - low) / (high - low), 0.0), 1.0)


def _ticks(ends: tuple[int, int], step: int) -> list[list[Any]]:
    first = ends[0] + ends[0] % step
    return [[_place(2.0**k, ends), f"{2.0**k:g}"] for k in range(first, ends[1] + 1, step)]
