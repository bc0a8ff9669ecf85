"""Draws operators with two inputs: ``connect``, joins in windows and in intervals, and broadcast state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from flowsim.testing.drawing.draft import FIELDS, Block, Draft, Stream, ms
from flowsim.testing.drawing.edges import can_be_keyed, partitions, unkeyed
from flowsim.testing.drawing.windows import window

_KEYS = (["k", "k"], ["k", "k"], ["n % 3", "n % 3"], ["n % 2 == 0", "n > 0"])


def pair_of(draft: Draft, fits: Callable[[Stream], bool]) -> tuple[Stream, Stream] | None:
    """Returns two streams that can meet; None if there are none."""
    first = draft.pick(fits)
    if first is None:
        return None
    second = draft.pick(lambda stream: fits(stream) and draft.is_apart(first, stream))
    return None if second is None else (first, second)


def _joined(draft: Draft, kind: str, block: Block, pair: tuple[Stream, Stream]) -> tuple[Block, int]:
    """Returns the block of an operator whose inputs have keys, and its parallelism."""
    width = draft.width()
    inner: Block = {"to": draft.read(pair[1]), "key_by": draft.choices.one_of(_KEYS), **block}
    return {"input": draft.read(pair[0]), "parallelism": width, kind: inner}, width


def result_of(draft: Draft, pair: tuple[Stream, Stream], fields: Mapping[str, str], width: int, **more: bool) -> Stream:
    """Returns the stream of an operator with two inputs."""
    has_timestamps = pair[0].has_timestamps and pair[1].has_timestamps
    stream = Stream(draft.next_name(), fields, width, pair[0].origins | pair[1].origins, has_timestamps)
    return replace(stream, **more)  # type: ignore[arg-type]  # flags of a stream


def add_connect(draft: Draft) -> bool:
    """Adds a map or flat_map of two streams, with or without keys; some read one input first."""
    choices = draft.choices
    pair = pair_of(draft, can_be_keyed(draft))
    if pair is None:
        return False
    kind = choices.one_of(["map", "flat_map"])
    if kind == "map":
        each: list[Block] = [
            {"select": {"id": "id", "k": "k", "n": "n"}},
            {"select": {"id": "id", "k": "k", "n": "0 - n"}},
        ]
    else:
        each = [{"each": each, "into": "n", "type": "long", "keep": ["id", "k"]} for each in ("(n, n + 1)", "(n,)")]
    if choices.often(60):
        block, width = _joined(draft, "connect", {kind: each}, pair)
        is_spread = False
    else:
        block, width, is_spread = unkeyed(draft, pair[0])
        second: Block = {"to": draft.read(pair[1])}
        if choices.often(40):
            second["partition"] = choices.one_of(partitions(draft))
        is_spread = is_spread or (second.get("partition") == "broadcast" and width > 1)
        block["connect"] = {**second, kind: each}
    is_apart = not pair[0].origins & pair[1].origins
    is_calm = draft.family in ("plain", "event_time") and all(each.parallelism == 1 for each in pair)
    if is_apart and is_calm and width == 1 and choices.often(75 if draft.is_determined else 80):
        inner = block["connect"]
        assert isinstance(inner, dict)
        inner["read"] = choices.one_of(["second", "first", "alternate"])
        draft.read_orders = True
    draft.add_operator(block, result_of(draft, pair, dict(FIELDS), width, is_spread=is_spread))
    return True


def add_broadcast(draft: Draft) -> bool:
    """Adds an operator that looks records up in broadcast state."""
    choices = draft.choices
    pair = pair_of(draft, can_be_keyed(draft))
    if pair is None:
        return False
    block, width, is_spread = unkeyed(draft, pair[0])
    name = f"found{len(draft.operators)}"
    inner: Block = {"to": draft.read(pair[1]), "put": choices.one_of(["k", "n % 3"]), "get": "k"}
    inner["add"] = {name: "left.n + right.n"}
    if inner["put"] != "k":
        inner["get"] = "n % 3"
    if choices.often(60):
        inner["missing"] = {name: "left.n"}
    block["broadcast"] = inner
    fields = {**pair[0].fields, name: "long"}
    stream = result_of(draft, pair, fields, width, is_spread=is_spread, has_timestamps=pair[0].has_timestamps)
    draft.add_operator(block, stream)
    return True


def add_interval_join(draft: Draft) -> bool:
    """Adds an interval join."""
    choices = draft.choices
    fits = can_be_keyed(draft)
    pair = pair_of(draft, lambda stream: fits(stream) and stream.has_timestamps)
    if pair is None:
        return False
    lower_ms = choices.one_of([-5, -2, 0, 1])
    upper_ms = lower_ms + choices.one_of([6, 0, 3, 15])
    join: Block = {"lower": ms(lower_ms), "upper": ms(upper_ms)}
    if upper_ms - lower_ms > 2:
        join |= {name: True for name in ("lower_exclusive", "upper_exclusive") if choices.often(30)}
    join["select"] = {"id": "left.id", "k": "left.k", "n": "left.n + right.n", "other": "right.id"}
    sides = [side for side in ("late_left", "late_right") if choices.often(30)]
    join |= {side: side for side in sides}
    block, width = _joined(draft, "interval_join", join, pair)
    result = result_of(draft, pair, {**FIELDS, "other": "long"}, width)
    late = [
        replace(result_of(draft, pair, dict(stream.fields), width), name=f"{result.name}.{side}")
        for side, stream in zip(("late_left", "late_right"), pair, strict=True)
        if side in sides
    ]
    draft.add_operator(block, result, *late)
    return True


def add_window_join(draft: Draft) -> bool:
    """Adds a join or coGroup in windows."""
    choices = draft.choices
    fits = can_be_keyed(draft)
    pair = pair_of(draft, lambda stream: fits(stream) and stream.has_timestamps)
    if pair is None:
        return False
    cut, ends = window(draft, has_timestamps=True, of_pairs=True)
    is_pairs = choices.often(50)
    if is_pairs:
        select: Block = {"id": "left.id", "k": "left.k", "n": "left.n + right.n", "other": "right.id"}
        block, width = _joined(draft, "join", {"window": cut, "select": select}, pair)
        fields = {**FIELDS, "other": "long"}
    else:
        left: Block = {"k": "first(k)", "n": "sum(n)", "lefts": "count()"}
        right: Block = {"id": "max(id)", "rights": "count()"}
        block, width = _joined(draft, "co_group", {"window": cut, "left": left, "right": right}, pair)
        fields = {"key": "that of both", "k": "string", "n": "long", "lefts": "long", "id": "long", "rights": "long"}
    result = result_of(draft, pair, fields, width, is_spread=width > 1, has_timestamps=ends == "event")
    # A side without records has null aggregates.
    add = draft.add_operator if is_pairs else draft.add_filled
    add(block, result)
    return True
