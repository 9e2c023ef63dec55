"""Training loops with one fault each; `# here` marks the line that a finding must name.

Those decorated with a place are to be found at that module or parameter instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import StepLR

from ampcourse.amp.autocast import autocast as OurAutocast
from ampcourse.amp.grad_scaler import GradScaler as OurGradScaler
from tests.diagnose.clean_loops import Scaler, batch, bf16, fp16, loss_of, net


@dataclass(frozen=True)
class Planted:
    """A fault: what it is called, where it is, how it ends, what else is to be found."""

    kind: str
    place: str
    run: Callable[[], None]
    raises: type[Exception] | None = None
    besides: str = ""

    @property
    def where(self) -> str:
        """The place to be named: a path, or the marked line."""
        if self.place:
            return self.place
        lines, first = inspect.getsourcelines(self.run)
        here = [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here")]
        return f"{Path(__file__).name}:{here[0]}"


FAULTS: list[Planted] = []


def fault(
    kind: str, place: str = "", raises: type[Exception] | None = None, besides: str = ""
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add a faulty loop to the list."""

    def add(function: Callable[[], None]) -> Callable[[], None]:
        FAULTS.append(Planted(kind, place, function, raises, besides))
        return function

    return add


class Layers(nn.Module):
    """Linear, BatchNorm, Linear, with paths to be named."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


def parts(scale: float = 1024.0) -> tuple[nn.Module, torch.optim.Optimizer, Scaler]:
    """Return a model, its optimizer and a scaler."""
    model = net()
    return model, torch.optim.SGD(model.parameters(), 0.1), Scaler("cpu", init_scale=scale)


@fault("first_nonfinite", "body.0")
def linear_overflows_before_a_batch_norm() -> None:
    model, scaler = Layers(), Scaler("cpu")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model.body[0].weight.data *= 1e5
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, fp16())).backward()
        scaler.step(optimizer)
        scaler.update()


@fault("first_nonfinite", "head")
def last_layer_overflows() -> None:
    model = Layers()
    model.head.weight.data.fill_(6e4)
    loss_of(model, fp16()).backward()


@fault("first_nonfinite")
def logarithm_of_an_underflowed_softmax() -> None:
    model, x = nn.Linear(8, 4), torch.randn(8, 8)
    with fp16():
        p = torch.softmax(100 * model(x), -1)
        loss = -p.log().mean()  # here
    loss.backward()


@fault("first_nonfinite", "1")
def every_score_masked() -> None:
    class Masked(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.masked_fill(torch.ones_like(x).bool(), -torch.inf).softmax(-1)

    model = nn.Sequential(nn.Linear(8, 4), Masked())
    model(torch.randn(2, 8)).sum().backward()


@fault("first_nonfinite_gradient", "1")
def root_of_zero() -> None:
    class Distance(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x - x.detach()).square().sum(-1).sqrt()

    model, scaler = nn.Sequential(nn.Linear(8, 4), Distance()), Scaler("cpu")
    scaler.scale(model(torch.randn(3, 8)).sum()).backward()


@fault("first_nonfinite_gradient", "1")
def gradient_overflows_without_a_scaler() -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 4))
    model[1].weight.data.fill_(300.0)
    x = torch.randn(8, 8) * 100
    with fp16():
        loss = model[1](model[0](x) * 0.001) * 200
    loss.float().sum().backward()


@fault("unsafe_under_autocast", raises=RuntimeError)
def loss_that_autocast_refuses() -> None:
    # What CUDA's autocast says; the CPU's computes it.
    raise RuntimeError("torch.nn.functional.binary_cross_entropy is unsafe to autocast.")  # here


@fault("nonfinite_input", "0")
def nan_in_the_data() -> None:
    _, y = batch()
    x = torch.from_numpy(np.full((8, 8), np.nan, np.float32))
    F.cross_entropy(net()(x), y).backward()


@fault("nonfinite_parameters", "3.weight")
def damaged_checkpoint() -> None:
    model = net()
    model[3].weight.data[1, 1] = torch.inf
    loss_of(model).backward()


@fault("step_made_nonfinite", "0.weight", besides="vanishing_eps")
def adam_in_half() -> None:
    model = nn.Sequential(nn.Linear(8, 4)).half()
    optimizer = torch.optim.Adam(model.parameters())
    (model(torch.randn(2, 8).half()).float().sum() * 0).backward()
    optimizer.step()


@fault("vanishing_eps")
def adam_eps_in_half() -> None:
    model = nn.Linear(8, 4).half()
    optimizer = torch.optim.AdamW(model.parameters(), eps=1e-8)  # here
    model(torch.randn(2, 8).half()).float().sum().backward()
    optimizer.step()


@fault("vanishing_eps", "1")
def norm_by_hand_in_half() -> None:
    class Norm(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * (x.square().mean(-1, keepdim=True) + 1e-8).rsqrt()

    model = nn.Sequential(nn.Linear(8, 4), Norm())
    with fp16():
        out = model(torch.randn(2, 8))
    out.float().sum().backward()


@fault("vanishing_eps", "1")
def clamp_in_half() -> None:
    class Unit(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x / x.abs().sum(-1, keepdim=True).clamp(min=1e-12)

    model = nn.Sequential(nn.Linear(8, 4), Unit()).half()
    model(torch.randn(2, 8).half()).float().sum().backward()


@fault("vanishing_eps", "1")
def layer_norm_in_half() -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.LayerNorm(4, eps=1e-12)).half()
    model(torch.randn(2, 8).half()).float().square().sum().backward()


@fault("gradient_underflow")
def small_loss_without_a_scaler() -> None:
    model, x = Layers(), torch.randn(8, 8)
    with fp16():
        out = model(x)
    loss = out.float().square().mean()  # here
    (loss * 1e-8).backward()


@fault("gradient_underflow", "head")
def layer_that_makes_gradients_small() -> None:
    model = Layers()
    model.head.weight.data *= 3e-7
    loss_of(model, fp16()).backward()


@fault("lost_updates", "weight")
def bfloat16_weights_with_a_small_step() -> None:
    model = nn.Linear(8, 4, bias=False).bfloat16()
    model.weight.data.fill_(1.0)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    model(torch.randn(2, 8).bfloat16()).float().sum().backward()
    optimizer.step()


@fault("half_parameters_under_scaler", raises=ValueError)
def half_and_a_scaler() -> None:
    model = nn.Linear(8, 4).half()
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), Scaler("cpu")
    scaler.scale(model(torch.randn(2, 8).half()).float().sum()).backward()
    scaler.step(optimizer)  # here


@fault("scaler_with_bf16")
def scaler_and_bf16() -> None:
    model, optimizer, scaler = parts()
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, bf16())).backward()  # here
        scaler.step(optimizer)
        scaler.update()


@fault("clip_before_unscale")
def clip_too_early() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # here
    scaler.step(optimizer)
    scaler.update()


@fault("clip_before_unscale")
def clip_values_too_early() -> None:
    model, optimizer = net(), None
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), OurGradScaler("cpu", 1024.0)
    scaler.scale(loss_of(model, fp16()) / 2).backward()
    nn.utils.clip_grad_value_(model.parameters(), 1.0)  # here
    scaler.step(optimizer)
    scaler.update()


@fault("clip_before_unscale")
def clamp_by_hand_too_early() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.clamp_(-1, 1)  # here
    scaler.step(optimizer)
    scaler.update()


@fault("backward_under_autocast")
def backward_inside() -> None:
    model, optimizer, scaler = parts()
    x, y = batch()
    with fp16():
        loss = F.cross_entropy(model(x).float(), y)
        scaler.scale(loss).backward()  # here
    scaler.step(optimizer)
    scaler.update()


@fault("backward_under_autocast")
def backward_inside_our_autocast() -> None:
    model, x = net(), torch.randn(8, 8)
    with OurAutocast("cpu"):
        model(x).float().sum().backward()  # here


@fault("scheduler_after_skip")
def scheduler_does_not_ask() -> None:
    model, optimizer, scaler = parts(2.0**30)
    scheduler = StepLR(optimizer, 1)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, fp16())).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # here


@fault("repeated_weight_casts", "weight_ih")
def autocast_for_each_step_of_a_sequence() -> None:
    cell, h = nn.RNNCell(16, 8), torch.zeros(2, 8)
    for _ in range(10):
        with fp16():
            h = cell(torch.randn(2, 16), h)
    h.float().sum().backward()


@fault("repeated_weight_casts", "weight")
def cache_turned_off() -> None:
    model = nn.Linear(8, 8)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        x = torch.randn(2, 8)
        for _ in range(6):
            x = model(x)
    x.float().sum().backward()


@fault("unscale_twice", raises=RuntimeError)
def unscale_at_every_micro_batch() -> None:
    model, optimizer, scaler = parts()
    for _ in range(4):
        scaler.scale(loss_of(model, fp16())).backward()
        scaler.unscale_(optimizer)  # here
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)


@fault("unscale_after_step", raises=RuntimeError)
def clip_after_the_step() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)  # here


@fault("step_without_scaler")
def unscale_but_step_without_the_scaler() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()  # here
    scaler.update()


@fault("update_twice", raises=AssertionError)
def update_after_update() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.step(optimizer)
    scaler.update()
    scaler.update()  # here


@fault("update_missing")
def update_never() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.step(optimizer)  # here


@fault("update_missing", raises=RuntimeError)
def update_outside_the_loop() -> None:
    model, optimizer, scaler = parts()
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, fp16())).backward()
        scaler.step(optimizer)  # here
    scaler.update()


@fault("update_before_step")
def one_update_for_each_optimizer() -> None:
    first, second = net(), net()
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (first, second)]
    scaler = Scaler("cpu", init_scale=1024.0, growth_interval=1)
    scaler.scale(loss_of(first, fp16()) + loss_of(second, fp16())).backward()
    for optimizer in optimizers:
        scaler.step(optimizer)  # here
        scaler.update()


@fault("scaled_gradients_stepped")
def optimizer_steps_by_itself() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    optimizer.step()  # here


@fault("unscaled_loss_stepped")
def loss_not_scaled() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16()))
    loss_of(model, fp16()).backward()
    scaler.step(optimizer)  # here
    scaler.update()


@fault("unscaled_loss_stepped", raises=AssertionError)
def scale_never_called() -> None:
    model, optimizer, scaler = parts()
    loss_of(model, fp16()).backward()
    scaler.step(optimizer)  # here


@fault("mixed_scales")
def second_loss_not_scaled() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    loss_of(model, fp16()).backward()
    scaler.step(optimizer)  # here
    scaler.update()


@fault("backward_after_unscale")
def one_more_backward_after_unscale() -> None:
    model, optimizer, scaler = parts()
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.unscale_(optimizer)
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.step(optimizer)  # here
    scaler.update()


@fault("missing_zero_grad")
def gradients_never_cleared() -> None:
    model, optimizer, _ = parts()
    for _ in range(2):
        loss_of(model).backward()
        optimizer.step()  # here


@fault("missing_zero_grad")
def gradients_never_cleared_under_a_scaler() -> None:
    model, optimizer, scaler = parts()
    for _ in range(2):
        scaler.scale(loss_of(model, fp16())).backward()
        scaler.step(optimizer)  # here
        scaler.update()


@fault("no_gradients", raises=AssertionError)
def optimizer_of_another_model() -> None:
    model, _, scaler = parts()
    optimizer = torch.optim.SGD(net().parameters(), 0.1)
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.step(optimizer)  # here


@fault("scaled_evaluation")
def evaluation_under_a_scaler() -> None:
    model, _, scaler = parts()
    with torch.no_grad():
        scaler.scale(loss_of(model.eval(), fp16())).item()  # here


@fault("scaled_penalty")
def penalty_of_scaled_gradients() -> None:
    model, optimizer, scaler = parts()
    loss = scaler.scale(loss_of(model, fp16()))
    grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)  # here
    penalty = sum(g.float().square().sum() for g in grads).sqrt()
    (loss + scaler.scale(penalty)).backward()
    scaler.step(optimizer)
    scaler.update()


@fault("scale_collapsed", besides="first_nonfinite")
def nothing_is_ever_finite() -> None:
    model, optimizer, scaler = parts(2.0)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, fp16()) * torch.inf).backward()
        scaler.step(optimizer)
        scaler.update()  # here


@fault("scaler_not_resumed")
def scaler_left_out_of_the_checkpoint() -> None:
    model, optimizer, scaler = parts()
    optimizer.load_state_dict(torch.optim.SGD(net().parameters(), 0.1).state_dict())
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.step(optimizer)  # here
    scaler.update()


@fault("dtype_mismatch", "1", raises=RuntimeError)
def half_meets_float() -> None:
    model = nn.Sequential(nn.Linear(8, 4).half(), nn.Linear(4, 4))
    model(torch.randn(2, 8).half())


@fault("type_not_implemented", raises=RuntimeError)
def no_kernel_for_half() -> None:
    torch.linalg.qr(torch.randn(3, 3).half())  # here
