"""The task of vectors: its loss against slow loops, what it refuses before the first step, and how it is measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, DataError, UsageError
from longdoc.nn.readout import EmbeddingReadoutConfig
from longdoc.pipeline import Pipeline
from longdoc.tasks import task_named
from longdoc.tasks.contrastive import contrastive_losses, mean_contrastive_loss
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.training.settings import TrainingConfig
from longdoc.types import Document, DocumentFailure, DocumentPrediction

TASK = task_named("embedding")
SECRET = "the secret of Alice"


def labelled(labels: str) -> list[Document]:
    return [Document(id=f"d{number}", text=SECRET, label=label) for number, label in enumerate(labels)]


def by_loops(vectors: list[list[float]], groups: list[int], temperature: float, number: int) -> float:
    """Equation 2 of Khosla et al., for one anchor."""

    def cosine(n: int) -> float:
        one, other = vectors[number], vectors[n]
        return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))

    others = [n for n in range(len(groups)) if n != number]
    whole = sum(math.exp(cosine(n) / temperature) for n in others)
    alike = [n for n in others if groups[n] == groups[number]]
    chances = [math.exp(cosine(n) / temperature) / whole for n in alike]
    return -sum(map(math.log, chances)) / len(alike) if alike else 0.0


@pytest.mark.parametrize("temperature", [0.05, 0.1, 1.0])
@pytest.mark.parametrize("groups", [[1, 1], [1, 2, 1, 3, 2, 1, 1], [4, 5, 6], [0, 0, 0]])
def test_the_loss_is_that_of_slow_loops(groups: list[int], temperature: float) -> None:
    vectors = torch.randn(len(groups), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    expected = [by_loops(vectors.tolist(), groups, temperature, number) for number in range(len(groups))]
    found = contrastive_losses(vectors, torch.tensor(groups), temperature)
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    longer = vectors * torch.arange(1, len(groups) + 1)[:, None]
    torch.testing.assert_close(contrastive_losses(longer, torch.tensor(groups), temperature), found)
    assert mean_contrastive_loss(vectors, torch.tensor(groups), temperature) == pytest.approx(np.mean(expected))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, groups = torch.randn(11, 3, dtype=torch.float64), torch.arange(11) % 3
    whole = mean_contrastive_loss(vectors, groups, 0.1)
    monkeypatch.setattr("longdoc.tasks.contrastive._BLOCK", 40)
    assert mean_contrastive_loss(vectors, groups, 0.1) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("groups", [[1], [1, 2, 3]])
def test_a_batch_without_two_of_one_label_has_no_loss_and_no_gradient(groups: list[int]) -> None:
    vectors = torch.randn(len(groups), 4).requires_grad_()
    losses = TASK.loss()(vectors, [torch.tensor(group) for group in groups])
    losses.sum().backward()
    assert losses.tolist() == [0.0] * len(groups)
    assert torch.equal(vectors.grad, torch.zeros_like(vectors))


def test_vectors_of_no_length_do_not_spoil_the_others() -> None:
    vectors = torch.cat([torch.zeros(1, 3), torch.randn(3, 3)]).requires_grad_()
    TASK.loss()(vectors, [torch.tensor(n % 2) for n in range(4)]).sum().backward()
    assert bool(torch.isfinite(vectors.grad).all())


def test_the_temperature_is_that_of_the_readout() -> None:
    readout = EmbeddingReadoutConfig(temperature=0.5).build(3, 1)
    vectors, targets = torch.randn(4, 3), [torch.tensor(n % 2) for n in range(4)]
    expected = contrastive_losses(vectors, torch.stack(targets), 0.5)
    assert torch.equal(TASK.loss(readout)(vectors, targets), expected)
    assert not torch.equal(TASK.loss()(vectors, targets), expected)


def test_a_target_says_which_labels_are_the_same_and_nothing_else() -> None:
    targets = [TASK.target(document, ("vector",)) for document in labelled("aba\ud800")]
    assert torch.equal(targets[0], targets[2])
    assert len({int(target) for target in targets}) == 3
    assert int(targets[0]) == 0xCA978112CA1BBDCA - 2**64, "sha256 of a: the same in every process and every version"


# -- refused before the first step


@pytest.mark.parametrize("purpose", ["training", "validation", "evaluation"])
def test_labels_that_nobody_shares_are_refused(purpose: Any) -> None:
    with pytest.raises(DataError) as caught:
        TASK.check_gold(labelled("abc"), ("vector",), purpose)
    assert str(caught.value) == (
        f"the task embedding needs at least 2 {purpose} documents of one label, but each of 3 has a label that no "
        "other has. Give the same label to documents that are alike."
    )
    with pytest.raises(DataError) as caught:
        TASK.check_gold(labelled("aaa"), ("vector",), purpose)
    assert str(caught.value) == (
        f"the task embedding needs {purpose} documents of at least 2 labels, but all 3 have the same. Add documents "
        "that are not alike."
    )
    TASK.check_gold(labelled("aab"), ("vector",), purpose)
    TASK.check_gold([], ("vector",), purpose)


def test_validation_documents_may_have_labels_of_their_own() -> None:
    assert {TASK.gold_labels(document) for document in labelled("ab")} == {()}


def batches(*groups: list[int]) -> list[list[torch.Tensor]]:
    return [[torch.tensor(group) for group in batch] for batch in groups]


@pytest.mark.parametrize("groups", [([1], [1], [2], [2]), ([1, 1], [2, 2], [3, 4], [3, 1])])
def test_batches_from_which_nothing_can_be_learned_are_refused(groups: tuple[list[int], ...]) -> None:
    """Each document alone, or two that are alike without a third to tell them apart from."""
    with pytest.raises(ConfigurationError) as caught:
        TASK.check_batches(batches(*groups))
    assert str(caught.value) == (
        "`training.per_device_train_batch_size` must be so large that alike documents and others meet in a batch, but "
        "of 4 in the first epoch not one holds both. Raise it, to an even number from 4 on."
    )


def test_two_alike_documents_learn_nothing_from_each_other_alone() -> None:
    vectors = torch.randn(2, 4).requires_grad_()
    TASK.loss()(vectors, [torch.tensor(1)] * 2).sum().backward()
    assert torch.equal(vectors.grad, torch.zeros_like(vectors))


def test_documents_that_meet_nobody_are_counted() -> None:
    assert TASK.check_batches(batches([1, 1, 3, 3], [2, 2, 2, 1, 1])) == []
    assert TASK.check_batches(batches([1, 1, 2, 2, 4], [1, 1, 2, 3, 3], [1, 1])) == [
        "1 training document of 12 has nothing here that is alike: only others are told apart from it.",
        "1 training document of 12 has nothing alike in the batch, in the first epoch, and is not brought nearer to "
        "any. A larger `training.per_device_train_batch_size`, an even one, leaves fewer.",
        "1 of 3 batches of the first epoch hold nothing but documents that are alike, and nothing to tell them apart "
        "from. A larger `training.per_device_train_batch_size` leaves fewer.",
    ]
    assert [remark[:34] for remark in TASK.check_batches(batches([1, 1], [1, 2], [3, 2, 4, 5, 5]))] == [
        "2 training documents of 9 have not",
        "3 training documents of 9 have not",
        "1 of 3 batches of the first epoch ",
    ]


REFUSED = {
    "labels": (
        lambda: TASK.check_labels(("a", "b")),
        "`model.labels` must be null for the task embedding, which makes vectors and knows no labels, but names some. "
        "Leave it out.",
    ),
    "class weights": (
        lambda: TASK.check_loss(TrainingConfig(class_weights="balanced")),
        "`training.class_weights` must be none for the task embedding, which has no classes, but is balanced instead.",
    ),
    "abstention": (
        lambda: TASK.check_decisions(DecisionConfig(coverage=0.9), 50),
        "`training.decisions.coverage` must be null for the task embedding, which has no labels to abstain from, but "
        "is 0.9 instead.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_suit_vectors_is_refused(name: str) -> None:
    attempt, message = REFUSED[name]
    with pytest.raises(ConfigurationError) as caught:
        attempt()
    assert str(caught.value) == message


def test_a_readout_that_gives_scores_is_refused_and_so_are_vectors_by_tasks_with_labels() -> None:
    with pytest.raises(ValueError, match="must be of the kind embedding for the task embedding, but is vectors"):
        TASK.check_readout(task_named("single_label").default_readout())
    with pytest.raises(ValueError, match=r"for the task single_label, but the kind embedding scores nothing\. Choose"):
        task_named("single_label").check_readout(EmbeddingReadoutConfig())


def test_a_model_of_vectors_answers_nothing_and_says_so_at_once(tiny_pipeline: Pipeline) -> None:
    settings = tiny_pipeline.settings.model_copy(update={"task": "embedding", "labels": ("vector",)})
    pipeline = Pipeline(tiny_pipeline.model, settings, tiny_pipeline.tokenizer, tiny_pipeline.prediction)
    message = (
        "a model of the task embedding makes vectors, and has nothing to say of a document by itself. Use `longdoc "
        "embed` or `Pipeline.embed`; how good the vectors are says `longdoc evaluate`."
    )
    for ask in (pipeline.stream, pipeline.predict, pipeline):
        with pytest.raises(UsageError) as caught:
            ask(["a text"])  # type: ignore[operator]
        assert str(caught.value) == message


# -- measured

FOUND = [(1.0, 0.0), (0.8, 0.6), (0.6, 0.8), (0.0, 1.0)]


def results(vectors: list[tuple[float, float] | None]) -> list[Any]:
    return [
        DocumentFailure(id=f"d{n}", reason="timeout")
        if vector is None
        else DocumentPrediction(id=f"d{n}", logits=vector)
        for n, vector in enumerate(vectors)
    ]


def test_metrics_of_answers_and_failures() -> None:
    found = TASK.metrics(labelled("aabb"), results([FOUND[0], FOUND[1], None, FOUND[3]]), ("vector",), Decisions())
    assert (found["task"], found["documents"], found["unanswered"], found["alone"]) == ("embedding", 4, 1, 0)
    assert found["precision_at_1"] == 0.5
    assert found["mean_reciprocal_rank"] == 0.5


def test_the_loss_of_a_validation_is_that_of_one_batch() -> None:
    documents, readout = labelled("abab"), EmbeddingReadoutConfig(temperature=0.5).build(2, 1)
    expected = [by_loops([list(v) for v in FOUND], [0, 1, 0, 1], 0.5, n) for n in range(4)]
    found = TASK.mean_loss(documents, results(list(FOUND)), ("vector",), readout)
    assert found == pytest.approx(np.mean(expected))


def test_how_documents_come_out_among_each_other() -> None:
    first, second, third, fourth = TASK.outcomes(labelled("aabc"), results([*FOUND[:3], None]), ("vector",))
    assert (first.score, first.surprise, first.right, first.said) == (1.0, 0.0, "a", "a (0.80)")
    assert (second.score, second.said) == (0.5, "b (0.96)")
    assert second.surprise == pytest.approx(0.96)
    assert math.isnan(third.score)
    assert (fourth.said, fourth.surprise) == ("no answer", 0.0)
    assert math.isnan(TASK.outcome(labelled("a")[0], results([FOUND[0]])[0], ("vector",)).score)
