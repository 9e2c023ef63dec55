# %% [markdown]
r"""
# Is this speed-up real, and what is the limit?

Somebody trains a ResNet20 on CIFAR10 in 15 minutes, switches mixed precision on, and waits 21
minutes ([apex#297](https://github.com/NVIDIA/apex/issues/297)). On a GTX 1080 Ti it changes
nothing, on a V100 NVIDIA's two rates make a factor of 3.27, and a loop with `time.time()` around it
says that everything takes 40 microseconds.

All of these can be true. Two questions sort them out: did the clock measure what it was meant to
measure, and what does the hardware allow at all? After this lesson you have a timer that can be
trusted, and you can say before you rent a card what to expect of AMP there, and which number should
make you look twice.

You need no GPU. Numbers of GPUs here are published by others, or modelled from data sheets, or come
from a GPU made of numbers; each time it says which. Your own CPU is measured live. There are six
tasks; plan two to three hours, with a break after the second task and one after the fourth.

## Predict first

Nobody grades these; replace each `None` and run the cell.
"""

# %%
# A GPU needs 900 µs for a step, Python 40 µs to issue it.
my_clock = None  # what the clock says without waiting, µs
# An H200's FP16 peak is 14.8 times its FP32 peak.
my_h200 = None  # ResNet50 trains how much faster
# Batch norm hardly computes anything.
my_norm = None  # with AMP "slower", "no faster" or "faster"
# A step on 28-pixel images, modelled. The H200 computes for
# 2.7 ms in FP32 and 0.8 ms with AMP. Python issues each kernel
# in 25 µs: 464 of them in FP32, 578 with AMP, which adds casts.
my_small = None  # how many times as fast the step is with AMP

# %% [markdown]
r"""
## A GPU made of numbers

A call that gives a GPU work returns as soon as the work is **queued**. Python goes on, the GPU
works through its queue, and the two meet again where Python waits: at `synchronize()`, or where it
needs a value, as in `loss.item()`.

No GPU is at hand here, so this class plays one, with a clock of its own, in whole microseconds. It
is a stand-in, not a measurement: what it shows are the mistakes, and those are real.
"""

# %% tags=["setup"]
from random import Random
from statistics import mean, median

from ampcourse.courseware import check, number, task, ulps


# %% tags=["setup"]
class PretendGPU:
    """A GPU that works through a queue while the host goes on; times in microseconds."""

    def __init__(self, needs, issue=40):
        self.needs, self.issue = needs, issue  # of each step on the GPU; of Python to issue one
        self.host = self.ready = 0  # the host's time; when the queue will be empty
        self.steps = 0

    def now(self):
        """Read the host's clock, as time.perf_counter() does."""
        return self.host

    def step(self):
        """Queue one training step; the host goes on once it is issued."""
        need = self.needs[min(self.steps, len(self.needs) - 1)]  # the last one repeats
        self.host += self.issue
        self.ready = max(self.ready, self.host) + need
        self.steps += 1

    def load(self, need):
        """Keep the host busy with something else, such as reading a batch."""
        self.host += need

    def synchronize(self):
        """Wait until the queue is empty, as torch.cuda.synchronize() does."""
        self.host = max(self.host, self.ready)


# %% [markdown]
r"""
The step below takes 900 µs. Its first two take longer, as on a real GPU: libraries load, cudnn
may try its kernels, `torch.compile` compiles. Once another program gets in between. Now the
`time.time()` of above:
"""

# %%
NEEDS = [45_000, 6_000, 900, 905, 3_900, 910, 900, 895, 900, 905, 900, 900]
gpu = PretendGPU(NEEDS)
start = gpu.now()
gpu.step()
print("without waiting:", gpu.now() - start, "µs")

# %% [markdown]
r"""
40 µs: that is Python, not the GPU. Any step, in FP32 or FP16, takes 40 µs by this clock. So wait:
"""

# %%
gpu = PretendGPU(NEEDS)
start = gpu.now()
gpu.step()
gpu.synchronize()
print("waiting at the end:", gpu.now() - start, "µs")

# %% [markdown]
r"""
Now it is the first step with everything that happens only once. So warm up:
"""

# %%
gpu = PretendGPU(NEEDS)
gpu.step()
gpu.step()
start = gpu.now()
gpu.step()
gpu.synchronize()
print("after a warm-up:", gpu.now() - start, "µs")

# %% [markdown]
r"""
Worse. The warm-up was still in the queue when the clock started, and this step had to wait for it.
The clock wants an empty queue **before both of its readings**:
"""

# %%
gpu = PretendGPU(NEEDS)
gpu.step()
gpu.step()
gpu.synchronize()
start = gpu.now()
gpu.step()
gpu.synchronize()
print("waiting twice:", gpu.now() - start, "µs")

# %% [markdown]
r"""
That is the 900 µs of the GPU and the 40 of Python. Once is not enough, though: here are ten steps,
timed by the library (`gpu.step` is what it runs, `gpu.now` its clock).
"""

# %%
from ampcourse.benchmark.timing import step_times

gpu = PretendGPU(NEEDS)
wait = gpu.synchronize
times = step_times(gpu.step, clock=gpu.now, synchronize=wait, warm_up=2, repeats=10)
print(times)

# %%
from ampcourse.plotting import show
from ampcourse.plotting.step_times import step_times as draw_times

cold = [45_040, 6_040]  # the two steps of the warm-up, waited for
words = "Step times: two slow first ones, then about 940 µs, one of 3940 µs."
lines = {"mean": mean(times), "median": median(times)}
show(draw_times({"warm-up": cold, "measured": times}, lines, "µs"), alt=words)
print(f"mean {mean(times):.0f} µs, median {median(times):.0f} µs")

# %% [markdown]
r"""
One disturbance of 3 ms moves the mean of ten by 300 µs and the median not at all. Some take the
smallest time, since an interruption only ever makes a step longer. But a chip that is still cold is
faster than it will be, and then the smallest time flatters. The median tells what is usual.

### t10_1 · A timer one can trust
`gpu` has `step()`, `synchronize()` and `now()`, and its queue may hold somebody's work already. Run
`warm_up` steps that do not count, then `repeats` steps that do, each timed on its own, and return
the median of their times. Write the loop yourself: the library's `step_times` is not there when the
task is graded. (Some devices of the checks have nothing but these three methods.)
"""


# %% task="t10_1" forbids=["ampcourse.benchmark"]
def median_step(gpu, warm_up, repeats):
    """Return the median time of a step on `gpu`, after a warm-up, in the clock's unit."""
    ### BEGIN SOLUTION
    for _ in range(warm_up):
        gpu.step()
    times = []
    for _ in range(repeats):
        gpu.synchronize()
        start = gpu.now()
        gpu.step()
        gpu.synchronize()
        times.append(gpu.now() - start)
    return median(times)
    ### END SOLUTION


