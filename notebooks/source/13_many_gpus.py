# %% [markdown]
r"""
# How does it scale out?

One GPU is too slow, or too small. With several, each computes a part of the batch, or stores a part
of what training keeps, or both. Either way many processes train **one** model, and mixed precision
raises new questions. One process meets an inf: do the others skip the step, too? In which type do
gradients travel? Does it help to halve their bits?

You need to know what a GradScaler decides (`06_grad_scaler`) and what a training step keeps
(`11_memory`). No GPU is needed: two processes train together on this CPU, over the gloo library,
where GPUs would have NCCL. Two cells start them, some 8 s each on two idle cores; the rest was
recorded. There are five tasks; plan two and a half hours, in two sittings, with the break after the
second task.

## Predict first

Nobody grades these; replace each `None` and run the cell.
"""

# %%
# An inf on one of 8 ranks under DDP: how many ranks skip?
my_skips = None
# DDP under BF16 autocast: bytes sent, as a share of FP32's?
my_bytes = None
# ZeRO-3 on 8 ranks: which share of its activations does a rank keep?
my_activations = None
# A micro-batch of 4 on 8 ranks, 2 accumulated: the global batch?
my_batch = None
# ZeRO-3 against DDP, in the same types: how many times the bytes?
my_traffic = None
# Steps from 0, saved after every 5. A rank dies in step 8: goes on at?
my_restart = None

# %% [markdown]
r"""
## The same program, many times

`torchrun` starts one program several times and tells each copy, in its environment, who it is. A
copy is a **rank**; how many there are is the **world size**. One rank has one GPU: `LOCAL_RANK`
says which of its machine.
"""

# %%
from ampcourse.distributed import Ranks
from ampcourse.distributed.ranks import VARIABLES

# %%
print(*VARIABLES)
for rank in range(4):
    one = Ranks(rank, world_size=4, local_rank=rank, backend="nccl")
    print(f"rank {one.rank} of {one.world_size}: {one.share(256)} images of a global batch of 256")

# %% [markdown]
r"""
Two batches are mistaken for each other here. The optimizer sees the **global** batch; a rank
computes the **micro-batch**, and several of them with gradient accumulation:

$$\text{global batch} = \text{micro-batch} \times \text{accumulation} \times \text{ranks}$$

Who keeps the micro-batch and doubles the GPUs has doubled the global batch, and trains something
else, with fewer steps per epoch.

### From one process to torchrun

In plain **DDP** (DistributedDataParallel) every rank has the whole model. Each runs forward and
backward with its own images; the gradients are averaged over the ranks, and all take the same step.
In a training loop with autocast and a scaler, five lines are new:

```python
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # 1
init_process_group("nccl")                            # 2
model = DistributedDataParallel(model.cuda())         # 3
mine = slice(get_rank(), None, get_world_size())      # 4
...
images, labels = images[mine], labels[mine]           # 5
with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(images), labels)
scaler.scale(loss).backward()  # gradients are averaged
scaler.step(optimizer)  # unscales, looks for inf
scaler.update()
optimizer.zero_grad()
```

(`init_process_group`, `get_rank` and `get_world_size` are from `torch.distributed`.) It is started
by `torchrun --nproc-per-node 8 train.py`. Without the first line all ranks would take GPU 0; `mine`
is every 8th image from this rank's on. Without the fifth all train on the same images, and nothing
says so; a DataLoader's way is `DistributedSampler`, with `set_epoch`.

Neither autocast nor the scaler knows of other ranks, and no barrier is needed: what uses an average
waits for it. With accumulation, run all micro-batches but the last under `model.no_sync()`, or
gradients travel once for each.

Is this what one process does with the global batch? Yes, with a loss that is a mean, equal shares,
and layers that do not look across images. Batch norm does, and sees its rank's share only:
"""

# %%
import torch
from torch.nn import BatchNorm2d, Conv2d, Flatten, Identity, Linear, ReLU, Sequential

# %% tags=["nbval-ignore-output"]
for norm in (Identity(), BatchNorm2d(8)):
    torch.manual_seed(0)
    tiny = Sequential(Conv2d(1, 8, 3), norm, ReLU(), Flatten(), Linear(8 * 36, 10))
    images, labels = torch.randn(32, 1, 8, 8), torch.randint(10, (32,))
    found = []
    for mine in (slice(None), slice(0, None, 2), slice(1, None, 2)):
        loss = torch.nn.functional.cross_entropy(tiny(images[mine]), labels[mine])
        found.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, tiny.parameters())]))
    error = (found[0] - (found[1] + found[2]) / 2).norm() / found[0].norm()
    print(f"{type(norm).__name__:12} relative difference of the gradients {error:.1e}")

# %% [markdown]
r"""
`SyncBatchNorm.convert_sync_batchnorm(model)` takes the statistics over all ranks, at the price of
more communication.

Why not start ranks from this notebook, with a function defined in a cell? Because with `spawn`,
which CUDA wants, a function is sent to another process by its name:
"""

# %%
import pickle


def worker(rank):
    print("I am rank", rank)


# %%
print(pickle.dumps(worker, protocol=0).decode().split("\n")[:2])

# %% [markdown]
r"""
"The function `worker` of the module `__main__`", and in a new process `__main__` is another
module, without it ([Lightning#61](https://github.com/Lightning-AI/pytorch-lightning/issues/61)). So
the workers of this lesson live in the package. This is the loop of the first:
"""

# %% tags=["nbval-ignore-output"]
import inspect
from textwrap import dedent, fill

from ampcourse.engines.workers import ddp as program

text = inspect.getsource(program.inf_on_one_rank)
start, end = text.index("    for number"), text.index("        now =")
print(dedent(text[start:end]))

# %% [markdown]
r"""
`setting.part` takes this rank's share of a batch. From `zero_grad` to `update`, `averaged` apart,
these are the lines of one process. A hook, not shown, notes in `own_finite` what the gradients
were just before they were averaged.

## An inf on one rank

Two ranks train in FP16, each with its own images and its own GradScaler. In step 1, counted from 0,
one pixel of rank 1 is damaged: it is 70,000, which FP16 does not hold, and all gradients of that
rank become NaN. What will rank 0 do? If the two processes cannot be started and ended within 30 s,
you see what was recorded, and why:
"""

# %%
from ampcourse.engines.scenes import show_scene

# %% tags=["nbval-ignore-output"]
ddp, how = show_scene("ddp", timeout=30)
print(fill(how, 70))

# %% tags=["nbval-ignore-output"]
seen_inf = ddp["inf"]
for step, same in enumerate(seen_inf["same_weights"]):
    print(f"step {step}: weights", "the same on both ranks" if same else "DIFFERENT")
    for rank in (0, 1):
        own = seen_inf["own_gradients_finite"][rank][step]
        mean = seen_inf["averaged_gradients_finite"][rank][step]
        scale, skipped = seen_inf["scale"][rank][step], seen_inf["skipped"][rank][step]
        print(f"  rank {rank}: finite: own {own!s:5} average {mean!s:5}", end="  ")
        print(f"then scale {scale:4.0f}, {'skipped' if skipped else 'stepped'}")

# %% [markdown]
r"""
Nobody told rank 0. A sum with inf in it is inf, or NaN; so both scalers found the same and decided
the same (the scale is printed as it is after `update`). Under DDP the skip needs no agreement of
its own: **the all-reduce spreads the inf.** The scale is not shared either. It is the same because
it started the same and saw the same, which is why a scaler's state has to be loaded on **every**
rank after a resume.

## What travels, and in which type

Under autocast gradients have the type of their parameter, and that is FP32:
"""

# %%
net = torch.nn.Linear(4, 1)
with torch.autocast("cpu", dtype=torch.bfloat16):
    output = net(torch.ones(2, 4))
output.sum().backward()
print("output", output.dtype, " gradient", net.weight.grad.dtype)

# %% [markdown]
r"""
So autocast leaves the communication as it was, 4 bytes per parameter, and of a faster step it is a
larger share. If that hurts, a **hook** can cast gradients before the all-reduce and back after it:

```python
from torch.distributed.algorithms import ddp_comm_hooks
hook = ddp_comm_hooks.default_hooks.bf16_compress_hook
model.register_comm_hook(None, hook)
```

It halves the bytes, and costs precision. From the processes above:
"""

# %% tags=["nbval-ignore-output"]
for kind in ("fp32", "bf16"):
    found = ddp["all_reduce"][kind]
    print(f"{kind}: {found['bytes']:,} bytes, error {found['relative_error']:.1e} of the norm")

# %% [markdown]
r"""
BF16 keeps 8 significant bits, and every addition rounds to them again. So the number of ranks
matters, and their order: a ring adds one after the other, a tree adds pairs of pairs
([nccl#1026](https://github.com/NVIDIA/nccl/issues/1026)). Simulated on the CPU, with gradients that
agree up to noise, against the exact mean:
"""

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
for ranks in (2, 8, 64, 512):
    gradients = torch.randn(1000) + torch.randn(ranks, 1000)
    exact, errors = gradients.double().mean(0), []
    for dtype in (torch.bfloat16, torch.float16):
        ring, *others = tree = gradients.to(dtype)
        for gradient in others:
            ring = ring + gradient
        while len(tree) > 1:
            tree = tree[::2] + tree[1::2]
        errors += [(x.double() / ranks - exact).norm() / exact.norm() for x in (ring, tree[0])]
    print(f"{ranks:3} ranks: BF16 {errors[0]:.4f}, in a tree {errors[1]:.4f};", end=" ")
    print(f"FP16 {errors[2]:.4f}, in a tree {errors[3]:.4f}")

# %% [markdown]
r"""
FP16 keeps 11 bits, but a sum over ranks can overflow where no summand did. The hooks therefore
divide by the number of ranks **before** they add; then it is the smallest gradients that get lost.

And the loss scale? Gradients travel scaled, and each rank takes the scale off after the average.
That is right if all ranks have the same scale; with different ones no division takes them off. And
the sum has to be held as well: in FP16, 8 scaled gradients of 10,000 each fit, their sum does not.
"""

