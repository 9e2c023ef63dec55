"""Regions of ours give torch.autocast's types, values and gradients, bit for bit."""

from __future__ import annotations

import doctest
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

import ampcourse.amp.autocast
import ampcourse.amp.einsum
from ampcourse.amp.autocast import autocast, get_autocast_dtype, is_autocast_enabled
from tests.amp.twin_regions import LOWER, Region, assert_twins

low_types = pytest.mark.parametrize("low", LOWER, ids=str)


def trained(
    make: Callable[[], nn.Module],
    loss: Callable[[nn.Module], torch.Tensor],
    low: torch.dtype,
) -> Callable[[Region], Any]:
    """Return a run: one forward and backward of a fresh net, with all that comes of it."""

    def run(region: Region) -> Any:
        net = make()
        with region("cpu", dtype=low):
            value = loss(net)
        value.backward()
        return value, [param.grad for param in net.parameters()], list(net.buffers())

    return run


@pytest.mark.parametrize(
    "low", [torch.bfloat16, pytest.param(torch.float16, marks=pytest.mark.slow)], ids=str
)
def test_resnet18_trains_with_torchs_bits(low: torch.dtype) -> None:
    models = pytest.importorskip("torchvision.models", reason="needs torchvision (the lab extra)")
    images, labels = torch.randn(2, 3, 16, 16), torch.tensor([1, 7])

    def loss(net: nn.Module) -> torch.Tensor:
        return functional.cross_entropy(net(images), labels)

    assert_twins(trained(lambda: models.resnet18(num_classes=10), loss, low))


@low_types
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_transformer_block_trains_with_torchs_bits(low: torch.dtype, norm_first: bool) -> None:
    tokens = torch.randn(2, 5, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(5)

    def make() -> nn.Module:
        return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)

    def loss(net: nn.Module) -> torch.Tensor:
        return net(tokens, src_mask=mask).float().square().mean()

    assert_twins(trained(make, loss, low))


class AttentionByHand(nn.Module):
    """Attention written out with einsum, a fused twin, and cells that carry a state."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(6, 6) for _ in range(3))
        self.cell, self.lstm, self.gru = nn.RNNCell(6, 6), nn.LSTMCell(6, 6), nn.GRUCell(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.query(x), self.key(x), self.value(x)
        weights = torch.einsum("bqd,bkd->bqk", query, key).softmax(-1)
        mixed = torch.einsum("bqk,bkd->bqd", weights, value)
        mixed = mixed + functional.scaled_dot_product_attention(query, key, value)
        hidden = self.gru(mixed[:, 0], self.cell(mixed[:, 1]))
        hidden, cell = self.lstm(hidden, (hidden, x[:, 2]))
        return hidden.float().square().sum() + cell.float().sum()


@low_types
def test_einsum_attention_and_cells_train_with_torchs_bits(low: torch.dtype) -> None:
    x = torch.randn(3, 4, 6)
    assert_twins(trained(AttentionByHand, lambda net: net(x), low))


class Awkward(nn.Module):
    """Ops whose type under autocast people guess wrong, in one forward."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8, bias=False)
        self.norm, self.prelu = nn.LayerNorm(8), nn.PReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x)  # lower precision
        g = self.prelu(self.second(h))
        total = h.cumsum(0) + g.cumprod(1) + h.sum(0, keepdim=True)
        total = total + torch.cat([h, x])[:4] + torch.stack([x, h, g]).mean(0)
        h = h.index_put((torch.tensor([0, 2]),), torch.zeros(8, dtype=h.dtype))
        h = self.norm(h.float()).to(h.dtype)
        h.add_(1).mul_(g)  # in place, in the lower precision
        x = x.clone().addmm_(x[:, :4], torch.ones(4, 8))  # in place, in float32
        out = torch.empty(4, 4)
        torch.mm(x.detach(), x.detach().t(), out=out)
        padded = functional.pad(h[None], (1, 1), mode="reflect")
        spectrum = torch.fft.rfft(h).abs()
        scale = h.norm() + functional.normalize(g).pow(2).prod() + torch.linalg.vector_norm(x)
        loss = functional.binary_cross_entropy_with_logits(g, torch.ones_like(x))
        loss = loss + functional.cross_entropy(total, torch.arange(4)) + spectrum.mean()
        loss = loss + functional.mse_loss(h, x) + functional.smooth_l1_loss(g, h)
        power = torch.linalg.matrix_power(x[:, :4], 3).tanh().sum()
        dot = torch.tensordot(x, x, dims=2).sigmoid() + torch.tensordot(h, h, dims=0).mean()
        return loss + scale + padded.sum() + out.mean() + power + dot


