"""Hypothesis strategies for job properties: data, sources, settings, schedules (whole jobs: ``scenario_strategies``).

Examples are small by default and shrink to fewer records, smaller numbers and the FIFO schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.connectors.script import Entry, ScriptedSource, idle, record, sleep, watermark
from flowsim.errors import BadInput, MissingExtra
from flowsim.testing.schedule import DEFAULT_BUDGET_RECORDS, Schedule
from flowsim.values.closed_set import INT_MAX, INT_MIN
from flowsim.values.row import Row

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError as missing:
    raise MissingExtra("testing", "flowsim.testing.strategies") from missing

Event = tuple[str, int, int]
"""A tuple of key, number and event time in ms."""

_TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


# Record values.


def scalars(*, allow_nan: bool = False) -> SearchStrategy[object]:
    """Draws None, bool, int64, float64, str or bytes."""
    integers = st.integers(INT_MIN, INT_MAX)
    return st.none() | st.booleans() | integers | st.floats(allow_nan=allow_nan) | _TEXT | st.binary(max_size=6)


def values(*, allow_nan: bool = False, max_leaves: int = 8) -> SearchStrategy[object]:
    """Draws any record value: scalars, and tuples, lists, dicts and Rows of scalars."""
    one = scalars(allow_nan=allow_nan)

    def containers(inner: SearchStrategy[object]) -> SearchStrategy[object]:
        lists = st.lists(inner, max_size=3)
        rows = st.dictionaries(_TEXT, inner, max_size=3).map(lambda fields: Row.of(list(fields.values()), list(fields)))
        dicts = st.dictionaries(_TEXT | st.integers(INT_MIN, INT_MAX), inner, max_size=3)
        return lists | lists.map(tuple) | rows | dicts

    return st.recursive(one, containers, max_leaves=max_leaves)


def flat_records(
    *fields: SearchStrategy[object], **named: SearchStrategy[object]
) -> SearchStrategy[tuple[object, ...] | Row]:
    """Draws records without nesting: a tuple of ``fields``, or a Row of ``named`` fields.

    The default is one to four scalars.
    """
    if fields and named:
        raise BadInput("flat_records: expected fields (for tuples) or named fields (for Rows), got both")
    if named:
        return st.fixed_dictionaries(named).map(lambda drawn: Row.of(list(drawn.values()), list(drawn)))
    if fields:
        return st.tuples(*fields)
    return st.lists(scalars(), min_size=1, max_size=4).map(tuple)


def keys(count: int = 4) -> SearchStrategy[str]:
    """Draws one of ``count`` letters (at most 26), few so that keys repeat."""
    if not 1 <= count <= 26:
        raise BadInput(f"keys: expected a count from 1 to 26, got {count}")
    return st.sampled_from("abcdefghijklmnopqrstuvwxyz"[:count])


def timestamps(max_ms: int = 100, *, min_ms: int = 0) -> SearchStrategy[int]:
    """Draws event times in ms."""
    return st.integers(min_ms, max_ms)


# Streams.


def event_streams(
    *,
    keys: Sequence[str] | SearchStrategy[str] = ("a", "b", "c"),
    numbers: SearchStrategy[int] | None = None,
    max_records: int = 12,
    max_out_of_orderness_ms: int = 10,
    max_gap_ms: int = 10,
) -> SearchStrategy[list[Event]]:
    """Draws lists of ``(key, number, event time in ms)``, for example for ``from_collection``.

    No event is older than the newest event before it by more than ``max_out_of_orderness_ms``, so none is late under
    that bound or a larger one. ``max_gap_ms``: the largest step of event time.
    """
    key = keys if isinstance(keys, SearchStrategy) else st.sampled_from(keys)
    number = st.integers(0, 9) if numbers is None else numbers
    step = st.tuples(key, number, st.integers(0, max_gap_ms), st.integers(0, max_out_of_orderness_ms))
    return st.lists(step, max_size=max_records).map(_events)


def _events(steps: list[tuple[str, int, int, int]]) -> list[Event]:
    newest_ms, events = 0, []
    for key, number, gap_ms, behind_ms in steps:
        newest_ms += gap_ms
        events.append((key, number, newest_ms - behind_ms))
    return events


_KINDS: Final = (*["record"] * 6, *["watermark"] * 3, "sleep", "idle")
"""The kinds of script entries, mostly records and watermarks; examples shrink to records only."""

_Step = tuple[str, object, int]
"""A tuple: kind, value of a record, and ms: of a record after the newest one, of a watermark behind it, of a pause."""


def scripted_sources(
    values: SearchStrategy[object] | None = None,
    *,
    min_subtasks: int = 1,
    max_subtasks: int = 3,
    min_entries: int = 0,
    max_entries: int = 12,
    max_out_of_orderness_ms: int = 20,
    max_sleep_ms: int = 250,
) -> SearchStrategy[ScriptedSource]:
    """Draws sources with a script for each subtask: records, rising watermarks, idleness, pauses.

    ``values``: the records, ``(key, number)`` by default. Records may be late. ``min_entries`` makes scripts, and so
    counterexamples, longer.
    """
    value = st.tuples(keys(3), st.integers(0, 9)) if values is None else values
    after = st.integers(-max_out_of_orderness_ms, 15)
    # Half the distance of records, so that some records are late.
    behind = st.integers(0, max_out_of_orderness_ms // 2)
    pause = st.integers(1, max_sleep_ms)

    # An entry draws only what it has: Hypothesis removes an entry at once if it consists of few draws.
    @st.composite
    def steps(draw: st.DrawFn) -> _Step:
        match kind := draw(st.sampled_from(_KINDS)):
            case "record":
                return kind, draw(value), draw(after)
            case "watermark":
                return kind, None, draw(behind)
            case "sleep":
                return kind, None, draw(pause)
            case _:
                return kind, None, 0

    script = st.lists(steps(), min_size=min_entries, max_size=max_entries).map(_script)
    return st.lists(script, min_size=min_subtasks, max_size=max_subtasks).map(lambda scripts: ScriptedSource(*scripts))


def _script(steps: list[_Step]) -> list[Entry]:
    newest_ms, watermark_ms = 0, INT_MIN
    entries: list[Entry] = []
    for kind, value, millis in steps:
        match kind:
            case "record":
                entries.append(record(value, newest_ms + millis))
                newest_ms = max(newest_ms, newest_ms + millis)
            case "watermark":
                if newest_ms - millis > watermark_ms:
                    watermark_ms = newest_ms - millis
                    entries.append(watermark(watermark_ms))
            case "sleep":
                entries.append(sleep(millis))
            case _:
                entries.append(idle())
    return entries


# Schedules and settings.


def seeds(max_seed: int = 9_999) -> SearchStrategy[int]:
    """Draws seeds of a run."""
    return st.integers(0, max_seed)


def policies() -> SearchStrategy[str]:
    """Draws a policy: ``fifo`` first, then ``random`` where it is allowed."""
    return st.sampled_from(["fifo", "random"])


def schedules(*, max_seed: int = 9_999) -> SearchStrategy[Schedule]:
    """Draws a policy, a seed, and a batch size from large to a single element."""
    budgets = st.sampled_from([DEFAULT_BUDGET_RECORDS, 16, 4, 2, 1])
    return st.builds(Schedule, st.sampled_from(["fifo", "random"]), seeds(max_seed), budgets)


_NARROW: Final[dict[str, SearchStrategy[int]]] = {
    "segment_size_bytes": st.sampled_from([32768, 256, 64, 16]),
    "exclusive_buffers_per_channel": st.sampled_from([2, 1, 0]),
    "floating_buffers_per_gate": st.sampled_from([8, 2, 1]),
    "overdraft_buffers": st.sampled_from([20, 5, 0]),
    "buffer_timeout_ms": st.sampled_from([100, 10, 1, 0, -1]),
}
"""Network settings: Flink's defaults first, then ever smaller buffers and fewer credits."""


def job_settings(*, max_parallelism: int = 3) -> SearchStrategy[dict[str, int]]:
    """Draws settings for ``env.configure(**settings)``, before the first stream; Flink's defaults first.

    Segments so small that a record spans several, credits so few that senders wait, buffers sent at once or only when
    full.
    """
    return st.fixed_dictionaries(
        {
            "parallelism": st.integers(1, max_parallelism),
            **_NARROW,
        }
    )


def network_settings() -> SearchStrategy[dict[str, object]]:
    """Draws network settings for ``env.configure(**settings)``; Flink's defaults first, then ever smaller settings."""
    return st.fixed_dictionaries(
        {
            **_NARROW,
            "max_buffers_per_channel": st.sampled_from([10, 3, 2]),
            "task_managers": st.sampled_from(["each", "one"]),
            "exchange": st.sampled_from(["pipelined_bounded", "pipelined"]),
            "operator_chaining": st.booleans().map(lambda off: not off),
        }
    )
