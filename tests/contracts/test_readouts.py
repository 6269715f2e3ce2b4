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

from longdoc.model import LongDocModel
from longdoc.nn.heads import HeadKind
from longdoc.nn.mergers import MergerKind
from longdoc.nn.pooling import POOLINGS
from longdoc.nn.readout import ReadoutConfig
from longdoc.nn.readout import ReadoutKind as Kinds
from nn_kit import batch_of, padded, randomised, some_ids, tiny_encoder

CLASSES = 3
EXAMPLES: dict[str, dict[str, Any]] = {}


def kinds_of(union: Any) -> list[str]:
    return [kind.model_fields["kind"].default for kind in get_args(union) or (union,)]


CONFIGS: list[dict[str, Any]] = []
for readout_kind in get_args(Kinds) or (Kinds,):
    config: dict[str, Any] = {"kind": readout_kind.model_fields["kind"].default}
    parts = {
        "pooling": list(POOLINGS),
        "merger": [{"kind": kind} | EXAMPLES.get(kind, {}) for kind in kinds_of(MergerKind)],
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
        assert model.readout.bias.shape == (classes,)


@every_config
def test_a_document_answers_as_if_alone_whatever_the_batch_and_the_order(config: dict) -> None:
    model = build(config)
    texts, owner = documents([2, 1, 3])
    together = model(batch_of(*padded(texts), owner))
    for document in range(3):
        mine = [text for text, o in zip(texts, owner, strict=True) if o == document]
        for chunks in (mine, mine[::-1]):
            for length in (None, 40):
                alone = model(batch_of(*padded(chunks, length), [0] * len(chunks)))
                assert torch.allclose(alone[0], together[document], atol=1e-5)


@every_config
def test_scores_are_the_bias_and_what_each_chunk_adds(config: dict) -> None:
    model = build(config)
    if not model.readout.additive:
        pytest.skip("this readout's scores are no sum over chunks")
    texts, owner = documents([2, 1, 4])
    batch = batch_of(*padded(texts), owner)
    hidden = model.hidden(batch)
    rows = model.readout.rows(hidden, batch)
    arguments = (rows, batch.owner, batch.weights, 3)
    parts = model.readout.chunk_contributions(*arguments)
    sums = torch.zeros(3, CLASSES).index_add(0, batch.owner, parts) + model.readout.bias
    assert torch.allclose(sums, model.documents(*arguments), atol=1e-5)
    tokens = model.readout.token_contributions(hidden, batch, model.readout.gains(*arguments))
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
