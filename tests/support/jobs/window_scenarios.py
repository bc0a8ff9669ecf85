"""Scenarios with one window: each assigner, trigger and evictor by name, over given scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from flowsim.connectors.script import Entry, RecordEntry, SleepEntry, WatermarkEntry
from flowsim.testing import DrawnScenario

Block = dict[str, Any]

ASSIGNERS: Final[Mapping[str, Block]] = {
    "tumbling": {"tumbling": "10 ms", "offset": "3 ms"},
    "sliding": {"sliding": {"size": "10 ms", "slide": "4 ms"}},
    "sliding with an offset": {"sliding": {"size": "6 ms", "slide": "3 ms"}, "offset": "1 ms"},
    "sliding with gaps": {"sliding": {"size": "3 ms", "slide": "8 ms"}},
    "sessions": {"session": "4 ms"},
    "dynamic sessions": {"session": {"gap": "n % 7 + 1"}},
    "tumbling by clock": {"tumbling": "7 ms", "time": "processing"},
    "sliding by clock": {"sliding": {"size": "9 ms", "slide": "4 ms"}, "time": "processing"},
    "sessions by clock": {"session": "5 ms", "time": "processing"},
    "dynamic sessions by clock": {"session": {"gap": "n % 7 + 1"}, "time": "processing"},
    "global": {"global_window": True},
}
_EVERY_4_MS: Final = {"continuous_event_time": "4 ms"}
_EVERY_6_MS_BY_CLOCK: Final = {"continuous_processing_time": "6 ms"}


def _timeout(of: object, after: str, reset: bool = False, clear: bool = True) -> Block:
    return {"timeout": {"of": of, "after": after, "reset_on_record": reset, "clear_on_timeout": clear}}


TRIGGERS: Final[Mapping[str, object]] = {
    "the assigner's": None,
    "event time": "event_time",
    "clock": "processing_time",
    "never": "never",
    "end of stream": "end_of_stream",
    "count": {"count": 3},
    "every 4 ms": _EVERY_4_MS,
    "every 6 ms by clock": _EVERY_6_MS_BY_CLOCK,
    "event time, purging": {"purging": "event_time"},
    "clock, purging": {"purging": "processing_time"},
    "count, purging": {"purging": {"count": 2}},
    "every 4 ms, purging": {"purging": _EVERY_4_MS},
    "every 6 ms by clock, purging": {"purging": _EVERY_6_MS_BY_CLOCK},
    "count or timeout": _timeout({"count": 3}, "8 ms"),
    "event time or timeout": _timeout("event_time", "5 ms", clear=False),
    "timeout after the last": _timeout({"purging": {"count": 4}}, "5 ms", reset=True),
    "two timeouts": _timeout(_timeout({"count": 5}, "9 ms", clear=False), "4 ms", reset=True),
    "event time or count": {"any_of": ["event_time", {"count": 3}]},
    "every 4 ms or two counts": {"any_of": [{"count": 2}, {"any_of": [{"purging": {"count": 5}}, _EVERY_4_MS]}]},
    "every 4 ms or two timeouts, purging": {
        "purging": {
            "any_of": [
                _EVERY_4_MS,
                _timeout({"count": 4}, "5 ms", reset=True),
                _timeout({"count": 3}, "9 ms", clear=False),
            ]
        }
    },
}
EVICTORS: Final[Mapping[str, Block | None]] = {
    "none": None,
    "last 2": {"count": 2},
    "last 3, after": {"count": 3, "after": True},
    "youngest 5 ms": {"time": "5 ms"},
    "youngest 4 ms, after": {"time": "4 ms", "after": True},
}
_NEVER_MERGE: Final = (
    "never", "end of stream", "count or timeout", "event time or timeout", "timeout after the last", "two timeouts",
    "every 4 ms or two timeouts, purging",
)  # fmt: skip
_BY_CLOCK_ALONE: Final = ("clock", "every 6 ms by clock", "clock, purging", "every 6 ms by clock, purging")


def accepted(assigner: str, trigger: str) -> bool:
    """True if Flink can run this pair of assigner and trigger.

    Merging windows need a trigger that can merge. A processing-time trigger on event-time windows would fire without
    end, because their end is long past. A trigger that fires every few ms of event time would never end in a global
    window.
    """
    if "sessions" in assigner and trigger in _NEVER_MERGE:
        return False
    if assigner == "global" and (trigger.startswith("every 4 ms") or trigger == "the assigner's"):
        return False
    return trigger not in _BY_CLOCK_ALONE or "clock" in assigner or assigner == "global"


def window_scenario(
    assigner: str,
    trigger: str,
    scripts: Sequence[Sequence[Entry]],
    *,
    evictor: str = "none",
    lateness_ms: int = 0,
    late_output: bool = False,
    window_all: bool = False,
) -> DrawnScenario:
    """Returns a scenario: source -> (key) -> window -> sink, with late records of event time to a second sink."""
    window = dict(ASSIGNERS[assigner])
    in_event_time = "time" not in window and assigner != "global"
    parts: Block = {"trigger": TRIGGERS[trigger], "evictor": EVICTORS[evictor]}
    late_output = late_output and in_event_time
    if in_event_time:
        parts |= {"allowed_lateness": f"{lateness_ms} ms", "late_output": "late" if late_output else None}
    window |= {name: part for name, part in parts.items() if part is not None}
    key: Block = {} if window_all else {"key_by": "k", "parallelism": 2}
    sinks: Block = {"out": {"input": "window", "collect": {}}}
    if late_output:
        sinks["late"] = {"input": "window.late", "collect": {}, "partition": "rebalance"}
    script = {"fields": {"k": "string", "n": "long"}, "subtasks": [list(map(_written, each)) for each in scripts]}
    return DrawnScenario(
        {
            "flowsim": 1,
            "name": "one-window",
            "settings": {"max_parallelism": 8},
            "sources": {"source": {"script": script}},
            "operators": {"window": {"input": "source", **key, "window": window, "aggregate": {"rows": "count()"}}},
            "sinks": sinks,
        }
    )


def _written(entry: Entry) -> Block:
    """Returns an entry of a script as a scenario has it."""
    match entry:
        case RecordEntry(value, timestamp):
            assert isinstance(value, tuple)
            return {"record": list(value), "timestamp": timestamp}
        case WatermarkEntry(timestamp):
            return {"watermark": timestamp}
        case SleepEntry():
            return {"sleep": f"{entry.millis} ms"}
        case _:
            raise TypeError(f"no entry of a window's script: {entry}")
