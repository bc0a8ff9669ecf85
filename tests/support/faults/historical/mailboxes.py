"""Bugs of the mailbox of a task."""

from __future__ import annotations

from flowsim.faults.catalogue import Fault
from flowsim.faults.historical.bug import Bug, Patch, Repair, replaced
from flowsim.mailbox.mail import MIN_PRIORITY, Mail
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.mailbox_processor import MailboxProcessor
from flowsim.tasks.source_operator_stream_task import SourceOperatorStreamTask
from flowsim.tasks.stream_task import StreamTask


def _put_last(self: TaskMailbox, mail: Mail) -> None:
    self._queue.append(mail)


def _create_batch_of_urgent_mails(self: TaskMailbox) -> bool:
    if not self._take_urgent() and not self._batch:
        self._batch.extend(self._queue)
        self._queue.clear()
    return bool(self._batch)


def _all_operators_have_one_priority(patch: Patch) -> None:
    executor = MailboxProcessor.executor

    def of_one_priority(self: MailboxProcessor, priority: int = -1, operator: str | None = None) -> MailboxExecutor:
        return executor(self, min(priority, 0), operator)

    patch.setattr(MailboxProcessor, "executor", of_one_priority)


def _waiting_mails_run_before_the_end(patch: Patch) -> None:
    end = StreamTask._end_data

    def end_data(self: StreamTask, mode: StopMode) -> None:
        while mode is StopMode.DRAIN and self.mailbox_processor.yield_to(MIN_PRIORITY, False):
            """Runs mails that no operator's yield runs."""
        end(self, mode)

    patch.setattr(StreamTask, "_end_data", end_data)


def _sources_are_not_stopped(patch: Patch) -> None:
    patch.setattr(SourceOperatorStreamTask, "_stop_source", lambda self, mode: None)


def _process_mail_without_waiting(self: MailboxProcessor) -> None:
    if self.mailbox.has_mail and self.mailbox.create_batch():
        self._process_batch(one_mail=False)


BUGS_OF_MAILBOXES = (
    Bug(
        "FLINK-35051",
        "#26660",
        "An urgent mail, such as that of an unaligned barrier, waits behind mails that are not urgent.",
        replaced(TaskMailbox, "_put_first", _put_last),
        """\
settings: {buffer_timeout: 0, budget_records: 1, checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true}}
sources:
  rows:
    script:
      fields: {ms: long}
      subtasks: [[{record: [8]}, {record: [9]}, {record: [9]}, {record: [9]}, {record: [9]}, {sleep: 1 s}]]
operators:
  asked: {input: rows, partition: rebalance, async: {mode: unordered, latency: {each: ms}, select: {ms: ms}}}
  slow: {input: asked, cost: 10 ms, map: {select: {ms: ms}}}
sinks:
  out: {input: slow, partition: rebalance, collect: {}}
actions: [{checkpoint: {at: 12 ms}}]
expect:
  facts:
    - says: ns until the barrier overtakes answers that wait
      table: checkpoint_metrics
      of: slow
      where: {checkpoint: 1}
      take: max
      column: start_delay_ns
      at_most: 10000000
""",
        "claim",
        "scenario",
    ),
    Bug(
        "FLINK-39898",
        "#28484",
        "While urgent mails come, a batch contains no other mails.",
        replaced(TaskMailbox, "create_batch", _create_batch_of_urgent_mails),
        """\
settings:
  buffer_timeout: 0
  budget_records: 1
  auto_watermark_interval: 10 ms
  checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true}
sources:
  rows: {generator: {count: 12, pace: 1 ms, fields: {at_ms: {event_time: {step: 10 ms}}}}}
operators:
  stamped: {input: rows, partition: rebalance, watermarks: {timestamp: at_ms}}
  slow: {input: stamped, cost: 4 ms, map: {select: {at_ms: at_ms}}}
sinks:
  out: {input: slow, partition: rebalance, collect: {}}
actions: [{checkpoint: {at: 35 ms}}]
""",
        "law fairness",
        "runtime",
        is_cheap=True,
    ),
    Bug(
        "FLINK-35528",
        "#24904",
        "An operator that yields runs mails of operators before it in the chain.",
        Fault("yield_runs_any_mail"),
        """\
sources:
  rows: {collection: {fields: {n: long}, rows: [[1], [2]]}}
operators:
  asked: {input: rows, async: {mode: ordered, capacity: 1, latency: 10 ms, select: {n: n}}}
sinks:
  out: {input: asked, collect: {}}
""",
        "law mails",
        is_cheap=True,
    ),
    Bug(
        "FLINK-14156",
        "#9735",
        "All operators of a chain post mails of one priority.",
        _all_operators_have_one_priority,
        """\
sources:
  rows: {collection: {fields: {n: long}, rows: [[1], [2], [3]]}}
operators:
  first: {input: rows, async: {mode: ordered, latency: 10 ms, select: {n: n}}}
  second: {input: first, async: {mode: ordered, capacity: 1, latency: 10 ms, select: {n: n}}}
sinks:
  out: {input: second, collect: {}}
""",
        "law async-order",
        "runtime",
    ),
    Bug(
        "FLINK-39481",
        "#28608",
        "The data of a task end while a watermark waits for timers that a mail interrupted: these fire too late.",
        Repair(_waiting_mails_run_before_the_end),
        """\
settings:
  segment_size: 64 B
  max_buffers_per_channel: 2
  overdraft_buffers: 0
  floating_buffers_per_gate: 1
  interruptible_timers: true
  checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true}
sources:
  machines:
    generator: {count: 120, fields: {machine: {sequence: {}}, at_ms: {event_time: {step: 0}}}}
    watermarks: {timestamp: at_ms}
operators:
  silent: {input: machines, key_by: machine, alarm: {after: 1 min, emit: {machine: machine}}}
sinks:
  out: {input: silent, cost: 1 ms, partition: rebalance, collect: {}}
actions: [{checkpoint: {at: 5 ms}}]
expect: {every_schedule: {rows: {out: 120}}}
""",
        "claim",
        "runtime",
    ),
    Bug(
        "FLINK-21133",
        "#15425",
        "A savepoint that stops the job does not stop its sources.",
        _sources_are_not_stopped,
        """\
settings: {until: 2 s, checkpointing: {interval: 1 h, min_pause: 1 h}}
sources:
  rows: {generator: {pace: 100 ms, fields: {n: {sequence: {}}}}}
sinks:
  out: {input: rows, collect: {}}
actions: [{stop: {at: 300 ms, savepoint: {}}}]
expect: {every_schedule: {job: finished}}
""",
        "stopped",
    ),
    Bug(
        "FLINK-23220",
        "#16358",
        "The loop does not wait for a mail while the default action has nothing to do (in Flink it spins).",
        replaced(MailboxProcessor, "_process_mail", _process_mail_without_waiting),
        """\
sources:
  rows: {collection: {fields: {n: long}, rows: [[1]]}}
sinks:
  out: {input: rows, partition: rebalance, collect: {}}
""",
        "failed",
    ),
)
