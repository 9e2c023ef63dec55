# %% [markdown]
r"""
# Which op runs in which type, and why?

`with torch.autocast(...):` is one line, and inside it some ops run in FP16 and others do not. A
singing synthesizer's authors found that every LayerNorm of theirs, fed with FP16, answered in FP32,
and that the ops after it stayed there until the next linear layer: twice the memory for all these
tensors, and no gain ([DiffSinger#328](https://github.com/openvpi/DiffSinger/pull/328)). That was on
a GPU. On a CPU the same layer answers in FP16. Neither is a bug.

In this lesson you find out who decides, build an autocast of your own, and hold it against
PyTorch's, bit for bit. You need to know what FP16 can hold (`04_gradient_range`), but no GPU. There
are six tasks; plan two hours. After the fourth is a good place for a break.

## Predict first

The device is the **CPU**, the region `torch.autocast("cpu", dtype=torch.float16)`. All parameters
are FP32, and so is the input of the one linear layer. Nobody grades these; replace each `None` and
run the cell.
"""

# %%
my_product = None  # the layer gives "float16" or "float32"?
my_softmax = None  # softmax of what it gives: "float16" or "float32"?
my_weight = None  # the type of a Linear's weight after the region?
my_gradient = None  # and of its gradient?
my_casts = None  # a weight is used 5 times: how many casts of it?

# %% [markdown]
r"""
## A net's types

Each row is an op; the line at its left leads on to the ops that read it, and at the right is the
type of what it gives. Click a row, or go through them with the arrow keys, to see which list the op
is on and why. Then turn the switches:

1. Which ops change with the device? Which, when FP16 becomes BF16?
2. In the transformer block on the CPU, `x2` and `x3` are FP32, though no op there is on the FP32
   list. Where does that come from?
3. In "pitfalls" one op refuses to run on CUDA, and on the CPU it does not. Which one?
"""

# %% tags=["nbval-ignore-output"]
from ampcourse.widgets import type_flow

type_flow("small_cnn", lower="float16")

# %% [markdown]
r"""
Softmax and LayerNorm change with the device, as do `exp`, the sums and `cat` (which widens by
itself where it is on no list); with BF16 for FP16 no op changes its list. `x2` is the sum of an
FP32 tensor and an FP16 one, and that is FP32, as it would be without autocast: a chain of residuals
that starts in FP32 stays there. The op that refuses is `binary_cross_entropy`; the last part of
this lesson says why.

## Three lists, and all the rest

Autocast looks at one op at a time: at its **name**, at the **device** of its tensors, at the types
that come in. It knows nothing of the net, and nothing of the values. For each type of device there
are three lists:

- **lower precision**: the inputs are cast to the region's type. Here are matrix products and
  convolutions: Tensor Cores make them fast, and add up in FP32 (`03_tensor_cores`).
- **fp32**: the inputs are cast to FP32. Here are ops that leave FP16's range or lose its few digits
  soon: most losses on every device, and on CUDA also powers, exponentials, sums and norms.
- **promote**: several inputs that must have one type get the widest of theirs.

(CUDA has a fourth list, of ops that are refused, with one op on it.)

An op on **no list** runs in the type of its inputs, as it would without autocast. Most ops are on
none. The lists do not depend on whether the region's type is FP16 or BF16.

The lists of this course are data. For the CPU they were read off PyTorch by calling each op and
watching for casts; for CUDA they are copied from its documentation and, where that is silent, from
its source. (So CUDA's table holds only ops that are on a list; the CPU's names those on none, too,
as `follows_input`.)
"""

# %%
from collections import Counter

from ampcourse.amp.op_policy import policy

# %% tags=["nbval-ignore-output"]
for device in ("cpu", "cuda"):
    table = policy(device)
    print(f"{device}: {table['linear'].evidence}")
    print("  ", dict(Counter(op.category for op in table.values())))

# %% [markdown]
r"""
Documentation can be out of date. Can one ask CUDA's autocast itself, without a GPU? Its casts are
decided before any number is computed, and PyTorch has **fake tensors** with a shape, a type and a
device, but no numbers. So the next cells ask both devices the same questions, live:
"""

# %% tags=["setup"]
import torch
from torch.nn import functional as F

from ampcourse.courseware import check, task


# %%
from torch._subclasses.fake_tensor import FakeTensorMode


# %%
def answer(op, kind, device):
    """Return the type of an op under FP16 autocast, of a fake input."""
    was_on = torch.is_autocast_enabled(device)
    dtype = torch.get_autocast_dtype(device)
    torch.set_autocast_dtype(device, torch.float16)
    torch.set_autocast_enabled(device, True)
    try:
        with FakeTensorMode():
            return op(torch.empty(4, 4, device=device, dtype=kind)).dtype
    finally:
        torch.set_autocast_enabled(device, was_on)
        torch.set_autocast_dtype(device, dtype)


# %%
ops = {
    "matmul": lambda x: x @ x,
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "softmax": lambda x: x.softmax(1),
    "exp": torch.exp,
    "sum": torch.sum,
    "relu": torch.relu,
    "mse_loss": lambda x: F.mse_loss(x, x),
    "cat of two": lambda x: torch.cat([x, x.float()]),
}
# %%
from ampcourse.plotting import show
from ampcourse.plotting.type_grid import type_grid

# %% tags=["nbval-ignore-output"]
short = {torch.float16: "fp16", torch.float32: "fp32"}
columns = {
    f"{device}, {short[kind]} in": {
        name: short[answer(op, kind, device)] for name, op in ops.items()
    }
    for device in ("cpu", "cuda")
    for kind in short
}

# %% tags=["nbval-ignore-output"]
show(
    type_grid(columns),
    alt="Types that ops give. matmul and conv2d: fp16 everywhere. "
    "mse_loss and a cat of two types: fp32 everywhere. layer_norm, "
    "softmax, exp, sum: fp32 on cuda, as the input on the cpu. relu: "
    "as the input everywhere.",
)

# %% [markdown]
r"""
Four rows differ between the devices: `layer_norm`, `softmax`, `exp` and `sum`. So "LayerNorm runs
in FP32" is a statement about CUDA. The lists are about what goes in and what comes out; what an op
does inside is its own business. Here the variance is 900,000,000, far outside FP16, and the CPU's
LayerNorm gets it right all the same:
"""

# %% tags=["nbval-ignore-output"]
x = torch.tensor([60000.0, 60000.0, 0.0, 0.0])
print(F.layer_norm(x.half(), (4,)))

# %% [markdown]
r"""
Why is there an FP32 list at all? Because of numbers like these, all of them ordinary:
"""

# %% tags=["nbval-ignore-output"]
for kind in (torch.float16, torch.bfloat16, torch.float32):
    x = torch.tensor([12.0, 300.0], dtype=kind)
    total = torch.ones(70_000, dtype=kind).sum()
    print(f"{kind!s:15}exp(12): {x[0].exp():.1f}", end="  ")
    print(f"300²: {x[1].square():.0f}  70,000 ones: {total:.0f}")

# %% [markdown]
r"""
FP16 overflows in all three. BF16 has the range, but not the digits: it needs the same list.

### t07_1 · The type that comes out

`category(op, device)` below tells the list that an op is on. Return the type that `op` gives under
autocast, as text: `"float16"`, `"bfloat16"`, `"float32"`, `"float64"`, `"int64"`, or `"error"` if
the op refuses to run. `types` are those of its tensors; `low` is the region's type, and the only
16-bit type among them. (`asked` is for the checks.)

- `"lower_precision"`: `low`. `"fp32"`: `"float32"`. `"error"`: `"error"`.
- `"promote"` and `"follows_input"`: the widest of the inputs' types.
- `float64` and integers are never cast. An op of which one tensor is `float64` gives `"float64"`,
  one that gets integers alone gives `"int64"` here, and an integer beside floating-point numbers
  has no say.
"""

# %% tags=["setup"]
LISTS = {
    "cpu": {
        "lower_precision": ["linear", "conv2d", "matmul", "mm", "prelu"],
        "fp32": ["mse_loss", "l1_loss", "cross_entropy", "prod"],
        "promote": ["cat", "stack", "index_copy"],
    },
    "cuda": {
        "lower_precision": ["linear", "conv2d", "matmul", "mm", "prelu"],
        "fp32": ["mse_loss", "l1_loss", "cross_entropy", "prod"],
        "promote": ["dot", "addcmul", "scatter_add"],
        "error": ["binary_cross_entropy"],
    },
}
LISTS["cpu"]["fp32"] += ["binary_cross_entropy"]
LISTS["cuda"]["fp32"] += ["layer_norm", "softmax", "exp", "sum"]


def category(op, device):
    """Return the list that an op is on, or "follows_input"."""
    for name, ops in LISTS[device].items():
        if op in ops:
            return name
    return "follows_input"


def asked(output_type, cases):
    """Return each case as text, with what the function gives for it."""
    told = []
    for op, types, device, low in cases:
        kind = output_type(op, types, device, low)
        if not isinstance(kind, str):
            return kind if kind is None else f"{kind!r} is no text"
        case = f"{op} of {', '.join(types)} on {device} under {low}"
        told.append(f"{case}: {kind}")
    return told


# %% task="t07_1" forbids=["ampcourse.amp"]
def output_type(op, types, device, low):
    """Return the type that an op gives under autocast."""
    ### BEGIN SOLUTION
    where = category(op, device)
    if where == "error":
        return "error"
    if "float64" in types:
        return "float64"
    floats = [kind for kind in types if kind != "int64"]
    if not floats:
        return "int64"
    if where == "lower_precision":
        return low
    return "float32" if where == "fp32" or "float32" in floats else floats[0]
    ### END SOLUTION


