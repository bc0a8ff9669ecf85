"""Reduces a described job as long as a condition holds for it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Job = dict[str, Any]


def shrunk(job: Job, still_differs: Callable[[Job], bool], attempts: int = 150) -> Job:
    """The smallest job found: fewer entries, no functions around the operator, no frills."""
    left = attempts
    while True:
        for smaller in candidates(job):
            left -= 1
            if left < 0:
                return job
            if still_differs(smaller):
                job = smaller
                break
        else:
            return job


def candidates(job: Job) -> Iterator[Job]:
    """Jobs with a little less, the biggest cuts first."""
    for key, plain in {"after": [], "parallelism": 1, "max_parallelism": None, "key_type": "STRING"}.items():
        if job[key] != plain:
            yield {**job, key: plain}
    for number, source in enumerate(job["sources"]):
        for key, plain in {"before": [], "strategy": None, "legacy": False}.items():
            if source[key] != plain:
                changed = copy.deepcopy(job)
                changed["sources"][number][key] = plain
                yield changed
    places = [
        (number, subtask, index)
        for number, source in enumerate(job["sources"])
        for subtask, script in enumerate(source["scripts"])
        for index, entry in enumerate(script)
        if entry[1] != "end"
    ]
    for length in (16, 8, 4, 2, 1):
        if length <= len(places):
            for start in range(0, len(places), length):
                yield without(job, set(places[start : start + length]))


def without(job: Job, dropped: set[tuple[int, int, int]]) -> Job:
    """The job without some entries; those behind them move up."""
    changed = copy.deepcopy(job)
    gone = []
    for number, source in enumerate(changed["sources"]):
        for subtask, script in enumerate(source["scripts"]):
            gone += [entry[0] for index, entry in enumerate(script) if (number, subtask, index) in dropped]
            script[:] = [entry for index, entry in enumerate(script) if (number, subtask, index) not in dropped]
    if changed["steps"]:
        changed["steps"] -= len(gone)
        for source in changed["sources"]:
            for script in source["scripts"]:
                for entry in script:
                    entry[0] -= sum(step < entry[0] for step in gone)
    return changed
