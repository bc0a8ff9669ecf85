"""Scripted jobs with checkpoints, which Flink ran for the golden files: a source that orders steps, triggers and fails.

A case has one ``script``: a list of entries for each source subtask. An entry is [step, operation, ...]: ``r`` id key value
timestamp extra | ``w`` timestamp | ``ck`` (a checkpoint, and its notification) | ``ck_nowait_notify`` | ``fail`` | ``slow``
ms (of each element of the keyed operator) | ``savepoint`` and ``retain`` (then the phase ends, and the next one starts from
it) | ``stop`` drain | ``end`` (of the subtask's input; the next step waits until it is processed) | ``hold`` (operators wait
in their next element until the sources have taken their next snapshot). Steps order all source subtasks.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import SnapshotAction, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Time, Types
from flowsim.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from flowsim.datastream.window import (
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart, SavepointRestoreSettings
from flowsim.graph.stream_graph import OperatorDescription
from flowsim.legacy.source_function import ParallelSourceFunction, SourceContext
from flowsim.network.completion import Completion
from flowsim.operators.checkpointed_function import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from flowsim.operators.sink import InitContext
from flowsim.operators.stream_operator import StreamOperator
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.task_clock import TaskClock
from flowsim.units import NS_PER_MS

GAP_MS = 10
HOLD_MS = 300
"""Longer than the steps from a hold to the next checkpoint."""
LONGEST_WAIT_MS = 500
Event = list[Any]


@dataclass
class Board:
    """What all subtasks of a case share."""

    step: int = 0
    checkpoint_step: int = 0
    slow_ms: int = 0
    hold: int = 0
    """The number of the current or last hold."""
    is_holding: bool = False
    phase: int = 0
    folder: str | None = None
    """Where snapshots are written; None: in memory."""
    has_ended_input: bool = False
    """True until the next step."""
    sources: int = 0
    """Subtasks of the source."""
    expected_opens: int = 0
    expected_notifications: int = 0
    fired: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    log: dict[str, list[Event]] = field(default_factory=dict)
    commits: list[Event] = field(default_factory=list)
    checkpoints: list[Event] = field(default_factory=list)
    snapshot: str | None = None
    cluster: MiniCluster | None = None

    def __deepcopy__(self, memo: object) -> Board:
        """Functions are copied for each subtask; all share the board."""
        return self

    def note(self, name: str, attempt: int, subtask: int, *event: Any) -> None:
        self.log.setdefault(f"{name}@{self.phase}.{attempt}/{subtask}", []).append(list(event))

    def at(self, name: str, attempt: int) -> str:
        return f"{name}@{self.phase}.{attempt}"

    def request(self, action: SnapshotAction) -> Completion[CompletedCheckpoint]:
        """Requests a snapshot now; actions of a run have set times."""
        assert self.cluster is not None
        master = self.cluster._master
        assert master is not None
        requests = master.requests
        assert requests is not None
        done: Completion[CompletedCheckpoint] = Completion()
        master.actor.execute(lambda: requests._snapshot(action).forward_to(done))
        return done

    def on_stopped(self, step: int, snapshot: CompletedCheckpoint | None, error: BaseException | None) -> None:
        """The job has ended with a savepoint, or goes on after an error."""
        self.snapshot = None if snapshot is None else snapshot.location.external_pointer
        self.checkpoints.append([step, None, "stopped" if error is None else str(error)])

    def fires(self, what: str) -> bool:
        """True the first time only."""
        is_new = what not in self.fired
        self.fired.add(what)
        return is_new


class Script(ParallelSourceFunction, CheckpointedFunction):
    """Runs the entries of its subtask when their steps come."""

    def __init__(self, board: Board, script: Sequence[Sequence[Event]]) -> None:
        self.board = board
        self.script = script
        self.position = 0
        self.running = True

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("pos", Types.PICKLED_BYTE_ARRAY()))
        self.is_restored = context.is_restored()
        self.restored = list(self.state.get()) if self.is_restored else []
        if not self.is_restored:
            self.board.step = 0

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([(self.subtask, self.position, self.board.checkpoint_step)])

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.attempt = runtime_context.get_attempt_number()
        if self.is_restored:
            self.position = len(self.script[self.subtask])  # the list of a finished subtask is empty
        for subtask, position, step in self.restored:
            self.position, self.board.step = position, step
            self.board.note("source", self.attempt, self.subtask, "restored", subtask, position)

    def cancel(self) -> None:
        self.running = False

    def run(self, ctx: SourceContext) -> None:
        board, attempt = self.board, self.attempt
        started = board.at("src", attempt)
        board.counts[started] += 1
        while self.running and board.counts[board.at("open", attempt)] < board.expected_opens:
            ctx.sleep(1)
        for _ in range(LONGEST_WAIT_MS):  # finished subtasks of a restored job never start
            if not self.running or board.counts[started] >= board.sources:
                break
            ctx.sleep(1)
        ctx.sleep(40)
        entries = self.script[self.subtask]
        while self.running and self.position < len(entries):
            entry = entries[self.position]
            while self.running and board.step != entry[0]:
                ctx.sleep(1)
            if not self.running:
                return
            if board.has_ended_input:
                board.has_ended_input = False
                ctx.sleep(2 * GAP_MS)
            if entry[1] == "end":
                self.position += 1
                board.has_ended_input = True
            elif not self._perform(ctx, entry):
                return
            board.step = entry[0] + 1

    def _perform(self, ctx: SourceContext, entry: Event) -> bool:
        """Returns False if the source waits for the end of the phase."""
        board = self.board
        match entry[1]:
            case "r":
                self._record(ctx, entry)
            case "w":
                with ctx.get_checkpoint_lock():
                    ctx.emit_watermark(entry[2])
                    self.position += 1
                ctx.sleep(1 if board.slow_ms else GAP_MS)
            case "slow":
                board.slow_ms = entry[2]
                self.position += 1
            case "hold":
                board.hold += 1
                board.is_holding = True
                self.position += 1
            case "fail":
                self.position += 1
                if board.fires(f"step{entry[0]}"):
                    raise RuntimeError("scripted failure")
            case "ck" | "ck_nowait_notify":
                self._checkpoint(ctx, entry[0], waits=entry[1] == "ck")
            case _:
                return self._end_phase(ctx, entry)
        return True

    def _record(self, ctx: SourceContext, entry: Event) -> None:
        board, attempt = self.board, self.attempt
        _, _, number, key, value, timestamp, extra = entry
        with ctx.get_checkpoint_lock():
            ctx.collect_with_timestamp((number, key, value, tuple(extra)), timestamp)
            self.position += 1
        sent = board.at("sent", attempt)
        board.counts[sent] += 1
        want = board.counts[sent]
        if not board.slow_ms and not board.is_holding:
            for _ in range(60):
                if not self.running or board.counts[board.at("recv", attempt)] >= want:
                    break
                ctx.sleep(1)
        ctx.sleep(GAP_MS // 2 if not board.slow_ms else 1)

    def _checkpoint(self, ctx: SourceContext, step: int, *, waits: bool) -> None:
        board = self.board
        self.position += 1
        board.checkpoint_step = step + 1
        for _ in range(40):
            done = board.request(TriggerCheckpoint(0))
            self._await(ctx, done)
            if done.error is None or "Not all required" not in str(done.error):
                break
            ctx.sleep(25)
        if not self.running:
            return
        board.is_holding = False
        if done.error is not None or done.result is None:
            board.checkpoints.append([step, None, str(done.error)])
            for _ in range(3000):
                if not self.running:
                    return
                ctx.sleep(1)
            return
        number = done.result.checkpoint_id
        board.checkpoints.append([step, number, "completed"])
        if waits:
            for _ in range(300):
                notified = board.counts[board.at(f"notified{number}", self.attempt)]
                if not self.running or notified >= board.expected_notifications:
                    break
                ctx.sleep(1)
            ctx.sleep(GAP_MS)

    def _end_phase(self, ctx: SourceContext, entry: Event) -> bool:
        """Takes the snapshot from which the next phase starts, and waits for the end of this one."""
        board, step = self.board, entry[0]
        self.position += 1
        board.checkpoint_step = step + 1
        if entry[1] == "stop":
            snapshot = board.request(StopWithSavepoint(0, bool(entry[2]), board.folder))
            snapshot.when_complete(lambda done, error: board.on_stopped(step, done, error))
        else:
            is_savepoint = entry[1] == "savepoint"
            snapshot = board.request(TriggerSavepoint(0, board.folder) if is_savepoint else TriggerCheckpoint(0))
            self._await(ctx, snapshot)
            assert snapshot.result is not None, snapshot.error
            board.snapshot = snapshot.result.location.external_pointer
            board.checkpoints.append([step, None, "savepoint" if is_savepoint else "retained"])
            assert board.cluster is not None
            board.cluster._end(JobStatus.CANCELED)
        while self.running:
            ctx.sleep(1)
        return False

    def _await(self, ctx: SourceContext, done: Completion[Any]) -> None:
        while self.running and not done.is_done:
            ctx.sleep(1)


class Holder:
    """Waits in the first element of each hold.

    ``end_batch`` lets the time of the wait pass inside the element, so that mails of this time precede those that the
    element causes.
    """

    def __init__(self, board: Board, end_batch: Callable[[], None] = lambda: None) -> None:
        self.board = board
        self.last = board.hold
        self.end_batch = end_batch

    def wait(self, clock: TaskClock) -> None:
        if self.board.is_holding and self.board.hold != self.last:
            self.last = self.board.hold
            clock.now_ns += HOLD_MS * NS_PER_MS
            self.end_batch()


class KeyedFn(KeyedProcessFunction, CheckpointedFunction):
    """Counts and sums per key; registers (1) and deletes (2) event-time timers; keeps three kinds of operator state."""

    def __init__(self, board: Board, params: dict[str, Any]) -> None:
        self.board = board
        self.fail_ids = set(params.get("fail_ids", ()))
        self.snapshot_error = params.get("snapshot_error", -1)
        self.seen: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.split = store.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.union = store.get_union_list_state(ListStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))
        self.broadcast = store.get_broadcast_state(MapStateDescriptor("bc", Types.STRING(), Types.LONG()))
        self.is_restored = context.is_restored()
        if self.is_restored:
            self.seen = list(self.split.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        number = context.get_checkpoint_id()
        if number == self.snapshot_error and self.board.fires(f"snap{number}"):
            raise RuntimeError("scripted snapshot failure")
        self.split.update(self.seen)
        self.union.update([(self.subtask, len(self.seen))])
        self.broadcast.put("id", number)

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.attempt = runtime_context.get_attempt_number()
        self.clock = runtime_context._ctx.clock
        self.holder = Holder(self.board)
        self.state = runtime_context.get_state(ValueStateDescriptor("v", Types.PICKLED_BYTE_ARRAY()))
        if self.is_restored:
            union = [list(each) for each in self.union.get()]
            self.board.note(
                "restore", self.attempt, self.subtask, True, list(self.seen), union, self.broadcast.get("id")
            )
        self.board.counts[self.board.at("open", self.attempt)] += 1

    def process_element(self, value: Any, ctx: Any) -> Any:
        number, key, amount, extra = value
        self.holder.wait(self.clock)
        self.clock.now_ns += self.board.slow_ms * NS_PER_MS
        if number in self.fail_ids and self.board.fires(f"id{number}"):
            raise RuntimeError(f"scripted failure at {number}")
        count, total = self.state.value() or (0, 0)
        self.state.update((count + 1, total + amount))
        self.seen.append(number)
        timers = ctx.timer_service()
        for kind, time in zip(extra[::2], extra[1::2], strict=True):
            (timers.register_event_time_timer if kind == 1 else timers.delete_event_time_timer)(time)
        self.board.counts[self.board.at("recv", self.attempt)] += 1
        yield ["e", key, number, count + 1, total + amount, timers.current_watermark()]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        count, _ = self.state.value() or (0, 0)
        yield ["t", ctx.get_current_key(), timestamp, count]


class WinFn(ProcessWindowFunction):
    """Emits the sum and the ids of a window."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        elements = list(elements)
        window = context.window()
        total = sum(each[2] for each in elements)
        yield ["win", key, window.start, window.end, total, sorted(each[0] for each in elements)]


