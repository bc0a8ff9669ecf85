"""The choices of a run: which ready task, or which event, was the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from flowsim.facts.kinds import Level
from flowsim.facts.table import Column, Table


class ChoiceKind(IntEnum):
    """What an option of a choice is (``choices.name``)."""

    TURN = 0
    """A ready task runs."""
    ARRIVE = 1
    """A message arrives."""
    CREDIT = 2
    """A credit arrives at the sender."""
    ANSWER = 3
    """An asynchronous call is answered."""
    TIMER = 4
    """A processing-time timer fires."""
    FLUSH = 5
    """A flusher runs."""
    SNAPSHOT = 6
    """The asynchronous part of a snapshot ends."""
    MASTER = 7
    """The job master acts, at a time that it set."""
    FAILURE = 8
    """A failure of the scenario happens."""
    ACTION = 9
    """An action of the scenario happens."""
    TIME = 10
    """Time passes until the next timer."""
    FIRST_CHANNEL = 11
    """A task begins to send round robin with this channel."""
    SHUFFLE = 12
    """A task sends a record to this channel, which it draws at random."""
    REPORT = 13
    """A message of a task arrives at the job manager."""
    ANY_FAILURE = 14
    """A task fails, because the exploration lets it."""
    FAILED_TASK = 15
    """This task is the one that fails."""
    READ = 16
    """A source reads its next record."""


CHOICES = Table(
    "choices", Level.ELEMENTS, "one choice of the scheduling policy among ready actors, events, or both",
    (Column("step", "q", "number of the choice, from 0"), Column("choice", "i", "index of the chosen option"),
     Column("ready", "i", "number of options"), Column("name", "b", "what the chosen option is", ChoiceKind),
     Column("actor", "i", "the actor (task id) on which the option has an effect; -1: any"),
     Column("number", "i", "arrive and credit: the task at the other end; answer: number of the call; flush: the edge; "
            "first_channel and shuffle: the channel; report and failed_task: the task; "
            "otherwise which of several of this kind; -1: none"),
     Column("edge", "i", "arrive, credit, first_channel and shuffle: the edge, or -1 if a connection has all edges; "
            "otherwise -1")),
)  # fmt: skip


def recorded_choices(append: Callable[..., object]) -> Callable[[int, int, int, Sequence[str | int]], None]:
    """Returns what records ``(step, index, options, key)`` of each choice; the key has a kind, an actor and numbers.

    ``append`` adds a row to the table.
    """

    def record(step: int, index: int, options: int, key: Sequence[str | int]) -> None:
        kind, actor, *numbers = key
        number, edge = (*numbers, -1, -1)[:2]
        append(step, index, options, ChoiceKind[str(kind).upper()], actor, number, edge)

    return record
