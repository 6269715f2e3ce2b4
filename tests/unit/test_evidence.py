"""What made a score, taken apart: it adds up, and it is what happens when a passage is taken away."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter

from longdoc.evidence import chunk_evidence
from longdoc.nn.readout import Readout, ReadoutConfig
from longdoc.pipeline import Pipeline
from longdoc.types import Document
from nn_kit import randomised
from readout_kit import every_readout, pipeline_with

TEXT = "The licence grants a right. The work may be copied and changed by anybody; notices stay in place.\n" * 12
CHUNKS = 8


def built(config: dict, seed: int = 0) -> Readout:
    return randomised(TypeAdapter(ReadoutConfig).validate_python(config).build(16, 3), seed, 0.3).eval()


def one_document(readout: Readout, seed: int = 0, chunks: int = CHUNKS) -> tuple[torch.Tensor, torch.Tensor]:
    """Random rows and weights of one document, as `readout` would make them."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(chunks, readout.row_width, generator=generator)
    if readout.row_width == 17:  # the column of chunk numbers
        rows[:, 16] = torch.arange(chunks)
    return rows, torch.randint(5, 20, (chunks,), generator=generator).float()


def score(readout: Readout, rows: torch.Tensor, weights: torch.Tensor, label: int) -> float:
    with torch.no_grad():
        return float(readout.documents(rows, torch.zeros(len(rows), dtype=torch.int64), weights, 1)[0, label])


def drops(readout: Readout, rows: torch.Tensor, weights: torch.Tensor, label: int) -> list[float]:
    """How much the score falls when one chunk is taken away, chunk by chunk."""
    whole = score(readout, rows, weights, label)
    kept = [[other for other in range(len(rows)) if other != chunk] for chunk in range(len(rows))]
    return [whole - score(readout, rows[others], weights[others], label) for others in kept]


@every_readout
@pytest.mark.parametrize("chunks", [1, 2, 300])
def test_a_score_is_base_and_parts_and_what_little_remains(config: dict, chunks: int) -> None:
    readout = built(config)
    rows, weights = one_document(readout, chunks=chunks)
    for label in range(3):
        found = chunk_evidence(readout, rows, weights, label)
        assert found.score == score(readout, rows, weights, label)
        assert found.base + found.parts.sum() + found.remainder == pytest.approx(found.score, abs=1e-12)
        limit = 2e-5 if readout.exact_evidence else 1.1e-4 * max(1, abs(found.score - found.base))
        assert abs(found.remainder) < limit


@every_readout
def test_parts_agree_with_what_happens_when_a_chunk_is_taken_away(config: dict) -> None:
    correlations = []
    for seed in range(12):
        readout = built(config, seed)
        rows, weights = one_document(readout, seed)
        parts = chunk_evidence(readout, rows, weights, 1).parts
        correlations.append(np.corrcoef(parts, drops(readout, rows, weights, 1))[0, 1])
    assert np.mean(correlations) > 0.6, "0.74 for attention, whose weights also change; above 0.85 for the others"


@pytest.mark.parametrize("kind", ["vectors", "logits"])
def test_under_the_mean_a_part_is_what_an_empty_chunk_in_its_place_would_lose(kind: str) -> None:
    readout = built({"kind": kind, "merger": {"kind": "mean"}})
    rows, weights = one_document(readout)
    found = chunk_evidence(readout, rows, weights, 2)
    for chunk in range(CHUNKS):
        emptied = rows.clone()
        emptied[chunk] = 0.0
        assert found.score - score(readout, emptied, weights, 2) == pytest.approx(found.parts[chunk], abs=1e-5)


def test_under_the_maximum_the_winner_gives_everything() -> None:
    readout = built({"kind": "logits", "merger": {"kind": "max"}})
    rows, weights = one_document(readout)
    found = chunk_evidence(readout, rows, weights, 0)
    (winner,) = np.flatnonzero(found.parts)
    with torch.no_grad():
        assert winner == int(readout.head.classify(rows)[:, 0].argmax())
    assert found.parts[winner] == pytest.approx(found.score - found.base, abs=1e-5)


def test_under_noisy_or_the_base_is_what_as_many_silent_chunks_say() -> None:
    readout = built({"kind": "logits", "merger": {"kind": "noisy_or"}})
    with torch.no_grad():
        readout.head.output.bias.fill_(-4.0)
    rows, weights = one_document(readout)
    none_says_so = (1 - 1 / (1 + np.exp(4.0))) ** CHUNKS
    assert chunk_evidence(readout, rows, weights, 0).base == pytest.approx(np.log(1 / none_says_so - 1), abs=1e-5)


@every_readout
@pytest.mark.parametrize("task", ["single_label", "multi_label"])
def test_the_passages_of_a_document_add_up_to_its_logit(tiny_pipeline: Pipeline, config: dict, task: str) -> None:
    pipeline = pipeline_with(tiny_pipeline, config, task=task)
    result = pipeline.explain(Document(id="a", text=TEXT))
    assert result.evidence
    sums: dict[str, float] = {}
    for passage in result.evidence:
        assert 0 <= passage.start < passage.end <= len(TEXT)
        sums[passage.label] = sums.get(passage.label, 0.0) + passage.weight
    for label, total in sums.items():
        assert total == pytest.approx(result.logits[pipeline.labels.index(label)], abs=1e-4)
    named = [p for p in result.evidence if p.label == next(iter(sums))]
    assert all(before.end <= after.start for before, after in itertools.pairwise(named))
    assert len(named) > result.n_chunks / 2, "passages, not the document as a whole"
    rows = pipeline.model.readout, *next((item.rows, item.weights) for item in pipeline.stream_rows([TEXT]))
    for label in sums:
        passages = [p for p in result.evidence if p.label == label]
        base = chunk_evidence(*rows, pipeline.labels.index(label)).base
        assert sum(p.weight - p.says for p in passages) == pytest.approx(base, abs=2e-4)
        shares = [(p.weight - p.says) / sums[label] for p in passages]
        assert len({round(share > 0) for share in shares}) == 1, "all have a share of the same sign"
        assert all(p.occlusion is None or p.occlusion.claimed == p.own for p in passages)
    assert "own" not in result.to_dict()["evidence"][0]
