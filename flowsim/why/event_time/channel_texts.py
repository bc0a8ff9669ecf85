"""The watermark and status of the channels of a task as text."""

from __future__ import annotations

from flowsim.history.valve import ChannelState, StatesOfChannel
from flowsim.units import NO_TIMESTAMP
from flowsim.why.run_facts import Ints, Mask, Row, Rows, RunFacts
from flowsim.why.sentence import EventTime, Number, Sentence


def channel_text(facts: RunFacts, state: ChannelState) -> Sentence:
    """Number, sender, watermark and status of a channel."""
    return Sentence(f"{facts.from_(state.channel)}: ", status_text(facts, state))


def status_text(facts: RunFacts, state: ChannelState) -> Sentence:
    """Watermark and status of a channel."""
    return _status_text(
        facts,
        None if state.watermark == NO_TIMESTAMP else state.watermark,
        state.status_row if state.is_idle else None,
        is_behind=not state.is_aligned,
        end_of_data=state.end_of_data,
        drained=state.end_of_data is not None and bool(state.end_of_data["timestamp"]),
    )


def kinds_of_states(states: StatesOfChannel) -> list[Ints | Mask]:
    """Facts with the same values in these columns have texts with the same words."""
    is_idle = states.is_idle & states.has_status
    return [states.watermark == NO_TIMESTAMP, is_idle, states.is_aligned, states.has_ended, states.is_drained]


def states_text(facts: RunFacts, states: StatesOfChannel, which: Ints) -> Sentence:
    """Number, sender, watermark and status of a channel before some of the facts, which have the same kinds."""
    no_watermark, is_idle, is_aligned, ended, drained = (bool(kind[which[0]]) for kind in kinds_of_states(states))
    status = _status_text(
        facts,
        None if no_watermark else states.watermark[which],
        states.status_rows(which) if is_idle else None,
        is_behind=not is_aligned,
        end_of_data=states.end_rows(which) if ended else None,
        drained=drained,
    )
    return Sentence(f"{facts.from_(states.channel)}: ", status)


def _status_text(
    facts: RunFacts,
    watermark: Number | None,
    idle: Row | Rows | None,
    *,
    is_behind: bool,
    end_of_data: Row | Rows | None,
    drained: bool,
) -> Sentence:
    """The watermark and status of one channel, or of one channel at several moments."""
    parts = Sentence("no watermark") if watermark is None else Sentence("watermark ", EventTime(watermark))
    if idle is not None:
        parts = Sentence(parts, ", idle since ", facts.since_start(idle))
    elif is_behind:
        parts = Sentence(parts, ", not waited for until it has caught up")
    if end_of_data is not None:
        how = "with" if drained else "without"
        parts = Sentence(parts, f", EndOfData {how} drain at ", facts.since_start(end_of_data))
    return parts
