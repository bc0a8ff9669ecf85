"""The laws of checkpoints: a restored job satisfies all laws, and each damage of its facts violates its law."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import TriggerCheckpoint
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Time
from flowsim.facts.kinds import (
    CheckpointAction,
    CheckpointStep,
    CommittableAction,
    ElementKind,
    Level,
    LifeEvent,
    RestartAction,
    StoredAction,
    TimerAction,
)
from flowsim.facts.schema import TABLES
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.laws.catalogue import LAWS
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.testing import PendingTimers, RandomJob, Recovery, SourceStage, run_job
from flowsim.units import NS_PER_MS
from flowsim.validation.judge import open_runs, validate
from tests.support.facts.checkpoint_laws import OF_CHECKPOINTS
from tests.support.facts.restarted import run_with_windows
from tests.support.jobs.requested_checkpoints import ON_REQUEST
from tests.support.jobs.restarted_job import (
    record_restarted,
    run_in_one_chain,
    run_restarted,
    run_with_transactions,
)
from tests.support.jobs.unaligned_job import run_unaligned

Row = dict[str, int]
CHECKPOINT_LAWS = [law for law in LAWS if law.id in OF_CHECKPOINTS]


class DamagedFacts:
    """Recorded facts, of which one table is changed."""

    def __init__(self, facts: MemoryRecorder, table: str, damage: Callable[[list[Row]], list[Row]]) -> None:
        self.level = facts.level
        self._facts = facts
        self._table = table
        names = TABLES[table].names
        rows = damage([dict(zip(names, row, strict=True)) for row in facts.rows(table)])
        self._rows = [tuple(row[name] for name in names) for row in rows]

    def rows(self, table: str) -> list[tuple[int, ...]]:
        return self._rows if table == self._table else list(self._facts.rows(table))

    def static_rows(self, table: str) -> list[tuple[int | str, ...]]:
        return list(self._facts.static_rows(table))

    def attempt(self, task: int, seq: int) -> int:
        return self._facts.attempt(task, seq)


@pytest.fixture(scope="module")
def facts() -> MemoryRecorder:
    recorder = MemoryRecorder(Level.FULL)
    result, _ = run_restarted(recorder)
    assert result.status is JobStatus.FINISHED
    assert len(recorder.rows("restarts")) == 6
    return recorder


def violated(outcomes: list[Outcome]) -> set[str]:
    return {outcome.law for outcome in outcomes if outcome.verdict is Verdict.VIOLATED}


def test_restored_job_satisfies_all_laws(facts: MemoryRecorder) -> None:
    outcomes = check_all(facts)
    assert violated(outcomes) == set()
    examined = {o.law for o in outcomes if o.law in OF_CHECKPOINTS and o.rows_examined and o.verdict is Verdict.HOLDS}
    assert examined == OF_CHECKPOINTS - {"at-least-once", "in-flight-cut", "in-flight-restored"}


def test_job_with_at_least_once_checkpoints_satisfies_all_laws() -> None:
    recorder = MemoryRecorder(Level.FULL)
    run_restarted(recorder, 33, exactly_once=False)
    outcomes = {outcome.law: outcome for outcome in check_all(recorder)}
    assert violated(list(outcomes.values())) == set()
    assert outcomes["at-least-once"].verdict is Verdict.HOLDS
    assert outcomes["exactly-once"].reason == "the mode of checkpoints is at-least-once"


@pytest.mark.parametrize(
    ("fail_at", "interval_ms", "aligned_timeout_ms"), [(40, 30, 0), (60, 12, 0), (40, 30, 8), (85, 50, 0)]
)
def test_job_with_unaligned_checkpoints_satisfies_all_laws(
    fail_at: int, interval_ms: int, aligned_timeout_ms: int
) -> None:
    recorder = MemoryRecorder(Level.FULL)
    run_unaligned(recorder, fail_at, interval_ms=interval_ms, aligned_timeout_ms=aligned_timeout_ms)
    assert any(row[4] < 0 for row in recorder.rows("received"))
    assert violated(check_all(recorder)) == set()


@pytest.mark.parametrize("fail_at", [3, 50])
def test_job_that_fails_anywhere_satisfies_all_laws(fail_at: int) -> None:
    recorder = MemoryRecorder(Level.FULL)
    run_restarted(recorder, fail_at)
    assert violated(check_all(recorder)) == set()


def test_laws_apply_to_a_checkpoint_that_was_only_triggered(facts: MemoryRecorder) -> None:
    """The process of the run was killed before the first task answered."""

    def only_triggered(rows: list[Row]) -> list[Row]:
        return [row for row in rows if row["action"] == CheckpointAction.TRIGGERED]

    (outcome,) = [
        each
        for each in check_all(DamagedFacts(facts, "checkpoints", only_triggered))
        if each.law == "checkpoint-notifications"
    ]
    assert outcome.verdict is not Verdict.NOT_APPLICABLE


def without_first(table: str, **where: int) -> Callable[[list[Row]], list[Row]]:
    """Removes the first row with these values."""

    def damage(rows: list[Row]) -> list[Row]:
        found = next(row for row in rows if all(row[name] == value for name, value in where.items()))
        return [row for row in rows if row is not found]

    return damage


def changed(change: Callable[[Row], None], **where: int) -> Callable[[list[Row]], list[Row]]:
    """Changes the first row with these values."""

    def damage(rows: list[Row]) -> list[Row]:
        change(next(row for row in rows if all(row[name] == value for name, value in where.items())))
        return rows

    return damage


def last_changed(change: Callable[[Row], None], **where: int) -> Callable[[list[Row]], list[Row]]:
    """Changes the last row with these values."""

    def damage(rows: list[Row]) -> list[Row]:
        change([row for row in rows if all(row[name] == value for name, value in where.items())][-1])
        return rows

    return damage


def add(column: str, number: int) -> Callable[[Row], None]:
    return lambda row: row.update({column: row[column] + number})


DAMAGES = [
    ("received record before the barrier is lost", "checkpoint-cut", "received",
     without_first("received", kind=ElementKind.RECORD)),
    ("barrier is sent again", "checkpoint-barriers", "sent",
     last_changed(lambda row: row.update(timestamp=1), kind=ElementKind.CHECKPOINT_BARRIER)),
    ("barrier is missing on a channel", "checkpoint-barriers", "sent",
     changed(lambda row: row.update(kind=ElementKind.STATUS), kind=ElementKind.CHECKPOINT_BARRIER)),
    ("acknowledged without snapshot", "checkpoint-answers", "checkpoint_steps",
     without_first("checkpoint_steps", step=CheckpointStep.SYNC_END)),
    ("acknowledged twice", "checkpoint-answers", "checkpoint_steps",
     last_changed(lambda row: row.update(step=CheckpointStep.ACKNOWLEDGE), step=CheckpointStep.NOTIFY_COMPLETE)),
    ("notified of a pending checkpoint", "checkpoint-notifications", "checkpoint_steps",
     last_changed(add("checkpoint", 1), step=CheckpointStep.NOTIFY_COMPLETE)),
    ("notified twice", "checkpoint-notifications", "checkpoint_steps",
     last_changed(add("checkpoint", -1), step=CheckpointStep.NOTIFY_COMPLETE)),
    ("checkpoint never ends", "checkpoint-progress", "checkpoints",
     without_first("checkpoints", action=CheckpointAction.ABORTED)),
    ("completed before all acknowledged", "checkpoint-progress", "checkpoints",
     last_changed(add("acknowledged", -1), action=CheckpointAction.ACKNOWLEDGED)),
    ("acknowledged twice at the coordinator", "checkpoint-progress", "checkpoints",
     lambda rows: [*rows, {**rows[1], "step": 10_000}]),
    ("restored state has another value", "restored-state", "stored_state",
     changed(add("fingerprint_sum", 1), action=StoredAction.RESTORED)),
    ("state is not restored", "restored-state", "stored_state",
     without_first("stored_state", action=StoredAction.RESTORED)),
    ("committed before the checkpoint is complete", "committed-once", "committables",
     changed(add("checkpoint", 100), action=CommittableAction.COMMITTED)),
    ("never committed", "committed-once", "committables",
     lambda rows: [row for row in rows if row["action"] != CommittableAction.COMMITTED
                   or row["committable"] != rows[-1]["committable"]]),
    ("committed twice without restore", "committed-once", "committables",
     lambda rows: [row for row in rows if row["action"] != CommittableAction.RESTORED]),
    ("source continues at another position", "exactly-once", "source_positions",
     changed(add("position", 1), action=StoredAction.RESTORED)),
    ("source sends other records than it reads", "exactly-once", "source_positions",
     changed(add("records", 1), action=StoredAction.STORED)),
    ("timer fires twice", "restored-timers", "timers",
     lambda rows: [*rows[:-1], {**rows[-1], **{c: rows[-2][c] for c in ("timestamp", "key", "task")}}]),
    ("restored timer is lost", "restored-timers", "timers",
     lambda rows: rows[: [row["action"] for row in rows].index(TimerAction.FIRE)]
     + rows[[row["action"] for row in rows].index(TimerAction.FIRE) + 1 :]),
]  # fmt: skip


@pytest.mark.parametrize(("law", "table", "damage"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES])
def test_damage_violates_its_law(
    facts: MemoryRecorder, law: str, table: str, damage: Callable[[list[Row]], list[Row]]
) -> None:
    assert law in violated(check_all(DamagedFacts(facts, table, damage), laws=CHECKPOINT_LAWS))


OF_COMMITTABLES = [
    ("committed twice", last_changed(lambda row: row.update(action=CommittableAction.COMMITTED),
                                     action=CommittableAction.PREPARED)),
    ("not committed when its checkpoint is notified", without_first("committables", action=CommittableAction.COMMITTED)),
    ("aborted after the pre-commit", changed(lambda row: row.update(action=CommittableAction.ABORTED),
                                             action=CommittableAction.COMMITTED)),
    ("not committed after the restore", changed(lambda row: row.update(committable=1), action=CommittableAction.RESTORED)),
]  # fmt: skip


@pytest.mark.parametrize("damage", [case[1] for case in OF_COMMITTABLES], ids=[case[0] for case in OF_COMMITTABLES])
@pytest.mark.parametrize("run", [run_with_transactions, run_restarted], ids=["transactions", "committer"])
def test_damaged_steps_of_committables_violate_their_law(
    run: Callable[[MemoryRecorder], object], damage: Callable[[list[Row]], list[Row]]
) -> None:
    facts = MemoryRecorder(Level.FULL)
    run(facts)
    assert violated(check_all(facts)) == set()
    assert violated(check_all(DamagedFacts(facts, "committables", damage))) == {"committed-once"}


def test_equal_transactions_of_a_sink_function_satisfy_the_law() -> None:
    facts = MemoryRecorder(Level.FULL)
    run_with_transactions(facts, name="the only one")
    (outcome,) = [each for each in check_all(facts) if each.law == "committed-once"]
    assert (outcome.verdict, outcome.rows_examined > 8) == (Verdict.HOLDS, True)


@pytest.fixture(scope="module")
def unaligned_facts() -> MemoryRecorder:
    recorder = MemoryRecorder(Level.FULL)
    run_unaligned(recorder)
    return recorder


def live_before_restored(rows: list[Row]) -> list[Row]:
    """The first restored record gets the position of a new one."""
    next(row for row in rows if row["position"] < 0 and row["kind"] == ElementKind.RECORD)["position"] = 0
    return rows


IN_FLIGHT_DAMAGES = [
    ("channel is not stored", "in-flight-cut", "stored_channels", without_first("stored_channels", action=StoredAction.STORED)),
    ("other element is stored", "in-flight-cut", "stored_channels",
     changed(add("element_sum", 1), action=StoredAction.STORED)),
    ("elements are stored in another order", "in-flight-cut", "stored_channels",
     changed(add("weighted_sum", 1), action=StoredAction.STORED)),
    ("last element is cut", "in-flight-cut", "stored_channels",
     changed(add("rest_bytes", 1), action=StoredAction.STORED)),
    ("elements are stored without a barrier that overtakes", "in-flight-cut", "sent",
     lambda rows: [{**row, "kind": ElementKind.CHECKPOINT_BARRIER} if row["kind"] == ElementKind.UNALIGNED_BARRIER
                   else row for row in rows]),
    ("element that was not stored is restored", "in-flight-restored", "stored_channels",
     changed(add("elements", -1), action=StoredAction.RESTORED)),
    ("elements are restored in another order", "in-flight-restored", "stored_channels",
     changed(add("weighted_sum", 1), action=StoredAction.RESTORED)),
    ("new element is received before a restored one", "in-flight-restored", "received", live_before_restored),
]  # fmt: skip


@pytest.mark.parametrize(
    ("law", "table", "damage"), [case[1:] for case in IN_FLIGHT_DAMAGES], ids=[case[0] for case in IN_FLIGHT_DAMAGES]
)
def test_damage_of_in_flight_data_violates_its_law(
    unaligned_facts: MemoryRecorder, law: str, table: str, damage: Callable[[list[Row]], list[Row]]
) -> None:
    outcomes = {o.law: o for o in check_all(unaligned_facts, laws=CHECKPOINT_LAWS)}
    assert (outcomes[law].verdict, outcomes[law].rows_examined > 0) == (Verdict.HOLDS, True)
    assert law in violated(check_all(DamagedFacts(unaligned_facts, table, damage), laws=CHECKPOINT_LAWS))


def test_record_that_sources_do_not_send_again_violates_exactly_once(facts: MemoryRecorder) -> None:
    def lose(rows: list[Row]) -> list[Row]:
        """The first record of the new attempt of a source is lost on both ends of its channel."""
        lost = next(r for r in rows if facts.attempt(r["task"], r["seq"]) == 1 and r["kind"] == ElementKind.RECORD)
        return [row for row in rows if row is not lost]

    assert "exactly-once" in violated(check_all(DamagedFacts(facts, "sent", lose), laws=CHECKPOINT_LAWS))


def test_law_has_the_same_outcome_alone_and_beside_the_others() -> None:
    """Laws that share a machine may examine other attempts of a task."""
    facts = MemoryRecorder(Level.FULL)
    assert run_with_windows(facts).status is JobStatus.FINISHED
    outcomes = check_all(facts)
    assert violated(outcomes) == set()
    of_async = [law for law in LAWS if law.id.startswith("async-")]
    assert [check_all(facts, laws=[law])[0] for law in of_async] == [o for o in outcomes if o.law.startswith("async-")]


@pytest.mark.parametrize("attempt", [0, 1])
def test_sinks_in_the_chain_of_their_source_write_what_it_reads(attempt: int) -> None:
    """The job has no channel: its positions are compared with the rows of its committables."""
    facts = MemoryRecorder(Level.FULL)
    assert run_in_one_chain(facts).status is JobStatus.FINISHED
    (outcome,) = [each for each in check_all(facts) if each.law == "exactly-once"]
    stored = [row for row in facts.rows("committables") if row[5] == CommittableAction.PREPARED]
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.rows_examined == len(stored) + len(facts.rows("restarts")) - 1

    def repeat(rows: list[Row]) -> list[Row]:
        of_attempt = [row for row in rows if facts.attempt(row["task"], row["seq"]) == attempt]
        changed(add("rows", 1), action=CommittableAction.PREPARED)(of_attempt)
        return rows

    assert violated(check_all(facts)) == set()
    assert violated(check_all(DamagedFacts(facts, "committables", repeat))) == {"exactly-once"}


def test_files_get_the_same_verdicts(facts: MemoryRecorder, tmp_path: Path) -> None:
    """The same run, written in many epochs: attempts are separated inside an epoch and over epochs."""
    report = validate(open_runs([record_restarted(tmp_path, rows_per_epoch=200)]))
    assert list(report.of(0).values()) == check_all(facts)


class Slow(AsyncFunction):
    async def async_invoke(self, value: object) -> list[object]:
        await asyncio.sleep(0.01)
        return [value]


@pytest.mark.parametrize(("is_async", "violated"), [(True, []), (False, ["life-cycle"])])
def test_source_emits_restored_elements_while_an_async_operator_behind_it_opens(
    is_async: bool, violated: list[str]
) -> None:
    """Rule 11.22. The first element of the restored attempt is moved to the time at which its operators open."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(checkpointing=ON_REQUEST, restart_strategy=FixedDelayRestart(1, 0))
    stream = env.add_source(ScriptedSource([part for n in range(9) for part in (record(n, n), sleep(1))]))
    seconds = Time.seconds(1)
    slow = AsyncDataStream.ordered_wait(stream, Slow(), seconds, 20) if is_async else stream.map(lambda value: value)
    slow.rebalance().sink_to(CollectSink())
    facts = MemoryRecorder(Level.FULL)
    failures = (FailTask("Source: Custom Source", in_notification=1),)
    options = RunOptions(failures=failures, actions=(TriggerCheckpoint(5 * NS_PER_MS),), recorder=facts)
    assert MiniCluster(env.stream_graph(), options).run().restarts == 1
    opened = max(row[0] for row in facts.rows("lifecycle") if row[1] == 0 and row[4] == LifeEvent.OPEN)

    def moved(rows: list[Row]) -> list[Row]:
        first = next(row for row in rows if row["task"] == 0 and row["seq"] > opened)
        return [{**row, "seq": opened - 1} if row is first else row for row in rows]

    outcomes = check_all(DamagedFacts(facts, "sent", moved))
    found = {outcome.law for outcome in outcomes if outcome.verdict is Verdict.VIOLATED}
    assert [law for law in found if law == "life-cycle"] == violated


