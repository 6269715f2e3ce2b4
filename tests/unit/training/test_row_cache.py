"""Two passes in the memory of one micro-batch give the gradient of the whole graph, dropout included."""

from __future__ import annotations

import copy

import pytest
import torch

from longdoc.model import LongDocModel
from longdoc.pipeline import Pipeline
from longdoc.precision import PrecisionConfig, choose_placement
from longdoc.text.batching import collate
from longdoc.text.chunking import prepare_many
from longdoc.training.row_cache import backward_through_documents
from longdoc.types import ChunkBatch, Document

PLACEMENT = choose_placement(PrecisionConfig(device="cpu", dtype="fp32"))


@pytest.fixture
def model(tiny_pipeline: Pipeline) -> LongDocModel:
    return copy.deepcopy(tiny_pipeline.model).double().train()


def micro_batches(pipeline: Pipeline, rows: int) -> tuple[list[ChunkBatch], int]:
    texts = ["one two three " * 40, "four", "five six seven eight " * 25]
    prepared = prepare_many([Document(id=t[:3], text=t) for t in texts], pipeline.tokenizer, pipeline.chunker)
    pairs = [(n, chunk) for n, document in enumerate(prepared) for chunk in document.chunks]
    pad = pipeline.tokenizer.pad_id
    groups = [pairs[start : start + rows] for start in range(0, len(pairs), rows)]
    return [collate([c for _, c in group], [n for n, _ in group], len(texts), pad) for group in groups], len(texts)


def loss(logits: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2]))


def gradients(model: LongDocModel) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_gradients_equal_those_of_the_whole_graph(
    tiny_pipeline: Pipeline, model: LongDocModel, rows: int, dropout: float
) -> None:
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    batches, documents = micro_batches(tiny_pipeline, rows)

    torch.manual_seed(5)
    whole = torch.cat([model.chunk_rows(batch) for batch in batches])
    owner = torch.cat([batch.owner for batch in batches])
    weights = torch.cat([batch.weights for batch in batches])
    expected_loss = loss(model.documents(whole, owner, weights, documents))
    expected_loss.backward()
    expected = gradients(model)
    model.zero_grad(set_to_none=True)

    torch.manual_seed(5)
    found_loss = backward_through_documents(model, batches, documents, loss, PLACEMENT, torch.Tensor.backward)
    found = gradients(model)

    assert found_loss.item() == pytest.approx(expected_loss.item(), rel=1e-6)
    assert found.keys() == expected.keys()
    assert "encoder" in " ".join(found), "the encoder learns"
    for name, gradient in expected.items():
        scale = max(1e-6, float(gradient.abs().max()))
        assert float((found[name] - gradient).abs().max()) / scale < 2e-6, name


def test_the_random_stream_goes_on_as_without_the_cache(tiny_pipeline: Pipeline, model: LongDocModel) -> None:
    batches, documents = micro_batches(tiny_pipeline, 2)
    torch.manual_seed(1)
    rows = torch.cat([model.chunk_rows(batch) for batch in batches])
    owner = torch.cat([batch.owner for batch in batches])
    weights = torch.cat([batch.weights for batch in batches])
    model.documents(rows, owner, weights, documents)
    expected = torch.rand(1)
    torch.manual_seed(1)
    backward_through_documents(model, batches, documents, loss, PLACEMENT, torch.Tensor.backward)
    assert torch.equal(expected, torch.rand(1))
