"""Questions and answers in the shapes that the question-answering pipeline of transformers 4 had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longdoc.errors import UsageError
from longdoc.types import Document, DocumentPrediction

__all__ = ["as_questions", "shown_answers"]


def as_questions(texts: Any, question: Any, context: Any) -> Document | list[Document]:
    """One document with its question, or a list of them.

    Args:
        texts: a document or `{"question": ..., "context": ...}`, or a list of such.
        question, context: instead: a question and a text, lists of equal length, or several questions of one text.

    Raises:
        UsageError: it is none of these.
    """
    if (question is None) != (context is None) or (texts is None) == (question is None):
        raise UsageError(
            "a question must come with its text, but does not. Pass `question` and `context`, or "
            '{"question": ..., "context": ...}, or a list of such.'
        )
    if texts is None:
        if isinstance(question, str) and isinstance(context, str):
            return _document(0, {"question": question, "context": context})
        questions = [question] if isinstance(question, str) else list(question)
        contexts = [context] * len(questions) if isinstance(context, str) else list(context)
        if len(questions) != len(contexts):
            raise UsageError(
                f"`question` and `context` must be equally many, or one text for all questions, but are "
                f"{len(questions)} and {len(contexts)} instead."
            )
        texts = [{"question": q, "context": c} for q, c in zip(questions, contexts, strict=True)]
    if isinstance(texts, Mapping | Document):
        return _document(0, texts)
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise UsageError('a text must come with its question, but is alone. Pass {"question": ..., "context": ...}.')
    return [_document(number, item) for number, item in enumerate(texts)]


def _document(number: int, item: Any) -> Document:
    if isinstance(item, Document):
        return item
    if isinstance(item, Mapping):
        question, context = item.get("question"), item.get("context")
        if isinstance(question, str) and isinstance(context, str):
            return Document(id=str(number), text=context, question=question)
    raise UsageError(
        'a question must be a Document or {"question": ..., "context": ...} with two strings, but item '
        f"{number} is not."
    )


def shown_answers(prediction: DocumentPrediction, top_k: int | None) -> list[dict[str, Any]]:
    """The given answer first, then the others, "no answer" among them where it has a probability, at most `top_k`."""
    listed = [
        {"score": answer.score, "start": answer.start, "end": answer.end, "answer": answer.text}
        for answer in prediction.answers
    ]
    none = {"score": prediction.score or 0.0, "start": 0, "end": 0, "answer": ""}
    if prediction.abstained:
        return [none | {"abstained": True}, *listed][:top_k]
    if prediction.answer is None:
        return [none, *listed][:top_k]
    return listed[:top_k]
