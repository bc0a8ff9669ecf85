"""When a job with an unbounded source has nothing left to do: the records of its topics are known when it starts."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.operators.async_calls import HasPendingAnswers
from flowsim.operators.sources.source import SourceOperator
from flowsim.tasks.stream_task import StreamTask


def wait_for_records(tasks: Sequence[StreamTask]) -> bool:
    """True if all unfinished tasks wait for records, which no source will ever read: the job is idle, not deadlocked.

    Called when nothing can run. A task with input, with full output or with calls under way hangs.
    """
    unfinished = [task for task in tasks if not task.state.is_terminal]
    sources = [wrapper.operator for task in unfinished for wrapper in task.chain.wrappers]
    readers = [operator for operator in sources if isinstance(operator, SourceOperator)]
    return bool(readers) and all(reader.has_read_all for reader in readers) and not any(map(_hangs, unfinished))


def _hangs(task: StreamTask) -> bool:
    operators = (wrapper.operator for wrapper in task.chain.wrappers)
    return (
        task.queued_input > 0
        or not all(writer.available for writer in task.writers)
        or any(isinstance(one, HasPendingAnswers) and one.pending_elements_text for one in operators)
    )
