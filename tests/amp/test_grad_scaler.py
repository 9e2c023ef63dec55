"""Our GradScaler takes the steps of torch.amp.GradScaler, keeps its state, refuses alike."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import random
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from ampcourse.amp import grad_scaler
from ampcourse.amp.grad_scaler import GradScaler

INF, NAN = float("inf"), float("nan")

both = pytest.mark.parametrize("scaler_class", [GradScaler, torch.amp.GradScaler])
METHODS = [name for name in dir(torch.amp.GradScaler) if not name.startswith("_")]


class Momentum:
    """SGD with momentum for one parameter; torch's takes most of its time for other matters."""

    def __init__(self, param: torch.Tensor) -> None:
        self.param, self.buffer = param, torch.zeros_like(param)
        self.param_groups = [{"params": [param]}]

    @torch.no_grad()
    def step(self) -> None:
        """Take a step."""
        self.buffer.mul_(0.9).add_(self.param.grad)
        self.param.sub_(self.buffer, alpha=0.01)


class Training:
    """Two parameters with an optimizer each, trained with one scaler.

    The loss is linear, so its gradients are the scaled inputs, inf and NaN included; autograd,
    which would say the same, is left out to save time.
    """

    def __init__(self, scaler_class: Callable[..., Any], **options: Any) -> None:
        self.scaler_class = scaler_class
        self.scaler = scaler_class("cpu", **options)
        self.params = [torch.tensor(x, requires_grad=True) for x in ([1.0, -2.0, 3.0], [0.5, 7.0])]
        self.optimizers = [Momentum(param) for param in self.params]

    def step(self, plan: Plan) -> None:
        """Take one step as planned; then perhaps save and load, or turn a knob."""
        self.params[0].grad = self.params[1].grad = None
        for inputs in plan.inputs:
            for param, gradient in zip(self.params, self.scaler.scale(inputs), strict=True):
                param.grad = gradient.clone() if param.grad is None else param.grad + gradient
        for index, optimizer in enumerate(self.optimizers):
            if plan.clips[index]:
                self.scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(self.params[index], 0.1)
            if plan.steps[index]:
                self.scaler.step(optimizer)
        self.scaler.update(plan.new_scale)
        if plan.afterwards == "state_dict":
            state = self.scaler.state_dict()
            self.scaler = self.scaler_class("cpu", enabled=self.scaler.is_enabled())
            self.scaler.load_state_dict(state)
        elif plan.afterwards == "pickle":
            self.scaler = pickle.loads(pickle.dumps(self.scaler))
        elif plan.afterwards == "set" and self.scaler.is_enabled():
            self.scaler.set_growth_interval(self.scaler.get_growth_interval() % 5 + 1)
            self.scaler.set_growth_factor(2.5 if self.scaler.get_growth_factor() == 2.0 else 2.0)
            self.scaler.set_backoff_factor(0.3 if self.scaler.get_backoff_factor() == 0.5 else 0.5)

    def picture(self) -> tuple[object, bytes]:
        """Return the scaler's state and the parameters, bit for bit."""
        state = struct.pack("5d", *self.scaler.state_dict().values() or [0] * 5)
        return state, torch.cat(self.params).detach().numpy().tobytes()


class Plan:
    """What happens in one step, drawn by chance."""

    def __init__(self, rng: random.Random) -> None:
        batches = 3 if rng.random() < 0.1 else 1  # gradients are accumulated over them
        self.inputs = [
            [torch.tensor([rng.gauss(0, 1) for _ in range(size)]) for size in (3, 2)]
            for _ in range(batches)
        ]
        if rng.random() < 0.2:
            vector = rng.choice(rng.choice(self.inputs))
            vector[rng.randrange(len(vector))] = rng.choice([INF, -INF, NAN, 3e38, 1e20])
        self.clips = [rng.random() < 0.1, rng.random() < 0.1]
        self.steps = rng.choice([(True, True)] * 8 + [(True, False), (False, True)])
        self.new_scale = rng.choice([2.0, 1000.1, 2.0**20]) if rng.random() < 0.002 else None
        self.afterwards = (
            rng.choice(["state_dict", "pickle", "set"]) if rng.random() < 0.01 else None
        )


