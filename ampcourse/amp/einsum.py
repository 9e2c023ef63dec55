"""The einstein sum as torch computes it: pair by pair, each pair one batched matrix product.

torch's einsum is an op in C++ around sums, products and `torch.bmm`, and autocast casts the inputs
of bmm alone. Written in Python, the same steps come before any override.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

#: A letter of the equation, or the place of a dimension that an ellipsis stands for.
Label = str | int


def einsum(equation: str, operands: Sequence[Tensor], path: Sequence[int] | None = None) -> Tensor:
    """Sum products of operands as an equation says; `path` is opt_einsum's order of pairs.

    Without a path the pairs are taken from the left. Raises RuntimeError, as torch does and with
    torch's words, for an equation that does not fit the operands.

    >>> einsum("ij,jk->ik", [torch.eye(2), torch.ones(2, 1)]).tolist()
    [[1.0], [1.0]]
    """
    shapes = [torch.empty(x.shape, device="meta") for x in operands]
    torch._C._VariableFunctions.einsum(equation, shapes, path=path)  # checks the equation
    terms, output, summed = _labels(equation, operands)
    dims = output + summed
    aligned = [_align(x, term, dims) for x, term in zip(operands, terms, strict=True)]
    counts = [sum(x.shape[d] != 1 for x in aligned) for d in range(len(dims))]
    order = iter(path or ())
    while len(aligned) > 1:
        i, j = sorted((next(order), next(order))) if path is not None else (0, 1)
        right, left = aligned.pop(j), aligned.pop(i)
        result = _contract(left, right, counts, range(len(output), len(dims)))
        aligned.insert(len(aligned) if path is not None else 0, result)
    [result] = aligned
    if not summed:
        return result
    if len(operands) > 1:
        return result.view(result.shape[: len(output)])
    return result.sum(list(range(len(output), len(dims))))


def _labels(
    equation: str, operands: Sequence[Tensor]
) -> tuple[list[list[Label]], list[Label], list[Label]]:
    """Return the labels of each operand, of the output, and those that are summed over."""
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    texts = inputs.split(",")
    letters = [text.replace("...", "") for text in texts]
    widths = [x.dim() - len(text) for x, text in zip(operands, letters, strict=True)]
    longest = max(widths)
    ellipsis: list[Label] = list(range(longest))
    terms = [
        _expand(text, ellipsis[longest - width :])
        for text, width in zip(texts, widths, strict=True)
    ]
    seen = Counter("".join(letters))
    if arrow:
        output = _expand(result, ellipsis)
    else:
        output = ellipsis + sorted(letter for letter, times in seen.items() if times == 1)
    summed = [label for label in [*ellipsis, *sorted(seen)] if label not in output]
    return terms, output, summed


def _expand(text: str, ellipsis: list[Label]) -> list[Label]:
    before, dots, after = text.partition("...")
    return [*before, *(ellipsis if dots else []), *after]


def _align(x: Tensor, term: list[Label], dims: list[Label]) -> Tensor:
    """Return an operand with all dimensions in order, of size 1 where it has none of its own."""
    places: dict[Label, int] = {}
    place = 0
    for label in term:
        if label in places:  # a repeated letter takes the diagonal
            x = x.diagonal(0, places[label], place).movedim(-1, places[label])
        else:
            places[label] = place
            place += 1
    for label in dims:
        if label not in places:
            x = x.unsqueeze(place)
            places[label] = place
            place += 1
    return x.permute([places[label] for label in dims])


def _contract(left: Tensor, right: Tensor, counts: list[int], summed: range) -> Tensor:
    """Multiply two operands and sum over what no operand after them needs."""
    both: list[int] = []
    only_left: list[int] = []
    only_right: list[int] = []
    for d in summed:
        in_left, in_right = left.shape[d] != 1, right.shape[d] != 1
        if in_left and in_right:
            counts[d] -= 1
            if counts[d] == 1:
                both.append(d)
                counts[d] = 0
        elif counts[d] == 1 and (in_left or in_right):
            (only_left if in_left else only_right).append(d)
            counts[d] = 0
    left = left.sum(only_left, keepdim=True) if only_left else left
    right = right.sum(only_right, keepdim=True) if only_right else right
    return _bmm(left, right, both) if both else left * right


def _bmm(left: Tensor, right: Tensor, summed: list[int]) -> Tensor:
    """Sum a product over dimensions that both have, by one batched matrix product."""
    shared: list[int] = []
    rows: list[int] = []
    columns: list[int] = []
    for d in range(left.dim()):
        if d in summed:
            continue
        if left.shape[d] == 1:
            columns.append(d)
        else:
            (shared if right.shape[d] != 1 else rows).append(d)
    batch, inner = [left.shape[d] for d in shared], [left.shape[d] for d in summed]
    height, width = [left.shape[d] for d in rows], [right.shape[d] for d in columns]
    product = torch.bmm(
        left.permute(shared + rows + summed + columns).reshape(
            prod(batch), prod(height), prod(inner)
        ),
        right.permute(shared + summed + columns + rows).reshape(
            prod(batch), prod(inner), prod(width)
        ),
    )
    places = shared + rows + summed + columns
    back = [places.index(d) for d in range(left.dim())]
    return product.view([*batch, *height, *([1] * len(summed)), *width]).permute(back)
