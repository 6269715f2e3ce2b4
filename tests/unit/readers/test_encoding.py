"""How the encoding of a file is found, and what becomes of the text."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longdoc.errors import DocumentError
from longdoc.readers.encoding import decode_document, repair_surrogates, stream_encoding
from longdoc.readers.guessing import guess_encoding
from reader_kit import QUICK

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
SPANISH = (
    "Paciente de 70 años de edad, minero jubilado, sin alergias medicamentosas conocidas, que presenta como "
    "antecedentes personales: accidente laboral antiguo con fracturas vertebrales y costales, intervención de "
    "riñón derecho y diagnóstico de hipertensión. Según el informe, mañana se realizará una exploración física."
)
RUSSIAN = (
    "Пациент жалуется на кашель и высокую температуру в течение недели. Назначено лечение на дому, явка через год."
)


@QUICK
@given(ANY_TEXT)
def test_utf8_text_comes_back_unchanged(text: str) -> None:
    if text.startswith("\ufeff") or "\0" in text:
        return
    found, encoding = decode_document(text.encode("utf-8"), None)
    assert found == text
    assert encoding.facts == {"encoding": "utf-8", "encoding_source": "strict"}


@pytest.mark.parametrize(
    ("mark", "name"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@QUICK
@given(text=ANY_TEXT)
def test_a_byte_order_mark_decides_and_is_removed(mark: bytes, name: str, text: str) -> None:
    if mark == codecs.BOM_UTF16_LE and text.startswith("\0"):
        return  # the same bytes as the mark of UTF-32
    found, encoding = decode_document(mark + text.encode(name), "cp1252")
    assert found == text
    assert (encoding.name, encoding.source) == (name, "bom")


@pytest.mark.parametrize(
    "text", ["a\r\nb\rc\n\r\n", "e\u0301 \u212b ﬁ", "\u2028\x85\x0b\x0c\x1c", "\ufeff inside \ufeff"]
)
def test_nothing_is_translated_or_normalised(text: str) -> None:
    assert decode_document(b"x" + text.encode("utf-8"), None)[0] == "x" + text


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text", ["a", "Plain English, line one.\r\nAnd two.", RUSSIAN, "Ἄνθρωπος: “ἄξιος” εἶ; ὧδε μένε."]
)
def test_utf16_without_a_mark_is_recognised(text: str, name: str) -> None:
    found, encoding = decode_document(text.encode(name), None)
    assert found == text
    assert (encoding.name, encoding.source) == (name, "guessed")


def test_cut_utf16_without_a_mark_is_refused_not_read_with_nuls() -> None:
    with pytest.raises(
        DocumentError, match=r"^Byte 166 does not fit utf-16-le \(guessed\)\. Set `read.encoding`"
    ) as refused:
        decode_document(("The patient came " * 5).encode("utf-16-le")[:167], None)
    assert refused.value.reason == "decode_error"


@pytest.mark.parametrize("text", ["one\0two three", "hello\0", "a b\0c\0 d e f g h"])
def test_a_few_nuls_stay_as_they_are(text: str) -> None:
    assert decode_document(text.encode(), None)[0] == text


@pytest.mark.parametrize("data", [b"a\0\0\0\0\0\0\0\0" + b"x" * 100, b"\0\0\0b", b"a\0\0b\0c"])
def test_many_nuls_are_no_text(data: bytes) -> None:
    with pytest.raises(DocumentError) as refused:
        decode_document(data, None)
    assert refused.value.reason == "decode_error"


def test_valid_utf8_wins_over_the_given_encoding() -> None:
    text, encoding = decode_document("für".encode(), "cp1252")
    assert (text, encoding.source) == ("für", "strict")


def test_the_given_encoding_is_used_where_utf8_does_not_fit() -> None:
    text, encoding = decode_document("für".encode("cp1252"), "cp1252")
    assert (text, encoding.name, encoding.source) == ("für", "cp1252", "given")


@pytest.mark.parametrize("name", ["iso2022_jp", "utf-16-le", "cp500", "utf-7"])
def test_an_encoding_in_which_ascii_bytes_mean_something_else_is_believed_at_once(name: str) -> None:
    text = "abc \u00e9" if name != "iso2022_jp" else "abc 日本"
    assert decode_document(text.encode(name), name)[0] == text


def test_a_given_encoding_that_does_not_fit_is_refused_with_the_byte() -> None:
    with pytest.raises(DocumentError) as refused:
        decode_document("ab日本".encode("cp932")[:-1], "cp932")
    assert str(refused.value) == (
        "Byte 4 does not fit cp932 (given). Set `read.encoding`, for example to `cp1252`, if you know it."
    )
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(("text", "name"), [(SPANISH, "cp1252"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r")])
def test_a_sure_guess_is_made_and_reported(text: str, name: str) -> None:
    found, encoding = decode_document(text.encode(name), None)
    assert found == text
    assert encoding.facts == {"encoding": name, "encoding_source": "guessed"}


@pytest.mark.parametrize("data", ["café Grüße".encode("cp1252"), b"\x89PNG\r\n\x1a\n\xff\xfe\xfd" * 9, b"abc \xff"])
def test_an_unsure_guess_is_a_refusal(data: bytes) -> None:
    with pytest.raises(DocumentError, match=r"^Byte \d+ is not valid UTF-8, and no other encoding is certain enough\."):
        decode_document(data, None)


def test_damaged_utf8_is_not_read_as_something_else() -> None:
    data = (SPANISH * 3).encode("utf-8")
    with pytest.raises(DocumentError, match=f"^Byte {len(data) - 20} "):
        decode_document(data[:-20] + b"\xff" + data[-20:], None)


def test_damaged_utf8_whose_bytes_would_fit_another_encoding_is_refused_too() -> None:
    text = (
        "People in the town were angry at the start of ’t whole thing, but the council of the town answered them "
        "in many letters over the winter. "
    )
    data = text.encode("utf-8") + "é".encode("cp1252") + b" end"
    assert guess_encoding(data) is not None  # the quote reads as three signs of cp1252
    with pytest.raises(DocumentError, match=f"^Byte {len(data) - 5} is not valid UTF-8"):
        decode_document(data, None)


def test_the_sample_for_guessing_lies_where_utf8_ends() -> None:
    data = b"plain ascii. " * 30_000 + SPANISH.encode("cp1252")
    text, encoding = decode_document(data, None)
    assert text.endswith(SPANISH)
    assert encoding.name == "cp1252"


@QUICK
@given(st.text(st.one_of(st.characters(), st.sampled_from("\ud800\udbff\udc00\udfff")), max_size=50))
def test_surrogates_are_repaired_one_for_one(text: str) -> None:
    found, count = repair_surrogates(text)
    lone = [index for index, c in enumerate(text) if "\ud800" <= c <= "\udfff"]
    found.encode("utf-8")
    assert (count, len(found)) == (len(lone), len(text))
    assert [(a, b) for a, b in zip(text, found, strict=True) if a != b] == [(text[i], "\ufffd") for i in lone]


def test_lone_surrogates_in_marked_utf16_survive_decoding_for_repair() -> None:
    text, _ = decode_document(codecs.BOM_UTF16_LE + "a\ud800b".encode("utf-16-le", "surrogatepass"), None)
    assert text == "a\ud800b"


class TestStreams:
    def test_a_character_cut_by_the_end_of_the_sample_is_no_fault(self) -> None:
        sample = ("ü" * 10).encode()[:-1]
        assert getattr(stream_encoding(sample, False, None), "name", None) == "utf-8"

    def test_only_the_whole_file_tells_where_the_sample_is_valid_and_an_encoding_is_given(self) -> None:
        assert stream_encoding(b"plain", False, "cp1252") is None
        assert getattr(stream_encoding(b"plain", True, "cp1252"), "source", None) == "strict"
        assert getattr(stream_encoding(b"f\xfcr", False, "cp1252"), "source", None) == "given"

    def test_without_a_sure_guess_lines_fail_one_by_one(self) -> None:
        assert getattr(stream_encoding(b"f\xfcr", True, None), "source", None) == "strict"

    def test_guessing_can_be_forbidden(self) -> None:
        data = SPANISH.encode("cp1252")
        assert getattr(stream_encoding(data, True, None), "name", None) == "cp1252"
        assert getattr(stream_encoding(data, True, None, guess=False), "name", None) == "utf-8"
