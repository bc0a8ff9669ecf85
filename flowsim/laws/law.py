"""A law: its sentence, its rules, and the machine that examines the facts of one task."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, Final, Protocol

from flowsim.facts.kinds import Level
from flowsim.facts.table import TASK_ATTEMPT
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.slices import Slice


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


EVIDENCE_ROWS: Final = 20
_KEPT: Final = 10 * EVIDENCE_ROWS

At = tuple[int, ...]
"""The position of a violation: (task, seq), (channel, position), ...; evidence has the lowest ones."""


class Findings:
    """Counts examined rows and violations of one law, and stores the first violations as evidence.

    Findings of shards are added, and evidence depends only on positions: the order in which tasks, epochs or shards are
    examined has no effect.
    """

    __slots__ = ("examined", "violations", "_evidence", "_last")

    def __init__(self) -> None:
        self.examined = 0
        self.violations = 0
        self._evidence: list[tuple[At, dict[str, object]]] = []
        self._last: At | None = None
        """Position of the last row that can still be evidence, once there are enough before it."""

    def broken(self, what: str, at: At, **where: object) -> None:
        """Counts one violation: ``what`` is wrong, and ``where`` gives the values by column name."""
        self.violations += 1
        if self._last is not None and at > self._last:
            return
        self._evidence.append((at, {"what": what, **{name: _plain(value) for name, value in where.items()}}))
        if len(self._evidence) >= _KEPT:
            self._keep_the_first()

    def add(self, other: Findings) -> None:
        """Adds the findings of another shard."""
        self.examined += other.examined
        self.violations += other.violations
        self._evidence += other._evidence
        self._keep_the_first()

    def _keep_the_first(self) -> None:
        self._evidence.sort(key=lambda found: (found[0], json.dumps(found[1])))
        del self._evidence[EVIDENCE_ROWS:]
        if len(self._evidence) == EVIDENCE_ROWS:
            self._last = self._evidence[-1][0]

    @property
    def evidence(self) -> tuple[dict[str, object], ...]:
        """The first violations, by position."""
        self._keep_the_first()
        return tuple(row for _, row in self._evidence)


def named(names: type[IntEnum], number: int) -> str | int:
    """The name of a recorded number, for evidence; the number itself if it has none."""
    return names(number).name.lower() if number in names._value2member_map_ else number


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


FoundByLaw = Mapping[str, Findings]
"""The findings of each law, by its id."""


class Machine(Protocol):
    """Examines the facts of one task, epoch by epoch; independent of files, Spark and other tasks."""

    def feed(self, facts: Slice) -> None:
        """Examines the facts of one epoch."""

    def end(self, whole: bool) -> object:
        """Examines what only the end shows. ``whole``: the run completed; otherwise its facts are a prefix.

        The result, None or a small value that can be pickled, goes to the laws' ``join``.
        """


NOTHING_YET: Final = "the run did not complete, and it ended before there was anything to examine"

MakeMachine = Callable[[JobGraph, Task, FoundByLaw], Machine | None]
"""Creates the machine for a task; None if the laws have nothing to examine in it."""

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
    """Examines suspects exactly: a machine per task, and a final ``join``.

    ``at_once``: maximum number of suspects per pass, so that the memory of its machines is bounded.
    """

    machine: Callable[[Sequence[Any]], Machine]
    join: Join
    at_once: int


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

    ``rules`` are numbers of ``docs/flink_rules.md``. ``reads`` names the columns of each table that the machine reads
    in addition to ``seq`` and ``task``. ``applies`` returns '' or why the law does not apply to a graph, ``unjudged``
    the parts of a graph that it does not judge. ``counts`` defines in Markdown what is examined and counted
    (``docs/laws.md``).
    """

    id: str
    sentence: str
    rules: tuple[str, ...]
    level: Level
    reads: Mapping[str, tuple[str, ...]]
    machine: MakeMachine
    counts: str = field(kw_only=True)
    nothing_yet: str = field(default=NOTHING_YET, kw_only=True)
    """Why an unfinished run showed nothing to examine."""
    applies: Callable[[JobGraph], str] = _always
    unjudged: Callable[[JobGraph], str] = _always
    join: Join | None = None
    second: SecondWalk | None = None
    attempts: Attempts = Attempts.EACH
    of_keys: OfKeys | None = None
    """The same as ``machine``, for a task with very many facts, which can be examined in parts."""


def needs_channels(graph: JobGraph) -> str:
    """For laws about channels."""
    return "" if graph.channels else "the job has no channels"


def reads_of(laws: Sequence[Law], graph: JobGraph) -> dict[str, set[str]]:
    """All columns that some laws read, by table; with the attempts of facts if tasks were restarted."""
    every = {"seq", "task", TASK_ATTEMPT.name} if graph.history.is_restarted else {"seq", "task"}
    found: dict[str, set[str]] = {}
    for law in laws:
        for table, columns in law.reads.items():
            found.setdefault(table, set(every)).update(columns)
    return found
