"""Random descriptions of jobs with asynchronous functions (``described_async``), the same for the same seed.

Only what Flink determines is written. Jobs in steps have manual time: an answer comes at a nanosecond of its own, and no
timer at the millisecond of a step (``is_determined``). The others run on the wall clock, and there all that happens is
at least so many ms apart (``is_apart``).
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from flowsim.facts.kinds import AsyncAction, Level
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import NS_PER_MS
from tests.support.described import described_async
from tests.support.described.described_jobs import Job
from tests.support.described.job_comparison import ours
from tests.support.described.script_writer import ScriptWriter

START_MS = 1000
GAP_MS = 97
MOST_STEPS = 45
REPLIES = 12
WORK_NS = 100_000
"""More than a job needs here for all that one thing from outside sets going; in Flink's jobs time stands still then."""

FAMILIES = ("ordered", "unordered", "retries", "flat_map", "timers", "two", "window", "chained")
"""What stands around the async operator, or what it does."""


class AsyncJobWriter:
    """Writes one description."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.family = FAMILIES[seed % len(FAMILIES)]
        self.base = self.chance.choice([0, 0, -60, 1_700_000_000_000])
        self.keys = [f"k{number}" for number in self.chance.sample(range(-5, 12), self.chance.choice([1, 2, 4, 8]))]
        self.fails_without_timestamp = self.family == "window"
        self.next_number = 0
        self.one_at_a_time = False

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def job(self) -> Job:
        """One in steps, of which everything is determined."""
        while True:
            self.next_number, self.one_at_a_time = 0, False
            job = self._job()
            if is_determined(job):
                return job

    def job_on_the_wall_clock(self, apart_ms: int) -> Job:
        """A free script into one operator; all that happens is ``apart_ms`` apart."""
        while True:
            self.next_number = 0
            job = self._real_job()
            if is_apart(job, apart_ms):
                return job

    def _job(self) -> Job:
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
        if parallelism > 1 and any(stage["kind"] == "key_by" for stage in stages[1:]):
            # Several subtasks hand on a watermark and IDLE behind it: which of them is heard first is not determined.
            self.one_at_a_time, vias = True, ["function"]
        writer = ScriptWriter(chance, self, subtasks, set())
        writer.idles = 0.0 if self.one_at_a_time else writer.idles
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
        )

    @staticmethod
    def _blocks_behind_an_exchange(stages: list[Job]) -> bool:
        """Whether an async operator reads what another one emits, which may be several elements at once."""
        inner = [number for number, stage in enumerate(stages) if stage["kind"] == "key_by" and number > 0]
        return any(stage["kind"] == "async" for number in inner for stage in stages[number:])

    def _real_job(self) -> Job:
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
        latencies = [30 * (1 + number) for number in range(REPLIES)]
        chance.shuffle(latencies)
        stage["replies"] = [
            [0 if reply[0] == 0 else latency * NS_PER_MS, reply[1]]
            for latency, reply in zip(latencies, stage["replies"], strict=True)
        ]
        return self._described(
            sources=[source], inputs=[[0]], parallelism=1, max_parallelism=None, key_type="STRING", steps=0,
            manual_time=False, may_block=False, stages=[stage],
        )  # fmt: skip

    def _described(self, *, manual_time: bool, **settings: object) -> Job:
        return {
            "seed": self.seed, "family": self.family, "kind": "async", "chaining": True, "after": [],
            "auto_watermark_interval_ms": 0, "gap_ms": GAP_MS, "manual_time": manual_time, **settings,
        }  # fmt: skip

    def _source(self, scripts: list[Any], vias: list[str]) -> Job:
        """One without an exchange behind it is an old one, to which nothing is chained, unless its steps may come late."""
        before = [self.chance.choice(["map", "filter"]) for _ in range(self.chance.choice([0, 0, 1]))]
        via = self.chance.choice(vias)
        strategy = None
        if via == "source" or (self.often(0.3) and not self.one_at_a_time):
            strategy = {
                "kind": self.chance.choice(["per_record", "punctuated"]),
                "bound_ms": self.chance.choice([0, 3, 8]),
                "shift_ms": self.chance.choice([0, 0, 5]),
            }
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


def moments(job: Job) -> list[int]:
    """When, in ns, something comes to an async operator here from outside: an answer, a timeout, the time to try again."""
    recorder = MemoryRecorder(Level.FULL)
    ours(job, recorder=recorder)
    columns = recorder.columns("async_elements")
    names = ("task", "operator", "entry", "action", "attempt", "time_ns")
    at = [columns.index(name) for name in names]
    found: list[int] = []
    called: dict[tuple[int, ...], int] = {}
    """When the function was last called for an element, or asked what to do without an answer."""
    for row in recorder.rows("async_elements"):
        task, operator, entry, action, attempt, time_ns = (row[index] for index in at)
        element = (task, operator, entry)
        is_timer = action == AsyncAction.TIMEOUT or (action == AsyncAction.INVOKE and attempt > 1)
        is_outcome = action in (AsyncAction.COMPLETE, AsyncAction.FAIL, AsyncAction.RETRY)
        if is_timer or (is_outcome and called[element] != time_ns):
            found.append(time_ns)
        if is_timer or action == AsyncAction.INVOKE:
            called[element] = time_ns
    return sorted(found)


def is_determined(job: Job) -> bool:
    """Whether all that comes from outside is apart from each other and from the steps, by more than any work takes here.

    A timer that is set for a time that has passed is not. Those that wait to be tried again at the end of the input are
    not, either: Flink keeps them in a HashSet.
    """
    described_async.LATE.clear()
    described_async.FIRED_MS.clear()
    answered = moments(job)
    steps = [(START_MS + GAP_MS * (step + 1)) * NS_PER_MS for step in range(job["steps"])]
    fired = [fired_ms * NS_PER_MS for fired_ms in described_async.FIRED_MS]
    all_apart = _are_apart(sorted(answered + steps), WORK_NS) and not any(
        abs(one - other) < NS_PER_MS for one in answered for other in fired
    )
    return all_apart and not described_async.LATE


def is_apart(job: Job, apart_ms: int) -> bool:
    """Whether any two moments at which something is answered, times out or is tried again are so far apart."""
    return _are_apart(moments(job), apart_ms * NS_PER_MS)


def _are_apart(times_ns: list[int], apart_ns: int) -> bool:
    return all(later - before >= apart_ns for before, later in pairwise(times_ns))
