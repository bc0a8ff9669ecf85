"""Follows each element of an async operator from its place in the queue to its emission, for several laws at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from flowsim.laws.async_wait.element import Element
from flowsim.laws.async_wait.once import Once
from flowsim.laws.async_wait.order import Order
from flowsim.laws.async_wait.places import COMPLETE, EMIT, FAIL, INVOKE, PUT, RETRY, TIMEOUT
from flowsim.laws.async_wait.retries import Retries
from flowsim.laws.numbers import Numbers
from flowsim.laws.slices import Row

COLUMNS: Final = ("seq", "time_ns", "entry", "action", "kind", "timestamp", "fingerprint", "attempt", "rows")
_OUTCOMES: Final = (COMPLETE, FAIL)
_CALLS: Final = (INVOKE, RETRY)


class Elements:
    """Keeps the elements that are in the queue; of those that were emitted it knows the numbers."""

    __slots__ = ("_elements", "_numbers", "_once", "_order", "_retries")

    def __init__(self, order: Order, once: Once, retries: Retries) -> None:
        self._order = order
        self._once = once
        self._retries = retries
        self._numbers = Numbers()
        self._elements: dict[int, Element] = {}

    def feed(self, rows: Iterable[Row]) -> None:
        """Takes rows with the columns ``COLUMNS``."""
        elements, once, retries = self._elements, self._once, self._retries
        for row in rows:
            seq, _, entry, action, _, _, _, _, _ = row
            element = elements.get(entry)
            if action == PUT:
                retries.put(seq)
                if element is None or element.put < 0:
                    self._put(element, row)
                continue
            if element is None:
                if entry in self._numbers:
                    self._after_emission(row)
                    continue
                element = elements[entry] = Element()
            if action == INVOKE:
                retries.invoke(element, row)
            elif action == RETRY:
                retries.retry(element, row)
            elif element.emitted:
                self._after_emission(row)
            elif action in _OUTCOMES:
                once.outcome(element, row)
            elif action == TIMEOUT:
                once.timeout(element, row)
            elif action == EMIT:
                self._emit(element, row)

    def _put(self, element: Element | None, row: Row) -> None:
        seq, time_ns, entry, _, kind, timestamp, _, _, _ = row
        numbers = self._numbers
        if entry == numbers.top:
            numbers.top += 1
        elif not numbers.add(entry):
            return
        if element is None:
            element = self._elements[entry] = Element()
        element.put, element.put_ns, element.kind, element.timestamp = seq, time_ns, kind, timestamp
        element.rank = self._order.rank(entry, kind)

    def _emit(self, element: Element, row: Row) -> None:
        entry = row[2]
        if element.put < 0:
            self._once.emitted_before_put(row)
            return
        self._once.emit(element, row)
        self._order.emit(element, entry)
        self._retries.emit(element, entry)
        if element.timed_out and element.retries:
            # Rule 11.28: it is still among those that await a retry, so the function may be called for it at the end.
            element.emitted = True
        else:
            del self._elements[entry]

    def _after_emission(self, row: Row) -> None:
        if row[3] in _CALLS:
            self._retries.after_emission(row)
        else:
            self._once.after_emission(row)

    def end(self) -> None:
        """Looks at the elements that were put and not emitted."""
        for entry, element in self._elements.items():
            if element.put >= 0 and not element.emitted:
                for law in (self._order, self._once, self._retries):
                    law.left(element, entry)
