"""What a `config.json` claims of a model, held against the names and shapes of the tensors beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import ClassifierFormat, TaggerFormat
from longdoc.errors import CheckpointError, counted

__all__ = ["check_rows", "class_by_tensors", "classes_named", "contradiction", "family_by_tensors"]


def classes_named(config: Mapping[str, Any], folder: Path) -> list[str]:
    """What `architectures` lists, nothing where it is not there.

    Raises:
        CheckpointError: it is no list of names.
    """
    named = config.get("architectures")
    if named is None:
        return []
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        found = f"the string {named[:60]!r}" if isinstance(named, str) else f"of type {type(named).__name__}"
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must be a list of names of classes, but is {found} "
            'instead. Write it as ["..."].'
        )
    return named


def class_by_tensors(family: Family, config: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The class of the family that has a head under such names; None = none has.

    Several families give classifiers and taggers one name: labels of which one is `O` are tags.
    """
    there = {family.fix_name(name) for name in names}
    formats = {f: _last(f) for f in (family.classifier, family.tagger, family.answerer) if f is not None}
    found = [format for format, last in formats.items() if last in there]
    labels = config.get("id2label")
    if isinstance(labels, Mapping) and "O" in labels.values():
        found.sort(key=lambda format: format is not family.tagger)
    return found[0].architecture if found else None


def family_by_tensors(families: Sequence[Family], names: Iterable[str]) -> Family | None:
    """The first family in whose words most of the names are; None where these are few."""
    there = list(names)
    most = max(families, key=lambda family: _known(family, there))
    return most if 2 * _known(most, there) > len(there) else None


def contradiction(
    folder: Path, config: Mapping[str, Any], family: Family, families: Sequence[Family], names: Sequence[str]
) -> str | None:
    """Why a folder whose `architectures` names no model that answers may be one nevertheless: a sentence, or None."""
    named, place = classes_named(config, folder), f"in `{folder / 'config.json'}`"
    owner = next((each for each in families if set(_classes(each)) & set(named)), None)
    if owner is not None and not set(_classes(family)) & set(named):
        true = family_by_tensors([family, *families], names)
        told = "" if true is None else f" The tensors have the names of `{true.model_type}`."
        return (
            f"`model_type` and `architectures` {place} must be of one family, but are `{config.get('model_type')}` and "
            f"{', '.join(named)} (of `{owner.model_type}`) instead.{told} Correct the one that is wrong."
        )
    found = class_by_tensors(family, config, names)
    if found is None or not named:
        return None
    return (
        f"`architectures` {place} must name the class whose head the weights hold, as {found}, but names "
        f"{', '.join(named)} instead. Correct `config.json`."
    )


def check_rows(
    folder: Path,
    head: Mapping[str, Tensor],
    format: ClassifierFormat | TaggerFormat,
    config: Mapping[str, Any],
    labels: Sequence[str],
) -> None:
    """Refuse a head that gives more or fewer scores than there are labels.

    Raises:
        CheckpointError: names both.
    """
    ours = f"{_inner(format)}output.weight"
    tensor = head.get(ours)
    if tensor is None or not tensor.ndim or len(tensor) == len(labels):
        return
    said = (
        f"names {counted(len(labels), 'label')} instead"
        if config.get("id2label") is not None
        else f"is not there, which stands for {counted(len(labels), 'label')}"
    )
    raise CheckpointError(
        f"`id2label` in `{folder / 'config.json'}` must name a label for each row of {format.keys.to_theirs(ours)} "
        f"({'x'.join(map(str, tensor.shape))}), but {said}. Correct `config.json`, or fetch the checkpoint again."
    )


def _inner(format: ClassifierFormat | TaggerFormat) -> str:
    """Where in the tensors of `keys` the head is: a tagger's are those of the head alone."""
    return "" if format.prefix else "head."


def _last(format: ClassifierFormat | TaggerFormat) -> str | None:
    return format.keys.to_theirs(f"{_inner(format)}output.weight")


def _classes(family: Family) -> list[str]:
    formats = (family.classifier, family.tagger, family.answerer, family.language_model)
    return [family.base_class, *(format.architecture for format in formats if format is not None)]


def _known(family: Family, names: Sequence[str]) -> int:
    def knows(name: str) -> bool:
        fixed = family.fix_name(name)
        return family.keys.to_ours(fixed) is not None or any(
            fixed.startswith(fusion.theirs.partition("{")[0]) for fusion in family.fusions
        )

    return sum(map(knows, names))
