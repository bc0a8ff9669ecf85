"""A task whose head is a source operator. Flink: SourceOperatorStreamTask (rules 4.10, 4.20)."""

from __future__ import annotations

from flowsim.mailbox.task_mailbox import MailboxState
from flowsim.operators.sources.source import SourceOperator
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.stream_task import StreamTask


class SourceOperatorStreamTask(StreamTask):
    """Polls its source in the default action; a stop reaches it as a mail. Flink: SourceOperatorStreamTask."""

    def stop(self, mode: StopMode) -> None:
        """Rule 4.20, from outside the task; a task that has ended already has nothing to stop."""
        if self.mailbox.state is MailboxState.OPEN:
            executor = self.mailbox_processor.executor()
            executor.execute(lambda: self._stop_source(mode), f"stop, {mode.name.lower()}")

    def _stop_source(self, mode: StopMode) -> None:
        head = self.chain.head
        if isinstance(head, SourceOperator) and head.stop(mode):
            self.trace_stop(mode)
