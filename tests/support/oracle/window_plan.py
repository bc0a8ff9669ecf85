"""The description of a window operator (table ``operators``), and how much of it can be predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from flowsim.laws.job_graph import Operator
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.java_long import wrapped

Window = tuple[int, int]
"""First millisecond, and the one behind the last."""

GLOBAL: Final[Window] = (NO_TIMESTAMP, MAX_WATERMARK)

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
_TIMED: Final = ("continuous_event_time", "continuous_processing_time")


@dataclass(frozen=True, slots=True)
class Evictor:
    """Takes records out of the contents, before or after the window function."""

    kind: str
    length: int
    after: bool


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """One window operator: its assigner, trigger and evictor, the lateness it allows, and where its late rows go."""

    shape: str
    event_time: bool
    size_ms: int
    slide_ms: int
    offset_ms: int
    lateness_ms: int
    late_output: bool
    trigger: Mapping[str, object] | None
    """None: when it fires cannot be predicted."""
    evictor: Evictor | None
    keeps_unknown: bool
    """An evictor decides which records stay, which cannot be predicted."""
    join: str | None
    """"join" or "co_group" where two streams share the windows, and it is known what is in them."""

    @property
    def merging(self) -> bool:
        return self.shape in ("session", "dynamic_session")

    @property
    def predicted(self) -> bool:
        """Whether every firing is known beforehand; otherwise only what a recorded firing contains can be judged."""
        return self.trigger is not None and not self.keeps_unknown

    @property
    def unjudged(self) -> str:
        """What of such an operator is not judged."""
        if self.keeps_unknown:
            return "when it fires, and which rows its evictor leaves"
        return "" if self.trigger is not None else "when it fires"

    def windows_of(self, timestamp: int, now_ms: int, gap_ms: int) -> list[Window]:
        """Rules 10.1 to 10.6, in the order in which they are handled.

        Python's remainder is never negative, as Flink's correction makes Java's; bounds wrap around as Java's longs do.
        """
        at = timestamp if self.event_time else now_ms
        match self.shape:
            case "global":
                return [GLOBAL]
            case "session":
                return [(at, wrapped(at + self.size_ms))]
            case "dynamic_session":
                return [(at, wrapped(at + gap_ms))]
        if self.event_time and timestamp == NO_TIMESTAMP:
            return []
        newest = wrapped(at - wrapped(at - self.offset_ms) % self.slide_ms)
        if self.shape == "tumbling":
            return [(newest, wrapped(newest + self.size_ms))]
        if newest > at:
            return []
        starts = range(newest, wrapped(at - self.size_ms), -self.slide_ms)
        return [(start, wrapped(start + self.size_ms)) for start in starts]

    def cleanup_of(self, window: Window) -> int:
        """Rule 10.8."""
        last = last_of(window)
        return min(last + self.lateness_ms, MAX_WATERMARK) if self.event_time else last

    def is_window_late(self, window: Window, watermark: int) -> bool:
        """Rule 10.9."""
        return self.event_time and self.cleanup_of(window) <= watermark

    def is_row_late(self, timestamp: int, watermark: int) -> bool:
        """Rule 10.9; a row without a timestamp ends the job where windows are fixed (rule 10.2), so it is not late."""
        if not self.event_time or (timestamp == NO_TIMESTAMP and not self.merging):
            return False
        return wrapped(timestamp + self.lateness_ms) <= watermark


def last_of(window: Window) -> int:
    """Its last millisecond."""
    return MAX_WATERMARK if window == GLOBAL else wrapped(window[1] - 1)


def window_plan(operator: Operator) -> WindowPlan | None:
    """The plan of a window operator at the head of its chain whose assigner is known; else None."""
    params = operator.params
    shape = _SHAPES.get(str(params.get("assigner")))
    if operator.kind != "window" or operator.input_operator != -1 or shape is None:
        return None
    needed = [params.get(name) for name in _NUMBERS[shape]]
    if any(not isinstance(n, int) or n < 1 for n in needed) or params.get("stagger", "aligned") != "aligned":
        return None
    event_time = str(params.get("assigner")).endswith("_event_time")
    evictor, unknown = _evictor(params.get("evictor"), shape)
    size = _number(params, "gap_ms") if shape == "session" else _number(params, "size_ms")
    return WindowPlan(
        shape, event_time, size, _number(params, "slide_ms", size), _number(params, "offset_ms"),
        _number(params, "lateness_ms"), bool(params.get("late_output", False)),
        _foreseen(known_trigger(params.get("trigger"), shape), shape, event_time, "evictor" in params), evictor, unknown,
        _join(params.get("join")) if not unknown else None,
    )  # fmt: skip


def known_trigger(given: object, shape: str) -> Mapping[str, object] | None:
    """The trigger's description when a model of it exists; else None."""
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
            # Where a record is in several windows, the clock may move between them while results wait for a buffer.
            timed_out = known_trigger(given.get("of"), shape) is not None
            return given if shape != "sliding" and timed_out and _positive(given, "interval_ms") else None
        case "any_of":
            return given if all(known_trigger(part, shape) is not None for part in given["of"]) else None
    return None


def _foreseen(
    trigger: Mapping[str, object] | None, shape: str, event_time: bool, evicts: bool
) -> Mapping[str, object] | None:
    """A window by the clock is cleaned up in silence, at a moment that nothing tells: whether a watermark still finds it
    there is open. A timeout over an emptied window is silent, too, and when it clears itself the next record starts it anew.
    """
    kinds = set(_kinds(trigger))
    if not event_time and shape != "global" and kinds & {"event_time", "continuous_event_time", "end_of_stream"}:
        return None
    empties = evicts or "purging" in kinds
    return None if empties and any(map(_clears_itself, _parts_beside_others(trigger))) else trigger


def _parts_beside_others(given: object) -> list[object]:
    """The parts of every ``any_of``, at any depth."""
    if isinstance(given, list | tuple):
        return [*given, *(part for each in given for part in _parts_beside_others(each))]
    return _parts_beside_others(given.get("of")) if isinstance(given, Mapping) else []


def _clears_itself(given: object) -> bool:
    """Whether it is, or has inside, a timeout that clears its state."""
    if isinstance(given, list | tuple):
        return any(map(_clears_itself, given))
    if not isinstance(given, Mapping):
        return False
    return bool(given.get("kind") == "timeout" and given.get("clear_on_timeout")) or _clears_itself(given.get("of"))


def _kinds(given: object) -> list[str]:
    if isinstance(given, Mapping):
        return [str(given.get("kind")), *_kinds(given.get("of"))]
    return [kind for part in given for kind in _kinds(part)] if isinstance(given, list | tuple) else []


def _evictor(given: object, shape: str) -> tuple[Evictor | None, bool]:
    """The evictor, and whether what it leaves cannot be predicted."""
    if given is None:
        return None, False
    if isinstance(given, Mapping):
        if given.get("kind") == "time" and _positive(given, "window_ms"):
            return Evictor("time", _number(given, "window_ms"), bool(given.get("after", False))), False
        # In which order windows that merge put their records together is left open.
        if given.get("kind") == "count" and _positive(given, "count") and not shape.endswith("session"):
            return Evictor("count", _number(given, "count"), bool(given.get("after", False))), False
    return None, True


def _positive(given: Mapping[str, object], name: str) -> bool:
    value = given.get(name)
    return isinstance(value, int) and value > 0


def _number(params: Mapping[str, object], name: str, otherwise: int = 0) -> int:
    value = params.get(name)
    return value if isinstance(value, int) else otherwise


def _join(given: object) -> str | None:
    return str(given) if given in ("join", "co_group") else None
