# %% [markdown]
r"""
# Which of these loops is silently wrong?

Somebody trained a large model with AMP, and it converged, only "very slow". Nothing had
complained. After a careful look they found two lines in the wrong order, in a widely used
framework: gradients were clipped while they were still scaled
([pytorch-lightning#9599](https://github.com/Lightning-AI/pytorch-lightning/issues/9599)). The same
mistake was reported in PyTorch's own collection of examples
([examples#1196](https://github.com/pytorch/examples/issues/1196)).

Some mistakes with AMP raise an error, and one searches for its words. Others run on, with a loss
that may even go down, only not as it should. Below are ten plausible loops. Each is wrong: five
raise an error, five are silent. You find them, prove it, and write loops that are right.

You need to know what a GradScaler does (`06_grad_scaler`), but no GPU: all runs here are in FP16
on the CPU, with nets small enough for that. There are six tasks; plan an hour and a half. After the
third is a good place for a break.

## A world to train in

All loops work on the same small world, `w`: two nets with an optimizer each, a scheduler, one
scaler with a growth interval of 3 (so that it grows within a few steps), and twelve batches of
which four in a row hold an infinite number. In those four a scaler must skip, whatever its scale.
`loss_of` is the forward pass under `autocast`; `w.moved()` tells how far all weights have come.
"""

# %% tags=["setup"]
from functools import partial

import torch
from torch.nn.functional import mse_loss
from torch.nn.utils import clip_grad_norm_

from ampcourse.courseware import between, check, inf, nan, task


# %% tags=["setup"]
def is_finite(batch):
    """Return whether all inputs of a batch are finite."""
    return batch[0].isfinite().all().item()


class World:
    """Two nets with optimizers, one scaler; four batches are broken."""

    def __init__(self, broken=True, batches=12):
        torch.manual_seed(8)
        nn, optim = torch.nn, torch.optim
        layers = nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)
        self.net = nn.Sequential(*layers)
        self.critic = nn.Linear(4, 1)
        self.optimizer = optim.SGD(self.net.parameters(), lr=2**-8)
        parameters = self.critic.parameters()
        self.critic_optimizer = optim.SGD(parameters, lr=2**-8)
        decay = optim.lr_scheduler.ExponentialLR
        self.scheduler = decay(self.optimizer, 0.9)
        options = {"init_scale": 2.0**10, "growth_interval": 3}
        self.scaler = torch.amp.GradScaler("cpu", **options)
        x = torch.randn(batches, 8, 4)
        y = x.sum(2, keepdim=True)
        x[4:8, 0, 0] = inf
        pairs = zip(x, y, strict=True)
        self.batches = [p for p in pairs if broken or is_finite(p)]
        self.start = self.weights()

    def weights(self):
        """Return all weights and biases in one row of numbers."""
        parts = [*self.net.parameters(), *self.critic.parameters()]
        return torch.cat([p.detach().float().flatten() for p in parts])

    def moved(self):
        """Return how far each of them has moved since the start."""
        return self.weights() - self.start


def loss_of(net, batch):
    """Return the squared error of a batch; forward runs in FP16."""
    x, y = batch
    with torch.autocast("cpu", dtype=torch.float16):
        return mse_loss(net(x), y)


# %% [markdown]
r"""
## The zoo

Read them as you would in a review. The comment says what each loop is meant to do.
"""


# %% tags=["setup"]
def loop_a(w):  # clip the gradient to a norm of 1
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(loss_of(w.net, batch)).backward()
        clip_grad_norm_(w.net.parameters(), 1.0)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def loop_b(w):  # accumulate four batches, and clip
    for i, batch in enumerate(w.batches):
        w.scaler.scale(loss_of(w.net, batch) / 4).backward()
        w.scaler.unscale_(w.optimizer)
        clip_grad_norm_(w.net.parameters(), 1.0)
        if i % 4 == 3:
            w.scaler.step(w.optimizer)
            w.scaler.update()
            w.optimizer.zero_grad()


