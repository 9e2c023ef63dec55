# %% [markdown]
r"""
# Where do small numbers go?

A weight of 1.0 is to grow by 0.0004. In FP16 it does not: the sum rounds back to 1.0, and no
error, no warning, no NaN says so. If the next updates are positive and no larger, they are lost
too.

You will find out exactly which updates vanish, round to any format in four modes, and repair a
sum in two ways. You need `01_floating_point` (binades, subnormals, ties to even), but no PyTorch
knowledge and no GPU. There are six tasks; plan an hour, or two sittings with a break before
"A sum that stops".

## Predict first

Put a guess in place of each `None`. Nobody grades them. The answers come on the way, and all
together near the end.
"""

# %%
my_sum = None  # 0.0 plus 0.0001, ten thousand times, in FP16
my_lost = None  # in FP16, the largest d with 1 - d == 1: a power of two
my_equal = None  # 0.1 + 0.2 == 0.3 in which of fp64, fp32, fp16, bf16?
my_repair = None  # the first sum, when each step rounds by chance

# %% [markdown]
r"""
## An update that does nothing

Here are a weight $w$ and an update $\Delta$, added in FP16.

1. Make $\Delta$ smaller until $w + \Delta$ is $w$ again. At which value does that happen?
2. Now let $\Delta$ be negative. Is the limit the same? Try $w$ = 1.5 as well.
3. Set $w$ to 0.0004 and to 1000. Which of them swallows more?
4. Back to $w$ = 1 and a lost $\Delta$ above 0: change the rounding mode. Which lets it through?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import lost_update

lost_update("fp16", w="1", delta="0.001")

# %% [markdown]
r"""
The result of an addition is as if the sum were taken exactly and then **rounded** to a number of
the format (IEEE 754-2019, 4.3 and 5.1). So $\Delta$ is lost where $w$ is the number nearest to
$w + \Delta$: up to half the gap to the neighbour on that side. Within a binade all gaps are
equal, and their width is the **ulp**, the unit in the last place. It doubles from one binade to
the next, so that a power of two between them has a narrow gap below it and a wide one above. Three
weights and what they swallow:
"""

# %% tags=["setup"]
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ampcourse.courseware import check, inf, task

# %% tags=["nbval-ignore-output"]
# drawing only
from ampcourse.decode import decode as read_bits
from ampcourse.encode import encode as to_bits
from ampcourse.neighbours import gaps
from ampcourse.plotting import show
from ampcourse.plotting.rounding import arrows, lost_zones, running_sums


# %% tags=["nbval-ignore-output"]
def around(w, unit=2**-11):
    code = to_bits(w, "fp16")
    distances = [(read_bits(code + k, "fp16").value - w) / unit for k in range(-13, 14) if k]
    below, above = (float(gap) / unit for gap in gaps(code, "fp16"))
    return [distance for distance in distances if abs(distance) < 14], below / 2, above / 2


weights = {"w = 1": 1.0, "w = 1.5": 1.5, "last below 2": 2 - 2**-10}
show(
    lost_zones({name: around(w) for name, w in weights.items()}, "2^-11"),
    alt="Neighbours of 1: gaps of one unit below, two above; the lost zone reaches half a unit "
    "down and one unit up. Around 1.5, and around the last number below 2, it reaches one unit "
    "to both sides; beyond 2 the gaps are four units.",
)

# %% [markdown]
r"""
Only 1, a power of two, has a lopsided zone. That of the last number below 2 is even: the gaps
on both its sides are those of its own binade.

In this lesson a format is a small record with IEEE rules and any widths:
"""


# %% tags=["setup"]
class Format(NamedTuple):
    exponent_bits: int
    significand_bits: int  # the bits that are stored: m

    @property
    def emin(self):
        """The exponent of the smallest normal number, and of all subnormals."""
        return 2 - 2 ** (self.exponent_bits - 1)

    @property
    def largest(self):
        """The largest finite number."""
        return (2 - 2.0**-self.significand_bits) * 2.0 ** (1 - self.emin)


FP32, FP16, BF16, E5M2 = Format(8, 23), Format(5, 10), Format(8, 7), Format(5, 2)

# %% [markdown]
r"""
### t02_1 · The ulp

Return the width of the gap in which $|x|$ lies; if the format holds $|x|$, that of the gap above
it. In the binade of exponent $e$, from $2^e$ up to $2^{e+1}$, this is $2^{e-m}$, and below
$2^{e_{\min}}$, through the subnormals and to 0, it stays $2^{e_{\min}-m}$. $x$ is any finite
float: take the rule to hold beyond the largest number too, which t02_3 will need.

`math.frexp(x)` finds a binade exactly: $x = f \times 2^n$ with $0.5 \le |f| < 1$; of 0 it says $n
= 0$. Your solutions may use `math`, `Fraction`, `np`, `inf`, the formats above and your own
earlier solutions. The library (`to_bits`, `gaps` and so on), `torch`, `ml_dtypes` and `gfloat`
are for looking: a solution may not use them. The grader does not know the library's names, and it
refuses a solution that imports what would give the answer away, even unused.
"""


# %% task="t02_1" forbids=["ampcourse.neighbours", "gfloat", "ml_dtypes", "torch"]
def ulp(x, fmt):
    """Return the width of the gap of the format in which |x| lies."""
    ### BEGIN SOLUTION
    exponent = math.frexp(x)[1] - 1 if x else fmt.emin
    return 2.0 ** (max(exponent, fmt.emin) - fmt.significand_bits)
    ### END SOLUTION


# %% check="t02_1" points=3
with task("t02_1"):
    binade = "the ulp is 2^(e - m), with e the exponent of the binade of |x|"
    bottom = "from 2^emin down to 0 the ulp stays the same"
    scaled = "eps times x grows inside a binade, the ulp does not"
    constant = "eps is the ulp of the numbers from 1 up to 2 only"
    by_frexp = "frexp counts from 0.5: its exponent is one above the binade's"
    one_sided = "at a power of two the next larger number is twice as far as the next smaller"
    signed = "a distance is positive"
    by_int = "int() rounds log2 towards zero, which is up below 1"
    by_log2 = "just below a power of two log2 rounds up to it, and so does a cast to the format"
    shrinking = "subnormals have no smaller ulp: emin is a floor for the exponent"
    zero_exponent = "frexp says n = 0 of 0, which is no binade"
    only_fp16 = "that is the ulp of FP16: take emin and the significand bits from fmt"
    traps = {
        scaled: [2**-10, 1.5 * 2**-10, 3 * 2**-10, 0.75 * 2**-10],
        constant: 4 * [2**-10],
        by_frexp: [2**-9, 2**-9, 2**-8, 2**-10],
        one_sided: [2**-11, 2**-10, 2**-9, 2**-11],
        by_int: [2**-10, 2**-10, 2**-9, 2**-10],
    }
    call = "[float(ulp(x, FP16)) for x in (1.0, 1.5, 3.0, 0.75)]"
    check(call, [2**-10, 2**-10, 2**-9, 2**-11], binade, traps)
    check("float(ulp(-1.5, FP16))", 2**-10, binade, {signed: -(2**-10)})
    check("float(ulp(3.0, BF16))", 2**-6, binade, {only_fp16: 2**-9})
    check("float(ulp(2048 - 2.0**-42, FP16))", 1.0, binade, {by_log2: 2.0})
    call = "[float(ulp(x, FP16)) for x in (2.0**-20, 0.0)]"
    traps = {shrinking: [2**-30, 2**-24], zero_exponent: [2**-24, 2**-11]}
    check(call, [2**-24, 2**-24], bottom, traps)
    check("float(ulp(2.0**-130, BF16))", 2**-133, bottom, {only_fp16: 2**-24})
    ### BEGIN HIDDEN TESTS
    from math import floor, log2
    from random import Random

    import ml_dtypes
    import numpy as np

    t02_1_random = Random(201)
    t02_1_dtypes = {
        "FP16": (5, 10, "u2", np.float16),
        "BF16": (8, 7, "u2", ml_dtypes.bfloat16),
        "FP32": (8, 23, "u4", np.float32),
        "E5M2": (5, 2, "u1", ml_dtypes.float8_e5m2),
        "Format(4, 3)": (4, 3, "u1", ml_dtypes.float8_e4m3),
        "Format(3, 4)": (3, 4, "u1", ml_dtypes.float8_e3m4),
    }

    def t02_1_number(code, name):
        """Let numpy or ml_dtypes read a code."""
        return float(np.array([code], t02_1_dtypes[name][2]).view(t02_1_dtypes[name][3])[0])

    for name, (e, m, _, _) in t02_1_dtypes.items():
        emin, one = 2 - 2 ** (e - 1), (2 ** (e - 1) - 1) << m
        # A power of two, an odd significand, its negative, and a number below 1.
        up = one + (t02_1_random.randrange(1, 2 ** (e - 1) - 2) << m)
        odd = up + t02_1_random.randrange(2 ** (m - 1) + 1, 2**m)
        low = one - t02_1_random.randrange(1, 2**m) - (1 << m)
        codes = [up, odd, low]
        xs = [t02_1_number(code, name) for code in codes]
        right = [t02_1_number(code + 1, name) - x for code, x in zip(codes, xs, strict=True)]
        eps = 2.0**-m
        traps = {
            scaled: [x * eps for x in xs],
            constant: [eps] * 3,
            by_frexp: [2 * gap for gap in right],
            one_sided: [right[0] / 2, *right[1:]],
            by_int: [*right[:2], 2 * right[2]],
        }
        check(f"[float(ulp(x, {name})) for x in {xs}]", right, binade, traps)
        between_two = xs[1] + 0.7 * right[1]
        traps = {signed: -right[1], by_frexp: 2 * right[1]}
        check(f"float(ulp({between_two!r}, {name}))", right[1], binade)
        check(f"float(ulp({-xs[1]!r}, {name}))", right[1], binade, traps)
        x = float(np.nextafter(8.0, 0))
        rounded = 2.0 ** (floor(log2(x)) - m)
        check(f"float(ulp({x!r}, {name}))", rounded / 2, binade, {by_log2: rounded})
        # The largest number, and one beyond it: 1.5 times the power of two that follows.
        last = t02_1_number(((2**e - 1) << m) - 1, name)
        top = last - t02_1_number(((2**e - 1) << m) - 2, name)
        xs = [last, 1.5 * (last + top)]
        check(f"[float(ulp(x, {name})) for x in {xs}]", [top, 2 * top], binade)
        gap = t02_1_number(1, name)
        subnormal = t02_1_number(t02_1_random.randrange(1, 2 ** (m - 1) + 1), name)
        xs = [0.0, subnormal, 2.0**emin, 0.3 * gap]
        floors = [gap] + [2.0 ** (floor(log2(x)) - m) for x in xs[1:]]
        traps = {
            shrinking: floors,
            zero_exponent: [2.0 ** (max(-1, emin) - m), *3 * [gap]],
        }
        check(f"[float(ulp(x, {name})) for x in {xs}]", 4 * [gap], bottom, traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## The 2048 rule, and what it leaves out

A well-known rule of thumb: an FP16 update is lost once the weight is 2048 times as large. The
paper *Mixed Precision Training* says that from this ratio on it *can* be lost (Micikevicius et al.,
section 3.1); the "can" is often dropped. Let us see how large the lost updates really are, in both
directions. (For the weights here the limits themselves are lost too, because the tie goes to the
even code.)
"""


