"""Sends what a task reports of its checkpoints to the job. Flink: RpcCheckpointResponder."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.outbox import Outbox
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.tasks.checkpointing.checkpoint_observer import CheckpointObserver
from flowsim.tasks.checkpointing.job_master_gateway import JobMasterGateway
from flowsim.tasks.task_state import TaskState


class RpcCheckpointResponder:
    """The TaskStateManager of a task: its calls leave with its batch (decision D4). Flink: RpcCheckpointResponder."""

    __slots__ = ("_gateway", "_outbox", "_observer")

    def __init__(self, gateway: JobMasterGateway, outbox: Outbox, observer: CheckpointObserver | None) -> None:
        self._gateway = gateway
        self._outbox = outbox
        self._observer = observer

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        if self._observer is not None:
            snapshot = self._observer.on_acknowledge(meta_data, metrics, snapshot)
        self._send(lambda: self._gateway.report_task_state_snapshots(meta_data, metrics, snapshot))

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        self._send(lambda: self._gateway.report_incomplete_task_state_snapshots(meta_data, metrics))

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        if self._observer is not None:
            self._observer.on_decline(checkpoint_id, cause)
        self._send(lambda: self._gateway.decline_checkpoint(checkpoint_id, cause))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Does nothing: there is no local state."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Does nothing: there is no local state."""

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        self._send(lambda: self._gateway.send_acknowledge_checkpoint_event(checkpoint_id))

    def notify_end_of_data(self) -> None:
        self._send(self._gateway.notify_end_of_data)

    def update_task_execution_state(self, state: TaskState) -> None:
        self._send(lambda: self._gateway.update_task_execution_state(state))

    def _send(self, report: Callable[[], None]) -> None:
        if self._outbox.sealed:
            self._outbox.hold_report(report)
        else:
            report()
