"""What the tests of jobs share: a corpus that identifies itself, predictors without a model, and the final bytes.

Predictors live at the top of this module, so that worker processes can be told to load them.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from longdoc.types import Document, DocumentFailure, DocumentPrediction, DocumentResult, LabelScore, ScoredSpan

KILLS = "kills its worker"
RAISES = "makes the predictor raise"
NOT_FINITE = "has a score that is not a number"


class EchoPredictor:
    """Answers from the text alone: its length, its digest as a score. Some texts misbehave as they say.

    Args:
        delay: seconds a document takes.
    """

    fingerprint = "echo-1"

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay

    def stream(self, documents: Iterable[Document | DocumentFailure]) -> Iterator[DocumentResult]:
        for document in documents:
            if isinstance(document, DocumentFailure):
                yield document
                continue
            time.sleep(self.delay)
            if document.text.startswith(KILLS):
                os.kill(os.getpid(), signal.SIGKILL)
            if document.text.startswith(RAISES):
                raise ValueError(document.text)
            yield echo(document)


def echo(document: Document) -> DocumentResult:
    """The one right answer of `EchoPredictor` for a text that behaves."""
    words = len(document.text.split())
    if not words:
        return DocumentFailure(document.id, "empty", "tokenize")
    score = int(hashlib.sha256(document.text.encode()).hexdigest()[:8], 16) / 2**32
    if document.text.startswith(NOT_FINITE):
        score = float("nan")
    return DocumentPrediction(
        id=document.id,
        label="long" if words > 5 else "short",
        score=score,
        labels=(LabelScore("long", score, score > 0.5), LabelScore("short", 1.0 - score, score <= 0.5)),
        spans=(ScoredSpan(0, 1, "first", score),),
        n_tokens=words,
        n_chunks=1 + words // 10,
        tokens_read=words,
    )


def load_echo(delay: float = 0.0) -> EchoPredictor:
    return EchoPredictor(delay)


def write_corpus(path: Path, documents: int, first: int = 0, canary: str = "") -> list[str]:
    """A JSON Lines file whose documents say who they are; every eleventh line is no JSON. Returns the ids in order."""
    ids = []
    with path.open("w", encoding="utf-8") as stream:
        for number in range(first, first + documents):
            if number % 11 == 10:
                stream.write("{this line is no JSON " + canary + "\n")
                ids.append(f"{path.name}:{number - first + 1}")
                continue
            text = " ".join([f"w{number}"] * (number % 17) + [canary]) if number % 13 else ""
            stream.write(json.dumps({"id": f"doc-{number:06d}", "text": text}) + "\n")
            ids.append(f"doc-{number:06d}")
    return ids


def write_documents(path: Path, texts: Sequence[str]) -> list[str]:
    """A JSON Lines file with the ids `0`, `1`, ..."""
    path.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    return [str(number) for number in range(len(texts))]


def final_files(output: Path) -> dict[str, str]:
    """sha256 of every file that readers may see, by name."""
    return {
        path.relative_to(output).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.rglob("*"))
        if path.is_file() and ".work" not in path.relative_to(output).parts
    }
