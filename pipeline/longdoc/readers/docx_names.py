"""Names of WordprocessingML without the two sets of namespaces that Word writes (transitional and strict ISO 29500)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

__all__ = ["attribute", "is_off", "short_name"]

_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": "r",
    "http://purl.oclc.org/ooxml/officeDocument/relationships": "r",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a",
    "http://purl.oclc.org/ooxml/drawingml/main": "a",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_OFF = {"0", "false", "off"}


@lru_cache(maxsize=4096)
def short_name(tag: str) -> str:
    """`{http://...main}p` -> `w:p`; names of other namespaces get the prefix `x:`, names without one have none."""
    if not tag.startswith("{"):
        return tag
    namespace, _, name = tag[1:].partition("}")
    return f"{_PREFIXES.get(namespace, 'x')}:{name}"


def attribute(attributes: Mapping[str, str], name: str) -> str | None:
    """The value of an attribute such as `w:val`, in whichever of its namespaces."""
    for full, value in attributes.items():
        if short_name(full) == name:
            return value
    return None


def is_off(attributes: Mapping[str, str]) -> bool:
    """Whether a switch such as `w:vanish` is there only to say no."""
    return attribute(attributes, "w:val") in _OFF
