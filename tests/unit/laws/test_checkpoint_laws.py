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
from flowsim.testing import DrawnScenario, run_job
from flowsim.units import MAX_WATERMARK, NS_PER_MS
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

    def __init__(
        self, facts: MemoryRecorder | DamagedFacts, table: str, damage: Callable[[list[Row]], list[Row]]
    ) -> None:
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


def violations(facts: DamagedFacts, law: str) -> set[object]:
    """What is wrong according to one law, judged beside the others of checkpoints."""
    (outcome,) = [each for each in check_all(facts, laws=CHECKPOINT_LAWS) if each.law == law]
    return {row["what"] for row in outcome.evidence}


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


TIMER_AFTER_THE_END = """\
flowsim: 1
name: late-timers
settings:
  auto_watermark_interval: 10 ms
  checkpointing: {interval: 10 ms}
  restart_strategy: {fixed_delay: {attempts: 3, delay: 0}}
sources:
  s0:
    script:
      fields: {k: string, n: long}
      subtasks:
        - [{record: [a, 1], timestamp: 5}, {sleep: 300 ms}, {record: [a, 2], timestamp: 7}, {sleep: 12 ms}]
        - [{record: [b, 3], timestamp: 5}, {sleep: 100 ms}, {record: [b, 4], timestamp: 9}, {sleep: 12 ms}]
    watermarks: {timestamp: timestamp, emit: periodic, idle_after: 15 ms}
operators:
  o0: {input: s0, parallelism: 1, key_by: k, alarm: {after: 12 ms, emit: {k: k, n: n}}}
sinks:
  out: {input: o0, collect: {}, parallelism: 1}
failures: [{fail_task: {task: s0, subtask: 1, at: 50 ms}}]
"""
"""One subtask of the source ends while the other one is idle, which then sends another record."""


