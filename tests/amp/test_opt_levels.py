"""Each level gives the types that Apex gave, and trains as the same thing written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.amp import opt_levels as amp
from ampcourse.amp.master_weights import MasterWeights

HALF, FLOAT = torch.float16, torch.float32


@pytest.fixture(autouse=True)
def no_level_is_left() -> Iterator[None]:
    """Take the patches off again."""
    yield
    amp.deactivate()


class Net(nn.Module):
    """Convolution, pool, batch norm, two fully connected layers; notes the types inside."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.plain_bn = nn.BatchNorm2d(4, affine=False)
        self.fc1 = nn.Linear(4 * 5 * 5, 8)
        self.fc2 = nn.Linear(8, 3)
        self.register_buffer("offset", torch.full((8,), 0.1))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.seen: dict[str, torch.dtype] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen["input"] = x.dtype
        x = self.note("conv", self.conv(x))
        x = self.note("bn", self.bn(x))
        x = self.note("plain_bn", self.plain_bn(x))
        x = self.note("pool", F.max_pool2d(F.relu(x), 2))
        x = self.note("fc1", self.fc1(x.flatten(1)) + self.offset)
        x = self.note("softmax", F.softmax(x, dim=1))
        return self.note("fc2", self.fc2(x))

    def note(self, name: str, x: torch.Tensor) -> torch.Tensor:
        self.seen[name] = x.dtype
        return x


def batches(steps: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        yield (
            torch.randn(6, 1, 12, 12, generator=generator),
            torch.randint(0, 3, (6,), generator=generator),
        )


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)


class Trained(NamedTuple):
    """What a training leaves."""

    model: Any
    losses: list[float]
    tensors: list[torch.Tensor]
    skipped: list[int]


def train(level: str, steps: int = 6, factor: float = 1.0, **options: Any) -> Trained:
    """Train as an Apex script does, with the loss multiplied by a factor."""
    model = Net()
    optimizer = sgd(model)
    model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=0, **options)
    losses, skipped = [], []
    for step, (x, y) in enumerate(batches(steps)):
        optimizer.zero_grad()
        loss = factor * F.cross_entropy(model(x), y)
        losses.append(loss.item())
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        if optimizer._amp_stash.skips:
            skipped.append(step)
        optimizer.step()
    return Trained(model, losses, [*model.parameters(), *model.buffers()], skipped)


class Types(NamedTuple):
    """The types at one level, as the cited source makes them."""

    conv_weight: torch.dtype
    bn_weight: torch.dtype
    bn_mean: torch.dtype
    plain_bn_mean: torch.dtype
    fc_weight: torch.dtype
    buffer: torch.dtype
    output: torch.dtype
    stepped: torch.dtype
    seen: tuple[torch.dtype, ...]


# NVIDIA/apex. Parameters and buffers: _initialize.py at 1ccaaf4a, convert_network with
# keep_batchnorm_fp32 and model.to without; fp16util.py at d2ac4872 spares affine batch norms
# only. Inputs and outputs: patch_forward there, outputs to FP32. Inside O1: the lists (conv and
# linear FP16, softmax FP32; batch norm on none, so its output has its input's type; + promotes).
# Stepped: _process_optimizer.py at f17401fc, masters for FP16 parameters under O2.
# seen: input, conv, bn, plain_bn, pool, fc1, softmax, fc2.
TABLE = {
    "O0": Types(FLOAT, FLOAT, FLOAT, FLOAT, FLOAT, FLOAT, FLOAT, FLOAT, (FLOAT,) * 8),
    "O1": Types(
        *(FLOAT, FLOAT, FLOAT, FLOAT, FLOAT, FLOAT),
        HALF,
        FLOAT,
        (FLOAT, HALF, HALF, HALF, HALF, FLOAT, FLOAT, HALF),
    ),
    "O2": Types(HALF, FLOAT, FLOAT, HALF, HALF, HALF, FLOAT, FLOAT, (HALF,) * 8),
    "O3": Types(HALF, HALF, HALF, HALF, HALF, HALF, FLOAT, HALF, (HALF,) * 8),
}


