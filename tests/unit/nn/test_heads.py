"""Classification heads."""

from __future__ import annotations

import pytest
import torch

from longdoc.nn.exact import exact, exact_linear
from longdoc.nn.heads import BertHead, LinearHead


def test_the_linear_head_is_one_linear_layer() -> None:
    torch.manual_seed(0)
    head = LinearHead(5, 3, dropout=0.5).eval()
    merged = torch.randn(4, 5)
    assert head.transform(merged) is merged
    expected = merged @ head.output.weight.T + head.output.bias
    assert torch.allclose(head.classify(merged), expected, atol=1e-6)
    assert torch.allclose(head.weigh(merged) + head.output.bias, expected, atol=1e-6)


def test_dropout_falls_on_the_merged_row_in_training() -> None:
    torch.manual_seed(0)
    head = LinearHead(64, 2, dropout=0.5).train()
    merged = torch.randn(1, 64)
    assert not torch.equal(head.classify(merged), head.classify(merged))


def test_the_head_of_bert_has_a_tanh_layer_on_each_row() -> None:
    torch.manual_seed(0)
    head = BertHead(5, 3).eval()
    rows = torch.randn(4, 5)
    transformed = torch.tanh(rows @ head.dense.weight.T + head.dense.bias)
    assert torch.allclose(head.transform(rows), transformed, atol=1e-6)


@pytest.mark.parametrize("make", [LinearHead, BertHead])
def test_scores_stay_float32_in_a_bfloat16_model_and_under_autocast(make: type[LinearHead]) -> None:
    torch.manual_seed(0)
    head = make(6, 2).eval()
    rows = torch.randn(3, 6)
    expected = head.classify(head.transform(rows))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(head.classify(head.transform(rows)), expected)
    scores = head.to(torch.bfloat16).classify(head.transform(rows))
    assert scores.dtype == torch.float32
    assert torch.allclose(scores, expected, atol=2e-2)


def test_exact_never_lowers_a_dtype() -> None:
    assert exact(torch.zeros(1, dtype=torch.bfloat16)).dtype == torch.float32
    assert exact(torch.zeros(1, dtype=torch.float64)).dtype == torch.float64
    linear = torch.nn.Linear(2, 1, bias=False)
    assert exact_linear(linear, torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64
