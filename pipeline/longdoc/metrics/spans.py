"""How good spans are, by their characters: strict, exact, partial and type, as in the MUC evaluations.

A predicted span meets a gold span of the same document that it overlaps. They are counted in four ways (Chinchor and
Sundheim 1993, "MUC-5 evaluation metrics"; Segura-Bedmar et al. 2013, SemEval task 9):

- strict: correct where both ends and the label agree, else incorrect;
- exact: correct where both ends agree, whatever the label, else incorrect;
- partial: correct where both ends agree, else partial, which counts half; labels do not matter;
- type: correct where the labels agree, else incorrect; the ends need only overlap.

Spans that meet nothing are missed (gold) or spurious (predicted). Precision = correct / predicted, recall = correct /
gold, with half the partial ones. Each gold span is met at most once: by one with the same ends (and label, if any has
it), then by the others in the order of the text; `type` takes the nearest of the same label.

Shape letters: B documents, C labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longdoc.metrics.intervals import Floats, bootstrap_intervals, describe_intervals

__all__ = ["MODES", "MatchCounts", "PlainSpan", "match_spans", "span_metrics"]

MODES = ("strict", "exact", "partial", "type")

PlainSpan = tuple[int, int, str]
"""Start, end (exclusive) and label."""


class MatchCounts(NamedTuple):
    """What became of the spans of a document."""

    correct: int = 0
    incorrect: int = 0
    partial: int = 0
    missed: int = 0
    spurious: int = 0


def match_spans(gold: Sequence[PlainSpan], predicted: Sequence[PlainSpan]) -> dict[str, MatchCounts]:
    """The counts of one document, by each of `MODES`."""
    right, given = sorted(gold), sorted(predicted)
    meeting = _overlaps(right, given)
    same_ends = [[g for g in meeting[p] if right[g][:2] == given[p][:2]] for p in range(len(given))]
    same_label = [[g for g in meeting[p] if right[g][2] == given[p][2]] for p in range(len(given))]
    identical = [[g for g in same_ends[p] if right[g] == given[p]] for p in range(len(given))]

    def nearest(p: int, g: int) -> int:
        return abs(right[g][0] - given[p][0]) + abs(right[g][1] - given[p][1])

    labelled = [sorted(found, key=lambda g: nearest(p, g)) for p, found in enumerate(same_label)]
    counts = {}
    for mode, best, rest in (
        ("strict", [identical], "incorrect"),
        ("exact", [identical, same_ends], "incorrect"),
        ("partial", [identical, same_ends], "partial"),
        ("type", [identical, labelled], "incorrect"),
    ):
        met: set[int] = set()
        correct = _pair(best, met, waiting := dict.fromkeys(range(len(given))))
        others = _pair([meeting], met, waiting)
        counts[mode] = MatchCounts(
            correct=correct,
            missed=len(right) - correct - others,
            spurious=len(given) - correct - others,
            **{rest: others},
        )
    return counts


def _pair(rounds: Sequence[Sequence[Sequence[int]]], met: set[int], waiting: dict[int, None]) -> int:
    """Give each predicted span that waits the first gold span of its list that nobody has met; how many got one."""
    pairs = 0
    for candidates in rounds:
        for p in list(waiting):
            found = next((g for g in candidates[p] if g not in met), None)
            if found is not None:
                met.add(found)
                del waiting[p]
                pairs += 1
    return pairs


def _overlaps(right: Sequence[PlainSpan], given: Sequence[PlainSpan]) -> list[list[int]]:
    """For each predicted span the numbers of the gold spans that it overlaps, in the order of the text."""
    if not right:
        return [[] for _ in given]
    starts = np.array([span[0] for span in right])
    ends = np.array([span[1] for span in right])
    reach = np.maximum.accumulate(ends)
    found = []
    for start, end, _ in given:
        first, last = int(np.searchsorted(reach, start, side="right")), int(np.searchsorted(starts, end))
        found.append([g for g in range(first, last) if ends[g] > start])
    return found


def span_metrics(
    gold: Sequence[Sequence[PlainSpan]],
    predicted: Sequence[Sequence[PlainSpan]],
    labels: Sequence[str],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Metrics of spans with intervals over documents.

    Args:
        gold, predicted: the spans of each of B documents.
        labels: those of the model; macro averages are over those that occur in the gold spans.
        resamples: of the bootstrap; 0 = no intervals.
        confidence: share of the resamples between the two ends of an interval.

    Returns:
        `documents`, `gold_spans`, `predicted_spans`; for each of `MODES` `<mode>_precision`, `<mode>_recall`,
        `<mode>_f1` over all spans, and `macro_<mode>_f1`, the mean over labels; None where undefined; `intervals`;
        `per_label`: for each label its `support`, `predicted`, strict `precision`, `recall`, `f1`, its
        `f1_interval` (or None), and the F1 of the other modes, each label by itself; `choices`.
    """
    overall, by_label = _tables(gold, predicted, labels)
    support = _gold(by_label[0].sum(axis=0))
    averaged = np.flatnonzero(support)
    measures: dict[str, float | None] = {}
    for mode, table in zip(MODES, overall, strict=True):
        total = table.sum(axis=0)
        found = {"precision": _share(total, _predicted(total)), "recall": _share(total, _gold(total)), "f1": _f1(total)}
        measures |= {f"{mode}_{name}": _plain(value) for name, value in found.items()}
    f1 = {mode: _f1(table.sum(axis=0)) for mode, table in zip(MODES, by_label, strict=True)}
    measures |= {f"macro_{mode}_f1": _mean(values[averaged]) for mode, values in f1.items()}

    def resampled(counts: Floats) -> dict[str, Floats]:
        drawn: dict[str, Floats] = {}
        for number, mode in enumerate(MODES):
            total = np.tensordot(counts, overall[number], axes=1)
            drawn |= {
                f"{mode}_precision": _share(total, _predicted(total)),
                f"{mode}_recall": _share(total, _gold(total)),
                f"{mode}_f1": _f1(total),
            }
            of_labels = np.tensordot(counts, by_label[number], axes=1)[:, averaged]
            shown = _gold(of_labels) > 0
            with np.errstate(invalid="ignore"):
                drawn[f"macro_{mode}_f1"] = np.where(shown, _f1(of_labels), 0.0).sum(axis=1) / shown.sum(axis=1)
        strict = _f1(np.tensordot(counts, by_label[0], axes=1))
        return drawn | {str(label): values for label, values in enumerate(strict.T)}

    held = (_gold(by_label[0]) + _predicted(by_label[0]) > 0).sum(axis=0)
    behind = {str(label): int(documents) for label, documents in enumerate(held)}
    intervals = bootstrap_intervals(resampled, len(gold), resamples, seed, confidence, behind)

    totals = by_label[0].sum(axis=0)
    return {
        "documents": len(gold),
        "gold_spans": int(support.sum()),
        "predicted_spans": int(_predicted(totals).sum()),
        "labels": len(labels),
        "labels_without_support": int((support == 0).sum()),
        **measures,
        "intervals": {name: ends for name, ends in intervals.items() if not name.isdigit()},
        "per_label": [
            {
                "label": label,
                "support": int(support[number]),
                "predicted": int(_predicted(totals[number])),
                "precision": _plain(_share(totals[number], _predicted(totals[number]))),
                "recall": _plain(_share(totals[number], _gold(totals[number]))),
                "f1": _plain(f1["strict"][number]),
                "f1_interval": intervals.get(str(number)),
                **{f"{mode}_f1": _plain(f1[mode][number]) for mode in MODES[1:]},
            }
            for number, label in enumerate(labels)
        ],
        "choices": {
            "spans": "compared by characters; white space at the edges of gold spans does not count",
            "strict": "both ends and the label agree; precision, recall and f1 of labels are strict",
            "partial": "a span that overlaps counts half",
            "macro": f"mean over {len(averaged)} of the model's {len(labels)} labels: those of the gold spans",
            "unanswered": "all gold spans of a document without an answer are missed",
            "intervals": describe_intervals(resamples, seed, confidence),
        },
    }


