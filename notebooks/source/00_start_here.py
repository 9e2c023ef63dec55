# %% [markdown]
r"""
# Start here

Training a network is mostly multiplying and adding. Mixed precision (in PyTorch *automatic
mixed precision*, AMP) does the bulk of that in 16-bit numbers and keeps 32 bits where 16 would
hurt. You will hear that this makes training twice as fast. In about fifteen minutes you say what
you believe, look at what others measured and measure it on the machine in front of you.
"""

# %% tags=["setup"]
from ampcourse.courseware import between, check, number, task

# %% [markdown]
r"""
## How this course works

Every lesson goes the same way: **run** a cell (Shift+Enter), **predict** before you look,
**solve** a task, **check** it. A check answers at once, and where an answer is wrong it shows
the call, what came out, what should have, and why. No lesson needs a GPU, and none downloads
anything while you work. If there is an NVIDIA GPU that your PyTorch supports, the measurements
use it.

Try it with a task that is meant to be easy. Run the next two cells as they are: the card says
that the task is still open. Then put your line in place of `raise NotImplementedError` and run
both again. (The second cell holds the checks and is folded to its first line; a click opens it.)

### t00_1 · From bits to bytes
An FP32 number takes 32 bits, an FP16 number 16, and eight bits make a byte. How many bytes do
`count` numbers, each of `bits` bits, take together?
"""


# %% task="t00_1"
def size(count, bits):
    """Return the bytes that `count` numbers, each of `bits` bits, take together."""
    ### BEGIN SOLUTION
    return count * bits // 8
    ### END SOLUTION


# %% check="t00_1" points=1
with task("t00_1"):
    why = "the numbers have count × bits bits, and eight bits make a byte"
    in_bits = "that counts bits, and eight of them make a byte"
    check("size(10, 32)", number(40), why, {in_bits: 320})
    check("size(10, 16)", number(20), why, {in_bits: 160})
    ### BEGIN HIDDEN TESTS
    for count, bits in ((1, 64), (25_557_032, 16), (1_000, 8), (6, 4), (0, 32)):
        right = number(count * bits / 8)
        four = {"4 bytes is the size of an FP32 number only": 4 * count}
        check(f"size({count}, {bits})", right, why, traps={in_bits: count * bits, **four})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## How much faster will it be?

Three trainings, each run in 32 bits and then again in mixed precision. The rule of thumb says
2 for all of them. Put what you believe in place of each `None`: 2 is twice as fast, 1 is no
difference, 0.5 is half as fast. Nobody marks this.
"""

# %%
guess = {
    "V100 16 GB": None,  # a data-centre GPU, training ResNet50
    "GTX 1080 Ti": None,  # a gaming GPU, training ResNet18
    "this machine": None,  # whatever you sit at, training a small CNN
}

# %% [markdown]
r"""
Now look. Your guesses are the crosses; the third waits for your own machine.
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.benchmark import records
from ampcourse.benchmark.report import sentence, sources, table
from ampcourse.plotting import show
from ampcourse.plotting.speedups import speedups

show(speedups(records(), guess), alt=". ".join(sentence(r) for r in records()))

# %% [markdown]
r"""
**The same idea made training more than three times as fast (the V100), changed nothing (the GTX
1080 Ti), or made it take more than four times as long (the CPU in the last row).** The two largest
factors are not precision alone: NVIDIA's mixed-precision runs also changed the memory layout, and
on the V100 the batch (112 → 256).

Three things decide, and they differ from case to case:

- *The chip.* The V100 has Tensor Cores, units that multiply 16-bit matrices. The 1080 Ti has
  none, and the CPU in the last row has no instruction that computes with 16-bit floats.
- *The baseline.* From the A100's generation on, PyTorch runs FP32 convolutions (not matrix
  products) in TF32 unless told otherwise: Tensor Cores again, which take only 10 of the 23 stored
  significand bits of each number. On an A100 TF32's peak is eight times FP32's (156 against
  19.5 TFLOP/s), so a factor over TF32 and one over FP32 are two different numbers.
- *The bottleneck.* Where a GPU waits for Python or for the disk, neither faster arithmetic nor
  smaller numbers buy anything.

Blue was published with its measurements; orange is quoted from an article whose measurements
cannot be looked up; green we measured, with the code that you will run below. Where each row is
from, and what else one must know of it:
"""

# %%
sources(records())

# %% [markdown]
r"""
## Does memory follow time?

The 1080 Ti gained no time. Before you run the next cell: did it save memory?
"""

# %% tags=["nbval-ignore-output"]
table([r for r in records() if r.memory_change is not None])