@low_types
def test_a_net_of_awkward_ops_trains_with_torchs_bits(low: torch.dtype) -> None:
    x = torch.rand(4, 8)
    assert_twins(trained(Awkward, lambda net: net(x), low))


# --- regions in regions --------------------------------------------------------------------------


def product_types(region: Region, *inner: dict[str, Any]) -> list[torch.dtype]:
    """Return the types of a product in regions nested with these arguments, going in and out."""
    x = torch.ones(2, 2)
    found = [torch.mm(x, x).dtype]
    if inner:
        with region("cpu", **inner[0]):
            found += product_types(region, *inner[1:])
        found.append(torch.mm(x, x).dtype)
    return found


arguments = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(LOWER),
        "enabled": st.booleans(),
        "cache_enabled": st.booleans(),
    },
)


@settings(max_examples=50)
@given(st.lists(arguments, max_size=5))
def test_nested_regions_have_torchs_types_going_in_and_coming_out(nest: Any) -> None:
    assert product_types(autocast, *nest) == product_types(torch.autocast, *nest)


def test_a_disabled_region_within_one_computes_in_float32() -> None:
    x = torch.randn(3, 3)
    with autocast("cpu"):
        with autocast("cpu", enabled=False):
            assert torch.mm(x, x).dtype == torch.float32
            assert not is_autocast_enabled("cpu")
        assert torch.mm(x, x).dtype == torch.bfloat16
        assert is_autocast_enabled("cpu")


def test_a_region_for_another_device_type_leaves_cpu_tensors_alone() -> None:
    x = torch.randn(3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autocast("cuda"):
            assert torch.mm(x, x).dtype == torch.float32
        with autocast("cpu"), autocast("cuda", enabled=False):
            assert torch.mm(x, x).dtype == torch.bfloat16


def test_tensors_of_another_device_type_are_left_alone() -> None:
    x = torch.ones(2, 2, device="meta")
    for region in (autocast, torch.autocast):
        with region("cpu"):
            assert torch.mm(x, x).dtype == torch.float32


def test_a_region_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), autocast("cpu"):
        raise KeyError
    assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype == torch.float32
    assert not is_autocast_enabled("cpu")


def test_a_region_is_its_threads_alone() -> None:
    found: list[Any] = []

    def elsewhere() -> None:
        found.extend([is_autocast_enabled("cpu"), *product_types(autocast, {})])

    with autocast("cpu", torch.float16):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found == [False, torch.float32, torch.bfloat16, torch.float32]


def test_torchs_own_autocast_stays_off_and_its_question_says_so() -> None:
    with autocast("cpu", torch.float16):
        assert not torch.is_autocast_enabled("cpu")
        assert get_autocast_dtype("cpu") == torch.float16
    assert get_autocast_dtype("cpu") == torch.bfloat16


def test_a_decorated_function_runs_in_a_region_each_time() -> None:
    @autocast("cpu")
    def depth(n: int) -> torch.dtype:
        """Recurse, as a net with shared blocks does."""
        return depth(n - 1) if n else torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype

    assert depth.__name__ == "depth"
    assert [depth(3), depth(0)] == [torch.bfloat16] * 2
    assert not is_autocast_enabled("cpu")
    assert product_types(autocast) == [torch.float32]


@pytest.mark.parametrize("region", [autocast, torch.autocast], ids=["ours", "torchs"])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({"dtype": torch.float16}, torch.float16), ({"enabled": False}, torch.float32)],
)
def test_a_decorator_keeps_what_it_was_given(
    region: Region, arguments: dict[str, Any], expected: torch.dtype
) -> None:
    @region("cpu", **arguments)
    def product() -> torch.dtype:
        return torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype

    assert product() == product() == expected


def test_usage_errors_are_torchs() -> None:
    for arguments in ([3], [torch.device("cpu")], ["nope"], ["meta"]):
        found = []
        for region in (autocast, torch.autocast):
            with pytest.raises((RuntimeError, ValueError)) as error:
                region(*arguments)
            found.append((error.type, str(error.value)))
        assert found[0] == found[1]
    with pytest.raises(TypeError, match="with autocast"):
        autocast("cpu")(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'xpu'"):
        autocast("xpu")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int8])
