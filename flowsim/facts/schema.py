"""The tables of a recording: what each fact means, column by column (architecture decision D6).

A fact is one row of one table. Fact tables hold only integers, so a fact is a fixed number of bytes; there are no
nulls, sentinels are documented per column. Description tables (``STATIC_TABLES``) are small, may hold text, and say
what the ids mean. ``docs/recording.md`` is generated from this file.

Columns shared by the fact tables of tasks:

``seq``      strictly increasing per task over *all* tables: the order in which the task's facts were recorded
``task``     task id (table ``tasks``)
``time_ns``  the task's clock: virtual nanoseconds, loop time plus the cost accumulated in the running batch
"""

from __future__ import annotations

from typing import Final

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
from flowsim.facts.table import TASK_ATTEMPT as TASK_ATTEMPT
from flowsim.facts.table import Column as Column
from flowsim.facts.table import Table as Table

FORMAT_VERSION: Final = 5

OUTPUT_FULL: Final = -2
"""``actions.priority`` of a wait for mail between elements while the output is full: soft back pressure (rule 4.6)."""

_SEQ = Column("seq", "q", "strictly increasing per task over all tables")
_TASK = Column("task", "i", "task id")
_TIME = Column("time_ns", "q", "the task's clock in virtual nanoseconds")
_OPERATOR = Column("operator", "i", "index of the operator in its chain, head 0, as they finish (table operators)")
_CHANNEL = Column("channel", "i", "channel id (table channels)")
_TIMESTAMP = Column(
    "timestamp",
    "q",
    "record: its timestamp in ms, -2^63 = none; watermark: its time; status: 0 ACTIVE, -1 IDLE; latency marker: its "
    "mark time; END_OF_DATA: 1 drain, 0 no drain; END_OF_PARTITION: 0",
)
_FINGERPRINT = Column(
    "fingerprint", "q", "63-bit hash of (timestamp, value) of a record, else 0; see values.fingerprint"
)
_KEY_HASH = Column("key_hash", "i", "Java hashCode of the key; 0 where the stream is not keyed")
_KEY = Column("key", "q", "63-bit fingerprint of the typed key, identifies it in table keys; 0 where not keyed")
_POOL = Column("pool", "i", "local buffer pool (table pools)")
_WINDOW_START = Column("window_start", "q", "inclusive, ms; -2^63 for the global window")
_WINDOW_END = Column("window_end", "q", "exclusive, ms; 2^63-1 for the global window, which has no last millisecond")
_WATERMARK = Column("watermark", "q", "the operator's current event time in ms, -2^63 = none yet")

