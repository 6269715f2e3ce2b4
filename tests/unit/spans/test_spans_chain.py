"""The chain against all sequences tried one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.spans.alignment import word_spans
from longdoc.spans.chain import Chain
from longdoc.spans.tags import TagLayout, read_tags, tags_of
from reference.spans import every_path, log_sum, spelled

LAYOUTS = {
    "bio": tags_of(2, "bio", overlapping=False),
    "bioes": tags_of(1, "bioes", overlapping=False),
    "layers": tags_of(2, "bio", overlapping=True),
    "given": read_tags(["B-A", "I-A", "O", "I-C"])[1],
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def learned(layout: TagLayout, seed: int) -> Chain:
    """Scores between neighbours drawn at random, what the layout forbids left out."""
    random = np.random.default_rng(seed)
    return Chain(
        *(
            np.where(allowed, random.normal(size=allowed.shape), -np.inf)
            for allowed in (layout.start, layout.step, layout.end)
        )
    )


@every_layout
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), words=st.integers(1, 5), size=st.sampled_from([0.1, 1.0, 8.0]))
def test_best_sequence_sum_and_marginals_are_those_of_all_sequences(
    layout: TagLayout, seed: int, words: int, size: float
) -> None:
    layers, tags = layout.shape
    scores = np.random.default_rng(seed).normal(size=(words, layers, tags)) * size
    for chain in (Chain.of(layout), learned(layout, seed)):
        best, marginals = chain.best(scores), chain.marginals(scores)
        for layer in range(layers):
            paths = every_path(scores[:, layer], chain.start[layer], chain.step[layer], chain.end[layer])
            top = max(paths.values())
            assert paths[tuple(best[:, layer].tolist())] == pytest.approx(top, abs=1e-9)
            total = log_sum(list(paths.values()))
            assert marginals.log_partition[layer] == pytest.approx(total, abs=1e-9)
            words_there, steps_there = np.zeros((words, tags)), np.zeros((tags, tags))
            for path, score in paths.items():
                chance = np.exp(score - total)
                for word, tag in enumerate(path):
                    words_there[word, tag] += chance
                for i, j in itertools.pairwise(path):
                    steps_there[i, j] += chance
            assert np.allclose(marginals.words[:, layer], words_there, atol=1e-9)
            assert np.allclose(marginals.steps[layer], steps_there, atol=1e-9)
        assert np.allclose(
            chain.score(scores, best),
            [
                max(every_path(scores[:, m], chain.start[m], chain.step[m], chain.end[m]).values())
                for m in range(layers)
            ],
        )


@every_layout
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), words=st.integers(1, 5))
def test_the_chance_of_a_span_is_that_of_all_sequences_that_spell_it(layout: TagLayout, seed: int, words: int) -> None:
    layers, tags = layout.shape
    scores = np.random.default_rng(seed).normal(size=(words, layers, tags)) * 2
    chain = learned(layout, seed)
    spans = [
        (layer, label, first, end)
        for layer in range(layers)
        for label in sorted(set(layout.labels[layer].tolist()) - {-1})
        for first in range(words)
        for end in range(first + 1, words + 1)
    ]
    found = chain.span_chances(scores, layout, spans)
    for (layer, label, first, end), chance in zip(spans, found, strict=True):
        paths = every_path(scores[:, layer], chain.start[layer], chain.step[layer], chain.end[layer])
        total = log_sum(list(paths.values()))
        there = [s for path, s in paths.items() if (label, first, end) in spelled(path, list(layout.layers[layer]))]
        expected = sum(np.exp(score - total) for score in there)
        assert chance == pytest.approx(expected, abs=1e-9)


@every_layout
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_spans_of_a_sequence_are_those_read_word_by_word(layout: TagLayout, data: st.DataObject) -> None:
    layers, tags = layout.shape
    words = data.draw(st.integers(0, 12))
    path = np.array(
        data.draw(
            st.lists(
                st.lists(st.integers(0, tags - 1), min_size=layers, max_size=layers), min_size=words, max_size=words
            )
        ),
        dtype=np.int64,
    ).reshape(words, layers)
    expected = [
        (layer, label, first, end)
        for layer in range(layers)
        for label, first, end in sorted(
            spelled(tuple(path[:, layer].tolist()), list(layout.layers[layer])), key=lambda span: span[1]
        )
    ]
    assert word_spans(path, layout) == expected


def test_forbidden_sequences_never_win_and_have_no_share() -> None:
    layout = tags_of(1, "bio", overlapping=False)
    scores = np.array([[[0.0, -5.0, 9.0]], [[0.0, -5.0, 9.0]]])  # I is loud, but nothing began
    chain = Chain.of(layout)
    assert chain.best(scores)[:, 0].tolist() == [1, 2]
    assert chain.marginals(scores).words[0, 0, 2] == 0
    assert chain.span_chances(scores, layout, [(0, 0, 0, 2)])[0] == pytest.approx(
        np.exp(4) / (np.exp(4) + np.exp(0) + np.exp(-5) * 2 + np.exp(-10)), rel=1e-9
    )


def test_long_documents_lose_no_digits() -> None:
    layout = tags_of(1, "bio", overlapping=False)
    words = np.tile(np.array([[[40.0, 0.0, 0.0]]]), (20_000, 1, 1))
    words[10_000] = [[0.0, 2.0, 0.0]]
    chain = Chain.of(layout)
    (chance,) = chain.span_chances(words, layout, [(0, 0, 10_000, 10_001)])
    assert chance == pytest.approx(np.exp(2) / (1 + np.exp(2)), rel=1e-6)
    marginals = chain.marginals(words)
    assert marginals.words.sum(axis=2) == pytest.approx(1, abs=1e-9)


def test_a_document_without_words_has_no_tags() -> None:
    layout = tags_of(1, "bio", overlapping=False)
    assert Chain.of(layout).best(np.zeros((0, 1, 3))).shape == (0, 1)
