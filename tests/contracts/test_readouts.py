"""What every readout promises, for every kind of the union and every part it can be made of.

A new kind, pooling, merger or head is covered by being in its union. If it has fields without defaults, give it an
example in `EXAMPLES`.
"""

from __future__ import annotations

import itertools
from typing import Any, get_args

import pytest
import torch
from pydantic import TypeAdapter, ValidationError

from longdoc.errors import UsageError
from longdoc.model import LongDocModel
from longdoc.nn.heads import HeadKind
from longdoc.nn.pooling import POOLINGS
from longdoc.nn.readout import ReadoutConfig
from longdoc.nn.readout import ReadoutKind as Kinds
from nn_kit import batch_of, padded, randomised, some_ids, tiny_encoder

CLASSES = 3
EXAMPLES: dict[str, dict[str, Any]] = {"hierarchical": {"hidden": 8, "heads": 2, "layers": 2, "dropout": 0.0}}


def kinds_of(union: Any) -> list[str]:
    return [kind.model_fields["kind"].default for kind in get_args(union) or (union,)]


def mergers_of(readout: Any) -> list[str]:
    return kinds_of(readout.model_fields["merger"].annotation) if "merger" in readout.model_fields else []


CONFIGS: list[dict[str, Any]] = []
for readout_kind in get_args(Kinds) or (Kinds,):
    if readout_kind.scored != "documents":
        continue  # what else there is has promises and suites of its own: test_token_readouts.py, test_embedding.py
    config: dict[str, Any] = {"kind": readout_kind.model_fields["kind"].default}
    parts = {
        "pooling": list(POOLINGS),
        "merger": [{"kind": kind} | EXAMPLES.get(kind, {}) for kind in mergers_of(readout_kind)],
        "head": [{"kind": kind} | EXAMPLES.get(kind, {}) for kind in kinds_of(HeadKind)],
    }
    parts = {name: choices for name, choices in parts.items() if name in readout_kind.model_fields}
    for choice in itertools.product(*parts.values()):
        CONFIGS.append(config | dict(zip(parts, choice, strict=True)))
every_config = pytest.mark.parametrize(
    "config",
    CONFIGS,
    ids=["-".join(part["kind"] if isinstance(part, dict) else part for part in config.values()) for config in CONFIGS],
)


def build(config: dict[str, Any], classes: int = CLASSES) -> LongDocModel:
    readout = TypeAdapter(ReadoutConfig).validate_python(config).build(16, classes)
    return LongDocModel(tiny_encoder(), randomised(readout, 1)).eval()


def documents(counts: list[int]) -> tuple[list[list[int]], list[int]]:
    """Texts of chunks and their owners."""
    owner = [document for document, count in enumerate(counts) for _ in range(count)]
    return [some_ids(5 + 3 * (n % 4), seed=n) for n in range(len(owner))], owner


@every_config
def test_a_configuration_is_strict_and_survives_json(config: dict) -> None:
    adapter = TypeAdapter(ReadoutConfig)
    read = adapter.validate_python(config)
    assert adapter.validate_json(adapter.dump_json(read)) == read
    with pytest.raises(ValidationError):
        adapter.validate_python(config | {"unheard_of": 1})


@every_config
def test_rows_are_as_wide_as_said_and_scores_one_a_class(config: dict) -> None:
    for classes in (1, CLASSES):
        model = build(config, classes)
        texts, owner = documents([2, 1, 3])
        batch = batch_of(*padded(texts), owner)
        rows = model.chunk_rows(batch)
        assert (rows.shape, rows.dtype) == ((6, model.readout.row_width), torch.float32)
        scores = model.documents(rows, batch.owner, batch.weights, 3)
        assert (scores.shape, scores.dtype) == ((3, classes), torch.float32)
        assert model.readout.base(rows, batch.owner, batch.weights, 3).shape == (3, classes)


@every_config
def test_a_document_answers_as_if_alone_whatever_the_batch_and_the_order(config: dict) -> None:
    model = build(config)
    texts, owner = documents([2, 1, 3])
    together = model(batch_of(*padded(texts), owner))
    for document in range(3):
        mine = [text for text, o in zip(texts, owner, strict=True) if o == document]
        for step in (1, -1):
            for length in (None, 40):
                ids, valid = padded(mine[::step], length)
                batch = batch_of(ids, valid, [0] * len(mine), ordinals=list(range(len(mine)))[::step])
                assert torch.allclose(model(batch)[0], together[document], atol=1e-5)


@every_config
def test_scores_are_their_base_and_what_each_chunk_and_token_adds(config: dict) -> None:
    model = build(config)
    texts, owner = documents([2, 1, 4])
    batch = batch_of(*padded(texts), owner)
    hidden = model.hidden(batch).detach()
    rows = model.readout.rows(hidden, batch).detach()
    arguments = (rows, batch.owner, batch.weights, 3)
    for label in range(CLASSES):
        slopes = model.readout.slopes(*arguments, label)
        assert slopes.shape == rows.shape
        parts = (slopes * rows).sum(1)
        whole = torch.zeros(3).index_add(0, batch.owner, parts) + model.readout.base(*arguments)[:, label]
        tolerance = 1e-5 if model.readout.exact_evidence else 1e-3
        assert torch.allclose(whole, model.documents(*arguments)[:, label], atol=tolerance)
        tokens = model.readout.token_contributions(hidden, batch, slopes, label)
        if tokens is not None:
            assert torch.allclose(tokens.sum(1), parts, atol=1e-5)
            assert (tokens[~batch.core] == 0).all()


@every_config
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_trains_in_both_dtypes(config: dict, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = build(config).train()
    texts, owner = documents([2, 1, 3])
    batch = batch_of(*padded(texts), owner)
    with torch.autocast("cpu", dtype=dtype, enabled=dtype == torch.bfloat16):
        scores = model(batch)
    assert scores.dtype == torch.float32
    torch.nn.functional.cross_entropy(scores, torch.tensor([0, 1, 2])).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@every_config
def test_rows_that_were_condensed_give_the_scores_of_all_of_them(config: dict) -> None:
    model = build(config)
    texts, owner = documents([7])
    batch = batch_of(*padded(texts), owner)
    rows, weights, readout = model.chunk_rows(batch), batch.weights, model.readout
    if not readout.condenses:
        with pytest.raises(UsageError, match="must be kept one by one"):
            readout.condensed(rows, weights)
        return
    blocks = list(zip(rows.split(3), weights.split(3), strict=True))
    condensed = torch.stack([readout.condensed(*block) for block in blocks])
    sums = torch.stack([part.sum() for _, part in blocks])
    scores = readout.of_condensed(condensed, torch.zeros(3, dtype=torch.int64), sums, 1)
    assert torch.allclose(scores, model.documents(rows, batch.owner, weights, 1), atol=1e-5)
