"""Faults switched on inside the running simulator, so that the laws can be seen to fire (architecture decision D6).

Each fault sits at the point of the real mechanism: what is recorded afterwards is what the broken machine really did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from flowsim.cluster.broken_machines import (
    BreakingDeserializer,
    CarelessMailbox,
    ChainThatClosesTwice,
    ChainThatFinishesFirst,
    CreditLosingQueue,
    CreditLoss,
    FaultyViewReader,
    OverpromisingInputChannel,
    OvertakingMailbox,
    WriterThatStaysIdle,
    becomes,
    without_last_watermark,
)
from flowsim.errors import BadInput
from flowsim.facts.tracer import TaskTrace
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import ChainedOperator, JobEdge
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.connections.partition_request_client import PartitionRequestClient
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue, Transport
from flowsim.network.connections.view_reader import CreditBasedSequenceNumberingViewReader
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.writers.partitioner import KeyGroupStreamPartitioner
from flowsim.network.writers.record_writer import Collect, RecordWriter
from flowsim.streamrecord.codec import RECORD_LENGTH, Element
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.tasks.stream_task import StreamTask
from flowsim.watermark.broken_generators import FAULT_TOO_HIGH
from flowsim.watermark.watermark_to_data_output import FAULT_SPEAKS_WHILE_IDLE


class Site(Enum):
    """The machine that a fault breaks."""

    CHANNEL = "channel"
    VALVE = "valve"
    OPERATOR = "operator"
    WRITER = "writer"
    READER = "reader"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A fault that can be asked for: its name, what it breaks, and the law that must notice."""

    name: str
    site: Site
    sentence: str
    law: str | None


