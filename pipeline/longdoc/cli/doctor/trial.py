"""Does it work? A model answers, and the sandbox parses and contains."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from longdoc.cli.doctor.finding import Finding

__all__ = ["model_answers", "sandbox_works"]

_SENTENCE = "The tenant shall pay the rent on the first day of every month."


def model_answers(name: str) -> Iterator[Finding]:
    """Open a model with its tokenizer and answer one sentence twice: in bits that are finite and the same."""
    from longdoc.errors import LongDocError
    from longdoc.pipeline import Pipeline
    from longdoc.types import DocumentFailure

    try:
        if (Path(name) / "longdoc.json").is_file():
            pipeline = Pipeline.load(name)
        else:
            pipeline = Pipeline.from_checkpoint(name, labels=("a", "b"))
        first, second = pipeline.predict([_SENTENCE]), pipeline.predict([_SENTENCE])
    except LongDocError as error:
        yield Finding("model", "fail", str(error), "Name a model with `--model`.")
        return
    answer = first[0]
    said = f"{pipeline.model.encoder.config.width} wide, {pipeline.model.encoder.config.layers} layers"
    if isinstance(answer, DocumentFailure):
        yield Finding("model", "fail", f"{said}; fails with {answer.reason}", "Try `--model default`.")
    elif first != second:
        way_out = "Set `prediction.precision.threads: 1`, or try another build of torch."
        yield Finding("model", "fail", f"{said}; two answers to one text differ", way_out)
    else:
        yield Finding("model", "ok", f"{said}; {answer.n_tokens} tokens answered twice with the same bits")


def sandbox_works() -> Iterator[Finding]:
    """Read a small e-mail: it is parsed in the sandbox's own process with limits, and its text comes back."""
    from longdoc.errors import DataError
    from longdoc.readers import ReadConfig, read_documents
    from longdoc.types import Document

    with tempfile.TemporaryDirectory(prefix="longdoc-doctor-") as folder:
        path = Path(folder) / "trial.eml"
        path.write_bytes(f"Subject: trial\r\nContent-Type: text/plain\r\n\r\n{_SENTENCE}\r\n".encode("ascii"))
        try:
            (record,) = read_documents([path], ReadConfig())
        except DataError as error:
            yield Finding("sandbox", "fail", str(error), "Formatted documents cannot be read here.")
            return
    document = record.document
    if isinstance(document, Document) and _SENTENCE in document.text:
        yield Finding("sandbox", "ok", "a document was parsed in a process with limits")
    else:
        reason = "another text came back" if isinstance(document, Document) else document.reason
        way_out = "Formatted documents cannot be read here; text, JSON Lines, CSV and Parquet can."
        yield Finding("sandbox", "fail", reason, way_out)
