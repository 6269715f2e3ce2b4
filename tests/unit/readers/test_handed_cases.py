"""Every handed input file of a kind that these readers know, against what its manifest expects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from longdoc.errors import DataError
from longdoc.types import Document, DocumentFailure, Record
from reader_kit import documents_of, failed_lines, failures_of, records_of

KINDS = ("txt-", "jsonl", "csv", "compressed", "parquet", "docx", "html")
MANIFEST = Path(__file__).resolve().parents[4] / "shared" / "cases" / "files" / "manifest.json"
ENTRIES = (
    [entry for entry in json.loads(MANIFEST.read_text("utf-8"))["files"] if entry["kind"].startswith(KINDS)]
    if MANIFEST.is_file()
    else [None]
)


@dataclass
class Outcome:
    """What reading a file gave: records, or the error that refused it as a whole."""

    name: str
    records: list[Record]
    refused: str
    may_fail: bool

    @property
    def documents(self) -> list[Document]:
        return documents_of(self.records)

    @property
    def failures(self) -> list[DocumentFailure]:
        return failures_of(self.records)

    @property
    def faulty(self) -> bool:
        return bool(self.refused or self.failures)

    def is_excused(self) -> bool:
        """Whether a fault was reported, by name, where the manifest allows that instead of an answer."""
        return self.may_fail and self.faulty


def read(folder: Path, entry: dict[str, Any]) -> Outcome:
    records: list[Record] = []
    refused = ""
    try:
        records = records_of(folder / entry["file"])
    except DataError as error:
        refused = str(error)
    return Outcome(entry["file"], records, refused, bool(entry["expect"].get("or_error")))


def only_text(outcome: Outcome) -> str:
    assert len(outcome.records) == 1
    return outcome.documents[0].text


def is_subsequence(part: list[Any], whole: list[Any]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


def check_documents(outcome: Outcome, count: int) -> None:
    assert len(outcome.records) == count


def check_text_len(outcome: Outcome, length: int) -> None:
    assert len(only_text(outcome)) == length


def check_text_hash(outcome: Outcome, digest: str) -> None:
    assert hashlib.sha256(only_text(outcome).encode("utf-8")).hexdigest() == digest


def check_text(outcome: Outcome, text: str) -> None:
    assert only_text(outcome) == text


def check_word_count(outcome: Outcome, count: int) -> None:
    assert len(only_text(outcome).split()) == count


def check_words(outcome: Outcome, words: list[str]) -> None:
    assert only_text(outcome).split() == words


def check_entity(outcome: Outcome, span: list[int]) -> None:
    for document in outcome.documents:
        if "Ada" in document.text or "ADA" in document.text:
            assert document.text[slice(*span)] in ("ADA", "Ada", "Ada Poe")


def check_contains(outcome: Outcome, parts: list[str]) -> None:
    assert all(part in only_text(outcome) for part in parts)


def check_lacks(outcome: Outcome, parts: list[str]) -> None:
    assert not any(part in only_text(outcome) for part in parts)


def check_title(outcome: Outcome, title: str) -> None:
    """It is left out of the text by rule, and `meta` has it."""
    assert outcome.documents[0].meta["title"] == title


def check_not_glued(outcome: Outcome, pairs: list[list[str]]) -> None:
    assert not any(left + right in only_text(outcome) for left, right in pairs)


def check_ids(outcome: Outcome, ids: list[str]) -> None:
    """These ids in this order; others only where the id was made up or the row is merely suspect."""
    assert is_subsequence(ids, [document.id for document in outcome.documents])


def check_texts(outcome: Outcome, texts: list[str]) -> None:
    found = [document.text for document in outcome.documents]
    assert is_subsequence(found, texts) if outcome.is_excused() else found == texts


def check_lengths(outcome: Outcome, lengths: list[int]) -> None:
    found = [len(document.text) for document in outcome.documents]
    assert is_subsequence(found, lengths) if outcome.is_excused() else found == lengths


def check_ok(outcome: Outcome, count: int) -> None:
    assert len(outcome.documents) == count


def check_error_lines(outcome: Outcome, lines: list[int]) -> None:
    assert failed_lines(outcome.records) == lines
    for failure, line in zip(outcome.failures, lines, strict=True):
        place = f"{outcome.name}:{line}"
        assert failure.id == place or failure.detail.startswith(f"{place}: ")


def check_suspect_lines(outcome: Outcome, lines: list[int]) -> None:
    """Each is reported, or repaired and flagged, or processed whole; none is lost."""
    assert set(lines) <= {record.place.line for record in outcome.records}
    for document in outcome.documents:
        assert document.text.encode("utf-8")
        assert "\ufffd" not in document.text or document.meta["repaired_surrogates"] == document.text.count("\ufffd")


def check_lines(outcome: Outcome, count: int) -> None:
    assert [record.place.line for record in outcome.records] == list(range(1, count + 1))
    for document in outcome.documents:
        json.dumps(dict(document.meta), allow_nan=False)


def check_null_rows(outcome: Outcome, rows: list[int]) -> None:
    assert failed_lines(outcome.records) == [row + 1 for row in rows]
    assert all("null" in failure.detail for failure in outcome.failures)


def check_error(outcome: Outcome, expected: bool) -> None:
    assert outcome.faulty is expected
    assert outcome.name in (outcome.refused or outcome.failures[-1].id)


def check_or_error(outcome: Outcome, expected: bool) -> None:
    """Either no fault at all (the other keys say what is right then), or one that names the file."""
    assert expected
    if outcome.refused:
        assert outcome.name in outcome.refused
    assert all(outcome.name in f"{failure.id} {failure.detail}" for failure in outcome.failures)


def check_bad_byte(outcome: Outcome, offset: int) -> None:
    """The refusal names the byte; a right guess needs none."""
    assert all(failure.detail.startswith(f"Byte {offset} ") for failure in outcome.failures)


def check_full_records(outcome: Outcome, count: int) -> None:
    ids = [document.id for document in outcome.documents]
    assert 0 < len(ids) < count
    assert ids == [f"r{number:03}" for number in range(len(ids))]
    assert failed_lines(outcome.records) == [len(ids) + 1]


def check_first_id(outcome: Outcome, name: str) -> None:
    assert outcome.documents[0].id == name


def check_last_id(outcome: Outcome, name: str) -> None:
    assert outcome.documents[-1].id == name


def check_nothing(outcome: Outcome, value: Any) -> None:
    """For what only a model can answer (spans, the flag `empty`): here the file is one document."""
    assert len(outcome.documents) == 1


CHECKS: dict[str, Callable[[Outcome, Any], None]] = {
    "n_docs": check_documents,
    "text_len": check_text_len,
    "text_sha256": check_text_hash,
    "text": check_text,
    "n_words_py_split": check_word_count,
    "words": check_words,
    "entity": check_entity,
    "must_contain": check_contains,
    "must_not_contain": check_lacks,
    "title_optional": check_title,
    "must_not_glue": check_not_glued,
    "ids": check_ids,
    "texts": check_texts,
    "text_lens": check_lengths,
    "n_ok": check_ok,
    "error_lines": check_error_lines,
    "suspect_lines": check_suspect_lines,
    "n_lines": check_lines,
    "null_rows": check_null_rows,
    "error": check_error,
    "or_error": check_or_error,
    "bad_byte_offset": check_bad_byte,
    "full_records": check_full_records,
    "first_id": check_first_id,
    "last_id": check_last_id,
    "n_spans": check_nothing,
    "flag": check_nothing,
}
OF_THE_ANSWER = {"n_docs", "or_error", "bad_byte_offset", "texts", "text_lens"}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"] if entry else "absent")
def test_file_is_read_as_its_manifest_expects(entry: dict[str, Any], shared_folder: Path) -> None:
    outcome = read(shared_folder / "cases" / "files", entry)
    for key, value in entry["expect"].items():
        if not outcome.is_excused() or key in OF_THE_ANSWER:
            CHECKS[key](outcome, value)


def test_semicolons_and_cp1252_are_right_with_the_right_options(shared_folder: Path) -> None:
    path = shared_folder / "cases" / "files" / "bom-semicolon-cp1252.csv"
    texts = [document.text for document in documents_of(records_of(path, encoding="cp1252", delimiter=";"))]
    assert texts == ["Grüße; bis bald", "café"]


def test_unclosed_quote_costs_its_own_row_only(shared_folder: Path) -> None:
    records = records_of(shared_folder / "cases" / "files" / "unclosed-quote.csv")
    assert [document.id for document in documents_of(records)] == ["1", "3", "4"]


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("utf8-bom-crlf.txt", "utf-8"),
        ("latin1.txt", "cp1252"),
        ("cp1252-smart-quotes.txt", "cp1252"),
        ("utf16le-bom.txt", "utf-16-le"),
        ("utf16be-nobom-fa.txt", "utf-16-be"),
        ("cp1256-fa.txt", "cp1256"),
        ("gb18030-zh.txt", "gb18030"),
        ("formfeed-pages.txt", "utf-8"),
        ("nul-bytes.txt", "utf-8"),
        ("cr-only.txt", "utf-8"),
        ("zero-width-nbsp.txt", "utf-8"),
        ("one-long-line.txt", "utf-8"),
        ("mixed-scripts.txt", "utf-8"),
    ],
)
def test_real_text_with_damaged_bytes_is_read_or_guessed_right(shared_folder: Path, name: str, encoding: str) -> None:
    folder = shared_folder / "data" / "files" / "txt-made"
    (document,) = documents_of(records_of(folder / name))
    expected = (folder / f"{name}.expected").read_bytes().decode("utf-8")
    assert document.meta["encoding"] == encoding
    # The expectation translates line ends and drops NULs; the reader does neither.
    assert document.text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "") == expected


def test_two_encodings_in_one_file_are_refused_with_the_byte(shared_folder: Path) -> None:
    path = shared_folder / "data" / "files" / "txt-made" / "mixed-utf8-then-latin1.txt"
    (failure,) = failures_of(records_of(path))
    with pytest.raises(UnicodeDecodeError) as refused:
        path.read_bytes().decode("utf-8")
    assert failure.reason == "decode_error"
    assert failure.detail == (
        f"Byte {refused.value.start} is not valid UTF-8, and no other encoding is certain enough. "
        "Set `read.encoding`, for example to `cp1252`, if you know it."
    )
