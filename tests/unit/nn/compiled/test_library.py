"""When the compiled attention is taken, when it is not, and that it says why."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from compiled_kit import emulated, kernels_for
from longdoc.nn.attend import attend
from longdoc.nn.compiled import attention
from longdoc.nn.compiled import library as room
from longdoc.nn.compiled.attention import choose_level, compiled_attention
from longdoc.nn.compiled.library import Level, open_library
from longdoc.nn.mask import AttentionMask
from longdoc.precision import PrecisionConfig, choose_placement
from nn_kit import MASKS, some_ids, tiny_encoder
from position_kit import CONFIGS, KINDS


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch):
    """`library` as at the start of a process."""
    monkeypatch.setattr(room, "library", room.library.__wrapped__)
    return room


def test_an_installation_without_it_says_so(fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "__file__", str(tmp_path / "library.py"))
    assert fresh.library() == (None, "it was not compiled when this was installed")
    suffix = fresh.importlib.machinery.EXTENSION_SUFFIXES[0]
    (tmp_path / f"_attention{suffix}").write_bytes(b"no library")
    kernels, why = fresh.library()
    assert kernels is None
    assert why.startswith("it cannot be opened: ")


def test_a_kernel_that_computes_something_else_is_not_taken(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels_for(Level.AVX2)
    right = fresh.Kernels.forward
    monkeypatch.setattr(
        fresh.Kernels, "forward", lambda self, *given, **more: tuple(x * 1.001 for x in right(self, *given, **more))
    )
    kernels, why = fresh.library()
    assert kernels is None
    assert "does not compute what torch does here (AVX2" in why


def test_a_library_without_its_end_is_not_opened(fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kernels_for(Level.AVX2).path.read_bytes()
    monkeypatch.setattr(fresh, "__file__", str(tmp_path / "library.py"))
    torn = tmp_path / f"_attention{fresh.importlib.machinery.EXTENSION_SUFFIXES[0]}"
    for kept in (9000, len(whole) // 2, len(whole) - 1):
        torn.write_bytes(whole[:kept])
        assert fresh.library() == (None, "it cannot be opened: its end is missing")
    torn.write_bytes(whole)
    assert fresh.library()[0] is not None


def test_it_is_tried_alike_whoever_asks_first(fresh) -> None:
    kernels_for(Level.AVX2)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
        kernels, why = fresh.library()
    assert kernels is not None, why


def test_a_library_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = kernels_for(Level.AVX2).path
    monkeypatch.setattr(room, "ABI", 0)
    with pytest.raises(OSError, match=r"^it is of version 1, not 0$"):
        open_library(path)


def test_it_is_taken_where_it_pays_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = kernels_for(Level.AVX2).levels
    best = Level.AVX512 if Level.AVX512 in levels else Level.AVX2
    assert choose_level(torch.float32, 0.1, records=True) == best
    assert choose_level(torch.bfloat16, 0.1, records=True) == best
    assert choose_level(torch.float32, 0.0, records=False) is None
    assert choose_level(torch.float64, 0.1, records=True) is None
    assert choose_level(torch.float32, 1.0, records=True) is None
    with compiled_attention(False):
        assert choose_level(torch.float32, 0.1, records=True) is None
    if (tiles := emulated()) is not None:
        monkeypatch.setattr(attention, "library", lambda: (tiles, ""))
        assert choose_level(torch.bfloat16, 0.0, records=False) == Level.AMX
        assert choose_level(torch.bfloat16, 0.0, records=True) is None


def test_dropout_takes_it_replays_it_and_keeps_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels_for(Level.AVX2)
    calls = []
    taken = attention._Compiled.apply
    monkeypatch.setattr(attention._Compiled, "apply", lambda *given: calls.append(1) or taken(*given))
    q, k, v = (torch.randn(2, 2, 9, 8, requires_grad=True) for _ in range(3))
    allowed = torch.rand(2, 1, 9, 9) < 0.5
    allowed[..., 0] = True
    allowed[0, 0, 2] = False
    outs = []
    for _ in range(2):
        torch.manual_seed(3)
        outs.append(attend(q, k, v, AttentionMask(allowed), dropout=0.3))
    assert len(calls) == 2
    assert torch.equal(*outs)
    assert (outs[0][0, :, 2] == 0).all()
    grads = torch.autograd.grad(outs[0].square().sum(), (q, k, v))
    assert all(grad.isfinite().all() for grad in grads)
    broken = v.detach().clone()
    broken[1, 0, 4] = math.inf
    hit = attend(q, k, broken, AttentionMask(allowed), dropout=0.3)[1, 0].isnan().any(-1)
    assert torch.equal(hit, allowed[1, 0, :, 4])
    learned = torch.zeros(1, 1, 9, 9, requires_grad=True)
    before = len(calls)
    attend(q, k, v, None, bias=learned, dropout=0.3).sum().backward()
    assert len(calls) == before
    assert learned.grad is not None


def test_the_mean_over_many_draws_is_attention_without_dropout() -> None:
    kernels_for(Level.AVX2)
    q, k, v = (torch.randn(1, 1, 6, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
    many = [x.expand(4000, 4, 6, 8) for x in (q, k, v)]
    found = attend(*many, None, dropout=0.2).double().flatten(0, 1)
    expected = attend(q, k, v, None).double()[0]
    deviation = found.std(0) / math.sqrt(len(found))
    assert ((found.mean(0) - expected[0]).abs() < 5 * deviation + 1e-6).all()


@pytest.mark.parametrize("position", [CONFIGS[kind] for kind in KINDS], ids=KINDS)
@pytest.mark.parametrize("mask", MASKS)
def test_every_encoding_and_mask_takes_the_tiles(position: dict, mask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = kernels_for(Level.AMX)
    monkeypatch.setattr(attention, "library", lambda: (kernels, ""))
    encoder = tiny_encoder(position=position, **MASKS[mask])
    ids = torch.tensor([some_ids(9), some_ids(9)])
    valid = torch.ones(2, 9, dtype=torch.bool)
    valid[1, 6:] = False
    placement = choose_placement(PrecisionConfig(device="cpu", dtype="bf16"))
    calls = []
    forward = type(kernels).forward
    monkeypatch.setattr(
        type(kernels), "forward", lambda self, level, *given: calls.append(level) or forward(self, level, *given)
    )
    with placement.inference():
        found = encoder(ids, valid).float()
        alone = encoder(ids[1:, :6]).float()
    with torch.inference_mode():
        right = encoder(ids, valid)
    cosine = torch.nn.functional.cosine_similarity(found[valid].double(), right[valid].double(), dim=-1)
    assert cosine.min() > 0.999
    torch.testing.assert_close(found[1, :6], alone[0], atol=0.06, rtol=0.06)
    speaks_to_values = encoder.position.plan(torch.arange(9)[None], torch.float32).value_term(0) is not None
    assert set(calls) == (set() if speaks_to_values else {Level.AMX})