def test_source_that_contains_a_record_again_behind_a_failure_satisfies_exactly_once() -> None:
    readings = (("d", 4), ("b", 30), ("a", 7), ("d", 40), ("d", 9), ("c", 30), ("b", 8), ("d", 4))
    part = PendingTimers((readings,), 4, Recovery(CheckpointSettings(10), fails_at=0))
    run = run_job(RandomJob((SourceStage(((1,),)),), (), {}, (part,)))
    restarts = [row for row in run.facts.rows("restarts") if row[2] == RestartAction.RESTART and row[6] > 0]
    assert restarts, "the job restarts from a checkpoint"
    (outcome,) = [each for each in run.outcomes if each.law == "exactly-once"]
    assert (outcome.verdict, outcome.rows_examined > 0) == (Verdict.HOLDS, True)

    def repeat(rows: list[Row]) -> list[Row]:
        """The source reads its first record again when it is restored, and then goes on."""
        sent = [r for r in rows if r["task"] == restarts[0][4] and r["kind"] == ElementKind.RECORD]
        new = [row for row in sent if run.facts.attempt(row["task"], row["seq"]) == 1]
        for row, before in zip(reversed(new), [*reversed(new[:-1]), sent[0]], strict=True):
            row["fingerprint"] = before["fingerprint"]
        return rows

    (outcome,) = [o for o in check_all(DamagedFacts(run.facts, "sent", repeat)) if o.law == "exactly-once"]
    assert "a record was sent once before a failure, and counts twice after it" in {r["what"] for r in outcome.evidence}
