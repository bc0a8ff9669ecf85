"""Laws credits and in-flight: the credit balance at each end of a remote channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import BufferSide, CreditKind, Level
from flowsim.laws.findings import Findings, FoundByLaw, compared
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, on_row
from flowsim.laws.network.buffer_rows import (
    DATA,
    remote,
)

CREDITS: Final = "credits"
IN_FLIGHT: Final = "in-flight"
_RELEASED: Final = -1
"""What a channel without buffers has reserved: its task has ended."""
_INITIAL_GRANTED, _INITIAL_GOT = int(CreditKind.INITIAL_GRANTED), int(CreditKind.INITIAL_GOT)
_ANNOUNCED: Final = int(CreditKind.ANNOUNCED)


class Account:
    """One end of a channel: initial and later credits granted or got, and data buffers that used them."""

    __slots__ = ("balance", "data", "error", "initial", "later")

    def __init__(self) -> None:
        self.balance = self.initial = self.later = self.data = 0
        self.error = 0
        """How much the recorded balance of the last row was above the balance; of a receiver, the balance above its
        reserved buffers."""


Answer = tuple[dict[int, Account], dict[int, Account]]
"""Per channel the balances of a task as sender, and as receiver."""


class Credits(Machine):
    """The balances of one task. A sender records its credits, a receiver its reserved buffers."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        channels = graph.once(remote)
        self._task = task.task
        self._senders = {channel: Account() for channel in channels.sent.get(task.task, ())}
        self._blocking = frozenset(
            channel for channel in self._senders if graph.edges[graph.channels[channel].edge].exchange == "BLOCKING"
        )
        self._receivers = {channel: Account() for channel in channels.received.get(task.task, ())}
        self._unrecycled: dict[int, set[int]] = {channel: set() for channel in self._receivers}
        """Numbers of the received data buffers."""
        self._credits = found[CREDITS]
        self._in_flight = found[IN_FLIGHT]

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> Credits | None:
        return cls(graph, task, found) if graph.once(remote).has(task) else None

    @on_row("credits")
    def _take_credits(self, seq: int, kind: int, channel: int, credits: int, balance: int) -> None:
        is_grant = kind in (_INITIAL_GRANTED, _ANNOUNCED)
        account = (self._receivers if is_grant else self._senders).get(channel)
        if account is None:
            return
        self._credits.examined += 1
        if kind == _INITIAL_GOT and channel in self._blocking:
            account.balance = 0  # A restarted receiver reads the finished partition again.
        account.balance += credits
        if kind in (_INITIAL_GRANTED, _INITIAL_GOT):
            account.initial += credits
        else:
            # Rule 6.13: below 0 is void credit, which either side drops on its own.
            account.later += max(credits, 0)
        if is_grant:
            self._in_flight.examined += 1
        else:
            self._compare_balance("credits got", seq, channel, account, balance, credits < 0)

    @on_row("buffers", side=BufferSide.SENT)
    def _send(self, seq: int, channel: int, kind: int, credits: int) -> None:
        account = self._senders.get(channel)
        if account is None:
            return
        self._credits.examined += 1
        if kind == DATA:
            account.data += 1
            account.balance -= 1
        what = "a data buffer was sent" if kind == DATA else "an event was sent"
        self._compare_balance(what, seq, channel, account, credits, kind == DATA)

    def _compare_balance(
        self, what: str, seq: int, channel: int, account: Account, recorded: int, is_lower: bool
    ) -> None:
        """``is_lower``: whether the row lowers the balance. An error that goes on is one violation."""
        before, account.error = account.error, recorded - account.balance
        wrong = ""
        if is_lower and account.balance < 0:
            wrong = "without credit"
        elif account.error not in (0, before):
            wrong = "with a wrong balance"
        if wrong:
            self._credits.broken(f"{what} {wrong}", (self._task, seq), task=self._task, seq=seq, channel=channel,
                                 expected=account.balance, found=recorded)  # fmt: skip

    @on_row("buffers", side=BufferSide.RECEIVED)
    def _receive(self, seq: int, channel: int, kind: int, credits: int, number: int) -> None:
        account = self._receivers.get(channel)
        if account is None:
            return
        self._credits.examined += 1
        self._in_flight.examined += 1
        if kind == DATA:
            account.data += 1
            account.balance -= 1
            self._unrecycled[channel].add(number)
        before, account.error = account.error, 0 if credits == _RELEASED else max(account.balance - credits, 0)
        if account.balance < 0 and kind == DATA:
            what = "a data buffer arrives without credit"
        elif account.error > before:
            what = "more credit is granted than buffers are reserved"
        else:
            return
        self._in_flight.broken(what, (self._task, seq), task=self._task, seq=seq, channel=channel,
                               credit=account.balance, reserved=credits)  # fmt: skip

    @on_row("buffers", side=BufferSide.RECYCLED)
    def _recycle(self, seq: int, channel: int, number: int) -> None:
        if channel in self._receivers:
            self._in_flight.examined += 1
            if number not in self._unrecycled[channel]:
                what = "a buffer is recycled that was not received, or not only once"
                self._in_flight.broken(what, (self._task, seq), task=self._task, seq=seq, channel=channel,
                                       number=number)  # fmt: skip
            self._unrecycled[channel].discard(number)

    def end(self, whole: bool) -> Answer:
        for channel, numbers in self._unrecycled.items() if whole else ():
            for number in sorted(numbers):
                self._in_flight.broken("a buffer is never recycled", (self._task, 2**63, channel, number),
                                       task=self._task, channel=channel, number=number)  # fmt: skip
        return self._senders, self._receivers


