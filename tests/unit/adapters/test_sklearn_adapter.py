"""The classifier behind scikit-learn's interface, with a small random encoder."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline as Steps
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import longdoc
from longdoc.decide import ConformalSets
from longdoc.errors import CheckpointError, UsageError

pytestmark = pytest.mark.usefixtures("minilm_folder")

ENCODER = {"width": 16, "layers": 1, "heads": 2, "feed_forward_width": 32, "dropout": 0.0, "attention_dropout": 0.0,
           "position": {"kind": "rotary"}}  # fmt: skip
CONFIG = {"model": {"encoder": ENCODER}, "prediction": {"precision": {"device": "cpu", "dtype": "fp32"}}}

ANIMALS, PLANTS, STONES = "the cat and the dog sleep ", "a tree and a rose grow ", "granite is a hard stone "
TEXTS = [kind * (2 + n % 5) for n in range(8) for kind in (ANIMALS, PLANTS)]
LABELS = ["animal", "plant"] * 8


def classifier(**parameters: Any) -> longdoc.LongDocumentClassifier:
    defaults = {"size": 32, "overlap": 8, "epochs": 6, "learning_rate": 0.02, "head_learning_rate": 0.02,
                "config": CONFIG}  # fmt: skip
    return longdoc.LongDocumentClassifier(**defaults | parameters)


@pytest.fixture(scope="module")
def fitted() -> longdoc.LongDocumentClassifier:
    return classifier().fit(TEXTS, LABELS)


def test_fit_tells_of_each_epoch_where_it_is_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    classifier(epochs=2, freeze=["encoder"]).fit(TEXTS, LABELS)
    assert capsys.readouterr().out == ""
    classifier(epochs=2, freeze=["encoder"], verbose=True).fit(TEXTS, LABELS)
    lines = capsys.readouterr().out.splitlines()
    read = [f"encode: {n} of 16 texts" for n in (1, 2, 4, 5, 7, 8, 10, 12, 13, 15, 16)]  # one for each tenth
    assert lines[:-2] == read
    for number, line in enumerate(lines[-2:], 1):
        assert re.fullmatch(rf"epoch {number} of 2, loss \d\.\d{{4}}", line)


def test_it_learns_and_answers_in_scikit_learns_shapes(fitted: longdoc.LongDocumentClassifier) -> None:
    assert fitted.classes_.tolist() == ["animal", "plant"]
    assert not fitted.multilabel_
    probabilities = fitted.predict_proba(TEXTS)
    assert probabilities.shape == (16, 2)
    assert np.allclose(probabilities.sum(1), 1)
    assert fitted.predict(TEXTS).tolist() == LABELS
    assert fitted.score(TEXTS, LABELS) == 1.0
    scores = fitted.decision_function(TEXTS)
    assert scores.shape == (16,)
    assert ((scores > 0) == (probabilities[:, 1] > 0.5)).all()
    assert np.allclose(probabilities[:, 1], 1 / (1 + np.exp(-scores)), atol=1e-6)
    assert fitted.predict_proba([]).shape == (0, 2)
    answers = fitted.pipeline_.predict(TEXTS[:2])
    assert [answer.label for answer in answers] == LABELS[:2]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "make",
    [pd.Series, lambda t: pd.DataFrame({"a": t}), np.array, lambda t: np.array(t, dtype=object)[:, None], tuple],
    ids=["series", "frame", "strings", "column of objects", "tuple"],
)
def test_texts_come_in_many_shapes(fitted: longdoc.LongDocumentClassifier, make: Any) -> None:
    assert np.array_equal(fitted.predict_proba(make(TEXTS[:3])), fitted.predict_proba(TEXTS[:3]))


@pytest.mark.parametrize("classes", [(3, 7), (False, True), ("b", "a")], ids=["numbers", "booleans", "strings"])
def test_classes_keep_their_type_and_order(classes: tuple[Any, Any]) -> None:
    y = pd.Series([classes[n % 2] for n in range(4)])
    found = classifier(epochs=1).fit(TEXTS[:4], y)
    assert found.classes_.tolist() == sorted(classes)
    assert set(found.predict(TEXTS[:4]).tolist()) <= set(classes)
    assert found.predict(TEXTS[:1]).dtype == np.asarray(y).dtype


def test_the_same_seed_is_the_same_model_and_another_is_not() -> None:
    one, again, other = (classifier(epochs=1, seed=seed).fit(TEXTS[:6], LABELS[:6]) for seed in (1, 1, 2))
    assert np.array_equal(one.predict_proba(TEXTS), again.predict_proba(TEXTS))
    assert not np.array_equal(one.predict_proba(TEXTS), other.predict_proba(TEXTS))


LISTS = [["animal"], ["plant"], ["animal", "plant"], []] * 4
MIXED = [ANIMALS * 4, PLANTS * 4, ANIMALS * 2 + PLANTS * 2, STONES * 4] * 4


def test_several_classes_a_text() -> None:
    matrix = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 4)
    lists = classifier(epochs=8).fit(MIXED, LISTS)
    indicators = classifier(epochs=8).fit(MIXED, matrix)
    assert lists.classes_.tolist() == ["animal", "plant"]
    assert indicators.classes_.tolist() == [0, 1]
    assert lists.multilabel_
    assert indicators.multilabel_
    assert np.array_equal(lists.predict_proba(MIXED), indicators.predict_proba(MIXED)), "the same problem"
    found = lists.predict(MIXED)
    assert found.shape == (16, 2)
    assert set(np.unique(found)) <= {0, 1}
    assert lists.decision_function(MIXED).shape == (16, 2)
    assert lists.score(MIXED, LISTS) == lists.score(MIXED, matrix) == (found == matrix).all(1).mean()
    assert classifier(epochs=1).fit(MIXED[:4], matrix[:4].tolist()).multilabel_


def test_answers_that_the_model_holds_back_are_judged_by_its_thresholds() -> None:
    fitted = classifier(epochs=2).fit(MIXED, LISTS)
    probabilities = fitted.predict_proba(MIXED)
    # the surest text alone has the one class, all but the least sure the other
    thresholds = (float(probabilities[:, 0].max()), float(np.unique(probabilities[:, 1])[1]))
    never_sure = ConformalSets(coverage=0.9, limits=(1.0, 1.0), documents=20)
    pipeline = fitted.pipeline_
    decisions = pipeline.settings.decisions.model_copy(update={"thresholds": thresholds, "conformal": never_sure})
    pipeline.settings = pipeline.settings.model_copy(update={"decisions": decisions})
    assert all(item.chosen is None for answer in pipeline.predict(MIXED) for item in answer.labels)
    found = fitted.predict(MIXED)
    assert np.array_equal(found, probabilities >= np.array(thresholds))
    assert 0 < found.sum() < found.size
    assert not np.array_equal(found, probabilities >= 0.5)


def test_a_task_that_it_would_not_train_is_refused() -> None:
    config = CONFIG | {"model": CONFIG["model"] | {"task": "ordinal"}}
    with pytest.raises(UsageError) as caught:
        classifier(config=config).fit(TEXTS, LABELS)
    assert str(caught.value) == (
        "`config` asks for `model.task: ordinal`, but `y` says single_label, and this estimator knows none but "
        "single_label and multi_label. Leave it out, or train with `longdoc.train`."
    )


def test_three_classes_have_a_column_each() -> None:
    texts, y = [ANIMALS, PLANTS, STONES] * 2, [0, 1, 2] * 2
    found = classifier(epochs=1).fit(texts, y)
    assert found.predict_proba(texts).shape == found.decision_function(texts).shape == (6, 3)


@pytest.mark.slow
def test_cross_validation_grids_and_clones() -> None:
    scores = cross_val_score(classifier(), TEXTS, LABELS, cv=2)
    assert scores.mean() > 0.6
    grid = GridSearchCV(classifier(epochs=1), {"merger": ["mean", "max"], "pooling": ["mean"]}, cv=2)
    grid.fit(pd.Series(TEXTS[:8]), np.array(LABELS[:8]))
    assert grid.best_params_["merger"] in ("mean", "max")
    assert grid.best_estimator_.pipeline_.settings.readout.merger.kind == grid.best_params_["merger"]


def test_steps_calibration_and_one_against_the_rest() -> None:
    steps = Steps([("lower", FunctionTransformer(lambda texts: [t.lower() for t in texts])), ("long", classifier())])
    assert steps.fit(TEXTS, LABELS).score([t.upper() for t in TEXTS], LABELS) == 1.0
    steps.set_params(long__epochs=2)
    assert steps.named_steps["long"].epochs == 2
    calibrated = CalibratedClassifierCV(classifier(epochs=2), method="sigmoid", cv=2).fit(TEXTS, LABELS)
    assert np.allclose(calibrated.predict_proba(TEXTS).sum(1), 1)


def test_a_pickled_classifier_answers_the_same(fitted: longdoc.LongDocumentClassifier) -> None:
    """What joblib does for other processes. The state holds files, no tensors."""
    state = fitted.__getstate__()
    assert set(state["files_"]) >= {"config.json", "model.safetensors", "longdoc.json", "tokenizer.json"}
    assert "pipeline_" not in state
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert again.get_params() == fitted.get_params()
    empty = pickle.loads(pickle.dumps(classifier()))
    assert empty.get_params() == classifier().get_params()


def test_a_saved_classifier_is_a_model_folder_and_comes_back(
    fitted: longdoc.LongDocumentClassifier, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    again = longdoc.LongDocumentClassifier.load(tmp_path / "model")
    assert again.classes_.tolist() == fitted.classes_.tolist()
    assert np.array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    pipe = longdoc.Pipeline.load(tmp_path / "model")
    assert pipe(TEXTS[0])[0]["label"] == "animal"
    with pytest.raises(UsageError, match="holds a model already"):
        classifier(epochs=1).fit(TEXTS[:4], LABELS[:4]).save(tmp_path / "model")
    state = json.loads((tmp_path / "model" / "sklearn.json").read_text())
    (tmp_path / "model" / "sklearn.json").write_text(json.dumps(state | {"classes": ["plant", "animal"]}))
    with pytest.raises(CheckpointError) as caught:
        longdoc.LongDocumentClassifier.load(tmp_path / "model")
    assert str(caught.value) == "`sklearn.json` must name the classes of the model beside it, but does not."
    (tmp_path / "model" / "sklearn.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"^`sklearn.json` must say which classes a model has, but does not"):
        longdoc.LongDocumentClassifier.load(tmp_path / "model")


def test_a_text_without_an_answer(fitted: longdoc.LongDocumentClassifier) -> None:
    with pytest.raises(UsageError) as caught:
        fitted.predict([TEXTS[0], "  "])
    assert str(caught.value) == ("text 1 has no answer: empty. Leave it out, or set `unanswered` to `prior`.")
    lenient = clone(fitted).set_params(unanswered="prior", epochs=1).fit(TEXTS[:5], LABELS[:5])
    found = lenient.predict_proba(["  ", TEXTS[0]])
    assert np.allclose(found[0], [0.6, 0.4])
    assert lenient.predict(["  "]).tolist() == ["animal"]
    assert np.isclose(lenient.decision_function(["  "])[0], np.log(0.4 / 0.6))
    with pytest.raises(UsageError, match=r"^`unanswered` must be `error` or `prior`, but is 'guess' instead\.$"):
        classifier(unanswered="guess").fit(TEXTS, LABELS)


MISSING = (
    "`y` must have a class for each text, but {} of {} are missing (None or NaN). Leave these texts out, or label them."
)


@pytest.mark.parametrize(
    ("texts", "y", "message"),
    [
        ("one text", ["a"], "`X` must be a list of texts, but is str instead."),
        ([["a", "b"]], ["a"], "a text must be a string, but item 0 is list instead."),
        (["a", 3], ["a", "b"], "a text must be a string, but item 1 is int instead."),
        (np.array([["a", "b"]]), ["a"], "`X` must be texts in one column, but has the shape (1, 2) instead."),
        (["a", "b"], ["a"], "`y` must have one entry a text (2), but has 1 instead."),
        (["a", "b"], [None] * 2, MISSING.format(2, 2)),
        (["a", "b", "c"], ["x", float("nan"), "y"], MISSING.format(1, 3)),
        (["a", "b"], np.array(["x", None], dtype=object), MISSING.format(1, 2)),
        (["a", "b"], [["x"], None], MISSING.format(1, 2)),
        (["a", "b", "c"], [["x"], [], ["y", None]], MISSING.format(1, 3)),
        (["a", "b"], np.array([[2, 0], [1, 1]]), None),
        (["a", "b"], [0.1, 0.7], None),
    ],
)
def test_what_cannot_be_fitted(texts: Any, y: Any, message: str | None) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        classifier().fit(texts, y)
    if message is not None:
        assert str(caught.value) == message


def test_parameters_are_checked_as_a_configuration_is() -> None:
    with pytest.raises(UsageError, match=r"^`training.num_train_epochs` must be at least 1, but is less\.$"):
        classifier(epochs=0).fit(TEXTS, LABELS)
    with pytest.raises(UsageError, match=r"`overlap` must be in \[0, 29\]"):
        classifier(overlap=40).fit(TEXTS, LABELS)


def test_parameters_go_before_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("training: {num_train_epochs: 9, learning_rate: 0.5}\nmodel: {readout: {kind: logits}}\n")
    found = longdoc.LongDocumentClassifier(config=path, epochs=2, merger="noisy_or")._config(["a", "b"], True)
    assert found.training.num_train_epochs == 2
    assert found.training.learning_rate == 0.5
    assert found.model.readout.kind == "logits"
    assert found.model.readout.merger.kind == "noisy_or"  # type: ignore[union-attr]
    assert found.model.task == "multi_label"
    given = longdoc.load_config(overrides=["training.seed=4"])
    assert longdoc.LongDocumentClassifier(config=given)._config(["a", "b"], False).training.seed == 4
    word = longdoc.LongDocumentClassifier(readout="logits", merger="max")._config(["a", "b"], False)
    assert word.model.readout.kind == "logits"


def test_an_unfitted_classifier_says_so() -> None:
    for call in (classifier().predict, classifier().predict_proba, classifier().decision_function):
        with pytest.raises(NotFittedError):
            call(["a"])


CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_mixin_order",
]
"""Checks of scikit-learn that ask for no matrix of numbers."""


@pytest.mark.parametrize("check", [name for name in CHECKS if hasattr(estimator_checks, name)])
def test_the_checks_of_scikit_learn(check: str) -> None:
    getattr(estimator_checks, check)("LongDocumentClassifier", longdoc.LongDocumentClassifier())


def test_one_of_many_checks_is_there() -> None:
    assert sum(hasattr(estimator_checks, name) for name in CHECKS) >= 6
    assert OneVsRestClassifier(classifier()).estimator.size == 32
