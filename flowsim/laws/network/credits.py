"""Laws credits and in-flight: the account of credits that each end of a remote channel keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind, Level
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law
from flowsim.laws.network.groups import Groups, channels_by_task, first_broken
from flowsim.laws.slices import Ints, Mask, Slice

CREDITS: Final = "credits"
IN_FLIGHT: Final = "in-flight"
_CREDITS: Final = ("channel", "kind", "credits", "balance")
_BUFFERS: Final = ("channel", "side", "kind", "credits")
_SENDER, _RECEIVER = int(BufferSide.SENT), int(BufferSide.RECEIVED)
_INITIAL, _LATER, _DATA, _EVENT = range(4)
"""What a step is: initial credits, later ones, a data buffer or an event."""
_NAMES: Final = ("initial credits got", "credits got", "a data buffer sent", "an event sent")

End = tuple[int, int]
"""Channel, and sender or receiver."""


@dataclass(slots=True)
class Account:
    """One end of a channel: credits granted or got, and data buffers sent or received."""

    initial: int = 0
    later: int = 0
    data: int = 0

    @property
    def balance(self) -> int:
        """The credits that no data buffer has used yet."""
        return self.initial + self.later - self.data


class Steps(NamedTuple):
    """Rows of tables ``credits`` and ``buffers`` as columns."""

    seq: Ints
    channel: Ints
    end: Ints
    what: Ints
    change: Ints
    """Of the balance."""
    recorded: Ints
    """The balance at the sender; the buffers still reserved where one arrives."""

    def at(self, places: Ints | Mask) -> Steps:
        """Some of the steps."""
        return Steps(*(column[places] for column in self))


class Accounts:
    """The accounts of one task. A sender's balance is recorded with each row; a receiver's is held against its buffers."""

    def __init__(self, task: int, remote: Ints | None, credits: Findings, in_flight: Findings) -> None:
        self._task = task
        self._remote = remote
        """The remote channels of the task; None when all are."""
        self._credits = credits
        self._in_flight = in_flight
        self._accounts: dict[End, Account] = {}

    def feed(self, facts: Slice) -> None:
        steps = _steps(facts)
        if self._remote is not None:
            steps = steps.at(np.isin(steps.channel, self._remote))
        if not len(steps.seq):
            return
        groups = Groups(steps.channel * 2 + steps.end)
        steps = steps.at(groups.order)
        accounts = [self._accounts.setdefault((group >> 1, group & 1), Account()) for group in groups.ids]
        balance = groups.running(steps.change, [account.balance for account in accounts])
        sums = (groups.sums(np.where(steps.what == kind, steps.change, 0)) for kind in (_INITIAL, _LATER, _DATA))
        for account, initial, later, data in zip(accounts, *sums, strict=True):
            account.initial += initial
            account.later += later
            account.data -= data
        at_sender = steps.end == _SENDER
        self._credits.examined += len(balance)
        self._in_flight.examined += len(balance) - int(np.count_nonzero(at_sender))
        short, unequal = balance < 0, balance != steps.recorded
        self._report_sender(steps, balance, at_sender & (short | unequal))
        beyond = (short & (steps.what == _DATA)) | ((balance > steps.recorded) & (steps.what >= _DATA))
        self._report_receiver(steps, balance, beyond & ~at_sender)

    def _report_sender(self, steps: Steps, balance: Ints, broken: Mask) -> None:
        for row in first_broken(self._credits, broken, steps.seq):
            what = "without credit" if balance[row] < 0 else "the recorded balance is wrong"
            seq, where = self._place(steps, row)
            self._credits.broken(f"{_NAMES[steps.what[row]]}: {what}", (self._task, seq), **where,
                                 expected=int(balance[row]), found=int(steps.recorded[row]))  # fmt: skip

    def _report_receiver(self, steps: Steps, balance: Ints, broken: Mask) -> None:
        for row in first_broken(self._in_flight, broken, steps.seq):
            what = "more credit is granted than buffers are reserved"
            if steps.what[row] == _DATA and balance[row] < 0:
                what = "a data buffer arrives without credit"
            seq, where = self._place(steps, row)
            self._in_flight.broken(what, (self._task, seq), **where,
                                   credit=int(balance[row]), reserved=int(steps.recorded[row]))  # fmt: skip

    def _place(self, steps: Steps, row: int) -> tuple[int, dict[str, int]]:
        seq = int(steps.seq[row])
        return seq, {"task": self._task, "seq": seq, "channel": int(steps.channel[row])}

    def end(self, whole: bool) -> dict[End, Account]:
        return self._accounts


def _steps(facts: Slice) -> Steps:
    """By sequence number the credits granted or got, and the buffers sent or received."""
    parts: list[tuple[Any, ...]] = []
    rows = facts.of("credits")
    if len(rows):
        channel, kind, amount, balance = (rows.column(name).astype(np.int64) for name in _CREDITS)
        got = (kind == CreditKind.INITIAL_GOT) | (kind == CreditKind.GOT)
        what = np.where(kind <= CreditKind.INITIAL_GOT, _INITIAL, _LATER)
        parts.append((rows.column("seq"), channel, np.where(got, _SENDER, _RECEIVER), what, amount, balance))
    rows = facts.of("buffers")
    if len(rows):
        moved = rows.column("side") != BufferSide.QUEUED
        channel, side, kind, left = (rows.column(name)[moved].astype(np.int64) for name in _BUFFERS)
        is_data = kind == BufferKind.DATA
        what = np.where(is_data, _DATA, _EVENT)
        parts.append((rows.column("seq")[moved], channel, side, what, np.where(is_data, -1, 0), left))
    if len(parts) == 1:
        return Steps(*parts[0])
    steps = Steps(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return steps.at(np.argsort(steps.seq, kind="stable"))


def _compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    """What one end granted and sent is what the other end got and received; in a prefix some of it is under way."""
    accounts: dict[End, Account] = {}
    for answer in answers.values():
        assert isinstance(answer, dict)
        for end, account in answer.items():
            total = accounts.setdefault(end, Account())
            total.initial += account.initial
            total.later += account.later
            total.data += account.data
    for channel in {channel for channel, _ in accounts}:
        sender, receiver = (accounts.get((channel, end), Account()) for end in (_SENDER, _RECEIVER))
        for number, (what, cause, effect) in enumerate(
            (
                ("initial credits: granted, got", receiver.initial, sender.initial),
                ("credits: announced, got", receiver.later, sender.later),
                ("data buffers: sent, received", sender.data, receiver.data),
            )
        ):
            if effect > cause or (whole and effect != cause):
                found.broken(what, (channel, number), channel=channel, expected=cause, found=effect)


def _remote_channels(graph: JobGraph) -> dict[int, Ints | None]:
    return channels_by_task(graph, lambda channel: not channel.local)


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> Accounts | None:
    remote = graph.once(_remote_channels)
    if task.task not in remote:
        return None
    credits, in_flight = (found[law] if law in found else Findings() for law in (CREDITS, IN_FLIGHT))
    return Accounts(task.task, remote[task.task], credits, in_flight)


def _needs_remote_channels(graph: JobGraph) -> str:
    if any(not channel.local for channel in graph.channels.values()):
        return ""
    return "every channel is local: local channels have no credits"


_READS: Final = {"credits": _CREDITS, "buffers": _BUFFERS}

LAWS: Final = (
    Law(
        CREDITS,
        "A sender never sends data without credit, gets exactly the credits its receiver grants, and spends one per data "
        "buffer.",
        ("6.2", "6.8", "6.9", "6.11"),
        Level.FULL,
        _READS,
        _make,
        _needs_remote_channels,
        join=_compare,
    ),
    Law(
        IN_FLIGHT,
        "No data arrives beyond the credit that its receiver granted, and no more credit is granted than empty buffers are "
        "reserved.",
        ("6.2", "6.3", "6.5", "6.8", "6.11"),
        Level.FULL,
        _READS,
        _make,
        _needs_remote_channels,
    ),
)  # fmt: skip
