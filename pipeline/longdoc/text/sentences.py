"""Where sentences begin, by rules: a full stop ends one unless it belongs to an abbreviation, a number or a list mark.

The rules are for legal, clinical and business texts in the languages of `abbreviations.py` and in scripts with full
stops of their own (`。` `؟` `۔` `।`). What is wanted are good places to cut, so in doubt there is no end: a missed end
costs little, a cut inside a citation tears it apart. An empty line and a heading always end a sentence, a single line
end only before a list mark.

Time is linear in the length of the text: the text is searched once, and at each candidate a bounded number of
characters around it is looked at.
"""

from __future__ import annotations

import re
from itertools import pairwise

from longdoc.text.abbreviations import Abbreviations, abbreviations
from longdoc.text.headings import find_headings

__all__ = ["sentence_starts", "split_sentences"]

_LOOK = 40
"""Characters on each side of a candidate that are looked at."""

_OPENERS = "\"'“”„‚‘’«»‹›([{「『（【《〈¿¡*_-–—•§"
_CLOSERS = "\"'“”’»«›‹)\\]}」』）】》〉*_"
_CANDIDATE = re.compile(
    rf"[.!?…。！？｡．؟۔।॥]+[{_CLOSERS}]*(?:\[\d[\d,; –-]{{0,20}}\])*[¹²³⁰-⁹]*(?:[ \u00a0\u202f]»)?\s*"
    r"|[\n\r\f\v\x85\u2028\u2029]\s*"
)
# Every part of the pattern but the first character may be missing: no match fails late, no text is looked at again.

_OWN_STOPS = frozenset("。！？｡．؟۔।॥")
_LINE_ENDS = re.compile(r"\r\n|[\n\r\v\x85\u2028\u2029]")
_LIST_MARK = re.compile(r"[-*•‣▪●○–—·]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivxlcIVXLC]{1,6})[.)]\s|§\s?\d|\(\d{1,3}\)|#{1,6}\s")
_ITEM = re.compile(r"[\[(]?(?:\d{1,3}|[a-z]|[ivxlc]{1,6})[\])]\s")
_ENUMERATOR = re.compile(r"[\[(]?(?:\d{1,3}(?:\.\d{1,3}){0,4}|[a-zA-Z]|[ivxlcIVXLC]{1,6})[\])]?\.?[\])]?")
_WORD = re.compile(r"[^\W\d_]+")
_DOTTED = re.compile(r"[^\W\d_]{1,3}(?:\.(?:[^\W_]{1,4}|\d[a-z]{1,2}))+")
_ROMAN = re.compile(r"[IVXLCivxlc]+(?![^\W_])")
_LETTER = re.compile(r"[^\W\d_]\.")
_DOSE = re.compile(r"(?:PO|IV|IM|SC|SQ|SL|PR|PRN|QD|QID|BID|TID|QHS|HS|QAM|QPM|Q\d\w*|INH)(?![^\W_])")


def split_sentences(text: str, language: str | None = None) -> list[str]:
    """The sentences of a text, each with the white space behind it: joined, they are the text."""
    starts = sentence_starts(text, language)
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def sentence_starts(text: str, language: str | None = None) -> list[int]:
    """Where sentences begin, in code points: 0, and behind each end of a sentence and the white space there.

    Args:
        text: any; nothing is normalised.
        language: a code (`de`); None or `auto` = the abbreviations of all languages that are known.

    Returns:
        Rising offsets below the length of the text; none for an empty text.
    """
    if not text:
        return []
    rules = _Rules(text, abbreviations(language))
    starts = {0}
    start = 0  # of the sentence
    headings = find_headings(text)
    edges = sorted({edge for heading in headings for edge in heading})
    passed = 0
    for match in _CANDIDATE.finditer(text):
        end = match.end()
        while passed < len(edges) and edges[passed] <= match.start():
            start = max(start, edges[passed])
            passed += 1
        if end < len(text) and rules.ends(match, start):
            starts.add(end)
            start = end
    # A heading ends with its line: the white space below it, empty lines too, is its own.
    starts |= {rules.past_space(edge) for edge in edges}
    return sorted(place for place in starts if place < len(text))


