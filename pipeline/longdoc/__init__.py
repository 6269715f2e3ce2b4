"""longdoc: predictions for documents that are longer than the model.

    import longdoc

    pipe = longdoc.Pipeline.load("runs/licences")
    pipe("a text of any length")           # [{"label": ..., "score": ...}]

The names below are the public ones; they load what they need when first used, so `import longdoc` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from longdoc.errors import LongDocError
from longdoc.version import __version__

if TYPE_CHECKING:
    from longdoc.adapters.sklearn import LongDocumentClassifier
    from longdoc.adapters.tables import to_table
    from longdoc.api import pretrain, train
    from longdoc.config import RunConfig, load_config
    from longdoc.pipeline import Pipeline
    from longdoc.types import Document, DocumentFailure, DocumentPrediction

__all__ = [
    "Document",
    "DocumentFailure",
    "DocumentPrediction",
    "LongDocError",
    "LongDocumentClassifier",
    "Pipeline",
    "RunConfig",
    "__version__",
    "load_config",
    "pretrain",
    "to_table",
    "train",
]

_LAZY = {
    "Document": "longdoc.types",
    "DocumentFailure": "longdoc.types",
    "DocumentPrediction": "longdoc.types",
    "LongDocumentClassifier": "longdoc.adapters.sklearn",
    "Pipeline": "longdoc.pipeline",
    "RunConfig": "longdoc.config",
    "load_config": "longdoc.config",
    "pretrain": "longdoc.api",
    "to_table": "longdoc.adapters.tables",
    "train": "longdoc.api",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'longdoc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
