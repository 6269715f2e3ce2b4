"""The encoder: padding, packing, windows, dtypes."""

from __future__ import annotations

import copy
import math
import re

import pytest
import torch
from pydantic import ValidationError

from longdoc.errors import UsageError
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.position import NoPosition, SinusoidalPosition
from nn_kit import padded, some_ids, tiny_config, tiny_encoder


def test_one_state_a_token_and_all_valid_is_as_none() -> None:
    encoder = tiny_encoder()
    ids = torch.tensor([some_ids(9), some_ids(9, seed=1)])
    out = encoder(ids)
    assert out.shape == (2, 9, 16)
    assert torch.allclose(encoder(ids, torch.ones(2, 9, dtype=torch.bool)), out, atol=1e-6)
    assert torch.allclose(encoder(ids, torch.ones(2, 9, dtype=torch.int64)), out, atol=1e-6)
    assert torch.equal(encoder(ids, positions=torch.arange(9)[None]), out)


@pytest.mark.parametrize("pad_id", [0, 49, -100, 10**6])
@pytest.mark.parametrize("side", ["left", "right"])
def test_what_stands_in_the_padding_never_reaches_a_real_token(side: str, pad_id: int) -> None:
    encoder = tiny_encoder()  # report B043
    text = some_ids(7)
    alone = encoder(torch.tensor([text]))[0]
    with torch.no_grad():
        encoder.word.weight[0] = math.nan
        encoder.word.weight[49] = math.inf
    assert 49 not in text
    ids, valid = padded([text], 12, side, pad_id)
    encoder.zero_grad()
    out = encoder(ids, valid)
    assert torch.allclose(out[valid], alone, atol=1e-6)
    assert out.isfinite().all()
    out[valid].square().sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in encoder.parameters())


def test_positions_given_for_padding_do_not_matter() -> None:
    encoder = tiny_encoder()
    ids, valid = padded([some_ids(4)], 6)
    expected = encoder(ids, valid)[valid]
    given = torch.tensor([[0, 1, 2, 3, -1, 10_000]])
    assert torch.equal(encoder(ids, valid, given)[valid], expected)


def test_explicit_positions_and_order_make_the_same_set() -> None:
    encoder = tiny_encoder(window=2, causal=True)
    ids, order = torch.tensor([some_ids(8)]), torch.tensor([[3, 1, 0, 7, 6, 2, 5, 4]])
    assert torch.allclose(encoder(ids[:, order[0]], positions=order), encoder(ids)[:, order[0]], atol=1e-6)


def test_a_token_outside_the_window_changes_nothing_and_one_inside_does() -> None:
    encoder = tiny_encoder(layers=1, window=2)  # report B044
    ids = torch.tensor([some_ids(9)])
    changed = ids.clone()
    changed[0, 6] = (ids[0, 6] % 40) + 1
    differs = (encoder(ids) != encoder(changed)).any(-1)[0].tolist()
    assert differs == [False] * 4 + [True] * 5


def test_causal_with_left_padding_is_both() -> None:
    encoder = tiny_encoder(causal=True)  # report B046
    text = some_ids(3)
    ids, valid = padded([text], 5, "left")
    out = encoder(ids, valid)
    changed = ids.clone()
    changed[0, 4] = (ids[0, 4] % 40) + 1
    assert torch.equal(encoder(changed, valid)[0, 2:4], out[0, 2:4])
    assert torch.allclose(out[0, 2:], encoder(torch.tensor([text]))[0], atol=1e-5)


