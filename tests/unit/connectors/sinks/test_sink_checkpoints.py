"""A writer and its committer through checkpoints, a restore and the end of input (rules 12.30-12.34, 12.133, 12.136)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flowsim.connectors.sinks.committables.commit_request import CommitFailed, CommitRequest
from flowsim.connectors.sinks.committables.committable_message import CommittableSummary, CommittableWithLineage
from flowsim.connectors.sinks.committer_checkpoints import CommitterCheckpoints, GlobalCommitterCheckpoints
from flowsim.connectors.sinks.sink_writer_checkpoints import SinkWriterCheckpoints

Message = CommittableSummary | CommittableWithLineage[str]


class Writer:
    """One committable for all records since the last checkpoint."""

    def __init__(self) -> None:
        self.records: list[str] = []
        self.flushes: list[bool] = []

    def flush(self, end_of_input: bool) -> None:
        self.flushes.append(end_of_input)

    def prepare_commit(self) -> Sequence[str]:
        committables = ["+".join(self.records)] if self.records else []
        self.records.clear()
        return committables


class Committed:
    """The calls of the committer; the first ones may fail."""

    def __init__(self, failures: int = 0) -> None:
        self.calls: list[list[str]] = []
        self.failures = failures

    def commit(self, requests: Sequence[CommitRequest[str]]) -> None:
        self.calls.append([request.committable for request in requests])
        if self.failures:
            self.failures -= 1
            for request in requests:
                request.retry_later()


class Received:
    def __init__(self) -> None:
        self.messages: list[Message] = []

    def emit(self, message: Message) -> None:
        self.messages.append(message)


class Forward:
    """Passes committables to the committer of the same chain."""

    def __init__(self, committer: CommitterCheckpoints[str]) -> None:
        self.committer = committer

    def emit(self, message: Message) -> None:
        self.committer.add_message(message)


class Sink:
    def __init__(self, failures: int = 0, restored: int = 0) -> None:
        self.writer = Writer()
        self.committed = Committed(failures)
        self.committer: CommitterCheckpoints[str] = CommitterCheckpoints(self.committed, 0, 1)
        self.checkpoints = SinkWriterCheckpoints(self.writer, Forward(self.committer), 0, 1, restored)


def test_committables_leave_the_writer_before_the_barrier_and_are_committed_with_their_checkpoint() -> None:
    sink = Sink()
    sink.writer.records += ["a", "b"]
    sink.checkpoints.prepare_snapshot_pre_barrier(1)
    sink.writer.records.append("c")
    sink.checkpoints.prepare_snapshot_pre_barrier(2)
    sink.checkpoints.prepare_snapshot_pre_barrier(3)
    assert (sink.committed.calls, sink.committer.collector.pending) == ([], 2)
    sink.committer.notify_checkpoint_complete(3)
    sink.committer.notify_checkpoint_complete(1)
    assert sink.committed.calls == [["a+b"], ["c"]]
    assert sink.committer.snapshot_state() == ()


def test_writer_sends_a_summary_first() -> None:
    received = Received()
    writer = Writer()
    writer.records.append("a")
    SinkWriterCheckpoints(writer, received, 1, 3).prepare_snapshot_pre_barrier(5)
    assert received.messages == [CommittableSummary(1, 3, 5, 1), CommittableWithLineage("a", 5, 1)]
    assert writer.flushes == [False]


def test_last_committables_have_the_next_id_and_wait_for_a_checkpoint() -> None:
    sink = Sink(restored=4)
    sink.writer.records.append("tail")
    sink.checkpoints.end_input()
    sink.checkpoints.end_input()
    sink.checkpoints.prepare_snapshot_pre_barrier(5)
    assert (sink.checkpoints.last_known_checkpoint_id, sink.writer.flushes) == (5, [True])
    sink.committer.end_input(is_batch_mode=False, is_checkpointing_enabled=True)
    assert sink.committed.calls == []
    sink.committer.notify_checkpoint_complete(6)
    assert sink.committed.calls == [["tail"]]


@pytest.mark.parametrize(("is_batch_mode", "is_checkpointing_enabled"), [(True, True), (False, False)])
def test_end_of_input_commits_where_no_checkpoint_does(is_batch_mode: bool, is_checkpointing_enabled: bool) -> None:
    sink = Sink()
    sink.writer.records.append("a")
    sink.checkpoints.end_input()
    sink.committer.end_input(is_batch_mode=is_batch_mode, is_checkpointing_enabled=is_checkpointing_enabled)
    assert sink.committed.calls == [["a"]]


def test_restore_commits_again_what_the_restored_checkpoint_holds() -> None:
    """Also from two old committers; what belongs to a later checkpoint waits (rules 12.134, 12.135)."""
    states = []
    for name in ("a", "b"):
        sink = Sink()
        sink.writer.records.append(name)
        sink.checkpoints.prepare_snapshot_pre_barrier(1)
        sink.writer.records.append(f"late {name}")
        sink.checkpoints.end_input()
        states.append(sink.committer.snapshot_state())
    restored = Sink()
    restored.committer.restore(states, 1)
    assert restored.committed.calls == [["a", "b"]]
    restored.committer.notify_checkpoint_complete(2)
    assert restored.committed.calls[1:] == [["late a", "late b"]]


def test_retries_are_limited() -> None:
    sink = Sink(failures=11)
    sink.writer.records.append("a")
    sink.checkpoints.prepare_snapshot_pre_barrier(1)
    with pytest.raises(CommitFailed, match="after 10 retries"):
        sink.committer.notify_checkpoint_complete(1)
    assert len(sink.committed.calls) == 11


def test_committer_sends_what_it_committed() -> None:
    received = Received()
    committer: CommitterCheckpoints[str] = CommitterCheckpoints(Committed(), 0, 2, received)
    committer.add_message(CommittableSummary(0, 1, 1, 1))
    committer.add_message(CommittableWithLineage("a", 1, 0))
    committer.notify_checkpoint_complete(1)
    assert received.messages == [CommittableSummary(0, 1, 1, 1), CommittableWithLineage("a", 1, 0)]


def test_global_committer_waits_for_all_writers_and_keeps_the_order() -> None:
    committed = Committed()
    committer: GlobalCommitterCheckpoints[str] = GlobalCommitterCheckpoints(committed, commits_on_input=False)
    for checkpoint, subtask in ((1, 0), (2, 0), (2, 1)):
        committer.add_message(CommittableSummary(subtask, 2, checkpoint, 1))
        committer.add_message(CommittableWithLineage(f"{checkpoint}.{subtask}", checkpoint, subtask))
    committer.notify_checkpoint_complete(2)
    assert committed.calls == []
    committer.add_message(CommittableSummary(1, 2, 1, 0))
    committer.notify_checkpoint_complete(1)
    assert committed.calls == [["1.0"], ["2.0", "2.1"]]


def test_global_committer_behind_a_committer_commits_at_once() -> None:
    committed = Committed()
    committer: GlobalCommitterCheckpoints[str] = GlobalCommitterCheckpoints(committed, commits_on_input=True)
    committer.add_message(CommittableSummary(0, 1, 1, 1))
    committer.add_message(CommittableWithLineage("a", 1, 0))
    committer.notify_checkpoint_complete(1)
    assert committed.calls == [["a"]]
    snapshot = Sink()
    snapshot.writer.records.append("b")
    snapshot.checkpoints.prepare_snapshot_pre_barrier(2)
    committer.restore([snapshot.committer.snapshot_state()], 2)
    assert committed.calls == [["a"], ["b"]]
