"""Hypothesis strategies for the parts of random jobs: one for each feature, and ``job_parts``, which draws some of them.

Examples shrink to few records, no failure, and Flink's settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from flowsim.connectors.script import (
    Entry,
    IdleEntry,
    RecordEntry,
    ScriptedSource,
    WatermarkEntry,
    end,
    record,
    sleep,
)
from flowsim.errors import MissingExtra
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.testing.alignment_parts import aligned_sources
from flowsim.testing.async_calls import Answer, AsyncStep
from flowsim.testing.parts import (
    AsyncPart,
    JobPart,
    PendingTimers,
    Recovery,
    SlowReader,
    SplitsWithIdleness,
    TwoInputs,
)
from flowsim.testing.strategies import keys, scripted_sources

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError as missing:
    raise MissingExtra("testing", "flowsim.testing.part_strategies") from missing

Scripts = tuple[tuple[Entry, ...], ...]
"""A script for each subtask of a source."""

_READINGS: Final = st.tuples(keys(3), st.integers(0, 20))
_NUMBERS: Final = st.lists(st.integers(0, 99), max_size=8).map(tuple)
_GAPS_MS: Final = st.sampled_from([1, 5, 20])
_SHORT_INTERVAL_MS: Final = 10
"""The shortest interval of checkpoints that Flink allows."""


def _scripts(*, min_subtasks: int = 1, max_entries: int = 8) -> SearchStrategy[Scripts]:
    sources = scripted_sources(_READINGS, min_subtasks=min_subtasks, max_entries=max_entries, max_sleep_ms=120)
    return sources.map(_awake_at_end)


def _awake_at_end(source: ScriptedSource) -> Scripts:
    """Removes idleness from the end of a script: a subtask that ends while it is idle sends no last watermark."""
    return tuple(tuple(_awake(script)) for script in source.scripts)


def _awake(script: Sequence[Entry]) -> list[Entry]:
    kept = list(script)
    last = max((at for at, each in enumerate(kept) if isinstance(each, RecordEntry | WatermarkEntry)), default=-1)
    return [each for at, each in enumerate(kept) if at < last or not isinstance(each, IdleEntry)]


def recoveries(
    checkpoints: SearchStrategy[CheckpointSettings] | None = None, *, min_record: int = 0, max_record: int = 6
) -> SearchStrategy[Recovery]:
    """Draws checkpoints with or without a failure at one of the first records; aligned checkpoints by default."""
    aligned = st.just(CheckpointSettings(_SHORT_INTERVAL_MS))
    at_record = st.integers(min_record, max_record)
    failures = st.one_of(st.none(), at_record, at_record)
    return st.builds(Recovery, aligned if checkpoints is None else checkpoints, failures, st.sampled_from([0, 7]))


def _unaligned() -> SearchStrategy[CheckpointSettings]:
    return st.builds(
        lambda timeout_ms: CheckpointSettings(_SHORT_INTERVAL_MS, unaligned=True, aligned_timeout_ms=timeout_ms),
        st.sampled_from([1, 3, 0, 8]),
    )


# Async operators.


def _calls(*outcomes: str, capacity: SearchStrategy[int] | None = None) -> SearchStrategy[AsyncStep]:
    answer = st.builds(Answer, st.sampled_from([0, 500, 1_900, 2_000, 2_100, 3_900]), st.sampled_from(outcomes))
    return st.builds(
        lambda mode, capacity, answers, salt, replaces: AsyncStep(mode, capacity, tuple(answers), salt, 41, replaces),
        st.sampled_from(["ordered", "unordered"]),
        st.sampled_from([10, 3, 2, 1]) if capacity is None else capacity,
        st.lists(answer, min_size=1, max_size=4),
        st.integers(0, 6),
        st.booleans().map(lambda gives_nothing: not gives_nothing),
    )


def answers_near_timeouts() -> SearchStrategy[AsyncPart]:
    """Draws async operators with answers that arrive up to 2 ms before or after their timeouts."""
    return st.builds(AsyncPart, _scripts(), _calls("near", "near", "one"))


def reused_records() -> SearchStrategy[AsyncPart]:
    """Draws async operators with object reuse, behind an operator that emits the same mutable record each time."""
    return st.builds(AsyncPart, _scripts(), _calls("near", "one", "two"), st.just(True))


def restored_calls() -> SearchStrategy[AsyncPart]:
    """Draws async operators with elements in the queue at checkpoints, from which some are restored."""
    calls = _calls("near", "near", "one", capacity=st.sampled_from([10, 3, 2, 1]))
    checkpoints = st.one_of(st.just(CheckpointSettings(_SHORT_INTERVAL_MS)), _unaligned())
    return st.builds(AsyncPart, _paced_scripts(), calls, st.just(False), recoveries(checkpoints))


def chained_calls() -> SearchStrategy[AsyncPart]:
    """Draws two async operators in one chain; the second one takes few elements, so that the first one often waits."""
    first, second = _calls("one", "two"), _calls("one", capacity=st.sampled_from([1, 2]))
    return st.builds(AsyncPart, _paced_scripts(), first, st.just(False), st.none(), second)


def _paced_scripts() -> SearchStrategy[Scripts]:
    script = st.lists(st.tuples(_READINGS, _GAPS_MS), min_size=3, max_size=8).map(_paced)
    return st.lists(script, min_size=1, max_size=2).map(tuple)


def _paced(readings: Sequence[tuple[tuple[str, int], int]]) -> tuple[Entry, ...]:
    return tuple(entry for reading, gap_ms in readings for entry in (record(reading), sleep(gap_ms)))


# Exchanges.


def forced_alignments() -> SearchStrategy[SlowReader]:
    """Draws exchanges that align unaligned checkpoints with an aligned timeout, before a slow operator."""
    return st.builds(
        SlowReader,
        _numbers_of_subtasks(2, 8),
        _GAPS_MS,
        st.sampled_from(["broadcast", "forward", "rescale"]),
        st.sampled_from([3_000, 500, 6_000]),
        recoveries(_unaligned(), max_record=16),
    )


def overtaking_barriers() -> SearchStrategy[SlowReader]:
    """Draws exchanges with data that barriers overtake, before a slow operator, which is restored with that data."""
    # So many records that a checkpoint is completed before one of them fails, while others wait.
    return st.builds(
        SlowReader,
        _numbers_of_subtasks(4, 10),
        st.sampled_from([1, 5]),
        st.sampled_from(["rebalance", "shuffle", "global"]),
        st.sampled_from([3_000, 6_000]),
        recoveries(_unaligned(), min_record=3, max_record=8),
        st.booleans(),
    )


def _numbers_of_subtasks(least: int, most: int) -> SearchStrategy[tuple[tuple[int, ...], ...]]:
    numbers = st.lists(st.integers(0, 99), min_size=least, max_size=most).map(tuple)
    return st.lists(numbers, min_size=2, max_size=3).map(tuple)


# Timers.


def pending_timers() -> SearchStrategy[PendingTimers]:
    """Draws operators with many processing-time timers at checkpoints, from which some are restored."""
    waits = st.tuples(keys(5), st.integers(1, 60))
    readings = st.lists(waits, min_size=6, max_size=14).map(tuple)
    scripts = st.lists(readings, min_size=1, max_size=2).map(tuple)
    return st.builds(PendingTimers, scripts, st.sampled_from([2, 1, 6]), recoveries(max_record=9))


# Event time.


def splits_with_idleness() -> SearchStrategy[SplitsWithIdleness]:
    """Draws sources with splits, and idleness or watermark alignment, before a slow operator."""
    step = st.tuples(st.sampled_from(["p0", "p1"]), _READINGS, st.sampled_from([5, 25, 1, 90]))
    script = st.builds(_of_splits, st.sampled_from([1, 5, 40]), st.lists(step, min_size=2, max_size=10))
    # Rule 8.24: a split that is paused just before it becomes idle waits for ever.
    limits = st.sampled_from([(40, None), (15, None), (None, 30), (None, 5)])
    return st.builds(
        lambda scripts, limits, cost_us, is_narrow: SplitsWithIdleness(
            tuple(scripts), limits[0], limits[1], cost_us, is_narrow
        ),
        st.lists(script, min_size=1, max_size=2),
        limits,
        st.sampled_from([0, 2_000, 15_000]),
        st.booleans(),
    )


def _of_splits(pace_ms: int, steps: Sequence[tuple[str, tuple[str, int], int]]) -> tuple[Entry, ...]:
    """Returns a script whose records are ``pace_ms`` of event time apart, with a pause after each."""
    records = (record(value, number * pace_ms, split=split) for number, (split, value, _) in enumerate(steps))
    return tuple(
        entry for each, (_, _, pause_ms) in zip(records, steps, strict=True) for entry in (each, sleep(pause_ms))
    )


def ended_splits() -> SearchStrategy[SplitsWithIdleness]:
    """Draws sources whose splits end before their subtasks, which then have fewer splits, or none."""
    step = st.tuples(st.sampled_from(["p0", "p1"]), _READINGS, st.sampled_from([5, 25, 1]))
    script = st.builds(_with_ends, st.lists(step, min_size=1, max_size=6), st.sampled_from([90, 25]))
    return st.builds(
        SplitsWithIdleness,
        st.lists(script, min_size=1, max_size=2).map(tuple),
        st.sampled_from([None, 40]),
        st.none(),
        st.sampled_from([0, 2_000]),
    )


def _with_ends(steps: Sequence[tuple[str, tuple[str, int], int]], pause_ms: int) -> tuple[Entry, ...]:
    """Returns a script that ends each split some ms after its last record, and the subtask after all of them."""
    entries = list(_of_splits(5, steps))
    for split in dict.fromkeys(split for split, _, _ in steps):
        entries += [end(split=split), sleep(pause_ms)]
    return tuple(entries)


def two_inputs() -> SearchStrategy[TwoInputs]:
    """Draws keyed operators with two inputs that become idle at different times."""
    return st.builds(TwoInputs, _scripts(), _scripts())


# All of them.


@cache  # a strategy is checked again whenever it is constructed: 25 ms for each job
def job_parts(max_parts: int = 2) -> SearchStrategy[tuple[JobPart, ...]]:
    """Draws parts of a job, each with one of the features above; often none."""
    part = st.one_of(
        two_inputs(),
        answers_near_timeouts(),
        reused_records(),
        splits_with_idleness(),
        ended_splits(),
        aligned_sources(),
        forced_alignments(),
        overtaking_barriers(),
        pending_timers(),
        restored_calls(),
        chained_calls(),
    )
    return st.lists(part, max_size=max_parts).map(tuple)
