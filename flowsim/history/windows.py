"""The windows of a window operator: those of its records, as its assigner makes them, and what each key has in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind, WindowResult
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Ints, Row, Rows
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.merging import MergingWindows
from flowsim.laws.windows.plan import GLOBAL, WindowPlan, last_of, window_plan
from flowsim.quantities import count_text
from flowsim.units import NS_PER_MS
from flowsim.values.java_long import wrapped

Window = tuple[int, int]
"""Start and end in ms."""

MOST_WINDOWS: Final = 1000
"""So many windows of one record are computed."""
_MOST_ASSIGNED: Final = 5_000_000


def windows_of(plan: WindowPlan, intake: Row) -> list[Window]:
    """The newest windows of a record, the newest first; of a session the window before it merges (rules 10.1 to 10.6)."""
    columns = (np.array([intake.get(name, 0)], dtype=np.int64) for name in ("timestamp", "time_ns", "gap"))
    count, start, end = (int(column[0]) for column in newest_windows(plan, *columns))
    return [(start - number * plan.slide_ms, wrapped(end - number * plan.slide_ms)) for number in range(count)]


def newest_windows(plan: WindowPlan, timestamp: Ints, time_ns: Ints, gap: Ints) -> tuple[Ints, Ints, Ints]:
    """Per record the number of its windows, and the start and end of the newest; each older one starts a slide earlier."""
    starts, second = (column.astype(np.int64) for column in plan.assign(timestamp, time_ns, gap))
    one: Ints = np.ones(len(timestamp), dtype=np.int64)
    if plan.shape == "global":
        return one, one * GLOBAL[0], one * GLOBAL[1]
    if plan.merging:
        return one, starts, second
    return np.minimum(second, MOST_WINDOWS), starts, starts + plan.size_ms


def cleanups_of(plan: WindowPlan, starts: Ints, ends: Ints) -> Ints:
    """When each window is cleaned up."""
    windows = list(zip(starts.tolist(), ends.tolist(), strict=True))
    of_window = {window: plan.cleanup_of(last_of(*window)) for window in dict.fromkeys(windows)}
    return np.array([of_window[window] for window in windows], dtype=np.int64)


def fires_of(rows: Rows) -> Rows:
    """The rows of ``window_fire`` that are firings; a purge without firing is none."""
    return rows.where(rows["result"] != WindowResult.PURGE)


@dataclass(slots=True)
class Pane:
    """One window of one key. ``intakes``: the records that it got; ``fires``: rows of ``window_fire``."""

    task: int
    operator: Operator
    plan: WindowPlan
    key: int
    window: Window
    intakes: list[Row] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)
    """Records that came after it had been cleaned up."""
    fires: list[Row] = field(default_factory=list)

    @property
    def waiting(self) -> list[Row]:
        """Its records that no firing has included; after a firing without purge, none."""
        if not self.fires:
            return self.intakes
        if self.fires[-1]["result"] == WindowResult.FIRE:
            return []
        return [intake for intake in self.intakes if intake["seq"] > self.fires[-1]["seq"]]

    @property
    def last_ms(self) -> int:
        """Its last millisecond."""
        return last_of(*self.window)


def window_operators(
    facts: RecordedFacts, tasks: frozenset[int] | None = None
) -> Iterator[tuple[int, Operator, WindowPlan]]:
    """The window operators of each task whose windows can be computed."""
    for task in facts.graph.tasks:
        for operator in facts.operators_of(task) if tasks is None or task in tasks else ():
            plan = window_plan(operator)
            if plan is not None:
                yield task, operator, plan


def panes_of(facts: RecordedFacts, task: int, operator: Operator, plan: WindowPlan) -> list[Pane]:
    """All windows of one operator of a task that got records, in the order of their first record.

    Raises BadInput if there are too many.
    """
    intakes = facts.rows_of_state("window_intake", task).equal(operator=operator.operator)
    of_each = plan.size_ms // plan.slide_ms if plan.shape == "sliding" else 1
    if of_each >= MOST_WINDOWS or len(intakes) * of_each > _MOST_ASSIGNED:
        raise BadInput(
            f"{operator.name} puts {count_text(len(intakes), 'record')} into {of_each:,} windows each, more than 'why no-output' "
            "computes; --at TIME asks about a part of the run"
        )
    panes: dict[tuple[int, int, int], Pane] = {}
    merging, marks = MergingWindows(), facts.restored_rows("task_watermark", task, facts.attempt_of(task))
    marks = marks.equal(kind=ElementKind.WATERMARK)  # Those of the attempt itself begin anew.

    def was_cleaned(window: tuple[int, int, int], intake: Row) -> bool:
        """Whether the window was cleaned up after its last record, in an attempt before that of the next one."""
        known = panes.get(window)
        if known is None or not known.intakes or not plan.event_time:
            return False
        between = marks.after(known.intakes[-1]["seq"]).before(intake["seq"])
        return bool((between["timestamp"] >= plan.cleanup_of(known.last_ms)).any())

    def pane_of(key: int, window: Window) -> Pane:
        return panes.setdefault((key, *window), Pane(task, operator, plan, key, window))

    for intake in intakes:
        for window in windows_of(plan, intake):
            cleanup = plan.cleanup_of(last_of(*window))
            if plan.event_time and not plan.merging and cleanup <= intake["watermark"]:
                pane_of(intake["key"], window).late.append(intake)
                continue
            if plan.merging:
                for known in list(merging.of(intake["key"])):
                    if _is_gone(plan, known[1:], intake) or was_cleaned(known, intake):
                        merging.forget(known)
                whole, absorbed, _ = merging.unite((intake["key"], *window))
                into = pane_of(whole[0], (whole[1], whole[2]))
                if _is_gone(plan, whole[1:], intake):
                    merging.forget(whole)
                    into.late.append(intake)
                    continue
                for one in absorbed:
                    if one != whole and one in panes:
                        into.intakes += panes.pop(one).intakes
                window = into.window
            if was_cleaned((intake["key"], *window), intake):
                panes[(intake["key"], *window)].intakes.clear()
            pane_of(intake["key"], window).intakes.append(intake)
    for fire in facts.rows_of_state("window_fire", task).equal(operator=operator.operator):
        pane_of(fire["key"], (fire["window_start"], fire["window_end"])).fires.append(fire)
    return list(panes.values())


def _is_gone(plan: WindowPlan, window: tuple[int, ...], intake: Row) -> bool:
    """Whether a window was cleaned up before a record arrived (rules 10.8, 10.13)."""
    now_ms = intake["watermark"] if plan.event_time else intake["time_ns"] // NS_PER_MS - 1
    return plan.cleanup_of(last_of(window[0], window[1])) <= now_ms


def pending(panes: list[Pane]) -> list[Pane]:
    """The windows with records that no firing has included, the one that ends first first."""
    return sorted((pane for pane in panes if pane.waiting), key=lambda one: (one.window[1], one.window[0], one.key))
