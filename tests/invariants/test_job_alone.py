"""A part that is run document by document, to find one that kills, has the bytes of a part that is run in one go."""

from __future__ import annotations

import json

from job_kit import final_files
from longdoc.jobs import JobConfig
from longdoc.jobs.parts import write_part
from longdoc.jobs.plan import plan_job
from longdoc.jobs.work import answer_alone, part_documents, run_part
from longdoc.readers.base import ReadConfig


def test_documents_answered_alone_give_the_bytes_of_documents_answered_together(tiny_pipeline, tmp_path):
    source = tmp_path / "in.jsonl"
    with source.open("w") as stream:
        for number in range(20):
            text = "the tenant shall pay the rent to the landlord " * (number * 7 % 19)
            stream.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
        stream.write("no JSON\n")
    for name in ("together", "alone"):
        output = tmp_path / name
        plan = plan_job([source], ReadConfig(), JobConfig(), tiny_pipeline.fingerprint, output)
        (part,) = plan.parts
        if name == "together":
            outcome = run_part(tiny_pipeline, plan, part, output)
        else:
            results = [answer_alone(tiny_pipeline, document) for document in part_documents(plan, part)]
            assert write_part(output, plan, part, results) == outcome
    assert outcome.documents == 21
    assert final_files(tmp_path / "alone") == final_files(tmp_path / "together")
