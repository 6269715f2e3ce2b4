"""What readouts promise that score tokens: the scores of a document's tokens in the order of its text, each once.

A new head or scheme is covered by being in its union.
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
from longdoc.nn.readout import Readout, ReadoutConfig, ReadoutKind, TokensReadoutConfig
from longdoc.spans.tags import Scheme
from nn_kit import batch_of, padded, randomised, some_ids, tiny_encoder

KINDS = [kind for kind in get_args(ReadoutKind) if kind.scored == "tokens" and kind.tokens_once]
HEADS = [kind.model_fields["kind"].default for kind in get_args(HeadKind)]
CONFIGS = [{"kind": kind.model_fields["kind"].default, "head": {"kind": head}} for kind in KINDS for head in HEADS]
every_config = pytest.mark.parametrize("config", CONFIGS, ids=[f"{c['kind']}-{c['head']['kind']}" for c in CONFIGS])
BODY = 14


def build(config: dict[str, Any], classes: int = 5) -> LongDocModel:
    readout: Readout = TypeAdapter(ReadoutConfig).validate_python(config).build(16, classes)
    readout.fit_chunks(BODY)
    return LongDocModel(tiny_encoder(), randomised(readout, 1)).eval()


def batches() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[int]]:
    """Ids, validity, cores and owners of three documents with 2, 1 and 3 chunks; cores are parts of the bodies."""
    owner = [0, 0, 1, 2, 2, 2]
    ids, valid = padded([some_ids(5 + 3 * (n % 4), seed=n) for n in range(len(owner))])
    core = valid & (valid.cumsum(-1) > 1)
    for row, cut in enumerate((1, 2, 0, 1, 3, 2)):
        core[row, 1 : 1 + cut] = False
        core[row, int(valid[row].sum()) - cut % 2 :] = False
    return ids, valid, core, owner


@every_config
def test_tokens_come_in_the_order_of_the_text_each_once(config: dict) -> None:
    model = build(config)
    ids, valid, core, owner = batches()
    states = model.encoder(ids, valid)
    expected = model.readout.head.classify(model.readout.head.transform(states))[core]
    for keep in (False, True):
        assert model.readout.keep_states(keep) is keep
        assert model.readout.learns_rows is not keep
        rows, owners, weights = [], [], []
        for member in (4, 0, 5, 2, 1, 3):  # as micro-batches come, sorted by length
            one = [member]
            batch = batch_of(ids[one], valid[one], [0], core[one], ordinals=[member - owner.index(owner[member])])
            rows.append(model.chunk_rows(batch))
            assert rows[-1].shape == (1, model.readout.row_width)
            owners.append(owner[member])
            weights.append(batch.weights)
        scores = model.documents(torch.cat(rows), torch.tensor(owners), torch.cat(weights), 3)
        assert scores.shape == (int(core.sum()), model.readout.classes)
        assert torch.allclose(scores, expected, atol=1e-5)


@every_config
def test_padding_and_neighbours_change_nothing(config: dict) -> None:
    model = build(config)
    ids, valid, core, owner = batches()
    whole = model(batch_of(ids, valid, owner, core))
    only = model(batch_of(ids[:2], valid[:2], [0, 0], core[:2]))
    assert torch.allclose(whole[: len(only)], only, atol=1e-5)


@every_config
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_trains_in_both_dtypes(config: dict, dtype: torch.dtype) -> None:
    model = build(config).train()
    ids, valid, core, owner = batches()
    with torch.autocast("cpu", dtype=dtype, enabled=dtype == torch.bfloat16):
        scores = model(batch_of(ids, valid, owner, core))
    assert scores.dtype == torch.float32
    torch.nn.functional.cross_entropy(scores, torch.arange(len(scores)) % 5).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize(
    ("scheme", "overlapping", "labels"), list(itertools.product(get_args(Scheme), (False, True), (1, 2, 7)))
)
def test_scores_are_as_many_as_the_tags_of_the_labels(scheme: str, overlapping: bool, labels: int) -> None:
    config = TypeAdapter(TokensReadoutConfig).validate_python({"scheme": scheme, "overlapping": overlapping})
    layers, tags = config.layout(labels).shape
    assert config.build(16, layers * tags).layout.layers == config.layout(labels).layers
    with pytest.raises(UsageError, match="`classes` must be the number of tags of some labels"):
        config.build(16, layers * tags + 1)


def test_a_configuration_is_strict_and_survives_json() -> None:
    adapter = TypeAdapter(ReadoutConfig)
    read = adapter.validate_python({"kind": "tokens", "tags": ["O", "B-X"], "decoder": "crf"})
    assert adapter.validate_json(adapter.dump_json(read)) == read
    for wrong in ({"tags": []}, {"tags": ["B-", "I-X"]}, {"scheme": "iob"}, {"unheard_of": 1}):
        with pytest.raises(ValidationError):
            adapter.validate_python({"kind": "tokens"} | wrong)
