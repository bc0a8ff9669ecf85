"""What windows of streams with keys and without have in common, and windows of so many records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.window_operator_builder import WindowOperatorBuilder
from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner
from flowsim.operators.windowing.evictors import CountEvictor, Evictor
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger
from flowsim.operators.windowing.triggers.nested_triggers import PurgingTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.values import TypeInformation
from flowsim.values.durations import Duration, Time

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream
    from flowsim.datastream.environment import StreamExecutionEnvironment


class WindowsOfStream:
    """How the records of a stream are put into windows, and which of them count."""

    def __init__(self, stream: DataStream, window_assigner: AnyWindowAssigner) -> None:
        self._stream = stream
        self._builder = WindowOperatorBuilder(window_assigner)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation | None:
        """The declared type of the records."""
        return self._stream.get_type()

    def trigger(self, trigger: AnyTrigger) -> Self:
        """Replaces the assigner's own trigger; raises BadInput if the windows merge and it cannot (rule 10.24)."""
        self._builder = self._builder.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """As in Java: takes records out of a window that fires; then nothing is folded before (rule 10.30)."""
        self._builder = self._builder.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: int | Duration | Time) -> Self:
        """How many ms after its end a window still takes records (rule 10.8)."""
        self._builder = self._builder.allowed_lateness(time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Keeps late records in a side output instead of counting them as dropped (rule 10.10)."""
        self._builder = self._builder.side_output_late_data(output_tag)
        return self

    def _counted(self, size: int, slide: int) -> Self:
        """Cut by count; raises BadInput unless size >= 1 and slide >= 0."""
        for name, number, least in (("size", size, 1), ("slide", slide, 0)):
            if type(number) is not int or number < least:
                raise BadInput(f"count window: {name}: expected an integer >= {least}, got {number!r}")
        if slide == 0:
            return self.trigger(PurgingTrigger(CountTrigger(size)))
        return self.evictor(CountEvictor(size)).trigger(CountTrigger(slide))
