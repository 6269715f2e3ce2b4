"""Surgery on positions: the new encoder describes itself, the old one stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from family_kit import difference, ragged, saved, their_answer, their_model
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.native import save_encoder
from longdoc.checkpoints.surgery import change_token_types, lengthen_positions, replace_position, replace_scaling
from longdoc.errors import UsageError
from longdoc.nn.position import (
    AlibiConfig,
    BucketsPosition,
    LearnedPosition,
    RotaryConfig,
    SinusoidalConfig,
    interpolate,
    tile,
)
from longdoc.nn.position.scaling import DynamicScaling, LinearScaling, YarnScaling
from longdoc.text.tokenizing import DocumentTokenizer
from nn_kit import some_ids, tiny_encoder


@pytest.fixture(scope="module")
def tokenizer(minilm_folder: Path) -> DocumentTokenizer:
    """Folders hold one; which one does not matter here."""
    return DocumentTokenizer.from_folder(minilm_folder)


@pytest.mark.parametrize("method", ["interpolate", "tile"])
@pytest.mark.parametrize(
    "position",
    [
        {"kind": "learned"},
        {"kind": "learned", "rows": 34, "offset": 2},
        {"kind": "stacked", "parts": [{"kind": "learned", "offset": 2}, {"kind": "buckets"}]},
    ],
    ids=["learned", "rows", "stacked"],
)
def test_a_longer_encoder_reads_longer_rows_and_says_so(
    position: dict, method: str, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    encoder = tiny_encoder(position=position, max_len=32)
    state = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    longer = lengthen_positions(encoder, 70, method)
    assert (longer.max_tokens, longer.config.max_len) == (70, 70)
    long, short = torch.tensor([some_ids(70)]), torch.tensor([some_ids(20)])
    assert longer(long).isfinite().all()
    assert torch.equal(longer(short), encoder(short)) == (method == "tile")
    assert encoder.max_tokens == 32
    assert all(torch.equal(tensor, state[name]) for name, tensor in encoder.state_dict().items())
    save_encoder(tmp_path / "longer", longer, tokenizer)
    assert torch.equal(load_encoder(tmp_path / "longer")(long), longer(long))


def test_a_longer_bert_is_still_a_bert(minilm_folder: Path, tmp_path: Path, tokenizer: DocumentTokenizer) -> None:
    from transformers import BertModel

    longer = lengthen_positions(load_encoder(minilm_folder), 600)
    save_encoder(tmp_path / "longer", longer, tokenizer)
    theirs = BertModel.from_pretrained(tmp_path / "longer").eval()
    assert theirs.config.max_position_embeddings == 600
    ids = torch.randint(1000, 2000, (1, 600), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(longer(ids), theirs(ids).last_hidden_state, atol=1e-5)


def test_only_learned_tables_can_be_lengthened() -> None:
    message = (
        "`position` must be `learned`, or `stacked` with a learned part, but is `sinusoidal` instead. Only tables end; "
        "formulas and distances go on by themselves."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        lengthen_positions(tiny_encoder(position={"kind": "sinusoidal"}), 70)


def test_another_encoding_leaves_every_other_weight(
    minilm_folder: Path, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    encoder = load_encoder(minilm_folder)
    replaced = replace_position(encoder, AlibiConfig())
    assert encoder.config.family == "bert"
    assert replaced.config.family is None
    assert replaced.max_tokens is None
    mine, theirs = dict(replaced.named_parameters()), dict(encoder.named_parameters())
    assert set(theirs) - set(mine) == {"position.weight"}
    assert all(torch.equal(parameter, theirs[name]) for name, parameter in mine.items())
    ids = torch.randint(1000, 2000, (1, 700), generator=torch.Generator().manual_seed(0))
    save_encoder(tmp_path / "replaced", replaced, tokenizer)
    again = load_encoder(tmp_path / "replaced")
    assert again.config.position == AlibiConfig()
    with torch.no_grad():
        assert torch.equal(again(ids), replaced(ids))


def test_the_new_encoding_has_the_dtype_and_mode_of_the_old_one() -> None:
    encoder = tiny_encoder(position={"kind": "stacked", "parts": [{"kind": "learned"}, {"kind": "buckets"}]})
    longer = lengthen_positions(encoder.to(torch.bfloat16).train(), 600)
    learned, buckets = longer.position.parts
    assert isinstance(learned, LearnedPosition)
    assert isinstance(buckets, BucketsPosition)
    assert learned.weight.dtype == torch.bfloat16
    assert longer.position.training
    assert not replace_position(encoder.eval(), SinusoidalConfig()).position.training


def test_stretched_frequencies_are_those_of_transformers_and_come_back(tmp_path: Path, tokenizer) -> None:
    scaling = YarnScaling(factor=4.0, original_max_len=66)
    encoder = load_encoder(saved(their_model("gte"), tmp_path / "theirs"))
    longer = replace_scaling(encoder, scaling, tokens=264)
    assert encoder.config.position.scaling is None
    save_encoder(tmp_path / "ours", longer, tokenizer)
    assert load_encoder(tmp_path / "ours").config == longer.config
    parameters = {"rope_type": "yarn", "rope_theta": 160000.0, "factor": 4.0, "original_max_position_embeddings": 66}
    theirs = their_model("gte", max_position_embeddings=264, rope_parameters=parameters)
    ids, valid = ragged((120, 50), pad_id=1)
    with torch.no_grad():
        assert difference(longer(ids, valid), their_answer(theirs, ids, valid), valid) <= 1e-5
        assert difference(encoder(ids, valid), their_answer(theirs, ids, valid), valid) > 1e-3
    plain = replace_scaling(longer, None, tokens=66)
    assert plain.config == encoder.config
    assert torch.equal(plain(ids, valid), encoder(ids, valid))


def test_a_target_that_a_family_cannot_say_is_saved_in_our_layout(tmp_path: Path, tokenizer) -> None:
    encoder = load_encoder(saved(their_model("nomic_bert"), tmp_path / "theirs"))
    longer = replace_scaling(encoder, DynamicScaling(factor=2.0, original_max_len=66, target_len=200), tokens=200)
    assert (encoder.config.family, longer.config.family) == ("nomic_bert", None)
    save_encoder(tmp_path / "ours", longer, tokenizer)
    again = load_encoder(tmp_path / "ours")
    ids = torch.tensor([some_ids(20)])
    assert torch.equal(again(ids), longer(ids))
    assert not torch.equal(longer(ids), encoder(ids))


def test_only_what_is_rotary_is_stretched() -> None:
    stack = tiny_encoder(position={"kind": "stacked", "parts": [{"kind": "learned"}, {"kind": "rotary"}]}, max_len=32)
    stretched = replace_scaling(stack, LinearScaling(factor=2.0))
    assert torch.equal(stretched.position.parts[0].weight, stack.position.parts[0].weight)
    assert stretched.config.position.parts[1].scaling == LinearScaling(factor=2.0)
    message = (
        "`position` must be `rotary`, or `stacked` with a rotary part, but is `alibi` instead. Only rotary frequencies "
        "can be stretched; `lengthen_positions` makes a table longer."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        replace_scaling(tiny_encoder(position={"kind": "alibi"}), None)


@pytest.mark.parametrize(("before", "after"), [(2, 5), (2, 1), (2, 0), (0, 3), (1, 1)])
def test_token_types_come_and_go_without_changing_what_is_said(before: int, after: int) -> None:
    encoder = tiny_encoder(token_types=before)
    changed = change_token_types(encoder, after)
    assert changed.config.token_types == after
    assert (0 if changed.token_type is None else changed.token_type.num_embeddings) == after
    assert (0 if encoder.token_type is None else encoder.token_type.num_embeddings) == before
    ids = torch.tensor([some_ids(9)])
    with torch.no_grad():
        assert torch.allclose(changed(ids), encoder(ids), atol=1e-5)
    if after > before:
        assert torch.equal(changed.token_type.weight[before:], changed.token_type.weight[:1].expand(after - before, -1))


def test_a_bert_with_more_token_types_is_still_a_bert(tmp_path: Path, tokenizer) -> None:
    from transformers import BertModel

    changed = change_token_types(load_encoder(saved(their_model("bert"), tmp_path / "theirs")), 4)
    save_encoder(tmp_path / "ours", changed, tokenizer)
    theirs = BertModel.from_pretrained(tmp_path / "ours").eval()
    assert theirs.config.type_vocab_size == 4
    ids, valid = ragged()
    with torch.no_grad():
        assert difference(changed(ids, valid), their_answer(theirs, ids, valid), valid) <= 1e-5
    with pytest.raises(UsageError, match=r"^`rows` must be a whole number in \[0, 16777216\], but is -1 instead\.$"):
        change_token_types(changed, -1)


@pytest.mark.parametrize(
    ("operate", "message"),
    [
        (
            lambda encoder: lengthen_positions(encoder, 64.5),
            "`tokens` must be a whole number in [1, 16777216], but is 64.5 instead.",
        ),
        (
            lambda encoder: lengthen_positions(encoder, float("nan"), "tile"),
            "`tokens` must be a whole number in [1, 16777216], but is nan instead.",
        ),
        (
            lambda encoder: lengthen_positions(encoder, 10**13),
            "`tokens` must be a whole number in [1, 16777216], but is 10000000000000 instead.",
        ),
        (
            lambda encoder: lengthen_positions(encoder, 64, "foo"),
            "`method` must be one of interpolate, tile, but is 'foo' instead.",
        ),
        (
            lambda encoder: tile(SinusoidalConfig().build(encoder.config.geometry), 64),
            "`position` must be a LearnedPosition, but is a SinusoidalPosition instead. Only tables end.",
        ),
        (
            lambda encoder: interpolate(None, 64),
            "`position` must be a LearnedPosition, but is a NoneType instead. Only tables end.",
        ),
        (
            lambda encoder: replace_position(encoder, "rotary"),
            "`position` must be the configuration of an encoding, such as RotaryConfig(), but is a str instead.",
        ),
        (
            lambda encoder: replace_position(encoder, RotaryConfig(theta=(10.0, 100.0, 1000.0))),
            "`theta` must name at most one number a layer (2), but names 3 instead.",
        ),
        (
            lambda encoder: replace_scaling(encoder, "yarn"),
            "`scaling` must be a method with its factor, such as YarnScaling(...), or None, but is a str instead.",
        ),
        (
            lambda encoder: replace_scaling(encoder, None, 0),
            "`tokens` must be a whole number in [1, 16777216], but is 0 instead.",
        ),
        (
            lambda encoder: change_token_types(encoder, 1.5),
            "`rows` must be a whole number in [0, 16777216], but is 1.5 instead.",
        ),
    ],
)
def test_what_no_operation_can_use_is_named(operate, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        operate(tiny_encoder(position={"kind": "learned"}, layers=2, max_len=32))
