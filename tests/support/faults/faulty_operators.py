"""Faulty operators, and the components of faulty operators."""

from __future__ import annotations

from collections.abc import Collection

from flowsim.connectors.sinks.committer_operators import CommitterOperator
from flowsim.facts.tracer import TaskTrace
from flowsim.faults.faulty_components import FaultyOperatorComponents
from flowsim.legacy.stream_sink import StreamSink
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.functions.interval_join import IntervalJoinOperator
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.state.state_factory import StateFactory
from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_time_service_manager import CreateQueue, InternalTimeServiceManager
from flowsim.timers.internal_timer_service import CancellationContext, KeyContext
from flowsim.timers.key_groups import KeyGroups
from flowsim.timers.processing_time_service import ProcessingTimeService
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_output import WatermarkOutput
from flowsim.watermark.watermark_output_multiplexer import WatermarkOutputMultiplexer
from flowsim.watermark.watermark_to_data_output import (
    MainWatermarkOutput,
    WatermarkToDataOutput,
    WatermarkUpdateListener,
)
from tests.support.faults.async_wait import faulty_async_operator
from tests.support.faults.recovery import ForgetfulCommitterOperator, HastyCommitterOperator
from tests.support.faults.states import FAULTY_STATE_FACTORIES
from tests.support.faults.timers import (
    DuplicatingTimerQueue,
    EarlyTimeServiceManager,
    ForgetfulProcessingTime,
    LosingTimerQueue,
    StaleKeyContext,
    UnarmedTimeServiceManager,
)
from tests.support.faults.transactions import FAULTY_TRANSACTIONS
from tests.support.faults.watermarks import FAULTY_MERGES, FAULTY_STRATEGIES, ActiveHidingOutput
from tests.support.faults.windows import faulty_interval_join, faulty_window_operator


def faulty_operator(operator: StreamOperator, faults: Collection[str]) -> StreamOperator:
    """Returns the operator, or a replacement, with the faults that apply to it; call it before the set-up."""
    if isinstance(operator, AsyncWaitOperator):
        return faulty_async_operator(operator, faults)
    if isinstance(operator, CommitterOperator) and "committed_too_early" in faults:
        return HastyCommitterOperator(operator.create_committer)
    if isinstance(operator, CommitterOperator) and "committables_lost_at_restore" in faults:
        return ForgetfulCommitterOperator(operator.create_committer)
    if isinstance(operator, StreamSink):
        chosen = [fault for fault in faults if fault in FAULTY_TRANSACTIONS]
        return StreamSink(operator.function, FAULTY_TRANSACTIONS[chosen[-1]]) if chosen else operator
    if isinstance(operator, WindowOperator):
        return faulty_window_operator(operator, faults)
    if isinstance(operator, IntervalJoinOperator):
        return faulty_interval_join(operator, faults)
    if isinstance(operator, TimestampsAndWatermarksOperator | SourceOperator) and operator.strategy is not None:
        for fault in sorted(FAULTY_STRATEGIES.keys() & faults):
            operator.strategy = FAULTY_STRATEGIES[fault](operator.strategy)
    return operator


class BrokenOperatorComponents(FaultyOperatorComponents):
    """Creates the components of an operator with faults of tests."""

    __slots__ = ()

    @property
    def state_factory(self) -> StateFactory:
        chosen = [name for name in FAULTY_STATE_FACTORIES if name in self.faults]
        return FAULTY_STATE_FACTORIES[chosen[-1]] if chosen else super().state_factory

    def create_time_service_manager(
        self,
        key_context: KeyContext,
        processing_time: ProcessingTimeService,
        operator_index: int,
        trace: TaskTrace | None,
        key_facts: KeyFacts | None,
        key_groups: KeyGroups,
        cancellation: CancellationContext,
    ) -> InternalTimeServiceManager:
        create_queue: CreateQueue = HeapPriorityQueueSet
        if "timer_lost" in self.faults:
            create_queue = LosingTimerQueue
        if "timer_fires_twice" in self.faults:
            create_queue = DuplicatingTimerQueue
        if "timer_under_wrong_key" in self.faults:
            key_context = StaleKeyContext(key_context)
        if "processing_time_timer_lost" in self.faults:
            processing_time = ForgetfulProcessingTime(processing_time)
        create = EarlyTimeServiceManager if "timer_fires_early" in self.faults else InternalTimeServiceManager
        if "timers_not_armed_at_restore" in self.faults:
            create = UnarmedTimeServiceManager
        return create(
            key_context, processing_time, operator_index, trace, key_facts, key_groups, cancellation, create_queue
        )

    def create_watermark_output(self, output: ValveOutput) -> WatermarkToDataOutput:
        return super().create_watermark_output(self._faulty_output(output))

    def create_main_watermark_output(
        self, output: ValveOutput, listener: WatermarkUpdateListener | None
    ) -> MainWatermarkOutput:
        return super().create_main_watermark_output(self._faulty_output(output), listener)

    def create_multiplexer(self, output: WatermarkOutput) -> WatermarkOutputMultiplexer:
        combined = [FAULTY_MERGES[fault]() for fault in sorted(self.faults & FAULTY_MERGES.keys())]
        return WatermarkOutputMultiplexer(output, *combined[:1])

    def _faulty_output(self, output: ValveOutput) -> ValveOutput:
        return ActiveHidingOutput(output) if "idle_but_speaking" in self.faults else output