@pytest.mark.parametrize("level", TABLE)
def test_types_are_those_of_the_level(level: str) -> None:
    model = Net()
    optimizer = sgd(model)
    parameters = list(model.parameters())
    model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=0)
    x, y = next(batches(1))
    output = model(x)
    with amp.scale_loss(F.cross_entropy(output, y), optimizer) as scaled:
        assert scaled.dtype == FLOAT
        scaled.backward()
    found = Types(
        model.conv.weight.dtype,
        model.bn.weight.dtype,
        model.bn.running_mean.dtype,
        model.plain_bn.running_mean.dtype,
        model.fc1.weight.dtype,
        model.offset.dtype,
        output.dtype,
        next(amp.master_params(optimizer)).dtype,
        tuple(model.seen.values()),
    )
    assert found == TABLE[level]
    # The parameters are still the same objects, and a gradient has its parameter's type.
    for param, before in zip(model.parameters(), parameters, strict=True):
        assert param is before
        assert param.grad.dtype == param.dtype
    assert model.count.dtype == torch.int64
    masters = [param for param in amp.master_params(optimizer) if param.grad is not None]
    assert {param.grad.dtype for param in masters} == {param.dtype for param in masters}


def test_o0_is_plain_training_bit_for_bit() -> None:
    model = Net()
    optimizer = sgd(model)
    losses = []
    for x, y in batches(6):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    by_amp = train("O0")
    assert by_amp.losses == losses
    assert_same(by_amp.tensors, [*model.parameters(), *model.buffers()])


def test_o3_is_training_a_half_model_bit_for_bit() -> None:
    model = Net().half()
    optimizer = sgd(model)
    losses = []
    for x, y in batches(6):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.half()).float(), y)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    by_amp = train("O3")
    assert by_amp.losses == losses
    assert_same(by_amp.tensors, [*model.parameters(), *model.buffers()])


@pytest.mark.parametrize("factor", [1.0, 64.0], ids=["no overflow", "overflows"])
def test_o2_is_master_weights_and_a_dynamic_scale_bit_for_bit(factor: float) -> None:
    model = Net()
    for module in (model.conv, model.plain_bn, model.fc1, model.fc2):
        module.half()
    model.offset = model.offset.half()
    optimizer = MasterWeights(sgd(model))
    scale, losses, skipped = 65536.0, [], []
    for step, (x, y) in enumerate(batches(6)):
        optimizer.zero_grad()
        loss = factor * F.cross_entropy(model(x.half()).float(), y)
        losses.append(loss.item())
        (loss * scale).backward()
        optimizer.collect_gradients()
        gradients = [param.grad for param in optimizer.parameters()]
        if all(gradient.isfinite().all() for gradient in gradients):
            for gradient in gradients:
                gradient.div_(scale)
            optimizer.step()
        else:
            scale /= 2
            skipped.append(step)
    by_amp = train("O2", factor=factor)
    assert by_amp.losses == losses
    assert by_amp.skipped == skipped
    assert bool(skipped) == (factor == 64.0)
    assert_same(by_amp.tensors, [*model.parameters(), *model.buffers()])


def test_o1_is_the_casts_written_out_bit_for_bit() -> None:
    model = Net()
    optimizer = sgd(model)
    losses = []

    def forward(x: torch.Tensor) -> torch.Tensor:
        x = F.conv2d(x.half(), model.conv.weight.half(), model.conv.bias.half())
        x = F.max_pool2d(F.relu(model.plain_bn(model.bn(x))), 2).flatten(1)
        x = F.linear(x, model.fc1.weight.half(), model.fc1.bias.half()).float() + model.offset
        return F.linear(F.softmax(x, dim=1).half(), model.fc2.weight.half(), model.fc2.bias.half())

    for x, y in batches(6):
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x).float(), y)
        losses.append(loss.item())
        (loss * 65536.0).backward()
        for param in model.parameters():
            param.grad /= 65536.0
        optimizer.step()
    by_amp = train("O1")
    assert by_amp.skipped == []
    assert by_amp.losses == losses
    assert_same(by_amp.tensors, [*model.parameters(), *model.buffers()])


