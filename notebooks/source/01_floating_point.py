# %% [markdown]
r"""
# What number do these bits mean?

Here are sixteen bits: `0 11110 1111111111`. In FP16, one of the two 16-bit floats of
mixed-precision training, they are the largest finite number. How large is that?

You will build the answer yourself: a function that reads the bits of any float, one that writes
them, and the list of every number that FP16 has. You need Python and powers of two, but no
PyTorch and no GPU. There are six tasks; plan about an hour. After t01_4 is a
good place to pause.

## Predict first

Put a guess in place of each `None` and run the cell. Nobody grades them; an answer sticks better
when you have bet on another one.
"""

# %%
my_largest = None  # the largest finite number of FP16
my_overflow = None  # the first positive integer that overflows in FP16
my_share = None  # share of FP16's positive numbers below 1, such as 0.25
my_closer = None  # which of "fp16" and "bf16" comes closer to 0.1

# %% [markdown]
r"""
One of the articles behind this course says that FP16 ends at about 32768. The truth is nearly
twice as much, the figure for FP32 is off in the same way, and one small slip explains both.

## A number you can take apart

Play with these bits before you read on. (The error is counted in **ulps**: one ulp is the
distance to the next number of the format.)

1. The number typed in is 0.1. Which value do the bits really hold?
2. Move the slider of the exponent field by one, then the slider of the significand field by
   one. Which of them multiplies the number, which adds to it?
3. Make all exponent bits 0, then all of them 1. What does the badge beside the formula say? Then
   also clear all significand bits, and try both again.
4. Type 0.1 again and narrow the significand to 3 bits. What is left of it?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import explorer

explorer("fp16", "0.1")

# %% [markdown]
r"""
## Three fields

One step of the exponent field doubled the number or halved it; one step of the significand field
added the same small amount each time. That is scientific notation in base two, in three fields:
one **sign** bit, an **exponent field** $E$, and a **significand field** $F$ (many texts call the
significand the mantissa). To choose a format is, above all, to choose how wide the last two are:
with three significand bits, 0.1 becomes 0.1015625.

Here a format is a small record, and `split` cuts a **code**, the bits read as one integer, into
its fields. Your solutions may use all that the next two cells define or import, and your own
earlier solutions.
"""

# %% tags=["setup"]
import math
from fractions import Fraction
from typing import NamedTuple

from ampcourse.courseware import check, inf, nan, task


class Format(NamedTuple):
    exponent_bits: int
    significand_bits: int  # the bits that are stored
    has_infinity: bool = True
    has_nan: bool = True


# %% tags=["setup"]
FP32, FP16, BF16 = Format(8, 23), Format(5, 10), Format(8, 7)
E5M2 = Format(5, 2)
E4M3 = Format(4, 3, has_infinity=False)
E2M1 = Format(2, 1, has_infinity=False, has_nan=False)


def split(code, fmt):
    """Cut a code into its sign bit, exponent field and significand field."""
    e, m = fmt.exponent_bits, fmt.significand_bits
    return code >> (e + m), (code >> m) % 2**e, code % 2**m


# %%
code = 0x2E66  # what FP16 holds for 0.1
print(f"{code:016b}")
print(split(code, FP16))

# %% [markdown]
r"""
The sign bit is 0: positive. The exponent field is 11, but it is **biased**: a format with $k$
exponent bits stores the exponent plus `2**(k-1) - 1`. Our records have no bias, so compute it
yourself. For FP16 it is 15, and the field means $2^{11-15} = 2^{-4}$.

The significand field is the part behind the binary point. In front of it stands a 1 that is not
stored, the **implicit bit**: every number but 0 can be shifted until it starts with a 1 (the very
smallest are an exception, see below). That gives $1 + 614/1024$, and the product is the number:
"""

# %%
held = Fraction(2) ** (11 - 15) * (1 + Fraction(614, 1024))
print(held, "=", float(held))
print("missing from 1/10:", Fraction(1, 10) - held)

# %% [markdown]
r"""
## All the numbers of a small format

Here are two formats of six bits, from zero upwards: `1 + 3 + 2` stands for a sign, three exponent
bits and two significand bits. Before you look: are a format's numbers evenly spaced, and what
happens close to zero?
"""

# %% tags=["nbval-ignore-output"]
# drawing only
from ampcourse.decode import decode as read_bits
from ampcourse.formats import FORMATS, ieee_like
from ampcourse.plotting import show
from ampcourse.plotting.number_line import gaps, number_line, ranges


def positive_half(exponent_bits, significand_bits):
    fmt = ieee_like(exponent_bits, significand_bits)
    decoded = [read_bits(code, fmt) for code in range(fmt.sign_mask)]
    return [(number.value, number.kind) for number in decoded if number.fraction is not None]


# %% tags=["nbval-ignore-output"]
rows = {f"1 + {e} + {m}": positive_half(e, m) for e, m in [(3, 2), (2, 3)]}
ends = [f"{row} from 0 in even steps of {xs[1][0]}, up to {xs[-1][0]}" for row, xs in rows.items()]
show(number_line(rows), alt=f"Numbers whose gap doubles on the way: {'; '.join(ends)}.")

# %% [markdown]
r"""
From one power of two to the next, a stretch called a **binade**, the numbers are evenly spaced,
and in the binade above the gap is twice as wide. A bit moved from the exponent to the significand
buys more numbers per binade and pays with range. Towards zero the halving stops: the
**subnormal** numbers carry the gap of the lowest binade evenly down to zero. (Change `(3, 2)` to
`(4, 1)` and run the cell again to see the other extreme.)

Now the rule in full, with $m$ for the number of significand bits, `fmt.significand_bits`:

| exponent field $E$ | significand field $F$ | meaning |
|---|---|---|
| 0 | 0 | zero, in two versions: $+0$ and $-0$ |
| 0 | not 0 | subnormal number $\pm\,2^{1-\text{bias}} \times F/2^m$ |
| neither 0 nor all ones | any | normal number $\pm\,2^{E-\text{bias}} \times (1 + F/2^m)$ |
| all ones, $E = 2^k - 1$ | 0 | infinity, $\pm\infty$ |
| all ones, $E = 2^k - 1$ | not 0 | NaN, not a number |

A subnormal has no implicit 1, and its exponent is $1 - \text{bias}$, that of $E = 1$, not
$0 - \text{bias}$: this is what keeps the gap the same on both sides of the border.

A NaN is quiet if the first bit of $F$ is 1, else signalling; a conversion may change the other
bits of $F$. NaN equals nothing, not even itself: test with `isnan`.

Some small formats spend the codes of the last two rows on numbers. Our records say which:

- `has_infinity` False, `has_nan` True: exactly one NaN per sign, the code with all of $E$ and $F$
  ones. The other codes with all ones in $E$ are normal numbers. E4M3 is such an FP8 format.
- both False: every code is a number, as in E2M1, the FP4 format.

