"""What each merger says of its own; what all of them promise stands in the contract suite."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from longdoc.errors import UsageError
from longdoc.nn.mergers import (
    AttentionMerger,
    GatedAttentionMerger,
    HierarchicalMerger,
    HierarchicalMergerConfig,
    LogSumExpMerger,
    MaxMerger,
    MeanMerger,
    NoisyOrMerger,
)
from nn_kit import randomised
from reference import mergers as slowly

ONE = torch.zeros(3, dtype=torch.int64)


def test_the_mean_of_scores_is_a_mean_and_no_vote() -> None:
    merger = MeanMerger()  # report B034
    scores = torch.tensor([[0.0], [0.0], [0.9]])
    assert merger(scores, ONE, torch.ones(3), 1).item() == pytest.approx(0.3)
    probabilities = torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.4, 0.6]])
    merged = merger(probabilities, ONE, torch.ones(3), 1)[0]
    assert merged.tolist() == pytest.approx([0.5667, 0.4333], abs=5e-5)
    tie = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    owner = torch.zeros(2, dtype=torch.int64)
    for kind in (merger, MaxMerger()):
        assert torch.equal(kind(tie, owner, torch.ones(2), 1), kind(tie.flip(0), owner, torch.ones(2), 1))


def test_weights_are_core_tokens() -> None:
    rows, weights = torch.tensor([[1.0], [5.0]]), torch.tensor([3.0, 1.0])
    assert MeanMerger()(rows, torch.zeros(2, dtype=torch.int64), weights, 1).item() == 2.0


def test_max_shares_a_tie_evenly() -> None:
    rows = torch.tensor([[2.0, 1.0], [2.0, 3.0], [0.0, 3.0]])
    assert MaxMerger().gains(rows, ONE, torch.ones(3), 1).tolist() == [[0.5, 0.0], [0.5, 0.5], [0.0, 0.5]]


def test_max_shows_a_fault_instead_of_hiding_it() -> None:
    rows = torch.tensor([[2.0, 1.0], [math.nan, 0.0], [0.0, 3.0]])
    merged = MaxMerger()(rows, torch.tensor([0, 0, 1]), torch.ones(3), 2)
    assert merged[0].isnan().tolist() == [True, False]
    assert merged[1].tolist() == [0.0, 3.0]


def test_attention_starts_as_the_mean() -> None:
    torch.manual_seed(0)
    rows, weights = torch.randn(3, 4), torch.tensor([5.0, 1.0, 2.0])
    merged = AttentionMerger(4)(rows, ONE, weights, 1)
    assert torch.allclose(merged, MeanMerger()(rows, ONE, weights, 1), atol=1e-6)


def test_attention_is_a_softmax_of_score_and_log_weight() -> None:
    torch.manual_seed(0)
    merger = AttentionMerger(4, hidden=8)
    torch.nn.init.normal_(merger.score.weight)
    rows, weights = torch.randn(3, 4), torch.tensor([5.0, 1.0, 2.0])
    scores = merger.score(merger.inner(rows).tanh())[:, 0].tolist()
    expected = slowly.attention(rows.tolist(), weights.tolist(), scores)
    assert merger(rows, ONE, weights, 1)[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_attention_survives_scores_of_any_size() -> None:
    merger = AttentionMerger(1, hidden=1)
    with torch.no_grad():
        merger.inner.weight.fill_(1.0)
        merger.score.weight.fill_(1e4)
    rows = torch.tensor([[10.0], [-10.0], [0.0]])
    assert merger(rows, ONE, torch.tensor([1.0, 500.0, 1.0]), 1).item() == 10.0


def test_gated_attention_is_a_softmax_of_gated_score_and_log_weight() -> None:
    torch.manual_seed(0)
    merger = GatedAttentionMerger(4, hidden=8)
    torch.nn.init.normal_(merger.score.weight)
    torch.nn.init.normal_(merger.gate.weight)
    rows, weights = torch.randn(3, 4), torch.tensor([5.0, 1.0, 2.0])
    scores = merger.score(merger.inner(rows).tanh() / (1 + (-merger.gate(rows)).exp()))[:, 0].tolist()
    expected = slowly.attention(rows.tolist(), weights.tolist(), scores)
    assert merger(rows, ONE, weights, 1)[0].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
def test_logsumexp_lies_between_the_mean_and_the_largest(sharpness: float) -> None:
    rows, weights = torch.tensor([[0.0], [1.0], [3.0]]), torch.tensor([2.0, 1.0, 1.0])
    merged = LogSumExpMerger(sharpness)(rows, ONE, weights, 1).item()
    assert merged == pytest.approx(slowly.logsumexp(rows.tolist(), weights.tolist(), sharpness)[0], abs=1e-6)
    assert 1.0 < merged < 3.0


def test_logsumexp_becomes_the_mean_or_the_largest() -> None:
    torch.manual_seed(0)
    rows, weights = torch.randn(3, 4), torch.tensor([5.0, 1.0, 2.0])
    assert torch.allclose(LogSumExpMerger(1e-3)(rows, ONE, weights, 1), MeanMerger()(rows, ONE, weights, 1), atol=2e-3)
    assert torch.allclose(LogSumExpMerger(1e3)(rows, ONE, weights, 1), MaxMerger()(rows, ONE, weights, 1), atol=3e-3)


def test_logsumexp_counts_text_and_not_chunks() -> None:
    cut = LogSumExpMerger()(torch.tensor([[1.0], [3.0], [3.0]]), ONE, torch.tensor([4.0, 1.0, 3.0]), 1)
    whole = LogSumExpMerger()(torch.tensor([[1.0], [3.0]]), ONE[:2], torch.tensor([4.0, 4.0]), 1)
    assert torch.allclose(cut, whole, atol=1e-6)


def test_logsumexp_survives_scores_of_any_size() -> None:
    rows = torch.tensor([[1e4, -1e4], [0.0, -1e4]])
    assert LogSumExpMerger()(rows, ONE[:2], torch.ones(2), 1)[0].tolist() == pytest.approx([1e4, -1e4], abs=1)
    with pytest.raises(UsageError, match=r"^`sharpness` must be greater than 0, but is 0 instead\.$"):
        LogSumExpMerger(0)


def test_noisy_or_is_one_minus_the_product() -> None:
    probabilities = torch.tensor([[0.5, 0.1], [0.5, 0.2], [0.5, 0.3]])
    merged = NoisyOrMerger()(probabilities.logit(), ONE, torch.ones(3), 1)[0].sigmoid()
    assert merged.tolist() == pytest.approx([0.875, 1 - 0.9 * 0.8 * 0.7], abs=1e-6)


def test_noisy_or_does_not_ask_how_long_a_passage_is() -> None:
    rows = torch.tensor([[-3.0], [2.0], [-1.0]])
    even = NoisyOrMerger()(rows, ONE, torch.ones(3), 1)
    assert torch.equal(NoisyOrMerger()(rows, ONE, torch.tensor([510.0, 1.0, 510.0]), 1), even)


@pytest.mark.parametrize(
    ("logit", "count", "expected"),
    [
        (-40.0, 1000, -40.0 + math.log(1000)),
        (-150.0, 2, -150.0 + math.log(2)),
        (-1e6, 1, -1e6),
        (100.0, 1000, 100_000.0),
        (0.0, 1, 0.0),
        (1e4, 3, 3e4),
    ],
)
def test_noisy_or_neither_overflows_nor_vanishes(logit: float, count: int, expected: float) -> None:
    rows = torch.full((count, 1), logit, requires_grad=True)
    merged = NoisyOrMerger()(rows, torch.zeros(count, dtype=torch.int64), torch.ones(count), 1)
    assert merged.item() == pytest.approx(expected, rel=1e-6, abs=1e-6)
    merged.sum().backward()
    log_p, log_whole = (torch.nn.functional.logsigmoid(x.detach().double()) for x in (rows, merged))
    slope = (log_p - log_whole).exp()
    assert torch.allclose(rows.grad.double(), slope, rtol=1e-4)


def hierarchical(position: str = "none", **changes: Any) -> HierarchicalMerger:
    fields = {"hidden": 8, "heads": 2, "layers": 2, "dropout": 0.0, "position": {"kind": position}}
    return HierarchicalMergerConfig.model_validate(fields | changes).build(5).eval()


def test_hierarchical_starts_as_the_mean() -> None:
    torch.manual_seed(0)
    rows, weights = torch.randn(3, 5), torch.tensor([5.0, 1.0, 2.0])
    for position in ("rotary", "sinusoidal", "alibi"):
        merged = hierarchical(position)(rows, ONE, weights, 1)
        assert torch.allclose(merged, MeanMerger()(rows, ONE, weights, 1), atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 50])
@pytest.mark.parametrize("position", ["none", "sinusoidal"])
def test_hierarchical_is_torchs_own_encoder_over_the_chunks(count: int, position: str) -> None:
    merger = randomised(hierarchical(position), std=0.4)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
    reference = torch.nn.TransformerEncoder(layer, 2, norm=torch.nn.LayerNorm(8), enable_nested_tensor=False).eval()
    state = {"norm.weight": merger.norm.weight, "norm.bias": merger.norm.bias}
    for number, ours in enumerate(merger.layers):
        a, f, prefix = ours.attention, ours.feed_forward, f"layers.{number}."
        for name in ("weight", "bias"):
            joined = [getattr(part, name) for part in (a.query, a.key, a.value)]
            state[f"{prefix}self_attn.in_proj_{name}"] = torch.cat(joined)
            state[f"{prefix}self_attn.out_proj.{name}"] = getattr(a.output, name)
            state[f"{prefix}linear1.{name}"] = getattr(f.inner, name)
            state[f"{prefix}linear2.{name}"] = getattr(f.output, name)
            state[f"{prefix}norm1.{name}"] = getattr(ours.attention_norm, name)
            state[f"{prefix}norm2.{name}"] = getattr(ours.feed_forward_norm, name)
    reference.load_state_dict(state)

    generator = torch.Generator().manual_seed(1)
    rows, weights = torch.randn(count, 5, generator=generator), torch.arange(1.0, count + 1)
    x = merger.inner(rows)
    if position == "sinusoidal":
        for place, feature in itertools.product(range(count), range(8)):
            angle = place / 10000 ** (feature // 2 * 2 / 8)
            x[place, feature] += math.cos(angle) if feature % 2 else math.sin(angle)
    added = merger.output(reference(x[None])[0])
    expected = ((rows + added) * weights[:, None]).sum(0) / weights.sum()
    owner = torch.zeros(count, dtype=torch.int64)
    assert torch.allclose(merger(rows, owner, weights, 1)[0], expected, atol=1e-5)


def test_hierarchical_hears_the_order_of_the_text_and_not_that_of_the_rows() -> None:
    merger = randomised(hierarchical("rotary"), std=0.4)
    rows, weights = torch.randn(3, 5, generator=torch.Generator().manual_seed(0)), torch.ones(3)
    merged = merger(rows, ONE, weights, 1)
    order = torch.tensor([2, 0, 1])
    assert torch.equal(merger(rows[order], ONE, weights[order], 1, order), merged)
    assert not torch.allclose(merger(rows[order], ONE, weights[order], 1), merged, atol=1e-3)


def test_hierarchical_reads_any_number_of_chunks_or_says_so() -> None:
    with pytest.raises(ValidationError, match="`position` must number any number of chunks, but learned ends at 512"):
        hierarchical("learned")
    with pytest.raises(ValidationError, match=r"`hidden` must be a multiple of `heads` \(3\), but is 8 instead\."):
        hierarchical(heads=3)


@pytest.mark.parametrize("numbered", [False, True])
def test_documents_side_by_side_in_training_are_merged_as_alone(numbered: bool) -> None:
    merger = HierarchicalMergerConfig(hidden=8, heads=2, dropout=0.0).build(6).double()
    torch.nn.init.normal_(merger.output.weight)
    counts = torch.tensor([1, 3, 3, 0, 2, 1, 5, 3])
    owner = torch.repeat_interleave(torch.arange(len(counts)), counts)
    places = torch.cat([torch.arange(int(count)) * 2 for count in counts])
    shuffled = torch.randperm(len(owner))
    rows, weights = torch.randn(len(owner), 6).double(), torch.rand(len(owner)).double() + 0.1
    weights[-1] = 0  # a chunk that answers for nothing makes its document one of fewer chunks
    ordinals = places[shuffled] if numbered else None
    given = rows[shuffled], owner[shuffled], weights[shuffled], len(counts), ordinals
    together = merger.train()(*given)
    alone = merger.eval()(*given)
    assert torch.allclose(together, alone, rtol=1e-12, atol=1e-12)
    assert together[3].eq(0).all()
    changed = merger.eval()(*given[:-1], None if ordinals is None else ordinals * 3)
    assert torch.allclose(changed, alone) is not numbered  # the numbers count
