# %% [markdown]
r"""
# What were O0 to O3, and what replaced them?

A training script from 2020 begins with `from apex import amp` and says `opt_level="O2"`. Today
that line fails, and so does the first remedy that people try: `pip install apex` gets an extension
of the web framework Pyramid, whose error about a session cookie has puzzled people for years
([apex#1063](https://github.com/NVIDIA/apex/issues/1063)). The second remedy, NVIDIA's own
repository, fails as well: `apex.amp` was removed there on 8 May 2025 (commit cb65b8ed, pull
request [#1896](https://github.com/NVIDIA/apex/pull/1896)).

What is on this machine?
"""

# %% tags=["nbval-ignore-output"]
from textwrap import fill

from ampcourse.amp.porting import which_apex

print(fill(str(which_apex()), 72))

# %% [markdown]
r"""
Before `torch.amp` there were the four **levels** of Apex, and old scripts, papers and benchmarks
still speak of O1 and O2 (with the letter O). Here you rebuild what they did, in plain PyTorch, and
port a script. You need a loss scale (`06_grad_scaler`) and FP32 master weights
(`05_loss_scaling`), but no GPU. There are six tasks; plan an hour and a half. After the
third is a good place for a break.

## Predict first

Nobody grades these; replace each `None` and run the cell.
"""

# %%
my_weights = None  # a convolution's weights under O1: "fp16" or "fp32"
# FP32 with momentum takes 12 bytes for each weight: 4 for it,
# 4 for its gradient, 4 for its momentum.
my_bytes = None  # and O2?
# The losses under O1 and under torch.amp in FP16:
my_equal = None  # the same to the last bit? True or False
my_slow = None  # the slowest on this CPU: "O0", "O1", "O2" or "O3"

# %% [markdown]
r"""
## Five properties

A level was nothing but five properties. `ampcourse.amp.opt_levels` does in plain PyTorch
what Apex did, by the same names, so that an old script runs with one import changed:
"""

# %%
from ampcourse.amp import opt_levels as amp

fields = "cast_model_type", "patch_torch_functions", "keep_batchnorm_fp32"
print(f"{'':22}" + "".join(f"{level:>9}" for level in amp.PROPERTIES))
for field in (*fields, "master_weights", "loss_scale"):
    row = [str(getattr(level, field)) for level in amp.PROPERTIES.values()]
    print(f"{field:22}" + "".join(f"{value:>9}" for value in row))

# %% [markdown]
r"""
- `cast_model_type`: the model's parameters and buffers become this type, once and for all, and so
  does every floating-point input of the model. What the model returns is cast back to FP32.
- `patch_torch_functions`: the model is left alone. Functions of torch are replaced by ones that
  cast what they get: `linear`, convolutions and matrix products cast to FP16; `softmax`, losses,
  `exp`, `sum` to FP32; an addition of both types goes to FP32; all others (`relu`, pooling,
  **batch norm**) compute in whatever they get.
- `keep_batchnorm_fp32`: batch norm's parameters and statistics are spared from the cast. It still
  puts out what it got in: FP16 gives FP16.
- `master_weights`: the optimizer steps an FP32 copy of each FP16 parameter.
- `loss_scale`: a fixed number, or `"dynamic"` as in the GradScaler.

None in the table means that the property does not apply. A script could override a property:
`keep_batchnorm_fp32` in O2 and O3, for instance (`initialize` refuses it in O1). Here is what types
result, observed in a small net for FashionMNIST: convolution, batch norm, pool and two linear
layers.
"""

# %% tags=["setup"]
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from ampcourse.courseware import check, inf, nan, task

SHORT = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}


def kind(value):
    """Return "fp32", "fp16" or "bf16" for a tensor, and what it is for anything else."""
    if isinstance(value, torch.Tensor):
        return SHORT.get(value.dtype, str(value.dtype))
    return type(value).__name__


# %%
from ampcourse.training.data import fashion_mnist
from ampcourse.training.loop import to_tensors

# %%
data = fashion_mnist(use="subset")
images, labels = to_tensors(data.train_images, data.train_labels, "cpu")
test_images, test_labels = to_tensors(data.test_images, data.test_labels, "cpu")

# %%
images, test_images = F.avg_pool2d(images, 2), F.avg_pool2d(test_images, 2)
print(tuple(images.shape), tuple(test_images.shape))


# %%
def small_net():
    torch.manual_seed(9)
    head = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
    tail = nn.Linear(288, 32), nn.ReLU(), nn.Linear(32, 10)
    model = nn.Sequential(*head, nn.Flatten(), *tail)
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


# %%
def observe(level, **overrides):
    seen = {}
    model, sgd = amp.initialize(*small_net(), opt_level=level, verbosity=0, **overrides)
    for layer, title in ((model[0], "convolution"), (model[1], "batch norm")):
        seen[f"{title}: parameters"] = kind(layer.weight)
        layer.register_forward_hook(
            lambda _, __, out, title=title: seen.update({f"{title}: output": kind(out)})
        )
    output = model(images[:8])
    with amp.scale_loss(F.cross_entropy(output, labels[:8]), sgd) as scaled_loss:
        scaled_loss.backward()
    stepped = kind(next(amp.master_params(sgd)))
    last = {"the model's output": kind(output), "convolution: gradient": kind(model[0].weight.grad)}
    return seen | last | {"the optimizer steps": stepped}


# %% [markdown]
r"""
Switch the overrides. What does `keep_batchnorm_fp32=True` change in O3, and what `False` in O2?
What does `master_weights=True` do to O3: which level does it come close to? And what does O1 say?
"""


# %%
def columns(**overrides):
    found = {}
    for level in amp.PROPERTIES:
        try:
            found[level] = observe(level, **overrides)
        except RuntimeError:
            found[level] = dict.fromkeys(found["O0"], "refused")
        amp.deactivate()  # takes O1's patches off again; Apex had no public call
    return found


# %% tags=["nbval-ignore-output"]
import ipywidgets as widgets

from ampcourse.plotting import figure_html
from ampcourse.plotting.type_grid import type_grid

OVERRIDES = "keep_batchnorm_fp32", "master_weights"
choices = {"as the level has it": None, "True": True, "False": False}

# %%
buttons = [widgets.ToggleButtons(options=choices) for _ in OVERRIDES]
picture = widgets.HTML()


# %% tags=["nbval-ignore-output"]
def draw(_=None):
    found = columns(**{name: b.value for name, b in zip(OVERRIDES, buttons, strict=True)})
    lines = [
        f"{level}: " + ", ".join(map(" ".join, types.items())) for level, types in found.items()
    ]
    picture.value = figure_html(type_grid(found), "Types under each level. " + "; ".join(lines))


for button in buttons:
    button.observe(draw, "value")
draw()
rows = zip(OVERRIDES, buttons, strict=True)
widgets.VBox([*[widgets.VBox([widgets.Label(name), b]) for name, b in rows], picture])


# %% [markdown]
r"""
Have you an answer to all four? Then open what the same observation says:
"""

# %%
from IPython.display import Markdown


# %%
def changes(one, two):
    rows = [f"{row} {one[row]} → {two[row]}" for row in one if one[row] != two[row]]
    return ", ".join(rows) or "nothing"


# %%
levels, kept = columns(), columns(keep_batchnorm_fp32=True)
cast, mastered = columns(keep_batchnorm_fp32=False), columns(master_weights=True)
answers = {
    "`keep_batchnorm_fp32=True` changes in O3": changes(levels["O3"], kept["O3"]),
    "`keep_batchnorm_fp32=False` changes in O2": changes(levels["O2"], cast["O2"]),
    "`master_weights=True` changes in O3": changes(levels["O3"], mastered["O3"]),
    "From there to O2 it is only": changes(mastered["O3"], levels["O2"]),
    "O1 says": ", ".join({*kept["O1"].values(), *mastered["O1"].values()}),
}
items = "\n".join(f"- {question}: {answer}." for question, answer in answers.items())
Markdown(f"<details><summary>The answers</summary>\n\n{items}\n\n</details>")

# %% [markdown]
r"""
### t09_1 · Which type is what?

`layers` names the layers of a net: `"linear"`, `"batch norm"`, `"relu"` and `"softmax"`. Its input
is FP32. Return one row per layer, `(parameters, output, gradient, stepped)`: the type of the
layer's parameters, of what it puts out inside the net, of its parameters' gradients right after
`backward()`, and of what the optimizer steps for them. Types are `"fp32"` and `"fp16"`; relu and
softmax have no parameters, so that all but their output is None.

`keep_batchnorm_fp32` is None, True or False; None means the level's own choice. O0 and O1 are
asked with None only.
"""


# %% tags=["setup"]
def column(rows, index):
    """Return one entry of each row as text, "-" for None."""
    return " ".join("-" if row[index] is None else str(row[index]) for row in rows)


# %% task="t09_1" forbids=["ampcourse.amp.opt_levels", "apex"]
def types(layers, level, keep_batchnorm_fp32=None):
    """Return (parameters, output, gradient, stepped) for each layer of a net."""
    ### BEGIN SOLUTION
    keep = level != "O3" if keep_batchnorm_fp32 is None else keep_batchnorm_fp32
    cast = level in ("O2", "O3")
    rows, flows = [], "fp16" if cast else "fp32"
    for layer in layers:
        if level == "O1":
            flows = {"linear": "fp16", "softmax": "fp32"}.get(layer, flows)
        if layer in ("relu", "softmax"):
            rows.append((None, flows, None, None))
            continue
        own = "fp16" if cast and not (keep and layer == "batch norm") else "fp32"
        rows.append((own, flows, own, "fp32" if level == "O2" else own))
    return rows
    ### END SOLUTION


