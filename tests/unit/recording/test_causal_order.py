"""The causal order: every cause before its effect, each task as recorded; the same for any selection and size of parts."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.facts.kinds import BufferSide, CreditKind, Level
from flowsim.facts.schema import TABLES
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from tests.support.jobs.small_jobs import SmallJob

TASKS = 3
CHANNELS = [(0, 1), (1, 0), (1, 2), (0, 2)]
"""Sender and receiver; two of the tasks send to each other."""

Steps = list[tuple[str, int, int]]
STEPS: st.SearchStrategy[Steps] = st.lists(
    st.tuples(
        st.sampled_from(["send", "receive", "announce", "get", "plain", "wait"]), st.integers(0, 3), st.integers(0, 2)
    ),
    min_size=20,
    max_size=60,
)
"""What happens, in which channel or task, and how far the task's clock is ahead."""


@dataclass
class Script:
    """Writes facts in an order in which they can happen."""

    writer: RecordingWriter
    clock: str
    now: int = 10
    seqs: list[int] = field(default_factory=lambda: [0] * TASKS)
    times: list[int] = field(default_factory=lambda: [0] * TASKS)
    last_ns: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    counts: dict[tuple[str, int], int] = field(default_factory=dict)

    def run(self, steps: Steps) -> None:
        for what, where, ahead in steps:
            sender, receiver = CHANNELS[where]
            if what == "wait":
                self.now += ahead
            elif what == "plain":
                self.row("lifecycle", where % TASKS, ahead, lambda seq, task, now: (seq, task, -1, now, 0))
            elif what == "send":
                self.buffer(sender, where, BufferSide.SENT, ahead)
            elif what == "announce":
                self.credit(receiver, where, CreditKind.ANNOUNCED, ahead)
            elif what == "receive" and self.count("send", where) > self.count("receive", where):
                self.buffer(receiver, where, BufferSide.RECEIVED, ahead)
            elif what == "get" and self.count("announce", where) > self.count("get", where):
                self.credit(sender, where, CreditKind.GOT, ahead)

    def count(self, what: str, where: int) -> int:
        return self.counts.get((what, where), 0)

    def next(self, what: str, where: int) -> int:
        number = self.count(what, where)
        self.counts[what, where] = number + 1
        return number

    def buffer(self, task: int, channel: int, side: BufferSide, ahead: int) -> None:
        what, cause = ("send", "") if side == BufferSide.SENT else ("receive", "send")
        number = self.next(what, channel)
        self.row(
            "buffers", task, ahead, lambda seq, task, now: (seq, task, now, channel, side, number, 0, 1, 0, 0, 1),
            what, cause, channel, number,
        )  # fmt: skip

    def credit(self, task: int, channel: int, kind: CreditKind, ahead: int) -> None:
        what, cause = ("announce", "") if kind == CreditKind.ANNOUNCED else ("get", "announce")
        number = self.next(what, channel)
        self.row(
            "credits", task, ahead, lambda seq, task, now: (seq, task, now, channel, kind, 1, 0),
            what, cause, channel, number,
        )  # fmt: skip

    def row(self, table, task, ahead, values, what="", cause="", channel=0, number=0) -> None:  # type: ignore[no-untyped-def]
        """On the virtual clock no fact is before its cause; on the real clock it may be."""
        now = self.now + ahead
        if self.clock == "virtual":
            before = self.last_ns.get((cause, channel), [])
            now = max(now, self.times[task], before[number] if number < len(before) else 0)
        self.times[task] = now
        self.last_ns.setdefault((what, channel), []).append(now)
        self.writer.appender(TABLES[table])(*values(sum(self.seqs), task, now))
        self.seqs[task] += 1


def record(directory: Path, steps: Steps, clock: str, rows_per_epoch: int) -> Recording:
    shutil.rmtree(directory, ignore_errors=True)
    writer = RecordingWriter(directory, Level.FULL, RunDescription(clock=clock), rows_per_epoch=rows_per_epoch)
    Script(writer, clock).run(steps)
    writer.finish(RunStatus.COMPLETE)
    return Recording.open(directory)


def value(fact: Fact, column: str) -> int:
    return fact.row[TABLES[fact.table].names.index(column)]


