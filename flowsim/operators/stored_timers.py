"""The stored form of timers. Flink: InternalTimersSnapshot."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial

from flowsim.state.snapshots.deferred_key_groups import DeferredKeyGroups
from flowsim.state.snapshots.stored_streams import StoredTimer
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.key_groups import KeyGroups
from flowsim.values.keys import state_key

_Copies = list[tuple[str, bool, list[InternalTimer]]]
"""The name of the service, True for event time, and the timers; a timer does not change."""


def stored_timers(
    services: InternalTimeServiceManager,
    key_groups: KeyGroups,
    stored_namespace: Callable[[object], object],
) -> DeferredKeyGroups[StoredTimer]:
    """Returns all timers by key group, those of a service in the order of its heap, as the heap backend stores them."""
    copies: _Copies = []
    namespaces: dict[object, object] = {}
    for service in services.services:
        for is_event_time, queue in ((True, service.event_time_timers), (False, service.processing_time_timers)):
            timers = queue.in_heap_order
            copies.append((service.name, is_event_time, timers))
            last: object = copies
            for timer in timers:
                namespace = timer.namespace
                if namespace is not last:
                    last = namespace
                    if namespace not in namespaces:
                        namespaces[namespace] = stored_namespace(namespace)
    return DeferredKeyGroups(partial(_rows, copies, key_groups, namespaces))


def _rows(
    copies: _Copies, key_groups: KeyGroups, namespaces: Mapping[object, object]
) -> Iterator[tuple[int, StoredTimer]]:
    for service, is_event_time, timers in copies:
        for timer in timers:
            namespace = namespaces[timer.namespace]
            stored = StoredTimer(service, is_event_time, timer.timestamp, timer.key, namespace)
            yield key_groups.of(timer.key), stored


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
