"""The ledger's bytes are those that torch allocates, and the literature's under its assumptions."""

from __future__ import annotations

import re

import pytest
import torch

from ampcourse.amp.master_weights import MasterWeights
from ampcourse.memory import FIGURES, ledger
from ampcourse.memory.ledger import RECIPES, STATE, Assumptions

N = 4096  # a parameter so large that Adam's step count is nothing

# SGD 0, momentum 1, Adam 2 more numbers; by hand: weights + masters + casts + gradients + state.
BY_HAND = {
    ("sgd", "fp32"): 4 + 4,
    ("momentum", "fp32"): 4 + 4 + 4,
    ("adam", "fp32"): 4 + 4 + 8,
    ("sgd", "autocast"): 4 + 2 + 4,
    ("momentum", "autocast"): 4 + 2 + 4 + 4,
    ("adam", "autocast"): 4 + 2 + 4 + 8,
    ("sgd", "O2"): 2 + 4 + 2 + 4,
    ("momentum", "O2"): 2 + 4 + 2 + 4 + 4,
    ("adam", "O2"): 2 + 4 + 2 + 4 + 8,
    ("sgd", "half"): 2 + 2,
    ("momentum", "half"): 2 + 2 + 2,
    ("adam", "half"): 2 + 2 + 4,
}


@pytest.mark.parametrize(("optimizer", "recipe"), BY_HAND)
def test_bytes_per_parameter_are_those_counted_by_hand(optimizer: str, recipe: str) -> None:
    assert ledger(optimizer, recipe).bytes_per_parameter == BY_HAND[optimizer, recipe]


def allocated(optimizer: str, recipe: str) -> int:
    """Return the bytes of everything torch keeps for a parameter of N numbers after a step."""
    dtype = torch.float32 if recipe in ("fp32", "autocast") else torch.float16
    p = torch.nn.Parameter(torch.ones(N, dtype=dtype))
    made: torch.optim.Optimizer
    if optimizer == "adam":
        made = torch.optim.Adam([p])
    else:
        made = torch.optim.SGD([p], lr=0.1, momentum=0.9 if optimizer == "momentum" else 0)
    stepper = MasterWeights(made) if recipe == "O2" else made
    p.grad = torch.ones_like(p)
    stepper.step()
    kept = [p, torch.empty_like(p), *(q for g in made.param_groups for q in g["params"])]
    kept += [v for s in made.state.values() for v in s.values() if v is not None]
    if recipe == "O2":
        kept.append(torch.empty(N))  # the masters' gradient
    return sum({id(t): t.untyped_storage().nbytes() for t in kept if t.numel() == N}.values())


@pytest.mark.parametrize(("optimizer", "recipe"), BY_HAND)
def test_what_is_kept_is_what_torch_allocates(optimizer: str, recipe: str) -> None:
    assert ledger(optimizer, recipe).kept * N == allocated(optimizer, recipe)


def test_autocast_shrinks_neither_weights_nor_gradients_nor_state() -> None:
    for optimizer in STATE:
        assert ledger(optimizer, "autocast").kept == ledger(optimizer, "fp32").kept


def test_casts_pass_and_are_all_that_autocast_adds() -> None:
    passing = [row for row in ledger("adam", "autocast").rows if row.passing]
    assert [(row.what, row.bytes) for row in passing] == [("weight casts", 2)]


def test_16_18_and_20_bytes_each_follow_from_their_assumptions() -> None:
    assert {figure.bytes for figure in FIGURES} == {16, 18, 20}
    for figure in FIGURES:
        assert figure.ledger.bytes_per_parameter == figure.bytes, figure.name


def test_one_assumption_at_a_time_leads_from_16_to_18_to_20() -> None:
    zero = Assumptions("half", "half", master_weights=True)
    steps: list[dict[str, object]] = [{}, {"gradients": "fp32"}, {"master_gradients": True}]
    assert [ledger("adam", zero, **step).bytes_per_parameter for step in steps] == [16, 18, 20]


def test_every_quoted_figure_names_its_source() -> None:
    for figure in FIGURES:
        assert re.search(r"https://|computed", figure.source), figure.name


def test_a_total_is_bytes_times_parameters() -> None:
    assert ledger("adam", "O2").total(25_557_032) == 511_140_640
    with pytest.raises(ValueError, match="-1 parameters"):
        ledger().total(-1)


def test_the_table_ends_with_the_sum_of_its_rows() -> None:
    lines = str(ledger("adam", "O2")).splitlines()
    assert sum(int(line.split()[0]) for line in lines[:-1]) == int(lines[-1].split()[0]) == 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ledger("lion"), "'lion' is unknown; choose from sgd, momentum, adam"),
        (lambda: ledger("adam", "O1"), "'O1' is unknown; choose from fp32, autocast, O2, half"),
        (lambda: ledger("adam", "fp32", master_weights=True), "give weights='half'"),
        (lambda: ledger("adam", "fp32", master=True), "no assumption is called 'master'"),
        (lambda: Assumptions(state="fp64"), "state='fp64'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()  # type: ignore[operator]


def test_recipes_cannot_be_changed_by_accident() -> None:
    with pytest.raises(TypeError):
        RECIPES["fp32"] = Assumptions()  # type: ignore[index]
