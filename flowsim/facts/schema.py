"""The tables of a recording: what each fact means, column by column (architecture decision D6).

A fact is one row of one table. Fact tables contain only integers, so a fact has a fixed number of bytes. There are no
nulls; sentinels are documented per column. Description tables (``STATIC_TABLES``) are small, may contain text, and
describe the ids. ``docs/recording.md`` is generated from this file.

Columns shared by the fact tables of tasks:

``seq``      strictly increasing per task over *all* tables: the order in which the task's facts were recorded
``task``     task id (table ``tasks``)
``time_ns``  the task's clock: virtual nanoseconds, loop time plus the cost accumulated in the running batch
"""

from __future__ import annotations

from typing import Final

from flowsim.facts.checkpoint_tables import CHECKPOINT_TABLES
from flowsim.facts.choice_table import CHOICES as CHOICES
from flowsim.facts.kinds import (
    ActionPhase,
    AsyncAction,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    FireCause,
    Level,
    LifeEvent,
    MailAction,
    PoolKind,
    SegmentAction,
    StateAction,
    SystemTimer,
    TimeDomain,
    TimerAction,
    WindowResult,
)
from flowsim.facts.table import OPERATOR, SEQ, TASK, TIME
from flowsim.facts.table import TASK_ATTEMPT as TASK_ATTEMPT
from flowsim.facts.table import Column as Column
from flowsim.facts.table import Table as Table

FORMAT_VERSION: Final = 7

PARAMS_OF_SPLITS: Final = frozenset(("splits", "assignment", "files", "split_by", "partitions"))
"""Parameters of sources whose records come from splits, in ``operators.params``."""

OUTPUT_FULL: Final = -2
"""``actions.priority`` of a wait for mail between elements while the output is full: soft back pressure (rule 4.6)."""

RECOVERED_FIRST: Final = -(2**62)
"""``received.position`` of the first element of a channel that was restored as in-flight data; the others follow."""

_CHANNEL = Column("channel", "i", "channel id (table channels)")
_TIMESTAMP = Column(
    "timestamp",
    "q",
    "record: its timestamp in ms, -2^63 = none; watermark: its time; status: 0 ACTIVE, -1 IDLE; latency marker: its "
    "mark time; END_OF_DATA: 1 drain, 0 no drain; barriers and CANCEL_CHECKPOINT_MARKER: id of the checkpoint; "
    "other events: 0",
)
_FINGERPRINT = Column(
    "fingerprint", "q", "63-bit hash of a record's (timestamp, value), otherwise 0; see values.fingerprint"
)
_KEY_HASH = Column("key_hash", "i", "Java hashCode of the key; 0 if the stream is not keyed")
_KEY = Column(
    "key", "q", "63-bit fingerprint of the typed key, which identifies it in table keys; 0 if the stream is not keyed"
)
_POOL = Column("pool", "i", "local buffer pool (table pools)")
_WINDOW_START = Column("window_start", "q", "inclusive, ms; -2^63 for the global window")
_WINDOW_END = Column("window_end", "q", "exclusive, ms; 2^63-1 for the global window, which never ends")
_WATERMARK = Column("watermark", "q", "the operator's current watermark in ms, -2^63 = none yet")

