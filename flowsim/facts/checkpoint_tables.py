"""The tables of checkpoints and restarts.

Facts of the job's side belong to no task: they have no ``seq`` and no attempt.
"""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import (
    AlignmentType,
    CheckpointAction,
    CheckpointReason,
    CheckpointStep,
    CommittableAction,
    Level,
    RestartAction,
    SnapshotKind,
    StoredAction,
    StoredKind,
)
from flowsim.facts.table import OPERATOR, SEQ, TASK, TIME, Column, Table

_CHECKPOINT = Column("checkpoint", "q", "id of the checkpoint or savepoint")
_REASON = Column("reason", "b", "why it was rejected, declined or aborted; otherwise NONE", CheckpointReason)
_STEP = Column(
    "step", "q", "number of the fact among those of the job's side (checkpoints, restarts, stored_channels), from 0"
)
_JOB_TIME = Column("time_ns", "q", "the job's clock in virtual nanoseconds")

CHECKPOINTS = Table(
    "checkpoints", Level.ELEMENTS, "an event of a checkpoint or savepoint on the job's side (section 12)",
    (_STEP, _JOB_TIME, Column("checkpoint", "q", "its id; -1: the trigger failed before there was an id"),
     Column("action", "b", "what happened", CheckpointAction),
     Column("type", "b", "type of the snapshot", SnapshotKind),
     Column("alignment", "b", "how tasks handle its barriers; of a timeoutable one ALIGNED", AlignmentType), _REASON,
     Column("task_id", "i", "the task that acknowledged or declined it (table tasks), otherwise -1"),
     Column("tasks", "i", "number of tasks that take part, with finished ones; restored from a snapshot of another run: the "
            "number of subtasks of operators of which the snapshot says what they stored; -1: unknown"),
     Column("acknowledged", "i", "number of tasks that have acknowledged it, with finished ones; -1: unknown"),
     Column("state_bytes", "q", "completed and restored: size of its state in bytes; otherwise 0")),
)  # fmt: skip
RESTARTS = Table(
    "restarts", Level.ELEMENTS, "a failure that was reported to the job's side, or the restart of a task (section 12)",
    (_STEP, _JOB_TIME, Column("action", "b", "what happened", RestartAction),
     Column("failure", "i", "number of the failure, from 0; a restart has the number of its cause"),
     Column("task_id", "i", "the task that failed or is restarted (table tasks), -1: the failure of no single task"),
     Column("attempt", "i", "failure: the attempt that failed; restart: the new attempt; -1 without a task"),
     Column("checkpoint", "q", "restart: id of the checkpoint from which the task starts, -1: none; otherwise -1"),
     Column("delay_ms", "q", "failure: delay until the restart in ms; otherwise 0")),
)  # fmt: skip
STORED_CHANNELS = Table(
    "stored_channels", Level.ELEMENTS,
    "the in-flight data of one channel in a checkpoint (rule 12.83): when the checkpoint is complete, and when it is restored",
    (_STEP, _JOB_TIME, _CHECKPOINT, Column("action", "b", "stored or restored", StoredAction),
     Column("edge", "i", "the edge (table edges)"),
     Column("source", "i", "the subtask that sent it, in the job that stored it"),
     Column("target", "i", "the subtask that would have received it, in the job that stored it"),
     Column("channel", "i", "its channel id; -1: restored with another parallelism"),
     Column("task_id", "i", "the task that receives it: of a stored one that of ``target``; restored with another parallelism "
            "there is a row for each task, with the records that belong to its key groups"),
     Column("input_buffers", "i", "number of buffers that the receiver stored, without those of 0 bytes (rule 12.84)"),
     Column("input_bytes", "q", "their size"),
     Column("output_buffers", "i", "number of buffers that the sender stored, likewise"),
     Column("output_bytes", "q", "their size; restored with another parallelism these four are 0"),
     Column("elements", "q", "number of elements in these buffers; restored with another parallelism only of records"),
     Column("element_sum", "q", "sum of their numbers: of a record its fingerprint, of another element a number from kind and "
            "timestamp; overflows like a Java long"),
     Column("weighted_sum", "q", "sum of their numbers, each times its place from 0; overflows; 0 with another parallelism"),
     Column("rest_bytes", "q", "bytes that form no whole element, always 0")),
)  # fmt: skip
CHECKPOINT_STEPS = Table(
    "checkpoint_steps", Level.ELEMENTS, "a step of a checkpoint in a task (section 12)",
    (SEQ, TASK, TIME, _CHECKPOINT, Column("step", "b", "what happened", CheckpointStep),
     Column("channel", "i", "alignment: channel of the first or last barrier, -1: none (a call of the coordinator); "
            "otherwise -1"), _REASON),
)  # fmt: skip
SNAPSHOTS = Table(
    "snapshots", Level.ELEMENTS, "an operator's state was copied for a checkpoint, between two elements or inside one",
    (SEQ, TASK, OPERATOR, TIME,
     Column("requested_ns", "q", "when the task was asked for it, on the job's clock: a source by the coordinator, other tasks "
            "by their last barrier"),
     _CHECKPOINT, Column("records_in", "q", "number of records that the operator had started to process"),
     Column("elements", "q", "number of elements in the queue of an asynchronous operator, which the checkpoint contains"),
     Column("inside", "b", "1 if the operator was inside an element, otherwise 0")),
)  # fmt: skip
CHECKPOINT_METRICS = Table(
    "checkpoint_metrics", Level.ELEMENTS, "the measurements of a task with which it acknowledges a checkpoint (rule 12.142)",
    (SEQ, TASK, TIME, _CHECKPOINT,
     Column("start_delay_ns", "q", "age of the checkpoint at its first barrier"),
     Column("alignment_ns", "q", "time between the first and the last barrier"),
     Column("alignment_bytes", "q", "sizes of the data buffers that were processed during the alignment"),
     Column("persisted_bytes", "q", "size of stored in-flight data; above 0 only for an unaligned checkpoint"),
     Column("sync_ms", "q", "duration of the synchronous part"),
     Column("async_ms", "q", "duration of the asynchronous part, with the wait for earlier ones"),
     Column("state_bytes", "q", "size of the task's state in the checkpoint")),
)  # fmt: skip
STORED_STATE = Table(
    "stored_state", Level.ELEMENTS,
    "the content of a state that an operator stored in a checkpoint, or that it restored; keyed state and timers: per key group",
    (SEQ, TASK, OPERATOR, TIME, _CHECKPOINT, Column("action", "b", "stored or restored", StoredAction),
     Column("kind", "b", "kind of the state", StoredKind),
     Column("state", "q", "63-bit fingerprint of its name, which is a value of table record_values; of the service for timers"),
     Column("key_group", "i", "key group of keyed state and timers, otherwise -1"),
     Column("entries", "q", "number of cells, timers, elements or map entries"),
     Column("fingerprint_sum", "q", "sum of the fingerprints of the entries without timestamps; overflows like a Java long. "
            "A cell is the array [namespace, key, content], a timer [timestamp, key, namespace]")),
)  # fmt: skip
SOURCE_POSITIONS = Table(
    "source_positions", Level.ELEMENTS, "the position of a source in one split, stored in a checkpoint or restored (rule 12.111)",
    (SEQ, TASK, OPERATOR, TIME, _CHECKPOINT, Column("action", "b", "stored or restored", StoredAction),
     Column("split", "q", "63-bit fingerprint of the name of the split"),
     Column("position", "q", "number of records of the split before the next one, those of all attempts; of a script its "
            "entries, of a group of rows those of its file"),
     Column("records", "q", "advance of the position in this attempt")),
)  # fmt: skip
COMMITTABLES = Table(
    "committables", Level.ELEMENTS, "a step of a committable of a sink (section 12)",
    (SEQ, TASK, OPERATOR, TIME,
     Column("checkpoint", "q", "id of the checkpoint for which it was prepared"),
     Column("action", "b", "what happened", CommittableAction),
     Column("committable", "q", "63-bit fingerprint that identifies it, the same in all attempts"),
     Column("rows", "q", "PREPARED: number of records in it; otherwise 0"),
     Column("fingerprint_sum", "q", "sum of the fingerprints of these records without timestamps; overflows like a Java long")),
)  # fmt: skip

CHECKPOINT_TABLES: Final = (
    CHECKPOINTS, RESTARTS, STORED_CHANNELS, CHECKPOINT_STEPS, SNAPSHOTS, CHECKPOINT_METRICS, STORED_STATE,
    SOURCE_POSITIONS, COMMITTABLES,
)  # fmt: skip