SENT = Table(
    "sent", Level.ELEMENTS, "one element or event that a task put on one channel (a broadcast makes one row a channel)",
    (_SEQ, _TASK, _TIME, _CHANNEL,
     Column("position", "q", "the sender's count of elements and events on this channel, from 0"),
     Column("kind", "b", "kind of element or event", ElementKind), _TIMESTAMP, _FINGERPRINT,
     Column("key_hash", "i", "record: Java hashCode of its key, on a CUSTOM edge the channel that the user's partitioner "
            "answered; 0 where the stream is not keyed"), _KEY),
)  # fmt: skip
RECEIVED = Table(
    "received", Level.ELEMENTS, "one element decoded from, or one event taken from, one channel by its receiver",
    (_SEQ, _TASK, _TIME, _CHANNEL,
     Column("position", "q", "the receiver's own count on this channel, from 0"),
     Column("kind", "b", "kind of element or event", ElementKind), _TIMESTAMP,
     Column("fingerprint", "q", "hash of what was decoded, computed by encoding it again"),
     Column("epoch", "q", "how many watermarks the task's input had emitted before this element")),
)  # fmt: skip
TASK_WATERMARK = Table(
    "task_watermark", Level.ELEMENTS, "a watermark or status that the valve of one task input emitted (rules 8.9-8.12)",
    (_SEQ, _TASK, _TIME,
     Column("input", "i", "index of the task input"),
     Column("kind", "b", "WATERMARK or STATUS", ElementKind),
     Column("timestamp", "q", "watermark in ms, or 0 ACTIVE / -1 IDLE")),
)  # fmt: skip
WINDOW_INTAKE = Table(
    "window_intake", Level.ELEMENTS, "one record that a window or an interval join took in, before any decision about lateness",
    (_SEQ, _TASK, _OPERATOR, _TIME, _KEY_HASH, _KEY,
     Column("timestamp", "q", "timestamp of the record in ms"),
     Column("fingerprint", "q", "63-bit hash of (timestamp, value) of the record; of a window join or coGroup of (no "
            "timestamp, value), without the tag that says from which stream it came"), _WATERMARK,
     Column("gap", "q", "the gap in ms that the extractor of a dynamic session gave for the record, else 0"),
     Column("side", "b", "of a join or coGroup: 0 for a record of the left stream, 1 of the right one; else 0")),
)  # fmt: skip
JOIN_PAIRS = Table(
    "join_pairs", Level.ELEMENTS, "an interval join called its function for two records (rules 10.33, 10.34)",
    (_SEQ, _TASK, _OPERATOR, _TIME, _KEY_HASH, _KEY,
     Column("left_fingerprint", "q", "fingerprint of the left record, as in its row of window_intake"),
     Column("right_fingerprint", "q", "fingerprint of the right record"),
     Column("timestamp", "q", "timestamp of the results in ms")),
)  # fmt: skip
WINDOW_FIRE = Table(
    "window_fire", Level.ELEMENTS,
    "the trigger of a window that has contents fired (they went to the window function) or purged them",
    (_SEQ, _TASK, _OPERATOR, _TIME, _KEY_HASH, _KEY,
     _WINDOW_START, _WINDOW_END, _WATERMARK,
     Column("rows", "q", "number of records that the window function was given; of a purge alone: that were in the contents"),
     Column("fingerprint_sum", "q", "sum of fingerprint >> 31 over these records"),
     Column("fingerprint_xor", "q", "exclusive or of the fingerprints of these records"),
     Column("result", "b", "what the trigger said", WindowResult),
     Column("cause", "b", "what it was asked about", FireCause),
     Column("at", "q", "timestamp of that record, or time of that timer, in ms")),
)  # fmt: skip
WINDOW_MERGE = Table(
    "window_merge", Level.ELEMENTS, "a window of a merging assigner was absorbed by a larger one (rules 10.25, 10.26)",
    (_SEQ, _TASK, _OPERATOR, _TIME, _KEY_HASH, _KEY,
     Column("window_start", "q", "of the window that was absorbed, ms"), Column("window_end", "q", "exclusive, ms"),
     Column("into_start", "q", "of the window that it is part of now, ms"), Column("into_end", "q", "exclusive, ms"), _WATERMARK),
)  # fmt: skip
WINDOW_JOINS = Table(
    "window_joins", Level.ELEMENTS,
    "the function of a window join or coGroup was called for a window that fired (rule 10.37), written after the last call",
    (_SEQ, _TASK, _OPERATOR, _TIME, _KEY_HASH, _KEY, _WINDOW_START, _WINDOW_END,
     Column("left_rows", "q", "records of the left stream that the window function was given"),
     Column("right_rows", "q", "records of the right stream"),
     Column("left_sum", "q", "sum of the fingerprints of the left records, modulo 2^64 as a signed number"),
     Column("right_sum", "q", "the same of the right records"),
     Column("calls", "q", "how often the function was called: once per pair, a coGroup once with both sides"),
     Column("product_sum", "q", "sum over the calls of the product of the fingerprints of both records (of a coGroup: of the "
            "sums of both sides), modulo 2^64 as a signed number")),
)  # fmt: skip
GENERATED_WATERMARK = Table(
    "generated_watermark", Level.ELEMENTS,
    "a watermark or status that a strategy made from records and that was passed on (rules 8.1-8.7)",
    (_SEQ, _TASK, _OPERATOR, _TIME,
     Column("split", "i", "index of the split in this subtask whose output it is, -1 for the whole operator"),
     Column("kind", "b", "WATERMARK or STATUS", ElementKind),
     Column("timestamp", "q", "watermark in ms, or 0 ACTIVE / -1 IDLE"),
     Column("records", "q", "how many records this output had seen"),
     Column("max_timestamp", "q", "the highest timestamp among them in ms, -2^63 = none")),
)  # fmt: skip
ALIGNMENT = Table(
    "alignment", Level.ELEMENTS, "watermark alignment stopped a source, or one of its splits, or let it go on (rules 8.22-8.24)",
    (_SEQ, _TASK, _OPERATOR, _TIME,
     Column("split", "i", "index of the split in this subtask, -1 for the whole source"),
     Column("paused", "b", "1 paused, 0 resumed"),
     Column("limit", "q", "the highest watermark allowed, ms"),
     Column("watermark", "q", "the watermark that was compared with it, ms")),
)  # fmt: skip
ASYNC_ELEMENTS = Table(
    "async_elements", Level.ELEMENTS, "a step in the life of an element in the queue of an async operator (section 11)",
    (_SEQ, _TASK, _OPERATOR, _TIME,
     Column("entry", "q", "number of the element in this operator, from 0, in the order in which they came"),
     Column("action", "b", "what happened", AsyncAction),
     Column("kind", "b", "RECORD or WATERMARK", ElementKind),
     Column("timestamp", "q", "of the record, -2^63 = none, or of the watermark, in ms"),
     Column("fingerprint", "q", "put: of the record; invoke, retry and timeout: of the record that the function gets; "
            "complete and emit: exclusive or of the fingerprints of its results; else 0"),
     Column("attempt", "i", "invoke and retry: number of the call, from 1; else 0"),
     Column("rows", "i", "complete and emit: number of results, -1 = not known yet; else 0"),
     Column("queued", "i", "elements in the queue afterwards, watermarks included")),
)  # fmt: skip
SNAPSHOTS = Table(
    "snapshots", Level.ELEMENTS, "the state of an operator was asked for, between its other work or in the middle of it",
    (_SEQ, _TASK, _OPERATOR, _TIME,
     Column("requested_ns", "q", "when the snapshot was asked for, on the job's clock"),
     Column("records_in", "q", "records that the operator had begun to process"),
     Column("elements", "q", "elements that it keeps back, and that the snapshot holds"),
     Column("inside", "b", "1 when the operator was in the middle of an element, else 0")),
)  # fmt: skip
LATE_DROP = Table(
    "late_drop", Level.ELEMENTS, "a record that no window took because it was late (rules 10.9, 10.10)",
    (_SEQ, _TASK, _OPERATOR, _TIME, _KEY_HASH, _KEY,
     Column("timestamp", "q", "timestamp of the record in ms"), _FINGERPRINT, _WATERMARK,
     Column("side_output", "b", "1 when it went to the late side output, 0 when it was only counted")),
)  # fmt: skip
OPERATOR_COUNTS = Table(
    "operator_counts", Level.ELEMENTS, "final counters of one operator of one subtask, written when the task ends",
    (_SEQ, _TASK, _OPERATOR, _TIME,
     Column("records_in", "q", "user records processed (a source: records read)"),
     Column("records_out", "q", "user records emitted to the main output"),
     Column("records_side", "q", "user records emitted to side outputs"),
     Column("records_dropped", "q", "records dropped on purpose: filtered out, or late without a side output")),
)  # fmt: skip
LIFECYCLE = Table(
    "lifecycle", Level.ELEMENTS, "a step in the life of a task or operator (section 4)",
    (_SEQ, _TASK, Column("operator", "i", "index in the chain, -1 for the task itself"), _TIME,
     Column("event", "b", "what happened", LifeEvent)),
)  # fmt: skip
TASK_TIMES = Table(
    "task_times", Level.ELEMENTS, "where the time of a task went, written when the task ends (rule 3.28)",
    (_SEQ, _TASK, _TIME,
     Column("busy_ns", "q", "working"), Column("idle_ns", "q", "waiting for input"),
     Column("soft_backpressured_ns", "q", "waiting for output between elements"),
     Column("hard_backpressured_ns", "q", "waiting for a buffer inside an element"),
     Column("records_in", "q", "user records received over the network"),
     Column("records_out", "q", "user records handed to the network")),
)  # fmt: skip
CHOICES = Table(
    "choices", Level.ELEMENTS, "one choice of the scheduling policy among ready actors",
    (Column("step", "q", "number of the choice, from 0"), Column("choice", "i", "index chosen"),
     Column("ready", "i", "how many actors were ready")),
)  # fmt: skip
BUFFERS = Table(
    "buffers", Level.FULL, "a step on the way of a buffer or event through its channel",
    (_SEQ, _TASK, _TIME, _CHANNEL, Column("side", "b", "who saw it", BufferSide),
     Column("number", "q", "sent, received, recycled: sequence number on the channel, from 0 (rule 6.14); queued: count of "
            "what was queued, from 0; else -1"),
     Column("kind", "b", "data or event", BufferKind),
     Column("bytes", "i", "payload size; queued and flushed: -1, not known yet"),
     Column("backlog", "i", "sent and received: the backlog it carries (rule 5.26); recycled: -1; else: data buffers in the "
            "queue afterwards"),
     Column("credits", "i", "sent: credits left; received: empty buffers still reserved for the channel after this one "
            "(rule 6.3); else, and on a local channel, -1"),
     Column("whole", "b", "sent and skipped: 1 when the queued buffer ended with it, 0 when more of the same buffer may "
            "follow; else 1")),
)  # fmt: skip
CREDITS = Table(
    "credits", Level.FULL, "credits granted by a receiver, or got by a sender (section 6.B)",
    (_SEQ, _TASK, _TIME, _CHANNEL, Column("kind", "b", "which step", CreditKind),
     Column("credits", "i", "how many"), Column("balance", "i", "sender: its credits afterwards; receiver: -1")),
)  # fmt: skip
SEGMENTS = Table(
    "segments", Level.FULL, "one movement of a network buffer's segment into, within or out of a local buffer pool (section 5.E)",
    (_SEQ, _TASK, _TIME, _POOL, Column("action", "b", "what happened", SegmentAction),
     Column("subpartition", "i", "the subpartition it is charged to, -1 when to none"),
     Column("step", "q", "taken and returned: count of such movements in the task manager, from 0; else -1"),
     Column("requested", "i", "segments that the local pool holds or has handed out, afterwards"),
     Column("free", "i", "segments that the local pool holds, afterwards"),
     Column("size", "i", "current size of the local pool: what it may hold without overdraft")),
)  # fmt: skip
BUFFER_SIZES = Table(
    "buffer_sizes", Level.FULL, "the debloater of an input gate announced a new buffer size (section 6.F)",
    (_SEQ, _TASK, _TIME, Column("edge", "i", "edge whose gate it is"), Column("bytes", "i", "the new size of buffers"),
     Column("throughput", "q", "bytes per second that the gate took, measured while it had data"),
     Column("buffers_in_use", "i", "what the estimate divides by")),
)  # fmt: skip
METRICS = Table(
    "metrics", Level.ELEMENTS, "the gauges and counters of one task, sampled every metrics interval (section 13)",
    (_SEQ, _TASK, _TIME,
     Column("busy_ms", "i", "busyTimeMsPerSecond, 0 to 1000; -1 for a legacy source, as Flink's NaN (rule 13.1)"),
     Column("idle_ms", "i", "idleTimeMsPerSecond"), Column("soft_ms", "i", "softBackPressuredTimeMsPerSecond"),
     Column("hard_ms", "i", "hardBackPressuredTimeMsPerSecond"),
     Column("records_in", "q", "numRecordsIn"), Column("records_out", "q", "numRecordsOut"),
     Column("buffers_out", "q", "numBuffersOut: buffers finished so far"), Column("bytes_out", "q", "numBytesOut"),
     Column("input_queue", "i", "inputQueueLength: buffers queued in its channels (rule 13.6)"),
     Column("output_queue", "i", "outputQueueLength: buffers queued in its subpartitions, events included (rule 13.7)"),
     Column("input_pool_usage", "i", "inPoolUsage in millionths (rule 13.6)"),
     Column("output_pool_usage", "i", "outPoolUsage in millionths; overdraft takes it beyond 1,000,000 (rule 13.7)"),
     Column("input_watermark", "q", "currentInputWatermark in ms, the least of its inputs; -2^63 = none yet (rule 13.8)"),
     Column("output_watermark", "q", "currentOutputWatermark of the tail operator in ms, -2^63 = none yet"),
     Column("mailbox_size", "i", "mailboxQueueSize: mails that wait"),
     Column("buffer_size", "i", "debloatedBufferSize in bytes, the smallest of its gates; the segment size without debloating")),
)  # fmt: skip
LATENCIES = Table(
    "latencies", Level.ELEMENTS, "a latency marker reached an operator (rule 8.20)",
    (_SEQ, _TASK, _OPERATOR, _TIME, Column("source_vertex", "i", "job vertex of the source that emitted it"),
     Column("source_subtask", "i", "subtask of that source"),
     Column("marked_ms", "q", "when it was emitted, processing time in ms"),
     Column("latency_ms", "q", "how long it took, ms")),
)  # fmt: skip
MAILS = Table(
    "mails", Level.FULL, "a mail was put into, or taken from, a task's mailbox to be run",
    (_SEQ, _TASK, _TIME, Column("action", "b", "put or run", MailAction),
     Column("mail", "q", "number of the mail in this task, from 0"), Column("priority", "i", "mail priority (rule 3.8)"),
     Column("urgent", "b", "1 when urgent")),
)  # fmt: skip
ACTIONS = Table(
    "actions", Level.FULL, "begin and end of every action of a task, and of every await inside or between actions",
    (_SEQ, _TASK, _TIME, Column("phase", "b", "begin, end, wait, resume", ActionPhase),
     Column("kind", "b", "ActionKind for BEGIN and END, WaitKind for WAIT and RESUME"),
     Column("action", "q", "number of the action (or wait) in this task, from 0; END and RESUME repeat it"),
     Column("priority", "i", "waits of kind YIELD: the least priority of the mails it may run; waits for mail while the "
            "output is full: -2 (rule 4.6); else -1"),
     Column("suspended", "b", "1 while the default action of the mailbox loop is suspended (rule 3.13), else 0")),
)  # fmt: skip
TIMERS = Table(
    "timers", Level.FULL, "a keyed timer was registered, deleted or fired (section 9)",
    (_SEQ, _TASK, _OPERATOR, _TIME, Column("action", "b", "what happened", TimerAction),
     Column("domain", "b", "event or processing time", TimeDomain), Column("timestamp", "q", "time of the timer in ms"),
     _KEY_HASH, _KEY, Column("window_start", "q", "of the window of a window timer (section 10), else 0"), _WATERMARK,
     Column("window_end", "q", "of the window of a window timer, else 0"),
     Column("service", "i", "number of the timer service in its operator, in the order of creation")),
)  # fmt: skip

