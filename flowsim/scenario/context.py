"""Shared state of the compilation: the environment, permissions, Python functions, and the errors found so far."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeVar

from flowsim.connectors.files.input_file import InputFile
from flowsim.connectors.memory import CollectSink
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput, did_you_mean
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.scenario import paths
from flowsim.scenario.language.expressions import CompiledRecord, Expression, compile_expression, compile_record
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.translator import ExpressionError
from flowsim.scenario.types import FunctionModel
from flowsim.scenario.yaml.positions import Path as YamlPath
from flowsim.scenario.yaml.problems import Problems

T = TypeVar("T")

OWN_FUNCTIONS: Final = "flowsim.testing.functions"
"""The module whose functions run without ``--allow-python``."""


class Failed(Exception):
    """The compilation of one node failed; its errors are already among the problems."""


@dataclass(frozen=True, slots=True)
class CompiledStream:
    """A stream under construction, the schema of its records, and the schemas of its side outputs by their tag."""

    stream: DataStream
    schema: RecordSchema
    side_outputs: Mapping[str, RecordSchema] = field(default_factory=dict)


class CommittedRows(Protocol):
    """Counts the rows of the output of a sink."""

    @property
    def committed_rows(self) -> int:
        """The number of rows that a reader sees after a run with checkpoints."""


@dataclass(frozen=True, slots=True)
class CompiledSink:
    """A sink and the places of its output."""

    name: str
    kind: str
    schema: RecordSchema
    directory: Path | None
    """The output folder of a sink that writes files."""
    collected: CollectSink | None
    """The sink of type ``collect``, which contains the results after the run."""
    output: CommittedRows
    """The sink, which counts the rows of its output."""


@dataclass(slots=True)
class CompileContext:
    """State of one compilation.

    ``streams`` contains None for a failed stream, so that nodes that read it report no errors.
    """

    env: StreamExecutionEnvironment
    problems: Problems
    folder: Path
    """The base folder of relative input paths, which is also searched first for Python modules."""
    out_dir: Path
    allow_python: bool
    allow_path: bool
    limits: Limits = DEFAULT_LIMITS
    connections: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The URLs of servers that the caller gave, by the names of connections in the scenario."""
    scenario_name: str = ""
    streams: dict[str, CompiledStream | None] = field(default_factory=dict)
    inputs: list[InputFile] = field(default_factory=list)
    sinks: list[CompiledSink] = field(default_factory=list)

    def fail(self, path: YamlPath, message: str) -> Failed:
        """Reports a problem and returns the error to raise."""
        self.problems.at(path, message)
        return Failed()

    def fail_at_key(self, path: YamlPath, message: str) -> Failed:
        """Reports a problem of the key at ``path`` and returns the error to raise."""
        self.problems.at_key(path, message)
        return Failed()

    def attempt(self, path: YamlPath, action: Callable[[], T]) -> T:
        """Runs ``action``; a BadInput becomes a problem at ``path``. Raises Failed."""
        try:
            return action()
        except ExpressionError:
            raise
        except BadInput as error:
            self.problems.bad_input(path, error)
            raise Failed from None

    def expression(
        self,
        path: YamlPath,
        source: str,
        schema: RecordSchema,
        *,
        takes_timestamp: bool = False,
        null_if_missing: bool = False,
    ) -> Expression:
        """Returns the compiled expression at ``path``; raises Failed."""
        try:
            return compile_expression(
                source,
                schema,
                takes_timestamp=takes_timestamp,
                null_if_missing=null_if_missing,
                limits=self.limits,
            )
        except ExpressionError as error:
            self.problems.expression(path, source, error)
            raise Failed from None

    def record_expression(self, path: YamlPath, source: str, schema: RecordSchema, reader: str) -> Expression:
        """Returns the compiled expression for a ``reader`` that has the record without its timestamp; raises Failed."""
        expression = self.expression(path, source, schema)
        if expression.uses_timestamp:
            raise self.fail(path, without_timestamp(reader))
        return expression

    def condition(self, path: YamlPath, expression: Expression) -> Expression:
        """Returns the expression at ``path``; raises Failed if it cannot be a truth value."""
        if expression.type not in (FieldType.BOOLEAN, FieldType.ANY):
            raise self.fail(path, f"expected a condition, this expression gives {expression.type.value}")
        return expression

    def record(self, path: YamlPath, columns: Mapping[str, str], schema: RecordSchema, *, keep: bool) -> CompiledRecord:
        """Returns the output record of the named expressions at ``path``; raises Failed."""
        return self.columns(
            path, columns, lambda: compile_record(list(columns.items()), schema, keep=keep, limits=self.limits)
        )

    def columns(self, path: YamlPath, sources: Mapping[str, str], action: Callable[[], T]) -> T:
        """Compiles several expressions of one mapping; an error names its column. Raises Failed."""
        try:
            return action()
        except ExpressionError as error:
            column = error.column or ""
            self.problems.expression((*path, column), sources.get(column, ""), error)
            raise Failed from None

    def input_files(self, path: YamlPath, names: str | Sequence[str]) -> list[InputFile]:
        """Returns the files of one or several names, which become inputs of the job; raises Failed."""
        files = self.attempt(
            path, lambda: paths.input_files(names, self.folder, allow_path=self.allow_path, limits=self.limits)
        )
        self.inputs.extend(files)
        return files

    def input_file(self, path: YamlPath, name: str) -> InputFile:
        """Returns the file with exactly this name; raises Failed."""
        file = self.attempt(
            path, lambda: paths.input_file(name, self.folder, allow_path=self.allow_path, limits=self.limits)
        )
        self.inputs.append(file)
        return file

    def python(self, path: YamlPath, reference: str) -> Callable[..., object]:
        """Returns the object of a ``python:`` reference; raises Failed."""
        return self.attempt(path, lambda: load_function(reference, self.folder, allow_python=self.allow_python))

    def function(self, path: YamlPath, reference: str, kind: type[object]) -> object:
        """Returns the function of a reference, or an instance of its class, which must be a ``kind``; raises Failed."""
        loaded = self.python(path, reference)
        return self.attempt(path, lambda: _instance_of(loaded, kind, reference))

    def instance(self, path: YamlPath, reference: str, kind: type[T]) -> T:
        """Returns an instance of ``kind``, made by the class or function of a reference; raises Failed."""
        made = self.function(path, reference, kind)
        if not isinstance(made, kind):
            raise self.fail(path, f"expected a {kind.__name__}, got {reference}")
        return made


