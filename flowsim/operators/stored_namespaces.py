"""The stored form of namespaces and timers: windows as plain values. Flink: InternalTimersSnapshot, TimeWindow.Serializer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from flowsim.errors import BadInput
from flowsim.operators.windowing.windows import GLOBAL_WINDOW, GlobalWindow, TimeWindow
from flowsim.state.snapshots.stored_streams import StoredTimer
from flowsim.timers.internal_time_service_manager import TimersOfKeyGroup
from flowsim.timers.internal_timer_service import TimersSnapshot
from flowsim.values.keys import state_key


def stored_namespace(namespace: object) -> object:
    """Returns the plain form of a namespace: a time window is (start, end), the global window ().

    Raises BadInput for a window class of the user.

    >>> stored_namespace(TimeWindow(0, 10))
    (0, 10)
    """
    if namespace is None or isinstance(namespace, str):
        return namespace
    if type(namespace) is TimeWindow:
        return (namespace.start, namespace.end)
    if isinstance(namespace, GlobalWindow):
        return ()
    raise BadInput(
        f"a checkpoint cannot store the namespace {namespace!r:.60} of class {type(namespace).__name__}: use TimeWindow "
        "or GlobalWindow"
    )


def restored_namespace(stored: object) -> Hashable:
    """Returns the namespace of a stored form."""
    if isinstance(stored, tuple):
        return TimeWindow(*stored) if stored else GLOBAL_WINDOW
    return stored  # None or a str


def stored_timers(services: TimersOfKeyGroup) -> tuple[StoredTimer, ...]:
    """Returns the timers of one key group."""
    return tuple(
        StoredTimer(name, is_event_time, timestamp, key, stored_namespace(namespace))
        for name, snapshot in services.items()
        for is_event_time, timers in ((True, snapshot.event_time), (False, snapshot.processing_time))
        for timestamp, key, _, namespace in timers
    )


def timers_of_services(timers: Iterable[StoredTimer]) -> TimersOfKeyGroup:
    """Returns stored timers of one key group by service."""
    found: dict[str, tuple[list[_Timer], list[_Timer]]] = {}
    for timer in timers:
        event_time, processing_time = found.setdefault(timer.service, ([], []))
        (event_time if timer.is_event_time else processing_time).append(
            (timer.timestamp, timer.key, state_key(timer.key), restored_namespace(timer.namespace))
        )
    by_service: Mapping[str, TimersSnapshot[Hashable]] = {
        name: TimersSnapshot(tuple(event_time), tuple(processing_time))
        for name, (event_time, processing_time) in found.items()
    }
    return by_service


_Timer = tuple[int, object, object, Hashable]
