"""Every readout with every merger that it takes, on the tiny pipeline: for suites that need whole documents."""

from __future__ import annotations

import copy
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from longdoc.model import LongDocModel
from longdoc.nn.readout import ReadoutConfig, ReadoutKind
from longdoc.pipeline import Pipeline
from nn_kit import randomised

_SMALL: dict[str, dict[str, Any]] = {"hierarchical": {"hidden": 16, "heads": 2, "layers": 1}}


def every_readout_config() -> list[dict[str, Any]]:
    """Default pooling and head; each merger of each kind that scores documents as a whole."""
    configs: list[dict[str, Any]] = []
    for kind in get_args(ReadoutKind):
        if kind.scored != "documents":
            continue
        name = kind.model_fields["kind"].default
        if "merger" not in kind.model_fields:
            configs.append({"kind": name})
            continue
        for merger in get_args(kind.model_fields["merger"].annotation):
            word = merger.model_fields["kind"].default
            configs.append({"kind": name, "merger": {"kind": word} | _SMALL.get(word, {})})
    return configs


def name_of(config: dict[str, Any]) -> str:
    return "-".join([config["kind"], *([config["merger"]["kind"]] if "merger" in config else [])])


EVERY = every_readout_config()
every_readout = pytest.mark.parametrize("config", EVERY, ids=[name_of(config) for config in EVERY])


def pipeline_with(tiny: Pipeline, config: dict[str, Any], std: float = 0.3, **settings: Any) -> Pipeline:
    """The tiny pipeline's encoder and tokenizer with another readout, whose weights are loud enough to be seen."""
    readout_config = TypeAdapter(ReadoutConfig).validate_python(config)
    width, classes = tiny.model.encoder.config.width, len(tiny.labels)
    readout = randomised(readout_config.build(width, classes), 7, std)
    chosen = tiny.settings.model_copy(update={"readout": readout_config, **settings})
    return Pipeline(LongDocModel(copy.deepcopy(tiny.model.encoder), readout), chosen, tiny.tokenizer, tiny.prediction)
