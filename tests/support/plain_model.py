"""States of tasks and channels after each fact of a recording by plain counting, to compare with the viewer of reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowsim.facts.kinds import ActionPhase, BufferKind, BufferSide, CreditKind, LifeEvent, WaitKind
from flowsim.facts.schema import OUTPUT_FULL, TABLES
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording


def columns(fact: Fact) -> dict[str, int]:
    return dict(zip(TABLES[fact.table].names, fact.row, strict=True))


class PlainModel:
    """States of tasks and channels after each fact, by plain counting."""

    def __init__(self, tasks: range, channels: list[int]) -> None:
        self.open: dict[int, list[str]] = {task: [] for task in tasks}
        self.states: dict[int, str | None] = dict.fromkeys(tasks)
        self.queued: dict[int, list[tuple[int, int]]] = {channel: [] for channel in channels}
        """Numbers and kinds, the one that leaves next first."""
        self.backlog = dict.fromkeys(channels, 0)
        self.credits: dict[int, int | None] = dict.fromkeys(channels)
        self.sent = dict.fromkeys(channels, 0)
        self.received = dict.fromkeys(channels, 0)
        self.held = dict.fromkeys(channels, 0)

    def apply(self, fact: Fact, lost: Iterable[int] = ()) -> None:
        """``lost``: the channels of a task whose attempt ends with this fact, and that is restarted."""
        row = columns(fact)
        for channel in lost:
            self.queued[channel].clear()
            self.backlog[channel] = self.held[channel] = 0
            self.received[channel] = self.sent[channel]
        match fact.table:
            case "actions":
                self.action(fact.task, row)
            case "lifecycle" if row["operator"] < 0 and row["event"] in (5, 6, 7):
                self.states[fact.task] = None
                self.open[fact.task].clear()
            case "credits" if row["kind"] in (CreditKind.GOT, CreditKind.INITIAL_GOT):
                self.credits[row["channel"]] = row["balance"]
            case "buffers":
                self.buffer(row["channel"], row)

    def action(self, task: int, row: dict[str, int]) -> None:
        opened = self.open[task]
        if row["phase"] in (ActionPhase.END, ActionPhase.RESUME):
            opened.pop()
        elif row["phase"] == ActionPhase.BEGIN:
            opened.append("busy")
        elif row["priority"] == OUTPUT_FULL:
            opened.append("soft")
        elif row["kind"] == WaitKind.BUFFER:
            opened.append("hard")
        else:
            opened.append("idle" if row["kind"] == WaitKind.MAIL and not opened else "busy")
        self.states[task] = opened[-1] if opened else "busy"

    def buffer(self, channel: int, row: dict[str, int]) -> None:
        side = row["side"]
        if side not in (BufferSide.RECEIVED, BufferSide.RECYCLED):
            self.backlog[channel] = row["backlog"]
        if side == BufferSide.SENT and row["credits"] >= 0:
            self.credits[channel] = row["credits"]
        queue = self.queued[channel]
        if side == BufferSide.QUEUED:
            urgent = row["kind"] == BufferKind.PRIORITY_EVENT
            queue.insert(self.urgent(channel) if urgent else len(queue), (row["number"], row["kind"]))
        elif side == BufferSide.PRIORITIZED:
            queue.remove((row["number"], BufferKind.EVENT))
            queue.insert(self.urgent(channel), (row["number"], BufferKind.PRIORITY_EVENT))
        elif side in (BufferSide.SENT, BufferSide.SKIPPED) and row["whole"]:
            queue.pop(0)
        self.sent[channel] += side == BufferSide.SENT
        self.received[channel] += side == BufferSide.RECEIVED
        self.held[channel] += side == BufferSide.RECEIVED and row["kind"] == BufferKind.DATA
        # The receiver may recycle buffers that were counted as lost with the sender.
        self.held[channel] -= side == BufferSide.RECYCLED and self.held[channel] > 0

    def urgent(self, channel: int) -> int:
        return sum(kind == BufferKind.PRIORITY_EVENT for _, kind in self.queued[channel])

    def seen(self) -> tuple[Any, ...]:
        return (
            list(self.states.values()), [[number for number, _ in queue] for queue in self.queued.values()],
            [self.urgent(channel) for channel in self.queued], list(self.backlog.values()),
            list(self.credits.values()), [s - r for s, r in zip(self.sent.values(), self.received.values(), strict=True)],
            list(self.held.values()),
        )  # fmt: skip


def seen_by_viewer(snapshot: dict[str, Any]) -> tuple[Any, ...]:
    channels = snapshot["channels"]
    return (
        list(snapshot["states"].values()), [one["queue"] for one in channels], [one["urgent"] for one in channels],
        [one["backlog"] for one in channels],
        [one["credits"] for one in channels], [len(one["inFlight"]) for one in channels],
        [len(one["waiting"]) + len(one["reading"]) for one in channels],
    )  # fmt: skip


def channels_of_restarted(recording: Recording, facts: list[Fact]) -> dict[int, list[int]]:
    """By the step at which an attempt ends that a restart follows: the channels of its task."""
    ends: dict[int, int] = {}
    found = {}
    for step, fact in enumerate(facts):
        row = columns(fact)
        if fact.table != "lifecycle" or row["operator"] >= 0:
            continue
        if row["event"] in (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED):
            ends[fact.task] = step
        elif row["event"] == LifeEvent.INITIALIZING and fact.task in ends:
            of = [dict(zip(TABLES["channels"].names, one, strict=True)) for one in recording.static_rows("channels")]
            found[ends[fact.task]] = [
                int(one["channel"]) for one in of if fact.task in (one["source_task"], one["target_task"])
            ]
    return found


def counted_states(recording: Recording, most: int = 200) -> list[tuple[int, tuple[Any, ...]]]:
    """At most this many steps, the last one among them, with the states after each of them."""
    facts = list(merged_facts(recording, Selection()))
    plain = PlainModel(
        range(recording.row_count("tasks") or len(recording.static_rows("tasks"))),
        [int(row[0]) for row in recording.static_rows("channels")],
    )
    lost = channels_of_restarted(recording, facts)
    wanted = {*range(0, len(facts), max(1, len(facts) // most)), len(facts) - 1}
    expected = []
    for step, fact in enumerate(facts):
        plain.apply(fact, lost.get(step, ()))
        if step in wanted:
            expected.append((step, plain.seen()))
    return expected
