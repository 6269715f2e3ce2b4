"""What a trained model has fixed: commands that use one take its settings, and refuse a configuration against them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longdoc.checkpoints.settings import ModelSettings
    from longdoc.config import RunConfig
    from longdoc.nn import EncoderConfig

__all__ = ["model_settings", "own_chunking", "settled", "stored_encoder"]


def model_settings(folder: Path) -> ModelSettings:
    """Task, labels, chunking and readout of a model folder; quick, except for one that transformers wrote.

    Raises:
        CheckpointError: not a model folder.
    """
    from longdoc.checkpoints.native import load_model
    from longdoc.checkpoints.settings import read_settings

    return read_settings(folder) if (folder / "longdoc.json").is_file() else load_model(folder)[1]


def own_chunking(folder: Path, *given: object) -> dict[str, Any]:
    """The model's chunking as the base of a configuration, so that one key over it is judged beside the model's others.

    Args:
        given: the file and the overrides; without any nothing is looked at.
    """
    if not any(given) or not (folder / "longdoc.json").is_file():
        return {}  # what is no model folder is said once the configuration is known to be right
    return {"chunking": model_settings(folder).chunking.model_dump(mode="json")}


def stored_encoder(folder: Path) -> EncoderConfig | None:
    """What the encoder of a model folder is made of, without its weights; None for an unknown family."""
    from longdoc.checkpoints.opening import OWN, family_of
    from longdoc.checkpoints.reading import encoder_config
    from longdoc.checkpoints.weights import read_json

    described = read_json(folder / "config.json")
    if described.get("model_type") == OWN:
        return encoder_config(**described["longdoc_encoder"])
    family = family_of(described)
    return None if family is None else family.config_from_hf(described)


def settled(config: RunConfig, model: Path) -> RunConfig:
    """The configuration of a command that uses a trained model: what the model has fixed stands in it as it is.

    Raises:
        ConfigurationError: the configuration sets something that the model has otherwise; all such keys are named.
        CheckpointError: not a model folder.
    """
    from longdoc.errors import ConfigurationError

    settings = model_settings(model)
    own: dict[str, Any] = {
        "task": settings.task,
        "labels": list(settings.labels),
        "readout": settings.readout.model_dump(mode="json"),
    }
    given = config.model.model_dump(mode="json", exclude_unset=True)
    encoder = stored_encoder(model) if given.get("encoder") else None
    if encoder is not None:
        for key in ("vocab_size", "pad_id"):  # the tokenizer says what they are, whatever the file says
            given["encoder"].pop(key, None)
        own["encoder"] = encoder.model_dump(mode="json")
    elif settings.source:
        own["source"] = settings.source.partition("@")[0]
        given["source"] = str(given.get("source") or own["source"]).partition("@")[0]
    faults = [
        *_differences("model.", given, own),
        *_differences(
            "chunking.",
            config.chunking.model_dump(mode="json", exclude_unset=True),
            settings.chunking.model_dump(mode="json"),
        ),
    ]
    if faults:
        why = "training has fixed it. Leave it out."
        if not (model / "longdoc.json").is_file():
            why = (
                "a folder of transformers is taken as it is. Leave it out; `longdoc import-checkpoint` makes a model "
                "of it with another chunking."
            )
        raise ConfigurationError("\n".join(f"{fault}, and {why}" for fault in faults))
    used = config.model.model_copy(
        update={
            "task": settings.task,
            "labels": settings.labels,
            "readout": settings.readout,
            "source": settings.source,
            "encoder": None,
        }
    )
    return config.model_copy(update={"model": used, "chunking": settings.chunking})


def _differences(prefix: str, given: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    """What is given and not so; keys that the model does not know of are left alone."""
    for key, value in given.items():
        if key not in own or value is None or value == own[key]:
            continue
        if isinstance(value, Mapping) and isinstance(own[key], Mapping):
            yield from _differences(f"{prefix}{key}.", value, own[key])
        else:
            is_plain = isinstance(own[key], bool | int | float | str)
            yield f"`{prefix}{key}` is {own[key] if is_plain else 'otherwise'} in this model"
