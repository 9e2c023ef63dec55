"""What torch's autocast does to each op, found out by calling the op and watching for casts.

    python -m ampcourse.amp.probing            # write the table beside op_policy
    python -m ampcourse.amp.probing --compare  # print what differs from the table in use

An op gets inputs in float32, in the lower precision, and in both mixed, with autocast and
without. A dispatch mode, below autocast, sees every cast that is made; those that autocast added
tell the list the op is on. The inputs are the samples that torch keeps for its own tests.
"""

from __future__ import annotations

import argparse
import json
import types
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from ampcourse.amp.op_samples import Call, fresh, recorded_calls

TABLE = Path(__file__).with_name("op_policy_cpu.json")

#: The lists, strongest first: which one an op is on if its calls point to several.
CATEGORIES = ("lower_precision", "fp32", "promote", "error", "follows_input")


class _Casts(TorchDispatchMode):
    """Collects the casts between floating-point types, as pairs (from, to)."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[torch.dtype, torch.dtype]] = []

    def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and result.dtype != args[0].dtype:
            self.seen.append((args[0].dtype, result.dtype))
        return result


@dataclass(frozen=True)
class Outcome:
    """What a call gave: its casts, its output (None if it raised), and the error's text."""

    casts: tuple[tuple[torch.dtype, torch.dtype], ...]
    output: Any
    error: str | None


def outcome(call: Call, low: torch.dtype, autocast: bool) -> Outcome:
    """Make a call, under torch's autocast or not, always with the same random numbers."""
    torch.default_generator.manual_seed(0)
    watch = _Casts()
    try:
        with torch.autocast("cpu", dtype=low, enabled=autocast), watch:
            output = call.func(*fresh(call.args), **fresh(call.kwargs))
    except Exception as error:  # whatever torch raises is the observation
        return Outcome(tuple(watch.seen), None, f"{type(error).__name__}: {error}")
    return Outcome(tuple(watch.seen), output, None)


def with_types(call: Call, *dtypes: torch.dtype) -> Call:
    """Return the call with its float32 tensors cast to the given types in turn, over and over."""
    count = -1

    def cast(value: Any) -> Any:
        nonlocal count
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
            return value
        count += 1
        return value.detach().to(dtypes[count % len(dtypes)])

    args, kwargs = tree_map(cast, (call.args, call.kwargs))
    return Call(call.func, args, kwargs)


def same(left: Any, right: Any) -> bool:
    """Return whether two results have the same types and bits; all NaNs count as one."""
    ours, theirs = tree_leaves(left), tree_leaves(right)
    return len(ours) == len(theirs) and all(map(_same_leaf, ours, theirs))


def _same_leaf(left: Any, right: Any) -> bool:
    if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
        return bool(left == right) or (left != left and right != right)
    if (left.dtype, left.shape, left.layout) != (right.dtype, right.shape, right.layout):
        return False
    if left.layout != torch.strided:
        left, right = left.to_dense(), right.to_dense()
    if left.is_complex():
        left, right = (torch.view_as_real(x.resolve_conj()) for x in (left, right))
    if not left.is_floating_point():
        return torch.equal(left, right)
    nan = left.isnan()
    signs = torch.equal(left[~nan].signbit(), right[~nan].signbit())
    return signs and torch.equal(nan, right.isnan()) and torch.equal(left[~nan], right[~nan])


def added_casts(call: Call, low: torch.dtype) -> tuple[set[tuple[torch.dtype, torch.dtype]], bool]:
    """Return the casts that only autocast makes, and whether it makes the call raise."""
    plain, cast = outcome(call, low, autocast=False), outcome(call, low, autocast=True)
    more = Counter(cast.casts) - Counter(plain.casts)
    return set(more), cast.error is not None and plain.error is None


def variants(call: Call, low: torch.dtype) -> list[Call]:
    """Return the call with inputs in float32, in the lower precision, and mixed in both orders."""
    wide = torch.float32
    return [with_types(call, *types) for types in ((wide,), (low,), (wide, low), (low, wide))]


def classify(call: Call, low: torch.dtype) -> str:
    """Return the list that the casts of a call point to."""
    wide = torch.float32
    casts, raises = zip(
        *(added_casts(variant, low) for variant in variants(call, low)), strict=True
    )
    if (wide, low) in casts[0]:
        return "lower_precision"
    if (low, wide) in casts[1]:
        return "fp32"
    if (low, wide) in casts[2] | casts[3]:
        return "promote"
    return "error" if any(raises) else "follows_input"


