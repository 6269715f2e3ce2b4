"""What an e-mail says, and what is only around it."""

from __future__ import annotations

from contextlib import suppress
from email.message import EmailMessage
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from longdoc.errors import DocumentError
from longdoc.readers.eml import parse
from longdoc.readers.parsed import ParsedDocument
from reader_kit import QUICK


def message(text: str | None = None, **heads: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in heads.items():
        made[name] = value
    if text is not None:
        made.set_content(text)
    return made


def read(made: EmailMessage | bytes, **options: Any) -> ParsedDocument:
    return parse(made if isinstance(made, bytes) else made.as_bytes(), options)


def raw(body: bytes, kind: str, encoding: str = "8bit") -> bytes:
    head = f"From: a@b.example\r\nContent-Type: {kind}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    return head.encode() + body


def test_the_body_is_the_text_and_the_head_is_meta() -> None:
    heads = {
        "Subject": "Grüße",
        "From": "Ada <ada@x.example>",
        "To": "b@x.example",
        "Date": "Mon, 02 Nov 2026 10:00:00 +0100",
    }
    document = read(message("Hello,\n\n  two\n", **heads))
    assert document.text == "Hello,\n\n  two"
    assert document.remarks == {
        "subject": "Grüße",
        "from": "Ada <ada@x.example>",
        "to": "b@x.example",
        "date": "2026-11-02T10:00:00+01:00",
        "encoding": "utf-8",
        "encoding_source": "strict",
    }
    lines = "Subject: Grüße\nFrom: Ada <ada@x.example>\nTo: b@x.example\nDate: 2026-11-02T10:00:00+01:00"
    assert read(message("Hello", **heads), headers=True).text == f"{lines}\n\nHello"


def test_of_alternatives_the_plain_one_counts_unless_it_is_empty() -> None:
    made = message("plain words", Subject="x")
    made.add_alternative("<p>page <b>words</b></p>", subtype="html")
    assert read(made).text == "plain words"
    made = message(" \n", Subject="x")
    made.add_alternative("<h1>One</h1><p>page <b>words</b></p>", subtype="html")
    document = read(made)
    assert document.text == "One\n\npage words"
    assert [tuple(section) for section in document.sections or ()] == [(0, 1)]


def test_an_alternative_that_cannot_be_read_gives_way_to_one_that_can() -> None:
    body = (
        b"--B\r\nContent-Type: text/plain; charset=utf-8\r\n\r\ncaf\xe9\r\n"
        b"--B\r\nContent-Type: text/html\r\n\r\n<p>caf&eacute;\r\n--B--\r\n"
    )
    assert read(raw(body, "multipart/alternative; boundary=B")).text == "café"
    with pytest.raises(DocumentError):
        read(raw(body[: body.index(b"--B\r\nContent-Type: text/html")], "multipart/alternative; boundary=B"))


def test_alternatives_inside_alternatives_are_read_in_time() -> None:
    made = "Content-Type: text/plain\r\n\r\nend"
    for number in range(40):
        made = f"Content-Type: multipart/alternative; boundary=b{number}.\r\n\r\n--b{number}.\r\n{made}\r\n"
    assert read(made.encode()).text == "end"


def test_attachments_are_counted_by_type_and_never_opened() -> None:
    made = message("see attached", Subject="x")
    made.add_attachment(b"%PDF canary", maintype="application", subtype="pdf", filename="patient-name.pdf")
    made.add_attachment(b"canary", maintype="image", subtype="png", filename="b.png")
    made.add_attachment("canary", filename="notes.txt")
    document = read(made)
    assert document.text == "see attached"
    assert document.remarks["attachments"] == ["application/pdf", "image/png", "text/plain"]
    assert "patient-name" not in str(document.remarks)


def test_parts_of_text_stand_one_after_the_other() -> None:
    body = (
        b"--B\r\nContent-Type: text/plain\r\n\r\none\r\n--B\r\nContent-Type: text/html\r\n\r\n<p>two\r\n"
        b"--B\r\nContent-Type: multipart/related; boundary=C\r\n\r\n--C\r\n\r\nthree\r\n--C--\r\n--B--\r\n"
    )
    assert read(raw(body, "multipart/mixed; boundary=B")).text == "one\n\ntwo\n\nthree"


def test_a_message_inside_a_message_is_read_with_its_head() -> None:
    made = message("outer", Subject="x")
    made.add_attachment(message("inner", Subject="Old one", From="c@x.example"))
    document = read(made)
    assert document.text == "outer\n\nSubject: Old one\nFrom: c@x.example\n\ninner"
    assert document.remarks["subject"] == "x"


@pytest.mark.parametrize(
    ("data", "text", "encoding", "source"),
    [
        (raw("Пациент".encode("koi8-r"), "text/plain; charset=koi8-r"), "Пациент", "koi8-r", "declared"),
        (raw("café".encode(), "text/plain; charset=iso-8859-1"), "café", "utf-8", "strict"),
        (raw("“a”".encode("cp1252"), "text/plain; charset=iso-8859-1"), "“a”", "cp1252", "declared"),
        (raw("日本".encode("iso2022_jp"), "text/plain; charset=ISO-2022-JP", "7bit"), "日本", "iso2022_jp", "declared"),
        (raw(b"caf=C3=A9 =\r\nau lait =ZZ x", "text/plain; charset=utf-8", "quoted-printable"), "café au lait =ZZ x",
         "utf-8", "strict"),
        (raw(b"Y2Fmw6k", "text/plain; charset=utf-8", "base64"), "café", "utf-8", "strict"),
        (raw("<meta charset=utf-8>é".encode("cp1251", "replace") + "да".encode("cp1251"),
             "text/html; charset=windows-1251"), "?да", "cp1251", "declared"),
    ],
)  # fmt: skip
def test_encodings(data: bytes, text: str, encoding: str, source: str) -> None:
    document = read(data)
    assert document.text == text
    assert (document.remarks["encoding"], document.remarks["encoding_source"]) == (encoding, source)


def test_a_body_that_declares_what_it_is_not_is_read_as_the_user_says() -> None:
    data = raw("café".encode("cp1252"), "text/plain; charset=utf-8")
    assert read(data, encoding="cp1252").text == "café"
    with pytest.raises(DocumentError) as refused:
        read(data)
    assert refused.value.reason == "decode_error"


def test_an_e_mail_without_a_body_is_empty() -> None:
    assert read(message(Subject="only a subject")).text == ""
    made = message(Subject="x")
    made.add_attachment(b"x", maintype="application", subtype="pdf")
    assert read(made).text == ""


def test_an_encrypted_e_mail_says_so() -> None:
    for kind in ("application/pkcs7-mime; smime-type=enveloped-data", "multipart/encrypted; boundary=B"):
        with pytest.raises(DocumentError, match=r"The e-mail is encrypted\. Save it decrypted\.") as refused:
            read(raw(b"--B\r\nContent-Type: application/pgp-encrypted\r\n\r\nVersion: 1\r\n--B--", kind))
        assert refused.value.reason == "encrypted"


def test_what_is_no_e_mail_is_refused() -> None:
    for data in (b"", b"just some text\nwith: nothing", b"%PDF-1.7"):
        with pytest.raises(DocumentError, match=r"The file does not begin with the head of an e-mail\.") as refused:
            read(data)
        assert refused.value.reason == "unreadable"


def test_defects_are_named() -> None:
    document = read(raw(b"--X\r\n\r\ncut", "multipart/mixed; boundary=X"))
    assert document.text == "cut"
    assert document.remarks["defects"] == ["CloseBoundaryNotFoundDefect"]


def test_nesting_without_end_is_a_refusal_or_text() -> None:
    nested = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(1000))
    with pytest.raises(DocumentError, match=r"The parts of the e-mail are nested too deeply\.") as refused:
        read(nested)
    assert refused.value.reason == "unreadable"


@QUICK
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1), max_size=4))
def test_no_text_is_lost(texts: list[str]) -> None:
    made = message("".join(f"{text}\n" for text in texts), Subject="x")
    assert read(made).text == "".join(f"{text}\n" for text in texts).strip("\n")


@QUICK
@given(st.binary(max_size=200))
def test_damage_is_a_refusal_and_never_another_exception(noise: bytes) -> None:
    for head in (b"Subject: ", b"From: ", b"Date: ", b"Content-Type: multipart/mixed; boundary=", b"From: a\r\n\r\n"):
        with suppress(DocumentError):
            assert isinstance(read(head + noise), ParsedDocument)
