"""Rows behind each other without a mask: the numbers of padded rows, for every encoding and mask that can do it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode

from longdoc.errors import UsageError
from longdoc.nn import Encoder
from longdoc.nn.attend import attend
from longdoc.nn.layer_masks import packed_layer_masks
from longdoc.nn.packed import PackedMask, attend_packed, kernel_works
from longdoc.nn.position import PositionPlan
from longdoc.packing import Packing
from nn_kit import MASKS, padded, some_ids, tiny_config, tiny_encoder
from position_kit import CONFIGS

LENGTHS = (9, 1, 12, 5)
TELL_SCORES = {"alibi", "buckets", "shaw", "disentangled"}
"""Kinds that add to the scores or speak to the values, by which they are known: asked of the plan elsewhere."""


def batch(length: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    return padded([some_ids(each, seed=each) for each in LENGTHS], length)


@pytest.mark.parametrize("keeps_padding", [False, True])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("position", CONFIGS.values(), ids=CONFIGS)
def test_packed_rows_have_the_numbers_of_padded_ones(position: dict, mask: dict, keeps_padding: bool) -> None:
    encoder = tiny_encoder(position=position, width=32, **mask)
    ids, valid = batch()
    packing = Packing.of(LENGTHS, 4, 12, keeps_padding)
    with torch.inference_mode():
        expected, found = encoder(ids, valid), encoder(ids, valid, packing=packing)
    assert torch.allclose(found[valid], expected[valid], atol=1e-5)
    assert found.isfinite().all()
    if not keeps_padding and encoder.takes_packing:
        assert not found[~valid].any()


def test_encodings_that_speak_to_the_scores_keep_their_rows() -> None:
    taking = {name: tiny_encoder(position=each, width=32).takes_packing for name, each in CONFIGS.items()}
    kinds = {name: str(each.get("kind")) for name, each in CONFIGS.items()}
    assert not any(taken for name, taken in taking.items() if kinds[name] in TELL_SCORES)
    assert all(taking[name] for name, kind in kinds.items() if kind in ("none", "sinusoidal", "learned", "rotary"))
    assert not taking["language over alibi"]
    assert not taking["stacked"]  # buckets are among its parts


@pytest.mark.parametrize(
    "change",
    [
        {"window": 2, "global_tokens": 1},
        {"masks": [{"kind": "dilated", "radius": 2, "step": 2}]},
        {"heads": 2, "width": 12},
    ],
    ids=["global tokens", "mask rules", "narrow heads"],
)
def test_what_the_kernel_does_not_know_keeps_rows_as_they_are(change: dict[str, Any]) -> None:
    encoder = tiny_encoder(**{"width": 32} | change)
    ids, valid = batch()
    assert not encoder.takes_packing
    packing = Packing.of(LENGTHS, 4, 12, keeps_padding=False)
    with torch.inference_mode():
        assert torch.equal(encoder(ids, valid, packing=packing), encoder(ids, valid))


def test_dropout_on_attention_and_segments_keep_rows_as_they_are() -> None:
    encoder = Encoder(tiny_config(width=32, attention_dropout=0.1))
    assert not encoder.train().takes_packing
    assert encoder.eval().takes_packing
    ids, valid = batch()
    segments = torch.zeros_like(ids)
    packing = Packing.of(LENGTHS, 4, 12, keeps_padding=False)
    with torch.inference_mode():
        assert torch.equal(encoder(ids, valid, segments=segments, packing=packing), encoder(ids, valid, None, segments))


def test_gradients_go_the_same_way_back() -> None:
    ids, valid = batch()
    grads = []
    for packing in (None, Packing.of(LENGTHS, 4, 12, keeps_padding=False)):
        encoder = tiny_encoder(width=32, position={"kind": "rotary"}, window=3)
        encoder(ids, valid, packing=packing)[valid].square().sum().backward()
        grads.append([parameter.grad for parameter in encoder.parameters()])
    assert all(torch.allclose(one, other, atol=1e-4, rtol=1e-4) for one, other in zip(*grads, strict=True))


def test_attend_takes_a_packed_mask_and_nothing_beside_it() -> None:
    q, k, v = torch.randn(3, 1, 2, 8, 16, generator=torch.Generator().manual_seed(0))
    mask = PackedMask(Packing.of([3, 5], 2, 5, keeps_padding=False))
    out = attend(q, k, v, mask)
    for piece in (slice(0, 3), slice(3, 8)):
        alone = attend(q[:, :, piece], k[:, :, piece], v[:, :, piece], None)
        assert torch.allclose(out[:, :, piece], alone, atol=1e-6)
    for beside in ({"bias": torch.zeros(1, 1, 8, 8)}, {"dropout": 0.1}, {"value_term": lambda weights: weights}):
        with pytest.raises(UsageError, match=r"^`bias`, `dropout` and `value_term` must be left out"):
            attend(q, k, v, mask, **beside)


def test_a_plan_of_your_own_is_asked_by_what_it_overrides() -> None:
    class Louder(PositionPlan):
        def bias(self, q: torch.Tensor, layer: int) -> torch.Tensor:
            return q.new_zeros(1, 1, 1, 1)

    class Turning(PositionPlan):
        def rotate(self, q: torch.Tensor, k: torch.Tensor, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
            return q, k

    assert not Louder().leaves_scores_alone
    assert Turning().leaves_scores_alone


@pytest.mark.parametrize("keeps_padding", [False, True])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_the_kernel_of_a_gpu_is_called_as_it_wants_to_be(
    mask: dict, keeps_padding: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shapes and types alone, on a device that is only imagined; `scripts/gpu_check.py` compares numbers on one."""
    from torch.nn.attention import varlen

    called = []
    kernel = varlen.varlen_attn

    def noted(*given: Any, **more: Any) -> Any:
        called.append((given, more))
        return kernel(*given, **more)

    monkeypatch.setattr(varlen, "varlen_attn", noted)
    packing = Packing.of(LENGTHS, 4, 12, keeps_padding)
    rows, length = (4, 12) if keeps_padding else (1, sum(LENGTHS))
    masks = packed_layer_masks(tiny_config(width=32, **mask), packing)
    assert len(masks) == 2
    with FakeTensorMode():
        bounds = torch.empty(len(packing.bounds), dtype=torch.int32, device="cuda")
        q, k, v = (torch.empty(rows, 4, length, 8, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        there = PackedMask(Packing(bounds, packing.longest, None), masks[0].before, masks[0].behind)
        states = attend_packed(q, k, v, there)
    assert (states.shape, states.device.type, states.dtype) == (q.shape, "cuda", torch.bfloat16)
    [(given, more)] = called
    assert [(tuple(x.shape), x.dtype) for x in given[:3]] == [((rows * length, 4, 8), torch.bfloat16)] * 3
    assert given[3] is given[4] is bounds
    assert given[5:] == (packing.longest, packing.longest)
    radius = mask.get("window", -1)
    assert more["window_size"] == (radius, 0 if mask.get("causal") else radius)
    assert more["num_splits"] == 1


def test_a_device_without_the_kernel_says_so() -> None:
    assert kernel_works(torch.device("cpu")) == "there is none for this device"
    if not torch.cuda.is_available():
        assert kernel_works(torch.device("cuda", 0)).startswith("this torch or this device does not have it (")


def test_the_reference_is_attention_text_by_text() -> None:
    q, k, v = torch.randn(3, 2, 2, 6, 8, generator=torch.Generator().manual_seed(1))
    packing = Packing.of([4, 6], 2, 6, keeps_padding=True)
    out = attend_packed(q, k, v, PackedMask(packing, 1, 0), scale=0.3)
    row = q[0, 0, 2] @ k[0, 0, 1:3].T * 0.3
    assert torch.allclose(out[0, 0, 2], row.softmax(-1) @ v[0, 0, 1:3], atol=1e-6)
