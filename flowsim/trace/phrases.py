"""The printed text of each enum member, with its rules; a test compares each table with its enum."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from flowsim.facts.kinds import (
    ActionKind,
    CheckpointStep,
    CommittableAction,
    CreditKind,
    ElementKind,
    LifeEvent,
    SegmentAction,
    StateAction,
    StoredKind,
    TimerAction,
    WaitKind,
)

Phrases = Mapping[IntEnum, tuple[str, tuple[str, ...]]]

SENT: Final[Phrases] = {
    ElementKind.RECORD: ("writes record", ("5.11",)),
    ElementKind.WATERMARK: ("writes watermark", ("8.18",)),
    ElementKind.STATUS: ("announces", ("5.8",)),
    ElementKind.LATENCY_MARKER: ("writes a latency marker of", ("5.6", "8.20")),
    ElementKind.END_OF_DATA: ("writes EndOfData", ("4.9",)),
    ElementKind.END_OF_PARTITION: ("writes EndOfPartition", ("4.18",)),
    ElementKind.CHECKPOINT_BARRIER: ("writes the barrier", ("12.6",)),
    ElementKind.CANCEL_CHECKPOINT_MARKER: ("writes the cancellation", ("12.71",)),
    ElementKind.EVENT: ("writes an event", ()),
    ElementKind.UNALIGNED_BARRIER: ("writes the unaligned barrier", ("5.28", "12.6")),
}
RECEIVED: Final[Phrases] = {
    ElementKind.RECORD: ("reads record", ("7.17",)),
    ElementKind.WATERMARK: ("reads watermark", ("7.17", "8.9")),
    ElementKind.STATUS: ("reads that the channel is", ("7.17", "8.10", "8.11")),
    ElementKind.LATENCY_MARKER: ("reads a latency marker of", ("7.17",)),
    ElementKind.END_OF_DATA: ("reads EndOfData", ("7.7", "7.18")),
    ElementKind.END_OF_PARTITION: ("reads EndOfPartition", ("7.6",)),
    ElementKind.CHECKPOINT_BARRIER: ("reads the barrier", ("12.11",)),
    ElementKind.CANCEL_CHECKPOINT_MARKER: ("reads the cancellation", ("12.13",)),
    ElementKind.EVENT: ("reads an event", ()),
    ElementKind.UNALIGNED_BARRIER: ("reads the unaligned barrier", ("5.28", "12.11")),
}
LIFE: Final[Phrases] = {
    LifeEvent.INITIALIZING: ("opens its operators", ("4.2",)),
    LifeEvent.RUNNING: ("is running", ("4.5",)),
    LifeEvent.OPEN: ("is open", ("4.2",)),
    LifeEvent.END_INPUT: ("receives the end of its input", ("4.11", "4.12")),
    LifeEvent.FINISH: ("finishes", ("4.12", "4.13")),
    LifeEvent.CLOSE: ("is closed", ("4.17",)),
    LifeEvent.FINISHED: ("has finished", ("4.18",)),
    LifeEvent.CANCELED: ("is canceled", ("4.24", "4.26")),
    LifeEvent.FAILED: ("has failed", ("4.24", "4.26")),
    LifeEvent.STOP_WITH_DRAIN: ("is stopped with drain", ("4.20",)),
    LifeEvent.STOP_NO_DRAIN: ("is stopped without drain", ("4.20",)),
    LifeEvent.CANCELING: ("is being canceled", ("4.23",)),
    LifeEvent.DEADLOCKED: ("is deadlocked: no task of the job can run", ()),
    LifeEvent.LIVELOCKED: ("is livelocked: the tasks of the job take turns and process no element", ()),
    LifeEvent.RESTORED_AS_FINISHED: ("had finished before the checkpoint, so its operators do not run", ("12.100",)),
}
SEGMENTS: Final[Phrases] = {
    SegmentAction.TAKEN: ("takes a segment from the task manager", ("5.34",)),
    SegmentAction.RETURNED: ("returns a segment to the task manager", ("5.37",)),
    SegmentAction.HANDED_OUT: ("hands out a segment", ("5.33",)),
    SegmentAction.RECYCLED: ("gets a segment back", ("5.37",)),
    SegmentAction.RESIZED: ("is resized", ("5.39",)),
    SegmentAction.COMPARED: ("compares the load", ("2.4",)),
}
CREDITS: Final[Phrases] = {
    CreditKind.INITIAL_GRANTED: (
        "grants {credits} for its exclusive buffers to {channel}",
        ("6.1", "6.2"),
    ),
    CreditKind.INITIAL_GOT: ("starts with {credits} for {channel}", ("6.2",)),
    CreditKind.ANNOUNCED: ("announces {credits} to {channel}", ("6.8",)),
    CreditKind.GOT: ("receives {credits} from {channel}, has {balance}", ("6.9",)),
    CreditKind.RESUMED: ("is resumed by {channel}, has {balance}", ("5.27", "6.13")),
}
TIMERS: Final[Phrases] = {
    TimerAction.REGISTER: ("registers", ("9.1",)),
    TimerAction.DELETE: ("deletes", ("9.11",)),
    TimerAction.FIRE: ("fires", ("9.4",)),
}
STATE_CHANGES: Final[Phrases] = {
    StateAction.PUT: ("writes", ()),
    StateAction.ADD: ("adds to", ()),
    StateAction.REMOVE: ("removes an entry from", ()),
    StateAction.CLEAR: ("clears", ()),
    StateAction.EXPIRE: ("removes expired contents of", ()),
    StateAction.WRONG_CONTENT: ("finds wrong contents in", ()),
    StateAction.WRONG_READ: ("reads a wrong result from", ()),
}
WAITS: Final[Phrases] = {
    WaitKind.COST: ("is busy: the cost of its batch passes", ("3.28",)),
    WaitKind.MAIL: ("waits for input: idle", ("3.12", "3.28")),
    WaitKind.BUFFER: ("waits for a buffer inside an element: hard back pressure", ("3.28", "5.42")),
    WaitKind.YIELD: ("yields: runs mails of priority {priority} or above", ("3.21",)),
    WaitKind.CHECKPOINT: ("waits until its snapshots are written", ("4.17",)),
    WaitKind.LOCK: ("waits without the checkpoint lock: its threads can run", ("4.1", "11.30")),
}
MAIL_IN_YIELD: Final = ("waits for a mail inside a yield", ("3.21",))
MAIL_OR_INPUT: Final = ("waits for input or a mail", ("3.12", "3.28"))
SOFT_BACK_PRESSURE: Final = ("waits for output: soft back pressure", ("3.28", "4.6"))
ACTIONS: Final[Phrases] = {
    ActionKind.LIFE_CYCLE: ("a life cycle step", ()),
    ActionKind.DEFAULT_ACTION: ("the default action", ("3.11", "4.5")),
    ActionKind.MAIL: ("a mail", ("3.11",)),
    ActionKind.LOCK_HOLDER: ("the work of a thread that holds the checkpoint lock", ("11.30", "11.32")),
}
CHECKPOINT_STEPS: Final[Phrases] = {
    CheckpointStep.TRIGGER: ("is triggered to take checkpoint {checkpoint}", ("12.45",)),
    CheckpointStep.ALIGNMENT_START: ("gets the first barrier of checkpoint {checkpoint}", ("12.10", "12.11")),
    CheckpointStep.ALIGNMENT_END: ("has all barriers of checkpoint {checkpoint}", ("12.11",)),
    CheckpointStep.BARRIER_SENT: ("has sent the barrier of checkpoint {checkpoint}", ("12.6",)),
    CheckpointStep.SYNC_START: ("begins the synchronous part of checkpoint {checkpoint}", ("12.6",)),
    CheckpointStep.SYNC_END: ("ends the synchronous part of checkpoint {checkpoint}", ("12.6",)),
    CheckpointStep.ASYNC_END: ("has written its state for checkpoint {checkpoint}", ("12.6",)),
    CheckpointStep.ACKNOWLEDGE: ("acknowledges checkpoint {checkpoint}", ("12.3",)),
    CheckpointStep.DECLINE: ("declines checkpoint {checkpoint}", ("12.7", "12.71")),
    CheckpointStep.NOTIFY_COMPLETE: ("is notified that checkpoint {checkpoint} is complete", ("12.4", "12.50")),
    CheckpointStep.NOTIFY_ABORTED: ("is notified that checkpoint {checkpoint} is aborted", ("12.54",)),
    CheckpointStep.NOTIFY_SUBSUMED: ("is notified that checkpoint {checkpoint} is subsumed", ("12.50",)),
    CheckpointStep.RESTORE: ("starts from checkpoint {checkpoint}", ("12.29",)),
}
STORED_KINDS: Final[Phrases] = {
    StoredKind.KEYED_STATE: ("keyed state", ("12.23",)),
    StoredKind.EVENT_TIME_TIMERS: ("event-time timers of service", ("12.120",)),
    StoredKind.PROCESSING_TIME_TIMERS: ("processing-time timers of service", ("12.120",)),
    StoredKind.LIST: ("list state", ("12.24",)),
    StoredKind.UNION_LIST: ("union list state", ("12.25",)),
    StoredKind.BROADCAST: ("broadcast state", ("12.25",)),
    StoredKind.COMMITTABLE: ("committable", ("12.133",)),
}
COMMITTABLES: Final[Phrases] = {
    CommittableAction.PREPARED: ("prepares", ("12.30",)),
    CommittableAction.COMMITTED: ("commits", ("12.31",)),
    CommittableAction.RETRIED: ("will commit again", ("12.31",)),
    CommittableAction.FAILED: ("drops", ("12.131",)),
    CommittableAction.RESTORED: ("restores", ("12.133",)),
    CommittableAction.ABORTED: ("aborts", ("12.137",)),
}