# %% [markdown]
r"""
### t13_1 · An average that travels in few bits

`reduced(gradients, scale, dtype, divide)` is the all-reduce of one number. `gradients` has each
rank's gradient, without the scale. Every rank

- multiplies its gradient by `scale`, in FP32, and casts it to `dtype`;
- with `divide="before"` divides it by the number of ranks, in `dtype`.

Then the sum is taken in `dtype`, one rank after the other, rounded each time. With
`divide="after"` it is divided by the number of ranks now, in `dtype`, too. At last it is cast to
FP32 and unscaled. Return a Python float. (`dtype` is `torch.float32`, `torch.float16` or
`torch.bfloat16`; real libraries may add in another order.)

`divisor(loss, reduce, samples, accumulation, ranks)` returns the integer by which each
micro-batch's loss is divided, so that the gradient becomes that of the **mean over the global
batch**. Each rank adds up the gradients of `accumulation` micro-batches of `samples` samples each.
`loss` is `"mean"` or `"sum"`, over the samples of one micro-batch, and `reduce` is `"mean"` (DDP)
or `"sum"` (a plain `all_reduce`), over the ranks.
"""

# %% tags=["setup"]
import math

import torch

from ampcourse.courseware import check, inf, nan, task


# %% task="t13_1"
def reduced(gradients, scale, dtype, divide):
    """Return the unscaled mean of the ranks' gradients after an all-reduce in dtype."""
    ### BEGIN SOLUTION
    ranks, total = len(gradients), None
    for gradient in gradients:
        sent = torch.tensor(gradient * scale, dtype=torch.float32).to(dtype)
        sent = sent / ranks if divide == "before" else sent
        total = sent if total is None else total + sent
    total = total / ranks if divide == "after" else total
    return (total.float() / scale).item()
    ### END SOLUTION


def divisor(loss, reduce, samples, accumulation, ranks):
    """Return by what each micro-batch's loss is divided."""
    ### BEGIN SOLUTION
    divided = accumulation
    if loss == "sum":
        divided *= samples
    if reduce == "sum":
        divided *= ranks
    return divided
    ### END SOLUTION


# %% check="t13_1" points=5
with task("t13_1"):
    mean = "the mean of all ranks, not their sum"
    narrow = "sum and division are taken in the type that travels: they overflow, or round, there"
    when = "divided before, small parts are flushed; divided after, large sums overflow"
    scaled = "what travels is scaled, and the scale comes off once, at the end, in FP32"
    spreads = "an inf or NaN of one rank is in everyone's sum"
    global_mean = "the gradient of the mean over all samples of the global batch"
    summed = "gradients are averaged over the ranks, not summed"
    in_order = "one rank after the other, rounded each time, not once at the end"
    wide = "the sum itself is taken in the type that travels, not in FP32"
    no_before = 'divide="before" divides what each rank sends, not the sum'
    always_before = 'divide="after" divides the sum'
    wide_division = "the division before is done in the type that travels, as well"
    unscaled_early = "the scale is on while the gradients travel: it comes off at the end"
    cast_first = "scale in FP32, then cast: what is cast first is flushed before it is scaled"
    unscaled_narrow = "cast the mean to FP32 first: unscaled in FP16, it is flushed after all"
    never_scaled = "the scale comes off, but was never put on: multiply by it before the cast"
    wide_after = "the division after the sum is done in dtype as well, not in FP32"
    reciprocal = "divide: 1/3 is itself rounded, and multiplying by it rounds twice"
    still_scaled = "the scale has to come off again"
    per_rank = "every rank has the same scale: it comes off once, not once for each rank"
    masked = "an inf that is left out of the sum is an overflow that nobody hears of"
    call = "[reduced(g, 1.0, torch.float32, 'after') for g in ([1.0, 3.0], [2.0, 4.0, 9.0, 1.0])]"
    check(call, [2.0, 4.0], mean, {summed: [4.0, 16.0]})
    call = "[reduced([2048.0, 1.0, 1.0, 1.0], 1.0, torch.float16, 'after'), "
    call += "reduced([1.0, 2.0**-8], 1.0, torch.bfloat16, 'after')]"
    traps = {wide: [512.75, 0.501953125], in_order: [513.0, 0.5], summed: [2048.0, 1.0]}
    check(call, [512.0, 0.5], narrow, traps)
    call = "[reduced([1.0, 1.0, 2.0], 1.0, torch.float16, 'after'), "
    call += "reduced([5.0, 0.0, 0.0], 1.0, torch.float32, 'after')]"
    traps = {wide_after: [1.3333333730697632, 1.6666666269302368]}
    traps |= {wide_after + ", nor in Python's 64 bits": [4 / 3, 5 / 3]}
    traps |= {reciprocal: [1.3330078125, 1.6666667461395264], summed: [4.0, 5.0]}
    check(call, [1.3330078125, 1.6666666269302368], narrow, traps)
    call = "[reduced(g, 1.0, torch.{}, d) for g in ([40000.0, 40032.0], [1.0, 3.0]) "
    call += "for d in ('after', 'before')]"
    traps = {wide: [40016.0, 40016.0, 2.0, 2.0], no_before: [inf, inf, 2.0, 2.0]}
    traps |= {always_before: [40000.0, 40000.0, 2.0, 2.0], summed: [inf, inf, 4.0, 4.0]}
    check(call.format("float16"), [inf, 40000.0, 2.0, 2.0], when, traps)
    traps = {summed: [79872.0, 79872.0, 4.0, 4.0]}
    check(call.format("bfloat16"), [39936.0, 39936.0, 2.0, 2.0], when, traps)
    call = "[reduced(g, 1.0, torch.float16, d) for g in ([2.0**-24] * 2, [70000.0, 2.0]) "
    call += "for d in ('after', 'before')]"
    traps = {no_before: [2.0**-24, 2.0**-24, inf, inf], always_before: [0.0, 0.0, inf, inf]}
    traps |= {wide_division: [2.0**-24, 0.0, inf, 35008.0]}
    check(call, [2.0**-24, 0.0, inf, inf], when, traps)
    call = "[reduced([2.0, 2.0], 2.0**14, torch.float16, d) for d in ('after', 'before')]"
    check(call, [inf, 2.0], scaled, {still_scaled: [inf, 32768.0], per_rank: [inf, 1.0]})
    call = "[reduced([x, y], s, torch.float16, 'after') for x, y, s in ((2.0**-24, 2.0**-23, "
    call += "2.0**10), (2.0**-26, 2.0**-27, 2.0**10), (2.0, 2.0, 2.0**14))]"
    traps = {unscaled_early: [2.0**-23, 0.0, 2.0], never_scaled: [2.0**-33, 0.0, 2.0**-13]}
    traps |= {cast_first: [1.5 * 2.0**-24, 0.0, inf], unscaled_narrow: [2.0**-23, 0.0, inf]}
    traps |= {still_scaled: [1.5 * 2.0**-14, 1.5 * 2.0**-17, inf]}
    traps |= {per_rank: [1.5 * 2.0**-25, 1.5 * 2.0**-28, inf]}
    check(call, [1.5 * 2.0**-24, 1.5 * 2.0**-27, inf], scaled, traps)
    call = (
        "[reduced(g, 8.0, torch.float32, 'before') for g in ([1.0, inf], [inf, -inf], [nan, 1.0])]"
    )
    check(
        call,
        [inf, nan, nan],
        spreads,
        {masked: [0.5, nan, 0.5], masked + " and of the count": [1.0, nan, 1.0]},
    )
    cases = [(m, r) for m in ("mean", "sum") for r in ("mean", "sum")]
    again = "DDP has divided by the ranks already"
    never = "a plain all_reduce sums: the ranks are still to be divided by"
    adds = "accumulated gradients add up, as well"
    by_samples = "a loss that is a mean has been divided by the samples already"
    of_sum = "a loss that is a sum over the samples has not been divided by them"
    traps = {again: [10, 10, 30, 30], never: [5, 5, 15, 15], adds: [1, 2, 3, 6]}
    traps |= {by_samples: [15, 30, 15, 30], of_sum: [5, 10, 5, 10]}
    traps |= {"over the ranks it is the sum that is still to be divided": [10, 5, 30, 15]}
    traps |= {"it is a loss that is a sum which is still to be divided": [15, 30, 5, 10]}
    call = f"[divisor(loss, reduce, 3, 5, 2) for loss, reduce in {cases}]"
    floats = {"an integer is asked for; / makes a float": [5.0, 10.0, 15.0, 30.0]}
    check(call, [5, 10, 15, 30], global_mean, {**traps, **floats})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import ml_dtypes
    import numpy as np
    import torch

    t13_1_random = Random(1301)
    t13_1_types = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}

    def t13_1_numpy(gradients, scale, name, divide):
        """Let numpy's and ml_dtypes' own arithmetic take the sum."""
        kind = t13_1_types[name]
        with np.errstate(all="ignore"):
            sent = [np.float32(g * scale).astype(kind) for g in gradients]
            ranks = kind(len(sent))
            if divide == "before":
                sent = [x / ranks for x in sent]
            total = sent[0]
            for x in sent[1:]:
                total = total + x
            total = total / ranks if divide == "after" else total
            return float(np.float32(total) / np.float32(scale))

    def t13_1_check(reason, cases):
        """Check several all-reduces in one call; a zero's sign does not count."""
        right = [t13_1_numpy(*case) + 0.0 for case in cases]
        call = ", ".join(f"reduced({g}, {s!r}, torch.{n}, {d!r}) + 0.0" for g, s, n, d in cases)
        check(f"[{call}]", right, reason)

    def t13_1_gradients(low, high, ranks=None):
        """Return float32 gradients of some ranks, of either sign, between powers of two."""
        count = ranks or t13_1_random.randint(2, 7)
        powers = [2.0 ** t13_1_random.uniform(low, high) for _ in range(count)]
        return [float(np.float32(p * t13_1_random.choice((1, -1)))) for p in powers]

    for divide in ("before", "after") * 2:
        for name in t13_1_types:
            t13_1_check(mean, [(t13_1_gradients(-3, 3), 1.0, "float32", divide) for _ in range(5)])
            cases = [(t13_1_gradients(-2, 9), 1.0, name, divide) for _ in range(8)]
            t13_1_check(narrow, cases)
            cases = [(t13_1_gradients(*r), 1.0, "float16", divide) for r in ((14, 16), (-26, -21))]
            cases += [([abs(g) for g in gs], s, n, divide) for gs, s, n, _ in cases]
            t13_1_check(when, cases)
            powers = [2.0 ** t13_1_random.randint(3, 18) for _ in range(6)]
            t13_1_check(scaled, [(t13_1_gradients(-12, 1), p, name, divide) for p in powers])
            powers = [2.0 ** t13_1_random.randint(8, 16) for _ in range(6)]
            t13_1_check(scaled, [(t13_1_gradients(-30, -18), p, name, divide) for p in powers])
            bad = t13_1_gradients(-3, 3, 4)
            bad[t13_1_random.randrange(4)] = t13_1_random.choice((float("inf"), -float("inf")))
            t13_1_check(spreads, [(bad, 4.0, name, divide), (bad[::-1], 1.0, name, divide)])

    def t13_1_torch(loss, reduce, samples, accumulation, ranks):
        """Let autograd say how many times too large the gradient is without a divisor."""
        w = torch.ones((), dtype=torch.float64, requires_grad=True)
        for _ in range(accumulation):
            getattr(w * torch.ones(samples, dtype=torch.float64), loss)().backward()
        over_ranks = torch.stack([w.grad] * ranks)
        return int(getattr(over_ranks, reduce)().round())

    cases = [
        (loss, reduce, *(t13_1_random.randint(2, 40) for _ in range(3)))
        for loss in ("mean", "sum")
        for reduce in ("mean", "sum")
        for _ in range(6)
    ]
    right = [t13_1_torch(*case) for case in cases]
    check(f"[int(divisor(*case)) for case in {cases}]", right, global_mean)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Sharded: who holds the inf?

