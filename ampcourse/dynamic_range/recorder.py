"""Hooks that record where a model's activations and gradients live while it trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, get_args

from ampcourse.dynamic_range.histogram import ExponentHistogram
from ampcourse.dynamic_range.samples import Samples
from ampcourse.dynamic_range.table import RangeTable, histogram_row
from ampcourse.formats import FloatFormat

if TYPE_CHECKING:
    from types import TracebackType

    import torch

Kind = Literal["activation", "activation_gradient", "weight_gradient"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class GradientRecorder:
    """Record exponent histograms of activations and gradients, per layer and step.

    A context manager around training steps; it puts hooks on the model and takes them off at
    the end, after an exception too::

        with GradientRecorder(model) as recorder:
            for images, labels in batches:
                loss_function(model(images), labels).backward()
                ...
        recorder.table("weight_gradient", "fp16", scale=1024)

    Three kinds are recorded. An "activation" is what a layer puts out, an
    "activation_gradient" the gradient of the loss for that output, both under the layer's
    name; a "weight_gradient" is what stands in ``parameter.grad`` after the backward pass,
    under the parameter's name. Layers are the modules without children and those that own
    parameters. Values are taken as they are, in whatever type, so under autocast an FP16
    activation is counted after it was rounded.

    ``every``: only each n-th step is recorded. ``samples``: at most so many elements of a
    tensor are counted, spread evenly over it and over other places in every step; None
    counts all. ``accumulate``: how many forward passes of the model make one step; of the
    weight gradients the last pass, with the sum, is recorded. Passes without gradients, as in
    evaluation, are no steps and are not recorded.

    ``all_largest``: look for the largest magnitude in all elements, not only in the sample.
    It decides about overflow and headroom; looking for it takes about as long as the rest.

    ``scale``: what the loss is multiplied by, a number or a function that returns the present
    scale (``scaler.get_scale``); gradients are divided by it before they are counted, in
    float64. What FP16 had flushed or lost to overflow by then stays so.

    ``layers``: names, or module types, to which recording is limited.

    Raises ValueError for sampling that makes no sense and for layers that the model does not
    have, RuntimeError when the same recorder is entered twice.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        every: int = 1,
        samples: int | None = 2048,
        accumulate: int = 1,
        all_largest: bool = False,
        scale: float | Callable[[], float] = 1.0,
        layers: tuple[str | type, ...] | None = None,
        kinds: tuple[str, ...] = KINDS,
    ) -> None:
        for name, value in (("every", every), ("accumulate", accumulate), ("samples", samples)):
            if value is not None and value < 1:
                raise ValueError(f"{name} = {value} is below 1, so nothing would be recorded")
        self._layers = _chosen_layers(model, layers)
        self._kinds = tuple(_checked_kind(kind) for kind in kinds)
        self._model, self._scale = model, scale
        self._every, self._accumulate = every, accumulate
        self._samples = Samples(samples, all_largest)
        self._hooks: ExitStack | None = None
        self._passes = 0
        self._recording = False
        self._undo = 1.0

    def __enter__(self) -> GradientRecorder:
        if self._hooks is not None:
            raise RuntimeError("this GradientRecorder is recording already; leave it first")
        with ExitStack() as hooks:  # if one hook cannot be put on, those before it come off
            self._put_on(hooks)
            self._hooks = hooks.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        hooks, self._hooks, self._recording = self._hooks, None, False
        if hooks is not None:
            hooks.close()

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that were recorded, counted from 0."""
        return self._samples.steps

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the layers or parameters that were recorded under a kind, in model order."""
        recorded = self._samples.names(_checked_kind(kind))
        order = [*dict(self._layers), *(name for name, _ in self._parameters())]
        return tuple(sorted(recorded, key=order.index))

    def histogram(self, kind: str, name: str, step: int | None = None) -> ExponentHistogram:
        """Return the counts for one layer or parameter, of one step or of all together.

        Raises KeyError for a name or a step that was not recorded.
        """
        found = self._samples.histogram(_checked_kind(kind), name, step)
        if found is None:
            when = "" if step is None else f" in step {step}"
            raise KeyError(
                f"no {kind} of {name!r} was recorded{when}; names: "
                f"{', '.join(self.names(kind)) or 'none'}; steps: {self.steps}"
            )
        return found

    def histograms(self, kind: str, step: int | None = None) -> dict[str, ExponentHistogram]:
        """Return the histograms of one kind by name, in model order."""
        found = {name: self._samples.histogram(kind, name, step) for name in self.names(kind)}
        return {name: histogram for name, histogram in found.items() if histogram is not None}

    def table(
        self,
        kind: str,
        fmt: str | FloatFormat = "fp16",
        scale: float = 1.0,
        step: int | None = None,
    ) -> RangeTable:
        """Return a report per layer: what a format would keep at a power-of-two scale.

        ``without_gradient`` names the parameters that never got one.
        """
        histograms = self.histograms(kind, step)
        rows = (histogram_row(histogram, fmt, scale) for histogram in histograms.values())
        missing: tuple[str, ...] = ()
        if kind == "weight_gradient":
            missing = tuple(name for name, _ in self._parameters() if name not in histograms)
        return RangeTable(tuple(rows), missing)

    def as_plain(self, kind: str, step: int | None = None) -> list[dict[str, Any]]:
        """Return the histograms of one kind as lists, numbers and text only."""
        return [histogram.as_plain() for histogram in self.histograms(kind, step).values()]

    def _put_on(self, hooks: ExitStack) -> None:
        hooks.callback(self._model.register_forward_pre_hook(self._begin_pass).remove)
        for name, module in self._layers:
            hooks.callback(module.register_forward_hook(self._after_forward(name)).remove)
        if "weight_gradient" in self._kinds:
            for name, parameter in self._parameters():
                if parameter.requires_grad:
                    hook = parameter.register_post_accumulate_grad_hook(self._after_grad(name))
                    hooks.callback(hook.remove)

    def _begin_pass(self, module: torch.nn.Module, inputs: Any) -> None:
        import torch

        self._recording = False
        if not torch.is_grad_enabled():
            return
        step, self._last = divmod(self._passes, self._accumulate)
        self._passes += 1
        if step % self._every == 0:
            self._recording = True
            self._samples.begin(step)
            self._undo = 1.0 / float(self._scale() if callable(self._scale) else self._scale)

    def _after_forward(self, name: str) -> Callable[[torch.nn.Module, Any, Any], None]:
        def hook(module: torch.nn.Module, inputs: Any, output: Any) -> None:
            if not self._recording:
                return
            for tensor in _float_tensors(output):
                if "activation" in self._kinds:
                    self._samples.take("activation", name, tensor)
                if "activation_gradient" in self._kinds and tensor.requires_grad:
                    tensor.register_hook(self._after_backward(name))

        return hook

    def _after_backward(self, name: str) -> Callable[[torch.Tensor], None]:
        def hook(gradient: torch.Tensor) -> None:
            if self._recording:  # a graph can outlive the recorder
                self._samples.take("activation_gradient", name, gradient, self._undo)

        return hook

    def _after_grad(self, name: str) -> Callable[[torch.Tensor], None]:
        def hook(parameter: torch.Tensor) -> None:
            last = self._last == self._accumulate - 1
            if self._recording and last and parameter.grad is not None:
                self._samples.take("weight_gradient", name, parameter.grad, self._undo)

        return hook

    def _parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        chosen = {id(p) for _, module in self._layers for p in module.parameters(recurse=False)}
        return ((n, p) for n, p in self._model.named_parameters() if id(p) in chosen)


