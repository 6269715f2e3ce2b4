"""Where chunks end changes no span: a tagger whose answer depends on the word alone gives the same for every chunking.

The encoder is a table of words without a layer that looks around, made to score tags as one pleases.
"""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from longdoc.checkpoints.native import ModelSettings
from longdoc.model import LongDocModel
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.readout import TokensReadoutConfig
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.text.chunking import ChunkingConfig
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document, Span

TAGS = ("O", "B-X", "I-X", "B-Y", "I-Y")
WORDS = {"out": 0, "bx": 1, "ix": 2, "by": 3, "iy": 4}
"""Each word says its tag."""


@cache
def tokenizer() -> DocumentTokenizer:
    vocabulary = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, **{word: 4 + n for word, n in WORDS.items()}}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}
    return DocumentTokenizer(made.to_str(), names)


def toy(size: int, overlap: int, given_tags: bool = True, decoder: str = "constrained") -> Pipeline:
    """A pipeline whose score of a tag is high for the word that says it."""
    encoder = Encoder(
        EncoderConfig(vocab_size=9, width=8, layers=1, heads=1, feed_forward_width=8, max_len=1 << 12, dropout=0.0)
    )
    readout_config = TokensReadoutConfig(tags=TAGS if given_tags else None, decoder=decoder)
    readout = readout_config.build(8, len(TAGS))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.zero_()
        for name, parameter in encoder.named_parameters():
            if "norm" in name and name.endswith("weight"):
                parameter.fill_(1.0)
        for number in range(len(TAGS)):
            encoder.word.weight[4 + number, number] = 10.0
        readout.head.output.weight.copy_(10 * torch.eye(5, 8))
        readout.head.output.bias.zero_()
    settings = ModelSettings(
        task="spans",
        labels=("X", "Y"),
        chunking=ChunkingConfig(size=size, overlap=overlap),
        readout=readout_config,
    )
    prediction = PredictionConfig.model_validate({"precision": {"device": "cpu", "dtype": "fp32"}})
    return Pipeline(LongDocModel(encoder, readout), settings, tokenizer(), prediction)


def found(pipeline: Pipeline, text: str) -> list[tuple[int, int, str]]:
    (result,) = pipeline.predict([text])
    assert result.ok
    assert (result.tokens_read, result.n_tokens) == (len(text.split()),) * 2
    return [(span.start, span.end, span.label) for span in result.spans]


words = st.lists(st.sampled_from([*WORDS, "out", "out"]), min_size=1, max_size=80)


@settings(max_examples=25, deadline=None)
@given(words=words, size=st.integers(4, 24), share=st.floats(0, 1), gap=st.sampled_from([" ", "  ", "\n"]))
@pytest.mark.parametrize("given_tags", [True, False])
def test_spans_are_those_of_one_unlimited_window(
    words: list[str], size: int, share: float, gap: str, given_tags: bool
) -> None:
    text = gap.join(words)
    whole = found(toy(128, 0, given_tags), text)  # wide enough for all of it
    assert found(toy(size, int(share * (size - 3)), given_tags), text) == whole


def spans_of(words: str, size: int, overlap: int) -> list[tuple[str, str]]:
    return [(words[start:end], label) for start, end, label in found(toy(size, overlap), words)]


@pytest.mark.parametrize(("size", "overlap"), [(5, 0), (5, 2), (6, 1), (8, 3), (16, 8)])
def test_long_spans_and_spans_at_the_edges_stay_whole(size: int, overlap: int) -> None:
    long = "bx " + "ix " * 40
    text = f"by iy {long}out bx bx ix out by"
    assert spans_of(text, size, overlap) == [
        ("by iy", "Y"), (long.strip(), "X"), ("bx", "X"), ("bx ix", "X"), ("by", "Y"),
    ]  # fmt: skip


def test_a_begin_begins_and_an_orphan_begins_too_whatever_the_window() -> None:
    """Words 'aa bb cc dd ee ff' tagged B-X I-X B-X O I-Y I-Y, with the edge of a window before each word in turn."""
    text = "bx ix bx out iy iy"
    for size in (3, 4, 5, 6, 8):
        for overlap in range(size - 2):
            assert found(toy(size, overlap), text) == [(0, 5, "X"), (6, 8, "X"), (13, 18, "Y")]


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_nothing_late_in_a_long_text_is_lost(place: str) -> None:
    before = {"first": 0, "middle": 750, "last": 1500}[place]
    text = "out " * before + "bx" + " out" * (1500 - before)
    assert found(toy(512, 128), text) == [(4 * before, 4 * before + 2, "X")]


def test_a_document_is_the_same_alone_and_in_company_to_the_last_bit() -> None:
    pipeline = toy(8, 3)
    texts = [
        " ".join(list(WORDS)[(n * 3 + i * i) % 5] for i in range(length)) for n, length in enumerate([1, 7, 40, 90])
    ]
    alone = [pipeline.predict([Document(f"d{n}", text)])[0].spans for n, text in enumerate(texts)]
    together = [result.spans for result in pipeline.predict([Document(f"d{n}", t) for n, t in enumerate(texts)])]
    assert together == alone


@pytest.mark.parametrize("keep", ["head", "tail", "head_tail"])
def test_parts_that_are_not_read_end_spans(keep: str) -> None:
    pipeline = toy(8, 2)
    settings = pipeline.settings.model_copy(
        update={"chunking": pipeline.settings.chunking.model_copy(update={"keep": keep})}
    )
    text = "bx " + "ix " * 29
    (result,) = Pipeline(pipeline.model, settings, pipeline.tokenizer, pipeline.prediction).predict([text.strip()])
    expected = {"head": [Span(0, 17)], "tail": [Span(72, 89)], "head_tail": [Span(0, 17), Span(72, 89)]}
    assert [Span(s.start, s.end) for s in result.spans] == expected[keep]
    assert result.tokens_read == 6 * len(expected[keep])
