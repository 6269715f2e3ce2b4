"""The handed text files, through tokenizing: where their entity stands, which words stay apart, and what is empty."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from longdoc.errors import DocumentError
from longdoc.text.chunking import ChunkingConfig, prepare
from longdoc.types import Document, TokenizedDocument
from tokenizer_kit import wrapped

KINDS = ("wordpiece", "byte_level_no_merges", "unigram_nfkc")
FILES = {
    "txt-empty": ("empty.txt", "whitespace.txt", "zero-width-only.txt", "combining-only.txt"),
    "txt-lines-and-controls": (
        "mixed-line-ends.txt",
        "form-feeds.txt",
        "unicode-line-separators.txt",
        "literal-special-tokens.txt",
        "soft-hyphens-and-odd-spaces.txt",
    ),
    "txt-unicode": (
        "emoji-zwj.txt",
        "emoji-flags-keycaps.txt",
        "zalgo.txt",
        "ligatures-expanding.txt",
        "arabic-diacritics.txt",
        "thai-no-spaces.txt",
        "devanagari-conjuncts.txt",
        "lookalikes-fullwidth.txt",
    ),
    "txt-size": ("five-megabytes-no-spaces.txt", "one-megabyte-acgt.txt", "300k-blank-lines.txt"),
}
WITH_ENTITY = (*FILES["txt-lines-and-controls"][1:], *FILES["txt-unicode"], "300k-blank-lines.txt")


@pytest.fixture(scope="module")
def manifest(shared_folder: Path) -> dict[str, dict[str, Any]]:
    content = json.loads((shared_folder / "cases" / "files" / "manifest.json").read_text(encoding="utf-8"))
    return {entry["file"]: entry for entry in content["files"]}


def text_of(shared_folder: Path, manifest: dict[str, dict[str, Any]], name: str) -> str:
    """As a reader hands it out: these files are UTF-8 without a mark, and nothing in them is changed."""
    text = (shared_folder / "cases" / "files" / name).read_bytes().decode("utf-8")
    expected = manifest[name]["expect"]
    assert len(text) == expected.get("text_len", len(text))
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == expected.get("text_sha256", digest)
    return text


def touching(tokenized: TokenizedDocument, start: int, end: int) -> list[int]:
    offsets = tokenized.offsets
    return [number for number in range(len(tokenized)) if offsets[number, 0] < end and offsets[number, 1] > start]


def test_no_file_of_these_kinds_is_forgotten(manifest: dict[str, dict[str, Any]]) -> None:
    for kind, names in FILES.items():
        assert {name for name, entry in manifest.items() if entry["kind"] == kind} == set(names)
    assert {name for name, entry in manifest.items() if "entity" in entry["expect"] and entry["kind"] in FILES} == set(
        WITH_ENTITY
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WITH_ENTITY)
def test_the_entity_stands_where_the_manifest_says(
    name: str, kind: str, shared_folder: Path, manifest: dict[str, dict[str, Any]]
) -> None:
    text = text_of(shared_folder, manifest, name)
    start, end = manifest[name]["expect"]["entity"]
    assert text[start:end] == "ADA"
    tokenizer = wrapped(kind)
    tokenized = tokenizer.tokenize(Document("d", text))
    tokens = touching(tokenized, start, end)
    found = (int(tokenized.offsets[tokens[0], 0]), int(tokenized.offsets[tokens[-1], 1]))
    unknown = any(int(tokenized.token_ids[token]) == tokenizer.unknown_id for token in tokens)
    # A word that the tokenizer does not know is one token, and so is all that is written together with it.
    glued = kind != "byte_level_no_merges" and unknown
    assert (found[0] <= start and end <= found[1]) if glued else found == (start, end)
    if glued:
        assert name in ("thai-no-spaces.txt", "ligatures-expanding.txt", "soft-hyphens-and-odd-spaces.txt")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES["txt-empty"])
def test_nothing_to_read_is_empty(
    name: str, kind: str, shared_folder: Path, manifest: dict[str, dict[str, Any]]
) -> None:
    assert manifest[name]["expect"]["flag"] == "empty"
    tokenizer = wrapped(kind)
    text = text_of(shared_folder, manifest, name)
    with pytest.raises(DocumentError) as caught:
        prepare(Document("d", text), tokenizer, ChunkingConfig().build(tokenizer))
    assert caught.value.reason == "empty"


@pytest.mark.parametrize("kind", KINDS)
def test_words_on_two_pages_are_not_glued(kind: str, shared_folder: Path, manifest: dict[str, dict[str, Any]]) -> None:
    name = "form-feeds.txt"
    text = text_of(shared_folder, manifest, name)
    tokenized = wrapped(kind).tokenize(Document("d", text))
    for left, right in manifest[name]["expect"]["must_not_glue"]:
        place = text.index(f"{left}\f") + len(left)
        assert text[place:].lstrip("\f").startswith(right)
        assert all(end <= place or start >= place for start, end in tokenized.offsets.tolist())
    ids = wrapped("wordpiece").tokenize(Document("d", text)).token_ids.tolist()
    assert ids == wrapped("wordpiece").tokenize(Document("d", text.replace("\f", " "))).token_ids.tolist()


def test_line_ends_of_all_kinds_separate_words(shared_folder: Path, manifest: dict[str, dict[str, Any]]) -> None:
    name = "mixed-line-ends.txt"
    text = text_of(shared_folder, manifest, name)
    tokenized = wrapped("wordpiece").tokenize(Document("d", text))
    assert [text[start:end] for start, end in tokenized.offsets.tolist()] == manifest[name]["expect"]["words"]


def test_control_tokens_in_a_text_are_not_obeyed(shared_folder: Path, manifest: dict[str, dict[str, Any]]) -> None:
    text = text_of(shared_folder, manifest, "literal-special-tokens.txt")
    for kind in KINDS:
        tokenizer = wrapped(kind)
        chunks = ChunkingConfig(size=64, overlap=8).build(tokenizer).chunks(tokenizer.tokenize(Document("d", text)))
        control = {*tokenizer.lead, *tokenizer.trail, tokenizer.pad_id}
        for chunk in chunks:
            assert sum(token in control for token in chunk.token_ids.tolist()) == tokenizer.specials


def test_a_cluster_of_marks_is_one_with_its_letter(shared_folder: Path, manifest: dict[str, dict[str, Any]]) -> None:
    text = text_of(shared_folder, manifest, "zalgo.txt")
    tokenized = wrapped("wordpiece").tokenize(Document("d", text))
    assert tokenized.offsets.tolist()[0] == [0, 202]
    assert tokenized.offsets.tolist()[-1] == [203, 206]


@pytest.mark.parametrize(
    "name", [pytest.param("five-megabytes-no-spaces.txt", marks=pytest.mark.slow), "one-megabyte-acgt.txt"]
)
def test_a_wall_of_letters_is_flagged(name: str, shared_folder: Path, manifest: dict[str, dict[str, Any]]) -> None:
    tokenizer = wrapped("wordpiece")
    text = text_of(shared_folder, manifest, name)
    prepared = prepare(Document("d", text), tokenizer, ChunkingConfig().build(tokenizer))
    assert prepared.unknown_share == pytest.approx(1.0, abs=1e-6)
    assert prepared.n_tokens == 1


def test_blank_lines_do_not_push_the_entity_out_of_the_first_chunk(
    shared_folder: Path, manifest: dict[str, dict[str, Any]]
) -> None:
    tokenizer = wrapped("wordpiece")
    text = text_of(shared_folder, manifest, "300k-blank-lines.txt")
    tokenized = tokenizer.tokenize(Document("d", text))
    assert [chunk.span for chunk in ChunkingConfig().build(tokenizer).chunks(tokenized)] == [(0, 1)]