# %% check="t07_1" points=5
with task("t07_1"):
    f16, b16, f32, f64, i64 = "float16", "bfloat16", "float32", "float64", "int64"
    down = "lower precision: the inputs are cast to the region's type, whatever it is"
    up = "fp32: the inputs are cast to float32, whatever they are"
    wide = "promote and follows: the widest type of the inputs"
    lists = "each device has its own lists"
    kept = "float64 and integers are not cast"

    def told(cases, kinds):
        """Return what `asked` gives where output_type returns these kinds."""
        found = zip(cases, kinds, strict=True)
        return [f"{c[0]} of {', '.join(c[1])} on {c[2]} under {c[3]}: {k}" for c, k in found]

    cases = [("linear", [f32, f32], "cpu", f16), ("matmul", [f32, f16], "cuda", f16)]
    cases += [("prelu", [b16, b16], "cpu", b16), ("conv2d", [f32, f32], "cuda", b16)]
    widest = "the lower list does not promote: one FP32 input is cast down, too"
    mixed = "of two types both are cast down: the lower list knows no exception"
    always = "the region's type is an argument, and not always float16"
    traps = {widest: told(cases, [f32, f32, b16, f32]), always: told(cases, [f16] * 4)}
    traps |= {mixed: told(cases, [f16, f32, b16, b16])}
    traps |= {"the type is to be returned as text": "torch.float16 is no text"}
    check(f"asked(output_type, {cases})", told(cases, [f16, f16, b16, b16]), down, traps)
    cases = [("mse_loss", [f16, f16], "cpu", f16), ("l1_loss", [f32, f16], "cpu", f16)]
    cases += [("cross_entropy", [b16, i64], "cuda", b16), ("exp", [f32], "cuda", f16)]
    only_down = "autocast also casts up: to float32, for the ops on that list"
    traps = {only_down: told(cases, [f16, f32, b16, f32])}
    check(f"asked(output_type, {cases})", told(cases, [f32] * 4), up, traps)
    cases = [("relu", [f16], "cpu", f16), ("relu", [f32], "cuda", f16)]
    cases += [("add", [f16, f32], "cpu", f16), ("cat", [f16, f32], "cpu", f16)]
    cases += [("cat", [f16, f16], "cpu", f16), ("stack", [b16, f32], "cpu", b16)]
    traps = {
        "promotion goes to the widest type: nothing is to be lost": [f16, f32, f32, f16, f16, b16],
        "if all inputs are 16 bits wide, there is nothing to promote": [f16, *[f32] * 5],
        "the first input is not the one that decides": [f16, f32, f16, f16, f16, b16],
        "an op on no list is left alone: what comes in as float32 stays float32": [
            *[f16] * 3, f32, f16, f32,
        ],
    }  # fmt: skip
    traps = {cause: told(cases, kinds) for cause, kinds in traps.items()}
    check(f"asked(output_type, {cases})", told(cases, [f16, f32, f32, f32, f16, f32]), wide, traps)
    cases = [("layer_norm", [f16], "cpu", f16), ("layer_norm", [f16], "cuda", f16)]
    cases += [("softmax", [b16], "cpu", b16), ("softmax", [f16], "cuda", f16)]
    cases += [("sum", [b16], "cuda", b16), ("binary_cross_entropy", [f16, f32], "cpu", f16)]
    cases += [("binary_cross_entropy", [f16, f32], "cuda", f16), ("exp", [f16], "cpu", f16)]
    norm = "LayerNorm is on CUDA's list; on the CPU it is on none"
    cuda = "those are CUDA's lists: ask for the device's own"
    cpu = "those are the CPU's lists: ask for the device's own"
    soft = "on CUDA softmax is on the FP32 list: it takes FP16 and gives FP32"
    everything = "not every op runs in the region's type: look at its list"
    range_only = "BF16 has FP32's range, but not its digits: the lists are the same for both"
    safe = "norms and softmax are not in FP32 by nature: on the CPU they follow their input"
    traps = {norm: [f32, f32, b16, f32, f32, f32, "error", f16]}
    traps |= {cuda: [f32] * 5 + ["error", "error", f32]}
    traps |= {cpu: [f16, f16, b16, f16, b16, f32, f32, f16]}
    traps |= {soft: [f16, f32, b16, f16, f32, f32, "error", f16]}
    traps |= {everything: [f16, f16, b16, f16, b16, f16, f16, f16]}
    traps |= {range_only: [f16, f32, b16, f32, b16, f32, "error", f16]}
    traps |= {safe: [f32, f32, f32, f32, f32, f32, "error", f16]}
    traps = {cause: told(cases, kinds) for cause, kinds in traps.items()}
    right = told(cases, [f16, f32, b16, f32, f32, f32, "error", f16])
    check(f"asked(output_type, {cases})", right, lists, traps)
    cases = [("matmul", [f64, f64], "cpu", f16), ("matmul", [i64, i64], "cpu", f16)]
    cases += [("cross_entropy", [f64, i64], "cuda", b16), ("embedding", [i64, f32], "cpu", f16)]
    cases += [("linear", [f64, f64], "cuda", f16), ("sum", [i64], "cuda", f16)]
    labels = "integers are labels and indices: they are never cast"
    double = "who uses float64 wants its digits: autocast leaves it alone"
    traps = {labels: told(cases, [f64, f16, f64, f32, f64, f32])}
    traps |= {double: told(cases, [f16, i64, f32, f32, f16, i64])}
    check(f"asked(output_type, {cases})", told(cases, [f64, i64, f64, f32, f64, i64]), kept, traps)
    ### BEGIN HIDDEN TESTS
    from random import Random

    import torch
    from torch.nn import functional as F

    t07_1_random = Random(701)
    t07_1_calls = {
        "linear": F.linear,
        "conv2d": lambda x, w: F.conv2d(x[None], w[None, None, 0]),
        "matmul": torch.matmul,
        "mm": torch.mm,
        "prelu": lambda x, w: F.prelu(x, w[0]),
        "mse_loss": F.mse_loss,
        "l1_loss": F.l1_loss,
        "cross_entropy": F.cross_entropy,
        "prod": torch.prod,
        "cat": lambda *x: torch.cat(x),
        "stack": lambda *x: torch.stack(x),
        "index_copy": lambda x, y: torch.index_copy(x, 0, torch.tensor([1, 0]), y),
        "relu": torch.relu,
        "add": torch.add,
        "mul": torch.mul,
        "layer_norm": lambda x: F.layer_norm(x, (2,)),
        "softmax": lambda x: x.softmax(1),
        "exp": torch.exp,
        "sum": torch.sum,
        "tanh": torch.tanh,
    }

    def t07_1_torch(op, types, low):
        """Ask torch's autocast on the CPU."""
        tensors = [torch.full((2, 2), 0.5).to(getattr(torch, kind)) for kind in types]
        if op == "cross_entropy":
            tensors[1] = torch.tensor([0, 1])
        call = {"conv2d": lambda x, w: F.conv2d(x[None, None], w[None, None])}
        with torch.autocast("cpu", getattr(torch, low)):
            kind = call.get(op, t07_1_calls[op])(*tensors).dtype
        return str(kind).removeprefix("torch.")

    def t07_1_ask(reason, ops, types, low):
        """Check some ops on the CPU, each with types from a list."""
        cases = [(op, t07_1_random.choice(types), "cpu", low) for op in ops]
        right = [t07_1_torch(op, kinds, low) for op, kinds, _, _ in cases]
        check(f"asked(output_type, {cases})", told(cases, right), reason)

    for low in (f16, b16):
        pairs = [[low, low], [f32, f32], [low, f32], [f32, low]]
        products = ["linear", "conv2d", "matmul", "mm", "prelu"]
        t07_1_ask(down, products * 3, pairs, low)
        t07_1_ask(up, ["mse_loss", "l1_loss"] * 4, pairs, low)
        t07_1_ask(up, ["prod"] * 2, [[low]], low)
        t07_1_ask(up, ["cross_entropy"] * 3, [[low, i64], [f32, i64]], low)
        pairs += [[low, f32, low], [low, low, low]]
        t07_1_ask(wide, ["cat", "stack"] * 4, pairs, low)
        t07_1_ask(wide, ["index_copy", "add", "mul"] * 3, pairs[:4], low)
        singles = ["relu", "tanh", "layer_norm", "softmax", "exp", "sum"]
        t07_1_ask(lists, singles * 2, [[low]], low)
        t07_1_ask(lists, singles * 2, [[f32], [low]], low)
        t07_1_ask(kept, products, [[f64, f64]], low)
        t07_1_ask(kept, ["matmul", "mm", "add", "mul"], [[i64, i64]], low)
        t07_1_ask(kept, ["mse_loss", "l1_loss", "stack"], [[f64, f64]], low)
        t07_1_ask(kept, ["sum", "relu"], [[i64], [f64]], low)
        t07_1_ask(kept, ["cross_entropy", "add"], [[f64, i64]], low)
        # CUDA: the documented lists, checked on fake tensors when this was written.
        cases = [(op, [low], "cuda", low) for op in ("layer_norm", "softmax", "exp", "sum")]
        check(f"asked(output_type, {cases})", told(cases, [f32] * 4), lists)
        cases = [(op, [low], "cuda", low) for op in ("relu", "tanh", "batch_norm", "gelu")]
        check(f"asked(output_type, {cases})", told(cases, [low] * 4), lists)
        cases = [("binary_cross_entropy", [low, low], d, low) for d in ("cuda", "cpu")]
        check(f"asked(output_type, {cases})", told(cases, ["error", f32]), lists)
        cases = [(op, [f32, low], "cuda", low) for op in ("linear", "mm", "prelu", "conv2d")]
        check(f"asked(output_type, {cases})", told(cases, [low] * 4), down)
        cases = [(op, [low, low], "cuda", low) for op in ("mse_loss", "l1_loss")]
        check(f"asked(output_type, {cases})", told(cases, [f32] * 2), up)
        cases = [
            ("scatter_add", kinds, "cuda", low) for kinds in ([low, i64, f32], [low, i64, low])
        ]
        cases += [("dot", [low, f32], "cuda", low), ("addcmul", [low] * 3, "cuda", low)]
        cases += [("embedding", [i64, f32], "cuda", low), ("cat", [low, low], "cuda", low)]
        check(f"asked(output_type, {cases})", told(cases, [f32, low, f32, low, f32, low]), wide)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## An autocast of your own

Who meets every call of an op? PyTorch lets a **TorchFunctionMode** do so: while it is active, each
call of a function of torch goes through its `__torch_function__`, with the function and all
arguments. What it returns is the result. Here is one that only writes down:
"""

# %% tags=["setup"]
from torch.overrides import TorchFunctionMode


# %%
class Log(TorchFunctionMode):
    """Writes down the name of each function that is called."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        names.append(func.__name__)
        return func(*args, **(kwargs or {}))


# %%
layers = torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
net = torch.nn.Sequential(*layers)
x = torch.ones(3, 4)

# %% tags=["nbval-ignore-output"]
names: list[str] = []
with Log():
    p = net(x).softmax(1) @ torch.ones(2, 2)
    loss = F.cross_entropy(p, target=torch.tensor([0, 1, 1]))
print(*names)

# %% [markdown]
r"""
(Even `ones` and `tensor` come by, and `@` arrives under its name, `matmul`.) An autocast of ours is
such a mode: before it calls the function, it casts what goes in. It never touches the weights
themselves: `.to` gives a new tensor, and autograd records that.

### t07_2 · Cast what goes in

The mode `Mini` is given; you write what it calls. `cast_inputs(op, args, kwargs, low)` returns the
pair `(args, kwargs)` with which the op is to run, a tuple (or list) and a dict, for tensors on the
CPU. From here on `low` is a `torch.dtype`:

- By `category(op, "cpu")` tensors are cast to `low`, to float32, or, for `"promote"`, to float32 if
  one of them is float32 (and not at all otherwise). Other ops get their arguments as they came.
- Tensors of every floating-point type but float64 are cast, in `args` and in `kwargs`: who calls
  an op may name each of its arguments. All else stays: other tensors, numbers, None. (Tensors in
  lists may stay, too: `cat` and `stack`, which take them, widen by themselves.)
- A call with a tensor for `out=` is left alone: its caller has chosen the type. `out=None` is the
  same as no `out`.

`type(x) is torch.Tensor` is False for a parameter; `isinstance(x, torch.Tensor)` is True.

The next cell, folded, is for the checks only: they print tensors by `shown`, and they call your
code in `fresh_autocast`, so that no slip of it is felt outside.
"""

# %% tags=["setup", "folded"]
from contextlib import contextmanager


def reset_autocast():
    """Put autocast on the CPU back to what it is in a fresh kernel."""
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_cache_enabled(True)
    while torch.autocast_increment_nesting() < 1:
        pass
    # A region that was entered and never left is left here.
    while torch.autocast_decrement_nesting() > 0:
        pass
    torch.clear_autocast_cache()


@contextmanager
def fresh_autocast():
    """Start without autocast, as a fresh kernel does; leave it so."""
    reset_autocast()
    try:
        yield
    finally:
        reset_autocast()


