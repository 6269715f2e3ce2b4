"""The report of an evaluation: one page that says in words how good a model is, where it fails, and how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longdoc.metrics.intervals import FEWEST_DOCUMENTS
from longdoc.report.evaluation_words import (
    calibration_words,
    documents_words,
    error_words,
    interval_words,
    place_words,
)
from longdoc.report.figures import (
    evidence_figure,
    groups_figure,
    interval_figure,
    reliability_figure,
    thresholds_figure,
)
from longdoc.report.findings import EvaluationFindings, Group
from longdoc.report.inert import inert_page
from longdoc.report.measure_words import MEANINGS

__all__ = ["evaluation_page"]

MOST_IN_A_TABLE = 30
"""Labels of a table of confusions; of more, only the most frequent confusions are listed."""
_COLUMNS = {"precision": "precision", "recall": "recall", "f1": "F1", "average_precision": "average precision",
            "exact_f1": "exact F1", "partial_f1": "partial F1", "type_f1": "type F1"}  # fmt: skip


def evaluation_page(
    metrics: Mapping[str, Any],
    findings: EvaluationFindings,
    outcome_name: str,
    title: str = "How good the answers are",
    links: Sequence[str] = (),
) -> str:
    """A complete HTML document without scripts, to be written as UTF-8.

    Args:
        metrics: that `longdoc evaluate` writes.
        outcome_name: of the task: what the score of one document is.
        links: one page for each of `findings.surprises`, relative to this one; empty = none were written.
    """
    spans = "gold_spans" in metrics
    return inert_page(
        "evaluation.html.j2",
        ("base.css", "evaluation.css"),
        title=title,
        summary=_summary(metrics, findings, outcome_name),
        measures=_measures(metrics),
        too_few=any(ends is None for ends in metrics["intervals"].values()),
        fewest=FEWEST_DOCUMENTS,
        labels=_labels(metrics),
        columns=[words for name, words in _COLUMNS.items() if name in (metrics.get("per_label") or [{}])[0]],
        headings=("spans in the data", "spans given") if spans else ("documents with it", "given"),
        confusion=_confusion(metrics.get("confusion")),
        calibration=_calibration(metrics),
        thresholds=_thresholds(findings),
        length=_length(findings, outcome_name),
        place=_place(findings, outcome_name),
        errors=_errors(findings, links),
        of_numbers=findings.of_numbers,
        about_errors=error_words(findings.of_numbers),
        texts=bool(links),
        choices=[(name.replace("_", " "), words) for name, words in metrics["choices"].items()],
    )


def _summary(metrics: Mapping[str, Any], findings: EvaluationFindings, outcome_name: str) -> list[str]:
    """The report in a few sentences."""
    first = documents_words(metrics["documents"], metrics["unanswered"])
    sentences = [f"{first} The mean {outcome_name} is {_said(findings.overall)}."]
    if (longer := _ends_of(findings.by_length)) is not None:
        short, long = longer
        sentences.append(
            f"By length: {_said(short)} with {short.name} tokens, {_said(long)} with {long.name}{_apart(short, long)}"
        )
    if metrics.get("tokens") and metrics.get("tokens_read") is not None:
        share = metrics["tokens_read"] / metrics["tokens"]
        read = "Every token was read." if share == 1 else f"{share:.1%} of all tokens were read."
        sentences.append(read)
    return sentences


def _said(group: Group) -> str:
    if group.mean is None:
        return "unknown"
    if group.low is None or group.high is None:
        return f"{group.mean:.3f}"
    return f"{group.mean:.3f} (95 % interval {group.low:.3f} to {group.high:.3f})"


def _ends_of(groups: Sequence[Group]) -> tuple[Group, Group] | None:
    known = [group for group in groups if group.mean is not None]
    return (known[0], known[-1]) if len(known) > 1 else None


def _apart(one: Group, other: Group) -> str:
    """Whether the intervals of two groups overlap."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return "."
    overlap = one.low <= other.high and other.low <= one.high
    return "; the intervals overlap, so this may be chance." if overlap else "; the intervals lie apart."


