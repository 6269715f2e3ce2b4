"""What each measure of an evaluation is, in one line for people who have not met it."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MEANINGS"]

MEANINGS: Mapping[str, str] = {
    "loss": "what training makes small, of the raw scores",
    "accuracy": "share of documents with the right label",
    "subset_accuracy": "share of documents with all labels right and none too many",
    "sample_f1": "F1 of the labels of each document, averaged over documents",
    "macro_f1": "F1 of each label, averaged over the labels that occur: rare ones count as much as frequent ones",
    "macro_f1_all_labels": "the same over all labels of the model",
    "micro_f1": "F1 of all answers together: frequent labels count more",
    "macro_average_precision": "how well scores put documents with a label before those without, averaged over labels",
    "log_loss": "how surprising the right labels are to the model; 0 is best",
    "expected_calibration_error": "by how much confidence and share of right answers differ",
    "expected_calibration_error_unfitted": "the same before the temperature was fitted",
    "mae": "mean distance between answer and right answer",
    "rmse": "square root of the mean squared distance: large errors count more",
    "r2": "share of the variance that the answers explain; 0 is as good as always saying the mean",
    "pearson": "correlation of answers and right answers",
    "quadratic_weighted_kappa": "agreement beyond chance; far-off answers count more",
    "strict_f1": "F1 of spans whose ends and label are right",
    "strict_precision": "share of the spans given whose ends and label are right",
    "strict_recall": "share of the right spans that are given with right ends and label",
    "exact_f1": "F1 of spans whose ends are right, whatever the label",
    "partial_f1": "F1 where a span that overlaps counts half",
    "type_f1": "F1 of spans that overlap one of the same label",
    "macro_strict_f1": "strict F1 of each label, averaged over the labels that occur",
    "exact_match": "share of questions whose answer is right to the word",
    "f1": "words that answer and right answer share, averaged over questions",
    "has_answer_exact_match": "exact match where the text has an answer",
    "has_answer_f1": "F1 where the text has an answer",
    "no_answer_accuracy": "share of questions without an answer of which that is said",
    "precision_at_1": "share of documents whose nearest other has the same label",
    "mean_reciprocal_rank": "1 over the rank of the nearest other of the same label, averaged over documents",
    "recall_at_10": "share of the others of the same label that are among the ten nearest",
    "mean_average_precision": "how well nearness puts those of the same label before all others; 1 is best",
    "coverage_promised": "share of right answers that shall not be excluded",
    "coverage": "share of right answers that are not excluded",
    "mean_set_size": "how many answers cannot be excluded, on the mean",
    "answered": "share of answers that are given",
    "accuracy_answered": "share of the given answers that are right",
}