def test_timer_after_the_end_of_event_time_is_left_after_a_restore() -> None:
    run = run_job(DrawnScenario.of(TIMER_AFTER_THE_END))
    names = TABLES["timers"].names
    last = dict(zip(names, run.facts.rows("timers")[-1], strict=True))
    assert (last["action"], last["watermark"]) == (TimerAction.REGISTER, MAX_WATERMARK)
    assert violated(run.outcomes) == set()


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
     without_first("received", kind=ElementKind.RECORD),
     {"elements that were sent before the cut were not received before it"}),
    ("barrier is sent again", "checkpoint-barriers", "sent",
     last_changed(lambda row: row.update(timestamp=1), kind=ElementKind.CHECKPOINT_BARRIER),
     {"the barrier is missing on a channel", "the id of the checkpoint does not increase"}),
    ("barrier is missing on a channel", "checkpoint-barriers", "sent",
     changed(lambda row: row.update(kind=ElementKind.STATUS), kind=ElementKind.CHECKPOINT_BARRIER),
     {"the barrier is missing on a channel"}),
    ("acknowledged without snapshot", "checkpoint-answers", "checkpoint_steps",
     without_first("checkpoint_steps", step=CheckpointStep.SYNC_END),
     {"a step of the checkpoint is missing or repeated before it"}),
    ("acknowledged twice", "checkpoint-answers", "checkpoint_steps",
     last_changed(lambda row: row.update(step=CheckpointStep.ACKNOWLEDGE), step=CheckpointStep.NOTIFY_COMPLETE),
     {"a step of the checkpoint is missing or repeated before it"}),
    ("notified of a pending checkpoint", "checkpoint-notifications", "checkpoint_steps",
     last_changed(add("checkpoint", 1), step=CheckpointStep.NOTIFY_COMPLETE),
     {"the checkpoint was not completed"}),
    ("notified twice", "checkpoint-notifications", "checkpoint_steps",
     last_changed(add("checkpoint", -1), step=CheckpointStep.NOTIFY_COMPLETE),
     {"a notification of this or of a newer checkpoint was before it"}),
    ("checkpoint never ends", "checkpoint-progress", "checkpoints",
     without_first("checkpoints", action=CheckpointAction.ABORTED),
     {"neither completed nor aborted"}),
    ("completed before all acknowledged", "checkpoint-progress", "checkpoints",
     last_changed(add("acknowledged", -1), action=CheckpointAction.ACKNOWLEDGED),
     {"completed before all tasks acknowledged it"}),
    ("acknowledged twice at the coordinator", "checkpoint-progress", "checkpoints",
     lambda rows: [*rows, {**rows[1], "step": 10_000}],
     {"the checkpoint is not pending"}),
    ("restored state has another value", "restored-state", "stored_state",
     changed(add("fingerprint_sum", 1), action=StoredAction.RESTORED),
     {"the restored state is not the stored state"}),
    ("state is not restored", "restored-state", "stored_state",
     without_first("stored_state", action=StoredAction.RESTORED),
     {"the restored state is not the stored state"}),
    ("committed before the checkpoint is complete", "committed-once", "committables",
     changed(add("checkpoint", 100), action=CommittableAction.COMMITTED),
     {"committed before its checkpoint was completed"}),
    ("never committed", "committed-once", "committables",
     lambda rows: [row for row in rows if row["action"] != CommittableAction.COMMITTED
                   or row["committable"] != rows[-1]["committable"]],
     {"never committed, but its checkpoint was completed", "not committed when its checkpoint was notified, or restored"}),
    ("committed twice without restore", "committed-once", "committables",
     lambda rows: [row for row in rows if row["action"] != CommittableAction.RESTORED],
     {"committed again, but it was neither prepared nor restored since"}),
    ("source continues at another position", "exactly-once", "source_positions",
     changed(add("position", 1), action=StoredAction.RESTORED),
     {"the source does not continue at the position in the checkpoint"}),
    ("source sends other records than it reads", "exactly-once", "source_positions",
     changed(add("records", 1), action=StoredAction.STORED),
     {"the source stored a position after other records than it sent, or a sink wrote"}),
    ("timer fires twice", "restored-timers", "timers",
     lambda rows: [*rows[:-1], {**rows[-1], **{c: rows[-2][c] for c in ("timestamp", "key", "task")}}],
     {"a due timer did not fire", "a timer that is not registered is fired or deleted",
      "the key of a timer belongs to another subtask"}),
    ("restored timer is lost", "restored-timers", "timers",
     lambda rows: rows[: [row["action"] for row in rows].index(TimerAction.FIRE)]
     + rows[[row["action"] for row in rows].index(TimerAction.FIRE) + 1 :],
     {"a due timer did not fire", "a timer fired before a timer with an earlier time"}),
    ("received record before the barrier of the restored checkpoint is lost", "exactly-once", "received",
     without_first("received", kind=ElementKind.RECORD),
     {"elements that were sent before the cut were not received before it"}),
    ("received twice before the barrier", "checkpoint-cut", "received",
     lambda rows: [next(row for row in rows if row["kind"] == ElementKind.RECORD), *rows],
     {"elements that were sent after the cut were received before it"}),
    ("snapshot ends after the checkpoint was declined", "checkpoint-answers", "checkpoint_steps",
     changed(lambda row: row.update(step=CheckpointStep.DECLINE), step=CheckpointStep.SYNC_END),
     {"a step after the task declined the checkpoint"}),
    ("declined after the acknowledgement", "checkpoint-answers", "checkpoint_steps",
     last_changed(lambda row: row.update(step=CheckpointStep.DECLINE), step=CheckpointStep.NOTIFY_COMPLETE),
     {"declined after it was acknowledged"}),
    ("notified of a checkpoint before the restored one", "checkpoint-notifications", "checkpoint_steps",
     changed(add("checkpoint", 100), step=CheckpointStep.RESTORE),
     {"the task was restored from this or a newer checkpoint"}),
    ("notified that a completed checkpoint was aborted", "checkpoint-notifications", "checkpoint_steps",
     last_changed(lambda row: row.update(step=CheckpointStep.NOTIFY_ABORTED), step=CheckpointStep.NOTIFY_COMPLETE),
     {"the checkpoint was completed"}),
    ("triggered with an old id", "checkpoint-progress", "checkpoints",
     last_changed(lambda row: row.update(checkpoint=1), action=CheckpointAction.TRIGGERED),
     {"neither completed nor aborted", "the checkpoint is not pending", "the id does not increase"}),
    ("acknowledged twice by a task", "checkpoint-progress", "checkpoints", lambda rows: [*rows[:2], *rows[1:]],
     {"the task has acknowledged it before"}),
    ("timer is registered twice", "restored-timers", "timers", lambda rows: [rows[0], *rows],
     {"a timer is registered, but it waits already"}),
    ("timer is deleted that was not registered", "restored-timers", "timers",
     lambda rows: [{**rows[0], "action": TimerAction.DELETE}, *rows], {"a timer that does not wait is fired or deleted"}),
    ("timer of a restored task is left", "restored-timers", "timers",
     lambda rows: [*rows, {**rows[-1], "seq": rows[-1]["seq"] + 10**6, "timestamp": rows[-1]["timestamp"] + 1,
                           "action": TimerAction.REGISTER, "watermark": 0}],
     {"a timer did not fire after the restore", "the recorded watermark is not the watermark of the operator"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("law", "table", "damage", "whats"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES]
)
def test_damage_violates_its_law(
    facts: MemoryRecorder, law: str, table: str, damage: Callable[[list[Row]], list[Row]], whats: set[str]
) -> None:
    assert violations(DamagedFacts(facts, table, damage), law) == whats


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


def test_task_that_fails_after_the_notification_does_not_commit(facts: MemoryRecorder) -> None:
    names = TABLES["committables"].names
    commits = [row for row in facts.rows("committables") if row[names.index("action")] == CommittableAction.COMMITTED]
    last = [row for row in commits if facts.attempt(row[1], row[0]) == 0][-2]  # Its task prepares more after it.

    def lose(rows: list[Row]) -> list[Row]:
        return [row for row in rows if tuple(row.values()) != last]

    def fail(rows: list[Row]) -> list[Row]:
        """The task fails instead of the commit."""
        at = {"seq": last[0], "task": last[1], "operator": -1, "event": LifeEvent.FAILED}
        return sorted([*rows, {**rows[0], **at}], key=lambda row: row["seq"])

    lost = DamagedFacts(facts, "committables", lose)
    what = "not committed when its checkpoint was notified, or restored"
    assert violations(lost, "committed-once") == {what}
    assert violations(DamagedFacts(lost, "lifecycle", fail), "committed-once") == set()


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
    """A new record comes before the first restored one."""
    first = next(n for n, row in enumerate(rows) if row["position"] < 0 and row["kind"] == ElementKind.RECORD)
    return [*rows[:first], {**rows[first], "position": 0}, *rows[first:]]


IN_FLIGHT_DAMAGES = [
    ("channel is not stored", "in-flight-cut", "stored_channels", without_first("stored_channels", action=StoredAction.STORED),
     {"fewer elements were stored than are between the cuts"}),
    ("other element is stored", "in-flight-cut", "stored_channels",
     changed(add("element_sum", 1), action=StoredAction.STORED),
     {"the stored elements are not those between the cuts, in their order"}),
    ("elements are stored in another order", "in-flight-cut", "stored_channels",
     changed(add("weighted_sum", 1), action=StoredAction.STORED),
     {"the stored elements are not those between the cuts, in their order"}),
    ("last element is cut", "in-flight-cut", "stored_channels",
     changed(add("rest_bytes", 1), action=StoredAction.STORED),
     {"the stored buffers do not end with an element"}),
    ("elements are stored without a barrier that overtakes", "in-flight-cut", "sent",
     lambda rows: [{**row, "kind": ElementKind.CHECKPOINT_BARRIER} if row["kind"] == ElementKind.UNALIGNED_BARRIER
                   else row for row in rows],
     {"elements of a channel were stored whose barrier overtakes nothing"}),
    ("element that was not stored is restored", "in-flight-restored", "stored_channels",
     changed(add("elements", -1), action=StoredAction.RESTORED),
     {"more elements were restored than were stored"}),
    ("elements are restored in another order", "in-flight-restored", "stored_channels",
     changed(add("weighted_sum", 1), action=StoredAction.RESTORED),
     {"the restored elements are not the stored ones"}),
    ("new element is received before a restored one", "in-flight-restored", "received", live_before_restored,
     {"a restored element was received after a new one of its channel"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("law", "table", "damage", "whats"),
    [case[1:] for case in IN_FLIGHT_DAMAGES],
    ids=[case[0] for case in IN_FLIGHT_DAMAGES],
)
def test_damage_of_in_flight_data_violates_its_law(
    unaligned_facts: MemoryRecorder,
    law: str,
    table: str,
    damage: Callable[[list[Row]], list[Row]],
    whats: set[str],
) -> None:
    outcomes = {o.law: o for o in check_all(unaligned_facts, laws=CHECKPOINT_LAWS)}
    assert (outcomes[law].verdict, outcomes[law].rows_examined > 0) == (Verdict.HOLDS, True)
    assert violations(DamagedFacts(unaligned_facts, table, damage), law) == whats


@pytest.mark.parametrize(
    ("receives", "whats"), [(True, set()), (False, {"the id of the checkpoint does not increase"})]
)
def test_task_cancels_a_checkpoint_after_its_barrier_only_if_that_overtook(
    receives: bool, whats: set[str], unaligned_facts: MemoryRecorder
) -> None:
    """Rule 12.71: it sent the barrier with the first one, and another input may end the checkpoint."""
    kind, marker = ElementKind.UNALIGNED_BARRIER, ElementKind.CANCEL_CHECKPOINT_MARKER
    rows = [dict(zip(TABLES["received"].names, row, strict=True)) for row in unaligned_facts.rows("received")]
    received = {(row["task"], row["timestamp"]): row["seq"] for row in reversed(rows) if row["kind"] == kind}

    def cancel(rows: list[Row]) -> list[Row]:
        """After the barriers of one checkpoint of one task, and after it received the first one."""
        barriers = [(row["task"], row["timestamp"]) for row in rows if row["kind"] == kind]
        place = next(each for each in barriers if (each in received) == receives)
        sent = [row for row in rows if row["kind"] == kind and (row["task"], row["timestamp"]) == place]
        after = 1 + max(received.get(place, 0), *(row["seq"] for row in sent))
        return sorted([*rows, *({**row, "kind": marker, "seq": after} for row in sent)], key=lambda row: row["seq"])

    assert violations(DamagedFacts(unaligned_facts, "sent", cancel), "checkpoint-barriers") == whats


def test_channel_of_a_task_that_was_restored_as_finished_needs_no_stored_elements(
    unaligned_facts: MemoryRecorder,
) -> None:
    """Rule 12.100: it has no state, and sends its last watermark again."""

    def finished(rows: list[Row]) -> list[Row]:
        as_finished = {LifeEvent.RUNNING: LifeEvent.RESTORED_AS_FINISHED}
        return [{**row, "event": as_finished.get(LifeEvent(row["event"]), row["event"])} for row in rows]

    lost = DamagedFacts(
        unaligned_facts, "stored_channels", without_first("stored_channels", action=StoredAction.STORED)
    )
    assert violations(lost, "in-flight-cut") == {"fewer elements were stored than are between the cuts"}
    assert violations(DamagedFacts(lost, "lifecycle", finished), "in-flight-cut") == set()


def test_vertex_with_a_stopped_source_is_not_compared(facts: MemoryRecorder) -> None:
    """A stopped source does not send its last records."""

    def lose(rows: list[Row]) -> list[Row]:
        last = [row for row in rows if row["task"] == 0 and row["kind"] == ElementKind.RECORD][-1]
        return [row for row in rows if row is not last]

    def stop(rows: list[Row]) -> list[Row]:
        end = [row for row in rows if row["task"] == 0 and row["event"] == LifeEvent.FINISHED][-1]
        return [*rows[: rows.index(end)], {**end, "event": LifeEvent.STOP_WITH_DRAIN}, *rows[rows.index(end) :]]

    lost = DamagedFacts(facts, "sent", lose)
    compared = check_all(lost, laws=CHECKPOINT_LAWS)
    stopped = check_all(DamagedFacts(lost, "lifecycle", stop), laws=CHECKPOINT_LAWS)
    examined = [
        next(each.rows_examined for each in found if each.law == "exactly-once") for found in (compared, stopped)
    ]
    assert examined[0] > examined[1]


def test_record_that_sources_do_not_send_again_violates_exactly_once(facts: MemoryRecorder) -> None:
    def lose(rows: list[Row]) -> list[Row]:
        """The first record of the new attempt of a source is lost on both ends of its channel."""
        lost = next(r for r in rows if facts.attempt(r["task"], r["seq"]) == 1 and r["kind"] == ElementKind.RECORD)
        return [row for row in rows if row is not lost]

    found = violations(DamagedFacts(facts, "sent", lose), "exactly-once")
    assert "a record was sent before a failure, and is lost after it" in found


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
    numbers = [4, 30, 7, 40, 9, 31, 8, 4]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(checkpointing=CheckpointSettings(10), restart_strategy=FixedDelayRestart(1, 0))
    source = env.add_source(ScriptedSource([part for n in numbers for part in (record(n), sleep(4))]))
    source.rebalance().map(lambda value: value).name("last").sink_to(CollectSink())
    facts = MemoryRecorder(Level.FULL)
    MiniCluster(env.stream_graph(), RunOptions(failures=(FailTask("last", at_record=4),), recorder=facts)).run()
    restarts = [row for row in facts.rows("restarts") if row[2] == RestartAction.RESTART and row[6] > 0]
    assert restarts, "the job restarts from a checkpoint"
    (outcome,) = [each for each in check_all(facts) if each.law == "exactly-once"]
    assert (outcome.verdict, outcome.rows_examined > 0) == (Verdict.HOLDS, True)

    def repeat(rows: list[Row]) -> list[Row]:
        """The source reads its first record again when it is restored, and then goes on."""
        sent = [r for r in rows if r["task"] == restarts[0][4] and r["kind"] == ElementKind.RECORD]
        new = [row for row in sent if facts.attempt(row["task"], row["seq"]) == 1]
        for row, before in zip(reversed(new), [*reversed(new[:-1]), sent[0]], strict=True):
            row["fingerprint"] = before["fingerprint"]
        return rows

    (outcome,) = [o for o in check_all(DamagedFacts(facts, "sent", repeat)) if o.law == "exactly-once"]
    assert "a record was sent once before a failure, and counts twice after it" in {r["what"] for r in outcome.evidence}
