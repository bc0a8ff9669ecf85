"""Random data, settings and schedules: every law holds for everything that is recorded at level full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.faults.catalogue import FaultKind
from flowsim.graph.stream_graph import StreamGraph
from flowsim.testing import (
    Schedule,
    assert_laws,
    job_settings,
    schedules,
    scripted_sources,
)
from tests.support.facts.checkpoint_laws import OF_CHECKPOINTS
from tests.support.faults import FAULT_KINDS, Fault
from tests.support.jobs.fault_matrix import fault_job
from tests.support.jobs.fixed_jobs import (
    asks_twice,
    becomes_idle,
    exchange,
    interval_join,
    sessions_and_counts,
    two_exchanges,
    window_join,
    windows,
    word_count,
)
from tests.support.jobs.idle_channels import idle_channels
from tests.support.jobs.restarted_job import skewed_job

pytestmark = pytest.mark.property

ALWAYS = ("channel-fifo", "channel-end", "conservation", "credits", "actions")
"""Laws that every job with an exchange gives something to examine, even without records: its end is enough."""

SCRIPTS = scripted_sources(min_entries=3, max_entries=14)
LINES = st.lists(st.lists(st.sampled_from(["to", "be", "or", "not"]), max_size=4).map(" ".join), max_size=6)


@given(lines=LINES, settings=job_settings(), schedule=schedules())
def test_word_count_satisfies_laws(lines: list[str], settings: dict[str, int], schedule: Schedule) -> None:
    routed = ("key-routing",) if any(lines) else ()
    assert_laws(word_count(lines, settings), schedule=schedule, must_examine=(*ALWAYS, *routed))


@given(
    source=scripted_sources(), lateness_ms=st.sampled_from([0, 5, 25]), settings=job_settings(), schedule=schedules()
)
def test_windows_satisfy_laws(
    source: ScriptedSource, lateness_ms: int, settings: dict[str, int], schedule: Schedule
) -> None:
    run = assert_laws(windows(source, lateness_ms, settings), schedule=schedule, must_examine=ALWAYS)
    taken = bool(run.facts.rows("window_intake"))
    assert_laws(run, must_examine=("late-rows", "key-routing") if taken else ())


@pytest.mark.parametrize("how", ["hash", "rebalance", "broadcast"])
@given(source=SCRIPTS, settings=job_settings(), schedule=schedules())
def test_exchange_satisfies_laws(
    how: str, source: ScriptedSource, settings: dict[str, int], schedule: Schedule
) -> None:
    assert_laws(exchange(source, how, settings), schedule=schedule, must_examine=ALWAYS)


@given(source=SCRIPTS, settings=job_settings(), schedule=schedules())
def test_two_exchanges_satisfy_laws(source: ScriptedSource, settings: dict[str, int], schedule: Schedule) -> None:
    assert_laws(two_exchanges(source, settings), schedule=schedule, must_examine=ALWAYS)


@given(
    sources=st.tuples(scripted_sources(), scripted_sources()),
    lower_ms=st.sampled_from([-9, -3, 0, 2]),
    length_ms=st.sampled_from([0, 1, 6]),
    settings=job_settings(),
    schedule=schedules(),
)
def test_interval_joins_satisfy_laws(
    sources: tuple[ScriptedSource, ScriptedSource],
    lower_ms: int,
    length_ms: int,
    settings: dict[str, int],
    schedule: Schedule,
) -> None:
    assert_laws(interval_join(sources, (lower_ms, lower_ms + length_ms), settings), schedule=schedule)


BUSY = ScriptedSource(
    [
        record(("a", 1), 3),
        record(("b", 2), 12),
        watermark(12),
        record(("a", 3), 4),
        record(("b", 4), 14),
        watermark(25),
    ],
    [record(("b", 5), 2), watermark(11), record(("a", 6), 13), record(("b", 7), 15), watermark(26)],
)
"""On-time and late rows at both subtasks, so that every fault finds something to break."""

SLOW = ScriptedSource(
    [entry for n in range(3) for entry in (record(("a" * 99, n), n), record(("a", n), n), sleep(500))]
)
"""More than a buffer at a time, and pauses in which the rest of it is flushed."""

NEEDS_CHECKPOINTS = ("resume_not_woken",)
NEEDS_OTHER_OPERATORS = (
    "processing_time_timer_lost",
    "state_removal_ignored",
    "state_value_not_read",
    "state_never_expires",
    "forward_over_several_channels",
    "idle_under_back_pressure",
    "idle_clock_stuck",
    "periodic_emit_skipped",
    "idle_splits_not_flushed",
    "idle_split_holds_back",
    "idleness_never_declared",
)
NEEDS_PAUSES = ("backlog_before_flush", "notification_late")
NEEDS_A_STRATEGY = ("watermark_too_high", "idle_but_speaking", "never_active_again")
NEEDS_OTHER_WINDOWS = ("session_loses_rows", "purge_forgotten", "timer_under_wrong_key", "cleanup_left_at_merge")

BROKEN = [kind for kind in FAULT_KINDS.values() if kind.law is not None and kind.law not in OF_CHECKPOINTS]


@pytest.mark.parametrize("kind", BROKEN, ids=[kind.name for kind in BROKEN])
def test_fault_makes_the_law_properties_fail(kind: FaultKind) -> None:
    """The same job and the same judge: with a machine broken, the law that must notice does."""

    def job() -> StreamExecutionEnvironment | StreamGraph:
        if kind.name in NEEDS_CHECKPOINTS:
            return skewed_job()
        if kind.name in NEEDS_OTHER_OPERATORS:
            return fault_job()
        if kind.name == "idle_valve_not_flushed":
            return idle_channels()
        if kind.name in NEEDS_A_STRATEGY:
            return becomes_idle({"parallelism": 2})
        if kind.name.startswith("async_"):
            return asks_twice({})
        if kind.name in NEEDS_PAUSES:
            return exchange(SLOW, "hash", {"segment_size_bytes": 64})
        if kind.law == "distribution":
            return exchange(BUSY, "rebalance", {"parallelism": 2})
        if kind.law == "joins":
            return interval_join((BUSY, BUSY), (-1, 0), {"parallelism": 2})
        if kind.law == "window-joins":
            return window_join((BUSY, BUSY), {"parallelism": 2})
        if kind.name in NEEDS_OTHER_WINDOWS:
            return sessions_and_counts({})
        return windows(BUSY, 3 if kind.law == "cleanup" else 0, {"parallelism": 2})

    run = assert_laws(job(), must_examine=ALWAYS)
    with pytest.raises(AssertionError, match=f"law violated: {kind.law}"):
        assert_laws(job(), schedule=run.schedule, faults=[Fault(kind.name)])
