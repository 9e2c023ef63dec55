# %% [markdown]
r"""
# Which gradients vanish in FP16?

FP16 has no number between 0 and $2^{-24}$, and gradients are small. Some become zeros. The usual
cure is a **loss scale**: the loss is multiplied by a number before the backward pass, all
gradients grow with it by the chain rule, and before the update it is divided out again. But which
gradients vanish, how many, and how do you know that a zero was not a zero before? Looking is
cheap: train a small network, write down the exponent of each gradient, and hold the range of FP16
over it.

You build what is needed to look: the histogram, the share that is flushed to zero, the room at
the upper end, and the scale that follows from it. You need `01_floating_point` and
`02_rounding`, and PyTorch only for reading; no GPU. There are six tasks; plan about an hour.

## Predict first

Put a guess in place of each `None`. Nobody grades them; the answers come at the end.
"""

# %%
# Which of 2**-24, 1.5 * 2**-25, 2**-25 and 2**-26 become 0 in FP16?
my_smallest = None

# A small CNN learns. What percentage of its weight gradients,
# over six steps of the training, would FP16 flush to 0?
my_lost = None

# A ResNet50 sees 28 x 28 images for the first time. What
# percentage of its weight gradients is exactly 0 in FP32?
my_zeros = None

# Another batch has ten times the loss. Is its best loss scale
# larger, smaller, the same, or can one not tell?
my_scale = None

# %% [markdown]
r"""
## Train and record

A CNN with two convolutions and one linear layer learns the 2,000 images of FashionMNIST that come
with the course, in FP32, so that nothing is lost while we look. A recorder hooks into it: at every
40th step it counts all gradients of the weights, and all of each layer's output (the
**activation gradients**, which are on their way to the layers before it).
"""

# %% tags=["setup"]
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ampcourse.courseware import check, inf, task

# %%
import torch
from torch.nn.functional import cross_entropy

from ampcourse.dynamic_range import GradientRecorder, boundaries, range_report, scaled_view
from ampcourse.plotting import show
from ampcourse.plotting.exponents import exponents
from ampcourse.training.data import fashion_mnist
from ampcourse.training.loop import to_tensors
from ampcourse.training.models import small_cnn

# %%
torch.set_num_threads(1)  # for layers this small, more of them cost time
data = fashion_mnist(use="subset")
images, labels = to_tensors(data.train_images, data.train_labels, "cpu")


# %%
def backward(model, batch):
    """Put the gradients of one random batch into the model and return the loss."""
    chosen = torch.randint(0, len(images), (batch,))
    model.zero_grad()
    loss = cross_entropy(model(images[chosen]), labels[chosen])
    loss.backward()
    return loss.item()


# %%
torch.manual_seed(0)
cnn = small_cnn(8)
optimizer = torch.optim.Adam(cnn.parameters(), lr=2e-3)

# %% tags=["nbval-ignore-output"]
kinds = ("activation_gradient", "weight_gradient")
with GradientRecorder(cnn, every=40, samples=None, kinds=kinds) as recorder:
    for step in range(201):
        loss = backward(cnn, batch=64)
        optimizer.step()
        if step in recorder.steps:
            print(f"step {step:3}: loss {loss:.3f}")

# %% [markdown]
r"""
Now play. The chart has one bar for each exponent: how many values have a magnitude from $2^e$ up
to $2^{e+1}$. The shaded part is the range of FP16.

1. Choose layer 7, the last one, and look at its gradients step by step. Where do they move as the
   network learns?
2. Slide the loss scale up from $2^0$. Which zeros come back as bars, which stay zeros?
3. Go on until something overflows. How wide is the gap between "nothing flushed" and "nothing
   overflows"? Is one scale good for all layers? (A table after t04_4 has the answer.)
4. Back to scale $2^0$, switch to BF16. Is there anything left for a scale to rescue?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import gradient_window

gradient_window({step: recorder.histograms("activation_gradient", step) for step in recorder.steps})

# %% [markdown]
r"""
At the last layer a gradient is (probability − target) / batch size. For an image that the network
is sure of and right about it goes to 0, so the bars spread to the left as the network learns. For
one that it is sure of and wrong about it stays near 1/64: the largest bars hardly move. Here is
that layer at the last recorded step, in FP16 without a scale.
"""

# %% tags=["nbval-ignore-output"]
last = recorder.histogram("activation_gradient", "7", recorder.steps[-1])
view = scaled_view(last.labelled("gradients of the last layer"), "fp16")
shares = range_report(last, "fp16").fractions.items()
parts = ", ".join(f"{part} {share:.0%}" for part, share in shares if share)
show(exponents(view), alt=f"Bars for the exponents of all values: {parts}.")

# %% [markdown]
r"""
### t04_1 · Count exponents

Return the pair `counts, zeros` for a one-dimensional float64 array: `counts` is a dict from each
exponent $e$ that occurs to the number of values with $2^e \le |x| < 2^{e+1}$; `zeros` is the number
of zeros, of either sign. Infinities and NaN are counted nowhere. Exponents must be exact, down to
the subnormal numbers of float64 ($2^{-1074}$ has exponent $-1074$).

`np.frexp(x)` takes an array and gives `f, n` with $x = f \times 2^n$ and $0.5 \le |f| < 1$.

