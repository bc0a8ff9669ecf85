"""One described job on both sides.

Run as a program it compares one job alone, given by the seed that a test printed (behind ``async:`` for one with async
operators) or by a file with its description, and prints the first difference of every probe and the smallest job that
still differs:

    python tests/support/described/job_comparison.py 1234
    python tests/support/described/job_comparison.py async:1234:0
    python tests/support/described/job_comparison.py job.json
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flowsim.errors import JobFailed
from tests.support.described import described_jobs
from tests.support.described.described_jobs import Job, Log
from tests.support.described.job_shrinker import shrunk
from tests.support.described.job_writer import JobWriter
from tests.support.flink.gateway import Flink
from tests.support.flink.machine import Differential

CAUSES = (
    ("BadInput: the record has no timestamp, so no event-time window", "RuntimeException: Record has Long.MIN_VALUE"),
    ("BadInput: a record without timestamp", "FlinkException: Long.MIN_VALUE timestamp: Elements used in interval"),
    ("ValueError: ", "IllegalStateException: "),
    ("TimeoutError: ", "TimeoutException: "),
)
"""How a cause begins here, and how the same one does in Flink; for the functions of the tests, the rest is the same, too."""

REPETITIONS = 5
"""So often Flink runs a job again that came out otherwise here, to see whether it determines what happens."""
NAMES = (
    ("async wait operator", "async"),
    ("KeyedProcess", "KEYED PROCESS"),
    ("Co-Keyed-Process", "Keyed Co-Process"),
)
"""Operators that Java's API names otherwise than PyFlink's, whose names ours are."""


_WINDOW = re.compile(r"^[^>]*Window.*?(?= -> | \(\d+/\d+\)$)")
"""A window operator at the beginning of a chain: its name here says what function it has, there how it was made."""


@dataclass(frozen=True)
class Failure:
    """``task``: the names of its chain and its subtask. ``cause``: class and message of the innermost cause."""

    task: str
    cause: str

    def same(self, ours: Failure, *, in_parts: bool) -> bool:
        """``in_parts``: chains may be cut there where they are not here."""
        if not self._same_cause(ours.cause):
            return False
        (names, subtask), (all_names, other) = self._names(), ours._names()
        return subtask == other and (names <= all_names if in_parts else names == all_names)

    def is_of(self, place: str) -> bool:
        """Whether the task is the one of these probes."""
        name, _, subtask = place.partition("/")
        return f" {name} ({int(subtask) + 1}/" in f" {self.task}"

    def _names(self) -> tuple[Counter[str], str]:
        """Of the operators, in whatever order the branches of the chain are written, and the subtask."""
        chain, _, subtask = _WINDOW.sub("window", self.task).rpartition(" ")
        for real, mine in NAMES:
            chain = chain.replace(real, mine)
        names = Counter(name.strip() for name in re.split(r"[(),]| -> ", chain) if name.strip())
        del names["end"]
        return names, subtask

    def _same_cause(self, ours: str) -> bool:
        if self.cause == ours:
            return True  # of two runs here
        for mine, real in CAUSES:
            if ours.startswith(mine) and self.cause.startswith(real):
                return not mine.endswith(": ") or ours.removeprefix(mine) == self.cause.removeprefix(real)
        return False


@dataclass(frozen=True)
class Answer:
    """What the probes saw, until the job finished or failed.

    Only of Flink: ``settled`` is what they had seen, as numbers of elements, before the last thing that happened from
    outside; ``moments`` are the times in ns at which timers fired and calls were answered, ``retries`` those of second and
    further attempts.
    """

    log: Log
    failure: Failure | None
    settled: Mapping[str, int] = field(default_factory=dict)
    moments: Sequence[int] = ()
    retries: Sequence[int] = ()

    @property
    def elements(self) -> int:
        return max(1, sum(map(len, self.log.values())))


def theirs(flink: Flink, job: Job) -> Answer:
    result: dict[str, Any] = flink.job("described.DescribedJob", job)
    error, failure = result["error"], None
    if error is not None:
        is_own = "Async function call has timed out" in error
        is_wrong = any(name in error for name in ("ClassCastException", "NotSerial", "NullPointer"))
        if ("TimeoutException" in error and not is_own) or is_wrong or "task" not in result:
            raise AssertionError(f"the interpreter is wrong: {error}")
        failure = Failure(result["task"], error)
    log = {place: [json.loads(event) for event in events] for place, events in result["log"].items()}
    return Answer(log, failure, result["settled"], result["moments"], result["retries"])


def ours(job: Job, **run_settings: object) -> Answer:
    log: Log = {}
    try:
        described_jobs.run(job, log, **run_settings)
    except JobFailed as failed:
        cause = failed.cause
        while cause.__cause__ is not None:
            cause = cause.__cause__
        return Answer(log, Failure(failed.task, f"{type(cause).__name__}: {cause}"))
    return Answer(log, None)


def difference(job: Job, expected: Answer, seen: Answer) -> str:
    """Where the answers part, probe by probe; empty where they are the same."""
    real, mine = expected.failure, seen.failure
    in_parts = job["network"]["apart"]
    if (real is None) != (mine is None) or (real and mine and not real.same(mine, in_parts=in_parts)):
        return f"Flink {real or 'finished'}\nours  {mine or 'finished'}"
    if job["compare"] == "channels":
        return _first_differences(by_channel(job, expected.log), by_channel(job, seen.log), None)
    return _first_differences(expected.log, seen.log, expected if real else None, job["kind"] != "async")


def divergence(differential: Differential, job: Job, expected: Answer) -> str:
    """What differs from ``expected``, which Flink answered; empty, and counted, where Flink itself answers otherwise."""
    reported = difference(job, expected, ours(job))
    if reported and any(difference(job, expected, theirs(differential.flink, job)) for _ in range(REPETITIONS)):
        differential.tallies.count("jobs left open by Flink", sequences=1)
        return ""
    return reported


def _first_differences(
    real: Mapping[str, list[Any]], mine: Mapping[str, list[Any]], failed: Answer | None, fails_at_once: bool = True
) -> str:
    """After a failure, what other tasks did at the same time may be cut off anywhere behind what was settled.

    So may that of the task itself unless it ``fails_at_once``: an async call that fails does so beside the task's thread.
    """
    reported = []
    for place in sorted(real.keys() | mine.keys()):
        left, right = real.get(place, []), mine.get(place, [])
        if failed is not None and failed.failure and not (fails_at_once and failed.failure.is_of(place)):
            least = failed.settled.get(place, 0)
            if len(right) < least:
                reported.append(f"{place}: Flink had {least} elements before the failure, ours {right}")
            shared = min(len(left), len(right))
            left, right = left[:shared], right[:shared]
        if left != right:
            pairs = enumerate(zip(left, right, strict=False))
            at = next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))
            reported.append(f"{place} from element {at} on:\n  Flink {left[at : at + 4]}\n  ours  {right[at : at + 4]}")
    return "\n".join(reported)


def by_channel(job: Job, log: Log) -> dict[str, list[Any]]:
    """The records of each probe by the subtask that they come from, and its last watermark."""
    origins = {
        entry[2]: f"source {number}/{subtask}"
        for number, source in enumerate(job["sources"])
        for subtask, script in enumerate(source["scripts"])
        for entry in script
        if entry[1] == "r"
    }
    parted: dict[str, list[Any]] = {}
    for place, elements in log.items():
        for element in elements:
            if element[0] == "rec":
                parted.setdefault(f"{place} from {origins[element[1][0]]}", []).append(element)
            else:
                parted[f"{place}, last {element[0]}"] = [element]
    return parted


def report(flink: Flink, job: Job, reported: str) -> str:
    """What to say of a job that differs: how to run it again, and the smallest one that does so, too."""

    def still_differs(smaller: Job) -> bool:
        try:
            return bool(difference(smaller, theirs(flink, smaller), ours(smaller)))
        except Exception:
            return False  # smaller, but no job that either side accepts

    smallest = shrunk(job, still_differs)
    again = difference(smallest, theirs(flink, smallest), ours(smallest))
    return (
        f"seed {job['seed']} ({job['family']}): python tests/support/described/job_comparison.py {named(job)}\n{reported}\n"
        f"the smallest that differs:\n{json.dumps(smallest)}\n{again}"
    )


def named(job: Job) -> str:
    """What the program takes; a job on the wall clock only goes as a file."""
    if job["kind"] != "async":
        return str(job["seed"])
    return f"async:{job['seed']}:{job['attempt']}" if job["manual_time"] else "job.json"


def described(argument: str) -> Job:
    from tests.support.described.async_job_writer import AsyncJobWriter

    if argument.endswith(".json"):
        job: Job = json.loads(Path(argument).read_text())
        return job
    kind, *numbers = argument.split(":")
    return AsyncJobWriter(*map(int, numbers)).job() if kind == "async" else JobWriter(int(argument)).job()


def main(argument: str) -> int:
    job = described(argument)
    flink = Flink(Path(tempfile.gettempdir(), "flowsim-flink-classes"))
    try:
        reported = difference(job, theirs(flink, job), ours(job))
        print(report(flink, job, reported) if reported else f"the same on both sides:\n{json.dumps(job)}")
    finally:
        flink.close()
    return bool(reported)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
