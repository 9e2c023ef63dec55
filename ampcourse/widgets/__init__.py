"""Interactive views for the lessons: formats, updates, gradients, scales, types, memory, shards.

Importing this package loads no widget library; the functions do, when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ampcourse.benchmark.layers import Workload
    from ampcourse.formats import FloatFormat
    from ampcourse.widgets.bits.explorer import Explorer
    from ampcourse.widgets.bits.side_by_side import SameNumber
    from ampcourse.widgets.block.widget import BlockFMA
    from ampcourse.widgets.flow.widget import TypeFlow
    from ampcourse.widgets.memory.widget import CheckpointSegments, MemoryLedger
    from ampcourse.widgets.roofline.widget import RooflineExplorer
    from ampcourse.widgets.scaler.widget import ScalerScrubber
    from ampcourse.widgets.scaling.widget import Outlier
    from ampcourse.widgets.update.widget import LostUpdate
    from ampcourse.widgets.window.widget import GradientWindow
    from ampcourse.widgets.zero.widget import Shards

__all__ = [
    "block_fma",
    "checkpoint_segments",
    "explorer",
    "gradient_window",
    "lost_update",
    "memory_ledger",
    "outlier",
    "roofline_explorer",
    "same_number",
    "scaler_scrubber",
    "shards",
    "type_flow",
]


def explorer(
    format: str | FloatFormat = "fp16", value: str | float = "0.1", *, code: int | None = None
) -> Explorer:
    """Return the bit explorer: one number in one format, every bit of it to flip.

    The format is a FloatFormat or a name; the value a number or the text of one. With `code`
    the explorer starts from those bits instead. The result shows its state as `format`,
    `code`, `value` and `typed`, which can also be assigned.

    Raises ValueError for an unknown format, a malformed number or one the format has no code
    for, and ImportError with the install command where ipywidgets or anywidget is missing.

    >>> explorer("fp16", "0.1").code == 0x2E66
    True
    """
    from ampcourse.widgets.bits.explorer import Explorer

    return Explorer(format, value, code=code)


def same_number(value: str | float = "0.1") -> SameNumber:
    """Return one real number in eight formats side by side.

    Raises ValueError for a malformed number, and ImportError with the install command where
    ipywidgets or anywidget is missing.

    >>> same_number("0.1").rows["fp16"].code == 0x2E66
    True
    """
    from ampcourse.widgets.bits.side_by_side import SameNumber

    return SameNumber(value)


def lost_update(
    fmt: str | FloatFormat = "fp16",
    w: str | float = "1",
    delta: str | float = "0.001",
    *,
    mode: str = "nearest_even",
    seed: int = 0,
) -> LostUpdate:
    """Return a weight and an update Δ to drag until w + Δ == w.

    The weight is rounded to the format, Δ is exact, and their sum is rounded once by the mode:
    one of "nearest_even", "toward_zero", "up", "down" and "stochastic", whose draws repeat from
    the seed. The result shows its state as `format`, `w`, `delta` and `mode`, which can also be
    assigned, and as `result` and `lost`.

    Raises ValueError for an unknown format or mode, one without a sign, and a number that is
    malformed or not finite; ImportError with the install command where ipywidgets or anywidget
    is missing.

    >>> lost_update("fp16", 1, "0x1p-11").lost, lost_update("fp16", 1, "-0x1p-11").lost
    (True, False)
    """
    from ampcourse.widgets.update.widget import LostUpdate

    return LostUpdate(fmt, w, delta, mode=mode, seed=seed)


def block_fma(
    a: Sequence[str | float] = ("2^11", 0, 0, 0, "-2^11"),
    b: Sequence[str | float] = (1, 1, 1, 1, 1),
    c: str | float = "3*2^-14",
    gpu: str = "H100",
    input_format: str = "fp16",
    output_format: str = "fp32",
) -> BlockFMA:
    """Return C + the sum of a[k] b[k] on a Tensor Core, taken apart term by term.

    Numbers are floats or text such as "0.1", "2^-14", "3*2^-14" or "1 - 2^-24", up to 32 of
    them; a and b are rounded to the input format, c to the output format. Longer sums than
    the GPU's block run through several. The result shows its state as `gpu`, `result`,
    `correctly_rounded`, `stage` and `block`; `gpu` and `stage` can be assigned.

    Raises ValueError for malformed numbers, for lengths that differ and for formats that the
    GPU lacks; ImportError with the install command where ipywidgets or anywidget is missing.

    >>> [block_fma(gpu=gpu).result * 2**14 for gpu in ("V100", "A100", "H100")]
    [0.0, 2.0, 3.0]
    """
    from ampcourse.widgets.block.widget import BlockFMA

    return BlockFMA(a, b, c, gpu, input_format, output_format)


def gradient_window(
    histograms: Any, fmt: str | FloatFormat = "fp16", *, scale: float = 1.0
) -> GradientWindow:
    """Return a histogram of exponents under a format's range, with a loss scale to slide.

    The histograms are one of `ampcourse.dynamic_range`'s (or its `as_plain()`), several, a dict
    of them by layer, or a dict of such dicts by step. The scale is a power of two from 1 to
    2^24. The result shows its state as `format`, `scale`, `layer` and `step`, which can also be
    assigned, and as `report`; `update(histograms)` shows others in place.

    Raises ValueError for an unknown format, another scale, and histograms that are incomplete
    or share a name; TypeError for what is no histogram; ImportError with the install command
    where ipywidgets or anywidget is missing.

    >>> from ampcourse.dynamic_range import exponent_histogram
    >>> h = exponent_histogram([0.0, 2.0**-25, 2.0**-20, 1.0])
    >>> gradient_window(h).report.flushed, gradient_window(h, scale=2).report.flushed
    (1, 0)
    """
    from ampcourse.widgets.window.widget import GradientWindow

    return GradientWindow(histograms, fmt, scale=scale)


def scaler_scrubber(
    init_scale: str | float = 2**16,
    growth_factor: str | float = 2.0,
    backoff_factor: str | float = 0.5,
    growth_interval: int = 5,
    steps: int = 40,
    *,
    infs: Iterable[int] = (),
) -> ScalerScrubber:
    """Return a dynamic loss scale through time, to scrub and to put infs into.

    Steps are counted from 1; those of `infs` have an inf in a gradient. The result shows its
    state as `history`, `step` and `infs`; the last two can be assigned.

    Raises ValueError for settings that GradScaler would not take, an interval beyond 20 or
    steps beyond 200; ImportError with the install command where ipywidgets or anywidget is
    missing.

    >>> [step.after.scale for step in scaler_scrubber(growth_interval=2, steps=4).history]
    [65536.0, 131072.0, 131072.0, 262144.0]
    """
    from ampcourse.widgets.scaler.trace import ScalerTrace
    from ampcourse.widgets.scaler.widget import ScalerScrubber

    settings = (init_scale, growth_factor, backoff_factor)
    return ScalerScrubber(ScalerTrace.of(*settings, growth_interval, steps, infs))


def type_flow(net: str = "small_cnn", device: str = "cpu", lower: str = "bfloat16") -> TypeFlow:
    """Return the ops of a net under autocast: which list each is on, and in which type it runs.

    Nets are "small_cnn", "transformer" and "pitfalls", devices "cpu" and "cuda", `lower` is
    "float16" or "bfloat16". The result shows its state as `net`, `device`, `lower` and `op`,
    which can also be assigned, and every op with its casts as `flows`.

    Raises ValueError for another net, device or type; ImportError with the install command where
    ipywidgets or anywidget is missing.

    >>> {flow.node.name: flow.gives for flow in type_flow().flows}["loss"]
    'float32'
    """
    from ampcourse.widgets.flow.state import FlowState
    from ampcourse.widgets.flow.widget import TypeFlow

    return TypeFlow(FlowState(net, device, lower))


def memory_ledger(
    optimizer: str = "adam", recipe: str = "autocast", model: str = "resnet50", batch: int = 32
) -> MemoryLedger:
    """Return the ledger of a training step: what is held, in bytes, at its two moments.

    Optimizers are "sgd", "momentum" and "adam", recipes "fp32", "autocast", "O2" and "half",
    models "resnet50" and "perceptron"; the batch is a power of two up to 4096. The result shows
    its state as `optimizer`, `recipe` and `batch`, which can also be assigned, and the bytes of
    each parameter as `ledger`.

    Raises ValueError for another optimizer, recipe, model or batch; ImportError with the install
    command where ipywidgets or anywidget is missing.

    >>> memory_ledger("adam", "autocast").ledger.kept, memory_ledger("adam", "half").ledger.kept
    (16, 8)
    """
    from ampcourse.memory.ledger import Assumptions
    from ampcourse.widgets.memory.state import LedgerState
    from ampcourse.widgets.memory.widget import MemoryLedger

    start = LedgerState(model, optimizer, Assumptions(), batch)
    return MemoryLedger(start.with_recipe(recipe))


def checkpoint_segments(layers: int = 25, segments: int = 1) -> CheckpointSegments:
    """Return a chain of equal layers, to divide into segments that are checkpointed.

    Between 1 and 100 layers, between 1 and as many segments. The result shows its state as
    `layers` and `segments`, which can also be assigned, and as `peak` and `recomputed`.

    Raises ValueError for other numbers; ImportError with the install command where ipywidgets or
    anywidget is missing.

    >>> checkpoint_segments(25, 1).peak, checkpoint_segments(25, 5).peak
    (25, 9)
    """
    from ampcourse.widgets.memory.state import SegmentState
    from ampcourse.widgets.memory.widget import CheckpointSegments

    return CheckpointSegments(SegmentState(layers, segments))


def roofline_explorer(
    works: Mapping[str, Workload] | None = None, device: str = "V100", recipe: str = "amp-fp16"
) -> RooflineExplorer:
    """Return the layers of a training step under a device's roof, beside a convolution to move.

    `works` are kernels of one step as `ampcourse.benchmark.layers.workload` returns them, under
    "fp32" and "amp-fp16"; without them ResNet50 is rehearsed, 256 images of 224 pixels, which takes
    some seconds the first time. Devices are those of `ampcourse.benchmark.devices`, recipes "fp32",
    "tf32" and "amp-fp16". The result shows its state as `device`, `recipe`, `layer` and `own`,
    which can also be assigned, and as `limit`.

    Raises ValueError for another device or recipe and for works that lack one of the two;
    ImportError with the install command where ipywidgets or anywidget is missing.

    >>> from torch.nn import Linear
    >>> from ampcourse.benchmark.layers import workload
    >>> works = {r: workload(Linear(512, 512), (64, 512), r) for r in ("fp32", "amp-fp16")}
    >>> roofline_explorer(works, "V100").own.channels
    64
    """
    from ampcourse.widgets.roofline.rehearsed import resnet50_works
    from ampcourse.widgets.roofline.state import RooflineState
    from ampcourse.widgets.roofline.widget import RooflineExplorer

    return RooflineExplorer(RooflineState(works or resnet50_works(), device, recipe))


def outlier(exponent: int = 1, place: int = 20, element: str = "e2m1") -> Outlier:
    """Return 64 values, one of them an outlier to drag, under three ways of sharing scales.

    The outlier is 2^exponent, 0 to 20, at place 0 to 63; the others are spread as a normal
    distribution is. Elements are "e2m1" or "e4m3"; their scales are one in FP32 for all, E8M0
    for 32 (MXFP4, MXFP8) and E4M3 for 16 (NVFP4). The result shows its state as `exponent`,
    `place` and `element`, which can also be assigned, and as `values` and `fates`.

    Raises ValueError for other numbers or elements; ImportError with the install command where
    ipywidgets or anywidget is missing.

    >>> [len(fate.flushed) for fate in outlier(12).fates]
    [63, 35, 18]
    """
    from ampcourse.widgets.scaling.state import OutlierState
    from ampcourse.widgets.scaling.widget import Outlier

    return Outlier(OutlierState(element, place, exponent))


def shards(
    stage: int = 0,
    ranks: int = 4,
    parameters: int = 7_500_000_000,
    optimizer: str = "adam",
    recipe: str = "masters",
) -> Shards:
    """Return what each rank keeps under a stage of ZeRO, painted rank by rank.

    Stages are 0 (DDP) to 3 (FSDP2), ranks 1 to 8 and powers of two to 1024; optimizers "sgd",
    "momentum" and "adam"; recipes "masters" (16 bits with FP32 masters), "autocast" (FP32) and
    "half" (16 bits only). The result shows its state under these names, which can also be
    assigned, and what the fullest rank keeps as `bytes`.

    Raises ValueError for another stage, number, optimizer or recipe; ImportError with the install
    command where ipywidgets or anywidget is missing.

    >>> [shards(stage, 64).bytes.total / 1e9 for stage in (0, 3)]
    [120.0, 1.875]
    """
    from ampcourse.widgets.zero.state import ShardState
    from ampcourse.widgets.zero.widget import Shards

    return Shards(ShardState(stage, ranks, parameters, optimizer, recipe))