def compare(steps: int, seed: int, **options: Any) -> Training:
    """Train with both scalers, comparing after each step, and return ours."""
    rng = random.Random(seed)
    ours, theirs = Training(GradScaler, **options), Training(torch.amp.GradScaler, **options)
    for step in range(steps):
        plan = Plan(rng)
        ours.step(plan)
        theirs.step(plan)
        assert ours.picture() == theirs.picture(), f"step {step}, options {options}"
    return ours


def test_10_000_random_steps_are_torchs_bit_for_bit() -> None:
    ours = compare(10_000, seed=0, growth_interval=4)
    assert all(param.isfinite().all() for param in ours.params)


OPTIONS = [
    {},
    {"init_scale": 1.0},
    {"init_scale": 0.1, "growth_interval": 3},
    {"init_scale": 2.0**120, "growth_interval": 1},
    {"init_scale": 3e38, "growth_interval": 2, "backoff_factor": 0.9},
    {"growth_interval": 1, "growth_factor": 1.1},
    {"growth_interval": 7, "growth_factor": 3.7, "backoff_factor": 1 / 3},
    {"growth_interval": 0},
    {"backoff_factor": 0.999, "growth_interval": 10, "growth_factor": 1.0001},
    {"init_scale": 2.0**-120, "growth_interval": 5},
    {"backoff_factor": 0.01},
    {"enabled": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_any_options_lead_through_the_same_steps(options: dict[str, Any]) -> None:
    compare(150, seed=1, **options)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_any_options_lead_through_the_same_10_000_steps(options: dict[str, Any]) -> None:
    compare(10_000, seed=2, **options)


def test_the_constructor_and_the_methods_are_torchs() -> None:
    ours, theirs = inspect.signature(GradScaler), inspect.signature(torch.amp.GradScaler)
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]
    for name in METHODS:
        mine = inspect.signature(getattr(GradScaler, name)).parameters
        assert list(mine) == list(inspect.signature(getattr(torch.amp.GradScaler, name)).parameters)


# Misuse: each line of a script may raise, and both scalers must raise the same at the same line.


class Script:
    """A scaler, an optimizer with one parameter that has a gradient, and short words for both."""

    def __init__(self, scaler_class: Callable[..., Any], **options: Any) -> None:
        self.scaler = scaler_class("cpu", **options)
        self.param = torch.ones(2, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.param], lr=1.0)
        self.other = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)

    def backward(self) -> None:
        """Make a scaled gradient."""
        self.scaler.scale(self.param.sum()).backward()

    def halve(self) -> None:
        """Turn the gradient into FP16, as in a model that was called with .half()."""
        param = torch.ones(2, dtype=torch.float16, requires_grad=True)
        param.grad = torch.ones(2, dtype=torch.float16)
        self.optimizer = torch.optim.SGD([param], lr=1.0)


MISUSE = {
    "unscale twice": "backward, unscale, unscale",
    "step twice": "backward, step, step",
    "unscale after step": "backward, step, unscale",
    "update without step": "backward, update",
    "update twice": "backward, step, update, update",
    "update without scale": "update",
    "step without scale": "step",
    "unscale without scale": "unscale",
    "fp16 gradients": "backward, halve, unscale, step",
    "no gradients": "backward, step_other, unscale_other",
    "closure": "backward, step_closure, step",
    "pickled in mid-step": "backward, unscale, pickle, step, pickle, update, pickle",
    "load nothing": "load_empty",
    "load half": "load_half",
    "scale a number": "scale_number",
    "scale numbers": "scale_numbers",
    "new scale with gradient": "backward, update_leaf",
    "new scale of two": "backward, update_two",
    "new scale elsewhere": "backward, update_meta",
    "step without scale after loading": "backward, step, update, reload, step",
}

ODD_BUT_LEGAL = {
    "update after unscale only": "backward, unscale, update, step, update",
    "new scale after unscale": "backward, unscale, update_float, backward, unscale, step, update",
    "new scale at once": "backward, update_float, update_tensor, step, update",
    "new scale keeps the count": "backward, step, update, step, update_float, step, update",
    "step other only": "backward, unscale, step_other, step, update",
}