# %%
def ratios(w):
    return [round(w / float(gap / 2)) for gap in gaps(to_bits(w, "fp16"), "fp16")]


for w in (1.0, 1.25, 1.5, 2 - 2**-9, 2.0):
    print(f"w = {w:<11} loses up to w/{ratios(w)[0]} downwards, w/{ratios(w)[1]} upwards")

# %% [markdown]
r"""
So 2048 is right for updates upwards from a power of two. Through the binade the ratio grows to
almost 4096, in both directions; downwards from a power of two it is 4096. For normal weights an
update of $w/4096$ is always lost, one larger than $w/2048$ never; between the two it depends on
where in its binade $w$ is and, at a power of two, on the sign.

A tie, exactly half a gap, goes to the neighbour with the even code: to $w$ if $w$ divided by its
ulp is even, else away from it. So 0, which is even, swallows $2^{-25}$ (an update kept in a wider
format: FP16's own are never lost there); and the largest number, which is odd, does not swallow
half a gap: that sum is infinity.

### t02_2 · What is lost, and what overflows

`largest_lost(w, fmt)` returns two floats, `return below, above`: the largest such that
`w - below` and `w + above`, each taken exactly and rounded once to nearest even, are $w$ again.
$w$ is 0 or a positive number of the format. Mind that only a power of two *above* $2^{e_{\min}}$
has a narrower gap below it. Where a tie is not lost, the answer is the Python float just below
it, `math.nextafter(tie, 0.0)`.

`first_overflow(fmt)` returns the smallest positive float that nearest even takes to infinity.
"""


# %% tags=["setup"]
def floats(results):
    """Return one result, or each of several, as a float in a list."""
    return [float(result) for result in np.ravel(results)]


# %% task="t02_2" forbids=["ampcourse.decode", "ampcourse.encode"]
def largest_lost(w, fmt):
    """Return (below, above), the largest floats that w swallows on each side."""
    ### BEGIN SOLUTION
    fraction, n = math.frexp(w)
    exponent = max(n - 1, fmt.emin) if w else fmt.emin
    above = 2.0 ** (exponent - fmt.significand_bits)
    below = above / 2 if fraction == 0.5 and exponent > fmt.emin else above
    even = (w / above) % 2 == 0
    half_gaps = below / 2, above / 2
    return half_gaps if even else tuple(math.nextafter(half, 0.0) for half in half_gaps)
    ### END SOLUTION


def first_overflow(fmt):
    """Return the smallest positive float that nearest even takes to infinity."""
    ### BEGIN SOLUTION
    last_gap = 2.0 ** (1 - fmt.emin - fmt.significand_bits)
    return fmt.largest + last_gap / 2
    ### END SOLUTION


