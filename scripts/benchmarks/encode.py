"""Suite `encode`: texts to one vector a document, tokenizing included, by ours and by the engines people would take.

Each way gives the mean over all tokens of a document, special ones left out, from chunks of 512 that do not overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from benchmarks.alternate import Candidate
from benchmarks.chunks import ENCODER, SIZE, cut, merged, save_vectors
from benchmarks.corpus import documents
from longdoc.nn.compiled.attention import choose_level
from longdoc.precision import choose_placement, cpu_multiplies_bfloat16

__all__ = [
    "bodies",
    "candidates",
    "ceiling",
    "of_transformers",
    "ours",
    "sentence_transformers",
    "transformers",
    "transformers_pipeline",
    "without_compiled",
]

Work = Callable[[], dict[str, Any]]


def candidates(quick: bool, count: int | None = None) -> list[Candidate]:
    """Ours first; what is not installed says so, and what the machine does not do natively is left out by name."""
    count = count or (6 if quick else 60)
    both: dict[str, Any] = {"count": count, "vectors": ""}
    hf, by_length = "encode:transformers", both | {"by_length": True}
    emulated = "" if cpu_multiplies_bfloat16() else "left out: this CPU does not multiply bfloat16 natively"
    single = emulated and "left out: the default is fp32 here"
    slow = "left out of quick runs: compiling takes longer than they may" if quick else ""
    return [
        Candidate("longdoc", "encode:ours", options=both),
        Candidate("longdoc, attention of torch", "encode:ours", options=both | {"attention": "torch"},
                  left_out=without_compiled(records=False)),
        Candidate("longdoc fp32", "encode:ours", options=both | {"dtype": "fp32"}, left_out=single),
        Candidate("transformers fp32, document order", hf, ("transformers",), both),
        Candidate("transformers fp32, by length", hf, ("transformers",), by_length),
        Candidate("transformers bf16, by length", hf, ("transformers",), by_length | {"dtype": "bfloat16"}, emulated),
        Candidate("transformers fp32, compiled", hf, ("transformers",), by_length | {"compiled": True}, slow),
        Candidate("transformers pipeline", "encode:transformers_pipeline", ("transformers",), both),
        Candidate("sentence-transformers", "encode:sentence_transformers", ("sentence_transformers",), both),
        Candidate("OpenVINO, as it comes", "engines:openvino", ("openvino",), both | {"precision": ""}),
        Candidate("OpenVINO fp32", "engines:openvino", ("openvino",), both, single),
        Candidate("OpenVINO int8", "engines:openvino", ("openvino", "nncf"), both | {"int8": True}),
        Candidate("ONNX Runtime fp32", "engines:onnxruntime", ("onnxruntime", "onnx"), both),
        Candidate("ONNX Runtime int8", "engines:onnxruntime", ("onnxruntime", "onnx"), both | {"int8": True}),
        Candidate("ceiling: the products alone, fp32", "encode:ceiling", options={"count": count}),
        Candidate("ceiling: the products alone, bf16", "encode:ceiling",
                  options={"count": count, "dtype": "bfloat16"}, left_out=emulated),
    ]  # fmt: skip


def without_compiled(records: bool) -> str:
    """Why ours with torch's attention need not be run: it is ours as it comes."""
    taken = choose_level(choose_placement().dtype, 0.1 if records else 0.0, records)
    return "" if taken else "left out: attention is torch's here anyway"


def ours(count: int, dtype: str = "auto", attention: str = "auto", vectors: str = "") -> Work:
    """As `Pipeline` does it by default."""
    from longdoc.pipeline import Pipeline, PredictionConfig
    from longdoc.precision import PrecisionConfig
    from longdoc.text.chunking import ChunkingConfig
    from longdoc.types import Document

    settings = PredictionConfig(precision=PrecisionConfig(dtype=dtype, attention=attention))
    pipeline = Pipeline.from_checkpoint(
        ENCODER, labels=("a", "b"), prediction=settings, chunking=ChunkingConfig(size=SIZE, overlap=0)
    )
    texts = [Document(id=str(number), text=text) for number, text in enumerate(documents(count))]

    def work() -> dict[str, Any]:
        found, tokens = [], 0
        for item in pipeline.stream_rows(texts):
            tokens += item.prepared.n_tokens
            found.append((item.rows * item.weights[:, None]).sum(0) / item.weights.sum())
        save_vectors(vectors, torch.stack(found).numpy())
        return {"tokens": tokens, "chose": f"{pipeline.placement.name}: {pipeline.placement.reason}"}

    return work


