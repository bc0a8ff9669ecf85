"""A law: its sentence, its rules, and the machine that examines the facts of one task; and its verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

from flowsim.facts.kinds import Level
from flowsim.facts.table import TASK_ATTEMPT
from flowsim.laws.findings import Findings, FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.machine import Machine, Reads


class Verdict(Enum):
    """The four possible verdicts."""

    HOLDS = "holds"
    VIOLATED = "violated"
    VACUOUS = "vacuous"
    """The law applies but examined no row: not a pass."""
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a law. ``evidence`` rows are small mappings of column name to value, at most ``EVIDENCE_ROWS``."""

    law: str
    verdict: Verdict
    rows_examined: int
    violations: int
    evidence: tuple[dict[str, object], ...] = ()
    reason: str = ""
    """Why the law does not apply, or what could not be checked (an incomplete recording)."""


NOTHING_YET: Final = "the run did not complete, and it ended before there was anything to examine"

KeyPart = tuple[int, int]
"""Some keys of a task: the index of the part, and the number of parts."""


class OfKeys(Protocol):
    """Creates the machine that examines a part of the keys of a task (all keys without ``part``).

    The first part also examines facts without a key. The results of the parts are combined with their method ``add``.
    """

    def __call__(
        self, graph: JobGraph, task: Task, found: FoundByLaw, part: KeyPart | None = None, /
    ) -> Machine | None: ...


Join = Callable[[JobGraph, Mapping[int, object], bool, Findings], Sequence[Any] | None]
"""Compares the results of the machines of all tasks, by task; ``whole`` as for ``Machine.end``. Returns the suspects
for a second pass, if any."""


@dataclass(frozen=True, slots=True)
class SecondWalk:
    """Examines suspects exactly: a machine per task, and a join.

    ``join`` is created with all suspects, and called after each pass. ``at_once``: maximum number of suspects per pass,
    so that the memory of its machines is bounded.
    """

    machine: Callable[[Sequence[Any]], Machine]
    join: Callable[[Sequence[Any]], Join]
    at_once: int


@dataclass(frozen=True, slots=True)
class EachPass:
    """Creates a join that takes the results of each pass by themselves."""

    join: Join

    def __call__(self, suspects: Sequence[Any]) -> Join:
        return self.join


class Attempts(Enum):
    """How a law examines a task that was restarted."""

    EACH = "each attempt by itself"
    """A machine per attempt; all attempts but the last are prefixes. Joins compare the same attempt of all tasks."""
    FRESH = "attempts that start without state"
    """As EACH, but an attempt that starts from a checkpoint is not examined: its state is not among its facts."""
    ALL = "all attempts together"
    """One machine; ``Slice.attempt`` is the attempt of its facts."""


def _always(graph: JobGraph) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Law:
    """A guarantee of Flink. Laws with the same ``machine`` are examined by one machine.

    ``rules`` are numbers of ``docs/flink_rules.md``. ``applies`` returns '' or why the law does not apply to a graph,
    ``unjudged`` the parts of a graph that it does not judge. ``counts`` defines in Markdown what is examined and counted
    (``docs/laws.md``).
    """

    id: str
    sentence: str
    rules: tuple[str, ...]
    level: Level
    machine: type[Machine]
    counts: str = field(kw_only=True)
    nothing_yet: str = field(default=NOTHING_YET, kw_only=True)
    """Why an unfinished run showed nothing to examine."""
    applies: Callable[[JobGraph], str] = _always
    unjudged: Callable[[JobGraph], str] = _always
    join: Join | None = None
    second: SecondWalk | None = None
    attempts: Attempts = Attempts.EACH
    of_keys: OfKeys | None = None
    """The same as ``machine.make``, for a task with very many facts, which can be examined in parts."""

    @property
    def reads(self) -> Reads:
        """The columns of each table that the machine reads in addition to ``seq`` and ``task``."""
        return self.machine.reads_for(self.id)


def needs_channels(graph: JobGraph) -> str:
    """For laws about channels."""
    return "" if graph.channels else "the job has no channels"


def reads_of(laws: Sequence[Law], graph: JobGraph) -> dict[str, set[str]]:
    """All columns that some laws read, by table; with the attempts of facts if tasks were restarted."""
    every = {"seq", "task", TASK_ATTEMPT.name} if graph.history.is_restarted else {"seq", "task"}
    by_table: dict[str, set[str]] = {}
    for law in laws:
        for table, columns in law.reads.items():
            by_table.setdefault(table, set(every)).update(columns)
    return by_table