def _chosen_layers(
    model: torch.nn.Module, layers: tuple[str | type, ...] | None
) -> list[tuple[str, torch.nn.Module]]:
    """Return the layers to record; a module that is used in two places has its first name."""
    found = [
        (name or "model", module)
        for name, module in model.named_modules()
        if not any(True for _ in module.children())
        or any(True for _ in module.parameters(recurse=False))
    ]
    if layers is None:
        return found
    kept = [
        (name, module)
        for name, module in found
        if name in layers or isinstance(module, tuple(w for w in layers if isinstance(w, type)))
    ]
    if not kept:
        raise ValueError(
            f"layers = {layers!r} names none of the model's layers: "
            f"{', '.join(name for name, _ in found)}"
        )
    return kept


def _checked_kind(kind: str) -> Kind:
    for legal in KINDS:
        if kind == legal:
            return legal
    raise ValueError(f"unknown kind {kind!r}; the kinds are {', '.join(KINDS)}")


def _float_tensors(output: Any) -> Iterator[torch.Tensor]:
    """Yield the floating-point tensors of a layer's output, however it is nested."""
    import torch

    if isinstance(output, torch.Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, dict):
        for part in output.values():
            yield from _float_tensors(part)
    elif isinstance(output, list | tuple):
        for part in output:
            yield from _float_tensors(part)