FAULT_KINDS: Final[dict[str, FaultKind]] = {
    kind.name: kind
    for kind in (
        FaultKind(
            "drop_element", Site.CHANNEL, "the receiver loses the record at position `at` of a channel", "channel-fifo"
        ),
        FaultKind("duplicate_element", Site.CHANNEL, "the receiver gets the record at `at` twice", "channel-fifo"),
        FaultKind(
            "swap_elements", Site.CHANNEL, "the record at `at` and the element after it change places", "channel-fifo"
        ),
        FaultKind(
            "corrupt_element", Site.CHANNEL, "the timestamp of the record at `at` arrives one higher", "channel-fifo"
        ),
        FaultKind(
            "valve_takes_maximum", Site.VALVE, "the fastest channel decides the watermark, not the slowest", "valve"
        ),
        FaultKind("window_loses_row", Site.OPERATOR, "a window takes a row in and does not add it", "window-fire"),
        FaultKind(
            "window_fires_early", Site.OPERATOR, "a window fires before the watermark has passed it", "window-fire"
        ),
        FaultKind("late_row_kept", Site.OPERATOR, "a late row is added to its window", "late-rows"),
        FaultKind("late_row_lost_early", Site.OPERATOR, "a row in time is treated as late", "late-rows"),
        FaultKind("late_row_vanishes", Site.OPERATOR, "a late row is gone without a trace", "lateness"),
        FaultKind("session_loses_rows", Site.OPERATOR, "a merge forgets what the absorbed window had", "window-fire"),
        FaultKind("window_fires_twice", Site.OPERATOR, "a window is not cleaned up and fires again", "window-fire"),
        FaultKind("purge_forgotten", Site.OPERATOR, "a purge leaves the contents of the window", "window-fire"),
        FaultKind("timer_fires_twice", Site.OPERATOR, "the first timer that fires stays in its queue", "timers"),
        FaultKind("timer_fires_early", Site.OPERATOR, "a timer fires before the watermark has reached it", "timers"),
        FaultKind("timer_lost", Site.OPERATOR, "the queue forgets the first timer it is given", "timers"),
        FaultKind("timer_under_wrong_key", Site.OPERATOR, "a timer fires under the key of what came before", "timers"),
        FaultKind(
            "async_watermark_overtakes",
            Site.OPERATOR,
            "a watermark leaves an async queue before records that wait",
            "async-order",
        ),
        FaultKind(
            "async_out_of_order",
            Site.OPERATOR,
            "a record that is done passes the head of an ordered queue",
            "async-order",
        ),
        FaultKind(
            "async_segment_dropped",
            Site.OPERATOR,
            "an unordered queue goes on although records are not done",
            "async-order",
        ),
        FaultKind(
            "async_outcome_forgotten",
            Site.OPERATOR,
            "the first outcome of a call never reaches the queue",
            "async-order",
        ),
        FaultKind(
            "async_element_not_put", Site.OPERATOR, "the first record is neither queued nor asked for", "async-order"
        ),
        FaultKind(
            "async_head_lost", Site.OPERATOR, "a record that is done leaves the queue without a trace", "async-once"
        ),
        FaultKind("async_emits_twice", Site.OPERATOR, "the results of one call are handed on twice", "async-once"),
        FaultKind("async_results_swapped", Site.OPERATOR, "two records get each other's results", "async-once"),
        FaultKind("async_emits_unfinished", Site.OPERATOR, "a record leaves before its call is answered", "async-once"),
        FaultKind(
            "async_times_out_the_done", Site.OPERATOR, "time runs out for a record whose call is answered", "async-once"
        ),
        FaultKind("async_over_capacity", Site.OPERATOR, "an async queue takes one element too many", "async-capacity"),
        FaultKind("async_calls_again", Site.OPERATOR, "the first record is asked for twice", "async-retries"),
        FaultKind(
            "async_emits_after_end",
            Site.OPERATOR,
            "the input of an async operator ends before its queue is empty",
            "async-end",
        ),
        FaultKind(
            "async_watermark_withheld",
            Site.OPERATOR,
            "the first watermark leaves an async queue, but not the operator",
            "task-watermark",
        ),
        FaultKind(
            FAULT_TOO_HIGH,
            Site.OPERATOR,
            "watermarks are ahead of what the strategy makes of the records",
            "task-watermark",
        ),
        FaultKind(FAULT_SPEAKS_WHILE_IDLE, Site.OPERATOR, "an idle strategy speaks without becoming active", "idle"),
        FaultKind("never_active_again", Site.WRITER, "an output that became idle stays so", "idle"),
        FaultKind("misroute_keys", Site.WRITER, "every key goes to the subtask after its own", "key-routing"),
        FaultKind(
            "watermark_goes_back", Site.WRITER, "after `at` watermarks one is sent that is lower", "watermark-monotone"
        ),
        FaultKind("watermark_after_end_of_data", Site.WRITER, "a watermark follows EndOfData", "channel-end"),
        FaultKind(
            "lose_record_in_chain", Site.WRITER, "record `at` disappears between operator and writer", "conservation"
        ),
        FaultKind("send_without_credit", Site.READER, "the sender spends no credit for a data buffer", "credits"),
        FaultKind("lose_credit", Site.READER, "a credit announcement never reaches the sender", "credits"),
        FaultKind(
            "leak_segment", Site.WRITER, "a segment of an output pool is handed out and never recycled", "segments"
        ),
        FaultKind("backlog_counts_events", Site.READER, "an event that waits counts as a data buffer", "backlog"),
        FaultKind("credit_from_nowhere", Site.READER, "the receiver announces a credit without a buffer", "in-flight"),
        FaultKind("mail_overtakes", Site.TASK, "of two equal mails the later one runs first", "mails"),
        FaultKind("yield_runs_any_mail", Site.TASK, "a yield runs a mail of a lower priority", "mails"),
        FaultKind(
            "finish_before_end_input", Site.TASK, "the operators finish before their input has ended", "life-cycle"
        ),
        FaultKind("close_twice", Site.TASK, "the tail of the chain is closed twice", "life-cycle"),
        FaultKind("drain_without_max_watermark", Site.TASK, "a source drains without the last watermark", "end"),
        FaultKind("reenter_action", Site.TASK, "a mail runs while the task waits for its time to pass", "actions"),
        FaultKind("stop_task", Site.TASK, "the task takes nothing from its input any more", None),
    )
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault to switch on. ``operator``: name of an operator of the task it strikes; ``subtask`` None: every one.

    ``channel``: channel id, None: every channel of the task. ``at``: see the sentence of the kind, from 0.
    """

    fault: str
    operator: str | None = None
    subtask: int | None = None
    channel: int | None = None
    at: int = 0


class DeployedFaults:
    """The faults of one run, asked by the deployment for each machine it builds. Raises BadInput for unknown ones."""

    def __init__(self, faults: Sequence[Fault], execution: ExecutionGraph) -> None:
        self._faults = tuple(faults)
        self._execution = execution
        self._lost_credit = {fault: CreditLoss(fault.channel) for fault in faults if fault.fault == "lose_credit"}
        names = [o.node.name for v in execution.job.vertices for o in v.operators]
        for fault in self._faults:
            if fault.fault not in FAULT_KINDS:
                raise BadInput(f"unknown fault '{fault.fault}'; there are: {', '.join(FAULT_KINDS)}")
            if fault.operator is not None and fault.operator not in names:
                raise BadInput(f"fault {fault.fault}: no operator '{fault.operator}'; there are: {', '.join(names)}")

    def _of(self, site: Site, subtask: Subtask) -> list[Fault]:
        return [
            fault
            for fault in self._faults
            if FAULT_KINDS[fault.fault].site is site
            and (fault.subtask is None or fault.subtask == subtask.index)
            and (fault.operator is None or fault.operator in [o.node.name for o in subtask.vertex.operators])
        ]

    def of_input(self, subtask: Subtask) -> frozenset[str]:
        """Faults of the valve of a task."""
        return frozenset(fault.fault for fault in self._of(Site.VALVE, subtask))

    def of_operator(self, subtask: Subtask, chained: ChainedOperator) -> frozenset[str]:
        """Faults inside one operator."""
        return frozenset(
            fault.fault
            for fault in self._of(Site.OPERATOR, subtask)
            if fault.operator is None or fault.operator == chained.node.name
        )

    def deserializer_factory(self, subtask: Subtask, task: StreamTask) -> Callable[[], RecordDeserializer]:
        """Of the inputs of a task, whose elements may be broken on the way, or stop the task after some."""
        faults = self._of(Site.CHANNEL, subtask)
        stops = [fault.at for fault in self._of(Site.TASK, subtask) if fault.fault == "stop_task" and fault.at > 0]
        if not faults and not stops:
            return RecordDeserializer
        seen: dict[tuple[int, int], int] = {}
        taken = [0]

        def broken(channel: InputChannel, elements: Iterable[Element]) -> Iterable[Element]:
            for number, fault in enumerate(faults):
                if fault.channel is None or fault.channel == channel.channel_id:
                    elements = _break(elements, fault, seen, (number, channel.channel_id))
            return _stalling(elements, task.stall, min(stops), taken) if stops else elements

        return lambda: BreakingDeserializer(broken)

    def apply_to_writer(self, subtask: Subtask, edge: JobEdge, writer: RecordWriter) -> None:
        for fault in self._of(Site.WRITER, subtask):
            if fault.fault == "misroute_keys" and isinstance(writer.partitioner, KeyGroupStreamPartitioner):
                writer.partitioner.fault_offset = 1
            elif fault.fault == "watermark_goes_back":
                writer.emit_watermark = _going_back(writer.emit_watermark, fault.at)  # type: ignore[assignment]
            elif fault.fault == "watermark_after_end_of_data":
                writer.watermark_after_end_of_data = True
            elif fault.fault == "lose_record_in_chain":
                writer.collect = _losing(writer.collect, fault.at)
            elif fault.fault == "never_active_again":
                becomes(writer, WriterThatStaysIdle)
            elif fault.fault == "leak_segment":
                writer.partition.pool.request_segment(0)

    def _of_reader(self, sender: int, channel: int, name: str) -> int:
        """How many faults of a kind strike the sending half of a channel."""
        faults = self._of(Site.READER, self._execution.subtasks[sender])
        return sum(fault.fault == name and fault.channel in (None, channel) for fault in faults)

    def create_remote_input_channel(
        self,
        source: int,
        gate: SingleInputGate,
        index: int,
        channel_id: int,
        exclusive_buffers: int,
        client: PartitionRequestClient,
        network_pool: NetworkBufferPool,
        trace: TaskTrace | None,
    ) -> RemoteInputChannel:
        extra_credits = self._of_reader(source, channel_id, "credit_from_nowhere")
        if not extra_credits:
            return RemoteInputChannel(gate, index, channel_id, exclusive_buffers, client, network_pool, trace)
        channel = OverpromisingInputChannel(gate, index, channel_id, exclusive_buffers, client, network_pool, trace)
        channel.extra_credits = extra_credits
        return channel

    def create_view_reader(
        self,
        sender: int,
        queue: PartitionRequestQueue,
        receiver: RemoteInputChannel,
        initial_credit: int,
        channel_id: int,
        trace: TaskTrace | None,
    ) -> CreditBasedSequenceNumberingViewReader:
        """The sending half of a channel, at task ``sender``."""
        is_free = self._of_reader(sender, channel_id, "send_without_credit") > 0
        counts_events = self._of_reader(sender, channel_id, "backlog_counts_events") > 0
        if not is_free and not counts_events:
            return CreditBasedSequenceNumberingViewReader(queue, receiver, initial_credit, channel_id, trace)
        reader = FaultyViewReader(queue, receiver, initial_credit, channel_id, trace)
        reader.free_buffers, reader.counts_events = int(is_free), counts_events
        return reader

    def create_partition_request_queue(
        self, sender: int, transport: Transport, outbox: Outbox
    ) -> PartitionRequestQueue:
        faults = self._of(Site.READER, self._execution.subtasks[sender])
        losses = [self._lost_credit[fault] for fault in faults if fault in self._lost_credit]
        return CreditLosingQueue(transport, outbox, losses) if losses else PartitionRequestQueue(transport, outbox)

    def apply_to_tasks(self, tasks: Sequence[StreamTask]) -> None:
        for subtask, task in zip(self._execution.subtasks, tasks, strict=True):
            for fault in self._of(Site.TASK, subtask):
                _break_task(task, fault)


def _break_task(task: StreamTask, fault: Fault) -> None:
    match fault.fault:
        case "reenter_action":
            task.batches.reentrancy_fault = True
        case "mail_overtakes":
            becomes(task.mailbox, OvertakingMailbox)
            OvertakingMailbox.put_two(task.mailbox)  # type: ignore[arg-type]
        case "yield_runs_any_mail":
            becomes(task.mailbox, CarelessMailbox)
        case "finish_before_end_input":
            becomes(task.chain, ChainThatFinishesFirst)
        case "close_twice":
            becomes(task.chain, ChainThatClosesTwice)
        case "drain_without_max_watermark":
            without_last_watermark(task.input)
        case _ if fault.at == 0:
            task.stall()


def _break(
    elements: Iterable[Element], fault: Fault, seen: dict[tuple[int, int], int], place: tuple[int, int]
) -> Iterator[Element]:
    """``seen`` counts the records of each place over all its buffers."""
    held: Element | None = None
    for element in elements:
        if held is not None:
            yield element
            yield held
            held = None
            continue
        if len(element) != RECORD_LENGTH:
            yield element
            continue
        position = seen.get(place, 0)
        seen[place] = position + 1
        if position != fault.at:
            yield element
        elif fault.fault == "duplicate_element":
            yield element
            yield element
        elif fault.fault == "swap_elements":
            held = element
        elif fault.fault == "corrupt_element":
            timestamp, value = element
            yield ((timestamp + 1 if isinstance(timestamp, int) else 0), value)
    if held is not None:
        yield held


def _losing(collect: Collect, at: int) -> Collect:
    count = 0

    def losing(value: object, timestamp: int | None) -> None:
        nonlocal count
        count += 1
        if count != at + 1:
            collect(value, timestamp)

    return losing


def _going_back(emit: Callable[[int], None], at: int) -> Callable[[int], None]:
    count = 0

    def going_back(timestamp: int) -> None:
        nonlocal count
        count += 1
        emit(timestamp)
        if count == at + 1:
            emit(timestamp - 1)

    return going_back


def _stalling(elements: Iterable[Element], stall: Callable[[], None], at: int, seen: list[int]) -> Iterator[Element]:
    """``seen`` holds how many records passed so far; with record ``at`` the task stops."""
    for element in elements:
        if len(element) == RECORD_LENGTH:
            seen[0] += 1
            if seen[0] == at:
                stall()
        yield element
