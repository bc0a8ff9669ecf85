"""Watermark and status of the channels of a task, from what the task received (rules 8.9 to 8.14)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.event_time.valve_model import ValveModel
from flowsim.laws.job_graph import Channel
from flowsim.units import NO_TIMESTAMP
from flowsim.why.run_facts import Row, RunFacts
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
        self._channels: list[int] = self._rows["channel"].tolist()
        self._changes: dict[int, list[int]] = {}
        """By channel: the numbers of its elements."""
        self._states: dict[int, list[ChannelState]] = {}
        of_input: dict[int, list[int]] = {}
        for channel in facts.received_by(task):
            self._changes[channel.channel], self._states[channel.channel] = [], [ChannelState(channel)]
            of_input.setdefault(channel.input, []).append(channel.channel)
        self._models = {index: ValveModel(index, len(channels)) for index, channels in of_input.items()}
        self._numbers = {channel: number for channels in of_input.values() for number, channel in enumerate(channels)}
        self._read = 0

    def before(self, seq: int | None) -> list[ChannelState]:
        """The state of each channel before a fact; None: after the last element."""
        end = len(self._seqs) if seq is None else int(self._seqs.searchsorted(seq))
        while self._read < end:
            self._advance()
        return [states[bisect_left(self._changes[channel], end)] for channel, states in self._states.items()]

    def _advance(self) -> None:
        row, channel = self._rows.row(self._read), self._channels[self._read]
        before = self._states[channel][-1]
        self._changes[channel].append(self._read)
        self._states[channel].append(self._after(row, before))
        self._read += 1

    def _after(self, row: Row, before: ChannelState) -> ChannelState:
        if row["kind"] == ElementKind.END_OF_DATA:
            return replace(before, end_of_data=row)
        model, number = self._models[before.channel.input], self._numbers[before.channel.channel]
        model.on_element(number, row["kind"], row["timestamp"])
        watermark, status_row, watermark_row = model.watermark(number), before.status_row, before.watermark_row
        if row["kind"] == ElementKind.STATUS:
            status_row = row
        elif watermark == row["timestamp"] != before.watermark:
            watermark_row = row
        is_idle, is_aligned = not model.is_active(number), model.is_aligned(number)
        return ChannelState(
            before.channel, watermark, is_idle, is_aligned, watermark_row, status_row, before.end_of_data
        )
