"""What the elements of known kinds of XML mean for the text: the field maps of the XML reader.

JATS is the format of journal articles (ANSI/NISO Z39.96), Akoma Ntoso that of laws, debates and judgements (OASIS
LegalDocML 1.0). A new kind is one value in `VOCABULARIES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from longdoc.readers.document_settings import XmlConfig

__all__ = ["VOCABULARIES", "Paths", "Vocabulary", "vocabulary_of"]


class Paths:
    """Paths such as `case/decision/p` that begin at any depth; `*` stands for any one name."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._by_end: dict[str, list[list[str]]] = {}
        for path in paths:
            names = path.split("/")
            self._by_end.setdefault(names[-1], []).append(names)

    def __bool__(self) -> bool:
        return bool(self._by_end)

    def match(self, place: Sequence[str]) -> bool:
        """Whether one of the paths leads to the element at `place`: the names from the outermost to its own."""
        for end in (place[-1], "*"):
            for names in self._by_end.get(end, ()):
                here = place[-len(names) :]
                if len(here) == len(names) and all(a in ("*", b) for a, b in zip(names, here, strict=True)):
                    return True
        return False


_NONE = Paths()


@dataclass(frozen=True)
class Vocabulary:
    """What elements mean.

    Attributes:
        roots: outermost elements of this kind.
        text: what holds the text; empty for all.
        title: what holds the title.
        sections: what is a section; one inside another is a level deeper.
        paragraphs, lines: blocks.
        words: what is at least a word of its own, whatever stands next to it.
        tables, rows, cells: of tables.
        dropped: what is no text.
        guessed: whether an element among elements without text between them is a line.
    """

    roots: frozenset[str] = frozenset()
    text: Paths = _NONE
    title: Paths = _NONE
    sections: Paths = _NONE
    paragraphs: Paths = _NONE
    lines: Paths = _NONE
    words: Paths = _NONE
    tables: Paths = _NONE
    rows: Paths = _NONE
    cells: Paths = _NONE
    dropped: Paths = _NONE
    guessed: bool = False


_JATS = Vocabulary(
    roots=frozenset(["article"]),
    text=Paths(
        [
            *("article-meta/title-group", "article-meta/abstract", "article-meta/trans-abstract"),
            *("article-meta/kwd-group", "article/body", "article/back", "article/floats-group", "article/floats-wrap"),
            *("sub-article", "response"),
        ]
    ),
    title=Paths(["article-meta/title-group/article-title"]),
    sections=Paths(["sec", "abstract", "trans-abstract", "ack", "app", "ref-list", "sub-article", "response", "notes"]),
    paragraphs=Paths(
        [
            *(
                "p",
                "title",
                "title-group",
                "fig",
                "table-wrap",
                "table-wrap-foot",
                "caption",
                "disp-formula",
                "boxed-text",
            ),
            *("disp-quote", "list", "def-list", "verse-group", "fn-group", "statement", "preformat", "code", "speech"),
            *(
                "supplementary-material",
                "kwd-group",
                "subtitle",
                "title-group/article-title",
                "front-stub",
                "body",
                "back",
                "glossary",
            ),
        ]
    ),
    lines=Paths(["list-item", "def-item", "fn", "ref", "verse-line", "attrib", "break", "corresp"]),
    words=Paths(
        [
            *(
                "article-title",
                "label",
                "name",
                "surname",
                "given-names",
                "suffix",
                "prefix",
                "etal",
                "year",
                "month",
                "day",
                "source",
            ),
            *("volume", "issue", "fpage", "lpage", "elocation-id", "pub-id", "publisher-name", "publisher-loc", "kwd"),
            *("person-group", "collab", "string-name", "edition", "conf-name", "chapter-title", "data-title", "term"),
            *("def", "citation", "element-citation", "mixed-citation", "aff", "country", "institution", "addr-line"),
        ]
    ),
    tables=Paths(["table"]),
    rows=Paths(["tr"]),
    cells=Paths(["td", "th"]),
    dropped=Paths(["tex-math", "annotation", "object-id", "alternatives/graphic", "alt-text", "processing-meta"]),
)
_AKOMA_NTOSO = Vocabulary(
    roots=frozenset(["akomaNtoso"]),
    title=Paths(["docTitle", "shortTitle"]),
    sections=Paths(
        [
            *(
                "book",
                "part",
                "subpart",
                "title",
                "subtitle",
                "chapter",
                "subchapter",
                "section",
                "subsection",
                "article",
            ),
            *(
                "division",
                "tome",
                "rule",
                "proviso",
                "introduction",
                "background",
                "arguments",
                "remedies",
                "motivation",
            ),
            *(
                "decision",
                "debateSection",
                "questions",
                "answers",
                "preamble",
                "conclusions",
                "attachment",
                "component",
            ),
        ]
    ),
    paragraphs=Paths(
        [
            *("p", "block", "blockList", "paragraph", "clause", "heading", "num", "subheading", "crossHeading", "toc"),
            *("longTitle", "formula", "recital", "recitals", "citation", "citations", "preface", "header", "coverPage"),
            *("speech", "question", "answer", "scene", "narrative", "summary", "other", "blockContainer", "container"),
            *(
                "level",
                "list",
                "point",
                "indent",
                "alinea",
                "subparagraph",
                "subclause",
                "sublist",
                "hcontainer",
                "wrapUp",
            ),
            *(
                "intro",
                "content",
                "body",
                "mainBody",
                "judgmentBody",
                "debateBody",
                "amendmentBody",
                "ul",
                "ol",
                "tblock",
            ),
        ]
    ),
    lines=Paths(["item", "li", "listIntroduction", "listConclusion", "tocItem", "eol", "br"]),
    tables=Paths(["table"]),
    rows=Paths(["tr"]),
    cells=Paths(["td", "th"]),
    dropped=Paths(["meta"]),
)
VOCABULARIES = (_JATS, _AKOMA_NTOSO)


def vocabulary_of(root: str, config: XmlConfig) -> Vocabulary:
    """The vocabulary of a document by its outermost element, unless the configuration says what counts."""
    if config != XmlConfig():
        return Vocabulary(
            text=Paths(config.text),
            title=Paths([config.title] if config.title else ()),
            sections=Paths(config.sections),
            paragraphs=Paths(config.paragraphs),
            dropped=Paths(config.left_out),
            guessed=not config.paragraphs,
        )
    return next((known for known in VOCABULARIES if root in known.roots), Vocabulary(guessed=True))
