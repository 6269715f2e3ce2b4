"""The linear classifier over words against scikit-learn, and as a part of a model folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from longdoc.cli import app
from longdoc.errors import CheckpointError, UsageError
from longdoc.linear import LINEAR_FILE, LinearClassifier, LinearSettings, ngrams, read_linear
from longdoc.pipeline import Pipeline
from longdoc.study.baseline import fit_linear
from longdoc.study.hybrid import add_words, mixing_weights
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.types import Document
from task_kit import label_task

WORDS = "the licence grants patient had fever court held appeal dismissed Straße naïve x_1 42 a I".split()


def texts(count: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [
        " ".join(WORDS[n] for n in random.integers(0, len(WORDS), int(random.integers(3, 40)))) for _ in range(count)
    ]


def vectorizer(count: int) -> TfidfVectorizer:
    return TfidfVectorizer(ngram_range=(1, 2), min_df=min(2, count), sublinear_tf=True, max_features=200_000)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60))
def test_terms_are_those_of_scikit_learn(text: str) -> None:
    analyse = TfidfVectorizer(ngram_range=(1, 2)).build_analyzer()
    assert ngrams(text) == analyse(text)


@pytest.mark.parametrize("labels", [2, 3])
def test_one_label_probabilities_are_those_of_scikit_learn(labels: int) -> None:
    train, test = texts(40, 1), [*texts(20, 2), "", "nothing known"]
    right = np.random.default_rng(3).integers(0, labels, 40)
    ours = fit_linear(train, np.eye(labels + 1, dtype=bool)[right], several=False)  # one label has no document
    rows = vectorizer(40)
    theirs = LogisticRegression(C=10.0, max_iter=1000).fit(rows.fit_transform(train), right)
    expected = theirs.predict_proba(rows.transform(test))
    found = np.stack([ours.probabilities(text) for text in test])
    assert np.abs(found[:, :labels] - expected).max() < 1e-5
    assert (found[:, labels] == 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(len(test)))


def test_probabilities_of_many_labels_are_those_of_scikit_learn() -> None:
    train, test = texts(40, 4), texts(20, 5)
    right = np.random.default_rng(6).random((40, 4)) < [0.5, 0.2, 0.0, 2.0]
    ours = fit_linear(train, right, several=True)
    rows = vectorizer(40)
    features = rows.fit_transform(train)
    found = np.stack([ours.probabilities(text) for text in test])
    for column in (0, 1):
        theirs = LogisticRegression(C=10.0, max_iter=1000).fit(features, right[:, column])
        assert np.abs(found[:, column] - theirs.predict_proba(rows.transform(test))[:, 1]).max() < 1e-5
    assert (found[:, 2] == 0).all()
    assert (found[:, 3] == 1).all()


def test_the_file_holds_no_word(tmp_path: Path) -> None:
    secret = "zanzibarsecret zanzibarsecret fever"
    linear = fit_linear([secret, secret, "court"], np.eye(2, dtype=bool)[[0, 0, 1]], several=False)
    assert b"zanzibar" not in linear.to_bytes()
    assert b"fever" not in linear.to_bytes()
    assert "features" in repr(linear)


# -- adding up


@pytest.mark.parametrize("name", ["single_label", "multi_label", "ordinal"])
def test_scores_of_probabilities_mean_them(name: str) -> None:
    task = label_task(name)
    scores = np.random.default_rng(0).normal(0, 2, (20, 3))
    probability = task.probabilities(scores)
    assert np.abs(task.probabilities(task.scores_of(probability, 1e-12)) - probability).max() < 1e-9
    certain = task.scores_of(np.array([0.0, 1.0, 0.0]), 0.01)
    assert np.isfinite(certain).all()


@pytest.mark.parametrize("name", ["single_label", "multi_label", "ordinal"])
def test_the_weights_have_the_least_loss_of_all_that_could_be(name: str) -> None:
    task = label_task(name)
    random = np.random.default_rng(1)
    model, words = random.normal(0, 1, (80, 2)), random.normal(0, 1, (80, 2))
    truth = 1.5 * model + 0.5 * words
    probability = task.probabilities(truth)
    if name == "multi_label":
        targets = [torch.tensor(row, dtype=torch.float32) for row in random.random((80, 2)) < probability]
    else:
        drawn = (random.random((80, 1)) > probability.cumsum(axis=1)).sum(axis=1)
        targets = [torch.tensor(int(label)) for label in drawn.clip(max=probability.shape[1] - 1)]

    def loss(a: float, b: float, shift: np.ndarray) -> float:
        scores = torch.from_numpy(a * model + b * words + shift)
        answers = 2 if name == "multi_label" else 1
        around = shift - shift.mean()
        return float(task.loss()(scores, targets).mean()) * answers + float((around**2).sum()) * 2 / 80

    found = loss(*mixing_weights(task, model, words, targets))
    steps = np.linspace(0, 4, 11)
    for shift in ([0, 0], [0.3, 0], [0, 0.3], [0.3, 0.3], [-0.3, 0], [0, -0.3], [-0.3, -0.3]):
        assert found <= min(loss(a, b, np.array(shift)) for a in steps for b in steps) + 1e-6
    assert mixing_weights(task, np.zeros_like(model), words, targets)[1] >= 0


def test_words_that_are_right_about_the_order_and_shy_are_shifted_and_count_in_full() -> None:
    """A rare label: the words say it clearly, but never over one half, as a regularised classifier does."""
    task = label_task("multi_label")
    random = np.random.default_rng(5)
    right = random.random((400, 3)) < 0.05
    words = np.where(right, -1.0, -5.0) + random.normal(0, 0.5, right.shape)
    model = np.where(right, 1.0, -1.0) + random.normal(0, 2, right.shape)
    targets = [torch.tensor(row, dtype=torch.float32) for row in right]
    of_model, of_words, shifts = mixing_weights(task, model, words, targets)
    mixed = of_model * model + of_words * words + shifts
    assert of_words > 4 * of_model
    assert ((mixed > 0) == right).mean() > 0.99


def test_words_that_mislead_count_nothing() -> None:
    task = label_task("single_label")
    right = np.arange(40) % 2
    targets = [torch.tensor(int(label)) for label in right]
    model = np.eye(2)[right] * 2.0
    assert mixing_weights(task, model, -model, targets)[1] == 0.0
    assert mixing_weights(task, -model, model, targets)[0] == 0.0


# -- a model folder

LABELS = ("contract", "letter", "notice")


def documents(count: int, seed: int) -> list[Document]:
    return [Document(id=f"{seed}-{n}", text=text, label=LABELS[n % 3]) for n, text in enumerate(texts(count, seed))]


@pytest.fixture
def hybrid(tiny_pipeline: Pipeline) -> Pipeline:
    pipeline = Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer, tiny_pipeline.prediction)
    train, validation = documents(30, 7), documents(12, 8)
    gold = np.eye(3, dtype=bool)[np.arange(30) % 3]
    linear = fit_linear([document.text for document in train], gold, several=False)
    alone = pipeline.predict(validation)
    mixed = add_words(pipeline, linear, 30, validation, alone, DecisionConfig())
    settings = pipeline.settings.linear
    assert settings is not None
    # whatever was fitted, both must count for the tests below
    counted = {"model_weight": 0.7, "words_weight": 1.3, "shifts": (0.1, 0.0, -0.2)}
    pipeline.add_linear(linear, settings.model_copy(update=counted))
    assert len(mixed) == 12
    return pipeline


def test_scores_are_the_weighted_sum(hybrid: Pipeline, tiny_pipeline: Pipeline) -> None:
    task = label_task("single_label")
    assert hybrid.linear is not None
    for document in documents(6, 9):
        alone = np.array(tiny_pipeline.predict([document])[0].logits)
        words = np.log(np.clip(hybrid.linear.probabilities(document.text), 0.5 / 31, 1 - 0.5 / 31))
        answer = hybrid.predict([document])[0]
        assert answer.logits == pytest.approx(0.7 * alone + 1.3 * words + [0.1, 0.0, -0.2], abs=1e-6)
        scores = task.probabilities(np.array(answer.logits), hybrid.settings.decisions.temperature)
        assert [item.score for item in answer.labels] == pytest.approx(sorted(scores, reverse=True))


def test_the_same_answer_alone_in_company_and_after_saving(hybrid: Pipeline, tmp_path: Path) -> None:
    asked = [*documents(9, 10), Document(id="long", text=" ".join(texts(40, 11)))]
    together = hybrid.predict(asked)
    assert [result.logits for result in together] == [hybrid.predict([document])[0].logits for document in asked]
    hybrid.save(tmp_path / "model")
    again = Pipeline.load(tmp_path / "model", hybrid.prediction)
    assert again.settings == hybrid.settings
    assert [result.to_dict() for result in again.predict(asked[::-1])] == [r.to_dict() for r in together[::-1]]
    assert again.fingerprint == hybrid.fingerprint
    assert json.loads((tmp_path / "model" / "longdoc.json").read_text())["linear"]["words_weight"] == 1.3


def test_a_model_without_words_says_nothing_of_them(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    tiny_pipeline.save(tmp_path / "model", overwrite=True)
    assert "linear" not in json.loads((tmp_path / "model" / "longdoc.json").read_text())
    assert not (tmp_path / "model" / LINEAR_FILE).exists()
    assert Pipeline.load(tmp_path / "model").linear is None


def test_a_job_gives_the_answers_of_the_model(hybrid: Pipeline, tmp_path: Path) -> None:
    hybrid.save(tmp_path / "model")
    asked = documents(7, 12)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": d.id, "text": d.text}) + "\n" for d in asked))
    arguments = ["--model", str(tmp_path / "model"), "--input", str(tmp_path / "in.jsonl")]
    job = ["predict", *arguments, "--output", str(tmp_path / "out"), "--set", "prediction.precision.dtype=fp32"]
    done = CliRunner().invoke(app, job)
    assert done.exit_code == 0, done.output
    exported = CliRunner().invoke(app, ["export", str(tmp_path / "out"), str(tmp_path / "rows.jsonl")])
    assert exported.exit_code == 0, exported.output
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    answers = hybrid.predict(asked)
    assert [row["label"] for row in rows] == [answer.label for answer in answers]
    assert [row["score"] for row in rows] == pytest.approx([answer.score for answer in answers], abs=1e-6)


def test_a_file_that_was_changed_or_is_missing_is_refused(hybrid: Pipeline, tmp_path: Path) -> None:
    hybrid.save(tmp_path / "model")
    path = tmp_path / "model" / LINEAR_FILE
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        Pipeline.load(tmp_path / "model")
    assert str(caught.value) == (
        f"`{path}` must be the file that `longdoc.json` names, but its sha256 is another. Restore the folder from "
        "where it was saved."
    )
    path.unlink()
    with pytest.raises(CheckpointError, match=r"must hold the linear classifier that `longdoc.json` names, but cannot"):
        Pipeline.load(tmp_path / "model")


def test_tensors_that_do_not_fit_are_refused(hybrid: Pipeline, tmp_path: Path) -> None:
    import hashlib

    assert hybrid.linear is not None
    assert hybrid.settings.linear is not None

    def refusal(linear: LinearClassifier | bytes, labels: int = 3) -> str:
        content = linear if isinstance(linear, bytes) else linear.to_bytes()
        (tmp_path / LINEAR_FILE).write_bytes(content)
        update = {"sha256": hashlib.sha256(content).hexdigest()}
        with pytest.raises(CheckpointError) as caught:
            read_linear(tmp_path, hybrid.settings.linear.model_copy(update=update), labels)
        return str(caught.value).removeprefix(f"`{tmp_path / LINEAR_FILE}` ")

    assert refusal(hybrid.linear, 4) == "must have weights for 4 labels, but its tensors do not fit together."
    short = replace(hybrid.linear, rarity=hybrid.linear.rarity[:-1])
    assert refusal(short) == "must have weights for 3 labels, but its tensors do not fit together."
    assert refusal(b"no tensors") == "must hold a linear classifier, but holds something else."


def test_words_have_no_evidence_of_passages(hybrid: Pipeline) -> None:
    with pytest.raises(UsageError) as caught:
        hybrid.explain("the licence grants")
    assert str(caught.value) == (
        "a model that adds scores of words has no evidence: they are not those of passages. Explain the model that it "
        "was made from."
    )


def test_a_job_that_wants_such_evidence_is_refused_before_it_reads(hybrid: Pipeline, tmp_path: Path) -> None:
    hybrid.save(tmp_path / "model")
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "the licence grants"}\n')
    arguments = ["--model", str(tmp_path / "model"), "--input", str(tmp_path / "in.jsonl"), "--evidence"]
    refused = CliRunner().invoke(app, ["predict", *arguments, "--output", str(tmp_path / "out")])
    assert refused.exit_code == 2, refused.output
    assert "a model that adds scores of words has no evidence" in refused.output
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_numbers_have_no_labels_to_add_scores_to(tiny_pipeline: Pipeline) -> None:
    words = LinearSettings(model_weight=1, words_weight=1, documents=1, train_documents=1, sha256="0")
    fields = dict(tiny_pipeline.settings) | {"task": "regression", "labels": ("value",), "linear": words}
    with pytest.raises(ValueError, match=r"`linear` adds scores of labels, but the task regression has none\."):
        type(tiny_pipeline.settings)(**fields)
    shifted = words.model_copy(update={"shifts": (0.5, 0.5)})
    with pytest.raises(ValueError, match=r"`linear\.shifts` must have 3 entries, but has 2 instead\."):
        type(tiny_pipeline.settings)(**dict(tiny_pipeline.settings) | {"linear": shifted})
