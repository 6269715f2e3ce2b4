from pathlib import Path

import pytest
import torch

from compiled_kit import kernels_for
from longdoc import precision
from longdoc.errors import ConfigurationError
from longdoc.nn import attend
from longdoc.nn.compiled import attention
from longdoc.nn.compiled.library import Level
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.precision import ComputePath, PrecisionConfig, choose_placement, compute_path, cpu_multiplies_bfloat16
from longdoc.text.batching import BatchingConfig
from nn_kit import some_ids, tiny_encoder
from position_kit import CONFIGS, KINDS

AS_TORCH = "as torch does them"


def test_auto_follows_the_capability_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for native, dtype in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr("longdoc.precision.cpu_multiplies_bfloat16", lambda native=native: native)
        placement = choose_placement(PrecisionConfig(device="cpu"))
        assert placement.dtype == dtype
        assert ("does not multiply" in placement.reason) is not native


@pytest.mark.parametrize(("asked", "name"), [("fp32", "cpu-fp32"), ("bf16", "cpu-bf16")])
def test_what_is_asked_for_is_used(asked: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "library", lambda: (None, ""))
    placement = choose_placement(PrecisionConfig(device="cpu", dtype=asked))
    assert placement.name == name
    with placement.inference():
        product = torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2))
    assert product.dtype == placement.dtype
    assert not product.requires_grad


def test_the_probe_agrees_with_the_flags_of_the_processor() -> None:
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        pytest.skip("this system does not list the processor's flags")
    assert cpu_multiplies_bfloat16() == ("amx_tile" in flags or "avx512_bf16" in flags)


def test_a_device_that_is_not_there_is_refused() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has the device")
    with pytest.raises(
        ConfigurationError,
        match=r"^`precision.device` is 'cuda', but this machine has no such device\. Use `auto` or `cpu`\.$",
    ):
        choose_placement(PrecisionConfig(device="cuda"))
    with pytest.raises(ConfigurationError, match=r"but is 'abacus' instead\.$"):
        choose_placement(PrecisionConfig(device="abacus"))
    with pytest.raises(ConfigurationError, match=r"^`precision.threads` must be at least 1, but is 0 instead\.$"):
        choose_placement(PrecisionConfig(device="cpu", threads=0))


def test_the_fast_path_is_taken_where_nothing_is_configured(
    tiny_pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = {}
    for native in (False, True):
        monkeypatch.setattr("longdoc.precision.cpu_multiplies_bfloat16", lambda native=native: native)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        chosen[native] = Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer).compute_path
    assert chosen[False] == ComputePath(
        device="cpu",
        dtype="fp32",
        reason="cpu does not multiply bfloat16 natively",
        lanes=torch.get_num_threads(),
        attention="torch's fused kernel, without a mask where no chunk of a batch is padded",
        training=chosen[False].training,
        products=AS_TORCH,
        batches="fixed shapes by length: the same bits whatever stands beside a chunk",
        repeats="encoded once",
    )
    assert (chosen[True].dtype, chosen[True].reason) == ("bf16", "cpu multiplies bfloat16 natively")


def test_what_is_configured_is_what_is_told(tiny_pipeline: Pipeline) -> None:
    settings = PredictionConfig(
        precision=PrecisionConfig(device="cpu", dtype="fp32"), batching=BatchingConfig(deterministic=False, tokens=99)
    )
    path = Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer, settings).compute_path
    assert path.reason == "`precision.dtype` asks for fp32"
    assert path.batches == "by length, up to 99 tokens: equal to rounding whatever stands beside a chunk"
    assert path.repeats == "encoded each time"


def test_what_was_compiled_is_told_and_can_be_switched_off(
    tiny_pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def path(**asked: str) -> ComputePath:
        settings = PredictionConfig(precision=PrecisionConfig(device="cpu", **asked))
        return Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer, settings).compute_path

    level = kernels_for(Level.AVX2).levels & (Level.AVX2 | Level.AVX512)
    best = Level.AVX512 if Level.AVX512 in level else Level.AVX2
    assert path(dtype="fp32").training == f"the compiled kernel for {best.name}"
    assert path(attention="torch").training == "products written out (`precision.attention` asks for torch's)"
    narrow = "weights once in bf16, in the order that the products want"
    assert path(dtype="bf16").products == (narrow if torch.ops.mkldnn._is_mkldnn_bf16_supported() else AS_TORCH)
    assert path(dtype="fp32").products == AS_TORCH
    tiles = kernels_for(Level.AMX)
    monkeypatch.setattr(attention, "library", lambda: (tiles, ""))
    assert path(dtype="bf16").attention == "the compiled kernel for AMX"
    names = {choose_placement(PrecisionConfig(device="cpu", dtype=dtype)).name for dtype in ("fp32", "bf16")}
    assert names == {"cpu-fp32", "cpu-bf16-amx"}
    assert path(dtype="bf16", attention="torch").attention.startswith("torch's fused kernel")
    assert path(dtype="fp32").attention.startswith("torch's fused kernel")
    why = "it was not compiled when this was installed"
    for room in (attention, precision):
        monkeypatch.setattr(room, "library", lambda: (None, why))
    assert path(dtype="fp32").training == f"products written out (the compiled kernel: {why})"


@pytest.mark.parametrize("position", [CONFIGS[kind] for kind in KINDS], ids=KINDS)
def test_the_kernel_that_is_named_is_the_one_that_runs(position: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny_encoder(position=position).eval()
    told = compute_path(choose_placement(PrecisionConfig(device="cpu")), BatchingConfig(), encoder).attention
    calls = []
    kernel = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        attend.F, "scaled_dot_product_attention", lambda *given, **more: calls.append(1) or kernel(*given, **more)
    )
    with torch.inference_mode():
        encoder(torch.tensor([some_ids(6)]))
    assert ("fused kernel" in told) is bool(calls)
    assert ("written out" in told) is not bool(calls)
