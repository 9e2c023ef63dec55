"""A small transformer that reads an image as a sentence: 28 rows are 28 tokens."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

ROWS, CLASSES = 28, 10


class SmallTransformer(nn.Module):
    """Images of 28 x 28, one token a row, to the logits of ten classes.

    Pre-norm blocks of attention and a two-layer net, learned positions, a mean over the tokens
    at the end. Takes FP32 tensors of shape (batch, 28, 28); ``width`` is that of a token.
    Raises ValueError where the heads do not divide the width.

    >>> SmallTransformer()(torch.zeros(2, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(self, width: int = 64, depth: int = 2, heads: int = 4) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width = {width} is no multiple of heads = {heads}")
        self.embed = nn.Linear(ROWS, width)
        self.positions = nn.Parameter(0.02 * torch.randn(ROWS, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return one row of logits for each image."""
        tokens = self.blocks(self.embed(images) + self.positions)
        return self.head(self.norm(tokens).mean(1))


class Block(nn.Module):
    """One layer: every token looks at the others, then at itself."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_net = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return tokens of the same shape, (batch, tokens, width)."""
        tokens = tokens + self._attention(self.before_attention(tokens))
        return tokens + self.narrow(functional.gelu(self.widen(self.before_net(tokens))))

    def _attention(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, length, width = tokens.shape
        split = self.qkv(tokens).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.project(mixed.transpose(1, 2).reshape(batch, length, width))
