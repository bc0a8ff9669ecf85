"""Law checkpoint-barriers: the barriers and cancellations on each channel have increasing ids."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.checkpoints.needs import needs_checkpoints
from flowsim.laws.findings import FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, on_row

ID: Final = "checkpoint-barriers"
_BARRIERS: Final = (
    ElementKind.CHECKPOINT_BARRIER,
    ElementKind.CANCEL_CHECKPOINT_MARKER,
    ElementKind.UNALIGNED_BARRIER,
)


class SentBarriers(Machine):
    """The barriers and cancellations that one attempt of a task sent."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        channels = [channel.channel for channel in graph.sent_by(task.task)]
        self._task = task.task
        self._channels = channels
        self._found = found[ID]
        self._last = dict.fromkeys(channels, 0)
        self._first: dict[int, int] = {}
        """By channel the checkpoint of the last row, unless that was the second one of its checkpoint."""
        self._early: set[int] = set()
        """Checkpoints of which the task received a barrier that may overtake: it answers with the first one."""
        self._sent: dict[int, tuple[int, list[int]]] = {}
        """By checkpoint: seq of the first one, and the channels that have it."""

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> SentBarriers | None:
        return cls(graph, task, found) if graph.sent_by(task.task) else None

    @on_row("received", kind=ElementKind.UNALIGNED_BARRIER)
    def _receive(self, seq: int, timestamp: int) -> None:
        self._early.add(timestamp)

    @on_row("sent", kind=_BARRIERS)
    def _send(self, seq: int, channel: int, kind: int, timestamp: int, position: int) -> None:
        self._found.examined += 1
        last, first = self._last.get(channel, 0), self._first.pop(channel, 0)
        is_cancellation = kind == ElementKind.CANCEL_CHECKPOINT_MARKER
        is_aborted = is_cancellation and timestamp == first and timestamp in self._early
        if not is_aborted:
            self._first[channel] = timestamp
        if timestamp <= last and not is_aborted:
            self._found.broken(
                "the id of the checkpoint does not increase", (self._task, seq), task=self._task, seq=seq,
                channel=channel, position=position, kind=named(ElementKind, kind), checkpoint=timestamp, after=last,
            )  # fmt: skip
        self._last[channel] = max(last, timestamp)
        self._sent.setdefault(timestamp, (seq, []))[1].append(channel)

    def end(self, whole: bool) -> None:
        newest = max(self._sent, default=0)
        for checkpoint, (seq, channels) in self._sent.items():
            missing = sorted(set(self._channels).difference(channels))
            # A prefix may end between the channels of one broadcast.
            if missing and (whole or checkpoint < newest):
                self._found.broken(
                    "the barrier is missing on a channel",
                    (self._task, seq),
                    task=self._task,
                    checkpoint=checkpoint,
                    channels=missing,
                )


def _applies(graph: JobGraph) -> str:
    return needs_channels(graph) or needs_checkpoints(graph)


_COUNTS: Final = """\
- Not applicable: no row in `channels`, or no row in `checkpoints`.
- Rows examined: CHECKPOINT_BARRIER, UNALIGNED_BARRIER and CANCEL_CHECKPOINT_MARKER rows of `sent`; `timestamp` is the id
  of the checkpoint.
- A row is a violation when its id is not above the highest id before it on its channel in the same attempt. So there is
  no second barrier, and no barrier after a cancellation. Exception: one cancellation right after the barrier or
  cancellation of the same checkpoint, of which the task has an UNALIGNED_BARRIER in `received` before it. It sent the
  first with the first barrier, and another input may end the checkpoint (rule 12.71).
- 1 for each id of an attempt that was sent on some channels of the task, but not on all of them. In a prefix and in an
  attempt that is not the last one of its task, the highest id does not count.
"""

LAWS: Final = (
    Law(
        ID,
        "A task sends the barrier or the cancellation of a checkpoint on all its channels, once each, and in increasing "
        "order of ids.",
        ("12.5", "12.6", "12.71"),
        Level.ELEMENTS,
        SentBarriers,
        _applies,
        counts=_COUNTS,
    ),
)  # fmt: skip