SYSTEM_TIMERS = Table(
    "system_timers", Level.FULL, "a processing-time timer of an async element was registered, cancelled or fired (rule 11.17)",
    (_SEQ, _TASK, _OPERATOR, _TIME, Column("action", "b", "what happened; a timer that is cancelled is deleted", TimerAction),
     Column("kind", "b", "what it is for", SystemTimer), Column("entry", "q", "its element"), Column("timestamp", "q", "in ms")),
)  # fmt: skip

STATE_CHANGES = Table(
    "state_changes", Level.FULL,
    "the keyed state of a key changed, or the contents of one of its windows; recorded only with setting record_state",
    (_SEQ, _TASK, _OPERATOR, _TIME, _KEY_HASH, _KEY,
     Column("state", "i", "number of the state in its operator (table states)"),
     Column("action", "b", "what happened", StateAction),
     Column("entries", "q", "list, map and window that keeps its records: entries after the call that changed it, with expired "
            "ones that are still there; else 1 for a value, 0 for none"),
     Column("fingerprint", "q", "63-bit hash of (no timestamp, value). Of a list: put, all of it; add, the element. Of a map: "
            "put and add, the array of key and value or element; remove and expire, the key. Of others: the value or "
            "accumulator afterwards. 0: no value, several entries that expired, or an accumulator that no record could hold"),
     Column("window_start", "q", "of the window that the state belongs to, where windows merge the one that its contents are "
            "kept under; else 0"),
     Column("window_end", "q", "of that window, else 0")),
)  # fmt: skip

