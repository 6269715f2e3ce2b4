"""Public question answering checkpoints answer questions about documents of any length."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, PreTrainedTokenizerFast

import family_kit
from family_kit import reconfigure, saved, their_model
from longdoc.api import build_pipeline
from longdoc.checkpoints.answerers import holds_answerer, load_answerer, load_question_answerer
from longdoc.checkpoints.opening import FAMILIES
from longdoc.config import load_config
from longdoc.errors import CheckpointError
from longdoc.nn.readout import AnswersReadoutConfig
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.types import Document
from tokenizer_kit import CORPUS, byte_level

family_kit.AUTO["answerer"] = AutoModelForQuestionAnswering
QUESTION = "Who jumps over the dog?"
TEXT = "The quick brown fox jumps over Größe 42, of a lazy dog; isn't it? Le cœur a ses raisons, la raison non."
CPU = PredictionConfig.model_validate({"precision": {"device": "cpu", "dtype": "fp32"}})
ANSWERERS = [
    name if name in ("bert", "roberta") else pytest.param(name, marks=pytest.mark.slow)
    for name, family in FAMILIES.items()
    if family.answerer is not None
]


def published(family: str, folder: Path, word_pieces: Path | None = None, num_labels: int = 2) -> Path:
    """Model and tokenizer as on a hub; the tokenizer that of `word_pieces` (types 0 and 1), or one of bytes."""
    theirs = their_model(
        family, "answerer", vocab_size=30522 if word_pieces else 600, num_labels=num_labels,
        max_position_embeddings=130, pad_token_id=0 if word_pieces else 2, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    if word_pieces:
        AutoTokenizer.from_pretrained(word_pieces).save_pretrained(folder)
        return saved(theirs, folder)
    PreTrainedTokenizerFast(
        tokenizer_object=byte_level(prefix_space=False), model_max_length=96, bos_token="<s>", eos_token="</s>",
        cls_token="<s>", sep_token="</s>", pad_token="<pad>", unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)  # fmt: skip
    return saved(theirs, folder)


@pytest.mark.parametrize("family", ANSWERERS)
def test_scores_of_one_chunk_are_those_of_transformers(family: str, minilm_folder: Path, tmp_path: Path) -> None:
    folder = published(family, tmp_path, minilm_folder)
    assert holds_answerer(folder)
    mine = Pipeline.load(folder, CPU)
    assert (mine.task.name, mine.labels) == ("question_answering", ("start", "end"))
    (item,) = mine.stream_rows([Document("d", TEXT, question=QUESTION)])
    theirs = AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    encoded = AutoTokenizer.from_pretrained(folder)(QUESTION, TEXT, return_tensors="pt")
    body = [0, *(n for n, text in enumerate(encoded.sequence_ids(0)) if text == 1)]
    if getattr(theirs.config, "type_vocab_size", 0) < 2 or family in ("distilbert", "mpnet", "modernbert"):
        encoded.pop("token_type_ids", None)  # what such a family's own tokenizer does not give
    with torch.inference_mode():
        scores = mine.model.documents(item.rows, torch.zeros(1, dtype=torch.int64), item.weights, 1)
        out = theirs(**encoded)
    expected = torch.stack([out.start_logits[0], out.end_logits[0]], dim=-1)[body]
    assert torch.allclose(scores, expected, atol=1e-5)
    assert expected.std() > 0.05
    if "token_type_ids" in encoded:
        with torch.inference_mode():
            other = theirs(**{**encoded, "token_type_ids": torch.zeros_like(encoded["input_ids"])}).start_logits[0]
        assert not torch.allclose(other[body], expected[:, 0], atol=1e-3), "types say something"


def test_two_separators_and_long_documents_and_a_saved_model_says_the_same(tmp_path: Path) -> None:
    mine = Pipeline.load(published("roberta", tmp_path / "theirs"), CPU)
    assert mine.settings.chunking.model_dump(include={"size", "overlap"}) == {"size": 96, "overlap": 24}
    text = " ".join(CORPUS * 5)
    (item,) = mine.prepare([Document("d", text, question=QUESTION)])
    (chunk, *_) = item.chunks
    question = AutoTokenizer.from_pretrained(tmp_path / "theirs")(QUESTION)["input_ids"]
    assert chunk.token_ids[: chunk.lead].tolist() == [*question, 1]
    found = mine(question=QUESTION, context=text, top_k=3)
    assert all(text[answer["start"] : answer["end"]] == answer["answer"] for answer in found)
    (result,) = mine.predict([Document("d", text, question=QUESTION)])
    assert result.n_chunks > 3
    assert result.tokens_read == result.n_tokens
    mine.save(tmp_path / "ours")
    again = Pipeline.load(tmp_path / "ours", CPU)
    assert again.settings == mine.settings
    assert again.predict([Document("d", text, question=QUESTION)])[0].to_dict() == result.to_dict()


def test_what_is_asked_beside_the_head_can_be_chosen(tmp_path: Path) -> None:
    folder = published("bert", tmp_path)
    model, settings = load_question_answerer(folder, readout=AnswersReadoutConfig(no_answer=False, max_answer_tokens=7))
    assert (model.readout.no_answer, model.readout.longest) == (False, 7)
    assert settings.readout.head.dropout == 0.0
    encoder, head = load_answerer(folder)
    ids = torch.arange(5, 25)[None]
    assert head.classify(head.transform(encoder(ids))).shape == (1, 20, 2)


def test_training_starts_from_the_head_of_an_answerer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = published("bert", tmp_path)
    config = load_config(
        overrides=["model.task=question_answering", f"model.source={folder}", "chunking.size=64", "chunking.overlap=8"]
    )
    with caplog.at_level(logging.INFO, "longdoc"):
        started = build_pipeline(config, ("start", "end"))
    assert "the checkpoint's head for answers is taken over" in caplog.messages
    _, head = load_answerer(folder)
    assert torch.equal(started.model.readout.head.output.weight, head.output.weight)
    again = Pipeline.from_checkpoint(folder, task="question_answering", chunking=config.chunking)
    assert torch.equal(again.model.readout.head.output.weight, head.output.weight)
    assert again.labels == ("start", "end")


def test_other_models_and_numbers_of_scores_are_refused(tmp_path: Path) -> None:
    folder = published("bert", tmp_path, num_labels=3)
    with pytest.raises(CheckpointError, match="must name 2 scores, the start and the end of an answer, but does not"):
        Pipeline.load(folder)
    named = json.loads((folder / "config.json").read_text())["architectures"]
    reconfigure(folder, architectures=["BertModel"])
    assert named == ["BertForQuestionAnswering"]
    assert not holds_answerer(folder)
    with pytest.raises(CheckpointError, match=r"must name a question answering model, but \['BertModel'\] does not"):
        load_answerer(folder)
    assert not holds_answerer(tmp_path / "nowhere")
