"""What sentences about windows that have not fired claim, checked against the recording."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flowsim.facts.kinds import LifeEvent, WindowResult
from flowsim.quantities import duration_text
from flowsim.units import MAX_WATERMARK
from tests.support.truth.event_time_rules import (
    AskedRun,
    combined,
    ms_of,
    params,
    place_of,
    run_of,
    windows_of,
)
from tests.support.truth.recorded_run import Row
from tests.support.why_truth import Claim


@dataclass(frozen=True)
class AskedPane:
    """The window of one key at one operator that an answer is about."""

    task: int
    operator: Row
    bounds: tuple[int, int]
    key: str

    def fires_until(self, run: AskedRun, now: int) -> list[Row]:
        """Its firings in this attempt until a time."""
        rows = run.until("window_fire", self.task, now, operator=self.operator.operator)
        return [
            row
            for row in rows
            if (row.window_start, row.window_end) == self.bounds and run.names.key(row.key) == self.key
        ]

    def waiting(self, run: AskedRun, now: int) -> int:
        """How many of its records no firing has included; a firing that does not purge includes all of them once."""
        cleanup = self.bounds[1] - 1 + params(self.operator).get("lateness_ms", 0)
        rows = run.until("window_intake", self.task, now, operator=self.operator.operator)
        own = [row for row in rows if run.names.key(row.key) == self.key and row.watermark < cleanup]
        own = [row for row in own if self.bounds in windows_of(self.operator, row.timestamp)]
        fires = self.fires_until(run, now)
        if fires and fires[-1].result == WindowResult.FIRE:
            return 0
        return sum(not fires or row.seq > fires[-1].seq for row in own)

    def fires_after(self, run: AskedRun, now: int) -> list[Row]:
        """Its firings in the rest of the attempt."""
        rows = run.after("window_fire", self.task, now, operator=self.operator.operator)
        return [
            row
            for row in rows
            if (row.window_start, row.window_end) == self.bounds and run.names.key(row.key) == self.key
        ]


def _fires(claim: Claim, task: int, *, later: bool = False) -> list[Row]:
    rows = run_of(claim).after if later else run_of(claim).until
    window = (claim.number("a"), claim.number("b")) if claim["a"] else None
    return [
        row
        for row in rows("window_fire", task, claim.now)
        if window in (None, (row.window_start, row.window_end)) and claim["key"] == run_of(claim).names.key(row.key)
    ]


def not_fired(claim: Claim) -> bool:
    """The records of the key in the window that no firing has included; sessions and restored state are left out."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    if not claim["a"] or not is_modelled(run, operator):
        return True
    pane = AskedPane(task, operator, (claim.number("a"), claim.number("b")), claim["key"])
    assert bool(claim["again"]) is bool(pane.fires_until(run, claim.now))
    return pane.waiting(run, claim.now) == claim.number("n")


def is_modelled(run: AskedRun, operator: Row) -> bool:
    """Whether windows and their contents follow from the timestamps of the records of this attempt alone."""
    of = params(operator)
    is_fixed = (
        "size_ms" in of and "processing" not in str(of.get("assigner")) and of.get("stagger", "aligned") == "aligned"
    )
    return is_fixed and not run.restarts


def asked_panes(claim: Claim) -> list[AskedPane] | None:
    """The windows with the bounds that were asked about; None if some operator is not modelled."""
    run, found = run_of(claim), re.fullmatch(r"\[(-?\d+), (-?\d+)\)", run_of(claim).asked)
    assert found is not None
    operators = [one for one in run.operators if one.kind == "window"]
    if not all(is_modelled(run, one) for one in operators):
        return None
    bounds, panes = (int(found[1]), int(found[2])), []
    for task, operator in [
        (task, one) for one in operators for task in run.tasks if int(run.tasks[task][1]) == one.vertex
    ]:
        rows = run.until("window_intake", task, claim.now, operator=operator.operator)
        keys = [run.names.key(row.key) for row in rows if bounds in windows_of(operator, row.timestamp)]
        panes += [AskedPane(task, operator, bounds, key) for key in dict.fromkeys(keys)]
    return panes