def test_token_types_add_their_first_row() -> None:
    encoder = tiny_encoder(token_types=2, position={"kind": "none"}, embedding_norm=False, layers=1)
    ids = torch.tensor([some_ids(3)])
    with_types = encoder(ids)
    with torch.no_grad():
        encoder.word.weight += encoder.token_type.weight[0]
        encoder.token_type.weight[0] = 0
    assert torch.allclose(encoder(ids), with_types, atol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("norm_kind", ["layer", "rms"])
@pytest.mark.parametrize("feed_forward", ["plain", "gated"])
def test_every_choice_of_parts_runs_and_trains(norm: str, norm_kind: str, feed_forward: str) -> None:
    changes = {"norm": norm, "norm_kind": norm_kind, "feed_forward": feed_forward, "bias": norm == "post"}
    encoder = tiny_encoder(**changes, embedding_norm=norm == "post", dropout=0.1, attention_dropout=0.1).train()
    encoder(torch.tensor([some_ids(5)])).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())
    assert isinstance(encoder.final_norm, torch.nn.Identity) == (norm == "post")


def test_initial_weights_keep_the_size_of_what_they_are_given() -> None:
    torch.manual_seed(0)
    encoder = Encoder(tiny_config(width=64, vocab_size=2000))
    assert encoder.word.weight.std().item() == pytest.approx(0.02, rel=0.05)
    layer = encoder.layers[0]
    for linear in (layer.attention.query, layer.feed_forward.output):
        assert linear.weight.std().item() == pytest.approx(linear.in_features**-0.5, rel=0.05)
    assert (encoder.layers[1].feed_forward.inner.bias == 0).all()
    assert (encoder.embedding_norm.weight == 1).all()


def test_an_encoding_of_your_own_takes_the_place_of_the_configured_one() -> None:
    encoder = Encoder(tiny_config(), position=NoPosition()).eval()
    ids = torch.tensor([some_ids(6)])
    order = torch.tensor([5, 0, 3, 1, 4, 2])
    assert torch.allclose(encoder(ids[:, order]), encoder(ids)[:, order], atol=1e-6), "a bag of words"


def test_the_longest_row_is_that_of_the_position_encoding() -> None:
    assert tiny_encoder(max_len=40).max_tokens == 40
    assert tiny_encoder(position={"kind": "sinusoidal"}).max_tokens is None
    with pytest.raises(UsageError, match=r"^`positions` must be in \[0, 8\), the limit of this position encoding"):
        tiny_encoder(max_len=8)(torch.ones(1, 9, dtype=torch.int64))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_model_cast_to_a_dtype_stays_in_it_past_max_len(dtype: torch.dtype) -> None:
    encoder = tiny_encoder(position={"kind": "sinusoidal", "max_len": 8})  # report B065
    ids, valid = padded([some_ids(30), some_ids(11, seed=2)])
    exact = encoder(ids, valid)
    cast = copy.deepcopy(encoder).to(dtype)
    out = cast(ids, valid)
    assert out.dtype == dtype
    assert torch.allclose(out[valid].double(), exact[valid].double(), atol=0.15 if dtype.itemsize == 2 else 1e-5)
    table = SinusoidalPosition(16).embed(torch.zeros(1, 30, 16, dtype=dtype), torch.arange(30)[None])
    assert torch.equal(cast.position.embed(torch.zeros(1, 30, 16, dtype=dtype), torch.arange(30)[None]), table)


