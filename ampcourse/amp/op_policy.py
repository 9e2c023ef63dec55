"""Which list each op is on: what autocast does to its inputs, per device type.

For the CPU the table is read off torch itself: `ampcourse.amp.probing` calls every op and watches
for casts. For CUDA it is the list that torch documents, https://docs.pytorch.org/docs/stable/amp.html
(Autocast Op Reference); a machine with a GPU confirms it in the tests.

Nothing here needs torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

#: What each category does to floating-point inputs on the device, float64 excepted.
LISTS = MappingProxyType(
    {
        "lower_precision": "casts its inputs to the region's type, float16 or bfloat16",
        "fp32": "casts its inputs to float32",
        "promote": "casts its inputs to float32 if one of them is float32",
        "error": "refuses to run under autocast",
        "follows_input": "runs in the type of its inputs, as without autocast",
    }
)


@dataclass(frozen=True)
class OpPolicy:
    """One op's line of the table.

    `casts_inside`: the op is made of others, and torch casts those, not its inputs.
    `python`: a function in Python that calls ops; the category is what comes of it as a whole.
    `types`: the output's type for inputs in float32, in the lower precision ("lower") and mixed,
    where it was observed.
    """

    name: str
    category: str
    evidence: str
    casts_inside: bool = False
    python: bool = False
    types: tuple[str, ...] = ()


@cache
def policy(device_type: str) -> Mapping[str, OpPolicy]:
    """Return the table of a device type, "cpu" or "cuda": op name to its line.

    Names are the ones torch's documentation uses: linear, conv2d, linalg_inv, fft_fft. An op that
    is not in the table follows its inputs. Raises ValueError for another device type.

    >>> policy("cpu")["linear"].category, policy("cpu")["layer_norm"].category
    ('lower_precision', 'follows_input')
    >>> policy("cuda")["layer_norm"].category
    'fp32'
    """
    if device_type not in ("cpu", "cuda"):
        raise ValueError(
            f"no op policy is known for device type {device_type!r}; there is one for 'cpu' "
            f"and one for 'cuda'"
        )
    path = Path(__file__).with_name(f"op_policy_{device_type}.json")
    content = json.loads(path.read_text("utf-8"))
    evidence = content["evidence"]
    ops = {name: _read(name, entry, evidence) for name, entry in content["ops"].items()}
    return MappingProxyType(ops)


def _read(name: str, entry: dict[str, Any], evidence: str) -> OpPolicy:
    fields = {"evidence": evidence, **entry, "types": tuple(entry.get("types", ()))}
    return OpPolicy(name=name, **fields)
