"""Second definitions of the laws that examine whole columns: plain, slow, over the whole recording.

The laws that examine row after row have none: ``make law-mutants`` shows that each of their parts is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.laws.catalogue import LAWS
from flowsim.laws.job_graph import JobGraph, job_graph
from flowsim.laws.law import Outcome
from tests.support.oracle.channels import channel_fifo
from tests.support.oracle.cleanup import cleanup
from tests.support.oracle.distribution import distribution
from tests.support.oracle.facts import NOTHING_KEPT, Facts, Findings, not_applicable
from tests.support.oracle.idleness import idle
from tests.support.oracle.lateness import lateness
from tests.support.oracle.routing import key_routing
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
    "watermark-monotone": watermark_monotone,
    "valve": valve,
    "key-routing": key_routing,
    "distribution": distribution,
    "window-fire": window_fire,
    "late-rows": late_rows,
    "lateness": lateness,
    "window-joins": window_joins,
    "cleanup": cleanup,
    "task-watermark": task_watermark,
    "idle": idle,
    "timers": timers,
}
_LEVELS: Final = {law.id: law.level for law in LAWS}


def check_all(facts: Facts, status: str = WHOLE) -> list[Outcome]:
    """One outcome per law that has a second definition.

    ``status`` is how the run ended (``recording.manifest.RunStatus``); the facts of any other than ``complete`` are judged
    as a prefix. ``docs/laws.md`` says what each law counts.
    """
    graph = job_graph(facts)
    return [check(law, facts, graph, status == WHOLE) for law in CHECKS]


def check(law: str, facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """The outcome of one law."""
    if facts.level < _LEVELS[law]:
        needed, recorded = _LEVELS[law].name.lower(), facts.level.name.lower()
        return not_applicable(law, f"needs recording level {needed}, the run was recorded at level {recorded}")
    if not graph.tasks:
        return Findings(0).outcome(law, NOTHING_KEPT)
    return CHECKS[law](facts, graph, whole)
