"""`longdoc doctor`: is this machine fit for longdoc? One file a side of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, heed_nothing
from longdoc.cli.doctor import machine, software, trial
from longdoc.cli.doctor.finding import Examination, Finding, examine

__all__ = ["doctor"]


def doctor(
    model: Annotated[
        str, typer.Option("--model", metavar="MODEL", help="What is tried: a model or checkpoint, or `default`.")
    ] = "default",
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="A folder that jobs shall write to; it is tried too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Findings as JSON.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Examine this machine: versions, devices, limits, disks, a model, the sandbox; each with the way out.

    Exit status 1: something fails. Nothing is kept on the disk.

    Example: longdoc doctor --output /data/results
    """
    with faults_as_exit_status():
        heed_nothing(config, overrides, "doctor")
        findings = []
        for finding in _findings(model, output):
            findings.append(finding)
            if not as_json:
                typer.echo(_line(finding))
        count = {state: sum(finding.state == state for finding in findings) for state in ("ok", "warn", "fail")}
        if as_json:
            typer.echo(json.dumps({**count, "findings": [asdict(finding) for finding in findings]}, indent=1))
        else:
            closing_line(f"{count['ok']} ok, {count['warn']} to be looked at, {count['fail']} failed")
        raise typer.Exit(1 if count["fail"] else 0)


def _findings(model: str, output: Path | None) -> Iterator[Finding]:
    examinations: dict[str, Examination] = {
        "versions": software.versions,
        "extras": software.extras,
        "devices": software.devices,
        "limits": machine.limits,
        "language": machine.language,
        "temporary folder": machine.temporary_folder,
        "sandbox": trial.sandbox_works,
        "model": partial(trial.model_answers, model),
    }
    if output is not None:
        examinations["output"] = partial(machine.folder_takes_files, output, "output", "Name another folder.")
    for name, look in examinations.items():
        yield from examine(name, look)


def _line(finding: Finding) -> str:
    way_out = f". {finding.way_out}" if finding.way_out else ""
    return f"{finding.state:4} {finding.name}: {finding.said}{way_out}"
