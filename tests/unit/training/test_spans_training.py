"""Training on spans: through the row cache, and with an encoder that does not learn, as on the whole graph."""

from __future__ import annotations

import copy
import logging
from pathlib import Path

import pytest
import torch

from longdoc.api import train_with_report
from longdoc.checkpoints.native import ModelSettings
from longdoc.model import LongDocModel
from longdoc.nn.readout import TokensReadoutConfig
from longdoc.pipeline import Pipeline
from longdoc.tasks import task_named
from longdoc.text.batching import collate
from longdoc.text.chunking import prepare_many
from longdoc.training.row_cache import backward_through_documents
from longdoc.types import Document, LabelledSpan
from nn_kit import randomised

WORDS = "the licence grants you a right to copy and change this work provided that notices stay in place".split()


def document(number: int, length: int) -> Document:
    """A text in which every seventh word and the one behind it are a span."""
    words = [WORDS[(number * 5 + i * i) % len(WORDS)] for i in range(length)]
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(length)]
    spans = tuple(
        LabelledSpan(starts[i], starts[i + 1] + len(words[i + 1]), "XY"[i % 2]) for i in range(0, length - 1, 7)
    )
    return Document(f"d{number}", " ".join(words), spans=spans)


DOCUMENTS = [document(number, length) for number, length in enumerate([1, 13, 30, 61, 120])]


@pytest.mark.parametrize("decoder", ["constrained", "crf"])
def test_the_row_cache_gives_the_gradient_of_the_whole_graph(tiny_pipeline: Pipeline, decoder: str) -> None:
    task, labels = task_named("spans"), ("X", "Y")
    config = TokensReadoutConfig(decoder=decoder, scheme="bioes")
    width = tiny_pipeline.model.encoder.config.width
    readout = randomised(config.build(width, task.classes(labels, config)), 3)
    settings = ModelSettings(task="spans", labels=labels, chunking=tiny_pipeline.settings.chunking, readout=config)
    encoder = copy.deepcopy(tiny_pipeline.model.encoder)
    pipeline = Pipeline(LongDocModel(encoder, readout), settings, tiny_pipeline.tokenizer, tiny_pipeline.prediction)
    model = pipeline.model.double().train()
    prepared = prepare_many(DOCUMENTS, pipeline.tokenizer, pipeline.chunker, keep_tokens=True)
    targets = [task.target(d, labels, p.tokens, readout) for d, p in zip(DOCUMENTS, prepared, strict=True)]
    pairs = [(n, chunk) for n, known in enumerate(prepared) for chunk in known.chunks]
    pairs.sort(key=lambda pair: (len(pair[1]), -pair[1].ordinal))
    batches = [
        collate([c for _, c in pairs[s : s + 3]], [n for n, _ in pairs[s : s + 3]], len(prepared), 0)
        for s in range(0, len(pairs), 3)
    ]
    measure = task.loss(readout)

    def loss(scores: torch.Tensor) -> torch.Tensor:
        return measure(scores, targets).sum()

    owner, weights = (torch.cat([getattr(batch, name) for batch in batches]) for name in ("owner", "weights"))
    torch.manual_seed(5)
    expected = loss(model.documents(torch.cat([model.chunk_rows(b) for b in batches]), owner, weights, len(prepared)))
    expected.backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    torch.manual_seed(5)
    found = backward_through_documents(model, batches, len(prepared), loss, pipeline.placement, torch.Tensor.backward)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    for name, parameter in model.named_parameters():
        scale = max(1e-6, float(gradients[name].abs().max()))
        assert float((parameter.grad - gradients[name]).abs().max()) / scale < 1e-5, name


def run(folder: Path, kept: float, readout: dict[str, object]) -> tuple[Pipeline, object]:
    return train_with_report(
        {
            "model": {
                "task": "spans",
                "encoder": {"width": 32, "layers": 1, "heads": 2, "feed_forward_width": 64, "max_len": 32},
                "readout": {"kind": "tokens", "head": {"kind": "linear", "dropout": 0.0}, **readout},
            },
            "chunking": {"size": 32, "overlap": 8},
            "data": {"allow_shared_ids": True},
            "training": {
                "freeze": ["encoder"], "num_train_epochs": 2, "per_device_train_batch_size": 2,
                "learning_rate": 1e-2, "kept_rows_gb": kept,
            },
            "prediction": {"precision": {"device": "cpu", "dtype": "fp32"}},
        },
        folder, DOCUMENTS, DOCUMENTS[2:4],
    )  # fmt: skip


def test_states_that_are_kept_teach_the_same_as_reading_anew(tmp_path: Path) -> None:
    (kept, one), (anew, other) = (run(tmp_path / str(gb), gb, {}) for gb in (4.0, 0.0))
    assert one.validation["loss"] == pytest.approx(other.validation["loss"], abs=1e-5)
    for mine, theirs in zip(kept.model.parameters(), anew.model.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)
    assert kept.model.readout.row_width == 1 + 30 * 5, "afterwards rows hold scores"


def test_what_is_not_learned_as_it_is_is_said_with_its_number(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = "unbelievable work of Ada \ufffd"
    spans = ((2, 6, "X"), (18, 24, "Y"), (18, 20, "X"), (25, 26, "X"))
    odd = Document("odd", text, spans=tuple(LabelledSpan(*span) for span in spans))
    with caplog.at_level(logging.INFO):
        pipeline, _ = train_with_report(
            {
                "model": {
                    "task": "spans",
                    "encoder": {"width": 32, "layers": 1, "heads": 2, "feed_forward_width": 64, "max_len": 32},
                },
                "chunking": {"size": 32, "overlap": 8},
                "training": {"num_train_epochs": 1},
            },
            tmp_path / "run", [odd], [],
        )  # fmt: skip
    assert pipeline.settings.readout.overlapping is True
    said = "\n".join(caplog.messages)
    assert "gold spans that begin or end inside a word, learned as whole words: 1" in said
    assert "gold spans without a word that is read, not learned: 1" in said
    assert "spans of different labels overlap in 1 document: each is tagged by itself" in said
    assert "Ada" not in said
