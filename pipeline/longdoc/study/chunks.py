"""What the chunker would make of a document, in numbers: for `longdoc inspect chunks`."""

from __future__ import annotations

from typing import Any

from longdoc.errors import DocumentError, counted, on_one_line
from longdoc.text.chunking import Chunker
from longdoc.text.questions import around_question
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document, DocumentFailure, Span

__all__ = ["chunk_table", "describe_chunks"]


def describe_chunks(
    document: Document | DocumentFailure, tokenizer: DocumentTokenizer, chunker: Chunker, asks: bool = False
) -> dict[str, Any]:
    """Chunks of one document as plain values: tokens shown, tokens answered for, and the characters of both.

    Where the chunker looks for borders, also why a chunk begins and ends where it does: `section`, `paragraph` or
    `sentence`; `size` where none was in reach; `document` at the ends of the text. Where the document's question is
    asked (`asks`), it stands in every chunk and takes its room; `question_tokens` says how much.
    """
    if isinstance(document, DocumentFailure):
        return {"id": document.id, "reason": document.reason, "chunks": []}
    asked: dict[str, int] = {}
    if asks and document.question is not None:
        try:
            around = around_question(document, tokenizer, chunker)
        except DocumentError as error:
            return {"id": document.id, "reason": error.reason, "chunks": []}
        asked, chunker = {"question_tokens": chunker.body - around.body}, around
    tokenized = tokenizer.tokenize(document)
    if not len(tokenized):
        return {"id": document.id, "reason": "empty", "chunks": []}

    def characters(start: int, end: int) -> list[int]:
        return [int(tokenized.offsets[start, 0]), int(tokenized.offsets[end - 1, 1])]

    chunks = chunker.chunks(tokenized, document)
    ranks = chunker.ranks(tokenized, document)

    def why(token: int) -> str:
        if token in (0, len(tokenized)):
            return "document"
        assert chunker.borders is not None
        assert ranks is not None
        return chunker.borders.kind(int(ranks[token])) or "size"

    def reasons(span: Span) -> dict[str, str]:
        return {} if chunker.borders is None else {"begins": why(span.start), "ends": why(span.end)}

    return {
        "id": document.id,
        "reason": None,
        **asked,
        "n_tokens": len(tokenized),
        "n_chunks": len(chunks),
        "tokens_read": chunker.tokens_read(len(tokenized), ranks),
        "unknown_share": tokenized.unknown_share,
        "chunks": [
            {
                "ordinal": chunk.ordinal,
                "tokens": list(chunk.span),
                "core": list(chunk.core),
                "characters": characters(*chunk.span),
                "core_characters": characters(*chunk.core),
                "size": len(chunk),
                **reasons(chunk.span),
            }
            for chunk in chunks
        ],
    }


def chunk_table(description: dict[str, Any]) -> str:
    """The same as a plain table. Chunks are counted from 1, as in evidence; tokens are half-open ranges from 0."""
    if description["reason"]:
        return f"{on_one_line(description['id'])}: no chunks ({description['reason']})\n"
    bordered = "begins" in description["chunks"][0]
    room = description.get("question_tokens")
    asked = "" if room is None else f"; {room} of each chunk for the question"
    lines = [
        f"{on_one_line(description['id'])}: {counted(description['n_tokens'], 'token')} in "
        f"{counted(description['n_chunks'], 'chunk')}, {description['tokens_read']} read, "
        f"{description['unknown_share']:.1%} unknown" + asked,
        f"{'chunk':>6} {'tokens':>17} {'core':>17} {'characters':>19} {'size':>5}"
        + bordered * f" {'begins with':>12} {'ends with':>10}",
    ]
    for chunk in description["chunks"]:
        tokens, core, characters = (f"{a}-{b}" for a, b in (chunk["tokens"], chunk["core"], chunk["characters"]))
        lines.append(f"{chunk['ordinal'] + 1:>6} {tokens:>17} {core:>17} {characters:>19} {chunk['size']:>5}")
        if bordered:
            lines[-1] += f" {chunk['begins']:>12} {chunk['ends']:>10}"
    return "\n".join(lines) + "\n"
