# %% [markdown]
r"""
# How does dynamic scaling decide?

A first training step on a CPU, in FP16, with a loss scale of $2^{24}$. `scaler.step(optimizer)`
raises nothing, returns nothing, prints nothing, and the weights are what they were. Two lines
later the scheduler warns that `optimizer.step()` has not been called, although it is plainly
there in the code.

That report is years old and still open
([pytorch#55585](https://github.com/pytorch/pytorch/issues/55585)), and the usual answer is to
ignore it. Better: build the scaler, about 40 lines of numpy, and see what it decides and what it
cannot. You need to know why one scales a loss (`05_loss_scaling`), but no GPU. The six tasks take
about 70 minutes; after the third is a good place for a break.

## Predict first

Nobody grades these; replace each `None` and run the cell.
"""

# %%
# FP16 gradients of -1.4; a first scale of 2^24, which halves at an inf
# and doubles after 3 good steps in a row:
my_skips = None  # how many of 14 steps are skipped?
# The loss is inf, but every gradient is finite:
my_loss = None  # is the step skipped? True or False
# Every gradient is NaN, step after step:
my_nan = None  # where does a scale of 2^16 end up?
# A checkpoint holds the scale:
my_resume = None  # what else of the scaler belongs in it?

# %% [markdown]
r"""
Here is the scene: PyTorch's own scaler, which doubles after 3 good steps in a row here instead of
2000. Each row below is one step: the scale and the learning rate it ran with, and what became of
the weights.
"""

# %%
import warnings
from textwrap import wrap

import torch

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
scaler = torch.amp.GradScaler("cpu", 2.0**24, growth_interval=3)


# %%
def train_once():
    with torch.autocast("cpu", dtype=torch.float16):
        loss = net(torch.ones(8, 4)).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    result = scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    return result


# %% tags=["nbval-ignore-output"]
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    stood = []
    for _ in range(14):
        before, scale = net.weight.detach().clone(), scaler.get_scale()
        rate = scheduler.get_last_lr()[0]
        result = train_once()
        stood.append(bool((net.weight == before).all()))
        moved = "as before" if stood[-1] else "moved"
        print(f"scale {scale:8.0f}  weights {moved:9}", end="  ")
        print(f"rate {rate:.5f}  step gave {result}")
print("\nwarned:", str(heard[0].message).split(". ")[0])

# %% [markdown]
r"""
The first steps were skipped on purpose: a gradient times $2^{24}$ was infinite in FP16, so the
scaler halved its scale and tried again, until it fitted. That is calibration, not a defect, and so
is the skip right after the scale has grown. The defect is in the last line but one of
`train_once`: the scheduler went on at every skipped step, and when the weights first moved, their
learning rate had been halved nine times. You will mend that in the last task.

## A state machine with two numbers

All that a dynamic scaler remembers from one step to the next are its **scale** and the **growth
tracker**. All that it learns from a step is one bit, **found_inf**: was any gradient inf or NaN?
Play with it:

1. Without any inf: when does the scale grow? What does the tracker do then?
2. Put an inf one step before the scale would grow. When does it grow now?
3. Put infs into three steps in a row. How long until the scale is back?
4. How do infs have to be spread so that the scale stays about where it is?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import scaler_scrubber

scaler_scrubber(growth_interval=5, steps=40, infs=[13])

# %% [markdown]
r"""
Why that way? Nobody knows the right scale, and it changes. Too small loses small gradients in
silence; too large gives an inf, which cannot be overlooked. So the scaler keeps to
the largest scale that does not overflow: it backs off at once when it hits the ceiling, and after
2000 good steps in a row it tries whether the ceiling has moved. A try that fails costs one step,
and that step's inf takes the growth back: with one inf after each growth the scale stays about
where it is.

### t06_1 · The rule

Return the pair `(scale, tracker)` after a step:

- if `found_inf`, the scale times `backoff_factor`, and the tracker starts again at 0;
- otherwise this is one good step more. With `growth_interval` good steps **in a row** the scale
  is multiplied by `growth_factor` and the tracker starts again at 0.

PyTorch keeps the scale as float32: the product is taken in double precision and rounded once.
It has no smallest scale, but a largest: where the grown scale would be inf in float32, the scale
stays, and the tracker starts again all the same. `fp32(x)` rounds to float32 and gives a Python
float. Return a Python float, too: a product with an `np.float32` is taken in float32, and the
factor is rounded before it.

Solutions use numpy: the grader refuses `torch` and `ampcourse.amp`, and does not know the names
that demonstrations import, such as `update` below.
"""

# %% tags=["setup"]
import ctypes
import math

import numpy as np

from ampcourse.courseware import check, inf, nan, task


def fp32(x):
    """Round to the nearest float32; too large numbers become inf."""
    return ctypes.c_float(x).value


def play(rule, infs, scale=2.0**16, tracker=0, **options):
    """Return the state after each step: "." a good one, "x" an inf."""
    states = []
    for mark in infs:
        scale, tracker = rule(scale, tracker, mark == "x", **options)
        states.append((float(scale), int(tracker)))
    return states


# %% task="t06_1" forbids=["torch", "ampcourse.amp"]
def next_state(
    scale,
    tracker,
    found_inf,
    growth_factor=2.0,
    backoff_factor=0.5,
    growth_interval=2000,
):
    """Return (scale, tracker) after a step."""
    ### BEGIN SOLUTION
    if found_inf:
        return fp32(scale * backoff_factor), 0
    if tracker + 1 < growth_interval:
        return scale, tracker + 1
    grown = fp32(scale * growth_factor)
    return (grown if grown < math.inf else scale), 0
    ### END SOLUTION


# %% check="t06_1" points=4
with task("t06_1"):
    backoff = "an inf: the scale times backoff_factor, at once and without a lower limit"
    growth = "the step that completes growth_interval grows the scale, and the count starts again"
    row = "only good steps in a row count: an inf sets the tracker back to 0"
    width = "the product is taken in double precision and rounded once to float32"
    top = "a scale never grows to inf: it stays, and the count starts again"
    floor = "this rule has no smallest scale: 1 is a scale like any other"
    half = "the factors and the interval are arguments: 2, 0.5 and 2000 are only their defaults"
    never = "an inf makes the scale smaller"
    traps = {floor: [(1.0, 0)] * 3, half: [(0.5, 0), (0.25, 0), (0.125, 0)]}
    traps |= {never: [(4.0, 0), (16.0, 0), (64.0, 0)]}
    check(
        'play(next_state, "xxx", scale=1.0, backoff_factor=0.25)',
        [(0.25, 0), (2**-4, 0), (2**-6, 0)],
        backoff,
        traps,
    )
    late = "growth comes with the interval's last good step, not with the one after it"
    stuck = "after growth the tracker starts again at 0"
    every = "the scale grows once in growth_interval good steps, not at each of them"
    traps = {late: [(8.0, 1), (8.0, 2), (32.0, 0), (32.0, 1), (32.0, 2)]}
    traps |= {stuck: [(8.0, 1), (32.0, 2), (128.0, 3), (512.0, 4), (2048.0, 5)]}
    traps |= {half: [(8.0, 1), (16.0, 0), (16.0, 1), (32.0, 0), (32.0, 1)]}
    traps |= {every: [(32.0, 0), (128.0, 0), (512.0, 0), (2048.0, 0), (8192.0, 0)]}
    call = 'play(next_state, ".....", scale=8.0, growth_factor=4.0, growth_interval=2)'
    check(call, [(8.0, 1), (32.0, 0), (32.0, 1), (128.0, 0), (128.0, 1)], growth, traps)
    kept = "good steps before an inf no longer count after it"
    all_steps = "a skipped step is no good step: it does not count towards growth"
    traps = {kept: [(8.0, 1), (8.0, 2), (4.0, 2), (8.0, 0), (8.0, 1), (8.0, 2)]}
    traps |= {all_steps: [(8.0, 1), (8.0, 2), (8.0, 0), (8.0, 1), (8.0, 2), (16.0, 0)]}
    right = [(8.0, 1), (8.0, 2), (4.0, 0), (4.0, 1), (4.0, 2), (8.0, 0)]
    check('play(next_state, "..x...", scale=8.0, growth_interval=3)', right, row, traps)
    double = "that scale is no float32: round the product"
    factors = "the factor itself is not rounded to float32, only the product is"
    growth_only = "growth_factor is a double: only the product is rounded"
    numpy_scale = "return a Python float: numpy rounds the factor to float32 for an np.float32"
    start = "scale=96.0, tracker=1, growth_factor=1.7, backoff_factor=0.3, growth_interval=2"
    call = f'[scale.hex() for scale, _ in play(next_state, ".x..", {start})]'

    def hexes(*digits):
        powers = (7, 5, 5, 6)
        return [f"0x1.{digit}p+{p}" for digit, p in zip(digits, powers, strict=True)]

    right = hexes("4666660000000", "87ae140000000", "87ae140000000", "4ced900000000")
    wrong = hexes("4666666666666", "87ae147ae147a", "87ae147ae147a", "4ced916872b01")
    traps = {double: wrong}
    wrong = hexes("4666680000000", "87ae180000000", "87ae180000000", "4ced960000000")
    traps |= {factors: wrong}
    wrong = hexes("4666680000000", "87ae160000000", "87ae160000000", "4ced940000000")
    traps |= {growth_only: wrong}
    wrong = hexes("4666660000000", "87ae160000000", "87ae160000000", "4ced940000000")
    traps |= {numpy_scale: wrong}
    check(call, right, width, traps)
    infinite = "with a scale of inf every later gradient is inf or NaN, for ever"
    largest = "where growth would overflow the scale stays, it does not become the largest float32"
    waits = "the count starts again even where the scale cannot grow"
    start = [(2.0**127, 0), (2.0**127, 1)]
    most = (2 - 2**-23) * 2.0**127
    traps = {infinite: [*start, (inf, 0)], largest: [*start, (most, 0)]}
    traps |= {waits: [*start, (2.0**127, 2)]}
    call = 'play(next_state, "...", scale=2.0**126, tracker=1, growth_interval=2)'
    check(call, [*start, (2.0**127, 0)], top, traps)
    power = "the limit is inf, not a power of two: 1.125 times 2^127 is a float32"
    call = 'play(next_state, "...", scale=1.5 * 2.0**126, growth_factor=1.5, growth_interval=1)'
    right = [(1.125 * 2.0**127, 0), (1.6875 * 2.0**127, 0), (1.6875 * 2.0**127, 0)]
    check(call, right, top, {power: [(1.5 * 2.0**126, 0)] * 3})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t06_1_random = Random(601)

    def t06_1_torch(infs, scale, tracker, growth_factor, backoff_factor, growth_interval):
        """Let the kernel behind torch.amp.GradScaler play a trace."""
        state = torch.tensor(scale), torch.tensor(tracker, dtype=torch.int32)
        options = growth_factor, backoff_factor, growth_interval
        states = []
        for mark in infs:
            torch._amp_update_scale_(*state, torch.tensor(float(mark == "x")), *options)
            states.append((state[0].item(), state[1].item()))
        return states

    def t06_1_check(infs, reason, scale=2.0**16, tracker=0, growth=2.0, backoff=0.5, interval=2000):
        """Check one trace against torch."""
        right = t06_1_torch(infs, scale, tracker, growth, backoff, interval)
        call = f"play(next_state, {infs!r}, {scale!r}, {tracker}, growth_factor={growth}, "
        call += f"backoff_factor={backoff}, growth_interval={interval})"
        check(call, right, reason)

    def t06_1_trace(steps, share):
        return "".join("x" if t06_1_random.random() < share else "." for _ in range(steps))

    for _ in range(3):
        power = 2.0 ** t06_1_random.randrange(-3, 20)
        few, many = t06_1_random.randrange(2, 9), t06_1_random.randrange(9, 30)
        t06_1_check("x" * many, backoff, power, 0, 2.0, t06_1_random.choice((0.5, 0.125)), few)
        t06_1_check("." * many, growth, power, 0, t06_1_random.choice((4.0, 8.0)), 0.5, few)
        t06_1_check("." * 40, growth, power, t06_1_random.randrange(few), 2.0, 0.5, few)
        t06_1_check(t06_1_trace(400, 0.1), row, power, 1, 2.0, 0.5, few)
        uneven = float(t06_1_random.randrange(3, 2000))
        options = t06_1_random.uniform(1.1, 3), t06_1_random.uniform(0.1, 0.9), few
        t06_1_check(t06_1_trace(60, 0.15), width, uneven, 0, *options)
        t06_1_check("." * 9 * few, top, 2.0**125, few - 1, 2.0, 0.5, few)
        t06_1_check("." * 9 * few, top, 3e38, few - 1, 1.0625, 0.5, few)
    t06_1_check(t06_1_trace(5000, 0.0005), row, 2.0**10, 1990)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
And with the real interval of 2000? Here is the library's rule (PyTorch's, bit for bit) under a
ceiling that comes down from $2^{15}$ to $2^{12}$ halfway, as when gradients grow. From a first
scale of $2^{16}$:
"""

