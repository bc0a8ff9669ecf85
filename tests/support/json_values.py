"""Values inside a JSON value, by their paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Step = str | int


def leaves(value: object, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The paths of a JSON value, of everything inside it too."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield from leaves(item, (*path, step))


def replaced(given: Any, path: Sequence[Step], value: object) -> object:
    """The JSON value with another value at the path. It is changed in place, but for the empty path."""
    if not path:
        return value
    inner = given
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return given
