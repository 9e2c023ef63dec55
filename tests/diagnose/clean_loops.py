"""Training loops with nothing wrong in them, each of another shape; no finding may come of one.

Each function trains a small net for a few steps on the CPU and takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ampcourse.amp import opt_levels
from ampcourse.amp.autocast import autocast as OurAutocast
from ampcourse.amp.grad_scaler import GradScaler as OurGradScaler
from ampcourse.amp.master_weights import MasterWeights
from ampcourse.amp.static_scaler import StaticScaler

LOOPS: list[Callable[[], None]] = []

Scaler = torch.amp.GradScaler


def loop(function: Callable[[], None]) -> Callable[[], None]:
    """Add a loop to the list."""
    LOOPS.append(function)
    return function


def net() -> nn.Module:
    """Return a small net with a norm in it."""
    return nn.Sequential(
        nn.Linear(8, 16),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.Linear(16, 16),
        nn.ReLU(),
        nn.Linear(16, 4),
    )


def batch(size: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and classes."""
    return torch.randn(size, 8), torch.randint(4, (size,))


def fp16() -> Any:
    """Return float16 autocast."""
    return torch.autocast("cpu", torch.float16)


def bf16() -> Any:
    """Return bfloat16 autocast."""
    return torch.autocast("cpu", torch.bfloat16)


def loss_of(model: nn.Module, autocast: Any = None) -> torch.Tensor:
    """Return the loss of a batch, the forward pass under autocast."""
    x, y = batch()
    with autocast or nullcontext():
        return F.cross_entropy(model(x).float(), y)


def plain(optimizer_class: Any, autocast: Any = None, **options: Any) -> None:
    model = net()
    optimizer = optimizer_class(model.parameters(), **options)
    for _ in range(4):
        optimizer.zero_grad()
        loss_of(model, autocast and autocast()).backward()
        optimizer.step()


def scaled(model: nn.Module, scaler: Any, steps: int = 6, **options: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, fp16())).backward()
        scaler.step(optimizer)
        scaler.update()


@loop
def fp32_sgd() -> None:
    plain(torch.optim.SGD, lr=0.1, momentum=0.9)


@loop
def fp32_adam_without_foreach() -> None:
    plain(torch.optim.Adam, lr=1e-3, foreach=False)


@loop
def bf16_autocast() -> None:
    plain(torch.optim.AdamW, bf16, lr=1e-3)


@loop
def fp16_autocast_and_scaler() -> None:
    scaled(net(), Scaler("cpu"))


@loop
def our_scaler() -> None:
    scaled(net(), OurGradScaler("cpu"))


@loop
def first_steps_skipped() -> None:
    scaled(net(), Scaler("cpu", init_scale=2.0**24), steps=12)


@loop
def disabled_scaler() -> None:
    model, scaler = net(), Scaler("cpu", enabled=False)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, bf16())).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


@loop
def accumulation() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for i in range(12):
        scaler.scale(loss_of(model, fp16()) / 4).backward()
        if i % 4 == 3:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


@loop
def clip_after_unscale() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        scaler.scale(loss_of(model, fp16())).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        nn.utils.clip_grad_value_(model.parameters(), 0.05)
        scaler.step(optimizer)
        scaler.update()


@loop
def clip_scaled_by_a_scaled_limit() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        model.zero_grad()
        scaler.scale(loss_of(model, fp16())).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0 * scaler.get_scale())
        scaler.step(optimizer)
        scaler.update()


@loop
def two_losses_two_optimizers_one_update() -> None:
    first, second, scaler = net(), net(), Scaler("cpu", init_scale=2.0**20)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (first, second)]
    for _ in range(12):
        for optimizer in optimizers:
            optimizer.zero_grad()
        x, y = batch()
        with fp16():
            a, b = first(x), second(x)
        loss = F.cross_entropy(a.float(), y)
        other = F.cross_entropy((a + b).float(), y)
        scaler.scale(loss).backward(retain_graph=True)
        scaler.scale(other).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()


