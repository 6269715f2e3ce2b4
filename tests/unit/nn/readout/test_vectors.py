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


@pytest.mark.parametrize("merger", ["mean", "max", "attention", "gated_attention"])
def test_what_a_chunk_gives_is_its_weight_times_its_own_score(merger: str) -> None:
    model = tiny_model(readout={"merger": merger})
    ids, valid = padded([some_ids(n, seed=n) for n in (9, 4, 6, 9)])
    batch = batch_of(ids, valid, owner=[0, 1, 1, 0])
    rows = model.chunk_rows(batch).detach()
    arguments = (rows, batch.owner, batch.weights, 2)
    gains = model.readout.merger.gains(*arguments)
    for label, vector in enumerate(model.readout.head.output.weight):
        slopes = model.readout.slopes(*arguments, label)
        assert torch.allclose(slopes * rows, gains * rows * vector, atol=1e-6)
        assert torch.equal(model.readout.base(*arguments)[:, label], model.readout.head.output.bias[label].expand(2))


@pytest.mark.parametrize(("pooling", "head"), [("cls", "linear"), ("mean", "bert_pooler")])
def test_a_row_that_is_no_sum_over_tokens_says_so(pooling: str, head: str) -> None:
    model = tiny_model(readout={"pooling": pooling, "head": {"kind": head}})
    batch = batch_of(torch.tensor([some_ids(6)]))
    slopes = torch.ones(1, model.readout.row_width)
    assert model.readout.token_contributions(model.hidden(batch), batch, slopes, 0) is None


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
    assert (readout.row_width, readout.classes, readout.exact_evidence) == (16, 5, True)
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
