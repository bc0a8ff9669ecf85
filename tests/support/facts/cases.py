"""Recordings for the laws: correct ones, their prefixes, and damaged ones; each family is equal on every call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from flowsim.facts.kinds import Level, LifeEvent
from tests.support.facts.async_damage import damage_async
from tests.support.facts.async_jobs import recorded_jobs
from tests.support.facts.event_time_damage import damage_event_time, event_time_jobs
from tests.support.facts.fact_builder import FactBuilder
from tests.support.facts.mutations import MUTATIONS
from tests.support.facts.random_mutations import KINDS, KINDS_OF_JOINS
from tests.support.facts.valid_job import honest_job
from tests.support.facts.window_damage import damage_anywhere, damage_windows, joins_by_law, recorded_window_jobs

CUTS: Final = (500, 2500, 4000, 5000, 5600, 6400)
"""Facts of the honest job."""
SMALL_JOBS: Final = ((13, 11, 8), (5, 14, 8), (13, 14, 8), (2, 14, 14), (7, 14, 14))
"""Seed, records a source and pace of small jobs that have everything to break, late records too."""
SMALL_CUTS: Final = (150, 400, 650, 900, 1100)


@dataclass(frozen=True)
class Case:
    """One recording; of ``honest`` ones no law may be broken, and ``laws`` are those that must be."""

    name: str
    facts: FactBuilder
    status: str = "complete"
    laws: frozenset[str] = frozenset()
    honest: bool = False
    open_facts: int = 0
    """So many facts behind the last complete epoch."""

    @property
    def kept(self) -> FactBuilder:
        """The facts of its complete epochs."""
        return self.facts.copy(len(self.facts.facts) - self.open_facts) if self.open_facts else self.facts

    def write(self, folder: Path, epochs: int = 1) -> Path:
        """Writes ``folder/recording``; without any epoch where all facts lie behind the last complete one."""
        complete = epochs if self.open_facts < len(self.facts.facts) else 0
        return self.facts.write(folder, self.status, complete, self.open_facts)


def one_task() -> FactBuilder:
    """A job that is one source: no channel, no window, no key."""
    f = FactBuilder(Level.FULL)
    f.add("tasks", task=0, name="source (1/1)", parallelism=1, max_parallelism=128)
    f.add("operators", name="source", kind="source", params="{}", input_operator=-1)
    for operator, event in (
        (-1, LifeEvent.RUNNING), (0, LifeEvent.OPEN), (0, LifeEvent.FINISH), (0, LifeEvent.CLOSE), (-1, LifeEvent.FINISHED)
    ):  # fmt: skip
        f.add("lifecycle", task=0, operator=operator, event=event)
    f.add("operator_counts", task=0, records_in=3, records_out=3)
    return f


def mutated() -> Iterator[Case]:
    """The honest job, each of its mutations, its prefixes, and jobs to which some laws do not apply."""
    honest = honest_job()
    yield Case("honest", honest, honest=True)
    for name, (mutate, broken) in MUTATIONS.items():
        facts = honest.copy()
        mutate(facts)
        yield Case(name, facts, laws=frozenset(broken))
    for cut in CUTS:
        yield Case(f"cut {cut}", honest.copy(cut), "running", honest=True, open_facts=40)
    late = honest.copy(3000)
    lost = late.rows("received", lambda r: r["kind"] == 0 and r["channel"] == 1)[5]
    late.remove("received", lost)
    for row in late.rows("received", lambda r: r["channel"] == 1 and r["position"] > lost["position"]):
        row["position"] = int(row["position"]) - 1
    yield Case("failed after a loss", late, "failed", frozenset({"channel-fifo"}))
    yield Case("killed at once", honest.copy(), "running", honest=True, open_facts=len(honest.facts))
    yield Case("without records", honest_job(records=0), honest=True)
    yield Case("level elements", honest_job(Level.ELEMENTS, seed=2), honest=True)
    yield Case("one task", one_task(), honest=True)
    yield from (Case(law, facts, honest=True) for law, facts in joins_by_law().items())


def small(damaged: int, some_fail: bool = False) -> Iterator[Case]:
    """Small jobs and prefixes of one, and so many damaged at random by every kind of damage in turn; and joins."""
    jobs = [honest_job(seed=seed, records=records, pace_ms=pace) for seed, records, pace in SMALL_JOBS]
    yield from (Case(f"small, honest {number}", job, honest=True) for number, job in enumerate(jobs))
    yield from (Case(f"small, cut {cut}", jobs[0].copy(cut), "failed", honest=True) for cut in SMALL_CUTS)
    for number in range(damaged):
        kind = KINDS[number % len(KINDS)]
        facts = jobs[number % len(jobs)].copy()
        kind.damage(facts, Random(number))
        failed = some_fail and number % 7 == 0
        yield Case(f"{number}: {kind.name}", facts, "failed" if failed else "complete", kind.laws)
    joined = joins_by_law()
    for number, kind in enumerate(KINDS_OF_JOINS, damaged):
        (law,) = kind.laws
        facts = joined[law].copy()
        kind.damage(facts, Random(number))
        yield Case(f"{number}: {kind.name}", facts, laws=kind.laws)


def with_async(damaged: int) -> Iterator[Case]:
    """Jobs with async operators, each as it ran and so often damaged."""
    for number, (name, facts, status) in enumerate(recorded_jobs()):
        yield Case(name, facts, status, honest=True)
        for again in range(damaged):
            changed, random = facts.copy(), Random(damaged * number + again)
            for _ in range(1 + again % 2):
                damage_async(changed, random)
            yield Case(f"{name}, damage {again}", changed, status)


def with_event_time(damaged: int) -> Iterator[Case]:
    """Jobs about event time, each as it ran, as a prefix, and so often damaged."""
    for name, facts in event_time_jobs():
        yield Case(name, facts, honest=True)
        yield Case(f"{name}, stopped", facts, "stopped", honest=True)
        for again in range(damaged):
            changed = facts.copy()
            damage_event_time(changed, Random(again))
            yield Case(f"{name}, damage {again}", changed, "complete" if again % 4 else "stopped")


def with_windows(damaged: int, anywhere: int = 0) -> Iterator[Case]:
    """Jobs with windows, joins, broadcast and alignment, each as it ran and so often damaged, in windows or anywhere."""
    for number, (name, facts) in enumerate(recorded_window_jobs()):
        yield Case(name, facts, honest=True)
        for again in range(damaged):
            changed = facts.copy()
            damage_windows(changed, Random(damaged * number + again))
            yield Case(f"{name}, damage {again}", changed, "stopped" if (number + again) % 4 == 3 else "complete")
        for again in range(anywhere):
            changed = facts.copy()
            damage_anywhere(changed, Random(f"{name} {again}"))
            yield Case(f"{name}, damage anywhere {again}", changed)
