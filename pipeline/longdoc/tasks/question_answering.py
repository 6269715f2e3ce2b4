"""Questions whose answer stands in the text, at one place of a document of any length, or nowhere.

Every chunk is read behind the question. A place (a run of tokens that one chunk shows) has the score of its begin plus
that of its end; "nowhere" has the least of what the chunks say of it, since an answer in any one of them counts. The
probabilities of all places of the document and of nowhere add up to 1 (normalised over chunks as in Clark and Gardner
2018, arXiv 1710.10723, and over whole places as in Fajcik, Jon and Smrz 2021, arXiv 2008.12804). What is learned is the
probability that is reported: that of the right places together, so that any of several right answers will do.

Shape letters: S rows of scores of a document: of each chunk one for "not here" and one for each token that it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, DataError
from longdoc.metrics.answers import answer_f1, answer_metrics, best_threshold, exact_match
from longdoc.nn import EncoderConfig
from longdoc.nn.exact import exact
from longdoc.nn.readout import AnswersReadout, AnswersReadoutConfig, Readout, ReadoutKind
from longdoc.spans.alignment import trimmed
from longdoc.spans.answers import AnswerPlaces, GoldCounts, where_answers_may_be
from longdoc.spans.words import Words, find_words
from longdoc.tasks.base import ClassWeights, DocumentLoss, Task
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.gold import Purpose, which
from longdoc.tasks.outcomes import MISSING, Outcome, chance_of
from longdoc.tasks.questions import as_questions, shown_answers
from longdoc.text.chunking import Chunker, PreparedDocument
from longdoc.text.questions import prepare_questions
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.text.tokens_read import TokensRead
from longdoc.types import (
    AnswerSpan,
    Document,
    DocumentFailure,
    DocumentPrediction,
    DocumentResult,
    ScoredSpan,
    Span,
)

__all__ = ["QuestionAnswering"]

_LABEL = "answer"


class QuestionAnswering(Task):
    """One place in the text that answers the question of the document, or none."""

    name = "question_answering"
    field = "answers"
    pipeline_tag = "question-answering"
    needs_tokens = True
    keeps_loss = True
    metric_names = ("loss", "f1", "exact_match", "has_answer_f1", "has_answer_exact_match", "no_answer_accuracy")
    automatic = "f1"
    table = ("exact_match", "f1", "has_answer_f1")
    outcome_name = "F1 of an answer's words"
    own_labels = ("start", "end")
    row_kind = "answers"
    asks = True

    # -- documents

    def check_tokenizer(self, tokenizer: DocumentTokenizer, encoder: EncoderConfig) -> None:
        pair = tokenizer.pair
        if pair is None or not pair.lead:
            raise ConfigurationError(
                "the tokenizer must put a special token before a pair of texts, for the task question_answering, but "
                "its template for pairs has none. Give `tokenizer.json` a post-processor that does."
            )
        if encoder.token_types > 1 and pair.most_type >= encoder.token_types:
            raise ConfigurationError(
                f"the tokenizer must number the types of tokens below {encoder.token_types}, which the encoder knows, "
                f"but goes up to {pair.most_type} instead. Choose a tokenizer and an encoder that belong together."
            )

    def prepare(
        self, documents: Sequence[Document], tokenizer: DocumentTokenizer, chunker: Chunker
    ) -> list[PreparedDocument | DocumentFailure]:
        return prepare_questions(documents, tokenizer, chunker)

    def asked(self, texts: Any, question: Any, context: Any) -> Any:
        return as_questions(texts, question, context)

    # -- labels

    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        return self.own_labels

    def gold_labels(self, document: Document) -> tuple[str, ...]:
        return ()

    def check_labels(self, named: Sequence[str]) -> None:
        if tuple(named) != self.own_labels:
            raise ConfigurationError(
                "`model.labels` must be null for the task question_answering, whose scores are those of the start and "
                "the end of an answer, but names others."
            )

    def check_values(self, documents: Sequence[Document], purpose: Purpose) -> None:
        missing = [number for number, document in enumerate(documents) if not (document.question or "").strip()]
        if missing:
            raise DataError(
                f"question answering needs a question in every {purpose} document, but {len(missing)} of "
                f"{len(documents)} have none ({which(missing, documents)}). Map it with `read.fields.question`."
            )

    # -- the head

    def classes(self, labels: Sequence[str], readout: ReadoutKind) -> int:
        return 2

    def default_readout(self) -> ReadoutKind:
        return AnswersReadoutConfig()

    def check_readout(self, readout: ReadoutKind) -> None:
        _config(readout)

    def settle(self, readout: ReadoutKind, documents: Sequence[Document]) -> ReadoutKind:
        """Whether there may be no answer, unless that was decided: where some document has none."""
        config = _config(readout)
        if config.no_answer is not None:
            return readout
        return config.model_copy(update={"no_answer": any(not document.answers for document in documents)})

    # -- learning

    def target(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> Tensor:
        """int32 (n,): `AnswerPlaces`, packed."""
        places, _, _ = _places(tokens, readout, document.answers or ())
        return torch.from_numpy(places.packed())

    def misfits(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> Mapping[str, int]:
        reader = _reader(readout)
        places, _, counts = _places(tokens, readout, document.answers or ())
        sizes = places.gold[:, 1] - places.gold[:, 0] + 1
        too_long = sizes > reader.longest
        hidden = ~too_long & ~places.shown(places.gold)
        none = not document.answers and not reader.no_answer
        return {
            "right answers that begin or end inside a word, learned as whole words": counts.moved,
            "right answers without a word that is read, not learned": counts.unread,
            "right answers of more tokens than `model.readout.max_answer_tokens`, not learned": int(too_long.sum()),
            "right answers that no chunk shows as a whole, not learned (raise `chunking.overlap`)": int(hidden.sum()),
            "documents without an answer, not learned from, since `model.readout.no_answer` is false": int(none),
        }

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
    ) -> DocumentLoss:
        """Minus the logarithm of the probability that the answer is one of the right ones."""
        if class_weights != "none":
            raise ConfigurationError(
                "`training.class_weights` must be none for the task question_answering, which has no classes, but is "
                f"{class_weights} instead."
            )
        return _AnswerLoss(_reader(readout))

    # -- answering

    def answer(
        self,
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions,
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> dict[str, Any]:
        """As in `Task`: `question`, `answer`, `score`, `answers` (the best places, whatever is given), `spans` (the
        place of the answer) and `logits`: the scores of the best place and of nowhere.
        """
        reader, given = _reader(readout), _given(tokens)
        places, words, _ = _places(tokens, readout)
        raw = np.asarray(scores, dtype=np.float64)
        best, total = places.best(raw, reader.longest, reader.listed)
        nowhere = places.nowhere(raw) if reader.no_answer else -np.inf
        whole = np.logaddexp(total, nowhere)
        answers = []
        for place in best:
            start, end = _characters(given.text, words, place.first, place.last)
            chance = min(1.0, float(np.exp(place.score - whole)))
            answers.append(AnswerSpan(start, end, given.text[start:end], chance, place.chunk + 1))
        fields: dict[str, Any] = {"question": given.question, "answers": tuple(answers)}
        if best and reader.no_answer:
            fields["logits"] = (best[0].score, nowhere)
        if not best or nowhere - best[0].score > decisions.no_answer_margin:
            return fields | {"score": min(1.0, float(np.exp(nowhere - whole))) if reader.no_answer else None}
        first = answers[0]
        if first.score < decisions.min_score:
            return fields | {"score": first.score, "abstained": True}
        spans = (ScoredSpan(first.start, first.end, _LABEL, first.score),)
        return fields | {"answer": first.text, "score": first.score, "spans": spans}

    def show(
        self,
        predictions: Sequence[DocumentPrediction],
        single: bool,
        top_k: int | None,
        labels: Sequence[str],
        texts: Sequence[str] = (),
    ) -> Any:
        """As the question-answering pipeline did: `{"score": ..., "start": ..., "end": ..., "answer": ...}` for one
        question, a list of them for several; with `top_k` other than 1 a list for each. That there is no answer is an
        empty one from 0 to 0.
        """
        answers = [shown_answers(prediction, top_k) for prediction in predictions]
        shaped: list[Any] = [found[0] for found in answers] if top_k == 1 else list(answers)
        return shaped[0] if single else shaped

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
        lost = [not isinstance(result, DocumentPrediction) for result in results]
        measured = answer_metrics(
            [_texts(document) for document in documents],
            [result.answer if isinstance(result, DocumentPrediction) else None for result in results],
            [document.language for document in documents],
            unanswered=lost,
            resamples=resamples,
        )
        answered = [result for result in results if isinstance(result, DocumentPrediction)]
        return {
            "task": self.name,
            "documents": measured["documents"],
            "unanswered": sum(lost),
            "answers_given": sum(result.answer is not None for result in answered),
            **measured,
            "decisions": {
                "no_answer_margin": decisions.no_answer_margin,
                "min_score": decisions.min_score,
                "fitted_on_documents": decisions.documents,
            },
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
        """Answers are told by where they are."""
        gold, texts = document.answers or (), _texts(document)
        right = " or ".join(f"at {start} to {end}" for start, end in gold) or "none in the text"
        if not isinstance(result, DocumentPrediction):
            missed = tuple((place.start / len(document.text), 0.0) for place in gold[:1])
            return Outcome(0.0, right=right, said=MISSING, places=missed, wanted=bool(gold))
        score = answer_f1(result.answer or "", texts, document.language)
        sure = result.score or 0.0
        said = "not sure enough" if result.abstained else "none in the text"
        for span in result.spans:
            said = f"at {span.start} to {span.end}"
        return Outcome(
            score,
            (1 - score) * (1 - sure if result.abstained else sure),
            right,
            chance_of(said, sure),
            tuple((place.start / len(document.text), score) for place in gold[:1]),
            tuple((a.score, bool(exact_match(a.text, texts, document.language))) for a in result.answers[:1]),
            bool(gold),
        )

    # -- deciding

    def check_decisions(self, settings: DecisionConfig, documents: int) -> None:
        if settings.coverage is not None:
            raise ConfigurationError(
                "`training.decisions.coverage` must be null for the task question_answering, which has no labels to "
                f"abstain from, but is {settings.coverage} instead. Use `min_score` for fewer, surer answers."
            )
        if settings.min_score == "f1":
            raise ConfigurationError(
                "`training.decisions.min_score` must be a number for the task question_answering, but is f1 instead. "
                "`no_answer_margin: f1` is what can be fitted."
            )

    def fit(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        settings: DecisionConfig,
        readout: Readout | None = None,
    ) -> Decisions:
        margin, asked = 0.0, settings.no_answer_margin
        pairs = [(d, p) for d, p in zip(documents, predictions, strict=True) if p.logits]
        if asked != "f1":
            margin = asked
        elif pairs:
            margins = [prediction.logits[1] - prediction.logits[0] for _, prediction in pairs]
            found = [answer_f1(p.answers[0].text, _texts(d), d.language) for d, p in pairs]
            silent = [answer_f1("", _texts(d), d.language) for d, _ in pairs]
            margin = best_threshold(margins, found, silent)
        least = 0.0 if settings.min_score == "f1" else settings.min_score
        return Decisions(no_answer_margin=margin, min_score=least, documents=len(documents))


class _AnswerLoss:
    """Losses of documents from the scores of the tokens of their chunks."""

    def __init__(self, reader: AnswersReadout) -> None:
        self.longest, self.no_answer = reader.longest, reader.no_answer

    def __call__(self, scores: Tensor, targets: Sequence[Tensor]) -> Tensor:
        """(sum of S, 2) and B targets -> (B,), float32 or finer."""
        documents = [AnswerPlaces.unpacked(target.cpu().numpy()) for target in targets]
        parts = torch.split(exact(scores), [places.scores for places in documents])
        return torch.stack([self._document(part, places) for part, places in zip(parts, documents, strict=True)])

    def _document(self, scores: Tensor, places: AnswerPlaces) -> Tensor:
        candidates, right = places.all_candidates(self.longest)
        first, last, rows = (torch.from_numpy(v).to(scores.device) for v in (*candidates, places.rows))
        values = scores[first, 0] + scores[last, 1]
        nowhere = scores[rows].sum(1).amin()[None] if self.no_answer else values[:0]
        wanted = values[torch.from_numpy(right).to(scores.device)] if places.has_answer else nowhere
        if not len(wanted):  # the right answer cannot be said to the model: nothing is learned from this document
            return scores.sum() * 0.0
        return torch.logsumexp(torch.cat([values, nowhere]), 0) - torch.logsumexp(wanted, 0)


def _places(
    tokens: TokensRead | None, readout: Readout | None, answers: Sequence[Span] = ()
) -> tuple[AnswerPlaces, Words, GoldCounts]:
    given = _given(tokens)
    words = find_words(given.text, given.offsets, given.numbers, "first" if _reader(readout).whole_words else "split")
    places, counts = where_answers_may_be(given.text, words, given.numbers, [c for c, _ in given.chunks], answers)
    return places, words, counts


def _characters(text: str, words: Words, first: int, last: int) -> tuple[int, int]:
    """The characters from the word that begins with token `first` to the one that ends with token `last`."""
    begin = int(np.searchsorted(words.first, first))
    end = int(np.searchsorted(words.first, last, side="right")) - 1
    return trimmed(text, int(words.start[begin]), int(words.end[end]))


def _texts(document: Document) -> list[str]:
    return [document.text[start:end] for start, end in document.answers or ()]


def _config(readout: ReadoutKind) -> AnswersReadoutConfig:
    if not isinstance(readout, AnswersReadoutConfig):
        raise ValueError(
            f"`readout` must be of the kind answers for the task question_answering, but is {readout.kind} instead"
        )
    return readout


def _reader(readout: Readout | None) -> AnswersReadout:
    assert isinstance(readout, AnswersReadout)
    return readout


def _given(tokens: TokensRead | None) -> TokensRead:
    assert tokens is not None
    return tokens
