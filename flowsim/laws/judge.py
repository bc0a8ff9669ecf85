"""Checks recorded facts against all laws in one pass over the slices of their tasks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, cast

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.schema import KEYS
from flowsim.garbage_collection import without_garbage_collection
from flowsim.laws.catalogue import LAWS
from flowsim.laws.findings import Findings, FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task, connected_tasks, job_graph
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.lateness import without_lateness
from flowsim.laws.law import Attempts, KeyPart, Law, OfKeys, Outcome, Verdict, reads_of
from flowsim.laws.machine import Machine
from flowsim.laws.slices import AttemptFacts, Slice, slices_in_memory

WHOLE: Final = "complete"
"""The only run status whose facts are not a prefix."""

NOTHING_RECORDED: Final = "the run ended before anything was recorded"
"""Not even the description of the job: whether a law applies is not known."""


@dataclass(frozen=True, slots=True)
class Errand:
    """The purpose of a pass: laws, or the suspects of one law; ``part``: only some keys of the tasks.

    ``attempt``: the attempt of the suspects.
    """

    laws: tuple[Law, ...]
    suspects: tuple[Any, ...] | None = None
    part: KeyPart | None = None
    attempt: int = 0

    @property
    def by_key(self) -> tuple[Law, ...]:
        """The laws that can examine some keys of a task alone."""
        return tuple(law for law in self.laws if law.of_keys is not None and self.suspects is None)

    def has_attempt(self, attempt: int) -> bool:
        """Whether facts of an attempt may be suspects."""
        return self.laws[0].attempts is Attempts.ALL or attempt == self.attempt

    def of_part(self, part: KeyPart) -> Errand:
        """The errand for some keys: the first part is for all laws, the others for laws that support key parts."""
        return replace(self, part=part, laws=self.by_key if part[0] else self.laws)


class Judgement:
    """The results of some tasks: findings per law, and the machines' results for the joins."""

    def __init__(self, laws: Sequence[Law]) -> None:
        self.found: dict[str, Findings] = {law.id: Findings() for law in laws}
        self.answers: dict[str, dict[int, dict[int, object]]] = {law.id: {} for law in laws if law.join is not None}
        """By law, attempt and task."""

    def add(self, other: Judgement) -> None:
        """Adds the results of other tasks."""
        for law, found in other.found.items():
            self.found[law].add(found)
        for law, attempts in other.answers.items():
            for attempt, others in attempts.items():
                answers = self.answers[law].setdefault(attempt, {})
                for task, answer in others.items():
                    if task in answers:
                        cast(Any, answers[task]).add(answer)
                    else:
                        answers[task] = answer


def examine(slices: Iterable[Slice], graph: JobGraph, errand: Errand, whole: bool, tasks: Iterable[int]) -> Judgement:
    """One pass over the slices of ``tasks``; those of each task come in order, those of different tasks in any order."""
    # Machines create no reference cycles; searching for some among the rows of a slice took a third of the laws' time.
    with without_garbage_collection():
        return _examined(slices, graph, errand, whole, tasks)


def _examined(slices: Iterable[Slice], graph: JobGraph, errand: Errand, whole: bool, tasks: Iterable[int]) -> Judgement:
    judgement = Judgement(errand.laws)
    groups: Groups = {}
    has_restored = graph.history.is_restarted or graph.history.first_restored != NO_CHECKPOINT
    for law in errand.laws:
        groups.setdefault((_maker(law, errand), law.attempts if has_restored else None), []).append(law)
    tables = [tuple({table: None for law in group for table in law.reads}) for group in groups.values()]
    examined = {task: _Examined(graph, task, groups, judgement, errand) for task in tasks}
    for facts in slices:
        task = examined.get(facts.task)
        if task is None:
            raise BadInput(f"the recording is damaged: it has facts of task {facts.task}, which it does not describe")
        if facts.attempt > task.attempt:
            task.begin(facts.attempt)
        task.remember(facts)
        if errand.suspects is not None and not errand.has_attempt(facts.attempt):
            continue
        for machine, read in zip(task.machines, tables, strict=True):
            if machine is not None and facts.has(*read):
                machine.feed(facts)
    for task in examined.values():
        task.end(whole)
    return judgement


MakeMachine = Callable[[JobGraph, Task, FoundByLaw], Machine | None]
"""Creates the machine for a task; None if the laws have nothing to examine in it."""

Groups = dict[tuple[MakeMachine, Attempts | None], list[Law]]
"""Laws that share a machine, and in a job with restored tasks also the attempts that they examine."""


