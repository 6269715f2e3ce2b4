"""Some chunks of each document, drawn anew each epoch: training that reads less. Predictions always read all.

Which chunks are drawn depends on the seed, the epoch and the document alone, so a run that goes on after a stop draws
what it would have drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from longdoc.errors import ConfigurationError
from longdoc.tasks import Task
from longdoc.training.data import Example

__all__ = ["check_sampling", "sampled_chunks"]


def check_sampling(most: int | None, task: Task, keeps_rows: bool) -> None:
    """Refuse to draw chunks where all of them are needed, or cost nothing.

    Raises:
        ConfigurationError: so it is.
    """
    if most is None:
        return
    if task.needs_tokens:
        raise ConfigurationError(
            f"`training.chunks_per_document` must be null for the task {task.name}, which learns from every token, but "
            f"is {most} instead. Lower `training.micro_batch_tokens` if memory is short."
        )
    if keeps_rows:
        raise ConfigurationError(
            f"`training.chunks_per_document` must be null where the whole encoder is frozen, since all chunks are "
            f"encoded once and then cost nothing, but is {most} instead. Leave it out."
        )


def sampled_chunks(examples: Sequence[Example], most: int | None, seed: int, epoch: int) -> Sequence[Example]:
    """The examples with at most so many chunks each, all equally likely, in the order of the text.

    A chunk weighs by its core as ever, so a mean over the drawn chunks is one over the tokens that were drawn.

    Args:
        most: chunks of a document; None = all.
        seed, epoch: decide, with the number of the document, what is drawn.
    """
    if most is None:
        return examples
    return [_sampled(example, most, seed, epoch) for example in examples]


def _sampled(example: Example, most: int, seed: int, epoch: int) -> Example:
    if len(example.chunks) <= most:
        return example
    random = np.random.default_rng([seed, epoch, example.number])
    drawn = np.sort(random.choice(len(example.chunks), most, replace=False))
    chunks = tuple(example.chunks[number] for number in drawn)
    return replace(example, chunks=chunks, tokens=sum(len(chunk) for chunk in chunks))
