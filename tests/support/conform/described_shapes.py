"""The shapes of described jobs, with and without async operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.support.conform.job_shapes import Shapes, Window, add, add_exchange, pair

Job = dict[str, Any]

OPERATORS: Final[Mapping[str, str]] = {
    "pass": "stateless function",
    "timers": "keyed process function",
    "state": "keyed process function",
    "interval_join": "interval join",
    "window_join": "window join",
    "co_group": "coGroup",
    "co_map": "co map",
    "co_flat_map": "co flat map",
    "co_process": "co process function",
    "keyed_co_process": "keyed co process function",
    "broadcast": "broadcast process function",
    "keyed_broadcast": "keyed broadcast process function",
}
STATELESS: Final = {"map": "map", "filter": "filter", "flat_map": "flat map", "refuse": "map"}
TRIGGERS: Final[Mapping[str, str]] = {
    "event_time": "event time",
    "processing_time": "processing time",
    "count": "count",
    "purging": "purging",
    "delta": "delta",
    "custom": "own",
    "continuous_event_time": "continuous event time",
    "continuous_processing_time": "continuous processing time",
    "timeout": "timeout",
}
STRATEGIES: Final = {
    "bounded": "bounded out of orderness", "monotonous": "monotonous timestamps", "per_record": "every record",
    "punctuated": "punctuated",
}  # fmt: skip
ORDERS: Final = {1: "event time", 2: "event time, deleted", 3: "processing time", 4: "processing time, deleted"}
STATES: Final = {
    1: "value", 2: "list", 3: "map", 4: "reducing", 5: "aggregating", 6: "value, cleared", 7: "list, updated",
    8: "map, removed", 9: "folding, cleared", 10: "list and map, cleared", 11: "list, several added",
}  # fmt: skip
REPLIES: Final = ("one result", "no result", "two results", "error", "none")


def shapes_of_described(job: Job) -> Shapes:
    shapes: Shapes = set()
    _add_sources(shapes, job)
    _add_network(shapes, job)
    for kind in job["after"]:
        add(shapes, "operator", STATELESS[kind])
    functions = [*job["after"], *(kind for source in job["sources"] for kind in source["before"])]
    if "refuse" in functions:
        add(shapes, "failure", "of a user function, without a restart")
    if job["kind"] == "async":
        _add_stages(shapes, job)
    else:
        _add_operator(shapes, job)
    return shapes


def _add_sources(shapes: Shapes, job: Job) -> None:
    for source in job["sources"]:
        scripts = source["scripts"]
        api = "source" if source["via"] == "source" else "source function"
        add(shapes, "source", api, "several subtasks" if len(scripts) > 1 else "one subtask")
        strategy = source["strategy"]
        kind = "written" if strategy is None else STRATEGIES[strategy["kind"]]
        add(shapes, "watermarks", kind)
        pair(shapes, "watermarks x source", [kind], [api])
        if strategy is not None and "idle_ms" in strategy:
            add(shapes, "watermarks", "idle timeout")
        if strategy is not None and strategy["shift_ms"]:
            add(shapes, "watermarks", "timestamp assigner")
        for kind in source["before"]:
            add(shapes, "operator", STATELESS.get(kind, "statuses"))
        for script in scripts:
            _add_script(shapes, script, has_strategy=strategy is not None)
    add(shapes, "timing", "entries at instants of their own" if job["steps"] else "entries at once")
    for numbers in job["inputs"]:
        if len(set(numbers)) > 1:
            add(shapes, "input", "union")
        if len(set(numbers)) < len(numbers):
            add(shapes, "input", "union of a stream with itself")


def _add_script(shapes: Shapes, script: list[list[Any]], *, has_strategy: bool) -> None:
    highest, marks = None, []
    for entry in script:
        match entry[1]:
            case "r":
                timestamp = entry[5]
                if timestamp is None:
                    add(shapes, "record", "without timestamp" if highest is None else "with the timestamp before")
                elif highest is not None and timestamp < highest:
                    add(shapes, "record", "out of order")
                if timestamp is not None and marks and not has_strategy and timestamp <= max(marks):
                    add(shapes, "record", "late")
                highest = timestamp if timestamp is not None else highest
            case "w":
                if marks and entry[2] <= marks[-1]:
                    add(shapes, "watermark", "not above the one before")
                marks.append(entry[2])
            case "i":
                add(shapes, "source", "idle")
        if entry[1] in ("r", "w", "i") and isinstance(entry[-1], str):
            add(shapes, "source", "splits", *(["idle split"] if entry[1] == "i" else []))
        if entry[1] == "end_split":
            add(shapes, "source", "split that ends")


def _add_network(shapes: Shapes, job: Job) -> None:
    network = job["network"]
    timeout_ms = network["buffer_timeout_ms"]
    add(shapes, "buffer timeout", {0: "after every record", -1: "never"}.get(timeout_ms, "some ms"))
    add(shapes, "task managers", "each subtask" if network["spread"] else "one")
    if network["apart"]:
        add(shapes, "slot sharing group", "apart")
    add(shapes, "exclusive buffers", str(network["exclusive"]))
    add(shapes, "floating buffers", str(network["floating"]))
    add(shapes, "key type", job["key_type"].lower())
    add(shapes, "max parallelism", "default" if job["max_parallelism"] is None else "set")
    if not job["chaining"]:
        add(shapes, "chaining", "disabled")
    if job["probe_cost_ns"]:
        add(shapes, "cost", "slow operator")
    add(shapes, "parallelism", str(job["parallelism"]))


def _add_operator(shapes: Shapes, job: Job) -> None:
    kind = job["kind"]
    is_keyed = not (job.get("all") is True or not job.get("keyed", True) or kind == "broadcast")
    if kind == "reduce":
        operator = f"rolling {job['how']}".replace("_by", " by")
    elif kind == "window":
        operator = "windowAll" if job["all"] else "window"
    elif kind in ("co_map", "co_flat_map") and is_keyed:
        operator = f"keyed {OPERATORS[kind]}"
    else:
        operator = OPERATORS[kind]
    if kind != "pass":
        add(shapes, "operator", operator)
    for numbers, edge in zip(job["inputs"], job["edges"], strict=True):
        for number in numbers:
            before = len(job["sources"][number]["scripts"])
            exchange = "hash" if is_keyed else "default" if edge == "none" else edge
            if not job.get("all"):
                add_exchange(shapes, operator, exchange, before, job["parallelism"])
    if job["out_edge"] != "none":
        add_exchange(shapes, "stateless function", job["out_edge"], job["parallelism"], job["probe_parallelism"])
    orders = [
        entry[6] for source in job["sources"] for script in source["scripts"] for entry in script if entry[1] == "r"
    ]
    if kind == "state":
        add(shapes, "state", *(STATES[order] for each in orders for order in each))
    elif kind in ("timers", "keyed_co_process", "keyed_broadcast"):
        add(shapes, "timers", *(ORDERS[order] for each in orders for order in each[::2] if order in ORDERS))
    if kind == "interval_join":
        for bound in ("lower", "upper"):
            add(shapes, "interval join", f"{bound} {'exclusive' if job[f'{bound}_exclusive'] else 'inclusive'}")
        for side in ("left", "right"):
            if job[f"late_{side}"]:
                add(shapes, "interval join", f"late {side} output")
    if "assigner" in job:
        window_of(job).add_to(shapes)
        if kind == "window":
            add(shapes, "window function", job["function"].replace("_", " and "))
            if job["states"]:
                add(shapes, "window function", "with state")
            if "then_ms" in job:
                add(shapes, "window", "of the results of windows")


def window_of(job: Job) -> Window:
    assigner = job["assigner"]
    kind = assigner["kind"].replace("_", " ")
    if kind == "count" and "slide" in assigner:
        kind = "sliding count"
    if assigner.get("end_of_stream"):
        kind = "global to the end of the stream"
    forms = {
        "offset": bool(assigner.get("offset_ms")),
        "natural stagger": assigner.get("stagger") == "natural",
        "gaps": "slide_ms" in assigner and assigner["size_ms"] < assigner["slide_ms"],
    }
    names: list[str] = []
    trigger = job["trigger"]
    while trigger is not None:
        names.append(TRIGGERS[trigger["kind"]])
        trigger = trigger.get("of")
    evictor = job["evictor"]
    return Window(
        kind,
        tuple(form for form, has_it in forms.items() if has_it),
        tuple(names),
        "" if evictor is None else f"{evictor['kind']} {'after' if evictor['after'] else 'before'}",
        bool(job["lateness_ms"]),
        bool(job.get("late_output")),
    )


def _add_stages(shapes: Shapes, job: Job) -> None:
    before = "source"
    for stage in job["stages"]:
        match stage["kind"]:
            case "key_by":
                add(shapes, "exchange", "hash")
                before = "exchange"
            case "async":
                _add_async(shapes, stage)
                pair(shapes, "async x before", [stage["mode"]], [before])
                if stage["capacity"] == 1:
                    add(shapes, "async before", f"{before}, with capacity 1")
                before = "async operator"
            case "window":
                add(shapes, "operator", "window")
                pair(shapes, "operator x before", ["window"], [before])
            case kind:
                before = {"flat_map": "flat map", "timers": "keyed process function"}[kind]
                add(shapes, "operator", before)


def _add_async(shapes: Shapes, stage: Job) -> None:
    add(shapes, "operator", "async")
    mode = stage["mode"]
    add(shapes, "async", mode)
    capacity = stage["capacity"]
    pair(shapes, "async x capacity", [mode], ["1" if capacity == 1 else "few" if capacity < 10 else "many"])
    timeout = stage["on_timeout"] if stage["timeout_ms"] else "without timeout"
    pair(shapes, "async x on timeout", [mode], [timeout])
    retry = stage["retry"]
    outcomes = {REPLIES[outcome] for _, outcome in stage["replies"]}
    if any(latency == 0 for latency, _ in stage["replies"]):
        outcomes.add("at once")
    add(shapes, "async answer", *outcomes)
    pair(shapes, "async x answer", [mode], outcomes)
    if retry is not None:
        causes = [name for name in ("result", "exception") if retry[name]]
        pair(shapes, "async retry x cause", [retry["kind"]], [" or ".join(causes)])
        pair(shapes, "async x retry", [mode], [retry["kind"]])
        pair(shapes, "async retry x on timeout", [retry["kind"]], [timeout])
