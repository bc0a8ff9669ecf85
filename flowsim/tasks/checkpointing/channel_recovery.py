"""Replays the in-flight data of a restored task before it is RUNNING (rule 12.92). Flink: StreamTask.restoreStateAndGates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.network.gates.recovered_input_channel import RecoveredInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.blocking_result_partition import BlockingResultPartition
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.state.redistribution.channel_state_handles import ResultSubpartitionInfo
from flowsim.streamrecord.events import EndOfOutputChannelStateEvent
from flowsim.tasks.checkpointing.channel_state_reader import Contents, read_input_data, read_output_data
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing


class RecoveringTask(Protocol):
    """What the recovery needs of its task."""

    writers: Sequence[RecordWriter]

    def mailbox_executor(self, priority: int) -> MailboxExecutor: ...


class ChannelRecovery:
    """The stored data of the channels of one attempt.

    ``gates``: all gates of the task; until their stored data has been read, no sender is connected to them.
    """

    __slots__ = ("_task", "_gates", "_checkpointing")

    def __init__(
        self, task: RecoveringTask, gates: Sequence[SingleInputGate], checkpointing: TaskCheckpointing
    ) -> None:
        self._task = task
        self._gates = gates
        self._checkpointing = checkpointing
        for gate in gates:
            gate.await_recovery()

    def recover_outputs(self) -> None:
        """Queues the stored data of outputs, and its end, in all subpartitions; called before the operators open."""
        restore = self._checkpointing.restore
        stored = {} if restore is None else read_output_data(restore.states.values(), self._checkpointing.streams)
        for number, writer in enumerate(self._task.writers):
            if isinstance(writer.partition, BlockingResultPartition):
                continue
            for subpartition in range(writer.partition.count):
                for content in stored.get(ResultSubpartitionInfo(number, subpartition), ()):
                    writer.recover(subpartition, content)
                writer.recover(subpartition, EndOfOutputChannelStateEvent())

    def recover_inputs(self, on_recovered: Callable[[], None]) -> None:
        """Lets the inputs read their stored data; calls back when all of it has been read."""
        restore = self._checkpointing.restore
        stored = {} if restore is None else read_input_data(restore.states.values(), self._checkpointing.streams)
        left = len(self._gates)
        mails = self._task.mailbox_executor(-1)

        def on_gate(gate: SingleInputGate) -> None:
            nonlocal left
            left -= 1
            mails.execute(gate.request_partitions, "input gate request partitions")
            if not left:
                on_recovered()

        for number, gate in enumerate(self._gates):
            of_gate = {info.channel: contents for info, contents in stored.items() if info.gate == number}
            _recover_gate(gate, of_gate, partial(on_gate, gate))
        if not self._gates:
            on_recovered()


def _recover_gate(gate: SingleInputGate, stored: Mapping[int, Contents], on_recovered: Callable[[], None]) -> None:
    left = len(stored)

    def on_consumed() -> None:
        nonlocal left
        left -= 1
        if not left:
            on_recovered()

    channels = {}
    for index in sorted(stored):
        channel = gate.channel(index)
        channels[index] = RecoveredInputChannel(gate, channel.index, channel.channel_id, stored[index], on_consumed)
    gate.recover(channels)
    if not stored:
        on_recovered()
