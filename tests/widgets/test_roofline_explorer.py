"""The roofline explorer's Python side: gestures in, traits and text out, no browser."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

pytest.importorskip("anywidget", reason="needs the lab extra")
torch = pytest.importorskip("torch", reason="kernels are counted by torch")

from ampcourse.benchmark.devices import DEVICES  # noqa: E402
from ampcourse.benchmark.layers import Workload, workload  # noqa: E402
from ampcourse.benchmark.roofline import step_limit  # noqa: E402
from ampcourse.widgets import roofline_explorer  # noqa: E402
from ampcourse.widgets.roofline.own import IMAGES, SIDE, Own  # noqa: E402
from ampcourse.widgets.roofline.readout import X, Y, dots, roof, strip, text  # noqa: E402
from ampcourse.widgets.roofline.widget import RooflineExplorer, RooflinePanel  # noqa: E402


@cache
def works() -> dict[str, Workload]:
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 900, 10)
    )
    return {recipe: workload(net, (64, 3, 32, 32), recipe) for recipe in ("fp32", "amp-fp16")}


def shown(**options: Any) -> RooflineExplorer:
    return roofline_explorer(works(), **options)


def panel(widget: RooflineExplorer) -> Any:
    return widget.children[0]


def gesture(widget: RooflineExplorer, **content: Any) -> None:
    """Deliver a message as the browser's would arrive."""
    panel(widget)._handle_custom_msg(content, [])


def read(x: RooflineExplorer) -> tuple[Any, ...]:
    return x.device, x.recipe, x.layer, x.own.window, x.own.channels


def test_it_starts_at_ones_own_convolution() -> None:
    assert read(shown()) == ("V100", "amp-fp16", "your convolution", 3, 64)


@pytest.mark.parametrize(
    ("content", "state"),
    [
        ({"gesture": "device", "to": "H200"}, ("H200", "amp-fp16", "your convolution", 3, 64)),
        ({"gesture": "recipe", "to": "fp32"}, ("V100", "fp32", "your convolution", 3, 64)),
        ({"gesture": "layer", "to": "all ReLUs"}, ("V100", "amp-fp16", "all ReLUs", 3, 64)),
        ({"gesture": "window", "to": "1"}, ("V100", "amp-fp16", "your convolution", 1, 64)),
        ({"gesture": "channels", "to": "11"}, ("V100", "amp-fp16", "your convolution", 3, 2048)),
        ({"gesture": "channels", "to": "99"}, ("V100", "amp-fp16", "your convolution", 3, 2048)),
    ],
)
def test_a_gesture_changes_the_state(content: dict[str, Any], state: tuple[Any, ...]) -> None:
    x = shown()
    gesture(x, **content)
    assert read(x) == state
    assert panel(x).answered == 1


def test_moving_the_own_convolution_looks_at_it() -> None:
    x = shown()
    x.layer = "the whole step"
    gesture(x, gesture="channels", to="4")
    assert x.layer == "your convolution"


