"""Formulas of Word as one line: what is drawn around the characters (ECMA-376 part 1, 22.1) becomes characters."""

from __future__ import annotations

from longdoc.readers.docx_names import attribute

__all__ = ["MathSigns"]

_BEFORE = {"m:den": "/", "m:sup": "^", "m:sub": "_", "m:rad": "√"}


class MathSigns:
    """Told of the elements of formulas, it says which signs stand in between."""

    def __init__(self) -> None:
        self._brackets: list[list[str]] = []  # of the open `m:d`: before, after, between; the parts so far as a tail
        self._path: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> str:
        """What is drawn before the content of the element."""
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        value = attribute(attributes, "m:val")
        if name == "m:d":
            self._brackets.append(["(", ")", "|", ""])
        elif self._brackets and name in ("m:begChr", "m:endChr", "m:sepChr"):
            self._brackets[-1][("m:begChr", "m:endChr", "m:sepChr").index(name)] = value or ""
        elif name == "m:e" and parent == "m:d":
            brackets = self._brackets[-1]
            sign = brackets[2] if brackets[3] else brackets[0]
            brackets[3] = "begun"
            return sign
        elif name == "m:chr" and parent == "m:naryPr":
            return value or ""
        return _BEFORE.get(name, "")

    def end(self, name: str) -> str:
        """What is drawn after the content of the element."""
        self._path.pop()
        if name == "m:d":
            brackets = self._brackets.pop()
            return brackets[1] if brackets[3] else ""
        return ""
