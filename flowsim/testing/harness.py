"""A test harness for one operator: feed elements and time, inspect the output. Flink:
OneInputStreamOperatorTestHarness.

There is no task, network or event loop: each method calls the operator directly, and the test sets processing time.

>>> from flowsim.operators.functions.basic import FilterOperator
>>> with OneInputOperatorHarness(FilterOperator(lambda value: value > 1)) as harness:
...     harness.process_elements([(1, 10), (2, 11)])
...     harness.process_watermark(11)
...     harness.take_output()
[('rec', 2, 11), ('wm', 11)]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from random import Random
from types import TracebackType
from typing import Literal, Self

from flowsim.errors import Deadlock
from flowsim.facts.tracer import TaskTrace
from flowsim.faults.faulty_components import components_with_faults
from flowsim.mailbox.mail import Mail, MailOptions
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.operator_components import OperatorComponents
from flowsim.operators.stream_operator import KeySelector, OperatorContext, StreamOperator, Value
from flowsim.state.key_group_range_assignment import compute_key_group_range_for_operator_index
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.streamrecord.output import Output
from flowsim.task_clock import TaskClock
from flowsim.units import MAX_WATERMARK, NS_PER_MS

Emitted = (
    tuple[Literal["rec"], Value, int | None]
    | tuple[Literal["wm"], int]
    | tuple[Literal["st"], WatermarkStatus]
    | tuple[Literal["side"], str, Value, int | None]
    | tuple[Literal["latency"], LatencyMarker]
)
"""``('rec', value, timestamp)``, ``('wm', timestamp)``, ``('st', status)``, ``('side', tag id, value, timestamp)``."""


class ManualClock(TaskClock):
    """The task's clock, which the test and the cost of records advance.

    Its ``batch_end_ns`` lets a source run to its end.
    """

    __slots__ = ()

    def __init__(self, now_ns: int) -> None:
        super().__init__(now_ns)
        self.batch_end_ns = MAX_WATERMARK


class ManualTimer:
    """A system timer that is registered with a ``ManualProcessingTimeService``."""

    __slots__ = ("timestamp_ms", "callback", "keeps_alive", "is_live")

    def __init__(self, timestamp_ms: int, callback: Callable[[int], None], keeps_alive: Callable[[], bool]) -> None:
        self.timestamp_ms: int = timestamp_ms
        self.callback: Callable[[int], None] = callback
        self.keeps_alive: Callable[[], bool] = keeps_alive
        self.is_live: bool = True

    def cancel(self) -> None:
        self.is_live = False


class ManualProcessingTimeService:
    """Runs due timers in ``advance_to``; timers of equal time run in the order of registration.

    A timer for T runs when time reaches T, without the extra millisecond of a real cluster (rule 9.10), as in Flink's
    ``TestProcessingTimeService``.
    """

    __slots__ = ("timers", "_clock")

    def __init__(self, clock: ManualClock) -> None:
        self.timers: list[ManualTimer] = []
        self._clock = clock

    def current_processing_time_ms(self) -> int:
        return self._clock.now_ns // NS_PER_MS

    def register_timer(
        self, timestamp_ms: int, callback: Callable[[int], None], *, daemon_while_not: Callable[[], bool] | None = None
    ) -> ManualTimer:
        timer = ManualTimer(timestamp_ms, callback, daemon_while_not if daemon_while_not is not None else lambda: True)
        self.timers.append(timer)
        return timer

    def schedule_with_fixed_delay(
        self, delay_ms: int, callback: Callable[[int], None], *, daemon_while_not: Callable[[], bool]
    ) -> None:
        due_ms = self.current_processing_time_ms() + delay_ms

        def run(timestamp_ms: int) -> None:
            nonlocal due_ms
            callback(timestamp_ms)
            due_ms += (self.current_processing_time_ms() - due_ms) // delay_ms * delay_ms + delay_ms
            self.register_timer(due_ms, run, daemon_while_not=daemon_while_not)

        self.register_timer(due_ms, run, daemon_while_not=daemon_while_not)

    def advance_to(self, now_ms: int) -> None:
        """Advances time and runs due timers, including timers that these timers register."""
        self._clock.now_ns = max(self._clock.now_ns, now_ms * NS_PER_MS)
        while due := [timer for timer in self.timers if timer.is_live and timer.timestamp_ms <= now_ms]:
            timer = min(due, key=lambda each: each.timestamp_ms)
            timer.is_live = False
            self.timers.remove(timer)
            timer.callback(timer.timestamp_ms)

    def live_timers_ms(self) -> list[int]:
        """Returns the times of the pending timers, in ms."""
        return [timer.timestamp_ms for timer in self.timers if timer.is_live]

    def keeps_alive(self) -> bool:
        """True if a pending timer still has an effect to wait for (D4)."""
        return any(timer.is_live and timer.keeps_alive() for timer in self.timers)


class QueueingMailboxExecutor:
    """Queues mails until the operator yields. A yield with an empty queue raises Deadlock.

    With an empty queue ``wait`` runs the next future event, if there is one.
    """

    __slots__ = ("_mails", "wait")

    def __init__(self) -> None:
        self._mails: deque[Mail] = deque()
        self.wait: Callable[[], bool] = lambda: False

    def execute(
        self, command: Callable[[], None], description: str, options: MailOptions = MailOptions.DEFAULT
    ) -> None:
        self._mails.append(Mail(command, 0, description, options))

    def yield_(self) -> None:
        while not self.try_yield():
            if self.wait():
                continue
            raise Deadlock("the operator yields, but there is no mail that could run")

    def try_yield(self) -> bool:
        mail = next((mail for mail in self._mails if mail.priority >= 0), None)
        if mail is None:
            return False
        self._mails.remove(mail)
        mail.run()
        return True

    @property
    def num_mails(self) -> int:
        """Number of queued mails."""
        return len(self._mails)

    def should_interrupt(self) -> bool:
        return bool(self._mails)

    def run_next_mail(self) -> bool:
        """Runs the first mail, including a deferrable one, as the mailbox loop does; returns whether there was one."""
        if not self._mails:
            return False
        self._mails.popleft().run()
        return True


class CollectingOutput(Output):
    """Keeps all output in order."""

    __slots__ = ("emitted",)

    def __init__(self) -> None:
        self.emitted: list[Emitted] = []

    def collect(self, value: Value, timestamp: int | None) -> None:
        self.emitted.append(("rec", value, timestamp))

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        self.emitted.append(("side", tag.tag_id, value, timestamp))

    def emit_watermark(self, timestamp: int) -> None:
        self.emitted.append(("wm", timestamp))

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self.emitted.append(("st", status))

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        self.emitted.append(("latency", marker))


class OneInputOperatorHarness:
    """Sets an operator up as one subtask, and opens it in a ``with`` block. Flink: OneInputStreamOperatorTestHarness.

    The operator gets a manual clock and processing time, both starting at 1 ms, and records that cost ``cost_ns`` each
    (0 by default). The harness keeps all output: it drops no watermarks or statuses, unlike a channel.
    """

    def __init__(
        self,
        operator: StreamOperator,
        *,
        key_selector: KeySelector | None = None,
        key_type: str | None = None,
        subtask_index: int = 0,
        parallelism: int = 1,
        max_parallelism: int = 128,
        cost_ns: int = 0,
        seed: int = 0,
        faults: Iterable[str] = (),
        trace: Callable[[ManualClock], TaskTrace] | None = None,
        key_selectors: tuple[KeySelector | None, ...] = (),
        async_calls: AsyncCalls | None = None,
    ) -> None:
        """``trace`` builds the operator's trace from the harness's clock; None records nothing."""
        name, chosen = type(operator).__name__, frozenset(faults)
        broken = components_with_faults(chosen) if chosen else None
        self.operator: StreamOperator = operator if broken is None else broken.break_operator(operator, chosen)
        self.clock: ManualClock = ManualClock(NS_PER_MS)
        self.processing_time: ManualProcessingTimeService = ManualProcessingTimeService(self.clock)
        self.mailbox: QueueingMailboxExecutor = QueueingMailboxExecutor()
        self.collected: CollectingOutput = CollectingOutput()
        self.context: OperatorContext = OperatorContext(
            operator_name=name,
            operator_index=0,
            task_name=f"{name} ({subtask_index + 1}/{parallelism})",
            subtask_index=subtask_index,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            key_group_range=compute_key_group_range_for_operator_index(max_parallelism, parallelism, subtask_index),
            key_selector=key_selector,
            key_type=key_type,
            clock=self.clock,
            processing_time=self.processing_time,
            mailbox_executor=self.mailbox,
            random=Random(seed),
            cost_ns=cost_ns,
            trace=None if trace is None else trace(self.clock),
            components=OperatorComponents() if broken is None else broken.of_operator(chosen),
            key_selectors=key_selectors,
            async_calls=async_calls,
        )
        self.operator.setup(self.context, self.collected)

    def __enter__(self) -> Self:
        self.operator.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.operator.close()

    @property
    def output(self) -> list[Emitted]:
        """All output since the start or the last ``take_output``."""
        return self.collected.emitted

    def take_output(self) -> list[Emitted]:
        """Returns all output since the start or the last call, and clears it."""
        emitted, self.collected.emitted = self.collected.emitted, []
        return emitted

    def process_element(self, value: Value, timestamp: int | None = None) -> None:
        self.operator.process_element(value, timestamp)

    def process_elements(self, elements: Iterable[tuple[Value, int | None]]) -> None:
        """Processes pairs of value and timestamp."""
        for value, timestamp in elements:
            self.operator.process_element(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self.operator.process_watermark(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self.operator.process_watermark_status(status)

    def set_processing_time(self, now_ms: int) -> None:
        """Advances processing time to ``now_ms`` and runs the due timers."""
        self.processing_time.advance_to(now_ms)

    def end_of_input(self) -> None:
        """Ends the input as a drained task does (rules 4.9-4.12): the last watermark, ``end_input``, ``finish``."""
        self.operator.process_watermark(MAX_WATERMARK)
        self.operator.end_input()
        self.operator.finish()


class MultipleInputOperatorHarness(OneInputOperatorHarness):
    """The harness for an operator with several inputs; each method takes an input id, from 1.

    Flink: MultiInputStreamOperatorTestHarness.
    """

    def __init__(
        self, operator: StreamOperator, *, key_selectors: Sequence[KeySelector] = (), key_type: str | None = None
    ) -> None:
        """``key_selectors``: one per input, for a keyed operator."""
        first = key_selectors[0] if key_selectors else None
        super().__init__(operator, key_selector=first, key_type=key_type, key_selectors=tuple(key_selectors))

    def element(self, input_id: int, value: Value, timestamp: int | None = None) -> None:
        """Processes a user record."""
        self.operator.inputs[input_id - 1].process_element(value, timestamp)

    def watermark(self, input_id: int, timestamp: int) -> None:
        """Processes a watermark, as the valve of the input emits it."""
        self.operator.inputs[input_id - 1].process_watermark(timestamp)

    def status(self, input_id: int, status: WatermarkStatus) -> None:
        """Processes a status, as the valve of the input emits it."""
        self.operator.inputs[input_id - 1].process_watermark_status(status)

    def end_of_input(self) -> None:
        """Ends the inputs as a drained task does: each input's last watermark and end, then ``finish`` (rule 7.27)."""
        for index, each in enumerate(self.operator.inputs):
            each.process_watermark(MAX_WATERMARK)
            self.operator.end_input_of(index + 1)
        self.operator.finish()
