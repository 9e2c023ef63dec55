# %% [markdown]
r"""
# How do scaling and master weights save training?

A network of 18 layers, three random starts, and nothing unusual about it. In FP32 it learns. In
FP16 its loss has not moved after 100 steps, without an error, a warning or a NaN. One
multiplication and one division later it learns as in FP32. With a small learning rate it all but
stops again, and this time the cure is another: a copy of the weights.

Here you build both cures. You need `01_floating_point` and `02_rounding`, and PyTorch only for
reading. There are six tasks. Plan an hour, or a little more; after `t05_3` is a good place for a
break. Everything is trained live on the CPU; with fewer than two free cores a training cell may
take ten seconds.

## Predict first

Put a guess in place of each `None`. Nobody grades them; the answers come at the end.

1. A loss scale of $2^{12}$ makes the weight updates how many times as large?
2. An FP16 weight of 1.0 gets $2^{-12}$ added in every step: how many until it moves?
3. FP16 with FP32 copies of the weights, by Adam: how many times FP32's memory?
4. Every weight is finite, the loss is NaN: a larger scale, a smaller, or neither?
"""

# %%
my_update = None  # 1: a factor
my_steps = None  # 2: steps
my_memory = None  # 3: a factor
my_cure = None  # 4: "larger", "smaller" or "neither"

# %% [markdown]
r"""
## A network that does not start

The images are FashionMNIST's, 2,000 of them, at 14 × 14 pixels. The network is as plain as can
be: 18 linear layers with ReLU, the weights as PyTorch draws them; the depth was found by trying.
Each arm gets 100 steps; with several times as many, FP16 started too in our runs, late.
Only the arithmetic differs between the two arms; the loss is computed in FP32 in both.
"""

# %% tags=["setup"]
import math
from typing import NamedTuple

import numpy as np

from ampcourse.courseware import check, inf, nan, task

# %% tags=["nbval-ignore-output"]
import torch

from ampcourse.amp.master_weights import MasterWeights
from ampcourse.plotting import show
from ampcourse.plotting.loss_curves import layer_zeros, loss_grid, scale_cliffs
from ampcourse.training.data import fashion_mnist
from ampcourse.training.half import Arm, HalfTraining, deep_net, gradient_damage, small_images

torch.set_num_threads(1)  # tensors as small as these take longer in two
images, labels = small_images(fashion_mnist(use="subset"))
print(len(images), "images of", tuple(images.shape[-2:]), "pixels; ln 10 =", round(math.log(10), 3))


# %% tags=["nbval-ignore-output"]
def train(arm, steps=100):
    """Train three networks from three seeds and print their losses over all images."""
    runs = [HalfTraining(arm, images, labels, seed).run(steps, 2e-3, look=10) for seed in range(3)]
    print(f"{arm.name:34} loss", *(f"{run.loss():.3f}" for run in runs))
    return runs


in_fp32 = train(Arm("FP32", dtype=torch.float32))

# %% tags=["nbval-ignore-output"]
alone = train(Arm("FP16"))

# %% [markdown]
r"""
A loss of $\ln 10 \approx 2.303$ is that of a blind guess among ten classes. What did the weights
get to learn from? Here is the share of zeros in the weight gradient of each layer, over the first
ten steps of the first seed:
"""

# %% tags=["nbval-ignore-output"]
zeros = {
    name: [sum(layer) / len(layer) for layer in zip(*runs[0].zeros, strict=True)]
    for name, runs in {"FP32": in_fp32, "FP16": alone}.items()
}
print("first layer:", {name: f"{share[0]:.0%}" for name, share in zeros.items()})
empty = sum(share > 0.99 for share in zeros["FP16"])
alt = f"""In FP16 the first {empty} layers have nothing but zeros, in FP32 the first
    has {zeros["FP32"][0]:.0%}. Toward the output the two lines come together."""
show(layer_zeros(zeros), alt=alt)

# %% [markdown]
r"""
In FP32 the zeros are true ones: units that ReLU had switched off. In FP16 the first layers have
nothing but zeros, most of them underflow: on its way back each layer makes the gradient less than
half as large. The smallest number of FP16 is $2^{-24}$, and what is at most half of that,
$2^{-25}$, becomes 0. The layers next to the images do not learn, so the others have little to work
with.

## The chain rule carries the factor

Multiply the loss $L$ by a number $S$, the **loss scale**. Then for any weight or activation $v$
$$\frac{\partial (S L)}{\partial v} = S \, \frac{\partial L}{\partial v}.$$
One multiplication at the end of the forward pass, and every gradient on the way back is $S$ times
as large and falls into the range of FP16. To multiply the gradients afterwards is too late: 0
times $S$ is 0. Here a gradient of $2^{-20}$ passes two weights of $2^{-3}$, in FP16:
"""

# %%
gradient, weights = 2.0**-20, (2.0**-3, 2.0**-3)
for scale in (1.0, 2.0**12):
    passed = np.float16(scale * gradient)
    for w in weights:
        passed = passed * np.float16(w)
    result = float(passed)
    print(f"scale {scale:4g}: arrives as {result:.3g}; divided by the scale {result / scale:.3g}")

# %% [markdown]
r"""
### t05_1 · Scaled backward, by hand

A network of two layers for one sample, in numpy, with $r(z) = \max(z, 0)$:
$$z = W_1 x, \quad a = r(z), \quad y = W_2 a, \quad L = \tfrac12 \textstyle\sum_i (y_i - t_i)^2.$$
Return the gradients of $W_1$ and $W_2$, `return grad1, grad2`, **still scaled**: what `.grad` holds
after `(scale * loss).backward()` in FP16. The inputs, the forward pass, the loss and the scale are
float64 and stay so; only gradients are rounded. Each gradient of the backward pass, that of $y$,
$a$, $z$, $W_2$ and $W_1$, is stored in FP16: pass it through `to16` once, when it has been
computed, and go on with the result. The first that is stored is that of $y$. Where $z$ is 0 or
less, ReLU passes 0, whatever arrives.

`np.outer(u, v)` has the elements $u_i v_j$. In this lesson solutions use numpy and `math`; `torch`
and the course's `ampcourse.amp` are for looking only: the grader refuses a solution that imports
them.
"""


# %% tags=["setup"]
def to16(values):
    """Round to FP16, once; the result is float64 again, for exact arithmetic."""
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float16).astype(np.float64)


def plain(arrays):
    """Return arrays as lists of floats, with one zero for both signs."""
    return [(np.asarray(array, np.float64) + 0.0).tolist() for array in arrays]


# %% task="t05_1" forbids=["ampcourse.amp", "torch"]
def scaled_backward(x, t, W1, W2, scale):
    """Return the gradients of scale * L for W1 and W2, each one on the way stored in FP16."""
    ### BEGIN SOLUTION
    z = W1 @ x
    a = np.maximum(z, 0)
    grad_y = to16(scale * (W2 @ a - t))
    grad2 = to16(np.outer(grad_y, a))
    grad_a = to16(W2.T @ grad_y)
    grad_z = to16(np.where(z > 0, grad_a, 0))
    return to16(np.outer(grad_z, x)), grad2
    ### END SOLUTION