# %% [markdown]
r"""
It saved 38 %, more than the 2080 Ti, which gained the most time of the four runs whose memory is
known. Storing a number in 16 bits saves memory on any chip; computing with it saves time only on
some. And memory does not halve: the values kept for the backward pass shrink, but not all that a
step holds does (`11_memory` counts it).

### t00_2 · Read a table
Each run is a row, as below. A unit that ends in `/s` is a rate: so many images per second, for
one. Every other unit here is a time, `ms/step` too, the milliseconds that a step takes. Write
two functions of the baseline's row and the mixed-precision row. `speedup` returns how many times
as fast mixed precision was. `memory_change` returns the change of memory as a fraction of the
baseline's: −0.25 if a quarter was saved.
"""

# %% tags=["setup"]
RTX_4090 = (
    {"value": 22.27, "unit": "min", "memory_mb": 22818},
    {"value": 16.99, "unit": "min", "memory_mb": 15508},
)
STEPS = {"value": 41.0, "unit": "ms/step"}, {"value": 20.5, "unit": "ms/step"}
V100 = {"value": 367.0, "unit": "images/s"}, {"value": 1200.0, "unit": "images/s"}


# %% task="t00_2"
def speedup(before, after):
    """Return how many times as fast `after` is; below 1 where it is slower."""
    ### BEGIN SOLUTION
    if before["unit"].endswith("/s"):
        return after["value"] / before["value"]
    return before["value"] / after["value"]
    ### END SOLUTION


def memory_change(before, after):
    """Return the change of memory as a fraction of the memory before."""
    ### BEGIN SOLUTION
    return after["memory_mb"] / before["memory_mb"] - 1
    ### END SOLUTION


