"""The type-flow graph: torch's own autocast gives the same types; every choice is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

pytest.importorskip("anywidget", reason="needs the lab extra")
torch = pytest.importorskip("torch", reason="torch's autocast is the oracle")

from torch.nn import functional as F  # noqa: E402

from ampcourse.widgets import type_flow  # noqa: E402
from ampcourse.widgets.flow.nets import INPUT, NETS  # noqa: E402

LOWER = ("float16", "bfloat16")


def conv2d(x: Any) -> Any:
    return F.conv2d(x, torch.ones(x.shape[1], x.shape[1], 1, 1), torch.ones(x.shape[1]))


def linear(x: Any) -> Any:
    return F.linear(x, torch.eye(x.shape[-1]), torch.ones(x.shape[-1]))


def norm(x: Any) -> Any:
    return F.layer_norm(x, x.shape[-1:], torch.ones(x.shape[-1]), torch.zeros(x.shape[-1]))


def batch_norm(x: Any) -> Any:
    c = x.shape[1]
    ones, zeros = torch.ones(c), torch.zeros(c)
    return F.batch_norm(x, zeros.clone(), ones.clone(), ones, zeros, training=True)


OPS: Mapping[str, Callable[..., Any]] = {
    "conv2d": conv2d,
    "batch_norm": batch_norm,
    "relu": F.relu,
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "flatten": lambda x: torch.flatten(x, 1),
    "linear": linear,
    "log_softmax": lambda x: F.log_softmax(x, 1),
    "nll_loss": lambda x: F.nll_loss(x, torch.zeros(len(x), dtype=torch.int64)),
    "layer_norm": norm,
    "matmul": lambda a, b: a @ (b.mT if a.shape[-1] == b.shape[-1] else b),
    "softmax": lambda x: torch.softmax(x, -1),
    "add": torch.add,
    "gelu": F.gelu,
    "exp": torch.exp,
    "sum": torch.sum,
    "sqrt": torch.sqrt,
    "cat": lambda a, b: torch.cat([a, b]),
    "cumsum": lambda x: torch.cumsum(x, 0),
    "sigmoid": torch.sigmoid,
    "binary_cross_entropy": lambda p: F.binary_cross_entropy(p, torch.ones_like(p)),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(
        x, torch.ones_like(x)
    ),
}


def under_torch(net: str, lower: str) -> dict[str, str]:
    """Run the net under torch's autocast and return the type of each result."""
    shape = {"small_cnn": (2, 3, 4, 4), "transformer": (1, 3, 5), "pitfalls": (2, 3)}[net]
    results = {}
    with torch.autocast("cpu", dtype=getattr(torch, lower)):
        for node in NETS[net]:
            if node.op == INPUT:
                results[node.name] = torch.rand(shape)
            else:
                results[node.name] = OPS[node.op](*(results[name] for name in node.inputs))
    return {name: str(value.dtype).removeprefix("torch.") for name, value in results.items()}


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("net", NETS)
def test_every_result_has_the_type_that_torchs_autocast_gives_on_the_cpu(
    net: str, lower: str
) -> None:
    widget = type_flow(net, "cpu", lower)
    assert {flow.node.name: flow.gives for flow in widget.flows} == under_torch(net, lower)


def test_cuda_differs_from_the_cpu_where_its_documented_lists_do() -> None:
    def gives(net: str, device: str) -> dict[str, str]:
        flows = type_flow(net, device, "float16").flows
        return {flow.node.op: flow.gives for flow in flows}

    cpu, cuda = gives("transformer", "cpu"), gives("transformer", "cuda")
    assert {op for op in cpu if cpu[op] != cuda[op]} == {"softmax"}
    cpu, cuda = gives("pitfalls", "cpu"), gives("pitfalls", "cuda")
    different = {op for op in cpu if cpu[op] != cuda[op]}
    assert different == {"exp", "sum", "sqrt", "cumsum", "binary_cross_entropy"}
    assert cuda["binary_cross_entropy"] == "nothing"


def test_casts_are_counted_at_every_use_for_activations_and_once_for_weights() -> None:
    flows = {flow.node.name: flow for flow in type_flow("transformer").flows}
    assert [flows[name].casts for name in ("q", "k", "v", "scores")] == [("n1",)] * 3 + [()]
    assert flows["q"].casts_weights
    assert not flows["n1"].casts_weights
    assert "4 activations and 12 weights and biases are cast" in str(type_flow("transformer"))


def test_what_an_op_on_no_list_is_said_to_rest_on() -> None:
    widget = type_flow("small_cnn", "cuda")
    rows = widget._panel.graph["rows"]
    told = [{row["key"]: row["pieces"][0][1] for row in op} for op in rows]
    assert told[2]["evidence"].startswith("not in the table of this device")
    assert told[1]["evidence"].startswith("documented for cuda")
    assert told[1]["weights"].startswith("weight and bias: float32, cast to bfloat16 once")
    assert told[9]["other"] == "CPU: on no list, gives bfloat16"


def test_state_can_be_assigned_and_the_panel_follows() -> None:
    widget = type_flow("pitfalls")
    widget.op = "both"
    assert widget._panel.place == 5
    widget.device, widget.lower = "cuda", "float16"
    assert (widget._panel.graph["device"], widget._panel.graph["lower"]) == ("cuda", "float16")
    assert widget.op == "both"
    widget._panel.place = 8
    assert widget.op == "bce"
    widget.net = "small_cnn"
    assert (widget.op, widget._panel.place) == ("c1", 1)


def test_a_gesture_changes_the_state_and_is_answered() -> None:
    widget = type_flow()
    widget._on_gesture(widget._panel, {"gesture": "net", "to": "transformer"}, [])
    assert (widget.net, widget._panel.answered) == ("transformer", 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("resnet",), "net 'resnet' is unknown; choose from small_cnn, transformer, pitfalls"),
        (("small_cnn", "tpu"), "device 'tpu' is unknown; choose from cpu, cuda"),
        (("small_cnn", "cpu", "fp16"), "type 'fp16' is unknown; choose from float16, bfloat16"),
    ],
)
def test_an_unknown_choice_is_refused_with_what_is_legal(
    arguments: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ValueError, match=f"^{words}$"):
        type_flow(*arguments)


def test_an_op_that_the_net_lacks_is_refused_and_nothing_changes() -> None:
    widget = type_flow()
    with pytest.raises(ValueError, match="op 'conv9' is unknown; choose from images, c1"):
        widget.op = "conv9"
    assert widget.op == "c1"