# %% check="t05_1" points=5
with task("t05_1"):
    carried = "the factor goes in at the loss, and the chain rule carries it to both weights"
    stored = "each gradient on the way is stored in FP16, that of a as well"
    relu = "no gradient passes where z is 0 or less"
    exact = "the forward pass and the scale are not rounded: only gradients are stored in FP16"
    top = "what is too large for FP16 becomes inf, and stays inf on the way back"
    late = "the gradient was 0 before the scale met it: multiply before the first to16"
    twice = "the scale came in twice: once at the loss is enough, the chain rule does the rest"
    divided = "already divided by the scale: here the gradients are still scaled"
    one_layer = "only one of the two has the factor: W1 gets it through the gradient of a"
    transposed = "the way back goes through the transpose: element j of W2.T @ g sums over i"
    turned = "grad1 comes first and has the shape of W1"
    wrong_sign = "the gradient of y is y - t, not t - y"
    doubled = "twice too large: the 1/2 in L cancels the 2 of the square"
    averaged = "L is a sum over i, not a mean"
    turned_outer = "np.outer(u, v) has u down the rows: the gradient comes first"
    wide = "a gradient on the way kept more digits and range than FP16 has"
    kept_y = "the gradient of y was not stored in FP16 before it was used"
    kept_a = "the gradient of a was not stored in FP16 before it was used"
    kept_end = "what is returned is stored in FP16, too"
    forward16 = "the forward pass was rounded to FP16: here it is exact"
    scale16 = "the scale was rounded to FP16, where 2^17 is inf: round only its product"
    inputs16 = "x, a and the weights were rounded to FP16 on the way back: only gradients are"
    times_mask = "inf times 0 is NaN: choose 0 with np.where instead of multiplying by a mask"
    open_gate = "the gradient of a unit that ReLU switched off came through"
    at_zero = "at z = 0 torch's ReLU passes 0: the condition is z > 0"
    clipped = "FP16 does not stop at its largest number: from 65520 on it is inf"
    call = """
        W1, W2 = np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([[1.0, 2.0], [0.0, 1.0]])
        t = np.array([6.0 - 2.0**-26, 2.5 - 2.0**-25])
        return plain(scaled_backward(np.array([1.0, 2.0]), t, W1, W2, 2.0**12))
    """
    right = [[[1.0, 2.0], [4.0, 8.0]], [[1.0, 2.5], [2.0, 5.0]]]

    def t05_1_times(grads, first, second):
        """Return both gradients times a factor each."""
        pairs = zip(grads, (first, second), strict=True)
        return [[[factor * g for g in row] for row in grad] for grad, factor in pairs]

    unit = 2.0**-14
    traps = {
        late: t05_1_times(right, 0.0, 0.0),
        twice: t05_1_times(right, unit * 2**12, unit * 2**12),
        divided: t05_1_times(right, unit / 2**12, unit / 2**12),
        one_layer: t05_1_times(right, 0.0, unit),
        transposed: t05_1_times([[[5.0, 10.0], [2.0, 4.0]], right[1]], unit, unit),
        turned: t05_1_times(right[::-1], unit, unit),
        wrong_sign: t05_1_times(right, -unit, -unit),
        doubled: t05_1_times(right, 2 * unit, 2 * unit),
        averaged: t05_1_times(right, unit / 2, unit / 2),
        turned_outer: t05_1_times([[[1.0, 4.0], [2.0, 8.0]], [[1.0, 2.0], [2.5, 5.0]]], unit, unit),
        turned_outer + ", in W1": t05_1_times([[[1.0, 4.0], [2.0, 8.0]], right[1]], unit, unit),
        turned_outer + ", in W2": t05_1_times([right[0], [[1.0, 2.0], [2.5, 5.0]]], unit, unit),
    }
    check(call, t05_1_times(right, unit, unit), carried, traps)
    call = """
        nets = [
            (2.0, 64 - 2.0**-26, 4.0, 8.0), (2.0**14, 2.0**-14 - 2.0**-12, 2.0**-14, 2.0**-14),
            (1 + 2.0**-12, 2.0**-12, 1.0, 1.0),
        ]
        shaped = [([x], [t], [[W1]], [[W2]]) for x, t, W1, W2 in nets]
        grads = [scaled_backward(*map(np.array, net), 1.0) for net in shaped]
        return [[float(g[0][0]) for g in pair] for pair in grads]
    """
    fine = [0.0, 0.0], [0.0, 2.0**-12], [1.0, 1.0]
    longer, lost_y, lost_a = 1 + 2.0**-12, [2.0**-22, 2.0**-23], [2.0**-12] * 2
    traps = {
        kept_y: [lost_y, *fine[1:]],
        kept_a: [fine[0], lost_a, fine[2]],
        wide: [lost_y, lost_a, fine[2]],
        wide + ", or at its end": [lost_y, lost_a, [longer, longer]],
        kept_end: [*fine[:2], [longer, longer]],
        kept_end + ": that of W1": [*fine[:2], [longer, 1.0]],
        kept_end + ": that of W2": [*fine[:2], [1.0, longer]],
    }
    check(call, list(fine), stored, traps)
    call = """
        one, fine = np.array([[1.0]]), 2.0**-12
        runs = [
            (1 + fine, 1.0, 1.0, 2.0**12), (1.0, 1.0, 1 - 2.0**-20, 2.0**17),
            (1.0, 1 + 3 * fine, 3 * fine - 0.5, 1.0),
        ]
        shaped = [(one[0], np.array([t]), W1 * one, W2 * one, s) for W1, W2, t, s in runs]
        return [[float(g[0][0]) for g in scaled_backward(*run)] for run in shaped]
    """
    held = [1.0, 1.0], [0.125, 0.125], [1.5 + 2.0**-10, 1.5]
    turned_up = [1.5 + 2.0**-9, 1.5]
    traps = {
        forward16: [[0.0, 0.0], *held[1:]],
        scale16: [held[0], [inf, inf], held[2]],
        inputs16: [*held[:2], turned_up],
        forward16 + ", and so are its inputs": [[0.0, 0.0], held[1], turned_up],
    }
    check(call, list(held), exact, traps)
    call = """
        W1, W2 = np.array([[1.0], [-1.0], [0.0]]), np.array([[1.0, 1.0, 1.0]])
        return plain(scaled_backward(np.array([1.0]), np.array([0.75]), W1, W2, 4.0))
    """
    traps = {
        open_gate: [[[1.0], [1.0], [1.0]], [[1.0, 0.0, 0.0]]],
        at_zero: [[[1.0], [0.0], [1.0]], [[1.0, 0.0, 0.0]]],
        wrong_sign: [[[-1.0], [0.0], [0.0]], [[-1.0, 0.0, 0.0]]],
        doubled: [[[2.0], [0.0], [0.0]], [[2.0, 0.0, 0.0]]],
    }
    check(call, [[[1.0], [0.0], [0.0]], [[1.0, 0.0, 0.0]]], relu, traps)
    call = """
        one = np.array([[0.5]])
        return plain(scaled_backward(np.array([2.0]), np.array([-7.5]), one, one, 2.0**14))
    """
    traps = {clipped: [[[65504.0]], [[65504.0]]], wrong_sign: [[[-inf]], [[-inf]]]}
    check(call, [[[inf]], [[inf]]], top, traps)
    call = """
        W1, W2 = np.array([[0.5], [-0.5]]), np.array([[4.0, 4.0]])
        return plain(scaled_backward(np.array([2.0]), np.array([2.0]), W1, W2, 2.0**14))
    """
    last = [[2.0**15, 0.0]]
    traps = {times_mask: [[[inf], [nan]], last], open_gate: [[[inf], [inf]], last]}
    check(call, [[[inf], [0.0]], last], relu, traps)
    ### BEGIN HIDDEN TESTS
    import numpy as np
    import torch

    t05_1_rng = np.random.default_rng(501)

    def t05_1_oracle(net, scale):
        """Let torch's autograd do it in float64, with hooks that round to FP16."""
        x, t, w1, w2 = map(torch.tensor, net)
        w1.requires_grad_(), w2.requires_grad_()
        z = w1 @ x
        a = z.relu()
        y = w2 @ a
        for tensor in (z, a, y):
            tensor.register_hook(lambda g: g.half().double())
        (scale * (y - t).square().sum() / 2).backward()
        return [(g.half().double().numpy() + 0.0) for g in (w1.grad, w2.grad)]

    def t05_1_half(g):
        """Round to FP16."""
        with np.errstate(over="ignore"):
            return np.asarray(g).astype(np.float16).astype(float)

    def t05_1_variant(net, scale, kept="", factor=1.0, forward=np.asarray, partners=np.asarray):
        """Leave gradients unrounded, or round the forward pass or what gradients meet."""
        x, t, W1, W2 = net
        z = forward(W1 @ x)
        a = np.maximum(z, 0)
        start = factor * scale * (forward(W2 @ a) - t)
        grad_y = start if "y" in kept else t05_1_half(start)
        x, a, W2 = map(partners, (x, a, W2))
        grad_a = W2.T @ grad_y
        grad_z = np.where(z > 0, grad_a if "a" in kept else t05_1_half(grad_a), 0)
        pair = {"1": np.outer(grad_z, x), "2": np.outer(grad_y, a)}
        return [(g if name in kept else t05_1_half(g)) + 0.0 for name, g in pair.items()]

    def t05_1_kept(net, scale):
        """Return what comes of gradients that were not rounded, by cause."""
        causes = {wide: "ya", kept_y: "y", kept_a: "a", kept_end: "12"}
        causes |= {kept_end + ": that of W1": "1", kept_end + ": that of W2": "2"}
        return {hint: t05_1_variant(net, scale, kept) for hint, kept in causes.items()}

    def t05_1_net(inputs, hidden, outputs, error, signs=(-1, 1)):
        """Return dyadic x, t, W1, W2 whose y misses t by multiples of `error`."""
        x, W1, W2 = (
            t05_1_rng.integers(1, 8, shape) / 8 * t05_1_rng.choice(signs, shape)
            for shape in (inputs, (hidden, inputs), (outputs, hidden))
        )
        missed = error * t05_1_rng.integers(1, 16, outputs) * t05_1_rng.choice(signs, outputs)
        return x, W2 @ np.maximum(W1 @ x, 0) - missed, W1, W2

    def t05_1_check(net, scale, reason, traps):
        """Check one network; traps that agree with the right result, or another, name nothing."""
        right = [g.tolist() for g in t05_1_oracle(net, scale)]
        wrong = {hint: [np.asarray(g).tolist() for g in pair] for hint, pair in traps.items()}
        wrong = {
            hint: pair
            for hint, pair in wrong.items()
            if pair != right and list(wrong.values()).count(pair) == 1
        }
        names = zip(("x", "t", "W1", "W2"), net, strict=True)
        arrays = "\n".join(f"{name} = np.array({value.tolist()!r})" for name, value in names)
        text = f"{arrays}\nreturn plain(scaled_backward(x, t, W1, W2, {scale!r}))"
        check(text, right, reason, wrong)

    for sizes in ((3, 4, 2), (2, 3, 3), (4, 3, 1)):
        scale = 2.0 ** int(t05_1_rng.integers(11, 15))
        net = t05_1_net(*sizes, 2.0**-30, signs=(1,))
        first, second = t05_1_oracle(net, scale)
        before = t05_1_oracle(net, 1.0)
        traps = {
            late: [scale * g for g in before],
            twice: [scale * first, scale * second],
            divided: [first / scale, second / scale],
            one_layer: [before[0], second],
            turned: [second, first],
            turned_outer: [first.T, second.T],
            wrong_sign: t05_1_variant(net, scale, factor=-1.0),
            doubled: t05_1_variant(net, scale, factor=2.0),
            averaged: t05_1_variant(net, scale, factor=1 / sizes[2]),
            averaged + ", and has a 1/2": t05_1_variant(net, scale, factor=2 / sizes[2]),
        }
        t05_1_check(net, scale, carried, traps)
    for sizes in ((3, 4, 2), (2, 5, 3), (3, 6, 1)):
        # Gradients around the smallest numbers of FP16: three or four places are left of them.
        net = t05_1_net(*sizes, 2.0**-20)
        t05_1_check(net, 1.0, stored, t05_1_kept(net, 1.0))
        x, t, W1, W2 = t05_1_net(*sizes, 2.0**-8, signs=(1,))
        net = 2.0**12 * x, (t + 0.0), 2.0**-12 * W1, W2 * 2.0**-15
        net = net[0], net[3] @ np.maximum(net[2] @ net[0], 0) - 2.0**-9, net[2], net[3]
        for scale in (1.0, 64.0):
            t05_1_check(net, scale, stored, t05_1_kept(net, scale))
        net = list(t05_1_net(*sizes, 2.0**-6))
        net[2][0] = 0.0  # a unit at z = 0 whose weights have a gradient unless ReLU stops it
        net[2][1] = -np.sign(net[0]) / 4
        scale = 2.0 ** int(t05_1_rng.integers(3, 8))
        grad2 = t05_1_oracle(net, scale)[1]
        z = net[2] @ net[0]
        grad_y = scale * (net[3] @ np.maximum(z, 0) - net[1])
        through = {
            hint: [np.outer((net[3].T @ grad_y) * gate, net[0]) + 0.0, grad2]
            for hint, gate in ((open_gate, z == z), (at_zero, z >= 0))
        }
        t05_1_check(net, scale, relu, through)
        # Numbers of 14 bits: in FP16 z and y would miss by far more than the error.
        x, _, W1, W2 = (v + 2.0**-13 for v in t05_1_net(*sizes, 1.0, signs=(1,)))
        missed = 2.0**-20 * t05_1_rng.choice((5.0, 7.0, 11.0), len(W2))
        net = x, W2 @ (W1 @ x) - missed, W1, W2
        both = {"forward": t05_1_half, "partners": t05_1_half}
        traps = {
            forward16: t05_1_variant(net, 2.0**14, forward=t05_1_half),
            inputs16: t05_1_variant(net, 2.0**14, partners=t05_1_half),
            forward16 + ", and so are its inputs": t05_1_variant(net, 2.0**14, **both),
        }
        t05_1_check(net, 2.0**14, exact, traps)
        net = t05_1_net(*sizes, 2.0**-24, signs=(1,))
        t05_1_check(net, 2.0**17, exact, {scale16: t05_1_variant(net, inf)})
    for _ in range(3):
        net = t05_1_net(1, 1, 1, 2.0, signs=(1,))
        scale = 2.0 ** int(t05_1_rng.integers(16, 20))
        t05_1_check(net, scale, top, {clipped: [[[65504.0]], [[65504.0]]]})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Divide before the update

The optimizer must not notice the scale: a gradient that is 4,096 times too large makes an SGD
update that is 4,096 times too large. So before the update the gradients are divided by $S$, in
FP32. In FP16 that division would undo the rescue, as what comes out is below $2^{-25}$ again. A
power of two as a scale moves exponents only, so no digit changes on the way.
"""

# %%
w = torch.tensor([1.0, -2.0], requires_grad=True)
for scale in (1.0, 2.0**12):
    (scale * (w**2).sum()).backward()
    print(f"scale {scale:6g}: gradient {w.grad.tolist()}, unscaled {(w.grad / scale).tolist()}")
    w.grad = None

# %% [markdown]
r"""
How large may the scale be? Take one batch of our network at its start, and for each scale from
$2^0$ to $2^{24}$ count what FP16 makes of all its gradients.
"""

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
net, batch = deep_net().half(), (images[:64].half(), labels[:64])
damage = [(k, *gradient_damage(net, *batch, 2.0**k)) for k in range(25)]
for k, zero, lost in damage[::4]:
    print(f"2^{k:<2}  zeros {zero:6.1%}   inf or NaN {lost:6.2%}")
floor = min(zero for _, zero, lost in damage if not lost)
first = next(k for k, _, lost in damage if lost)
alt = f"""Zeros fall from {damage[0][1]:.0%} at scale 1 to {floor:.0%} and stay there. Infinities
    and NaN begin at 2^{first}, and at 2^{damage[-1][0]} they are {damage[-1][2]:.0%}."""
show(scale_cliffs(damage), alt=alt)

# %% [markdown]
r"""
Two cliffs with a plateau between them. On the left gradients vanish; the 48 % that stay are,
nearly all, true zeros. On the right the largest become infinite: at first one in ten thousand,
which the figure hides, but infinities meet on the way back as $\infty - \infty$ or
$0 \cdot \infty$, both NaN, and soon most gradients are lost. In between the zeros stay at 48 %,
yet not every scale is as good as another: a gradient under $2^{-14}$ is subnormal in FP16 and
carries fewer bits. How many are?
"""


# %% tags=["nbval-ignore-output"]
def nonzero_gradients(net, scale):
    """Return the sizes of the batch's gradients that are not 0, still scaled."""
    loss = torch.nn.functional.cross_entropy(net(batch[0]).float(), batch[1])
    parts = torch.autograd.grad(scale * loss, list(net.parameters()))
    sizes = torch.cat([part.flatten() for part in parts]).abs().float()
    return sizes[sizes > 0]


