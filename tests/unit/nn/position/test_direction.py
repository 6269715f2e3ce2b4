"""Right-to-left scripts: logical order is reading order, and only visual order is turned around."""

from __future__ import annotations

import re
import unicodedata

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.nn.position import logical_positions
from longdoc.nn.position.counting import count_positions

TEXTS = {
    "en": "the third clause binds both parties",
    "ar": "البند الثالث ملزم لكلا الطرفين",
    "he": "הסעיף השלישי מחייב את שני הצדדים",
    "fa": "بند سوم برای هر دو طرف الزام آور است",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_first_word_that_is_read_has_position_0_in_every_script(language: str) -> None:
    words = TEXTS[language].split()
    right_to_left = [unicodedata.bidirectional(word[0]) in ("R", "AL") for word in words]
    assert all(right_to_left) == (language != "en")
    ids = torch.arange(len(words))[None]
    counted = count_positions(ids, None, None)
    assert counted.tolist() == [list(range(len(words)))]
    assert logical_positions(counted) is counted
    levels = torch.tensor([[int(flag) for flag in right_to_left]])
    assert logical_positions(counted, levels) is counted, "knowing the direction changes nothing either"


def test_lines_in_visual_order_are_turned_around_one_by_one() -> None:
    # Read: A B C / D E. Stored as on the page: C B A / E D.
    positions, lines = torch.arange(5)[None], torch.tensor([[0, 0, 0, 1, 1]])
    turned = logical_positions(positions, torch.ones_like(positions), lines, visual_order=True)
    assert turned.tolist() == [[2, 1, 0, 4, 3]]


def test_numbers_inside_a_line_keep_their_own_direction() -> None:
    # Read: A B 1 9 9 C. On the page: C 1 9 9 B A.
    levels = torch.tensor([[1, 2, 2, 2, 1, 1]])
    turned = logical_positions(torch.arange(6)[None], levels, visual_order=True)
    assert turned.tolist() == [[5, 2, 3, 4, 1, 0]]


def test_a_quotation_inside_an_english_line_is_turned_around_alone() -> None:
    # Read: he said A B today. On the page: he said B A today.
    turned = logical_positions(torch.arange(5)[None], torch.tensor([[0, 0, 1, 1, 0]]), visual_order=True)
    assert turned.tolist() == [[0, 1, 3, 2, 4]]


def display_slowly(levels: list[int]) -> list[int]:
    """Rule L2 of UAX #9 on one line: indices in reading order -> indices as displayed."""
    shown = list(range(len(levels)))
    for level in range(max(levels), 0, -1):
        start = 0
        while start < len(shown):
            end = start
            while end < len(shown) and levels[shown[end]] >= level:
                end += 1
            shown[start:end] = reversed(shown[start:end])
            start = max(end, start + 1)
    return shown


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=3))
def test_undoes_what_display_does(lines: list[list[int]]) -> None:
    order, levels, numbers = [], [], []
    for number, line in enumerate(lines):
        shown = display_slowly(line)
        before = len(order)
        order += [before + index for index in shown]
        levels += [line[index] for index in shown]
        numbers += [number] * len(line)
    stored = torch.arange(len(order))[None]
    turned = logical_positions(stored, torch.tensor([levels]), torch.tensor([numbers]), visual_order=True)
    assert turned.tolist() == [order]


def test_visual_order_needs_to_know_what_runs_backwards() -> None:
    message = r"^`levels` must be given for text in visual order: which tokens run from right to left\.$"
    with pytest.raises(UsageError, match=message):
        logical_positions(torch.arange(3)[None], visual_order=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions": torch.zeros(1, 3)}, "`positions` must be integers, but are torch.float32 instead."),
        (
            {"levels": torch.ones(1, 4, dtype=torch.int64)},
            "`levels` must have shape (1, 3), but has shape (1, 4) instead.",
        ),
        (
            {"lines": torch.ones(2, 3, dtype=torch.int64)},
            "`lines` must have shape (1, 3), but has shape (2, 3) instead.",
        ),
        ({"levels": torch.tensor([[0, -1, 1]])}, "`levels` must be in [0, 126], but reach from -1 to 1 instead."),
        ({"levels": torch.full((1, 3), 127)}, "`levels` must be in [0, 126], but reach from 127 to 127 instead."),
    ],
)
def test_tensors_that_do_not_lie_side_by_side_are_refused(changes: dict[str, torch.Tensor], message: str) -> None:
    given = {"positions": torch.arange(3)[None], "levels": torch.ones(1, 3, dtype=torch.int64), **changes}
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        logical_positions(**given, visual_order=True)
