"""Under a frozen encoder everything else learns, also what a readout does before its rows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from longdoc.api import build_pipeline
from longdoc.config import load_config
from longdoc.model import LongDocModel
from longdoc.training.loop import fine_tune
from longdoc.types import Document

CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
DOCUMENTS = [
    Document(id=str(n), text=f"the {'licence grants' if n % 2 else 'patient had'} number {n} " * 9, label="ab"[n % 2])
    for n in range(8)
]


@pytest.mark.parametrize(
    "readout",
    ["label_attention", "{kind: vectors, head: {kind: bert_pooler}}", "{kind: logits, merger: noisy_or}"],
)
def test_every_parameter_of_the_readout_learns_and_none_of_the_encoder(tmp_path: Path, readout: str) -> None:
    config = load_config(CONFIG, [f"model.readout={readout}", "training.freeze=[encoder]"])
    pipeline = build_pipeline(config, ("a", "b"))
    before = {name: tensor.clone() for name, tensor in pipeline.model.state_dict().items()}
    fine_tune(pipeline, DOCUMENTS, DOCUMENTS, tmp_path / "run", config.training)
    for name, tensor in pipeline.model.state_dict().items():
        assert torch.equal(tensor, before[name]) == name.startswith("encoder."), name


def test_kept_states_train_as_states_that_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass of the encoder instead of one an epoch, where memory allows; the same weights but for round-off."""
    passes = []
    encode = LongDocModel.hidden
    monkeypatch.setattr(
        LongDocModel, "hidden", lambda self, batch: passes.append(len(batch.chunks)) or encode(self, batch)
    )
    found, work = [], []
    for gigabytes in (4, 0):
        passes.clear()
        overrides = [
            "model.readout={kind: label_attention, dropout: 0}",
            "training.freeze=[encoder]",
            "training.num_train_epochs=3",
            f"training.kept_rows_gb={gigabytes}",
            "prediction.batching.reuse_repeats=false",  # the documents are those of validation, too
        ]
        config = load_config(CONFIG, overrides)
        pipeline = build_pipeline(config, ("a", "b"))
        fine_tune(pipeline, DOCUMENTS, DOCUMENTS, tmp_path / f"run-{gigabytes}", config.training)
        assert pipeline.model.readout.learns_rows, "afterwards it predicts with rows of few numbers again"
        work.append(sum(passes))
        found.append(({n: t.clone() for n, t in pipeline.model.state_dict().items()}, pipeline.predict(DOCUMENTS)))
    chunks = sum(result.n_chunks for result in found[0][1])
    assert work == [2 * chunks, 6 * chunks], "training and validation documents"
    for name, tensor in found[0][0].items():
        assert torch.allclose(tensor, found[1][0][name], atol=1e-5), name
    for kept, anew in zip(found[0][1], found[1][1], strict=True):
        assert kept.logits == pytest.approx(anew.logits, abs=1e-5)
