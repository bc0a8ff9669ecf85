"""The closed sets of small integers in facts (``docs/recording.md`` lists them with their columns)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Level(IntEnum):
    """The amount of facts that a run records; each level includes the previous level."""

    OFF = 0
    ELEMENTS = 1
    FULL = 2


class ElementKind(IntEnum):
    """Kind of an element or event on a channel (``sent.kind``, ``received.kind``, ``task_watermark.kind``)."""

    RECORD = 0
    WATERMARK = 1
    STATUS = 2
    LATENCY_MARKER = 3
    END_OF_DATA = 4
    END_OF_PARTITION = 5
    CHECKPOINT_BARRIER = 6
    CANCEL_CHECKPOINT_MARKER = 7
    EVENT = 8
    """An event between restored in-flight data. It has the position of the next element, and does not count."""
    UNALIGNED_BARRIER = 9
    """A barrier that may overtake elements. It has the position of the next element, and does not count."""


WITHOUT_POSITION: Final = (ElementKind.EVENT, ElementKind.UNALIGNED_BARRIER)
"""What has the position of the next element on its channel."""
DRAIN: Final = 1
"""The ``timestamp`` of an END_OF_DATA with drain; without drain it is 0."""


class BufferSide(IntEnum):
    """The side that recorded the buffer, and the step of the buffer (``buffers.side``)."""

    SENT = 0
    RECEIVED = 1
    QUEUED = 2
    """The writer added the buffer to its subpartition; the buffer may still be empty and being filled."""
    FLUSHED = 3
    """A flush of a subpartition took effect: its contents can be read, including a buffer that is being filled (rule
    5.22).
    """
    SKIPPED = 4
    """The reader of the buffer found no more bytes, so nothing is sent (rule 5.23)."""
    RECYCLED = 5
    """The receiver's memory of the buffer, exclusive or floating, is free again (rule 6.5)."""
    PRIORITIZED = 6
    """A queued barrier timed out, and overtakes the data before it (rule 5.32); ``number`` is that of its QUEUED row."""


class BufferKind(IntEnum):
    """The kind of a buffer. Data buffers need a credit, events do not (rule 6.11)."""

    DATA = 0
    EVENT = 1
    PRIORITY_EVENT = 2
    """An event that overtakes queued data (rule 5.28)."""


class CreditKind(IntEnum):
    """The steps of a credit (``credits.kind``)."""

    INITIAL_GRANTED = 0
    INITIAL_GOT = 1
    ANNOUNCED = 2
    GOT = 3
    RESUMED = 4
    """The receiver's request to resume the channel after an event that blocked it reached the sender (rule 5.27)."""


class SegmentAction(IntEnum):
    """The action on a segment of a local buffer pool (``segments.action``)."""

    TAKEN = 0
    """The local pool took the segment from the network buffer pool of the task manager."""
    RETURNED = 1
    """The local pool returned the segment to the network buffer pool."""
    HANDED_OUT = 2
    """The local pool gave the segment to a writer or an input channel."""
    RECYCLED = 3
    """The segment is back in the local pool."""
    RESIZED = 4
    """No segment moved: the local pool has another size now."""
    COMPARED = 5
    """No segment moved: an adaptive writer compared the load of the subpartition with that of others (rule 2.4)."""


class PoolKind(IntEnum):
    """The user of a local buffer pool (``pools.kind``)."""

    OUTPUT = 0
    INPUT = 1


class MailAction(IntEnum):
    PUT = 0
    RUN = 1


class ActionPhase(IntEnum):
    """The phase of an action (``actions.phase``).

    BEGIN and END enclose one action; WAIT and RESUME enclose one await inside or between actions.
    """

    BEGIN = 0
    END = 1
    WAIT = 2
    RESUME = 3


class ActionKind(IntEnum):
    """The work between BEGIN and END (``actions.kind`` of phases BEGIN and END)."""

    LIFE_CYCLE = 0
    DEFAULT_ACTION = 1
    MAIL = 2
    LOCK_HOLDER = 3
    """Work of another thread of a Flink 1.8 task while it holds the checkpoint lock: an emitter, a timer, a snapshot."""


class WaitKind(IntEnum):
    """The reason why the actor awaits (``actions.kind`` of phases WAIT and RESUME); the await sites of D2.

    Other actions may begin inside YIELD, where an operator runs mails while it waits, and inside LOCK, where the
    threads of a task with a checkpoint lock work. No action may begin inside the other kinds.
    """

    COST = 0
    MAIL = 1
    BUFFER = 2
    YIELD = 3
    LOCK = 4
    """The loop waits, with the checkpoint lock released, for mail, for a free queue position or for the lock. Meanwhile
    actions of the task's threads may begin (rules 4.1, 11.30)."""
    CHECKPOINT = 5
    """The task waits for the asynchronous parts of its checkpoints before it closes its operators (rule 4.17)."""


