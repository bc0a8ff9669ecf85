"""Creates components during the set-up of an operator. Flink: InternalTimeServiceManager.Provider."""

from __future__ import annotations

from flowsim.facts.tracer import TaskTrace
from flowsim.state.state_factory import STATE_FACTORY, StateFactory
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager
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


class OperatorComponents:
    """Creates components that depend on the operator or its context; a subclass can replace some of them.

    Components that an operator creates in its constructor are public attributes until ``setup``.
    """

    __slots__ = ()

    @property
    def state_factory(self) -> StateFactory:
        """The factory of the operator's keyed states."""
        return STATE_FACTORY

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
        """Creates the timer services of a keyed operator; ``trace`` is the trace of level full, or None."""
        return InternalTimeServiceManager(
            key_context, processing_time, operator_index, trace, key_facts, key_groups, cancellation
        )

    def create_watermark_output(self, output: ValveOutput) -> WatermarkToDataOutput:
        """Creates the watermark output of ``assign_timestamps_and_watermarks``."""
        return WatermarkToDataOutput(output)

    def create_main_watermark_output(
        self, output: ValveOutput, listener: WatermarkUpdateListener | None
    ) -> MainWatermarkOutput:
        """Creates the watermark output of a source."""
        return MainWatermarkOutput(output, listener)

    def create_multiplexer(self, output: WatermarkOutput) -> WatermarkOutputMultiplexer:
        """Creates what merges the watermarks of the splits of a source."""
        return WatermarkOutputMultiplexer(output)
