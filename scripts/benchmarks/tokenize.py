"""Suite `tokenize`: texts to token ids, and to places in the text, against the tokenizer library itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.alternate import Candidate
from benchmarks.chunks import ENCODER
from benchmarks.corpus import CHARACTERS_PER_TOKEN, documents, long_text

__all__ = ["candidates", "library", "of_transformers", "ours"]

Work = Callable[[], dict[str, Any]]


def candidates(quick: bool, count: int | None = None) -> list[Candidate]:
    """Many documents, and single texts of about 1 MB, in which a whole string at once is slow.

    The library spreads a batch over the cores, but never one text: a document at a time, as most programs ask, is a
    row of its own.
    """
    rows = []
    long = {"long": 2 if quick else 5}
    for name, texts in (
        ("", {"count": count or (200 if quick else 1000)}),
        (", 1 MB texts", long),
    ):
        rows += [
            Candidate(f"longdoc ids{name}", "tokenize:ours", options=texts),
            Candidate(f"longdoc ids and places{name}", "tokenize:ours", options=texts | {"offsets": True}),
            Candidate(f"tokenizers, encode_batch_fast{name}", "tokenize:library", options=texts),
            Candidate(
                f"tokenizers, encode_batch{name}", "tokenize:library", options=texts | {"method": "encode_batch"}
            ),
        ]
    for method in ("encode_batch_fast", "encode_batch"):
        one = long | {"method": method, "one_by_one": True}
        rows.append(Candidate(f"tokenizers, {method}, 1 MB texts one by one", "tokenize:library", options=one))
    rows.append(
        Candidate("transformers, its tokenizer, 1 MB texts one by one", "tokenize:of_transformers", options=long)
    )
    longest = 10 if quick else 50
    return [*rows, Candidate(f"longdoc ids, one text of {longest} MB", "tokenize:ours", options={"megabytes": longest})]


def ours(count: int = 0, long: int = 0, megabytes: int = 0, offsets: bool = False) -> Work:
    """As `Pipeline` does it where places are asked for, and where not."""
    from longdoc.checkpoints import resolve_checkpoint
    from longdoc.text.tokenizing import DocumentTokenizer
    from longdoc.types import Document

    tokenizer, texts = DocumentTokenizer.from_folder(resolve_checkpoint(ENCODER)), _texts(count, long, megabytes)
    given = [Document(id=str(number), text=text) for number, text in enumerate(texts)]

    def work() -> dict[str, Any]:
        if offsets:
            return {"tokens": sum(len(found.token_ids) for found in tokenizer.tokenize_many(given))}
        found = tokenizer.ids_of_many(texts)
        return {"tokens": sum(len(segment.token_ids) for segments in found for segment in segments)}

    return work


def library(count: int = 0, long: int = 0, method: str = "encode_batch_fast", one_by_one: bool = False) -> Work:
    """The library's own call on whole strings, its results as it gives them."""
    from tokenizers import Tokenizer

    from longdoc.checkpoints import resolve_checkpoint

    tokenizer = Tokenizer.from_file(str(resolve_checkpoint(ENCODER) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts, encode = _texts(count, long), getattr(tokenizer, method)

    def work() -> dict[str, Any]:
        calls = [[text] for text in texts] if one_by_one else [texts]
        return {"tokens": sum(len(found.ids) for call in calls for found in encode(call, add_special_tokens=False))}

    return work


def of_transformers(count: int = 0, long: int = 0) -> Work:
    """`tokenizer(text)` for each text."""
    from transformers import AutoTokenizer

    from longdoc.checkpoints import resolve_checkpoint

    tokenizer, texts = AutoTokenizer.from_pretrained(str(resolve_checkpoint(ENCODER))), _texts(count, long)

    def work() -> dict[str, Any]:
        found = (tokenizer(text, add_special_tokens=False, verbose=False) for text in texts)
        return {"tokens": sum(len(each["input_ids"]) for each in found)}

    return work


def _texts(count: int, long: int, megabytes: int = 0) -> list[str]:
    if megabytes:
        return [long_text(int(megabytes * 1e6 / CHARACTERS_PER_TOKEN))]
    return documents(count) if count else [long_text(int(1e6 / CHARACTERS_PER_TOKEN), seed) for seed in range(long)]
