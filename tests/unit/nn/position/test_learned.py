"""Learned positions: the row of each position, RoBERTa's offset, and a clear end."""

from __future__ import annotations

import re

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.nn.position import Geometry, LearnedConfig, LearnedPosition


def test_adds_the_row_of_each_position() -> None:
    encoding = LearnedPosition(4, rows=6)
    with torch.no_grad():
        encoding.weight.copy_(torch.arange(6.0)[:, None].expand(6, 4))
    x = torch.full((2, 3, 4), 10.0)
    out = encoding.embed(x, torch.tensor([[0, 5, 2], [1, 1, 1]]))
    assert out[:, :, 0].tolist() == [[10.0, 15.0, 12.0], [11.0, 11.0, 11.0]]


def test_the_offset_of_roberta_makes_position_0_row_2() -> None:
    encoding = LearnedPosition(1, rows=514, offset=2)
    with torch.no_grad():
        encoding.weight.copy_(torch.arange(514.0)[:, None])
    assert encoding.max_tokens == 512
    out = encoding.embed(torch.zeros(1, 2, 1), torch.tensor([[0, 511]]))
    assert out.flatten().tolist() == [2.0, 513.0]


def test_the_offset_equals_roberta_in_transformers() -> None:
    from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

    ids = torch.tensor([[0, 7, 8, 2, 1, 1], [1, 1, 0, 9, 9, 2]])
    theirs = RobertaEmbeddings.create_position_ids_from_input_ids(ids, padding_idx=1)
    from longdoc.nn.position.counting import count_positions

    ours = count_positions(ids, ids.ne(1), None) + LearnedPosition(1, rows=10, offset=2).offset
    assert torch.equal(ours[ids.ne(1)], theirs[ids.ne(1)])


@pytest.mark.parametrize(("positions", "ends"), [([0, 512], "0 to 512"), ([-1, 3], "-1 to 3")])
def test_a_position_outside_the_table_is_refused(positions: list[int], ends: str) -> None:
    message = (
        f"`positions` must be in [0, 512), the limit of this position encoding, but reach from {ends} instead. Cut the "
        "text into chunks of at most 512 tokens, or extend the encoding."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        LearnedPosition(8).embed(torch.zeros(1, 2, 8), torch.tensor([positions]))


def test_positions_that_are_no_integers_are_refused() -> None:
    message = (
        "`positions` must be integers, but are torch.bfloat16 instead: a floating type of 16 bits cannot tell "
        "neighbours apart past 256."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        LearnedPosition(8).embed(torch.zeros(1, 2, 8), torch.arange(2, dtype=torch.bfloat16)[None])


def test_the_width_of_embeddings_must_be_that_of_the_table() -> None:
    message = "`x` must have width 8, the width that this encoding was built for, but has shape (1, 2, 4) instead."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        LearnedPosition(8).embed(torch.zeros(1, 2, 4), torch.arange(2)[None])


def test_an_offset_past_the_table_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^`offset` must be in \[0, 2\), the rows of the table, but is 2 instead\.$"):
        LearnedPosition(8, rows=2, offset=2)


def test_the_configuration_makes_room_for_the_offset() -> None:
    geometry = Geometry(width=8, heads=2, head_width=4, layers=1, max_len=512)
    assert LearnedConfig(offset=2).build(geometry).rows == 514
    assert LearnedConfig(rows=40).build(geometry).max_tokens == 40


def test_a_table_has_rows() -> None:
    with pytest.raises(UsageError, match=r"^`rows` must be at least 1, but is -1 instead\.$"):
        LearnedPosition(4, rows=-1)