for k in (0, 4, 8, 12, 16):
    share = (nonzero_gradients(net, 2.0**k) < 2.0**-14).float().mean().item()
    print(f"2^{k:<2}  subnormal, of those that are not 0: {share:4.0%}")

# %% [markdown]
r"""
At $2^{12}$ hardly a zero is left that a larger scale could rescue, but most of the others are
still subnormal. That is a reason to go further up the plateau, as far as its right end allows.

A **static scale** is a number chosen on that plateau; published ones were from 8 to 32,768
(Micikevicius et al., ICLR 2018, 3.2). But gradients change during training, and the plateau moves.
Hence the question that follows each backward pass: is anything inf or NaN? If so, the step is
skipped. A conversion to FP32 does not repair it: inf in FP16 is inf in FP32.

### t05_2 · Unscale, and look for inf and NaN

`gradients` is a list of numpy arrays in FP16. Return two things, `return unscaled, found`:
the list of the same arrays in FP32 (`np.float32`), divided by the scale, which is a power of two,
and whether *any* element of any of them is inf, -inf or NaN. Such elements are not repaired: they
stay what they are. All that is finite in FP16 counts as finite, however large.
"""


# %% tags=["setup"]
def described(result):
    """Return the types and values of unscaled arrays, and what was found."""
    unscaled, found = result
    return [str(g.dtype) for g in unscaled], [(g + 0).tolist() for g in unscaled], found


# %% task="t05_2" forbids=["ampcourse.amp", "torch"]
def unscale(gradients, scale):
    """Return the gradients divided by the scale, in FP32, and whether one is inf or NaN."""
    ### BEGIN SOLUTION
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
    ### END SOLUTION


# %% check="t05_2" points=5
with task("t05_2"):
    in_fp32_reason = "convert to FP32 first, then divide: the result has the type float32"
    each_kind = "inf, -inf and NaN all count, anything finite does not"
    each_array = "look into every element of every array"
    no_alarm = "gradients that are large but finite are fine"
    untouched = "what is inf or NaN stays so: the step is skipped, nothing is repaired"
    in_fp16 = "divided in FP16, where what the scale had rescued is lost again"
    left_in_fp16 = "divided in FP16 and left there: the optimizer's gradients are FP32"
    multiplied = "multiplied by the scale once more: it has to be divided out"
    not_divided = "still scaled: the scale must not change the update"
    no_nan = "NaN was missed: it is not inf, and any comparison with it is false"
    one_side = "-inf and NaN were missed: compare |g|, or ask for isfinite"
    undone = "converting to FP32 undoes no overflow: inf stays inf"
    all_bad = "`all` asks whether every element is bad: one is enough"
    one_element = "one element of an array is not all of it"
    unseen = "the arrays are right, but what is inf or NaN in them went unnoticed"
    only_first = "the first array is not all of them"
    only_last = "the flag of the last array overwrote the others"
    overflowing = "a false alarm: a sum or square in FP16 overflows though each number is finite"
    largest_is_inf = "65504 is FP16's largest number, and finite"
    inverted = "upside down: `found` is True when something is inf or NaN"
    zeroed = "setting it to 0 hides the overflow: the weights would move by the rest alone"
    hidden = "replaced by a large number: nan_to_num hides what must be seen"
    scale16 = "the scale was rounded to FP16, where from 2^16 on it is inf"
    inverse16 = "1 / scale was rounded to FP16, where 2^-25 is 0: round it to FP32"
    call = "described(unscale([np.array([2.0**-24, -1.5], np.float16)], 2.0**12))"
    small = (["float32"], [[2.0**-36, -1.5 * 2.0**-12]], False)
    traps = {
        in_fp16: (["float32"], [[0.0, -1.5 * 2.0**-12]], False),
        multiplied: (["float32"], [[2.0**-12, -1.5 * 2.0**12]], False),
        not_divided: (["float32"], [[2.0**-24, -1.5]], False),
    }
    traps |= {left_in_fp16: (["float16"], [[0.0, -1.5 * 2.0**-12]], False)}
    traps |= {inverted: (["float32"], small[1], True)}
    check(call, small, in_fp32_reason, traps)
    call = """
        array = np.array([1.0, -3.0], np.float16)
        return [described(unscale([array], 2.0**k))[:2] for k in (18, 25)]
    """
    right = [(["float32"], [[2.0**-k, -3 * 2.0**-k]]) for k in (18, 25)]
    none_left = (["float32"], [[0.0, 0.0]])
    traps = {scale16: [none_left, none_left], inverse16: [right[0], none_left]}
    check(call, right, in_fp32_reason, traps)
    kinds = "([1.0, inf], [-inf, 1.0], [nan], [0.0, 65504.0])"
    call = f"[bool(unscale([np.array(g, np.float16)], 1024.0)[1]) for g in {kinds}]"
    traps = {
        no_nan: [True, True, False, False],
        one_side: [True, False, False, False],
        undone: [False, False, False, False],
        all_bad: [False, False, True, False],
        one_element: [False, True, True, False],
        one_element + ", nor is the last": [True, False, True, False],
        inverted: [False, False, False, True],
    }
    check(call, [True, True, True, False], each_kind, traps)
    call = """
        good, bad = np.ones((2, 2), np.float16), np.array([nan, 1.0, inf], np.float16)
        lists = [good, bad], [bad, good], [good, good], [bad[:1]]
        return [bool(unscale(list(gradients), 2.0)[1]) for gradients in lists]
    """
    traps = {
        only_first: [False, True, False, True],
        only_last: [True, False, False, True],
        undone: [False, False, False, False],
        all_bad: [False, False, False, True],
        inverted: [False, False, True, False],
    }
    check(call, [True, True, False, True], each_array, traps)
    many = "([60000.0, 60000.0, -300.0], [-65504.0], [1.0])"
    call = f"[bool(unscale([np.array(g, np.float16)], 2.0**16)[1]) for g in {many}]"
    traps = {
        overflowing: [True, False, False],
        overflowing + ", as each square does": [True, True, False],
        largest_is_inf: [False, True, False],
        inverted: [True, True, True],
    }
    check(call, [False, False, False], no_alarm, traps)
    call = "described(unscale([np.array([inf, 2.0, nan], np.float16)], 2.0))[1:]"
    largest = float.fromhex("0x1.fffffep+127")
    traps = {
        zeroed: ([[0.0, 1.0, 0.0]], True),
        hidden: ([[largest / 2, 1.0, 0.0]], True),
        undone: ([[largest / 2, 1.0, 0.0]], False),
        unseen: ([[inf, 1.0, nan]], False),
    }
    check(call, ([[inf, 1.0, nan]], True), untouched, traps)
    ### BEGIN HIDDEN TESTS
    import numpy as np
    import torch

    t05_2_rng = np.random.default_rng(502)

    def t05_2_oracle(arrays, scale):
        """Ask the kernel that torch's GradScaler uses, on float32 copies."""
        tensors = [torch.tensor(array).half().float() for array in arrays]
        found = torch.zeros(1)
        inverse = torch.tensor([1 / scale])
        torch._amp_foreach_non_finite_check_and_unscale_(tensors, found, inverse)
        return [(tensor.numpy() + 0).tolist() for tensor in tensors], bool(found.item())

    def t05_2_check(arrays, scale, reason, traps, what="described({call})"):
        """Check the types, values and flag, or what the call is wrapped into."""
        values, found = t05_2_oracle(arrays, scale)
        listed = ", ".join(f"np.array({array!r}, np.float16)" for array in arrays)
        right = {
            "described({call})": (["float32"] * len(arrays), values, found),
            "described({call})[1:]": (values, found),
            "bool({call}[1])": found,
        }[what]
        check(what.format(call=f"unscale([{listed}], {scale!r})"), right, reason, traps)

    for shape in ((5,), (3, 2)):
        for _ in range(2):
            scale = 2.0 ** int(t05_2_rng.integers(10, 15))
            exponents = t05_2_rng.integers(-24, -14, shape)
            array = t05_2_rng.choice((-1.0, 1.0), shape) * 2.0**exponents
            halves = (array.astype(np.float16) / np.float16(scale)).astype(np.float32) + 0
            traps = {
                in_fp16: (["float32"], [halves.tolist()], False),
                left_in_fp16: (["float16"], [halves.tolist()], False),
                multiplied: (["float32"], [(array * scale).tolist()], False),
                not_divided: (["float32"], [array.tolist()], False),
            }
            t05_2_check([array.tolist()], scale, in_fp32_reason, traps)
    # Scales that FP16 itself does not have, and scales whose inverse it does not have either.
    for exponents, cause in (((17, 18, 20, 24), scale16), ((25, 27, 30), inverse16)):
        for exponent in exponents:
            array = t05_2_rng.choice((-1.0, 1.0), 3) * 2.0 ** t05_2_rng.integers(-9, 9, 3)
            traps = {cause: (["float32"], [[0.0, 0.0, 0.0]], False)}
            t05_2_check([array.tolist()], 2.0**exponent, in_fp32_reason, traps)
    for bad, missed in ((inf, undone), (-inf, one_side), (nan, no_nan)):
        for size in (1, 7):
            array = t05_2_rng.integers(-9, 9, size).astype(float).tolist()
            array[int(t05_2_rng.integers(size))] = bad
            t05_2_check([array], 4.0, each_kind, {missed: False}, "bool({call}[1])")
    for bad in (inf, nan):
        # Found at the start of an array only if that is the middle one, so that each cause of
        # missing it answers in its own way.
        calls, right = [], []
        for place, index in enumerate((1, 0, 2)):
            arrays = [t05_2_rng.integers(-9, 9, 4).astype(float).tolist() for _ in range(3)]
            arrays[place][index] = bad
            listed = ", ".join(f"np.array({array!r}, np.float16)" for array in arrays)
            calls.append(f"bool(unscale([{listed}], 8.0)[1])")
            right.append(t05_2_oracle(arrays, 8.0)[1])
        traps = {
            only_first: [True, False, False],
            only_last: [False, False, True],
            one_element: [False, True, False],
        }
        check(f"[{', '.join(calls)}]", right, each_array, traps)
    for turn in range(3):
        many = [[65504.0] * 9, [300.0, -400.0, 500.0], [-65504.0], [40000.0] * 2, [2.0]]
        many = many[turn:] + many[:turn]
        squares = [abs(array[0]) > 255 for array in many]
        traps = {
            overflowing: [
                len(array) > 1 and squared and min(array) > 0
                for array, squared in zip(many, squares, strict=True)
            ],
            overflowing + ", as each square does": squares,
            largest_is_inf: [abs(array[0]) == 65504 for array in many],
            inverted: [True] * 5,
        }
        right = [t05_2_oracle([array], 1.0)[1] for array in many]
        call = f"[bool(unscale([np.array(g, np.float16)], 1.0)[1]) for g in {many!r}]"
        check(call, right, no_alarm, traps)
    for array in ([nan, -4.0], [8.0, -inf, 1.0], [inf, inf]):
        cured = np.nan_to_num(np.array(array, np.float32)) / np.float32(4)
        hidden_values = [cured.tolist()]
        traps = {
            zeroed: ([[0.0 if x != x or abs(x) == inf else x / 4 for x in array]], True),
            hidden: (hidden_values, True),
            undone: (hidden_values, False),
        }
        if array[0] != array[0]:
            traps = {zeroed: traps[zeroed], undone: traps[undone]}
        t05_2_check([array], 4.0, untouched, traps, "described({call})[1:]")
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## The copy: FP32 master weights

The second cure is a copy of the weights in FP32, the **master weights**. The optimizer works on
the copy alone, and so do its momentum and its weight decay; the FP16 weights of the model are the
copy, rounded, after each step. One step of the whole recipe:

1. forward in FP16, loss in FP32, times $S$; backward in FP16;
2. gradients to FP32, divided by $S$; inf or NaN: skip the rest;
3. the optimizer updates the master in FP32;
4. the master, rounded, becomes the FP16 weight.

### t05_3 · SGD on the master

Do steps 3 and 4 for SGD with momentum and weight decay, as `torch.optim.SGD` defines them: with
weight $w$, gradient $g$, decay $\lambda$, momentum $\mu$, learning rate $\eta$ and a buffer $b$
that starts at 0,
$$g \leftarrow g + \lambda w, \qquad b \leftarrow \mu b + g, \qquad w \leftarrow w - \eta b.$$
`master`, `buffer` and `gradient` are FP32 arrays, the gradient unscaled; `lr`, `momentum` and
`weight_decay` are Python's floats, such as 0.3, which FP16 does not have. Nothing is rounded to
FP16 but the weight. Return the new FP16 weight, master and buffer: `return weight, master, buffer`.
"""


# %% tags=["setup"]
def run_steps(step, start, gradients, **options):
    """Take one step per gradient; return weight, master and buffer as (type, values)."""
    weight, master = None, np.array(start, np.float32)
    buffer = np.zeros_like(master)
    for gradient in gradients:
        new = np.array(gradient, np.float32)
        weight, master, buffer = step(master, buffer, new, **options)
    return [(str(a.dtype), (a + 0).tolist()) for a in (weight, master, buffer)]


# %% task="t05_3" forbids=["ampcourse.amp", "torch"]
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    """Return the FP16 weight, the FP32 master and the FP32 buffer after one SGD step."""
    ### BEGIN SOLUTION
    gradient = gradient + np.float32(weight_decay) * master
    buffer = np.float32(momentum) * buffer + gradient
    master = master - np.float32(lr) * buffer
    return master.astype(np.float16), master, buffer
    ### END SOLUTION


# %% check="t05_3" points=5
with task("t05_3"):
    copied = "the weight is the master rounded to FP16, and the master keeps what FP16 lacks"
    pushed = "momentum as in torch.optim.SGD: b = momentum * b + g, and the step is lr * b"
    decayed = "weight decay adds weight_decay times the master to the gradient"
    lost_master = (
        "the master was rounded to FP16: what the weight cannot hold must stay in the copy"
    )
    fp16_weight = "the update was added to the FP16 weight: the copy must remember it"
    not_rounded = "the model's weight has the type float16"
    dampened = "(1 - momentum) * g is another rule: torch's default has no dampening"
    rate_inside = "torch keeps the learning rate out of the buffer"
    old_buffer = "the step uses the buffer that already has the new gradient"
    nesterov = "that is Nesterov's variant: the plain step is lr * b"
    fp16_buffer = "the buffer was kept in FP16: momentum belongs to the master, in FP32"
    wide = "the result has the type float64: master and buffer have the type float32"
    fp16_decay = "the decay was taken from the FP16 weight: it belongs to the master"
    decoupled = "decay beside the momentum is AdamW's rule: here it goes through the buffer"
    wrong_way = "decay pulls towards 0: it is added to the gradient, which is then subtracted"
    fp16_gradient = "the gradient was rounded to FP16: unscaled, it needs the digits of FP32"
    digits = "learning rate, momentum and decay are no FP16 numbers: FP32 keeps their digits"
    no_digits = "learning rate, momentum and decay were all rounded to FP16"
    fp16_lr = "the learning rate was rounded to FP16, where 0.3 is 0.300049"
    fp16_momentum = "the momentum was rounded to FP16, where 0.9 is 0.899902"
    fp16_factor = "the factor of the decay was rounded to FP16, where 0.1 is 0.099976"
    call = """
        options = dict(lr=1.0, momentum=0.0, weight_decay=0.0)
        return run_steps(master_step, [1.0], [[-(2.0**-12)]] * 3, **options)[:2]
    """
    one_up = 1 + 2.0**-10
    traps = {
        fp16_weight: [("float16", [1.0]), ("float32", [1.0])],
        lost_master: [("float16", [1.0]), ("float16", [1.0])],
        not_rounded: [("float32", [1 + 3 * 2.0**-12])] * 2,
        wide: [("float16", [one_up]), ("float64", [1 + 3 * 2.0**-12])],
    }
    right = [("float16", [one_up]), ("float32", [1 + 3 * 2.0**-12])]
    check(call, right, copied, traps)
    call = """
        options = dict(lr=0.25, momentum=0.5, weight_decay=0.0)
        return run_steps(master_step, [1.0], [[1 + 2.0**-12], [2.0**-12]], **options)[1:]
    """

    def t05_3_end(master, buffer, kind="float32"):
        """Return what run_steps says of a master and a buffer of one element."""
        return [("float32", [master]), (kind, [buffer])]

    tiny = 2.0**-12
    traps = {
        dampened: t05_3_end(0.8125 - 0.3125 * tiny, 0.25 + 0.75 * tiny),
        rate_inside: t05_3_end(0.625 - 0.625 * tiny, 0.125 + 0.375 * tiny),
        old_buffer: t05_3_end(0.75 - 0.25 * tiny, 0.5 + 1.5 * tiny),
        nesterov: t05_3_end(0.5625 - 0.8125 * tiny, 0.5 + 1.5 * tiny),
        fp16_gradient: t05_3_end(0.625 - 0.25 * tiny, 0.5 + tiny),
        fp16_buffer: t05_3_end(0.625, 0.5, "float16"),
        fp16_buffer + ", whatever its type": t05_3_end(0.625, 0.5),
        wide: [("float64", [0.625 - 0.625 * tiny]), ("float64", [0.5 + 1.5 * tiny])],
    }
    check(call, t05_3_end(0.625 - 0.625 * tiny, 0.5 + 1.5 * tiny), pushed, traps)
    call = """
        options = dict(lr=0.5, momentum=0.5, weight_decay=0.25)
        return run_steps(master_step, [1 + 2.0**-12], [[2.0**-13], [0.0]], **options)[1:]
    """
    traps = {
        fp16_decay: t05_3_end(0.703125 + 0.625 * tiny, 0.34375 + 0.25 * tiny),
        fp16_gradient + ", decay and all": t05_3_end(0.703125 + 0.25 * tiny, 0.34375 + 0.5 * tiny),
        fp16_buffer: t05_3_end(0.703125, 0.34375 + tiny),
        fp16_buffer + ", and left so": t05_3_end(0.703125, 0.34375 + tiny, "float16"),
        decoupled: t05_3_end(0.765625 + 0.421875 * tiny, 0.25 * tiny),
        wrong_way: t05_3_end(1.328125 + 0.921875 * tiny, -0.40625 - 0.09375 * tiny),
    }
    right = t05_3_end(0.703125 + 0.359375 * tiny, 0.34375 + 0.53125 * tiny)
    check(call, right, decayed, traps)
    call = """
        one, plain = [[2.0**-16], [0.0]], dict(lr=1.0, momentum=0.0, weight_decay=0.0)
        rate = run_steps(master_step, [0.0], one, **plain | dict(lr=0.3))[1]
        push = run_steps(master_step, [0.0], one, **plain | dict(momentum=0.9))[2]
        pull = run_steps(master_step, [2.0**-16], one[1:], **plain | dict(weight_decay=0.1))[2]
        return [round(found[1][0] * 2.0**16, 6) for found in (rate, push, pull)]
    """
    traps = {
        fp16_lr: [-0.300049, 0.9, 0.1],
        fp16_momentum: [-0.3, 0.899902, 0.1],
        fp16_factor: [-0.3, 0.9, 0.099976],
        no_digits: [-0.300049, 0.899902, 0.099976],
    }
    check(call, [-0.3, 0.9, 0.1], digits, traps)
    ### BEGIN HIDDEN TESTS
    import numpy as np
    import torch

    t05_3_rng = np.random.default_rng(503)

    def t05_3_oracle(start, gradients, **options):
        """Let torch.optim.SGD do it in float64; the values are such that FP32 rounds nothing."""
        weight = torch.nn.Parameter(torch.tensor(start, dtype=torch.float64))
        sgd = torch.optim.SGD([weight], **options)
        for gradient in gradients:
            weight.grad = torch.tensor(gradient, dtype=torch.float64)
            sgd.step()
        buffer = sgd.state[weight].get("momentum_buffer", weight.grad)
        if not options["momentum"]:
            buffer = None
        found = [weight.detach().numpy()] + ([] if buffer is None else [buffer.numpy()])
        for array in found:
            if not np.array_equal(array, array.astype(np.float32)):
                raise AssertionError("choose values that FP32 holds")
        return [("float32", (array + 0).tolist()) for array in found]

    t05_3_rules = {  # (master, buffer, gradient, lr, momentum, decay) → the new master, buffer
        dampened: lambda w, b, g, r, m, d: (
            w - r * (m * b + (1 - m) * (g + d * w)), m * b + (1 - m) * (g + d * w)
        ),
        rate_inside: lambda w, b, g, r, m, d: (
            w - (m * b + r * (g + d * w)), m * b + r * (g + d * w)
        ),
        old_buffer: lambda w, b, g, r, m, d: (w - r * b, m * b + g + d * w),
        nesterov: lambda w, b, g, r, m, d: (
            w - r * (g + d * w + m * (m * b + g + d * w)), m * b + g + d * w
        ),
        decoupled: lambda w, b, g, r, m, d: (w - r * d * w - r * (m * b + g), m * b + g),
        wrong_way: lambda w, b, g, r, m, d: (w - r * (m * b + g - d * w), m * b + g - d * w),
        fp16_decay: lambda w, b, g, r, m, d: (
            w - r * (m * b + g + d * t05_3_half(w)), m * b + g + d * t05_3_half(w)
        ),
        fp16_gradient: lambda w, b, g, r, m, d: (
            w - r * (m * b + t05_3_half(g) + d * w), m * b + t05_3_half(g) + d * w
        ),
        fp16_buffer: lambda w, b, g, r, m, d: (
            w - r * t05_3_half(m * b + g + d * w), t05_3_half(m * b + g + d * w)
        ),
        fp16_weight: lambda w, b, g, r, m, d: (
            t05_3_half(w) - r * (m * b + g + d * t05_3_half(w)), m * b + g + d * t05_3_half(w)
        ),
    }  # fmt: skip

    def t05_3_half(w):
        """Round to FP16."""
        return w.astype(np.float16).astype(float)

    def t05_3_wrong(rule, start, gradients, lr, momentum, weight_decay):
        """Return what a rule makes of the same steps."""
        w, b = np.array(start), np.zeros(len(start))
        for gradient in gradients:
            w, b = rule(w, b, np.array(gradient), lr, momentum, weight_decay)
        return [("float32", (array.astype(np.float32) + 0).tolist()) for array in (w, b)]

    def t05_3_check(start, gradients, reason, hints, part, **options):
        """Check the master and what `part` cuts out of the results."""
        right = t05_3_oracle(start, gradients, **options)
        master = np.array(right[0][1])
        weight = ("float16", (master.astype(np.float16) + 0).tolist())
        right = [weight, *right][1:] if part == "[1:]" else [weight, *right[:1]]
        traps = {}
        for hint in hints:
            wrong = t05_3_wrong(t05_3_rules[hint], start, gradients, *options.values())
            if part == "[:2]":
                rounded = np.array(wrong[0][1]).astype(np.float16) + 0
                wrong = [("float16", rounded.tolist()), wrong[0]]
            if wrong != right and wrong not in traps.values():
                traps[hint] = wrong
        if part == "[:2]":
            traps[not_rounded] = [right[1], right[1]]
            traps[lost_master] = [weight, weight]
        text = ", ".join(f"{name}={value!r}" for name, value in options.items())
        call = f"run_steps(master_step, {start!r}, {gradients!r}, {text}){part}"
        check(call, right, reason, traps)

    for steps, momentum in ((5, 0.0), (7, 0.0), (3, 0.5)):
        # Every update is a quarter of an ulp or less: only a copy in FP32 remembers it.
        start = (1 + t05_3_rng.integers(0, 512, 3) / 1024).tolist()
        signs = t05_3_rng.choice((-1.0, 1.0), 3)
        gradients = [(signs * 2.0**-12).tolist()] * steps
        options = {"lr": 1.0, "momentum": momentum, "weight_decay": 0.0}
        t05_3_check(start, gradients, copied, [fp16_weight], "[:2]", **options)
    for _ in range(3):
        start = (t05_3_rng.integers(-64, 64, 3) / 64).tolist()
        gradients = [(t05_3_rng.integers(-4095, 4096, 3) / 4096).tolist() for _ in range(3)]
        options = {"lr": float(t05_3_rng.choice((0.25, 0.125))), "momentum": 0.5}
        hints = [dampened, rate_inside, old_buffer, nesterov, fp16_gradient, fp16_buffer]
        t05_3_check(start, gradients, pushed, hints, "[1:]", weight_decay=0.0, **options)
    for momentum in (0.5, 0.25):
        start = (t05_3_rng.integers(2048, 4096, 3) / 2048 + 2.0**-12).tolist()
        gradients = [(t05_3_rng.integers(-16, 16, 3) / 16).tolist() for _ in range(2)]
        options = {"lr": 0.5, "momentum": momentum, "weight_decay": 0.125}
        hints = [decoupled, wrong_way, fp16_decay, fp16_buffer, old_buffer]
        t05_3_check(start, gradients, decayed, hints, "[1:]", **options)

    def t05_3_sgd(start, gradients, **options):
        """Let torch.optim.SGD do it in FP32."""
        weight = torch.nn.Parameter(torch.tensor(start, dtype=torch.float32))
        sgd = torch.optim.SGD([weight], **options)
        for gradient in gradients:
            weight.grad = torch.tensor(gradient, dtype=torch.float32)
            sgd.step()
        buffer = sgd.state[weight].get("momentum_buffer", weight)
        arrays = [tensor.detach().numpy() + 0 for tensor in (weight, buffer)]
        return [("float32", array.tolist()) for array in arrays]

    # Factors that FP16 rounds. Each meets a power of two alone, so that whoever computes in FP32
    # or in float64 rounds the product once, to the same number; a small one, so that FP16 would
    # give its product other bits than the product with the factor in FP16 has.
    for factor in (0.3, 0.1, 0.7, 0.003, 0.9, 1e-3):
        one = (t05_3_rng.choice((-1.0, 1.0), 3) * 2.0 ** t05_3_rng.integers(-18, -14, 3)).tolist()
        none, zero = [0.0] * 3, {"lr": 1.0, "momentum": 0.0, "weight_decay": 0.0}
        runs = {
            fp16_lr: (none, [one], zero | {"lr": factor}, 1),
            fp16_momentum: (none, [one, none], zero | {"momentum": factor}, 2),
            # Only with momentum does torch's SGD keep what it added the decay to.
            fp16_factor: (one, [none], zero | {"momentum": 0.5, "weight_decay": factor}, 2),
        }
        for hint, (start, gradients, options, part) in runs.items():
            text = ", ".join(f"{name}={value!r}" for name, value in options.items())
            call = f"run_steps(master_step, {start!r}, {gradients!r}, {text})[{part}]"
            halves = {name: float(np.float16(value)) for name, value in options.items()}
            right, wrong = (t05_3_sgd(start, gradients, **o)[part - 1] for o in (options, halves))
            if right == wrong:
                raise AssertionError("choose a factor that FP16 lacks")
            check(call, right, digits, {hint: wrong})
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Two cures, four arms

Now the experiment: scale 1 or $2^{12}$, with masters or without, three seeds each. Adam computes
in FP32 in all of them; without masters the copy is set back to the FP16 weight after every step,
so that it remembers nothing. The scale is static, and nobody looks for inf or NaN: no step is
skipped. One arm you have seen: the FP16 run at the beginning had scale 1, and masters. What do you
expect of the others?
"""

