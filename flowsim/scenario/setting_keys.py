"""Keys of scenarios made of the settings that they set: ``flowsim.graph.setting`` has their types, bounds and texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from flowsim.graph.setting import Kind, Setting, settings_of
from flowsim.scenario.types import (
    ByteSize,
    DurationMs,
    DurationNs,
    FilePath,
    Name,
    PositiveMs,
    PositiveNs,
    Strict,
    TimeoutMs,
    shown_default,
)
from flowsim.scenario.yaml.flink_names import FlinkNames

M = TypeVar("M", bound=Strict)

_TYPES: Final[dict[Kind, Any]] = {
    "flag": bool, "count": int, "number": float, "ms": DurationMs, "timeout": TimeoutMs, "ns": DurationNs, "bytes": ByteSize,
    "folder": FilePath, "node": Name,
}  # fmt: skip
_POSITIVE: Final[dict[Kind, Any]] = {"ms": PositiveMs, "ns": PositiveNs}


def keys_of(owner: type[Any]) -> Callable[[type[M]], type[M]]:
    """Adds a key to a model for each setting of ``owner`` that has no form of its own, after the model's own keys."""

    def with_keys(model: type[M]) -> type[M]:
        keys: dict[str, Any] = {
            _attribute(each): (_type(each), _field(each))
            for each in settings_of(owner)
            if each.key and each.kind != "block"
        }
        return create_model(model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **keys)

    return with_keys


def key_of(owner: type[Any], name: str) -> Any:
    """Returns the field of a model for a setting of ``owner`` with a form of its own; the model gives it its type."""
    return _field(next(each for each in settings_of(owner) if each.name == name))


def values_of(model: BaseModel, owner: type[Any]) -> dict[str, Any]:
    """Returns the settings of ``owner`` that the model's keys set, by name in Python.

    Settings with a form of their own are left out.
    """
    return {
        each.name: each.choices.get(value, value) if each.kind == "choice" else value
        for each in settings_of(owner)
        if each.key and each.kind != "block"
        for value in [getattr(model, _attribute(each))]
    }


def given_of(model: BaseModel, owner: type[Any]) -> dict[str, Any]:
    """Returns what ``values_of`` returns, of the keys that are set and not left to their defaults."""
    given = {each.name for each in settings_of(owner) if each.key and _attribute(each) in model.model_fields_set}
    return {name: value for name, value in values_of(model, owner).items() if name in given}


def _attribute(setting: Setting) -> str:
    """Returns the name of the model's field: the key, unless Python reserves it."""
    return setting.name if setting.key == "from" else setting.key


def _field(setting: Setting) -> Any:
    default = next((name for name, value in setting.choices.items() if value == setting.default), setting.default)
    alias = setting.key if _attribute(setting) != setting.key else None
    filled: dict[str, Any] = {"default_factory": list} if default == () else {"default": default}
    made: FieldInfo = Field(**filled, alias=alias, description=setting.text)
    made.metadata.append(FlinkNames(*(name for name in (setting.option, setting.method) if name is not None)))
    return made


def _type(setting: Setting) -> Any:
    kind = Literal[tuple(setting.choices)] if setting.choices else _bounded(setting)
    return kind | None if setting.is_optional else kind


def _bounded(setting: Setting) -> Any:
    """Returns the type of a value, with the bounds of the setting."""
    positive = setting.least is not None and setting.least > 0
    kind = _POSITIVE.get(setting.kind) if positive else None
    kind = kind or _TYPES[setting.kind]
    if setting.kind in ("count", "number", "bytes"):
        return Annotated[kind, Field(ge=setting.least, le=setting.most)]
    if setting.kind in ("ms", "ns"):
        return Annotated[kind, AfterValidator(partial(_in_bounds, setting))]
    return kind


def _in_bounds(setting: Setting, value: int) -> int:
    for limit, word, exceeds in ((setting.least, "least", value.__lt__), (setting.most, "most", value.__gt__)):
        if limit is not None and exceeds(int(limit)):
            unit = setting.kind
            raise ValueError(f"expected at {word} {shown_default(int(limit), unit)}, got {shown_default(value, unit)}")
    return value