# %% tags=["setup"]
def loop_c(w):  # two nets, two losses, two optimizers
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.critic_optimizer.zero_grad()
        w.scaler.scale(loss_of(w.net, batch)).backward()
        w.scaler.scale(loss_of(w.critic, batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()
        w.scaler.step(w.critic_optimizer)
        w.scaler.update()


def loop_d(w):  # plain training, and all of it in FP16
    w.net.half()
    for x, y in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(mse_loss(w.net(x.half()), y.half())).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


# %% tags=["setup"]
def loop_e(w):  # accumulate four batches
    for i, batch in enumerate(w.batches):
        w.scaler.scale(loss_of(w.net, batch) / 4).backward()
        if i % 4 == 3:
            w.scaler.step(w.optimizer)
            w.optimizer.zero_grad()
        w.scaler.update()


def loop_f(w):  # with a learning rate that decays
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(loss_of(w.net, batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()
        w.scheduler.step()


# %% tags=["setup"]
def loop_g(w):  # clip the gradient to a norm of 1
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(loss_of(w.net, batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.unscale_(w.optimizer)
        clip_grad_norm_(w.net.parameters(), 1.0)
        w.scaler.update()


def loop_h(w):  # add a penalty on large gradients
    for batch in w.batches:
        w.optimizer.zero_grad()
        loss = loss_of(w.net, batch)
        scaled, weights = w.scaler.scale(loss), [*w.net.parameters()]
        grads = torch.autograd.grad(scaled, weights, create_graph=True)
        penalty = sum(g.square().sum() for g in grads)
        w.scaler.scale(loss + 0.01 * penalty).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


# %% tags=["setup"]
def loop_i(w):  # plain training, the last layer kept in FP32
    for x, y in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            features = w.net[:2](x)
        loss = mse_loss(w.net[2](features), y)
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def loop_j(w):  # clip the gradient to a norm of 1
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(loss_of(w.net, batch)).backward()
        w.scaler.unscale_(w.optimizer)
        clip_grad_norm_(w.net.parameters(), 1.0)
        w.optimizer.step()
        w.scaler.update()


# %% [markdown]
r"""
## Predict first

Nobody grades these; replace each `None` and run the cell.
"""

# %%
# Which five loops raise nothing? As in "abcde".
my_silent = None
# Clipped to a norm of 1 before unscale_; the scale is 65536, the true
# norm 10. How many times too small is the update?
my_shrink = None
# What does an evaluation need: "autocast", "scaler", "both", "none"?
my_evaluation = None
# Beside the weights, what must a checkpoint hold to go on bit for bit?
my_resume = None

# %% [markdown]
r"""
## Proof by reference

How does one prove that a loop without an error is wrong? Not by its loss. Hold it against a
**reference**: the same training as it is meant, in FP32, without scaler and autocast, and without
the four broken batches, since a skipped step leaves no trace in the weights. FP16 rounds, so the
two will not agree to the last bit; but how far off is a mistake?
"""


# %% tags=["setup"]
def fp32_loss(net, batch):
    """Return the same loss without autocast."""
    return mse_loss(net(batch[0]), batch[1])


def fp32(w, max_norm=inf, every=1, pair=False, decays=False, penalty=0):
    """Train as it is meant, in FP32; the options say what is meant."""
    weights = [*w.net.parameters()]
    for i, batch in enumerate(w.batches):
        loss = fp32_loss(w.net, batch) / every
        if penalty:
            grads = torch.autograd.grad(loss, weights, create_graph=True)
            loss = loss + penalty * sum(g.square().sum() for g in grads)
        loss.backward()
        if pair:
            fp32_loss(w.critic, batch).backward()
        if i % every == every - 1:
            clip_grad_norm_(weights, max_norm)
            w.optimizer.step()
            w.critic_optimizer.step()
            w.scheduler.step() if decays else None
            w.optimizer.zero_grad()
            w.critic_optimizer.zero_grad()


# %% tags=["setup"]
plain = partial(fp32)
clipped = partial(fp32, max_norm=1.0)
grouped = partial(fp32, every=4)
grouped_and_clipped = partial(fp32, every=4, max_norm=1.0)
paired = partial(fp32, pair=True)
decaying = partial(fp32, decays=True)
penalised = partial(fp32, penalty=0.01)
loops = [loop_a, loop_b, loop_c, loop_d, loop_e]
loops += [loop_f, loop_g, loop_h, loop_i, loop_j]
meant = [clipped, grouped_and_clipped, paired, plain, grouped]
meant += [decaying, clipped, penalised, plain, clipped]

# %% [markdown]
r"""
### t08_1 · Raises, silent, or right

`loops` holds the ten loops, `meant` the reference of each. Write the examiner:
`examine(loop, reference)` lets `loop` train in a fresh `World()` and
`reference` in a fresh `World(broken=False)`, and returns

- `"raises"` if the loop raises any exception;
- `"right"` if the weights have moved as in the reference: the difference of the two moves, as one
  vector, is at most 1 % as long as the reference's move;
- `"silent"` if not.

`x.norm()` is the length of a vector. Mind that weights may have become NaN.
"""


# %% task="t08_1"
def examine(loop, reference):
    """Return "raises", "silent" or "right", by the reference."""
    ### BEGIN SOLUTION
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    off = (world.moved() - model.moved()).norm() / model.moved().norm()
    return "right" if off <= 0.01 else "silent"
    ### END SOLUTION


# %% check="t08_1" points=4
with task("t08_1"):
    raised = "whatever it raises: RuntimeError, ValueError and AssertionError all occur"
    told = "a loop that moves the weights otherwise than the reference, and says nothing"
    fine = "FP16 rounds: a move that is off by less than 1 % is right"
    words = {"x": "raises", "s": "silent", "r": "right"}

    def verdicts(letters):
        return [words[letter] for letter in letters]

    zoo = "[examine(loop, reference) for loop, reference in zip(loops, meant)]"
    not_a_number = "NaN compares with nothing: a loop that ends in NaN is not right"
    finite = "weights can be finite, and wrong: hold them against the reference"
    weights = "compare how far the weights moved: beside the weights themselves a move is small"
    traps = {not_a_number: verdicts("sxsxxsxsxr"), finite: verdicts("rxrxxrxrxs")}
    traps |= {weights: verdicts("rxrxxrxsxs")}
    check(zoo, verdicts("sxsxxsxsxs"), told, traps)
    call = "[examine(loops[k], meant[k]) for k in (1, 3, 4, 6, 8)]"
    check(call, ["raises"] * 5, raised, {"a loop that raises is not silent": ["silent"] * 5})
    others = """
        def one_step(w):
            w.batches = w.batches[:1]
            fp32(w)
        def ascends(w):
            for batch in w.batches[:1]:
                w.optimizer.zero_grad()
                w.scaler.scale(-loss_of(w.net, batch)).backward()
                w.scaler.step(w.optimizer)
                w.scaler.update()
        def only_net(w):
            for batch in w.batches:
                w.optimizer.zero_grad()
                w.scaler.scale(loss_of(w.net, batch)).backward()
                w.scaler.step(w.optimizer)
                w.scaler.update()
        return [examine(ascends, one_step), examine(only_net, paired)]
    """
    length = "moves can be equally long and point elsewhere: take the length of the difference"
    first = "both nets have to move as in the reference"
    traps = {length: verdicts("rs"), first: verdicts("sr")}
    check(others, verdicts("ss"), told, traps)
    repaired = """
        def in_fp16(w):
            for batch in w.batches:
                w.optimizer.zero_grad()
                w.scaler.scale(loss_of(w.net, batch)).backward()
                w.scaler.unscale_(w.optimizer)
                clip_grad_norm_(w.net.parameters(), 1.0)
                w.scaler.step(w.optimizer)
                w.scaler.update()
        def without_autocast(w):
            for batch in w.batches:
                w.optimizer.zero_grad()
                w.scaler.scale(fp32_loss(w.net, batch)).backward()
                w.scaler.step(w.optimizer)
                w.scaler.update()
        return [examine(in_fp16, clipped), examine(without_autocast, fp32)]
    """
    exact = "FP16 rounds: do not ask for the same bits"
    same_world = "the reference belongs in a fresh World(broken=False): inf would spoil it"
    traps = {exact: verdicts("sr"), same_world: verdicts("ss")}
    check(repaired, verdicts("rr"), fine, traps)
    bound = "the length of the difference is at most 1 % of the length of the reference's move"
    off_by = """
        from torch.nn.utils import vector_to_parameters

        def off_by(share, off):
            def loop(w):
                w.batches = [batch for batch in w.batches if batch[0].isfinite().all()]
                paired(w)
                away = share * w.moved().norm() * off / off.norm()
                weights = [*w.net.parameters(), *w.critic.parameters()]
                vector_to_parameters(w.weights() + away, weights)
            return loop
    """
    model = """
        model = World(broken=False)
        paired(model)
        move = model.moved()
        ways = move, (move == move.max()).float(), torch.ones_like(move)
        shares = 0.0005, 0.009, 0.02, 0.12
        return [[examine(off_by(share, off), paired) for off in ways] for share in shares]
    """
    loose = "2 % too far is not right: 1 % of the length is allowed (lengths, not their squares)"
    each_weight = "compare two lengths, not weight by weight: a weight may hardly move at all"
    largest = "the length of the difference, not its largest element"
    average = "the length of the difference, not the mean of its elements"
    strict = "less than 1 % is right, too: FP16 alone makes 0.03 % in loops like these"
    within, beyond = verdicts("rrr"), verdicts("sss")
    traps = {loose: [within, within, within, beyond], strict: [within, beyond, beyond, beyond]}
    traps |= {each_weight: [verdicts("rrs"), verdicts("rss"), beyond, beyond]}
    traps |= {largest: [within, verdicts("rsr"), verdicts("ssr"), beyond]}
    traps |= {average: [within, verdicts("rrs"), verdicts("srs"), beyond]}
    check(off_by + model, [within, within, beyond, beyond], bound, traps)
    ### BEGIN HIDDEN TESTS
    from textwrap import dedent, indent

    def t08_1_check(reason, letters, *loops):
        """Check some loops, each a body for one batch, in one call."""
        call = ""
        for k, (_, body) in enumerate(loops):
            call += f"def loop_{k}(w):\n    for i, batch in enumerate(w.batches):\n"
            call += indent(dedent(body).strip(), " " * 8) + "\n"
        pairs = ", ".join(f"(loop_{k}, {loop[0]})" for k, loop in enumerate(loops))
        call += f"return [examine(*pair) for pair in [{pairs}]]\n"
        check(call, verdicts(letters), reason)

    scale = "w.optimizer.zero_grad()\nw.scaler.scale(loss_of(w.net, batch)).backward()\n"
    dropped = "w.optimizer.zero_grad()\nloss = loss_of(w.net, batch)\n"
    dropped += "w.scaler.scale(loss)\nloss.backward()\n"
    step = "w.scaler.step(w.optimizer)\n"
    unscale = "w.scaler.unscale_(w.optimizer)\n"
    update = "w.scaler.update()\n"
    clip = "clip_grad_norm_(w.net.parameters(), 1.0)\n"
    critic = "w.critic_optimizer.zero_grad()\n"
    critic += "w.scaler.scale(loss_of(w.critic, batch)).backward()\n"
    critic_step = "w.scaler.step(w.critic_optimizer)\n"
    quarter = "w.scaler.scale(loss_of(w.net, batch) / 4).backward()\n"
    fourth = "if i % 4 == 3:\n" + indent(step + update + "w.optimizer.zero_grad()\n", "    ")
    by_hand = "for p in w.net.parameters():\n    p.grad /= w.scaler.get_scale()\n"
    t08_1_check(
        raised,
        "xxxxx",
        ("fp32", scale + step),
        ("fp32", scale + step + update + update),
        ("paired", scale + step + critic_step + update),
        ("clipped", scale + unscale + clip + unscale + step + update),
        (
            "fp32",
            scale.replace("w.scaler.scale(loss_of(w.net, batch))", "loss_of(w.net, batch)") + step,
        ),
    )
    t08_1_check(
        told,
        "sssssssss",
        ("fp32", dropped + step + update),
        ("fp32", scale + by_hand + step + update),
        ("fp32", scale + step + update + "w.optimizer.step()\n"),
        ("grouped", quarter.replace(" / 4", "") + fourth),
        ("grouped", quarter + step + update),
        ("paired", scale + critic + step + update),
        ("fp32", "loss_of(w.net, batch)\n"),
        ("fp32", scale.replace("scale(loss_of", "scale(1.03 * loss_of") + step + update),
        ("fp32", scale.replace("scale(loss_of", "scale(0.97 * loss_of") + step + update),
    )
    before = "scale = w.scaler.get_scale()\n"
    waits = "if w.scaler.get_scale() >= scale:\n    w.scheduler.step()\n"
    t08_1_check(
        fine,
        "rrrrrr",
        ("fp32", scale + step + update),
        ("grouped", quarter + fourth),
        ("paired", scale + critic + step + critic_step + update),
        ("decaying", scale + before + step + update + waits),
        ("clipped", scale + clip.replace("1.0", "w.scaler.get_scale()") + step + update),
        ("fp32", scale + unscale + step + update),
    )
    from random import Random

    t08_1_random = Random(801)
    for _ in range(6):
        share = t08_1_random.choice(((0.001, 0.0095), (0.0105, 0.06)))
        share = t08_1_random.uniform(*share)
        off = [0.0] * 54
        for place in t08_1_random.sample(range(54), t08_1_random.choice((1, 6, 54))):
            off[place] = t08_1_random.choice((1.0, -1.0))
        call = f"return examine(off_by({share!r}, torch.tensor({off})), paired)"
        check(dedent(off_by) + call, "right" if share < 0.01 else "silent", bound)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## The five that raise

What this PyTorch says, loop by loop:
"""


# %%
from textwrap import wrap


def attempt(loop, world):
    """Return what a loop raised, or "nothing"."""
    try:
        loop(world)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()}"
    return "nothing"


# %% tags=["nbval-ignore-output"]
for loop in loops:
    said = wrap(attempt(loop, World()), 68)
    print(loop.__name__[-1], "\n  ".join(said))

# %% [markdown]
r"""
Each message has its thread, and each is now easy to read:

- **b** unscales in each micro-batch. Gradients are divided by the scale once per step: after the
  last micro-batch
  ([Swin-Transformer#311](https://github.com/microsoft/Swin-Transformer/issues/311)).
- **d** has FP16 weights, and with them FP16 gradients. Autocast needs no `.half()`: it casts what
  an operation needs, and the weights stay FP32
  ([LLaVA#363](https://github.com/haotian-liu/LLaVA/issues/363)).
- **e** calls `update()` where no step was taken. There is no update without a step before it.
- **g** unscales after the step, when it is too late for clipping.
- **i** hands the FP16 result of an autocast region to an FP32 layer outside of it.

### "expected scalar type Half but found Float"

The words of **i** differ from layer to layer and from version to version: older reports read
`expected scalar type Half but found Float`
([apex#798](https://github.com/NVIDIA/apex/issues/798)), some newer ones
`expected mat1 and mat2 to have the same dtype, but got: float != c10::Half`
([KoPA#11](https://github.com/zjukg/KoPA/issues/11)). They all mean that an operation which nobody
casts for met two types, usually outside of autocast. This PyTorch says:
"""


# %%
def complain(name, call):
    try:
        call(torch.ones(1, 2, 2).half())
    except RuntimeError as error:
        print(f"{name:8} {str(error).splitlines()[0]}")


# %% tags=["nbval-ignore-output"]
one = torch.ones(1, 2, 2)
complain("Linear", torch.nn.Linear(2, 2))
complain("Conv1d", torch.nn.Conv1d(2, 2, 1))
complain("bmm", lambda half: torch.bmm(half, one))
complain("einsum", lambda half: torch.einsum("bij,bjk->bik", half, one))

# %% [markdown]
r"""
The cure is one of two: take the layer into the autocast region, or write `features.float()` where
FP32 is meant. Not a `.half()` on the layer: that leads to **d**.

## The five that do not

How far did they come, and how far should they have?
"""

# %%
silent = {}
for letter in "acfhj":
    k = "abcdefghij".index(letter)
    silent[f"loop {letter}"] = loops[k], meant[k]

# %% tags=["nbval-ignore-output"]
for name, (loop, reference) in silent.items():
    w, model = World(), World(broken=False)
    loop(w)
    reference(model)
    came, should = w.moved().norm(), model.moved().norm()
    print(f"{name}: {came:.4f}, as meant {should:.4f}")

# %% [markdown]
r"""
And here is what one would see: the loss of a probe batch, summed over both nets, in longer and
faster runs. Would you have noticed?
"""

# %%
from ampcourse.plotting import show
from ampcourse.plotting.loop_pairs import loop_pairs


# %%
def course(loop, broken):
    """Return a probe's loss before each batch of a longer run."""
    w, seen = World(broken, batches=60), []
    for optimizer in (w.optimizer, w.critic_optimizer):
        optimizer.param_groups[0]["lr"] *= 8
    probe, batches = w.batches[0], w.batches

    def watched():
        for batch in batches:
            losses = fp32_loss(w.net, probe), fp32_loss(w.critic, probe)
            seen.append(sum(losses).item())
            yield batch

    w.batches = watched()
    loop(w)
    return seen


# %%
def waiting(seen):
    """Let a run without broken batches stand still where they were."""
    return seen[:4] + [seen[4]] * 4 + seen[4:]


# %% tags=["nbval-ignore-output"]
pairs = {}
for name, (loop, reference) in silent.items():
    pairs[name] = course(loop, True), waiting(course(reference, False))
show(
    loop_pairs(pairs),
    alt="Five panels, loss over batches, each with the loop and what "
    "was meant. a stays flat, c lies close to what was meant, f a "
    "little above it, h explodes after some batches, and j ends at "
    "the first broken batch.",
)

# %% [markdown]
r"""
**c** and **f** look healthy. **a** passes for a learning rate that is too small. **h** looks like a
matter of the penalty's weight, and **j** dies (the cross: NaN from there on) only when it meets an
inf; without one it would be right.

## a: how much does the order cost?

A clip shortens a gradient that is longer than `max_norm`. Before `unscale_` it sees the gradient
times the scale, and shortens that; then `step` divides by the scale. Play with the three numbers:
"""


# %%
def update_length(norm, max_norm, scale, unscale_first):
    """Return the length of an update by a gradient of length norm."""
    w = torch.nn.Parameter(torch.zeros(1))
    sgd = torch.optim.SGD([w], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    scaler.scale(norm * w.sum()).backward()
    if unscale_first:
        scaler.unscale_(sgd)
    clip_grad_norm_([w], max_norm)
    scaler.step(sgd)
    return abs(w.item())


# %%
norm, max_norm = 10.0, 1.0
for scale in (1.0, 16.0, 1024.0, 65536.0):
    right = update_length(norm, max_norm, scale, True)
    wrong = update_length(norm, max_norm, scale, False)
    print(f"scale {scale:5.0f}: {right:.6f}, wrong order {wrong:.6f}")

# %% [markdown]
r"""
Try a norm of 0.001: the right loop does not clip it at all; the wrong one does, once the scale is
above 1000. And a norm of 0.00001 at scale 65536: which order is wrong now?

### t08_2 · Clip at the right place

`shrink(norm, max_norm, scale)`: by which factor is the update of loop **a** too short? That is
the length of the right update divided by that of the wrong one, for a gradient of length `norm`
(before scaling), without rounding. It holds for any positive numbers, also where nothing is
clipped in one order or in either.

`clipped_step(net, optimizer, scaler, rows, max_norm)`: one training step with clipping, where the
loss is `score(net, rows)`. It must also do the right thing if a gradient is infinite: take no step,
and let the scaler back off.

`score` is a loss whose gradient one can read off, from here to the end of the lesson: the mean
output of a linear net without bias. Its gradient is the mean of the rows, whatever the weights.
With `rows = [[3.0, 4.0]]` it is (3, 4), of length 5.
"""


# %% tags=["setup"]
def linear(*weights):
    """Return a linear net without bias, with these weights."""
    net = torch.nn.Linear(len(weights), 1, bias=False)
    net.weight.data[:] = torch.tensor(weights)
    return net


def score(net, rows):
    """Return the mean output for some rows; forward runs in FP16."""
    with torch.autocast("cpu", dtype=torch.float16):
        return net(torch.as_tensor(rows)).float().mean()


def read(net):
    """Return a linear net's weights, rounded to three decimals."""
    weights = net.weight.detach().flatten().tolist()
    return [round(w, 3) + 0.0 for w in weights]


def kit(*weights, lr=1.0, scale=256.0, growth_interval=2000):
    """Return a linear net, SGD for it, and a scaler."""
    net = linear(*weights)
    sgd = torch.optim.SGD(net.parameters(), lr=lr)
    options = {"init_scale": scale, "growth_interval": growth_interval}
    return net, sgd, torch.amp.GradScaler("cpu", **options)


def state(scaler):
    """Return a scaler's scale and its count of good steps."""
    return scaler.get_scale(), scaler.state_dict()["_growth_tracker"]


# %% task="t08_2"
def shrink(norm, max_norm, scale):
    """Return by which factor loop a's update is too short."""
    ### BEGIN SOLUTION
    right = min(norm, max_norm)
    wrong = min(norm * scale, max_norm) / scale
    return right / wrong
    ### END SOLUTION


def clipped_step(net, optimizer, scaler, rows, max_norm):
    """Take one step on score(net, rows), clipped to max_norm."""
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    scaler.scale(score(net, rows)).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    ### END SOLUTION


# %% check="t08_2" points=4
with task("t08_2"):
    factor = "the right update's length by the wrong one's: each is a minimum"
    clips = "the true gradient is clipped: unscale_, clip, step, update"
    safe = "an infinite gradient: no step, a smaller scale, and the next step as always"
    harmless = "the order is not harmless: the clip sees the scaled gradient"
    always = "where nothing needed clipping, the wrong update is still clipped, but by less"
    below = "a scaled gradient that is short enough is not clipped in the wrong order either"
    down = "that is the wrong update by the right one: invert it"
    call = "[float(shrink(norm, top, scale)) for norm, top, scale in {}]"
    cases = [(16.0, 1.0, 65536.0), (0.25, 2.0, 1024.0), (2**-20, 1.0, 4096.0), (8.0, 4.0, 0.25)]
    traps = {harmless: [1.0] * 4, always: [65536.0, 1024.0, 4096.0, 0.25]}
    traps |= {below: [65536.0, 128.0, 2**-8, 0.25], down: [2**-16, 2**-7, 1.0, 2.0]}
    traps |= {
        "with a scale below 1 the wrong order can even lengthen it": [65536.0, 128.0, 1.0, 1.0]
    }
    check(call.format(cases), [65536.0, 128.0, 1.0, 0.5], factor, traps)
    steps = """
        net, sgd, scaler = kit(*{}, scale={})
        for rows in {}:
            clipped_step(net, sgd, scaler, rows, {})
        return read(net)
    """
    wrong_order = "clipped while it was still scaled: unscale_ comes first"
    unclipped = "the gradient was not clipped"
    by_value = "clip the norm of the whole gradient, not each of its elements"
    twice = "divided by the scale twice: unscale_ does it, and step would, if it did not know"
    full = "a gradient shorter than max_norm stays as it is: clipping only shortens"
    added = "the gradient of the step before was still there: zero_grad"
    traps = {unclipped: [-30.0, -40.0], by_value: [-5.0, -5.0]}
    check(steps.format([0.0, 0.0], 8.0, [[[30.0, 40.0]]], 5.0), [-3.0, -4.0], clips, traps)
    two = [[[3.0, 4.0]], [[3.0, 4.0]]]
    check(
        steps.format([0.0, 0.0], 16.0, two, 10.0),
        [-6.0, -8.0],
        clips,
        {added: [round(-6.1875, 3), -8.25]},
    )
    traps = {full: [-6.0, -8.0], wrong_order: [-0.375, -0.5]}
    traps |= {twice: [round(-3 / 16, 3), -0.25]}
    check(steps.format([0.0, 0.0], 16.0, two[:1], 10.0), [-3.0, -4.0], clips, traps)
    story = """
        net, sgd, scaler = kit(1.0, 2.0, scale={}, growth_interval=2)
        seen = []
        for rows in {}:
            clipped_step(net, sgd, scaler, rows, {})
            seen.append((read(net), *state(scaler)))
        return seen
    """
    rows = [[[30.0, 40.0]], [[inf, 1.0]], [[30.0, 40.0]], [[0.0, 2.0]]]
    right = [([-2.0, -2.0], 8.0, 1), ([-2.0, -2.0], 4.0, 0)]
    right += [([-5.0, -6.0], 4.0, 1), ([-5.0, -8.0], 8.0, 0)]
    stepped = "an inf went into the weights: scaler.step would have skipped"
    bad = [right[0], ([nan, -2.0], 4.0, 0), ([nan, -6.0], 4.0, 1), ([nan, -8.0], 8.0, 0)]
    traps = {stepped: bad}
    check(story.format(8.0, rows, 5.0), right, safe, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t08_2_random = Random(802)

    def t08_2_clip(norm, max_norm):
        """Let torch clip a gradient of one element, so large that its 1e-6 does not count."""
        p = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        p.grad = torch.tensor([norm * 2.0**40], dtype=torch.float64)
        torch.nn.utils.clip_grad_norm_([p], max_norm * 2.0**40)
        return p.grad.item() / 2.0**40

    def t08_2_torch(norm, max_norm, scale):
        return t08_2_clip(norm, max_norm) / (t08_2_clip(norm * scale, max_norm) / scale)

    for _ in range(8):
        norm, top = (2.0 ** t08_2_random.uniform(-8, 8) for _ in range(2))
        scale = 2.0 ** t08_2_random.randint(-4, 20)
        right = t08_2_torch(norm, top, scale)
        call = f"float(shrink({norm!r}, {top!r}, {scale!r}))"
        check(call, between(right * (1 - 1e-9), right * (1 + 1e-9)), factor)
    cases = [(2.0**k, 2.0 ** (-2 * k), 2.0 ** (9 - k)) for k in range(-6, 7)]
    right = [min(n, t) / (min(n * s, t) / s) for n, t, s in cases]
    check(f"[float(shrink(*case)) for case in {cases}]", right, factor)
    triples = [(3, 4, 5), (4, 3, 5), (-3, 4, 5), (6, -8, 10), (-8, -6, 10)]
    for scale in (2.0, 32.0, 512.0):
        a, b, length = t08_2_random.choice(triples)
        times = t08_2_random.choice((2, 3, 5))
        rows = [[[float(times * a), float(times * b)]], [[a / 8, b / 8]]]
        right = [-a - a / 8, -b - b / 8]
        check(steps.format([0.0, 0.0], scale, rows, float(length)), right, clips)
        bad = t08_2_random.choice((inf, -inf))
        rows = [rows[0], [[bad, 0.0]], rows[0], [[0.0, bad]], rows[0]]
        weights = [[1.0 - n * a, 2.0 - n * b] for n in (1, 1, 2, 2, 3)]
        scales = [scale, scale / 2, scale / 2, scale / 4, scale / 4]
        right = list(zip(weights, scales, (1, 0, 1, 0, 1), strict=True))
        check(story.format(scale, rows, float(length)), right, safe)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Accumulating

Where a large batch does not fit into memory, four micro-batches can stand for it. The scaled
gradients add up in `.grad`, and everything else happens once per large batch: unscale, clip, step,
update, clear. That the scale stays the same in between is no detail: gradients that were scaled
differently must not be added.

One thing is often forgotten, and it has nothing to do with AMP: a mean over four batches is a
quarter of the sum of their means.

### t08_3 · One step for several micro-batches

`accumulate(net, optimizer, scaler, batches, every, max_norm)` trains on all `batches` (a multiple
of `every`), with one step after each `every` of them. It must do what training on the joined batch
would: the same weights, the same scale, the same count of good steps. All micro-batches are equally
large, the loss of each is `score(net, rows)`, and the gradient of the joined batch is clipped to
`max_norm`. If one micro-batch has an infinite gradient, its whole group is skipped.
"""


# %% task="t08_3"
def accumulate(net, optimizer, scaler, batches, every, max_norm):
    """Train with one clipped step for every so many micro-batches."""
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    for i, rows in enumerate(batches, 1):
        scaler.scale(score(net, rows) / every).backward()
        if i % every == 0:
            scaler.unscale_(optimizer)
            clip_grad_norm_(net.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    ### END SOLUTION


# %% check="t08_3" points=4
with task("t08_3"):
    joined = "the step of a group is that of the joined batch"
    cut = "the gradient of the joined batch is clipped, once"
    counted = "the scaler sees one step per group: one update, one good step more"
    group = "an inf in one micro-batch: its group is skipped, and the next one is as always"
    run = """
        net, sgd, scaler = kit(0.0, 0.0, lr={}, scale={}, growth_interval={})
        accumulate(net, sgd, scaler, {}, {}, {})
        return {}
    """
    undivided = "the mean over a group is the sum by the number of micro-batches"
    all_batches = "divide by the size of a group, not by the number of all micro-batches"
    last_only = "only the last micro-batch of each group counted: clear the gradients per group"
    each = "that is a step for every micro-batch"
    kept = "gradients of a group were still there in the next: clear them after the step"
    batches = [[[4.0, 0.0]], [[0.0, 8.0]], [[2.0, 2.0]], [[2.0, 6.0]]]
    call = run.format(1.0, 8.0, 2000, batches, 2, inf, "read(net)")
    traps = {undivided: [-8.0, -16.0], all_batches: [-2.0, -4.0], last_only: [-1.0, -7.0]}
    traps |= {kept: [-4.25, -8.5]}
    check(call, [-4.0, -8.0], joined, traps)
    micro = "each micro-batch was clipped for itself"
    scaled = "clipped while it was still scaled"
    batches = [[[30.0, 0.0]], [[0.0, 40.0]], [[0.0, 0.0]], [[18.0, 24.0]]]
    call = run.format(1.0, 8.0, 2000, batches, 2, 5.0, "read(net)")
    traps = {scaled: [-0.75, -1.0], "the gradient was not clipped": [-24.0, -32.0]}
    traps |= {micro: [-4.213, -8.851]}
    check(call, [-6.0, -8.0], cut, traps)
    batches = [[[1.0, 2.0]]] * 12
    traps = {each: (512.0, 0)}
    check(run.format(0.5, 8.0, 2, batches, 4, inf, "state(scaler)"), (16.0, 1), counted, traps)
    batches = [[[4.0, 4.0]]] * 4 + [[[inf, 1.0]], [[8.0, 8.0]]] + [[[2.0, 4.0]]] * 2
    both = "read(net), state(scaler)"
    left = "an inf stays in .grad if it is not cleared after a skip"
    traps = {left: ([-8.0, -8.0], (2.0, 0))}
    dropped = "the rest of a group is not the group: skip it whole, and let the scaler back off"
    traps |= {dropped: ([-14.0, -16.0], (8.0, 4))}
    right = [-10.0, -12.0], (4.0, 1)
    check(run.format(1.0, 8.0, 2000, batches, 2, inf, both), right, group, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t08_3_random = Random(803)

    def t08_3_torch(batches, every, max_norm, lr, scale, interval):
        """Train on joined batches; return rounded weights and the scaler's state."""
        w = torch.nn.Parameter(torch.zeros(2))
        sgd = torch.optim.SGD([w], lr=lr)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
        for k in range(0, len(batches), every):
            rows = torch.tensor([row for batch in batches[k : k + every] for row in batch])
            sgd.zero_grad()
            scaler.scale((rows @ w).mean()).backward()
            scaler.unscale_(sgd)
            torch.nn.utils.clip_grad_norm_([w], max_norm)
            scaler.step(sgd)
            scaler.update()
        ends = scaler.get_scale(), scaler.state_dict()["_growth_tracker"]
        return [round(x, 3) + 0.0 for x in w.tolist()], ends

    def t08_3_batches(groups, every, rows=2, share=0.0):
        """Return random micro-batches of some rows each, some of them with an inf."""
        made = []
        for _ in range(groups * every):
            made.append([[float(t08_3_random.randint(-8, 8)) for _ in "xy"] for _ in range(rows)])
            if t08_3_random.random() < share:
                made[-1][-1][0] = t08_3_random.choice((inf, -inf))
        return made

    for every in (2, 4, 8):
        scale, interval = 2.0 ** t08_3_random.randint(1, 8), t08_3_random.randint(2, 4)
        for reason, batches, top, part in (
            (joined, t08_3_batches(3, every), inf, "read(net)"),
            (counted, t08_3_batches(7, every), inf, "state(scaler)"),
            (group, t08_3_batches(9, every, share=0.5 / every), inf, both),
        ):
            right = t08_3_torch(batches, every, top, 0.5, scale, interval)
            part_of = {"read(net)": right[0], "state(scaler)": right[1], both: right}[part]
            check(run.format(0.5, scale, interval, batches, every, top, part), part_of, reason)
        # The joined gradient is (3, 4) times a number, its parts point elsewhere.
        batches = []
        for k in (1, 2, 3):
            batches += [[[6.0 * k * every, 0.0]] * 2, [[0.0, 8.0 * k * every]] * 2]
            batches += [[[0.0, 0.0]] * 2] * (every - 2)
        right = [-9.0, -12.0]
        check(run.format(1.0, scale, 2000, batches, every, 5.0, "read(net)"), right, cut)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Two losses, two optimizers, one update

Loop **c** calls `update()` after each `step`, as a GAN training did
([neosr#9](https://github.com/neosr-project/neosr/pull/9)) and one library for all its users
([accelerate#439](https://github.com/huggingface/accelerate/issues/439)). Most of the time nothing
happens. But when the first `update()` moves the scale, the second optimizer's gradients were scaled
by the old one and are divided by the new one: half as large after growth, twice as large after a
backoff. And the scaler counts two steps for one.

### t08_4 · A pair of nets

`train_pair(a, b, sgd_a, sgd_b, scaler, batches)` takes one step per batch for both nets.
`two_losses(a, b, batch)` returns a pair of losses. Both optimizers are to minimise both: each steps
with the gradients of their sum. An optimizer whose gradients are infinite skips; the other one
steps.

The losses share a forward pass. Who calls `backward()` twice needs `retain_graph=True` in the
first call; there is another way.
"""


# %% tags=["setup"]
def two_losses(a, b, batch):
    """Return two losses of both nets; batch: rows for a, rows for b."""
    scores = score(a, batch[0]), score(b, batch[1])
    return scores[0] + 2 * scores[1], 3 * scores[0] - scores[1]


# %% task="t08_4"
def train_pair(a, b, sgd_a, sgd_b, scaler, batches):
    """Train two nets on two losses with one scaler."""
    ### BEGIN SOLUTION
    for batch in batches:
        sgd_a.zero_grad()
        sgd_b.zero_grad()
        first, second = two_losses(a, b, batch)
        scaler.scale(first).backward(retain_graph=True)
        scaler.scale(second).backward()
        scaler.step(sgd_a)
        scaler.step(sgd_b)
        scaler.update()
    ### END SOLUTION


# %% check="t08_4" points=3
with task("t08_4"):
    sums = "both losses count for both nets, in every batch anew"
    once = "one update per batch: both gradients are divided by the scale they were scaled with"
    own = "an inf in one net's gradients stops its optimizer, not the other, and counts once"
    run = """
        a, sgd_a, scaler = kit(0.0, 0.0, scale={}, growth_interval={})
        b, sgd_b, _ = kit(0.0, 0.0)
        train_pair(a, b, sgd_a, sgd_b, scaler, {})
        return {}
    """
    weights, ends = "read(a), read(b)", "read(a), read(b), state(scaler)"
    batches = [([[1.0, 2.0]], [[4.0, 8.0]]), ([[0.0, 4.0]], [[1.0, 1.0]])]
    right = [-4.0, -24.0], [-5.0, -9.0]
    first = "only the first loss counted"
    second = "only the second loss counted: zero_grad comes before both, not between them"
    each = "each net got one loss only: the losses depend on both"
    kept = "gradients of the batch before were still there: zero_grad"
    traps = {first: ([-1.0, -6.0], [-10.0, -18.0]), second: ([-3.0, -18.0], [5.0, 9.0])}
    traps |= {each: ([-1.0, -6.0], [5.0, 9.0]), kept: ([-4.5, -25.0], [-5.5, -10.0])}
    b_kept = "b went on with its gradients of the batch before: zero_grad for sgd_b, too"
    a_kept = "a went on with its gradients of the batch before: zero_grad for sgd_a, too"
    traps |= {b_kept: ([-4.0, -24.0], [-5.5, -10.0]), a_kept: ([-4.5, -25.0], [-5.0, -9.0])}
    check(run.format(8.0, 2000, batches, weights), right, sums, traps)
    batches = [([[1.0, 0.0]], [[0.0, 8.0]])] * 3
    right = [-12.0, 0.0], [0.0, -24.0], (64.0, 0)
    between_steps = "update() between the two steps: b's gradients were divided by another scale"
    traps = {between_steps: ([-12.0, 0.0], [0.0, -12.0], (512.0, 0))}
    check(run.format(8.0, 1, batches, ends), right, once, traps)
    batches = [([[inf, 1.0]], [[2.0, 2.0]]), ([[1.0, 1.0]], [[3.0, inf]]), ([[1.0, 1.0]],) * 2]
    right = [-8.0, -8.0], [-3.0, -3.0], (2.0, 1)
    both = "the other optimizer may step: its gradients were finite"
    anyway = "an infinite gradient went into the weights: scaler.step would have skipped"
    traps = {both: ([-4.0, -4.0], [-1.0, -1.0], (2.0, 1))}
    loss_seen = "look at gradients, not at the loss: it is inf for both nets"
    traps |= {loss_seen: ([-4.0, -4.0], [-1.0, -1.0], (8.0, 1))}
    two_scalers = "one scaler for both: with two, gradients of different scales were added"
    traps |= {two_scalers: ([-11.0, -11.0], [-3.0, -3.0], (4.0, 2))}
    traps |= {anyway: ([-inf, -12.0], [-6.0, nan], (2.0, 1))}
    check(run.format(8.0, 2000, batches, ends), right, own, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t08_4_random = Random(804)

    def t08_4_torch(batches, scale, interval):
        """Train with gradients computed by hand, and torch's optimizers and scaler."""
        a, b = (torch.nn.Parameter(torch.zeros(2)) for _ in range(2))
        optimizers = torch.optim.SGD([a], lr=1.0), torch.optim.SGD([b], lr=1.0)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
        scaler.scale(torch.ones(()))
        for for_a, for_b in batches:
            a.grad = 4 * torch.tensor(for_a).mean(0) * scaler.get_scale()
            b.grad = torch.tensor(for_b).mean(0) * scaler.get_scale()
            for optimizer in optimizers:
                scaler.step(optimizer)
            scaler.update()
        ends = scaler.get_scale(), scaler.state_dict()["_growth_tracker"]
        read = [[round(x, 3) + 0.0 for x in p.tolist()] for p in (a, b)]
        return *read, ends

    def t08_4_rows(share):
        rows = [[float(t08_4_random.randint(-8, 8)) for _ in "xy"] for _ in range(2)]
        if t08_4_random.random() < share:
            rows[0][t08_4_random.randrange(2)] = inf
        return rows

    for _ in range(3):
        scale, interval = 2.0 ** t08_4_random.randint(2, 8), t08_4_random.choice((1, 3))
        for reason, share, steps, text in (
            (sums, 0.0, 4, weights),
            (once, 0.0, 5, ends),
            (own, 0.4, 9, ends),
        ):
            batches = [(t08_4_rows(share), t08_4_rows(share)) for _ in range(steps)]
            if share:
                batches += [([[inf, 0.0]], [[1.0, 2.0]]), ([[1.0, 2.0]], [[-inf, 1.0]])]
            right = t08_4_torch(batches, scale, interval if reason is once else 2000)
            call = run.format(scale, interval if reason is once else 2000, batches, text)
            check(call, right[:2] if text == weights else right, reason)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Gradients inside the loss

A gradient penalty takes a gradient, makes a term of the loss of it, and takes the gradient of that.
The inner gradient flushes in FP16 like any other, so its loss has to be scaled. But the scaler does
not know of it: `unscale_` works on `.grad` only. Loop **h** put the scaled gradients into the
penalty, and their squares are scale² times too large. From 1024 on that overflowed four times
running, and the four broken batches halved the scale four times more: at 4 most of the error was
hidden. In the longer run of the figure the scale never settles; it is halved on and on. One divides
by hand, before anything is squared, and lets autograd see the division.

### t08_5 · A gradient penalty

`penalised_step(net, optimizer, scaler, rows, weight)` takes one training step on the loss
`score(net, rows)` plus the penalty: `weight` times the sum of the squares of all elements of the
gradient of `score(net, rows)` **with respect to the rows**. Return the penalty, unscaled, as a
Python float. As always, an infinite gradient means no step and a smaller scale.

`rows` is a float32 tensor; `rows.clone().requires_grad_()` is a copy one can differentiate by.
`torch.autograd.grad(y, x, create_graph=True)[0]` is the gradient of `y` with respect to `x`, in a
form that can be differentiated again.

With one row the gradient is that of a linear net with respect to its input: its weights. The
penalty is then `weight` times the square of their length, and pulls them towards 0.
"""


# %% task="t08_5"
def penalised_step(net, optimizer, scaler, rows, weight):
    """Take one step on score plus penalty; return the penalty."""
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    inputs = rows.clone().requires_grad_()
    loss = score(net, inputs)
    (scaled,) = torch.autograd.grad(scaler.scale(loss), inputs, create_graph=True)
    gradient = scaled / scaler.get_scale()
    penalty = weight * gradient.square().sum()
    scaler.scale(loss + penalty).backward()
    scaler.step(optimizer)
    scaler.update()
    return penalty.item()
    ### END SOLUTION


# %% check="t08_5" points=4
with task("t08_5"):
    from math import frexp

    import torch

    def near(value):
        """Accept what is within four float32 ulps: a sum may be rounded in many ways."""
        ulp = 2.0 ** (frexp(value)[1] - 24)
        return between(value - 4 * ulp, value + 4 * ulp)

    value = "the penalty is made of unscaled gradients"
    moves = "the step is that on the loss plus the penalty, both scaled and unscaled once"
    survives = "small gradients survive: the inner loss is scaled, too"
    again = "each step is a new one, a skipped one too: zero_grad first, update() last"
    run = """
        net, sgd, scaler = kit(*{}, lr={}, scale={})
        penalty = penalised_step(net, sgd, scaler, torch.tensor({}), {})
        return {}
    """
    squares = "scaled gradients went into the penalty: it is scale times scale too large"
    by_one = "divided after squaring: scale times too large. Divide the gradient by the scale"
    mean = "the sum of the squares, not their mean"
    root = "the squares, not the length"
    by_weights = "the gradient with respect to the rows, not to the weights"
    weights = [3.0, -4.0]
    call = run.format(weights, 1.0, 16.0, [[8.0, 2.0]], 0.5, "penalty")
    traps = {squares: 12.5 * 256, by_one: 12.5 * 16, mean: 6.25, root: 2.5}
    traps |= {"return the penalty without the loss": 28.5, by_weights: 34.0}
    traps |= {"return a Python float, not a tensor: .item()": torch.tensor(12.5)}
    check(call, near(12.5), value, traps)
    alone = "the penalty had no gradient: create_graph=True, and nothing detached on the way"
    bare = "the penalty's own backward pass was not scaled"
    without = "the loss itself was left out"
    stays = "no step was taken"
    both = "(round(float(penalty), 3), read(net))"
    call = run.format(weights, 0.5, 4.0, [[8.0, 2.0]], 0.5, both)
    traps = {alone: [-1.0, -5.0], bare: [-1.375, -4.5], without: [1.5, -2.0], stays: weights}
    traps = {cause: (12.5, moved) for cause, moved in traps.items()}
    traps |= {squares: (200.0, [3 - 0.5 * (8 + 3 * 16), -4 - 0.5 * (2 - 4 * 16)])}
    traps |= {by_one: (50.0, [3 - 0.5 * (8 + 3 * 4), -4 - 0.5 * (2 - 4 * 4)])}
    traps |= {by_weights: (34.0, [-1.0, -5.0])}
    check(call, (12.5, [-2.5, -3.0]), moves, traps)
    flushed = "the inner gradient of 2^-25 was flushed to 0 in FP16: scale the loss before it"
    small = """
        net, sgd, scaler = kit({w}, scale={scale})
        penalty = penalised_step(net, sgd, scaler, torch.ones({n}, 1), {weight})
        return penalty, read(net)
    """
    call = small.format(w=2**-15, scale=1024.0, n=1024, weight=2.0**26)
    traps = {flushed: (0.0, [-1.0])}
    check(call, (2.0**-14, [-5.0]), survives, traps)
    story = """
        net, sgd, scaler = kit(*{}, lr=0.5, scale={}, growth_interval=2)
        seen = []
        for row in {}:
            penalised_step(net, sgd, scaler, torch.tensor([row]), {})
            seen.append((read(net), *state(scaler)))
        return seen
    """
    rows = [[8.0, 2.0], [inf, 2.0], [2.0, 4.0]]
    right = [([-2.5, -3.0], 4.0, 1), ([-2.5, -3.0], 2.0, 0), ([-2.25, -3.5], 2.0, 1)]
    kept = "the gradient of the step before was still there, an inf even: zero_grad"
    stepped = "an inf went into the weights: scaler.step would have skipped"
    unseen = "the scaler has to see the inf, so that it backs off: step and update() as always"
    traps = {kept: [*right[:2], ([-2.5, -3.0], 1.0, 0)]}
    traps |= {stepped: [right[0], ([-inf, -2.5], 2.0, 0), ([nan, -3.25], 1.0, 0)]}
    traps |= {unseen: [right[0], ([-2.5, -3.0], 4.0, 1), ([-2.25, -3.5], 8.0, 0)]}
    check(story.format(weights, 4.0, rows, 0.5), right, again, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    t08_5_random = Random(805)

    def t08_5_torch(w, lr, rows, weight):
        """Take the step in float64, without any scale."""
        p = torch.nn.Parameter(torch.tensor(w, dtype=torch.float64))
        x = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
        loss = (x @ p).mean()
        (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
        penalty = weight * gradient.square().sum()
        (loss + penalty).backward()
        return penalty.item(), (p - lr * p.grad).tolist()

    def t08_5_story(w, scale, rows, weight):
        """Return weights and the scaler's state after each of some steps."""
        p, seen = torch.nn.Parameter(torch.tensor(w)), []
        sgd = torch.optim.SGD([p], lr=0.5)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=2)
        scaler.scale(torch.ones(()))
        for row in rows:
            p.grad = (torch.tensor(row) + 2 * weight * p.detach()) * scaler.get_scale()
            scaler.step(sgd)
            scaler.update()
            rounded = [round(n, 3) + 0.0 for n in p.tolist()]
            count = scaler.state_dict()["_growth_tracker"]
            seen.append((rounded, scaler.get_scale(), count))
        return seen

    def t08_5_rounded(numbers):
        return [round(n, 3) + 0.0 for n in numbers]

    for scale in (2.0, 8.0, 64.0, 256.0):
        w = [float(t08_5_random.randint(-8, 8)) for _ in range(3)]
        rows = [[float(t08_5_random.randint(-8, 8)) for _ in w] for _ in range(4)]
        weight, lr = t08_5_random.choice((0.25, 0.5, 2.0)), t08_5_random.choice((0.25, 0.5))
        penalty, moved = t08_5_torch(w, lr, rows, weight)
        check(run.format(w, lr, scale, rows, weight, "penalty"), near(penalty), value)
        check(run.format(w, lr, scale, rows, weight, "read(net)"), t08_5_rounded(moved), moves)
        bad = t08_5_random.choice((inf, -inf))
        rows = [[float(t08_5_random.randint(-8, 8)) for _ in w] for _ in range(3)]
        rows.insert(t08_5_random.choice((1, 2)), [w[0], bad, w[2]])
        weight = t08_5_random.choice((0.25, 0.5))
        right = t08_5_story(w, scale, rows, weight)
        check(story.format(w, scale, rows, weight), right, again)
    for power, scale in ((-15, 512.0), (-16, 2048.0), (-17, 4096.0)):
        w, weight = 2.0**power, 2.0**26
        penalty, moved = t08_5_torch([w], 1.0, [[1.0]] * 1024, weight)
        call = small.format(w=w, scale=scale, n=1024, weight=weight)
        check(call, (penalty, t08_5_rounded(moved)), survives)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What needs autocast, and what needs the scaler

Two beliefs, put to the test. *The backward pass belongs under autocast, too:* autograd already
knows in which type each operation ran, and goes back in that type. In this net every matrix product
ran in FP16. Here are all gradients of one batch, both ways:
"""


# %%
def gradients(wrapped):
    """Return a batch's gradients, backward() under autocast or not."""
    w = World()
    loss = w.scaler.scale(loss_of(w.net, w.batches[0]))
    with torch.autocast("cpu", dtype=torch.float16, enabled=wrapped):
        loss.backward()
    return torch.cat([p.grad.flatten() for p in w.net.parameters()])


# %% tags=["nbval-ignore-output"]
print("same bits:", torch.equal(gradients(True), gradients(False)))

# %% [markdown]
r"""
Nothing is gained. And something can be lost. Here is a layer that was kept in FP32, outside of
autocast, because its gradient is large: 100000, where FP16 ends at 65504.
"""


# %%
def kept_in_fp32(wrapped):
    """Return the gradient of a layer that autocast does not see."""
    layer = torch.nn.Linear(1, 1, bias=False)
    loss = 1e5 * layer(torch.ones(1, 1)).sum()
    with torch.autocast("cpu", dtype=torch.float16, enabled=wrapped):
        loss.backward()
    return layer.weight.grad.item()


# %% tags=["nbval-ignore-output"]
print("outside of autocast:", kept_in_fp32(False))
print("under autocast:     ", kept_in_fp32(True))

# %% [markdown]
r"""
Autocast cast the matrix product of the backward pass to FP16, and the care was in vain.

*Evaluation needs the scaler:* there is no gradient that could flush, so there is nothing to scale.
A loss that went through `scaler.scale` is no loss, but a loss times the scale. Under
`torch.no_grad()` both of these are right:
"""

# %% tags=["nbval-ignore-output"]
w = World()
with torch.no_grad():
    print(f"under autocast: {loss_of(w.net, w.batches[0]):.6f}")
    print(f"in FP32:        {fp32_loss(w.net, w.batches[0]):.6f}")

# %% [markdown]
r"""
They differ by FP16's rounding, in the fourth or fifth digit. Under autocast an evaluation is as
fast as the forward pass of the training, and shows the net as it was trained; in FP32 it shows the
weights without that rounding. Evaluate as the net will be used later, and never compare a number of
one kind with one of the other.

## A checkpoint that goes on

A run resumed from its weights alone goes on differently, as is reported of one framework after the
other ([transformers#11663](https://github.com/huggingface/transformers/pull/11663),
[the_well#77](https://github.com/PolymathicAI/the_well/issues/77)). To go on bit for bit takes all
that a step reads: the weights; the optimizer's momentum and learning rate; the scheduler's count;
the scaler's scale **and** its growth tracker; and the state of the random numbers, for dropout and
for the order of the data: `torch.get_rng_state()`, on a GPU `torch.cuda.get_rng_state_all()` as
well, and numpy's and Python's if the data loader uses them.

### t08_6 · A trainer that does it all

- `step(batch)` trains on `loss_of(self.net, batch)` with AMP (autocast ends before `backward()`),
  lets the scheduler step unless the scaler skipped, and returns the loss as a float. (The scale
  stays above 0 here.)
- `evaluate(batch)` returns the loss as a float, with dropout off, under autocast or in FP32 as you
  like, and changes nothing: no `.grad`, no random numbers, no scale, and the net is back in
  training mode afterwards.
- `state_dict()` returns all that a resumed training needs; `load_state_dict(state)` makes another
  trainer go on from there, bit for bit. Random numbers are those of `torch` on the CPU. Where the
  data stands is not the trainer's business here.

In between the state goes through a file. `torch.load` reads tensors, numbers, text, and lists and
dicts of them; for other objects its default `weights_only=True` raises an `UnpicklingError`, since
unpickling an object can run code. So store `state_dict()`s, not the net or the optimizer itself.
"""


# %% tags=["setup"]
import io
import pickle


def apparatus(seed, scale=256.0):
    """Return a net with dropout, SGD, a scheduler and a scaler."""
    torch.manual_seed(seed)
    nn = torch.nn
    first, second = nn.Linear(4, 8), nn.Linear(8, 1)
    net = nn.Sequential(first, nn.Dropout(0.5), nn.ReLU(), second)
    sgd = torch.optim.SGD(net.parameters(), lr=2**-6, momentum=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(sgd, 2, 0.5)
    options = {"init_scale": scale, "growth_interval": 3}
    return net, sgd, scheduler, torch.amp.GradScaler("cpu", **options)


def through_a_file(state):
    """Return what torch.load reads of what torch.save wrote."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    try:
        return torch.load(file)
    except pickle.UnpicklingError:
        advice = "torch.load refuses objects: save their state_dict()s"
        raise pickle.UnpicklingError(advice) from None


def bits(net):
    """Return all weights and biases as exact text."""
    flat = torch.cat([p.detach().flatten() for p in net.parameters()])
    return [w.hex() for w in flat.tolist()]


def parts(trainer):
    """Return, by name, everything that a step depends on."""
    sgd, found = trainer.optimizer, {"weights": bits(trainer.net)}
    states = [sgd.state[p] for p in trainer.net.parameters()]
    memory = [one.get("momentum_buffer") for one in states]
    found["momentum"] = [m if m is None else m.tolist() for m in memory]
    found["rate"] = sgd.param_groups[0]["lr"]
    found["schedule"] = trainer.scheduler.last_epoch
    found["scale"], found["count"] = state(trainer.scaler)
    found["noise"] = torch.rand(4).tolist()
    return found


# %% task="t08_6"
class Trainer:
    """Trains a net with AMP; can evaluate, stop and go on."""

    def __init__(self, net, optimizer, scheduler, scaler):
        self.net, self.optimizer = net, optimizer
        self.scheduler, self.scaler = scheduler, scaler

    def step(self, batch):
        """Train on one batch and return its loss as a float."""
        ### BEGIN SOLUTION
        self.optimizer.zero_grad()
        loss = loss_of(self.net, batch)
        self.scaler.scale(loss).backward()
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.scaler.get_scale() >= before:
            self.scheduler.step()
        return loss.item()
        ### END SOLUTION

    def evaluate(self, batch):
        """Return the loss of a batch as a float and change nothing."""
        ### BEGIN SOLUTION
        self.net.eval()
        with torch.no_grad():
            loss = loss_of(self.net, batch)
        self.net.train()
        return loss.item()
        ### END SOLUTION

    def state_dict(self):
        """Return everything that a resumed training needs."""
        ### BEGIN SOLUTION
        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": torch.get_rng_state(),
        }
        ### END SOLUTION

    def load_state_dict(self, state):
        """Go on from a state."""
        ### BEGIN SOLUTION
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"])
        ### END SOLUTION


# %% check="t08_6" points=6
with task("t08_6"):
    steps = "a step: zero_grad, scale, backward, step, update; the loss comes back unscaled"
    waits = "the schedule goes on after each step that was taken, and after no other"
    evaluated = "evaluation: the loss with dropout off, unscaled"
    traceless = "evaluation leaves no trace: training goes on as if it had not been"
    complete = "after loading, all that a step depends on is what it was"
    resumed = "a resumed training ends with the same bits as one that was not interrupted"
    story = """
        net = linear({})
        sgd = torch.optim.SGD(net.parameters(), lr=0.25)
        scheduler = torch.optim.lr_scheduler.StepLR(sgd, 1, 0.5)
        scaler = torch.amp.GradScaler("cpu", init_scale={}, growth_interval=2)
        trainer, seen = Trainer(net, sgd, scheduler, scaler), []
        for x, y in {}:
            loss = trainer.step((torch.tensor([[x]]), torch.tensor([[[y]]])))
            seen.append({})
        return seen
    """
    batches = [([1.0, 0.0], 2.0), ([0.0, 1.0], 4.0), ([1.0, 0.0], 2.0)]
    look = "(loss, read(net))"
    right = [(4.0, [1.0, 0.0]), (16.0, [1.0, 1.0]), (1.0, [1.125, 1.0])]
    scaled = "that loss is scaled: return the one before"
    kept = "the gradient of the batch before was still there: zero_grad"
    traps = {scaled: [(64.0, [1.0, 0.0]), (256.0, [1.0, 1.0]), (32.0, [1.125, 1.0])]}
    traps |= {kept: [(4.0, [1.0, 0.0]), (16.0, [1.031, 1.0]), (0.9384765625, [1.153, 1.016])]}
    check(story.format("0.0, 0.0", 16.0, batches, look), right, steps, traps)
    batches = [([1.0, 1.0], 4.0), ([inf, 1.0], 1.0), ([1.0, 1.0], 2.0), ([1.0, -inf], 1.0)]
    look = '(scheduler.last_epoch, sgd.param_groups[0]["lr"], *state(scaler))'
    right = [(1, 0.125, 16.0, 1), (1, 0.125, 8.0, 0), (2, 0.0625, 8.0, 1), (2, 0.0625, 4.0, 0)]
    anyway = "the schedule went on at a skipped step"
    growing = "a scale that grows is no skip: that step was taken"
    traps = {
        anyway: [(1, 0.125, 16.0, 1), (2, 0.0625, 8.0, 0), (3, 2**-5, 8.0, 1), (4, 2**-6, 4.0, 0)]
    }
    check(story.format("1.0, 1.0", 16.0, batches, look), right, waits, traps)
    batches = [([1.0, 1.0], 4.0)] * 3
    look = "scheduler.last_epoch"
    check(story.format("1.0, 1.0", 16.0, batches, look), [1, 2, 3], waits, {growing: [1, 1, 2]})
    by_loss = "the loss was finite, its scaled gradient was not: ask the scaler, not the loss"
    call = story.format("1.0, 1.0", 2.0**40, batches, "(scheduler.last_epoch, scaler.get_scale())")
    right = [(0, 2.0**39), (0, 2.0**38), (0, 2.0**37)]
    check(call, right, waits, {by_loss: [(1, 2.0**39), (2, 2.0**38), (3, 2.0**37)]})
    outside = "autocast ends before backward()"
    spy = """
        net, seen = linear({}), []
        net.weight.register_hook(lambda _: seen.append(torch.is_autocast_enabled("cpu")))
        sgd = torch.optim.SGD(net.parameters(), lr=0.25)
        scheduler = torch.optim.lr_scheduler.StepLR(sgd, 1, 0.5)
        trainer = Trainer(net, sgd, scheduler, torch.amp.GradScaler("cpu", init_scale=16.0))
        for _ in range({}):
            trainer.step((torch.ones(1, 1, {}), torch.ones(1, 1, 1)))
        return seen
    """
    under = "backward() ran under autocast: it needs none, each operation goes back in its own type"
    check(spy.format("1.0, 2.0", 1, 2), [False], outside, {under: [True]})
    trial = """
        net = torch.nn.Sequential(torch.nn.Dropout(0.5), linear({}))
        sgd = torch.optim.SGD(net.parameters(), lr=0.25)
        scheduler = torch.optim.lr_scheduler.StepLR(sgd, 1, 0.5)
        scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
        trainer = Trainer(net, sgd, scheduler, scaler)
        scaler.scale(torch.ones(1))
        return [trainer.evaluate((torch.tensor([[x]]), torch.tensor([[[y]]]))) for x, y in {}]
    """
    batches = [([1.0, 1.0], 5.0), ([2.0, 0.0], 5.0), ([1.0, -1.0], 0.0), ([3.0, 3.0], 9.0)]
    traps = {"evaluation needs no scaler: nothing is scaled": [64.0, 16.0, 16.0, 2304.0]}
    check(trial.format("3.0, 4.0", batches), [4.0, 1.0, 1.0, 144.0], evaluated, traps)
    traces = """
        batches = World({broken}).batches
        trainer = Trainer(*apparatus({seed}))
        for batch in batches[:{k}]:
            trainer.step(batch)
        trainer.optimizer.zero_grad()
        random = torch.get_rng_state()
        before = parts(trainer)
        torch.set_rng_state(random)
        trainer.evaluate(batches[{k}])
        after = parts(trainer)
        changed = [name for name in before if before[name] != after[name]]
        changed += ["training mode"] * (not all(m.training for m in trainer.net.modules()))
        return changed + ["gradients"] * any(p.grad is not None for p in trainer.net.parameters())
    """
    evaluating = "the net stayed in evaluation mode: training would go on without dropout"
    noisy = "evaluation drew random numbers: dropout was not off"
    backward = "evaluation ran backward()"
    traps = {evaluating: ["training mode"], noisy: ["noise"], backward: ["gradients"]}
    check(traces.format(seed=1, broken=True, k=2), [], traceless, traps)
    after_loading = """
        batches = World().batches
        one = Trainer(*apparatus({}))
        for batch in batches[:{}]:
            one.step(batch)
        saved = through_a_file(one.state_dict())
        before = parts(one)
        two = Trainer(*apparatus({}, scale=8.0))
        two.load_state_dict(saved)
        after = parts(two)
        return [name for name in before if before[name] != after[name]]
    """
    names = ["weights", "momentum", "rate", "schedule", "scale", "count", "noise"]
    traps = {
        "weights alone are no checkpoint": names[1:],
        "the scaler is missing: its scale and its growth tracker": ["scale", "count"],
        "the growth tracker is missing: it is half of the scaler's state": ["count"],
        "the random numbers are missing: dropout will drop others": ["noise"],
        "the scheduler's count is missing: the rate will fall at the wrong steps": ["schedule"],
        "the optimizer is missing: its momentum and its learning rate": ["momentum", "rate"],
    }
    check(after_loading.format(1, 2, 2), [], complete, traps)
    interrupted = """
        batches = World().batches
        one = Trainer(*apparatus({seed}))
        for batch in batches[:{k}]:
            one.step(batch)
        saved = through_a_file(one.state_dict())
        for batch in batches[{k}:]:
            one.step(batch)
        two = Trainer(*apparatus({seed} + 1, scale=8.0))
        two.load_state_dict(saved)
        for batch in batches[{k}:]:
            two.step(batch)
        return {result}
    """
    same = "bits(one.net) == bits(two.net)"
    check(interrupted.format(seed=3, k=9, result=same), True, resumed)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t08_6_random = Random(806)

    def t08_6_loss(net, batch):
        with torch.autocast("cpu", dtype=torch.float16):
            return torch.nn.functional.mse_loss(net(batch[0]), batch[1])

    def t08_6_batches():
        """Return the twelve batches of the world."""
        torch.manual_seed(8)
        torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), torch.nn.Linear(4, 1)
        x = torch.randn(12, 8, 4)
        y = x.sum(2, keepdim=True)
        x[4:8, 0, 0] = inf
        return list(zip(x, y, strict=True))

    def t08_6_torch(seed):
        """Train without interruption; four broken batches do not move anything."""
        batches = t08_6_batches()
        torch.manual_seed(seed)
        layers = torch.nn.Linear(4, 8), torch.nn.Dropout(0.5)
        net = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(8, 1))
        sgd = torch.optim.SGD(net.parameters(), lr=2**-6, momentum=0.5)
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=3)
        taken = 0
        for batch in batches:
            sgd.param_groups[0]["lr"] = 2**-6 * 0.5 ** (taken // 2)
            sgd.zero_grad()
            scaler.scale(t08_6_loss(net, batch)).backward()
            taken += all(p.grad.isfinite().all().item() for p in net.parameters())
            scaler.step(sgd)
            scaler.update()
        return [x.hex() for p in net.parameters() for x in p.detach().flatten().tolist()]

    def t08_6_plain(weights, batches, scale=16.0):
        """Return losses, weights, taken steps and scaler states, step by step, in float64."""
        w, rate, count, rows = torch.tensor(weights).double(), 0.25, 0, []
        taken = 0
        for x, y in batches:
            x = torch.tensor(x).double()
            error = (x * w).sum() - y
            gradient = 2 * error * x
            # From 65520 on, FP16 rounds to inf.
            good = bool(gradient.isfinite().all() and (2 * error * scale).abs() < 65520)
            if good:
                w, rate, taken, count = w - rate * gradient, rate / 2, taken + 1, count + 1
            else:
                scale, count = scale / 2, 0
            if count == 2:
                scale, count = scale * 2, 0
            numbers = [round(n, 3) + 0.0 for n in w.tolist()]
            rows.append(((error**2).item(), numbers, (taken, rate, scale, count)))
        return rows

    def t08_6_one_hot(good):
        """Return samples that touch one weight each, or hold an inf."""
        made = []
        for n in range(5):
            x = [0.0, 0.0]
            x[n % 2] = t08_6_random.choice((1.0, -1.0))
            if not good and t08_6_random.random() < 0.5:
                x = [1.0, t08_6_random.choice((inf, -inf))]
            made.append((x, float(t08_6_random.randint(-4, 4))))
        return made

    look = '(scheduler.last_epoch, sgd.param_groups[0]["lr"], *state(scaler))'
    for k in range(3):
        batches = t08_6_one_hot(good=True)
        right = [row[:2] for row in t08_6_plain([0.0, 0.0], batches)]
        check(story.format("0.0, 0.0", 16.0, batches, "(loss, read(net))"), right, steps)
        batches = [([1.0, inf], 1.0), *t08_6_one_hot(good=False), ([1.0, 0.0], 2.0)]
        right = [row[2] for row in t08_6_plain([1.0, 2.0], batches)]
        check(story.format("1.0, 2.0", 16.0, batches, look), right, waits)
        batches = [([1.0, 0.0], 4.0), *t08_6_one_hot(good=True), ([0.0, 1.0], -1.0)]
        scale = 2.0 ** (14 + k)
        right = [row[2] for row in t08_6_plain([1.0, 2.0], batches, scale)]
        check(story.format("1.0, 2.0", scale, batches, look), right, waits)
        check(spy.format("1.0, 2.0, 3.0", k + 2, 3), [False] * (k + 2), outside)
        w = [float(t08_6_random.randint(-5, 5)) for _ in range(2)]
        rows = [[float(t08_6_random.randint(-5, 5)) for _ in "xy"] for _ in range(6)]
        batches = [(x, float(k)) for x in rows]
        right = [(w[0] * x[0] + w[1] * x[1] - y) ** 2 for x, y in batches]
        check(trial.format(f"{w[0]}, {w[1]}", batches), right, evaluated)
        check(traces.format(seed=5 + k, broken=bool(k % 2), k=2 * k), [], traceless)
        check(after_loading.format(k + 4, (1, 5, 10)[k], k + 9), [], complete)
        seed = t08_6_random.randint(10, 10**6)
        call = interrupted.format(seed=seed, k=(2, 6, 11)[k], result="bits(two.net)")
        check(call, t08_6_torch(seed), resumed)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## A second pair of eyes

Not every loop has a reference. `watch` of this course looks at a model, an optimizer and a scaler
while a loop runs, and names what it knows to be wrong. Here it goes through the zoo. (In each run
it also finds the inf in the data; that is left out here.)
"""

# %%
from contextlib import suppress

from ampcourse.diagnose import watch

# %% tags=["nbval-ignore-output"]
for loop in loops:
    w = World()
    watched = watch(w.net, w.optimizer, w.scaler)
    with suppress(Exception), watched as report:
        loop(w)
    kinds = [finding.kind for finding in report.findings]
    print(loop.__name__, *[k for k in kinds if k != "nonfinite_input"])

# %% [markdown]
r"""
`print(report)` says more: where, why, and in which lesson to read on. For a script of your own
there is `ampcourse diagnose script.py`. It knows mistakes by their kind, as you do now; a loop that
is wrong in a new way still needs a reference.

## What people get wrong

First your predictions:
"""

# %% tags=["nbval-ignore-output"]
quiet = [f for f in loops if attempt(f, World()) == "nothing"]
names = "".join(loop.__name__[-1] for loop in quiet)
right = update_length(10.0, 1.0, 65536.0, True)
wrong = update_length(10.0, 1.0, 65536.0, False)
print(f"silent:     you said {my_silent}; {names}")
print(f"too small:  you said {my_shrink}; {right / wrong:.0f} times")
print(f"evaluation: you said {my_evaluation}; none (autocast: speed)")
print(f"checkpoint: you said {my_resume};")
print("            optimizer, scheduler, scaler, random numbers")

# %% [markdown]
r"""
- **"The order of clip and unscale_ is harmless."** The update shrinks by up to the scale, and
  nothing says so (t08_2).
- **"Unscale in each micro-step."** Once per step, after the last one; the second call raises
  (t08_3).
- **"Accumulated losses add up by themselves."** They do, and the sum is `every` times the mean
  (t08_3).
- **"One `update()` for each optimizer."** One for all, at the end. In between it changes the scale
  under the second optimizer's feet; two at the end raise (t08_4).
- **"Two optimizers need two scalers."** Gradients of losses that share a net must have one scale
  (t08_4).
- **"unscale_ has been called, so `optimizer.step()` will do."** It takes the step with the inf as
  well. `scaler.step` knows what to skip (loop j).
- **"A penalty is made of gradients, and gradients are unscaled by the scaler."** Only those in
  `.grad` (t08_5).
- **"`.half()` and a scaler."** FP16 weights give FP16 gradients, and these are refused (loop d).
- **"Half but found Float: cast the layer to half."** Take it into the autocast region (loop i).
- **"The backward pass belongs under autocast."** At best it comes out the same without; a layer
  kept in FP32 gets an FP16 backward pass.
- **"Evaluation needs a scaler."** It has no gradients, and may go without autocast, too (t08_6).
- **"A finite loss means a step."** Its scaled gradient may overflow, as it often does when a
  training starts; ask the scaler (t08_6).
- **"The scheduler steps after each batch."** After each step that was taken (loop f, t08_6).
- **"Weights and optimizer make a checkpoint."** The scheduler, the scaler's two numbers and the
  random numbers belong to it (t08_6).

On a GPU the loops are the same with `"cuda"` for `"cpu"`. FP16 is slow on a CPU without FP16 units,
fast on a GPU with Tensor Cores. One error more waits there: CUDA's autocast refuses
`binary_cross_entropy` of probabilities; use `binary_cross_entropy_with_logits`.

## Say it aloud

Whatever looks at gradients between `backward()` and `step` must see them unscaled: `unscale_`,
then clip. Per step, however many micro-batches, losses or optimizers: at most one `unscale_` and
one `step` for each optimizer, one `update()` for all. Gradients that I take myself I unscale
myself. The schedule waits for skipped steps, evaluation needs no scaler, and a checkpoint holds
everything that a step reads. An error is the lucky case; against the silent ones I hold the loop
next to a reference in FP32.

## Where next

`09_apex_levels` shows what these loops looked like before `torch.amp`, and how to port them. If
your training is right but slow, go on to `10_measuring_speed`.
"""
