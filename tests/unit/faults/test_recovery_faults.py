"""Every fault of checkpoints violates its law in a job that fails and is restored."""

from __future__ import annotations

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.facts.checkpoint_laws import OF_CHECKPOINTS
from tests.support.faults import FAULT_KINDS, Fault
from tests.support.jobs.continued_job import run_job, take_savepoint
from tests.support.jobs.restarted_job import (
    RECORDS,
    run_restarted,
    run_skewed,
    run_with_alarms,
    run_with_transactions,
)
from tests.support.jobs.unaligned_job import run_unaligned, run_with_obsolete_barrier

SOURCE, MIDDLE, LAST = "Source: Collection Source", "Timestamps/Watermarks", "counts"
COMMITTER = "Sink: Unnamed: Committer"

CASES = [
    (Fault("barrier_repeated", operator=MIDDLE), {"checkpoint-barriers"}),
    # The sink commits when it is notified.
    (Fault("notified_before_completion", operator=LAST), {"checkpoint-notifications", "committed-once"}),
    # Timers are state.
    (Fault("state_lost_at_restore", operator=LAST), {"restored-state", "restored-timers"}),
    (Fault("key_groups_lost_at_restore", operator=LAST), {"restored-state"}),
    # The position is state, so the source sends its first records again.
    (Fault("operator_state_lost_at_restore", operator=SOURCE), {"restored-state", "exactly-once"}),
    (Fault("timer_lost_at_restore", operator=LAST), {"restored-state", "restored-timers"}),
    # The position is state.
    (Fault("source_skips_at_restore", operator=SOURCE), {"exactly-once", "restored-state"}),
    (Fault("acknowledged_twice", operator=MIDDLE), {"checkpoint-answers"}),
    # The stored state is not complete: the timers of the others do not fire, and what they prepared is not committed.
    (Fault("completed_too_early"), {"checkpoint-progress", "committed-once", "restored-timers"}),
    (Fault("committed_too_early", operator=COMMITTER), {"committed-once"}),
    # A record that is lost before a snapshot is missing in the cut; the restored checkpoint is one of those.
    (Fault("drop_element", operator=LAST, at=1), {"channel-fifo", "checkpoint-cut", "exactly-once"}),
]


CUT, RESTORED = "in-flight-cut", "in-flight-restored"
OF_IN_FLIGHT_DATA = [
    (Fault("channel_not_stored", operator="counts"), {CUT}),
    (Fault("channel_stored_twice", operator="counts"), {CUT}),
    # The next checkpoint is compared with what the channel should have restored.
    (Fault("restored_into_another_channel", operator="last"), {CUT, RESTORED}),
    (Fault("new_data_before_restored", operator="counts"), {CUT, RESTORED}),
]
OF_TRANSACTIONS = sorted(kind.name for kind in FAULT_KINDS.values() if kind.name.startswith("transaction_"))
OTHER_CASES = {
    "timers_not_armed_at_restore",
    *OF_TRANSACTIONS,
    "committables_lost_at_restore",
    "channels_not_blocked",
    "snapshot_at_first_barrier",
    "obsolete_barrier_accepted",
    *(fault.fault for fault, _ in OF_IN_FLIGHT_DATA),
}


def test_every_fault_of_checkpoints_is_in_a_case() -> None:
    of_checkpoints = {kind.name for kind in FAULT_KINDS.values() if kind.law in OF_CHECKPOINTS}
    assert of_checkpoints == {fault.fault for fault, _ in CASES} - {"drop_element"} | OTHER_CASES


def test_every_law_of_checkpoints_has_a_fault() -> None:
    assert {kind.law for kind in FAULT_KINDS.values()} >= OF_CHECKPOINTS


def violations(recorder: MemoryRecorder) -> dict[str, int]:
    return {o.law: o.violations for o in check_all(recorder) if o.violations}


def test_missing_elements_violate_first_cut_after_them_and_not_later_ones() -> None:
    """Two attempts, and two receivers with two channels each."""
    recorder = MemoryRecorder(Level.FULL)
    run_restarted(recorder, faults=[Fault("drop_element", operator=LAST, at=1)])
    found = violations(recorder)
    assert (found["channel-fifo"], found["checkpoint-cut"]) == (8, 8)


def test_data_restored_into_another_channel_violates_first_cut_of_each_channel() -> None:
    recorder = MemoryRecorder(Level.FULL)
    run_unaligned(recorder, 60, interval_ms=12, faults=[Fault("restored_into_another_channel", operator="last")])
    assert violations(recorder) == {CUT: 2, RESTORED: 2}


