"""The networks that the lessons train live."""

from __future__ import annotations

from torch import nn


def small_cnn(width: int = 16) -> nn.Sequential:
    """Return a CNN for 28 × 28 grey images and ten classes: `width` and then 2·`width` channels.

    Two convolutions of 3 × 3, each followed by ReLU and a pooling that halves the image, and
    one linear layer. Input (n, 1, 28, 28), output (n, 10).
    """
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * 7 * 7, 10),
    )