# %% tags=["nbval-ignore-output"]
no_copy = train(Arm("scale 1, no masters", 1, master=False))

# %% tags=["nbval-ignore-output"]
scaled_no_copy = train(Arm("scale 2^12, no masters", 2.0**12, master=False))

# %% tags=["nbval-ignore-output"]
scaled = train(Arm("scale 2^12, masters", 2.0**12))


# %%
def smooth(losses, width=10):
    """Return each step's mean over the last `width` steps."""
    rows = [losses[max(0, k - width) : k] for k in range(1, len(losses) + 1)]
    return [sum(row) / len(row) for row in rows]


# %% tags=["nbval-ignore-output"]
arms = {"scale 1, no masters": no_copy, "scale 1, masters": alone}
arms |= {"scale 2^12, no masters": scaled_no_copy, "scale 2^12, masters": scaled}
panels = {name: [smooth(run.losses) for run in runs] for name, runs in arms.items()}
in_fp32_mean = [sum(row) / len(row) for row in zip(*[run.losses for run in in_fp32], strict=True)]
ends = {name: [f"{run[-1]:.2f}" for run in runs] for name, runs in panels.items()}
ends["the mean of FP32, in grey"] = [f"{smooth(in_fp32_mean)[-1]:.2f}"]
parts = "; ".join(f"{name}: {', '.join(losses)}" for name, losses in ends.items())
show(loss_grid(panels, [smooth(in_fp32_mean)]), alt=f"Four panels. The loss ends at {parts}.")

# %% [markdown]
r"""
One line per seed, in grey the mean of the FP32 runs; each point is a mean over ten steps. The rows
decide, the columns do not: here the scale is what matters. Masters cannot bring back a gradient
that is 0. Here are the zeros in the gradient of the first layer:
"""

# %% tags=["nbval-ignore-output"]
for name, runs in {"FP32": in_fp32, **arms}.items():
    first = [sum(step[0] for step in run.zeros) / len(run.zeros) for run in runs]
    print(f"{name:24} zeros:", *(f"{share:5.1%}" for share in first))

# %% [markdown]
r"""
Are masters of no use, then? With a learning rate of 0.002 the updates are large against the
weights. Let us go on from the networks that have learned, twice from the same weights: with
masters and without, at a learning rate 400 times smaller, as at the end of a schedule.
"""

# %% tags=["nbval-ignore-output"]
for seed, run in enumerate(scaled):
    gains = []
    for master in (False, True):
        more = run.fork(master).run(40, 5e-6, look=10)
        kept = sum(more.unmoved) / len(more.unmoved)
        gains.append(run.loss() - more.loss())
        name = "masters" if master else "no masters"
        line = f"seed {seed}, {name:10}  too small for FP16: {kept:.0%}"
        print(f"{line}  loss falls by {gains[-1]:.4f}")
    print(f"        with masters {gains[1] / gains[0]:.1f} times as far")

# %% [markdown]
r"""
About nine of ten updates are too small to move their FP16 weight. Without a copy they are lost;
with one they add up, and the loss falls several times as far: the last line for each seed says how
many. So each cure has its own sign: zeros in the gradients call for a scale, updates that move
nothing call for masters.

Now try a scale of your own. In the figure of the cliffs $2^{18}$ was on the plateau:
"""

# %% tags=["nbval-ignore-output"]
exponent = 18
trial = HalfTraining(Arm("trial", 2.0**exponent), images, labels).run(100, 2e-3)
gone = [step for step, loss in enumerate(trial.losses) if math.isnan(loss)]
print("first NaN at step", gone[0] if gone else None, "  loss at the end", round(trial.loss(), 3))

# %% [markdown]
r"""
When the network begins to learn, its gradients grow, and the plateau of its start is no longer
theirs. A static scale is followed by a step whatever comes, and one inf soon makes every weight
NaN. Lower `exponent` and run the cell again, until the run survives. How far you have to go depends
on the seed, and on the CPU too: $2^{16}$ survived on one of ours and not on another. The growth, on
one batch of each of the networks that learned at $2^{12}$:
"""

# %% tags=["nbval-ignore-output"]
for seed, run in enumerate(scaled):
    start = HalfTraining(run.arm, images, labels, seed).model
    first, last = (nonzero_gradients(m, 2.0**12).max().item() / 2**12 for m in (start, run.model))
    print(f"seed {seed}: largest gradient {first:.2f}, after training {last:.2f}")

# %% [markdown]
r"""

### t05_4 · Why 1 + 2⁻¹² never trains

A weight `w`, an FP16 number, gets the same `update` in every step, a float above or below 0. After
how many steps does the FP16 weight differ from its start for the first time? Return two answers,
`return without, with_master`:

- without a copy, each step adds in FP16: the exact sum of weight and update is rounded, and the
  result is the next weight; `inf` if the weight never changes;
- with a master that starts at `w` and holds all sums exactly, the weight is the rounded master.
  The sums asked for here are exact in float64; FP32 would round some of them.

`to16` rounds to FP16. Of two equally near numbers it takes the one with the even code
(`02_rounding`). No sum overflows, and the second answer is at most 5,000.
"""


# %% task="t05_4" forbids=["ampcourse.amp", "torch"]
def steps_to_move(w, update):
    """Return the steps until the FP16 weight changes, without a master and with one."""
    ### BEGIN SOLUTION
    steps = 1
    while to16(w + steps * update) == w:
        steps += 1
    return (1 if steps == 1 else inf), steps
    ### END SOLUTION


