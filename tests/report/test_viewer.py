"""The viewer in Chromium: its numbers and sentences are those that Python derives from the facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from flowsim.facts.kinds import ActionPhase, BufferKind, BufferSide, CreditKind, Level, LifeEvent, WaitKind
from flowsim.facts.schema import OUTPUT_FULL, TABLES
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.trace.names import Names
from flowsim.trace.sentences import sentence
from tests.report.conftest import OpenReport
from tests.support.jobs.fault_matrix import CASES, run_case

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Recordings = Callable[[str], Recording]


def columns(fact: Fact) -> dict[str, int]:
    return dict(zip(TABLES[fact.table].names, fact.row, strict=True))


class PlainModel:
    """States of tasks and channels after each fact, by plain counting."""

    def __init__(self, tasks: range, channels: list[int]) -> None:
        self.open: dict[int, list[str]] = {task: [] for task in tasks}
        self.states: dict[int, str | None] = dict.fromkeys(tasks)
        self.queued = dict.fromkeys(channels, 0)
        self.backlog = dict.fromkeys(channels, 0)
        self.credits: dict[int, int | None] = dict.fromkeys(channels)
        self.sent = dict.fromkeys(channels, 0)
        self.received = dict.fromkeys(channels, 0)
        self.held = dict.fromkeys(channels, 0)

    def apply(self, fact: Fact, lost: Iterable[int] = ()) -> None:
        """``lost``: the channels of a task whose attempt ends with this fact, and that is restarted."""
        row = columns(fact)
        for channel in lost:
            self.queued[channel] = self.backlog[channel] = self.held[channel] = 0
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
        self.queued[channel] += side == BufferSide.QUEUED
        self.queued[channel] -= side in (BufferSide.SENT, BufferSide.SKIPPED) and row["whole"]
        self.sent[channel] += side == BufferSide.SENT
        self.received[channel] += side == BufferSide.RECEIVED
        self.held[channel] += side == BufferSide.RECEIVED and row["kind"] == BufferKind.DATA
        self.held[channel] -= side == BufferSide.RECYCLED

    def seen(self) -> tuple[Any, ...]:
        return (
            list(self.states.values()), list(self.queued.values()), list(self.backlog.values()),
            list(self.credits.values()), [s - r for s, r in zip(self.sent.values(), self.received.values(), strict=True)],
            list(self.held.values()),
        )  # fmt: skip


def seen_by_viewer(snapshot: dict[str, Any]) -> tuple[Any, ...]:
    channels = snapshot["channels"]
    return (
        list(snapshot["states"].values()), [len(one["queue"]) for one in channels], [one["backlog"] for one in channels],
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


@pytest.mark.parametrize("name", ["03", "05", "35"])
def test_states_queues_and_credits_equal_those_counted_from_facts(
    open_report: OpenReport, recordings: Recordings, name: str
) -> None:
    recording = recordings(name)
    facts = list(merged_facts(recording, Selection()))
    plain = PlainModel(range(recording.row_count("tasks") or len(recording.static_rows("tasks"))), [
        int(row[0]) for row in recording.static_rows("channels")
    ])  # fmt: skip
    lost = channels_of_restarted(recording, facts)
    wanted = {*range(0, len(facts), max(1, len(facts) // 200)), len(facts) - 1}

    expected = []
    for step, fact in enumerate(facts):
        plain.apply(fact, lost.get(step, ()))
        if step in wanted:
            expected.append((step, plain.seen()))
    found = open_report(name).evaluate("steps => steps.map(step => flowsim.at(step))", [step for step, _ in expected])

    assert [(one["step"], seen_by_viewer(one)) for one in found] == expected


@pytest.mark.parametrize("name", ["02", "12", "13", "24", "27"])
def test_sentences_and_rules_equal_those_of_trace(open_report: OpenReport, recordings: Recordings, name: str) -> None:
    recording = recordings(name)
    names = Names(recording)
    expected = [
        (text, list(rules))
        for fact in merged_facts(recording, Selection())
        for text, rules in [sentence(names, fact.table, fact.row, fact.depth)]
    ]

    found = open_report(name).evaluate(
        "() => Array.from({length: flowsim.model.facts.count}, (_, place) => flowsim.model.sentences.at(place))"
    )

    assert [(one["text"], one["rules"]) for one in found] == expected


def test_cursor_moves_by_keys_and_link_follows(open_report: OpenReport) -> None:
    page = open_report("12", "#view=graph&step=100")
    assert page.evaluate("flowsim.store.place.value") == 100

    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    assert page.evaluate("flowsim.store.place.value") == 1
    page.keyboard.press("End")

    page.wait_for_url(f"**step={page.evaluate('flowsim.model.facts.count') - 1}*")
    assert page.inner_text("#sentence") == page.evaluate("flowsim.at(1e9).sentence.text")


def test_links_with_time_and_fact_open_at_their_step(open_report: OpenReport, recordings: Recordings) -> None:
    facts = list(merged_facts(recordings("12"), Selection()))
    at = next(step for step, fact in enumerate(facts) if fact.table == "late_drop")
    start_ns = facts[0].time_ns

    page = open_report("12", f"#fact={facts[at].task}.{facts[at].row[0]}")
    assert page.evaluate("flowsim.store.place.value") == at
    page.evaluate(
        "time => new Promise(done => { addEventListener('hashchange', () => setTimeout(done)); location.hash = `#t=${time}` })",
        facts[at].time_ns - start_ns,
    )

    assert page.evaluate("flowsim.store.place.value") >= at
    assert page.evaluate("flowsim.store.time.value") == facts[at].time_ns - start_ns


def test_views_of_job_without_channels_state_the_reason(open_report: OpenReport) -> None:
    page = open_report("26a", "#view=channel")

    assert page.inner_text(".missing") == "The job has one task: it has no channels."
    page.keyboard.press("1")
    page.wait_for_selector(".vertex.busy, .vertex.idle")


def test_click_on_evidence_goes_to_fact_and_channel(open_report: OpenReport, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name.startswith("drop_element "))
    writer = RecordingWriter(tmp_path / "run", Level.FULL, RunDescription())
    run_case(case, writer)
    writer.finish(RunStatus.FAILED)
    page = open_report(Recording.open(tmp_path / "run"), "#view=laws")
    evidence = page.evaluate("flowsim.model.head.laws.laws.find(law => law.law === 'channel-fifo').evidence[0]")

    page.locator("ul[aria-label='Evidence of channel-fifo'] button").first.click()
    place = page.evaluate("flowsim.store.place.value")
    page.locator("ul[aria-label='Evidence of channel-fifo'] button", has_text="channel").first.click()

    facts = list(merged_facts(Recording.open(tmp_path / "run"), Selection()))
    assert facts[place].task == evidence["task"]
    assert facts[place].row[0] == evidence["seq"]
    assert page.evaluate("flowsim.store.selection.value.channel") == evidence["channel"]
    page.wait_for_selector(".picture")


def test_click_on_buffer_lists_its_records(open_report: OpenReport) -> None:
    page = open_report("03", "#view=channel&t=7000000&from=0&to=30000000")
    lanes = page.locator(".canvas").nth(1).bounding_box()
    assert lanes is not None

    page.mouse.click(lanes["x"] + 172 + (lanes["width"] - 184) * 5 / 30, lanes["y"] + 20 + 9)

    assert page.inner_text("section[aria-label='Elements of the buffer'] h2").startswith("Buffer 4: 1,024 bytes, ")
    numbers = page.evaluate("[...flowsim.model.channels.of(0).elements.buffer]")
    assert page.locator("section[aria-label='Elements of the buffer'] tbody tr").count() == numbers.count(4)


def test_search_goes_to_next_fact_with_text(open_report: OpenReport, recordings: Recordings) -> None:
    recording = recordings("12")
    names, facts = Names(recording), list(merged_facts(recording, Selection()))
    texts = [sentence(names, fact.table, fact.row, fact.depth).text for fact in facts]
    expected = next(place for place, text in enumerate(texts) if place and "late record" in text)
    page = open_report("12", "#view=graph&step=0")

    page.keyboard.press("/")
    page.keyboard.type("LATE record")
    page.keyboard.press("Enter")

    page.wait_for_url(f"**step={expected}*")
