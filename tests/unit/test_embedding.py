"""Vectors of documents: those of sentence-transformers' formula, and the same of a long text, token by token."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from longdoc.embedding import Embedder, EmbeddingConfig, open_embedder
from longdoc.errors import ConfigurationError, UsageError
from longdoc.pipeline import Pipeline
from longdoc.text.chunking import ChunkingConfig, plan_chunks, plan_cores
from longdoc.types import Document, DocumentEmbedding, DocumentFailure

SHORT = "The contract ends in May. Café déjà vu, 中文!"
LONG = " ".join(f"Clause {n} says that the tenant of house {n * 7} pays on time." for n in range(30))


@pytest.fixture(scope="module")
def embedder(minilm_folder: Path) -> Embedder:
    return open_embedder(minilm_folder, chunking=ChunkingConfig(size=64, overlap=20))


class Theirs:
    """The model as transformers runs it, without anything of ours."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval()

    @torch.no_grad()
    def states(self, ids: list[int]) -> np.ndarray:
        return self.model(input_ids=torch.tensor([ids])).last_hidden_state[0].double().numpy()

    def one_row(self, text: str, pooling: str = "mean", skip: int = 0) -> np.ndarray:
        """sentence-transformers' formula for one row: all tokens, special ones included."""
        states = self.states(self.tokenizer(text)["input_ids"])[skip:]
        return {"mean": states.mean(0), "max": states.max(0), "cls": states[0]}[pooling]

    def late(self, text: str, size: int, overlap: int) -> tuple[np.ndarray, list[tuple[int, int]], np.ndarray]:
        """States of all tokens, each from the chunk whose core it is in; their offsets; those of the two ends."""
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids, first, last = encoded["input_ids"], self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        chunks = plan_chunks(len(ids), size - 2, overlap)
        found, ends = [], []
        for number, ((start, end), (left, right)) in enumerate(zip(chunks, plan_cores(chunks), strict=True)):
            states = self.states([first, *ids[start:end], last])
            found.append(states[1 + left - start : 1 + right - start])
            ends += [states[:1]] if number == 0 else []
            ends += [states[-1:]] if number == len(chunks) - 1 else []
        return np.concatenate(found), encoded["offset_mapping"], np.concatenate(ends)


@pytest.fixture(scope="module")
def theirs(minilm_folder: Path) -> Theirs:
    return Theirs(minilm_folder)


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def one(embedder: Embedder, text: str | Document, **options: object) -> DocumentEmbedding:
    (found,) = embedder.stream([text], **options)  # type: ignore[arg-type]
    assert isinstance(found, DocumentEmbedding)
    return found


def test_one_chunk_is_what_sentence_transformers_gives(embedder: Embedder, theirs: Theirs) -> None:
    found = one(embedder, SHORT)
    np.testing.assert_allclose(found.vector, unit(theirs.one_row(SHORT)), atol=1e-6)
    assert (found.n_chunks, found.tokens_read, found.prompt_tokens) == (1, found.n_tokens, 0)
    assert found.vector.dtype == np.float32


@pytest.mark.parametrize("pooling", ["max", "cls"])
def test_other_poolings_and_plain_vectors(minilm_folder: Path, theirs: Theirs, pooling: str) -> None:
    chosen = EmbeddingConfig(pooling=pooling, normalize=False)  # type: ignore[arg-type]
    found = one(open_embedder(minilm_folder, chosen), SHORT)
    np.testing.assert_allclose(found.vector, theirs.one_row(SHORT, pooling), atol=1e-5)


def test_a_long_document_is_the_mean_of_its_tokens_each_once(embedder: Embedder, theirs: Theirs) -> None:
    states, _, ends = theirs.late(LONG, 64, 20)
    found = one(embedder, LONG)
    assert found.n_chunks > 5
    assert found.n_tokens == found.tokens_read == len(states)
    np.testing.assert_allclose(found.vector, unit(np.concatenate([states, ends]).mean(0)), atol=1e-6)


def test_spans_are_pooled_from_states_that_have_seen_their_context(embedder: Embedder, theirs: Theirs) -> None:
    states, offsets, _ = theirs.late(LONG, 64, 20)
    spans = [(0, 6), (3, 40), (200, 1500), (6, 7), (0, len(LONG)), (200, 1500)]  # (6, 7) is a space
    found = one(embedder, LONG, spans=[spans])
    assert [(part.start, part.end) for part in found.parts] == spans
    for part in found.parts:
        tokens = [state for state, (s, e) in zip(states, offsets, strict=True) if s < part.end and e > part.start]
        assert part.n_tokens == len(tokens)
        if not tokens:
            assert part.vector is None
            continue
        assert part.vector is not None
        np.testing.assert_allclose(part.vector, unit(np.mean(tokens, axis=0)), atol=1e-6)
    assert np.array_equal(found.vector, one(embedder, LONG).vector), "parts change no bit of the document's vector"


