"""How recordings describe the parts of a window operator: what the laws check a window by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, TypeVar

K = TypeVar("K", bound=type)

_DECISIONS: Final = frozenset({
    "assign_windows", "is_event_time", "window_of", "windows_of", "gap_of", "merge_windows",
    "on_element", "on_event_time", "on_processing_time", "can_merge", "on_merge", "clear", "first_base", "next_fire_time",
    "evict_before", "evict_after", "evict",
})  # fmt: skip
"""The methods in which assigners, triggers and evictors decide. A subclass that overrides one of them is user-defined,
and is described by its class name alone: no law can check it."""

_DESCRIBED: Final[dict[type, tuple[str, Mapping[str, str]]]] = {}
"""Ready-made class -> its name in recordings, and the attributes with its numbers, by their names in recordings."""


def described(name: str, **attributes: str) -> Callable[[K], K]:
    """Decorates an assigner, a trigger or an evictor of flowsim with its ``name`` in recordings.

    ``attributes``: what it is described by, as ``count="max_count"``: the name in recordings, and the attribute.
    """

    def register(kind: K) -> K:
        _DESCRIBED[kind] = name, attributes
        return kind

    return register


def name_and_numbers(part: object) -> tuple[str, dict[str, object]] | None:
    """Returns the name and the numbers of an assigner, a trigger or an evictor; None for a user-defined one."""
    kind = type(part)
    made = next((base for base in kind.__mro__ if base in _DESCRIBED), None)
    if made is None or any(getattr(kind, name, None) is not getattr(made, name, None) for name in _DECISIONS):
        return None
    name, attributes = _DESCRIBED[made]
    return name, {key: _recorded(getattr(part, attribute)) for key, attribute in attributes.items()}


def kind_of(part: object) -> dict[str, object]:
    """Describes a trigger or an evictor."""
    ready_made = name_and_numbers(part)
    if ready_made is None:
        return {"kind": "custom", "class": type(part).__name__}
    name, numbers = ready_made
    return {"kind": name, **numbers}


def _recorded(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [kind_of(part) for part in value]
    return value if isinstance(value, int | float) else kind_of(value)
