"""Scores of begins and ends: every chunk in the order of the text, all that it shows and its first token, no more."""

from __future__ import annotations

import torch

from longdoc.model import LongDocModel
from longdoc.nn.readout import AnswersReadoutConfig
from nn_kit import batch_of, padded, randomised, some_ids, tiny_encoder

OWNER = [0, 0, 1, 2, 2, 2]
BODY = 14


def model() -> LongDocModel:
    readout = AnswersReadoutConfig().build(16, 2)
    readout.fit_chunks(BODY)
    return LongDocModel(tiny_encoder(token_types=2), randomised(readout, 1)).eval()


def parts() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, validity and bodies of three documents with 2, 1 and 3 chunks behind questions of different length."""
    ids, valid = padded([some_ids(6 + 3 * (n % 4), seed=n) for n in range(len(OWNER))])
    body = valid & (valid.cumsum(-1) > torch.tensor([2, 3, 2, 4, 3, 2])[:, None])
    for row, count in enumerate(valid.sum(1).tolist()):
        body[row, count - 1] = False
    return ids, valid, body


def batch(members: list[int]) -> object:
    ids, valid, body = parts()
    made = batch_of(
        ids[members], valid[members], [OWNER[m] for m in members], body[members],
        ordinals=[m - OWNER.index(OWNER[m]) for m in members],
    )  # fmt: skip
    return type(made)(**{**{name: getattr(made, name) for name in made.__dataclass_fields__}, "body": body[members]})


def test_rows_come_in_the_order_of_the_text_each_with_its_first_token() -> None:
    made = model()
    ids, valid, body = parts()
    states = made.encoder(ids, valid)
    scores = made.readout.head.classify(made.readout.head.transform(states))
    expected = torch.cat([torch.cat([scores[n, :1], scores[n, body[n]]]) for n in range(len(OWNER))])
    for keep in (False, True):
        assert made.readout.keep_states(keep) is keep
        assert made.readout.learns_rows is not keep
        rows = [made.chunk_rows(batch([member])) for member in (4, 0, 5, 2, 1, 3)]
        assert {row.shape for row in rows} == {(1, made.readout.row_width)}
        owner = torch.tensor([OWNER[member] for member in (4, 0, 5, 2, 1, 3)])
        found = made.documents(torch.cat(rows), owner, torch.zeros(6), 3)
        assert torch.allclose(found, expected, atol=1e-5)
    assert made.readout.row_recipe() == "states of a first and 14 further tokens"


def test_padding_neighbours_and_filler_change_nothing() -> None:
    made = model()
    whole = made(batch(list(range(6))))
    alone = made(batch([0, 1]))
    assert torch.allclose(whole[: len(alone)], alone, atol=1e-5)


def test_it_trains_in_both_dtypes() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        made = model().train()
        with torch.autocast("cpu", dtype=dtype, enabled=dtype == torch.bfloat16):
            scores = made(batch(list(range(6))))
        assert scores.dtype == torch.float32
        scores.logsumexp(0).sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in made.readout.parameters())


def test_token_types_are_added_where_there_are_two_and_left_alone_where_not() -> None:
    ids = torch.tensor([some_ids(7)])
    types = torch.tensor([[0, 0, 0, 1, 1, 1, 1]])
    two, one, none = (tiny_encoder(token_types=count) for count in (2, 1, 0))
    assert torch.equal(two(ids, token_types=torch.zeros_like(types)), two(ids))
    assert not torch.allclose(two(ids, token_types=types), two(ids), atol=1e-3)
    assert torch.equal(one(ids, token_types=types), one(ids))
    assert torch.equal(none(ids, token_types=types), none(ids))
