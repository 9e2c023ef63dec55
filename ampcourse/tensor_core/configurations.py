"""Which rule each GPU's Tensor Cores follow: one frozen record per GPU, formats and instruction.

A Tensor Core adds L products and C in one step; `reference` has the rule, and its numbers are
the fields here. Sources, named in each record by their short names:

- "PeerJ CS 7:e330": Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor
  cores, PeerJ Computer Science 7:e330 (2021): probes run on V100, T4 and A100.
- "recorded rows": outputs recorded on eight GPUs, from MATLAB-tensor-core by Khattak and
  Mikaitis (their paper is arXiv 2512.07004); each is one instruction with normal, finite operands.
  The FP8 rows with fp32 output of H100 and H200 have results that fit a C of 0, whatever C the
  row names; that they come from wgmma is what their 13 fraction bits say, not the recording.
- "mmasim 2.1.1": the model that came with arXiv 2511.10909. What the rows do not reach
  (infinity, NaN, signed zeros, subnormals, overflow, chained blocks) follows it throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal

from ampcourse.formats import FORMATS, FP16, FloatFormat, get_format

#: mma.sync stands for the shapes that a generation brought, m16n8k8 on the T4 and so on. Turing
#: also takes Volta's m8n8k4, which there follows the V100's rule (mmasim 2.1.1): use "V100".
Instruction = Literal["mma.sync", "wgmma", "tcgen05"]
Rounding = Literal["toward_zero", "nearest_even"]


@dataclass(frozen=True)
class Configuration:
    """How one instruction of one GPU multiplies one input format and what that rests on.

    >>> rule = configuration("V100", "fp16", "fp32")
    >>> rule.block_length, rule.fraction_bits, rule.output_rounding
    (4, 23, 'toward_zero')
    >>> configuration("H100", "e4m3", "fp32").output_fraction_bits
    13
    """

    gpu: str
    #: NVIDIA's name of the generation.
    generation: str
    #: Names from ampcourse.formats; C and the result both have the output format.
    input_format: str
    output_format: str
    instruction: Instruction
    #: L: how many products are added to C in one step.
    block_length: int
    #: F: terms are cut at 2^(emax - F), emax being the largest exponent among them.
    fraction_bits: int
    #: The exponent with which a zero product or a zero C takes part in finding emax.
    zero_exponent: int
    #: How the sum is rounded to the output.
    output_rounding: Rounding
    #: Fraction bits that the output keeps, which can be fewer than its format has.
    output_fraction_bits: int
    #: Whether FP8 is converted to FP16 and done there: 32 products at a time in two blocks
    #: that start from 0, then one ordinary addition of C.
    emulated: bool
    #: "recorded rows", "recorded rows read with C = 0", "probes", "paper ..." or "inferred ...".
    evidence: str

    @property
    def input(self) -> FloatFormat:
        """The record of the format of A and B."""
        return FORMATS[self.input_format]

    @property
    def operands(self) -> FloatFormat:
        """The format that A and B have when they are multiplied: FP16 where FP8 is emulated."""
        return FP16 if self.emulated else self.input

    @property
    def output(self) -> FloatFormat:
        """The record of the format of C and of the result."""
        return FORMATS[self.output_format]

    @property
    def chunk(self) -> int:
        """How many products one step of the instruction takes: L, or 32 where emulated."""
        return EMULATED_CHUNK if self.emulated else self.block_length

    @property
    def recorded(self) -> bool:
        """Whether outputs of this GPU with these formats were recorded."""
        return self.evidence.startswith("recorded")


#: Products of one emulated FP8 instruction, mma.sync.m16n8k32.
EMULATED_CHUNK = 32

#: Bytes of an operand in a register; a block has as many bytes in every format.
_BYTES = MappingProxyType({"tf32": 4, "fp16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1})
#: Generation, and L and F for FP16.
_GPUS: Mapping[str, tuple[str, int, int]] = MappingProxyType(
    {
        "V100": ("Volta", 4, 23),
        "T4": ("Turing", 8, 24),
        "A100": ("Ampere", 8, 24),
        "A2": ("Ampere", 8, 24),
        "Ada": ("Ada Lovelace", 8, 24),
        "L40S": ("Ada Lovelace", 8, 24),
        "H100": ("Hopper", 16, 25),
        "H200": ("Hopper", 16, 25),
        "B200": ("Blackwell", 16, 25),
    }
)
GPU_NAMES = tuple(_GPUS)
#: Exponents of zero for fp32 and for fp16 output, by F of the FP16 unit.
_ZERO_EXPONENT = {
    23: {"fp32": -131, "fp16": -19},
    24: {"fp32": -132, "fp16": -20},
    25: {"fp32": -133, "fp16": -21},
}
#: Fraction bits of the FP8 units of Ada and Hopper, for alignment and for fp32 output.
_FP8_FRACTION_BITS = 13

_MODEL = "paper arXiv 2511.10909 and its model mmasim 2.1.1; no recorded rows"
_ROWS_WITHOUT_C = "recorded rows read with C = 0; C follows mmasim 2.1.1 after arXiv 2511.10909"


def configuration(
    gpu: str = "H100",
    input_format: str | FloatFormat = "fp16",
    output_format: str | FloatFormat = "fp32",
    instruction: str | None = None,
) -> Configuration:
    """Return the record for a GPU, the format of A and B, the format of C and of the result.

    Without an instruction it is the one that FP8 was made for (wgmma on Hopper, tcgen05 on
    Blackwell), else mma.sync; on these GPUs the instructions differ for FP8 only. Formats are
    FloatFormats or names, GPUs and instructions names in any case.

    Raises ValueError for a GPU, instruction or combination that does not exist; it says which
    do.

    >>> configuration("h100", "e4m3", "fp32").instruction
    'wgmma'
    >>> configuration("V100", "bf16")
    Traceback (most recent call last):
    ValueError: V100 has no Tensor Core for bf16; A100, A2, Ada, L40S, H100, H200, B200 have
    """
    name = _one_of(gpu, GPU_NAMES, "GPU")
    inputs, outputs = get_format(input_format).name, get_format(output_format).name
    known = [rule for rule in _BY_KEY.values() if rule.gpu == name and rule.input_format == inputs]
    if not known:
        raise ValueError(_no_input(name, inputs))
    known = [rule for rule in known if rule.output_format == outputs]
    if not known:
        raise ValueError(_no_output(name, inputs, outputs))
    if instruction is None:
        return known[-1] if known[0].input.bits == 8 else known[0]
    names = tuple(rule.instruction for rule in known)
    wanted = _one_of(instruction, names, f"instruction for {inputs} on {name}")
    return known[names.index(wanted)]


def _one_of(text: str, legal: tuple[str, ...], what: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a {what} is named by text, not by {text!r} ({type(text).__name__})")
    by_lower = {name.lower(): name for name in legal}
    wanted = text.strip().lower()
    if wanted in by_lower:
        return by_lower[wanted]
    close = get_close_matches(wanted, by_lower, n=1)
    suggestion = f" did you mean {by_lower[close[0]]!r}?" if close else ""
    raise ValueError(f"unknown {what} {text!r};{suggestion} there is {', '.join(legal)}")


def _no_input(gpu: str, inputs: str) -> str:
    having = dict.fromkeys(rule.gpu for rule in _BY_KEY.values() if rule.input_format == inputs)
    if having:
        return f"{gpu} has no Tensor Core for {inputs}; {', '.join(having)} have"
    legal = dict.fromkeys(rule.input_format for rule in _BY_KEY.values())
    return f"no configuration here multiplies {inputs}; they multiply {', '.join(legal)}"


def _no_output(gpu: str, inputs: str, outputs: str) -> str:
    rules = _BY_KEY.values()
    legal = {x.output_format for x in rules if x.gpu == gpu and x.input_format == inputs}
    other = {x.input_format for x in rules if x.output_format == outputs}
    having = f"; {outputs} output exists for {', '.join(sorted(other))}" if other else ""
    return f"{inputs} on {gpu} has no {outputs} output, only {' and '.join(sorted(legal))}{having}"


def _all() -> Iterator[Configuration]:
    for gpu, (generation, length, bits) in _GPUS.items():
        native = {"Hopper": "wgmma", "Blackwell": "tcgen05"}.get(generation)
        for inputs, outputs in _pairs(generation):
            for instruction in ("mma.sync", native):
                if instruction:
                    yield _record(gpu, generation, length, bits, inputs, outputs, instruction)


def _pairs(generation: str) -> Iterator[tuple[str, str]]:
    yield from (("fp16", "fp32"), ("fp16", "fp16"))
    if generation not in ("Volta", "Turing"):
        yield from (("bf16", "fp32"), ("tf32", "fp32"))
    if generation not in ("Volta", "Turing", "Ampere"):
        for inputs in ("e4m3", "e5m2"):
            yield from ((inputs, "fp32"), (inputs, "fp16"))


def _record(
    gpu: str, generation: str, length: int, bits: int, inputs: str, outputs: str, instruction: str
) -> Configuration:
    fp8 = FORMATS[inputs].bits == 8
    emulated = fp8 and instruction == "mma.sync" and generation in ("Hopper", "Blackwell")
    narrow = fp8 and not emulated and generation != "Blackwell"
    element = 2 if emulated else _BYTES[inputs]
    return Configuration(
        gpu=gpu,
        generation=generation,
        input_format=inputs,
        output_format=outputs,
        instruction=instruction,  # type: ignore[arg-type]
        block_length=length * 2 // element,
        fraction_bits=_FP8_FRACTION_BITS if narrow else bits,
        zero_exponent=_ZERO_EXPONENT[bits][outputs],
        output_rounding="toward_zero" if outputs == "fp32" else "nearest_even",
        output_fraction_bits=_output_bits(outputs, narrow),
        emulated=emulated,
        evidence=_evidence(gpu, fp8, outputs, instruction),
    )


def _output_bits(outputs: str, narrow: bool) -> int:
    if outputs == "fp32" and narrow:
        return _FP8_FRACTION_BITS
    return FORMATS[outputs].significand_bits


def _evidence(gpu: str, fp8: bool, outputs: str, instruction: str) -> str:
    if gpu == "T4":
        return f"probes on a T4 (PeerJ CS 7:e330), {_MODEL}"
    if fp8 and gpu in ("H100", "H200"):
        if (instruction, outputs) == ("wgmma", "fp32"):
            return _ROWS_WITHOUT_C
        if (instruction, outputs) == ("mma.sync", "fp32"):
            return f"inferred from {gpu}'s rows with fp16 output and B200's with fp32 output"
    if gpu == "L40S" and fp8 and outputs == "fp16":
        return "inferred from Ada's rows, the same generation; " + _MODEL
    return "recorded rows" if instruction == "mma.sync" else _MODEL


_BY_KEY: Mapping[tuple[str, str, str, str], Configuration] = MappingProxyType(
    {(rule.gpu, rule.input_format, rule.output_format, rule.instruction): rule for rule in _all()}
)
#: Every record, GPUs from the oldest on.
CONFIGURATIONS: tuple[Configuration, ...] = tuple(_BY_KEY.values())
