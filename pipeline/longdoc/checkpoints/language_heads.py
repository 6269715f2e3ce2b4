"""How a family's files describe the head that guesses masked words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.reading import activation_of, choice
from longdoc.errors import CheckpointError
from longdoc.nn.heads import LanguageHeadKind

__all__ = ["LanguageModelFormat", "bert_language_model", "language_head", "roberta_language_model", "words_are_shared"]

_HEAD = TypeAdapter[LanguageHeadKind](Annotated[LanguageHeadKind, Field(discriminator="kind")])


def words_are_shared(config: Mapping[str, Any]) -> bool:
    """Whether the head's last layer and the encoder's words are one tensor."""
    return bool(choice(config, "tie_word_embeddings", True))


@dataclass(frozen=True)
class LanguageModelFormat:
    """A family's own model for masked words.

    Attributes:
        architecture: transformers' name of the class.
        keys: names of its head's tensors, theirs and ours in a `LanguageHead`.
        from_hf: `config.json` -> the fields of the head's configuration.
        to_hf: that configuration -> the keys of `config.json` that say what `from_hf` reads of it alone.
        tied: `config.json` -> whether the last layer is the encoder's words.
    """

    architecture: str
    keys: KeyMap
    from_hf: Callable[[Mapping[str, Any]], dict[str, Any]]
    to_hf: Callable[[Any], dict[str, Any]] = lambda _: {}
    tied: Callable[[Mapping[str, Any]], bool] = words_are_shared

    def describe(self, head: Any, config: Mapping[str, Any]) -> dict[str, Any] | None:
        """The keys of `config.json` for a head; None where this class has no such head.

        Args:
            head: the configuration of the head.
            config: what is said of the encoder.
        """
        if head.kind != language_head(self.from_hf(config)).kind:
            return None
        said = self.to_hf(head)
        return said if language_head(self.from_hf({**config, **said})) == head else None


def language_head(fields: Mapping[str, Any]) -> LanguageHeadKind:
    """The configuration of a head from what a file says.

    Raises:
        CheckpointError: names the entries that are impossible.
    """
    try:
        return _HEAD.validate_json(json.dumps({"kind": "dense", **fields}), strict=True)
    except ValidationError as error:
        places = [("kind", *fault["loc"][1:])[-1] for fault in error.errors(include_input=False)]
        faults = ", ".join(sorted(set(map(str, places))))
        raise CheckpointError(
            f"`config.json` must describe the head that guesses tokens, but these entries are impossible: {faults}."
        ) from None


def bert_language_model(architecture: str, norm: str = "LayerNorm") -> LanguageModelFormat:
    """The head of BERT under the names that it has there, `cls.predictions`."""
    return LanguageModelFormat(
        architecture=architecture,
        keys=KeyMap(
            [
                ("cls.predictions.transform.dense", "dense"),
                (f"cls.predictions.transform.{norm}", "norm"),
                ("cls.predictions.decoder", "output"),
            ],
            tensors=[("cls.predictions.bias", "output.bias")],
        ),
        from_hf=lambda config: {
            "activation": activation_of(config),
            "norm_eps": choice(config, "layer_norm_eps", 1e-12),
        },
    )


def roberta_language_model(architecture: str, norm_eps: float = 1e-12) -> LanguageModelFormat:
    """The head of RoBERTa under the names that it has there, `lm_head`; its activation is the exact GELU always.

    Args:
        norm_eps: the family's default.
    """
    return LanguageModelFormat(
        architecture=architecture,
        keys=KeyMap(
            [("lm_head.dense", "dense"), ("lm_head.layer_norm", "norm"), ("lm_head.decoder", "output")],
            tensors=[("lm_head.bias", "output.bias")],
        ),
        from_hf=lambda config: {"norm_eps": choice(config, "layer_norm_eps", norm_eps)},
    )
