from pathlib import Path

import pytest
import torch

from longdoc.errors import ConfigurationError
from longdoc.precision import PrecisionConfig, choose_placement, cpu_multiplies_bfloat16


def test_auto_follows_the_capability_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for native, dtype in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr("longdoc.precision.cpu_multiplies_bfloat16", lambda native=native: native)
        placement = choose_placement(PrecisionConfig(device="cpu"))
        assert placement.dtype == dtype
        assert ("does not multiply" in placement.reason) is not native


@pytest.mark.parametrize(("asked", "name"), [("fp32", "cpu-fp32"), ("bf16", "cpu-bf16")])
def test_what_is_asked_for_is_used(asked: str, name: str) -> None:
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