# %%
from ampcourse.amp.loss_scale import LossScale, update

state, skipped = LossScale(2.0**16), []
for k in range(20_000):
    ceiling = 2.0**15 if k < 10_000 else 2.0**12
    if state.scale > ceiling:
        skipped.append(k)
    state = update(state, found_inf=state.scale > ceiling)

# %%
print(f"{len(skipped)} skipped, scale at the end {state.scale:.0f}:")
print(*skipped)

# %% [markdown]
r"""
The first skip is calibration. The three from step 10,000 on follow the ceiling, which fell by
$2^3$. Each of the others is a try that failed: 2000 good steps, one skip.

## One bit from all gradients

`found_inf` looks at **gradients**, element by element, and at nothing else. Not at the loss: a
sum can be infinite in FP16 while its gradients are all ones. PyTorch takes this step, and the
tracker counts it as a good one:
"""

# %% tags=["nbval-ignore-output"]
x = torch.tensor([60000.0, 60000.0], requires_grad=True)
sgd = torch.optim.SGD([x], lr=1.0)
small = torch.amp.GradScaler("cpu", init_scale=8.0)
loss = x.half().sum()
small.scale(loss).backward()
small.step(sgd)
small.update()
print("loss", loss.item(), " x", x.tolist())
print("tracker", small.state_dict()["_growth_tracker"])

# %% [markdown]
r"""
The scaled gradients are divided by the scale before the optimizer sees them, and they have to be
FP32 for that: in FP16 the division would flush again what the scale had rescued.

### t06_2 · unscale and found_inf

`gradients` is a list of float32 arrays, or None for a parameter without a gradient. Return the
pair `(unscaled, found_inf)`: a list with each gradient times the inverse scale, and whether any
element of any gradient is inf, -inf or NaN, **as it came**, before the multiplication.

Like PyTorch, multiply by the **inverse**: `1 / scale`, rounded once to float32. For a power of two
above $2^{-128}$ that is the same as a division, for other scales the last bit can differ. An
infinite element stays infinite, the finite ones beside it are unscaled as always, and None stays
None. A finite gradient is no overflow however large it is: float32 goes up to 3.4e38. (What
happens to 1e20 on the way into a norm?)
"""


# %% tags=["setup"]
def f32(*numbers):
    """Return numbers as a float32 array."""
    return np.array(numbers, np.float32)


# %% task="t06_2" forbids=["torch", "ampcourse.amp"]
def unscale(gradients, scale):
    """Return (unscaled gradients, found_inf); a gradient may be None."""
    ### BEGIN SOLUTION
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    return unscaled, found_inf
    ### END SOLUTION


