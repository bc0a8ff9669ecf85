"""Base of operators with keys, state and timers. Flink: AbstractStreamOperator, MailboxWatermarkProcessor."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from itertools import chain

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput
from flowsim.mailbox.mail import MailOptions
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stored_timers import restore_timers, stored_timers
from flowsim.operators.stream_operator import KeySelector, MailboxExecutor, OperatorContext, StreamOperator
from flowsim.state.keyed_state import KeyedStateBackend, KeyedStateStore
from flowsim.state.snapshots.deferred_key_groups import NO_CELLS, CopiedCells, DeferredKeyGroups
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext
from flowsim.state.snapshots.stored_streams import KeyedStateStream, StoredCell, TimerStream
from flowsim.state.state_changes import StateChanges
from flowsim.streamrecord.output import Output
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager, TimersOfKeyGroup
from flowsim.timers.key_groups import KeyGroups
from flowsim.timers.processing_time_service import NoSystemTimers
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.units import NO_TIMESTAMP


class MailboxWatermarkProcessor:
    """Processes an operator's watermarks; each watermark is forwarded after all its timers have fired.

    Flink: MailboxWatermarkProcessor. A waiting mail interrupts the firing after any timer, and a deferrable mail
    continues it; records may be processed in between. Watermarks that arrive meanwhile raise the current one.
    Invariant: at most one such mail waits.
    """

    __slots__ = ("_output", "_executor", "_time_services", "_is_scheduled", "_max_input_watermark")

    def __init__(self, output: Output, executor: MailboxExecutor, time_services: InternalTimeServiceManager) -> None:
        self._output = output
        self._executor = executor
        self._time_services = time_services
        self._is_scheduled = False
        self._max_input_watermark = NO_TIMESTAMP

    def emit_watermark_inside_mailbox(self, timestamp: int) -> None:
        """Event time is at least ``timestamp`` ms: fires due timers until none is left or a mail waits."""
        self._max_input_watermark = max(self._max_input_watermark, timestamp)
        self._progress()

    def _progress(self) -> None:
        watermark = self._max_input_watermark
        if self._time_services.try_advance_watermark(watermark, self._executor.should_interrupt):
            self._output.emit_watermark(watermark)
        elif not self._is_scheduled:
            self._is_scheduled = True
            self._executor.execute(self._continue, "emitWatermarkInsideMailbox", MailOptions.DEFERRABLE)

    def _continue(self) -> None:
        self._is_scheduled = False
        self._progress()


@mypyc_attr(allow_interpreted_subclasses=True)
class KeyedOperator(StreamOperator):
    """An operator of a keyed stream, with a current key and timers (rules 7.20, 9.17).

    A subclass computes the key of each record once, with ``key_selector``, and sets it before the record is processed.
    """

    __slots__ = (
        "current_key",
        "current_key_id",
        "key_selector",
        "state",
        "time_services",
        "key_facts",
        "state_changes",
        "_key_groups",
        "_move_state",
        "_watermark_processor",
    )

    current_key: object
    current_key_id: object
    """``values.state_key`` of the current key, which decides if keys are equal."""
    key_selector: KeySelector
    state: KeyedStateBackend
    time_services: InternalTimeServiceManager
    _key_groups: KeyGroups
    _move_state: Callable[[object, object], None]
    _watermark_processor: MailboxWatermarkProcessor | None
    key_facts: KeyFacts | None
    """Records keys; None without recording."""
    state_changes: StateChanges | None
    """Records changes of state; None if they are not recorded."""

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        if ctx.key_selector is None:
            raise BadInput(f"operator {ctx.operator_name} needs a keyed stream: put key_by(...) before it (rule 9.17)")
        self.key_selector = ctx.key_selector
        self.current_key = None
        self.current_key_id = None
        self._watermark_processor = None
        now_ms = ctx.processing_time.current_processing_time_ms
        trace = ctx.trace
        self.key_facts = KeyFacts(trace, ctx.key_type) if trace is not None else None
        self.state_changes = None
        if trace is not None and trace.state is not None and self.key_facts is not None:
            self.state_changes = StateChanges(trace.state, ctx.operator_index, self.key_facts)
        factory = ctx.components.state_factory
        self.state = KeyedStateBackend(
            ctx.key_group_range, ctx.max_parallelism, ctx.key_type, now_ms, factory, self.state_changes
        )
        self.state.on_move_changed = self._keep_move
        self._keep_move()
        full = trace.full if trace is not None else None
        self._key_groups = KeyGroups(ctx.key_group_range, ctx.max_parallelism, ctx.key_type)
        # In BATCH mode all timers of a key fire at its end.
        processing_time = NoSystemTimers(ctx.processing_time) if ctx.is_batch else ctx.processing_time
        self.time_services = ctx.components.create_time_service_manager(
            self, processing_time, ctx.operator_index, full, self.key_facts, self._key_groups, ctx.cancellation
        )

    def _keep_move(self) -> None:
        self._move_state = self.state.set_current_key_and_id

    def set_current_key(self, key: object, key_id: object) -> None:
        """Sets the key of state and timers until the next call (rule 9.13)."""
        self.current_key = key
        self.current_key_id = key_id
        self._move_state(key, key_id)

    def state_of(self, namespace: Hashable) -> KeyedStateStore:
        """Returns the state of the current key in one namespace (a window); None is the namespace outside windows."""
        return self.state.store(namespace)

    @property
    def keyed_states(self) -> KeyedStateStore:
        return self.state.store()

    @property
    def runtime_context(self) -> RuntimeContext:
        """The argument of the user function's ``open``."""
        return RuntimeContext(self.ctx, self.keyed_states)

    def use_interruptible_timers(self) -> bool:
        """True if the timers of this operator may yield to mails, if the job allows it (rule 9.18).

        Flink: AbstractStreamOperator.useInterruptibleTimers.
        """
        return False

    def open(self) -> None:
        """Applies rule 9.18. Flink: AbstractStreamOperator.open."""
        if self.ctx.interruptible_timers and self.use_interruptible_timers():
            self._watermark_processor = MailboxWatermarkProcessor(
                self.output, self.ctx.mailbox_executor, self.time_services
            )

    def process_watermark(self, timestamp: int) -> None:
        """Fires due timers of all services, then forwards the watermark (rules 8.15, 9.12, 9.18)."""
        if self._watermark_processor is not None:
            self._watermark_processor.emit_watermark_inside_mailbox(timestamp)
        else:
            self.time_services.advance_watermark(timestamp)
            self.output.emit_watermark(timestamp)

    def end_key(self) -> None:
        """Fires all timers of the key that ends. Flink: BatchExecutionInternalTimeServiceManager.keySelected."""
        self.time_services.end_key()

    def initialize_state(self, context: StateInitializationContext) -> None:
        """Restores keyed state and timers (rules 12.65, 12.120)."""
        super().initialize_state(context)
        restored = context.keyed_state
        if restored is None:
            return
        self.state.restore(
            ((group, _in_namespace(cell, self.restored_namespace(cell.namespace))) for group, cell in restored.cells()),
            restored.descriptions(),
        )
        restore_timers(self.time_services, restored.timers(), self.restored_namespace)

    def snapshot_keyed_state(self) -> tuple[KeyedStateStream | None, TimerStream | None]:
        """Returns consistent copies of the keyed state, with that of ``own_cells``, and of the timers."""
        cells, kinds = self.state.snapshot()
        stored = [
            (group, _in_namespace(cell, self.stored_namespace(cell.namespace)))
            for group, of_group in cells.items()
            for cell in of_group
        ]
        own = self.own_cells()
        for name in own.states:
            kinds.setdefault(name, "operator")
        timers = stored_timers(self.time_services, self._key_groups, self.stored_namespace)
        return KeyedStateStream(DeferredKeyGroups(partial(_all_cells, stored, own)), kinds), TimerStream(timers)

    def stored_namespace(self, namespace: object) -> object:
        """Returns the plain form in which checkpoints store a namespace of the operator's state and timers."""
        return namespace

    def restored_namespace(self, stored: object) -> Hashable:
        """Returns the namespace of a stored form."""
        return stored

    def own_cells(self) -> CopiedCells:
        """Returns copies of what the operator keeps outside its keyed state; by default nothing."""
        return NO_CELLS

    def snapshot_timers(self) -> dict[int, TimersOfKeyGroup]:
        """Returns the timers of every key group of this subtask (rule 9.15)."""
        groups = self.ctx.key_group_range
        snapshot = self.time_services.snapshot_timers_for_key_group
        return {group: snapshot(group) for group in range(groups.start, groups.end + 1)}

    def restore_timers(self, snapshots: Mapping[int, TimersOfKeyGroup]) -> None:
        """Adds the timers of key groups of this subtask, between ``setup`` and ``open`` (rule 9.15).

        Raises BadInput for a key group of another subtask, and for timers of an unknown service.
        """
        groups = self.ctx.key_group_range
        for group in snapshots:
            if group not in groups:
                raise BadInput(
                    f"operator {self.ctx.operator_name}: key group {group} is not one of {groups.start} to {groups.end}"
                )
        self.time_services.restore_timers(snapshots)


def _all_cells(stored: list[tuple[int, StoredCell]], own: CopiedCells) -> Iterable[tuple[int, StoredCell]]:
    return chain(stored, own.create())


def _in_namespace(cell: StoredCell, namespace: object) -> StoredCell:
    return cell if namespace is cell.namespace else cell._replace(namespace=namespace)
