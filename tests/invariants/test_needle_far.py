"""One sentence in a document of a hundred chunks decides its label, wherever it stands: who learns it, and who cannot.

The encoder is random and frozen, a table of words without a layer that looks around, so that only the readout learns,
from the rows of chunks; label attention from the states of all their tokens.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
import torch

from longdoc.api import build_pipeline
from longdoc.config import load_config
from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.types import Document

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("minilm_folder")]

CONFIG = Path(__file__).parents[2] / "configs" / "debug_tiny.yaml"
SETTINGS = [
    "model.task=multi_label",
    "model.encoder.width=48",
    "model.encoder.position={kind: none}",
    "chunking={size: 26, overlap: 4}",
    "prediction.precision={device: cpu, dtype: fp32}",
]
WORDS = "court party notice term state".split()
SENTENCE, SENTENCES = 8, 250
READOUTS = {
    "max": "{kind: logits, pooling: max, merger: max}",
    "noisy_or": "{kind: logits, pooling: max, merger: noisy_or}",
    "attention": "{kind: vectors, pooling: max, merger: attention}",
    "label_attention": "label_attention",
}


@cache
def documents(count: int, seed: int) -> tuple[list[Document], list[tuple[int, int]]]:
    """Documents, every second one flagged, and where the sentence with the needle stands in each."""
    draw = random.Random(seed)
    made, places = [], []
    for number in range(count):
        at, text = draw.randrange(SENTENCES), ""
        for sentence in range(SENTENCES):
            words = [draw.choice(WORDS) for _ in range(SENTENCE)]
            if sentence == at:
                places.append((len(text), len(text) + len(" ".join(words)) + 1))
                words[draw.randrange(SENTENCE)] = "red" if number % 2 else draw.choice(WORDS)
            text += " ".join(words).capitalize() + ". "
        made.append(Document(id=f"{seed}-{number}", text=text, labels=("flagged",) if number % 2 else ()))
    return made, places


def trained(*overrides: str, steps: int = 500) -> Pipeline:
    """The readout, trained on the rows of the frozen encoder."""
    pipeline = build_pipeline(load_config(CONFIG, [*SETTINGS, *overrides]), ("flagged",))
    with torch.no_grad():
        for name, parameter in pipeline.model.encoder.named_parameters():
            if name.startswith("layers") and "norm" not in name:
                parameter.zero_()  # nothing is added to a word by its neighbours
    asked, _ = documents(48, 1)
    readout = pipeline.model.readout
    torch.manual_seed(0)  # dropout
    assert readout.keep_states(True)
    prepared = [item for item in pipeline.stream_rows(asked) if isinstance(item, DocumentRows)]
    rows, weights = torch.cat([item.rows for item in prepared]), torch.cat([item.weights for item in prepared])
    owner = torch.cat([torch.full((len(item.rows),), number) for number, item in enumerate(prepared)])
    gold = torch.tensor([float(bool(document.labels)) for document in asked])
    optimizer = torch.optim.Adam(readout.train().parameters(), 0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        scores = readout.documents(rows, owner, weights, len(asked))[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, gold)
        loss.backward()
        optimizer.step()
        if loss.item() < 0.02:
            break
    readout.eval().keep_states(False)
    return pipeline


def accuracy(pipeline: Pipeline) -> float:
    asked, _ = documents(24, 3)
    right = [bool(r.labels[0].chosen) == bool(d.labels) for r, d in zip(pipeline.predict(asked), asked, strict=True)]
    return sum(right) / len(right)


@pytest.mark.parametrize("readout", READOUTS)
def test_the_sentence_is_learned_and_pointed_at(readout: str) -> None:
    pipeline = trained(f"model.readout={READOUTS[readout]}")
    assert accuracy(pipeline) >= 0.9
    asked, places = documents(24, 3)
    found = 0
    for document, (start, end) in zip(asked[1::2], places[1::2], strict=True):
        explained = pipeline.explain(document)
        assert explained.n_chunks >= 100
        best = max(explained.evidence or (), key=lambda passage: passage.weight)
        found += best.start < end and start < best.end
    assert found >= 9, f"{found} of 12; by chance it would be none"


@pytest.mark.parametrize("keep", ["head", "tail", "head_tail"])
def test_who_reads_a_part_misses_it(keep: str) -> None:
    pipeline = trained(f"model.readout={READOUTS['max']}", f"chunking.keep={keep}")
    assert accuracy(pipeline) < 0.7