def precast(call: Call, low: torch.dtype, category: str) -> Call:
    """Return the call with its tensors cast as the rule of a category says, before the call."""
    leaves = tree_leaves((call.args, call.kwargs))
    eligible = [
        x for x in leaves if isinstance(x, torch.Tensor) and x.dtype in (low, torch.float32)
    ]
    wide = any(x.dtype == torch.float32 for x in eligible)
    if category == "follows_input" or (category == "promote" and not wide):
        return call
    target = low if category == "lower_precision" else torch.float32

    def cast(value: Any) -> Any:
        return value.to(target) if any(value is x for x in eligible) else value

    args, kwargs = tree_map(cast, (call.args, call.kwargs))
    return Call(call.func, args, kwargs)


def casts_inside(call: Call, low: torch.dtype, category: str) -> bool:
    """Return whether casting the inputs beforehand gives other bits than autocast does."""
    for variant in variants(call, low):
        ours = outcome(precast(variant, low, category), low, autocast=False)
        theirs = outcome(variant, low, autocast=True)
        if (ours.error is None) != (theirs.error is None) or not same(ours.output, theirs.output):
            return True
    return False


def output_types(calls: Iterable[Call], low: torch.dtype) -> list[str]:
    """Return the output's type for float32, lower and mixed inputs, of the first call with one."""
    best: list[str] = []
    for call in calls:
        outputs = [outcome(variant, low, autocast=True) for variant in variants(call, low)[:3]]
        types = [_type_of(output, low) for output in outputs]
        if "error" not in types:
            return types
        best = best or types
    return best


def _type_of(output: Outcome, low: torch.dtype) -> str:
    if output.error is not None:
        return "error"
    for leaf in tree_leaves(output.output):
        if isinstance(leaf, torch.Tensor):
            return "lower" if leaf.dtype == low else str(leaf.dtype).removeprefix("torch.")
    return "no tensor"


def probe(calls: list[Call], low: torch.dtype) -> dict[str, Any]:
    """Return one op's entry of the table, from calls of it.

    If its calls point to different lists, the strongest counts, and the op casts inside.
    """
    found = Counter(classify(call, low) for call in calls)
    category = min(found, key=CATEGORIES.index)
    inside = category != "follows_input" and any(
        casts_inside(call, low, category) for call in calls
    )
    entry: dict[str, Any] = {"category": category, "types": output_types(calls, low)}
    if inside:
        entry["casts_inside"] = True
    if isinstance(calls[0].func, types.FunctionType):
        entry["python"] = True
    return entry


def table(low: torch.dtype = torch.bfloat16) -> dict[str, Any]:
    """Probe every op on this machine and return the table that op_policy reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ops = {name: probe(calls, low) for name, calls in recorded_calls().items()}
    return {
        "device": "cpu",
        "evidence": f"probed, torch {torch.__version__.split('+')[0]}, cpu",
        "regenerate": "python -m ampcourse.amp.probing",
        "ops": ops,
    }


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return one line for each op that two tables disagree on."""
    lines = []
    for name in sorted(old["ops"].keys() | new["ops"].keys()):
        was, now = old["ops"].get(name), new["ops"].get(name)
        if was != now:
            lines.append(f"{name}: {_words(was)} -> {_words(now)}")
    return lines


def _words(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "not there"
    return ", ".join(
        [entry["category"], *entry["types"], *(["inside"] * ("casts_inside" in entry))]
    )


def as_text(content: dict[str, Any]) -> str:
    """Return a table as json with an op to a line, so that a change is a line in a diff."""
    head = {key: value for key, value in content.items() if key != "ops"}
    lines = [f"  {json.dumps(name)}: {json.dumps(op)}" for name, op in content["ops"].items()]
    return json.dumps(head, indent=1)[:-2] + ',\n "ops": {\n' + ",\n".join(lines) + "\n }\n}\n"


def main() -> None:
    """Write the table, or with --compare print what differs from it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--compare", action="store_true", help="write nothing, print differences")
    compare = parser.parse_args().compare
    new = table()
    old = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {"ops": {}}
    print(*differences(old, new), sep="\n")
    if not compare:
        TABLE.write_text(as_text(new), "utf-8")


if __name__ == "__main__":
    main()
