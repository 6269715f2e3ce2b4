"""Where the package for low-rank adapters is missing, the way to it is said."""

from __future__ import annotations

import sys

import pytest

from longdoc.errors import ConfigurationError
from longdoc.training.lora import LoraConfig, add_adapters
from nn_kit import tiny_model


def test_without_the_package_the_way_to_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ConfigurationError) as caught:
        add_adapters(tiny_model(), LoraConfig())
    assert str(caught.value) == (
        '`training.lora` needs the package peft, which is not installed. Run: pip install "longdoc[lora]"'
    )
