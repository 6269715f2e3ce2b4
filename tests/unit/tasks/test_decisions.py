"""Temperature, thresholds and abstention: fitted on validation documents, right on others, blind to everything else."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longdoc as library
from longdoc.api import train_with_report
from longdoc.decide import Decisions, plausible_labels
from longdoc.errors import ConfigurationError, UsageError
from longdoc.jobs.rows import to_parquet
from longdoc.metrics.calibration import expected_calibration_error
from longdoc.pipeline import Pipeline
from longdoc.tasks import task_named
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.document_task import DocumentTask
from longdoc.tasks.fitting import best_thresholds, shared_threshold, steady_thresholds
from longdoc.training.decisions import fit_on_validation
from longdoc.types import Document
from task_kit import label_task, probabilities

CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
LABELS = ("a", "b", "c", "d")
Arrays = tuple[np.ndarray, np.ndarray]


def fit_decisions(logits, gold, labels, task: str, config: DecisionConfig | None = None) -> Decisions:
    fitted = task_named(task)
    assert isinstance(fitted, DocumentTask)
    return fitted.fit_scores(np.asarray(logits), np.asarray(gold), labels, config)


def decision_measures(gold, logits, task: str, decisions: Decisions):
    return label_task(task).decision_measures(gold, logits, decisions)


def fit_temperature(logits, gold, task: str) -> float:
    return label_task(task).fit_temperature(logits, gold)


def synthetic(documents: int, task: str, seed: int, factor: float = 3.0) -> Arrays:
    """Logits that are `factor` times too sure, and gold labels drawn from the true probabilities."""
    random = np.random.default_rng(seed)
    logits = random.normal(0.0, 1.5, size=(documents, len(LABELS)))
    probability = probabilities(logits, task)
    if task == "multi_label":
        return factor * logits, random.random(probability.shape) < probability
    return factor * logits, (random.random((documents, 1)) > probability.cumsum(axis=1)).sum(axis=1).clip(max=3)


def confidence(logits: np.ndarray, gold: np.ndarray, task: str, temperature: float) -> Arrays:
    scores = probabilities(logits, task, temperature)
    if task == "multi_label":
        return scores.ravel(), gold.ravel()
    return scores.max(axis=1), scores.argmax(axis=1) == gold


@pytest.mark.parametrize("task", ["single_label", "multi_label"])
@pytest.mark.parametrize("factor", [3.0, 0.3], ids=["too sure", "too modest"])
def test_the_fitted_model_is_calibrated_on_documents_it_has_not_seen(task: str, factor: float) -> None:
    temperature = fit_temperature(*synthetic(2000, task, seed=1, factor=factor), task)
    assert temperature == pytest.approx(factor, rel=0.1)
    logits, gold = synthetic(4000, task, seed=2, factor=factor)
    before, after = (expected_calibration_error(*confidence(logits, gold, task, t)) for t in (1.0, temperature))
    assert after < before / 2
    measured = decision_measures(gold, logits, task, Decisions(temperature=temperature))
    assert measured["expected_calibration_error_unfitted"] == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("task", ["single_label", "multi_label"])
def test_the_temperature_is_the_one_with_the_least_loss(task: str) -> None:
    logits, gold = synthetic(5000, task, seed=3)

    def loss(temperature: float) -> float:
        scores = probabilities(logits, task, temperature)
        if task == "multi_label":
            return float(-np.log(np.where(gold, scores, 1 - scores)).mean())
        return float(-np.log(scores[np.arange(len(gold)), gold]).mean())

    temperature = fit_temperature(logits, gold, task)
    best = min(np.geomspace(1.0, 9.0, 400), key=loss)
    assert temperature == pytest.approx(best, rel=0.02)


def test_a_model_without_an_error_on_few_documents_is_not_infinitely_sure() -> None:
    logits = np.eye(4)[[0, 1, 2, 3, 0]] * 20
    few = probabilities(logits, "single_label", fit_temperature(logits, np.array([0, 1, 2, 3, 0]), "single_label"))
    assert few.max(axis=1) == pytest.approx((5 + 1) / (5 + 2), abs=1e-6), "what five right answers of five allow"


def test_few_documents_count_as_if_one_more_were_right_and_one_wrong() -> None:
    logits, gold = np.array([[4.0, 0.0], [0.0, 3.0], [5.0, 1.0], [2.0, 0.0]]), np.array([0, 1, 1, 0])

    def loss(temperature: float) -> float:
        total = 0.0
        for row, right in zip(probabilities(logits, "single_label", temperature), gold, strict=True):
            total -= 5 / 6 * np.log(row[right]) + 1 / 6 * np.log(row[1 - right])
        return total

    best = min(np.geomspace(0.1, 99.0, 2000), key=loss)
    assert fit_temperature(logits, gold, "single_label") == pytest.approx(best, rel=0.005)


def test_one_of_many_labels_asks_for_no_more_doubt_than_one_of_two() -> None:
    """Thirty-four contracts of twenty-five types: a model that was not sure enough was told to be half as sure."""
    random = np.random.default_rng(2)
    logits = random.normal(0.0, 3.0, size=(2000, 25))
    chance = probabilities(logits, "single_label")
    gold = (random.random((2000, 1)) > chance.cumsum(axis=1)).sum(axis=1).clip(max=24)
    fitted = [fit_temperature(logits[n : n + 34], gold[n : n + 34], "single_label") for n in range(0, 1700, 34)]
    assert np.median(fitted) == pytest.approx(1.0, abs=0.2)


def test_many_rare_labels_do_not_ask_for_doubt_one_by_one() -> None:
    """Forty labels of few documents each, told with the true probabilities: there is nothing to soften."""
    random = np.random.default_rng(0)
    logits = random.normal(-5.0, 2.0, size=(200, 40))
    gold = random.random(logits.shape) < 1 / (1 + np.exp(-logits))
    assert np.median(gold.sum(axis=0)) < 10
    assert fit_temperature(logits, gold, "multi_label") == pytest.approx(1.0, abs=0.06)


def test_scores_that_say_nothing_keep_the_temperature() -> None:
    gold = np.array([0, 1, 1])
    assert fit_temperature(np.ones((3, 4)) * [[1], [2], [3]], gold, "single_label") == 1.0
    assert fit_temperature(np.zeros((3, 1)), gold[:, None] > 0, "multi_label") == 1.0


def test_scores_that_are_worse_than_none_become_even() -> None:
    logits, gold = synthetic(500, "single_label", seed=4)
    assert fit_temperature(-logits, gold, "single_label") == 100.0


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9, 0.99]), st.booleans()), min_size=1, max_size=12))
def test_a_threshold_has_the_best_f1_of_all_that_could_be(pairs: list[tuple[float, bool]]) -> None:
    scores, gold = (np.array(values) for values in zip(*pairs, strict=True))
    (threshold,) = best_thresholds(scores[:, None], gold[:, None])
    if not gold.any():
        assert threshold == 0.5
        return

    def f1(cut: float) -> float:
        chosen = scores >= cut
        return 2 * int((gold & chosen).sum()) / int(gold.sum() + chosen.sum())

    best = max(f1(cut) for cut in (0.0, *(score + 1e-9 for score in scores)))
    assert f1(threshold) == pytest.approx(best)
    if f1(0.5) == pytest.approx(best):
        assert threshold == 0.5, "nothing is gained by leaving the middle"


def test_a_threshold_lies_between_two_scores_and_near_the_middle() -> None:
    scores = np.array([[0.9], [0.3], [0.2], [0.1]])
    assert best_thresholds(scores, np.array([[1], [1], [0], [0]])) == (0.25,)
    assert best_thresholds(scores, np.array([[1], [0], [0], [0]])) == (0.5,)
    tie = np.array([[0.9], [0.3], [0.2], [0.1]])
    assert best_thresholds(tie, np.array([[1], [1], [1], [1]])) == (0.05,), "given to all documents"


def macro_f1(given: np.ndarray, gold: np.ndarray) -> float:
    """Label by label, written out."""
    shares = []
    for yes, right in zip(given.T, gold.T, strict=True):
        if right.any():
            hits = sum(1 for a, b in zip(yes, right, strict=True) if a and b)
            shares.append(2 * hits / (sum(map(bool, yes)) + sum(map(bool, right))))
    return sum(shares) / len(shares)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 4))
def test_a_shared_threshold_has_the_best_macro_f1_of_all_that_could_be(seed: int, documents: int, labels: int) -> None:
    random = np.random.default_rng(seed)
    scores, gold = random.integers(0, 8, (documents, labels)) / 8, random.random((documents, labels)) < 0.4
    (threshold, *others) = shared_threshold(scores, gold)
    assert others == [threshold] * (labels - 1)
    if not gold.any():
        assert threshold == 0.5
        return
    best = max(macro_f1(scores >= cut, gold) for cut in (0.0, *(scores.ravel() + 1e-9)))
    assert macro_f1(scores >= threshold, gold) == pytest.approx(best)


def test_few_documents_a_label_share_a_threshold_and_many_get_their_own() -> None:
    """Scores whose right threshold differs from label to label, or is the same for all but blurred."""
    random = np.random.default_rng(1)
    centres = np.array([0.2, 0.5, 0.8])
    gold = random.random((600, 3)) < 0.3
    apart = np.clip(centres + np.where(gold, 0.1, -0.1) + random.normal(0, 0.05, gold.shape), 0, 1)
    found = steady_thresholds(apart, gold)
    assert found == best_thresholds(apart, gold)
    assert np.array(found) == pytest.approx(centres, abs=0.06)
    rare, fresh = (random.random((documents, 30)) < 0.02 for documents in (200, 4000))
    blurred, seen = (
        np.clip(0.1 + np.where(right, 0.07, -0.07) + random.normal(0, 0.05, right.shape), 0, 1)
        for right in (rare, fresh)
    )
    shared, own = (np.array(fitted(blurred, rare)) for fitted in (steady_thresholds, best_thresholds))
    assert tuple(shared) == shared_threshold(blurred, rare)
    known = rare.any(axis=0)
    of_shared, of_own = (macro_f1((seen >= cuts)[:, known], fresh[:, known]) for cuts in (shared, own))
    assert of_shared > of_own + 0.03


def test_what_thresholds_were_wished_is_what_is_fitted() -> None:
    logits, gold = synthetic(60, "multi_label", seed=9)
    for wish, kind in (("f1_shared", shared_threshold), ("f1_per_label", best_thresholds), ("f1", steady_thresholds)):
        decisions = fit_decisions(logits, gold, LABELS, "multi_label", DecisionConfig(thresholds=wish))
        expected = kind(probabilities(logits / decisions.temperature, "multi_label"), gold)
        assert decisions.thresholds == pytest.approx(expected)
    measured = decision_measures(gold, logits, "multi_label", Decisions(thresholds=(0.3, 0.3, 0.3), documents=60))
    assert measured["decisions"]["thresholds"] == "one for all labels"


@pytest.mark.parametrize("task", ["single_label", "multi_label"])
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.97])
def test_sets_hold_the_right_label_as_often_as_they_promise(task: str, coverage: float) -> None:
    shares, size = [], 200
    for seed in range(60):
        logits, gold = synthetic(size, task, seed)
        sets = label_task(task).fit_conformal(probabilities(logits, task), gold, coverage)
        logits, gold = synthetic(size, task, seed + 1000)
        measured = decision_measures(gold, logits, task, Decisions(conformal=sets))["abstention"]
        shares.append(measured["coverage"])
    error = np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) > coverage - 3 * error, "at least what is promised"
    assert np.mean(shares) < coverage + 1 / (size + 1) + 3 * error + 1e-3, "and not much more: that would be idle"


def test_the_limit_is_the_finite_sample_quantile() -> None:
    scores = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.5, 0.5], [0.4, 0.6], [0.3, 0.7], [0.2, 0.8]])
    gold = np.zeros(8, dtype=int)  # nonconformities 0.1, 0.2 ... 0.8
    for coverage, expected in ((0.5, 0.5), (0.55, 0.5), (0.56, 0.6), (8 / 9, 0.8), (0.9, 1.0)):
        sets = label_task("single_label").fit_conformal(scores, gold, coverage)
        assert sets.limits == (pytest.approx(expected),), coverage
    nothing_excluded = label_task("single_label").fit_conformal(scores, gold, 0.9)
    assert plausible_labels(scores, nothing_excluded).all(), "eight documents cannot show ninety per cent"


def test_abstention_answers_less_and_better() -> None:
    logits, gold = synthetic(2000, "single_label", seed=5)
    decisions = fit_decisions(logits, gold, LABELS, "single_label", DecisionConfig(coverage=0.9))
    logits, gold = synthetic(2000, "single_label", seed=6)
    measured = decision_measures(gold, logits, "single_label", decisions)["abstention"]
    assert 0.05 < measured["answered"] < 0.95
    assert measured["accuracy_answered"] > (logits.argmax(axis=1) == gold).mean() + 0.1
    assert measured["coverage_promised"] == 0.9
    assert measured["mean_set_size"] > 1


def test_what_was_fitted_says_on_what() -> None:
    logits, gold = synthetic(50, "multi_label", seed=7)
    gold[:, 2] = False
    decisions = fit_decisions(logits, gold, LABELS, "multi_label", DecisionConfig(thresholds="f1_per_label"))
    assert decisions.documents == 50
    assert decisions.labels_without_support == ("c",)
    assert decisions.thresholds is not None
    assert decisions.thresholds[2] == 0.5
    assert Decisions.model_validate_json(decisions.model_dump_json()) == decisions
    untouched = fit_decisions(logits, gold, LABELS, "multi_label", DecisionConfig(temperature=False, thresholds="half"))
    assert (untouched.temperature, untouched.thresholds, untouched.conformal) == (1.0, None, None)
    single = fit_decisions(*synthetic(50, "single_label", seed=8), LABELS, "single_label")
    assert (single.thresholds, single.labels_without_support) == (None, ())
    assert fit_decisions([[1.0]], [2.0], ["size"], "regression") == Decisions()


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(ConfigurationError) as refused:
        fit_decisions([[1.0]], [2.0], ["size"], "regression", DecisionConfig(coverage=0.9))
    assert str(refused.value) == (
        "`training.decisions.coverage` must be null for a regression, which has no labels to abstain from, but is 0.9 "
        "instead."
    )
    with pytest.raises(ConfigurationError) as refused:
        DecisionConfig(coverage=0.9).check(documents=0)
    assert str(refused.value) == (
        "`training.decisions.coverage` is 0.9, but there is no validation document to fit it on. Pass "
        "`--validation`, or set it to null."
    )
    with pytest.raises(UsageError) as refused:
        fit_decisions(np.zeros((3, 4)), np.zeros(2), LABELS, "single_label")
    assert str(refused.value) == (
        "`logits` and `gold` must be (B, 4) and (B,) with B >= 1, but are (3, 4) and (2,) instead."
    )


# -- nothing but validation documents


def blind(fit: Callable[[Arrays, Arrays], Decisions]) -> bool:
    """Whether what is fitted stays the same, whatever the test documents are."""
    for task, coverage in itertools.product(("single_label", "multi_label"), (None, 0.8)):
        fit_here = lambda v, t: fit(v, t, task, DecisionConfig(coverage=coverage))  # noqa: B023, E731
        validation = synthetic(60, task, seed=9)
        found = [fit_here(validation, synthetic(60, task, seed)) for seed in (10, 11)]
        if found[0] != found[1]:
            return False
    return True


def test_a_leak_of_test_documents_would_be_noticed() -> None:
    def honest(validation: Arrays, test: Arrays, task: str, config: DecisionConfig) -> Decisions:
        return fit_decisions(*validation, LABELS, task, config)

    def leaky(validation: Arrays, test: Arrays, task: str, config: DecisionConfig) -> Decisions:
        both = [np.concatenate(pair) for pair in zip(validation, test, strict=True)]
        return fit_decisions(*both, LABELS, task, config)

    assert blind(honest)
    assert not blind(leaky)


def documents(number: int, seed: int, several: bool = False) -> list[Document]:
    """Texts whose label is a word in them, wrongly told one time in four."""
    random = np.random.default_rng(seed)
    made = []
    for n in range(number):
        word = random.integers(2)
        told = "ab"[word if random.random() < 0.75 else 1 - word]
        text = f"{['licence', 'patient'][word]} number {random.integers(99)} " * 6
        made.append(Document(id=f"{seed}-{n}", text=text, **({"labels": (told,)} if several else {"label": told})))
    return made


@pytest.mark.parametrize("task", ["single_label", "multi_label"])
def test_training_fits_on_validation_documents_alone_and_stores_it(tmp_path: Path, task: str) -> None:
    several = task == "multi_label"
    train, validation = documents(16, 1, several), documents(12, 2, several)
    config = library.load_config(CONFIG, [f"model.task={task}", "training.decisions.coverage=0.6"])
    pipe, report = train_with_report(config, tmp_path / "run", train_documents=train, validation_documents=validation)
    stored = json.loads((tmp_path / "run" / "longdoc.json").read_text())["decisions"]
    decisions = pipe.settings.decisions
    assert Decisions.model_validate(stored) == decisions == Pipeline.load(tmp_path / "run").settings.decisions
    assert decisions.documents == len(validation)
    assert decisions.temperature != 1.0
    assert report.validation["decisions"]["temperature"] == decisions.temperature

    raw = Pipeline.load(tmp_path / "run", pipe.prediction)
    raw.decide_by(Decisions())
    results = raw.predict(validation)
    again = fit_on_validation(raw, validation, results, config.training.decisions)
    assert again == decisions, "the validation documents alone give all of it"
    raw.decide_by(Decisions())
    leaked = fit_on_validation(raw, train, raw.predict(train), config.training.decisions)
    assert leaked != decisions, "other documents would have given something else"


def test_abstention_without_validation_documents_is_refused_before_training(tmp_path: Path) -> None:
    config = library.load_config(CONFIG, ["training.decisions.coverage=0.9"])
    with pytest.raises(ConfigurationError, match="there is no validation document to fit it on"):
        train_with_report(config, tmp_path / "run", train_documents=documents(8, 1), validation_documents=[])


def test_every_way_of_predicting_decides_alike(tiny_pipeline: Pipeline) -> None:
    pipeline = Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer, tiny_pipeline.prediction)
    text, fingerprint = "the licence grants a right " * 9, pipeline.fingerprint
    before = pipeline.predict([text])[0]
    assert (before.abstained, before.label) == (False, before.labels[0].label)
    sets = {"coverage": 0.9, "limits": (1.0,), "documents": 5}
    pipeline.decide_by(Decisions.model_validate({"temperature": 7.0, "conformal": sets}))
    assert pipeline.fingerprint != fingerprint, "answers of both must not be mixed in one job"
    predicted, (streamed,), explained = pipeline.predict([text])[0], pipeline.stream([text]), pipeline.explain(text)
    for result in (predicted, streamed, explained):
        assert result.logits == before.logits
        assert [item.score for item in result.labels] == sorted(
            probabilities(np.array(before.logits), "single_label", 7.0).tolist(), reverse=True
        )
        assert (result.abstained, result.label, result.score) == (True, None, None)
        assert result.to_dict()["label"] is None
    row = pq.read_table(pa.BufferReader(to_parquet([predicted], "plan"))).to_pylist()[0]
    assert (row["status"], row["label"], row["score"]) == ("ok", None, None)
    assert row["detail"] == "abstained: the labels that cannot be excluded are not exactly one"
    assert [item["chosen"] for item in row["labels"]] == [None, None, None]
    best = predicted.labels[0]
    assert pipeline(text) == [{"label": best.label, "score": best.score, "abstained": True}]


def test_decisions_that_do_not_fit_the_labels_are_refused(tiny_pipeline: Pipeline) -> None:
    with pytest.raises(ValueError, match=r"`decisions\.thresholds` must have 3 entries, but has 2 instead\."):
        tiny_pipeline.decide_by(Decisions(thresholds=(0.1, 0.2)))
    assert tiny_pipeline.settings.decisions == Decisions()


@pytest.mark.parametrize(("documents", "coverage", "possible"), [(9, 0.9, True), (8, 0.9, False), (1, 0.5, True)])
def test_a_coverage_that_so_few_documents_cannot_show_is_refused(
    documents: int, coverage: float, possible: bool
) -> None:
    settings = DecisionConfig(coverage=coverage)
    if possible:
        settings.check(documents)
        return
    with pytest.raises(ConfigurationError) as caught:
        settings.check(documents)
    assert str(caught.value) == (
        "`training.decisions.coverage` must be at most 0.889 with 8 validation documents, but is 0.9 instead: the "
        "model would abstain always. Lower it, or bring at least 9 validation documents."
    )
