"""`longdoc import-checkpoint`: a Hugging Face encoder, or a classifier on one, into a folder of ours."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Read a checkpoint strictly and write it with its tokenizer; `model.source` of a training run takes it.

    A sequence classifier keeps its head and labels: what is written is a model that `longdoc predict` takes.

    Example: longdoc import-checkpoint default models/minilm
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import load_encoder, resolve_checkpoint
        from longdoc.checkpoints.classifiers import holds_classifier, load_classifier
        from longdoc.checkpoints.native import refuse_other_model, save_encoder, save_model
        from longdoc.checkpoints.resolve import pinned_name
        from longdoc.errors import counted
        from longdoc.files import check_folder_output
        from longdoc.text.tokenizing import DocumentTokenizer

        heed_nothing(config, overrides, "import-checkpoint")
        check_folder_output(model)
        refuse_other_model(model)
        folder = resolve_checkpoint(source, revision)
        tokenizer, answers = DocumentTokenizer.from_folder(folder), ""
        if holds_classifier(folder):
            classifier, settings = load_classifier(folder)
            encoder = classifier.encoder
            settings = settings.model_copy(update={"source": pinned_name(source, folder)})
            save_model(model, classifier, settings, tokenizer, _card(settings.source, settings.labels))
            answers = f", a classifier of {counted(len(settings.labels), 'label')}"
        else:
            encoder = load_encoder(folder)
            save_encoder(model, encoder, tokenizer)
        parameters = sum(p.numel() for p in encoder.parameters())
        closing_line(
            f"{counted(encoder.config.layers, 'layer')} of width {encoder.config.width}, {parameters:,} weights"
            f"{answers}; in {model}"
        )


def _card(source: str, labels: Sequence[str]) -> str:
    """The README.md of a classifier that was trained elsewhere."""
    return f"""---
library_name: longdoc
pipeline_tag: text-classification
tags: [long-documents]
---

# Classifier for long documents, imported

Weights and labels ({len(labels)}): as in {source or "the checkpoint"}, trained elsewhere. Chunks of a long document \
are merged by their mean; nobody has measured here how good that is: `longdoc evaluate` does, on documents with labels.
"""