def more_windows(claim: Claim) -> bool:
    """How many other windows with these bounds wait, or have fired."""
    run, panes = run_of(claim), asked_panes(claim)
    if panes is None:
        return claim.number("n") > 0
    if claim["shown"] is None:
        assert not any(pane.waiting(run, claim.now) for pane in panes)
        return sum(bool(pane.fires_until(run, claim.now)) for pane in panes) - 1 == claim.number("n")
    waiting = [pane for pane in panes if pane.waiting(run, claim.now)]
    assert all(pane.key in {one.key for one in waiting} for pane in waiting[:1])
    assert all(
        f"of key {key}" in {f"of key {one.key}" for one in waiting}
        for key in re.findall(r"of key (\S+?)(?:,|$)", claim["shown"])
    )
    return len(waiting) - 1 == claim.number("n")


def windows_with_records(claim: Claim) -> bool:
    """The windows that are listed have records."""
    run = run_of(claim)
    operators = [one for one in run.operators if one.kind == "window"]
    if not all(is_modelled(run, one) for one in operators):
        return True
    known = set()
    for task, operator in [
        (task, one) for one in operators for task in run.tasks if int(run.tasks[task][1]) == one.vertex
    ]:
        for row in run.until("window_intake", task, claim.now, operator=operator.operator):
            known |= {(window, run.names.key(row.key)) for window in windows_of(operator, row.timestamp)}
    shown = re.findall(r"\[(-?[\d,]+), (-?[\d,]+)\) of key (.+?)(?=, \[|, \.\.\.|$)", claim["first"])
    assert shown
    return all(((int(a.replace(",", "")), int(b.replace(",", ""))), key) in known for a, b, key in shown)


def triggers(claim: Claim) -> bool:
    """The kinds of the triggers inside the trigger of an operator; of a count its number (rules 10.19 to 10.23)."""
    operators = [params(one) for one in run_of(claim).operators if one.kind == "window"]
    kinds = [list(kinds_of(one.get("trigger"))) for one in operators]
    if claim["kinds"]:
        return [*claim["kinds"].split(", ")] in [[kind for kind, _ in of] for of in kinds]
    if claim["n"]:
        return ("count", claim.number("n")) in [pair for of in kinds for pair in of]
    return [("never", None)] in [of[-1:] for of in kinds] or any(pair[0] == "never" for of in kinds for pair in of)


def kinds_of(trigger: object) -> Iterator[tuple[str, int | None]]:
    """The triggers of which one is enough, with the number of a count; purging is none of its own."""
    if isinstance(trigger, dict):
        if trigger["kind"] not in ("any_of", "purging"):
            yield trigger["kind"], trigger.get("count")
        inner = trigger.get("of")
        for part in inner if isinstance(inner, list) else [inner]:
            yield from kinds_of(part)