def _tables(
    gold: Sequence[Sequence[PlainSpan]], predicted: Sequence[Sequence[PlainSpan]], labels: Sequence[str]
) -> tuple[Floats, Floats]:
    """The counts of `match_spans`: over all spans (modes, B, 5), and for each label by itself (modes, B, C, 5)."""
    overall = np.zeros((len(MODES), len(gold), len(MatchCounts._fields)))
    by_label = np.zeros((len(MODES), len(gold), len(labels), len(MatchCounts._fields)))
    numbers = {label: number for number, label in enumerate(labels)}
    for document, (right, given) in enumerate(zip(gold, predicted, strict=True)):
        overall[:, document] = list(match_spans(right, given).values())
        for label in {span[2] for span in (*right, *given)}:
            counts = match_spans([s for s in right if s[2] == label], [s for s in given if s[2] == label])
            by_label[:, document, numbers[label]] = list(counts.values())
    return overall, by_label


def _gold(counts: Floats) -> Floats:
    """(..., 5) -> (...): gold spans."""
    return np.asarray(counts[..., :4].sum(axis=-1))


def _predicted(counts: Floats) -> Floats:
    return np.asarray(counts[..., :3].sum(axis=-1) + counts[..., 4])


def _share(counts: Floats, of: Floats) -> Floats:
    """What is right of so many; NaN of none."""
    right = counts[..., 0] + 0.5 * counts[..., 2]
    return np.asarray(np.divide(right, of, out=np.full(np.shape(of), np.nan), where=np.asarray(of) > 0))


def _f1(counts: Floats) -> Floats:
    return 2 * _share(counts, _gold(counts) + _predicted(counts))


def _plain(value: NDArray[Any]) -> float | None:
    return None if np.isnan(value) else float(value)


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
