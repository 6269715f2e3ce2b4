"""Measure ours against a named peer, alternately in one run: medians, spreads, ratios, versions, threads.

python scripts/bench.py --suite determinism --json bench.json
python scripts/bench.py --suite transformers --quick
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import torch

from longdoc.checkpoints import resolve_checkpoint
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.precision import PrecisionConfig
from longdoc.text.batching import BatchingConfig
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document

Candidates = dict[str, Callable[[], None]]


def long_documents(count: int) -> list[Document]:
    """Real licence texts of all lengths, from the installed package, every n-th in the order of their names."""
    import licensedcode

    paths = sorted((Path(licensedcode.__path__[0]) / "data" / "licenses").glob("*.LICENSE"))
    texts = [path.read_text(encoding="utf-8").split("\n---\n", 1)[-1] for path in paths[:: max(1, len(paths) // count)]]
    return [Document(id=str(number), text=text) for number, text in enumerate(texts[:count]) if text.strip()]


def ours(deterministic: bool) -> Pipeline:
    """MiniLM with a random head, float32."""
    batching = BatchingConfig(deterministic=deterministic)
    settings = PredictionConfig(batching=batching, precision=PrecisionConfig(dtype="fp32"))
    return Pipeline.from_checkpoint("default", labels=("a", "b"), prediction=settings)


def determinism(documents: list[Document]) -> Candidates:
    """What bit-equal scores cost: fixed batch shapes beside batches packed freely."""
    fixed, free = ours(True), ours(False)
    return {"fixed shapes": lambda: list(fixed.stream(documents)), "free batches": lambda: list(free.stream(documents))}


def transformers(documents: list[Document]) -> Candidates:
    """The loop that people write: overflowing tokens, padded batches of 16 in document order, a mean of vectors."""
    from transformers import AutoModel, AutoTokenizer

    folder = resolve_checkpoint("default")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    pipeline = ours(True)

    @torch.inference_mode()
    def loop() -> None:
        for document in documents:
            chunks = tokenizer(document.text, max_length=512, truncation=True, stride=128,
                               return_overflowing_tokens=True)["input_ids"]  # fmt: skip
            vectors = []
            for start in range(0, len(chunks), 16):
                batch = tokenizer.pad({"input_ids": chunks[start : start + 16]}, return_tensors="pt")
                hidden = model(**batch).last_hidden_state
                mask = batch["attention_mask"][..., None]
                vectors.append((hidden * mask).sum(1) / mask.sum(1))
            torch.cat(vectors).mean(0)

    return {"longdoc": lambda: list(pipeline.stream(documents)), "transformers loop": loop}


SUITES = {"determinism": determinism, "transformers": transformers}


def main() -> None:
    """Alternate the candidates, print the medians, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=sorted(SUITES), required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="10 documents, 3 rounds")
    options = parser.parse_args()
    if options.quick:
        options.documents, options.rounds = 10, 3
    documents = long_documents(options.documents)
    tokenizer = DocumentTokenizer.from_folder(resolve_checkpoint("default"))
    tokens = sum(len(segment.token_ids) for document in documents for segment in tokenizer.segments(document.text))
    candidates = SUITES[options.suite](documents)
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for round_number in range(options.rounds + 1):
        for name, work in candidates.items():
            start = time.perf_counter()
            work()
            if round_number:  # the first round warms caches up
                seconds[name].append(time.perf_counter() - start)
    first = statistics.median(next(iter(seconds.values())))
    report = {
        "suite": options.suite,
        "documents": len(documents),
        "tokens": tokens,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
        "results": {
            name: {
                "tokens_per_second": tokens / statistics.median(times),
                "lowest": tokens / max(times),
                "highest": tokens / min(times),
                "time_over_first": statistics.median(times) / first,
            }
            for name, times in seconds.items()
        },
    }
    for name, row in report["results"].items():
        print(f"{name:20} {row['tokens_per_second']:8.0f} tokens/s  [{row['lowest']:.0f} to {row['highest']:.0f}]  "
              f"time x{row['time_over_first']:.3f}")  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
