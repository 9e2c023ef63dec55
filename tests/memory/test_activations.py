"""What layers save is what their backward pass needs, counted by hand, each memory once."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.memory.activations import SavedTensors

# Sizes of the net below for 2 images of 3 x 8 x 8: numbers, not bytes.
X = 2 * 3 * 8 * 8
CONV = 2 * 4 * 8 * 8
POOL = 2 * 4 * 4 * 4
STATISTICS = 4  # one mean and one 1/deviation per channel


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 5),
    )


def record(model: nn.Module, x: torch.Tensor, autocast: bool = False) -> SavedTensors:
    with SavedTensors(model) as saved, torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        saved.output = model(x)  # type: ignore[attr-defined]  # keep the graph alive
    return saved


def test_fp32_layers_save_what_was_counted_by_hand() -> None:
    saved = record(net(), torch.randn(2, 3, 8, 8))
    assert saved.by_module() == {
        "0": 4 * X,  # the convolution: its input
        "1": 4 * CONV + 2 * 4 * STATISTICS,  # its input, the batch's mean and 1/deviation
        "2": 4 * CONV,  # relu: its output, which the pooling shares
        "3": 8 * POOL,  # where each maximum was, as int64
        "5": 4 * POOL,  # the linear layer: its input
    }
    assert saved.live == saved.bytes == saved.peak == sum(saved.by_module().values())


def test_under_autocast_the_same_net_saves_halves_casts_and_the_same_integers() -> None:
    saved = record(net(), torch.randn(2, 3, 8, 8), autocast=True)
    assert saved.by_module("activation") == {
        "0": 2 * X,  # the input converted; nobody saves the FP32 one
        "1": 2 * CONV + 2 * 4 * STATISTICS,  # statistics stay in FP32
        "2": 2 * CONV,
        "3": 8 * POOL,  # integers do not halve
        "5": 2 * POOL,
    }
    assert saved.by_module("weight cast") == {"0": 2 * 4 * 27, "5": 2 * 64 * 5}


@pytest.mark.parametrize(
    ("layer", "x", "expected"),
    [
        (nn.Linear(3, 5), (7, 3), 4 * 7 * 3),
        (nn.Conv2d(3, 4, 3), (2, 3, 8, 8), 4 * X),
        (nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2)), (7, 3), 4 * 7 * 3 + 4 * 7 * 5),
        (nn.Sequential(nn.Linear(3, 5), nn.ReLU(inplace=True)), (7, 3), 4 * 7 * (3 + 5)),
        (nn.Sequential(nn.Linear(3, 5), nn.Dropout()), (7, 3), 4 * 7 * (3 + 5)),  # a mask
        (nn.Sequential(nn.Linear(3, 5), nn.Flatten()), (7, 3), 4 * 7 * 3),
        (nn.Sequential(nn.Linear(3, 5), nn.Sigmoid()), (7, 3), 4 * 7 * (3 + 5)),
        (nn.Sequential(nn.Linear(3, 5), nn.GELU()), (7, 3), 4 * 7 * (3 + 5)),
    ],
    ids=repr,
)
def test_single_layers_save_what_their_derivative_needs(
    layer: nn.Module, x: tuple[int, ...], expected: int
) -> None:
    assert record(layer, torch.randn(x)).bytes == expected


def saved_by_the_graph(output: torch.Tensor, skip: set[int]) -> int:
    """Return the bytes that the nodes of autograd's graph hold, found by walking it, no hooks."""
    found: dict[int, int] = {}
    waiting, seen = [output.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in dir(node):
            value = getattr(node, name) if name.startswith("_saved_") else None
            if isinstance(value, torch.Tensor):
                storage = value.untyped_storage()
                found[storage.data_ptr()] = storage.nbytes()
        waiting += [before for before, _ in node.next_functions]
    return sum(size for pointer, size in found.items() if pointer not in skip)


class Residual(nn.Module):
    """A block with a sum, written in forward and in place, as a ResNet's is."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.convolution(x))
        y += x
        return F.relu_(y)


def residual() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(Residual(), Residual(), nn.AvgPool2d(2))


@pytest.mark.parametrize("make", [net, residual], ids=lambda make: make.__name__)
def test_the_hooks_see_as_much_as_the_graph_holds(make: type[nn.Module]) -> None:
    model, x = make(), torch.randn(2, 3, 8, 8)
    tensors = [*model.parameters(), *model.buffers()]
    own = {t.untyped_storage().data_ptr() for t in tensors}
    with SavedTensors(model) as saved:
        hooked = model(x)
    assert hooked.grad_fn is not None
    assert saved.live == saved_by_the_graph(model(x), own)


def test_backward_releases_everything() -> None:
    model = net()
    with SavedTensors(model) as saved:
        loss = model(torch.randn(2, 3, 8, 8)).sum()
        held = saved.live
        loss.backward()
    assert held == saved.peak > 0
    assert saved.live == 0


def test_a_weight_used_twice_is_cast_and_counted_once() -> None:
    layer = nn.Linear(4, 4, bias=False)
    saved = record(nn.Sequential(layer, layer), torch.randn(3, 4), autocast=True)
    assert sum(saved.by_module("weight cast").values()) == 2 * 16


def test_parameters_and_statistics_are_not_counted() -> None:
    model = nn.Sequential(nn.Linear(100, 100), nn.BatchNorm1d(100)).eval()
    saved = record(model, torch.randn(1, 100))
    assert saved.bytes == 4 * 100 + 4 * 100  # the input of each, in eval no batch statistics


def test_what_runs_outside_the_modules_belongs_to_no_module() -> None:
    model = nn.Linear(3, 5)
    with SavedTensors(model) as saved:
        loss = F.cross_entropy(model(torch.randn(7, 3)), torch.zeros(7, dtype=torch.long))
    assert loss.grad_fn is not None
    # The module itself has the empty name, too: its input, log-probabilities, labels, total weight.
    assert saved.by_module() == {"": 4 * 7 * 3 + 4 * 7 * 5 + 8 * 7 + 4}


def test_hooks_are_gone_afterwards_and_results_are_the_same() -> None:
    model, x = net().eval(), torch.randn(2, 3, 8, 8)
    before = model(x)
    with SavedTensors(model):
        assert torch.equal(model(x), before)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_an_error_in_the_model_leaves_no_hooks() -> None:
    model = net()
    with pytest.raises(RuntimeError), SavedTensors(model):
        model(torch.randn(2, 5, 8, 8))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_after_an_error_what_follows_belongs_to_its_own_module() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Linear(6, 2))
    with SavedTensors(model) as saved:
        with pytest.raises(RuntimeError):
            model(torch.randn(7, 3))
        kept = torch.randn(7, 4, requires_grad=True).square()
    assert kept.grad_fn is not None
    assert saved.rows[-1].module == ""


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="choose from activation, weight cast"):
        record(net(), torch.randn(2, 3, 8, 8)).by_module("casts")
