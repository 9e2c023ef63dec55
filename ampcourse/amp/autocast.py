"""An autocast of one's own: each call of an op is met on its way, and its inputs are cast.

torch's autocast is a layer of its dispatcher, in C++. This one is a TorchFunctionMode, which torch
shows every call before it runs: `_Casting` looks the op up in the table of `op_policy`, casts the
inputs as the op's list says, and calls it. The rest is bookkeeping: which regions the thread is
in, and the cache of cast weights.

What a mode cannot see (ops that other ops call in C++) is in `composites`, with a list of what is
left of differences to torch.autocast.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from ampcourse.amp.composites import APPLIES, DECOMPOSED, opened
from ampcourse.amp.op_policy import OpPolicy, policy

# --- the core: what happens to a call ------------------------------------------------------------


class _Casting(TorchFunctionMode):
    """Casts the inputs of every call, as the op's list says for the device types in force."""

    def __init__(self) -> None:
        super().__init__()
        self.running: set[Any] = set()

    def __torch_function__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not _state.enabled:
            return func(*args, **kwargs)
        body = _body(func, _state.enabled, kwargs.get("out") is not None)
        if body is not None and func not in self.running:
            return self._run(body, func, args, kwargs)
        for device, low in _state.enabled:
            category = _category(func, device)
            if category != "follows_input" and _applies(func, device, args, kwargs):
                args, kwargs = _cast_all(category, device, low, args, kwargs)
        return func(*args, **kwargs)  # with the mode off: what the op calls runs as it is

    def _run(self, body: Any, func: Any, args: Any, kwargs: Any) -> Any:
        self.running.add(func)
        try:
            with self:  # the mode is on again, for the ops that the body calls
                return body(*args, **kwargs)
        finally:
            self.running.discard(func)


def _cast_all(category: str, device: str, low: torch.dtype, args: Any, kwargs: Any) -> Any:
    """Return the arguments with the tensors cast that autocast may cast, also those in lists."""
    if category == "error":
        raise RuntimeError(UNSAFE)
    target = torch.float32 if category == "fp32" else low
    if category == "promote":
        target = _widest(_eligible((args, kwargs), device), low)

    def cast(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return _cast(value, target, low) if _is_eligible(value, device) else value
        return type(value)(map(cast, value)) if type(value) in (list, tuple) else value

    # From the last to the first, as the C++ of torch's builds for Linux: the order of the casts is
    # the order in which a tensor used twice adds up its gradients.
    kwargs = {name: cast(kwargs[name]) for name in reversed(kwargs)}
    return [cast(value) for value in reversed(args)][::-1], kwargs


def _cast(tensor: torch.Tensor, target: torch.dtype, low: torch.dtype) -> torch.Tensor:
    """Cast a tensor, a weight only once. Autograd records the cast: its backward casts back."""
    if tensor.dtype == target:
        return tensor
    if not (_state.cache_enabled and target == low and _is_weight(tensor)):
        return tensor.to(target)
    if id(tensor) not in _state.cast_weights:
        # Recorded even under no_grad, where a later use may need the gradient (pytorch#165068).
        # The weight is kept as well, lest another tensor comes to have its id.
        with torch.enable_grad():
            _state.cast_weights[id(tensor)] = (tensor, tensor.to(target))
    return _state.cast_weights[id(tensor)][1]


# --- which tensors, which category ---------------------------------------------------------------

UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: their "
    "gradient may not be representable in float16. Leave the sigmoid away and use "
    "binary_cross_entropy_with_logits or BCEWithLogitsLoss instead."
)


def _is_weight(tensor: torch.Tensor) -> bool:
    trained = tensor.dtype == torch.float32 and tensor.requires_grad and tensor.is_leaf
    return trained and not tensor._is_view() and not torch.is_inference_mode_enabled()


def _is_eligible(tensor: torch.Tensor, device: str) -> bool:
    right_type = tensor.is_floating_point() and tensor.dtype != torch.float64
    return right_type and tensor.device.type == device


def _eligible(value: Any, device: str) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if _is_eligible(value, device):
            yield value
    elif isinstance(value, dict):
        yield from _eligible(list(value.values()), device)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _eligible(item, device)


def _widest(tensors: Iterator[torch.Tensor], low: torch.dtype) -> torch.dtype:
    """Return float32 if one of the tensors has it; other types than it and `low` do not mix."""
    widest = low
    for tensor in tensors:
        if torch.float32 in (widest, tensor.dtype):
            widest = torch.float32
        elif tensor.dtype != low:
            raise RuntimeError(
                f"autocast to {low} cannot promote a tensor of {tensor.dtype}: only {low} and "
                f"torch.float32 mix. Convert it with .to({low}) or .float() first."
            )
    return widest


@functools.cache
def _entry(func: Callable[..., Any], device: str) -> OpPolicy | None:
    # An overload of torch.ops carries its own name after a dot.
    return policy(device).get(getattr(func, "__name__", "").split(".")[0])


