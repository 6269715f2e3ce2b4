"""Other engines for the same encoder, each fed as its guide advises: a chunk a request, several requests at once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.chunks import Cut, cut, merged, save_vectors
from benchmarks.corpus import documents
from benchmarks.encode import of_transformers

__all__ = ["onnxruntime", "openvino"]

Work = Callable[[], dict[str, Any]]

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_SAMPLE = 64
"""Chunks from which int8 ranges are read, of other documents than those that are timed."""


class _Means(torch.nn.Module):
    """The encoder, and the mean over the tokens between the special ones of rows without padding."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        states = self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        return states[:, 1:-1].mean(1)


def openvino(count: int, precision: str = "f32", int8: bool = False, vectors: str = "") -> Work:
    """OpenVINO for throughput: one chunk a request, as many requests at once as it finds best."""
    import openvino as ov

    tokenizer, model = of_transformers("float32")
    example = {name: torch.ones(1, 16, dtype=torch.int64) for name in _INPUTS}
    converted = ov.convert_model(_Means(model).eval(), example_input=example)
    if int8:
        import nncf

        sample = nncf.Dataset([_inputs([ids]) for ids in cut(tokenizer, documents(8, seed=1)).ids[:_SAMPLE]])
        converted = nncf.quantize(converted, sample, model_type=nncf.ModelType.TRANSFORMER)
    asked: dict[str, Any] = {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    if precision:  # else it chooses, which is bf16 where the CPU has it
        asked["INFERENCE_PRECISION_HINT"] = precision
    compiled = ov.Core().compile_model(converted, "CPU", asked)
    texts = documents(count)

    def work() -> dict[str, Any]:
        chunks = cut(tokenizer, texts)
        rows = np.zeros((len(chunks.ids), model.config.hidden_size), dtype=np.float32)
        queue = ov.AsyncInferQueue(compiled)

        def home(request: Any, number: int) -> None:
            rows[number] = request.get_output_tensor(0).data[0]

        queue.set_callback(home)
        for number, ids in enumerate(chunks.ids):
            queue.start_async(_inputs([ids]), number)
        queue.wait_all()
        save_vectors(vectors, merged(rows, chunks))
        return {"tokens": chunks.tokens}

    return work


def onnxruntime(count: int, int8: bool = False, vectors: str = "") -> Work:
    """ONNX Runtime: chunks of equal length in twos, longest first."""
    import onnxruntime as ort

    tokenizer, model = of_transformers("float32")
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "encoder.onnx"
    example = tuple(torch.ones(2, 16, dtype=torch.int64) for _ in _INPUTS)
    axes = {name: {0: "rows", 1: "length"} for name in _INPUTS}
    torch.onnx.export(
        _Means(model).eval(), example, str(path), input_names=list(_INPUTS), output_names=["vectors"],
        dynamic_axes=axes | {"vectors": {0: "rows"}}, dynamo=False,
    )  # fmt: skip
    if int8:
        from onnxruntime.quantization import quantize_dynamic

        quantize_dynamic(path, path.with_suffix(".int8.onnx"))
        path = path.with_suffix(".int8.onnx")
    options = ort.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = ort.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    folder.cleanup()
    texts = documents(count)

    def work() -> dict[str, Any]:
        chunks = cut(tokenizer, texts)
        rows = _in_twos(lambda ids: session.run(None, _inputs(ids))[0], chunks)
        save_vectors(vectors, merged(rows, chunks))
        return {"tokens": chunks.tokens}

    return work


def _inputs(ids: Sequence[Sequence[int]]) -> dict[str, Any]:
    """For rows of one length."""
    rows = np.array(ids, dtype=np.int64)
    return dict(zip(_INPUTS, (rows, np.ones_like(rows), np.zeros_like(rows)), strict=True))


def _in_twos(run: Callable[[Sequence[list[int]]], Any], chunks: Cut) -> Any:
    """(chunks, D), from pairs of chunks of one length and single ones."""
    alike: dict[int, list[int]] = {}
    for number, ids in enumerate(chunks.ids):
        alike.setdefault(len(ids), []).append(number)
    rows: list[Any] = [None] * len(chunks.ids)
    for _, numbers in sorted(alike.items(), reverse=True):
        for start in range(0, len(numbers), 2):
            mine = numbers[start : start + 2]
            for place, row in zip(mine, run([chunks.ids[number] for number in mine]), strict=True):
                rows[place] = row
    return np.stack(rows)
