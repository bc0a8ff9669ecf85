"""Plays the scripts of ``async_wait_scripts`` with our operator; the Java driver that plays them is the probe AsyncWaits."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from flowsim.errors import ElementFailed
from flowsim.mailbox.mail import Mail, MailOptions
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxClosedException, TaskMailbox
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.async_wait.retry_strategies import (
    NO_RETRY_STRATEGY,
    AsyncRetryStrategy,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
)
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.streamrecord.elements import (
    LatencyMarker,
    OutputTag,
    StreamElement,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flowsim.streamrecord.output import Output
from flowsim.tasks.failure import job_failed
from flowsim.testing.harness import ManualClock, OneInputOperatorHarness
from flowsim.units import NS_PER_MS

PRIORITY: Final = 1
OF_THE_WORLD: Final = ("answer", "again", "time", "foreign")


class ScriptedError(Exception):
    """An error of the script, distinguished from those of flowsim."""


def named(error: BaseException) -> str:
    """As the Java driver names it."""
    if isinstance(error, ElementFailed) and error.__cause__ is not None:
        error = error.__cause__
    match error:
        case ScriptedError():
            return str(error)
        case TimeoutError():
            return "TimeoutException"
        case MailboxClosedException():
            return "RejectedExecutionException"
        case TypeError():
            return "NullPointerException"
    raise error


class MailedTime:
    """Processing time moved by hand: what is due becomes a mail of the operator."""

    def __init__(self, mails: MailboxExecutor, clock: ManualClock, lag_ms: int) -> None:
        self._mails = mails
        self._clock = clock
        self._lag_ms = lag_ms
        self._timers: list[_Timer] = []

    def current_processing_time_ms(self) -> int:
        return self._clock.now_ns // NS_PER_MS

    def register_timer(
        self, timestamp_ms: int, callback: Callable[[int], None], *, daemon_while_not: Callable[[], bool] | None = None
    ) -> _Timer:
        now_ms = self.current_processing_time_ms()
        timer = _Timer(timestamp_ms, timestamp_ms + self._lag_ms if timestamp_ms >= now_ms else now_ms, callback)
        self._timers.append(timer)
        return timer

    def schedule_with_fixed_delay(
        self, delay_ms: int, callback: Callable[[int], None], *, daemon_while_not: Callable[[], bool]
    ) -> None:
        raise AssertionError("an async operator has no periodic work")

    def advance(self, by_ms: int) -> None:
        self._clock.now_ns += by_ms * NS_PER_MS
        now_ms = self.current_processing_time_ms()
        due = [timer for timer in self._timers if timer.is_live and timer.fires_at_ms <= now_ms]
        for timer in sorted(due, key=lambda each: each.fires_at_ms):
            self._timers.remove(timer)
            self._mails.execute(timer.run, "timer")

    def live(self) -> list[int]:
        return sorted(timer.at_ms for timer in self._timers if timer.is_live)


class _Timer:
    def __init__(self, at_ms: int, fires_at_ms: int, callback: Callable[[int], None]) -> None:
        self.at_ms = at_ms
        self.fires_at_ms = fires_at_ms
        self.callback = callback
        self.is_live = True

    def run(self) -> None:
        self.callback(self.at_ms)

    def cancel(self) -> None:
        self.is_live = False


class Calls:
    """An asynchronous function that does what a script says at each call and timeout."""

    def __init__(self, case: dict[str, Any], log: list[str]) -> None:
        self._plans: list[list[Any]] = case["plans"]
        self._timeouts: list[list[Any]] = case["timeouts"]
        self._log = log
        self._futures: list[ResultFuture] = []
        self._unanswered: list[ResultFuture] = []
        self._timed_out = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        return

    def close(self) -> None:
        return

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        self._log.append(f"invoke {value[0]}")
        self._futures.append(result_future)
        self._unanswered.append(result_future)
        self._act(result_future, self._plans[(len(self._futures) - 1) % len(self._plans)])

    def timeout(self, value: Any, result_future: ResultFuture) -> None:
        self._log.append(f"timeout {value[0]}")
        plan = self._timeouts[self._timed_out % len(self._timeouts)]
        self._timed_out += 1
        if plan[0] == "default":
            result_future.complete_exceptionally(TimeoutError("Async function call has timed out."))
        else:
            self._act(result_future, plan)

    def answer(self, number: int, action: list[Any]) -> None:
        """Answers one that was not answered yet, 0 the oldest."""
        if self._unanswered:
            self._act(self._unanswered.pop(number % len(self._unanswered)), action)

    def answer_again(self, back: int, action: list[Any]) -> None:
        """Answers one of the last calls, answered or not, 0 the last one."""
        futures = self._futures
        if futures:
            self._act(futures[len(futures) - 1 - back % min(len(futures), 8)], action)

    def _act(self, future: ResultFuture, action: list[Any]) -> None:
        if action[0] == "throw":
            raise ScriptedError(action[1])
        try:
            self._complete(future, action)
        except (TypeError, MailboxClosedException) as refused:
            self._log.append(f"refused: {named(refused)}")

    def _complete(self, future: ResultFuture, action: list[Any]) -> None:
        match action:
            case ["ok", *answers]:
                for results in answers:
                    future.complete(list(results))
            case ["null"]:
                future.complete(None)  # type: ignore[arg-type]  # what a user may do all the same
            case ["error", message]:
                future.complete_exceptionally(ScriptedError(message))
            case ["supply", results]:
                future.complete_from(lambda: list(results))
            case ["supply_null"]:
                future.complete_from(lambda: None)  # type: ignore[arg-type,return-value]  # as above
            case ["supply_error", message]:
                future.complete_from(lambda: _throw(message))

    def asks_for_results(self, results: Sequence[Any]) -> bool:
        self._log.append(f"asks {list(results)}")
        if 13 in results:
            raise ScriptedError("bad luck")
        return 7 in results

    def asks_for_error(self, error: BaseException) -> bool:
        self._log.append(f"asks {named(error)}")
        if str(error) == "13":
            raise ScriptedError("bad luck")
        return str(error) == "again"


def _throw(message: str) -> Any:
    raise ScriptedError(message)


class LogOutput(Output):
    """The output."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def collect(self, value: object, timestamp: int | None) -> None:
        self._log.append(f"rec {value} {'null' if timestamp is None else timestamp}")

    def collect_side(self, tag: OutputTag, value: object, timestamp: int | None) -> None:
        raise AssertionError("an async operator has no side outputs")

    def emit_watermark(self, timestamp: int) -> None:
        self._log.append(f"wm {timestamp}")

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self._log.append(f"st {'true' if status is WatermarkStatus.ACTIVE else 'false'}")

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        self._log.append(f"lat {marker.marked_time_ms}")


