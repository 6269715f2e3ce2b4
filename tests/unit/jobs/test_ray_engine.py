"""What the engine `ray` decides by itself, without Ray; jobs that run on it are in tests/distributed."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from pathlib import Path

import pytest

from job_kit import load_echo, write_documents
from longdoc.errors import ConfigurationError, UsageError
from longdoc.jobs import JobConfig, run_job
from longdoc.jobs.engines import ray_manners, ray_session
from longdoc.jobs.engines.ray_manners import own_environment, own_folder, own_signals, show_token
from longdoc.jobs.engines.ray_session import Share
from longdoc.jobs.ray_settings import RayConfig


def share(workers, cpus=8, gpus=0, **settings):
    return ray_session._share(RayConfig(**settings), workers, {"CPU": float(cpus), "GPU": float(gpus)})


def test_without_ray_a_job_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_session, "find_spec", lambda name: None)
    write_documents(tmp_path / "in.jsonl", ["one"])
    with pytest.raises(UsageError) as caught:
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=JobConfig(engine="ray"))
    assert str(caught.value) == (
        '`job.engine` ray needs the package ray, which is not installed. Run: pip install "longdoc[ray]"'
    )
    assert not (tmp_path / "out").exists()


def test_a_loader_that_cannot_be_sent_is_refused_before_ray_is_started(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_session, "find_spec", lambda name: name)
    write_documents(tmp_path / "in.jsonl", ["one"])
    with pytest.raises(UsageError) as caught:
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", lambda: load_echo(), job=JobConfig(engine="ray"))
    assert str(caught.value) == (
        "with the engine ray `load` must be a function at the top of a module (or a partial of one), but it cannot be "
        "sent to another process. Move it there."
    )


@pytest.mark.parametrize(
    ("workers", "cpus", "gpus", "settings", "expected"),
    [
        (7, 8, 0, {}, Share(1, 0)),
        (2, 8, 0, {"cpus_per_worker": 3}, Share(3, 0)),
        (2, 8, 2, {}, Share(1, 1)),
        (3, 8, 2, {}, Share(1, 0.5)),
        (1, 8, 4, {}, Share(1, 1)),
        (6, 8, 1, {}, Share(1, 0.1666)),
        (2, 8, 2, {"gpus_per_worker": 0}, Share(1, 0)),
    ],
)
def test_each_worker_has_its_share(workers, cpus, gpus, settings, expected):
    assert share(workers, cpus, gpus, **settings) == expected


def test_workers_that_would_take_every_cpu_are_refused():
    with pytest.raises(UsageError) as caught:
        share(4, 8, cpus_per_worker=2)
    assert str(caught.value) == (
        "`workers` must be at most 3, since each takes 2 of the cluster's 8 CPUs and one stays free, but is 4 instead. "
        "Lower it, or add machines."
    )


def test_more_gpus_than_there_are_are_refused():
    with pytest.raises(UsageError) as caught:
        share(4, 8, 2, gpus_per_worker=1)
    assert str(caught.value) == (
        "`job.ray.gpus_per_worker` must be at most 0.5, since 4 workers share 2 GPUs, but is 1 instead. Lower it, or "
        "the number of workers."
    )


def test_the_jobs_own_ray_has_a_folder_for_itself_that_goes_with_it():
    with own_folder(None) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert len(str(folder)) <= 107 - len("/session_2026-11-30_10-49-17_691858_1234567/sockets/plasma_store.1")
        (folder / "logs").mkdir()
    assert not folder.exists()


def test_folders_of_jobs_that_were_killed_go_and_those_of_live_jobs_stay():
    with tempfile.TemporaryDirectory(dir="/tmp") as within, own_folder(Path(within)) as live:
        killed = Path(within) / "ldray-12345678"
        (killed / "logs").mkdir(parents=True)
        (Path(within) / "ray").mkdir()
        with own_folder(Path(within)) as folder:
            assert {path.name for path in Path(within).iterdir()} == {live.name, folder.name, "ray"}


def test_a_folder_with_a_name_too_long_for_sockets_is_refused(tmp_path):
    deep = tmp_path / ("deep" * 10)
    deep.mkdir()
    with pytest.raises(ConfigurationError) as caught, own_folder(deep):
        pass
    assert str(caught.value) == (
        f"`job.ray.temp_dir` must be a folder whose path has at most 25 bytes, but {deep} is not. Name another."
    )


def test_a_long_folder_of_the_system_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_manners.tempfile, "gettempdir", lambda: str(tmp_path / ("deep" * 10)))
    with own_folder(None) as folder:
        assert folder.parent == Path("/tmp")


def test_what_starts_with_ray_does_not_hear_sigterm_and_the_handlers_stay_ours():
    def handler(number, frame):
        raise AssertionError("no signal was sent")

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with own_signals():
            assert signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ())
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as Ray does
        assert signal.getsignal(signal.SIGTERM) is handler
        assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_than_the_main_one_signals_are_left_alone():
    masks = []

    def act():
        with own_signals():
            masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    assert signal.SIGTERM not in masks[0]


def test_the_environment_of_the_jobs_own_ray_is_taken_back(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "mine")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    with own_environment():
        assert len(os.environ["RAY_AUTH_TOKEN"]) == 64
        assert os.environ["PYTHONPATH"] != "mine"
        os.environ["RAY_AUTH_MODE"] = "token"  # as Ray does
    assert os.environ["PYTHONPATH"] == "mine"
    assert not {"RAY_AUTH_TOKEN", "RAY_AUTH_MODE"} & os.environ.keys()


@pytest.mark.parametrize(
    ("file", "given", "expected"),
    [(False, {}, None), (True, {}, "token"), (False, {"RAY_AUTH_TOKEN": "word"}, "token"),
     (True, {"RAY_AUTH_MODE": "disabled"}, "disabled")],
)  # fmt: skip
def test_a_cluster_is_shown_the_token_that_there_is(tmp_path, monkeypatch, file, given, expected):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, given.get(name, ""))
        if name not in given:
            monkeypatch.delenv(name)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    if file:
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray/auth_token").write_text("word")
    show_token()
    assert os.environ.get("RAY_AUTH_MODE") == expected
