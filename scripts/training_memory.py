"""Memory and time of one training step against the number of chunks, in three ways; Linux, one CPU thread.

python scripts/training_memory.py --json memory.json
python scripts/training_memory.py --draw memory.json --output docs/pictures/training-memory

One document of so many chunks goes through MiniLM, forth and back. Memory is the peak of the process above what it held
before the step; time is that of the CPU, which other processes disturb least. The ways take turns.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import time
from importlib.metadata import version
from pathlib import Path

import torch

from longdoc.pipeline import Pipeline
from longdoc.text.batching import collate
from longdoc.text.chunking import ChunkingConfig, prepare
from longdoc.training.recomputing import recompute_layers
from longdoc.training.row_cache import backward_through_documents
from longdoc.types import Chunk, ChunkBatch, Document

WAYS = ("full graph", "activation checkpointing", "row cache")
WORDS = "the licensee may not remove this notice from any copy of the work "


def some_chunks(pipeline: Pipeline, count: int, size: int) -> list[Chunk]:
    """Full chunks of one document."""
    chunker = ChunkingConfig(size=size, overlap=0).build(pipeline.tokenizer)
    document = Document(id="one", text=WORDS * (count * size // 12 + size))
    return list(prepare(document, pipeline.tokenizer, chunker).chunks)[:count]


def take(way: str, pipeline: Pipeline, batches: list[ChunkBatch]) -> None:
    """Gradients of one document, in one way."""
    model = pipeline.model
    recompute_layers(model, way == "activation checkpointing")
    torch.manual_seed(0)
    model.zero_grad(set_to_none=False)

    def loss(scores: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(scores, torch.tensor([1]))

    if way == "row cache":
        backward_through_documents(model, batches, 1, loss, pipeline.placement, torch.Tensor.backward)
        return
    rows = torch.cat([model.chunk_rows(batch) for batch in batches])
    owner, weights = torch.cat([b.owner for b in batches]), torch.cat([b.weights for b in batches])
    loss(model.documents(rows, owner, weights, 1)).backward()


def measured(way: str, pipeline: Pipeline, batches: list[ChunkBatch]) -> dict[str, float]:
    """Megabytes, CPU seconds and the norm of the gradient of one step, in a fork: no step finds what another left."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, json.dumps(_step(way, pipeline, batches)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        found: dict[str, float] = json.loads(file.read())
    os.waitpid(child, 0)
    return found


def _step(way: str, pipeline: Pipeline, batches: list[ChunkBatch]) -> dict[str, float]:
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before, start = _megabytes("VmHWM"), time.process_time()
    take(way, pipeline, batches)
    seconds, peak = time.process_time() - start, _megabytes("VmHWM")
    squares = [p.grad.square().sum() for p in pipeline.model.parameters() if p.grad is not None]
    return {"megabytes": peak - before, "seconds": seconds, "gradient_norm": float(torch.stack(squares).sum().sqrt())}


def _megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def measure(points: list[int], size: int, micro_batch: int, limit: float, repeated: int, out: Path) -> None:
    """All ways at all points; a way ends where its next point would need more than `limit` megabytes."""
    torch.set_num_threads(1)
    pipeline = Pipeline.from_checkpoint("default", labels=("a", "b"))
    pipeline.model.train()
    about = {"size": size, "micro_batch_chunks": micro_batch, "model": "all-MiniLM-L6-v2", "threads": 1}
    report: dict = about | {"longdoc": version("longdoc"), "torch": torch.__version__, "rows": []}
    chunks = some_chunks(pipeline, max(points), size)
    pad = pipeline.tokenizer.pad_id
    parts = [chunks[start : start + micro_batch] for start in range(0, len(chunks), micro_batch)]
    for way in WAYS:
        take(way, pipeline, [collate(chunks[:1], [0], 1, pad)])  # gradients exist, and what is made once is made
    last: dict[str, float] = {}
    for count in points:
        taken = [
            part[: count - number * micro_batch] for number, part in enumerate(parts) if number * micro_batch < count
        ]
        batches = [collate(part, [0] * len(part), 1, pad) for part in taken]
        runs: dict[str, list[dict[str, float]]] = {}
        for _ in range(3 if count <= repeated else 1):
            for way in WAYS:
                if way == "row cache" or last.get(way, 0) * count <= limit:
                    runs.setdefault(way, []).append(measured(way, pipeline, batches))
        for way, found in runs.items():
            row = {key: statistics.median(run[key] for run in found) for key in found[0]}
            last[way] = row["megabytes"] / count
            report["rows"].append({"way": way, "chunks": count, "runs": len(found), **row})
            print(json.dumps(report["rows"][-1]), flush=True)
        out.write_text(json.dumps(report, indent=1) + "\n")


def draw(report: dict, output: Path) -> None:
    """PNG and SVG, and the table in Markdown."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "longdoc"
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for way, marker in zip(WAYS, "os^", strict=True):
        rows = [row for row in report["rows"] if row["way"] == way]
        chunks = [row["chunks"] for row in rows]
        left.plot(chunks, [row["megabytes"] for row in rows], marker=marker, label=way)
        right.plot(chunks, [1000 * row["seconds"] / row["chunks"] for row in rows], marker=marker, label=way)
    left.set(title="Peak memory of a step", xlabel="chunks of the document", ylabel="MB", xscale="log", yscale="log")
    right.set(title="CPU time of a step", xlabel="chunks of the document", ylabel="ms a chunk", xscale="log", ylim=0)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(output.with_suffix(".png"), dpi=110)
    figure.savefig(output.with_suffix(".svg"), metadata={"Date": None})
    cells = {(row["way"], row["chunks"]): row for row in report["rows"]}
    print("| chunks | " + " | ".join(f"{way}, MB | s" for way in WAYS) + " |\n| ---: |" + " ---: | ---: |" * len(WAYS))
    for chunks in sorted({row["chunks"] for row in report["rows"]}):
        found = [cells.get((way, chunks)) for way in WAYS]
        parts = [" | ".join([f"{r['megabytes']:,.0f}", f"{r['seconds']:.2f}"] if r else ["-", "-"]) for r in found]
        print(f"| {chunks} | " + " | ".join(parts) + " |")


def main() -> None:
    """See the top of the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("memory.json"))
    parser.add_argument("--draw", type=Path)
    parser.add_argument("--output", type=Path, default=Path("training-memory"))
    parser.add_argument("--points", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    parser.add_argument("--size", type=int, default=128, help="tokens of a chunk")
    parser.add_argument("--micro-batch", type=int, default=8, help="chunks in memory at once with the row cache")
    parser.add_argument("--repeated", type=int, default=64, help="points up to this one are measured three times")
    parser.add_argument("--limit", type=float, default=16_000, help="megabytes that no step may need")
    given = parser.parse_args()
    if given.draw:
        draw(json.loads(given.draw.read_text()), given.output)
    else:
        measure(given.points, given.size, given.micro_batch, given.limit, given.repeated, given.json)


if __name__ == "__main__":
    main()
