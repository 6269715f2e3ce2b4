"""A model that computes nonsense never gives an answer."""

from __future__ import annotations

import copy

import pytest
import torch

from longdoc.pipeline import Pipeline


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_makes_every_document_fail_and_no_label(
    tiny_pipeline: Pipeline, value: float
) -> None:
    model = copy.deepcopy(tiny_pipeline.model)
    with torch.no_grad():
        model.encoder.layers[0].attention.output.weight[0, 0] = value
    broken = Pipeline(model, tiny_pipeline.settings, tiny_pipeline.tokenizer)
    results = broken.predict(["a short text", "a longer text " * 40, " "])
    assert [result.to_dict()["reason"] for result in results] == ["non_finite_output", "non_finite_output", "empty"]
    assert all(result.to_dict()["label"] is None for result in results)