LINES: dict[str, Callable[[Script], Any]] = {
    "backward": lambda s: s.backward(),
    "halve": lambda s: s.halve(),
    "unscale": lambda s: s.scaler.unscale_(s.optimizer),
    "step": lambda s: s.scaler.step(s.optimizer),
    "unscale_other": lambda s: s.scaler.unscale_(s.other),
    "step_other": lambda s: s.scaler.step(s.other),
    "step_closure": lambda s: s.scaler.step(s.optimizer, closure=lambda: 0.0),
    "update": lambda s: s.scaler.update(),
    "update_float": lambda s: s.scaler.update(3.0),
    "update_tensor": lambda s: s.scaler.update(torch.tensor(0.1, dtype=torch.float64)),
    "update_leaf": lambda s: s.scaler.update(torch.ones(1, requires_grad=True)),
    "update_two": lambda s: s.scaler.update(torch.ones(2)),
    "update_meta": lambda s: s.scaler.update(torch.ones((), device="meta")),
    "pickle": lambda s: pickle.dumps(s.scaler) and None,
    "reload": lambda s: setattr(s, "scaler", pickle.loads(pickle.dumps(s.scaler))),
    "load_empty": lambda s: s.scaler.load_state_dict({}),
    "load_half": lambda s: s.scaler.load_state_dict({"scale": 4.0}),
    "scale_number": lambda s: s.scaler.scale(2),
    "scale_numbers": lambda s: s.scaler.scale([s.param, 2]),
}


def outcomes(scaler_class: Callable[..., Any], script: str, **options: Any) -> Iterator[str]:
    """Yield, line by line, the error's type and first words, or "fine"."""
    state = Script(scaler_class, **options)
    for line in script.split(", "):
        try:
            LINES[line](state)
        except Exception as error:
            yield f"{line}: {type(error).__name__}: {str(error)[:34]}"
        else:
            yield f"{line}: fine, {state.scaler.get_scale()}, {state.scaler.state_dict()}"


@pytest.mark.parametrize("script", MISUSE.values(), ids=MISUSE.keys())
def test_misuse_is_refused_as_by_torch(script: str) -> None:
    ours = list(outcomes(GradScaler, script))
    assert ours == list(outcomes(torch.amp.GradScaler, script))
    assert any("Error" in line for line in ours)


@pytest.mark.parametrize("script", ODD_BUT_LEGAL.values(), ids=ODD_BUT_LEGAL.keys())
def test_odd_orders_have_the_outcome_they_have_in_torch(script: str) -> None:
    ours = list(outcomes(GradScaler, script))
    assert ours == list(outcomes(torch.amp.GradScaler, script))


@pytest.mark.parametrize("script", MISUSE.values(), ids=MISUSE.keys())
def test_a_disabled_scaler_objects_to_nothing_that_torch_lets_pass(script: str) -> None:
    ours = list(outcomes(GradScaler, script, enabled=False))
    assert ours == list(outcomes(torch.amp.GradScaler, script, enabled=False))


@pytest.mark.parametrize(
    "options", [{"growth_factor": 1.0}, {"backoff_factor": 1.0}, {"growth_factor": 0.5}], ids=str
)
def test_factors_on_the_wrong_side_of_1_are_refused_as_by_torch(options: dict[str, Any]) -> None:
    with pytest.raises(AssertionError) as theirs:
        torch.amp.GradScaler("cpu", **options)
    with pytest.raises(AssertionError) as ours:
        GradScaler("cpu", **options)
    assert str(ours.value).startswith(str(theirs.value).removesuffix("."))
    GradScaler("cpu", enabled=False, **options)


@pytest.mark.parametrize("scale", [0.0, -1.0, INF, NAN, 1e39, 1e-60])
def test_a_scale_that_no_float32_holds_is_refused_by_name(scale: float) -> None:
    with pytest.raises(ValueError, match=re.escape(f"init_scale = {scale} ")):
        GradScaler("cpu", init_scale=scale)
    scaler = GradScaler("cpu")
    scaler.scale(torch.ones(()))
    with pytest.raises(ValueError, match=re.escape(f"new_scale = {scale} ")):
        scaler.update(scale)
    assert scaler.get_scale() == 65536.0


def test_a_backoff_that_leads_to_0_or_below_is_refused() -> None:
    for factor in (0.0, -0.5):
        with pytest.raises(ValueError, match=f"backoff_factor = {factor} "):
            GradScaler("cpu", backoff_factor=factor)


