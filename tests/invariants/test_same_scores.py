"""One document alone, in any batch, in any order, with any neighbours: the same scores."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compiled_kit import kernels_for
from longdoc.nn import attend as attend_module
from longdoc.nn import packed as packing_kernel
from longdoc.nn.compiled import attention
from longdoc.nn.compiled.library import Level
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.precision import Placement, PrecisionConfig
from longdoc.text.batching import BatchingConfig
from longdoc.types import Document, DocumentPrediction

WORDS = "the licence grants you a right to copy and change this work provided that notices stay in place".split()


def text_of(number: int, words: int) -> str:
    generator = random.Random(number)
    return " ".join(generator.choice(WORDS) for _ in range(words))


DOCUMENTS = [
    Document(id=f"d{number}", text=text_of(number, words))
    for number, words in enumerate([1, 3, 12, 13, 14, 29, 30, 31, 47, 60, 61, 90, 200, 7, 333, 30])
]


NAMED = {document.id: document for document in DOCUMENTS}


def logits(pipeline: Pipeline, documents: Sequence[Document]) -> dict[str, tuple[float, ...]]:
    results = pipeline.predict(documents)
    assert [result.id for result in results] == [document.id for document in documents]
    assert all(isinstance(result, DocumentPrediction) for result in results)
    return {result.id: result.logits for result in results}


@pytest.fixture(scope="module")
def alone(tiny_pipeline: Pipeline) -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {}
    for document in DOCUMENTS:
        found |= logits(tiny_pipeline, [document])
    return found


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(DOCUMENTS), min_size=1, max_size=16, unique_by=lambda d: d.id))
def test_neighbours_and_order_do_not_change_a_bit(
    tiny_pipeline: Pipeline, alone: dict[str, tuple[float, ...]], documents: list[Document]
) -> None:
    for name, scores in logits(tiny_pipeline, documents).items():
        assert scores == alone[name]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("read_ahead", [64, 65536])
def test_threads_and_read_ahead_do_not_change_a_bit(
    tiny_pipeline: Pipeline, alone: dict[str, tuple[float, ...]], threads: int, read_ahead: int
) -> None:
    before = torch.get_num_threads()
    try:
        batching = BatchingConfig(read_ahead=read_ahead)
        precision = PrecisionConfig(device="cpu", dtype="fp32", threads=threads)
        other = Pipeline(
            tiny_pipeline.model,
            tiny_pipeline.settings,
            tiny_pipeline.tokenizer,
            PredictionConfig(batching=batching, precision=precision),
        )
        assert logits(other, DOCUMENTS) == alone
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("tokens", [32, 200, 4096])
def test_without_the_deterministic_mode_scores_agree_within_round_off(
    tiny_pipeline: Pipeline, alone: dict[str, tuple[float, ...]], tokens: int
) -> None:
    free = Pipeline(
        tiny_pipeline.model,
        tiny_pipeline.settings,
        tiny_pipeline.tokenizer,
        PredictionConfig(
            batching=BatchingConfig(deterministic=False, tokens=tokens),
            precision=PrecisionConfig(device="cpu", dtype="fp32"),
        ),
    )
    for name, scores in logits(free, DOCUMENTS).items():
        assert scores == pytest.approx(alone[name], abs=1e-5)


@pytest.mark.parametrize("deterministic", [True, False])
def test_rows_behind_each_other_give_the_same_scores(
    tiny_pipeline: Pipeline,
    alone: dict[str, tuple[float, ...]],
    deterministic: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a GPU, but on the CPU: the planning, the packing and the way back, with attention text by text."""
    monkeypatch.setattr(Placement, "packs", property(lambda placement: True))
    packed: list[bool] = []
    attend = packing_kernel.attend_packed
    monkeypatch.setattr(
        attend_module,
        "attend_packed",
        lambda *given: packed.append(given[3].packing.kept is not None) or attend(*given),
    )
    assert tiny_pipeline.model.encoder.takes_packing
    other = Pipeline(
        tiny_pipeline.model,
        tiny_pipeline.settings,
        tiny_pipeline.tokenizer,
        PredictionConfig(
            batching=BatchingConfig(deterministic=deterministic, fixed_tokens=1024),
            precision=PrecisionConfig(device="cpu", dtype="fp32"),
        ),
    )
    together = logits(other, DOCUMENTS)
    assert packed
    assert all(dropped is not deterministic for dropped in packed)
    for name, scores in together.items():
        assert scores == pytest.approx(alone[name], abs=1e-5)
    if deterministic:
        assert {name: logits(other, [document])[name] for name, document in NAMED.items()} == together
    explained = {result.id: result for result in other.stream_with_evidence(DOCUMENTS)}
    assert {name: result.logits for name, result in explained.items()} == together


