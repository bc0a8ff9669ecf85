"""The features that a drawn scenario can have, and how each is recognized."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flowsim.errors import BadInput, did_you_mean

Data = Mapping[str, Any]
"""The mapping of a scenario."""


@dataclass(frozen=True, slots=True)
class Feature:
    """What a scenario can have: its name, the keys of the scenario that make it, and whether a scenario has it."""

    name: str
    keys: str
    has: Callable[[Data], bool]


def features_of(data: Data) -> list[str]:
    """Returns the names of the features of a scenario."""
    return [name for name, feature in FEATURES.items() if feature.has(data)]


def has_all(data: Data, names: Sequence[str]) -> bool:
    """Whether a scenario has these features."""
    return all(FEATURES[name].has(data) for name in names)


def check_features(names: Sequence[str]) -> None:
    """Raises BadInput for a feature that does not exist."""
    for name in [names] if isinstance(names, str) else names:
        if isinstance(names, str) or name not in FEATURES:
            hint = did_you_mean(name, list(FEATURES), is_listed=True)
            raise BadInput(
                f"having: expected a list of features, got {name!r:.80}; there are: {', '.join(FEATURES)}{hint}"
            )


def _scripts(data: Data) -> Iterator[Sequence[Data]]:
    """Yields the entries of each subtask and split of the scripts."""
    for source in data["sources"].values():
        for entries in source.get("script", {"subtasks": ()})["subtasks"]:
            of_split: dict[str | None, list[Data]] = {}
            for entry in entries:
                of_split.setdefault(entry.get("split"), []).append(entry)
            yield from of_split.values()


def _timestamps(entries: Sequence[Data]) -> list[int]:
    return [entry["timestamp"] for entry in entries if "timestamp" in entry]


def _is_out_of_order(entries: Sequence[Data]) -> bool:
    found = _timestamps(entries)
    return found != sorted(found)


def _resumes(entries: Sequence[Data]) -> bool:
    """Whether a record comes after the idleness of its split, and is older than one before it."""
    for index, entry in enumerate(entries):
        before, after = _timestamps(entries[:index]), _timestamps(entries[index:])
        if entry.get("idle") and before and after and after[0] < max(before):
            return True
    return False


def _operators(data: Data) -> Iterator[Data]:
    yield from data.get("operators", {}).values()


def _windows(data: Data) -> Iterator[Data]:
    for operator in _operators(data):
        for block in (operator, operator.get("join", {}), operator.get("co_group", {})):
            if "window" in block:
                yield block["window"]


def _any_operator(*kinds: str) -> Callable[[Data], bool]:
    return lambda data: any(kind in operator for operator in _operators(data) for kind in kinds)


def _any_window(*keys: str) -> Callable[[Data], bool]:
    return lambda data: any(key in window for window in _windows(data) for key in keys)


def _any_call(fits: Callable[[Data], bool]) -> Callable[[Data], bool]:
    return lambda data: any(fits(operator["async"]) for operator in _operators(data) if "async" in operator)


def _any_source(*keys: str) -> Callable[[Data], bool]:
    return lambda data: any(key in source for source in data["sources"].values() for key in keys)


def _setting(name: str) -> Callable[[Data], bool]:
    return lambda data: name in data.get("settings", {})


def _has_few_buffers(data: Data) -> bool:
    settings = data.get("settings", {})
    exclusive, floating = settings.get("exclusive_buffers_per_channel", 2), settings.get("floating_buffers_per_gate", 8)
    return bool(exclusive <= 1 and floating <= 2)


def _inputs(data: Data) -> Iterator[Data]:
    """Yields the parts of operators and sinks that have a partition."""
    for block in (*_operators(data), *data["sinks"].values()):
        yield block
        yield from (inner for inner in block.values() if isinstance(inner, Mapping) and "to" in inner)


FEATURES: Final[Mapping[str, Feature]] = {
    feature.name: feature
    for feature in (
        Feature("several sources", "`sources`", lambda data: len(data["sources"]) > 1),
        Feature("generated sources", "`generator`, `partitioned_generator`, `collection`",
                _any_source("generator", "partitioned_generator", "collection")),
        Feature("legacy sources", "`legacy`", _any_source("legacy")),
        Feature("splits", "`split`, `assignment: dynamic`",
                lambda data: any("split" in entry for entries in _scripts(data) for entry in entries)
                or "'assignment': 'dynamic'" in str(data["sources"])),
        Feature("out-of-order event time", "`timestamp`", lambda data: any(map(_is_out_of_order, _scripts(data)))),
        Feature("idleness", "`idle`, `idle_after`",
                lambda data: "'idle': True" in str(data["sources"]) or "'idle_after'" in str(data["sources"])),
        Feature("idle and then out of order", "`idle`, then a smaller `timestamp`",
                lambda data: any(map(_resumes, _scripts(data)))),
        Feature("watermark alignment", "`alignment`", lambda data: "'alignment'" in str(data["sources"])),
        Feature("unions", "`input` with several streams",
                lambda data: any(isinstance(operator["input"], list) for operator in _operators(data))),
        Feature("broadcasts", "`partition: broadcast`",
                lambda data: any(block.get("partition") == "broadcast" for block in _inputs(data))),
        Feature("windows", "`window`", _any_operator("window")),
        Feature("session windows", "`window.session`", _any_window("session")),
        Feature("triggers and evictors", "`trigger`, `evictor`", _any_window("trigger", "evictor")),
        Feature("late records", "`allowed_lateness`, `late_output`, `late_left`, `late_right`",
                lambda data: _any_window("allowed_lateness", "late_output")(data)
                or any({"late_left", "late_right"} & operator.get("interval_join", {}).keys() for operator in _operators(data))),
        Feature("window joins", "`join`, `co_group`", _any_operator("join", "co_group")),
        Feature("interval joins", "`interval_join`", _any_operator("interval_join")),
        Feature("connected streams", "`connect`, `broadcast`", _any_operator("connect", "broadcast")),
        Feature("timers", "`alarm`, functions with timers", _any_operator("alarm", "process")),
        Feature("expiring state", "`state_ttl`", _any_operator("state_ttl")),
        Feature("asynchronous calls", "`async`", _any_operator("async")),
        Feature("timeouts of calls", "`async.timeout`", _any_call(lambda call: "timeout" in call)),
        Feature("retries of calls", "`async.retry`", _any_call(lambda call: "retry" in call)),
        Feature("small queues of calls", "`async.capacity` up to 3", _any_call(lambda call: call.get("capacity", 100) <= 3)),
        Feature("checkpoints", "`checkpointing`", _setting("checkpointing")),
        Feature("unaligned checkpoints", "`checkpointing.unaligned`",
                lambda data: "unaligned" in data.get("settings", {}).get("checkpointing", {})),
        Feature("failures", "`failures`, `restart_strategy`", lambda data: "failures" in data),
        Feature("actions", "`actions`: savepoints, checkpoints, stop, cancel", lambda data: "actions" in data),
        Feature("pauses", "`pauses`", lambda data: "pauses" in data),
        Feature("phases", "`phases`", lambda data: "phases" in data),
        Feature("few buffers", "`exclusive_buffers_per_channel`, `floating_buffers_per_gate`", _has_few_buffers),
        Feature("small buffers", "`segment_size` up to 64", lambda data: data.get("settings", {}).get("segment_size", 256) <= 64),
        Feature("little network memory", "`network_buffers`", _setting("network_buffers")),
        Feature("buffer debloating", "`buffer_debloat`", _setting("buffer_debloat")),
        Feature("buffer timeouts of operators", "`buffer_timeout` of an operator or a source",
                lambda data: any("buffer_timeout" in block for block in (*_operators(data), *data["sources"].values()))),
        Feature("slow tasks", "`cost` of an operator or a source",
                lambda data: any("cost" in block for block in (*_operators(data), *data["sources"].values()))),
        Feature("slow links", "`links`", _setting("links")),
        Feature("latency markers", "`latency_interval`", _setting("latency_interval")),
        Feature("blocking exchanges", "`exchange: blocking`", lambda data: "'exchange': 'blocking'" in str(data)),
        Feature("object reuse", "`object_reuse`", _setting("object_reuse")),
    )
}  # fmt: skip
"""By name."""