@functools.cache
def _category(func: Callable[..., Any], device: str) -> str:
    entry = _entry(func, device)
    if entry is None or (entry.casts_inside and entry.name not in APPLIES):
        return "follows_input"
    return entry.category


@functools.cache
def _body(func: Callable[..., Any], enabled: tuple[tuple[str, torch.dtype], ...], out: bool) -> Any:
    """Return a Python function that calls the same ops as `func`, or None for a plain op."""
    if isinstance(func, FunctionType):
        return opened(func)
    for device, _ in enabled:
        entry = _entry(func, device)
        if entry is not None and entry.casts_inside and not out:
            return DECOMPOSED.get(entry.name)
    return None


def _applies(func: Callable[..., Any], device: str, args: Any, kwargs: Any) -> bool:
    """Return whether a call is cast at all: not one with out=, nor one that casts inside only."""
    if kwargs.get("out") is not None:
        return False
    entry = _entry(func, device)
    if entry is None or not entry.casts_inside:
        return True
    return APPLIES[entry.name](args, kwargs)


# --- regions -------------------------------------------------------------------------------------


class _Region(NamedTuple):
    """What is in force for a device type."""

    enabled: bool
    dtype: torch.dtype


class _State(threading.local):
    """What a thread knows: the regions in force, the weights cast in them."""

    def __init__(self) -> None:
        self.regions: dict[str, _Region] = {}
        self.enabled: tuple[tuple[str, torch.dtype], ...] = ()
        self.cache_enabled = True
        self.cast_weights: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.depth = 0
        self.mode = _Casting()

    def set(self, regions: dict[str, _Region], cache_enabled: bool) -> None:
        self.regions, self.cache_enabled = regions, cache_enabled
        self.enabled = tuple(
            (device, region.dtype) for device, region in regions.items() if region.enabled
        )


_state = _State()


class autocast:
    """A region in which ops run in the type that suits them; as torch.autocast, with its arguments.

    `device_type` is "cpu" or "cuda", whose tensors the region casts; `dtype` the lower precision
    (default: that of the surrounding region, else bfloat16 on the CPU and float16 on CUDA);
    `enabled=False` makes a region without casts within another; `cache_enabled=False` casts a
    weight at every use.

    >>> weight = torch.ones(2, 2, requires_grad=True)
    >>> with autocast("cpu"):
    ...     product = weight @ weight
    ...     total = product.sum()
    >>> product.dtype, total.dtype
    (torch.bfloat16, torch.bfloat16)
    >>> total.backward()
    >>> weight.grad.dtype
    torch.float32

    Also a decorator: `@autocast("cpu")`. As in torch, leave the backward pass outside.

    Errors and warnings are torch's own: ValueError for a device type that is no str, RuntimeError
    for one without autocast, and a type that the device type cannot use warns and disables the
    region. Device types for which there is no op policy raise ValueError.

    torch.is_autocast_enabled does not know of these regions, and must not: it would switch torch's
    own casts on as well. Ask `is_autocast_enabled` of this module.
    """

    def __init__(
        self,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        region = _state.regions.get(device_type)
        if dtype is None and region is not None:
            dtype = region.dtype
        # torch's object is made, and never entered, for its checks and defaults.
        checked = torch.autocast(device_type, dtype, enabled, cache_enabled)
        policy(device_type)
        self.device = device_type
        self.region = _Region(checked._enabled, checked.fast_dtype)
        self.cache_enabled = _state.cache_enabled if cache_enabled is None else cache_enabled
        self._before: list[tuple[dict[str, _Region], bool]] = []

    def __enter__(self) -> autocast:
        self._before.append((_state.regions, _state.cache_enabled))
        _state.set({**_state.regions, self.device: self.region}, self.cache_enabled)
        if _state.depth == 0:
            _state.mode.__enter__()
        _state.depth += 1
        return self

    def __exit__(self, *exception: Any) -> None:
        _state.depth -= 1
        if _state.depth == 0:
            _state.mode.__exit__(*exception)
            _state.cast_weights.clear()
        _state.set(*self._before.pop())

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, running in this region whenever it is called."""
        if not callable(func):
            raise TypeError(
                f"autocast(...) was called with {func!r}, which is no function to decorate; "
                f"for a region write: with autocast(...):"
            )

        @functools.wraps(func)
        def in_region(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return in_region


def is_autocast_enabled(device_type: str) -> bool:
    """Return whether a region of ours casts tensors of this device type here and now."""
    region = _state.regions.get(device_type)
    return region is not None and region.enabled


def get_autocast_dtype(device_type: str) -> torch.dtype:
    """Return the lower precision in force, or the one a region without `dtype` would have."""
    region = _state.regions.get(device_type)
    return torch.get_autocast_dtype(device_type) if region is None else region.dtype