class AsyncWaits:
    """Our operator, mailbox and time, and the script."""

    def __init__(self, case: dict[str, Any]) -> None:
        # Through JSON, so that both sides see the very same lists.
        self._case = case = json.loads(json.dumps(case))
        self._commands: list[list[Any]] = case["commands"]
        self._log: list[str] = []
        self._calls = Calls(case, self._log)
        self._shared = [0]
        self._theirs: list[str] = []
        self._clock = ManualClock(NS_PER_MS)
        self._mailbox: TaskMailbox | None = None
        self._build(case["capacity"], [])

    def answers(self, theirs: list[list[str]]) -> list[list[str]]:
        """After each command. ``theirs`` gives the order in which a restored state is read (rule 11.20)."""
        answers: list[list[str]] = []
        while self._commands:
            command = self._commands.pop(0)
            self._theirs = theirs[len(answers)]
            try:
                self._play(command)
            except (ScriptedError, TypeError, ElementFailed, MailboxClosedException) as error:
                self._log.append(f"throws {named(error)}")
            self._log.append(self._state())
            answers.append(self._log.copy())
            self._log.clear()
        return answers

    def _build(self, capacity: int, elements: Sequence[StreamElement]) -> None:
        if self._mailbox is not None:
            self._mailbox.close()
        self._mailbox = TaskMailbox()
        mails = MailboxExecutor(self._mailbox, PRIORITY, self._yield_to)
        self._time = MailedTime(mails, self._clock, self._case["lag"])
        self._operator = AsyncWaitOperator(
            self._calls, self._case["timeout"], capacity, "ordered" if self._case["ordered"] else "unordered",
            self._strategy(self._case["strategy"]),
        )  # fmt: skip
        context = replace(
            OneInputOperatorHarness(self._operator).context, clock=self._clock, processing_time=self._time,
            mailbox_executor=mails, object_reuse=self._case["object_reuse"], fail_externally=self._failed,
        )  # fmt: skip
        self._operator.setup(context, LogOutput(self._log))
        self._operator.restore_elements(elements)
        self._operator.open()

    def _failed(self, fail: Callable[[], None]) -> None:
        try:
            fail()
        except ElementFailed as error:
            record = (job_failed("task", error).record or "").replace("[", "").replace("]", "")
            cause = "no results" if isinstance(error.__cause__, TypeError) else named(error)
            self._log.append(f"fails {record}: {cause}")

    def _strategy(self, said: dict[str, Any] | None) -> AsyncRetryStrategy:
        if said is None:
            return NO_RETRY_STRATEGY
        result = self._calls.asks_for_results if said["result"] else None
        exception = self._calls.asks_for_error if said["exception"] else None
        if said["kind"] == "fixed":
            return FixedDelayRetryStrategy(said["max_attempts"], said["delay"], result, exception)
        return ExponentialBackoffDelayRetryStrategy(
            said["max_attempts"], said["initial"], said["max"], said["multiplier"], result, exception
        )

    def _play(self, command: list[Any]) -> None:
        operator = self._operator
        match command:
            case ["r", number, timestamp]:
                value = self._shared if self._case["mutates"] else [number]
                value[0] = number
                operator.process_element(value, timestamp)
            case ["w", timestamp]:
                operator.process_watermark(timestamp)
            case ["st", is_active]:
                operator.process_watermark_status(WatermarkStatus.ACTIVE if is_active else WatermarkStatus.IDLE)
            case ["lat", marked_ms]:
                operator.process_latency_marker(LatencyMarker(marked_ms, 0, 0))
            case ["mail"]:
                self._mail()
            case ["end"]:
                operator.end_input()
            case ["snap"]:
                self._snapshot()
            case ["restore", capacity]:
                self._build(capacity, self._snapshot())
            case ["quiesce"]:
                self._mails.quiesce()
            case _:
                self._world(command)

    def _world(self, command: list[Any]) -> None:
        """What others do, whatever the task does meanwhile."""
        match command:
            case ["answer", number, action]:
                self._calls.answer(number, action)
            case ["again", back, action]:
                self._calls.answer_again(back, action)
            case ["time", by_ms]:
                try:
                    self._time.advance(by_ms)
                except MailboxClosedException:
                    self._log.append("timer refused")
            case ["foreign", priority, is_urgent]:
                options = MailOptions.URGENT if is_urgent else MailOptions.DEFAULT
                try:
                    self._mails.put(Mail(lambda: self._log.append(f"mail {priority}"), priority, "foreign", options))
                except MailboxClosedException:
                    self._log.append("mail refused")
            case unknown:
                raise AssertionError(f"unknown command {unknown}")

    @property
    def _mails(self) -> TaskMailbox:
        assert self._mailbox is not None
        return self._mailbox

    def _yield_to(self, priority: int, block: bool) -> bool:
        """Runs a mail that is there; to get one, it plays what the world does next."""
        while (mail := self._mails.try_take(priority)) is None:
            if not block:
                return False
            next_one = next((i for i, command in enumerate(self._commands) if command[0] in OF_THE_WORLD), None)
            if next_one is None:
                raise ScriptedError("stuck")
            self._world(self._commands.pop(next_one))
        mail.run()
        return True

    def _mail(self) -> None:
        self._mails.create_batch()
        mail = self._mails.try_take_from_batch()
        if mail is None:
            self._log.append("no mail")
        else:
            mail.run()

    def _snapshot(self) -> list[StreamElement]:
        """In the order of theirs if it holds the same; the order among those that are not done is a hash set's."""
        prefix = "snapshot "
        theirs = next((line for line in self._theirs if line.startswith(prefix)), f"{prefix}[]")
        elements = [_element(shown) for shown in json.loads(theirs.removeprefix(prefix))]
        ours = self._operator.held_elements()
        same = ours == elements if self._case["ordered"] else _sets(ours) == _sets(elements)
        self._log.append(theirs if same else f"{prefix}{ours}")
        return elements

    def _state(self) -> str:
        operator = self._operator
        return (
            f"queue {len(operator.queue)}, mails {len(self._mails)}, retrying {len(operator.awaiting_retry)}, "
            f"timers {self._time.live()}"
        )


def _element(shown: list[Any]) -> StreamElement:
    return StreamRecord([shown[1]], shown[2]) if shown[0] == "r" else Watermark(shown[1])


def _sets(elements: Sequence[StreamElement]) -> list[list[str]]:
    """The records between watermarks, in an order of their own, and the watermarks."""
    sets: list[list[str]] = [[]]
    for element in elements:
        if isinstance(element, Watermark):
            sets += [[repr(element)], []]
        else:
            sets[-1].append(repr(element))
    return [sorted(each) for each in sets]
