"""E-mails as files (.eml): the text that their reader sees; who wrote it and when is in `meta`.

Of alternatives the plain text counts, else the web page. Messages inside a message are read with the lines of their
heads; attachments are not opened, `meta` lists their types. Line ends, CRLF on the way, are LF. Format: RFC 5322, 2045.
"""

from __future__ import annotations

import email.policy
from collections.abc import Mapping
from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers.blocks import LINE, BlockText
from longdoc.readers.document_settings import EmailConfig, HtmlConfig
from longdoc.readers.encoding import decode_document, repair_surrogates
from longdoc.readers.formatted import FormattedReader
from longdoc.readers.html import PageText
from longdoc.readers.html_encoding import decode_page, python_name
from longdoc.readers.parsed import ParsedDocument

__all__ = ["EMAIL", "parse"]

_HEADS = ("Subject", "From", "To", "Cc", "Date")
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_LONGEST_HEAD = 10_000


def parse(data: bytes, settings: Mapping[str, Any]) -> ParsedDocument:
    """The text of an e-mail; `settings` are those of `EmailConfig` and the `encoding` that the user names, if any.

    Raises `DocumentError`: `encrypted`, `decode_error` for a body that fits no encoding, `unreadable` for a file
    without the head of a message or nested beyond measure.
    """
    options = dict(settings)
    given = options.pop("encoding", None)
    config = EmailConfig(**options)
    reader = _MessageText(given)
    try:
        message: Message = BytesParser(policy=email.policy.default).parsebytes(data)
        if not any(name in message for name in (*_HEADS, "Content-Type", "Received", "Message-ID")):
            raise DocumentError("unreadable", "The file does not begin with the head of an e-mail.")
        if config.headers:
            reader.write_heads(message)
        reader.write_body(message)
    except RecursionError:
        too_deep = True
    else:
        too_deep = False
    if too_deep:
        raise DocumentError("unreadable", "The parts of the e-mail are nested too deeply.")
    if reader.encrypted and not len(reader.blocks):
        raise DocumentError("encrypted", "The e-mail is encrypted. Save it decrypted.")
    remarks: dict[str, Any] = {name.lower(): value for name in _HEADS if (value := _head(message, name))}
    if reader.attachments:
        remarks["attachments"] = sorted(reader.attachments)
    defects = sorted({type(defect).__name__ for part in message.walk() for defect in part.defects})
    if defects:
        remarks["defects"] = defects
    return ParsedDocument(reader.blocks.text, sections=reader.blocks.sections, remarks=remarks | reader.facts)


class _MessageText:
    """Collects the text of a message; `facts` say how its last part of text was decoded."""

    def __init__(self, given: str | None) -> None:
        self.blocks = BlockText()
        self.attachments: list[str] = []
        self.encrypted = False
        self.facts: dict[str, Any] = {}
        self._given = given

    def write_heads(self, message: Message) -> None:
        self.blocks.block()
        for name in _HEADS:
            value = _head(message, name)
            if value:
                self.blocks.block(LINE)
                self.blocks.verbatim(f"{name}: {value}")
        self.blocks.block()

    def write_body(self, part: Message) -> None:
        kind = part.get_content_type()
        if kind in _ENCRYPTED:
            self.encrypted = True
        if kind == "message/rfc822":
            for message in _parts(part):
                self.write_heads(message)
                self.write_body(message)
        elif kind == "multipart/alternative":
            self._take(self._chosen(_parts(part)))
        elif part.is_multipart():
            for inner in _parts(part):
                self.write_body(inner)
        elif kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment":
            self._write_text(part, kind)
        else:
            self.attachments.append(kind)

    def _chosen(self, parts: list[Message]) -> _MessageText:
        """The first that has text, in the order plain, web page, whatever else."""
        order = {"text/plain": 0, "text/html": 1}
        fault = None
        chosen = None
        for part in sorted(parts, key=lambda part: order.get(part.get_content_type(), 2)):
            trial = _MessageText(self._given)
            try:
                trial.write_body(part)
            except DocumentError as error:
                fault = fault or error
                continue
            if trial.blocks.text.strip():
                return trial
            chosen = chosen or trial
        if fault is not None:
            raise fault
        return chosen or _MessageText(self._given)

    def _take(self, other: _MessageText) -> None:
        self.blocks.join(other.blocks)
        self.blocks.block()
        self.attachments += other.attachments
        self.encrypted = self.encrypted or other.encrypted
        self.facts = other.facts or self.facts

    def _write_text(self, part: Message, kind: str) -> None:
        payload = part.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
        charset = part.get_content_charset()
        declared = None if charset is None else python_name(charset)
        self.blocks.block()
        if kind == "text/html":
            markup, self.facts = decode_page(data, declared or self._given)
            if declared is not None and self.facts["encoding_source"] == "given":
                self.facts["encoding_source"] = "declared"
            page = PageText(HtmlConfig())
            page.read(markup)
            self.blocks.join(page.blocks)
        else:
            text, self.facts = _decoded(data, declared, self._given)
            text, _ = repair_surrogates(text)
            self.blocks.verbatim(text.replace("\r\n", "\n").replace("\r", "\n").strip("\n"))
        self.blocks.block()


def _decoded(data: bytes, declared: str | None, given: str | None) -> tuple[str, dict[str, Any]]:
    """The text of a part: what it declares counts where it fits, since programs that lose the bytes keep the head."""
    if declared is not None:
        try:
            text, encoding = decode_document(data, declared)
        except DocumentError:
            pass
        else:
            source = "declared" if encoding.source == "given" else encoding.source
            return text, encoding.facts | {"encoding_source": source}
    text, encoding = decode_document(data, given)
    return text, encoding.facts


def _parts(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [inner for inner in payload if isinstance(inner, Message)] if isinstance(payload, list) else []


def _head(message: Message, name: str) -> str:
    """A line of the head, decoded and in one line; as it stands where the library cannot make sense of it."""
    try:
        value = message[name]
        if value is None:
            return ""
        if name == "Date":
            return parsedate_to_datetime(str(value)).isoformat()
    except Exception:  # of a head made to confuse it, the library raises whatever it stumbles over
        values = [raw for key, raw in message.raw_items() if key.lower() == name.lower()]
        value = values[0] if values else ""
    text, _ = repair_surrogates(" ".join(str(value).split()))
    return text[:_LONGEST_HEAD]


EMAIL = FormattedReader("e-mail", (".eml", ".eml.gz"), parse, lambda settings: settings.eml)
"""Reads e-mails."""
