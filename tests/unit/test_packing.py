"""Texts behind each other: where each begins, what is kept, and that what is packed comes back to its place."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.packing import Packing

BATCHES = st.integers(1, 12).flatmap(
    lambda length: st.tuples(st.just(length), st.lists(st.integers(1, length), max_size=6), st.integers(0, 3))
)


def test_two_texts_and_a_filler_row() -> None:
    kept = Packing.of([3, 5], rows=3, length=5, keeps_padding=False)
    assert (kept.bounds.tolist(), kept.longest) == ([0, 3, 8, 13], 5)
    assert kept.kept.tolist() == [0, 1, 2, *range(5, 10), *range(10, 15)]
    all_of_them = Packing.of([3, 5], rows=3, length=5, keeps_padding=True)
    assert (all_of_them.bounds.tolist(), all_of_them.longest) == ([0, 3, 5, 10, 15], 5)
    assert all_of_them.kept is None
    assert all_of_them.bounds.dtype == kept.bounds.dtype == torch.int32  # what the kernel takes


@given(BATCHES)
def test_what_is_packed_comes_back_to_its_place(batch: tuple[int, list[int], int]) -> None:
    length, lengths, filler = batch
    rows = max(1, len(lengths) + filler)
    real = torch.tensor([*lengths, *[length] * (rows - len(lengths))])
    valid = torch.arange(length) < real[:, None]
    packing = Packing.of(lengths, rows, length, keeps_padding=False)
    numbers = torch.arange(rows * length).view(rows, length)
    packed = packing.pack(numbers, rows)
    assert packed.tolist() == [numbers[valid].tolist()]
    assert packing.pack(torch.arange(length)[None], rows).tolist() == [torch.where(valid)[1].tolist()]
    assert packing.pack(torch.stack([numbers, -numbers]), rows)[1].tolist() == (-packed).tolist()
    back = packing.unpack((packed + 1)[..., None].float(), rows, length)[..., 0]
    assert torch.equal(back, torch.where(valid, numbers + 1, 0).float())
    assert packing.bounds.diff().tolist() == real.tolist()


@given(BATCHES)
def test_kept_padding_is_a_text_of_its_own(batch: tuple[int, list[int], int]) -> None:
    length, lengths, filler = batch
    rows = max(1, len(lengths) + filler)
    packing = Packing.of(lengths, rows, length, keeps_padding=True)
    starts = set(packing.bounds.tolist())
    assert starts == {0} | {
        row * length + end for row in range(rows) for end in (lengths[row] if row < len(lengths) else length, length)
    }
    assert packing.longest == max(packing.bounds.diff().tolist())


@pytest.mark.parametrize("lengths", [[0], [6], [1, 1, 1, 1]])
def test_lengths_that_fit_no_row_are_refused(lengths: list[int]) -> None:
    with pytest.raises(UsageError, match=r"^`lengths` must be at most 3 numbers in \[1, 5\]"):
        Packing.of(lengths, rows=3, length=5, keeps_padding=False)
