"""A comparison of position encodings as a run that can be stopped and gone on with: results, table, figure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longdoc.checkpoints.native import refuse_other_model
from longdoc.errors import UsageError
from longdoc.files import make_folder, write_text
from longdoc.study.ablation import AblationConfig, ablate, check_kinds
from longdoc.study.ablation_table import ablation_table
from longdoc.study.order_tasks import SYNTHETIC

__all__ = ["LENGTHS", "QUICK", "read_results", "run_ablation"]

LENGTHS = (256, 512, 1024, 2048)
"""Where encoders that were trained at 128 tokens are tested."""

QUICK = AblationConfig(steps=20, test_rows=40, longer_tokens=20_000)
"""Does it run? The numbers mean nothing."""


def run_ablation(
    output: Path,
    kinds: Sequence[str],
    seeds: Sequence[int],
    settings: AblationConfig | None = None,
    data: Path | None = None,
    tell: Callable[[int, int], object] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Run what is not in `output` yet: `results.jsonl` grows by a line a result, `table.md` is written at the end.

    Args:
        output: the folder; made if it is missing.
        kinds: words of a configuration, such as `rotary`.
        seeds: numbers of the seeds.
        settings: of encoder and training.
        data: a folder with train.jsonl and test.jsonl for the task on real documents.
        tell: hears how many results of how many are there.

    Raises:
        UsageError: an unknown kind, or `output` holds results of other settings, or a model.
    """
    settings = settings or AblationConfig()
    kinds, seeds = list(dict.fromkeys(kinds)), list(dict.fromkeys(seeds))
    check_kinds(kinds)
    refuse_other_model(output)
    make_folder(output)
    said = asdict(settings) | {"data": data is not None}
    settings_file, results_file = output / "settings.json", output / "results.jsonl"
    if settings_file.exists() and json.loads(settings_file.read_text(encoding="utf-8")) != said:
        raise UsageError(f"`output` must be a new folder for new settings, but {output} holds results of others.")
    write_text(settings_file, json.dumps(said, indent=2) + "\n")
    results = read_results(results_file)
    total = len(kinds) * len(seeds) * (len(SYNTHETIC) + (data is not None))
    tell(len(results), total)
    with results_file.open("a", encoding="utf-8") as file:
        for result in ablate(kinds, seeds, LENGTHS, settings, data, results):
            file.write(json.dumps(result) + "\n")
            file.flush()
            results.append(result)
            tell(len(results), total)
    wanted = [r for r in results if r["kind"] in kinds and r["seed"] in seeds]
    wanted.sort(key=lambda r: (list(kinds).index(r["kind"]), r["seed"]))
    write_text(output / "table.md", ablation_table(wanted))
    return wanted


def read_results(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a results file; a line that a killed run left half is dropped from the file."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_text(path, whole)
    results: list[Mapping[str, Any]] = [json.loads(line) for line in whole.splitlines()]
    return [dict(result) for result in results]