def pairs(facts: list[Fact]) -> list[tuple[int, int]]:
    """The places of each cause and its effect: of elements, buffers and credits."""
    places: dict[tuple[object, ...], int] = {}
    counts: dict[tuple[int, int], int] = {}
    found = []
    ends = {"sent": 0, "received": 1}
    sides = {BufferSide.SENT: 0, BufferSide.RECEIVED: 1}
    for place, fact in enumerate(facts):
        if fact.table in ends:
            thing, end = ("element", value(fact, "position")), ends[fact.table]
        elif fact.table == "buffers" and value(fact, "side") in sides:
            thing, end = ("buffer", value(fact, "number")), sides[BufferSide(value(fact, "side"))]
        elif fact.table == "credits":
            channel, kind = value(fact, "channel"), value(fact, "kind")
            counts[channel, kind] = counts.get((channel, kind), 0) + 1
            thing, end = (f"credits {kind // 2}", counts[channel, kind]), kind % 2
        else:
            continue
        places[value(fact, "channel"), thing, end] = place
    for (channel, thing, end), place in places.items():
        if end == 1:
            found.append((places[channel, thing, 0], place))
    return found


def check(facts: list[Fact]) -> None:
    assert all(cause < effect for cause, effect in pairs(facts))
    assert [fact.time_ns for fact in facts] == sorted(fact.time_ns for fact in facts)
    for task in {fact.task for fact in facts}:
        seqs = [fact.row[0] for fact in facts if fact.task == task]
        assert seqs == sorted(seqs)


@pytest.mark.property
@settings(max_examples=12)
@given(steps=STEPS, clock=st.sampled_from(["virtual", "real"]), rows=st.integers(1, 20))
def test_causes_precede_effects_in_any_recording(
    tmp_path_factory: pytest.TempPathFactory, steps: Steps, clock: str, rows: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "causal"
    facts = list(merged_facts(record(folder, steps, clock, rows), Selection()))

    check(facts)
    assert len(facts) == sum(len(Recording.open(folder).rows(table)) for table in ("lifecycle", "buffers", "credits"))
    assert facts == list(merged_facts(record(folder, steps, clock, 1 << 18), Selection()))


@pytest.mark.property
@settings(max_examples=6)
@given(steps=STEPS, rows=st.integers(1, 20), task=st.integers(0, 2))
def test_order_does_not_depend_on_selection(
    tmp_path_factory: pytest.TempPathFactory, steps: Steps, rows: int, task: int
) -> None:
    recording = record(tmp_path_factory.getbasetemp() / "causal", steps, "virtual", rows)
    facts = list(merged_facts(recording, Selection()))

    assert list(merged_facts(recording, Selection(tasks=frozenset({task})))) == [f for f in facts if f.task == task]
    for table in ("lifecycle", "credits"):
        assert list(merged_facts(recording, Selection(tables=(table,)))) == [f for f in facts if f.table == table]


@pytest.mark.parametrize("level", [Level.ELEMENTS, Level.FULL])
def test_causes_precede_effects_in_job_without_costs(tmp_path: Path, level: Level) -> None:
    """Everything happens at one instant: only the rounds order the tasks."""
    job = SmallJob(segment_size_bytes=64)
    source = job.values(lambda subtask: range(subtask, 40, 2), parallelism=2, cost_ns=0)
    job.sink(job.map(source, lambda value: value, by="SHUFFLE", parallelism=2, chain=False, cost_ns=0), by="REBALANCE")
    writer = RecordingWriter(tmp_path / "run", level, RunDescription(), rows_per_epoch=50)
    job.run(recorder=writer)
    writer.finish(RunStatus.COMPLETE)

    facts = list(merged_facts(Recording.open(tmp_path / "run"), Selection()))

    check(facts)
    assert len(pairs(facts)) > 80


def test_effect_without_cause_in_damaged_recording_keeps_its_time(tmp_path: Path) -> None:
    """A sender that got credits before the receiver announced them is evidence, and stays where it was."""
    writer = RecordingWriter(tmp_path / "run", Level.FULL, RunDescription())
    credits = writer.appender(TABLES["credits"])
    for number, (task, time_ns, channel, kind) in enumerate([
        (0, 5, 0, CreditKind.GOT), (1, 9, 0, CreditKind.ANNOUNCED),
        (0, 20, 1, CreditKind.GOT), (0, 20, 2, CreditKind.ANNOUNCED),
        (1, 20, 2, CreditKind.GOT), (1, 20, 1, CreditKind.ANNOUNCED),
    ]):  # fmt: skip
        credits(number, task, time_ns, channel, kind, 1, 1)
    writer.finish(RunStatus.COMPLETE)

    facts = [(fact.time_ns, fact.row[0]) for fact in merged_facts(Recording.open(tmp_path / "run"), Selection())]

    assert facts == [(5, 0), (9, 1), (20, 2), (20, 3), (20, 4), (20, 5)]
