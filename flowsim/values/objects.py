"""Objects of any class as record values: taken apart as pickle does, and put together again.

Channels, states and recordings have the class's name and the parts of an object, not its pickle: a pickle depends on which
parts are shared and on the order of sets, so equal objects can have different pickles.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from importlib import import_module
from types import FunctionType
from typing import Any, Final
from weakref import WeakSet

from flowsim.errors import ValueNotAllowed

_PROTOCOL: Final = 4
"""The protocol of pickle in which objects give their parts."""


class Making(IntEnum):
    """How an object is created from its arguments."""

    NEW = 0
    """``cls.__new__(cls, *arguments)``, as for most objects."""
    CALL = 1
    """``cls(*arguments)``, or another callable."""
    SET = 2
    """``cls(arguments)``: the arguments are the items of a set."""
    NAME = 3
    """The object is the class or function of that name."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The name of the class of an object, or of what creates it, and its content. Python: ``object.__reduce__``."""

    making: Making
    name: str
    arguments: tuple[object, ...] = ()
    state: object = None
    items: tuple[object, ...] = ()
    pairs: tuple[tuple[object, object], ...] = ()

    def content(self) -> tuple[object, ...]:
        """Returns the parts that are values themselves."""
        return (*self.arguments, self.state, *self.items, *self.pairs)

    def mapped(self, change: Callable[[object], object]) -> Parts:
        """Returns these parts with another value for each value."""
        return replace(
            self,
            arguments=tuple(map(change, self.arguments)),
            state=change(self.state),
            items=tuple(map(change, self.items)),
            pairs=tuple((change(key), change(value)) for key, value in self.pairs),
        )


_known: Final[dict[str, object]] = {}
"""The classes and functions by name that are part of a value of this process."""

_replaced: Final[WeakSet[type]] = WeakSet()
"""Classes whose name belongs to another class since."""


def _name_of(found: object) -> str:
    """Returns the name of a class or function, under which ``known`` finds it. Raises ValueNotAllowed."""
    module, path = getattr(found, "__module__", None), getattr(found, "__qualname__", None)
    if module is None or path is None:
        raise ValueNotAllowed(f"a {type(found).__name__} has no name by which pickle finds it")
    name = f"{module}:{path}"
    before = _known.get(name)
    if before is found:
        return name
    if isinstance(found, type):
        if found in _replaced:
            raise ValueNotAllowed(f"two classes have the name {name.replace(':', '.')}: rename one of them")
        if isinstance(before, type):
            _replaced.add(before)
    elif _imported(name) is not found:
        raise ValueNotAllowed(f"no module has it as {name.replace(':', '.')}")
    _known[name] = found
    return name


def _imported(name: str) -> object:
    """Returns what has this name in an imported module; None if there is nothing."""
    module, _, path = name.partition(":")
    found: object = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def parts_of(value: object) -> Parts:
    """Takes an object apart. Raises ValueNotAllowed with the reason if pickle cannot."""
    if isinstance(value, type | FunctionType):
        return Parts(Making.NAME, _name_of(value))
    kind = type(value)
    try:
        reduce = copyreg.dispatch_table.get(kind)
        reduced = value.__reduce_ex__(_PROTOCOL) if reduce is None else reduce(value)
    except Exception as error:
        raise ValueNotAllowed(str(error) or type(error).__name__) from error
    if isinstance(reduced, str):
        return Parts(Making.NAME, _name_of(value))
    creator, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    content = state, tuple(items or ()), tuple(pairs or ())
    if isinstance(value, set | frozenset):
        return Parts(Making.SET, _name_of(kind), tuple(value), state)
    if creator is copyreg.__newobj__:  # type: ignore[attr-defined]
        return Parts(Making.NEW, _name_of(arguments[0]), arguments[1:], *content)
    return Parts(Making.CALL, _name_of(creator), arguments, *content)


