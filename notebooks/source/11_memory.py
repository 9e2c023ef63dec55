# %% [markdown]
r"""
# Where did the memory go?

"CUDA out of memory." One wraps the forward pass in autocast, since AMP halves memory, and it still
does not fit; or it fits, and the monitor says 68 % of what it was. What was halved, and what was
not? And where did the rest go?

A training step holds few kinds of things, and each can be counted: weights, gradients, what the
optimizer remembers, and what the forward pass leaves for the backward pass. You will count them by
hand, then let PyTorch tell what it really keeps, and then give memory back by computing
some of it a second time.

You need to know what autocast does (`07_autocast`) and what master weights are
(`05_loss_scaling`). No GPU is needed: what PyTorch keeps for the backward pass can be seen on the
CPU, where 16 bits are BF16 here. There are six tasks; plan two hours, with a break after the third.

## Predict first

Nobody grades these; replace each `None` and run the cell.
"""

# %%
# ResNet50, 256 images of 224 × 224, tensors alone:
# autocast's peak as a share of FP32's?
my_ratio = None
# Adam under autocast: bytes kept per parameter at the step?
my_adam = None
# model.half() with Adam: how many times fewer than in FP32?
my_half = None
# 64 equal layers: how many segments hold the least?
my_segments = None
# After checkpointing: "the same bits", "rounded" or "wrong"?
my_gradient = None
# Does empty_cache() make room for a larger batch? True or False
my_cache = None

# %% [markdown]
r"""
## Does AMP halve memory?

These runs were published, or are quoted from an article, with their hardware named. None of them
is ours.
"""

# %%
from ampcourse.benchmark.records import records

print("peak memory with AMP, as a share of the baseline's:")
for result in records():
    if (change := result.memory_change) is not None:
        told = f"{result.name:15} {result.task:22} batch {result.flags['batch']}"
        print(f"{told}: {1 + change:.2f} ({result.kind})")

# %% [markdown]
r"""
None of them is 0.50. What does a step hold, then? `predict` runs a whole training step of a real
model on tensors without numbers: shapes, types and lifetimes are the real ones, and nothing is
computed or allocated. (Types are those of the CPU's autocast.) It then tells what was held at the
fullest moment. Here for a ResNet18 with images of 224 × 224 pixels and SGD with momentum, first
for one image, then for 64; it takes a few seconds:
"""

# %%
from ampcourse.memory.peak import predict


def made(name):
    """Return a model of torchvision for ten classes, by its name."""
    import torchvision

    return getattr(torchvision.models, name)(num_classes=10)


# %% tags=["nbval-ignore-output"]
model, runs = made("resnet18"), {}
for batch in (1, 64):
    for recipe in ("fp32", "autocast"):
        runs[batch, recipe] = predict(model, "momentum", recipe, (batch, 3, 224, 224))

# %% tags=["nbval-ignore-output"]
for batch in (1, 64):
    ratio = runs[batch, "autocast"].peak / runs[batch, "fp32"].peak
    print(f"batch {batch}: autocast needs {ratio:.2f} of FP32's peak")

# %%
from ampcourse.plotting import show
from ampcourse.plotting.memory_bars import layer_bars, memory_bars

# %% tags=["nbval-ignore-output"]
show(
    memory_bars({f"batch {b}, {recipe}": run.bytes for (b, recipe), run in runs.items()}),
    alt="Stacked bars in MiB. With one image, weights, gradients and optimizer state fill both "
    "bars, and autocast's, with casts of the weights, is hardly shorter. With 64 images the "
    "activations fill them and nearly halve; weights, state, images and temporary tensors are "
    "a thin rest.",
)

# %% [markdown]
r"""
So the answer depends on the batch. The activations grow with it and fall to a little more than
half; the images ("rest") grow and do not halve; weights and optimizer state do neither. "Temporary"
are gradients of activations, which exist for a moment in the backward pass. A measured peak lies
above these sums: the kernels need room to work in, and the allocator keeps some.

### The 68 %

The run that gave 0.68 is a ResNet50 with batches of 256, and 22,818 MB in FP32. The image size was
not recorded. Which one fits?
"""

# %% tags=["nbval-ignore-output"]
model, shares = made("resnet50"), {}
for side in (32, 224):
    for recipe in ("fp32", "autocast"):
        runs[side, recipe] = predict(model, "momentum", recipe, (256, 3, side, side))
    megabytes = runs[side, "fp32"].peak / 1e6
    shares[side] = runs[side, "autocast"].peak / runs[side, "fp32"].peak
    print(f"{side:3} px: FP32 {megabytes:6,.0f} MB, autocast {shares[side]:.2f} of that")

