"""FP32 master weights: an optimizer that works in FP32 for a model that computes in 16 bits.

A weight of FP16 has 11 significant bits. An update of at most half an ulp (2^-11 above a weight
of 1, 2^-12 below it) is rounded away, and so is the next one: the weight never moves. A copy with
24 bits adds such updates up until they show in the 16-bit weight (Micikevicius et al., Mixed
Precision Training, ICLR 2018, 3.1). The copy is what the optimizer sees; its momentum and its
weight decay are therefore in FP32 as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

LOW_PRECISION = (torch.float16, torch.bfloat16)


@dataclass
class _Pair:
    """A 16-bit parameter of the model, its master, and room for the master's gradient."""

    param: torch.Tensor
    master: torch.Tensor
    room: torch.Tensor | None = None


class MasterWeights:
    """An optimizer around another, whose 16-bit parameters it replaces by FP32 copies.

    `optimizer` is any torch optimizer over the parameters of a model. Those in FP16 or BF16 get a
    master; others stay as they are. Group options, hooks and schedulers go on working on
    `optimizer`, whose groups hold the masters from then on:

    >>> param = torch.nn.Parameter(torch.ones(1, dtype=torch.float16))
    >>> sgd = torch.optim.SGD([param], lr=2.0**-12)
    >>> optimizer = MasterWeights(sgd)
    >>> for _ in range(3):
    ...     param.grad = -torch.ones_like(param)
    ...     optimizer.step()
    >>> [master] = sgd.param_groups[0]["params"]
    >>> master.item().hex(), param.item().hex()
    ('0x1.0030000000000p+0', '0x1.0040000000000p+0')

    One step: the model's gradients move to the masters, the optimizer steps, and the masters,
    rounded, go back to the model. Between the first two, `unscale_` and clipping see FP32
    gradients, those of `param_groups`. Our scalers call `collect_gradients` themselves; before
    torch.amp.GradScaler, which refuses FP16 gradients, call it after backward().

    Memory per 16-bit parameter, beside the model and the optimizer's state: 4 bytes for the master
    and, from the first step on, 4 for its gradient. With Adam that makes 20 bytes while the model
    has gradients of its own, 18 from `collect_gradients` to the next backward pass; an optimizer
    that could read 16-bit gradients would do with 16. A master from 65520 on becomes inf in an
    FP16 model. Gradients of several backward passes add up in the model's 16 bits, as they would
    without masters. On a CPU, an optimizer with fused=True makes up for most of the time that the
    two copies take.

    Whoever changes the model's parameters (loads a checkpoint into it, say) calls
    `copy_from_model` afterwards; the next step would undo the change.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self._pairs: list[_Pair] = []
        state = optimizer.state_dict() if optimizer.state else None
        self._make_masters()
        if state is not None:
            # Some optimizers have a state from the start. Loading it makes it FP32, too.
            optimizer.load_state_dict(state)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The optimizer's groups, with a master for each 16-bit parameter."""
        return self.optimizer.param_groups

    def parameters(self) -> Iterator[torch.Tensor]:
        """Yield what the optimizer steps, masters included: what to clip, after unscale_."""
        for group in self.param_groups:
            yield from group["params"]

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Add a group of parameters, as in any optimizer; its 16-bit ones get masters."""
        self.optimizer.add_param_group(group)
        self._make_masters()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, the model's and the masters'."""
        for pair in self._pairs:
            pair.param.grad = None
        self.optimizer.zero_grad(set_to_none)

    @torch.no_grad()
    def collect_gradients(self) -> None:
        """Move the model's 16-bit gradients to the masters, where they become FP32, exactly.

        They replace what the masters had. Where the model has no gradients, because they have
        been collected, nothing changes: a gradient that was unscaled or clipped stays so.
        """
        if all(pair.param.grad is None for pair in self._pairs):
            return
        for pair in self._pairs:
            gradient, pair.param.grad = pair.param.grad, None
            if gradient is None or gradient.is_sparse:
                pair.master.grad = None if gradient is None else gradient.float()
                continue
            if pair.room is None:
                pair.room = torch.empty_like(pair.master)
            pair.master.grad = pair.room.copy_(gradient)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Collect gradients, step in FP32, and round the masters into the model.

        A closure, as for LBFGS, computes the loss and its gradients with the model; before each
        of its calls the model gets the masters' values. Returns what the optimizer returns.
        """
        if closure is None:
            self.collect_gradients()
            result = self.optimizer.step()
        else:
            result = self.optimizer.step(self._around(closure))
        self._copy_to_model()
        return result

    @torch.no_grad()
    def copy_from_model(self) -> None:
        """Set the masters to the model's parameters."""
        for pair in self._pairs:
            pair.master.copy_(pair.param)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state and the masters; the model alone has lost their low bits."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "masters": [pair.master.detach() for pair in self._pairs],
        }

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state_dict; the model gets the rounded masters.

        Raises ValueError, and changes nothing, if the masters do not fit in number or shape, or
        if it is another optimizer's state.
        """
        if set(state_dict) != {"optimizer", "masters"}:
            raise ValueError(
                f"a state of MasterWeights has the entries optimizer and masters, this one has "
                f"{', '.join(map(str, state_dict)) or 'none'}; pass what state_dict() returned"
            )
        masters = state_dict["masters"]
        shapes = [tuple(master.shape) for master in masters]
        expected = [tuple(pair.master.shape) for pair in self._pairs]
        if shapes != expected:
            raise ValueError(
                f"the state has master weights of the shapes {shapes}, the model's 16-bit "
                f"parameters have {expected}; build model and optimizer as they were when saved"
            )
        self.optimizer.load_state_dict(state_dict["optimizer"])
        for pair, master in zip(self._pairs, masters, strict=True):
            pair.master.copy_(master)
            pair.param.copy_(pair.master)

    def _make_masters(self) -> None:
        for group in self.optimizer.param_groups:
            params = group["params"]
            for index, param in enumerate(params):
                if param.dtype not in LOW_PRECISION:
                    continue
                pair = _Pair(param, torch.nn.Parameter(param.detach().float()))
                # In place: an optimizer may hold this very list elsewhere, as LBFGS does.
                params[index] = pair.master
                self._pairs.append(pair)

    def _around(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        def evaluate() -> Any:
            self._copy_to_model()
            loss = closure()
            self.collect_gradients()
            return loss

        return evaluate

    @torch.no_grad()
    def _copy_to_model(self) -> None:
        # Without a gradient an optimizer leaves a parameter alone, and so does this.
        for pair in self._pairs:
            if pair.master.grad is not None:
                pair.param.copy_(pair.master)
