"""The task of search: questions and texts as two sides, learned from each other, and what a question finds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from longdoc.api import train_with_report
from longdoc.config import load_config
from longdoc.decide import Decisions
from longdoc.errors import DataError
from longdoc.tasks import task_named
from longdoc.training.data import EpochSampler
from longdoc.training.evaluation import evaluate_documents
from longdoc.types import Document, DocumentPrediction
from training_kit import CONFIG

TASK = task_named("search")
SECRET = "the secret of Alice"
PLACE = ("prediction.precision.device=cpu", "prediction.precision.dtype=fp32")


def records(*texts: str) -> list[Document]:
    return [Document(id=f"r{n}", text=text, question=f"question {n}") for n, text in enumerate(texts)]


def targets(documents: list[Document]) -> list[torch.Tensor]:
    return [TASK.target(document, ("vector",)) for document in documents]


def test_a_record_is_a_question_and_a_text() -> None:
    sides = list(TASK.unfold(records("one", "two", "one"), "training"))
    assert [(side.id, side.text, side.label, side.question) for side in sides] == [
        ("r0 (question)", "question 0", "r0", "question 0"),
        ("r0", "one", "r0", None),
        ("r1 (question)", "question 1", "r1", "question 1"),
        ("r1", "two", "r1", None),
        ("r2 (question)", "question 2", "r0", "question 2"),
        ("r2", "one", "r0", None),
    ]
    assert list(TASK.unfold(sides, "evaluation")) == sides, "of what comes from here nothing more comes"


@pytest.mark.parametrize("purpose", ["validation", "evaluation"])
def test_a_text_that_answers_several_questions_is_found_once(purpose: str) -> None:
    sides = TASK.unfold(records("one", "two", "one"), purpose)  # type: ignore[arg-type]
    assert [side.id for side in sides] == ["r0 (question)", "r0", "r1 (question)", "r1", "r2 (question)"]


def test_a_batch_of_any_even_size_keeps_questions_beside_their_own_texts() -> None:
    sides = TASK.unfold(records(*(str(number % 3) for number in range(9))), "training")
    groups = [int(target.flatten()[0]) for target in targets(list(sides))]
    for members, _ in EpochSampler([1] * len(sides), 4, 0, groups=groups).epoch(0):
        met = [sides[member].id.partition(" ")[0] for member in members]
        assert {met.count(record) for record in met} == {2}


def test_a_question_of_white_space_is_none() -> None:
    given = [*records("one"), Document(id="x", text=SECRET, question="  "), Document(id="y", text=SECRET)]
    with pytest.raises(DataError) as caught:
        TASK.check_gold(given, ("vector",), "training")
    assert str(caught.value) == (
        "`model.task: search` needs the field `question` in every training document, but 2 of 3 have none (numbers 2, "
        "3). Map it with `read.fields.question` or set `model.task`."
    )
    TASK.check_gold(TASK.unfold(records("one", "two"), "training"), ("vector",), "evaluation")


@pytest.mark.parametrize("unfolded", [False, True])
def test_one_text_for_all_questions_is_refused(unfolded: bool) -> None:
    given = TASK.unfold(records("one", "one"), "training") if unfolded else records("one", "one")
    with pytest.raises(DataError) as caught:
        TASK.check_gold(given, ("vector",), "validation")
    assert str(caught.value) == (
        "the task search needs at least 2 different texts in the validation documents, but has 1. Add texts that do "
        "not answer."
    )


def test_the_loss_is_that_of_in_batch_negatives_in_both_directions() -> None:
    vectors = torch.randn(8, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    sides = list(TASK.unfold(records("a", "b", "c", "d"), "training"))
    unit = F.normalize(vectors, dim=1)
    questions, texts, right = unit[0::2], unit[1::2], torch.arange(4)
    forth = F.cross_entropy(questions @ texts.T / 0.1, right, reduction="none")
    back = F.cross_entropy(texts @ questions.T / 0.1, right, reduction="none")
    found = TASK.loss()(vectors, targets(sides))
    torch.testing.assert_close(found, torch.stack([forth, back], dim=1).flatten())


def test_the_text_of_another_question_that_is_the_same_is_not_a_wrong_one() -> None:
    """Two records of one text: both of its copies are right for both questions."""
    sides = list(TASK.unfold(records("same", "same", "other"), "training"))
    vectors = torch.tensor([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 2)
    losses = TASK.loss()(vectors, targets(sides)).tolist()
    right, wrong = math.exp(10.0), 1.0
    assert losses[:4] == pytest.approx([-math.log(right / (2 * right + wrong))] * 4, rel=1e-5)
    assert losses[4:] == pytest.approx([-math.log(right / (right + 2 * wrong))] * 2, abs=1e-6)


def test_a_batch_of_one_side_has_no_loss_and_no_gradient() -> None:
    sides = [side for side in TASK.unfold(records("a", "b", "a"), "training") if side.question]
    vectors = torch.randn(3, 4).requires_grad_()
    losses = TASK.loss()(vectors, targets(sides))
    losses.sum().backward()
    assert losses.tolist() == [0.0] * 3
    assert torch.equal(vectors.grad, torch.zeros_like(vectors))


def test_questions_ask_and_texts_are_found() -> None:
    sides = list(TASK.unfold(records("one", "two"), "evaluation"))
    at = [(1.0, 0.0), (0.8, 0.6), (0.6, 0.8), (0.0, 1.0)]
    results = [DocumentPrediction(id=side.id, logits=vector) for side, vector in zip(sides, at, strict=True)]
    measured = TASK.metrics(sides, results, ("vector",), Decisions())
    assert {name: measured[name] for name in ("task", "documents", "questions", "alone")} == {
        "task": "search", "documents": 4, "questions": 2, "alone": 0,
    }  # fmt: skip
    assert (measured["precision_at_1"], measured["mean_reciprocal_rank"]) == (0.5, 0.75)
    first, text, second, _ = TASK.outcomes(sides, results, ("vector",))
    assert (first.score, first.surprise, first.right, first.said) == (1.0, 0.0, "r0", "r0 (0.80)")
    assert (second.score, second.right, second.said) == (0.5, "r1", "r0 (0.96)")
    assert math.isnan(text.score)
    both = torch.tensor(at, dtype=torch.float64)
    expected = TASK.loss()(both, targets(sides)).mean()
    assert TASK.mean_loss(sides, results, ("vector",)) == pytest.approx(float(expected))


def test_training_leads_questions_to_their_texts(tmp_path: Path, minilm_folder: Path) -> None:
    words = ("sea", "bank", "tree", "horse", "wine", "stone")
    train = [
        Document(id=f"{word}{n}", text=f"much is said of {word} {n} here " * 12, question=f"what about {word}")
        for word in words
        for n in range(2)
    ]
    config = load_config(
        CONFIG,
        ["model.readout={kind: embedding}", "model.task=search", "training.per_device_train_batch_size=8", *PLACE],
    )
    validation = [Document(id=f"v-{d.id}", text=f"{d.text}!", question=d.question) for d in train[::2]]
    pipeline, report = train_with_report(config, tmp_path / "out", train, validation)
    assert (report.train_documents, report.validation_documents) == (24, 12)
    assert report.metric == "mean_reciprocal_rank"
    assert 0 < report.best == report.validation["mean_reciprocal_rank"] <= 1
    for given in (validation, TASK.unfold(validation, "evaluation")):
        results, measured = evaluate_documents(pipeline, given)
        assert (len(results), measured["questions"]) == (12, 6)
        assert measured["mean_reciprocal_rank"] == report.best
