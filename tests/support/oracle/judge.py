"""Checks recorded facts by the definitions of all laws, in this process: the reference for every test of the laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.laws.job_graph import JobGraph, job_graph
from tests.support.oracle.actions import actions
from tests.support.oracle.async_wait.capacity import async_capacity
from tests.support.oracle.async_wait.end import async_end
from tests.support.oracle.async_wait.once import async_once
from tests.support.oracle.async_wait.order import async_order
from tests.support.oracle.async_wait.payload import async_payload
from tests.support.oracle.async_wait.retries import async_retries
from tests.support.oracle.async_wait.timers import async_timers
from tests.support.oracle.backlog import backlog
from tests.support.oracle.catalogue import LAWS, Law, Outcome
from tests.support.oracle.channels import channel_end, channel_fifo
from tests.support.oracle.cleanup import cleanup
from tests.support.oracle.conservation import conservation
from tests.support.oracle.credits import credits
from tests.support.oracle.distribution import distribution
from tests.support.oracle.ends import end
from tests.support.oracle.facts import NOTHING_KEPT, Facts, Findings, not_applicable
from tests.support.oracle.fairness import fairness
from tests.support.oracle.idleness import idle
from tests.support.oracle.in_flight import in_flight
from tests.support.oracle.joins import joins
from tests.support.oracle.lateness import lateness
from tests.support.oracle.life_cycle import life_cycle
from tests.support.oracle.mails import mails
from tests.support.oracle.progress import progress
from tests.support.oracle.routing import key_routing
from tests.support.oracle.segments import segments
from tests.support.oracle.task_watermarks import task_watermark
from tests.support.oracle.timers import timers
from tests.support.oracle.watermarks import valve, watermark_monotone
from tests.support.oracle.windows import late_rows, window_fire, window_joins

Check = Callable[[Facts, JobGraph, bool], Outcome]
"""Takes the facts, their graph, and whether the run is whole."""

WHOLE: Final = "complete"
"""The only run status whose facts are not a prefix."""

CHECKS: Final[dict[str, Check]] = {
    "channel-fifo": channel_fifo,
    "channel-end": channel_end,
    "watermark-monotone": watermark_monotone,
    "valve": valve,
    "key-routing": key_routing,
    "distribution": distribution,
    "window-fire": window_fire,
    "late-rows": late_rows,
    "lateness": lateness,
    "joins": joins,
    "window-joins": window_joins,
    "cleanup": cleanup,
    "conservation": conservation,
    "credits": credits,
    "actions": actions,
    "segments": segments,
    "backlog": backlog,
    "in-flight": in_flight,
    "progress": progress,
    "mails": mails,
    "fairness": fairness,
    "life-cycle": life_cycle,
    "end": end,
    "task-watermark": task_watermark,
    "idle": idle,
    "timers": timers,
    "async-order": async_order,
    "async-once": async_once,
    "async-capacity": async_capacity,
    "async-retries": async_retries,
    "async-end": async_end,
    "async-payload": async_payload,
    "async-timers": async_timers,
}


def check_all(facts: Facts, status: str = WHOLE) -> list[Outcome]:
    """One outcome per law, in the catalogue's order.

    ``status`` is how the run ended (``recording.manifest.RunStatus``); the facts of any other than ``complete`` are judged
    as a prefix. ``docs/laws.md`` says what each law counts.
    """
    graph = job_graph(facts)
    return [check(law, facts, graph, status == WHOLE) for law in LAWS]


def check(law: Law, facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """The outcome of one law."""
    if facts.level < law.level:
        needed, recorded = law.level.name.lower(), facts.level.name.lower()
        return not_applicable(law.id, f"needs recording level {needed}, the run was recorded at level {recorded}")
    if not graph.tasks:
        return Findings(0).outcome(law.id, NOTHING_KEPT)
    return CHECKS[law.id](facts, graph, whole)