class _Rules:
    """What decides on a candidate: a run of stops with what closes behind it and white space, or a line end."""

    def __init__(self, text: str, known: Abbreviations) -> None:
        self.text, self.known = text, known
        self._spaces = re.compile(r"\s*")

    def past_space(self, place: int) -> int:
        match = self._spaces.match(self.text, place)
        return place if match is None else match.end()

    def ends(self, match: re.Match[str], start: int) -> bool:
        """Whether a sentence that began at `start` ends with the candidate, behind which text follows."""
        found = match[0]
        stops = found.rstrip()
        space = found[len(stops) :]
        if space and _lines(space) > 1:
            return True
        ahead = self.text[match.end() : match.end() + _LOOK]
        if not stops:  # a single line end without a stop before it
            return _LIST_MARK.match(ahead) is not None and not self._list_goes_on(match.start())
        first = ahead.lstrip(_OPENERS)[:1]
        if any(stop in _OWN_STOPS for stop in stops):
            closed = stops[-1] not in _OWN_STOPS
            return not (ahead[0] in "，、,;；:：" or (closed and ahead[0] in "とっ"))
        if not space or first.islower() or ahead[0] in ",;:.!?…)]}%/=&+":
            return bool(space) and _ITEM.match(ahead) is not None and not self._is_number(match.start(), start)
        if stops[0] != "." or stops.startswith(".."):
            return True
        return self._full_stop(match.start(), stops, ahead, first, start)

    def _list_goes_on(self, place: int) -> bool:
        """Whether the line before ends with a word behind which a number belongs to it: `Art.`, `§`, `No.`, `and`."""
        word = self.text[max(0, place - _LOOK) : place].rsplit(None, 1)[-1:]
        return bool(word) and word[0].rstrip(".").casefold() in self.known.numbered

    def _is_number(self, place: int, start: int) -> bool:
        """Whether all of a sentence up to a dot is the number of an item: "1. The court"."""
        return place - start < _LOOK and _ENUMERATOR.fullmatch(self.text[start:place].strip()) is not None

    def _full_stop(self, place: int, stops: str, ahead: str, first: str, start: int) -> bool:
        """One dot before white space, behind which no small letter follows."""
        text, known = self.text, self.known
        before = text[max(start, place - _LOOK) : place]
        word = "" if not before or before[-1].isspace() else before.rsplit(None, 1)[-1]
        if self._is_number(place, start):
            return False
        if len(stops) > 1 or not word:
            return True  # something is closed behind the dot, or the dot stands alone
        word = word.lstrip(_OPENERS)
        for apostrophe in "'’":
            word = word.rsplit(apostrophe, 1)[-1] if word.count(".") == 0 and word.lower() not in known.either else word
        lower = word.casefold()
        following = _WORD.match(ahead.lstrip(_OPENERS))
        letter = _LETTER.match(ahead) is not None  # "P." of "Civ. P."
        begins = following is not None and following[0] in known.starters and not letter
        if following is not None and ahead.startswith(f"{following[0]}.") and following[0].casefold() in known.numbered:
            begins = False  # "No." of "L. No. 5"
        number = first.isdigit() or ahead[0] == "§" or letter or _ROMAN.match(ahead) is not None
        if lower in known.never or self._joined(before, lower) in known.never:
            return False
        if number and (lower in known.numbered or lower.endswith("str")):
            return False  # German streets are written as one word: "Hauptstr. 5"
        if word.isdigit():
            return not self._ordinal(before, word, following, begins)
        if lower in known.numbered and lower not in known.either:
            return True if not (len(word) == 1 and word.isupper()) else begins
        if lower in known.either or word in known.either or len(word) == 1 or _DOTTED.fullmatch(word):
            # An abbreviation or an initial: the sentence is over only if the next word says so.
            return begins or (ahead[0] in "•●▪*-–—#" and ahead[1:2].isspace())
        if (first.isdigit() or letter) and len(word) <= 4 and word[:1].isupper():
            return False  # "Stat. 12", "Rev. 45": more such than names of four letters before a number
        return _DOSE.match(ahead) is None or not lower.isalpha()

    @staticmethod
    def _joined(before: str, lower: str) -> str:
        """The abbreviation with the parts before it that are one letter and a dot: `z. B` -> `z.b`."""
        parts = before.split()[:-1]
        while parts and len(parts[-1]) == 2 and parts[-1][1] == "." and parts[-1][0].isalpha():
            lower = parts.pop().casefold() + lower
        return lower

    def _ordinal(self, before: str, word: str, following: re.Match[str] | None, begins: bool) -> bool:
        """Whether a number with a dot is an ordinal, as German writes it (`am 3. Mai`, `der 2. Senat`), or an item's
        (`Diagnoses: 1. Anaemia`)."""
        words = before.split()
        if len(word) > 2 or following is None or len(words) < 2:
            return False
        if words[-2][-1] in ":;":
            return True
        ordinal = following[0] in self.known.ordinal_after or words[-2].casefold() in self.known.ordinal_before
        return ordinal and not begins


def _lines(space: str) -> int:
    return len(_LINE_ENDS.findall(space))
