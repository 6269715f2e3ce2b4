"""Shaw's relative vectors: the paper's sums, clipped, without anything of size L x L x Dh."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from longdoc.errors import UsageError
from longdoc.nn.attend import attend
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position import Geometry, ShawPosition
from longdoc.nn.position.shaw import ShawConfig
from reference.positions import shaw_slowly


def shaw(width: int, clip: int, seed: int = 0, layers: int = 1) -> ShawPosition:
    encoding = ShawPosition(width, clip, layers=layers).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for table in encoding.parameters():
            table.copy_(torch.randn(table.shape, generator=generator))
    return encoding


def output(
    encoding: ShawPosition,
    states: torch.Tensor,
    positions: torch.Tensor,
    mask: AttentionMask | None = None,
    layer: int = 0,
) -> torch.Tensor:
    q, k, v = states
    plan = encoding.plan(positions, q.dtype)
    return attend(q, k, v, mask, bias=plan.bias(q, layer), value_term=plan.value_term(layer))


def states(rows: int, heads: int, length: int, width: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(
        3, rows, heads, length, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )


@settings(deadline=None, max_examples=25)
@given(
    rows=st.integers(1, 2),
    heads=st.integers(1, 2),
    length=st.integers(1, 8),
    width=st.integers(1, 5),
    clip=st.integers(1, 9),
)
def test_equals_the_sums_of_the_paper(rows: int, heads: int, length: int, width: int, clip: int) -> None:
    encoding, qkv = shaw(width, clip), states(rows, heads, length, width)
    assert encoding.values is not None
    expected = shaw_slowly(*qkv, encoding.keys[0], encoding.values[0], clip)
    assert torch.allclose(output(encoding, qkv, torch.arange(length)[None]), expected, atol=1e-10)


def test_the_key_term_equals_transformers() -> None:
    from transformers.models.wav2vec2_bert.configuration_wav2vec2_bert import Wav2Vec2BertConfig
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

    config = Wav2Vec2BertConfig(
        hidden_size=32, num_attention_heads=4, position_embeddings_type="relative_key",
        left_max_position_embeddings=3, right_max_position_embeddings=3, attention_dropout=0.0,
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = Wav2Vec2BertSelfAttention(config).double().eval()
    x = torch.randn(2, 11, 32, dtype=torch.float64)
    q, k, v = (
        project(x).view(2, 11, 4, 8).transpose(1, 2) for project in (theirs.linear_q, theirs.linear_k, theirs.linear_v)
    )
    ours = ShawPosition(8, clip=3, values=False).double()
    with torch.no_grad():
        ours.keys[0] = theirs.distance_embedding.weight
    plan = ours.plan(torch.arange(11)[None], torch.float64)
    assert plan.value_term(0) is None
    out = attend(q, k, v, None, bias=plan.bias(q, 0)).transpose(1, 2).flatten(2)
    assert torch.allclose(theirs.linear_out(out), theirs(x)[0], atol=1e-12)


def test_distances_past_the_clip_count_as_the_clip() -> None:
    rows = ShawPosition(8, clip=4).rows(torch.arange(7)[None])[0]  # report B056
    assert rows[0].tolist() == [4, 5, 6, 7, 8, 8, 8]
    assert rows[6].tolist() == [0, 0, 0, 1, 2, 3, 4]


def test_a_text_of_any_length_needs_no_new_parameters() -> None:
    encoding = ShawPosition(4, clip=4)  # report B056
    assert {name: tuple(table.shape) for name, table in encoding.named_parameters()} == {
        "keys": (1, 9, 4),
        "values": (1, 9, 4),
    }
    qkv = torch.randn(3, 1, 1, 5000, 4)
    with torch.no_grad():
        assert output(encoding, qkv, torch.arange(5000)[None]).isfinite().all()


class Sizes(TorchDispatchMode):
    """The number of elements of the largest tensor that was made."""

    largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.largest = max(self.largest, out.numel())
        return out


def test_no_tensor_of_pairs_times_width_is_made() -> None:
    length, width = 60, 32
    encoding, qkv = ShawPosition(width, clip=4), torch.randn(3, 1, 1, length, width)
    with Sizes() as sizes:
        output(encoding, qkv, torch.arange(length)[None])
    assert 0 < sizes.largest <= length * length


def test_only_the_distance_matters_and_rows_may_differ() -> None:
    encoding, qkv = shaw(4, 3), states(2, 2, 6, 4)
    positions = torch.stack([torch.arange(6), torch.arange(6) + 1000])
    both = output(encoding, qkv, positions)
    assert torch.allclose(both, output(encoding, qkv, torch.arange(6)[None]), atol=1e-12)
    backwards = output(encoding, qkv, positions.flip(-1))
    assert not torch.allclose(backwards, both, atol=1e-3), "before and after are not the same"


def test_masked_keys_count_in_neither_term() -> None:
    encoding, qkv = shaw(4, 3), states(1, 2, 7, 4)
    mask = AttentionMask.padding(torch.tensor([[1, 1, 1, 1, 0, 0, 0]]))
    masked = output(encoding, qkv, torch.arange(7)[None], mask)
    alone = output(encoding, qkv[..., :4, :], torch.arange(4)[None])
    assert torch.allclose(masked[..., :4, :], alone, atol=1e-12)


def test_layers_have_tables_of_their_own_or_share_one() -> None:
    own, qkv = shaw(4, 3, layers=2), states(1, 1, 5, 4)
    outs = [output(own, qkv, torch.arange(5)[None], layer=layer) for layer in (0, 1, 2)]
    assert not torch.allclose(outs[0], outs[1], atol=1e-3)
    assert torch.equal(outs[0], outs[2]), "further layers begin at the first table again"
    geometry = Geometry(width=24, heads=3, head_width=8, layers=5, max_len=9)
    assert ShawConfig(clip=2).build(geometry).keys.shape == (5, 5, 8)
    assert ShawConfig(clip=2, per_layer=False).build(geometry).keys.shape == (1, 5, 8)
    assert ShawConfig(values=False).build(geometry).values is None


@pytest.mark.parametrize("name", ["head_width", "clip", "layers"])
def test_sizes_are_at_least_1(name: str) -> None:
    message = f"`{name}` must be at least 1, but is 0 instead."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        ShawPosition(**{"head_width": 4, name: 0})
