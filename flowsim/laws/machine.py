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
from flowsim.laws.slices import Ints, Mask, Slice, each_row

Reads = Mapping[str, tuple[str, ...]]
"""The columns of each table, in the order of ``docs/recording.md``; ``seq`` and ``task`` are always read."""
_F = TypeVar("_F", bound=Callable[..., Any])


Where = Callable[[Any, Slice], Mask | None]
"""Selects rows of a slice for a machine; None: it needs none of them."""
Members = IntEnum | tuple[IntEnum, ...]


class Handler(NamedTuple):
    """How a function was declared."""

    reads: Reads
    table: str = ""
    """The table of its rows; '': it takes whole slices."""
    columns: tuple[str, ...] = ()
    """The columns of a row: the names of its parameters, ``seq`` among them."""
    where: Where | None = None
    """None: it takes all rows."""
    law: str = ""
    """The only law that needs it; '': all laws of the machine."""


_DECLARED: Final[dict[object, Handler]] = {}
Reader = Callable[..., Any]
"""A function that was declared with ``reads``, or a machine: a handler that uses it reads the same columns."""


def reads(*readers: Reader | Reads, law: str = "", **tables: tuple[str, ...]) -> Callable[[_F], _F]:
    """Declares what a function reads of a slice: the columns of tables, and what other readers read."""

    def declare(function: _F) -> _F:
        _DECLARED[function] = Handler(_united([*map(_reads_of, readers), tables]), law=law)
        return function

    return declare


def _reads_of(reader: Reader | Reads) -> Reads:
    if isinstance(reader, Mapping):
        return reader
    return reader.reads_for("") if isinstance(reader, type) and issubclass(reader, Machine) else _DECLARED[reader].reads


def on_row(
    table: str, where: Where | None = None, law: str = "", columns: tuple[str, ...] = (), **members: Members
) -> Callable[[_F], _F]:
    """Declares a handler for rows: its parameters, or ``columns``, are the columns that it reads, ``seq`` the first.

    ``where`` and ``members`` (of enums, by column) select rows. All handlers for rows of a machine take them in the order
    of ``seq``, after the handlers for slices.
    """

    def declare(function: _F) -> _F:
        names = columns or function.__code__.co_varnames[1 : function.__code__.co_argcount]
        of_where = _DECLARED[where].reads if where in _DECLARED else {}
        read = _united([of_where, {table: (*names, *members)}])
        _DECLARED[function] = Handler(read, table, names, _selects(table, members) if members else where, law)
        return function

    return declare


def _selects(table: str, members: Mapping[str, Members]) -> Where:
    chosen = {
        column: tuple(map(int, given if isinstance(given, tuple) else (given,))) for column, given in members.items()
    }

    def where(_: object, facts: Slice) -> Mask:
        rows = facts.of(table)
        masks = [_is_one_of(rows.column(column), numbers) for column, numbers in chosen.items()]
        return masks[0] if len(masks) == 1 else np.logical_and.reduce(masks)

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
        parts: list[tuple[str, tuple[str, ...], Mask | None]] = []
        methods: list[Callable[..., None]] = []
        for name, handler in self.handlers.items():
            if not handler.table:
                getattr(self, name)(facts)
            elif facts.has(handler.table):
                mask = None if handler.where is None else handler.where(self, facts)
                if handler.where is None or (mask is not None and mask.any()):
                    parts.append((handler.table, handler.columns, mask))
                    methods.append(getattr(self, name))
        if parts:
            _feed_rows(facts, parts, methods)

    def begin_attempt(self) -> None:
        """A later attempt begins; only for machines that examine all attempts together."""

    def end(self, whole: bool) -> object:
        """Examines what only the end shows. ``whole``: the run completed; otherwise its facts are a prefix.

        The result, None or a small value that can be pickled, goes to the laws' ``join``.
        """
        return None


def _feed_rows(
    facts: Slice, parts: list[tuple[str, tuple[str, ...], Mask | None]], methods: list[Callable[..., None]]
) -> None:
    """Calls the methods with the rows of their parts, in the order of ``seq``."""
    # Only the other parts are merged: most rows are often of one table, and a merged row takes twice as long.
    sizes = [len(facts.of(table)) for table, _, _ in parts]
    place = sizes.index(max(sizes))
    (table, columns, mask), method = parts.pop(place), methods.pop(place)
    others = iter(facts.merged(*parts) if parts else ())
    other = next(others, None)
    for row in each_row(facts.of(table), columns, mask):
        while other is not None and other[0] < row[0]:
            methods[other[1]](*other[2])
            other = next(others, None)
        method(*row)
    while other is not None:
        methods[other[1]](*other[2])
        other = next(others, None)


def _is_declared(value: object) -> bool:
    return callable(value) and value in _DECLARED
