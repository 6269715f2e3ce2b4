"""Ordered labels against the reference that writes them out, against scikit-learn, and from training to evidence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, mean_absolute_error

import longdoc as library
from longdoc.api import train_with_report
from longdoc.decide import ConformalSets, Decisions
from longdoc.errors import ConfigurationError, DataError, UsageError
from longdoc.metrics.ordinal import bootstrap_kappa, ordinal_metrics
from longdoc.nn.readout import VectorsReadoutConfig
from longdoc.pipeline import Pipeline
from longdoc.tasks.ordinal import Ordinal
from longdoc.types import Document, DocumentPrediction
from readout_kit import every_readout
from reference import ordinal as reference

ORDINAL = Ordinal()
CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
GRADES = ("low", "middle", "high", "severe")
scores = st.lists(st.floats(-30, 30), min_size=1, max_size=7)


@settings(deadline=None)
@given(scores)
def test_probabilities_are_those_written_out_add_up_and_fall(values: list[float]) -> None:
    found = ORDINAL.probabilities(np.array(values))
    assert found.tolist() == pytest.approx(reference.probabilities(values), abs=1e-12)
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    above = 1 - np.cumsum(found)
    assert (np.diff(above) <= 1e-15).all(), "higher labels are never more likely to be reached than lower ones"


@settings(deadline=None)
@given(scores)
def test_the_answer_is_the_label_with_the_least_expected_distance(values: list[float]) -> None:
    probability = ORDINAL.probabilities(np.array(values))
    distances = [float((probability * abs(np.arange(len(probability)) - k)).sum()) for k in range(len(probability))]
    best = int(ORDINAL.best(probability))
    assert distances[best] == pytest.approx(min(distances), abs=1e-9)
    if sorted(distances)[1] - min(distances) > 1e-9:
        assert best == reference.median(reference.probabilities(values))


def test_the_median_need_not_be_the_most_probable_label() -> None:
    # 0.4, 0.25, 0.35: the first is the most probable, the second the nearest to all
    values = [np.log(0.6 / 0.4), np.log((0.35 / 0.6) / (0.25 / 0.6))]
    answer = ORDINAL.answer(np.array([values]), ("a", "b", "c"), Decisions())
    assert [item.label for item in answer["labels"]] == ["b", "a", "c"]
    assert [item.score for item in answer["labels"]] == pytest.approx([0.25, 0.4, 0.35])
    assert (answer["label"], answer["score"]) == ("b", pytest.approx(0.25))
    assert answer["logits"] == tuple(values)


def test_calibration_is_of_the_answer_that_is_given_not_of_the_most_probable_label() -> None:
    """Two documents with 0.4, 0.25, 0.35, whose answer is "b" at 0.25, and one with 0.1, 0.2, 0.7: "c" at 0.7.

    Right are the first "b" and the "c": the bin of 0.25 is off by |2 * 0.25 - 1|, that of 0.7 by |0.7 - 1|.
    """
    median, plain = [0.4, 0.25, 0.35], [0.1, 0.2, 0.7]
    logits = ORDINAL.scores_of(np.array([median, median, plain]), 1e-9)
    measured = ORDINAL.measure(np.array([1, 0, 2]), logits, ("a", "b", "c"), resamples=0)
    assert measured["accuracy"] == pytest.approx(2 / 3)
    assert [(row["pairs"], row["confidence"], row["accuracy"]) for row in measured["calibration"]] == [
        (2, pytest.approx(0.25), 0.5),
        (1, pytest.approx(0.7), 1.0),
    ]
    assert measured["expected_calibration_error"] == pytest.approx((0.5 + 0.3) / 3)
    assert measured["expected_calibration_error_unfitted"] == pytest.approx((0.5 + 0.3) / 3)
    assert measured["choices"]["calibration"] == "15 bins of equal width of the score of the answer"


def test_calibration_and_thresholds_of_a_page_are_of_the_same_scores() -> None:
    grades, logits = ("a", "b", "c"), np.random.default_rng(0).normal(size=(40, 2))
    gold = np.random.default_rng(1).integers(0, 3, 40)
    texts = documents(*(grades[label] for label in gold))
    results = [
        DocumentPrediction(document.id, n_tokens=1, n_chunks=1, **ORDINAL.answer(row, grades, Decisions()))
        for document, row in zip(texts, logits, strict=True)
    ]
    measured = ORDINAL.measure(gold, logits, grades, resamples=0)
    judged = [outcome.judged[0] for outcome in ORDINAL.outcomes(texts, results, grades)]
    assert (ORDINAL.probabilities(logits).argmax(axis=1) != ORDINAL.best(ORDINAL.probabilities(logits))).any()
    for name, column in zip(("confidence", "accuracy"), zip(*judged, strict=True), strict=True):
        binned = sum(row[name] * row["pairs"] for row in measured["calibration"])
        assert binned == pytest.approx(sum(column)), name


@pytest.mark.parametrize("huge", [1e3, 1e300, -1e300])
def test_huge_scores_stay_probabilities(huge: float) -> None:
    found = ORDINAL.probabilities(np.array([huge, huge]))
    assert found.tolist() == pytest.approx([0, 0, 1] if huge > 0 else [1, 0, 0], abs=1e-300)


@settings(deadline=None)
@given(st.lists(st.tuples(scores.filter(lambda s: len(s) == 3) | st.lists(st.floats(-9, 9), min_size=3, max_size=3),
                          st.integers(0, 3)), min_size=1, max_size=6))  # fmt: skip
def test_the_loss_is_minus_the_logarithm_of_the_right_labels_probability(rows: list[tuple[list[float], int]]) -> None:
    given_scores = torch.tensor([values for values, _ in rows])
    targets = [torch.tensor(label) for _, label in rows]
    losses = ORDINAL.loss()(given_scores, targets)
    assert losses.dtype == torch.float32
    for found, (values, label) in zip(losses.tolist(), rows, strict=True):
        if all(abs(value) < 10 for value in values):
            assert found == pytest.approx(reference.loss(values, label), rel=1e-4, abs=1e-4)
            assert found == pytest.approx(-np.log(reference.probabilities(values)[label]), rel=1e-3, abs=1e-3)


def test_balanced_weights_are_those_of_the_labels() -> None:
    targets = [torch.tensor(t) for t in (0, 0, 0, 2)]
    plain, balanced = ORDINAL.loss(), ORDINAL.loss(None, targets, 2, "balanced")
    given_scores = torch.tensor([[0.3, -1.0], [0.3, -1.0]])
    ratio = balanced(given_scores, targets[2:]) / plain(given_scores, targets[2:])
    assert ratio.tolist() == pytest.approx([4 / (3 * 3), 4 / 3])


def test_a_threshold_learns_from_the_documents_that_reach_it_only() -> None:
    values = torch.zeros(1, 3, requires_grad=True)
    ORDINAL.loss()(values, [torch.tensor(1)]).sum().backward()
    assert values.grad is not None
    assert values.grad[0].tolist() == [-0.5, 0.5, 0.0]


# -- labels


def documents(*labels: str) -> list[Document]:
    return [Document(id=str(n), text=f"text {n}", label=label) for n, label in enumerate(labels)]


def test_numbers_are_sorted_by_value_and_words_need_their_order_said() -> None:
    assert ORDINAL.collect_labels(documents("10", "9", "1.5", "9", "-2")) == ("-2", "1.5", "9", "10")
    with pytest.raises(DataError) as caught:
        ORDINAL.collect_labels(documents("10", "nan", "high"))
    assert str(caught.value) == (
        "`model.task: ordinal` needs to know the order of its labels, but 2 of 3 are no numbers. Name them all in "
        "`model.labels`, from low to high."
    )
    with pytest.raises(DataError, match=r"`model\.task: ordinal` needs at least 2 different labels"):
        ORDINAL.collect_labels(documents("1", "1"))


def test_kappa_cannot_choose_where_all_validation_documents_are_alike() -> None:
    with pytest.raises(DataError) as caught:
        ORDINAL.check_validation(documents("1", "1"), "quadratic_weighted_kappa")
    assert str(caught.value) == (
        "`training.metric_for_best_model: quadratic_weighted_kappa` needs validation documents with different labels, "
        "but all have the same. Choose mae."
    )
    ORDINAL.check_validation(documents("1", "1"), "mae")
    ORDINAL.check_validation(documents("1", "2"), "quadratic_weighted_kappa")


# -- measures


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
def test_measures_are_those_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    gold, predicted = (np.array(values) for values in zip(*pairs, strict=True))
    metrics = ordinal_metrics(gold, predicted, resamples=0)
    assert metrics["mae"] == pytest.approx(mean_absolute_error(gold, predicted))
    if len({*gold.tolist(), *predicted.tolist()}) == 1:
        assert metrics["quadratic_weighted_kappa"] is None
    else:
        expected = cohen_kappa_score(gold, predicted, weights="quadratic", labels=np.arange(5))
        assert metrics["quadratic_weighted_kappa"] == pytest.approx(expected)


def test_one_answer_for_all_has_a_kappa_of_zero_and_no_interval() -> None:
    """It was -0.000 with the interval from -0.000 to 0.000: rounding noise."""
    for gold, answer in ((np.arange(31) % 3, 1), (np.arange(97) % 5, 3)):
        metrics = ordinal_metrics(gold, np.full(len(gold), answer))
        assert str(metrics["quadratic_weighted_kappa"]) == "0.0"
        assert metrics["intervals"]["quadratic_weighted_kappa"] is None
        assert metrics["intervals"]["mae"] is not None


def test_a_resample_of_kappa_is_that_of_its_documents() -> None:
    random = np.random.default_rng(0)
    gold = random.integers(0, 4, 30)
    predicted = np.clip(gold + random.integers(-1, 2, 30), 0, 3)
    counts = random.multinomial(30, np.full(30, 1 / 30), 20).astype(float)
    for found, row in zip(bootstrap_kappa(gold, predicted, counts), counts.astype(int), strict=True):
        expected = cohen_kappa_score(np.repeat(gold, row), np.repeat(predicted, row), weights="quadratic")
        assert found == pytest.approx(expected)


def test_a_document_without_an_answer_is_left_out_of_distances_and_wrong_elsewhere() -> None:
    logits = np.array([[9.0, 9.0], [np.nan, np.nan], [-9.0, 0.0], [9.0, -9.0]])
    metrics = ORDINAL.measure(np.array([2, 1, 1, 1]), logits, ("1", "2", "3"), resamples=50)
    assert (metrics["task"], metrics["unanswered"]) == ("ordinal", 1)
    assert metrics["accuracy"] == 0.5
    assert metrics["mae"] == pytest.approx(1 / 3)
    assert {"mae", "quadratic_weighted_kappa", "accuracy", "macro_f1"} <= set(metrics["intervals"])
    assert metrics["choices"]["ranks"] == (
        "labels count as 0, 1, 2 ... in their order; documents without an answer are left out"
    )
    with pytest.raises(UsageError):
        ordinal_metrics([0, 1], [0])


# -- decisions


def synthetic(count: int, seed: int, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    logits = random.normal(0, 1.5, (count, 3))
    probability = ORDINAL.probabilities(logits)
    return factor * logits, (random.random((count, 1)) > probability.cumsum(axis=1)).sum(axis=1).clip(max=3)


@pytest.mark.parametrize("factor", [3.0, 0.3], ids=["too sure", "too modest"])
def test_the_temperature_is_found(factor: float) -> None:
    logits, gold = synthetic(3000, 1, factor)
    found = ORDINAL.fit_temperature(logits, gold)
    assert found == pytest.approx(factor, rel=0.1)

    def loss(temperature: float) -> float:
        return float(-np.log(ORDINAL.probabilities(logits, temperature)[np.arange(len(gold)), gold]).mean())

    assert loss(found) == pytest.approx(min(loss(t) for t in np.geomspace(0.05, 9, 200)), abs=1e-4)


def test_scores_that_say_nothing_keep_the_temperature() -> None:
    assert ORDINAL.fit_temperature(np.zeros((3, 2)), np.array([0, 1, 2])) == 1.0


def test_everything_is_fitted_and_kept() -> None:
    from longdoc.tasks.decision_settings import DecisionConfig

    logits, gold = synthetic(200, 2, 2.0)
    decisions = ORDINAL.fit_scores(logits, gold, GRADES, DecisionConfig(coverage=0.9))
    assert decisions.thresholds is None
    assert decisions.conformal is not None
    assert len(decisions.conformal.limits) == 1
    ORDINAL.check_fitted(decisions, GRADES)
    logits, gold = synthetic(2000, 3, 2.0)
    measured = ORDINAL.measure(gold, logits, GRADES, decisions, resamples=0)["abstention"]
    assert measured["coverage"] == pytest.approx(0.9, abs=0.04)
    with pytest.raises(UsageError) as caught:
        ORDINAL.fit_scores(np.zeros((3, 4)), np.zeros(3), GRADES)
    assert str(caught.value) == (
        "`logits` and `gold` must be (B, 3) and (B,) with B >= 1, but are (3, 4) and (3,) instead."
    )


def test_a_set_without_the_median_is_no_answer() -> None:
    sets = Decisions(conformal=ConformalSets(coverage=0.9, limits=(0.61,), documents=9))
    chosen = ORDINAL.chosen(np.array([0.4, 0.25, 0.35]), sets)
    assert chosen.tolist() == [None, False, False], "the set holds the first label, half of the probability lies above"
    alone = ORDINAL.chosen(np.array([0.1, 0.8, 0.1]), sets)
    assert alone.tolist() == [False, True, False]


# -- a whole model

SEVERITY = {
    "low": "the letter is thanked for",
    "middle": "a complaint was sent",
    "high": "damages of the licence are claimed",
    "severe": "the court was called and prison is asked for",
}


def letters(count: int, seed: int) -> list[Document]:
    """The worst sentence of a letter says its label."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        rank = number % 4
        said = [SEVERITY[GRADES[int(random.integers(0, rank + 1))]] for _ in range(int(random.integers(2, 9)))]
        said[int(random.integers(len(said)))] = SEVERITY[GRADES[rank]]
        made.append(Document(id=f"{seed}-{number}", text=" . ".join(said), label=GRADES[rank]))
    return made


