"""Question answering as a task: what is answered, shown, learned, measured, fitted and refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from answer_kit import tokenizer, toy
from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, DataError, UsageError
from longdoc.model import LongDocModel
from longdoc.nn import EncoderConfig
from longdoc.nn.readout import AnswersReadoutConfig, VectorsReadoutConfig
from longdoc.pipeline import Pipeline
from longdoc.tasks import task_named
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.text.batching import collate
from longdoc.training.row_cache import backward_through_documents
from longdoc.types import Document, DocumentFailure, DocumentPrediction, Span
from nn_kit import randomised
from reference.answers import chances, owners
from tokenizer_kit import wrapped

TASK = task_named("question_answering")
TEXT = "out b1 e1 out out out out out out out b2 out e2 out"


def asked(text: str = TEXT, *answers: tuple[int, int], id: str = "d", question: str | None = "who") -> Document:
    return Document(id, text, question=question, answers=tuple(Span(*answer) for answer in answers))


def predicted(pipeline: Pipeline, *documents: Document) -> list[DocumentPrediction]:
    return [result for result in pipeline.predict(documents) if isinstance(result, DocumentPrediction)]


# -- answers


def test_a_prediction_says_question_answer_places_and_chunk() -> None:
    (result,) = predicted(toy(12, 3), asked())
    assert (result.question, result.answer, result.n_chunks) == ("who", "b2 out e2", 3)
    assert (result.spans[0].start, result.spans[0].end, result.spans[0].label) == (38, 47, "answer")
    assert result.answers[0][:5] == (38, 47, "b2 out e2", result.score, 2)
    row = result.to_dict()
    assert list(row)[-3:] == ["question", "answer", "answers"]
    assert row["answers"][0] == {
        "start": 38, "end": 47, "text": "b2 out e2", "score": result.score, "chunk": 2,
    }  # fmt: skip
    assert "b2" not in repr(result)
    assert "b2" not in repr(result.answers[0])


def test_calls_take_and_give_what_the_pipeline_of_transformers_did() -> None:
    pipe = toy(12, 3)
    best = {"score": pytest.approx(0.9, abs=0.1), "start": 38, "end": 47, "answer": "b2 out e2"}
    for given in (
        pipe(question="who", context=TEXT),
        pipe({"question": "who", "context": TEXT}),
        pipe(asked()),
        pipe([{"question": "who", "context": TEXT}])[0],
        pipe(question=["who"], context=[TEXT])[0],
        pipe(question=["who", "out"], context=TEXT)[1],
    ):
        assert given == best
        assert type(given["score"]) is float
    three = pipe(question="who", context=TEXT, top_k=3)
    assert [item["answer"] for item in three] == ["b2 out e2", "b1 e1", "out b2 out e2"]
    assert len(pipe(question="who", context=TEXT, top_k=None)) == 20
    nothing = {"score": pytest.approx(0.05, abs=0.04), "start": 0, "end": 0, "answer": ""}
    assert pipe(question="who", context="out " * 30) == nothing
    pair = pipe(question=["who", "who"], context=["out " * 30, TEXT], top_k=2)
    assert [item[0]["answer"] for item in pair] == ["", "b2 out e2"]
    unsure = toy(12, 3, decisions=Decisions(min_score=0.999))(question="who", context=TEXT)
    assert unsure == {"score": unsure["score"], "start": 0, "end": 0, "answer": "", "abstained": True}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": "who"}, "a question must come with its text, but does not."),
        ({"texts": asked(), "question": "who", "context": "x"}, "a question must come with its text, but does not."),
        ({}, "a question must come with its text, but does not."),
        ({"texts": "a text"}, "a text must come with its question, but is alone."),
        ({"texts": ["a text"]}, "a question must be a Document or .* but item 0 is not."),
        ({"texts": [{"question": "who", "context": 3}]}, "a question must be a Document or .* but item 0 is not."),
        (
            {"question": ["a", "b"], "context": ["x"]},
            "`question` and `context` must be equally many, or one text for all questions, but are 2 and 1 instead.",
        ),
    ],
)
def test_calls_that_cannot_be_meant_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        toy(12, 3)(**arguments)


def test_other_tasks_take_no_question() -> None:
    with pytest.raises(UsageError, match="but this one's task is single_label"):
        task_named("single_label").asked(None, "who", "text")


def test_a_document_without_its_question_is_a_failure_in_its_place() -> None:
    results = toy(12, 3).predict([asked(), Document("x", TEXT), "a text"])
    assert [result.ok for result in results] == [True, False, False]
    assert isinstance(results[1], DocumentFailure)
    assert results[1].reason == "empty"


# -- learning


def slow_loss(pipeline: Pipeline, document: Document) -> float:
    """Minus the logarithm of the probability of the right places together, or of nowhere, in loops."""
    (item,) = pipeline.stream_rows([document])
    chunks = [tuple(span) for span, _ in item.prepared.tokens.chunks]
    scores = pipeline.model.documents(item.rows, torch.zeros(len(chunks), dtype=torch.int64), item.weights, 1)
    parts, at = [], 0
    for start, end in chunks:
        parts.append([tuple(row) for row in scores[at : at + 1 + end - start].tolist()])
        at += 1 + end - start
    tokens = len(item.prepared.tokens)
    reader = pipeline.model.readout
    owner = owners(chunks, [True] * tokens, [True] * tokens, reader.longest)
    places, none = chances(parts, chunks, owner, reader.no_answer)
    if not document.answers:
        return -math.log(none)
    offsets = item.prepared.tokens.offsets.tolist()
    right = set()
    for start, end in document.answers:
        inside = [n for n, (a, b) in enumerate(offsets) if a >= start and b <= end]
        right.add((inside[0], inside[-1]))
    return -math.log(sum(places[place] for place in right))


def random_head(pipeline: Pipeline) -> Pipeline:
    pipeline.model.readout.head = randomised(AnswersReadoutConfig().build(11, 2).head.eval(), 3, 0.3)
    return pipeline


@pytest.mark.parametrize("no_answer", [True, False])
def test_the_loss_is_that_of_the_probability_that_is_reported(no_answer: bool) -> None:
    pipeline = random_head(toy(12, 3, no_answer=no_answer))
    documents = [asked(TEXT, (4, 9)), asked(TEXT, (38, 47), (38, 40), (4, 6)), asked("b1", (0, 2))]
    documents += [asked(TEXT)] if no_answer else []
    for document in documents:
        (result,) = pipeline.stream_measured([document])
        assert isinstance(result, DocumentPrediction)
        assert result.loss == pytest.approx(slow_loss(pipeline, document), rel=1e-5)


def test_what_cannot_be_said_to_the_model_is_counted_and_teaches_nothing() -> None:
    pipeline = toy(12, 3, no_answer=False)
    readout = pipeline.model.readout
    documents = [asked(TEXT, (4, 21)), asked(TEXT, (5, 9)), asked(TEXT)]
    counts, losses = [], []
    for document in documents:
        (prepared,) = pipeline.prepare([document])
        counts.append(list(TASK.misfits(document, (), prepared.tokens, readout).values()))
        (result,) = pipeline.stream_measured([document])
        losses.append(result.loss)
    assert counts == [[0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert losses[0] == losses[2] == 0.0
    assert losses[1] > 0
    cut = toy(9, 1, max_answer_tokens=4)  # five words a chunk, one shared: words 3 to 6 are in no chunk as a whole
    (prepared,) = cut.prepare([document := asked(TEXT, (10, 25))])
    assert list(TASK.misfits(document, (), prepared.tokens, cut.model.readout).values()) == [0, 0, 0, 1, 0]


def test_gradients_through_the_row_cache_are_those_of_the_whole_graph_with_dropout() -> None:
    pipeline = toy(12, 3)
    encoder = randomised(type(pipeline.model.encoder)(pipeline.model.encoder.config.model_copy(
        update={"dropout": 0.1, "attention_dropout": 0.1})), 5, 0.3)  # fmt: skip
    readout = randomised(AnswersReadoutConfig().build(11, 2), 6, 0.3)
    readout.fit_chunks(pipeline.chunker.body)
    model = LongDocModel(encoder, readout).double().train()
    documents = [asked(TEXT, (38, 47), id="a"), asked("out b1 e1 out " * 6, id="b", question="who who")]
    prepared = pipeline.prepare(documents)
    targets = [TASK.target(d, (), p.tokens, readout) for d, p in zip(documents, prepared, strict=True)]
    pairs = [(n, chunk) for n, item in enumerate(prepared) for chunk in item.chunks]
    pairs.sort(key=lambda pair: len(pair[1]))  # as in training: no longer in the order of the text
    batches = [
        collate([c for _, c in group], [n for n, _ in group], 2, 0)
        for group in (pairs[:2], pairs[2:5], pairs[5:])
    ]  # fmt: skip

    def loss(scores: torch.Tensor) -> torch.Tensor:
        return TASK.loss(readout)(scores, targets).mean()

    owner, weights = (torch.cat([getattr(batch, name) for batch in batches]) for name in ("owner", "weights"))
    torch.manual_seed(5)
    rows = torch.cat([model.chunk_rows(batch) for batch in batches])
    expected = loss(model.documents(rows, owner, weights, 2))
    expected.backward()
    wanted = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    assert wanted["encoder.token_type.weight"].abs().min(1).values.max() > 0, "both types learn"
    model.zero_grad()
    torch.manual_seed(5)
    value = backward_through_documents(model, batches, 2, loss, pipeline.placement, torch.Tensor.backward)
    assert value.item() == pytest.approx(expected.item(), abs=1e-12)
    for name, parameter in model.named_parameters():
        if name in wanted:
            assert torch.allclose(parameter.grad, wanted[name], atol=1e-12), name


# -- measuring and deciding


def test_metrics_compare_what_is_answered() -> None:
    pipeline = toy(12, 3)
    documents = [asked(TEXT, (38, 47), id="a"), asked("out " * 20, id="b"), asked("out " * 20, (0, 3), id="c"),
                 asked(TEXT, (38, 40), id="d"), asked(question=None, id="e")]  # fmt: skip
    results = pipeline.predict(documents)
    found = TASK.metrics(documents, results, (), Decisions(documents=3), pipeline.model.readout, 50)
    assert {name: found[name] for name in ("documents", "unanswered", "with_answer", "answers_given")} == {
        "documents": 5, "unanswered": 1, "with_answer": 3, "answers_given": 2,
    }  # fmt: skip
    assert found["f1"] == pytest.approx((1 + 1 + 0 + 0.5 + 0) / 5)
    assert found["no_answer_accuracy"] == 0.5
    assert set(TASK.table) <= found.keys()
    assert set(TASK.metric_names) - {"loss"} <= found.keys()
    assert found["decisions"] == {"no_answer_margin": 0.0, "min_score": 0.0, "fitted_on_documents": 3}


def test_the_margin_is_fitted_on_f1_and_changes_the_answers() -> None:
    pipeline = toy(12, 3)
    documents = [asked("out " * 20, (0, 3), id="a"), asked("out out", (4, 7), id="b"), asked(TEXT, (38, 47), id="c")]
    results = predicted(pipeline, *documents)
    decisions = TASK.fit(documents, results, (), DecisionConfig(), pipeline.model.readout)
    assert (decisions.no_answer_margin, decisions.documents) == (2.0, 3)
    pipeline.decide_by(decisions)
    assert [result.answer for result in predicted(pipeline, *documents)] == ["out", "out", "b2 out e2"]
    fixed = TASK.fit(documents, results, (), DecisionConfig(no_answer_margin=-1.5, min_score=0.25))
    assert (fixed.no_answer_margin, fixed.min_score) == (-1.5, 0.25)
    always = toy(12, 3, no_answer=False)
    assert TASK.fit(documents, predicted(always, *documents), (), DecisionConfig()).no_answer_margin == 0.0


def test_whether_there_may_be_no_answer_is_settled_by_the_data() -> None:
    config = AnswersReadoutConfig()
    assert TASK.settle(config, [asked(TEXT, (0, 3))]).no_answer is False
    assert TASK.settle(config, [asked(TEXT, (0, 3)), asked()]).no_answer is True
    decided = AnswersReadoutConfig(no_answer=True)
    assert TASK.settle(decided, [asked(TEXT, (0, 3))]) is decided


# -- refusals


def test_documents_without_a_question_are_refused_with_their_numbers() -> None:
    with pytest.raises(DataError, match=(
        r"^question answering needs a question in every training document, but 1 of 2 have none \(number 2\)\. Map it "
        r"with `read\.fields\.question`\.$"
    )):  # fmt: skip
        TASK.check_gold([asked(), asked(question=" ")], None, "training")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"coverage": 0.9}, "`training.decisions.coverage` must be null for the task question_answering"),
        ({"min_score": "f1"}, "`training.decisions.min_score` must be a number for the task question_answering"),
    ],
)
def test_decisions_that_have_no_meaning_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}"):
        TASK.check_decisions(DecisionConfig(**settings), 100)


def test_labels_weights_readouts_and_tokenizers_that_do_not_suit_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^`model\.labels` must be null for the task question_answering"):
        TASK.check_labels(("a", "b"))
    with pytest.raises(ConfigurationError, match=r"^`training\.class_weights` must be none"):
        TASK.loss(toy(12, 3).model.readout, class_weights="balanced")
    with pytest.raises(ValueError, match="must be of the kind answers for the task question_answering, but is vectors"):
        TASK.check_readout(VectorsReadoutConfig())
    with pytest.raises(UsageError, match=r"^`classes` must be 2 for answers"):
        AnswersReadoutConfig().build(8, 3)
    with pytest.raises(ConfigurationError, match=r"^the tokenizer must put a special token before a pair of texts"):
        TASK.check_tokenizer(wrapped("word_level"), EncoderConfig())
    types = tokenizer().pair._replace(second_type=2)

    class Other:
        pair = types

    with pytest.raises(ConfigurationError, match=r"must number the types of tokens below 2, .* but goes up to 2"):
        TASK.check_tokenizer(Other(), EncoderConfig(token_types=2))  # type: ignore[arg-type]
    TASK.check_tokenizer(Other(), EncoderConfig(token_types=0))  # type: ignore[arg-type]


def test_a_text_whose_words_are_all_too_long_has_no_place_for_an_answer() -> None:
    pipeline = toy(12, 3, no_answer=False, max_answer_tokens=1)
    tokens = pipeline.prepare([asked("out")])[0].tokens
    scores = np.zeros((2, 2), dtype=np.float32)
    said = TASK.answer(scores, (), Decisions(), tokens, pipeline.model.readout)
    assert (said["answer"], said["score"]) == ("out", 1.0)
    blank = type(tokens)(" ", np.array([[0, 1]], dtype=np.int32), tokens.numbers, tokens.chunks, "who")
    said = TASK.answer(scores, (), Decisions(), blank, pipeline.model.readout)
    assert (said["answers"], said["score"], "answer" in said) == ((), None, False)
