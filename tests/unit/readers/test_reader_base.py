"""The settings of reading refuse what cannot work, with whole sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from longdoc.errors import DocumentError
from longdoc.readers import FieldMap, ReadConfig, Source
from longdoc.readers.base import ended, failed
from longdoc.types import DocumentFailure

SOURCE = Source(Path("/data/Ada Poe.txt"), Path("/data"), "Ada Poe.txt")


def message(error: pytest.ExceptionInfo[ValidationError]) -> str:
    (only,) = error.value.errors(include_input=False, include_url=False)
    return str(only["msg"]).removeprefix("Value error, ")


def test_two_meanings_of_one_column_are_refused() -> None:
    with pytest.raises(ValidationError) as refused:
        FieldMap(labels="label")
    assert message(refused) == (
        "`read.fields.label` and `read.fields.labels` both name the column `label`. "
        "Set the one that is not meant to null."
    )
    assert FieldMap(labels="label", label=None).labels == "label"


@pytest.mark.parametrize("name", ["utf-99", "zlib", "hex", "rot13", "base64"])
def test_only_text_encodings_are_taken(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ReadConfig(encoding=name)
    assert message(refused) == (
        f"`encoding` must be a text encoding that Python knows, but is `{name}` instead. "
        "Examples: cp1252, gb18030, utf-16-le."
    )


def test_encodings_get_their_proper_name() -> None:
    assert ReadConfig(encoding="Windows-1252").encoding == "cp1252"
    assert ReadConfig(encoding="UTF-16LE").encoding == "utf-16-le"


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", " "])
def test_a_delimiter_is_one_character(delimiter: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ReadConfig(delimiter=delimiter)
    assert message(refused) == (
        "`delimiter` must be one character other than a quote, a space or a line end, but is not."
    )


def test_settings_survive_being_written_down() -> None:
    settings = ReadConfig(fields=FieldMap(text="body", label=None), encoding="cp1252", delimiter="\t", split="test")
    assert ReadConfig.model_validate(settings.model_dump(mode="json")) == settings


def test_no_repr_shows_a_path() -> None:
    assert "Ada" not in repr(SOURCE)


@pytest.mark.parametrize(
    ("error", "reason", "name", "detail"),
    [
        (DocumentError("too_large", "The text has 9 bytes."), "too_large", "", "The text has 9 bytes."),
        (EOFError("secret"), "unreadable", "EOFError", "Ada Poe.txt:3 cannot be read (EOFError)."),
        (MemoryError("secret"), "memory_limit", "MemoryError", "Ada Poe.txt:3 cannot be read (MemoryError)."),
        (
            UnicodeDecodeError("utf-8", b"secret", 0, 1, "secret"),
            *("decode_error", "UnicodeDecodeError", "Ada Poe.txt:3 cannot be read (UnicodeDecodeError)."),
        ),
    ],
)
def test_foreign_errors_leave_only_their_class_behind(error: Exception, reason: str, name: str, detail: str) -> None:
    record = failed(SOURCE, 3, 7, error)
    failure = record.document
    assert (failure.id, record.cursor, record.place.line) == ("Ada Poe.txt:3", 7, 3)
    assert (getattr(failure, "reason", ""), getattr(failure, "error", ""), getattr(failure, "detail", "")) == (
        reason,
        name,
        detail,
    )


def test_a_failure_has_the_id_of_its_record_where_that_is_known() -> None:
    assert failed(SOURCE, 3, 7, EOFError(), "P1").document.id == "P1"
    assert failed(SOURCE, 3, 7, EOFError(), "").document.id == "Ada Poe.txt:3"
    named = failed(SOURCE, 3, 7, DocumentError("too_large", "The text has 9 bytes."), "P1").document
    assert isinstance(named, DocumentFailure)
    assert named.detail == "Ada Poe.txt:3: The text has 9 bytes."


def test_what_ends_a_source_says_so_unless_the_source_is_none_of_the_inputs() -> None:
    record = ended(SOURCE, 3, 7, EOFError("secret"))
    assert isinstance(record.document, DocumentFailure)
    assert record.document.detail == "Ada Poe.txt:3 cannot be read further (EOFError)."
    assert record.ends_early
    assert ended(SOURCE, 0, 0, DocumentError("unreadable", "The file `state.json` is not a JSON object.")).ends_early
    assert not ended(SOURCE, 0, 0, DocumentError("path_escape", "The path leads out of the input root.")).ends_early
    assert not failed(SOURCE, 3, 7, EOFError()).ends_early
