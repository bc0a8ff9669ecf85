"""Draws what an operator reads: a stream or a union, its key, and how its records are distributed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.testing.drawing.choices import Choices
from flowsim.testing.drawing.draft import FIELDS, Block, Draft, Stream

KEYS: Final[tuple[str | list[str] | dict[str, str], ...]] = (
    "k", "k", "n % 3", "n > 20", "n / 2", ["k"], ["k", "n"], {"k": "k", "odd": "n % 2"}, "(k, n % 2)", "concat(k, 'x')",
)  # fmt: skip
"""Keys of every type that a key can have."""
_PARTITIONS: Final = ("rebalance", "rescale", "broadcast", "global", "shuffle")


def united(draft: Draft, fits: Callable[[Stream], bool] = lambda stream: True) -> Stream | None:
    """Returns a stream, or the union of several; its name is '' until ``inputs`` replaces it."""
    first = draft.pick(fits)
    if first is None or not draft.choices.often(20):
        return first
    others: list[Stream] = []
    for stream in draft.streams:
        is_equal = (
            list(stream.fields.items()) == list(first.fields.items()) and stream.has_timestamps == first.has_timestamps
        )
        together = [first, *others]
        if (
            is_equal
            and stream not in together
            and fits(stream)
            and all(draft.is_apart(stream, each) for each in together)
        ):
            others.append(stream)
    if not draft.is_determined and draft.choices.often(10):
        others = [first]
    if not others:
        return first
    chosen = [first, *others[: draft.choices.integer(1, 2)]]
    origins = frozenset(origin for stream in chosen for origin in stream.origins)
    names = ",".join(stream.name for stream in chosen)
    # A union has several widths: no exchange from it is forward.
    widths = {stream.parallelism for stream in chosen}
    return Stream(names, first.fields, widths.pop() if len(widths) == 1 else 0, origins, first.has_timestamps)


def inputs(draft: Draft, stream: Stream) -> str | list[str]:
    """Marks the streams of a union as read; returns their names."""
    names = stream.name.split(",")
    for name in names:
        draft.unread.pop(name, None)
    return names[0] if len(names) == 1 else names


def unkeyed(draft: Draft, stream: Stream) -> tuple[Block, int, bool]:
    """Draws an exchange without a key: its part of the block, the parallelism, and whether its results are spread."""
    choices = draft.choices
    block: Block = {"input": inputs(draft, stream)}
    if stream.is_spread and draft.is_determined:
        return block | {"parallelism": stream.parallelism}, stream.parallelism, True
    width = draft.width() if choices.often(70) or stream.parallelism == 0 else stream.parallelism
    options: list[str | None] = [None] * 3
    if width == stream.parallelism:
        options += ["forward"]
    options += partitions(draft)
    partition: object = choices.one_of(options)
    if choices.often(8):
        partition = {"key": "n"}
    if partition is not None:
        block["partition"] = partition
    block["parallelism"] = width
    is_spread = stream.is_spread or (partition == "broadcast" and width > 1)
    return block, width, is_spread


def partitions(draft: Draft) -> list[str]:
    """Returns the partitioners between any two widths; a shuffle is random in Flink."""
    return [how for how in _PARTITIONS if how != "shuffle" or not draft.is_determined]


def keyed(draft: Draft, stream: Stream, key: object) -> tuple[Block, int]:
    """Draws an exchange by a key: its part of the block, and the parallelism."""
    width = draft.width()
    block: Block = {"input": inputs(draft, stream), "parallelism": width, "key_by": key}
    if draft.choices.often(20):
        block["max_parallelism"] = draft.choices.one_of([128, 7, 4])
    return block, width


def can_be_keyed(draft: Draft) -> Callable[[Stream], bool]:
    """Returns a function of a stream: whether its records can be exchanged with others of their instant."""
    return lambda stream: not (draft.is_determined and stream.is_spread)


def key_fields(key: object) -> dict[str, str]:
    """Returns the fields of results that a key gives, with their types.

    >>> key_fields({"k": "k", "odd": "n % 2"})
    {'k': 'string', 'odd': 'long'}
    """
    if isinstance(key, list):
        return {name: FIELDS[name] for name in key}
    if isinstance(key, dict):
        return {name: FIELDS.get(name, "long") for name in key}
    return {"k": "string"} if key == "k" else {"key": f"the type of {key}"}


def some_key(choices: Choices) -> object:
    """Returns a key, mostly the field ``k``."""
    return choices.one_of(KEYS) if choices.often(50) else "k"
