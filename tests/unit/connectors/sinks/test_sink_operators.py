"""Writer and committer operators through checkpoints, failures and the end of input (rules 12.30-12.34, 12.131-12.136)."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from flowsim.connectors.sinks.committables.commit_request import CommitFailed, CommitRequest
from flowsim.connectors.sinks.committer_operators import CommitterOperator, GlobalCommitterOperator
from flowsim.connectors.sinks.sink_writer_operator import SinkWriterOperator
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput, ElementAfterEndOfInput, JobFailed
from flowsim.facts.kinds import CommittableAction, Level
from flowsim.graph.job_graph import create_job_graph
from flowsim.operators.sink import InitContext
from flowsim.recording.memory import MemoryRecorder
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped
from tests.support.jobs.requested_checkpoints import ON_REQUEST
from tests.support.operators.sink_job import SinkJob


class ListSink:
    """One committable per writer and checkpoint: the subtask and its values; a commit appends it to ``committed``."""

    kind = "list"
    params = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.committed: list[object] = []
        self.retries = 0
        self.log: list[str] = []

    def create_writer(self, context: InitContext) -> ListWriter:
        self.log.append(
            f"writer {context.subtask_index} attempt {context.attempt_number} from {context.restored_checkpoint_id}"
        )
        return ListWriter(self, context.subtask_index)

    def restore_writer(self, context: InitContext, recovered_state: Sequence[object]) -> ListWriter:
        writer = self.create_writer(context)
        writer.written = sum(recovered_state)  # type: ignore[arg-type]
        return writer

    def create_committer(self, context: InitContext) -> ListSink:
        return self

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        for request in requests:
            if self.retries:
                self.retries -= 1
                request.retry_later()
            else:
                self.committed.append(request.committable)

    def close(self) -> None:
        self.log.append("committer closed")


class ListWriter:
    def __init__(self, sink: ListSink, subtask: int) -> None:
        self.sink, self.subtask, self.values, self.written = sink, subtask, [], 0

    def write(self, value: object, timestamp: int | None) -> None:
        self.values.append(value)
        self.written += 1

    def flush(self, end_of_input: bool) -> None:
        self.sink.log.append(f"flush {end_of_input}")

    def prepare_commit(self) -> Sequence[object]:
        values, self.values = self.values, []
        return [[self.subtask, *values]] if values else []

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        return [self.written]

    def close(self) -> None:
        self.sink.log.append("writer closed")


def test_records_before_a_barrier_are_committed_when_their_checkpoint_completes() -> None:
    sink = ListSink()
    job = SinkJob(lambda: sink, parallelism=2)
    job.subtasks[0].write("a", "b")
    job.subtasks[1].write("c")
    job.snapshot(1)
    assert sink.committed == []
    job.subtasks[0].write("d")
    job.notify(1)
    assert sink.committed == [[0, "a", "b"], [1, "c"]]
    job.checkpoint(2)
    assert sink.committed == [[0, "a", "b"], [1, "c"], [0, "d"]]


def test_lost_notification_is_made_up_for_by_the_restore_before_the_first_record() -> None:
    sink = ListSink()
    job = SinkJob(lambda: sink)
    job.subtasks[0].write("a")
    job.checkpoint(1, notify=False)
    job.subtasks[0].write("b")
    job.fail()
    assert sink.committed == [[0, "a"]]
    assert sink.log[-4:] == ["flush False", "committer closed", "writer closed", "writer 0 attempt 1 from 1"]


def test_every_restore_commits_the_committables_of_its_checkpoint_again() -> None:
    sink = ListSink()
    job = SinkJob(lambda: sink)
    job.subtasks[0].write("a")
    job.checkpoint(1)
    job.fail()
    job.fail()
    assert sink.committed == [[0, "a"]] * 3  # rule 12.135
    job.checkpoint(2)
    job.fail()
    assert sink.committed == [[0, "a"]] * 3


def test_writer_state_is_stored_after_the_committables_and_restored() -> None:
    job = SinkJob(ListSink, parallelism=2)
    job.subtasks[0].write("a", "b")
    job.subtasks[1].write("c")
    job.checkpoint(1)
    job.fail(parallelism=1)
    assert job.subtasks[0].writer.writer.written == 3  # type: ignore[attr-defined]


def test_committables_of_several_old_committers_are_committed_by_the_new_one() -> None:
    sink = ListSink()
    job = SinkJob(lambda: sink, parallelism=3)
    for index, subtask in enumerate(job.subtasks):
        subtask.write(index)
    job.checkpoint(1, notify=False)
    job.fail(parallelism=1)
    assert sink.committed == [[0, 0], [1, 1], [2, 2]]


def test_final_checkpoint_commits_what_the_end_of_input_left() -> None:
    sink = ListSink()
    job = SinkJob(lambda: sink)
    job.subtasks[0].write("a")
    job.checkpoint(1)
    job.subtasks[0].write("b")
    job.subtasks[0].end_input()
    assert sink.committed == [[0, "a"]]
    with pytest.raises(ElementAfterEndOfInput, match="Received element after endOfInput: c"):
        job.subtasks[0].write("c")
    job.checkpoint(2)
    assert sink.committed == [[0, "a"], [0, "b"]]
    assert [entry for entry in sink.log if entry.startswith("flush")] == ["flush False", "flush True"]


def test_commit_is_retried_ten_times_and_then_fails_the_task() -> None:
    sink = ListSink()
    job = SinkJob(lambda: sink)
    job.subtasks[0].write("a")
    sink.retries = 10
    job.checkpoint(1)
    assert sink.committed == [[0, "a"]]
    job.subtasks[0].write("b")
    sink.retries = 11
    with pytest.raises(CommitFailed, match="Failed to commit 1 committables after 10 retries"):
        job.checkpoint(2)


def test_number_of_retries_is_a_setting_of_the_job() -> None:
    sink = ListSink()
    sink.retries = 3
    env = env_with(sink, parallelism=1).configure(committer_retries=2)
    with pytest.raises(JobFailed, match="Failed to commit 1 committables after 2 retries"):
        env.execute()
    sink.retries = 3
    env_with(sink, parallelism=1).configure(committer_retries=3).execute()
    assert sink.committed == [[0, "a", "b"]]


def test_failing_restore_closes_the_committer() -> None:
    sink = ListSink()
    job = SinkJob(lambda: sink)
    job.subtasks[0].write("a")
    job.checkpoint(1, notify=False)
    sink.retries = 99
    with pytest.raises(CommitFailed):
        job.fail()
    assert sink.log[-1] == "committer closed"


def test_state_of_another_operator_is_refused() -> None:
    job = SinkJob(ListSink)
    job.checkpoint(1)
    job.completed.subtasks[0][1]["streaming_committer_raw_states"] = (7,)  # type: ignore[union-attr]
    with pytest.raises(BadInput, match="the state of a committer: expected its committables, got 7"):
        job.fail()


def test_sink_with_committer_needs_writers_that_prepare_commits() -> None:
    class Plain(ListSink):
        def create_writer(self, context: InitContext) -> object:  # type: ignore[override]
            writer = ListSink.create_writer(self, context)
            return SimpleNamespace(write=writer.write, flush=writer.flush, close=writer.close)

    with pytest.raises(BadInput, match=r"its writer needs prepare_commit\(\), but SimpleNamespace has none"):
        SinkJob(Plain)


def test_global_committer_waits_for_all_committers() -> None:
    sink, last = ListSink(), ListSink()
    with OneInputOperatorHarness(GlobalCommitterOperator(last.create_committer)) as globally:
        for index in range(2):
            committer = CommitterOperator(sink.create_committer, emits=True)
            writer = SinkWriterOperator(sink)
            with (
                OneInputOperatorHarness(committer, subtask_index=index, parallelism=2) as second,
                OneInputOperatorHarness(writer, subtask_index=index, parallelism=2) as first,
            ):
                first.process_element(f"value {index}")
                writer.prepare_snapshot_pre_barrier(1)
                second.process_elements([(value, timestamp) for _, value, timestamp in first.output])  # type: ignore[misc]
                committer.notify_checkpoint_complete(1)
                assert last.committed == []
                globally.process_elements([(value, timestamp) for _, value, timestamp in second.output])  # type: ignore[misc]
    assert last.committed == [[0, "value 0"], [1, "value 1"]]


def test_steps_of_committables_are_recorded() -> None:
    recorder, sink = MemoryRecorder(Level.ELEMENTS), ListSink()
    job = SinkJob(lambda: sink, recorder=recorder)
    job.subtasks[0].write("a", "b")
    sink.retries = 1
    job.checkpoint(1, notify=False)
    job.fail()
    job.subtasks[0].write("c")
    job.checkpoint(3)
    rows = [row[4:] for row in recorder.rows("committables")]
    first, second = fingerprint(None, (0, [0, "a", "b"])), fingerprint(None, (0, [0, "c"]))
    total = wrapped((fingerprint(None, "a") + fingerprint(None, "b")) % 2**64)
    assert rows == [
        (1, CommittableAction.PREPARED, first, 2, total),
        (1, CommittableAction.RESTORED, first, 0, 0),
        (1, CommittableAction.RETRIED, first, 0, 0),
        (1, CommittableAction.COMMITTED, first, 0, 0),
        (3, CommittableAction.PREPARED, second, 1, fingerprint(None, "c")),
        (3, CommittableAction.COMMITTED, second, 0, 0),
    ]


def test_failing_commit_records_what_was_committed_before() -> None:
    recorder, sink = MemoryRecorder(Level.ELEMENTS), ListSink()
    job = SinkJob(lambda: sink, parallelism=1, recorder=recorder)
    job.subtasks[0].write("a")
    job.snapshot(1)
    job.subtasks[0].write("b")
    job.snapshot(2)
    commit = sink.commit

    def failing(requests: Sequence[CommitRequest[object]]) -> None:
        if sink.committed:
            raise OSError("gone")
        commit(requests)

    sink.commit = failing  # type: ignore[method-assign]
    with pytest.raises(OSError, match="gone"):
        job.notify(2)
    actions = [(row[4], CommittableAction(row[5]).name) for row in recorder.rows("committables")]
    assert actions == [(1, "PREPARED"), (2, "PREPARED"), (1, "COMMITTED")]


def env_with(sink: object, parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["a", "b"]).rebalance().sink_to(sink).name("out").set_parallelism(parallelism)  # type: ignore[arg-type]
    return env


class GlobalSink(ListSink):
    def create_global_committer(self, context: InitContext) -> ListSink:
        return self


def test_sink_with_committer_becomes_two_chained_operators() -> None:
    graph = create_job_graph(env_with(ListSink()).stream_graph())
    assert [vertex.name for vertex in graph.vertices] == ["Source: Collection Source", "out -> out: Committer"]
    writer, committer = graph.vertices[1].operators
    assert (writer.node.description.kind, committer.node.description.kind) == ("sink", "committer")
    assert (writer.node.uid, committer.node.uid) == (None, None)
    assert len({writer.operator_id, committer.operator_id}) == 2


def test_global_committer_is_a_task_of_one_subtask() -> None:
    graph = create_job_graph(env_with(GlobalSink()).stream_graph())
    assert [(vertex.name, vertex.parallelism) for vertex in graph.vertices[1:]] == [
        ("out -> out: Committer", 2),
        ("out: Global Committer", 1),
    ]
    assert graph.edges[-1].partitioner.name == "GLOBAL"


def test_job_without_checkpoints_commits_at_the_end_of_input() -> None:
    sink, last = ListSink(), GlobalSink()
    env_with(sink, parallelism=1).execute()
    env_with(last).execute()
    assert sink.committed == [[0, "a", "b"]]
    assert sorted(map(str, last.committed)) == ["[0, 'a']"] * 2 + ["[1, 'b']"] * 2


def test_sink_without_committer_stays_one_operator_in_a_job_with_checkpoints() -> None:
    class Plain:
        kind, params = "plain", {}

        def create_writer(self, context: InitContext) -> object:
            return ListWriter(ListSink(), 0)

    env = env_with(Plain())
    env.settings.checkpointing = ON_REQUEST
    assert [vertex.name for vertex in create_job_graph(env.stream_graph()).vertices][1:] == ["out"]
