"""What a launcher of several processes (torchrun, Accelerate) tells each of them, in its environment."""

from __future__ import annotations

import os
from datetime import timedelta

__all__ = ["LAUNCHER_ANSWERS", "in_launch", "keeps_store", "speaks_for_all"]

LAUNCHER_ANSWERS = timedelta(seconds=20)
"""For a launcher that keeps the store itself to answer. It has opened the store before it starts anybody; torch would
look for half an hour for one that was killed."""


def in_launch() -> bool:
    """Whether this process was started together with others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def speaks_for_all() -> bool:
    """Whether this is the first process of its launch, or alone: it says and writes what concerns all of them."""
    return os.environ.get("RANK", "0") == "0"


def keeps_store() -> bool:
    """Whether the launcher keeps the store by which its processes find each other; else the first of them does."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
