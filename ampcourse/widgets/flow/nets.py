"""The nets whose types can be followed: each op, what it reads, and its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

INPUT = "input"


@dataclass(frozen=True)
class Node:
    """One op of a net; the name is a variable of the forward pass, the op one of `op_policy`."""

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()


_BOTH = ("weight", "bias")

_SMALL_CNN = (
    Node("images", INPUT),
    Node("c1", "conv2d", ("images",), _BOTH),
    Node("n1", "batch_norm", ("c1",), _BOTH),
    Node("r1", "relu", ("n1",)),
    Node("p1", "max_pool2d", ("r1",)),
    Node("c2", "conv2d", ("p1",), _BOTH),
    Node("r2", "relu", ("c2",)),
    Node("flat", "flatten", ("r2",)),
    Node("logits", "linear", ("flat",), _BOTH),
    Node("log_p", "log_softmax", ("logits",)),
    Node("loss", "nll_loss", ("log_p",)),
)

_TRANSFORMER = (
    Node("x", INPUT),
    Node("n1", "layer_norm", ("x",), _BOTH),
    Node("q", "linear", ("n1",), _BOTH),
    Node("k", "linear", ("n1",), _BOTH),
    Node("v", "linear", ("n1",), _BOTH),
    Node("scores", "matmul", ("q", "k")),
    Node("share", "softmax", ("scores",)),
    Node("mixed", "matmul", ("share", "v")),
    Node("out", "linear", ("mixed",), _BOTH),
    Node("x2", "add", ("x", "out")),
    Node("n2", "layer_norm", ("x2",), _BOTH),
    Node("up", "linear", ("n2",), _BOTH),
    Node("act", "gelu", ("up",)),
    Node("down", "linear", ("act",), _BOTH),
    Node("x3", "add", ("x2", "down")),
)

_PITFALLS = (
    Node("x", INPUT),
    Node("y", "linear", ("x",), _BOTH),
    Node("big", "exp", ("y",)),
    Node("total", "sum", ("big",)),
    Node("root", "sqrt", ("total",)),
    Node("both", "cat", ("x", "y")),
    Node("running", "cumsum", ("y",)),
    Node("p", "sigmoid", ("y",)),
    Node("bce", "binary_cross_entropy", ("p",)),
    Node("better", "binary_cross_entropy_with_logits", ("y",)),
)

#: Nodes in the order of the forward pass, so that a node stands after what it reads.
NETS: Mapping[str, tuple[Node, ...]] = MappingProxyType(
    {"small_cnn": _SMALL_CNN, "transformer": _TRANSFORMER, "pitfalls": _PITFALLS}
)