@loop
def adversarial() -> None:
    generator, critic = net(), nn.Linear(4, 1)
    scaler = Scaler("cpu", init_scale=1024.0)
    of_g = torch.optim.Adam(generator.parameters(), 1e-3)
    of_c = torch.optim.Adam(critic.parameters(), 1e-3)
    for _ in range(4):
        x, _ = batch()
        of_c.zero_grad()
        with fp16():
            fake = generator(x)
            loss = F.softplus(critic(fake.detach())).mean() - critic(torch.randn(8, 4)).mean()
        scaler.scale(loss).backward()
        scaler.step(of_c)
        of_g.zero_grad()
        with fp16():
            loss = F.softplus(-critic(fake)).mean()
        scaler.scale(loss).backward()  # leaves gradients in the critic, cleared above
        scaler.step(of_g)
        scaler.update()


@loop
def gradient_penalty() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of(model, fp16())
        of_scaled = torch.autograd.grad(scaler.scale(loss), model.parameters(), create_graph=True)
        inverse = 1.0 / scaler.get_scale()
        with fp16():
            norm = sum((g * inverse).float().square().sum() for g in of_scaled).sqrt()
            loss = loss + norm
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@loop
def fp32_gradient_penalty() -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of(model)
        grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)
        (loss + sum(g.square().sum() for g in grads)).backward()
        optimizer.step()


@loop
def frozen_and_unused_parameters() -> None:
    model = net()
    model.add_module("unused", nn.Identity())
    model.unused.weight = nn.Parameter(torch.ones(3))
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)
    scaled(model, Scaler("cpu", init_scale=1024.0))


class Tied(nn.Module):
    """Words in, words out, one matrix for both."""

    def __init__(self, sparse: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(12, 8, sparse=sparse)
        self.hidden = nn.Linear(8, 8)
        self.tied = not sparse
        self.out = nn.Linear(8, 12)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.hidden(self.embedding(words)))
        return F.linear(h, self.embedding.weight) if self.tied else self.out(h)


@loop
def shared_weights() -> None:
    model, scaler = Tied(), Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        words = torch.randint(12, (6,))
        with fp16():
            out = model(words)
        scaler.scale(F.cross_entropy(out.float(), words)).backward()
        scaler.step(optimizer)
        scaler.update()


@loop
def sparse_gradients() -> None:
    model, scaler = Tied(sparse=True), Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(4):
        optimizer.zero_grad()
        words = torch.randint(12, (6,))
        with fp16():
            out = model(words)
        scaler.scale(F.cross_entropy(out.float(), words)).backward()
        scaler.step(optimizer)
        scaler.update()


@loop
def training_and_evaluation() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=1024.0)
    for _ in range(2):
        scaled(model.train(), scaler, steps=2)
        model.eval()
        with torch.no_grad(), fp16():
            for _ in range(6):
                loss_of(model).item()
        with torch.inference_mode():
            for _ in range(6):
                loss_of(model, bf16()).item()


@loop
def scheduler_guarded_against_skips() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=2.0**22)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20)
    for _ in range(10):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, fp16())).backward()
        scaler.step(optimizer)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()


@loop
def scheduler_by_epoch() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=2.0**16)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    for _ in range(3):
        for _ in range(4):
            optimizer.zero_grad()
            scaler.scale(loss_of(model, fp16())).backward()
            scaler.step(optimizer)
            scaler.update()
        scheduler.step()


@loop
def compiled() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=1024.0)
    scaled(torch.compile(model, backend="eager"), scaler, steps=3)


@loop
def checkpointing() -> None:
    body, head = net(), nn.Linear(4, 4)
    scaler = Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], 0.1)
    for reentrant in (False, False, True):
        optimizer.zero_grad()
        x, y = batch()
        with fp16():
            hidden = checkpoint(body, x.requires_grad_(), use_reentrant=reentrant)
            out = head(hidden)
        scaler.scale(F.cross_entropy(out.float(), y)).backward()
        scaler.step(optimizer)
        scaler.update()


