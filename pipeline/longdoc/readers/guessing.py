"""Which legacy encoding a text is in, when nothing declares it: an answer only when it is certain enough.

charset-normalizer proposes decodings and names the language of each. Its order among the proposals is not to be
trusted (it takes Spanish in Latin-1 for Latin-10, and Shift-JIS for Korean), so that a proposal counts here only if
the characters it yields fit the language: no letter that the language does not have, no capital in mid-word, no
symbol inside a word, kana in Japanese, frequent characters in Chinese. If two proposals that read differently fit
languages that are equally likely, there is no answer.
"""

from __future__ import annotations

import itertools
import re

from longdoc.readers.alphabets import ALPHABETS, COMMON_HAN, PUNCTUATION

__all__ = ["guess_encoding"]

_CANDIDATES = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859_2"),
    *("koi8_r", "koi8_u", "cp866", "iso8859_5", "cp874", "gb18030", "big5", "cp932", "euc_jp", "cp949"),
)
_LEAST_COHERENCE = 0.5
"""Share of a language's usual letters that charset-normalizer must find."""
_LEAST_FITTING = 0.98
"""Share of the characters beyond ASCII that must fit the language."""
_LEAST_EVIDENCE = 3
"""Characters beyond ASCII without which anything fits."""
_SYMBOL_IN_WORD = re.compile(r"(?<=[^\W\d_])[±§¶¾¼½×¡¿«“„](?=[^\W\d_])")


def guess_encoding(sample: bytes) -> str | None:
    """Python's name of the encoding of `sample`, or None if several are possible or none is likely."""
    from charset_normalizer import from_bytes

    fitting: dict[str, tuple[int, str]] = {}
    proposals = from_bytes(sample, preemptive_behaviour=False, enable_fallback=False, cp_isolation=list(_CANDIDATES))
    for proposal in proposals:
        names = {proposal.encoding, *proposal.could_be_from_charset}
        name = next((candidate for candidate in _CANDIDATES if candidate in names), None)
        text = str(proposal)
        if name is None or text in fitting:
            continue
        rule = _EAST_ASIAN.get(name)
        if rule is not None:
            rank = 0 if rule(text) else None
        elif proposal.coherence >= _LEAST_COHERENCE and _words_are_plain(text):
            ranks = enumerate(proposal.languages)  # the likeliest first
            rank = next((rank for rank, language in ranks if _fits_alphabet(text, language)), None)
        else:
            rank = None
        if rank is not None:
            fitting[text] = rank, name
    best = sorted(fitting.values())[:2]
    if len(best) == 2 and best[0][0] == best[1][0]:
        return None
    return best[0][1] if best else None


def _fits_alphabet(text: str, language: str) -> bool:
    alphabet = ALPHABETS.get(language)
    if alphabet is None:
        return False
    beyond = [c for c in text if c > "\x7f"]
    if len(beyond) < _LEAST_EVIDENCE:
        return False
    foreign = "".join(c for c in beyond if c not in PUNCTUATION).lower()
    return sum(c in alphabet for c in foreign) >= _LEAST_FITTING * len(foreign)


def _words_are_plain(text: str) -> bool:
    letters = sum(c.isalpha() for c in text)
    symbols = len(_SYMBOL_IN_WORD.findall(text))
    humps = sum(a.islower() and b.isupper() for a, b in itertools.pairwise(text))
    return symbols <= 0.002 * letters and humps <= 0.01 * letters


def _counts(text: str) -> tuple[int, int, int, int, int]:
    """Characters beyond ASCII: all, Han, kana, Hangul, punctuation; zeros where ASCII letters outweigh them."""
    beyond = [c for c in text if c > "\x7f"]
    if len(beyond) < 0.3 * sum(c.isalpha() for c in text):
        return 0, 0, 0, 0, 0
    han = sum("\u4e00" <= c <= "\u9fff" for c in beyond)
    kana = sum("\u3041" <= c <= "\u30fe" for c in beyond)
    hangul = sum("\uac00" <= c <= "\ud7a3" for c in beyond)
    marks = sum("\u3000" <= c <= "\u3040" or "\uff01" <= c <= "\uff5e" or c in PUNCTUATION for c in beyond)
    return len(beyond), han, kana, hangul, marks


def _is_chinese(text: str) -> bool:
    total, han, _, _, marks = _counts(text)
    return han > 0 and han + marks >= _LEAST_FITTING * total and sum(c in COMMON_HAN for c in text) >= 0.15 * han


def _is_japanese(text: str) -> bool:
    total, han, kana, _, marks = _counts(text)
    return total > 0 and han + kana + marks >= _LEAST_FITTING * total and kana >= 0.2 * total


def _is_korean(text: str) -> bool:
    total, han, _, hangul, marks = _counts(text)
    if not total or hangul + han + marks < _LEAST_FITTING * total or hangul < 0.7 * total:
        return False
    unusual = len(text) - len(text.encode("euc_kr", "ignore").decode("euc_kr"))
    return unusual <= 0.005 * total  # wrong readings are full of syllables that no Korean text uses


_EAST_ASIAN = {
    "gb18030": _is_chinese,
    "big5": _is_chinese,
    "cp932": _is_japanese,
    "euc_jp": _is_japanese,
    "cp949": _is_korean,
}
