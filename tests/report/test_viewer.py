"""The viewer in Chromium: its numbers and sentences are those that Python derives from the facts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.facts.kinds import Level
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.trace.names import Names
from flowsim.trace.sentences import sentence
from tests.report.conftest import SCENARIOS, OpenReport
from tests.support.jobs.fault_matrix import CASES, run_case
from tests.support.plain_model import counted_states, seen_by_viewer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Recordings = Callable[[str], Recording]


@pytest.mark.parametrize("name", ["03", "05", "35", "40b"])
def test_states_queues_and_credits_equal_those_counted_from_facts(
    open_report: OpenReport, recordings: Recordings, name: str
) -> None:
    expected = counted_states(recordings(name))

    found = open_report(name).evaluate("steps => steps.map(step => flowsim.at(step))", [step for step, _ in expected])

    assert [(one["step"], seen_by_viewer(one)) for one in found] == expected


@pytest.mark.parametrize("name", ["27", "40b"])
def test_fields_of_sentences_have_the_format_of_trace(
    open_report: OpenReport, recordings: Recordings, name: str
) -> None:
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

    assert (
        page.inner_text(".missing")
        == "The job has one task: it has no channels. What the task did is in the view Timeline."
    )
    page.keyboard.press("1")
    page.wait_for_selector(".vertex.busy, .vertex.idle")


EMPTY = [
    ("03", "full", "event-time", "No record with a timestamp went over a channel"),
    ("03", "full", "state", "No operator has windows, and the recording has no timers of keys and no state: for these"),
    ("03", "full --record-state", "state", "No operator of the job has keyed state, windows or timers of keys. What"),
    ("12", "elements", "channel", "Buffers and credits need a recording with 'flowsim run ... --record full'. The elements"),
    ("12", "elements", "timeline", "Without the states of the tasks: they need a recording with 'flowsim run ... --record"),
    ("12", "elements", "state", "The timers are missing: they need a recording with --record full."),
    ("12", "full", "checkpoints", "The run has no checkpoints and no restarts: add 'checkpointing: {interval: 100 ms}'"),
]  # fmt: skip
"""Scenario, level of the recording, view, and a part of what it says."""


@pytest.mark.parametrize(("name", "level", "view", "text"), EMPTY)
def test_empty_view_says_why_and_what_shows_more(
    open_report: OpenReport, tmp_path: Path, name: str, level: str, view: str, text: str
) -> None:
    (scenario,) = SCENARIOS.glob(f"{name}_*.yaml")
    options = ["--record", *level.split(), "--out", str(tmp_path / "run"), "--until", "20ms"]
    assert CliRunner().invoke(app, ["run", str(scenario), *options]).exit_code == 0

    page = open_report(Recording.open(tmp_path / "run"), f"#view={view}")

    assert text in page.inner_text("#view")


def test_click_on_evidence_goes_to_fact_and_channel(open_report: OpenReport, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name.startswith("drop_element "))
    writer = RecordingWriter(tmp_path / "run", Level.FULL, RunDescription())
    run_case(case, writer)
    writer.finish(RunStatus.FAILED)
    page = open_report(Recording.open(tmp_path / "run"), "#view=laws")
    evidence = page.evaluate("flowsim.model.head.laws.laws.find(law => law.law === 'channel-fifo').evidence[0]")

    button = page.locator("ul[aria-label='Evidence of channel-fifo'] button").first
    button.hover()
    assert page.inner_text(".tooltip .tip-title") == evidence["what"]
    button.click()
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
