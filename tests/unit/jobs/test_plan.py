"""The plan: which documents are in which part, and whether a folder belongs to this job."""

from __future__ import annotations

import json
import os

import pytest

from job_kit import write_corpus, write_documents
from longdoc.errors import DataError, DuplicateIdError, JobError, PlanMismatchError
from longdoc.jobs.identity import IdDigest
from longdoc.jobs.plan import JobConfig, JobPlan, plan_job
from longdoc.jobs.sources import read_records
from longdoc.readers.base import FieldMap, ReadConfig


def plan(inputs, output, size=4, read=None, fingerprint="model-1", **job):
    return plan_job(inputs, read or ReadConfig(), JobConfig(documents_per_part=size, **job), fingerprint, output)


def ids_of_part(made, part):
    records = read_records(made.inputs, made.read, part.source, part.cursor)
    return [next(records)[1].document.id for _ in range(part.documents)]


@pytest.mark.parametrize("size", [1, 3, 4, 7, 50])
def test_parts_hold_all_documents_once_in_order_across_sources(tmp_path, size):
    ids = write_corpus(tmp_path / "a.jsonl", 13) + write_corpus(tmp_path / "b.jsonl", 12, first=13)
    made = plan([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "out", size)
    assert [part.number for part in made.parts] == list(range(-(-25 // size)))
    found = [ids_of_part(made, part) for part in made.parts]
    assert [each for members in found for each in members] == ids
    assert all(len(part) == size for part in found[:-1])
    assert made.documents == 25
    for part, members in zip(made.parts, found, strict=True):
        digest = IdDigest()
        for each in members:
            digest.add(each)
        assert part.digest == digest.hexdigest()


def test_the_plan_is_the_same_bytes_wherever_and_whenever_it_is_made(tmp_path):
    for place in ("here", "there/deeper"):
        (tmp_path / place).mkdir(parents=True)
        write_corpus(tmp_path / place / "in.jsonl", 9)
        os.utime(tmp_path / place / "in.jsonl", (len(place), len(place)))
        plan([tmp_path / place / "in.jsonl"], tmp_path / place / "out")
    assert (tmp_path / "here/out/_plan.json").read_bytes() == (tmp_path / "there/deeper/out/_plan.json").read_bytes()
    assert str(tmp_path) not in (tmp_path / "here/out/_plan.json").read_text()


def test_a_plan_that_is_read_back_is_the_plan(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 9)
    made = plan([tmp_path / "in.jsonl"], tmp_path / "out")
    again = JobPlan.read_back(tmp_path / "out")
    assert (again.settings, again.sources, again.parts) == (made.settings, made.sources, made.parts)
    assert again.fingerprint == made.fingerprint
    resumed = plan([tmp_path / "in.jsonl"], tmp_path / "out")
    assert resumed == made


def test_a_resumed_job_does_not_write_the_plan_again(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 9)
    plan([tmp_path / "in.jsonl"], tmp_path / "out")
    before = (tmp_path / "out/_plan.json").stat()
    plan([tmp_path / "in.jsonl"], tmp_path / "out")
    after = (tmp_path / "out/_plan.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_one_changed_byte_is_found_though_size_and_time_are_equal(tmp_path):
    source = tmp_path / "in.jsonl"
    write_documents(source, ["secret one", "secret two"])
    plan([source], tmp_path / "out")
    times = source.stat()
    source.write_bytes(source.read_bytes().replace(b"two", b"twp"))
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert source.stat().st_size == times.st_size
    with pytest.raises(PlanMismatchError) as caught:
        plan([source], tmp_path / "out")
    assert str(caught.value) == (
        f"{tmp_path / 'out'} belongs to another job: the content of in.jsonl has changed since it was planned. Go back "
        "to what it was, or name another output folder."
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"size": 5}, "`job.documents_per_part` was 4 when it was planned, but is 5 now."),
        ({"evidence": True}, "`job.evidence` was False when it was planned, but is True now."),
        (
            {"fingerprint": "model-2"},
            "the model or how it predicts was 'model-1' when it was planned, but is 'model-2' now.",
        ),
        ({"read": ReadConfig(encoding="cp1252")}, "`read.encoding` was None when it was planned, but is 'cp1252' now."),
        (
            {"read": ReadConfig(fields=FieldMap(text="body"))},
            "`read.fields.text` was 'text' when it was planned, but is 'body' now.",
        ),
    ],
)  # fmt: skip
def test_a_changed_setting_is_named(tmp_path, change, sentence):
    write_documents(tmp_path / "in.jsonl", ["a", "b"])
    plan([tmp_path / "in.jsonl"], tmp_path / "out")
    with pytest.raises(PlanMismatchError) as caught:
        plan([tmp_path / "in.jsonl"], tmp_path / "out", **change)
    assert str(caught.value) == (
        f"{tmp_path / 'out'} belongs to another job: {sentence} Go back to what it was, or name another output folder."
    )


def test_a_changed_library_version_is_named(tmp_path, monkeypatch):
    write_documents(tmp_path / "in.jsonl", ["a"])
    plan([tmp_path / "in.jsonl"], tmp_path / "out")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0")
    with pytest.raises(PlanMismatchError, match=r"`version\.charset-normalizer` was '.*' when it was planned"):
        plan([tmp_path / "in.jsonl"], tmp_path / "out")


def test_settings_that_do_not_change_results_may_change(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["a"])
    plan([tmp_path / "in.jsonl"], tmp_path / "out")
    plan([tmp_path / "in.jsonl"], tmp_path / "out", workers=2, max_failures=7, max_attempts=1)


def test_inputs_that_came_or_went_are_named(tmp_path):
    for name in ("a", "b", "c"):
        write_corpus(tmp_path / f"{name}.jsonl", 3, first=10 * ord(name))
    a, b, c = (tmp_path / f"{name}.jsonl" for name in "abc")
    plan([a, b], tmp_path / "out")
    with pytest.raises(PlanMismatchError, match=r"its inputs had b\.jsonl where c\.jsonl is now"):
        plan([a, c], tmp_path / "out")
    with pytest.raises(PlanMismatchError, match="it was planned with 2 inputs, but there are 3 now"):
        plan([a, b, c], tmp_path / "out")
    with pytest.raises(PlanMismatchError, match="it was planned with 2 inputs, but there are 1 now"):
        plan([a], tmp_path / "out")


def test_two_documents_with_one_id_are_refused_with_both_places(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "1"}\n{"id": "same", "text": "2"}\n')
    (tmp_path / "b.jsonl").write_text(
        '{"id": "y", "text": "3"}\n\n{"id": "z", "text": "4"}\n{"id": "same", "text": "5"}\n'
    )
    with pytest.raises(DuplicateIdError) as caught:
        plan([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "out")
    assert str(caught.value) == (
        "ids must be unique in a job, but the documents at a.jsonl:2 and b.jsonl:4 have the same id. Rename one, or "
        "map `read.fields.id` to a field that is unique."
    )
    assert not (tmp_path / "out/_plan.json").exists()


def test_an_id_that_equals_the_place_of_a_broken_line_is_refused_too(tmp_path):
    (tmp_path / "a.jsonl").write_text('no JSON\n{"id": "a.jsonl:1", "text": "2"}\n')
    with pytest.raises(DuplicateIdError, match=r"at a\.jsonl:1 and a\.jsonl:2 have"):
        plan([tmp_path / "a.jsonl"], tmp_path / "out")


def test_files_of_one_name_in_two_inputs_are_told_apart(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "letter.txt").write_text("text")
    made = plan([tmp_path / "one", tmp_path / "two"], tmp_path / "out")
    assert ids_of_part(made, made.parts[0]) == ["one/letter.txt", "two/letter.txt"]


def test_a_file_that_two_inputs_name_is_refused(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["a"])
    with pytest.raises(DuplicateIdError) as caught:
        plan([tmp_path / "in.jsonl", tmp_path], tmp_path / "out")
    assert str(caught.value) == (
        "ids must be unique in a job, but the document at in.jsonl:1 is read twice. Name its file only once."
    )


def test_an_id_without_a_utf8_form_has_a_row_that_can_be_written(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"id": "a\\ud800", "text": "t"}\n{"id": "b", "text": "t"}\n')
    made = plan([tmp_path / "in.jsonl"], tmp_path / "out")
    assert ids_of_part(made, made.parts[0]) == ["a\ufffd", "b"]


def test_the_output_folder_may_lie_inside_the_input_folder(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["a", "b"])
    made = plan([tmp_path], tmp_path / "out")
    (tmp_path / "out" / "part-00000.jsonl").write_text("")
    assert plan([tmp_path], tmp_path / "out").sources == made.sources


def test_nothing_to_read_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(DataError):
        plan([tmp_path / "absent.jsonl"], tmp_path / "out")
    assert not (tmp_path / "out/_plan.json").exists()


def test_an_empty_file_is_a_job_without_parts(tmp_path):
    (tmp_path / "in.jsonl").write_text("")
    made = plan([tmp_path / "in.jsonl"], tmp_path / "out")
    assert (made.documents, made.parts) == (0, ())


def test_part_names_sort_in_the_order_of_the_parts(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["a"] * 3)
    made = plan([tmp_path / "in.jsonl"], tmp_path / "out", size=1)
    assert [made.part_name(part) for part in made.parts] == [f"part-0000{n}.parquet" for n in range(3)]
    many = JobPlan(made.settings, made.sources, made.parts * 33_334 + made.parts[:0])
    assert len(many.parts) == 100_002
    assert many.part_name(made.parts[1]) == "part-000001.parquet"


def test_the_parts_of_a_source_are_all_that_may_hold_its_records(tmp_path):
    for number, documents in enumerate([5, 1, 1, 6, 3]):
        write_corpus(tmp_path / f"{number}.jsonl", documents, first=100 * number)
    made = plan([tmp_path], tmp_path / "out", size=4)
    for source in range(5):
        holding = set()
        for part in made.parts:
            records = read_records(made.inputs, made.read, part.source, part.cursor)
            holding |= {part.number for _ in range(part.documents) if next(records)[0] == source}
        named = [part.number for part in made.parts_of(source)]
        assert set(named) >= holding
        assert len(named) <= len(holding) + 1


def test_a_plan_of_a_newer_longdoc_is_refused_with_a_clear_sentence(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["a"])
    plan([tmp_path / "in.jsonl"], tmp_path / "out")
    path = tmp_path / "out/_plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 2}))
    with pytest.raises(JobError) as caught:
        plan([tmp_path / "in.jsonl"], tmp_path / "out")
    assert str(caught.value) == (
        f"{path} has schema version 2, but this longdoc reads version 1. Use the longdoc that wrote it, or a newer one."
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: '{"schema_version": 1}',
        lambda text: text.replace('"documents": 1', '"documents": 2', 1),
        lambda text: text.replace('"cursor": 0', '"cursor": 1'),
        lambda text: text.replace('"source": 0', '"sauce": 0'),
    ],
)
def test_a_damaged_plan_is_said_to_be_damaged(tmp_path, damage):
    write_documents(tmp_path / "in.jsonl", ["a"])
    plan([tmp_path / "in.jsonl"], tmp_path / "out")
    path = tmp_path / "out/_plan.json"
    path.write_text(damage(path.read_text()))
    with pytest.raises(JobError, match=r"_plan\.json is damaged"):
        JobPlan.read_back(tmp_path / "out")


def test_a_folder_without_a_plan_is_no_job(tmp_path):
    with pytest.raises(JobError) as caught:
        JobPlan.read_back(tmp_path)
    assert str(caught.value) == f"{tmp_path} is not the folder of a job: it has no _plan.json."
    with pytest.raises(JobError) as caught:
        JobPlan.read_back(tmp_path / "nothing")
    assert str(caught.value) == f"there is no folder {tmp_path / 'nothing'}. Name the `--output` of `longdoc predict`."
