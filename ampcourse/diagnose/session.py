"""One time of watching: what is put in place, what each event leads to, what is removed again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ampcourse.diagnose.causes import Causes
from ampcourse.diagnose.failure import explain
from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.gradient_state import Gradients, scaling_of
from ampcourse.diagnose.gradients import Flushes
from ampcourse.diagnose.hooks import Hooks
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.nonfinite import NonFinite
from ampcourse.diagnose.numbers_seen import float_tensors, storage_key
from ampcourse.diagnose.op import Op
from ampcourse.diagnose.op_types import OpTypes, VanishingEps
from ampcourse.diagnose.op_watch import OpWatch
from ampcourse.diagnose.patches import Patches, scheduler_classes
from ampcourse.diagnose.penalty import Penalties
from ampcourse.diagnose.place import user_line
from ampcourse.diagnose.report import Report
from ampcourse.diagnose.scaler_calls import ScalerCalls
from ampcourse.diagnose.scaler_events import ScalerEvents
from ampcourse.diagnose.steps import Steps, autocast_types

_CLAMPS = {"clamp_", "clamp_min_", "clamp_max_", "_foreach_clamp_min_", "_foreach_clamp_max_"}


class Session:
    """Connects torch's events with the rules about them."""

    def __init__(self) -> None:
        self._findings = Findings()
        self._names = Names()
        self._types = OpTypes(self._names, self._findings)
        self._eps = VanishingEps(self._findings)
        self._nonfinite = NonFinite(self._names)
        self._causes = Causes(self._findings, self._names, self._nonfinite)
        self._flushes = Flushes(self._names, self._findings)
        self._gradients = Gradients()
        self._penalties = Penalties(self._findings)
        self._scalers = ScalerCalls(
            self._findings, self._names, self._gradients, self._types.only_bfloat16
        )
        self._steps = Steps(self._findings, self._names, self._gradients)
        self._ops = OpWatch(self._see, self._flushes.accumulated)
        self._hooks = Hooks(self._names, self._causes, self._steps, self._scalers, self._ops)
        self._scaler_events = ScalerEvents(self._scalers, self._steps, self._nonfinite, self._ops)
        self._in_backward = False
        self._error = ""

    def expect(self, model: nn.Module | None, optimizer: Any, scaler: Any) -> None:
        """Learn about a model, optimizers and a scaler before they are used."""
        if model is not None:
            self._names.add_model(model)
            self._hooks.check(model)
        optimizers = optimizer if isinstance(optimizer, list | tuple) else [optimizer]
        for each in optimizers:
            if each is not None:
                self._steps.of(each)
        if scaler is not None:
            self._scalers.of(scaler)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put hooks, patches and the dispatch mode in place, and remove all of them."""
        patches = Patches()
        try:
            patches.quieten()
            self._hooks.install(patches)
            self._scaler_events.install(patches)
            self._wrap_functions(patches)
            with self._ops:
                yield
        finally:
            patches.undo()
            self._ops.running.clear()

    def failed(self, error: BaseException) -> None:
        """Note the exception that ended the run, and its cause if it is a known one."""
        if isinstance(error, SystemExit):
            self._error = f"exit status {error.code}" if error.code else ""
            return
        self._error = f"{type(error).__name__}: {error}".strip().removesuffix(":")
        if isinstance(error, Exception):
            explain(error, self._findings, self._names)

    def end(self) -> None:
        """Judge what is open; call it once, when nothing more will come."""
        if not self._error:
            self._scalers.end()
            self._causes.end(self._steps.asked > 0)

    def report(self) -> Report:
        """Return everything known now."""
        return Report(
            findings=self._findings.listed(),
            op_types=dict(self._types.counts),
            weight_casts=dict(self._types.weight_casts),
            gradients=self._flushes.parameters(),
            steps=self._steps.asked,
            skipped=self._steps.skipped,
            notes=tuple(self._causes.notes),
            error=self._error,
        )

    def _see(self, op: Op) -> None:
        """Look at an op; what goes wrong in that is our fault, and must not stop the training."""
        try:
            self._look(op)
        except Exception as error:
            self._causes.note(f"Could not look at {op.name} in {op.place}: {error!r}.")

    def _look(self, op: Op) -> None:
        outputs = op.outputs()
        self._types.note(op, outputs)
        self._eps.note(op, outputs)
        if op.name in _CLAMPS and not op.backward:
            self._note_clamp(op)
        if not self._causes.found:
            self._nonfinite.note(op)
        if op.backward:
            self._flushes.note(op, outputs)
        if not self._nonfinite.scaling:
            self._penalties.note(op)

    def _note_clamp(self, op: Op) -> None:
        """A clamp of gradients is clipping, whoever wrote it."""
        clamped = {storage_key(tensor) for tensor in float_tensors(op.overwritten())}
        hit = [
            p
            for p in self._names.parameters()
            if p.grad is not None and storage_key(p.grad) in clamped
        ]
        limits = [abs(n) for n in (*op.args, *op.kwargs.values()) if isinstance(n, float | int)]
        if hit and limits:
            # The op has changed them already: their history ends at the state before it.
            self._gradients.touched(hit)
            self._steps.clipping(hit, max(limits), "clip_grad_value_")

    def _wrap_functions(self, patches: Patches) -> None:
        patches.wrap(torch.autograd, "backward", self._backward)
        patches.wrap(torch.autograd, "grad", self._grad)
        clipping = torch.nn.utils.clip_grad
        patches.wrap(clipping, "_clip_grads_with_norm_", self._clip)
        for cls in scheduler_classes():
            patches.wrap(cls, "step", self._schedule)

    def _backward(self, original: Any, tensors: Any, *args: Any, **kwargs: Any) -> None:
        if self._in_backward:  # checkpointing calls it within a backward pass
            return original(tensors, *args, **kwargs)
        roots = as_list(tensors)
        scaling = scaling_of(roots)
        with self._ops.aside():
            self._judge_call(roots)
        parameters = [p for p in self._names.parameters() if p.requires_grad]
        before = self._gradients.before_backward(parameters)
        self._flushes.scale = scaling.scale if scaling else None
        self._nonfinite.first_in_backward = None
        self._in_backward = True
        running = list(self._ops.running)
        try:
            original(tensors, *args, **kwargs)
        finally:
            self._in_backward = False
            self._ops.running[:] = running
        changed = self._gradients.after_backward(parameters, before, scaling)
        with self._ops.aside():
            self._causes.gradients(changed, scaling)
        self._flushes.end_of_backward()
        self._types.end_of_backward()

    def _judge_call(self, roots: list[torch.Tensor]) -> None:
        line, kinds = user_line(), autocast_types()
        if kinds:
            self._findings.add(
                "backward_under_autocast",
                line,
                f"backward() at {line} was called with autocast({kinds[0]!r}) still on.",
            )
        self._causes.loss(roots, line)
        self._penalties.before_backward(line)

    def _grad(self, original: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(outputs, *args, **kwargs)
        if kwargs.get("create_graph") and not self._in_backward:
            self._penalties.differentiated(scaling_of(as_list(outputs)), user_line())
        return result

    def _clip(
        self, original: Any, parameters: Any, max_norm: float, *args: Any, **kwargs: Any
    ) -> Any:
        chosen = as_list(parameters)  # a generator can be read but once
        with self._ops.aside():
            self._steps.clipping(chosen, float(max_norm), "clip_grad_norm_")
            result = original(chosen, max_norm, *args, **kwargs)
        self._gradients.touched(chosen)
        return result

    def _schedule(self, original: Any, scheduler: Any, *args: Any, **kwargs: Any) -> Any:
        self._steps.scheduled(scheduler)
        return original(scheduler, *args, **kwargs)


def as_list(tensors: Any) -> list[torch.Tensor]:
    """Return one tensor or several as a list; without the graph edges that may stand for them."""
    several = [tensors] if isinstance(tensors, torch.Tensor) else tensors
    return [tensor for tensor in several if isinstance(tensor, torch.Tensor)]