SENT = Table(
    "sent", Level.ELEMENTS, "one element or event that a task sent on one channel (a broadcast gives one row per channel)",
    (SEQ, TASK, TIME, _CHANNEL,
     Column("position", "q", "the sender's count of elements and events on this channel, from 0"),
     Column("kind", "b", "kind of element or event", ElementKind), _TIMESTAMP, _FINGERPRINT,
     Column("key_hash", "i", "record: Java hashCode of its key; on a CUSTOM edge the channel index from the user's "
            "partitioner; 0 if the stream is not keyed"), _KEY),
)  # fmt: skip
RECEIVED = Table(
    "received", Level.ELEMENTS, "one element or event that a task received from one channel",
    (SEQ, TASK, TIME, _CHANNEL,
     Column("position", "q", "the receiver's count of elements and events on this channel, from 0; below 0: element n of the "
            "restored in-flight data of the channel is at -2^62 + n"),
     Column("kind", "b", "kind of element or event", ElementKind), _TIMESTAMP,
     Column("fingerprint", "q", "as in table sent, but computed from the decoded record, which is encoded again"),
     Column("epoch", "q", "number of watermarks that the task's input had emitted before this element")),
)  # fmt: skip
TASK_WATERMARK = Table(
    "task_watermark", Level.ELEMENTS, "a watermark or status that the valve of one task input emitted (rules 8.9-8.12)",
    (SEQ, TASK, TIME,
     Column("input", "i", "index of the task input"),
     Column("kind", "b", "WATERMARK or STATUS", ElementKind),
     Column("timestamp", "q", "watermark in ms, or 0 ACTIVE / -1 IDLE")),
)  # fmt: skip
WINDOW_INTAKE = Table(
    "window_intake", Level.ELEMENTS, "a record that arrived at a window operator or interval join, before the check for lateness",
    (SEQ, TASK, OPERATOR, TIME, _KEY_HASH, _KEY,
     Column("timestamp", "q", "timestamp of the record in ms"),
     Column("fingerprint", "q", "63-bit hash of the record's (timestamp, value); for a window join or coGroup of the value "
            "without timestamp and without the tag of the stream"), _WATERMARK,
     Column("gap", "q", "the record's gap in ms from the extractor of a dynamic session, otherwise 0"),
     Column("side", "b", "join or coGroup: 0 for a record of the left stream, 1 for the right stream; otherwise 0")),
)  # fmt: skip
JOIN_PAIRS = Table(
    "join_pairs", Level.ELEMENTS, "an interval join called its function for two records (rules 10.33, 10.34)",
    (SEQ, TASK, OPERATOR, TIME, _KEY_HASH, _KEY,
     Column("left_fingerprint", "q", "fingerprint of the left record, as in its row of window_intake"),
     Column("right_fingerprint", "q", "fingerprint of the right record"),
     Column("timestamp", "q", "timestamp of the results in ms")),
)  # fmt: skip
WINDOW_FIRE = Table(
    "window_fire", Level.ELEMENTS,
    "a trigger fired a window with contents (the window function was called), or purged it",
    (SEQ, TASK, OPERATOR, TIME, _KEY_HASH, _KEY,
     _WINDOW_START, _WINDOW_END, _WATERMARK,
     Column("rows", "q", "number of records passed to the window function; of a purge without firing: records in the contents"),
     Column("fingerprint_sum", "q", "sum of fingerprint >> 31 over these records"),
     Column("fingerprint_xor", "q", "exclusive or of the fingerprints of these records"),
     Column("result", "b", "result of the trigger", WindowResult),
     Column("cause", "b", "what the trigger was called for", FireCause),
     Column("at", "q", "timestamp of that record, or time of that timer, in ms")),
)  # fmt: skip
WINDOW_MERGE = Table(
    "window_merge", Level.ELEMENTS, "a window of a merging assigner was merged into a larger one (rules 10.25, 10.26)",
    (SEQ, TASK, OPERATOR, TIME, _KEY_HASH, _KEY,
     Column("window_start", "q", "of the window that was merged, ms"), Column("window_end", "q", "exclusive, ms"),
     Column("into_start", "q", "of the larger window, ms"), Column("into_end", "q", "exclusive, ms"), _WATERMARK),
)  # fmt: skip
WINDOW_JOINS = Table(
    "window_joins", Level.ELEMENTS,
    "the calls of a join or coGroup function for one firing of a window (rule 10.37); written after the last call",
    (SEQ, TASK, OPERATOR, TIME, _KEY_HASH, _KEY, _WINDOW_START, _WINDOW_END,
     Column("left_rows", "q", "number of records of the left stream that were passed to the window function"),
     Column("right_rows", "q", "number of records of the right stream that were passed to the window function"),
     Column("left_sum", "q", "sum of the fingerprints of the left records; overflows like a Java long"),
     Column("right_sum", "q", "sum of the fingerprints of the right records; overflows like a Java long"),
     Column("calls", "q", "number of calls: one per pair for a join, one for a coGroup"),
     Column("product_sum", "q", "join: sum over all calls of left fingerprint * right fingerprint; coGroup: left_sum * "
            "right_sum; overflows like a Java long")),
)  # fmt: skip
GENERATED_WATERMARK = Table(
    "generated_watermark", Level.ELEMENTS,
    "a watermark or status that a strategy generated and that was emitted (rules 8.1-8.7), or the beginning or end of a split",
    (SEQ, TASK, OPERATOR, TIME,
     Column("split", "i", "index of the split in this subtask, -1 for the whole operator"),
     Column("kind", "b", "WATERMARK or STATUS; the first row of a split: STATUS ACTIVE, when its output is created; the last "
            "one: END_OF_PARTITION, when its output is released, so that its watermark does not count any more; RECORD, before "
            "the first watermark that may be due to records of no split", ElementKind),
     Column("timestamp", "q", "watermark in ms, or 0 ACTIVE / -1 IDLE; END_OF_PARTITION: 0; RECORD: -2^63"),
     Column("records", "q", "number of records of this output so far"),
     Column("max_timestamp", "q", "the highest timestamp among them in ms, -2^63 = none")),
)  # fmt: skip
ALIGNMENT = Table(
    "alignment", Level.ELEMENTS, "watermark alignment paused or resumed a source or one of its splits (rules 8.22-8.24)",
    (SEQ, TASK, OPERATOR, TIME,
     Column("split", "i", "index of the split in this subtask, -1 for the whole source"),
     Column("paused", "b", "1 paused, 0 resumed"),
     Column("limit", "q", "the highest watermark allowed, ms"),
     Column("watermark", "q", "the watermark that was compared with the limit, ms")),
)  # fmt: skip
ASYNC_ELEMENTS = Table(
    "async_elements", Level.ELEMENTS, "a step of an element in the queue of an async operator (section 11)",
    (SEQ, TASK, OPERATOR, TIME,
     Column("entry", "q", "number of the element in this operator, from 0, in order of arrival"),
     Column("action", "b", "what happened", AsyncAction),
     Column("kind", "b", "RECORD or WATERMARK", ElementKind),
     Column("timestamp", "q", "of the record, -2^63 = none, or of the watermark, in ms"),
     Column("fingerprint", "q", "put: of the record; invoke, retry and timeout: of the record passed to the function; "
            "complete and emit: exclusive or of the fingerprints of the results; otherwise 0"),
     Column("attempt", "i", "invoke and retry: number of the call, from 1; otherwise 0"),
     Column("rows", "i", "complete and emit: number of results, -1 = not known yet; otherwise 0"),
     Column("queued", "i", "elements in the queue after this step, including watermarks")),
)  # fmt: skip
LATE_DROP = Table(
    "late_drop", Level.ELEMENTS, "a record that was not processed because it was late (rules 10.9, 10.10, 10.35)",
    (SEQ, TASK, OPERATOR, TIME, _KEY_HASH, _KEY,
     Column("timestamp", "q", "timestamp of the record in ms"), _FINGERPRINT, _WATERMARK,
     Column("side_output", "b", "1 if it was emitted to the late side output, 0 if it was only counted")),
)  # fmt: skip
OPERATOR_COUNTS = Table(
    "operator_counts", Level.ELEMENTS, "final counters of one operator subtask, written when the task ends",
    (SEQ, TASK, OPERATOR, TIME,
     Column("records_in", "q", "user records processed (a source: records read)"),
     Column("records_out", "q", "user records emitted to the main output"),
     Column("records_side", "q", "user records emitted to side outputs"),
     Column("records_dropped", "q", "records missing in the main output on purpose: filtered out, late, or without a timestamp")),
)  # fmt: skip
LIFECYCLE = Table(
    "lifecycle", Level.ELEMENTS, "a step in the life cycle of a task or operator (section 4)",
    (SEQ, TASK, Column("operator", "i", "index in the chain, -1 for the task itself"), TIME,
     Column("event", "b", "what happened", LifeEvent)),
)  # fmt: skip
TASK_TIMES = Table(
    "task_times", Level.ELEMENTS, "the time of a task by state, written when the task ends (rule 3.28)",
    (SEQ, TASK, TIME,
     Column("busy_ns", "q", "working"), Column("idle_ns", "q", "waiting for input"),
     Column("soft_backpressured_ns", "q", "waiting for output between elements"),
     Column("hard_backpressured_ns", "q", "waiting for a buffer inside an element"),
     Column("records_in", "q", "user records received over the network"),
     Column("records_out", "q", "user records written to the network")),
)  # fmt: skip
BUFFERS = Table(
    "buffers", Level.FULL, "a step of a buffer or event in its channel",
    (SEQ, TASK, TIME, _CHANNEL, Column("side", "b", "which side recorded it, and the step", BufferSide),
     Column("number", "q", "sent, received, recycled: sequence number on the channel, from 0 (rule 6.14); queued: number of "
            "the queued buffer or event, from 0; otherwise -1"),
     Column("kind", "b", "data or event", BufferKind),
     Column("bytes", "i", "payload size; queued and flushed: -1 (not known yet)"),
     Column("backlog", "i", "sent and received: the backlog in its header (rule 5.26); recycled: -1; otherwise: data buffers "
            "in the queue after this step"),
     Column("credits", "i", "sent: remaining credits; received: remaining empty buffers of the channel (rule 6.3); "
            "otherwise, on a local channel, and if the receiver has ended, -1"),
     Column("whole", "b", "sent and skipped: 1 if the queued buffer ended with it, 0 if more of the same buffer may "
            "follow; otherwise 1")),
)  # fmt: skip
CREDITS = Table(
    "credits", Level.FULL, "credits that a receiver granted or a sender received, or the resumption of a channel (section 6.B)",
    (SEQ, TASK, TIME, _CHANNEL, Column("kind", "b", "which step", CreditKind),
     Column("credits", "i", "number of credits; below 0: that are void, because a channel without exclusive buffers was blocked "
            "(rule 6.13); RESUMED: 0"),
     Column("balance", "i", "sender: its credits after this step; receiver: -1")),
)  # fmt: skip
SEGMENTS = Table(
    "segments", Level.FULL, "a memory segment was moved into, within or out of a local buffer pool (section 5.E)",
    (SEQ, TASK, TIME, _POOL, Column("action", "b", "what happened", SegmentAction),
     Column("subpartition", "i", "the subpartition that uses it, -1 if none"),
     Column("step", "q", "taken and returned: number of this movement in the task manager, from 0; compared: bytes in the "
            "queue of the subpartition, 0 if it uses no segment; otherwise -1"),
     Column("requested", "i", "segments that the local pool holds or has handed out, after this step"),
     Column("free", "i", "segments that the local pool holds, after this step"),
     Column("size", "i", "current size of the local pool without overdraft")),
)  # fmt: skip
BUFFER_SIZES = Table(
    "buffer_sizes", Level.FULL, "the debloater of an input gate announced a new buffer size (section 6.F)",
    (SEQ, TASK, TIME, Column("edge", "i", "edge of the gate"), Column("bytes", "i", "the new size of buffers"),
     Column("throughput", "q", "bytes per second that the gate consumed, measured while it had data"),
     Column("buffers_in_use", "i", "number of buffers in use in the estimate")),
)  # fmt: skip
METRICS = Table(
    "metrics", Level.ELEMENTS, "the gauges and counters of one task, sampled every metrics interval (section 13)",
    (SEQ, TASK, TIME,
     Column("busy_ms", "i", "busyTimeMsPerSecond, 0 to 1000; -1 for a legacy source, where Flink has NaN (rule 13.1)"),
     Column("idle_ms", "i", "idleTimeMsPerSecond"), Column("soft_ms", "i", "softBackPressuredTimeMsPerSecond"),
     Column("hard_ms", "i", "hardBackPressuredTimeMsPerSecond"),
     Column("records_in", "q", "numRecordsIn"), Column("records_out", "q", "numRecordsOut"),
     Column("buffers_out", "q", "numBuffersOut: number of finished buffers"), Column("bytes_out", "q", "numBytesOut"),
     Column("input_queue", "i", "inputQueueLength: buffers queued in its channels (rule 13.6)"),
     Column("output_queue", "i", "outputQueueLength: buffers queued in its subpartitions, including events (rule 13.7)"),
     Column("input_pool_usage", "i", "inPoolUsage in millionths (rule 13.6)"),
     Column("output_pool_usage", "i", "outPoolUsage in millionths; above 1,000,000 with overdraft buffers (rule 13.7)"),
     Column("input_watermark", "q", "currentInputWatermark in ms, the minimum of its inputs; -2^63 = none yet (rule 13.8)"),
     Column("output_watermark", "q", "currentOutputWatermark of the tail operator in ms, -2^63 = none yet"),
     Column("mailbox_size", "i", "mailboxQueueSize: number of queued mails"),
     Column("buffer_size", "i", "debloatedBufferSize in bytes, the smallest of its gates; the segment size without debloating")),
)  # fmt: skip
LATENCIES = Table(
    "latencies", Level.ELEMENTS, "a latency marker reached an operator (rule 8.20)",
    (SEQ, TASK, OPERATOR, TIME, Column("source_vertex", "i", "job vertex of the source that emitted it"),
     Column("source_subtask", "i", "subtask of that source"),
     Column("marked_ms", "q", "when it was emitted, processing time in ms"),
     Column("latency_ms", "q", "its latency in ms")),
)  # fmt: skip
MAILS = Table(
    "mails", Level.FULL, "a mail was added to a task's mailbox, or taken from it to run",
    (SEQ, TASK, TIME, Column("action", "b", "put or run", MailAction),
     Column("mail", "q", "number of the mail in this task, from 0"), Column("priority", "i", "mail priority (rule 3.8)"),
     Column("urgent", "b", "1 if urgent, otherwise 0")),
)  # fmt: skip
ACTIONS = Table(
    "actions", Level.FULL, "begin and end of every action of a task, and of every await inside or between actions",
    (SEQ, TASK, TIME, Column("phase", "b", "begin, end, wait, resume", ActionPhase),
     Column("kind", "b", "ActionKind for BEGIN and END, WaitKind for WAIT and RESUME"),
     Column("action", "q", "number of the action or wait in this task, from 0; END and RESUME repeat it"),
     Column("priority", "i", "waits of kind YIELD: the lowest priority of mails that may run; waits for mail while the "
            "output is full: -2 (rule 4.6); otherwise -1"),
     Column("suspended", "b", "1 while the default action of the mailbox loop is suspended (rule 3.13), otherwise 0")),
)  # fmt: skip
TIMERS = Table(
    "timers", Level.FULL, "a keyed timer was registered, deleted or fired (section 9)",
    (SEQ, TASK, OPERATOR, TIME, Column("action", "b", "what happened", TimerAction),
     Column("domain", "b", "event or processing time", TimeDomain), Column("timestamp", "q", "time of the timer in ms"),
     _KEY_HASH, _KEY, Column("window_start", "q", "of the window of a window timer (section 10), otherwise 0"), _WATERMARK,
     Column("window_end", "q", "of the window of a window timer, otherwise 0"),
     Column("service", "i", "number of the timer service in its operator, in the order of creation")),
)  # fmt: skip

