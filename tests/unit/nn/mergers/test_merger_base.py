"""Sums and shares over the chunks of a document."""

from __future__ import annotations

import torch

from longdoc.nn.mergers.base import chunk_shares, segment_max, segment_sum


def test_segment_sum_adds_what_an_owner_has_in_any_order() -> None:
    values = torch.tensor([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    assert segment_sum(values, torch.tensor([2, 0, 2]), 3).tolist() == [[2.0, 20.0], [0.0, 0.0], [5.0, 50.0]]


def test_segment_sum_loses_nothing_over_many_chunks() -> None:
    values = torch.full((1 << 20,), 0.1)
    total = segment_sum(values, torch.zeros(1 << 20, dtype=torch.int64), 1)
    assert total.dtype == torch.float32
    assert total.item() == float(torch.tensor(0.1).double() * (1 << 20))


def test_segment_max_is_minus_infinity_without_chunks() -> None:
    values = torch.tensor([[1.0], [3.0], [2.0]])
    assert segment_max(values, torch.tensor([1, 1, 0]), 3).flatten().tolist() == [2.0, 3.0, -float("inf")]


def test_shares_are_of_a_documents_own_weight_and_even_where_there_is_none() -> None:
    owner = torch.tensor([0, 1, 0, 2, 2])
    shares = chunk_shares(torch.tensor([3.0, 7.0, 1.0, 0.0, 0.0]), owner, 4)
    assert shares.tolist() == [0.75, 1.0, 0.25, 0.5, 0.5]
