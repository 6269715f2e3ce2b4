"""What `longdoc inspect chunks` says of documents with a question."""

from __future__ import annotations

import pytest

from answer_kit import tokenizer
from longdoc.study.chunks import chunk_table, describe_chunks
from longdoc.text.chunking import ChunkingConfig
from longdoc.types import Document

ASKED = Document(id="d", text=" ".join(["out"] * 20), question="who b1")


def test_a_question_takes_its_room_from_every_chunk() -> None:
    chunker = ChunkingConfig(size=12, overlap=2).build(tokenizer())
    described = describe_chunks(ASKED, tokenizer(), chunker, asks=True)
    assert described["question_tokens"] == 3, "two words and one more separator: <s> who b1 </s> ... </s>"
    assert [chunk["tokens"] for chunk in described["chunks"]] == [[0, 7], [5, 12], [10, 17], [15, 20]]
    assert [chunk["size"] for chunk in described["chunks"]] == [12, 12, 12, 10]
    table = chunk_table(described)
    assert "20 read, 0.0% unknown; 3 of each chunk for the question\n" in table
    assert [line.split()[0] for line in table.splitlines()[2:]] == ["1", "2", "3", "4"], "as in evidence"


@pytest.mark.parametrize("document", [ASKED, Document(id="d", text=ASKED.text)])
def test_where_nothing_is_asked_the_text_has_the_whole_chunk(document: Document) -> None:
    chunker = ChunkingConfig(size=12, overlap=2).build(tokenizer())
    described = describe_chunks(document, tokenizer(), chunker, asks=document.question is None)
    assert "question_tokens" not in described
    assert [chunk["tokens"] for chunk in described["chunks"]] == [[0, 10], [8, 18], [16, 20]]


def test_a_question_without_words_or_room_is_said() -> None:
    narrow = ChunkingConfig(size=6, overlap=2).build(tokenizer())
    for question, reason in ((" ", "empty"), ("who b1 e1", "too_large")):
        described = describe_chunks(Document(id="d", text="out", question=question), tokenizer(), narrow, asks=True)
        assert described == {"id": "d", "reason": reason, "chunks": []}