def shown(value):
    """Return tensors, also those in lists, as text: type and numbers."""
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if not hasattr(value, "dtype"):
        return value
    return f"{str(value.dtype)[6:]} {value.tolist()}"


# %% tags=["setup"]
class Mini(TorchFunctionMode):
    """An autocast: each function gets its arguments cast."""

    def __init__(self, cast, low):
        super().__init__()
        self.cast, self.low = cast, low

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name, kwargs = func.__name__, kwargs or {}
        args, kwargs = self.cast(name, args, kwargs, self.low)
        return func(*args, **kwargs)


# %% task="t07_2" forbids=["ampcourse.amp"]
def cast_inputs(op, args, kwargs, low):
    """Return (args, kwargs) as the op is to get them under autocast."""
    ### BEGIN SOLUTION
    where = category(op, "cpu")

    def is_cast(value):
        floating = isinstance(value, torch.Tensor) and value.is_floating_point()
        return floating and value.dtype != torch.float64

    target = low if where == "lower_precision" else torch.float32
    values = [*args, *kwargs.values()]
    widest = any(is_cast(value) and value.dtype == torch.float32 for value in values)
    if where == "follows_input" or kwargs.get("out") is not None:
        return args, kwargs
    if where == "promote" and not widest:
        return args, kwargs
    args = [value.to(target) if is_cast(value) else value for value in args]
    return args, {k: v.to(target) if is_cast(v) else v for k, v in kwargs.items()}
    ### END SOLUTION


# %% check="t07_2" points=6
with task("t07_2"):
    from textwrap import dedent, indent

    import torch
    from torch.nn import functional as F

    torch.set_autocast_enabled("cpu", False)  # a trial may have left it on
    lower = "ops of the lower list get tensors of the region's type"
    upper = "ops of the fp32 list get float32, also from 16 bits"
    joined = "a promote op gets float32 if one of its tensors is float32"
    given = "arguments with a keyword are arguments, too"
    alone = "other ops, float64 and integers are left alone"
    chosen = "a call with out= is left alone: its caller has chosen the type"
    weight = "a parameter stays what it is; its gradient passes through the cast"

    def shown(value):
        """Return tensors as text, as in the cell before the task."""
        if isinstance(value, (list, tuple)):
            return [shown(item) for item in value]
        return f"{str(value.dtype)[6:]} {value.tolist()}" if hasattr(value, "dtype") else value

    def apart(text):
        """Return a call's text with autocast fresh before it and after it."""
        return "with fresh_autocast():\n" + indent(dedent(text).strip(), "    ")

    def held(body, low):
        """Return a call that runs a body under Mini, and its results under torch.autocast."""
        body = indent(dedent(body).strip(), "    ")
        scene = {"torch": torch, "F": F}
        exec(f"def run():\n  with torch.autocast('cpu', torch.{low}):\n{body}", scene)
        body = body.replace("return ", "found = ")
        text = f"with Mini(cast_inputs, torch.{low}):\n{body}\nreturn shown(found)"
        return apart(text), shown(scene["run"]())

    def causes(traps):
        """Return the traps with their wrong tensors as text."""
        return {cause: shown(wrong) for cause, wrong in traps.items()}

    body = """
        x, w = torch.tensor([[1.0, 2049.0]]), torch.tensor([[1.0, 1.0]])
        return x @ w.T, F.linear(x, w), torch.mm(x.to(torch.float16), w.T)
    """
    plain = torch.tensor([[2050.0]])
    b16 = torch.bfloat16
    fixed = "the region's type is `low`, here bfloat16"
    traps = {fixed: (torch.tensor([[2048.0]]).half(),) * 3}
    call, outcome = held(body, "bfloat16")
    check(call, outcome, lower, causes(traps))
    body = """
        x = torch.tensor([300.0, 1.5], dtype=torch.float16)
        return F.mse_loss(x, torch.zeros(2)), F.l1_loss(x, x), torch.prod(x)
    """
    t_x = torch.tensor([300.0, 1.5])
    half = t_x.half()
    down_only = "casts go up as well: losses run in float32"
    traps = {down_only: (F.mse_loss(t_x, t_x * 0), F.l1_loss(half, half), torch.prod(half))}
    call, outcome = held(body, "float16")
    check(call, outcome, upper, causes(traps))
    body = """
        x, y = torch.zeros(2), torch.tensor([0.1, 0.2])
        rows = torch.tensor([1, 0])
        return torch.index_copy(x, 0, rows, y.half()), torch.index_copy(x.half(), 0, rows, y.half())
    """
    t_y = torch.tensor([0.2, 0.1])
    narrow = "promotion goes to the widest type, not to the narrowest"
    ever = "if all are 16 bits wide, a promote op casts nothing"
    traps = {narrow: (t_y.half(), t_y.half()), ever: (t_y.half().float(), t_y.half().float())}
    call, outcome = held(body, "float16")
    check(call, outcome, joined, causes(traps))
    body = """
        x, w = torch.tensor([[1.0, 0.1]]), torch.tensor([[1.0, 3.0]])
        h = x.half()
        return F.linear(input=x, weight=w), F.linear(x, weight=w), F.mse_loss(input=h, target=h)
    """
    missed = "look at kwargs, too"
    t_x, t_w = torch.tensor([[1.0, 0.1]]), torch.tensor([[1.0, 3.0]])
    call, outcome = held(body, "float16")
    check(call, outcome, given)
    body = "x = torch.tensor([[1.0, 0.1]])\nreturn F.linear(input=x, weight=x)"
    call, outcome = held(body, "float16")
    check(call, outcome, given, causes({missed: t_x @ t_x.T}))
    call = """
        x, rows = torch.tensor([0.5, 2.0]), torch.tensor([1, 0])
        h, low = x.half(), torch.float16
        seen = [cast_inputs("index_copy", (h, 0, rows), {"source": x}, low)[0][0]]
        seen += [cast_inputs("index_copy", (h, 0, rows, x), {}, low)[0][0]]
        seen += [cast_inputs("prod", (), {"input": h}, low)[1]["input"]]
        seen += [cast_inputs("prod", (h,), {}, low)[0][0]]
        return [str(t.dtype)[6:] for t in seen]
    """
    silent = "the widest may be the one with a keyword: ask all tensors, then cast"
    first = "each op has a list, whatever is in front of its keywords"
    traps = {silent: ["float16", "float32", "float32", "float32"]}
    traps |= {first: ["float32", "float32", "float16", "float32"]}
    check(apart(call), ["float32"] * 4, given, traps)
    call = """
        h, d = torch.ones(2).half(), torch.ones(2).double()
        args, _ = cast_inputs("index_copy", (h, 0, torch.tensor([1, 0]), d), {}, torch.float16)
        return [str(t.dtype)[6:] for t in (args[0], args[3])]
    """
    third = "a float64 tensor is no reason to cast: only a float32 one is"
    check(apart(call), ["float16", "float64"], joined, {third: ["float32", "float64"]})
    body = """
        x, n = torch.tensor([[0.1, 0.2]]), torch.tensor([[3, 4], [5, 6]])
        h, d = x.half(), torch.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=torch.float64)
        return x + x, x.softmax(1), h.softmax(1), n @ n, d @ d
    """
    t_x, n = torch.tensor([[0.1, 0.2]]), torch.tensor([[3, 4], [5, 6]])
    h, d = t_x.half(), torch.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=torch.float64)
    right = t_x + t_x, t_x.softmax(1), h.softmax(1), n @ n, d @ d
    everything = "not every op runs in 16 bits: one on no list is left alone"
    labels_stay = "integers are labels and indices: they are not cast"
    doubled = "float64 is not cast"
    cuda = "softmax is on CUDA's list, not on the CPU's"
    traps = {everything: (h + h, h.softmax(1), h.softmax(1), n @ n, d @ d)}
    traps |= {labels_stay: (*right[:3], n.half() @ n.half(), d @ d)}
    traps |= {doubled: (*right[:4], d.half() @ d.half())}
    traps |= {cuda: (*right[:2], h.float().softmax(1), *right[3:])}
    call, outcome = held(body, "float16")
    check(call, outcome, alone, causes(traps))
    body = """
        x, total = torch.tensor([[0.1, 0.2], [0.3, 0.4]]), torch.zeros(2, 2)
        torch.mm(x, x, out=total)
        return total
    """
    copied = "the result went into a cast copy of out, and its caller never sees it"
    call, outcome = held(body, "float16")
    check(call, outcome, chosen, causes({copied: torch.zeros(2, 2)}))
    call = """
        x = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
        with Mini(cast_inputs, torch.float16):
            y = torch.mm(x, x, out=None)
        return shown(y)
    """
    t_x = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
    nobody = "out=None chooses nothing: it is a call like any other"
    right = shown(torch.mm(t_x.half(), t_x.half()))
    check(apart(call), right, chosen, causes({nobody: torch.mm(t_x, t_x)}))
    call = """
        w = torch.nn.Parameter(torch.tensor([[0.1, 0.2]]))
        try:
            with Mini(cast_inputs, torch.float16):
                y = F.linear(torch.ones(1, 2), w)
        except NotImplementedError:
            raise
        except RuntimeError:
            return "the parameter was not cast"
        if not y.requires_grad:
            return "no gradient"
        y.float().sum().backward()
        return str(w.dtype)[6:], shown(w.grad)
    """
    turned = "the parameter itself was changed: `.to` gives a new tensor, and it stays FP32"
    lost = "the gradient ended at the cast: do not detach"
    traps = {turned: ("float16", "float16 [[1.0, 1.0]]"), lost: "no gradient"}
    traps |= {"a parameter is a tensor, too: isinstance knows": "the parameter was not cast"}
    check(apart(call), ("float32", "float32 [[1.0, 1.0]]"), weight, traps)
    ### BEGIN HIDDEN TESTS
    t07_2_rows = "i = torch.tensor([1, 0])\n"
    t07_2_bodies = [
        (lower, "return x @ w.T, l @ w.T, F.linear(x, w, w[:, 0])"),
        (lower, "return F.prelu(x, w[0, :1]), torch.mm(w, x.T)"),
        (lower, "return F.conv2d(x[None, None], w[None, None, :2, :2])"),
        (upper, "return F.mse_loss(l, l * 2), F.l1_loss(l, x), torch.prod(l)"),
        (upper, "return F.cross_entropy(l, torch.tensor([2, 0]))"),
        (joined, t07_2_rows + "return torch.index_copy(x, 0, i, l)"),
        (joined, t07_2_rows + "return torch.index_copy(l, 0, i, x)"),
        (joined, t07_2_rows + "return torch.index_copy(l, 0, i, -l)"),
        (joined, "return torch.cat([x, l]), torch.stack([l, l])"),
        (given, "return F.linear(weight=w, input=l), F.l1_loss(target=l, input=l)"),
        (given, "return torch.matmul(x, other=k.T)"),
        (given, "return torch.prod(input=l), torch.prod(l, dim=1)"),
        (given, t07_2_rows + "return torch.index_copy(l, 0, i, source=x)"),
        (given, t07_2_rows + "return torch.index_copy(input=x, dim=0, index=i, source=l)"),
        (given, t07_2_rows + "return torch.index_copy(input=l, dim=0, index=i, source=l)"),
        (alone, "return x * l, l.tanh(), l.exp(), F.layer_norm(l, (3,)), l.sum()"),
        (alone, "return torch.arange(6).view(2, 3) @ torch.arange(3)"),
        (alone, "d = x.double()\nreturn F.linear(d, d), F.mse_loss(d, d + 1)"),
        (alone, "return F.embedding(torch.tensor([1, 0]), w)"),
        (chosen, "s, t = torch.randn(3, 3), torch.zeros(2, 3)\nreturn torch.mm(x, s, out=t)"),
        (chosen, "return torch.mm(x, w.T, out=None), torch.prod(l, 0, out=None)"),
    ]
    for seed, low in ((1, "float16"), (2, "bfloat16"), (3, "float16")):
        data = f"torch.manual_seed({seed})\nx, w = torch.randn(2, 3), torch.randn(4, 3)\n"
        data += f"l, k = x.to(torch.{low}), w.to(torch.{low})\n"
        for reason, text in t07_2_bodies:
            call, outcome = held(data + text, low)
            check(call, outcome, reason)
        call = f"""
            torch.manual_seed({seed})
            net = torch.nn.Linear(3, 2)
            with Mini(cast_inputs, torch.{low}):
                F.mse_loss(net(torch.randn(4, 3)), torch.ones(4, 2)).backward()
            kinds = [str(p.dtype)[6:] for p in net.parameters()]
            return kinds, shown([net.weight.grad, net.bias.grad])
        """
        torch.manual_seed(seed)
        t_net = torch.nn.Linear(3, 2)
        with torch.autocast("cpu", getattr(torch, low)):
            t_loss = F.mse_loss(t_net(torch.randn(4, 3)), torch.ones(4, 2))
        t_loss.backward()
        gradients = shown([t_net.weight.grad, t_net.bias.grad])
        check(apart(call), (["float32"] * 2, gradients), weight)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## Regions within regions

