"""Converts pydantic's errors to messages for scenario authors, with the position and the most similar valid name."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from flowsim.errors import did_you_mean
from flowsim.scenario.types import FIELD_PATTERN, NAME_PATTERN, PLACE_PATTERN, PYTHON_PATTERN, SUBTASKS_PATTERN, shown
from flowsim.scenario.yaml.positions import Path, YamlValue, shortened
from flowsim.scenario.yaml.problems import MAX_REPORTED, Problems

_PATTERNS: Final = {
    PLACE_PATTERN: "a subtask: NAME, NAME/INDEX or NAME/FIRST-LAST",
    SUBTASKS_PATTERN: "the index of a subtask, from 0, or FIRST-LAST",
    NAME_PATTERN: "a name of letters, digits, '_' and '-' that begins with a letter",
    FIELD_PATTERN: "a field name of letters, digits and '_' that begins with a letter",
    PYTHON_PATTERN: "package.module:function",
}
_KINDS: Final = {
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "nothing",
    "int_from_float": "an integer",
    "int_parsing_size": "an integer that fits an int64",
    "finite_number": "a finite number",
    "string_unicode": "a text without lone surrogates",
}
_LIMITS: Final = {"greater_than_equal": (">=", "ge"), "less_than_equal": ("<=", "le"), "greater_than": (">", "gt")}


def report(error: ValidationError, model: type[BaseModel], root: YamlValue, problems: Problems) -> None:
    """Adds the errors of a failed validation to ``problems``: messages of the first, and the number of the others."""
    groups: dict[Path, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        groups.setdefault(_document_path(details, root), []).append(details)
    # Another branch of a union may match more of the value: its message is closer to the mistake.
    matched_further = {path[:length] for path in groups for length in range(len(path))}
    paths = sorted((path for path in groups if path not in matched_further), key=problems.place)
    listed: set[Path] = set()
    for path in paths[:MAX_REPORTED]:
        _report_one(path, groups[path], model, problems, is_listed=path[:-1] in listed)
        listed.add(path[:-1])
    problems.others += len(paths[MAX_REPORTED:])


def _document_path(details: ErrorDetails, root: YamlValue) -> Path:
    """Returns the error's path through the document, without pydantic's names of union branches."""
    path: Path = ()
    value: object = root
    parts = details["loc"]
    for index, part in enumerate(parts):
        inner = _child(value, part)
        if inner is not _NOTHING:
            value, path = inner, (*path, part)
        elif details["type"] == "missing" and index == len(parts) - 1:
            return (*path, part)
    return path


_NOTHING: Final = object()


def _child(value: object, part: str | int) -> object:
    if isinstance(value, dict) and isinstance(part, str):
        return value.get(part, _NOTHING)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return _NOTHING


def _report_one(
    path: Path, alternatives: Sequence[ErrorDetails], model: type[BaseModel], problems: Problems, *, is_listed: bool
) -> None:
    """Adds one error to ``problems``.

    ``is_listed``: an earlier message may list the keys of the same mapping.
    """
    first = alternatives[0]
    name = shortened(str(path[-1])) if path else ""
    if first["type"] == "missing":
        problems.at_key(path[:-1], f"the key {name!r} is missing")
        return
    if first["type"] == "extra_forbidden":
        problems.at_key(
            path, f"unknown key {name!r}" + did_you_mean(name, _known_keys(model, path[:-1]), is_listed=is_listed)
        )
        return
    if first["loc"][-1:] == ("[key]",):
        problems.at_key(path, f"expected {_expected(first)}, got {shown(name)}")
        return
    whole = [details for details in alternatives if details["type"] == "value_error"]
    if whole:
        problems.at(path, _own_words(whole[0]))
        return
    expected = list(dict.fromkeys(_expected(details) for details in alternatives))
    got = first["input"]
    near = did_you_mean(got, _literals(alternatives)) if isinstance(got, str) and _literals(alternatives) else ""
    problems.at(path, f"expected {' or '.join(expected)}, got {shown(got)}{near if near.startswith(' (did') else ''}")


def _own_words(details: ErrorDetails) -> str:
    return details["msg"].removeprefix("Value error, ")


def _expected(details: ErrorDetails) -> str:
    kind = details["type"]
    context: Mapping[str, Any] = details.get("ctx", {})
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _LIMITS:
        sign, key = _LIMITS[kind]
        return f"a value {sign} {context[key]}"
    if kind == "literal_error":
        return str(context["expected"]).replace("True", "true")
    if kind == "string_pattern_mismatch":
        pattern = str(context["pattern"])
        return _PATTERNS.get(pattern, f"a text of the form {pattern}")
    if kind in ("too_short", "string_too_short"):
        least = context["min_length"]
        one, several = ("entry", "entries") if kind == "too_short" else ("character", "characters")
        return f"at least {least} {one if least == 1 else several}"
    if kind in ("too_long", "string_too_long"):
        return f"at most {context['max_length']} {'entries' if kind == 'too_long' else 'characters'}"
    return details["msg"][:1].lower() + details["msg"][1:]


def _literals(alternatives: Iterable[ErrorDetails]) -> list[str]:
    names: list[str] = []
    for details in alternatives:
        if details["type"] == "literal_error":
            expected = str(details.get("ctx", {}).get("expected", ""))
            names += [part.strip("' ") for part in expected.replace(" or ", ",").split(",")]
    return names


def _known_keys(model: type[BaseModel], path: Path) -> list[str]:
    """Returns the valid keys at a position."""
    here: list[object] = [model]
    for part in path:
        here = [inner for annotation in here for inner in _step(annotation, part)]
    return [key for kind in here if _is_model(kind) for key in _fields(kind)]


def _is_model(kind: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Returns the fields by key."""
    model.model_rebuild()  # until then, annotations of models that contain each other are names
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _step(annotation: object, part: str | int) -> list[object]:
    if _is_model(annotation):
        field = _fields(annotation).get(str(part))
        return [] if field is None else _plain_types(field.annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return _plain_types(arguments[1])
    return _plain_types(arguments[0]) if origin is list else []


def _plain_types(annotation: object) -> list[object]:
    """Returns the members of a union, without ``Annotated``."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain_types(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [inner for member in get_args(annotation) for inner in _plain_types(member)]
    return [] if origin is Literal else [annotation]
