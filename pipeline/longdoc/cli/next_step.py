"""What would help documents that cannot be read or answered: missing packages with the line to run, first faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longdoc.cli.common import say
from longdoc.errors import on_one_line
from longdoc.launched import speaks_for_all

if TYPE_CHECKING:
    from longdoc.readers.base import ReadConfig
    from longdoc.types import DocumentFailure

__all__ = ["Unreadable", "missing_packages", "say_tables_left_out"]


class Unreadable:
    """What a command could not read, told at its end: a line for each reason, with the place and fault of the first.

    Attributes:
        number: of failures.
    """

    def __init__(self) -> None:
        self.number = 0
        self._found: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def note(self, failure: DocumentFailure) -> None:
        """Count one."""
        helped = "pip install" in failure.detail  # a line for each package that is missing
        kind = failure.detail if helped else failure.reason
        self.number += 1
        self._found[kind] += 1
        where = "" if helped or failure.id in failure.detail else f"{failure.id}: "
        said = f"{failure.reason}, {where}{failure.detail or 'no more is known'}"
        self._first.setdefault(kind, on_one_line(said))

    def lines(self) -> list[str]:
        """The most frequent first."""
        return [f"{number} unreadable ({self._first[kind]})" for kind, number in self._found.most_common()]


def say_tables_left_out(inputs: Sequence[str], read: ReadConfig) -> None:
    """Say of each table of labels among the inputs that it is no document, where `read.fields.file` tells them."""
    from longdoc.readers import find_documents

    if read.fields.file is None or not speaks_for_all():
        return
    for table in find_documents(inputs, read)[1]:
        name = on_one_line(table.name)
        say(f"longdoc: {name} is left out: it has names of files in `{read.fields.file}` and no text.", err=True)


def missing_packages(output: Path) -> list[str]:
    """Sentences about packages without which documents of a finished job could not be read, the most frequent first."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    found: Counter[str] = Counter()
    for part in sorted(output.glob("part-*.parquet")):
        rows = pq.read_table(part, columns=["reason", "detail"])
        rows = rows.filter(pc.equal(rows["reason"], "unsupported_type"))
        found.update(detail for detail in rows["detail"].to_pylist() if detail and "pip install" in detail)
    return [sentence for sentence, _ in found.most_common()]