def test_stream_and_predict_are_one(tiny_pipeline: Pipeline, alone: dict[str, tuple[float, ...]]) -> None:
    streamed = {result.id: result.logits for result in tiny_pipeline.stream(iter(DOCUMENTS))}
    assert streamed == alone


def test_minilm_at_full_size_is_bit_equal_too(minilm_folder: object) -> None:
    pipeline = Pipeline.from_checkpoint(
        "default", labels=("a", "b"), prediction=PredictionConfig(precision=PrecisionConfig(device="cpu", dtype="fp32"))
    )
    documents = [Document(id=str(n), text=text_of(n, words)) for n, words in enumerate([5, 700, 60, 1100, 300])]
    together = logits(pipeline, documents)
    for document in documents[:4]:
        assert logits(pipeline, [document])[document.id] == together[document.id]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_products_that_threads_would_share_are_bit_equal_too(minilm_folder: object, threads: int) -> None:
    """MKL lets threads share the inner sum of 1536 x 384 at some lengths: one batch on all cores adds up otherwise."""
    before = torch.get_num_threads()
    try:
        precision = PrecisionConfig(device="cpu", dtype="fp32", threads=threads)
        pipeline = Pipeline.from_checkpoint(
            "default", labels=("a", "b"), prediction=PredictionConfig(precision=precision),
            chunking={"size": 208, "overlap": 0},
        )  # fmt: skip
        documents = [Document(id=str(n), text=text_of(n, n)) for n in range(110, 200, 12)]
        together = logits(pipeline, documents)
        for document in documents:
            assert logits(pipeline, [document])[document.id] == together[document.id]
            explained = pipeline.explain(document, occlude=False)
            assert explained.logits == together[document.id]
        vectors = {vector.id: vector.vector for vector in pipeline.embed(documents)}
        for document in documents[:3]:
            assert np.array_equal(next(iter(pipeline.embed([document]))).vector, vectors[document.id])
        stored = _STORED.setdefault("one", together)
        assert together == stored, "the same for any number of threads"
    finally:
        torch.set_num_threads(before)


_STORED: dict[str, dict[str, tuple[float, ...]]] = {}


def test_a_stream_that_is_left_alone_takes_no_threads_from_others(tiny_pipeline: Pipeline) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        other = Pipeline(
            tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer,
            PredictionConfig(batching=BatchingConfig(read_ahead=64), precision=tiny_pipeline.prediction.precision),
        )  # fmt: skip
        stream = other.stream(DOCUMENTS)
        next(stream)
        with ThreadPoolExecutor(1) as elsewhere:
            assert elsewhere.submit(torch.get_num_threads).result() == 3
        assert torch.get_num_threads() == 3
        stream.close()
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("tiles", [False, True])
def test_bfloat16_is_bit_equal_alone_and_beside_strangers_with_any_threads(
    tiny_pipeline: Pipeline, tiles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tiles:
        kernels = kernels_for(Level.AMX)
        monkeypatch.setattr(attention, "library", lambda: (kernels, ""))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            precision = PrecisionConfig(device="cpu", dtype="bf16", threads=threads)
            pipeline = Pipeline(
                tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer,
                PredictionConfig(precision=precision),
            )  # fmt: skip
            assert ("AMX" in pipeline.compute_path.attention) is tiles
            found.append(logits(pipeline, DOCUMENTS))
            found.append({})
            for document in reversed(DOCUMENTS):
                found[-1] |= logits(pipeline, [document])
    finally:
        torch.set_num_threads(before)
    assert all(scores == found[0] for scores in found)
    exact = logits(tiny_pipeline, DOCUMENTS)
    for name, scores in found[0].items():
        assert scores == pytest.approx(exact[name], abs=0.05)


@pytest.mark.parametrize("tiles", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_minilm_in_bfloat16_is_bit_equal_too_and_points_where_float32_does(
    minilm_folder: object, tiles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tiles:
        kernels = kernels_for(Level.AMX)
        monkeypatch.setattr(attention, "library", lambda: (kernels, ""))
    documents = [Document(id=str(n), text=text_of(n, words)) for n, words in enumerate([5, 700, 60, 300])]
    rows = {}
    for dtype in ("fp32", "bf16"):
        precision = PrecisionConfig(device="cpu", dtype=dtype)
        pipeline = Pipeline.from_checkpoint(
            "default", labels=("a", "b"), prediction=PredictionConfig(precision=precision)
        )
        rows[dtype] = torch.cat([item.rows for item in pipeline.stream_rows(documents)]).double()
    alone = torch.cat([item.rows for document in documents for item in pipeline.stream_rows([document])]).double()
    assert torch.equal(rows["bf16"], alone)
    assert torch.nn.functional.cosine_similarity(rows["bf16"], rows["fp32"]).min() > 0.9999
