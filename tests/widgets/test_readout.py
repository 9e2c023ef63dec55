"""What the explorer shows: every line held against numpy or exact arithmetic."""

import json
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ampcourse.decode import decode
from ampcourse.formats import FORMATS, ieee_like
from ampcourse.widgets import numerals
from ampcourse.widgets.bits import words
from ampcourse.widgets.bits.number_line import number_line
from ampcourse.widgets.bits.readout import formula, readout, rows, sentence
from ampcourse.widgets.bits.shape import shape
from ampcourse.widgets.bits.state import BitState


def texts(state: BitState) -> dict[str, str]:
    return {row.key: row.text for row in rows(state)}


def formula_text(state: BitState) -> str:
    pieces = formula(decode(state.code, state.format))
    return numerals.plain("".join(markup for _, markup in pieces))


def test_a_tenth_in_fp16_reads_as_one_works_it_out_by_hand() -> None:
    assert texts(BitState.of("fp16", "0.1")) == {
        "value": "0.0999755859375",
        "fraction": "1638/2^14",
        "hex": "0x2E66",
        "biased": "01011_2 = 11",
        "exponent": "11 - 15 = -4",
        "significand": "1.1001100110_2 = 1.599609375",
        "below": "0.09991455078125, 2^-14 away",
        "above": "0.10003662109375, 2^-14 away",
        "error": "-0.0000244140625 against 0.1, that is -0.4 ulp; relative ≈ 0.000244",
    }


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("fp16", "-1", "(-1)^1 × 2^15 - 15 × (1 + 0/2^10) = -1"),
        ("fp16", "2e-7", "(-1)^0 × 2^1 - 15 × (0 + 3/2^10) ≈ 1.78814 × 10^-7"),
        ("fp16", "-0", "(-1)^1 × 2^1 - 15 × (0 + 0/2^10) = -0"),
        ("fp16", "-inf", "exponent bits all 1 and significand field 0: minus infinity"),
        ("fp16", "nan", "exponent bits all 1 and significand field not 0: NaN"),
        ("e4m3", "nan", "all bits 1 after the sign: NaN"),
        ("e8m0", "nan", "all bits 1: NaN"),
        ("e8m0", "8", "2^130 - 127 × 1 = 8"),
    ],
)
def test_the_formula_is_that_of_the_class_and_the_format(
    name: str, text: str, expected: str
) -> None:
    assert formula_text(BitState.of(name, text)) == expected


@given(st.integers(0, 0xFFFF))
@settings(max_examples=300)
def test_neighbours_and_gaps_are_numpys(code: int) -> None:
    shown = texts(BitState.of("fp16", "0").with_code(code))
    value = np.array(code, dtype=np.uint16).view(np.float16)
    if np.isnan(value):
        assert shown["below"] == shown["above"] == words.NONE
        return
    for key, towards in (("below", -np.inf), ("above", np.inf)):
        there = float(np.nextafter(value, np.float16(towards)))
        if there == float(value):
            assert shown[key] == words.NONE
            continue
        number, _, gap = shown[key].partition(", ")
        assert float(re.sub(r" × 10\^", "e", number)) == there
        distance = abs(Fraction(there) - Fraction(float(value))) if np.isfinite(there) else None
        if distance is not None and np.isfinite(value):
            power = re.fullmatch(r"(?:2\^(-?\d+)|(\d+)) away", gap)
            assert power
            assert distance == (Fraction(2) ** int(power[1]) if power[1] else int(power[2]))


@pytest.mark.parametrize("name", [n for n, f in FORMATS.items() if f.bits <= 8])
def test_every_code_of_the_small_formats_shows_its_value(name: str) -> None:
    fmt = FORMATS[name]
    dtype = np.dtype(getattr(ml_dtypes, fmt.library_name or ""))
    every = np.arange(1 << fmt.bits, dtype=np.uint8).view(dtype).astype(float)
    state = BitState.of(fmt, "1")
    for code, value in enumerate(every):
        shown = texts(state.with_code(code))
        written = rows(state.with_code(code))[0].full or shown["value"].replace(" × 10^", "e")
        assert np.float64(written).tobytes() == np.float64(value).tobytes() or np.isnan(value)
        assert int(shown["hex"], 16) == code
        if np.isfinite(value):
            top, _, power = shown["fraction"].partition("/")
            if power:
                divisor = 2 if power == "2" else 2 ** int(power.removeprefix("2^"))
                assert Fraction(int(top), divisor) == Fraction(value)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("number", ["0.1", "-0", "1e-320", "1e400", "nan", "1e1000000000000000000"])
