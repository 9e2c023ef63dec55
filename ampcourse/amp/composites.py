"""Functions that call ops inside, and how an override gets to see those ops.

A TorchFunctionMode is shown the outermost call and nothing that happens in it. torch's autocast
sits lower, where each op arrives on its own. The gap is closed in two ways. Functions written in
Python are opened: their body runs with the mode in force. Ops in C++ that are made of other ops
have a version in Python here, `DECOMPOSED`, or a condition, `APPLIES`, under which casting their
inputs comes to the same. What is left is in `DIFFERENCES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from types import CellType, FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from ampcourse.amp.einsum import einsum

#: The questions by which torch's Python functions find out whether someone overrides them.
QUESTIONS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")

#: Per module (by the id of its names) the same names with opened functions.
_opened_names: dict[int, dict[str, Any]] = {}


@cache
def opened(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return a copy of a Python function that does not offer itself to overrides, else None.

    The functions of torch.nn.functional and the Python methods of a tensor begin by asking
    whether a mode wants the call, and hand it over. The copy is told no and goes on to its body;
    the ops that the body calls ask as ever. A function in C++ has no body to run: None. So does a
    copy that comes back, because it asks in a way of its own.
    """
    if not isinstance(func, FunctionType) or hasattr(func, "_is_opened"):
        return None
    closed_over = [cell.cell_contents for cell in func.__closure__ or ()]
    cells = [CellType(value if value is func else _opened_or_same(value)) for value in closed_over]
    return _copy(func, _names_for(func), tuple(cells))


def _opened_or_same(value: Any) -> Any:
    return (opened(value) or value) if isinstance(value, FunctionType) else value


def _names_for(func: FunctionType) -> dict[str, Any]:
    """Return the names that an opened function sees: its module's, with the functions opened.

    A public function often asks through a private one, which hands over the public one's name;
    if only the public one were opened, the call would come back for ever.
    """
    names = func.__globals__
    if id(names) not in _opened_names:
        copies = _opened_names[id(names)] = dict(names)
        copies |= dict.fromkeys(QUESTIONS, _no)
        for name, value in names.items():
            if isinstance(value, FunctionType) and value.__globals__ is names:
                copies[name] = _copy(value, copies, value.__closure__)
    return _opened_names[id(names)]


def _copy(func: FunctionType, names: dict[str, Any], closure: Any) -> FunctionType:
    copy = FunctionType(func.__code__, names, func.__name__, func.__defaults__, closure or None)
    copy.__kwdefaults__ = func.__kwdefaults__
    copy.__dict__["_is_opened"] = True
    return copy


def _no(*_: Any) -> bool:
    return False


# --- ops in C++ that are made of others ----------------------------------------------------------


def tensordot(a: Tensor, b: Tensor, dims_a: Sequence[int], dims_b: Sequence[int]) -> Tensor:
    """Contract dimensions of two tensors by one matrix product; all of them by a sum of products.

    Which kernel adds up that sum depends on the memory layout, and the last bit on the kernel.
    """
    if a.dtype != b.dtype:
        raise RuntimeError(f"both inputs should have same dtype, got {a.dtype} and {b.dtype}")
    dims_a, dims_b = [d % a.dim() for d in dims_a], [d % b.dim() for d in dims_b]
    for d, e in zip(dims_a, dims_b, strict=True):
        if b.shape[e] == 1:
            a = a.sum(d, keepdim=True, dtype=a.dtype)
        elif a.shape[d] == 1:
            b = b.sum(e, keepdim=True, dtype=b.dtype)
    kept_a = [d for d in range(a.dim()) if d not in dims_a]
    kept_b = [d for d in range(b.dim()) if d not in dims_b]
    rows, columns = [a.shape[d] for d in kept_a], [b.shape[d] for d in kept_b]
    contracted = prod(a.shape[d] for d in dims_a)
    left, right = a.permute(kept_a + dims_a), b.permute(dims_b + kept_b)
    if prod(rows) == prod(columns) == 1:
        if left.is_contiguous() and right.is_contiguous():
            total = torch.dot(left.flatten(), right.flatten())
        else:
            total = (left.squeeze() * right.squeeze()).sum(dtype=a.dtype)
        return total.reshape(rows + columns)
    left, right = left.reshape(prod(rows), contracted), right.reshape(contracted, prod(columns))
    return torch.mm(left, right).reshape(rows + columns)


