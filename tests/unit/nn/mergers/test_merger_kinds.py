"""What each merger says of its own; what all of them promise stands in the contract suite."""

from __future__ import annotations

import math

import pytest
import torch

from longdoc.nn.mergers import AttentionMerger, MaxMerger, MeanMerger
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
