"""What jobs cost in memory and time: one long text read whole, and many small documents.

python scripts/job_figures.py text --megabytes 10 100 1000            # a small encoder, chunks of 512 tokens
python scripts/job_figures.py text --megabytes 10 --model default     # the weights of MiniLM, random head
python scripts/job_figures.py text --megabytes 1000 --model default --repeated  # the same pages again and again
python scripts/job_figures.py documents --counts 100000 1000000       # no model at all
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from longdoc.jobs import JobConfig, run_job, verify_job
from longdoc.types import DocumentPrediction

WORDS = (
    "the tenant shall pay a rent of every month to landlord unless this contract says otherwise and no notice was given"
)


class Nothing:
    """Answers without a model."""

    fingerprint = "nothing"

    def stream(self, documents):
        for document in documents:
            yield DocumentPrediction(id=document.id, label="a", score=1.0)


def save_model(name: str, folder: Path) -> None:
    """`small`: one layer of width 32 with a random start, MiniLM's tokenizer; else a checkpoint with a random head."""
    from longdoc.api import build_pipeline
    from longdoc.config import load_config
    from longdoc.pipeline import Pipeline

    if name != "small":
        Pipeline.from_checkpoint(name, labels=("a", "b")).save(folder)
        return
    encoder = "{width: 32, layers: 1, heads: 2, feed_forward_width: 64, max_len: 512, position: {kind: sinusoidal}}"
    settings = [f"model.encoder={encoder}", "prediction.precision.dtype=fp32"]
    build_pipeline(load_config(None, settings), ("a", "b")).save(folder)


def open_model(folder: Path):
    """Load the model, as `longdoc predict` does."""
    from longdoc.pipeline import Pipeline

    return Pipeline.load(folder)


def write_text(path: Path, size: int, repeated: bool = False) -> int:
    """About `size` bytes of ASCII lines; returns their tokens, each line counted for itself.

    Args:
        repeated: after a million bytes the text begins again, where a chunk begins, so that each chunk of the whole was
            met before: it is read, cut and merged like any other, but not encoded again.
    """
    from longdoc.checkpoints import resolve_checkpoint
    from longdoc.text.chunking import ChunkingConfig
    from longdoc.text.tokenizing import DocumentTokenizer
    from longdoc.types import Document

    chance, words = random.Random(0), WORDS.split()
    lines = [" ".join(chance.choices(words, k=chance.randint(5, 20))) + ".\n" for _ in range(2000)] + ["the\n"]
    tokenizer = DocumentTokenizer.from_folder(resolve_checkpoint("default"))
    counts = [len(tokenizer.tokenize(Document("line", line))) for line in lines]

    def block(size: int) -> tuple[str, int]:
        chosen: list[int] = []
        while size > 0:
            chosen.append(chance.randrange(len(lines) - 1))
            size -= len(lines[chosen[-1]])
        tokens, cut = sum(counts[number] for number in chosen), ChunkingConfig()
        missing = -tokens % (cut.size - len(tokenizer.lead) - len(tokenizer.trail) - cut.overlap)
        chosen += [len(lines) - 1] * missing  # one token each
        return "".join(lines[number] for number in chosen), tokens + missing * counts[-1]

    tokens = written = 0
    part = block(1_000_000)
    with path.open("w", encoding="ascii") as stream:
        while written < size:
            text, count = part if repeated else block(1_000_000)
            stream.write(text)
            tokens, written = tokens + count, written + len(text)
    return tokens


def measure_text(megabytes: int, model: str, repeated: bool) -> dict[str, float | str]:
    """One text of `megabytes` million bytes through a whole job."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "long.txt", Path(folder) / "out"
        tokens = write_text(source, megabytes * 1_000_000, repeated)
        beginning = time.monotonic()
        run_job([source], output, partial(open_model, Path(model)))
        seconds = time.monotonic() - beginning
        row = pq.read_table(output / "part-00000.parquet").to_pylist()[0]
    assert row["status"] == "ok", row
    assert row["tokens_read"] == row["n_tokens"] == tokens, (row["tokens_read"], row["n_tokens"], tokens)
    about = {"megabytes": megabytes, "model": Path(model).name, "repeated": repeated, "tokens": tokens}
    about |= {"chunks": row["n_chunks"]}
    spent = {"seconds": round(seconds, 1), "cpu_seconds": round(time.process_time(), 1)}
    return {**about, **spent, "peak_megabytes": peak()}


def measure_documents(count: int) -> dict[str, float | str]:
    """`count` documents of a few words through planning, a job without a model, and `verify`."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "many.jsonl", Path(folder) / "out"
        with source.open("w") as stream:
            for number in range(count):
                stream.write(f'{{"id": "document-{number:09d}", "text": "some text"}}\n')
        beginning = time.monotonic()
        run_job([source], output, Nothing, job=JobConfig(documents_per_part=1000))
        assert verify_job(output).documents == count
        return {"documents": count, "seconds": round(time.monotonic() - beginning, 1), "peak_megabytes": peak()}


def peak() -> float:
    """Resident memory of this process at its peak, in million bytes."""
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(usage * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)


def main() -> None:
    """Each size in a process of its own, whose peak is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("text", "documents"))
    parser.add_argument("--megabytes", type=int, nargs="+", default=[10])
    parser.add_argument("--counts", type=int, nargs="+", default=[100_000])
    parser.add_argument("--model", default="small", help="`small`, `default` or a checkpoint folder")
    parser.add_argument("--repeated", action="store_true", help="encode the same million bytes once only")
    parser.add_argument("--here", action="store_true", help="measure the one size in this process")
    options = parser.parse_args()
    sizes = options.megabytes if options.what == "text" else options.counts
    if options.here:
        measure = (
            partial(measure_text, model=options.model, repeated=options.repeated)
            if options.what == "text"
            else measure_documents
        )
        print(json.dumps(measure(sizes[0])))
        return
    flag = "--megabytes" if options.what == "text" else "--counts"
    # One arena and one pool, or the spread of the allocators' own caches hides the slope.
    environment = os.environ | {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / Path(options.model).name
        if options.what == "text":
            save_model(options.model, model)
        for size in sizes:
            command = [sys.executable, __file__, options.what, flag, str(size), "--model", str(model), "--here"]
            command += ["--repeated"] if options.repeated else []
            subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
