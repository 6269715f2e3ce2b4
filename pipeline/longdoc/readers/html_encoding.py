"""Which encoding a web page says it is in, and which one it is.

A byte-order mark decides, then UTF-8 if the bytes are valid: pages declare Latin-1 and are UTF-8 more often than a page
in another encoding happens to be valid UTF-8. Only then the declaration counts, with the meaning that browsers give it
(https://encoding.spec.whatwg.org/#names-and-labels), then what the user names, then a sure guess.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers.encoding import decode_document

__all__ = ["decode_page", "python_name"]

_LOOKED_AT = 4096  # browsers look at 1024 bytes; some pages begin with comments
_XML = re.compile(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)")
_META = re.compile(rb"<meta\b[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_MEANT = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **{"big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949"},
    **{"iso8859-9": "cp1254", "tis-620": "cp874", "iso8859-11": "cp874"},
}


def decode_page(data: bytes, given: str | None) -> tuple[str, dict[str, Any]]:
    """The text of a page with its markup, and facts for `meta`.

    Raises `DocumentError("decode_error")` where no encoding fits.
    """
    declared = _declared(data[:_LOOKED_AT])
    name = None if declared is None else python_name(declared)
    for candidate, source in ((name, "declared"), (given, "given")):
        if candidate is None:
            continue
        try:
            text, encoding = decode_document(data, candidate)
        except DocumentError:
            continue  # the declaration is a lie
        if encoding.source == "given":
            facts = encoding.facts | {"encoding_source": source}
        else:
            facts = encoding.facts
        break
    else:
        text, encoding = decode_document(data, None)
        facts = encoding.facts
    if name is not None and name != facts["encoding"]:
        facts["declared_encoding"] = name
    return text, facts


def _declared(head: bytes) -> str | None:
    found = _XML.match(head) or _META.search(head)
    return None if found is None else found[1].decode("ascii")


def python_name(label: str) -> str | None:
    """Python's name of what a label means to a browser; None for labels that mean nothing."""
    label = {"x-sjis": "shift_jis", "windows-949": "cp949", "windows-874": "cp874"}.get(label.lower(), label)
    try:
        name = codecs.lookup(label).name
        "".encode(name)
    except LookupError:
        return None
    if name.startswith(("utf-16", "utf-32", "utf-7", "utf-8")):  # the bytes of the declaration themselves are ASCII
        return "utf-8"
    return _MEANT.get(name, name)