def test_chunks_and_passages_cover_the_document_once(embedder: Embedder) -> None:
    for kind in ("chunks", "passages"):
        found = one(embedder, LONG, parts=kind)
        assert sum(part.n_tokens for part in found.parts) == found.n_tokens
        assert found.parts[0].start == 0
        assert found.parts[-1].end == len(LONG)
        assert all(left.end <= right.start for left, right in zip(found.parts, found.parts[1:], strict=False))
        if kind == "chunks":
            assert len(found.parts) == found.n_chunks
        else:
            assert all(LONG[part.start : part.end].endswith(".") for part in found.parts), "they end with sentences"


def test_the_largest_of_a_part_that_lies_in_several_chunks(minilm_folder: Path, theirs: Theirs) -> None:
    chosen = EmbeddingConfig(pooling="max", normalize=False)
    embedder = open_embedder(minilm_folder, chosen, ChunkingConfig(size=64, overlap=20))
    states, _, _ = theirs.late(LONG, 64, 20)
    (part,) = one(embedder, LONG, spans=[[(0, len(LONG))]]).parts
    assert part.vector is not None
    np.testing.assert_allclose(part.vector, states.max(0), atol=1e-5)


def test_vectors_are_the_same_bits_alone_and_in_any_batch(embedder: Embedder) -> None:
    texts = [LONG[: 37 * n] for n in range(1, 12)]
    together = list(embedder.stream(texts, parts="passages"))
    for text, found in [*zip(texts, together, strict=True)][::3]:
        alone = one(embedder, text, parts="passages")
        assert isinstance(found, DocumentEmbedding)
        assert alone.vector.tobytes() == found.vector.tobytes()
        assert [p.vector.tobytes() for p in alone.parts] == [p.vector.tobytes() for p in found.parts]  # type: ignore[union-attr]


# -- prompts


