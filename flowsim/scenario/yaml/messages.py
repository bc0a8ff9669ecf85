"""Converts pydantic's errors to messages for scenario authors, with the position and the most similar valid name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from flowsim.errors import did_you_mean
from flowsim.scenario.types import FIELD_PATTERN, NAME_PATTERN, PLACE_PATTERN, PYTHON_PATTERN, SUBTASKS_PATTERN, shown
from flowsim.scenario.yaml.flink_names import key_elsewhere, suggested_key, suggested_value
from flowsim.scenario.yaml.keys import known_keys
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
        problems.at_key(path, f"unknown key {name!r}{_meant(model, path, first['input'], is_listed=is_listed)}")
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
    near = _meant_value(model, path, got, _literals(alternatives)) if isinstance(got, str) else ""
    problems.at(path, f"expected {' or '.join(expected)}, got {shown(got)}{near}")


def _meant(model: type[BaseModel], path: Path, value: YamlValue, *, is_listed: bool) -> str:
    """Returns the end of the message for an unknown key: what it may mean, or the known keys."""
    place, name = path[:-1], str(path[-1])
    suggestion = suggested_key(model, place, name, value)
    if suggestion:
        return suggestion
    known = did_you_mean(name, known_keys(model, place), is_listed=is_listed)
    return known if _is_question(known) else key_elsewhere(model, place, name, value) or known


def _meant_value(model: type[BaseModel], path: Path, got: str, allowed: Sequence[str]) -> str:
    near = did_you_mean(got, allowed) if allowed else ""
    return near if _is_question(near) else suggested_value(model, path, got, allowed)


def _is_question(hint: str) -> bool:
    return hint.startswith(" (did")


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