ASKED = ["model.task=ordinal", "model.labels=[low,middle,high,severe]"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, minilm_folder: Path) -> tuple[Path, Pipeline, dict]:
    output = tmp_path_factory.mktemp("ordinal") / "run"
    overrides = [
        *ASKED,
        "model.readout={kind: logits, merger: max}",
        "training.num_train_epochs=12",
        "training.learning_rate=5e-3",
        "prediction.precision.device=cpu",
    ]
    config = library.load_config(CONFIG, overrides)
    pipe, report = train_with_report(
        config, output, train_documents=letters(48, 1), validation_documents=letters(24, 2)
    )
    return output, pipe, report.validation


def test_training_learns_the_order(trained: tuple[Path, Pipeline, dict]) -> None:
    _, pipe, validation = trained
    assert pipe.model.readout.classes == 3
    assert validation["task"] == "ordinal"
    assert validation["quadratic_weighted_kappa"] > 0.8
    answers = pipe.predict(letters(16, 3))
    ranks = [pipe.labels.index(answer.label) for answer in answers]
    assert np.abs(np.array(ranks) - np.arange(16) % 4).mean() < 0.5
    for answer in answers:
        assert sum(item.score for item in answer.labels) == pytest.approx(1.0, abs=1e-12)
        assert (answer.label, answer.score) == answer.labels[0][:2]


