"""The state of the type-flow graph: a net, a device type, the region's type, the chosen op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ampcourse.widgets.flow import words
from ampcourse.widgets.flow.nets import NETS
from ampcourse.widgets.flow.types import DEVICES, LOWER, Flow, follow


@dataclass(frozen=True)
class FlowState:
    """What is shown. Raises ValueError for a net, device, type or op that does not exist."""

    net: str
    device: str
    lower: str
    op: str = ""

    def __post_init__(self) -> None:
        _check("net", self.net, tuple(NETS))
        _check("device", self.device, DEVICES)
        _check("type", self.lower, LOWER)
        if not self.op:  # the first op after the input
            object.__setattr__(self, "op", NETS[self.net][1].name)
        _check("op", self.op, [node.name for node in NETS[self.net]])

    @property
    def region(self) -> tuple[str, str, str]:
        """Net, device type and lower precision: all that the types depend on."""
        return self.net, self.device, self.lower

    @property
    def flows(self) -> tuple[Flow, ...]:
        """Every op of the net with its types."""
        return follow(self.net, self.device, self.lower)

    @property
    def place(self) -> int:
        """Which op of the net is chosen, counted from 0."""
        return [node.name for node in NETS[self.net]].index(self.op)

    def with_net(self, net: str) -> FlowState:
        """Show another net, from its first op on."""
        return replace(self, net=net, op="")

    def with_device(self, device: str) -> FlowState:
        """Show the same net on another device type."""
        return replace(self, device=device)

    def with_lower(self, lower: str) -> FlowState:
        """Show the same net in a region of another type."""
        return replace(self, lower=lower)

    def with_op(self, op: str) -> FlowState:
        """Choose another op, by the name of its result."""
        return replace(self, op=op)


def _check(what: str, value: str, legal: Sequence[str]) -> None:
    if value not in legal:
        raise ValueError(words.unknown(what, value, legal))
