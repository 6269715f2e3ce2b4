"""Every task, whatever it is: what configurations, model folders and training rely on. The list enumerates itself."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from longdoc.config import load_config
from longdoc.decide import Decisions
from longdoc.errors import DataError
from longdoc.tasks import TASKS, Task, task_named
from longdoc.tasks.gold import Purpose
from longdoc.types import Document

PACKAGE = Path(__file__).resolve().parents[2] / "pipeline" / "longdoc"
every_task = pytest.mark.parametrize("task", TASKS, ids=[task.name for task in TASKS])


def test_names_are_distinct_and_transformers_words_name_one_task_each() -> None:
    words = [task.name for task in TASKS] + [task.problem_type for task in TASKS if task.problem_type is not None]
    assert [word for word, count in Counter(words).items() if count > 1 and word != "regression"] == []
    assert Counter(words)["regression"] == 2, "a word of ours and transformers' own"


@every_task
def test_a_configuration_and_a_model_may_name_it(task: Task) -> None:
    config = load_config(overrides=[f"model.task={task.name}"])
    assert task_named(config.model.task) is task
    assert config.model.readout == task.default_readout()
    assert "readout" not in config.model.model_fields_set, "what nobody asked for may be replaced by a checkpoint's"
    task.check_readout(task.default_readout())
    task.check_fitted(Decisions(), ("a", "b"))


@every_task
def test_its_measures_are_known(task: Task) -> None:
    assert "loss" in task.metric_names
    assert "loss" in task.lower_is_better
    assert task.automatic in task.metric_names
    assert len(task.table) == 3
    assert task.lower_is_better <= set(task.metric_names)


@every_task
@pytest.mark.parametrize("purpose", ["training", "validation", "evaluation"])
def test_documents_without_an_answer_are_refused_and_counted(task: Task, purpose: Purpose) -> None:
    assert task.field in {field.name for field in fields(Document)}
    nothing = [Document(id=str(n), text="secret") for n in range(3)]
    with pytest.raises(DataError, match=rf"needs the field `{task.field}` in every {purpose} document, but 3 of 3"):
        task.check_gold(nothing, None, purpose)


def test_nobody_asks_which_task_it_is() -> None:
    """A new task is one new file and one name in one line: no other line of the package may tell tasks apart."""
    names = "|".join(task.name for task in TASKS)
    asks = re.compile(rf"""task\b.*[!=]=\s*["']({names})["']|["']({names})["']\s*[!=]=.*\btask""")
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if asks.search(path.read_text("utf-8"))
    ]
    assert found == []
