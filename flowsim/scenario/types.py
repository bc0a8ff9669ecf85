"""Field types that several features share: durations, sizes, names, expressions, Python functions. All strict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema

from flowsim.quantities import size_bytes
from flowsim.units import NS_PER_MS, duration_ns

NAME_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
FIELD_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9_]{0,63}$"
PLACE_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9_-]{0,63}(/[0-9]{1,5}(-[0-9]{1,5})?)?$"
STREAM_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9_-]{0,63}(\.[A-Za-z][A-Za-z0-9_-]{0,63})?$"
PYTHON_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"
SUBTASKS_PATTERN: Final = r"^[0-9]{1,5}(-[0-9]{1,5})?$"
DURATION_PATTERN: Final = r"^[0-9]{1,18} ?(ns|us|ms|s|sec|min|h|d)$"
SIZE_PATTERN: Final = r"^[0-9]{1,12} ?(B|KiB|MiB)$"

MAX_COLUMNS: Final = 1000

K = TypeVar("K", bound=str)

_TIME_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1))


class Strict(BaseModel):
    """Base of all scenario models: an unknown key is an error, and a value of another type is not converted."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def shown(value: object) -> str:
    """Returns a value for an error message: short, in YAML syntax."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value if len(value) <= 40 else value[:37] + "...")
        case list():
            return f"a list of {len(value)}"
        case dict():
            return f"a mapping of {len(value)}"
    return str(value)


def shown_default(default: object, unit: str | None) -> object:
    """Returns a default in the form that a scenario writes.

    >>> shown_default(200, "ms"), shown_default(1_000, "ns"), shown_default(-1, "timeout"), shown_default(32_768, "bytes")
    ('200 ms', '1 us', 'never', '32 KiB')
    """
    if not isinstance(default, int) or unit in (None, "expression") or default == 0:
        return default
    if unit == "bytes":
        mib, kib = 1 << 20, 1 << 10
        return next(
            (f"{default // size} {name}" for name, size in (("MiB", mib), ("KiB", kib)) if not default % size), default
        )
    if unit == "timeout" and default < 0:
        return "never"
    ns = default if unit == "ns" else default * NS_PER_MS
    units = [*((name, ms * NS_PER_MS) for name, ms in _TIME_UNITS), ("us", 1_000), ("ns", 1)]
    return next(f"{ns // size} {name}" for name, size in units if ns % size == 0)


def _to_ns(value: object) -> int:
    if isinstance(value, str):
        ns = duration_ns(value)
        if 0 <= ns < 2**62:
            return ns
        raise ValueError(f"expected a duration of at least 0 ns and at most 146 years, got {shown(value)}")
    if type(value) is int and value == 0:
        return 0
    raise ValueError(f"expected a duration such as '100 ms', got {shown(value)}")


def _to_ms(value: object) -> int:
    ns = _to_ns(value)
    if ns % NS_PER_MS:
        raise ValueError(f"expected whole milliseconds, got {shown(value)}")
    return ns // NS_PER_MS


def _to_signed_ms(value: object) -> int:
    if isinstance(value, str) and value.strip().startswith("-"):
        return -_to_ms(value.strip()[1:].strip())
    return _to_ms(value)


def _to_timeout_ms(value: object) -> int:
    return -1 if value == "never" else _to_ms(value)


def _to_bytes(value: object) -> int:
    """Returns the bytes of a size such as ``32 KiB``; raises ValueError."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        return size_bytes(value)
    raise ValueError(f"expected a size such as '32 KiB', got {shown(value)}")


def _to_source(value: object) -> str:
    """Converts a YAML number or truth value to the text of an expression."""
    if isinstance(value, str):
        return value
    if type(value) in (bool, int, float):
        return repr(value)
    raise ValueError(f"expected an expression, got {shown(value)}")


UNIT: Final = "x-unit"
"""The JSON schema key for the unit in which the model stores a value; ``json_schema`` shows defaults in this unit."""


def _duration_schema(unit: str, pattern: str, *examples: str, zero: bool = True) -> WithJsonSchema:
    text = {"type": "string", "pattern": pattern, "patternErrorMessage": f"expected a duration such as {examples[0]!r}"}
    alternatives = {"anyOf": [text, {"const": 0}]} if zero else text
    return WithJsonSchema({**alternatives, UNIT: unit, "examples": list(examples)})