In this lesson solutions use numpy, `math` and `Fraction`, and your own earlier solutions.
`torch` and `ampcourse.dynamic_range` are for looking only. The checks here let them pass, but the
grader refuses to import them and does not know the names that demonstrations took from them.
"""


# %% tags=["setup"]
def table(result):
    """Return counts and zeros as plain lists and ints, without empty bins."""
    counts, zeros = result
    return [[int(e), int(n)] for e, n in sorted(dict(counts).items()) if n], int(zeros)


# %% task="t04_1" forbids=["ampcourse.dynamic_range", "ampcourse.rounding", "torch"]
def count_exponents(values):
    """Return a dict from exponent to count, and the number of zeros."""
    ### BEGIN SOLUTION
    counted = values[np.isfinite(values) & (values != 0)]
    found, counts = np.unique(np.frexp(counted)[1] - 1, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True)), int((values == 0).sum())
    ### END SOLUTION


# %% check="t04_1" points=5
with task("t04_1"):
    binade = "the bin of e reaches from 2^e up to, not including, 2^(e + 1), for both signs"
    exact = "just below a power of two a value still belongs to the bin below it"
    apart = "a zero has no exponent: zeros are counted apart"
    tiny = "subnormal numbers have exponents of their own, down to -1074"
    no_number = "inf and NaN have no exponent and are counted nowhere"
    by_frexp = "frexp's fraction starts at 0.5: its exponent is one above the bin's"
    by_int = "a cast to int goes towards zero, which is up for negative exponents"
    by_round = "the bin is the floor of log2: no rounding to nearest"
    by_ceil = "1.25 lies above 2^0, in the bin of 0: take the floor of log2, not the ceiling"
    positive = "a negative gradient is as large as its magnitude: none may be left out"
    by_log2 = "log2, or a cast to a narrower type, rounds up to the power of two"
    in_bin = "zeros ended in a bin: frexp says n = 0 of 0"
    as_field = "the exponent field is 0 for all subnormals: their exponent is in the leading bit"
    inf_bin = "inf or NaN ended in a bin"
    call = "table(count_exponents(np.array([1.0, 1.25, 1.5, 2.0, 3.0, 0.75, -0.5])))"
    traps = {
        by_frexp: ([[0, 2], [1, 3], [2, 2]], 0),
        by_int: ([[-1, 1], [0, 4], [1, 2]], 0),
        by_round: ([[-1, 1], [0, 3], [1, 2], [2, 1]], 0),
        by_ceil: ([[-1, 1], [0, 2], [1, 3], [2, 1]], 0),
        positive: ([[-1, 1], [0, 3], [1, 2]], 0),
    }
    check(call, ([[-1, 2], [0, 3], [1, 2]], 0), binade, traps)
    call = "table(count_exponents(np.array([8 - 2.0**-50, 8.0, 0.75])))"
    traps = {by_log2: ([[-1, 1], [3, 2]], 0), by_frexp: ([[0, 1], [3, 1], [4, 1]], 0)}
    check(call, ([[-1, 1], [2, 1], [3, 1]], 0), exact, traps)
    call = "table(count_exponents(np.array([0.0, -0.0, 1.0, 0.0])))"
    traps = {
        in_bin: ([[-1, 3], [0, 1]], 3),
        in_bin + ", all of them": ([[-1, 3], [0, 1]], 0),
        by_frexp: ([[1, 1]], 3),
    }
    check(call, ([[0, 1]], 3), apart, traps)
    call = "table(count_exponents(np.array([2.0**-1074, 2.0**-1060, 2.0**-1030])))"
    traps = {
        as_field: ([[-1023, 3]], 0),
        as_field + ", not at emin": ([[-1022, 3]], 0),
        by_frexp: ([[-1073, 1], [-1059, 1], [-1029, 1]], 0),
    }
    check(call, ([[-1074, 1], [-1060, 1], [-1030, 1]], 0), tiny, traps)
    call = "table(count_exponents(np.array([inf, -inf, np.nan, 2.0])))"
    traps = {
        inf_bin: ([[-1, 3], [1, 1]], 0),
        inf_bin + ", that of the field of ones": ([[1, 1], [1024, 3]], 0),
        by_frexp: ([[2, 1]], 0),
    }
    check(call, ([[1, 1]], 0), no_number, traps)
    ### BEGIN HIDDEN TESTS
    from fractions import Fraction
    from math import ceil, floor, frexp, isfinite, log2
    from random import Random

    t04_1_random = Random(401)

    def t04_1_exact(x):
        """Return the exponent of a float: an integer over a power of two, by their lengths."""
        top, bottom = abs(Fraction(x)).as_integer_ratio()
        return top.bit_length() - bottom.bit_length()

    def t04_1_table(xs, exponent=t04_1_exact):
        """Count by a rule for the exponent."""
        found = [exponent(x) for x in xs if isfinite(x) and x]
        return [[e, found.count(e)] for e in sorted(set(found))], sum(x == 0 for x in xs)

    def t04_1_check(xs, reason, traps=()):
        """Check a list; a trap is a rule for the exponent, or the wrong table itself."""
        wrong = {
            hint: t04_1_table(xs, rule) if callable(rule) else rule
            for hint, rule in dict(traps).items()
        }
        call = f"table(count_exponents(np.array({xs!r})))"
        check(call, t04_1_table(xs), reason, wrong)

    for _ in range(3):
        xs = [t04_1_random.uniform(1, 2) * 2.0 ** t04_1_random.randint(-9, 3) for _ in range(24)]
        xs = [t04_1_random.choice((-1, 1)) * x for x in xs] + [-0.3, 0.7, 0.25, 4.0]
        traps = {
            by_frexp: lambda x: frexp(x)[1],
            by_int: lambda x: int(log2(abs(x))),
            by_round: lambda x: round(log2(abs(x))),
            by_ceil: lambda x: ceil(log2(abs(x))),
            positive: t04_1_table([x for x in xs if x > 0]),
        }
        t04_1_check(xs, binade, traps)
        e = t04_1_random.randint(4, 9)
        xs = [2.0**e - 2.0 ** (e - 53), -(2.0**-e) + 2.0 ** (-e - 53), 2.0 ** (e + 3), 0.75]
        one_above = {by_frexp: lambda x: frexp(x)[1]}
        t04_1_check(xs, exact, {by_log2: lambda x: floor(log2(abs(x)))} | one_above)
        xs = [0.0] * t04_1_random.randint(2, 6) + [-0.0] * t04_1_random.randint(1, 4) + [2.0**e]
        counts = [[-1, len(xs) - 1], [e, 1]]
        traps = {in_bin: (counts, len(xs) - 1), in_bin + ", all of them": (counts, 0)}
        t04_1_check(xs, apart, traps | one_above)
        xs = [t04_1_random.choice((-1, 1)) * 1.25 * 2.0**-k for k in (1066, 1040, 1025)]
        xs.append(2.0 ** -t04_1_random.randint(1067, 1074))
        traps = {as_field: lambda x: -1023, as_field + ", not at emin": lambda x: -1022}
        t04_1_check(xs, tiny, traps | one_above)
    for count in (1, 2, 3):
        e = t04_1_random.randint(2, 20)
        call = f"table(count_exponents(np.array({[2.0**e] * count} + [np.nan, inf, -inf])))"
        traps = {
            inf_bin: ([[-1, 3], [e, count]], 0),
            inf_bin + ", that of the field of ones": ([[e, count], [1024, 3]], 0),
            by_frexp: ([[e + 1, count]], 0),
        }
        check(call, ([[e, count]], 0), no_number, traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What becomes zero

"Gradients below $2^{-24}$ become zero in FP16": many articles say so, and they are off by a factor
of two. Rounding goes to the nearest number, and the tie halfway between 0 and $2^{-24}$ to the even
one, which is 0. So $2^{-25}$ is lost, and whatever lies between it and $2^{-24}$ rounds **up**:
"""

# %%
for x in (2**-24, 1.5 * 2**-25, 1.001 * 2**-25, 2**-25, 2**-26):
    print(f"{x * 2**25:5.3f} x 2^-25 is stored as {float(np.float16(x)) * 2**24:g} x 2^-24")
for name in ("fp16", "bf16", "e5m2"):
    print(name, "gives 0 up to 2 to the", int(math.log2(boundaries(name).nonzero.value)))

# %% [markdown]
r"""
From $2^{-24}$ up to $2^{-14}$ FP16 has its subnormal numbers. They are no zeros, but the further
down, the fewer digits they have. (Hardware that flushes subnormal numbers loses all of them; the
limits above hold where they are kept.)

### t04_2 · The share that is flushed

Return which share of **all** values, a float from 0 to 1, is not zero, but becomes zero when it is
multiplied by `scale` and then rounded, once, to nearest even, to a format. What is zero already is
not flushed. `values` is a float64 array and not empty, `scale` a power of two; their products are
exact. Formats are records with IEEE rules:
"""


# %% tags=["setup"]
class Format(NamedTuple):
    exponent_bits: int
    significand_bits: int  # the bits that are stored

    @property
    def emin(self):
        """The exponent of the smallest normal number."""
        return 2 - 2 ** (self.exponent_bits - 1)

    @property
    def smallest(self):
        """The smallest subnormal number."""
        return 2.0 ** (self.emin - self.significand_bits)

    @property
    def largest(self):
        """The largest finite number."""
        return (2 - 2.0**-self.significand_bits) * 2.0 ** (1 - self.emin)


FP16, BF16, E5M2 = Format(5, 10), Format(8, 7), Format(5, 2)


# %% task="t04_2" forbids=["ampcourse.dynamic_range", "ampcourse.quantize", "torch"]
def flushed_share(values, fmt, scale):
    """Return the share of values that are not zero, but would be in a format."""
    ### BEGIN SOLUTION
    magnitudes = np.abs(values) * scale
    return float(np.mean((magnitudes != 0) & (magnitudes <= fmt.smallest / 2)))
    ### END SOLUTION