def assert_same(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_disabled_amp_changes_nothing(level: str) -> None:
    model = Net()
    optimizer = sgd(model)
    forward, step = model.forward, optimizer.step
    same_model, same_optimizer = amp.initialize(model, optimizer, enabled=False, opt_level=level)
    assert same_model is model
    assert same_optimizer is optimizer
    assert model.forward == forward
    assert optimizer.step == step
    loss = model(next(batches(1))[0]).sum()
    with amp.scale_loss(loss, optimizer) as scaled:
        assert scaled is loss


@pytest.mark.parametrize(
    ("options", "bn", "plain_bn"),
    [
        ({"opt_level": "O2", "keep_batchnorm_fp32": "False"}, HALF, HALF),
        ({"opt_level": "O3", "keep_batchnorm_fp32": "True"}, FLOAT, HALF),
        ({"opt_level": "O1", "cast_model_type": torch.float32}, FLOAT, FLOAT),
    ],
    ids=str,
)
def test_overrides_reach_the_model(
    options: dict[str, Any], bn: torch.dtype, plain_bn: torch.dtype
) -> None:
    model = amp.initialize(Net(), verbosity=0, **options)
    assert model.bn.weight.dtype == bn
    assert model.plain_bn.running_mean.dtype == plain_bn


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_cast_model_outputs_is_the_type_of_the_output(level: str) -> None:
    model = amp.initialize(Net(), opt_level=level, cast_model_outputs=HALF, verbosity=0)
    assert model(next(batches(1))[0]).dtype == HALF


class Batch:
    """A batch of one's own that knows how to be cast."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def to(self, dtype: torch.dtype) -> Batch:
        return Batch(self.tensor.to(dtype))


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


class Echo(nn.Module):
    """Returns what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.args, self.kwargs = args, kwargs
        return args[0]


def test_o2_casts_what_is_inside_containers_and_leaves_the_rest() -> None:
    model = amp.initialize(Echo(), opt_level="O2", verbosity=0)
    x, ids = torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.int64)
    array = x.numpy()
    output = model(
        {"x": x, "more": [x, (ids, "text")]}, Pair(x, ids), array, batch=Batch(x), none=None, n=3
    )
    inner = model.args[0]
    assert (inner["x"].dtype, inner["more"][0].dtype) == (HALF, HALF)
    assert inner["more"][1] == (ids, "text")
    assert isinstance(model.args[1], Pair)
    assert (model.args[1].first.dtype, model.args[1].second.dtype) == (HALF, torch.int64)
    assert model.args[2] is array
    assert model.kwargs["batch"].tensor.dtype == HALF
    assert (model.kwargs["none"], model.kwargs["n"]) == (None, 3)
    assert output["x"].dtype == FLOAT
    assert output["more"][0].dtype == FLOAT


def test_what_comes_back_has_the_shape_of_what_went_in() -> None:
    def models(count: int) -> list[nn.Module]:
        return [nn.Linear(2, 2) for _ in range(count)]

    make: Callable[[nn.Module], torch.optim.Optimizer] = sgd
    (model,) = models(1)
    assert amp.initialize(model, verbosity=0) is model
    optimizer = make(model)
    assert amp.initialize(model, optimizer, verbosity=0) == (model, optimizer)
    pair = models(2)
    assert amp.initialize(pair, verbosity=0) == pair
    optimizers = [make(model) for model in pair]
    assert amp.initialize(pair, optimizers, verbosity=0) == (pair, optimizers)
    pair = models(2)
    optimizer = make(nn.ModuleList(pair))
    assert amp.initialize(pair, optimizer, verbosity=0) == (pair, optimizer)
    (model,) = models(1)
    assert amp.initialize(model, [make(model)], verbosity=0)[0] is model


def test_what_was_selected_is_printed_unless_verbosity_is_0(
    capsys: pytest.CaptureFixture[str],
) -> None:
    amp.initialize(nn.Linear(1, 1), opt_level="O2", loss_scale="128.0")
    printed = capsys.readouterr().out
    assert printed.startswith("Selected optimization level O2")
    assert "keep_batchnorm_fp32    : True\n" in printed
    assert "loss_scale             : 128.0\n" in printed
    amp.initialize(nn.Linear(1, 1), opt_level="O2", verbosity=0)
    assert capsys.readouterr().out == ""


