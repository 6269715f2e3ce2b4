"""One document a file."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import DocumentError
from longdoc.readers import text as text_reader
from longdoc.readers.encoding import decode_document, decode_long_utf8
from reader_kit import documents_of, failures_of, records_of, write


@pytest.mark.parametrize("name", ["a.txt", "b.md", "C.TXT", "d.txt.gz", "e.md.gz"])
def test_the_text_is_the_file(tmp_path: Path, name: str) -> None:
    text = "# Über\r\n\r\n  two\rthree\n"
    data = text.encode("utf-8")
    path = write(tmp_path / name, gzip.compress(data) if name.endswith("gz") else data)
    (record,) = records_of(path)
    (document,) = documents_of([record])
    assert (document.id, document.text) == (name, text)
    assert dict(document.meta) == {"encoding": "utf-8", "encoding_source": "strict"}
    assert (record.cursor, str(record.place)) == (0, name)
    assert records_of(path, cursor=1) == []


@pytest.mark.parametrize("compressed", [False, True])
def test_a_text_over_the_limit_fails_without_being_read_whole(tmp_path: Path, compressed: bool) -> None:
    for size, fits in ((100, True), (101, False)):
        data = b"x" * size
        path = write(tmp_path / ("in.txt.gz" if compressed else "in.txt"), gzip.compress(data) if compressed else data)
        records = records_of(path, max_bytes=100)
        assert [document.text for document in documents_of(records)] == (["x" * 100] if fits else [])
        assert [(failure.reason, failure.detail) for failure in failures_of(records)] == (
            [] if fits else [("too_large", "The text has more than 100 bytes. Raise `read.max_bytes` to read it.")]
        )


def test_a_cut_file_is_one_failure(tmp_path: Path) -> None:
    data = gzip.compress(b"some text " * 1000)
    (failure,) = failures_of(records_of(write(tmp_path / "in.txt.gz", data[:-9])))
    assert (failure.id, failure.reason, failure.error) == ("in.txt.gz", "unreadable", "EOFError")
    assert failure.detail == "in.txt.gz cannot be read (EOFError)."


def test_a_lone_surrogate_in_utf16_is_repaired(tmp_path: Path) -> None:
    data = b"\xff\xfe" + "a\ud800b".encode("utf-16-le", "surrogatepass")
    (document,) = documents_of(records_of(write(tmp_path / "in.txt", data)))
    assert (document.text, document.meta["repaired_surrogates"]) == ("a\ufffdb", 1)


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz"])
def test_a_small_file_reserves_little_memory_whatever_the_limit(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, gzip.compress(b"x" * 1000) if name.endswith("gz") else b"x" * 1000)
    records_of(path)
    tracemalloc.start()
    try:
        assert len(records_of(path, max_bytes=1 << 40)) == 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize(
    "data",
    ["naïve — 中文 😀\r\n".encode() * 90_000, b"plain " * 300_000, "\ufeffmarked é".encode() * 9,
     "süß".encode("utf-16"), b"caf\xe9 " * 90_000, b"\x00\xff" * 50_000, b"\x00" * 20, b"%PDF-1.7 " + b"x" * 99, b""],
    ids=["wide", "ascii", "marked", "utf-16", "latin", "binary", "nuls", "pdf", "empty"],
)  # fmt: skip
def test_a_long_text_is_the_same_document_as_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    path = write(tmp_path / "in.txt", data)
    (short,) = records_of(path)
    monkeypatch.setattr(text_reader, "LONG_BYTES", 0)
    (long,) = records_of(path)
    assert long == short


@settings(deadline=None, max_examples=60)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), st.integers(0, 3), st.integers(1, 5))
def test_a_character_may_lie_across_two_pieces(text: str, bytes_before: int, repeats: int) -> None:
    data = b"x" * ((1 << 18) - bytes_before) + text.encode() * repeats

    def decoded(way):  # type: ignore[no-untyped-def]
        try:
            return way()
        except DocumentError as error:
            return error.reason

    long = decoded(lambda: decode_long_utf8(io.BytesIO(data), None))
    assert long is None or long == decoded(lambda: decode_document(data, None)[0])
    assert long is not None, "it is plain UTF-8"


def test_the_bytes_of_a_long_text_are_not_held_beside_it(tmp_path: Path) -> None:
    """In a fresh process, where nothing has been run often enough for the interpreter to be at its best."""
    path = write(tmp_path / "in.txt", b"word word word word " * 2_500_000)
    code = """
import sys, tracemalloc
from longdoc.readers import read_documents
tracemalloc.start()
(record,) = read_documents([sys.argv[1]])
assert len(record.document.text) == 50_000_000
print(tracemalloc.get_traced_memory()[1])
"""
    peak = int(subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True).stdout)
    assert 50_000_000 < peak < 65_000_000, "the text alone takes 50 million bytes"