def test_read_outs_are_plain_data_with_one_entry_per_bit(name: str, number: str) -> None:
    try:
        state = BitState.of(name, number)
    except ValueError:
        pytest.skip(f"{name} has no code for {number}")
    shown, drawn = readout(state), shape(state.format, state.custom)
    assert json.loads(json.dumps([shown, drawn])) == [shown, drawn]
    assert len(shown["bits"]) == state.format.bits
    assert sum(len(field["weights"]) for field in drawn["fields"]) == state.format.bits
    assert set(words.TERMS) == {row["key"] for row in shown["rows"]}


def test_a_field_of_52_bits_travels_as_text() -> None:
    state = BitState.of("fp64", "1").with_significand_field(2**52 - 1)
    assert readout(state)["significandField"] == "4503599627370495"


def test_a_long_value_is_cut_on_the_screen_and_whole_behind_it() -> None:
    row = rows(BitState.of("fp64", "5e-324"))[0]
    assert len(row.text) < 60
    assert float(row.full) == 5e-324
    assert len(row.full) > 750


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("fp16", "0.1", "fp16 0x2E66 is a normal number, 0.0999755859375, 0.4 ulp below 0.1."),
        ("fp16", "0.5", "fp16 0x3800 is a normal number, 0.5, exactly 0.5."),
        ("fp16", "65520", "fp16 0x7C00 is infinity. For 65520, fp16 overflows to infinity."),
        ("e4m3", "nan", "e4m3 0x7F is NaN."),
        (
            "fp32",
            "1e-45",
            "fp32 0x00000001 is a subnormal number, about 1.40129846e-45, "
            "about 0.286 ulp above 1e-45.",
        ),
    ],
)
def test_one_sentence_tells_the_state(name: str, text: str, said: str) -> None:
    assert sentence(BitState.of(name, text)) == said


def test_the_sentence_stays_short_for_a_number_of_ten_thousand_digits() -> None:
    state = BitState.of("fp16", "0." + "1" * 10_000)
    assert len(sentence(state)) < 300
    assert len(texts(state)["error"]) < 300


def test_weights_add_up_to_the_formula() -> None:
    fields = {field["field"]: field for field in shape(FORMATS["fp16"], False)["fields"]}
    assert fields["exponent"]["weights"] == ["16", "8", "4", "2", "1"]
    assert fields["significand"]["weights"][0] == "2^{-1}"
    assert fields["significand"]["weights"][-1] == "2^{-10}"
    assert fields["sign"]["names"] == ["sign bit"]
    assert [field["field"] for field in shape(FORMATS["e8m0"], False)["fields"]] == ["exponent"]


@pytest.mark.parametrize(
    ("widths", "twin"), [((8, 7), "bf16"), ((8, 10), "tf32"), ((4, 3), ""), ((5, 2), "e5m2")]
)
def test_a_custom_format_that_equals_a_preset_says_so(widths: tuple[int, int], twin: str) -> None:
    title = shape(ieee_like(*widths), True)["title"]
    assert (f"(the same as {twin})" in title) is bool(twin)
    assert "same as" not in shape(FORMATS["bf16"], False)["title"]


def test_the_line_shows_a_binade_edge_with_its_uneven_gaps() -> None:
    line = number_line(decode(0x3C00, "fp16"), "1.0001")
    assert line is not None
    (_, _), (at, _), (_, _) = line["ticks"]
    assert at == pytest.approx(1 / 3)
    assert at < line["typed"] < line["boundaries"][1]


@pytest.mark.parametrize(
    ("typed", "place"), [("-inf", -1.0), ("9e99", 2.0), ("nan", None), ("1e-999", -1.0)]
)
def test_a_number_beyond_the_neighbours_is_marked_at_the_edge(
    typed: str, place: float | None
) -> None:
    line = number_line(decode(0x3C00, "fp16"), typed)
    assert line is not None
    assert line["typed"] == place


@pytest.mark.parametrize("code", [0x7BFF, 0x7C00, 0x7C01])
def test_there_is_no_line_without_two_finite_neighbours(code: int) -> None:
    assert number_line(decode(code, "fp16"), "1") is None