`torch.autocast("cpu", enabled=False)` inside a region makes an island without casts. *Without*
casts: nothing is cast back. What comes in as FP16 stays FP16. (Written above a function,
`@torch.autocast(...)` makes a region of each call of it.)
"""

# %% tags=["nbval-ignore-output"]
x = torch.tensor([[300.0]])
with torch.autocast("cpu", dtype=torch.float16):
    y = x @ torch.ones(1, 1)
    with torch.autocast("cpu", enabled=False):
        z = y.float()
        print(y.dtype, (y * y).item(), "and", (z * z).item())
    print("outside of it:", (z @ torch.ones(1, 1)).dtype)

# %% [markdown]
r"""
### t07_3 · An island in FP32

A part of a net, `f`, needs FP32, wherever it is called from. Write `in_fp32(f, *tensors)`: it
returns `f` of the tensors, with all that `f` computes in FP32.

- Tensors of float16 and bfloat16 are cast to float32; all others are passed on as they are.
- It works inside a region, inside an island, and outside of any; afterwards everything is as
  before, also if `f` raises.
- Gradients pass through it, and arrive at each tensor in that tensor's type.
"""


# %% task="t07_3" forbids=["ampcourse.amp"]
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    ### BEGIN SOLUTION
    low = (torch.float16, torch.bfloat16)
    with torch.autocast(device_type="cpu", enabled=False):
        return f(*[x.float() if x.dtype in low else x for x in tensors])
    ### END SOLUTION


# %% check="t07_3" points=4
with task("t07_3"):
    from textwrap import dedent, indent

    import torch

    torch.set_autocast_enabled("cpu", False)  # a trial may have left it on

    def shown(value):
        """Return tensors as text, as in the cell before t07_2."""
        if isinstance(value, (list, tuple)):
            return [shown(item) for item in value]
        return f"{str(value.dtype)[6:]} {value.tolist()}" if hasattr(value, "dtype") else value

    def apart(text):
        """Return a call's text with autocast fresh before it and after it."""
        return "with fresh_autocast():\n" + indent(dedent(text).strip(), "    ")

    computes = "all that f computes is FP32: its inputs, and the ops inside it"
    passes = "float32, float64 and integers are passed on as they are"
    restored = "after the island the region is what it was"
    flows = "the gradient passes, in the type of each tensor"
    scene = """
        seen = []
        for low in (torch.float16, torch.bfloat16):
            x = torch.tensor([{}]).to(low)
            y = torch.tensor([[{}, 1.0]])
            with torch.autocast("cpu", dtype=low):
                seen.append(in_fp32(lambda a: a * a / a, x))
                seen.append(in_fp32(lambda a: a @ a.T, y))
        return shown(seen)
    """

    def island(a, b):
        """Return the results that belong to scene, for exact numbers."""
        one = torch.tensor([a])
        two = torch.tensor([[b * b + 1]])
        return [one, two] * 2

    right = island(304.0, 259.0)
    back = "enabled=False casts nothing back: what came in as 16 bits stays so"
    again = "float() alone does not help: the next op inside casts down again"
    after = "the result was cast, and not what f computes with"
    t_x = torch.tensor([304.0])
    t_y = torch.tensor([[259.0, 1.0]])
    kinds = torch.float16, torch.bfloat16
    lows = [(t_x.to(k) * t_x.to(k) / t_x.to(k), t_y.to(k) @ t_y.to(k).T) for k in kinds]
    returned = "what f gives stays FP32: the result was cast back to the type of the input"
    traps = {back: [lows[0][0], right[1], lows[1][0], right[1]]}
    traps |= {again: [right[0], lows[0][1], right[0], lows[1][1]]}
    traps |= {after: [t.float() for pair in lows for t in pair]}
    traps |= {returned: [t_x.half(), right[1], t_x.bfloat16(), right[1]]}
    traps = {cause: shown(wrong) for cause, wrong in traps.items()}
    check(apart(scene.format(304.0, 259.0)), shown(right), computes, traps)
    elsewhere = """
        x = torch.tensor([{}]).to(torch.{})
        seen = [in_fp32(lambda a: a * a, x)]
        with torch.autocast("cpu", dtype=x.dtype), torch.autocast("cpu", enabled=False):
            seen.append(in_fp32(lambda a: a * a, x))
        return shown(seen)
    """
    anywhere = "outside of a region, and in an island, 16 bits are to be cast, too"
    traps = {anywhere: ["float16 [inf]"] * 2}
    check(apart(elsewhere.format(304.0, "float16")), ["float32 [92416.0]"] * 2, computes, traps)
    call = """
        def types(*tensors):
            return [str(x.dtype) for x in tensors]
        numbers = torch.ones(2), torch.ones(2).half(), torch.tensor([1, 0]), torch.ones(2).double()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return in_fp32(types, *numbers)
    """
    kept = ["torch.float32", "torch.float32", "torch.int64", "torch.float64"]
    whole = "an index in float32 is no index: integers stay"
    double = "float64 is wider than float32: it stays"
    traps = {whole: ["torch.float32"] * 4, double: [*kept[:3], "torch.float32"]}
    check(apart(call), kept, passes, traps)
    call = """
        def state():
            return torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu"))
        def bad(x):
            raise KeyError
        with torch.autocast("cpu", enabled=False):
            seen = [state()]
            with torch.autocast("cpu", dtype=torch.float16):
                in_fp32(torch.exp, torch.ones(1))
                seen.append(state())
                try:
                    in_fp32(bad, torch.ones(1))
                except KeyError:
                    seen.append(state())
                with torch.autocast("cpu", enabled=False):
                    in_fp32(torch.exp, torch.ones(1))
                    seen.append(state()[0])
            in_fp32(torch.exp, torch.ones(1))
            return [*seen[1:], state() == seen[0]]
    """
    on = True, "torch.float16"
    off = False, "torch.float16"
    gone = "autocast stayed off: after the island the region goes on"
    stuck = "autocast stayed off after an error: with a region of its own it would not"
    on_again = "autocast was switched on where it had been off"
    traps = {gone: [off, off, False, True], stuck: [on, off, False, True]}
    traps |= {on_again: [on, on, True, False]}
    by_hand = "switched by hand: off for good after an error, and on where it had been off"
    traps |= {by_hand: [on, off, True, False]}
    check(apart(call), [on, on, False, True], restored, traps)
    call = """
        x = torch.tensor([3.0]).half().requires_grad_()
        w = torch.tensor([[2.0]], requires_grad=True)
        with torch.autocast("cpu", dtype=torch.float16):
            y = in_fp32(lambda a, b: a @ b, x[None], w)
        y.sum().backward()
        return shown([x.grad, w.grad])
    """
    cut = "the gradient ended in the island: do not detach"
    check(apart(call), ["float16 [2.0]", "float32 [[3.0]]"], flows)
    call = """
        x = torch.tensor([1.0]).half().requires_grad_()
        with torch.autocast("cpu", enabled=False):
            return in_fp32(lambda a: a * 2, x).requires_grad
    """
    check(apart(call), True, flows, {cut: False})
    ### BEGIN HIDDEN TESTS
    from random import Random

    t07_3_random = Random(703)
    for _ in range(3):
        side, length = t07_3_random.randrange(260, 504, 8), t07_3_random.randrange(257, 400, 2)
        right = island(float(side), float(length))
        check(apart(scene.format(float(side), float(length))), shown(right), computes)
        right = [torch.tensor([float(side)]) ** 2] * 2
        for low in ("float16", "bfloat16"):
            check(apart(elsewhere.format(float(side), low)), shown(right), computes)
        t_row = [float(t07_3_random.randrange(260, 500, 4)) for _ in range(3)]
        call = f"""
            x = torch.tensor([{t_row}]).bfloat16()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = in_fp32(lambda a, b: (a @ b.T + a.sum()) * a.mean(), x, x)
            return shown(y)
        """
        t_x = torch.tensor([t_row]).bfloat16().float()
        check(apart(call), shown((t_x @ t_x.T + t_x.sum()) * t_x.mean()), computes)
        kinds = ["bfloat16", "int32", "float64", "float16", "bool", "float32", "int64"]
        t07_3_random.shuffle(kinds)
        call = f"""
            tensors = [torch.ones(1).to(getattr(torch, kind)) for kind in {kinds}]
            with torch.autocast("cpu", dtype=torch.float16):
                return in_fp32(lambda *all: [str(x.dtype) for x in all], *tensors)
        """
        wide = {"bfloat16": "float32", "float16": "float32"}
        check(apart(call), [f"torch.{wide.get(kind, kind)}" for kind in kinds], passes)
        low = t07_3_random.choice(("float16", "bfloat16"))
        call = f"""
            def states(f):
                with torch.autocast("cpu", dtype=torch.{low}):
                    try:
                        in_fp32(f, torch.ones(1))
                    except ZeroDivisionError:
                        pass
                    kind = (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
                return str(kind), torch.is_autocast_enabled("cpu")
            with torch.autocast("cpu", enabled=False):
                in_fp32(torch.exp, torch.ones(1))
                kind = (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
            return states(torch.exp), states(lambda x: 1 / 0), str(kind)
        """
        inside = f"torch.{low}", False
        check(apart(call), (inside, inside, "torch.float32"), restored)
        a, b = (float(t07_3_random.randrange(1, 9)) for _ in "ab")
        call = f"""
            x = torch.tensor([[{a}]]).to(torch.{low}).requires_grad_()
            w = torch.tensor([[{b}]], requires_grad=True)
            with torch.autocast("cpu", dtype=torch.{low}):
                in_fp32(lambda x, w: x @ w * 3, x, w).sum().backward()
            return shown([x.grad, w.grad])
        """
        t_kind = getattr(torch, low)
        right = torch.tensor([[3 * b]]).to(t_kind), torch.tensor([[3 * a]])
        check(apart(call), shown(right), flows)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## One cast per weight

