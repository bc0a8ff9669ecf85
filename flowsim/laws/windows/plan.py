"""The description of a window operator in table ``operators``, and how far it can be predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsim.laws.job_graph import JobGraph, Operator
from flowsim.laws.law import KeyPart
from flowsim.laws.slices import Ints, Mask, Rows
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.values.java_long import wrapped

GLOBAL: Final = (NO_TIMESTAMP, MAX_WATERMARK)
_MOST_WINDOWS: Final = 100_000
"""Windows per record; a window operator with more could not run."""
_SIZE_OF_GLOBAL: Final = MAX_WATERMARK - NO_TIMESTAMP

LATE_KINDS: Final = ("window", "interval_join")
"""Kinds of operators that can detect late records."""

JOINS: Final = ("join", "co_group")

_SHAPES: Final = {
    "tumbling_event_time": "tumbling", "tumbling_processing_time": "tumbling",
    "sliding_event_time": "sliding", "sliding_processing_time": "sliding",
    "session_event_time": "session", "session_processing_time": "session",
    "dynamic_session_event_time": "dynamic_session", "dynamic_session_processing_time": "dynamic_session",
    "global": "global",
}  # fmt: skip
_NUMBERS: Final = {
    "tumbling": ("size_ms",), "sliding": ("size_ms", "slide_ms"), "session": ("gap_ms",), "dynamic_session": (),
    "global": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evictor:
    """Removes records from the contents, before or after the window function."""

    kind: str
    length: int
    after: bool


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """One window operator: its assigner, trigger and evictor, its allowed lateness, and the output of late records."""

    shape: str
    event_time: bool
    size_ms: int
    slide_ms: int
    offset_ms: int
    lateness_ms: int
    late_output: bool
    trigger: Mapping[str, object] | None
    """None: firings cannot be predicted."""
    evictor: Evictor | None
    unknown_evictor: bool
    """Whether an unpredictable evictor decides which records remain."""
    join: str
    """"join" or "co_group" for windows of two streams with predictable contents; else ''."""
    may_delete_cleanup: bool
    """A trigger called for a timer may delete the cleanup timer (rules 10.15, 10.23)."""

    @property
    def merging(self) -> bool:
        return self.shape in ("session", "dynamic_session")

    @property
    def predictable(self) -> bool:
        """Whether every firing can be predicted; otherwise only the contents of recorded firings are judged."""
        return self.trigger is not None and not self.unknown_evictor

    @property
    def waits_for_watermark(self) -> bool:
        """Whether a record on time only adds to the contents of a fixed event-time window."""
        is_fixed = self.event_time and self.shape not in ("global", "session", "dynamic_session")
        kept = self.evictor is not None or self.unknown_evictor or self.join
        return is_fixed and not kept and self.trigger is not None and self.trigger.get("kind") == "event_time"

    @property
    def unjudged(self) -> str:
        """The parts of such an operator that are not judged."""
        if self.unknown_evictor:
            return "when it fires, and which rows its evictor leaves"
        return "" if self.trigger is not None else "when it fires"

    def assign(self, timestamp: Ints, time_ns: Ints, gap: Ints) -> tuple[Ints, Ints]:
        """Per record the start of its newest window, and the number of its windows (rules 10.1 to 10.6); for a session
        the end.

        The remainder is never negative, as after Flink's correction; bounds overflow like Java's longs.
        """
        one: Ints = np.ones(len(timestamp), dtype=np.int64)
        if self.shape == "global":
            return one * GLOBAL[0], one
        at: Ints = timestamp if self.event_time else time_ns // NS_PER_MS
        if self.merging:
            return at, at + (gap if self.shape == "dynamic_session" else self.size_ms)
        start: Ints = at - (at - self.offset_ms) % self.slide_ms
        if self.shape == "sliding":
            too_old = at - self.size_ms
            one = np.where((start > at) | (too_old >= start), 0, -((too_old - start) // self.slide_ms))
        return start, one * (at != NO_TIMESTAMP) if self.event_time else one

    def cleanup_of(self, last: int) -> int:
        """When a window is cleaned up, by its last millisecond (rule 10.8)."""
        return min(last + self.lateness_ms, MAX_WATERMARK) if self.event_time else last

    def is_record_late(self, timestamp: int, watermark: int) -> bool:
        """Rule 10.9; with fixed windows a record without timestamp fails the job (rule 10.2) and is not late."""
        if not self.event_time or (timestamp == NO_TIMESTAMP and not self.merging):
            return False
        return wrapped(timestamp + self.lateness_ms) <= watermark


def last_of(start: int, end: int) -> int:
    """The last millisecond of a window."""
    if end == MAX_WATERMARK and start == NO_TIMESTAMP:
        return MAX_WATERMARK
    return end - 1 if end > NO_TIMESTAMP else MAX_WATERMARK


def is_in(key: int, part: KeyPart | None) -> bool:
    """Whether a key belongs to ``part``; None: all keys do."""
    return part is None or key % part[1] == part[0]


def rows_of(rows: Rows, operator: int, part: KeyPart | None = None) -> Mask:
    """Selects the rows of this operator and of the keys in ``part``."""
    mask: Mask = rows.column("operator") == operator
    if part is not None:
        mask &= rows.column("key") % part[1] == part[0]
    return mask


def late_operators(graph: JobGraph) -> Mapping[int, list[tuple[Operator, WindowPlan | None]]]:
    """The operators of each job vertex that can detect late records, with the plans of judged windows."""
    inputs = {task.vertex: task.inputs for task in graph.tasks.values()}
    found: dict[int, list[tuple[Operator, WindowPlan | None]]] = {}
    for operator in graph.operators:
        if operator.kind in LATE_KINDS and operator.vertex in inputs:
            plan = window_plan(operator) if inputs[operator.vertex] == 1 else None
            found.setdefault(operator.vertex, []).append((operator, plan))
    return found


def window_plan(operator: Operator) -> WindowPlan | None:
    """The plan of a window operator at the head of its chain with a known assigner; otherwise None."""
    params = operator.params
    shape = _SHAPES.get(str(params.get("assigner")))
    if operator.kind != "window" or operator.input_operator != -1 or shape is None or params.get("batch") is True:
        return None
    needed = [params.get(name) for name in _NUMBERS[shape]]
    if (
        any(type(n) is not int or not 0 < n <= MAX_WATERMARK for n in needed)
        or params.get("stagger", "aligned") != "aligned"
    ):
        return None
    event_time = str(params.get("assigner")).endswith("_event_time")
    evictor, unknown = _evictor(params.get("evictor"), shape)
    size = number_of(params, "gap_ms" if shape == "session" else "size_ms", _SIZE_OF_GLOBAL)
    slide = number_of(params, "slide_ms", size)
    if size // slide > _MOST_WINDOWS:
        return None
    return WindowPlan(
        shape, event_time, size, slide, number_of(params, "offset_ms"),
        number_of(params, "lateness_ms"), bool(params.get("late_output", False)),
        _predictable(known_trigger(params.get("trigger"), shape), shape, event_time, "evictor" in params),
        evictor, unknown,
        "" if unknown or params.get("join") not in JOINS else str(params["join"]),
        _may_delete_cleanup(params.get("trigger")),
    )  # fmt: skip


def known_trigger(given: object, shape: str) -> Mapping[str, object] | None:
    """The trigger's description if there is a model of it; otherwise None."""
    if not isinstance(given, Mapping):
        return None
    match given.get("kind"):
        case "event_time" | "processing_time" | "never" | "end_of_stream":
            return given
        case "count":
            return given if _positive(given, "count") else None
        case "continuous_event_time" | "continuous_processing_time":
            return given if _positive(given, "interval_ms") else None
        case "purging":
            return given if known_trigger(given.get("of"), shape) is not None else None
        case "timeout":
            # If a record is in several windows, the clock may advance between them while results wait for a buffer.
            known = shape != "sliding" and known_trigger(given.get("of"), shape) is not None
            return given if known and _positive(given, "interval_ms") else None
        case "any_of":
            parts = parts_of(given)
            return given if parts and all(known_trigger(part, shape) is not None for part in parts) else None
    return None


