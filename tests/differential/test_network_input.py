"""StreamTaskNetworkInput beside the real one: what runs between elements and events, and when buffers are recycled (7.15-7.18).

Elements and mails play scripts: they put mails, yield, fill the output, or let buffers arrive. A script is text that both
sides read (see ``NetworkInputs.java``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from flowsim.mailbox.mail import MailOptions
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.network.buffers.buffer import FREEING, BufferSlice, MemorySegment, NetworkBuffer
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.connections.partition_request_client import CreditedChannel, PartitionRequestClient
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.input_gate import AvailabilityHelper
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.operators.stream_operator import DataInputStatus, OperatorInput
from flowsim.streamrecord.codec import (
    encode_latency_marker_into,
    encode_record_into,
    encode_status_into,
    encode_watermark,
)
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.task_clock import TaskClock
from flowsim.tasks.inputs.network_input import (
    CanEmitBatchOfRecordsChecker,
    StreamTaskNetworkInput,
    StreamTaskNetworkOutput,
)
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.tasks.mailbox_processor import MailboxProcessor
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve
from tests.support.flink.machine import Differential, DifferentialMachine
from tests.support.flink.named_events import event_buffer

OPTIONS = {"options": MailOptions.DEFAULT, "urgent": MailOptions.URGENT, "deferrable": MailOptions.DEFERRABLE}
SEGMENT = 16_384
LONG = 200
MOST_CUTS = 3
NO_LIMIT_NS = 2**62


class LoggingClient(PartitionRequestClient):
    """Notes credits, which a recycled buffer gives, and the end of what was processed."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log

    def notify_credit_available(self, channel: CreditedChannel) -> None:
        self._log(f"credit {channel.channel_id} {channel.get_and_reset_unannounced_credit()}")

    def acknowledge_all_records_processed(self, channel: CreditedChannel) -> None:
        self._log(f"processed {channel.channel_id}")


