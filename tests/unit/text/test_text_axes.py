"""Sections, paragraphs, sentences and languages as axes of positions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import longdoc
from longdoc.errors import UsageError
from longdoc.languages import COMMON_LANGUAGES
from longdoc.nn.position.structure import tree_steps
from longdoc.pipeline import Pipeline
from longdoc.text.axes import AXES, DocumentAxes
from longdoc.text.batching import collate
from longdoc.text.chunking import Chunker, ChunkingConfig, prepare
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document
from nn_kit import tiny_encoder, tiny_model

TEXT = """Dear colleague. Thank you!

Second of no section.

# History
He smoked. "Since 1990."  He stopped.

   \t
One more.
## Findings
None? None.
"""


def numbers(text: str, name: str, words: list[str], language: str | None = None) -> list[int]:
    """The number on an axis of the token that begins where each word does first."""
    offsets = np.array([[text.index(word), text.index(word) + len(word)] for word in words], dtype=np.int32)
    return DocumentAxes(Document(id="1", text=text, language=language), [name]).of(offsets)[0].tolist()  # type: ignore[list-item]


def test_a_letter_is_a_tree_of_sections_paragraphs_and_sentences() -> None:
    words = ["Dear", "Thank", "Second", "# Hist", "He smoked", '"Since', "He stopped", "One", "## F", "None?", "None."]
    assert numbers(TEXT, "section", words) == [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    assert numbers(TEXT, "paragraph", words) == [1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1]
    assert numbers(TEXT, "sentence", words) == [1, 2, 1, 1, 2, 3, 4, 1, 1, 2, 3]
    assert numbers(TEXT, "depth", words) == [2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3]


def test_other_scripts_have_sentences_and_form_feeds_begin_sections() -> None:
    assert numbers("他们来了。我们走了。", "sentence", ["他们", "我们"]) == [1, 2]
    assert numbers("هل جاء؟ نعم.", "sentence", ["هل", "نعم"]) == [1, 2]
    assert numbers("page one\fpage two", "section", ["page one", "page two"]) == [0, 1]
    assert numbers("a.b is 3.5 mg", "sentence", ["a.b", "mg"]) == [1, 1]


def test_a_language_is_its_number_and_an_unknown_one_is_0() -> None:
    for code, number in (("en-GB", COMMON_LANGUAGES.index("en") + 1), ("xx", 0), (None, 0)):
        assert numbers("one two", "language", ["one", "two"], code) == [number, number]


def slow_steps(text: str, tokens: list[int]) -> list[list[int]]:
    """Section, paragraph and sentence of each token: a walk over the text with three counters."""
    at = DocumentAxes(Document(id="1", text=text), [])
    begins = [set(part.tolist()) for part in (at.sections, at.paragraphs, at.sentences)]
    counts = [0, 0, 0]
    path = {}
    for place in range(len(text) + 1):
        for level in range(3):
            if place in begins[level]:
                counts[level] += 1
                counts[level + 1 :] = [0] * (2 - level)
        path[place] = list(counts)
    return [path[token] for token in tokens]


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab .\n#\f!", max_size=60), st.data())
def test_numbers_are_those_of_a_walk_over_the_text(text: str, data: st.DataObject) -> None:
    tokens = sorted(data.draw(st.sets(st.integers(0, max(0, len(text) - 1)), max_size=12)))
    offsets = np.array([[token, token + 1] for token in tokens], dtype=np.int32).reshape(-1, 2)
    found = DocumentAxes(Document(id="1", text=text), ["section", "paragraph", "sentence"]).of(offsets)
    assert found.T.tolist() == slow_steps(text, tokens)


def test_steps_are_those_that_the_tree_encoding_counts_from_ranges() -> None:
    text = "# G\nOne. Two.\n\nThree.\n\n# H\nFour. Five."
    words = ["# G", "One", "Two", "Three", "# H", "Four", "Five"]
    found = [numbers(text, name, words) for name in ("section", "paragraph", "sentence")]
    sentences = [(token, token + 1) for token in range(7)]
    assert found == tree_steps(7, [[(0, 4), (4, 7)], [(0, 3), (3, 4), (4, 7)], sentences]).tolist()


@pytest.fixture(scope="module")
def tokenizer(minilm_folder: Path) -> DocumentTokenizer:
    return DocumentTokenizer.from_folder(minilm_folder)


@pytest.mark.parametrize("lazy_above", [0, 10**6])
def test_every_token_has_the_same_numbers_in_every_chunk(tokenizer: DocumentTokenizer, lazy_above: int) -> None:
    document = Document(id="1", text=TEXT * 3, language="de")
    names = tuple(AXES)
    chunker = ChunkingConfig(size=16, overlap=5, axes=names).build(tokenizer)
    chunks = list(prepare(document, tokenizer, chunker, lazy_above).chunks)
    tokenized = tokenizer.tokenize(document)
    whole = DocumentAxes(document, names).of(tokenized.offsets)
    assert len(chunks) > 5
    for chunk, other in zip(chunks, chunker.chunks(tokenized, document), strict=True):
        assert chunk.axes is not None
        assert (chunk.axes == other.axes).all()
        assert (chunk.token_ids == other.token_ids).all()
        body = slice(chunk.lead, chunk.lead + chunk.span.end - chunk.span.start)
        assert (chunk.axes[:, body] == whole[:, chunk.span.start : chunk.span.end]).all()
        assert not chunk.axes[:, 0].any(), "special tokens are at the root"
        assert not chunk.axes[:, -1].any()
    plain = Chunker(16, 5, tokenizer.lead, tokenizer.trail)
    assert [c.token_ids.tolist() for c in plain.chunks(tokenized)] == [c.token_ids.tolist() for c in chunks]


def test_a_batch_stands_in_the_reading_order_and_has_the_axes_behind_it(tokenizer: DocumentTokenizer) -> None:
    document = Document(id="1", text=TEXT)
    chunks = list(
        prepare(document, tokenizer, ChunkingConfig(size=16, overlap=5, axes=("section",)).build(tokenizer)).chunks
    )
    batch = collate(chunks, [0] * len(chunks), 1, pad_id=0, rows=len(chunks) + 1, length=20)
    assert batch.positions is not None
    assert batch.positions.shape == (2, len(chunks) + 1, 20)
    assert (batch.positions[0] == torch.arange(20)).all()
    for row, chunk in enumerate(chunks):
        assert chunk.axes is not None
        assert batch.positions[1, row, : len(chunk)].tolist() == chunk.axes[0].tolist()
        assert not batch.positions[1, row, len(chunk) :].any()
    plain = list(prepare(document, tokenizer, ChunkingConfig(size=16, overlap=5).build(tokenizer)).chunks)
    assert collate(plain, [0] * len(plain), 1, pad_id=0).positions is None


CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"


@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        ("tree", ("section", "paragraph", "sentence")),
        ("depth", ("depth",)),
        ("language", ("language",)),
        ("language_gate", ("language",)),
        ("rotary", ()),
    ],
)
def test_one_word_trains_an_encoder_that_reads_the_structure(
    kind: str, axes: tuple[str, ...], tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    documents = [
        Document(id=str(n), text=TEXT * (1 + n), label="ab"[n % 2], language=["de", "en"][n % 2]) for n in range(4)
    ]
    config = longdoc.load_config(
        CONFIG, [f"model.encoder.position.kind={kind}", "training.num_train_epochs=1", "training.learning_rate=0.01"]
    )
    pipe = longdoc.train(config, tmp_path / "model", train_documents=documents)
    assert pipe.settings.chunking.axes == axes
    assert json.loads((tmp_path / "model" / "longdoc.json").read_text())["chunking"]["axes"] == list(axes)
    answers = longdoc.Pipeline.load(tmp_path / "model").predict(documents)
    assert [a.logits for a in answers] == [a.logits for a in pipe.predict(documents)]
    assert [a.logits for a in answers] == [pipe.predict([d])[0].logits for d in documents]
    explained = pipe.explain(documents[2])
    assert sum(e.weight for e in explained.evidence) == pytest.approx(max(explained.logits), abs=1e-4)
    flat = Document(id="x", text=TEXT.replace("\n", " ").replace("#", "+"), language="fr")
    same = Document(id="x", text=TEXT.replace("#", "+"), language="fr")
    tree_seen = pipe.predict([flat])[0].logits != pipe.predict([same])[0].logits
    assert tree_seen == (kind == "tree"), "line breaks are nothing to the tokenizer, and a structure to the tree"


def test_axes_that_do_not_suffice_are_refused(tokenizer: DocumentTokenizer) -> None:
    def pipeline(position: dict[str, object], axes: tuple[str, ...]) -> Pipeline:
        from longdoc.checkpoints.native import ModelSettings

        model = tiny_model(position=position, vocab_size=tokenizer.vocab_size)
        chunking = ChunkingConfig(size=16, overlap=4, axes=axes)  # type: ignore[arg-type]
        return Pipeline(model, ModelSettings(labels=("a", "b", "c"), chunking=chunking), tokenizer)

    assert pipeline({"kind": "tree"}, ("section", "depth", "sentence")).settings.chunking.axes[1] == "depth"
    with pytest.raises(UsageError) as caught:
        pipeline({"kind": "tree"}, ("section",))
    assert str(caught.value) == (
        "`chunking.axes` must name at least 3 axes, since the position encoding reads axis 3, but names 1 instead. Add "
        "to them, or leave them out: they are then what the encoding asks for."
    )
    with pytest.raises(UsageError) as caught:
        pipeline({"kind": "depth", "axis": 3}, ())
    assert str(caught.value) == (
        "`chunking.axes` must say what axes 1 to 3 of the positions are, since the position encoding reads axis 3 and "
        "not 1, 2, but names none. Name 3 of section, paragraph, sentence, depth, language."
    )
    tree_and_depth = {"kind": "depth", "order": {"kind": "tree"}}
    with pytest.raises(UsageError, match=r"^Axis 1 of the positions must mean one thing, but is "):
        _ = tiny_encoder(position=tree_and_depth).position.further_axes
    own = pipeline({"kind": "language", "languages": ["la", "el"]}, ())
    assert own.settings.chunking.languages == ("la", "el")
