"""Law progress: no task rests while there is something that it could send, run or read."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import (
    ActionPhase,
    CreditKind,
    ElementKind,
    Level,
    LifeEvent,
    MailAction,
    WaitKind,
)  # fmt: skip
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.network.buffer_rows import (
    DATA,
    FLUSHED,
    PRIORITIZED,
    QUEUED,
    RECEIVED,
    RECYCLED,
    SENT,
    remote,
    remote_pipelined,
)
from flowsim.laws.network.subpartition_queue import SubpartitionQueue
from flowsim.laws.slices import Mask, Slice

ID: Final = "progress"
_WAIT: Final = int(ActionPhase.WAIT)
_MAIL, _BUFFER, _YIELD = int(WaitKind.MAIL), int(WaitKind.BUFFER), int(WaitKind.YIELD)
_GOT: Final = (int(CreditKind.INITIAL_GOT), int(CreditKind.GOT))
_RESUMED: Final = int(CreditKind.RESUMED)
_FINISHED: Final = int(LifeEvent.FINISHED)
_STUCK: Final = {int(LifeEvent.DEADLOCKED): "deadlocked", int(LifeEvent.LIVELOCKED): "livelocked"}
_ENDS: Final = (int(LifeEvent.CANCELING), int(LifeEvent.CANCELED), int(LifeEvent.FAILED), *_STUCK)
_ANY_MAIL: Final = -1
_REAL_CLOCK_NS: Final = 10**18
"""The virtual clock starts at 1 s, the real one counts from 1970."""


@reads(actions=("phase", "kind"))
def _rest_rows(_: object, facts: Slice) -> Mask:
    """Waits in which a task rests, and yields."""
    rows = facts.of("actions")
    phase, kind = rows.column("phase"), rows.column("kind")
    mask: Mask = (phase >= _WAIT) & ((kind == _MAIL) | (kind == _BUFFER) | (kind == _YIELD))
    return mask


@reads(received=("kind",))
def _event_rows(_: object, facts: Slice) -> Mask:
    mask: Mask = facts.of("received").column("kind") >= ElementKind.END_OF_DATA
    return mask


class Rests(Machine):
    """The possible work of one task, and the times at which it rests."""

    def __init__(self, graph: JobGraph, described: Task, found: FoundByLaw) -> None:
        task = described.task
        heads = [head for head in graph.operators if head.vertex == described.vertex and not head.operator]
        self._task = task
        self._found = found[ID]
        self._reads_all_inputs = described.inputs <= 1 or any(
            head.params.get("reading") == "any" and head.kind != "operator" for head in heads
        )
        self._queues = {
            channel: SubpartitionQueue(bool(graph.history.checkpoints))
            for channel in graph.once(remote_pipelined).sent.get(task, ())
        }
        self._credits = dict.fromkeys(self._queues, 0)
        self._connected: set[int] = set()
        """The channels whose receivers have requested their partitions."""
        self._links = {channel: _link(graph, channel) for channel in self._queues}
        """The receiver of a channel, and the bandwidth to it."""
        self._free_ns: dict[int, int] = {}
        """When the connection to a task has written the last buffer."""
        self._sendable: dict[int, bool] = {}
        """The channels that can send, and whether that is counted as a violation already."""
        self._incoming = frozenset(graph.once(remote).received.get(task, ()))
        self._unread = 0
        """Data buffers and events that arrived and were not read, ..."""
        self._counted_unread = 0
        """... and how many of them are counted as a violation already, or came in the rest in which one was counted."""
        self._is_counted = False
        """Whether this is such a rest."""
        self._mails: dict[int, int] = {}
        """Priorities of waiting mails, by number, ..."""
        self._counted_mails: set[int] = set()
        """... and those that are counted as violations already."""
        self._yields: list[int] = []
        """Lowest priorities of the mails that open yields may run."""
        self._rest: tuple[int, int, int] | None = None
        """Sequence number, kind and priority of the wait in which the task rests."""
        self._now = 0

    def _pass(self, now_ns: int) -> None:
        """Time passes to that of the next row."""
        if self._rest is not None and self._now < now_ns < _REAL_CLOCK_NS:
            self._look(now_ns)
        self._now = now_ns

    def _look(self, now: int) -> None:
        """Time passes while the task rests."""
        assert self._rest is not None
        seq, kind, priority = self._rest
        for channel, is_counted in self._sendable.items():
            if not is_counted and self._free_ns.get(self._links[channel][0], 0) < now:
                self._sendable[channel] = True
                self._stuck(seq, "data or an event could be sent", channel=channel)
        if kind == _MAIL:
            least = self._yields[-1] if self._yields else _ANY_MAIL
            waiting = [mail for mail, of_mail in self._mails.items() if of_mail >= least]
            if waiting and self._counted_mails.isdisjoint(waiting):
                self._counted_mails.add(min(waiting))
                self._stuck(seq, "a mail could run", mail=min(waiting))
            if self._unread > self._counted_unread and not self._yields and priority == -1 and self._reads_all_inputs:
                self._counted_unread = self._unread
                if not self._is_counted:
                    self._stuck(seq, "a buffer or event could be read", waiting=self._unread)
                self._is_counted = True

    def _stuck(self, seq: int, what: str, **where: object) -> None:
        self._found.broken(f"{what}, but the task waits", (self._task, seq), task=self._task, seq=seq, **where)

    @on_row("buffers")
    def _buffer(
        self, seq: int, time_ns: int, side: int, channel: int, number: int, kind: int, bytes: int, backlog: int,
        whole: int,
    ) -> None:  # fmt: skip
        self._pass(time_ns)
        if side in (RECEIVED, RECYCLED):
            if channel in self._incoming:
                self._read(-1 if side == RECEIVED else 1)
            return
        queue = self._queues.get(channel)
        if queue is None:
            return
        if side == QUEUED:
            queue.add(number, kind, backlog)
        elif side == PRIORITIZED:
            queue.prioritize(number, backlog)
        elif side == FLUSHED:
            queue.flush(backlog)
        elif side == SENT:
            receiver, bytes_per_second = self._links[channel]
            if bytes_per_second:
                self._free_ns[receiver] = self._now - (-bytes * 10**9 // bytes_per_second)
            self._credits[channel] -= kind == DATA
            queue.send(number, kind, backlog, whole != 0)
        else:
            queue.skip(kind, backlog, whole != 0)
        self._update(channel)

    @on_row("credits")
    def _credit(self, seq: int, time_ns: int, kind: int, channel: int, balance: int) -> None:
        self._pass(time_ns)
        if kind in _GOT and channel in self._queues:
            self._connected.add(channel)
            self._credits[channel] = balance
            self._update(channel)
        elif kind == _RESUMED and channel in self._queues:
            self._queues[channel].resume()
            self._update(channel)

    def _update(self, channel: int) -> None:
        if channel in self._connected and self._queues[channel].is_readable(self._credits[channel] > 0):
            self._sendable.setdefault(channel, False)
        else:
            self._sendable.pop(channel, None)

    @on_row("actions", _rest_rows)
    def _action(self, seq: int, time_ns: int, phase: int, kind: int, priority: int) -> None:
        self._pass(time_ns)
        if kind == _YIELD:
            if phase == _WAIT:
                self._yields.append(priority)
            elif self._yields:
                self._yields.pop()
        else:
            self._begin_rest((seq, kind, priority) if phase == _WAIT else None)

    def _begin_rest(self, rest: tuple[int, int, int] | None) -> None:
        self._rest, self._is_counted = rest, False
        self._found.examined += rest is not None

    @on_row("mails")
    def _mail(self, seq: int, time_ns: int, action: int, mail: int, priority: int) -> None:
        self._pass(time_ns)
        if action == MailAction.PUT:
            self._mails[mail] = priority
        else:
            self._mails.pop(mail, None)
            self._counted_mails.discard(mail)

    @on_row("received", _event_rows)
    def _event(self, seq: int, time_ns: int, channel: int) -> None:
        self._pass(time_ns)
        self._read(channel in self._incoming)

    def _read(self, number: int) -> None:
        self._unread -= number
        self._counted_unread = max(min(self._counted_unread, self._unread), 0)

    @on_row("lifecycle")
    def _life(self, seq: int, time_ns: int, event: int) -> None:
        self._pass(time_ns)
        if event == _FINISHED:
            self._begin_rest((seq, _BUFFER, _ANY_MAIL))
        elif event in _ENDS:
            self._rest = None
            if event in _STUCK:
                self._found.examined += 1
                self._found.broken(_STUCK[event], (self._task, seq), task=self._task, seq=seq)


def _link(graph: JobGraph, channel: int) -> tuple[int, int]:
    """Channels between the same two tasks share one connection (rule 6.15)."""
    about = graph.channels[channel]
    return about.target_task, about.bytes_per_second


_COUNTS: Final = """\
- Rows examined: the *rests* of all tasks, and DEADLOCKED and LIVELOCKED rows of `lifecycle`. A rest begins at a WAIT
  row of kind MAIL or BUFFER in `actions`, and at the FINISHED row of the task. It ends at the next WAIT or RESUME row of
  these kinds, or before that at a FINISHED, CANCELING, CANCELED, FAILED, DEADLOCKED or LIVELOCKED row. The task works,
  and the cost of its work passes, only between rests. (A task of the legacy design rests in waits of kind LOCK, which
  are not judged.)
