"""`longdoc evaluate`: how good a model is on labelled documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, say, show_progress

__all__ = ["evaluate"]

HEEDS = ("model", "chunking", "read", "prediction")


def evaluate(
    model: Annotated[Path, typer.Option("--model", metavar="MODEL", help="A model folder.")],
    data: Annotated[list[str], typer.Option("--data", metavar="FILE", help="Labelled documents. Repeatable.")],
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="The folder for metrics and plots.")],
    evidence: Annotated[
        int,
        typer.Option(
            "--evidence",
            metavar="N",
            min=0,
            help="Explain a sample of N documents, to see whether it matters where "
            "in a text the evidence stands. Each costs about two predictions.",
        ),
    ] = 12,
    texts: Annotated[
        bool, typer.Option("--texts", help="Write a page with text and evidence for each of the worst errors.")
    ] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """How good a model is: report.html, and with intervals metrics.json, metrics.txt, predictions.jsonl, pictures.

    The report holds numbers, labels and ids. Texts are written only with --texts.

    Example: longdoc evaluate --model runs/mine --data test.jsonl --output runs/mine-test
    """
    with faults_as_exit_status():
        from longdoc.apart import check_apart
        from longdoc.cli.trained import own_chunking, settled
        from longdoc.config import dump_resolved
        from longdoc.errors import counted, no_document
        from longdoc.files import check_folder_output, make_folder, write_text
        from longdoc.pipeline import Pipeline
        from longdoc.readers import load_labelled
        from longdoc.report.evaluation import evaluation_plots, metrics_table
        from longdoc.report.evaluation_report import write_report
        from longdoc.report.folder import check_evaluation_folder
        from longdoc.training.evaluation import evaluate_documents

        base = own_chunking(model, config, overrides)
        resolved = settled(load(config, overrides, "evaluate", HEEDS, base), model)
        check_apart(output, {"--data": data, "--model": [model]}, homes=("--model",))
        check_folder_output(output)
        check_evaluation_folder(output)
        documents = load_labelled(data, resolved.read)
        if not documents:
            raise no_document("--data")
        pipeline = Pipeline.load(model, resolved.prediction)
        pipeline.task.check_gold(documents, pipeline.labels, "evaluation")
        documents = list(pipeline.task.unfold(documents, "evaluation"))
        with show_progress("evaluate") as tell:
            results, metrics = evaluate_documents(pipeline, documents, lambda done, total: tell(done, total, 0))
        make_folder(output)
        rows = "".join(json.dumps(result.to_dict(), ensure_ascii=False) + "\n" for result in results)
        write_text(output / "predictions.jsonl", rows)
        with show_progress("explain") as tell:
            findings = write_report(
                output, pipeline, documents, results, metrics, evidence, texts, lambda done, total: tell(done, total, 0)
            )
        found = json.dumps(metrics | findings.to_dict(), indent=2, ensure_ascii=False)
        write_text(output / "metrics.json", found + "\n")
        table = metrics_table(metrics)
        write_text(output / "metrics.txt", table)
        for name, picture in evaluation_plots(metrics).items():
            write_text(output / name, picture)
        write_text(output / "config.resolved.yaml", dump_resolved(resolved, HEEDS))
        say(table)
        closing_line(
            f"{counted(metrics['documents'], 'document')} evaluated, {metrics['unanswered']} without an answer; "
            f"report in {output / 'report.html'}"
        )
