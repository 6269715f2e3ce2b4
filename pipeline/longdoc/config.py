"""The configuration of a run: one typed tree, YAML in, resolved YAML out.

Each section is defined beside the thing it configures; this file only assembles them, reads them from a file,
applies `--set dotted.key=value`, and refuses what cannot be meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from longdoc.embedding import EmbeddingConfig
from longdoc.errors import ConfigurationError
from longdoc.jobs.plan import JobConfig
from longdoc.nn import EncoderConfig
from longdoc.nn.position import PositionConfig
from longdoc.nn.readout import ReadoutConfig, VectorsReadoutConfig
from longdoc.pipeline import PredictionConfig
from longdoc.readers import ReadConfig
from longdoc.schema import Config, explain_faults, kind_by_word, takes_kinds
from longdoc.tasks import TaskName, task_named
from longdoc.text.chunking import ChunkingConfig
from longdoc.training.pretraining_settings import PretrainingConfig
from longdoc.training.settings import TrainingConfig

__all__ = ["DataConfig", "ModelConfig", "RunConfig", "dump_resolved", "load_config", "position_config"]


class ModelConfig(Config):
    """The network: a checkpoint to start from, or an encoder of our own from scratch."""

    source: str = "default"
    """`default` (the embedded all-MiniLM-L6-v2), a checkpoint folder or a hub id (`hf:owner/name` where a
    folder `owner` is here too). Gives the tokenizer too."""
    revision: str | None = None
    """The commit of a hub id."""
    encoder: EncoderConfig | None = None
    """None: the checkpoint's encoder and weights. Given: this encoder, randomly initialised; only the tokenizer comes
    from `source` (`vocab_size` and `pad_id` are filled in from it)."""
    readout: ReadoutConfig = Field(default_factory=VectorsReadoutConfig)
    """How chunk rows become document scores."""
    task: TaskName = "single_label"
    """What is asked of a document: `single_label`, `multi_label`, `regression` ..."""
    labels: tuple[str, ...] | None = None
    """The label names in order; None: those of the training data, sorted."""

    @model_validator(mode="after")
    def _readout_suits_task(self) -> ModelConfig:
        task = task_named(self.task)
        if "readout" not in self.model_fields_set:
            self.__dict__["readout"] = task.default_readout()
        task.check_readout(self.readout)
        return self

    @field_validator("labels")
    @classmethod
    def _labels_are_names(cls, labels: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if labels is not None and not labels:
            raise ValueError("must name at least 1 label or be null, but is empty")
        if labels is not None and len(set(labels)) < len(labels):
            raise ValueError(f"must be distinct, but {len(labels) - len(set(labels))} of {len(labels)} come again")
        return labels


class DataConfig(Config):
    """The labelled documents."""

    train: tuple[str, ...] = ()
    """Files, folders, globs or `hf:owner/name`, a dataset of the hub."""
    validation: tuple[str, ...] = ()
    """The same for choosing the best epoch."""
    allow_shared_ids: bool = False
    """Whether a validation document may have the id of a training document: where each file counts its ids anew."""


class RunConfig(Config):
    """Everything that a command may need. A file names only what differs from the defaults."""

    model: ModelConfig = ModelConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    data: DataConfig = DataConfig()
    read: ReadConfig = ReadConfig()
    training: TrainingConfig = TrainingConfig()
    pretraining: PretrainingConfig = PretrainingConfig()
    prediction: PredictionConfig = PredictionConfig()
    job: JobConfig = JobConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()


def load_config(
    path: str | Path | None = None, overrides: Sequence[str] = (), base: Mapping[str, Any] | None = None
) -> RunConfig:
    """Read a configuration.

    Args:
        path: a YAML file, or None for the defaults.
        overrides: `dotted.key=value`, values in YAML, applied in order on top of the file.
        base: values under the file, for commands that bring defaults of their own.

    Raises:
        ConfigurationError: an unknown key (the nearest right one is named), a value out of bounds, a file that is
            not YAML. Nothing was started.
    """
    tree: dict[str, Any] = {}
    if base:
        _merge(tree, base)
    if path is not None:
        _merge(tree, _read_yaml(Path(path)))
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(
                f"`--set` must be dotted.key=value, but has no {'key' if equals else '='} instead."
            )
        _place(tree, key.strip().split("."), _value(key, value), RunConfig)
    try:
        return RunConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(explain_faults(error, RunConfig)) from None


class _PositionHolder(Config):
    position: PositionConfig


def position_config(
    kind: str | None, options: Sequence[str] = (), base: PositionConfig | None = None
) -> PositionConfig:
    """A position encoding from its kind and `key=value` fields, checked like a configuration file.

    Args:
        kind: its word; None = that of `base`.
        options: fields over those of `base`.
        base: an encoding whose fields hold where it is of this kind.

    Raises:
        ConfigurationError: no such kind or field, or a value out of bounds.
    """
    known = base is not None and kind in (None, base.kind)
    tree: dict[str, Any] = {"position": base.model_dump(mode="json") if known and base is not None else {"kind": kind}}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(f"`--set` must be key=value, but has no {'key' if equals else '='} instead.")
        if key.strip() == "kind":
            raise ConfigurationError("`kind` is not a field of the encoding, but what `--kind` names. Give it there.")
        _place(tree, ["position", *key.strip().split(".")], _value(key, value), _PositionHolder)
    try:
        return _PositionHolder.model_validate(tree).position
    except ValidationError as error:
        raise ConfigurationError(explain_faults(error, _PositionHolder, "position.")) from None


def dump_resolved(config: RunConfig, sections: Sequence[str] = tuple(RunConfig.model_fields)) -> str:
    """The tree as YAML, defaults included: what a run was made with. `sections` = those that it heeds."""
    return yaml.safe_dump(config.model_dump(mode="json", include=set(sections)), sort_keys=False, allow_unicode=True)


class _NoRepetition(yaml.SafeLoader):
    """YAML of plain values in which a key that comes twice is refused: the first one would be lost without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise _RepeatedKeyError(problem_mark=key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


class _RepeatedKeyError(yaml.MarkedYAMLError):
    """A key stands twice in one mapping."""


def _parse(text: str) -> Any:
    loader = _NoRepetition(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _value(key: str, text: str) -> Any:
    try:
        return _parse(text)
    except (yaml.YAMLError, ValueError):
        raise ConfigurationError(f"`--set {key}=...` must hold a YAML value, but does not. Quote it.") from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        tree = _parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"`--config` must name a YAML file, but there is no {path}.") from None
    except OSError as error:
        raise ConfigurationError(
            f"`--config` must name a YAML file that can be read, but {path} is none ({type(error).__name__})."
        ) from None
    except _RepeatedKeyError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 0
        raise ConfigurationError(
            f"`--config` must name each key once, but line {line} of {path} repeats one of the same section. Join them."
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" near line {mark.line + 1}" if mark is not None else ""
        raise ConfigurationError(f"`--config` must name a YAML file, but {path} is not YAML{where}.") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigurationError(f"{path} must hold a mapping of sections, but holds a {type(tree).__name__} instead.")
    return tree


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        old = into.get(key)
        # A section that names another kind is another thing: its fields must not mix with the old one's.
        same_kind = (
            isinstance(old, dict)
            and isinstance(value, Mapping)
            and value.get("kind", old.get("kind")) == old.get("kind")
        )
        if same_kind:
            _merge(into[key], value)
        else:
            into[key] = dict(value) if isinstance(value, Mapping) else value


def _place(tree: dict[str, Any], keys: list[str], value: Any, root: type[Config]) -> None:
    """Put a value under its keys; an entry of a list that is there is a key by its number, from 0."""
    here: Any = tree
    for depth, key in enumerate(keys[:-1]):
        at: Any = _entry(here, keys, depth) if isinstance(here, list) else key
        step = here[at] if isinstance(here, list) else here.get(key)
        if step is None:
            step = {}  # a section that is off; what is set in it turns it on
        elif isinstance(step, str) and takes_kinds(keys[: depth + 1], root):
            step = kind_by_word(step)  # a kind that was said by its word has fields all the same
        elif isinstance(step, Mapping):
            step = dict(step)  # a reference in a file may stand elsewhere too
        elif isinstance(step, list | tuple):
            step = list(step)
        else:
            raise ConfigurationError(
                f"`--set {'.'.join(keys)}` goes through `{'.'.join(keys[: depth + 1])}`, which holds a value, not keys."
            )
        here[at] = step
        here = step
    if isinstance(here, list):
        here[_entry(here, keys, len(keys) - 1)] = value
        return
    if keys[-1] == "kind" and here.get("kind") not in (None, value):
        here.clear()  # another kind has fields of its own
    here[keys[-1]] = value


def _entry(entries: list[Any], keys: list[str], depth: int) -> int:
    key = keys[depth]
    if not (key.isascii() and key.isdigit() and int(key) < len(entries)):
        raise ConfigurationError(
            f"`--set {'.'.join(keys)}` must name an entry of `{'.'.join(keys[:depth])}` by its number, from 0, but the "
            f"list has {len(entries)}. Set the whole list."
        )
    return int(key)
