"""One word somewhere in a document of many chunks decides its label: what reads everything finds it, and says where.

Every document has the word `blue` in some place; those that are `flagged` also have the word `red`, in one of seven
chunks, each as often as the others. Whoever reads the first chunk only can be right in little more than half of them.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from longdoc.api import build_pipeline
from longdoc.config import load_config
from longdoc.pipeline import Pipeline
from longdoc.text.batching import collate
from longdoc.text.chunking import prepare_many
from longdoc.types import Document, DocumentPrediction
from readout_kit import EVERY, name_of

CONFIG = Path(__file__).parents[2] / "configs" / "debug_tiny.yaml"
SMALL = [
    "model.task=multi_label",
    "model.encoder.dropout=0",
    "model.encoder.attention_dropout=0",
    "model.encoder.position={kind: rotary}",
    "chunking={size: 26, overlap: 4}",
    "prediction.precision={device: cpu, dtype: fp32}",
]
WORDS = "court party notice term state right work copy law case year day form part line fact".split()
LENGTH = 110


def documents(count: int, seed: int) -> list[Document]:
    """Every second one is flagged."""
    generator = random.Random(seed)
    made = []
    for number in range(count):
        words = [generator.choice(WORDS) + ("." if place % 8 == 7 else "") for place in range(LENGTH)]
        at = generator.randrange(LENGTH)
        words[(at + LENGTH // 2) % LENGTH] = "blue"
        labels: tuple[str, ...] = ()
        if number % 2:
            words[at], labels = "red", ("flagged",)
        made.append(Document(id=str(number), text=" ".join(words), labels=labels))
    return made


def trained(*overrides: str, most_steps: int = 200) -> Pipeline:
    """Trained on new documents in each step, until they hold no surprise, or for as long as is fair."""
    pipeline = build_pipeline(load_config(CONFIG, [*SMALL, *overrides]), ("flagged",))
    optimizer = torch.optim.Adam(pipeline.model.train().parameters(), 0.01)
    recent = [1.0] * 5
    for step in range(most_steps):
        batch = documents(16, 100 + step)
        prepared = prepare_many(batch, pipeline.tokenizer, pipeline.chunker)
        pairs = [(number, chunk) for number, document in enumerate(prepared) for chunk in document.chunks]
        chunks = collate([chunk for _, chunk in pairs], [number for number, _ in pairs], len(batch), 0)
        gold = torch.tensor([float(bool(document.labels)) for document in batch])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(pipeline.model(chunks)[:, 0], gold)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent = [*recent[1:], loss.item()]
        if max(recent) < 0.05:
            break
    pipeline.model.eval()
    return pipeline


def accuracy(pipeline: Pipeline) -> float:
    held_out = documents(60, seed=1)
    results = pipeline.predict(held_out)
    assert all(isinstance(result, DocumentPrediction) for result in results)
    right = [bool(r.labels[0].chosen) == bool(d.labels) for r, d in zip(results, held_out, strict=True)]
    return sum(right) / len(right)


def found(pipeline: Pipeline, document: Document) -> bool:
    """Whether the passage with the largest weight lies where the chunk that answers for the needle lies."""
    tokenized = pipeline.tokenizer.tokenize(document)
    at = document.text.index("red")
    (needle,) = (token for token, (start, _) in enumerate(tokenized.offsets) if start == at)
    (chunk,) = (c for c in pipeline.chunker.chunks(tokenized) if c.core.start <= needle < c.core.end)
    left, right = tokenized.offsets[chunk.core.start, 0], tokenized.offsets[chunk.core.end - 1, 1]
    best = max(pipeline.explain(document).evidence or (), key=lambda passage: passage.weight)
    return bool(best.start < right and left < best.end)


@pytest.mark.parametrize(
    "readout",
    [
        "{kind: logits, merger: max}",
        "{kind: logits, merger: noisy_or}",
        "{kind: vectors, merger: attention}",
        "label_attention",
    ],
)
def test_who_reads_all_chunks_finds_the_needle_and_shows_it(readout: str) -> None:
    pipeline = trained(f"model.readout={readout}")
    assert accuracy(pipeline) >= 0.95
    flagged = [document for document in documents(24, seed=2) if document.labels]
    hits = sum(found(pipeline, document) for document in flagged)
    assert hits >= 9, f"{hits} of {len(flagged)}; by chance it would be 2 to 3"


@pytest.mark.slow
@pytest.mark.parametrize("config", EVERY, ids=[name_of(config) for config in EVERY])
def test_the_passage_that_is_said_to_carry_the_label_does(config: dict[str, Any]) -> None:
    """For every readout with every merger, after training: the claim about the strongest passage holds when it is
    hidden. Where no needle is, nothing is promised: attention then looks elsewhere (`docs/merging.md`)."""
    pipeline = trained(f"model.readout={json.dumps(config)}")
    assert accuracy(pipeline) >= 0.95
    flagged = [document for document in documents(48, seed=2) if document.labels]
    checks = [p.occlusion for document in flagged for p in pipeline.explain(document).evidence or () if p.occlusion]
    assert len(checks) == len(flagged)
    held = sum(check.held for check in checks)
    assert held >= 18, f"{held} of {len(checks)}; 20 or 21 were measured"


def test_who_reads_the_first_chunk_only_misses_it() -> None:
    pipeline = trained("model.readout={kind: logits, merger: max}", "chunking.keep=head", most_steps=100)
    assert accuracy(pipeline) < 0.75
