"""Every fault violates its law, and no other; without faults all laws hold (decision D6)."""

from __future__ import annotations

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.errors import BadInput, JobFailed
from flowsim.facts.kinds import Level
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.job_settings import Link
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.tasks import batches
from flowsim.units import NS_PER_MS
from tests.support.facts.checkpoint_laws import OF_CHECKPOINTS, OF_RECORDED_STATE, OTHER_LAWS
from tests.support.faults import FAULT_KINDS, Fault
from tests.support.jobs.fault_matrix import CASES, FaultCase, fault_job, run_case
from tests.support.jobs.small_jobs import SmallJob


def test_every_fault_kind_is_in_matrix() -> None:
    of_checkpoints = {kind.name for kind in FAULT_KINDS.values() if kind.law in OF_CHECKPOINTS}
    assert {case.fault.fault for case in CASES if case.fault is not None} == set(FAULT_KINDS) - of_checkpoints


def test_every_law_is_broken_by_a_fault() -> None:
    assert {law for case in CASES for law in case.laws} == {*OTHER_LAWS, OF_RECORDED_STATE}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fault_breaks_exactly_the_laws_of_its_case(case: FaultCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_MOST_ACTIONS", 2_000)
    recorder = MemoryRecorder(Level.FULL, records_state=True)
    result = run_case(case, recorder)
    assert result.status is case.status
    whole = result.status is JobStatus.FINISHED
    outcomes = check_all(recorder, "complete" if whole else "stopped")
    assert {outcome.law for outcome in outcomes if outcome.verdict is Verdict.VIOLATED} == case.laws
    if whole and case.job is None:
        assert all(outcome.rows_examined > 0 for outcome in outcomes if outcome.law not in OF_CHECKPOINTS)
    counts = {outcome.law: outcome.violations for outcome in outcomes if outcome.law in case.counts}
    assert counts == case.counts
    own = None if case.fault is None else FAULT_KINDS[case.fault.fault].law
    assert own is None or own in case.laws
    assert case.laws <= {own} or case.why


def test_unknown_faults_and_operators_are_refused_with_known_ones() -> None:
    with pytest.raises(BadInput, match="unknown fault 'lose_everything'; there are: drop_element, "):
        run_with(Fault("lose_everything"))
    with pytest.raises(BadInput, match=r"fault drop_element: no operator 'windo'; there are: .*window"):
        run_with(Fault("drop_element", operator="windo"))


def run_with(fault: Fault) -> None:
    MiniCluster(fault_job(), with_faults(RunOptions(), [fault])).run()


@pytest.mark.parametrize("links", [(), (Link(latency_ns=NS_PER_MS),)], ids=["at once", "over a link"])
def test_fault_that_breaks_invariant_fails_job_and_facts_violate_law(links: tuple[Link, ...]) -> None:
    """A buffer arrives where none is reserved: in the sender's batch, or from the wire, where no task is at work."""
    job = SmallJob(
        segment_size_bytes=16,
        buffer_timeout_ms=0,
        links=links,
        exclusive_buffers_per_channel=1,
        floating_buffers_per_gate=1,
    )
    job.sink(job.values(lambda _: range(100)), by="REBALANCE", cost_ns=10 * NS_PER_MS)
    recorder = MemoryRecorder(Level.FULL)
    result = job.run(recorder=recorder, faults=(Fault("credit_from_nowhere"),), budget_records=1)
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, JobFailed)
    assert "received a data buffer without a reserved buffer" in str(result.error)
    broken = {o.law for o in check_all(recorder, "failed") if o.verdict is Verdict.VIOLATED}
    assert "in-flight" in broken
