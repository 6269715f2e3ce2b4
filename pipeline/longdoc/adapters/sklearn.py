"""The classifier behind scikit-learn's interface: cross-validation, grids, calibration and pipelines work with it."""

from __future__ import annotations

import copy
import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from longdoc.adapters.epoch_lines import EpochLines
from longdoc.api import train
from longdoc.checkpoints.native import save_model
from longdoc.checkpoints.weights import read_json
from longdoc.config import RunConfig, load_config
from longdoc.errors import CheckpointError, UsageError
from longdoc.files import write_text
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.types import Document, DocumentPrediction

__all__ = ["LongDocumentClassifier"]

_FILE = "sklearn.json"

_PLACES = {
    "source": "model.source",
    "size": "chunking.size",
    "overlap": "chunking.overlap",
    "keep": "chunking.keep",
    "readout": "model.readout",
    "pooling": "model.readout.pooling",
    "merger": "model.readout.merger",
    "epochs": "training.num_train_epochs",
    "batch_size": "training.per_device_train_batch_size",
    "learning_rate": "training.learning_rate",
    "head_learning_rate": "training.head_learning_rate",
    "freeze": "training.freeze",
    "seed": "training.seed",
}
"""Parameter -> key of the configuration."""


class LongDocumentClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifies texts of any length.

    Args:
        source: `default` (the embedded all-MiniLM-L6-v2), a checkpoint folder or a hub id.
        size, overlap, keep: tokens of a chunk, tokens that neighbours share, and which chunks are read.
        readout: how chunks become a document's scores: a word or a mapping.
        pooling, merger: of the readout.
        epochs, batch_size: passes over the training texts, and texts of one step.
        learning_rate, head_learning_rate: of the encoder, and of what starts from nothing.
        freeze: parts that do not learn; `("encoder",)` trains a head in minutes.
        seed: of everything random.
        unanswered: what an unreadable or empty text is answered with: `error`, or `prior`, the shares of the classes
            among the training texts.
        verbose: whether `fit` prints a line for each epoch, and how far a frozen encoder has read.
        config: everything else: a `RunConfig`, a mapping of its shape, or a YAML file. The parameters above, where they
            are not None, go before it; None is what the configuration says, else its default.

    Attributes:
        classes_: the classes, sorted; for an indicator matrix the numbers of its columns.
        multilabel_: whether a text may have any number of classes.
        pipeline_: the `longdoc.Pipeline` with everything that it can do.

    Texts are a list, an array or a series of strings, or a table with one column of them. `y` holds one class for each
    text; or a list of classes for each, or an indicator matrix (n, C).
    """

    def __init__(
        self,
        source: str | None = None,
        *,
        size: int | None = None,
        overlap: int | None = None,
        keep: str | None = None,
        readout: Any = None,
        pooling: str | None = None,
        merger: Any = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        head_learning_rate: float | None = None,
        freeze: Sequence[str] | None = None,
        seed: int | None = None,
        unanswered: str = "error",
        verbose: bool = False,
        config: RunConfig | Mapping[str, Any] | str | Path | None = None,
    ) -> None:
        self.source = source
        self.size = size
        self.overlap = overlap
        self.keep = keep
        self.readout = readout
        self.pooling = pooling
        self.merger = merger
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.head_learning_rate = head_learning_rate
        self.freeze = freeze
        self.seed = seed
        self.unanswered = unanswered
        self.verbose = verbose
        self.config = config

    # -- fitting

    def fit(self, X: Any, y: Any) -> LongDocumentClassifier:  # noqa: N803
        """Fine-tune on texts and their classes. The last epoch is kept; with `config.data.validation` the best one.

        Raises:
            UsageError: texts that are none, classes that do not fit them, or a parameter out of bounds.
        """
        texts = _texts(X)
        if self.unanswered not in ("error", "prior"):
            raise UsageError(f"`unanswered` must be `error` or `prior`, but is {self.unanswered!r} instead.")
        _refuse_missing(y)
        y = y if _is_rows_of_labels(y) else np.asarray(y)
        if len(y) != len(texts):
            raise UsageError(f"`y` must have one entry a text ({len(texts)}), but has {len(y)} instead.")
        multilabel, classes, chosen = _targets(y)
        names = [str(name) for name in classes.tolist()]
        if multilabel:
            documents = [
                Document(id=str(n), text=text, labels=tuple(names[k] for k in np.flatnonzero(row)))
                for n, (text, row) in enumerate(zip(texts, chosen, strict=True))
            ]
        else:
            documents = [
                Document(id=str(n), text=text, label=names[k])
                for n, (text, k) in enumerate(zip(texts, chosen.tolist(), strict=True))
            ]
        tell = EpochLines(print) if self.verbose else None
        self.pipeline_ = train(self._config(names, multilabel), train_documents=documents, progress=tell)
        self.classes_, self.multilabel_ = classes, multilabel
        shares = chosen.mean(0) if multilabel else np.bincount(chosen, minlength=len(names)) / len(chosen)
        self._prior = np.asarray(shares, dtype=np.float64)
        return self

    def _config(self, labels: list[str], multilabel: bool) -> RunConfig:
        given = self.config
        if isinstance(given, str | Path):
            given = load_config(given)
        tree = given.model_dump(mode="json", exclude_unset=True) if isinstance(given, RunConfig) else given
        tree = copy.deepcopy(dict(tree or {}))
        for parameter, key in _PLACES.items():
            value = getattr(self, parameter)
            if value is not None:
                _place(tree, key.split("."), copy.deepcopy(list(value) if parameter == "freeze" else value))
        readout = tree.get("model", {}).get("readout")
        if isinstance(readout, dict):
            readout.setdefault("kind", "vectors")
        _place(tree, ["model", "labels"], labels)
        task, asked = "multi_label" if multilabel else "single_label", tree.get("model", {}).get("task")
        if asked not in (None, task):
            raise UsageError(
                f"`config` asks for `model.task: {asked}`, but `y` says {task}, and this estimator knows none but "
                "single_label and multi_label. Leave it out, or train with `longdoc.train`."
            )
        _place(tree, ["model", "task"], task)
        return load_config(base=tree)

    # -- answering

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, float64 (n, C), in the order of `classes_`."""
        order = {label: place for place, label in enumerate(self._fitted().labels)}

        def row(answer: DocumentPrediction) -> NDArray[np.float64]:
            found = np.empty(len(order))
            for item in answer.labels:
                found[order[item.label]] = item.score
            return found

        return self._rows(X, row, self._prior)

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Scores before they become probabilities: float64 (n, C); for one class of two, (n,), how much the second is
        ahead."""
        self._fitted()
        with np.errstate(divide="ignore"):
            prior = np.log(self._prior) - (np.log1p(-self._prior) if self.multilabel_ else 0.0)
        scores = self._rows(X, lambda answer: np.array(answer.logits), np.clip(prior, -40.0, 40.0))
        return scores[:, 1] - scores[:, 0] if not self.multilabel_ and len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class of each text, (n,), or with several classes a text an indicator matrix, int64 (n, C)."""
        self._fitted()
        if not self.multilabel_:
            return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])
        order = {label: place for place, label in enumerate(self.pipeline_.labels)}

        # scikit-learn has no word for "not sure": held back answers count as the thresholds say, as in `evaluate`.
        thresholds = self.pipeline_.settings.decisions.thresholds or (0.5,) * len(order)

        def row(answer: DocumentPrediction) -> NDArray[np.float64]:
            found = np.zeros(len(order))
            for item in answer.labels:
                place = order[item.label]
                found[place] = item.score >= thresholds[place] if item.chosen is None else item.chosen
            return found

        return self._rows(X, row, self._prior >= 0.5).astype(np.int64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Accuracy; with several classes a text, the share of texts all of whose classes are right."""
        self._fitted()
        if _is_rows_of_labels(y):
            y = MultiLabelBinarizer(classes=self.classes_.tolist()).fit_transform(y)
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _rows(self, X: Any, row: Any, instead: NDArray[Any]) -> NDArray[np.float64]:  # noqa: N803
        """A row for each text, from its answer; `instead` where there is none and none is wanted."""
        rows = []
        for number, result in enumerate(self._fitted().stream(_texts(X))):
            if isinstance(result, DocumentPrediction):
                rows.append(row(result))
            elif self.unanswered == "prior":
                rows.append(np.asarray(instead, dtype=np.float64))
            else:
                raise UsageError(
                    f"text {number} has no answer: {result.reason}. Leave it out, or set `unanswered` to `prior`."
                )
        return np.stack(rows) if rows else np.empty((0, len(instead)))

    def _fitted(self) -> Pipeline:
        check_is_fitted(self, "pipeline_")
        pipeline: Pipeline = self.pipeline_
        return pipeline

    # -- keeping

    def save(self, folder: str | Path) -> None:
        """Write a model folder, which every command and `Pipeline.load` open, and in it what `load` needs.

        Raises:
            UsageError: another model is there.
            CannotWriteError: no space, no permission, or a failing disk.
        """
        self._fitted().save(folder)
        write_text(Path(folder) / _FILE, json.dumps(self._state()) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> LongDocumentClassifier:
        """A classifier that was saved, fitted; with the default parameters but for `unanswered`.

        Raises:
            CheckpointError: not a folder that `save` wrote.
        """
        state = read_json(Path(folder) / _FILE)
        found = cls(unanswered=state.get("unanswered", "error"))
        found._restore(state, Pipeline.load(folder))
        return found

    def _state(self) -> dict[str, Any]:
        return {
            "classes": self.classes_.tolist(),
            "multilabel": self.multilabel_,
            "prior": self._prior.tolist(),
            "unanswered": self.unanswered,
        }

    def _restore(self, state: Mapping[str, Any], pipeline: Pipeline) -> None:
        try:
            classes, prior = np.array(state["classes"]), np.array(state["prior"], dtype=np.float64)
            multilabel = bool(state["multilabel"])
        except (KeyError, TypeError, ValueError):
            raise CheckpointError(
                f"`{_FILE}` must say which classes a model has, but does not. Save it again."
            ) from None
        if [str(name) for name in classes.tolist()] != list(pipeline.labels) or prior.shape != classes.shape:
            raise CheckpointError(f"`{_FILE}` must name the classes of the model beside it, but does not.")
        self.pipeline_, self.classes_, self.multilabel_, self._prior = pipeline, classes, multilabel, prior

    def __getstate__(self) -> dict[str, Any]:
        """Parameters, and of a fitted classifier the files of its model folder: no tensors, no code."""
        state = dict(super().__getstate__())
        pipeline = state.pop("pipeline_", None)
        if pipeline is not None:
            with tempfile.TemporaryDirectory(prefix="longdoc-") as folder:
                save_model(Path(folder) / "model", pipeline.model, pipeline.settings, pipeline.tokenizer, pipeline.card)
                paths = sorted((Path(folder) / "model").iterdir())
                state["files_"] = {path.name: path.read_bytes() for path in paths}
            state["prediction_"] = pipeline.prediction.model_dump(mode="json")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        files, prediction = state.pop("files_", None), state.pop("prediction_", None)
        super().__setstate__(state)
        if files is not None:
            with tempfile.TemporaryDirectory(prefix="longdoc-") as folder:
                for name, content in files.items():
                    (Path(folder) / Path(name).name).write_bytes(content)
                self.pipeline_ = Pipeline.load(folder, PredictionConfig(**prediction))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags


def _texts(given: Any) -> list[str]:
    """Texts as a list.

    Raises:
        UsageError: one string, a table of several columns, or an item that is no string; never shows one.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"`X` must be a list of texts, but is {type(given).__name__} instead.")
    shape = getattr(given, "shape", None)
    if shape is not None and len(shape) > 1:
        if len(shape) != 2 or shape[1] != 1:
            raise UsageError(f"`X` must be texts in one column, but has the shape {tuple(shape)} instead.")
        given = np.asarray(given, dtype=object)[:, 0]
    texts = list(given)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"a text must be a string, but item {number} is {type(text).__name__} instead.")
    return [str(text) for text in texts]


