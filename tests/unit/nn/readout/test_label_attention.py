"""One softmax a label over all core tokens of a document, however they were cut into chunks."""

from __future__ import annotations

import pytest
import torch

from longdoc.nn.readout import LabelAttentionReadout, LabelAttentionReadoutConfig
from nn_kit import batch_of, randomised
from reference import mergers as slowly

WIDTH, CLASSES = 6, 3


def readout(std: float = 0.7) -> LabelAttentionReadout:
    return randomised(LabelAttentionReadoutConfig(hidden=4).build(WIDTH, CLASSES), std=std).eval()


def states(tokens: int) -> torch.Tensor:
    return torch.randn(1, tokens, WIDTH, generator=torch.Generator().manual_seed(tokens))


def cut(hidden: torch.Tensor, body: int, overlap: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Chunks (N, body, D) of a document's states with their core masks, overlaps cut in the middle."""
    tokens = hidden.shape[1]
    starts = list(range(0, max(1, tokens - overlap), body - overlap))
    rows, core = torch.full((len(starts), body, WIDTH), float("nan")), torch.zeros(len(starts), body).bool()
    for row, start in enumerate(starts):
        end = min(start + body, tokens)
        rows[row, : end - start] = hidden[0, start:end]
        left = 0 if row == 0 else overlap // 2
        right = end - start if end == tokens else body - overlap // 2
        core[row, left:right] = True
    return rows, core


def score(model: LabelAttentionReadout, hidden: torch.Tensor, core: torch.Tensor) -> torch.Tensor:
    ids = torch.ones(hidden.shape[:2], dtype=torch.int64)
    batch = batch_of(ids, owner=[0] * len(ids), core=core)
    return model.documents(model.rows(hidden, batch), batch.owner, batch.weights, 1)[0]


@pytest.mark.parametrize("tokens", [1, 9, 40])
@pytest.mark.parametrize(("body", "overlap"), [(40, 0), (8, 0), (8, 4)])
def test_chunks_give_what_the_whole_document_gives(tokens: int, body: int, overlap: int) -> None:
    model, hidden = readout(), states(tokens)
    expected = slowly.label_attention(
        hidden[0].tolist(),
        model.inner.weight.tolist(),
        model.inner.bias.tolist(),
        model.score.weight.tolist(),
        model.output.weight.tolist(),
        model.output.bias.tolist(),
    )
    assert score(model, *cut(hidden, body, overlap)).tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("tokens", [1, 9, 40])
def test_kept_states_give_the_same_scores_and_gradients(tokens: int) -> None:
    scores, gradients = [], []
    for keep in (False, True):
        model = readout()
        model.fit_chunks(8)
        assert model.keep_states(keep) is keep
        assert model.learns_rows is not keep
        hidden, core = cut(states(tokens), 8, 4)
        found = score(model, hidden, core)
        found.square().sum().backward()
        scores.append(found.detach())
        gradients.append([parameter.grad for parameter in model.parameters()])
    assert torch.allclose(*scores, atol=1e-6)
    for anew, kept in zip(*gradients, strict=True):
        assert torch.allclose(anew, kept, atol=1e-5)


def test_ten_thousand_chunks_are_one_document() -> None:
    model, hidden = readout(), states(20_000)
    assert torch.allclose(score(model, *cut(hidden, 2, 0)), score(model, *cut(hidden, 20_000, 0)), atol=1e-4)


def test_it_starts_as_the_mean_of_all_tokens() -> None:
    torch.manual_seed(0)
    model, hidden = LabelAttentionReadoutConfig().build(WIDTH, CLASSES).eval(), states(30)
    assert torch.allclose(score(model, *cut(hidden, 8, 4)), model.output(hidden[0].mean(0)), atol=1e-6)


def test_scores_of_any_size_and_numbers_beside_the_core_do_no_harm() -> None:
    model = readout(std=40.0)
    hidden, core = cut(states(30), 8, 4)
    hidden[:, :2], core[:, :2] = float("inf"), False
    hidden = hidden.requires_grad_()
    answers = score(model, hidden, core)
    answers.sum().backward()
    assert answers.isfinite().all()
    assert (hidden.grad[~core] == 0).all()
    assert hidden.grad[core].isfinite().all()


def test_a_chunk_without_core_tokens_is_silent() -> None:
    model = readout()
    hidden, core = cut(states(16), 8, 0)
    more = torch.cat([hidden, torch.full((1, 8, WIDTH), 9.0)])
    silent = torch.cat([core, torch.zeros(1, 8, dtype=torch.bool)])
    assert torch.allclose(score(model, more, silent), score(model, hidden, core), atol=1e-6)
    assert torch.equal(score(model, more[2:], silent[2:]), model.output.bias), "no token at all: nothing but the bias"


def test_rows_of_no_weight_are_not_heard_whatever_they_hold() -> None:
    model, owner = readout(), torch.zeros(4, dtype=torch.int64)
    rows = torch.randn(3, 6, generator=torch.Generator().manual_seed(0))
    expected = model.documents(rows, owner[:3], torch.ones(3), 1)
    for filler in (99.0, float("nan")):
        more = torch.cat([rows, torch.full((1, 6), filler)])
        assert torch.equal(model.documents(more, owner, torch.tensor([1.0, 1.0, 1.0, 0.0]), 1), expected)


def test_a_row_is_two_numbers_a_label() -> None:
    model = readout()
    assert (model.row_width, model.classes, model.learns_rows) == (6, 3, True)
