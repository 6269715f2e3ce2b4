"""Bytes on disk -> documents. One file per format; a bad document becomes a failure in its place, never an exception.

A new format is one file with a `Reader` and one name in `READERS`.
"""

from __future__ import annotations

import glob
import hashlib
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from longdoc.errors import DocumentError, DuplicateIdError, on_one_line
from longdoc.readers.arrow import ArrowReader
from longdoc.readers.base import FieldMap, ReadConfig, Reader, Source, failed
from longdoc.readers.dataset_folder import DatasetReader, HubReader
from longdoc.readers.delimited import CsvReader
from longdoc.readers.discover import find
from longdoc.readers.docx import WORD
from longdoc.readers.eml import EMAIL
from longdoc.readers.html import HTML
from longdoc.readers.jsonl import JsonLinesReader
from longdoc.readers.label_tables import faults_of, holds_labels, is_labelled, label_files
from longdoc.readers.no_labels import no_label_at_all
from longdoc.readers.opening import open_file
from longdoc.readers.parquet import ParquetReader
from longdoc.readers.pdf import PDF
from longdoc.readers.schema_check import MissingColumnError
from longdoc.readers.tables import ArrowTable, is_table, read_table, table_documents
from longdoc.readers.text import TextReader
from longdoc.readers.xml import XML
from longdoc.types import Document, DocumentFailure, Place, Record

__all__ = [
    "READERS",
    "ArrowTable",
    "FieldMap",
    "ReadConfig",
    "Reader",
    "Source",
    "find_documents",
    "find_sources",
    "is_table",
    "load_labelled",
    "load_labelled_table",
    "read_documents",
    "read_source",
    "source_digest",
    "table_documents",
]

READERS: tuple[Reader, ...] = (
    HubReader(),  # first, since the name of a dataset may end like that of a file
    TextReader(),
    WORD,
    PDF,
    HTML,
    EMAIL,
    XML,
    JsonLinesReader(),
    CsvReader(),
    ParquetReader(),
    ArrowReader(),
    DatasetReader(),
)

_DEFAULT = ReadConfig()


def find_sources(inputs: Sequence[str | Path], settings: ReadConfig = _DEFAULT) -> list[Source]:
    """What is to be read, in the order of `inputs`, each sorted by name.

    An input is a file, a folder (read with all folders in it; hidden names are left out), a pattern such as
    `reports/**/*.txt`, a folder made by `datasets.save_to_disk`, or a dataset of the hub, `hf:owner/name`. Links to
    folders are not followed, except where a pattern names them; a link to a file is a source of its own. Nothing
    without the prefix is looked up on a network. Files of unknown types inside a folder are sources too:
    reading them yields a failure, so that nothing is lost.
    Names, and so ids of one-file documents, are relative to the input's root; if two inputs have files of one name,
    to the folder that all inputs have in common.

    Raises `DataError` for an input that does not exist, that holds nothing, or that names a file which is no regular
    file or of an unknown type, and for a dataset of several splits of which `settings.split` names none.
    """
    return find(inputs, settings, READERS)


def read_source(source: Source, settings: ReadConfig = _DEFAULT, cursor: int = 0) -> Iterator[Record]:
    """The records of one source, from the one with `cursor` on. Bad content is a failure in its place.

    Raises `DataError` only where the source as a whole cannot be used as configured (no text column).
    """
    reader = _reader_of(source)
    if reader is not None:
        try:
            yield from reader.read(source, settings, cursor)
            return
        except MissingColumnError as error:
            fault = str(error)
        raise MissingColumnError(fault + (_files_beside(source) if settings.fields.file is None else ""))
    if cursor == 0:
        refused = DocumentError("unsupported_type", "There is no reader for files of this type.")
        yield failed(source, 0, 0, _refusal(source) or refused)


def find_documents(inputs: Sequence[str | Path], settings: ReadConfig = _DEFAULT) -> tuple[list[Source], list[Source]]:
    """The sources that hold documents, and tables of labels of the files beside them, which hold none.

    There are such tables where `settings.fields.file` names the column by which they are known (`label_tables`).
    """
    sources = find_sources(inputs, settings)
    if settings.fields.file is None:
        return sources, []
    tables = [source for source in sources if _has_rows(source) and holds_labels(source, settings, read_source)]
    return [source for source in sources if source not in tables], tables


def read_documents(inputs: Sequence[str | Path], settings: ReadConfig = _DEFAULT) -> Iterator[Record]:
    """All records of all sources that hold documents, in order."""
    for source in find_documents(inputs, settings)[0]:
        yield from read_source(source, settings)


