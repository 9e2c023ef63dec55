"""What autocast makes of a net: each op's list, the casts, and the type that comes out."""

from __future__ import annotations

from dataclasses import dataclass

from ampcourse.amp.op_policy import policy
from ampcourse.widgets.flow.nets import INPUT, NETS, Node

FP32 = "float32"
LOWER = ("float16", "bfloat16")
DEVICES = ("cpu", "cuda")
#: The output of an op that refuses to run, and of all that would read it.
NOTHING = "nothing"


@dataclass(frozen=True)
class Flow:
    """One op in the region: the types it reads, the type it computes in, the type it gives.

    `target` is the type that inputs and weights are cast to; empty where nothing is.
    """

    node: Node
    category: str
    evidence: str
    reads: tuple[tuple[str, str], ...]
    target: str
    gives: str

    @property
    def casts(self) -> tuple[str, ...]:
        """The activations that are cast on their way in."""
        return tuple(name for name, kind in self.reads if self.target not in ("", kind))

    @property
    def casts_weights(self) -> bool:
        """Whether the op's weights, which are float32, are cast."""
        return bool(self.node.weights) and self.target not in ("", FP32)


def follow(net: str, device: str, lower: str) -> tuple[Flow, ...]:
    """Return the flow of every op of a net in a region of this device and type.

    An op that is on no list gives the type that torch's type promotion makes of the activations
    it reads: float32 if one of them is float32. Weights do not count: the ops of these nets that
    are on no list and have weights, the norms, take float32 weights beside other activations.

    >>> [flow.gives for flow in follow("small_cnn", "cpu", "bfloat16")][:3]
    ['float32', 'bfloat16', 'bfloat16']
    """
    types: dict[str, str] = {}
    flows = []
    for node in NETS[net]:
        flow = _flow(node, device, lower, types)
        types[node.name] = flow.gives
        flows.append(flow)
    return tuple(flows)


def _flow(node: Node, device: str, lower: str, types: dict[str, str]) -> Flow:
    if node.op == INPUT:
        return Flow(node, INPUT, "", (), "", FP32)
    reads = tuple((name, types[name]) for name in node.inputs)
    kinds = {kind for _, kind in reads}
    entry = policy(device).get(node.op)
    category = entry.category if entry else "follows_input"
    evidence = entry.evidence if entry else ""
    if category == "error" or NOTHING in kinds:
        return Flow(node, category, evidence, reads, "", NOTHING)
    widest = FP32 if FP32 in kinds else lower
    target = {"lower_precision": lower, "fp32": FP32, "promote": widest}.get(category, "")
    return Flow(node, category, evidence, reads, target, target or widest)
