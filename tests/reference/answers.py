"""Slow loops for answers: which places there are, which chunk scores each, their probabilities, SQuAD's measures."""

from __future__ import annotations

import collections
import math
import re
import string
from collections.abc import Sequence

Place = tuple[int, int]


def owners(spans: Sequence[Place], begins: Sequence[bool], ends: Sequence[bool], longest: int) -> dict[Place, int]:
    """Each place (first and last token, both inside) -> the number of the chunk that answers for it.

    Of the chunks that show all of it, the one whose core its middle is in, or is nearest to in the order of chunks;
    cores meet in the middle of the overlap, a middle of an even number of tokens goes to the earlier chunk.
    """
    found: dict[Place, int] = {}
    for first in range(len(begins)):
        for last in range(first, min(len(begins), first + longest)):
            showing = [n for n, (start, end) in enumerate(spans) if start <= first and last < end]
            if not (begins[first] and ends[last] and showing):
                continue
            middle = (first + last) / 2
            home = next(
                n for n in range(len(spans))
                if n == len(spans) - 1 or middle <= (spans[n][1] - 1 + spans[n + 1][0]) / 2
            )  # fmt: skip
            found[first, last] = min(showing, key=lambda n: abs(n - home))
    return found


def chances(
    scores: Sequence[Sequence[tuple[float, float]]], spans: Sequence[Place], owner: dict[Place, int], nowhere: bool
) -> tuple[dict[Place, float], float]:
    """The probability of each place and of there being none.

    Args:
        scores: of each chunk: of its first token, then of each token that it shows, for begin and end.
        nowhere: whether there may be none.
    """
    weights = {}
    for (first, last), n in owner.items():
        start = spans[n][0]
        weights[first, last] = math.exp(scores[n][1 + first - start][0] + scores[n][1 + last - start][1])
    none = math.exp(min(chunk[0][0] + chunk[0][1] for chunk in scores)) if nowhere else 0.0
    total = sum(weights.values()) + none
    return {place: weight / total for place, weight in weights.items()}, none / total if total else 0.0


def squad_normalised(text: str) -> str:
    """As the official script of SQuAD 2.0 describes it: lower case, no punctuation, no articles, single spaces."""
    lowered = text.lower()
    bare = "".join(character for character in lowered if character not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def squad_exact(gold: str, given: str) -> int:
    return int(squad_normalised(gold) == squad_normalised(given))


def squad_f1(gold: str, given: str) -> float:
    right, said = squad_normalised(gold).split(), squad_normalised(given).split()
    if not right or not said:
        return float(right == said)
    common = sum((collections.Counter(right) & collections.Counter(said)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(said), common / len(right)
    return 2 * precision * recall / (precision + recall)


def squad_best(golds: Sequence[str], given: str) -> tuple[int, float]:
    """Exact match and F1 with the best of several right answers; none, or only such of which nothing is left, = ""."""
    kept = [gold for gold in golds if squad_normalised(gold)] or [""]
    return max(squad_exact(gold, given) for gold in kept), max(squad_f1(gold, given) for gold in kept)
