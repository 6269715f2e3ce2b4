"""`longdoc import-checkpoint`: a Hugging Face encoder into a folder of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, heed_nothing

__all__ = ["import_checkpoint"]


def import_checkpoint(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="`default`, a folder, or a hub id.")],
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A new folder.")],
    revision: Annotated[str | None, typer.Option("--revision", help="The commit of a hub id.")] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Read an encoder checkpoint strictly and write it with its tokenizer; `model.source` of a training run takes it.

    Example: longdoc import-checkpoint default models/minilm
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import load_encoder, resolve_checkpoint
        from longdoc.checkpoints.native import refuse_other_model, save_encoder
        from longdoc.errors import counted
        from longdoc.files import check_folder_output
        from longdoc.text.tokenizing import DocumentTokenizer

        heed_nothing(config, overrides, "import-checkpoint")
        check_folder_output(model)
        refuse_other_model(model)
        folder = resolve_checkpoint(source, revision)
        encoder = load_encoder(folder)
        save_encoder(model, encoder, DocumentTokenizer.from_folder(folder))
        parameters = sum(p.numel() for p in encoder.parameters())
        closing_line(
            f"{counted(encoder.config.layers, 'layer')} of width {encoder.config.width}, {parameters:,} weights; in "
            f"{model}"
        )