- These rows of a task show when time passes: rows of `buffers`, `credits`, `mails` and `lifecycle`; the *events*, which
  are the rows of `received` of the kind END_OF_DATA or a higher one; and WAIT and RESUME rows of the kinds MAIL, BUFFER
  and YIELD. Time passes in a rest when one of these rows, inside the rest or at its end, has a higher `time_ns` than the
  previous one of these rows. Times of 10^18 and above are from the real clock, on which waking up takes time; they are
  not judged.
- When time passes, these are violations in the state after the row before. What goes on over several rests counts once:
  of a channel until it cannot send, of a mail until it has RUN, of unread input until a rest begins with more of it.
  - A remote channel of a pipelined edge on which the task sends can send, and its connection is free before the later
    row. A channel *can send* if it has an INITIAL_GOT row, and the first entry of its queue (see backlog) is an event,
    or the channel has credit and (a flush waits or its queue has more than one entry). It has credit if the `balance`
    of its last INITIAL_GOT or GOT row is above the number of DATA rows SENT since. The connection to a task is busy
    after each SENT row on a channel with `bytes_per_second`, for the time that its `bytes` take.
    If the job has rows in `checkpoints`, an event may be a barrier that blocks its channel (rule 5.27): from an EVENT
    row SENT it cannot send until a RESUMED row of `credits`, or the next row SENT of the channel that is no
    PRIORITY_EVENT.
  - In a rest of kind MAIL, a mail was PUT and has not RUN, and its priority is at least that of the innermost open
    YIELD wait. Without a YIELD wait, it is at least -1.
  - In a rest of kind MAIL with `priority` -1 (no back pressure) and without an open YIELD wait, the task has unread
    input. This means that its remote channels have more RECEIVED rows than RECYCLED rows plus events. This is checked
    if the task has one input, or if its head has `params.reading` "any" and is not of kind `operator`; other operators
    may select inputs.
- Each DEADLOCKED or LIVELOCKED row is a violation. The data that a sender holds for a local channel has no facts, so
  only this check covers it.
"""

LAWS: Final = (
    Law(
        ID,
        "No task waits while it could send finished or flushed buffers, run a mail or read its input. No job is deadlocked "
        "or livelocked.",
        ("3.12", "3.13", "4.5", "5.21", "5.22", "5.27", "6.10", "6.16", "7.1"),
        Level.FULL,
        Rests,
        counts=_COUNTS,
    ),
)  # fmt: skip
