"""Is reading all of a document better than reading a part? A paired test of the two best, and the verdict in words.

Shape letters: B documents, C labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.errors import counted
from longdoc.metrics.intervals import FEWEST_DOCUMENTS, without_rounding
from longdoc.study.comparison import Entry
from longdoc.tasks.compared_task import ComparedTask

__all__ = ["RESAMPLES", "paired_test", "verdict"]

RESAMPLES = 1000
_SIGNIFICANT = 0.05


def paired_test(entries: Sequence[Entry], gold: NDArray[Any], task: ComparedTask, seed: int = 0) -> dict[str, Any]:
    """The best that reads all against the best that does not, by a paired bootstrap over the test documents.

    Which two are the best is said by the validation documents, so the test documents choose nothing.

    Args:
        entries: of all strategies; those that count words take no part, since they would read all of a text anyway.
        gold: as the task's `gold` gives it.
        task: of the documents.

    Returns:
        `all` and `truncated` (names), `measure`, `difference` (positive: reading all is better), `interval` (95 %; None
        of fewer than `FEWEST_DOCUMENTS` documents, and where the difference does not vary), `documents` and `p`:
        twice the smaller share of resamples on one side of no difference (Efron and Tibshirani 1993, chapter 16).
        Empty where one of the two kinds is missing, or the measure is undefined.
    """
    higher = task.chosen_by not in task.lower_is_better
    readers = [entry for entry in entries if entry.folder is not None and not entry.by_words]
    defined = [entry for entry in readers if not math.isnan(entry.validation)]
    order = sorted(defined, key=lambda entry: entry.validation, reverse=higher)
    whole = next((entry for entry in order if entry.reads == "all"), None)
    part = next((entry for entry in order if entry.reads != "all"), None)
    if whole is None or part is None:
        return {}
    drawn = np.random.default_rng(seed).multinomial(len(gold), np.full(len(gold), 1 / len(gold)), size=RESAMPLES)
    counts = np.concatenate([np.ones((1, len(gold))), drawn.astype(np.float64)])  # the documents themselves first
    of_all, of_part = (task.resampled(gold, entry.answers, counts) for entry in (whole, part))
    differences = without_rounding(of_all - of_part, np.maximum(np.abs(of_all), np.abs(of_part)))
    resampled = differences[1:][np.isfinite(differences[1:])]
    if not len(resampled):
        return {}
    low, high = np.percentile(resampled, [2.5, 97.5])
    p = min(1.0, 2 * float(min((resampled <= 0).mean(), (resampled >= 0).mean())))
    return {
        "all": whole.name,
        "truncated": part.name,
        "measure": task.automatic,
        "difference": float(differences[0]),
        "interval": [float(low), float(high)] if len(gold) >= FEWEST_DOCUMENTS and low < high else None,
        "documents": len(gold),
        "p": p,
        "resamples": RESAMPLES,
    }


def verdict(entries: Sequence[Entry], test: Mapping[str, Any], task: ComparedTask) -> str:
    """What follows from the comparison, in a sentence or two."""
    main = task.automatic
    by_name = {entry.name: entry for entry in entries}
    if not test:
        return "Nothing follows: a strategy that reads all and one that does not are needed, and a measure of both."
    whole, part = by_name[test["all"]], by_name[test["truncated"]]
    values = f"{main} {whole.metrics[main]:.3f} against {part.metrics[main]:.3f}, {_told(test['p'])}"
    significant = test["p"] < _SIGNIFICANT and test["documents"] >= FEWEST_DOCUMENTS
    if significant and test["difference"] > 0:
        said = f"Chunking helps on these documents: use `{whole.name}` ({values} of `{part.name}`)."
    elif significant:
        said = f"Chunking does not help on these documents: use `{part.name}`, which is better ({values} of it)."
    else:
        said = (
            f"Chunking does not help measurably on these documents: use `{part.name}`, which reads less "
            f"(`{whole.name}`: {values})."
        )
    if test["documents"] < FEWEST_DOCUMENTS:
        said += f" That is {counted(test['documents'], 'document')}: too few to know."
    words = [entry for entry in entries if (entry.folder is None or entry.by_words) and entry.metrics[main] is not None]
    best = max(words, key=lambda entry: entry.metrics[main], default=None)
    if best is not None and best.metrics[main] > max(whole.metrics[main], part.metrics[main]):
        said += f" By its figure alone, untested, `{best.name}` is ahead of both with {best.metrics[main]:.3f}: "
        said += (
            "a model that can be used as it is." if best.by_words else "fine-tune the encoder before you rely on it."
        )
    return said


def _told(p: float) -> str:
    """No p is 0: it is smaller than can be said in two digits."""
    return f"p = {p:.2f}" if p >= 0.005 else "p < 0.01"
