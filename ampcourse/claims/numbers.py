"""Claims about the formats: their range, their smallest numbers, what vanishes."""

from __future__ import annotations

import math

from ampcourse.claims.claim import Claim, Finding
from ampcourse.decode import decode
from ampcourse.formats import FP16, FP32, power_of_two


def fp16_range() -> Finding:
    """FP16's and FP32's largest numbers against 2^emax, which the article gives."""
    slips = [fmt.max / power_of_two(fmt.emax) for fmt in (FP16, FP32)]
    right = all(slip == 1 for slip in slips)
    return Finding(
        "right" if right else "wrong",
        f"They reach ±{int(FP16.max)} and ±{float(FP32.max):.4g}: {float(slips[0]):.4f} and "
        f"{float(slips[1]):.7f} times as far. The significand, up to 2 − 2^(1−p), was left out.",
    )


def smallest() -> Finding:
    """The smallest positive number of FP32, and of FP16."""
    exponents = {fmt.name: math.log2(fmt.smallest) for fmt in (FP16, FP32)}
    fp32_right = exponents["fp32"] == -149
    return Finding(
        "right in part" if fp32_right else "wrong",
        f"FP32's smallest number is 2^{exponents['fp32']:.0f}, as it says; FP16's is "
        f"2^{exponents['fp16']:.0f}.",
    )


def below_the_smallest() -> Finding:
    """What torch's cast makes of numbers just below 2^-24."""
    import torch

    tie = torch.tensor(2.0**-25)
    values = torch.stack([tie, tie.nextafter(torch.tensor(1.0)), tie * 1.8])
    zero = values.half().eq(0).tolist()
    return Finding(
        "right" if all(zero) else "wrong",
        "Rounding to nearest even sends 2^-25 to 0, and everything above it, up to 2^-24, to "
        f"2^-24. Cast by torch, 2^-25 {_is_zero(zero[0])}, the next FP32 number "
        f"{_is_zero(zero[1])} and "
        f"0.9 · 2^-24 {_is_zero(zero[2])}.",
    )


def all_ones() -> Finding:
    """The two things that a biased exponent of all ones can mean."""
    kinds = [decode(code, FP32).kind for code in (0x7F800000, 0x7F800001)]
    kinds = [kind.replace("nan", "NaN") for kind in kinds]
    return Finding(
        "right" if set(kinds) == {"NaN"} else "wrong",
        f"With a significand field of 0 it is {kinds[0]}, otherwise {kinds[1]}.",
    )


def rescued_by_eight() -> Finding:
    """What becomes of [2^-27, 2^-24) in FP16, as it is and eight times as large."""
    import torch

    values = torch.logspace(-27, -24, 3001, base=2, dtype=torch.float64)[:-1].float()
    lost, kept = (x.half().eq(0).float().mean().item() for x in (values, values * 8))
    some = "right in part" if kept == 0 else "wrong"
    return Finding(
        "right" if (lost, kept) == (1, 0) else some,
        f"Of {len(values)} numbers spread evenly over these exponents {lost:.0%} become 0, and "
        f"times 8 {kept:.0%}: a factor of 8 does save all of them, but a third needed no saving. "
        "That it was enough for SSD is the paper's own result, quoted.",
    )


def overflow_undone() -> Finding:
    """An inf of FP16, converted to FP32 afterwards."""
    import torch

    made = torch.tensor(70000.0).half().float().item()
    return Finding(
        "right" if math.isfinite(made) else "wrong",
        f"70000 in FP16, converted to FP32, is {made}: what has become inf stays inf.",
    )


def _is_zero(zero: bool) -> str:
    return "is 0" if zero else "is not 0"


NUMBERS = (
    Claim("range", "FP16 spans about ±32768 and FP32 about ±1.7e38", "01", "computed", fp16_range),
    Claim(
        "smallest",
        "FP32 reaches down to 2^-149, and FP16 to a value that is garbled in print",
        "01",
        "computed",
        smallest,
    ),
    Claim("exponent 0xFF", "A biased exponent of 0xFF means NaN", "01", "computed", all_ones),
    Claim("below 2^-24", "Gradients below 2^-24 become 0", "02", "computed", below_the_smallest),
    Claim(
        "factor of 8",
        "A factor of 8 rescues the gradients in [2^-27, 2^-24)",
        "04",
        "computed",
        rescued_by_eight,
    ),
    Claim(
        "convert first",
        "Converting gradients to FP32 before the update avoids overflow",
        "05",
        "computed",
        overflow_undone,
    ),
)
