"""Scripts for an async operator, that the probe AsyncWaits and ``async_waits`` play."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_results = st.lists(st.sampled_from([1, 1, 2, 3, 7, 7, 7, 13]), max_size=3)
_good_results = st.tuples(st.just("ok"), st.lists(st.integers(1, 6), max_size=3))
_asks_again = st.sampled_from([("ok", [7]), ("error", "again"), ("supply", [7]), ("supply_error", "again")])
_odd_answers = st.one_of(
    st.tuples(st.just("ok"), _results, _results),
    st.tuples(st.sampled_from(["ok", "supply"]), _results),
    st.tuples(st.just("error"), st.sampled_from(["again", "no", "13"])),
    st.sampled_from([("supply_error", "no"), ("supply_null",), ("null",)]),
)
_answers = st.one_of(_good_results, _asks_again, _good_results, _asks_again, _odd_answers)
_later = st.just(("later",))
_plans = st.lists(
    st.one_of(_later, _later, _later, _later, _asks_again, _answers, st.sampled_from([("later",), ("throw", "thrown")])),
    min_size=1, max_size=9,
)  # fmt: skip
_timeouts = st.lists(
    st.one_of(_later, _good_results, _answers, st.sampled_from([("default",), ("throw", "thrown")])),
    min_size=1,
    max_size=4,
)
_event_times = st.one_of(st.none(), st.integers(0, 99))
_records = st.tuples(st.just("r"), st.integers(0, 999), _event_times)
_answer = st.tuples(st.sampled_from(["answer", "answer", "answer", "again"]), st.integers(0, 7), _answers)
_time = st.tuples(st.just("time"), st.sampled_from([0, 1, 1, 2, 3, 5, 9, 10, 11, 30]))
_foreign = st.tuples(st.just("foreign"), st.sampled_from([-1, 0, 1, 2]), st.booleans())
_of_the_world = st.one_of(_answer, _answer, _answer, _time, _time, _foreign)
_mail = st.just(("mail",))
_rare = st.sampled_from(
    [("st", True), ("st", False), ("lat", 5), ("snap",), ("snap",), ("restore", 1), ("restore", 3), ("end",)]
)
_commands = st.lists(
    st.one_of(
        _records, _records, _records, st.tuples(st.just("w"), st.integers(0, 99)), _of_the_world, _of_the_world,
        _of_the_world, _of_the_world, _mail, _mail, _mail, _mail, st.one_of(_rare, _records, _mail),
    ),
    min_size=30, max_size=120,
)  # fmt: skip
_ends = st.sampled_from([[], [("end",)], [("end",)], [("quiesce",)]])
_mostly = st.sampled_from([True, True, False])
_strategies = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "kind": st.just("fixed"), "max_attempts": st.integers(1, 3), "delay": st.sampled_from([1, 3, 10, 40]),
            "result": _mostly, "exception": _mostly,
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("exponential"), "max_attempts": st.integers(1, 4), "initial": st.sampled_from([1, 3, 8]),
            "max": st.sampled_from([5, 20, 1000]), "multiplier": st.sampled_from([0.5, 1.0, 1.5, 2.0, 10.0]),
            "result": _mostly, "exception": _mostly,
        }
    ),
)  # fmt: skip


@st.composite
def case_of(draw: Callable[[SearchStrategy[Any]], Any]) -> dict[str, Any]:
    """A whole script: retries only with a timeout (rule 11.24)."""
    strategy = draw(_strategies)
    retries = strategy is not None and (strategy["result"] or strategy["exception"])
    timeouts = [10, 25, 100, 1000] if retries else [0, 10, 25, 100]
    commands = draw(_commands) + draw(_ends) + draw(st.lists(st.one_of(_of_the_world, _mail), max_size=15))
    return {
        "ordered": draw(st.booleans()), "capacity": draw(st.sampled_from([1, 2, 3, 5])),
        "timeout": draw(st.sampled_from(timeouts)), "lag": draw(st.integers(0, 1)), "strategy": strategy,
        "object_reuse": draw(st.booleans()), "mutates": draw(st.booleans()), "plans": draw(_plans),
        "timeouts": draw(_timeouts), "commands": commands,
    }  # fmt: skip


_LONG_COMMANDS: Final = ["r", "r", "w", "answer", "answer", "time", "foreign", "mail", "rare"]
_ASKS_AGAIN: Final = [("ok", [7]), ("ok", [7]), ("error", "again"), ("supply", [7]), ("supply_error", "again")]
_ODD_ANSWERS: Final = [
    ("ok", [1], [2]), ("ok", [13]), ("supply", [13]), ("error", "no"), ("error", "13"), ("supply_error", "no"),
    ("supply_null",), ("null",),
]  # fmt: skip
_RARE: Final = [("st", True), ("st", False), ("lat", 5), ("snap",), ("restore", 1), ("restore", 3), ("quiesce",)]


def _some_strategy(chance: Random) -> dict[str, Any]:
    asked = {"result": chance.random() < 0.9, "exception": chance.random() < 0.9, "max_attempts": chance.randint(1, 4)}
    if chance.random() < 0.5:
        return {"kind": "fixed", "delay": chance.choice([1, 3, 10, 40]), **asked}
    multiplier = chance.choice([0.5, 1.0, 1.5, 2.0, 10.0])
    return {
        "kind": "exponential", "initial": chance.choice([1, 3, 8]), "max": chance.choice([5, 20, 1000]),
        "multiplier": multiplier, **asked,
    }  # fmt: skip


def long_case(seed: int) -> dict[str, Any]:
    """A longer script in which much is going on: each has its own mixture of commands and answers."""
    chance = Random(seed)
    strategy = _some_strategy(chance) if chance.random() < 0.75 else None
    share_again = chance.choice([0.2, 0.5, 0.8]) if strategy is not None else 0.05
    share_odd = chance.choice([0.0, 0.0, 0.1, 0.3])
    weights = [chance.choice([1, 2, 4]) for _ in _LONG_COMMANDS]

    def answer() -> list[Any]:
        if chance.random() < share_odd:
            return list(chance.choice(_ODD_ANSWERS))
        if chance.random() < share_again:
            return list(chance.choice(_ASKS_AGAIN))
        return [
            chance.choice(["ok", "ok", "supply"]),
            [chance.randint(1, 6) for _ in range(chance.choice([1, 1, 0, 2]))],
        ]

    def plan() -> list[Any]:
        return ["later"] if chance.random() < 0.8 else answer()

    def command() -> list[Any]:
        match chance.choices(_LONG_COMMANDS, weights)[0]:
            case "r":
                return ["r", chance.randint(0, 999), chance.choice([None, chance.randint(0, 99)])]
            case "w":
                return ["w", chance.randint(0, 99)]
            case "answer":
                return ["again" if chance.random() < 0.1 else "answer", chance.choice([0, 0, 1, 2, 5]), answer()]
            case "time":
                return ["time", chance.choice([0, 1, 2, 3, 5, 9, 10, 11, 25])]
            case "foreign":
                return ["foreign", chance.choice([-1, 0, 1, 2]), chance.random() < 0.5]
            case "mail":
                return ["mail"]
        return list(chance.choice(_RARE) if chance.random() < 0.2 else ("mail",))

    commands = [command() for _ in range(chance.randint(50, 150))]
    if chance.random() < 0.6:
        commands += [["end"], *(command() for _ in range(20))]
    # What a task that waits towards the end can live on.
    for _ in range(60):
        commands += [["answer", 0, answer()], ["time", chance.choice([0, 1, 3])]]
    return {
        "ordered": chance.random() < 0.5, "capacity": chance.choice([1, 2, 3, 5, 8]),
        "timeout": chance.choice([5, 10, 25, 60]) if strategy is not None else chance.choice([0, 10, 25]),
        "lag": chance.choice([0, 1]), "strategy": strategy, "object_reuse": chance.random() < 0.5,
        "mutates": chance.random() < 0.5, "plans": [plan() for _ in range(9)],
        "timeouts": [plan() if chance.random() < 0.5 else answer() for _ in range(4)], "commands": commands,
    }  # fmt: skip
