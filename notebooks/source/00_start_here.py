# %% [markdown]
r"""
# Start here

Training a network is mostly multiplying and adding. Mixed precision does the bulk of that in
16-bit numbers and keeps 32 bits where 16 would hurt. You will hear that this makes training
twice as fast. In the next ten minutes you say what you believe, look at what others measured,
and measure it on the machine in front of you.
"""

# %% tags=["setup"]
from ampcourse.courseware import between, check, task, ulps

# %% [markdown]
r"""
## How this course works

Every lesson goes the same way: **run** a cell (Shift+Enter), **predict** before you look,
**solve** a task, **check** it. A check answers at once, and where an answer is wrong it shows
the call, what came out, what should have, and why.

Try it with a task that is meant to be easy. Run the next two cells as they are: the card says
that the task is still open. Then put your line in place of `raise NotImplementedError` and run
both again.

### t00_1 · From bits to bytes
An FP32 number takes 32 bits, an FP16 number 16, and eight bits make a byte. How many bytes do
`count` numbers of `bits` bits each take?
"""


# %% task="t00_1"
def size(count, bits):
    """Return the bytes that `count` numbers of `bits` bits each take."""
    ### BEGIN SOLUTION
    return count * bits // 8
    ### END SOLUTION


# %% check="t00_1" points=1
with task("t00_1"):
    why = "the numbers have count × bits bits, and eight bits make a byte"
    in_bits = "that counts bits, and eight of them make a byte"
    check("float(size(10, 32))", 40.0, why, {in_bits: 320.0})
    check("float(size(10, 16))", 20.0, why, {in_bits: 160.0})
    ### BEGIN HIDDEN TESTS
    for count, bits in ((1, 64), (25_557_032, 16), (1_000, 8), (6, 4), (0, 32)):
        call = f"float(size({count}, {bits}))"
        four = {"4 bytes is the size of an FP32 number only": 4.0 * count}
        check(call, count * bits / 8, why, traps={in_bits: float(count * bits), **four})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Three paths through the course

| path | lessons |
|---|---|
| two hours | 00 start here · 01 floating point · 05 loss scaling · 06 GradScaler · 08 loops |
| a problem with AMP at work | 08 loops · 10 measuring speed · 11 memory |
| everything | 00 to 14, in order; each takes 25 to 45 minutes |

The notebooks lie beside this one, in the order of their numbers. None of them needs a GPU, and
none downloads anything while you work. If there is a GPU, the measurements use it.
"""

# %% [markdown]
r"""
## How much faster will it be?

Three trainings, each run in 32 bits and then again in mixed precision. The rule of thumb says
2 for all of them. Write down what you believe: 2 is twice as fast, 1 is no difference, 0.5 is
half as fast. Nobody marks this.
"""

# %%
guess = {
    "V100 16 GB": 2.0,  # a data-centre GPU, training ResNet50
    "GTX 1080 Ti": 2.0,  # a gaming GPU, training ResNet18
    "this machine": 2.0,  # whatever you sit at, training a small CNN
}

# %% [markdown]
r"""
Now look. Your guesses are the crosses.
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.benchmark import records
from ampcourse.benchmark.report import sentence, table
from ampcourse.plotting import show
from ampcourse.plotting.speedups import speedups

show(speedups(records(), guess), alt=". ".join(sentence(r) for r in records()))

# %% [markdown]
r"""
**The same idea made training more than three times as fast, changed nothing, or made it several
times slower.** Three things decide, and none of them is a constant:

- *The chip.* The V100 has Tensor Cores, units that multiply 16-bit matrices. The 1080 Ti has
  none, and the CPU in the last row has no instruction that computes with 16-bit floats.
- *The baseline.* From the A100's generation on, PyTorch runs "FP32" convolutions in TF32 unless
  told otherwise: Tensor Cores again, which take only 10 of the 23 stored significand bits of each
  number. That baseline is already fast, so the factor over it is smaller.
- *The bottleneck.* Where a GPU waits for Python or for the disk, faster arithmetic buys nothing.

Blue was published with its measurements; orange is quoted from an article whose measurements
cannot be looked up; green we measured, with a command that you will run below.
"""

# %% [markdown]
r"""
## Does memory follow time?

The 1080 Ti gained no time. Before you run the next cell: did it save memory?
"""

# %% tags=["nbval-ignore-output"]
table([r for r in records() if r.memory_change is not None])

# %% [markdown]
r"""
It saved 38 %, more than the 2080 Ti, which gained the most time of the four. Storing a number in 16
bits saves memory on any chip; computing with it saves time only on some. And memory does not
halve: the values kept for the backward pass shrink, while the weights and what the optimizer
keeps stay in 32 bits.

### t00_2 · Read a table
Each run is a row, as below. A unit that ends in `/s` is a rate, such as images per second; any
other unit here is a time. Write two functions of the baseline's row and the mixed-precision row.
`speedup` returns how many times as fast mixed precision was. `memory_change` returns the change
of memory as a fraction of the baseline's: −0.25 if a quarter was saved.
"""

