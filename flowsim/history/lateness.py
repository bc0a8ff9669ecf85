"""Which records came behind the watermark of a window or an interval join, late, or behind the end of their input."""

from __future__ import annotations

import numpy as np

from flowsim.facts.kinds import DRAIN, ElementKind
from flowsim.facts.schema import LATE_DROP, WINDOW_INTAKE
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Ints, Mask, Rows, alike
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import window_plan
from flowsim.units import NO_TIMESTAMP


def arrivals_of(intakes: Rows, drops: Rows) -> Ints:
    """The number of the arrival of each late record of one operator; -1: it is not recorded.

    A record is late if the operator records so before the next record arrives.
    """
    return intakes["seq"].searchsorted(drops["seq"]) - 1


def is_interval_join(operator: Operator | None) -> bool:
    """Whether the rules about lateness are those of interval joins (rule 10.35)."""
    return operator is not None and operator.kind == "interval_join"


def is_behind(timestamps: Ints, watermarks: Ints) -> Mask:
    """Which records arrived at or below the watermark."""
    behind: Mask = (timestamps <= watermarks) & (watermarks != NO_TIMESTAMP)
    return behind


def accepted_behind(facts: RecordedFacts) -> Rows:
    """The records of the run that arrived behind the watermark and were not late, task by task."""
    intakes, drops = facts.by_task(WINDOW_INTAKE.name), facts.by_task(LATE_DROP.name)
    wanted = is_behind(intakes["timestamp"], intakes["watermark"])
    of = {(task, operator.operator): operator for task in facts.graph.tasks for operator in facts.operators_of(task)}
    for which in alike(intakes["task"], intakes["operator"]):
        task, number = (intakes.row(int(which[0]))[name] for name in ("task", "operator"))
        operator = of.get((task, number))
        plan = None if operator is None else window_plan(operator)
        if is_interval_join(operator) or (plan is not None and not plan.event_time):
            wanted[which] = False
        at = arrivals_of(intakes.in_order(which), drops.equal(task=task, operator=number))
        wanted[which[at[at >= 0]]] = False
    return intakes.where(wanted)


def received_records(facts: RecordedFacts, task: int) -> tuple[Rows, Rows]:
    """The records that a task received: those that its operators got, and those behind the end of their input (rule 4.11)."""
    rows = facts.rows("received", task)
    lost = np.zeros(len(rows), dtype=np.bool_)
    ends = rows.equal(kind=ElementKind.END_OF_DATA, timestamp=DRAIN)
    channels: dict[int, list[int]] = {}
    for channel in facts.received_by(task):
        channels.setdefault(channel.input, []).append(channel.channel)
    for of_input in channels.values():
        ended = ends.where(np.isin(ends["channel"], of_input))
        if len(np.unique(ended["channel"])) == len(of_input):
            lost |= np.isin(rows["channel"], of_input) & (rows["seq"] > ended["seq"].max())
    is_record = rows["kind"] == ElementKind.RECORD
    return rows.where(is_record & ~lost), rows.where(is_record & lost)
