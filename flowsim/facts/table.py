"""A table of a recording: its columns, its level and the stored form of a row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from struct import Struct, calcsize
from typing import Final

from flowsim.facts.kinds import Level


@dataclass(frozen=True, slots=True)
class Column:
    """A column: name, struct code (``q`` int64, ``i`` int32, ``h`` int16, ``b`` int8, ``s`` text) and meaning."""

    name: str
    code: str
    meaning: str
    values: type[IntEnum] | None = None


SEQ: Final = Column("seq", "q", "strictly increasing per task over all tables")
TASK: Final = Column("task", "i", "task id")
TIME: Final = Column("time_ns", "q", "the task's clock in virtual nanoseconds")
OPERATOR: Final = Column(
    "operator",
    "i",
    "index of the operator in its chain, in the order in which operators finish; the head is 0 (table operators)",
)
TASK_ATTEMPT: Final = Column(
    "task_attempt",
    "h",
    "the attempt of the task that recorded the fact: 0 at first, 1 higher after each restart of the task",
)


@dataclass(frozen=True)
class Table:
    """A table of the recording. ``columns``: the recorded columns of a row."""

    name: str
    level: Level
    meaning: str
    columns: tuple[Column, ...]

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """The columns in the table's files. For facts of tasks, the recorder adds the attempt of the task."""
        return (*self.columns, TASK_ATTEMPT) if self.has_attempt else self.columns

    @property
    def has_attempt(self) -> bool:
        """True if the rows are facts of tasks, in the order of ``seq``."""
        return "seq" in self.names

    @property
    def struct_format(self) -> str:
        """The little-endian, unpadded ``struct`` format of a stored row."""
        return "<" + "".join(c.code for c in self.stored_columns)

    @cached_property
    def layout(self) -> Struct:
        """The layout of a stored row whose ``task_attempt`` is 0 and has no name."""
        attempt = "" if not self.has_attempt else f"{calcsize(TASK_ATTEMPT.code)}x"
        return Struct("<" + "".join(c.code for c in self.columns) + attempt)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)
