"""What is asked of a document, one kind a file. `TASKS` is the only list of kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from longdoc.tasks.base import Task
from longdoc.tasks.embedding import Embedding
from longdoc.tasks.multi_label import MultiLabel
from longdoc.tasks.ordinal import Ordinal
from longdoc.tasks.question_answering import QuestionAnswering
from longdoc.tasks.regression import Regression
from longdoc.tasks.search import Search
from longdoc.tasks.single_label import SingleLabel
from longdoc.tasks.spans import Spans

__all__ = ["TASKS", "Task", "TaskName", "task_named"]

# A new kind is one file and one name in this line.
TASKS: tuple[Task, ...] = (
    *(SingleLabel(), MultiLabel(), Regression(), Ordinal(), Spans(), QuestionAnswering()),
    *(Embedding(), Search()),
)

_BY_NAME = {task.name: task for task in TASKS}

if TYPE_CHECKING:
    TaskName = str
else:  # pydantic refuses other words by itself, and names these
    TaskName = Literal[tuple(_BY_NAME)]


def task_named(name: str) -> Task:
    """The task that a configuration or a model folder names."""
    return _BY_NAME[name]
