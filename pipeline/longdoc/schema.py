"""The base of every configuration section: strict, frozen, silent about the values it refuses, clear about why."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

__all__ = ["Config", "explain_faults", "kind_by_word", "takes_kinds"]


class Config(BaseModel):
    """One section of the configuration.

    Unknown keys, NaN, infinity, and true and false where a number belongs are refused, values cannot be changed after
    validation, and a validation error never prints the offending input (it may be a user's text).
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _numbers_are_not_true_or_false(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            faults = [fault for name, value in values.items() for fault in cls._truths(name, value)]
            if faults:
                raise ValidationError.from_exception_data(cls.__name__, faults, hide_input=True)
        return _as_read(values)

    @classmethod
    def _truths(cls, name: str, value: Any) -> Iterator[InitErrorDetails]:
        """A fault for each true and false where only a number may stand."""
        places: dict[tuple[str | int, ...], Any] = {(name,): value}
        if isinstance(value, list | tuple):
            places.update({(name, number): each for number, each in enumerate(value)})
        for place, each in places.items():
            if isinstance(each, bool) and name in cls.model_fields:
                types = set(_plain_types(cls.model_fields[name].annotation))
                if bool not in types and types & {int, float}:
                    kind = "float_type" if float in types else "int_type"
                    yield InitErrorDetails(type=PydanticCustomError(kind, "must be a number"), loc=place, input=each)


def _plain_types(annotation: Any) -> Iterator[Any]:
    """The types of which an annotation is made."""
    parts = get_args(annotation)
    if not parts:
        yield annotation
    for part in parts:
        yield from _plain_types(part)


def kind_by_word(value: Any) -> Any:
    """`merger: max` in a file is short for `merger: {kind: max}`: what a tagged union validates first."""
    return {"kind": value} if isinstance(value, str) else _as_read(value)


def _as_read(value: Any) -> Any:
    """Lists as tuples, all the way down: what pydantic makes of JSON by itself, unless a validator saw it first."""
    if isinstance(value, list):
        return tuple(map(_as_read, value))
    return {key: _as_read(each) for key, each in value.items()} if isinstance(value, dict) else value


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
    faults = [(_steps(fault["loc"], root), fault) for fault in error.errors(include_url=False)]
    for path, fault in _telling(faults):
        key = ".".join(_without_union_tags(path, root))
        if key in sentences:
            continue  # a value that fits none of several types has a fault for each; the first type is the usual one
        if fault["type"] == "extra_forbidden":
            sentences[key] = _unknown_key(key, path, root, prefix)
        else:
            sentences[key] = _wrong_value(key.removeprefix(prefix), fault, path, root)
    return "\n".join(sentences.values())


def _steps(place: Sequence[str | int], root: type[BaseModel]) -> list[str]:
    """The keys of a fault's place, and the kinds of the sections on the way.

    pydantic puts the type that it tried into the place where a value may be of several; people did not write it.
    """
    steps: list[str] = []
    for step in place:
        if not _is_type(step) or _is_tag(str(step), _models_at(steps, root)):
            steps.append(str(step))
    return steps


def _is_type(step: str | int) -> bool:
    return isinstance(step, str) and ("[" in step or "-" in step or step in ("bool", "int", "float", "str", "none"))


def _telling(faults: Sequence[tuple[list[str], Any]]) -> Iterator[tuple[list[str], Any]]:
    """The faults without those that only follow from others.

    Where a value may be of several types, the one that it has says what is wrong with it. A list whose entries are
    wrong counts as empty.
    """
    for path, fault in faults:
        deeper = any(other[: len(path)] == path and len(other) > len(path) for other, _ in faults)
        beside = any(other == path and not _is_about_type(rival) for other, rival in faults)
        follows = (_is_about_type(fault) and (deeper or beside)) or (fault["type"] == "too_short" and deeper)
        if not follows:
            yield path, fault


def _is_about_type(fault: Any) -> bool:
    return str(fault["type"]).endswith(("_type", "_parsing"))


def _unknown_key(key: str, path: Sequence[str], root: type[BaseModel], prefix: str) -> str:
    # Below a section of one kind there are only the fields of other kinds: no help to this one.
    is_kind = any(_tags(model) for model in _models_at(path[:-1], root))
    known = [field for field in _fields_at(path[:-1], root) if not (is_kind and field == "kind")]
    section = ".".join(_without_union_tags(path[:-1], root))
    if kinds := _kinds_with(path, root):
        return _of_another_kind(key, section, path[-2], kinds, known, prefix)
    near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.7) or _only_one_with(path[-1], known)
    found = [] if near else _anywhere(path[-1], root)
    elsewhere = [other for other in found if not (is_kind and takes_kinds(other.split(".")[:-1], root))]
    if near:
        right = f"{section}.{near[0]}" if section else near[0]
        way_out = f"Did you mean `{right.removeprefix(prefix)}`?"
    elif elsewhere:
        way_out = f"Did you mean `{elsewhere[0].removeprefix(prefix)}`?"
    else:
        way_out = f"Known here: {', '.join(known)}." if known else "There is nothing to set here."
    return f"`{key.removeprefix(prefix)}` is not a configuration key. {way_out}"


def _kinds_with(path: Sequence[str], root: type[BaseModel]) -> list[str]:
    """The kinds that have the last key of a path; none where it is not below one of several kinds."""
    if len(path) < 2:
        return []
    kinds = _models_at(path[:-2], root)
    if not _is_tag(path[-2], kinds):
        return []
    return [tag for model in kinds if path[-1] in model.model_fields for tag in _tags(model)]


def _of_another_kind(
    key: str, section: str, chosen: str, kinds: Sequence[str], known: Sequence[str], prefix: str
) -> str:
    """What to say of a key that the section would have if it were of another kind."""
    those = kinds[0] if len(kinds) == 1 else f"{', '.join(kinds[:-1])} and {kinds[-1]}"
    said = f"`{key.removeprefix(prefix)}` is not a key of the kind {chosen}, but of {those}."
    setting = f"{section}.kind".removeprefix(prefix)
    if setting != "kind":  # else the kind is no key of the user's, but was said elsewhere
        said += f" Set `{setting}={kinds[0]}` too" if len(kinds) == 1 else f" Set `{setting}` to one of these too"
        said += ", or leave it out."
    return f"{said} Known of {chosen}: {', '.join(known)}." if known else said


def _only_one_with(word: str, known: Sequence[str]) -> list[str]:
    """The one key of which words are a part, or the first letters: `num_train_epochs` of `epochs`, `lr`."""
    for names in (
        [name for name in known if f"_{word}_" in f"_{name}_"],
        [name for name in known if len(word) > 1 and word == "".join(part[:1] for part in name.split("_"))],
    ):
        if len(names) == 1:
            return names
    return []


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
    "missing": lambda key, fault: "must be given, but is not",
    "greater_than_equal": lambda key, fault: f"must be at least {_limit(fault['ctx']['ge'])}, but is less",
    "greater_than": lambda key, fault: f"must be more than {_limit(fault['ctx']['gt'])}, but is not",
    "less_than_equal": lambda key, fault: f"must be at most {_limit(fault['ctx']['le'])}, but is more",
    "less_than": lambda key, fault: f"must be less than {_limit(fault['ctx']['lt'])}, but is not",
    "too_short": lambda key, fault: f"must have at least {_entries(fault['ctx']['min_length'])}, but has fewer",
}
"""What pydantic calls a fault -> what follows the key."""


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _wrong_value(key: str, fault: Any, path: Sequence[str], root: type[BaseModel]) -> str:
    if fault["type"] == "model_attributes_type" and takes_kinds(path, root):
        kinds = ", ".join(tag for model in _models_at(path, root) for tag in _tags(model))
        return f"`{key}` must be of a known kind, but is {_kind(fault['input'])} instead. Write one of {kinds}."
    sentence = _SENTENCES.get(fault["type"])
    if fault["type"] == "union_tag_not_found":
        return f"`{key}` must say its `kind`, but does not. {_kinds_for(key, fault['input'], path, root)}"
    if sentence is not None:
        return f"`{key}` {sentence(key, fault)}."
    message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    name = f"`{path[-1]}` " if path else ""
    if name and message.startswith(name):
        return f"`{key}` {message.removeprefix(name)}."
    message = message[:1].lower() + message[1:] if message[:1] != "`" else message
    return f"`{key}`: {message}." if key else f"{message}."


def _kinds_for(key: str, said: Any, path: Sequence[str], root: type[BaseModel]) -> str:
    """Which kinds a section without one may be of: those that have all of its keys, if there are any."""
    kinds = [model for model in _models_at(path, root) if _tags(model)]
    keys = set(said) if isinstance(said, Mapping) else set()
    fitting = [model for model in kinds if keys <= set(model.model_fields)]
    words = [tag for model in fitting or kinds for tag in _tags(model)]
    if len(words) == 1:
        return f"Set `{key}.kind={words[0]}` too."
    return f"Set `{key}.kind` to one of {', '.join(words)}."


def _plain(quoted: str) -> str:
    """pydantic quotes the words of a list; people write them bare."""
    return quoted.replace("'", "")


def _models_at(path: Sequence[str], root: type[BaseModel]) -> list[type[BaseModel]]:
    models: list[type[BaseModel]] = [root]
    for step in path:
        if step.isdigit():
            continue  # an entry of a list is what the list holds
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
