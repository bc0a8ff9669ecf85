"""The text of each enum member in sentences, with the rules of Flink that explain it, as templates (``template.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from flowsim.facts.kinds import (
    ActionKind,
    AsyncAction,
    BufferSide,
    CheckpointAction,
    CheckpointStep,
    CommittableAction,
    CreditKind,
    ElementKind,
    LifeEvent,
    MailAction,
    RestartAction,
    SegmentAction,
    SnapshotKind,
    StateAction,
    StoredAction,
    StoredKind,
    TimerAction,
    WaitKind,
    WindowResult,
)
from flowsim.mailbox.mail import MAX_PRIORITY

Phrases = Mapping[IntEnum, tuple[str, str]]
"""Text and rules of each member; a test compares each table with its enum."""

SENT: Final[Phrases] = {
    ElementKind.RECORD: ("writes record", "[keyed=1?1.18|5.11]"),
    ElementKind.WATERMARK: ("writes watermark", "8.18"),
    ElementKind.STATUS: ("announces", "5.8"),
    ElementKind.LATENCY_MARKER: ("writes a latency marker of", "5.6 8.20"),
    ElementKind.END_OF_DATA: ("writes EndOfData", "4.9"),
    ElementKind.END_OF_PARTITION: ("writes EndOfPartition", "4.18"),
    ElementKind.CHECKPOINT_BARRIER: ("writes the barrier", "12.6"),
    ElementKind.CANCEL_CHECKPOINT_MARKER: ("writes the cancellation", "12.71"),
    ElementKind.EVENT: ("writes an event", ""),
    ElementKind.UNALIGNED_BARRIER: ("writes the unaligned barrier", "5.28 12.6"),
}
RECEIVED: Final[Phrases] = {
    ElementKind.RECORD: ("reads record", "7.17"),
    ElementKind.WATERMARK: ("reads watermark", "7.17 8.9"),
    ElementKind.STATUS: ("reads that the channel is", "7.17 8.10 8.11"),
    ElementKind.LATENCY_MARKER: ("reads a latency marker of", "7.17"),
    ElementKind.END_OF_DATA: ("reads EndOfData", "7.7 7.18"),
    ElementKind.END_OF_PARTITION: ("reads EndOfPartition", "7.6"),
    ElementKind.CHECKPOINT_BARRIER: ("reads the barrier", "12.11"),
    ElementKind.CANCEL_CHECKPOINT_MARKER: ("reads the cancellation", "12.13"),
    ElementKind.EVENT: ("reads an event", ""),
    ElementKind.UNALIGNED_BARRIER: ("reads the unaligned barrier", "5.28 12.11"),
}
LIFE: Final[Phrases] = {
    LifeEvent.INITIALIZING: ("opens its operators", "4.2"),
    LifeEvent.RUNNING: ("is running", "4.5"),
    LifeEvent.OPEN: ("is open", "4.2"),
    LifeEvent.END_INPUT: ("receives the end of its input", "4.11 4.12"),
    LifeEvent.FINISH: ("finishes", "4.12 4.13"),
    LifeEvent.CLOSE: ("is closed", "4.17"),
    LifeEvent.FINISHED: ("has finished", "4.18"),
    LifeEvent.CANCELED: ("is canceled", "4.24 4.26"),
    LifeEvent.FAILED: ("has failed", "4.24 4.26"),
    LifeEvent.STOP_WITH_DRAIN: ("is stopped with drain", "4.20"),
    LifeEvent.STOP_NO_DRAIN: ("is stopped without drain", "4.20"),
    LifeEvent.CANCELING: ("is being canceled", "4.23"),
    LifeEvent.DEADLOCKED: ("is deadlocked: no task of the job can run", ""),
    LifeEvent.LIVELOCKED: ("is livelocked: the tasks of the job take turns and process no element", ""),
    LifeEvent.RESTORED_AS_FINISHED: ("had finished before the checkpoint, so its operators do not run", "12.100"),
}
SEGMENTS: Final[Phrases] = {
    SegmentAction.TAKEN: ("takes a segment from the task manager", "5.34"),
    SegmentAction.RETURNED: ("returns a segment to the task manager", "5.37"),
    SegmentAction.HANDED_OUT: ("hands out a segment", "5.33"),
    SegmentAction.RECYCLED: ("gets a segment back", "5.37"),
    SegmentAction.RESIZED: ("is resized", "5.39"),
    SegmentAction.COMPARED: ("compares the load", "2.4"),
}
CREDITS: Final[Phrases] = {
    CreditKind.INITIAL_GRANTED: (
        "grants {credits:count credit} for its exclusive buffers to {other_end}",
        "6.1 6.2",
    ),
    CreditKind.INITIAL_GOT: ("starts with {credits:count credit} for {other_end}", "6.2"),
    CreditKind.ANNOUNCED: ("announces {credits:count credit} to {other_end}", "6.8"),
    CreditKind.GOT: ("receives {credits:count credit} from {other_end}, has {balance}", "6.9"),
    CreditKind.RESUMED: ("is resumed by {other_end}, has {balance}", "5.27 6.13"),
}
TIMERS: Final[Phrases] = {
    TimerAction.REGISTER: ("registers", "9.1"),
    TimerAction.DELETE: ("deletes", "9.11"),
    TimerAction.FIRE: ("fires", "[domain=EVENT_TIME?9.4|9.9]"),
}
STATE_CHANGES: Final[Phrases] = {
    StateAction.PUT: ("writes", ""),
    StateAction.ADD: ("adds to", ""),
    StateAction.REMOVE: ("removes an entry from", ""),
    StateAction.CLEAR: ("clears", ""),
    StateAction.EXPIRE: ("removes expired contents of", ""),
    StateAction.WRONG_CONTENT: ("finds wrong contents in", ""),
    StateAction.WRONG_READ: ("reads a wrong result from", ""),
}
ENTRY_NOUNS: Final = {"list": "element", "map": "entry/entries", "window_records": "record"}
"""What the entries of a state are, by its kind, with the plural; other kinds have one value."""
# Rule 3.28: a task is idle only between actions; in a yield, the wait for a mail counts as busy time. ``depth`` is the
# number of actions and waits around the wait, -1 if it is not known.
WAITS: Final[Phrases] = {
    WaitKind.COST: ("is busy: the cost of its batch passes", "3.28"),
    WaitKind.MAIL: (
        "waits for [depth=0?input: idle|depth=-1?input or a mail|a mail inside a yield]",
        "[depth<1?3.12 3.28|3.21]",
    ),
    WaitKind.BUFFER: ("waits for a buffer inside an element: hard back pressure", "3.28 5.42"),
    WaitKind.YIELD: ("yields: runs mails of priority {priority} or above", "3.21"),
    WaitKind.CHECKPOINT: ("waits until its snapshots are written", "4.17"),
    WaitKind.LOCK: ("waits without the checkpoint lock: its threads can run", "4.1 11.30"),
}
ACTIONS: Final[Phrases] = {
    ActionKind.LIFE_CYCLE: ("a life cycle step", ""),
    ActionKind.DEFAULT_ACTION: ("the default action", "3.11 4.5"),
    ActionKind.MAIL: ("a mail", "3.11"),
    ActionKind.LOCK_HOLDER: ("the work of a thread that holds the checkpoint lock", "11.30 11.32"),
}
AFTER_WAITING: Final = {WaitKind.COST: "ends its batch", WaitKind.YIELD: "ends the yield"}
_BUFFER: Final = "[kind=DATA?buffer|kind=EVENT?event|priority event] {number}"
BUFFERS: Final[Phrases] = {
    BufferSide.QUEUED: (f"queues {_BUFFER} for {{target}}, backlog {{backlog}}", "[kind=DATA?5.11|5.13] 5.18"),
    BufferSide.SENT: (
        (
            f"sends {_BUFFER} ({{bytes:,}} bytes) to {{target}}, backlog {{backlog}}"
            "[credits>=0?, {credits:count credit} left][whole=0?, more of it follows]"
        ),
        "6.11 6.12",
    ),
    BufferSide.RECEIVED: (
        f"receives {_BUFFER} ({{bytes:,}} bytes) from {{source}}, backlog {{backlog}}[credits>=0?, {{credits}} more reserved]",
        "[kind=DATA?6.3] 6.4 6.14",
    ),
    BufferSide.FLUSHED: ("flushes the queue for {target}, backlog {backlog}", "5.22"),
    BufferSide.SKIPPED: ("skips a buffer without unread bytes for {target}, backlog {backlog}", "5.23"),
    BufferSide.PRIORITIZED: ("lets event {number} for {target} overtake, backlog {backlog}", "5.32"),
    BufferSide.RECYCLED: ("recycles buffer {number} from {source}", "6.5"),
}
WINDOW_RESULTS: Final[Phrases] = {
    WindowResult.FIRE: ("fires", ""),
    WindowResult.PURGE: ("purges", ""),
    WindowResult.FIRE_AND_PURGE: ("fires and purges", ""),
}
_WATERMARK: Final = "kind=WATERMARK?element {entry} (watermark {timestamp:time})"
_ELEMENT: Final = f"[{_WATERMARK}|element {{entry}}[ {{timestamp:in_brackets}}]]"
ASYNC_ACTIONS: Final[Phrases] = {
    AsyncAction.PUT: (
        f"queues [{_WATERMARK}|element {{entry}}, {{fingerprint:record record}}]: {{queued:count element}} in the queue",
        "11.1 11.2",
    ),
    AsyncAction.INVOKE: (f"calls the function for {_ELEMENT}: attempt {{attempt}}", "11.1 11.25"),
    AsyncAction.RETRY: (f"schedules a retry of {_ELEMENT} after attempt {{attempt}}", "11.24"),
    AsyncAction.COMPLETE: (f"receives {{rows:count result}} for {_ELEMENT}", "11.12"),
    AsyncAction.FAIL: (f"receives an error for {_ELEMENT}", "11.15"),
    AsyncAction.TIMEOUT: (f"times out {_ELEMENT}", "11.17"),
    AsyncAction.EMIT: (
        f"emits {_ELEMENT}[kind!=WATERMARK? with {{rows:count result}}]: {{queued:count element}} left in the queue",
        "11.13 11.14",
    ),
}
_SYSTEM_TIMER: Final = "the [kind=TIMEOUT?timeout|retry] timer of element {entry}"
SYSTEM_TIMERS: Final[Phrases] = {
    TimerAction.REGISTER: (f"registers {_SYSTEM_TIMER} for {{timestamp:time}}", ""),
    TimerAction.DELETE: (f"cancels {_SYSTEM_TIMER}", ""),
    TimerAction.FIRE: (f"fires {_SYSTEM_TIMER}", ""),
}
_MAIL: Final = f"[priority={MAX_PRIORITY}?control mail|priority=-1?task mail|mail of priority {{priority}}] #{{mail}}"
MAILS: Final[Phrases] = {
    MailAction.PUT: (f"receives [urgent?urgent ]{_MAIL}", "3.1 [urgent?3.5]"),
    MailAction.RUN: (f"runs {_MAIL}", "3.3"),
}
CHECKPOINT_STEPS: Final[Phrases] = {
    CheckpointStep.TRIGGER: ("is triggered to take checkpoint {checkpoint}", "12.45"),
    CheckpointStep.ALIGNMENT_START: ("gets the first barrier of checkpoint {checkpoint}", "12.10 12.11"),
    CheckpointStep.ALIGNMENT_END: ("has all barriers of checkpoint {checkpoint}", "12.11"),
    CheckpointStep.BARRIER_SENT: ("has sent the barrier of checkpoint {checkpoint}", "12.6"),
    CheckpointStep.SYNC_START: ("begins the synchronous part of checkpoint {checkpoint}", "12.6"),
    CheckpointStep.SYNC_END: ("ends the synchronous part of checkpoint {checkpoint}", "12.6"),
    CheckpointStep.ASYNC_END: ("has written its state for checkpoint {checkpoint}", "12.6"),
    CheckpointStep.ACKNOWLEDGE: ("acknowledges checkpoint {checkpoint}", "12.3"),
    CheckpointStep.DECLINE: ("declines checkpoint {checkpoint}", "12.7 12.71"),
    CheckpointStep.NOTIFY_COMPLETE: ("is notified that checkpoint {checkpoint} is complete", "12.4 12.50"),
    CheckpointStep.NOTIFY_ABORTED: ("is notified that checkpoint {checkpoint} is aborted", "12.54"),
    CheckpointStep.NOTIFY_SUBSUMED: ("is notified that checkpoint {checkpoint} is subsumed", "12.50"),
    CheckpointStep.RESTORE: ("starts [checkpoint<0?without a checkpoint|from checkpoint {checkpoint}]", "12.29"),
}
STORED_KINDS: Final[Phrases] = {
    StoredKind.KEYED_STATE: ("keyed state", "12.23"),
    StoredKind.EVENT_TIME_TIMERS: ("event-time timers of service", "12.120"),
    StoredKind.PROCESSING_TIME_TIMERS: ("processing-time timers of service", "12.120"),
    StoredKind.LIST: ("list state", "12.24"),
    StoredKind.UNION_LIST: ("union list state", "12.25"),
    StoredKind.BROADCAST: ("broadcast state", "12.25"),
    StoredKind.COMMITTABLE: ("committable", "12.133"),
}
COMMITTABLES: Final[Phrases] = {
    CommittableAction.PREPARED: ("prepares", "12.30"),
    CommittableAction.COMMITTED: ("commits", "12.31"),
    CommittableAction.RETRIED: ("will commit again", "12.31"),
    CommittableAction.FAILED: ("drops", "12.131"),
    CommittableAction.RESTORED: ("restores", "12.133"),
    CommittableAction.ABORTED: ("aborts", "12.137"),
}
SNAPSHOTS: Final[Mapping[SnapshotKind, str]] = {
    SnapshotKind.CHECKPOINT: "checkpoint",
    SnapshotKind.FULL_CHECKPOINT: "full checkpoint",
    SnapshotKind.SAVEPOINT: "savepoint",
    SnapshotKind.SUSPEND: "savepoint of a stop without drain",
    SnapshotKind.TERMINATE: "savepoint of a stop with drain",
}
_SNAPSHOT: Final = f"[{'|'.join(f'type={kind.name}?{name}' for kind, name in SNAPSHOTS.items())}] {{checkpoint}}"
CHECKPOINTS: Final[Phrases] = {
    CheckpointAction.TRIGGERED: (
        f"triggers {_SNAPSHOT} of {{tasks:count task}}[acknowledged>=1?, of which {{acknowledged:,}} had finished]",
        "12.1 12.45",
    ),
    CheckpointAction.REJECTED: ("rejects a trigger: {reason}", "12.2 12.46"),
    CheckpointAction.ACKNOWLEDGED: (
        "receives the acknowledgement of checkpoint {checkpoint} by {task_id:task}, {acknowledged:,} of {tasks:,}",
        "12.49",
    ),
    CheckpointAction.DECLINED: (
        "receives that {task_id:task} declines checkpoint {checkpoint}: {reason}",
        "12.53",
    ),
    CheckpointAction.COMPLETED: (f"completes {_SNAPSHOT} with {{state_bytes:,}} bytes of state", "12.3 12.50"),
    CheckpointAction.ABORTED: (f"aborts {_SNAPSHOT}: {{reason}}", "12.54"),
    CheckpointAction.SUBSUMED: ("drops checkpoint {checkpoint}, because a newer one replaces it", "12.60"),
    CheckpointAction.RESTORED: (f"restores {_SNAPSHOT} with {{state_bytes:,}} bytes of state", "12.29"),
}
_FAILURE: Final = (
    "[task_id>=0?receives the failure of attempt {attempt} of {task_id:task}|fails as a whole]: "
    "failure {failure}[ ({failure:cause})]"
)
RESTARTS: Final[Phrases] = {
    RestartAction.FAILURE: (f"{_FAILURE}, restart in {{delay_ms:,}} ms", "12.123"),
    RestartAction.GIVE_UP: (f"{_FAILURE}, no restart is allowed", "12.129"),
    RestartAction.RESTART: (
        (
            "starts attempt {attempt} of {task_id:task} [checkpoint<0?without a checkpoint|from checkpoint {checkpoint}] "
            "because of failure {failure}"
        ),
        "12.29 12.123",
    ),
}
_IN_FLIGHT: Final = (
    "checkpoint {checkpoint} in-flight data of {channel:channel}: "
    "{input_buffers:count buffer} ({input_bytes:,} bytes) of its receiver, "
    "{output_buffers:count buffer} ({output_bytes:,} bytes) of its sender, {elements:count element}"
)
STORED_CHANNELS: Final[Phrases] = {
    StoredAction.STORED: (f"stores in {_IN_FLIGHT}", "12.83 12.84"),
    StoredAction.RESTORED: (
        (
            "[channel<0?gives {task_id:task} {elements:count record} of the old channel from subtask {source:number} to subtask "
            f"{{target:number}} of {{edge}} from checkpoint {{checkpoint}}|restores from {_IN_FLIGHT}]"
        ),
        "[channel<0?12.97 12.104|12.92]",
    ),
}
