"""Draws operators with one input: stateless ones, rolling aggregates, ``reduce`` and alarms."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from flowsim.testing.drawing.draft import Block, Draft, Stream, ms
from flowsim.testing.drawing.edges import can_be_keyed, keyed, some_key, united, unkeyed
from flowsim.testing.drawing.sources import PERIODS_MS

_STATELESS: Final[tuple[Block, ...]] = (
    {"map": {"add": {"n": "(n * 7 + 1) % 101"}}},
    {"filter": "n % 3 != 0"},
    {"flat_map": {"each": "(n, n + 1)", "into": "n", "type": "long", "keep": ["id", "k"]}},
    {"map": {"select": {"id": "id", "k": "lower(k)", "n": "0 - n"}}},
    {"flat_map": {"each": "(n,) if n % 2 else ()", "into": "n", "type": "long", "keep": ["id", "k"]}},
    {"map": {"add": {"text": "f'{k}-{n}'"}}},
)
_FIELDS_AFTER: Final[dict[int, tuple[str, ...]]] = {2: ("id", "k", "n"), 3: ("id", "k", "n"), 4: ("id", "k", "n")}
WAITS_MS: Final = (50, 120, 230)
"""Of processing time, in determined scenarios: none meets a step."""


def chaining(draft: Draft, block: Block) -> None:
    """Lets some operators begin a chain, or be a task of their own."""
    if draft.choices.often(20):
        block["chaining"] = draft.choices.one_of(["never", "head"])
    if draft.choices.often(6):
        block["slot_sharing_group"] = "apart"


def add_stateless(draft: Draft) -> bool:
    """Adds a map, filter or flat_map; False if no stream is fit."""
    stream = united(draft)
    if stream is None:
        return False
    number = draft.choices.integer(0, len(_STATELESS) - 1)
    block, width, is_spread = unkeyed(draft, stream)
    fields = dict(stream.fields)
    if number in _FIELDS_AFTER:
        fields = {name: fields[name] for name in _FIELDS_AFTER[number]}
    elif number == 5:
        fields["text"] = "string"
    block |= _STATELESS[number]
    chaining(draft, block)
    draft.add_operator(
        block, replace(stream, name=draft.next_name(), fields=fields, parallelism=width, is_spread=is_spread)
    )
    return True


def add_rolling(draft: Draft) -> bool:
    """Adds a keyed aggregate that emits with every record."""
    stream = united(draft, can_be_keyed(draft))
    if stream is None:
        return False
    choices = draft.choices
    key = "i" if "i" in stream.fields and choices.often(50) else some_key(choices)
    block, width = keyed(draft, stream, key)
    kind = choices.one_of(["sum", "reduce", "min", "max", "min_by", "max_by"])
    block[kind] = (
        "n" if kind != "reduce" else {"n": choices.one_of(["sum", "last", "max", "first", "min"]), "id": "max"}
    )
    if choices.often(15):
        block["state_ttl"] = ms(choices.one_of(WAITS_MS)) if choices.often(50) else _time_to_live(draft)
    chaining(draft, block)
    draft.add_operator(block, replace(stream, name=draft.next_name(), parallelism=width))
    return True


def _time_to_live(draft: Draft) -> Block:
    choices = draft.choices
    ttl: Block = {
        "ttl": ms(choices.one_of(WAITS_MS)),
        "update_type": choices.one_of(["on_create_and_write", "on_read_and_write"]),
    }
    if choices.often(50):
        ttl["state_visibility"] = "return_expired_if_not_cleaned_up"
    if choices.often(50):
        ttl["cleanup_full_snapshot"] = True
    return ttl


def add_alarm(draft: Draft) -> bool:
    """Adds timers of event time or processing time."""
    choices = draft.choices
    in_event_time = draft.family == "event_time" or choices.often(50)
    fits = can_be_keyed(draft)
    stream = united(draft, lambda stream: fits(stream) and (stream.has_timestamps or not in_event_time))
    if stream is None:
        return False
    key = some_key(choices)
    block, width = keyed(draft, stream, key)
    after_ms = choices.one_of([5, 0, 12, 40] if in_event_time else WAITS_MS)
    alarm: Block = {"after": ms(after_ms), "emit": {"id": "id", "k": "k", "n": "n"}}
    if not in_event_time:
        alarm["time"] = "processing"
    if choices.often(40):
        alarm["when"] = "n > 10"
    if choices.often(40):
        alarm["cancel"] = "n % 5 == 0"
    if choices.often(30):
        alarm["renew"] = False
    block["alarm"] = alarm
    if choices.often(10):
        block["state_ttl"] = ms(choices.one_of(WAITS_MS))
    draft.add_operator(
        block,
        Stream(
            draft.next_name(),
            {"id": "long", "k": "string", "n": "long", "alarm_ms": "long"},
            width,
            stream.origins,
            in_event_time and stream.has_timestamps,
            width > 1,
        ),
    )
    return True


def add_watermarks(draft: Draft) -> bool:
    """Adds an operator that assigns timestamps and watermarks."""
    stream = united(draft, lambda stream: stream.has_timestamps)
    if stream is None:
        return False
    choices = draft.choices
    block, width, is_spread = unkeyed(draft, stream)
    kinds = ["every_record", "punctuated", "never"]
    if not draft.is_determined:
        kinds.insert(0, "periodic")
        draft.settings.setdefault("auto_watermark_interval", ms(choices.one_of(PERIODS_MS)))
    kind = choices.one_of(kinds)
    watermarks: Block = {"timestamp": choices.one_of(["timestamp", "timestamp + n"])}
    watermarks["max_out_of_orderness"] = ms(choices.one_of([0, 3, 8]))
    if kind == "punctuated":
        watermarks["punctuated"] = "n > 30"
    else:
        watermarks["emit"] = kind
    if choices.often(20):
        watermarks["missing_timestamp"] = "drop"
    block["watermarks"] = watermarks
    draft.add_operator(block, replace(stream, name=draft.next_name(), parallelism=width, is_spread=is_spread))
    return True
