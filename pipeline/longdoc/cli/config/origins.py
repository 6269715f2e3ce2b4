"""Each value of a resolved configuration, and where it came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

__all__ = ["Setting", "settings_with_origins", "settings_yaml"]


class Setting(NamedTuple):
    """A dotted key, its value as in JSON, and its origin: `default`, the name of the file, or the `--set` that won."""

    key: str
    value: Any
    origin: str


def settings_with_origins(config: BaseModel, file: str | None, overrides: Sequence[str]) -> list[Setting]:
    """All values of a configuration in its order.

    Args:
        file: the name of the file that was read, or None.
        overrides: the `--set` options, in order; the last that touches a key wins.
    """
    keys = [override.partition("=")[0].strip() for override in overrides]
    return [
        Setting(key, value, _origin(key, given, file, keys)) for key, value, given in _leaves(config, "", True)
    ]  # fmt: skip


def settings_yaml(settings: Sequence[Setting]) -> str:
    """YAML with the origin of every value beside it that is not a default; a file of it gives the same again."""
    lines, before = [], ()  # type: list[str], tuple[str, ...]
    for setting in settings:
        *above, name = setting.key.split(".")
        for depth, section in enumerate(above):
            if tuple(above[: depth + 1]) != before[: depth + 1]:
                lines.append(f"{'  ' * depth}{section}:")
        before = tuple(above)
        # JSON is YAML, on one line, and never mistaken for another type.
        origin = "" if setting.origin == "default" else f"  # {setting.origin}"
        lines.append(f"{'  ' * len(above)}{name}: {json.dumps(setting.value, ensure_ascii=False)}{origin}")
    return "\n".join(lines) + "\n"


def _leaves(section: BaseModel, prefix: str, given: bool) -> Iterator[tuple[str, Any, bool]]:
    """Key, value, and whether somebody set it."""
    plain = section.model_dump(mode="json")
    for name in type(section).model_fields:
        value, here = getattr(section, name), given and name in section.model_fields_set
        if isinstance(value, BaseModel) and type(value).model_fields:
            yield from _leaves(value, f"{prefix}{name}.", here)
        else:
            yield f"{prefix}{name}", plain[name], here


def _origin(key: str, given: bool, file: str | None, overrides: Sequence[str]) -> str:
    if not given:
        return "default"
    touching = [each for each in overrides if key == each or key.startswith(f"{each}.") or each.startswith(f"{key}.")]
    if touching:
        return f"--set {touching[-1]}"
    return file if file is not None else "default"
