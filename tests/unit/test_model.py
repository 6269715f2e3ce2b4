"""The two halves of the model meet at the rows of chunks."""

from __future__ import annotations

import torch

from nn_kit import batch_of, padded, some_ids, tiny_model


def test_documents_by_hand_equal_one_step() -> None:
    model = tiny_model(readout={"merger": {"kind": "attention"}})
    texts = [some_ids(n, seed=n) for n in (12, 5, 9, 3, 7)]
    owner = [0, 1, 1, 2, 0]
    ids, valid = padded(texts)
    together = model(batch_of(ids, valid, owner))
    rows: dict[int, list[torch.Tensor]] = {0: [], 1: [], 2: []}
    weights: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for text, document in zip(texts, owner, strict=True):
        batch = batch_of(torch.tensor([text]))
        rows[document].append(model.chunk_rows(batch)[0])
        weights[document].append(batch.weights.item())
    for document in range(3):
        count = len(rows[document])
        one_owner = torch.zeros(count, dtype=torch.int64)
        alone = model.documents(torch.stack(rows[document]), one_owner, torch.tensor(weights[document]), 1)
        assert torch.allclose(alone[0], together[document], atol=1e-5)


def test_rows_are_float32_and_as_wide_as_the_readout_says() -> None:
    model = tiny_model()
    rows = model.chunk_rows(batch_of(torch.tensor([some_ids(4), some_ids(4, seed=1)])))
    assert rows.shape == (2, model.readout.row_width)
    assert rows.dtype == torch.float32


def test_segments_and_positions_of_a_batch_reach_the_encoder() -> None:
    from dataclasses import replace

    model = tiny_model()
    batch = batch_of(torch.tensor([some_ids(6)]))
    plain = model.hidden(batch)
    packed = model.hidden(replace(batch, segments=torch.tensor([[0, 0, 0, 1, 1, 1]])))
    shifted = model.hidden(replace(batch, positions=torch.arange(6)[None] + 3))
    assert not torch.allclose(packed, plain, atol=1e-3)
    assert not torch.allclose(shifted, plain, atol=1e-3)
    assert torch.allclose(packed[:, :3], model.hidden(batch_of(batch.token_ids[:, :3])), atol=1e-5)