A recurrent net uses one weight at every time step. To cast it each time would be a waste, so
autocast keeps the cast of a weight until the region ends. A dispatch mode, which sits below
autocast, counts casts:
"""

# %%
from torch.utils._python_dispatch import TorchDispatchMode


class Casts(TorchDispatchMode):
    """Counts the casts."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        counted[0] += func is torch.ops.aten._to_copy.default
        return func(*args, **(kwargs or {}))


# %%
counted, x = [0], torch.ones(1, 1).half()
w = torch.nn.Parameter(torch.ones(1, 1))

# %%
for keep in (True, False):
    counted[0] = 0
    region = torch.autocast("cpu", torch.float16, cache_enabled=keep)
    with region, Casts():
        for _ in range(5):
            x @ w
    print(f"cache {keep}: casts for 5 uses: {counted[0]}")

# %% [markdown]
r"""
Only a weight is kept: an FP32 tensor that requires a gradient and was not computed from others (a
**leaf**). An activation is cast at each use; who keeps all of them would keep a second copy of the
whole forward pass.

A cache brings surprises of its own. Here are four of them, each in one region.

**1.** The weight is changed in the region: autocast goes on with the old one.
"""

# %% tags=["nbval-ignore-output"]
w = torch.nn.Parameter(torch.ones(1, 1))
with torch.autocast("cpu", dtype=torch.float16):
    before = (x @ w).item()
    w.data += 1
    print("1. weight 1, then 2: products", before, "and", (x @ w).item())

# %% [markdown]
r"""
**2.** The two casts are one tensor, so the gradients of its two uses are added **in FP16**, before
they are cast to FP32.
"""

# %% tags=["nbval-ignore-output"]
for keep in (True, False):
    w = torch.nn.Parameter(torch.ones(1, 1))
    with torch.autocast("cpu", dtype=torch.float16, cache_enabled=keep):
        loss = (2048 * x @ w).float() + (x @ w).float()
    loss.backward()
    print(f"2. cache {keep}: gradient 2048 + 1 = {w.grad.item():.0f}")

# %% [markdown]
r"""
**3.** A region of another type inside finds the cast of the wrong type.
"""

# %% tags=["nbval-ignore-output"]
w = torch.nn.Parameter(torch.ones(1, 1))
with torch.autocast("cpu", dtype=torch.float16):
    x @ w
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x @ w
    except RuntimeError as error:
        print("3.", str(error).replace(", but", ",\n   but"))

# %% [markdown]
r"""
**4.** A forward pass under `no_grad` (an evaluation, a target network) is the first to use the
weight. Earlier versions of PyTorch kept that cast without its place in the graph, and a training
pass after it left the weight without a gradient
([#112583](https://github.com/pytorch/pytorch/issues/112583); mended in December 2025 by
[#165068](https://github.com/pytorch/pytorch/pull/165068)). What does yours do?
"""

# %% tags=["nbval-ignore-output"]
w = torch.nn.Parameter(torch.ones(1, 1))
with torch.autocast("cpu", dtype=torch.float16):
    with torch.no_grad():
        x @ w
    has = (x @ w).requires_grad
print(f"4. torch {torch.__version__}: has a gradient:", has)

# %% [markdown]
r"""
So: one region for one forward pass, not for a whole training loop. That is how the loops of
`08_training_loops` are written. Then the first, the third and the fourth cannot happen; the second
still does if a net uses a weight more than once.

### t07_4 · The cache

`CastCache(low)` has two methods. `cast(tensor)` returns a float32 tensor in the type `low`, and
any other tensor as it is. `clear()` forgets what was kept; autocast calls it when the outermost
region ends.

- A weight (float32, `requires_grad`, `is_leaf`) is cast once: the next `cast` of it returns the
  same tensor, until `clear()`, and makes no other. Each cache keeps its own.
- Any other float32 tensor is cast anew at each call, and nothing of it is kept. A frozen weight is
  such a tensor, too.
- A weight is known by **which** tensor it is, not by what is in it. (`id(tensor)` makes a
  key; `==` would compare the numbers.)
- Under `torch.no_grad()` all this holds as well, and the cast of a weight that was made there
  passes gradients to its later uses. (`torch.enable_grad()` switches recording on again: for the
  weight, and for nothing else.)

The next cell, folded, is for the checks only.
"""


# %% tags=["setup", "folded"]
def play(cache, script, tensors):
    """Cast tensors by name; "|" ends a region. Count casts in each."""
    counts, seen = [], []
    for name in [*script.split(), "|"]:
        if name == "|":
            counts.append(len({id(x) for x in seen}))
            cache.clear()
            seen = []
        else:
            result = cache.cast(tensors[name])
            seen += [result] * (result is not tensors[name])
    return counts


def some_tensors():
    """Return tensors by name.

    v, w: weights; s: a weight in v's memory; f: a frozen weight;
    x: an activation; n: computed from v; h: FP16.
    """
    v, w = (torch.ones(2, requires_grad=True) for _ in "vw")
    s, h = v.detach().requires_grad_(), torch.ones(2).half()
    tensors = {"v": v, "w": w, "s": s, "f": torch.ones(2)}
    tensors |= {"x": torch.zeros(2), "n": v * 2}
    return tensors | {"h": h.requires_grad_()}


# %% task="t07_4" forbids=["ampcourse.amp"]
class CastCache:
    """Casts tensors, and each weight only once until it is cleared."""

    def __init__(self, low):
        ### BEGIN SOLUTION
        self.low, self.kept = low, {}
        ### END SOLUTION

    def cast(self, tensor):
        """Return the tensor in the lower precision."""
        ### BEGIN SOLUTION
        if tensor.dtype != torch.float32:
            return tensor
        if not (tensor.requires_grad and tensor.is_leaf):
            return tensor.to(self.low)
        if id(tensor) not in self.kept:
            with torch.enable_grad():
                self.kept[id(tensor)] = tensor.to(self.low)
        return self.kept[id(tensor)]
        ### END SOLUTION

    def clear(self):
        """Forget what was kept."""
        ### BEGIN SOLUTION
        self.kept.clear()
        ### END SOLUTION


# %% check="t07_4" points=5
with task("t07_4"):
    import torch

    once = "a weight is cast once in a region, however often it is used"
    others = "only weights are kept: a float32 leaf that requires a gradient"
    ends = "clear() forgets: the next region casts the weight as it is then"
    typed = "the cast has the type `low`; what is not float32 stays"
    graph = "the gradient passes the cast and arrives in float32"
    call = 'play(CastCache(torch.float16), "{}", some_tensors())'
    every = "a weight was cast at each use: keep its cast"
    equal = "two weights with the same numbers are two weights: use id(tensor)"
    forever = "the cast outlived its region: clear() has to forget it"
    traps = {every: [4], equal: [1]}
    check(call.format("w w v w"), [2], once, traps)
    memory = "two weights in the same memory are two weights: use id(tensor), not data_ptr"
    check(call.format("v s v s"), [2], once, {memory: [1]})
    again = """
        from torch.utils._python_dispatch import TorchDispatchMode
        class Ops(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                ops.append(str(func))
                return func(*args, **(kwargs or {{}}))
        w, cache, ops = torch.tensor([{}], requires_grad=True), CastCache(torch.float16), []
        with torch.set_grad_enabled({}):
            casts = [cache.cast(w)]
            with Ops():
                casts.append(cache.cast(w))
        casts.append(cache.cast(w))
        kinds = "aten._to_copy.default", "aten.copy_.default"
        return [x is casts[0] for x in casts[1:]], any(op in kinds for op in ops)
    """
    wasted = "the same tensor came back, but it was cast again for nothing: look first"
    check(again.format(0.5, True), ([True, True], False), once, {wasted: ([True, True], True)})
    aside = "under no_grad a weight is kept, too: an evaluation uses it as often"
    thrown = "the cast made under no_grad was thrown away: make one that both can use"
    traps = {aside: ([False, False], True), thrown: ([True, False], False)}
    check(again.format(0.5, False), ([True, True], False), once, traps)
    leaf = "what requires no gradient is not kept: activations and frozen weights"
    computed = "a computed tensor is no weight, though it requires a gradient"
    all_kept = "all of them were kept, and with them a copy of the whole forward pass"
    traps = {leaf: [1, 2, 1], computed: [2, 1, 2], all_kept: [1, 1, 1]}
    check(call.format("x x | n n | f f"), [2, 2, 2], others, traps)
    recorded = """
        n, cache = some_tensors()["n"], CastCache(torch.{})
        with torch.no_grad():
            return cache.cast(n).requires_grad
    """
    graph_of_all = "under no_grad only a weight's cast, which is kept, needs a place in the graph"
    check(recorded.format("float16"), False, others, {graph_of_all: True})
    call_ends = """
        w, cache = torch.tensor([3.0], requires_grad=True), CastCache(torch.float16)
        seen = [cache.cast(w).item()]
        w.data += 1
        seen.append(cache.cast(w).item())
        cache.clear()
        return [*seen, cache.cast(w).item()]
    """
    traps = {forever: [3.0, 3.0, 3.0]}
    check(call_ends, [3.0, 3.0, 4.0], ends, traps)
    call = """
        tensors = some_tensors()
        tensors["d"], tensors["i"] = torch.ones(1).double(), torch.tensor([2])
        return [str(CastCache({}).cast(tensors[name]).dtype)[6:] for name in "wfnhdi"]
    """
    low = ["bfloat16"] * 3
    traps = {"the type is an argument: here bfloat16": ["float16"] * 4 + ["float64", "int64"]}
    traps |= {"integers are not cast": [*low, "float16", "float64", "bfloat16"]}
    traps |= {"only float32 is cast here": [*low, "bfloat16", "bfloat16", "int64"]}
    check(call.format("torch.bfloat16"), [*low, "float16", "float64", "int64"], typed, traps)
    call_typed = call
    own = """
        w = torch.tensor([0.1, {}], requires_grad=True)
        one, two = CastCache(torch.{}), CastCache(torch.{})
        first, second = one.cast(w), two.cast(w)
        one.clear()
        return str(first.dtype)[6:], str(second.dtype)[6:], two.cast(w) is second
    """
    shared = "two caches share what they keep: each makes its own place for it, in __init__"
    kinds16 = "float16", "bfloat16"
    traps = {shared: ("float16", "float16", False)}
    check(own.format(3.0, *kinds16), (*kinds16, True), typed, traps)
    call = """
        w, cache = torch.tensor([1.0], requires_grad=True), CastCache(torch.float16)
        with torch.set_grad_enabled({}):
            cache.cast(w)
        y = {} * cache.cast(w).float() + cache.cast(w).float()
        if y.requires_grad:
            y.sum().backward()
        if w.grad is None:
            return "no gradient"
        return str(w.dtype)[6:], str(w.grad.dtype)[6:], w.grad.item()
    """
    kinds = "float32", "float32"
    changed = "the weight itself was changed: it stays float32"
    traps = {changed: ("float16", "float16", 4.0)}
    detached = {"no gradient passes: do not detach": "no gradient"}
    check(call.format(True, 3.0), (*kinds, 4.0), graph, {**detached, **traps})
    lost = "the cast made under no_grad was kept without its place in the graph"
    check(call.format(False, 3.0), (*kinds, 4.0), graph, {lost: "no gradient"})
    ### BEGIN HIDDEN TESTS
    from random import Random

    from torch.utils._python_dispatch import TorchDispatchMode

    t07_4_random = Random(704)

    class T07_4_Casts(TorchDispatchMode):
        """Counts casts."""

        def __init__(self):
            super().__init__()
            self.count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += func is torch.ops.aten._to_copy.default
            return func(*args, **(kwargs or {}))

    def t07_4_torch(script):
        """Let torch's autocast cast the tensors of a script, and count per region."""
        v, w = (torch.ones(2, 2, requires_grad=True) for _ in "vw")
        half = torch.ones(2, 2).half()
        tensors = {"v": v, "w": w, "f": torch.ones(2, 2), "x": torch.zeros(2, 2), "n": v * 2}
        tensors["h"], counts = half.clone().requires_grad_(), []
        tensors["s"] = v.detach().requires_grad_()
        for region in script.split("|"):
            with torch.autocast("cpu", torch.float16), T07_4_Casts() as casts:
                for name in region.split():
                    torch.mm(half, tensors[name])
            counts.append(casts.count)
        return counts

    call_once = 'play(CastCache(torch.float16), "{}", some_tensors())'
    for letters, reason in (("vws", once), ("vwxfnh", others), ("xfn", others), ("vwh", ends)):
        for _ in range(3):
            regions = [
                t07_4_random.choices(letters, k=t07_4_random.randrange(3, 12)) for _ in "abc"
            ]
            script = " | ".join(" ".join(region) for region in regions)
            check(call_once.format(script), t07_4_torch(script), reason)
    for k in (2.0, 5.0, 7.0):
        check(again.format(k, k < 6), ([True, True], False), once)
        check(own.format(k, *kinds16[::-1]), (*kinds16[::-1], True), typed)
        check(call_ends.replace("3.0", str(k)), [k, k, k + 1], ends)
        check(call.format(k > 4, k), (*kinds, k + 1), graph)
        check(call.format(k < 4, k + 2), (*kinds, k + 3), graph)
    check(call_typed.format("torch.float16"), ["float16"] * 4 + ["float64", "int64"], typed)
    text = "CastCache(torch.{}).cast(torch.tensor([0.1, 3.0, 1e6], requires_grad={}))"
    for t_kind in ("bfloat16", "float16"):
        for trained in (True, False):
            right = torch.tensor([0.1, 3.0, 1e6]).to(getattr(torch, t_kind))
            check(text.format(t_kind, trained), right, typed)
        check(recorded.format(t_kind), False, others)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## The same, in the library

