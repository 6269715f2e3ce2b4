"""The page about clusters: its Python runs, its scripts parse, its settings and files exist."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pandas as pd

from longdoc.config import load_config
from longdoc.jobs.engines import ENGINES
from longdoc.jobs.ray_settings import RayConfig
from longdoc.pipeline import Pipeline

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_spark_calls_gives_the_answers_of_the_pipeline(tiny_pipeline, tmp_path, monkeypatch):
    Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer).save(tmp_path / "runs" / "mine")
    monkeypatch.chdir(tmp_path)
    for_executors, for_the_driver = blocks("python")
    names: dict[str, object] = {}
    exec(compile(for_executors, "cluster.md", "exec"), names)
    texts = ["the tenant pays the rent", None, "dear friend, many thanks"]
    batch = pd.DataFrame({"id": [7, 8, 9], "text": texts})
    found = pd.concat(names["answer"](iter([batch[:2], batch[2:]])))  # type: ignore[operator]
    expected = [result.to_dict() for result in tiny_pipeline.predict(["the tenant pays the rent", "", texts[2]])]
    assert list(found["id"]) == ["7", "8", "9"]
    assert list(found["status"]) == ["ok", "failed", "ok"]
    assert list(found["reason"])[1] == "empty"
    for row in (0, 2):
        assert (found["label"].iloc[row], found["score"].iloc[row]) == (expected[row]["label"], expected[row]["score"])
    declared = re.search(r'mapInPandas\(answer, "(.*)"\)', for_the_driver)
    assert declared is not None
    assert [column.split()[0] for column in declared.group(1).split(", ")] == list(found.columns)


def test_the_scripts_parse_and_name_settings_and_files_that_exist():
    scripts = blocks("sh") + blocks("bash")
    assert len(scripts) == 5
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=60)
    words = [word for script in scripts for word in shlex.split(script.replace("\\\n", " "), comments=True)]
    settings = [words[n + 1] for n, word in enumerate(words) if word == "--set"]
    assert settings
    for setting in settings:
        load_config(None, [setting])
    assert all((ROOT / words[n + 1]).is_file() for n, word in enumerate(words) if word == "--config_file")
    assert {words[n + 1] for n, word in enumerate(words) if word == "--engine"} <= set(ENGINES)


def test_every_engine_and_every_key_of_ray_is_on_the_page():
    assert re.findall(r"^\| `(\w+)` \| ", PAGE, re.MULTILINE) == list(ENGINES)
    assert re.findall(r"^\| `job\.ray\.(\w+)` ", PAGE, re.MULTILINE) == list(RayConfig.model_fields)
