"""The kernels of ResNet50's training step, for those who bring no network of their own."""

from __future__ import annotations

from functools import cache

from ampcourse.benchmark.layers import Workload, workload

SHAPE = (256, 3, 224, 224)


@cache
def resnet50_works() -> dict[str, Workload]:
    """Return torchvision's ResNet50 in FP32 and with AMP; its kernels alone, no numbers."""
    from torchvision.models import resnet50

    net = resnet50()
    return {recipe: workload(net, SHAPE, recipe) for recipe in ("fp32", "amp-fp16")}