The course's own autocast is such a mode, too. At its core are two functions that you know: one
does what your `cast_inputs` does, the other what your `CastCache.cast` does. (`_is_eligible` tells
what is cast, `_widest` what to promote to.)
"""

# %%
import inspect

from ampcourse.amp import autocast as ours

# %% tags=["nbval-ignore-output"]
print(inspect.getsource(ours._cast_all))
print(inspect.getsource(ours._cast))

# %% [markdown]
r"""
Does that do what PyTorch does in C++? A net with an op from each list: the types on the way, the
loss, and all gradients:
"""


# %%
images = torch.randn(4, 1, 4, 4)


# %%
def run(region):
    """Return the types on the way, the loss and the gradients."""
    torch.manual_seed(7)
    conv, norm = torch.nn.Conv2d(1, 2, 3), torch.nn.LayerNorm(24)
    last = torch.nn.Linear(24, 3)
    with region:
        h = conv(images).relu().flatten(1)
        joined = torch.cat([h, images.flatten(1)], 1)
        out = last(norm(joined))
        loss = F.cross_entropy(out, torch.tensor([0, 1, 2, 0]))
    loss.backward()
    kinds = [short[x.dtype] for x in (h, joined, out, loss)]
    parameters = torch.nn.ModuleList([conv, norm, last]).parameters()
    return kinds, loss, [p.grad for p in parameters]


# %% tags=["nbval-ignore-output"]
mine = run(ours.autocast("cpu", torch.float16))
theirs = run(torch.autocast("cpu", torch.float16))
print("conv, cat, linear, loss:", *mine[0])
print("same types:", mine[0] == theirs[0])
print("same loss:", torch.equal(mine[1], theirs[1]))
print("same gradients:", all(map(torch.equal, mine[2], theirs[2])))

# %% [markdown]
r"""
One thing it has that yours has not. A mode sees the call that **you** make, and nothing of what
happens in it. An `LSTMCell` is one call to it, while PyTorch's own autocast sits deeper: on the CPU
the two linear layers in the cell reach it one by one, and what they give meets the FP32 memory and
is widened. Who casts the inputs of the whole *cell* gets FP16 there. So the library takes such
composites apart, into ops that it can cast. (`ampcourse.amp.composites` names the few that are left
out.)

## Why the backward pass is outside

Autocast works on calls as they come, and remembers nothing of them. The backward pass needs no such
help: autograd wrote down what ran in the forward pass, **the casts included**. Read it off the
graph of one linear layer, from its result backwards:
"""

# %%
layer, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
with torch.autocast("cpu", dtype=torch.float16):
    y = layer(x)

# %% tags=["nbval-ignore-output"]
node, way = y.grad_fn, []
while node:
    way.append(node.name())
    node = node.next_functions[-1][0] if node.next_functions else None
print(*way, sep="\n  -> ")
y.sum().backward()
print("y", y.dtype, " weight", layer.weight.dtype)
print("the weight's gradient", layer.weight.grad.dtype)

# %% [markdown]
r"""
`Addmm` was computed in FP16, so its backward is, too; `ToCopy` is the cast, and its backward casts
the gradient to what the weight was: FP32. So parameters and their gradients are FP32, and an
activation's gradient has the activation's type. (`T` turns `w` round.) But mind: the
weight's gradient **was** in FP16 on the way. FP32 holds it now, and what was flushed to zero or
overflowed before stays so. That is why the loss is scaled.

### t07_5 · The way back

`linear_backward(x, w, g, low)`: under `autocast("cpu", dtype=low)` there was `y = F.linear(x, w)`,
which is `x @ w.T`. `g` is the gradient of `y`, in the type of `y`. Return the gradients of `x` and
of `w` (a tuple or a list of two) as PyTorch computes them, in their types. `x` and `w` may each be
float32 or already `low`. In exact numbers they are `g @ w` and `g.T @ x`. The function runs outside
of any region.

