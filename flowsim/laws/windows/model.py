"""A model of one window operator of one subtask: the effects of its input (sections 10.B, 10.C, 10.E)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from flowsim.facts.kinds import FireCause
from flowsim.laws.windows.merging import MergingWindows
from flowsim.laws.windows.panes import Account, Pane, PaneId
from flowsim.laws.windows.plan import WindowPlan, last_of
from flowsim.laws.windows.summed_records import Sum
from flowsim.laws.windows.timers import Due, Timers
from flowsim.laws.windows.triggers import FIRE, NEVER, PURGE, trigger_of
from flowsim.laws.windows.unmatched import Unmatched
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.values.java_long import wrapped

Intake = tuple[int, int, int, int, int, int, int, int, int, int]
"""An input record of the operator: its number in the operator, from 1, sequence number, key, timestamp, fingerprint,
time_ns, the recorded watermark, the result of ``WindowPlan.assign``, and its side."""

_ELEMENT: Final = int(FireCause.ELEMENT)
_EVENT_TIME_TIMER: Final = int(FireCause.EVENT_TIME_TIMER)
_PROCESSING_TIME_TIMER: Final = int(FireCause.PROCESSING_TIME_TIMER)


class WindowModel:
    """Processes watermarks, records and recorded clock firings in order, and computes the expected effects.

    Rows of ``fires``: pane, contents summary, result, cause, at, watermark and number of intakes so far. Of ``merges``:
    pane, start and end of the larger window, watermark and intakes. Of ``drops``: intakes, key, timestamp, fingerprint
    and side output. Of ``calls``, the calls of a join or coGroup function: pane, number of left and right records, their
    sums, number of calls, sum of products, and number of intakes so far.
    """

    def __init__(self, plan: WindowPlan) -> None:
        self.plan = plan
        self.fires, self.merges, self.drops, self.calls = Unmatched(), Unmatched(), Unmatched(), Unmatched()
        self.misread: list[tuple[int, int, int]] = []
        """Sequence number of each record whose recorded watermark is wrong, the task's watermark, and the recorded one."""
        self.late = 0
        """Number of late records."""
        self.watermark = NO_TIMESTAMP
        self.now_ms = 0
        self.intakes = 0
        self._rank = 0
        """The rank of timers registered now: the number of the current record."""
        self._cause = -1
        """Sequence number of the current row."""
        self._since = -1
        """Sequence number of the last record or watermark."""
        self._certain = False
        """Whether its effects happened before the recording ends."""
        known = plan.trigger if plan.predictable else None
        self._trigger = NEVER if known is None else trigger_of(known)
        self._steady = self._trigger.steady and plan.evictor is None and not plan.merging and not plan.join
        self._silent_clock = plan.predictable and not plan.event_time and not self._trigger.by_clock
        """Processing-time timers only clean up, so no firing shows that they have run."""
        self._panes: dict[PaneId, Pane] = {}
        self._merging = plan.merging
        self._windows = MergingWindows()
        self._outdated: list[PaneId] = []
        """Panes whose cleanup is due, but whose last firing cannot be predicted: kept until the next cause."""
        self._event_timers, self._clock_timers = Timers(), Timers()

    def set_timer(self, pane: Pane, event_time: bool, at: int) -> None:
        (self._event_timers if event_time else self._clock_timers).add(at, pane.id, self._rank)

    def delete_timer(self, pane: Pane, event_time: bool, at: int) -> None:
        pane.steady = False
        (self._event_timers if event_time else self._clock_timers).delete(at, pane.id)

    def advance(self, seq: int, watermark: int) -> None:
        """A watermark of the task: every event-time timer up to it runs (rule 9.4)."""
        if self._outdated:
            self._forget_outdated()
        self._cause = self._since = seq
        self._certain = False
        self.watermark = watermark
        poll = self._event_timers.poll
        while (due := poll(watermark)) is not None:
            self._run(due[1], True, due[0])

    def add(self, sums: Iterable[Sum]) -> None:
        """Adds records on time to contents."""
        for of, rows, total, xor in sums:
            pane = self._panes.get(of)
            if pane is not None:
                pane.rows += rows
                pane.total += total
                pane.xor ^= xor

    def take_in(self, records: Iterable[Intake]) -> None:
        """Consecutive records."""
        pane_of, size = self._panes.get, self.plan.size_ms
        for record in records:
            _, _, key, _, fingerprint, _, found, start, windows, _ = record
            pane = pane_of((key, start, start + size)) if windows == 1 and found == self.watermark else None
            if pane is not None and pane.steady:
                pane.rows += 1
                pane.total += fingerprint >> 31
                pane.xor ^= fingerprint
            else:
                self.take_in_one(record)

    def take_in_one(self, record: Intake, absorbed: Collection[tuple[int, int]] = ()) -> None:
        """A record, and for processing time the windows whose merge was recorded with it (rules 10.7, 10.10, 10.27)."""
        if self._outdated:
            self._forget_outdated()
        self.intakes, self._cause, key, _, fingerprint, time_ns, found, newest, windows, side = record
        self._since = self._cause
        self._rank, self._certain, self.now_ms = self.intakes, False, time_ns // NS_PER_MS
        if found != self.watermark:
            self.misread.append((self._cause, found, self.watermark))
        if self._silent_clock:
            # The last millisecond of such a window, and the one after it, in which it can still merge, have passed.
            while (due := self._clock_timers.poll(self.now_ms - 2)) is not None:
                self._run(due[1], False, due[0], silent=True)
        if self._merging:
            of = self._merge((key, newest, windows), absorbed)
            placed = self._put(record, of)
            if not placed:
                self._windows.forget(of)
        else:
            placed = False
            for start in range(newest, newest - windows * self.plan.slide_ms, -self.plan.slide_ms):
                of = (key, start, wrapped(start + self.plan.size_ms))
                pane = self._panes.get(of)
                if pane is not None and pane.steady:
                    pane.count_record(fingerprint, side)
                    placed = True
                else:
                    placed = self._put(record, of) or placed
        if not placed:
            self._find_late(record)

    def _forget_outdated(self) -> None:
        for pane in self._outdated:
            self._forget(pane)
        self._outdated.clear()

    def _put(self, record: Intake, of: PaneId) -> bool:
        """Adds a record to a window that is not late (rule 10.9), and calls the trigger."""
        plan, pane = self.plan, self._panes.get(of)
        if pane is None:
            if plan.event_time and plan.cleanup_of(last_of(of[1], of[2])) <= self.watermark:
                return False
            pane = self._panes[of] = self._new_pane(of)
        elif plan.event_time and pane.cleanup <= self.watermark:
            return False
        _, _, _, timestamp, fingerprint, time_ns, *_, side = record
        if not pane.rows:
            pane.since = self.intakes, time_ns
        pane.count_record(fingerprint, side)
        if plan.evictor is not None:
            pane.keep_record(timestamp, fingerprint, side)
        self._call_trigger(pane, timestamp)
        return True

    def _call_trigger(self, pane: Pane, timestamp: int) -> None:
        """Calls the trigger for an added record, and registers the cleanup timer (rule 10.8)."""
        answer = self._trigger.on_element(pane, self, timestamp)
        if answer:
            self._obey(pane, answer, _ELEMENT, timestamp)
        if pane.cleanup != MAX_WATERMARK:
            self.set_timer(pane, self.plan.event_time, pane.cleanup)
        cleaned_up = pane.cleanup != MAX_WATERMARK or not self.plan.event_time
        pane.steady = self._steady and not answer and cleaned_up

    def _find_late(self, record: Intake) -> None:
        _, seq, key, timestamp, fingerprint, *_ = record
        if self.plan.is_record_late(timestamp, self.watermark):
            self.late += 1
            self.drops.expect((self.intakes, key, timestamp, fingerprint, int(self.plan.late_output)), seq)

    def reach_clock(self, seq: int, at: int, since: int) -> None:
        """A firing recorded after row ``since`` shows that the clock has reached ``at``: all earlier timers have run."""
        self._cause, self._since, self._certain = seq, since, True
        while (due := self._clock_timers.poll(at - 1)) is not None:
            self._run_unseen(due)

    def fire_by_clock(self, pane: PaneId, at: int) -> None:
        """A recorded firing of a processing-time timer, after ``reach_clock``."""
        if self._clock_timers.delete(at, pane) is not None:
            self._rank = self.intakes
            self._run(pane, False, at)

    def fire_unpredicted(self, of: PaneId, rows: int, result: int, since: int) -> Account | None:
        """Applies the recorded result of an unpredictable trigger; returns the contents before a purge, None if empty."""
        pane = self._panes.get(of)
        if pane is None or not pane.rows:
            return None
        account = pane.fire(self.plan.evictor) if result & FIRE else pane.account()
        if result & FIRE and self.plan.join:
            self._since = since
            self._expect_calls(of, account)
        if result & PURGE:
            pane.empty()
        elif self.plan.unknown_evictor:
            pane.rows = min(pane.rows, rows)
            pane.steady = False
        return account

    def _run(self, of: PaneId, event_time: bool, at: int, silent: bool = False) -> None:
        """A timer of the window: calls the trigger, then cleans up if it is time (rules 10.13, 10.28)."""
        pane = self._panes.get(of)
        if pane is None:
            pane = self._new_pane(of)
        pane.steady = False
        if self._merging and of not in self._windows:
            return
        answer = self._trigger.on_timer(pane, self, event_time, at)
        if answer and not silent:
            self._obey(pane, answer, _EVENT_TIME_TIMER if event_time else _PROCESSING_TIME_TIMER, at)
        if event_time == self.plan.event_time and at == pane.cleanup:
            self._trigger.clear(pane, self)
            if event_time and not self.plan.predictable:
                self._outdated.append(of)
            else:
                self._forget(of)

    def _run_unseen(self, due: Due) -> None:
        """A clock timer that ran earlier without a recorded firing: perhaps while its window was empty."""
        at, of, rank = due
        pane = self._panes.get(of)
        first, time_ns = pane.since if pane is not None else (0, 0)
        silent = rank < first and (at + 1) * NS_PER_MS <= time_ns
        self._rank = rank if silent else self.intakes
        self._run(of, False, at, silent)

    def _obey(self, pane: Pane, answer: int, cause: int, at: int) -> None:
        if not pane.rows:
            return
        account = pane.fire(self.plan.evictor) if answer & FIRE else pane.account()
        self.fires.expect(
            (*pane.id, *account[:3], answer, cause, at, self.watermark, self.intakes), self._cause, self._certain
        )
        if answer & FIRE and self.plan.join:
            self._expect_calls(pane.id, account)
        if answer & PURGE:
            pane.empty()

    def _expect_calls(self, of: PaneId, account: Account) -> None:
        """A join pairs every left with every right record (rule 10.37): the sum of products is the product of the sums."""
        rows, _, _, right, left_sum, right_sum = account
        calls = (rows - right) * right if self.plan.join == "join" else 1
        sums = wrapped(left_sum), wrapped(right_sum), calls, wrapped(left_sum * right_sum)
        self.calls.expect((*of, rows - right, right, *sums, self.intakes), self._since)

    def _merge(self, new: PaneId, absorbed: Collection[tuple[int, int]]) -> PaneId:
        """Adds a window and merges it with its key's windows that overlap or touch it (rules 10.25, 10.26)."""
        if not self.plan.event_time:
            self._clean_up_touched(new, absorbed)
        whole, members, anew = self._windows.unite(new)
        if members:
            self._absorb(members, whole)
        elif anew and whole in self._panes:
            self._panes[whole].clear_contents()
        return whole

    def _absorb(self, absorbed: list[PaneId], whole: PaneId) -> None:
        larger = self._panes.get(whole)
        if larger is None:
            larger = self._panes[whole] = self._new_pane(whole)
        larger.clear_contents()
        members = [self._panes.get(pane) or self._new_pane(pane) for pane in absorbed]
        self._trigger.on_merge(larger, self, members)
        for pane in members:
            pane.forget_trigger()
            self._trigger.clear(pane, self)
            if pane.cleanup != MAX_WATERMARK:
                self.delete_timer(pane, self.plan.event_time, pane.cleanup)
            larger.absorb(pane)
            self._panes.pop(pane.id, None)
            self.merges.expect((*pane.id, *whole[1:], self.watermark, self.intakes), self._cause)

    def _clean_up_touched(self, new: PaneId, absorbed: Collection[tuple[int, int]]) -> None:
        """A window that ends now may have been cleaned up just before, unless its merge was recorded."""
        # Rule 10.26: a merge that ends with this millisecond fails the job, and is not recorded.
        self._certain = last_of(new[1], new[2]) > self.now_ms
        ended = [pane for pane in self._windows.of(new[0]) if pane[2] <= new[1] and pane[1:] not in absorbed]
        for pane in ended:
            while (due := self._clock_timers.poll_pane(pane, last_of(*pane[1:]))) is not None:
                self._run_unseen(due)
        self._certain, self._rank = False, self.intakes

    def _new_pane(self, of: PaneId) -> Pane:
        last = last_of(of[1], of[2])
        return Pane(of, last, self.plan.cleanup_of(last))

    def _forget(self, pane: PaneId) -> None:
        self._panes.pop(pane, None)
        if self._merging:
            self._windows.forget(pane)