def test_a_type_that_cannot_be_used_warns_as_torch_does_and_disables(dtype: torch.dtype) -> None:
    with pytest.warns(UserWarning, match="Disabling autocast") as ours:
        region = autocast("cpu", dtype)
    with pytest.warns(UserWarning, match="Disabling autocast") as theirs:
        torch.autocast("cpu", dtype)
    assert [str(w.message) for w in ours] == [str(w.message) for w in theirs]
    with region:
        assert not is_autocast_enabled("cpu")
        assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype == torch.float32


# --- what is cast --------------------------------------------------------------------------------


@low_types
def test_the_backward_pass_runs_in_the_matching_type_and_weights_get_float32(
    low: torch.dtype,
) -> None:
    weight = torch.randn(3, 3, requires_grad=True)
    with autocast("cpu", low):
        product = torch.mm(torch.randn(2, 3), weight)
    arriving: list[torch.dtype] = []
    product.grad_fn.next_functions[1][0].register_prehook(
        lambda gradients: arriving.append(gradients[0].dtype)
    )
    product.sum().backward()
    assert arriving == [low]
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32


@low_types
def test_float64_and_integers_are_left_alone(low: torch.dtype) -> None:
    wide, whole = torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.int64)
    with autocast("cpu", low):
        assert torch.mm(wide, wide).dtype == torch.float64
        assert torch.mm(whole, whole).dtype == torch.int64
        assert torch.prod(whole).dtype == torch.int64
        with pytest.raises(RuntimeError, match="dtype"):
            torch.mm(wide, wide.float())


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["bfloat16", "bfloat16"], "bfloat16"),
        (["bfloat16", "float32"], "float32"),
        (["float32", "float16"], "float32"),
        (["float16", "float32"], RuntimeError),
        (["float16", "bfloat16"], RuntimeError),
        (["bfloat16", "float64"], "float64"),
        (["int64", "bfloat16"], "bfloat16"),
    ],
)
def test_cat_promotes_to_the_widest_type_as_in_torch(types: list[str], expected: Any) -> None:
    parts = [torch.ones(2, dtype=getattr(torch, name)) for name in types]
    for region in (autocast, torch.autocast):
        with region("cpu"):
            if expected is RuntimeError:
                with pytest.raises(RuntimeError):
                    torch.cat(parts)
            else:
                assert torch.cat(parts).dtype == getattr(torch, expected)


def named_calls(low: torch.dtype) -> dict[str, Callable[[], torch.Tensor]]:
    """Return calls that give their tensors by keyword, some on a computed tensor used thrice."""
    x, rows = torch.randn(4, 4), torch.tensor([3, 2, 1, 0])
    h = x.to(low)
    return {
        "lower": lambda: torch.mm(input=x, mat2=h),
        "fp32": lambda: torch.prod(input=h),
        "promote by a keyword": lambda: torch.index_copy(h, 0, index=rows, source=x),
        "promote by keywords": lambda: torch.index_copy(input=h, dim=0, index=rows, source=x),
        "promote a list": lambda: torch.cat(tensors=[h, x]),
        "no promotion": lambda: torch.index_copy(input=h, dim=0, index=rows, source=h),
        "out=None": lambda: torch.mm(x, x, out=None),
        "fp32, out=None": lambda: torch.prod(h, 0, out=None),
    }


@low_types
@pytest.mark.parametrize("name", named_calls(torch.float16))
def test_arguments_with_a_keyword_are_cast_and_out_none_is_no_out(
    low: torch.dtype, name: str
) -> None:
    assert_twins(lambda region: _in(region, named_calls(low)[name], low))


@pytest.mark.parametrize("region", [autocast, torch.autocast], ids=["ours", "torchs"])
def test_an_op_in_place_is_on_no_list_and_returns_the_tensor_itself(region: Region) -> None:
    x = torch.randn(3, 3)
    with region("cpu"):
        y = x.clone()
        assert y.addmm_(x, x) is y
    assert torch.equal(y, torch.addmm(x, x, x))


@low_types
@pytest.mark.parametrize("named", [True, False])
def test_a_tensor_used_thrice_in_a_call_gets_torchs_gradient(low: torch.dtype, named: bool) -> None:
    def run(region: Region) -> Any:
        x = torch.randn(5, 5, requires_grad=True)
        with region("cpu", low):
            h = x * 3
            h = torch.addmm(input=h, mat1=h, mat2=h) if named else torch.addmm(h, h, h)
        h.float().square().sum().backward()
        return h, x.grad

    assert_twins(run)