def test_a_saved_model_answers_alike_alone_and_in_company(trained: tuple[Path, Pipeline, dict]) -> None:
    folder, pipe, _ = trained
    given_letters = letters(7, 4)
    again = Pipeline.load(folder, pipe.prediction)
    together = [result.to_dict() for result in again.predict(given_letters)]
    assert together == [result.to_dict() for result in pipe.predict(given_letters)]
    assert together == [again.predict([letter])[0].to_dict() for letter in given_letters]
    described = json.loads((folder / "config.json").read_text())
    assert "problem_type" not in described
    assert described["id2label"] == {"0": "low", "1": "middle", "2": "high", "3": "severe"}
    assert again.settings.task == "ordinal"
    assert [set(item) for item in again(given_letters[0].text, top_k=None)] == [{"label", "score"}] * 4


def test_evidence_adds_up_to_the_thresholds_around_the_answer(trained: tuple[Path, Pipeline, dict]) -> None:
    _, pipe, _ = trained
    for letter in letters(4, 5):
        result = pipe.explain(letter)
        rank = pipe.labels.index(result.label)
        sums: dict[str, float] = {}
        for passage in result.evidence:
            sums[passage.label] = sums.get(passage.label, 0.0) + passage.weight
        around = [k for k in (rank - 1, rank) if 0 <= k < 3]
        assert sums == pytest.approx({pipe.labels[k + 1]: result.logits[k] for k in around}, abs=1e-3)