def transformers(
    count: int, by_length: bool = False, dtype: str = "float32", compiled: bool = False, vectors: str = ""
) -> Work:
    """Padded batches of 16 chunks, in the order of the documents or of their lengths."""
    tokenizer, model = of_transformers(dtype)
    texts = documents(count)
    encode = torch.compile(model, dynamic=True) if compiled else model

    @torch.inference_mode()
    def work() -> dict[str, Any]:
        chunks = cut(tokenizer, texts)
        order = (
            sorted(range(len(chunks.ids)), key=lambda n: -len(chunks.ids[n])) if by_length else range(len(chunks.ids))
        )
        found = np.zeros((len(chunks.ids), model.config.hidden_size), dtype=np.float32)
        for start in range(0, len(order), 16):
            mine = list(order[start : start + 16])
            batch = tokenizer.pad({"input_ids": [chunks.ids[n] for n in mine]}, return_tensors="pt")
            states = encode(**batch).last_hidden_state.float()
            found[mine] = bodies(states, batch["attention_mask"]).numpy()
        save_vectors(vectors, merged(found, chunks))
        return {"tokens": chunks.tokens}

    return work


def bodies(states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """(N, L, D), (N, L) -> (N, D): means over the tokens between the two special ones."""
    body = attention_mask.clone()
    body[:, 0] = 0
    body[torch.arange(len(body)), attention_mask.sum(1) - 1] = 0
    return (states * body[..., None]).sum(1) / body.sum(1, keepdim=True)


def transformers_pipeline(count: int, vectors: str = "") -> Work:
    """`pipeline("feature-extraction")` on texts of chunks, as it comes."""
    from transformers import pipeline

    tokenizer, model = of_transformers("float32")
    extract = pipeline("feature-extraction", model=model, tokenizer=tokenizer, device="cpu")
    texts = documents(count)

    def work() -> dict[str, Any]:
        chunks = cut(tokenizer, texts)
        pieces = [tokenizer.decode(ids[1:-1]) for ids in chunks.ids]
        states = extract(pieces, batch_size=16, truncation=True, max_length=SIZE, return_tensors=True)
        save_vectors(vectors, merged(np.stack([rows[0, 1:-1].mean(0).numpy() for rows in states]), chunks))
        return {"tokens": chunks.tokens}

    return work


def sentence_transformers(count: int, vectors: str = "") -> Work:
    """`SentenceTransformer.encode` on texts of chunks, as it comes; its means have the special tokens in them."""
    from sentence_transformers import SentenceTransformer

    from longdoc.checkpoints import resolve_checkpoint

    model = SentenceTransformer(str(resolve_checkpoint(ENCODER)), device="cpu")
    model.max_seq_length = SIZE
    texts, tokenizer = documents(count), model.tokenizer

    def work() -> dict[str, Any]:
        chunks = cut(tokenizer, texts)
        rows = model.encode([tokenizer.decode(ids[1:-1]) for ids in chunks.ids])
        save_vectors(vectors, merged(rows, chunks))
        return {"tokens": chunks.tokens}

    return work


def ceiling(count: int, dtype: str = "float32") -> Work:
    """Nothing but the encoder's products, on matrices that stay in cache, each thread alone: the machine's best."""
    from transformers import AutoConfig, AutoTokenizer

    from longdoc.checkpoints import resolve_checkpoint

    folder = resolve_checkpoint(ENCODER)
    config, tokenizer = AutoConfig.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    tokens = cut(tokenizer, documents(count)).tokens
    width, inner, kind = config.hidden_size, config.intermediate_size, getattr(torch, dtype)
    square, up, down = (torch.randn(a, b, dtype=kind) for a, b in ((width, width), (width, inner), (inner, width)))
    x, wide = torch.randn(SIZE, width, dtype=kind), torch.randn(SIZE, inner, dtype=kind)
    head = width // config.num_attention_heads
    q = torch.randn(config.num_attention_heads, SIZE, head, dtype=kind)
    scores = torch.randn(config.num_attention_heads, SIZE, SIZE, dtype=kind)

    threads = torch.get_num_threads()

    @torch.inference_mode()
    def layers(number: int) -> None:
        torch.set_num_threads(1)
        for _ in range(number):
            for _ in range(4):
                x @ square
            _ = x @ up, wide @ down, q @ q.transpose(1, 2), scores @ q

    def work() -> dict[str, Any]:
        each = tokens // SIZE // threads
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(layers, [each * config.num_hidden_layers] * threads))
        return {"tokens": each * threads * SIZE}

    return work


def of_transformers(dtype: str) -> tuple[Any, Any]:
    """Tokenizer and encoder."""
    from transformers import AutoModel, AutoTokenizer

    from longdoc.checkpoints import resolve_checkpoint

    folder = resolve_checkpoint(ENCODER)
    model = AutoModel.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    return AutoTokenizer.from_pretrained(folder), model