# %% check="t04_2" points=5
with task("t04_2"):
    upper = "what is above half the smallest number rounds up to it, the rest to 0"
    tie = "half the smallest number is a tie and goes to 0, the even neighbour, with either sign"
    already = "what is 0 already is not flushed, but belongs to all values"
    scaling = "the scale is multiplied in before the rounding"
    others = "the limit is half the smallest subnormal number of the format"
    below_24 = "not all below the smallest number is lost: from just above its half it rounds up"
    by_float32 = "a float32 on the way rounds twice: just above half becomes the half, then 0"
    normal_only = "subnormal numbers are no zeros: the limit is not 2^emin"
    tie_up = "the tie is lost: between 0 and the smallest number it goes to 0"
    no_abs = "a large negative gradient is not small: take the magnitude"
    one_sign = "small negative gradients are flushed as well"
    all_zeros = "a zero that was one before was not flushed by the format"
    of_nonzero = "that is the share of the values that are not 0; all of them are asked for"
    no_scale = "after the rounding it is too late to scale: 0 times the scale is 0"
    divided = "the scale multiplies: divided by it, gradients get smaller still"
    only_fp16 = "that is the limit of FP16: take it from fmt"
    in_percent = "a share from 0 to 1 is asked for, not percent"
    call = (
        "float(flushed_share(np.array([2**-26, 1.01 * 2**-25, 1.5 * 2**-25, 2**-20]), FP16, 1.0))"
    )
    check(call, 0.25, upper, {below_24: 0.75, normal_only: 1.0, in_percent: 25.0})
    call = "float(flushed_share(np.array([(1 + 2**-30) * 2**-25, 2**-24, 1.0, 1.0]), FP16, 1.0))"
    check(call, 0.0, upper, {by_float32: 0.25})
    call = "float(flushed_share(np.array([2**-20, -(2**-16), 2**-26, 1.0]), FP16, 1.0))"
    check(call, 0.25, upper, {normal_only: 0.75})
    call = "float(flushed_share(np.array([2**-25, -(2**-25), -1.0, 1.0, 1.0]), FP16, 1.0))"
    check(call, 0.4, tie, {tie_up: 0.0, no_abs: 0.6, one_sign: 0.2})
    call = "float(flushed_share(np.array([0.0, -0.0, 0.0, 2**-30, 1.0]), FP16, 1.0))"
    check(call, 0.2, already, {all_zeros: 0.8, of_nonzero: 0.5})
    call = "float(flushed_share(np.array([2**-30, 2**-26, 2**-24, 2**-19]), FP16, 8.0))"
    check(call, 0.25, scaling, {no_scale: 0.5, divided: 0.75})
    call = "float(flushed_share(np.array([2**-18, 1.5 * 2**-18, 1.25 * 2**-17, 1.0]), E5M2, 1.0))"
    check(call, 0.5, others, {only_fp16: 0.0})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import ml_dtypes
    import numpy as np

    t04_2_random = Random(402)
    t04_2_types = {
        "FP16": (np.float16, 2.0**-24, 2.0**-14),
        "BF16": (ml_dtypes.bfloat16, 2.0**-133, 2.0**-126),
        "E5M2": (ml_dtypes.float8_e5m2, 2.0**-16, 2.0**-14),
    }

    def t04_2_zeros(x, name):
        """Let numpy or ml_dtypes round; all but a few FP16 cases are exact in float32."""
        with np.errstate(over="ignore", under="ignore"):
            return x.astype(t04_2_types[name][0]).astype(float) == 0

    def t04_2_beliefs(x, name, scale):
        """Return the share that each belief leads to."""
        _, smallest, normal = t04_2_types[name]
        half, some, scaled = smallest / 2, x != 0, x * scale
        size, narrow = abs(scaled), abs(scaled).astype(np.float32)
        masks = {
            below_24: some & (size < smallest),
            by_float32: (narrow != 0) & (narrow <= half),
            normal_only: some & (size < normal),
            tie_up: some & (size < half),
            no_abs: some & (scaled <= half),
            one_sign: (scaled > 0) & (scaled <= half),
            all_zeros: size <= half,
            no_scale: some & (abs(x) <= half),
            divided: some & (abs(x) / scale <= half),
            only_fp16: some & (size <= 2.0**-25),
        }
        shares = {hint: float(mask.mean()) for hint, mask in masks.items()}
        lost = (some & (size <= half)).sum()
        return shares | {of_nonzero: float(lost / some.sum()), in_percent: 100 * lost / len(x)}

    def t04_2_check(xs, name, scale, reason):
        """Check one array; beliefs that agree with what is right, or another, are not named."""
        x = np.asarray(xs, float) / scale
        right = float(((x != 0) & t04_2_zeros(x * scale, name)).mean())
        shares = t04_2_beliefs(x, name, scale)
        told = list(shares.values())
        traps = {
            h: share for h, share in shares.items() if share != right and told.count(share) == 1
        }
        check(
            f"float(flushed_share(np.array({x.tolist()}), {name}, {scale!r}))", right, reason, traps
        )

    def t04_2_some(low, high, count, unit):
        """Return numbers with few digits, of both signs, between multiples of a unit."""
        span = int(low * 64) + 1, int(high * 64) - 1
        signs = [t04_2_random.choice((-1.0, 1.0)) for _ in range(count)]
        return [s * t04_2_random.randint(*span) / 64 * unit for s in signs]

    for name, (_, smallest, normal) in t04_2_types.items():
        half = smallest / 2
        for scale in (1.0, 2.0 ** t04_2_random.randint(2, 9)):
            down = t04_2_some(0, 0.5, 2, smallest)
            up = t04_2_some(0.5, 1, 5, smallest)
            sub = t04_2_some(1, normal / smallest, 3, smallest)
            t04_2_check([*down, *up, *sub, 1.0, -2.0, 1.0, 0.5, -0.25, 3.0], name, scale, upper)
            xs = [half, -half, half, -1.0, 1.0, 2.0, 0.5, -half / 2]
            xs += [half, -3.0, -4.0, 2.0, half, half, half / 2, -half]
            t04_2_check(xs, name, scale, tie)
            zeros = [0.0, -0.0] * t04_2_random.randint(3, 6)
            xs = zeros + t04_2_some(0, 0.5, 2, smallest)
            t04_2_check(xs + [1.0] * (16 - len(xs)), name, scale, already)
        scale = 2.0 ** t04_2_random.randint(3, 8)
        xs = [2.0**k * smallest for k in range(-6, 10)]
        t04_2_check(xs, name, scale, scaling)
        xs = [smallest * k / 8 for k in (1, 2, 3, 3.5, 5, 7, 9, 40)]
        t04_2_check(xs, name, 1.0, others)
    for k in (26, 29, 27):
        just = (1 + 2.0**-k) * 2.0**-25
        t04_2_check([just, -just, just, 2.0**-27, *[1.0] * 4], "FP16", 1.0, upper)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
So how much of our CNN would be lost? First layer by layer: the activation gradients of all
recorded steps, without a scale. "Zeros" were there before. Shares are of all values.
"""

# %% tags=["nbval-ignore-output"]
for layer, row in zip(cnn, recorder.table("activation_gradient", "fp16"), strict=True):
    share = row.report.fractions
    parts = "  ".join(f"{part} {share[part]:6.2%}" for part in ("zeros", "flushed", "subnormal"))
    print(f"{row.report.label} {type(layer).__name__:9}  {parts}")

# %% [markdown]
r"""
Then all layers together, for three scales:
"""

# %% tags=["nbval-ignore-output"]
for kind in kinds:
    for scale in (1.0, 8.0, 1024.0):
        reports = [row.report for row in recorder.table(kind, "fp16", scale)]
        total = sum(report.total for report in reports)
        flushed, below = (sum(getattr(r, n) for r in reports) for n in ("flushed", "subnormal"))
        shares = f"flushed {flushed / total:7.4%}  subnormal {below / total:6.2%}"
        print(f"{kind:19} scale {scale:4g}  {shares}")

# %% tags=["nbval-ignore-output"]
for step in recorder.steps:
    reports = [row.report for row in recorder.table("weight_gradient", step=step)]
    flushed, total = sum(r.flushed for r in reports), sum(r.total for r in reports)
    print(f"step {step:3}: flushed {flushed:3} of {total} weight gradients, {flushed / total:.2%}")

# %% [markdown]
r"""
Three more doublings save most of the flushed activation gradients, and about half of the weight
gradients. And one step says little about a training: the share goes up and down from step to step.

The paper *Mixed Precision Training* scaled a detection network, SSD, by 8, which was enough to
match FP32. Its authors infer that activation gradients in $[2^{-27}, 2^{-24})$ had to be kept and
smaller ones did not matter (quoted: Micikevicius et al., 2018; not run here). By the rule of
t04_2, though, a factor of 8 brings back what lies above $2^{-28}$ and at most at $2^{-25}$, and it
gives three more digits to every subnormal number up to $2^{-14}$. Which of the two helped SSD, the
factor alone cannot tell. The paper also has a speech model where about 5 % of the weight gradients
were below $2^{-24}$.

## How far up

A scale moves all bars to the right, the large ones too. FP16 ends at 65504, but numbers up to half
a gap above it still round down to it: 65519.99 is stored as 65504, and **65520**, the tie with the
next power of two, is inf. The other IEEE-like formats end the same way, half a gap above their
largest number.

### t04_3 · Doublings left

