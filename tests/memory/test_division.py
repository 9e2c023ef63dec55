"""What equal layers in segments hold is what a chain of linear layers really holds."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ampcourse.memory.activations import SavedTensors
from ampcourse.memory.checkpointing import Checkpointed
from ampcourse.memory.division import EqualLayers, best_segments

UNIT = 16 * 8 * 4  # the bytes of one layer's input below


@pytest.mark.parametrize(("layers", "segments"), [(1, 1), (9, 3), (9, 1), (9, 9), (10, 3), (7, 2)])
def test_kept_peak_and_recomputation_are_those_counted_in_a_run(layers: int, segments: int) -> None:
    torch.manual_seed(0)
    chain = nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers)))
    x = torch.randn(16, 8)
    with SavedTensors(chain) as saved:
        output = Checkpointed(chain, segments)(x)
        kept = saved.live
        output.backward(torch.ones_like(output))
    found = EqualLayers(layers, segments)
    again = sum(saved.calls[str(i)] - 1 for i in range(layers))
    counted = (kept / UNIT, saved.peak / UNIT, again)
    assert (found.kept, found.peak, found.recomputed) == counted


def test_the_rounded_root_is_among_the_best_numbers_of_segments() -> None:
    for layers in range(1, 150):
        peaks = [EqualLayers(layers, k).peak for k in range(1, layers + 1)]
        assert peaks[best_segments(layers) - 1] == min(peaks)


def test_more_segments_than_layers_are_refused() -> None:
    with pytest.raises(ValueError, match="segments=4 must be between 1 and the 3 layers"):
        EqualLayers(3, 4)
