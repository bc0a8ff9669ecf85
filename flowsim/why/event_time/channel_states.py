"""Watermark and status of the channels of a task, from what the task received (rules 8.9 to 8.14)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import islice

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.event_time.valve_model import ValveModel
from flowsim.laws.job_graph import Channel
from flowsim.units import NO_TIMESTAMP
from flowsim.why.run_facts import Row, Rows, RunFacts
from flowsim.why.sentence import EventTime, Sentence


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

    def text(self, facts: RunFacts) -> Sentence:
        """Its number, sender, watermark and status."""
        return Sentence(f"{facts.from_(self.channel)}: ", self.status(facts))

    def status(self, facts: RunFacts) -> Sentence:
        """Its watermark and status."""
        if self.watermark == NO_TIMESTAMP:
            parts = Sentence("no watermark")
        else:
            parts = Sentence("watermark ", EventTime(self.watermark))
        if self.is_idle and self.status_row is not None:
            parts = Sentence(parts, ", idle since ", facts.since_start(self.status_row))
        elif not self.is_aligned:
            parts = Sentence(parts, ", not waited for until it has caught up")
        if self.end_of_data is not None:
            drained = "with" if self.end_of_data["timestamp"] else "without"
            parts = Sentence(parts, f", EndOfData {drained} drain at ", facts.since_start(self.end_of_data))
        return parts


def channel_states(facts: RunFacts, task: int, before_seq: int | None = None) -> list[ChannelState]:
    """The state of every channel that a task receives, by input: at the moment of ``facts``, or before a fact."""
    history = facts.shared("channel states", task, lambda: _ChannelHistory(facts, task))
    return history.before(before_seq)


class _ChannelHistory:
    """The states of the channels of a task after each watermark, status and end of data.

    An element changes the state of its own channel only. The elements are read up to the latest fact that was asked about.
    """

    def __init__(self, facts: RunFacts, task: int) -> None:
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

    def before(self, seq: int | None) -> list[ChannelState]:
        """The state of each channel before a fact; None: after the last element."""
        end = len(self._seqs) if seq is None else int(self._seqs.searchsorted(seq))
        if self._read < end:
            for number, (channel, kind, timestamp) in enumerate(islice(self._elements, end - self._read), self._read):
                self._channels[channel].on_element(number, kind, timestamp)
            self._read = end
        return [channel.before(end) for channel in self._channels.values()]


class _OneChannel:
    """The states of one channel by the number of its elements. An element is known by its row."""

    def __init__(self, channel: Channel, number: int, model: ValveModel, rows: Rows) -> None:
        self._number, self._model, self._all_rows = number, model, rows
        self._rows: list[int] = []
        self._after: list[tuple[int, bool, bool, int, int, int]] = []
        """Watermark, idle, aligned, and the rows of the last watermark, status and end of data; -1: none."""
        self._last = (NO_TIMESTAMP, False, True, -1, -1, -1)
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

    def before(self, row: int) -> ChannelState:
        count = bisect_left(self._rows, row)
        if count not in self._states:
            watermark, is_idle, is_aligned, *rows = self._after[count - 1]
            mark, status, end = (None if number < 0 else self._all_rows.row(number) for number in rows)
            channel = self._states[0].channel
            self._states[count] = ChannelState(channel, watermark, is_idle, is_aligned, mark, status, end)
        return self._states[count]
