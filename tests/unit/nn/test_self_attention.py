"""Self-attention: heads of any width, shared keys, norms, and tokens that see everything."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from longdoc.errors import UsageError
from longdoc.nn import Encoder
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position import PositionPlan, RotaryPosition, ShawPosition
from longdoc.nn.self_attention import GlobalTokens, SelfAttention
from nn_kit import padded, some_ids, tiny_config, tiny_encoder
from reference.attention import attend_slowly


def split(x: torch.Tensor, heads: int) -> torch.Tensor:
    return torch.stack(x.chunk(heads, -1), 1)


def test_heads_share_keys_and_values_and_have_a_width_of_their_own() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(width=5, heads=6, head_width=4, key_value_heads=2).double()
    x = torch.randn(2, 3, 5, dtype=torch.float64)
    q, k, v = split(attention.query(x), 6), split(attention.key(x), 2), split(attention.value(x), 2)
    shared = [0, 0, 0, 1, 1, 1]  # neighbouring query heads have one key head
    heads = attend_slowly(q, k[:, shared], v[:, shared], None)
    expected = attention.output(torch.cat(list(heads.unbind(1)), -1))
    assert torch.allclose(attention(x, None, PositionPlan(), 0), expected, atol=1e-12)
    table = torch.randn(7, 5, dtype=torch.float64)
    of_queries, of_keys = attention._project_table(table)
    assert of_queries.shape == of_keys.shape == (6, 7, 4)
    assert torch.equal(of_keys[:3], of_keys[:1].expand(3, -1, -1))


def test_queries_and_keys_are_normed_over_all_heads() -> None:
    torch.manual_seed(0)
    norms = [nn.LayerNorm(6, eps=1e-6), nn.LayerNorm(6, eps=1e-6)]
    for norm in norms:
        nn.init.normal_(norm.weight)
    attention = SelfAttention(width=6, heads=2, query_norm=norms[0], key_norm=norms[1]).double()
    x = torch.randn(1, 4, 6, dtype=torch.float64)
    q = split(norms[0].double()(attention.query(x)), 2)
    k = split(norms[1].double()(attention.key(x)), 2)
    heads = attend_slowly(q, k, split(attention.value(x), 2), None)
    expected = attention.output(torch.cat(list(heads.unbind(1)), -1))
    assert torch.allclose(attention(x, None, PositionPlan(), 0), expected, atol=1e-12)


def test_global_tokens_have_projections_of_their_own_and_see_everything() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(width=6, heads=3, global_projections=True).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    valid = torch.tensor([[True] * 5, [True, True, True, False, False]])
    is_global = torch.tensor([[True, False, False, True, False], [True, False, False, False, False]])
    padding = AttentionMask.padding(valid)
    near = AttentionMask.sliding_window(torch.arange(5)[None], 1) | AttentionMask.globals_(is_global)
    mask = padding & near
    rotary = RotaryPosition(2)
    plan = rotary.plan(torch.arange(5)[None], x.dtype)
    found = attention(x, mask, plan, 0, GlobalTokens.of(is_global, padding))

    def attended(parts: tuple[nn.Module, ...], allowed: torch.Tensor) -> torch.Tensor:
        q, k, v = (split(part(x), 3) for part in parts)
        q, k = plan.rotate(q, k, 0)
        heads = attend_slowly(q, k, v, allowed)
        return torch.cat(list(heads.unbind(1)), -1)

    local = attended((attention.query, attention.key, attention.value), mask.allowed)
    wide = attended((attention.global_query, attention.global_key, attention.global_value), padding.allowed)
    expected = attention.output(torch.where(is_global[..., None], wide, local))
    assert torch.allclose(found[valid], expected[valid], atol=1e-12)


def test_the_first_token_of_each_packed_text_is_global() -> None:
    encoder = tiny_encoder(window=1, global_tokens=1)
    texts = [some_ids(6, seed=1), some_ids(4, seed=2)]
    packed = torch.tensor([texts[0] + texts[1]])
    segments = torch.tensor([[0] * 6 + [1] * 4])
    found = encoder(packed, segments=segments)[0]
    for text, span in ((texts[0], slice(0, 6)), (texts[1], slice(6, 10))):
        assert torch.allclose(found[span], encoder(torch.tensor([text]))[0], atol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_first_real_token_is_global_wherever_padding_stands(side: str) -> None:
    encoder = tiny_encoder(window=1, global_tokens=2)
    ids, valid = padded([some_ids(7), some_ids(3), some_ids(1)], 9, side)
    out = encoder(ids, valid)
    for row, length in enumerate((7, 3, 1)):
        alone = encoder(torch.tensor([some_ids(length)]))[0]
        assert torch.allclose(out[row][valid[row]], alone, atol=1e-5)


def test_a_global_token_is_heard_at_any_distance() -> None:
    encoder = tiny_encoder(layers=1, window=1, global_tokens=1)
    ids = torch.tensor([some_ids(9)])
    changed = ids.clone()
    changed[0, 0] = (ids[0, 0] % 40) + 1
    assert (encoder(ids) != encoder(changed)).any(-1).all()
    changed = ids.clone()
    changed[0, 8] = (ids[0, 8] % 40) + 1
    assert (encoder(ids) != encoder(changed)).any(-1)[0].tolist() == [True] + [False] * 6 + [True] * 2


def test_windows_may_differ_from_layer_to_layer() -> None:
    def reach(**changes: object) -> list[bool]:
        encoder = tiny_encoder(**changes)
        ids = torch.tensor([some_ids(9)])
        changed = ids.clone()
        changed[0, 8] = (ids[0, 8] % 40) + 1
        return (encoder(ids) != encoder(changed)).any(-1)[0].tolist()

    assert reach(layers=2, window=(1, 3)) == [False] * 4 + [True] * 5
    assert reach(layers=3, window=(2, 0)) == [False] * 4 + [True] * 5, "from the first again"
    assert all(reach(layers=2, window=(1, None)))


def test_encodings_that_speak_to_values_cannot_have_global_tokens() -> None:
    own = ShawPosition(head_width=4)  # of a configuration this is known before
    encoder = Encoder(tiny_config(position={"kind": "none"}, window=1, global_tokens=1), position=own)
    message = (
        r"^`position` must not speak to the values where there are global tokens, but does\. Choose another encoding, "
        r"or 0 global tokens\.$"
    )
    with pytest.raises(UsageError, match=message):
        encoder(torch.tensor([some_ids(4)]))


def test_query_heads_divide_into_groups() -> None:
    with pytest.raises(
        UsageError, match=r"^`heads` must be a multiple of `key_value_heads` \(3\), but is 4 instead\.$"
    ):
        SelfAttention(width=8, heads=4, key_value_heads=3)
