"""Products in bfloat16 teach what float32 teaches, on licence texts of the demo's corpus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from longdoc.api import train_with_report
from longdoc.config import load_config
from longdoc.types import Document

ROOT = Path(__file__).resolve().parents[2]
LABELS = ("Permissive", "Proprietary Free")


@pytest.fixture(scope="module")
def splits() -> tuple[list[Document], list[Document]]:
    """Whole licence texts of two kinds, of 400 to 4000 characters: every fifth is for validation."""
    package = pytest.importorskip("licensedcode", reason="the package with the demo's licence texts is not installed")
    taken: dict[str, list[Document]] = {label: [] for label in LABELS}
    for path in sorted((Path(package.__path__[0]) / "data" / "licenses").glob("*.LICENSE")):
        _, about, text = re.split(r"^---[ \t]*$\n?", path.read_text("utf-8"), maxsplit=2, flags=re.MULTILINE)
        label = re.search(r"^category: (.+)$", about, re.MULTILINE)
        if label and label[1] in taken and len(taken[label[1]]) < 100 and 400 <= len(text) <= 4000:
            taken[label[1]].append(Document(path.stem, text, label=label[1]))
    found = [document for documents in taken.values() for document in documents]
    assert len(found) == 200
    return [document for number, document in enumerate(found) if number % 5], found[::5]


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_folder")
def test_bf16_reaches_the_score_of_fp32_within_its_interval(splits: Any, tmp_path: Path) -> None:
    train, validation = splits
    reports = {}
    for precision in ("fp32", "bf16"):
        config = load_config(
            ROOT / "configs" / "debug_tiny.yaml",
            [
                f"training.mixed_precision={precision}",
                "model.encoder.width=64",
                "model.encoder.max_len=128",
                "chunking.size=128",
                "training.num_train_epochs=6",
                "training.per_device_train_batch_size=8",
                "training.learning_rate=3e-3",
                "training.metric_for_best_model=loss",
                "prediction.precision.device=cpu",
                "prediction.precision.dtype=fp32",
            ],
        )
        _, reports[precision] = train_with_report(config, tmp_path / precision, train, validation)
    score = reports["fp32"].validation["macro_f1"]
    low, high = reports["fp32"].validation["intervals"]["macro_f1"] or (score, score)  # None where all are right
    assert low > 0.5, "it has learned: a guess has 0.5 at most"
    assert low <= reports["bf16"].validation["macro_f1"] <= high
    assert reports["bf16"].validation["loss"] != reports["fp32"].validation["loss"], "they are not the same products"