# %% check="t09_1" points=4
with task("t09_1"):
    params = (
        "parameters: O1 leaves them alone, O2 and O3 cast them, batch norm's unless kept in FP32"
    )
    outputs = (
        "outputs: O1 casts by function; a cast model computes in the type that flows through it"
    )
    grads = "a parameter's gradient has the parameter's type"
    steps = "the optimizer steps FP32 masters under O2, and else the parameters themselves"
    call = """
        net = ["batch norm", "linear", "relu", "batch norm", "softmax", "linear"]
        options = [("O0",), ("O1",), ("O2",), ("O3",), ("O2", False), ("O3", True)]
        return [column(types(net, *option), {}) for option in options]
    """
    full, half = "fp32 fp32 - fp32 - fp32", "fp16 fp16 - fp16 - fp16"
    kept, bare = "fp32 fp16 - fp32 - fp16", "fp32 fp32 fp32 fp32 fp32 fp32"
    sixteen = "fp16 fp16 fp16 fp16 fp16 fp16"
    o1_casts = "O1 casts inside functions: the parameters stay FP32"
    bf16 = "Apex knew no BF16: O2 and O3 are FP16"
    norm_half = "O2 keeps batch norm's parameters in FP32"
    ignored = "keep_batchnorm_fp32 decides in O2 and in O3 alike"
    given = "False is a choice, too: only None means that nothing was said"
    traps = {o1_casts: [full, kept, kept, half, half, kept]}
    traps |= {
        bf16: [
            x.replace("16", "_").replace("fp_", "bf16")
            for x in (full, full, kept, half, half, kept)
        ]
    }
    traps |= {norm_half: [full, full, half, half, half, kept]}
    traps |= {ignored: [full, full, kept, half, kept, half]}
    traps |= {given: [full, full, kept, half, kept, kept]}
    check(call.format(0), [full, full, kept, half, half, kept], params, traps)
    o1 = "fp32 fp16 fp16 fp16 fp32 fp16"
    norm_out = "a batch norm with FP32 parameters puts out what it gets: FP16 stays FP16"
    lists = "only O1 patches softmax: in a cast model it gives what it gets"
    no_list = "batch norm is on none of O1's lists: it follows its input"
    all_half = "under O1 softmax comes out FP32"
    out_of_fp32 = "weights of FP32 do not decide: O1's linear casts them and gives FP16"
    normed = "fp32 fp16 fp16 fp32 fp32 fp16"
    soft = "fp16 fp16 fp16 fp16 fp32 fp16"
    traps = {norm_out: [bare, o1, normed, sixteen, sixteen, normed]}
    traps |= {lists: [bare, o1, soft, soft, soft, soft]}
    traps |= {no_list: [bare, normed, sixteen, sixteen, sixteen, sixteen]}
    traps |= {all_half: [bare, "fp32 fp16 fp16 fp16 fp16 fp16"] + [sixteen] * 4}
    traps |= {out_of_fp32: [bare, bare] + [sixteen] * 4}
    check(call.format(1), [bare, o1] + [sixteen] * 4, outputs, traps)
    fp32_grads = "Apex makes FP32 gradients only for the masters: backward leaves FP16 for FP16"
    o1_grads = "the way back passes the cast, too: an FP32 weight gets an FP32 gradient"
    traps = {fp32_grads: [full] * 6, o1_grads: [full, half, kept, half, half, kept]}
    traps |= {given: [full, full, kept, half, kept, kept]}
    check(call.format(2), [full, full, kept, half, half, kept], grads, traps)
    copy = "O2's optimizer steps the FP32 masters, not the FP16 copy"
    o3_masters = "O3 has no masters: its optimizer steps FP16"
    o1_steps = "O1's parameters are FP32 and their own masters"
    traps = {copy: [full, full, kept, half, half, kept], o3_masters: [full] * 6}
    traps |= {o1_steps: [full, half, full, half, full, kept]}
    check(call.format(3), [full, full, full, half, full, kept], steps, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch
    from torch import nn

    t09_1_random = Random(901)
    t09_1_makers = {
        "linear": lambda: nn.Linear(4, 4),
        "batch norm": lambda: nn.BatchNorm1d(4),
        "relu": nn.ReLU,
        "softmax": lambda: nn.Softmax(1),
    }
    # The casts are written out here, as Apex's sources have them (lists of functions:
    # apex/amp/lists; casts of the model: apex/fp16_utils), and torch finds the types: nothing of
    # this course's own levels is asked.
    t09_1_spared = {"O0": True, "O1": True, "O2": True, "O3": False}

    def t09_1_o1(layer, x):
        """Call a layer with the cast that O1's lists have for its function, if any."""
        if isinstance(layer, nn.Linear):
            return nn.functional.linear(x.half(), layer.weight.half(), layer.bias.half())
        return layer(x.float() if isinstance(layer, nn.Softmax) else x)

    def t09_1_seen(layers, level, keep):
        """Let torch run such a net, and note the types; each column as text."""
        made = [t09_1_makers[layer]() for layer in layers]
        spared = t09_1_spared[level] if keep is None else keep
        x = torch.randn(6, 4)
        if level in ("O2", "O3"):
            x = x.half()
            for layer in made:
                if not (spared and isinstance(layer, nn.BatchNorm1d)):
                    layer.half()
        rows = []
        for layer in made:
            x = t09_1_o1(layer, x) if level == "O1" else layer(x)
            rows.append((layer, x.dtype))
        x.float().sum().backward()
        text = {torch.float32: "fp32", torch.float16: "fp16", None: "-"}
        columns = []
        for layer, flow in rows:
            p = next(layer.parameters(), None)
            own, gradient = (None, None) if p is None else (p.dtype, p.grad.dtype)
            stepped = p.detach().float().dtype if level == "O2" and own else own
            columns.append([text[kind] for kind in (own, flow, gradient, stepped)])
        return [" ".join(column) for column in zip(*columns, strict=True)]

    t09_1_cases = []
    for level, keep in (
        *(("O0", None), ("O1", None), ("O1", None), ("O2", None), ("O2", True), ("O2", False)),
        *(("O3", None), ("O3", True), ("O3", False)),
    ):
        for _ in range(2):
            layers = [
                "linear",
                *t09_1_random.choices([*t09_1_makers], k=t09_1_random.randint(3, 8)),
            ]
            t09_1_random.shuffle(layers)
            t09_1_cases.append((layers, level, keep))
    t09_1_rows = [t09_1_seen(*case) for case in t09_1_cases]
    for k, reason in enumerate((params, outputs, grads, steps)):
        text = f"[column(types(*case), {k}) for case in {t09_1_cases}]"
        check(text, [row[k] for row in t09_1_rows], reason)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## O2: cast the model

What is FP16 once need not be cast again between one function and the next. The price is that three
things must be taken care of, or the training goes wrong.

Batch norm: its weights and running statistics are stored, and a running variance above 65504 would
be infinite in FP16. Going through FP16 leaves its traces even if one comes back:
"""

# %%
third = torch.tensor(1 / 3)
print("1/3 in FP32:", third.item(), " after a trip through FP16:", third.half().float().item())

# %% [markdown]
r"""
The optimizer: it was built before `initialize` and holds the parameters themselves. So the
parameters have to remain the same objects, with other data inside.

And the weights: an update below half an ulp of FP16 vanishes, so the optimizer gets FP32 masters
in their place. In a script that forgot `scale_loss` under O2 no FP16 weight moves, since it is on
leaving that block that the masters get their gradients
([apex#747](https://github.com/NVIDIA/apex/issues/747) reports it, of O1 too):
"""

# %%
model, sgd = small_net()
model, sgd = amp.initialize(model, sgd, opt_level="O2", verbosity=0)

# %%
before = model[0].weight.clone()
for _ in range(5):
    sgd.zero_grad()
    F.cross_entropy(model(images[:50]), labels[:50]).backward()
    sgd.step()
print("five steps without scale_loss; weights as before:", bool((model[0].weight == before).all()))
amp.deactivate()

# %% [markdown]
r"""
### t09_2 · A model for O2

`to_o2(model)` changes a model in place and returns it:

- all floating-point parameters and buffers, FP64 ones as well, become FP16, but for those of batch
  norms, which keep every bit. Other normalisations are cast like everything else, and integers
  stay integers;
- parameters stay the same objects;
- when the model is called, floating-point tensors among its arguments (positional ones only) are
  cast to FP16, others are not touched, and its output (one tensor) comes back in FP32.

Batch norms are the instances of `nn.modules.batchnorm._BatchNorm`, in all dimensions.

`make_masters(optimizer)` puts an FP32 copy in the place of each FP16 parameter in
`optimizer.param_groups` and returns the list of pairs `(parameter, master)`, in order. FP32
parameters stay, and are in no pair. A master is a parameter like any other: a leaf (no tensor was
computed to make it, as far as autograd knows) that requires a gradient.
"""


# %% tags=["setup"]
class Net(nn.Module):
    """A net with a bit of everything; `came` notes the types that its forward pass got."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(92)
        self.first, self.norm, self.layer_norm = nn.Linear(2, 3), nn.BatchNorm1d(3), nn.LayerNorm(3)
        self.last = nn.Linear(3, 1)
        self.register_buffer("offset", torch.tensor([1 / 3]))
        self.register_buffer("steps", torch.tensor(70000))
        self.norm.weight.data[:] = torch.tensor([1 / 3, 1e-6, 3.0])
        self.norm.running_var[:] = torch.tensor([1e-9, 0.1, 70000.0])

    def forward(self, x, rows=None):
        self.came = [kind(x), "-" if rows is None else kind(rows)]
        chosen = x if rows is None else x[rows]
        return self.last(self.layer_norm(self.norm(self.first(chosen)))) + self.offset


def all_types(model):
    """Return the types of all parameters and buffers by name."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: kind(tensor) for name, tensor in named}


# %% task="t09_2" forbids=["ampcourse.amp", "apex"]
def to_o2(model):
    """Cast a model as O2 does, in place, and return it."""
    ### BEGIN SOLUTION
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            continue
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            if tensor.is_floating_point():
                tensor.data = tensor.data.half()

    def halve(value):
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.half() if floats else value

    forward = model.forward
    model.forward = lambda *inputs: forward(*map(halve, inputs)).float()
    return model
    ### END SOLUTION


def make_masters(optimizer):
    """Put FP32 masters in the place of FP16 parameters; return pairs (parameter, master)."""
    ### BEGIN SOLUTION
    pairs = []
    for group in optimizer.param_groups:
        for k, param in enumerate(group["params"]):
            if param.dtype == torch.float16:
                group["params"][k] = nn.Parameter(param.detach().float())
                pairs.append((param, group["params"][k]))
    return pairs
    ### END SOLUTION


# %% check="t09_2" points=4
with task("t09_2"):
    halves = "everything floating-point is FP16 but the batch norms, and integers stay"
    kept = "batch norm keeps every bit of its parameters and statistics"
    ends = "floating-point inputs become FP16, others stay, and the output is FP32"
    same = "parameters stay the same objects: the optimizer holds on to them"
    copies = "an FP32 copy for each FP16 parameter, and none for others"
    leaves = "a master is a leaf that requires a gradient, and sits in the optimizer"
    moves = "the optimizer steps the masters: FP32, with memory of their own"
    check("kind(Net().first.weight) + kind(to_o2(Net()).first.weight)", "fp32fp16", halves)
    call = """
        model = to_o2(Net())
        return [all_types(model)[name] for name in {}]
    """
    names = [
        "first.bias",
        "layer_norm.weight",
        "offset",
        "steps",
        "norm.weight",
        "norm.running_var",
    ]
    right = ["fp16", "fp16", "fp16", "torch.int64", "fp32", "fp32"]
    norms = "of the normalisations O2 spares batch norm only"
    buffers = "buffers are cast as well, not parameters only"
    integers = "integers are no floating-point numbers: FP16 has no 70000"
    everything = "that cast the batch norm, too: O2 keeps it in FP32"
    statistics = "batch norm's running statistics are its buffers, and are kept as well"
    traps = {norms: [*right[:1], "fp32", *right[2:]], buffers: [*right[:2], "fp32", *right[3:]]}
    traps |= {integers: [*right[:3], "fp16", *right[4:]], everything: right[:4] + ["fp16"] * 2}
    traps |= {statistics: [*right[:5], "fp16"]}
    check(call.format(names), right, halves, traps)
    call = """
        norms = {}
        model = to_o2(nn.Sequential(*norms))
        return [kind(norm.weight) for norm in model]
    """
    text = "[nn.BatchNorm1d(2), nn.BatchNorm2d(2), nn.BatchNorm3d(2), nn.SyncBatchNorm(2)]"
    common = "ask for the common class of them all"
    third = f"BatchNorm3d is a batch norm as well: {common}"
    synced = f"a batch norm that synchronises over GPUs is one as well: {common}"
    traps = {third: ["fp32", "fp32", "fp16", "fp16"], everything: ["fp16"] * 4}
    traps |= {synced: ["fp32", "fp32", "fp32", "fp16"]}
    traps |= {f"only BatchNorm1d was spared: {common}": ["fp32", "fp16", "fp16", "fp16"]}
    traps |= {f"only BatchNorm2d was spared: {common}": ["fp16", "fp32", "fp16", "fp16"]}
    check(call.format(text), ["fp32"] * 4, halves, traps)
    call = """
        model = nn.Sequential(nn.Linear(2, 3).double(), nn.PReLU().bfloat16())
        return [kind(p) for p in to_o2(model).parameters()]
    """
    wide, brain = "FP64 is cast as well: ask is_floating_point", "BF16 is cast to FP16, too"
    traps = {wide: ["torch.float64"] * 2 + ["bf16"], brain: ["fp16", "fp16", "bf16"]}
    traps |= {f"{wide}.": ["torch.float64"] * 2 + ["fp16"]}
    check(call, ["fp16"] * 3, halves, traps)
    call = """
        norm = to_o2(Net()).norm
        numbers = norm.weight.tolist() + norm.running_var.tolist()
        return [kind(norm.weight), *map(float.hex, numbers)]
    """
    right = ["fp32", "0x1.5555560000000p-2", "0x1.0c6f7a0000000p-20", "0x1.8000000000000p+1"]
    right += ["0x1.12e0be0000000p-30", "0x1.99999a0000000p-4", "0x1.1170000000000p+16"]
    trip = "a trip through FP16 and back has rounded the batch norm"
    wrong = ["0x1.5540000000000p-2", "0x1.1000000000000p-20", "0x1.8000000000000p+1"]
    wrong += ["0x0.0p+0", "0x1.9980000000000p-4", "inf"]
    traps = {trip: ["fp32", *wrong], everything: ["fp16", *wrong]}
    check(call, right, kept, traps)
    call = """
        model = to_o2(Net())
        output = model(torch.ones(4, 2), {})
        return [*model.came, kind(output)]
    """
    raw = "the input went in as it was"
    back = "the output is still FP16: the loss is to be computed in FP32"
    indices = "indices were made floating-point numbers"
    traps = {back: ["fp16", "torch.int64", "fp16"], raw: ["fp32", "torch.int64", "fp32"]}
    traps |= {indices: ["fp16", "fp16", "fp32"]}
    check(call.format("torch.tensor([2, 0, 1])"), ["fp16", "torch.int64", "fp32"], ends, traps)
    check(call.format("None"), ["fp16", "-", "fp32"], ends)
    call = """
        net = Net()
        before = [*net.parameters()]
        returned = to_o2(net)
        after = [*net.parameters()]
        return returned is net, [a is b for a, b in zip(before, after)]
    """
    new = "new parameters are unknown to an optimizer that was built before"
    other = "change the model in place and return it, not a copy"
    traps = {other: (False, [True] * 8), new: (True, [False] * 8)}
    traps |= {f"{new}; batch norm's alone stayed": (True, [False] * 2 + [True] * 2 + [False] * 4)}
    check(call, (True, [True] * 8), same, traps)
    call = """
        params = [nn.Parameter(torch.tensor([value]).{}()) for value in (1 / 3, 0.1)]
        bias = nn.Parameter(torch.tensor([0.5]))
        groups = [{{"params": params}}, {{"params": [bias], "lr": 2.0}}]
        sgd = torch.optim.SGD(groups, lr=1.0)
        pairs = make_masters(sgd)
        held = [p for group in sgd.param_groups for p in group["params"]]
        mine = [any(m is p for p in held) for _, m in pairs]
        kinds = [(kind(p), kind(m), m.item() == p.item()) for p, m in pairs]
        return kinds, mine, held[2] is bias, [kind(p) for p in held]
    """
    good = [("fp16", "fp32", True)] * 2, [True] * 2, True, ["fp32"] * 3
    in_half = "masters in FP16 are no masters: they lose what the parameters lose"
    loose = "the optimizer still holds the FP16 parameters: put the masters into its groups"
    for_all = "an FP32 parameter is its own master"
    traps = {in_half: ([("fp16", "fp16", True)] * 2, [True] * 2, True, ["fp16"] * 2 + ["fp32"])}
    traps |= {loose: (good[0], [False] * 2, True, ["fp16"] * 2 + ["fp32"])}
    extra = [*good[0], ("fp32", "fp32", True)]
    traps |= {for_all: (extra, [True] * 3, False, ["fp32"] * 3)}
    check(call.format("half"), good, copies, traps)
    call = """
        param = nn.Parameter(torch.ones(2).half())
        sgd = torch.optim.SGD([param, nn.Parameter(torch.ones(2))], lr=1.0)
        pairs = make_masters(sgd)
        held = sgd.param_groups[0]["params"]
        return [(m.is_leaf, m.requires_grad, m is held[0]) for _, m in pairs]
    """
    hangs = "after float() alone autograd knows where the master came from: detach it"
    idle = "detach() gives a tensor that requires no gradient: make it an nn.Parameter"
    traps = {hangs: [(False, True, True)], idle: [(True, False, True)]}
    traps |= {loose: [(True, True, False)]}
    check(call, [(True, True, True)], leaves, traps)
    call = """
        param = nn.Parameter(torch.ones(1).half())
        sgd = torch.optim.SGD([param], lr={})
        [(_, master)] = make_masters(sgd)
        for _ in range(3):
            master.grad = torch.full_like(master, {})
            sgd.step()
        return master.item().hex(), param.item().hex()
    """
    stall = "FP16 masters stand still, like FP16 weights"
    traps = {stall: ("0x1.0000000000000p+0", "0x1.0000000000000p+0")}
    right = "0x1.0030000000000p+0", "0x1.0000000000000p+0"
    check(call.format(2.0**-12, -1.0), right, moves, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t09_2_random = Random(902)

    def t09_2_f32(x):
        return torch.tensor(x).item()

    build = """
        layers = {}
        model = to_o2(nn.Sequential(*layers, nn.ReLU()))
        return list(all_types(model).values())
    """
    for dim, norm, count in (
        (1, "InstanceNorm1d", 2),
        (2, "GroupNorm", 3),
        (3, "InstanceNorm3d", 2),
    ):
        # Named parameters come first, then buffers: weight, bias of each; mean, variance, batches.
        normed = f"nn.{norm}({count}, affine=True)" if "Inst" in norm else f"nn.{norm}(1, {count})"
        text = f"[nn.Conv{dim}d(1, {count}, 1), nn.BatchNorm{dim}d({count}), {normed}]"
        right = ["fp16", "fp16", "fp32", "fp32", "fp16", "fp16", "fp32", "fp32", "torch.int64"]
        check(build.format(text), right, halves)
        values = [
            t09_2_random.uniform(-3, 3) * 10.0 ** t09_2_random.randint(-12, 6) for _ in range(4)
        ]
        text = f"""
            norm = nn.BatchNorm{dim}d(4)
            norm.weight.data[:] = torch.tensor({values})
            norm.running_mean[:] = torch.tensor({values[::-1]})
            to_o2(nn.Sequential(norm))
            return [x.hex() for x in norm.weight.tolist() + norm.running_mean.tolist()]
        """
        right = [t09_2_f32(value).hex() for value in values + values[::-1]]
        check(text, right, kept)
        text = f"""
            class Inner(nn.Module):
                def forward(self, *inputs):
                    self.came = [kind(x) for x in inputs]
                    return inputs[{dim - 1}]
            model = to_o2(Inner())
            sent = [torch.ones(2), torch.ones(2).double(), torch.ones(2).bfloat16()]
            output = model(*sent, torch.tensor([True]), torch.arange(2), 3, None)
            return model.came, kind(output)
        """
        right = (["fp16"] * 3 + ["torch.bool", "torch.int64", "int", "NoneType"], "fp32")
        check(text, right, ends)
        text = f"""
            model = nn.Sequential(nn.Conv{dim}d(2, 3, 1), nn.BatchNorm{dim}d(3), nn.PReLU())
            sgd = torch.optim.SGD(model.parameters(), lr=1.0)
            to_o2(model)
            own = [*model.parameters()]
            return [a is b for a, b in zip(own, sgd.param_groups[0]["params"], strict=True)]
        """
        check(text, [True] * 5, same)
        halved = [t09_2_random.random() < 0.5 for _ in range(6)]
        text = f"""
            tensors = [torch.rand(2).half() if half else torch.rand(2) for half in {halved}]
            params = [nn.Parameter(tensor) for tensor in tensors]
            groups = [{{"params": params[:{dim}]}}, {{"params": params[{dim}:]}}]
            sgd = torch.optim.SGD(groups, lr=1.0)
            pairs = make_masters(sgd)
            held = [p for group in sgd.param_groups for p in group["params"]]
            masters = [m for _, m in pairs]
            where = [[p is h for h in held] for p in masters]
            values = [bool((p.float() == m).all()) for p, m in pairs]
            return where, values, [kind(h) for h in held], [p is h for p, h in zip(params, held)]
        """
        places = [k for k in range(6) if halved[k]]
        where = [[k == place for k in range(6)] for place in places]
        right = (where, [True] * len(places), ["fp32"] * 6, [not half for half in halved])
        check(text, right, copies)
        text = f"[nn.SyncBatchNorm({count}), nn.BatchNorm{dim}d({count}), nn.LayerNorm({count})]"
        right = ["fp32"] * 4 + ["fp16"] * 2 + (["fp32"] * 2 + ["torch.int64"]) * 2
        check(build.format(text), right, halves)
        kinds = t09_2_random.choices(["double", "bfloat16", "float", "half"], k=3)
        kinds.insert(dim, "double")
        text = f"""
            model = nn.ParameterList(torch.ones(2).to(getattr(torch, k)) for k in {kinds})
            model.register_buffer("table", torch.ones(2).{kinds[0]}())
            return [*all_types(to_o2(model)).values()]
        """
        check(text, ["fp16"] * 5, halves)
        text = f"""
            params = [nn.Parameter(torch.rand(k).half()) for k in range(1, {dim + 3})]
            adam = torch.optim.Adam([{{"params": params[:2]}}, {{"params": params[2:]}}])
            masters = [m for _, m in make_masters(adam)]
            held = [p for group in adam.param_groups for p in group["params"]]
            own = [any(m is p for p in held) for m in masters]
            return [[m.is_leaf and m.requires_grad for m in masters], own]
        """
        check(text, [[True] * (dim + 2)] * 2, leaves)
        power, steps = 2.0 ** t09_2_random.randint(-16, -12), t09_2_random.choice((-1.0, -2.0))
        master = 1.0 - 3 * power * steps
        check(call.format(power, steps), (master.hex(), "0x1.0000000000000p+0"), moves)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## O1: leave the model, patch torch

O1 went the other way: weights and optimizer stay FP32, so that there is nothing to keep in order,
and the casts move into the functions. Python makes that easy. `F.linear` is a name in a module,
and a name can be bound to something else:
"""

# %%
model, sgd = small_net()
model, sgd = amp.initialize(model, sgd, opt_level="O1", verbosity=0)

# %%
print("weights:", kind(model[0].weight), " output:", kind(model(images[:8])))
print("in somebody else's code:", kind(F.linear(torch.ones(1, 4), torch.ones(2, 4))))
amp.deactivate()
print("with the patches taken off:", kind(F.linear(torch.ones(1, 4), torch.ones(2, 4))))

# %% [markdown]
r"""
The second line is the weak point. The patches hold for the whole process, for every net and every
library in it, and Apex had no public call to take them off. Someone timed all four levels in one
notebook and got other results for O0, O2 and O3 once O1 had run
([apex#896](https://github.com/NVIDIA/apex/issues/896)): from then on all had O1's casts.

### t09_3 · Patch, and take it off again

`patch(owner, lists)` replaces functions of `owner` (anything with attributes) and returns a
function without arguments that puts the very same functions back. `lists` maps rules to names of
functions; a name that the owner lacks is passed over. A name may stand on two lists (which rule
wins then is not asked): taken off, it is what it was before `patch`. Before a patched function is
called, its arguments, positional and by keyword, are changed by its rule:

| rule | does |
|---|---|
| `"to_fp16"` | casts every FP32 tensor to FP16 |
| `"to_fp32"` | casts every FP16 tensor to FP32 |
| `"promote"` | casts FP16 tensors to FP32 if FP16 and FP32 tensors are both among the arguments |

Integers, booleans, numbers and None stay as they are, and gradients come back through the casts.
Other floating-point types do not occur, and neither do lists of tensors.
"""


# %% tags=["setup"]
class Owner:
    """Stands in for a module of torch: each function says its name and the types it got."""

    def __init__(self):
        self.product, self.softmax, self.add, self.relu = map(
            self.function, ("product", "softmax", "add", "relu")
        )

    @staticmethod
    def function(name):
        """Return a function that tells what it was given."""

        def told(*args, **kwargs):
            return " ".join([name, *map(kind, (*args, *kwargs.values()))])

        return told


def fp32(*values):
    """Return an FP32 tensor, of a single 1 unless told otherwise."""
    return torch.tensor(values or [1.0])


def fp16(*values):
    """Return the same in FP16."""
    return fp32(*values).half()


LISTS = {"to_fp16": ["product"], "to_fp32": ["softmax", "missing"], "promote": ["add"]}


# %% task="t09_3" forbids=["ampcourse.amp", "apex"]
def patch(owner, lists):
    """Put casts before an owner's functions and return a function that takes them off."""
    ### BEGIN SOLUTION
    FP16, FP32 = torch.float16, torch.float32

    def cast(value, dtype):
        floating = isinstance(value, torch.Tensor) and value.dtype in (FP16, FP32)
        return value.to(dtype) if floating else value

    def target(rule, values):
        types = {value.dtype for value in values if isinstance(value, torch.Tensor)}
        if rule == "promote":
            return FP32 if {FP16, FP32} <= types else None
        return FP16 if rule == "to_fp16" else FP32

    def wrap(function, rule):
        def wrapper(*args, **kwargs):
            dtype = target(rule, (*args, *kwargs.values()))
            if dtype is not None:
                args = [cast(value, dtype) for value in args]
                kwargs = {name: cast(value, dtype) for name, value in kwargs.items()}
            return function(*args, **kwargs)

        return wrapper

    originals = {}
    for rule, names in lists.items():
        for name in names:
            if hasattr(owner, name):
                function = getattr(owner, name)  # on a second list, it is a wrapper by now
                originals.setdefault(name, function)
                setattr(owner, name, wrap(function, rule))

    def undo():
        for name, function in originals.items():
            setattr(owner, name, function)

    return undo
    ### END SOLUTION


# %% check="t09_3" points=4
with task("t09_3"):
    casts = "to_fp16 and to_fp32 cast every FP32 or FP16 tensor, by position and by keyword"
    widest = "promote casts to FP32 only where both types meet"
    others = "what is no floating-point tensor stays as it is, and so does a function on no list"
    back = "gradients come back through the casts, in the type of what was given"
    undone = "undo puts the same functions back, and nothing else"
    call = """
        owner, A, H = Owner(), fp32(), fp16()
        patch(owner, LISTS)
        return [{}]
    """
    text = "owner.product(A, A, A), owner.softmax(H, H)"
    fp16s, fp32s = "product fp16 fp16", "softmax fp32 fp32"
    first = "every argument is cast, not the first one only"
    right = ["product fp16 fp16 fp16", fp32s]
    traps = {first: ["product fp16 fp32 fp32", "softmax fp32 fp16"]}
    check(call.format(text), right, casts, traps)
    text = (
        "owner.product(A, H), owner.product(A, weight=A), owner.softmax(H, x=H), owner.softmax(A)"
    )
    keywords = "keyword arguments are cast as well"
    closure = (
        "all patched functions call the one that was patched last: a variable of the loop is "
        "looked up at the call, so bind its value, by a function or a default argument"
    )
    same_rule = (
        "all patched functions follow the rule that came last: a variable of the loop is looked "
        "up at the call, so bind its value"
    )
    right = [fp16s, fp16s, fp32s, "softmax fp32"]
    traps = {keywords: [fp16s, "product fp16 fp32", "softmax fp32 fp16", right[3]]}
    traps |= {closure: ["add fp16 fp16", "add fp16 fp16", "add fp32 fp32", "add fp32"]}
    traps |= {
        same_rule: ["product fp32 fp32", "product fp32 fp32", "softmax fp16 fp16", "softmax fp32"]
    }
    traps |= {
        f"{closure}, and the rule as well": [*["add fp32 fp32"] * 2, "add fp16 fp16", "add fp32"]
    }
    check(call.format(text), right, casts, traps)
    text = "owner.add(H, H), owner.add(H, 2.0), owner.add(A, A), owner.add(A, H), owner.add(H, y=A)"
    right = ["add fp16 fp16", "add fp16 float", "add fp32 fp32", "add fp32 fp32", "add fp32 fp32"]
    always = "two FP16 tensors have nothing to be promoted to: they stay FP16"
    narrow = "promotion goes to the wider type, FP32"
    scalar = "a Python number has no type that counts"
    traps = {always: ["add fp32 fp32", "add fp32 float", *right[2:]]}
    traps |= {narrow: [*right[:3], "add fp16 fp16", "add fp16 fp16"]}
    traps |= {scalar: [right[0], "add fp32 float", *right[2:]]}
    traps |= {keywords: [*right[:4], "add fp16 fp32"]}
    check(call.format(text), right, widest, traps)
    text = (
        "owner.product(torch.arange(2), 3, None, True, 0.5), owner.relu(H, A), owner.softmax(A > 0)"
    )
    right = ["product torch.int64 int NoneType bool float", "relu fp16 fp32", "softmax torch.bool"]
    integers = "only floating-point tensors are cast: an index in FP16 is no index"
    traps = {integers: ["product fp16 int NoneType bool float", right[1], "softmax fp32"]}
    traps |= {closure: [right[0].replace("product", "add"), right[1], "add torch.bool"]}
    check(call.format(text), right, others, traps)
    call = """
        owner, w, x = Owner(), fp32(0.1, 3.0).requires_grad_(), fp32(2.0, 4.0)
        owner.product = lambda a, b: (a * b).sum()
        patch(owner, LISTS)
        owner.product(w, x).backward()
        return [kind(w), kind(w.grad), *w.grad.tolist()]
    """
    cut = "the cast cut the graph, and the weight never learns: keep it differentiable"
    changed = "cast a copy: the weight itself has become FP16"
    check(call, ["fp32", "fp32", 2.0, 4.0], back, {changed: ["fp16", "fp16", 2.0, 4.0]})
    call = """
        owner, w = Owner(), fp32(3.0).requires_grad_()
        owner.product = lambda a: (a * a).sum()
        patch(owner, LISTS)
        return owner.product(w).requires_grad
    """
    check(call, True, back, {cut: False})
    call = """
        owner = Owner()
        names = "product", "softmax", "add", "relu"
        before = [getattr(owner, name) for name in names]
        undo = patch(owner, LISTS)
        patched = [getattr(owner, name) is f for name, f in zip(names, before)]
        undo()
        after = [getattr(owner, name) is f for name, f in zip(names, before)]
        return patched, after, hasattr(owner, "missing")
    """
    stays = "the patches are still there: put the functions back that were there before"
    one_left = "only the last patch was taken off"
    early = "patch() patches at once, not when undo is called"
    patched = [False, False, False, True]
    traps = {stays: (patched, patched, False), early: ([True] * 4, [True] * 4, False)}
    traps |= {one_left: (patched, [False, False, True, True], False)}
    check(call, (patched, [True] * 4, False), undone, traps)
    call = """
        owner = Owner()
        before = owner.add, owner.softmax
        undo = patch(owner, {"to_fp16": ["add"], "to_fp32": ["softmax"], "promote": ["add"]})
        undo()
        return owner.add is before[0], owner.softmax is before[1]
    """
    first_wrapper = "a name on two lists: what was saved the second time is the first patch"
    traps = {first_wrapper: (False, True), stays: (False, False)}
    check(call, (True, True), undone, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t09_3_random = Random(903)
    t09_3_values = {
        "A": torch.ones(1),
        "H": torch.ones(1).half(),
        "7": 7,
        "None": None,
        "torch.arange(3)": torch.arange(3),
        "True": True,
        "0.25": 0.25,
    }

    def t09_3_type(value):
        text = {torch.float32: "fp32", torch.float16: "fp16"}
        if isinstance(value, torch.Tensor):
            return text.get(value.dtype, str(value.dtype))
        return type(value).__name__

    def t09_3_call(pool, rule):
        """Return a random call's arguments as text, and the types that arrive by torch's rules."""
        chosen = t09_3_random.choices(pool, k=t09_3_random.randint(1, 6))
        at = t09_3_random.randint(0, len(chosen))
        named = [f"k{k}={text}" for k, text in enumerate(chosen[at:])]
        values = [t09_3_values[text] for text in chosen]
        floats = [v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
        if rule == "promote" and floats:
            wide = floats[0].dtype
            for tensor in floats:
                wide = torch.promote_types(wide, tensor.dtype)
        else:
            wide = {"to_fp16": torch.float16, "to_fp32": torch.float32}.get(rule)
        for k, value in enumerate(values):
            if any(value is tensor for tensor in floats) and wide is not None:
                values[k] = value.to(wide)
        return ", ".join(chosen[:at] + named), [t09_3_type(value) for value in values]

    t09_3_scene = """
        owner, A, H = Owner(), fp32(), fp16()
        for name in ("f", "g", "h"):
            setattr(owner, name, owner.function(name))
        undo = patch(owner, {{"promote": ["f"], {!r}: ["none", "g"], {!r}: ["h"]}})
        return [{}]
    """
    for order in (("to_fp16", "to_fp32"), ("to_fp32", "to_fp16"), ("to_fp16", "to_fp32")):
        rules = dict(zip("gh", order, strict=True))
        for reason, pool, called in (
            (casts, "AH", "ghghgh"),
            (widest, "AH", "ffffff"),
            (others, [*t09_3_values], "fghfgh"),
        ):
            lines, right = [], []
            for name in called:
                text, arrived = t09_3_call([*pool], rules.get(name, "promote"))
                lines.append(f"owner.{name}({text})")
                right.append(" ".join([name, *arrived]))
            check(t09_3_scene.format(*order, ", ".join(lines)), right, reason)
        numbers = [t09_3_random.randint(1, 200) / 8 for _ in range(3)]
        w = torch.tensor(numbers, requires_grad=True)
        (w.half() ** 2).sum().backward()
        call = f"""
            owner, w = Owner(), fp32(*{numbers}).requires_grad_()
            owner.square = lambda a: (a**2).sum()
            patch(owner, {{"to_fp16": ["square"]}})
            owner.square(w).backward()
            return [kind(w), kind(w.grad), *w.grad.tolist()]
        """
        check(call, ["fp32", "fp32", *w.grad.tolist()], back)
        names = t09_3_random.sample(["product", "softmax", "add", "relu"], 3)
        call = f"""
            owner, kept = Owner(), vars(Owner)
            before = dict(vars(owner))
            undo = patch(owner, {{{order[0]!r}: {names[:2]}, "promote": [{names[2]!r}, "gone"]}})
            patched = [name for name, f in vars(owner).items() if f is not before.get(name)]
            undo()
            same = [f is before[name] for name, f in vars(owner).items()]
            return sorted(patched), same, owner.relu(fp16(), fp32())
        """
        check(call, (sorted(names), [True] * 4, "relu fp16 fp32"), undone)
        again = t09_3_random.sample(names, 2)
        call = f"""
            owner = Owner()
            before = dict(vars(owner))
            lists = {{"promote": {again}, {order[0]!r}: {names}, {order[1]!r}: {again[:1]}}}
            undo = patch(owner, lists)
            patched = [name for name, f in vars(owner).items() if f is not before[name]]
            undo()
            return sorted(patched), [f is before[name] for name, f in vars(owner).items()]
        """
        check(call, (sorted(names), [True] * 4), undone)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## `scale_loss`, a scaler in a `with`

The GradScaler spreads its work over `scale`, `step` and `update`. Apex put all of it into one
block. Entering it scales the loss. Leaving it unscales the gradients, looks for inf and NaN, moves
the scale at once, and if there was an inf it arranges that the next `optimizer.step()` does
nothing. Clipping comes after the block, and needs no `unscale_`.

Differences from PyTorch's scaler: the scale stops at $2^{24}$, and a **fixed** scale is just that.
Apex did not even look for inf then: with `loss_scale=128.0` an overflow goes into the weights.
"""

# %%
model, sgd = small_net()
model, sgd = amp.initialize(model, sgd, opt_level="O2", loss_scale=2.0**24, verbosity=0)

# %%
with amp.scale_loss(F.cross_entropy(model(images[:50]), labels[:50]), sgd) as scaled_loss:
    scaled_loss.backward()
sgd.step()
print("with a fixed scale of 2^24, weights finite:", bool(model[0].weight.isfinite().all()))
amp.deactivate()

# %% [markdown]
r"""
### t09_4 · A dynamic scale_loss

Write `scale_loss(loss, optimizer, scaler)` as a context manager, for FP32 parameters as in O1. (A
generator with one `yield` under `@contextmanager` is enough.)

- It gives the loss in FP32, times `scaler.scale`.
- On leaving, the gradients of all the optimizer's parameters, in all its groups, are divided by
  that scale, in `p.grad`; some may be None. `optimizer.zero_grad()` came before, so there are no
  older ones.
- If all are finite, that is one good step more (`scaler.good`). With `scaler.window` good steps in
  a row the scale doubles, but to no more than `scaler.ceiling`, and the count starts again at 0.
- If one element of one of them is inf or NaN, the scale halves, the count starts again at 0, and
  the next `optimizer.step()` leaves no trace, neither in values nor in momentum. Only that one, and
  only of this optimizer: a script can have several, each with its scaler.

Scales are powers of two here.
"""

# %% tags=["setup"]
from contextlib import contextmanager


class Scaler:
    """What scale_loss remembers between steps: its scale and the good steps in a row."""

    def __init__(self, scale=2.0**16, window=2000, ceiling=2.0**24):
        self.scale, self.window, self.ceiling = scale, window, ceiling
        self.good = 0


def run(manager, gradients, lr=1.0, momentum=0.0, **options):
    """Train a weight of 0 on given gradients; return (weight, scale, good) after each step."""
    w = nn.Parameter(torch.zeros(1))
    sgd, scaler, seen = torch.optim.SGD([w], lr=lr, momentum=momentum), Scaler(**options), []
    for gradient in gradients:
        sgd.zero_grad()
        with manager((w * gradient).sum(), sgd, scaler) as scaled_loss:
            scaled_loss.backward()
        sgd.step()
        seen.append((w.item(), float(scaler.scale), int(scaler.good)))
    return seen


def run_three(manager, gradients, scale=8.0, lr=1.0):
    """Give one step three gradients, in groups of 2 and 1; return parameters and scale."""
    a, b, c = params = [nn.Parameter(torch.zeros(2)) for _ in gradients]
    sgd, scaler = torch.optim.SGD([{"params": [a, b]}, {"params": [c]}], lr=lr), Scaler(scale)
    terms = [(p * torch.tensor(g)).sum() for p, g in zip(params, gradients, strict=True)]
    with manager(sum(terms), sgd, scaler) as scaled_loss:
        scaled_loss.backward()
    sgd.step()
    return [p.tolist() for p in params], float(scaler.scale)


def run_two(manager, one, two):
    """Let two optimizers take two steps, each with a gradient of its own; return both weights."""
    weights = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
    sgds, scalers = [torch.optim.SGD([w], lr=1.0) for w in weights], [Scaler(), Scaler()]
    for gradients in zip(one, two, strict=True):
        for w, sgd, scaler, gradient in zip(weights, sgds, scalers, gradients, strict=True):
            sgd.zero_grad()
            with manager((w * gradient).sum(), sgd, scaler) as scaled_loss:
                scaled_loss.backward()
        for sgd in reversed(sgds):
            sgd.step()
    return [w.item() for w in weights]


# %% task="t09_4" forbids=["ampcourse.amp", "apex"]
@contextmanager
def scale_loss(loss, optimizer, scaler):
    """Give the scaled loss; then unscale, move the scale, and skip a step after an inf."""
    ### BEGIN SOLUTION
    yield loss.float() * scaler.scale
    found_inf = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scaler.scale
                found_inf = found_inf or not p.grad.isfinite().all()
    if found_inf:
        scaler.scale, scaler.good = scaler.scale / 2, 0
        step = optimizer.step

        def skip(*args, **kwargs):
            optimizer.step = step

        optimizer.step = skip
        return
    scaler.good += 1
    if scaler.good == scaler.window:
        scaler.scale, scaler.good = min(2 * scaler.scale, scaler.ceiling), 0
    ### END SOLUTION


# %% check="t09_4" points=4
with task("t09_4"):
    given = "inside the block the loss is FP32 and scaled"
    after = "after the block p.grad is unscaled, and None stays None"
    moves = "a good step counts, and a window of them in a row doubles the scale up to the ceiling"
    skips = (
        "after an inf or NaN the scale halves and the next step leaves no trace, but only that one"
    )
    call = """
        w = nn.Parameter(torch.zeros(1))
        sgd = torch.optim.SGD([w], lr=1.0)
        with scale_loss({} + w.sum().half(), sgd, Scaler({})) as scaled:
            scaled.backward()
            return kind(scaled), scaled.item()
    """
    too_late = "65536 times a loss in FP16 is inf: cast it to FP32 first"
    unscaled = "the loss has to be multiplied by the scale"
    traps = {too_late: ("fp16", inf), unscaled: ("fp32", 3.0)}
    check(call.format(3.0, 2.0**16), ("fp32", 196608.0), given, traps)
    fixed = "128 is only one scale: use scaler.scale"
    check(call.format(3.0, 512.0), ("fp32", 1536.0), given, {fixed: ("fp32", 384.0)})
    call = """
        w, b, unused = (nn.Parameter(torch.zeros(n)) for n in (1, 2, 3))
        sgd = torch.optim.SGD([{{"params": [w, unused]}}, {{"params": [b]}}], lr=1.0)
        with scale_loss((w * {}).sum() + (b * {}).sum(), sgd, Scaler({})) as scaled:
            scaled.backward()
        return w.grad.tolist(), b.grad.tolist(), unused.grad
    """
    still = "the gradients are still scaled"
    one_group = "an optimizer can have several groups of parameters"
    right = [3.0], [-0.5, -0.5], None
    traps = {still: ([1536.0], [-256.0] * 2, None), one_group: ([3.0], [-256.0] * 2, None)}
    check(call.format(3.0, -0.5, 512.0), right, after, traps)
    options = "scale=8.0, window=2, ceiling=32.0"
    call = f"[(scale, good) for _, scale, good in run(scale_loss, {{}}, {options})]"
    stuck = "a dynamic scale moves: it is not fixed for ever"
    top = "the scale stops at the ceiling"
    row_only = "an inf starts the count again"
    late = "the scale doubles with the window's last good step"
    no_reset = "after doubling the count starts again"
    right = [(8.0, 1), (16.0, 0), (16.0, 1), (32.0, 0), (32.0, 1), (32.0, 0), (32.0, 1)]
    traps = {stuck: [(8.0, k) for k in range(1, 8)]}
    traps |= {top: [*right[:5], (64.0, 0), (64.0, 1)]}
    traps |= {late: [(8.0, 1), (8.0, 2), (16.0, 1), (16.0, 2), (32.0, 1), (32.0, 2), (32.0, 1)]}
    traps |= {no_reset: [(8.0, 1), (16.0, 2), *[(16.0, k) for k in range(3, 8)]]}
    check(call.format([1.0] * 7), right, moves, traps)
    traps = {row_only: [(8.0, 1), (4.0, 1), (8.0, 0)]}
    check(call.format("[1.0, inf, 1.0]"), [(8.0, 1), (4.0, 0), (4.0, 1)], moves, traps)
    call = "[(w, scale) for w, scale, _ in run(scale_loss, {}, scale=8.0, momentum={})]"
    taken = "the step was taken in spite of the inf"
    forever = "skip the next step only: the optimizer never stepped again"
    only_nan = "infinities are to be found, too, and not only NaN"
    only_inf = "NaN is to be found as well as inf"
    zeroed = "a step with gradients of zero is a step: momentum moves the weights"
    right = [(-1.0, 8.0), (-1.0, 4.0), (-2.0, 4.0), (-2.0, 2.0), (-3.0, 2.0)]
    traps = {taken: [(-1.0, 8.0), (-inf, 4.0), (-inf, 4.0), (nan, 2.0), (nan, 2.0)]}
    traps |= {forever: [(-1.0, 8.0), (-1.0, 4.0), (-1.0, 4.0), (-1.0, 2.0), (-1.0, 2.0)]}
    traps |= {only_nan: [(-1.0, 8.0), (-inf, 8.0), (-inf, 8.0), (-inf, 4.0), (-inf, 4.0)]}
    traps |= {only_inf: [(-1.0, 8.0), (-1.0, 4.0), (-2.0, 4.0), (nan, 4.0), (nan, 4.0)]}
    check(call.format("[1.0, inf, 1.0, nan, 1.0]", 0.0), right, skips, traps)
    right = [(-1.0, 8.0), (-1.0, 4.0), (-2.5, 4.0)]
    put_back = "the values were put back, but the momentum was not"
    traps = {zeroed: [(-1.0, 8.0), (-1.5, 4.0), (-2.75, 4.0)]}
    traps |= {put_back: [(-1.0, 8.0), (-1.0, 4.0), (-inf, 4.0)]}
    check(call.format("[1.0, -inf, 1.0]", 0.5), right, skips, traps)
    call = "run_three(scale_loss, {})"
    zero, down = [0.0, 0.0], [-1.0, -1.0]
    last_only = "only the last gradient decided: once found, an inf stays found"
    first_only = "only the first gradient decided: look at all of them"
    apart = "a step is taken with all parameters or with none"
    largest = "the largest element is not enough: -inf is the smallest"
    added = "a sum can be infinite where no element is: ask each element"
    cancelled = "+inf and -inf add up to NaN: ask each element for isfinite"
    skipped = [zero] * 3, 4.0
    traps = {last_only: ([[-inf, -1.0], down, down], 8.0), apart: ([zero, down, down], 4.0)}
    check(call.format("[[inf, 1.0], [1.0, 1.0], [1.0, 1.0]]"), skipped, skips, traps)
    traps = {first_only: ([down, down, [-1.0, -inf]], 8.0), apart: ([down, down, zero], 4.0)}
    check(call.format("[[1.0, 1.0], [1.0, 1.0], [1.0, inf]]"), skipped, skips, traps)
    traps = {largest: ([down, [inf, -1.0], down], 8.0), apart: ([down, zero, down], 4.0)}
    check(call.format("[[1.0, 1.0], [-inf, 1.0], [1.0, 1.0]]"), skipped, skips, traps)
    traps = {cancelled: ([[-inf, inf], down, down], 8.0), apart: ([zero, down, down], 4.0)}
    check(call.format("[[inf, -inf], [1.0, 1.0], [1.0, 1.0]]"), skipped, skips, traps)
    call = """
        w, scaler = nn.Parameter(torch.zeros(2)), Scaler(1.0)
        sgd = torch.optim.SGD([w], lr=2.0**-127)
        with scale_loss((w * 2.0**127).sum(), sgd, scaler) as scaled_loss:
            scaled_loss.backward()
        sgd.step()
        return w.tolist(), w.grad.tolist(), float(scaler.scale)
    """
    wide = [2.0**127] * 2
    check(call, (down, wide, 1.0), skips, {added: (zero, wide, 0.5)})
    call = "run_two(scale_loss, {}, {})"
    all_of_it = (
        "the other optimizer's step was skipped: replace step on the object, not on its class"
    )
    traps = {all_of_it: [-inf, -1.0], f"{all_of_it}.": [-1.0, -1.0]}
    check(call.format("[inf, 1.0]", "[1.0, 1.0]"), [-1.0, -2.0], skips, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch

    t09_4_random = Random(904)

    def t09_4_torch(gradients, scale, window, momentum):
        """Let torch's optimizer and scaler take these steps."""
        w = torch.nn.Parameter(torch.zeros(1))
        sgd = torch.optim.SGD([w], lr=1.0, momentum=momentum)
        options = {"init_scale": scale, "growth_interval": window}
        scaler, seen = torch.amp.GradScaler("cpu", **options), []
        for gradient in gradients:
            sgd.zero_grad()
            scaler.scale((w * gradient).sum()).backward()
            scaler.step(sgd)
            scaler.update()
            state = scaler.state_dict()
            seen.append((w.item(), state["scale"], state["_growth_tracker"]))
        return seen

    inside = """
        w = nn.Parameter(torch.zeros(1))
        sgd = torch.optim.SGD([w], lr=1.0)
        with scale_loss({} + w.sum().half(), sgd, Scaler({})) as scaled:
            scaled.backward()
            return kind(scaled), scaled.item()
    """
    gradients_of = """
        w, b, unused = (nn.Parameter(torch.zeros(n)) for n in (1, 2, 3))
        sgd = torch.optim.SGD([{{"params": [w, unused]}}, {{"params": [b]}}], lr=1.0)
        with scale_loss((w * {}).sum() + (b * {}).sum(), sgd, Scaler({})) as scaled:
            scaled.backward()
        return w.grad.tolist(), b.grad.tolist(), unused.grad
    """

    def t09_4_three(gradients, scale, lr):
        """Let torch's optimizer and scaler take one step with three gradients."""
        params = [torch.nn.Parameter(torch.zeros(2)) for _ in gradients]
        sgd = torch.optim.SGD([{"params": params[:2]}, {"params": params[2:]}], lr=lr)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        terms = [(p * torch.tensor(g)).sum() for p, g in zip(params, gradients, strict=True)]
        scaler.scale(torch.stack(terms).sum()).backward()
        scaler.step(sgd)
        scaler.update()
        return [p.tolist() for p in params], scaler.get_scale()

    t09_4_bad = [float("inf"), -float("inf"), float("nan")]
    for place in range(6):  # one bad element, in each place once
        flat = [t09_4_random.randint(-8, 8) / 8 for _ in range(6)]
        flat[place] = t09_4_bad[place % 3]
        rows = [flat[:2], flat[2:4], flat[4:]]
        power = 2.0 ** t09_4_random.randint(3, 16)
        call = f"run_three(scale_loss, {rows}, scale={power})"
        check(call, t09_4_three(rows, power, 1.0), skips)
    for _ in range(4):
        rows = [[t09_4_random.choice((-1, 1)) * 1.5 * 2.0**126] * 2 for _ in range(3)]
        call = f"run_three(scale_loss, {rows}, scale=1.0, lr=2.0**-120)"
        check(call, t09_4_three(rows, 1.0, 2.0**-120), skips)
        loss, power = t09_4_random.randrange(2, 60) / 4, 2.0 ** t09_4_random.randint(14, 24)
        check(inside.format(loss, power), ("fp32", loss * power), given)
        one, two = (t09_4_random.randrange(-99, 99) / 16 for _ in range(2))
        right = [one + 0.0], [two, two], None
        check(gradients_of.format(one, two, power), right, after)
        window, momentum = t09_4_random.randint(2, 4), t09_4_random.choice((0.5, 0.25))
        kinds = [1.0, 2.0, -1.0, 0.5, 1.0, -2.0, float("inf"), float("nan"), -float("inf")]
        steps = t09_4_random.choices(kinds, k=20)
        text = "[" + ", ".join(map(str, steps)) + "]"
        right = t09_4_torch(steps, 2.0**10, window, momentum)
        options = f"scale=2.0**10, window={window}, momentum={momentum}"
        call = f"[(w, scale) for w, scale, _ in run(scale_loss, {text}, {options})]"
        check(call, [row[:2] for row in right], skips)
        other = t09_4_random.choices(kinds, k=20)
        ends = [t09_4_torch(row, 2.0**16, 2000, 0.0)[-1][0] for row in (steps, other)]
        call = "[" + ", ".join(map(str, other)) + "]"
        check(f"run_two(scale_loss, {text}, {call})", ends, skips)
        call = f"[state[1:] for state in run(scale_loss, {text}, {options})]"
        check(call, [row[1:] for row in right], moves)
        limit = 2.0 ** t09_4_random.randint(11, 13)
        right = [min(row[1], limit) for row in t09_4_torch([1.0] * 20, 2.0**10, window, 0.0)]
        options = f"scale=2.0**10, window={window}, ceiling={limit}"
        call = f"[scale for _, scale, _ in run(scale_loss, {[1.0] * 20}, {options})]"
        check(call, right, moves)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## All of them side by side

Now the four levels and `torch.amp` on the small net, 2,000 images, two epochs. Each recipe is one
function that goes as far as the gradients and one that steps:
"""


# %%
class Apex:
    def __init__(self, level):
        self.model, self.sgd = amp.initialize(*small_net(), opt_level=level, verbosity=0)

    def backward(self, x, y):
        self.sgd.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        with amp.scale_loss(loss, self.sgd) as scaled_loss:
            scaled_loss.backward()
        return loss.item()

    def step(self):
        self.sgd.step()


# %%
class Torch:
    def __init__(self, dtype):
        (self.model, self.sgd), self.dtype = small_net(), dtype
        self.scaler = torch.amp.GradScaler("cpu", enabled=dtype == torch.float16)

    def backward(self, x, y):
        self.sgd.zero_grad()
        with torch.autocast("cpu", dtype=self.dtype):
            loss = F.cross_entropy(self.model(x), y)
        scaled_loss = self.scaler.scale(loss)
        scaled_loss.backward()
        return loss.item()

    def step(self):
        self.scaler.step(self.sgd)
        self.scaler.update()


# %% [markdown]
r"""
Memory is counted in bytes: weights, masters, gradients and momentum as they stand before the
step, and the tensors that autograd keeps for the backward pass, each once.
"""


# %%
def size(tensors):
    return sum({id(t): t.numel() * t.element_size() for t in tensors if t is not None}.values())


# %%
def kept_for_backward(run):
    kept, own = {}, {p.untyped_storage().data_ptr() for p in run.model.parameters()}
    hooks = lambda t: kept.setdefault(t.untyped_storage().data_ptr(), t), lambda t: t
    with torch.autograd.graph.saved_tensors_hooks(*hooks):
        run.backward(images[:50], labels[:50])
    return [t for place, t in kept.items() if place not in own]


# %%
def ledger(run):
    passing, own = kept_for_backward(run), [*run.model.parameters()]
    stepped = [p for group in run.sgd.param_groups for p in group["params"]]
    masters = [p for p in stepped if not any(p is q for q in own)]
    momentum = [state["momentum_buffer"] for state in run.sgd.state.values()]
    gradients = [p.grad for p in own + masters]
    return [size(part) for part in (own, masters, gradients, momentum, passing)]


# %% [markdown]
r"""
What to expect of the **time**: nothing of what a GPU would show. On this small net on a CPU no
level is much faster than O0, and which is slowest may change from run to run. (Shown is the fastest
step of each, since whatever else the machine does can only add.)

What to expect of the **accuracy**: after two epochs it still jumps by several points from batch
to batch, and with 1,000 test images a difference of less than about 3 points says nothing anyway.
"""

# %%
import time


# %%
torch.set_num_threads(1)  # tensors this small gain nothing from more


# %%
def race(run, epochs=2, batch=50):
    draw, seconds, losses = torch.Generator().manual_seed(0), [], []
    for _ in range(epochs):
        for chosen in torch.randperm(len(images), generator=draw).split(batch):
            start = time.perf_counter()
            losses.append(run.backward(images[chosen], labels[chosen]))
            run.step()
            seconds.append(time.perf_counter() - start)
    with torch.no_grad():
        right = run.model.eval()(test_images).argmax(1) == test_labels
    accuracy = right.float().mean().item()
    return {"losses": losses, "accuracy": accuracy, "ms": 1000 * min(seconds)}


# %% tags=["nbval-ignore-output"]
recipes: dict = {level: (Apex, level) for level in amp.PROPERTIES}
recipes |= {"torch fp16": (Torch, torch.float16), "torch bf16": (Torch, torch.bfloat16)}
runs, results, bytes_of = {}, {}, {}
for name, (make, option) in recipes.items():
    runs[name] = make(option)
    results[name] = race(runs[name])
    bytes_of[name] = ledger(runs[name])
    amp.deactivate()

# %% tags=["nbval-ignore-output"]
print("            accuracy   fastest step, ms   last loss")
for name, found in results.items():
    numbers = f"{found['accuracy']:8.3f} {found['ms']:18.2f} {found['losses'][-1]:11.6f}"
    print(f"{name:12}{numbers}")

# %%
print("types       weights  gradients  stepped")
for name, trained in runs.items():
    weight, [stepped, *_] = trained.model[0].weight, trained.sgd.param_groups[0]["params"]
    print(f"{name:13}{kind(weight)}       {kind(weight.grad)}     {kind(stepped)}")

# %% tags=["nbval-ignore-output"]
print("bytes       weights  masters  gradients  momentum  for backward  of O0's")
for name, parts in bytes_of.items():
    numbers = [f"{part:>{w}}" for part, w in zip(parts, (8, 9, 11, 10, 14), strict=True)]
    print(f"{name:11}" + "".join(numbers) + f"{parts[-1] / bytes_of['O0'][-1]:9.0%}")

# %% [markdown]
r"""
What the tables say:

- **Types.** By its types, `torch.amp` is O1.
- **Weights.** Under O1 and `torch.amp` all is as in O0: mixed precision of this kind does not
  shrink weights, gradients or optimizer state. Under O2 they take *more*: 2 + 4 bytes for a weight
  and its master, 2 + 4 for both gradients, 4 for momentum make 16 instead of 12. Only O3 halves.
- **For backward.** Here most bytes are saved. But it falls to about 60 % of O0's and not to half:
  pooling keeps its indices as int64 in all of them, and O1 and `torch.amp` keep the cast weights
  as well.
- **Time** is what this CPU makes of it, and says nothing of a GPU. FP16 gains where there are units
  for it, and code that uses them. A CPU without converts every operand to FP32 and every result
  back, and each cast and each copy of a master is one call more. On two servers the levels with
  FP16 took from 1.4 to 21 times as long as O0; the slower one, a busy Xeon, even had instructions
  for FP16 (AVX512-FP16), but with torch 2.14 the backward pass of the convolution took 45 times as
  long as in FP32. On larger nets FP16 autocast takes 8 to 75 times as long on a CPU without FP16
  units (measured for this course).

And O1 beside `torch.amp` in FP16? Same casts, same order, same scale:
"""

# %%
equal = results["O1"]["losses"] == results["torch fp16"]["losses"]
print(f"{len(results['O1']['losses'])} losses, all the same bits:", equal)

# %% [markdown]
r"""
On GPUs that have FP16 units the levels did differ in time. Quoted from
[apex#478](https://github.com/NVIDIA/apex/issues/478), somebody's ResNet152 on CIFAR10, one V100:

| level | O0 | O1 | O2 | O3 |
|---|---|---|---|---|
| accuracy, % | 93.42 | 93.55 | 93.50 | 93.21 |
| time | 6 h 54 min | 5 h 26 min | 4 h 31 min | 3 h 52 min |
| memory, MiB | 12855 | 7499 | 7425 | 6915 |

And quoted from one of the three articles that this course grew from, ResNet50 on CIFAR10 with an
RTX 4090, where the level is not told:
"""

# %%
from ampcourse.benchmark.records import records

for record in records("quoted"):
    if (record.hardware, record.task) == ("RTX 4090", "ResNet50, CIFAR10"):
        which, run_amp = record.flags.get("amp", "torch.amp"), record.amp
        print(f"{which:10} {run_amp.value} {record.unit}, {run_amp.memory_mb:.0f} MB", end="")
        print(f", accuracy {run_amp.accuracy} (without AMP {record.baseline.value} {record.unit})")

# %% [markdown]
r"""
That O3 trained the ResNet152 is no rule. With batch norm behind every layer and gradients that
happen to fit, it can; the deep net of `05_loss_scaling` learns nothing without a scale. Apex's
[documentation](https://github.com/NVIDIA/apex/blob/3f87614f3e07055bf7680cdbea2340dcf10d63c5/docs/source/amp.rst)
recommended O1 for typical use, and O3 as a baseline for speed that may not be stable. The levels
are no ladder from safe to fast: O3 leaves out the two things that protect FP16 training.

## Port a script

| Apex | torch.amp |
|---|---|
| O0 | nothing, or both switched off by `enabled=False` |
| O1 | `torch.autocast(device, dtype=torch.float16)` and `torch.amp.GradScaler(device)` |
| O2 | no counterpart; take O1's |
| O3 | no counterpart: `model.half()` and no scaler, if you must |

**Why has torch.amp no O2?** Because of what you built in t09_2. A model cast for good, an
optimizer whose parameters were exchanged, checkpoints to be translated: all of it has to fit
together, for every optimizer and every wrapper. With autocast, parameters are plain FP32, and the
casts end where its block ends. And reports of the gain differ. In the V100's table above O2 took
less time than O1; when NVIDIA moved its Transformer example to `torch.amp` and somebody missed O2,
the answer was that in long tests it had brought no shorter training than O1, and had touched
convergence
([DeepLearningExamples#998](https://github.com/NVIDIA/DeepLearningExamples/issues/998)).

Whoever calls `half()` on the model and keeps the GradScaler hears of it (the text people search
for; it comes at `step` or `unscale_`):
"""

# %% tags=["nbval-ignore-output"]
halved, sgd = small_net()
refusing = torch.amp.GradScaler("cpu")
refusing.scale(F.cross_entropy(halved.half()(images[:8].half()).float(), labels[:8])).backward()
try:
    refusing.step(sgd)
except ValueError as error:
    print(error)

# %% [markdown]
r"""
The library has the whole table, call by call. Some rows of it:
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.amp.porting import PORTING

rows = [row for row in PORTING if row.apex.startswith(("with", "optimizer", "clip", "amp.state"))]
Markdown("\n".join(f"- `{row.apex}` → `{row.torch_amp}`. {row.note}" for row in rows))

# %% [markdown]
r"""
### t09_5 · Port a training loop

Here is the script, as it was:

```python
from apex import amp

def train(model, optimizer, batches, max_norm):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for x, y in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), max_norm)
        optimizer.step()
    return amp
```

Write `train` with `torch.amp`, on the device `"cpu"` and in FP16, so that the same weights come
out, bit for bit. Autocast covers the forward pass with its loss and nothing else. Return the
scaler, whose state a checkpoint will need. As in Apex, the scale starts at $2^{16}$, doubles after
2,000 good steps in a row, and a step with an infinite gradient is skipped.
"""


# %% tags=["setup"]
class Probe(nn.Module):
    """A linear layer without bias that notes what comes out and which gradient comes back."""

    def __init__(self, *weights):
        super().__init__()
        self.layer = nn.Linear(len(weights), 1, bias=False)
        self.layer.weight.data[:] = torch.tensor(weights)
        self.log, self.steps = [], []

    def forward(self, x):
        output = self.layer(x)
        self.log.append(f"{kind(output)} out of {kind(self.layer.weight)} weights")
        output.register_hook(self.note)
        return output

    def note(self, gradient):
        """Note a gradient on its way back, and whether autocast is on there."""
        numbers = f"{kind(gradient)} gradient {gradient.sum().item():g}"
        self.log.append(f"{numbers}, autocast {autocast()}")


def autocast():
    """Say whether autocast is on here."""
    return "on" if torch.is_autocast_enabled("cpu") else "off"


def fit(loop, model, batches, max_norm=inf, lr=1.0, **options):
    """Run a training loop on batches given as lists; return the scaler."""
    sgd = torch.optim.SGD(model.parameters(), lr=lr, **options)
    sgd.register_step_pre_hook(lambda *_: model.steps.append(autocast()))
    tensors = [(torch.tensor(x), torch.tensor(y)) for x, y in batches]
    try:
        return loop(model, sgd, tensors, max_norm)
    except RuntimeError as error:
        if "unscale_() is being called after step()" not in str(error):
            raise
        raise RuntimeError(f"{error} Between two steps there is an update().") from error


def read(model):
    """Return all of a model's parameters as one list of numbers."""
    return [w for p in model.parameters() for w in p.detach().flatten().tolist()]


# %% task="t09_5" forbids=["ampcourse.amp", "apex"]
def train(model, optimizer, batches, max_norm):
    """Train in FP16 by torch.amp, clip gradients to max_norm, and return the scaler."""
    ### BEGIN SOLUTION
    scaler = torch.amp.GradScaler("cpu")
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
    return scaler
    ### END SOLUTION


# %% check="t09_5" points=4
with task("t09_5"):
    flows = "FP32 weights, an FP16 forward pass, and a scaled gradient on its way back"
    ends = "autocast is for the forward pass and the loss alone"
    clips = "the unscaled gradient is clipped, and the same weights come out as under O1"
    skips = "an infinite gradient: no step, and the scale is halved"
    keeps = "return the scaler, which starts at 2^16, doubles after 2,000 good steps, and halves"
    call = """
        probe = Probe(2.0)
        scaler = fit(train, probe, [([[1.0]], [[1.75]])])
        off = getattr(scaler, "is_enabled", lambda: True)() is False
        return [probe.log[0], probe.log[1].split(",")[0]] + ["scaler off"] * off
    """
    right = ["fp16 out of fp32 weights", "fp16 gradient 32768"]
    in_half = "autocast needs no model.half(): the parameters stay FP32"
    no_cast = "the forward pass ran in FP32"
    bf16 = "on the CPU autocast takes BF16 unless told otherwise; O1 is FP16"
    bare = "without a loss scale small gradients vanish on their way"
    fixed = "a scale of 128 is fixed; O1's default is dynamic and starts at 2^16"
    off = 'the scaler is off; so is GradScaler() where "cpu" is missing and there is no CUDA'
    low_loss = "the loss was FP16: the gradient there is the scale itself, and 65536 is inf in FP16"
    traps = {in_half: ["fp16 out of fp16 weights", right[1]]}
    traps |= {no_cast: ["fp32 out of fp32 weights", "fp32 gradient 32768"]}
    traps |= {bf16: ["bf16 out of fp32 weights", "bf16 gradient 32768"]}
    traps |= {bare: [right[0], "fp16 gradient 0.5"], fixed: [right[0], "fp16 gradient 64"]}
    traps |= {off: [right[0], "fp16 gradient 0.5", "scaler off"]}
    traps |= {low_loss: [right[0], "fp16 gradient inf"]}
    check(call, right, flows, traps)
    call = """
        probe = Probe(2.0)
        fit(train, probe, [([[1.0]], [[1.75]])])
        return [probe.log[1].split(" ")[-1], *probe.steps]
    """
    wide, late = "backward() ran under autocast", "the optimizer stepped under autocast"
    traps = {wide: ["on", "off"], f"{wide}, and step() too": ["on", "on"], late: ["off", "on"]}
    check(call, ["off", "off"], ends, traps)
    call = """
        probe = Probe(*{})
        fit(train, probe, {}, {})
        return [float(f"{{w:.3g}}") for w in read(probe)]
    """
    wrong_order = "clipped while it was still scaled: unscale_ comes first"
    unclipped = "the gradient was not clipped"
    added = "the gradient of the step before was still there"
    by_value = "clip the norm of the whole gradient, not each element"
    batch = [([[0.75, 1.0]], [[-0.25]])]
    right = [-0.24, -0.32]
    traps = {unclipped: [-0.375, -0.5], by_value: [-0.375, -0.4], low_loss: [0.0, 0.0]}
    traps |= {wrong_order: [-3.66e-06, -4.88e-06]}
    check(call.format([0.0, 0.0], batch, 0.4), right, clips, traps)
    batch += [([[0.75, 1.0]], [[-1.03125]])]
    check(call.format([0.0, 0.0], batch, 8.0), [-0.75, -1.0], clips)
    call = """
        probe = Probe(0.5, 0.25)
        scaler = fit(train, probe, {}, momentum=0.5)
        return read(probe), scaler.get_scale()
    """
    batches = [([[1000.0, 1000.0]], [[0.25]]), ([[1.0, 0.0]], [[0.25]])]
    stepped = "the step was taken in spite of an infinite gradient"
    never = "update() is missing: the scale cannot move"
    traps = {never: ([0.0, 0.25], 2.0**16), stepped: ([nan, nan], 2.0**14)}
    traps |= {added: ([0.5, 0.25], 2.0**14), off: ([nan, nan], 1.0)}
    traps |= {low_loss: ([0.5, 0.25], 2.0**14)}
    check(call.format(batches), ([0.0, 0.25], 2.0**15), skips, traps)
    traps = {never: ([0.5, 0.25], 2.0**16)}
    check(call.format(batches[:1]), ([0.5, 0.25], 2.0**15), skips, traps)
    call = """
        scaler = fit(train, Probe(1.0), [([[1.0]], [[1.0]])] * {})
        options = "scale", "_growth_tracker", "growth_interval", "growth_factor", "backoff_factor"
        return type(scaler).__name__, *map(scaler.state_dict().get, options)
    """
    early = "O1's scale doubles after 2,000 good steps in a row, which is GradScaler's default"
    rest = 2.0, 0.5
    check(call.format(3), ("GradScaler", 65536.0, 3, 2000, *rest), keeps)
    traps = {early: ("GradScaler", 65536.0, 1, 1000, *rest), off: ("GradScaler", *[None] * 5)}
    traps |= {f"{early}.": ("GradScaler", 65536.0, 1, 100, *rest)}
    traps |= {never: ("GradScaler", 65536.0, 0, 2000, *rest)}
    traps |= {fixed: ("GradScaler", 128.0, 1, 2000, *rest)}
    traps |= {low_loss: ("GradScaler", 32768.0, 0, 2000, *rest)}
    check(call.format(1), ("GradScaler", 65536.0, 1, 2000, *rest), keeps, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch
    from torch import nn
    from torch.nn import functional as F

    t09_5_random = Random(905)

    def t09_5_apex(weights, batches, max_norm, momentum=0.0):
        """Do what the script did under O1; return weights and scale.

        With every cast and the scale written out in plain torch, so that neither autocast, nor
        GradScaler, nor this course's own levels decide what is right.
        """
        w, scale = nn.Parameter(torch.tensor([weights])), 2.0**16
        sgd = torch.optim.SGD([w], lr=1.0, momentum=momentum)
        for x, y in batches:
            output = F.linear(torch.tensor(x).half(), w.half())  # on O1's list for FP16
            loss = F.mse_loss(output.float(), torch.tensor(y))  # on O1's list for FP32
            [gradient] = torch.autograd.grad(loss * scale, w)
            w.grad = gradient / scale
            found_inf = not w.grad.isfinite().all()
            nn.utils.clip_grad_norm_([w], max_norm)
            if found_inf:
                scale /= 2
            else:
                sgd.step()
        return w.detach().flatten().tolist(), scale

    def t09_5_batch(width=1, large=1.0):
        """Return a batch of one row, in eighths, whose loss is small."""
        row = [t09_5_random.randint(-8, 8) / 16 * large for _ in range(width)]
        return [row], [[t09_5_random.randint(-4, 4) / 16]]

    for _ in range(3):
        w, target = t09_5_random.randint(2, 40) / 8, t09_5_random.randint(1, 7) / 16
        call = f"""
            probe = Probe({w})
            fit(train, probe, [([[1.0]], [[{w - target}]])])
            return [probe.log[0], probe.log[1].split(",")[0]]
        """
        scaled = f"fp16 gradient {2 * target * 65536:g}"
        check(call, ["fp16 out of fp32 weights", scaled], flows)
        count = t09_5_random.randint(2, 5)
        call = f"""
            probe = Probe(2.0)
            fit(train, probe, [([[0.5]], [[0.9375]])] * {count})
            return [line.split(" ")[-1] for line in probe.log[1::2]] + probe.steps
        """
        check(call, ["off"] * 2 * count, ends)
        weights = [t09_5_random.randint(-8, 8) / 32 for _ in range(3)]
        batches = [t09_5_batch(3) for _ in range(6)]
        top = t09_5_random.choice((0.125, 0.25, 0.375))
        right = [x.hex() for x in t09_5_apex(weights, batches, top)[0]]
        call = f"""
            probe = Probe(*{weights})
            fit(train, probe, {batches}, {top})
            return [w.hex() for w in read(probe)]
        """
        check(call, right, clips)
        batches = [t09_5_batch(3) for _ in range(5)]
        batches[t09_5_random.randint(1, 3)] = ([[3e4, 2e4, 1.0]], [[0.25]])
        right = t09_5_apex(weights, batches, 0.25, 0.5)
        call = f"""
            probe = Probe(*{weights})
            scaler = fit(train, probe, {batches}, 0.25, momentum=0.5)
            return read(probe), scaler.get_scale()
        """
        check(call, right, skips)
        count = t09_5_random.randint(4, 9)
        call = f"""
            scaler = fit(train, Probe(1.0), [([[1.0]], [[1.0]])] * {count})
            names = "scale", "_growth_tracker", "growth_interval", "growth_factor", "backoff_factor"
            return type(scaler).__name__, *map(scaler.state_dict().get, names)
        """
        check(call, ("GradScaler", 65536.0, count, 2000, 2.0, 0.5), keeps)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Read an old script

The last task is what one does with a repository from 2020: read its configuration, and say what
goes wrong with it before it has run for a day. A level, an override, where the gradients are
clipped, and whose Apex it is.

### t09_6 · What goes wrong?

`troubles` gets the facts of a script by keyword and returns the set of words that apply (an empty
set if all is well):

| fact | says |
|---|---|
| `apex` | where `apex` is from: `"PyPI"`, or the day of NVIDIA's source, as in `"2021-03-14"` |
| `level` | what stands for `opt_level`, a string |
| `keep_batchnorm_fp32`, `loss_scale` | the overrides, None where there is none |
| `half` | whether `model.half()` was called before `initialize` |
| `clip` | what is clipped: `"model"`, `"masters"`, or None for nothing |
| `inside` | whether that is done inside the `scale_loss` block, after `backward()` |
| `largest` | the largest gradient, unscaled, that the backward pass meets |

| word | means |
|---|---|
| `"no amp"` | there is no `apex.amp` to import; then it is the only word |
| `"refused"` | `initialize` raises an error; then it is the only word |
| `"flush"` | gradients pass through FP16 with a scale of 1, so that small ones vanish |
| `"overflow"` | `largest` times a **fixed** scale is infinite in FP16, from 65520 on |
| `"stall"` | the optimizer steps FP16 weights, so that small updates vanish |
| `"clip"` | the update is not clipped as meant |

`"model"` stands for `model.parameters()` and `"masters"` for `amp.master_params(optimizer)`.
`initialize` raises for an unknown level, for a model in FP16, and for `keep_batchnorm_fp32` with
O1. Under O2 the masters have their gradients, unscaled, only when the block is left; the model's
own stay scaled. Under the other levels both names mean the same parameters, whose gradients are
scaled inside the block (by 1, if that is the scale). `loss_scale` is None, a number or
`"dynamic"`.

One case is not asked: O2 with `"model"` clipped inside the block at a scale of 1. What is clipped
there becomes the masters' gradients a moment later, so that it works after all.
"""

# %% tags=["setup"]
FACTS = {
    "apex": "2022-06-01",
    "level": "O1",
    "keep_batchnorm_fp32": None,
    "loss_scale": None,
    "half": False,
    "clip": None,
    "inside": False,
    "largest": 1.0,
}


def said(troubles, word, scripts):
    """Say of each script, given by its differences from FACTS, whether a word applies."""
    found = [word in troubles(**(FACTS | facts)) for facts in scripts]
    answers = ["yes" if applies else "no" for applies in found]
    return [f"{facts}: {answer}" for facts, answer in zip(scripts, answers, strict=True)]


def all_said(troubles, scripts):
    """Say of each script all the words that apply to it."""
    lines = []
    for facts in scripts:
        found = troubles(**(FACTS | facts))
        words = ", ".join(sorted(found)) if isinstance(found, set) else type(found).__name__
        lines.append(f"{facts}: {words or 'all well'}")
    return lines


# %% task="t09_6" forbids=["ampcourse.amp", "apex"]
def troubles(apex, level, keep_batchnorm_fp32, loss_scale, half, clip, inside, largest):
    """Return the set of words that say what goes wrong with a script."""
    ### BEGIN SOLUTION
    if apex == "PyPI" or apex >= "2025-05-08":
        return {"no amp"}
    defaults = {"O0": 1.0, "O1": "dynamic", "O2": "dynamic", "O3": 1.0}
    if level not in defaults or half or (level == "O1" and keep_batchnorm_fp32 is not None):
        return {"refused"}
    scale = defaults[level] if loss_scale is None else loss_scale
    found = {"stall"} if level == "O3" else set()
    if level != "O0" and scale == 1:
        found.add("flush")
    if level != "O0" and scale != "dynamic" and largest * scale >= 65520:
        found.add("overflow")
    wrong = clip == "model" or inside if level == "O2" else inside and scale != 1
    return found | {"clip"} if clip and wrong else found
    ### END SOLUTION


# %% check="t09_6" points=5
with task("t09_6"):
    present = "NVIDIA's Apex had amp until 7 May 2025, and the one on PyPI never had"
    refused = "initialize refuses unknown levels, models in FP16, and keep_batchnorm_fp32 with O1"
    flush = "FP16 gradients need a loss scale, and O3 has none of its own"
    overflow = "a fixed scale neither moves nor looks: what overflows goes into the weights"
    stall = "FP16 weights without FP32 masters stand still: that is O3"
    clipped = "what is clipped must be what the optimizer steps, after unscaling"
    alone = "with no amp, and after a refusal, there is nothing else to say"

    def asked(name, *arguments):
        """Write a call with one script per line."""
        *words, scripts = arguments
        rows = "".join(f"    {facts},\n" for facts in scripts)
        return f"return {name}(troubles, {''.join(f'{word!r}, ' for word in words)}[\n{rows}])"

    def verdicts(scripts, answers):
        """Write what `said` and `all_said` give; a boolean as yes or no."""
        texts = [{True: "yes", False: "no"}.get(answer, answer) for answer in answers]
        return [f"{facts}: {text}" for facts, text in zip(scripts, texts, strict=True)]

    def wrong_verdicts(scripts, traps):
        return {cause: verdicts(scripts, answers) for cause, answers in traps.items()}

    days = ["PyPI", "2020-01-01", "2025-05-07", "2025-05-08", "2025-12-24", "2019-03-01"]
    scripts: list[dict] = [{"apex": day} for day in days]
    ships = "Apex without amp is still called Apex: it was removed on 8 May 2025"
    pip = "pip install apex gets a package for the web framework Pyramid"
    removed = "the day of the removal counts as removed"
    right = [True, False, False, True, True, False]
    traps = {ships: [True] + [False] * 5, pip: [False, False, False, True, True, False]}
    traps |= {removed: [True, False, False, False, True, False]}
    call = asked("said", "no amp", scripts)
    check(call, verdicts(scripts, right), present, wrong_verdicts(scripts, traps))
    scripts = [{"keep_batchnorm_fp32": True}, {"level": "O2", "keep_batchnorm_fp32": True}]
    scripts += [{"level": "02"}, {"level": "O3", "half": True}, {"keep_batchnorm_fp32": False}]
    scripts += [
        {"level": "O3"},
        {"level": "O2", "half": True},
        {"level": "O2", "loss_scale": 128.0},
        {"level": "O0", "half": True},
    ]
    right = [True, False, True, True, True, False, True, False, True]
    harmless = "keep_batchnorm_fp32 with O1 is no harmless extra: it contradicts the level"
    only_true = "keep_batchnorm_fp32=False contradicts O1 just as True does"
    digit = "02 begins with a zero, the level with the letter O"
    helps = "model.half() is not for you to call: initialize casts, and refuses FP16"
    o0_too = "O0 refuses a model in FP16 as well: whatever the level, initialize wants FP32"
    traps = {harmless: [False, False, True, True, False, False, True, False, True]}
    traps |= {only_true: [True, False, True, True, False, False, True, False, True]}
    traps |= {digit: [True, False, False, True, True, False, True, False, True]}
    traps |= {helps: [True, False, True, False, True, False, False, False, False]}
    traps |= {o0_too: [*right[:8], False]}
    call = asked("said", "refused", scripts)
    check(call, verdicts(scripts, right), refused, wrong_verdicts(scripts, traps))
    scripts = [{"level": level} for level in ("O0", "O1", "O2", "O3")]
    scripts += [{"level": "O3", "loss_scale": 128.0}, {"level": "O1", "loss_scale": 1.0}]
    scripts += [{"level": "O2", "loss_scale": 1.0}, {"level": "O3", "loss_scale": "dynamic"}]
    right = [False, False, False, True, False, True, True, False]
    safe = "O3 is fast but not safe: its own loss scale is 1"
    o3_only = "every level but O0 has FP16 gradients somewhere"
    traps = {safe: [False] * 5 + [True, True, False]}
    traps |= {o3_only: [False] * 3 + [True] + [False] * 4}
    call = asked("said", "flush", scripts)
    check(call, verdicts(scripts, right), flush, wrong_verdicts(scripts, traps))
    scripts = [{"level": "O2", "loss_scale": 128.0, "largest": g} for g in (511.0, 511.875, 512.0)]
    scripts += [{"level": "O3", "loss_scale": "dynamic", "largest": 1e6}]
    scripts += [{"level": "O0", "loss_scale": 1024.0, "largest": 1e5}]
    scripts += [{"level": "O3", "largest": 7e4}, {"level": "O1", "loss_scale": 2.0**16}]
    scripts += [{"level": "O1", "largest": 7e4}]
    right = [False, True, True, False, False, True, True, False]
    believed = "128 does not suit every training: what it overflows, nobody notices"
    dynamic = "a dynamic scale backs off until it fits"
    no_fp16 = "O0 has no FP16 in it"
    limit = "inf begins at 65520: what is less rounds to 65504, the largest number"
    largest_number = "between 65504 and 65520 it rounds to 65504"
    traps = {believed: [False, False, False, False, False, True, True, False]}
    traps |= {dynamic: [False, True, True, True, False, True, True, True]}
    traps |= {no_fp16: [False, True, True, False, True, True, True, False]}
    traps |= {limit: [False, False, True, False, False, True, True, False]}
    call = asked("said", "overflow", scripts)
    check(call, verdicts(scripts, right), overflow, wrong_verdicts(scripts, traps))
    scripts = [{"level": "O1", "loss_scale": 2.0**9, "largest": g} for g in (127.9375, 127.96)]
    scripts += [{"level": "O3", "largest": 65519.0}, {"level": "O3", "largest": 65520.0}]
    traps = {largest_number: [False, True, True, True]}
    call = asked("said", "overflow", scripts)
    check(call, verdicts(scripts, [False] * 3 + [True]), overflow, wrong_verdicts(scripts, traps))
    scripts = [{"level": level} for level in ("O0", "O1", "O2", "O3")]
    scripts += [{"level": "O3", "loss_scale": 128.0}, {"level": "O3", "keep_batchnorm_fp32": True}]
    scripts += [{"level": "O2", "keep_batchnorm_fp32": False}, {"level": "O2", "loss_scale": 1.0}]
    right = [False] * 3 + [True] * 3 + [False] * 2
    cured = "a loss scale helps gradients, not updates: they still vanish beside FP16 weights"
    speed = "the levels do not differ in speed only: O3 loses updates"
    no_masters = "O2 has FP32 masters: updates add up there"
    traps = {cured: [False] * 3 + [True, False, True] + [False] * 2, speed: [False] * 8}
    traps |= {no_masters: [False] * 2 + [True] * 6}
    call = asked("said", "stall", scripts)
    check(call, verdicts(scripts, right), stall, wrong_verdicts(scripts, traps))
    scripts = [{"clip": "masters"}, {"clip": "model"}, {"clip": "masters", "inside": True}]
    scripts += [{"level": "O2", "clip": "masters"}, {"level": "O2", "clip": "model"}]
    scripts += [
        {"level": "O2", "clip": "masters", "inside": True},
        {"level": "O3", "clip": "model"},
    ]
    scripts += [{"level": "O3", "clip": "masters", "inside": True, "loss_scale": 1.0}]
    scripts += [{"level": "O2", "inside": True}]
    scripts += [{"level": "O3", "clip": "model", "inside": True, "loss_scale": 64.0}]
    scripts += [{"level": "O2", "clip": "masters", "inside": True, "loss_scale": 1.0}]
    right = [False, False, True, False, True, True, False, False, False, True, True]
    model_fine = "under O2 model.parameters() are not what is stepped: clip the masters"
    inside_fine = "inside the block the gradients are still scaled"
    model_never = "only under O2 has the optimizer other parameters than the model"
    one_too = "a scale of 1 changes nothing, inside or outside"
    none_yet = "inside the block, O2's masters have no gradients to clip yet, whatever the scale"
    traps = {model_fine: [False, False, True, False, False, True, False, False, False, True, True]}
    traps |= {inside_fine: [False, False, False, False, True] + [False] * 6}
    traps |= {model_never: [False, True, True, False, True, True, True, False, False, True, True]}
    traps |= {one_too: [False, False, True, False, True, True, False, True, False, True, True]}
    traps |= {none_yet: [*right[:10], False]}
    call = asked("said", "clip", scripts)
    check(call, verdicts(scripts, right), clipped, wrong_verdicts(scripts, traps))
    scripts = [{"apex": "PyPI", "level": "O3"}, {"apex": "2025-06-01", "half": True}]
    scripts += [{"level": "O3", "half": True, "largest": 1e6}, {"level": "O3", "largest": 1e6}, {}]
    right = ["no amp", "no amp", "refused", "flush, overflow, stall", "all well"]
    a_list = "a set is asked for, with each word once and in no order"
    traps = {a_list: ["list"] * 5}
    call = asked("all_said", scripts)
    check(call, verdicts(scripts, right), alone, wrong_verdicts(scripts, traps))
    ### BEGIN HIDDEN TESTS
    from datetime import date
    from random import Random

    import torch
    from torch import nn

    # Quoted from Apex's documentation (docs/source/amp.rst) and apex/amp/frontend.py: the type of
    # the weights, whether there are masters, the scale, and the type that gradients pass through.
    # All else is decided by running it in torch, not by this course's own levels.
    t09_6_half, t09_6_single = torch.float16, torch.float32
    t09_6_levels: dict = {
        "O0": (t09_6_single, False, 1.0, t09_6_single),
        "O1": (t09_6_single, False, "dynamic", t09_6_half),
        "O2": (t09_6_half, True, "dynamic", t09_6_half),
        "O3": (t09_6_half, False, 1.0, t09_6_half),
    }
    t09_6_random = Random(906)
    t09_6_facts: dict = {"apex": "2022-06-01", "level": "O1", "keep_batchnorm_fp32": None}
    t09_6_facts |= {"loss_scale": None, "half": False, "clip": None, "inside": False}
    t09_6_facts |= {"largest": 1.0}

    def t09_6_update(kind, has_masters, scale, clip, inside):
        """Clip a gradient of 3 to 1 where the script does; return what the optimizer gets."""
        param = nn.Parameter(torch.ones(1, dtype=kind))
        stepped = nn.Parameter(param.detach().float()) if has_masters else param
        param.grad = torch.full_like(param, 3.0 * scale)
        chosen = [param] if clip == "model" else [stepped]
        if inside:
            nn.utils.clip_grad_norm_(chosen, 1.0)
        stepped.grad = param.grad.to(stepped.dtype) / scale  # what leaving the block does
        if not inside:
            nn.utils.clip_grad_norm_(chosen, 1.0)
        return stepped.grad.item()

    def t09_6_words(facts):
        """Say what goes wrong, by the quoted levels and by what torch makes of them."""
        facts = t09_6_facts | facts
        if facts["apex"] == "PyPI" or date.fromisoformat(facts["apex"]) > date(2025, 5, 7):
            return {"no amp"}
        level, keep, scale = (facts[k] for k in ("level", "keep_batchnorm_fp32", "loss_scale"))
        if facts["half"] or level not in t09_6_levels or (level == "O1" and keep is not None):
            return {"refused"}
        kind, has_masters, own_scale, passing = t09_6_levels[level]
        scale = own_scale if scale is None else scale
        fixed = scale != "dynamic"
        factor = scale if fixed else 2.0**12  # any that fits, since it finds one
        words = set()
        weight = torch.ones((), dtype=t09_6_single if has_masters else kind)
        if bool(weight - 2.0**-13 == weight):
            words.add("stall")
        if torch.tensor(2.0**-26 * factor).to(passing).item() == 0:
            words.add("flush")
        product = torch.tensor(facts["largest"] * factor, dtype=torch.float64).to(passing)
        if fixed and product.isinf().item():
            words.add("overflow")
        if facts["clip"]:
            got = t09_6_update(kind, has_masters, factor, facts["clip"], facts["inside"])
            words |= {"clip"} if abs(got - 1.0) > 0.01 else set()
        return words

    def t09_6_script(**given):
        """Return random facts, some of them given."""
        pick = t09_6_random.choice
        scale = pick((None, None, 1.0, 128.0, 1024.0, 2.0**14, "dynamic"))
        facts = {"level": pick(("O0", "O1", "O2", "O3")), "loss_scale": scale}
        facts |= {"clip": pick((None, "model", "masters")), "inside": pick((True, False))}
        facts |= {"largest": pick((0.5, 3.0, 40.0, 511.0, 65519.0, 65521.0, 1e5))}
        facts |= given
        not_asked = ("O2", 1.0, "model")
        if (facts["level"], facts["loss_scale"], facts["clip"]) == not_asked:
            facts["inside"] = False
        return facts

    t09_6_days = ["PyPI", "2018-12-03", "2025-05-06", "2025-05-09", "2026-01-31", "2024-11-30"]
    for _round_number in range(3):
        t09_6_random.shuffle(t09_6_days)
        sets = {
            present: [t09_6_script(apex=day) for day in t09_6_days],
        }
        sets[refused] = [
            t09_6_script(level=level, keep_batchnorm_fp32=keep, half=half)
            for level, keep, half in (
                *(("O1", True, False), ("O1", False, False), ("O1", None, False)),
                *(("O2", False, False), ("O3", True, False), ("O0", None, True)),
                *(("O4", None, False), ("03", None, False), ("O1", None, True)),
            )
        ]
        for reason in (flush, overflow, stall, clipped, alone):
            sets[reason] = [t09_6_script() for _ in range(14)]
        sets[alone] += [t09_6_script(apex="PyPI"), t09_6_script(half=True)]
        words = {present: "no amp", refused: "refused", flush: "flush", overflow: "overflow"}
        words |= {stall: "stall", clipped: "clip"}
        for reason, scripts in sets.items():
            if reason == alone:
                right = [", ".join(sorted(t09_6_words(facts))) or "all well" for facts in scripts]
                check(asked("all_said", scripts), verdicts(scripts, right), reason)
                continue
            right = [words[reason] in t09_6_words(facts) for facts in scripts]
            check(asked("said", words[reason], scripts), verdicts(scripts, right), reason)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

First your predictions:
"""

# %% tags=["nbval-ignore-output"]
slowest = max(amp.PROPERTIES, key=lambda level: results[level]["ms"])
print(f"weights under O1: you said {my_weights}; fp32")
print(f"bytes per weight: you said {my_bytes}; 16 under O2, 2 + 4 + 2 + 4 + 4")
print(f"O1 and torch.amp: you said {my_equal}; {equal}")
print(f"slowest here:     you said {my_slow}; {slowest}, in this run")

# %% [markdown]
r"""
- **"`pip install apex`, and it runs again."** That is another package; and NVIDIA's has had no amp
  since May 2025 (t09_6).
- **"O1 makes the parameters FP16", "autocast makes parameters FP16."** Both cast within functions
  (t09_1, t09_5).
- **"O2 is BF16."** Apex knew FP16 only (t09_1). For BF16: autocast, without a scaler.
- **"Under O2 all is FP16."** Batch norm is not, and what is stepped is not (t09_1, t09_2).
- **"FP16 masters save memory."** They are no masters (t09_2).
- **"O2 saves memory on the weights."** It needs more for them; what shrinks is what is kept for
  the backward pass.
- **"`.half()` and a GradScaler is O2."** It has no masters, casts batch norm as well, and PyTorch
  refuses it.
- **"Set the loss scale to 128."** Then it stays there, and overflows go unnoticed (t09_4, t09_6).
- **"Clip `model.parameters()`, as always."** Under O2 that misses every master, and multiplies
  batch norm's gradients by next to nothing, or by 0 where the norm of the scaled gradients is
  infinite in FP16, as it is at the first scale, $2^{16}$ (t09_6).
- **"O3 is the safe, fast one", "the levels differ in speed only."** O3 leaves out the scale and
  the masters (t09_6).

## Say it aloud

O0 is FP32. O1 leaves the model in FP32 and patches torch's functions to cast their inputs. O2
casts the model to FP16 but for batch norm, and lets the optimizer step FP32 masters. O3 casts all
of it and protects nothing. O1 and O2 scale the loss dynamically. Apex's amp is gone; autocast and
GradScaler are O1 done properly: casts that end with their block, and parameters that stay FP32.
There is no O2, since weights cast for good complicate everything that touches weights, and most of
the gain is in the activations.

## Where next

How much faster is it, then? `10_measuring_speed` measures that so that one can believe it.
"""