IMAGE, TOKENS = torch.rand(2, 4, 6, 6), torch.rand(5, 2, 4)
LAYERS: dict[str, tuple[Callable[[], nn.Module], torch.Tensor]] = {
    "Linear": (lambda: nn.Linear(6, 3), IMAGE),
    "Conv2d": (lambda: nn.Conv2d(4, 2, 3), IMAGE),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 2, 3), IMAGE),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), IMAGE),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, affine=True), IMAGE),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), IMAGE),
    "LayerNorm": (lambda: nn.LayerNorm(6), IMAGE),
    "RMSNorm": (lambda: nn.RMSNorm(6), IMAGE),
    "PReLU": (lambda: nn.Sequential(nn.Linear(6, 6), nn.PReLU()), IMAGE),
    "Upsample": (lambda: nn.Sequential(nn.Linear(6, 6), nn.Upsample(scale_factor=2)), IMAGE),
    "LSTM": (lambda: nn.LSTM(4, 3), TOKENS),
    "GRUCell": (lambda: nn.GRUCell(4, 3), TOKENS[0]),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), TOKENS),
    "Embedding": (lambda: nn.Embedding(9, 3), torch.arange(9)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_common_layers_train_at_every_level(level: str, name: str) -> None:
    make, x = LAYERS[name]
    torch.manual_seed(0)
    model = make()
    optimizer = sgd(model)
    model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=0)
    output = model(x)
    while isinstance(output, tuple):
        output = output[0]
    with amp.scale_loss(output.float().square().mean(), optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    for param in model.parameters():
        assert param.grad.dtype == param.dtype
        assert param.isfinite().all()


def half_parameter() -> nn.Module:
    return nn.Linear(1, 1).half()


def half_buffer() -> nn.Module:
    model = nn.BatchNorm1d(1)
    model.running_mean = model.running_mean.half()
    return model


@pytest.mark.parametrize(
    ("make", "name"), [(half_parameter, "weight"), (half_buffer, "running_mean")]
)
@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_a_model_in_fp16_is_refused_with_the_name_of_what_is(
    make: Callable[[], nn.Module], name: str, level: str
) -> None:
    with pytest.raises(RuntimeError, match=f"{name} is in float16"):
        amp.initialize(make(), opt_level=level, verbosity=0)
    amp._amp_state.allow_incoming_model_not_fp32 = True
    try:
        amp.initialize(make(), opt_level=level, verbosity=0)
    finally:
        amp._amp_state.allow_incoming_model_not_fp32 = False


def test_a_model_in_a_parallel_wrapper_is_refused() -> None:
    with pytest.raises(RuntimeError, match="DataParallel"):
        amp.initialize(nn.DataParallel(nn.Linear(1, 1)), verbosity=0)


@pytest.mark.parametrize(
    ("models", "optimizers", "message"),
    [
        ("net", None, "models must be one Module or a list of them, not str"),
        ([nn.Linear(1, 1), 3], None, "not int"),
        (nn.Linear(1, 1), "sgd", "optimizers must be one Optimizer or a list of them, not str"),
        (nn.Linear(1, 1), MasterWeights(sgd(nn.Linear(1, 1))), "not MasterWeights"),
    ],
    ids=["text", "number among models", "text as optimizer", "wrapped optimizer"],
)
def test_what_is_no_model_or_optimizer_is_refused(
    models: Any, optimizers: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        amp.initialize(models, optimizers, verbosity=0)


def test_an_optimizer_is_taken_once_and_a_refusal_changes_nothing() -> None:
    model = Net()
    fresh, used = sgd(model), sgd(model)
    amp.initialize(model, used, opt_level="O0", verbosity=0)
    other = Net()
    with pytest.raises(RuntimeError, match=r"SGD has been through amp\.initialize before"):
        amp.initialize(other, [fresh, used], opt_level="O2", verbosity=0)
    assert other.conv.weight.dtype == FLOAT
    assert not hasattr(fresh, "_amp_stash")
    # The level in force is the one before.
    assert amp._amp_state.opt_properties == amp.PROPERTIES["O0"]


def test_bfloat16_masters_are_none_of_apexs_business() -> None:
    model = nn.Linear(1, 1)
    model, optimizer = amp.initialize(
        model, sgd(model), opt_level="O2", cast_model_type=torch.bfloat16, verbosity=0
    )
    with pytest.raises(TypeError, match=r"torch.bfloat16; .* use torch.autocast"):
        optimizer.zero_grad()


def test_a_number_of_losses_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="num_losses=0"):
        amp.initialize(nn.Linear(1, 1), num_losses=0, verbosity=0)
