"""`longdoc predict` from its arguments to its closing line: what a person sees of a job."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from answer_kit import toy
from longdoc.cli import app
from longdoc.decide import ConformalSets, Decisions
from longdoc.jobs.parts import read_part
from longdoc.pipeline import Pipeline
from pdf_kit import pdf
from reader_kit import write


@pytest.fixture(scope="module")
def model(tiny_pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command") / "model"
    tiny_pipeline.save(folder)
    return folder


def saved(pipeline: Pipeline, folder: Path) -> Path:
    pipeline.save(folder)
    return folder


def predict(model: Path, source: Path, output: Path, *more: str) -> Result:
    place = ["--set", "prediction.precision.device=cpu", "--set", "prediction.precision.dtype=fp32"]
    arguments = ["predict", "--model", str(model), "--input", str(source), "--output", str(output), *place, *more]
    return CliRunner().invoke(app, arguments)


def rows_of(output: Path) -> list[dict[str, object]]:
    return [row for part in sorted(output.glob("part-*")) for row in read_part(part).to_pylist()]


def test_a_label_that_is_wrong_never_stops_a_prediction(model: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", 'id,text,label,labels,target,spans\n1,fever,,x,left knee,"[[0, 1, ""x""]]"\n')
    finished = predict(model, source, tmp_path / "out")
    assert (finished.exit_code, finished.stdout) == (
        0,
        f"1 document, 0 failed; 1 part written, 0 found done; results in {tmp_path / 'out'}\n",
    )
    assert [(row["id"], row["status"]) for row in rows_of(tmp_path / "out")] == [("1", "ok")]


def test_the_closing_line_tells_of_pages_without_text(model: Path, tmp_path: Path) -> None:
    """B085: a document of which one page is a scan is answered, but not in silence."""
    pytest.importorskip("pypdfium2")
    write(tmp_path / "in" / "a.pdf", pdf(["one page of text", ""]))
    write(tmp_path / "in" / "b.pdf", pdf(["another page"]))
    told = "pages without text, which were not read; 1 part written, "
    out = tmp_path / "out"
    more = ("--set", "job.documents_per_part=1")
    finished = predict(model, tmp_path / "in", out)
    assert finished.stdout == f"2 documents, 0 failed; 1 has {told}0 found done; results in {out}\n"
    again = predict(model, tmp_path / "in", out)
    assert again.stdout == f"2 documents, 0 failed; already complete, nothing written; results in {out}\n"
    predict(model, tmp_path / "in", tmp_path / "two", *more)
    for name in ("part-00000.parquet", "_manifest.json"):
        (tmp_path / "two" / name).unlink()
    finished = predict(model, tmp_path / "in", tmp_path / "two", *more)
    assert f"2 documents, 0 failed; 1 of those answered now has {told}1 found done; " in finished.stdout


def test_the_closing_line_says_why_documents_failed_and_who_they_are_the_rows(model: Path, tmp_path: Path) -> None:
    lines = [
        {"id": "P1", "text": None},
        {"id": "P2", "text": " "},
        {"id": "P3", "body": "x"},
        {"id": "P4", "text": "a"},
    ]
    source = write(tmp_path / "in.jsonl", "".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    finished = predict(model, source, tmp_path / "out")
    assert (finished.exit_code, finished.stdout) == (
        3,
        "5 documents, 4 failed (empty: 1, unreadable: 3); 1 part written, 0 found done; "
        f"results in {tmp_path / 'out'}. Status 3: more failed than `--max-failures` allows (0); all others are "
        f"answered, and `longdoc export {tmp_path / 'out'} FILE.csv` shows which failed and why\n",
    )
    rows = rows_of(tmp_path / "out")
    assert [row["id"] for row in rows] == ["P1", "P2", "P3", "P4", "in.jsonl:5"]
    assert [row["reason"] for row in rows] == ["unreadable", "empty", "unreadable", None, "unreadable"]
    assert rows[2]["detail"] == "in.jsonl:3: The record has no field `text`. Name the right one in `read.fields.text`."


def test_the_closing_line_says_that_texts_have_no_question(tmp_path: Path) -> None:
    """It said that they were empty, and they were not."""
    source = write(tmp_path / "in.jsonl", json.dumps({"id": "1", "text": "b1 e1"}) + "\n")
    finished = predict(saved(toy(16, 4), tmp_path / "model"), source, tmp_path / "out")
    assert finished.exit_code == 3
    why = "(empty, or no question in `read.fields.question`: 1)"
    assert finished.stdout.startswith(f"1 document, 1 failed {why}; 1 part written"), finished.stdout
    forecast = predict(tmp_path / "model", source, tmp_path / "other", "--dry-run")
    assert f"\nfailed in the sample: 1 {why}\n" in forecast.stdout


def test_the_closing_line_counts_where_the_model_abstains(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline = Pipeline.load(saved(tiny_pipeline, tmp_path / "model"))
    pipeline.decide_by(Decisions(conformal=ConformalSets(coverage=0.9, limits=(1.0,), documents=9)))
    pipeline.save(tmp_path / "model")
    lines = [{"id": str(number), "text": "court " * number or " "} for number in range(3)]
    source = write(tmp_path / "in.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    for parts in ("1 part written, 0 found done", "already complete, nothing written"):
        finished = predict(tmp_path / "model", source, tmp_path / "out", "--max-failures", "1")
        assert finished.stdout == (
            f"3 documents, 1 failed (empty: 1), 2 abstained; {parts}; results in {tmp_path / 'out'}\n"
        )


def test_a_text_that_the_tokenizer_does_not_know_is_told_from_one_that_is_damaged(model: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", json.dumps({"id": "1", "text": "\U00012000" * 40}) + "\n")
    finished = predict(model, source, tmp_path / "out")
    assert "1 document, 1 failed (unreadable: 1); " in finished.stdout
    (row,) = rows_of(tmp_path / "out")
    assert (row["reason"], row["stage"]) == ("unreadable", "tokenize")
    assert "`prediction.max_unknown_share` allows 90.0%" in str(row["detail"])


def test_a_source_that_ends_early_is_not_finished_by_allowing_failures(model: Path, tmp_path: Path) -> None:
    lines = "".join(f'{{"id": "{n}", "text": "{n * 7919 % 1000003}"}}\n' for n in range(40)).encode()
    source = write(tmp_path / "in.jsonl.gz", gzip.compress(lines)[:-20])
    for _ in range(2):
        finished = predict(model, source, tmp_path / "out", "--max-failures", "100")
        assert finished.exit_code == 3
        assert " 1 failed (unreadable: 1); " in finished.stdout
        assert finished.stdout.endswith(
            f"; results in {tmp_path / 'out'}. Not complete: in.jsonl.gz could not be read to the end, so documents "
            "are missing. Replace or leave out what is damaged, and run the job again in another folder\n"
        )
    verified = CliRunner().invoke(app, ["verify", str(tmp_path / "out")])
    assert verified.exit_code != 0


NASTY = "a\nb\rc\x1b[2Kd"
SAID = "a\\nb\\rc\\x1b[2Kd"


def test_a_name_from_outside_cannot_steer_the_terminal(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder / f"{NASTY}.jsonl.gz", gzip.compress(b"".join(b'{"text": "%d"}\n' % n for n in range(9999)))[:-20])
    cut = predict(model, folder, tmp_path / "out", "--max-failures", "100")
    assert f"Not complete: {SAID}.jsonl.gz could not be read" in cut.stdout
    verified = CliRunner().invoke(app, ["verify", str(tmp_path / "out")])
    assert f"not complete: {SAID}.jsonl.gz could not be read" in verified.stderr
    again = write(tmp_path / "twice" / f"{NASTY}.jsonl", b'{"id": "x", "text": "1"}\n' * 2)
    twice = predict(model, again, tmp_path / "out2")
    dry = predict(model, again.parent, tmp_path / "out2", "--dry-run")
    assert f"the documents at {SAID}.jsonl:1 and {SAID}.jsonl:2 have the same id" in twice.stderr
    assert f"the documents at {SAID}.jsonl:1 and {SAID}.jsonl:2 have the same id" in dry.stdout
    table = predict(model, write(tmp_path / "table" / f"{NASTY}.csv", b"a,b\n1,2\n"), tmp_path / "out3")
    assert table.stderr.startswith(f"longdoc: {SAID}.csv has no column `text`.")
    missing = predict(model, tmp_path / "in" / f"{NASTY}.txt", tmp_path / "out4")
    assert f"{SAID}.txt` cannot be read. " in missing.stderr
    lengths = CliRunner().invoke(app, ["inspect", "lengths", "--model", str(model), "--input", str(folder)])
    assert f"unreadable, {SAID}.jsonl.gz:" in lengths.stderr
    for result in (cut, verified, twice, dry, table, missing, lengths):
        assert not set("\r\x1b") & set(result.output)


def test_a_finished_job_is_left_alone_and_its_configuration_is_beside_it(model: Path, tmp_path: Path) -> None:
    source, output = write(tmp_path / "in.txt", "a letter"), tmp_path / "out"
    assert predict(model, source, output, "--workers", "1").exit_code == 0
    resolved = yaml.safe_load((output / ".work" / "config.resolved.yaml").read_text())
    assert (resolved["job"]["workers"], resolved["prediction"]["precision"]["device"]) == (1, "cpu")
    before = {path: path.stat().st_mtime_ns for path in [output, *output.rglob("*")]}
    again = predict(model, source, output, "--workers", "2", "--max-failures", "7")
    assert (again.exit_code, again.stdout) == (
        0,
        f"1 document, 0 failed; already complete, nothing written; results in {output}\n",
    )
    assert {path: path.stat().st_mtime_ns for path in [output, *output.rglob("*")]} == before


@pytest.mark.parametrize(("place", "message"), [
    ("file/out", "`output` must be a folder, but {0}/file is a file. Name another folder."),
    ("x" * 256, "names in `output` must have at most 230 bytes, but one has 256 instead."),
])  # fmt: skip
def test_an_output_that_cannot_be_is_refused_before_the_model_is_opened(
    tmp_path: Path, place: str, message: str
) -> None:
    write(tmp_path / "file", "")
    finished = predict(tmp_path / "no model", write(tmp_path / "in.txt", "x"), tmp_path / place)
    assert (finished.exit_code, finished.stderr) == (2, f"longdoc: {message.format(tmp_path)}\n")


@pytest.mark.parametrize("command", ["predict", "predict --dry-run", "embed", "embed --dry-run", "explain"])
@pytest.mark.parametrize("content", ["", "id,text\n"], ids=["no-bytes", "header-only"])
def test_a_corpus_without_documents_is_refused(model: Path, tmp_path: Path, command: str, content: str) -> None:
    source = write(tmp_path / "in.csv", content)
    arguments = [*command.split(), "--model", str(model), "--input", str(source), "--output", str(tmp_path / "out")]
    refused = CliRunner().invoke(app, arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        "longdoc: `--input` must hold at least 1 document, but holds none. Name other files, or look whether these are "
        "empty: a table needs a row below its header.\n"
    )
    assert not (tmp_path / "out").exists()


LETTER = "the tenant shall pay the rent on the first day of each month and keep the rooms in good order " * 3
"""A few chunks of 32 tokens."""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_closing_line_says_how_many_chunks_were_not_encoded_again(
    model: Path, tmp_path: Path, workers: str
) -> None:
    texts = [LETTER, "Another word before. " + LETTER, LETTER, LETTER]
    source = write(tmp_path / "in.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts))
    finished = predict(model, source, tmp_path / "out", "--workers", workers)
    chunks = [row["n_chunks"] for row in rows_of(tmp_path / "out")]
    assert (finished.exit_code, finished.stdout) == (
        0,
        f"4 documents, 0 failed; 1 part written, 0 found done; {2 * chunks[0]} of {sum(chunks)} chunks stood somewhere "
        f"before, not encoded again; results in {tmp_path / 'out'}\n",
    )
    again = predict(model, source, tmp_path / "out")
    assert again.stdout == (
        f"4 documents, 0 failed; already complete, nothing written; results in {tmp_path / 'out'}\n"
    )
    every = predict(model, source, tmp_path / "every", "--set", "prediction.batching.reuse_repeats=false")
    assert "not encoded again" not in every.stdout
