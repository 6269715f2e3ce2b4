"""Buckets of distances: T5's and MPNet's edges, one table for all layers, T5's missing scale."""

from __future__ import annotations

import re

import pytest
import torch
from pydantic import ValidationError

from longdoc.errors import UsageError
from longdoc.nn.attend import attend
from longdoc.nn.position import BucketsConfig, BucketsPosition, Geometry
from longdoc.nn.position.buckets import distance_buckets
from reference.distances import t5_bucket

FAR = torch.arange(-3000, 3001)


def test_equals_the_rule_distance_by_distance() -> None:
    for buckets, max_distance in ((32, 128), (8, 20), (4, 2), (64, 1000)):
        ours = distance_buckets(FAR, buckets, max_distance)
        expected = torch.tensor([t5_bucket(int(d), buckets, max_distance) for d in FAR])
        wrong = FAR[ours != expected].tolist()
        # Float32 logarithms put a distance that lies on an edge into either bucket; there are a handful of edges.
        assert len(wrong) <= 4, (buckets, wrong)
        assert ((ours - expected).abs() <= 1).all()
        assert int(ours.max()) == buckets - 1


@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (64, 500), (16, 100)])
def test_equals_t5_and_mpnet_in_transformers(buckets: int, max_distance: int) -> None:
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
    from transformers.models.t5.modeling_t5 import T5Attention

    ours = distance_buckets(FAR, buckets, max_distance)
    t5 = T5Attention._relative_position_bucket(FAR, True, buckets, max_distance)
    assert torch.equal(ours, t5)
    assert torch.equal(ours, MPNetEncoder.relative_position_bucket(FAR, buckets, max_distance))


def test_the_bias_is_the_row_of_the_bucket_for_each_head() -> None:
    encoding = BucketsPosition(3, buckets=8, max_distance=20)
    with torch.no_grad():
        encoding.weight.copy_(torch.arange(8.0)[:, None] + torch.tensor([0.0, 100.0, 200.0]))
    positions = torch.tensor([[5, 6, 40], [0, 1, 2]])
    plan = encoding.plan(positions, torch.float32)
    bias = plan.bias(torch.zeros(2, 3, 3, 4), 0)
    assert bias.shape == (2, 3, 3, 3)
    assert bias[0, 1].tolist() == [[100.0, 105.0, 107.0], [101.0, 100.0, 107.0], [103.0, 103.0, 100.0]]
    assert bias[1, 0, 0].tolist() == [0.0, 5.0, 6.0]
    assert plan.bias(torch.zeros(2, 3, 3, 4), 7) is bias, "one table serves all layers"


def test_equals_the_attention_of_t5() -> None:
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    torch.manual_seed(0)
    config = T5Config(d_model=32, num_heads=4, d_kv=8, is_decoder=False)
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double().eval()
    x = torch.randn(2, 150, 32, dtype=torch.float64)
    ours = BucketsPosition(4, scaled=False).double()
    with torch.no_grad():
        theirs.relative_attention_bias.weight.normal_()
        ours.weight.copy_(theirs.relative_attention_bias.weight)
    plan = ours.plan(torch.arange(150)[None], torch.float64)
    assert plan.scale == 1.0, "T5 does not divide by the root of the head's width"
    q, k, v = (f(x).view(2, 150, 4, 8).transpose(1, 2) for f in (theirs.q, theirs.k, theirs.v))
    out = attend(q, k, v, None, bias=plan.bias(q, 0), scale=plan.scale).transpose(1, 2).flatten(2)
    assert torch.allclose(theirs.o(out), theirs(x)[0], atol=1e-6)


def test_only_the_distance_matters() -> None:
    encoding = BucketsPosition(2)
    q = torch.zeros(1, 2, 300, 4)
    here = encoding.plan(torch.arange(300)[None], torch.float32).bias(q, 0)
    there = encoding.plan(torch.arange(7000, 7300)[None], torch.float32).bias(q, 0)
    assert torch.equal(here, there)


def test_the_configuration_scales_by_default() -> None:
    geometry = Geometry(width=24, heads=3, head_width=8, layers=1, max_len=9)
    assert BucketsConfig().build(geometry).plan(torch.arange(3)[None], torch.float32).scale is None
    assert BucketsConfig(buckets=8).build(geometry).weight.shape == (8, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"buckets": 6}, "`buckets` must be a multiple of 4 and at least 4, but is 6 instead."),
        ({"buckets": 0}, "`buckets` must be a multiple of 4 and at least 4, but is 0 instead."),
        (
            {"max_distance": 8},
            "`max_distance` must be greater than 8, the distances that have a bucket each, but is 8 instead.",
        ),
    ],
)
def test_impossible_settings_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        BucketsPosition(2, **arguments)
    with pytest.raises(ValidationError):
        BucketsConfig(**arguments)