`needs(part, low)`: what does a part of the training work with, if its products are to run in the
type `low`? Return `"autocast"`, `"scaler"`, or `"nothing"`. The parts are `"forward"` (up to the
loss, before it is scaled), `"backward"` (from the scaled loss, if there is a scaler), `"step"` (the
optimizer's, and what belongs to it) and `"evaluation"` (as fast as the training); `low` is
`"float16"`, `"bfloat16"`, or `"float32"` for a training without a region.
"""


# %% task="t07_5" forbids=["ampcourse.amp"]
def linear_backward(x, w, g, low):
    """Return the gradients of x and w of F.linear under autocast."""
    ### BEGIN SOLUTION
    return (g @ w.to(low)).to(x.dtype), (g.T @ x.to(low)).to(w.dtype)
    ### END SOLUTION


def needs(part, low):
    """Return what a part needs: "autocast", "scaler" or "nothing"."""
    ### BEGIN SOLUTION
    if low == "float32":
        return "nothing"
    if part in ("forward", "evaluation"):
        return "autocast"
    return "scaler" if low == "float16" else "nothing"
    ### END SOLUTION


# %% check="t07_5" points=5
with task("t07_5"):
    from textwrap import dedent, indent

    import torch
    from torch.nn import functional as F

    torch.set_autocast_enabled("cpu", False)  # a trial may have left it on

    def shown(value):
        """Return tensors as text, as in the cell before t07_2."""
        if isinstance(value, (list, tuple)):
            return [shown(item) for item in value]
        return f"{str(value.dtype)[6:]} {value.tolist()}" if hasattr(value, "dtype") else value

    def apart(text):
        """Return a call's text with autocast fresh before it and after it."""
        return "with fresh_autocast():\n" + indent(dedent(text).strip(), "    ")

    types = "each gradient has the type of its tensor: FP32 for an FP32 weight"
    numbers = "the products of the backward pass run in the type of the forward pass"
    parts = "who needs what"
    setup = "x, w = torch.tensor({}).to(torch.{}), torch.tensor({}).to(torch.{})\n"
    setup += "g = torch.tensor({}).to(torch.{low})\n"

    def linear_grads(x, w, g, low, kinds):
        """Return the set-up's text, and the gradients that torch computes."""
        text = setup.format(x, kinds[0], w, kinds[1], g, low=low)
        inputs = [
            torch.tensor(v).to(getattr(torch, k)).requires_grad_()
            for v, k in zip((x, w), kinds, strict=True)
        ]
        with torch.autocast("cpu", getattr(torch, low)):
            y = F.linear(*inputs)
        y.backward(torch.tensor(g).to(y.dtype))
        return text, [v.grad for v in inputs]

    wide = "float32"
    kinds_of = "return [str(v.dtype)[6:] for v in linear_backward(x, w, g, torch.{})]"
    rows = []
    for kinds in ((wide, wide), ("float16", wide)):
        text, right = linear_grads(
            [[1.0, 2.0]], [[1.0, 3.0], [2.0, 4.0]], [[1.0, 0.5]], "float16", kinds
        )
        rows.append((text, [str(v.dtype)[6:] for v in right]))
    still = "autograd casts back: the gradient of an FP32 tensor is FP32"
    check(
        apart(rows[0][0] + kinds_of.format("float16")), rows[0][1], types, {still: ["float16"] * 2}
    )
    early = "an FP16 activation has an FP16 gradient"
    check(apart(rows[1][0] + kinds_of.format("float16")), rows[1][1], types, {early: [wide] * 2})
    given = "return shown(linear_backward(x, w, g, torch.{}))"
    t_x, t_w, g = [[1.0, 2049.0]], [[2049.0, 1.0], [1.0, 2.0]], [[1.0, 2.0**-20]]
    text, right = linear_grads(t_x, t_w, g, "float16", (wide, wide))
    tx, tw = torch.tensor(t_x), torch.tensor(t_w)
    tg = torch.tensor(g).half().float()
    exact = "the forward pass saw x and w in FP16, and so does the backward pass"
    kept = "the products were made in FP32: in FP16 they are rounded, though the gradient is FP32"
    low_x, low_w = tx.half().float(), tw.half().float()
    traps = {exact: shown([tg @ tw, tg.T @ tx]), kept: shown([tg @ low_w, tg.T @ low_x])}
    check(apart(text + given.format("float16")), shown(right), numbers, traps)
    t_x, t_w, g = [[257.0], [1.0]], [[1.0]], [[1.0], [257.0]]
    text, right = linear_grads(t_x, t_w, g, "bfloat16", (wide, wide))
    half = [v.half() for v in (torch.tensor(t_x), torch.tensor(t_w), torch.tensor(g).bfloat16())]
    sixteen = "the region's type was bfloat16"
    traps = {sixteen: shown([(half[2] @ half[1]).float(), (half[2].T @ half[0]).float()])}
    check(apart(text + given.format("bfloat16")), shown(right), numbers, traps)
    cases = [("backward", "float16"), ("evaluation", "float16"), ("forward", "bfloat16")]
    cases += [("backward", "bfloat16"), ("step", "float16"), ("forward", "float32")]
    auto, scaler, none = "autocast", "scaler", "nothing"
    alone = "no autocast, but not nothing: FP16's backward starts from the scaled loss"
    again = "backward needs no autocast: autograd knows the type of each op"
    judged = "evaluation has no gradients, so there is nothing to scale"
    bf16 = "BF16 has almost FP32's range: it needs no scaler"
    applied = "the optimizer works in FP32: nothing to cast, but a scale to take off"
    full = "without a region there is nothing to do"
    bare = "scaled gradients have to be unscaled before the step"
    traps = {again: [auto, auto, auto, auto, scaler, none]}
    traps |= {alone: [none, auto, auto, none, scaler, none]}
    traps |= {judged: [scaler, scaler, auto, none, scaler, none]}
    traps |= {bf16: [scaler, auto, auto, scaler, scaler, none]}
    traps |= {applied: [scaler, auto, auto, none, auto, none]}
    traps |= {full: [scaler, auto, auto, none, scaler, auto]}
    traps |= {bare: [scaler, auto, auto, none, none, none]}

    def told(cases, answers):
        """Return what a call of `asks` gives where `needs` returns these answers."""
        return [f"{p} in {k}: {a}" for (p, k), a in zip(cases, answers, strict=True)]

    asks = "[part + ' in ' + low + ': ' + needs(part, low) for part, low in {}]"
    traps = {cause: told(cases, answers) for cause, answers in traps.items()}
    right = told(cases, [scaler, auto, auto, none, scaler, none])
    check(asks.format(cases), right, parts, traps)
    ### BEGIN HIDDEN TESTS
    import itertools
    from random import Random

    t07_5_random = Random(705)

    def t07_5_matrix(rows, columns):
        """Return numbers whose products are exact, and whose sums of two are rounded once."""
        return [
            [
                float(
                    t07_5_random.choice((1, -1, 3)) * 2.0 ** t07_5_random.choice((-15, -14, 0, 5))
                )
                for _ in range(columns)
            ]
            for _ in range(rows)
        ]

    for low in ("float16", "bfloat16"):
        for kinds in itertools.product((wide, low), repeat=2):
            t_x, t_w, g = t07_5_matrix(2, 3), t07_5_matrix(2, 3), t07_5_matrix(2, 2)
            if kinds[1] == wide:
                t_w[0][0] = t_x[0][0] = 4097.0
            text, right = linear_grads(t_x, t_w, g, low, kinds)
            check(apart(text + given.format(low)), shown(right), numbers)
            found = [str(v.dtype)[6:] for v in right]
            check(apart(text + kinds_of.format(low)), found, types)
    # In FP16 both gradients are below its smallest number, or above its largest.
    for a, b in ((2.0**-16, 2.0**-10), (2.0**9, 2.0**8)):
        text, right = linear_grads([[a]], [[a]], [[b]], "float16", (wide, wide))
        check(apart(text + given.format("float16")), shown(right), numbers)
    cases = list(
        itertools.product(
            ("forward", "backward", "step", "evaluation"), (wide, "float16", "bfloat16")
        )
    )
    t07_5_random.shuffle(cases)
    needed = {"forward": (auto, auto), "backward": (scaler, none), "step": (scaler, none)}
    needed["evaluation"] = auto, auto
    right = [none if low == wide else needed[part][low == "bfloat16"] for part, low in cases]
    check(asks.format(cases), told(cases, right), parts)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
Who wraps `backward()` in the region as well gets the same bits for a net of plain layers
(`08_training_loops` shows it), because the FP16 tensors are already FP16. The harm is done where
products of FP32 tensors run in the backward pass: in an island that was kept in FP32 or in a custom
Function. There a region around `backward()` casts them to FP16. Here
a gradient of 1e-9 reaches an island:
"""

# %% tags=["nbval-ignore-output"]
w = torch.nn.Parameter(torch.ones(1, 1))
for around in (False, True):
    w.grad = None
    with torch.autocast("cpu", enabled=False):
        y = torch.ones(1, 1) @ w
    with torch.autocast("cpu", dtype=torch.float16, enabled=around):
        y.backward(torch.tensor([[1e-9]]))
    print(f"backward inside: {around!s:5}  in: 1e-9", end="  ")
    print(f"out: {w.grad.item():.0e}, {w.grad.dtype}")

# %% [markdown]
r"""
The weight's gradient has the type FP32 both times. In FP16 1e-9 is 0, and it went through FP16.

## A Function of one's own

`torch.autograd.Function` holds a forward and a backward that you write. Autocast casts in the
forward, for it sees the ops there, and not in the backward, where no region is left. So the two do
not fit together:
"""


# %% tags=["setup"]
class Product(torch.autograd.Function):
    """x @ w with a backward pass of its own."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.T, x.T @ g


class Square(torch.autograd.Function):
    """x * x with a backward pass of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def fresh(function):
    """Return a copy of a class: the checks work on such copies."""
    return type(function.__name__, (function,), {})


# %% tags=["nbval-ignore-output"]
x, w = torch.ones(1, 2), torch.nn.Parameter(torch.ones(2, 1))
with torch.autocast("cpu", dtype=torch.float16):
    y = Product.apply(x, w)
    z = Square.apply(torch.tensor([300.0]).half())
try:
    y.sum().backward()
except RuntimeError as error:
    print(y.dtype, "and then:", error, sep="\n")
print("300² =", z.item())

# %% [markdown]
r"""
The saved `w` is FP32, the `g` that comes back is FP16. And `Square` is on no list, since autocast
does not know its name; nor is the `*` in it, so that FP16 stays FP16, and overflows. Two decorators
settle both, always together: `torch.amp.custom_fwd` for the forward, which notes what was in force,
and `torch.amp.custom_bwd` for the backward, which puts it in force again, wherever the backward is
called. The first has two forms:

- `custom_fwd(device_type="cpu")`: forward and backward run as the region of the forward says.
- `custom_fwd(device_type="cpu", cast_inputs=torch.float32)`: in a region floating-point inputs (all
  but float64) are cast to FP32, and forward and backward run without autocast. Outside of a region
  it does nothing.

A related problem, and an error that says so: `binary_cross_entropy` of probabilities, which CUDA's
autocast refuses. Take a confident mistake, a logit of -12 where the label is 1. The loss is 12 both
ways. Now its gradients:
"""

# %% tags=["nbval-ignore-output"]
target = torch.tensor([1.0])
bce = F.binary_cross_entropy
with_logits = F.binary_cross_entropy_with_logits
for name, loss in (
    ("BCE of the probability", lambda z: bce(z.sigmoid(), target)),
    ("BCE with logits", lambda z: with_logits(z, target)),
):
    logit = torch.tensor([-12.0]).half().requires_grad_()
    with torch.autocast("cpu", dtype=torch.float16):
        value = loss(logit)
    value.backward()
    print(f"{name:23} loss {value:.2f}  gradient {logit.grad.item()}")

# %% [markdown]
r"""
The probability *p* is 0.000006, and the loss's gradient by *p*, which is -1/*p*, is about -163,000:
too large for the FP16 of *p*. By the logit it is *p* - 1, about -1, and who starts from the logit
never meets the other.
"""

# %% [markdown]
r"""
### t07_6 · Right under autocast

`mend(function, wide)` gets a class like `Product` or `Square`, leaves it as it is, and returns
another that does the same, right under autocast on the CPU. `function.forward(ctx, *tensors)` and
`function.backward(ctx, g)` are what the class defines.

- `wide=False`: forward and backward run under whatever is in force where the forward is called: a
  region of either type, or none.
- `wide=True`: in a region its floating-point inputs (but not float64) are cast to float32, and
  forward and backward run without autocast. Outside of a region nothing is cast.
- There may be many forwards, each in a region of its own, before the first backward.
- All this holds whether the backward is called outside of any region, as it should be, or inside of
  one of either type.

You may use the two decorators (`torch.amp.custom_fwd(f, device_type="cpu")` is the decorated `f`),
or note the region yourself. A class may be defined in a function. The next cell, folded, is for
the checks only.
"""


# %% tags=["setup", "folded"]
def under(low):
    """Return the region of a type; of None, one without autocast."""
    kind = getattr(torch, low or "float16")
    return torch.autocast("cpu", dtype=kind, enabled=low is not None)


def through(function, region, late=None, g=1.0):
    """Run a Product in one region, its backward in another."""
    x = torch.tensor([[1.0, 2051.0]], requires_grad=True)
    w = torch.tensor([[1.0], [1.0]], requires_grad=True)
    try:
        with fresh_autocast():
            with under(region):
                y = function.apply(x, w)
            with under(late):
                y.backward(torch.full_like(y, g))
    except (AttributeError, RuntimeError) as error:
        known = {"dtype": "two types"}
        known["_fwd_used"] = "custom_bwd without custom_fwd"
        for words, short_form in known.items():
            if words in str(error):
                return short_form
        raise
    return shown([y, x.grad, w.grad])


# %% task="t07_6" forbids=["ampcourse.amp"]
def mend(function, wide):
    """Return a Function like `function`, right under autocast."""
    ### BEGIN SOLUTION
    kind = torch.float32 if wide else None
    fwd = torch.amp.custom_fwd(function.forward, device_type="cpu", cast_inputs=kind)
    bwd = torch.amp.custom_bwd(function.backward, device_type="cpu")

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(bwd)

    return Mended
    ### END SOLUTION


# %% check="t07_6" points=4
with task("t07_6"):
    from textwrap import dedent, indent

    import torch

    torch.set_autocast_enabled("cpu", False)  # a trial may have left it on
    both = "forward and backward run in the type of the region that the forward is called in"
    plain = "outside of a region nothing is cast, wherever the backward is called"
    exact = "wide: inputs, forward and backward are FP32"
    arrives = "each gradient arrives in the type of its tensor"

    def shown(value):
        """Return tensors as text, as in the cell before t07_2."""
        if isinstance(value, (list, tuple)):
            return [shown(item) for item in value]
        return f"{str(value.dtype)[6:]} {value.tolist()}" if hasattr(value, "dtype") else value

    def apart(text):
        """Return a call's text with autocast fresh before it and after it."""
        return "with fresh_autocast():\n" + indent(dedent(text).strip(), "    ")

    def product(low, g=1.0):
        """Return y and the gradients of `through`, by torch's own product."""
        x = torch.tensor([[1.0, 2051.0]], requires_grad=True)
        w = torch.tensor([[1.0], [1.0]], requires_grad=True)
        with torch.autocast("cpu", getattr(torch, low or "float16"), enabled=low is not None):
            y = x @ w
        y.backward(torch.full_like(y, g))
        return shown([y, x.grad, w.grad])

    narrow = 'through(mend(fresh(Product), False), "{}", {})'
    b16, f16, f32 = product("bfloat16"), product("float16"), product(None)
    never = "the region's type is not always float16"
    fixed = "the backward ran in float16: it is to run in the type of its forward"
    casts = "with wide=False the region decides: nothing is to be done in FP32"
    met = "two types met in the backward: run it as the forward was run"
    alone = "custom_bwd runs by what custom_fwd has noted: decorate the forward, too"
    outer = "the region of the forward counts, not the one around backward()"
    traps = {never: f16, fixed: [b16[0], *f16[1:]], casts: f32, met: "two types"}
    traps |= {alone: "custom_bwd without custom_fwd"}
    check(narrow.format("bfloat16", None), b16, both, traps)
    other = "a region of the other type around backward() does not count, only the forward's does"
    traps = {other: [b16[0], *f16[1:]]}
    check(narrow.format("bfloat16", "'float16'"), b16, both, traps)
    two = """
        P, x = mend(fresh(Product), False), torch.tensor([{x}], requires_grad=True)
        w = torch.tensor([[1.0], [1.0]], requires_grad=True)
        found = []
        for low in {lows}:
            with under(low):
                found.append(P.apply(x, w))
        y = found[{which}]
        try:
            y.backward(torch.ones_like(y))
        except RuntimeError:
            return "two types"
        return str(y.dtype)[6:], shown([x.grad, w.grad])
    """
    late = "the last forward was noted for all of them: note it in ctx, which each has for itself"
    lows = "bfloat16", "float16"
    traps = {late: ("bfloat16", ["float32 [[1.0, 1.0]]", "float32 [[1.0], [259.0]]"])}
    right = "bfloat16", ["float32 [[1.0, 1.0]]", "float32 [[1.0], [260.0]]"]
    check(apart(two.format(x=[1.0, 259.0], lows=lows, which=0)), right, both, traps)
    call = """
        given = fresh(Product)
        before = given.forward, given.backward
        mend(given, True)
        return [given.forward is before[0], given.backward is before[1]]
    """
    itself = "the class that was given was changed: mend another, and leave it as it is"
    check(call, [True, True], both, {itself: [False, False]})
    always = "a forward outside of a region has a backward without casts"
    cast_there = "that was cast, though no region was there"
    outside = "through(mend(fresh(Product), {}), None, {}, g=2049.0)"
    right = product(None, 2049.0)
    down = [right[0], "float32 [[2048.0, 2048.0]]", "float32 [[2048.0], [inf]]"]
    traps = {always: down, cast_there: product("float16", 2049.0)}
    check(outside.format(False, None), right, plain, traps)
    check(outside.format(False, "'float16'"), right, plain, {outer: down})
    free = """
        y = mend(fresh(Square), True).apply(torch.tensor([{}]).to(torch.{}))
        return shown(y)
    """
    everywhere = "wide=True casts in a region, and nothing outside of it"
    traps = {everywhere: "float32 [92416.0]"}
    check(apart(free.format(304.0, "float16")), "float16 [inf]", plain, traps)
    inside = """
        x, y = torch.tensor([{}]).to(torch.{low}), torch.tensor([[1.0, 2051.0]])
        with torch.autocast("cpu", dtype=torch.{low}):
            square = mend(fresh(Square), True).apply(x)
            y = mend(fresh(Product), True).apply(y, torch.ones(2, 1))
        return shown([square, y])
    """
    back = "enabled=False alone casts nothing: float16 inputs stay"
    again = "the product inside was cast down again: FP32 inputs are not enough"
    right = ["float32 [92416.0]", "float32 [[2052.0]]"]
    neither = "with wide=True nothing was done: cast the inputs, and run without autocast"
    traps = {back: ["float16 [inf]", right[1]], again: [right[0], f16[0]]}
    traps |= {neither: ["float16 [inf]", f16[0]]}
    check(apart(inside.format(304.0, low="float16")), right, exact, traps)
    other = "a bfloat16 input stayed: it has 16 bits, too, and is cast up"
    t_x = torch.tensor([304.0]).bfloat16()
    traps = {other: [shown(t_x * t_x), right[1]], again: [right[0], b16[0]]}
    check(apart(inside.format(304.0, low="bfloat16")), right, exact, traps)
    wide = 'through(mend(fresh(Product), True), "{}", {})'
    check(wide.format("float16", None), f32, exact, {alone: "custom_bwd without custom_fwd"})
    open_there = "wide: inside of a region, too, the backward runs without autocast"
    check(wide.format("float16", "'float16'"), f32, exact, {open_there: [f32[0], *f16[1:]]})
    check(wide.format("float16", "'bfloat16'"), f32, exact, {open_there: [f32[0], *b16[1:]]})
    wish = """
        x = torch.tensor([{}], dtype=torch.float64)
        with torch.autocast("cpu", dtype=torch.{}):
            y = mend(fresh(Square), True).apply(x)
        return shown(y)
    """
    t_x = torch.tensor([0.1], dtype=torch.float64)
    finer = "float64 is wider than float32: custom_fwd leaves it alone, and so do you"
    check(
        apart(wish.format(0.1, "float16")),
        shown(t_x * t_x),
        exact,
        {finer: shown(t_x.float() ** 2)},
    )
    call = """
        x = torch.tensor([[3.0]]).half().requires_grad_()
        w = torch.nn.Parameter(torch.tensor([[5.0]]))
        seen = []
        for wide in (False, True):
            x.grad = w.grad = None
            with torch.autocast("cpu", dtype=torch.float16):
                y = mend(fresh(Product), wide).apply(x, w)
            y.sum().backward()
            seen += [x.grad, w.grad]
        return shown(seen)
    """
    right = ["float16 [[5.0]]", "float32 [[3.0]]"]
    check(apart(call), right * 2, arrives, {"no gradient arrived": [None] * 4})
    ### BEGIN HIDDEN TESTS
    from random import Random

    t07_6_random = Random(706)
    t07_6_chain = """
        class Chain(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return torch.nn.functional.linear(a, b) * {k}

            @staticmethod
            def backward(ctx, g):
                a, b = ctx.saved_tensors
                return (g * {k}) @ b, (g * {k}).mT @ a

        a = torch.tensor({a}, requires_grad=True)
        b = torch.tensor({b}, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.{low}, enabled={on}):
            y = {make}.apply(a, b)
        with torch.autocast("cpu", dtype=torch.{other}, enabled={late}):
            y.backward(torch.full_like(y, {g}))
        return shown([y, a.grad, b.grad])
    """

    def t07_6_plain(a, b, k, g, low, on):
        """Let torch's own ops do the same."""
        a, b = (torch.tensor(v, requires_grad=True) for v in (a, b))
        with torch.autocast("cpu", getattr(torch, low), enabled=on):
            y = torch.nn.functional.linear(a, b) * k
        y.backward(torch.full_like(y, g))
        return shown([y, a.grad, b.grad])

    for low, other in (("float16", "bfloat16"), ("bfloat16", "float16"), ("float16", "float16")):
        a, b = [[0.1, t07_6_random.uniform(1, 9)]], [[3.0, 0.2], [t07_6_random.uniform(1, 9), 5.0]]
        k, g = t07_6_random.choice((2.0, 4.0)), t07_6_random.choice((0.25, 1.0))
        words = {"a": a, "b": b, "k": k, "g": g, "low": low, "other": other}
        for on, wide, late, reason in (
            (True, False, False, both),
            (True, False, True, both),
            (False, False, True, plain),
            (False, True, True, plain),
            (False, False, False, plain),
            (True, True, False, exact),
            (True, True, True, exact),
        ):
            text = t07_6_chain.format(**words, on=on, late=late, make=f"mend(Chain, {wide})")
            check(apart(text), t07_6_plain(a, b, k, g, low, on and not wide), reason)
        n, m = (float(t07_6_random.randrange(1, 9)) for _ in "nm")
        call = f"""
            x = torch.tensor([[{n}]]).to(torch.{low}).requires_grad_()
            w = torch.nn.Parameter(torch.tensor([[{m}]]))
            seen = []
            for wide in (True, False):
                x.grad = w.grad = None
                with torch.autocast("cpu", dtype=torch.{low}):
                    y = mend(fresh(Product), wide).apply(x, w)
                y.sum().backward()
                seen += [x.grad, w.grad]
            return shown(seen)
        """
        t_kind = getattr(torch, low)
        right = shown([torch.tensor([[m]]).to(t_kind), torch.tensor([[n]])])
        check(apart(call), right * 2, arrives)
        n = t07_6_random.uniform(1, 2)
        right = shown(torch.tensor([n], dtype=torch.float64) ** 2)
        check(apart(wish.format(n, low)), right, exact)
        # 513 is 513, 512 or 512 in the three types; all sums of two products are exact.
        n, lows = 513.0 + t07_6_random.randrange(16) * 2, [low, other, None]
        t07_6_random.shuffle(lows)
        for which, t_kind in enumerate(lows):
            column = torch.tensor([[2.0], [n]]).to(getattr(torch, t_kind or "float32")).float()
            right = t_kind or "float32", shown([torch.ones(1, 2), column])
            check(apart(two.format(x=[2.0, n], lows=lows, which=which)), right, both)
        t_kind = getattr(torch, low)
        n = float(t07_6_random.randrange(260, 500, 4))
        call = f"""
            x = torch.tensor([{n}]).to(torch.{low}).requires_grad_()
            with torch.autocast("cpu", dtype=torch.{low}):
                y = mend(fresh(Square), True).apply(x)
            return shown(y)
        """
        half = torch.tensor([n]).to(t_kind)
        check(apart(call), shown(half.float() ** 2), exact)
        check(apart(free.format(n, low)), shown(half * half), plain)
    ### END HIDDEN TESTS

# %% [markdown]
r"""
## What people get wrong

First your predictions, for FP16 on the CPU:
"""

# %% tags=["nbval-ignore-output"]
layer, x = torch.nn.Linear(3, 3), torch.ones(1, 3)
with torch.autocast("cpu", dtype=torch.float16):
    y = layer(x)
    p = y.softmax(1)
p.sum().backward()

# %% tags=["nbval-ignore-output"]
counted[0], halved = 0, x.half()
with torch.autocast("cpu", dtype=torch.float16), Casts():
    for _ in range(5):
        halved @ layer.weight

# %% tags=["nbval-ignore-output"]
w = layer.weight
print(f"layer:    you said {my_product}; {str(y.dtype)[6:]}")
softmax = f"{str(p.dtype)[6:]} (CUDA: float32)"
print(f"softmax:  you said {my_softmax}; {softmax}")
print(f"weight:   you said {my_weight}; {str(w.dtype)[6:]}")
print(f"gradient: you said {my_gradient}; {str(w.grad.dtype)[6:]}")
print(f"casts:    you said {my_casts}; {counted[0]}")

# %% [markdown]
r"""
- **"Inside autocast everything is FP16."** What is on the lower list is; most ops are on no list
  and follow their input (t07_1, t07_2).
- **"LayerNorm and softmax run in FP32."** On CUDA. On the CPU they are on no list (t07_1).
- **"BF16 has the range, so it needs no FP32 list."** It has the same lists: its digits are even
  fewer (t07_1).
- **"Autocast makes my parameters FP16."** It makes copies, and autograd writes down how (t07_2,
  t07_4). `.half()` on a model is something else, and a scaler refuses it.
- **"enabled=False brings me back to FP32."** It stops the casts; `.float()` you write yourself
  (t07_3).
- **"backward() belongs in the region."** Autograd knows the type of each op; what needs a region
  there is a custom Function, and it brings its own (t07_5, t07_6).
- **"FP32 gradients have FP32 precision."** Those of a product's weight came through FP16 (t07_5).

## Say it aloud

Autocast meets each call of an op, looks its name up in the lists of the device, and casts what goes
in: down for products and convolutions, up for most losses (on CUDA also for exponentials, sums and
norms), to the widest for a few; everything else follows its input. The weights stay FP32; a
weight's cast is made once per region and is part of the graph, so the backward pass goes back
through it, in the type of the forward pass, and needs no region. An island without casts casts
nothing back. A Function of my own says itself in which type it runs. And before I say "runs in
FP32", I say on which device.

## Where next

`08_training_loops` puts autocast and scaler together, in ten loops, all of them wrong.
"""
