"""Laws segments, backlog and in-flight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind, SegmentAction
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.graph.job_settings import Link
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.testing import run_job
from flowsim.units import NS_PER_MS
from tests.support.facts.tiny_job import FactSet, tiny_job

Change = Callable[[FactSet], None]


def judge(facts: FactSet, law: str, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(facts, status) if outcome.law == law)


def found(facts: FactSet, law: str, status: str = "complete") -> list[object]:
    return [row["what"] for row in judge(facts, law, status).evidence]


def setting(table: str, column: str, value: int, **where: int | str) -> Change:
    def change(facts: FactSet) -> None:
        facts.find(table, **where)[column] = value

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (setting("segments", "requested", 5, action=SegmentAction.HANDED_OUT), "segment counters do not balance"),
        (setting("segments", "size", 2, action=SegmentAction.HANDED_OUT), "another size, but not resized"),
        (
            setting("segments", "size", 3, action=SegmentAction.TAKEN),
            "a size below what is required or above the maximum",
        ),
        (setting("segments", "step", 7, action=SegmentAction.TAKEN, task=0), "a step is missing or duplicated"),
        (setting("task_managers", "segments", 0, task_manager=0), "more segments than there are"),
    ],
)
def test_each_lost_segment_is_reported(change: Change, what: str) -> None:
    facts = tiny_job()
    change(facts)
    assert what in found(facts, "segments")


def test_segment_never_recycled_violates_only_whole_run() -> None:
    facts = tiny_job()
    rows = facts.tables["segments"]
    last = max(index for index, row in enumerate(rows) if row["pool"] == 0)
    del rows[last]
    assert found(facts, "segments") == ["recycled segments were never returned"]
    del rows[last - 1]
    assert found(facts, "segments") == ["segments were never recycled"]
    assert judge(facts, "segments", "failed").verdict is Verdict.HOLDS


def test_segment_of_unknown_pool_violates() -> None:
    facts = tiny_job()
    facts.tables["segments"] = [{**facts.find("segments"), "pool": 99}]
    assert found(facts, "segments", "failed") == ["a pool that the task does not have"]


def test_requests_beyond_size_and_overdraft_violate() -> None:
    facts = tiny_job()
    like = facts.find("segments", pool=0)
    facts.tables["segments"] = []
    for step in range(3):
        books = {"seq": step, "action": SegmentAction.TAKEN, "step": step, "requested": step + 1, "free": step + 1}
        facts.add("segments", like, **books)
    assert found(facts, "segments", "failed") == ["more than size and overdraft allow"]


def test_job_without_pools_is_not_applicable() -> None:
    facts = tiny_job()
    facts.tables["pools"] = []
    assert judge(facts, "segments").verdict is Verdict.NOT_APPLICABLE


def test_segment_that_a_pool_did_not_have_violates() -> None:
    facts = tiny_job()
    like = facts.find("segments", pool=0)
    facts.tables["segments"] = []
    facts.add("segments", like, seq=0, action=SegmentAction.RECYCLED, step=-1, requested=0, free=1)
    assert found(facts, "segments", "failed") == ["a segment that the pool did not have"]
    facts.tables["segments"] = []
    facts.add("segments", like, seq=0, action=SegmentAction.RETURNED, step=0, requested=-1, free=-1)
    assert found(facts, "segments", "failed") == [
        "a segment that the pool did not have", "a segment that was not taken is returned",
    ]  # fmt: skip


QUEUED, SENT, RECEIVED = BufferSide.QUEUED, BufferSide.SENT, BufferSide.RECEIVED
FLUSHED, SKIPPED, RECYCLED = BufferSide.FLUSHED, BufferSide.SKIPPED, BufferSide.RECYCLED
Step = tuple[BufferSide, BufferKind, int, int]
"""Side, kind, backlog, whole."""
DATA, EVENT, PRIORITY_EVENT = BufferKind.DATA, BufferKind.EVENT, BufferKind.PRIORITY_EVENT
PRIORITIZED = BufferSide.PRIORITIZED


def with_queue(steps: list[Step]) -> FactSet:
    """The tiny job with these facts of the sender of channel 0, and none of other buffers."""
    facts = tiny_job()
    like = facts.find("buffers", channel=0)
    facts.tables["buffers"] = []
    counts = dict.fromkeys(BufferSide, 0)
    for seq, (side, kind, backlog, whole) in enumerate(steps):
        about = {"side": side, "kind": kind, "backlog": backlog, "whole": whole, "number": counts[side]}
        facts.add("buffers", like, seq=seq, bytes=40, **about)
        counts[side] += 1
    return facts


@pytest.mark.parametrize(
    ("steps", "whats"),
    [
        ([(QUEUED, DATA, 1, 1), (QUEUED, DATA, 2, 1), (SENT, DATA, 0, 1), (SENT, DATA, 0, 1)], []),
        ([(QUEUED, DATA, 1, 1), (QUEUED, DATA, 2, 1), (SENT, DATA, 1, 1)], ["carries a wrong backlog"]),
        ([(QUEUED, DATA, 1, 1), (QUEUED, DATA, 2, 1), (FLUSHED, DATA, 2, 1), (SENT, DATA, 1, 1)], []),
        (
            [(QUEUED, DATA, 1, 1), (QUEUED, DATA, 2, 1), (FLUSHED, DATA, 2, 1), (SENT, DATA, 0, 1)],
            ["carries a wrong backlog"],
        ),
        ([(QUEUED, DATA, 1, 1), (FLUSHED, DATA, 0, 1)], ["flushed with a wrong backlog"]),
        ([(QUEUED, DATA, 1, 1), (FLUSHED, DATA, 1, 1), (FLUSHED, DATA, 1, 1)], ["flushed without effect"]),
        ([(FLUSHED, DATA, 0, 1)], ["flushed without effect"]),
        # The poll that finds one entry answers the flush: the next one may be requested, and a new tail waits for it.
        ([(QUEUED, DATA, 1, 1), (FLUSHED, DATA, 1, 1), (SENT, DATA, 0, 0), (FLUSHED, DATA, 1, 1)], []),
        (
            [(QUEUED, DATA, 1, 1), (FLUSHED, DATA, 1, 1), (SENT, DATA, 1, 0)],
            ["carries a wrong backlog"],
        ),
        ([(QUEUED, DATA, 1, 1), (QUEUED, EVENT, 2, 1)], ["queued with a wrong backlog"]),
        ([(QUEUED, DATA, 1, 1), (QUEUED, EVENT, 1, 1), (SENT, DATA, 1, 1)], ["carries a wrong backlog"]),
        (
            [(QUEUED, DATA, 1, 1), (QUEUED, EVENT, 1, 1), (SENT, EVENT, 0, 1)],
            ["a buffer leaves that is not the next in the queue"],
        ),
        (
            [(QUEUED, EVENT, 0, 1), (QUEUED, DATA, 1, 1), (SENT, DATA, 0, 1)],
            ["a buffer leaves that is not the next in the queue"],
        ),
        (
            [(QUEUED, DATA, 1, 1), (QUEUED, DATA, 2, 1), (SENT, DATA, 1, 0)],
            ["a buffer leaves that is not the next in the queue"],
        ),
        ([(SENT, DATA, 0, 1)], ["a buffer leaves that is not the next in the queue"]),
        ([(QUEUED, DATA, 1, 1), (SENT, DATA, 0, 0), (SENT, DATA, 0, 1)], []),
        ([(QUEUED, DATA, 1, 1), (SENT, DATA, 0, 0), (QUEUED, EVENT, 0, 1)], ["queued with a wrong backlog"]),
        (
            [
                (QUEUED, DATA, 1, 1),
                (SENT, DATA, 0, 0),
                (QUEUED, EVENT, 1, 1),
                (SKIPPED, DATA, 0, 1),
                (SENT, EVENT, 0, 1),
            ],
            [],
        ),
        ([(QUEUED, DATA, 1, 1), (SKIPPED, DATA, 1, 1)], ["skipped with a wrong backlog"]),
        ([(QUEUED, EVENT, 0, 1), (SKIPPED, EVENT, 0, 1)], ["skipped, but is not the next in the queue"]),
        ([(QUEUED, DATA, 1, 1), (SENT, DATA, 0, 1), (QUEUED, DATA, 2, 1)], ["queued with a wrong backlog"]),
    ],
)
def test_impossible_backlog_violates(steps: list[Step], whats: list[str]) -> None:
    assert found(with_queue(steps), "backlog", "failed") == whats


@pytest.mark.parametrize("side", [QUEUED, SENT])
def test_buffers_out_of_order_violate(side: BufferSide) -> None:
    facts = with_queue([(QUEUED, DATA, 1, 1), (QUEUED, EVENT, 1, 1), (SENT, DATA, 0, 1), (SENT, EVENT, 0, 1)])
    second = facts.all("buffers", side=side)[1]
    second["number"] = 5
    what = "queued out of order" if side is QUEUED else "a buffer leaves the queue in the wrong order"
    assert found(facts, "backlog", "failed") == [what]


@pytest.mark.parametrize(
    ("number", "backlog", "whats"),
    [
        (1, 1, []),
        (1, 2, ["prioritized with a wrong backlog"]),
        (0, 1, ["prioritized, but is no event in the queue", "a buffer leaves that is not the next in the queue"]),
    ],
)
def test_event_that_overtakes_data_must_be_in_queue(number: int, backlog: int, whats: list[str]) -> None:
    facts = with_queue(
        [(QUEUED, DATA, 1, 1), (QUEUED, EVENT, 1, 1), (PRIORITIZED, EVENT, backlog, 1), (SENT, PRIORITY_EVENT, 0, 1)]
    )
    facts.find("buffers", side=PRIORITIZED)["number"] = number
    assert found(facts, "backlog", "failed") == whats


@pytest.mark.parametrize(("exclusive", "whole", "whats"), [
    (4, 1, ["an empty buffer is sent"]), (0, 1, []), (0, 0, ["an empty buffer is sent"]),
])  # fmt: skip
def test_empty_buffer_is_sent_only_when_finished_without_exclusive_buffers(
    exclusive: int, whole: int, whats: list[str]
) -> None:
    facts = with_queue([(QUEUED, DATA, 1, 1), (SENT, DATA, 0, whole)])
    facts.find("buffers", side=SENT)["bytes"] = 0
    facts.find("pools", task=1, edge=0)["exclusive"] = exclusive
    assert found(facts, "backlog", "failed") == whats


def test_received_buffer_is_recycled_exactly_once() -> None:
    facts = tiny_job()
    first, *_, last = facts.all("buffers", side=RECYCLED, channel=0)
    facts.tables["buffers"].remove(last)
    facts.add("buffers", first, seq=10_000)
    assert found(facts, "in-flight") == [
        "a buffer is recycled that was not received, or not only once", "a buffer is never recycled",
    ]  # fmt: skip
    assert judge(facts, "in-flight", "failed").violations == 1


def test_element_left_in_queue_violates_whole_run() -> None:
    assert found(with_queue([(QUEUED, DATA, 1, 1)]), "backlog") == ["a buffer or event never left its queue"]
    assert found(with_queue([(QUEUED, EVENT, 0, 1)]), "backlog") == ["a buffer or event never left its queue"]


@pytest.mark.parametrize("column", ["number", "bytes", "backlog", "kind"])
def test_buffer_changed_in_flight_violates(column: str) -> None:
    facts = tiny_job()
    row = facts.find("buffers", side=RECEIVED, channel=0)
    row[column] = int(row[column]) + 1
    [what] = found(facts, "backlog")
    assert what in (
        f"the buffer with number {int(row['number'])} of channel 0 was changed",
        "numbers of channel 0 do not ascend, or differ between sent and received",
    )


def test_blocking_edges_and_local_channels_are_not_applicable() -> None:
    facts = tiny_job()
    for edge in facts.tables["edges"]:
        edge["exchange"] = "BLOCKING"
    assert judge(facts, "backlog").verdict is Verdict.NOT_APPLICABLE
    facts = tiny_job()
    for channel in facts.tables["channels"]:
        channel["local"] = 1
    assert [judge(facts, law).verdict for law in ("backlog", "in-flight")] == [Verdict.NOT_APPLICABLE] * 2


def test_data_beyond_granted_credit_violates() -> None:
    facts = tiny_job()
    facts.find("credits", channel=0, kind=CreditKind.INITIAL_GRANTED)["credits"] = 0
    assert found(facts, "in-flight")[0] == "a data buffer arrives without credit"


def test_credit_without_reserved_buffer_violates() -> None:
    facts = tiny_job()
    facts.find("buffers", channel=0, side=RECEIVED, kind=EVENT)["credits"] = 0
    assert found(facts, "in-flight") == ["more credit is granted than buffers are reserved"]


def test_excess_credit_violates_once_until_it_grows() -> None:
    facts = tiny_job()
    rows = facts.all("buffers", channel=0, side=RECEIVED)
    assert len(rows) > 2
    for row in rows:
        row["credits"] = int(row["credits"]) - 5
    assert found(facts, "in-flight") == ["more credit is granted than buffers are reserved"]
    rows[-1]["credits"] = int(rows[-1]["credits"]) - 5
    assert found(facts, "in-flight") == ["more credit is granted than buffers are reserved"] * 2


def test_buffer_that_arrives_after_the_end_of_its_task_needs_no_reserved_buffer() -> None:
    facts = tiny_job()
    facts.find("buffers", channel=0, side=RECEIVED, kind=EVENT)["credits"] = -1
    assert found(facts, "in-flight") == []


@pytest.mark.parametrize("latency_ms", [0, 2])
def test_credit_that_a_blocked_channel_without_exclusive_buffers_drops_violates_no_law(latency_ms: int) -> None:
    """A barrier blocks the channel, which gives back the buffers for which it announced credit (rule 6.13).

    With a latency, credit is on its way to the sender then.
    """
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(exclusive_buffers_per_channel=0, buffer_timeout_ms=0, checkpointing=CheckpointSettings(10))
    env.settings.links = (Link(latency_ns=latency_ms * NS_PER_MS),)
    script = [entry for number in range(12) for entry in (record(number), sleep(3))]
    numbers = env.add_source(ScriptedSource(script, script)).rebalance()
    numbers.map(lambda value: value).cost(Duration.of_millis(2)).set_parallelism(1)
    run = run_job(env)
    assert run.result.status is JobStatus.FINISHED
    credits = FactSet(run.facts).tables["credits"]
    void = Counter((row["kind"], row["channel"]) for row in credits if row["credits"] < 0)
    assert {kind for kind, _ in void} == {CreditKind.ANNOUNCED, CreditKind.GOT}
    assert [outcome for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED] == []
