"""Every readout on whole documents: alone or in company, after saving, and through the row cache the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from longdoc.pipeline import Pipeline
from longdoc.text.batching import collate
from longdoc.text.chunking import prepare_many
from longdoc.training.row_cache import backward_through_documents
from longdoc.types import Document
from readout_kit import every_readout, pipeline_with

WORDS = "the licence grants you a right to copy and change this work provided that notices stay in place".split()
DOCUMENTS = [
    Document(id=f"d{n}", text=" ".join(WORDS[(n * 5 + i * i) % len(WORDS)] for i in range(length)))
    for n, length in enumerate([1, 13, 30, 61, 200, 333, 30])
]


@every_readout
def test_neighbours_and_order_do_not_change_a_bit(tiny_pipeline: Pipeline, config: dict) -> None:
    pipeline = pipeline_with(tiny_pipeline, config)
    alone = {d.id: pipeline.predict([d])[0].logits for d in DOCUMENTS}
    assert len(set(alone.values())) == len(DOCUMENTS), "documents differ, so a mix-up would show"
    for documents in (DOCUMENTS, DOCUMENTS[::-1]):
        assert {result.id: result.logits for result in pipeline.stream(iter(documents))} == alone


@every_readout
def test_a_saved_model_gives_the_same_bits(tiny_pipeline: Pipeline, config: dict, tmp_path: Path) -> None:
    pipeline = pipeline_with(tiny_pipeline, config)
    pipeline.save(tmp_path / "model")
    again = Pipeline.load(tmp_path / "model", pipeline.prediction)
    assert again.settings == pipeline.settings
    before, after = pipeline.predict(DOCUMENTS), again.predict(DOCUMENTS)
    assert [result.logits for result in after] == [result.logits for result in before]


@every_readout
@pytest.mark.parametrize("rows", [2, 5])
def test_the_row_cache_gives_the_gradient_of_the_whole_graph(tiny_pipeline: Pipeline, config: dict, rows: int) -> None:
    pipeline = pipeline_with(tiny_pipeline, config)
    model = pipeline.model.double().train()  # dropout and all: the second pass must drop what the first one dropped
    prepared = prepare_many(DOCUMENTS[2:5], pipeline.tokenizer, pipeline.chunker)
    pairs = [(n, chunk) for n, document in enumerate(prepared) for chunk in document.chunks]
    pairs.sort(key=lambda pair: len(pair[1]))  # as in training: no longer in the order of the text
    groups = [pairs[start : start + rows] for start in range(0, len(pairs), rows)]
    batches = [collate([c for _, c in group], [n for n, _ in group], 3, 0) for group in groups]

    def loss(logits: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2]))

    owner, weights = (torch.cat([getattr(batch, name) for batch in batches]) for name in ("owner", "weights"))
    torch.manual_seed(5)
    whole = torch.cat([model.chunk_rows(batch) for batch in batches])
    expected = loss(model.documents(whole, owner, weights, 3))
    expected.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    torch.manual_seed(5)
    found = backward_through_documents(model, batches, 3, loss, pipeline.placement, torch.Tensor.backward)
    assert found.item() == pytest.approx(expected.item(), rel=1e-9)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        scale = max(1e-9, float(gradients[name].abs().max()))
        assert float((parameter.grad - gradients[name]).abs().max()) / scale < 1e-6, name


@every_readout
def test_training_batches_in_any_order_score_as_prediction_does(tiny_pipeline: Pipeline, config: dict) -> None:
    pipeline = pipeline_with(tiny_pipeline, config)
    prepared = prepare_many(DOCUMENTS, pipeline.tokenizer, pipeline.chunker)
    pairs = [(n, chunk) for n, document in enumerate(prepared) for chunk in document.chunks]
    pairs.sort(key=lambda pair: (len(pair[1]), -pair[1].ordinal))
    batch = collate([c for _, c in pairs], [n for n, _ in pairs], len(DOCUMENTS), pipeline.tokenizer.pad_id)
    with torch.inference_mode():
        scores = pipeline.model(batch)
    expected = torch.tensor([result.logits for result in pipeline.predict(DOCUMENTS)])
    assert torch.allclose(scores, expected, atol=2e-5)