DDP wastes memory: every rank keeps the same optimizer state. Engines that **shard** give each rank
only its part of the averaged gradients, by a **reduce-scatter** instead of an all-reduce, and it
updates only its part of the weights. Now an inf is seen by those ranks only whose part has it. One
in the forward pass, like the pixel above, makes NaN of all gradients, and all ranks see it; but an
overflow in the backward pass can stay in a few numbers.

So this recorded run plants one: in step 2, counted from 0, one number of rank 1's part becomes inf
after the reduce-scatter. What will rank 0 do if each rank keeps its `found_inf`, if they share it,
and if it is left to PyTorch's GradScaler?
"""

# %% tags=["nbval-ignore-output"]
lonely, how = show_scene("local_found_inf", live=False)
print(fill(how, 70))

# %%
for way in ("kept", "shared", "torch"):
    print("torch's GradScaler" if way == "torch" else f"found_inf {way}")
    for rank in (0, 1):
        marks = "".join(".x"[skip] for skip in lonely[way]["skipped"][rank])
        scales = ", ".join(f"{scale:.0f}" for scale in lonely[way]["scale"][rank])
        print(f"  rank {rank}: {marks}  scale {scales}")
    print("  relative error of the weights:", *(f"{e:.0e}" for e in lonely[way]["weights_error"]))

# %% [markdown]
r"""
"x" is a skipped step, and the scale is that after it; errors are against one process that skips
step 2, too. Where `found_inf` was kept, one part of the model took a step that the other did not,
and from then on the scales differ. Nothing raises. One all-reduce of one number per step is the
cure, `found_inf` with `max`.

The engines do that for you. FSDP1 has a `ShardedGradScaler`; with FSDP2 the usual
`torch.amp.GradScaler` works; DeepSpeed reduces its overflow flag. Whoever shards by hand has to
think of it, and of the norm for clipping, which is that of all parts together.
"""

# %% [markdown]
r"""
### t13_2 · Skip together

`seen(engine, gradients)`: which ranks see an inf or NaN? `gradients` has, for each rank, its own
gradients of the whole model, before any communication. Return a list with True or False by rank.

- `"ddp"`: an all-reduce adds the ranks' gradients, and each rank looks at all sums;
- `"sharded"`: a reduce-scatter adds them, and rank r looks at its part of the sums, the r-th of
  equal, contiguous pieces;
- `"shared"`: like `"sharded"`, then `found_inf` is reduced over the ranks with `max`.

