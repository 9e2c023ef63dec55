"""Compares and prints plain data: the trees that `agent` makes of values.

Equality is strict, as a course about bits needs it: NaN equals NaN, -0.0 differs from 0.0,
True from 1 and 1 from 1.0; arrays compare by library, dtype, shape and bits. The one mercy
is for numpy scalars, which count as the Python number of the same kind and value.
"""

import base64
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ampcourse.courseware.agent import MAX_DEPTH, MAX_TEXT, Encoder, Tree

SHOWN = 120
WORDS = {"none": "None", "str": "string"}
# exponent and trailing significand bits of the dtypes whose NaN codes follow IEEE 754
FLOAT_LAYOUT = {
    "float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52),
    "float8_e5m2": (5, 2),
}  # fmt: skip
SCALARS = {
    "bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
    "uint32": "I", "int64": "q", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


def encode(value: Any) -> Tree:
    """Return the tree of a plain value; raises `agent.NotPlain` for any other."""
    return Encoder().encode(value)


def valid(tree: Any, depth: int = 0) -> bool:
    """Return whether what came back from a kernel is a tree at all: it may be forged."""
    if not isinstance(tree, list) or not tree or depth > MAX_DEPTH + 2:
        return False
    tag, *parts = tree
    if tag in ("list", "tuple"):
        return len(parts) == 1 and isinstance(parts[0], list) and valid_items(parts[0], depth)
    if tag == "dict":
        return len(parts) == 1 and isinstance(parts[0], list) and all(
            isinstance(pair, list) and len(pair) == 2 and valid_items(pair, depth)
            for pair in parts[0]
        )  # fmt: skip
    if tag == "fraction":
        whole = valid_items(parts, depth) and all(part[0] == "int" for part in parts)
        return len(parts) == 2 and whole and int(parts[1][1], 16) > 0
    return valid_leaf(tag, parts)


def readable(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return an outcome from a kernel with nothing in it that judging could trip over."""
    if "value" in outcome:
        value = outcome["value"]
        return {"value": value} if valid(value) else {"not_plain": "data that cannot be read"}
    error = outcome.get("error")
    if isinstance(error, dict):
        bases = error.get("bases")
        texts = {key: str(error.get(key, ""))[:MAX_TEXT] for key in ("type", "message")}
        return {"error": {**texts, "bases": list(map(str, bases if type(bases) is list else []))}}
    return {"not_plain": str(outcome.get("not_plain", "nothing"))[:MAX_TEXT]}


def valid_items(items: list[Any], depth: int) -> bool:
    return all(valid(item, depth + 1) for item in items)


def valid_leaf(tag: Any, parts: list[Any]) -> bool:
    """Return whether a tree without inner trees can be read."""
    try:
        if tag == "array":
            family, dtype, shape, data = parts
            sizes = isinstance(shape, list) and all(type(size) is int for size in shape)
            base64.b64decode(data, validate=True)
            return sizes and isinstance(family, str) and isinstance(dtype, str)
        readers: dict[str, Callable[..., bool]] = {
            "none": lambda: True,
            "bool": lambda x: type(x) is bool,
            "str": lambda x: type(x) is str,
            "int": lambda x: type(int(x, 16)) is int,
            "bytes": lambda x: type(bytes.fromhex(x)) is bytes,
            "float": lambda x: float.fromhex(x).hex() == x,
            "complex": lambda x, y: (float.fromhex(x).hex(), float.fromhex(y).hex()) == (x, y),
            "scalar": scalar_readable,
        }
        return bool(readers[tag](*parts))
    except (TypeError, ValueError, KeyError, OverflowError, struct.error):
        return False


def scalar_readable(dtype: str, data: str) -> bool:
    raw = base64.b64decode(data, validate=True)
    return dtype not in SCALARS or bool(struct.unpack("<" + SCALARS[dtype], raw))


def python_scalar(tree: Tree) -> Tree:
    """Return the tree of the Python number that a numpy scalar stands for, if it does."""
    if tree[0] != "scalar" or tree[1] not in SCALARS:
        return tree
    (number,) = struct.unpack("<" + SCALARS[tree[1]], base64.b64decode(tree[2]))
    return encode(number)


def equal(expected: Tree, got: Tree) -> bool:
    """Return whether two valid trees hold the same value, by type and bits."""
    if expected[0] != "scalar":
        got = python_scalar(got)
    if expected[0] != got[0]:
        return False
    if expected[0] in ("list", "tuple"):
        return len(expected[1]) == len(got[1]) and all(map(equal, expected[1], got[1]))
    if expected[0] == "dict":
        one, two = (sorted(tree[1], key=lambda pair: repr(pair[0])) for tree in (expected, got))
        return len(one) == len(two) and all(
            equal(a[0], b[0]) and equal(a[1], b[1]) for a, b in zip(one, two, strict=True)
        )
    if expected[0] == "array":
        return expected[1:4] == got[1:4] and equal_codes(expected[2], expected[4], got[4])
    return expected == got


def equal_codes(dtype: str, expected: str, got: str) -> bool:
    """Return whether two arrays of one dtype agree code by code, any NaN equal to any NaN."""
    if expected == got or dtype not in FLOAT_LAYOUT:
        return expected == got
    exponent, significand = FLOAT_LAYOUT[dtype]
    width = (1 + exponent + significand) // 8
    one, two = base64.b64decode(expected), base64.b64decode(got)
    if len(one) != len(two):
        return False
    infinity = ((1 << exponent) - 1) << significand
    magnitude = (1 << (exponent + significand)) - 1
    for at in range(0, len(one), width):
        a = int.from_bytes(one[at : at + width], "little")
        b = int.from_bytes(two[at : at + width], "little")
        both_nan = a & magnitude > infinity and b & magnitude > infinity
        if a != b and not both_nan:
            return False
    return True


def to_number(tree: Tree | None) -> int | float | Fraction | None:
    """Return the real number a tree holds, or None for anything else, booleans included."""
    if not tree:
        return None
    tree = python_scalar(tree)
    if tree[0] == "int":
        return int(tree[1], 16)
    if tree[0] == "float":
        return float.fromhex(tree[1])
    if tree[0] == "fraction":
        return Fraction(int(tree[1][1], 16), int(tree[2][1], 16))
    return None


def type_name(tree: Tree) -> str:
    """Return what a learner would call the type of a tree's value."""
    if tree[0] == "scalar":
        return f"numpy.{tree[1]}"
    if tree[0] == "array":
        return f"{tree[1]} {tree[2]} array"
    return WORDS.get(tree[0], str(tree[0]))


def show(tree: Tree, limit: int = SHOWN) -> str:
    """Return the value as Python would print it, shortened in the middle."""
    text = written(tree)
    return text if len(text) <= limit else f"{text[: limit - 20]} … {text[-16:]}"


def written(tree: Tree) -> str:
    """Return the value as Python would print it."""
    tag = tree[0]
    number = to_number(tree)
    if isinstance(number, int) and number.bit_length() > 2_000:
        return hex(number)  # Python refuses to print ints of more than 4,300 digits
    if tag == "list":
        return "[" + ", ".join(map(written, tree[1])) + "]"
    if tag == "tuple":
        return "(" + ", ".join(map(written, tree[1])) + ("," if len(tree[1]) == 1 else "") + ")"
    if tag == "dict":
        return "{" + ", ".join(f"{written(key)}: {written(item)}" for key, item in tree[1]) + "}"
    if tag == "array":
        return written_array(tree)
    if isinstance(number, Fraction) and max(map(abs, number.as_integer_ratio())) >> 2_000:
        bits = (part.bit_length() for part in number.as_integer_ratio())
        return "Fraction of {} by {} bits".format(*bits)
    if number is not None or tag in ("none", "bool", "str", "scalar"):
        return repr(number if number is not None else written_leaf(tree))
    if tag == "bytes":
        return repr(bytes.fromhex(tree[1]))
    return repr(complex(float.fromhex(tree[1]), float.fromhex(tree[2])))


def written_leaf(tree: Tree) -> Any:
    tree = python_scalar(tree)
    return None if tree[0] == "none" else tree[1]


def written_array(tree: Tree) -> str:
    """Return an array's kind, shape and first elements."""
    _, family, dtype, shape, data = tree
    raw = base64.b64decode(data)
    code = SCALARS.get(dtype, "")
    head = raw[:64].hex()
    if dtype == "bfloat16":  # the upper half of a float32
        code = "f"
        raw = b"".join(b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2))
    if code:
        size = struct.calcsize(code)
        count = min(len(raw) // size, 8)
        head = ", ".join(map(repr, struct.unpack(f"<{count}{code}", raw[: count * size])))
        head += ", …" if len(raw) > count * size else ""
    return f"{family} {dtype} array of shape {tuple(shape)} [{head}]"


def first_difference(expected: Tree, got: Tree) -> tuple[str, Tree, Tree] | None:
    """Return where two sequences of equal length first differ, and both elements there."""
    same_kind = expected[0] == got[0] and expected[0] in ("list", "tuple")
    if not same_kind or len(expected[1]) != len(got[1]):
        return None
    for index, (one, two) in enumerate(zip(expected[1], got[1], strict=True)):
        if not equal(one, two):
            inner = first_difference(one, two)
            if inner:
                return f"[{index}]{inner[0]}", inner[1], inner[2]
            return f"[{index}]", one, two
    return None
