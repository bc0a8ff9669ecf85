"""Draws windows: every assigner, trigger and evictor that Flink accepts together, lateness and side outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.testing.drawing.choices import Choices
from flowsim.testing.drawing.draft import FIELDS, Block, Draft, Stream, meets_a_step, ms
from flowsim.testing.drawing.edges import can_be_keyed, inputs, key_fields, keyed, some_key, united
from flowsim.testing.drawing.operators import WAITS_MS
from flowsim.testing.drawing.orders import add_numbers, add_ordering, python

_SIZES_MS: Final = (100, 130, 150, 250)
"""Of windows in processing time."""
_OFFSETS_MS: Final = (1, 31, 45, -29)
INTERVALS_MS: Final = tuple(period for period in (90, 110, 130, 150, 170, 250) if not meets_a_step(period, 1))
"""Of continuous triggers in processing time."""
_CONTENTS: Final[Mapping[str, tuple[dict[str, str], Block]]] = {
    "WindowContents": (
        {"key": "string", "start": "long", "end": "long", "records": "string", "watermark": "long", "firings": "long",
         "of_key": "long"},
        {"id": "len(records)", "k": "key", "n": "firings"},
    ),
    "AllWindowContents": (
        {"start": "long", "end": "long", "records": "string"},
        {"id": "len(records)", "k": "'all'", "n": "coalesce(end, 0) % 101"},
    ),
}  # fmt: skip
"""Fields of the functions that see whole windows, and the numbers that a map makes of them."""
_REDUCED: Final = {"n": "sum", "id": "max"}
_AGGREGATES: Final = ("sum(n)", "count()", "max(n)", "last(n)", "min(n + id)", "first(n)", "count(n)")


def window(
    draft: Draft, *, has_timestamps: bool, of_pairs: bool = False, has_orders: bool = False
) -> tuple[Block, str]:
    """Draws a window; returns it with ``event``, ``processing`` or ``endless``: what ends its windows.

    ``of_pairs``: its records are those of two streams, so that nothing in it depends on their fields. ``has_orders``:
    they order what a trigger does.
    """
    choices = draft.choices
    kinds = ["tumbling", "sliding", "session"] * 3 if has_timestamps else []
    clocks = [f"{kind} by clock" for kind in ("tumbling", "sliding", "session")]
    kinds += [*clocks, "global_window", *([] if of_pairs else ["count"])]
    kind = choices.one_of(kinds)
    shape, _, by_clock = kind.partition(" ")
    block = _assigned(draft, shape, is_by_clock=bool(by_clock), of_pairs=of_pairs)
    if shape == "count":
        return block, "endless"
    ends = "endless" if shape == "global_window" else "processing" if by_clock else "event"
    # Sessions that fire early, between two merges, are rare.
    percent = 75 if shape == "session" and not draft.is_determined else 45
    if ends == "endless" or has_orders or choices.often(percent):
        block["trigger"] = _trigger(
            draft, shape, ends, has_timestamps=has_timestamps, of_pairs=of_pairs, has_orders=has_orders
        )
        draft.fires_on |= ends != "processing" and "continuous_processing_time" in str(block["trigger"])
    if choices.often(20):
        block["evictor"] = _evictor(choices, of_pairs=of_pairs)
    if ends == "event" and choices.often(40):
        block["allowed_lateness"] = ms(choices.one_of([3, 9]))
    return block, ends


def _assigned(draft: Draft, shape: str, *, is_by_clock: bool, of_pairs: bool) -> Block:
    choices = draft.choices
    block: Block = {}
    if shape == "global_window":
        return {"global_window": True}
    if shape == "count":
        size = choices.one_of([2, 1, 3, 5])
        return {"count": {"size": size, "slide": choices.one_of([1, 2, 4])} if choices.often(40) else size}
    if is_by_clock:
        period_ms = choices.one_of(_SIZES_MS)
        offsets = [offset for offset in _OFFSETS_MS if not meets_a_step(period_ms, offset)]
        block["time"] = "processing"
        if shape != "session":
            block["offset"] = ms(choices.one_of(offsets))
    else:
        period_ms = choices.one_of([10, 5, 20, 3])
        if shape != "session" and choices.often(30):
            block["offset"] = ms(choices.one_of([1, -1, 2]))
        elif shape == "tumbling" and not of_pairs and choices.often(15):
            block["stagger"] = "natural"
    of: object
    match shape:
        case "tumbling":
            of = ms(period_ms)
        case "sliding":
            size_ms = period_ms * choices.one_of([2, 1, 3])
            # Sometimes windows leave gaps between them.
            of = {"size": ms(max(1, size_ms // (3 if choices.often(20) else 1))), "slide": ms(period_ms)}
        case _ if not of_pairs and choices.often(30):
            of = {"gap": "50 + n % 7 * 10" if is_by_clock else "n % 7 + 1"}
        case _:
            longer = () if draft.is_determined else (30, 30)
            of = ms(choices.one_of(WAITS_MS) if is_by_clock else choices.one_of([4, 1, 8, *longer]))
    return {shape: of, **block}


def _trigger(
    draft: Draft, shape: str, ends: str, *, has_timestamps: bool, of_pairs: bool, has_orders: bool, depth: int = 0
) -> object:
    """Draws a trigger that ends: one by the clock would fire without end in windows of event time, which are long past."""
    choices = draft.choices
    kinds = ["count", "count", "event_time"]
    if shape != "session":
        kinds += ["never", "timeout", *([] if of_pairs else ["delta"])]
        # Flink's own end_of_stream is for global windows alone.
        kinds += ["end_of_stream"] if ends == "endless" or not draft.is_determined else []
    if ends != "endless" and has_timestamps:
        kinds += ["continuous_event_time"] * (4 if shape == "session" and not draft.is_determined else 2)
    if ends != "event" or draft.is_ahead:
        kinds.append("continuous_processing_time")
    # Flink's own processing_time is for windows of a time.
    if ends == "processing" or draft.is_ahead or (ends == "endless" and not draft.is_determined):
        kinds.append("processing_time")
    if has_orders:
        kinds += ["own"] * 6
    if depth < 2:
        kinds += ["purging", "any_of"]
    match choices.one_of(kinds):
        case "count":
            return {"count": choices.one_of([3, 2, 1, 5])}
        case "delta":
            return {"delta": {"of": "n", "threshold": choices.one_of([10, 25])}}
        case "own":
            return python("OrderedTrigger")
        case "continuous_event_time":
            return {"continuous_event_time": ms(choices.one_of([4, 2, 7]))}
        case "continuous_processing_time":
            return {"continuous_processing_time": ms(choices.one_of(INTERVALS_MS))}
        case ("purging" | "timeout" | "any_of") as kind:
            of = [
                _trigger(
                    draft,
                    shape,
                    ends,
                    has_timestamps=has_timestamps,
                    of_pairs=of_pairs,
                    has_orders=has_orders,
                    depth=depth + 1,
                )
                for _ in range(choices.integer(2, 3) if kind == "any_of" else 1)
            ]
            if kind != "timeout":
                return {kind: of if kind == "any_of" else of[0]}
            timeout: Block = {"of": of[0], "after": ms(choices.one_of([120, 250]))}
            if choices.often(50):
                timeout["reset_on_record"] = True
            if choices.often(50):
                timeout["clear_on_timeout"] = False
            return {"timeout": timeout}
        case kind:
            return kind


def _evictor(choices: Choices, *, of_pairs: bool) -> Block:
    kind = choices.one_of(["count", "time", *([] if of_pairs else ["delta"])])
    match kind:
        case "count":
            evictor: Block = {"count": choices.one_of([2, 1, 3])}
        case "time":
            evictor = {"time": ms(choices.one_of([4, 1, 10]))}
        case _:
            evictor = {"delta": {"of": "n", "threshold": choices.one_of([5, 20])}}
    return evictor | ({"after": True} if choices.often(40) else {})


def add_window(draft: Draft) -> bool:
    """Adds a window with an aggregate or ``reduce``; False if no stream is fit."""
    stream = united(draft, can_be_keyed(draft))
    if stream is None:
        return False
    choices = draft.choices
    has_orders = not draft.is_determined and choices.often(25)
    if has_orders:
        orders = (
            ("event {timestamp + 3}", "fire", "purge", "fire; purge") if stream.has_timestamps else ("fire", "purge")
        )
        stream = add_ordering(draft, stream, orders)
    key = None if choices.often(12) else some_key(choices)
    block: Block = {}
    if key is None:
        block, width = {"input": inputs(draft, stream)}, 1
    else:
        block, width = keyed(draft, stream, key)
    cut, ends = window(draft, has_timestamps=stream.has_timestamps, has_orders=has_orders)
    block["window"] = cut
    name = draft.next_name()
    if ends == "event" and choices.often(40):
        cut["late_output"] = "late"
    numbers: Block | None = None
    # Windows that merge have no states of their own (rule 10.29).
    if "session" not in cut and choices.often(20):
        function = "AllWindowContents" if key is None else "WindowContents"
        fields, numbers = _CONTENTS[function]
        block["process"] = python(function, fields=fields)
    elif choices.often(30):
        block["reduce"] = _REDUCED
        fields = dict(stream.fields)
    else:
        aggregates, fields = _aggregate(choices, key, has_times=ends != "endless")
        block["aggregate"] = aggregates
        if "evictor" not in cut and "n" in aggregates and choices.often(20):
            block["having"] = "n % 2 == 0"
    keeps_time = stream.has_timestamps and ends == "event"
    result = Stream(name, fields, width, stream.origins, keeps_time, is_spread=width > 1)
    late = Stream(f"{name}.late", stream.fields, width, stream.origins, stream.has_timestamps)
    # An evictor can leave nothing, and an aggregate of nothing is null.
    add = draft.add_filled if "evictor" in cut else draft.add_operator
    if numbers is not None:
        add = draft.add_operator
    add(block, result, *([late] if "late_output" in cut else []))
    if numbers is not None:
        add_numbers(draft, result, numbers)
    return True


def _aggregate(choices: Choices, key: object, *, has_times: bool) -> tuple[Block, dict[str, str]]:
    """Draws aggregates that give every field, with those of the key; returns them with the fields of the result."""
    fields = {} if key is None else key_fields(key)
    if has_times:
        fields |= {"window_start_ms": "long", "window_end_ms": "long"}
    aggregates: Block = {"id": "max(id)", "k": "first(k)", "n": choices.one_of(["sum(n)", "last(n)", "min(n)"])}
    aggregates = {name: each for name, each in aggregates.items() if name not in fields}
    for number in range(choices.one_of([0, 1, 2])):
        aggregates[f"a{number}"] = choices.one_of(_AGGREGATES)
    return aggregates, fields | {name: FIELDS.get(name, "long") for name in aggregates}
