"""Random jobs that are small enough to try every order of their events."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from flowsim.explore.explored_job import ExploredJob
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text
from flowsim.sim.exploring_loop import Space

_FIELDS = {"k": "string", "n": "long"}


def tiny_job(seed: int) -> dict[str, Any]:
    """Returns a scenario: one or two sources with one or two records, one or two operators, one sink."""
    random = Random(seed)
    sources = {f"s{number}": _source(random, number) for number in range(random.choice((1, 2, 2, 2)))}
    inputs: Any = list(sources) if len(sources) > 1 else "s0"
    operators = {}
    for number in range(random.choice((1, 1, 2))):
        operators[f"o{number}"] = _operator(random, inputs)
        inputs = f"o{number}"
    return {
        "flowsim": 1,
        "name": "tiny",
        "sources": sources,
        "operators": operators,
        "sinks": {"out": {"input": inputs, "collect": {}, "parallelism": 1}},
    }


def drawing_job(seed: int) -> dict[str, Any]:
    """Returns a scenario in which tasks draw: channels of shuffle, and the order in which readers ask for splits."""
    random = Random(seed)
    count = {"key_by": "k", "window": {"count": random.choice((1, 2))}, "aggregate": {"n": "sum(n)"}}
    if random.random() < 0.5:
        splits = [[{"record": ["a", number]}] * random.choice((1, 1, 2)) for number in range(random.choice((1, 2)))]
        script = {"fields": _FIELDS, "gap": "5 ms", "subtasks": splits, "assignment": "dynamic"}
        sources: dict[str, Any] = {"s0": {"script": script, "parallelism": 2}}
    else:
        sources = {
            f"s{number}": {"collection": {"fields": _FIELDS, "rows": [["a", number]] * random.choice((1, 1, 2))}}
            for number in range(random.choice((1, 2)))
        }
    spread = {"parallelism": 2, "partition": random.choice(("shuffle", "shuffle", "rebalance"))}
    marked = {"map": {"add": {"m": "n"}}}
    operators: list[list[dict[str, Any]]] = [
        [{**count, "parallelism": 1}, {**marked, **spread}],
        [{**marked, **spread}],
        [{**marked, **spread}, {**count, "parallelism": 1}],
    ]
    job: dict[str, Any] = {}
    inputs: Any = list(sources) if len(sources) > 1 else "s0"
    for number, operator in enumerate(random.choice(operators)):
        job[f"o{number}"] = {"input": inputs, **operator}
        inputs = f"o{number}"
    sinks = {"out": {"input": inputs, "collect": {}, "parallelism": random.choice((1, 2))}}
    return {"flowsim": 1, "name": "drawing", "sources": sources, "operators": job, "sinks": sinks}


def parted_job(seed: int) -> dict[str, Any]:
    """Returns a scenario whose receivers share no later task, in most cases."""
    random = Random(seed)
    sources = {
        f"s{number}": {
            "collection": {
                "fields": _FIELDS,
                "rows": [[random.choice("ab"), number * 10 + row] for row in range(random.choice((1, 1, 2)))],
            },
        }
        for number in range(2)
    }
    keyed = {"key_by": "k", "aggregate": {"n": "sum(n)"}}
    windows = ({"count": 2}, {"tumbling": "2 ms"}, {"tumbling": "4 ms", "time": "processing"})
    first: dict[str, Any] = random.choice(
        ({"map": {"add": {"m": "n"}}, "partition": "broadcast"}, *({**keyed, "window": each} for each in windows))
    )
    operators: dict[str, dict[str, Any]] = {"o0": {"input": list(sources), "parallelism": 2, **first}}
    last = "o0"
    if random.random() < 0.3:
        last = "o1"
        operators["o1"] = {"input": "o0", "map": {"add": {"o": "n"}}, "parallelism": random.choice((1, 2))}
    sinks = {"out": {"input": last, "collect": {}, "parallelism": operators[last]["parallelism"]}}
    return {"flowsim": 1, "name": "parted", "sources": sources, "operators": operators, "sinks": sinks}


def failing_job(seed: int) -> dict[str, Any]:
    """Returns a scenario in which a task can fail before or after others have written, alone or behind a common input."""
    random = Random(seed)
    sources = {
        f"s{number}": {
            "collection": {
                "fields": _FIELDS,
                "rows": [["a", random.choice((0, 0, 1, 2))] for _ in range(random.choice((1, 1, 2)))],
            }
        }
        for number in range(2)
    }
    divide = {"map": {"add": {"m": "10 / n"}}, "partition": "broadcast"}
    inputs = random.choice((["s0", "s1"], "s0"))
    operators = {"o0": {"input": inputs, "parallelism": random.choice((1, 2)), **divide}}
    sinks = {"out0": {"input": "o0", "collect": {}, "parallelism": operators["o0"]["parallelism"]}}
    if inputs == "s0" or random.random() < 0.3:
        operators["o1"] = {"input": "s1", "parallelism": 1, **divide}
        sinks["out1"] = {"input": "o1", "collect": {}, "parallelism": 1}
    return {"flowsim": 1, "name": "failing", "sources": sources, "operators": operators, "sinks": sinks}


def timed_job(seed: int) -> dict[str, Any]:
    """Returns a tiny job whose sources (or functions) have periodic watermarks, and can be idle between two records."""
    random = Random(seed)
    scenario = tiny_job(seed)
    for number, name in enumerate(scenario["sources"]):
        rows = [[random.choice("ab"), random.randrange(6) + 10 * number] for _ in range(random.choice((1, 2, 2)))]
        watermarks: dict[str, Any] = {"timestamp": "n % 10", "max_out_of_orderness": "0 ms"}
        if random.random() < 0.3:
            watermarks["idle_after"] = "300 ms"
        collection = {"fields": _FIELDS, "rows": rows}
        legacy = random.random() < 0.3
        scenario["sources"][name] = {"collection": collection, "legacy": legacy, "watermarks": watermarks}
    return scenario


def _source(random: Random, number: int) -> dict[str, Any]:
    numbers = [random.randrange(4) + 10 * number for _ in range(random.choice((1, 1, 2)))]
    rows = [[random.choice("ab"), each] for each in numbers]
    if random.random() < 0.5:
        steps = [{"step": index} if random.random() < 0.4 else {} for index in range(len(rows))]
        script = [
            {"record": row, "timestamp": each % 10, **at} for row, each, at in zip(rows, numbers, steps, strict=True)
        ]
        return {"script": {"fields": _FIELDS, "gap": "5 ms", "subtasks": [script]}}
    watermarks = {"timestamp": "n % 10", "emit": "every_record", "max_out_of_orderness": "1 ms"}
    return {"collection": {"fields": _FIELDS, "rows": rows}, "watermarks": watermarks}


def _operator(random: Random, inputs: Any) -> dict[str, Any]:
    same = {"select": {"k": "k", "n": "n"}}
    kind = random.choice(("map", "two inputs", "event time", "count", "async", "processing time"))
    if kind == "two inputs" and len(inputs) == 2 and isinstance(inputs, list):
        both = [same, {"select": {"k": "k", "n": "n + 100"}}]
        return {"input": inputs[0], "parallelism": 1, "connect": {"to": inputs[1], "read": "any", "map": both}}
    operator: dict[str, Any] = {"input": inputs, "parallelism": random.choice((1, 1, 2))}
    windows = {
        "event time": {"tumbling": "2 ms"},
        "count": {"count": 2},
        "processing time": {"tumbling": "4 ms", "time": "processing"},
    }
    if kind in windows:
        return operator | {"key_by": "k", "window": windows[kind], "aggregate": {"n": "sum(n)"}}
    if kind == "async":
        calls = {"timeout": "10 ms", "capacity": random.choice((1, 2)), "latency": "3 ms", "add": {"m": "n"}}
        return operator | {"async": {"mode": random.choice(("ordered", "unordered")), **calls}}
    return operator | {"partition": random.choice(("rebalance", "broadcast")), "map": same}


def compiled(scenario: dict[str, Any], folder: Path = Path("/nowhere")) -> CompiledScenario:
    """Returns the job of a scenario. Raises ScenarioErrors if two operators do not fit together."""
    return compile_scenario(load_text(json.dumps(scenario), "tiny.yaml", folder), out_dir=folder / "out")


def explored(scenario: dict[str, Any], space: Space = "order") -> ExploredJob:
    """Returns a scenario as a job that can run many times."""
    job = compiled(scenario)
    return ExploredJob(job.stream_graph(), job.run_options(), job.scenario.digest(), space)
