"""What a model folder says beside the encoder and the weights: the content of `longdoc.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator, model_validator

from longdoc.checkpoints.weights import read_json
from longdoc.decide import Decisions
from longdoc.errors import CheckpointError
from longdoc.linear import LinearSettings
from longdoc.nn.readout import ReadoutConfig, VectorsReadoutConfig
from longdoc.schema import Config
from longdoc.tasks import TaskName, task_named
from longdoc.tasks.label_task import LabelTask
from longdoc.text.chunking import ChunkingConfig

__all__ = ["ModelSettings", "describe_settings", "read_settings"]


_FORMAT = 1


class ModelSettings(Config):
    """What a model folder says beside the encoder and the weights; the content of `longdoc.json`."""

    task: TaskName = "single_label"
    """What is asked of a document: one right label, any number of them, a number."""
    labels: tuple[str, ...] = Field(min_length=1)
    """Names of the scores, in their order; regression has one."""
    chunking: ChunkingConfig = ChunkingConfig()
    """How documents become chunks."""
    readout: ReadoutConfig = VectorsReadoutConfig()
    """How chunks become a document's scores."""
    source: str = ""
    """The checkpoint that the encoder started from."""
    decisions: Decisions = Decisions()
    """How scores become answers: temperature, thresholds, when to abstain."""
    linear: LinearSettings | None = None
    """How the scores of a linear classifier over words are added, where the model carries one."""

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(labels)) < len(labels):
            raise ValueError(f"`labels` must be distinct, but {len(labels) - len(set(labels))} of them come again.")
        return labels

    @model_validator(mode="after")
    def _task_is_content(self) -> ModelSettings:
        task = task_named(self.task)
        if "readout" not in self.model_fields_set:
            self.__dict__["readout"] = task.default_readout()
        task.check_readout(self.readout)
        task.check_fitted(self.decisions, self.labels)
        if self.linear is not None and not isinstance(task, LabelTask):
            raise ValueError(f"`linear` adds scores of labels, but the task {self.task} has none.")
        if self.linear is not None and self.linear.shifts and len(self.linear.shifts) != self.scores:
            raise ValueError(
                f"`linear.shifts` must have {self.scores} entries, but has {len(self.linear.shifts)} instead."
            )
        return self

    @property
    def scores(self) -> int:
        """How many scores the readout gives."""
        return task_named(self.task).classes(self.labels, self.readout)


def describe_settings(settings: ModelSettings) -> dict[str, Any]:
    """The content of `longdoc.json`."""
    described = {"format": _FORMAT, **settings.model_dump(mode="json")}
    if settings.linear is None:
        del described["linear"]
    return described


def read_settings(folder: Path) -> ModelSettings:
    """The settings of a model folder.

    Raises:
        CheckpointError: another format, or entries that are wrong; the message names them.
    """
    described = read_json(folder / "longdoc.json")
    if described.pop("format", None) != _FORMAT:
        raise CheckpointError(
            f"`format` in `{folder / 'longdoc.json'}` must be {_FORMAT}, but is not. The folder was written by another "
            "version of longdoc; use that one."
        )
    try:
        return ModelSettings(**described)
    except ValidationError as error:
        faults = ", ".join(sorted({".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False)}))
        raise CheckpointError(
            f"`{folder / 'longdoc.json'}` must describe a model, but these entries are wrong: {faults}."
        ) from None
