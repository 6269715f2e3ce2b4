"""A token that stands in every text turns up in no failure, error, log line or repr, whatever goes wrong."""

from __future__ import annotations

import gzip
import json
import logging
import pickle
import secrets
import traceback
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longdoc.errors import LongDocError
from longdoc.readers import find_sources, load_labelled, read_source
from longdoc.types import Document, DocumentFailure
from reader_kit import settings_of, write


@pytest.fixture
def canary() -> str:
    return secrets.token_hex(12)


def hostile_files(folder: Path, token: str) -> Iterator[Path]:
    """Faults of every kind, each with the token in it."""
    text = f"The patient {token} was seen. "
    good = json.dumps({"id": "a", "text": text})
    yield write(folder / "broken.jsonl", f'{good}\n{{"id": "b", "text": "{token}\n["{token}"]\n"{token}"\n{token}\n')
    for number, record in enumerate(
        [
            {"text": [token]},
            {"text": {token: token}},
            {"text": text, "id": [token]},
            {"text": text, "label": {token: 1}},
            {"text": text, "labels": token},
            {"text": text, "labels": [[token]]},
            {"text": text, "target": token},
            {"text": text, "spans": [{"start": token, "end": 3, "label": "x"}]},
            {"text": text, "spans": [{"start": 0, "end": 999, "label": token}]},
            {"text": text, "spans": {token: token}},
            {token: token},
            {"text": text * 10_000},
        ]
    ):
        yield write(folder / f"record{number}.jsonl", json.dumps(record))
    yield write(folder / "repeated.jsonl", f'{{"text": "x", "{token}": 1, "{token}": 2}}')
    yield write(folder / "bytes.jsonl", f'{{"text": "{token}'.encode() + b' \xff"}')
    yield write(folder / "digits.jsonl", f'{{"text": "{token}", "n": {"9" * 5000}}}')
    yield write(folder / "cut.jsonl.gz", gzip.compress(f"{good}\n".encode() * 999)[:-30])
    yield write(folder / "ragged.csv", f"id,text,label\n1,{token}\n2,{token},{token},{token}\n")
    yield write(folder / "quotes.csv", f'id,text\n1,"{token}\n2,"{token}" x\n')
    yield write(folder / "cells.csv", f'text,labels,target,spans\nx,{token},,\nx,,{token},\nx,,,"[{token}]"\n')
    yield write(folder / "headless.csv", f"17,{token} and so on,A\n18,{token},B\n")
    yield write(folder / "headless-twice.csv", f"17,{token},{token}\n")
    yield write(folder / "bytes.csv", b"id,text\n1," + token.encode() + b" \xe9\n")
    yield write(folder / "bytes.txt", token.encode() + b" \xff\xfe\xfd " + token.encode())
    yield write(folder / "nuls.txt", token.encode() + b"\0" * 40)
    yield write(folder / "wide.txt", text.encode("utf-16-le")[:-1])
    yield write(folder / "cut.txt.gz", gzip.compress(text.encode() * 99)[:-9])
    yield write(folder / "unknown.xyz", token)
    yield write(folder / "no.parquet", token)
    yield write(folder / "no.arrow", token)
    pq.write_table(pa.table({"text": pa.array([token.encode() + b"\xff"], pa.binary())}), folder / "bytes.parquet")
    yield folder / "bytes.parquet"
    spans = [[{"start": 0, "end": 999, "label": token}]]
    pq.write_table(pa.table({"text": [text], "spans": spans}), folder / "spans.parquet")
    yield folder / "spans.parquet"
    pq.write_table(pa.table({"text": [text], "label": [[token]]}), folder / "label.parquet")
    yield folder / "label.parquet"


def everything_about(error: BaseException) -> str:
    """The error as a crash reporter sees it: message, arguments, traceback, chained errors and their attributes."""
    parts = ["".join(traceback.format_exception(error))]
    seen: BaseException | None = error
    while seen is not None:
        parts.append(repr((seen, seen.args, vars(seen), getattr(seen, "doc", ""), getattr(seen, "object", ""))))
        seen = seen.__cause__ or seen.__context__
    return " ".join(parts) + repr(pickle.dumps(error))


def test_no_token_in_any_failure_error_log_or_repr(
    tmp_path: Path, canary: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    failures = refusals = 0
    for path in hostile_files(tmp_path, canary):
        settings = settings_of(max_bytes=100_000)
        (source,) = find_sources([tmp_path / path.name] if path.suffix != ".xyz" else [f"{tmp_path}/*.xyz"])
        said.append(repr(source))
        try:
            for record in read_source(source, settings):
                said.append(repr(record))
                if isinstance(record.document, DocumentFailure):
                    failures += 1
                    said.append(json.dumps(record.document.to_dict()))
                    said.append(f"{record.document.error} {record.document.detail}")
                else:
                    assert isinstance(record.document, Document)
                    failures += bool(record.gold_fault)
        except LongDocError as error:
            refusals += 1
            said.append(everything_about(error))
        try:
            load_labelled([source.path])
        except LongDocError as error:
            said.append(everything_about(error))
    assert failures > 30
    assert refusals >= 2
    out, err = capfd.readouterr()
    assert canary not in " ".join([*said, caplog.text, out, err])
