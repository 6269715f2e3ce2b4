"""Which paragraph styles of a Word document are headings, of which level, and which belong to a list.

A style's id is in the language of the Word that made it (`berschrift1`), its name of a built-in style is not (`heading
1`), and what decides is the outline level, its own or that of the style it is based on (ECMA-376 part 1, 17.7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longdoc.readers.docx_names import attribute, short_name

__all__ = ["BODY", "Style", "StylesPart", "outline_level"]

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
BODY = 10
"""The outline level of what is no heading."""


@dataclass
class Style:
    """What is known of a paragraph style; None where it says nothing.

    Attributes:
        outline: 1 for the highest level of headings.
        list_id, list_level: the list that its paragraphs belong to, and the level in it from 0.
    """

    name: str = ""
    based_on: str = ""
    outline: int | None = None
    list_id: str | None = None
    list_level: int | None = None


class StylesPart:
    """Takes the events of `styles.xml`."""

    def __init__(self) -> None:
        self._styles: dict[str, Style] = {}
        self._default = ""
        self._style = Style()
        self._known: dict[str, Style] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = short_name(tag)
        value = attribute(attributes, "w:val") or ""
        if name == "w:style":
            self._style = Style()
            if attribute(attributes, "w:type") in (None, "paragraph"):
                identity = attribute(attributes, "w:styleId") or ""
                self._styles[identity] = self._style
                if attribute(attributes, "w:default") in ("1", "true", "on"):
                    self._default = identity
        elif name == "w:name":
            self._style.name = value
        elif name == "w:basedOn":
            self._style.based_on = value
        elif name == "w:outlineLvl":
            self._style.outline = outline_level(value)
        elif name == "w:numId":
            self._style.list_id = value
        elif name == "w:ilvl":
            self._style.list_level = int(value) if value.isdecimal() else 0

    def end(self, tag: str) -> None:
        """Nothing ends that would have to be known."""

    def data(self, text: str) -> None:
        """No text of these parts is shown."""

    def of(self, identity: str | None) -> Style:
        """The style of a paragraph, with what it takes over from the styles it is based on."""
        identity = self._default if identity is None else identity
        found = self._known.get(identity)
        if found is None:
            found = self._known[identity] = self._resolved(identity)
        return found

    def _resolved(self, identity: str) -> Style:
        found = Style()
        if identity not in self._styles:
            named = _HEADING.fullmatch(identity)  # a document without its part of styles
            return Style(outline=int(named[1]) if named else None)
        chain: list[str] = []
        while identity in self._styles and identity not in chain:  # a chain may bite its tail
            chain.append(identity)
            style = self._styles[identity]
            named = _HEADING.fullmatch(style.name)
            outline = style.outline if style.outline is not None else int(named[1]) if named else None
            found.outline = outline if found.outline is None else found.outline
            found.list_id = style.list_id if found.list_id is None else found.list_id
            found.list_level = style.list_level if found.list_level is None else found.list_level
            identity = style.based_on
        return found


def outline_level(value: str) -> int:
    """0 -> 1, the highest level; 9 is body text, which is `BODY` here, more than any heading has."""
    return int(value) + 1 if value.isdecimal() and int(value) < BODY else BODY
