"""Law checkpoint-barriers: the barriers and cancellations on each channel have increasing ids."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.checkpoints.needs import needs_checkpoints
from flowsim.laws.findings import Findings, FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine
from flowsim.laws.slices import Slice

ID: Final = "checkpoint-barriers"
_KINDS: Final = {
    int(kind): kind
    for kind in (
        ElementKind.CHECKPOINT_BARRIER,
        ElementKind.CANCEL_CHECKPOINT_MARKER,
        ElementKind.UNALIGNED_BARRIER,
    )
}
_CANCELLATION: Final = int(ElementKind.CANCEL_CHECKPOINT_MARKER)
_UNALIGNED_BARRIER: Final = int(ElementKind.UNALIGNED_BARRIER)


class SentBarriers(Machine):
    """The barriers and cancellations that one attempt of a task sent."""

    def __init__(self, channels: list[int], found: Findings) -> None:
        self._channels = channels
        self._found = found
        self._last = dict.fromkeys(channels, 0)
        self._first: dict[int, int] = {}
        """By channel the checkpoint of the last row, unless that was the second one of its checkpoint."""
        self._early: set[int] = set()
        """Checkpoints of which the task received a barrier that may overtake: it answers with the first one."""
        self._sent: dict[int, tuple[int, int, list[int]]] = {}
        """By checkpoint: seq and task of the first one, and the channels that have it."""

    def feed(self, facts: Slice) -> None:
        rows, received = facts.of("sent"), facts.of("received")
        if len(received):
            overtakes = received.column("kind") == _UNALIGNED_BARRIER
            self._early.update(received.column("timestamp")[overtakes].tolist() if overtakes.any() else ())
        if not len(rows):
            return
        kinds = rows.column("kind")
        mask = kinds >= ElementKind.CHECKPOINT_BARRIER
        if not mask.any():
            return
        names = ("seq", "task", "channel", "kind", "timestamp", "position")
        for seq, task, channel, kind, checkpoint, position in rows.tuples(names, mask):
            if kind not in _KINDS:
                continue
            self._found.examined += 1
            last, first = self._last.get(channel, 0), self._first.pop(channel, 0)
            is_aborted = kind == _CANCELLATION and checkpoint == first and checkpoint in self._early
            if not is_aborted:
                self._first[channel] = checkpoint
            if checkpoint <= last and not is_aborted:
                self._found.broken(
                    "the id of the checkpoint does not increase", (task, seq), task=task, seq=seq, channel=channel,
                    position=position, kind=_KINDS[kind], checkpoint=checkpoint, after=last,
                )  # fmt: skip
            self._last[channel] = max(last, checkpoint)
            self._sent.setdefault(checkpoint, (seq, task, []))[2].append(channel)

    def end(self, whole: bool) -> None:
        newest = max(self._sent, default=0)
        for checkpoint, (seq, task, channels) in self._sent.items():
            missing = sorted(set(self._channels).difference(channels))
            # A prefix may end between the channels of one broadcast.
            if missing and (whole or checkpoint < newest):
                self._found.broken(
                    "the barrier is missing on a channel",
                    (task, seq),
                    task=task,
                    checkpoint=checkpoint,
                    channels=missing,
                )


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> SentBarriers | None:
    channels = [channel.channel for channel in graph.sent_by(task.task)]
    return SentBarriers(channels, found[ID]) if channels else None


def _applies(graph: JobGraph) -> str:
    return needs_channels(graph) or needs_checkpoints(graph)


_COUNTS: Final = """\
- Not applicable: no row in `channels`, or no row in `checkpoints`.
- Rows examined: CHECKPOINT_BARRIER, UNALIGNED_BARRIER and CANCEL_CHECKPOINT_MARKER rows of `sent`; `timestamp` is the id
  of the checkpoint.
- A row is a violation when its id is not above the highest id before it on its channel in the same attempt. So there is
  no second barrier, and no barrier after a cancellation. Exception: one cancellation right after the barrier or
  cancellation of the same checkpoint, of which the task has an UNALIGNED_BARRIER in `received`. It sent the first with
  the first barrier, and another input may end the checkpoint (rule 12.71).
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
        _make,
        _applies,
        declared={"sent": ("channel", "kind", "timestamp", "position"), "received": ("kind", "timestamp")},
        counts=_COUNTS,
    ),
)  # fmt: skip
