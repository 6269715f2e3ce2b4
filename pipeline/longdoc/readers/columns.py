"""From Arrow record batches to records, for all formats that Arrow reads.

Texts are taken as bytes and decoded here, so that one bad row is one failure and not the end of its batch. Integers
that a `datasets` schema declares to be class labels become the names of their classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from longdoc.errors import DataError, DocumentError, on_one_line
from longdoc.readers.base import ReadConfig, Source, failed
from longdoc.readers.fields import RecordFields
from longdoc.readers.schema_check import check_columns
from longdoc.types import Record

__all__ = ["ROWS_AT_ONCE", "TableRecords"]

ROWS_AT_ONCE = 128
"""Rows of a batch that are held at once; a file's own batches may be much larger."""


class TableRecords:
    """The records of one table whose schema is known.

    Args:
        schema: of the file. Raises `DataError` for a missing, repeated or unusable text column.
        source, settings: as for a reader.

    Attributes:
        columns: names of the columns to read. Nested and binary ones that no field is mapped to are left alone.
    """

    def __init__(self, schema: pa.Schema, source: Source, settings: ReadConfig) -> None:
        check_columns(schema.names, source, settings)
        text = schema.field(settings.fields.text).type
        if not _is_text(text) and not kinds.is_null(text):
            raise DataError(
                f"The column `{settings.fields.text}` of {on_one_line(source.name)} must hold strings, but has the "
                f"type {text} instead. {settings.fields.advice}"
            )
        mapped = {column for _, column in settings.fields if column is not None}
        self.columns = [field.name for field in schema if field.name in mapped or _is_small(field.type)]
        self._source = source
        self._fields = RecordFields(source, settings, {"encoding": "utf-8", "encoding_source": "strict"})
        self._names = _class_names(schema, settings)

    def records(self, batch: pa.RecordBatch, first: int) -> Iterator[Record]:
        """The records of `batch`, whose first row is number `first` (from 0) of the source; that is also its cursor."""
        columns = [(name, _safe(batch.column(batch.schema.get_field_index(name)))) for name in self.columns]
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            rows = [(name, _plain(array.slice(start, ROWS_AT_ONCE))) for name, array in columns]
            for index in range(min(ROWS_AT_ONCE, batch.num_rows - start)):
                yield self._record(rows, index, first + start + index)

    def _record(self, columns: list[tuple[str, pa.Array]], index: int, row: int) -> Record:
        try:
            values = {name: _value(array, index, name, self._names.get(name)) for name, array in columns}
        except Exception as error:
            return failed(self._source, row + 1, row, error)
        return self._fields.record(values, row + 1, row)


def _is_text(kind: pa.DataType) -> bool:
    if kinds.is_dictionary(kind):
        return _is_text(kind.value_type)
    return _is_string(kind) or _is_bytes(kind)


def _is_string(kind: pa.DataType) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_binary_view(kind))


def _is_small(kind: pa.DataType) -> bool:
    if kinds.is_dictionary(kind):
        return _is_small(kind.value_type)
    plain = (kinds.is_boolean, kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_date, kinds.is_timestamp)
    return _is_string(kind) or any(test(kind) for test in plain)


def _safe(array: pa.Array) -> pa.Array:
    """The same values with texts as bytes; checked, since an Arrow file may hold offsets that lead anywhere."""
    kind = array.type
    if kinds.is_dictionary(kind):
        array.validate()
        array.indices.validate(full=True)
        array = pa.DictionaryArray.from_arrays(array.indices, _safe(array.dictionary))  # refuses indices beyond it
    elif _is_string(kind):
        array.validate()
        array = array.cast(_BYTES_OF[kind])
        array.validate(full=True)
    else:
        array.validate(full=True)
        if kinds.is_decimal(kind) or kinds.is_date(kind) or kinds.is_timestamp(kind):
            array = array.cast(pa.string())
    return array


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if kinds.is_dictionary(array.type) else array


_BYTES_OF = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def _value(array: pa.Array, index: int, name: str, rename: Callable[[Any], Any] | None) -> Any:
    """The value of one cell; where it cannot be taken, the fault itself, since only the field's users need to know."""
    try:
        value = array[index].as_py()
        if isinstance(value, bytes):
            value = value.decode("utf-8")
        return value if rename is None else rename(value)
    except DocumentError as error:
        return error
    except UnicodeDecodeError as error:
        return DocumentError("decode_error", f"`{name}` is not valid UTF-8 at byte {error.start}.")
    except (ValueError, TypeError, ArithmeticError) as error:
        return DocumentError("unreadable", f"`{name}` cannot be read ({type(error).__name__}).")


def _class_names(schema: pa.Schema, settings: ReadConfig) -> dict[str, Callable[[Any], Any]]:
    """For each mapped column that `datasets` declares as class labels: how numbers become names."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        items = {column: features.get(column) for _, column in settings.fields if column in schema.names}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return {}
    found = {column: _renaming(feature, str(column)) for column, feature in items.items()}
    return {str(column): rename for column, rename in found.items() if rename is not None}


def _renaming(feature: Any, column: str) -> Callable[[Any], Any] | None:
    if isinstance(feature, list):  # older releases write a list of one feature
        feature = {"feature": feature[0]} if feature else {}
    if not isinstance(feature, dict):
        return None
    names = feature.get("names")
    if feature.get("_type") == "ClassLabel" and isinstance(names, list):
        return partial(_class_name, names, column)
    inner = feature.get("feature")
    if inner is not None:
        rename_one = _renaming(inner, column)
        return None if rename_one is None else partial(_rename_each, rename_one)
    label = feature.get("label")
    rename_label = _renaming(label, f"{column}.label") if isinstance(label, dict) else None
    return None if rename_label is None else partial(_rename_label, rename_label)


def _rename_each(rename: Callable[[Any], Any], values: Any) -> Any:
    return [rename(value) for value in values] if isinstance(values, list) else values


def _rename_label(rename: Callable[[Any], Any], item: Any) -> Any:
    return {**item, "label": rename(item.get("label"))} if isinstance(item, Mapping) else item


def _class_name(names: list[Any], column: str, number: Any) -> Any:
    if number is None or number == -1:  # how `datasets` writes an unknown class
        return None
    if isinstance(number, int) and 0 <= number < len(names):
        return names[number]
    raise DocumentError("unreadable", f"`{column}` must be a class number below {len(names)}, but is not.")