`agreed_step(ranks, lr)` takes one step of SGD with sharded gradients. `ranks` has one triple per
rank: its weights, its part of the averaged gradients, still scaled, and its scale, the same for
all. Return a list of pairs (weights, scale), one per rank. If any gradient of any rank is inf or
NaN, nobody's weights move and everyone's scale is halved; otherwise each weight loses `lr` times
its unscaled gradient, and the scales stay. Checks `play` several steps.
"""


# %% tags=["setup"]
def play(step, weights, steps, scale):
    """Take steps with lr 0.5 and return weights and scales, by rank.

    `weights` has each rank's part, `steps` each step's gradients by rank, without a scale.
    """
    scales = [scale] * len(weights)
    for gradients in steps:
        scaled = [[g * s for g in part] for part, s in zip(gradients, scales, strict=True)]
        after = step(list(zip(weights, scaled, scales, strict=True)), 0.5)
        weights = [[float(w) for w in part] for part, _ in after]
        scales = [float(s) for _, s in after]
    return weights, scales


# %% task="t13_2"
def seen(engine, gradients):
    """Return for each rank whether it sees an inf or NaN."""
    ### BEGIN SOLUTION
    sums = [sum(column) for column in zip(*gradients, strict=True)]
    bad = [not math.isfinite(x) for x in sums]
    ranks = len(gradients)
    if engine == "sharded":
        size = len(sums) // ranks
        return [any(bad[r * size : (r + 1) * size]) for r in range(ranks)]
    return [any(bad)] * ranks
    ### END SOLUTION


def agreed_step(ranks, lr):
    """Return (weights, scale) of each rank after one step, or after one skip."""
    ### BEGIN SOLUTION
    found = [any(not math.isfinite(g) for g in gradients) for _, gradients, _ in ranks]
    if any(found):
        return [(weights, scale / 2) for weights, _, scale in ranks]
    return [
        ([w - lr * g / scale for w, g in zip(weights, gradients, strict=True)], scale)
        for weights, gradients, scale in ranks
    ]
    ### END SOLUTION


# %% check="t13_2" points=5
with task("t13_2"):
    sees = "an all-reduce hands everyone every sum; a reduce-scatter hands out parts"
    kinds = "inf, -inf and NaN, and inf - inf is NaN"
    step = "without an inf each weight loses lr times its unscaled gradient, and the scales stay"
    together = "one inf on one rank, and no rank takes the step"
    one_scale = "all ranks go on with the same scale"
    own = "under DDP nobody decides by its own gradients: the average has everyone's"
    maker = "who made the inf need not be the one whose part it falls into"
    not_max = "max over the ranks: one True makes all True"
    spread = "with sharded gradients a rank sees the inf only if it lies in its part"
    blocks = "parts are contiguous: the r-th piece of the sums, not every n-th number"
    of_own = "the parts are those of the sums, not of a rank's own gradients"
    two = [[1.0, 2.0], [3.0, 4.0]]
    call = "[seen(e, g) for e in ('ddp', 'sharded', 'shared') for g in "
    call += "([[1.0, 2.0, 3.0, 4.0], [inf, 5.0, 6.0, 7.0]], [[1.0, inf, 3.0, 4.0], [5.0] * 4])]"
    left, right, both = [True, False], [False, True], [True, True]
    traps = {own: [right, left, left, left, both, both]}
    traps |= {maker: [both, both, right, left, both, both]}
    traps |= {own + ", and parts are of the sums": [right, left, right, left, both, both]}
    traps |= {blocks: [both, both, left, right, both, both]}
    traps |= {of_own: [both, both, [False, False], left, both, both]}
    traps |= {not_max: [both, both, left, left, left, left], spread: [both] * 6}
    check(call, [both, both, left, left, both, both], sees, traps)
    check(f"[seen(e, {two}) for e in ('ddp', 'sharded', 'shared')]", [[False] * 2] * 3, sees)
    lost = "inf and -inf on two ranks add up to NaN, which is found as well"
    only_inf = "NaN compares with nothing and is no inf: it is found all the same"
    minus = "-inf is an overflow, too"
    summands = "look at the sums: two finite numbers can add up to inf"
    call = "[seen('sharded', [[x, 1.0], [y, 2.0]])[0] for x, y in ((1.0, nan), (-inf, 1.0), "
    call += "(inf, -inf), (1e308, 1e308), (1.0, 2.0))]"
    traps = {only_inf: [False, True, False, True, False], minus: [True, False, True, True, False]}
    traps |= {minus + ", and so is NaN": [False, False, False, True, False]}
    traps |= {lost: [True, True, False, True, False], summands: [True, True, True, False, False]}
    check(call, [True, True, True, True, False], kinds, traps)
    call = "play(agreed_step, [[1.0, 2.0], [3.0, 4.0]], [[[2.0, 4.0], [-2.0, 8.0]]] * 2, 8.0)"
    right = ([[-1.0, -2.0], [5.0, -4.0]], [8.0, 8.0])
    scaled = "the gradients still have the scale: it has to come off"
    grew = "the scales stay: nothing was found"
    traps = {scaled: ([[-15.0, -30.0], [19.0, -60.0]], [8.0, 8.0])}
    traps |= {grew: ([[-1.0, -2.0], [5.0, -4.0]], [32.0, 32.0])}
    traps |= {"each rank's gradients belong to it alone": ([[1.0, -4.0], [3.0, -2.0]], [8.0, 8.0])}
    check(call, right, step, traps)
    alone = "a rank that decides alone drifts away from the others"
    vote = "this is no vote: one inf is enough"
    exactly = "found_inf is a maximum: two ranks with an inf skip just as one"
    zeroed = "an inf that was set to 0 is forgotten, and the others stepped"
    first = "rank 0 does not decide for the others: it may have no inf"
    every = "one rank with an inf is enough: they need not all have one"
    call = "play(agreed_step, [[1.0, 1.0]] * 3, [[[2.0, 2.0], [{}, 2.0], [2.0, 2.0]]], 8.0)[0]"
    traps = {alone: [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]}
    traps |= {zeroed: [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]}
    check(call.format("inf"), [[1.0, 1.0]] * 3, together, traps)
    call = """
        good, bad, moved = [2.0, 2.0], [4.0, inf], []
        for row in ([good, bad, good], [bad, bad, good], [bad, good, good], [bad, bad, bad]):
            after = play(agreed_step, [[1.0, 1.0]] * 3, [row], 8.0)[0]
            moved.append(sum(part != [1.0, 1.0] for part in after))
        return moved
    """
    traps = {alone: [2, 1, 2, 0], vote: [3, 0, 3, 0], exactly: [0, 3, 0, 3], first: [3, 0, 0, 0]}
    check(call, [0, 0, 0, 0], together, traps | {every: [3, 3, 3, 0], zeroed: [3, 3, 3, 3]})
    overlooked = "a NaN is no inf, and must be found as well: ask whether a number is finite"
    call = "play(agreed_step, [[1.0, 1.0]] * 3, [[[nan, 2.0]] * 3], 8.0)[0]"
    check(call, [[1.0, 1.0]] * 3, together, {overlooked: [[nan, 0.0]] * 3})
    call = "play(agreed_step, [[1.0], [2.0]], [{}, [[2.0], [4.0]]], 8.0)"
    by_rank = "only the rank with the inf halved its scale: there is one scale"
    twice = "two ranks with an inf are one skipped step: the scale is halved once"
    halved = "a skipped step halves the scale"
    traps = {by_rank: ([[0.0], [0.0]], [8.0, 4.0]), halved: ([[0.0], [0.0]], [8.0, 8.0])}
    traps |= {alone: ([[-1.0], [0.0]], [8.0, 4.0]), scaled: ([[-3.0], [-6.0]], [4.0, 4.0])}
    check(call.format([[2.0], [inf]]), ([[0.0], [0.0]], [4.0, 4.0]), one_scale, traps)
    traps = {twice: ([[0.0], [0.0]], [2.0, 2.0]), halved: ([[0.0], [0.0]], [8.0, 8.0])}
    traps |= {scaled: ([[-3.0], [-6.0]], [4.0, 4.0])}
    check(call.format([[nan], [-inf]]), ([[0.0], [0.0]], [4.0, 4.0]), one_scale, traps)
    floor = "this scale has no floor: it is halved below 1 as well"
    call = "play(agreed_step, [[1.0], [2.0]], [[[inf], [4.0]]], 1.0)"
    check(call, ([[1.0], [2.0]], [0.5, 0.5]), one_scale, {floor: ([[1.0], [2.0]], [1.0, 1.0])})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t13_2_random = Random(1302)
    t13_2_bad = (float("inf"), -float("inf"), float("nan"))

    def t13_2_gradients(ranks, size, bad, low=-64, high=65):
        """Return dyadic gradients by rank, some of them not finite."""
        rows = [[t13_2_random.randrange(low, high) / 8 for _ in range(size)] for _ in range(ranks)]
        for _ in range(bad):
            row = t13_2_random.choice(rows)
            row[t13_2_random.randrange(size)] = t13_2_random.choice(t13_2_bad)
        return rows

    def t13_2_seen(engine, gradients):
        """Let torch add the gradients, cut the sums and look at them."""
        sums = torch.tensor(gradients).sum(0)
        parts = [sums] * len(gradients) if engine == "ddp" else sums.chunk(len(gradients))
        found = torch.tensor([not p.isfinite().all() for p in parts], dtype=torch.float32)
        return [bool(x) for x in (found if engine != "shared" else found.max().expand(len(found)))]

    for engine in ("ddp", "sharded", "shared") * 3:
        looked: list[list[list[float]]] = []
        for _ in range(10):
            ranks = t13_2_random.randint(2, 5)
            size = ranks * t13_2_random.randint(1, 4)
            looked.append(t13_2_gradients(ranks, size, t13_2_random.randint(0, 2)))
        right = [t13_2_seen(engine, case) for case in looked]
        call = f"[[bool(x) for x in seen({engine!r}, g)] for g in {looked}]"
        check(call, right, sees)
    pairs = [(x, y) for x in (*t13_2_bad, 3.0) for y in (*t13_2_bad, -3.0)] * 2
    pairs += [(x * 1e308, y * 1e308) for x, y in ((1.0, 1.5), (-1.7, -1.7), (1.5, 1.0))]
    cases = [[[x, 1.0], [y, 2.0]] for x, y in pairs]
    right = [t13_2_seen("sharded", case)[0] for case in cases]
    check(f"[bool(seen('sharded', g)[0]) for g in {cases}]", right, kinds)

    def t13_2_torch(weights, steps, scale):
        """Let one process with torch's scaler train on all parts together."""
        sizes = [len(part) for part in weights]
        w = torch.nn.Parameter(torch.tensor(weights).flatten())
        optimizer = torch.optim.SGD([w], lr=0.5)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        for gradients in steps:
            factor = scaler.scale(torch.ones(()))
            w.grad = torch.tensor(gradients).flatten() * factor
            scaler.step(optimizer)
            scaler.update()
        parts = [part.tolist() for part in w.detach().split(sizes)]
        return parts, [scaler.get_scale()] * len(weights)

    for reason, bad in ((step, 0), (together, 1), (one_scale, 2)):
        for _ in range(6):
            ranks, size = t13_2_random.randint(2, 5), t13_2_random.randint(1, 3)
            weights = t13_2_gradients(ranks, size, 0)
            steps = [
                t13_2_gradients(ranks, size, t13_2_random.randint(0, 2) * bad) for _ in range(6)
            ]
            if bad:
                steps[0][t13_2_random.randrange(ranks)][0] = float("inf")
            power = 2.0 ** t13_2_random.choice((-2, 0, 1, 2, 8, 12, 16))
            right = t13_2_torch(weights, steps, power)
            check(f"play(agreed_step, {weights}, {steps}, {power})", right, reason)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## ZeRO: dividing what training keeps

