"""Longer learned tables, by surgery: what is copied, what is drawn between, what is refused."""

from __future__ import annotations

import re

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.nn.position import LearnedPosition, interpolate, tile


def table(rows: int, offset: int, width: int = 6) -> LearnedPosition:
    encoding = LearnedPosition(width, rows, offset)
    with torch.no_grad():
        encoding.weight.copy_(torch.randn(rows, width, generator=torch.Generator().manual_seed(0)))
    return encoding


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("tokens", [8, 9, 16, 50])
def test_interpolation_equals_torch_and_keeps_both_ends(tokens: int, offset: int) -> None:
    short = table(8 + offset, offset)
    longer = interpolate(short, tokens)
    assert (longer.rows, longer.offset, longer.max_tokens) == (tokens + offset, offset, tokens)
    body = short.weight[offset:].T[None]
    expected = torch.nn.functional.interpolate(body, size=tokens, mode="linear", align_corners=True)[0].T
    assert torch.allclose(longer.weight[offset:], expected, atol=1e-5)
    assert torch.equal(longer.weight[:offset], short.weight[:offset])
    assert torch.equal(longer.weight[offset], short.weight[offset])
    assert torch.equal(longer.weight[-1], short.weight[-1])


@pytest.mark.parametrize("offset", [0, 2])
def test_tiling_repeats_the_positions_and_not_the_offset(offset: int) -> None:
    short = table(5 + offset, offset)
    longer = tile(short, 12)
    expected = torch.cat([short.weight, short.weight[offset:], short.weight[offset : offset + 2]])
    assert torch.equal(longer.weight, expected)
    x, positions = torch.zeros(1, 5, 6), torch.arange(5)[None]
    assert torch.equal(longer.embed(x, positions), short.embed(x, positions)), "short texts stay as they were"


def test_interpolation_changes_short_texts_too() -> None:
    short = table(8, 0)
    x, positions = torch.zeros(1, 5, 6), torch.arange(5)[None]
    assert not torch.allclose(interpolate(short, 16).embed(x, positions), short.embed(x, positions), atol=1e-3)


@pytest.mark.parametrize("lengthen", [interpolate, tile])
def test_the_old_encoding_stays_and_the_new_one_is_trainable_alike(lengthen) -> None:
    short = table(8, 2).to(torch.bfloat16).eval()
    short.weight.requires_grad_(False)
    before = short.weight.clone()
    longer = lengthen(short, 20)
    assert torch.equal(short.weight, before)
    assert longer.weight.dtype == torch.bfloat16
    assert not longer.weight.requires_grad
    assert not longer.training
    assert longer.weight.untyped_storage().data_ptr() != short.weight.untyped_storage().data_ptr()


def test_a_table_of_one_position_is_that_position_everywhere() -> None:
    longer = interpolate(table(1, 0), 3)
    assert torch.equal(longer.weight, table(1, 0).weight.expand(3, 6))


@pytest.mark.parametrize("lengthen", [interpolate, tile])
def test_shortening_is_refused(lengthen) -> None:
    message = (
        "`tokens` must be at least 6, the positions that the table has, but is 5 instead. A shorter table needs no "
        "surgery: use fewer positions."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        lengthen(table(8, 2), 5)
