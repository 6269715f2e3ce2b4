"""The README.md of a pretrained encoder: what it was trained on and how well it guesses."""

from __future__ import annotations

import math

from longdoc.errors import counted
from longdoc.nn import EncoderConfig
from longdoc.training.pretraining import PretrainingReport
from longdoc.training.pretraining_settings import PretrainingConfig

__all__ = ["encoder_card"]


def encoder_card(
    encoder: EncoderConfig, settings: PretrainingConfig, report: PretrainingReport, source: str, from_scratch: bool
) -> str:
    """Markdown with the metadata block that model hubs read. Holds numbers, never text of documents.

    Args:
        encoder: what it is made of.
        source: the checkpoint that it started from, or whose tokenizer it uses.
        from_scratch: whether only the tokenizer is the checkpoint's.
    """
    left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(report.left_out.items()))
    start = f"from scratch, with the tokenizer of `{source}`" if from_scratch else f"on from `{source}`"
    head = "new at the start" if report.new_head else "the checkpoint's own at the start"
    words = "whole words" if settings.whole_words else "tokens"
    return f"""---
library_name: longdoc
pipeline_tag: fill-mask
tags: [long-documents]
---

# Encoder for long documents

{counted(encoder.layers, "layer")} of width {encoder.width}, positions {encoder.position.kind}; trained {start}, by
guessing hidden {words}. Use it as `model.source` of `longdoc train`.

## Training

{counted(report.documents, "document")} without labels, {report.tokens:,} tokens in {counted(report.chunks, "chunk")}; \
{counted(report.steps, "optimiser step")}, {report.hidden:,} tokens guessed, seed {settings.seed}. Hidden: \
{settings.mask_share:.0%} of the tokens. Head: {head}. Frozen: {", ".join(settings.freeze) or "nothing"}. Documents
left out: {left_out or "none"}.

## Validation

{_validation(report)}

## Limits

It has read one corpus. A perplexity compares only with one of the same texts, tokenizer, `mask_share`, `whole_words`
and `validation_seed`; how much it helps on a task is a thing to measure there.
"""


def _validation(report: PretrainingReport) -> str:
    if math.isnan(report.best):
        return "There were no validation texts: the last step was kept, and how good it is was not measured."
    return (
        f"Perplexity {report.best:.2f} after step {report.best_step}, which was kept ({report.first:.2f} before the "
        f"first); {report.accuracy:.1%} of the hidden tokens guessed."
    )