def parts_of(trigger: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    """Returns the triggers of which an ``any_of`` consists."""
    parts = trigger.get("of")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list | tuple) else []


def trigger_parts(trigger: object) -> list[tuple[str, Mapping[str, object]]]:
    """The triggers inside a trigger, each with its parameters; purging ones are left out, time-outs are not."""
    if not isinstance(trigger, Mapping):
        return []
    kind, inner = str(trigger.get("kind", "")), trigger.get("of")
    if kind == "any_of":
        return [part for each in parts_of(trigger) for part in trigger_parts(each)]
    if not isinstance(inner, Mapping):
        return [(kind, trigger)]
    return [*([(kind, trigger)] if kind == "timeout" else []), *trigger_parts(inner)]


def _predictable(
    trigger: Mapping[str, object] | None, shape: str, event_time: bool, has_evictor: bool
) -> Mapping[str, object] | None:
    """The trigger, if what is not recorded has no effect on it.

    The cleanup of a processing-time window is not recorded, so whether it still exists at a watermark is not known. Nor is
    a timeout without contents, which another part has purged: the next record may begin a new one.
    """
    by_watermark = {"event_time", "continuous_event_time", "end_of_stream"}
    kinds = set(_kinds(trigger))
    if not event_time and shape != "global" and by_watermark & kinds:
        return None
    return None if (has_evictor or "purging" in kinds) and _times_out_beside_others(trigger) else trigger


