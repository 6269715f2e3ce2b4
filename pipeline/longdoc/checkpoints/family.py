"""What a family of checkpoints is: how its configuration and its tensor names read in our terms, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from longdoc.checkpoints.heads import ClassifierFormat, TaggerFormat
from longdoc.checkpoints.keymap import Fusion, KeyMap
from longdoc.checkpoints.language_heads import LanguageModelFormat
from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig

__all__ = ["Family"]


@dataclass(frozen=True)
class Family:
    """One family of checkpoints. Names are those of the model with a head, its base under a prefix (`bert.`).

    Attributes:
        model_type: as in `config.json`.
        base_class: transformers' name of the model without a head.
        config_from_hf: `config.json` -> our configuration.
        config_to_hf: our configuration -> the keys of `config.json`; only for what `config_from_hf` gives.
        keys: names of the encoder's tensors.
        classifier: what its sequence classification head is; None where the family has none of its own.
        tagger: the same for token classification.
        answerer: the same for question answering.
        language_model: the same for masked words.
        fusions: modules of theirs that hold several of ours.
        fix_name: old and short spellings of a name -> the full one.
        ignored: beginnings of names that belong to no encoder: other heads, tables that are computed.
        carried: beginnings of names that the encoder does not use but that are kept and saved again.
        claims: whether a `config.json` that names another `model_type` is of this family nevertheless.
        translate: a `config.json` of the authors' own code -> the same in the words that transformers chose later; None
            for any other.
    """

    model_type: str
    base_class: str
    config_from_hf: Callable[[Mapping[str, Any]], EncoderConfig]
    config_to_hf: Callable[[EncoderConfig], dict[str, Any]]
    keys: KeyMap
    classifier: ClassifierFormat | None
    tagger: TaggerFormat | None = None
    answerer: TaggerFormat | None = None
    language_model: LanguageModelFormat | None = None
    fusions: tuple[Fusion, ...] = ()
    fix_name: Callable[[str], str] = str
    ignored: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    claims: Callable[[Mapping[str, Any]], bool] | None = None
    translate: Callable[[Mapping[str, Any]], dict[str, Any] | None] | None = None

    def spell(self, name: str) -> str:
        """The family's name of a tensor of the encoder; of a part of one, that of the whole with ours behind it."""
        for fusion in self.fusions:
            for ours in fusion.ours:
                if (theirs := KeyMap([(fusion.theirs, ours)]).to_theirs(name)) is not None:
                    return f"{theirs} ({name})"
        return self.keys.to_theirs(name) or name

    def describe(self, config: EncoderConfig) -> dict[str, Any]:
        """`config.json` for an encoder of this family.

        Raises:
            CheckpointError: the encoder has something that this family's files cannot say.
        """
        described = self.config_to_hf(config)
        again = self.config_from_hf(described)
        if again != config:
            lost = [name for name in EncoderConfig.model_fields if getattr(again, name) != getattr(config, name)]
            raise CheckpointError(
                f"an encoder of the family `{self.model_type}` must be one that its files can describe, but "
                f"{', '.join(f'`{name}`' for name in lost)} cannot be said there. Set `family` to null: the encoder is "
                "then saved in the layout of longdoc, which says everything."
            )
        return described
