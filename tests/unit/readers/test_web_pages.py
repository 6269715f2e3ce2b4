"""The text of a web page as its reader sees it."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from longdoc.errors import DocumentError
from longdoc.readers.html import DROPPED, parse
from longdoc.readers.parsed import ParsedDocument
from reader_kit import QUICK


def read(markup: str | bytes, **options: Any) -> ParsedDocument:
    return parse(markup.encode("utf-8") if isinstance(markup, str) else markup, options)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>Cost <b>fell</b>! See <a href=#>this</a>.</p>", "Cost fell! See this."),
        ("<p>one<p>two<div>three<div>four</div>five</div>six", "one\n\ntwo\n\nthree\nfour\nfive\nsix"),
        ("a<br>b<br><br>c<br><br><br><br>d", "a\nb\n\nc\n\nd"),
        ("<p>a<br></p><p>b</p>", "a\n\nb"),
        ("<pre>\n two\n   lines\n</pre>after", " two\n   lines\n\n\nafter"),
        ("a<ul><li>one<li>two<ul><li>in</ul></ul>b", "a\n\none\ntwo\n\nin\n\nb"),
        ("<dl><dt>t<dd>d<dd>e</dl>", "t\nd\ne"),
        ("<table><caption>c</caption><tr><th>a<td>b<tr><td>c<td><td>d</table>x", "c\na\tb\nc\t\td\n\nx"),
        ("<table><tr><td>a<table><tr><td>n</table><td>b</table>", "a\n\nn\tb"),
        ("<table><tr><td rowspan=2>a<td>b<tr><td>c</table>", "a\tb\nc"),
        ("&lt;b&gt; &amp;&eacute;&#233;&#x20AC;&nbsp;&hellip; &bogus; &amp", "<b> &éé€\u00a0… &bogus; &"),
        ("in<wbr>side soft&shy;ly", "inside soft\u00adly"),
        ("<select><option>a<option>b</select><textarea>\nx\n y</textarea>", "a\nb\nx\n y"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
        ("<button>press</button> <label>me</label>", "press me"),
        ("<svg><title>tip</title><text>drawn</text></svg>", "drawn"),
        ("<math><semantics><mi>x</mi><annotation>src</annotation></semantics></math>", "x"),
        ("<details><summary>more</summary>folded</details>", "more\nfolded"),
        ("<i>a<b>b</i>c</b><p>d<table><td>e</p>f</table>", "abc\n\nd\n\ne\n\nf"),
        ("before<!-- no -->after<?pi no?>!", "beforeafter!"),
        ("a\n<b>\n b</b>\t\f<i> </i>c", "a b c"),
        ("<div> </div><p></p>", ""),
        ("", ""),
    ],
)
def test_what_a_page_says(markup: str, text: str) -> None:
    assert read(f"<!doctype html><body>{markup}").text == text


@pytest.mark.parametrize("name", sorted(DROPPED - {"frame", "head"}))
def test_what_browsers_do_not_show_is_left_out(name: str) -> None:
    assert read(f"<body>a <{name.upper()} x='>'>var secret = 1;</{name}>b").text == "a b"


@pytest.mark.parametrize("name", ["script", "style", "noscript", "iframe", "noframes", "noembed"])
def test_an_open_element_in_what_is_left_out_does_not_take_the_rest_along(name: str) -> None:
    assert read(f"<body>a <{name}><p>no<div></{name}>b").text == "a b"


@pytest.mark.parametrize("attribute", ["hidden", 'aria-hidden="true"', 'style="color:red; DISPLAY : none"'])
def test_hidden_text_is_kept_unless_it_is_refused(attribute: str) -> None:
    markup = f"<p>seen <span {attribute}>not <b>seen</b></span> again</p><p style='display: block'>x</p>"
    assert read(markup).text == "seen not seen again\n\nx"
    assert read(markup, hidden=False).text == "seen again\n\nx"


def test_ordered_lists_have_the_numbers_that_browsers_draw() -> None:
    markup = (
        "<ol start=3><li>c<li><p>d</p><ol type=a><li>x<li>y</ol><li value=9>i<li><ul><li>u</ul></ol>"
        "<ol type=I start=no><li>one<li></li><li>three</ol><ol type=A start=28><li>z</ol>"
    )
    text = "3. c||4. d||a. x|b. y||9. i||10. u||I. one|III. three||BB. z"
    assert read(markup).text == text.replace("|", "\n")
    assert read(markup, list_numbers=False).text == "c||d||x|y||i||u||one|three||z".replace("|", "\n")


def test_headings_begin_sections() -> None:
    document = read("<p>front<h1>One <i>more</i></h1>text<h3><div>Three</div></h3>text<h2></h2>text")
    assert document.text == "front\n\nOne more\n\ntext\n\nThree\n\ntext\n\ntext"
    assert [(document.text[start:][:3], level) for start, level in document.sections or ()] == [("One", 1), ("Thr", 3)]
    assert read("<p>none").sections is None


def test_title_language_and_frames_are_remarks() -> None:
    document = read("<html lang=de-AT><head><title>A\n <b>title</title></head><iframe src=x>no</iframe>text")
    assert document.text == "text"
    assert document.remarks == {
        "encoding": "utf-8",
        "encoding_source": "strict",
        "lang": "de-AT",
        "title": "A <b>title",
        "frames_left_out": 1,
    }


@pytest.mark.parametrize(
    ("data", "given", "text", "encoding", "source", "declared"),
    [
        ("<meta charset=windows-1251>Пациент".encode("cp1251"), None, "Пациент", "cp1251", "declared", None),
        ("<meta charset='latin1'>“é”".encode("cp1252"), None, "“é”", "cp1252", "declared", None),
        (
            "<meta content='text/html; charset=Shift_JIS'>日本①".encode("cp932"),
            None,
            "日本①",
            "cp932",
            "declared",
            None,
        ),
        ("<meta charset=gb2312>镕".encode("gb18030"), "cp1252", "镕", "gb18030", "declared", None),
        ("<meta charset=iso-2022-jp>日本".encode("iso2022_jp"), None, "日本", "iso2022_jp", "declared", None),
        ("<meta charset=iso-8859-1>café €".encode(), None, "café €", "utf-8", "strict", "cp1252"),
        ("<meta charset=utf-8>café".encode("cp1252"), "cp1252", "café", "cp1252", "given", "utf-8"),
        ("<meta charset=no-such>café".encode("cp1252"), "cp1252", "café", "cp1252", "given", None),
        ("\ufeff<meta charset=koi8-r>é".encode("utf-16-le"), None, "é", "utf-16-le", "bom", "koi8-r"),
        ("<meta charset=utf-16>é".encode(), None, "é", "utf-8", "strict", None),
        ("<?xml version='1.0' encoding='koi8-r'?><p>да</p>".encode("koi8-r"), None, "да", "koi8-r", "declared", None),
    ],
)
def test_encodings(data: bytes, given: str | None, text: str, encoding: str, source: str, declared: str | None) -> None:
    document = read(data, encoding=given)
    assert document.text == text
    facts = {"encoding": encoding, "encoding_source": source}
    if declared is not None:
        facts["declared_encoding"] = declared
    if encoding == "utf-16-le":
        facts.pop("declared_encoding")  # the declaration is not ASCII there, and not looked for
    assert document.remarks == facts


def test_bytes_that_fit_no_encoding_are_refused_with_the_byte() -> None:
    with pytest.raises(DocumentError) as refused:
        read(b"<meta charset=utf-8>caf\xe9")
    assert refused.value.reason == "decode_error"
    assert str(refused.value).startswith("Byte 23 is not valid UTF-8")


@pytest.mark.parametrize("data", [b"%PDF-1.7 x", b"PK\x03\x04", b"\x89PNG\r\n"])
def test_other_formats_are_refused(data: bytes) -> None:
    with pytest.raises(DocumentError, match=r"This is no web page, whatever its name says\.") as refused:
        read(data)
    assert refused.value.reason == "unsupported_type"


def test_a_lone_surrogate_is_repaired() -> None:
    document = read(b"\xff\xfe" + "<p>a\ud800b".encode("utf-16-le", "surrogatepass"))
    assert (document.text, document.remarks["repaired_surrogates"]) == ("a\ufffdb", 1)


def test_xhtml_means_what_xml_means() -> None:
    markup = (
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a>b"/></head><body>'
        "<p>one<a id='x'/> two</p><p/><![CDATA[3 < 4 & 5]]><br/>end<div title=\"/>\"/></body></html>"
    )
    assert read(markup).text == "one two\n\n3 < 4 & 5\nend"
    assert read('<?xml version="1.0"?><p>a<![CDATA[open').text == "a"


INLINE = st.sampled_from(["b", "i", "span", "a", "em", "code", "font", "unknown"])
BLOCK = st.sampled_from(["p", "div", "blockquote", "li", "section", "h2", "td", "center", "pre", "ul", "ol"])
WORDS = st.text("abc", min_size=1, max_size=3)


def wrapped(names: st.SearchStrategy[str], inner: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(names, st.lists(inner, max_size=3)).map(
        lambda pair: (
            f"<{pair[0]}>{''.join(markup for markup, _ in pair[1])}</{pair[0]}>",
            "".join(text for _, text in pair[1]),
        )
    )


PHRASES = st.recursive(WORDS.map(lambda word: (word, word)), lambda inner: wrapped(INLINE, inner), max_leaves=4)
GONE = st.just(("<script>zz</script><!--zz--><style>zz</style>", ""))
PAGES = st.recursive(PHRASES | GONE, lambda inner: wrapped(BLOCK, inner), max_leaves=8)


@settings(QUICK, max_examples=40)
@given(st.lists(PAGES, max_size=3))
def test_no_text_is_lost_or_moved_and_inline_elements_break_nothing(parts: list[tuple[str, str]]) -> None:
    document = read("<body>" + "".join(markup for markup, _ in parts), list_numbers=False)
    assert "".join(document.text.split()) == "".join(text for _, text in parts)


@QUICK
@given(st.lists(PHRASES, max_size=4))
def test_inline_elements_break_nothing(parts: list[tuple[str, str]]) -> None:
    assert read("<body>" + "".join(markup for markup, _ in parts)).text == "".join(text for _, text in parts)


@QUICK
@given(st.text("<>/&;!-[]\"'= abptdrlh0\n", max_size=80))
def test_any_markup_is_read(markup: str) -> None:
    assert isinstance(read(f"<?xml?>{markup}"), ParsedDocument)
    assert isinstance(read(f"<body>{markup}", hidden=False), ParsedDocument)
