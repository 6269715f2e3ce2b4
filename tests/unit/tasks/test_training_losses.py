"""The losses of training against formulas written out, and what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from longdoc.config import load_config
from longdoc.errors import ConfigurationError
from longdoc.tasks import TASKS, task_named
from longdoc.tasks.losses import CrossEntropyConfig, FocalConfig, LossChoice
from longdoc.training.settings import TrainingConfig

ROWS = [[1.0, 2.0, -0.5], [0.3, 0.0, 4.0], [-2.0, 1.5, 1.0]]
RIGHT = [2, 2, 0]


@dataclass
class Wishes:
    """The settings that tasks look at."""

    loss: LossChoice = field(default_factory=CrossEntropyConfig)
    class_weights: Any = "none"
    pos_weight: Any = "none"


class Readout:
    classes = 3


def softmax(row: list[float]) -> list[float]:
    total = sum(math.exp(x) for x in row)
    return [math.exp(x) / total for x in row]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def learned(task: str, wishes: Wishes, targets: list[torch.Tensor], labels: tuple[str, ...] = ("a", "b", "c")) -> Any:
    return task_named(task).training_loss(wishes, Readout(), targets, labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("gamma", [None, 0.0, 0.5, 2.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("balanced", [False, True])
def test_one_label_is_learned_by_the_written_formula(gamma: float | None, smoothing: float, balanced: bool) -> None:
    targets = [torch.tensor(r) for r in RIGHT]
    kind = (
        CrossEntropyConfig(label_smoothing=smoothing)
        if gamma is None
        else FocalConfig(gamma=gamma, label_smoothing=smoothing)
    )
    found = learned("single_label", Wishes(kind, "balanced" if balanced else "none"), targets)(
        torch.tensor(ROWS), targets
    )
    counts = [RIGHT.count(c) for c in range(3)]
    weights = [3 / (3 * n) if n and balanced else 1.0 for n in counts]
    expected = []
    for row, right in zip(ROWS, RIGHT, strict=True):
        p = softmax(row)
        wanted = [(1 - smoothing) * (c == right) + smoothing / 3 for c in range(3)]
        expected.append(sum(weights[c] * wanted[c] * (1 - p[c]) ** (gamma or 0.0) * -math.log(p[c]) for c in range(3)))
    assert found.tolist() == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize("gamma", [None, 0.0, 0.5, 2.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", ["none", "balanced", {"a": 3.0, "c": 0.5}])
def test_several_labels_are_learned_by_the_written_formula(gamma: float | None, smoothing: float, weight: Any) -> None:
    given = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    targets = [torch.tensor(row) for row in given]
    kind = (
        CrossEntropyConfig(label_smoothing=smoothing)
        if gamma is None
        else FocalConfig(gamma=gamma, label_smoothing=smoothing)
    )
    found = learned("multi_label", Wishes(kind, pos_weight=weight), targets)(torch.tensor(ROWS), targets)
    weights = {"none": [1.0, 1.0, 1.0], "balanced": [1 / 2, 2 / 1, 1.0]}.get(str(weight), [3.0, 1.0, 0.5])
    expected = []
    for row, yes in zip(ROWS, given, strict=True):
        parts = []
        for x, y, w in zip(row, yes, weights, strict=True):
            p, wanted = sigmoid(x), y * (1 - smoothing) + smoothing / 2
            parts.append(
                w * wanted * (1 - p) ** (gamma or 0.0) * -math.log(p)
                + (1 - wanted) * p ** (gamma or 0.0) * -math.log(1 - p)
            )
        expected.append(sum(parts) / 3)
    assert found.tolist() == pytest.approx(expected, rel=2e-5)


def test_grades_are_learned_by_focal_loss_of_the_right_ones_probability() -> None:
    rows, targets = torch.tensor([[0.5, -1.0], [2.0, 0.3]]), [torch.tensor(0), torch.tensor(2)]
    found = learned("ordinal", Wishes(FocalConfig(gamma=1.5)), targets)(rows, targets)
    chances = [1 - sigmoid(0.5), sigmoid(2.0) * sigmoid(0.3)]
    assert found.tolist() == pytest.approx([(1 - p) ** 1.5 * -math.log(p) for p in chances], rel=2e-5)


@pytest.mark.parametrize("task", ["single_label", "multi_label", "ordinal"])
def test_without_a_wish_training_learns_by_what_is_measured(task: str) -> None:
    rows = torch.tensor(ROWS)[:, : 2 if task == "ordinal" else 3]
    targets = [torch.tensor([1.0, 0.0, 1.0])] * 3 if task == "multi_label" else [torch.tensor(r) for r in RIGHT]
    found = learned(task, Wishes(), targets)(rows, targets)
    assert torch.equal(found, task_named(task).loss()(rows, targets))


def test_class_weights_of_several_labels_are_balanced_positives() -> None:
    targets = [torch.tensor([1.0, 0.0, 0.0]), torch.tensor([1.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 0.0])]
    by_class = learned("multi_label", Wishes(class_weights="balanced"), targets)
    by_positives = learned("multi_label", Wishes(pos_weight="balanced"), targets)
    assert by_class.weights.tolist() == by_positives.weights.tolist() == [0.5, 2.0, 1.0]


REFUSED = {
    "regression takes no focal loss": (
        ("regression", Wishes(FocalConfig())),
        "`training.loss.kind` must be cross_entropy, the default, for the task regression, which has a loss of its "
        "own, but is focal instead. Leave it out.",
    ),
    "spans are not smoothed": (
        ("spans", Wishes(CrossEntropyConfig(label_smoothing=0.25))),
        "`training.loss.label_smoothing` must be 0 for the task spans, but is 0.25 instead. Leave it out.",
    ),
    "grades are not smoothed": (
        ("ordinal", Wishes(FocalConfig(label_smoothing=0.1))),
        "`training.loss.label_smoothing` must be 0 for the task ordinal, where a label far from the right one is not "
        "as good as one beside it, but is 0.1 instead. Leave it out.",
    ),
    "one label has no positives": (
        ("single_label", Wishes(pos_weight="balanced")),
        "`training.pos_weight` must be none for the task single_label: only in multi_label each label is a yes or a "
        "no. `training.class_weights: balanced` makes rare labels weigh more.",
    ),
    "a number has no classes": (
        ("regression", Wishes(class_weights="balanced")),
        "`training.class_weights` must be none for a regression, which has no classes, but is balanced instead.",
    ),
    "one of two ways to weigh": (
        ("multi_label", Wishes(class_weights="balanced", pos_weight={"a": 2.0})),
        "`training.class_weights` must be none where `training.pos_weight` says what a label weighs, but is balanced "
        "instead. Leave one of them out.",
    ),
    "names of labels": (
        ("multi_label", Wishes(pos_weight={"a": 2.0, "secret": 3.0})),
        "`training.pos_weight` must name labels of the model, but 1 name of 2 is none of its 3. Compare them with the "
        "labels of the documents.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_suit_a_task_is_refused(name: str) -> None:
    (task, wishes), message = REFUSED[name]
    with pytest.raises(ConfigurationError) as caught:
        task_named(task).check_loss(wishes, ("a", "b", "c"))
    assert str(caught.value) == message
    with pytest.raises(ConfigurationError):
        learned(task, wishes, [])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_no_task_refuses_the_settings_that_nobody_touched(task: Any) -> None:
    task.check_loss(TrainingConfig(), ("a", "b", "c"))


def test_losses_are_said_in_a_file_by_a_word_or_with_their_numbers() -> None:
    training = load_config(None, ["training.loss=focal", "training.pos_weight.a=2"]).training
    assert training.loss == FocalConfig()
    assert training.pos_weight == {"a": 2.0}
    smooth = load_config(None, ["training.loss.label_smoothing=0.2"]).training
    assert smooth.loss == CrossEntropyConfig(label_smoothing=0.2)
    more = load_config(None, ["training.loss.kind=focal", "training.loss.gamma=1", "training.loss.label_smoothing=0.1"])
    assert more.training.loss == FocalConfig(gamma=1.0, label_smoothing=0.1)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.loss=hinge", "`training.loss` must be of a known kind: cross_entropy, focal. Correct `kind`."),
        (
            "training.loss.gamma=2",
            "`training.loss.gamma` is not a key of the kind cross_entropy, but of focal. Set "
            "`training.loss.kind=focal` too, or leave it out. Known of cross_entropy: label_smoothing.",
        ),
        ("training.pos_weight=often", "`training.pos_weight` must be none or balanced, but is not."),
        ("training.loss.label_smoothing=1", "`training.loss.label_smoothing` must be less than 1, but is not."),
    ],
)
def test_wrong_losses_are_refused_with_the_key(override: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_config(None, [override])
    assert str(caught.value) == message
