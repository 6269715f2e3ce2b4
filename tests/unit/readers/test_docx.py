"""What a Word document says, whatever Word wraps around it."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from docx_kit import STRICT, TRANSITIONAL, docx, paragraph, part, run
from longdoc.errors import DocumentError
from longdoc.readers import zip_parts
from longdoc.readers.docx import parse
from longdoc.readers.parsed import ParsedDocument
from reader_kit import QUICK

INSERTED = '<w:ins w:id="1" w:author="a">{}</w:ins>'
DELETED = '<w:del w:id="2" w:author="a"><w:r><w:delText>{}</w:delText></w:r></w:del>'


def read(body: str, parts: dict[str, str] | None = None, **options: Any) -> ParsedDocument:
    return parse(docx(body, parts), options)


def text_of(body: str, parts: dict[str, str] | None = None, **options: Any) -> str:
    return read(body, parts, **options).text


def table(*rows: list[str]) -> str:
    return (
        "<w:tbl><w:tblPr/>"
        + "".join(f"<w:tr>{''.join(f'<w:tc><w:tcPr/>{cell}</w:tc>' for cell in row)}</w:tr>" for row in rows)
        + "</w:tbl>"
    )


def refusal(data: bytes) -> tuple[str, str]:
    with pytest.raises(DocumentError) as refused:
        parse(data, {})
    return refused.value.reason, str(refused.value)


def test_tables_stand_where_they_are_with_nested_ones_and_merged_cells_once() -> None:
    cells = table(
        [paragraph("a1"), paragraph("a2")],
        [paragraph("b1"), paragraph("b2") + table([paragraph("n1"), paragraph("n2")]) + "<w:p/>"],
    )
    merged = (
        "<w:tbl><w:tr>"
        f'<w:tc><w:tcPr><w:gridSpan w:val="3"/><w:vMerge w:val="restart"/></w:tcPr>{paragraph("wide")}</w:tc>'
        f"<w:tc>{paragraph('x')}</w:tc></w:tr><w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>"
        f"<w:tc>{paragraph('y')}</w:tc></w:tr></w:tbl>"
    )
    body = paragraph("BEFORE") + cells + paragraph("AFTER") + merged
    assert text_of(body) == "BEFORE\n\na1\ta2\nb1\tb2\nn1\tn2\n\nAFTER\n\nwide\tx\n\ty"


def test_changes_are_taken_as_accepted_and_counted() -> None:
    link = f'<w:hyperlink r:id="x">{run("daily")}</w:hyperlink>'
    body = paragraph(run("Dose ") + INSERTED.format(run("5 mg ")) + DELETED.format("50 mg ") + link + run("."))
    document = read(body)
    assert document.text == "Dose 5 mg daily."
    assert document.remarks == {"tracked_changes": 2}


def test_what_was_moved_is_where_it_went() -> None:
    moved = f'<w:moveFrom w:id="1">{run("here ")}</w:moveFrom>'
    arrived = f'<w:moveTo w:id="2">{run("there")}</w:moveTo>'
    assert text_of(paragraph(moved + run("a")) + paragraph(run("b ") + arrived)) == "a\n\nb there"


def test_a_paragraph_whose_end_was_deleted_goes_on_with_the_next() -> None:
    body = paragraph(run("one "), '<w:rPr><w:del w:id="1"/></w:rPr>') + paragraph("two") + paragraph("three")
    assert text_of(body) == "one two\n\nthree"


def test_old_properties_do_not_count() -> None:
    change = '<w:outlineLvl w:val="9"/><w:pPrChange w:id="1"><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:pPrChange>'
    assert read(paragraph("plain", change)).sections is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r>", "a\tb"),
        ("<w:r><w:t>a</w:t><w:br/><w:t>b</w:t><w:cr/><w:t>c</w:t></w:r>", "a\nb\nc"),
        ('<w:r><w:t>a</w:t><w:br w:type="page"/><w:t>b</w:t></w:r>', "a\nb"),
        ("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t><w:softHyphen/><w:t>c</w:t></w:r>", "a\u2011b\u00adc"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:sym w:font="Symbol" w:char="F061"/></w:r>', "☑α"),
        ('<w:r><w:sym w:font="Symbol" w:char="F028"/><w:sym w:font="Odd" w:char="F041"/></w:r>', "(\uf041"),
        ('<w:r><w:sym w:font="Arial" w:char="00E9"/><w:sym w:font="Arial" w:char="no"/></w:r>', "é"),
        (f'<w:smartTag w:element="x">{run("in")}</w:smartTag>', "in"),
        (f"<w:sdt><w:sdtPr><w:alias w:val='no'/></w:sdtPr><w:sdtContent>{run('in')}</w:sdtContent></w:sdt>", "in"),
        (f'<w:unheardOf w:val="no">{run("kept")}</w:unheardOf>', "kept"),
        (f'<w:fldSimple w:instr="PAGE">{run("7")}</w:fldSimple>', "7"),
        ("<w:r><w:t>two\n        lines </w:t></w:r>", "two lines "),
        ("<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>", "hidden"),
        (f"<w:ruby><w:rubyPr/><w:rt>{run('kan')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby>", "漢(kan)"),
        (f"{run('a')}<w:proofErr/><w:bookmarkStart w:name='no'/>{run('b')}", "ab"),
    ],
)
def test_what_a_paragraph_holds(content: str, text: str) -> None:
    properties = '<w:tabs><w:tab w:val="left" w:pos="1"/></w:tabs>'
    assert text_of(paragraph(content, properties)) == text


def field(code: str, result: str) -> str:
    begin, middle, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    return f"{begin}<w:r><w:instrText>{code}</w:instrText></w:r>{middle}{result}{end}"


def test_fields_show_their_result_only() -> None:
    inner = field("MERGEFIELD x", run("condition"))
    nested = field("IF", run("yes")).replace("</w:instrText></w:r>", f"</w:instrText></w:r>{inner}", 1)
    assert text_of(paragraph(run("a ") + field("REF _1", run("see 4")) + run(" b"))) == "a see 4 b"
    assert text_of(paragraph(nested)) == "yes"


def test_a_field_that_never_ends_does_not_swallow_the_document() -> None:
    lost = '<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>TOC</w:instrText></w:r>'
    assert text_of(paragraph(run("a") + lost) + paragraph("b")) == "a\n\nb"


def test_a_field_over_several_paragraphs_is_kept() -> None:
    whole = field("TOC", "".join([run("one"), "</w:p><w:p>", run("two")]))
    assert text_of(paragraph(whole)) == "one\n\ntwo"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<m:f><m:num>{1}</m:num><m:den>{2}</m:den></m:f>", "1/2"),
        ("<m:sSup><m:e>{x}</m:e><m:sup>{2}</m:sup></m:sSup>", "x^2"),
        ("{f}<m:d><m:dPr/><m:e>{x}</m:e></m:d>", "f(x)"),
        ('<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e>{a}</m:e><m:e>{b}</m:e></m:d>', "[a|b]"),
        ('<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:e>{i}</m:e></m:nary>', "∑i"),
    ],
)
def test_formulas_are_one_line(formula: str, text: str) -> None:
    content = formula.replace("{", "<m:r><m:t>").replace("}", "</m:t></m:r>")
    assert text_of(paragraph(f"<m:oMath>{content}</m:oMath>")) == text


def boxes(new: str, old: str) -> str:
    return (
        "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><wps:wsp><wps:txbx>"
        f"{new}</wps:txbx></wps:wsp></mc:Choice><mc:Fallback><w:pict><v:textbox>{old}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )


def test_a_text_box_is_read_once_from_whichever_form_has_text() -> None:
    box = f"<w:txbxContent>{paragraph('BOXED') + paragraph('IN')}</w:txbxContent>"
    assert text_of(paragraph(run("HOST") + boxes(box, box) + run("TAIL"))) == "HOST\n\nBOXED\n\nIN\nTAIL"
    assert text_of(paragraph(run("HOST") + boxes("", box) + run("TAIL"))) == "HOST\n\nBOXED\n\nIN\nTAIL"


def test_a_text_box_in_a_cell_has_paragraphs_of_its_own() -> None:
    box = f"<w:txbxContent>{paragraph('BOXED')}</w:txbxContent>"
    assert text_of(table([paragraph(boxes(box, box)), paragraph("x")])) == "BOXED\tx"


STYLES = part(
    "styles",
    '<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:basedOn w:val="Standard"/>'
    '<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Klausel"><w:name w:val="Klausel"/><w:basedOn w:val="Mitte"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Mitte"><w:basedOn w:val="berschrift2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Kreis"><w:basedOn w:val="Kreis"/></w:style>'
    '<w:style w:type="character" w:styleId="Zeichen"><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>',
)


def styled(name: str, text: str, more: str = "") -> str:
    return paragraph(text, f'<w:pStyle w:val="{name}"/>{more}')


def headings(document: ParsedDocument) -> list[tuple[str, int]]:
    return [(document.text[start:].split("\n")[0], level) for start, level in document.sections or ()]


def test_headings_are_told_by_outline_levels_of_styles_in_any_language() -> None:
    body = (
        paragraph("front")
        + styled("berschrift1", "One")
        + styled("Klausel", "Two")
        + styled("Kreis", "plain")
        + styled("Zeichen", "plain")
        + styled("berschrift1", "not a heading", '<w:outlineLvl w:val="9"/>')
        + styled("Standard", "own level", '<w:outlineLvl w:val="2"/>')
        + styled("berschrift1", "")
        + paragraph("end")
    )
    assert headings(read(body, {"styles": STYLES})) == [("One", 1), ("Two", 2), ("own level", 3)]
    assert headings(read(styled("Heading2", "Without styles"))) == [("Without styles", 2)]


def level(number: int, text: str, form: str = "decimal", more: str = "") -> str:
    properties = f'<w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/>'
    return f'<w:lvl w:ilvl="{number}">{properties}</w:lvl>'


NUMBERING = part(
    "numbering",
    f'<w:abstractNum w:abstractNumId="0">{level(0, "%1.", "upperRoman")}{level(1, "%1.%2", more="<w:isLgl/>")}'
    f"{level(2, '(%3)', 'lowerLetter')}</w:abstractNum>"
    f'<w:abstractNum w:abstractNumId="1">{level(0, chr(0xF0B7), "bullet")}{level(1, "-", "bullet")}</w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="2">'
    f"{level(0, 'Article %1', more='<w:pStyle w:val=' + chr(34) + 'berschrift1' + chr(34) + '/>')}</w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="9"/>'
    '</w:lvlOverride></w:num><w:num w:numId="4"><w:abstractNumId w:val="2"/></w:num>',
)


def item(text: str, number: int = 0, instance: int = 1) -> str:
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{number}"/><w:numId w:val="{instance}"/></w:numPr>')


def test_lists_have_the_numbers_that_word_draws() -> None:
    body = (
        item("a")
        + item("b")
        + item("c", 1)
        + item("d", 1)
        + item("e", 2)
        + item("", 2)
        + item("f", 2)
        + item("g")
        + item("h", 1)
        + paragraph("between")
        + item("i", 0, 2)
        + item("j", 1, 2)
        + item("k", 0, 3)
        + item("l", 0, 3)
        + item("m", 0, 99)
    )
    lines = "I. a|II. b|2.1 c|2.2 d|(a) e|(c) f|III. g|3.1 h||between||• i|- j||IX. k|X. l||m"
    assert text_of(body, {"numbering": NUMBERING}) == lines.replace("|", "\n")
    plain = "a|b|c|d|e|f|g|h||between||i|j||k|l||m"
    assert text_of(body, {"numbering": NUMBERING}, list_numbers=False) == plain.replace("|", "\n")


def test_a_list_of_headings_is_named_by_the_style() -> None:
    styles = STYLES.replace(
        '<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>',
        '<w:pPr><w:numPr><w:numId w:val="4"/></w:numPr><w:outlineLvl w:val="0"/></w:pPr></w:style>',
        1,
    )
    body = styled("berschrift1", "Scope") + paragraph("text") + styled("berschrift1", "Term")
    document = read(body, {"styles": styles, "numbering": NUMBERING})
    assert headings(document) == [("Article 1 Scope", 1), ("Article 2 Term", 1)]


def test_headers_notes_and_footers_stand_around_the_body_once() -> None:
    references = "".join(
        f'<w:{kind}Reference w:type="{name}" r:id="{kind}{number}"/>'
        for kind in ("header", "footer")
        for number, name in enumerate(("default", "first"), 1)
    )
    note = '<w:r><w:footnoteReference w:id="{}"/></w:r>'
    body = (
        paragraph(run("body") + note.format(3) + run(" goes on") + note.format(2))
        + paragraph('<w:r><w:endnoteReference w:id="2"/></w:r>')
        + f"<w:del>{note.format(4)}</w:del><w:sectPr>{references}</w:sectPr>"
    )
    notes = "".join(
        f'<w:footnote w:id="{n}"{kind}>{paragraph(text)}</w:footnote>'
        for n, text, kind in ((0, "line", ' w:type="separator"'), (2, "two", ""), (3, "three", ""), (4, "gone", ""))
    )
    parts = {
        "header1": part("hdr", paragraph("HEAD")),
        "header2": part("hdr", paragraph("HEAD")),
        "footer1": part("ftr", paragraph("FOOT") + paragraph("FOOT")),
        "footer2": part("ftr", paragraph("FIRST")),
        "footnotes": part("footnotes", notes),
        "endnotes": part("endnotes", f'<w:endnote w:id="2">{paragraph("end")}</w:endnote>'),
    }
    assert text_of(body, parts) == "HEAD|body goes on|three|two|end|FOOT|FOOT|FIRST".replace("|", "\n\n")
    assert text_of(body, parts, headers=False) == "body goes on|three|two|end".replace("|", "\n\n")
    assert text_of(body, parts, headers=False, notes=False) == "body goes on"


def test_what_is_left_out_is_counted_and_the_title_is_known() -> None:
    body = paragraph(run("a") + '<w:r><w:commentReference w:id="0"/></w:r>') + '<w:altChunk r:id="x"/>'
    document = parse(docx(body, title="The\n  Title"), {})
    assert document.remarks == {"comments_left_out": 1, "embedded_parts_left_out": 1, "title": "The Title"}


@pytest.mark.parametrize("namespace", [TRANSITIONAL, STRICT])
def test_both_sets_of_namespaces_are_read(namespace: str) -> None:
    assert parse(docx(paragraph("text"), namespace=namespace), {}).text == "text"


WRAPPERS = (
    "{}",
    '<w:ins w:id="1">{}</w:ins>',
    '<w:moveTo w:id="1">{}</w:moveTo>',
    '<w:hyperlink r:id="x">{}</w:hyperlink>',
    "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>",
    '<w:smartTag w:element="x">{}</w:smartTag>',
    '<w:fldSimple w:instr="X">{}</w:fldSimple>',
    "<x:unknown xmlns:x='urn:x'>{}</x:unknown>",
    '<w:customXml w:element="x">{}</w:customXml>',
)
WORDS = st.text("abc ", min_size=1, max_size=4)
RUNS = st.recursive(
    WORDS.map(lambda word: (run(word), word)),
    lambda inner: st.tuples(st.sampled_from(WRAPPERS), st.lists(inner, max_size=3)).map(
        lambda pair: (pair[0].format("".join(xml for xml, _ in pair[1])), "".join(text for _, text in pair[1]))
    ),
    max_leaves=3,
)
GONE = st.sampled_from([DELETED.format("zz"), f"<w:moveFrom>{run('zz')}</w:moveFrom>"]).map(lambda xml: (xml, ""))
PARAGRAPHS = st.lists(RUNS | GONE, max_size=4).map(
    lambda parts: ("<w:p>" + "".join(xml for xml, _ in parts) + "</w:p>", "".join(text for _, text in parts))
)
BLOCKS = st.recursive(
    PARAGRAPHS,
    lambda inner: st.lists(st.lists(inner, min_size=1, max_size=3), min_size=1, max_size=3).map(
        lambda rows: (
            table(*([xml for xml, _ in row] for row in rows)),
            "".join(text for row in rows for _, text in row),
        )
    ),
    max_leaves=5,
)


@settings(QUICK, max_examples=25)
@given(st.lists(BLOCKS, max_size=3))
def test_no_run_of_text_is_lost_and_none_is_moved(blocks: list[tuple[str, str]]) -> None:
    text = text_of("".join(xml for xml, _ in blocks))
    assert "".join(text.split()) == "".join("".join(words for _, words in blocks).split())


ELEMENTS = (
    *("w:p", "w:pPr", "w:numPr", "w:rPr", "w:sectPr", "w:tbl", "w:tr", "w:tc", "w:txbxContent", "w:fldChar", "w:br"),
    *(
        "mc:AlternateContent",
        "mc:Choice",
        "mc:Fallback",
        "w:ruby",
        "w:rt",
        "w:rubyBase",
        "w:del",
        "w:ins",
        "w:footnote",
    ),
    *(
        "w:footnote",
        "w:footnoteReference",
        "w:outlineLvl",
        "w:ilvl",
        "w:numId",
        "m:d",
        "m:dPr",
        "m:e",
        "m:begChr",
        "m:den",
        "w:sym",
    ),
)
ATTRIBUTES = st.sampled_from(["", 'w:val="1"', 'w:val="x"', 'w:fldCharType="begin"', 'w:fldCharType="end"', 'w:id="1"'])
DISORDER = st.recursive(
    st.just("<w:t>ab</w:t>"),
    lambda inner: st.tuples(st.sampled_from(ELEMENTS), ATTRIBUTES, st.lists(inner, max_size=3)).map(
        lambda made: f"<{made[0]} {made[1]}>{''.join(made[2])}</{made[0]}>"
    ),
    max_leaves=12,
)


@QUICK
@given(st.lists(DISORDER, max_size=3))
def test_elements_where_they_do_not_belong_are_read_all_the_same(parts: list[str]) -> None:
    text = text_of("".join(parts), {"styles": STYLES, "numbering": NUMBERING})
    assert text.count("ab") <= sum(part.count("ab") for part in parts)


# Hostile and damaged files.


def test_other_formats_are_refused_with_the_way_out() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    assert refusal(ole) == (
        "unsupported_type",
        "This is a document of Word 97 to 2003 (.doc). Open it in Word and save it as .docx.",
    )
    locked = ole + "EncryptedPackage".encode("utf-16-le")
    assert refusal(locked) == ("encrypted", "The document is protected with a password. Save it without one.")
    assert refusal(b"%PDF-1.7") == ("unsupported_type", "This is no Word document (.docx), whatever its name says.")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
    no_word = ("unsupported_type", "The ZIP file holds no Word document. Save the document as .docx.")
    assert refusal(out.getvalue()) == no_word


def test_a_document_type_is_forbidden_and_its_entities_are_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    entity = f'<!DOCTYPE w [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    body = docx(paragraph("<w:r><w:t>&x;</w:t></w:r>"))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name).decode()
            new.writestr(name, content.replace("?>", f"?>{entity}") if name == "word/document.xml" else content)
    assert refusal(out.getvalue()) == (
        "xml_forbidden",
        "The XML declares a document type, which this format does not allow.",
    )


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = docx(paragraph("<w:r><w:t>" + "A" * (8 << 20) + "</w:t></w:r>"))
    assert len(bomb) < 20_000
    sentence = "The document unpacks to more than 200 MiB, or to more than 200 times its size."
    assert refusal(bomb) == ("zip_bomb", sentence)
    monkeypatch.setattr(zip_parts, "MOST_RATIO", 1 << 30)
    assert len(parse(bomb, {}).text) == 8 << 20
    monkeypatch.setattr(zip_parts, "MOST_BYTES", 4 << 20)
    assert refusal(bomb)[0] == "zip_bomb"


def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_parts, "MOST_ENTRIES", 2)
    assert refusal(docx("")) == ("zip_bomb", "The ZIP file has 3 entries; 2 are allowed.")


def test_two_parts_of_one_name_are_refused() -> None:
    out = io.BytesIO(docx(paragraph("one")))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("word/Document.xml", part("document", paragraph("two")))
    expected = ("unreadable", "The document has 2 parts of a name that must occur once.")
    assert refusal(out.getvalue()) == expected


def test_an_entry_with_a_password_is_encrypted() -> None:
    data = bytearray(docx("x"))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = -1
        while (place := data.find(mark, place + 1)) >= 0:
            data[place + flags] |= 1
    assert refusal(bytes(data))[0] == "encrypted"


def test_ways_to_pack_that_the_format_does_not_know_are_refused() -> None:
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", method) as archive:
            archive.writestr("word/document.xml", part("document", "<w:body/>"))
        assert refusal(packed.getvalue()) == (
            "unreadable",
            "A part of the document is packed in a way that the format does not know.",
        )


def test_deep_nesting_is_read_and_what_is_not_well_formed_is_not() -> None:
    assert text_of("<w:sdt>" * 5000 + paragraph("deep") + "</w:sdt>" * 5000) == "deep"
    sentence = "The XML of the document is not well-formed, in line 1."
    assert refusal(docx("<w:p>")) == ("unreadable", sentence)


@QUICK
@given(st.data())
def test_damage_is_a_refusal_and_never_another_exception(data: st.DataObject) -> None:
    whole = docx(table([paragraph("some text"), paragraph("more")]), {"styles": STYLES, "numbering": NUMBERING})
    place = data.draw(st.integers(0, len(whole) - 1))
    broken = data.draw(st.sampled_from([whole[:place], whole[:place] + b"\0\xff" + whole[place + 2 :]]))
    with suppress(DocumentError):
        assert isinstance(parse(broken, {}), ParsedDocument)