def matrix_power(a: Tensor, n: int) -> Tensor:
    """Multiply a matrix by itself, squaring where that saves a product."""
    if n in (0, 1):  # no product: the op itself
        return torch.linalg.matrix_power(a, n)
    if n < 0:
        return matrix_power(torch.linalg.inv(a), -n)
    if n == 3:
        return torch.matmul(torch.matmul(a, a), a)
    while n % 2 == 0:
        n, a = n // 2, torch.matmul(a, a)
    result = a
    while n > 1:
        n, a = n // 2, torch.matmul(a, a)
        if n % 2:
            result = torch.matmul(result, a)
    return result


def lstm_cell(
    x: Tensor,
    state: tuple[Tensor, Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: two linear layers cast, the cell state follows its type."""
    hidden, cell = state
    gates = linear(hidden, w_hh, b_hh) + linear(x, w_ih, b_ih)
    entry, forget, new, exit_ = gates.unsafe_chunk(4, 1)
    cell = forget.sigmoid() * cell + entry.sigmoid() * new.tanh()
    return exit_.sigmoid() * cell.tanh(), cell


def gru_cell(
    x: Tensor,
    hidden: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a GRU: two linear layers cast, the hidden state follows its type."""
    reset_x, update_x, new_x = linear(x, w_ih, b_ih).unsafe_chunk(3, 1)
    reset_h, update_h, new_h = linear(hidden, w_hh, b_hh).unsafe_chunk(3, 1)
    update = (update_h + update_x).sigmoid()
    new = (new_x + new_h * (reset_h + reset_x).sigmoid()).tanh()
    return (hidden - new) * update + new


def _is_reflect_or_replicate(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    mode = args[2] if len(args) > 2 else kwargs.get("mode", "constant")
    padding = args[1] if len(args) > 1 else kwargs["pad"]
    return mode == "replicate" or (mode == "reflect" and len(padding) <= 4)


def _has_one_type(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    tensors = args[0] if args and isinstance(args[0], (list, tuple)) else args
    return len({tensor.dtype for tensor in tensors}) == 1


#: Python versions of ops that cast inside, by name.
DECOMPOSED: dict[str, Callable[..., Any]] = {
    "einsum": einsum,
    "tensordot": tensordot,
    "linalg_matrix_power": matrix_power,
    "lstm_cell": lstm_cell,
    "gru_cell": gru_cell,
}

#: Ops that cast inside, but as if their inputs were cast wherever the condition holds: padding
#: by repeating the edge goes through an op that casts, padding with a constant does not; a chain
#: of products refuses mixed types before it comes to a product.
APPLIES: dict[str, Callable[[Sequence[Any], dict[str, Any]], bool]] = {
    "pad": _is_reflect_or_replicate,
    "chain_matmul": _has_one_type,
    "linalg_multi_dot": _has_one_type,
}

#: Ops that give another result in a region of ours than in one of torch's, and why.
DIFFERENCES: dict[str, str] = {
    "bilinear": "torch casts the batched products inside, we follow the inputs",
    "corrcoef": "torch casts the matrix product inside, we follow the inputs",
    "cov": "torch casts the matrix product inside, we follow the inputs",
    "gru": "torch casts the linear layers of each step, we follow the inputs",
    "linalg_pinv": "torch casts the products inside, we follow the inputs",
    "linalg_polar": "torch casts the decomposition and the products inside, we follow the inputs",
    "lstm": "torch casts for a fused layer, which some CPUs do not have (it raises), we follow the "
    "inputs",
}

#: Other things that differ, and why.
OTHER_DIFFERENCES: dict[str, str] = {
    "out=": "given out=, ops that cast inside do not cast here; torch casts the ops inside, and "
    "refuses an out in float32",
    "backward in a region": "torch casts in the backward formulas of ops in C++ as well, which a "
    "mode does not see; run backward outside, as torch recommends",
    "attention in evaluation": "without gradients torch's MultiheadAttention takes a fused path, "
    "unless a mode is on; types agree, values differ by rounding",
    "DisableTorchFunction": "switches every mode off, this one too",
    "is_autocast_enabled": "torch's answers for torch's regions only; what asks it, such as "
    "torch.utils.checkpoint, does not know of ours (give it context_fn)",
    "a decorator that recurses": "torch's leaves autocast on when the outermost call returns, "
    "ours does not",
}