# %% check="t00_2" points=4
with task("t00_2"):
    takes = "a run that takes half the time is twice as fast"
    does = "a run that does twice as much per second is twice as fast"
    memory = "the change is after minus before, over before"
    over = "upside down: half the time would come out as half the speed"
    saved = "that is the share of the time that was saved; the factor is asked for"
    rate = "images/s is a rate, not a time: more of it is faster"
    step = "ms/step is a time in spite of the slash: less of it is faster"
    left = "that is the share that is left, not the change"
    sign = "the sign is the other way round: less memory is a negative change"
    percent = "that is in percent; a fraction is asked for"
    divisor = "that is over the memory after; the change is a fraction of the memory before"
    times = {over: 16.99 / 22.27, saved: 1 - 16.99 / 22.27}
    share = 15508 / 22818
    memories = {left: share, sign: 1 - share, percent: 100 * (share - 1), divisor: -7310 / 15508}
    check("float(speedup(*RTX_4090))", between(1.31077, 1.310772), takes, times)
    check("float(speedup(*STEPS))", between(1.999999, 2.000001), takes, {step: 0.5})
    check("float(speedup(*V100))", between(3.269754, 3.269756), does, {rate: 367.0 / 1200.0})
    check("float(memory_change(*RTX_4090))", between(-0.3203614, -0.3203608), memory, memories)
    ### BEGIN HIDDEN TESTS
    PERCENT = "that is a percentage; the factor itself is asked for"
    GAIN = "that counts from 1 on: 31 % faster is a factor of 1.31"
    RULE = "the rule of thumb is not a measurement: divide the two numbers"
    SIZE = "the unit decides, not the size of the number"

    def near(x):
        return between(*sorted((x * (1 - 1e-6), x * (1 + 1e-6))))

    for a, b, unit, slip in (
        (54.3, 37.3, "min", over),
        (64.9, 64.7, "min", over),
        (11.687, 51.47, "ms/step", step),
        (333, 141, "s", SIZE),
    ):
        call = f"speedup({{'value': {a}, 'unit': '{unit}'}}, {{'value': {b}, 'unit': '{unit}'}})"
        traps = {slip: b / a, PERCENT: 100 * (1 - b / a), saved: 1 - b / a, GAIN: a / b - 1}
        check(f"float({call})", near(a / b), takes, traps=traps | {RULE: 2.0})
    for a, b, unit, slip in (
        (938.0, 2470.0, "images/s", rate),
        (12.5, 31.0, "images/s", SIZE),
        (5100.0, 3400.0, "tokens/s", "tokens/s is a rate, not a time: more of it is faster"),
    ):
        call = f"speedup({{'value': {a}, 'unit': '{unit}'}}, {{'value': {b}, 'unit': '{unit}'}})"
        traps = {slip: a / b, PERCENT: 100 * (b / a - 1), saved: 1 - a / b, GAIN: b / a - 1}
        check(f"float({call})", near(b / a), does, traps=traps | {RULE: 2.0})
    for m, n, s, t in ((10737, 6615, 64.9, 64.7), (10855, 7799, 54.3, 37.3), (512, 576, 9.0, 6.0)):
        rows = [{"value": v, "unit": "min", "memory_mb": mb} for v, mb in ((s, m), (t, n))]
        traps = {
            left: n / m,
            sign: 1 - n / m,
            percent: 100 * (n / m - 1),
            divisor: (n - m) / n,
            "that is in megabytes; a fraction of the memory before is asked for": float(n - m),
            "memory does not follow time: use memory_mb": t / s - 1,
            "memory does not simply halve: use memory_mb": -0.5,
        }
        call = f"float(memory_change({rows[0]}, {rows[1]}))"
        check(call, near(n / m - 1), memory, traps=traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Your machine

There are two 16-bit formats, FP16 and BF16; on a CPU this course uses BF16, and lesson 01 explains
both. First, what to expect here:
"""

# %% tags=["nbval-ignore-output"]
from IPython.display import Markdown

from ampcourse.training.hardware import this_machine

Markdown(str(this_machine()))

# %% [markdown]
r"""
Did that change your mind? Change your guess for this machine above and run its cell again.

The next cell trains a small convolutional network on 2,000 images of FashionMNIST that come with
the course, once in FP32 and once under `torch.autocast`, PyTorch's switch for mixed precision: it
converts (*casts*) numbers to 16 bits where that is safe. Both start from the same weights, see
the same batches and take turns step by step, so that a busy machine disturbs both. Run it twice:
what differs is noise. On a CPU they use a single core. It takes about five seconds, and stops
early where it would take longer; where the figure then speaks of too few steps, run it again.
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.benchmark.live import compare

here = compare()
show(speedups([here], {here.hardware: guess.get("this machine")}), alt=sentence(here))
print(f"{here.flags['data']}; steps each: {here.flags['steps']}")
for run in (here.baseline, here.amp):
    print(f"{run.precision}: {run.value:.1f} ms a step, {run.accuracy:.1%} of images right")

# %% [markdown]
r"""
**The accuracy should be the same.** On 1,000 test images chance alone moves a share between 70 and
80 % by more than a point, and a difference of that size says nothing. If your run stopped early,
both shares are lower: compare them with each other only.

**The time is what your chip makes of it.**

- *It lost.* Without bf16 instructions the multiplications are done in FP32 and then rounded: as
  many as before, plus the casts. In the recorded run it was worse still: the fast convolution has
  no bf16 version for such a CPU, and PyTorch fell back on one that it calls `_slow_conv2d`.
  Nothing is wrong with autocast; it has nothing to work with there.
- *It gained.* Your chip multiplies in 16 bits itself, and the layers are large enough for that to
  outweigh the casts.
- *Hardly a difference.* Either the casts ate the gain, or the time goes into starting each
  operation rather than into arithmetic. Lesson 10 shows how to tell.

The FP16 of the published runs needs one thing more, a scaled loss. That is lesson 05.
"""

# %% [markdown]
r"""
## Would you believe it?

A speed-up is two runs and a claim about them. It is a fair one if precision is the only thing
that can have made the difference:

- Hardware, batch size and everything else in the code (memory layout, data loading) are the same.
  A larger batch, because memory was freed, is a second gain to be measured by itself.
- The baseline is called what it was: TF32 is not FP32.
- The clock ran right. Both runs had warm-up steps before it started, since the first steps set
  things up. And it stopped when the work was done: a GPU works on after Python has gone ahead, so
  Python must synchronize with it first. A CPU is done when the call returns.
- The device was the bottleneck: busy at least 0.9 of the time in both runs. Otherwise the factor
  says what the host allowed, not what precision gives.
- Both learned the same. Accuracy was measured for both, and mixed precision lies at most 0.01
  below.

Whether mixed precision won does not matter. A loss, well measured, is as fair as a gain.

Hold the rows above against this list: none of the GPU rows can be shown to pass. The V100 changed
batch and layout, apex lost 1.4 points of accuracy, the 4090's article called FP32 what was in all
likelihood TF32, and hardly any source reports warm-up or how busy the GPU was.

### t00_3 · Fair or not
`before` and `after` are records like `RUN`; they have no field for memory layout or data loading,
so take those as the same. `called` is the name the claim gives the baseline's arithmetic, such as
`"fp32"`. Return True if the comparison is fair.
"""

# %% tags=["setup"]
RUN = {
    "hardware": "GPU A",
    "device": "cuda",  # or "cpu"
    "math": "fp32",  # or "tf32"; "fp16" or "bf16" in mixed precision
    "batch": 256,
    "warm_up": 20,  # steps before the clock started
    "synchronized": True,  # did the clock wait for the device?
    "busy": 0.97,  # share of the time in which the device had work
    "step_ms": 41.0,
    "accuracy": 0.809,  # None: not measured
}
AMP = RUN | {"math": "fp16", "step_ms": 23.0, "accuracy": 0.811}
CPU = {"hardware": "CPU B", "device": "cpu", "synchronized": False}


# %% task="t00_3"
def is_fair(before, after, called):
    """Return whether precision alone can have made the difference."""
    ### BEGIN SOLUTION
    runs = before, after
    if before["accuracy"] is None or after["accuracy"] is None:
        return False
    return (
        all(before[name] == after[name] for name in ("hardware", "batch"))
        and before["math"] == called
        and all(run["warm_up"] > 0 and run["busy"] >= 0.9 for run in runs)
        and all(run["synchronized"] or run["device"] == "cpu" for run in runs)
        and after["accuracy"] >= before["accuracy"] - 0.01
    )
    ### END SOLUTION


# %% check="t00_3" points=4
with task("t00_3"):
    only = "hardware and batch are the same, and the baseline is called what it was"
    timed = "each run had a warm-up, a clock that waited for the GPU, and a busy device"
    learned = "both accuracies were measured, and mixed precision lies at most 0.01 below"
    named = "this baseline ran in TF32 and is called FP32"
    two = "the batch grew too: two gains in one number"
    slow = "a loss can be as well measured as a gain"
    early = "nobody waited for the GPU"
    done = "a CPU is done when the call returns"
    longer = "the warm-ups need not be equally long"
    better = "mixed precision may come out better"
    unknown = "an accuracy that nobody measured"
    check("bool(is_fair(RUN, AMP, 'fp32'))", True, only, {"nothing here speaks against it": False})
    check("bool(is_fair(RUN | {'math': 'tf32'}, AMP, 'fp32'))", False, only, {named: True})
    check("bool(is_fair(RUN, AMP | {'batch': 512}, 'fp32'))", False, only, {two: True})
    check("bool(is_fair(RUN, AMP | {'step_ms': 52.0}, 'fp32'))", True, only, {slow: False})
    check("bool(is_fair(RUN, AMP | {'synchronized': False}, 'fp32'))", False, timed, {early: True})
    check("bool(is_fair(RUN | CPU, AMP | CPU, 'fp32'))", True, timed, {done: False})
    check("bool(is_fair(RUN, AMP | {'warm_up': 50}, 'fp32'))", True, timed, {longer: False})
    check("bool(is_fair(RUN | {'busy': 0.6}, AMP, 'fp32'))", False, timed)
    check("bool(is_fair(RUN, AMP | {'accuracy': None}, 'fp32'))", False, learned, {unknown: True})
    check("bool(is_fair(RUN, AMP | {'accuracy': 0.79}, 'fp32'))", False, learned)
    check("bool(is_fair(RUN, AMP | {'accuracy': 0.83}, 'fp32'))", True, learned, {better: False})
    ### BEGIN HIDDEN TESTS
    laptop = {"hardware": "a laptop", "device": "cpu"}
    bf16, tf32, no_sync = {"math": "bf16"}, {"math": "tf32"}, {"synchronized": False}
    cold = "the first steps set things up: no warm-up"
    each = "one run without a warm-up is enough to spoil the comparison"
    waits = "the GPU was waiting for the host"
    chips = "two chips were compared"
    over_tf32 = "over TF32 is a fair claim where TF32 is named"
    fails = "it is fast but no longer learns"
    cases = {
        only: [
            ({}, {}, "fp32", True, only),
            (laptop, laptop | bf16, "fp32", True, "bf16 on a CPU is mixed precision too"),
            ({"batch": 64}, {"batch": 64}, "fp32", True, only),
            ({}, {"step_ms": 60.0}, "fp32", True, slow),
            (laptop, laptop | bf16 | {"step_ms": 160.0}, "fp32", True, slow),
            (tf32, {}, "tf32", True, over_tf32),
            (tf32 | {"batch": 32}, {"batch": 32}, "tf32", True, over_tf32),
            (tf32, {}, "fp32", False, named),
            ({}, {}, "tf32", False, "this baseline ran in FP32 and is called TF32"),
            ({}, {"batch": 1024}, "fp32", False, two),
            ({"batch": 128}, {}, "fp32", False, two),
            ({"batch": 512}, {}, "fp32", False, "a smaller batch is another training too"),
            ({"hardware": "GPU B"}, {}, "fp32", False, chips),
            ({}, {"hardware": "GPU B"}, "fp32", False, chips),
        ],
        timed: [
            ({"batch": 64}, {"batch": 64}, "fp32", True, timed),
            (laptop | no_sync, laptop | no_sync, "fp32", True, done),
            ({"warm_up": 3}, {"warm_up": 5}, "fp32", True, longer),
            ({"warm_up": 1}, {"warm_up": 1}, "fp32", True, "any number of warm-up steps counts"),
            ({"busy": 0.9}, {"busy": 0.9}, "fp32", True, "at least 0.9 includes 0.9"),
            ({"busy": 0.91}, {"busy": 1.0}, "fp32", True, timed),
            (no_sync, {}, "fp32", False, early),
            ({}, no_sync, "fp32", False, early),
            (no_sync, no_sync, "fp32", False, "both clocks stopped early: that does not cancel"),
            ({"warm_up": 0}, {"warm_up": 0}, "fp32", False, cold),
            ({"warm_up": 0}, {}, "fp32", False, each),
            ({}, {"warm_up": 0}, "fp32", False, each),
            (
                laptop | {"warm_up": 0},
                laptop | {"warm_up": 0},
                "fp32",
                False,
                "a CPU has first steps too",
            ),
            ({"busy": 0.35}, {}, "fp32", False, waits),
            ({}, {"busy": 0.5}, "fp32", False, waits),
            ({"busy": 1.0}, {"busy": 0.85}, "fp32", False, "0.9 is asked of each run"),
            (laptop | {"busy": 0.4}, laptop, "fp32", False, "a CPU can wait too: for the disk"),
        ],
        learned: [
            ({}, {"accuracy": 0.803}, "fp32", True, "0.006 below is well within 0.01"),
            ({}, {"accuracy": 0.8}, "fp32", True, "0.01 is a difference, not a share of 0.809"),
            ({}, {"accuracy": 0.85}, "fp32", True, better),
            ({"accuracy": 0.9}, {"accuracy": 0.895}, "fp32", True, learned),
            ({}, {"accuracy": 0.55}, "fp32", False, fails),
            ({"accuracy": 0.9}, {"accuracy": 0.85}, "fp32", False, fails),
            ({}, {"accuracy": 0.797}, "fp32", False, "0.012 is more than 0.01"),
            ({}, {"accuracy": None}, "fp32", False, unknown),
            ({"accuracy": None}, {"accuracy": None}, "fp32", False, unknown),
            ({"accuracy": None}, {}, "fp32", False, "the baseline's accuracy is not known"),
        ],
    }
    for reason, rows in cases.items():
        for before, after, called, fair, cause in rows:
            call = f"bool(is_fair(RUN | {before}, AMP | {after}, {called!r}))"
            check(call, fair, reason, traps={cause: not fair})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

| belief | what is so |
|---|---|
| AMP makes training twice as fast | above: from under a quarter of the speed to over three times |
| Less memory means less time | the 1080 Ti saved 38 % of memory and no time |
| 16.99 min after 22.27 min is 0.76 times as fast | upside down: 22.27 / 16.99 = 1.31 times |
| 31 % faster means 31 % less time | a factor of 1.31 takes 1 / 1.31 = 0.76 of the time |
| AMP speeds up a GPU that is kept waiting | it waits as long as before |

## In short

Mixed precision saves time where the chip computes in 16 bits and where the chip, not Python or
the disk, was the bottleneck; less where the baseline was already faster than FP32. It saves memory
almost anywhere. Ask of each number what it was measured against.

## Where next

Why 16 bits can be enough, and where they are not, starts with what the bits mean:
[01_floating_point](01_floating_point.ipynb). Lessons 01 to 14 take from an hour to
three, each says how long, and there are three paths through them:

- *An afternoon, four to five hours:* [01 floating point](01_floating_point.ipynb) ·
  [05 loss scaling](05_loss_scaling.ipynb) · [06 GradScaler](06_grad_scaler.ipynb) ·
  [08 training loops](08_training_loops.ipynb).
- *A problem with AMP at work:* 05 and 06 for a NaN loss · 08 for a loop that goes wrong ·
  [10 measuring speed](10_measuring_speed.ipynb) and [11 memory](11_memory.ipynb) where the gain is
  missing.
- *Everything:* 01 to 14, in order.
"""