# %% check="t06_2" points=4
with task("t06_2"):
    divide = "gradients are divided by the scale, in float32"
    inverse = "multiply by 1 / scale, rounded once to float32"
    kinds = "inf, -inf and NaN are all found, and nothing else is"
    places = "one inf in any of the gradients is enough"
    large = "a finite gradient is no overflow, however large"
    none = "None stays None in its place"
    stays = "an infinite element stays: unscaling repairs nothing"
    again = "the scale is to come off: divide by it"
    sixteen = "in FP16 the small ones are lost again and the large ones overflow"
    call = "[g.tolist() for g in unscale([f32(2.0**-6, -512.0), f32(2.0**-16)], 256.0)[0]]"
    traps = {again: [[4.0, -(2.0**17)], [2.0**-8]], sixteen: [[2.0**-14, -2.0], [0.0]]}
    check(call, [[2.0**-14, -2.0], [2.0**-24]], divide, traps)
    check("str(unscale([f32(3.0)], 8.0)[0][0].dtype)", "float32", divide)
    beside = "an inf ends nothing: the finite gradients beside it are unscaled all the same"
    call = "[g.tolist() for g in unscale([f32(16.0), f32(8.0, inf), f32(4.0)], 2.0)[0]]"
    traps = {beside: [[16.0], [8.0, inf], [4.0]]}
    check(call, [[8.0], [4.0, inf], [2.0]], divide, traps)
    call = "[g.tolist() for g in unscale([f32(2.0**-16)], 65536.0)[0]]"
    check(call, [[2.0**-32]], divide, {again: [[1.0]], sixteen: [[0.0]]})
    direct = "a division rounds differently: multiply by the inverse, as PyTorch does"
    call = "[x.hex() for x in unscale([f32(5.0, 7.0, 100.0)], 3.0)[0][0].tolist()]"
    right = ["0x1.aaaaac0000000p+0", "0x1.2aaaac0000000p+1", "0x1.0aaaac0000000p+5"]
    wrong = ["0x1.aaaaaa0000000p+0", "0x1.2aaaaa0000000p+1", "0x1.0aaaaa0000000p+5"]
    check(call, right, inverse, {direct: wrong})
    only_inf = "NaN is missed: it is not infinite, and it compares with nothing"
    only_nan = "infinities are missed: they are not NaN"
    plus = "only +inf is seen: think of -inf and NaN"
    call = "[bool(unscale([f32(2.0, x)], 8.0)[1]) for x in (inf, -inf, nan, -5.0)]"
    traps = {only_inf: [True, True, False, False], only_nan: [False, False, True, False]}
    traps |= {plus: [True, False, False, False]}
    check(call, [True, True, True, False], kinds, traps)
    last = "an inf is forgotten when a finite gradient follows"
    first = "the first gradient is not the only one"
    all_bad = "one gradient with an inf is enough, they need not all have one"
    call = """
        def one(bad, at):
            return [f32(bad if k == at else 1.0, 1.0) for k in range(3)]
        return [bool(unscale(one(bad, at), 8.0)[1]) for bad in (inf, nan) for at in range(3)]
    """
    traps = {last: 2 * [False, False, True], first: 2 * [True, False, False]}
    traps |= {all_bad: [False] * 6}
    check(call, [True] * 6, places, traps)
    norm = "a norm overflows where no gradient does: squares of 1e20 are infinite in float32"
    total = "a sum overflows where no gradient does: two times 3e38 is infinite in float32"
    limit = "these gradients are float32: FP16's limit of 65504 is not theirs"
    call = "[bool(unscale([f32(x, x)], 2.0)[1]) for x in (7e4, 1e20, 3e38)]"
    traps = {norm: [False, True, True], total: [False, False, True], limit: [True] * 3}
    check(call, [False] * 3, large, traps)
    after = "a scale below 1 enlarges gradients: look at them before they are unscaled"
    call = """
        with np.errstate(all="ignore"):
            return [bool(unscale([f32(x)], 0.25)[1]) for x in (3e38, -2e38, 1.0, inf)]
    """
    check(call, [False, False, False, True], large, {after: [True, True, False, True]})
    dropped = "a gradient of None keeps its place in the list"
    call = "[g if g is None else g.tolist() for g in unscale([None, f32(4.0), None], 2.0)[0]]"
    check(call, [None, [2.0], None], none, {dropped: [[2.0]]})
    cleaned = "an inf that was replaced by a number is an overflow that nobody hears of"
    call = "unscale([f32(inf)], 2.0)[0][0].tolist() + unscale([f32(nan)], 2.0)[0][0].tolist()"
    check(call, [inf, nan], stays, {cleaned: [0.0, 0.0]})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import numpy as np
    import torch

    t06_2_random = Random(602)

    def t06_2_torch(lists, scale):
        """Let torch's kernel unscale lists of numbers, and check them."""
        tensors = [torch.tensor(numbers, dtype=torch.float32) for numbers in lists]
        found, inverse = torch.zeros(1), torch.tensor(scale).double().reciprocal().float()
        torch._amp_foreach_non_finite_check_and_unscale_(tensors, found, inverse)
        return [tensor.tolist() for tensor in tensors], bool(found)

    def t06_2_lists(low=-30, high=20):
        """Return some lists of float32 numbers over a wide range."""
        power = 2.0 ** t06_2_random.randint(low, high)
        numbers = np.float32([t06_2_random.uniform(-1, 1) * power for _ in range(12)]).tolist()
        return [numbers[:5], [*numbers[5:6], -0.0], numbers[6:]]

    def t06_2_text(lists):
        return "[" + ", ".join(f"f32(*{numbers})" for numbers in lists) + "]"

    for _ in range(4):
        lists, scale = t06_2_lists(), 2.0 ** t06_2_random.randint(1, 24)
        call = f"[g.tolist() for g in unscale({t06_2_text(lists)}, {scale})[0]]"
        check(call, t06_2_torch(lists, scale)[0], divide)
        lists, scale = t06_2_lists(), float(t06_2_random.randrange(3, 5000) | 1)
        call = f"[g.tolist() for g in unscale({t06_2_text(lists)}, {scale})[0]]"
        check(call, t06_2_torch(lists, scale)[0], inverse)
        bad = t06_2_random.choice(("inf", "-inf", "nan"))
        tests, power = [t06_2_lists() for _ in range(8)], t06_2_random.randint(1, 24)
        for lists in tests[::2]:
            t06_2_random.choice(lists)[0] = float(bad)
        found = [t06_2_torch(lists, 4.0)[1] for lists in tests]
        text = ", ".join(map(t06_2_text, tests))
        lists = tests[0]
        call = f"[g.tolist() for g in unscale({t06_2_text(lists)}, {2.0**power})[0]]"
        check(call, t06_2_torch(lists, 2.0**power)[0], divide)
        for reason in (kinds, places):
            check(f"[bool(unscale(g, 4.0)[1]) for g in ({text})]", found, reason)
        where = [t06_2_random.randrange(6) for _ in range(5)]
        one_inf = "[f32(inf if k == at else 1.0) for k in range(6)]"
        call = f"[bool(unscale({one_inf}, 2.0)[1]) for at in {where}]"
        check(call, [True] * 5, places)
        huge = [[t06_2_random.choice((1, -1)) * t06_2_random.uniform(2e38, 3.4e38)] * 3, [1e19]]
        check(f"bool(unscale({t06_2_text(huge)}, 2.0)[1])", t06_2_torch(huge, 2.0)[1], large)
        power = -t06_2_random.randint(2, 20)
        call = f"with np.errstate(all='ignore'):\n    return bool(unscale({t06_2_text(huge)}, "
        check(call + f"{2.0**power})[1])\n", t06_2_torch(huge, 2.0**power)[1], large)
        medium = t06_2_lists(62, 110)
        check(f"bool(unscale({t06_2_text(medium)}, 2.0)[1])", t06_2_torch(medium, 2.0)[1], large)
        places_of_none = [t06_2_random.random() < 0.5 for _ in range(7)]
        some = f"[None if none else f32(1.0) for none in {places_of_none}]"
        call = f"[g is None for g in unscale({some}, 2.0)[0]]"
        check(call, places_of_none, none)
        check(f"bool(unscale([f32(1.0), None, f32({bad})], 2.0)[1])", True, none)
        line = [float(bad), -float(bad)]
        scale = t06_2_random.randrange(2, 99)
        check(f"unscale([f32(*{line})], {scale})[0][0].tolist()", line, stays)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## All or nothing

One infinite element in one of ResNet50's 161 gradients, and the step is skipped for **all**
parameters of that optimizer. But the gradients of a step belong together: half of an update is a
step in a direction that nobody computed. (Who gives one network two optimizers, Muon and AdamW
say, accepts just that.) And a skipped step is no step with a gradient of zero, since momentum and
weight decay would still move the weights.

### t06_3 · A step that skips

Unscale the gradients of an optimizer's parameters and write the unscaled ones back into `p.grad`,
also on a skip. Call `optimizer.step()` unless one was inf or NaN, and return found_inf. A skipped
step leaves no trace: neither in the values nor in the momentum. You may use your `unscale`.

