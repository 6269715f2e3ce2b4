"""`longdoc config`: what a configuration comes to, what its keys mean, and the schema that editors check it by."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from longdoc.cli.config.editor_schema import editor_schema, resolved
from longdoc.cli.config.key_words import describe_key
from longdoc.cli.config.origins import settings_with_origins, settings_yaml
from longdoc.config import RunConfig, load_config

Run = Callable[..., Result]
CONFIGS = sorted((Path(__file__).parents[3] / "configs").glob("*.yaml"))


def faults(value: Any, node: Mapping[str, Any]) -> Iterator[str]:
    """What a JSON schema has against a value: the part of draft 2020-12 that ours uses, written out."""
    if "$ref" in node:
        yield from faults(value, editor_schema()["$defs"][node["$ref"].rpartition("/")[2]])
    for word in ("anyOf", "oneOf"):
        if word in node and all(list(faults(value, each)) for each in node[word]):
            yield f"{value!r} fits none of {word}"
    if "enum" in node and value not in node["enum"]:
        yield f"{value!r} is none of {node['enum']}"
    if "const" in node and value != node["const"]:
        yield f"{value!r} is not {node['const']!r}"
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "array": list,
             "object": dict}  # fmt: skip
    if "type" in node and (not isinstance(value, kinds[node["type"]]) or (
        isinstance(value, bool) and node["type"] in ("integer", "number")
    )):  # fmt: skip
        yield f"{value!r} is no {node['type']}"
    elif isinstance(value, int | float):
        if value < node.get("minimum", value) or value > node.get("maximum", value):
            yield f"{value!r} is out of bounds"
        if value <= node.get("exclusiveMinimum", value - 1) or value >= node.get("exclusiveMaximum", value + 1):
            yield f"{value!r} is out of bounds"
    elif isinstance(value, list):
        for each in value:
            yield from faults(each, node.get("items", {}))
    elif isinstance(value, dict) and "properties" in node:
        for key, each in value.items():
            if key in node["properties"]:
                yield from faults(each, node["properties"][key])
            elif node.get("additionalProperties", True) is False:
                yield f"{key} is no key"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_editors_accept_what_loads(path: Path) -> None:
    assert list(faults(yaml.safe_load(path.read_text()), editor_schema())) == []


@pytest.mark.parametrize(
    "text",
    [
        "chunking: {sise: 3}",
        "training: {learning_rate: -1}",
        "model: {task: guess}",
        "model: {readout: {kind: vectors, merger: guess}}",
        "training: {num_train_epochs: true}",
    ],
)
def test_editors_refuse_what_does_not_load(text: str) -> None:
    assert list(faults(yaml.safe_load(text), editor_schema()))


def test_a_kind_may_be_said_by_its_word() -> None:
    for text in ("model: {readout: label_attention}", "model: {readout: {kind: vectors, merger: max}}"):
        assert list(faults(yaml.safe_load(text), editor_schema())) == []


def keys(model: type[Any], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        if isinstance(field.annotation, type) and hasattr(field.annotation, "model_fields"):
            yield from keys(field.annotation, f"{prefix}{name}.")


@pytest.mark.parametrize("key", list(keys(RunConfig)))
def test_every_key_is_explained(key: str) -> None:
    """The words are the docstring of the field: a key without one would be a riddle."""
    described = describe_key(key)
    assert described["type"]
    assert described["words"] or described["keys"], key
    assert "None" not in json.dumps(described), "a file says null"


def test_the_schema_is_whole() -> None:
    """Nothing refers to what is not there."""
    names = set(re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(editor_schema())))
    assert names <= set(editor_schema()["$defs"])
    assert resolved({"$ref": "#/$defs/ChunkingConfig", "description": "mine"})["description"] == "mine"


def test_explaining_a_number(run: Run) -> None:
    assert run("config", "explain", "training.warmup_ratio").output == (
        "training.warmup_ratio\n"
        "  type     a number\n"
        "  default  0.1\n"
        "  bounds   at least 0, at most 1\n"
        "  used by  longdoc train, longdoc compare\n"
        "\n"
        "  Share of the steps during which the learning rate rises from zero.\n"
    )


def test_explaining_names_every_command_that_reads(run: Run) -> None:
    commands = json.loads(run("config", "explain", "read.fields", "--json").output)["commands"]
    assert commands == ["train", "train --pretrain", "predict", "evaluate", "explain", "compare", "embed",
                        "inspect lengths", "inspect chunks"]  # fmt: skip


def test_explaining_what_has_several_kinds_names_all_of_them(run: Run) -> None:
    described = json.loads(run("config", "explain", "model.readout.merger", "--json").output)
    assert {"max", "attention", "noisy_or", "logsumexp"} <= set(described["kinds"])
    assert described["keys"]["attention"] == {"hidden": "Width of the layer that scores chunks"}
    lines = run("config", "explain", "model.readout.merger").output.splitlines()
    assert any("sharpness" in line for line in lines)
    about = "A document says so if any chunk says so, each chunk being one independent chance"
    assert f"  noisy_or                       {about}" in lines
    assert set(described["kind_words"]) == set(described["kinds"])
    assert all(described["kind_words"].values()), "a kind without a word is a riddle"
    assert "one of the kinds" in described["type"]


def test_an_unknown_key_is_told_the_nearest(run: Run) -> None:
    said = "longdoc: `chunking.sise` is not a configuration key. Did you mean `chunking.size`?\n"
    assert run("config", "explain", "chunking.sise", expect=2).output == said
    assert run("config", "show", "chunking.sise", expect=2).output == said


def test_showing_says_where_each_value_came_from(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("chunking: {size: 256, overlap: 32}\ntraining: {seed: 3}\n")
    shown = run("config", "show", "chunking", "training.seed", "--config", tmp_path / "mine.yaml",
                "--set", "chunking.overlap=64", "--set", "training.seed=4", "--set", "training.seed=5")  # fmt: skip
    lines = shown.output.splitlines()
    assert "  size: 256  # mine.yaml" in lines
    assert "  overlap: 64  # --set chunking.overlap" in lines
    assert "  seed: 5  # --set training.seed" in lines
    assert '  keep: "all"' in lines
    assert yaml.safe_load(shown.output)["training"] == {"seed": 5}
    changed = run(
        "config", "show", "--changed", "--json", "--config", tmp_path / "mine.yaml", "--set", "model.task=spans"
    )
    assert json.loads(changed.output) == [
        {"key": "model.task", "value": "spans", "origin": "--set model.task"},
        {"key": "chunking.size", "value": 256, "origin": "mine.yaml"},
        {"key": "chunking.overlap", "value": 32, "origin": "mine.yaml"},
        {"key": "training.seed", "value": 3, "origin": "mine.yaml"},
    ]
    assert run("config", "show", "--changed").output == "# everything is at its default\n"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_what_is_shown_gives_the_same_again(path: Path, tmp_path: Path) -> None:
    config = load_config(path)
    (tmp_path / "again.yaml").write_text(settings_yaml(settings_with_origins(config, path.name, ())))
    assert load_config(tmp_path / "again.yaml") == config


def test_the_schema_is_json_on_standard_output(run: Run) -> None:
    schema = json.loads(run("config", "schema").output)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(RunConfig.model_fields)