# %% check="t05_4" points=4
with task("t05_4"):
    summed = "the master adds up, and its weight changes once the sum is past half a gap"
    forgotten = "without a copy every step is the first: it moves the weight, or none ever does"
    tie = "on a tie the even code wins: from an even weight one step more is needed"
    below = "downwards from a power of two the gap is half as wide"
    near_zero = "at 0 and below 2^-14 the gap is 2^-24 wide"
    exact = "this master holds every sum exactly, with more digits than FP32 has"
    once = "only the sum is rounded: the update keeps all its digits until it is added"
    patient = "the second answer can be in the thousands: the sum goes on until the weight moves"
    adds_up = "without a copy nothing adds up: what an addition loses is gone"
    tie_moves = "half a gap exactly does not move an even weight"
    tie_stays = "half a gap exactly moves an odd weight: the tie leaves it"
    whole = "half a gap is enough: the nearest number wins"
    same_gap = "the 2048 rule is for updates upwards: below a power of two the gap is half as wide"
    upward_only = "an update below 0 moves the weight too, downwards"
    no_master = "that copy is in FP16 too: the master holds the sums exactly"
    eps_only = "the gap beside w is not 2^-10 times w, and at 0 it is not 0"
    fp32_copy = "a master in FP32 rounds these sums: add them in float64, or as fractions"
    rounded_update = "the update was rounded to FP16 before it was added"
    rounded_twice = "both arms rounded the update to FP16: only their sums are to be rounded"
    cut_short = "the count stopped too early: up to 5,000 steps are possible"
    pair = "[float(n) for n in steps_to_move({w!r}, {update!r})]"
    call = pair.format(w=1.5, update=2.0**-12 + 2.0**-20)
    traps = {adds_up: [2.0, 2.0], whole: [inf, 4.0], no_master: [inf, inf]}
    check(call, [inf, 2.0], summed, traps)
    call = "[[float(n) for n in steps_to_move(1.25, u)] for u in (0.001, -0.001, 0.0001)]"
    traps = {
        adds_up: [[1.0, 1.0], [1.0, 1.0], [5.0, 5.0]],
        upward_only: [[1.0, 1.0], [inf, inf], [inf, 5.0]],
        no_master: [[1.0, 1.0], [1.0, 1.0], [inf, inf]],
    }
    check(call, [[1.0, 1.0], [1.0, 1.0], [inf, 5.0]], forgotten, traps)
    call = "[[float(n) for n in steps_to_move(w, 2.0**-12)] for w in (1.0, 1.75 + 2.0**-10)]"
    traps = {
        tie_moves: [[inf, 2.0], [inf, 2.0]],
        tie_stays: [[inf, 3.0], [inf, 3.0]],
        adds_up: [[3.0, 3.0], [2.0, 2.0]],
        whole: [[inf, 4.0], [inf, 4.0]],
    }
    check(call, [[inf, 3.0], [inf, 2.0]], tie, traps)
    call = "[[float(n) for n in steps_to_move(w, -(2.0**-13))] for w in (1.0, 1.5, -1.0)]"
    traps = {
        same_gap: [[inf, 5.0], [inf, 5.0], [inf, 5.0]],
        tie_moves: [[inf, 2.0], [inf, 4.0], [inf, 4.0]],
        adds_up: [[3.0, 3.0], [5.0, 5.0], [5.0, 5.0]],
    }
    check(call, [[inf, 3.0], [inf, 5.0], [inf, 5.0]], below, traps)
    call = "[[float(n) for n in steps_to_move(w, 2.0**-26)] for w in (0.0, 2.0**-20)]"
    traps = {tie_moves: [[inf, 2.0], [inf, 2.0]], eps_only: [[1.0, 1.0], [1.0, 1.0]]}
    check(call, [[inf, 3.0], [inf, 3.0]], near_zero, traps)
    call = pair.format(w=1792.0, update=2.0**-6 + 2.0**-16)
    traps = {
        adds_up: [32.0, 32.0],
        whole: [inf, 64.0],
        no_master: [inf, inf],
        fp32_copy: [inf, 33.0],
    }
    check(call, [inf, 32.0], exact, traps)
    call = """
        cases = (1.0, 2.0**-11 + 2.0**-24), (1.0 + 2.0**-10, 2.0**-11 - 2.0**-24)
        return [[float(n) for n in steps_to_move(*case)] for case in cases]
    """
    traps = {
        rounded_update: [[inf, 1.0], [1.0, 2.0]],
        rounded_twice: [[inf, 2.0], [1.0, 1.0]],
        whole: [[inf, 2.0], [inf, 3.0]],
        no_master: [[1.0, 1.0], [inf, inf]],
        adds_up: [[1.0, 1.0], [2.0, 2.0]],
    }
    check(call, [[1.0, 1.0], [inf, 2.0]], once, traps)
    call = "[[float(n) for n in steps_to_move(w, 2.0**-22)] for w in (2.0**-9, 1.5)]"
    traps = {
        cut_short: [[inf, 5.0], [inf, inf]],
        no_master: [[inf, inf], [inf, inf]],
        adds_up: [[5.0, 5.0], [2049.0, 2049.0]],
        whole: [[inf, 8.0], [inf, 4096.0]],
    }
    check(call, [[inf, 5.0], [inf, 2049.0]], patient, traps)
    ### BEGIN HIDDEN TESTS
    from fractions import Fraction

    import numpy as np

    t05_4_rng = np.random.default_rng(504)

    def t05_4_oracle(w, update):
        """Add as fractions and let numpy round the sums; the first that differs counts."""
        steps, total = 0, Fraction(w)
        while np.float16(float(total)) == np.float16(w):
            steps, total = steps + 1, total + Fraction(update)
            if Fraction(float(total)) != total or steps > 5000:
                raise AssertionError("choose an update whose sums float64 holds, and few of them")
        return [1.0 if steps == 1 else inf, float(steps)]

    def t05_4_in_fp32(w, update):
        """Return the steps of a master that is rounded to FP32 after each of them."""
        steps, master = 0, np.float32(w)
        while np.float16(master) == np.float16(w) and steps <= 5000:
            steps, master = steps + 1, np.float32(float(master) + update)
        return [t05_4_oracle(w, update)[0], float(steps)]

    def t05_4_halved(w, update, both):
        """Return the steps when the update, in one arm or both, is rounded to FP16 first."""
        half = float(np.float16(update))
        first = 1.0 if np.float16(w + half) != np.float16(w) else inf
        if both and not half:
            return [first, inf]
        return [first, t05_4_oracle(w, half if both else update)[1]]

    def t05_4_gap(w, update):
        """Return the gap beside w on the side of the update."""
        here = np.float16(w)
        return abs(float(np.nextafter(here, np.float16(inf if update > 0 else -inf))) - float(here))

    def t05_4_past(w, update, share, itself):
        """Return the steps until the sum is past a share of the gap, or reaches it."""
        ratio = share / abs(update)
        steps = float(np.ceil(ratio) if itself else np.floor(ratio) + 1)
        return [1.0 if steps == 1 else inf, steps]

    def t05_4_check(cases, reason):
        """Check several (w, update); each cause with its own formula."""
        right = [t05_4_oracle(*case) for case in cases]
        halves = [t05_4_gap(*case) / 2 for case in cases]
        up = [t05_4_gap(abs(w), 1.0) / 2 for w, _ in cases]
        row = list(zip(cases, halves, up, strict=True))
        wrong = {
            adds_up: [[n, n] for _, n in right],
            no_master: [[first, first] for first, _ in right],
            whole: [t05_4_past(*case, 2 * half, True) for case, half, _ in row],
            tie_moves: [t05_4_past(*case, half, True) for case, half, _ in row],
            tie_stays: [t05_4_past(*case, half, False) for case, half, _ in row],
            same_gap: [t05_4_past(*case, half, False) for case, _, half in row],
            eps_only: [t05_4_past(*case, abs(case[0]) * 2.0**-11, False) for case in cases],
            upward_only: [
                pair if case[1] > 0 else [inf, inf] for case, pair in zip(cases, right, strict=True)
            ],
            fp32_copy: [t05_4_in_fp32(*case) for case in cases],
            rounded_update: [t05_4_halved(*case, False) for case in cases],
            rounded_twice: [t05_4_halved(*case, True) for case in cases],
            cut_short: [[first, n if n <= 1000 else inf] for first, n in right],
        }
        values = list(wrong.values())
        traps = {
            hint: value
            for hint, value in wrong.items()
            if value != right and values.count(value) == 1
        }
        call = f"[[float(n) for n in steps_to_move(w, u)] for w, u in {cases!r}]"
        check(call, right, reason, traps)

    def t05_4_weight(odd=0):
        """Return a weight of FP16 that is no power of two, with an odd or even code."""
        code = 2 * int(t05_4_rng.integers(1, 512)) + odd
        return (1024 + code) / 1024 * 2.0 ** int(t05_4_rng.integers(-6, 5))

    for sign in (1, -1):
        ws = [sign * t05_4_weight() for _ in range(6)]
        # Shares with few bits, so that ties are ties in float64 and as fractions alike.
        shares = ((t05_4_rng.integers(3, 57, 6) * 2 + 1) / 256).tolist()
        ups = [t05_4_gap(w, 1) * share for w, share in zip(ws, shares, strict=True)]
        t05_4_check(list(zip(ws, ups, strict=True)), summed)
        t05_4_check([(w, -up) for w, up in zip(ws, ups, strict=True)], summed)
        ws = [t05_4_weight() for _ in range(6)]
        shares = [0.75, -0.5625, 0.3125, -0.109375, 1.75, -3 / 512]
        cases = [(sign * w, t05_4_gap(w, 1) * s) for w, s in zip(ws, shares, strict=True)]
        t05_4_check(cases, forgotten)
        cases = [(t05_4_weight(odd), 0.0) for odd in (0, 1, 0, 1)]
        parts = [4, 8, 32, 2]
        cases = [
            (w, sign * t05_4_gap(w, 1) / part) for (w, _), part in zip(cases, parts, strict=True)
        ]
        t05_4_check(cases, tie)
        powers = [sign * 2.0 ** int(k) for k in t05_4_rng.integers(-12, 10, 4)]
        cases = [(w, -w * 2.0**-14) for w in powers]
        w = 1.75 * powers[0]
        t05_4_check([*cases, (w, -w * 2.0**-14), (powers[1], powers[1] * 2.0**-14)], below)
        t05_4_check([(w, -w * 3 * 2.0**-15) for w in (w, *powers)], below)
        small = [0.0, sign * 3 * 2.0**-24, 2.0**-14, -(2.0**-15), 2.0**-14]
        updates = [sign * 2.0**-27, 2.0**-28, -(2.0**-27), 2.0**-29, 2.0**-27]
        t05_4_check(list(zip(small, updates, strict=True)), near_zero)
        for up in (1, -1):
            # Just past a tie by less than FP32 can hold, for two, four and eight steps.
            ws = [sign * t05_4_weight() for _ in range(3)]
            gaps = [up * t05_4_gap(w, 1) for w in ws]
            row = list(zip(ws, gaps, (4, 8, 16), strict=True))
            t05_4_check([(w, gap / part + gap * 2.0**-17) for w, gap, part in row], exact)
            # An update beside half a gap, too close for its own FP16 neighbour: it moves an even
            # weight if larger, and leaves an odd one if smaller.
            pairs = [(sign * t05_4_weight(odd), 1 - 2 * odd) for odd in (0, 1, 0)]
            cases = [(w, up * t05_4_gap(w, 1) / 2 * (1 + more * 2.0**-13)) for w, more in pairs]
            t05_4_check(cases, once)
            ws = [sign * t05_4_weight(odd) for odd in (0, 1, 0, 1)]
            fractions = (2.0**-3, 2.0**-12, 3 * 2.0**-13, 2.0**-13)
            cases = [
                (w, up * t05_4_gap(w, 1) * part) for w, part in zip(ws, fractions, strict=True)
            ]
            t05_4_check(cases, patient)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## One more constant that vanishes

Why does Adam compute in FP32 in every arm above? It divides by $\sqrt v + \varepsilon$, with
$\varepsilon = 10^{-8}$ and $v$ made of squared gradients. On FP16 weights torch's Adam, unless it
is told `fused=True`, keeps all of it in FP16, where $10^{-8}$ is 0:
"""

# %%
for gradient in (0.0, 1e-4):
    half = torch.nn.Parameter(torch.ones(1, dtype=torch.float16))
    half.grad = torch.full_like(half, gradient)
    torch.optim.Adam([half], lr=1e-3).step()
    print("gradient", gradient, "makes of a weight of 1.0:", half.item())

# %% [markdown]
r"""
A gradient of 0, such as every switched-off ReLU gives, makes $0 / 0$. One of $10^{-4}$ has a
square that $v$ cannot hold, and the weight is infinite. On an FP32 master neither happens.

## What does the copy cost?

Count the bytes that each parameter needs for as long as training runs:

- the **weight** in the type of the model, and its master, if there is one;
- its **gradient**, in the type of the weight that the backward pass computes it for; if gradients
  are copied to FP32 for the optimizer and both are kept, that copy too;
- the **states** of the optimizer, in the type of the weight that it updates: none for plain SGD,
  one with momentum, two for Adam.

Activations come on top; they depend on the batch, not on the parameters (`11_memory`).

### t05_5 · Count the bytes

`recipe` is one of

- `"fp32"`: everything in FP32;
- `"fp16"`: everything in FP16;
- `"master"`: an FP16 model with FP32 masters, which read the FP16 gradients;
- `"master_copied"`: the same, with an FP32 copy of the gradients kept beside them;
- `"autocast"`: `torch.autocast` around the forward pass of an ordinary FP32 model. It converts
  weights to 16 bits when an operation needs them; those copies live until the backward pass has
  used them, and are not counted.