def test_a_closure_is_refused_in_either_place() -> None:
    script = Script(GradScaler)
    script.backward()
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        script.scaler.step(script.optimizer, lambda: 0.0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA here")
@both
def test_cuda_without_cuda_warns_and_disables(scaler_class: Callable[..., Any]) -> None:
    with pytest.warns(UserWarning, match="CUDA is not available.  Disabling") as caught:
        scaler = scaler_class("cuda")
    assert not scaler.is_enabled()
    assert caught[0].filename == __file__


# What goes through scale().


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_scaling_has_torchs_type_and_bits(
    scaler_class: Callable[..., Any], dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(4)).to(dtype)
    for init_scale in (2.0**16, 1000.1, 0.1):
        ours, theirs = GradScaler("cpu", init_scale), torch.amp.GradScaler("cpu", init_scale)
        assert torch.equal(ours.scale(x), theirs.scale(x))
        assert ours.scale(x).dtype == theirs.scale(x).dtype


@both
def test_lists_and_tuples_keep_their_shape(scaler_class: Callable[..., Any]) -> None:
    scaler = scaler_class("cpu", init_scale=4.0)
    one, two = torch.tensor(1.0), torch.tensor(2.0)
    assert scaler.scale([one, (two, [one])]) == [4.0, (8.0, [4.0])]
    lazy = scaler.scale(x for x in (one, two))
    assert not isinstance(lazy, (list, tuple))
    assert list(lazy) == [4.0, 8.0]


@both
def test_the_first_scale_call_rounds_the_scale_to_float32(scaler_class: Callable[..., Any]) -> None:
    scaler = scaler_class("cpu", init_scale=0.1)
    assert scaler.get_scale() == 0.1
    scaler.scale([torch.ones(())])
    assert scaler.get_scale() == float.fromhex("0x1.99999ap-4")


@both
def test_a_disabled_scaler_passes_everything_through(scaler_class: Callable[..., Any]) -> None:
    scaler = scaler_class("cpu", enabled=False)
    x = torch.ones(2)
    assert scaler.scale(x) is x
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    assert scaler.step(optimizer, closure=lambda: 7.0) == 7.0


# Steps.


@both
def test_a_step_returns_what_the_optimizer_returns_and_none_if_skipped(
    scaler_class: Callable[..., Any],
) -> None:
    class Counting(torch.optim.SGD):
        def step(self, *args: Any, **kwargs: Any) -> Any:
            return args, kwargs

    scaler = scaler_class("cpu")
    param = torch.ones(1, requires_grad=True)
    optimizer = Counting([param], lr=1.0)
    scaler.scale(param.sum()).backward()
    assert scaler.step(optimizer, 3, word=4) == ((3,), {"word": 4})
    scaler.update()
    param.grad.fill_(INF)
    assert scaler.step(optimizer, 3, word=4) is None


@both
def test_one_bad_gradient_skips_the_whole_optimizer_but_not_the_other(
    scaler_class: Callable[..., Any],
) -> None:
    scaler = scaler_class("cpu", init_scale=8.0)
    params = [torch.ones(1, requires_grad=True) for _ in range(3)]
    first = torch.optim.SGD(params[:2], lr=1.0)
    second = torch.optim.SGD(params[2:], lr=1.0)
    scaler.scale(sum(param.sum() for param in params)).backward()
    params[0].grad.fill_(NAN)
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert [param.item() for param in params] == [1.0, 1.0, 0.0]
    assert scaler.get_scale() == 4.0


def test_a_bad_gradient_on_one_device_skips_the_step_on_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two names for one device stand for two devices here.
    params = [torch.ones(1, requires_grad=True) for _ in range(2)]
    optimizer = torch.optim.SGD(params, lr=1.0)

    def two_devices(_: Any) -> dict[torch.device, list[torch.Tensor]]:
        return {torch.device("cpu"): [params[0].grad], torch.device("cpu", 0): [params[1].grad]}

    monkeypatch.setattr(grad_scaler, "gradients_by_device", two_devices)
    for bad in (0, 1):
        scaler = GradScaler("cpu", init_scale=8.0)
        optimizer.zero_grad()
        scaler.scale(params[0].sum() + params[1].sum()).backward()
        params[bad].grad.fill_(INF)
        scaler.step(optimizer)
        scaler.update()
        assert [param.item() for param in params] == [1.0, 1.0]
        assert scaler.get_scale() == 4.0


@both
def test_a_bad_loss_with_good_gradients_is_no_reason_to_back_off(
    scaler_class: Callable[..., Any],
) -> None:
    scaler = scaler_class("cpu", init_scale=8.0)
    param = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([param], lr=0.5)
    scaler.scale(param.sum() + INF).backward()
    scaler.step(optimizer)
    scaler.update()
    assert (param.item(), scaler.get_scale()) == (0.5, 8.0)


@both
@pytest.mark.parametrize("bad", [False, True])
def test_sparse_gradients_are_unscaled_and_checked(
    scaler_class: Callable[..., Any], bad: bool
) -> None:
    scaler = scaler_class("cpu", init_scale=4.0)
    table = torch.nn.Embedding.from_pretrained(torch.ones(5, 2), freeze=False, sparse=True)
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.25)
    scaler.scale(table(torch.tensor([1, 3, 1])).sum()).backward()
    if bad:
        table.weight.grad._values()[2, 1] = -INF
    scaler.unscale_(optimizer)
    if not bad:
        expected = torch.tensor([[0.0, 0], [2, 2], [0, 0], [1, 1], [0, 0]])
        assert torch.equal(table.weight.grad.to_dense(), expected)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == (2.0 if bad else 4.0)
    assert (table.weight[1, 0].item() == 1.0) == bad