class OurTask(OperatorInput):
    """Our input under a mailbox loop, as in ``StreamTask``; ``inside``: whether the task itself is running."""

    def __init__(self, channels: int, exclusive: int, emits_batches: bool) -> None:
        self.emits_batches = emits_batches
        self.log: list[str] = []
        self.scripts: dict[str, str] = {}
        self.arrivals: deque[str] = deque()
        self.inside = True
        self.yields = 0
        self.left = [b""] * channels
        self.cuts = [0] * channels
        self.numbers = [0] * channels
        self.ended_data = [False] * channels
        self.ended = [False] * channels
        self.clock = TaskClock(1)
        self.output = AvailabilityHelper()
        self.output.set_available()
        self.mailbox = TaskMailbox(self.clock.interrupt, is_mailbox_thread=lambda: self.inside)
        self.processor = MailboxProcessor(self.process_input, self.mailbox, self.wait_for_mail)
        self.memory = NetworkBufferPool(channels * exclusive + 1, SEGMENT)
        self.pool = self.memory.create_buffer_pool(1, 1)
        self.exclusive = exclusive
        self.gate = SingleInputGate(channels, self.pool, self)
        self.pool.reserve_segments(1)
        self.memory.reserve(channels * exclusive)
        self.channels = [
            channel for i in range(channels) if isinstance(channel := self.gate.channel(i), RemoteInputChannel)
        ]
        output = StreamTaskNetworkOutput(self, "head", 0, None)
        valve = StatusWatermarkValve(channels, output)
        can_emit_batch = CanEmitBatchOfRecordsChecker(self.clock, emits_batches)
        self.input = StreamTaskNetworkInput(self.gate, output, valve, RecordDeserializer(), can_emit_batch, None)

    def create_input_channel(self, gate: SingleInputGate, index: int) -> InputChannel:
        """The task is the factory of its channels."""
        return RemoteInputChannel(gate, index, index, self.exclusive, LoggingClient(self.log_entry), self.memory, None)

    def log_entry(self, entry: str) -> None:
        self.log.append(entry)

    # The loop.

    def loop(self, actions: str) -> list[str]:
        self.from_outside(actions)
        self.processor.run_mailbox_loop()
        self.log.append("available" if self.input.is_available else "waiting")
        self.log.append(f"{self.mailbox.has_mail} {self.processor.is_default_action_available}".lower())
        seen, self.log = self.log, []
        return seen

    def from_outside(self, actions: str) -> None:
        self.inside = False
        self.perform(actions)
        self.inside = True

    def wait_for_mail(self, priority: int) -> None:
        """The loop waits until it is suspended; a yield until a mail comes that does nothing."""
        while not self.mailbox.has_mail_of(priority):
            if self.arrivals:
                self.log.append("arrival")
                self.from_outside(self.arrivals.popleft())
            elif self.yields > 0:
                self.from_outside("mail 9 options awaited")
            else:
                self.inside = False
                self.processor.suspend()
                self.inside = True

    def process_input(self) -> None:
        """The default action, as ``StreamTask`` has it."""
        self.clock.batch_end_ns = 0 if self.mailbox.has_mail or not self.output.available else NO_LIMIT_NS
        status = self.input.emit_next()
        # A batch may end early, when a mail that ended it has run inside an element.
        if status is not DataInputStatus.MORE_AVAILABLE or not self.emits_batches:
            self.log.append(status.name)
        match status:
            case DataInputStatus.END_OF_DATA:
                self.input.end_of_input_with_drain(self)  # type: ignore[arg-type]
            case DataInputStatus.END_OF_INPUT:
                self.processor.suspend_default_action()
                self.processor.suspend()
            case DataInputStatus.MORE_AVAILABLE | DataInputStatus.NOTHING_AVAILABLE:
                if not self.output.available:
                    self.output.when_available(self.processor.suspend_default_action().resume)
                elif status is DataInputStatus.NOTHING_AVAILABLE and not self.input.is_available:
                    self.input.when_available(self.processor.suspend_default_action().resume)

    # The head operator.

    def process_element(self, value: object, timestamp: int | None) -> None:
        number = str(value).partition(" ")[0]
        self.play(f"record {number}", "" if timestamp is None else f" at {timestamp}")

    def process_watermark(self, timestamp: int) -> None:
        self.play(f"watermark {timestamp}")

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self.play(f"status {status.name}")

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        self.play(f"marker {marker.marked_time_ms}")

    def end_input_of_head(self) -> None:
        self.log.insert(-1, "end of input 1")  # The real processor ends the input before it answers.

    # Scripts.

    def play(self, name: str, more: str = "") -> None:
        self.log.append(name + more)
        self.perform(self.scripts.get(name, ""))

    def perform(self, actions: str) -> None:
        for action in filter(None, actions.split("\n")):
            self.perform_one(action.split(" "))

    def perform_one(self, words: list[str]) -> None:
        match words:
            case ["mail", priority, options, name]:
                executor = self.processor.executor(int(priority))
                executor.execute(lambda: self.play(name), name, OPTIONS[options])
            case ["yield", priority]:
                self.yields += 1
                self.processor.executor(int(priority)).yield_()
                self.yields -= 1
            case ["try", priority]:
                self.log.append(f"tried {self.processor.executor(int(priority)).try_yield()}".lower())
            case ["output", "on"]:
                if not self.output.available:
                    self.output.set_available()
            case ["output", "off"]:
                self.output.reset_unavailable()
                self.clock.interrupt()
            case ["data", channel, cut, *elements]:
                self.data(int(channel), int(cut), elements)
            case ["event", channel, name]:
                self.event(int(channel), name.replace("_", " "))
            case _:
                raise AssertionError(words)

    def data(self, index: int, cut: int, elements: list[str]) -> None:
        if self.ended[index] or (not elements and not self.left[index]):
            return
        channel = self.channels[index]
        if channel.buffers.available == 0:
            self.log.append("no buffer")
            return
        encoded, begin = bytearray(self.left[index]), 0
        for element in elements:
            begin = len(encoded)
            encode(element.split("/"), encoded)
            is_long = element.startswith("r/") and int(element.split("/")[2]) >= LONG
            self.cuts[index] = MOST_CUTS if is_long else 1
        thousandths = cut if self.cuts[index] else 0
        self.cuts[index] = self.cuts[index] - 1 if thousandths else 0
        end = begin + max(1, (len(encoded) - begin) * (1000 - thousandths) // 1000)
        self.left[index] = bytes(encoded[end:])
        sent = BufferSlice(bytes(encoded[:end]), NetworkBuffer(MemorySegment(SEGMENT), FREEING))
        channel.on_buffer(sent, self.number(index), 0)

    def event(self, index: int, name: str) -> None:
        before = self.ended if name == "end" else self.ended_data
        if not self.ended[index] and not before[index]:
            before[index] = True
            self.channels[index].on_buffer(event_buffer(name, 0), self.number(index), 0)

    def number(self, index: int) -> int:
        number = self.numbers[index]
        self.numbers[index] = number + 1
        return number


def encode(words: list[str], encoded: bytearray) -> None:
    match words:
        case ["r", number, padding, timestamp]:
            value = f"{number} {'x' * int(padding)}"
            encode_record_into(encoded, None if timestamp == "-" else int(timestamp), value)
        case ["w", timestamp]:
            encoded += encode_watermark(int(timestamp))
        case ["m", time]:
            encode_latency_marker_into(encoded, LatencyMarker(int(time), 0, 0))
        case _:
            encode_status_into(encoded, WatermarkStatus.IDLE if words == ["idle"] else WatermarkStatus.ACTIVE)


# Actions are tuples until ``NetworkInputMachine.written`` gives their mails and elements names.
channels = st.integers(0, 2)
priorities = st.sampled_from([-1, 0, 1])
cuts = st.one_of(st.just(0), st.just(0), st.integers(300, 700))
leaves = st.one_of(
    st.tuples(st.just("yield"), priorities),
    st.tuples(st.just("try"), priorities),
    st.tuples(st.just("output"), st.sampled_from(["on", "on", "off"])),
)


def mails(scripts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    options = st.sampled_from(["options", "options", "options", "urgent", "deferrable"])
    return st.tuples(st.just("mail"), priorities, options, scripts)


def elements(scripts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    record = st.tuples(st.just("r"), st.sampled_from([0, 0, 0, 10, 300, 1500]), scripts)
    watermark = st.tuples(st.just("w"), scripts)
    others = st.tuples(st.sampled_from(["idle", "active", "m"]))
    return st.one_of(record, record, record, watermark, others)


def buffers(scripts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just("data"), channels, cuts, st.lists(elements(scripts), max_size=4))


events = st.tuples(st.just("event"), channels, st.sampled_from(["drain", "drain", "no_drain", "end"]))
nothing: st.SearchStrategy[Any] = st.just([])
# Deferred, since they would print as a page each.
small = st.deferred(lambda: st.lists(st.one_of(leaves, mails(nothing), mails(nothing), buffers(nothing)), max_size=2))
scripts = st.deferred(
    lambda: st.one_of(nothing, st.lists(st.one_of(leaves, mails(small), mails(small), buffers(nothing)), max_size=3))
)
bursts = st.deferred(
    lambda: st.lists(
        st.one_of(buffers(scripts), buffers(scripts), buffers(scripts), mails(scripts)), min_size=1, max_size=5
    )
)
ends = st.lists(events, min_size=1, max_size=2)


class NetworkInputMachine(DifferentialMachine):
    subject = "StreamTaskNetworkInput"

    @initialize(
        count=st.integers(1, 3), exclusive=st.integers(1, 6), emits_batches=st.sampled_from([True, True, True, False])
    )
    def begin(self, count: int, exclusive: int, emits_batches: bool) -> None:
        self.count = count
        consumer = self.flink.java.org.apache.flink.runtime.io.network.partition.consumer
        self.real = consumer.NetworkInputs(count, exclusive, emits_batches)
        self.ours = OurTask(count, exclusive, emits_batches)
        self.named = 0

    def written(self, actions: list[Any]) -> str:
        """As text; scripts of mails and elements are given to both sides by name."""
        return "\n".join(map(self.written_action, actions))

    def written_action(self, action: tuple[Any, ...]) -> str:
        match action:
            case ("mail", priority, options, script):
                return f"mail {priority} {options} {self.script('mail', script)}"
            case ("data", channel, cut, elements):
                return " ".join(["data", str(channel % self.count), str(cut), *map(self.written_element, elements)])
            case ("event", channel, name):
                return f"event {channel % self.count} {name}"
        return " ".join(map(str, action))

    def written_element(self, element: tuple[Any, ...]) -> str:
        match element:
            case ("r", padding, script):
                number = self.script("record ", script).partition(" ")[2]
                return f"r/{number}/{padding}/{'-' if int(number) % 5 == 0 else number}"
            case ("w", script):
                return f"w/{self.script('watermark ', script).partition(' ')[2]}"
            case ("m",):
                self.named += 1
                return f"m/{self.named}"
        return str(element[0])

    def script(self, kind: str, actions: list[Any]) -> str:
        self.named += 1
        name = f"{kind}{self.named}"
        if actions:
            self.ours.scripts[name] = text = self.written(actions)
            self.real.script(name, text)
        return name

    @rule(burst=bursts)
    def arrives_at_the_next_wait(self, burst: list[Any]) -> None:
        text = self.written(burst)
        self.ours.arrivals.append(text)
        self.real.arrival(text)

    @rule(burst=bursts)
    def arrives(self, burst: list[Any]) -> None:
        self.loop(self.written(burst))

    @rule(burst=bursts, end=ends)
    def ends(self, burst: list[Any], end: list[Any]) -> None:
        if self.named > 60:
            self.loop(self.written([*burst, *end]))

    def loop(self, actions: str) -> None:
        theirs = self.real.loop(actions).split("\n")
        ours = self.ours.loop(actions)
        self.compared(len(theirs))
        assert "\n".join(ours) == "\n".join(theirs)


def test_order_of_elements_events_mails_and_recycled_buffers_equals_flinks(differential: Differential) -> None:
    differential.run(NetworkInputMachine, examples=60, steps=30)