def violated(recorder: MemoryRecorder) -> set[str]:
    return {o.law for o in check_all(recorder) if o.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize(("fault", "laws"), CASES, ids=[fault.fault for fault, _ in CASES])
def test_fault_breaks_exactly_the_laws_of_its_case(fault: Fault, laws: set[str]) -> None:
    recorder = MemoryRecorder(Level.FULL)
    result, _ = run_restarted(recorder, faults=[fault])
    assert result.status is JobStatus.FINISHED
    assert violated(recorder) == laws
    assert FAULT_KINDS[fault.fault].law in laws


@pytest.mark.parametrize(("fault", "laws"), OF_IN_FLIGHT_DATA, ids=[fault.fault for fault, _ in OF_IN_FLIGHT_DATA])
def test_fault_of_in_flight_data_breaks_exactly_the_laws_of_its_case(fault: Fault, laws: set[str]) -> None:
    recorder = MemoryRecorder(Level.FULL)
    result, _ = run_unaligned(recorder, 60, interval_ms=12, faults=[fault])
    assert result.status is JobStatus.FINISHED
    assert violated(recorder) == laws


@pytest.mark.parametrize(("faults", "laws"), [([], set()), ([Fault("obsolete_barrier_accepted", "bursts")], {CUT})])
def test_barrier_of_an_expired_checkpoint_that_ends_the_storing_loses_elements(
    faults: list[Fault], laws: set[str]
) -> None:
    recorder = MemoryRecorder(Level.FULL)
    assert run_with_obsolete_barrier(recorder, faults).status is JobStatus.FINISHED
    assert violated(recorder) == laws


def test_snapshot_at_the_first_barrier_loses_elements_in_mode_at_least_once() -> None:
    recorder = MemoryRecorder(Level.FULL)
    result, _ = run_restarted(
        recorder, 20, exactly_once=False, faults=[Fault("snapshot_at_first_barrier", operator=LAST)]
    )
    assert result.status is JobStatus.FINISHED
    assert violated(recorder) == {"checkpoint-cut", "at-least-once"}


@pytest.mark.parametrize(
    ("faults", "laws"), [([], set()), ([Fault("channels_not_blocked", "all")], {"checkpoint-cut"})]
)
def test_elements_after_a_barrier_break_the_cut(faults: list[Fault], laws: set[str]) -> None:
    recorder = MemoryRecorder(Level.FULL)
    assert run_skewed(recorder, faults).status is JobStatus.FINISHED
    assert violated(recorder) == laws


@pytest.mark.parametrize("fault", [None, *OF_TRANSACTIONS])
def test_fault_of_transactions_breaks_exactly_the_law_of_committables(fault: str | None) -> None:
    recorder = MemoryRecorder(Level.FULL)
    result = run_with_transactions(recorder, [] if fault is None else [Fault(fault, operator="transfer")])
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 1)
    assert violated(recorder) == (set() if fault is None else {"committed-once"})


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return take_savepoint(MemoryRecorder(Level.FULL), tmp_path_factory.mktemp("savepoints"))


OF_ANOTHER_RUN = [
    (Fault("state_lost_at_restore", operator="counts"), {"restored-state"}),
    (Fault("key_groups_lost_at_restore", operator="counts"), {"restored-state"}),
    (Fault("key_groups_lost_at_restore", operator="counts", subtask=0), {"restored-state"}),
    (Fault("timer_lost_at_restore", operator="counts"), {"restored-state"}),
    *((Fault("operator_state_lost_at_restore", operator=name, subtask=0), {"restored-state"})
      for name in ("Source: numbers", "remembers", "ruled")),
    # What is not given to a sink is not restored by it.
    *((Fault("operator_state_lost_at_restore", operator=name, subtask=0), {"restored-state", "committed-once"})
      for name in ("out: Committer", "transfer")),
    (Fault("committables_lost_at_restore", operator="out: Committer"), {"committed-once"}),
    (Fault("transaction_not_recovered", operator="transfer"), {"committed-once"}),
]  # fmt: skip


@pytest.mark.parametrize("parallelism", [2, 3, 1])
@pytest.mark.parametrize(
    ("fault", "laws"),
    [(None, set()), *OF_ANOTHER_RUN],
    ids=lambda value: str(value) if isinstance(value, Fault) else "",
)
def test_fault_at_the_restore_of_a_savepoint_of_another_run_breaks_exactly_its_laws(
    fault: Fault | None, laws: set[str], parallelism: int, savepoint: str
) -> None:
    recorder = MemoryRecorder(Level.FULL)
    result = run_job(recorder, parallelism=parallelism, savepoint=savepoint, faults=[] if fault is None else [fault])
    assert result.status is JobStatus.FINISHED
    assert violated(recorder) == laws


@pytest.mark.parametrize(
    ("faults", "laws"),
    [
        ([], set()),
        ([Fault("timers_not_armed_at_restore", "alarms")], {"restored-timers"}),
        ([Fault("timer_lost_at_restore", "alarms")], {"restored-timers", "restored-state"}),
    ],
    ids=["none", "not armed", "lost"],
)
def test_lost_processing_time_timers_of_a_snapshot_violate_the_law(faults: list[Fault], laws: set[str]) -> None:
    recorder = MemoryRecorder(Level.FULL)
    result, sink = run_with_alarms(recorder, faults=faults)
    assert result.status is JobStatus.FINISHED
    assert violated(recorder) == laws
    assert (len(sink.values()) < RECORDS) is bool(faults)
