"""Watermark and status of the channels of a task, from what the task received (rules 8.9 to 8.14)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.event_time.valve_model import ValveModel
from flowsim.laws.job_graph import Channel
from flowsim.trace.time import event_time
from flowsim.units import NO_TIMESTAMP
from flowsim.why.run_facts import Row, RunFacts


@dataclass(slots=True)
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

    def text(self, facts: RunFacts) -> str:
        """Its number, sender, watermark and status."""
        watermark = "no watermark" if self.watermark == NO_TIMESTAMP else f"watermark {event_time(self.watermark)}"
        text = f"{facts.from_(self.channel)}: {watermark}"
        if self.is_idle and self.status_row is not None:
            text += f", idle since {facts.moment(self.status_row['time_ns'])}"
        elif not self.is_aligned:
            text += ", not waited for until it has caught up"
        if self.end_of_data is not None:
            drained = "with" if self.end_of_data["timestamp"] else "without"
            text += f", EndOfData {drained} drain at {facts.moment(self.end_of_data['time_ns'])}"
        return text


def channel_states(facts: RunFacts, task: int, before_seq: int | None = None) -> list[ChannelState]:
    """The state of every channel that a task receives, by input: at the moment of ``facts``, or before a fact."""
    received = facts.rows("received", task)
    if before_seq is not None:
        received = received.before(before_seq)
    kinds = received["kind"]
    relevant = np.isin(kinds, [ElementKind.WATERMARK, ElementKind.STATUS, ElementKind.END_OF_DATA])
    states = {channel.channel: ChannelState(channel) for channel in facts.received_by(task)}
    models, numbers = _models(states)
    for row in received.where(relevant):
        state = states[row["channel"]]
        model, number = models[state.channel.input], numbers[row["channel"]]
        if row["kind"] == ElementKind.END_OF_DATA:
            state.end_of_data = row
            continue
        model.on_element(number, row["kind"], row["timestamp"])
        if row["kind"] == ElementKind.STATUS:
            state.status_row = row
        elif model.watermark(number) == row["timestamp"] != state.watermark:
            state.watermark_row = row
        state.watermark = model.watermark(number)
    for state in states.values():
        model, number = models[state.channel.input], numbers[state.channel.channel]
        state.is_idle, state.is_aligned = not model.is_active(number), model.is_aligned(number)
    return list(states.values())


def _models(states: dict[int, ChannelState]) -> tuple[dict[int, ValveModel], dict[int, int]]:
    of_input: dict[int, list[int]] = {}
    for state in states.values():
        of_input.setdefault(state.channel.input, []).append(state.channel.channel)
    models = {index: ValveModel(index, len(channels)) for index, channels in of_input.items()}
    return models, {channel: number for channels in of_input.values() for number, channel in enumerate(channels)}
