"""Entities of an XML document, replaced here and not by the parser: from the document itself, never from elsewhere.

What a document declares for itself is expanded as far as a bound. What it expects from a document type that is not
loaded, such as `&nbsp;` or `&eacute;`, has the meaning of HTML, which took those names from the same ISO sets.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Mapping

from longdoc.errors import DocumentError

__all__ = ["MOST_CHARACTERS", "Entities", "endless_entities"]

MOST_CHARACTERS = 1 << 20
"""Characters that all entities of a document may expand to."""
_DEEPEST = 16
_REFERENCE = re.compile(r"&(#x[0-9A-Fa-f]+|#[0-9]+|[\w.:-]+);")
_MARKUP = re.compile(r"<[^<>]*>")
_XML = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Entities:
    """The text of entities by name.

    Args:
        declared: what the document says of its own entities; None for one whose content lies elsewhere.
    """

    def __init__(self, declared: Mapping[str, str | None]) -> None:
        self.left_out = 0
        """Uses of entities whose content lies elsewhere or nowhere."""
        self._declared = declared
        self._expanded = 0

    def text(self, name: str, depth: int = 0) -> str:
        """What stands in the place of `&name;`, without markup.

        Raises `DocumentError("xml_forbidden")` where that is too much, or refers to itself.
        """
        if name in _XML:
            return _XML[name]
        content = self._declared.get(name)
        if content is None:
            known = None if name in self._declared else html.entities.html5.get(f"{name};")
            self.left_out += known is None
            return known or ""
        self._expanded += len(content)
        if self._expanded > MOST_CHARACTERS or depth > _DEEPEST:
            raise endless_entities()
        return _REFERENCE.sub(lambda found: self._referred(found[1], depth), _MARKUP.sub(" ", content))

    def _referred(self, name: str, depth: int) -> str:
        if not name.startswith("#"):
            return self.text(name, depth + 1)
        number = int(name[2:], 16) if name[1] == "x" else int(name[1:])
        return chr(number) if 0 < number < 0xD800 or 0xDFFF < number <= 0x10FFFF else ""


def endless_entities() -> DocumentError:
    """The failure of a document whose entities expand beyond measure, or refer to themselves."""
    return DocumentError("xml_forbidden", f"The entities of the XML expand to more than {MOST_CHARACTERS} characters.")