@both
def test_a_parameter_without_gradient_does_not_hinder_the_others(
    scaler_class: Callable[..., Any],
) -> None:
    scaler = scaler_class("cpu", init_scale=4.0)
    used, unused = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([unused, used], lr=0.5)
    scaler.scale(used.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert (used.item(), unused.item(), unused.grad) == (0.5, 1.0, None)


# Optimizers that unscale and skip in their own kernel.


def fused_run(scaler_class: Callable[..., Any], name: str, unscale: bool) -> list[Any]:
    """Train with a fused optimizer, every third step with a bad gradient."""
    scaler = scaler_class("cpu", init_scale=1024.0, growth_interval=3)
    params = [torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)]
    optimizer = getattr(torch.optim, name)(params, lr=0.1, fused=True)
    history: list[Any] = []
    for step in range(12):
        optimizer.zero_grad()
        loss = sum((param * (step + 1.5)).square().sum() for param in params)
        scaler.scale(loss).backward()
        if step % 3 == 1:
            params[1].grad[0] = NAN
        if unscale:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        history += [scaler.state_dict(), [param.tolist() for param in params]]
        assert not hasattr(optimizer, "found_inf")
        assert not hasattr(optimizer, "grad_scale")
    return history


@pytest.mark.parametrize("unscale", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_optimizers_take_torchs_steps(name: str, unscale: bool) -> None:
    ours = fused_run(GradScaler, name, unscale)
    assert ours == fused_run(torch.amp.GradScaler, name, unscale)
    assert len({str(params) for params in ours[1::2]}) == 8


class SeesScale(torch.optim.SGD):
    """An optimizer under torch's contract: it reads grad_scale and found_inf from itself."""

    _step_supports_amp_scaling = True

    def step(self, closure: Any = None) -> Any:
        scale = getattr(self, "grad_scale", None)
        return None if scale is None else scale.item(), self.found_inf.item()


@pytest.mark.parametrize("words", ["step", "unscale step", "preset step", "preset unscale step"])
def test_an_optimizer_that_skips_itself_is_told_what_torch_tells_it(words: str) -> None:
    told = []
    for scaler_class in (GradScaler, torch.amp.GradScaler):
        script = Script(scaler_class, init_scale=8.0)
        optimizer: Any = SeesScale([script.param], lr=1.0)
        for step in range(2):
            script.param.grad = None
            script.backward()
            if step:
                script.param.grad[0] = INF
            if "preset" in words:
                optimizer.grad_scale = torch.tensor(3.0)
            if "unscale" in words:
                script.scaler.unscale_(optimizer)
            told += [script.scaler.step(optimizer), script.param.grad.tolist()]
            script.scaler.update()
        told += [script.scaler.get_scale()]
    assert told[: len(told) // 2] == told[len(told) // 2 :]


def test_fused_optimizers_may_have_fp16_parameters() -> None:
    histories = []
    for scaler_class in (GradScaler, torch.amp.GradScaler):
        scaler = scaler_class("cpu", init_scale=8.0)
        param = torch.ones(2, dtype=torch.float16, requires_grad=True)
        optimizer = torch.optim.SGD([param], lr=0.25, fused=True)
        history: list[Any] = []
        for gradient in ([8.0, 16.0], [60000.0, 60000.0], [INF, 1.0], [2.0, NAN], [4.0, 8.0]):
            scaler.scale(torch.ones(()))
            param.grad = torch.tensor(gradient, dtype=torch.float16)
            scaler.step(optimizer)
            scaler.update()
            history.append((param.tolist(), scaler.get_scale()))
        histories.append(history)
    assert histories[0] == histories[1]
    assert histories[0][-1][1] == 2.0


def test_an_optimizer_of_the_older_contract_is_refused() -> None:
    class Older(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure: Any = None, *, grad_scaler: Any = None) -> None:
            raise AssertionError("stepped")

    script = Script(GradScaler)
    script.backward()
    with pytest.raises(NotImplementedError, match=r"Older\.step takes grad_scaler="):
        script.scaler.step(Older([script.param], lr=1.0))


# Saving.


@pytest.mark.parametrize("started", [False, True])
def test_state_dicts_can_be_exchanged_with_torch(started: bool) -> None:
    for source, target in [
        (GradScaler, torch.amp.GradScaler),
        (torch.amp.GradScaler, GradScaler),
    ]:
        script = Script(source, init_scale=1000.1, growth_factor=3.0, backoff_factor=0.25)
        for _ in range(3):
            script.backward()
            script.scaler.step(script.optimizer)
            script.scaler.update()
        other = target("cpu")
        if started:
            other.scale(torch.ones(()))
        other.load_state_dict(script.scaler.state_dict())
        assert other.state_dict() == script.scaler.state_dict()
        assert list(other.state_dict()) == list(script.scaler.state_dict())
        assert other.state_dict()["_growth_tracker"] == 3


@both
def test_a_scale_that_was_saved_unrounded_is_rounded_when_it_is_loaded(
    scaler_class: Callable[..., Any],
) -> None:
    unrounded = scaler_class("cpu", init_scale=0.1).state_dict()
    assert unrounded["scale"] == 0.1
    scaler = scaler_class("cpu")
    scaler.load_state_dict(unrounded)
    assert scaler.get_scale() == 0.1
    scaler.scale(torch.ones(()))
    scaler.load_state_dict(unrounded)
    assert scaler.get_scale() == float.fromhex("0x1.99999ap-4")


def test_a_state_dict_that_lacks_an_entry_changes_nothing() -> None:
    scaler = GradScaler("cpu")
    before = scaler.state_dict()
    for name in before:
        broken = {**before, "scale": 2.0, "growth_factor": 9.0, "_growth_tracker": 1}
        del broken[name]
        with pytest.raises(KeyError, match=name):
            scaler.load_state_dict(broken)
    assert scaler.state_dict() == before


@both
def test_a_copy_goes_its_own_way(scaler_class: Callable[..., Any]) -> None:
    script = Script(scaler_class, init_scale=8.0)
    script.backward()
    script.scaler.step(script.optimizer)
    script.scaler.update()
    twin = copy.deepcopy(script.scaler)
    script.param.grad.fill_(NAN)
    script.scaler.step(script.optimizer)
    script.scaler.update()
    assert (script.scaler.get_scale(), twin.get_scale()) == (4.0, 8.0)
    assert math.isclose(twin.state_dict()["_growth_tracker"], 1, rel_tol=0)


# CUDA.


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_step_waits_for_the_gpu_once() -> None:
    scaler = GradScaler("cuda")
    params = [torch.ones(100, device="cuda", requires_grad=True) for _ in range(20)]
    optimizer = torch.optim.SGD(params, lr=0.1)

    def train() -> None:
        optimizer.zero_grad()
        scaler.scale(sum(param.sum() for param in params)).backward()
        scaler.step(optimizer)
        scaler.update()

    train()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with pytest.warns(UserWarning, match="synchronizing CUDA operation") as caught:
            train()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len([w for w in caught if "synchronizing" in str(w.message)]) == 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_steps_on_the_gpu_are_torchs_bit_for_bit() -> None:
    histories = []
    for scaler_class in (GradScaler, torch.amp.GradScaler):
        rng = random.Random(6)
        scaler = scaler_class("cuda", growth_interval=3)
        params = [torch.ones(50, device="cuda", requires_grad=True) for _ in range(3)]
        optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
        history = []
        for _ in range(200):
            optimizer.zero_grad()
            scaler.scale(sum((param * rng.gauss(0, 1)).sum() for param in params)).backward()
            if rng.random() < 0.2:
                params[1].grad[rng.randrange(50)] = rng.choice([INF, -INF, NAN])
            scaler.step(optimizer)
            scaler.update()
            history.append((scaler.state_dict(), [param.tolist() for param in params]))
        histories.append(history)
    assert histories[0] == histories[1]