With Adam, FP16 weights and gradients and FP32 masters a parameter takes 16 bytes
(`11_memory`): 2 for the weight, 2 for the gradient, 12 for master and two states.
**ZeRO** ([Rajbhandari et al.](https://arxiv.org/abs/1910.02054)) divides them among the ranks in
three stages. Paint them: which stage brings the most, and what remains on each of 8, or of 64
ranks? And under autocast, where weights and gradients are FP32?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import shards

shards(stage=1, ranks=4)

# %% [markdown]
r"""
The states go first, because they are the largest part and a rank needs only those of its part of
the weights. So it is with the averaged gradients. The weights go last, since each layer needs all
of its own to run; stage 3 gathers them layer by layer, forward and again backward. Plain DDP is
stage 0; FSDP2, by default, is stage 3.

The paper's example, 7.5 billion parameters on 64 ranks: what each keeps, with FP16 weights and
under autocast, and what it sends in a step without accumulation:
"""

# %%
from ampcourse.memory.shards import zero_bytes, zero_traffic

# %%
size = 7_500_000_000
ddp_sent = zero_traffic(size, 64, 0).total
for stage in range(4):
    kinds = [zero_bytes(size, 64, stage, "adam", r).total / 1e9 for r in ("masters", "autocast")]
    sent = zero_traffic(size, 64, stage).total / ddp_sent
    print(f"stage {stage}: {kinds[0]:6.2f} or {kinds[1]:6.2f} GB, {sent:.1f} times DDP's bytes")
sent = zero_traffic(size, 64, 3, "autocast", gathered="half").total
sent /= zero_traffic(size, 64, 0, "autocast").total
print(f"stage 3, weights gathered in BF16, gradients averaged in FP32: {sent:.1f} times")

# %% [markdown]
r"""
A reduce-scatter of gradients and an all-gather of updated weights are the two halves of an
all-reduce, so stages 1 and 2 send what DDP sends. Stage 3 gathers the weights twice: three halves.
In BF16 those halves are smaller, and FSDP2 then sends what DDP sends in FP32.

And what does no stage divide? The activations. They belong to the rank's own images, and 64 ranks
with a micro-batch of 8 hold, all together, 64 times those of one.
"""

# %% [markdown]
r"""
### t13_3 · Bytes per rank

`kept(stage, ranks, parameters, each, activations)` returns what the fullest rank keeps, in bytes:
`(weights, gradients, states, activations)`. `each` has the bytes per parameter of weights,
gradients and optimizer states, FP32 masters included in the states. `activations` is the bytes
that one rank's micro-batch leaves for the backward pass. What a stage divides is one long list of
numbers, one per parameter, cut into pieces of equal length, the last one filled up. All numbers
are integers.

`first_fit(ranks, parameters, each, activations, limit)` returns the lowest stage with which all
four together take at most `limit` bytes, and None if there is none.
"""


# %% task="t13_3" forbids=["ampcourse.memory", "ampcourse.widgets"]
def kept(stage, ranks, parameters, each, activations):
    """Return bytes of weights, gradients, states and activations on the fullest rank."""
    ### BEGIN SOLUTION
    share = -(-parameters // ranks)
    weights, gradients, states = each
    return (
        weights * (share if stage >= 3 else parameters),
        gradients * (share if stage >= 2 else parameters),
        states * (share if stage >= 1 else parameters),
        activations,
    )
    ### END SOLUTION


def first_fit(ranks, parameters, each, activations, limit):
    """Return the lowest stage that fits, or None."""
    ### BEGIN SOLUTION
    for stage in range(4):
        if sum(kept(stage, ranks, parameters, each, activations)) <= limit:
            return stage
    return None
    ### END SOLUTION


# %% check="t13_3" points=4
with task("t13_3"):
    stages = "stage 1 divides the states, 2 the gradients as well, 3 the weights as well"
    uneven = "the fullest rank has a piece of full length: round up"
    batch = "activations belong to the rank's own micro-batch: no stage divides them"
    lowest = "the lowest stage with which all four fit"
    thinned = "no stage divides activations: they are as large as the micro-batch makes them"
    weights_first = "the states are the largest part, and go first; the weights go last"
    off = "stage 1 leaves the gradients whole: they are divided from stage 2 on"
    replaced = "a higher stage divides what the lower ones did, and more"
    plain = "stage 0 is DDP: every rank keeps everything"
    down = "a piece that is rounded down loses parameters"
    exact = "a parameter is on one rank, whole: no pieces of a number"
    call = "[list(map(int, kept(s, 4, 40, (2, 2, 12), 100))) for s in range(4)]"
    rows = [[80, 80, 480, 100], [80, 80, 120, 100], [80, 20, 120, 100], [20, 20, 120, 100]]
    traps = {weights_first: [rows[0], [20, 80, 480, 100], [20, 20, 480, 100], rows[3]]}
    traps |= {off: [rows[0], rows[2], rows[2], rows[3]]}
    traps |= {off + " and the weights from 3 on": [rows[0], rows[2], rows[3], rows[3]]}
    traps |= {replaced: [rows[0], rows[1], [80, 20, 480, 100], [20, 80, 480, 100]]}
    traps |= {plain: [rows[1], rows[1], rows[2], rows[3]]}
    traps |= {plain + ", 1 the first stage": [rows[1], rows[2], rows[3], rows[3]]}
    check(call, rows, stages, traps)
    call = "[list(map(int, kept(s, 4, 10, (2, 4, 8), 0)[:3])) for s in range(4)]"
    right = [[20, 40, 80], [20, 40, 24], [20, 12, 24], [6, 12, 24]]
    traps = {down: [[20, 40, 80], [20, 40, 16], [20, 8, 16], [4, 8, 16]]}
    traps |= {exact: [[20, 40, 80], [20, 40, 20], [20, 10, 20], [5, 10, 20]]}
    check(call, right, uneven, traps)
    call = "[int(kept(s, r, 40, (2, 2, 12), 1000)[3]) for s in (0, 3) for r in (1, 2, 8)]"
    traps = {thinned: [1000, 1000, 1000, 1000, 500, 125]}
    traps |= {thinned + ", nor does DDP": [1000, 500, 125, 1000, 500, 125]}
    check(call, [1000] * 6, batch, traps)
    call = "[sum(kept(s, 64, 7_500_000_000, (2, 2, 12), 0)) / 1e9 for s in range(4)]"
    check(call, [120.0, 31.40625, 16.640625, 1.875], stages)  # the paper: 120, 31.4, 16.6, 1.9
    cases = [
        (4, 40, (2, 2, 12), 100, limit) for limit in (740, 739, 380, 379, 320, 260, 259, 650, 100)
    ]
    highest = "stage 3 fits where a lower one does: take the lowest"
    strict = "exactly as much as there is does fit"
    nothing = "with no stage that fits the answer is None, not 3"
    no_activations = "the activations have to fit as well"
    traps = {highest: [3, 3, 3, 3, 3, 3, None, 3, None]}
    traps |= {strict: [1, 1, 2, 2, 3, None, None, 1, None]}
    traps |= {nothing: [0, 1, 1, 2, 2, 3, 3, 1, 3]}
    traps |= {no_activations: [0, 0, 1, 1, 1, 2, 2, 0, None]}
    right = [0, 1, 1, 2, 2, 3, None, 1, None]
    check(f"[first_fit(*case) for case in {cases}]", right, lowest, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t13_3_random = Random(1303)
    t13_3_types = {1: torch.uint8, 2: torch.float16, 4: torch.float32, 8: torch.float64}

    def t13_3_torch(stage, ranks, parameters, each, activations):
        """Let torch cut tensors into pieces, and count the bytes of the first."""
        sizes = []
        for first, bytes_each in zip((3, 2, 1), each, strict=True):
            whole = torch.empty(parameters, dtype=torch.uint8)
            piece = whole.chunk(ranks)[0] if stage >= first else whole
            sizes.append(
                sum(
                    torch.empty_like(piece, dtype=t13_3_types[1 << bit]).nbytes
                    for bit in range(4)
                    if bytes_each >> bit & 1
                )
            )
        return [*sizes, torch.empty(activations, dtype=torch.uint8).nbytes]

    def t13_3_case(even):
        """Return ranks, parameters, bytes and activations."""
        ranks = t13_3_random.randint(2, 16)
        parameters = ranks * t13_3_random.randint(3, 200)
        if not even:
            parameters += t13_3_random.randint(1, ranks - 1)
        each = t13_3_random.choice(((2, 2, 12), (4, 4, 8), (4, 4, 4), (2, 4, 12), (2, 2, 4)))
        return ranks, parameters, each, t13_3_random.randint(1, 9000)

    for reason, even in ((stages, True), (uneven, False), (batch, True)) * 3:
        cases = [(t13_3_random.randint(0, 3), *t13_3_case(even)) for _ in range(12)]
        right = [t13_3_torch(*case) for case in cases]
        check(f"[list(map(int, kept(*case))) for case in {cases}]", right, reason)
    tried: list[tuple[object, ...]] = []
    stages_found: list[int | None] = []
    for k in range(48):
        case = t13_3_case(k % 2)
        needs = [sum(t13_3_torch(stage, *case)) for stage in range(4)]
        limit = t13_3_random.choice(needs) + t13_3_random.choice((-1, 0, 0, 1, 50))
        tried.append((*case, limit))
        stages_found.append(next((s for s, need in enumerate(needs) if need <= limit), None))
    check(f"[first_fit(*case) for case in {tried}]", stages_found, lowest)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## FSDP2: stage 3 in PyTorch

```python
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp import MixedPrecisionPolicy

policy = MixedPrecisionPolicy(
    param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for layer in model.layers:
    fully_shard(layer, mp_policy=policy)
fully_shard(model, mp_policy=policy)  # for what is left
# After sharding, so that it sees the parts:
optimizer = torch.optim.AdamW(model.parameters())
```

Each rank keeps FP32 parts of the weights, which are the master weights. Before a layer runs, its
parts are cast to `param_dtype` and gathered, and dropped when it has run (those of the last call
stay from forward to backward); gradients are averaged in `reduce_dtype`. There is no
autocast: the type is decided layer by layer, not op by op. What autocast would have kept in FP32 is
BF16 here, unless you give a norm a policy of its own, or cast before a softmax. Will the losses
differ from DDP's? This starts two processes again:
"""

# %% tags=["nbval-ignore-output"]
fsdp, how = show_scene("fsdp2", timeout=30)
print(fill(how, 70))

# %% tags=["nbval-ignore-output"]
for name, losses in fsdp["loss"].items():
    print(f"{name:12}", *(f"{loss:.6f}" for loss in losses[-3:]))

# %% tags=["nbval-ignore-output"]
shapes = [tuple(shape) for shape in fsdp["shapes"]]
for name, stage in (("ddp", 0), ("fsdp2", 3)):
    told = zero_bytes(shapes, 2, stage, "adam", "autocast", division="rows")
    formula = told.weights, told.gradients, told.optimizer_state
    for (kind, held), size in zip(fsdp["bytes"][name].items(), formula, strict=True):
        print(f"{name:5} {kind:9} by rank {held}, by the formula {size}")

# %% [markdown]
r"""
In FP32 two ranks have the losses of one process but for the last bits, because sums are taken in
another order. Here autocast and policy give the same losses, since this network has nothing but
convolutions and a linear layer. A rank holds half; with small layers it can be more, for FSDP2 cuts
by rows, and of 10 rows on 8 ranks, five ranks hold 2 and three none.

## DeepSpeed: the three stages by a configuration

DeepSpeed divides by the same stages. It is no part of this course's installation (on a CPU:
`DS_ACCELERATOR=cpu DS_BUILD_OPS=0 pip install --no-build-isolation setuptools wheel deepspeed`).
Recorded with version 0.19.8, on two ranks. One run in FP32 will not agree with DDP; guess why:
"""

# %% tags=["nbval-ignore-output"]
zero, how = show_scene("deepspeed", live=False)
print(fill(how, 70))

# %%
for name, losses in zero["loss"].items():
    print(f"{name:35}: last losses", *(f"{loss:.5f}" for loss in losses[-2:]))
print("weights, in ulps from DDP's:", zero["largest_difference_ulps"])

# %% [markdown]
r"""
In FP32 the stages train as DDP does, bit for bit here. The last run left `gradient_clipping` away,
and DeepSpeed clips to a norm of 1 unless told otherwise. The bytes in BF16, when the optimizer
steps:
"""

# %%
shapes = [tuple(shape) for shape in zero["shapes"]]
for stage in (1, 2, 3):
    found = {kind: sizes[0] for kind, sizes in zero["bytes"][f"zero{stage} bf16"].items()}
    division = "tensors" if stage == 3 else "flat"
    told = zero_bytes(shapes, 2, stage, division=division)
    between = zero["gradients_between_micro_steps"][f"zero{stage} bf16"][0]
    print(f"stage {stage}: {sum(found.values()):,} bytes, by the formula {told.total:,};")
    print(f"  gradients {found['gradients']:,}, between micro-batches {between:,}")

# %% [markdown]
r"""
Stage 1 is below the formula, because it has whole gradients between accumulated micro-batches only,
and its part of them at the update. (In between stage 2 holds many, too, probably because its
buckets are larger than this network.)

### What the file says

DeepSpeed is told in JSON what to do, and it is easy to get wrong in silence. A file for FP16 on 8
ranks:

```json
{
  "train_batch_size": 256,
  "train_micro_batch_size_per_gpu": 8,
  "gradient_accumulation_steps": 4,
  "gradient_clipping": 1.0,
  "fp16": {"enabled": true, "loss_scale": 0,
           "initial_scale_power": 16, "hysteresis": 2},
  "zero_optimization": {"stage": 2}
}
```

| field | what it says | if missing (0.19.8) |
|---|---|---|
| `train_batch_size` | the **global** batch, 8 × 4 × ranks | worked out |
| `train_micro_batch_size_per_gpu` | one rank's images at a time | worked out |
| `gradient_accumulation_steps` | micro-batches per update | worked out, or 1 |
| `gradient_clipping` | largest norm, after unscaling; 0.0: none | **1.0** |
| `communication_data_type` | the type gradients are summed in | **that of the weights** |
| `enabled` | FP16 weights, with FP32 masters | **false** |
| `loss_scale` | 0: dynamic; else that scale, for ever | 0 |
| `initial_scale_power` | the first scale is 2 to this power | 16 |
| `loss_scale_window` | the scale doubles after so many good steps and one more | 1000 |
| `hysteresis` | overflows until the scale halves; each skips its step | 2 |
| `min_loss_scale` | the floor; one more overflow there ends the training | 1 |
| `stage` | what is divided: nothing (0), or as above | 0 |

For BF16 it is `"bf16": {"enabled": true}`, without a scale, and gradients are summed in BF16
unless `communication_data_type` says otherwise. Both types at once, an unknown field in a section,
or a product that does not come out are errors at the start. A forgotten `enabled` or
`gradient_clipping` is none. (`max_grad_norm` among the optimizer's parameters, an old habit, is
refused where DeepSpeed makes the optimizer, and only warned of where you do.)

### Hysteresis

With ZeRO 1 to 3 this is the rule of DeepSpeed's scaler, in ten lines. What will the overflows below
cost with `hysteresis` 2, and what with 1, as in PyTorch? (The window is 4.)
"""


# %%
def deepspeed_scales(marks, hysteresis, scale=2.0**16, window=4):
    """Return the scale after each step: "x" an overflow, "." a good step."""
    left, last, scales = hysteresis, -1, []
    for k, mark in enumerate(marks):
        if mark == "x":
            scale /= 2 if left == 1 else 1
            left, last = max(left - 1, 1), k
        elif k - last - 1 > 0 and (k - last - 1) % window == 0:
            left, scale = hysteresis, scale * 2
        scales.append(scale)
    return scales


# %%
marks = "x.x.x......x"
for hysteresis in (2, 1):
    powers = [int(scale).bit_length() - 1 for scale in deepspeed_scales(marks, hysteresis)]
    told = [f"{mark}{power}" for mark, power in zip(marks, powers, strict=True)]
    print(f"hysteresis {hysteresis}, exponents:", *told)

# %% [markdown]
r"""
With 2, the first overflow costs a step and no scale: a single bad batch does not make the scale
sink. It is refilled only when the scale grows, unless `consecutive_hysteresis` is true; so of
several overflows from the start only the first is forgiven. With stage 0 DeepSpeed has another
scaler: it ignores `hysteresis`, and at the floor it skips every step without a word.
"""

# %% [markdown]
r"""
### t13_4 · Read the configuration before the cluster does

`lint(config, ranks)` returns a sorted list of the codes of what is wrong:

- `"both types"`: `fp16` and `bf16` are both enabled;
- `"batch"`: there is neither `train_batch_size` nor `train_micro_batch_size_per_gpu`, or
  `train_batch_size` is not `train_micro_batch_size_per_gpu` × `gradient_accumulation_steps` ×
  ranks. A factor that is missing may be any whole number from 1; it is a finding if none fits;
- `"bf16 scale"`: the section `bf16` has a field of `SCALE_FIELDS`, enabled or not;
- `"fp16 off"`: the section `fp16` has a field of `SCALE_FIELDS` and is not enabled;
- `"static scale"`: `fp16` is enabled with a `loss_scale` other than 0;
- `"clipping"`: there is no `gradient_clipping` at the top level. (0.0 is a decision.)

Every field may be missing: a section is then empty, `enabled` is `False` and `loss_scale` 0. With
`clean()` nothing is wrong; checks change it. `batch`, `micro` and `steps` are the three numbers,
and None is left out.
"""

# %% tags=["setup"]
SCALE_FIELDS = (
    "loss_scale",
    "initial_scale_power",
    "loss_scale_window",
    "hysteresis",
    "min_loss_scale",
)
ON, OFF = {"enabled": True}, {"enabled": False}
ADAM = {"type": "Adam", "params": {"lr": 0.001, "max_grad_norm": 1.0}}


def clean(batch=None, micro=4, steps=None, gradient_clipping=1.0, bf16=ON, **sections):
    """Return a configuration without a fault, but for what is changed; None leaves a field out."""
    fields = {
        "train_batch_size": batch,
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": steps,
        "gradient_clipping": gradient_clipping,
        "bf16": bf16,
        **sections,
    }
    return {name: value for name, value in fields.items() if value is not None}


# %% task="t13_4"
def lint(config, ranks):
    """Return the sorted codes of what is wrong with a DeepSpeed configuration."""
    ### BEGIN SOLUTION
    codes = set()
    fp16, bf16 = config.get("fp16", {}), config.get("bf16", {})
    if fp16.get("enabled") and bf16.get("enabled"):
        codes.add("both types")
    if set(SCALE_FIELDS) & set(bf16):
        codes.add("bf16 scale")
    if set(SCALE_FIELDS) & set(fp16) and not fp16.get("enabled"):
        codes.add("fp16 off")
    if fp16.get("enabled") and fp16.get("loss_scale", 0) != 0:
        codes.add("static scale")
    if "gradient_clipping" not in config:
        codes.add("clipping")
    batch = config.get("train_batch_size")
    micro = config.get("train_micro_batch_size_per_gpu")
    steps = config.get("gradient_accumulation_steps")
    if batch is None:
        wrong = micro is None
    elif micro and steps:
        wrong = batch != micro * steps * ranks
    else:
        wrong = batch % ((micro or 1) * (steps or 1) * ranks) != 0
    if wrong:
        codes.add("batch")
    return sorted(codes)
    ### END SOLUTION


# %% check="t13_4" points=6
with task("t13_4"):
    types = (
        "both types: one model trains in one of them; a section that is not enabled does not count"
    )
    batches = "batch: the global batch is micro-batch × accumulation × ranks"
    needless = "bf16 scale: BF16 has FP32's range, and DeepSpeed knows no such field there"
    asleep = "fp16 off: without enabled, the section changes nothing, and training runs in FP32"
    fixed = "static scale: 0 means dynamic; any other number is a scale that never moves"
    clip = "clipping: the top level states gradient_clipping, be it 0.0"
    several = "all findings at once, each by its code, sorted; a missing field is no error"

    def t13_4_ask(code, reason, *cases):
        """Check one configuration after another: its changes, ranks, whether it is found, why."""
        for changes, ranks, found, cause in cases:
            traps = {cause: not found} if cause else {}
            check(f"{code!r} in lint(clean({changes}), {ranks})", found, reason, traps)

    check("lint(clean(), 2)", [], several)
    call = "lint(clean(batch=9, fp16={'loss_scale': 8}, bf16={'hysteresis': 2}, "
    right = ["batch", "bf16 scale", "clipping", "fp16 off"]
    traps = {"look on after the first finding": right[:1]}
    traps |= {"sorted": ["batch", "bf16 scale", "fp16 off", "clipping"]}
    check(call + "gradient_clipping=None), 2)", right, several, traps)

    nowhere = "this code is not found at all yet, or it is spelt otherwise"
    there = "a section that is there need not be enabled"
    by_default = "enabled is False unless it is stated"
    t13_4_ask(
        "both types",
        types,
        ("fp16=ON", 2, True, nowhere),
        ("fp16=OFF", 2, False, there),
        ("fp16=ON, bf16=OFF", 2, False, there),
        ("fp16={}", 2, False, by_default),
        ("fp16=ON, bf16=None", 2, False, "a section that is missing is not enabled"),
    )
    per_rank = "train_batch_size is the global batch: the ranks are factors as well"
    larger = "a global batch that is larger than the product does not come out either"
    no_steps = "accumulated micro-batches belong to the same global batch"
    trusting = "a missing number must still be a whole one: 62 is no multiple of 4"
    as_one = "a missing number is worked out from the others, not taken as 1"
    neither = "one of the two batch sizes has to be there"
    needed = "one batch size is enough: the other numbers follow"
    ranks_too = "where a number is missing the ranks are factors all the same"
    t13_4_ask(
        "batch",
        batches,
        ("batch=9, micro=4, steps=2", 8, True, nowhere),
        ("batch=8, micro=4, steps=2", 8, True, per_rank),
        ("batch=64, micro=4, steps=2", 8, False, no_steps),
        ("batch=128, micro=4, steps=2", 8, True, larger),
        ("batch=32, micro=4, steps=2", 8, True, no_steps),
        ("micro=4", 8, False, needed),
        ("micro=4, steps=2", 8, False, needed),
        ("micro=None", 8, True, neither),
        ("micro=None, steps=2", 8, True, neither),
        ("batch=64, micro=4", 8, False, as_one),
        ("batch=64, micro=None, steps=2", 8, False, as_one),
        ("batch=64, micro=None", 8, False, as_one),
        ("batch=62, micro=4", 8, True, trusting),
        ("batch=60, micro=4", 8, True, ranks_too + ": 60 is 4 × 15, but not 4 × steps × 8"),
        ("batch=24, micro=None, steps=2", 8, True, ranks_too + ": 24 is not 2 × micro-batch × 8"),
        ("batch=63, micro=None", 8, True, ranks_too + ": 63 is no multiple of 8"),
        ("batch=16, micro=4", 8, True, ranks_too + ": 4 × 8 is more than 16 already"),
    )
    only_on = "DeepSpeed refuses an unknown field of a section, enabled or not"
    any_field = "bf16 has fields of its own, which are legal"
    t13_4_ask(
        "bf16 scale",
        needless,
        ("bf16=ON | {'loss_scale': 0}", 2, True, nowhere + ", and BF16 needs no loss scale"),
        ("bf16=ON | {'hysteresis': 2}", 2, True, "loss_scale is one of five fields"),
        ("bf16=OFF | {'min_loss_scale': 1}", 2, True, only_on),
        ("bf16=ON | {'check_grad_overflow': True}", 2, False, any_field),
        ("bf16=None, fp16=ON | {'hysteresis': 2}", 2, False, "fp16 is where they belong"),
    )
    switched = "a section that was switched off on purpose, without a scale, is no finding"
    t13_4_ask(
        "fp16 off",
        asleep,
        ("fp16=OFF | {'hysteresis': 4}", 2, True, nowhere),
        ("fp16={'loss_scale': 0}", 2, True, by_default),
        ("fp16=OFF", 2, False, switched),
        ("fp16={}", 2, False, switched),
        ("fp16=ON | {'loss_scale': 0}, bf16=None", 2, False, ""),
    )
    zero = "loss_scale 0 is the dynamic scale, which adapts"
    missing = "a loss_scale that is not there is 0, and that is dynamic"
    t13_4_ask(
        "static scale",
        fixed,
        ("fp16=ON | {'loss_scale': 128.0}", 2, True, nowhere),
        ("fp16=ON | {'loss_scale': 0}", 2, False, zero),
        ("fp16=ON | {'loss_scale': 1}", 2, True, "1 is a static scale, too"),
        ("fp16=ON", 2, False, missing),
        ("fp16=ON | {'initial_scale_power': 16}", 2, False, missing),
        ("fp16=OFF | {'loss_scale': 128}", 2, False, "what is not enabled scales nothing"),
        ("fp16={'loss_scale': 128}", 2, False, by_default),
    )
    falsy = "0.0 switches clipping off on purpose: it is stated"
    hidden_norm = "max_grad_norm of the optimizer is not what DeepSpeed clips by"
    t13_4_ask(
        "clipping",
        clip,
        ("gradient_clipping=None", 2, True, nowhere),
        ("gradient_clipping=0.0", 2, False, falsy),
        ("gradient_clipping=None, optimizer=ADAM", 2, True, hidden_norm),
        ("optimizer=ADAM", 2, False, "max_grad_norm is not asked for here, only clipping"),
    )
    ### BEGIN HIDDEN TESTS
    from random import Random

    t13_4_random = Random(1304)
    t13_4_fields = (
        "loss_scale",
        "initial_scale_power",
        "loss_scale_window",
        "hysteresis",
        "min_loss_scale",
    )

    def t13_4_config(plan, ranks):
        """Write a configuration with the faults that are planned, and no other."""
        pick = t13_4_random.choice
        scaled = {name: pick((0, 2, 16)) for name in t13_4_random.sample(t13_4_fields[1:], 2)}
        micro, steps = pick((1, 3, 4, 6)), pick((1, 2, 5))
        config = {"optimizer": {"type": "Adam", "params": {"lr": 0.1}}}
        half = "both types" in plan or "static scale" in plan or pick((True, False))
        if "fp16 off" in plan:
            unused = pick(({}, {"loss_scale": 128}))
            config["fp16"] = {**pick(({}, {"enabled": False})), **scaled, **unused}
        elif half:
            config["fp16"] = {"enabled": True, **scaled, **pick(({}, {"loss_scale": 0}))}
            if "static scale" in plan:
                config["fp16"]["loss_scale"] = pick((1, 128, 1024.0))
        else:
            config["fp16"] = pick(({}, {"enabled": False}, {"auto_cast": False}))
        config["bf16"] = pick(({}, {"enabled": False}))
        if "both types" in plan or (not half and pick((True, False))):
            config["bf16"] = {"enabled": True}
        if "bf16 scale" in plan:
            config["bf16"] = {**config["bf16"], pick(t13_4_fields): 1}
        elif pick((True, False)):
            config["bf16"] = {**config["bf16"], "check_grad_overflow": True}
        if "clipping" not in plan:
            config["gradient_clipping"] = pick((0.0, 0.5, 1.0))
        elif pick((True, False)):
            config["optimizer"]["params"]["max_grad_norm"] = 1.0
        return config | t13_4_batch("batch" in plan, micro, steps, ranks)

    def t13_4_fits(batch, micro, steps, ranks):
        """Try all numbers that may be missing."""
        if batch is None:
            return micro is not None
        micros = [micro] if micro else range(1, batch + 1)
        rounds = [steps] if steps else range(1, batch + 1)
        return any(m * s * ranks == batch for m in micros for s in rounds)

    def t13_4_batch(wrong, micro, steps, ranks):
        """Return batch sizes that fit each other, or do not, some left out."""
        product = micro * steps * ranks
        near = (product, product, 2 * product, micro * steps, micro * ranks, steps * ranks + 1)
        names = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
        while True:
            sizes = [t13_4_random.choice(near), micro, steps]
            sizes = [size if t13_4_random.random() < 0.7 else None for size in sizes]
            if t13_4_fits(*sizes, ranks) != wrong:
                return {n: s for n, s in zip(names, sizes, strict=True) if s is not None}

    def t13_4_plan(*codes):
        """Return faults: some of those given, never fp16 off with what needs fp16."""
        plan = {code for code in codes if t13_4_random.random() < 0.5}
        return plan - ({"both types", "static scale"} if "fp16 off" in plan else set())

    t13_4_codes = {
        "both types": types,
        "batch": batches,
        "bf16 scale": needless,
        "fp16 off": asleep,
        "static scale": fixed,
        "clipping": clip,
    }
    for code, reason in t13_4_codes.items():
        for _ in range(2):
            linted: list[tuple[object, int]] = []
            planned: list[bool] = []
            for _ in range(24):
                plan, ranks = t13_4_plan(*t13_4_codes), t13_4_random.choice((2, 3, 8))
                linted.append((t13_4_config(plan, ranks), ranks))
                planned.append(code in plan)
            check(f"[{code!r} in lint(c, r) for c, r in {linted}]", planned, reason)
    for _ in range(2):
        plans = [t13_4_plan(*t13_4_codes) for _ in range(16)]
        pairs = [(t13_4_config(plan, 4), 4) for plan in plans]
        check(f"[list(lint(c, r)) for c, r in {pairs}]", [sorted(p) for p in plans], several)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Saved on two, loaded on one

A checkpoint of a sharded training is in parts, and the next machine may have another number of
GPUs. `torch.distributed.checkpoint` writes each rank's parts with a plan of where they belong;
whoever loads asks for those that it needs. Will one rank go on with the same bits? Recorded with
FSDP2:
"""

# %% tags=["nbval-ignore-output"]
saved, how = show_scene("checkpoint_2_to_1", live=False)
print(fill(how, 70))

# %% tags=["nbval-ignore-output"]
print(fill(f"files: {saved['files']}", 70))
print("weights the same when loaded:", saved["same_weights_loaded"])
print("optimizer state the same:", saved["same_optimizer_loaded"])
for name, losses in saved["loss"].items():
    print(f"{name:10} from step {saved['saved_at']}:", *(f"{loss:.8f}" for loss in losses[:4]))

# %% [markdown]
r"""
Weights and states are the same bits; the losses then differ in the last digits, because one rank
adds in another order. That holds with the **global** batch kept: one rank takes the images of both.
The scaler's state belongs in the checkpoint as well: saved once, loaded on every rank.

## A rank dies

If a rank dies, `torchrun --max-restarts 3` ends all others, which would fail or wait until the
time-out (NCCL's is 10 minutes), and starts **all** anew; they go on from the newest checkpoint, if
the program looks for one. Recorded: rank 1 is killed before step 7, with a checkpoint after every 3
steps. Which steps are computed twice?
"""

# %% tags=["nbval-ignore-output"]
killed, how = show_scene("killed_rank", live=False)
print(fill(how, 70))

# %%
for number, attempt in enumerate(killed["attempts"]):
    print(f"attempt {number}: rank 0 began steps", end=" ")
    print(attempt["first_step"], "to", attempt["last_step"])
print("same weights at the end as without it:", killed["same_weights"])

# %% [markdown]
r"""
Rank 0 had begun step 7, and never got rank 1's gradients; step 6 is computed twice. The
weights agree at the end because all that decides a step was in the checkpoint or follows from the
step's number: weights, states, scaler, and which images come next.

## When ranks drift apart

What if two ranks do not have the same weights any more? Nothing raises. It comes from a skip that
was not agreed on, a scaler that one rank did not load, a parameter added after DDP had wrapped the
model. So let each rank write down a line per step; a checksum of the bytes is enough:
"""

# %%
import zlib

# %%
weights = torch.arange(8, dtype=torch.float32)
for change in (0.0, 2.0**-22):
    weights[1] += change
    print(f"checksum {zlib.crc32(weights.numpy().tobytes()):08x}")

# %% [markdown]
r"""
### t13_5 · Find the rank that diverged

Each rank has written down, for each step: the scale that it had, before `update`, whether it
skipped, and a checksum of its weights after the step. `traces` has one list of such triples
`(scale, skipped, checksum)` per rank. All ranks should have written the same.

`diverged(traces)` returns None if they have. Otherwise it returns `(step, what, ranks)`:

- `step`, counted from 0, is the **first** at which any two ranks differ;
- `what` says in what they differ there: `"scale"`, `"skipped"` or `"weights"`, the first of them in
  this order, since a different scale or skip explains different weights, but not the other way
  round;
- `ranks` is the sorted list of ranks that have another value there than the most frequent one. If
  two values tie for that, all ranks are under suspicion.
"""


# %% tags=["setup"]
NAMES = ("scale", "skipped", "weights")


# %% task="t13_5"
def diverged(traces):
    """Return (step, what, ranks) of the first disagreement, or None."""
    ### BEGIN SOLUTION
    for step, rows in enumerate(zip(*traces, strict=True)):
        for what, values in zip(NAMES, zip(*rows, strict=True), strict=True):
            if len(set(values)) > 1:
                counts = {value: values.count(value) for value in values}
                most = [v for v, count in counts.items() if count == max(counts.values())]
                usual = most[0] if len(most) == 1 else None
                return step, what, [r for r, v in enumerate(values) if v != usual]
    return None
    ### END SOLUTION


# %% check="t13_5" points=4
with task("t13_5"):
    agrees = "None where all ranks have written the same"
    earliest = "the first step at which ranks differ: what follows follows from it"
    cause = "scale before skipped before weights: the cause, not its consequence"
    outliers = "the ranks without the most frequent value; if two values tie for it, all"
    same = [(8.0, False, 11), (8.0, True, 11), (4.0, False, 12), (4.0, False, 15)]
    call = "[diverged([[(8.0, False, 11), (8.0, True, 11)]] * n) for n in (1, 2, 5)]"
    check(call, [None] * 3, agrees, {"one rank cannot differ from itself": [(0, "scale", [0])] * 3})
    last = "the last step shows that ranks differ, not since when"
    from_zero = "steps are counted from 0"
    no_weights = "the same scale and the same skips are no proof: compare the weights"
    tolerant = "checksums of nearly equal numbers differ widely: compare them exactly"
    call = "diverged([{0}, {0}, {1}])"
    traces = same, [same[0], (8.0, True, 12), (4.0, False, 99), (4.0, False, 16)]
    traps = {last: (3, "weights", [2]), from_zero: (2, "weights", [2]), no_weights: None}
    check(call.format(*traces), (1, "weights", [2]), earliest, traps)
    traces = same, [same[0], (8.0, False, 12), (8.0, False, 14), (4.0, False, 16)]
    late = "a scale that differs a step later is the consequence of a skip that was not shared"
    consequence = "weights differ because the skip does: name the cause"
    traps = {late: (2, "scale", [2]), consequence: (1, "weights", [2])}
    traps |= {last: (3, "weights", [2])}
    check(call.format(*traces), (1, "skipped", [2]), cause, traps)
    traces = same, [(16.0, True, 11), (8.0, True, 12), *same[2:]]
    traps = {"a different scale explains a different skip": (0, "skipped", [2])}
    traps |= {consequence: (1, "weights", [2])}
    check(call.format(*traces), (0, "scale", [2]), cause, traps)
    near = [(8.0, False, 4_000_000_000), (8.0, False, 4_000_000_001)]
    call = (
        f"[diverged([[{near[0]}]] * 2 + [[{near[1]}]]), diverged([[({2.0**-20}, False, 1)]] * 2 + "
    )
    call += f"[[({2.0**-21}, False, 1)]])]"
    traps = {tolerant: [None, None], tolerant + " and scales, too": [None, (0, "scale", [2])]}
    check(call, [(0, "weights", [2]), (0, "scale", [2])], earliest, traps)
    call = "[diverged([[(8.0, False, c)] for c in sums])[2] for sums in {}]"
    sums = [(2, 1, 1, 1), (1, 1, 2, 3), (1, 2, 2, 1), (1, 2), (5, 4, 3), (3, 1, 3, 1, 3)]
    right = [[0], [2, 3], [0, 1, 2, 3], [0, 1], [0, 1, 2], [1, 3]]
    rank0 = "rank 0 is no judge: it may be the one that diverged"
    blamed = "with as many on either side nobody can tell who is right"
    most_only = "more than half is not asked for: the most frequent value is enough"
    traps = {rank0: [[1, 2, 3], [2, 3], [1, 2], [1], [1, 2], [1, 3]]}
    traps |= {blamed: [[0], [2, 3], [1, 2], [1], [1, 2], [1, 3]]}
    traps |= {most_only: [[0], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1], [0, 1, 2], [1, 3]]}
    traps |= {"name every rank that differs": [[0], [2], [1], [1], [1], [1]]}
    check(call.format(sums), right, outliers, traps)
    two_things = [[(8.0, False, 1)], [(8.0, False, 1)], [(16.0, False, 1)], [(8.0, False, 2)]]
    two_steps = [[(8.0, False, a), (8.0, False, b)] for a, b in ((1, 5), (1, 5), (2, 6), (1, 9))]
    found = (0, "scale", [2]), (0, "weights", [2])
    whole_line = "compare the value that differs first, not the whole line: rank 3 has the scale"
    later_too = "a rank that differs only at a later step is not one that diverged first"
    traps = {whole_line: [(0, "scale", [2, 3]), found[1]]}
    traps |= {later_too: [(0, "scale", [2, 3]), (0, "weights", [2, 3])]}
    check(f"[diverged(traces) for traces in {[two_things, two_steps]}]", [*found], outliers, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random
    from statistics import multimode

    t13_5_random = Random(1305)

    def t13_5_run(ranks, steps):
        """Return the same trace for each rank, as lists of lists."""
        pick = t13_5_random.choice
        trace = [
            [2.0 ** pick((7, 8, 9)), pick((True, False)), t13_5_random.randrange(2**32)]
            for _ in range(steps)
        ]
        return [[list(row) for row in trace] for _ in range(ranks)]

    def t13_5_split(runs, step, what, bad):
        """Plant a disagreement at a step, and its consequences in the steps after it."""
        for rank in bad:
            row = runs[rank][step]
            row[0] *= 2 if what == "scale" else 1
            if what == "skipped" or (what == "scale" and t13_5_random.random() < 0.5):
                row[1] = not row[1]
            if what == "weights" or t13_5_random.random() < 0.8:
                row[2] += 1
            for later in runs[rank][step + 1 :]:
                later[0] *= t13_5_random.choice((1, 2))
                later[2] += 1
        return runs

    def t13_5_second(runs, step, what, bad):
        """Let a good rank differ as well: in a later field of the step, or at a later step."""
        run = runs[t13_5_random.choice([r for r in range(len(runs)) if r not in bad])]
        if what != "weights" and t13_5_random.random() < 0.5:
            run[step][2] += 7
        for later in run[step + 1 :]:
            later[2] += 7
        return runs

    def t13_5_text(runs):
        return repr([[tuple(row) for row in run] for run in runs])

    def t13_5_check(reason, cases, right):
        call = ", ".join(f"diverged({t13_5_text(runs)})" for runs in cases)
        check(f"[{call}]", right, reason)

    for reason in (agrees, earliest, cause, outliers) * 2:
        played: list[list[list[list[object]]]] = []
        answers: list[object] = []
        for _ in range(10):
            ranks, steps = t13_5_random.choice((3, 4, 5, 8)), t13_5_random.randint(2, 7)
            runs, step = t13_5_run(ranks, steps), t13_5_random.randrange(steps)
            what = t13_5_random.choice(("scale", "skipped", "weights"))
            bad = sorted(t13_5_random.sample(range(ranks), 1 if ranks < 5 else 2))
            if reason == agrees and t13_5_random.random() < 0.7:
                played.append(runs)
                answers.append(None)
                continue
            played.append(t13_5_split(runs, step, what, bad))
            if reason == outliers:
                t13_5_second(runs, step, what, bad)
            answers.append((step, what, bad))
        t13_5_check(reason, played, answers)
    sums = [
        [t13_5_random.randrange(3) for _ in range(t13_5_random.randint(2, 7))] for _ in range(60)
    ]
    sums = [values for values in sums if len(set(values)) > 1]
    outside: list[list[int]] = []
    for values in sums:
        usual = multimode(values)
        odd_ones = [r for r, v in enumerate(values) if len(usual) > 1 or v != usual[0]]
        outside.append(odd_ones)
    check(call.format(sums), outside, outliers)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Which engine, when

They differ in what they keep where, and in who starts the ranks.

- **DDP** if weights, gradients, states and one micro-batch fit on one GPU. Nothing is simpler. If
  they do not, first try a smaller micro-batch with accumulation, and checkpointing (`11_memory`).
- **FSDP2** if that is not enough. It is part of PyTorch, and decides types by layer.
- **DeepSpeed** if states or weights have to go to the CPU's memory or to a disk. It has its own
  scaler, clipping and checkpoints, with their own defaults.
- **Ray Train** if machines come and go, or many trainings share a cluster. It starts ranks and
  [restarts](https://docs.ray.io/en/latest/train/user-guides/fault-tolerance.html) them; one of the
  above runs inside.
- **Lightning** if you do not want to write the loop. `strategy="ddp"` or `"deepspeed"` is one of
  the above, `"fsdp"` is FSDP1, and `precision` decides whether there is a scaler.

And BF16 where the card has it: without a scale there is no scale to disagree on.

The three engines as one program (`python -m ampcourse.engines --help` says more):
`torchrun --nproc-per-node 2 -m ampcourse.engines --engine fsdp --recipe amp-bf16`
"""

# %% [markdown]
r"""
## What people get wrong

First your predictions:
"""

# %% tags=["nbval-ignore-output"]
sent = zero_traffic(1_000_000, 8, 3).total / zero_traffic(1_000_000, 8, 0).total
print(f"ranks that skip: you said {my_skips}; 8")
print(f"bytes sent: you said {my_bytes}; 1, gradients are {net.weight.grad.dtype}")
print(f"activations kept: you said {my_activations}; 1, all of them")
print(f"global batch: you said {my_batch}; {4 * 2 * 8}")
print(f"ZeRO-3's bytes: you said {my_traffic}; {sent:.1f} times")
print(f"goes on at step: you said {my_restart}; {8 // 5 * 5}")

# %% [markdown]
r"""
- **"AMP halves communication."** Under autocast gradients travel in FP32. DeepSpeed sends 16 bits.
- **"DDP trains exactly as one process does."** Not with batch norm, unequal shares, or the same
  images on every rank.
- **"Every rank may decide alone."** With sharded gradients it has to ask the others (t13_2).
- **"Gradients are summed over ranks."** DDP averages. Whoever divides the loss by 8 ranks as well
  trains, with plain SGD, at an eighth of the learning rate (t13_1).
- **"ZeRO-3 divides the activations, too."** No stage does (t13_3).
- **"The highest stage is the best."** Stage 3 sends more: take the lowest that fits
  (t13_3).
- **"`loss_scale: 0` switches scaling off."** It makes it dynamic (t13_4).
- **"A barrier after each step keeps ranks together."** It keeps them waiting, not equal.
- **"The losses look alike, so the ranks are in step."** Compare checksums (t13_5).

## Say it aloud

DDP keeps a whole model on each rank and averages gradients, in FP32 also under autocast. An inf on
one rank is in everyone's average, so all skip and all halve the same scale. With sharded gradients
only those see it whose part has it, and found_inf has to be reduced with max. ZeRO divides states
first, then gradients, then weights, and never activations; the third stage sends one and a half
times as much as DDP, in the same types. The global batch is micro-batch times accumulation times
ranks. And after a failure all ranks start again from a checkpoint, scaler included.

## Where next

`14_resnet50` puts it all together in one run. For fewer bits, `12_bf16_fp8_fp4`; if your scale
falls and falls, `06_grad_scaler`.
"""
