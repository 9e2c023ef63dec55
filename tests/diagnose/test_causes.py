"""What a finding says of inf and NaN: the op, its inputs in numbers, what became of it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ampcourse.diagnose import diagnose, watch
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.nonfinite import NonFinite
from ampcourse.diagnose.op import Op, schema_of
from ampcourse.diagnose.place import Place
from tests.diagnose.clean_loops import Scaler, fp16


class Net(nn.Module):
    """A Linear that overflows in float16, then a norm that turns inf into NaN."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.ModuleDict({"fc": nn.Linear(4, 2, bias=False), "bn": nn.BatchNorm1d(2)})
        self.encoder["fc"].weight.data.fill_(300.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder["bn"](self.encoder["fc"](x))


def overflowing_step(net: nn.Module) -> None:
    x = torch.full((3, 4), 2.0)
    x[0] = 100.0  # 4 × 100 × 300 = 120000
    with fp16():
        loss = net(x).float().sum()
    loss.backward()


def test_the_layer_that_overflowed_is_blamed_and_not_the_norm_after_it() -> None:
    net = Net()
    (finding,) = diagnose(net, lambda: overflowing_step(net)).findings
    assert (finding.kind, finding.where) == ("first_nonfinite", "encoder.fc")
    assert "2 inf among 6 float16 numbers from finite inputs" in finding.message
    assert "in float32 it is 120000" in finding.message
    assert "encoder.fc.weight: float16 [4, 2] up to 300" in finding.message
    assert "float16 [3, 4] up to 100" in finding.message
    assert "became NaN in native_batch_norm in encoder.bn" in finding.message


def test_an_overflow_that_the_scaler_skips_is_a_note_and_no_finding() -> None:
    net = nn.Linear(4, 2)
    optimizer, scaler = torch.optim.SGD(net.parameters(), 0.1), Scaler("cpu", init_scale=2.0**17)

    def step() -> None:
        with fp16():
            loss = net(torch.ones(1, 4)).sum()
        scaler.scale(loss.float()).backward()
        scaler.step(optimizer)
        scaler.update()

    report = diagnose(net, step, optimizer, scaler)
    assert report.findings == ()
    assert (report.steps, report.skipped) == (1, 1)
    assert "At scale 131072 2 of 2 gradients are not finite" in report.notes[0]
    assert "in float32 it is 131072" in report.notes[0]


def test_a_division_by_zero_is_found_although_a_scaler_would_skip_it() -> None:
    net, scaler = nn.Linear(4, 2), Scaler("cpu")

    def step() -> None:
        scaler.scale(net(torch.zeros(2, 4)).sub(net.bias).norm(dim=1).sum().sqrt()).backward()

    (finding,) = diagnose(net, step, None, scaler).findings
    assert finding.kind == "first_nonfinite_gradient"


def test_masks_of_minus_infinity_are_not_blamed_for_an_overflow_beside_them() -> None:
    net = nn.Linear(4, 2)
    net.weight.data.fill_(300.0)

    def step() -> None:
        with fp16():
            scores = net(torch.full((3, 4), 100.0))
        mask = torch.zeros(3, 2).masked_fill(torch.eye(3, 2).bool(), -torch.inf)
        (scores + mask).softmax(-1).sum().backward()

    (finding,) = diagnose(net, step).findings
    assert finding.where == "Linear"
    assert "addmm in Linear" in finding.message


def test_nan_that_a_model_returns_is_found_without_a_loss() -> None:
    net = Net()
    with torch.no_grad(), fp16():
        report = diagnose(net, lambda: net(torch.full((3, 4), 100.0)))
    assert [finding.where for finding in report.findings] == ["encoder.fc"]


def test_infinities_that_do_not_reach_the_loss_are_not_reported() -> None:
    weight = torch.ones(2, requires_grad=True)

    def step() -> None:
        odds = (weight.detach() - 1).log()  # -inf
        (weight * torch.where(odds.isinf(), 0.0, odds)).sum().backward()

    assert diagnose(nn.Identity(), step).findings == ()


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_parameters_damaged_before_the_step_are_said_to_be(value: float) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    net[1].bias.data[1] = value
    with watch(net) as report:
        net(torch.ones(1, 4)).sum().backward()
    (finding,) = report.findings
    assert (finding.kind, finding.where) == ("nonfinite_parameters", "1.bias")
    assert "before the first step watched" in finding.message


def test_a_damaged_running_variance_is_said_to_be() -> None:
    net = nn.BatchNorm1d(2)
    net.running_var[0] = torch.inf
    with watch(net) as report:
        pass
    assert [finding.where for finding in report.findings] == ["running_var"]


def test_nan_out_of_a_mask_alone_is_blamed_on_the_op_that_made_it() -> None:
    def step() -> None:
        scores = torch.ones(2, 3, requires_grad=True)
        scores.masked_fill(torch.ones(2, 3).bool(), -torch.inf).softmax(-1).sum().backward()

    (finding,) = diagnose(nn.Identity(), step).findings
    assert finding.message.startswith("_softmax in ")
    assert "gave 6 NaN among 6 float32 numbers" in finding.message


def test_of_two_overflows_the_first_is_named() -> None:
    net = nn.ModuleDict({"late": nn.Linear(4, 2), "early": nn.Linear(4, 2)})
    for layer in net.values():
        layer.weight.data.fill_(300.0)

    def step() -> None:
        with fp16():
            early, late = net["early"](torch.ones(1, 4) * 100), net["late"](torch.ones(1, 4) * 100)
        (late + early).sum().backward()

    assert [finding.where for finding in diagnose(net, step).findings] == ["early"]


def test_a_backward_from_a_graph_edge_is_let_through() -> None:
    weight = torch.ones(2, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge((weight * 3).sum())
    report = diagnose(nn.Identity(), lambda: torch.autograd.backward(edge, torch.ones(())))
    assert report.error == ""
    assert torch.equal(weight.grad, torch.full((2,), 3.0))


def test_a_mask_from_elsewhere_is_not_taken_for_bad_data() -> None:
    mask = torch.full((2, 3), -torch.inf)
    scores = torch.ones(2, 3, requires_grad=True)
    report = diagnose(nn.Identity(), lambda: (scores + mask).softmax(-1).sum().backward())
    (finding,) = report.findings
    assert finding.kind == "first_nonfinite"
    assert finding.message.startswith("_softmax in ")


def test_a_loss_that_only_scaling_made_infinite_is_a_note() -> None:
    weight, scaler = torch.full((1,), 1e34, requires_grad=True), Scaler("cpu")
    report = diagnose(nn.Identity(), lambda: scaler.scale((weight * 1.0).sum()).backward())
    assert report.findings == ()
    assert "The loss was finite, the scaled loss is not" in report.notes[0]


def test_a_float32_gradient_that_only_scaling_made_infinite_is_a_note() -> None:
    model, scaler = nn.ParameterList([torch.ones(1)]), Scaler("cpu")
    weight = model[0]
    scale = float(2**16)

    def step() -> None:  # the loss and its scaled value are finite, the gradient 1e34 is not
        scaler.scale((weight * 1e34 - weight.detach() * 1e34).sum()).backward()

    assert 1e34 * scale > torch.finfo(torch.float32).max
    report = diagnose(model, step)
    assert report.findings == ()
    assert "float32 ends at 3.40282e+38, and in float64 it is 6.5536e+38" in report.notes[0]


def test_new_numbers_in_old_memory_have_no_old_origin() -> None:
    nonfinite, values = NonFinite(Names()), torch.tensor([torch.inf])
    place = Place("", "", "train.py:1")

    def see() -> None:
        func = torch.ops.aten.exp.default
        nonfinite.note(Op(func, schema_of(func), (torch.ones(1),), {}, values, place))

    see()
    assert nonfinite.origin_of(values) is not None
    values.fill_(1.0)
    see()
    assert nonfinite.origin_of(values) is None


def test_nan_in_outputs_that_the_loss_leaves_out_is_not_reported() -> None:
    net = Net()

    def step() -> None:
        with fp16():
            out = net(torch.full((3, 4), 100.0))
        torch.where(out.isnan(), 0.0, net.encoder["fc"].weight.sum()).sum().backward()

    assert diagnose(net, step).findings == ()


def test_overflowed_gradients_that_no_step_uses_are_not_reported() -> None:
    def step(mend: bool) -> None:
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        with fp16():
            out = net(torch.ones(1, 4))
        (out.float().sum() * 1e5).backward()
        for parameter in net.parameters() if mend else ():
            parameter.grad.nan_to_num_()
        optimizer.step()

    assert diagnose(nn.Identity(), lambda: step(mend=True)).findings == ()
    report = diagnose(nn.Identity(), lambda: step(mend=False))
    assert [finding.kind for finding in report.findings] == ["first_nonfinite_gradient"]
