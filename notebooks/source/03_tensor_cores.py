# %% [markdown]
r"""
# What does D = A·B + C really compute?

Add $2^{-24}$, a crumb, to 1, four times over. The exact answer, $1 + 2^{-22}$, is an FP32 number.
The Tensor Cores of a V100 say 1. Those of an A100 give the exact answer. Plain FP32 arithmetic on
any CPU says 1 as well, but for another reason.

A Tensor Core computes D = A·B + C: it multiplies small tiles of FP16 numbers and adds the
products to FP32 ones. How it adds is not published. People have found out from outside, with sums
like this one, and here you rebuild what they found, bit for bit, on a laptop.

There are six tasks. Plan an hour, or a little more; after `t03_3` is a good place for a break.
You need floats as in `01_floating_point` and rounding as in `02_rounding`, but no GPU.

## Predict first

Nobody grades these; replace each `None` and run the cell.

1. How many of 100 random FP16 dot products does an H100 not round to the nearest FP32 number?
2. What is 1024.5 × 1.0, if only ten bits behind the leading one are read?
3. What is 2048 + 1 + 1 + 1 as a product of FP16 vectors, in PyTorch on a CPU?
4. If an H100 adds 4096 positive FP8 products instead of 256: how many times the error?
"""

# %%
my_share = None  # 1: a number from 0 to 100
my_tf32 = None  # 2
my_half = None  # 3
my_growth = None  # 4: a factor

# %% [markdown]
r"""
Here is the opening sum. `mma` is this course's model of nine GPUs, D = a·b + c for vectors `a`
and `b`. It agrees with 44,000 outputs that others recorded on eight of these GPUs, and with
4,000 of FP8 if their C is taken as 0, as seems to have been done (the project's tests compare).
"""

# %%
import numpy as np

from ampcourse.tensor_core import mma

ones, crumbs = np.full(4, 1.0), np.full(4, 2.0**-24)
for gpu in ("V100", "A100", "H100"):
    d = float(mma(ones, crumbs, np.float32(1), gpu=gpu))
    print(gpu, "keeps", (d - 1) / 2**-24, "of 4 crumbs")
total = np.float32(1)
for crumb in crumbs:
    total = np.float32(total + crumb)
print("CPU  keeps", (float(total) - 1) / 2**-24, "of 4 crumbs")

# %% [markdown]
r"""
## From FMA to HMMA

A **fused multiply-add** (FMA) computes $a \times b + c$ and rounds once. A matrix product with an
addition, **GEMM**, $D = A \cdot B + C$, is nothing but FMAs: for each element of $D$ start with
that of $C$ and add one product after the other. The running sum is kept in the **accumulator**.

A Tensor Core does a tile of this in one instruction, HMMA: threads together hand it a tile of
each matrix. On Ampere and Ada 32 threads do, and the usual tile is `m16n8k16`: 16 rows of A, 8
columns of B, 16 products deep. (Volta has a smaller one for groups of 8 threads. For large
matrices Hopper and Blackwell have instructions of their own, `wgmma` and `tcgen05`.)
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.plotting import show
from ampcourse.plotting.tiles import tiles

m, n, k = 16, 8, 16
alt = f"""One instruction makes one tile of D from one tile of A and one of B:
    {m} by {k} numbers of A and {k} by {n} of B meet in {m} by {n} of C and D."""
show(tiles(64, 32, 48, tile=(m, n, k)), alt=alt)

# %%
fma = m * n * k
print("FMAs in one m16n8k16:", fma)
print("instructions for a GEMM of size 4096:", 4096**3 // fma)

# %% [markdown]
r"""
### t03_1 · A block of FMAs

Before the real thing, build the ideal one: a 4×4×4 block, the size of a Volta Tensor Core's step,
as a chain of FP32 FMAs. A and B are lists of four rows of FP16 numbers, C of FP32 numbers, all as
Python floats. For each element start from C, add the products for k = 0, 1, 2, 3 in this order,
and round to the nearest FP32 number after every addition. Return D as rows, too.