def with_prompts(minilm_folder: Path, folder: Path, include_prompt: bool = True) -> Path:
    shutil.copytree(minilm_folder, folder, ignore=shutil.ignore_patterns("data_config.json"))
    pooling = {"pooling_mode_mean_tokens": True, "include_prompt": include_prompt}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    prompts = {"prompts": {"query": "query: ", "none": ""}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


@pytest.mark.parametrize("include_prompt", [True, False])
def test_a_prompt_stands_before_the_text(
    minilm_folder: Path, theirs: Theirs, tmp_path: Path, include_prompt: bool
) -> None:
    folder = with_prompts(minilm_folder, tmp_path / "model", include_prompt)
    embedder = open_embedder(folder)
    found = one(embedder, SHORT)
    skip = 0 if include_prompt else 3  # [CLS] query : are not pooled then, as in sentence-transformers
    np.testing.assert_allclose(found.vector, unit(theirs.one_row("query: " + SHORT, skip=skip)), atol=1e-6)
    assert (found.prompt_tokens, embedder.prompt_tokens) == (2, 2)
    bare = one(open_embedder(folder, EmbeddingConfig(prompt="")), SHORT)
    assert (bare.n_tokens, bare.prompt_tokens) == (found.n_tokens, 0), "the prompt is no text of the document"
    np.testing.assert_allclose(bare.vector, unit(theirs.one_row(SHORT)), atol=1e-6)


def test_a_prompt_stands_before_every_chunk_and_moves_no_offset(minilm_folder: Path) -> None:
    settings = EmbeddingConfig(prompt="passage: ", parts="chunks")
    found = one(open_embedder(minilm_folder, settings, ChunkingConfig(size=40, overlap=8)), LONG)
    # 40 tokens: [CLS] passage : ... [SEP]
    assert found.n_chunks == len(plan_chunks(found.n_tokens, 40 - 2 - found.prompt_tokens, 8))
    assert found.parts[0].start == 0
    assert found.parts[-1].end == len(LONG)
    assert sum(part.n_tokens for part in found.parts) == found.n_tokens


def test_prompts_that_cannot_be_are_refused(minilm_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_embedder(minilm_folder, EmbeddingConfig(prompt_name="query"))
    assert str(caught.value) == (
        "`embedding.prompt_name` must be null: this model names no prompts, but is query instead. Give the text "
        "itself as `embedding.prompt`."
    )
    folder = with_prompts(minilm_folder, tmp_path / "model")
    with pytest.raises(ConfigurationError, match=r"^`embedding.prompt_name` must be one of none, query, but is q "):
        open_embedder(folder, EmbeddingConfig(prompt_name="q"))
    with pytest.raises(ConfigurationError, match=r"^the prompt does not fit: `overlap` must be in \[0, 1\] for "):
        open_embedder(minilm_folder, EmbeddingConfig(prompt="a b c d"), ChunkingConfig(size=8, overlap=2))


# -- what is as elsewhere


def test_failures_stand_in_their_places(embedder: Embedder) -> None:
    failed = DocumentFailure("gone", "unreadable")
    for parts in ("none", "passages"):
        found = list(embedder.stream([SHORT, "  ", failed, "\U0001f9ff\U0001faac" * 30, SHORT], parts=parts))  # type: ignore[arg-type]
        assert [item.ok for item in found] == [True, False, False, False, True]
        assert [item.reason for item in found if isinstance(item, DocumentFailure)] == [
            "empty", "unreadable", "unreadable",
        ]  # fmt: skip
        assert found[2] is failed


def test_the_length_is_that_of_the_checkpoint_unless_it_is_given(minilm_folder: Path) -> None:
    assert open_embedder(minilm_folder).chunking == ChunkingConfig(size=256, overlap=64)
    given = ChunkingConfig(size=512)
    assert open_embedder(minilm_folder, chunking=given).chunking == ChunkingConfig(size=512, overlap=128)
    with pytest.raises(ConfigurationError, match=r"^`chunking.size` must be at most 512, .* but is 600 instead\."):
        open_embedder(minilm_folder, chunking=ChunkingConfig(size=600))


def test_a_fingerprint_knows_everything_that_decides(minilm_folder: Path) -> None:
    settings = [
        EmbeddingConfig(), EmbeddingConfig(pooling="max"), EmbeddingConfig(normalize=False),
        EmbeddingConfig(prompt="a"), EmbeddingConfig(weights="chunks"), EmbeddingConfig(parts="chunks"),
    ]  # fmt: skip
    found = {open_embedder(minilm_folder, chosen).fingerprint for chosen in settings}
    assert len(found) == len(settings)


def test_a_pipeline_gives_vectors_of_its_own_encoder(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    (whole,) = tiny_pipeline.embed([LONG])
    (row,) = tiny_pipeline.stream_rows([LONG])
    assert isinstance(whole, DocumentEmbedding)
    rows, weights = row.rows.double(), row.weights.double()  # type: ignore[union-attr]
    expected = (rows * weights[:, None]).sum(0) / weights.sum()
    np.testing.assert_allclose(whole.vector, expected.numpy(), atol=1e-5)
    (chunks,) = tiny_pipeline.embed([LONG], chunks=True)
    assert isinstance(chunks, DocumentEmbedding)
    np.testing.assert_allclose([part.vector for part in chunks.parts], rows.numpy(), atol=1e-5)
    tiny_pipeline.save(tmp_path / "model", overwrite=True)
    again = one(open_embedder(tmp_path / "model"), LONG)
    assert again.vector.tobytes() == whole.vector.tobytes(), "the folder gives the same bits"


def test_calls_that_cannot_be_answered(tiny_pipeline: Pipeline) -> None:
    with pytest.raises(UsageError, match=r"^`chunks`, `passages` and `spans` must not be asked for at once\."):
        tiny_pipeline.embed([SHORT], chunks=True, passages=True)
    with pytest.raises(UsageError, match=r"^`spans` must have one entry a document, but ends after 1\.$"):
        tiny_pipeline.embed([SHORT, SHORT], spans=[[(0, 3)]])
    with pytest.raises(UsageError, match=r"must satisfy 0 <= start < end <= 43, but is \(3, 99\) instead\.$"):
        tiny_pipeline.embed([SHORT], spans=[[(3, 99)]])
    with pytest.raises(UsageError, match=r"^`documents` must be a list of texts or documents, but is a single one\."):
        tiny_pipeline.embed(SHORT)


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="`longest_passage` must be at least `shortest_passage` \\(200\\), but is 96"):
        EmbeddingConfig(shortest_passage=200)
    with pytest.raises(ValueError, match="`prompt_name` must be null where `prompt` is given"):
        EmbeddingConfig(prompt="a", prompt_name="b")


def test_nothing_shows_text_or_ids(embedder: Embedder) -> None:
    found = one(embedder, Document(id="secret-id", text="very secret text"), parts="chunks")
    assert "secret" not in repr(found)
