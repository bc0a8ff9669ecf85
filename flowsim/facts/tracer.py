"""The interface for recording facts: one ``TaskTrace`` per task, passed to all components of that task.

A component keeps ``trace: TaskTrace | None``; with None the component records nothing, which costs one test.
"""

from __future__ import annotations

from flowsim.facts import kinds, schema
from flowsim.facts.checkpoint_trace import CheckpointTrace
from flowsim.facts.element_trace import ElementTrace
from flowsim.facts.kinds import (
    ActionPhase,
    BufferKind,
    BufferSide,
    ElementKind,
    Level,
)
from flowsim.facts.recorder import Recorder
from flowsim.task_clock import Clock, TaskClock


class TaskTrace(ElementTrace):
    """Stamps the facts of one task with its id, its next sequence number and its clock."""

    __slots__ = (
        "level", "recorder", "checkpoints", "_loop_clock", "_late", "_merge", "_window_join", "_generated", "_alignment",
        "_async", "_counts", "_life", "_times", "_metrics", "_latencies", "_buffers", "_credits", "_segments",
        "_buffer_sizes", "_mails", "_actions", "_timers", "_system_timers", "_state_changes", "_keys", "_states",
    )  # fmt: skip

    def __init__(self, task: int, clock: TaskClock, recorder: Recorder, loop_clock: Clock | None = None) -> None:
        super().__init__(task, clock, recorder)
        self._loop_clock: Clock = clock if loop_clock is None else loop_clock
        self.level: Level = recorder.level
        self.recorder: Recorder = recorder
        appender = recorder.appender
        self._late = appender(schema.LATE_DROP)
        self._merge = appender(schema.WINDOW_MERGE)
        self._window_join = appender(schema.WINDOW_JOINS)
        self._generated = appender(schema.GENERATED_WATERMARK)
        self._alignment = appender(schema.ALIGNMENT)
        self._async = appender(schema.ASYNC_ELEMENTS)
        self._counts = appender(schema.OPERATOR_COUNTS)
        self._life = appender(schema.LIFECYCLE)
        self._times = appender(schema.TASK_TIMES)
        self._metrics = appender(schema.METRICS)
        self._latencies = appender(schema.LATENCIES)
        self._buffers = appender(schema.BUFFERS)
        self._credits = appender(schema.CREDITS)
        self._segments = appender(schema.SEGMENTS)
        self._buffer_sizes = appender(schema.BUFFER_SIZES)
        self._mails = appender(schema.MAILS)
        self._actions = appender(schema.ACTIONS)
        self._timers = appender(schema.TIMERS)
        self._system_timers = appender(schema.SYSTEM_TIMERS)
        self._state_changes = appender(schema.STATE_CHANGES)
        self.checkpoints: CheckpointTrace = CheckpointTrace(task, self._next, self._now_ns, appender)
        self._keys: set[int] = set()
        self._states: dict[int, dict[tuple[str, str], int]] = {}

    @property
    def full(self) -> TaskTrace | None:
        """The trace itself at level full, otherwise None: for buffers, credits, mails, actions and timers."""
        return self if self.level >= Level.FULL else None

    @property
    def state(self) -> TaskTrace | None:
        """The trace itself if state changes are recorded, which needs level full; otherwise None."""
        return self if self.level >= Level.FULL and self.recorder.records_state else None

    def begin_attempt(self) -> None:
        """Starts the next attempt of the task; ``seq`` continues."""
        self.recorder.begin_attempt(self.task, self.seq)

    def _now_ns(self) -> int:
        """Returns the time of an effect from outside the task, in ns: while a task waits, its clock stands still."""
        return max(self.clock.now_ns, self._loop_clock.now_ns)

    def window_merge(
        self, operator: int, key_hash: int, key: int, absorbed: tuple[int, int], into: tuple[int, int], watermark: int
    ) -> None:
        self._merge(self._next(), self.task, operator, self.clock.now_ns, key_hash, key, *absorbed, *into, watermark)

    def window_join(
        self, operator: int, key_hash: int, key: int, window_start: int, window_end: int, left_rows: int, right_rows: int,
        left_sum: int, right_sum: int, calls: int, product_sum: int,
    ) -> None:  # fmt: skip
        self._window_join(
            self._next(), self.task, operator, self.clock.now_ns, key_hash, key, window_start, window_end, left_rows,
            right_rows, left_sum, right_sum, calls, product_sum,
        )  # fmt: skip

    def generated_watermark(
        self, operator: int, split: int, kind: ElementKind, timestamp: int, records: int, max_timestamp: int
    ) -> None:
        self._generated(
            self._next(), self.task, operator, self.clock.now_ns, split, kind, timestamp, records, max_timestamp
        )

    def alignment(self, operator: int, split: int, paused: bool, limit: int, watermark: int) -> None:
        self._alignment(self._next(), self.task, operator, self._now_ns(), split, int(paused), limit, watermark)

    def async_element(
        self, operator: int, entry: int, action: kinds.AsyncAction, kind: ElementKind, timestamp: int, fingerprint: int,
        attempt: int, rows: int, queued: int,
    ) -> None:  # fmt: skip
        """Records a step of an async element; while the task waits, the loop's clock may be later.

        The task itself puts an element. Its timeout counts from the task's clock, which on the real clock does
        not advance while a batch works.
        """
        now_ns = self.clock.now_ns if action is kinds.AsyncAction.PUT else self._now_ns()
        self._async(
            self._next(), self.task, operator, now_ns, entry, action, kind, timestamp, fingerprint, attempt, rows,
            queued,
        )  # fmt: skip

    def late_drop(
        self, operator: int, key_hash: int, key: int, timestamp: int, fingerprint: int, watermark: int, side: bool
    ) -> None:
        self._late(
            self._next(),
            self.task,
            operator,
            self.clock.now_ns,
            key_hash,
            key,
            timestamp,
            fingerprint,
            watermark,
            int(side),
        )

    def operator_counts(
        self, operator: int, records_in: int, records_out: int, records_side: int, records_dropped: int
    ) -> None:
        self._counts(
            self._next(), self.task, operator, self.clock.now_ns, records_in, records_out, records_side, records_dropped
        )

    def lifecycle(self, operator: int, event: kinds.LifeEvent) -> None:
        self._life(self._next(), self.task, operator, self.clock.now_ns, event)

    def task_times(self, busy: int, idle: int, soft: int, hard: int, records_in: int, records_out: int) -> None:
        self._times(self._next(), self.task, self.clock.now_ns, busy, idle, soft, hard, records_in, records_out)

    def metrics(self, *gauges: int) -> None:
        """Records a sample from outside the task; gauges as in table ``metrics`` from ``busy_ms`` on."""
        self._metrics(self._next(), self.task, self._now_ns(), *gauges)

    def latency(self, operator: int, source_vertex: int, source_subtask: int, marked_ms: int, latency_ms: int) -> None:
        self._latencies(
            self._next(), self.task, operator, self.clock.now_ns, source_vertex, source_subtask, marked_ms, latency_ms
        )

    def buffer(
        self, channel: int, side: BufferSide, number: int, kind: BufferKind, size: int, backlog: int, credit: int,
        whole: bool = True,
    ) -> None:  # fmt: skip
        self._buffers(
            self._next(), self.task, self._now_ns(), channel, side, number, kind, size, backlog, credit, int(whole)
        )

    def credit(self, channel: int, kind: kinds.CreditKind, credit: int, balance: int) -> None:
        self._credits(self._next(), self.task, self._now_ns(), channel, kind, credit, balance)

    def segment(
        self, pool: int, action: kinds.SegmentAction, subpartition: int, step: int, requested: int, free: int, size: int
    ) -> None:
        self._segments(self._next(), self.task, self._now_ns(), pool, action, subpartition, step, requested, free, size)

    def buffer_size(self, edge: int, size: int, throughput: int, buffers_in_use: int) -> None:
        self._buffer_sizes(self._next(), self.task, self._now_ns(), edge, size, throughput, buffers_in_use)

    def mail(self, action: kinds.MailAction, mail: int, priority: int, urgent: bool) -> None:
        self._mails(self._next(), self.task, self._now_ns(), action, mail, priority, int(urgent))

    def action(self, phase: ActionPhase, kind: int, action: int, priority: int = -1, suspended: bool = False) -> None:
        self._actions(self._next(), self.task, self._now_ns(), phase, kind, action, priority, int(suspended))

    def timer(
        self, operator: int, action: kinds.TimerAction, domain: kinds.TimeDomain, timestamp: int, key_hash: int, key: int,
        window: tuple[int, int], watermark: int, service: int,
    ) -> None:  # fmt: skip
        self._timers(
            self._next(),
            self.task,
            operator,
            self.clock.now_ns,
            action,
            domain,
            timestamp,
            key_hash,
            key,
            window[0],
            watermark,
            window[1],
            service,
        )

    def system_timer(
        self, operator: int, action: kinds.TimerAction, kind: kinds.SystemTimer, entry: int, timestamp: int
    ) -> None:
        self._system_timers(self._next(), self.task, operator, self.clock.now_ns, action, kind, entry, timestamp)

    def state_change(
        self, operator: int, key_hash: int, key: int, state: int, action: kinds.StateAction, entries: int, fingerprint: int,
        window: tuple[int, int],
    ) -> None:  # fmt: skip
        self._state_changes(
            self._next(),
            self.task,
            operator,
            self.clock.now_ns,
            key_hash,
            key,
            state,
            action,
            entries,
            fingerprint,
            *window,
        )

    def state_number(self, operator: int, name: str, kind: str) -> int:
        """Returns the number of an operator's state; adds the state to table ``states`` on first use."""
        states = self._states.setdefault(operator, {})
        number = states.get((name, kind))
        if number is None:
            number = states[name, kind] = len(states)
            self.recorder.static(schema.STATES, ((self.task, operator, number, name, kind),))
        return number

    def key(self, key: int, key_hash: int, key_type: str, key_json: str) -> None:
        """Describes a key when this task first uses it."""
        if key not in self._keys:
            self._keys.add(key)
            self.recorder.static(schema.KEYS, ((self.task, key, key_hash, key_type, key_json),))

    def knows_key(self, key: int) -> bool:
        """True if ``key`` is already described; called before the text of the key is built."""
        return key in self._keys
