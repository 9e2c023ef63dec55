"""Published rates stand beside limits of the same layouts and batches; nothing fits by tuning."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.records import records
from ampcourse.benchmark.roofline import limits
from ampcourse.report.limits import limit
from ampcourse.report.published import IMAGENET, Pair, Rate, above, pairs


@pytest.fixture(scope="module")
def found() -> dict[str, Pair]:
    """The published pairs by hardware."""
    return {pair.baseline.hardware: pair for pair in pairs()}


def test_the_three_devices_are_there_with_their_own_layouts_and_batches(
    found: dict[str, Pair],
) -> None:
    runs = {
        name: [(rate.name, rate.batch) for rate in (pair.baseline, pair.other)]
        for name, pair in found.items()
    }
    assert runs == {
        "V100 16 GB": [("fp32 NCHW", 112), ("amp-fp16 NHWC", 256)],
        "A100 80 GB": [("tf32 NCHW", 256), ("amp-fp16 NHWC", 256)],
        "RTX 3090": [("amp-fp16 NCHW", 512), ("amp-fp16 NHWC", 512)],
    }


def test_published_numbers_are_those_of_the_records(found: dict[str, Pair]) -> None:
    known = {result.hardware: result for result in records("published")}
    for name in ("V100 16 GB", "A100 80 GB"):
        assert found[name].published == known[name].speedup
    assert found["RTX 3090"].published == 1218.01 / 826.06


def test_limits_are_the_rooflines_of_torchvisions_resnet50(found: dict[str, Pair]) -> None:
    torchvision = pytest.importorskip("torchvision")
    with torch.device("meta"):
        model = torchvision.models.resnet50()
    shape = (256, 3, 224, 224)
    first = limits(model, shape, "A100", ["tf32"], "NCHW")["tf32"]
    both = limits(model, shape, "A100", ["tf32", "amp-fp16"], "NHWC")
    pair = found["A100 80 GB"]
    assert pair.baseline.limit == first.images_per_second
    assert pair.other.limit == both["amp-fp16"].images_per_second
    expected = both["amp-fp16"].images_per_second / both["tf32"].images_per_second
    assert pair.equal_layouts == expected


def test_the_limit_hardly_depends_on_the_batch_that_was_published(found: dict[str, Pair]) -> None:
    for rate, device in (
        (found["V100 16 GB"].baseline, "V100"),
        (found["RTX 3090"].baseline, "RTX 3090"),
        (found["RTX 3090"].other, "RTX 3090"),
    ):
        own = limit(IMAGENET, device, rate.recipe, rate.batch)
        assert own is not None
        assert rate.batch != 256
        assert abs(own / rate.limit - 1) < 0.005


def test_no_published_rate_is_above_its_limit_or_far_below(found: dict[str, Pair]) -> None:
    for pair in found.values():
        assert 0.6 < pair.baseline.share < 1
        assert 0.6 < pair.other.share < 1


def test_a_ratio_above_a_limit_is_explained_and_only_such_a_one(found: dict[str, Pair]) -> None:
    assert found["V100 16 GB"].remarks == []
    a100, rtx = found["A100 80 GB"], found["RTX 3090"]
    assert a100.equal_layouts < a100.published < a100.limit
    [remark] = a100.remarks
    assert f"the ratio 2.63 is above {a100.equal_layouts:.2f}, the limit if both ran NHWC" in remark
    assert f"up to {a100.limit:.2f} is possible" in remark
    assert rtx.published > rtx.limit
    [remark] = rtx.remarks
    assert f"amp-fp16 NCHW reached {rtx.baseline.share:.0%} of its own limit" in remark


def test_a_rate_above_its_limit_is_explained(found: dict[str, Pair]) -> None:
    pair = found["V100 16 GB"]
    faster = replace(pair.other, published=1.1 * pair.other.limit)
    remarks = replace(pair, other=faster).remarks
    assert remarks[0].startswith("V100 16 GB, amp-fp16 NHWC is 10% above its limit, within the 20%")
    assert "stays in a cache" in remarks[0]


def test_the_sentence_for_what_is_above_knows_how_far_the_model_is_trusted() -> None:
    assert above(1.0, "a run") == ""
    assert "50% above its limit, beyond the 20%" in above(1.5, "a run")


def test_a_pair_of_layouts_has_no_other_ratio_of_equal_layouts() -> None:
    first = Rate("a GPU", Recipe("amp-fp16", "NCHW"), 8, 100, 200)
    pair = Pair(first, replace(first, recipe=Recipe("amp-fp16", "NHWC"), limit=300), 1.0, "a test")
    assert not pair.equal_layouts_matter
    assert pair.remarks == []