# %% check="t10_1" points=4
with task("t10_1"):
    timed = "a step takes its 40 µs to issue and what the GPU needs; the usual one is in the middle"
    queue = "wait for an empty queue before the clock is read, both times"
    warm = "warm_up steps come first and do not count, then exactly repeats steps that do"
    middle = "warm steps, each timed on its own; the median of four is the mean of the middle two"
    issued = "nobody waited for the GPU: that is the time to issue a step"
    behind = "the queue was not empty when the first clock started"
    cold = "the warm-up is counted: drop it"
    average = "that is the mean, which one disturbed step can move: take the median"
    least = "that is the shortest time, not the usual one"
    total = "the whole loop was timed and divided: time each step on its own, take the median"
    single = "one run is no measurement: take the median of all repeats"
    early = "the first steps were timed: they are the warm-up"
    fewer = "repeats counts what is measured; the warm-up comes on top of it"
    call = "median_step(PretendGPU([50_000, 7_000, 2_000, 905, 900, 910, 4_001, 920, 905]), 3, 5)"
    traps = {issued: 40, behind: 960, cold: 1500.0, average: 1567.2, least: 940, total: 1535.2}
    traps |= {single: 945, fewer: 942.5, early: 2040}
    check(call, number(950), timed, traps)
    call = """
        gpu = PretendGPU([5_000, 900, 900])
        gpu.step()
        return median_step(gpu, 0, 1)
    """
    check(call, number(940), queue, {issued: 40, behind: 5900})
    counted = """
        gpu = PretendGPU([900])
        median_step(gpu, 3, 5)
        return gpu.steps
    """
    check(counted, number(8), warm)
    call = "median_step(PretendGPU([9_000, 8_000, 905, 900, 910, 4_000]), 2, 4)"
    halves = "that is one of the middle two, not their mean"
    check(call, number(947.5), middle, {halves: 950})
    ### BEGIN HIDDEN TESTS
    from random import Random

    t10_1_random = Random(1001)
    other = """
        class Other:
            def __init__(self):
                self.__at = self.__free = self.__k = 0
            def now(self):
                return self.__at
            def step(self):
                self.__at += {issue}
                self.__free = max(self.__free, self.__at) + {needs}[self.__k]
                self.__k += 1
            def synchronize(self):
                self.__at = max(self.__at, self.__free)
        device = Other()
        for _ in range({queued}):
            device.step()
        return median_step(device, {warm_up}, {repeats})
    """
    for repeats in (1, 3, 7, 8, 12, 21):
        issue, warm_up, queued = (t10_1_random.randrange(lo, 6) for lo in (5, 0, 1))
        issue *= t10_1_random.randrange(3, 30)
        usual = t10_1_random.randrange(500, 5000)
        needs = [t10_1_random.randrange(10_000, 90_000) for _ in range(queued + warm_up)]
        needs += [usual + t10_1_random.randrange(-40, 900) for _ in range(repeats)]
        needs[-1] += 9_000 * (repeats > 1)
        times = sorted(need + issue for need in needs[queued + warm_up :])
        right = (times[(repeats - 1) // 2] + times[repeats // 2]) / 2
        # Without a wait the first step measured ends when all before it are done.
        late = [*times]
        late.remove(needs[queued + warm_up] + issue)
        late.append(10**9)
        late.sort()
        slow = (late[(repeats - 1) // 2] + late[repeats // 2]) / 2
        traps = {issued: issue if repeats % 2 else float(issue), behind: slow}
        names = {"issue": issue, "needs": needs, "queued": queued}
        call = other.format(**names, warm_up=warm_up, repeats=repeats)
        check(call, number(right), queue if repeats < 7 else timed, traps)
        check(counted.replace("3, 5", f"{warm_up}, {repeats}"), number(warm_up + repeats), warm)
    for repeats in (2, 6):
        needs = sorted(t10_1_random.sample(range(600, 999), repeats))
        times = sorted(need + 40 for need in needs)
        right = (times[repeats // 2 - 1] + times[repeats // 2]) / 2
        call = f"median_step(PretendGPU({needs}), 0, {repeats})"
        check(call, number(right), middle, {halves: times[repeats // 2]})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Two steps to compare

Two recipes need more than two good timings. Here is a chip that gets warm and lowers its clock,
half a percent with each step (exaggerated), and **twice the same step**, once under the name FP32,
once under the name AMP. First all of one, then all of the other:
"""

# %%
from functools import partial

from ampcourse.benchmark.timing import interleaved, ratio

# %%
warming = [round(900 * 1.005**k) for k in range(60)]
gpu = PretendGPU(warming)
timer = partial(step_times, clock=gpu.now, synchronize=gpu.synchronize)
first = timer(gpu.step, repeats=15)
second = timer(gpu.step, repeats=15)
print("one after the other:", ratio(first, second))

# %% [markdown]
r"""
The second one lost, whichever it is. So take turns, in random order, and form the ratio within
each round:
"""

# %%
gpu = PretendGPU(warming)
timer = partial(interleaved, clock=gpu.now, synchronize=gpu.synchronize)
times = timer({"FP32": gpu.step, "AMP": gpu.step}, rounds=15)
print("taking turns:", ratio(times["FP32"], times["AMP"]))

# %% [markdown]
r"""
In brackets stands a **bootstrap interval**: draw as many rounds as there are, with replacement,
take the median of their ratios, do it a thousand times, and cut 2.5 % off at each end. It says how
much the result hangs on the rounds that happened to be measured. It knows nothing of what was
wrong in all of them: the 0.92 above has a narrow interval, and is false.

One more thing can be inside the clock: **reading the data**. The GPU halves its time, from 1800 to
900 µs, and the host reads a batch in 800 µs before each step:
"""


# %%
def step_time(need, reading):
    gpu = PretendGPU([need])
    gpu.load(reading)
    gpu.step()
    gpu.synchronize()
    return gpu.now()


# %%
for reading in (0, 800):
    factor = step_time(1800, reading) / step_time(900, reading)
    print(f"{reading:3} µs of reading: {factor:.2f} times as fast")

# %% [markdown]
r"""
A loader that reads ahead would hide its 800 µs behind the GPU's 1800, but only just behind 900.
Time both, but tell them apart: the step with its data already on the device is what precision
changes; the epoch with its loader is what you wait for.

On a real GPU the same timer reads `interleaved({"fp32": a, "amp": b},
synchronize=torch.cuda.synchronize)`. `torch.utils.benchmark.Timer` warms up and waits, too: its
`timeit` gives a mean, `blocked_autorange` many means and their median. The rounds you arrange
yourself.

### t10_2 · A ratio one can trust
`before[i]` and `after[i]` are times of round `i`. `draws` is a list of resamples; each is a list of
round numbers, as `resamples` makes them. `speedup` returns three numbers: the median of the rounds'
ratios, then the low and the high end of the interval: sort the medians of all draws and leave out
`k = len(draws) // 40` at each end. `verdict` takes these three and returns `"faster"` or `"slower"`
where the whole interval lies on one side of 1, else `"not shown"`.
"""


# %% tags=["setup"]
def resamples(rounds, count=200, seed=0):
    """Return `count` lists of `rounds` round numbers each, drawn with replacement."""
    draw = Random(seed)
    return [draw.choices(range(rounds), k=rounds) for _ in range(count)]


# %% task="t10_2" forbids=["ampcourse.benchmark"]
def speedup(before, after, draws):
    """Return (median ratio, low, high): how many times as fast `after` is."""
    ### BEGIN SOLUTION
    ratios = [one / other for one, other in zip(before, after, strict=True)]
    medians = sorted(median(ratios[i] for i in draw) for draw in draws)
    k = len(draws) // 40
    return median(ratios), medians[k], medians[-1 - k]
    ### END SOLUTION


def verdict(value, low, high):
    """Return "faster", "slower" or "not shown"."""
    ### BEGIN SOLUTION
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "not shown"
    ### END SOLUTION


# %% check="t10_2" points=4
with task("t10_2"):
    value = "the ratio of each round, before / after, and the median of these"
    ends = "medians of the draws, sorted, without k = len(draws) // 40 of them at each end"
    sides = "the interval decides, not the value: all of it on one side of 1"
    turned = "upside down: half the time is twice as fast"
    medians = "a ratio of medians compares rounds that were not measured together"
    means = "that is a mean: one disturbed round moves it"
    sums = "sums are ruled by the rounds that were disturbed"
    order = "sort first: the middle of a list is its median only then"
    top = "that is the best round"
    halves = "of an even number of ratios the median is the mean of the middle two"
    times = "[40.0, 10.0, 30.0], [8.0, 5.0, 10.0]"
    call = "float(speedup({}, {})[{}])"
    traps = {turned: 1 / 3, medians: 3.75, means: 10 / 3, sums: 80 / 23, order: 2.0, top: 5.0}
    check(call.format(times, "resamples(3)", 0), ulps(3.0, 8), value, traps)
    four = "[10.0, 20.0, 30.0, 80.0], [10.0] * 4"
    traps = {halves: 3.0, means: 3.5, turned: 5 / 12}
    check(call.format(four, "resamples(4)", 0), ulps(2.5, 8), value, traps)
    uncut = "nothing is cut off: one odd draw in forty would set the end"
    undrawn = "those are ends of the rounds' ratios: the interval is that of the draws' medians"
    nine = "[float(k) for k in range(1, 10)], [1.0] * 9"
    draws = "[[4] * 9] * 38 + [[0] * 9, [8] * 9]"
    traps = {uncut: 1.0, undrawn: 2.0, turned: 0.2}
    check(call.format(nine, draws, 1), ulps(5.0, 8), ends, traps)
    traps = {uncut: 9.0, undrawn: 8.0, turned: 0.2}
    check(call.format(nine, draws, 2), ulps(5.0, 8), ends, traps)
    split = "the draw's before and after must be of the same rounds: draw pairs, as ratios"
    draws = "[[0, 1, 2]] * 38 + [[1, 1, 2], [2, 2, 1]]"
    check(call.format(times, draws, 2), ulps(3.0, 8), ends, {split: 3.75, turned: 1 / 3})
    hopeful = "the interval reaches below 1: this could be a loss"
    once = "an interval that only touches 1 shows nothing"
    check("verdict(1.31, 1.28, 1.35)", "faster", sides)
    check("verdict(1.12, 0.97, 1.29)", "not shown", sides, {hopeful: "faster"})
    check("verdict(0.84, 0.8, 0.89)", "slower", sides)
    check("verdict(1.02, 1.0, 1.04)", "not shown", sides, {once: "faster"})
    check("verdict(0.98, 0.96, 1.0)", "not shown", sides, {once: "slower"})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import numpy as np

    t10_2_random = Random(1002)

    def t10_2_right(before, after, draws):
        """Return value and interval as numpy finds them."""
        ratios = np.array(before) / np.array(after)
        found = np.sort([np.median(ratios[draw]) for draw in draws])
        k = len(draws) // 40
        return float(np.median(ratios)), (float(found[k]), float(found[-k - 1]))

    for rounds, count in ((5, 40), (8, 79), (15, 200), (21, 400), (6, 120), (7, 30)):
        after = [t10_2_random.randrange(600, 1000) / 8 for _ in range(rounds)]
        before = [t * t10_2_random.uniform(0.9, 3.0) for t in after]
        before[0] *= 9
        draws = [t10_2_random.choices(range(rounds), k=rounds) for _ in range(count)]
        middle, interval = t10_2_right(before, after, draws)
        b, a = np.array(before), np.array(after)
        traps = {medians: float(np.median(b) / np.median(a)), sums: sum(before) / sum(after)}
        traps |= {turned: t10_2_right(after, before, draws)[0], means: float(np.mean(b / a))}
        check(call.format(f"{before}, {after}", draws, 0), ulps(middle, 8), value, traps)
        found = sorted(float(np.median(b[draw]) / np.median(a[draw])) for draw in draws)
        k = count // 40
        inverse = t10_2_right(after, before, draws)[1]
        for place, end in enumerate((k, -1 - k)):
            # A draw's two medians can be of one round: then their ratio is no mistake to be seen.
            traps = {split: found[end], turned: inverse[place]}
            traps = {cause: wrong for cause, wrong in traps.items() if wrong != interval[place]}
            text = call.format(f"{before}, {after}", draws, place + 1)
            check(text, ulps(interval[place], 8), ends, traps)
    for triple, right in (
        ((2.0, 1.9, 2.2), "faster"),
        ((1.001, 1.0001, 1.002), "faster"),
        ((5.0, 0.999, 9.0), "not shown"),
        ((0.98, 0.9, 1.0), "not shown"),
        ((1.0, 1.0, 1.0), "not shown"),
        ((0.999, 0.998, 0.9995), "slower"),
        ((0.5, 0.1, 1.2), "not shown"),
        ((0.3, 0.2, 0.4), "slower"),
        ((1.4, 0.6, 1.5), "not shown"),
        ((1.3, 1.1, 1.6), "faster"),
    ):
        value_alone = {hopeful: "faster"} if right == "not shown" and triple[0] > 1 else {}
        check(f"verdict{triple}", right, sides, value_alone)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What the hardware allows

(A good place for the first break.)

A clock that is right can only tell what happened. Two numbers of the chip tell whether a factor of
1.3 is poor or all there is: how many operations it does in a second, its **peak**, and how many
bytes its memory moves in a second, its **bandwidth**. Every kernel needs both, and is done when
the slower of the two is.

Their quotient, the **ridge**, is how many operations a kernel must do with each byte before
arithmetic is what it waits for. Here are bandwidths and dense peaks of data sheets, in TFLOP/s, for
products of numbers stored as FP32 and as FP16:
"""

# %%
from ampcourse.benchmark.devices import DEVICES

print("             FP32  FP16    GB/s   ridge FP32  FP16   FP16/FP32")
for name in ("GTX 1080 Ti", "T4", "V100", "A100", "RTX 4090", "H200"):
    d = DEVICES[name]
    fp32, fp16 = d.peak("fp32"), d.peak("fp16")
    print(f"{name:11} {fp32:5g} {fp16:5g}  {d.bandwidth:6g}", end="")
    print(f"  {d.ridge('fp32'):9.0f} {d.ridge('fp16'):6.0f} {fp16 / fp32:11.1f}")

# %% [markdown]
r"""
The 1080 Ti has no Tensor Cores, and its FP16 units are far slower than its FP32 units. So libraries
read FP16 numbers there and compute in FP32: hence twice the same peak. A page that prints 1979 for
the H200 counts 2:4 sparsity, in which half of the numbers of *one* factor are zeros by
construction: training does not have that.

A matrix product reuses each number many times, a ReLU uses it once. How many operations per byte
does a layer do?

### t10_3 · Operations and bytes
`conv_cost` takes the shapes of a convolution's input, `(N, C, H, W)`, and of its weight,
`(K, C, R, S)`. Return the pair `(operations, bytes)` of its forward pass:

- the output has `K` channels, `(H + 2 * padding - R) // stride + 1` rows, and columns by the same
  rule with `W` and `S`; each element is a sum of `C * R * S` products, and a multiplication and an
  addition are two operations;
- input, weight and output are each moved once, `width` bytes a number. Padding is not stored.

`moved` returns the bytes of an operation on a tensor of that shape: a `"relu"` reads it and writes
one, an `"add"` reads two and writes one, a `"batch norm"` in training reads its input twice (once
for mean and variance, once to normalise) and writes once. Weights of a batch norm do not count.
"""


# %% task="t10_3" forbids=["ampcourse.benchmark", "torch.utils.flop_counter"]
def conv_cost(x, weight, stride, padding, width):
    """Return (operations, bytes) of a convolution's forward pass; shapes as tuples."""
    ### BEGIN SOLUTION
    n, c, h, w = x
    k, _, r, s = weight
    p, q = ((size + 2 * padding - f) // stride + 1 for size, f in ((h, r), (w, s)))
    outputs = n * k * p * q
    numbers = n * c * h * w + k * c * r * s + outputs
    return 2 * outputs * c * r * s, width * numbers
    ### END SOLUTION


def moved(op, shape, width):
    """Return the bytes that a "relu", an "add" or a "batch norm" moves, forward."""
    ### BEGIN SOLUTION
    n, c, h, w = shape
    return {"relu": 2, "add": 3, "batch norm": 3}[op] * n * c * h * w * width
    ### END SOLUTION


# %% check="t10_3" points=4
with task("t10_3"):
    operations = "each element of the output is a sum of C R S products, two operations each"
    bytes_moved = "input, weight and output, each moved once, `width` bytes a number"
    streams = "numbers read and written, times their width"
    fused = "a multiplication and an addition are two operations"
    grown = "the output has (H + 2 padding - R) // stride + 1 rows, and columns likewise"
    depth = "each output sums over all C input channels"
    batch = "the batch holds N images"
    bare = "the weight is moved, too"
    four = "numbers are `width` bytes, not always 4"
    images = "the weight is read once for the whole batch"
    padded = "zeros of the padding are not stored, so not moved"
    sides = "padding is added on both sides"
    call = "conv_cost((3, 4, 9, 9), (5, 4, 3, 3), 2, 1, 2)"
    traps = {fused: 13500, depth: 6750, batch: 9000, grown: 87480, sides: 17280}
    check(f"{call}[0]", number(27000), operations, traps)
    traps = {bare: 2694, four: 6108, grown: 4734, images: 3774, padded: 4014, sides: 2784}
    check(f"{call}[1]", number(3054), bytes_moved, traps)
    call = "conv_cost((3, 2, 9, 6), (4, 2, 5, 3), 1, 0, 4)"
    check(f"{call}[0]", number(14400), operations, {batch: 4800, grown: 38880})
    once = "an add reads two tensors and writes one"
    twice = "a batch norm in training reads its input twice: statistics first, then the result"
    both = "what is read counts, and what is written"
    backward = "forward a batch norm moves three tensors: two readings, one writing"
    check('moved("relu", (2, 3, 4, 5), 2)', number(480), streams, {both: 240, four: 960})
    check('moved("add", (1, 8, 4, 4), 4)', number(1536), streams, {once: 1024, both: 512})
    traps = {twice: 2048, four: 6144, backward: 4096}
    check('moved("batch norm", (4, 2, 8, 8), 2)', number(3072), streams, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch
    from torch.utils.flop_counter import FlopCounterMode

    t10_3_random = Random(1003)

    def t10_3_torch(x, weight, stride, padding, width):
        """Let torch count the operations and make the output."""
        dtype = torch.float32 if width == 4 else torch.float16
        a, b = (torch.empty(shape, dtype=dtype, device="meta") for shape in (x, weight))
        with FlopCounterMode(display=False) as counter:
            out = torch.nn.functional.conv2d(a, b, stride=stride, padding=padding)
        return counter.get_total_flops(), sum(t.nbytes for t in (a, b, out)), out.numel()

    for _ in range(8):
        n, k = (t10_3_random.randrange(3, 70) for _ in range(2))
        c = n + t10_3_random.randrange(1, 9)
        h, w = (t10_3_random.randrange(7, 60) for _ in range(2))
        r, s = (t10_3_random.choice((1, 2, 3, 5, 7)) for _ in range(2))
        stride, padding = t10_3_random.choice((1, 2, 3)), t10_3_random.randrange(4)
        width = t10_3_random.choice((2, 4))
        shapes = (n, c, h, w), (k, c, r, s)
        flops, total, outputs = t10_3_torch(*shapes, stride, padding, width)
        call = f"conv_cost({shapes[0]}, {shapes[1]}, {stride}, {padding}, {width})"
        traps = {fused: flops // 2, depth: flops // c, batch: flops // n}
        check(f"{call}[0]", number(flops), operations, traps)
        traps = {bare: total - width * k * c * r * s, four: 4 * total // width}
        traps[images] = total + (n - 1) * width * k * c * r * s
        if width == 4:
            del traps[four]
        check(f"{call}[1]", number(total), bytes_moved, traps)
        tensors = {"relu": 2, "add": 3, "batch norm": 3}
        for op, count in tensors.items():
            right = count * torch.empty(shapes[0], dtype=torch.uint8, device="meta").nbytes * width
            check(f"moved({op!r}, {shapes[0]}, {width})", number(right), streams)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
Operations per byte are called **arithmetic intensity**. The library counts those of all layers of a
ResNet50 with 256 images, in FP32 and with AMP. It rehearses a training step and computes nothing;
that takes some seconds for each recipe:
"""

# %%
import torch
from torchvision.models import resnet50

from ampcourse.benchmark.layers import workload

net = resnet50()

# %% tags=["nbval-ignore-output"]
works = {"fp32": workload(net, (256, 3, 224, 224), "fp32")}

# %% tags=["nbval-ignore-output"]
works["amp-fp16"] = workload(net, (256, 3, 224, 224), "amp-fp16")
names = {"layer2.1.conv2": "3×3 conv", "layer2.1.conv3": "1×1 conv", "layer2.1.bn2": "batch norm"}

# %% tags=["nbval-ignore-output"]
for recipe, work in works.items():
    print(f"{recipe}, whole step: {work.flops / 1e12:.1f} TFLOP", end=", ")
    print(f"{work.bytes / 1e9:.0f} GB, {work.intensity:.0f} operations per byte")
    for kernel in work.kernels:
        one = kernel.kind in ("convolution", "batch norm") and kernel.phase == "forward"
        if one and kernel.layer in names:
            print(f"  {names[kernel.layer]:10} {kernel.flops / 1e9:3.0f} GFLOP", end=", ")
            print(f"{kernel.bytes / 1e6:4.0f} MB, {kernel.flops / kernel.bytes:4.0f} per byte")

# %% [markdown]
r"""
This 3×3 convolution lies far above every ridge: arithmetic limits it, and Tensor Cores help. Batch
norm lies below: memory limits it, and a faster multiplier does nothing. **But its numbers are half
as long, so it takes half the time.** That is the second gain of AMP, and it needs no Tensor Cores.
(The count takes a batch norm's own arithmetic as 0: it is done long before the bytes are there.)

The 1×1 convolution lies between, and so does **the whole step: with AMP below the ridge of every
card with Tensor Cores**. How many of the convolutions do, forward and backward together?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.benchmark.roofline import step_limit

for name in ("V100", "H200"):
    layers = step_limit(works["amp-fp16"], name).layers
    convs = [layer.intensity for layer in layers if layer.kind == "convolution"]
    ridge = DEVICES[name].ridge("fp16")
    below = sum(intensity < ridge for intensity in convs)
    print(f"{name}: ridge {ridge:.0f}, below it {below} of {len(convs)} convolutions")

# %% [markdown]
r"""
Look at them one by one. The line is the roof: to the left memory limits, to the right arithmetic.
Each dot is a layer, forward and backward, and the cross is a convolution of your own, to move. What
multiplies nothing, such as batch norm, stands beside the roof with its share of the step.

1. On the V100, with AMP: which convolutions touch the flat roof, and what share of the step do
   batch norms, ReLUs and sums take?
2. Make your convolution 1×1 with few channels. Which side is it on now?
3. Change to the H200. Its flat roof is eight times as high, its slope 5.3 times as steep. What does
   that do to the convolutions just right of the V100's ridge?
4. On the GTX 1080 Ti, switch from FP32 to AMP. Which dots move, and which roof does?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import roofline_explorer

roofline_explorer(works, device="V100", recipe="amp-fp16")

# %% [markdown]
r"""
<details><summary>The answers</summary>

1. All 3×3 convolutions and 20 of the 36 that are 1×1. The three take 60 % of the step.
2. To the left, where its bytes take the time.
3. The ridge moves to the right, past 13 of them: now memory limits those.
4. All dots move to the right, since they have half the bytes; the roof stays.

</details>
"""

# %% [markdown]
r"""
Add the least times of all kernels, and you have what a step needs at least, and its parts. On a
V100, FP32 above and AMP below:
"""

# %%
from ampcourse.benchmark.roofline import ratio as limit_ratio
from ampcourse.plotting.roofline import time_by_kind

# %% tags=["nbval-ignore-output"]
limits = {recipe: step_limit(work, "V100") for recipe, work in works.items()}
parts = {"FP32": limits["fp32"].by_kind, "AMP": limits["amp-fp16"].by_kind}
shares = {recipe: limit.by_kind["convolution"] / limit.seconds for recipe, limit in limits.items()}
words = (
    f"Convolutions take {shares['fp32']:.0%} of the least time in FP32, {shares['amp-fp16']:.0%}"
)
show(time_by_kind(parts), alt=f"{words} with AMP; batch norm, ReLU and sums take the rest.")
print(f"modelled: {limit_ratio(limits['fp32'], limits['amp-fp16']):.2f} times as fast")

# %% [markdown]
r"""
The convolutions shrink by far more than the rest, and then the rest is what remains. That is why
the ratio of two peaks (8.0 on a V100) is not the speed-up of a network.

Mind what such a ratio is. No *run* can be faster than its limit. The ratio of two limits is what
you get if both runs come equally near to theirs; against a baseline that stayed far below its own,
AMP can look better. A larger factor is a reason to look at the baseline.

### t10_4 · Predict a ratio
A layer is a dict: its `kind`, its `flops`, and how many `numbers` it moves. A device has peaks in
TFLOP/s under `"fp32"`, `"fp16"` and, where it knows the type, `"tf32"`, and a `bandwidth` in GB/s.
`least_time` returns the seconds that a layer takes at least; memory and arithmetic run at the same
time.

| kind | in `"fp32"` | in `"tf32"` | under `"amp"` |
|---|---|---|---|
| `"matrix"` | peak FP32, 4 bytes a number | peak TF32 (else FP32), 4 bytes | peak FP16, 2 bytes |
| `"other"` (batch norm, ReLU) | no arithmetic, 4 bytes | the same | 2 bytes |
| `"optimizer"` | no arithmetic, 4 bytes | the same | 4 bytes: weights stay FP32 |

`predict` returns the ratio of two limits: the least time of a step of these layers, one after the
other, with recipe `before`, over that with recipe `after`.
"""

# %% tags=["setup"]
TOY = {"fp32": 10.0, "tf32": 40.0, "fp16": 80.0, "bandwidth": 1000.0}
CONV = {"kind": "matrix", "flops": 4e12, "numbers": 1e9}
NORM = {"kind": "other", "flops": 0, "numbers": 25e9}
MOMENTUM = {"kind": "optimizer", "flops": 0, "numbers": 5e9}


# %% task="t10_4" forbids=["ampcourse.benchmark"]
def least_time(layer, device, recipe):
    """Return the seconds that a layer takes at least."""
    ### BEGIN SOLUTION
    amp = recipe == "amp"
    width = 2 if amp and layer["kind"] != "optimizer" else 4
    memory = layer["numbers"] * width / (device["bandwidth"] * 1e9)
    if layer["kind"] != "matrix":
        return memory
    peak = device["fp16"] if amp else device.get(recipe, device["fp32"])
    return max(memory, layer["flops"] / (peak * 1e12))
    ### END SOLUTION


def predict(layers, device, before, after):
    """Return the layers' least time with `before` over that with `after`."""
    ### BEGIN SOLUTION
    first, second = (sum(least_time(x, device, r) for x in layers) for r in (before, after))
    return first / second
    ### END SOLUTION


# %% check="t10_4" points=6
with task("t10_4"):
    longer = "a layer takes the longer of two times: operations / peak and bytes / bandwidth"
    widths = "FP32 and TF32 move 4 bytes a number, AMP 2; the optimizer's numbers stay FP32"
    total = "layers run one after the other: add their times, then divide"
    both = "memory and arithmetic run at the same time: the longer counts, not the sum"
    scale = "TFLOP/s are 1e12 operations a second, GB/s 1e9 bytes"
    halves = "batch norm and ReLU move half the bytes under AMP: they get faster, too"
    kept = "the optimizer works on FP32 weights under AMP, too"
    nineteen = "TF32 is a type to compute in: in memory its numbers are FP32, 4 bytes"
    absent = "a device without TF32 computes in FP32"
    call = "float(least_time({}, TOY, {!r}))"
    check(call.format("CONV", "fp32"), ulps(0.4, 8), longer, {both: 0.404, scale: 4e11})
    heavy = 'CONV | {"numbers": 1e12}'
    check(call.format(heavy, "fp32"), ulps(4.0, 8), longer, {both: 4.4})
    check(call.format("CONV", "amp"), ulps(0.05, 8), longer, {both: 0.052})
    check(call.format("NORM", "amp"), ulps(0.05, 8), widths, {halves: 0.1})
    check(call.format("MOMENTUM", "amp"), ulps(0.02, 8), widths, {kept: 0.01})
    check(call.format(heavy, "tf32"), ulps(4.0, 8), widths, {nineteen: 2.0, both: 4.1})
    old = 'float(least_time(CONV, {"fp32": 5.0, "fp16": 40.0, "bandwidth": 900.0}, "tf32"))'
    slow = "where a device has no TF32, its FP32 peak counts"
    check(old, ulps(0.8, 8), slow, {absent: 0.1, both: 0.8 + 4 / 900})
    peaks = "the ratio of peaks holds for matrix layers above the ridge only"
    summed = "the sum of all operations against the sum of all bytes hides that some layers wait"
    rule = "two is a rule of thumb, not a prediction"
    call = "float(predict([CONV, NORM, MOMENTUM], TOY, {!r}, {!r}))"
    traps = {peaks: 8.0, summed: 0.4 / 0.072, halves: 0.52 / 0.17, kept: 0.52 / 0.11}
    traps |= {both: 0.524 / 0.122, rule: 2.0, "upside down: how many times as fast": 0.12 / 0.52}
    traps["averaging the layers' ratios forgets how long each takes"] = (8 + 2 + 1) / 3
    check(call.format("fp32", "amp"), ulps(0.52 / 0.12, 64), total, traps)
    traps = {"peaks of TF32 and FP16 are not all of it": 2.0, halves: 0.22 / 0.17}
    check(call.format("tf32", "amp"), ulps(0.22 / 0.12, 64), total, traps)
    bytes_too = "without Tensor Cores fewer bytes still save time"
    plain = 'float(predict([CONV, NORM, MOMENTUM], TOY | {"fp16": 10.0}, "fp32", "amp"))'
    check(plain, ulps(0.52 / 0.47, 64), total, {bytes_too: 1.0, both: 0.524 / 0.472})
    ### BEGIN HIDDEN TESTS
    from fractions import Fraction
    from random import Random

    t10_4_random = Random(1004)

    def t10_4_exact(layer, device, recipe, memory_too=False):
        """Return the exact time by the table."""
        width = 2 if recipe == "amp" and layer["kind"] != "optimizer" else 4
        memory = Fraction(layer["numbers"]) * width / (Fraction(device["bandwidth"]) * 10**9)
        if layer["kind"] != "matrix":
            return memory
        names = {"amp": "fp16", "tf32": "tf32" if "tf32" in device else "fp32"}
        peak = Fraction(device[names.get(recipe, "fp32")]) * 10**12
        return max(memory, Fraction(layer["flops"]) / peak)

    def t10_4_layers():
        """Return layers on both sides of any ridge."""
        kinds = ["matrix"] * 4 + ["other"] * 3 + ["optimizer"]
        t10_4_random.shuffle(kinds)
        made = []
        for kind in kinds:
            numbers = float(t10_4_random.randrange(10**6, 10**9))
            flops = round(numbers * t10_4_random.choice((3, 30, 90, 400, 2000)))
            made.append({"kind": kind, "flops": flops * (kind == "matrix"), "numbers": numbers})
        return made

    devices = (
        {"fp32": 15.7, "fp16": 125.0, "bandwidth": 900.0},
        {"fp32": 19.5, "tf32": 156.0, "fp16": 312.0, "bandwidth": 2039.0},
        {"fp32": 11.3, "fp16": 11.3, "bandwidth": 484.0},
        {"fp32": 82.6, "tf32": 82.6, "fp16": 165.0, "bandwidth": 1008.0},
    )
    for device in devices:
        layers = t10_4_layers()
        for layer in layers[:5]:
            for recipe in ("fp32", "tf32", "amp"):
                right = float(t10_4_exact(layer, device, recipe))
                reason = longer if layer["kind"] == "matrix" else widths
                if recipe == "tf32" and "tf32" not in device and layer["kind"] == "matrix":
                    reason = slow
                call = f"float(least_time({layer}, {device}, {recipe!r}))"
                check(call, ulps(right, 8), reason)
        for before, after in (("fp32", "amp"), ("tf32", "amp"), ("fp32", "tf32")):
            first, second = (
                sum(t10_4_exact(x, device, r) for x in layers) for r in (before, after)
            )
            call = f"float(predict({layers}, {device}, {before!r}, {after!r}))"
            check(call, ulps(float(first / second), 64), total)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Six cards, and what is known of them

(A good place for the second break.)

The same sum for more cards: modelled limits of ResNet50, 224 pixels, channels last, in images a
second, with the data sheet's clock and no gap between kernels. The good runs shown below reach two
thirds to nine tenths of their limits. A dash stands where there is no TF32, or none that is faster.
"""

# %%
from dataclasses import replace


def limit(device, recipe, layout="NHWC", works=works):
    work = replace(works["amp-fp16" if recipe == "amp-fp16" else "fp32"], recipe=recipe)
    return step_limit(work, device, layout).images_per_second


# %% tags=["nbval-ignore-output"]
print("             FP32   TF32    AMP   AMP/FP32   AMP/TF32")
for name in ("GTX 1080 Ti", "T4", "V100", "RTX 4090", "A100", "H200"):
    fp32, tf32, amp = (limit(name, recipe) for recipe in ("fp32", "tf32", "amp-fp16"))
    print(f"{name:11} {fp32:5.0f}", f"{tf32:6.0f}" if tf32 > fp32 else "     –", end="")
    print(f" {amp:6.0f} {amp / fp32:8.2f}", f"{amp / tf32:10.2f}" if tf32 > fp32 else "         –")

# %% [markdown]
r"""
**No Tensor Cores.** On a GTX 1080 Ti only the layers that memory limits can gain. A published run
gained nothing there: a ResNet18 at 256 pixels
([hoya012](https://github.com/hoya012/automatic-mixed-precision-tutorials-pytorch), PyTorch 1.6).
That network's own limits:
"""

# %% tags=["nbval-ignore-output"]
from torchvision.models import resnet18

from ampcourse.benchmark import records

found = {run.hardware: run for run in records("published")}
pascal = found["GTX 1080 Ti"]
eighteen = {recipe: workload(resnet18(), (256, 3, 256, 256), recipe) for recipe in works}
fp32, amp = (limit("GTX 1080 Ti", recipe, works=eighteen) for recipe in eighteen)
print(f"limits: {fp32:.0f} and {amp:.0f} images/s, {amp / fp32:.2f} times")
print(f"published: {pascal.baseline.value} and {pascal.amp.value} minutes", end=", ")
print(f"memory {pascal.memory_change:+.0%}")

# %% [markdown]
r"""
Those minutes are a whole training with its loader. Where the rest of the gain went, nobody
measured: casts, the kernels of 2020 and the loader are all possible. Memory is saved on any chip,
since a number stored is half as long; time only where something waited for those bytes or computes
faster.

**TF32 hides in the baseline.** From the A100 on, PyTorch 1.12 and later compute FP32 *convolutions*
in TF32 unless told otherwise, and matrix products in FP32 (1.7 to 1.11: both in TF32). TF32 is on
the Tensor Cores already, at half of FP16's rate and with FP32's bytes. So the model has 2.0 for AMP
on an A100 with such a baseline, not 5.9, and "AMP does little on my A100" may only say that the
baseline was fast. A comparison names its baseline; to make it FP32, set
`torch.backends.fp32_precision = "ieee"`. What yours is set to:
"""

# %% tags=["nbval-ignore-output"]
print("convolutions:", torch.backends.cudnn.conv.fp32_precision)
print("matrix products:", torch.backends.cuda.matmul.fp32_precision, '("none" is FP32)')

# %% [markdown]
r"""
**Layout.** Tensor Cores want images with channels last (NHWC,
`model.to(memory_format=torch.channels_last)`, the images as well). With channels first (NCHW), each
image is usually laid out anew on its way into a convolution and out of it. Two published rows
([NVIDIA](https://github.com/NVIDIA/DeepLearningExamples/tree/master/PyTorch/Classification/ConvNets/resnet50v1.5),
rounded rates) beside the model, each side **in the layout it ran in**:
"""

# %% tags=["nbval-ignore-output"]
for hardware, base in (("V100 16 GB", "fp32"), ("A100 80 GB", "tf32")):
    run, name = found[hardware], hardware.split()[0]
    batch = run.flags["batch"]
    print(f"{name}: {base.upper()}, NCHW, batch {run.flags.get('baseline_batch', batch)}", end="")
    print(f" to AMP, NHWC, batch {batch}")
    slow, fast = limit(name, base, "NCHW"), limit(name, "amp-fp16", "NHWC")
    for word, a, b in (("published", run.baseline.value, run.amp.value), ("limits", slow, fast)):
        print(f"  {word:9} {a:5.0f} to {b:5.0f} images/s: {b / a:.2f}")
    print(f"  limits, both NHWC: {fast / limit(name, base, 'NHWC'):.2f}")

# %% [markdown]
r"""
So the A100's 2.63 holds two changes, and the V100's 3.27 three: the batch changed, too, of which
the model knows nothing. Layout alone, AMP on both sides, published by
[timm](https://github.com/huggingface/pytorch-image-models/tree/main/results) for training on an RTX
3090 (224 pixels, batch 512, the transformer's 384, PyTorch 1.12), quoted here:
"""

# %% tags=["nbval-ignore-output"]
most = [limit("RTX 3090", "amp-fp16", layout) for layout in ("NCHW", "NHWC")]
quoted = {"resnet50": [826, 1218], "vit_small_patch16": [1053, 1058], "resnet50's limit": most}
for model, (nchw, nhwc) in quoted.items():
    print(f"{model:17} NCHW {nchw:4.0f}, NHWC {nhwc:4.0f} images/s: {nhwc / nchw:.2f}")

# %% [markdown]
r"""
The ResNet gains about what the model says. The vision transformer has hardly a convolution and
gains nothing. (In the same list `regnetx_004`, with its convolutions in groups, loses a third.
Measure; do not believe.)

**`torch.compile`** merges batch norm, ReLU and sums into fewer kernels, so that their numbers are
moved less often. In the model that is worth, with AMP:
"""

# %% tags=["nbval-ignore-output"]
for name in ("V100", "A100", "H200"):
    fused = step_limit(works["amp-fp16"], name, fused=True).images_per_second
    print(f"{name:5} {fused / limit(name, 'amp-fp16'):.2f}")

# %% [markdown]
r"""
**BF16** has the same peak as FP16 wherever Tensor Cores know it, from the A100's generation on. Ask
the right question, though. A T4 answers True to `torch.cuda.is_bf16_supported()`
([Soup#387](https://github.com/MakazhanAlpamys/Soup/issues/387)): it computes such numbers by
emulation, in FP32 with conversions. `is_bf16_supported(including_emulation=False)` says whether
there is hardware; *supported* never means *fast*.

## Predict, then measure: your CPU

First what this CPU can do, asked of its flags:
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.training.hardware import this_cpu

chip, known = this_cpu(), {True: "yes", False: "no", None: "not told"}
print(f"{chip.name}. Instructions for bf16: {known[chip.bf16]}; for fp16: {known[chip.fp16]}")

# %% [markdown]
r"""
A CPU has no data sheet that fits a virtual machine, so its peaks are measured: the best of some
matrix products for each type, and a sum of long arrays for the bandwidth. On one thread, and too
low if the machine is busy.
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.benchmark.devices import measure_cpu

torch.set_num_threads(1)
cpu = measure_cpu(seconds=2)
for fmt in ("fp32", "bf16", "fp16"):
    print(f"{fmt}: {1000 * cpu.peak(fmt):6.1f} GFLOP/s, ridge {cpu.ridge(fmt):5.1f}")
print(f"{cpu.bandwidth:.1f} GB/s")

# %% [markdown]
r"""
Now the prediction for two ops: a product of 512×512 matrices lies far to the right of the ridge, a
sum of 8 million numbers far to the left.
"""

# %% tags=["nbval-ignore-output"]
predicted = {"product": cpu.peak("bf16") / cpu.peak("fp32"), "sum": 4 / 2}
square, long = torch.randn(512, 512), torch.randn(2**23)

# %% tags=["nbval-ignore-output"]
for name, x, op in (("product", square, torch.mm), ("sum", long, torch.add)):
    runs = {}
    for dtype in (torch.float32, torch.bfloat16):
        a = x.to(dtype)
        runs[dtype] = partial(op, a, a, out=torch.empty_like(a))
    times = interleaved(runs, rounds=21, warm_up=2)
    measured = ratio(times[torch.float32], times[torch.bfloat16])
    sides = (measured.low > 1, "faster"), (measured.high < 1, "slower"), (True, "not shown")
    word = next(word for holds, word in sides if holds)
    print(f"{name}, BF16: predicted {predicted[name]:.2f}, measured {measured}: {word}")

# %% [markdown]
r"""
The last words are t10_2's verdict: "not shown" says that this run decides nothing, and a wide
interval that the machine was busy. On a quiet one:

- *The product* follows the peaks, since that is how they were found. Far below 1, the CPU usually
  has no bf16 instructions, converts each number and multiplies in FP32; far above 1, it usually
  has them.
- *The sum* halves its time where memory is the limit. Where it does not, conversions may be the
  limit, or the caches held part of the arrays. Without a model nobody would notice.

## Who waits for whom

There is a second limit beside the roof: the GPU can only work on what Python has issued. A
**profiler** writes down when each op ran. Live, on the CPU, a training step of a small network with
2 and with 64 images:
"""

# %%
import os
import tempfile
from pathlib import Path

from torch.profiler import profile

from ampcourse.benchmark.trace import modelled_trace, read_trace

# %%
os.environ["KINETO_LOG_LEVEL"] = "9"  # the profiler's own messages
cnn = torch.nn.Sequential(
    torch.nn.Conv2d(1, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(10816, 10)
)
sgd = torch.optim.SGD(cnn.parameters(), lr=0.01)


# %%
def train_step(images):
    sgd.zero_grad()
    cnn(images).square().mean().backward()
    sgd.step()


# %%
def profiled(images):
    with profile() as profiler:
        train_step(images)
    with tempfile.TemporaryDirectory() as folder:
        profiler.export_chrome_trace(f"{folder}/step.json")
        return read_trace(Path(folder, "step.json"))


# %% tags=["nbval-ignore-output"]
for batch in (2, 64):
    images = torch.randn(batch, 1, 28, 28)
    train_step(images)
    trace = min((profiled(images) for _ in range(9)), key=lambda trace: trace.length)
    print(f"batch {batch:2}: {trace.length / 1000:5.1f} ms", end=", ")
    print(f"{trace.host_busy:.0%} of it inside ops")


# %% [markdown]
r"""
(Of nine steps the quickest. What is not inside ops is Python, and the profiler's own work.) With 2
images a good part of the step lies between the ops, and faster arithmetic would not shorten it. On
a GPU the same question has two lanes, one for the host, one for the device.

Here is a step of ResNet50 on an H200 with AMP, batch 256, **as a model has it, not as a
measurement**: every kernel takes its least time on the roofline, and the host needs 25 µs to issue
one, an assumption. First with images of 224 pixels, then of 28; both figures show one millisecond
from the middle of the step.
"""

# %% tags=["nbval-ignore-output"]
tiny = {"amp-fp16": workload(net, (256, 3, 28, 28), "amp-fp16")}
h200 = {
    "224 pixels": modelled_trace(works["amp-fp16"], "H200", launch_us=25),
    "28 pixels": modelled_trace(tiny["amp-fp16"], "H200", launch_us=25),
}

# %% tags=["nbval-ignore-output"]
from ampcourse.plotting.timeline import timelines

words = (
    "Modelled millisecond; the host issues kernels all the time. "
    "224 pixels: the device works without a gap. 28 pixels: it waits for the host."
)
show(timelines(h200, start=6000, end=7000), alt=words)
for name, trace in h200.items():
    print(f"{name}: {trace.length / 1000:4.1f} ms, device busy {trace.device_busy:.0%}", end=", ")
    print(f"host issuing {trace.issue_share:.0%}")

# %% [markdown]
r"""
With 224 pixels the host is far ahead of the device, and later in the step it waits: the device is
the bottleneck. With 28 pixels each kernel is over long before the next one comes. Such a step is
**host-bound**, and precision cannot help it. Against FP32 at 28 pixels:
"""

# %% tags=["nbval-ignore-output"]
tiny["fp32"] = workload(net, (256, 3, 28, 28), "fp32")
small = {recipe: modelled_trace(work, "H200", launch_us=25) for recipe, work in tiny.items()}
for recipe in ("fp32", "amp-fp16"):
    trace = small[recipe]
    gpu_ms = trace.device_busy * trace.length / 1000
    print(f"{recipe:8} {len(tiny[recipe].kernels)} kernels, {gpu_ms:.1f} ms on the GPU", end=", ")
    print(f"{trace.length / 1000:.1f} ms a step")
print(f"AMP is {small['fp32'].length / small['amp-fp16'].length:.2f} times as fast", end=", ")
print(f"the kernels' ratio {len(tiny['fp32'].kernels) / len(tiny['amp-fp16'].kernels):.2f}")

# %% [markdown]
r"""
The GPU needs less than a third of the time, and the step takes **longer**: autocast adds casts,
each of them a kernel more to issue. That is the likely story of the ResNet20 at the top of this
lesson. The cure is more work in each kernel (larger batch, larger images), fewer kernels (a fused
optimizer, `torch.compile`), or issuing all of them at once (CUDA graphs, `mode="reduce-overhead"`).

One number tells it: the **share of the step that the host spends issuing**. Near 0 the device is
the bottleneck; above 0.9 the host sets the pace. What the host *waits* does not count. GradScaler
looks at the gradients once per step, so the host waits before the optimizer, and the last launches
come late in any FP16 step: that does not make it host-bound.
"""

# %% [markdown]
r"""
### t10_5 · Read a trace
A trace is a list of events `(lane, kind, start, end)` in microseconds, in no particular order, from
any zero: `("host", "launch", …)`, `("host", "wait", …)`, `("host", "load", …)` or `("device",
"kernel", …)`. Kernels of two streams may overlap. The step lasts from the first start to the last
end.

`read(trace)` returns `(busy, issue, bound)`: the share of the step in which the device did
anything; the share that the host spends in **launches** (they never overlap); and `"host"` if
`issue` is above 0.9, else `"device"` if `busy` is at least 0.9, else `"neither"`. `amp_ratio`
returns how many times as fast the step of trace `after` is, or None if either of the two is bound
by its host: then it is no speed-up of AMP's. Every trace has a launch and a kernel.
"""

# %% tags=["setup"]
LAUNCHES = [("host", "launch", 25 * k, 25 * k + 25) for k in range(4)]
SMALL = [*LAUNCHES, *(("device", "kernel", 25 * k + 25, 25 * k + 31) for k in range(4))]
LARGE = [
    *LAUNCHES,
    ("device", "kernel", 25, 145),
    ("device", "kernel", 145, 185),
    ("device", "kernel", 185, 305),
    ("device", "kernel", 305, 400),
    ("host", "wait", 100, 400),
]
SCALED = [
    ("host", "launch", 0, 60),
    ("device", "kernel", 20, 900),
    ("host", "wait", 60, 900),
    ("host", "launch", 900, 980),
    ("device", "kernel", 920, 1000),
    ("host", "wait", 980, 1000),
]


# %% task="t10_5" forbids=["ampcourse.benchmark"]
def read(trace):
    """Return (share the device is busy, share in launches, what binds)."""
    ### BEGIN SOLUTION
    first, last = min(e[2] for e in trace), max(e[3] for e in trace)
    busy, reached = 0, first
    for _, _, start, end in sorted((e for e in trace if e[0] == "device"), key=lambda e: e[2]):
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    issued = sum(end - start for _, kind, start, end in trace if kind == "launch")
    shares = busy / (last - first), issued / (last - first)
    bound = "host" if shares[1] > 0.9 else "device" if shares[0] >= 0.9 else "neither"
    return *shares, bound
    ### END SOLUTION


def amp_ratio(before, after):
    """Return how many times as fast `after` is, None if one of the two is host-bound."""
    ### BEGIN SOLUTION
    if "host" in (read(before)[2], read(after)[2]):
        return None
    first, second = (max(e[3] for e in t) - min(e[2] for e in t) for t in (before, after))
    return first / second
    ### END SOLUTION


# %% check="t10_5" points=6
with task("t10_5"):
    busy = "the device's time that any kernel covers, over the step from first start to last end"
    issue = "the time in launches, over the step from first start to last end"
    binds = "issue above 0.9: host; else busy of at least 0.9: device; else neither"
    claim = "a ratio is AMP's only if neither of the two steps is host-bound"
    twice = "kernels that overlap are counted twice: take the time that any of them covers"
    waiting = "a wait issues nothing: only launches count"
    late = "the host waited here for the device: a late last launch does not make waiting issuing"
    reading = "reading a batch is no launch"
    zero = "this trace does not start at 0: count from its first start"
    check("read(SMALL)[0]", ulps(24 / 106, 64), busy, {"of the time of the launches": 0.24})
    check("read(SMALL)[1]", ulps(100 / 106, 64), issue)
    check("read(LARGE)[0]", ulps(375 / 400, 64), busy)
    check("read(LARGE)[1]", ulps(100 / 400, 64), issue, {waiting: 1.0})
    check("read(SCALED)[1]", ulps(140 / 1000, 64), issue, {late: 0.98, waiting: 1.0})
    shuffled = "events come in no particular order: sort them"
    streams = '[("device", "kernel", 50, 90), ("device", "kernel", 10, 70), '
    streams += '("device", "kernel", 20, 40), ("host", "launch", 0, 10)]'
    nested = "a kernel that ends earlier than one before it hides nothing of that one"
    traps = {twice: 120 / 90, nested: 100 / 90, shuffled: 40 / 90}
    check(f"read({streams})[0]", ulps(80 / 90, 64), busy, traps)
    moved_on = "[(lane, kind, start + 900, end + 900) for lane, kind, start, end in LARGE]"
    check(f"read({moved_on})[1]", ulps(100 / 400, 64), issue, {zero: 100 / 1300, waiting: 1.0})
    check(f"read({moved_on})[0]", ulps(375 / 400, 64), busy, {zero: 375 / 1300})
    idle = "a device that waits need not wait for launches: look at issue first"
    loading = '[("host", "load", 0, 50), ("host", "launch", 50, 60), ("device", "kernel", 60, 100)]'
    check(f"read({loading})[1]", ulps(0.1, 64), issue, {reading: 0.6})
    check("[read(t)[2] for t in (SMALL, LARGE)]", ["host", "device"], binds)
    check("read(SCALED)[2]", "device", binds, {"issuing is not what this host does": "host"})
    check(f"read({loading})[2]", "neither", binds, {idle: "host"})
    first = "both above 0.9: the rule asks for the host first"
    level = '[("host", "launch", 0, 95), ("device", "kernel", 5, 100)]'
    check(f"read({level})[2]", "host", binds, {first: "device"})
    step = "the step lasts until the last end, of the host as well"
    tail = '[("host", "launch", 0, 10), ("device", "kernel", 10, 30), ("host", "load", 10, 40)]'
    check(f"read({tail})[0]", ulps(0.5, 64), busy, {step: 20 / 30})
    last = "look at both traces: the baseline can be host-bound, too"
    fast = "AMP made this step host-bound: the ratio is what the host allowed"
    quick = "[(lane, kind, start // 2, end // 2) for lane, kind, start, end in LARGE]"
    traps = {"upside down": 0.5, "neither of the two is host-bound": None}
    check(f"amp_ratio(LARGE, {quick})", ulps(2.0, 64), claim, traps)
    check("amp_ratio(LARGE, SMALL)", None, claim, {fast: 400 / 106})
    check("amp_ratio(SMALL, LARGE)", None, claim, {last: 106 / 400})
    gap = "None is for a host that binds: loading is slow, too, but not that"
    check(f"amp_ratio({loading}, LARGE)", ulps(0.25, 64), claim, {gap: None, "upside down": 4.0})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import numpy as np

    t10_5_random = Random(1005)

    def t10_5_trace(kernels, launch, need, load=0, overlap=0, looks=False, after=0):
        """Return a step in shuffled order, from an odd zero."""
        zero = t10_5_random.randrange(1000)
        events, host, free = [], zero, zero
        if load:
            events.append(("host", "load", zero, zero + load))
            host = free = zero + load
        for k in range(kernels):
            if looks and k == kernels - 1 and free > host:
                events.append(("host", "wait", host, free))
                host = free
            events.append(("host", "launch", host, host + launch))
            host += launch
            length = t10_5_random.randrange(need // 2, need * 2) + 1
            begin = max(host, free - t10_5_random.randrange(overlap + 1))
            events.append(("device", "kernel", begin, begin + length))
            free = max(free, begin + length)
        if free > host:
            events.append(("host", "wait", host, free))
        if after:
            events.append(("host", "load", max(host, free), max(host, free) + after))
        t10_5_random.shuffle(events)
        return events

    def t10_5_right(trace):
        """Return shares and verdict, each microsecond marked on a ruler."""
        starts, ends = np.array([e[2:] for e in trace]).T
        first, length = int(starts.min()), int(ends.max() - starts.min())
        ruler = np.zeros((2, length), bool)
        for lane, kind, start, end in trace:
            if kind in ("kernel", "launch"):
                ruler[int(lane == "host"), start - first : end - first] = True
        shares = tuple(np.count_nonzero(ruler, axis=1) / length)
        bound = "device" if shares[0] >= 0.9 else "neither"
        return *map(float, shares), "host" if shares[1] > 0.9 else bound, length

    made = []
    for options in (
        {"kernels": 6, "launch": 25, "need": 4},
        {"kernels": 5, "launch": 25, "need": 70, "looks": True},
        {"kernels": 4, "launch": 10, "need": 400, "overlap": 90},
        {"kernels": 3, "launch": 20, "need": 30, "load": 500},
        {"kernels": 6, "launch": 49, "need": 2},
        {"kernels": 5, "launch": 12, "need": 300, "overlap": 80, "looks": True},
        {"kernels": 4, "launch": 10, "need": 40, "load": 40, "overlap": 20, "looks": True},
        {"kernels": 5, "launch": 25, "need": 20, "after": 200},
        {"kernels": 4, "launch": 14, "need": 500, "overlap": 40, "looks": True},
        {"kernels": 5, "launch": 30, "need": 6, "load": 12},
    ):
        trace = t10_5_trace(**options)
        right = t10_5_right(trace)
        made.append((trace, right))
        check(f"read({trace})[0]", ulps(right[0], 64), busy)
        check(f"read({trace})[1]", ulps(right[1], 64), issue)
        check(f"read({trace})[2]", right[2], binds)
    for border, right in (
        ([("host", "launch", 7, 97), ("device", "kernel", 100, 107)], "neither"),
        ([("host", "launch", 7, 98), ("device", "kernel", 100, 107)], "host"),
        ([("host", "launch", 7, 17), ("device", "kernel", 18, 107)], "neither"),
        ([("host", "launch", 7, 104), ("device", "kernel", 9, 107)], "host"),
    ):
        check(f"read({border})[2]", right, binds)
    exactly = "a device that is busy for exactly 0.9 binds; a host that issues for 0.9 does not"
    border = [("host", "launch", 0, 10), ("device", "kernel", 10, 100)]
    check(f"read({border})[2]", "device", binds, {exactly: "neither"})
    for (one, first), (other, second) in zip(made, made[1:] + made[:1], strict=True):
        host = "host" in (first[2], second[2])
        right = None if host else ulps(first[3] / second[3], 64)
        check(f"amp_ratio({one}, {other})", right, claim)
    for (one, first), (other, second) in ((made[1], made[2]), (made[5], made[8])):
        right = ulps(first[3] / second[3], 64)
        check(f"amp_ratio({one}, {other})", right, claim)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## One number, one cause

Lesson 00 asked whether a comparison is fair. Now you can say what is wrong with it. And one gain is
left that is often counted twice: AMP saves memory, so a larger batch fits. "**Double the batch and
twice the speed**" are two things. At the same batch AMP is faster by some ratio; the larger batch
may add a little, where the smaller one left the GPU waiting; and it changes the training.

### t10_6 · What else differs
A row describes one run. `faults(before, after, called)` returns the **sorted list** of what speaks
against taking the ratio of two rows as AMP's speed-up over a baseline that is `called` `"fp32"` or
`"tf32"`; an empty list if nothing does:

- `"hardware"`, `"batch"`, `"layout"`, `"compiled"`: the two rows differ in it.
- `"tf32"`: the baseline computed in another type than it is called. It is TF32 if `tf32` is
  allowed **and** the card can: `capability` of at least (8, 0).
- `"warm-up"`: a run without warm-up steps. `"loader"`: one that read data inside the clock.
- `"sync"`: a GPU's run without synchronisation. A CPU, whose `capability` is None whatever its
  name, is done when the call returns.
- `"host"`: a run whose `issue` share is above 0.9. (None, as on a CPU, is no such share.)
- `"emulated"`: a run in BF16 (`bf16`) on a card of `capability` below (8, 0), which has no BF16
  units, whatever `is_bf16_supported()` says. (Of CPUs nothing is said.)

`gains(rows)` takes rows with `recipe` (`"fp32"` or `"amp"`), `batch` and `rate` in images/s, None
where memory was too small. Return three numbers, each of AMP over FP32: the ratio of rates at the
**largest batch that both ran**; of the largest batches; and of the rates, each recipe at its own
largest batch. The two recipes need not have tried the same batches.
"""

# %% tags=["setup"]
BASE = {
    "hardware": "A100",
    "capability": (8, 0),
    "tf32": False,
    "bf16": False,
    "batch": 256,
    "layout": "NHWC",
    "compiled": False,
    "warm_up": 20,
    "synchronized": True,
    "loader": False,
    "issue": 0.2,
}
CPU = {
    "hardware": "EPYC",
    "capability": None,
    "synchronized": False,
    "issue": None,
}
RUNS = [
    {"recipe": "fp32", "batch": 64, "rate": 340.0},
    {"recipe": "fp32", "batch": 128, "rate": 360.0},
    {"recipe": "fp32", "batch": 256, "rate": None},
    {"recipe": "amp", "batch": 64, "rate": 800.0},
    {"recipe": "amp", "batch": 128, "rate": 1080.0},
    {"recipe": "amp", "batch": 256, "rate": 1200.0},
]


# %% task="t10_6" forbids=["ampcourse.benchmark"]
def faults(before, after, called):
    """Return the sorted names of what speaks against this speed-up."""
    ### BEGIN SOLUTION
    runs = before, after
    names = ("hardware", "batch", "layout", "compiled")
    found = [name for name in names if before[name] != after[name]]
    can = before["capability"] is not None and before["capability"] >= (8, 0)
    if called != ("tf32" if before["tf32"] and can else "fp32"):
        found.append("tf32")
    if not all(run["warm_up"] for run in runs):
        found.append("warm-up")
    if any(run["loader"] for run in runs):
        found.append("loader")
    if any(run["capability"] is not None and not run["synchronized"] for run in runs):
        found.append("sync")
    if any(run["issue"] is not None and run["issue"] > 0.9 for run in runs):
        found.append("host")
    if any(run["bf16"] and (run["capability"] or (8, 0)) < (8, 0) for run in runs):
        found.append("emulated")
    return sorted(found)
    ### END SOLUTION


def gains(rows):
    """Return (ratio at equal batch, growth of the largest batch, ratio at own largest batches)."""
    ### BEGIN SOLUTION
    rates = {name: {} for name in ("fp32", "amp")}
    for row in rows:
        if row["rate"] is not None:
            rates[row["recipe"]][row["batch"]] = row["rate"]
    slow, fast = rates["fp32"], rates["amp"]
    shared, a, b = max(slow.keys() & fast.keys()), max(slow), max(fast)
    return fast[shared] / slow[shared], b / a, fast[b] / slow[a]
    ### END SOLUTION


# %% check="t10_6" points=6
with task("t10_6"):
    same = "hardware, batch, layout and compile are the same in both rows"
    type_ = "the baseline is called what it computed in"
    clock = "both ran warm, without the loader inside, and on a GPU with a wait"
    host = "a step that is host-bound says nothing of AMP"
    units = "BF16 counts where the card has units for it, from (8, 0) on"
    emulates = "that card only emulates BF16, though is_bf16_supported() is True there"
    several = "every fault is named, and nothing else, sorted"
    equal = "the same batch for both, the largest that both ran"
    larger = "AMP's largest batch over FP32's largest batch"
    own = "each recipe at its own largest batch"
    call = "list(faults(BASE, BASE | {}, {!r}))"
    grown = "a larger batch is a second gain: it is a fault of this comparison"
    turned = "the layout changed, too: that is a gain of its own"
    hidden = "TF32 was on, and this card can: the baseline was not FP32"
    old = "a V100 has no TF32: that it is allowed changes nothing"
    named = "a ratio over TF32 is fine where TF32 is named"
    done = "a CPU is done when the call returns"
    cold = "a cold run in either row is a fault"
    bound = "the baseline may be host-bound"
    nothing = "nothing speaks against this one"

    def t10_6(change, called="fp32", base="{}"):
        return f"list(faults(BASE | {base}, BASE | {base} | {change}, {called!r}))"

    def t10_6_before(change, called="fp32"):
        return f"list(faults(BASE | {change}, BASE, {called!r}))"

    check(t10_6("{}"), [], several, {"TF32 that is off and not claimed is no fault": ["tf32"]})
    check(t10_6('{"batch": 512}'), ["batch"], same, {grown: []})
    check(t10_6_before('{"layout": "NCHW"}'), ["layout"], same, {turned: []})
    check(t10_6_before('{"tf32": True}'), ["tf32"], type_, {hidden: []})
    v100 = '{"hardware": "V100", "capability": (7, 0), "tf32": True}'
    check(t10_6("{}", base=v100), [], type_, {old: ["tf32"]})
    check(t10_6('{"tf32": False}', "tf32", '{"tf32": True}'), [], type_, {named: ["tf32"]})
    check(t10_6("{}", base="CPU"), [], clock, {done: ["sync"], nothing: ["host"]})
    check(t10_6_before('{"warm_up": 0}'), ["warm-up"], clock, {cold: []})
    check(t10_6('{"issue": 0.95}'), ["host"], host)
    check(t10_6_before('{"issue": 0.95}'), ["host"], host, {bound: []})
    check(t10_6('{"synchronized": False}'), ["sync"], clock)
    t4 = '{"hardware": "T4", "capability": (7, 5)}'
    check(t10_6('{"bf16": True}', base=t4), ["emulated"], units, {emulates: []})
    newer = "an A100 computes BF16 itself: nothing is emulated"
    check(t10_6('{"bf16": True}'), [], units, {newer: ["emulated"]})
    check(t10_6_before('{"compiled": True}'), ["compiled"], same)
    check(t10_6('{"hardware": "H100"}'), ["hardware"], same)
    check(t10_6("{}", "tf32"), ["tf32"], type_)
    loader = '{"loader": True}'
    check(t10_6("{}", base=loader), ["loader"], clock, {"name each once": ["loader", "loader"]})
    change = '{"layout": "NCHW", "batch": 112, "tf32": True}'
    check(t10_6_before(change), ["batch", "layout", "tf32"], several)
    traps = {
        "that compares two different batches": 1200 / 360,
        "the largest, not the first": 800 / 340,
    }
    check("float(gains(RUNS)[0])", ulps(3.0, 2), equal, traps)
    tried = [("fp32", 64, 300.0), ("amp", 192, 990.0), ("amp", 64, 750.0), ("fp32", 112, 330.0)]
    odd = [dict(zip(("recipe", "batch", "rate"), row, strict=True)) for row in tried]
    check(f"float(gains({odd})[0])", ulps(2.5, 2), equal, {"at their own batches": 3.0})
    check("float(gains(RUNS)[1])", ulps(2.0, 2), larger, {"a batch that did not fit": 1.0})
    product = "the two gains do not multiply: a rate holds both already"
    check("float(gains(RUNS)[2])", ulps(1200 / 360, 2), own, {product: 6.0, "at equal batch": 3.0})
    ### BEGIN HIDDEN TESTS
    from itertools import product as t10_6_product
    from random import Random
    from typing import Any

    t10_6_random = Random(1006)
    t10_6_faults: dict[str, dict[str, Any]] = {
        "hardware": {"hardware": "H100"},
        "batch": {"batch": 512},
        "layout": {"layout": "NCHW"},
        "compiled": {"compiled": True},
        "warm-up": {"warm_up": 0},
        "loader": {"loader": True},
        "sync": {"synchronized": False},
        "host": {"issue": 0.91},
    }
    for name in ("warm-up", "loader", "sync", "host"):
        change = t10_6_faults[name]
        check(f"list(faults(BASE | {change}, BASE | {change}, 'fp32'))", [name], several)
    for name in ("Xeon", "Ryzen"):
        call = f"list(faults(BASE | CPU | {{'hardware': {name!r}}}, BASE | CPU | {{'hardware': "
        check(f"{call}{name!r}}}, 'fp32'))", [], clock)
    t10_6_reasons = dict.fromkeys(("hardware", "batch", "layout", "compiled"), same)
    t10_6_reasons |= dict.fromkeys(("warm-up", "loader", "sync"), clock) | {"host": host}
    for name, change in t10_6_faults.items():
        check(f"list(faults(BASE | {change}, BASE, 'fp32'))", [name], t10_6_reasons[name])
        check(f"list(faults(BASE, BASE | {change}, 'fp32'))", [name], t10_6_reasons[name])
        if name in ("hardware", "batch", "layout", "compiled"):
            call = f"list(faults(BASE | {change}, BASE | {change}, 'fp32'))"
            check(call, [], same)
    for capability, allowed, called in t10_6_product(
        ((7, 0), (7, 5), (8, 0), (8, 9), (9, 0), (10, 0), None), (False, True), ("fp32", "tf32")
    ):
        nvidia = capability is not None and capability[0] >= 8
        right = [] if called == ("tf32" if allowed and nvidia else "fp32") else ["tf32"]
        change = {"capability": capability, "tf32": allowed}
        call = f"list(faults(BASE | {change}, BASE | {change} | {{'tf32': False}}, {called!r}))"
        check(call, right, type_)
        call = f"list(faults(BASE | {change}, BASE | {change} | {{'tf32': True}}, {called!r}))"
        check(call, right, type_)
    for change, right, why in (
        ({"issue": 0.9}, [], host),
        ({"issue": 1.0}, ["host"], host),
        ({"warm_up": 1}, [], clock),
        ({"warm_up": 3}, [], clock),
    ):
        check(f"list(faults(BASE | {change}, BASE, 'fp32'))", right, why)
        check(f"list(faults(BASE, BASE | {change}, 'fp32'))", right, why)
    for capability in ((7, 0), (7, 5), (8, 0), (8, 6), (9, 0), (10, 0), None):
        change = {"capability": capability, "bf16": True}
        right = ["emulated"] if capability is not None and capability[0] < 8 else []
        plain = {"capability": capability}
        check(f"list(faults(BASE | {plain}, BASE | {change}, 'fp32'))", right, units)
        check(f"list(faults(BASE | {change}, BASE | {plain}, 'fp32'))", right, units)
    for _ in range(12):
        chosen = t10_6_random.sample(sorted(t10_6_faults), t10_6_random.randrange(2, 6))
        two: tuple[dict, dict] = ({}, {})
        for name in chosen:
            t10_6_random.choice(two).update(t10_6_faults[name])
        call = f"list(faults(BASE | {two[0]}, BASE | {two[1]}, 'fp32'))"
        check(call, sorted(chosen), several)
    for change, right in (
        ({"warm_up": 0}, ["warm-up"]),
        ({"loader": True}, ["loader"]),
        ({"layout": "NCHW"}, ["layout"]),
        ({}, []),
    ):
        check(f"list(faults(BASE | CPU | {change}, BASE | CPU, 'fp32'))", right, several)
    for _ in range(5):
        steps = [32 * 2**k for k in range(6)]
        fits = t10_6_random.randrange(2, 4)
        more = fits + t10_6_random.randrange(1, 3)
        rates: dict[str, dict[int, Any]] = {"fp32": {}, "amp": {}}
        # What only one of the two tried, as a search by halves leaves behind.
        alone = steps[fits - 1] + t10_6_random.randrange(1, 9)
        for name, most in (("fp32", fits), ("amp", more)):
            for k, b in enumerate(steps):
                rates[name][b] = float(t10_6_random.randrange(200, 900)) if k < most else None
        rates["fp32"][alone] = float(t10_6_random.randrange(200, 900))
        rows = [
            {"recipe": name, "batch": b, "rate": rate}
            for name, of in rates.items()
            for b, rate in of.items()
        ]
        t10_6_random.shuffle(rows)
        a, b = steps[fits - 1], steps[more - 1]
        check(f"float(gains({rows})[0])", ulps(rates["amp"][a] / rates["fp32"][a], 2), equal)
        check(f"float(gains({rows})[1])", ulps(b / alone, 2), larger)
        check(f"float(gains({rows})[2])", ulps(rates["amp"][b] / rates["fp32"][alone], 2), own)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

First your predictions:
"""

# %% tags=["nbval-ignore-output"]
best = limit("H200", "amp-fp16") / limit("H200", "fp32")
gain = small["fp32"].length / small["amp-fp16"].length
print(f"the clock:  you said {my_clock}; 40 µs, whatever the GPU does")
print(f"the H200:   you said {my_h200}; {best:.1f}, modelled")
print(f"batch norm: you said {my_norm}; faster, it moves half the bytes")
print(f"28 pixels:  you said {my_small}; {gain:.1f}, as the kernels: each is issued by Python")

# %% [markdown]
r"""
- **"`time.time()` around the step will do."** Without a wait it times Python (t10_1).
- **"The average of a hundred steps is safe."** One disturbed step moves it (t10_1).
- **"A is faster: I measured A, then B."** Take turns (t10_2).
- **"Tensor Cores are eight times as fast, so training is."** Only the layers above the ridge, and
  not every convolution is: on an H200 30 of a ResNet50's 53 are not (t10_4).
- **"AMP does not help layers that only move memory."** Batch norm, ReLU and sums move half the
  bytes (t10_4). Layer norm and softmax, which autocast runs in FP32, do not.
- **"Small nets gain, too."** What is issued one kernel at a time waits for Python, and AMP issues
  more of them (t10_5).
- **"The last launch is late, so the host is the bottleneck."** It may have waited for the scaler's
  look at the gradients (t10_5).
- **"`is_bf16_supported()` is True, so BF16 is fast."** A T4 says so and emulates it (t10_6).
- **"AMP does nothing on my card."** Look at the baseline's TF32, then at the host, the loader and
  the layout.
- **"Double the batch and twice the speed make four."** The rate at the larger batch holds both
  (t10_6).

## Say it aloud

Warm up, wait before both readings of the clock, take turns, take the median and an interval. A
kernel takes at least the longer of operations over peak and bytes over bandwidth; a step is the sum
of its kernels. Under AMP matrix layers compute faster and a ResNet's activations are half as long,
and what remains sets the limit. The model's ratio for a ResNet50 is between 2 and 6 on cards with
Tensor Cores, 2.0 on an A100 whose baseline was TF32, and 1.25 on a GTX 1080 Ti, which has none. If
Python issues for more than 90 % of the step, the ratio is Python's. And before I believe a factor I
ask: over what, at which batch, in which layout?

## Where next

On the 1080 Ti memory fell and time did not: `11_memory` shows where it went. The whole
comparison on ResNet50, with its accuracy, is in `14_resnet50`. On a machine with a GPU,
`ampcourse benchmark` measures all that was modelled here.
"""
