"""The base of every configuration section: strict, frozen, silent about the values it refuses, clear about why."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = ["Config", "explain_faults", "kind_by_word", "takes_kinds"]


class Config(BaseModel):
    """One section of the configuration.

    Unknown keys, NaN and infinity are refused, values cannot be changed after validation, and a validation error never
    prints the offending input (it may be a user's text).
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


def kind_by_word(value: Any) -> Any:
    """`merger: max` in a file is short for `merger: {kind: max}`: what a tagged union validates first."""
    return {"kind": value} if isinstance(value, str) else value


def takes_kinds(path: Sequence[str], root: type[BaseModel]) -> bool:
    """Whether what stands under these keys is one of several kinds, and so may be said by a word."""
    return any(_tags(model) for model in _models_at(path, root))


def explain_faults(error: ValidationError, root: type[BaseModel], prefix: str = "") -> str:
    """One sentence a fault: the key, what is wrong with it, and the way out. Values are never shown.

    Args:
        error: what pydantic says.
        root: the section that was validated.
        prefix: the beginning of all keys that the user did not write, left out: `position.`.
    """
    sentences: dict[str, str] = {}
    for fault in error.errors(include_url=False):
        path = [str(step) for step in fault["loc"] if not _is_type(step)]
        key = ".".join(_without_union_tags(path, root))
        if key in sentences:
            continue  # a value that fits none of several types has a fault for each; the first type is the usual one
        if fault["type"] == "extra_forbidden":
            sentences[key] = _unknown_key(key, path, root, prefix)
        else:
            sentences[key] = _wrong_value(key.removeprefix(prefix), fault)
    return "\n".join(sentences.values())


def _is_type(step: str | int) -> bool:
    """pydantic puts the type that it tried into the path where a value may be of several; people did not write it."""
    return isinstance(step, str) and ("[" in step or "-" in step or step in ("bool", "int", "float", "str", "none"))


def _unknown_key(key: str, path: Sequence[str], root: type[BaseModel], prefix: str) -> str:
    known = _fields_at(path[:-1], root)
    section = ".".join(_without_union_tags(path[:-1], root))
    near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.7)
    # Below a section of one kind there are only the fields of other kinds: no help to this one.
    is_kind = any(_tags(model) for model in _models_at(path[:-1], root))
    found = [] if near else _anywhere(path[-1], root)
    elsewhere = [other for other in found if not (is_kind and other.startswith(section + "."))]
    if near:
        right = f"{section}.{near[0]}" if section else near[0]
        way_out = f"Did you mean `{right.removeprefix(prefix)}`?"
    elif elsewhere:
        way_out = f"Did you mean `{elsewhere[0].removeprefix(prefix)}`?"
    else:
        way_out = f"Known here: {', '.join(known)}." if known else ""
    return f"`{key.removeprefix(prefix)}` is not a configuration key. {way_out}".strip()


_KINDS: tuple[tuple[type, str], ...] = (
    (type(None), "null"),
    (bool, "true or false (YAML reads yes, no, on and off so)"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "a string"),
    (Mapping, "a mapping"),
    (Sequence, "a list"),
)


def _kind(value: Any) -> str:
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "something else")


def _list(key: str, fault: Any) -> str:
    return f"must be a list, but is {_kind(fault['input'])} instead. Write {key}=[...]"


def _string(key: str, fault: Any) -> str:
    quote = " Put it in quotes" if isinstance(fault["input"], bool | int | float) else " Write a word"
    return f"must be a string, but is {_kind(fault['input'])} instead.{quote}"


def _number(key: str, fault: Any) -> str:
    # YAML 1.1 takes 1e-3 for a string unless it is written 1.0e-3; pydantic reads both, so this is another string.
    return f"must be a number, but is {_kind(fault['input'])} instead"


def _integer(key: str, fault: Any) -> str:
    what = "a number with a fraction" if fault["type"] == "int_from_float" else _kind(fault["input"])
    return f"must be a whole number, but is {what} instead"


def _limit(limit: float) -> str:
    """A bound to the last digit, or short where it has a fraction."""
    return str(int(limit)) if limit == int(limit) else f"{limit:g}"


