"""The JSON schema of the whole configuration, as editors and `longdoc config explain` read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from longdoc.config import RunConfig

__all__ = ["KINDS", "editor_schema", "resolved", "variants"]

KINDS = "x-kinds"
"""Beside what may be one of several kinds: their words, any of which may stand alone."""


@cache
def editor_schema() -> dict[str, Any]:
    """JSON schema 2020-12 of a configuration file: types, bounds, defaults and words of every key.

    What may be of several kinds may also be said by the word of one, as in `merger: max`.
    """
    schema = RunConfig.model_json_schema()
    whole: dict[str, Any] = _with_words(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole, "title": "longdoc configuration"}


def _with_words(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_words(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _with_words(value) for key, value in node.items()}
    if "discriminator" not in made:
        return made
    kinds = list(made["discriminator"]["mapping"])
    about = {key: made.pop(key) for key in ("description", "default", "title") if key in made}
    return {**about, "anyOf": [{"enum": kinds}, made], KINDS: kinds}


def resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """A node with what it refers to, its own words before those of the referred one."""
    while "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        node = {**editor_schema()["$defs"][name], **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def variants(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All shapes that a value may have, unions taken apart."""
    whole = resolved(node)
    parts: Sequence[Mapping[str, Any]] = [*whole.get("anyOf", ()), *whole.get("oneOf", ())]
    if not parts:
        yield whole
    for part in parts:
        yield from variants(part)