Return how often the values can be doubled before the largest magnitude overflows: the largest
integer $k$ for which none of the values times $2^k$ is rounded to infinity. If one overflows as it
is, $k$ is negative. `values` is a float64 array, finite and not all 0. The answer is exact: a
quotient or a logarithm that is rounded on the way can be off by one.
"""


# %% task="t04_3" forbids=["ampcourse.dynamic_range", "ampcourse.quantize", "torch"]
def doublings_left(values, fmt):
    """Return the largest k for which values * 2**k do not overflow in a format."""
    ### BEGIN SOLUTION
    last_gap = 2.0 ** (1 - fmt.emin - fmt.significand_bits)
    limit, limit_exponent = math.frexp(fmt.largest + last_gap / 2)
    largest, exponent = math.frexp(np.max(np.abs(values)))
    return limit_exponent - exponent - (largest >= limit)
    ### END SOLUTION


# %% check="t04_3" points=4
with task("t04_3"):
    from math import nextafter

    widest = "the value of the largest magnitude decides"
    edge = "overflow starts half a gap above the largest number, and the tie overflows"
    over = "what overflows already has a negative number of doublings left"
    any_format = "the limit is that of the format"
    signed = "a large negative gradient overflows to -inf: take the magnitude"
    averaged = "the mean says nothing about the largest, which overflows first"
    smallest_first = "the smallest value is the last to overflow, not the first"
    at_largest = "65505 does not overflow: what rounds down to the largest number still fits"
    tie_fits = "65520 itself overflows: the largest number is odd, so the tie goes up, to inf"
    at_power = "65536 is too late: overflow starts at 65520, half a gap above 65504"
    toward_zero = "int() goes towards zero: for a negative number of doublings that is too many"
    clamped = "no doubling left is not the least: it can be negative"
    only_fp16 = "that is the limit of FP16: take it from fmt"
    one_more = "one doubling too many: that is the first that overflows, not the last that fits"
    rounded = "a quotient or a logarithm was rounded up to a whole number: count exactly"
    call = "int(doublings_left(np.array([0.001, -3.0, 0.2, 0.25]), FP16))"
    check(call, 14, widest, {signed: 17, averaged: 16, smallest_first: 25, one_more: 15})
    call = "[int(doublings_left(np.array([x]), FP16)) for x in (65505.0, 8190.0, 16382.5)]"
    traps = {at_largest: [-1, 2, 1], tie_fits: [0, 3, 1], at_power: [0, 3, 2], one_more: [1, 3, 2]}
    check(call, [0, 2, 1], edge, traps)
    call = """
        just_below = [math.nextafter(65520 * 2.0**-k, 0.0) for k in (3, 14, 30)]
        return [int(doublings_left(np.array([x]), FP16)) for x in just_below]
    """
    traps = {rounded: [3, 13, 29], one_more: [4, 15, 31]}
    check(call, [3, 14, 30], edge, traps | {rounded + ", all three": [2, 13, 29]})
    call = "[int(doublings_left(np.array([x]), FP16)) for x in (70000.0, -300000.0, 3.0)]"
    traps = {toward_zero: [0, -2, 14], clamped: [0, 0, 14], one_more: [0, -2, 15]}
    check(call, [-1, -3, 14], over, traps)
    call = "[int(doublings_left(np.array([31000.0, -31000.0]), fmt)) for fmt in (E5M2, BF16)]"
    check(call, [0, 113], any_format, {only_fp16: [1, 1], one_more: [1, 114]})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import ml_dtypes
    import numpy as np

    t04_3_random = Random(403)
    t04_3_types = {
        "FP16": (np.float16, 65504.0, 65520.0),
        "BF16": (ml_dtypes.bfloat16, 2.0**128 - 2.0**120, 2.0**128 - 2.0**119),
        "E5M2": (ml_dtypes.float8_e5m2, 57344.0, 61440.0),
    }

    def t04_3_fits(x, name):
        """Let numpy or ml_dtypes say whether a float32 number stays finite."""
        with np.errstate(over="ignore"):
            return bool(np.isfinite(np.array([x]).astype(t04_3_types[name][0]).astype(float))[0])

    def t04_3_count(x, fits):
        """Double or halve until the next doubling does not fit, with whatever fits means."""
        x, k = abs(x), 0
        while not fits(x * 2.0**k):
            k -= 1
        while fits(x * 2.0 ** (k + 1)):
            k += 1
        return k

    def t04_3_check(xs, name, reason, traps):
        """Check a list of numbers, each on its own; a trap is the last number that would fit."""
        right = [t04_3_count(x, lambda y: t04_3_fits(y, name)) for x in xs]
        wrong = {
            hint: [t04_3_count(x, lambda y, last=last: y <= last) for x in xs]
            for hint, last in traps.items()
        } | {one_more: [k + 1 for k in right]}
        call = f"[int(doublings_left(np.array([x, -x]), {name})) for x in {xs!r}]"
        check(call, right, reason, wrong)

    for _ in range(3):
        top = -t04_3_random.uniform(2, 3.9) * 2.0 ** t04_3_random.randint(-12, 2)
        xs = [top, *(t04_3_random.uniform(0.01, 0.4) * abs(top) for _ in range(7))]
        t04_3_random.shuffle(xs)
        reach = {  # what would be doubled instead of the largest magnitude
            signed: max(xs),
            averaged: sum(map(abs, xs)) / len(xs),
            smallest_first: min(map(abs, xs)),
        }
        counts = {hint: t04_3_count(x, lambda y: y < 65520) for hint, x in reach.items()}
        right = t04_3_count(top, lambda y: t04_3_fits(y, "FP16"))
        counts[one_more] = right + 1
        traps = {
            hint: k
            for hint, k in counts.items()
            if k != right and list(counts.values()).count(k) == 1
        }
        check(f"int(doublings_left(np.array({xs!r}), FP16))", right, widest, traps)
    for name in ("FP16", "E5M2"):
        _, largest, limit = t04_3_types[name]
        for _ in range(2):
            a, b, c = (2.0 ** t04_3_random.randint(2, 14) for _ in range(3))
            inside = largest + t04_3_random.uniform(0.1, 0.9) * (limit - largest)
            beyond = limit + t04_3_random.uniform(0.1, 0.9) * (65536 - limit)
            xs = [inside / a, limit / b, beyond / c, nextafter(limit / b, 0.0)]
            xs = [float(np.float32(x)) if x in (xs[0], xs[2]) else x for x in xs]
            traps = {at_largest: largest, tie_fits: limit}
            if name == "FP16":
                traps[at_power] = nextafter(65536.0, 0.0)
            else:  # ml_dtypes goes by way of float32, which would round the last one up
                xs.pop()
            t04_3_check(xs, name, edge, traps)
    for _ in range(3):
        xs = [
            t04_3_random.uniform(1.1, 1.9) * 2.0 ** t04_3_random.randint(17, 30) for _ in range(4)
        ]
        xs = [t04_3_random.choice((-1, 1)) * float(np.float32(x)) for x in xs]
        xs.append(float(t04_3_random.randint(3, 99)))
        right = [t04_3_count(x, lambda y: t04_3_fits(y, "FP16")) for x in xs]
        call = f"[int(doublings_left(np.array([x]), FP16)) for x in {xs!r}]"
        traps = {
            toward_zero: [k + (k < 0) for k in right],
            clamped: [max(k, 0) for k in right],
            one_more: [k + 1 for k in right],
        }
        check(call, right, over, traps)
    for _ in range(3):
        ks = sorted(t04_3_random.sample(range(4, 60), 3))
        xs = [t04_3_random.choice((-1, 1)) * nextafter(65520 * 2.0**-k, 0.0) for k in ks]
        call = f"[int(doublings_left(np.array([x]), FP16)) for x in {xs!r}]"
        check(call, ks, edge, {rounded: [k - 1 for k in ks], one_more: [k + 1 for k in ks]})
    for name in ("BF16", "E5M2"):
        for _ in range(2):
            xs = [t04_3_random.randint(241, 254) / 128 * 2.0 ** t04_3_random.randint(-9, 9)]
            xs.append(t04_3_random.uniform(1.0, 1.7) * 2.0 ** t04_3_random.randint(-9, 9))
            xs = [float(np.float32(x)) for x in xs]
            traps = {only_fp16: nextafter(65520.0, 0.0)} if name == "BF16" else {}
            t04_3_check(xs, name, any_format, traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
### t04_4 · The best power of two

One number scales the loss, and through the chain rule the gradients of all layers. The best
power of two is the largest that lets nothing overflow, with `free` doublings to spare for the
steps to come. It may be below 1. Return it as a float.

A step is a record: `gradients` is a list with one float64 array per layer, none of them all 0;
`loss` is the loss they were computed from, an FP32 number as usual. `doublings_left` helps, once
t04_3 is solved.
"""


# %% tags=["setup"]
class Step(NamedTuple):
    loss: float
    gradients: list  # one float64 array per layer


# %% task="t04_4" forbids=["ampcourse.dynamic_range", "ampcourse.amp", "torch"]
def best_scale(step, fmt, free):
    """Return the largest power of two that overflows no gradient and spares some doublings."""
    ### BEGIN SOLUTION
    limit, limit_exponent = math.frexp(fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits))
    largest, exponent = math.frexp(max(np.max(np.abs(layer)) for layer in step.gradients))
    return 2.0 ** (limit_exponent - exponent - (largest >= limit) - free)
    ### END SOLUTION


