"""XML of known kinds, of kinds that the configuration explains, and of any other kind; and XML that means harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from longdoc.errors import DocumentError
from longdoc.readers import xml_entities
from longdoc.readers.document_settings import XmlConfig
from longdoc.readers.parsed import ParsedDocument
from longdoc.readers.xml import parse
from longdoc.readers.xml_vocabularies import VOCABULARIES
from reader_kit import QUICK

ENCODING = {"encoding": "utf-8", "encoding_source": "strict"}


def read(markup: str | bytes, **options: Any) -> ParsedDocument:
    return parse(markup.encode("utf-8") if isinstance(markup, str) else markup, options)


def headings(document: ParsedDocument) -> list[tuple[str, int]]:
    return [(document.text[start:].split("\n")[0], level) for start, level in document.sections or ()]


JATS = """<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "JATS.dtd">
<article xmlns:mml="http://www.w3.org/1998/Math/MathML" xml:lang="en"><front>
<journal-meta><journal-title>No Journal</journal-title></journal-meta>
<article-meta><article-id>12</article-id>
<title-group><article-title>On <italic>mice</italic> &amp; men</article-title></title-group>
<abstract><sec><title>Aim</title><p>To find.</p></sec></abstract></article-meta></front>
<body><sec><title>Methods</title><p>H<sub>2</sub>O at 5&nbsp;&micro;g [<xref>1</xref>].</p>
<sec><title>Animals</title><p>Ten.</p><list><list-item><p>one</p></list-item><list-item><p>two</p></list-item></list>
<table-wrap><label>Table 1</label><caption><p>Counts</p></caption><table><tr><th>a</th><th>b</th></tr>
<tr><td>1</td><td/></tr></table></table-wrap></sec></sec></body>
<back><ref-list><title>References</title><ref><label>1</label><element-citation><name><surname>Doe</surname>
<given-names>J</given-names></name><year>2001</year><article-title>Old</article-title></element-citation></ref>
</ref-list></back></article>"""


def test_a_journal_article_is_its_title_abstract_body_and_back() -> None:
    document = read(JATS)
    text = (
        "On mice & men||Aim||To find.||Methods||H2O at 5\u00a0µg [1].||Animals||Ten.||one||two||Table 1||Counts||"
        "a\tb|1||References||1 Doe J 2001 Old"
    )
    assert document.text == text.replace("|", "\n")
    assert headings(document) == [("Aim", 2), ("Methods", 1), ("Animals", 2), ("References", 1)]
    assert document.remarks == {**ENCODING, "title": "On mice & men", "lang": "en"}


def test_a_law_in_akoma_ntoso_has_its_chapters_and_articles_as_sections() -> None:
    document = read(
        '<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act><meta><identification>no</identification>'
        "</meta><preface><p><docTitle>Act on <i>Bees</i></docTitle></p></preface><body><chapter><num>I</num>"
        "<heading>General</heading><article><num>1.</num><content><p>Bees are <ref>free</ref>.</p></content></article>"
        "<article><paragraph><num>(2)</num><content><p>All.</p></content></paragraph></article></chapter></body></act>"
        "</akomaNtoso>"
    )
    assert document.text == "Act on Bees||I||General||1.||Bees are free.||(2)||All.".replace("|", "\n")
    assert headings(document) == [("I", 1), ("1.", 2), ("(2)", 2)]
    assert document.remarks["title"] == "Act on Bees"


CASE = (
    "<c:case xmlns:c='urn:c'><c:meta><id>9</id><name>A v B</name></c:meta>"
    "<c:decision><c:part><p>One <b>bold</b> move.</p><note>no</note><p>Two.</p></c:part>"
    "<c:part><c:part><p>Three.</p></c:part></c:part></c:decision></c:case>"
)


def test_any_other_kind_is_read_element_by_element() -> None:
    document = read(CASE)
    assert document.text == "9\nA v B\nOne bold move.\nno\nTwo.\nThree."
    assert document.sections is None


def test_the_configuration_says_what_counts() -> None:
    options = {
        "text": ("case/decision",),
        "title": "meta/name",
        "sections": ("decision/part", "part/part"),
        "paragraphs": ("p",),
        "left_out": ("*/note",),
    }
    document = read(CASE, **options)
    assert document.text == "One bold move.\n\nTwo.\n\nThree."
    assert headings(document) == [("One bold move.", 1), ("Three.", 2)]
    assert document.remarks["title"] == "A v B"
    assert read(CASE, text=("no/such",)).text == ""
    assert read(CASE, left_out=("note",)).text == "9\nA v B\nOne bold move.\nTwo.\nThree."


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError) as refused:
        XmlConfig(text=("//p[1]",))
    assert (
        "A path of `read.xml` must be names of elements with `/` between them, but is `//p[1]` instead. "
        "Example: case/decision/p."
    ) in str(refused.value)


def test_known_kinds_do_not_share_an_outermost_element() -> None:
    roots = [root for known in VOCABULARIES for root in known.roots]
    assert len(roots) == len(set(roots))


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("<?xml version='1.0' encoding='koi8-r'?><a>да</a>".encode("koi8-r"), "да", "koi8-r"),
        ("<?xml version='1.0' encoding='utf-16'?><a>é</a>".encode("utf-16"), "é", "utf-16-le"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a>“é”</a>".encode("cp1252"), "“é”", "cp1252"),
        (b"<!DOCTYPE a SYSTEM 'x.dtd'><a>&#233;&eacute;&lt;<![CDATA[<b>]]></a>", "éé<<b>", "utf-8"),
    ],
)
def test_encodings(data: bytes, text: str, encoding: str) -> None:
    document = read(data)
    assert (document.text, document.remarks["encoding"]) == (text, encoding)


def test_entities_of_the_document_are_expanded_and_others_counted(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    document = read(
        f'<!DOCTYPE a SYSTEM "x.dtd" [<!ENTITY co "Acme <b>Ltd</b> &#169;"><!ENTITY two "&co; &amp; &co;">'
        f'<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>&two;, &x;&nothing;&hellip;</a>'
    )
    assert document.text == "Acme Ltd © & Acme Ltd ©, …"
    assert document.remarks["entities_left_out"] == 2


def laughs(levels: int, times: int) -> str:
    entities = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * times}">' for n in range(levels))
    return f'<!DOCTYPE a [<!ENTITY l0 "lol">{entities}]><a>&l{levels};</a>'


@pytest.mark.parametrize(
    "markup",
    [
        laughs(9, 10),
        '<!DOCTYPE a [<!ENTITY x "&y;"><!ENTITY y "&x;">]><a>&x;</a>',
        f'<!DOCTYPE a [<!ENTITY x "{"A" * 50_000}">]><a>{"&x;" * 1000}</a>',
    ],
)
def test_entities_without_end_are_forbidden(markup: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read(markup)
    limit = xml_entities.MOST_CHARACTERS
    said = f"The entities of the XML expand to more than {limit} characters."
    assert (refused.value.reason, str(refused.value)) == ("xml_forbidden", said)


def test_a_few_laughs_are_fine() -> None:
    assert read(laughs(2, 3)).text == "lol" * 9


@pytest.mark.parametrize(
    "markup", ["<a>", "plain text", "", "<a>\n<b>\n</a>", "<a>&nbsp;</a>", "<a>" * 5000 + "</a>" * 5000]
)
def test_what_is_not_well_formed_is_unreadable(markup: str) -> None:
    with pytest.raises(DocumentError, match=r"^The XML of the document is not well-formed or too deep, in line \d+\.$"):
        read(markup)


def test_no_error_holds_the_text() -> None:
    with pytest.raises(DocumentError) as refused:
        read("<a>canary</canary>")
    assert "canary" not in str(refused.value)
    assert refused.value.__cause__ is None


WORDS = st.text("abc", min_size=1, max_size=3)
TREES = st.recursive(
    WORDS.map(lambda word: (word, word)),
    lambda inner: st.tuples(
        st.sampled_from(["p", "sec", "b", "title", "td", "tr", "table", "label", "x"]), st.lists(inner, max_size=3)
    ).map(
        lambda pair: (
            f"<{pair[0]}>{'<!--zz-->'.join(xml for xml, _ in pair[1])}</{pair[0]}>",
            "".join(text for _, text in pair[1]),
        )
    ),
    max_leaves=8,
)


@settings(QUICK, max_examples=40)
@given(st.lists(TREES, max_size=3))
def test_no_text_is_lost_or_moved(parts: list[tuple[str, str]]) -> None:
    content, text = "".join(xml for xml, _ in parts), "".join(text for _, text in parts)
    for markup in (f"<doc>{content}</doc>", f"<article><body>{content}</body></article>"):
        assert "".join(read(markup).text.split()) == text