FACT_TABLES: Final = (
    SENT, RECEIVED, TASK_WATERMARK, GENERATED_WATERMARK, ALIGNMENT, WINDOW_INTAKE, WINDOW_FIRE, WINDOW_MERGE, JOIN_PAIRS,
    WINDOW_JOINS, ASYNC_ELEMENTS, SNAPSHOTS, LATE_DROP, OPERATOR_COUNTS, LIFECYCLE, TASK_TIMES,
    METRICS, LATENCIES, CHOICES, BUFFERS, CREDITS, SEGMENTS, BUFFER_SIZES, MAILS, ACTIONS, TIMERS, SYSTEM_TIMERS,
    STATE_CHANGES,
)  # fmt: skip

TASKS = Table(
    "tasks", Level.ELEMENTS, "the subtasks of the execution graph",
    (_TASK, Column("vertex", "i", "job vertex (chain) it belongs to"), Column("task_manager", "i", "where it runs"),
     Column("name", "s", "e.g. 'window -> sink (2/3)'"),
     Column("subtask", "i", "index in its vertex, from 0"), Column("parallelism", "i", "of the vertex"),
     Column("max_parallelism", "i", "number of key groups of the vertex"), Column("inputs", "i", "number of task inputs")),
)  # fmt: skip
OPERATORS = Table(
    "operators", Level.ELEMENTS, "the operators of each chain",
    (Column("vertex", "i", "job vertex"), _OPERATOR, Column("name", "s", "as shown to people"),
     Column("kind", "s", "e.g. source, map, filter, window, sink"),
     Column("params", "s", "JSON object of what a judge must know, e.g. a window's assigner, size_ms, offset_ms, lateness_ms"),
     Column("input_operator", "i", "index in the chain of the operator that feeds it, -1 for the head"),
     Column("input_tag", "s", "side output it is fed from, '' for the main output")),
)  # fmt: skip
EDGES = Table(
    "edges", Level.ELEMENTS, "the non-chained edges between job vertices",
    (Column("edge", "i", "edge id"), Column("source_vertex", "i", "producer"), Column("source_operator", "i", "its operator"),
     Column("target_vertex", "i", "consumer"), Column("input", "i", "task input of the consumer, from 0"),
     Column("partitioner", "s", "FORWARD, REBALANCE, HASH, BROADCAST, ..."),
     Column("key_type", "s", "declared key type of a HASH edge, '' = by value"),
     Column("side_output", "s", "tag of the side output it carries, '' for the main output"),
     Column("exchange", "s", "ResultPartitionType: PIPELINED_BOUNDED, PIPELINED or BLOCKING (rule 5.43)")),
)  # fmt: skip
TASK_MANAGERS = Table(
    "task_managers", Level.ELEMENTS, "the task managers, each with network memory of its own",
    (Column("task_manager", "i", "its id"), Column("name", "s", "as written in the settings, or made up"),
     Column("segments", "i", "segments of its network buffer pool"), Column("segment_bytes", "i", "size of one")),
)  # fmt: skip
POOLS = Table(
    "pools", Level.ELEMENTS, "the local buffer pools: one per result partition and one per input gate (section 5.E)",
    (_POOL, Column("task_manager", "i", "where its segments come from"), _TASK, Column("edge", "i", "edge that it serves"),
     Column("kind", "i", "output or input", PoolKind), Column("required", "i", "segments that it is guaranteed"),
     Column("maximum", "i", "segments that it may hold without overdraft"), Column("overdraft", "i", "segments beyond that"),
     Column("per_channel", "i", "handed out to one subpartition, that many make the pool unavailable (rule 5.35)"),
     Column("exclusive", "i", "segments reserved beside the pool, for the exclusive buffers of the gate's channels (rule 6.1)")),
)  # fmt: skip
CHANNELS = Table(
    "channels", Level.ELEMENTS, "the physical channels of each edge",
    (_CHANNEL, Column("edge", "i", "edge id"), Column("source_task", "i", "sender"),
     Column("subpartition", "i", "index at the sender"), Column("target_task", "i", "receiver"),
     Column("input", "i", "task input of the receiver"),
     Column("input_channel", "i", "flattened channel index inside that input, as its valve counts"),
     Column("local", "b", "1 when sender and receiver share a task manager: no credits"),
     Column("bytes_per_second", "q", "bandwidth of the link of its edge, 0 = unlimited")),
)  # fmt: skip
KEYS = Table(
    "keys", Level.ELEMENTS, "every distinct key, when a task first saw it (one row per task and key)",
    (_TASK, _KEY, _KEY_HASH, Column("key_type", "s", "STRING, LONG, INT, DOUBLE, BOOLEAN, TUPLE, ..."),
     Column("key_json", "s", "the key as JSON")),
)  # fmt: skip

STATES = Table(
    "states", Level.ELEMENTS, "the states of operators, when a task first used them; only with setting record_state",
    (_TASK, _OPERATOR, Column("state", "i", "its number in the operator, from 0"), Column("name", "s", "as its descriptor says"),
     Column("kind", "s", "value, list, map, reducing or aggregating; contents of windows: window_records, or window_value for a "
            "reduced value or accumulator")),
)  # fmt: skip

RECORD_VALUES = Table(
    "record_values", Level.ELEMENTS,
    "every distinct record, when a task first wrote or read it, up to a size; then a sample by fingerprint",
    (Column("fingerprint", "q", "of timestamp and value, as in fact tables"),
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
