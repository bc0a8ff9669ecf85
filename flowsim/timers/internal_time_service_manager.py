"""All timer services of one operator. Flink: InternalTimeServiceManagerImpl (rule 9.12)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput
from flowsim.facts.tracer import TaskTrace
from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_timer_service import (
    CancellationContext,
    InternalTimerService,
    KeyContext,
    TimersSnapshot,
    Triggerable,
)
from flowsim.timers.key_groups import KeyGroups
from flowsim.timers.processing_time_service import ProcessingTimeService
from flowsim.timers.recorded_timer_service import KeyFacts, TimerTrace, TracedInternalTimerService
from flowsim.values.java_hash_code import java_hash
from flowsim.values.java_hash_map import JavaHashMap

N = TypeVar("N", bound=Hashable)

TimersOfKeyGroup = Mapping[str, TimersSnapshot[Any]]
"""The timers of one key group, by the name of their service."""

CreateQueue = Callable[[KeyGroups], HeapPriorityQueueSet]
"""Creates the queue of one time domain of a service. Flink: PriorityQueueSetFactory."""


def no_window(namespace: object) -> tuple[int, int]:
    """Returns the window bounds in recordings for timers without a window."""
    return 0, 0


@mypyc_attr(allow_interpreted_subclasses=True)
class InternalTimeServiceManager:
    """Creates the timer services of an operator and advances them together. Flink: InternalTimeServiceManagerImpl.

    Several services advance in the order of a Java hash map of their names (rule 9.12).
    """

    __slots__ = (
        "_key_context",
        "_processing_time",
        "_trace",
        "_operator",
        "_key_facts",
        "_key_groups",
        "_cancellation",
        "_create_queue",
        "_services",
        "_created",
        "_in_order",
    )

    def __init__(
        self,
        key_context: KeyContext,
        processing_time: ProcessingTimeService,
        operator: int = 0,
        trace: TaskTrace | None = None,
        key_facts: KeyFacts | None = None,
        key_groups: KeyGroups | None = None,
        cancellation: CancellationContext | None = None,
        create_queue: CreateQueue = HeapPriorityQueueSet,
    ) -> None:
        """Creates a manager without services.

        ``trace`` is the trace of level full, or None; with a trace ``key_facts`` must be given.
        """
        self._key_context = key_context
        self._processing_time = processing_time
        self._trace = trace
        self._operator = operator
        self._key_facts = key_facts
        self._key_groups = key_groups
        self._cancellation = cancellation
        self._create_queue = create_queue
        self._services = JavaHashMap[str, InternalTimerService[Any]](java_hash)
        self._created: list[InternalTimerService[Any]] = []
        self._in_order: list[InternalTimerService[Any]] = []

    def internal_timer_service(
        self, name: str, triggerable: Triggerable, window_of: Callable[[N], tuple[int, int]]
    ) -> InternalTimerService[N]:
        """Returns the service of that name, which is created on the first call.

        ``window_of`` gives the window of a namespace for recordings.

        A repeated call returns the existing service, which still calls its first ``triggerable``, as in Flink.
        """
        service = self._services.get(name)
        if service is None:
            service = self._create(name, triggerable, window_of)
            self._services.put(name, service)
            self._created.append(service)
            self._in_order = self._services.values()
        return service

    def _create(
        self, name: str, triggerable: Triggerable, window_of: Callable[[N], tuple[int, int]]
    ) -> InternalTimerService[N]:
        if self._trace is None or self._key_facts is None:
            return InternalTimerService(
                name,
                self._key_context,
                self._processing_time,
                triggerable,
                self._key_groups,
                self._cancellation,
                self._create_queue,
            )
        timer_trace = TimerTrace(self._trace, self._operator, self._key_facts, window_of, len(self._services))
        return TracedInternalTimerService(
            name,
            self._key_context,
            self._processing_time,
            triggerable,
            timer_trace,
            self._key_groups,
            self._cancellation,
            self._create_queue,
        )

    def advance_watermark(self, timestamp: int) -> None:
        """Fires due timers in every service (rule 9.12)."""
        for service in self._in_order:
            service.try_advance_watermark(timestamp, None)

    def try_advance_watermark(self, timestamp: int, should_stop: Callable[[], bool]) -> bool:
        """Fires due timers service by service until ``should_stop``.

        Returns True if no due timer is left (rule 9.18).
        """
        return all(service.try_advance_watermark(timestamp, should_stop) for service in self._in_order)

    def end_key(self) -> None:
        """Fires all timers of the current key, service by service."""
        for service in self._in_order:
            service.end_key()

    @property
    def fired_timers(self) -> int:
        """The number of timers that fired in all services (rule 9.14). Flink: numFiredTimers."""
        return sum(service.fired_timers for service in self._services.values())

    @property
    def services(self) -> Sequence[InternalTimerService[Any]]:
        """The services in the order of their creation."""
        return self._created

    def service(self, name: str) -> InternalTimerService[Any]:
        """Returns a service. Raises BadInput if the operator does not have it."""
        service = self._services.get(name)
        if service is None:
            raise BadInput(f"timers of a service {name!r} that the operator no longer has")
        return service

    def start(self) -> None:
        """Starts each service after its timers were restored, in the order of creation (rule 9.15)."""
        for service in self._created:
            service.start()

    def snapshot_timers_for_key_group(self, key_group: int) -> TimersOfKeyGroup:
        """Returns the timers of one key group, by service (rule 9.15)."""
        services = self._services.values()
        return {service.name: service.snapshot_timers_for_key_group(key_group) for service in services}

    def restore_timers(self, snapshots: Mapping[int, TimersOfKeyGroup]) -> None:
        """Adds the timers of several key groups, then starts each service in the order of creation (rule 9.15).

        Called between ``setup`` and ``open``. Raises BadInput for timers of a service that the operator does not have.
        """
        for timers in snapshots.values():
            for name, snapshot in timers.items():
                self.service(name).restore_timers_for_key_group(snapshot)
        self.start()