# %% check="t04_4" points=4
with task("t04_4"):
    all_layers = "the largest gradient of all layers limits the one scale there is"
    power = "it is a power of two, and the next one would overflow"
    spare = "each free doubling halves the scale"
    large = "gradients that overflow as they are want a scale below 1"
    any_loss = "the gradients decide, whatever the loss is"
    edge = "overflow starts half a gap above the format's largest number, at 65520 in FP16"
    any_format = "the limit is that of the format"
    by_mean = "the best scale by the mean lets the largest gradients overflow"
    by_smallest = "lifting the smallest gradient is no limit: the largest overflows long before"
    one_layer = "that is the scale of one layer: another one has larger gradients"
    nearest = "the nearest power of two can be too large: take the one below"
    no_power = "that scale is no power of two, so it would change digits, not only exponents"
    not_free = "the free doublings were left out"
    once = "`free` counts doublings: the scale is divided by 2 to the power of free"
    wrong_way = "to leave room, the scale must be smaller, not larger"
    at_least_1 = "the scale may be below 1"
    by_loss = "it is not the scaled loss that must fit in FP16: it is computed in FP32"
    with_loss = "a large loss needs no large scale: its gradients can be large or small"
    signed = "a large negative gradient overflows to -inf: take the magnitude"
    at_largest = "65505 still fits, since it rounds down to 65504: that scale is too small"
    at_power = "65536 is too late: overflow starts at 65520, so that scale is too large"
    only_fp16 = "that is the limit of FP16: take it from fmt"
    call = """
        layers = [[2.0**-10], [-0.15, 2.0**-7, 2.0**-24], [2.0**-20]]
        layers = [np.array(layer) for layer in layers]
        return float(best_scale(Step(2.5, layers), FP16, 0))
    """
    traps = {
        by_mean: 2.0**20,
        signed: 2.0**22,
        by_smallest: 2.0**39,
        by_smallest + ", nor is its way to the normal numbers": 2.0**10,
        one_layer: 2.0**35,
        one_layer + ", not only the first": 2.0**25,
        by_loss: 2.0**14,
    }
    check(call, 2.0**18, all_layers, traps)
    call = "float(best_scale(Step(1.0, [np.array([0.15]), np.array([-0.15])]), FP16, 0))"
    check(call, 2.0**18, power, {nearest: 2.0**19, no_power: 65520 / 0.15})
    call = "float(best_scale(Step(1.0, [np.array([1.0, 2.0])]), FP16, 3))"
    check(call, 2.0**11, spare, {not_free: 2.0**14, once: 2.0**14 / 3, wrong_way: 2.0**17})
    call = "float(best_scale(Step(1.0, [np.array([1.0]), np.array([3e5])]), FP16, 0))"
    check(call, 0.125, large, {at_least_1: 1.0})
    call = "[float(best_scale(Step(x, [np.array([0.5])]), FP16, 0)) for x in (0.01, 2.0, 300.0)]"
    traps = {by_loss: [2.0**22, 2.0**14, 2.0**7], with_loss: [2.0**9, 2.0**17, 2.0**24]}
    check(call, 3 * [2.0**16], any_loss, traps)
    call = """
        tops = (65505 / 2**8, 65520 / 2**8, 65504 / 2**8, 40000 / 2**8)
        return [float(best_scale(Step(1.0, [np.array([x])]), FP16, 0)) for x in tops]
    """
    traps = {at_largest: [128.0, 128.0, 256.0, 256.0], at_power: [256.0] * 4}
    check(call, [256.0, 128.0, 256.0, 256.0], edge, traps)
    call = "[float(best_scale(Step(1.0, [np.array([-0.95])]), f, 2)) for f in (FP16, E5M2, BF16)]"
    check(call, [2.0**14, 2.0**13, 2.0**126], any_format, {only_fp16: [2.0**14] * 3})
    ### BEGIN HIDDEN TESTS
    from math import floor, log2, nextafter
    from random import Random

    import ml_dtypes
    import numpy as np

    t04_4_random = Random(404)

    def t04_4_scale(x, dtype=np.float16):
        """Let numpy or ml_dtypes find the largest power of two that keeps a number finite."""
        powers = 2.0 ** np.arange(160.0, -60.0, -1.0)
        with np.errstate(over="ignore"):
            stored = (powers * abs(x)).astype(dtype).astype(float)
        return float(powers[np.isfinite(stored)][0])

    def t04_4_call(step_loss, layers, free=0):
        arrays = ", ".join(f"np.array({layer!r})" for layer in layers)
        return f"float(best_scale(Step({step_loss!r}, [{arrays}]), FP16, {free}))"

    def t04_4_check(step_loss, layers, reason, scales, free=0):
        """Check one step; traps that agree with the right scale or another trap name nothing."""
        right = t04_4_scale(max(abs(x) for layer in layers for x in layer)) / 2**free
        traps = {
            hint: scale
            for hint, scale in scales.items()
            if scale != right and list(scales.values()).count(scale) == 1
        }
        check(t04_4_call(step_loss, layers, free), right, reason, traps)

    for _ in range(3):
        units = [2.0 ** t04_4_random.randint(-8, -4) * t for t in (2.0**-9, 1, 2.0**-13)]
        layers = [[t04_4_random.uniform(-1, 1) * u for _ in range(4)] for u in units]
        layers[1][2] = -t04_4_random.uniform(1.3, 1.9) * units[1]
        everything = [abs(x) for layer in layers for x in layer]
        tops = [max(map(abs, layer)) for layer in layers]
        step_loss = round(t04_4_random.uniform(1.1, 1.9), 3)
        scales = {
            by_mean: t04_4_scale(sum(everything) / len(everything)),
            by_smallest: t04_4_scale(min(everything)),
            one_layer: t04_4_scale(tops[-1]),
            by_loss: t04_4_scale(step_loss),
            signed: t04_4_scale(max(x for layer in layers for x in layer)),
        }
        t04_4_check(step_loss, layers, all_layers, scales)
        t04_4_check(step_loss, layers[::-1], all_layers, {})
        t04_4_check(step_loss, layers[1:] + layers[:1], all_layers, {})
        top = t04_4_random.uniform(1.05, 1.3) * 2.0 ** t04_4_random.randint(-6, -1)
        scales = {nearest: 2.0 ** round(log2(65520 / top)), no_power: 65520 / top}
        t04_4_check(top, [[top], [-top]], power, scales)
        free = t04_4_random.randint(3, 6)
        most = t04_4_scale(top)
        scales = {not_free: most, once: most / free, wrong_way: most * 2**free}
        t04_4_check(top, [[-top, top]], spare, scales, free)
        top = t04_4_random.uniform(1.1, 1.9) * 2.0 ** t04_4_random.randint(17, 30)
        t04_4_check(1.0, [[1.0], [-top]], large, {at_least_1: 1.0})
        losses = [round(2.0 ** t04_4_random.uniform(-9, 12), 5) for _ in range(3)]
        top = t04_4_random.uniform(1.1, 1.9) * 2.0 ** t04_4_random.randint(-30, -25)
        call = f"[float(best_scale(Step(x, [np.array([{top!r}])]), FP16, 0)) for x in {losses!r}]"
        grown = [t04_4_scale(top) * 2.0 ** floor(log2(x)) for x in losses]
        traps = {by_loss: [t04_4_scale(x) for x in losses], with_loss: grown}
        check(call, 3 * [t04_4_scale(top)], any_loss, traps)
        k = t04_4_random.randint(4, 20)
        tops = [t04_4_random.randint(65505, 65519) / 2**k, -65520 / 2**k, 65504 / 2**k]
        tops += [nextafter(65520 / 2**k, 0.0), -t04_4_random.randint(65521, 65535) / 2**k]
        tops.append(t04_4_random.randint(38000, 45000) / 2**k)
        call = f"[float(best_scale(Step(1.0, [np.array([x])]), FP16, 0)) for x in {tops!r}]"
        right = [t04_4_scale(x) for x in tops]
        traps = {
            at_largest: [2.0**k if abs(x) <= 65504 / 2**k else 2.0 ** (k - 1) for x in tops],
            at_power: [2.0**k] * len(tops),
        }
        check(call, right, edge, traps)
        top, free = t04_4_random.randint(490, 503) / 2**k, t04_4_random.randint(1, 5)
        call = f"[float(best_scale(Step(2.0, [np.array([{top!r}])]), f, {free})) "
        call += "for f in (E5M2, FP16, BF16)]"
        dtypes = (ml_dtypes.float8_e5m2, np.float16, ml_dtypes.bfloat16)
        right = [t04_4_scale(top, dtype) / 2**free for dtype in dtypes]
        check(call, right, any_format, {only_fp16: [t04_4_scale(top) / 2**free] * 3})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
How much room is between the two limits in our CNN, at the last recorded step? For each kind of
gradient: the smallest scale at which nothing is flushed, the largest at which nothing overflows,
and below them the exponents of the two for each layer or parameter.
"""

# %%
from ampcourse.dynamic_range import best_power_of_two_scale

# %% tags=["nbval-ignore-output"]
for kind in kinds:
    lows, highs = [], []
    for histogram in recorder.histograms(kind, recorder.steps[-1]).values():
        flushed = (range_report(histogram, "fp16", 2.0**k).flushed for k in range(60))
        lows.append(next(k for k, count in enumerate(flushed) if not count))
        highs.append(int(math.log2(best_power_of_two_scale(histogram))))
    print(f"{kind}: none flushed from 2^{max(lows)} on, none too large up to 2^{min(highs)}")
    spans = (f"{low}..{high}" for low, high in zip(lows, highs, strict=True))
    print("   ", *spans)

# %% [markdown]
r"""
One scale has to serve all layers and both kinds, and in our run this leaves a single power of two,
$2^{18}$, without a doubling to spare. So in practice one leaves some room above and lets a few of
the smallest gradients go.

