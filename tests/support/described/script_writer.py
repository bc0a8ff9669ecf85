"""Random scripts of the sources of a described job: records, watermarks and idleness, in steps over all of them."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any, Protocol

Script = list[list[Any]]
STATUS = 99
"""The order that makes a status of a record: 0 idle, 1 active."""


class RecordWriter(Protocol):
    """What decides about records: the job that they are for."""

    base: int
    fails_without_timestamp: bool

    def event(self) -> list[Any]: ...

    def orders(self, now: int, step: int) -> list[int]: ...


class ScriptWriter:
    """Writes a script for every subtask of every source.

    Event time goes on everywhere alike, and a subtask is ahead of the others or behind them by something of its own.
    """

    def __init__(self, chance: Random, records: RecordWriter, subtasks: list[int], twice: set[int]) -> None:
        self.chance = chance
        self.records = records
        self.twice = twice
        self.written: list[list[Script]] = [[[] for _ in range(count)] for count in subtasks]
        self.places = [(source, subtask) for source, count in enumerate(subtasks) for subtask in range(count)]
        self.ahead = {place: chance.choice([0, 0, 3, 12]) for place in self.places}
        self.disorder = chance.choice([0, 4, 10, 25])
        self.watermarks = chance.choice([0.1, 0.3, 0.45])
        self.idles = chance.choice([0.0, 0.0, 0.05, 0.2])
        self.statuses = 0.0
        """The share of records that a function behind the source turns into a status (``statuses``)."""

    def free(self, *, is_long: bool = False) -> list[list[Script]]:
        """Scripts whose entries do not wait for those of others."""
        self._play(self.chance.randint(100, 400) if is_long else self.chance.randint(20, 90), steps=False)
        return self.written

    def in_steps(self, most: int) -> tuple[list[list[Script]], int]:
        """The scripts and the number of their steps, of which the last are the ends of all subtasks in some order."""
        count = self.chance.randint(15, most - len(self.places))
        self._play(count, steps=True)
        self.chance.shuffle(self.places)
        for step, (source, subtask) in enumerate(self.places, start=count):
            self.written[source][subtask].append([step, "end"])
        return self.written, count + len(self.places)

    def _play(self, count: int, *, steps: bool) -> None:
        now, spread = self.records.base, self.chance.choice([1, 4, 8])
        for step in range(count):
            now += self.chance.randint(0, spread)
            place = self._next_place()
            script = self.written[place[0]][place[1]]
            script.append([step if steps else -1, *self._entry(place, script, now + self.ahead[place], step)])

    def _next_place(self) -> tuple[int, int]:
        """Mostly one that is not idle, so that idleness lasts."""
        place = self.chance.choice(self.places)
        if self._is_idle(self.written[place[0]][place[1]]) and self.chance.random() < 0.7:
            place = self.chance.choice(self.places)
        return place

    def _is_idle(self, script: Script) -> bool:
        return bool(script) and script[-1][1] == "i"

    def _entry(self, place: tuple[int, int], script: Script, reached: int, step: int) -> list[Any]:
        drawn = self.chance.random()
        # A source that comes twice puts one element per step on its channels: ACTIVE and a record would be two.
        if drawn < self.watermarks or (place[0] in self.twice and self._is_idle(script)):
            # Some leave room for all disorder, some for none, and some go back.
            return ["w", reached - self.chance.choice([0, 1, self.disorder // 2, self.disorder + 1, 20]), None]
        if drawn < self.watermarks + self.idles:
            return ["i", None]
        timestamp = self._timestamp(script, reached)
        if drawn < self.watermarks + self.idles + self.statuses:
            return ["r", *self.records.event(), timestamp, [STATUS, self.chance.randint(0, 1)], None]
        return ["r", *self.records.event(), timestamp, self.records.orders(reached, step), None]

    def _timestamp(self, script: Script, reached: int) -> int | None:
        """Now and then none: it repeats the one before; where there is none, the job may fail."""
        has_one_before = any(entry[1] == "r" for entry in script)
        if self.chance.random() < 0.05 and (
            has_one_before or not self.records.fails_without_timestamp or self.chance.random() < 0.1
        ):
            return None
        return reached - self.chance.randint(0, self.disorder)


def split_up(chance: Random, script: Script) -> None:
    """Gives the entries to splits, of which some end early: where they last spoke without a record."""
    splits = [f"p{number}" for number in range(chance.choice([1, 2, 2, 3]))]
    entries = [entry for entry in script if entry[1] != "end"]
    for entry in entries:
        entry[-1] = chance.choice(splits)
    for split in splits:
        last = next((entry for entry in reversed(entries) if entry[-1] == split), None)
        if last is not None and last[1] != "r" and chance.random() < 0.7:
            last[1:] = ["end_split", split]


def goes_back(job: dict[str, Any]) -> bool:
    """Whether an old source emits a watermark that is not above the one before: Flink passes it on as it is."""
    scripts = [script for source in job["sources"] if source["via"] == "function" for script in source["scripts"]]
    marks = [[entry[2] for entry in script if entry[1] == "w"] for script in scripts]
    return any(later <= earlier for script in marks for earlier, later in pairwise(script))