class TimerAction(IntEnum):
    REGISTER = 0
    DELETE = 1
    FIRE = 2


class TimeDomain(IntEnum):
    EVENT_TIME = 0
    PROCESSING_TIME = 1


class StateAction(IntEnum):
    """The kind of a state change (``state_changes.action``)."""

    PUT = 0
    """A value, a whole list or a map entry was written; or the contents of other windows were merged into a window."""
    ADD = 1
    """A value was added to a list, to a list inside a map, to a reduced value or to an accumulator."""
    REMOVE = 2
    """A map entry was removed."""
    CLEAR = 3
    """The whole state was removed."""
    EXPIRE = 4
    """State was dropped because its time to live had passed."""
    WRONG_CONTENT = 5
    """No change: a call left something else in the state than it should have (law state)."""
    WRONG_READ = 6
    """No change: a read returned something else than it should have (law state)."""


class SystemTimer(IntEnum):
    """The purpose of an async element's timer (``system_timers.kind``)."""

    TIMEOUT = 0
    RETRY = 1


class WindowResult(IntEnum):
    """A trigger's result for a window with contents (``window_fire.result``); CONTINUE is not recorded."""

    FIRE = 1
    PURGE = 2
    FIRE_AND_PURGE = 3


class FireCause(IntEnum):
    """The reason why the trigger was called (``window_fire.cause``)."""

    ELEMENT = 0
    EVENT_TIME_TIMER = 1
    PROCESSING_TIME_TIMER = 2


class LifeEvent(IntEnum):
    """The kind of a life cycle event (``lifecycle.event``). The operator is -1 for events of the whole task."""

    RUNNING = 0
    OPEN = 1
    END_INPUT = 2
    FINISH = 3
    CLOSE = 4
    FINISHED = 5
    CANCELED = 6
    FAILED = 7
    STOP_WITH_DRAIN = 8
    """A stop reached the task; event time is flushed (rule 4.20)."""
    STOP_NO_DRAIN = 9
    CANCELING = 10
    """A cancellation reached the task (rule 4.23)."""
    INITIALIZING = 11
    """The task started: its operators are opened before it is RUNNING (rule 4.2)."""
    DEADLOCKED = 12
    """No task of the job can run, and the task has not ended."""
    RESTORED_AS_FINISHED = 13
    """The task had finished before the checkpoint from which it starts: its operators do not run (rule 12.100)."""
    LIVELOCKED = 14
    """The tasks of the job take turns without end and process no element; the run was ended."""


class AsyncAction(IntEnum):
    """A step of an element in an async operator (``async_elements.action``)."""

    PUT = 0
    """The element was put into the queue."""
    INVOKE = 1
    """The function is called for the element."""
    RETRY = 2
    """An outcome was not accepted; the element waits for a retry."""
    COMPLETE = 3
    """The first accepted outcome arrived: results."""
    FAIL = 4
    """The first accepted outcome arrived: an error, which fails the job."""
    TIMEOUT = 5
    """The timeout passed before an outcome arrived; the function's ``timeout`` is called."""
    EMIT = 6
    """The element left the queue; all its results were emitted."""


class CheckpointAction(IntEnum):
    """What happened to a checkpoint on the job's side (``checkpoints.action``)."""

    TRIGGERED = 0
    REJECTED = 1
    """The trigger failed before there was a pending checkpoint."""
    ACKNOWLEDGED = 2
    """A task acknowledged it."""
    DECLINED = 3
    """A task declined it."""
    COMPLETED = 4
    ABORTED = 5
    """It was aborted; a checkpoint that expired has reason CHECKPOINT_EXPIRED."""
    SUBSUMED = 6
    """A newer checkpoint replaced it in the store of completed checkpoints."""
    RESTORED = 7
    """Tasks start with its state."""


class SnapshotKind(IntEnum):
    """The type of a checkpoint (``checkpoints.type``; section 12.0)."""

    CHECKPOINT = 0
    FULL_CHECKPOINT = 1
    SAVEPOINT = 2
    SUSPEND = 3
    """The savepoint of a stop without drain."""
    TERMINATE = 4
    """The savepoint of a stop with drain."""


class AlignmentType(IntEnum):
    """How barriers are handled (``checkpoints.alignment``; section 12.0)."""

    AT_LEAST_ONCE = 0
    ALIGNED = 1
    UNALIGNED = 2
    FORCED_ALIGNED = 3