And the loss? It says little about its gradients. Here 64 images, and copies of them, make larger
and larger batches. The mean loss stays what it is, and each gradient is divided by the larger
batch:
"""

# %% tags=["nbval-ignore-output"]
logits = cnn(images[:64]).detach()
for copies in (1, 8, 64):
    batch = logits.repeat(copies, 1).requires_grad_()
    loss = cross_entropy(batch, labels[:64].repeat(copies))
    (gradient,) = torch.autograd.grad(loss, batch)
    best = int(math.log2(best_power_of_two_scale(gradient)))
    print(f"batch {len(batch):4}: loss {loss:.3f}, best scale for its gradients 2^{best}")

# %% [markdown]
r"""
## Not every zero is a loss

Max pooling passes a gradient on to one of four inputs, and ReLU to none where it is off. These
zeros are right: no scale moves them, and nothing is lost with them. Of SSD's activation gradients
the paper counted 67 % at exactly 0 (quoted).

To tell the two kinds apart one needs a **twin**: the same gradient with nothing lost. An FP32
model will not do, since it rounds differently on the way forward, and here and there another pixel
wins in the pooling. So take the same FP16 model, with the same forward pass, and go backward
twice: without a scale, and with $2^{18}$, which is then divided out in FP32.
"""


# %%
def output_gradients(model, x, scale):
    """Return the gradient of each layer's output for one batch, unscaled in FP32."""
    outputs = []
    for layer in model:
        x = layer(x)
        x.retain_grad()
        outputs.append(x)
    loss = cross_entropy(x.float(), labels[: len(x)])
    (loss * scale).backward()
    return [output.grad.float() / scale for output in outputs]


# %%
from copy import deepcopy

half_cnn, batch = deepcopy(cnn).half(), images[:64].half()
without, twins = (output_gradients(half_cnn, batch, scale) for scale in (1.0, 2.0**18))

# %% tags=["nbval-ignore-output"]
print("gradient of the output of   true zeros   underflowed   of them above 2^-25")
for layer, half, twin in zip(cnn, without, twins, strict=True):
    lost = (half == 0) & (twin != 0)
    late = lost & (twin.abs() > 2**-25)
    true = (half == 0) & (twin == 0)
    name = type(layer).__name__
    print(f"{name:24} {true.float().mean():13.1%} {lost.sum():13} {late.sum():21}")

# %% [markdown]
r"""
Read it from the last row up, as the gradients flow. A row is the gradient of a layer's output, so
the zeros that a pooling makes are in the row above it, three in four of ReLU's.

The last column may surprise: gradients that are not small, and yet FP16 has 0. Their parts were
lost before, or lost digits. A convolution adds up each gradient from many products, and the CPU's
FP16 code rounds sums of a few of them to FP16 on the way (hardware that adds up in FP32 loses
less). Where each of these becomes 0, so does their sum, whatever it should have been. The size of a
gradient alone does not tell whether it underflowed.

### t04_5 · Tell true zeros from underflow

`half` is a float16 array, gradients from an FP16 backward pass without a scale; `single`, of the
same shape, is its twin: a float32 array of the same gradients with nothing lost. Return three
counts, `return true, underflowed, rescued`:

- `true`: zeros of `half` that are zeros in `single` as well;
- `underflowed`: zeros of `half` that are not;
- `rescued`: how many of the underflowed would not be 0 if `single` times `scale` were stored in
  FP16. `scale` is a power of two, and nothing overflows. (An ideal count: it takes the parts for
  granted and looks at the last rounding only.)
"""


# %% task="t04_5" forbids=["ampcourse.dynamic_range", "ampcourse.quantize", "torch"]
def sort_zeros(half, single, scale):
    """Return how many zeros were zeros before, how many underflowed, and how many are rescued."""
    ### BEGIN SOLUTION
    underflowed = (half == 0) & (single != 0)
    scaled = (single.astype(np.float64) * scale).astype(np.float16)
    true = (half == 0) & (single == 0)
    return int(true.sum()), int(underflowed.sum()), int((underflowed & (scaled != 0)).sum())
    ### END SOLUTION


# %% check="t04_5" points=4
with task("t04_5"):
    apart = "a zero in both is a true zero, one in FP16 alone has underflowed"
    on_the_way = "what FP16 lost on the way is 0 in `half`, however large it is in `single`"
    by_rounding = "rescued is what, scaled, is above half of 2^-24"
    underflow_only = "only what had underflowed can be rescued"
    all_under = "zeros are not all underflow: look at the twin"
    all_true = "a zero of FP16 is a true one only if it is 0 in FP32 too"
    from_single = "the size of the FP32 number does not tell: ask `half` what is 0"
    below_24 = "not all below 2^-24 is 0 in FP16: some rounds up, and is no zero of `half`"
    one_sign = "a negative gradient underflows and is rescued as well"
    whole_steps = "from just above 2^-25 the scaled number rounds up to 2^-24: it is rescued"
    tie = "what is 2^-25 when scaled is the tie, and goes to 0 again"
    too_late = "0 times the scale is 0: the scale comes in before the rounding, with `single`"
    survivors = "a gradient that was no zero of `half` had no need of a rescue"
    in_half = "only zeros of `half` count: elsewhere FP16 held something, whatever `single` says"
    of_single = "that counts zeros of `single` where `half` is not 0"
    difference = "count pair by pair: a difference of two totals mixes different places"
    normal_only = "rescued is what is not 0; a subnormal number is enough"
    call = """
        half = np.array([0, 0, 1, 0, 0], np.float16)
        single = np.array([0, -0.0, 1, 2**-30, 0], np.float32)
        return [int(n) for n in sort_zeros(half, single, 8.0)]
    """
    check(call, [3, 1, 0], apart, {all_under: [0, 4, 0], all_true: [4, 0, 0]})
    call = """
        half = np.array([0, 2**-24, 2**-24, 0], np.float16)
        single = np.array([2**-20, 1.25 * 2**-25, 1.5 * 2**-25, 0], np.float32)
        return [int(n) for n in sort_zeros(half, single, 8.0)]
    """
    check(call, [1, 1, 1], on_the_way, {from_single: [1, 0, 0], below_24: [1, 2, 2]})
    call = """
        single = [2**-26, 2**-28, 1.01 * 2**-28, -(2**-27), -1.5 * 2**-27, 2**-40, 0, 2**-16]
        half = np.zeros(8, np.float16)
        return [int(n) for n in sort_zeros(half, np.array(single, np.float32), 8.0)]
    """
    traps = {
        one_sign: [1, 7, 3],
        one_sign + ", in both counts": [1, 5, 3],
        tie: [1, 7, 6],
        whole_steps: [1, 7, 4],
        too_late: [1, 7, 0],
        normal_only: [1, 7, 1],
    }
    check(call, [1, 7, 5], by_rounding, traps)
    call = """
        half = np.zeros(4, np.float16)
        single = np.array([1.5 * 2**-28, 1.25 * 2**-28, 1.75 * 2**-28, 2**-27], np.float32)
        return [int(n) for n in sort_zeros(half, single, 8.0)]
    """
    check(call, [0, 4, 4], by_rounding, {whole_steps: [0, 4, 1]})
    call = """
        half = np.array([0, 0, 1, -2, 2**-24], np.float16)
        single = np.array([0, 2**-26, 1, -2, 2**-24], np.float32)
        return [int(n) for n in sort_zeros(half, single, 2.0**10)]
    """
    check(call, [1, 1, 1], underflow_only, {survivors: [1, 1, 4]})
    call = """
        half = np.array([2**-24, -(2**-24), 0, 0, 1], np.float16)
        single = np.array([0, 0, 2**-26, 0, 1], np.float32)
        return [int(n) for n in sort_zeros(half, single, 8.0)]
    """
    check(call, [1, 1, 1], in_half, {of_single: [3, 1, 1], difference: [1, -1, 1]})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t04_5_random = Random(405)

    def t04_5_half(xs):
        """Let torch round to FP16."""
        return torch.tensor(xs, dtype=torch.float64).half().double().tolist()

    def t04_5_counts(half, single, scale):
        """Count pair by pair; torch rounds the scaled numbers."""
        scaled = t04_5_half([scale * s for s in single])
        rows = list(zip(half, single, scaled, strict=True))
        true = sum(h == 0 and s == 0 for h, s, _ in rows)
        under = [(s, r) for h, s, r in rows if h == 0 and s != 0]
        return [true, len(under), sum(r != 0 for _, r in under)]

    def t04_5_check(single, scale, reason, traps, half=None):
        """Check one pair; traps that agree with the right counts or another name nothing."""
        half = t04_5_half(single) if half is None else half
        right = t04_5_counts(half, single, scale)
        traps = {
            hint: counts
            for hint, counts in traps.items()
            if counts != right and list(traps.values()).count(counts) == 1
        }
        arrays = f"np.array({half!r}, np.float16), np.array({single!r}, np.float32)"
        call = f"[int(n) for n in sort_zeros({arrays}, {scale!r})]"
        check(call, right, reason, traps)

    def t04_5_some(count, exponent):
        """Return numbers of one binade with six digits, of both signs."""
        signs = [t04_5_random.choice((-1, 1)) for _ in range(count)]
        return [s * t04_5_random.randint(33, 63) / 32 * 2.0**exponent for s in signs]

    for _ in range(3):
        zeros, lost = t04_5_random.randint(3, 7), t04_5_random.randint(1, 6)
        single = [0.0, -0.0] * zeros + t04_5_some(lost, -31) + t04_5_some(5, -10)
        t04_5_random.shuffle(single)
        every = 2 * zeros + lost
        traps = {all_under: [0, every, 0], all_true: [every, 0, 0]}
        t04_5_check(single, 4.0, apart, traps)
        late = t04_5_some(t04_5_random.randint(2, 5), -22)
        up = t04_5_some(t04_5_random.randint(6, 9), -25)
        half = [0.0] * len(late) + t04_5_half(up) + [0.0, 0.0]
        traps = {
            from_single: [2, 0, 0],
            below_24: [2, len(up), len(up)],
        }
        t04_5_check(late + up + [0.0, -0.0], 16.0, on_the_way, traps, half)
        k = t04_5_random.randint(3, 9)
        ties = [t04_5_random.choice((-1, 1)) * 2.0 ** (-25 - k) for _ in range(3)]
        back = [*t04_5_some(7, -24 - k), -(2.0 ** (-24 - k)), *t04_5_some(1, -13 - k)]
        gone = t04_5_some(4, -27 - k)
        single = [0.0, *ties, *back, *gone]
        positive = sum(x > 0 for x in back)
        count = len(single) - 1
        traps = {
            one_sign: [1, count, positive],
            one_sign + ", in both counts": [1, sum(x > 0 for x in single), positive],
            tie: [1, count, len(back) + 3],
            too_late: [1, count, 0],
            normal_only: [1, count, 1],
        }
        t04_5_check(single, 2.0**k, by_rounding, traps, [0.0] * len(single))
        up, whole = t04_5_some(5, -25 - k), t04_5_some(2, -24 - k)
        t04_5_check(up + whole, 2.0**k, by_rounding, {whole_steps: [0, 7, 2]}, [0.0] * 7)
        alive = t04_5_some(t04_5_random.randint(3, 8), -12)
        single = [0.0, *alive, *t04_5_some(2, -27), 2.0**-24]
        traps = {survivors: [1, 2, len(alive) + 3]}
        t04_5_check(single, 2.0**10, underflow_only, traps)
        odd, zeros, lost = (t04_5_random.randint(*ends) for ends in ((3, 6), (4, 7), (1, 2)))
        single = [0.0] * (odd + zeros) + t04_5_some(lost, -26)
        half = [2.0**-24] * odd + [0.0] * (zeros + lost)
        right = t04_5_counts(half, single, 8.0)
        traps = {
            of_single: [odd + zeros, lost, right[2]],
            difference: [zeros, lost - odd, right[2]],
        }
        t04_5_check(single, 8.0, in_half, traps, half)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## A quarter of the gradients?

