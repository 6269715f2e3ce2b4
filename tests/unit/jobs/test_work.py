"""`run_part`: one result a document, in order, whatever the predictor does."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from job_kit import RAISES, EchoPredictor, echo, write_corpus, write_documents
from longdoc.errors import DocumentError, JobError, PlanMismatchError
from longdoc.jobs.parts import read_part
from longdoc.jobs.plan import JobConfig, plan_job
from longdoc.jobs.work import part_documents, run_part
from longdoc.readers.base import ReadConfig
from longdoc.types import Document, DocumentFailure
from pdf_kit import pdf


class Predictor:
    """A predictor made of a function from an iterator of documents to an iterator of results."""

    fingerprint = "p"

    def __init__(self, function):
        self.stream = function


def planned(tmp_path, texts, size=100):
    write_documents(tmp_path / "in.jsonl", texts)
    return plan_job([tmp_path / "in.jsonl"], ReadConfig(), JobConfig(documents_per_part=size), "p", tmp_path / "out")


def rows(tmp_path, name="part-00000.parquet"):
    return read_part(tmp_path / "out" / name).to_pylist()


def test_rows_are_the_results_and_every_document_is_announced(tmp_path):
    ids = write_corpus(tmp_path / "in.jsonl", 30)
    plan = plan_job([tmp_path / "in.jsonl"], ReadConfig(), JobConfig(), "p", tmp_path / "out")
    announced = []
    outcome = run_part(EchoPredictor(), plan, plan.parts[0], tmp_path / "out", announced.append)
    assert [row["id"] for row in rows(tmp_path)] == ids
    for row, document in zip(rows(tmp_path), part_documents(plan, plan.parts[0]), strict=True):
        expected = document if isinstance(document, DocumentFailure) else echo(document)
        assert {key: row[key] for key in ("status", "reason", "score", "n_tokens", "n_chunks")} == {
            key: expected.to_dict()[key] for key in ("status", "reason", "score", "n_tokens", "n_chunks")
        }
    assert announced == [row["status"] == "failed" for row in rows(tmp_path)]
    assert outcome.failed == sum(announced)


@pytest.mark.parametrize("raises", [False, True])
def test_documents_with_pages_without_text_are_counted_once(tmp_path, raises):
    pytest.importorskip("pypdfium2")
    for name, pages in (("a", ["one", "", ""]), ("b", ["one", "two"]), ("c", ["", "two"]), ("d", ["", ""])):
        (tmp_path / f"{name}.pdf").write_bytes(pdf(pages))
    plan = plan_job([str(tmp_path / "*.pdf")], ReadConfig(), JobConfig(), "p", tmp_path / "out")

    def answers(documents):
        for number, document in enumerate(documents):
            if raises and number == 2:
                raise ValueError
            yield document if isinstance(document, DocumentFailure) else echo(document)

    outcome = run_part(Predictor(answers), plan, plan.parts[0], tmp_path / "out")
    assert (outcome.documents, outcome.partly_textless) == (4, 2)
    assert dataclasses.replace(outcome, partly_textless=0) == outcome  # a part that is found done does not say


@pytest.mark.parametrize(
    ("error", "reason", "stage"),
    [
        (ValueError("quotes the text"), "unreadable", "predict"),
        (MemoryError(), "memory_limit", "predict"),
        (TimeoutError(), "timeout", "predict"),
        (DocumentError("zip_bomb", "too large inside", stage="read"), "zip_bomb", "read"),
        (RecursionError(), "unreadable", "predict"),
        (StopIteration(), "unreadable", "predict"),
    ],
)
def test_the_document_that_makes_the_predictor_raise_fails_alone(tmp_path, error, reason, stage):
    plan = planned(tmp_path, ["one", "bad", "three"])

    def stream(documents):
        for document in documents:
            if document.text == "bad":
                raise error
            yield echo(document)

    run_part(Predictor(stream), plan, plan.parts[0], tmp_path / "out")
    found = [(row["status"], row["reason"], row["stage"], row["error"], row["detail"]) for row in rows(tmp_path)]
    # Python turns a StopIteration inside a generator into a RuntimeError.
    name = "RuntimeError" if isinstance(error, StopIteration) else type(error).__name__
    assert found == [
        ("ok", None, None, None, None),
        ("failed", reason, stage, name, None),
        ("ok", None, None, None, None),
    ]


@given(st.lists(st.sampled_from(["fine", RAISES, "raises late"]), min_size=1, max_size=8), st.integers(1, 4))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_exception_of_any_kind_loses_a_neighbour(tmp_path_factory, kinds, ahead):
    """The predictor reads `ahead` documents before it answers, and raises while reading, answering or at the end."""
    tmp_path = tmp_path_factory.mktemp("part")
    plan = planned(tmp_path, [f"{kind} {number}" for number, kind in enumerate(kinds)])

    def stream(documents):
        waiting = []
        for document in documents:
            waiting.append(document)
            if document.text.startswith(RAISES):
                raise KeyError(document.text)
            while len(waiting) >= ahead:
                yield answer(waiting.pop(0))
        while waiting:
            yield answer(waiting.pop(0))

    def answer(document):
        if document.text.startswith("raises late"):
            raise OSError(document.text)
        return echo(document)

    run_part(Predictor(stream), plan, plan.parts[0], tmp_path / "out")
    found = [(row["id"], row["status"], row["error"]) for row in rows(tmp_path)]
    classes = {"fine": None, RAISES: "KeyError", "raises late": "OSError"}
    assert found == [
        (str(number), "ok" if kind == "fine" else "failed", classes[kind]) for number, kind in enumerate(kinds)
    ]


MISBEHAVIOURS = {
    "fewer": lambda results: results[:-1],
    "none": lambda results: [],
    "more": lambda results: [*results, results[-1]],
    "twice": lambda results: [results[0], results[0], *results[2:]],
    "swapped": lambda results: [results[1], results[0], *results[2:]],
}


@pytest.mark.parametrize("kind", MISBEHAVIOURS)
def test_a_predictor_that_does_not_answer_each_document_in_order_is_an_error(tmp_path, kind):
    plan = planned(tmp_path, ["one", "two", "three"])

    def stream(documents):
        yield from MISBEHAVIOURS[kind]([echo(document) for document in documents])

    with pytest.raises(JobError, match="result"):
        run_part(Predictor(stream), plan, plan.parts[0], tmp_path / "out")
    assert not (tmp_path / "out/part-00000.parquet").exists()


def test_a_predictor_that_stops_asking_is_an_error(tmp_path):
    plan = planned(tmp_path, ["one", "two", "three"])

    def stream(documents):
        yield echo(next(documents))

    with pytest.raises(JobError) as caught:
        run_part(Predictor(stream), plan, plan.parts[0], tmp_path / "out")
    assert str(caught.value) == "part-00000.parquet must have 3 results, but the predictor gave 1."


def test_a_predictor_that_gives_nothing_for_a_document_alone_is_an_error(tmp_path):
    plan = planned(tmp_path, ["one", "two"])
    calls = []

    def stream(documents):
        calls.append(None)
        if len(calls) == 1:
            raise ValueError
        return iter(())

    with pytest.raises(JobError) as caught:
        run_part(Predictor(stream), plan, plan.parts[0], tmp_path / "out")
    assert str(caught.value) == (
        "the predictor must give one result for one document, its own, but does not. Nothing was written."
    )


def test_inputs_that_change_under_the_job_are_found_and_named(tmp_path):
    plan = planned(tmp_path, ["one", "two", "three"])
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    with pytest.raises(PlanMismatchError) as caught:
        run_part(EchoPredictor(), plan, plan.parts[0], tmp_path / "out")
    assert str(caught.value) == (
        "the documents of part-00000.parquet, from in.jsonl on, are not those of the plan any more: the inputs have "
        "changed while the job ran. Start again in another folder."
    )


def test_an_input_that_vanishes_is_the_inputs_fault_and_no_failed_documents(tmp_path):
    plan = planned(tmp_path, ["one", "two"])
    (tmp_path / "in.jsonl").unlink()
    with pytest.raises(PlanMismatchError):
        run_part(EchoPredictor(), plan, plan.parts[0], tmp_path / "out")
    assert not (tmp_path / "out/part-00000.parquet").exists()


def test_an_interruption_is_not_taken_for_a_fault_of_a_document(tmp_path):
    plan = planned(tmp_path, ["one", "two"])

    def stream(documents):
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        run_part(Predictor(stream), plan, plan.parts[0], tmp_path / "out")


def test_a_later_part_reads_its_own_documents(tmp_path):
    plan = planned(tmp_path, [f"text {number}" for number in range(7)], size=3)
    run_part(EchoPredictor(), plan, plan.parts[2], tmp_path / "out")
    assert [row["id"] for row in rows(tmp_path, "part-00002.parquet")] == ["6"]
    assert [document.text for document in part_documents(plan, plan.parts[1]) if isinstance(document, Document)] == [
        "text 3",
        "text 4",
        "text 5",
    ]
