"""Suite `train`: one pass forth and back over whole labelled documents, against the Trainer of transformers.

The Trainer learns from chunks, each with the label of its document, which is what people do with it; ours from whole
documents. Both see the same tokens and move every weight.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.alternate import Candidate
from benchmarks.chunks import ENCODER, SIZE, cut
from benchmarks.corpus import documents
from benchmarks.encode import without_compiled
from longdoc.precision import cpu_multiplies_bfloat16

__all__ = ["candidates", "ours", "trainer"]

Work = Callable[[], dict[str, Any]]


def candidates(quick: bool, count: int | None = None) -> list[Candidate]:
    """In float32, and in bfloat16 where the CPU multiplies it natively."""
    given = {"count": count or (4 if quick else 24)}
    emulated = "" if cpu_multiplies_bfloat16() else "left out: this CPU does not multiply bfloat16 natively"
    bf16 = {"precision": "bf16"}
    return [
        Candidate("longdoc fp32", "train:ours", options=given),
        Candidate("longdoc fp32, attention of torch", "train:ours", options=given | {"attention": "torch"},
                  left_out=without_compiled(records=True)),
        Candidate("longdoc bf16", "train:ours", options=given | bf16, left_out=emulated),
        Candidate("transformers Trainer fp32", "train:trainer", ("transformers",), given),
        Candidate("transformers Trainer bf16", "train:trainer", ("transformers",), given | {"bf16": True}, emulated),
    ]  # fmt: skip


def ours(count: int, precision: str | None = None, attention: str = "auto") -> Work:
    """`longdoc.train` for one epoch."""
    import longdoc
    from longdoc.types import Document

    texts = [Document(id=str(n), text=text, label="ab"[n % 2]) for n, text in enumerate(documents(count))]
    held_out = [Document(id=f"held out {label}", text=f"a short text of {label}", label=label) for label in "ab"]
    changes = [
        "training.num_train_epochs=1", "training.per_device_train_batch_size=4", f"chunking.size={SIZE}",
        "chunking.overlap=0", f"model.source={ENCODER}", f"prediction.precision.attention={attention}",
    ]  # fmt: skip
    config = longdoc.load_config(overrides=changes + ([f"training.mixed_precision={precision}"] if precision else []))

    def work() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            pipeline = longdoc.train(config, folder + "/model", train_documents=texts, validation_documents=held_out)
        return {"tokens": sum(item.n_tokens for item in pipeline.prepare(texts))}

    return work


def trainer(count: int, bf16: bool = False) -> Work:
    """The Trainer as its guide has it: chunks of 16 in a batch, padded to the longest."""
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    from longdoc.checkpoints import resolve_checkpoint

    folder = resolve_checkpoint(ENCODER)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    chunks = cut(tokenizer, documents(count))
    rows = [{"input_ids": ids, "labels": owner % 2} for ids, owner in zip(chunks.ids, chunks.owner, strict=True)]

    def work() -> dict[str, Any]:
        model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2, dtype=torch.float32)
        with tempfile.TemporaryDirectory() as output:
            arguments = TrainingArguments(
                output, num_train_epochs=1, per_device_train_batch_size=16, bf16=bf16, use_cpu=True, report_to=[],
                save_strategy="no", logging_strategy="no", disable_tqdm=True,
            )  # fmt: skip
            Trainer(model, arguments, DataCollatorWithPadding(tokenizer), rows).train()
        return {"tokens": chunks.tokens}

    return work
