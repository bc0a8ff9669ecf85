"""Checks recorded facts against all laws in one pass over the slices of their tasks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.garbage_collection import without_garbage_collection
from flowsim.laws.catalogue import LAWS
from flowsim.laws.job_graph import JobGraph, Task, job_graph
from flowsim.laws.law import (
    Findings,
    FoundByLaw,
    KeyPart,
    Law,
    Machine,
    MakeMachine,
    OfKeys,
    Outcome,
    Verdict,
    reads_of,
)
from flowsim.laws.slices import Facts, Slice, slices_in_memory

WHOLE: Final = "complete"
"""The only run status whose facts are not a prefix."""

NOTHING_RECORDED: Final = "the run ended before anything was recorded"
"""Not even the description of the job: whether a law applies is not known."""


@dataclass(frozen=True, slots=True)
class Errand:
    """The purpose of a pass: laws, or the suspects of one law; ``part``: only some keys of the tasks."""

    laws: tuple[Law, ...]
    suspects: tuple[Any, ...] | None = None
    part: KeyPart | None = None

    @property
    def by_key(self) -> tuple[Law, ...]:
        """The laws that can examine some keys of a task alone."""
        return tuple(law for law in self.laws if law.of_keys is not None and self.suspects is None)

    def of_part(self, part: KeyPart) -> Errand:
        """The errand for some keys: the first part is for all laws, the others for laws that support key parts."""
        return replace(self, part=part, laws=self.by_key if part[0] else self.laws)


class Judgement:
    """The results of some tasks: findings per law, and the machines' results for the joins."""

    def __init__(self, laws: Sequence[Law]) -> None:
        self.found: dict[str, Findings] = {law.id: Findings() for law in laws}
        self.answers: dict[str, dict[int, object]] = {law.id: {} for law in laws if law.join is not None}

    def add(self, other: Judgement) -> None:
        """Adds the results of other tasks."""
        for law, found in other.found.items():
            self.found[law].add(found)
        for law, others in other.answers.items():
            answers = self.answers[law]
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
    groups: dict[MakeMachine, list[Law]] = {}
    for law in errand.laws:
        groups.setdefault(_maker(law, errand), []).append(law)
    tables = [tuple({table: None for law in group for table in law.reads}) for group in groups.values()]
    machines: dict[int, list[Machine | None]] = {
        task: [make(graph, graph.tasks[task], judgement.found) for make in groups] for task in tasks
    }
    for facts in slices:
        if facts.task not in machines:
            raise BadInput(f"the recording is damaged: it has facts of task {facts.task}, which it does not describe")
        for machine, read in zip(machines[facts.task], tables, strict=True):
            if machine is not None and facts.has(*read):
                machine.feed(facts)
    for task, made in machines.items():
        for machine, laws in zip(made, groups.values(), strict=True):
            answer = None if machine is None else machine.end(whole)
            for law in laws if answer is not None else ():
                if law.join is not None:
                    judgement.answers[law.id][task] = answer
    return judgement


def _maker(law: Law, errand: Errand) -> MakeMachine:
    if errand.suspects is not None and law.second is not None:
        return partial(_made_for_suspects, law.second.machine, errand.suspects)
    if errand.part is not None and law.of_keys is not None:
        return _PartOfKeys(law.of_keys, errand.part)
    return law.machine


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


def judging(graph: JobGraph, laws: Sequence[Law], whole: bool, reason: str = "") -> Judging:
    """Checks a run against laws that apply to it: one pass, and more if suspects must be examined exactly.

    The caller decides where the passes run. ``reason``: what could not be checked.
    """
    judgement = yield Errand(tuple(laws))
    made = []
    for law in laws:
        found = judgement.found[law.id]
        suspects = law.join(graph, judgement.answers[law.id], whole, found) if law.join is not None else None
        if suspects and law.second is not None:
            for start in range(0, len(suspects), law.second.at_once):
                again = yield Errand((law,), tuple(suspects[start : start + law.second.at_once]))
                law.second.join(graph, again.answers[law.id], whole, found)
        made.append(_outcome(law, found, graph, whole, reason))
    return made


def _outcome(law: Law, found: Findings, graph: JobGraph, whole: bool, reason: str) -> Outcome:
    seen = "; ".join(filter(None, (reason, law.unjudged(graph))))
    if found.violations:
        return Outcome(law.id, Verdict.VIOLATED, found.examined, found.violations, found.evidence, seen)
    if found.examined:
        return Outcome(law.id, Verdict.HOLDS, found.examined, 0, reason=seen)
    if not whole:
        return Outcome(law.id, Verdict.NOT_APPLICABLE, 0, 0, reason=law.nothing_yet)
    return Outcome(law.id, Verdict.VACUOUS, 0, 0, reason=seen)


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


def check_all(facts: Facts, status: str = WHOLE, laws: Sequence[Law] = LAWS) -> list[Outcome]:
    """One outcome per law, for facts in memory.

    ``status`` is how the run ended (``recording.manifest.RunStatus``); facts with any status other than ``complete``
    are a prefix. ``docs/laws.md`` defines what each law counts.
    """
    graph, whole = job_graph(facts), status == WHOLE
    judged, others = applicable(laws, graph, facts.level)
    slices = list(slices_in_memory(facts, reads_of(judged)))
    made = judge(lambda errand: examine(slices, graph, errand, whole, graph.tasks), judging(graph, judged, whole))
    found = {outcome.law: outcome for outcome in made} | others
    return [found[law.id] for law in laws]