(Rules: IEEE 754-2019, clause 3.4; OCP's OFP8 1.0 for E4M3 and E5M2, its MX 1.0 for E2M1.)

### t01_1 · Classify a code

What kind of number is a code? Return one of the words `"zero"`, `"subnormal"`, `"normal"`,
`"infinity"`, `"nan"`. The check cell tells you at once how you did, and why. Grading tries other
codes and other formats, so write the rule and not a table of the ones you see.

`read_bits`, and later `to_bits`, are the library's answers: compare with them, but do not use
them inside a solution (the grader refuses).
"""


# %% task="t01_1" forbids=["ampcourse.decode", "ampcourse.formats", "gfloat", "ml_dtypes"]
def classify(code, fmt):
    """Return "zero", "subnormal", "normal", "infinity" or "nan"."""
    ### BEGIN SOLUTION
    _, exponent, significand = split(code, fmt)
    if exponent == 0:
        return "subnormal" if significand else "zero"
    if exponent == 2**fmt.exponent_bits - 1:
        if fmt.has_infinity:
            return "nan" if significand else "infinity"
        if fmt.has_nan and significand == 2**fmt.significand_bits - 1:
            return "nan"
    return "normal"
    ### END SOLUTION


# %% check="t01_1" points=4
with task("t01_1"):
    ordinary = "a code whose E is neither 0 nor all ones is a normal number"
    lowest = "E = 0 means zero if F = 0, and a subnormal number otherwise, whatever the sign"
    top = "all ones in E are reserved: infinity if F = 0, NaN otherwise"
    finite = "without infinity, all ones in E make ordinary numbers, except the one NaN if any"
    alone = "all ones in E alone make no NaN"
    last = "E4M3 keeps one NaN per sign, the code of all ones"
    check("classify(0x2E66, FP16)", "normal", ordinary)
    check("classify(0x0001, FP16)", "subnormal", lowest, {"E = 0 alone makes no zero": "zero"})
    check("classify(0x8000, FP16)", "zero", lowest, {"minus zero is a zero too": "subnormal"})
    check("classify(0x7C00, FP16)", "infinity", top, {alone: "nan"})
    check("classify(0x7D01, FP16)", "nan", top, {"NaN has many patterns: any F but 0": "infinity"})
    traps = {"E4M3 has no infinity": "infinity", alone: "nan"}
    check("classify(0x78, E4M3)", "normal", finite, traps)
    only = "only the code of all ones is E4M3's NaN"
    check("classify(0x79, E4M3)", "normal", finite, {only: "nan"})
    check("classify(0x7F, E4M3)", "nan", finite, {last: "normal"})
    no_nan = "E2M1 has no NaN: both fields of its record are False"
    check("classify(0x7, E2M1)", "normal", finite, {no_nan: "nan"})
    ### BEGIN HIDDEN TESTS
    from math import isinf, isnan
    from random import Random

    import ml_dtypes
    import numpy as np

    def t01_1_kind(code, width, dtype):
        """Ask ml_dtypes what a code is."""
        value = abs(float(np.array([code], width).view(dtype)[0]))
        if isnan(value) or isinf(value):
            return "nan" if isnan(value) else "infinity"
        if value == 0:
            return "zero"
        return "subnormal" if value < float(ml_dtypes.finfo(dtype).smallest_normal) else "normal"

    t01_1_random = Random(101)
    t01_1_reasons = {"normal": ordinary, "zero": lowest, "subnormal": lowest}
    t01_1_reasons |= {"infinity": top, "nan": top}
    t01_1_traps = {
        "zero": {"minus zero is a zero too": "subnormal"},
        "subnormal": {"E = 0 alone makes no zero": "zero"},
        "infinity": {alone: "nan"},
        "nan": {"NaN has many patterns: any F but 0": "infinity"},
    }
    for t01_1_name, e, m, width, dtype in (
        ("FP16", 5, 10, "u2", np.float16),
        ("BF16", 8, 7, "u2", ml_dtypes.bfloat16),
        ("FP32", 8, 23, "u4", np.float32),
        ("E5M2", 5, 2, "u1", ml_dtypes.float8_e5m2),
    ):
        for sign in (0, 1 << (e + m)):
            for exponent in (0, t01_1_random.randrange(1, 2**e - 1), 2**e - 1):
                for field in (0, 2 ** (m - 1), *t01_1_random.sample(range(1, 2**m), 3)):
                    code = sign | exponent << m | field
                    kind = t01_1_kind(code, width, dtype)
                    call = f"classify(0x{code:0{(1 + e + m) // 4}X}, {t01_1_name})"
                    check(call, kind, t01_1_reasons[kind], t01_1_traps.get(kind))
    for code in (0x00, 0x03, 0x08, 0x45, 0x78, 0x79, 0x7D, 0x7E, 0x7F, 0xF8, 0xFB, 0xFE, 0xFF):
        kind = t01_1_kind(code, "u1", ml_dtypes.float8_e4m3fn)
        traps = {"E4M3 has no infinity": "infinity", only: "nan"}
        traps = {last: "normal"} if kind == "nan" else traps
        low = code % 128 < 0x78
        traps = t01_1_traps.get(kind) if low else traps
        reason = t01_1_reasons[kind] if low else finite
        check(f"classify(0x{code:02X}, E4M3)", kind, reason, traps)
    for code in range(16):
        kind = t01_1_kind(code, "u1", ml_dtypes.float4_e2m1fn)
        top_code = code % 8 > 5
        traps = {no_nan: "nan"} if top_code else t01_1_traps.get(kind)
        reason = finite if top_code else t01_1_reasons[kind]
        check(f"classify(0x{code:X}, E2M1)", kind, reason, traps)
    for code in (0x1C, 0x1D, 0x1F, 0x3C, 0x3F):
        kind = t01_1_kind(code, "u1", ml_dtypes.float6_e3m2fn)
        check(f"classify(0x{code:X}, Format(3, 2, False, False))", kind, finite)
    # The rule for one NaN per sign, at other widths: only the all-ones exponent is not IEEE's.
    for e, m, dtype in ((5, 2, ml_dtypes.float8_e5m2), (3, 4, ml_dtypes.float8_e3m4)):
        first, all_ones = (2**e - 1) << m, 2 ** (e + m) - 1
        for part in (0, 1, 2**m, first - 1, first, first + 1, all_ones - 1, all_ones):
            kind = "nan" if part == all_ones else "normal"
            wrong = {first: "infinity", all_ones: "normal"}.get(part, "nan")
            traps = {"E4M3 is one case of a rule: ask has_infinity and has_nan": wrong}
            reason = finite
            if part < first:
                kind = t01_1_kind(part, "u1", dtype)
                traps, reason = t01_1_traps.get(kind), t01_1_reasons[kind]
            for code in (part, part | 1 << (e + m)):
                call = f"classify(0x{code:02X}, Format({e}, {m}, has_infinity=False))"
                check(call, kind, reason, traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
### t01_2 · Decode a code

Now the value, as a Python `float`, which has room for every number of these formats. `inf` and
`nan` are at hand, and -0.0 is not the same answer as 0.0.
"""


# %% task="t01_2" forbids=["ampcourse.decode", "gfloat", "ml_dtypes", "torch"]
def decode(code, fmt):
    """Return the value of a code as a float."""
    ### BEGIN SOLUTION
    sign, exponent, significand = split(code, fmt)
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    top = exponent == 2**fmt.exponent_bits - 1
    if top and fmt.has_infinity:
        magnitude = nan if significand else inf
    elif top and fmt.has_nan and significand == 2**fmt.significand_bits - 1:
        magnitude = nan
    else:
        implicit_bit = 1 if exponent else 0
        magnitude = implicit_bit + significand / 2**fmt.significand_bits
        magnitude *= 2.0 ** (max(exponent, 1) - bias)
    return -magnitude if sign else magnitude
    ### END SOLUTION


# %% check="t01_2" points=5
with task("t01_2"):
    normal = "a normal number is (-1)^sign * 2^(E - bias) * (1 + F / 2^m)"
    lowest = "a subnormal number is (-1)^sign * 2^(1 - bias) * F / 2^m"
    zero = "zero has a sign too"
    top = "all ones in E are reserved: infinity if F = 0, NaN otherwise"
    finite = "without infinity, all ones in E make ordinary numbers, except the one NaN if any"
    bias_hint = "the bias is 2^(k-1) - 1, not 2^(k-1)"
    one_hint = "a normal number has an implicit 1"
    alone = "all ones in E alone make no NaN"
    traps = {"-1**sign is -(1**sign): write (-1)**sign": -0.0999755859375}
    check("decode(0x2E66, FP16)", 0.0999755859375, normal, traps)
    check("decode(0x4500, FP16)", 5.0, normal, {bias_hint: 2.5})
    check("decode(0xC500, FP16)", -5.0, normal, {"the first bit is the sign": 5.0})
    traps = {"the exponent of subnormals stays at 1 - bias": (2**-25, 2**-14)}
    traps |= {bias_hint: (2**-25, 2**-15), one_hint: (2**-24, 0.0)}
    check("decode(0x0001, FP16), decode(0x0400, FP16)", (2**-24, 2**-14), lowest, traps)
    check("decode(0x0200, FP16)", 2**-15, lowest, {"subnormals have no implicit 1": 1.5 * 2**-15})
    check("decode(0x8000, FP16)", -0.0, zero, {"minus zero keeps its sign": 0.0})
    check("decode(0x7C00, FP16)", inf, top, {alone: nan})
    check("decode(0xFC00, FP16)", -inf, top, {"infinity has a sign too": inf})
    traps = {"E4M3 has no infinity": inf, alone: nan, bias_hint: 128.0, one_hint: 0.0}
    check("decode(0x78, E4M3)", 256.0, finite, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import ml_dtypes
    import numpy as np

    t01_2_random = Random(102)
    t01_2_dtypes = {
        "FP16": (5, 10, "u2", np.float16),
        "BF16": (8, 7, "u2", ml_dtypes.bfloat16),
        "FP32": (8, 23, "u4", np.float32),
        "E5M2": (5, 2, "u1", ml_dtypes.float8_e5m2),
        "E4M3": (4, 3, "u1", ml_dtypes.float8_e4m3fn),
        "E2M1": (2, 1, "u1", ml_dtypes.float4_e2m1fn),
        "Format(3, 4)": (3, 4, "u1", ml_dtypes.float8_e3m4),
        "Format(3, 2, False, False)": (3, 2, "u1", ml_dtypes.float6_e3m2fn),
    }

    def t01_2_check(code, name, reason, traps=None):
        """Expect what ml_dtypes makes of the code."""
        value = float(np.array([code], t01_2_dtypes[name][2]).view(t01_2_dtypes[name][3])[0])
        shown = f"0x{code:0{(4 + sum(t01_2_dtypes[name][:2])) // 4}X}"
        check(f"decode({shown}, {name})", value, reason, traps)

    for name, (e, m, width, dtype) in t01_2_dtypes.items():
        bias, last, sign = 2 ** (e - 1) - 1, 2**e - 1, 1 << (e + m)
        for code in t01_2_random.choices(range(1 << m, last << m), k=6):
            value = float(np.array([code], width).view(dtype)[0])
            traps = {bias_hint: value / 2, one_hint: value - 2.0 ** ((code >> m) - bias)}
            t01_2_check(code, name, normal, traps)
            t01_2_check(code | sign, name, normal, {"the first bit is the sign": value})
        for field in t01_2_random.choices(range(1, 2**m), k=4):
            traps = {
                "subnormals have no implicit 1": 2.0**-bias * (1 + field / 2**m),
            }
            t01_2_check(field, name, lowest, traps)
            t01_2_check(field | sign, name, lowest)
        # A wrong bias and a wrong exponent of subnormals differ in the smallest normal number.
        normal_one, step = 2.0 ** (1 - bias), 2.0 ** (1 - bias - m)
        traps = {"the exponent of subnormals stays at 1 - bias": (step / 2, normal_one)}
        traps |= {bias_hint: (step / 2, normal_one / 2), one_hint: (step, 0.0)}
        call = f"decode({1:#x}, {name}), decode({2**m:#x}, {name})"
        check(call, (step, normal_one), lowest, traps)
        t01_2_check(0, name, zero)
        t01_2_check(sign, name, zero, {"minus zero keeps its sign": 0.0})
    for name in ("FP16", "BF16", "FP32", "E5M2", "Format(3, 4)"):
        e, m, _, _ = t01_2_dtypes[name]
        last, sign = (2**e - 1) << m, 1 << (e + m)
        traps = {
            alone: nan,
            "all ones in E are no ordinary exponent here": 2.0**2 ** (e - 1),
        }
        t01_2_check(last, name, top, traps)
        t01_2_check(last | sign, name, top, {"infinity has a sign too": inf})
        for field in (2 ** (m - 1), *t01_2_random.choices(range(1, 2**m), k=3)):
            traps = {"NaN has many patterns: any F but 0": inf}
            t01_2_check(last | field, name, top, traps)
    for code in range(0x78, 0x80):
        wrong = 480.0 if code == 0x7F else nan
        traps = {
            "E4M3 has no infinity": inf,
            "E4M3 keeps one NaN per sign, the code of all ones": wrong,
        }
        t01_2_check(code, "E4M3", finite, traps)
        t01_2_check(code | 0x80, "E4M3", finite)
    for code in (6, 7, 14, 15):
        traps = {"E2M1 has no NaN: both fields of its record are False": nan}
        t01_2_check(code, "E2M1", finite, traps)
    for code in (0x1C, 0x1D, 0x1F, 0x3F):
        t01_2_check(code, "Format(3, 2, False, False)", finite)
    # The rule for one NaN per sign, at other widths: the top binade is twice the one below it.
    for e, m, dtype in ((5, 2, ml_dtypes.float8_e5m2), (3, 4, ml_dtypes.float8_e3m4)):
        for field in (0, 1, 2**m - 2, 2**m - 1):
            for code in ((2**e - 1) << m | field, (2 ** (e + 1) - 1) << m | field):
                value = wrong = 2 * float(np.array([code - 2**m], "u1").view(dtype)[0])
                if field == 2**m - 1:
                    value = nan
                else:
                    wrong = nan if field else value * inf
                traps = {"E4M3 is one case of a rule: ask has_infinity and has_nan": wrong}
                call = f"decode({code:#04x}, Format({e}, {m}, has_infinity=False))"
                check(call, value, finite, traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Both ends of the line

Which code comes last? The all-ones exponent is taken, so it is the code just below infinity.
"""

# %%
for code in (0x7BFE, 0x7BFF, 0x7C00):
    print(f"{code:#x} = {code:016b} is {read_bits(code, 'fp16').value}")

# %% [markdown]
r"""
There is the answer to the opening question. Adding 1 to a code leads to the next larger number,
from zero all the way up to infinity: a full significand field carries over into the exponent
field above it.

At the other end, what `torch.finfo` calls `tiny` is the smallest *normal* number, $2^{-14}$ in
FP16. The subnormals go on below it for another ten powers of two.

### t01_3 · Find the limits

Return three floats: the largest finite number, the smallest positive normal number, and the
smallest positive number. Mind the formats that use their all-ones exponent for numbers.
"""


# %% task="t01_3" forbids=["ampcourse.decode", "ampcourse.formats", "gfloat", "ml_dtypes", "torch"]
def limits(fmt):
    """Return (largest, smallest normal, smallest) of the positive finite numbers."""
    ### BEGIN SOLUTION
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    step = 2.0**-fmt.significand_bits
    smallest_normal = 2.0 ** (1 - bias)
    if fmt.has_infinity:
        largest = 2.0**bias * (2 - step)
    elif fmt.has_nan:
        largest = 2.0 ** (bias + 1) * (2 - 2 * step)
    else:
        largest = 2.0 ** (bias + 1) * (2 - step)
    return largest, smallest_normal, smallest_normal * step
    ### END SOLUTION


# %% check="t01_3" points=4
with task("t01_3"):
    largest = "the largest number is that of the last code below infinity"
    finite = "without infinity, all ones in E make numbers too, up to the last code that is not NaN"
    smallest_normal = "the smallest normal number is that of the first code with an implicit 1"
    smallest = "the smallest positive number is that of the code after zero"
    power = "2^emax is only its power of two: the significand is more than 1"
    tiny = "tiny is the smallest normal number only"
    bias_hint = "the bias is 2^(k-1) - 1, not 2^(k-1)"
    check("limits(FP16)[0]", 65504.0, largest, {power: 32768.0, bias_hint: 32752.0})
    traps = {
        "E4M3 has no infinity, so its largest number has all ones in E": 240.0,
        "all bits set is E4M3's NaN: its largest number is one code lower": 480.0,
        f"{power} (or does your classify call 0x79 to 0x7E NaN?)": 256.0,
        bias_hint: 224.0,
    }
    check("limits(E4M3)[0]", 448.0, finite, traps)
    check("limits(E2M1)[0]", 6.0, finite)
    check("limits(FP16)[1]", 2**-14, smallest_normal, {bias_hint: 2**-15})
    check("limits(FP16)[2]", 2**-24, smallest, {tiny: 2**-14})
    ### BEGIN HIDDEN TESTS
    import ml_dtypes
    import numpy as np

    def t01_3_small(name, normal, step):
        """Check both small limits; the third check judges the last where the first is right."""
        check(f"limits({name})[1]", normal, smallest_normal)
        check(f"limits({name})[2]", step, smallest, {tiny: normal})
        traps = {"the exponent of subnormals stays at 1 - bias": step / 2}
        call = f"_, normal, smallest = limits({name})"
        call += f"\nreturn smallest if normal == {normal!r} else {step!r}"
        check(call, step, smallest, traps)

    for name, e, m, dtype in (
        ("BF16", 8, 7, ml_dtypes.bfloat16),
        ("FP32", 8, 23, np.float32),
        ("E5M2", 5, 2, ml_dtypes.float8_e5m2),
        ("Format(4, 3)", 4, 3, ml_dtypes.float8_e4m3),
        ("Format(3, 4)", 3, 4, ml_dtypes.float8_e3m4),
        ("E4M3", 4, 3, ml_dtypes.float8_e4m3fn),
        ("E2M1", 2, 1, ml_dtypes.float4_e2m1fn),
        ("Format(3, 2, False, False)", 3, 2, ml_dtypes.float6_e3m2fn),
        ("Format(2, 3, False, False)", 2, 3, ml_dtypes.float6_e2m3fn),
    ):
        info, emax = ml_dtypes.finfo(dtype), 2 ** (e - 1) - 1
        value = float(info.max)
        if name in ("BF16", "FP32", "E5M2", "Format(4, 3)", "Format(3, 4)"):
            traps = {
                power: 2.0**emax,
                "2^(emax+1) is the first power of two that is too large": 2.0 ** (emax + 1),
                bias_hint: value / 2,
                "the all-ones exponent is reserved here": 2 * value,
            }
            check(f"limits({name})[0]", value, largest, traps)
        elif name in ("E4M3", "E2M1"):
            check(f"limits({name})[0]", value, finite)
        else:
            before = value - 2.0 ** (emax + 1 - m)
            traps = {"this format has no NaN: all ones is its largest number": before}
            check(f"limits({name})[0]", value, finite, traps)
        t01_3_small(name, float(info.smallest_normal), float(info.smallest_subnormal))
    # The rule for one NaN per sign, at other widths: the top binade is twice the one below it.
    for e, m, dtype in ((5, 2, ml_dtypes.float8_e5m2), (3, 4, ml_dtypes.float8_e3m4)):
        name, info = f"Format({e}, {m}, has_infinity=False)", ml_dtypes.finfo(dtype)
        wrong = float(info.max) * (1 if m == 2 else 2)  # IEEE's rule, or no NaN at all
        value = 2 * float(np.nextafter(info.max, dtype(0)))
        traps = {"E4M3 is one case of a rule: ask has_infinity and has_nan": wrong}
        check(f"limits({name})[0]", value, finite, traps)
        t01_3_small(name, float(info.smallest_normal), float(info.smallest_subnormal))
    ### END HIDDEN TESTS

# %% [markdown]
r"""
And the article? It took the largest exponent, 15, and stopped at $2^{15}$. But the significand of
the largest number is 1.1111111111 in binary, almost 2. Call $p = m + 1$ the **precision**, the
bits of the significand with its implicit one. Then the factor left out is $2 - 2^{1-p}$.
"""

# %%
for name in ("fp16", "fp32"):
    fmt = FORMATS[name]
    power, largest = 2.0**fmt.emax, float(fmt.max)
    print(f"{name}: 2^{fmt.emax} = {power:g}, times {largest / power:.8f} is {largest:.8g}")

# %% [markdown]
r"""
## Every number there is

A float format is a finite list, and you know enough to write it down. Guess first: how many finite
numbers does FP16 have?
"""

# %%
my_count = None  # zero counts once

# %% [markdown]
r"""
### t01_4 · List all finite numbers

Return a list of all finite values of a format as floats, negative ones too, from the smallest to
the largest, each of them once. (Python says `0.0 == -0.0`, so zero counts once; either may stand
for it.) `finite_values(E2M1)` has 15 entries.
"""


# %% task="t01_4" forbids=["ampcourse.decode", "ampcourse.formats", "gfloat", "ml_dtypes", "torch"]
def finite_values(fmt):
    """Return every finite value of the format once, in ascending order, as floats."""
    ### BEGIN SOLUTION
    bias, m = 2 ** (fmt.exponent_bits - 1) - 1, fmt.significand_bits
    codes = 2 ** (fmt.exponent_bits + m)
    if fmt.has_infinity:
        codes -= 2**m  # the all-ones exponent
    elif fmt.has_nan:
        codes -= 1
    positive = []
    for code in range(1, codes):
        _, exponent, significand = split(code, fmt)
        integer = significand + (2**m if exponent else 0)
        positive.append(integer * 2.0 ** (max(exponent, 1) - bias - m))
    return [-x for x in reversed(positive)] + [0.0] + positive
    ### END SOLUTION


# %% check="t01_4" points=3
with task("t01_4"):
    count = "every code counts but the infinities, the NaNs and the second zero"
    values = "each finite code stands for one value"
    order = "the values ascend"
    subnormal = "the exponent of subnormals is 1 - bias"
    traps = {"zero belongs in the list": (14, False)}
    traps |= {"one value is missing: did the loop reach the very last code?": (14, True)}
    check("len(finite_values(E2M1)), 0.0 in finite_values(E2M1)", (15, True), count, traps)
    missed = "between the smallest normal number and zero lie the subnormals"
    traps = {"zero is one number: -0.0 == 0.0": 248, missed: 241}
    check("len(finite_values(E5M2))", 247, count, traps)
    traps = {"only the code of all ones is E4M3's NaN": 241}
    traps |= {"E4M3 has no infinity, so its all-ones exponent counts": 239}
    check("len(finite_values(E4M3))", 253, count, traps)
    largest = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    check("sorted(finite_values(E2M1))[-7:]", largest, values, {subnormal: [0.25, *largest[1:]]})
    check("list(finite_values(E5M2)) == sorted(finite_values(E5M2))", True, order)
    ### BEGIN HIDDEN TESTS
    import ml_dtypes
    import numpy as np

    def t01_4_positive(e, m, dtype, widened):
        """Return the positive finite numbers; widened, the all-ones exponent has some too."""
        codes = np.arange(2 ** (e + m)).astype("u2" if dtype is np.float16 else "u1")
        codes <<= 10 - m if dtype is np.float16 else 0  # FP16's codes that end in zeros
        with np.errstate(invalid="ignore"):  # some NaNs are signalling ones
            numbers = codes.view(dtype).astype(np.float64)
        if widened:
            numbers[-(2**m) :] = 2 * numbers[-(2 ** (m + 1)) : -(2**m)]
            numbers[-1] = nan
        return numbers[np.isfinite(numbers) & (numbers > 0)].tolist()

    # More codes than a byte holds; the list of FP16 would take longer than all the rest.
    for name, e, m, dtype, step in (
        ("Format(5, 4)", 5, 4, np.float16, 11),
        ("E5M2", 5, 2, ml_dtypes.float8_e5m2, 1),
        ("E4M3", 4, 3, ml_dtypes.float8_e4m3fn, 1),
        ("Format(4, 3)", 4, 3, ml_dtypes.float8_e4m3, 1),
        ("Format(3, 4)", 3, 4, ml_dtypes.float8_e3m4, 1),
        ("Format(3, 2, False, False)", 3, 2, ml_dtypes.float6_e3m2fn, 1),
        ("Format(5, 2, has_infinity=False)", 5, 2, ml_dtypes.float8_e5m2, 1),
        ("Format(3, 4, has_infinity=False)", 3, 4, ml_dtypes.float8_e3m4, 1),
    ):
        widened = "has_infinity=" in name
        positive = t01_4_positive(e, m, dtype, widened)
        n, below_top = 2 * len(positive) + 1, 2 * len(positive) + 1 - 2 * (2**m - 1)
        traps = {
            "zero is one number: -0.0 == 0.0": n + 1,
            "infinity is not a finite number": n if "False" in name or name == "E4M3" else n + 2,
            "some codes are no numbers at all: leave the NaNs out": 2 ** (1 + e + m),
            "the sign bit gives every number a negative twin": n // 2 + 1,
        }
        # As many numbers are subnormal as have all ones in E.
        if widened:
            # By IEEE's rule or, in the second such format, without any NaN.
            wrong_count = below_top + (0 if m == 2 else 2 ** (m + 1))
            traps["E4M3 is one case of a rule: ask has_infinity and has_nan"] = wrong_count
        elif name == "E4M3":
            traps["E4M3 has no infinity, so its all-ones exponent counts"] = below_top
            traps["only the code of all ones is E4M3's NaN"] = below_top + 2
        else:
            traps[missed] = below_top
        counts = traps
        thin = "" if step == 1 else f"[::{step}]"
        call = f"sorted(float(v) for v in finite_values({name}) if 0 < v < inf){thin}"
        smallest = [v / 2 for v in positive[: 2**m - 1]]  # with the exponent 0 - bias
        traps = {subnormal: sorted(smallest + positive[2**m - 1 :])[::step]}
        check(call, positive[::step], values, traps)
        check(f"len(finite_values({name}))", n, count, counts)
        call = f"len(finite_values({name})) == {n - 1}, 0.0 in finite_values({name})"
        traps = {
            "zero belongs in the list": (True, False),
            "one value is missing: did the loop reach the very last code?": (True, True),
        }
        check(call, (False, True), count, traps)
        twins = f"values = finite_values({name})\nreturn sorted(-v for v in values if v < 0)"
        twins += " == sorted(v for v in values if v > 0)"
        traps = {"the sign bit gives every number a negative twin": False}
        check(twins, True, count, traps)
        ascending = f"values = list(finite_values({name}))\nreturn values == sorted(values)"
        check(ascending, True, order)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
There are $2^{16}$ codes. Off go those with the all-ones exponent, 1024 for each sign, and one of
the two zeros:
"""

# %%
print(f"you said {my_count}, it is {2**16 - 2 * 1024 - 1}")

# %% [markdown]
r"""
Since codes of positive numbers are in order, the share below 1 is a matter of counting codes:
"""

# %%
from ampcourse.encode import encode as to_bits

below_one = to_bits(1.0, "fp16") - 1
positive = to_bits("inf", "fp16") - 1
print(f"{below_one} of {positive} positive numbers lie below 1: {below_one / positive:.1%}")

# %% [markdown]
r"""
Nearly half: the bias puts the exponent 0 in the middle, so FP16 has about as many numbers below 1
as above. Whether they reach down far enough for gradients, `04_gradient_range` will ask.

## How far is the next number?

The gap to the neighbour, the ulp (unit in the last place), depends on the binade alone: in the
binade of exponent $e$, from $2^e$ up to $2^{e+1}$, it is $2^{e-m}$. Among the subnormals
$e = 1 - \text{bias}$. Both axes below count in powers of two: one more to the right is twice
the number, one more upwards twice the gap.

Before you look: which 16-bit format has the finer gaps, FP16 or BF16?
"""


# %% tags=["nbval-ignore-output"]
# drawing only
def gap_steps(fmt, first=-30, last=18):
    low, high = max(first, fmt.emin), min(last, fmt.emax + 1)
    steps = [(e, e + 1, e + 1 - fmt.precision) for e in range(low, high)]
    flat = fmt.emin + 1 - fmt.precision  # the subnormals share the first gap
    return steps if fmt.emin < first else [(flat, fmt.emin, flat), *steps]


show(
    gaps({name: gap_steps(FORMATS[name]) for name in ("fp32", "bf16", "fp16")}),
    alt="Three rising staircases of gap against size. fp16 runs 3 steps below bf16, is flat at "
    "2^-24 from 2^-13 down, meets bf16 between 2^-17 and 2^-16, and ends at 2^16.",
)

# %% [markdown]
r"""
BF16 has the exponent bits of FP32 and so its range, far beyond both edges of the picture. Of
significand bits it has seven, three fewer than FP16, and its gaps are eight times as wide, until
FP16 runs out of exponents: on the left its line turns flat, on the right it ends.

The layout of BF16 is that of FP32's upper half, but a conversion does not cut, it rounds. (And
the last two lines show the eightfold gap, after 1.)
"""

# %%
fp32, bf16 = to_bits("0.1", "fp32"), to_bits("0.1", "bf16")
print(f"0.1 in FP32 is {fp32:#x}, and its upper half is {fp32 >> 16:#x}")
print(f"0.1 in BF16 is {bf16:#x}")
for name in ("fp16", "bf16"):
    print(f"{name}: after 1 comes {read_bits(to_bits(1, name) + 1, name).value}")

# %% [markdown]
r"""
To find the binade of a float, `math.frexp(x)` takes it apart exactly: $x = f \times 2^n$ with
$0.5 \le |f| < 1$. Look closely at what it says of 1. `math.log2` is no substitute, for it is not
exact: look at what it says of the float just below 2048.
"""

# %%
print(math.frexp(1.0), math.frexp(-5.0))
print(math.log2(math.nextafter(2048.0, 0.0)))

# %% [markdown]
r"""
### t01_5 · Which 16 bits are finer here?

Is FP16 the more precise one, or BF16? Neither is, everywhere, so let a function decide. Given a
float $x$, not 0, which format has the smaller gap there? Return `"fp16"`, `"bf16"` or `"same"`.
The gap at $x$ is the distance between the neighbours that have $|x|$ between them; if the format
holds $|x|$ itself, the distance to the next larger number. From 65504, FP16's largest number, on,
the answer is `"bf16"`.
"""


# %% task="t01_5" forbids=["ampcourse.neighbours", "gfloat", "ml_dtypes", "torch"]
def finer(x):
    """Return "fp16", "bf16" or "same": the format with the smaller gap at x."""
    ### BEGIN SOLUTION
    if abs(x) >= 65504:
        return "bf16"
    exponent = math.frexp(x)[1] - 1  # frexp counts from 0.5, not from 1
    fp16, bf16 = max(exponent, -14) - 10, exponent - 7
    if fp16 == bf16:
        return "same"
    return "fp16" if fp16 < bf16 else "bf16"
    ### END SOLUTION


# %% check="t01_5" points=2
with task("t01_5"):
    smaller = "a gap depends on the binade of |x|, and among the subnormals it is always the same"
    magnitude = "the gap depends on |x|"
    check("finer(1.0)", "fp16", smaller, {"BF16 is not more precise: its m is 7, not 10": "bf16"})
    everywhere = "FP16 is not finer everywhere: it ends at 65504"
    traps = {
        magnitude: ["fp16", "fp16", "bf16", "fp16", "bf16"],
        f"{magnitude}, not on the sign of x": ["fp16", "bf16", "bf16", "bf16", "bf16"],
        "from 65504 on FP16 has no next number": ["fp16", "fp16", "fp16", "fp16", "bf16"],
        everywhere: ["fp16"] * 5,
    }
    five = "[finer(x) for x in (1.0, -1.0, 70000.0, -70000.0, 1e-6)]"
    check(five, ["fp16", "fp16", "bf16", "bf16", "bf16"], smaller, traps)
    subnormal = "2^-14 is not the end of FP16: its subnormals go on below"
    check("finer(2.0**-15)", "fp16", smaller, {subnormal: "bf16"})
    flat = "below 2^-14 the gap of FP16 stays the same, 2^-24, that of BF16 does not"
    by_frexp = "frexp counts from 0.5: its exponent is one above that of the binade"
    traps = {
        flat: ["fp16", "fp16", "fp16"],
        by_frexp: ["fp16", "same", "bf16"],
        "from 2^-17 up to 2^-16 both gaps are 2^-24": ["fp16", "bf16", "bf16"],
        "both gaps are 2^-24 from 2^-17 up to 2^-16": ["bf16", "bf16", "bf16"],
    }
    three = "[finer(x) for x in (1.5 * 2.0**-17, 1.5 * 2.0**-18, 1e-6)]"
    check(three, ["same", "bf16", "bf16"], smaller, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import numpy as np

    def t01_5_finer(x):
        """Measure both gaps with numpy: x is a float32, so cutting bits is exact."""
        if abs(x) >= 65504:
            return "bf16"
        half = np.array([abs(x)], np.float32).astype(np.float16).view("u2")[0]
        half -= float(half.view(np.float16)) > abs(x)  # numpy would compare as float16
        fp16 = float((half + 1).view(np.float16)) - float(half.view(np.float16))
        brain = np.array([abs(x)], np.float32).view("u4")[0] >> 16 << 16
        bf16 = float((brain + (1 << 16)).view("f4")) - float(brain.view("f4"))
        return "same" if fp16 == bf16 else "fp16" if fp16 < bf16 else "bf16"

    t01_5_random = Random(105)
    for _ in range(6):
        # One number from each stretch; the pattern of answers tells who thought what.
        large = 2.0 ** t01_5_random.randrange(-13, 15)
        small = 2.0 ** t01_5_random.randrange(-40, -19)
        xs = [
            t01_5_random.choice((-1, 1)) * float(f"{t01_5_random.uniform(1.02, 1.98) * scale:.3g}")
            for scale in (large, 2.0**-15, 2.0**-17, 2.0**-18, small, 1e5)
        ]
        fp16, bf16 = ["fp16"], ["bf16"]
        traps = {
            "BF16 is not more precise: its m is 7, not 10": 6 * bf16,
            everywhere: 6 * fp16,
            flat: 5 * fp16 + bf16,
            subnormal: fp16 + 5 * bf16,
            "from 2^-17 up to 2^-16 both gaps are 2^-24": 3 * fp16 + 3 * bf16,
            "both gaps are 2^-24 from 2^-17 up to 2^-16": 2 * fp16 + 4 * bf16,
            by_frexp: [*3 * fp16, "same", *2 * bf16],
        }
        check(f"[finer(x) for x in {xs}]", [t01_5_finer(x) for x in xs], smaller, traps)
    for x in (65505.0, 65519.0, 65520.0, 65535.0):
        check(f"finer({x})", "bf16", smaller, {"FP16 has no numbers beyond 65504": "fp16"})
    for x in (65504.0, -65504.0):
        check(f"finer({x})", "bf16", smaller, {"at 65504 FP16 has no next number": "fp16"})
    for x in (2.0**-16, 2.0**-17, 1.999 * 2.0**-17, 1.999 * 2.0**-18, 2.0**-14, 65503.0, 65536.0):
        check(f"finer({x!r})", t01_5_finer(float(np.float32(x))), smaller)
        check(f"finer({-x!r})", t01_5_finer(float(np.float32(x))), smaller)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Where PyTorch's tensor types sit

Below, one number in eight formats. `tf32` is what a Tensor Core reads of a `float32` if you allow
it: by default torch does so in convolutions, not in matrix products. `e8m0` is a bare power of
two, a scale for blocks of small numbers. Which formats lose 1e-8? What becomes of 300 and 70000?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import same_number

same_number("0.1")

# %% [markdown]
r"""
1e-8 becomes 0 in fp16, e5m2, e4m3 and e2m1. 300 becomes 288 in e4m3, 320 in e5m2, 256 in e8m0
and 6 in e2m1. 70000 is infinity in fp16 and e5m2, NaN in e4m3, and again 6 in e2m1.

What becomes of a number too large is decided by the conversion, not by the format: in OFP8 one
that saturates stops at the largest number, another gives infinity or, in E4M3, NaN. The table
does not saturate FP8. torch 2.14.1 saturates to `float8_e4m3fn` (even infinity becomes 448), but
not to `float8_e5m2`.

How far each format reaches, from its smallest positive number to its largest:
"""

# %% tags=["nbval-ignore-output"]
# drawing only
shown = [FORMATS[name] for name in ("fp32", "tf32", "bf16", "fp16", "e5m2", "e4m3", "e2m1")]
powers = {
    f.name: (math.log2(f.smallest), math.log2(f.smallest_normal), math.log2(f.max)) for f in shown
}
reach = [f"{name} from {low:g} to {high:.3g}" for name, (low, _, high) in powers.items()]
show(ranges(powers), alt=f"Bars of range, in powers of two: {', '.join(reach)}.")

# %% [markdown]
r"""
Exponent bits set the length of a bar: the normal numbers of BF16 and TF32 reach as far as FP32's.
Only their subnormals end sooner.
"""

# %%
for fmt in shown:
    fields = f"1 + {fmt.exponent_bits} + {fmt.significand_bits}"
    ends = f"2^{math.log2(fmt.smallest):g} to {float(fmt.max):.5g}"
    print(f"{fmt.name}   {fields:10}   {ends:21}   gap at 1: {float(fmt.eps):.3g}")

# %% [markdown]
r"""
All but TF32 are tensor types of PyTorch; the appendix lists those and the rest.

## From a number back to bits

Most numbers are not in the list, so they have to move to a number that is. The default rule of
IEEE 754 is **round to nearest, ties to even**: take the nearest number of the format; if two are
equally near, take the one whose code ends in a 0 bit. In three steps, once 0 is out of the way:

1. Find the exponent $e$ of the binade: that of the largest power of two up to $|x|$. Use
   $1 - \text{bias}$ if it would be smaller.
2. Count how many gaps of this binade, $2^{e-m}$ each, fit into $|x|$, and round the count. Divide
   by `2.0**(e - m)`: that loses nothing, while multiplying by its reciprocal can overflow. An even
   count means an even code, so Python's `round` is right: it takes ties to even.
3. Assemble by adding, not with `|`. The count of a normal number lies between $2^m$ and
   $2^{m+1}$: subtract $2^m$ to get $F$. A count below $2^m$ means $E = 0$.

If rounding fills the count up to $2^{m+1}$, the carry runs into the exponent field, which is just
right, because codes are in the order of values. The same thought says where overflow starts.
After 65504 the next number would be 65536. Halfway lies 65520, so everything below it still
rounds to 65504; 65520 is a tie, and the even code is infinity's (IEEE 754-2019, 4.3.1).
"""

# %%
for x in (65504, 65505, 65519, 65520):
    code = to_bits(x, "fp16")
    print(f"{x} → {code:#x}, which is {read_bits(code, 'fp16').value}")

# %% [markdown]
r"""
### t01_6 · Encode a number

Return the code nearest to $x$, ties to even. $x$ is a finite Python float, and may be -0.0, which
`math.copysign(1, x)` tells from 0.0. The format is one with infinity, up to `Format(11, 52)`,
which is Python's own float. Round once: do not go through another float type on the way.
"""


# %% task="t01_6" forbids=["ampcourse.encode", "ampcourse.rounding", "gfloat", "ml_dtypes", "torch"]
def encode(x, fmt):
    """Return the code of the number nearest to x, ties to even."""
    ### BEGIN SOLUTION
    m, bias = fmt.significand_bits, 2 ** (fmt.exponent_bits - 1) - 1
    infinity = (2**fmt.exponent_bits - 1) << m
    sign = 1 << (fmt.exponent_bits + m) if math.copysign(1, x) < 0 else 0
    if x == 0:
        return sign
    exponent = max(math.frexp(x)[1] - 1, 1 - bias)
    count = round(abs(x) / 2.0 ** (exponent - m))
    code = count + ((exponent + bias - 1) << m)  # the implicit bit in count adds the missing 1
    return sign | min(code, infinity)
    ### END SOLUTION


# %% check="t01_6" points=7
with task("t01_6"):
    binade = "E is the bias plus the exponent of the largest power of two up to |x|"
    nearest = "the nearest number wins, found by rounding once"
    ties = "of two equally near numbers take the one with the even code"
    carry = "where rounding reaches the next power of two, the exponent goes up by one"
    overflow = "infinity starts halfway between the largest number and the next power of two"
    small = "below the smallest normal number the gap stays the same, down to zero"
    sign = "the first bit is the sign, and zero has one too"
    one_high = "the exponent field is one too high: is the bias 2^(k-1) - 1, "
    one_high += "and did you subtract 2^m from the count?"
    by_int = "int() rounds log2 towards zero: below 1 it is one too high"
    lost_carry = "the carry is lost: join the fields with +, not | or %"
    unlimited = "without a limit, large numbers run into the codes of NaN"
    stuck = "a number that is too large becomes infinity, not the largest number"
    traps = {
        "frexp counts from 0.5: take 1 from its exponent": ["0x3b00", "0x3f00"],
        "frexp counts from 0.5, not from 1: its exponent is one too high": ["0x3f00", "0x4300"],
        "frexp counts from 0.5: its exponent is one above the binade's": ["0x300", "0x300"],
        by_int: ["0x3b00", "0x3e00"],
        "int() rounds log2 towards zero, which is up where it is negative": ["0x300", "0x3e00"],
        one_high: ["0x3e00", "0x4200"],
    }
    two = "[hex(encode(x, FP16)) for x in (0.75, 1.5)]"
    check(two, ["0x3a00", "0x3e00"], binade, traps)
    by_log2 = "log2 is rounded: just below a power of two its floor is one too high"
    adding = "adding 0.5 is itself rounded: use round"
    traps = {
        by_log2: ["0x40a0000000000000", "0x3ff8000000000001"],
        adding: ["0x40a0000000000000", "0x3ff8000000000002"],
    }
    two = "[hex(encode(x, Format(11, 52))) for x in (2048.0 - 2.0**-42, 1.5 + 2.0**-52)]"
    check(two, ["0x409fffffffffffff", "0x3ff8000000000001"], binade, traps)
    check("hex(encode(971.3, FP16))", "0x6397", nearest, {"cutting is not rounding": "0x6396"})
    check("hex(encode(2049.0, FP16))", "0x6800", ties, {"a tie does not always go up": "0x6801"})
    check("hex(encode(2047.9, FP16))", "0x6800", carry, {lost_carry: "0x6400"})
    check("hex(encode(65519.0, FP16))", "0x7bff", overflow)
    check("hex(encode(65520.0, FP16))", "0x7c00", overflow)
    check("hex(encode(1e6, FP16))", "0x7c00", overflow, {stuck: "0x7bff", unlimited: "0x8ba1"})
    check("hex(encode(2.0**-24, FP16))", "0x1", small)
    call = "try:\n    return hex(encode(5e-324, Format(11, 52)))"
    call += "\nexcept OverflowError:\n    return 'OverflowError'"
    large = "2.0**(m - e) can be too large for a float: divide by 2.0**(e - m)"
    check(call, "0x1", small, {large: "OverflowError"})
    check("hex(encode(-0.1, FP16))", "0xae66", sign, {"the sign bit is missing": "0x2e66"})
    check("hex(encode(-0.0, FP16))", "0x8000", sign, {"minus zero keeps its sign": "0x0"})
    check("hex(encode(0.0, FP16))", "0x0", sign)
    ### BEGIN HIDDEN TESTS
    import struct
    from math import floor, log2
    from random import Random

    import ml_dtypes
    import numpy as np

    t01_6_random = Random(106)

    def t01_6_half(x):
        """Let numpy round a double to float16, which it does once."""
        with np.errstate(over="ignore", under="ignore"):
            return int(np.float16(x).view("u2"))

    def t01_6_value(code):
        return float(np.uint16(code).view(np.float16))

    def t01_6_at(x, e, m, exponent):
        """Encode with a given exponent: right if it is that of the binade of x."""
        return round(x / 2.0 ** (exponent - m)) + ((exponent + 2 ** (e - 1) - 2) << m)

    def t01_6_check(x, name, code, reason, traps=None):
        """Check one number, given as a float or as text; codes are shown in hexadecimal."""
        text = x if isinstance(x, str) else repr(x)
        traps = {hint: hex(wrong) for hint, wrong in (traps or {}).items()}
        check(f"hex(encode({text}, {name}))", hex(code), reason, traps)

    def t01_6_pattern(xs, name, codes, reason, traps):
        """Check a few numbers at once: what comes out together tells who thought what."""
        traps = {hint: [hex(code) for code in wrong] for hint, wrong in traps.items()}
        expected = [hex(code) for code in codes]
        check(f"[hex(encode(x, {name})) for x in {xs}]", expected, reason, traps)

    # binade: the double just below a power of two is where a rounded logarithm is wrong; where
    # the count has 53 bits, adding 0.5 to an odd one is rounded up before anything cuts it.
    for power in (1024.0, 2.0**40):
        odd = 0x3FF0 << 48 | t01_6_random.randrange(2**49 + 1, 2**52 - 2**49, 2)
        xs = [float(np.nextafter(power, 0)), struct.unpack("<d", struct.pack("<q", odd))[0], 0.7]
        right = [struct.unpack("<q", struct.pack("<d", x))[0] for x in xs]
        traps = {
            by_log2: [t01_6_at(x, 11, 52, floor(log2(x))) for x in xs],
            by_int: [t01_6_at(x, 11, 52, int(log2(x))) for x in xs],
            one_high: [code + (1 << 52) for code in right],
            adding: [code + code % 2 for code in right],
        }
        t01_6_pattern(xs, "Format(11, 52)", right, binade, traps)
    for code in t01_6_random.sample(range(0x0400, 0x7C00), 8):
        t01_6_check(t01_6_value(code), "FP16", code, binade)
    for code in t01_6_random.sample(range(0x0080, 0x7F80), 4):
        t01_6_check(float(np.uint16(code).view(ml_dtypes.bfloat16)), "BF16", code, binade)

    # nearest
    twice = "rounded twice, first to float32: once is right"
    for _ in range(8):
        x = round(t01_6_random.uniform(0.001, 1000), 4)
        code = t01_6_half(x)
        truncated = code - (t01_6_value(code) > x)
        t01_6_check(x, "FP16", code, nearest, {"cutting is not rounding": truncated})
    for _ in range(6):
        x = float(np.float32(t01_6_random.uniform(-1e9, 1e9)))  # exact in float32: one rounding
        t01_6_check(x, "BF16", int(ml_dtypes.bfloat16(x).view("u2")), nearest)
        t01_6_check(x / 3, "FP32", int(np.float32(x / 3).view("u4")), nearest)
        x = round(t01_6_random.uniform(-15, 15), 2)
        t01_6_check(x, "Format(3, 4)", int(np.array(x, ml_dtypes.float8_e3m4).view("u1")), nearest)
    for _ in range(6):
        code = t01_6_random.randrange(0x3001, 0x4800, 2)  # odd: the tie above it goes up
        tie = (t01_6_value(code) + t01_6_value(code + 1)) / 2
        traps = {twice: code + 1}
        t01_6_check(f"{tie!r} - 2.0**-40", "FP16", code, nearest, traps)

    # ties
    for _ in range(6):
        code = t01_6_random.randrange(0x2000, 0x6000)
        tie = (t01_6_value(code) + t01_6_value(code + 1)) / 2
        traps = {"a tie does not always go up": code + 1}
        t01_6_check(tie, "FP16", t01_6_half(tie), ties, traps)
        t01_6_check(-tie, "FP16", t01_6_half(-tie), ties)
        code = t01_6_random.randrange(0x2000, 0x6000)
        tie = float(np.uint32((code << 16) + 0x8000).view("f4"))
        t01_6_check(tie, "BF16", int(ml_dtypes.bfloat16(tie).view("u2")), ties)

    # carry
    for exponent in t01_6_random.sample(range(-13, 15), 6):
        part = round(t01_6_random.uniform(0.01, 0.2), 2)
        code = t01_6_half(2.0**exponent * (1 - part * 2.0**-10))
        text = f"2.0**{exponent} * (1 - {part} * 2.0**-10)"
        t01_6_check(text, "FP16", code, carry, {lost_carry: code - 0x400})
        tie = 2.0**exponent * (1 - 2.0**-9)  # half a gap of BF16 below the power of two
        t01_6_check(tie, "BF16", int(ml_dtypes.bfloat16(tie).view("u2")), carry)
    t01_6_check(4095.5, "FP16", 0x6C00, carry, {lost_carry: 0x6800})

    # overflow
    for x in (65505.0, round(t01_6_random.uniform(65506, 65519), 1)):
        early = [0x7BFF, 0x7C00, 0x7C00]
        traps = {"65505 is not too large: up to 65520 the nearest number is 65504": early}
        t01_6_pattern([65504.0, x, 65519.0], "FP16", [0x7BFF] * 3, overflow, traps)
    for x in (65536.0, round(t01_6_random.uniform(7e4, 1e6)) + 0.5, 1e300):
        unbounded = t01_6_at(x, 5, 10, floor(log2(x)))
        t01_6_check(x, "FP16", 0x7C00, overflow, {stuck: 0x7BFF, unlimited: unbounded})
        t01_6_check(-x, "FP16", 0xFC00, overflow)
    t01_6_check("2.0**128 * (1 - 2.0**-9)", "BF16", 0x7F80, overflow)
    t01_6_check("2.0**128 * (1 - 2.0**-9 - 2.0**-50)", "BF16", 0x7F7F, overflow)
    t01_6_check("2.0**128 * (1 - 2.0**-25)", "FP32", 0x7F800000, overflow)
    t01_6_check(61439.0, "E5M2", 0x7B, overflow)
    hint = "E5M2 has infinity, and rounding to nearest goes there from 61440"
    traps = {hint: [0x7B, 0x7B, 0xFB]}
    t01_6_pattern([61440.0, 1e5, -1e300], "E5M2", [0x7C, 0x7C, 0xFC], overflow, traps)

    # small, in units of the smallest number
    tiny = "tiny is the smallest normal number only: subnormals lie below"
    for _ in range(3):
        k = t01_6_random.randrange(3, 900)
        ks = [0.75, k + 0.7, 0.5, k]
        right = [t01_6_half(k * 2.0**-24) for k in ks]
        traps = {
            "from just above 2^-25 the nearest number is 2^-24, not 0": [0, *right[1:]],
            tiny: [0] * 4,
            "2^-25 is a tie, and the even code is that of zero": [*right[:2], 1, right[3]],
        }
        t01_6_pattern(f"[k * 2.0**-24 for k in {ks}]", "FP16", right, small, traps)
    traps = {"rounded twice, first to the tie 2^-25: once is right": [0, 1]}
    t01_6_pattern("[2.0**-25 * (1 + 2.0**-40), 0.75 * 2.0**-24]", "FP16", [1, 1], small, traps)
    almost = f"2.0**-14 * (1 - {round(t01_6_random.uniform(0.01, 0.2), 2)} * 2.0**-10)"
    traps = {tiny: [0, 0, 0x600], lost_carry: [0, 0x10, 0x600]}
    border = f"[{almost}, 2.0**-20, 1.5 * 2.0**-14]"
    t01_6_pattern(border, "FP16", [0x400, 0x10, 0x600], small, traps)
    for x in (2.0**-14 * (1 - 2.0**-10), 2.0**-25, 1e-30):
        t01_6_check(x, "FP16", t01_6_half(x), small)
    for x, code in ((2.0**-133, 0x1), (3e-39, 0x21)):
        t01_6_check(x, "BF16", code, small, {"BF16 has subnormals too": 0})
    for x in (2.0**-133, 2.0**-127, 3e-40, 1e-300):
        t01_6_check(x, "FP32", int(np.float32(x).view("u4")), small)
    for x, reason in ((1e-300, binade), (1.5e-323, small), (1e-310, small)):
        code = struct.unpack("<q", struct.pack("<d", x))[0]
        call = f"try:\n    return hex(encode({x!r}, Format(11, 52)))"
        call += "\nexcept OverflowError:\n    return 'OverflowError'"
        lost = "a double has subnormals too" if reason == small else twice
        traps = {large: "OverflowError", lost: "0x0"}
        check(call, hex(code), reason, traps)

    # sign
    for name in ("FP16", "BF16"):
        x = round(t01_6_random.uniform(1, 100)) / 2
        dtype = np.float16 if name == "FP16" else ml_dtypes.bfloat16
        code = int(np.array(x, dtype).view("u2"))
        traps = {
            "minus zero keeps its sign, which x < 0 does not see": [0, 0x8000 | code],
            "the sign bit is missing": [0, code],
        }
        t01_6_pattern([-0.0, -x], name, [0x8000, 0x8000 | code], sign, traps)
    t01_6_check(0.0, "FP32", 0, sign)
    t01_6_check(-1e-300, "FP16", 0x8000, sign)
    for code in t01_6_random.sample(range(0x8401, 0xFC00), 5):
        t01_6_check(t01_6_value(code), "FP16", code, sign)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

First, what came of your predictions, and a few facts for the list below:
"""

# %%
closer = min(
    ("fp16", "bf16"),
    key=lambda name: abs(0.1 - read_bits(to_bits("0.1", name), name).value),
)
first_infinity = next(n for n in range(65504, 70000) if to_bits(n, "fp16") == 0x7C00)
print(f"largest finite FP16: you said {my_largest}, it is {FORMATS['fp16'].max}")
print(f"first to overflow:   you said {my_overflow}, it is {first_infinity}")
print(f"share below 1:       you said {my_share}, it is {below_one / positive:.3f}")
print(f"closer to 0.1:       you said {my_closer}, it is {closer}")

# %%
for name in ("fp32", "fp16"):
    print(f"{name} reaches down to 2^{math.log2(FORMATS[name].smallest):g}")
for factor in (1, 1.0001):
    print(f"FP16 rounds {factor} * 2^-25 to code {to_bits(factor * 2**-25, 'fp16')}")
print("FP32 with E = 0xFF and F = 0 is", read_bits(0x7F800000, "fp32").kind)

# %% [markdown]
r"""
The first five claims are from the articles behind this course.

- **"FP16 spans about ±32768, FP32 ±1.7e38."** They span ±65504 and ±3.4028e38: the factor
  $2 - 2^{1-p}$ was left out (t01_3).
- **"FP32 reaches down to $2^{-149}$."** True of the format, not of every program: one that
  flushes subnormals to zero stops at $2^{-126}$. FP16 ends at $2^{-24}$ (lines 1 and 2).
- **"Below $2^{-24}$ all is 0 in FP16."** Only up to $2^{-25}$, which ties to 0; from just above it
  nearest gives $2^{-24}$ (lines 3 and 4).
- **"Exponent 0xFF means NaN."** Only if $F$ is not 0, else infinity (line 5).
- **"PyTorch has ten tensor types."** No longer (appendix).
- **"65505 overflows in FP16."** Infinity starts at 65520, halfway to the missing 65536.
- **"`tiny` is the smallest positive number."** The smallest normal one.
- **"The bias is $2^{k-1}$."** One less in all formats of the tasks, so that 1.0 has the field 01…1
  and the reciprocal of the smallest normal number does not overflow. (The fnuz types of the
  appendix do use $2^{k-1}$.)
- **"NaN is a bit pattern."** FP16 has 2046 of them, E4M3 two.
- **"BF16 is newer, so more precise."** It has FP32's range, but 8 bits of precision where FP16 has
  11 (t01_5).

## Say it aloud

A float is a sign, a biased exponent and a significand whose leading one is not stored. The
exponent picks the binade, the significand counts even steps inside it. At the bottom, subnormals
keep the last gap down to zero; at the top, one exponent is kept for infinity and NaN, unless a
format spends it on numbers. Exponent bits buy range, significand bits buy precision.

## Where next

You saw 65519 turn into 65504 without a word. `02_rounding` asks what happens when that is done ten
thousand times in a row.
"""

# %% [markdown]
r"""
## Appendix, optional: PyTorch's tensor types

The articles list ten tensor types: `float16`, `float32`, `float64`, `bfloat16`, `uint8`, `int8`,
`int16`, `int32`, `int64`, `bool`. Four of them are floats, and six more floats have come since.
The fields are sign, exponent and significand.

| dtype | bytes | fields | largest | smallest positive | infinity | NaN codes |
|---|---|---|---|---|---|---|
| `float64` | 8 | 1 + 11 + 52 | 1.7977e308 | $2^{-1074}$ | yes | $2^{53} - 2$ |
| `float32` | 4 | 1 + 8 + 23 | 3.4028e38 | $2^{-149}$ | yes | $2^{24} - 2$ |
| `float16` | 2 | 1 + 5 + 10 | 65504 | $2^{-24}$ | yes | 2046 |
| `bfloat16` | 2 | 1 + 8 + 7 | 3.3895e38 | $2^{-133}$ | yes | 254 |
| `float8_e5m2` | 1 | 1 + 5 + 2 | 57344 | $2^{-16}$ | yes | 6 |
| `float8_e4m3fn` | 1 | 1 + 4 + 3 | 448 | $2^{-9}$ | no | 2 |
| `float8_e5m2fnuz` | 1 | 1 + 5 + 2 | 57344 | $2^{-17}$ | no | 1 |
| `float8_e4m3fnuz` | 1 | 1 + 4 + 3 | 240 | $2^{-10}$ | no | 1 |
| `float8_e8m0fnu` | 1 | 0 + 8 + 0 | $2^{127}$ | $2^{-127}$ | no | 1 |
| `float4_e2m1fn_x2` | 1 | 1 + 2 + 1 | 6 | $2^{-1}$ | no | 0 |

The suffixes are a code of their own: `f`, finite values only, no infinity; `n`, NaN is not where
IEEE puts it, or missing; `u`, unsigned; `uz`, unsigned zero: there is no -0, the code it would
have is the only NaN, and the bias is larger by one. `e8m0fnu` has no sign, no zero and no
significand field. `_x2` packs two numbers into a byte. The 8-bit and 4-bit types are for storing
and for a few fast operations such as matrix products; do not expect `+` to work on them.

No tensor holds TF32: it is a `float32` of which a Tensor Core reads all eight exponent bits and
ten bits of the significand. Nor has torch a type for the FP6 of MX, `e3m2` and `e2m3`, which you
can choose in the explorer.

The other types are no floats, or are made of them:

| dtypes | what they hold |
|---|---|
| `uint8` `int8` `int16` `int32` `int64` | integers: exact, with one gap, 1, everywhere |
| `bool` | True or False, a whole byte each |
| `uint16` `uint32` `uint64` | integers too; newer, and few operations know them |
| `complex32` `complex64` `complex128` | pairs of `float16`, `float32`, `float64` |
| `bcomplex32` | pairs of `bfloat16`; new and experimental |
| `qint8` `quint8` `qint32` `quint4x2` `quint2x4` | quantised: integers with a scale beside them |
| `int1` … `int7`, `uint1` … `uint7` | names for narrow integers; torch gives each a byte |
| `bits8` `bits16` `bits1x8` `bits2x4` `bits4x2` | bits without a meaning |

(Checked against torch 2.14.1, bit by bit where torch can convert, FP4 against ml_dtypes, and
against torch's page on tensor attributes. Which types exist depends on the version.)
"""
