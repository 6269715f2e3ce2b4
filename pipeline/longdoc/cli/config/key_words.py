"""One key of the configuration in words: type, default, bounds, what it means, and which commands look at it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any

from longdoc.cli.config.editor_schema import KINDS, editor_schema, resolved, variants
from longdoc.config import load_config
from longdoc.errors import ConfigurationError

__all__ = ["describe_key", "key_text"]

_TYPES = {"string": "a string", "number": "a number", "integer": "a whole number", "boolean": "true or false",
          "null": "null", "object": "keys of its own"}  # fmt: skip
_BOUNDS = (("minimum", "at least"), ("exclusiveMinimum", "more than"), ("maximum", "at most"),
           ("exclusiveMaximum", "less than"), ("minItems", "at least so many entries:"))  # fmt: skip


_NONE = re.compile(r"\bNone\b")


def describe_key(key: str) -> dict[str, Any]:
    """A dotted key as plain values.

    Returns:
        `key`, `type`, `default` (absent where there is none to name), `bounds`, `words`, `kinds`, `keys` (those below
        it, each with the first sentence of its words; of several kinds each under its own), `kind_words` (the first
        sentence about each kind). Words say null, as a file does, where Python says None.

    Raises:
        ConfigurationError: there is no such key; the nearest right one is named.
    """
    nodes: list[Mapping[str, Any]] = [editor_schema()]
    for step in key.split("."):
        shapes = [shape for node in nodes for shape in _shapes(node)]
        found = [shape["properties"][step] for shape in shapes if step in shape.get("properties", {})]
        if not found:
            load_config(overrides=[f"{key}=null"])  # says what is wrong with it, and what would be right
            raise ConfigurationError(f"`{key}` is not a configuration key.")
        nodes = found
    node = resolved(nodes[0])
    shapes = [shape for each in nodes for shape in variants(each)]
    kinds = list(dict.fromkeys(kind for each in nodes for kind in resolved(each).get(KINDS, ())))
    described = {
        "key": key,
        "type": _type(shapes, kinds),
        "bounds": _bounds(shapes),
        "words": _words(node),
        "kinds": kinds,
        "kind_words": {_kind(shape): _first_sentence(shape) for shape in shapes if _kind(shape)},
        "keys": _below(shapes),
    }
    if "default" in node:
        described["default"] = node["default"]
    return described


def key_text(described: Mapping[str, Any], commands: Sequence[str]) -> str:
    """The same for people.

    Args:
        commands: that look at the key's section.
    """
    lines = [described["key"], f"  type     {described['type']}"]
    if "default" in described and not described["keys"]:
        lines.append(f"  default  {json.dumps(described['default'], ensure_ascii=False)}")
    if described["bounds"]:
        lines.append(f"  bounds   {', '.join(described['bounds'])}")
    lines.append(f"  used by  {', '.join(f'longdoc {command}' for command in commands) or 'no command'}")
    if described["words"]:
        lines += ["", indent(described["words"], "  ")]
    for kind, keys in described["keys"].items():
        about = described["kind_words"].get(kind, "")
        lines += ["", f"  {kind:<30} {about}".rstrip() if kind else "  keys"]
        lines += [f"    {name:<28} {words}" for name, words in keys.items()]
    return "\n".join(lines)


def _shapes(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Where a key may be looked for: entries of lists, too."""
    found = list(variants(node))
    return found + [shape for each in found if "items" in each for shape in variants(each["items"])]


def _type(shapes: Sequence[Mapping[str, Any]], kinds: Sequence[str] | None) -> str:
    if kinds:
        nothing = " or null" if any(shape.get("type") == "null" for shape in shapes) else ""
        return f"one of the kinds {', '.join(kinds)}{nothing}"
    return " or ".join(dict.fromkeys(map(_one_type, shapes)))


def _one_type(shape: Mapping[str, Any]) -> str:
    if "enum" in shape:
        return f"one of {', '.join(map(str, shape['enum']))}"
    if "const" in shape:
        return str(shape["const"])
    if shape.get("type") == "array":
        return f"a list, each {_type(list(variants(shape['items'])), None)}" if "items" in shape else "a list"
    return _TYPES.get(str(shape.get("type")), "any value")


def _bounds(shapes: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{words} {shape[name]:g}" for shape in shapes for name, words in _BOUNDS if name in shape]


def _below(shapes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Keys of a section, by its kind; an empty word where it has none."""
    found: dict[str, dict[str, str]] = {}
    for shape in shapes:
        fields = dict(shape.get("properties", {}))
        if not fields:
            continue
        kind = _kind(shape)
        fields.pop("kind", None)
        found[kind] = {name: _first_sentence(resolved(field)) for name, field in fields.items()}
    return found


def _kind(shape: Mapping[str, Any]) -> str:
    """The word of one of several kinds; empty where a shape is none."""
    return str(resolved(shape.get("properties", {}).get("kind", {})).get("const", ""))


def _first_sentence(node: Mapping[str, Any]) -> str:
    return _words(node).split(". ")[0].rstrip(". ")


def _words(node: Mapping[str, Any]) -> str:
    return _NONE.sub("null", " ".join(str(node.get("description", "")).split()))