Return the bytes of `count` parameters with an optimizer of `states` states each, and how many times
that is of the bytes of `"fp32"` with the same optimizer: `return total, ratio`.
"""


# %% task="t05_5" forbids=["ampcourse.amp", "torch"]
def training_bytes(recipe, states, count):
    """Return the bytes for `count` parameters, and their ratio to training in FP32."""
    ### BEGIN SOLUTION
    full = 4 + 4 + 4 * states
    each = {
        "fp32": full,
        "fp16": 2 + 2 + 2 * states,
        "master": 2 + 4 + 2 + 4 * states,
        "master_copied": 2 + 4 + 2 + 4 + 4 * states,
        "autocast": full,
    }[recipe]
    return each * count, each / full
    ### END SOLUTION


# %% check="t05_5" points=4
with task("t05_5"):
    plain_types = "one type for all: a weight, a gradient and each state"
    with_copy = "with a master: FP16 weight and gradient, FP32 master and states"
    both_grads = "with copied gradients: those in FP16 and those in FP32"
    autocast = "autocast leaves parameters, gradients and states in FP32"
    share = "the ratio is to FP32 with the same optimizer"
    doubled = "the copy is of the weights alone: it does not double the rest"
    no_gradient = "gradients take room as well"
    gradient_32 = "the backward pass of an FP16 weight gives an FP16 gradient"
    states_16 = "the optimizer updates the master, so its states are in FP32"
    instead = "the FP16 weight is still there beside its master"
    casts = "autocast does not make the parameters FP16: the FP32 model stays as it is"
    halved = "autocast halves neither weights nor gradients: it converts what an operation needs"
    kept_casts = "autocast's conversions are not kept, and are not counted here"
    moved = "both are kept here: the FP16 gradient is not replaced"
    inverse = "upside down: it is this recipe's bytes over those of FP32"
    one_optimizer = "compared with another optimizer: the states count on both sides"
    one_parameter = "that is for one parameter: there are `count`"
    whole_number = "a ratio is a float, not cut to an integer"

    def t05_5_call(recipe, count):
        """Return the call for the bytes in FP32 and in a recipe, with no, one and two states."""
        pair = f"r in ('fp32', {recipe!r}) for s in (0, 1, 2)"
        return f"[float(training_bytes(r, s, {count})[0]) for {pair}]"

    fp32 = [8.0, 12.0, 16.0]
    traps = {
        no_gradient: [4000.0, 8000.0, 12000.0, 2000.0, 4000.0, 6000.0],
        one_parameter: [8.0, 12.0, 16.0, 4.0, 6.0, 8.0],
    }
    right = [8000.0, 12000.0, 16000.0, 4000.0, 6000.0, 8000.0]
    check(t05_5_call("fp16", 1000), right, plain_types, traps)
    traps = {
        doubled: [*fp32, 16.0, 24.0, 32.0],
        instead: [*fp32, 6.0, 10.0, 14.0],
        gradient_32: [*fp32, 10.0, 14.0, 18.0],
        states_16: [*fp32, 8.0, 10.0, 12.0],
    }
    check(t05_5_call("master", 1), [*fp32, *fp32], with_copy, traps)
    traps = {moved: [*fp32, 10.0, 14.0, 18.0], states_16: [*fp32, 12.0, 14.0, 16.0]}
    check(t05_5_call("master_copied", 1), [*fp32, 12.0, 16.0, 20.0], both_grads, traps)
    traps = {
        casts: [*fp32, 4.0, 6.0, 8.0],
        halved: [*fp32, 4.0, 8.0, 12.0],
        kept_casts: [*fp32, 10.0, 14.0, 18.0],
    }
    check(t05_5_call("autocast", 1), [*fp32, *fp32], autocast, traps)
    call = "[float(training_bytes('master', s, 5)[1]) for s in (0, 1, 2)]"
    call += " + [float(training_bytes('fp16', 2, 3)[1])]"
    traps = {
        doubled: [2.0, 2.0, 2.0, 0.5],
        inverse: [1.0, 1.0, 1.0, 2.0],
        one_optimizer: [0.5, 0.75, 1.0, 0.5],
        whole_number: [1.0, 1.0, 1.0, 0.0],
    }
    check(call, [1.0, 1.0, 1.0, 0.5], share, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import numpy as np

    t05_5_random = Random(505)
    t05_5_arrays = {  # what is there, as numpy types: weights and gradients, then each state
        "fp32": (["f4", "f4"], "f4"),
        "fp16": (["f2", "f2"], "f2"),
        "master": (["f2", "f4", "f2"], "f4"),
        "master_copied": (["f2", "f4", "f2", "f4"], "f4"),
        "autocast": (["f4", "f4"], "f4"),
    }

    def t05_5_bytes(recipe, states, count):
        """Let numpy say how large the arrays are."""
        fixed, state = t05_5_arrays[recipe]
        return float(sum(np.zeros(count, kind).nbytes for kind in fixed + [state] * states))

    t05_5_changes = {  # recipe → cause → what is counted too much, per parameter and state
        "fp16": {},
        "master": {doubled: (8, 4), instead: (-2, 0), gradient_32: (2, 0), states_16: (0, -2)},
        "master_copied": {moved: (-2, 0), states_16: (0, -2)},
        "autocast": {casts: (-4, -2), kept_casts: (2, 0), halved: (-4, 0)},
    }
    t05_5_reasons = {
        "fp16": plain_types,
        "master": with_copy,
        "master_copied": both_grads,
        "autocast": autocast,
    }
    for recipe, reason in t05_5_reasons.items():
        count = t05_5_random.randrange(1000, 9999)
        for states in ((0, 1, 2), (3, 4)):
            plain_fp32 = [t05_5_bytes("fp32", s, count) for s in states]
            in_recipe = [t05_5_bytes(recipe, s, count) for s in states]
            t05_5_traps = {
                hint: plain_fp32
                + [x + (m + k * s) * count for x, s in zip(in_recipe, states, strict=True)]
                for hint, (m, k) in t05_5_changes[recipe].items()
            }
            both = plain_fp32 + in_recipe
            t05_5_traps[one_parameter] = [x / count for x in both]
            missing = [4 * count] * len(states) + [2 * count] * len(states)
            if recipe == "fp16":
                t05_5_traps[no_gradient] = [x - g for x, g in zip(both, missing, strict=True)]
            pair = f"r in ('fp32', {recipe!r}) for s in {states}"
            call = f"[float(training_bytes(r, s, {count})[0]) for {pair}]"
            check(call, both, reason, t05_5_traps)
        ratios = [t05_5_bytes(recipe, s, 8) / t05_5_bytes("fp32", s, 8) for s in (0, 1, 2, 3)]
        adam = [t05_5_bytes(recipe, s, 8) / t05_5_bytes("fp32", 2, 8) for s in (0, 1, 2, 3)]
        t05_5_traps = {
            inverse: [1 / x for x in ratios],
            one_optimizer: adam,
            whole_number: [float(int(x)) for x in ratios],
        }
        t05_5_traps = {hint: wrong for hint, wrong in t05_5_traps.items() if wrong != ratios}
        call = f"[float(training_bytes({recipe!r}, s, {count})[1]) for s in (0, 1, 2, 3)]"
        check(call, ratios, share, t05_5_traps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
With masters that read FP16 gradients a parameter takes 16 bytes under Adam, as in FP32: what the
16-bit weight and gradient save, the copy costs. It doubles nothing. A torch optimizer, though,
wants a gradient of the weight's own type. The `MasterWeights` of this course therefore keeps room
for FP32 gradients, and lets go of the FP16 ones before each step:
"""


# %%
def bytes_held(layer, optimizer):
    """Return the bytes per parameter, all tensors of a training run with masters together."""
    masters = list(optimizer.parameters())
    tensors = [layer.weight, layer.weight.grad, *masters, *(m.grad for m in masters)]
    tensors += [t for m in masters for t in optimizer.optimizer.state[m].values() if t.dim()]
    return sum(t.nbytes for t in tensors if t is not None) / layer.weight.numel()


layer = torch.nn.Linear(64, 64, bias=False, dtype=torch.float16)
optimizer = MasterWeights(torch.optim.Adam(layer.parameters()))
for _ in range(2):
    layer(torch.ones(1, 64, dtype=torch.float16)).sum().backward()
    after_backward = bytes_held(layer, optimizer)
    optimizer.step()
print("bytes per parameter after backward:", after_backward)
print("bytes per parameter after the step:", bytes_held(layer, optimizer))

# %% [markdown]
r"""
So count what is there at the moment that you ask about. The gain in memory is in the activations.

## Which cure for which sign?

Loss scaling multiplies what the forward pass has computed already. It has nothing to say about a
loss that is NaN while the weights are finite. With a scale that is too large and no skipping, the
weights become NaN first, as above; then every loss is NaN, whatever the scale, and only weights
that were saved before can help. Nor does it matter whether the gradients are finite when the
forward pass is not: a sigmoid makes 1 of an inf, and passes back 0.

Of FP16, BF16 and FP32 only FP16 needs loss scaling: BF16 has the range of FP32, so gradients that
FP16 flushes are there in both. A gradient that is infinite in BF16 or FP32 went out of range, or
was divided by 0, without any scale to blame: the trouble is in the network. But BF16 has only 8
significant bits, and weights kept in it lose even more updates.

### t05_6 · Choose the remedy

A run is described by a record, the next cell. It trains in the type `compute`, and its optimizer
keeps the weights in the type `weights`: `"fp32"` with masters, and under autocast. Two shares,
from 0 to 1, were measured beside the run:

- `flushed`: of the gradients that are not 0 in FP32, how many would be 0 in **FP16**;
- `lost`: of the updates, how many would be too small for a weight, were it kept in the type
  `compute`.

Return the *first* of these that is true and does help, by the name in quotes:

1. `"restore"`: go back to saved weights, since those of this run are inf or NaN;
2. `"model"`: the trouble is in the network or the data; neither a scale nor a copy helps;
3. `"lower"`: skip the step and lower the loss scale;
4. `"raise"`: raise the loss scale, since more than 1 % of the gradients vanish in this run;
5. `"masters"`: keep FP32 masters, since more than 10 % of the updates are lost in this run;
6. `"none"`: leave it as it is.
"""


# %% tags=["setup"]
class Run(NamedTuple):
    compute: str  # the type of the forward and backward pass: "fp32", "fp16" or "bf16"
    weights: str  # the type of the weights that the optimizer updates
    weights_finite: bool  # no weight is inf or NaN, in the model or in its copy
    loss_finite: bool  # neither the loss nor an activation is inf or NaN
    gradients_finite: bool  # no gradient is inf or NaN
    flushed: float
    lost: float


# %% task="t05_6" forbids=["ampcourse.amp", "torch"]
def remedy(run):
    """Return "restore", "model", "lower", "raise", "masters" or "none" for a run."""
    ### BEGIN SOLUTION
    if not run.weights_finite:
        return "restore"
    if not run.loss_finite:
        return "model"
    if not run.gradients_finite:
        return "lower" if run.compute == "fp16" else "model"
    if run.compute == "fp16" and run.flushed > 0.01:
        return "raise"
    if run.weights != "fp32" and run.lost > 0.1:
        return "masters"
    return "none"
    ### END SOLUTION


