"""Public token classification checkpoints answer documents of any length with exact places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer, PreTrainedTokenizerFast, pipeline

from family_kit import reconfigure, saved, their_model
from longdoc.checkpoints.taggers import holds_tagger
from longdoc.errors import CheckpointError
from longdoc.pipeline import Pipeline, PredictionConfig
from tokenizer_kit import CORPUS, byte_level

TAGS = {0: "O", 1: "B-LOC", 2: "I-LOC", 3: "B-PER", 4: "I-PER"}
TEXT = "The quick brown fox jumps over Größe 42, of a lazy dog; isn't it? Le cœur a ses raisons, la raison non."
CPU = PredictionConfig.model_validate({"precision": {"device": "cpu", "dtype": "fp32"}})


def published(family: str, folder: Path, word_pieces: Path | None = None) -> Path:
    """Model and tokenizer as on a hub; the tokenizer that of `word_pieces`, or one of bytes."""
    theirs = their_model(
        family, "tagger", vocab_size=30522 if word_pieces else 600, num_labels=5, id2label=TAGS,
        max_position_embeddings=130, pad_token_id=0 if word_pieces else 2, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    if word_pieces:
        AutoTokenizer.from_pretrained(word_pieces).save_pretrained(folder)
        return saved(theirs, folder)
    PreTrainedTokenizerFast(
        tokenizer_object=byte_level(prefix_space=False), model_max_length=64, bos_token="<s>", eos_token="</s>",
        cls_token="<s>", sep_token="</s>", pad_token="<pad>", unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)  # fmt: skip
    return saved(theirs, folder)


@pytest.mark.parametrize("family", ["bert", "distilbert", "deberta-v2", "modernbert"])
def test_one_chunk_is_tagged_as_transformers_tags_it(family: str, minilm_folder: Path, tmp_path: Path) -> None:
    folder = published(family, tmp_path, minilm_folder)  # the only kind whose words they find without a guess
    assert holds_tagger(folder)
    mine = Pipeline.load(folder, CPU)
    assert mine.labels == ("LOC", "PER")
    found = mine(TEXT)
    theirs = pipeline("token-classification", str(folder), aggregation_strategy="first")(TEXT)
    assert len(theirs) > 3
    assert [(span["start"], span["end"], span["entity_group"]) for span in found] == [
        (span["start"], span["end"], span["entity_group"]) for span in theirs
    ]
    for span in found:
        assert span["word"] == TEXT[span["start"] : span["end"]]
        assert type(span["score"]) is float
        assert 0 < span["score"] <= 1


def test_scores_of_tags_are_those_of_transformers(tmp_path: Path) -> None:
    folder = published("bert", tmp_path)
    mine = Pipeline.load(folder, CPU)
    (item,) = mine.stream_rows([TEXT])
    weights, owner = item.weights, torch.zeros(len(item.rows), dtype=torch.int64)
    with torch.inference_mode():
        scores = mine.model.documents(item.rows, owner, weights, 1)
        encoded = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
        theirs = AutoModelForTokenClassification.from_pretrained(folder).eval()
        expected = theirs(encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits[0, 1:-1]
    assert torch.allclose(scores, expected, atol=1e-5)


def test_long_documents_are_read_to_their_end_and_a_saved_model_says_the_same(tmp_path: Path) -> None:
    mine = Pipeline.load(published("bert", tmp_path / "theirs"), CPU)
    text = " ".join(CORPUS * 5)
    (result,) = mine.predict([text])
    assert result.n_chunks > 3
    assert result.tokens_read == result.n_tokens
    assert result.spans[-1].end > 0.95 * len(text)
    mine.save(tmp_path / "ours")
    again = Pipeline.load(tmp_path / "ours", CPU)
    assert again.settings == mine.settings
    assert again.predict([text])[0].spans == result.spans


def test_names_of_tags_that_say_nothing_are_refused(tmp_path: Path) -> None:
    folder = published("bert", tmp_path)
    config = json.loads((folder / "config.json").read_text())
    reconfigure(folder, id2label=config["id2label"] | {"1": "B-"})
    with pytest.raises(CheckpointError, match="`id2label` must name a label behind each prefix, but 'B-' has none"):
        Pipeline.load(folder)
    reconfigure(folder, id2label={"0": "O"}, num_labels=1)
    with pytest.raises(CheckpointError):
        Pipeline.load(folder)