def _compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    """The credits and buffers of one end equal those of the other end; in a prefix some are in flight."""
    senders: dict[int, Account] = {}
    receivers: dict[int, Account] = {}
    for answer in answers.values():
        assert isinstance(answer, tuple)
        senders |= answer[0]
        receivers |= answer[1]
    for channel, sender in senders.items():
        receiver = receivers[channel]
        for number, (what, cause, effect) in enumerate(
            (
                ("initial credits reached the sender than were granted", receiver.initial, sender.initial),
                ("credits reached the sender than were announced", receiver.later, sender.later),
                ("data buffers were received than were sent", sender.data, receiver.data),
            )
        ):
            if effect > cause or (whole and effect != cause):
                what = compared(effect, cause, what)
                found.broken(what, (channel, number), channel=channel, expected=cause, found=effect)


def _needs_remote_channels(graph: JobGraph) -> str:
    if any(not channel.local for channel in graph.channels.values()):
        return ""
    return "every channel is local: local channels have no credits"


_COUNTS_CREDITS: Final = """\
- Only channels with `local` = 0 are judged. Not applicable: `channels` has none.
- Rows examined: rows of `credits`, and SENT and RECEIVED rows of `buffers`.
- Per channel, 1 for each of these equations that is not true. In a prefix, the left side may be lower:
  - initial: the sum of `credits` of the INITIAL_GOT rows = the sum of the INITIAL_GRANTED rows;
  - announced: the sum of `credits` of the GOT rows = the sum of the ANNOUNCED rows, without those below 0, which are
    credit that is void (rule 6.13);
  - spent: the number of DATA rows RECEIVED = the number of DATA rows SENT.
- The *balance* of a channel starts at 0 and changes with the rows of its sender. An INITIAL_GOT or GOT row adds its
  `credits`; on a blocking edge, the `credits` of an INITIAL_GOT row are the balance, because a new reader begins. A
  SENT row of kind DATA subtracts 1, of kind EVENT 0. The *error* of such a row is the recorded balance (column `balance`
  of `credits`, column `credits` of `buffers`), minus the balance after it. The row is a violation when
  - the balance after it is negative, and the row is of kind DATA or has `credits` below 0;
  - otherwise, its error is not 0 and not that of the row before of the channel (first row: not 0).
"""

_COUNTS_IN_FLIGHT: Final = """\
- Only channels with `local` = 0 are judged. Not applicable: `channels` has none.
- Rows examined: INITIAL_GRANTED and ANNOUNCED rows of `credits`, and RECEIVED and RECYCLED rows of `buffers`.
- The *open credit* of a channel at a row is the sum of `credits` of the INITIAL_GRANTED and ANNOUNCED rows so far,
  minus the number of RECEIVED rows of kind DATA so far. Both include the row itself. The *excess* of a RECEIVED row is
  the open credit minus its column `credits`, but at least 0, and 0 if the column is -1: a channel whose task has ended
  has no buffers. A RECEIVED row is a violation when it is DATA and the open credit is negative, or when its excess is
  above that of the RECEIVED row before of the channel (first row: above 0).
- A RECYCLED row is a violation when no DATA row with its `number` was RECEIVED on the channel before, or when that
  buffer was already recycled since then.
- In a whole run, 1 for each number of a DATA row that was RECEIVED on a channel and not recycled since.
"""

LAWS: Final = (
    Law(
        CREDITS,
        "A sender never sends data without credit. It receives exactly the credits that its receiver grants, "
        "and uses one per data buffer.",
        ("6.2", "6.8", "6.9", "6.11"),
        Level.FULL,
        Credits,
        _needs_remote_channels,
        join=_compare,
        counts=_COUNTS_CREDITS,
    ),
    Law(
        IN_FLIGHT,
        "No data arrives beyond the granted credit. A receiver grants no more credit than it has reserved "
        "empty buffers, and recycles each received buffer once.",
        ("6.2", "6.3", "6.5", "6.8", "6.11"),
        Level.FULL,
        Credits,
        _needs_remote_channels,
        counts=_COUNTS_IN_FLIGHT,
    ),
)  # fmt: skip
