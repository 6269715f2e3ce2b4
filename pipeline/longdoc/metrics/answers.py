"""How good answers are: exact match and F1 of words, as SQuAD counts them, with and without documents that have none.

Both compare normalised texts: lower case, without punctuation, articles and repeated white space. F1 is that of the
bags of words. Of several right answers the best counts; where a document has none, saying so is 1 and anything else 0
(Rajpurkar et al. 2016, arXiv 1606.05250; Rajpurkar, Jia and Liang 2018, arXiv 1806.03822; the official script of
version 2.0). For English, and where nobody says the language, the numbers are those of that script.

Beyond it: characters of scripts without spaces are words of their own (as in MLQA, Lewis et al. 2020, arXiv
1910.07475), and where the language is known not to be English articles stay and all of Unicode's punctuation goes.

Shape letters: B documents.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.metrics.intervals import Floats, bootstrap_intervals, describe_intervals

__all__ = ["answer_f1", "answer_metrics", "best_threshold", "exact_match", "normalised_words"]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)
# Kana, Han, Thai, Lao, Myanmar, Khmer: written without spaces.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
)


def normalised_words(text: str, language: str | None = None) -> list[str]:
    """The words of an answer as they are compared.

    Args:
        language: a code such as `de` or `en-GB`; None counts as English.
    """
    lowered = text.lower()
    if language is None or language.lower().split("-")[0].split("_")[0] in ("en", "eng"):
        kept = "".join(character for character in lowered if character not in _PUNCTUATION)
        kept = _ARTICLES.sub(" ", kept)
    else:
        kept = "".join(c for c in lowered if c not in _PUNCTUATION and not unicodedata.category(c).startswith("P"))
    return _UNSPACED.sub(r" \1 ", kept).split()


def exact_match(answer: str, right: Sequence[str], language: str | None = None) -> float:
    """1 where the answer is one of the right ones, else 0; an empty text is "no answer"."""
    words = normalised_words(answer, language)
    return float(any(words == normalised_words(text, language) for text in _said(right, language)))


def answer_f1(answer: str, right: Sequence[str], language: str | None = None) -> float:
    """The F1 of the answer's words with the best of the right ones."""
    words = normalised_words(answer, language)
    return max(_f1(words, normalised_words(text, language)) for text in _said(right, language))


def _said(right: Sequence[str], language: str | None) -> list[str]:
    """Right answers of which something is left when they are normalised; none = the empty one."""
    return [text for text in right if normalised_words(text, language)] or [""]


def _f1(words: Sequence[str], right: Sequence[str]) -> float:
    if not words or not right:
        return float(list(words) == list(right))
    shared = sum((Counter(words) & Counter(right)).values())
    return 2 * shared / (len(words) + len(right))


def best_threshold(margins: Sequence[float], found: Sequence[float], silent: Sequence[float]) -> float:
    """From which margin on to say "no answer": the one with the best mean.

    A document is answered where its margin, by how much "no answer" scores more than its best answer, is at most the
    threshold. Of equally good ones the nearest to 0 is taken: 0 itself, or the middle between two margins.

    Args:
        margins: (B,).
        found, silent: (B,), what each document counts if it is answered, and if it is not.
    """
    order = np.argsort(margins, kind="stable")
    ranked, gains = np.asarray(margins, dtype=np.float64)[order], (np.asarray(found) - np.asarray(silent))[order]
    last_of_ties = np.append(ranked[1:] != ranked[:-1], True)
    means = np.concatenate([[0.0], np.cumsum(gains)[last_of_ties]])  # of answering the first so many
    edges = ranked[last_of_ties]
    low, high = np.concatenate([[-np.inf], edges]), np.append(edges, np.inf)
    best = np.flatnonzero(means >= means.max() - 1e-9)
    return min((_between(float(low[n]), float(high[n])) for n in best), key=abs)


def _between(low: float, high: float) -> float:
    """A number from `low` on and below `high`: 0 where it is one, else the middle, or 1 from the only end."""
    if low <= 0 < high:
        return 0.0
    if np.isinf(low):
        return high - 1.0
    return low + 1.0 if np.isinf(high) else (low + high) / 2


def answer_metrics(
    right: Sequence[Sequence[str]],
    given: Sequence[str | None],
    languages: Sequence[str | None] = (),
    *,
    unanswered: Sequence[bool] = (),
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Metrics of answers with intervals over documents.

    Args:
        right: the right answers of each of B documents; none = it has no answer.
        given: the answers; None = "it has no answer".
        languages: of the documents.
        unanswered: documents that could not be read; they count 0, whatever is right.
        resamples: of the bootstrap; 0 = no intervals.
        confidence: share of the resamples between the two ends of an interval.

    Returns:
        `documents`, `with_answer`, `exact_match` and `f1` over all documents, `has_answer_exact_match` and
        `has_answer_f1` over those with an answer, `no_answer_accuracy` over the others (None where there are none),
        `intervals` and `choices`.
    """
    codes = list(languages) or [None] * len(right)
    lost = np.array(list(unanswered) or [False] * len(right), dtype=np.bool_)
    rows = list(zip(given, right, codes, strict=True))
    exact = np.array([exact_match(answer or "", texts, code) for answer, texts, code in rows])
    f1 = np.array([answer_f1(answer or "", texts, code) for answer, texts, code in rows])
    exact[lost] = f1[lost] = 0.0
    has = np.array([bool(texts) for texts in right], dtype=np.bool_)
    parts: dict[str, tuple[Floats, NDArray[np.bool_]]] = {
        "exact_match": (exact, np.ones(len(has), dtype=np.bool_)),
        "f1": (f1, np.ones(len(has), dtype=np.bool_)),
        "has_answer_exact_match": (exact, has),
        "has_answer_f1": (f1, has),
        "no_answer_accuracy": (exact, ~has),
    }

    def drawn(counts: Floats) -> dict[str, Floats]:
        with np.errstate(invalid="ignore"):
            return {name: counts @ (values * of) / (counts @ of) for name, (values, of) in parts.items()}

    return {
        "documents": len(right),
        "with_answer": int(has.sum()),
        **{name: float(values[of].mean()) if of.any() else None for name, (values, of) in parts.items()},
        "intervals": bootstrap_intervals(
            drawn, len(right), resamples, seed, confidence, {name: int(of.sum()) for name, (_, of) in parts.items()}
        ),
        "choices": {
            "answers": "compared as SQuAD 2.0 does: lower case, no punctuation, no English articles; of several right "
            "answers the best counts",
            "languages": "where a language other than English is named articles stay; characters of scripts without "
            "spaces are words",
            "unanswered": "a document that could not be read counts 0, also where it has no answer",
            "intervals": describe_intervals(resamples, seed, confidence),
        },
    }
