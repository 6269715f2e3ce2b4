"""Spans: names, clauses, personal data, with their exact places in a text of any length.

The words of the whole document are tagged, and the tags decoded once, after the scores of all chunks have been strung
together: where a chunk ends no span is cut, doubled or glued. A span's score is the probability that just these words
are a span of its label, neither more nor fewer, over all sequences of tags that the decoder allows.

Shape letters: T tokens that are read, U words, M layers of tags, K tags of a layer.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, DataError, counted
from longdoc.metrics.spans import PlainSpan, match_spans, span_metrics
from longdoc.nn.exact import exact
from longdoc.nn.readout import Readout, ReadoutKind, TokensReadout, TokensReadoutConfig
from longdoc.spans.alignment import align, trimmed, word_spans
from longdoc.spans.chain import Chain
from longdoc.spans.words import Words, find_words
from longdoc.tasks.base import ClassWeights, DocumentLoss
from longdoc.tasks.compared_task import ComparedTask, Floats
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.outcomes import MISSING, Outcome
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult, ScoredSpan

__all__ = ["Spans"]

_log = logging.getLogger(__name__)


class Spans(ComparedTask):
    """Any number of labelled places in a text."""

    name = "spans"
    field = "spans"
    pipeline_tag = "token-classification"
    needs_tokens = True
    keeps_loss = True
    metric_names = ("loss", "strict_f1", "exact_f1", "partial_f1", "type_f1", "macro_strict_f1", "strict_recall")
    automatic = "strict_f1"
    table = ("strict_f1", "partial_f1", "macro_strict_f1")
    outcome_name = "strict F1 of a document's spans"

    # -- labels

    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        labels = {label for document in documents for label in self.gold_labels(document)}
        if not labels:
            raise DataError("`model.task: spans` needs at least 1 span to learn from, but the data have none.")
        return tuple(sorted(labels))

    def gold_labels(self, document: Document) -> tuple[str, ...]:
        return tuple(dict.fromkeys(span.label for span in document.spans or ()))

    # -- the head

    def classes(self, labels: Sequence[str], readout: ReadoutKind) -> int:
        layers, tags = _config(readout).layout(len(labels)).shape
        return layers * tags

    def default_readout(self) -> ReadoutKind:
        return TokensReadoutConfig()

    def check_readout(self, readout: ReadoutKind) -> None:
        _config(readout)

    def settle(self, readout: ReadoutKind, documents: Sequence[Document]) -> ReadoutKind:
        """One sequence of tags for each label where spans of different labels overlap, unless that was decided."""
        config = _config(readout)
        if config.overlapping is not None or config.tags is not None:
            return readout
        crossing = sum(_overlapping(document) for document in documents)
        if crossing:
            _log.info(
                "spans of different labels overlap in %s: each is tagged by itself", counted(crossing, "document")
            )
        return config.model_copy(update={"overlapping": crossing > 0})

    # -- learning

    def target(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> Tensor:
        """int16 (T, 2 + M): whether a token begins a word, whether reading begins anew there, and its word's tags."""
        tagger, words = _tagger(readout), _words(tokens, readout)
        tags, _ = align(_given(tokens).text, words, document.spans or (), labels, tagger.layout)
        target = torch.zeros(words.tokens, 2 + tags.shape[1], dtype=torch.int16)
        first = torch.from_numpy(words.first)
        target[first, 0] = 1
        target[first[[start for start, _ in words.runs]], 1] = 1
        target[first, 2:] = torch.from_numpy(tags.astype(np.int16))
        return target

    def misfits(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> Mapping[str, int]:
        given = _given(tokens)
        _, counts = align(given.text, _words(tokens, readout), document.spans or (), labels, _tagger(readout).layout)
        return {
            "gold spans that begin or end inside a word, learned as whole words": counts.moved,
            "gold spans without a word that is read, not learned": counts.unread,
            "gold spans that overlap a longer one in the same sequence of tags, not learned": (counts.overlapping),
        }

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
    ) -> DocumentLoss:
        """Minus the logarithm of the right tags' probability, a word: by themselves, or with `crf` as a sequence."""
        if class_weights != "none":
            raise ConfigurationError(
                "`training.class_weights` must be none for the task spans, whose tags have no balance to be put right, "
                f"but is {class_weights} instead."
            )
        return _SpanLoss(_tagger(readout))

    # -- answering

    def answer(
        self,
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions,
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> dict[str, Any]:
        """As in `Task`: `spans`, sorted; each begins and ends with a word, no two of one label overlap."""
        tagger, given, words = _tagger(readout), _given(tokens), _words(tokens, readout)
        begins = torch.zeros(words.tokens, dtype=torch.bool)
        begins[torch.from_numpy(words.first)] = True
        of_words = _word_scores(torch.from_numpy(np.asarray(scores, dtype=np.float64)), begins, tagger).numpy()
        chain = Chain.of(tagger.layout) if tagger.transitions is None else tagger.transitions.chain()
        found: list[ScoredSpan] = []
        for start, end in words.runs:
            part = of_words[start:end]
            spelled = word_spans(chain.best(part), tagger.layout)
            chances = chain.span_chances(part, tagger.layout, spelled)
            for (_, label, first, last), chance in zip(spelled, chances, strict=True):
                left, right = trimmed(given.text, int(words.start[start + first]), int(words.end[start + last - 1]))
                if left < right and chance >= decisions.min_score:
                    found.append(ScoredSpan(left, right, labels[label], chance))
        return {"spans": tuple(sorted(found, key=lambda span: (span.start, span.end, span.label)))}

    def show(
        self,
        predictions: Sequence[DocumentPrediction],
        single: bool,
        top_k: int | None,
        labels: Sequence[str],
        texts: Sequence[str] = (),
    ) -> Any:
        """As the token-classification pipeline does where it aggregates: a list of `{"entity_group": ..., "score": ...,
        "word": ..., "start": ..., "end": ...}` for one text, a list of such lists for several. `top_k` does not matter.
        """
        answers = [
            [
                {
                    "entity_group": span.label,
                    "score": span.score,
                    "word": text[span.start : span.end],
                    "start": span.start,
                    "end": span.end,
                }
                for span in prediction.spans
            ]
            for prediction, text in zip(predictions, texts, strict=True)
        ]
        return answers[0] if single else answers

    # -- measuring

    def metrics(
        self,
        documents: Sequence[Document],
        results: Sequence[DocumentResult],
        labels: Sequence[str],
        decisions: Decisions,
        readout: Readout | None = None,
        resamples: int = 1000,
    ) -> dict[str, Any]:
        measured = span_metrics(
            [_gold(document) for document in documents],
            [_found(result) for result in results],
            labels,
            resamples=resamples,
        )
        return {
            "task": self.name,
            "documents": measured["documents"],
            "unanswered": sum(not isinstance(result, DocumentPrediction) for result in results),
            **measured,
            "decisions": {"min_score": decisions.min_score, "fitted_on_documents": decisions.documents},
        }

    def mean_loss(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        readout: Readout | None = None,
    ) -> float:
        return float(np.mean([np.nan if prediction.loss is None else prediction.loss for prediction in predictions]))

    def outcome(self, document: Document, result: DocumentResult, labels: Sequence[str]) -> Outcome:
        """Spans that are wrong count by their scores, spans that are missing count 1."""
        right, given = _gold(document), _found(result)
        answered = isinstance(result, DocumentPrediction)
        scored = sorted(result.spans) if isinstance(result, DocumentPrediction) else []
        waiting, met = Counter(right), Counter(given)
        judged = []
        for span in scored:
            place = (span.start, span.end, span.label)
            judged.append((span.score, waiting[place] > 0))
            waiting[place] -= waiting[place] > 0
        hits, both = sum(hit for _, hit in judged), len(right) + len(given)
        places = []
        for place in right:
            places.append((place[0] / len(document.text), float(met[place] > 0)))
            met[place] -= met[place] > 0
        wrong = sum(score for score, hit in judged if not hit)
        return Outcome(
            2 * hits / both if both else float(answered),
            len(right) - hits + wrong if answered else 0.0,
            _counts(right),
            f"{_counts(given)}; {hits} of them right" if answered else MISSING,
            tuple(places),
            tuple(judged),
            len(right),
        )

    # -- comparing models

    def gold(self, documents: Sequence[Document], labels: Sequence[str]) -> NDArray[Any]:
        """int (B,): how many spans there are."""
        self.check_gold(documents, labels, "evaluation")
        return np.array([len(document.spans or ()) for document in documents])

    def compared(
        self, documents: Sequence[Document], results: Sequence[DocumentResult], labels: Sequence[str]
    ) -> NDArray[Any]:
        """int (B, 2): how many spans were given, and how many of them are right, ends and label."""
        counts = []
        for document, result in zip(documents, results, strict=True):
            given = _found(result)
            counts.append((len(given), match_spans(_gold(document), given)["strict"].correct))
        return np.array(counts)

    def resampled(self, gold: NDArray[Any], compared: NDArray[Any], counts: Floats) -> Floats:
        right, spans = 2.0 * (counts @ compared[:, 1]), counts @ (gold + compared[:, 0])
        return np.asarray(np.divide(right, spans, out=np.full(len(counts), np.nan), where=spans > 0))

    # -- deciding

    def check_decisions(self, settings: DecisionConfig, documents: int) -> None:
        if settings.coverage is not None:
            raise ConfigurationError(
                "`training.decisions.coverage` must be null for the task spans, which has no labels to abstain from, "
                f"but is {settings.coverage} instead. Use `min_score` for fewer, surer spans."
            )
        if settings.min_score == "f1" and not documents:
            raise ConfigurationError(
                "`training.decisions.min_score` is f1, but there is no validation document to fit it on. Pass "
                "`--validation`, or set a number."
            )

    def fit(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        settings: DecisionConfig,
        readout: Readout | None = None,
    ) -> Decisions:
        """The least score of a span that is given: a number as it is, or the one with the best strict F1."""
        asked = settings.min_score
        chosen = _best_min_score(documents, predictions) if isinstance(asked, str) else asked
        return Decisions(min_score=chosen, documents=len(documents))


def _counts(spans: Sequence[PlainSpan]) -> str:
    """How many spans there are of each label."""
    counts = Counter(label for _, _, label in spans)
    return ", ".join(f"{count} {label}" for label, count in sorted(counts.items())) or "none"


class _SpanLoss:
    """Losses of documents from the scores of their tokens."""

    def __init__(self, tagger: TokensReadout) -> None:
        self.tagger = tagger

    def __call__(self, scores: Tensor, targets: Sequence[Tensor]) -> Tensor:
        """(sum of T, C) and B targets -> (B,), float32 or finer."""
        parts = torch.split(exact(scores), [len(target) for target in targets])
        return torch.stack([self._document(part, target) for part, target in zip(parts, targets, strict=True)])

    def _document(self, scores: Tensor, target: Tensor) -> Tensor:
        target = target.to(scores.device)
        begins = target[:, 0].bool()
        words = _word_scores(scores, begins, self.tagger)
        tags = target[begins, 2:].long()
        if self.tagger.transitions is None:
            return F.cross_entropy(words.flatten(0, 1), tags.flatten(), reduction="sum") / max(1, len(words))
        starts = torch.nonzero(target[begins, 1])[:, 0].tolist()
        chain = self.tagger.transitions
        losses = [chain.loss(words[s:e], tags[s:e]) for s, e in pairwise([*starts, len(words)])]
        return torch.stack(losses).sum().to(scores.dtype) / max(1, len(words))


def _word_scores(scores: Tensor, begins: Tensor, tagger: TokensReadout) -> Tensor:
    """Scores of tokens (T, C), and which of them begin a word -> those of words (U, M, K)."""
    if tagger.subwords == "mean":
        number = begins.long().cumsum(0) - 1
        words = int(begins.sum())
        sums = torch.zeros(words, scores.shape[1], dtype=scores.dtype, device=scores.device)
        counts = torch.bincount(number, minlength=words).to(scores.dtype)
        chosen = sums.index_add(0, number, scores) / counts[:, None]
    else:
        chosen = scores[begins]
    return chosen.reshape(len(chosen), *tagger.layout.shape)


def _best_min_score(documents: Sequence[Document], predictions: Sequence[DocumentPrediction]) -> float:
    """The least score with the best strict F1 over all spans; 0 unless leaving spans out is better."""
    scored: list[tuple[float, bool]] = []
    gold = 0
    for document, prediction in zip(documents, predictions, strict=True):
        right = _gold(document)
        gold += len(right)
        waiting = Counter(right)
        for span in prediction.spans:
            hit = waiting[(span.start, span.end, span.label)] > 0
            waiting[(span.start, span.end, span.label)] -= hit
            scored.append((span.score, hit))
    scored.sort(reverse=True)
    if not scored:
        return 0.0
    scores, hits = (np.array(column, dtype=np.float64) for column in zip(*scored, strict=True))
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))  # equal scores stand or fall together
    f1 = 2 * np.cumsum(hits)[ends] / (ends + 1 + gold)
    best = int(np.flatnonzero(f1 >= f1.max() - 1e-12)[-1])
    if best == len(ends) - 1:
        return 0.0
    return float((scores[ends[best]] + scores[ends[best] + 1]) / 2)


