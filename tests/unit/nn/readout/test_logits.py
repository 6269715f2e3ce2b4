"""Chunks are scored by themselves and their scores merged."""

from __future__ import annotations

import pytest
import torch

from longdoc.nn.readout import LogitsReadoutConfig
from nn_kit import batch_of, padded, some_ids, tiny_model

KINDS = ("vectors", "logits")


@pytest.mark.parametrize("head", ["linear", "bert_pooler"])
def test_the_mean_of_scores_is_the_score_of_the_mean(head: str) -> None:
    batch = batch_of(*padded([some_ids(n, seed=n) for n in (9, 4, 6, 9)]), owner=[0, 1, 1, 0])
    scores = [tiny_model(readout={"kind": k, "merger": "mean", "head": {"kind": head}})(batch) for k in KINDS]
    assert torch.allclose(*scores, atol=1e-6)


def test_the_best_chunk_of_each_label_decides() -> None:
    model = tiny_model(readout={"kind": "logits", "merger": "max"})
    batch = batch_of(*padded([some_ids(n, seed=n) for n in (9, 4, 6)]), owner=[0, 0, 0])
    rows = model.chunk_rows(batch)
    each = model.readout.head.classify(rows)
    assert torch.equal(model(batch)[0], each.amax(0))
    assert len(set(each.argmax(0).tolist())) > 1, "the labels find their evidence in different chunks"


def test_noisy_or_starts_from_quiet_chunks() -> None:
    bias = LogitsReadoutConfig.model_validate({"merger": "noisy_or"}).build(8, 2).head.output.bias
    assert bias.tolist() == [-3.0, -3.0]
    assert LogitsReadoutConfig().build(8, 2).head.output.bias.tolist() == [0.0, 0.0]
