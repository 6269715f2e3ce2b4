"""From bytes to text: valid UTF-8, else a byte-order mark, else the encoding that the user names, else a sure guess.

The text is never changed: no newline translation, no normalisation. Two exceptions: a byte-order mark is no part of
the text, and lone surrogates, which no UTF-8 file and no tokenizer can hold, become U+FFFD one for one.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

from longdoc.errors import DocumentError
from longdoc.readers.guessing import guess_encoding

__all__ = [
    "SAMPLE_BYTES",
    "UTF8",
    "Encoding",
    "decode_document",
    "decode_long_utf8",
    "refuse_binary",
    "repair_surrogates",
    "stream_encoding",
]

SAMPLE_BYTES = 1 << 18
"""How much of a file is looked at to find its encoding."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_WAY_OUT = "Set `read.encoding`, for example to `cp1252`, if you know it."


@dataclass(frozen=True, slots=True)
class Encoding:
    """How bytes become text, and how that was found out.

    Attributes:
        name: Python's name.
        source: `strict` (it is valid UTF-8), `bom`, `given` (by the user) or `guessed`.
        mark: length of the byte-order mark in bytes.
    """

    name: str
    source: Literal["strict", "bom", "given", "guessed"] = "strict"
    mark: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        """What a document's `meta` says about it."""
        return {"encoding": self.name, "encoding_source": self.source}


UTF8 = Encoding("utf-8")


def decode_document(data: bytes, given: str | None) -> tuple[str, Encoding]:
    """The text of a whole file. Raises `DocumentError("decode_error")` naming the first byte that does not fit."""
    encoding = _declared(data, given)
    if encoding is None:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            encoding = _other_than_utf8(data, error.start, given)
        else:
            refuse_binary(text)
            return text, UTF8
    wide = encoding.name.startswith(("utf-16", "utf-32"))
    try:
        text = data[encoding.mark :].decode(encoding.name, "surrogatepass" if wide else "strict")
    except UnicodeDecodeError as error:
        raise DocumentError(
            "decode_error",
            f"Byte {error.start + encoding.mark} does not fit {encoding.name} ({encoding.source}). {_WAY_OUT}",
        ) from None
    if encoding.source != "bom":
        refuse_binary(text)
    return text, encoding


def decode_long_utf8(stream: BinaryIO, given: str | None) -> str | None:
    """The text of a file whose bytes need not be held beside it; None where it is not plainly UTF-8.

    Same text as `decode_document`. Memory: the text as Python holds it (a byte a character where all are ASCII, two
    where one is a dash or a curly quote), and a megabyte.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    sample = stream.read(SAMPLE_BYTES)
    if _declared(sample, given) is not None:
        return None
    try:
        text = decoder.decode(sample)
        # The text grows in place: its only name is a local one, and Python 3.11 sees that in a `for` loop alone.
        for piece in iter(lambda: stream.read(1 << 20), b""):
            text += decoder.decode(piece)
        decoder.decode(b"", final=True)  # nothing is left but half a character, which raises
    except UnicodeDecodeError:
        return None
    refuse_binary(text)
    return text


def stream_encoding(sample: bytes, at_end: bool, given: str | None, guess: bool = True) -> Encoding | None:
    """The encoding of a file of which `sample` is the beginning (all of it if `at_end`).

    None where only the rest of the file can tell: the sample is valid UTF-8, but `given` names another encoding.
    Without a sure guess the answer is UTF-8, so that lines that are not valid fail one by one.
    """
    encoding = _declared(sample, given)
    if encoding is not None:
        return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=at_end)
    except UnicodeDecodeError as error:
        if given is None and not guess:
            return UTF8
        try:
            return _other_than_utf8(sample, error.start, given)
        except DocumentError:
            return UTF8
    return UTF8 if given is None or at_end else None


def repair_surrogates(text: str) -> tuple[str, int]:
    """The text with U+FFFD in place of each lone surrogate, and how many there were. Lengths and offsets stay."""
    if text.isascii():
        return text, 0
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.subn("\ufffd", text)
    return text, 0


def _declared(data: bytes, given: str | None) -> Encoding | None:
    """What can be known before trying UTF-8: marks, encodings in which even ASCII bytes mean something else."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return Encoding(name, "bom", len(mark))
    if given is not None and not _extends_ascii(given):
        return Encoding(given, "given")
    wide = _utf16_without_mark(data[:SAMPLE_BYTES])
    return None if wide is None else Encoding(wide, "guessed")


def _extends_ascii(name: str) -> bool:
    """Whether ASCII bytes mean ASCII and nothing else, so that valid UTF-8 in this encoding is plain ASCII."""
    plain = "".join(map(chr, range(128)))
    try:
        if plain.encode("ascii").decode(name) != plain:
            return False
    except UnicodeDecodeError:
        return False
    encoded = [c.encode(name, "ignore") for c in "é\u0416\u05d0\u65e5\ud55c"]
    return not any(code and code.isascii() for code in encoded)  # as in ISO-2022-JP, HZ and UTF-7


def _utf16_without_mark(sample: bytes) -> str | None:
    """UTF-16 shows itself: NULs stand at every other byte only, and the bytes there take few values.

    Space, digits and line ends give NUL, the letters of an alphabet that alphabet's one or two numbers, and general
    punctuation such as quotes and joiners 0x20. In a few bytes all that could be chance: there only NULs count.
    """
    if b"\0" not in sample:
        return None
    for name, high in (("utf-16-le", 1), ("utf-16-be", 0)):
        tops, lows = sample[high::2], sample[1 - high :: 2]
        nuls = usual = tops.count(0)
        if lows.count(0) * 50 > nuls or nuls * 20 < len(tops):
            continue
        if len(tops) >= 8:
            letters = sorted(tops.count(value) for value in set(tops) - {0, 0x20})
            usual += tops.count(0x20) + sum(letters[-2:])
        if usual >= 0.9 * len(tops):
            return name
    return None


def _other_than_utf8(data: bytes, bad: int, given: str | None) -> Encoding:
    """For data whose byte `bad` is not valid UTF-8."""
    if given is not None:
        return Encoding(given, "given")
    start = 0 if bad < SAMPLE_BYTES // 2 else bad - 256
    sample = data[start : start + SAMPLE_BYTES]
    if not _is_damaged_utf8(sample):
        name = guess_encoding(sample)
        if name is not None:
            return Encoding(name, "guessed")
    raise DocumentError(
        "decode_error", f"Byte {bad} is not valid UTF-8, and no other encoding is certain enough. {_WAY_OUT}"
    )


def _is_damaged_utf8(sample: bytes) -> bool:
    """Whether much of what is not ASCII is valid: then one encoding read all of it as something else."""
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(c > "\x7f" for c in text) - bad
    return 3 * good > bad


def refuse_binary(text: str) -> None:
    """Raise `decode_error` for what is no text: few single NULs are noise and stay, like any other control character,
    but many are not."""
    nuls = text.count("\0")
    if nuls and (4 * nuls > len(text) or "\0" * 8 in text):
        raise DocumentError("decode_error", f"{nuls} of {len(text)} characters are NUL, which is no text. {_WAY_OUT}")
