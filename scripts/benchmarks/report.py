"""What a run of the benchmark says: one row a candidate, the first of them the measure of the others."""

from __future__ import annotations

import datetime
import platform
import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alternate import Candidate, Measured

__all__ = ["report", "table"]

_PACKAGES = (
    "longdoc", "torch", "transformers", "tokenizers", "sentence-transformers", "openvino", "nncf", "onnxruntime",
)  # fmt: skip
_REFERENCE = "transformers fp32"
"""Whose vectors the others are compared with."""
_CEILING = "ceiling"


def report(
    suite: str, candidates: Sequence[Candidate], found: Mapping[str, Measured], threads: int, rounds: int
) -> dict[str, Any]:
    """Everything as JSON.

    Of each row: `rate` is tokens a second in the median round, `lowest` and `highest` those of the slowest and the
    fastest; `ratio` the rate of the first candidate over this one; `ceiling_share` the rate over the best of the rows
    that are ceilings; `lowest_cosine` over all documents, to vectors of transformers in float32.
    """
    vectors = _vectors(candidates)
    right = next((rows for name, rows in vectors.items() if name.startswith(_REFERENCE)), None)
    rates = {name: m.told["tokens"] / m.median for name, m in found.items() if m.seconds and not m.fault}
    first = next(iter(rates.values()), None)
    ceiling = max((rate for name, rate in rates.items() if name.startswith(_CEILING)), default=None)
    rows = []
    for candidate in candidates:
        measured, name = found[candidate.name], candidate.name
        row: dict[str, Any] = {"name": name}
        if name not in rates:
            rows.append(row | {"fault": measured.fault})
            continue
        tokens = measured.told["tokens"]
        row |= {
            "tokens": tokens,
            "rate": rates[name],
            "lowest": tokens / max(measured.seconds),
            "highest": tokens / min(measured.seconds),
            "seconds": measured.median,
            "cpu_seconds": statistics.median(measured.cpu_seconds),
            "ratio": first / rates[name] if first else None,
            "peak_mb": measured.told.get("peak_mb", measured.peak_mb),
            "above_mb": measured.told.get("above_mb", measured.peak_mb - measured.base_mb),
        }
        if ceiling is not None:
            row["ceiling_share"] = rates[name] / ceiling
        if right is not None and name in vectors:
            row["lowest_cosine"] = _lowest_cosine(vectors[name], right)
        if "chose" in measured.told:
            row["chose"] = measured.told["chose"]
        rows.append(row)
    return {
        "suite": suite,
        "date": datetime.date.today().isoformat(),
        "threads": threads,
        "rounds": rounds,
        "machine": f"{platform.machine()}, {_processor()}",
        "python": platform.python_version(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "rows": rows,
    }


def table(result: Mapping[str, Any]) -> str:
    """The same as Markdown; columns that no row has are left out."""
    rows = [row for row in result["rows"] if "fault" not in row]
    columns = {
        "tokens/s": lambda row: f"{row['rate']:,.0f}",
        "lowest to highest": lambda row: f"{row['lowest']:,.0f} to {row['highest']:,.0f}",
        "seconds (of cores)": lambda row: f"{row['seconds']:,.2f} ({row['cpu_seconds']:,.2f})",
        "first / this": lambda row: f"{row['ratio']:.2f}",
        "of the ceiling": lambda row: f"{row['ceiling_share']:.0%}" if "ceiling_share" in row else "",
        "lowest cosine to fp32": lambda row: f"{row['lowest_cosine']:.6f}" if "lowest_cosine" in row else "",
        "peak MB (of it for the work)": lambda row: f"{row['peak_mb']:,.0f} ({row['above_mb']:,.0f})",
    }
    columns = {name: cell for name, cell in columns.items() if any(cell(row) for row in rows)}
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    lines = [
        f"{result['suite']}, {result['date']}: {result['machine']}, {result['threads']} threads, medians of "
        f"{result['rounds']} rounds; Python {result['python']}, {versions}",
        "",
        f"| | {' | '.join(columns)} |",
        f"| --- {'| ---: ' * len(columns)}|",
    ]
    for row in result["rows"]:
        cells = [row["fault"], *[""] * (len(columns) - 1)] if "fault" in row else [c(row) for c in columns.values()]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    chose = next((f"\n{row['name']} ran as {row['chose']}." for row in rows if "chose" in row), "")
    return "\n".join(lines) + chose


def _vectors(candidates: Sequence[Candidate]) -> dict[str, Any]:
    paths = {candidate.name: Path(candidate.options.get("vectors") or "/nowhere") for candidate in candidates}
    return {name: np.load(path, allow_pickle=False) for name, path in paths.items() if path.is_file()}


def _lowest_cosine(rows: Any, right: Any) -> float:
    products = (rows * right).sum(1)
    return float((products / np.linalg.norm(rows, axis=1) / np.linalg.norm(right, axis=1)).min())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return platform.processor()
    lines = info.read_text(encoding="utf-8").splitlines()
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    flags = next((line for line in lines if line.startswith("flags")), "").split()
    known = [flag for flag in ("amx_bf16", "avx512_bf16", "avx512f", "avx2") if flag in flags]
    return f"{name} ({known[0] if known else 'no vector instructions known'})"