def test_evaluation_says_what_validation_said(trained: tuple[Path, Pipeline, dict]) -> None:
    from longdoc.training.evaluation import evaluate_documents

    _, pipe, validation = trained
    _, metrics = evaluate_documents(pipe, letters(24, 2))
    assert {name: metrics[name] for name in ("mae", "quadratic_weighted_kappa", "loss")} == pytest.approx(
        {name: validation[name] for name in ("mae", "quadratic_weighted_kappa", "loss")}
    )


@every_readout
def test_every_readout_learns_ordered_labels(config: dict, tmp_path: Path, minilm_folder: Path) -> None:
    overrides = [*ASKED, f"model.readout={json.dumps(config)}", "training.num_train_epochs=1"]
    if config["kind"] not in {"vectors", "logits", "label_attention"}:
        with pytest.raises(ConfigurationError):
            library.load_config(CONFIG, overrides)
        return
    pipe, report = train_with_report(
        library.load_config(CONFIG, overrides),
        tmp_path,
        train_documents=letters(8, 6),
        validation_documents=letters(4, 7),
    )
    before = [result.logits for result in pipe.predict(letters(3, 8))]
    assert [result.logits for result in Pipeline.load(tmp_path, pipe.prediction).predict(letters(3, 8))] == before
    assert {len(logits) for logits in before} == {3}
    assert report.validation["mae"] <= 3


def test_the_head_of_another_number_of_labels_is_not_taken_over() -> None:
    assert [ORDINAL.classes(GRADES[:n], VectorsReadoutConfig()) for n in (2, 3, 4)] == [1, 2, 3]
    with pytest.raises(ConfigurationError) as caught:
        ORDINAL.check_labels(["one"])
    assert str(caught.value) == (
        "`model.labels` must name at least 2 labels for the task ordinal, but names 1. With `model.task: multi_label` "
        "a document may have it or not."
    )