def at_the_end(claim: Claim) -> bool:
    """The global window, which ends with event time: every firing by its only trigger is at MAX."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    kinds = [kind for kind, _ in kinds_of(params(operator).get("trigger"))]
    fires = run.after("window_fire", task, claim.now, operator=operator.operator)
    assert params(operator)["assigner"] == "global"
    return len(kinds) > 1 or all(row.watermark == MAX_WATERMARK for row in fires)


def unknown_trigger(claim: Claim) -> bool:
    """A trigger whose firings do not follow from time or from a count."""
    operators = [params(one) for one in run_of(claim).operators if one.kind == "window"]
    return any(kind == claim["kind"] for one in operators for kind, _ in kinds_of(one.get("trigger"))) and claim[
        "kind"
    ] in ("delta", "custom")


def only_late(claim: Claim) -> bool:
    """That many records of one operator came after the window was closed; it is dropped only if it is in no other one."""
    a, b, run = claim.number("a"), claim.number("b"), run_of(claim)
    for operator in (one for one in run.operators if one.kind == "window"):
        close = b - 1 + params(operator).get("lateness_ms", 0)
        for task in (task for task, row in run.tasks.items() if int(row[1]) == operator.vertex):
            rows = run.until("window_intake", task, claim.now, operator=operator.operator)
            behind = [row for row in rows if a <= row.timestamp < b and row.watermark >= close]
            if "gap_ms" in params(operator) or len(behind) >= claim.number("n") > 0:
                return True
    return False


def no_such_window(claim: Claim) -> bool:
    """No operator has put a record into a window with these bounds; those that follow the clock are left out."""
    run, window = run_of(claim), (claim.number("a"), claim.number("b"))
    for operator in (one for one in run.operators if one.kind == "window"):
        of = params(operator)
        if "processing" in str(of.get("assigner")) or "gap_ms" in of:
            continue
        for task in (task for task, row in run.tasks.items() if int(row[1]) == operator.vertex):
            rows = run.until("window_intake", task, claim.now, operator=operator.operator)
            if any(window in windows_of(operator, row.timestamp) for row in rows):
                return False
    return True


def not_aligned(claim: Claim) -> bool:
    """Rule 10.1: a record at the start of the window in question is in the window that the sentence names, and not in it."""
    found = re.search(r"\[(-?[\d,]+), (-?[\d,]+)\)", claim.before[0])
    assert found is not None
    asked = int(found[1].replace(",", "")), int(found[2].replace(",", ""))
    offset = 0 if claim["offset"] is None else ms_of(claim["offset"]) * (1 if claim["sign"] == "plus" else -1)
    given, named = (offset, ms_of(claim["size"]), ms_of(claim["slide"])), (claim.number("a"), claim.number("b"))
    operators = [one for one in run_of(claim).operators if one.name == claim["op"]]
    are = [(of.get("offset_ms", 0), of["size_ms"], of.get("slide_ms", of["size_ms"])) for of in map(params, operators)]
    windows = [windows_of(one, asked[0]) for one in operators]
    return given in are and any(named in of for of in windows) and not any(asked in of for of in windows)


def pane_of(claim: Claim) -> AskedPane | None:
    """The window that a sentence before has named; None for the global window or one without a key."""
    text = r"[Ww]indow \[(-?[\d,]+), (-?[\d,]+)\) of key (.+?) has not fired(?: again)? at ([^()]+ \(\d+/\d+\))"
    found = next((found for text_ in reversed(claim.before) if (found := re.search(text, text_))), None)
    if found is None:
        return None
    run, (name, is_in, of_task) = run_of(claim), found[4].rpartition(" in ")
    task = run.task(of_task)
    of_vertex = [one for one in run.operators if one.vertex == int(run.tasks[task][1])]
    operator = next(one for one in of_vertex if (one.name == name if is_in else one.operator == 0))
    start, end = (int(found[group].replace(",", "")) for group in (1, 2))
    return AskedPane(task, operator, (start, end), found[3])


def last_millisecond(claim: Claim) -> bool:
    """The end of the window of the answer; if it fires later by a timer, the watermark has reached what is named."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    at, pane = ms_of(claim["w"]), pane_of(claim)
    every = ms_of(claim["every"]) if claim["every"] else None
    if pane is None:
        return at == MAX_WATERMARK
    assert (task, operator.operator, at) == (pane.task, pane.operator.operator, pane.bounds[1] - 1)
    of_others = {"count", "any_of", "timeout"} & set(re.findall(r"\w+", str(params(operator).get("trigger"))))
    fires = pane.fires_after(run, claim.now)
    if claim["next"]:
        due = ms_of(claim["next"])
        assert every is not None
        assert due % every == 0
        assert due < at
        assert not fires or of_others or fires[0].watermark >= due
    assert every or of_others or all(row.watermark >= at for row in fires)
    return (every is not None) is ("continuous_event_time" in str(params(operator).get("trigger")))