def _times_out_beside_others(given: object, is_part: bool = False) -> bool:
    """Whether a part of an ``any_of`` is a timeout that clears its state."""
    if not isinstance(given, Mapping):
        return False
    if is_part and given.get("kind") == "timeout" and given.get("clear_on_timeout"):
        return True
    parts = parts_of(given)
    inner = _times_out_beside_others(given.get("of"), is_part)
    return inner or any(_times_out_beside_others(part, True) for part in parts)


def _may_delete_cleanup(given: object) -> bool:
    if not isinstance(given, Mapping):
        return True
    kind = given.get("kind")
    if kind == "any_of":
        return any(map(_may_delete_cleanup, parts_of(given)))
    if kind in ("purging", "timeout") and not given.get("clear_on_timeout"):
        return _may_delete_cleanup(given.get("of"))
    return kind in ("timeout", "custom")


def _kinds(given: object) -> list[str]:
    if not isinstance(given, Mapping):
        return []
    inner = [*_kinds(given.get("of")), *(kind for part in parts_of(given) for kind in _kinds(part))]
    return [str(given.get("kind")), *inner]


def _evictor(given: object, shape: str) -> tuple[Evictor | None, bool]:
    """The evictor, and whether its result cannot be predicted."""
    if given is None:
        return None, False
    if isinstance(given, Mapping):
        if given.get("kind") == "time" and _positive(given, "window_ms"):
            return Evictor("time", number_of(given, "window_ms"), bool(given.get("after", False))), False
        # The order of records from merged windows is not defined.
        if given.get("kind") == "count" and _positive(given, "count") and not shape.endswith("session"):
            return Evictor("count", number_of(given, "count"), bool(given.get("after", False))), False
    return None, True


def _positive(given: Mapping[str, object], name: str) -> bool:
    value = given.get(name)
    return type(value) is int and 0 < value <= MAX_WATERMARK


def number_of(params: Mapping[str, object], name: str, otherwise: int = 0) -> int:
    """An integer parameter of an operator, ``otherwise`` if it is missing."""
    value = params.get(name)
    return value if type(value) is int and NO_TIMESTAMP <= value <= MAX_WATERMARK else otherwise
