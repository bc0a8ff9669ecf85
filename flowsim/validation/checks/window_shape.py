"""What a fold over windows knows of its operator: assigner, trigger and evictor, and whether they can be foretold.

Runs in Python workers: needs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Shape:
    """What the description says of assigner, trigger and evictor."""

    kind: str
    by_event: bool
    size: int
    slide: int
    offset: int
    lateness: int
    late_output: int
    trigger: dict[str, object] | None
    evictor: dict[str, object] | None
    unknown_evictor: bool

    @property
    def merging(self) -> bool:
        return self.kind in ("session", "dynamic")

    @property
    def foretold(self) -> bool:
        return self.trigger is not None


def shape_of(params: dict[str, object]) -> Shape:
    """Of an operator whose assigner is one that can be judged."""
    name = str(params["assigner"])
    kind = name.split("_")[0]
    evictor = params.get("evictor")
    known = not evictor or _knows_evictor(evictor, kind)
    size = number(params, "gap_ms" if kind == "session" else "size_ms")
    slide = number(params, "slide_ms") if kind == "sliding" else size
    by_event = name.endswith("event_time")
    trigger = params.get("trigger")
    foreseen = known and _knows(trigger, kind, True) and (by_event or kind == "global" or not _by_watermark(trigger))
    return Shape(
        kind, by_event, size, slide, number(params, "offset_ms"), number(params, "lateness_ms"),
        int(params.get("late_output") is True), trigger if foreseen else None,  # type: ignore[arg-type]
        evictor if known and evictor else None, not known,  # type: ignore[arg-type]
    )  # fmt: skip


def number(given: dict[str, object], name: str) -> int:
    value = given.get(name)
    return value if isinstance(value, int) else 0


def _knows(trigger: object, kind: str, timeouts: bool) -> bool:
    if not isinstance(trigger, dict):
        return False
    name = trigger.get("kind")
    if name in ("event_time", "processing_time", "never", "end_of_stream"):
        return True
    if name == "count":
        return number(trigger, "count") > 0
    if name in ("continuous_event_time", "continuous_processing_time"):
        return number(trigger, "interval_ms") > 0
    if name == "purging":
        return _knows(trigger.get("of"), kind, timeouts)
    if name == "timeout":
        # Neither two timeouts in one (they share their state) nor a record in several windows (time may pass between).
        return (
            timeouts
            and kind != "sliding"
            and number(trigger, "interval_ms") > 0
            and _knows(trigger.get("of"), kind, False)
        )
    return False


def _by_watermark(trigger: object) -> bool:
    """A window by the clock goes in silence: nothing tells whether a watermark still finds it."""
    if not isinstance(trigger, dict):
        return False
    return trigger.get("kind") in ("event_time", "continuous_event_time", "end_of_stream") or _by_watermark(
        trigger.get("of")
    )


def _knows_evictor(evictor: object, kind: str) -> bool:
    if not isinstance(evictor, dict):
        return False
    if evictor.get("kind") == "count":
        return kind not in ("session", "dynamic") and number(evictor, "count") > 0
    return evictor.get("kind") == "time" and number(evictor, "window_ms") > 0