In this lesson `fp32(x)` rounds to the nearest FP32 number, and `bits(x)` shows its code (a number
that FP32 does not have comes out as it is, so that you see it). Solutions may use what the next
cell imports, and numpy. All sums stay far below overflow.
"""

# %% tags=["setup"]
import math
import struct
from fractions import Fraction
from typing import NamedTuple

from ampcourse.courseware import check, inf, nan, task


def fp32(x):
    """Round a number to the nearest FP32 number, as a float."""
    return struct.unpack(">f", struct.pack(">f", x))[0]


def bits(x):
    """Return the FP32 code of a number as text, or the number where FP32 lacks it."""
    x = float(x)
    return "0x" + struct.pack(">f", x).hex() if fp32(x) == x else x.hex()


# %% task="t03_1" forbids=["ampcourse.tensor_core", "mmasim"]
def block_fma(A, B, C):
    """Return D = A·B + C for 4×4 matrices: exact products, FP32 after each addition."""
    ### BEGIN SOLUTION
    D = []
    for i in range(4):
        row = []
        for j in range(4):
            total = C[i][j]
            for k in range(4):
                total = fp32(total + A[i][k] * B[k][j])
            row.append(total)
        D.append(row)
    return D
    ### END SOLUTION


# %% check="t03_1" points=4
with task("t03_1"):
    place = "D[i][j] is C[i][j] plus row i of A times column j of B"
    width = "products are exact, and the sum has the 24 bits of FP32, not the 11 of FP16"
    order = "C first, then k = 0, 1, 2, 3, and every addition rounds to the nearest FP32 number"
    call = """
        A = [[4.0 * i + j for j in range(4)] for i in range(4)]
        B = [[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
        C = [[100.0, 200.0, 300.0, 400.0] for _ in range(4)]
        return [float(x) for x in block_fma(A, B, C)[1]]
    """
    elementwise = "element times element is another product: a row meets a column"
    rows = "that is row j of B: take its column j"
    no_c = "the sum starts at C, not at 0"
    traps = {elementwise: [100.0, 210.0, 300.0, 400.0], rows: [104.0, 210.0, 315.0, 407.0]}
    traps |= {no_c: [10.0, 16.0, 6.0, 7.0]}
    check(call, [110.0, 216.0, 306.0, 407.0], place, traps)
    call = """
        A = [[2048.0, 1.0, 1.0, 1.0], [1 + 2.0**-10, 0.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4]
        B = [[1.0, 1 + 2.0**-10, 0.0, 0.0]] + [[1.0, 0.0, 0.0, 0.0]] * 3
        D = block_fma(A, B, [[0.5] * 4 for _ in range(4)])
        return [bits(D[0][0]), bits(D[1][1])]
    """
    half_sum = "an FP16 accumulator loses every one of the ones added to 2048"
    half_out = "a half matmul on the CPU adds in FP32 but hands back FP16"
    half_product = "the product of two FP16 numbers has up to 22 bits, too many for FP16"
    traps = {half_sum: ["0x45000000", "0x3fc04000"], half_out: ["0x45004800", "0x3fc04000"]}
    traps |= {half_product: ["0x45003800", "0x3fc04000"]}
    check(call, ["0x45003800", "0x3fc04008"], width, traps)
    call = """
        crumb = 2.0**-24
        B = [[crumb, 1.0, 2048.0, crumb]] + [[crumb, crumb, 1.0, 0.0]] * 3
        C = [[1.0, 0.0, 0.5, 1 + 2.0**-23] for _ in range(4)]
        D = block_fma([[1.0] * 4] * 4, B, C)
        return [bits(x) for x in D[0]]
    """
    late = "C is where the sum starts, not what is added at the end"
    once = "a chain of FMAs rounds after every addition, not once at the end"
    down = "k runs from 0 to 3: order matters"
    cut = "FP32 arithmetic rounds to nearest, ties to even; cutting comes later"
    one, next_one, above, last = "0x3f800000", "0x3f800001", "0x3f800002", "0x45003800"
    traps = {late: [above, one, last, above], once: [above, above, last, above]}
    traps |= {down: [one, above, last, above], cut: [one, one, last, next_one]}
    check(call, [one, one, last, above], order, traps)
    ### BEGIN HIDDEN TESTS
    import numpy as np

    t03_1_rng = np.random.default_rng(301)

    def t03_1_chain(products, start, round_product=np.float64, round_sum=np.float32):
        """Add products to a start, rounding as told."""
        total = round_sum(start)
        for product in products:
            total = round_sum(np.float64(total) + np.float64(round_product(product)))
        return float(total)

    def t03_1_cut(x):
        """Round to FP32 toward zero."""
        near = np.float32(x)
        return np.nextafter(near, np.float32(0)) if abs(np.float64(near)) > abs(x) else near

    def t03_1_half(products, c):
        """Sum in FP32, hand back FP16, then add C."""
        return float(np.float32(c) + np.float32(np.float16(t03_1_chain(products, 0.0))))

    t03_1_sums = {
        half_sum: lambda ps, c: t03_1_chain(ps, c, round_sum=np.float16),
        half_out: t03_1_half,
        half_product: lambda ps, c: t03_1_chain(ps, c, round_product=np.float16),
        late: lambda ps, c: float(np.float32(t03_1_chain(ps, 0.0)) + np.float32(c)),
        once: lambda ps, c: float(np.float32(sum(ps) + c)),
        down: lambda ps, c: t03_1_chain(ps[::-1], c),
        cut: lambda ps, c: t03_1_chain(ps, c, round_sum=t03_1_cut),
        no_c: lambda ps, c: t03_1_chain(ps, 0.0),
    }

    def t03_1_codes(A, B, C, add=t03_1_chain):
        """Return the codes of D for a way to add the products of one element."""
        D = [
            [add([A[i, k] * B[k, j] for k in range(4)], C[i, j]) for j in range(4)]
            for i in range(4)
        ]
        return [[f"0x{np.float32(x).view('u4'):08x}" for x in row] for row in D]

    def t03_1_check(A, B, C, reason):
        """Check one block; a trap counts where it alone leads to its codes."""
        right = t03_1_codes(A, B, C)
        wrong = {hint: t03_1_codes(A, B, C, add) for hint, add in t03_1_sums.items()}
        wrong[rows] = t03_1_codes(A, B.T, C)
        single = np.float32(A * B + C).view("u4").tolist()
        wrong[elementwise] = [[f"0x{code:08x}" for code in row] for row in single]
        codes = list(wrong.values())
        traps = {h: c for h, c in wrong.items() if c != right and codes.count(c) == 1}
        names = f"A, B = {A.tolist()}, {B.tolist()}\nC = {C.tolist()}\n"
        text = "return [[bits(x) for x in row] for row in block_fma(A, B, C)]"
        check(names + text, right, reason, traps)

    for _ in range(3):
        A, B, C = t03_1_rng.integers(-9, 10, (3, 4, 4)).astype(np.float64)
        t03_1_check(A, B, C * 100, place)
        A, B, C = t03_1_rng.integers(-1900, 1901, (3, 4, 4)) / 1024  # every sum fits 24 bits
        t03_1_check(A, B, C, width)
        A, B, C = t03_1_rng.standard_normal((3, 4, 4))
        A, B = A.astype(np.float16).astype(np.float64), B.astype(np.float16).astype(np.float64)
        t03_1_check(A, B, C.astype(np.float32).astype(np.float64), order)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
PyTorch on your CPU is no substitute for the real thing: it multiplies FP16 matrices with FP32
sums and rounds what comes out to FP16. An FP16 accumulator would have stayed at 2048:
"""

# %% tags=["nbval-ignore-output"]
import torch

vector = torch.tensor([2048, 1, 1, 1], dtype=torch.float16)
half = vector @ torch.ones(4, dtype=torch.float16)
print("in PyTorch on this CPU:", half.item())
print("exact:", 2048 + 1 + 1 + 1, " FP16 has only even numbers here")

# %% [markdown]
r"""
## One block, taken apart

A real Tensor Core does not chain FMAs. It takes $L$ products and C at once, lines them up, and
adds them as integers. Play with one block before you read the rule:

1. It opens on $1·1 − (1 − 2^{-24})$. Step through the stages, for V100 and then for A100. One bit
   of C makes the difference: which, and at which stage does it go?
2. Choose "Sixteen crumbs": small products beside a large C. Which of their bits fall off? (On a
   V100 this takes four blocks. The result of one block is the C of the next.)
3. Type numbers of your own until the block and the correctly rounded sum disagree.
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import block_fma as block_widget

block_widget([1], [1], "-(1 - 2^-24)", gpu="V100")

# %% [markdown]
r"""
The rule, in five steps:

1. **Products are exact**, and so is C. A term that is zero takes no further part. (Zero has an
   exponent, too, but with FP32 output it lies below that of any FP16 product.)
2. **Each term has an exponent.** For a product it is the sum of its factors' exponents; the
   product is *not* normalised: 1.5 × 1.5 = 2.25 has exponent 0 + 0. A subnormal number keeps the
   lowest exponent of its format, −14 in FP16 and −126 in FP32. C has its own exponent.
3. **Cut.** With $e$ the largest exponent of all terms, each term, C too, is cut to a multiple of
   $2^{e-F}$, toward zero. $F$, the number of **fraction bits**, depends on the GPU.
4. **Add exactly.** What is left are integer multiples of $2^{e-F}$, so order does not matter.
5. **Round once.** FP32 has 24 significant bits. They count from the leading bit of the *sum*,
   wherever $e$ was; the rest is cut off, toward zero again.

A longer dot product is a chain of blocks: the result of one is the C of the next.

Steps 2 and 3 explain the opening: with C = 1 the largest exponent is 0, and a V100 with $F = 23$
cuts each $2^{-24}$ to nothing, while an A100 with $F = 24$ keeps all four. (Plain FP32 adds one
at a time, and each $1 + 2^{-24}$ is a tie that goes back to 1.)

The library takes a block apart as the widget does. (`lost` is what was cut off; 33554432 is
$2^{25}$.)
"""

# %%
from ampcourse.tensor_core import block_terms

block = block_terms([1.5, 1.5], [1.5, -1.5], 2.0**-20 + 2.0**-25, gpu="V100")
for term in block.terms:
    if term.product:
        name = "C" if term.index is None else f"k = {term.index}"
        print(f"{name:5}  {term.value:<12g} exponent {term.exponent:<4} lost {term.lost}")
print(f"result {block.result:g}, but the exact sum rounds to {block.correctly_rounded:g}")

# %% [markdown]
r"""
### t03_2 · Align, cut, add

Write the five steps: the result of one block with $F$ fraction bits for lists `a` and `b` of FP16
numbers of any length and an FP32 number `c`. Without any term left the sum is 0.0.

`exponent(x, lowest)` gives the exponent of a number that is not 0, but at least `lowest`. (Like
`math.frexp` it does not complain about 0, but the −1 it returns there means nothing.) All of it
fits in ordinary floats: a double has room for products and sums, dividing by a power of two is
exact, and `math.trunc` cuts toward zero. Infinity, NaN and overflow do not come up.
"""


# %% tags=["setup"]
def exponent(x, lowest):
    """Return e with 2^e <= |x| < 2^(e+1) for x other than 0, or `lowest` if that is larger."""
    return max(math.frexp(x)[1] - 1, lowest)


# %% task="t03_2" forbids=["ampcourse.tensor_core", "mmasim"]
def block_sum(a, b, c, F):
    """Return c + Σ a[k]·b[k] as one block of a Tensor Core with F fraction bits gives it."""
    ### BEGIN SOLUTION
    terms = [
        (x * y, exponent(x, -14) + exponent(y, -14)) for x, y in zip(a, b, strict=True) if x * y
    ]
    if c:
        terms.append((c, exponent(c, -126)))
    if not terms:
        return 0.0
    quantum = 2.0 ** (max(e for _, e in terms) - F)
    total = sum(math.trunc(term / quantum) for term, _ in terms) * quantum
    if not total:
        return 0.0
    ulp = 2.0 ** (exponent(total, -126) - 23)
    return math.trunc(total / ulp) * ulp
    ### END SOLUTION


# %% check="t03_2" points=6
with task("t03_2"):
    exact = "where no bit is in the way, the sum is exact, and C is one of its terms"
    cut = "every term, C too, is cut to a multiple of 2^(e - F) before anything is added"
    zero = "bits are cut off the size of a term, whatever its sign: toward zero"
    product = "a product's exponent is the sum of its factors', at least -14 each"
    own = "C has its own exponent, at least -126, not -14"
    output = "the sum is cut to 24 bits once, at the end, toward zero"
    nothing = "a term that is zero has no say in the largest exponent"
    no_c = "C is a term of the sum"
    check("float(block_sum([3.0, 0.5], [2.0, 4.0], 1.0, 23))", 9.0, exact, {no_c: 8.0})
    ieee = "nothing was cut before the sum: that is the exact sum, rounded once"
    more = "that is one bit too many: the smallest unit is 2^(e - F)"
    fewer = "that is one bit too few: the smallest unit is 2^(e - F)"
    call = "[bits(block_sum([2.0**-12] * 3, [5 * 2.0**-12] * 3, 1.0, F)) for F in (20, 21, 22, 23)]"
    none, six, seven, eight = "0x3f800000", "0x3f800006", "0x3f800007", "0x3f800008"
    lossless = "none of these terms lost a bit: all are cut by the largest exponent"
    traps = {ieee: [eight] * 4, more: [none, six, six, seven], fewer: [none, none, none, six]}
    traps |= {lossless: [seven] * 4}
    check(call, [none, none, six, six], cut, traps)
    downward = "that is rounding down: a negative term is cut toward zero"
    nearest = "terms are cut, not rounded to the nearest unit"
    call = (
        "[2**8 * float(block_sum([1.0, x], [1.0, 2.0**-8], 0.0, 8)) for x in (-1.25, -1.75, 1.75)]"
    )
    traps = {downward: [254.0, 254.0, 257.0], nearest: [255.0, 254.0, 258.0]}
    traps |= {lossless: [254.75, 254.25, 257.75]}
    check(call, [255.0, 255.0, 257.0], zero, traps)
    normalised = "1.5 × 1.5 = 2.25 has exponent 0 here: a product is not normalised"
    subnormal = "a subnormal factor counts with exponent -14, however small it is"
    flushed = "a Tensor Core uses subnormal numbers, it does not flush them to zero"
    call = """
        c, tiny = 3 * 2.0**-23, 2.0**-33 + 2.0**-41
        sums = [block_sum([x, x], [x, -x], c, 23) for x in (1.5, 1.0)]
        return [bits(x) for x in [*sums, block_sum([2.0**-24], [1.0], tiny, 16)]]
    """
    half, whole, small = "0x34800000", "0x34c00000", "0x33800000"
    traps = {normalised: [half, whole, "0x33804000"], subnormal: [whole, whole, "0x33804000"]}
    traps |= {flushed: [whole, whole, "0x2f008000"]}
    check(call, [whole, whole, small], product, traps)
    clamped = "C is FP32: its exponent goes down to -126, not only to -14"
    deep = "a subnormal C counts with exponent -126, however small it is"
    call = """
        whole = block_sum([2.0**-14], [2.0**-10], 1.5 * 2.0**-30 + 2.0**-41, 16)
        return [bits(whole), bits(block_sum([], [], 9 * 2.0**-149, 20))]
    """
    traps = {clamped: ["0x33820000", "0x00000000"], deep: ["0x33830000", "0x00000009"]}
    check(call, ["0x33830000", "0x00000008"], own, traps)
    rounded = "the sum is cut at the end: 1.5 ulps do not become 2"
    wide = "FP32 has 24 bits: the sum is cut once more at the end"
    chained = "the products are not added one by one: all are lined up and added at once"
    call = """
        a, b, crumbs = [1.0] * 4 + [-1.5 * 2.0**-12], [1.0] * 4 + [2.0**-13], [2.0**-12] * 4
        c, minus = 1 + 6 * 2.0**-23, [-x for x in b]
        sums = [block_sum(a, b, c, 24), block_sum(a, minus, -c, 24)]
        return [bits(x) for x in [*sums, block_sum(crumbs, crumbs, 1.0, 24)]]
    """
    traps = {rounded: ["0x40a00002", "0xc0a00002", "0x3f800002"]}
    traps |= {wide: ["0x1.4000030000000p+2", "-0x1.4000030000000p+2", "0x3f800002"]}
    traps |= {fewer: ["0x40a00001", "0xc0a00001", "0x3f800000"]}
    check(call, ["0x40a00001", "0xc0a00001", "0x3f800002"], output, traps)
    zero_counts = "a zero was lined up like a number near 1: leave zeros out"
    call = "[bits(block_sum([0.0], [1.0], c, 23)) for c in (1.5 * 2.0**-24, 0.0)]"
    traps = {zero_counts: ["0x33800000", "0x00000000"]}
    check(call, ["0x33c00000", "0x00000000"], nothing, traps)
    zero_c = "a C of 0 is no term, and exponent(0.0, -126) = -1 means nothing"
    call = "bits(block_sum([1.5 * 2.0**-10, 2.0**-12], [2.0**-13 + 2.0**-23, 2.0**-13], 0.0, 23))"
    check(call, "0x34603000", nothing, {zero_c: "0x34400000"})
    ### BEGIN HIDDEN TESTS
    import struct
    from fractions import Fraction
    from functools import partial
    from math import frexp, ldexp
    from random import Random

    import numpy as np

    t03_2_random = Random(302)

    def t03_2_fields(x, letter, width, precision):
        """Return integer significand, exponent and weight of the last bit, read from the code."""
        code = int.from_bytes(struct.pack(letter, x), "big")
        field, rest = (code >> precision) % 2**width, code % 2**precision
        integer = rest + (2**precision if field else 0)
        power = max(field, 1) - 2 ** (width - 1) + 1
        return (-integer if code >> (width + precision) else integer), power, power - precision

    def t03_2_shift(integer, by, mode):
        """Multiply an integer by a power of two; below 1 the mode says how bits are lost."""
        if by >= 0:
            return integer << by
        if mode == "down":
            return integer >> -by
        whole, rest = divmod(abs(integer), 1 << -by)
        if mode == "nearest":
            whole += (rest, whole % 2) > (1 << (-by - 1), 0)
        return whole if integer > 0 else -whole

    def t03_2_terms(a, b, c, without="", exponent_of=""):
        """Return (integer, exponent, weight of its last bit) of each term."""
        terms = []
        for x, y in zip(a, b, strict=True):
            (m, e, low), (n, f, down) = (t03_2_fields(z, ">e", 5, 10) for z in (x, y))
            flushed = without == "subnormal" and min(abs(m), abs(n)) < 1024
            e, size = e + f, m * n
            if exponent_of == "value" and size:
                e = frexp(x)[1] + frexp(y)[1] - 2
            if exponent_of == "product":
                e = abs(size).bit_length() - 1 + low + down
            if size and not flushed:
                terms.append((size, e, low + down))
            elif exponent_of == "zero":
                terms.append((0, -2, 0))
        m, e, low = t03_2_fields(c, ">f", 8, 23)
        e = max(e, -14) if exponent_of == "clamped c" else e
        e = frexp(c)[1] - 1 if exponent_of == "deep c" else e
        if exponent_of == "zero c" and not m:
            terms.append((0, -1, 0))
        return terms + [(m, e, low)] * (m != 0 and without != "c")

    def t03_2_model(a, b, c, F, each="zero", end="zero", **other):
        """Return the sum of a block; the keywords are what people take it for."""
        terms = t03_2_terms(a, b, c, **other)
        if not terms:
            return 0.0
        unit = max(e for _, e, _ in terms) - F
        if each == "own":  # every term is cut below its own exponent
            terms = [(t03_2_shift(m, low - e + F, "zero"), e, e - F) for m, e, low in terms]
        if each in ("exact", "own"):
            unit = min(unit, *(low for _, _, low in terms))
        total = sum(t03_2_shift(m, low - unit, each) for m, _, low in terms)
        lost = max(abs(total).bit_length() - 24, 0) if end else 0
        return ldexp(t03_2_shift(total, -lost, end), unit + lost)

    def t03_2_chain(a, b, c, F, kind=np.float32):
        """Add the products to C one by one."""
        total = kind(c)
        for x, y in zip(a, b, strict=True):
            total = kind(np.float64(total) + x * y)
        return float(total)

    def t03_2_whole_c(a, b, c, F):
        """Cut the products only, by the largest exponent of all."""
        if not c:
            return t03_2_model(a, b, c, F)
        unit = max(e for _, e, _ in t03_2_terms(a, b, c)) - F
        terms = t03_2_terms(a, b, 0.0)
        exact = sum(Fraction(t03_2_shift(m, low - unit, "zero")) for m, _, low in terms)
        exact = exact * Fraction(2) ** unit + Fraction(c)
        size = float(exact)  # exact, for it has fewer than 53 bits in these sums
        ulp = 2.0 ** (frexp(size)[1] - 24)
        return int(size / ulp) * ulp

    t03_2_beliefs = {
        no_c: partial(t03_2_model, without="c"),
        ieee: partial(t03_2_model, each="exact", end="nearest"),
        "nothing was cut before the sum, only at its end": partial(t03_2_model, each="exact"),
        "e is the largest exponent of all terms, not each term's own": (
            partial(t03_2_model, each="own")
        ),
        more: lambda a, b, c, F: t03_2_model(a, b, c, F + 1),
        fewer: lambda a, b, c, F: t03_2_model(a, b, c, F - 1),
        "C is cut like any other term": t03_2_whole_c,
        downward: partial(t03_2_model, each="down"),
        nearest: partial(t03_2_model, each="nearest"),
        normalised: partial(t03_2_model, exponent_of="product"),
        subnormal: partial(t03_2_model, exponent_of="value"),
        flushed: partial(t03_2_model, without="subnormal"),
        rounded: partial(t03_2_model, end="nearest"),
        wide: partial(t03_2_model, end=None),
        zero_counts: partial(t03_2_model, exponent_of="zero"),
        zero_c: partial(t03_2_model, exponent_of="zero c"),
        clamped: partial(t03_2_model, exponent_of="clamped c"),
        deep: partial(t03_2_model, exponent_of="deep c"),
        chained: t03_2_chain,
        "the sum has FP32's 24 bits and more on the way, not FP16's 11": (
            partial(t03_2_chain, kind=np.float16)
        ),
    }

    def t03_2_code(x):
        return f"0x{struct.pack('>f', x).hex()}" if np.float32(x) == x else x.hex()

    def t03_2_check(sums, F, reason):
        """Check a few sums at once: what comes out together tells who thought what."""
        right = [t03_2_code(t03_2_model(*one, F)) for one in sums]
        wrong = {h: [t03_2_code(f(*one, F)) for one in sums] for h, f in t03_2_beliefs.items()}
        codes = list(wrong.values())
        traps = {h: c for h, c in wrong.items() if c != right and codes.count(c) == 1}
        check(f"[bits(block_sum(a, b, c, {F})) for a, b, c in {sums}]", right, reason, traps)

    def t03_2_normal(low, high):
        """Return a random FP16 number whose exponent lies between two."""
        m = t03_2_random.choice((-1, 1)) * t03_2_random.randrange(1024, 2048)
        return m * 2.0 ** (t03_2_random.randint(low, high) - 10)

    def t03_2_vector(n, low, high):
        return [t03_2_normal(low, high) for _ in range(n)]

    for F in (25, 29, 30):  # exponents so close that the sums are exact in 24 bits
        sums = []
        for _ in range(4):
            a = [float(t03_2_random.randint(-30, 30)) for _ in range(5)]
            b = [t03_2_random.randint(-30, 30) / 4 for _ in range(5)]
            sums.append((a, b, t03_2_random.randint(1, 900) / 8))
        t03_2_check(sums, F, exact)
    for F in (11, 13, 15, 16, 18, 19):
        sums = []
        for n in (4, 8, 4, 8):  # a large product, then small ones and a C that lose bits
            a, b = [1.0, *t03_2_vector(n, -4, 0)], [1.0, *t03_2_vector(n, 2 - F // 2, 0)]
            c = float(np.float32(t03_2_random.uniform(-1, 1))) * 2.0 ** t03_2_random.randint(-9, 0)
            sums.append(([float(x) for x in a], b, c))
        t03_2_check(sums, F, cut)
    for F in (10, 14, 23, 25):
        sums = []
        for sign in (-1.0, 1.0, -1.0, 1.0):
            part = [t03_2_random.randrange(1025, 2048) / 1024 for _ in range(4)]
            rest = [-sign * 2.0 ** (-F // 2) / 4] * 4
            sums.append(([sign * 1.5, *part], [1.0, *(x * 2.0 ** (-F % 2) for x in rest)], 0.0))
        t03_2_check(sums, F, zero)
    for F in (16, 23, 25):
        sums = []
        for _ in range(2):
            x = t03_2_random.randrange(1500, 2048) / 1024
            sums.append(([x, x], [x, -x], t03_2_random.choice((1, -1)) * 1.5 * 2.0**-F))
            tiny = t03_2_random.randrange(1, 900) * 2.0**-24
            sums.append(([tiny], [1.0], 2.0 ** (-15 - F) * 1.25))
        t03_2_check(sums, F, product)
        sums = []
        for _ in range(3):  # all exponents lie below -14, and C has more bits than F leaves it
            c = float(np.float32(t03_2_random.uniform(1, 2))) * 2.0 ** t03_2_random.randint(
                -30, -26
            )
            sums.append((t03_2_vector(2, -14, -12), t03_2_vector(2, -11, -9), c))
        sums += [([], [], t03_2_random.randrange(-(2**22), 2**22, 2) * 2.0**-149 + 2.0**-149)]
        t03_2_check(sums, F - 6, own)
    for F in (24, 25, 27):
        sums = []
        for sign in (-1.0, 1.0, -1.0, 1.0):
            a = [sign * t03_2_random.randrange(1024, 2048) / 1024 for _ in range(4)]
            c = sign * (1 + t03_2_random.randrange(1, 2**23, 2) * 2.0**-23)
            sums.append((a, [1.0] * 4, c))
        t03_2_check(sums, F, output)
    for F in (20, 23, 25):
        c = float(np.float32(t03_2_random.uniform(1, 2))) * 2.0**-14
        tiny = t03_2_normal(-14, -12)
        sums = [([0.0, 3.0], [-5.0, 0.0], -c), ([0.0], [0.0], 0.0), ([], [], 0.0)]
        sums += [([0.0, tiny], [1.0, tiny], 1.5 * 2.0**-14), ([], [], c)]
        t03_2_check(sums, F, nothing)
        pairs = [(t03_2_vector(3, -13, -10), t03_2_vector(3, -13, -10)) for _ in range(3)]
        t03_2_check([(a, b, t03_2_random.choice((0.0, -0.0))) for a, b in pairs], F - 6, nothing)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
How often does this matter? Take 5,000 random dot products of 16 FP16 numbers and compare with the
exact sum, rounded once to nearest as IEEE 754 would have it:
"""

# %%
rng = np.random.default_rng(3)
a, b = rng.standard_normal((2, 5000, 16)).astype(np.float16).astype(np.float64)
c = rng.standard_normal(5000).astype(np.float32)
exact = np.array([math.fsum([*x, y]) for x, y in zip(a * b, c, strict=True)], np.float32)
share = {gpu: np.mean(mma(a, b, c, gpu=gpu) != exact) for gpu in ("V100", "A100", "H100")}
for gpu, part in share.items():
    print(f"{gpu}: {part:.0%} are not the nearest FP32 number")

# %% [markdown]
r"""
With 16 products a V100 chains four blocks and cuts after each, an A100 two, and an H100 does all
in one. Not one of these results is a defect. The differences sit in the last bits, and adders
without rounding are small and fast. But "FP32 accumulation" in a data sheet does not mean IEEE
754 arithmetic, and the same program can give other bits on another GPU.

## Which GPU am I?

With FP16 inputs and FP32 output all GPUs in this table follow the same steps; two numbers differ.
("Ada" is a generation, not a GPU: whoever recorded its outputs names no card.)

| FP16 inputs, FP32 sum | V100 | T4, A100, A2, Ada, L40S | H100, H200, B200 |
|---|---|---|---|
| products in a block, $L$ | 4 | 8 | 16 |
| fraction bits, $F$ | 23 | 24 | 25 |

So a few sums are enough to tell which generation computed them. Each line below is (a, b, C);
places that are not listed are 0. Before you run it: what must an H100 give in the second line?
"""

# %%
sums = [
    ([1], [1], -(1 - 2**-24)),
    ([2**11, 0, 0, 0, 0, 0, 0, 0, -(2**11)], [1] * 9, 3 * 2**-14),
    ([1.5, 1.5], [1.5, -1.5], 2**-25),
]
print("     V100      A100      H100      in units of 2^-25")
for a, b, c in sums:
    d = [
        float(mma(np.array(a), np.array(b), np.float32(c), gpu=gpu)) * 2**25
        for gpu in ("V100", "A100", "H100")
    ]
    print("".join(f"{x:9g} " for x in d))

# %% [markdown]
r"""
In the second line the two large products of an H100 share a block and cancel there, and all of C
is left: 6144 units are $3 \cdot 2^{-14}$. On the others they are in different blocks, and beside
the first of them C is lost. Such sums are how $L$ and $F$ were found, since no data sheet has them
(sources: at the end).

### t03_3 · Measure a Tensor Core

Someone ran two series of sums on an unknown machine. Work out its $L$ and its $F$.

- `places[n]` is the output for 1.5·1.5 in place 0, −1.5·1.5 in place n, and C = $2^{-23}$.
- `sizes[f]` is the output for 1·1 in place 0, −1·1 in place 1, and C = $2^{-f}$.

All other places hold 0, and outputs are FP32. (Note that $2.25 + 2^{-23}$ has one bit too many
for FP32.) Both are dictionaries from int to float. Each runs without a gap from a sum in which C
survives to one in which it is lost, but starts anywhere, and its entries are in any order. Every
machine here has $L \ge 2$ and $F \ge 23$, and it need not be one that is sold. Return the pair
`(L, F)`.
"""


# %% task="t03_3" forbids=["ampcourse.tensor_core", "mmasim"]
def measure(places, sizes):
    """Return (L, F): the products in a block and the fraction bits, from two series of sums."""
    ### BEGIN SOLUTION
    block_length = min(n for n, d in places.items() if d == 0)
    fraction_bits = max(f for f, d in sizes.items() if d != 0)
    return block_length, fraction_bits
    ### END SOLUTION


# %% check="t03_3" points=3
with task("t03_3"):
    length = "C survives while both large products are in one block: in places 0 to L - 1"
    fraction = "C = 2^-f survives the cut at 2^(0 - F) as long as f <= F"
    last = "the last place in a block is L - 1, since places start at 0"
    volta = "four FP16 products are a block of a V100: this machine has a block of its own"
    pairs = "L and F need not come in the pairs that are sold"
    call = """
        c = 2.0**-23
        places = {14: 0.0, 9: c, 11: c, 8: c, 12: 0.0, 10: c, 13: 0.0}
        sizes = {27: 0.0, 22: 2.0**-22, 24: 2.0**-24, 25: 0.0, 26: 0.0, 23: 2.0**-23}
        return int(measure(places, sizes)[0])
    """
    unsorted = "entries are in any order: the first loss you meet is not the smallest place"
    counted = "the series need not start at place 1: how many survive does not tell"
    swapped = "(L, F), in this order"
    traps = {last: 11, volta: 4, pairs: 8, unsorted: 14, counted: 5, swapped: 24}
    check(call, 12, length, traps)
    first = "2^-F itself is not cut off: F is the last size that comes through"
    output_bits = "the output has 23 bits behind the point, the sum inside may have more"
    call = """
        c = 2.0**-23
        places = {14: 0.0, 9: c, 11: c, 8: c, 12: 0.0, 10: c, 13: 0.0}
        sizes = {27: 0.0, 22: 2.0**-22, 24: 2.0**-24, 25: 0.0, 26: 0.0, 23: 2.0**-23}
        return int(measure(places, sizes)[1])
    """
    unsorted_sizes = "entries are in any order: the first loss you meet is not the smallest size"
    check(call, 24, fraction, {first: 25, unsorted_sizes: 26, swapped: 12})
    ### BEGIN HIDDEN TESTS
    from random import Random

    t03_3_random = Random(303)

    def t03_3_unique(traps, right):
        """Keep the wrong values that have one cause alone."""
        values = [right, *traps.values()]
        return {hint: wrong for hint, wrong in traps.items() if values.count(wrong) == 1}

    def t03_3_series(first, kept, beyond, size):
        """Return a series in a random order, in which a loss that is not the first stands first."""
        series = [(n, size(n) if n <= kept else 0.0) for n in range(first, kept + beyond + 1)]
        while True:
            t03_3_random.shuffle(series)
            lost = [n for n, d in series if not d]
            if lost[0] > kept + 1:
                return dict(series), lost[0]

    for machine in ((16, 25), (8, 24), (4, 23), (8, 23), (4, 25), (32, 24), (12, 26), (2, 29)):
        wanted, kept = machine
        start = t03_3_random.randint(1, wanted - 1)
        places, lost_place = t03_3_series(start, wanted - 1, 4, lambda n: 2.0**-23)
        start_size = t03_3_random.randint(20, kept)
        sizes, lost_size = t03_3_series(start_size, kept, 3, lambda f: 2.0**-f)
        call = f"int(measure({places}, {sizes})[%d])"
        traps = {last: wanted - 1, volta: 4, pairs: 2 ** (kept - 21), unsorted: lost_place}
        traps |= {counted: 1 + wanted - start, swapped: kept}
        check(call % 0, wanted, length, t03_3_unique(traps, wanted))
        traps = {first: kept + 1, output_bits: 23, unsorted_sizes: lost_size - 1, swapped: wanted}
        traps |= {"F does not follow from L": 20 + wanted.bit_length()}
        check(call % 1, kept, fraction, t03_3_unique(traps, kept))
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## TF32: 32 bits in, 19 used

From the A100 on, Tensor Cores also take FP32 numbers, as **TF32**: the sign, all eight exponent
bits, and the ten bits after the leading one. The last 13 bits are not read. A block holds half as
many products as in FP16. The rule is the same but for one thing: with the exponents of FP32 (BF16
has them, too) a product can lie below zero's exponent, −132 on an A100, and then zeros count.

In March 2021 someone multiplied [1024.5] by [1.0] in FP32 on an RTX 3090 and got 1025
([pytorch#53635](https://github.com/pytorch/pytorch/issues/53635)). Cut to TF32, 1024.5 is 1024.
Both can happen: the Tensor Core cuts, but a library may round the numbers before it hands them
over, and the instruction made for that, `cvt.rna.tf32`, rounds to nearest with ties *away* from
zero. Without TF32 the answer is 1024.5:
"""

# %%
from ampcourse.tensor_core import to_tf32 as as_tf32

x, y = as_tf32(np.array([1024.5])), np.ones(1)
print("TF32, cut:", float(mma(x, y, np.float32(0), gpu="A100", input_format="tf32")))
print("on a CPU: ", (torch.tensor([1024.5]) @ torch.tensor([1.0])).item())

# %% [markdown]
r"""
A laptop will not show you the difference. (On a GPU the switch is
`torch.backends.cuda.matmul.fp32_precision`, "tf32" or "ieee". `torch.backends.mkldnn` has one for
CPUs, since 2.9, but only those of some servers act on "tf32".)

### t03_4 · To TF32

Return the TF32 number for an FP32 number `x`, as a float: cut, as the Tensor Core reads it; or,
with `rounded=True`, to the nearest, and away from zero if `x` lies halfway. Zeros keep their
sign; infinities and NaN stay what they are. (The NaN that `mma` returns has the code 0x7fffffff.
With `rounded=True`, no finite `x` is close to overflow.)
"""


# %% task="t03_4" forbids=["ampcourse.tensor_core", "ampcourse.quantize", "mmasim"]
def to_tf32(x, rounded=False):
    """Return an FP32 number as TF32, cut or rounded to nearest with ties away from zero."""
    ### BEGIN SOLUTION
    if not math.isfinite(x):
        return x
    code = int.from_bytes(struct.pack(">f", x), "big")
    if rounded:
        code += 1 << 12
    code &= ~0x1FFF
    return struct.unpack(">f", code.to_bytes(4, "big"))[0]
    ### END SOLUTION


# %% check="t03_4" points=4
with task("t03_4"):
    cut = "TF32 keeps 10 bits behind the leading one: the last 13 of FP32 are cut off"
    near = "with rounded=True the nearest TF32 number, ties away from zero"
    special = "zeros keep their sign, infinities and NaN stay what they are"
    small = "all eight exponent bits stay: TF32 reaches as far as FP32, subnormals too"
    same = "32 bits in memory, but the Tensor Core reads only 19 of them"
    up = "the Tensor Core cuts: it rounds nothing up"
    down = "cut means toward zero, for negative numbers too"
    even = "ties go away from zero here, not to even"
    no_round = "rounded=True asks for the nearest number, not for the cut one"
    xs = "(1024.5, 1025.5, -1025.75, 1030.75, 2.0**40)"
    ten = "ten bits are stored, the leading one comes on top"
    traps = {same: [1024.5, 1025.5, -1025.75, 1030.75, 2.0**40]}
    traps |= {down: [1024.0, 1025.0, -1026.0, 1030.0, 2.0**40]}
    traps |= {up: [1025.0, 1026.0, -1026.0, 1031.0, 2.0**40]}
    traps |= {ten: [1024.0, 1024.0, -1024.0, 1030.0, 2.0**40]}
    right = [1024.0, 1025.0, -1025.0, 1030.0, 2.0**40]
    check(f"[float(to_tf32(x)) for x in {xs}]", right, cut, traps)
    upward = "toward larger numbers is not away from zero"
    xs = "(1024.5, 1025.5, -1024.5, 1025.25, 2.0**40)"
    traps = {even: [1024.0, 1026.0, -1024.0, 1025.0, 2.0**40]}
    traps |= {no_round: [1024.0, 1025.0, -1024.0, 1025.0, 2.0**40]}
    traps |= {upward: [1025.0, 1026.0, -1024.0, 1025.0, 2.0**40]}
    traps |= {ten: [1024.0, 1026.0, -1024.0, 1026.0, 2.0**40]}
    right = [1025.0, 1026.0, -1025.0, 1025.0, 2.0**40]
    check(f"[float(to_tf32(x, rounded=True)) for x in {xs}]", right, near, traps)
    carry = "a significand that rounds up to 2 carries one into the exponent"
    call = "[float(to_tf32(s * (2 - 2.0**-23), rounded=True)) for s in (1, -1)]"
    check(call, [2.0, -2.0], near, {carry: [1.0, -1.0]})
    check("[float(to_tf32(x)) for x in (-0.0, inf, nan)]", [-0.0, inf, nan], special)
    spoiled = "that NaN was rounded up into -0.0: only finite numbers are rounded"
    call = """
        own_nan = struct.unpack(">f", bytes.fromhex("7fffffff"))[0]
        return [float(to_tf32(x, rounded=True)) for x in (-inf, nan, own_nan)]
    """
    check(call, [-inf, nan, nan], special, {spoiled: [-inf, nan, -0.0]})
    fp16_range = "TF32 has FP16's precision, but FP32's range"
    call = "[bits(to_tf32(x)) for x in (1.5 * 2.0**-127 + 2.0**-137 + 2.0**-149, 2.0**100)]"
    flushed = "subnormal numbers are cut like others, not flushed to zero"
    finer = "below 2^-126 the steps stay 2^-136: a subnormal number has fewer than ten bits"
    traps = {flushed: ["0x00000000", "0x71800000"], finer: ["0x00601000", "0x71800000"]}
    traps |= {same: ["0x00601001", "0x71800000"], fp16_range: ["0x00000000", "0x7f800000"]}
    check(call, ["0x00600000", "0x71800000"], small, traps)
    ### BEGIN HIDDEN TESTS
    from fractions import Fraction
    from math import floor
    from random import Random

    import numpy as np

    t03_4_random = Random(304)

    def t03_4_near(x, ties="away", kept=10, mode="near", lowest=-126):
        """Round a finite number over fractions: an oracle without a bit pattern."""
        if x == 0:
            return x
        size = abs(Fraction(x))
        power = max(int(np.frexp(np.float64(x))[1]) - 1, lowest)
        unit = Fraction(2) ** (power - kept)
        count = size / unit
        if mode == "down":
            whole = floor(count) + (x < 0 and count.denominator > 1)
        elif mode == "cut":
            whole = floor(count)
        else:
            whole = round(count) if ties == "even" else floor(count + Fraction(1, 2))
        return float(whole * unit) * (1 if x > 0 else -1)

    def t03_4_fp16(x):
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float16(x))

    def t03_4_code(x):
        return f"0x{int(np.float32(x).view('u4')):08x}"

    def t03_4_masked(x):
        """Let numpy clear the last 13 bits."""
        return float((np.float32(x).view("u4") & np.uint32(0xFFFFE000)).view("f4"))

    def t03_4_lost(x):
        """Round the stored bits alone, so that what goes beyond them is lost."""
        code = int(np.float32(x).view("u4"))
        code = code & ~0x7FFFFF | (code + 0x1000) & 0x7FE000
        return float(np.uint32(code).view("f4"))

    t03_4_beliefs = {
        same: lambda x: x,
        up: t03_4_near,
        "the Tensor Core cuts, it does not round to even": lambda x: t03_4_near(x, "even"),
        down: lambda x: t03_4_near(x, mode="down"),
        "BF16 cuts 16 bits, TF32 only 13": lambda x: t03_4_near(x, kept=7, mode="cut"),
        ten: lambda x: t03_4_near(x, kept=9, mode="cut"),
        finer: lambda x: t03_4_near(x, mode="cut", lowest=-139),
        fp16_range: t03_4_fp16,
        flushed: lambda x: t03_4_masked(x) if abs(x) >= 2.0**-126 else 0.0 * x,
    }

    def t03_4_check(xs, reason, rounded=False):
        """Check a few numbers at once; a trap counts where it alone leads to its codes."""
        right = [t03_4_code(t03_4_near(x) if rounded else t03_4_masked(x)) for x in xs]
        wrong = {hint: [t03_4_code(f(x)) for x in xs] for hint, f in t03_4_beliefs.items()}
        if rounded:
            wrong[no_round] = [t03_4_code(t03_4_masked(x)) for x in xs]
            wrong[even] = [t03_4_code(t03_4_near(x, "even")) for x in xs]
            wrong[ten] = [t03_4_code(t03_4_near(x, kept=9)) for x in xs]
            wrong[finer] = [t03_4_code(t03_4_near(x, lowest=-139)) for x in xs]
            wrong[carry] = [t03_4_code(t03_4_lost(x)) for x in xs]
            wrong[upward] = [
                t03_4_code(t03_4_near(x) if x > 0 else -t03_4_near(-x, "even")) for x in xs
            ]
        codes = list(wrong.values())
        traps = {h: c for h, c in wrong.items() if c != right and codes.count(c) == 1}
        call = f"[bits(to_tf32(x{', rounded=True' * rounded})) for x in {xs}]"
        check(call, right, reason, traps)

    def t03_4_number(code):
        return float(np.uint32(code).view("f4"))

    for _ in range(5):
        powers = t03_4_random.sample(range(1 + 127 - 12, 1 + 127 + 14), 4)
        codes = [(p << 23) + t03_4_random.randrange(2**23) for p in powers]
        codes = [c + (t03_4_random.random() < 0.5) * 2**31 for c in codes]
        # Just above and just below the middle between two TF32 numbers, and the middle.
        edges = [
            c & ~0x1FFF | e for c, e in zip(codes, (0x1001, 0x0FFF, 0x1000, 0x1FFF), strict=True)
        ]
        xs = [t03_4_number(code) for code in (*codes, *edges)] + [2.0 ** len(codes) * 1e9]
        t03_4_check(xs, cut)
        t03_4_check(xs, near, rounded=True)
        ties = [c & ~0x3FFF | 0x1000 for c in codes] + [c | 0x3000 for c in codes]
        t03_4_check([t03_4_number(c) for c in ties], near, rounded=True)
        tops = [c | 0x7FF000 for c in codes]  # what is rounded up here reaches the next binade
        t03_4_check([t03_4_number(c) for c in tops], near, rounded=True)
    for rounded in (", rounded=True", ""):
        check(f"[float(to_tf32(x{rounded})) for x in (-inf, inf, nan)]", [-inf, inf, nan], special)
        check(f"[float(to_tf32(x{rounded})) for x in (0.0, -0.0)]", [0.0, -0.0], special)
        for code in ("7fffffff", "7ffff000", "ffffffff", "ffc00001"):
            text = f"float(to_tf32(struct.unpack('>f', bytes.fromhex('{code}'))[0]{rounded}))"
            check(text, nan, special)
    for _ in range(3):
        codes = [t03_4_random.randrange(2**13, 2**23) for _ in range(3)]
        codes += [t03_4_random.randrange(0x71000000, 0x7F000000) for _ in range(3)]
        codes += [c + 2**31 for c in codes]
        t03_4_check([t03_4_number(c) for c in codes], small)
        t03_4_check([t03_4_number(c) for c in codes], small, rounded=True)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## A thousand products long

One block loses a bit or two. What if a dot product has thousands of terms, and the result of each
block is cut before it goes into the next? Where all terms have one sign, each cut makes the sum
smaller, so the losses add up; rounding to nearest errs on both sides, and much of it cancels.

FP8 makes this visible. An H100 has two instructions for it. `mma.sync` is the older one, for small
tiles; it converts FP8 to FP16 and adds as for FP16. `wgmma` is new and fast, for large matrices;
it adds FP8 products with only $F = 13$ and cuts the output to 13 fraction bits, too: 14 bits in
all, held in an FP32 register. (On an H100 `mma.sync` with FP8 was recorded with FP16 output; for
FP32 output the model infers it from that and from a B200.) Exactly, this sum is 256 + 31/64 =
256.484375:
"""

# %%
a, b = np.array([256.0] + [1.0] * 31), np.array([1.0] + [2.0**-6] * 31)
for instruction in ("wgmma", "mma.sync"):
    d = mma(a, b, np.float32(0), gpu="H100", input_format="e4m3", instruction=instruction)
    print(f"{instruction:9} {float(d)}")

# %% [markdown]
r"""
All 32 products are in one block of `wgmma`, and 256 sets the grid: $2^{8-13} = 2^{-5}$. Each
$2^{-6}$ falls through. That is why frameworks **promote**: DeepSeek-V3 lets `wgmma` add 128
products, adds the outcome to a sum in true FP32, and starts `wgmma` again from 0.

Here are long dot products of random numbers between 0 and 1 in five accumulators: for each the
format of the numbers and a function that multiplies two matrices. Positive numbers show the bias
most clearly: every cut goes the same way. With mixed signs absolute errors are smaller, but a sum
that nearly cancels can have a far larger relative error.
"""

# %%
from functools import partial

from ampcourse.quantize import quantize
from ampcourse.tensor_core import accumulate, gemm

raw = np.random.default_rng(5).uniform(0, 1, (2, 8, 4096))
numbers = {fmt: (quantize(raw[0], fmt), quantize(raw[1].T, fmt)) for fmt in ("fp16", "e4m3")}
accumulators = {
    "FP8 wgmma": ("e4m3", partial(gemm, input_format="e4m3")),
    "FP16 accumulator": ("fp16", accumulate.gemm_fp16_accumulator),
    "FP8, promoted": ("e4m3", accumulate.gemm_promoted),
    "FP16 on H100": ("fp16", partial(gemm, gpu="H100")),
    "FP32, in order": ("fp16", accumulate.gemm_fp32),
}


# %%
def mean_error(fmt, multiply, K):
    A, B = numbers[fmt][0][:, :K], numbers[fmt][1][:K]
    return float(np.mean(abs(multiply(A, B) - A @ B) / (A @ B)))  # A @ B in doubles: exact enough


lengths = [2**n for n in range(5, 13)]
curves = {name: [(K, mean_error(*how, K)) for K in lengths] for name, how in accumulators.items()}
growth = {name: dict(points)[4096] / dict(points)[256] for name, points in curves.items()}

# %% tags=["nbval-ignore-output"]
from ampcourse.plotting.error_growth import error_growth

times = ", ".join(f"{name} {factor:.0f} times" for name, factor in growth.items())
alt = f"Errors over the number of products. From 256 to 4096 they grow: {times}."
show(error_growth(curves, unit="mean relative error"), alt=alt)

# %%
print("mean relative error   K = 256    K = 4096   times")
for name, points in curves.items():
    errors = [f"{100 * dict(points)[K]:10.2g} %" for K in (256, 4096)]
    print(f"{name:16}", *errors, f"{growth[name]:5.0f}")

# %% [markdown]
r"""
Rounding to nearest behaves like a random walk: 16 times as many terms, about $\sqrt{16} = 4$
times the error. The Tensor Cores' cuts all go one way, so the error keeps pace with K, 16 times
or somewhat more. With few bits it gets worse than that: where a sum is above 512, numbers of 14
bits are 1/16 apart and FP16 numbers 1/2, while a product is 1/4 on average, so a good part of it
or all of it is lost. Promotion stops the growth where it was at K = 128. (For random matrices
with K = 4096 the DeepSeek-V3 report, arXiv 2412.19437, section 3.3.2, quotes errors of nearly 2 %
at most. It does not describe the matrices; these all-positive ones reach more, as you see.)

### t03_5 · Watch the error grow

Build an accumulator that is simpler than those of the figure: it takes one product at a time, and
its precision, 24 bits at most, is up to you.

1. It starts at 0 and adds the products, whole, in the order of the list. After every addition the
   sum is **cut toward zero to `precision` significant bits**.
2. With `every=n` the sum is **promoted** after every n products: it is added to a total, the new
   total is rounded with `fp32`, and the sum starts again from 0.
3. After the last product what is left is promoted in the same way. Without `every` that is the
   only promotion. The result is the total.

Return the error of the result in ulps: (result − exact sum) / ulp of the exact sum. `ulp(x,
precision)` is the distance between numbers of `precision` bits at x. All exact sums fit a double,
and none is 0.
"""


# %% tags=["setup"]
def ulp(x, precision):
    """Return the distance between neighbouring numbers of `precision` significant bits at x."""
    return 2.0 ** (exponent(x, -126) - precision + 1)


# %% task="t03_5" forbids=["ampcourse.tensor_core", "mmasim"]
def sum_error(products, precision, every=None):
    """Return the error, in ulps, of a sum whose accumulator is cut to `precision` bits."""
    ### BEGIN SOLUTION
    total = partial = 0.0
    for count, product in enumerate(products, 1):
        partial += product
        unit = ulp(partial, precision)
        partial = math.trunc(partial / unit) * unit
        if count == len(products) or (every and count % every == 0):
            total = fp32(total + partial)
            partial = 0.0
    exact = math.fsum(products)
    return (total - exact) / ulp(exact, precision)
    ### END SOLUTION


# %% check="t03_5" points=5
with task("t03_5"):
    cut = "after every addition the sum is cut toward zero, and what is lost adds up"
    unit = "the error is (result - exact) / ulp, with the ulp of `precision` bits at the exact sum"
    promote = "after every n products the partial sum goes into an FP32 total and starts from 0"
    total = "every promotion rounds the total to FP32"
    rest = "what is left in the partial sum after the last product belongs to the total"
    nearest = "that is rounding to nearest: this accumulator cuts"
    at_end = "cut after every addition, not once at the end"
    call = "[float(abs(sum_error([1.2890625] * K, 8))) for K in (32, 64, 128)]"
    fewer = "that keeps one bit too few: `precision` bits with the leading one"
    more = "that keeps one bit too many: `precision` bits with the leading one"
    traps = {nearest: [2.0, 3.0, 2.0], fewer: [11.0, 25.0, 37.0], more: [3.5, 4.5, 11.0]}
    check(call, [5.0, 11.0, 24.0], cut, traps)
    down = "cut toward zero, not down: a negative sum loses size, too"
    whole = "only sums are cut: a product goes in with all its bits"
    call = "[float(abs(sum_error(ps, 8))) for ps in ([-1.2890625] * 64, [1.0, -1.298828125])]"
    check(call, [11.0, 0.0], cut, {down: [20.0, 0.0], whole: [11.0, 1.0]})
    ulp_of_result = "measure in ulps at the exact sum, which may be in a higher binade"
    turned = "result minus exact: a positive sum that lost bits has a negative error"
    unsigned = "the error has a sign"
    call = "[sum_error(ps, 5) + 0.0 for ps in ([31.0, 0.75, 0.75], [-2.0, -0.0625])]"
    relative = "in ulps, not relative to the sum"
    plain = "in ulps, not as a plain difference"
    traps = {ulp_of_result: [-1.5, 0.5], turned: [0.75, -0.5], unsigned: [0.75, 0.5]}
    traps |= {down: [-0.75, -0.5], relative: [-1.5 / 32.5, 0.0625 / -2.0625], plain: [-1.5, 0.0625]}
    check(call, [-0.75, 0.5], unit, traps)
    never = "with every=n the partial sum is promoted after n products"
    early = "the first promotion comes after n products, not before"
    call = "[float(abs(sum_error([1.2890625] * 128, 8, every=n))) for n in (16, 32, 64)]"
    again = "after a promotion the partial sum starts again from 0"
    traps = {never: [24.0] * 3, again: [500.125, 202.0, 53.0]}
    traps |= {early: [3.9609375, 4.9609375, 10.7109375]}
    check(call, [4.0, 5.0, 11.0], promote, traps)
    unrounded = "the total has FP32's 24 bits, not those of a Python float"
    cut_total = "the total is rounded to nearest with fp32, not cut"
    swallowed = "the total has 24 bits, not as few as the sum, and it takes every product here"
    sixteen = "16 bits are too few: the total is FP32 and has 24"
    call = """
        crumbs = 11 * 2.0**-13, 1.5 * 2.0**-3
        return [2**18 * float(abs(sum_error([2.0**12, x], 8, every=1))) for x in crumbs]
    """
    traps = {unrounded: [0.0, 0.0], cut_total: [3.0, 0.0], swallowed: [11.0, 1536.0]}
    traps |= {sixteen: [11.0, 512.0], again: [2.0**25 - 11, 2.0**25 - 1536]}
    check(call, [1.0, 0.0], total, traps)
    forgotten = "the products after the last full group count, too"
    call = "float(abs(sum_error([1.2890625] * 41, 8, every=16)))"
    check(call, 4.65625, rest, {forgotten: 50.40625, early: 4.5})
    ### BEGIN HIDDEN TESTS
    from fractions import Fraction
    from functools import partial
    from random import Random

    t03_5_random = Random(305)

    def t03_5_round(x, precision, how):
        """Round an exact number to some significant bits."""
        if x == 0 or how == "not":
            return x
        size, power = abs(x), 0
        while size >= 2:
            size, power = size / 2, power + 1
        while size < 1:
            size, power = size * 2, power - 1
        unit = Fraction(2) ** (power - precision + 1)
        if how == "nearest":
            return round(x / unit) * unit
        whole = x // unit if how == "down" or x > 0 else -(-x // unit)
        return whole * unit

    def t03_5_ulp(x, precision):
        return t03_5_round(abs(x), 1, "cut") / 2 ** (precision - 1)

    def t03_5_sum(
        products, precision, every, how="cut", reset=True, rest=True, narrow=False, first=1,
        whole=True, end="nearest",
    ):  # fmt: skip
        """Return the sum over fractions; the keywords are what people take it for."""
        total = partial = Fraction(0)
        for count, product in enumerate(map(Fraction, products), first):
            product = product if whole else t03_5_round(product, precision, how)
            partial = t03_5_round(partial + product, precision, how)
            if every and count % every == 0:
                total = t03_5_round(total + partial, 24, end)
                total = t03_5_round(total, precision, "cut") if narrow else total
                partial = Fraction(0) if reset else partial
        if rest or not every:
            total = t03_5_round(total + partial, 24, end)
            total = t03_5_round(total, precision, "cut") if narrow else total
        return total

    def t03_5_error(products, precision, every, keeps=0, **other):
        exact = sum(map(Fraction, products))
        found = t03_5_sum(products, precision + keeps, every, **other)
        return float((found - exact) / t03_5_ulp(exact, precision))

    def t03_5_once(products, precision, every):
        exact = sum(map(Fraction, products))
        found = t03_5_round(exact, precision, "cut")
        return float((found - exact) / t03_5_ulp(exact, precision))

    def t03_5_scaled(products, precision, every, unit):
        """Return the right error in a unit of one's own."""
        exact = sum(map(Fraction, products))
        found = t03_5_sum(products, precision, every)
        return float((found - exact) / unit(exact, found, precision))

    t03_5_beliefs = {
        nearest: partial(t03_5_error, how="nearest"),
        down: partial(t03_5_error, how="down"),
        "an accumulator of few bits is not FP32": partial(t03_5_error, how="not"),
        at_end: t03_5_once,
        "products are added in the order of the list": (
            lambda ps, p, n: t03_5_error(sorted(ps, key=abs), p, n)
        ),
        never: lambda ps, precision, every: t03_5_error(ps, precision, None),
        again: partial(t03_5_error, reset=False),
        forgotten: partial(t03_5_error, rest=False),
        "the total is FP32, not as narrow as the partial sum": (partial(t03_5_error, narrow=True)),
        early: partial(t03_5_error, first=0),
        turned: lambda ps, p, n: -t03_5_error(ps, p, n),
        unsigned: lambda ps, p, n: abs(t03_5_error(ps, p, n)),
        ulp_of_result: partial(t03_5_scaled, unit=lambda e, f, p: t03_5_ulp(f, p)),
        whole: partial(t03_5_error, whole=False),
        unrounded: partial(t03_5_error, end="not"),
        cut_total: partial(t03_5_error, end="cut"),
        fewer: partial(t03_5_error, keeps=-1),
        more: partial(t03_5_error, keeps=1),
        relative: partial(t03_5_scaled, unit=lambda e, f, p: e),
        plain: partial(t03_5_scaled, unit=lambda e, f, p: 1),
        "the ulp is that of `precision` bits, not FP32's": (
            partial(t03_5_scaled, unit=lambda e, f, p: t03_5_ulp(e, 24))
        ),
        "precision p has the leading bit in it: an ulp is 2^(e - p + 1)": (
            lambda ps, p, every: t03_5_error(ps, p + 1, every)
        ),
    }

    def t03_5_check(cases, reason):
        """Check a few sums at once; a trap counts where it alone leads to its errors."""
        signed = reason == unit
        right = [t03_5_error(*case) for case in cases]
        wrong = {hint: [f(*case) for case in cases] for hint, f in t03_5_beliefs.items()}
        if not signed:  # the sign of the error costs one item, not four
            right = [abs(x) for x in right]
            wrong = {hint: [abs(x) for x in xs] for hint, xs in wrong.items()}
        found = list(wrong.values())
        traps = {h: w for h, w in wrong.items() if w != right and found.count(w) == 1}
        one = "sum_error(*case) + 0.0" if signed else "float(abs(sum_error(*case)))"
        check(f"[{one} for case in {cases}]", right, reason, traps)

    def t03_5_products(n, sign=1):
        return [sign * t03_5_random.randrange(257, 2048) / 512 for _ in range(n)]

    for _ in range(3):
        cases: list = []
        for sign in (1, -1):
            p = sign * t03_5_random.randrange(513, 1024) / 512
            cases += [([p] * k, t03_5_random.randint(9, 12), None) for k in (20, 40, 80)]
        t03_5_check(cases, cut)
        cases = [(t03_5_products(30, s), t03_5_random.randint(8, 13), None) for s in (1, -1)]
        t03_5_check(cases, cut)
        cases = []
        for precision in (5, 6, 7):  # the exact sum lies just above a power of two
            top = 2**precision - 1
            scale = 2.0 ** t03_5_random.randint(-3, 3)
            cases.append(([top * scale, 0.75 * scale, 0.75 * scale], precision, None))
        cases.append((t03_5_products(9), 8, None))
        t03_5_check(cases, unit)
        n = t03_5_random.randint(6, 9)
        cases = [(t03_5_products(4 * n, s), t03_5_random.randint(7, 9), n) for s in (1, -1, 1)]
        t03_5_check(cases, promote)
        cases = []
        for _ in range(3):  # totals of FP32 that cannot take in all of the small sums
            large = [float(t03_5_random.randrange(2**7, 2**8) * 2**6) for _ in range(n)]
            little = [t03_5_random.randrange(257, 512) * 2.0**-18 for _ in range(3 * n)]
            cases.append((large + little, 8, n))
        t03_5_check(cases, total)
        cases = [(t03_5_products(3 * n + r, s), 8, n) for r, s in ((1, 1), (2, -1), (n - 1, 1))]
        t03_5_check(cases, rest)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Where the speed comes from

Now the reason for all of this. An SM of a V100 has 64 FP32 cores, each good for one FMA per
clock, and 8 Tensor Cores, each good for a 4×4×4 block, 64 FMAs. Count an FMA as two
floating-point operations, and the peak follows from the data sheet. Mind two traps in data
sheets: the V100 is a GV100 die with 84 SMs, of which the product uses 80, and newer sheets print
"with sparsity" figures that are twice what dense matrices get.
"""


# %% tags=["setup"]
class Sheet(NamedTuple):
    """What a data sheet says about a GPU."""

    die_sms: int  # SMs on the die
    sms: int  # SMs in use
    fp32_cores: int  # per SM, one FMA per clock each
    tensor_cores: int  # per SM
    fma: int  # FMAs per clock of one Tensor Core, 16-bit operands; H100: inferred from its peak
    ghz: float  # boost clock of the Tensor Cores


V100 = Sheet(84, 80, 64, 8, 64, 1.53)
A100 = Sheet(128, 108, 64, 4, 256, 1.41)
H100 = Sheet(144, 132, 128, 4, 512, 1.83)

# %% [markdown]
r"""
A peak is worth nothing if the operands arrive too late. A square GEMM of size n does $2n^3$
operations and moves three matrices of $n^2$ numbers at least once: A and B in, D out. A V100 needs
about 139 operations for each byte it moves (125 TFLOP/s over 900 GB/s) to be limited by arithmetic
rather than memory. With all three in FP16 there are n/3 (n/4 if D leaves as FP32):
"""

# %%
for n in (64, 256, 1024, 4096):
    print(f"n = {n:4}: {2 * n**3 / (3 * n**2 * 2):6.0f} operations per byte")

# %% [markdown]
r"""
Memory explains the last rule of thumb, too. Kernels for Tensor Cores load 16 bytes at a time, so
they are fastest if every dimension of a GEMM fills whole groups of 16 bytes: a multiple of 8 in
FP16. Older versions of cuBLAS (before 11.0) fell back to other cores if not; since then it works,
only slower. (NVIDIA, Matrix Multiplication Background User's Guide, table 1, which recommends
multiples of 64 on an A100; for FP8 `torch._scaled_mm` still insists on multiples of 16 for K and
N, the number of products and of B's columns.)

### t03_6 · Peak and padding

Write two functions. `peak(sheet, width)` gives the Tensor Cores' peak in TFLOP/s for dense
matrices of numbers that take `width` bits in memory: half the width, twice the FMAs per clock.
(That holds on A100 and H100 from TF32, which takes 32 bits, down to FP8, as far as the GPU has
the format.) `padded(size, width)` gives the smallest dimension that is at least `size` and fills
whole groups of 16 bytes. Dimensions count numbers, not bytes.
"""


# %% task="t03_6" forbids=["ampcourse.tensor_core", "ampcourse.benchmark"]
def peak(sheet, width):
    """Return the dense peak of the Tensor Cores in TFLOP/s for numbers of `width` bits."""
    ### BEGIN SOLUTION
    fma_per_clock = sheet.sms * sheet.tensor_cores * sheet.fma * 16 / width
    return 2 * fma_per_clock * sheet.ghz / 1000
    ### END SOLUTION


def padded(size, width):
    """Return how many numbers of `width` bits, `size` or more, fill whole groups of 16 bytes."""
    ### BEGIN SOLUTION
    group = 128 // width
    return math.ceil(size / group) * group
    ### END SOLUTION


# %% check="t03_6" points=3
with task("t03_6"):
    count = "SMs in use × Tensor Cores × FMAs × 2 per clock, times clocks per second"
    widths = "half the width, twice the FMAs per clock"
    groups = "16 bytes hold 128 / width numbers: pad up to a multiple of that, and no further"
    die = "84 SMs are on the die, 80 of them are in use"
    half = "an FMA counts as two operations, a multiplication and an addition"
    cores = "those are the FP32 cores: this is about Tensor Cores"
    giga = "that is in GFLOP/s: 1 TFLOP/s is 1000 of them"
    traps = {die: 131.6, half: 62.7, cores: 15.7, giga: 125337.6}
    check("round(float(peak(V100, 16)), 1)", 125.3, count, traps)
    same = "half as wide means twice as many per clock, twice as wide half as many"
    reverse = "narrower numbers are faster, not slower"
    call = "[round(float(peak(H100, width) / peak(H100, 16)), 6) for width in (32, 8)]"
    integer = "16 // 32 is 0: divide by the width last, or with /"
    traps = {same: [1.0, 1.0], reverse: [2.0, 0.5], integer: [0.0, 2.0]}
    check(call, [0.5, 2.0], widths, traps)
    eight = "multiples of 8 are for 16 bits: what counts is 16 bytes"
    more = "what is a multiple already needs no padding"
    below = "padding adds, it takes nothing away"
    nineteen = "TF32 uses 19 bits, but it takes 32 in memory"
    call = "[int(padded(n, w)) for n, w in [(50257, 16), (64, 16), (70, 8), (74, 32)]]"
    traps = {eight: [50264, 64, 72, 80], more: [50264, 72, 80, 76], below: [50256, 64, 64, 72]}
    in_bytes = "a dimension counts numbers, not bytes"
    traps |= {nineteen: [50264, 64, 80, 78], in_bytes: [100528, 128, 80, 304]}
    check(call, [50264, 64, 80, 76], groups, traps)
    ### BEGIN HIDDEN TESTS
    from fractions import Fraction
    from random import Random

    t03_6_random = Random(306)

    def t03_6_tflops(fmas, ghz, per_fma=2):
        return round(float(per_fma * fmas * Fraction(ghz) / 1000), 1)

    for _ in range(6):
        sms, fp32_cores = t03_6_random.randrange(20, 150), t03_6_random.choice((64, 128))
        tc, fma = t03_6_random.choice((4, 8)), t03_6_random.choice((64, 128, 256, 512))
        die, ghz = sms + t03_6_random.randrange(2, 16), t03_6_random.randrange(100, 250) / 100
        sheet = f"Sheet({die}, {sms}, {fp32_cores}, {tc}, {fma}, {ghz})"
        fmas = sms * tc * fma
        traps = {
            "not the SMs on the die, but those in use": t03_6_tflops(die * tc * fma, ghz),
            half: t03_6_tflops(fmas, ghz, 1),
            cores: t03_6_tflops(sms * fp32_cores, ghz),
            giga: t03_6_tflops(1000 * fmas, ghz),
            "with sparsity it is twice as much, but not for dense matrices": (
                t03_6_tflops(fmas, ghz, 4)
            ),
        }
        traps = {h: w for h, w in traps.items() if list(traps.values()).count(w) == 1}
        check(f"round(float(peak({sheet}, 16)), 1)", t03_6_tflops(fmas, ghz), count, traps)
        call = f"[round(float(peak({sheet}, w) / peak({sheet}, 16)), 6) for w in (8, 32)]"
        check(
            call, [2.0, 0.5], widths, {same: [1.0, 1.0], reverse: [0.5, 2.0], integer: [2.0, 0.0]}
        )

    def t03_6_pad(size, group):
        return size + -size % group

    for _ in range(5):
        cases = []
        for width in (8, 16, 32, 64):
            group = 128 // width
            cases += [(t03_6_random.randrange(1, 5000), width)]
            cases += [(t03_6_random.randrange(1, 500) * group, width)]
        right = [t03_6_pad(n, 128 // w) for n, w in cases]
        wrong = {
            eight: [t03_6_pad(n, 8) for n, w in cases],
            "multiples of 16 are for 8 bits: what counts is 16 bytes": (
                [t03_6_pad(n, 16) for n, w in cases]
            ),
            more: [n // (128 // w) * (128 // w) + 128 // w for n, w in cases],
            below: [n // (128 // w) * (128 // w) for n, w in cases],
            in_bytes: [t03_6_pad(n, 128 // w) * w // 8 for n, w in cases],
            nineteen: [t03_6_pad(n, 128 // (19 if w == 32 else w)) for n, w in cases],
            "a whole power of two is more than is needed": (
                [1 << (n - 1).bit_length() for n, w in cases]
            ),
        }
        check(f"[int(padded(n, w)) for n, w in {cases}]", right, groups, wrong)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
The library has the sheets of more GPUs; their peaks for dense matrices follow the same way:
"""

# %%
from ampcourse.tensor_core.throughput import GPUS, peak_tflops, ridge

print("TFLOP/s      FP32     FP16   ratio   operations per byte, at least")
for name, gpu in GPUS.items():
    fp32_peak, fp16_peak = peak_tflops(gpu, "fp32"), peak_tflops(gpu, "fp16")
    ratio, limit = fp16_peak / fp32_peak, ridge(gpu, "fp16")
    print(f"{name:10} {fp32_peak:6.1f} {fp16_peak:8.1f} {ratio:7.1f} {limit:7.0f}")

# %% [markdown]
r"""
## What people get wrong

First your predictions:
"""

# %%
print(f"not the nearest:  you said {my_share}, in the model of an H100 {share['H100']:.0%}")
print(f"1024.5 in TF32:   you said {my_tf32}, a Tensor Core reads 1024")
print(f"2048 + 1 + 1 + 1: you said {my_half}; the FP32 sum rounds to {float(np.float16(2051)):g}")
print(f"16 times longer:  you said {my_growth}, wgmma {growth['FP8 wgmma']:.0f} times the error")

# %% [markdown]
r"""
- **"Tensor Cores accumulate in FP16."** For FP16 inputs with FP32 output the sum has 24 bits and
  more on the way. With FP16 output, too, products are exact, and a block is rounded once, to
  nearest; only from block to block the sum is FP16 (t03_1).
- **"FP32 accumulation is IEEE arithmetic."** Terms are cut before they are added, and the sum is
  cut, not rounded (t03_2).
- **"Two GPUs give the same bits."** Only if $L$ and $F$ agree, and the kernels split the sum alike
  (t03_3).
- **"Order never matters."** Inside a block it does not; which products share a block does. With
  C = $3 \cdot 2^{-14}$ the products $2^{11}$ and $-2^{11}$ give 0 on an A100 if they are in
  different blocks, and $2^{-13}$ if they are in one.
- **"TF32 is FP32, only faster."** Of each factor 13 bits are thrown away (t03_4).
- **"I can test FP16 matmul on the CPU."** You see FP32 sums, rounded once to FP16.
- **"FP8 on Hopper accumulates in FP32."** `wgmma` has 14 bits, in an FP32 register. `mma.sync` is
  another story: FP8 there runs as FP16.
- **"A long sum's errors cancel."** If every step rounds to nearest, many do. If every step cuts,
  they add up (t03_5).
- **"A V100 has 84 SMs", "1979 TFLOP/s in BF16".** 80 are in use; the second figure is for sparse
  matrices (t03_6).
- **"Without multiples of 8 there are no Tensor Cores."** True before cuBLAS 11; today it is
  slower.

## Say it aloud

A Tensor Core multiplies exactly, lines up all terms of a block by the largest exponent, cuts what
sticks out below, adds the rest exactly and cuts once more at the end. The number of products in a
block and the bits it keeps depend on the generation, so the last bits do, too. Cuts all go one
way; over thousands of terms of one sign that shows, and with 14 bits it shows soon. In return a
Tensor Core does dozens or hundreds of FMAs per clock, if the shapes are right and the data arrive
in time.

## Where next

Inside the Tensor Core FP16 numbers are treated well. On their way in they are not: what is too
small for FP16 is gone before the first product. `04_gradient_range` asks which gradients that
hits.

Sources of $L$ and $F$: Fasi, Higham, Mikaitis and Pranesh, PeerJ Computer Science 7:e330, for V100,
T4 and A100; arXiv 2511.10909 and 2512.07004 for the rest. All entries of the table but the T4's
were also held against recorded outputs. For other formats and instructions
`ampcourse.tensor_core.configuration(gpu, …).evidence` says what an entry rests on.
"""
