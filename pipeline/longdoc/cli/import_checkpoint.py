"""`longdoc import-checkpoint`: a Hugging Face encoder, or a classifier on one, into a folder of ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, heed_nothing, load, say

if TYPE_CHECKING:
    from longdoc.checkpoints.settings import ModelSettings

__all__ = ["import_checkpoint"]


def import_checkpoint(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="`default`, a folder, or a hub id.")],
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A new folder.")],
    revision: Annotated[
        str | None, typer.Option("--revision", metavar="COMMIT", help="The commit of a hub id.")
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Read a checkpoint strictly and write it with its tokenizer; `model.source` of a training run takes it.

    A classifier of texts or tokens, or a model that answers questions, keeps its head and labels: what is written is a
    model that `longdoc predict` takes, with the chunks that `--set chunking.size=...` asks for. A head that guesses
    masked tokens is kept too, for `longdoc train --pretrain`.

    Example: longdoc import-checkpoint default models/minilm
    """
    with faults_as_exit_status():
        from longdoc.apart import check_apart
        from longdoc.checkpoints import open_checkpoint, resolve_checkpoint
        from longdoc.checkpoints.language_models import (
            language_head_names,
            save_language_model,
            stored_language_head,
        )
        from longdoc.checkpoints.native import (
            holds_foreign_model,
            load_model,
            refuse_other_model,
            save_encoder,
            save_model,
        )
        from longdoc.checkpoints.resolve import pinned_name
        from longdoc.checkpoints.vocabulary import read_tokenizer
        from longdoc.errors import ConfigurationError, counted
        from longdoc.files import check_folder_output
        from longdoc.pipeline import chunking_for

        check_folder_output(model)
        check_apart(model, {"SOURCE": [source]}, "MODEL")
        refuse_other_model(model)
        folder = resolve_checkpoint(source, revision)
        if holds_foreign_model(folder):
            answering, settings, tokenizer = load_model(folder)
            encoder = answering.encoder
            base = {"chunking": settings.chunking.model_dump(mode="json")}
            chunking = load(config, overrides, "import-checkpoint", ("chunking",), base).chunking
            settings = settings.model_copy(
                update={"source": pinned_name(source, folder), "chunking": chunking_for(encoder, chunking)}
            )
            save_model(model, answering, settings, tokenizer, _card(settings))
            what = f", with a head for {counted(len(settings.labels), 'label')}"
        else:
            if any(override.startswith("chunking") for override in overrides or ()):
                raise ConfigurationError(
                    "`chunking` belongs to a model that answers, but this checkpoint is an encoder without a head. "
                    "Leave it out, and set it when a model is trained."
                )
            heed_nothing(config, overrides, "import-checkpoint")
            checkpoint = open_checkpoint(folder, head=language_head_names)
            encoder = checkpoint.encoder
            tokenizer = read_tokenizer(folder, encoder.config)
            head, what = stored_language_head(checkpoint, folder), ""
            if head is not None:
                save_language_model(model, encoder, head, tokenizer)
                what = ", with the head that guesses masked tokens"
            else:
                save_encoder(model, encoder, tokenizer)
            _say_left_out([*checkpoint.left_aside, *(["the readout"] if checkpoint.readout else [])])
        parameters = sum(p.numel() for p in encoder.parameters())
        closing_line(
            f"{counted(encoder.config.layers, 'layer')} of width {encoder.config.width}, {parameters:,} weights"
            f"{what}; in {model}"
        )


def _say_left_out(names: Sequence[str]) -> None:
    """Heads that nothing here uses; tables that are computed anyway are not worth a word."""
    heads = sorted({name.rpartition(".")[0] or name for name in names if not name.endswith(_COMPUTED)})
    if heads:
        more = f" and {len(heads) - _SHOWN} more" if len(heads) > _SHOWN else ""
        say(f"longdoc: left out, since nothing here uses it: {', '.join(heads[:_SHOWN])}{more}.", err=True)


_SHOWN = 5
_COMPUTED = ("position_ids", "token_type_ids", "inv_freq", "freqs_cis")


def _card(settings: ModelSettings) -> str:
    """The README.md of a model that was trained elsewhere."""
    from longdoc.tasks import task_named

    return f"""---
library_name: longdoc
pipeline_tag: {task_named(settings.task).pipeline_tag}
tags: [long-documents]
---

# Model for long documents, imported

Weights and labels ({len(settings.labels)}): as in {settings.source or "the checkpoint"}, trained elsewhere. What the \
chunks of a long document say is put together without training; nobody has measured here how good that is: \
`longdoc evaluate` does, on documents with labels.
"""
