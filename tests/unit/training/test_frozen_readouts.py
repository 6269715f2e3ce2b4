"""Under a frozen encoder everything else learns, also what a readout does before its rows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from longdoc.api import build_pipeline
from longdoc.config import load_config
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