def test_autocast_runs_and_agrees() -> None:
    encoder = tiny_encoder(position={"kind": "sinusoidal"}, dropout=0.1, attention_dropout=0.1)
    ids, valid = padded([some_ids(30), some_ids(11, seed=2)])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = encoder(ids, valid)
        encoder.train()(ids, valid).float().square().sum().backward()
    assert torch.allclose(out[valid].float(), encoder.eval()(ids, valid)[valid], atol=0.15)
    assert all(p.grad.isfinite().all() for p in encoder.parameters() if p.grad is not None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"token_ids": [[1, 2]]}, "`token_ids` must be a tensor, but is a list instead."),
        ({"token_ids": torch.ones(1, 2)}, "`token_ids` must be int64 or int32, but are torch.float32 instead."),
        (
            {"token_ids": torch.ones(2, 0, dtype=torch.int64)},
            "`token_ids` must hold at least 1 token a row, but rows are empty. Leave out empty texts.",
        ),
        (
            {"valid": torch.ones(2, 4, dtype=torch.bool)},
            "`valid` must have shape (2, 3), as `token_ids` say, but has shape (2, 4) instead.",
        ),
        (
            {"valid": torch.ones(1, 3, dtype=torch.bool)},
            "`valid` must have shape (2, 3), as `token_ids` say, but has shape (1, 3) instead.",
        ),
        (
            {"positions": torch.arange(4)[None]},
            "`positions` must have shape (2, 3) or (1, 3), as `token_ids` say, but has shape (1, 4) instead.",
        ),
        (
            {"positions": torch.arange(3)},
            "`positions` must have shape (2, 3) or (1, 3), as `token_ids` say, but has shape (3,) instead.",
        ),
        (
            {"positions": torch.zeros(2, 3, 3, dtype=torch.int64)},
            "`positions` must have shape (2, 3) or (1, 3), as `token_ids` say, but has shape (2, 3, 3) instead.",
        ),
        (
            {"segments": torch.zeros(2, 2, dtype=torch.int64)},
            "`segments` must have shape (2, 3), as `token_ids` say, but has shape (2, 2) instead.",
        ),
        (
            {"segments": torch.zeros(2, 3)},
            "`segments` must be integers, but are torch.float32 instead.",
        ),
        (
            {"token_types": torch.zeros(2, 3)},
            "`token_types` must be int64 or int32, but are torch.float32 instead.",
        ),
        (
            {"token_types": torch.full((2, 3), 2)},
            "`token_types` must be in [0, 2), the rows of the table, but reach from 2 to 2 instead. Use the tokenizer "
            "that the encoder was made for.",
        ),
        (
            {"token_ids": torch.tensor([[1, 2, 3], [4, 5, 50]])},
            "`token_ids` must be in [0, 50), the rows of the table, but reach from 1 to 50 instead. Use the tokenizer "
            "that the encoder was made for.",
        ),
        (
            {"token_ids": torch.tensor([[1, 2, 3], [4, -1, 5]])},
            "`token_ids` must be in [0, 50), the rows of the table, but reach from -1 to 5 instead. Use the tokenizer "
            "that the encoder was made for.",
        ),
    ],
)
def test_what_an_encoder_cannot_read_is_named(arguments: dict, message: str) -> None:
    encoder = tiny_encoder(vocab_size=50, token_types=2, layers=1)
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        encoder(**{"token_ids": torch.ones(2, 3, dtype=torch.int64), **arguments})


def test_token_ids_need_two_axes() -> None:
    with pytest.raises(UsageError, match=r"^`token_ids` must have shape \(N, L\), but has shape \(3,\) instead\.$"):
        tiny_encoder()(torch.ones(3, dtype=torch.int64))


def test_a_configuration_that_cannot_work_is_refused() -> None:
    message = "`width` must be a multiple of `heads` (12), but is 100 instead."
    with pytest.raises(ValidationError, match=re.escape(message)):
        EncoderConfig(width=100)
    with pytest.raises(ValidationError):
        EncoderConfig(position={"kind": "unheard of"})
    assert EncoderConfig.model_validate_json(tiny_config().model_dump_json()) == tiny_config()


@pytest.mark.slow
def test_an_exported_encoder_takes_other_shapes() -> None:
    encoder = tiny_encoder(window=5)  # report B068
    ids, valid = padded([some_ids(20), some_ids(13, seed=1)])
    rows, length = torch.export.Dim("rows", max=64), torch.export.Dim("length", min=2, max=512)
    exported = torch.export.export(
        encoder, (ids, valid), dynamic_shapes={"token_ids": {0: rows, 1: length}, "valid": {0: rows, 1: length}}
    ).module()
    for lengths in ([7, 3], [20, 20, 1], [300, 5]):
        ids, valid = padded([some_ids(n, seed=n) for n in lengths])
        assert torch.allclose(exported(ids, valid)[valid], encoder(ids, valid)[valid], atol=1e-4)