# %% check="t02_2" points=5
with task("t02_2"):
    from math import nextafter

    half = "an update is lost up to half the gap on its side"
    power = "below a power of two the gap is half as wide, but not from 2^emin down"
    parity = "a tie goes to the even code: it is lost only if w is an even multiple of its ulp"
    zero = "next to 0 is the smallest subnormal number, and 0 is even"
    overflow = (
        "infinity starts half a gap above the largest number, which is odd: the tie leaves it"
    )
    symmetric = "the 2048 rule is one-sided, and it holds for powers of two only"
    whole = "half the gap is enough to be lost: the nearest number wins"
    one_gap = "the two gaps next to a power of two differ: that below it is half as wide"
    subnormal_gap = "at 2^emin and below both gaps are the same"
    always = "if w is odd, the tie goes to its even neighbour and is not lost"
    never = "if w is even, the tie comes back to it and is lost"
    swapped = "the pair starts with the update downwards"
    frexp_zero = "of 0, frexp says n = 0, which is no binade"
    away = "2^-25 is a tie between 0 and 2^-24, and the even code is that of 0"
    late = "the next power of two is too far: infinity starts halfway to it"
    early = "one more than the largest number is not yet too large: half a gap is the limit"
    itself = "the largest number itself does not overflow"
    just = "just above the largest number, the largest is still the nearest"
    tie_stays = "the tie itself overflows: the largest number is odd"
    all_lost = "from just above 2^-25 the nearest number is 2^-24: not all below 2^-24 is lost"
    one_number = "one number is not enough: return two, below and above"
    upwards = "nextafter goes towards its second argument: the float below the tie is towards 0"
    only_fp16 = "that is right for FP16: take emin and the significand bits from fmt"
    call = "floats(largest_lost(1.5, FP16))"
    traps = {
        symmetric: [1.5 * 2**-11] * 2,
        whole: [2**-10] * 2,
        never: [nextafter(2**-11, 0)] * 2,
        one_number: [2**-11],
    }
    check(call, [2**-11, 2**-11], half, traps)
    traps = {only_fp16: [2**-10, 2**-10], one_number: [2**-7]}
    check("floats(largest_lost(3.0, BF16))", [2**-7, 2**-7], half, traps)
    call = "[floats(largest_lost(w, FP16)) for w in (1.0, 1.5)]"
    traps = {
        symmetric: [[2**-11] * 2, [1.5 * 2**-11] * 2],
        one_gap: [[2**-11] * 2, [2**-11] * 2],
        swapped: [[2**-11, 2**-12], [2**-11, 2**-11]],
        one_number: [[2**-11], [2**-11]],
    }
    check(call, [[2**-12, 2**-11], [2**-11, 2**-11]], power, traps)
    traps = {subnormal_gap: [2**-26, 2**-25], one_number: [2**-25]}
    check("floats(largest_lost(2.0**-14, FP16))", [2**-25, 2**-25], power, traps)
    call = "floats(largest_lost(1 + 2**-10, FP16))"
    tie = nextafter(2**-11, 0)
    traps = {
        always: [2**-11, 2**-11],
        upwards: [nextafter(2**-11, inf)] * 2,
        one_number: [tie],
    }
    check(call, [tie, tie], parity, traps)
    call = "floats(largest_lost(0.0, FP16))"
    traps = {
        frexp_zero: [2**-12, 2**-12],
        away: [nextafter(2**-25, 0)] * 2,
        all_lost: [nextafter(2**-24, 0)] * 2,
        whole: [2**-24] * 2,
        one_number: [2**-25],
    }
    check(call, [2**-25, 2**-25], zero, traps)
    call = "[float(first_overflow(fmt)) for fmt in (FP16, E5M2)]"
    traps = {
        itself: [65504.0, 57344.0],
        early: [65505.0, 57345.0],
        late: [65536.0, 65536.0],
        just: [nextafter(65504, inf), nextafter(57344, inf)],
        tie_stays: [nextafter(65520, inf), nextafter(61440, inf)],
        only_fp16: [65520.0, 65520.0],
    }
    check(call, [65520.0, 61440.0], overflow, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import ml_dtypes
    import numpy as np

    t02_2_random = Random(202)
    t02_2_dtypes = {
        "FP16": (5, 10, "u2", np.float16),
        "BF16": (8, 7, "u2", ml_dtypes.bfloat16),
        "FP32": (8, 23, "u4", np.float32),
        "E5M2": (5, 2, "u1", ml_dtypes.float8_e5m2),
        "Format(4, 3)": (4, 3, "u1", ml_dtypes.float8_e4m3),
        "Format(3, 4)": (3, 4, "u1", ml_dtypes.float8_e3m4),
    }

    def t02_2_number(code, name):
        """Let numpy or ml_dtypes read a code; below 0 comes the smallest negative number."""
        if code < 0:
            return -t02_2_number(-code, name)
        return float(np.array([code], t02_2_dtypes[name][2]).view(t02_2_dtypes[name][3])[0])

    def t02_2_limits(code, name):
        """Take half the distances to the neighbours; the code's last bit decides the ties."""
        here = t02_2_number(code, name)
        halves = [
            (here - t02_2_number(code - 1, name)) / 2,
            (t02_2_number(code + 1, name) - here) / 2,
        ]
        return [nextafter(half, 0) for half in halves] if code % 2 else halves

    def t02_2_check(code, name, reason, traps):
        """Check one w, given by its code."""
        call = f"floats(largest_lost({t02_2_number(code, name)!r}, {name}))"
        check(call, t02_2_limits(code, name), reason, traps)

    for name, (e, m, _, _) in t02_2_dtypes.items():
        one, infinity = (2 ** (e - 1) - 1) << m, (2**e - 1) << m
        for code in (one + 2, one + t02_2_random.randrange(4, 2 ** (m + 1), 4) + 2):
            w, (lower, upper) = t02_2_number(code, name), t02_2_limits(code, name)
            traps = {
                symmetric: [w * 2.0 ** -(m + 1)] * 2,
                whole: [2 * lower, 2 * upper],
                never: [nextafter(lower, 0), nextafter(upper, 0)],
            }
            t02_2_check(code, name, half, traps)
        # A power of two, and an even number of another binade that is none.
        for code in (one, one + (t02_2_random.randrange(1, 2 ** (e - 1) - 2) << m), 2 << m):
            codes = [code, one + (t02_2_random.randrange(1, 2 ** (e - 1) - 2) << m) + 2]
            ws = [t02_2_number(c, name) for c in codes]
            right = [t02_2_limits(c, name) for c in codes]
            traps = {
                symmetric: [[w * 2.0 ** -(m + 1)] * 2 for w in ws],
                one_gap: [[upper, upper] for _, upper in right],
                swapped: [[upper, lower] for lower, upper in right],
                whole: [[2 * lower, 2 * upper] for lower, upper in right],
            }
            call = f"[floats(largest_lost(w, {name})) for w in {ws}]"
            check(call, right, power, traps)
        for code in (1 << m, 2 if m > 1 else 0):
            lower, upper = t02_2_limits(code, name)
            t02_2_check(code, name, power, {subnormal_gap: [lower / 2, upper]})
        for code in (one + 1, one + t02_2_random.randrange(1, 2**m, 2), (1 << m) - 1, infinity - 1):
            if code + 1 == infinity:
                lower = upper = nextafter(t02_2_limits(code - 1, name)[1], 0)
                w = t02_2_number(code, name)
                call = f"floats(largest_lost({w!r}, {name}))"
                check(call, [lower, upper], parity, {always: [nextafter(lower, inf)] * 2})
                continue
            lower, upper = t02_2_limits(code, name)
            ties = [nextafter(lower, inf), nextafter(upper, inf)]
            traps = {always: ties, upwards: [nextafter(tie, inf) for tie in ties]}
            t02_2_check(code, name, parity, traps)
        step = t02_2_number(1, name)
        traps = {
            frexp_zero: [2.0 ** (max(-1, 2 - 2 ** (e - 1)) - m - 1)] * 2,
            away: [nextafter(step / 2, 0)] * 2,
            all_lost: [nextafter(step, 0)] * 2,
            whole: [step] * 2,
        }
        if name == "FP32":
            del traps[frexp_zero]  # what a solution for FP16 alone gives, too
        t02_2_check(0, name, zero, traps)
        largest, before = t02_2_number(infinity - 1, name), t02_2_number(infinity - 2, name)
        next_power = 2 * largest - before
        tie = (largest + next_power) / 2
        traps = {
            itself: largest,
            early: largest + 1,
            late: next_power,
            just: nextafter(largest, inf),
            tie_stays: nextafter(tie, inf),
        }
        traps = {hint: wrong for hint, wrong in traps.items() if wrong != tie}
        check(f"float(first_overflow({name}))", tie, overflow, traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What training makes of it

A learning rate of 0.001 and a gradient of 0.01 make an update of 0.00001. A typical weight is
0.05:
"""

# %%
w, update = np.float16(0.05), np.float16(0.00001)
print("one update:        ", w, "→", w + update)
print("a thousand at once:", w, "→", w + np.float16(1000 * update))

# %% [markdown]
r"""
Added one by one, the updates leave the weight where it is, however many come; added up first, a
thousand of them move it by a fifth. That is why mixed-precision training keeps **master weights**
in FP32 (`05_loss_scaling`). A constant can vanish as well: Adam divides by a square root and adds
$10^{-8}$ so that it never divides by 0. With all of it in FP16:
"""

# %%
epsilon, gradient = np.float16(1e-8), np.float16(0)
with np.errstate(invalid="ignore"):
    step = gradient / (np.sqrt(gradient * gradient) + epsilon)
print("1e-8 in FP16:", epsilon, "  Adam's step for a gradient of 0:", step)

# %% [markdown]
r"""
## Four directions

To round, count: divide $x$ by its ulp, make the count an integer, multiply back. Only the middle
step knows the **mode**. The figure shows four modes in a tiny format of four bits; the bars are
its numbers. Before you look: where does `toward_zero` send a negative number, and where does
`down`?
"""

# %% tags=["nbval-ignore-output"]
# drawing only
from ampcourse.formats import ieee_like

tiny = ieee_like(2, 1)
modes = ("nearest_even", "toward_zero", "up", "down")
samples = (-2.7, -2.5, -1.2, -0.75, 0.25, 1.3, 1.75, 2.2)


def result(x, mode):
    return read_bits(to_bits(x, tiny, mode), tiny).value


grid = [sign * result(x, "down") for x in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0) for sign in (-1, 1)]
moves = {mode: [(x, result(x, mode)) for x in samples] for mode in modes}
said = [f"{mode}: {', '.join(f'{x} to {y}' for x, y in row)}" for mode, row in moves.items()]
show(arrows(moves, grid), alt=f"Arrows from numbers to bars. {'; '.join(said)}.")

# %% [markdown]
r"""
`up` is towards $+\infty$ and `down` towards $-\infty$, whatever the sign. So a positive update that
nearest loses gets through with `up`, then as a whole gap. `toward_zero` is `down` for positive
numbers and `up` for negative ones. GPUs use it too: a Tensor Core cuts bits off while it adds
(`03_tensor_cores`).

When does a number overflow? Round it as if the exponent had no end: only if the *result* lies
beyond the largest number is there no place for it. Then the mode decides (IEEE 754-2019, 7.4).
`nearest_even` gives infinity: of 65520, but not of 65510, which rounds to 65504. `toward_zero`
stays at the largest number. `up` goes to $+\infty$, but on the negative side it stays at the
finite number farthest from 0; `down` is its mirror image.

### t02_3 · Round to any format

Return $x$, a finite Python float, rounded to the format in one of these modes: `"nearest_even"`,
`"toward_zero"`, `"up"`, `"down"`. Round once. The result is a float with the sign of $x$, also
where it is zero: -0.0 for a small negative number. Python's `round`, `math.trunc`, `math.ceil`
and `math.floor` turn a float into an integer; `round` takes ties to even.
"""


# %% task="t02_3" forbids=["ampcourse.rounding", "ampcourse.quantize", "ampcourse.formats"]
def round_to(x, fmt, mode):
    """Return x rounded to the format."""
    ### BEGIN SOLUTION
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    integer = {
        "nearest_even": round,
        "toward_zero": math.trunc,
        "up": math.ceil,
        "down": math.floor,
    }
    size = abs(integer[mode](x / quantum)) * quantum
    if size > fmt.largest:
        outward = mode == "nearest_even" or mode == ("up" if x > 0 else "down")
        size = inf if outward else fmt.largest
    return math.copysign(size, x)
    ### END SOLUTION


# %% check="t02_3" points=6
with task("t02_3"):
    nearest = "in mode 'nearest_even' the nearest number wins, found by rounding once"
    ties = "of two equally near numbers take the even multiple of the ulp"
    directed = "'up' is towards +inf and 'down' towards -inf, whatever the sign"
    cut = "'toward_zero' never makes a number larger in size"
    binade = "the ulp is that of the binade, which frexp finds exactly"
    bottom = "below 2^emin the ulp stays the same, and a zero keeps the sign of x"
    top = "too large: infinity if the mode points that way, else the largest number"
    half_up = "adding a half and taking the floor sends every tie up"
    half_int = "int() cuts towards zero, so adding a half to a negative number fails"
    half_away = "a tie does not always go away from zero"
    twice = "rounded twice, by way of float32: once is right"
    mirrored = "up and down do not mirror: for a negative number, up is towards zero"
    floors = "floor is down, not toward_zero: for negative numbers they differ"
    by_log2 = "just below a power of two log2 rounds up to it, and so does a cast to the format"
    shrinking = "subnormals have no smaller ulp: emin is a floor for the exponent"
    flushed = "subnormals are numbers too: do not flush them to zero"
    minus_zero = "0.0 is not below zero: it stays 0.0"
    unsigned = "a negative number that rounds to zero gives -0.0"
    all_infinite = "toward_zero never reaches infinity, and up does so on one side only"
    all_largest = "rounding to nearest reaches infinity from half a gap above the largest number"
    unlimited = "the format ends at its largest number"
    too_soon = "what lies above the largest number by less than half a gap rounds back to it"
    itself = "the largest number is still finite: compare the result with >, not >="
    only_fp16 = "that is right for FP16: take emin and the significand bits from fmt"
    taken_for = {
        mode: f"rounded as in mode '{mode}': does the code know the name 'nearest_even'?"
        for mode in ("toward_zero", "up", "down")
    }
    call = "[round_to(x, FP16, 'nearest_even') for x in (1.0007, -1.0007, 1.0002, -1.0002)]"
    upper = 1 + 2**-10
    traps = {
        taken_for["toward_zero"]: [1.0, -1.0, 1.0, -1.0],
        taken_for["up"]: [upper, -1.0, upper, -1.0],
        taken_for["down"]: [1.0, -upper, 1.0, -upper],
        half_int: [upper, -1.0, 1.0, -1 + 2**-10],
    }
    check(call, [upper, -upper, 1.0, -1.0], nearest, traps)
    call = "round_to(3.01, BF16, 'nearest_even')"
    check(call, 3.015625, nearest, {only_fp16: 3.009765625})
    call = "[round_to(float(x), FP16, 'nearest_even') for x in (2049, 2051, -2049, -2051, -2049.5)]"
    traps = {
        half_up: [2050.0, 2052.0, -2048.0, -2050.0, -2050.0],
        half_int: [2050.0, 2052.0, -2048.0, -2050.0, -2048.0],
        half_away: [2050.0, 2052.0, -2050.0, -2052.0, -2050.0],
    }
    check(call, [2048.0, 2052.0, -2048.0, -2052.0, -2050.0], ties, traps)
    call = "[round_to(x, FP16, mode) for x in (2049.0, -2049.0) for mode in ('up', 'down')]"
    traps = {mirrored: [2050.0, 2048.0, -2050.0, -2048.0]}
    check(call, [2050.0, 2048.0, -2048.0, -2050.0], directed, traps)
    call = "[round_to(1 + 2.0**-40, FP16, 'up'), round_to(-1 - 2.0**-40, FP16, 'down')]"
    check(call, [upper, -upper], directed, {twice: [1.0, -1.0]})
    call = "[round_to(x, FP16, 'toward_zero') for x in (2049.9, -2049.9)]"
    check(call, [2048.0, -2048.0], cut, {floors: [2048.0, -2050.0]})
    call = "round_to(2048 - 2.0**-42, FP16, 'toward_zero')"
    check(call, 2047.0, binade, {by_log2: 2046.0})
    call = "[round_to(x, FP16, 'nearest_even') for x in (2.6 * 2.0**-24, -(2.0**-26), 0.0)]"
    traps = {
        shrinking: [2.599609375 * 2**-24, -(2**-26), 0.0],
        flushed: [0.0, -0.0, 0.0],
        unsigned: [3 * 2**-24, 0.0, 0.0],
        minus_zero: [3 * 2**-24, -0.0, -0.0],
    }
    check(call, [3 * 2**-24, -0.0, 0.0], bottom, traps)
    call = "[round_to(x, FP16, mode) for x in (1e6, -1e6) for mode in ('toward_zero', 'up')]"
    traps = {
        all_infinite: [inf, inf, -inf, -inf],
        all_largest: [65504.0, 65504.0, -65504.0, -65504.0],
        unlimited: [999936.0, 1000448.0, -999936.0, -999936.0],
        mirrored: [65504.0, inf, -65504.0, -inf],
    }
    check(call, [65504.0, inf, -65504.0, -65504.0], top, traps)
    call = "[round_to(x, FP16, 'nearest_even') for x in (65504.0, 65510.0, 65520.0, -65520.0)]"
    traps = {
        too_soon: [65504.0, inf, inf, -inf],
        itself: [inf, inf, inf, -inf],
        all_largest: [65504.0, 65504.0, 65504.0, -65504.0],
        unlimited: [65504.0, 65504.0, 65536.0, -65536.0],
    }
    check(call, [65504.0, 65504.0, inf, -inf], top, traps)
    ### BEGIN HIDDEN TESTS
    from math import ceil, copysign, floor, log2, trunc
    from random import Random
    from typing import Any

    import ml_dtypes
    import numpy as np

    t02_3_random = Random(203)
    t02_3_dtypes = {
        "FP16": (5, 10, "u2", np.float16),
        "BF16": (8, 7, "u2", ml_dtypes.bfloat16),
        "E5M2": (5, 2, "u1", ml_dtypes.float8_e5m2),
        "Format(4, 3)": (4, 3, "u1", ml_dtypes.float8_e4m3),
        "Format(3, 4)": (3, 4, "u1", ml_dtypes.float8_e3m4),
    }
    t02_3_modes: dict[str, Any] = {
        "nearest_even": round, "toward_zero": trunc, "up": ceil, "down": floor,
    }  # fmt: skip

    def t02_3_values(name):
        """List the numbers from 0 by code, as ml_dtypes has them, and what follows the last."""
        e, m, width, dtype = t02_3_dtypes[name]
        codes = np.arange((2**e - 1) << m).astype(width)
        values = codes.view(dtype).astype(np.float64).tolist()
        return [*values, 2 * values[-1] - values[-2]]

    t02_3_lists = {name: t02_3_values(name) for name in t02_3_dtypes}

    def t02_3_right(x, name, mode, tie="even"):
        """Choose one of the two numbers around x in the list of all numbers."""
        values, size = t02_3_lists[name], abs(x)
        at = int(np.searchsorted(values, size, "right")) - 1
        below = values[at]
        if below == size and at < len(values) - 1:
            return x
        if at == len(values) - 1:
            below, above, middle = values[-2], inf, size  # beyond all
            up = mode == "nearest_even"
        else:
            above, middle = values[at + 1], (below + values[at + 1]) / 2
            odd = at % 2 == 1
            tie_up = {"even": odd, "up": x > 0, "away": True}[tie]
            up = mode == "nearest_even" and (size > middle or (size == middle and tie_up))
            above = inf if at == len(values) - 2 else above
        up = up or mode == ("up" if x > 0 else "down")
        return copysign(above if up else below, x)

    def t02_3_check(xs, name, mode, reason, traps=None):
        """Check some numbers in one mode; traps map a hint to a wrong rule."""
        right = [t02_3_right(x, name, mode) for x in xs]
        wrong = {hint: [rule(x) for x in xs] for hint, rule in (traps or {}).items()}
        wrong = {hint: values for hint, values in wrong.items() if repr(values) != repr(right)}
        check(f"[round_to(x, {name}, {mode!r}) for x in {xs}]", right, reason, wrong)

    def t02_3_at(x, exponent, m, integer):
        quantum = 2.0 ** (exponent - m)
        return copysign(abs(integer(x / quantum)) * quantum, x)

    rules: dict[str, Any]
    for name, (e, m, _, _) in t02_3_dtypes.items():
        values, emin = t02_3_lists[name], 2 - 2 ** (e - 1)
        middle_codes = range(2**m, len(values) - 2**m - 2)
        xs = []
        for _ in range(4):
            code = t02_3_random.choice(middle_codes)
            share = t02_3_random.uniform(0.05, 0.95)
            xs.append(values[code] + share * (values[code + 1] - values[code]))
        xs += [-x for x in xs]
        rules = {
            hint: lambda x, mode=mode, n=name: t02_3_right(x, n, mode)
            for mode, hint in taken_for.items()
        }
        rules[half_int] = lambda x, m=m: t02_3_at(x, floor(log2(abs(x))), m, lambda n: int(n + 0.5))
        t02_3_check(xs, name, "nearest_even", nearest, rules)
        for mode in ("up", "down"):
            other = {"up": "down", "down": "up"}[mode]
            rule = {
                mirrored: lambda x, m=mode, o=other, n=name: t02_3_right(x, n, m if x > 0 else o)
            }
            t02_3_check(xs, name, mode, directed, rule)
        rule = {floors: lambda x, n=name: t02_3_right(x, n, "down")}
        t02_3_check(xs, name, "toward_zero", cut, rule)
        # Two ties with an even and two with an odd number below.
        odd = t02_3_random.choice(middle_codes) // 2 * 2 + 1
        xs = [(values[c] + values[c + 1]) / 2 for c in (odd, odd + 1)]
        # The last one is no tie: there floor and int() differ.
        xs += [-x for x in xs] + [-0.25 * values[odd] - 0.75 * values[odd + 1]]
        half_of_int = rules[half_int]
        rules = {
            half_int: half_of_int,
            half_up: lambda x, n=name: t02_3_right(x, n, "nearest_even", "up"),
            half_away: lambda x, n=name: t02_3_right(x, n, "nearest_even", "away"),
        }
        t02_3_check(xs, name, "nearest_even", ties, rules)
        # Rounded to float32 first, a number close to a tie becomes the tie.
        xs = [(values[c] + values[c + 1]) / 2 for c in (odd, odd + 1)]
        xs = [xs[0] * (1 - 2.0**-40), xs[1] * (1 + 2.0**-40)]
        rule = {twice: lambda x, n=name: t02_3_right(float(np.float32(x)), n, "nearest_even")}
        t02_3_check([*xs, -xs[0], -xs[1]], name, "nearest_even", nearest, rule)
        # The same with a number close to one of the format, which float32 takes for that one.
        for mode, sign in (("up", 1), ("down", -1)):
            xs = [sign * values[c] * (1 + 2.0**-40) for c in (odd, odd + 1)]
            rule = {twice: lambda x, n=name, mode=mode: t02_3_right(float(np.float32(x)), n, mode)}
            t02_3_check(xs, name, mode, directed, rule)
        # Just below a power of two.
        power = 2.0 ** t02_3_random.randrange(3, 2 ** (e - 1))
        xs = [float(np.nextafter(power, 0)), 0.75 * power, 0.375]
        rule = {
            by_log2: lambda x, m=m, low=emin: t02_3_at(x, max(floor(log2(x)), low), m, trunc),
        }
        for mode in ("toward_zero", "down"):
            t02_3_check(xs, name, mode, binade, rule)
        # Subnormals, and what rounds to zero.
        step = values[1]
        xs = [0.3 * step, -0.3 * step, step / 2, (t02_3_random.randrange(1, 2**m - 1) + 0.7) * step]
        for mode, integer in t02_3_modes.items():
            rules = {
                shrinking: lambda x, m=m, f=integer: t02_3_at(x, floor(log2(abs(x))), m, f),
                flushed: lambda x: copysign(0.0, x),
                unsigned: lambda x, n=name, mode=mode: t02_3_right(x, n, mode) + 0.0,
            }
            t02_3_check(xs, name, mode, bottom, rules)
        check(f"round_to(-0.0, {name}, 'nearest_even')", -0.0, bottom, {unsigned: 0.0})
        for mode in t02_3_modes:
            check(f"round_to(0.0, {name}, {mode!r})", 0.0, bottom, {minus_zero: -0.0})
        # Beyond the largest number, and between it and the tie.
        largest, beyond = values[-2], values[-1]
        near = largest + 0.3 * (beyond - largest)
        tie = (largest + beyond) / 2
        xs = [largest, near, tie, 1.7 * beyond, -largest, -near, -tie, -1.7 * beyond]
        for mode, integer in t02_3_modes.items():
            other = {"up": "down", "down": "up"}.get(mode, mode)
            last = 2 ** (e - 1) - 1
            rules = {
                all_infinite: lambda x, n=name, mode=mode, end=beyond: (
                    copysign(inf, x) if abs(x) > end else t02_3_right(x, n, mode)
                ),
                all_largest: lambda x, top=largest: copysign(top, x),
                unlimited: lambda x, m=m, e=last, f=integer: t02_3_at(x, floor(log2(abs(x))), m, f),
                mirrored: lambda x, n=name, m=mode, o=other: t02_3_right(x, n, m if x > 0 else o),
                too_soon: lambda x, n=name, mode=mode, top=largest, end=beyond: t02_3_right(
                    copysign(2 * end, x) if abs(x) > top else x, n, mode
                ),
                itself: lambda x, n=name, mode=mode, top=largest, end=beyond: t02_3_right(
                    copysign(2 * end, x) if abs(t02_3_right(x, n, mode)) >= top else x, n, mode
                ),
            }
            t02_3_check(xs, name, mode, top, rules)
    for _ in range(6):
        x = t02_3_random.uniform(-1, 1) * 10.0 ** t02_3_random.randrange(-37, 37)
        check(f"round_to({x!r}, FP32, 'nearest_even')", float(np.float32(x)), nearest)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Rounded twice

Every rounding above was done once. What if a number passes through FP32 on its way to FP16, as
the text of a config file or a Python float often does? Beside the right code, what two libraries
make of a decimal (`*` where it is another; loading torch takes a few seconds):
"""

# %% tags=["nbval-ignore-output"]
import torch


def by_libraries(text):
    with np.errstate(over="ignore"):
        yield int(np.float16(text).view("u2"))
    yield int(torch.tensor(float(text), dtype=torch.float16).view(torch.int16))


print(f"{'decimal':24} right  numpy  torch")
for text in ("0.1", "1.00048828218", "1.000488281250000000001", "65519.999", "2.980232239e-8"):
    right = to_bits(text, "fp16")
    marks = [f"{code:04x}{' ' if code == right else '*'}" for code in by_libraries(text)]
    print(f"{text:24} {right:04x}   {marks[0]}  {marks[1]}")

# %% [markdown]
r"""
In the versions this was written with (numpy 2.4, torch 2.14), torch went by way of FP32, and
numpy read the text as FP64 first, so that only the longest one came out wrong. A tie is where it
goes wrong: 1.00048828218 lies just above the middle between two FP16 numbers, $1 + 2^{-11}$. FP32
cannot tell it from the middle, and from there the tie goes down, to the even code. The right
answer was up. (The result of a single `+`, `-`, `×`, `/` or square root of FP16 numbers takes no
harm in FP32, because 24 bits are at least $2 \times 11 + 2$: Figueroa, 1995, and with underflow
Roux, 2014. For arbitrary numbers no width is enough.)

### t02_4 · A number that FP32 spoils

For any FP16 code from 0 to 0x7BFF, find such a number between that code's value and the next
one's: a Python float that FP16 rounds to one of the two, but to the other if it is rounded to
FP32 first. `value(code)` tells what an FP16 code means (0x7C00 counts as 65536), and
`both_ways(x)` returns the two results. Which side of the middle must it be on if the code is even,
and which if it is odd? And how close to the middle? FP32 is $2^{13}$ times finer than FP16 among
normal numbers, and finer still among FP16's subnormals.
"""


# %% tags=["setup"]
def value(code):
    """Return the value of an FP16 code; that of infinity counts as 65536."""
    return 65536.0 if code == 0x7C00 else float(np.uint16(code).view(np.float16))


def both_ways(x):
    """Round x to FP16 at once, and by way of FP32."""
    with np.errstate(over="ignore"):
        return float(np.float16(float(x))), float(np.float16(np.float32(float(x))))


# %% task="t02_4"
def witness(code):
    """Return a float between the code's value and the next that FP32 spoils for FP16."""
    ### BEGIN SOLUTION
    middle = (value(code) + value(code + 1)) / 2
    return math.nextafter(middle, 0.0 if code % 2 else inf)
    ### END SOLUTION


# %% check="t02_4" points=4
with task("t02_4"):
    even = "an even code keeps the tie, so the number must lie just above the middle"
    odd = "an odd code gives the tie away, so the number must lie just below the middle"
    small_even = "for an even code among the subnormals too it lies above the middle, and closer"
    small_odd = "for an odd code among the subnormals too it lies below the middle, and closer"
    agree = "in the middle, and on the side to which the tie goes, both ways agree"
    told_apart = "FP32 can still tell that number from the middle: go closer"
    one, after, third = 1.0, 1 + 2**-10, 1 + 2**-9
    traps = {agree: (one, one), told_apart: (after, after)}
    check("both_ways(witness(0x3C00))", (after, one), even, traps)
    traps = {agree: (third, third), told_apart: (after, after)}
    check("both_ways(witness(0x3C01))", (after, third), odd, traps)
    traps = {agree: (0.0, 0.0), told_apart: (2**-24, 2**-24)}
    check("both_ways(witness(0x0000))", (2**-24, 0.0), small_even, traps)
    traps = {agree: (2**-23, 2**-23), told_apart: (2**-24, 2**-24)}
    check("both_ways(witness(0x0001))", (2**-24, 2**-23), small_odd, traps)
    ### BEGIN HIDDEN TESTS
    from fractions import Fraction
    from random import Random
    from typing import Any

    import numpy as np
    from ampcourse.courseware.matchers import Between

    t02_4_random = Random(204)

    def t02_4_value(code):
        return 65536.0 if code == 0x7C00 else float(np.uint16(code).view(np.float16))

    t02_4_codes = [*t02_4_random.sample(range(0x0400, 0x7BFF), 12), 0x7BFE, 0x7BFF]
    t02_4_codes += [*t02_4_random.sample(range(2, 0x3FE), 6), 0, 1, 0x3FE, 0x3FF]
    for code in t02_4_codes:
        ends = [t02_4_value(code), t02_4_value(code + 1)]
        middle = sum(ends) / 2
        above = float(np.nextafter(np.float32(middle), np.float32(np.inf)))
        below = float(np.nextafter(np.float32(middle), np.float32(-np.inf)))
        up, down = (above - middle) / 2, (middle - below) / 2
        side, reach = (-1, down) if code % 2 else (1, up)
        if code < 0x400:
            reason = small_odd if code % 2 else small_even
        else:
            reason = odd if code % 2 else even
        if code < 0x7BFE:
            right = (ends[0], ends[1]) if code % 2 else (ends[1], ends[0])
            traps = {agree: (right[1],) * 2, told_apart: (right[0],) * 2}
            check(f"both_ways(witness({code:#06x}))", right, reason, traps)
        # The learner's process has had its say; this one asks for the number alone.
        hair = Fraction(1, 10**200)
        limits: list[Any] = sorted(
            [Fraction(middle) + side * hair, Fraction(middle) + side * Fraction(reach)]
        )
        matcher = Between("a number next to the middle that FP32 takes for the middle", *limits)
        check(f"float(witness({code:#06x}))", matcher, reason)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## A sum that stops

One lost update is little. A sum loses one at every step, as soon as it is large enough:
"""

# %%
total = np.float16(0)
for _ in range(10_000):
    total += np.float16(1)
print("ten thousand ones in FP16:", float(total))

# %%
import ml_dtypes

weight = ml_dtypes.bfloat16(200)
for _ in range(100):
    weight += ml_dtypes.bfloat16(1)
print("200 and a hundred ones in BF16:", weight)
print("1 + 0.003 in BF16:", ml_dtypes.bfloat16(1) + ml_dtypes.bfloat16(0.003))

# %% [markdown]
r"""
In FP16, $2048 + 1$ is a tie, and 2048 has the even code. BF16 has eight bits of precision, so 256
does not grow by 1, and 1 does not even grow by 0.003: it has the range of FP32, and it needs help
with its sums more than FP16 does (`12_bf16_fp8_fp4`). Now the sum you bet on, with two repairs
that you will build:
"""


# %%
from random import Random


def to_fp16(x, mode="nearest_even", generator=None):
    return read_bits(to_bits(x, "fp16", mode, generator=generator), "fp16").fraction


# %%
term, draws, owed = np.float16(0.0001), Random(2), np.float16(0)
running = {"exact": [0.0], "nearest": [0.0], "by chance": [0.0], "carrying": [0.0]}
for _ in range(10_000):
    exact, stuck, drawn, carried = (curve[-1] + float(term) for curve in running.values())
    running["exact"].append(exact)  # FP64 adds FP16 numbers of this size without an error
    running["nearest"].append(float(np.float16(stuck)))
    running["by chance"].append(float(to_fp16(drawn, "stochastic", draws)))
    running["carrying"].append(float(np.float16(carried + float(owed))))
    owed = np.float16(carried + float(owed) - running["carrying"][-1])

# %% tags=["nbval-ignore-output"]
last = ", ".join(f"{name} {float(curve[-1]):.4f}" for name, curve in running.items())
stop = running["nearest"].index(running["nearest"][-1])
words = f"Sums of 10,000 terms; nearest is flat from term {stop:,} on. They end at: {last}."
curves = {name: [float(total) for total in curve[::50]] for name, curve in running.items()}
show(running_sums(curves, range(0, 10_001, 50)), alt=words)
print(last)

# %% [markdown]
r"""
With nearest, the sum at first stays close to the exact one: at 0.0625 it is 0.002 behind. From
there each 0.0001 arrives as 0.00012, rounded up to two gaps of 0.00006 and, from 0.125 on, to one
of 0.00012; soon the sum is ahead. At 0.25 the gap doubles again, half of it is 0.00012, and every
further term is lost. The term is not too small for FP16; the sum has become too large for the
term.

## Rounding by chance

**Stochastic rounding** goes to the upper or the lower neighbour at random, and the nearer one is
the more likely: if $x$ lies at three tenths of the gap, it goes up three times out of ten. A
single result is never closer than the nearest number and often farther away, but on average
nothing is lost. The sum above follows the exact one with some noise.

### t02_5 · Round by chance, right on average

Round $x$, not larger in size than `fmt.largest`, to one of its two neighbours. The chance is
given to you: `u`, a random number from 0 up to, but not including, 1. Divide this interval in two,
so that the mean of the results is $x$; which part belongs to which neighbour is your choice. Each
part includes its left end and not its right one, as the whole does: `u < limit` and `u >= limit`.
Then a number of the format stays what it is, whatever `u`.

The check calls `spread(stochastic_round, x, fmt)`, which tries the 64 values $u = 0, 1/64, \dots,
63/64$ and returns the smallest result, the mean, which must be exactly $x$, and the largest.
"""


# %% tags=["setup"]
def spread(rounding, x, fmt):
    """Return the smallest result, the mean and the largest for 64 even values of u."""
    results = [Fraction(float(rounding(x, fmt, k / 64))) for k in range(64)]
    if results != [float(rounding(x, fmt, k / 64)) for k in range(64)]:
        raise ValueError("the same u gave two results: use u, and no random numbers of your own")
    return float(min(results)), float(sum(results) / 64), float(max(results))


# %% task="t02_5"
def stochastic_round(x, fmt, u):
    """Round x up or down, as u says, so that the mean over all u in [0, 1) is x."""
    ### BEGIN SOLUTION
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    below = math.floor(x / quantum)
    share = x / quantum - below  # of the way from the number below to the one above
    return (below + (u < share)) * quantum
    ### END SOLUTION


# %% check="t02_5" points=4
with task("t02_5"):
    mean = "the neighbours of x get the shares of u that make x the mean"
    negative = "for a negative number too the mean is x"
    small = "among the subnormals, and next to 0, the mean is x as well"
    kept = "a number of the format stays what it is, whatever u"
    ignored = "one and the same result for every u is no chance"
    coin = "a fair coin is right on average only in the middle of the gap"
    reversed_ = "the nearer neighbour must be the more likely one: here it is the other way round"
    turned = "u > share is the chance to go down, not up: compare the other way round"
    once_more = "one u too many goes up: each part of the interval includes its left end only"
    once_less = "one u too few goes up: each part of the interval includes its left end"
    shifted = "adding u and then rounding to nearest moves the mean up by half a gap"
    noisy = "adding noise is not rounding: the result must be a number of the format"
    to_infinity = "int() cuts towards zero, which draws negative numbers towards +inf"
    size_share = "the share of |x| counts from zero, but floor counts from below"
    shrinking = "subnormals have no smaller ulp: emin is a floor for the exponent"
    coarse = "the share is any number, not a multiple of 1/64 only: compare u with all of it"
    at_half = "subtracting a half from u and rounding to nearest moves an odd number at u = 0"
    call = "spread(stochastic_round, 1 + 84 * 2.0**-16, FP16)"
    # 20/64 of the way between two numbers, the lower of which is odd.
    low, high, between_two = 1 + 2**-10, 1 + 2**-9, 1 + 84 * 2**-16
    traps = {
        ignored: (low, low, low),
        coin: (low, (low + high) / 2, high),
        reversed_: (low, low + high - between_two, high),
        turned: (low, low + high - between_two - 2**-16, high),
        once_more: (low, between_two + 2**-16, high),
        once_less: (low, between_two - 2**-16, high),
        shifted: (low, between_two + 2**-11, high),
        noisy: (between_two, between_two + 63 * 2**-17, between_two + 63 * 2**-16),
    }
    check(call, (low, between_two, high), mean, traps)
    call = "[spread(stochastic_round, x, FP16) for x in (1 + 84 * 2.0**-16, -1 - 84 * 2.0**-16)]"
    positive = (low, between_two, high)
    traps = {
        to_infinity: [positive, (-low, -low + 43 * 2**-16, -1.0)],
        size_share: [positive, (-high, -high + 20 * 2**-16, -low)],
    }
    check(call, [positive, (-high, -between_two, -low)], negative, traps)
    call = "spread(stochastic_round, 3 * 2.0**-30, FP16)"
    traps = {ignored: (0.0, 0.0, 0.0), shrinking: (3 * 2**-30, 3 * 2**-30, 3 * 2**-30)}
    check(call, (0.0, 3 * 2**-30, 2**-24), small, traps)
    call = "spread(stochastic_round, 1 + 2.0**-10, FP16)"
    check(call, (low, low, low), kept, {at_half: (1.0, 1 + 63 * 2**-16, low)})
    ### BEGIN HIDDEN TESTS
    from fractions import Fraction
    from math import floor
    from random import Random

    import ml_dtypes
    import numpy as np

    t02_5_random = Random(205)
    t02_5_dtypes = {
        "FP16": (5, 10, "u2", np.float16),
        "BF16": (8, 7, "u2", ml_dtypes.bfloat16),
        "E5M2": (5, 2, "u1", ml_dtypes.float8_e5m2),
        "Format(3, 4)": (3, 4, "u1", ml_dtypes.float8_e3m4),
    }
    # Each wrong rule, by its hint: what becomes of a count with the share of a gap, and a u.
    t02_5_rules = {
        ignored: lambda count, u: round(count),
        coin: lambda count, u: floor(count) + (u < 0.5),
        reversed_: lambda count, u: floor(count) + (u >= count % 1),
        turned: lambda count, u: floor(count) + (u > count % 1),
        once_more: lambda count, u: floor(count) + (u <= count % 1),
        once_less: lambda count, u: floor(count) + (u > 1 - count % 1),
        shifted: lambda count, u: round(count + u),
        noisy: lambda count, u: count + u,
        to_infinity: lambda count, u: int(count + u),
        size_share: lambda count, u: floor(count) + (u < abs(count) % 1),
        at_half: lambda count, u: round(count + u - Fraction(1, 2)),
    }

    def t02_5_spread(rule, x, quantum):
        """Spread a number by a rule for counts of a quantum, exactly."""
        results = [rule(x / quantum, Fraction(k, 64)) * quantum for k in range(64)]
        return float(min(results)), float(sum(results) / 64), float(max(results))

    def t02_5_number(name, code):
        dtype = t02_5_dtypes[name][2:]
        return Fraction(float(np.array([code], dtype[0]).view(dtype[1])[0]))

    def t02_5_check(name, code, k, reason, signs=(1,)):
        """Check the number k/64 of the way from a code to the next, or it and its negative."""
        m = t02_5_dtypes[name][1]
        below, above = t02_5_number(name, code), t02_5_number(name, code + 1)
        size, quantum = below + (above - below) * Fraction(k, 64), above - below
        ends = (below, above) if k else (size, size)
        xs = [sign * size for sign in signs]
        right = [tuple(map(float, sorted((s * ends[0], s * size, s * ends[1])))) for s in signs]
        wrong = {
            hint: [t02_5_spread(rule, x, quantum) for x in xs] for hint, rule in t02_5_rules.items()
        }
        if size and not code >> m:
            fine = Fraction(2) ** (int(np.frexp(float(size))[1]) - 1 - m)
            wrong[shrinking] = [t02_5_spread(right_rule, x, fine) for x in xs]
        found = list(wrong.values())
        # A result that several rules share names no cause.
        wrong = {h: w for h, w in wrong.items() if w != right and found.count(w) == 1}
        call = f"[spread(stochastic_round, x, {name}) for x in {[float(x) for x in xs]}]"
        check(call, right, reason, wrong)
        return float(size)

    def right_rule(count, u):
        return floor(count) + (u < count % 1)

    for name, (e, m, _, _) in t02_5_dtypes.items():
        one = (2 ** (e - 1) - 1) << m
        for _ in range(4):
            code = one + t02_5_random.randrange(-(2**m), 2 ** (m + 1) - 1)
            share = t02_5_random.choice([k for k in range(3, 62) if k != 32])
            x = t02_5_check(name, code, share, mean)
            # The same with 1,024 values of u, by the call itself.
            call = f"values = [Fraction(float(stochastic_round({x!r}, {name}, k / 1024)))"
            call += " for k in range(1024)]\nreturn len(set(values)), sum(values) / 1024"
            check(call, (2, Fraction(x)), mean)
            # An odd k/1024 of the way, which no comparison of 64ths can get right.
            below = t02_5_number(name, code)
            k = 16 * t02_5_random.randrange(4, 63) + t02_5_random.choice((5, 7, 9, 11))
            gap = t02_5_number(name, code + 1) - below
            fine, cut_off = (below + gap * Fraction(*q) for q in ((k, 1024), (k // 16, 64)))
            one_by_one = (
                f"[stochastic_round({float(fine)!r}, {name}, k / 1024) for k in range(1024)]"
            )
            call = f"values = [Fraction(float(v)) for v in {one_by_one}]\n"
            call += f"again = values == {one_by_one}\n"
            call += "return len(set(values)), sum(values) / 1024, again"
            check(call, (2, fine, True), mean, {coarse: (2, cut_off, True)})
            t02_5_check(name, code, share, negative, (1, -1))
        for code in (0, t02_5_random.randrange(1, 2**m - 1)):
            t02_5_check(name, code, t02_5_random.randrange(3, 30), small, (1, -1))
        for code in (1, one, one + 1, one + 2 ** (m - 1) + 1):
            t02_5_check(name, code, 0, kept, (1, -1))
        check(f"spread(stochastic_round, 0.0, {name})", (0.0, 0.0, 0.0), kept)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Carrying what was lost

The other repair needs no chance. First, what addition is not:
"""

# %%
kinds = {"fp64": float, "fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16}
equal = [name for name, kind in kinds.items() if kind(0.1) + kind(0.2) == kind(0.3)]
print("0.1 + 0.2 == 0.3 in", equal)
a, b, c = np.float16(2048), np.float16(1), np.float16(1)
print("(a + b) + c =", float((a + b) + c), "but a + (b + c) =", float(a + (b + c)))

# %% [markdown]
r"""
Four roundings lie behind `0.1 + 0.2 == 0.3`, of three constants and a sum, and whether they cancel
is luck: that two formats say yes makes them no better. And the sum of three numbers depends on the
order: floating-point **addition is not associative**. That is why a GPU that adds in another order
gives other last bits, and why algebra must not simplify the following.

How much did an addition lose? Ask the result: `new - total` is what has arrived of what was sent.
"""

# %%
total, sent = np.float16(2048), np.float16(5)
new = total + sent
print("new:", float(new), "  sent:", sent, "  arrived:", new - total)

# %% [markdown]
r"""
Five were sent, four have arrived, so one is owed, and FP16 arithmetic found it out all by itself:
only the first sum was rounded. Short of overflow, the error of an addition to nearest is itself a
number of the format, and where the total is no smaller in size than what was sent, comparing what
was sent with what arrived finds it exactly (Dekker, 1971). Kahan's sum (1965) sends what is owed
along with the next number.

### t02_6 · One step of Kahan summation

`total` is the sum so far and `owed` what must still be *added* to it (some books keep its
negative); `x` is the next number. All three are numpy scalars of one type, and so must be every
intermediate result: leave numpy to round each operation. Return the new total and what is owed
now. `run(kahan_step, numbers)` starts with two zeros and returns the pair at the end.
"""


# %% tags=["setup"]
def run(step, numbers):
    """Add the numbers of an array by steps; return the total and what is owed, as floats."""
    total = owed = numbers.dtype.type(0)
    for x in numbers:
        total, owed = step(total, owed, x)
    return float(total), float(owed)


# %% task="t02_6"
def kahan_step(total, owed, x):
    """Return the new total and what is owed after adding x."""
    ### BEGIN SOLUTION
    sent = x + owed
    new = total + sent
    return new, sent - (new - total)
    ### END SOLUTION


# %% check="t02_6" points=4
with task("t02_6"):
    arrived = "the new total holds what arrived, the rest of what was sent is owed"
    sums = "over a long sum little but the last debt is missing"
    gone = "simplified away: addition is not associative, so (total + sent) - new is always 0"
    wrong_sign = "the debt has the wrong sign: owed is what was sent minus what arrived"
    subtracted = "the old debt is subtracted: here owed is what must be added, so send x + owed"
    negated = "owed comes out negated: here it is what must still be added"
    unpaid = "the old debt is not paid: send x + owed"
    early = "x and owed belong together: total + x rounds before the debt arrives"
    collected = "the debt is collected and never sent: add it to x before the sum"
    positive = "a total below zero loses digits too: its debt is what was sent minus what arrived"
    forgotten = "the old debt is part of what was sent, so it can be owed again"
    wide = "computed in a wider format: leave each operation in the type of x"
    cast_back = "a wider format on the way rounds elsewhere: let numpy round each operation"
    swapped = "the new total comes first, what is owed second"
    regrouped = "regrouped: (sent - new) + total rounds where sent - (new - total) does not"
    pair = "[[float(v) for v in kahan_step(*map(np.float16, three))]"
    given = ((2048, 1, 6), (2048, 0, 5), (2048, 0.25, 1025), (2048, 1, 1))
    call = f"{pair} for three in {given}]"
    right = [[2056.0, -1.0], [2052.0, 1.0], [3072.0, 1.0], [2050.0, 0.0]]
    traps = {
        early: [*right[:3], [2048.0, 2.0]],
        gone: [[2056.0, 0.0], [2052.0, 0.0], [3072.0, 0.0], [2050.0, 0.0]],
        wrong_sign: [[2056.0, 1.0], [2052.0, -1.0], [3072.0, -1.0], [2050.0, 0.0]],
        subtracted: [[2052.0, 1.0], [2052.0, 1.0], [3072.0, 1.0], [2048.0, 0.0]],
        negated: [[2052.0, -1.0], [2052.0, -1.0], [3072.0, -1.0], [2048.0, 0.0]],
        unpaid: [[2054.0, 0.0], [2052.0, 1.0], [3072.0, 1.0], [2048.0, 1.0]],
        collected: [[2054.0, 1.0], [2052.0, 1.0], [3072.0, 1.25], [2048.0, 2.0]],
        forgotten: [[2056.0, -2.0], [2052.0, 1.0], [3072.0, 1.0], [2050.0, -1.0]],
        wide: [[2055.0, 0.0], [2053.0, 0.0], [3073.25, 0.0], [2050.0, 0.0]],
        cast_back: [[2056.0, -1.0], [2052.0, 1.0], [3074.0, -0.75], [2050.0, 0.0]],
        regrouped: [[2056.0, 0.0], [2052.0, 1.0], [3072.0, 1.0], [2050.0, 0.0]],
        swapped: [results[::-1] for results in right],
    }
    check(call, right, arrived, traps)
    call = "run(kahan_step, np.ones(3001, np.float16))"
    traps = {gone: (2048.0, 0.0), collected: (2048.0, 953.0)}
    check(call, (3000.0, 1.0), sums, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import numpy as np

    t02_6_random = Random(206)
    # Each rule works on doubles and rounds by itself: r rounds to the type.
    t02_6_rules = {
        "right": lambda t, o, x, r: (r(t + r(x + o)), r(r(x + o) - r(r(t + r(x + o)) - t))),
        gone: lambda t, o, x, r: (r(t + r(x + o)), 0.0),
        wrong_sign: lambda t, o, x, r: (r(t + r(x + o)), r(r(r(t + r(x + o)) - t) - r(x + o))),
        subtracted: lambda t, o, x, r: (r(t + r(x - o)), r(r(x - o) - r(r(t + r(x - o)) - t))),
        negated: lambda t, o, x, r: (r(t + r(x - o)), r(r(r(t + r(x - o)) - t) - r(x - o))),
        unpaid: lambda t, o, x, r: (r(t + x), r(x - r(r(t + x) - t))),
        early: lambda t, o, x, r: (r(r(t + x) + o), r(r(x + o) - r(r(r(t + x) + o) - t))),
        collected: lambda t, o, x, r: (r(t + x), r(o + r(x - r(r(t + x) - t)))),
        positive: lambda t, o, x, r: (
            r(t + r(x + o)),
            0.0 if t < 0 else r(r(x + o) - r(r(t + r(x + o)) - t)),
        ),
        forgotten: lambda t, o, x, r: (r(t + r(x + o)), r(x - r(r(t + r(x + o)) - t))),
        wide: lambda t, o, x, r: (t + x + o, 0.0),
        cast_back: lambda t, o, x, r: (r(t + (x + o)), r((x + o) - (r(t + (x + o)) - t))),
        regrouped: lambda t, o, x, r: (r(t + r(x + o)), r(r(r(x + o) - r(t + r(x + o))) + t)),
        swapped: lambda t, o, x, r: (r(r(x + o) - r(r(t + r(x + o)) - t)), r(t + r(x + o))),
    }

    def t02_6_rounding(dtype):
        """Round doubles as struct and numpy's casts do, without arithmetic in the type."""
        return lambda number: float(np.float64(number).astype(dtype))

    def t02_6_add_up(rule, numbers, r):
        total = owed = 0.0
        for x in numbers:
            total, owed = rule(total, owed, x, r)
        return total, owed

    def t02_6_own(results, right):
        """Keep the results that one rule alone leads to: the others name no cause."""
        found = [*results.values(), right]
        return {hint: result for hint, result in results.items() if found.count(result) == 1}

    for dtype, top in (("float16", 2048), ("float32", 2**24)):
        r = t02_6_rounding(dtype)
        triples = []
        for _ in range(12):
            owed = t02_6_random.choice((-1, 1)) * t02_6_random.randrange(1, 64) / 64
            x = t02_6_random.randrange(100, 900) / 64
            triples.append((top + 2 * t02_6_random.randrange(300), owed, x))
        # Here x + owed is rounded as well, which a wider format would not do.
        triples += [(top, k / 64, top // 2 + k) for k in t02_6_random.sample(range(3, 31, 2), 4)]
        # Every second one with all signs turned.
        triples[::2] = [(-t, -o, -x) for t, o, x in triples[::2]]
        results = {
            hint: [list(rule(*three, r)) for three in triples] for hint, rule in t02_6_rules.items()
        }
        right = results.pop("right")
        call = f"[[float(v) for v in kahan_step(*map(np.{dtype}, three))] for three in {triples}]"
        check(call, right, arrived, t02_6_own(results, right))
        # From the largest number down, so that the total is never the smaller one.
        for size, sign in ((40, -1), (400, 1), (400, -1)):
            numbers = sorted((r(t02_6_random.uniform(0.01, 9)) for _ in range(size)), reverse=True)
            numbers = [sign * x for x in numbers]
            results = {hint: t02_6_add_up(rule, numbers, r) for hint, rule in t02_6_rules.items()}
            right = results.pop("right")
            call = f"run(kahan_step, np.array({numbers}, np.{dtype}))"
            check(call, right, sums, t02_6_own(results, right))
        count = t02_6_random.randrange(top + 500, top + 1000) if top < 5000 else 5000
        numbers = [1.0] * count if top < 5000 else [float(top)] + [1.0] * count
        text = f"[1] * {count}" if top < 5000 else f"[{top}] + [1] * {count}"
        total, owed = t02_6_add_up(t02_6_rules["right"], numbers, r)
        traps = {gone: t02_6_add_up(t02_6_rules[gone], numbers, r)}
        check(f"run(kahan_step, np.array({text}, np.{dtype}))", (total, owed), sums, traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

First what came of your predictions, and the facts for the list below:
"""

# %%
in_fp16 = float(to_fp16(2**-25)), float(to_fp16(2**-25 * (1 + 2**-20)))
print(f"ten thousand times 0.0001: you said {my_sum}, it is {float(running['nearest'][-1])}")
print(f"largest d with 1 - d == 1: you said {my_lost}, it is 2**-12")
print(f"0.1 + 0.2 == 0.3:          you said {my_equal}, it is in {equal}")
lucky, ideal = (f"{float(running[name][-1]):.4f}" for name in ("by chance", "exact"))
print(f"the same sum by chance:    you said {my_repair}, it is {lucky} (exact: {ideal})")
for x in (65519, 65520):
    print(x, "becomes", read_bits(to_bits(x, "fp16"), "fp16").value)
print("2^-25 becomes", in_fp16[0], "and what is just above it", in_fp16[1])

# %% [markdown]
r"""
- **"65505 overflows in FP16."** Infinity starts at 65520: below that, 65504 is nearer than 65536,
  and the tie leaves 65504, which is odd (t02_2, t02_3).
- **"What is below $2^{-24}$ becomes 0."** Only up to $2^{-25}$, and **"$2^{-25}$ becomes
  $2^{-24}$"** is wrong too: the tie goes to 0 (t02_2).
- **"An update is lost if the weight is 2048 times as large."** For normal weights the limit is
  from 2048 to 4096 times; at a power of two it depends on the sign (t02_2).
- **"The ulp of $x$ is `eps * x`."** That grows inside the binade, where the ulp does not; and the
  binade is found by `frexp`, for `log2` takes the double below 2048 to 11.0 (t02_1).
- **"Add a half and take the floor: ties to even."** That sends all ties up, and pushes sums up
  (t02_3).
- **"Going through FP32 is harmless."** A number that FP32 takes for the middle may end on the
  wrong side (t02_4).
- **"A random rounding error makes the sum worse."** It may in a single step; but errors with mean
  zero cancel in part, while those of a sum that stands still all point the same way (t02_5).
- **"$a + (b + c) = (a + b) + c$."** Not always, in any format. Simplify Kahan's step by that rule,
  as a compiler may with fast-math flags, and it becomes an ordinary sum (t02_6).

## Say it aloud

A format is a grid whose gap doubles from binade to binade. Rounding to nearest takes the exact
result to the closest point of that grid, so an update of less than half a gap does nothing, and a
long sum stops where half its gap has grown to the size of the terms. Stochastic rounding repairs
this on average; carrying the lost part along repairs it nearly to the last bit, where the terms
have one sign; a wider accumulator puts it off.

## Where next

`03_tensor_cores` looks at hardware that adds thousands of products and cuts bits on the way. What
rounding does to gradients is the question of `04_gradient_range`, and `05_loss_scaling` keeps the
small updates alive with master weights.

Sources: Micikevicius and others, Mixed Precision Training, arXiv 1710.03740. Figueroa, When is
double rounding innocuous?, ACM SIGNUM Newsletter 30(3), 1995. Roux, Innocuous Double Rounding of
Basic Arithmetic Operations, Journal of Formalized Reasoning 7(1), 2014. Dekker, A floating-point
technique for extending the available precision, Numerische Mathematik 18, 1971. Kahan, Further
remarks on reducing truncation errors, Communications of the ACM 8(1), 1965.
"""
