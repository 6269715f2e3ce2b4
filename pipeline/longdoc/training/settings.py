"""Settings of a training run, with the words that `transformers` users know."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from longdoc.schema import Config
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.losses import CrossEntropyConfig, LossConfig, PositiveWeights
from longdoc.training.lora import LoraConfig
from longdoc.training.schedules import LinearConfig, ScheduleConfig

__all__ = ["TrainingConfig"]


# Other keys are left empty by null, so these two are.
_null_is_none = BeforeValidator(lambda value: "none" if value is None else value)


class TrainingConfig(Config):
    """How a model is trained."""

    num_train_epochs: int = Field(default=3, ge=1)
    """Passes over the training documents."""
    per_device_train_batch_size: int = Field(default=8, ge=1)
    """Whole documents of one step on one device, whatever their length."""
    gradient_accumulation_steps: int = Field(default=1, ge=1)
    """Steps whose gradients are summed before the optimiser moves."""
    learning_rate: float = Field(default=2e-5, gt=0)
    """Of the encoder."""
    head_learning_rate: float | None = Field(default=None, gt=0)
    """Of merger and head, which start from nothing; None: ten times `learning_rate`, and at least 1e-2 where the whole
    encoder is frozen. The layers of the merger `hierarchical` learn at 1e-4 at most."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Not applied to biases, norms and position tables."""
    warmup_ratio: float = Field(default=0.1, ge=0, le=1)
    """Share of the steps during which the learning rate rises from zero."""
    schedule: ScheduleConfig = LinearConfig()
    """What the learning rate does then: `linear` or `cosine` down to zero, or `constant`."""
    layer_decay: float = Field(default=1.0, gt=0, le=1)
    """What the rate is multiplied with from each layer of the encoder to the one below; 0.9 or so keeps what low
    layers know. The uppermost has `learning_rate`, the embeddings the lowest. 1: all have the same."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Longer gradients are shortened to this norm."""
    freeze: tuple[str, ...] = ()
    """Names that stay as they are: `encoder` (all of it), `encoder.embeddings`, `encoder.layers.0` ..., with patterns
    too: `encoder.layers.[0-3]`, `encoder.layers.*.attention`. With the whole encoder frozen the rows of all chunks are
    computed once, and an epoch costs next to nothing."""
    lora: LoraConfig | None = None
    """Learn small corrections of the encoder's products instead of the encoder: `{rank: 8}`; needs the extra `lora`.
    Take a `learning_rate` ten times as high. They are merged when a model is saved. None: the encoder itself learns."""
    kept_rows_gb: float = Field(default=4.0, ge=0)
    """Gigabytes (1e9 bytes) for the states of all tokens, which readouts that learn from tokens keep under a frozen
    encoder. Where they need more, documents are encoded anew in each epoch; the numbers are the same."""
    rows_folder: str | None = None
    """A folder that keeps the rows of a frozen encoder on disk: a run that was stopped, or another head or merger on
    the same documents, finds them there and encodes nothing twice."""
    micro_batch_tokens: int = Field(default=8192, ge=1)
    """Tokens that are in memory with their gradients at once. Documents of a step are taken in groups that fit; one
    that has more goes through the row cache by itself: exact gradients in two passes, at constant memory."""
    checkpoint_activations: bool = False
    """Keep only what comes into each layer of the encoder and compute the layer once more on the way back: larger
    micro-batches in the same memory, the same gradients, about a third more time."""
    chunks_per_document: int | None = Field(default=None, ge=1)
    """Learn from at most so many chunks of a document, drawn anew each epoch; None: from all. Validation and
    predictions read all of them in any case."""
    class_weights: Annotated[Literal["none", "balanced"], _null_is_none] = "none"
    """`balanced`: rare labels weigh more, by inverse frequency."""
    pos_weight: Annotated[PositiveWeights, _null_is_none] = "none"
    """Multi label: what a yes weighs, where a no weighs 1. `balanced`: the ratio of noes to ayes of each label; or
    `{label: number}`, labels that are not named weigh 1."""
    loss: LossConfig = CrossEntropyConfig()
    """What labels are learned by: `cross_entropy`, or `{kind: focal, gamma: 2}`, to which answers that are good already
    count for less; both with `label_smoothing`. Validation measures plain cross entropy."""
    metric_for_best_model: str = "auto"
    """The validation metric whose best epoch is kept: `auto` is macro_f1 for labels, rmse for numbers, `loss` works
    everywhere. Of epochs that are as good, the one with the lowest validation loss is kept."""
    early_stopping_patience: int | None = Field(default=None, ge=1)
    """Stop after so many epochs in a row without a better value of that metric; None: all epochs are trained."""
    decisions: DecisionConfig = DecisionConfig()
    """What is fitted on the validation documents at the end: temperature, thresholds, when to abstain."""
    logging_steps: int = Field(default=10, ge=1)
    """A line in `metrics.jsonl` every so many optimiser steps."""
    tracker: str | None = None
    """An experiment tracker by Accelerate's name: `tensorboard`, `wandb`, `mlflow` ... It gets the numbers of
    `metrics.jsonl` and of these settings, never text, labels or paths."""
    save_steps: int | None = Field(default=None, ge=1)
    """A checkpoint every so many optimiser steps, beside those of `save_minutes`; None: none of this kind."""
    save_minutes: float | None = Field(default=10.0, gt=0)
    """A checkpoint when so many minutes have passed since the last one; None: none of this kind."""
    save_total_limit: int = Field(default=2, ge=1)
    """Checkpoints that are kept while the run goes on, the newest."""
    mixed_precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """The number format of products in training; weights stay float32. `auto`: what `accelerate launch` was told, else
    that of `prediction.precision`. fp16 needs a GPU."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    """Of the head's start, dropout and the order of documents."""