One of the articles behind this course says of a ResNet50 on FashionMNIST that a quarter of its
gradients lies below $2^{-24}$. Here is torchvision's ResNet50 with one input channel, in FP32, and
the weight gradients of its first batch: with the images as they are, and enlarged to 96 × 96.
"""

# %%
from torch.nn.functional import interpolate
from torchvision.models import resnet50

from ampcourse.dynamic_range import model_report


# %%
def resnet_report(pixels):
    """Report on the weight gradients of a fresh ResNet50 for one batch of images."""
    torch.manual_seed(0)
    resnet = resnet50(num_classes=10)
    resnet.conv1 = torch.nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False)
    enlarged = interpolate(images[:16], size=(pixels, pixels), mode="bilinear")
    cross_entropy(resnet(enlarged), labels[:16]).backward()
    return model_report(resnet, "fp16")


# %% tags=["nbval-ignore-output"]
by_size = {pixels: resnet_report(pixels) for pixels in (28, 96)}
for pixels, report in by_size.items():
    share = report["all"].report.fractions
    print(f"{pixels} pixels: exactly 0 {share['zeros']:7.3%}, flushed {share['flushed']:.4%}")

# %%
sizes = {name: by_size[28][name].report.total for name in ("all", "layer4.2.conv2.weight")}
of_three = (5 + 8 + 8) / 9 * sizes["layer4.2.conv2.weight"]
print(f"zeros by counting pixels: {of_three / sizes['all']:.1%}")

# %% [markdown]
r"""
At 28 pixels nearly a quarter is below $2^{-24}$, and almost all of it is exactly 0, in FP32 too. It
is the size of the images, not FP16: halved five times, 28 pixels become one. A 3 × 3 convolution on
one pixel sees padding with eight of its nine weights, and their gradients are 0 at any scale. There
are two such layers; a third steps from 2 × 2 pixels to one and sees padding with five of nine. That
makes 23.4 %. At 96 pixels none of it is left.

Whether this is the article's quarter we cannot say. We do not know the size of its images, and by a
rough model of ours its training times fit 96 pixels, not 28. What is safe to say: a count of
$|g| < 2^{-24}$ that does not set true zeros apart says nothing about FP16.

## What is left of a gradient

Now follow one gradient $g$ all the way: multiplied by the scale, stored in FP16, converted to FP32
and divided by the scale. Does the scale change the update? Three gradients, four scales:
"""

# %%
for g in (0.1, 1.3 * 2**-20, 2**-27):
    for scale in (1.0, 8.0, 2.0**10, 2.0**20):
        with np.errstate(over="ignore"):
            stored = np.float16(g * scale)
        print(f"g = {g:11.6g}  scale 2^{int(math.log2(scale)):<2}  {float(stored) / scale:.6g}")

# %% [markdown]
r"""
### t04_6 · What the optimizer gets

Return the pair `value, kind` for a gradient $g$, a float that is not 0, and a scale that is a
power of two:

- `value`: the float that the optimizer gets: $g$ times the scale, stored in FP16 by one rounding,
  and then divided by the scale in FP32 or wider;
- `kind`: what FP16 held: `"zero"`, `"inf"` (of either sign), `"coarse"` for a subnormal number,
  which has fewer digits than others, even if none was lost, or `"full"` for a normal one.

The sign of a zero does not matter.

