"""Memory that a long text does not fill: each case runs in a process of its own, whose peak is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the peak of a process is measured with `resource`, which Windows lacks")

SCRIPT = """
import json, resource, sys
from pathlib import Path
from longdoc.text.chunking import ChunkingConfig, prepare
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document

folder, way, characters = sys.argv[1], sys.argv[2], int(sys.argv[3])
tokenizer = DocumentTokenizer.from_folder(Path(folder))
sentence = "The supplier delivers the goods (Annex 4.2) to the buyer; na\\u00efve caf\\u00e9 tests cost 12.50 EUR. "
alone = len(tokenizer.tokenize(Document("d", sentence)))
text = sentence * (characters // len(sentence))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

before = peak()
if way == "segments":
    tokens = sum(len(segment.token_ids) for segment in tokenizer.segments(text))
else:
    prepared = prepare(Document("d", text), tokenizer, ChunkingConfig().build(tokenizer))
    tokens = sum(chunk.core.end - chunk.core.start for chunk in prepared.chunks)
    assert tokens == prepared.n_tokens == prepared.tokens_read
print(json.dumps({"expected": alone * (characters // len(sentence)), "tokens": tokens, "growth": peak() - before}))
"""

GROWTH = 30_000_000
"""Bytes above the peak of loading the tokenizer and making the text. Measured for 2, 5, 20 and 50 million characters:
5, 9, 11 and 12 million in `segments`, and 3, 6, 8 and 8 million in `prepare`. With all pieces in one batch it was 56
million for the shortest text already."""


@pytest.mark.parametrize(
    ("way", "characters"),
    [
        ("segments", 2_000_000),
        ("prepare", 2_000_000),
        *(
            pytest.param(way, characters, marks=pytest.mark.slow)
            for way in ("segments", "prepare")
            for characters in (5_000_000, 20_000_000, 50_000_000)
        ),
    ],
)
def test_memory_does_not_grow_with_the_text(way: str, characters: int, minilm_folder: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(minilm_folder), way, str(characters)]
    environment = os.environ | {"TOKENIZERS_PARALLELISM": "false"}
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    found = json.loads(printed)
    print(f"{way} of {characters / 1e6:.0f} million characters: {found['growth'] / 1e6:.1f} MB above the text")
    assert found["tokens"] == found["expected"]
    assert found["growth"] < GROWTH