def put_together(parts: Parts, find: Callable[[Parts], object]) -> object:
    """Returns a new object with these parts; ``find`` returns the class or function of their name."""
    creator: Any = find(parts)
    made: Any
    match parts.making:
        case Making.NAME:
            return creator
        case Making.NEW:
            made = creator.__new__(creator, *parts.arguments)
        case Making.SET:
            made = creator(parts.arguments)
        case Making.CALL:
            made = creator(*parts.arguments)
    _set_state(made, parts.state)
    for item in parts.items:
        made.append(item)
    for key, value in parts.pairs:
        made[key] = value
    result: object = made
    return result


def _set_state(made: object, state: Any) -> None:
    """Gives a new object its state, as pickle does."""
    if state is None:
        return
    setter = getattr(made, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        made.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        object.__setattr__(made, name, value)


def known(parts: Parts) -> object:
    """Finds the class of an object that this process took apart. Raises ValueNotAllowed for any other."""
    if parts.name not in _known:
        raise ValueNotAllowed(f"no value of this process has the class {parts.name.replace(':', '.')}")
    return _known[parts.name]


# By name: the core imports no clock and nothing random.
_IMMUTABLE: Final = frozenset(
    ["datetime:date", "datetime:time", "datetime:datetime", "datetime:timedelta", "datetime:timezone", "decimal:Decimal",
     "fractions:Fraction", "builtins:bool", "builtins:bytes", "builtins:complex", "builtins:float", "builtins:int",
     "builtins:range", "builtins:str"]
)  # fmt: skip
_PLAIN: Final = _IMMUTABLE | frozenset(
    ["builtins:bytearray", "builtins:dict", "builtins:frozenset", "builtins:list", "builtins:set", "builtins:tuple",
     "collections:Counter", "collections:OrderedDict", "collections:defaultdict", "collections:deque", "uuid:UUID"]
)  # fmt: skip
"""Classes of Python without effects, which anyone may create."""


def stored(parts: Parts) -> object:
    """Finds the class of an object that a stranger may have stored. Raises ValueNotAllowed.

    It calls nothing but ``__new__`` of a class that the program has, its enums, and classes of Python without effects.
    """
    if parts.name in _known:
        return _known[parts.name]
    module = parts.name.partition(":")[0]
    if parts.name in _PLAIN:
        import_module(module)
    found = _imported(parts.name)
    if parts.name not in _PLAIN:
        if not isinstance(found, type) or module.partition(".")[0] in sys.stdlib_module_names:
            raise ValueNotAllowed(f"the program has no class {parts.name.replace(':', '.')}, which a stored value has")
        if parts.making is Making.CALL and not issubclass(found, Enum):
            raise ValueNotAllowed(f"stored values of class {parts.name.replace(':', '.')} are not restored")
    _known[parts.name] = found
    return found


class ShownObject(dict[str, object]):
    """An object as output shows it: its class first, then its content."""


def has_text(parts: Parts) -> bool:
    """Returns True for objects that output shows by their ``str``, such as a date."""
    return parts.making is Making.CALL and (parts.name in _IMMUTABLE or parts.name == "builtins:bytearray")


def shown(parts: Parts) -> ShownObject:
    """Returns the parts for tables and output; it needs no class."""
    text = ShownObject({"class": parts.name.replace(":", ".").removeprefix("builtins.")})
    if parts.making is Making.NAME:
        return ShownObject({"class": "type", "value": text["class"]})
    if parts.arguments:
        text["items" if parts.making is Making.SET else "args"] = list(parts.arguments)
    match parts.state:
        case dict():
            text |= parts.state
        case (None | dict() as attributes, dict() as slots):
            text |= (attributes or {}) | slots
        case state if state is not None:
            text["state"] = state
    if parts.items:
        text["items"] = list(parts.items)
    if parts.pairs:
        text["items"] = [list(pair) for pair in parts.pairs]
    return text


def copied(value: object, copy: Callable[[object], object]) -> object:
    """Returns a copy of an object whose parts ``copy`` copied; the same object if it is immutable or not a record value."""
    kind = type(value)
    if f"{kind.__module__}:{kind.__qualname__}" in _IMMUTABLE or isinstance(value, Enum):
        return value
    try:
        parts = parts_of(value)
    except ValueNotAllowed:
        return value
    return put_together(parts.mapped(copy), known)