def _measures(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = [
        {
            "name": name.replace("_", " "),
            "value": value,
            "interval": metrics["intervals"].get(name),
            "too_few": name in metrics["intervals"],
            "meaning": MEANINGS.get(name, ""),
        }
        for name, value in metrics.items()
        if isinstance(value, float) or value is None
    ]
    held_back = [
        {"name": f"abstention: {name.replace('_', ' ')}", "value": value, "interval": None, "too_few": False,
         "meaning": MEANINGS.get(name, "")}
        for name, value in (metrics.get("abstention") or {}).items()
        if isinstance(value, float) or value is None
    ]  # fmt: skip
    return rows + held_back


def _labels(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = metrics.get("per_label") or []
    return [
        {
            "label": row["label"],
            "support": row["support"],
            "predicted": row["predicted"],
            "values": [row[name] for name in _COLUMNS if name in row],
            "interval": row.get("f1_interval"),
            "too_few": bool(metrics["intervals"]) and row["f1"] is not None,
            "figure": interval_figure(row["f1"], row.get("f1_interval")),
        }
        for row in sorted(rows, key=lambda row: -row["support"])
    ]


def _confusion(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if table is None:
        return None
    pairs = [
        {"right": right, "said": said, "count": count, "of": sum(counts)}
        for right, counts in zip(table["gold"], table["matrix"], strict=True)
        for said, count in zip(table["predicted"], counts, strict=True)
        if count and right != said
    ]
    rows = [
        {
            "name": name,
            "cells": [_cell(name, said, n, sum(counts)) for said, n in zip(table["predicted"], counts, strict=True)],
        }
        for name, counts in zip(table["gold"], table["matrix"], strict=True)
    ]
    return {
        "columns": table["predicted"],
        "rows": rows if len(rows) <= MOST_IN_A_TABLE else [],
        "pairs": sorted(pairs, key=lambda pair: -pair["count"])[:10],
    }


def _cell(right: str, said: str, count: int, of: int) -> dict[str, Any]:
    """Shaded in five steps by its share of the row; a right answer is framed, too."""
    style = f"share-{-(-5 * count // of)}" if count else "none"
    return {"count": count, "style": f"{style} right" if right == said else style}


def _calibration(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    rows = metrics.get("calibration")
    if not rows:
        return None
    answered = metrics["documents"] - metrics["unanswered"]
    sentence = calibration_words(rows, metrics["expected_calibration_error"], answered)
    return {"rows": rows, "sentence": sentence, "figure": reliability_figure(rows, f"Reliability diagram. {sentence}")}


def _thresholds(findings: EvaluationFindings) -> dict[str, Any]:
    rows = findings.thresholds
    best = max(rows, key=lambda row: row.f1 or 0.0, default=None)
    title = "Precision, recall and F1 over the threshold."
    if best is not None and best.f1 is not None:
        title += f" F1 is highest, {best.f1:.2f}, at {best.threshold:.2f}."
    return {"rows": rows, "figure": thresholds_figure(rows, title) if rows else ""}


def _length(findings: EvaluationFindings, outcome_name: str) -> dict[str, Any]:
    figure = groups_figure(
        findings.by_length,
        f"Mean {outcome_name} by length. {_in_words(findings.by_length, 'tokens')}",
        "tokens of the document",
        _top(findings.by_length),
    )
    caption = f"Mean {outcome_name}, by the length of the document in tokens{interval_words(findings.by_length)}."
    return {"groups": findings.by_length, "figure": figure, "score": outcome_name, "caption": caption}


def _place(findings: EvaluationFindings, outcome_name: str) -> dict[str, Any]:
    gold = findings.places_are == "gold"
    caption = place_words(gold, findings.of_numbers, outcome_name)
    figure = groups_figure(
        findings.by_place, f"{caption}. {_in_words(findings.by_place, '')}", "part of the text", _top(findings.by_place)
    )
    score = "score" if gold else outcome_name
    return {
        "groups": findings.by_place,
        "figure": figure,
        "caption": f"{caption}{interval_words(findings.by_place)}.",
        "score": score,
    }


def _in_words(groups: Sequence[Group], unit: str) -> str:
    said = [f"{group.name} {unit}".strip() + f": {group.mean:.2f}" for group in groups if group.mean is not None]
    return "; ".join(said) + "."


def _top(groups: Sequence[Group]) -> float:
    """The end of the scale: 1, or beyond the largest error where scores are errors."""
    largest = max((end for group in groups for end in (group.mean, group.high) if end is not None), default=1.0)
    return 1.0 if largest <= 1 else largest * 1.05


def _errors(findings: EvaluationFindings, links: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for number, each in enumerate(findings.surprises):
        outcome = each.outcome
        about = f"Where the evidence for the answer stands in document {number + 1} of this table"
        rows.append(
            {
                "id": each.id,
                "right": outcome.right,
                "said": outcome.said,
                "distance": outcome.distance,
                "tokens": each.tokens,
                "link": links[number] if number < len(links) else "",
                "figure": evidence_figure(each.strip, about) if each.strip else "",
            }
        )
    return rows
