"""O1 casts the functions on Apex's lists, while it is in force and not a call longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.modules import rnn

from ampcourse.amp import opt_levels as amp
from ampcourse.amp.opt_levels import lists

HALF, FLOAT, DOUBLE = torch.float16, torch.float32, torch.float64


@pytest.fixture(autouse=True)
def no_level_is_left() -> Iterator[None]:
    """Take the patches off again, and forget what a test registered."""
    yield
    amp.initialize(nn.Linear(1, 1), opt_level="O1", verbosity=0)
    amp.deactivate()


def use_o1(**options: Any) -> None:
    amp.initialize(nn.Linear(1, 1), opt_level="O1", **({"verbosity": 0} | options))


def namespaces() -> list[dict[str, Any]]:
    return [dict(vars(owner)) for owner in (torch, F, torch.Tensor, rnn, torch.functional)]


def test_the_patches_leave_no_trace_when_taken_off() -> None:
    before = namespaces()
    use_o1()
    during = namespaces()
    assert during != before
    amp.deactivate()
    after = namespaces()
    for one, other in zip(before, after, strict=True):
        assert one.keys() == other.keys()
        assert all(one[name] is other[name] for name in one)


def test_another_level_takes_the_patches_off_and_o1_twice_puts_them_on_once() -> None:
    before = namespaces()
    use_o1()
    use_o1()
    assert torch.mm.__wrapped__ is before[0]["mm"]
    amp.initialize(nn.Linear(1, 1), opt_level="O0", verbosity=0)
    assert torch.mm is before[0]["mm"]


def test_importing_patches_nothing() -> None:
    assert not hasattr(torch.mm, "__wrapped__")


def replaced(owner: Any) -> set[str]:
    """Return the names under which O1 has put something else."""
    use_o1()
    during = dict(vars(owner))
    amp.deactivate()
    after = vars(owner)
    return {name for name in during if during[name] is not after.get(name)}


def test_what_the_lists_name_is_patched_and_nothing_else() -> None:
    # NVIDIA/apex, apex/amp/amp.py at 889d1712, steps 1 to 6.
    def there(owner: Any, names: set[str]) -> set[str]:
        return {name for name in names if hasattr(owner, name)}

    def in_place(names: set[str]) -> set[str]:
        return {f"{name}_" for name in names}

    cast, promoted = {*lists.TORCH_FP16, *lists.TORCH_FP32}, {*lists.TORCH_PROMOTED}
    own = {*lists.TENSOR_FP16, *lists.TENSOR_FP32, *lists.TENSOR_PROMOTED}
    functions = {*lists.FUNCTIONAL_FP16, *lists.FUNCTIONAL_FP32, *lists.FUNCTIONAL_BANNED}
    torchs = cast | promoted | {*lists.TORCH_SEQUENCES} | in_place({*lists.TORCH_FP32})
    methods = cast | promoted | own
    assert replaced(torch) == there(torch, torchs)
    assert replaced(torch.Tensor) == there(torch.Tensor, methods | in_place(methods))
    # These two were functions that called torch's, and are torch's now.
    assert replaced(F) == functions | {"prelu", "bilinear"}
    assert replaced(rnn) == {"_VF"}


A = torch.rand(3, 3) + 0.5
H = A.half()
IMAGE, KERNEL = torch.rand(1, 2, 6, 6), torch.rand(2, 2, 3, 3)
LABELS = torch.tensor([0, 1, 2])

# NVIDIA/apex, apex/amp/lists. The call, and the type of its result from FP32 and from FP16.
CALLS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], torch.dtype, torch.dtype]] = {
    # torch_overrides.FP16_FUNCS and functional_overrides.FP16_FUNCS
    "mm": (lambda a: torch.mm(a, A), HALF, HALF),
    "matmul": (lambda a: torch.matmul(A, a), HALF, HALF),
    "Tensor.matmul": (lambda a: a.matmul(A), HALF, HALF),
    "@": (lambda a: a @ A, HALF, HALF),
    "addmm": (lambda a: torch.addmm(A, a, A), HALF, HALF),
    "bmm": (lambda a: torch.bmm(a[None], A[None]), HALF, HALF),
    "linear": (lambda a: F.linear(a, A), HALF, HALF),
    "linear, by keyword": (lambda a: F.linear(input=a, weight=A), HALF, HALF),
    "conv2d": (lambda a: F.conv2d(IMAGE.to(a.dtype), KERNEL), HALF, HALF),
    "torch.conv2d": (lambda a: torch.conv2d(IMAGE.to(a.dtype), KERNEL), HALF, HALF),
    "prelu": (lambda a: torch.prelu(a, torch.ones(1)), HALF, HALF),
    "F.prelu": (lambda a: F.prelu(a, torch.ones(1)), HALF, HALF),
    # torch_overrides.FP32_FUNCS and functional_overrides.FP32_FUNCS
    "exp": (lambda a: torch.exp(a), FLOAT, FLOAT),
    "Tensor.exp": (lambda a: a.exp(), FLOAT, FLOAT),
    "pow": (lambda a: torch.pow(a, 2), FLOAT, FLOAT),
    "**": (lambda a: a**2, FLOAT, FLOAT),
    "reflected **": (lambda a: 2**a, FLOAT, FLOAT),
    "sum": (lambda a: torch.sum(a), FLOAT, FLOAT),
    "Tensor.sum": (lambda a: a.sum(), FLOAT, FLOAT),
    "norm": (lambda a: a.norm(), FLOAT, FLOAT),
    "softmax": (lambda a: F.softmax(a, dim=0), FLOAT, FLOAT),
    "layer_norm": (lambda a: F.layer_norm(a, (3,)), FLOAT, FLOAT),
    "cross_entropy": (lambda a: F.cross_entropy(a, LABELS), FLOAT, FLOAT),
    "mse_loss": (lambda a: F.mse_loss(a, A), FLOAT, FLOAT),
    "cpu": (lambda a: a.cpu(), FLOAT, FLOAT),
    # torch_overrides.CASTS and SEQUENCE_CASTS: to FP32 if there are both
    "+": (lambda a: a + A, FLOAT, FLOAT),
    "add, both alike": (lambda a: torch.add(a, a), FLOAT, HALF),
    "a scalar tensor": (lambda a: a * torch.tensor(2.0), FLOAT, FLOAT),
    "a number": (lambda a: a * 2.0, FLOAT, HALF),
    "cat": (lambda a: torch.cat([a, A]), FLOAT, FLOAT),
    "stack, both alike": (lambda a: torch.stack((a, a)), FLOAT, HALF),
    "bilinear": (lambda a: F.bilinear(a, A, torch.rand(1, 3, 3)), FLOAT, FLOAT),
    # on no list
    "relu": (torch.relu, FLOAT, HALF),
    "mean": (torch.mean, FLOAT, HALF),
    "sigmoid": (torch.sigmoid, FLOAT, HALF),
    "batch_norm": (
        lambda a: F.batch_norm(a, torch.zeros(3), torch.ones(3), torch.ones(3), torch.zeros(3)),
        FLOAT,
        HALF,
    ),
    "gelu": (F.gelu, FLOAT, HALF),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_gives_the_type_of_its_list(name: str) -> None:
    call, from_float, from_half = CALLS[name]
    use_o1()
    assert call(A).dtype == from_float
    assert call(H).dtype == from_half


def test_a_cast_function_computes_what_it_computes_on_cast_inputs() -> None:
    linear, softmax = F.linear(A.half(), A.half()), F.softmax(H.float(), dim=0)
    use_o1()
    assert torch.equal(F.linear(A, A), linear)
    assert torch.equal(F.softmax(H, dim=0), softmax)


RNNS = {
    "RNN tanh": lambda: nn.RNN(3, 4),
    "RNN relu": lambda: nn.RNN(3, 4, nonlinearity="relu"),
    "LSTM": lambda: nn.LSTM(3, 4, num_layers=2),
    "GRU": lambda: nn.GRU(3, 4, bidirectional=True),
    "RNNCell": lambda: nn.RNNCell(3, 4),
    "LSTMCell": lambda: nn.LSTMCell(3, 4),
    "GRUCell": lambda: nn.GRUCell(3, 4),
}


@pytest.mark.parametrize("name", RNNS)
def test_rnns_and_their_cells_run_in_fp16_on_fp32_weights(name: str) -> None:
    torch.manual_seed(0)
    layer, half = RNNS[name](), RNNS[name]()
    half.load_state_dict(layer.state_dict())
    half.half()
    x = torch.randn(5, 3)
    expected = half(x.half())
    use_o1()
    found = layer(x)
    while isinstance(found, tuple):
        found, expected = found[0], expected[0]
    assert found.dtype == HALF
    assert torch.equal(found, expected)
    found.float().sum().backward()
    assert all(param.grad.dtype == FLOAT for param in layer.parameters())


def test_packed_sequences_go_through_an_lstm() -> None:
    lstm = nn.LSTM(3, 4)
    packed = nn.utils.rnn.pack_sequence([torch.ones(4, 3), torch.ones(2, 3)])
    use_o1()
    assert lstm(packed)[0].data.dtype == HALF


def test_integers_pass_and_fp64_is_cast_as_fp32_is() -> None:
    use_o1()
    assert torch.sum(torch.ones(3, dtype=torch.int64)).dtype == torch.int64
    assert torch.mm(A.double(), A.double()).dtype == HALF
    assert torch.sum(A.double()).dtype == FLOAT


def test_other_mixtures_are_an_error_as_in_apex() -> None:
    use_o1()
    for call in (lambda: A + A.double(), lambda: torch.mul(H, A.bfloat16())):
        with pytest.raises(NotImplementedError, match="of mixtures it knows only float16 and flo"):
            call()
    assert torch.cat([A, A.double()]).dtype == DOUBLE


def test_in_place_the_first_tensor_keeps_its_type() -> None:
    use_o1()
    total = torch.zeros(3, 3, dtype=HALF)
    assert total.add_(A) is total
    assert total.dtype == HALF
    assert torch.equal(total, H)
    total = torch.zeros(3, 3)
    total.add_(H)
    assert torch.equal(total, H.float())


def test_in_place_the_other_tensor_is_rounded_to_fp16_first() -> None:
    other = torch.tensor([2.0**-11 + 2.0**-23])
    # One more ulp of FP16 at 1 in one rounding; a tie, which goes to 1, in two.
    assert torch.ones(1, dtype=HALF).add_(other).item() == 1.0 + 2.0**-10
    use_o1()
    assert torch.ones(1, dtype=HALF).add_(other).item() == 1.0


def test_an_operator_in_place_promotes_and_so_makes_a_new_tensor() -> None:
    use_o1()
    total = before = torch.zeros(3, 3, dtype=HALF)
    total += A
    assert total is not before
    assert total.dtype == FLOAT


@pytest.mark.parametrize(
    "call",
    [lambda x: x.exp_(), lambda x: torch.exp_(x), lambda x: x.pow_(2), lambda x: x.log_()],
    ids=["exp_", "torch.exp_", "pow_", "log_"],
)
def test_fp32_functions_in_place_on_fp16_are_an_error(call: Callable[[Any], Any]) -> None:
    use_o1()
    call(A.clone())
    with pytest.raises(NotImplementedError, match="changes no FP16 tensor in place"):
        call(H.clone())
    # Where casts are disabled, too: Apex did not ask.
    with amp.disable_casts(), pytest.raises(NotImplementedError):
        call(H.clone())


def test_binary_cross_entropy_takes_no_fp16() -> None:
    use_o1()
    target = torch.rand(3, 3)
    F.binary_cross_entropy(torch.sigmoid(A), target)
    with pytest.raises(NotImplementedError, match="BCEWithLogitsLoss"):
        nn.BCELoss()(torch.sigmoid(H), target)
    assert nn.BCEWithLogitsLoss()(H, target).dtype == FLOAT


def test_registering_sigmoid_as_float_makes_bce_work() -> None:
    amp.register_float_function(torch, "sigmoid")
    use_o1()
    assert F.binary_cross_entropy(torch.sigmoid(H), torch.rand(3, 3)).dtype == FLOAT


def test_functions_of_ones_own_are_cast_from_the_next_initialize_on() -> None:
    module = ModuleType("mine")
    module.twice = module.join = module.thrice = lambda *x: sum(x[1:], x[0])  # type: ignore[attr-defined]
    amp.register_half_function(module, "twice")
    amp.register_float_function(module, "thrice")
    amp.register_promote_function(module, "join")
    assert module.twice(A).dtype == FLOAT
    use_o1()
    assert module.twice(A).dtype == HALF
    assert module.thrice(H).dtype == FLOAT
    assert (module.join(H).dtype, module.join(H, A).dtype) == (HALF, FLOAT)
    amp.deactivate()
    assert module.twice(A).dtype == FLOAT
    use_o1()
    assert module.twice(A).dtype == FLOAT


def test_a_listed_function_can_be_registered_otherwise_and_comes_back() -> None:
    before = torch.exp
    amp.register_half_function(torch, "exp")
    use_o1()
    assert torch.exp(A).dtype == HALF
    amp.deactivate()
    assert torch.exp is before


@pytest.mark.parametrize(
    "register",
    [amp.register_half_function, amp.register_float_function, amp.register_promote_function],
)
def test_registering_what_is_not_there_is_refused(register: Callable[[Any, str], None]) -> None:
    with pytest.raises(ValueError, match=r"torch.nn.functional has no function 'linaer'"):
        register(F, "linaer")


def test_decorated_functions_cast_while_o1_is_in_force() -> None:
    @amp.half_function
    def half(x: torch.Tensor) -> torch.dtype:
        return x.dtype

    @amp.float_function
    def single(x: torch.Tensor) -> torch.dtype:
        return x.dtype

    @amp.promote_function
    def promoted(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.dtype, torch.dtype]:
        return x.dtype, y.dtype

    def seen() -> tuple[Any, ...]:
        return half(A), single(H), promoted(A, H), promoted(H, H)

    untouched = FLOAT, HALF, (FLOAT, HALF), (HALF, HALF)
    assert seen() == untouched
    use_o1()
    assert seen() == (HALF, FLOAT, (FLOAT, FLOAT), (HALF, HALF))
    with amp.disable_casts():
        assert seen() == untouched
    amp.deactivate()
    assert seen() == untouched


def test_casts_stay_disabled_no_longer_than_the_block_even_if_it_raises() -> None:
    use_o1()

    def fail_uncast() -> None:
        with amp.disable_casts():
            assert torch.mm(A, A).dtype == FLOAT
            raise KeyError

    with pytest.raises(KeyError):
        fail_uncast()
    assert torch.mm(A, A).dtype == HALF


def test_the_optimizers_step_runs_without_casts() -> None:
    class Watcher(torch.optim.SGD):
        seen: torch.dtype

        def step(self, closure: Any = None) -> None:
            Watcher.seen = torch.mm(A, A).dtype

    model = nn.Linear(1, 1)
    _, optimizer = amp.initialize(model, Watcher(model.parameters(), lr=0.1), verbosity=0)
    optimizer.step()
    assert Watcher.seen == FLOAT
    assert torch.mm(A, A).dtype == HALF


def casts_printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_weight_is_cast_once_per_backward_pass(capsys: pytest.CaptureFixture[str]) -> None:
    layer = nn.Linear(3, 3, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    amp.initialize(layer, optimizer, opt_level="O1", verbosity=2)
    capsys.readouterr()
    once = ["Float->Half (linear)"]
    for _ in range(2):
        loss = (layer(H) + layer(H)).float().sum()
        assert casts_printed(capsys)[:3] == once
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
        capsys.readouterr()


def test_gradients_of_a_weight_used_twice_add_up_in_fp16() -> None:
    layer = nn.Linear(1, 1, bias=False)
    use_o1()
    x = torch.tensor([[2048.0]])
    (layer(x) + layer(torch.ones(1, 1))).float().sum().backward()
    # 2049 lies between two FP16 numbers and goes to the even one.
    assert layer.weight.grad.item() == 2048.0


def test_a_cast_kept_without_gradients_is_not_used_in_a_pass_with_them() -> None:
    layer = nn.Linear(3, 3)
    use_o1()
    with torch.no_grad():
        layer(A)
    layer(A).float().sum().backward()
    assert layer.weight.grad is not None


def test_a_changed_weight_is_cast_anew() -> None:
    layer = nn.Linear(3, 3, bias=False)
    use_o1()
    with torch.no_grad():
        layer(A)
        layer.weight.zero_()
        assert layer(A).abs().sum() == 0.0


def test_tensors_of_another_device_are_left_alone() -> None:
    use_o1()
    assert amp._amp_state.handle is not None
    amp._amp_state.handle.device_type = "cuda"
    assert torch.mm(A, A).dtype == FLOAT
    assert (A + H).dtype == FLOAT