@pytest.mark.parametrize("window", [1, 3, 7])
@pytest.mark.parametrize("recipe", ["fp32", "amp-fp16"])
def test_the_own_convolution_costs_what_torchs_would(window: int, recipe: str) -> None:
    own = Own(window, 5)
    conv = torch.nn.Conv2d(32, 32, window, padding=window // 2, bias=False)
    found = workload(conv, (IMAGES, 32, SIDE, SIDE), recipe).kernels
    [forward] = [k for k in found if k.kind == "convolution" and k.phase == "forward"]
    ours = own.kernel(recipe)
    assert (ours.flops, ours.bytes, ours.fmt) == (forward.flops, forward.bytes, forward.fmt)
    assert ours.channels_bytes == forward.channels_bytes


@pytest.mark.parametrize("device", DEVICES)
def test_dots_lie_under_the_roof_and_where_memory_limits_on_its_slope(device: str) -> None:
    x = shown(device=device)
    (left, low), (ridge, peak), _ = roof(x.state, "fp16")
    for dot in dots(x.state):
        at, height = dot["at"]
        slope = low + (at - left) * (X[1] - X[0]) / (Y[1] - Y[0])
        assert height <= min(slope, peak) + 1e-9
        if dot["own"]:
            assert height == pytest.approx(min(slope, peak))
            assert dot["bound"] == ("memory" if at < ridge else "arithmetic")


def test_the_ridge_is_at_peak_over_bandwidth() -> None:
    v100 = DEVICES["V100"]
    corner = roof(shown().state, "fp16")[1]
    x, y = (
        2.0 ** (low + at * (high - low)) for at, (low, high) in zip(corner, (X, Y), strict=True)
    )
    assert (x, y) == (pytest.approx(125_000 / 900), pytest.approx(v100.peak("fp16")))


def test_shares_of_all_layers_add_up_to_the_step() -> None:
    state = shown(device="A100").state
    total = sum(dot["size"] for dot in dots(state)) + sum(part["share"] for part in strip(state))
    assert total == pytest.approx(1.0)


def test_the_step_is_the_benchmarks_limit() -> None:
    x = shown(device="A100", recipe="amp-fp16")
    expected = step_limit(works()["amp-fp16"], "A100")
    assert x.limit.seconds == expected.seconds
    x.layer = "the whole step"
    against = step_limit(works()["fp32"], "A100").seconds / expected.seconds
    assert f": {against:.2f} times as fast as in FP32 if both reach their limits." in text(x.state)


def test_tf32_on_a_card_without_it_is_called_fp32() -> None:
    x = shown(device="V100", recipe="tf32")
    assert panel(x).readout["roof_name"] == "FP32, no TF32"
    x.device = "A100"
    assert panel(x).readout["roof_name"] == "TF32"
    x.recipe = "amp-fp16"
    assert panel(x).readout["roof_name"] == "FP16"


def test_what_fp32_has_none_of_has_no_ratio_and_gives_way_to_the_step() -> None:
    x = shown()
    x.layer = "all casts"
    assert "FP32 has none" in text(x.state)
    x.recipe = "fp32"
    assert x.layer == "the whole step"


def test_axes_stay_the_same_for_all_devices() -> None:
    ticks = set()
    for device in DEVICES:
        ticks.add(str(panel(shown(device=device)).readout["ticks"]))
    assert len(ticks) == 1


def test_nonsense_is_refused_and_changes_nothing() -> None:
    x = shown()
    before = x.state
    for name, value in {"device": "V1000", "recipe": "O9", "layer": "conv99"}.items():
        with pytest.raises(ValueError, match=r"V1000|O9|conv99"):
            setattr(x, name, value)
    with pytest.raises(ValueError, match="5×5"):
        Own(window=5)
    assert x.state is before


def test_works_that_lack_a_recipe_are_refused() -> None:
    with pytest.raises(ValueError, match="works lacks amp-fp16"):
        roofline_explorer({"fp32": works()["fp32"]})


def test_the_text_fallback_is_whole_and_the_same_each_time() -> None:
    first, second = (shown()._repr_mimebundle_()["text/plain"] for _ in range(2))
    assert first == second == repr(shown())
    assert first.splitlines()[0] == "Operations  59.2 GFLOP"
    assert first.splitlines()[2] == "Per byte    288; the ridge is at 139"


def test_every_label_the_browser_asks_for_is_there() -> None:
    source = str(RooflinePanel._esm)
    asked = set(re.findall(r"\blabels\.(\w+)", source)) - {"number", "encode"}
    assert asked - set(RooflinePanel().labels) == set()
    assert asked


def test_importing_the_package_loads_neither_torch_nor_a_widget_library() -> None:
    code = (
        "import sys, ampcourse.widgets as w; w.roofline_explorer; "
        "print([m for m in ('ipywidgets', 'anywidget', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_docstrings_example_holds() -> None:
    examples = doctest.DocTestFinder().find(
        roofline_explorer, globs={"roofline_explorer": roofline_explorer}
    )
    results = [doctest.DocTestRunner().run(example) for example in examples]
    assert [result.failed for result in results] == [0]
    assert results[0].attempted > 0
