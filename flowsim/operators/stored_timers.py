"""The stored form of timers. Flink: InternalTimersSnapshot."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from flowsim.state.snapshots.stored_streams import StoredTimer
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager
from flowsim.values.keys import state_key


def stored_timers(
    services: InternalTimeServiceManager,
    key_group_of: Callable[[object], int],
    stored_namespace: Callable[[object], object],
) -> dict[int, tuple[StoredTimer, ...]]:
    """Returns all timers by key group, those of a service in the order of its heap, as the heap backend stores them."""
    by_group: dict[int, list[StoredTimer]] = {}
    for service in services.services:
        for is_event_time, queue in ((True, service.event_time_timers), (False, service.processing_time_timers)):
            for timer in queue.in_heap_order:
                namespace = stored_namespace(timer.namespace)
                stored = StoredTimer(service.name, is_event_time, timer.timestamp, timer.key, namespace)
                by_group.setdefault(key_group_of(timer.key), []).append(stored)
    return {group: tuple(by_group[group]) for group in sorted(by_group)}


def restore_timers(
    services: InternalTimeServiceManager,
    timers: Iterable[tuple[int, StoredTimer]],
    restored_namespace: Callable[[object], Hashable],
) -> None:
    """Adds stored timers, in ascending order of key groups, and starts the services (rules 9.15, 12.120)."""
    for _, timer in timers:
        services.service(timer.service).restore_timer(
            timer.key,
            state_key(timer.key),
            timer.timestamp,
            restored_namespace(timer.namespace),
            is_event_time=timer.is_event_time,
        )
    services.start()