`SGD` below has `parameters` and `step()`, and computes what PyTorch's SGD does.
"""


# %% tags=["setup"]
class Parameter:
    """A float32 array with its gradient, an array or None."""

    def __init__(self, *numbers):
        self.value, self.grad = f32(*numbers), None


class SGD:
    """Gradient descent with momentum on a list of parameters."""

    def __init__(self, parameters, lr=0.5, momentum=0.0):
        self.parameters = parameters
        self.lr, self.momentum = lr, momentum
        self.velocity = [np.zeros_like(p.value) for p in parameters]

    def step(self):
        """Move every parameter that has a gradient."""
        for k, p in enumerate(self.parameters):
            if p.grad is not None:
                velocity = self.momentum * self.velocity[k] + p.grad
                p.value = p.value - self.lr * velocity
                self.velocity[k] = velocity


# %% task="t06_3" forbids=["torch", "ampcourse.amp"]
def unscale_and_step(optimizer, scale):
    """Unscale, step unless there was an inf, and return found_inf."""
    ### BEGIN SOLUTION
    inverse, found_inf = np.float32(1 / scale), False
    for p in optimizer.parameters:
        if p.grad is not None:
            found_inf = found_inf or not np.isfinite(p.grad).all()
            p.grad = p.grad * inverse
    if not found_inf:
        optimizer.step()
    return found_inf
    ### END SOLUTION


# %% check="t06_3" points=4
with task("t06_3"):
    takes = "p.grad is divided by the scale, and without an inf the optimizer steps with it"
    skips = "one inf, and no parameter of the optimizer moves"
    traceless = "after a skipped step training goes on as if that step had never been"
    returns = "return found_inf: True for a skipped step"
    scaled = "the optimizer got gradients that were still scaled"
    forgot = "unscaled gradients belong in p.grad, where the optimizer looks for them"
    call = """
        a, b = Parameter(1.0), Parameter(2.0, 3.0)
        a.grad, b.grad = f32(8.0), f32(16.0, -8.0)
        unscale_and_step(SGD([a, b, Parameter(4.0)]), 8.0)
        return a.value.tolist(), b.value.tolist()
    """
    check(call, ([0.5], [1.0, 3.5]), takes, {scaled: ([-3.0], [-6.0, 7.0])})
    call = """
        a = Parameter(1.0)
        a.grad = f32(8.0)
        unscale_and_step(SGD([a]), 8.0)
        return a.grad.tolist()
    """
    check(call, [1.0], takes, {forgot: [8.0]})
    also = "write the unscaled gradients back, also on a skip"
    call = """
        seen = []
        for last in (-8.0, inf):
            a, b = Parameter(1.0), Parameter(2.0, 3.0)
            a.grad, b.grad = f32(8.0), f32(16.0, last)
            unscale_and_step(SGD([a, b]), 8.0)
            seen.append(a.grad.tolist() + b.grad.tolist())
        return seen
    """
    traps = {also: [[1.0, 2.0, -1.0], [8.0, 16.0, inf]]}
    check(call, [[1.0, 2.0, -1.0], [1.0, 2.0, inf]], takes, traps)
    others = "the other parameters moved: a step is taken for all or for none"
    elements = "the finite elements moved: a step is taken for all of them or for none"
    zeros = "a step with zeros is still a step: momentum moves the weights"
    taken = "the step was taken in spite of the inf"
    scene = """
        a, b = Parameter(1.0), Parameter(2.0, 3.0)
        optimizer, found = SGD([a, b], lr=0.5, momentum=0.5), []
        for last in {}:
            a.grad, b.grad = f32(8.0), f32(16.0, last)
            found.append(bool(unscale_and_step(optimizer, 8.0)))
        return {}
    """
    values = "a.value.tolist(), b.value.tolist()"
    traps = {others: ([-0.25], [1.0, 2.5]), elements: ([-0.25], [-0.5, 2.25])}
    traps |= {zeros: ([0.25], [0.5, 2.25]), taken: ([-0.25], [-0.5, -inf])}
    check(scene.format("(8.0, inf)", values), ([0.5], [1.0, 2.5]), skips, traps)
    restored = "the values were put back, but the momentum was not: do not call step() at all"
    traps = {restored: ([-0.375], [-0.75, -inf])}
    check(scene.format("(8.0, inf, 8.0)", values), ([-0.25], [-0.5, 1.75]), traceless, traps)
    turned = "found_inf is True where the step was skipped"
    traps = {turned: [True, False, True, False]}
    right = [False, True, False, True]
    check(scene.format("(8.0, -inf, 8.0, nan)", "found"), right, returns, traps)
    ### BEGIN HIDDEN TESTS
    import math
    from random import Random

    import torch

    t06_3_random = Random(603)

    def t06_3_torch(steps, scale, momentum):
        """Let torch's optimizer and scaler take these steps; return values, gradients, found."""
        a, b = (torch.nn.Parameter(torch.tensor(x)) for x in ([1.0, -2.0], [3.0]))
        optimizer = torch.optim.SGD([a, b], lr=0.5, momentum=momentum)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        scaler.scale(torch.ones(()))
        found = []
        for one, two in steps:
            a.grad, b.grad = torch.tensor(one), torch.tensor(two)
            scaler.step(optimizer)
            found.append(not torch.isfinite(torch.tensor(one + two)).all().item())
            scaler.update(new_scale=scale)
        numbers = {"values": (a.tolist(), b.tolist()), "found": found}
        return numbers | {"gradients": (a.grad.tolist(), b.grad.tolist())}

    def t06_3_call(steps, scale, momentum, part):
        """Return the text of the same steps, with what to give back."""
        parts = {"values": "a.value.tolist(), b.value.tolist()", "found": "found"}
        parts["gradients"] = "a.grad.tolist(), b.grad.tolist()"
        return f"""
            a, b, found = Parameter(1.0, -2.0), Parameter(3.0), []
            optimizer = SGD([a, b], lr=0.5, momentum={momentum})
            for one, two in {steps}:
                a.grad, b.grad = f32(*one), f32(*two)
                found.append(bool(unscale_and_step(optimizer, {scale})))
            return {parts[part]}
        """

    def t06_3_steps(count, share):
        """Return gradients for a number of steps, some with an inf or a NaN."""
        steps = []
        for _ in range(count):
            numbers = [t06_3_random.randrange(-64, 65) / 8 for _ in range(3)]
            if t06_3_random.random() < share:
                numbers[t06_3_random.randrange(3)] = t06_3_random.choice((math.inf, -math.inf))
            steps.append((numbers[:2], numbers[2:]))
        return steps

    for _ in range(3):
        power = 2.0 ** t06_3_random.randint(1, 6)
        for reason, share, momentum, part in (
            (takes, 0, 0.0, "values"),
            (takes, 1, 0.0, "gradients"),
            (skips, 0.4, 0.0, "values"),
            (traceless, 0.4, 0.5, "values"),
            (returns, 0.5, 0.5, "found"),
        ):
            steps = t06_3_steps(12, share)
            right = t06_3_torch(steps, power, momentum)[part]
            call = t06_3_call(steps, power, momentum, part)
            check(call, right, reason)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Several optimizers, one scale

