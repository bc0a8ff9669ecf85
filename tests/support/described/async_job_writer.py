"""Random descriptions of jobs with asynchronous functions (``described_async``), the same for the same seed.

Jobs in steps have manual time: an answer comes at a nanosecond of its own. Which of two things at the same nanosecond is
first, Flink leaves open: it is Flink's own run that says at what moments something happened, and a job with two things at
one moment is replaced by another one (``determined``). The others run on the wall clock, and there all that happens is
some ms apart: Flink says so as well, in a rehearsal with manual time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flowsim.units import NS_PER_MS
from tests.support.described.described_jobs import Job
from tests.support.described.job_comparison import Answer, theirs
from tests.support.described.job_writer import BUFFERS
from tests.support.described.script_writer import ScriptWriter
from tests.support.flink.gateway import Flink

START_MS = 1000
GAP_MS = 97
MOST_STEPS = 45
REPLIES = 12
NEAR = {"buffer_timeout_ms": 0, "spread": False, "apart": False, "exclusive": 2, "floating": 8}
ATTEMPTS = 20
"""So many jobs of a seed are tried."""

FAMILIES = ("ordered", "unordered", "retries", "flat_map", "timers", "two", "window", "chained")
"""What stands around the async operator, or what it does."""


class AsyncJobWriter:
    """Writes one description."""

    def __init__(self, seed: int, attempt: int = 0) -> None:
        self.seed = seed
        self.attempt = attempt
        self.chance = random.Random(seed + attempt * 1_000_000_007)
        self.family = FAMILIES[seed % len(FAMILIES)]
        self.base = self.chance.choice([0, 0, -60, 1_700_000_000_000])
        self.keys = [f"k{number}" for number in self.chance.sample(range(-5, 12), self.chance.choice([1, 2, 4, 8]))]
        self.fails_without_timestamp = self.family == "window"
        self.next_number = 0
        self.one_at_a_time = False
        self.has_statuses = False
        self.may_be_periodic = False
        """Whether a source may emit watermarks, and find itself idle, by timers."""
        self.period_ms = 0

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def job(self) -> Job:
        """One in steps."""
        chance = self.chance
        stages = self._stages()
        is_keyed = stages[0]["kind"] == "key_by"
        parallelism = chance.choice([1, 1, 2, 3])
        may_block = not is_keyed and (self.family == "chained" or self.often(0.3))
        if may_block:
            parallelism = 1
        subtasks = [chance.choice([1, 1, 2]) for _ in range(chance.choice([1, 1, 2]))] if is_keyed else [parallelism]
        vias = ["source"] if may_block else ["function", "source"] if is_keyed else ["function"]
        if is_keyed and sum(subtasks) > 1:
            # While an operator waits for space its channels fill up. Which is read first is determined if a step puts one
            # element there: of two the first may be taken alone or with the second.
            self.one_at_a_time, vias = True, ["function"]
        if self._blocks_behind_an_exchange(stages):
            parallelism = 1
        converges = parallelism > 1 and any(stage["kind"] == "key_by" for stage in stages[1:])
        if converges:
            # Several subtasks hand on a watermark and IDLE behind it: which of them arrives first is not determined.
            self.one_at_a_time, vias = True, ["function"]
        writer = ScriptWriter(chance, self, subtasks, set())
        if self.one_at_a_time:
            # A source that was idle sends ACTIVE and a record at once, a function behind it sends each status alone.
            writer.idles, self.has_statuses = 0.0, not converges and self.often(0.6)
            writer.statuses = chance.choice([0.1, 0.25]) if self.has_statuses else 0.0
        # In Flink periodic timers pile up for a source that an operator of its chain blocks; here they do not (deviations.md).
        self.may_be_periodic = not self.one_at_a_time and sum(subtasks) == 1 and not may_block
        scripts, steps = writer.in_steps(MOST_STEPS)
        return self._described(
            sources=[self._source(script, vias) for script in scripts],
            inputs=[list(range(len(subtasks)))],
            parallelism=parallelism,
            max_parallelism=chance.choice([None, None, 7, 128]),
            key_type=chance.choice(["STRING", "STRING", "INT", "LONG"]),
            steps=steps,
            manual_time=True,
            may_block=may_block,
            stages=stages,
            network=self._network(
                spread=sum(subtasks) == 1 and not converges and self.often(0.3), is_chained=may_block
            ),
        )

    @staticmethod
    def _blocks_behind_an_exchange(stages: list[Job]) -> bool:
        """Whether an async operator reads what another one emits, which may be several elements at once."""
        inner = [number for number, stage in enumerate(stages) if stage["kind"] == "key_by" and number > 0]
        return any(stage["kind"] == "async" for number in inner for stage in stages[number:])

    def job_on_the_wall_clock(self, apart_ms: int) -> Job:
        """A free script into one operator; answers take multiples of ``apart_ms``."""
        chance = self.chance
        script: list[list[Any]] = []
        now = self.base
        for _ in range(chance.randint(5, 9)):
            now += chance.randint(0, 5)
            script.append([-1, "r", *self.event(), now, [], None])
            if self.often(0.3):
                script.append([-1, "w", now - 1, None])
        source = {"scripts": [script], "strategy": None, "via": "function", "before": [], "legacy": True}
        stage = self._async(retries=self.family == "retries")
        latencies = [apart_ms * units for units in chance.sample(range(1, 16), REPLIES)]
        stage["replies"] = [
            [0 if reply[0] == 0 else latency * NS_PER_MS, reply[1]]
            for latency, reply in zip(latencies, stage["replies"], strict=True)
        ]
        return self._described(
            sources=[source], inputs=[[0]], parallelism=1, max_parallelism=None, key_type="STRING", steps=0,
            manual_time=False, may_block=False, stages=[stage],
            network={**self._network(spread=self.often(0.5)), "buffer_timeout_ms": chance.choice([0, 1, 3])},
        )  # fmt: skip

    def _network(self, *, spread: bool, is_chained: bool = False) -> Job:
        """Where several channels are read, or time is moved by hand, all is flushed at once.

        A source that ``is_chained`` to the async operator must share its slot.
        """
        exclusive, floating = self.chance.choice(BUFFERS)
        return {
            "buffer_timeout_ms": 0, "spread": spread, "apart": spread and not is_chained and self.often(0.5),
            "exclusive": exclusive, "floating": floating,
        }  # fmt: skip

    def _described(self, *, manual_time: bool, **settings: object) -> Job:
        return {
            "seed": self.seed, "attempt": self.attempt, "family": self.family, "kind": "async", "chaining": True,
            "after": [], "auto_watermark_interval_ms": self.period_ms, "gap_ms": GAP_MS, "manual_time": manual_time,
            "edges": ["none"], "out_edge": "none", "probe_parallelism": settings["parallelism"], "probe_cost_ns": 0,
            "compare": "all", "cost_ns": 0 if manual_time else 1000, **settings,
        }  # fmt: skip

    def _source(self, scripts: list[Any], vias: list[str]) -> Job:
        """One without an exchange behind it is an old one, to which nothing is chained, unless its steps may come late."""
        before = [self.chance.choice(["map", "filter"]) for _ in range(self.chance.choice([0, 0, 1]))]
        if self.has_statuses:
            before.insert(0, "statuses")
        via = self.chance.choice(vias)
        strategy = None
        if via == "source" or (self.often(0.3) and not self.one_at_a_time):
            strategy = {
                "kind": self.chance.choice(["per_record", "punctuated"]),
                "bound_ms": self.chance.choice([0, 3, 8]),
                "shift_ms": self.chance.choice([0, 0, 5]),
            }
            if self.may_be_periodic and self.often(0.5):
                strategy["kind"] = self.chance.choice(["bounded", "monotonous"])
                strategy["idle_ms"] = self.chance.choice([130, 250, 400])
                self.period_ms = self.chance.choice([62, 72, 88, 150]) - (via == "function")
        return {"scripts": scripts, "strategy": strategy, "via": via, "before": before, "legacy": True}

    def event(self) -> list[Any]:
        self.next_number += 1
        return [self.next_number, self.chance.choice(self.keys), self.chance.randint(-20, 60)]

    def orders(self, now: int, step: int) -> list[int]:
        if self.family != "timers":
            return []
        orders: list[int] = []
        for _ in range(self.chance.choice([0, 1, 1, 2])):
            if self.often(0.4):
                due = START_MS + GAP_MS * self.chance.randint(step + 1, step + 5) + self.chance.randint(10, 80)
                orders += [3, due]
            else:
                orders += [1 if self.often(0.8) else 2, now + self.chance.randint(-6, 15)]
        return orders

    # The stages.

    def _stages(self) -> list[Job]:
        exchange = {"kind": "key_by"}
        match self.family:
            case "ordered" | "unordered":
                stages = [{**self._async(), "mode": self.family}]
            case "retries":
                stages = [self._async(retries=True)]
            case "flat_map":
                narrow = {**self._async(), "capacity": self.chance.choice([1, 1, 2])}
                stages = [{"kind": "flat_map", "copies": self.chance.choice([0, 2, 3])}, narrow]
            case "timers":
                return [exchange, {"kind": "timers"}, self._async()]
            case "two":
                stages = [self._async(), *([exchange] if self.often(0.3) else []), self._async()]
            case "window":
                window = {"kind": "window", "size_ms": self.chance.choice([5, 10, 20])}
                return [exchange, self._async(), exchange, window]
            case _:
                return [self._async(retries=self.often(0.3))]
        return [exchange, *stages] if self.often(0.4) else stages

    def _async(self, *, retries: bool | None = None) -> Job:
        chance = self.chance
        retry = self._retry() if retries or (retries is None and self.often(0.2)) else None
        timeout_ms = chance.choice([150, 350, 1000] if retry else [0, 0, 120, 260, 10_000])
        on_timeout = chance.choice(["drop", "replace", "replace", *([] if retry else ["nothing"])])
        if self.often(0.03):
            on_timeout = "fail"
        return {
            "kind": "async",
            "mode": chance.choice(["ordered", "unordered"]),
            "capacity": chance.choice([1, 1, 2, 3, 5, 20]),
            "timeout_ms": timeout_ms,
            "on_timeout": on_timeout,
            "retry": retry,
            "replies": self._replies(retry, may_be_silent=timeout_ms > 0 and on_timeout != "nothing"),
            "salt": chance.randrange(REPLIES),
        }

    def _retry(self) -> Job:
        chance = self.chance
        on_result, on_error = chance.choice([(True, False), (True, False), (True, True), (False, True)])
        common = {"max_attempts": chance.choice([1, 2, 3, 4]), "result": on_result, "exception": on_error}
        if self.often(0.5):
            return {"kind": "fixed", "delay_ms": chance.choice([30, 75, 120]), **common}
        return {
            "kind": "exponential", "initial_ms": chance.choice([20, 45]), "max_ms": chance.choice([60, 200]),
            "multiplier": chance.choice([1.5, 2.0, 3.0]), **common,
        }  # fmt: skip

    def _replies(self, retry: Job | None, *, may_be_silent: bool) -> list[list[int]]:
        """One attempt after the other takes one reply after the other."""
        chance, fails = self.chance, self.often(0.02)
        outcomes = [0] * 5 + [1, 2] + [4] * may_be_silent + [3] * fails
        if retry is not None:
            outcomes += [1] * 4 * retry["result"] + [3] * 3 * retry["exception"]
        longest_ms = chance.choice([60, 200, 400])
        drawn = [
            [0 if self.often(0.12) else chance.randint(1_000_000, longest_ms * 1_000_000), chance.choice(outcomes)]
            for _ in range(REPLIES)
        ]
        if retry is not None and not fails:
            # Not so many errors in a row that the job fails, as far as attempts go.
            for first in range(REPLIES):
                row = [drawn[(first + more) % REPLIES] for more in range(retry["max_attempts"] + 1)]
                if all(outcome == 3 for _, outcome in row):
                    row[-1][1] = 0
        return drawn


def determined(flink: Flink, seed: int) -> tuple[Job, Answer]:
    """The first of the jobs of this seed that Flink determines, and what Flink did with it."""
    for attempt in range(ATTEMPTS):
        job = AsyncJobWriter(seed, attempt).job()
        answer = theirs(flink, job)
        if is_determined(job, answer):
            return job, answer
    raise AssertionError(f"seed {seed}: of {ATTEMPTS} jobs Flink determines none")


def determined_on_the_wall_clock(flink: Flink, seed: int, apart_ms: int) -> Job:
    """The first whose moments are so far apart; Flink itself, with its time moved by hand, says when they are."""
    for attempt in range(10 * ATTEMPTS):
        job = AsyncJobWriter(seed, attempt).job_on_the_wall_clock(apart_ms)
        if are_apart(theirs(flink, rehearsal(job)).moments, apart_ms * NS_PER_MS):
            return job
    raise AssertionError(f"seed {seed}: no job whose moments are {apart_ms} ms apart")


def rehearsal(job: Job) -> Job:
    """The job with its time moved by hand; the source ends at once, in the only step."""
    (source,) = job["sources"]
    ending = {**source, "scripts": [[*source["scripts"][0], [0, "end"]]]}
    return {**job, "manual_time": True, "gap_ms": 1, "steps": 1, "sources": [ending], "network": NEAR}


def is_determined(job: Job, answer: Answer) -> bool:
    """Whether no two things come from outside at the same nanosecond: answers, timers and steps.

    Of two at one time Flink leaves open which is first, also of a timer that is set for a time that has passed. Those that
    wait to be tried again at the end of the input are tried in the order of a HashSet.
    """
    steps = [(START_MS + GAP_MS * (step + 1)) * NS_PER_MS for step in range(job["steps"])]
    return are_apart([*answer.moments, *steps], 1) and are_apart(answer.retries, 1)


def are_apart(times_ns: Sequence[int], apart_ns: int) -> bool:
    return all(later - before >= apart_ns for before, later in pairwise(sorted(times_ns)))
