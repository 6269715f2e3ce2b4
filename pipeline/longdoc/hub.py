"""The Hugging Face hub: how its names are told from paths, whether it answers, and its libraries kept from talking."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

__all__ = ["HUB_PREFIX", "quiet_hub", "why_unreachable"]

HUB_PREFIX = "hf:"
"""`hf:owner/name` is a name of the hub and never a path. Nothing else sends the name of an input over a network."""

_LOGGERS = ("datasets", "filelock", "fsspec", "httpcore", "httpx", "huggingface_hub", "urllib3")
_PATIENCE_SECONDS = 10.0


@contextmanager
def quiet_hub() -> Iterator[None]:
    """No log lines, warnings and bars of the libraries that talk to the hub: what goes wrong becomes one error of ours.

    Log lines and tracebacks of theirs hold addresses, which hold what the user named.
    """
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    bars = not are_progress_bars_disabled()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            disable_progress_bars()
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            enable_progress_bars()


def why_unreachable(kind: Literal["model", "dataset"], name: str, revision: str | None = None) -> str | None:
    """The class name of what is wrong, or None where the hub has this model or dataset for us.

    One question and at most ten seconds: the libraries' own downloads try again for half a minute.
    """
    from huggingface_hub import HfApi

    ask = HfApi().model_info if kind == "model" else HfApi().dataset_info
    try:
        ask(name, revision=revision, timeout=_PATIENCE_SECONDS)
    except Exception as error:
        return type(error).__name__
    return None
