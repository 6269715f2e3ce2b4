"""What a family of checkpoints is: how its configuration and its tensor names read in our terms, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from longdoc.checkpoints.keymap import KeyMap
from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig
from longdoc.nn.layers import Activation

__all__ = ["ACTIVATION_FROM_HF", "ACTIVATION_TO_HF", "Family", "encoder_config"]

ACTIVATION_FROM_HF: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
"""transformers' names of activations -> ours."""

ACTIVATION_TO_HF: dict[Activation, str] = {
    "gelu": "gelu",
    "gelu_tanh": "gelu_pytorch_tanh",
    "relu": "relu",
    "silu": "silu",
    "tanh": "tanh",
}


@dataclass(frozen=True)
class Family:
    """One family of checkpoints. Names are those of the model with a head, its base under a prefix (`bert.`).

    Attributes:
        model_type: as in `config.json`.
        base_class, classifier_class: transformers' names of the model without and with a classification head.
        config_from_hf: `config.json` -> our configuration.
        config_to_hf: our configuration -> the keys of `config.json`; only for what `config_from_hf` gives.
        keys: names of the encoder's tensors.
        head_kind: kind of the classification head in `longdoc.nn.heads`.
        head_keys: names of the readout's tensors where it has that head.
        fix_name: old and short spellings of a name -> the full one.
        ignored: beginnings of names that belong to no encoder: other heads, tables that are computed.
        carried: beginnings of names that the encoder does not use but that are kept and saved again.
    """

    model_type: str
    base_class: str
    classifier_class: str
    config_from_hf: Callable[[Mapping[str, Any]], EncoderConfig]
    config_to_hf: Callable[[EncoderConfig], dict[str, Any]]
    keys: KeyMap
    head_kind: str
    head_keys: KeyMap
    fix_name: Callable[[str], str]
    ignored: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()

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


def encoder_config(**fields: Any) -> EncoderConfig:
    """An `EncoderConfig` from what a file says.

    Raises:
        CheckpointError: names the fields whose values are impossible.
    """
    try:
        return EncoderConfig(**fields)
    except ValidationError as error:
        faults = "; ".join(
            f"`{'.'.join(map(str, fault['loc'])) or 'configuration'}`: {_sentence(fault['msg'])}"
            for fault in error.errors(include_input=False, include_url=False, include_context=False)
        )
        raise CheckpointError(f"`config.json` must describe an encoder, but does not: {faults}.") from None


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ").removesuffix(".")