SYSTEM_TIMERS = Table(
    "system_timers", Level.FULL, "a processing-time timer of an async element was registered, cancelled or fired (rule 11.17)",
    (SEQ, TASK, OPERATOR, TIME, Column("action", "b", "what happened; DELETE: it was cancelled", TimerAction),
     Column("kind", "b", "its purpose", SystemTimer), Column("entry", "q", "its element"), Column("timestamp", "q", "in ms")),
)  # fmt: skip

STATE_CHANGES = Table(
    "state_changes", Level.FULL,
    "keyed state of a key, or the contents of one of its windows, changed; recorded only with setting record_state",
    (SEQ, TASK, OPERATOR, TIME, _KEY_HASH, _KEY,
     Column("state", "i", "number of the state in its operator (table states)"),
     Column("action", "b", "what happened", StateAction),
     Column("entries", "q", "list, map, or window that stores its records: number of entries after the call, including "
            "expired ones that are not removed yet; otherwise 1 if there is a value, 0 if not"),
     Column("fingerprint", "q", "63-bit hash of a value without timestamp. List or window records: PUT, the whole list; ADD, the "
            "element. Map: PUT and ADD, the array [key, value] or [key, element]; REMOVE and EXPIRE, the key. Others: the new "
            "value or accumulator. 0: no value, several expired entries, or an accumulator that is no record value"),
     Column("window_start", "q", "of the state's window, for merging windows of the state window, in ms; 0 without a window"),
     Column("window_end", "q", "end of that window in ms, otherwise 0")),
)  # fmt: skip

