"""What commands refuse, what they leave alone, and what they say."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from longdoc.config import load_config
from longdoc.errors import CheckpointError
from longdoc.version import __version__

TINY = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_the_version_is_shown(run) -> None:
    assert run("--version").output == f"longdoc {__version__}\n"


# -- models are not destroyed


def test_importing_over_a_model_is_refused_and_leaves_it_whole(run, model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "mine")
    before = contents(tmp_path / "mine")
    result = run("import-checkpoint", "default", tmp_path / "mine", expect=2)
    assert result.output == (
        f"longdoc: `output` must be a new folder, but {tmp_path / 'mine'} holds a model already (config.json). Name "
        "another or remove it.\n"
    )
    assert contents(tmp_path / "mine") == before


# -- what a trained model fixes


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain"])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["chunking.keep=head"], "`chunking.keep` is all in this model, and training has fixed it. Leave it out."),
        (
            ["chunking.size=4096", "model.task=regression"],
            "`model.task` is single_label in this model, and training has fixed it. Leave it out.\n"
            "`chunking.size` is 32 in this model, and training has fixed it. Leave it out.",
        ),
        (
            ["model.labels=[a,b]"],
            "`model.labels` is otherwise in this model, and training has fixed it. Leave it out.",
        ),
        (
            ["model.readout.merger=max"],
            "`model.readout.merger.kind` is attention in this model, and training has fixed it. Leave it out.",
        ),
        (
            ["model.encoder.layers=3"],
            "`model.encoder.layers` is 1 in this model, and training has fixed it. Leave it out.",
        ),
    ],
)
def test_what_a_model_has_fixed_cannot_be_set(
    run, model: Path, data: Path, tmp_path: Path, command: str, settings: list[str], message: str
) -> None:
    inputs = "--data" if command == "evaluate" else "--input"
    given = [part for setting in settings for part in ("--set", setting)]
    result = run(command, "--model", model, inputs, data, "--output", tmp_path / "out", *given, expect=2)
    assert result.output == f"longdoc: {message}\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "setting", "message"),
    [
        (
            "predict",
            "training.seed=3",
            "`training.seed` has no effect on `longdoc predict`, which looks at model, chunking, read, prediction and "
            "job. Leave it out.",
        ),
        (
            "evaluate",
            "job.workers=2",
            "`job.workers` has no effect on `longdoc evaluate`, which looks at model, chunking, read and prediction. "
            "Leave it out.",
        ),
        (
            "explain",
            "data.train=[x]",
            "`data.train` has no effect on `longdoc explain`, which looks at model, chunking, read and prediction. "
            "Leave it out.",
        ),
    ],
)
def test_a_key_that_a_command_does_not_look_at_is_refused(
    run, model: Path, data: Path, tmp_path: Path, command: str, setting: str, message: str
) -> None:
    inputs = "--data" if command == "evaluate" else "--input"
    result = run(command, "--model", model, inputs, data, "--output", tmp_path / "o", "--set", setting, expect=2)
    assert result.output == f"longdoc: {message}\n"


def test_the_configuration_that_a_model_was_trained_with_may_be_given_again(
    run, model: Path, data: Path, tmp_path: Path
) -> None:
    run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "o", "--config", TINY)
    resolved = yaml.safe_load((tmp_path / "o" / "config.resolved.yaml").read_text())
    assert resolved["chunking"]["size"] == 32
    assert resolved["chunking"]["overlap"] == 8
    assert resolved["model"]["labels"] == ["contract", "letter", "notice"]
    assert "training" not in resolved, "it was not looked at"
    load_config(tmp_path / "o" / "config.resolved.yaml")
    run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "again",
        "--config", tmp_path / "o" / "config.resolved.yaml")  # fmt: skip


def test_explain_writes_its_configuration_beside_the_page(run, model: Path, data: Path, tmp_path: Path) -> None:
    result = run("explain", "--model", model, "--input", data, "--output", tmp_path / "page.html", "--limit", 1)
    assert result.output.startswith("1 document, 0 without an answer; 5 more left out by --limit 1; report in ")
    assert "5 more documents left out by the limit." in (tmp_path / "page.html").read_text("utf-8")
    resolved = yaml.safe_load((tmp_path / "page.config.resolved.yaml").read_text())
    assert resolved["chunking"]["size"] == 32


def test_explain_writes_a_folder_with_an_index(run, model: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    command = ("explain", "--model", model, "--input", data, "--input", tmp_path / "empty.txt", "--output")
    folder = tmp_path / "reports"
    result = run(*command, folder)
    assert result.output == f"7 documents, 1 without an answer; report in {folder / 'index.html'}\n"
    assert len(list((folder / "documents").iterdir())) == 6
    assert yaml.safe_load((folder / "config.resolved.yaml").read_text())["chunking"]["size"] == 32
    page = (folder / "documents" / "000001.html").read_text("utf-8")
    assert "The whole document was read" in page
    assert ", chunk 1" in page
    assert "failed: empty" in (folder / "index.html").read_text("utf-8")
    (folder / "mine.txt").write_text("mine")
    refused = run(*command, folder, expect=2)
    assert refused.output.endswith(
        f"but {folder} holds 1 other file. Name another folder, or a file that ends in .html for one page.\n"
    )


def test_inspecting_chunks_uses_the_chunking_of_the_model(run, model: Path, data: Path) -> None:
    own = json.loads(run("inspect", "chunks", "--model", model, "--input", data, "--json").output)
    assert max(chunk["size"] for chunk in own[0]["chunks"]) == 32
    result = run("inspect", "chunks", "--model", model, "--input", data, "--limit", 1)
    assert result.output.endswith(
        "only the first 1 document shown, in chunks of 32 that share 8; there are more, `--limit` says how many to "
        "show\n"
    )
    whole = run("inspect", "chunks", "--model", model, "--input", data, "--limit", 6)
    assert whole.output.endswith("\n6 documents shown, in chunks of 32 that share 8\n")
    wider = json.loads(
        run("inspect", "chunks", "--model", model, "--input", data, "--json", "--set", "chunking.size=64").output
    )
    assert [chunk["size"] for chunk in wider[0]["chunks"]] == [50], "what is set shows what would be"


def test_inspecting_chunks_says_why_they_end_where_they_do(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("It is so. " * 20 + "word " * 60)
    borders = ("--set", "chunking.borders={prefer: [sentence], tolerance: 5}")
    command = ("inspect", "chunks", "--model", model, "--input", tmp_path / "a.txt", *borders)
    chunks = json.loads(run(*command, "--json").output)[0]["chunks"]
    assert (chunks[0]["begins"], chunks[-1]["ends"]) == ("document", "document")
    assert chunks[0]["ends"] == chunks[1]["begins"] == "sentence"
    assert chunks[0]["tokens"] == [0, 28], "seven sentences of four tokens, where thirty tokens have room"
    assert chunks[-2]["ends"] == "size", "a run of words offers no border"
    shown = run(*command).output
    assert "begins with  ends with\n" in shown
    assert "document   sentence\n" in shown


# -- outputs are looked at before the long part


def test_an_output_that_cannot_be_written_is_refused_before_the_model_is_loaded(
    run, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: object) -> None:
        pytest.fail("the model was loaded")

    monkeypatch.setattr("longdoc.pipeline.Pipeline.load", computed)
    monkeypatch.setattr("longdoc.jobs.export.export_job", computed)
    (tmp_path / "file").write_text("mine")
    long_name = tmp_path / ("n" * 256)
    for command, inputs in (("predict", "--input"), ("evaluate", "--data"), ("explain", "--input")):
        arguments = (command, "--model", model, inputs, data, "--output")
        assert "must have at most 230 bytes" in run(*arguments, long_name, expect=2).output
        if command == "explain":
            (tmp_path / "a.html").mkdir(exist_ok=True)
            assert "is a folder. Name a file in it." in run(*arguments, tmp_path / "a.html", expect=2).output
            assert "`output` must be a folder, but" in run(*arguments, tmp_path / "file", expect=2).output
            assert "there is no folder" in run(*arguments, tmp_path / "no" / "page.html", expect=2).output
        else:
            assert "`output` must be a folder, but" in run(*arguments, tmp_path / "file", expect=2).output
    assert "Create it first." in run("export", tmp_path, tmp_path / "no" / "rows.csv", expect=2).output
    assert "`file` must be a file" in run("export", tmp_path, tmp_path, expect=2).output
    train = run("train", "--config", TINY, "--data", data, "--output", tmp_path / "file", expect=2)
    assert "is a file. Name another folder." in train.output
    assert (tmp_path / "file").read_text() == "mine"


def test_a_picture_must_have_a_place_and_a_known_ending(run, data: Path, tmp_path: Path) -> None:
    for arguments in (("lengths", "--input", data), ("chunks", "--input", data), ("masks",)):
        assert "must end in .png or .svg" in run("inspect", *arguments, "--output", tmp_path / "x.gif", expect=2).output
        nowhere = run("inspect", *arguments, "--output", tmp_path / "no" / "x.png", expect=2)
        assert "there is no folder" in nowhere.output


def test_data_without_a_document_are_refused(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    for arguments in (("evaluate", "--data"), ("predict", "--input")):
        result = run(arguments[0], "--model", model, arguments[1], tmp_path / "empty.jsonl",
                     "--output", tmp_path / "o", expect=2)  # fmt: skip
        assert result.output.startswith(
            f"longdoc: `{arguments[1]}` must hold at least 1 document, but holds none. Name other files"
        )
    (tmp_path / "blank.jsonl").write_text('{"text": " "}\n')
    result = run("inspect", "lengths", "--input", tmp_path / "blank.jsonl", expect=2)
    assert result.output == ("longdoc: `--input` must hold at least 1 document with text, but none of 1 has a token.\n")


def test_a_label_column_is_not_shown(run, model: Path, tmp_path: Path) -> None:
    secret = "Mr Smith has HIV"
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"id": "1", "text": "x", "note": secret}) + "\n")
    column = ("--set", "read.fields.label=note")
    told = run("evaluate", "--model", model, "--data", path, "--output", tmp_path / "o", *column, expect=2).output
    assert "Smith" not in told
    assert "1 of 1 has a label that is not among its 3 (1 different one; data.jsonl:1)" in told
    told = run("train", "--config", TINY, "--data", path, "--output", tmp_path / "m", *column,
               "--set", "model.labels=[a,b]", expect=2).output  # fmt: skip
    assert "Smith" not in told
    assert not (tmp_path / "m").exists()


# -- interruptions


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("command", "inputs", "sentence"),
    [
        ("evaluate", "--data", "longdoc: stopped. Nothing is kept: the same command starts over.\n"),
        ("explain", "--input", "longdoc: stopped. Nothing is kept: the same command starts over.\n"),
    ],
)
def test_a_stopped_command_says_truly_what_the_next_one_will_do(
    run, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals, command: str, inputs: str, sentence: str,
) -> None:  # fmt: skip
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("longdoc.pipeline.Pipeline.load", lambda *_: os.kill(os.getpid(), number))
    result = run(command, "--model", model, inputs, data, "--output", tmp_path / "out", expect=75)
    assert result.output == sentence
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    "error", [AttributeError("Module 'scipy' has no attribute '_lib'"), OSError(), CheckpointError("")]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_import_that_ends_in_another_error_is_a_stop(
    run, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals,
    error: Exception,
) -> None:  # fmt: skip
    def load(*_: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        raise error

    monkeypatch.setattr("longdoc.pipeline.Pipeline.load", load)
    result = run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "out", expect=75)
    assert result.output == "longdoc: stopped. Nothing is kept: the same command starts over.\n"
    monkeypatch.setattr("longdoc.pipeline.Pipeline.load", lambda *_: (tmp_path / "nowhere").stat())
    run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "out", expect=2)


def test_who_stops_a_frozen_encoder_while_it_reads_hears_how_to_keep_what_was_read(
    run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self) -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("longdoc.training.run.TrainingRun.encode_frozen", stop)
    said = []
    for extra in ([], ["--set", f"training.rows_folder={tmp_path / 'rows'}"]):
        result = run("train", "--config", TINY, "--data", data, "--output", tmp_path / "m", "--set",
                     "training.freeze=[encoder]", *extra, expect=75)  # fmt: skip
        said.append(result.output.splitlines()[-1])
    plain = "longdoc: stopped. Nothing was measured yet, so no model is kept: the same command starts over."
    hint = " With `--set training.rows_folder=DIR` what a frozen encoder has read is kept, too."
    assert said == [plain + hint, plain]


@pytest.mark.parametrize("measured", [False, True])
def test_a_training_that_is_stopped_at_once_says_what_is_kept(
    run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: bool
) -> None:
    from longdoc.training.run import TrainingRun

    stage = "train_epoch" if measured else "encode_frozen"
    real = getattr(TrainingRun, stage)

    def stop(self, *given: object) -> None:
        if given and given[0] == 0:
            real(self, *given)
        else:  # the second signal does not wait
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(TrainingRun, stage, stop)
    result = run("train", "--config", TINY, "--data", data, "--validation", data, "--output", tmp_path / "m",
                 "--set", "data.allow_shared_ids=true", expect=75)  # fmt: skip
    best = tmp_path / "m" / "checkpoints" / "best"
    assert result.output.splitlines()[-1] == (
        f"longdoc: stopped. The best epoch so far is the model folder {best}: move it to keep it. The same command "
        "starts over."
        if measured
        else "longdoc: stopped. Nothing was measured yet, so no model is kept: the same command starts over."
    )
    assert (best / "longdoc.json").exists() is measured


def test_a_stopped_training_goes_on_by_the_same_command(
    run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longdoc.training.steps import Stepper

    command = ("train", "--config", TINY, "--data", data, "--output", tmp_path / "m")
    take = Stepper.take

    def take_and_stop(self, *given: object) -> object:
        outcome = take(self, *given)
        os.kill(os.getpid(), signal.SIGTERM)
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "take", take_and_stop)
        result = run(*command, expect=75)
    *_, stopped = result.output.splitlines()
    _, _, steps = stopped.partition(" of ")
    assert stopped == f"longdoc: stopped after step 1 of {steps}"
    assert steps.endswith(". The same command goes on from there.")
    refused = run(*command, "--set", "training.seed=1", expect=2)
    assert refused.output.splitlines()[-1] == (
        f"longdoc: the run that was begun in {tmp_path / 'm'} cannot be gone on with, since `training.seed` was 0 and "
        "is 1. Put that back, or start over: `--restart` (`resume=False` in Python)."
    )
    refused = run(*command, "--resume", "--restart", expect=2)
    assert refused.output == (
        "longdoc: `--resume` must stand without `--restart`, but they stand together. Leave one out.\n"
    )
    done = run(*command, "--resume")
    assert f"the run goes on after step 1 of {steps.partition('.')[0]}\n" in done.output


# -- statuses


def test_explaining_where_nothing_has_an_answer_is_status_3(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "blank.jsonl").write_text('{"text": " "}\n')
    result = run("explain", "--model", model, "--input", tmp_path / "blank.jsonl",
                 "--output", tmp_path / "page.html", expect=3)  # fmt: skip
    assert "1 document, 1 without an answer; report in" in result.output


def test_verify_tells_wrong_usage_from_a_damaged_job(run, model: Path, data: Path, tmp_path: Path) -> None:
    assert run("verify", tmp_path / "none", expect=2).output.startswith("longdoc: ")
    run("predict", "--model", model, "--input", data, "--output", tmp_path / "job")
    told = run("verify", tmp_path / "job").output
    assert told.startswith("verified: 6 documents in 1 part, each exactly once, hashes match; 0 of them are failures")
    (part,) = (tmp_path / "job").glob("part-*.parquet")
    part.write_bytes(part.read_bytes()[:-1])
    assert run("verify", tmp_path / "job", expect=1).output.startswith("longdoc: ")


def test_what_cannot_be_read_is_not_said_to_be_unwritable(
    run, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(model / "model.safetensors"))

    monkeypatch.setattr("longdoc.pipeline.Pipeline.load", denied)
    result = run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "o", expect=2)
    assert result.output == f"longdoc: {model / 'model.safetensors'} cannot be read: Permission denied.\n"


# -- options that every command has


@pytest.mark.parametrize(
    "command",
    ["train", "predict", "verify", "export", "evaluate", "explain", "compare", "import-checkpoint", "inspect chunks",
     "inspect lengths", "inspect positions", "inspect masks", "inspect model"],
)  # fmt: skip
def test_every_command_takes_a_configuration(run, command: str) -> None:
    told = run(*command.split(), "--help").output
    assert "--config" in told
    assert "--set" in told


def test_the_engines_that_the_help_names_are_those_that_exist(run) -> None:
    from longdoc.jobs.engines import ENGINES

    told = " ".join(run("predict", "--help").output.split())
    assert all(engine in told for engine in ENGINES)


def test_inspect_positions_takes_the_encoding_of_a_configuration(run) -> None:
    assert run("inspect", "positions", "--config", TINY).output.startswith("sinusoidal, 100 positions in fp32: ")
    assert "`--kind` must name a position encoding" in run("inspect", "positions", expect=2).output
    bad = run("inspect", "positions", "--kind", "rotary", "--dtype", "fp8", expect=2)
    assert bad.output == "longdoc: `dtype` must be one of fp32, bf16, fp16, but is 'fp8' instead.\n"
    bad = run("inspect", "positions", "--kind", "rotary", "--set", "base=500", expect=2)
    assert "Did you mean" not in bad.output


def test_inspect_positions_judges_at_the_geometry_of_the_configuration(run, tmp_path: Path) -> None:
    encoder = "{vocab_size: 50, width: 24, layers: 2, heads: 3, feed_forward_width: 8, max_len: 64}"
    (tmp_path / "c.yaml").write_text(f"model:\n  encoder: {encoder[:-1]}, position: {{kind: learned}}}}\n")
    config = ["inspect", "positions", "--config", str(tmp_path / "c.yaml")]
    assert run(*config).output.splitlines()[0] == "positions from 64 on are refused"
    told = json.loads(run(*config, "--json", "--length", "5").output)
    assert (told["width"], told["heads"], len(told["added"][0])) == (24, 3, 24)
    assert run(*config, "--width", "8", expect=2).output == (
        "longdoc: `--width` and `--heads` are those of the encoder in `--config` (24 and 3). Leave out one or the "
        "other.\n"
    )


def test_inspect_positions_shows_how_several_encodings_are_given(run) -> None:
    bad = run("inspect", "positions", "--kind", "stacked", expect=2)
    example = "parts=[{kind: learned}, {kind: alibi}]"
    assert bad.output == f"longdoc: `parts` must be given, but is not. Example: --set '{example}'\n"
    assert "healthy" in run("inspect", "positions", "--kind", "stacked", "--set", example).output


def test_inspect_masks_pads_on_the_left(run) -> None:
    told = run("inspect", "masks", "--length", "4", "--padding-left", "2", "--causal").output.splitlines()
    assert told[2:] == ["..#.", "..##", "causal & left padding 2: 3 of 4 pairs of real tokens may attend"]


def test_inspect_model_says_what_a_folder_is(run, model: Path, tmp_path: Path) -> None:
    import torch

    from longdoc.checkpoints.native import model_fingerprint

    described = json.loads(run("inspect", "model", "--model", model, "--json").output)
    assert described["task"] == "single_label"
    assert described["labels"] == ["contract", "letter", "notice"]
    assert described["chunking"]["size"] == 32
    assert (described["encoder"]["layers"], described["encoder"]["positions"]) == (1, "sinusoidal")
    assert described["fingerprint"] == model_fingerprint(model)
    assert described["parameters"]["readout"] == (32 * 3 + 3) + (32 * 128 + 128 + 128)  # head, merger
    told = run("inspect", "model", "--model", model).output
    assert "chunks        32 tokens, 2 of them special, 8 shared; read: all\n" in told
    assert "\nattention     every token to every other\n" in told
    path = described["path"]
    assert (path["repeats"], path["lanes"]) == ("encoded once", torch.get_num_threads())
    assert f"\nruns on       {path['device']} in {path['dtype']}, since {path['reason']}; batches at once: " in told
    assert f"\nkernel        {path['attention']}\n" in told
    assert f"\nproducts      {path['products']}\n" in told
    assert f"\ntraining      attention with dropout by {path['training']}\n" in told
    assert told.endswith(f"{model}: a model\n")
    assert "an encoder without a task" in run("inspect", "model", "--model", "default").output


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_lengths_and_chunks_are_drawn(run, model: Path, data: Path, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    for kind in ("lengths", "chunks"):
        path = tmp_path / f"{kind}{suffix}"
        told = run("inspect", kind, "--input", data, "--model", model, "--output", path).output
        assert told.endswith(f"; picture in {path}\n")
        assert path.read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


def test_training_says_what_it_left_out_and_where_it_stands(
    run, data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with data.open("a") as file:
        file.write('{"id": "blank", "text": " ", "label": "letter"}\n')
        file.write(json.dumps({"id": "strange", "text": "\U0001f9ff" * 40, "label": "letter"}) + "\n")
    told = run("train", "--config", TINY, "--set", "training.num_train_epochs=1", "--data", data,
               "--validation", data, "--set", "data.allow_shared_ids=true",
               "--output", tmp_path / "m").output.splitlines()  # fmt: skip
    assert [record.message for record in caplog.records if record.message.startswith("1 training")] == [
        "1 training document without a token, left out: data.jsonl:7.",
        "1 training document that the tokenizer hardly knows, left out: data.jsonl:8.",
    ]
    assert told[-2] == "longdoc: 2 validation documents without an answer, counted as wrong."
    assert told[-1].startswith("trained on 6 documents in 2 steps and ")


def test_verifying_and_exporting_do_without_torch(run, model: Path, data: Path, tmp_path: Path) -> None:
    run("predict", "--model", model, "--input", data, "--output", tmp_path / "job")
    code = (
        "import sys; from typer.testing import CliRunner; from longdoc.cli import app; "
        "job, rows = sys.argv[1:]; "
        "results = [CliRunner().invoke(app, c) for c in (['verify', job], ['export', job, rows])]; "
        "print([r.exit_code for r in results], 'torch' in sys.modules)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "job", tmp_path / "rows.csv"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert shown.stdout.strip() == "[0, 0] False", shown.stderr


def test_one_key_of_the_chunking_is_judged_beside_those_of_the_model(run, model: Path, data: Path, tmp_path) -> None:
    size = load_config(TINY).chunking.size
    told = run("predict", "--model", model, "--input", data, "--output", tmp_path / "o", "--set", "chunking.size=64",
               expect=2).output  # fmt: skip
    assert told == f"longdoc: `chunking.size` is {size} in this model, and training has fixed it. Leave it out.\n"


def test_a_comparison_refuses_a_place_for_rows_before_it_reads_a_document(run, tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("notes")
    nothing = tmp_path / "nothing.jsonl"
    told = run("compare", "--data", nothing, "--validation", nothing, "--output", tmp_path / "out", "--set",
               f"training.rows_folder={tmp_path / 'rows'}", expect=2).output  # fmt: skip
    assert told == (
        f"longdoc: `training.rows_folder` must be a folder, but {tmp_path / 'rows'} is a file. Name another folder.\n"
    )


@pytest.mark.parametrize(("alike", "said"), [(1, ""), (2, " as in 1 other epoch, for its loss")])
def test_the_closing_line_says_that_the_metric_did_not_choose_alone(
    run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alike: int, said: str
) -> None:
    from longdoc.training.progress import TrainingReport

    report = TrainingReport(3, "strict_f1", 0.0, alike, train_documents=6, steps=9, seconds=1.0)
    monkeypatch.setattr("longdoc.api.train_with_report", lambda *_, **__: (None, report))
    told = run("train", "--data", data, "--validation", data, "--output", tmp_path / "m").output.splitlines()[-1]
    assert told == (
        f"trained on 6 documents in 9 steps and 1 s; epoch 3 kept, strict_f1 0.0000{said}; model in {tmp_path / 'm'}"
    )
