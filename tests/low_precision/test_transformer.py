"""The small transformer: its shapes, its attention against torch's own layer, its size."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from ampcourse.low_precision.transformer import Block, SmallTransformer


def test_images_become_logits_of_ten_classes() -> None:
    model = SmallTransformer(width=32, depth=3, heads=2)
    assert model(torch.randn(5, 28, 28)).shape == (5, 10)
    assert len(model.blocks) == 3
    with pytest.raises(ValueError, match="width = 30 is no multiple of heads = 4"):
        SmallTransformer(width=30)


def test_a_block_is_torchs_pre_norm_encoder_layer() -> None:
    torch.manual_seed(0)
    ours = Block(32, heads=4)
    theirs = nn.TransformerEncoderLayer(
        32, 4, 128, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    pairs = {
        "self_attn.in_proj_": ours.qkv,
        "self_attn.out_proj.": ours.project,
        "linear1.": ours.widen,
        "linear2.": ours.narrow,
        "norm1.": ours.before_attention,
        "norm2.": ours.before_net,
    }
    theirs.load_state_dict(
        {
            prefix + name: value
            for prefix, module in pairs.items()
            for name, value in module.state_dict().items()
        }
    )
    tokens = torch.randn(3, 28, 32, dtype=torch.float64)
    difference = ours.double()(tokens) - theirs.double()(tokens)
    assert difference.abs().max() < 2.0**-44  # both in FP64


def test_rows_are_tokens_whose_order_counts() -> None:
    torch.manual_seed(0)
    model = SmallTransformer(width=32, depth=1)
    images = torch.randn(2, 28, 28)
    moved = images.flip(1)
    assert not torch.allclose(model(images), model(moved))
    with torch.no_grad():
        model.positions.zero_()
    assert torch.allclose(model(images), model(moved), atol=1e-5)
