"""The view Timeline: what is in progress equals what Python counts from the facts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.facts.kinds import ActionPhase, AsyncAction, MailAction, TimerAction
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording
from tests.report.conftest import OpenReport
from tests.support.plain_model import columns

pytestmark = [pytest.mark.browser, pytest.mark.slow]

IDENTITY = ("operator", "service", "domain", "timestamp", "key", "window_start", "window_end")


def in_progress(facts: list[Fact], steps: list[int]) -> list[dict[int, dict[str, int]]]:
    """At each step, per task: the number of open actions and waits, waiting mails, timers, and queued async elements."""
    open_things: dict[int, dict[str, dict[object, None]]] = {}
    found, wanted = [], set(steps)
    for step, fact in enumerate(facts):
        row = columns(fact)
        of = open_things.setdefault(fact.task, {"actions": {}, "mails": {}, "timers": {}, "async": {}})
        match fact.table:
            case "actions":
                is_wait = row["phase"] in (ActionPhase.WAIT, ActionPhase.RESUME)
                is_open = row["phase"] in (ActionPhase.BEGIN, ActionPhase.WAIT)
                change(of["actions"], (is_wait, row["action"]), is_open)
            case "mails":
                change(of["mails"], row["mail"], row["action"] == MailAction.PUT)
            case "timers":
                change(of["timers"], tuple(row[name] for name in IDENTITY), row["action"] == TimerAction.REGISTER)
            case "system_timers":
                identity = ("system", row["operator"], row["kind"], row["entry"])
                change(of["timers"], identity, row["action"] == TimerAction.REGISTER)
            case "async_elements":
                is_open = row["action"] not in (AsyncAction.EMIT, AsyncAction.FAIL)
                change(of["async"], (row["operator"], row["entry"]), is_open)
        if step in wanted:
            found.append({task: {name: len(of) for name, of in things.items()} for task, things in open_things.items()})
    return found


def change(things: dict[object, None], identity: object, is_open: bool) -> None:
    if is_open:
        things[identity] = None
    else:
        things.pop(identity, None)


@pytest.mark.parametrize("name", ["11a", "27"])
def test_things_in_progress_equal_those_counted_from_facts(
    open_report: OpenReport, recordings: Callable[[str], Recording], name: str
) -> None:
    facts = list(merged_facts(recordings(name), Selection()))
    steps = sorted({*range(0, len(facts), max(1, len(facts) // 50)), len(facts) - 1})

    found = open_report(name, "#view=timeline").evaluate(
        """steps => steps.map(step => Object.fromEntries([...flowsim.model.names.tasks.keys()].map(
            task => [task, flowsim.model.timeline.openAt(task, step)])))""",
        steps,
    )

    for step, at_step, expected in zip(steps, found, in_progress(facts, steps), strict=True):
        for task, counts in expected.items():
            for track, number in counts.items():
                assert at_step[str(task)].get(track, 0) == number, (step, task, track)


def test_call_is_retried_in_one_row_and_cursor_goes_to_its_end(open_report: OpenReport) -> None:
    page = open_report("27", "#view=timeline")
    step = page.evaluate(
        """() => { const {model} = flowsim; const {places, columns, rows} = model.facts.of('async_elements');
            for (let row = 0; row < rows; row++) if (columns.action[row] === 2) return places[row]; }"""
    )
    page.evaluate("step => flowsim.store.go(step)", step)

    row = page.locator("table.things tr", has_text="waits for its retry").first
    end = row.locator("button").nth(1)
    expected = end.inner_text()
    end.click()

    assert page.inner_text("output.time") == expected
    assert "emits element" in page.inner_text("#sentence")


def test_zoom_shows_one_microsecond_around_the_cursor(open_report: OpenReport) -> None:
    page = open_report("27", "#view=timeline&t=500000000")

    page.get_by_role("button", name="1 us").click()

    begin, end = page.evaluate("flowsim.store.range.value")
    assert end - begin == 1000
    assert begin < page.evaluate("flowsim.store.time.value") < end
