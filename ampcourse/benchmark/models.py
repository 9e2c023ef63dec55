"""The networks of the benchmark: torchvision's ResNets, for images of any size and channels.

"tiny" is a residual net of 6,000 weights for rehearsals: FP16 is slow on a CPU.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ampcourse.memory.checkpointing import best_segments, bounds, chain

#: Name → torchvision's kind of block and how many of them each of the four stages has.
MODELS: dict[str, tuple[str, tuple[int, int, int, int]]] = {
    "resnet50": ("Bottleneck", (3, 4, 6, 3)),
    "resnet18": ("BasicBlock", (2, 2, 2, 2)),
    "resnet10": ("BasicBlock", (1, 1, 1, 1)),
}

NAMES = (*MODELS, "tiny")

#: "stock" is torchvision's 7 × 7 convolution and pooling, which leave a quarter of each side;
#: "3x3" is what small images want: a 3 × 3 convolution that leaves the size alone.
STEMS = ("stock", "3x3")


def build(
    name: str = "resnet50",
    channels: int = 1,
    classes: int = 10,
    stem: str = "stock",
    seed: int = 0,
) -> nn.Module:
    """Return a network for images (n, channels, h, w) with `classes` outputs.

    Weights are those of torchvision's initialisation from `seed`; the global random state stays
    as it is. Raises ValueError for an unknown name or stem, and for no channel or class.
    """
    if name not in NAMES:
        raise ValueError(f"model {name!r} is unknown; choose from {', '.join(NAMES)}")
    if stem not in STEMS:
        raise ValueError(f"stem {stem!r} is unknown; choose from {', '.join(STEMS)}")
    if channels < 1 or classes < 1:
        raise ValueError(f"channels={channels} and classes={classes} must both be 1 or more")
    width = 8 if name == "tiny" else 64
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Any = _tiny(classes) if name == "tiny" else _resnet(name, classes)
        size, stride = (3, 1) if stem == "3x3" else (7, 2)
        model.conv1 = nn.Conv2d(channels, width, size, stride, size // 2, bias=False)
        nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    if stem == "3x3":
        model.maxpool = nn.Identity()
    found: nn.Module = model
    return found


def _resnet(name: str, classes: int) -> nn.Module:
    from torchvision.models import resnet

    block, stages = MODELS[name]
    return resnet.ResNet(getattr(resnet, block), list(stages), num_classes=classes)


def _tiny(classes: int) -> nn.Module:
    from torchvision.models.resnet import BasicBlock

    shorter = nn.Sequential(nn.Conv2d(8, 16, 1, 2, bias=False), nn.BatchNorm2d(16))
    layers = {
        "conv1": nn.Identity(),
        "bn1": nn.BatchNorm2d(8),
        "relu": nn.ReLU(),
        "maxpool": nn.MaxPool2d(3, 2, 1),
        "layer1": BasicBlock(8, 8),
        "layer2": BasicBlock(8, 16, 2, shorter),
        "avgpool": nn.AdaptiveAvgPool2d(1),
        "flatten": nn.Flatten(),
        "fc": nn.Linear(16, classes),
    }
    return nn.Sequential(OrderedDict(layers))


def sgd(learning_rate: float = 0.1) -> Callable[[Iterable[torch.Tensor]], torch.optim.Optimizer]:
    """Return a maker of SGD with momentum 0.9 and weight decay 1e-4, as ResNets are trained."""

    def make(parameters: Iterable[torch.Tensor]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9, weight_decay=1e-4)

    return make


def checkpointed(model: nn.Module, segments: int | None = None) -> nn.Module:
    """Return a model that computes segments of a ResNet a second time in its backward pass.

    About √n of n blocks make a segment unless `segments` is given. The model's own parameters are
    used, under their names. As always with checkpointing, the running statistics of batch norms
    move twice a step; evaluation is not affected in what it computes.
    """
    return _Checkpointed(model, segments)


class _Checkpointed(nn.Module):
    def __init__(self, model: nn.Module, segments: int | None) -> None:
        super().__init__()
        self.model = model
        layers = list(chain(model).children())
        edges = bounds(len(layers), segments or best_segments(len(layers)))
        # In a tuple, which nn.Module does not look into: the parameters are the model's.
        self.parts = tuple(nn.Sequential(*layers[start:end]) for start, end in edges)

    def train(self, mode: bool = True) -> Any:
        for part in self.parts:  # chain() makes a Flatten that the model does not have
            part.train(mode)
        return super().train(mode)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        *first, last = self.parts
        for part in first:
            x = checkpoint(part, x, use_reentrant=False) if self.training else part(x)
        output: torch.Tensor = last(x)
        return output
