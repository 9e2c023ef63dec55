"""The tables of torch's tensor types in lesson 01 say what torch says."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the tables are about torch's dtypes")

SOURCE = Path(__file__).parents[2] / "notebooks" / "source" / "01_floating_point.py"
TEXT = SOURCE.read_text("utf-8")
FLOAT_ROW = re.compile(
    r"^\| `(?P<name>\w+)` \| (?P<bytes>\d) \| (?P<fields>\d \+ \d+ \+ \d+) \| (?P<largest>\S+) "
    r"\| (?P<smallest>\S+) \| (?P<infinity>yes|no) \| (?P<nans>[^|]+) \|$",
    re.MULTILINE,
)
FLOATS = {row["name"]: row.groupdict() for row in FLOAT_ROW.finditer(TEXT)}
OTHER_ROWS = re.findall(r"^\| ((?:`\w+`(?: |, | … )?)+)\| ([^|]+) \|$", TEXT, re.MULTILINE)
OTHERS = {name: what for cell, what in OTHER_ROWS for name in re.findall(r"`(\w+)`", cell)}
ARTICLES = ["float16", "float32", "float64", "bfloat16", "uint8", "int8", "int16", "int32"]
ARTICLES += ["int64", "bool"]
CODE_TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def dtype(name: str) -> Any:
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        pytest.skip(f"torch {torch.__version__} has no {name}")
    return found


def number(text: str) -> float:
    """Read what stands in the table: 448, 3.4028e38, $2^{-24}$ or $2^{24} - 2$."""
    power = re.fullmatch(r"\$2\^\{(-?\d+)\}(?: - (\d+))?\$", text)
    if power:
        return 2.0 ** int(power[1]) - int(power[2] or 0)
    return float(text)


def values(codes: Iterable[int], name: str) -> Any:
    """Return the numbers of some codes as float64."""
    kind = dtype(name)
    tensor = torch.tensor(list(codes), dtype=torch.int64).to(CODE_TYPES[kind.itemsize])
    return tensor.view(kind).to(torch.float64)


def all_values(name: str) -> Any:
    return values(range(2 ** (8 * dtype(name).itemsize)), name)


float_types = pytest.mark.parametrize("name", FLOATS)
unpacked = pytest.mark.parametrize("name", [n for n in FLOATS if not n.endswith("_x2")])
small = pytest.mark.parametrize(
    "name", [n for n, row in FLOATS.items() if row["bytes"] in "12" and not n.endswith("_x2")]
)


def test_the_tables_were_found() -> None:
    assert len(FLOATS) == 10
    assert len(OTHERS) == 27


def test_tables_name_every_dtype_of_torch() -> None:
    shown = set(FLOATS) | set(OTHERS) | {f"{u}int{k}" for u in ("", "u") for k in range(1, 8)}
    known = {name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
    # Aliases such as half or cfloat are the same objects under a second name.
    missing = {str(getattr(torch, name)).removeprefix("torch.") for name in known} - shown
    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if missing and release > (2, 14):
        pytest.skip(f"newer than the tables: {sorted(missing)}")
    assert not missing


def test_ten_types_of_the_articles_are_all_there() -> None:
    in_prose = TEXT[TEXT.index("list ten tensor types") :][:250]
    assert re.findall(r"`(\w+)`", in_prose)[:10] == ARTICLES
    assert set(ARTICLES) <= set(FLOATS) | set(OTHERS)
    assert sum(name in FLOATS for name in ARTICLES) == 4


@float_types
def test_bytes_are_those_of_torch(name: str) -> None:
    assert dtype(name).itemsize == int(FLOATS[name]["bytes"])


@unpacked
def test_fields_fill_the_code(name: str) -> None:
    fields = FLOATS[name]["fields"].split(" + ")
    assert sum(map(int, fields)) == 8 * dtype(name).itemsize


@unpacked
def test_largest_number_is_torchs(name: str) -> None:
    shown = FLOATS[name]["largest"]
    largest = torch.finfo(dtype(name)).max
    assert number(shown) == (float(f"{largest:.4e}") if "e" in shown else largest)


@unpacked
def test_smallest_number_is_the_first_positive_code(name: str) -> None:
    first = values([0, 1], name)
    assert first[first > 0].min().item() == number(FLOATS[name]["smallest"])


@small
def test_special_codes_are_as_many_as_torch_has(name: str) -> None:
    numbers = all_values(name)
    assert numbers.isinf().any().item() == (FLOATS[name]["infinity"] == "yes")
    assert numbers.isnan().sum().item() == number(FLOATS[name]["nans"])


@small
def test_significand_field_gives_the_gap_above_one(name: str) -> None:
    numbers = all_values(name)
    gap = numbers[numbers > 1].min().item() - 1
    assert gap == 2.0 ** -int(FLOATS[name]["fields"].split(" + ")[2])


@pytest.mark.parametrize(("name", "e", "m"), [("float32", 8, 23), ("float64", 11, 52)])
def test_wide_types_have_nans_for_every_field_but_zero(name: str, e: int, m: int) -> None:
    top = (2**e - 1) << m
    numbers = values([top - 1, top, top + 1, top + 2**m - 1], name)
    assert numbers.isnan().tolist() == [False, False, True, True]
    assert numbers.isinf().tolist() == [False, True, False, False]
    assert number(FLOATS[name]["nans"]) == 2 * (2**m - 1)


@pytest.mark.parametrize("name", [n for n in FLOATS if n.endswith("fnuz")])
def test_fnuz_types_have_no_minus_zero_and_a_bias_larger_by_one(name: str) -> None:
    numbers = all_values(name)
    assert (numbers == 0).sum().item() == 1
    assert numbers[128].isnan().item()
    _, e, m = map(int, FLOATS[name]["fields"].split(" + "))
    assert numbers[2 ** (e - 1) << m].item() == 1.0


def test_e8m0_has_neither_sign_nor_zero() -> None:
    numbers = all_values("float8_e8m0fnu")
    assert (numbers[:255] > 0).all()
    assert (numbers[1:255] / numbers[:254] == 2).all()


def test_e2m1_packs_two_numbers_into_a_byte() -> None:
    pairs = torch.zeros(3, dtype=torch.uint8).view(dtype("float4_e2m1fn_x2"))
    assert pairs.itemsize == 1
    ml_dtypes = pytest.importorskip("ml_dtypes")
    info, row = ml_dtypes.finfo(ml_dtypes.float4_e2m1fn), FLOATS["float4_e2m1fn_x2"]
    assert (float(info.max), float(info.smallest_subnormal)) == (
        number(row["largest"]),
        number(row["smallest"]),
    )


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("complex32", "float16"),
        ("complex64", "float32"),
        ("complex128", "float64"),
        ("bcomplex32", "bfloat16"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_complex_types_are_pairs_of_the_floats_named(name: str, part: str) -> None:
    assert torch.view_as_real(torch.zeros(1, dtype=dtype(name))).dtype == dtype(part)
    assert f"`{part}`" in OTHERS[name]


@pytest.mark.parametrize("name", [f"{u}int{k}" for u in ("", "u") for k in range(1, 8)])
def test_narrow_integers_take_a_byte_each(name: str) -> None:
    assert dtype(name).itemsize == 1


def test_no_float_is_among_the_other_types() -> None:
    present = [name for name in OTHERS if isinstance(getattr(torch, name, 0), torch.dtype)]
    assert present
    assert not any(dtype(name).is_floating_point for name in present)
