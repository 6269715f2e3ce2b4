"""Labels that stand in a table beside the files they are about, such as a folder of PDFs and a list of their labels.

Among the inputs, `read.fields.file` names the column of the tables that holds the names of the files.
"""

from __future__ import annotations

import dataclasses
import logging
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from longdoc.errors import DataError, counted, on_one_line
from longdoc.readers.base import ReadConfig, Source
from longdoc.readers.fields import no_field
from longdoc.readers.schema_check import MissingColumnError
from longdoc.types import Document, DocumentFailure, Record

__all__ = ["faults_of", "holds_labels", "is_labelled", "label_files"]

Read = Callable[[Source, ReadConfig], Iterator[Record]]

_SHOWN_FAULTS = 10
_FACTS_OF_THE_TABLE = ("encoding", "encoding_source", "repaired_surrogates")

_log = logging.getLogger(__name__)


def label_files(
    tables: Sequence[Source],
    files: Sequence[Source],
    settings: ReadConfig,
    read: Read,
    suffixes: Sequence[str],
    option: str = "data",
) -> Iterator[Record]:
    """The documents of `files`, in their order, with the `label`, `labels` or `target` that a row of `tables` says.

    A row names a file by its path, relative to the inputs or to the table's own folder, or by its name alone; the
    ending may be missing. The other columns of the row are carried along as `meta`.

    Args:
        read: the records of a source.
        suffixes: endings of the file names that can be read, in lower case.
        option: what the inputs are called where they are given.

    Raises:
        DataError: there are no tables or no files among the inputs, or rows and files do not fit together: a row that
            cannot be read, has no label, or names no file, several, or one that another row names; a file that no row
            names. Before any file is read.
    """
    if not tables or not files:
        missing, beside = ("table", "the files") if not tables else ("file", "the table")
        raise DataError(
            f"`read.fields.file` needs a {missing} among the inputs of `{option}`, but there is none. Name it beside "
            f"{beside}: --{option} FOLDER --{option} labels.csv."
        )
    as_table = _as_table(settings)
    index = _FileIndex(files, suffixes)
    rows: dict[Source, Record] = {}
    faults: list[str] = []
    orphans = 0
    for table in tables:
        for row in read(table, as_table):
            named = () if isinstance(row.document, DocumentFailure) else index.find(row.document.text, table)
            first = rows.get(named[0]) if len(named) == 1 else None
            fault = _fault_of(row, named, first)
            if fault is None and not named and settings.labels_without_file == "leave_out":
                orphans += 1
            elif fault is None and not named:
                faults.append(f"{row.place} (it names no file of the inputs)")
            elif fault is not None:
                faults.append(f"{row.place} ({fault})")
            if len(named) == 1:
                rows.setdefault(named[0], row)
    unlabelled = [file for file in files if file not in rows]
    if settings.files_without_label == "refuse":
        faults += [f"{file.name} (no row names it)" for file in unlabelled]
    if faults:
        where = counted(len(faults), "place")
        raise faults_of(
            faults,
            f"Rows and files do not fit together in {where}. Mend them, or leave out what has no counterpart by "
            "`read.labels_without_file` and `read.files_without_label`:",
        )
    for number, what in ((orphans, "rows that name no file"), (len(unlabelled), "files without a label")):
        if number:
            _log.warning("Left out: %s: %d", what, number)
    return (
        _with_labels(record, rows[file].document) for file in files if file in rows for record in read(file, settings)
    )


def holds_labels(table: Source, settings: ReadConfig, read: Read) -> bool:
    """Whether a table is one of labels and no document: it has the column `read.fields.file`, and none of texts.

    Of JSON Lines, which have no header, that must be so of each record.
    """
    if settings.fields.file is None or settings.fields.file == settings.fields.text:
        return False
    missing = no_field(settings.fields.text)
    records = 0
    try:
        for record in read(table, settings):
            if isinstance(record.document, Document) or missing not in record.document.detail:
                return False
            records += 1
        has_header = False
    except MissingColumnError:
        has_header = True
    try:
        rows = read(table, _as_table(settings))
        if has_header:
            next(rows, None)
            return True
        return records > 0 and all(isinstance(row.document, Document) for row in rows)
    except MissingColumnError:
        return False


