"""The configuration of a run: one typed tree, YAML in, resolved YAML out.

Each section is defined beside the thing it configures; this file only assembles them, reads them from a file,
applies `--set dotted.key=value`, and turns what pydantic says into sentences that name the key and the nearest
right one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError

from longdoc.errors import ConfigurationError
from longdoc.jobs.plan import JobConfig
from longdoc.nn import EncoderConfig
from longdoc.nn.position import PositionConfig
from longdoc.nn.readout import ReadoutConfig, VectorsReadoutConfig
from longdoc.pipeline import PredictionConfig
from longdoc.readers import ReadConfig
from longdoc.schema import Config
from longdoc.text.chunking import ChunkingConfig
from longdoc.training.settings import TrainingConfig
from longdoc.types import Task

__all__ = ["DataConfig", "ModelConfig", "RunConfig", "dump_resolved", "load_config", "position_config"]


class ModelConfig(Config):
    """The network: a checkpoint to start from, or an encoder of our own from scratch."""

    source: str = "default"
    """`default` (the embedded all-MiniLM-L6-v2), a checkpoint folder or a hub id. Gives the tokenizer too."""
    revision: str | None = None
    """The commit of a hub id."""
    encoder: EncoderConfig | None = None
    """None: the checkpoint's encoder and weights. Given: this encoder, randomly initialised; only the tokenizer comes
    from `source` (`vocab_size` and `pad_id` are filled in from it)."""
    readout: ReadoutConfig = Field(default_factory=VectorsReadoutConfig)
    """How chunk rows become document scores."""
    task: Task = "single_label"
    """`single_label`, `multi_label` or `regression`."""
    labels: tuple[str, ...] | None = None
    """The label names in order; None: those of the training data, sorted."""


class DataConfig(Config):
    """The labelled documents."""

    train: tuple[str, ...] = ()
    """Files, folders, globs or a `datasets` id."""
    validation: tuple[str, ...] = ()
    """The same for choosing the best epoch."""


class RunConfig(Config):
    """Everything that a command may need. A file names only what differs from the defaults."""

    model: ModelConfig = ModelConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    data: DataConfig = DataConfig()
    read: ReadConfig = ReadConfig()
    training: TrainingConfig = TrainingConfig()
    prediction: PredictionConfig = PredictionConfig()
    job: JobConfig = JobConfig()


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
        try:
            parsed = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigurationError(f"`--set {key}=...` must hold a YAML value, but does not. Quote it.") from None
        _place(tree, key.strip().split("."), parsed)
    try:
        return RunConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(_explain(error, RunConfig)) from None


class _PositionHolder(Config):
    position: PositionConfig


def position_config(kind: str, options: Sequence[str] = ()) -> PositionConfig:
    """A position encoding from its kind and `key=value` fields, checked like a configuration file.

    Raises:
        ConfigurationError: no such kind or field, or a value out of bounds.
    """
    tree: dict[str, Any] = {"position": {"kind": kind}}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(f"`--set` must be key=value, but has no {'key' if equals else '='} instead.")
        _place(tree, ["position", *key.strip().split(".")], yaml.safe_load(value))
    try:
        return _PositionHolder.model_validate(tree).position
    except ValidationError as error:
        raise ConfigurationError(_explain(error, _PositionHolder)) from None


def dump_resolved(config: RunConfig) -> str:
    """The whole tree as YAML, defaults included: what a run was made with."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"`--config` must name a YAML file, but there is no {path}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
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


def _place(tree: dict[str, Any], keys: list[str], value: Any) -> None:
    for depth, key in enumerate(keys[:-1]):
        step = tree.setdefault(key, {})
        if not isinstance(step, dict):
            raise ConfigurationError(
                f"`--set {'.'.join(keys)}` goes through `{'.'.join(keys[: depth + 1])}`, which holds a value, not keys."
            )
        tree = step
    if keys[-1] == "kind" and tree.get("kind") not in (None, value):
        tree.clear()  # another kind has fields of its own
    tree[keys[-1]] = value


def _explain(error: ValidationError, root: type[BaseModel]) -> str:
    """One sentence a fault: the key, what is wrong with it, and the way out. Values are never shown."""
    sentences = []
    for fault in error.errors(include_input=False, include_url=False):
        path = [str(step) for step in fault["loc"]]
        key = ".".join(_without_union_tags(path, root))
        if fault["type"] == "extra_forbidden":
            known = _fields_at(path[:-1], root)
            near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.7)
            elsewhere = [] if near else _anywhere(path[-1], root)
            if near:
                prefix = ".".join(_without_union_tags(path[:-1], root))
                way_out = f"Did you mean `{prefix + '.' if prefix else ''}{near[0]}`?"
            elif elsewhere:
                way_out = f"Did you mean `{elsewhere[0]}`?"
            else:
                way_out = f"Known here: {', '.join(known)}." if known else ""
            sentences.append(f"`{key}` is not a configuration key. {way_out}".strip())
        else:
            message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
            sentences.append(f"`{key}`: {message[:1].lower() + message[1:] if message[:1] != '`' else message}.")
    return "\n".join(sentences)


def _models_at(path: Sequence[str], root: type[BaseModel]) -> list[type[BaseModel]]:
    models: list[type[BaseModel]] = [root]
    for step in path:
        following: list[type[BaseModel]] = []
        for model in models:
            if step in model.model_fields:
                following.extend(_models_in(model.model_fields[step].annotation))
            elif step in _tags(model):
                following.append(model)
        models = following
    return models


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _tags(model: type[BaseModel]) -> tuple[str, ...]:
    """The words by which a tagged union knows this model."""
    kind = model.model_fields.get("kind")
    return tuple(str(value) for value in get_args(kind.annotation)) if kind is not None else ()


def _without_union_tags(path: Sequence[str], root: type[BaseModel]) -> list[str]:
    """pydantic puts the chosen kind of a union into the path; people did not write it."""
    kept: list[str] = []
    walked: list[str] = []
    for step in path:
        models = _models_at(walked, root)
        is_tag = any(step in _tags(model) for model in models) and not any(step in m.model_fields for m in models)
        walked.append(step)
        if not is_tag:
            kept.append(step)
    return kept


def _fields_at(path: Sequence[str], root: type[BaseModel]) -> list[str]:
    return sorted({name for model in _models_at(path, root) for name in model.model_fields})


def _anywhere(name: str, root: type[BaseModel], prefix: str = "", depth: int = 0) -> list[str]:
    """Keys of that very name in other sections: `learning_rate` at the top means `training.learning_rate`."""
    found = []
    for field, information in root.model_fields.items():
        here = f"{prefix}{field}"
        if field == name and depth:
            found.append(here)
        if depth < 4:
            for model in _models_in(information.annotation):
                found.extend(_anywhere(name, model, here + ".", depth + 1))
    return list(dict.fromkeys(found))
