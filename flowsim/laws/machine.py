"""A machine of a law: handlers, each declared once with the columns that it reads.

``reads`` declares a function that takes a whole slice, ``on_row`` a method that takes one row. Such methods of a machine
are its handlers; from them follow the columns that a law reads, and what ``feed`` calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

import numpy as np

from flowsim.facts.schema import TABLES
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.slices import Ints, Mask, Part, Slice

Reads = Mapping[str, tuple[str, ...]]
"""The columns of each table, in the order of ``docs/recording.md``; ``seq`` and ``task`` are always read."""
_F = TypeVar("_F", bound=Callable[..., Any])


class Handler(NamedTuple):
    """How a function was declared."""

    reads: Reads
    table: str = ""
    """The table of its rows; '': it takes whole slices."""
    columns: tuple[str, ...] = ()
    """The columns of a row after ``seq``: the names of its parameters."""
    where: Callable[[Any, Slice], Mask] | None = None
    """Selects rows, for a machine and a slice; None: all rows."""
    law: str = ""
    """The only law that needs it; '': all laws of the machine."""


_DECLARED: Final[dict[object, Handler]] = {}
Reader = Callable[..., Any]
"""A function that was declared with ``reads``, or a machine: a handler that uses it reads the same columns."""


def reads(*readers: Reader, law: str = "", **tables: tuple[str, ...]) -> Callable[[_F], _F]:
    """Declares what a function reads of a slice: the columns of tables, and what other readers read."""

    def declare(function: _F) -> _F:
        of_readers = [
            reader.reads_for("")
            if isinstance(reader, type) and issubclass(reader, Machine)
            else _DECLARED[reader].reads
            for reader in readers
        ]
        _DECLARED[function] = Handler(_united([*of_readers, tables]), law=law)
        return function

    return declare


def on_row(
    table: str, where: Callable[[Any, Slice], Mask] | None = None, **members: IntEnum | tuple[IntEnum, ...]
) -> Callable[[_F], _F]:
    """Declares a handler for rows: its parameters after ``seq`` are the columns that it reads.

    ``where`` and ``members`` (of enums, by column) select rows. All handlers for rows of a machine take them in the order
    of ``seq``, after the handlers for slices.
    """

    def declare(function: _F) -> _F:
        columns = function.__code__.co_varnames[2 : function.__code__.co_argcount]
        chosen = {column: given if isinstance(given, tuple) else (given,) for column, given in members.items()}
        select = (
            _members(table, {column: tuple(map(int, given)) for column, given in chosen.items()}) if chosen else where
        )
        of_where = _DECLARED[where].reads if where in _DECLARED else {}
        _DECLARED[function] = Handler(_united([of_where, {table: (*columns, *members)}]), table, columns, select)
        return function

    return declare


def _members(table: str, chosen: Mapping[str, tuple[int, ...]]) -> Callable[[Any, Slice], Mask]:
    def where(_: object, facts: Slice) -> Mask:
        rows = facts.of(table)
        selected: Mask = np.logical_and.reduce(
            [_is_one_of(rows.column(column), numbers) for column, numbers in chosen.items()]
        )
        return selected

    return where


def _is_one_of(column: Ints, numbers: tuple[int, ...]) -> Mask:
    selected: Mask = column == numbers[0]
    for number in numbers[1:]:
        selected |= column == number
    return selected


def _united(parts: Iterable[Reads]) -> Reads:
    tables: dict[str, set[str]] = {}
    for part in parts:
        for table, columns in part.items():
            tables.setdefault(table, set()).update(columns)
    return {
        table: tuple(name for name in TABLES[table].names if name in tables[table] and name not in ("seq", "task"))
        for table in TABLES
        if table in tables
    }


class Machine:
    """Examines the facts of one task, epoch by epoch; independent of files, Spark and other tasks."""

    handlers: ClassVar[Mapping[str, Handler]] = {}
    """By name of the method, in the order of their definition."""
    attempt = 0
    """The attempt of the facts so far."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        """Machines whose ``make`` is not overridden have these parameters."""

    def __init_subclass__(cls) -> None:
        declared = {name: _DECLARED[value] for name, value in vars(cls).items() if _is_declared(value)}
        cls.handlers = {**cls.handlers, **declared}

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> Machine | None:
        """Creates the machine for a task; None if the laws have nothing to examine in it."""
        return cls(graph, task, found)

    @classmethod
    @cache
    def reads_for(cls, law: str) -> Reads:
        """What the machine reads for a law."""
        return _united(handler.reads for handler in cls.handlers.values() if handler.law in ("", law))

    def feed(self, facts: Slice) -> None:
        """Examines the facts of one epoch."""
        if facts.attempt != self.attempt:
            self.attempt = facts.attempt
            self.begin_attempt()
        parts: list[Part] = []
        methods = []
        for name, handler in self.handlers.items():
            method = getattr(self, name)
            if not handler.table:
                method(facts)
            elif facts.has(handler.table):
                where = handler.where
                parts.append((handler.table, handler.columns, None if where is None else where(self, facts)))
                methods.append(method)
        for seq, part, row in facts.merged(*parts):
            methods[part](seq, *row)

    def begin_attempt(self) -> None:
        """A later attempt begins; only for machines that examine all attempts together."""

    def end(self, whole: bool) -> object:
        """Examines what only the end shows. ``whole``: the run completed; otherwise its facts are a prefix.

        The result, None or a small value that can be pickled, goes to the laws' ``join``.
        """
        return None


def _is_declared(value: object) -> bool:
    return callable(value) and value in _DECLARED
