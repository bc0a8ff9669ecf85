"""Fires the timers of a watermark bit by bit, between other mails. Flink: MailboxWatermarkProcessor (rule 9.18)."""

from __future__ import annotations

from flowsim.mailbox.mail import MailOptions
from flowsim.operators.stream_operator import MailboxExecutor, Output
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager
from flowsim.units import NO_TIMESTAMP


class MailboxWatermarkProcessor:
    """Takes an operator's watermarks; each is forwarded once all its timers have fired. Flink: MailboxWatermarkProcessor.

    A mail that waits ends the firing after any timer, and a deferrable mail goes on with it; records may come between.
    Watermarks that arrive meanwhile raise the one that is worked on. Invariant: at most one such mail waits.
    """

    __slots__ = ("_output", "_executor", "_time_services", "_is_scheduled", "_max_input_watermark")

    def __init__(self, output: Output, executor: MailboxExecutor, time_services: InternalTimeServiceManager) -> None:
        self._output = output
        self._executor = executor
        self._time_services = time_services
        self._is_scheduled = False
        self._max_input_watermark = NO_TIMESTAMP

    def emit_watermark_inside_mailbox(self, timestamp: int) -> None:
        """Event time is now at least ``timestamp`` ms: fires what it can."""
        self._max_input_watermark = max(self._max_input_watermark, timestamp)
        self._progress()

    def _progress(self) -> None:
        watermark = self._max_input_watermark
        if self._time_services.try_advance_watermark(watermark, self._executor.should_interrupt):
            self._output.emit_watermark(watermark)
        elif not self._is_scheduled:
            self._is_scheduled = True
            self._executor.execute(self._continue, "emitWatermarkInsideMailbox", MailOptions.DEFERRABLE)

    def _continue(self) -> None:
        self._is_scheduled = False
        self._progress()
