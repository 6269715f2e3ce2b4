"""The plan of a job as a value and as a file.

It holds no time, no host and no absolute path, so the same job has the same plan everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from longdoc.errors import JobError, on_one_line
from longdoc.jobs.names import PLAN_NAME
from longdoc.readers.base import ReadConfig, Source

__all__ = ["SCHEMA_VERSION", "JobPlan", "PartPlan", "PlannedSource", "check_schema_version", "say_cut"]

SCHEMA_VERSION = 1
"""Of the plan, the parts and the manifest together. Raised when an older longdoc could not read them."""


@dataclass(frozen=True, slots=True)
class PartPlan:
    """One part: `documents` records from `cursor` of source number `source` on.

    Attributes:
        number: of the part, from 0.
        source, cursor: where its first record is.
        documents: how many records it has.
        unreadable: how many of them were failures while planning, other than for want of time or memory.
        digest: of the ids of all of them, in order.
    """

    number: int
    source: int
    cursor: int
    documents: int
    unreadable: int
    digest: str


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """One input by its name (relative to the input root) and the sha256 of its bytes.

    `ends_early`: it could not be read to its end while planning, so nobody knows which documents are missing.
    """

    name: str
    sha256: str
    ends_early: bool = False


@dataclass(frozen=True)
class JobPlan:
    """The plan of a job.

    Attributes:
        settings: everything that decides results, by dotted key.
        sources: the inputs, in order.
        parts: the parts, in order.
        inputs, read: how to read the sources here and now; not written down, empty in a plan that was only read back.
    """

    settings: Mapping[str, Any]
    sources: tuple[PlannedSource, ...]
    parts: tuple[PartPlan, ...]
    inputs: tuple[Source, ...] = ()
    read: ReadConfig = field(default_factory=ReadConfig)

    @property
    def documents(self) -> int:
        """Documents of the job, failures included."""
        return sum(part.documents for part in self.parts)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the plan. Parts and manifest carry it, so that files of two jobs never mix."""
        return hashlib.sha256(json.dumps(self._tree(), sort_keys=True).encode("ascii")).hexdigest()

    @property
    def cut_sources(self) -> tuple[str, ...]:
        """Names of the sources that could not be read to their end. With one of them a job is never complete."""
        return tuple(source.name for source in self.sources if source.ends_early)

    def parts_of(self, source: int) -> list[PartPlan]:
        """The parts that may hold records of source number `source`."""
        ends = [part.source for part in self.parts[1:]] + [len(self.sources)]
        return [part for part, end in zip(self.parts, ends, strict=False) if part.source <= source <= end]

    def part_name(self, part: PartPlan) -> str:
        """The file of a part. Names sort in the order of the parts."""
        width = max(5, len(str(len(self.parts) - 1)))
        return f"part-{part.number:0{width}d}.parquet"

    def to_bytes(self) -> bytes:
        """The content of `_plan.json`."""
        tree = {"schema_version": SCHEMA_VERSION, "fingerprint": self.fingerprint, **self._tree()}
        return (json.dumps(tree, indent=1) + "\n").encode("ascii")

    def _tree(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "settings": dict(sorted(self.settings.items())),
            "sources": [_source_tree(source) for source in self.sources],
            "parts": [{key: value for key, value in asdict(part).items() if key != "number"} for part in self.parts],
        }

    @classmethod
    def read_back(cls, output: Path) -> JobPlan:
        """The plan of a job's folder, without what is needed to read the sources.

        Raises:
            JobError: `output` has no plan, one of a newer longdoc, or a damaged one.
        """
        path = output / PLAN_NAME
        try:
            tree = json.loads(path.read_bytes())
            check_schema_version(path, tree["schema_version"])
            parts = tuple(PartPlan(number=number, **part) for number, part in enumerate(tree["parts"]))
            plan = cls(tree["settings"], tuple(PlannedSource(**source) for source in tree["sources"]), parts)
            whole = plan.fingerprint == tree["fingerprint"] and plan.documents == tree["documents"]
        except FileNotFoundError:
            if not output.exists():
                raise JobError(f"there is no folder {output}. Name the `--output` of `longdoc predict`.") from None
            raise JobError(f"{output} is not the folder of a job: it has no {PLAN_NAME}.") from None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise JobError(f"{path} is damaged ({type(error).__name__}). Start again in another folder.") from None
        if not whole:
            raise JobError(f"{path} is damaged: its fingerprint does not fit it. Start again in another folder.")
        return plan


def say_cut(sources: Sequence[str]) -> str:
    """What it means for a job that the sources of these names could not be read to their end."""
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return (
        f"{on_one_line(sources[0])}{more} could not be read to the end, so documents are missing. Replace or "
        "leave out what is damaged, and run the job again in another folder"
    )


def _source_tree(source: PlannedSource) -> dict[str, Any]:
    tree: dict[str, Any] = {"name": source.name, "sha256": source.sha256}
    return tree | {"ends_early": True} if source.ends_early else tree


def check_schema_version(path: Path, version: object) -> None:
    """Refuse files of a newer longdoc with a sentence that says so.

    Raises:
        JobError: `version` is not one this longdoc reads.
    """
    if version != SCHEMA_VERSION:
        raise JobError(
            f"{path} has schema version {version!r}, but this longdoc reads version {SCHEMA_VERSION}. Use the longdoc "
            "that wrote it, or a newer one."
        )