@loop
def attention_with_masks() -> None:
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    scaler = Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.Adam(model.parameters())
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    for _ in range(3):
        optimizer.zero_grad()
        with fp16():
            out = model(torch.randn(2, 5, 8), src_mask=mask)
            scores = out.float().masked_fill(torch.eye(5, 8).bool(), -torch.inf)
        scaler.scale(scores.softmax(-1).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()


@loop
def recurrent() -> None:
    # Not every CPU has an LSTM in 16 bits.
    model, cell = nn.LSTM(8, 8), nn.GRUCell(8, 4)
    optimizer = torch.optim.Adam([*model.parameters(), *cell.parameters()])
    for _ in range(2):
        optimizer.zero_grad()
        h, outputs = torch.zeros(3, 4), model(torch.randn(6, 3, 8))[0]
        with bf16():
            for out in outputs:
                h = cell(out, h)
        h.float().square().mean().backward()
        optimizer.step()


@loop
def gradients_made_by_hand() -> None:
    weight = torch.randn(8, 4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    for _ in range(3):
        x, y = batch()
        (weight.grad,) = torch.autograd.grad(F.cross_entropy(x @ weight, y), weight)
        optimizer.step()


@loop
def closure_that_clears() -> None:
    model = net()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)


@loop
def resumed_with_its_scaler() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.Adam(model.parameters())
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.step(optimizer)
    scaler.update()
    saved = model.state_dict(), optimizer.state_dict(), scaler.state_dict()
    model, scaler = net(), Scaler("cpu")
    optimizer = torch.optim.Adam(model.parameters())
    things: list[Any] = [model, optimizer, scaler]
    for thing, state in zip(things, saved, strict=True):
        thing.load_state_dict(state)
    optimizer.zero_grad()
    scaler.scale(loss_of(model, fp16())).backward()
    scaler.step(optimizer)
    scaler.update()


@loop
def logarithm_of_zero_masked_away() -> None:
    weight = torch.randn(8, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        p = torch.tensor([0.0, 0.5] * 4)
        entropy = torch.where(p > 0, p.log(), 0.0)
        (weight * entropy).sum().backward()
        optimizer.step()


@loop
def fused_optimizer() -> None:
    scaled(net(), Scaler("cpu", init_scale=2.0**20), steps=8, fused=True)


@loop
def our_autocast() -> None:
    model, scaler = net(), OurGradScaler("cpu", init_scale=2.0**17)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        with OurAutocast("cpu", torch.float16):
            out = model(torch.randn(8, 8))
        scaler.scale(out.float().square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def at_level(level: str) -> None:
    model = net()
    optimizer: Any = torch.optim.SGD(model.parameters(), 0.5)
    model, optimizer = opt_levels.initialize(model, optimizer, opt_level=level, verbosity=0)
    try:
        for _ in range(4):
            optimizer.zero_grad()
            with opt_levels.scale_loss(loss_of(model), optimizer) as scaled_loss:
                scaled_loss.backward()
            optimizer.step()
    finally:
        opt_levels.deactivate()


@loop
def opt_level_o1() -> None:
    at_level("O1")


@loop
def opt_level_o2() -> None:
    at_level("O2")


@loop
def master_weights_and_static_scale() -> None:
    model = net().half()
    optimizer = MasterWeights(torch.optim.SGD(model.parameters(), 0.1, momentum=0.9))
    scaler = StaticScaler(256.0)
    for _ in range(4):
        optimizer.zero_grad()
        x, y = batch()
        scaler.scale(F.cross_entropy(model(x.half()).float(), y)).backward()
        optimizer.collect_gradients()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(optimizer.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


@loop
def warm_up_from_zero_in_bfloat16() -> None:
    model = net().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    x, y = batch()
    F.cross_entropy(model(x.bfloat16()).float(), y).backward()
    optimizer.step()


@loop
def unscaled_by_hand_and_stepped() -> None:
    model, scaler = net(), Scaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, fp16())).backward()
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= scaler.get_scale()
        optimizer.step()
