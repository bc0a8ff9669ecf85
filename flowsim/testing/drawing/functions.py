"""Draws functions in Python (``flowsim.testing.functions``), which do with timers and states what their records order."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from flowsim.testing.drawing.draft import Block, Draft, Stream
from flowsim.testing.drawing.edges import can_be_keyed, keyed, partitions, united, unkeyed
from flowsim.testing.drawing.orders import add_numbers, add_ordering, add_orders_text, python
from flowsim.testing.drawing.two_inputs import pair_of, result_of

_RESULT: Final = {
    "what": "string", "key": "string", "record": "string", "timestamp": "long", "watermark": "long", "state": "string",
}  # fmt: skip
_STATES: Final = (
    "value {n}", "list {n}", "list {n} {id}", "list= {id}", "map {id % 3} {n}", "-map {id % 3}", "reduce {n}",
    "aggregate {n}", "-value", "-reduce; -aggregate", "-list; -map",
)  # fmt: skip
_CLOCK: Final = ("processing {1350 + id * 97}", "-processing {1253 + id * 97}")
"""No timer meets a step."""
_EVENT: Final = ("event {timestamp + 6}", "event {timestamp + 9}", "-event {timestamp + 3}")
_RULES: Final = ("rule {n % 3} {id}", "-rule {id % 3}", "keys")


def _add_seen(draft: Draft, block: Block, stream: Stream) -> None:
    """Adds a function that emits what it sees, sometimes with its side output."""
    kind = next(kind for kind in ("process", "connect", "broadcast") if kind in block)
    inner: Block = block[kind]  # type: ignore[assignment]
    function: Block = inner if kind == "process" else inner["process"]  # type: ignore[assignment]
    function["fields"] = _RESULT
    sides = []
    if draft.choices.often(30):
        function["side_outputs"] = {"side": _RESULT}
        sides = [replace(stream, name=f"{stream.name}.side", fields=_RESULT)]
    draft.add_operator(block, replace(stream, fields=_RESULT), *sides)
    for side in sides:
        draft.streams.remove(side)
    add_numbers(draft, stream, {"id": "len(coalesce(record, ''))", "k": "coalesce(key, '')", "n": "len(state)"})


def _add_ordering(draft: Draft, stream: Stream) -> Stream:
    """Adds the map before a keyed function; returns its stream, with timestamps if those of what the function emits."""
    choices = draft.choices
    groups: list[tuple[str, ...]] = [_STATES]
    if stream.has_timestamps and choices.often(50):
        groups.append(_EVENT)
    may_restore_timers = not draft.is_determined and draft.family in ("checkpoints", "unaligned")
    if choices.often(60 if may_restore_timers else 30):
        groups.append(_CLOCK)
    if choices.often(20):
        groups.append(("side",))
    ordered = add_ordering(draft, stream, *groups)
    # What a timer of processing time emits has no timestamp.
    return replace(ordered, has_timestamps=ordered.has_timestamps and _CLOCK not in groups)


def add_orders(draft: Draft) -> bool:
    """Adds a keyed function of one input, with timers and states."""
    stream = united(draft, can_be_keyed(draft))
    if stream is None:
        return False
    ordered = _add_ordering(draft, stream)
    block, width = keyed(draft, ordered, "k")
    block["process"] = python("Orders")
    _add_seen(draft, block, replace(ordered, name=draft.next_name(), parallelism=width, is_spread=width > 1))
    return True


def add_orders_of_two(draft: Draft) -> bool:
    """Adds a function of two inputs: keyed with timers and states, or without a key."""
    choices = draft.choices
    pair = pair_of(draft, can_be_keyed(draft))
    if pair is None:
        return False
    is_keyed = choices.often(50)
    first, second = (_add_ordering(draft, each) for each in pair)
    if is_keyed:
        width = draft.width()
        block: Block = {"input": draft.read(first), "parallelism": width}
        block["connect"] = {"to": draft.read(second), "key_by": ["k", "k"], "process": python("OrdersOfTwo")}
        is_spread = width > 1
    else:
        block, width, is_spread = unkeyed(draft, first)
        inner: Block = {"to": draft.read(second), "process": python("ContextsOfTwo")}
        if choices.often(40):
            inner["partition"] = choices.one_of(partitions(draft))
        is_spread = is_spread or (inner.get("partition") == "broadcast" and width > 1)
        block["connect"] = inner
    _add_seen(draft, block, result_of(draft, (first, second), _RESULT, width, is_spread=is_spread))
    return True


def add_rules(draft: Draft) -> bool:
    """Adds a function with broadcast state, mostly keyed with timers and states."""
    choices = draft.choices
    pair = pair_of(draft, can_be_keyed(draft))
    if pair is None:
        return False
    is_keyed = choices.often(70)
    first = _add_ordering(draft, pair[0])
    second = add_ordering(draft, pair[1], _RULES)
    if is_keyed:
        width = draft.width()
        block: Block = {"input": draft.read(first), "parallelism": width, "key_by": "k"}
    else:
        block, width, _ = unkeyed(draft, first)
    block["broadcast"] = {"to": draft.read(second), "process": python("OrdersWithRules" if is_keyed else "Rules")}
    stream = result_of(draft, (first, second), _RESULT, width, is_spread=width > 1)
    _add_seen(draft, block, stream)
    return True


def add_contexts(draft: Draft) -> bool:
    """Adds a function without a key: of contexts, with operator state, or one whose attempts fail when they open."""
    choices = draft.choices
    stream = united(draft)
    if stream is None:
        return False
    names = ["Contexts"]
    if draft.family in ("checkpoints", "unaligned"):
        names += ["OperatorStates"] * 3 + ["LateOpening"] * 2
    else:
        names += [] if draft.fails else ["LateOpening"]
        names += ["fails"] * 2 if draft.may_fail and not draft.opens_late else []
    name = choices.one_of(names)
    if name == "fails":
        draft.fails = True
        ordered = add_orders_text(draft, stream, "f'fail' if n > 45 else f''")
        name = "Contexts"
    else:
        ordered = add_ordering(draft, stream, ("side", ""))
    if name == "LateOpening" and can_be_keyed(draft)(ordered) and choices.often(40):
        block, width = keyed(draft, ordered, "k")
        is_spread = False
    else:
        block, width, is_spread = unkeyed(draft, ordered)
    result = replace(ordered, name=draft.next_name(), parallelism=width, is_spread=is_spread)
    if name != "LateOpening":
        block["process"] = python(name)
        _add_seen(draft, block, result)
        return True
    draft.opens_late = True
    block["map"] = python(name, fields=dict(ordered.fields))
    draft.add_operator(block, result)
    add_numbers(draft, result, {"id": "id", "k": "k", "n": "n"})
    return True
