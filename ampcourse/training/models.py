"""The networks that the lessons train live."""

from __future__ import annotations

import torch
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


class Residual(nn.Module):
    """Two linear layers with batch norm whose result is added to their input, as in a ResNet."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            nn.Linear(width, width, bias=False),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Linear(width, width, bias=False),
            nn.BatchNorm1d(width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return ReLU(x + branch(x)) for x of shape (n, width)."""
        return torch.relu(x + self.branch(x))


def residual_net(width: int = 64, blocks: int = 2) -> nn.Sequential:
    """Return a residual net without convolutions, which FP16 trains fast on any CPU.

    Images, grey and of any size, are pooled to 14 × 14 first. Input (n, 1, h, w), output (n, 10).
    """
    return nn.Sequential(
        nn.AdaptiveAvgPool2d(14),
        nn.Flatten(),
        nn.Linear(14 * 14, width, bias=False),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        *(Residual(width) for _ in range(blocks)),
        nn.Dropout(0.1),
        nn.Linear(width, 10),
    )
