"""The task spans: targets, losses, answers, what is fitted, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.nn import functional as F

from longdoc.config import load_config
from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, DataError
from longdoc.nn.readout import TokensReadout, TokensReadoutConfig
from longdoc.spans.chain import Chain
from longdoc.tasks import task_named
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentFailure, DocumentPrediction, LabelledSpan, ScoredSpan, Span
from reference.spans import every_path, log_sum

SPANS = task_named("spans")
LABELS = ("X", "Y")
TEXT = "ab cd efgh ij"
OFFSETS = np.array([(0, 2), (3, 5), (6, 8), (8, 10), (11, 13)], dtype=np.int32)


def tagger(**settings: object) -> TokensReadout:
    config = TokensReadoutConfig(**settings)
    return config.build(4, SPANS.classes(LABELS, config)).eval()


def tokens(numbers: tuple[int, ...] = (0, 1, 2, 3, 4)) -> TokensRead:
    whole = Span(0, 5)
    return TokensRead(TEXT, OFFSETS[: len(numbers)], np.array(numbers, dtype=np.int32), ((whole, whole),))


def document(*spans: tuple[int, int, str]) -> Document:
    return Document("d", TEXT, spans=tuple(LabelledSpan(*span) for span in spans))


def random_scores(readout: TokensReadout, seed: int = 0, count: int = 5) -> torch.Tensor:
    return torch.randn(count, readout.classes, generator=torch.Generator().manual_seed(seed)) * 3


def test_a_target_says_words_runs_and_tags() -> None:
    target = SPANS.target(document((3, 8, "Y")), LABELS, tokens((0, 1, 2, 3, 9)), tagger())
    # begins a word, reading begins anew, tag: the second token of `efgh` is no word, and before the last one is a gap
    assert target.tolist() == [[1, 1, 0], [1, 0, 3], [1, 0, 4], [0, 0, 0], [1, 1, 0]]
    assert SPANS.misfits(document((3, 8, "Y"), (4, 5, "X")), LABELS, tokens(), tagger()) == {
        "gold spans that begin or end inside a word, learned as whole words": 1,
        "gold spans without a word that is read, not learned": 0,
        "gold spans that overlap a longer one in the same sequence of tags, not learned": 1,
    }


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("subwords", ["first", "mean", "split"])
def test_the_loss_is_the_cross_entropy_of_the_words(subwords: str, overlapping: bool) -> None:
    readout = tagger(subwords=subwords, overlapping=overlapping)
    gold = document((0, 5, "X"), (6, 10, "Y"))
    target, scores = SPANS.target(gold, LABELS, tokens(), readout), random_scores(readout)
    words = {
        "first": scores[[0, 1, 2, 4]],
        "mean": torch.stack([scores[0], scores[1], scores[2:4].mean(0), scores[4]]),
        "split": scores,
    }[subwords]
    ends = [4, 5] if subwords == "split" else [3, 4]
    tags = [1, 2, *([3, 4] if subwords == "split" else [3]), 0] if not overlapping else None
    if overlapping:
        layers = torch.tensor([[1, 2] + [0] * (ends[1] - 2), [0, 0, 1] + ([2, 0] if subwords == "split" else [0])])
        expected = sum(F.cross_entropy(words[:, 3 * m : 3 * m + 3], layers[m]) for m in range(2))
    else:
        expected = F.cross_entropy(words, torch.tensor(tags))
    two = torch.cat([scores, scores])
    losses = SPANS.loss(readout)(two, [target, target])
    assert losses.tolist() == pytest.approx([float(expected)] * 2, abs=1e-6)


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_the_loss_of_the_chain_and_its_gradient_are_those_of_all_sequences(scheme: str) -> None:
    readout = tagger(scheme=scheme, decoder="crf", overlapping=True)
    assert readout.transitions is not None
    with torch.no_grad():
        for number, parameter in enumerate(readout.transitions.parameters()):
            parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number)))
    target = SPANS.target(document((0, 5, "X"), (6, 10, "Y")), LABELS, tokens(), readout)
    scores = random_scores(readout, 3).requires_grad_()
    (loss,) = SPANS.loss(readout)(scores, [target])
    loss.backward()
    tags, layout = target[target[:, 0] == 1, 2:].long(), readout.layout
    words = scores.detach()[target[:, 0] == 1].reshape(4, *layout.shape).double().numpy()

    def by_hand(moved: np.ndarray, chain: Chain) -> float:
        total = 0.0
        for m in range(layout.shape[0]):
            paths = every_path(moved[:, m], chain.start[m], chain.step[m], chain.end[m])
            total += log_sum([s for s in paths.values() if np.isfinite(s)]) - paths[tuple(tags[:, m].tolist())]
        return total / len(tags)

    chain = readout.transitions.chain()
    assert loss.item() == pytest.approx(by_hand(words, chain), abs=1e-5)
    step = 1e-5
    for word, m, tag in ((0, 0, 1), (2, 1, 0), (3, 0, 0)):
        moved = words.copy()
        moved[word, m, tag] += step
        place = [0, 1, 2, 4][word]
        slope = (by_hand(moved, chain) - by_hand(words, chain)) / step
        assert float(scores.grad[place].reshape(*layout.shape)[m, tag]) == pytest.approx(slope, abs=1e-4)
    for name in ("start", "step", "end"):
        values = getattr(chain, name)
        place = tuple(np.argwhere(np.isfinite(values))[1])
        moved_chain = readout.transitions.chain()
        getattr(moved_chain, name)[place] += step
        slope = (by_hand(words, moved_chain) - by_hand(words, chain)) / step
        assert float(getattr(readout.transitions, name).grad[place]) == pytest.approx(slope, abs=1e-4), name


def answer(readout: TokensReadout, tags: list[list[int]], least: float = 0.0, **changes: object) -> list[ScoredSpan]:
    """The answer for tokens that are loud for these tags, one list a layer."""
    layers, size = readout.layout.shape
    scores = np.zeros((5, layers, size), dtype=np.float32)
    for layer, path in enumerate(tags):
        scores[range(5), layer, path] = 9.0
    decisions = Decisions(min_score=least)
    return list(SPANS.answer(scores.reshape(5, -1), LABELS, decisions, tokens(**changes), readout)["spans"])


def test_parts_of_a_word_never_are_a_span() -> None:
    """B032: pieces of one word with different tags; its first piece decides, or the mean of all, as is said."""
    first, split = tagger(), tagger(subwords="split")
    assert [s[:3] for s in answer(first, [[0, 0, 1, 0, 0]])] == [(6, 10, "X")]
    assert answer(first, [[0, 0, 0, 1, 0]]) == []
    assert [s[:3] for s in answer(first, [[0, 0, 1, 3, 3]])] == [(6, 10, "X"), (11, 13, "Y")]
    assert [s[:3] for s in answer(split, [[0, 0, 0, 1, 0]])] == [(8, 10, "X")]


def test_overlapping_spans_come_sorted_and_a_gap_ends_a_span() -> None:
    both = tagger(overlapping=True)
    assert [s[:3] for s in answer(both, [[0, 1, 2, 2, 2], [1, 2, 0, 0, 0]])] == [(0, 5, "Y"), (3, 13, "X")]
    assert [s[:3] for s in answer(tagger(), [[1, 2, 2, 2, 2]])] == [(0, 13, "X")]
    assert [s[:3] for s in answer(tagger(), [[1, 2, 2, 2, 2]], numbers=(0, 1, 2, 3, 9))] == [(0, 10, "X")]


def test_the_score_is_the_probability_of_the_span_and_small_ones_can_be_left_out() -> None:
    readout = tagger()
    (span,) = answer(readout, [[0, 0, 1, 0, 0]])
    chain = Chain.of(readout.layout)
    words = np.zeros((4, 1, 5))
    words[range(4), 0, [0, 0, 1, 0]] = 9.0
    paths = every_path(words[:, 0], chain.start[0], chain.step[0], chain.end[0])
    total = log_sum([s for s in paths.values() if np.isfinite(s)])
    expected = sum(np.exp(s - total) for path, s in paths.items() if path[2] == 1 and path[3] != 2)
    assert span.score == pytest.approx(expected, abs=1e-9)
    assert answer(readout, [[0, 0, 1, 0, 0]], least=0.99999) == []


def prediction(*spans: ScoredSpan) -> DocumentPrediction:
    return DocumentPrediction("d", spans=spans, loss=1.0)


def test_the_least_score_is_fitted_for_the_best_f1() -> None:
    gold = [document((0, 2, "X")), document((0, 2, "X"), (3, 5, "Y"))]
    found = [
        prediction(ScoredSpan(0, 2, "X", 0.9), ScoredSpan(3, 5, "X", 0.2)),
        prediction(ScoredSpan(0, 2, "X", 0.6), ScoredSpan(3, 5, "X", 0.3)),
    ]
    fitted = SPANS.fit(gold, found, LABELS, DecisionConfig(min_score="f1"))
    assert fitted.min_score == pytest.approx(0.45)
    assert SPANS.fit(gold, found, LABELS, DecisionConfig(min_score=0.25)).min_score == 0.25
    assert SPANS.fit(gold[:1], [prediction(ScoredSpan(0, 2, "X", 0.1))], LABELS, DecisionConfig(min_score="f1")) == (
        Decisions(documents=1)
    ), "where nothing is better left out, nothing is"


def test_gold_is_measured_as_it_is_but_for_white_space_at_its_edges() -> None:
    measured = SPANS.metrics(
        [document((0, 3, "X"), (7, 8, "Y")), document((0, 2, "X"))],
        [prediction(ScoredSpan(0, 2, "X", 0.9), ScoredSpan(6, 10, "Y", 0.9)), DocumentFailure("d", "empty")],
        LABELS, Decisions(), resamples=0,
    )  # fmt: skip
    assert (measured["gold_spans"], measured["predicted_spans"], measured["unanswered"]) == (3, 2, 1)
    assert measured["strict_precision"] == 0.5
    assert measured["strict_recall"] == pytest.approx(1 / 3)


def test_the_data_decide_whether_spans_may_overlap_unless_somebody_has() -> None:
    config = TokensReadoutConfig()
    touching, crossing = document((0, 2, "X"), (2, 5, "Y")), document((0, 4, "X"), (3, 5, "Y"))
    assert SPANS.settle(config, [touching]).overlapping is False
    assert SPANS.settle(config, [touching, crossing]).overlapping is True
    assert SPANS.settle(config, [document((0, 4, "X"), (3, 5, "X"))]).overlapping is False, "one label, one layer"
    chosen = TokensReadoutConfig(overlapping=False)
    assert SPANS.settle(chosen, [crossing]) is chosen


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="`readout` must be of the kind tokens for the task spans"):
        load_config(base={"model": {"task": "spans", "readout": "vectors"}})
    with pytest.raises(ConfigurationError, match="`readout` must score whole documents for the task single_label"):
        load_config(base={"model": {"task": "single_label", "readout": "tokens"}})
    with pytest.raises(ValidationError):
        DecisionConfig(min_score=1.5)
    with pytest.raises(DataError, match="needs at least 1 span to learn from"):
        SPANS.collect_labels([document()])
    with pytest.raises(ConfigurationError, match=r"`training\.class_weights` must be none for the task spans"):
        SPANS.loss(tagger(), class_weights="balanced")
    with pytest.raises(ConfigurationError, match=r"`training\.decisions\.coverage` must be null for the task spans"):
        SPANS.check_decisions(DecisionConfig(coverage=0.9), 100)
    with pytest.raises(ConfigurationError, match=r"`training\.decisions\.min_score` is f1, but there is no validation"):
        SPANS.check_decisions(DecisionConfig(min_score="f1"), 0)
    with pytest.raises(DataError, match="needs the field `spans` in every training document"):
        SPANS.check_gold([Document("d", TEXT)], None)
    SPANS.check_gold([document()], LABELS)
