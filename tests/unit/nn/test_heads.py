"""Classification heads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from longdoc.nn.exact import exact, exact_linear
from longdoc.nn.heads import BertHead, DenseHead, DenseHeadConfig, LinearHead, MaskedLanguageHead
from longdoc.nn.readout import VectorsReadoutConfig
from nn_kit import batch_of


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


@pytest.mark.parametrize("make", [LinearHead, BertHead, partial(DenseHead, activation="gelu", norm=1e-5)])
def test_scores_stay_float32_in_a_bfloat16_model_and_under_autocast(make: Callable[..., LinearHead]) -> None:
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


def test_the_dense_head_is_layer_activation_norm_on_each_row() -> None:
    torch.manual_seed(0)
    head = DenseHead(5, 3, activation="relu", norm=1e-3).eval()
    torch.nn.init.normal_(head.norm.weight)
    rows = torch.randn(4, 5)
    hidden = (rows @ head.dense.weight.T + head.dense.bias).clamp(min=0)
    normed = (hidden - hidden.mean(-1, keepdim=True)) / (hidden.var(-1, unbiased=False, keepdim=True) + 1e-3).sqrt()
    assert torch.allclose(head.transform(rows), normed * head.norm.weight + head.norm.bias, atol=1e-6)
    bare = DenseHead(5, 3, bias=False, norm=1e-3, norm_bias=False)
    assert bare.dense.bias is None
    assert bare.norm.bias is None


def test_dropout_before_the_layer_is_for_training() -> None:
    torch.manual_seed(0)
    head = DenseHeadConfig(row_dropout=0.5).build(32, 2)
    rows = torch.randn(1, 32)
    assert not torch.equal(head.train().transform(rows), head.transform(rows))
    assert torch.equal(head.eval().transform(rows), head.transform(rows))


def test_a_layer_on_each_token_comes_before_pooling() -> None:
    """Scores of the mean of transformed states are the mean of the tokens' scores (EuroBERT's "late")."""
    torch.manual_seed(0)
    config = VectorsReadoutConfig.model_validate(
        {"pooling": "mean_with_specials", "head": {"kind": "dense", "activation": "gelu", "per_token": True}}
    )
    readout = config.build(6, 3).eval()
    hidden = torch.randn(2, 4, 6)
    valid = torch.tensor([[True] * 4, [True, True, False, False]])
    batch = batch_of(torch.zeros(2, 4, dtype=torch.int64), valid)
    scores = readout.head.classify(readout.head.transform(hidden)).masked_fill(~valid[..., None], 0.0)
    expected = scores.sum(1) / valid.sum(1, keepdim=True)
    found = readout.documents(readout.rows(hidden, batch), batch.owner, batch.weights, 2)
    assert torch.allclose(found, expected, atol=1e-6)


def test_the_masked_language_head_scores_every_word() -> None:
    torch.manual_seed(0)
    head = MaskedLanguageHead(4, 7, "tanh", norm_eps=1e-2)
    hidden = torch.randn(2, 3, 4)
    inner = torch.nn.functional.layer_norm((hidden @ head.dense.weight.T + head.dense.bias).tanh(), [4], eps=1e-2)
    assert torch.allclose(head(hidden), inner @ head.output.weight.T + head.output.bias, atol=1e-6)
