"""One time of watching: what is put in place, what each event leads to, what is removed again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks

from ampcourse.diagnose.causes import Causes
from ampcourse.diagnose.failure import explain
from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.gradient_state import Gradients, scaling_of
from ampcourse.diagnose.gradients import Flushes
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.nonfinite import NonFinite
from ampcourse.diagnose.numbers_seen import float_tensors, storage_key
from ampcourse.diagnose.op import Op
from ampcourse.diagnose.op_types import OpTypes, VanishingEps
from ampcourse.diagnose.op_watch import OpWatch
from ampcourse.diagnose.patches import Patches, scaler_classes, scheduler_classes
from ampcourse.diagnose.penalty import Penalties
from ampcourse.diagnose.place import user_line
from ampcourse.diagnose.report import Report
from ampcourse.diagnose.scaler_calls import ScalerCalls, parameters_of
from ampcourse.diagnose.steps import Steps, autocast_types

_CLAMPS = {"clamp_", "clamp_min_", "clamp_max_", "_foreach_clamp_min_", "_foreach_clamp_max_"}


class Session:
    """Connects torch's events with the rules about them."""

    def __init__(self) -> None:
        self._findings = Findings()
        self._names = Names()
        self._running: list[tuple[str, str]] = []
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
        self._ops = OpWatch(self._see, self._flushes.accumulated, self._running)
        self._in_backward = False
        self._error = ""

    def expect(self, model: nn.Module | None, optimizer: Any, scaler: Any) -> None:
        """Learn about a model, optimizers and a scaler before they are used."""
        if model is not None:
            self._names.add_model(model)
            self._check(model)
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
            self._hook_modules(patches)
            self._hook_optimizers(patches)
            self._wrap_scalers(patches)
            self._wrap_functions(patches)
            with self._ops:
                yield
        finally:
            patches.undo()
            self._running.clear()

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

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Let what happens inside be no part of what is watched: our own looking, and scalers'."""
        paused, self._ops.paused = self._ops.paused, True
        try:
            yield
        finally:
            self._ops.paused = paused

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

    def _check(self, model: nn.Module) -> None:
        with self._aside():
            self._causes.check_parameters(model)

    def _hook_modules(self, patches: Patches) -> None:
        def enter(module: nn.Module, _: Any) -> None:
            if not self._running and not self._names.knows(module):
                self._check(self._names.add_model_of(module))
            self._running.append((self._names.of_module(module), type(module).__name__))

        def leave(module: nn.Module, _: Any, output: Any) -> None:
            if self._running:
                self._running.pop()
            if not self._running:
                with self._aside():
                    self._causes.output(output)

        def build(original: Any, module: nn.Module, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            self._names.born(module)

        patches.wrap(nn.Module, "__init__", build)
        entered = module_hooks.register_module_forward_pre_hook(enter)
        left = module_hooks.register_module_forward_hook(leave, always_call=True)
        patches.on_undo(entered.remove)
        patches.on_undo(left.remove)

    def _hook_optimizers(self, patches: Patches) -> None:
        def before(optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            with self._aside():
                self._causes.used(parameters_of(optimizer))
                self._steps.before_step(optimizer, self._scalers.stepping(), _closure(args, kwargs))
            self._ops.paused = self._ops.paused or not _closure(args, kwargs)

        def after(optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self._ops.paused = self._scalers.stepping()
            found_inf = getattr(optimizer, "found_inf", None)  # a fused one skips by itself
            if found_inf is not None and bool(found_inf):
                return
            with self._aside():
                self._steps.after_step(optimizer, _closure(args, kwargs))

        def build(original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._steps.built(optimizer)

        def load(original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._scalers.loaded_optimizers.add(optimizer)

        patches.on_undo(optimizer_hooks.register_optimizer_step_pre_hook(before).remove)
        patches.on_undo(optimizer_hooks.register_optimizer_step_post_hook(after).remove)
        patches.wrap(torch.optim.Optimizer, "__init__", build)
        patches.wrap(torch.optim.Optimizer, "load_state_dict", load)

    def _wrap_scalers(self, patches: Patches) -> None:
        for cls in scaler_classes():
            patches.wrap(cls, "scale", self._scale)
            patches.wrap(cls, "unscale_", self._unscale)
            patches.wrap(cls, "step", self._scaler_step)
            patches.wrap(cls, "update", self._update)
            patches.wrap(cls, "load_state_dict", self._load_scaler)

    def _wrap_functions(self, patches: Patches) -> None:
        patches.wrap(torch.autograd, "backward", self._backward)
        patches.wrap(torch.autograd, "grad", self._grad)
        clipping = torch.nn.utils.clip_grad
        patches.wrap(clipping, "_clip_grads_with_norm_", self._clip)
        for cls in scheduler_classes():
            patches.wrap(cls, "step", self._schedule)

    def _scale(self, original: Any, scaler: Any, outputs: Any) -> Any:
        if not scaler.is_enabled() or self._nonfinite.scaling:
            return original(scaler, outputs)
        if not isinstance(outputs, torch.Tensor | list | tuple):
            outputs = list(outputs)
        self._nonfinite.scaling = True
        try:
            scaled = original(scaler, outputs)
        finally:
            self._nonfinite.scaling = False
        with self._aside():
            self._scalers.scaled(scaler, outputs, scaled)
        return scaled

    def _unscale(self, original: Any, scaler: Any, optimizer: Any) -> None:
        if not scaler.is_enabled():
            return original(scaler, optimizer)
        with self._aside():
            self._scalers.before_unscale(scaler, optimizer)
            original(scaler, optimizer)
            self._scalers.after_unscale(optimizer)

    def _scaler_step(
        self, original: Any, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if not scaler.is_enabled():
            return original(scaler, optimizer, *args, **kwargs)
        self._scalers.before_step(scaler, optimizer)
        done = self._steps.of(optimizer).done
        try:
            with self._aside():
                result = original(scaler, optimizer, *args, **kwargs)
        finally:
            self._scalers.after_step(scaler, optimizer)
        if self._steps.of(optimizer).done == done:
            self._steps.skipped_step(optimizer)
        return result

    def _update(self, original: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
        if not scaler.is_enabled():
            return original(scaler, *args, **kwargs)
        self._scalers.before_update(scaler)
        with self._aside():
            before = scaler.get_scale()
            original(scaler, *args, **kwargs)
        by_hand = any(value is not None for value in (*args, *kwargs.values()))
        self._scalers.after_update(scaler, before, by_hand)

    def _load_scaler(self, original: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
        original(scaler, *args, **kwargs)
        self._scalers.of(scaler).loaded = True

    def _backward(self, original: Any, tensors: Any, *args: Any, **kwargs: Any) -> None:
        if self._in_backward:  # checkpointing calls it within a backward pass
            return original(tensors, *args, **kwargs)
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        scaling = scaling_of(roots)
        with self._aside():
            self._judge_call(roots)
        parameters = [p for p in self._names.parameters() if p.requires_grad]
        before = self._gradients.before_backward(parameters)
        self._flushes.scale = scaling.scale if scaling else None
        self._nonfinite.first_in_backward = None
        self._in_backward = True
        running = list(self._running)
        try:
            original(roots, *args, **kwargs)
        finally:
            self._in_backward = False
            self._running[:] = running
        changed = self._gradients.after_backward(parameters, before, scaling)
        with self._aside():
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
        roots = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        result = original(roots, *args, **kwargs)
        if kwargs.get("create_graph") and not self._in_backward:
            self._penalties.differentiated(scaling_of(roots), user_line())
        return result

    def _clip(
        self, original: Any, parameters: Any, max_norm: float, *args: Any, **kwargs: Any
    ) -> Any:
        chosen = as_list(parameters)
        with self._aside():
            self._steps.clipping(chosen, float(max_norm), "clip_grad_norm_")
            result = original(chosen, max_norm, *args, **kwargs)
        self._gradients.touched(chosen)
        return result

    def _schedule(self, original: Any, scheduler: Any, *args: Any, **kwargs: Any) -> Any:
        self._steps.scheduled(scheduler)
        return original(scheduler, *args, **kwargs)


def as_list(tensors: torch.Tensor | Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Return one tensor or several as a list."""
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an optimizer's step was given a closure; args begin with the optimizer."""
    return kwargs.get("closure") is not None or (len(args) > 1 and callable(args[1]))
