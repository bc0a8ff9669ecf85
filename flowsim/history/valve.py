"""Watermark and status of the channels of a task, as its valves keep them (rules 8.9 to 8.14)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Ints, Row, Rows
from flowsim.laws.event_time.valve_model import ValveModel
from flowsim.laws.job_graph import Channel
from flowsim.units import NO_TIMESTAMP

_AT_FIRST: Final = (NO_TIMESTAMP, False, True, -1, -1, -1)
"""Watermark, idle, aligned, and the rows of the last watermark, status and end of data; -1: none."""


@dataclass(frozen=True, slots=True)
class ChannelState:
    """One channel of a task input. Rows are of table ``received``."""

    channel: Channel
    watermark: int = NO_TIMESTAMP
    is_idle: bool = False
    is_aligned: bool = True
    """Whether the input waits for its watermark; false if it is idle, or behind since it was idle."""
    watermark_row: Row | None = None
    """The last watermark that counted."""
    status_row: Row | None = None
    end_of_data: Row | None = None


def channel_states(facts: RecordedFacts, task: int, before_seq: int | None = None) -> list[ChannelState]:
    """The state of every channel that a task receives, by input: at the moment of ``facts``, or before a fact."""
    return channel_history(facts, task).before(before_seq)


def channel_history(facts: RecordedFacts, task: int) -> ChannelHistory:
    """The states of the channels that a task receives."""
    return facts.shared("channel states", task, lambda: ChannelHistory(facts, task))


class StatesOfChannel:
    """The state of one channel before several facts: see ``ChannelState``."""

    def __init__(self, channel: Channel, states: Ints, rows: Rows) -> None:
        self.channel = channel
        self.watermark, idle, aligned, _, self._status, self._end = states.T
        self.is_idle, self.is_aligned = idle.astype(np.bool_), aligned.astype(np.bool_)
        self.has_status, self.has_ended = self._status >= 0, self._end >= 0
        self._rows = rows
        self.is_drained = np.zeros(len(states), dtype=np.bool_)
        self.is_drained[self.has_ended] = rows["timestamp"][self._end[self.has_ended]] != 0

    def status_rows(self, which: Ints) -> Rows:
        """The last statuses before some of the facts, each of which has one."""
        return self._rows.in_order(self._status[which])

    def end_rows(self, which: Ints) -> Rows:
        """The ends of data before some of the facts, each of which has one."""
        return self._rows.in_order(self._end[which])


class ChannelHistory:
    """The states of the channels of a task after each watermark, status and end of data.

    An element changes the state of its own channel only. The elements are read up to the latest fact that was asked about.
    """

    def __init__(self, facts: RecordedFacts, task: int) -> None:
        received = facts.rows("received", task)
        kinds = [ElementKind.WATERMARK, ElementKind.STATUS, ElementKind.END_OF_DATA]
        self._rows = received.where(np.isin(received["kind"], kinds))
        self._seqs = self._rows["seq"]
        self._elements = zip(*(self._rows[name].tolist() for name in ("channel", "kind", "timestamp")), strict=True)
        of_input: dict[int, list[Channel]] = {}
        for channel in facts.received_by(task):
            of_input.setdefault(channel.input, []).append(channel)
        self._channels = {
            channel.channel: _OneChannel(channel, number, model, self._rows)
            for index, channels in of_input.items()
            for model in [ValveModel(index, len(channels))]
            for number, channel in enumerate(channels)
        }
        self._read = 0
        if not (self._rows["kind"] == ElementKind.STATUS).any():
            self._read_all()

    def _read_all(self) -> None:
        """Without statuses the channels of an input do not affect each other, so each is read by columns."""
        channels, kinds, timestamps = (self._rows[name] for name in ("channel", "kind", "timestamp"))
        for number, channel in self._channels.items():
            own = np.flatnonzero(channels == number)
            channel.take_watermarks(own, kinds[own], timestamps[own])
        self._read = len(self._rows)

    def states(self, seqs: Ints, only: int | None = None) -> list[StatesOfChannel]:
        """The states of each channel before several facts; of one channel if it is given."""
        ends = self._seqs.searchsorted(seqs)
        self._read_until(int(ends.max(initial=0)))
        wanted = self._channels.values() if only is None else [self._channels[only]]
        return [channel.states(ends) for channel in wanted]

    def before(self, seq: int | None) -> list[ChannelState]:
        """The state of each channel before a fact; None: after the last element."""
        end = len(self._seqs) if seq is None else int(self._seqs.searchsorted(seq))
        self._read_until(end)
        return [channel.before(end) for channel in self._channels.values()]

    def _read_until(self, end: int) -> None:
        if self._read < end:
            for number, (channel, kind, timestamp) in enumerate(islice(self._elements, end - self._read), self._read):
                self._channels[channel].on_element(number, kind, timestamp)
            self._read = end


class _OneChannel:
    """The states of one channel by the number of its elements. An element is known by its row."""

    def __init__(self, channel: Channel, number: int, model: ValveModel, rows: Rows) -> None:
        self._number, self._model, self._all_rows = number, model, rows
        self._rows: list[int] = []
        self._after: list[tuple[int, bool, bool, int, int, int]] = []
        """As ``_AT_FIRST``, after each element."""
        self._last = _AT_FIRST
        self._columns: tuple[Ints, Ints] = np.zeros(0, dtype=np.int64), np.array([_AT_FIRST], dtype=np.int64)
        """``_rows``, and ``_after`` behind the first state."""
        self._states = {0: ChannelState(channel)}

    def on_element(self, row: int, kind: int, timestamp: int) -> None:
        watermark, is_idle, is_aligned, mark, status, end = self._last
        if kind == ElementKind.END_OF_DATA:
            end = row
        else:
            model, number, before = self._model, self._number, watermark
            model.on_element(number, kind, timestamp)
            watermark, is_idle, is_aligned = (
                model.watermark(number),
                not model.is_active(number),
                model.is_aligned(number),
            )
            if kind == ElementKind.STATUS:
                status = row
            elif watermark == timestamp != before:
                mark = row
        self._last = watermark, is_idle, is_aligned, mark, status, end
        self._rows.append(row)
        self._after.append(self._last)

    def take_watermarks(self, rows: Ints, kinds: Ints, timestamps: Ints) -> None:
        """All elements of a channel without statuses: it stays active and aligned, with its highest watermark so far."""
        is_mark = kinds == ElementKind.WATERMARK
        watermarks = np.maximum.accumulate(np.where(is_mark, timestamps, NO_TIMESTAMP))
        counts = watermarks > np.append(NO_TIMESTAMP, watermarks[:-1])
        marks, ends = (np.maximum.accumulate(np.where(which, rows, -1)) for which in (counts, ~is_mark))
        always = (np.full(len(rows), value) for value in (False, True, -1))
        is_idle, is_aligned, statuses = (column.tolist() for column in always)
        self._rows = rows.tolist()
        columns = (watermarks.tolist(), is_idle, is_aligned, marks.tolist(), statuses, ends.tolist())
        self._after = list(zip(*columns, strict=True))

    def states(self, rows: Ints) -> StatesOfChannel:
        if len(self._columns[0]) < len(self._rows):
            self._columns = np.array(self._rows, dtype=np.int64), np.array([_AT_FIRST, *self._after], dtype=np.int64)
        numbers, known = self._columns
        return StatesOfChannel(self._states[0].channel, known[numbers.searchsorted(rows)], self._all_rows)

    def before(self, row: int) -> ChannelState:
        count = bisect_left(self._rows, row)
        if count not in self._states:
            watermark, is_idle, is_aligned, *rows = self._after[count - 1]
            mark, status, end = (None if number < 0 else self._all_rows.row(number) for number in rows)
            channel = self._states[0].channel
            self._states[count] = ChannelState(channel, watermark, is_idle, is_aligned, mark, status, end)
        return self._states[count]
