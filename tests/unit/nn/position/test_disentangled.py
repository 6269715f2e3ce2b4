"""Disentangled attention: DeBERTa's buckets, both cross terms, its scale."""

from __future__ import annotations

import re

import pytest
import torch
from pydantic import ValidationError

from longdoc.errors import UsageError
from longdoc.nn.layers import SelfAttention
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position import DisentangledConfig, DisentangledPosition, Geometry
from longdoc.nn.position.disentangled import signed_buckets
from reference.distances import deberta_bucket, disentangled_slowly

FAR = torch.arange(-3000, 3001)


@pytest.mark.parametrize(("buckets", "max_distance"), [(256, 512), (32, 64), (8, 30), (16, 512)])
def test_buckets_equal_transformers(buckets: int, max_distance: int) -> None:
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    theirs = make_log_bucket_position(FAR, buckets, max_distance).to(torch.int64)
    assert torch.equal(signed_buckets(FAR, buckets, max_distance), theirs)


def test_buckets_equal_the_rule_distance_by_distance() -> None:
    ours = signed_buckets(FAR)
    expected = torch.tensor([deberta_bucket(int(d)) for d in FAR])
    assert ((ours - expected).abs() <= 1).all()
    assert int((ours != expected).sum()) <= 4, "no more than the distances on an edge"
    assert torch.equal(ours, -ours.flip(0)), "both directions alike"


def test_scores_equal_the_loop() -> None:
    torch.manual_seed(0)
    encoding = DisentangledPosition(8, 4, buckets=8, max_distance=20).double()
    torch.nn.init.normal_(encoding.table)
    q, k = torch.randn(2, 1, 2, 18, 4, dtype=torch.float64)
    queries, keys = torch.randn(2, 2, 16, 4, dtype=torch.float64)
    plan = encoding.plan(torch.arange(18)[None], torch.float64)
    bias = plan.content_bias(q, k, lambda table: (queries, keys), 0)
    for head in range(2):
        scores = q[0, head] @ k[0, head].T * plan.scale + bias[0, head]
        expected = disentangled_slowly(q[0, head], k[0, head], queries[head], keys[head], 8, 20)
        assert torch.allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize("length", [7, 90])
def test_equals_the_attention_of_deberta(length: int) -> None:
    from transformers.models.deberta_v2.configuration_deberta_v2 import DebertaV2Config
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

    torch.manual_seed(0)
    config = DebertaV2Config(
        hidden_size=32, num_attention_heads=4, relative_attention=True, pos_att_type=["c2p", "p2c"],
        share_att_key=True, position_buckets=16, max_relative_positions=40, attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
    )  # fmt: skip
    theirs = DisentangledSelfAttention(config).double().eval()
    ours = SelfAttention(32, 4).double()
    position = DisentangledPosition(32, 8, buckets=16, max_distance=40).double()
    torch.nn.init.normal_(position.table)
    with torch.no_grad():
        position.norm.weight.normal_()
        position.norm.bias.normal_()
    for name, mine in (("query_proj", ours.query), ("key_proj", ours.key), ("value_proj", ours.value)):
        mine.load_state_dict(getattr(theirs, name).state_dict())
    ours.output = torch.nn.Identity()
    x = torch.randn(2, length, 32, dtype=torch.float64)
    valid = torch.arange(length)[None] < torch.tensor([[length], [length - 3]])
    plan = position.plan(torch.arange(length)[None], torch.float64)
    out = ours(x, AttentionMask.padding(valid), plan, 0)
    pairs = (valid[:, None, :, None] & valid[:, None, None, :]).to(torch.int64)
    expected = theirs(x, pairs, rel_embeddings=position.norm(position.table))[0]
    assert torch.allclose(out[valid], expected[valid], atol=1e-6)


def test_only_the_distance_matters() -> None:
    encoding = DisentangledPosition(8, 4)
    assert torch.equal(encoding.rows(torch.arange(600)[None]), encoding.rows(torch.arange(600)[None] + 5000))
    rows = encoding.rows(torch.arange(3)[None])[0]
    assert rows.tolist() == [[256, 255, 254], [257, 256, 255], [258, 257, 256]], "query minus key, from the middle"
    far = encoding.rows(torch.tensor([[0, 100_000]]))[0]
    assert far.tolist() == [[256, 0], [511, 256]]


def test_the_configuration_takes_the_widths_of_the_encoder() -> None:
    encoding = DisentangledConfig().build(Geometry(width=24, heads=3, head_width=8, layers=1, max_len=9))
    assert encoding.table.shape == (512, 24)
    assert encoding.plan(torch.arange(3)[None], torch.float32).scale == pytest.approx(24**-0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"buckets": 5}, "`buckets` must be even and at least 4, but is 5 instead."),
        (
            {"buckets": 64, "max_distance": 33},
            "`max_distance` must be greater than 33, so that something is left for the logarithmic buckets, but is 33 "
            "instead.",
        ),
    ],
)
def test_impossible_settings_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        DisentangledPosition(8, 4, **arguments)
    with pytest.raises(ValidationError):
        DisentangledConfig(**arguments)
