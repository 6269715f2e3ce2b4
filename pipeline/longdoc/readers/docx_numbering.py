"""The numbers and bullets that Word draws before paragraphs of lists: they are counted, not written, in the document.

ECMA-376 part 1, 17.9. A list (`num`) is an instance of a definition (`abstractNum`) of nine levels; all instances of
one definition count on together unless an instance begins anew (`startOverride`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from longdoc.readers.docx_names import attribute, is_off, short_name
from longdoc.readers.list_counts import COUNTS

__all__ = ["LEVELS", "Numbering", "NumberingPart"]

LEVELS = 9
_PLACE = re.compile(r"%([1-9])")


@dataclass
class _Level:
    start: int = 1
    format: str = "decimal"
    text: str = ""
    joiner: str = " "
    legal: bool = False
    restart: int | None = None
    style: str = ""


@dataclass
class _Definition:
    levels: dict[int, _Level] = field(default_factory=dict)
    link: str = ""
    style: str = ""


@dataclass
class _Instance:
    definition: str = ""
    starts: dict[int, int] = field(default_factory=dict)
    levels: dict[int, _Level] = field(default_factory=dict)


class NumberingPart:
    """Takes the events of `numbering.xml`."""

    def __init__(self) -> None:
        self.definitions: dict[str, _Definition] = {}
        self.instances: dict[str, _Instance] = {}
        self._definition = _Definition()
        self._instance: _Instance | None = None
        self._level = _Level()
        self._override = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = short_name(tag)
        value = attribute(attributes, "w:val") or ""
        if name == "w:abstractNum":
            self._definition = _Definition()
            self.definitions[attribute(attributes, "w:abstractNumId") or ""] = self._definition
            self._instance = None
        elif name == "w:num":
            self._instance = _Instance()
            self.instances[attribute(attributes, "w:numId") or ""] = self._instance
        elif name == "w:abstractNumId" and self._instance is not None:
            self._instance.definition = value
        elif name == "w:lvlOverride":
            self._override = _number(attribute(attributes, "w:ilvl"), 0)
        elif name == "w:startOverride" and self._instance is not None:
            self._instance.starts[self._override] = _number(value, 1)
        elif name == "w:lvl":
            self._level = _Level()
            levels = self._definition.levels if self._instance is None else self._instance.levels
            levels[_number(attribute(attributes, "w:ilvl"), 0)] = self._level
        elif name == "w:numStyleLink":
            self._definition.link = value
        elif name == "w:styleLink":
            self._definition.style = value
        elif name == "w:start":
            self._level.start = _number(value, 1)
        elif name == "w:numFmt":
            self._level.format = value
        elif name == "w:lvlText":
            self._level.text = value
        elif name == "w:suff":
            self._level.joiner = "" if value == "nothing" else " "
        elif name == "w:isLgl":
            self._level.legal = not is_off(attributes)
        elif name == "w:lvlRestart":
            self._level.restart = _number(value, 0)
        elif name == "w:pStyle":
            self._level.style = value

    def end(self, tag: str) -> None:
        """Nothing ends that would have to be known."""

    def data(self, text: str) -> None:
        """No text of these parts is shown."""


class Numbering:
    """Counts the paragraphs of all lists, in the order of the document."""

    def __init__(self, part: NumberingPart) -> None:
        self._part = part
        self._styled = {definition.style: name for name, definition in part.definitions.items() if definition.style}
        self._counters: dict[str, list[int | None]] = {}
        self._begun: set[tuple[str, int]] = set()

    def level_of_style(self, instance: str, style: str) -> int | None:
        """The level of a list whose paragraphs have this style: lists of headings say so instead of the paragraph."""
        levels = self._levels(instance)
        return next((number for number, level in levels.items() if style and level.style == style), None)

    def label(self, instance: str, number: int) -> str:
        """What stands before the next paragraph on level `number` (from 0) of a list, with what separates it.

        Empty for lists that do not exist and levels without a number.
        """
        levels = self._levels(instance)
        level = levels.get(number)
        if level is None or not 0 <= number < LEVELS:
            return ""
        listed = self._part.instances[instance]
        counters = self._counters.setdefault(self._definition(instance), [None] * LEVELS)
        count = counters[number]
        if number in listed.starts and (instance, number) not in self._begun:
            self._begun.add((instance, number))
            count = None
        start = listed.starts.get(number, level.start)
        counters[number] = start if count is None else count + 1
        for deeper in range(number + 1, LEVELS):
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or (restart > 0 and number < restart):
                counters[deeper] = None
        if level.format == "bullet":
            shown = level.text if level.text and not "\ue000" <= level.text[0] <= "\uf8ff" else "•"
        elif level.format == "none":
            shown = _PLACE.sub("", level.text)
        else:
            shown = _PLACE.sub(lambda place: self._shown(levels, counters, int(place[1]) - 1, level.legal), level.text)
        return shown + level.joiner if shown.strip() else ""

    def _shown(self, levels: dict[int, _Level], counters: list[int | None], number: int, legal: bool) -> str:
        level = levels.get(number, _Level())
        count = counters[number]
        value = level.start if count is None else count
        return str(value) if legal else COUNTS.get(level.format, str)(value)

    def _definition(self, instance: str) -> str:
        listed = self._part.instances.get(instance)
        name = listed.definition if listed is not None else ""
        definition = self._part.definitions.get(name)
        if definition is not None and definition.link and not definition.levels:
            return self._styled.get(definition.link, name)
        return name

    def _levels(self, instance: str) -> dict[int, _Level]:
        definition = self._part.definitions.get(self._definition(instance))
        if definition is None:
            return {}
        return definition.levels | self._part.instances[instance].levels


def _number(value: str | None, otherwise: int) -> int:
    try:
        return int(value or "")
    except ValueError:
        return otherwise