FACT_TABLES: Final = (
    SENT, RECEIVED, TASK_WATERMARK, GENERATED_WATERMARK, ALIGNMENT, WINDOW_INTAKE, WINDOW_FIRE, WINDOW_MERGE, JOIN_PAIRS,
    WINDOW_JOINS, ASYNC_ELEMENTS, LATE_DROP, OPERATOR_COUNTS, LIFECYCLE, TASK_TIMES,
    METRICS, LATENCIES, CHOICES, BUFFERS, CREDITS, SEGMENTS, BUFFER_SIZES, MAILS, ACTIONS, TIMERS, SYSTEM_TIMERS,
    STATE_CHANGES, *CHECKPOINT_TABLES,
)  # fmt: skip

TASKS = Table(
    "tasks", Level.ELEMENTS, "the subtasks of the execution graph",
    (TASK, Column("vertex", "i", "its job vertex (chain)"), Column("task_manager", "i", "the task manager that runs it"),
     Column("name", "s", "e.g. 'window -> sink (2/3)'"),
     Column("subtask", "i", "index in its vertex, from 0"), Column("parallelism", "i", "parallelism of the vertex"),
     Column("max_parallelism", "i", "number of key groups of the vertex"), Column("inputs", "i", "number of task inputs")),
)  # fmt: skip
OPERATORS = Table(
    "operators", Level.ELEMENTS, "the operators of each chain",
    (Column("vertex", "i", "job vertex"), OPERATOR, Column("name", "s", "display name"),
     Column("kind", "s", "e.g. source, map, filter, window, sink"),
     Column("params", "s", "JSON object of the parameters for laws, e.g. a window's assigner, size_ms, offset_ms, lateness_ms"),
     Column("input_operator", "i", "index in the chain of its input operator, -1 for the head"),
     Column("input_tag", "s", "side output that it reads, '' for the main output")),
)  # fmt: skip
EDGES = Table(
    "edges", Level.ELEMENTS, "the non-chained edges between job vertices",
    (Column("edge", "i", "edge id"), Column("source_vertex", "i", "producer"), Column("source_operator", "i", "its operator"),
     Column("target_vertex", "i", "consumer"), Column("input", "i", "task input of the consumer, from 0"),
     Column("partitioner", "s", "FORWARD, REBALANCE, HASH, BROADCAST, ...; REBALANCE adaptive(4): its writers "
            "compare the load of up to 4 channels (rule 2.3)"),
     Column("key_type", "s", "declared key type of a HASH edge, '' = by the value's type"),
     Column("side_output", "s", "tag of its side output, '' for the main output"),
     Column("exchange", "s", "ResultPartitionType: PIPELINED_BOUNDED, PIPELINED or BLOCKING (rule 5.43)")),
)  # fmt: skip
TASK_MANAGERS = Table(
    "task_managers", Level.ELEMENTS, "the task managers, each with its own network memory",
    (Column("task_manager", "i", "its id"), Column("name", "s", "name from the settings, or generated"),
     Column("segments", "i", "segments of its network buffer pool"), Column("segment_bytes", "i", "size of a segment in bytes")),
)  # fmt: skip
POOLS = Table(
    "pools", Level.ELEMENTS, "the local buffer pools: one per result partition and one per input gate (section 5.E)",
    (_POOL, Column("task_manager", "i", "the task manager that provides its segments"), TASK, Column("edge", "i", "its edge"),
     Column("kind", "i", "output or input", PoolKind), Column("required", "i", "guaranteed segments"),
     Column("maximum", "i", "maximum segments without overdraft"), Column("overdraft", "i", "maximum overdraft segments"),
     Column("per_channel", "i", "the pool is unavailable if one subpartition uses this many segments (rule 5.35)"),
     Column("exclusive", "i", "segments outside the pool for the exclusive buffers of the gate's channels (rule 6.1)")),
)  # fmt: skip
CHANNELS = Table(
    "channels", Level.ELEMENTS, "the physical channels of each edge",
    (_CHANNEL, Column("edge", "i", "edge id"), Column("source_task", "i", "sender"),
     Column("subpartition", "i", "index at the sender"), Column("target_task", "i", "receiver"),
     Column("input", "i", "task input of the receiver"),
     Column("input_channel", "i", "flattened channel index inside that input, as in its valve"),
     Column("local", "b", "1 if sender and receiver are in the same task manager (no credits), otherwise 0"),
     Column("bytes_per_second", "q", "bandwidth of the link of its edge, 0 = unlimited")),
)  # fmt: skip
KEYS = Table(
    "keys", Level.ELEMENTS, "every distinct key, at its first use in a task (one row per task and key)",
    (TASK, _KEY, _KEY_HASH, Column("key_type", "s", "STRING, LONG, INT, DOUBLE, BOOLEAN, TUPLE, ..."),
     Column("key_json", "s", "the key as JSON")),
)  # fmt: skip

