"""Random scripted jobs with checkpoints, failures, savepoints, stops and other parallelisms, by a seed."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.support.jobs.checkpoint_jobs import Event

KINDS = (
    "keyed",
    "state",
    "timers",
    "keyed_broadcast",
    "keyed_co_process",
    "window",
    "sliding",
    "session",
    "count",
    "trace",
    "async",
)
CONNECTED = ("keyed_broadcast", "keyed_co_process")
WITH_TIMERS = ("keyed", "timers", *CONNECTED)


MOST_QUEUED = 15
"""Elements of an async operator; a queue of 20 that is full would wait for an answer that the script gives later."""


class CheckpointJobWriter:
    """Writes one case; the steps of all its scripts have one order."""

    name = "checkpoint job"
    kinds: tuple[str, ...] = KINDS

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random = Random(f"{self.name} {seed}")
        self.kind = self.kinds[seed % len(self.kinds)]
        # Without a key by, the exchange from several sources to the async operator has no determined order.
        sources = 1 if self.kind == "async" else 2 if self.kind in CONNECTED else random.choice([1, 1, 2, 3])
        self.scripts: list[list[list[Event]]] = [
            [[] for _ in range(1 if self.kind == "async" else random.choice([1, 1, 2, 3]))] for _ in range(sources)
        ]
        self.places = [
            (source, subtask) for source, script in enumerate(self.scripts) for subtask in range(len(script))
        ]
        self.keys = [f"k{number}" for number in range(random.choice([1, 2, 4, 7]))]
        self.times = dict.fromkeys(self.places, 0)
        self.watermarks = dict.fromkeys(self.places, -1)
        self.step = 0
        self.records = 0
        self.failing: list[int] = []
        self.unanswered: list[int] = []
        """The oldest first."""
        self.is_ordered = False
        """Whether an answered element stays in the queue until those before it are answered."""

    def case(self) -> dict[str, Any]:
        random = self.random
        params = self._params()
        self.is_ordered = params.get("ordered", False)
        count = random.choice([1, 1, 2, 2, 3])
        phases = [{"parallelism": self._parallelism(params["max_parallelism"])} for _ in range(count)]
        for number in range(count):
            self._rounds(random.randint(1, 3) if count == 1 else random.randint(0, 1))
            if number < count - 1:
                # A trace has notifications, which a phase that is cancelled need not wait for.
                cancels = [] if self.kind == "trace" else [["savepoint"], ["retain"]]
                ending: list[Any] = random.choice([*cancels, ["stop", 0], ["stop", 1]])
                if ending[0] == "stop":
                    self._stop(ending[1])
                else:
                    self._snapshot(*ending)
            self._elements(random.randint(1, 6))
        self._answer_all()
        if count == 1 and random.random() < 0.3:
            self._stop(random.randrange(2))
        for place in random.sample(self.places, len(self.places)):
            self._add(place, "end")
        if self.failing:
            params["fail_ids"] = self.failing
        return {"seed": self.seed, "job": self.kind, "scripts": self.scripts, "params": params, "phases": phases}

    def _params(self) -> dict[str, Any]:
        random = self.random
        params: dict[str, Any] = {
            "mode": "AT_LEAST_ONCE" if random.random() < 0.1 else "EXACTLY_ONCE",
            "max_parallelism": random.choice([128, 128, 16, 7, 5]),
            "chaining": random.random() > 0.25,
            "commit_retry": random.random() < 0.2,
        }
        match self.kind:
            case "keyed" if random.random() < 0.15:
                params["snapshot_error"] = random.choice([1, 2])
            case "window" | "session":
                params["size"] = random.choice([5, 8])
            case "sliding":
                params |= {"size": random.choice([6, 9]), "slide": 3, "lateness": random.choice([0, 4])}
            case "count":
                params["size"] = random.choice([2, 3])
            case "async":
                params |= {"ordered": random.random() < 0.5, "mode": "EXACTLY_ONCE"}
        return params

    def _parallelism(self, most: int) -> int:
        return 1 if self.kind == "async" else self.random.randint(1, min(4, most))

    def _rounds(self, count: int) -> None:
        """Elements, perhaps a checkpoint, more elements, perhaps a failure."""
        random = self.random
        self._elements(random.randint(2, 8))
        for _ in range(count):
            if random.random() < 0.85:
                self._snapshot("ck" if self.kind == "trace" or random.random() < 0.85 else "ck_nowait_notify")
            self._elements(random.randint(2, 8))
            if random.random() < 0.7:
                if self.kind == "keyed" and random.random() < 0.4:
                    self.failing.append(self.records - 1)
                else:
                    self._control("fail")
            self._elements(random.randint(1, 6))

    def _elements(self, count: int) -> None:
        random = self.random
        for _ in range(count):
            place = random.choice(self.places)
            if self._queued > MOST_QUEUED:
                self._control("answer", self.unanswered.pop(0))
            elif self.unanswered and random.random() < 0.4:
                self._control("answer", self.unanswered.pop(random.randrange(len(self.unanswered))))
            elif self.kind == "async" or random.random() > 0.25:
                self._record(place)
            else:
                self._watermark(place)
            if len(self.places) > 1 and random.random() < 0.03:
                self._add(place, "end")
                self.places.remove(place)

    @property
    def _queued(self) -> int:
        """The elements in the queue of the async operator."""
        if not self.unanswered:
            return 0
        return self.records - self.unanswered[0] if self.is_ordered else len(self.unanswered)

    def _stop(self, drains: int) -> None:
        """Sources drain in any order, so all of them come to the same watermark before."""
        if drains:
            self._answer_all()
            latest = max(self.watermarks.values())
            for place in self.places if latest >= 0 and len(self.places) > 1 else ():
                self.watermarks[place] = latest
                self._add(place, "w", latest)
        self._snapshot("stop", drains)

    def _answer_all(self) -> None:
        while self.unanswered:
            self._control("answer", self.unanswered.pop(self.random.randrange(len(self.unanswered))))

    def _record(self, place: tuple[int, int]) -> None:
        random = self.random
        self.times[place] += random.randint(0, 3)
        timestamp = self.times[place]
        orders = self._orders(timestamp)
        if self.kind == "async":
            self.unanswered.append(self.records)
        value = random.randint(-9, 50)
        self._add(place, "r", self.records, self._key(place), value, timestamp, orders)
        self.records += 1

    def _orders(self, timestamp: int) -> list[int]:
        """What the operator does with timers or state."""
        random = self.random
        orders: list[int] = []
        if self.kind in WITH_TIMERS:
            for _ in range(random.choice([0, 0, 1, 2])):
                orders += [1 if random.random() < 0.8 else 2, timestamp + random.randint(0, 12)]
        elif self.kind == "state":
            orders = [random.randint(1, 11) for _ in range(random.randint(1, 4))]
        return orders

    def _key(self, place: tuple[int, int]) -> str:
        return self.random.choice(self.keys)

    def _snapshot(self, *operation: Any) -> None:
        self._control(*operation)

    def _watermark(self, place: tuple[int, int]) -> None:
        watermark = self.times[place] - self.random.randint(1, 3)
        if watermark > self.watermarks[place]:
            self.watermarks[place] = watermark
            self._add(place, "w", watermark)

    def _control(self, *operation: Any) -> None:
        self._add(self.random.choice(self.places), *operation)

    def _add(self, place: tuple[int, int], *operation: Any) -> None:
        source, subtask = place
        self.scripts[source][subtask].append([self.step, *operation])
        self.step += 1