class AsyncFn(AsyncFunction):
    """Answers after the delay of the record, in ms."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.attempt = runtime_context.get_attempt_number()

    async def async_invoke(self, value: Any) -> list[Any]:
        number, key, _, extra = value
        self.board.note("invoke", self.attempt, self.subtask, number)
        self.board.counts[self.board.at("recv", self.attempt)] += 1
        await asyncio.sleep(extra[0] / 1000)
        return [["a", key, number]]


class Probe(StreamOperator):
    """Logs what reaches it, its snapshots and notifications."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def open(self) -> None:
        self.holder = Holder(self.board, self.ctx.mailbox_executor._give_others_time)
        self.board.counts[self.board.at("open", self.ctx.attempt_number)] += 1

    def _note(self, *event: Any) -> None:
        self.board.note("out", self.ctx.attempt_number, self.ctx.subtask_index, *event)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.records_in += 1
        self.holder.wait(self.clock)
        self._note("rec", value, timestamp)
        self.output.collect(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self.holder.wait(self.clock)
        self._note("wm", timestamp)
        super().process_watermark(timestamp)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        self._note("snapshot", context.checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._note("complete", checkpoint_id)
        self.board.counts[self.board.at(f"notified{checkpoint_id}", self.ctx.attempt_number)] += 1


class Trace(StreamOperator):
    """Logs its life cycle; emits one record before each barrier, until its input ends."""

    def __init__(self, board: Board, name: str, log: str = "trace") -> None:
        self.board = board
        self.name = name
        self.log = log
        self.has_ended = False

    def _note(self, *event: Any) -> None:
        self.board.note(self.log, self.ctx.attempt_number, self.ctx.subtask_index, self.name, *event)

    def initialize_state(self, context: StateInitializationContext) -> None:
        super().initialize_state(context)
        self._note("initializeState", context.restored_checkpoint_id)

    def open(self) -> None:
        self._note("open")
        self.board.counts[self.board.at("open", self.ctx.attempt_number)] += 1

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.records_in += 1
        is_event = isinstance(value, tuple)
        self._note("element", value[0] if is_event else value)
        self.output.collect(["x", value[1], value[0]] if is_event else value, timestamp)
        if self.name == "t1":
            self.board.counts[self.board.at("recv", self.ctx.attempt_number)] += 1

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        self._note("prepareSnapshotPreBarrier", checkpoint_id)
        if not self.has_ended:
            self.output.collect(["pre", self.name, checkpoint_id], None)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        self._note("snapshotState", context.checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._note("notifyCheckpointComplete", checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._note("notifyCheckpointAborted", checkpoint_id)

    def end_input(self) -> None:
        self.has_ended = True
        self._note("endInput")

    def finish(self) -> None:
        self._note("finish")

    def close(self) -> None:
        self._note("close")


class TwoPc:
    """One committable per writer and checkpoint: (subtask, values); the committer logs every call."""

    kind = "two_pc"

    def __init__(self, board: Board, *, retries: bool) -> None:
        self.params: dict[str, object] = {}
        self.board = board
        self.retries = retries

    def create_writer(self, context: InitContext) -> _Writer:
        return _Writer(context.subtask_index)

    def create_committer(self, context: InitContext) -> _Committer:
        return _Committer(self, f"{self.board.phase}.{context.attempt_number}/{context.subtask_index}")


class _Writer:
    def __init__(self, subtask: int) -> None:
        self.subtask = subtask
        self.values: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self.values.append(value)

    def flush(self, end_of_input: bool) -> None:
        """Does nothing."""

    def prepare_commit(self) -> list[Any]:
        if not self.values:
            return []
        values, self.values = self.values, []
        return [[self.subtask, values]]

    def close(self) -> None:
        """Does nothing."""


class _Committer:
    def __init__(self, sink: TwoPc, place: str) -> None:
        self.sink = sink
        self.place = place

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        for request in requests:
            if self.sink.retries and self.sink.board.fires(f"commit{request.committable}"):
                self.sink.board.commits.append([self.place, request.committable, "retryLater"])
                request.retry_later()
            else:
                self.sink.board.commits.append([self.place, request.committable, "committed"])

    def close(self) -> None:
        """Does nothing."""


def build(env: StreamExecutionEnvironment, board: Board, case: dict[str, Any], parallelism: int) -> None:
    """Adds the operators of a case."""
    board.expected_opens = board.expected_notifications = parallelism
    script = case["script"]
    board.sources = len(script)
    events = env.add_source(Script(board, script), "source").set_parallelism(len(script)).uid("source")
    out = _operator(case, board, events, parallelism)
    out.set_parallelism(parallelism).uid("op")
    probe = _transform(out, "out", lambda _: Probe(board)).set_parallelism(parallelism).uid("probe")
    sink = TwoPc(board, retries=case["params"].get("commit_retry", False))
    probe.sink_to(sink).set_parallelism(parallelism).uid("sink")  # type: ignore[arg-type]


def _operator(case: dict[str, Any], board: Board, events: DataStream, parallelism: int) -> Any:
    """The operator before the probe."""
    params = case["params"]
    keyed = events.key_by(lambda value: value[1], Types.STRING())
    match case["job"]:
        case "keyed":
            board.expected_opens += parallelism
            return keyed.process(KeyedFn(board, params))
        case "async":
            wait = AsyncDataStream.ordered_wait if params["ordered"] else AsyncDataStream.unordered_wait
            return wait(events, AsyncFn(board), Time.seconds(60), 20)
        case "trace":
            board.expected_opens += 2 * parallelism
            # Two tasks would write one log in any order.
            logs = ("trace", "trace") if params.get("chaining", True) else ("first", "second")
            out = _transform(keyed, "t1", lambda _: Trace(board, "t1", logs[0]))
            out = out.set_parallelism(parallelism).uid("first")
            return _transform(out, "t2", lambda _: Trace(board, "t2", logs[1]))
        case "window":
            return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(params["size"]))).process(WinFn())
        case "session":
            gap = Time.milliseconds(params["size"])
            return keyed.window(EventTimeSessionWindows.with_gap(gap)).process(WinFn())
        case kind:
            raise ValueError(f"unknown job {kind!r}")


def _transform(stream: Any, name: str, make: Callable[[str], StreamOperator]) -> Any:
    added = stream._add(name, OperatorDescription(name), make)
    return stream.behind((type(stream._upstreams[0])(added),), None)


def run_phase(board: Board, case: dict[str, Any], parallelism: int, **options: object) -> JobExecutionResult:
    """Runs one phase of a case."""
    params = case["params"]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_max_parallelism(params.get("max_parallelism", 128))
    env.configure(buffer_timeout_ms=0, operator_chaining=params.get("chaining", True))
    network = params.get("network", {"spread": False, "exclusive": 2, "floating": 8})
    env.configure(
        task_managers="each" if network["spread"] else "one",
        exclusive_buffers_per_channel=network["exclusive"],
        floating_buffers_per_gate=network["floating"],
    )
    env.settings.checkpointing = CheckpointSettings(
        interval_ms=36_000_000,
        min_pause_ms=36_000_000,
        timeout_ms=60_000,
        exactly_once=params["mode"] == "EXACTLY_ONCE",
        tolerable_failures=10,
        retention="RETAIN_ON_CANCELLATION",
        directory=None if board.folder is None else f"{board.folder}/phase-{board.phase}",
        unaligned=params.get("unaligned", False),
        aligned_timeout_ms=params.get("aligned_timeout_ms", 0),
    )
    env.settings.restart_strategy = FixedDelayRestart(10, 1)
    build(env, board, case, parallelism)
    cluster = board.cluster = MiniCluster(env.stream_graph(), RunOptions(**options))  # type: ignore[arg-type]
    return cluster.run()


def run_phases(case: dict[str, Any], folder: Path) -> tuple[Board, list[JobStatus]]:
    """Runs all phases of a case; each starts from the snapshot of the one before, below ``folder``."""
    board = Board(folder=str(folder) if len(case["phases"]) > 1 else None)
    ends = []
    for number, phase in enumerate(case["phases"]):
        board.phase = number
        board.slow_ms = 0
        board.is_holding = False
        board.has_ended_input = False
        restore = None if number == 0 or board.snapshot is None else SavepointRestoreSettings(board.snapshot)
        board.snapshot = None
        ends.append(run_phase(board, case, phase["parallelism"], savepoint=restore).status)
    return board, ends
