"""The values of a job on the real Flink. Java has numbers for them, and keys as text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Final

from flowsim.values.closed_set import copy_value
from flowsim.values.java_hash_code import key_hash
from flowsim.values.keys import state_key
from flowsim.values.types import TypeInformation, TypeKind, as_type

_INT_KINDS: Final = (TypeKind.INT, TypeKind.SHORT, TypeKind.BYTE)


class Numbers:
    """Objects by number: values of records, functions of the user, errors. Safe for several threads of tasks."""

    __slots__ = ("_next", "_objects")

    def __init__(self) -> None:
        self._next = count(1)
        self._objects: dict[int, object] = {}

    def add(self, thing: object) -> int:
        """Returns the number of an object, above 0."""
        number = next(self._next)
        self._objects[number] = thing
        return number

    def get(self, number: int) -> object:
        return self._objects[number]


class Values(Numbers):
    """The values of records. A value is copied when it is read, as if it had been serialized."""

    __slots__ = ()

    def value(self, number: int) -> object:
        """Returns a copy of the value."""
        return copy_value(self.get(number))

    def values(self, numbers: Iterable[str]) -> list[object]:
        """Returns copies of the values with these numbers, which are texts."""
        return [self.value(int(number)) for number in numbers]


class Keys:
    """Keys as texts that Java hashes and compares as Java's own keys: a letter for the type, and the value.

    >>> keys = Keys()
    >>> keys.text("a"), keys.text(5), keys.text(5, "INT"), keys.key("J5")
    ('Sa', 'J5', 'I5', 5)
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, object] = {}

    def text(self, key: object, declared: str | TypeInformation | None = None) -> str:
        """Returns the text of a key; raises NullKey for None and ValueNotAllowed for what cannot be a key."""
        kind = None if declared is None else as_type(declared)
        text = self._text(key, None if kind is None else kind.kind, declared)
        self._keys[text] = key
        return text

    def key(self, text: str) -> object:
        """Returns the key of a text."""
        return self._keys[text]

    def _text(self, key: object, kind: TypeKind | None, declared: str | TypeInformation | None) -> str:
        match key:
            case str():
                return f"S{key}"
            case bool():
                return f"Z{str(key).lower()}"
            case int() if kind in _INT_KINDS:
                return f"I{key}"
            case int() if kind in (None, TypeKind.LONG, TypeKind.PICKLED_BYTE_ARRAY):
                return f"J{key}"
            case float() if kind in (None, TypeKind.DOUBLE, TypeKind.PICKLED_BYTE_ARRAY):
                return f"D{'NaN' if key != key else repr(key).replace('inf', 'Infinity')}"
            case _:
                return f"X{key_hash(key, declared)}:{state_key(key)!r}"
