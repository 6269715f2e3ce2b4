"""Characters that Word writes as places in the fonts Symbol and Wingdings, and what they look like in Unicode.

Places of Symbol: Unicode's mapping table for Adobe's Symbol encoding. Of Wingdings only boxes, check marks, bullets
and arrows are here: those mean something in a form or a list. Others stay what they are, a private-use character.
"""

from __future__ import annotations

__all__ = ["symbol"]

_SYMBOL_LETTERS = dict(
    zip(
        range(0x41, 0x5B),
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ",
        strict=True,
    )
) | dict(zip(range(0x61, 0x7B), "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True))
_SYMBOL_SIGNS = {
    **{0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2A: "∗", 0x2D: "−", 0x40: "≅", 0x5C: "∴", 0x5E: "⊥", 0x7E: "∼"},
    **{0xA1: "ϒ", 0xA2: "′", 0xA3: "≤", 0xA4: "⁄", 0xA5: "∞", 0xA6: "ƒ", 0xA7: "♣", 0xA8: "♦", 0xA9: "♥", 0xAA: "♠"},
    **{0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°", 0xB1: "±", 0xB2: "″", 0xB3: "≥", 0xB4: "×"},
    **{0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xBC: "…", 0xC0: "ℵ"},
    **{0xC4: "⊗", 0xC5: "⊕", 0xC6: "∅", 0xC7: "∩", 0xC8: "∪", 0xC9: "⊃", 0xCA: "⊇", 0xCC: "⊂", 0xCD: "⊆"},
    **{0xCE: "∈", 0xCF: "∉", 0xD0: "∠", 0xD1: "∇", 0xD5: "∏", 0xD6: "√", 0xD7: "⋅", 0xD8: "¬", 0xD9: "∧", 0xDA: "∨"},
    **{0xDB: "⇔", 0xDC: "⇐", 0xDD: "⇑", 0xDE: "⇒", 0xDF: "⇓", 0xE5: "∑", 0xF2: "∫"},
    **{0xD2: "®", 0xD3: "©", 0xD4: "™", 0xE2: "®", 0xE3: "©", 0xE4: "™"},
}
_WINGDINGS = {
    **{0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "☐", 0xD8: "➢"},
    **{0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"},
}
_FONTS = {"symbol": _SYMBOL_LETTERS | _SYMBOL_SIGNS, "wingdings": _WINGDINGS}


def symbol(font: str | None, code: str | None) -> str:
    """The character of `<w:sym w:font="..." w:char="F0B7"/>`; empty for a code that is none."""
    try:
        number = int(code or "", 16)
    except ValueError:
        return ""
    place = number - 0xF000 if 0xF000 <= number <= 0xF0FF else number
    known = _FONTS.get((font or "").lower(), {}).get(place)
    if known is not None:
        return known
    private = 0xF000 <= number <= 0xF0FF
    if private and (font or "").lower() == "symbol" and 0x20 <= place < 0x7F:
        return chr(place)  # digits and punctuation look as in any font
    if 0x20 <= number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF:
        return chr(number)
    return ""
