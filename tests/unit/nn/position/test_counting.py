"""Positions counted from the real tokens."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.nn.position.counting import count_positions
from reference.positions import count_slowly


def test_padding_on_either_side_leaves_real_tokens_at_0_1_2() -> None:
    ids = torch.zeros(3, 5, dtype=torch.int64)
    valid = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 1, 1, 1, 0]]).bool()
    counted = count_positions(ids, valid, None)
    assert counted.tolist() == [[0, 1, 2, 2, 2], [-1, -1, 0, 1, 2], [-1, 0, 1, 2, 2]]


def test_without_padding_one_row_serves_all() -> None:
    assert count_positions(torch.zeros(7, 4, dtype=torch.int64), None, None).tolist() == [[0, 1, 2, 3]]


def test_each_segment_starts_at_0() -> None:
    ids = torch.zeros(1, 5, dtype=torch.int64)
    assert count_positions(ids, None, torch.tensor([[4, 4, 4, 9, 9]])).tolist() == [[0, 1, 2, 0, 1]]  # report B045


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 4), st.lists(st.booleans(), min_size=1, max_size=6)), min_size=1, max_size=4))
def test_equals_counting_by_hand(runs: list[tuple[int, list[bool]]]) -> None:
    valid = [flag for _, flags in runs for flag in flags]
    segments = [number for number, (_, flags) in enumerate(runs) for _ in flags]
    ids = torch.zeros(1, len(valid), dtype=torch.int64)
    counted = count_positions(ids, torch.tensor([valid]), torch.tensor([segments]))[0].tolist()
    expected = count_slowly(valid, segments)
    assert [c for c, flag in zip(counted, valid, strict=True) if flag] == [
        e for e, flag in zip(expected, valid, strict=True) if flag
    ]