class CheckpointReason(IntEnum):
    """The reason of a failed checkpoint; the names are those of Flink's ``CheckpointFailureReason``."""

    NONE = -1
    PERIODIC_SCHEDULER_SHUTDOWN = 0
    TOO_MANY_CHECKPOINT_REQUESTS = 1
    MINIMUM_TIME_BETWEEN_CHECKPOINTS = 2
    NOT_ALL_REQUIRED_TASKS_RUNNING = 3
    IO_EXCEPTION = 4
    BLOCKING_OUTPUT_EXIST = 5
    CHECKPOINT_ASYNC_EXCEPTION = 6
    CHANNEL_STATE_SHARED_STREAM_EXCEPTION = 7
    CHECKPOINT_EXPIRED = 8
    CHECKPOINT_SUBSUMED = 9
    CHECKPOINT_DECLINED = 10
    CHECKPOINT_DECLINED_TASK_NOT_READY = 11
    CHECKPOINT_DECLINED_TASK_CLOSING = 12
    CHECKPOINT_DECLINED_SUBSUMED = 13
    CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER = 14
    CHECKPOINT_DECLINED_INPUT_END_OF_STREAM = 15
    CHECKPOINT_COORDINATOR_SHUTDOWN = 16
    CHECKPOINT_COORDINATOR_SUSPEND = 17
    JOB_FAILOVER_REGION = 18
    TASK_FAILURE = 19
    TASK_CHECKPOINT_FAILURE = 20
    UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE = 21
    FINALIZE_CHECKPOINT_FAILURE = 22
    TRIGGER_CHECKPOINT_FAILURE = 23


class RestartAction(IntEnum):
    """A step of a failover (``restarts.action``)."""

    FAILURE = 0
    """A failure was reported, and the restart strategy allows a restart."""
    RESTART = 1
    """A task was deployed again."""
    GIVE_UP = 2
    """A failure was reported, and the job fails: no restart is allowed."""


class CheckpointStep(IntEnum):
    """A step of a checkpoint in one task (``checkpoint_steps.step``)."""

    TRIGGER = 0
    """The call of the coordinator reached the task."""
    ALIGNMENT_START = 1
    """The first barrier was handled."""
    ALIGNMENT_END = 2
    """The last barrier was handled."""
    BARRIER_SENT = 3
    """The barrier was added to all outputs."""
    SYNC_START = 4
    """The synchronous part begins: all facts of the task so far happened before its snapshot."""
    SYNC_END = 5
    ASYNC_END = 6
    """The state is written."""
    ACKNOWLEDGE = 7
    DECLINE = 8
    NOTIFY_COMPLETE = 9
    NOTIFY_ABORTED = 10
    NOTIFY_SUBSUMED = 11
    RESTORE = 12
    """The attempt starts from this checkpoint, -1: without one."""


class StoredAction(IntEnum):
    """Whether state was stored in a checkpoint or restored from it (``stored_state.action``)."""

    STORED = 0
    RESTORED = 1
    IN_SNAPSHOT = 2
    """Stored by the subtask of this index in another run, in the snapshot from which the job starts."""
    IN_RESCALED_SNAPSHOT = 3
    """The same of a snapshot of another parallelism: subtask 0 records the states of all its subtasks, in their order."""


class StoredKind(IntEnum):
    """The kind of stored state (``stored_state.kind``), which determines how it is redistributed."""

    KEYED_STATE = 0
    EVENT_TIME_TIMERS = 1
    PROCESSING_TIME_TIMERS = 2
    LIST = 3
    """Each element belongs to one subtask (rule 12.24)."""
    UNION_LIST = 4
    """Each subtask restores all elements of all subtasks (rule 12.25)."""
    BROADCAST = 5
    """All subtasks store the same entries (rule 12.25)."""
    COMMITTABLE = 6
    """A committable that waits in the state of a sink; only in rows about a snapshot of another run."""


class CommittableAction(IntEnum):
    """A step of a committable (``committables.action``)."""

    PREPARED = 0
    """The writer emitted it before the barrier of its checkpoint."""
    COMMITTED = 1
    RETRIED = 2
    """The committer asked to commit it again."""
    FAILED = 3
    """The committer signaled a failure with a known reason; the committable is dropped."""
    RESTORED = 4
    """It was restored with the state of the committer; it is committed again unless it was committed before."""
    ABORTED = 5
    """A transaction that waited for its checkpoint was aborted, which no sink may do (rule 12.137)."""
