"""`longdoc compare`: encoders side by side, on tasks where one can see what the difference does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import (
    ConfigOption,
    SetOption,
    closing_line,
    faults_as_exit_status,
    load,
    show_progress,
)

__all__ = ["compare"]


def compare(
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Results, table.md, figure.png and .svg.")],
    positions: Annotated[bool, typer.Option("--positions", help="Compare position encodings.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="train.jsonl and test.jsonl: adds a real task.")
    ] = None,
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", help="A position encoding. Repeatable; all that are common.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs of each.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="One seed, 20 steps: does it run?")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """The same small encoder from scratch with each position encoding; can be stopped and gone on with.

    Example: longdoc compare --positions --data data/built/licences --output runs/positions
    """
    with faults_as_exit_status(lambda: "Results so far are kept: the same command goes on."):
        from longdoc.errors import UsageError, counted
        from longdoc.files import check_folder_output
        from longdoc.study.ablation import KINDS, ablation_table, chance
        from longdoc.study.ablation_picture import draw_ablation
        from longdoc.study.ablation_run import QUICK, run_ablation

        load(config, overrides, "compare", ())
        if not positions:
            raise UsageError("`compare` must be told what to compare, but is not. Pass --positions.")
        check_folder_output(output)
        with show_progress("train", "results") as tell:
            results = run_ablation(
                output, kinds or KINDS, range(1 if quick else seeds), QUICK if quick else None, data, tell
            )
        for suffix in (".png", ".svg"):
            draw_ablation(results, output / f"figure{suffix}", chance(data))
        typer.echo(json.dumps(results) if as_json else ablation_table(results))
        if not as_json:
            closing_line(f"{counted(len(results), 'result')} compared; table and figure in {output}")
