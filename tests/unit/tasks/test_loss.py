import math

import numpy as np
import pytest
import torch

from longdoc.tasks import task_named


def test_single_label_loss_is_the_negative_log_probability() -> None:
    logits = torch.tensor([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]])
    losses = task_named("single_label").loss()(logits, [torch.tensor(2), torch.tensor(0)])
    total = math.exp(1.0) + math.exp(2.0) + math.exp(0.5)
    assert losses.tolist() == pytest.approx([-math.log(math.exp(0.5) / total), math.log(3)], rel=1e-6)


def test_multi_label_loss_is_the_mean_over_labels() -> None:
    logits = torch.tensor([[0.0, 3.0]])
    loss = task_named("multi_label").loss()(logits, [torch.tensor([1.0, 0.0])])
    expected = (math.log(2) + math.log(1 + math.exp(3.0))) / 2
    assert loss.tolist() == pytest.approx([expected], rel=1e-6)


def test_regression_loss_is_the_squared_error() -> None:
    assert task_named("regression").loss()(
        torch.tensor([[2.0], [1.0]]), [torch.tensor(0.5), torch.tensor(1.0)]
    ).tolist() == [
        2.25,
        0.0,
    ]


def test_balanced_single_label_weights_are_scikit_learns() -> None:
    from sklearn.utils.class_weight import compute_class_weight

    targets = [torch.tensor(t) for t in (0, 0, 0, 1, 2, 2)]
    loss = task_named("single_label").loss(None, targets, 3, "balanced")
    expected = compute_class_weight("balanced", classes=np.arange(3), y=np.array([int(t) for t in targets]))
    assert loss.weights is not None
    assert loss.weights.tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_a_label_that_never_occurs_weighs_one() -> None:
    single = task_named("single_label").loss(None, [torch.tensor(0)], 2, "balanced")
    many = task_named("multi_label").loss(None, [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0])], 2, "balanced")
    assert single.weights is not None
    assert many.weights is not None
    assert single.weights[1] == 1.0
    assert many.weights.tolist() == [1.0, 1.0]


def test_half_precision_scores_give_a_float32_loss() -> None:
    loss = task_named("single_label").loss()(torch.tensor([[300.0, 0.0]], dtype=torch.bfloat16), [torch.tensor(1)])
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(300.0)
