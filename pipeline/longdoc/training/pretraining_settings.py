"""Settings of masked-language-model training, with the words that `transformers` users know."""

from __future__ import annotations

from pydantic import Field, model_validator

from longdoc.schema import Config

__all__ = ["PretrainingConfig"]


class PretrainingConfig(Config):
    """How an encoder learns a language from texts without labels, by guessing hidden tokens (Devlin et al. 2019)."""

    mask_share: float = Field(default=0.15, gt=0, lt=1)
    """Share of the document tokens that are chosen to be guessed, each (or each word) by chance."""
    mask_token_share: float = Field(default=0.8, ge=0, le=1)
    """Share of the chosen tokens that the encoder sees as the mask token."""
    random_token_share: float = Field(default=0.1, ge=0, le=1)
    """Share of them that it sees as any other token, never a special one; what remains it sees as it is."""
    whole_words: bool = False
    """Choose all tokens of a word together: tokens that touch without white space between them. CJK characters are
    words of their own, and a run of more than 16 tokens counts as several words."""
    num_train_epochs: int = Field(default=1, ge=1)
    """Passes over the corpus; each hides other tokens."""
    max_steps: int | None = Field(default=None, ge=1)
    """Optimiser steps, whatever `num_train_epochs` says; null = by epochs."""
    batch_tokens: int = Field(default=8192, ge=1)
    """Tokens of one step, over all processes; at least `chunking.size`."""
    micro_batch_tokens: int = Field(default=8192, ge=1)
    """Tokens that are in memory with their gradients at once, on one process. Gradients do not depend on it."""
    learning_rate: float = Field(default=1e-4, gt=0)
    """Of the encoder."""
    head_learning_rate: float | None = Field(default=None, gt=0)
    """Of the head that guesses; null = `learning_rate`."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Not applied to biases, norms and position tables."""
    warmup_ratio: float = Field(default=0.06, ge=0, le=1)
    """Share of the steps during which the learning rate rises from zero; it then falls linearly to zero."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Longer gradients are shortened to this norm."""
    freeze: tuple[str, ...] = ()
    """Names that stay as they are: `encoder` (then only the head learns), `encoder.layers.0` ..."""
    eval_steps: int | None = Field(default=None, ge=1)
    """Measure on the validation texts every so many steps; null = after each epoch. Before the first step and at the
    end they are measured in any case."""
    logging_steps: int = Field(default=10, ge=1)
    """A line in `metrics.jsonl` every so many steps."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    """Of new weights, dropout, the order of chunks and what is hidden in training."""
    validation_seed: int = Field(default=0, ge=0, lt=2**31)
    """Of what is hidden in the validation texts: the same in each measurement and, unless this changes, in each run, so
    that perplexities compare."""

    @model_validator(mode="after")
    def _shares_leave_room(self) -> PretrainingConfig:
        if self.mask_token_share + self.random_token_share > 1 + 1e-9:
            raise ValueError(
                f"`mask_token_share` and `random_token_share` must add up to at most 1, but make "
                f"{self.mask_token_share + self.random_token_share:g} instead. Lower one of them."
            )
        return self