# %% tags=["setup"]
RTX_4090 = (
    {"value": 22.27, "unit": "min", "memory_mb": 22818},
    {"value": 16.99, "unit": "min", "memory_mb": 15508},
)
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
    left = "that is the share that is left, not the change"
    check("speedup(*RTX_4090)", between(1.3107, 1.3108), takes, {over: 16.99 / 22.27})
    check("speedup(*V100)", between(3.2697, 3.2698), does)
    check("memory_change(*RTX_4090)", between(-0.3204, -0.3203), memory, {left: 15508 / 22818})
    ### BEGIN HIDDEN TESTS
    RULE = "the rule of thumb is not a measurement: divide the two numbers"
    PERCENT = "that is a percentage; the factor itself is asked for"
    GAIN = "that counts from 1 on: 31 % faster is a factor of 1.31"
    for a, b, unit in ((54.3, 37.3, "min"), (64.9, 64.7, "min"), (9.69, 37.9, "ms")):
        call = f"speedup({{'value': {a}, 'unit': '{unit}'}}, {{'value': {b}, 'unit': '{unit}'}})"
        percent, gain = {PERCENT: 100 * (1 - b / a)}, {GAIN: a / b - 1}
        check(call, ulps(a / b, 8), takes, traps={over: b / a} | percent | gain | {RULE: 2.0})
    for a, b, unit in ((938.0, 2470.0, "images/s"), (5100.0, 3400.0, "tokens/s")):
        call = f"speedup({{'value': {a}, 'unit': '{unit}'}}, {{'value': {b}, 'unit': '{unit}'}})"
        as_time = {f"{unit} is a rate, not a time: more of it is faster": a / b}
        percent, gain = {PERCENT: 100 * (b / a - 1)}, {GAIN: b / a - 1}
        check(call, ulps(b / a, 8), does, traps=as_time | percent | gain | {RULE: 2.0})
    for m, n, s, t in ((10737, 6615, 64.9, 64.7), (10855, 7799, 54.3, 37.3), (512, 576, 9.0, 6.0)):
        rows = [{"value": v, "unit": "min", "memory_mb": mb} for v, mb in ((s, m), (t, n))]
        traps = {
            left: n / m,
            "the sign is the other way round: less memory is a negative change": 1 - n / m,
            "that is in percent; a fraction is asked for": 100 * (n / m - 1),
            "that is in megabytes; a fraction of the memory before is asked for": n - m,
            "memory does not follow time: use memory_mb": t / s - 1,
            "memory does not simply halve: use memory_mb": -0.5,
        }
        call = f"memory_change({rows[0]}, {rows[1]})"
        check(call, ulps(n / m - 1, 64), memory, traps=traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Your machine

First, what to expect here:
"""

# %% tags=["nbval-ignore-output"]
from IPython.display import Markdown

from ampcourse.training.hardware import this_machine

Markdown(str(this_machine()))

# %% [markdown]
r"""
The next cell trains a small convolutional network on 2,000 images of FashionMNIST that come with
the course, once in FP32 and once under `torch.autocast`. Both start from the same weights, see
the same batches and take turns step by step, so whatever else your machine does slows both. On a
CPU they use a single core. It takes about five seconds, and stops early where it would take
longer. Change your guess above if the line you just read changed your mind.
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.benchmark.live import compare

here = compare()
show(speedups([here], {here.hardware: guess.get("this machine")}), alt=sentence(here))
print(f"{here.flags['data']}; {here.flags['steps']} steps each")
for run in (here.baseline, here.amp):
    print(f"{run.precision}: {run.value:.1f} ms a step, {run.accuracy:.1%} of images right")

# %% [markdown]
r"""
**The accuracy should be the same.** On 1,000 test images chance alone moves a share near 80 % by a
point or so, and a difference of that size says nothing.

**The time is what your chip makes of it.**

- *It lost.* Without bf16 instructions the work is done in FP32 and rounded, so it cannot become
  less. In the recorded run it became more: the fast convolution has no bf16 version for such a
  CPU, and PyTorch fell back on one that it calls `_slow_conv2d`. Nothing is wrong with autocast;
  it has nothing to work with there.
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

- Hardware and batch size are the same. A larger batch, because memory was freed, is a second
  gain to be measured by itself.
- The baseline is called what it was: TF32 is not FP32.
- The clock ran right. Both runs had warm-up steps before it started, since the first steps set
  things up. And it stopped when the work was done: a GPU works on after Python has gone ahead, so
  Python must synchronize with it first. A CPU is done when the call returns.
- The device was the bottleneck: busy at least 0.9 of the time in both runs.
- Both learned the same. Accuracy was measured for both, and mixed precision lies at most 0.01
  below.

Whether mixed precision won does not matter. A loss, well measured, is as fair as a gain.

### t00_3 · Fair or not
`before` and `after` are records like `RUN`, and `called` is what the claim calls the arithmetic
of the baseline. Return True if the comparison is fair.
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
AMP = RUN | {"math": "fp16", "step_ms": 23.0, "accuracy": 0.803}


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
    why = "fair means that only precision can have made the difference"
    check("bool(is_fair(RUN, AMP, 'fp32'))", True, why)
    named = "this baseline ran in TF32 and is called FP32"
    check("bool(is_fair(RUN | {'math': 'tf32'}, AMP, 'fp32'))", False, why, {named: True})
    two = "the batch grew too: two gains in one number"
    check("bool(is_fair(RUN, AMP | {'batch': 512}, 'fp32'))", False, why, {two: True})
    check("bool(is_fair(RUN, AMP | {'step_ms': 52.0}, 'fp32'))", True, why)
    ### BEGIN HIDDEN TESTS
    CPU = {"hardware": "a laptop", "device": "cpu", "batch": 64}
    BF16 = CPU | {"math": "bf16"}
    NO_SYNC = {"synchronized": False}
    SLOW = "a loss can be as well measured as a gain"
    cases = [
        ({}, {}, "fp32", True, why),
        ({"batch": 64}, {"batch": 64}, "fp32", True, why),
        ({}, {"step_ms": 60.0}, "fp32", True, SLOW),
        (CPU, BF16 | {"step_ms": 160.0}, "fp32", True, SLOW),
        (CPU | NO_SYNC, BF16 | NO_SYNC, "fp32", True, "a CPU is done when the call returns"),
        ({"math": "tf32"}, {}, "tf32", True, "over TF32 is a fair claim where TF32 is named"),
        ({"math": "tf32", "batch": 32}, {"batch": 32}, "tf32", True, "TF32 is named"),
        ({"math": "tf32"}, {}, "fp32", False, named),
        ({}, {}, "tf32", False, "this baseline ran in FP32 and is called TF32"),
        (NO_SYNC, {}, "fp32", False, "nobody waited for the GPU"),
        ({}, NO_SYNC, "fp32", False, "nobody waited for the GPU"),
        ({"warm_up": 0}, {}, "fp32", False, "the first steps set things up: no warm-up"),
        ({}, {"warm_up": 0}, "fp32", False, "the first steps set things up: no warm-up"),
        ({}, {"batch": 1024}, "fp32", False, two),
        ({"batch": 128}, {}, "fp32", False, two),
        ({"hardware": "GPU B"}, {}, "fp32", False, "two chips were compared"),
        ({"busy": 0.35}, {}, "fp32", False, "the GPU was waiting for the host"),
        ({}, {"busy": 0.5}, "fp32", False, "the GPU was waiting for the host"),
        (CPU | {"busy": 0.4}, BF16, "fp32", False, "waiting for the host, or for the disk"),
        ({}, {"accuracy": 0.55}, "fp32", False, "it is fast but no longer learns"),
        ({"accuracy": 0.9}, {"accuracy": 0.85}, "fp32", False, "it is fast but no longer learns"),
        ({}, {"accuracy": None}, "fp32", False, "an accuracy that nobody measured"),
        ({"accuracy": None}, {"accuracy": None}, "fp32", False, "an accuracy nobody measured"),
    ]
    for before, after, called, fair, cause in cases:
        call = f"bool(is_fair(RUN | {before}, AMP | {after}, {called!r}))"
        check(call, fair, why, traps={cause: not fair})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

| belief | what is so |
|---|---|
| AMP makes training twice as fast | above, from several times slower to three times as fast |
| Less memory means less time | the 1080 Ti saved 38 % of memory and no time |
| 16.99 min after 22.27 min is 0.76 times as fast | upside down: 22.27 / 16.99 = 1.31 times |
| 31 % faster means 31 % less time | a factor of 1.31 takes 1 / 1.31 = 0.76 of the time |
| AMP speeds up a GPU that is kept waiting | it waits as long as before |

## Said aloud

Mixed precision saves time where the chip computes in 16 bits, where the baseline did not already
use TF32, and where arithmetic was the bottleneck. It saves memory almost anywhere. Ask of each
number what it was measured against.

## Where next

Why 16 bits can be enough, and where they are not, starts with what the bits mean:
[01_floating_point](01_floating_point.ipynb).
"""