DurationNs = Annotated[int, BeforeValidator(_to_ns), _duration_schema("ns", DURATION_PATTERN, "100 ms", "30 min")]
DurationMs = Annotated[int, BeforeValidator(_to_ms), _duration_schema("ms", DURATION_PATTERN, "100 ms", "30 min")]
PositiveNs = Annotated[
    int, BeforeValidator(_to_ns), Field(ge=1), _duration_schema("ns", DURATION_PATTERN, "100 ms", "30 min", zero=False)
]
PositiveMs = Annotated[
    int, BeforeValidator(_to_ms), Field(ge=1), _duration_schema("ms", DURATION_PATTERN, "100 ms", "30 min", zero=False)
]
TimeoutMs = Annotated[
    int,
    BeforeValidator(_to_timeout_ms),
    _duration_schema("timeout", DURATION_PATTERN.replace("^", "^(").replace("$", "|never)$"), "100 ms", "never"),
]
SignedDurationMs = Annotated[
    int,
    BeforeValidator(_to_signed_ms),
    _duration_schema("ms", DURATION_PATTERN.replace("^", "^(- ?)?"), "-30 min", "1 h"),
]
ByteSize = Annotated[
    int,
    BeforeValidator(_to_bytes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": SIZE_PATTERN, "patternErrorMessage": "expected a size such as '32 KiB'"},
                {"type": "integer"},
            ],
            UNIT: "bytes",
            "examples": ["32 KiB", "1 MiB"],
        }
    ),
]
ExpressionSource = Annotated[
    str,
    BeforeValidator(_to_source),
    WithJsonSchema({"type": ["string", "number", "boolean"], UNIT: "expression"}),
]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
SubtaskRange = Annotated[str, Field(pattern=SUBTASKS_PATTERN)]
"""INDEX or FIRST-LAST, from 0."""
FieldName = Annotated[str, Field(pattern=FIELD_PATTERN)]
StreamName = Annotated[str, Field(pattern=STREAM_PATTERN)]
PythonReference = Annotated[str, Field(pattern=PYTHON_PATTERN, max_length=200)]
TypeName = Literal["boolean", "int", "long", "double", "string"]
FieldTypes = Annotated[dict[FieldName, TypeName], Field(min_length=1, max_length=MAX_COLUMNS)]
Columns = Annotated[dict[FieldName, ExpressionSource], Field(min_length=1, max_length=MAX_COLUMNS)]
Parallelism = Annotated[int, Field(ge=1, le=32768)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
FilePath = Annotated[str, Field(min_length=1, max_length=1000)]
Exchange = Literal["pipelined_bounded", "pipelined", "blocking"]

Scalar = None | bool | int | float | str
Cell = Scalar | list[Scalar]
Row = list[Cell]


def chosen_of(model: BaseModel, choices: Iterable[K]) -> tuple[K, Any]:
    """Returns the one key among ``choices`` that the model has, and its value.

    Raises ValueError for none or more than one.
    """
    names = {field.alias or name: name for name, field in type(model).model_fields.items()}
    listed = [key for key in choices if key in names]
    present = [(key, value) for key in listed if (value := getattr(model, names[key])) is not None]
    if len(present) == 1:
        return present[0]
    expected = f"expected one of {', '.join(listed)}"
    if not present:
        raise ValueError(f"{expected}, got none of them")
    raise ValueError(f"{expected}, got {' and '.join(key for key, _ in present)}")


def exactly_one_of(*keys: str) -> dict[str, JsonValue]:
    """Returns the part of a JSON schema that requires exactly one of some keys."""
    return {"oneOf": [{"required": [key]} for key in keys]}


class FunctionModel(Strict):
    """A Python function or class, and the fields of the tuples it emits."""

    python: PythonReference = Field(
        description="The function or class: `package.module:name`, only with `--allow-python`. Modules in the "
        "scenario's folder are found first."
    )
    fields: FieldTypes | None = Field(
        default=None,
        description="Names and types of the fields of the emitted tuples; required for `process`, not allowed for "
        "`filter`.",
    )
    side_outputs: dict[Name, FieldTypes] = Field(
        default_factory=dict,
        description="Of a process function: each `OutputTag` with the fields of its records; read it as "
        "`OPERATOR.NAME`.",
    )

    def side_output_names(self) -> list[str]:
        """Returns the tags of the side outputs."""
        return list(self.side_outputs)


def needs_fields(form: str, fields: dict[str, TypeName] | None) -> None:
    """Checks that a Python function declares its output fields, and that other kinds do not."""
    if form == "python" and fields is None:
        raise ValueError("a python function must declare the fields that it emits")
    if form != "python" and fields is not None:
        raise ValueError(f"only a python function declares its fields, {form} determines them itself: remove fields")


def one_of(model: BaseModel, choices: Iterable[K]) -> K:
    """Returns the one key among ``choices`` that the model has; raises ValueError for none or more than one."""
    return chosen_of(model, choices)[0]