A GAN has two optimizers, and people argue whether it needs two scalers: one project split its
scaler in two ([neosr#31](https://github.com/neosr-project/neosr/pull/31)), and a proposal to join
them again followed ([#50](https://github.com/neosr-project/neosr/pull/50)). One serves all:

- `scale(loss)` multiplies the loss;
- `unscale_(optimizer)` unscales that optimizer's gradients and notes its found_inf. One calls it
  to clip gradients, for instance, and `step` then neither unscales nor looks again;
- `step(optimizer)` unscales if that has not been done, and skips if an inf was noted for *this*
  optimizer, whatever became of it since;
- `update()` comes **once**, after all steps: it moves the scale by the rule, with an inf in any of
  the optimizers counting once, and forgets what was noted.

So within a step the scaler remembers which optimizers have been unscaled. Here is what happens in
PyTorch if `update()` comes too early, and wipes that out before `step`. The gradient is 1, the
learning rate is 1, so the weight should go from 1 to 0:
"""

# %% tags=["nbval-ignore-output"]
w = torch.nn.Parameter(torch.ones(1))
sgd = torch.optim.SGD([w], lr=1.0)
early = torch.amp.GradScaler("cpu", init_scale=8.0)
early.scale(w.sum()).backward()
early.unscale_(sgd)
early.update()
early.step(sgd)
print("gradient", w.grad.item(), " weight", w.item())

# %% [markdown]
r"""
Divided by 8 twice, an update eight times too small (with a scale of 65536, 65536 times), and not a
word. Other mistakes are told, and you can now read what PyTorch says. These send people searching
([Swin-Transformer#311](https://github.com/microsoft/Swin-Transformer/issues/311),
[accelerate#328](https://github.com/huggingface/accelerate/issues/328),
[LLaVA#363](https://github.com/haotian-liu/LLaVA/issues/363)):
"""


# %%
def provoke(what, *methods, kind=torch.float32, gradient=True):
    w = torch.nn.Parameter(torch.ones(1, dtype=kind))
    used = w if gradient else torch.ones(1, requires_grad=True)
    sgd = torch.optim.SGD([w], lr=1.0)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(used.sum()).backward()
    try:
        for method in methods:
            getattr(scaler, method)(*[sgd] * (method != "update"))
    except (RuntimeError, ValueError, AssertionError) as error:
        told = wrap(f"{type(error).__name__}: {error}", 66)
        print(what, *told, sep="\n    ")


# %% tags=["nbval-ignore-output"]
provoke("in every micro-step:", "unscale_", "unscale_")
provoke("clipping after the step:", "step", "unscale_")

# %% tags=["nbval-ignore-output"]
provoke("weights made FP16 with .half():", "step", kind=torch.float16)
provoke("no gradient in any parameter:", "step", gradient=False)
provoke("two calls of update():", "step", "update", "update")

# %% [markdown]
r"""
That is:

- In an accumulation, unscale once, after the last micro-step; all micro-steps share one scale.
- Clip between `unscale_` and `step`, or the limit applies to scaled gradients.
- Keep the weights FP32 and leave FP16 to autocast.
- "No inf checks" means that no gradient was checked: the optimizer holds other parameters than
  those that were trained, `zero_grad()` came before `step`, or `update` before both `unscale_`
  and `step`.

### t06_4 · Scale, unscale, step, update

Write the four methods. The attributes are those of `ScalerState`; keep `loss_scale` and `tracker`
up to date, and use `found` as you like. Factors and interval are the constructor's. `unscale_`
raises RuntimeError for an optimizer that has been unscaled since the last `update()`, by
`unscale_` or by `step`. Rule and unscaling are those of t06_1 and t06_2: call your own functions,
or write them out. The optimizers are those of t06_3.
"""


# %% tags=["setup"]
class ScalerState:
    """A scaler's state, options, and what was found since update()."""

    def __init__(
        self,
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
    ):
        self.loss_scale, self.tracker = init_scale, 0
        self.growth_factor = growth_factor
        self.backoff_factor = backoff_factor
        self.growth_interval = growth_interval
        self.found = {}  # optimizer: found_inf


# %% task="t06_4" forbids=["torch", "ampcourse.amp"]
class Scaler(ScalerState):
    """A dynamic loss scale for any number of optimizers."""

    def scale(self, loss):
        """Return the loss times the scale."""
        ### BEGIN SOLUTION
        return loss * self.loss_scale
        ### END SOLUTION

    def unscale_(self, optimizer):
        """Unscale the optimizer's gradients and note its found_inf."""
        ### BEGIN SOLUTION
        if optimizer in self.found:
            raise RuntimeError("unscale_() has already been called since the last update()")
        inverse, self.found[optimizer] = np.float32(1 / self.loss_scale), False
        for p in optimizer.parameters:
            if p.grad is not None:
                self.found[optimizer] |= not np.isfinite(p.grad).all()
                p.grad = p.grad * inverse
        ### END SOLUTION

    def step(self, optimizer):
        """Step the optimizer unless an inf was noted for it."""
        ### BEGIN SOLUTION
        if optimizer not in self.found:
            self.unscale_(optimizer)
        if not self.found[optimizer]:
            optimizer.step()
        ### END SOLUTION

    def update(self):
        """Move the scale by the rule and forget what was found."""
        ### BEGIN SOLUTION
        found_inf, self.found = any(self.found.values()), {}
        self.tracker = 0 if found_inf else self.tracker + 1
        if found_inf:
            self.loss_scale = fp32(self.loss_scale * self.backoff_factor)
        elif self.tracker == self.growth_interval:
            grown = fp32(self.loss_scale * self.growth_factor)
            self.loss_scale = grown if grown < math.inf else self.loss_scale
            self.tracker = 0
        ### END SOLUTION


# %% check="t06_4" points=6
with task("t06_4"):
    once = "gradients are divided once: step() does so only if unscale_() has not"
    own = "an optimizer skips for an inf in its own gradients, not for one in another's"
    shared = "update() moves the scale once, and an inf in any of the optimizers counts"
    forgets = "after update() nothing is left of the inf before"
    gradients = "found_inf is about gradients: the loss itself is not looked at"
    twice = "gradients are unscaled once between two calls of update(): more is an error"
    product = "scale(loss) is the loss times the present scale"
    exact = "the rule of t06_1 and the inverse of t06_2 hold here to the last bit"
    check("float(Scaler(8.0).scale(0.375))", 3.0, product)
    divided = "the gradients were divided twice"
    never = "the gradients were not divided"
    scene = """
        p = Parameter(2.0)
        scaler, optimizer = Scaler(8.0), SGD([p])
        p.grad = f32(8.0)
        {}
        scaler.step(optimizer)
        return p.value.tolist()
    """
    check(scene.format(""), [1.5], once, {never: [-2.0], divided: [1.9375]})
    check(
        scene.format("scaler.unscale_(optimizer)"), [1.5], once, {never: [-2.0], divided: [1.9375]}
    )
    clipped = "what happens to p.grad between unscale_ and step, such as clipping, has to count"
    change = "scaler.unscale_(optimizer)\n        p.grad = p.grad * np.float32(0.5)"
    check(scene.format(change), [1.75], once, {clipped: [1.5], divided: [1.96875]})
    pair = """
        p, q = Parameter(1.0), Parameter(1.0)
        a, b = SGD([p]), SGD([q])
        scaler = Scaler(8.0, growth_interval=3)
        for one, two in {}:
            p.grad, q.grad = f32(one * scaler.loss_scale), f32(two * scaler.loss_scale)
            scaler.step(a)
            scaler.step(b)
            scaler.update()
        return {}
    """
    values, state = (
        "p.value.tolist() + q.value.tolist()",
        "float(scaler.loss_scale), int(scaler.tracker)",
    )
    together = "the optimizer without an inf may step"
    skips_nothing = "the optimizer with the inf may not step"
    traps = {together: [1.0, 1.0], skips_nothing: [-inf, 0.5]}
    check(pair.format("[(inf, 1.0)]", values), [1.0, 0.5], own, traps)
    noted = "an inf that unscale_() has found skips the step as well: step() has to look at it"
    call = """
        values = []
        for early in (False, True):
            p, scaler = Parameter(2.0), Scaler(8.0)
            optimizer, p.grad = SGD([p]), f32(inf)
            if early:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            values += p.value.tolist()
        return values
    """
    check(call, [2.0, 2.0], own, {noted: [2.0, -inf]})
    repaired = "an inf that was noted stays noted, even if p.grad has been repaired since"
    mended = """
        p, scaler = Parameter(1.0), Scaler({scale})
        optimizer, p.grad = SGD([p]), f32({bad})
        scaler.unscale_(optimizer)
        p.grad = f32(1.0)
        scaler.step(optimizer)
        scaler.update()
        return float(p.value[0]), float(scaler.loss_scale)
    """
    check(mended.format(scale=8.0, bad="inf"), (1.0, 4.0), own, {repaired: (0.5, 8.0)})
    only_last = "the inf of the first optimizer counts as well as that of the last"
    per_step = "the scale moves in update(), once, not in every step()"
    both = "one inf is enough, not every optimizer needs one"
    traps = {only_last: (8.0, 1), per_step: (4.0, 1)}
    check(pair.format("[(inf, 1.0)]", state), (4.0, 0), shared, traps)
    per_inf = "two infs in one iteration back the scale off once"
    check(pair.format("[(inf, nan)]", state), (4.0, 0), shared, {per_inf: (2.0, 0)})
    per_optimizer = "an iteration is one good step, however many optimizers there are"
    check(pair.format("[(1.0, 1.0)]", state), (8.0, 1), shared, {per_optimizer: (8.0, 2)})
    first_only = "the inf of the second optimizer counts, too"
    check(pair.format("[(1.0, -inf)]", state), (4.0, 0), shared, {first_only: (8.0, 1)})
    settings = "update() takes its options from the constructor"
    call = """
        p, scaler, states = Parameter(1.0), Scaler(8.0, 4.0, 0.25, 2), []
        optimizer = SGD([p])
        for g in (1.0, 1.0, inf, 1.0):
            p.grad = f32(g)
            scaler.step(optimizer)
            scaler.update()
            states.append((float(scaler.loss_scale), int(scaler.tracker)))
        return states
    """
    traps = {settings: [(8.0, 1), (8.0, 2), (4.0, 0), (4.0, 1)]}
    check(call, [(8.0, 1), (32.0, 0), (8.0, 0), (8.0, 1)], shared, traps)
    double = "the scale is a float32: round each product, as in t06_1"
    infinite = "a scale that would grow to inf stays, as in t06_1"
    direct = "multiply by the inverse, as in t06_2: a division rounds differently"
    grow = """
        p, scaler, scales = Parameter(1.0), Scaler(*{options}), []
        optimizer = SGD([p])
        for g in {gradients}:
            p.grad = f32(g)
            scaler.step(optimizer)
            scaler.update()
            scales.append(float(scaler.loss_scale).hex())
        return scales
    """
    text = grow.format(options=(96.0, 1.7, 0.3, 1), gradients="(1.0, inf)")
    right = ["0x1.4666660000000p+7", "0x1.87ae140000000p+5"]
    check(text, right, exact, {double: ["0x1.4666666666666p+7", "0x1.87ae147ae147ap+5"]})
    text = grow.format(options=(2.0**126, 2.0, 0.5, 1), gradients="(1.0, 1.0)")
    top = "0x1.0000000000000p+127"
    check(text, [top, top], exact, {infinite: [top, "inf"]})
    call = """
        p = Parameter(0.0, 0.0, 0.0)
        p.grad = f32(5.0, 7.0, 100.0)
        Scaler(3.0).step(SGD([p], lr=1.0))
        return [x.hex() for x in p.value.tolist()]
    """
    right = ["-0x1.aaaaac0000000p+0", "-0x1.2aaaac0000000p+1", "-0x1.0aaaac0000000p+5"]
    wrong = ["-0x1.aaaaaa0000000p+0", "-0x1.2aaaaa0000000p+1", "-0x1.0aaaaa0000000p+5"]
    check(call, right, exact, {direct: wrong})
    sticks = "the inf of an earlier iteration is still remembered"
    traps = {sticks: [1.0, 1.0]}
    check(pair.format("[(inf, inf), (1.0, 1.0)]", values), [0.5, 0.5], forgets, traps)
    loss_seen = "an infinite loss is no reason: its gradients were finite"
    loss_only = "a finite loss is no proof: its gradient was infinite"
    scene = """
        seen = []
        for loss, gradient in {}:
            p = Parameter(1.0)
            scaler, optimizer = Scaler(8.0), SGD([p])
            scaler.scale(loss)
            p.grad = f32(gradient)
            scaler.step(optimizer)
            scaler.update()
            seen.append((float(p.value[0]), float(scaler.loss_scale), int(scaler.tracker)))
        return seen
    """
    moved, held = (0.5, 8.0, 1), (1.0, 4.0, 0)
    traps = {loss_seen: [held, held], loss_only: [held, (-inf, 8.0, 1)]}
    check(scene.format("[(inf, 8.0), (2.0, inf)]"), [moved, held], gradients, traps)
    again = """
        p, scaler = Parameter(1.0), Scaler(8.0)
        optimizer = SGD([p])
        for _ in range(3):
            p.grad = f32(1.0)
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        try:
            {}
        except RuntimeError:
            return "RuntimeError"
        return "no error"
    """
    unscales = "scaler.unscale_(optimizer)"
    harmless = "the gradients would be divided twice: raise RuntimeError"
    check(again.format(f"{unscales}; {unscales}"), "RuntimeError", twice, {harmless: "no error"})
    stepped = "step() has unscaled the gradients already: raise RuntimeError"
    after_step = f"scaler.step(optimizer); {unscales}"
    check(again.format(after_step), "RuntimeError", twice, {stepped: "no error"})
    check(again.format(unscales), "no error", twice)
    ### BEGIN HIDDEN TESTS
    import numpy as np
    import torch

    t06_4_loop = """
        rng, seen = np.random.default_rng({seed}), []
        for _ in range({steps}):
            for optimizer in (a, b):
                for p in parameters(optimizer):
                    g = (rng.integers(-8, 9, size(p)) * read(scaler)[0]).astype(np.float32)
                    if rng.random() < {share}:
                        g[0] = rng.choice([np.inf, -np.inf, np.nan])
                    put(p, g)
                if rng.random() < {early}:
                    scaler.unscale_(optimizer)
            for optimizer in (a, b):
                scaler.step(optimizer)
            scaler.update()
            seen.append(read(scaler))
    """
    t06_4_numpy = """
        def parameters(optimizer):
            return optimizer.parameters
        def size(p):
            return p.value.shape
        def read(scaler):
            return float(scaler.loss_scale), int(scaler.tracker)
        def put(p, g):
            p.grad = g
        a = SGD([Parameter(1.0, 2.0), Parameter(3.0)], lr=0.25, momentum=0.5)
        b, scaler = SGD([Parameter(4.0)], lr=0.5), Scaler(*{options})
    """

    def t06_4_torch(loop, options):
        """Run the same loop with torch's optimizers and scaler."""

        def make(*numbers):
            return torch.nn.Parameter(torch.tensor(numbers))

        def read(scaler):
            state = scaler.state_dict()
            return state["scale"], state["_growth_tracker"]

        def put(p, g):
            p.grad = torch.from_numpy(g)

        a = torch.optim.SGD([make(1.0, 2.0), make(3.0)], lr=0.25, momentum=0.5)
        b = torch.optim.SGD([make(4.0)], lr=0.5)
        scaler = torch.amp.GradScaler("cpu", *options)
        scaler.scale(torch.ones(()))
        names = {"np": np, "a": a, "b": b, "scaler": scaler, "read": read, "put": put}
        names |= {"parameters": lambda o: o.param_groups[0]["params"], "size": lambda p: p.shape}
        exec(loop, names)
        return names["seen"], [p.tolist() for o in (a, b) for p in o.param_groups[0]["params"]]

    from textwrap import dedent

    def t06_4_check(reason, part, seed, steps, share, early, options):
        """Check one random trace against torch."""
        loop = dedent(t06_4_loop.format(seed=seed, steps=steps, share=share, early=early))
        right = t06_4_torch(loop, options)
        call = dedent(t06_4_numpy.format(options=options)) + loop
        values = "[p.value.tolist() for o in (a, b) for p in o.parameters]"
        call += f"return {('seen', values)[part]}\n"
        check(call, right[part], reason)

    for seed in range(640, 643):
        check(f"float(Scaler({seed}.0).scale({seed / 256}))", seed**2 / 256, product)
        t06_4_check(once, 1, seed, 20, 0.0, 0.5, (2.0**seed / 2.0**638, 2.0, 0.5, 7))
        t06_4_check(own, 1, seed, 40, 0.3, 0.0, (1024.0, 2.0, 0.5, 3))
        t06_4_check(own, 1, seed, 40, 0.3, 0.5, (1024.0, 2.0, 0.5, 3))
        t06_4_check(shared, 0, seed, 300, 0.05, 0.5, (1024.0, 4.0, 0.5, 9))
        t06_4_check(exact, 0, seed, 300, 0.05, 0.5, (1000.0, 1.9, 0.6, 9))
        t06_4_check(exact, 1, seed, 30, 0.05, 0.5, (seed + 0.5, 1.7, 0.3, 4))
        t06_4_check(forgets, 1, seed, 60, 0.2, 0.5, (256.0, 4.0, 0.25, 5))
    t06_4_check(shared, 0, 649, 2500, 0.02, 0.5, (65536.0, 2.0, 0.5, 11))

    def t06_4_growth(options, steps):
        """Return the scales of torch's scaler over good steps."""
        w, scales = torch.nn.Parameter(torch.ones(1)), []
        sgd, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu", *options)
        scaler.scale(torch.ones(()))
        for _ in range(steps):
            w.grad = torch.ones(1)
            scaler.step(sgd)
            scaler.update()
            scales.append(scaler.get_scale().hex())
        return scales

    for options in ((2.0**120, 16.0, 0.5, 1), (2.0**125, 4.0, 0.5, 2), (3e38, 1.0625, 0.5, 1)):
        text = grow.format(options=options, gradients=[1.0] * 8)
        check(text, t06_4_growth(options, 8), exact)
    for scale, bad in ((2.0, "nan"), (1024.0, "-inf"), (64.0, "inf")):
        check(mended.format(scale=scale, bad=bad), (1.0, scale / 2), own)
    for k in range(3):
        loss = ("nan", "-inf", "inf")[k]
        call = scene.format(f"[({loss}, {2.0**k}), ({k}.5, {loss})]")
        check(call, [(1 - 2.0**k / 16, 8.0, 1), held], gradients)
    for scale in (2.0, 64.0):
        text = again.replace("8.0", f"{scale}").replace("range(3)", "range(5)")
        check(text.format(f"{unscales}; {unscales}"), "RuntimeError", twice)
        check(text.format(after_step), "RuntimeError", twice)
        check(text.format(unscales), "no error", twice)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What a checkpoint must hold

Somebody resumed a training, and gradients overflowed that had not in the first run: that had
scaled by 256 there, the resumed one by 65536 again
([transformers#34053](https://github.com/huggingface/transformers/issues/34053)). Suppose a
training has settled at 1024, and gradients overflow above that. It is resumed with a tracker of
1500, and goes on for 2000 steps:
"""


# %%
def resumed(state, steps=2000, ceiling=1024.0):
    skipped = 0
    for _ in range(steps):
        skipped += state.scale > ceiling
        state = update(state, found_inf=state.scale > ceiling)
    scale, tracker = state.scale, state.growth_tracker
    return f"{skipped} skipped, scale {scale:.0f}, tracker {tracker}"


# %%
print("everything restored:", resumed(LossScale(1024.0, 1500)))
print("tracker forgotten:  ", resumed(LossScale(1024.0, 0)))
print("scaler forgotten:   ", resumed(LossScale(65536.0, 0)))

# %% [markdown]
r"""
Without the tracker, "0 skipped" looks better than 1, but the skip merely comes one step after
these 2000. Nothing breaks, but from the next growth on the scales differ from those of an
uninterrupted run. As long as the same steps are skipped, the weights can agree to the last bit;
one other skip is a whole update lost, and all of them differ.

### t06_5 · state_dict and resume

Return the state of a scaler (yours, or any other `ScalerState`) as a dictionary with PyTorch's
five names, and load such a dictionary, without changing it, into another scaler, whatever that was
made with. A state is taken between two steps, so `found` does not belong to it.

The names: `"scale"`, `"growth_factor"`, `"backoff_factor"`, `"growth_interval"`, and, with a
leading underscore, `"_growth_tracker"`.
"""


# %% task="t06_5" forbids=["torch", "ampcourse.amp"]
def state_dict(scaler):
    """Return everything a resumed training needs of a scaler."""
    ### BEGIN SOLUTION
    return {
        "scale": scaler.loss_scale,
        "growth_factor": scaler.growth_factor,
        "backoff_factor": scaler.backoff_factor,
        "growth_interval": scaler.growth_interval,
        "_growth_tracker": scaler.tracker,
    }
    ### END SOLUTION


def load_state_dict(scaler, state):
    """Let a scaler go on from a state."""
    ### BEGIN SOLUTION
    scaler.loss_scale, scaler.tracker = state["scale"], state["_growth_tracker"]
    scaler.growth_factor = state["growth_factor"]
    scaler.backoff_factor = state["backoff_factor"]
    scaler.growth_interval = state["growth_interval"]
    ### END SOLUTION


# %% check="t06_5" points=4
with task("t06_5"):
    saved = "five entries, under PyTorch's names"
    loaded = "everything that is saved is loaded, over what the scaler was made with"
    resume = "through a file and into another scaler, the state stays the same, bit for bit"
    names = ["_growth_tracker", "backoff_factor", "growth_factor", "growth_interval", "scale"]
    call = """
        scaler = ScalerState(96.0, 3.0, 0.25, 7)
        scaler.tracker = 5
        return {name: float(entry) for name, entry in state_dict(scaler).items()}
    """
    right = dict(zip(names, (5.0, 0.25, 3.0, 7.0, 96.0), strict=True))
    no_tracker = "the growth tracker is missing: it is half of the state"
    config = "that is how the scaler was made: the scale and the tracker have moved since"
    power = "a scale need not be a power of two: save the scale itself"
    without = {name: right[name] for name in names[1:]}
    traps = {no_tracker: without, power: right | {"scale": 64.0}}
    traps |= {"the tracker is saved as it is, not as 0": right | {"_growth_tracker": 0.0}}
    check(call, right, saved, traps)
    call = """
        scaler = ScalerState(8.0, growth_interval=9)
        scaler.tracker = 2
        load_state_dict(scaler, {})
        numbers = scaler.loss_scale, scaler.tracker, scaler.growth_factor
        return [float(x) for x in (*numbers, scaler.backoff_factor, scaler.growth_interval)]
    """
    fresh = "the tracker of the state belongs in the scaler, too"
    zero = "the count goes on where it was: it does not start again at 0"
    options = "factors and interval come from the state, not from the new scaler"
    traps = {fresh: [96.0, 2.0, 3.0, 0.25, 7.0], zero: [96.0, 0.0, 3.0, 0.25, 7.0]}
    first = "the resumed scaler starts from its own first scale, not from the saved one"
    traps |= {options: [96.0, 5.0, 2.0, 0.5, 9.0], first: [8.0, 5.0, 3.0, 0.25, 7.0]}
    state = right | {"_growth_tracker": 5, "growth_interval": 7}
    check(call.format(state), [96.0, 5.0, 3.0, 0.25, 7.0], loaded, traps)
    emptied = "loading only reads: the dictionary may be loaded again, or into a second scaler"
    kept = """
        state = {}
        load_state_dict(ScalerState(), state)
        return {{name: float(entry) for name, entry in state.items()}}
    """
    check(kept.format(state), right, loaded, {emptied: {}})
    story = """
        import json
        one, two = ScalerState(*{options}), ScalerState(4.0, 8.0, 0.25, 3)
        one.tracker = {tracker}
        text = json.dumps(state_dict(one))
        one.loss_scale, one.tracker = 1.0, 0  # training goes on after the checkpoint
        load_state_dict(two, json.loads(text))
        return {{name: float(entry) for name, entry in state_dict(two).items()}}
    """
    right = dict(zip(names, (11.0, 0.75, 1.5, 12.0, 0.1875), strict=True))
    call_again = story.format(options=(0.1875, 1.5, 0.75, 12), tracker=11)
    check(call_again, right, resume)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t06_5_random = Random(605)

    def t06_5_step(scaler, found_inf):
        """Let torch's scaler go through one step."""
        p = torch.nn.Parameter(torch.ones(1))
        scaler.scale(p.sum()).backward()
        if found_inf:
            p.grad.fill_(math.nan)
        scaler.step(torch.optim.SGD([p], lr=0.5))
        scaler.update()
        return scaler.state_dict()["scale"], scaler.state_dict()["_growth_tracker"]

    import math

    for _ in range(5):
        interval = t06_5_random.randrange(4, 12)
        options = (t06_5_random.randrange(3, 5000) * 1.0, t06_5_random.randrange(5, 20) / 4)
        options += (t06_5_random.randrange(1, 8) / 8, interval)
        marks = "".join(t06_5_random.choice(".......x") for _ in range(150))
        before = marks + "x" + "." * t06_5_random.randrange(2, interval - 1)
        one = torch.amp.GradScaler("cpu", *options)
        for mark in before:
            t06_5_step(one, mark == "x")
        state = one.state_dict()
        right = {name: float(entry) for name, entry in state.items()}
        start = (state["scale"], *options[1:])
        check(story.format(options=start, tracker=state["_growth_tracker"]), right, resume)
        numbers = [float(state[n]) for n in ("scale", "_growth_tracker", "growth_factor")]
        numbers += [float(state[n]) for n in ("backoff_factor", "growth_interval")]
        check(call.format(state), numbers, loaded)
        check(kept.format(state), right, loaded)
        text = f"""
            scaler = ScalerState(*{start})
            scaler.tracker = {state["_growth_tracker"]}
            return {{name: float(entry) for name, entry in state_dict(scaler).items()}}
        """
        check(text, right, saved)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Around the scaler

**The scheduler.** A skipped step is no step, so the schedule should wait. But `scaler.step` gives
no status: it returns what `optimizer.step` returned, and that is None for a taken step, too. With
one optimizer the scale tells: `update()` makes it smaller after a skipped step, never after a
taken one. (With two it falls for either's inf. And on CUDA `get_scale()` waits for the GPU.)

**A NaN that no scale can cure.** If a NaN gets into the gradients, it does so at any scale. The
scaler knows nothing of that and halves, step by step, without a limit: the log in
[apex#318](https://github.com/NVIDIA/apex/issues/318), whatever its cause, goes down to scales
below $10^{-297}$. Float32 gets to the bottom sooner, and a scale of 0 stays 0:
"""

# %%
state, halved = LossScale(2.0**16), []
for _ in range(250):
    state = update(state, found_inf=True)
    halved.append(state.scale)

# %%
for k in (20, 40, 165, 166, 250):
    print(f"{k:3} steps, none taken: scale {halved[k - 1]:.3g}")

# %% [markdown]
r"""
Twenty halvings of a usual first scale take a factor of a million off. What still overflows then
was hardly the scale's fault: look for the first inf or NaN of the forward pass, and if there is
none, of the backward pass: `sqrt(w * w)` at 0 is 0, its gradient NaN
(`torch.autograd.detect_anomaly` finds it).

At such a bottom skipped steps are harmless; the first finite gradient is not. From $2^{-128}$
down the inverse is inf in float32: the scaled gradient passes as finite, the step is taken, and
the unscaled one is infinite, or at a scale of 0, from which no factor leads back, 0 times inf:
"""

# %%
for scale in (2.0**-127, 2.0**-128, 0.0):
    w = torch.nn.Parameter(torch.ones(1))
    sgd = torch.optim.SGD([w], lr=1.0)
    dying = torch.amp.GradScaler("cpu", init_scale=scale)
    dying.scale(w.sum()).backward()
    dying.step(sgd)
    dying.update()
    tracker = dying.state_dict()["_growth_tracker"]
    print(f"{scale:.3g}: weight 1.0 to {w.item()}, tracker {tracker}")

# %% [markdown]
r"""
So no step at a scale of 0 trains anything, and `get_scale` cannot show it by getting smaller.
From here on a step counts as skipped if the scale after it is smaller than before, **or 0**. (With
a backoff factor above 0.5 the scale sticks before that: at $2^{-148}$ for 0.75.)

**BF16 needs no scaler.** It has almost FP32's range: a scale rescues next to nothing. (As a guard
against NaN it does skip steps in BF16, too.) One course scaled BF16; a reader took the scaler out,
and training failed ([happy-llm#162](https://github.com/datawhalechina/happy-llm/issues/162)). The
later diagnosis ([#215](https://github.com/datawhalechina/happy-llm/pull/215); fixed in
[#195](https://github.com/datawhalechina/happy-llm/pull/195)): `autocast()` had been called without
a type, which on CUDA is FP16, so the "BF16" run was none. What a gradient of $2^{-30}$ becomes in
either type, and CUDA's default:
"""

# %% tags=["nbval-ignore-output"]
tiny = torch.tensor(2.0**-30)
for kind in (torch.float16, torch.bfloat16):
    print(kind, tiny.to(kind).item())
print("default on CUDA:", torch.get_autocast_dtype("cuda"))

# %% [markdown]
r"""
### t06_6 · The loop around it

`train` runs one step per loss: scale the loss and call `backward()`, then `scaler.step`,
`scaler.update`, and `scheduler.step()`, the last only if the step was not skipped. Return how many
steps were skipped, those at a scale of 0 included. (`optimizer.zero_grad()` is optional here.) The
scaler has PyTorch's methods: `scale`, `step`, `update`, `get_scale`.

`verdict` reads the log of a training: the type autocast used, and `scales`, the first scale and
that after each step. By a rule of thumb it returns

- `"no scaler needed"` for `"float32"` and `"bfloat16"`, whatever the scales;
- `"NaN"` for `"float16"` if there were at least 20 steps and each of the last 20 was skipped;
- `"fine"` for any other training in `"float16"`.

`rehearse(train, scales, skips)`, in the folded cell, plays your `train` with a scaler that follows
a script; `skips` holds the numbers, from 0, of the steps it skips.
"""


# %% tags=["setup", "folded"]
class Actor:
    """Writes each call of a method into a log."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def __getattr__(self, method):
        return lambda *_: self.log.append(f"{self.name}.{method}")


class ScriptedScaler:
    """A scaler that finds infs where the script says so."""

    def __init__(self, log, scales, skips):
        self.log, self.scales, self.skips = log, scales, skips
        self.steps = 0

    def get_scale(self):
        return self.scales[self.steps]

    def scale(self, loss):
        self.log.append("scaler.scale")
        return loss

    def step(self, optimizer):
        self.log.append("scaler.step")
        if self.steps not in self.skips:
            optimizer.step()

    def update(self):
        self.log.append("scaler.update")
        self.steps = min(self.steps + 1, len(self.scales) - 1)


def rehearse(loop, scales, skips):
    """Run a loop over a script; return its calls and its result."""
    log = []
    scaler = ScriptedScaler(log, scales, skips)
    others = Actor("optimizer", log), Actor("scheduler", log)
    losses = [Actor("loss", log)] * (len(scales) - 1)
    skipped = loop(scaler, *others, losses)
    return [c for c in log if c != "optimizer.zero_grad"], skipped


# %% task="t06_6" forbids=["torch", "ampcourse.amp"]
def train(scaler, optimizer, scheduler, losses):
    """Run one step per loss and return how many were skipped."""
    ### BEGIN SOLUTION
    skipped = 0
    for loss in losses:
        scaled, scale = scaler.scale(loss), scaler.get_scale()
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < scale or scaler.get_scale() == 0:
            skipped += 1
        else:
            scheduler.step()
    return skipped
    ### END SOLUTION


def verdict(dtype, scales):
    """Judge a training: "no scaler needed", "NaN" or "fine"."""
    ### BEGIN SOLUTION
    if dtype != "float16":
        return "no scaler needed"
    last = scales[-21:]
    skips = sum(last[k] < last[k - 1] or last[k] == 0 for k in range(1, len(last)))
    return "NaN" if skips == 20 else "fine"
    ### END SOLUTION


# %% check="t06_6" points=5
with task("t06_6"):
    order = "scale, backward, step, update, and the scheduler last"
    waits = "the scheduler steps after every step that was taken, and after no other"
    counts = "return the number of skipped steps"
    judged = "only float16 needs a scaler; skipped steps are normal unless they never end"
    once = ["scaler.scale", "loss.backward", "scaler.step", "optimizer.step", "scaler.update"]
    early = "update() forgets what was found: it comes after step()"
    too_soon = "the scheduler comes after the optimizer"
    bare = "the loss has to be scaled before backward()"
    traps = {early: [*once[:2], once[4], *once[2:4], "scheduler.step"]}
    traps |= {
        too_soon: [*once[:2], "scheduler.step", *once[2:]],
        bare: [*once[1:], "scheduler.step"],
    }
    check("rehearse(train, [8.0, 8.0], [])[0]", [*once, "scheduler.step"], order, traps)
    call = """
        log, done, steps = rehearse(train, {}, {})[0], 0, []
        for call in log:
            done += call == "scaler.update"
            steps += [done] * (call == "scheduler.step")
        return steps
    """
    anyway = "the schedule went on at a skipped step"
    growing = "the scale also changes when it grows, and then the step was taken"
    status = "step() returns None for a taken step as well: look at the scale"
    folklore = "not only the first step can be skipped"
    after = "read the scale before update() and after it"
    script = [8.0, 4.0, 4.0, 8.0, 4.0, 4.0]
    traps = {anyway: [1, 2, 3, 4, 5], growing: [2, 5], status: [], folklore: [2, 3, 4, 5]}
    traps |= {"a scale that stays is that of a taken step, too": [3]}
    check(call.format(script, [0, 3]), [2, 3, 5], waits, traps)
    halves = "backoff_factor need not be 0.5: any smaller scale is a skipped step"
    traps = {halves: [2, 4, 5, 6]}
    check(call.format([8.0, 4.0, 4.0, 2.0, 2.0, 1.5, 1.5], [0, 2, 4]), [2, 4, 6], waits, traps)
    bottom = "a scale of 0 cannot get smaller, but no step trains any more: 0 counts as a skip"
    script_to_0 = [1.0, 1.0, 2.0**-149, 0.0, 0.0, 0.0]
    check(call.format(script_to_0, [1, 2, 3, 4]), [1], waits, {bottom: [1, 4, 5]})
    taken = "that counts taken steps"
    check(f"rehearse(train, {[*script, 4.0]}, [0, 3])[1]", 2, counts, {taken: 4})
    cases = """
        halving, steady = [2.0**-k for k in range(21)], [1.0] * 30
        logs = [
            ("float16", steady + halving),
            ("float16", [2.0**k for k in range(15, 0, -1)] + steady),
            ("bfloat16", steady),
            ("float16", halving + [2.0**-20]),
            ("float16", steady + halving[:20]),
            ("float16", [8.0, 4.0] * 40),
            ("bfloat16", halving),
            ("float32", [8.0, 4.0]),
            ("float16", [2.0**-9] * 50),
            ("float16", [4.0, 2.0]),
        ]
        return [verdict(dtype, scales) for dtype, scales in logs]
    """
    none, bad, good = "no scaler needed", "NaN", "fine"
    bug = "skipped steps are how a scaler finds its scale, no bug"
    cured = "no scale cures a NaN: where 20 steps in a row are skipped, look elsewhere"
    bf16 = "BF16 has almost the range of FP32: it needs no scaler"
    total = "many skipped steps are harmless as long as others lie between them"
    below = "a small scale alone is no proof: it may be the right one"
    ever = "what matters are the last 20 steps, not whether there ever were 20 skipped ones"
    right = [bad, good, none, good, good, good, none, none, good, good]
    traps = {bug: [bad, bad, none, bad, bad, bad, none, none, good, bad]}
    traps |= {cured: [good, good, none, good, good, good, none, none, good, good]}
    traps |= {bf16: [bad, good, good, good, good, good, bad, none, good, good]}
    traps |= {total: [bad, good, none, bad, good, bad, none, none, good, good]}
    traps |= {below: [bad, good, none, bad, bad, good, none, none, bad, good]}
    traps |= {ever: [bad, good, none, bad, good, good, none, none, good, good]}
    one_off = "20 steps lie between 21 scales: 19 skipped steps are not enough"
    equal = "a scale that stays the same is no skip"
    single = "float32 needs no scaler either"
    traps |= {one_off: [bad, good, none, good, bad, good, none, none, good, good]}
    traps |= {equal: [bad, bad, none, bad, bad, good, none, none, bad, good]}
    traps |= {single: [bad, good, none, good, good, good, none, good, good, good]}
    check(cases, right, judged, traps)
    cases = """
        logs = [
            ("float16", [2.0**-k for k in range(140, 150)] + [0.0] * 30),
            ("float16", [0.75**k for k in range(30)]),
            ("float16", [1.0] + [0.0] * 19),
            ("float16", [0.5**k for k in range(60)]),
            ("bfloat16", [0.0] * 30),
        ]
        return [verdict(dtype, scales) for dtype, scales in logs]
    """
    traps = {bottom: [good, bad, good, bad, none], halves: [bad, good, good, bad, none]}
    check(cases, [bad, bad, good, bad, none], judged, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    t06_6_random = Random(606)

    def t06_6_script(steps):
        """Return random scales and the steps that must have been skipped."""
        scales, skips = [2.0 ** t06_6_random.randrange(4, 20)], []
        backoff = t06_6_random.choice((0.5, 0.25, 0.75))
        for k in range(steps):
            factor = t06_6_random.choice((backoff, 1.0, 1.0, 2.0))
            scales.append(scales[-1] * factor)
            skips += [k] * (factor < 1)
        return scales, skips

    for steps, zeros in ((9, 0), (14, 0), (30, 0), (12, 4)):
        scales, skips = t06_6_script(steps)
        scales, skips = scales + [0.0] * zeros, [*skips, *range(steps, steps + zeros)]
        steps += zeros
        lines = []
        for k in range(steps):
            lines += [*once[:3], *once[3:4] * (k not in skips), once[4]]
            lines += ["scheduler.step"] * (k not in skips)
        check(f"rehearse(train, {scales}, {skips})[0]", lines, order)
        taken = [k + 1 for k in range(steps) if k not in skips]
        check(call.format(scales, skips), taken, waits)
        check(f"rehearse(train, {scales}, {skips})[1]", len(skips), counts)
    for _ in range(3):
        histories, answers = [], []
        for k in range(16):
            steps = t06_6_random.randrange(1, 20) if k % 2 else t06_6_random.randrange(20, 40)
            scales = t06_6_script(t06_6_random.randrange(30))[0]
            scales += [scales[-1]] * (k % 3 == 0)
            run = 0
            while len(scales) > run + 1 and scales[-run - 1] < scales[-run - 2]:
                run += 1
            backoff = t06_6_random.choice((0.5, 0.25, 0.75))
            tail = [scales[-1] * backoff**n for n in range(1, steps + 1)]
            scales += [0.0] * steps if k % 5 == 0 else tail
            histories.append((t06_6_random.choice(("float16", "float16", "bfloat16")), scales))
            answers.append(bad if run + steps >= 20 else good)
            if histories[-1][0] != "float16":
                answers[-1] = none
        check(f"[verdict(*log) for log in {histories}]", answers, judged)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

First your predictions:
"""

# %% tags=["nbval-ignore-output"]
print(f"steps that moved nothing: you said {my_skips}; {sum(stood)}")
print(f"step after an inf loss skipped: you said {my_loss}; False")
bottom = f"{halved[-1]}, after {halved.index(0) + 1} steps"
print(f"NaN after NaN: you said {my_nan}; {bottom}")
print(f"also saved: you said {my_resume}; tracker, factors, interval")

# %% [markdown]
r"""
- **"A skipped step is a bug."** It is how the scaler finds out where the ceiling is: a few at the
  start, then at most about one per growth interval (t06_1, t06_6).
- **"FP32 undoes an overflow."** inf in FP16 is inf in FP32: only a skip helps (t06_3).
- **"The scale backs off when the loss is inf."** Only gradients count (t06_4).
- **"It grows every 2000 steps."** After 2000 *good steps in a row*; each inf starts the count
  again (t06_1).
- **"A norm is a quick check for inf."** Squares of 1e20 overflow where no gradient did (t06_2).
- **"Only the parameter with the inf is skipped."** All of that optimizer are; another optimizer
  may step (t06_3, t06_4).
- **"Two optimizers need two scalers, or two updates."** One scaler, one `update()` (t06_4).
- **"`update()` may come before `step()`."** It forgets what was unscaled: a second division, and
  not a word (t06_4, t06_6).
- **"The scale finds itself again after a resume."** It does, at the price of skipped steps and of
  a training that cannot be repeated (t06_5).
- **"Ignore the scheduler's warning."** Look at the scale, and let the schedule wait (t06_6).
- **"The scaler will get rid of the NaN."** It will get rid of every step instead (t06_6).
- **"BF16 wants a scaler, to be safe."** It rescues next to nothing (t06_6).

## Say it aloud

The scaler keeps two numbers, a scale and a count of good steps in a row. From each step it learns
one bit: was any gradient inf or NaN? If so, the optimizer's step is skipped whole, the scale is
halved and the count starts again; after 2000 good steps in a row the scale is doubled. Scale,
backward, unscale, step, update, in this order and with one update for all optimizers. Both numbers
go into the checkpoint. With one optimizer a smaller scale tells of a skipped step, and if twenty
in a row are skipped, the scale is hardly to blame.

## Where next

In this lesson `autocast` chose what is FP16, and you took its word. `07_autocast` takes it apart:
which operation runs in which type, and why.
"""
