"""Every fault of checkpoints violates its law in a job that fails and is restored."""

from __future__ import annotations

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import FAULT_KINDS, Fault
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.facts.checkpoint_laws import OF_CHECKPOINTS
from tests.support.jobs.restarted_job import run_restarted

SOURCE, MIDDLE, LAST = "Source: Collection Source", "Timestamps/Watermarks", "counts"

CASES = [
    (Fault("barrier_repeated", operator=MIDDLE), {"checkpoint-barriers"}),
    # The sink commits when it is notified.
    (Fault("notified_before_completion", operator=LAST), {"checkpoint-notifications", "committed-once"}),
    # Timers are state.
    (Fault("state_lost_at_restore", operator=LAST), {"restored-state", "restored-timers"}),
    (Fault("timer_lost_at_restore", operator=LAST), {"restored-state", "restored-timers"}),
    # The position is state.
    (Fault("source_skips_at_restore", operator=SOURCE), {"exactly-once", "restored-state"}),
    # A record that is lost before a snapshot is missing in the cut; the restored checkpoint is one of those.
    (Fault("drop_element", operator=LAST, at=1), {"channel-fifo", "checkpoint-cut", "exactly-once"}),
]


def test_every_fault_of_checkpoints_is_in_a_case() -> None:
    of_checkpoints = {kind.name for kind in FAULT_KINDS.values() if kind.law in OF_CHECKPOINTS}
    assert of_checkpoints == {fault.fault for fault, _ in CASES} - {"drop_element"}


@pytest.mark.parametrize(("fault", "laws"), CASES, ids=[fault.fault for fault, _ in CASES])
def test_fault_breaks_exactly_the_laws_of_its_case(fault: Fault, laws: set[str]) -> None:
    recorder = MemoryRecorder(Level.FULL)
    result, _ = run_restarted(recorder, faults=[fault])
    assert result.status is JobStatus.FINISHED
    assert {o.law for o in check_all(recorder) if o.verdict is Verdict.VIOLATED} == laws
    assert FAULT_KINDS[fault.fault].law in laws
