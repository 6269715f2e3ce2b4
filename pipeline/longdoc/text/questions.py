"""Documents with a question: every chunk is the second text of a pair whose first one is the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from longdoc.errors import DocumentError, UsageError
from longdoc.text.chunking import Chunker, PreparedDocument, keeping_tokens
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document, DocumentFailure, TokenizedDocument

__all__ = ["around_question", "prepare_questions"]


def prepare_questions(
    documents: Sequence[Document], tokenizer: DocumentTokenizer, chunker: Chunker
) -> list[PreparedDocument | DocumentFailure]:
    """Tokenize and cut documents around their questions, and keep where their tokens stand. Failures in their places.

    A text that is asked several questions in a row is tokenized once.

    Args:
        tokenizer: must put pairs into rows (`pair`).
        chunker: of documents without a question; the question takes its room from the body of every chunk.
    """
    known: tuple[str, TokenizedDocument] | None = None
    found: list[PreparedDocument | DocumentFailure] = []
    for document in documents:
        try:
            around = around_question(document, tokenizer, chunker)
            if known is None or known[0] != document.text:
                known = document.text, tokenizer.tokenize(document)
            found.append(keeping_tokens(document, replace(known[1], id=document.id), around))
        except DocumentError as error:
            found.append(DocumentFailure(document.id, error.reason, error.stage, type(error).__name__, str(error)))
    return found


def around_question(document: Document, tokenizer: DocumentTokenizer, chunker: Chunker) -> Chunker:
    """The chunker for the question of a document.

    Raises:
        DocumentError: `empty`, where there is no question; `too_large`, where it leaves too little room.
    """
    question = (document.question or "").strip()
    ids = tokenizer.tokenize(Document(id="question", text=question)).token_ids.tolist() if question else []
    if not ids:
        raise DocumentError(
            "empty",
            "The document must have a question, but has none. Name the column that holds it in "
            "`read.fields.question`, or pass `question`.",
            stage="tokenize",
        )
    assert tokenizer.pair is not None
    try:
        return chunker.with_question(tokenizer.pair, ids)
    except UsageError:
        most = chunker.size - tokenizer.pair.specials - chunker.overlap - 1
    raise DocumentError(
        "too_large",
        f"The question must have at most {max(0, most)} tokens in chunks of {chunker.size} that share "
        f"{chunker.overlap}, but has {len(ids)}. Ask it shorter, lower `chunking.overlap`, or raise `chunking.size`.",
        stage="tokenize",
    )
