"""One short run on a GPU: are the numbers those of a CPU in float32, and how fast is it beside transformers?

python scripts/gpu_check.py --json gpu.json
python scripts/gpu_check.py --device cpu --documents 1 --rounds 1        # tries the script itself

Prints the distance of our vectors from float32 on the CPU, with the kernel for texts of unequal length and without it,
and with a sliding window; whether documents alone have the bits that they have in company; tokens a second of ours and
of transformers with the attention of torch (and of the package flash_attn, where it is installed); and which share of
the device's own rate of products each of them reaches. Meant to take less than four minutes on a data-centre card. It
ends with status 1 where a number is not right.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.chunks import ENCODER, SIZE, cut, merged
from benchmarks.corpus import documents
from benchmarks.encode import bodies, of_transformers
from longdoc.nn.packed import kernel_works
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.types import Document

LOWEST_COSINE = 0.9999
"""To float32 on the CPU, the bound of docs/speed.md."""


def ours(
    device: str, dtype: str, deterministic: bool = True, attention: str = "auto", window: int | None = None
) -> Pipeline:
    """MiniLM with a random head; with `window` each token sees so many others on each side."""
    settings = PredictionConfig.model_validate(
        {
            "precision": {"device": device, "dtype": dtype, "attention": attention},
            "batching": {"deterministic": deterministic, "reuse_repeats": False},
        }
    )
    made = Pipeline.from_checkpoint(
        ENCODER, labels=("a", "b"), prediction=settings, chunking={"size": SIZE, "overlap": 0}
    )
    made.model.encoder.config = made.model.encoder.config.model_copy(update={"window": window})
    return made


def vectors(pipeline: Pipeline, texts: list[str]) -> Any:
    """(documents, D)."""
    found = [(item.rows * item.weights[:, None]).sum(0) / item.weights.sum() for item in pipeline.stream_rows(texts)]
    return torch.stack(found).double().numpy()


def closeness(right: Any, found: Any) -> dict[str, float]:
    """Of vectors, document by document: (documents, D) each."""
    cosines = (right * found).sum(1) / np.linalg.norm(right, axis=1) / np.linalg.norm(found, axis=1)
    return {"lowest_cosine": float(cosines.min()), "largest_difference": float(np.abs(right - found).max())}


def transformers(device: str, dtype: str, attention: str, rows: int, texts: list[str]) -> Callable[[], object]:
    """Padded batches, longest first."""
    tokenizer, model = of_transformers(dtype)
    model.set_attn_implementation(attention)
    model.to(device)

    @torch.inference_mode()
    def work() -> object:
        chunks = cut(tokenizer, texts)
        order = sorted(range(len(chunks.ids)), key=lambda n: -len(chunks.ids[n]))
        found = np.zeros((len(order), model.config.hidden_size), dtype=np.float32)
        for start in range(0, len(order), rows):
            mine = order[start : start + rows]
            batch = tokenizer.pad({"input_ids": [chunks.ids[n] for n in mine]}, return_tensors="pt").to(device)
            found[mine] = bodies(model(**batch).last_hidden_state.float(), batch["attention_mask"]).cpu().numpy()
        return merged(found, chunks)

    return work


def seconds(device: str, work: Callable[[], object], rounds: int) -> float:
    """The median; one round before is not counted."""
    taken = []
    for number in range(rounds + 1):
        start = time.perf_counter()
        work()
        if device != "cpu":
            torch.cuda.synchronize()
        if number:
            taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def product_rate(device: str, dtype: torch.dtype, rounds: int) -> float:
    """Floating-point operations a second in products of square matrices: what the device really does."""
    width = 512 if device == "cpu" else 8192
    left, right = (torch.randn(width, width, device=device, dtype=dtype) for _ in range(2))
    return 2 * width**3 * 8 / seconds(device, lambda: [left @ right for _ in range(8)], rounds)


def main() -> None:
    """Compare, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or cpu")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--chunks", type=int, default=64, help="rows of a batch of transformers")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is timed; once more before, not counted")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device, texts = options.device, documents(options.documents)
    if device != "cpu" and not torch.cuda.is_available():
        raise SystemExit("no GPU here: `--device cpu` tries the script itself")
    fast = ours(device, "auto")
    dtype, kind = fast.placement.dtype, str(fast.placement.dtype).removeprefix("torch.")
    free, padded = ours(device, "auto", deterministic=False), ours(device, "auto", attention="torch")
    few = texts[:20]
    right = vectors(ours("cpu", "fp32"), few)
    numbers = {
        "fixed shapes": closeness(right, vectors(fast, few)),
        "free batches": closeness(right, vectors(free, few)),
        "fixed shapes, padding masked": closeness(right, vectors(padded, few)),
        "sliding window of 64": closeness(
            vectors(ours("cpu", "fp32", window=64), few), vectors(ours(device, "auto", window=64), few)
        ),
    }
    together = vectors(fast, texts)
    differing = sum(
        not np.array_equal(vectors(fast, [text])[0], row) for text, row in zip(few, together[: len(few)], strict=True)
    )
    works: dict[str, Callable[[], object]] = {
        "longdoc, fixed shapes": lambda: vectors(fast, texts),
        "longdoc, free batches": lambda: vectors(free, texts),
        "longdoc, padding masked": lambda: vectors(padded, texts),
        f"transformers {kind}, sdpa": transformers(device, kind, "sdpa", options.chunks, texts),
    }
    if device != "cpu" and importlib.util.find_spec("flash_attn"):
        attention = "flash_attention_2"
        works[f"transformers {kind}, flash"] = transformers(device, kind, attention, options.chunks, texts)
    config = fast.model.encoder.config
    tokens = sum(
        item.n_tokens for item in fast.prepare([Document(id=str(n), text=text) for n, text in enumerate(texts)])
    )
    of_token = config.layers * (
        8 * config.width**2 + 4 * config.width * config.feed_forward_width + 4 * SIZE * config.width
    )
    rate = product_rate(device, dtype, options.rounds)
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(device) if device != "cpu" else "cpu",
        "torch": torch.__version__,
        "path": vars(fast.compute_path),
        "kernel_for_unequal_lengths": kernel_works(fast.placement.device) or "works",
        "to_cpu_fp32": numbers,
        "documents_whose_bits_differ_in_company": differing,
        "product_tflops": rate / 1e12,
        "rows": [],
    }
    for name, work in works.items():
        speed = tokens / seconds(device, work, options.rounds)
        report["rows"].append({"name": name, "tokens_per_second": speed, "share": speed * of_token / rate})
    print(f"{report['device']}, {kind}: products {report['product_tflops']:.3g} TFLOP/s")
    print(f"kernel for texts of unequal length: {report['kernel_for_unequal_lengths']}")
    for name, near in numbers.items():
        cosine, difference = near["lowest_cosine"], near["largest_difference"]
        print(f"{name:32} lowest cosine to float32 on the CPU {cosine:.6f}, largest difference {difference:.1e}")
    print(f"documents with other bits in company than alone: {differing} of {len(few)}")
    for row in report["rows"]:
        print(
            f"{row['name']:32} {row['tokens_per_second']:12,.0f} tokens/s, {row['share']:.0%} of the rate of products"
        )
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if differing or any(near["lowest_cosine"] < LOWEST_COSINE for near in numbers.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
