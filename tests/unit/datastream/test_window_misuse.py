"""Arguments that are no assigner, trigger, evictor or count are refused where they are passed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.datastream.streams.windowed_streams import WindowedStream
from flowsim.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeTrigger,
    PurgingTrigger,
    TumblingEventTimeWindows,
)


def _windows(assigner: object) -> WindowedStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.add_source(ScriptedSource((record(1, 1),))).key_by(str).window(assigner)  # type: ignore[arg-type]


def _tumbling() -> WindowedStream:
    return _windows(TumblingEventTimeWindows.of(Duration.of_millis(5)))


MISUSES: dict[str, Callable[[], object]] = {
    "expected a window assigner, got <class": lambda: _windows(TumblingEventTimeWindows),
    "trigger: expected a trigger, got <class": lambda: _tumbling().trigger(EventTimeTrigger),  # type: ignore[arg-type]
    "evictor: expected an evictor, got <class": lambda: _tumbling().evictor(CountEvictor),  # type: ignore[arg-type]
    "CountTrigger.of: expected a number of records, got '3'": lambda: CountTrigger.of("3"),  # type: ignore[arg-type]
    "CountEvictor.of: expected a number of records, got None": lambda: CountEvictor.of(None),  # type: ignore[arg-type]
    "PurgingTrigger.of: expected a trigger, got None": lambda: PurgingTrigger.of(None),  # type: ignore[arg-type]
    "PurgingTrigger.of: expected a trigger, got <class": lambda: PurgingTrigger.of(CountTrigger),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", MISUSES)
def test_misused_window_argument_is_refused(message: str) -> None:
    with pytest.raises(TypeError, match=message):
        MISUSES[message]()
