"""The keys of the format, read from the models: which keys a mapping has, and where in the format a key is."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Final, Literal, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from flowsim.scenario.yaml.positions import Path

ANY_NAME: Final = "NAME"
"""Stands in the path of a key for a name that the author chooses, such as that of an operator."""
ANY_INDEX: Final = "[]"
"""Stands in the path of a key for an index of a list."""


def known_keys(model: type[BaseModel], path: Path) -> list[str]:
    """Returns the valid keys of the mapping at a position."""
    here: list[object] = [model]
    for part in path:
        here = [inner for annotation in here for inner in _step(annotation, part)]
    return [key for kind in here if _is_model(kind) for key in _fields(kind)]


def every_key(model: type[BaseModel]) -> Iterator[tuple[Path, FieldInfo]]:
    """Yields each key below a model, with its path; keys of a block inside a block of the same kind are left out."""
    yield from _below(model, (), ())


def _below(annotation: object, path: Path, outer: tuple[type[BaseModel], ...]) -> Iterator[tuple[Path, FieldInfo]]:
    if _is_model(annotation):
        if annotation in outer:
            return
        for key, field in _fields(annotation).items():
            yield (*path, key), field
            for inner in _plain_types(field.annotation):
                yield from _below(inner, (*path, key), (*outer, annotation))
        return
    origin = get_origin(annotation)
    if origin in (dict, list):
        for inner in _plain_types(get_args(annotation)[-1]):
            yield from _below(inner, (*path, ANY_NAME if origin is dict else ANY_INDEX), outer)


def choices_of(annotation: object) -> Iterator[str]:
    """Yields the names that a value can be."""
    if get_origin(annotation) is Literal:
        yield from (choice for choice in get_args(annotation) if isinstance(choice, str))
    elif get_origin(annotation) in (Annotated, Union, types.UnionType):
        for inner in get_args(annotation):
            yield from choices_of(inner)


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
