"""Chunk vectors -> document vector -> scores."""

from __future__ import annotations

import pytest
import torch

from longdoc.model import LongDocModel
from longdoc.nn.heads import LinearHead
from longdoc.nn.mergers import MeanMerger
from longdoc.nn.readout import VectorsReadout, VectorsReadoutConfig
from longdoc.text.chunking import plan_chunks, plan_cores
from nn_kit import batch_of, padded, some_ids, tiny_encoder, tiny_model


class Numbers(torch.nn.Module):
    """A stand-in encoder: the vector of word i is the number i."""

    def forward(self, token_ids, valid=None, positions=None, segments=None):
        return token_ids[..., None].float()


def test_each_word_counts_once_however_the_document_is_cut() -> None:
    head = LinearHead(1, 1, dropout=0.0)  # report B037
    torch.nn.init.ones_(head.output.weight)
    model = LongDocModel(Numbers(), VectorsReadout(1, "mean", MeanMerger(), head))
    words = 15
    for body, overlap in ((14, 4), (6, 3), (5, 0), (15, 4), (400, 128)):
        chunks = plan_chunks(words, body, overlap)
        cores = plan_cores(chunks)
        length = max(end - start for start, end in chunks)
        ids, core = torch.zeros(len(chunks), length, dtype=torch.int64), torch.zeros(len(chunks), length).bool()
        for row, ((start, end), (left, right)) in enumerate(zip(chunks, cores, strict=True)):
            ids[row, : end - start] = torch.arange(start, end)
            core[row, left - start : right - start] = True
        score = model(batch_of(ids, core=core, owner=[0] * len(chunks)))
        assert score.item() == pytest.approx(7.0), (body, overlap)


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
@pytest.mark.parametrize("merger", ["mean", "max", "attention"])
@pytest.mark.parametrize("head", ["linear", "bert_pooler"])
def test_scores_are_sums_over_chunks_and_over_tokens_where_they_can_be(pooling: str, merger: str, head: str) -> None:
    model = tiny_model(readout={"pooling": pooling, "merger": {"kind": merger}, "head": {"kind": head}})
    ids, valid = padded([some_ids(n, seed=n) for n in (9, 4, 6, 9)])
    batch = batch_of(ids, valid, owner=[0, 1, 1, 0])
    hidden = model.hidden(batch)
    rows = model.readout.rows(hidden, batch)
    scores = model.documents(rows, batch.owner, batch.weights, 2)
    assert torch.allclose(scores, model(batch), atol=1e-6)
    parts = model.readout.chunk_contributions(rows, batch.owner, batch.weights, 2)
    sums = torch.zeros(2, 3).index_add(0, batch.owner, parts) + model.readout.bias
    assert torch.allclose(sums, scores, atol=1e-5)

    gains = model.readout.gains(rows, batch.owner, batch.weights, 2)
    tokens = model.readout.token_contributions(hidden, batch, gains)
    if pooling == "cls" or head == "bert_pooler":
        assert tokens is None
        return
    assert tokens.shape == (4, 9, 3)
    assert (tokens[~batch.core] == 0).all()
    assert torch.allclose(tokens.sum(1), parts, atol=1e-5)


def test_numbers_stay_float32_in_a_bfloat16_model() -> None:
    model = tiny_model()
    batch = batch_of(torch.tensor([some_ids(8)]))
    expected = model(batch)
    scores = model.to(torch.bfloat16)(batch)
    assert model.chunk_rows(batch).dtype == torch.float32
    assert scores.dtype == torch.float32
    assert torch.allclose(scores, expected, atol=0.1)


def test_the_configuration_names_all_of_it() -> None:
    config = VectorsReadoutConfig.model_validate(
        {
            "kind": "vectors",
            "pooling": "max",
            "merger": {"kind": "attention", "hidden": 4},
            "head": {"dropout": 0.0, "kind": "linear"},
        }
    )
    readout = config.build(16, 5)
    assert (readout.row_width, readout.classes, readout.additive) == (16, 5, True)
    assert readout.bias.shape == (5,)
    assert VectorsReadoutConfig.model_validate_json(config.model_dump_json()) == config


def test_filler_rows_change_nothing() -> None:
    model = tiny_model(readout={"merger": {"kind": "max"}})
    ids = torch.tensor([some_ids(6), some_ids(6, seed=1), [0] * 6])
    core = torch.ones(3, 6, dtype=torch.bool)
    core[2] = False
    with_filler = model(batch_of(ids, core=core, owner=[0, 1, 0]))
    assert torch.allclose(with_filler, model(batch_of(ids[:2], core=core[:2])), atol=1e-6)


def test_a_model_is_an_encoder_and_a_readout() -> None:
    encoder = tiny_encoder()
    model = LongDocModel(encoder, VectorsReadoutConfig().build(16, 2))
    prefixes = {name.split(".")[0] for name in model.state_dict()}
    assert prefixes == {"encoder", "readout"}
