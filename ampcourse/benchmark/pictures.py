"""The pictures a benchmark trains on: FashionMNIST, CIFAR10 if it is there, or made up.

Nothing is ever downloaded. Data in the folder `data` next to the package, which git ignores,
travels with a copy of the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from ampcourse.benchmark.cifar10 import cifar10
from ampcourse.benchmark.machine import Machine
from ampcourse.training.data import fashion_mnist

NAMES = ("fashion-mnist", "cifar10", "synthetic")

# Channel means and standard deviations of the training images, over 255.
_FASHION_MNIST = ((0.2860,), (0.3530,))
_CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))


@dataclass(frozen=True)
class Pictures:
    """Images as uint8 (n, channels, height, width), labels as int64, and how to prepare them.

    `size` is the side in pixels that the network gets; `source` says in words which data it is.
    """

    name: str
    source: str
    size: int
    classes: int
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    mean: Sequence[float]
    std: Sequence[float]

    def __repr__(self) -> str:
        return f"{self.source}, {self.size} px"

    @property
    def channels(self) -> int:
        """Channels of an image."""
        return self.train_images.shape[1]

    def to(self, machine: Machine) -> Pictures:
        """Return the same with all images and labels on the machine's device."""
        names = ("train_images", "train_labels", "test_images", "test_labels")
        return replace(self, **{name: machine.to(getattr(self, name)) for name in names})

    def inputs(self, images: torch.Tensor) -> torch.Tensor:
        """Return uint8 images as a network wants them: FP32, `size` pixels wide, normalised.

        Resized with bilinear interpolation, with antialiasing where they shrink.
        """
        x = images.float()
        if x.shape[-1] != self.size:
            side = (self.size, self.size)
            x = F.interpolate(x, side, mode="bilinear", antialias=self.size < x.shape[-1])
        mean, std = (x.new_tensor(list(v)).view(1, -1, 1, 1) for v in (self.mean, self.std))
        return x.div_(255).sub_(mean).div_(std)


def pictures(
    name: str = "fashion-mnist",
    size: int | None = None,
    use: str = "auto",
    folder: str | Path | None = None,
) -> Pictures:
    """Return the pictures of a name: "fashion-mnist", "cifar10" or "synthetic".

    `size` is the side in pixels to give the network, by default that of the data (synthetic: 28).
    `use`, for FashionMNIST, is "full", "subset" or "auto": full where it is found. `folder` is
    looked into alone; without it, FashionMNIST is looked for as `training.data` says, CIFAR10 in
    `data`. Raises ValueError for an unknown name and a size under 8, FileNotFoundError where data
    is asked for that is not there, and DatasetError for files that are truncated or damaged.
    """
    if name not in NAMES:
        raise ValueError(f"data {name!r} is unknown; choose from {', '.join(NAMES)}")
    if size is not None and size < 8:
        raise ValueError(f"image size {size} is too small for a ResNet; give 8 pixels or more")
    if name == "synthetic":
        return synthetic(size or 28)
    where = None if folder is None else Path(folder)
    found = _cifar10(where) if name == "cifar10" else _fashion_mnist(where, use)
    return replace(found, size=size or found.size)


def synthetic(size: int = 28, channels: int = 1, classes: int = 10, count: int = 512) -> Pictures:
    """Return noise with a class's own pattern in it, from one seed: learnable, worth nothing.

    For measuring speed where there is no data.
    """
    generator = torch.Generator().manual_seed(0)
    patterns = torch.rand(classes, channels, size, size, generator=generator)
    labels = torch.arange(2 * count) % classes
    noise = torch.rand(2 * count, channels, size, size, generator=generator)
    images = ((patterns[labels] + noise) * 127.5).to(torch.uint8)
    train, test = slice(0, count), slice(count, None)
    return Pictures(
        "synthetic",
        f"synthetic noise, {count} + {count} images, no real data",
        size,
        classes,
        images[train],
        labels[train],
        images[test],
        labels[test],
        (0.5,) * channels,
        (0.2,) * channels,
    )


def _fashion_mnist(folder: Path | None, use: str) -> Pictures:
    data = fashion_mnist(folder, use)
    images, labels, test_images, test_labels = (
        torch.tensor(np.array(array))
        for array in (data.train_images, data.train_labels, data.test_images, data.test_labels)
    )
    return Pictures(
        "fashion-mnist",
        data.source,
        28,
        10,
        images.unsqueeze(1),
        labels.long(),
        test_images.unsqueeze(1),
        test_labels.long(),
        *_FASHION_MNIST,
    )


def _cifar10(folder: Path | None) -> Pictures:
    found = cifar10(folder)
    tensors = [torch.tensor(array) for array in found.arrays]
    images, labels, test_images, test_labels = tensors
    return Pictures(
        "cifar10",
        found.source,
        32,
        10,
        images,
        labels.long(),
        test_images,
        test_labels.long(),
        *_CIFAR10,
    )
