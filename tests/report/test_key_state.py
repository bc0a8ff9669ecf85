"""The view of state: what a key holds after each change is what the function read from its state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from flowsim.datastream.common import Types
from flowsim.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from flowsim.facts.schema import TABLES
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from tests.report.conftest import OpenReport

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = """
() => {
    const {keyStates, facts} = flowsim.model
    const [subject] = keyStates.subjects
    const states = keyStates.keys(subject).map(key => keyStates.of(subject, key))
    return [...facts.of('state_changes').places].map(place => states.map(state =>
        Object.fromEntries(state.at(place).cells.map(cell => [cell.name, cell.value]))))
}
"""


class Basket(KeyedProcessFunction):
    """Each row names one call; emits what the states hold after it, as JSON."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", Types.STRING()))
        self.prices = runtime_context.get_map_state(MapStateDescriptor("prices", Types.STRING(), Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        _, call, name, number = value
        match call:
            case "total":
                self.total.update(number)
            case "add":
                self.items.add(name)
            case "items":
                self.items.update([name, name])
            case "put":
                self.prices.put(name, number)
            case "remove":
                self.prices.remove(name)
            case "clear":
                {"total": self.total, "items": self.items, "prices": self.prices}[name].clear()
            case "timer":
                ctx.timer_service().register_event_time_timer(number)
            case "delete":
                ctx.timer_service().delete_event_time_timer(number)
        items, prices = list(self.items.get() or ()), dict(self.prices.items())
        held = {"total": self.total.value(), "items": items or None, "prices": prices or None}
        yield json.dumps({name: text(one) for name, one in held.items() if one is not None})


CALLS = [
    ("total", "", 4), ("add", "tea", 0), ("add", "milk", 0), ("put", "tea", 3), ("put", "milk", 2), ("put", "tea", 5),
    ("items", "rice", 0), ("remove", "milk", 0), ("total", "", 9), ("clear", "items", 0), ("add", "salt", 0),
    ("clear", "total", 0), ("clear", "prices", 0),
]  # fmt: skip


def recorded(path: Path, calls: list[tuple[str, str, int]], records_state: bool = True) -> list[dict[str, str]]:
    """What the states held after each call, as the viewer writes it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.flowsim_recording(path, record_state=records_state)
    rows = [record(("ann", *call), at) for at, call in enumerate(calls, start=1)]
    keyed = env.add_source(ScriptedSource(rows)).set_parallelism(1).key_by(lambda row: row[0], Types.STRING())
    return [json.loads(held) for held in keyed.process(Basket(), Types.STRING()).execute_and_collect()]


def text(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {number}" for key, number in value.items()) + "}"
    return json.dumps(value, separators=(",", ":"))


def test_state_after_each_change_is_what_the_function_read(open_report: OpenReport, tmp_path: Path) -> None:
    seen = recorded(tmp_path / "run", CALLS)

    page = open_report(Recording.open(tmp_path / "run"), "#view=state")

    assert [only for (only,) in page.evaluate(CELLS)] == seen
    assert len(seen) == len(CALLS)
    page.keyboard.press("Home")
    for _ in range(6):
        page.get_by_role("button", name="change ▶").click()
    rows = page.locator("[aria-label='State at the cursor'] tr").all_inner_texts()
    assert [row.split("\tsince")[0] for row in rows if row.startswith("prices")] == [
        'prices (map)\t{"tea": 5, "milk": 2}'
    ]


def test_timers_end_where_they_fire_or_are_deleted(open_report: OpenReport, tmp_path: Path) -> None:
    recorded(tmp_path / "run", [("timer", "", 50), ("timer", "", 60), ("timer", "", 50), ("delete", "", 60)], False)
    recording = Recording.open(tmp_path / "run")
    rows = [
        (place, dict(zip(TABLES["timers"].names, fact.row, strict=True)))
        for place, fact in enumerate(merged_facts(recording, Selection())) if fact.table == "timers"
    ]  # fmt: skip
    (begin_50, _), (begin_60, _), *_, (deleted, _), (fired, last) = rows
    assert last["timestamp"] == 50

    page = open_report(recording, "#view=state")
    found = page.evaluate(
        "() => { const {keyStates} = flowsim.model; const [one] = keyStates.subjects;"
        " return keyStates.of(one, 1).timers.map(bar => [bar.timestamp, bar.begin, bar.end, bar.fired]) }"
    )

    assert found == [[50, begin_50, fired, True], [60, begin_60, deleted, False]]
    assert "flowsim run ... --record full --record-state" in page.inner_text(".note")


def test_contents_of_sessions_follow_their_merge(
    open_report: OpenReport, recordings: Callable[[str], Recording]
) -> None:
    """Scenario 13: three sessions of one key become one, which fires with four records."""
    page = open_report("13", "#view=state&key=1&step=0")
    facts = list(merged_facts(recordings("13"), Selection()))
    fire = max(place for place, fact in enumerate(facts) if fact.table == "window_fire")

    windows, cells = page.evaluate(
        """place => {
            const {keyStates} = flowsim.model
            const now = keyStates.of(keyStates.subjects[0], 1).at(place)
            return [now.windows.map(box => [box.start, box.end, box.records]), now.cells.map(cell => cell.value)]
        }""",
        fire - 1,
    )

    assert windows == [[0, 34, 4]]
    assert cells == ['[4,"home","pay"]']
