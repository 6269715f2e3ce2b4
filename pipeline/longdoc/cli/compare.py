"""`longdoc compare`: what to use on these documents, strategies or position encodings side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, show_progress

if TYPE_CHECKING:
    from longdoc.config import RunConfig

__all__ = ["compare"]

HEEDS = ("model", "chunking", "data", "read", "training", "prediction")
BASE = {"training": {"num_train_epochs": 60, "head_learning_rate": 1e-2, "metric_for_best_model": "loss"}}
"""Rows of a frozen encoder are cheap: enough passes for every merger."""


def compare(
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Results, table.md, figure.png and .svg.")],
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="TRAIN", help="Labelled documents. With --positions: a folder of such."),
    ] = None,
    validation: Annotated[
        list[str] | None, typer.Option("--validation", metavar="VALID", help="The same: chooses epochs and the best.")
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option("--test", metavar="TEST", help="The same: what the figures are measured on.")
    ] = None,
    positions: Annotated[bool, typer.Option("--positions", help="Compare position encodings instead.")] = False,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="A position encoding. Repeatable; all that are common."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", min=1, help="Runs of each position encoding. Default: 3, or 1 with --quick."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Positions: 20 steps: does it run?")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Ways of reading long documents side by side: head, tail, all chunks merged in each way, TF-IDF, both; a verdict.

    Where spans are looked for: head, tail and all of a document, and a linear tagger over words.

    With --positions: the same small encoder from scratch with each position encoding; can be stopped and gone on with.

    Example: longdoc compare --data train.jsonl --validation valid.jsonl --test test.jsonl --output runs/compare
    """
    if positions:
        with faults_as_exit_status():
            _refuse("with", {"--validation": validation, "--test": test})
        runs = seeds or (1 if quick else 3)
        _compare_positions(output, data or (), kinds or (), runs, quick, as_json, config, overrides)
    else:
        with faults_as_exit_status():
            _refuse("without", {"--kind": kinds, "--seeds": seeds, "--quick": quick})
        _compare_strategies(output, data or (), validation or (), test or (), as_json, config, overrides)


def _refuse(how: str, options: Mapping[str, Any]) -> None:
    """Options that nothing would come of."""
    from longdoc.errors import UsageError

    if idle := [option for option, given in options.items() if given]:
        raise UsageError(f"`{idle[0]}` has no effect on `longdoc compare` {how} --positions. Leave it out.")


def _compare_strategies(
    output: Path,
    data: Sequence[str],
    validation: Sequence[str],
    test: Sequence[str],
    as_json: bool,
    config: Path | None,
    overrides: list[str] | None,
) -> None:
    with faults_as_exit_status(lambda: "The same command starts over."):
        from longdoc.apart import check_apart
        from longdoc.api import build_pipeline
        from longdoc.errors import UsageError, counted
        from longdoc.files import check_folder_output
        from longdoc.readers import load_labelled
        from longdoc.study.compare import compare_strategies
        from longdoc.study.comparison import comparison_table
        from longdoc.study.comparison_picture import draw_comparison
        from longdoc.tasks import task_named
        from longdoc.training.selection import chosen_metric

        resolved = load(config, overrides, "compare", HEEDS, BASE)
        check_folder_output(output)
        if resolved.training.rows_folder:
            check_folder_output(Path(resolved.training.rows_folder), "training.rows_folder")
        named = [list(data or resolved.data.train), list(validation or resolved.data.validation), list(test)]
        read = dict(zip(("--data", "--validation", "--test"), named, strict=True))
        check_apart(output, read | {"model.source": [resolved.model.source]})
        for option, inputs in zip(("--data", "--validation"), named, strict=False):
            if not inputs:
                raise UsageError(f"`{option}` must name at least one file, but is missing.")
        options = ("data", "validation", "test")
        train_part, validation_part, test_part = (
            load_labelled(names, resolved.read, option) if names else []
            for names, option in zip(named, options, strict=True)
        )
        task = task_named(resolved.model.task)
        task.check_gold([*train_part, *validation_part], resolved.model.labels)
        task.check_validation(
            validation_part, chosen_metric(resolved.training.metric_for_best_model, task, bool(validation_part))
        )
        labels = resolved.model.labels or task.collect_labels([*train_part, *validation_part])
        if test_part:
            task.check_gold(test_part, labels, "evaluation")
        configured = task.settle(resolved.model.readout, [*train_part, *validation_part]).model_dump(mode="json")

        def make(keep: str, readout: Any) -> Any:
            return build_pipeline(_with(resolved, keep, configured if readout is None else readout), labels)

        with show_progress("compare", "strategies") as tell:
            found = compare_strategies(
                make, train_part, validation_part, test_part, output, resolved.training, tell=tell
            )
        for suffix in (".png", ".svg"):
            draw_comparison(found, output / f"figure{suffix}")
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else comparison_table(found))
        if not as_json:
            closing_line(f"{counted(len(found.entries), 'row')} compared; all of it in {output}")


def _with(config: RunConfig, keep: str, readout: Any) -> RunConfig:
    """The configuration of one strategy."""
    from longdoc.config import load_config

    tree = config.model_dump(mode="json", exclude_unset=True)
    tree.setdefault("chunking", {})["keep"] = keep
    tree.setdefault("model", {})["readout"] = dict(readout)
    return load_config(base=tree)


def _compare_positions(
    output: Path,
    data: Sequence[str],
    kinds: Sequence[str],
    seeds: int,
    quick: bool,
    as_json: bool,
    config: Path | None,
    overrides: list[str] | None,
) -> None:
    with faults_as_exit_status(lambda: "Results so far are kept: the same command goes on."):
        from longdoc.apart import check_apart
        from longdoc.errors import UsageError, counted
        from longdoc.files import check_folder_output
        from longdoc.study.ablation import KINDS
        from longdoc.study.ablation_picture import draw_ablation
        from longdoc.study.ablation_run import QUICK, run_ablation
        from longdoc.study.ablation_table import ablation_table
        from longdoc.study.order_tasks import chance

        load(config, overrides, "compare --positions", ())
        if len(data) > 1 or any(not Path(folder).is_dir() for folder in data):
            raise UsageError("`--data` must be one folder with train.jsonl and test.jsonl when positions are compared.")
        folder = Path(data[0]) if data else None
        check_folder_output(output)
        check_apart(output, {"--data": data})
        with show_progress("train", "results") as tell:
            results = run_ablation(output, kinds or KINDS, range(seeds), QUICK if quick else None, folder, tell)
        for suffix in (".png", ".svg"):
            draw_ablation(results, output / f"figure{suffix}", chance(folder))
        typer.echo(json.dumps(results) if as_json else ablation_table(results))
        if not as_json:
            closing_line(f"{counted(len(results), 'result')} compared; table and figure in {output}")
