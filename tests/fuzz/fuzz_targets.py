"""What strangers' bytes are thrown at: each target takes any bytes, and ends with an answer or an error of ours."""

from __future__ import annotations

import atexit
import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from docx_kit import docx
from longdoc.errors import CheckpointError, DocumentError, JobError
from longdoc.readers.parsed import ParsedDocument
from longdoc.readers.zip_parts import MOST_BYTES, ZipParts

Target = Callable[[bytes], None]


@cache
def folder() -> Path:
    """A folder in memory, where there is one, for readers of files."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="longdoc-fuzz-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def zip_guard(data: bytes) -> None:
    """An archive never unpacks to more than its bound."""
    with suppress(DocumentError):
        parts = ZipParts(data)
        for name in parts._entries:
            with suppress(DocumentError):
                assert sum(map(len, parts.pieces(name))) <= MOST_BYTES


def word(data: bytes) -> None:
    """A document, or the XML of its body, which no mutation of a packed file would reach."""
    from longdoc.readers import docx as reader

    _parse(reader, data if data.startswith(b"PK") else _with_body(data))


def web_page(data: bytes) -> None:
    """A page of the web."""
    from longdoc.readers import html

    _parse(html, data)


def answer_of_a_parser(data: bytes) -> None:
    """What a parser's process may send, if a document has taken it over."""
    with suppress(ValueError):
        document = ParsedDocument.from_bytes(data)
        assert ParsedDocument.from_bytes(document.to_bytes()) == document


def manifest(data: bytes) -> None:
    """The files of a job's folder that are read before its parts."""
    from longdoc.jobs.attempts import Attempts
    from longdoc.jobs.job_plan import JobPlan
    from longdoc.jobs.manifest import read_manifest

    for name in ("_manifest.json", "_plan.json", "attempts.json"):
        (folder() / name).write_bytes(data)
    with suppress(JobError):
        read_manifest(folder())
    with suppress(JobError):
        JobPlan.read_back(folder())
    Attempts.load(folder(), range(3))


def safetensors_header(data: bytes) -> None:
    """A file of weights: what is read has the shape and the bytes that its header says."""
    from longdoc.checkpoints.weights import read_tensors, tensor_names

    (folder() / "model.safetensors").write_bytes(data)
    names = None
    with suppress(CheckpointError):
        names = tensor_names(folder())
    with suppress(CheckpointError):
        read = [(name, tensor.numel() * tensor.element_size()) for name, tensor in read_tensors(folder())]
        assert names is not None
        assert sorted(names) == sorted(name for name, _ in read)
        assert sum(size for _, size in read) <= len(data)


def chunks(data: bytes) -> None:
    """Cores partition the document, and no chunk is longer than its body."""
    from longdoc.text.chunking import plan_chunks, plan_cores

    tokens, body = int.from_bytes(data[:2], "big"), 1 + int.from_bytes(data[2:4], "big") % 600
    overlap = int.from_bytes(data[4:6], "big") % body
    if tokens > 100 * (body - overlap):
        tokens %= 100 * (body - overlap)
    spans = plan_chunks(tokens, body, overlap)
    cores = plan_cores(spans)
    assert [core[0] for core in cores[1:]] == [core[1] for core in cores[:-1]]
    assert (cores[0][0], cores[-1][1]) == (0, tokens)
    for (start, end), (first, last) in zip(spans, cores, strict=True):
        assert 0 <= start <= first <= last <= end <= tokens
        assert end - start <= body


def merge(data: bytes) -> None:
    """A document's row depends on no other document and not on the order in which its chunks came home."""
    import torch

    from longdoc.nn.mergers.logsumexp import LogSumExpMerger
    from longdoc.nn.mergers.max import MaxMerger
    from longdoc.nn.mergers.mean import MeanMerger

    owners = [byte % 3 for byte in data[:40]] or [0]
    count = len(owners)
    values = [(byte - 128) / 8 for byte in data[40 : 40 + 2 * count].ljust(2 * count, b"\x80")]
    rows, owner = torch.tensor(values).reshape(count, 2), torch.tensor(owners)
    weights = torch.tensor([1.0 + byte for byte in data[120 : 120 + count].ljust(count, b"\0")])
    order = torch.argsort(rows[:, 0], stable=True)
    for merger in (MeanMerger(), MaxMerger(), LogSumExpMerger()):
        merged = merger(rows, owner, weights, 3)
        shuffled = merger(rows[order], owner[order], weights[order], 3)
        for number in set(owners):
            mine = owner == number
            alone = merger(rows[mine], torch.zeros(int(mine.sum()), dtype=torch.int64), weights[mine], 1)
            assert torch.isfinite(alone).all()
            assert torch.allclose(alone[0], merged[number], atol=1e-4)
            assert torch.allclose(shuffled[number], merged[number], atol=1e-4)


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        zip_guard,
        word,
        web_page,
        answer_of_a_parser,
        manifest,
        safetensors_header,
        chunks,
        merge,
    )
}


def _parse(reader: ModuleType, data: bytes) -> None:
    parse: Any = reader.parse
    with suppress(DocumentError):
        document = parse(data, {})
        assert ParsedDocument.from_bytes(document.to_bytes()) == document


def _with_body(data: bytes) -> bytes:
    """A document whose body is these bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx("@"))) as source, zipfile.ZipFile(whole, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b"@", data))
    return whole.getvalue()
