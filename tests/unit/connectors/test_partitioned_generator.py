"""A generated log: append times, lag, offsets, backlog, and the same records at any parallelism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flowsim.connectors.generator import SequenceOf, UniformInt
from flowsim.connectors.partition_enumerator import BacklogRead
from flowsim.connectors.partition_log import AppendTimes
from flowsim.connectors.partitioned_generator import Burst, Partition, PartitionedGeneratorSource, Pause
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.units import NS_PER_MS
from tests.support.checkpoints.coordinated_source import CoordinatedSource


def append_ms(partition: Partition, count: int) -> list[float]:
    times = AppendTimes(partition)
    return [times.of(offset) / NS_PER_MS for offset in range(count)]


def test_records_before_start_have_rate_of_partition() -> None:
    assert append_ms(Partition(100, start_lag=3), 6) == [-30, -20, -10, 0, 10, 20]


def test_pause_appends_nothing_and_burst_appends_at_its_rate() -> None:
    partition = Partition(100, pauses=[Pause(25, 60)], bursts=[Burst(60, 64, 1_000)])
    assert append_ms(partition, 9) == [0, 10, 20, 60, 61, 62, 63, 64, 74]


def test_changes_from_start_on_leave_no_phase_before_them() -> None:
    assert append_ms(Partition(100, start_lag=1, pauses=[Pause(0, 5)]), 3) == [-10, 5, 15]
    assert append_ms(Partition(1_000, bursts=[Burst(0, 2, 2_000), Burst(2, 3, 500)]), 7) == [0, 0.5, 1, 1.5, 2, 3, 4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Partition(0), "expected a rate from 10"),
        (lambda: Partition(1, bursts=[Burst(0, 1, -1)]), "expected a rate from 10"),
        (lambda: Partition(1, start_lag=-1), "expected start_lag >= 0, got -1"),
        (lambda: Partition(1, start_lag=3, records=2), "expected records >= start_lag"),
        (lambda: Partition(1, pauses=[Pause(0, 5)], bursts=[Burst(4, 6, 1)]), "that do not overlap, got 4 to 6 ms"),
        (lambda: PartitionedGeneratorSource([], {"n": SequenceOf()}), "expected at least one partition"),
        (lambda: Partition(1, from_ms=-1), "expected from_ms >= 0"),
        (lambda: Partition(1, from_ms=1, start_lag=1), "and 0 with a start_lag, got 1 and 1 records"),
        (lambda: Partition(1, from_ms=5, to_ms=5), r"expected to_ms > from_ms \(5\) and no number of records"),
        (lambda: Partition(1, to_ms=5, records=1), "no number of records, which are never all read, got 5"),
        (lambda: Partition(1, from_ms=6, pauses=[Pause(5, 7)]), "with 6 <= from_ms < to_ms"),
        (lambda: source(Partition(1), discovery_interval_ms=-1), "expected discovery_interval_ms >= 0, got -1"),
        (lambda: source(Partition(1), timestamp_field="n"), "timestamp_field 'n' is another field's name"),
        (lambda: source(Partition(1), starting_offsets="newest"), "expected earliest, latest, or offsets >= 0"),
        (lambda: source(Partition(1), starting_offsets={0: -1}), "got -1 for partition 0"),
    ],
)
def test_impossible_partition_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()


def source(*partitions: Partition, **settings: Any) -> PartitionedGeneratorSource:
    return PartitionedGeneratorSource(partitions, {"n": SequenceOf()}, **settings)


def read(source: PartitionedGeneratorSource, parallelism: int = 1) -> list[object]:
    run = CoordinatedSource(source, parallelism)
    run.drain()
    return run.records


def test_timestamp_is_time_of_append_and_oldest_record_is_at_zero() -> None:
    made = source(Partition(100, start_lag=2, records=4), Partition(200, start_lag=1, records=2), timestamp_field="t")
    assert sorted(read(made)) == [(0, 0), (1, 15), (2, 10), (3, 20), (4, 20), (6, 30)]


def test_start_timestamp_sets_event_time_of_start() -> None:
    made = source(Partition(100, start_lag=1, records=2), timestamp_field="t", start_timestamp_ms=1_000)
    assert read(made) == [(0, 990), (1, 1_000)]


def test_out_of_order_records_keep_their_bound() -> None:
    made = source(Partition(1_000, start_lag=300, records=300, out_of_orderness_ms=20), timestamp_field="t")
    delays = [n - t for n, t in read(made)]
    assert (min(delays), max(delays)) == (0, 20)


@pytest.mark.parametrize(("offsets", "first"), [("earliest", 0), ("latest", 3), (2, 2), ({0: 1}, 1), ({1: 9}, 0)])
def test_reading_starts_at_starting_offset(offsets: Any, first: int) -> None:
    made = source(Partition(100, start_lag=3, records=5), starting_offsets=offsets)
    assert read(made) == [(n,) for n in range(first, 5)]


def test_records_do_not_depend_on_parallelism() -> None:
    partitions = [Partition(1_000, records=100, out_of_orderness_ms=9) for _ in range(3)]
    made = PartitionedGeneratorSource(partitions, {"n": UniformInt(0, 10**9)}, timestamp_field="t")
    assert sorted(read(made, 1)) == sorted(read(made, 2)) == sorted(read(made, 5))
    assert len(set(read(made, 1))) == 300


def test_reader_takes_backlog_of_partitions_in_turn() -> None:
    made = source(Partition(100, start_lag=5, records=5), Partition(100, start_lag=3, records=3), max_poll_records=2)
    assert [n % 2 for (n,) in read(made)] == [0, 0, 1, 1, 0, 0, 1, 0]


def test_record_is_read_when_it_is_appended_and_late_reader_catches_up() -> None:
    run = CoordinatedSource(source(Partition(100, start_lag=2, records=6)), 1)
    reader = run.subtasks[0]
    run.settle()
    assert reader.poll(100) is DataInputStatus.NOTHING_AVAILABLE
    assert len(reader.output.records) == 3
    assert reader.operator.wake_time_ns == 10 * NS_PER_MS
    run.clock.now_ns = 30 * NS_PER_MS
    assert reader.poll(100) is DataInputStatus.END_OF_DATA
    assert len(reader.output.records) == 6


def test_subtask_without_partition_waits_unless_all_partitions_end() -> None:
    endless = CoordinatedSource(source(Partition(100)), 2)
    endless.settle()
    assert endless.subtasks[1].poll(1) is DataInputStatus.NOTHING_AVAILABLE
    assert endless.subtasks[1].operator.wake_time_ns is None
    bounded = CoordinatedSource(source(Partition(100, records=1)), 2)
    bounded.settle()
    assert bounded.subtasks[1].poll(1) is DataInputStatus.END_OF_DATA


def assigned(run: CoordinatedSource, at_ms: int) -> int:
    """Returns how many partitions the readers have at a time."""
    run.advance_to(at_ms * NS_PER_MS)
    return sum(len(each.operator._reader.snapshot_state(1)) for each in run.subtasks)  # type: ignore[attr-defined]


def test_new_partition_is_discovered_at_the_interval_and_read_from_its_first_record() -> None:
    parts = (Partition(100, start_lag=2), Partition(100, from_ms=250), Partition(100, from_ms=300))
    run = CoordinatedSource(source(*parts, discovery_interval_ms=100, starting_offsets="latest"), 1)
    run.settle()
    assert [assigned(run, at_ms) for at_ms in (0, 250, 299, 300)] == [1, 1, 1, 3]
    run.subtasks[0].poll(1_000)
    assert sorted(n for (n,) in run.subtasks[0].output.records if n % 3) == sorted([*range(1, 19, 3), 2])
    assert run.later == []


@pytest.mark.parametrize(("interval_ms", "expected"), [(0, 1), (300_000, 1), (10, 2)])
def test_partition_is_not_discovered_before_the_interval(interval_ms: int, expected: int) -> None:
    run = CoordinatedSource(source(Partition(100), Partition(100, from_ms=5), discovery_interval_ms=interval_ms), 1)
    run.settle()
    assert assigned(run, 10) == expected


def test_readers_end_after_the_last_partition_that_is_created() -> None:
    bounded = source(Partition(100, records=1), Partition(100, records=1, from_ms=30), discovery_interval_ms=20)
    run = CoordinatedSource(bounded, 1)
    run.settle()
    assert run.subtasks[0].poll(9) is DataInputStatus.NOTHING_AVAILABLE
    run.advance_to(40 * NS_PER_MS)
    assert run.subtasks[0].poll(9) is DataInputStatus.END_OF_DATA
    assert run.records == [(0,), (1,)]


def test_deleted_partition_stays_without_its_unread_records() -> None:
    run = CoordinatedSource(source(Partition(100, to_ms=35)), 1)
    run.settle()
    reader = run.subtasks[0]
    reader.poll(1)
    run.advance_to(20 * NS_PER_MS)
    assert reader.poll(1) is DataInputStatus.MORE_AVAILABLE
    run.advance_to(35 * NS_PER_MS)
    assert reader.poll(9) is DataInputStatus.NOTHING_AVAILABLE
    assert (reader.output.records, reader.operator.wake_time_ns, reader.operator.has_read_all) == (
        [(0,), (1,)],
        None,
        True,
    )
    assert assigned(run, 400_000) == 1


def test_restored_enumerator_discovers_what_was_created_meanwhile_and_goes_on_in_time() -> None:
    parts = (Partition(100), Partition(100, from_ms=50), Partition(100, from_ms=90))
    run = CoordinatedSource(source(*parts), 1)
    run.advance_to(40 * NS_PER_MS)
    state = run.coordinator.enumerator.snapshot_state(1)
    restored = source(*parts, discovery_interval_ms=25).enumerator_factory.restore_enumerator(run.coordinator, state)
    restored.start()
    run.settle()
    # The interval begins with the restored run: at 40 ms of the log.
    assert [assigned(run, at_ms) for at_ms in (64, 65, 89, 90)] == [1, 2, 2, 3]


def test_new_run_discovers_by_the_time_of_the_log() -> None:
    """It starts from a savepoint of 40 ms, and its own clock at 0."""
    parts = (Partition(100), Partition(100, from_ms=90))
    run = CoordinatedSource(source(*parts), 1)
    run.advance_to(40 * NS_PER_MS)
    run.trigger()
    run.snapshot(0)
    restored = CoordinatedSource(source(*parts, discovery_interval_ms=25), 1, run.completed)
    restored.settle()
    assert [assigned(restored, at_ms) for at_ms in (49, 50)] == [1, 2]


def test_backlog_ends_when_all_records_of_start_are_read() -> None:
    """Rule 12.43."""
    run = CoordinatedSource(source(Partition(100, start_lag=2), Partition(100), Partition(100, start_lag=1)), 2)
    assert run.backlog == [True]
    run.settle()
    run.subtasks[0].poll(2)
    run.settle()
    assert run.backlog == [True]
    run.subtasks[0].poll(2)
    run.settle()
    assert run.backlog == [True, False]


def test_restored_reader_reports_backlog_that_was_read_before() -> None:
    run = CoordinatedSource(source(Partition(100, start_lag=1)), 1)
    run.settle()
    run.trigger()
    run.subtasks[0].poll(1)
    assert list(run.subtasks[0].to_coordinator) == [BacklogRead(0)]
    run.snapshot(0)
    run.fail_all()
    run.settle()
    run.subtasks[0].poll(1)
    run.settle()
    assert run.backlog == [True, True, False]


def test_log_continues_at_its_time_in_new_run() -> None:
    made = source(Partition(100, records=9))
    run = CoordinatedSource(made, 1)
    run.settle()
    run.clock.now_ns = 35 * NS_PER_MS
    run.subtasks[0].poll(100)
    run.trigger()
    run.snapshot(0)
    assert run.completed is not None
    later = CoordinatedSource(made, 1, run.completed)
    later.subtasks[0].poll(100)
    # Virtual time passed while the first run read four records.
    assert later.subtasks[0].operator.wake_time_ns == 5 * NS_PER_MS - 4_000
    later.drain()
    assert later.records == [(n,) for n in range(4, 9)]


def test_other_state_is_refused() -> None:
    with pytest.raises(BadInput, match="an offset of one of 1 partitions"):
        source(Partition(1)).create_reader().add_splits([(1, 0, None, None, 0)])
