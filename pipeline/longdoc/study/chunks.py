"""What the chunker would make of a document, in numbers: for `longdoc inspect chunks`."""

from __future__ import annotations

from typing import Any

from longdoc.errors import counted
from longdoc.text.chunking import Chunker
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document, DocumentFailure

__all__ = ["chunk_table", "describe_chunks"]


def describe_chunks(
    document: Document | DocumentFailure, tokenizer: DocumentTokenizer, chunker: Chunker
) -> dict[str, Any]:
    """Chunks of one document as plain values: tokens shown, tokens answered for, and the characters of both."""
    if isinstance(document, DocumentFailure):
        return {"id": document.id, "reason": document.reason, "chunks": []}
    tokenized = tokenizer.tokenize(document)
    if not len(tokenized):
        return {"id": document.id, "reason": "empty", "chunks": []}

    def characters(start: int, end: int) -> list[int]:
        return [int(tokenized.offsets[start, 0]), int(tokenized.offsets[end - 1, 1])]

    chunks = chunker.chunks(tokenized)
    return {
        "id": document.id,
        "reason": None,
        "n_tokens": len(tokenized),
        "n_chunks": len(chunks),
        "tokens_read": chunker.tokens_read(len(tokenized)),
        "unknown_share": tokenized.unknown_share,
        "chunks": [
            {
                "ordinal": chunk.ordinal,
                "tokens": list(chunk.span),
                "core": list(chunk.core),
                "characters": characters(*chunk.span),
                "core_characters": characters(*chunk.core),
                "size": len(chunk),
            }
            for chunk in chunks
        ],
    }


def chunk_table(description: dict[str, Any]) -> str:
    """The same as a plain table."""
    if description["reason"]:
        return f"{description['id']}: no chunks ({description['reason']})\n"
    lines = [
        f"{description['id']}: {counted(description['n_tokens'], 'token')} in "
        f"{counted(description['n_chunks'], 'chunk')}, {description['tokens_read']} read, "
        f"{description['unknown_share']:.1%} unknown",
        f"{'chunk':>6} {'tokens':>17} {'core':>17} {'characters':>19} {'size':>5}",
    ]
    for chunk in description["chunks"]:
        tokens, core, characters = (f"{a}-{b}" for a, b in (chunk["tokens"], chunk["core"], chunk["characters"]))
        lines.append(f"{chunk['ordinal']:>6} {tokens:>17} {core:>17} {characters:>19} {chunk['size']:>5}")
    return "\n".join(lines) + "\n"
