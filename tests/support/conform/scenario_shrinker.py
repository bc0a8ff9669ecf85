"""Makes a scenario smaller that differs from Flink, as long as it still differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

Block = dict[str, Any]

MOST_TRIES: Final = 120
"""Each try runs on Flink."""
LISTS: Final = ("actions", "failures", "phases", "pauses")


def shrunk(scenario: Mapping[str, Any], still_differs: Callable[[Block], bool]) -> Block:
    """Returns the smallest scenario found. ``still_differs`` is False for one that is no valid scenario."""
    smallest, tries = deepcopy(dict(scenario)), 0
    goes_on = True
    while goes_on:
        goes_on = False
        for candidate in candidates(smallest):
            tries += 1
            if tries > MOST_TRIES:
                return smallest
            if still_differs(candidate):
                smallest, goes_on = candidate, True
                break
    return smallest


def candidates(scenario: Block) -> Iterator[Block]:
    """Yields scenarios that lack something, those that lack the most first."""
    for name in [*reversed(scenario.get("operators", {})), *scenario["sources"]]:
        yield _without_node(scenario, name)
    if len(scenario["sinks"]) > 1:
        for name in scenario["sinks"]:
            yield _without(scenario, "sinks", name)
    for kind in LISTS:
        for index in range(len(scenario.get(kind, []))):
            yield _without(scenario, kind, index)
    for source in scenario["sources"]:
        scripts = scenario["sources"][source].get("script", {}).get("subtasks", [])
        for subtask, entries in enumerate(scripts):
            for size in sorted({len(entries) // 2, 1}, reverse=True):
                for first in range(0, len(entries), max(size, 1)):
                    changed = deepcopy(scenario)
                    del changed["sources"][source]["script"]["subtasks"][subtask][first : first + size]
                    yield changed
    for key in scenario.get("settings", {}):
        yield _without(scenario, "settings", key)
    for name, block in scenario.get("operators", {}).items():
        for key in block:
            yield _without(scenario, "operators", name, key)


def _without(scenario: Block, *path: str | int) -> Block:
    changed = deepcopy(scenario)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return changed


def _without_node(scenario: Block, name: str) -> Block:
    """Removes a source or operator, with everything that reads it and what happens to it."""
    changed = deepcopy(scenario)
    removed = {name}
    changed["sources"].pop(name, None)
    changed.get("operators", {}).pop(name, None)
    for kind in ("operators", "sinks"):
        for other, block in list(changed.get(kind, {}).items()):
            if removed & {stream.partition(".")[0] for stream in _reads(block)}:
                removed.add(other)
                del changed[kind][other]
    changed["failures"] = [
        each for each in changed.get("failures", []) if each.get("fail_task", {}).get("task") not in removed
    ]
    read = {
        stream
        for block in (*changed.get("operators", {}).values(), *changed["sinks"].values())
        for stream in _reads(block)
    }
    for source in changed["sources"].keys() - read:
        del changed["sources"][source]
    for operator in changed.get("operators", {}).keys() - read:
        changed["sinks"][f"{operator}_out"] = {"input": operator, "collect": {}}
    return {key: part for key, part in changed.items() if part or key in ("sources", "sinks")}


def _reads(block: Mapping[str, Any]) -> list[str]:
    streams: list[str] = []
    inner = [each["to"] for each in block.values() if isinstance(each, dict) and "to" in each]
    for each in (block["input"], *inner):
        streams += [each] if isinstance(each, str) else each
    return streams