class _Examined:
    """The machines of one task: a new one for each attempt, unless a law examines all attempts together."""

    __slots__ = ("attempt", "machines", "_described", "_errand", "_graph", "_groups", "_judgement", "_last", "_task")

    def __init__(self, graph: JobGraph, task: int, groups: Groups, judgement: Judgement, errand: Errand) -> None:
        self.attempt = 0
        self._graph, self._task, self._groups, self._judgement, self._errand = graph, task, groups, judgement, errand
        self._last = graph.last_attempt(task)
        self._described: list[Slice] = []
        """Descriptions, which a task records once for all attempts."""
        self.machines = [self._made(make, laws) for (make, _), laws in groups.items()]

    def _made(self, make: MakeMachine, laws: list[Law]) -> Machine | None:
        is_restored = self._graph.history.restored(self._task, self.attempt) != NO_CHECKPOINT
        if is_restored and laws[0].attempts is Attempts.FRESH:
            return None
        found = FoundByLaw({law.id: self._judgement.found[law.id] for law in laws})
        return make(self._graph, self._graph.tasks[self._task], found)

    def remember(self, facts: Slice) -> None:
        """Keeps descriptions for later attempts."""
        if self.attempt < self._last and facts.has(KEYS.name):
            self._described.append(Slice(facts.task, {KEYS.name: facts.of(KEYS.name)}))

    def begin(self, attempt: int) -> None:
        """Ends the machines of the attempt before, whose facts are a prefix, and creates those of a later one."""
        for place, laws in enumerate(self._groups.values()):
            if laws[0].attempts is not Attempts.ALL:
                self._end(place, laws, whole=False)
        self.attempt = attempt
        for place, ((make, _), laws) in enumerate(self._groups.items()):
            if laws[0].attempts is not Attempts.ALL:
                self.machines[place] = machine = self._made(make, laws)
                if machine is not None and any(KEYS.name in law.reads for law in laws):
                    for facts in self._described:
                        machine.feed(facts)

    def end(self, whole: bool) -> None:
        """Ends the machines of the last attempt."""
        for place, laws in enumerate(self._groups.values()):
            self._end(place, laws, whole and (self.attempt == self._last or laws[0].attempts is Attempts.ALL))

    def _end(self, place: int, laws: list[Law], whole: bool) -> None:
        machine = self.machines[place]
        answer = None if machine is None else machine.end(whole)
        if answer is None:
            return
        attempt = self._errand.attempt if self._errand.suspects is not None else self.attempt
        for law in laws:
            if law.join is not None:
                of_attempt = 0 if law.attempts is Attempts.ALL else attempt
                self._judgement.answers[law.id].setdefault(of_attempt, {})[self._task] = answer


def _maker(law: Law, errand: Errand) -> MakeMachine:
    if errand.suspects is not None and law.second is not None:
        return partial(_made_for_suspects, law.second.machine, errand.suspects)
    if errand.part is not None and law.of_keys is not None:
        return _PartOfKeys(law.of_keys, errand.part)
    return law.machine.make


def _made_for_suspects(
    make: Callable[[Sequence[Any]], Machine], suspects: Sequence[Any], graph: JobGraph, task: Task, found: FoundByLaw
) -> Machine:
    return make(suspects)


@dataclass(frozen=True, slots=True)
class _PartOfKeys:
    """Creates machines for some keys; laws with equal ones share a machine."""

    make: OfKeys
    part: KeyPart

    def __call__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> Machine | None:
        return self.make(graph, task, found, self.part)


Judging = Generator[Errand, Judgement, list[Outcome]]
"""Yields passes one after another, receives the result of each, and returns the outcomes."""


def judging(graph: JobGraph, laws: Sequence[Law], whole: bool, reason: str = "", *, explored: bool = False) -> Judging:
    """Checks a run against laws that apply to it: one pass, and more if suspects must be examined exactly.

    The caller decides where the passes run. ``reason``: what could not be checked. In an ``explored`` run
    tasks and timers can be late.
    """
    judgement = yield Errand(tuple(laws))
    made = []
    for law in laws:
        found = judgement.found[law.id]
        if law.join is not None:
            for joined in _joins(law, graph, judgement.answers[law.id], whole):
                suspects = law.join(joined.graph, joined.answers, joined.whole, found) or ()
                if law.second is None:
                    continue
                join = law.second.join(suspects)
                for start in range(0, len(suspects), law.second.at_once):
                    some = tuple(suspects[start : start + law.second.at_once])
                    again = yield Errand((law,), some, attempt=joined.attempt)
                    answers = again.answers[law.id].get(joined.attempt, {})
                    join(joined.graph, answers, joined.whole, found)
        made.append(_outcome(law, found, graph, whole, reason))
    return without_lateness(made) if explored else made