def _section(key: str, fault: Any) -> str:
    return f"must hold keys of its own, but is {_kind(fault['input'])} instead. Set one of them: {key}.KEY=VALUE"


_SENTENCES: dict[str, Callable[[str, Any], str]] = {
    **dict.fromkeys(("tuple_type", "list_type"), _list),
    "string_type": _string,
    **dict.fromkeys(("float_type", "float_parsing"), _number),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), _integer),
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), _section),
    **dict.fromkeys(("bool_type", "bool_parsing"), lambda key, fault: "must be true or false, but is not"),
    "finite_number": lambda key, fault: "must be a finite number, but is NaN or infinite",
    "literal_error": lambda key, fault: f"must be {_plain(fault['ctx']['expected'])}, but is not",
    "union_tag_invalid": lambda key, fault: (
        f"must be of a known kind: {_plain(fault['ctx']['expected_tags'])}. Correct `kind`"
    ),
    "union_tag_not_found": lambda key, fault: "must say its `kind`, but does not",
    "missing": lambda key, fault: "must be given, but is not",
    "greater_than_equal": lambda key, fault: f"must be at least {_limit(fault['ctx']['ge'])}, but is less",
    "greater_than": lambda key, fault: f"must be more than {_limit(fault['ctx']['gt'])}, but is not",
    "less_than_equal": lambda key, fault: f"must be at most {_limit(fault['ctx']['le'])}, but is more",
    "less_than": lambda key, fault: f"must be less than {_limit(fault['ctx']['lt'])}, but is not",
    "too_short": lambda key, fault: f"must have at least {fault['ctx']['min_length']} entries, but has fewer",
}
"""What pydantic calls a fault -> what follows the key."""


def _wrong_value(key: str, fault: Any) -> str:
    sentence = _SENTENCES.get(fault["type"])
    if sentence is not None:
        return f"`{key}` {sentence(key, fault)}."
    message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"`{key}`: {message[:1].lower() + message[1:] if message[:1] != '`' else message}."


def _plain(quoted: str) -> str:
    """pydantic quotes the words of a list; people write them bare."""
    return quoted.replace("'", "")


def _models_at(path: Sequence[str], root: type[BaseModel]) -> list[type[BaseModel]]:
    models: list[type[BaseModel]] = [root]
    for step in path:
        if _is_tag(step, models):
            models = [model for model in models if step in _tags(model)]
        else:
            fields = [model.model_fields[step] for model in models if step in model.model_fields]
            models = [model for field in fields for model in _models_in(field.annotation)]
    return models


def _is_tag(step: str, models: Sequence[type[BaseModel]]) -> bool:
    """Whether a step names one of several kinds. It may be a field of that kind, too, but then it comes again."""
    return len(models) > 1 and any(step in _tags(model) for model in models)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _tags(model: type[BaseModel]) -> tuple[str, ...]:
    """The words by which a tagged union knows this model."""
    kind = model.model_fields.get("kind")
    return tuple(str(value) for value in get_args(kind.annotation)) if kind is not None else ()


def _without_union_tags(path: Sequence[str], root: type[BaseModel]) -> list[str]:
    """pydantic puts the chosen kind of a union into the path; people did not write it."""
    kept: list[str] = []
    walked: list[str] = []
    for step in path:
        is_tag = _is_tag(step, _models_at(walked, root))
        walked.append(step)
        if not is_tag:
            kept.append(step)
    return kept


def _fields_at(path: Sequence[str], root: type[BaseModel]) -> list[str]:
    return sorted({name for model in _models_at(path, root) for name in model.model_fields})


def _anywhere(name: str, root: type[BaseModel], prefix: str = "", depth: int = 0) -> list[str]:
    """Keys of that very name in other sections: `learning_rate` at the top means `training.learning_rate`."""
    found = []
    for field, information in root.model_fields.items():
        here = f"{prefix}{field}"
        if field == name and depth:
            found.append(here)
        if depth < 4:
            for model in _models_in(information.annotation):
                found.extend(_anywhere(name, model, here + ".", depth + 1))
    return list(dict.fromkeys(found))
