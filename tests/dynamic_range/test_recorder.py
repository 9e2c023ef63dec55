"""The recorder sees what torch's own hooks and gradients show, and leaves no trace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from ampcourse.dynamic_range import GradientRecorder, exponent_histogram, range_report


def small_net() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
    )


def images(count: int = 5, seed: int = 2) -> Any:
    return torch.randn(count, 1, 8, 8, generator=torch.Generator().manual_seed(seed))


def step(model: Any, x: Any, scale: float = 1.0) -> None:
    model.zero_grad()
    (model(x).square().mean() * scale).backward()


def traces(model: Any) -> list[Any]:
    """Return everything that is hooked onto a model."""
    return [
        hook
        for part in [*model.modules(), *model.parameters()]
        for name in dir(part)
        if name.startswith("_")
        and name.endswith("_hooks")
        and isinstance(getattr(part, name), dict)
        for hook in getattr(part, name).values()
    ]


def same_counts(ours: Any, x: Any) -> bool:
    theirs = exponent_histogram(x, ours.label)
    return bool(ours == theirs)


def test_histograms_are_those_of_the_activations_and_gradients_themselves() -> None:
    model, x = small_net(), images()
    with GradientRecorder(model, samples=None) as recorder:
        step(model, x)
    value = x
    for name, layer in model.named_children():
        value = layer(value)
        value.retain_grad()
        assert same_counts(recorder.histogram("activation", name), value)
        model[int(name)].kept = value
    value.square().mean().backward()
    for name, layer in model.named_children():
        assert same_counts(recorder.histogram("activation_gradient", name), layer.kept.grad)
    model.zero_grad()
    step(model, x)
    for name, parameter in model.named_parameters():
        assert same_counts(recorder.histogram("weight_gradient", name), parameter.grad)
    assert recorder.names("activation") == ("0", "1", "2", "3", "4")
    assert recorder.names("weight_gradient") == ("0.weight", "0.bias", "4.weight", "4.bias")


def test_training_is_the_same_with_and_without_the_recorder() -> None:
    def weights(record: bool) -> Any:
        model = small_net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        recorder = GradientRecorder(model)
        if record:
            recorder.__enter__()
        for seed in range(3):
            step(model, images(seed=seed))
            optimizer.step()
        return [p.detach().clone() for p in model.parameters()], torch.rand(3)

    plain, recorded = weights(False), weights(True)
    assert all(torch.equal(a, b) for a, b in zip(plain[0], recorded[0], strict=True))
    assert torch.equal(plain[1], recorded[1])  # no random number was drawn


def test_hooks_come_off_at_the_end_and_after_an_exception() -> None:
    model = small_net()
    with GradientRecorder(model):
        assert traces(model)
        step(model, images())
    assert traces(model) == []

    def failing() -> None:
        with GradientRecorder(model) as recorder:
            step(model, images())
            recorder.histogram("activation", "no such layer")

    with pytest.raises(KeyError, match="of 'no such layer' was recorded; names: 0, 1, 2"):
        failing()
    assert traces(model) == []


def test_hooks_come_off_when_one_cannot_be_put_on(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_net()

    def refuse(hook: Callable[..., Any]) -> None:
        raise RuntimeError("no hooks here")

    monkeypatch.setattr(model[4], "register_forward_hook", refuse)
    with pytest.raises(RuntimeError, match="no hooks here"), GradientRecorder(model):
        pass
    assert traces(model) == []


def test_a_graph_that_outlives_the_recorder_records_nothing() -> None:
    model = small_net()
    with GradientRecorder(model) as recorder:
        loss = model(images()).mean()
    loss.backward()
    assert recorder.names("activation_gradient") == ()
    assert recorder.names("activation") != ()


def test_a_recorder_can_be_used_again_but_not_inside_itself() -> None:
    model = small_net()
    recorder = GradientRecorder(model)
    for _ in range(2):
        with recorder:
            step(model, images())
            with pytest.raises(RuntimeError, match="is recording already"):
                recorder.__enter__()
    assert recorder.steps == (0, 1)
    assert traces(model) == []


def test_steps_are_kept_apart_and_add_up() -> None:
    model = small_net()
    with GradientRecorder(model, samples=None) as recorder:
        for seed in range(3):
            step(model, images(seed=seed))
    parts = [recorder.histogram("weight_gradient", "4.weight", n) for n in range(3)]
    assert parts[0] != parts[1]
    assert parts[0] + parts[1] + parts[2] == recorder.histogram("weight_gradient", "4.weight")
    with pytest.raises(KeyError, match="in step 7"):
        recorder.histogram("weight_gradient", "4.weight", 7)


def test_only_each_nth_step_is_recorded() -> None:
    model = small_net()
    with GradientRecorder(model, every=3) as recorder:
        for _ in range(7):
            step(model, images())
    assert recorder.steps == (0, 3, 6)


def test_evaluation_is_no_step() -> None:
    model = small_net()
    with GradientRecorder(model) as recorder:
        with torch.no_grad():
            model(images())
        assert recorder.steps == ()
        step(model, images())
        with torch.no_grad():
            model(images(50))
    assert recorder.steps == (0,)
    assert recorder.histogram("activation", "4").population == 5 * 3


def test_gradients_that_accumulate_are_recorded_once_with_their_sum() -> None:
    model = small_net()
    with GradientRecorder(model, samples=None, accumulate=2) as recorder:
        for seed in range(4):
            if seed % 2 == 0:
                model.zero_grad()
            model(images(seed=seed)).square().mean().backward()
    assert recorder.steps == (0, 1)
    last = recorder.histogram("weight_gradient", "0.weight", 1)
    assert same_counts(last, model[0].weight.grad)
    assert recorder.histogram("activation", "4", 1).total == 2 * 5 * 3


def test_a_loss_scale_is_undone() -> None:
    model, x = small_net(), images()
    scales = iter([2.0**10, 2.0**12])
    plain = GradientRecorder(model, samples=None)
    with plain:
        step(model, x)
    with GradientRecorder(model, samples=None, scale=lambda: next(scales)) as recorder:
        step(model, x, 2.0**10)
        step(model, x, 2.0**12)
    for kind, name in (("weight_gradient", "0.weight"), ("activation_gradient", "2")):
        expected = plain.histogram(kind, name)
        for n in (0, 1):
            assert recorder.histogram(kind, name, n) == expected
    assert recorder.histogram("activation", "0", 0) == plain.histogram("activation", "0")


def test_frozen_and_unused_parameters_are_named_as_without_gradient() -> None:
    model = small_net()
    model[0].weight.requires_grad_(False)
    model.add_module("spare", nn.Linear(2, 2))
    forward = nn.Sequential(*list(model)[:5])
    with GradientRecorder(forward, samples=None) as recorder:
        step(forward, images())
    table = recorder.table("weight_gradient")
    assert table.without_gradient == ("0.weight",)
    assert [row.report.label for row in table] == ["0.bias", "4.weight", "4.bias"]

    class Picky(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.spare = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.used(x)

    picky = Picky()
    with GradientRecorder(picky) as recorder:
        step(picky, torch.ones(1, 2))
    assert recorder.table("weight_gradient").without_gradient == ("spare.weight", "spare.bias")
    assert recorder.names("activation") == ("used",)


def test_a_module_used_twice_counts_both_uses_under_its_first_name() -> None:
    shared = nn.Linear(3, 3)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    with GradientRecorder(model, samples=None) as recorder:
        step(model, torch.ones(2, 3))
    assert recorder.names("activation") == ("0", "1")
    assert recorder.histogram("activation", "0").total == 2 * 2 * 3
    assert recorder.histogram("activation_gradient", "0").total == 2 * 2 * 3
    assert same_counts(recorder.histogram("weight_gradient", "0.weight"), shared.weight.grad)


def test_outputs_may_be_tuples_dicts_and_not_all_floats() -> None:
    class Several(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"a": (x * 2, [x * 4]), "index": x.argmax(), "name": "text", "none": None}

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.several = nn.LSTM(2, 3, batch_first=True), Several()

        def forward(self, x: Any) -> Any:
            y, _ = self.rnn(x)
            return self.several(y)["a"][0]

    model = Model()
    with GradientRecorder(model, samples=None) as recorder:
        step(model, torch.ones(2, 4, 2))
    assert recorder.histogram("activation", "rnn").total == 2 * 4 * 3 + 2 * (2 * 3)
    assert recorder.histogram("activation", "several").total == 2 * (2 * 4 * 3)
    # Of its outputs only one was used, so only that one has a gradient.
    assert recorder.histogram("activation_gradient", "several").total == 2 * 4 * 3
    assert "rnn.weight_ih_l0" in recorder.names("weight_gradient")


def test_layers_that_work_in_place_are_recorded_as_they_were() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 2))
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(3))
    with GradientRecorder(model, samples=None) as recorder:
        step(model, x)
    assert recorder.histogram("activation", "0").zeros == 0
    assert recorder.histogram("activation", "1").zeros > 0
    assert same_counts(recorder.histogram("activation", "0"), model[0](x))


def test_channels_last_is_counted_like_any_other_layout() -> None:
    model, x = small_net(), images()
    with GradientRecorder(model, samples=None) as plain:
        step(model, x)
    model = model.to(memory_format=torch.channels_last)
    with GradientRecorder(model, samples=None) as last:
        step(model, x.to(memory_format=torch.channels_last))
    for name in plain.names("activation"):
        assert last.histogram("activation", name).total == plain.histogram("activation", name).total
    assert last.histogram("activation", "1") == plain.histogram("activation", "1")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_under_autocast_what_is_counted_is_what_the_layer_put_out(dtype: Any) -> None:
    model, x = small_net(), images(1)
    with GradientRecorder(model, samples=None) as recorder, torch.autocast("cpu", dtype):
        step(model, x)
    with torch.autocast("cpu", dtype):
        output = model[0](x)
    assert output.dtype == dtype
    assert same_counts(recorder.histogram("activation", "0"), output)
    assert range_report(output, str(dtype).removeprefix("torch.")).flushed == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_models_in_16_bits_are_recorded(dtype: Any) -> None:
    model = nn.Linear(4, 4).to(dtype)
    with GradientRecorder(model, samples=None) as recorder:
        step(model, torch.ones(2, 4, dtype=dtype))
    assert recorder.names("activation") == ("model",)
    assert same_counts(recorder.histogram("weight_gradient", "weight"), model.weight.grad)


def test_sparse_gradients_are_recorded_by_their_values() -> None:
    model = nn.Embedding(10, 3, sparse=True)
    with GradientRecorder(model, samples=None) as recorder:
        step(model, torch.tensor([1, 1, 4]))
    assert recorder.histogram("weight_gradient", "weight").population == 2 * 3


def test_recording_can_be_limited_to_layers_and_kinds() -> None:
    model = small_net()
    with GradientRecorder(model, layers=(nn.Conv2d, "4"), kinds=("weight_gradient",)) as recorder:
        step(model, images())
    assert recorder.names("weight_gradient") == ("0.weight", "0.bias", "4.weight", "4.bias")
    assert recorder.names("activation") == ()
    with GradientRecorder(model, layers=("4",)) as recorder:
        step(model, images())
    assert recorder.names("activation") == ("4",)
    assert recorder.table("weight_gradient").without_gradient == ()


def test_samples_are_bounded_and_spread_over_the_tensor() -> None:
    model = nn.Sequential(nn.Identity(), nn.Linear(1, 1))
    x = (2.0 ** (torch.arange(64 * 50) % 64 - 32)).view(-1, 1)  # every column of 64 alike
    with GradientRecorder(model, samples=320) as recorder:
        for _ in range(3):
            step(model, x)
    one = recorder.histogram("activation", "0", 0)
    assert (one.total, one.population) == (320, 3200)
    assert len(one.counts) == 64
    assert one != recorder.histogram("activation", "0", 1)
    assert recorder.histogram("activation", "0").population == 3 * 3200


@pytest.mark.parametrize("samples", [1, 2, 15, 16, 17, 63, 64, 65, 1000])
def test_a_sample_is_never_larger_than_was_asked_for(samples: int) -> None:
    model = nn.Identity()
    for length in (1, 2, 63, 64, 65, 999, 1000, 1024):
        with GradientRecorder(model, samples=samples, kinds=("activation",)) as recorder:
            for _ in range(3):
                model(torch.ones(length))
        counted = {recorder.histogram("activation", "model", n).total for n in range(3)}
        assert max(counted) <= samples
        assert min(counted) >= min(length, samples) / 2


def test_the_largest_value_is_known_even_if_the_sample_misses_it() -> None:
    model = nn.Identity()
    for largest in (3e4, -3e4):
        x = torch.ones(10_000)
        x[4321] = largest
        with GradientRecorder(
            model, samples=16, all_largest=True, kinds=("activation",)
        ) as recorder:
            model(x)
        found = recorder.histogram("activation", "model")
        assert (found.total, found.largest) == (16, 3e4)
    x[1] = float("nan")
    with GradientRecorder(model, samples=16, all_largest=True, kinds=("activation",)) as recorder:
        model(x)
    assert recorder.histogram("activation", "model").largest == 1.0


def test_the_largest_gradient_is_unscaled_like_the_others() -> None:
    model = nn.Linear(100, 100)
    with GradientRecorder(model, samples=16, all_largest=True, scale=2.0**10) as recorder:
        step(model, torch.randn(4, 100), 2.0**10)
    found = recorder.histogram("weight_gradient", "weight").largest
    assert found == model.weight.grad.abs().max().item() / 2**10


def test_plain_data_has_one_entry_per_layer() -> None:
    model = small_net()
    with GradientRecorder(model) as recorder:
        step(model, images())
    plain = recorder.as_plain("activation_gradient")
    assert [entry["label"] for entry in plain] == ["0", "1", "2", "3", "4"]
    assert {"exponents", "counts", "zeros", "infs", "nans", "powers_of_two"} <= set(plain[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"every": 0}, "every = 0 is below 1"),
        ({"samples": 0}, "samples = 0 is below 1"),
        ({"accumulate": -1}, "accumulate = -1 is below 1"),
        ({"layers": ("conv9",)}, r"names none of the model's layers: 0, 1, 2, 3, 4"),
        ({"kinds": ("gradient",)}, "unknown kind 'gradient'; the kinds are activation"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GradientRecorder(small_net(), **arguments)


def test_importing_the_package_does_not_load_torch() -> None:
    code = "import ampcourse.dynamic_range, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
