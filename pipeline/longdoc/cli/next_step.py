"""What would help documents that a job could not answer: packages that are missing, each with the line to run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

__all__ = ["missing_packages"]


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