# %% check="t05_6" points=4
with task("t05_6"):
    broken = "weights that are inf or NaN stay so, whatever is scaled: go back to saved ones"
    no_loss = "a loss or activation that is inf or NaN: the network or the data, before all else"
    inf_in_fp16 = "inf in an FP16 gradient: skip the step and lower the scale"
    inf_elsewhere = "inf in a BF16 or FP32 gradient: no scale to lower, look at the network"
    vanishing = "gradients that FP16 flushes matter to a run in FP16, and to no other"
    losing = "updates are lost where the optimizer's own weights have 16 bits"
    more_than = "more than 1 % of the gradients, 0.01, or more than 10 % of the updates, 0.1"
    in_order = "of several signs the first in the list counts"
    by_scale = "a NaN loss is not cured by a scale, which only multiplies it"
    for_bf16 = "BF16 needs no loss scale: it has the range of FP32"
    for_fp32 = "an FP32 run has no loss scale: neither inf nor `flushed` asks for another"
    undone_later = "FP32 masters undo no overflow: a gradient that is inf stays inf in FP32"
    larger_steps = "the scale does not make updates larger: it is divided out before the step"
    in_autocast = "under autocast, or with masters, the weights are FP32 and lose nothing"
    bf16_is_safe = "BF16 has FP32's range but only 8 bits: its weights lose more updates"
    wrong_order = "look at inf first, then at what vanishes, then at what is lost"
    copy_first = "what vanishes comes before what is lost: a master keeps no gradient that is 0"
    raised = "a scale that made gradients inf must be lowered, not raised"
    not_fp16_only = "no type trains on inf: with no scale to lower, look at the network"
    in_percent = "the shares are fractions of 1: 1 % is 0.01 and 10 % is 0.1"
    at_limit = "exactly 1 % or 10 % is not more than that"
    scale_mends = "the weights are NaN already: no scale takes that back"
    not_the_model = "with weights that are NaN any network's loss is: look at the weights first"
    shows_later = "weights can be NaN before a loss shows it: the batch may not have used them"
    needless = "the weights are finite: there is nothing to restore"
    both_bad = "a forward pass can go wrong and leave the gradients finite: one sign is enough"

    def t05_6_call(*cases):
        """Return the call for one run, or for several in a list."""
        names = ("compute", "weights", "weights_finite", "loss_finite", "gradients_finite")
        names += ("flushed", "lost")
        rows = [zip(names, case, strict=True) for case in cases]
        fields = [", ".join(f"{name}={value!r}" for name, value in row) for row in rows]
        calls = [f"remedy(Run({text}))" for text in fields]
        return calls[0] if len(cases) == 1 else f"[{', '.join(calls)}]"

    finite, no_gradient = (True, True, True), (True, True, False)
    pure, mixed, brain, full = ("fp16",) * 2, ("fp16", "fp32"), ("bf16",) * 2, ("fp32",) * 2
    call = t05_6_call((*mixed, False, False, False, 0.0, 0.0))
    traps = {scale_mends: "lower", not_the_model: "model"}
    check(call, "restore", broken, traps)
    call = t05_6_call((*brain, False, True, True, 0.0, 0.0))
    check(call, "restore", broken, {shows_later: "none", not_the_model: "model"})
    check(t05_6_call((*mixed, *finite, 0.0, 0.0)), "none", broken)
    call = t05_6_call((*pure, True, False, False, 0.3, 0.5))
    traps = {by_scale: "lower", by_scale + ", nor by a larger one": "raise", needless: "restore"}
    check(call, "model", no_loss, traps)
    call = t05_6_call((*mixed, True, False, True, 0.0, 0.0))
    traps = {both_bad: "none", by_scale: "lower", needless: "restore"}
    check(call, "model", no_loss, traps)
    check(t05_6_call((*pure, *finite, 0.0, 0.0)), "none", no_loss)
    call = t05_6_call((*mixed, *no_gradient, 0.0, 0.0))
    traps = {raised: "raise", undone_later: "masters", undone_later + ", so act": "none"}
    check(call, "lower", inf_in_fp16, traps)
    check(t05_6_call((*mixed, *finite, 0.0, 0.0)), "none", inf_in_fp16)
    for kind, hint in ((("bf16", "fp32"), for_bf16), (full, for_fp32)):
        traps = {hint: "lower", undone_later: "masters", not_fp16_only: "none"}
        check(t05_6_call((*kind, *no_gradient, 0.0, 0.0)), "model", inf_elsewhere, traps)
    check(t05_6_call((*full, *finite, 0.0, 0.0)), "none", inf_elsewhere)
    check(t05_6_call((*mixed, *finite, 0.3, 0.0)), "raise", vanishing, {in_percent: "none"})
    for kind, hint in ((("bf16", "fp32"), for_bf16), (full, for_fp32)):
        check(t05_6_call((*kind, *finite, 0.3, 0.0)), "none", vanishing, {hint: "raise"})
    call = t05_6_call((*pure, *finite, 0.0, 0.5), (*brain, *finite, 0.0, 0.9))
    traps = {
        larger_steps: ["raise", "raise"],
        bf16_is_safe: ["masters", "none"],
        in_percent: ["none", "none"],
    }
    check(call, ["masters", "masters"], losing, traps)
    for kind in (mixed, ("bf16", "fp32")):
        check(t05_6_call((*kind, *finite, 0.0, 0.5)), "none", losing, {in_autocast: "masters"})
    check(t05_6_call((*mixed, *finite, 0.01, 0.0)), "none", more_than, {at_limit: "raise"})
    check(t05_6_call((*mixed, *finite, 0.011, 0.0)), "raise", more_than, {in_percent: "none"})
    check(t05_6_call((*pure, *finite, 0.0, 0.1)), "none", more_than, {at_limit: "masters"})
    traps = {larger_steps: "raise", in_percent: "none"}
    check(t05_6_call((*pure, *finite, 0.0, 0.101)), "masters", more_than, traps)
    call = t05_6_call((*mixed, *no_gradient, 0.3, 0.5), (*mixed, *no_gradient, 0.0, 0.0))
    traps = {
        wrong_order: ["raise", "lower"],
        raised: ["raise", "raise"],
        undone_later: ["masters", "masters"],
        undone_later + ", so act": ["raise", "none"],
    }
    check(call, ["lower", "lower"], in_order, traps)
    call = t05_6_call((*pure, *finite, 0.3, 0.5), (*pure, *finite, 0.0, 0.5))
    traps = {copy_first: ["masters", "masters"], larger_steps: ["raise", "raise"]}
    traps |= {in_percent: ["none", "none"]}
    check(call, ["raise", "masters"], in_order, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    t05_6_random = Random(506)

    def t05_6_rule(case, belief=""):
        """Apply the rule, or the rule as one belief bends it."""
        compute, weights, intact, loss, gradients, flushed, lost = case
        scalable = {for_bf16: ("fp16", "bf16"), for_fp32: ("fp16", "fp32")}.get(belief, ("fp16",))
        unit = 100 if belief == in_percent else 1
        vanish = flushed > 0.01 * unit or (belief == at_limit and flushed == 0.01)
        small = lost > 0.1 * unit or (belief == at_limit and lost == 0.1)
        if belief == not_the_model and not loss:
            return "model"
        if not intact and not (belief == shows_later and loss):
            return "lower" if belief == scale_mends else "restore"
        if not loss and not (belief == both_bad and gradients):
            return {by_scale: "lower", needless: "restore"}.get(belief, "model")
        if belief == wrong_order and compute == "fp16" and vanish:
            return "raise"
        if not gradients:
            if belief == undone_later:
                return "masters"
            if compute in scalable:
                return "raise" if belief == raised else "lower"
            if belief != not_fp16_only:
                return "model"
        if belief == copy_first and weights != "fp32" and small:
            return "masters"
        if compute in scalable and vanish:
            return "raise"
        if belief == bf16_is_safe and compute == "bf16":
            return "none"
        if (weights != "fp32" or belief == in_autocast) and small:
            return "raise" if belief == larger_steps else "masters"
        return "none"

    t05_6_beliefs = (by_scale, for_bf16, for_fp32, undone_later, larger_steps, in_autocast)
    t05_6_beliefs += (bf16_is_safe, wrong_order, copy_first, raised, at_limit)
    t05_6_beliefs += (not_fp16_only, in_percent)
    t05_6_beliefs += (scale_mends, not_the_model, shows_later, needless, both_bad)

    def t05_6_check(reason, *cases):
        """Check one run or more; a belief that answers as another does names nothing."""
        right, *wrong = [
            [t05_6_rule(case, belief) for case in cases] for belief in ("", *t05_6_beliefs)
        ]
        traps = {
            belief: answers[0] if len(cases) == 1 else answers
            for belief, answers in zip(t05_6_beliefs, wrong, strict=True)
            if answers != right and wrong.count(answers) == 1
        }
        check(t05_6_call(*cases), right[0] if len(cases) == 1 else right, reason, traps)

    def t05_6_shares(many=False, gone=False):
        """Draw the shares of flushed gradients and lost updates, on either side of the limits."""
        flushed = t05_6_random.uniform(0.02, 0.6) if many else t05_6_random.uniform(0, 0.009)
        lost = t05_6_random.uniform(0.12, 0.9) if gone else t05_6_random.uniform(0, 0.09)
        return round(flushed, 4), round(lost, 3)

    t05_6_brains = (brain, ("bf16", "fp32"))
    for kind in (pure, mixed, full, *t05_6_brains):
        few = t05_6_shares()
        for loss, gradients in ((False, False), (True, True), (False, True), (True, False)):
            t05_6_check(broken, (*kind, False, loss, gradients, *few))
        t05_6_check(broken, (*kind, *finite, *few))
        t05_6_check(no_loss, (*kind, True, False, False, *few))
        t05_6_check(no_loss, (*kind, True, False, True, *few))
        t05_6_check(no_loss, (*kind, *finite, *few))
        reason = inf_in_fp16 if kind in (pure, mixed) else inf_elsewhere
        t05_6_check(reason, (*kind, *no_gradient, *few))
        t05_6_check(reason, (*kind, *finite, *t05_6_shares()))
        t05_6_check(vanishing, (*kind, *finite, *t05_6_shares(many=True)))
        if kind != full:  # an FP32 update that FP32 weights lose is none of ours
            t05_6_check(losing, (*kind, *finite, *t05_6_shares(gone=True)))
    for kind in (pure, mixed):
        for flushed in (0.01, 0.0101, 0.0099, 0.05, 0.09):
            t05_6_check(more_than, (*kind, *finite, flushed, 0.0))
    for kind in (pure, brain):
        for lost in (0.1, 0.1001, 0.0999, 0.05, 0.02):
            t05_6_check(more_than, (*kind, *finite, 0.0, lost))
    for kind in (pure, mixed, full, *t05_6_brains):
        few, many = t05_6_shares(), t05_6_shares(True, kind != full)
        t05_6_check(in_order, (*kind, *no_gradient, *many), (*kind, *no_gradient, *few))
        t05_6_check(in_order, (*kind, *finite, *many), (*kind, *finite, 0.0, many[1]))
        for loss_only in ((True, False, False), (True, False, True)):
            t05_6_check(in_order, (*kind, *loss_only, *many), (*kind, *finite, *many))
        t05_6_check(broken, (*kind, False, True, True, *many), (*kind, *finite, *many))
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

First what came of your predictions:
"""

# %%
print("2**12 makes updates larger how many times: you said", my_update, "- it is 1")
print("1.0 + 2**-12 in FP16 moves after steps:    you said", my_steps, "- it is never")
print("Adam, FP16 and FP32 copy, times FP32:      you said", my_memory, "- it is 1")
print("(16 bytes; 1.25 times, or 20, while gradients are held in both types)")
print("NaN loss, finite weights: the cure         you said", my_cure, "- it is neither")

# %% [markdown]
r"""
- **"The scale changes the update."** It is divided out before the step. With Adam a forgotten
  division hardly shows, since Adam divides by the size of the gradients itself; with SGD the
  update is $S$ times too large (t05_2).
- **"Multiply the gradients, it is the same."** Not after they have been rounded (t05_1).
- **"Unscale in FP16, it is one division."** It takes the rescued gradients below $2^{-25}$ again
  (t05_2).
- **"Convert to FP32 before the update, then nothing overflows."** An FP16 inf is inf (t05_2).
- **"A NaN loss wants another scale."** Not while the weights are finite: the scale comes after the
  loss. And weights that are NaN want saved ones (t05_6).
- **"BF16 needs a scaler."** It has FP32's range. What it lacks is precision (t05_6).
- **"Enough small updates get there in the end."** In FP16 each is lost alone (t05_4).
- **"Momentum and decay belong to the model's weight."** Both add small things, and
  belong to the master (t05_3).
- **"Autocast makes the parameters FP16."** They stay FP32; that is why autocast needs no masters
  (t05_5).
- **"The copy doubles the memory."** 16 bytes with Adam, as in FP32; 20 at most, where the gradients
  are kept in both types (t05_5).

## Say it aloud

Multiplying the loss multiplies every gradient, so that they stay above what FP16 turns into zeros;
dividing in FP32 before the step takes the factor out again. A copy of the weights in FP32 keeps
updates that an FP16 weight is too coarse for. The scale saves gradients, the copy saves updates,
and neither saves a forward pass that has gone wrong.

## Where next

A static scale has to be guessed, and the plateau moves. `06_grad_scaler` lets the scale find its
place by itself; `07_autocast` keeps the weights in FP32 and makes the copy unnecessary.
"""