# %% [markdown]
r"""
At 32 pixels the ratio comes near 0.68, but the bytes are thirty times too few: chance. At 224 the
bytes of FP32 fit within a few percent, and then autocast's tensors need only half of them. The
article reports almost 4 GB more under autocast; how its peak was measured is not recorded. Tensors
do not explain it. What else lies in a GPU's memory, and is counted by a monitor, comes in
*Allocated and reserved*.

Two questions are left. What is in the part that stays, byte by byte? And why do the activations
fall to a little more than half?

## The ledger: bytes per parameter

For each parameter there is the weight itself, and from the backward pass on a gradient. The
optimizer adds its **state**: nothing for plain SGD, one number with momentum, two for Adam. A
recipe decides the types, and whether there are copies. Switch through optimizers and
recipes, then turn single assumptions on and off. How few bytes can Adam do with? Which assumption
leads from 16 to 18, and which to 20? And from which batch on do ResNet50's activations decide?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import checkpoint_segments, memory_ledger

memory_ledger("adam", "autocast")

# %% [markdown]
r"""
(ResNet50's activations decide from the second image on.)

The ledger looks at two moments. When the **forward pass ends**, all activations are there, and no
gradient is, if `zero_grad` has set them to `None`. When the **optimizer steps**, all gradients are
there, and no activation is any more. Autocast's casts, 16-bit copies of the weights, belong to the
first moment: backward lets go of them. So its 18 bytes are not there at once. (With gradient
accumulation they are: the first batch's gradients stay while the second runs forward.)

The peak is at least the larger of both moments, which the widget calls the peak, and often hardly
more. It can be more, since the backward pass lies between them: late layers have their gradients
while early activations are still held. VGG16 has its weights in the last layers and its activations
in the first:
"""

# %% tags=["nbval-ignore-output"]
vgg = predict(made("vgg16"), "momentum", "fp32", (8, 3, 224, 224))
for name, run in (("ResNet50, batch 256", runs[224, "fp32"]), ("VGG16, batch 8", vgg)):
    told = ", ".join(f"{phase} {size >> 20:,}" for phase, size in run.phases.items())
    print(f"{name}, MiB: {told}")

# %% [markdown]
r"""
One percent more than the larger moment, and 31 %. And the step itself may need room. The
ledger counts what is kept; by torch's default on a GPU, Adam updates all parameters together
(`foreach`), with 4 bytes more for each of them while it does. `fused=True` needs none:
"""

# %%
from functools import partial

import torch
from torch import nn

# %% tags=["nbval-ignore-output"]
eight = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)])
for options in ({}, {"fused": True}):
    adam = partial(torch.optim.Adam, **options)
    found = predict(eight, adam, "autocast", (1, 1024)).phases["optimizer"]
    each = found / sum(p.numel() for p in eight.parameters())
    print(f"{each:.1f} bytes per parameter in the step,", options or "by default on a GPU")

# %% [markdown]
r"""
### Three numbers for the same thing

Texts give 16, 18 or 20 bytes per parameter for training with Adam. Is one of them wrong? Here they
are, quoted from the
[ZeRO paper](https://arxiv.org/abs/1910.02054) by Rajbhandari et al., from
[Megatron Core's guide](https://docs.nvidia.com/megatron-core/developer-guide/latest/api-guide/dist_optimizer.html)
and from Bekman's
[ML Engineering](https://github.com/stas00/ml-engineering/blob/master/training/performance/README.md),
each with the assumptions that lead to it:
"""

# %%
from textwrap import fill

from ampcourse.memory import FIGURES, ledger

# %%
for figure in FIGURES:
    told = f"{figure.bytes} = {figure.name} ({figure.source.split(',')[0]}). {figure.remark}"
    print(fill(told, 72, subsequent_indent="     "))

# %% [markdown]
r"""
None is wrong: half weights and gradients with FP32 masters are 16. Two ways lead on from there, by
one assumption each:
"""

# %%
ways: dict[str, dict[str, object]] = {
    "half weights and gradients, FP32 masters": {},
    "gradients in FP32 instead": {"gradients": "fp32"},
    "FP32 copies beside the half gradients": {"master_gradients": True},
}
for way, change in ways.items():
    found = ledger("adam", "O2", **({"master_gradients": False} | change))
    print(found.bytes_per_parameter, way)

# %% [markdown]
r"""
### t11_1 · Keep the ledger

The next cell defines `Recipe`, the decisions of a recipe. `per_parameter(recipe, states)` returns
the bytes per parameter at both moments, `return forward, step`: when the forward pass has ended,
and when the optimizer steps. The training has been running for a while, so the optimizer's states
exist; `zero_grad` comes before each forward pass.

`states` is the number of states the optimizer has for each parameter. They last from step to step,
and each has the type of the weight that the optimizer updates: the master's, where there are
masters. Count what is kept: neither activations nor room for the step.
"""


# %% tags=["setup"]
from typing import NamedTuple

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from ampcourse.courseware import check, task


class Recipe(NamedTuple):
    # Bytes of one weight of the model, 4 or 2
    weights: int
    # Bytes of one gradient that the backward pass leaves, 4 or 2
    gradients: int
    # FP32 copies of 16-bit weights: the optimizer updates them
    masters: bool = False
    # FP32 copies of the gradients beside them, for the optimizer
    copied: bool = False
    # Autocast's 16-bit copies of weights; backward lets go of them
    casts: bool = False


# %% task="t11_1" forbids=["ampcourse.memory", "ampcourse.widgets"]
def per_parameter(recipe, states):
    """Return bytes per parameter at the end of the forward pass and when the optimizer steps."""
    ### BEGIN SOLUTION
    updated = 4 if recipe.masters else recipe.weights
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return kept + 2 * recipe.casts, kept + recipe.gradients + 4 * recipe.copied
    ### END SOLUTION


# %% check="t11_1" points=4
with task("t11_1"):
    plain = "one type: weight and states all the time, the gradient at the optimizer's step"
    autocast = "autocast: FP32 weights, gradients and states; the casts are gone before the step"
    masters = "masters: a 16-bit weight and an FP32 one, and states of the FP32 one's type"
    copies = "copied gradients lie beside those that the backward pass left"
    halved = "autocast halves neither weights nor gradients nor states: it adds casts"
    casts_stay = "the casts are gone when the optimizer steps: backward has let go of them"
    no_casts = "until the backward pass, autocast holds a 16-bit copy of each weight as well"
    early = "when the forward pass ends there are no gradients: zero_grad set them to None"
    late_state = "the states last from step to step: they are there in the forward pass, too"
    instead = "the 16-bit weight is still there beside its master"
    half_state = "the optimizer updates the masters, so its states are in FP32"
    full_state = "without masters the states have the 16 bits of the weights"
    of_gradients = "the states have the type of the weight that is updated, not of its gradient"
    cast_masters = "these casts are autocast's: a recipe without autocast makes none"
    moved = "the copies replace nothing: the gradients of the backward pass are still there"
    not_copied = "the FP32 copies of the gradients take 4 bytes more at the optimizer's step"
    late_master = "masters last from step to step: they are there in the forward pass, too"

    def t11_1_call(recipe, states):
        """Return the call for both moments, for several numbers of states."""
        return f"[int(b) for s in {states} for b in per_parameter(Recipe{recipe}, s)]"

    def t11_1_rows(states, forward, step, in_forward=4, in_step=4):
        """Return both moments as a fixed part and a part for each state."""
        pairs = ([forward + in_forward * s, step + in_step * s] for s in states)
        return [b for pair in pairs for b in pair]

    three = (0, 1, 2)
    traps = {
        early: t11_1_rows(three, 8, 8),
        late_state: t11_1_rows(three, 4, 8, 0),
    }
    check(t11_1_call((4, 4), three), [4, 8, 8, 12, 12, 16], plain, traps)
    traps = {
        full_state: t11_1_rows(three, 2, 4, 4, 4),
        early: t11_1_rows(three, 4, 4, 2, 2),
        late_state: t11_1_rows(three, 2, 4, 0, 2),
    }
    check(t11_1_call((2, 2), three), [2, 4, 4, 6, 6, 8], plain, traps)
    traps = {of_gradients: t11_1_rows(three, 2, 6), early: t11_1_rows(three, 6, 6, 2, 2)}
    check(t11_1_call((2, 4), three), [2, 6, 4, 8, 6, 10], plain, traps)
    traps = {
        halved: t11_1_rows(three, 2, 4, 2, 2),
        halved + ", and keeps no other weights": t11_1_rows(three, 2, 4),
        casts_stay: t11_1_rows(three, 6, 10),
        no_casts: t11_1_rows(three, 4, 8),
        early: t11_1_rows(three, 10, 8),
        late_state: t11_1_rows(three, 6, 8, 0),
    }
    check(t11_1_call((4, 4, False, False, True), three), [6, 8, 10, 12, 14, 16], autocast, traps)
    traps = {
        instead: t11_1_rows(three, 4, 8),
        half_state: t11_1_rows(three, 6, 10, 2, 2),
        early: t11_1_rows(three, 10, 10),
        cast_masters: t11_1_rows(three, 8, 10),
        late_state: t11_1_rows(three, 6, 10, 0),
        late_master: t11_1_rows(three, 2, 10),
    }
    check(t11_1_call((2, 4, True), three), [6, 10, 10, 14, 14, 18], masters, traps)
    traps = {
        moved: t11_1_rows(three, 6, 10),
        not_copied: t11_1_rows(three, 6, 8),
        instead: t11_1_rows(three, 4, 10),
        half_state: t11_1_rows(three, 6, 12, 2, 2),
        early: t11_1_rows(three, 12, 12),
        late_state: t11_1_rows(three, 6, 12, 0),
        late_master: t11_1_rows(three, 2, 12),
    }
    check(t11_1_call((2, 2, True, True), three), [6, 12, 10, 16, 14, 20], copies, traps)
    ### BEGIN HIDDEN TESTS
    from functools import partial

    import torch

    def t11_1_torch(recipe, states):
        """Let torch allocate a parameter of 1000 numbers, and count what is there."""
        own, passed, with_masters, copied, casts = recipe
        types = {2: torch.float16, 4: torch.float32}
        weight = torch.nn.Parameter(torch.ones(1000, dtype=types[own]))
        updated = weight.detach().float().requires_grad_() if with_masters else weight
        make = [
            partial(torch.optim.SGD, lr=0.5),
            partial(torch.optim.SGD, lr=0.5, momentum=0.5),
            torch.optim.Adam,
            partial(torch.optim.Adam, amsgrad=True),
        ][states]
        optimizer = make([updated])
        updated.grad = torch.ones_like(updated)
        optimizer.step()
        kept = [weight, updated, *optimizer.state[updated].values()]
        tensors = {id(t): t for t in kept if torch.is_tensor(t) and t.numel() == 1000}
        size = sum(t.nbytes for t in tensors.values()) // 1000
        forward = size + casts * weight.half().nbytes // 1000
        gradient = torch.ones(1000, dtype=types[passed])
        step = size + gradient.nbytes // 1000 + copied * updated.grad.nbytes // 1000
        return [forward, step]

    t11_1_kinds = {
        plain: [(own, g, False, False, False) for own, g in ((4, 4), (2, 2), (2, 4))],
        autocast: [(4, 4, False, False, True)],
        masters: [(2, g, True, False, False) for g in (2, 4)],
        copies: [(2, g, True, True, False) for g in (2, 4)],
    }
    for reason, recipes in t11_1_kinds.items():
        states = (3, 1, 0, 2)
        call = (
            f"[int(b) for r in {recipes} for s in {states} for b in per_parameter(Recipe(*r), s)]"
        )
        check(call, [b for r in recipes for s in states for b in t11_1_torch(r, s)], reason)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
Pure half training with Adam needs 8 bytes, half of FP32. It is also the recipe that loses small
updates and, in FP16, divides by an `eps` that has become 0 (`05_loss_scaling`). Masters cure the
first. They take 4 bytes, and the two states, now in FP32 as the masters are, take 4 more: 16, as in
FP32.

## What torch really keeps

A ledger is a claim. Here is what an ordinary model consists of after a step under autocast:
"""

# %%
layer = nn.Linear(1000, 1000)
adam = torch.optim.Adam(layer.parameters())
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = layer(torch.randn(8, 1000)).square().mean()
loss.backward()
adam.step()

# %%
state = adam.state[layer.weight]
print("weight  ", layer.weight.dtype, layer.weight.nbytes)
print("gradient", layer.weight.grad.dtype, layer.weight.grad.nbytes)
print("state   ", {name: (value.dtype, value.nbytes) for name, value in state.items()})

# %% [markdown]
r"""
Autocast lets operations read converted copies. The model that it is wrapped around never learns of
it: its parameters are the tensors that the optimizer was given, in FP32; a gradient has the type of
its parameter; and the state has that type, too.

### t11_2 · Take the inventory

`inventory(net, optimizer)` returns the bytes that a model's weights, their gradients and the
optimizer's state take now: `return weights, gradients, state`, three integers.

- `net.parameters()` yields each parameter once, however many layers share it. Buffers, such as a
  batch norm's running statistics, are not counted.
- A parameter may have no gradient: `.grad` is then `None`.
- `optimizer.state[p]` is a dict for each parameter that was stepped. Count all tensors in it, also
  Adam's count of steps, a tensor of one number. There may be values that are no tensors.
- `tensor.nbytes` is the number of elements times the bytes of one.
"""


# %% tags=["setup"]
def train_step(net, optimizer, autocast=False):
    """Take one training step on eight random rows; gradients are still there afterwards."""
    first = next(net.parameters())
    x = torch.randn(8, first.shape[-1], dtype=first.dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        loss = net(x).float().square().mean()
    loss.backward()
    optimizer.step()


def bare(inputs, outputs):
    """Return a linear layer without bias."""
    return nn.Linear(inputs, outputs, bias=False)


def tied(*layers):
    """Return these layers in sequence, all with the weight of the first."""
    for layer in layers:
        layer.weight = layers[0].weight
    return nn.Sequential(*layers)


# %% task="t11_2" forbids=["ampcourse.memory", "ampcourse.widgets"]
def inventory(net, optimizer):
    """Return the bytes of a net's weights, of its gradients and of the optimizer's state."""
    ### BEGIN SOLUTION
    parameters = list(net.parameters())
    weights = sum(p.nbytes for p in parameters)
    gradients = sum(p.grad.nbytes for p in parameters if p.grad is not None)
    held = [value for state in optimizer.state.values() for value in state.values()]
    return weights, gradients, sum(value.nbytes for value in held if torch.is_tensor(value))
    ### END SOLUTION


# %% check="t11_2" points=4
with task("t11_2"):
    types = "an element takes the bytes of its type: 4 in FP32, 2 in BF16"
    under = "under autocast weights, gradients and states are what they are without: FP32"
    there = "a gradient counts where there is one, the state of the parameters that were stepped"
    shared = "a parameter that two layers share is one parameter"
    every = "the optimizer's state is all tensors in it, and nothing else"
    only = "weights are the parameters, not the buffers"
    narrow = "autocast leaves the parameters as they are: look at their type, not at the recipe"
    wide = "4 bytes for each number: in BF16 there are 2"
    imagined = "a parameter without a gradient was counted with one"
    formula = "two numbers for each parameter is Adam's state after a step, not any optimizer's"
    double = "counted once for each layer that uses it: parameters() yields it once"
    counts = "a count of steps is a tensor of 4 bytes for each parameter: it counts as well"
    short = "too few by 4 for each parameter: Adam's count of steps is missing"
    buffers = "the buffers of the batch norm were counted: only parameters are weights"
    call = """
        net = {net}
        optimizer = {optimizer}
        for _ in range({steps}):
            train_step(net, optimizer{autocast})
        {then}
        return [int(b) for b in inventory(net, optimizer)]
    """
    adam = "torch.optim.Adam(net.parameters())"
    momentum = "torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)"
    case = {"net": "bare(100, 10)", "optimizer": adam, "steps": 1, "autocast": "", "then": "pass"}
    traps = {
        narrow: [2000, 2000, 8004],
        narrow + ", and the gradients are": [2000, 4000, 8004],
        narrow + ", and so are the states": [2000, 2000, 4004],
        short: [4000, 4000, 8000],
    }
    region = case | {"autocast": ", autocast=True"}
    check(call.format(**region), [4000, 4000, 8004], under, traps)
    half = case | {"net": "bare(100, 10).bfloat16()", "optimizer": momentum}
    traps = {wide: [4000, 4000, 4000], formula: [2000, 2000, 4000]}
    check(call.format(**half), [2000, 2000, 2000], types, traps)
    traps = {imagined: [4000, 4000, 0], formula: [4000, 0, 8000]}
    traps[imagined + ", and as if Adam had stepped"] = [4000, 4000, 8000]
    check(call.format(**case | {"steps": 0}), [4000, 0, 0], there, traps)
    cleared = case | {"then": "optimizer.zero_grad()"}
    check(call.format(**cleared), [4000, 0, 8004], there, {imagined: [4000, 4000, 8004]})
    three = "tied(bare(20, 20), bare(20, 20), bare(20, 20))"
    traps = {double: [4800, 4800, 3204], double + ", and its state": [4800, 4800, 9600]}
    traps |= {double + ", and its state, too": [4800, 4800, 9612], short: [1600, 1600, 3200]}
    check(call.format(**case | {"net": three}), [1600, 1600, 3204], shared, traps)
    norm = {"net": "nn.Sequential(bare(20, 20), nn.BatchNorm1d(20))", "optimizer": momentum}
    traps = {buffers: [1928, 1760, 1760], buffers + ", two of them": [1920, 1760, 1760]}
    check(call.format(**case | norm), [1760, 1760, 1760], only, traps)
    many = "nn.Sequential(bare(20, 20), bare(20, 10))"
    root = case | {"net": many, "optimizer": "torch.optim.RMSprop(net.parameters())"}
    traps = {counts: [2400, 2400, 2400], formula: [2400, 2400, 4800]}
    check(call.format(**root), [2400, 2400, 2408], every, traps)
    noted = "for state in optimizer.state.values(): state['times'] = 1"
    traps = {short: [4000, 4000, 8000]}
    check(call.format(**case | {"then": noted}), [4000, 4000, 8004], every, traps)
    sgd = case | {"net": many, "optimizer": "torch.optim.SGD(net.parameters(), lr=0.1)"}
    check(call.format(**sgd), [2400, 2400, 0], every, {formula: [2400, 2400, 4800]})
    ### BEGIN HIDDEN TESTS
    from random import Random

    import numpy as np

    t11_2_random = Random(1102)
    t11_2_states = {
        adam: (2, 4),
        momentum: (1, 0),
        "torch.optim.SGD(net.parameters(), lr=0.1)": (0, 0),
        "torch.optim.RMSprop(net.parameters())": (1, 4),
        "torch.optim.Adam(net.parameters(), amsgrad=True)": (3, 4),
    }

    def t11_2_bytes(shapes, kind, optimizer, stepped, gradients):
        """Let numpy say how large the arrays are."""
        sizes = [np.zeros(shape, kind).nbytes for shape in shapes]
        numbers, counter = t11_2_states[optimizer]
        state = sum(numbers * size + counter for size in sizes) if stepped else 0
        return [sum(sizes), sum(sizes) if gradients else 0, state]

    for optimizer in t11_2_states:
        a, b, c = (t11_2_random.randint(2, 30) for _ in "abc")
        shapes = [(b, a), (c, b)]
        net = f"nn.Sequential(bare({a}, {b}), bare({b}, {c}))"
        base = case | {"net": net, "optimizer": optimizer}
        for reason, change, kind, stepped, gradients in (
            (under, {"autocast": ", autocast=True"}, "f4", True, True),
            (types, {"net": f"{net}.bfloat16()"}, "f2", True, True),
            (there, {"steps": 0}, "f4", False, False),
            (there, {"then": "net.zero_grad()"}, "f4", True, False),
            (every, {"steps": 3}, "f4", True, True),
        ):
            right = t11_2_bytes(shapes, kind, optimizer, stepped, gradients)
            check(call.format(**base | change), right, reason)
        same = ", ".join([f"bare({a}, {a})"] * (2 + c % 3))
        for net in (f"tied({same})", f"nn.Sequential(*[bare({a}, {a})] * {2 + c % 3})"):
            right = t11_2_bytes([(a, a), (b, a)], "f4", optimizer, True, True)
            net = f"nn.Sequential({net}, bare({a}, {b}))"
            check(call.format(**base | {"net": net}), right, shared)
        net = f"nn.Sequential(bare({a}, {b}), nn.BatchNorm1d({b}), bare({b}, {c}))"
        right = t11_2_bytes([(b, a), (b,), (b,), (c, b)], "f4", momentum, True, True)
        check(call.format(**base | {"net": net, "optimizer": momentum}), right, only)
        right = t11_2_bytes(shapes, "f4", optimizer, True, True)
        noted = "for p in net.parameters(): optimizer.state[p]['seen'] = None"
        check(call.format(**base | {"then": noted}), right, every)
        frozen = f"nn.Sequential(bare({a}, {b}), bare({b}, {c}).requires_grad_(False))"
        right = t11_2_bytes([(b, a)], "f4", optimizer, True, True)
        right[0] += np.zeros((c, b), "f4").nbytes
        check(call.format(**base | {"net": frozen}), right, there)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What the forward pass leaves behind

The backward pass needs numbers from the forward pass. For the gradient of its weights, a
convolution needs its input; ReLU needs to know where it was open, a pooling where each maximum was.
PyTorch saves these tensors in the graph, and it lets us watch:
`saved_tensors_hooks(pack, unpack)` calls `pack(tensor)` for each tensor that is saved, and keeps
what that returns; when the backward pass wants it, `unpack` gets it back.
"""

# %%
seen: list[torch.Tensor] = []


def note(tensor):
    """Note a tensor that is saved, and have it saved as it is."""
    seen.append(tensor)
    return tensor


# %%
with saved_tensors_hooks(note, lambda tensor: tensor):
    y = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))(torch.randn(7, 3))
for t in seen:
    print(tuple(t.shape), t.dtype, "storage of", t.untyped_storage().nbytes(), "bytes")

# %% [markdown]
r"""
Two of these are the same memory: what ReLU gave out is what the next layer took in. And one is a
weight, which is there anyway. (The first layer's is not saved: the input needs no gradient.)
`SavedTensors` counts each memory once, leaves out the model's
own tensors, and says which layer was the first to save it. A small CNN, 64 images of 28 × 28:
"""

# %%
from ampcourse.memory.activations import SavedTensors
from ampcourse.training.models import small_cnn


# %%
def saved_by(net, images, autocast):
    """Run net under the recorder, with the loss, and return the recorder."""
    with SavedTensors(net) as saved, torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        labels = torch.zeros(len(images), dtype=torch.long)
        saved.loss = nn.functional.cross_entropy(net(images), labels)
    return saved


# %% tags=["nbval-ignore-output"]
names = ("conv 1", "relu 1", "pool 1", "conv 2", "relu 2", "pool 2", "", "linear")
cnn, images = small_cnn(), torch.randn(64, 1, 28, 28)

# %% tags=["nbval-ignore-output"]
both = [saved_by(cnn, images, autocast) for autocast in (False, True)]
layers = {
    names[int(key)] if key else "loss": tuple(run.by_module()[key] for run in both)
    for key in both[0].by_module()
}
left = ", ".join(f"{name} {after / before:.0%}" for name, (before, after) in layers.items())
show(
    layer_bars(layers, ("FP32", "autocast")),
    alt="Bars per layer, FP32 and autocast; the loss is too small to be seen. Under autocast each "
    f"saves, of what it saved in FP32: {left}.",
)

# %% [markdown]
r"""
What autocast does not touch, it cannot halve: pooling and loss save as much as before.
"""

# %% tags=["nbval-ignore-output"]
for name, run in zip(("FP32", "autocast"), both, strict=True):
    casts = sum(run.by_module("weight cast").values())
    print(f"{name:9} {run.bytes:9,} bytes, of which {casts:,} are casts of weights")
print(f"ratio {both[1].bytes / both[0].bytes:.2f}")

# %% [markdown]
r"""
Convolutions and ReLUs save half as much. Three things do not halve:

- **Pooling** saves where each maximum was: 8-byte integers, whatever the type of the images. They
  are the largest part here that stays.
- **The loss** is computed in FP32, and so is what it saves; with ten classes that is little here,
  with a vocabulary of fifty thousand it is not. Statistics of batch norms stay in FP32, too.
- **Casts of weights** come on top: 16-bit copies that are held until the backward pass has used
  them. Hence the linear layer's 58 %.

On a GPU the lists are CUDA's (`07_autocast`): softmax is in FP32 there, for one, and saves FP32.

### t11_3 · Count what is saved

`saved_bytes(net, x)`: how many bytes does `net(x)` leave for the backward pass? Count the **whole
storage** of each saved tensor, `t.untyped_storage().nbytes()`, and each storage **once**. Two
tensors lie in the same storage if `t.untyped_storage().data_ptr()` is the same for both;
`t.data_ptr()` is where the tensor itself begins, and two views may begin at different places of one
storage. Leave out the storages of the net's own parameters and buffers. Saved input counts, even
`x`; so do integers, and copies that autocast made.

Keep the tensors in a list while you count, as above: memory that has been let go of may be given
to another tensor, with the same address.
"""


# %% tags=["setup"]
class Gate(nn.Module):
    """Multiplies the left half of its input by the right half: two views of one storage."""

    def forward(self, x):
        """Return the left half times the right half."""
        left, right = x.chunk(2, dim=-1)
        return left * right


# %% task="t11_3" forbids=["ampcourse.memory", "ampcourse.widgets"]
def saved_bytes(net, x):
    """Return the bytes that net(x) saves for the backward pass, beside the net itself."""
    ### BEGIN SOLUTION
    saved = []

    def pack(tensor):
        saved.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        output = net(x)
    own = {t.untyped_storage().data_ptr() for t in [*net.parameters(), *net.buffers()]}
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in saved}
    del output
    return sum(size for address, size in storages.items() if address not in own)
    ### END SOLUTION


# %% check="t11_3" points=5
with task("t11_3"):
    once = "a linear layer saves its input; each storage counts once"
    own_ones = "parameters and buffers are there anyway"
    any_type = "each element takes the bytes of its type: 2 in BF16, 8 for a pooling's indices"
    whole = "a view holds the whole storage that it lies in"
    twice = "the same storage was counted twice: ReLU's output is the next layer's input"
    with_weights = "a saved weight was counted: it is there anyway"
    with_buffers = "the running statistics were counted: buffers are there anyway"
    four = "4 bytes for each element, whatever its type"
    floats = "the indices of a pooling are saved, too, 8 bytes each"
    part = "that is the part which the view shows: its whole storage is held"
    outputs = "what layers put out is not what they save"
    no_input = "what goes into the first layer is saved by it, too, and counts"
    put_out = "what the last layer puts out is not saved: it needs it for no derivative"
    offset = "two views of one storage start at two addresses: compare those of the storages"
    no_casts = "autocast's copies of weights are memory of their own, not the parameters"
    call = "int(saved_bytes({}, {}))"

    def t11_3_call(layers, x):
        """Return the call for a sequence of layers."""
        return call.format(f"nn.Sequential({layers})", x)

    two = "nn.Linear(3, 5), nn.Linear(5, 2)"
    x = "torch.randn(7, 3)"
    traps = {with_weights: 84 + 140 + 40, outputs: 140 + 56, no_input: 140}
    traps[put_out] = 84 + 140 + 56
    check(t11_3_call(two, x), 84 + 140, own_ones, traps)
    traps = {twice: 84 + 2 * 140, with_weights: 84 + 140 + 40, outputs: 140 + 140 + 56}
    traps |= {twice + ", and a weight": 84 + 2 * 140 + 40, no_input: 140, put_out: 84 + 140 + 56}
    relu = "nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)"
    check(t11_3_call(relu, x), 84 + 140, once, traps)
    pool = "nn.Linear(4, 4), nn.MaxPool2d(2)"
    image = "torch.randn(3, 4, 4)"
    traps = {four: 192 + 192 + 48, floats: 192 + 192, outputs: 192 + 48, no_input: 192 + 96}
    traps[put_out] = 192 + 192 + 96 + 48
    check(t11_3_call(pool, image), 192 + 192 + 96, any_type, traps)
    norm = "nn.Linear(3, 5), nn.BatchNorm1d(5)"
    evaluated = f"nn.Sequential({norm}).eval()"
    traps = {with_buffers: 84 + 140 + 40, with_weights: 84 + 140 + 20, outputs: 280}
    traps |= {no_input: 140, put_out: 84 + 2 * 140}
    traps[with_buffers + ", and so are weights"] = 84 + 140 + 60
    check(call.format(evaluated, x), 84 + 140, own_ones, traps)
    view = "torch.randn(7, 9)[:, 2:5]"
    check(t11_3_call("nn.Linear(3, 5)", view), 252, whole, {part: 84, outputs: 140})
    gate = "nn.Linear(3, 8), nn.ReLU(), Gate(), nn.Linear(4, 2)"
    traps = {offset: 84 + 2 * 224 + 112, twice: 84 + 3 * 224 + 112, no_input: 224 + 112}
    traps |= {with_weights: 84 + 224 + 112 + 32, part: 84 + 112 + 112, put_out: 420 + 56}
    check(t11_3_call(gate, x), 84 + 224 + 112, whole, traps)
    region = """
        net = nn.Sequential({})
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return int(saved_bytes(net, {}))
    """
    traps = {four: 84 + 140 + 40, no_casts: 42 + 70, outputs: 70 + 28}
    traps |= {twice: 42 + 2 * 70 + 20, no_input: 70 + 20, put_out: 42 + 70 + 20 + 28}
    check(region.format(two, x), 42 + 70 + 20, any_type, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch
    from torch import nn

    t11_3_random = Random(1103)

    class t11_3_Gate(nn.Module):
        def forward(self, x):
            left, right = x.chunk(2, dim=-1)
            return left * right

    def t11_3_graph(layers, x, autocast=False, evaluate=False):
        """Walk autograd's graph and add up what its nodes hold: no hooks."""
        names = {"nn": nn, "torch": torch, "Gate": t11_3_Gate}
        net, x = eval(f"nn.Sequential({layers})", names), eval(x, names)
        net.train(not evaluate)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            waiting, seen, found = [net(x).grad_fn], set(), {}
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            for name in (name for name in dir(node) if name.startswith("_saved_")):
                value = getattr(node, name)
                if isinstance(value, torch.Tensor):
                    found[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
            waiting += [before for before, _ in node.next_functions]
        own = {t.untyped_storage().data_ptr() for t in (*net.parameters(), *net.buffers())}
        return sum(size for address, size in found.items() if address not in own)

    for _ in range(6):
        a, b, c = (2 * t11_3_random.randint(1, 9) for _ in "abc")
        n = 2 * t11_3_random.randint(1, 8)
        x = f"torch.randn({n}, {a})"
        middle = t11_3_random.choice(("nn.ReLU()", "nn.Sigmoid()", "nn.GELU()", "nn.Tanh()"))
        layers = f"nn.Linear({a}, {b}), {middle}, nn.Linear({b}, {c})"
        check(t11_3_call(layers, x), t11_3_graph(layers, x), once)
        layers = f"nn.Linear({a}, {b}), nn.BatchNorm1d({b}), nn.Linear({b}, {c})"
        evaluated = f"nn.Sequential({layers}).eval()"
        check(call.format(evaluated, x), t11_3_graph(layers, x, evaluate=True), own_ones)
        check(t11_3_call(layers, x), t11_3_graph(layers, x), own_ones)
        image = f"torch.randn(1, {n}, {a})"
        layers = f"nn.Linear({a}, {b}), nn.MaxPool2d(2), nn.Tanh()"
        check(t11_3_call(layers, image), t11_3_graph(layers, image), any_type)
        layers = f"nn.Linear({a}, {b}), nn.Tanh(), nn.Linear({b}, {c})"
        check(region.format(layers, x), t11_3_graph(layers, x, autocast=True), any_type)
        layers = f"nn.Linear({a}, {b}), nn.Tanh(), Gate(), nn.Linear({b // 2}, {c})"
        check(t11_3_call(layers, x), t11_3_graph(layers, x), whole)
        view = f"torch.randn({n}, {a + b})[:, {b // 2}:{a + b // 2}]"
        check(t11_3_call(f"nn.Linear({a}, {c})", view), 4 * n * (a + b), whole)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
### Batch and image size

What convolutions save grows in proportion to the batch and to the number of pixels; weights do not
know of either. Twice the batch is twice the activations, and images twice as wide and high are
four times. (Autocast's casts do not grow.)
"""

# %% tags=["nbval-ignore-output"]
convolutions = cnn[:6]
for batch, side in ((8, 28), (16, 28), (8, 56)):
    with SavedTensors(convolutions) as saved:
        output = convolutions(torch.randn(batch, 1, side, side))
    weights = sum(p.nbytes for p in convolutions.parameters())
    print(f"batch {batch:2}, {side} × {side}: saved {saved.bytes:9,}, weights {weights:,} bytes")

# %% [markdown]
r"""
## Buying memory with time

The backward pass goes through the layers from the last to the first, so the first layers' tensors
wait longest. **Gradient checkpointing** does not keep them: it divides the chain of layers into
segments, keeps only what goes into each, and when the backward pass arrives at a segment, runs it
forward a second time, now with a graph.

Let $n$ equal layers be in $k$ segments. Held are the $k$ inputs, and of one segment at a
time all $n/k$ layers: about $k + n/k$, which is least at $k = \sqrt n$
([Chen et al., 2016](https://arxiv.org/abs/1604.06174)). Move the sliders: how much work does the
least memory cost? And how much more does one segment per layer?
"""

# %%
checkpoint_segments(64, 4)

# %% [markdown]
r"""
Counted exactly, with whole layers and the last segment left alone, 6 to 11 segments of 64 layers
are equally good; 8 cost 1.29 times the work, one per layer 1.33 times.

A backward pass is about two forward passes of work. So a step is three, checkpointing adds at most
one, and the step takes at most a third longer. The last segment is not checkpointed: its backward
pass comes at once, and what was dropped would be computed again immediately.

Here is the whole thing on a real chain of 24 blocks, each a linear layer, a ReLU and a dropout.
`Recording` looks at one forward pass and predicts, for each number of segments, what would be held;
the diamonds are runs in which it was counted. Where do you expect the least?
"""

# %%
from ampcourse.memory.checkpointing import Checkpointed, best_segments
from ampcourse.memory.segments import Recording
from ampcourse.plotting.segment_curve import segment_curve


# %%
def chain_of(blocks, width=64):
    """Return a chain of equal blocks with dropout, the same each time."""
    torch.manual_seed(11)
    parts = [(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.2)) for _ in range(blocks)]
    return nn.Sequential(*[nn.Sequential(*part) for part in parts])


def most_held(net, x):
    """Run forward and backward under the recorder, and return the most bytes held."""
    with SavedTensors(net) as saved:
        output = net(x)
        output.backward(torch.ones_like(output))
    return saved.peak


# %%
x = torch.randn(256, 64)
plans = Recording(chain_of(24), x).plans()
counted = {k: most_held(Checkpointed(chain_of(24), k), x) for k in (1, 3, 9, 24)}
least = min(plans, key=lambda plan: plan.peak)
print(f"least: {least.segments} segments, {least.peak / plans[0].peak:.2f} of the memory")

# %% tags=["nbval-ignore-output"]
show(
    segment_curve(plans, counted, {"√n": 24**0.5, "√(3n)": 72**0.5}),
    alt="Bytes held over segments. The most that is held falls steeply, is least at nine, near the "
    "root of 3 n, and rises slowly; the measured diamonds lie on the line. What is held after the "
    "forward pass lies on it, too, but at five and thirteen segments below it. Layers run twice "
    "rise fast to 83 % at five segments and slowly afterwards.",
)

# %% [markdown]
r"""
Not near $\sqrt{24}$, at five: a block saves three tensors, its input, ReLU's output and dropout's
mask, and of a segment only one of them is kept. So it is $k + 3n/k$, least at $\sqrt{3n}$. (The
mask is as large as the others on a CPU; a GPU keeps one byte for each element. From 14 segments to
23 the longest has two blocks, so each input more is held for nothing.)

Nor are real chains equal: in a CNN the first layers, with the large images, save most. Then no root
tells the best division, but counting does.

### t11_4 · Unequal layers

Layer $i$ of a chain saves its input and nothing else, `sizes[i]` bytes. The segments begin at the
layers `starts`, in ascending order, the first of which is 0; each ends where the next begins. All
but the last are checkpointed. `held(sizes, starts)` returns three integers,
`return kept, peak, again`:

- `kept`: the bytes held when the forward pass has ended;
- `peak`: the most bytes held at any time: look at each segment when its backward pass begins. All
  its layers' inputs are held then, the inputs of the segments before it, and nothing of
  those after it: they are done. (For the last segment this is the end of the forward pass.)
- `again`: how many layers run forward a second time.

The input of a segment is the input of its first layer: the same memory.

`best_cut(sizes)`: a chain of at least two layers in **two** segments; return the layer at which
the second one begins, so that `peak` is least; of several such layers the first.
"""


# %% task="t11_4" forbids=["ampcourse.memory", "ampcourse.widgets"]
def held(sizes, starts):
    """Return bytes kept after the forward pass, most bytes held, and layers that run twice."""
    ### BEGIN SOLUTION
    ends = [*starts[1:], len(sizes)]
    before, totals = 0, []
    for start, end in zip(starts, ends, strict=True):
        totals.append(before + sum(sizes[start:end]))
        before += sizes[start]
    return totals[-1], max(totals), starts[-1]
    ### END SOLUTION


def best_cut(sizes):
    """Return the layer at which the second of two segments begins, so that least is held."""
    ### BEGIN SOLUTION
    return min(range(1, len(sizes)), key=lambda cut: held(sizes, [0, cut])[1])
    ### END SOLUTION


# %% check="t11_4" points=5
with task("t11_4"):
    after = "kept: the input of each checkpointed segment, and of the last segment all"
    most = "peak: one segment whole, and of those before it the inputs; the largest such sum"
    twice = "again: all layers but those of the last segment"
    divided = "the best cut makes the larger of two sums as small as it can be"
    only_inputs = "the last segment is not checkpointed: all its layers' inputs are held"
    everything = "the layers inside a checkpointed segment are not kept"
    double = "a segment's input is its first layer's: it counts once"
    last_twice = "the last segment's input is among its layers' inputs: it counts once"
    largest = "the inputs of the segments before it are held beside the largest segment"
    all_inputs = "the segments after it are done: their inputs are no longer held"
    between = "most may be held while a segment in the middle is run again: look at each of them"
    end_only = "most may be held later, while an early segment is run again"
    every_layer = "the last segment runs once: its graph is still there"
    inner = "the first layer of a segment runs a second time, too"
    segments = "count layers, not segments"
    middle = "layers are not equal: cut by bytes, not by number"
    halves = "not equal halves: the first segment's input stays held beside the second"
    last_one = "of several best cuts the first"
    cases = [([1] * 9, [0, 3, 6]), ([8, 4, 2, 1], [0, 2]), ([5, 1, 1, 9, 2, 6], [0, 1, 3])]
    cases += [([2, 9, 9, 1, 1, 1], [0, 3, 4]), ([1, 1, 9, 9, 9, 1], [0, 2, 5]), ([3, 7, 5], [0])]
    call = "[int(held(sizes, starts)[{}]) for sizes, starts in {}]"
    traps = {only_inputs: [3, 10, 15, 4, 11, 3], everything: [9, 15, 24, 23, 30, 15]}
    traps[last_twice] = [6, 13, 32, 6, 12, 18]
    check(call.format(0, cases), [5, 11, 23, 5, 11, 15], after, traps)
    traps = {largest: [3, 12, 17, 20, 27, 15], all_inputs: [5, 14, 23, 22, 29, 15]}
    traps |= {end_only: [5, 11, 23, 5, 11, 15], double: [6, 20, 32, 22, 37, 18]}
    traps[between] = [5, 12, 23, 20, 11, 15]
    check(call.format(1, cases), [5, 12, 23, 20, 28, 15], most, traps)
    traps = {every_layer: [9, 4, 6, 6, 6, 3], inner: [4, 1, 1, 2, 3, 0]}
    traps[segments] = [2, 1, 2, 2, 2, 0]
    check(call.format(2, cases), [6, 2, 3, 4, 5, 0], twice, traps)
    cases = [[8, 4, 2, 1], [1] * 7, [9, 1, 1, 1, 1, 1], [1, 1, 1, 1, 9], [4, 0, 3]]
    call = "[int(best_cut(sizes)) for sizes in {}]"
    traps = {middle: [2, 3, 3, 2, 1], halves: [1, 3, 1, 4, 1], last_one: [2, 4, 4, 4, 2]}
    check(call.format(cases), [2, 4, 3, 4, 1], divided, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch
    from torch.autograd.graph import saved_tensors_hooks
    from torch.utils.checkpoint import checkpoint as t11_4_checkpoint

    t11_4_random = Random(1104)

    class t11_4_Held:
        """What autograd holds in place of a tensor; adds its storage up while it is held."""

        def __init__(self, tensor, book):
            self.tensor, self.book = tensor, book
            self.key = tensor.untyped_storage().data_ptr()
            book.setdefault(self.key, []).append(tensor.nbytes)
            book["most"] = max(book.get("most", 0), t11_4_bytes(book))

        def __del__(self):
            self.book[self.key].pop()

    def t11_4_bytes(book):
        return sum(sizes[0] for key, sizes in book.items() if key != "most" and sizes)

    def t11_4_torch(sizes, starts):
        """Run linear layers under torch's own checkpoint, and count what is held, by hooks."""
        runs, book = [], {}
        layers = [
            torch.nn.Linear(*pair, bias=False) for pair in zip(sizes, [*sizes[1:], 1], strict=True)
        ]
        own = {layer.weight.untyped_storage().data_ptr() for layer in layers}
        for layer in layers:
            layer.register_forward_hook(lambda *_: runs.append(1))

        def pack(tensor):
            ours = tensor.untyped_storage().data_ptr() in own
            return tensor if ours else t11_4_Held(tensor, book)

        def unpack(held):
            return held.tensor if isinstance(held, t11_4_Held) else held

        x = torch.ones(1, sizes[0], requires_grad=True)
        with saved_tensors_hooks(pack, unpack):
            for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True):
                segment = torch.nn.Sequential(*layers[start:end])
                last = end == len(sizes)
                x = segment(x) if last else t11_4_checkpoint(segment, x, use_reentrant=True)
            kept = t11_4_bytes(book) // 4
            x.backward()
        return kept, book["most"] // 4, len(runs) - len(sizes)

    t11_4_cases = []
    for n in (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 20, 25):
        sizes = [t11_4_random.randint(1, 60) for _ in range(n)]
        cuts = t11_4_random.sample(range(1, n), t11_4_random.randint(0, min(n - 1, 5)))
        t11_4_cases.append((sizes, [0, *sorted(cuts)]))
    for n in (1, 2, 3, 4):  # the middle segment decides
        small = [t11_4_random.randint(1, 9) for _ in range(n)]
        large = [t11_4_random.randint(30, 60) for _ in range(n)]
        t11_4_cases.append(([*small, *large, *small], [0, n, 2 * n]))
    t11_4_found = [t11_4_torch(*case) for case in t11_4_cases]
    for i, reason in enumerate((after, most, twice)):
        call = f"[int(held(sizes, starts)[{i}]) for sizes, starts in {t11_4_cases}]"
        check(call, [found[i] for found in t11_4_found], reason)
    t11_4_cases = [sizes for sizes, _ in t11_4_cases if len(sizes) > 1]
    t11_4_cases += [[7, 7], [1, 1, 1, 1], [30, 2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 30, 30]]
    right = []
    for sizes in t11_4_cases:
        peaks = [t11_4_torch(sizes, [0, cut])[1] for cut in range(1, len(sizes))]
        right.append(1 + peaks.index(min(peaks)))
    check(f"[int(best_cut(sizes)) for sizes in {t11_4_cases}]", right, divided)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What a second run may change

A segment that runs twice must give the same result twice. Three things decide whether it does.

**Random numbers.** Dropout would drop other elements in the second run, and the gradients would
belong to another network. So the state of the generator is noted before the first run, set
again before the second, and put back after it, so that the training's random numbers go on.
"""


# %%
def gradients_of(net, x):
    """Return the gradients of one step, from the same random numbers each time."""
    torch.manual_seed(3)
    net(x).square().mean().backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


# %%
before = gradients_of(chain_of(24), x)
for keep_rng in (True, False):
    again = gradients_of(Checkpointed(chain_of(24), 5, keep_rng=keep_rng), x)
    print(f"keep_rng={keep_rng}: the same bits: {torch.equal(before, again)}")

# %% [markdown]
r"""
With the state kept, the gradients are the same **bit for bit**: the same operations on the same
numbers, only some of them at another time. (On a GPU as far as its kernels give the same bits
twice; and with this checkpoint only if no two segments share a weight, since their gradients may be
added up in another order.)

**Autocast.** The backward pass is outside of the region; the second run must be inside, in the
same type.

**What the segment changes.** A batch norm moves its running statistics in each forward pass, and
here it has two:
"""

# %%
from ampcourse.memory.checkpointing import checkpoint as library_checkpoint

# %%
for run in (lambda norm, x: norm(x), library_checkpoint):
    norm = nn.BatchNorm1d(64)
    run(norm, x).sum().backward()
    print("batches that the running statistics have seen:", norm.num_batches_tracked.item())

# %% [markdown]
r"""
Gradients are not touched by that, since in training a batch norm takes the statistics of its
batch. But the running ones take two steps towards it: with the default momentum of 0.1, 0.81 of the
distance is left instead of 0.9, and evaluation uses those. Lower the momentum $m$ of norms that run
twice to $1 - \sqrt{1 - m}$, or leave batch norms out of the segments.

### t11_5 · A checkpoint by hand

`checkpoint(Checkpoint, run, x)`, in the next cell, returns what `run(x)` returns, by way of your
class. Autograd does not record inside `forward`, nor inside `backward`.

- `forward(ctx, run, x, reason)` notes on `ctx` what the second run needs, and returns `run(x)`. Of
  what it computes with, keep `x` alone, by `ctx.save_for_backward(x)`; in the backward pass it is
  `ctx.saved_tensors[0]`.
- `backward(ctx, gradient)` runs it a second time, in `with torch.enable_grad(), …:`, on
  `x.detach().requires_grad_()`, and goes back through it from the `gradient` of the output:
  `output.backward(gradient)`. That adds to the `.grad` of all parameters inside. It returns one
  gradient for each argument of `forward`: `None` for `run` and `reason`.
- `reason` is a number that requires a gradient. If `x` is data, which does not, the output still
  gets a gradient because of it, and the layers inside get theirs. You need not use it.

The second run gets the random numbers of the first and its autocast, and the generator is then
put back to where it was: `torch.get_rng_state()`, `torch.set_rng_state(state)`.
`same_autocast()` returns the region that one is in, to be entered later with `with`.
"""


# %% tags=["setup"]
def same_autocast():
    """Return the autocast region that one is in, so that it can be entered once more."""
    kind, on = torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")
    return torch.autocast("cpu", dtype=kind, enabled=on)


def checkpoint(kind, run, x):
    """Return run(x) by way of a class like Checkpoint; the 1 is its reason for a gradient."""
    return kind.apply(run, x, torch.ones((), requires_grad=True))


# %% task="t11_5" forbids=["ampcourse.memory", "ampcourse.widgets"]
class Checkpoint(torch.autograd.Function):
    """run(x), held as x alone, and run a second time when the backward pass arrives."""

    @staticmethod
    def forward(ctx, run, x, reason):
        """Return run(x), and note what a second run needs."""
        ### BEGIN SOLUTION
        ctx.run, ctx.region = run, same_autocast()
        ctx.random_state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return run(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, gradient):
        """Run again, go back through it, and return the gradients of run, x and reason."""
        ### BEGIN SOLUTION
        again = ctx.saved_tensors[0].detach().requires_grad_()
        here = torch.get_rng_state()
        torch.set_rng_state(ctx.random_state)
        with torch.enable_grad(), ctx.region:
            output = ctx.run(again)
        torch.set_rng_state(here)
        torch.autograd.backward(output, gradient)
        return None, again.grad, None
        ### END SOLUTION


# %% tags=["setup", "folded"]
# Only for the checks, which compare a journey through your class with one without it.
def bits(tensor):
    """Return a tensor's numbers as text, bit for bit; None stays None."""
    return tensor if tensor is None else [v.hex() for v in tensor.double().flatten().tolist()]


def journey(net, x, kind=None, autocast=None):
    """Run forward and backward, through kind if there is one; return what happened."""
    torch.manual_seed(5)
    x = x.clone().requires_grad_()
    saved: list[torch.Tensor] = []
    region = torch.autocast("cpu", dtype=autocast or torch.bfloat16, enabled=autocast is not None)
    with region, saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        output = net(x) if kind is None else checkpoint(kind, net, x)
    told = {"before": torch.rand(3), "output": bits(output)}
    floats = [t for t in saved if t.is_floating_point()]
    told["kept"] = ["x" if t.data_ptr() == x.data_ptr() else "another" for t in floats]
    output.float().square().sum().backward()
    told |= {"after": torch.rand(3), "x": bits(x.grad)}
    return told | {"weights": [bits(p.grad) for p in net.parameters()]}


class Widen(nn.Module):
    """Gives out FP32: the output's type does not tell under which autocast it was computed."""

    def forward(self, x):
        """Return x in FP32."""
        return x.float()


def noisy():
    """Return a net with dropout, the same each time."""
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 3))


# %% check="t11_5" points=6
from textwrap import dedent, indent

with task("t11_5"):
    whole = "all gradients are those without checkpointing, bit for bit"
    added = "the gradients of the layers inside are added to what is there"
    data = "x may be data, which needs no gradient: the layers inside need theirs"
    alone = "between forward and backward only x is held"
    times = "the net runs once forward, and once more in the backward pass, under the same autocast"
    dropped = "dropout must drop the same elements in both runs"
    goes_on = "the training's random numbers go on as if nothing had run twice"
    no_x = "x has no gradient: the second run's x must require one; return it in the place of x"
    no_weights = "the layers inside got no gradients: output.backward(gradient) adds to them"
    ignored = "the gradient that arrived was not used: go back from it, not from ones"
    doubled = "x got its gradient twice: go back to x.detach(), which is not x"
    unrecorded = "no graph: the second run, and what you do with its output, need enable_grad()"
    overwritten = "the second backward pass wrote over the first one's gradients"
    graph = "that is the whole graph: in the forward pass keep x alone"
    unsaved = "nothing was saved by ctx.save_for_backward: autograd has to know what is held"
    copied = "a copy of x was saved: x itself is held by whoever made it, and costs nothing more"
    others = "the second run dropped other elements than the first: set the generator's state"
    repeats = "the same random numbers come again: put the generator back after the second run"
    ran_on = "the second run took new random numbers: it has to get those of the first"
    outside = "the second run did not have the first one's autocast: enter its region"
    inside = "the second run ran under autocast where the first did not"
    own_type = "the second run had a type of its own: a region is its type, too"

    def t11_5_try(story):
        """Return a call that says so where the second run left no graph to go back through."""
        return f"""
            try:
{indent(dedent(story).strip(), " " * 16)}
            except RuntimeError as error:
                if "does not require grad" not in str(error):
                    raise
                return "no graph"
        """

    compared = """
        make = {make}
        torch.manual_seed(1)
        x = {x}
        plain, mine = journey(make(), x), journey(make(), x, Checkpoint)
        same = torch.equal(mine["after"], plain["after"])
        again = torch.equal(mine["after"], mine["before"])
        return {result}
    """
    steady = "lambda: noisy().eval()"
    case = {"make": steady, "x": "torch.randn(5, 6)"}

    def t11_5_call(result, **changes):
        """Return the call that makes both journeys and compares them."""
        return t11_5_try(compared.format(**case | changes, result=result))

    names = "[mine[name] == plain[name] for name in ('output', 'x', 'weights')]"
    traps = {no_x: [True, False, True], no_weights: [True, True, False], unrecorded: "no graph"}
    check(t11_5_call(names), [True, True, True], whole, traps)
    product = """
        net, x = bare(1, 1), torch.tensor([[3.0]], requires_grad=True)
        net.weight.data[:] = 2.0
        for _ in range({times}):
            checkpoint(Checkpoint, net, x).square().sum().backward()
        return [None if t.grad is None else t.grad.item() for t in {of}]
    """
    one = {"times": 1, "of": "(x, net.weight)"}
    traps = {ignored: [2.0, 3.0], no_x: [None, 36.0], no_weights: [24.0, None]}
    traps |= {doubled: [48.0, 36.0], unrecorded: "no graph"}
    check(t11_5_try(product.format(**one)), [24.0, 36.0], whole, traps)
    of_weight = {"of": "(net.weight,)"}
    traps = {overwritten: [36.0], ignored: [6.0], no_weights: [None], unrecorded: "no graph"}
    check(t11_5_try(product.format(**one | of_weight | {"times": 2})), [72.0], added, traps)
    either = """
        found = []
        for needed in (True, False):
            net, x = bare(1, 1), torch.tensor([[3.0]], requires_grad=needed)
            net.weight.data[:] = 2.0
            checkpoint(Checkpoint, net, x).square().sum().backward()
            found.append(None if net.weight.grad is None else net.weight.grad.item())
        return found
    """
    traps = {data + "; you gave them none": [36.0, None], no_weights: [None, None]}
    traps |= {unrecorded: "no graph", ignored: [3.0, 3.0]}
    check(t11_5_try(either), [36.0, 36.0], data, traps)
    size = "{0: 'nothing', 1: mine['kept'][:1]}.get(len(mine['kept']), 'more')"
    traps = {graph: "more", unsaved: "nothing", copied: ["another"], unrecorded: "no graph"}
    check(t11_5_call(size), ["x"], alone, traps)
    kinds = """
        torch.manual_seed(1)
        kinds = []
        for autocast in (None, torch.bfloat16, torch.float16):
            net, x = noisy().eval(), torch.randn(5, 6)
            seen, remember = [], net.register_forward_hook(lambda *a: seen.append(a[2].dtype))
            journey(nn.Sequential(net, Widen()), x, Checkpoint, autocast)
            kinds.append([str(kind)[6:] for kind in seen])
        return kinds
    """
    full, low, half = "float32", "bfloat16", "float16"
    traps = {outside: [[full] * 2, [low, full], [half, full]], unrecorded: "no graph"}
    traps |= {inside: [[full, low], [low, low], [half, low]]}
    traps |= {own_type: [[full, full], [low, low], [half, low]]}
    traps |= {own_type + ", not FP16 here": [[full, full], [low, half], [half, half]]}
    traps["the second run is missing"] = [[full], [low], [half]]
    check(t11_5_try(kinds), [[full, full], [low, low], [half, half]], times, traps)
    random = {"make": "noisy"}
    mask = """
        x = torch.ones(1, 40, requires_grad=True)
        output = checkpoint(Checkpoint, nn.Dropout(0.5), x)
        output.sum().backward()
        return None if x.grad is None else (output != 0).equal(x.grad != 0)
    """
    traps = {others: False, no_x: None, unrecorded: "no graph"}
    check(t11_5_try(mask), True, dropped, traps)
    order = "'goes on' if same else 'repeats' if again else 'has moved'"
    traps = {repeats: "repeats", ran_on: "has moved", unrecorded: "no graph"}
    check(t11_5_call(order, **random), "goes on", goes_on, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch
    from torch.utils.checkpoint import checkpoint as t11_5_torchs

    no_graph = {unrecorded: "no graph"}
    t11_5_random = Random(1105)

    def t11_5_net(a, b, c, rate):
        torch.manual_seed(a * b + c)
        layers = torch.nn.Linear(a, b), torch.nn.Tanh(), torch.nn.Dropout(rate)
        return torch.nn.Sequential(*layers, torch.nn.Linear(b, c))

    def t11_5_expected(a, b, c, rate, n, autocast, kind="bfloat16", x=True, times=1):
        """Return the gradients of x and of the weights, and the next number, by torch's own."""
        net = t11_5_net(a, b, c, rate)
        torch.manual_seed(n)
        x = torch.randn(n, a, requires_grad=x)
        for _ in range(times):
            with torch.autocast("cpu", dtype=getattr(torch, kind), enabled=autocast):
                output = t11_5_torchs(net, x, use_reentrant=False)
            output.float().square().sum().backward()
        grads = [*([x.grad] if x.requires_grad else []), *(p.grad for p in net.parameters())]
        return [[v.hex() for v in g.double().flatten().tolist()] for g in grads], torch.rand(1)

    t11_5_story = """
        torch.manual_seed({a} * {b} + {c})
        layers = nn.Linear({a}, {b}), nn.Tanh(), nn.Dropout({rate})
        net = nn.Sequential(*layers, nn.Linear({b}, {c}))
        torch.manual_seed({n})
        x = torch.randn({n}, {a}, requires_grad={x})
        for _ in range({times}):
            with torch.autocast("cpu", dtype=torch.{kind}, enabled={autocast}):
                output = checkpoint(Checkpoint, net, x)
            output.float().square().sum().backward()
        return {result}
    """
    t11_5_result = "[bits(x.grad), *(bits(p.grad) for p in net.parameters())]"
    given: dict[str, float | str]
    for k in range(8):
        a, b, c, n = (t11_5_random.randint(2, 9) for _ in range(4))
        rate = t11_5_random.choice((0.25, 0.5)) if k % 2 else 0.0
        autocast = k >= 4
        given = {"a": a, "b": b, "c": c, "rate": rate, "n": n, "autocast": autocast}
        given |= {"kind": "float16" if k > 5 else "bfloat16", "x": True, "times": 1}
        grads, following = t11_5_expected(**given)
        reason = times if autocast else dropped if rate else whole
        check(t11_5_try(t11_5_story.format(result=t11_5_result, **given)), grads, reason, no_graph)
        draw = "torch.rand(1).item().hex()"
        call = t11_5_try(t11_5_story.format(result=draw, **given))
        check(call, following.item().hex(), goes_on, no_graph)
    t11_5_weights = "[bits(p.grad) for p in net.parameters()]"
    for reason, change in ((added, {"times": 2}), (data, {"x": False})) * 2:
        a, b, c, n = (t11_5_random.randint(2, 9) for _ in range(4))
        given = {"a": a, "b": b, "c": c, "rate": 0.25, "n": n, "autocast": False}
        given |= {"kind": "bfloat16", "x": True, "times": 1}
        given |= change
        grads = t11_5_expected(**given)[0][int(given["x"]) :]
        call = t11_5_try(t11_5_story.format(result=t11_5_weights, **given))
        check(call, grads, reason, no_graph)
    t11_5_held = """
        net, saved = nn.Sequential(*[nn.Linear({a}, {a}) for _ in range({n})]), []
        x = torch.randn({b}, {a}, requires_grad=True)
        with saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
            output = checkpoint(Checkpoint, net, x)
        saved = [t.data_ptr() == x.data_ptr() for t in saved if t.is_floating_point()]
        runs, hook = [], net.register_forward_hook(lambda *_: runs.append(1))
        output.sum().backward()
        return saved, len(runs)
    """
    for _ in range(4):
        a, b, n = (t11_5_random.randint(2, 9) for _ in range(3))
        check(t11_5_try(t11_5_held.format(a=a, b=b, n=n)), ([True], 1), alone, no_graph)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
In training use `torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)`. It does all this,
also with several inputs, with `torch.autograd.grad`, and for the generators of GPUs. It raises an
error if the second run saves tensors of other shapes or types than the first.

## Prediction against measurement

Is `predict` right? On a CPU the profiler hears of each allocation. The peak of one step, beside
what was predicted for it, the small CNN with 64 images:
"""

# %%
import os

from torch.profiler import ProfilerActivity, profile

os.environ["KINETO_LOG_LEVEL"] = "99"  # the profiler would tell when it starts


# %%
def profiled_peak(step, *there):
    """Return the bytes of what is there and of the most that a step adds to it."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step()
    events = seen.profiler.kineto_results.events()
    memory = [event for event in events if event.name() == "[memory]"]
    now = most = 0
    for event in sorted(memory, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return sum(t.nbytes for t in there) + most


# %%
def one_step(recipe):
    """Take one training step of the small CNN."""
    sgd.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=recipe == "autocast"):
        loss = nn.functional.cross_entropy(cnn(images), labels)
    loss.backward()
    del loss
    sgd.step()


# %% tags=["nbval-ignore-output"]
labels, sgd = torch.zeros(64, dtype=torch.long), torch.optim.SGD(cnn.parameters(), 0.1, 0.9)

# %% tags=["nbval-ignore-output"]
for recipe in ("fp32", "autocast"):
    one_step(recipe)  # the momentum is there from now on
    sgd.zero_grad()
    buffers = [state["momentum_buffer"] for state in sgd.state.values()]
    found = profiled_peak(lambda r=recipe: one_step(r), *cnn.parameters(), *buffers, images)
    told = predict(cnn, "momentum", recipe, images).peak
    print(f"{recipe:9} predicted {told:9,}, measured {found:9,}: {found / told:.2f} times")

# %% [markdown]
r"""
Where a measurement lies above the prediction, kernels have asked for room to work in. Some CPUs'
BF16 kernels do, since they convert to FP32 inside. A GPU's convolutions do, too; how much depends
on the kernel that was chosen.

### Allocated and reserved

On a GPU there are three numbers, and they are mistaken for each other:

- **allocated**: the bytes of the tensors that exist, rounded up to blocks of 512 bytes.
  `torch.cuda.max_memory_allocated()` is the peak, and the number to compare with a prediction;
- **reserved**: what PyTorch's caching allocator has taken from the driver. Memory that is let go of
  stays reserved, since asking the driver is slow;
- what **nvidia-smi** shows: reserved, and the CUDA context with its kernels, some hundred
  MiB or more.

So published peaks may not mean the same thing. `torch.cuda.empty_cache()` hands back what is
reserved and not allocated, to other processes. PyTorch's documentation says that it does
[not increase the memory available to PyTorch](https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.empty_cache.html):
a tensor would have got that memory anyway, and before PyTorch raises its error it has emptied the
cache by itself. What may help is less fragmentation, and the pieces of a long training that are
still referred to: a loss that is summed up with its graph, for one.
"""


# %% tags=["nbval-ignore-output"]
def on_gpu(recipe, size=(64, 3, 224, 224)):
    """Return the peaks of a ResNet18's step on a GPU, allocated and reserved, in bytes."""
    net, batch = made("resnet18").cuda(), torch.randn(size, device="cuda")
    optimizer = torch.optim.SGD(net.parameters(), 0.1, 0.9)
    for _ in range(2):  # in the second step momentum and workspaces are there
        optimizer.zero_grad()
        torch.cuda.reset_peak_memory_stats()
        with torch.autocast("cuda", torch.float16, enabled=recipe == "autocast"):
            loss = net(batch).logsumexp(1).mean()
        loss.backward()
        optimizer.step()
    return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


# %% tags=["nbval-ignore-output"]
for recipe in ("fp32", "autocast"):
    told = f"{recipe:8} predicted {runs[64, recipe].peak >> 20:,} MiB"
    if torch.cuda.is_available():
        allocated, reserved = (size >> 20 for size in on_gpu(recipe))
        told += f", allocated {allocated:,}, reserved {reserved:,}"
    print(told)
if not torch.cuda.is_available():
    print("no GPU here: nothing was measured beside it")

# %% [markdown]
r"""
## The largest batch

What is the memory good for that autocast sets free? For a larger batch, and that is a gain beside
the speed at equal batch, not the same one: report both. Which batch fits can be estimated from the
two moments. In a memory of `limit` bytes both must fit: what is there at the end of the forward
pass, with the activations of the batch, and what is there when the optimizer steps, without them.
This leaves out the backward pass between them, so the peak it gives is a lower bound.

### t11_6 · Predict the peak, and the batch that fits

`forward` and `step` are the bytes per parameter at both moments, from your ledger; `each` is the
bytes of activations that one sample leaves, at least 1. All numbers are integers.

- `peak(parameters, forward, step, each, batch)`: the bytes at the fuller of the two moments;
- `largest_batch(parameters, forward, step, each, limit)`: the largest batch whose peak is at most
  `limit`, and 0 if none is.
"""


# %% task="t11_6" forbids=["ampcourse.memory", "ampcourse.widgets"]
def peak(parameters, forward, step, each, batch):
    """Return the bytes held at the fuller of the two moments."""
    ### BEGIN SOLUTION
    return max(forward * parameters + each * batch, step * parameters)
    ### END SOLUTION


def largest_batch(parameters, forward, step, each, limit):
    """Return the largest batch whose peak is at most limit, 0 if there is none."""
    ### BEGIN SOLUTION
    if step * parameters > limit:
        return 0
    return max(0, (limit - forward * parameters) // each)
    ### END SOLUTION


# %% check="t11_6" points=4
with task("t11_6"):
    fuller = "the fuller moment: all activations, or all gradients"
    fits = "the largest batch with which both moments fit"
    at_once = "in this model activations and gradients are not there at the same time"
    times = "a larger batch costs neither weights nor states: only activations grow with it"
    no_step = "the optimizer's step has to fit as well, with any batch"
    one = "with few activations the optimizer's step is the peak"
    nothing = "where not even one sample fits, the largest batch is 0"
    up = "rounded up, it does not fit"
    power = "a batch need not be a power of two"
    below = "exactly as much as there is does fit"
    cases = [(10, 14, 16, 100, 1), (1000, 14, 16, 100, 1), (1000, 14, 16, 100, 30), (7, 8, 8, 3, 0)]
    traps = {at_once: [260, 16100, 19000, 56], times: [240, 16000, 423000, 56]}
    traps |= {one: [240, 14100, 17000, 56]}
    check(f"[int(peak(*case)) for case in {cases}]", [240, 16000, 17000, 56], fuller, traps)
    cases = [(10, 14, 16, 100, 1100), (1000, 14, 16, 100, 15000), (10, 12, 12, 100, 110)]
    cases += [(10, 10, 10, 50, 200), (10, 10, 10, 50, 160), (100, 2, 12, 10, 1200)]
    cases += [(10, 8, 6, 5, 70), (10, 8, 8, 100, 150), (10, 4, 10, 10, 105)]
    right = [9, 0, 0, 2, 1, 100, 0, 0, 6]
    traps = {
        at_once: [9, 0, 0, 2, 1, 0, 0, 0, 0],
        times: [4, 0, 0, 1, 1, 5, 0, 0, 2],
        no_step: [9, 10, 0, 2, 1, 100, 0, 0, 6],
        nothing: [9, 0, 0, 2, 1, 100, -2, 0, 6],
        up: [10, 0, 0, 2, 2, 100, 0, 1, 7],
        power: [8, 0, 0, 2, 1, 64, 0, 0, 4],
        below: [9, 0, 0, 1, 1, 0, 0, 0, 6],
        below + ", when the optimizer steps": [9, 0, 0, 2, 1, 0, 0, 0, 6],
        below + ", with its batch": [9, 0, 0, 1, 1, 100, 0, 0, 6],
    }
    check(f"[int(largest_batch(*case)) for case in {cases}]", right, fits, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    t11_6_random = Random(1106)

    def t11_6_peak(parameters, forward, step, each, batch):
        """Write down what is there, thing by thing, and count."""
        end = [forward] * parameters + [each] * batch
        return max(sum(end), sum([step] * parameters))

    def t11_6_largest(case, limit):
        """Try one batch after the other."""
        batch = 0
        while t11_6_peak(*case, batch + 1) <= limit:
            batch += 1
        return batch

    t11_6_bytes = ((14, 16), (12, 16), (10, 12), (4, 8), (18, 20), (6, 4))
    t11_6_cases = [
        (t11_6_random.randint(1, 400), *pair, t11_6_random.randint(20, 900))
        for pair in t11_6_bytes * 6
    ]
    t11_6_batches = [t11_6_random.randint(0, 30) for _ in t11_6_cases]
    t11_6_pairs = list(zip(t11_6_cases, t11_6_batches, strict=True))
    right = [t11_6_peak(*case, batch) for case, batch in t11_6_pairs]
    check(f"[int(peak(*case, batch)) for case, batch in {t11_6_pairs}]", right, fuller)
    t11_6_limits = [  # between both moments, the first of which is larger
        ((n, step + 9, step, 3), n * step + t11_6_random.randint(0, n))
        for n, step in ((90, 4), (41, 7))
    ]
    t11_6_limits += [
        (case, max(0, size + (0, -1, 1, -case[3], case[3] // 2)[i % 5]))
        for i, (case, size) in enumerate(zip(t11_6_cases, right, strict=True))
    ]
    right = [t11_6_largest(*pair) for pair in t11_6_limits]
    call = f"[int(largest_batch(*case, limit)) for case, limit in {t11_6_limits}]"
    check(call, right, fits)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
Now with real numbers: a card of 24 GiB, ResNet50 with images of 224 pixels, and a perceptron of
134 million parameters. The sums are those of the ledger; on a real card the backward pass, kernels,
fragments and the CUDA context take their part, so expect less.
"""

# %%
from ampcourse.memory.moments import WORKLOADS
from ampcourse.memory.moments import largest_batch as library_largest_batch

# %%
for workload in WORKLOADS.values():
    for optimizer, recipe in (("momentum", "fp32"), ("momentum", "autocast"), ("adam", "O2")):
        batch = library_largest_batch(ledger(optimizer, recipe), workload, 24 * 2**30)
        print(f"{workload.name:20} {optimizer:8} {recipe:8} at most {batch:9,}")

# %% [markdown]
r"""
For ResNet50 it is activations that fill the card, and autocast nearly doubles the batch. The
perceptron could take hundreds of thousands of images at a time, more than FashionMNIST has: there
nobody needs the memory that autocast sets free.

## What people get wrong

First your predictions:
"""

# %% tags=["nbval-ignore-output"]
quoted = {r.name: r.memory_change or 0 for r in records()}
kept = {recipe: ledger("adam", recipe).kept for recipe in ("fp32", "autocast", "half")}
ratio = f"{shares[224]:.2f} by its tensors; {1 + quoted['RTX 4090']:.2f} was reported"
print(f"ratio: you said {my_ratio}; {ratio}")
print(f"Adam: you said {my_adam}; {kept['autocast']} are kept")
print(f"half: you said {my_half}; {kept['fp32'] / kept['half']:.0f} times, if it trains")
print(f"segments: you said {my_segments}; {best_segments(64)}, or any from 6 to 11")
print(f"gradient: you said {my_gradient}; the same bits, with the same random numbers")
print(f"cache: you said {my_cache}; False")

# %% [markdown]
r"""
- **"AMP halves memory."** It halves most of the activations. With few of them it saves next to
  nothing (t11_1, t11_3).
- **"Under autocast the model is in FP16."** Weights, gradients and state are what they were; casts
  come on top (t11_2).
- **"Master weights double the memory."** A parameter takes 16 bytes with Adam, as in FP32; 20 where
  gradients are copied, too, as in O2 (t11_1).
- **"`model.half()` trains in half the memory."** It does: 8 bytes with Adam. It also loses small
  gradients in FP16, which loss scaling cures for nothing, and small updates, which masters cure for
  8 bytes.
- **"A larger batch costs optimizer memory."** State and weights do not know the batch (t11_6).
- **"More segments, less memory."** Only up to about the root of the layers; then the kept inputs
  outweigh what a smaller segment saves.
- **"Checkpointing changes the gradients."** Not if random numbers and autocast are those of the
  first run (t11_5). It changes running statistics.
- **"`empty_cache()` helps against out of memory."** It gives memory to other processes.

## Say it aloud

Per parameter I count weight, gradient, state and copies, with their types; autocast changes none
of the first three. Per sample I count what the forward pass saves; autocast about halves it, but
for integers and for what is computed in FP32. All activations, or all gradients: the fuller of the
two is a lower bound of the peak, which lies in the backward pass between them. Checkpointing in √n
segments holds about 2√n layers of n, for at most a third more time, and gives the same bits. What
was saved is a larger batch, and I report it beside the speed.

## Where next

`12_bf16_fp8_fp4` has numbers of fewer bits still. `13_many_gpus` divides the ledger: ZeRO
gives each GPU a part of state, gradients and weights. If your training is slow rather than large,
`10_measuring_speed`.
"""
