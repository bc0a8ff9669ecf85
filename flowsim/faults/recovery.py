"""Faults of checkpoints: what a task stores, restores and is notified of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.state.snapshots.stored_streams import (
    CheckpointStreams,
    OperatorStateStream,
    StoredStream,
    TimerStream,
)
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.tasks.checkpointing.job_master_gateway import JobMasterGateway, TaskCheckpointing
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_state import TaskState


def faulty_checkpointing(
    task: StreamTask, checkpointing: TaskCheckpointing, faults: Collection[str]
) -> TaskCheckpointing:
    """Returns the checkpoints of an attempt with these faults."""
    gateway, streams, restore = checkpointing.gateway, checkpointing.streams, checkpointing.restore
    if "notified_before_completion" in faults:
        gateway = HastyGateway(gateway, task)
    if "state_lost_at_restore" in faults and restore is not None:
        restore = replace(restore, states={})
    if "timer_lost_at_restore" in faults:
        streams = StreamsWithoutTimer(streams)
    if "source_skips_at_restore" in faults:
        streams = StreamsOfLaterPosition(streams)
    return TaskCheckpointing(checkpointing.settings, gateway, streams, restore)


class _Streams:
    """Streams that are read with a fault."""

    def __init__(self, streams: CheckpointStreams) -> None:
        self._streams = streams
        self._written: set[str] = set()

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        written = self._streams.write(checkpoint_id, operator_id, subtask, stream)
        self._written.add(written)
        return written

    def read(self, stream_id: str) -> StoredStream:
        """Returns what this attempt wrote without a change, and what it restores with one."""
        stream = self._streams.read(stream_id)
        return stream if stream_id in self._written else self._restored(stream)

    def _restored(self, stream: StoredStream) -> StoredStream:
        raise NotImplementedError


class StreamsWithoutTimer(_Streams):
    """Loses the first timer of each operator."""

    def _restored(self, stream: StoredStream) -> StoredStream:
        if not isinstance(stream, TimerStream) or not stream.timers:
            return stream
        first = min(group for group, timers in stream.timers.items() if timers)
        return TimerStream({**stream.timers, first: stream.timers[first][1:]})


class StreamsOfLaterPosition(_Streams):
    """Adds 1 to each restored position that is a number."""

    def _restored(self, stream: StoredStream) -> StoredStream:
        if not isinstance(stream, OperatorStateStream):
            return stream
        return OperatorStateStream(tuple(each + 1 if isinstance(each, int) else each for each in stream.elements))


class HastyGateway:
    """Notifies the task of the completion of a checkpoint when the task acknowledges it."""

    def __init__(self, gateway: JobMasterGateway, task: StreamTask) -> None:
        self._gateway = gateway
        self._task = task

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        self._gateway.report_task_state_snapshots(meta_data, metrics, snapshot)
        if self._task.checkpoints is not None:
            self._task.checkpoints.stream_task.notify_checkpoint_complete(meta_data.checkpoint_id)

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        self._gateway.report_incomplete_task_state_snapshots(meta_data, metrics)

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        self._gateway.decline_checkpoint(checkpoint_id, cause)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._gateway.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._gateway.notify_checkpoint_aborted(checkpoint_id)

    def notify_end_of_data(self) -> None:
        self._gateway.notify_end_of_data()

    def update_task_execution_state(self, state: TaskState) -> None:
        self._gateway.update_task_execution_state(state)

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        self._gateway.send_acknowledge_checkpoint_event(checkpoint_id)
