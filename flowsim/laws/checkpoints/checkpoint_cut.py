"""Law checkpoint-cut: the snapshots of a checkpoint are a consistent cut of every channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import Level
from flowsim.laws.checkpoints.cuts import Cuts, CutsOfTask
from flowsim.laws.checkpoints.needs import blocks_channels, needs_checkpoints
from flowsim.laws.findings import Findings
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Law, needs_channels

ID: Final = "checkpoint-cut"


def _applies(graph: JobGraph) -> str:
    return needs_channels(graph) or needs_checkpoints(graph)


def compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    """Compares both ends of every channel at every snapshot of its receiver."""
    overtaken = {each for cuts in answers.values() if isinstance(cuts, Cuts) for _, each in cuts.overtaking}
    for channel in graph.channels.values():
        sender, receiver = answers.get(channel.source_task), answers.get(channel.target_task)
        if not isinstance(sender, Cuts) or not isinstance(receiver, Cuts):
            continue
        error = 0
        for checkpoint, received in receiver.received.items():
            found.examined += 1
            count = received.get(channel.channel, 0)
            has_barrier = (channel.channel, checkpoint) in sender.sent
            sent = (
                sender.sent[channel.channel, checkpoint] if has_barrier else sender.sent_in_all.get(channel.channel, 0)
            )
            # A sender that has finished sent no barrier; what is in its channel is stored all the same.
            overtakes = (channel.channel, checkpoint) in sender.overtaking or (
                not has_barrier and checkpoint in overtaken
            )
            before, error = error, 0
            if count < sent and not overtakes:
                what = "elements that were sent before the cut were not received before it"
            elif has_barrier and count > sent and blocks_channels(graph, checkpoint):
                what = "elements that were sent after the cut were received before it"
            else:
                continue
            error = count - sent
            if error == before:
                continue  # An element that is missing before one cut is missing before the next ones.
            found.broken(
                what, (channel.channel, checkpoint), channel=channel.channel, checkpoint=checkpoint, expected=sent,
                found=count, task=channel.target_task,
            )  # fmt: skip


_COUNTS: Final = """\
- Not applicable: no row in `channels`, or no row in `checkpoints`.
- Rows examined: 1 for each snapshot of an attempt and each channel that the task receives.
- Let *received* be the number of rows of `received` for the channel in the cut of the receiver, without barriers,
  CANCEL_CHECKPOINT_MARKER and EVENT rows and positions below 0. Let *sent* be the `position` in `sent` of the barrier of
  the checkpoint (CHECKPOINT_BARRIER or UNALIGNED_BARRIER), minus the number of CHECKPOINT_BARRIER,
  CANCEL_CHECKPOINT_MARKER and EVENT rows before it. If the sender sent no such barrier (it had finished), *sent* is the
  number of all its rows but END_OF_PARTITION. A violation is
  - received < sent, unless the barrier is an UNALIGNED_BARRIER, or there is none but another task sent one (law
    in-flight-cut examines what is in the channel): the snapshots would lose elements in the channel;
  - received > sent, if there is a barrier and the alignment is not AT_LEAST_ONCE: elements after the cut are in the state
    of the receiver, and are sent again after a restore. (With AT_LEAST_ONCE this is allowed, rule 12.16.)
- A difference of the two numbers that is the same at several snapshots of an attempt in succession counts once.
"""

LAWS: Final = (
    Law(
        ID,
        "The snapshots of a checkpoint are a consistent cut: a receiver has received exactly the elements that were sent "
        "before the barrier; in mode at-least-once, at least these; of an unaligned checkpoint, at most these.",
        ("12.6", "12.10", "12.11", "12.16"),
        Level.ELEMENTS,
        CutsOfTask,
        _applies,
        join=compare,
        counts=_COUNTS,
    ),
)  # fmt: skip