def time_out(claim: Claim) -> bool:
    """Rule 10.23: a timer of the processing time after the first record, or the last one, that did not fire the window."""
    run, pane = run_of(claim), pane_of(claim)
    assert pane is not None
    trigger = params(pane.operator)["trigger"]
    assert claim["which"] == ("its last record" if trigger["reset_on_element"] else "the first record")
    assert claim["after"] == duration_text(trigger["interval_ms"] * 1_000_000)
    if claim["due"]:
        before = run.until("window_intake", pane.task, claim.now, operator=pane.operator.operator)
        times = {row.time_ns // 1_000_000 for row in before if pane.bounds[0] <= row.timestamp < pane.bounds[1]}
        assert claim.moment("due") // 1_000_000 - 1 - trigger["interval_ms"] in times or run.restarts
    return fires_later(claim, pane)


def fires_later(claim: Claim, pane: AskedPane) -> bool:
    """The next firing of a window in the attempt, or that there is none, and the end of its input."""
    fires = pane.fires_after(run_of(claim), claim.now)
    assert not claim["end"] or claim.moment("end") in ends_of(claim, pane.task)
    if not (claim["fires"] or claim["end"] or claim["not"]):
        return True
    return bool(claim["fires"]) is bool(fires) and (not fires or claim.moment("fires") == fires[0].time_ns)


def by_clock(claim: Claim) -> bool:
    _, operator = place_of(claim, "o")
    assert "processing_time" in str(params(operator))
    return not claim["at"] or claim.moment("m") == (claim.number("at") + 1) * 1_000_000


def ends_of(claim: Claim, task: int) -> list[int]:
    """When the input of the operators of a task, or the task itself, ended in its attempt."""
    rows = run_of(claim).all("lifecycle", task, claim.now)
    return [row.time_ns for row in rows if row.event in (LifeEvent.FINISH, LifeEvent.FINISHED)]


def clock(claim: Claim) -> bool:
    """The time, and the next firing of the window of the answer in the rest of the attempt."""
    assert claim.moment("m") == claim.now
    pane = pane_of(claim)
    return pane is None or fires_later(claim, pane)


def of_count(claim: Claim) -> bool:
    """The number of the trigger, and that of the records which the sentence before names."""
    run, before = run_of(claim), re.search(r" it has ([\d,]+) records?", claim.before[-1])
    counts = [
        number for one in run.operators for kind, number in kinds_of(params(one).get("trigger")) if kind == "count"
    ]
    assert claim.number("n") in counts
    return before is not None and int(before[1].replace(",", "")) == claim.number("k") < claim.number("n")


def fired_last(claim: Claim) -> bool:
    """The last firing of the window that the statement names."""
    run = run_of(claim)
    found = re.match(
        r"Window \[(-?[\d,]+), (-?[\d,]+)\) of key (.+?) has fired at ([^()]+ \(\d+/\d+\))", claim.before[0]
    )
    if found is None or run.restarts:
        return claim.before[0].count("times, first") == 1
    bounds, task = (
        tuple(int(found[group].replace(",", "")) for group in (1, 2)),
        run.task(found[4].rpartition(" in ")[2]),
    )
    rows = [row for row in run.until("window_fire", task, claim.now) if run.names.key(row.key) == found[3]]
    return [row.rows for row in rows if (row.window_start, row.window_end) == bounds][-1] == claim.number("n")


def has_fired(claim: Claim) -> bool:
    task, _ = place_of(claim, "o")
    if run_of(claim).restarts:
        rows = [row for of in run_of(claim).attempts("window_fire", task) for row in of if row.time_ns <= claim.now]
        first = claim.moment("m"), claim.number("k"), ms_of(claim["w"])
        return first in [(row.time_ns, row.rows, row.watermark) for row in rows]
    fires = _fires(claim, task)
    assert len(fires) == claim.number("n")
    assert (claim.moment("m"), claim.number("k")) == (fires[0].time_ns, fires[0].rows)
    return bool(ms_of(claim["w"]) == fires[0].watermark)


def has_this_watermark(claim: Claim) -> bool:
    run, task = run_of(claim), claim.task()
    assert any(row.time_ns == claim.moment("m") for row, _ in combined(run, task, claim.now))
    later = [row.time_ns for row in run.after("window_fire", task, claim.now)]
    return claim.moment("fires") in later if claim["fires"] else True