def _gold(document: Document) -> list[PlainSpan]:
    """The gold spans without white space at their edges; one of white space alone stays as it is, and is missed."""
    found = []
    for span in document.spans or ():
        start, end = trimmed(document.text, span.start, span.end)
        found.append((start, end, span.label) if start < end else (span.start, span.end, span.label))
    return found


def _found(result: DocumentResult) -> list[PlainSpan]:
    return [(s.start, s.end, s.label) for s in result.spans] if isinstance(result, DocumentPrediction) else []


def _overlapping(document: Document) -> bool:
    """Whether two gold spans of different labels share a character."""
    spans = sorted(_gold(document))
    reach: dict[str, int] = {}
    for start, end, label in spans:
        if any(other != label and start < last for other, last in reach.items()):
            return True
        reach[label] = max(end, reach.get(label, 0))
    return False


def _config(readout: ReadoutKind) -> TokensReadoutConfig:
    if not isinstance(readout, TokensReadoutConfig):
        raise ValueError(f"`readout` must be of the kind tokens for the task spans, but is {readout.kind} instead")
    return readout


def _tagger(readout: Readout | None) -> TokensReadout:
    assert isinstance(readout, TokensReadout)
    return readout


def _given(tokens: TokensRead | None) -> TokensRead:
    assert tokens is not None
    return tokens


def _words(tokens: TokensRead | None, readout: Readout | None) -> Words:
    given = _given(tokens)
    return find_words(given.text, given.offsets, given.numbers, _tagger(readout).subwords)
