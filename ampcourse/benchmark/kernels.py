"""What one operation of torch costs: multiplications and additions, and bytes moved.

Each tensor is moved once between memory and chip per kernel, nothing stays in a cache between
kernels, and nothing is fused. Exceptions, because of what the operation must do: a batch norm
reads its input twice forward (statistics, then the result) and input and gradient twice backward;
a pooling's backward pass reads only the gradient and the indices. Arithmetic outside of matrix
products and convolutions takes no time of its own: memory limits it by far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

#: Operation → what it is called in a report; all others are "other".
KINDS = {
    "convolution": "convolution",
    "convolution_backward": "convolution",
    "addmm": "linear",
    "mm": "linear",
    "bmm": "linear",
    "baddbmm": "linear",
    "native_batch_norm": "batch norm",
    "native_batch_norm_backward": "batch norm",
    "relu": "relu",
    "relu_": "relu",
    "threshold_backward": "relu",
    "add": "add",
    "add_": "add",
    "max_pool2d_with_indices": "pooling",
    "max_pool2d_with_indices_backward": "pooling",
    "mean.dim": "pooling",
    "_to_copy": "cast",
}

# How often an argument, by its place, is read; once if it is not named.
_READS = {
    "native_batch_norm": {0: 2},
    "native_batch_norm_backward": {0: 2, 1: 2},
    "max_pool2d_with_indices_backward": {1: 0},
}


@dataclass(frozen=True)
class Kernel:
    """One kernel of a step: where it is from, its operations, and the bytes it moves.

    `fmt` is the type of its factors for a matrix product or convolution, "fp32" or "half", else
    "". `channels_bytes` are those of a convolution's images: what has to be laid out anew where
    the layout does not fit.
    """

    layer: str
    phase: str
    op: str
    kind: str
    flops: int
    bytes: int
    fmt: str = ""
    channels_bytes: int = 0


def kernels(func: Any, args: tuple[Any, ...], result: Any, layer: str, phase: str) -> list[Kernel]:
    """Return the kernels that an aten operation launches: none for a view, two for a convolution's
    backward pass, else one."""
    op = func._overloadpacket.__name__
    if op in ("convolution", "convolution_backward"):
        parts = _convolution(args, result) if op == "convolution" else _backward(args, result)
        return [_of_images(layer, phase, *part) for part in parts]
    moved = _bytes(func, op, args, result)
    if not moved:
        return []
    flops, fmt = _matrix_flops(func, op, args, result)
    kind = KINDS.get(op) or KINDS.get(f"{op}.{func._overloadname}", "other")
    return [Kernel(layer, phase, op, kind, flops, moved, fmt)]


def size(tensor: torch.Tensor) -> int:
    """Return the bytes of a tensor's elements, at most those of its memory (it may be expanded)."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


_Part = tuple[str, int, torch.Tensor, torch.Tensor, torch.Tensor]


def _convolution(args: tuple[Any, ...], result: torch.Tensor) -> Iterator[_Part]:
    x, weight, transposed = args[0], args[1], args[6]
    yield "convolution", _convolution_flops(x, result, weight, transposed), x, result, weight


def _backward(args: tuple[Any, ...], result: Any) -> Iterator[_Part]:
    gradient, x, weight, transposed = args[0], args[1], args[2], args[7]
    flops = _convolution_flops(x, gradient, weight, transposed)
    # Which of the two are wanted: the first layer's images, say, need no gradient.
    if result[0] is not None:
        yield "convolution by input", flops, gradient, result[0], weight
    if result[1] is not None:
        yield "convolution by weight", flops, x, gradient, result[1]


def _convolution_flops(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, transposed: bool
) -> int:
    # Every weight is used once per image and position of the output (of the input, if transposed).
    image = x if transposed else y
    return 2 * weight.numel() * image.shape[0] * math.prod(image.shape[2:])


def _of_images(
    layer: str, phase: str, op: str, flops: int, a: torch.Tensor, b: torch.Tensor, w: torch.Tensor
) -> Kernel:
    images = size(a) + size(b)
    return Kernel(layer, phase, op, "convolution", flops, images + size(w), _fmt(a), images)


def _matrix_flops(func: Any, op: str, args: tuple[Any, ...], result: Any) -> tuple[int, str]:
    if op in ("mm", "addmm", "bmm", "baddbmm"):
        a = args[1] if op in ("addmm", "baddbmm") else args[0]
        return 2 * result.numel() * a.shape[-1], _fmt(a)
    # Attention, say. The CPU's, which a rehearsal sees, is not in torch's table; the GPU's is.
    twin = getattr(torch.ops.aten, op.replace("_for_cpu", ""), None)
    count = flop_registry.get(twin)
    if count is None:
        return 0, ""
    floating = [t for t in tree_leaves(args) if isinstance(t, torch.Tensor)]
    return int(count(*args, out_val=result)), _fmt(floating[0])


def _fmt(tensor: torch.Tensor) -> str:
    return "half" if tensor.element_size() == 2 else "fp32"


def _bytes(func: Any, op: str, args: tuple[Any, ...], result: Any) -> int:
    """Return the bytes read and written by an operation that is no convolution."""
    reads = _READS.get(op, {})
    read: set[Any] = set()
    memory: set[int] = set()
    moved = written = 0
    for place, (argument, value) in enumerate(zip(func._schema.arguments, args, strict=False)):
        for tensor in _tensors(value):
            if _place(tensor) not in read:
                moved += reads.get(place, 1) * size(tensor)
            read.add(_place(tensor))
            memory.add(tensor.untyped_storage()._cdata)
            if argument.alias_info is not None and argument.alias_info.is_write:
                written += size(tensor)
    made = [t for t in _tensors(result) if t.untyped_storage()._cdata not in memory]
    if op.startswith("empty") or not (made or written):
        return 0  # memory that nobody has written to yet, or a view
    return moved + written + sum(size(tensor) for tensor in made)


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.shape


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]