def without_timestamp(reader: str) -> str:
    """Returns the message for an expression that reads a timestamp, which ``reader`` does not have."""
    return f"{reader} cannot read the timestamp: add it as a field in an earlier map"


def declared(fields: Mapping[str, str] | None) -> RecordSchema:
    """Returns the schema that ``fields:`` declares."""
    fields = fields or {}
    return RecordSchema(tuple(fields), tuple(FieldType(kind) for kind in fields.values()))


def emitted_by(model: FunctionModel, stream: DataStream) -> CompiledStream:
    """Returns the stream of a Python function, with the fields and side outputs that its block declares."""
    sides = {tag: declared(fields) for tag, fields in model.side_outputs.items()}
    return CompiledStream(stream, declared(model.fields), sides)


def load_function(reference: str, folder: Path, *, allow_python: bool) -> Callable[..., object]:
    """Loads the object of ``package.module:function``; searches modules beside the scenario first. Raises BadInput."""
    module_name, _, name = reference.partition(":")
    if module_name == OWN_FUNCTIONS:
        return _own_function(name)
    if not allow_python:
        raise BadInput(f"{reference} is Python code and runs only with --allow-python")
    try:
        with _importing_from(folder):
            module = importlib.import_module(module_name)
    except Exception as error:
        raise BadInput(f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error
    value: object = getattr(module, name, None)
    if not callable(value):
        raise BadInput(f"module {module_name!r} has no function or class {name!r}")
    return value


def _own_function(name: str) -> Callable[..., object]:
    """Returns one of flowsim's own functions for tests; raises BadInput."""
    module = importlib.import_module(OWN_FUNCTIONS)
    if name not in module.__all__:
        raise BadInput(f"{OWN_FUNCTIONS} has no {name!r}{did_you_mean(name, module.__all__)}")
    found: Callable[..., object] = getattr(module, name)
    return found


def _instance_of(found: object, kind: type[object], reference: str) -> object:
    """Returns an instance if the reference names a class, otherwise the function itself."""
    if not isinstance(found, type):
        return found
    if not issubclass(found, kind):
        raise BadInput(f"{reference}: expected a function or a {kind.__name__}, got the class {found.__name__}")
    try:
        made: object = found()
    except Exception as error:
        raise BadInput(f"{reference}: cannot be created: {type(error).__name__}: {error}") from error
    return made


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    path = str(folder)
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