def _refuse_missing(y: Any) -> None:
    """scikit-learn would say of them that their type is unknown.

    Raises:
        UsageError: a text has no class; of several classes an empty list is none, and right.
    """
    missing = sum(map(_is_missing, y))
    if missing:
        raise UsageError(
            f"`y` must have a class for each text, but {missing} of {len(y)} are missing (None or NaN). Leave these "
            "texts out, or label them."
        )


def _is_missing(label: Any) -> bool:
    if isinstance(label, list | tuple | set | frozenset):
        return any(map(_is_missing, label))
    nan = isinstance(label, float | np.floating) and math.isnan(label)
    return nan or label is None or type(label).__name__ == "NAType"  # pandas, which need not be installed


def _is_rows_of_labels(y: Any) -> bool:
    """Whether `y` holds a list of classes for each text."""
    if isinstance(y, np.ndarray) and y.ndim != 1:
        return False
    return len(y) > 0 and all(isinstance(item, list | tuple | set | frozenset) for item in y) and not _is_matrix(y)


def _is_matrix(y: Any) -> bool:
    """Lists of one length of nothing but 0 and 1: an indicator matrix as lists."""
    if not all(isinstance(row, list | tuple) and row for row in y) or len({len(row) for row in y}) != 1:
        return False
    return all(isinstance(value, int | np.integer) and value in (0, 1) for row in y for value in row)


def _targets(y: Any) -> tuple[bool, NDArray[Any], NDArray[np.int64]]:
    """Whether there are several classes a text, the classes, and for each text its number or its row of 0 and 1."""
    if _is_rows_of_labels(y):
        counted = Counter(label for labels in y for label in set(labels))
        classes = np.array(sorted(counted))
        return True, classes, MultiLabelBinarizer(classes=classes.tolist()).fit_transform(y).astype(np.int64)
    y = np.asarray(y)
    check_classification_targets(y)
    if y.ndim == 2 and y.shape[1] > 1:
        if not np.isin(y, (0, 1)).all():
            raise UsageError("`y` must be an indicator matrix of 0 and 1 where it has columns, but is not.")
        return True, np.arange(y.shape[1]), y.astype(np.int64)
    classes, chosen = np.unique(y.reshape(-1), return_inverse=True)
    return False, classes, chosen.astype(np.int64)


def _place(tree: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    """Put a value into a tree of sections; a section that was given as a word becomes one of that kind."""
    for key in keys[:-1]:
        step = tree.get(key)
        step = {"kind": step} if isinstance(step, str) else dict(step or {})
        tree[key] = step
        tree = step
    tree[keys[-1]] = value
