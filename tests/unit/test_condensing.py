"""Very long documents: rows are condensed as they come home, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from longdoc.api import build_pipeline
from longdoc.config import load_config
from longdoc.pipeline import Pipeline
from longdoc.streaming import DocumentRows
from longdoc.types import Document
from training_kit import CONFIG

pytestmark = pytest.mark.usefixtures("minilm_folder")

LONG = Document("long", " ".join(f"the tenant pays {n} pounds on day {n % 29} to landlord {n * n}" for n in range(60)))
SHORT = Document("short", "no rent is due")


def pipeline(readout: dict[str, Any]) -> Pipeline:
    torch.manual_seed(3)
    place = ["prediction.precision.device=cpu", "prediction.precision.dtype=fp32", f"model.readout={readout}"]
    return build_pipeline(load_config(CONFIG, place), ("a", "b", "c"))


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("assemble", "condensing"):
        monkeypatch.setattr(f"longdoc.{room}.BLOCK", 4)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize(
    ("readout", "condensed"),
    [
        ("{kind: vectors, merger: {kind: mean}}", True),
        ("{kind: vectors, merger: {kind: max}}", True),
        ("{kind: logits, merger: {kind: noisy_or}}", True),
        ("{kind: logits, merger: {kind: logsumexp}}", True),
        ("{kind: vectors, merger: {kind: attention}}", False),
    ],
)
def test_a_long_document_has_the_same_bits_by_every_way_and_the_scores_of_all_its_rows(
    readout: str, condensed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = pipeline(readout)  # type: ignore[arg-type]
    widths: list[tuple[int, bool]] = []
    answer = Pipeline.answer

    def watched(self: Pipeline, document: DocumentRows, *more: Any) -> Any:
        widths.append((len(document.rows), document.condensed))
        return answer(self, document, *more)

    monkeypatch.setattr(Pipeline, "answer", watched)
    (alone,) = pipe.stream([LONG])
    _, together = pipe.stream([SHORT, LONG])
    chunks = alone.n_chunks
    assert chunks > 16
    blocks = -(-chunks // 4) if condensed else chunks
    assert widths == [(blocks, condensed), (1, False), (blocks, condensed)]
    (measured,) = pipe.stream_measured([LONG])
    (explained,) = pipe.stream_with_evidence([LONG])
    assert alone.logits == together.logits == measured.logits == explained.logits
    (rows,) = pipe.stream_rows([LONG])
    owner = torch.zeros(chunks, dtype=torch.int64)
    whole = pipe.model.documents(rows.rows, owner, rows.weights, 1)[0]
    assert alone.logits == pytest.approx(whole.tolist(), abs=1e-5)
