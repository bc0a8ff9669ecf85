"""Tracks each element of an async operator from its place in the queue to its emission, for all laws at once."""

from __future__ import annotations

from typing import Final

from flowsim.laws.async_wait.element_timers import ElementTimers
from flowsim.laws.async_wait.once import Once
from flowsim.laws.async_wait.order import Order
from flowsim.laws.async_wait.payload import Payload
from flowsim.laws.async_wait.places import EMIT, INVOKE, OUTCOMES, PUT, RETRY, TIMEOUT, Element, Step
from flowsim.laws.async_wait.retries import Retries
from flowsim.laws.numbers import Numbers

_RECEIVING: Final = (INVOKE, RETRY, TIMEOUT)


class Elements:
    """Stores the queued elements; of emitted ones only the numbers."""

    __slots__ = ("_elements", "_numbers", "_once", "_order", "_payload", "_retries", "_timers")

    def __init__(
        self, order: Order, once: Once, retries: Retries, payload: Payload, timers: ElementTimers | None
    ) -> None:
        self._order = order
        self._once = once
        self._retries = retries
        self._payload = payload
        self._timers = timers
        self._numbers = Numbers()
        self._elements: dict[int, Element] = {}

    def step(self, step: Step) -> None:
        """A row of ``async_elements``."""
        action, entry = step.action, step.entry
        element = self._elements.get(entry)
        if action == PUT:
            self._retries.put(step)
            self._order.number(step)
            if element is None or element.put is None:
                self._put(element, step)
            return
        if element is None:
            if entry in self._numbers:
                self._after_emission(step)
                return
            element = self._elements[entry] = Element()
        if action in _RECEIVING and element.put is not None:
            self._payload.receive(element.put, step)
        if action == INVOKE:
            self._retries.invoke(element, step)
        elif action == RETRY:
            self._retries.retry(element, step)
        elif element.emitted:
            self._after_emission(step)
        elif action in OUTCOMES:
            self._once.outcome(element, step)
        elif action == TIMEOUT:
            self._once.timeout(element, step)
        elif action == EMIT:
            self._emit(element, step)

    def _put(self, element: Element | None, step: Step) -> None:
        if not self._numbers.add(step.entry):
            return
        if element is None:
            element = self._elements[step.entry] = Element()
        element.put = step
        element.rank = self._order.rank(step)

    def _emit(self, element: Element, step: Step) -> None:
        put = element.put
        if put is None:
            self._once.broken("an element is emitted before it was put", step)  # This has no further effect.
            return
        self._once.emit(put, element.outcome, step)
        self._order.emit(element)
        self._retries.emit(element, put)
        if self._timers is not None:
            self._timers.emit(put, step)
        if element.timed_out and element.retries:
            # Rule 11.28: the element still waits for a retry, so the function may be called for it at the end.
            element.emitted = True
        else:
            del self._elements[step.entry]

    def _after_emission(self, step: Step) -> None:
        if step.action in (INVOKE, RETRY):
            self._retries.after_emission(step)
        else:
            self._once.after_emission(step)

    def end(self) -> None:
        """Checks the elements that were put and not emitted."""
        for element in self._elements.values():
            if element.put is not None and not element.emitted:
                self._order.left(element)
                self._once.left(element.put)
                self._retries.left(element, element.put)