@pytest.mark.parametrize("low", [torch.float16], ids=str)
@pytest.mark.parametrize("name", ["binary_cross_entropy", "layer_norm", "softmax", "relu", "mm"])
def test_tensors_that_pretend_to_be_on_cuda_get_torchs_types_or_its_refusal(
    monkeypatch: pytest.MonkeyPatch, low: torch.dtype, name: str
) -> None:
    calls: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "binary_cross_entropy": lambda x: functional.binary_cross_entropy(x, x),
        "layer_norm": lambda x: functional.layer_norm(x, (3,)),
        "softmax": lambda x: x.softmax(0),
        "relu": torch.relu,
        "mm": lambda x: torch.mm(x, x),
    }
    available = "torch.cuda.amp.common.amp_definitely_not_available"
    monkeypatch.setattr(available, lambda: False)
    found = []
    for region in (autocast, torch.autocast):
        for kind in (low, torch.float32):
            with FakeTensorMode(), region("cuda", dtype=low):
                x = torch.ones(3, 3, device="cuda", dtype=kind)
                if name == "binary_cross_entropy":
                    with pytest.raises(RuntimeError, match="unsafe to autocast"):
                        calls[name](x)
                    continue
                found.append(calls[name](x).dtype)
    assert found[: len(found) // 2] == found[len(found) // 2 :]


def test_an_overload_of_torch_ops_is_cast_like_the_function() -> None:
    x = torch.randn(3, 3)
    assert_twins(lambda region: _in(region, lambda: torch.ops.aten.mm.default(x, x)))


def test_disabling_overrides_of_subclasses_leaves_a_region_in_force() -> None:
    x = torch.randn(3, 3)
    with autocast("cpu"), torch._C.DisableTorchFunctionSubclass():
        assert functional.linear(x, x).dtype == torch.bfloat16


def test_other_modes_work_inside_and_outside_of_a_region() -> None:
    with torch.device("meta"), autocast("cpu"), torch.device("cpu"):
        x = torch.ones(2, 2)
        assert x.device.type == "cpu"
        assert (x @ x).dtype == torch.bfloat16


def test_tensor_subclasses_meet_the_cast_inputs() -> None:
    class Named(torch.Tensor):
        pass

    x = torch.randn(2, 2).as_subclass(Named)
    with autocast("cpu"):
        product = x @ x
    assert type(product) is Named
    assert product.dtype == torch.bfloat16


def _in(region: Region, call: Callable[[], Any], low: torch.dtype = torch.bfloat16) -> Any:
    with region("cpu", low):
        return call()


# --- any sequence of ops -------------------------------------------------------------------------

STEPS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "matmul": lambda a, b: a @ b,
    "linear": lambda a, b: functional.linear(a, b, b[0]),
    "add": lambda a, b: a + b,
    "mul_": lambda a, b: a.clone().mul_(b.to(a.dtype)),
    "softmax": lambda a, b: a.softmax(0) * b,
    "layer_norm": lambda a, b: functional.layer_norm(a, (3,)) + b,
    "cumsum": lambda a, b: a.cumsum(1) - b,
    "prod": lambda a, b: a.prod(0) + b,
    "cat": lambda a, b: torch.cat([a, b])[1:4],
    "stack": lambda a, b: torch.stack([a, b]).sum(0),
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a.float(), b.float()),
    "outer": lambda a, b: torch.einsum("i,j->ij", a[0], b[0].to(a.dtype)),
    "addmm": lambda a, b: torch.addmm(a, b, a),
    "mse_loss": lambda a, b: functional.mse_loss(a, b, reduction="none"),
    "norm": lambda a, b: a / (b.norm() + 1),
    "pad": lambda a, b: functional.pad(a[None], (1, 0), mode="replicate")[0, :, :3] + b,
    "cast": lambda a, b: a.float(),
    "where": lambda a, b: torch.where(a > 0, a, b),
}


@low_types
@settings(max_examples=40)
@example(plan=[("add", 0), ("add", 0), ("addmm", 0), ("add", 8), ("mul_", 0)])  # order of casts
@given(plan=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9)), max_size=7))
def test_any_sequence_of_ops_has_torchs_bits_and_gradients(
    low: torch.dtype, plan: list[tuple[str, int]]
) -> None:
    def run(region: Region) -> Any:
        weight = torch.randn(3, 3, requires_grad=True)
        values: list[torch.Tensor] = [weight, torch.randn(3, 3)]
        with region("cpu", low):
            for name, which in plan:
                values.append(STEPS[name](values[-1], values[which % len(values)]))
        if values[-1].requires_grad:
            values[-1].float().sum().backward()
        return values, weight.grad

    assert_twins(run)


@pytest.mark.parametrize("module", [ampcourse.amp.autocast, ampcourse.amp.einsum])
def test_docstring_examples_hold(module: Any) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