def load_labelled(
    inputs: Sequence[str | Path], settings: ReadConfig = _DEFAULT, option: str = "data"
) -> list[Document]:
    """All documents, for training and evaluation, where a missing one would falsify the result.

    With `settings.fields.file`, tables among the inputs say the labels of the files among them (`label_tables`).

    Strict where `read_source` is not: a label, number or span that cannot be used is a failure here. `option` is what
    the inputs are called where they are given, for messages.

    Raises one `DataError` that counts all failures, documents without a `label`, `labels`, `target`, `spans` or
    `answers` included, and names the first ten places; `DuplicateIdError` if two documents have one id.
    """
    if settings.fields.file is None:
        return _strictly(read_documents(inputs, settings))
    tables: list[Source] = []
    files: list[Source] = []
    for source in find_sources(inputs, settings):
        (tables if _has_rows(source) else files).append(source)
    suffixes = [suffix for reader in READERS for suffix in reader.suffixes]
    return _strictly(label_files(tables, files, settings, read_source, suffixes, option))


def load_labelled_table(table: Any, settings: ReadConfig = _DEFAULT) -> list[Document]:
    """The same for a table in memory (`is_table`)."""
    return _strictly(read_table(table, settings))


def _strictly(records: Iterable[Record]) -> list[Document]:
    documents = []
    faults = []
    unlabelled: list[Record] = []
    places: dict[str, Place] = {}
    for record in records:
        document = record.document
        if isinstance(document, DocumentFailure):
            detail = document.detail.removeprefix(f"{record.place}: ")
            faults.append(f"{record.place} ({document.reason}: {detail})")
        elif record.gold_fault:
            faults.append(f"{record.place} (unreadable: {record.gold_fault})")
        elif not is_labelled(document):
            faults.append(f"{record.place} (it has no label)")
            unlabelled.append(record)
        else:
            first = places.setdefault(document.id, record.place)
            if first is not record.place:
                one, other = on_one_line(str(first)), on_one_line(str(record.place))
                raise DuplicateIdError(
                    f"The documents at {one} and {other} have the same id. Give each one an id of its own."
                )
            documents.append(replace(document, place=record.place))
    if faults and len(faults) == len(unlabelled) and not documents:
        raise no_label_at_all(unlabelled)
    if faults:
        count = f"{len(faults)} of {len(faults) + len(documents)}"
        raise faults_of(faults, f"{count} documents cannot be used. Mend or remove them:")
    return documents


def source_digest(source: Source) -> str:
    """SHA-256 (hexadecimal) of what `read_source` depends on: the bytes of the file, or of a dataset's files.

    For a source that is refused or cannot be read it stands for the name and the refusal.
    """
    reader = _reader_of(source)
    try:
        if reader is not None:
            return reader.digest(source)
        return TextReader().digest(source)
    except (DocumentError, OSError) as error:
        refusal = f"{source.name}\0{type(error).__name__}"
    return hashlib.sha256(refusal.encode("utf-8", "surrogatepass")).hexdigest()


def _has_rows(source: Source) -> bool:
    reader = _reader_of(source)
    return reader is not None and reader.has_rows


def _files_beside(table: Source) -> str:
    """What helps where a table that was to be read as documents lies beside files: it may hold their labels."""
    endings: Counter[str] = Counter()
    with suppress(OSError), os.scandir(table.path.parent) as entries:
        for path in map(Path, entries):
            if not path.name.startswith(".") and any(not reader.has_rows and reader.opens(path) for reader in READERS):
                endings[path.suffix] += 1
    if not endings:
        return ""
    folder, here = table.path.parent, Path.cwd().resolve()
    shown = glob.escape(str(folder.relative_to(here) if folder.is_relative_to(here) else folder))
    pattern = on_one_line(shlex.quote(f"{shown}/*{endings.most_common(1)[0][0]}"))
    return (
        f" If it holds labels of the files beside it, name only these, as in `--input {pattern}`, or its column of "
        "their names in `read.fields.file`."
    )


def _reader_of(source: Source) -> Reader | None:
    return next((reader for reader in READERS if reader.opens(source.path)), None)


def _refusal(source: Source) -> DocumentError | None:
    """Why a file of an unknown type could not even be opened, if so."""
    try:
        with open_file(source.path, source.root):
            return None
    except DocumentError as error:
        return error
    except OSError:
        return None