NumPy warns of an overflow unless you write `with np.errstate(over="ignore"):` around it; a warning
costs nothing.
"""


# %% tags=["setup"]
def pairs(results):
    """Return pairs of a value and a kind as a float and a text each; -0.0 becomes 0.0."""
    return [[float(value) + 0.0, str(kind)] for value, kind in results]


# %% task="t04_6" forbids=["ampcourse.dynamic_range", "torch", "torchvision"]
def received(g, scale):
    """Return what the optimizer gets of a gradient, and what FP16 made of it."""
    ### BEGIN SOLUTION
    with np.errstate(all="ignore"):
        stored = float(np.float16(g * scale))
    kinds = {0.0: "zero", math.inf: "inf"}
    ordinary = "full" if abs(stored) >= 2.0**-14 else "coarse"
    return stored / scale, kinds.get(abs(stored), ordinary)
    ### END SOLUTION


# %% check="t04_6" points=4
with task("t04_6"):
    same = "divided out again, the scale leaves no trace while the stored number is normal"
    lost = "only what is at most 2^-25 when scaled becomes 0, and 0 it stays"
    digits = "FP16 numbers below 2^-14 are subnormal and have fewer digits"
    top = "from 65520 on it is inf, and inf divided by the scale is inf"
    not_undone = "the scale must not reach the optimizer: divide by it at the end"
    unrounded = "FP16 keeps eleven significant bits: what the optimizer gets is rounded"
    half_unscale = "divided in FP16 it is 0 again: the division belongs into FP32"
    below_24 = "above 2^-25 it rounds up to 2^-24 and is no zero"
    before_rounding = "look at the stored number: what rounds up to 2^-14 is normal"
    before_scaling = "look at the stored number, not at the gradient before scaling"
    all_full = "a subnormal number has lost digits: it is coarse"
    too_early = "65505 is no overflow: below 65520 it rounds down to 65504"
    clipped = "FP16 does not stop at its largest number: from 65520 on it is inf"
    one_sign = "take the magnitude: a negative gradient is not small"
    by_float32 = "a float32 on the way rounds twice: just above 2^-25 becomes 2^-25, then 0"
    call = "pairs(received(g, s) for g in (0.1, -0.1) for s in (1.0, 2.0**10, 2.0**15))"
    kept = 0.0999755859375
    right = [[sign * kept, "full"] for sign in (1, -1) for _ in range(3)]
    t04_6_scales = (1.0, 2.0**10, 2.0**15)
    traps = {
        not_undone: [[sign * kept * s, "full"] for sign in (1, -1) for s in t04_6_scales],
        unrounded: [[sign * 0.1, "full"] for sign in (1, -1) for _ in range(3)],
        one_sign: [[kept, "full"]] * 3 + [[-kept, "coarse"]] * 3,
    }
    check(call, right, same, traps)
    call = "pairs(received(g, 1.0) for g in (2**-25, 1.5 * 2**-25, 2**-24))"
    right = [[0.0, "zero"], [2**-24, "coarse"], [2**-24, "coarse"]]
    check(call, right, lost, {below_24: [[0.0, "zero"], [0.0, "zero"], [2**-24, "coarse"]]})
    call = "pairs(received((1 + 2**-30) * 2**-k, 2.0 ** (k - 25)) for k in (25, 31))"
    traps = {by_float32: [[0.0, "zero"]] * 2}
    check(call, [[2**-24, "coarse"], [2**-30, "coarse"]], lost, traps)
    call = "pairs(received(2.0**-27, s) for s in (4.0, 8.0, 2.0**13))"
    right = [[0.0, "zero"], [2**-27, "coarse"], [2**-27, "full"]]
    traps = {
        half_unscale: [[0.0, "zero"], [0.0, "coarse"], [0.0, "full"]],
        before_scaling: [[0.0, "zero"], [2**-27, "zero"], [2**-27, "zero"]],
    }
    check(call, right, lost, traps)
    call = "pairs(received(g, 1.0) for g in ((1 - 2**-12) * 2**-14, 1.3 * 2**-20, 2**-14))"
    right = [[2**-14, "full"], [21 * 2**-24, "coarse"], [2**-14, "full"]]
    traps = {
        before_rounding: [[2**-14, "coarse"], *right[1:]],
        all_full: [right[0], [21 * 2**-24, "full"], right[2]],
    }
    check(call, right, digits, traps)
    call = "pairs(received(g, s) for g, s in ((65505.0, 1.0), (65520.0, 1.0), (-4.0, 2.0**14)))"
    right = [[65504.0, "full"], [inf, "inf"], [-inf, "inf"]]
    traps = {
        too_early: [[inf, "inf"], *right[1:]],
        clipped: [right[0], [65504.0, "full"], [-65504 * 2**-14, "full"]],
    }
    check(call, right, top, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t04_6_random = Random(406)

    def t04_6_stored(x):
        """Let torch round to FP16."""
        return torch.tensor(x, dtype=torch.float64).half().double().item()

    def t04_6_kind(x):
        magnitude = abs(x)
        if magnitude in (0.0, inf):
            return "inf" if magnitude else "zero"
        return "full" if magnitude >= torch.finfo(torch.float16).tiny else "coarse"

    def t04_6_right(cases):
        stored = [t04_6_stored(g * s) for g, s in cases]
        return [[x / s + 0.0, t04_6_kind(x)] for x, (_, s) in zip(stored, cases, strict=True)]

    def t04_6_check(cases, reason, traps):
        """Check cases; a trap says of (g, scale, right pair) what comes out instead."""
        right = t04_6_right(cases)
        rows = [(g, s, pair) for (g, s), pair in zip(cases, right, strict=True)]
        wrong = {hint: [rule(*row) for row in rows] for hint, rule in traps.items()}
        wrong = {hint: trap for hint, trap in wrong.items() if trap != right}
        check(f"pairs(received(g, s) for g, s in {cases!r})", right, reason, wrong)

    for _ in range(3):
        sign = t04_6_random.choice((-1, 1))
        g = sign * t04_6_random.uniform(0.02, 0.9)
        cases = [(x, 2.0**k) for x in (g, -g / 3) for k in (0, t04_6_random.randint(3, 12))]
        traps = {
            not_undone: lambda g, s, pair: [pair[0] * s, pair[1]],
            unrounded: lambda g, s, pair: [g, pair[1]],
            one_sign: lambda g, s, pair: [pair[0], "full" if g > 0 else "coarse"],
        }
        t04_6_check(cases, same, traps)
        k = t04_6_random.randint(0, 9)
        up = t04_6_random.uniform(1.01, 1.9) * 2.0 ** (-25 - k)
        cases = [(sign * 2.0 ** (-25 - k), 2.0**k), (-sign * up, 2.0**k), (2.0**-24, 1.0)]

        def t04_6_below(g, s, pair):
            return [0.0, "zero"] if abs(g * s) < 2.0**-24 else pair

        t04_6_check(cases, lost, {below_24: t04_6_below})
        # torch converts float64 by way of float32, so here the rule itself is the oracle.
        just = -sign * (1 + 2.0 ** -t04_6_random.randint(26, 40)) * 2.0 ** (-25 - k)
        right = [[-sign * 2.0 ** (-24 - k), "coarse"]]
        traps = {by_float32: [[0.0, "zero"]]}
        check(f"pairs([received({just!r}, {2.0**k!r})])", right, lost, traps)
        k = t04_6_random.randint(27, 34)
        cases = [(sign * 2.0**-k, 2.0**j) for j in (k - 25, k - 24, k - 14, k - 3)]
        traps = {
            half_unscale: lambda g, s, pair: [0.0, pair[1]],
            before_scaling: lambda g, s, pair: [pair[0], "zero"],
        }
        t04_6_check(cases, lost, traps)
        k = t04_6_random.randint(1, 8)
        cases = [(sign * (1 - 2.0**-12) * 2.0 ** (-14 - k), 2.0**k)]
        cases.append((sign * 1.5 * 2.0 ** (-14 - k), 2.0**k))
        cases += [(t04_6_random.uniform(1, 2) * 2.0**-j, 2.0**k) for j in (17 + k, 21 + k)]

        def t04_6_early(g, s, pair):
            return [pair[0], "coarse" if abs(g * s) < 2.0**-14 else "full"]

        traps = {before_rounding: t04_6_early, all_full: lambda g, s, pair: [pair[0], "full"]}
        t04_6_check(cases, digits, traps)
        k = t04_6_random.randint(1, 9)
        inside = t04_6_random.uniform(65504.5, 65519.5)
        cases = [(sign * inside / 2**k, 2.0**k), (sign * 65520.0 / 2**k, 2.0**k)]
        cases.append((-t04_6_random.uniform(1, 9), 2.0**17))

        def t04_6_soon(g, s, pair):
            return [inf if g > 0 else -inf, "inf"] if abs(g * s) > 65504 else pair

        def t04_6_clip(g, s, pair):
            most = 65504 / s
            return [most if g > 0 else -most, "full"] if pair[1] == "inf" else pair

        t04_6_check(cases, top, {too_early: t04_6_soon, clipped: t04_6_clip})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

First what came of your predictions:
"""

# %% tags=["nbval-ignore-output"]
weights = [row.report for row in recorder.table("weight_gradient")]
lost = sum(r.flushed for r in weights) / sum(r.total for r in weights)
zeros = by_size[28]["all"].report.fractions["zeros"]
print("becomes 0:     you said", my_smallest, "- it is 2**-25 and 2**-26")
print("CNN, flushed:  you said", my_lost, f"- it was {lost:.2%}")
print("ResNet50:      you said", my_zeros, f"- it was {zeros:.0%}")
print("best scale:    you said", my_scale, "- one cannot tell by the loss")

# %% [markdown]
r"""
- **"Below $2^{-24}$ is zero."** At most $2^{-25}$ is; the rest rounds up to $2^{-24}$ (t04_2).
- **"Subnormal is as good as lost."** It has fewer digits, but it is not 0 (t04_2, t04_6).
- **"65505 overflows."** From 65520 on (t04_3).
- **"The exponent is `log2`, cut off."** `log2` rounds, and cutting off goes the wrong way for
  negative exponents (t04_1).
- **"A large loss needs a large scale", or a small one.** The largest gradient decides (t04_4).
- **"Choose the scale by the mean."** The mean gradient fits when the largest has long
  overflowed (t04_4).
- **"Zeros are underflow."** In a network with ReLU most are true zeros (t04_5).
- **"What is large enough in FP32 survives in FP16."** Not if its parts were lost before (t04_5).
- **"The scale changes the update."** Not for a gradient that is stored as a normal number: it comes
  out the same at every scale that keeps it normal. What the scale changes is how many are (t04_6).

## Say it aloud

FP16 flushes what is at most half of $2^{-24}$ and loses to infinity what reaches 65520. From
$2^{-14}$ up it keeps all its digits, so a power of two moves gradients there without changing
them; below that, it brings digits back. The largest gradient says how far up one can go. Many zeros
are true ones, and only the same backward pass with nothing lost can tell.

## Where next

`05_loss_scaling` puts the scale to work in training and adds what it cannot do, FP32 master
weights. `06_grad_scaler` finds a scale that works while training goes on.
"""
