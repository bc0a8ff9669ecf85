"""The view of event time: its records, watermarks and windows are those that Python derives from the facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flowsim.facts.kinds import ElementKind
from flowsim.facts.schema import TABLES
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.report.page import page as html_of
from flowsim.report.payload import build_payload
from flowsim.units import NO_TIMESTAMP
from flowsim.why.event_time.late_chain import late_chains
from flowsim.why.run_facts import RunFacts
from tests.report.conftest import OpenReport
from tests.support.accessibility import violations
from tests.support.jobs.unordered_records import unordered_records

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Recordings = Callable[[str], Recording]

READ = """
() => flowsim.model.eventTimes.subjects.filter(subject => subject.operator >= 0).map(subject => {
    const of = flowsim.model.eventTimes.of(subject)
    const {places, timestamps, watermarks, timings} = of.points
    return {
        task: subject.task, operator: subject.operator,
        points: [...places].map((place, n) => [place, timestamps[n], watermarks[n], timings[n]]),
        marks: [...places].map(place => of.watermarksAt(place).task.value),
        fires: of.windows.flatMap(box => box.fires.map(fire => [fire.place, box.start, box.end, fire.rows]))
            .sort((one, other) => one[0] - other[0]),
        last: of.windows.filter(box => box.fires.length).map(box => [box.records, box.fires.at(-1).rows]),
        merged: of.windows.filter(box => box.isMerged).length,
    }
})
"""


@dataclass
class Plain:
    """What one window operator recorded."""

    points: list[list[Any]] = field(default_factory=list)
    fires: list[list[int]] = field(default_factory=list)
    merged: int = 0

    def add(self, table: str, place: int, row: dict[str, int]) -> None:
        match table:
            case "window_intake":
                is_behind = NO_TIMESTAMP < row["watermark"] >= row["timestamp"]
                self.points.append([place, row["timestamp"], row["watermark"], int(is_behind)])
            case "late_drop":
                self.points[-1][3] = 2
            case "window_fire":
                self.fires.append([place, row["window_start"], row["window_end"], row["rows"]])
            case "window_merge":
                self.merged += 1


@pytest.mark.parametrize("name", ["12", "13"])
def test_records_watermarks_and_windows_equal_those_of_the_facts(
    open_report: OpenReport, recordings: Recordings, name: str
) -> None:
    plain: dict[tuple[int, int], Plain] = {}
    for place, fact in enumerate(merged_facts(recordings(name), Selection())):
        if fact.table in ("window_intake", "late_drop", "window_fire", "window_merge"):
            row = dict(zip(TABLES[fact.table].names, fact.row, strict=True))
            plain.setdefault((fact.task, row["operator"]), Plain()).add(fact.table, place, row)

    found = open_report(name).evaluate(READ)

    assert {(one["task"], one["operator"]) for one in found} == plain.keys()
    for one in found:
        expected = plain[one["task"], one["operator"]]
        assert without_sentinels(one["points"]) == without_sentinels(expected.points)
        assert one["marks"] == [None if mark == NO_TIMESTAMP else mark for _, _, mark, _ in expected.points]
        assert one["fires"] == expected.fires
        assert one["merged"] == expected.merged
        assert all(records == rows for records, rows in one["last"])


def without_sentinels(points: list[list[Any]]) -> list[list[Any]]:
    return [[place, at, max(mark, -(2**50)), timing] for place, at, mark, timing in points]


IN_PARTS = """
() => {
    const {eventTimes, lateCauses, facts} = flowsim.model
    const of = eventTimes.of(eventTimes.subjects[0])
    return {
        late: of.late(null).map(number => {
            const place = of.points.latePlaces[number]
            const chain = lateCauses.at(place)
            return [facts.step[place], chain && [chain.statement, ...chain.causes].map(cause => cause.seq)]
        }),
        others: [...of.points.places].filter((_, number) => of.points.timings[number] < 2).map(place => facts.step[place]),
        records: of.windows.map(box => box.records),
        fires: of.windows.flatMap(box => box.fires.map(fire => facts.step[fire.place])).sort((a, b) => a - b),
    }
}
"""


def test_report_in_parts_has_the_causes_of_every_late_row(open_report: OpenReport, tmp_path: Path) -> None:
    recording = unordered_records(tmp_path)
    whole = build_payload(recording, "out/run")
    facts = [
        (step, fact.table, dict(zip(TABLES[fact.table].names, fact.row, strict=True)))
        for step, fact in enumerate(merged_facts(recording, Selection()))
    ]
    of_run = RunFacts(recording)
    steps = {(row["task"], row["seq"]): step for step, table, row in facts if table == "late_drop"}
    drops = of_run.by_task("late_drop")
    chains = zip((steps[row["task"], row["seq"]] for row in drops), late_chains(of_run, drops).all(), strict=True)
    late = [[step, [cause.place and cause.place.seq for cause in chain]] for step, chain in sorted(chains)]
    fires = [step for step, table, _ in facts if table == "window_fire"]
    # With the second budget neither records nor watermarks of tasks fit.
    for removed_bytes in (18_000, 26_000):
        small = build_payload(recording, "out/run", budget_bytes=len(whole.head) + len(whole.body) - removed_bytes)
        assert small.parts is not None
        arrived = [
            step for number, (step, table, _) in enumerate(facts)
            if table == "window_intake" and any(part.first <= step < part.end for part in small.parts)
            and facts[number + 1][1] != "late_drop"
        ]  # fmt: skip
        Path(f"{recording.directory}.html").write_text(html_of(small))

        found = open_report(recording, "#view=event-time").evaluate(IN_PARTS)

        assert found["late"] == late
        assert found["others"] == arrived
        assert set(found["records"]) == {None}
        assert found["fires"] == fires


def test_idle_channel_does_not_hold_the_watermark_back(open_report: OpenReport, recordings: Recordings) -> None:
    """Rule 8.10: the channel that becomes idle leaves the watermark to the other."""
    facts = list(merged_facts(recordings("11b"), Selection()))
    place = next(
        place for place, fact in enumerate(facts)
        if fact.table == "received" and fact.row[5] == ElementKind.STATUS and fact.row[6] == -1
    )  # fmt: skip
    task = facts[place].task
    page = open_report("11b", f"#view=event-time&task={task}")

    before, after = page.evaluate(
        """([task, place]) => {
            const {eventTimes} = flowsim.model
            const of = eventTimes.of(eventTimes.subject(task, null))
            return [place - 1, place].map(at => of.watermarksAt(at).lines.map(line => [line.idle, line.holds]))
        }""",
        [task, place],
    )

    assert [False, True] in before
    assert [True, False] in after
    assert [False, True] in after


def test_late_row_shows_its_causes(open_report: OpenReport) -> None:
    page = open_report("12", "#view=event-time&task=3&y=relative")
    relative = page.get_by_role("button", name="relative to the watermark")
    assert relative.get_attribute("aria-pressed") == "true"
    relative.click()
    page.wait_for_url("**&y=absolute*")

    page.locator(".late-rows button").click()

    assert page.inner_text(".late-record h2").endswith("is late at forgiving (1/1): it is dropped and only counted.")
    text = page.inner_text(".late-record")
    assert "window [0, 10) is closed since the watermark reached 14 ms" in text
    assert "forgiving (1/1) has watermark 14 ms since" in text
    assert "Source: readings (1/1) itself emitted watermark 14 ms, and then the record." in text
    assert violations(page) == []


def test_late_flight_is_explained_after_two_clicks(open_report: OpenReport, recordings: Recordings) -> None:
    """The tab, the row: the last cause names the bound with which the record would have been in time."""
    late = [
        (place, fact) for place, fact in enumerate(merged_facts(recordings("01"), Selection()))
        if fact.table == "late_drop"
    ]  # fmt: skip
    page = open_report("01")

    page.get_by_role("tab", name="Event time").click()
    row = page.locator(".late-rows button").nth(2)
    row.click()

    place = page.evaluate("flowsim.store.place.value")
    assert place in [at for at, _ in late]
    assert row.get_attribute("aria-current") == "true"
    causes = page.locator(".late-record ol > li").all_inner_texts()
    assert causes[0].startswith("The watermark of the operator was ")
    assert "less the bound of 1,800,000 ms (30 min 0 s), less 1 ms." in causes[-2]
    assert "it would have been in time." in causes[-1]
    page.locator(".late-record li button").last.click()
    assert page.evaluate("flowsim.at(flowsim.store.place.value).table") == "sent"