STATES = Table(
    "states", Level.ELEMENTS, "the states of operators, at their first use in a task; only with setting record_state",
    (TASK, OPERATOR, Column("state", "i", "number of the state, from 0"), Column("name", "s", "name in the state descriptor"),
     Column("kind", "s", "value, list, map, reducing or aggregating; window contents: window_records (stored records), "
            "window_value (one value). Only where law state reports a state without keys: broadcast, or list")),
)  # fmt: skip

RECORD_VALUES = Table(
    "record_values", Level.ELEMENTS,
    "every distinct record, at its first write or read by a task, up to a size limit; then a sample by fingerprint",
    (Column("fingerprint", "q", "fingerprint of timestamp and value, as in fact tables"),
     Column("timestamp", "q", "timestamp of the record in ms, -2^63 = none"),
     Column("value", "s", "the value as JSON: a tuple is an array, a Row with field names an object, bytes are hexadecimal text, "
            "floats that JSON lacks are \"NaN\", \"Infinity\", \"-Infinity\"")),
)  # fmt: skip

GRAPH_TABLES: Final = (TASKS, OPERATORS, EDGES, CHANNELS, TASK_MANAGERS, POOLS)
"""The execution graph; stored together in ``graph.json``."""

TEXT_TABLES: Final = (KEYS, STATES, RECORD_VALUES)
"""Description tables that grow during the run and are stored in parts, like facts."""

STATIC_TABLES: Final = (*GRAPH_TABLES, *TEXT_TABLES)

TABLES: Final[dict[str, Table]] = {t.name: t for t in (*FACT_TABLES, *STATIC_TABLES)}
