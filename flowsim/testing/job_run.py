"""One run of a job inside a test: its result, its facts, its outputs, and what the laws say of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from flowsim.cluster.faults import Fault
from flowsim.cluster.mini_cluster import JobExecutionResult, JobStatus, MiniCluster, RunOptions
from flowsim.cluster.run_actions import RunAction
from flowsim.connectors.collect import CollectSink
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.laws.catalogue import Outcome
from flowsim.laws.judge import check_all
from flowsim.recording.manifest import RunStatus
from flowsim.recording.memory import MemoryRecorder
from flowsim.testing.observed_graph import Job, observe
from flowsim.testing.schedule import FIFO, Schedule
from flowsim.units import NS_PER_MS

_JUDGED_AS = {
    JobStatus.FINISHED: RunStatus.COMPLETE,
    JobStatus.STOPPED: RunStatus.STOPPED,
    JobStatus.CANCELED: RunStatus.CANCELED,
}


@dataclass(frozen=True)
class JobRun:
    """What came of one run; the same job, schedule and faults give the same run again."""

    schedule: Schedule
    faults: tuple[Fault, ...]
    actions: tuple[RunAction, ...]
    result: JobExecutionResult
    facts: MemoryRecorder = field(repr=False)
    ends: dict[str, CollectSink] = field(repr=False)
    """What every sink took, and every operator emitted whose output nobody reads, by operator name."""

    @property
    def reproduce(self) -> str:
        """The line that makes this run again."""
        faults = f", faults={list(self.faults)!r}" if self.faults else ""
        actions = f", actions={list(self.actions)!r}" if self.actions else ""
        return f"run_job(job, schedule={self.schedule!r}{faults}{actions})"

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What each law says; a run that did not finish is judged as a prefix."""
        status = _JUDGED_AS.get(self.result.status, RunStatus.FAILED)
        return tuple(check_all(self.facts, status.value))

    def values(self, end: str | None = None, subtask: int | None = None) -> list[object]:
        """The values at one end of the job in order of arrival, of one subtask or of all, one after the other.

        ``end`` is the name of the sink or last operator; it may be left out where there is only one. Raises BadInput.
        """
        return self._end(end).values(subtask)

    def per_key(self, key: Callable[..., Hashable], end: str | None = None) -> dict[Hashable, list[object]]:
        """The values of each key in order of arrival, keys in order of first appearance.

        Raises BadInput when a key reached more than one subtask: between subtasks there is no order to speak of.
        """
        owner: dict[Hashable, int] = {}
        found: dict[Hashable, list[object]] = {}
        for subtask, values in enumerate(self._subtasks(self._end(end))):
            for value in values:
                its_key = key(value)
                if owner.setdefault(its_key, subtask) != subtask:
                    raise BadInput(
                        f"key {its_key!r} arrived at subtasks {owner[its_key]} and {subtask}: they have no order in "
                        "common; look at an end behind key_by, or at one of parallelism 1"
                    )
                found.setdefault(its_key, []).append(value)
        return found

    def claim(self, sentence: str, holds: bool, *evidence: object) -> None:
        """Demands that what the test says of this run is true; the AssertionError names the seed and the evidence."""
        __tracebackhide__ = True
        if not holds:
            shown = "".join(f"\n  {item!r}" for item in evidence)
            raise AssertionError(f"not true: {sentence}{shown}\n  reproduce: {self.reproduce}")

    def outputs(self) -> dict[str, list[list[object]]]:
        """Per end of the job and per subtask, its values in order of arrival."""
        return {name: self._subtasks(end) for name, end in self.ends.items()}

    def _end(self, name: str | None) -> CollectSink:
        if name is None and len(self.ends) == 1:
            return next(iter(self.ends.values()))
        if name is None or name not in self.ends:
            there_are = ", ".join(map(repr, self.ends))
            asked = "which end of the job?" if name is None else f"the job has no end {name!r};"
            raise BadInput(f"{asked} there are: {there_are} (operators are named with .name(...))")
        return self.ends[name]

    @staticmethod
    def _subtasks(end: CollectSink) -> list[list[object]]:
        return [end.values(subtask) for subtask in range(end.parallelism)]


def run_job(
    job: Job, *, schedule: Schedule = FIFO, level: Level = Level.FULL, faults: Iterable[Fault] = (),
    until_ms: int | None = None, actions: Iterable[RunAction] = (),
) -> JobRun:  # fmt: skip
    """Runs a job in this process on the virtual clock and keeps its facts in memory; raises BadInput.

    A job that fails, or deadlocks, is told in ``result``. ``until_ms`` bounds endless jobs, in virtual time;
    ``actions`` stop or cancel them. What
    ``flowsim_settings`` says of runs is not used; the job itself stays as it is and can be run again.
    """
    observed = observe(job)
    recorder = MemoryRecorder(level)
    switched_on, done = tuple(faults), tuple(actions)
    options = RunOptions(
        seed=schedule.seed,
        policy=schedule.policy,
        budget_records=schedule.budget_records,
        recorder=None if level is Level.OFF else recorder,
        faults=switched_on,
        until_ns=None if until_ms is None else until_ms * NS_PER_MS,
        actions=done,
    )
    result = MiniCluster(observed.graph, options).run()
    return JobRun(schedule, switched_on, done, result, recorder, observed.ends)
