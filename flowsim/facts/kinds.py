"""The closed sets of small integers in facts (``docs/recording.md`` lists them with their columns)."""

from __future__ import annotations

from enum import IntEnum


class Level(IntEnum):
    """How much a run records; each level includes the previous one."""

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


class BufferSide(IntEnum):
    """Which side recorded the buffer, and its step (``buffers.side``)."""

    SENT = 0
    RECEIVED = 1
    QUEUED = 2
    """Added to its subpartition, perhaps still empty and being filled."""
    FLUSHED = 3
    """A flush of a subpartition took effect: its contents can be read, including a buffer that is being filled (rule
    5.22).
    """
    SKIPPED = 4
    """Its reader found no more bytes: nothing is sent (rule 5.23)."""
    RECYCLED = 5
    """Its memory at the receiver, an exclusive or floating buffer, is free again (rule 6.5)."""


class BufferKind(IntEnum):
    """Data buffers need a credit, events do not (rule 6.11)."""

    DATA = 0
    EVENT = 1


class CreditKind(IntEnum):
    """The steps of a credit (``credits.kind``)."""

    INITIAL_GRANTED = 0
    INITIAL_GOT = 1
    ANNOUNCED = 2
    GOT = 3


class SegmentAction(IntEnum):
    """The action on a segment of a local buffer pool (``segments.action``)."""

    TAKEN = 0
    """From the network buffer pool of the task manager into the local pool."""
    RETURNED = 1
    """From the local pool back to the network buffer pool."""
    HANDED_OUT = 2
    """From the local pool to a writer or an input channel."""
    RECYCLED = 3
    """Back to the local pool."""
    RESIZED = 4
    """No segment moved: the local pool has another size now."""


class PoolKind(IntEnum):
    """The user of a local buffer pool (``pools.kind``)."""

    OUTPUT = 0
    INPUT = 1


class MailAction(IntEnum):
    PUT = 0
    RUN = 1


class ActionPhase(IntEnum):
    """``actions.phase``: BEGIN and END enclose one action; WAIT and RESUME enclose one await inside or between actions."""

    BEGIN = 0
    END = 1
    WAIT = 2
    RESUME = 3


class ActionKind(IntEnum):
    """What runs between BEGIN and END (``actions.kind`` of phases BEGIN and END)."""

    LIFE_CYCLE = 0
    DEFAULT_ACTION = 1
    MAIL = 2
    LOCK_HOLDER = 3
    """Work of another thread of a Flink 1.8 task while it holds the checkpoint lock: an emitter, a timer, a snapshot."""


class WaitKind(IntEnum):
    """Why the actor awaits (``actions.kind`` of phases WAIT and RESUME); the await sites of D2.

    Inside YIELD and LOCK other actions may be nested: an operator waits by running mails, a task with a checkpoint lock
    while its threads work. Inside the others no action may begin.
    """

    COST = 0
    MAIL = 1
    BUFFER = 2
    YIELD = 3
    LOCK = 4
    """For mail, a place in a queue or the lock itself, with the checkpoint lock released: actions of the task's threads
    may begin inside (rules 4.1, 11.30)."""


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
    """A value, a whole list or a map entry was written, or the contents of other windows were merged into a window."""
    ADD = 1
    """A value was added to a list, to a list inside a map, to a reduced value or to an accumulator."""
    REMOVE = 2
    """A map entry was removed."""
    CLEAR = 3
    """The whole state was removed."""
    EXPIRE = 4
    """State was dropped because its time to live had passed."""


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
    """What the trigger was called for (``window_fire.cause``)."""

    ELEMENT = 0
    EVENT_TIME_TIMER = 1
    PROCESSING_TIME_TIMER = 2


class LifeEvent(IntEnum):
    """``lifecycle.event``; operator is -1 for events of the whole task."""

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


class AsyncAction(IntEnum):
    """A step of an element in an async operator (``async_elements.action``)."""

    PUT = 0
    """It was put into the queue."""
    INVOKE = 1
    """The function is called for it."""
    RETRY = 2
    """An outcome was not accepted: the element waits for a retry."""
    COMPLETE = 3
    """The first accepted outcome: results."""
    FAIL = 4
    """The first accepted outcome: an error, which fails the job."""
    TIMEOUT = 5
    """The timeout passed before an outcome: the function's ``timeout`` is called."""
    EMIT = 6
    """It left the queue: all its results were emitted."""
