"""What the parts of the compiler share: the scenario, the environment being filled, permissions, and the errors so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.scenario import yaml_positions
from flowsim.scenario.compiling.compiled import CompiledSink, CompiledStream
from flowsim.scenario.compiling.python_functions import load_function
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.translator import ExpressionError
from flowsim.scenario.loader import Scenario
from flowsim.scenario.paths import InputFile
from flowsim.scenario.problems import Problems
from flowsim.values import TypeInformation, Types

T = TypeVar("T")

_TYPES: dict[FieldType, Callable[[], TypeInformation]] = {
    FieldType.BOOLEAN: Types.BOOLEAN,
    FieldType.INT: Types.INT,
    FieldType.LONG: Types.LONG,
    FieldType.DOUBLE: Types.DOUBLE,
    FieldType.STRING: Types.STRING,
}


class Failed(Exception):
    """Compiling one node ended; what was wrong is among the problems already."""


@dataclass(slots=True)
class CompileContext:
    """State of one compilation. ``streams`` holds None for a stream that failed, so that its readers stay silent."""

    scenario: Scenario
    env: StreamExecutionEnvironment
    problems: Problems
    out_dir: Path
    allow_python: bool
    allow_path: bool
    streams: dict[str, CompiledStream | None] = field(default_factory=dict)
    inputs: list[InputFile] = field(default_factory=list)
    sinks: list[CompiledSink] = field(default_factory=list)

    def attempt(self, path: yaml_positions.Path, action: Callable[[], T]) -> T:
        """Runs ``action``; BadInput from elsewhere in flowsim becomes a problem at ``path``. Raises Failed."""
        try:
            return action()
        except ExpressionError:
            raise
        except BadInput as error:
            self.problems.bad_input(path, error)
            raise Failed from None

    def expression(self, path: yaml_positions.Path, source: str, action: Callable[[], T]) -> T:
        """Runs the compilation of the expression at ``path``; raises Failed."""
        try:
            return action()
        except ExpressionError as error:
            self.problems.expression(path, source, error)
            raise Failed from None

    def columns(self, path: yaml_positions.Path, sources: dict[str, str], action: Callable[[], T]) -> T:
        """The same for several expressions under one mapping; the error names its column."""
        try:
            return action()
        except ExpressionError as error:
            column = error.column or ""
            self.problems.expression((*path, column), sources.get(column, ""), error)
            raise Failed from None

    def fail(self, path: yaml_positions.Path, message: str) -> Failed:
        """Notes a problem; to be raised."""
        self.problems.at(path, message)
        return Failed()

    def python(self, path: yaml_positions.Path, reference: str) -> object:
        """What a ``python:`` reference names; raises Failed."""
        folder = self.scenario.folder
        return self.attempt(path, lambda: load_function(reference, folder, allow_python=self.allow_python))


def declared(fields: dict[str, str] | None) -> RecordSchema:
    """The schema that ``fields:`` declares."""
    fields = fields or {}
    return RecordSchema(tuple(fields), tuple(FieldType(kind) for kind in fields.values()))


def type_information(types: tuple[FieldType, ...], composite: bool) -> TypeInformation | None:
    """The declared type of a key; None, by value, where some part of it has no known type."""
    if FieldType.ANY in types:
        return None
    found = [_TYPES[kind]() for kind in types]
    return Types.TUPLE(found) if composite else found[0]
