"""Methods of dataclasses that need no compilation: Python 3.11 and 3.12 compile six functions for each class.

A command creates 200 to 350 dataclasses at its start. With these methods, Python compiles only ``__init__``: `check` and
`run` take 0.07 s less, of 0.4 and 0.64. Classes behave the same (``tests/unit/test_dataclass_methods.py``).
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, Final

Method = Callable[..., Any]
Fields = Sequence[Field[Any]]
_LAST_VERSION: Final = (3, 12)


def use_shared_methods() -> None:
    """Lets dataclasses that are created from now on have the methods below, in the versions of Python that gain by it."""
    if sys.version_info[:2] <= _LAST_VERSION:
        for name, make in METHODS.items():
            setattr(dataclasses, name, make)


def _values(names: Sequence[str]) -> Method:
    """A function of an object: the tuple of these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda each: tuple(getattr(each, name) for name in names)


def _repr_method(fields: Fields, globals: object) -> Method:
    names = [field.name for field in fields]

    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return recursive_repr()(__repr__)


def _hash_method(fields: Fields, globals: object) -> Method:
    values = _values([field.name for field in fields])

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


_compiled_comparison: Final[Method] = dataclasses._cmp_fn  # type: ignore[attr-defined]


def _comparison(name: str, operator: str, own: str, other: str, globals: object) -> Method:
    """``own``: the text ``(self.x,self.y,)``. Few classes have an order: its methods are compiled."""
    if operator != "==":
        method: Method = _compiled_comparison(name, operator, own, other, globals=globals)
        return method
    values = _values([part.removeprefix("self.") for part in own.strip("()").split(",") if part])

    def __eq__(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _frozen_methods(cls: type[Any], fields: Fields, globals: object) -> tuple[Method, Method]:
    names = frozenset(field.name for field in fields)

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


METHODS: Final[dict[str, Callable[..., Method | tuple[Method, Method]]]] = {
    "_repr_fn": _repr_method,
    "_hash_fn": _hash_method,
    "_cmp_fn": _comparison,
    "_frozen_get_del_attr": _frozen_methods,
}
"""By the name of the function of ``dataclasses`` that would compile the method."""
