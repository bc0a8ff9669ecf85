"""What is known about one setting of a job, in one place: its field of a settings class.

Scenarios, ``Configuration``, the JSON Schema, the checks of values and the reference tables of the documentation are made
of these fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar

from flowsim.errors import BadInput

T = TypeVar("T")

Kind = Literal["flag", "count", "number", "ms", "timeout", "ns", "bytes", "choice", "folder", "node", "block"]
"""How a value is written.

``timeout``: milliseconds, or -1 for never; ``choice``: one of some names; ``node``: the name of a source, operator or sink;
``block``: a value with keys or a form of its own.
"""
_NUMBERS: Final = ("count", "number", "ms", "timeout", "ns", "bytes")
_UNIT_WORDS: Final = ("_ms", "_ns", "_bytes", "_percent")
_MAX_INT: Final = 2**31 - 1
_METADATA: Final = "flowsim setting"
_NO_CHOICES: Final[Mapping[str, object]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its names, the form and bounds of its value, and its meaning."""

    name: str
    """In Python."""
    key: str
    """In a scenario; empty if scenarios do not have it."""
    kind: Kind
    text: str
    """The meaning: one or more sentences, in Markdown of ``docs/scenario.md``."""
    default: object
    option: str | None
    """The key of Flink's option; None: Flink has none."""
    method: str | None
    """The method of PyFlink that sets it; None: there is none."""
    least: float | None
    most: float | None
    choices: Mapping[str, object]
    """Of a choice: the value of each name in a scenario. Flink's names are the same in capital letters."""

    @property
    def is_optional(self) -> bool:
        """True if None is a value: the setting is left out."""
        return self.default is None

    def check(self, value: object, where: str) -> None:
        """Raises BadInput that begins with ``where``, for a value of another type or out of bounds."""
        if (value is None and self.is_optional) or self.kind == "block":
            return
        if self.kind == "flag":
            if type(value) is not bool:
                raise BadInput(f"{where}: expected True or False, got {value!r:.60}")
        elif self.kind == "choice":
            # 1 is no True.
            if not any(type(value) is type(choice) and value == choice for choice in self.choices.values()):
                raise BadInput(
                    f"{where}: expected one of {', '.join(map(str, self.choices.values()))}, got {value!r:.60}"
                )
        elif self.kind in ("folder", "node"):
            if type(value) is not str:
                what = "the path of a folder" if self.kind == "folder" else "the name of an operator"
                raise BadInput(f"{where}: expected {what}, got {value!r:.60}")
        else:
            self._check_number(value, where)

    def _check_number(self, value: object, where: str) -> None:
        if type(value) is not int and not (self.kind == "number" and type(value) is float):
            raise BadInput(
                f"{where}: expected {'a number' if self.kind == 'number' else 'an integer'}, got {value!r:.60}"
            )
        if self.least is not None and not value >= self.least:
            least = "-1 (never), 0 (at once) or ms" if self.kind == "timeout" else f"{self.least} or more"
            raise BadInput(f"{where}: expected {least}, got {value}")
        if self.most is not None and value > self.most:
            raise BadInput(f"{where}: expected at most {self.most}, got {value}")


def setting(
    default: T,
    kind: Kind,
    text: str,
    *,
    key: str | None = None,
    option: str | None = None,
    method: str | None = None,
    least: float | None = None,
    most: float | None = None,
    choices: Mapping[str, object] = _NO_CHOICES,
) -> T:
    """Returns a field of a settings class, with what ``Setting`` says; ``key`` None: the name without its unit."""
    known = {
        "key": key, "kind": kind, "text": text, "option": option, "method": method, "least": least, "most": most,
        "choices": choices,
    }  # fmt: skip
    if least is None and kind in _NUMBERS:
        known["least"] = -1 if kind == "timeout" else 0
    if most is None and kind == "count":
        known["most"] = _MAX_INT
    made: T = field(default=default, metadata={_METADATA: known})
    return made


def settings_of(owner: type[Any]) -> Iterator[Setting]:
    """Yields the settings that are fields of a class, in their order."""
    for each in fields(owner):
        known = each.metadata.get(_METADATA)
        if known is not None:
            key = _without_unit(each.name) if known["key"] is None else known["key"]
            default = None if each.default is MISSING else each.default
            yield Setting(**{**known, "name": each.name, "key": key, "default": default})


def check_settings(settings: object, where: str) -> None:
    """Raises BadInput that begins with ``where``, for the first value of another type or out of bounds."""
    for each in settings_of(type(settings)):
        each.check(getattr(settings, each.name), f"{where}: {each.name}")


def _without_unit(name: str) -> str:
    unit = next((unit for unit in _UNIT_WORDS if name.endswith(unit)), "")
    return name.removesuffix(unit)
