"""One encoding for several languages, and what may differ; vocabularies side by side."""

from __future__ import annotations

import re

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.nn.position import (
    Geometry,
    LanguageConfig,
    LanguageGateConfig,
    LanguageGatePosition,
    LanguagePosition,
    LanguageVocabularies,
    LearnedPosition,
    RotaryPosition,
    SinusoidalPosition,
    language_number,
    stack_axes,
)
from nn_kit import tiny_encoder

GEOMETRY = Geometry(width=8, heads=2, head_width=4, layers=1, max_len=20)
ORDER = torch.arange(4)[None]


def in_language(number: int) -> torch.Tensor:
    return stack_axes(ORDER, torch.full((1, 4), number))


@pytest.mark.parametrize("config", [LanguageConfig(), LanguageGateConfig()])
def test_untrained_every_language_has_the_shared_encoding(config: LanguageConfig | LanguageGateConfig) -> None:
    encoding, x = config.build(GEOMETRY), torch.randn(2, 4, 8)
    expected = SinusoidalPosition(8).embed(x, ORDER)
    for positions in (ORDER, in_language(0), in_language(3), in_language(99)):
        assert torch.equal(encoding.embed(x, positions), expected)


def test_a_trained_vector_is_added_to_its_language_alone() -> None:
    encoding = LanguagePosition(8, ("en", "ar"))
    with torch.no_grad():
        encoding.table.weight.copy_(torch.tensor([[1.0], [5.0]]).expand(2, 8))
    mixed = stack_axes(ORDER, torch.tensor([[0, 1, 2, 3]]))
    assert encoding.embed(torch.zeros(1, 4, 8), mixed)[0, :, 0].tolist() == [0.0, 1.0, 5.0, 0.0]


def test_a_trained_gate_weighs_the_shared_encoding_of_its_language() -> None:
    encoding = LanguageGatePosition(8, SinusoidalPosition(8, scale=True), ("en", "ar"))
    with torch.no_grad():
        encoding.gates.weight[1] = 0.5
    x, shared = torch.randn(1, 4, 8), SinusoidalPosition(8)
    plain = 8**0.5 * x
    assert torch.allclose(encoding.embed(x, in_language(1)), plain + shared.vectors(ORDER).float())
    assert torch.allclose(encoding.embed(x, in_language(2)), plain + 1.5 * shared.vectors(ORDER).float())
    assert torch.allclose(encoding.vectors(in_language(2)), 1.5 * shared.vectors(ORDER))


def test_a_gate_needs_a_shared_encoding_that_adds_vectors() -> None:
    assert LanguageGatePosition(8, LearnedPosition(8, rows=6)).max_tokens == 6
    message = (
        "`shared` must be an encoding that adds vectors, such as `sinusoidal` or `learned`, but is RotaryPosition "
        "instead."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        LanguageGatePosition(8, RotaryPosition(4))


@pytest.mark.parametrize(
    ("code", "number"),
    [("en", 1), ("EN", 1), ("en-GB", 1), ("en_GB", 1), ("pt-BR", 3), ("pt", 2), ("xx", 0), ("", 0), (None, 0)],
)
def test_the_number_of_a_language(code: str | None, number: int) -> None:
    assert language_number(("en", "pt", "pt-BR"), code) == number


@pytest.mark.parametrize(
    ("languages", "axis", "message"),
    [
        ((), 1, "`languages` must name at least one language, but is empty."),
        (("en",), 0, "`axis` must be the number of a further axis, 1 or more, but is 0 instead."),
    ],
)
def test_impossible_settings_are_refused(languages: tuple[str, ...], axis: int, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        LanguagePosition(8, languages, axis)


def test_vocabularies_lie_side_by_side_in_one_table() -> None:
    vocabularies = LanguageVocabularies({"en": 10, "ar": 7, "he": 5})
    assert vocabularies.total == 22
    assert vocabularies.languages == ("en", "ar", "he")
    ids = torch.tensor([[0, 9, 3], [0, 6, 3], [0, 4, 3]])
    languages = torch.tensor([[1], [2], [3]])
    assert vocabularies.token_ids(ids, languages).tolist() == [[0, 9, 3], [10, 16, 13], [17, 21, 20]]


def test_vocabularies_share_one_position_encoding() -> None:
    vocabularies = LanguageVocabularies({"en": 20, "ar": 30})
    encoder = tiny_encoder(position={"kind": "learned"})
    assert encoder.config.vocab_size == vocabularies.total
    ids = torch.tensor([[4, 7, 4], [4, 7, 4]])
    rows = vocabularies.token_ids(ids, torch.tensor([[1], [2]]))
    with torch.no_grad():  # the same words in both languages: what is left to differ would be position
        encoder.word.weight[20:40] = encoder.word.weight[:20]
    english, arabic = encoder(rows)
    torch.testing.assert_close(english, arabic, rtol=0, atol=1e-6)  # two rows of one product may be summed differently
    assert len([name for name, _ in encoder.named_parameters() if name.startswith("position")]) == 1


@pytest.mark.parametrize(
    ("ids", "language", "message"),
    [
        ([[7]], 2, "`ids` must lie in the vocabularies of their languages, but at least one does not."),
        ([[-1]], 1, "`ids` must lie in the vocabularies of their languages, but at least one does not."),
        ([[1]], 0, "`languages` must be in [1, 2]: every token needs a vocabulary."),
        ([[1]], 3, "`languages` must be in [1, 2]: every token needs a vocabulary."),
    ],
)
def test_a_word_never_becomes_one_of_another_language(ids: list[list[int]], language: int, message: str) -> None:
    vocabularies = LanguageVocabularies({"en": 10, "ar": 7})
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        vocabularies.token_ids(torch.tensor(ids), torch.tensor(language))


def test_a_vocabulary_has_words() -> None:
    with pytest.raises(UsageError, match=r"^`sizes\['en'\]` must be at least 1, but is 0 instead\.$"):
        LanguageVocabularies({"en": 0})


def test_one_number_may_be_the_language_of_all_tokens() -> None:
    vocabularies = LanguageVocabularies({"en": 4, "de": 3})
    ids = torch.tensor([[0, 2]])
    assert torch.equal(vocabularies.token_ids(ids, 2), vocabularies.token_ids(ids, torch.tensor(2)))
    assert vocabularies.token_ids(ids, 2).tolist() == [[4, 6]]


@pytest.mark.parametrize(
    ("ids", "languages", "message"),
    [
        ([[0, 2]], 2, "`ids` must be a tensor of integers, but is a list instead."),
        (torch.tensor([[0, 2]]), 1.5, "`languages` must be a tensor of integers, but is a float instead."),
        (torch.zeros(1, 2), 1, "`ids` must be integers, but are torch.float32 instead."),
        (
            torch.tensor([[0, 2]]),
            torch.tensor([[1, 1, 1]]),
            "`languages` must broadcast to (1, 2), the shape of `ids`, but has shape (1, 3) instead.",
        ),
    ],
)
def test_vocabularies_take_integers_that_fit(ids: torch.Tensor, languages: torch.Tensor | int, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        LanguageVocabularies({"en": 4, "de": 3}).token_ids(ids, languages)
