"""Word documents written by hand, part by part, for tests of the reader."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

__all__ = ["STRICT", "TRANSITIONAL", "docx", "paragraph", "part", "run"]

TRANSITIONAL = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NAMESPACES = (
    f'xmlns:r="{_RELATIONS}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
_RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"


def part(root: str, content: str, namespace: str = TRANSITIONAL) -> str:
    """A part with the outermost element `root`, such as `styles`."""
    return f'<?xml version="1.0"?><w:{root} xmlns:w="{namespace}" {_NAMESPACES}>{content}</w:{root}>'


def docx(body: str, parts: Mapping[str, str] | None = None, namespace: str = TRANSITIONAL, title: str = "") -> bytes:
    """A document with this body and further parts such as `styles` or `header1`, whose names are their ids too."""
    parts = dict(parts or {})
    document = part("document", f"<w:body>{body}</w:body>", namespace)
    kinds = {name: name.rstrip("0123456789") for name in parts}
    links = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/{kind}" Target="{name}.xml"/>' for name, kind in kinds.items()
    )
    core = (
        f'<Relationship Id="c" Type="{_RELATIONSHIPS}/metadata/core-properties" Target="docProps/core.xml"/>'
        if title
        else ""
    )
    root = f'<Relationship Id="d" Type="{_RELATIONS}/officeDocument" Target="/word/document.xml"/>{core}'
    files = {
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONSHIPS}">{root}</Relationships>',
        "word/document.xml": document,
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELATIONSHIPS}">{links}</Relationships>',
        **{f"word/{name}.xml": content for name, content in parts.items()},
    }
    if title:
        files["docProps/core.xml"] = (
            f'<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>me</dc:creator><dc:title>{title}</dc:title></p>'
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(content: str, properties: str = "") -> str:
    """A paragraph; content without markup is one run of text."""
    return (
        f"<w:p><w:pPr>{properties}</w:pPr>{content if content.startswith('<') or not content else run(content)}</w:p>"
    )