class _Join(NamedTuple):
    """The answers of the same attempt of tasks that exchange data."""

    graph: JobGraph
    attempt: int
    answers: Mapping[int, object]
    whole: bool


def _joins(law: Law, graph: JobGraph, answers: Mapping[int, Mapping[int, object]], whole: bool) -> Iterator[_Join]:
    """Tasks that exchange data are compared attempt by attempt, if the same failures restarted them."""
    if law.attempts is Attempts.ALL or not graph.history.is_restarted:
        yield _Join(graph, 0, answers.get(0, {}), whole)
        return
    for tasks in connected_tasks(graph):
        if not _were_restarted_together(tasks, graph):
            continue
        part = graph.part(tasks)
        last = max(graph.last_attempt(task) for task in tasks)
        for attempt in range(last + 1):
            found = {task: answer for task, answer in answers.get(attempt, {}).items() if task in tasks}
            yield _Join(part, attempt, found, whole and attempt == last)


def _were_restarted_together(tasks: Iterable[int], graph: JobGraph) -> bool:
    return len({graph.history.failures_of_restarts.get(task, ()) for task in tasks}) == 1


def _outcome(law: Law, found: Findings, graph: JobGraph, whole: bool, reason: str) -> Outcome:
    unjudged = _unjudged_attempts(law, graph)
    seen = "; ".join(filter(None, (reason, law.unjudged(graph), unjudged)))
    if found.violations:
        return Outcome(law.id, Verdict.VIOLATED, found.examined, found.violations, found.evidence, seen)
    if found.examined:
        return Outcome(law.id, Verdict.HOLDS, found.examined, 0, reason=seen)
    if not whole:
        return Outcome(law.id, Verdict.NOT_APPLICABLE, 0, 0, reason=law.nothing_yet)
    if unjudged:
        return Outcome(law.id, Verdict.NOT_APPLICABLE, 0, 0, reason=seen)
    return Outcome(law.id, Verdict.VACUOUS, 0, 0, reason=seen)


def _unjudged_attempts(law: Law, graph: JobGraph) -> str:
    """The attempts that a law does not judge."""
    history = graph.history
    if law.attempts is Attempts.FRESH and any(
        history.restored(task, attempt) != NO_CHECKPOINT
        for task in graph.tasks
        for attempt in range(graph.last_attempt(task) + 1)
    ):
        return "attempts that started from a checkpoint are not judged: their state is not among their facts"
    is_joined = law.join is not None and law.attempts is not Attempts.ALL and history.is_restarted
    if is_joined and not all(_were_restarted_together(tasks, graph) for tasks in connected_tasks(graph)):
        return "tasks that exchange data and were restarted at different times are not compared"
    return ""


def judge(walk: Callable[[Errand], Judgement], judged: Judging) -> list[Outcome]:
    """Runs one judging with a function for the passes."""
    try:
        errand = next(judged)
        while True:
            errand = judged.send(walk(errand))
    except StopIteration as end:
        outcomes: list[Outcome] = end.value
        return outcomes


def applicable(laws: Sequence[Law], graph: JobGraph, level: Level) -> tuple[list[Law], dict[str, Outcome]]:
    """The laws that apply to a run, and the outcomes of the others."""
    judged, others = [], dict[str, Outcome]()
    for law in laws:
        missing = ""
        if level < law.level:
            missing = (
                f"needs recording level {law.level.name.lower()}, the run was recorded at level {level.name.lower()}"
            )
        elif graph.tasks:
            missing = law.applies(graph)
        if missing:
            others[law.id] = Outcome(law.id, Verdict.NOT_APPLICABLE, 0, 0, reason=missing)
        elif not graph.tasks:
            others[law.id] = Outcome(law.id, Verdict.VACUOUS, 0, 0, reason=NOTHING_RECORDED)
        else:
            judged.append(law)
    return judged, others


def check_all(
    facts: AttemptFacts, status: str = WHOLE, laws: Sequence[Law] = LAWS, *, explored: bool = False
) -> list[Outcome]:
    """One outcome per law, for facts in memory.

    ``status`` is how the run ended (``recording.manifest.RunStatus``); facts with any status other than ``complete``
    are a prefix. ``explored``: as for ``judging``. ``docs/laws.md`` defines what each law counts.
    """
    graph, whole = job_graph(facts), status == WHOLE
    judged, others = applicable(laws, graph, facts.level)
    slices = list(slices_in_memory(facts, reads_of(judged, graph)))
    made = judge(
        lambda errand: examine(slices, graph, errand, whole, graph.tasks),
        judging(graph, judged, whole, explored=explored),
    )
    found = {outcome.law: outcome for outcome in made} | others
    return [found[law.id] for law in laws]
