"""Long documents of real text: lengths are lognormal, the words those of licences in an installed package."""

from __future__ import annotations

import random
from pathlib import Path

__all__ = ["CHARACTERS_PER_TOKEN", "documents", "long_text"]

CHARACTERS_PER_TOKEN = 4.7
"""Of licences, in word pieces of the embedded tokenizer; lengths hit their aim within a few per cent."""

_MEDIAN, _SIGMA, _LONGEST = 1200, 1.0, 20_000


def documents(count: int, seed: int = 0) -> list[str]:
    """Texts with a median of about 1,200 tokens, none above 20,000, none equal to another."""
    draw, text = random.Random(seed), _all_text()
    texts = []
    for _ in range(count):
        tokens = min(_LONGEST, max(8, draw.lognormvariate(0, _SIGMA) * _MEDIAN))
        texts.append(_cut(text, draw.randrange(len(text)), int(tokens * CHARACTERS_PER_TOKEN)))
    return texts


def long_text(tokens: int, seed: int = 0) -> str:
    """One text of about so many tokens."""
    text = _all_text()
    return _cut(text, random.Random(seed).randrange(len(text)), int(tokens * CHARACTERS_PER_TOKEN))


def _all_text() -> str:
    import licensedcode

    paths = sorted((Path(licensedcode.__path__[0]) / "data" / "licenses").glob("*.LICENSE"))
    return "\n\n".join(path.read_text(encoding="utf-8").split("\n---\n", 1)[-1].strip() for path in paths)


def _cut(text: str, start: int, characters: int) -> str:
    """A run of whole words, around the end of the text if need be."""
    start = text.find(" ", start) + 1
    taken = text[start : start + characters]
    while len(taken) < characters:
        taken += text[: characters - len(taken)]
    return taken.rsplit(" ", 1)[0]
