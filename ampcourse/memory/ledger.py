"""What each parameter costs, in bytes, by optimizer and recipe, and why.

The recipes differ in four decisions, which are fields of Assumptions and can be changed one by
one. Whether a number such as 16, 18 or 20 bytes is right depends on them and on nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

_BYTES = {"fp32": 4, "half": 2}

#: State of an optimizer: what it remembers of each parameter. torch creates it in the first step.
STATE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"sgd": (), "momentum": ("momentum",), "adam": ("first moment", "second moment")}
)


@dataclass(frozen=True)
class Assumptions:
    """The decisions on which the bytes of a parameter depend; "half" is FP16 or BF16.

    >>> RECIPES["O2"].master_gradients
    True
    """

    #: Type of the model's parameters.
    weights: str = "fp32"
    #: Type of the gradients that backward leaves: torch gives them the parameter's type, a
    #: framework may add them up in FP32.
    gradients: str = "fp32"
    #: An FP32 copy of each parameter, which the optimizer updates.
    master_weights: bool = False
    #: An FP32 copy of each gradient beside it, for the optimizer.
    master_gradients: bool = False
    #: Half copies of the weights, made by autocast and kept until the backward pass has used them.
    casts: bool = False
    #: Type of the optimizer's state.
    state: str = "fp32"

    def __post_init__(self) -> None:
        for name in ("weights", "gradients", "state"):
            if getattr(self, name) not in _BYTES:
                value = getattr(self, name)
                raise ValueError(f"{name}={value!r} is no type of number here; give fp32 or half")


#: The recipes of the course. Under O2 the batch norms' parameters stay in FP32 (torch's Apex
#: default): they are few, and the ledger counts the others.
RECIPES: Mapping[str, Assumptions] = MappingProxyType(
    {
        "fp32": Assumptions(),
        "autocast": Assumptions(casts=True),
        "O2": Assumptions("half", "half", master_weights=True, master_gradients=True),
        "half": Assumptions("half", "half", state="half"),
    }
)


@dataclass(frozen=True)
class Row:
    """One thing kept for each parameter: what, in which type, how many bytes, and why.

    `passing` says that it exists from the forward to the end of the backward pass only. Gradients
    exist from the backward pass to zero_grad, but they are there when the optimizer steps.
    """

    what: str
    dtype: str
    bytes: int
    why: str
    passing: bool = False

    @property
    def is_gradient(self) -> bool:
        """Whether it is there from the backward pass on only."""
        return self.what in ("gradients", "master gradients")


@dataclass(frozen=True)
class Ledger:
    """The rows for one optimizer and one set of assumptions; it prints as a table."""

    optimizer: str
    assumptions: Assumptions
    rows: tuple[Row, ...]

    @property
    def kept(self) -> int:
        """Bytes per parameter when the optimizer steps: all rows but those that pass."""
        return sum(row.bytes for row in self.rows if not row.passing)

    @property
    def forward(self) -> int:
        """Bytes per parameter when the forward pass ends: all rows but the gradients.

        zero_grad has set them to None, and the backward pass has not begun.

        >>> ledger("adam", "autocast").forward, ledger("adam", "autocast").kept
        (14, 16)
        """
        return sum(row.bytes for row in self.rows if not row.is_gradient)

    @property
    def bytes_per_parameter(self) -> int:
        """Bytes per parameter of all rows, as if all were there at once."""
        return sum(row.bytes for row in self.rows)

    def total(self, parameters: int) -> int:
        """Return the bytes of all rows for so many parameters; ValueError for less than 0."""
        if parameters < 0:
            raise ValueError(f"{parameters} parameters cannot be; give 0 or more")
        return self.bytes_per_parameter * parameters

    def __str__(self) -> str:
        width = max(len(row.what) for row in self.rows)
        lines = [f"{row.bytes:3d}  {row.what:{width}}  {row.why}" for row in self.rows]
        return "\n".join([*lines, f"{self.bytes_per_parameter:3d}  bytes per parameter"])


def ledger(
    optimizer: str = "adam", recipe: str | Assumptions = "autocast", **changes: object
) -> Ledger:
    """Return what each parameter costs under an optimizer and a recipe.

    `optimizer` is "sgd", "momentum" or "adam"; `recipe` is one of RECIPES or Assumptions of one's
    own; `changes` replace single assumptions. Activations are not in it: they depend on the input.
    Raises ValueError for an unknown name and for masters of parameters that are in FP32 already.

    >>> ledger("adam", "fp32").bytes_per_parameter, ledger("adam", "autocast").kept
    (16, 16)
    >>> ledger("adam", "O2").bytes_per_parameter, ledger("adam", "half").bytes_per_parameter
    (20, 8)
    >>> ledger("adam", "O2", master_gradients=False).bytes_per_parameter
    16
    """
    if optimizer not in STATE:
        raise ValueError(f"optimizer {optimizer!r} is unknown; choose from {', '.join(STATE)}")
    assumed = _assumptions(recipe, changes)
    rows = [*_weight_rows(assumed), *_gradient_rows(assumed), *_state_rows(optimizer, assumed)]
    return Ledger(optimizer, assumed, tuple(rows))


def _assumptions(recipe: str | Assumptions, changes: Mapping[str, object]) -> Assumptions:
    known = [field.name for field in fields(Assumptions)]
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise ValueError(f"no assumption is called {unknown[0]!r}; there is {', '.join(known)}")
    if isinstance(recipe, str):
        if recipe not in RECIPES:
            raise ValueError(f"recipe {recipe!r} is unknown; choose from {', '.join(RECIPES)}")
        recipe = RECIPES[recipe]
    assumed = replace(recipe, **changes)  # type: ignore[arg-type]
    if assumed.weights == "fp32" and (assumed.master_weights or assumed.master_gradients):
        raise ValueError(
            "FP32 masters of weights that are in FP32 already would be the same numbers twice; "
            "give weights='half' or no masters"
        )
    return assumed


def _row(what: str, dtype: str, why: str, passing: bool = False) -> Row:
    return Row(what, dtype, _BYTES[dtype], why, passing)


def _weight_rows(assumed: Assumptions) -> list[Row]:
    rows = [_row("weights", assumed.weights, "the model's parameters")]
    if assumed.master_weights:
        rows.append(_row("master weights", "fp32", "small updates would be lost in 16 bits"))
    if assumed.casts:
        why = "autocast converts each weight once; only for weights of matrix products"
        rows.append(_row("weight casts", "half", why, passing=True))
    return rows


def _gradient_rows(assumed: Assumptions) -> list[Row]:
    same = assumed.gradients == assumed.weights
    why = "torch gives a gradient its parameter's type" if same else "added up in this type"
    rows = [_row("gradients", assumed.gradients, why)]
    if assumed.master_gradients:
        rows.append(_row("master gradients", "fp32", "unscaled here, for the FP32 update"))
    return rows


def _state_rows(optimizer: str, assumed: Assumptions) -> list[Row]:
    why = "the optimizer's memory, of the type of the weights it updates"
    return [_row(name, assumed.state, why) for name in STATE[optimizer]]