def _as_table(settings: ReadConfig) -> ReadConfig:
    """The name of the file stands where the text does; offsets in the text of a file are no business of a table."""
    columns = {"text": settings.fields.file, "id": None, "spans": None, "question": None, "answers": None}
    return settings.model_copy(update={"fields": settings.fields.model_copy(update=columns)})


def is_labelled(document: Document) -> bool:
    """Whether it has right answers of any kind, or a question, to which the text may be one."""
    gold = (document.label, document.labels, document.target, document.spans, document.answers, document.question)
    return any(value is not None for value in gold)


def faults_of(faults: Sequence[str], heading: str) -> DataError:
    """One error for all faults, of which the first ten are shown."""
    shown = "\n  ".join(map(on_one_line, faults[:_SHOWN_FAULTS]))
    more = f"\n  and {len(faults) - _SHOWN_FAULTS} more" if len(faults) > _SHOWN_FAULTS else ""
    return DataError(f"{heading}\n  {shown}{more}")


def _fault_of(row: Record, named: Sequence[Source], first: Record | None) -> str | None:
    """What is wrong with a row, but that it names no file."""
    document = row.document
    if isinstance(document, DocumentFailure):
        return f"{document.reason}: {document.detail.removeprefix(f'{row.place}: ')}"
    if row.gold_fault:
        return f"unreadable: {row.gold_fault}"
    if not document.text.strip():
        return "it has no name of a file"
    if not is_labelled(document):
        return "it has no label"
    if len(named) > 1:
        return f"it may mean {named[0].name} or {named[1].name}: write the path"
    return None if first is None else f"it names the file of {first.place} again"


def _with_labels(record: Record, row: Document | DocumentFailure) -> Record:
    document = record.document
    if isinstance(document, DocumentFailure) or isinstance(row, DocumentFailure):
        return record
    more = {name: value for name, value in row.meta.items() if name not in _FACTS_OF_THE_TABLE}
    labelled = dataclasses.replace(
        document,
        label=row.label,
        labels=row.labels,
        target=row.target,
        language=row.language or document.language,
        meta={**more, **document.meta},
    )
    return dataclasses.replace(record, document=labelled)


class _FileIndex:
    """Finds files by the names that people write for them: the whole path before the name, and both before the same
    without their endings."""

    def __init__(self, files: Sequence[Source], suffixes: Sequence[str]) -> None:
        self._suffixes = sorted(suffixes, key=len, reverse=True)
        self._found: list[dict[str, list[Source]]] = [{}, {}, {}, {}]
        for file in files:
            path, name = _normal(str(file.path)), _normal(file.name)
            base = PurePosixPath(name).name
            for names, keys in zip(
                self._found,
                ({path, name}, {self._stem(path), self._stem(name)}, {base}, {self._stem(base)}),
                strict=True,
            ):
                for key in keys:
                    names.setdefault(key, []).append(file)

    def find(self, written: str, table: Source) -> Sequence[Source]:
        """The files that a row may mean; more than one where it does not say enough."""
        name = _normal(written)
        if not name:
            return ()
        beside = _normal(str(table.path.parent / name))
        for names in self._found:
            for key in (name, beside):
                if key in names:
                    return names[key]
        return ()

    def _stem(self, name: str) -> str:
        """The name without the ending that a reader knows it by, or else without its last one."""
        lower = name.lower()
        known = next((suffix for suffix in self._suffixes if lower.endswith(suffix)), None)
        return name[: -len(known)] if known else str(PurePosixPath(name).with_suffix(""))


def _normal(name: str) -> str:
    """One spelling for one path: slashes forward, no `./`, letters composed (file systems may take them apart)."""
    path = PurePosixPath(unicodedata.normalize("NFC", name.strip().replace("\\", "/")))
    return "" if path == PurePosixPath() else path.as_posix()
