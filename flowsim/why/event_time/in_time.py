"""Why records that arrived at windows or interval joins were not late: by columns, as the chains of late records."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.schema import WINDOW_INTAKE
from flowsim.history.lateness import is_interval_join
from flowsim.history.rows import alike
from flowsim.history.windows import cleanups_of, newest_windows
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import WindowPlan, window_plan
from flowsim.units import NO_TIMESTAMP
from flowsim.why.alike_causes import AlikeCauses, Chains
from flowsim.why.event_time.late_chain import by_attempt, described, kinds_of_records, lateness_rule
from flowsim.why.restarts import attempt_text
from flowsim.why.run_facts import Ints, Mask, Rows, RunFacts
from flowsim.why.sentence import EventTime, Sentence, Window, capital

_MOST_WINDOWS_LISTED: Final = 6


def never_late(plan: WindowPlan) -> str:
    """Why no record is late at windows that do not follow event time (rule 10.6)."""
    why = "the global window is never closed" if plan.shape == "global" else "the windows follow the clock"
    return f"{why}, so no record is late"


def in_time_chains(facts: RunFacts, intakes: Rows) -> Chains:
    """The statement that each record is not late, and why. ``intakes``: rows of table ``window_intake``."""
    chains = Chains(len(intakes))
    for of_attempt, numbers in by_attempt(facts, intakes, WINDOW_INTAKE.name):
        _add_in_time(chains, numbers, of_attempt, intakes.in_order(numbers))
    return chains


def _add_in_time(chains: Chains, numbers: Ints, facts: RunFacts, intakes: Rows) -> None:
    """``intakes``: records of one operator in one attempt."""
    task, number = (intakes.row(0)[name] for name in ("task", "operator"))
    operator, name = facts.operator(task, number), f"{facts.operator_in(task, number)}{attempt_text(facts, task)}"
    plan = None if operator is None else window_plan(operator)
    counts = starts = ends = np.zeros(len(intakes), dtype=np.int64)
    if plan is not None:
        counts, starts, ends = newest_windows(plan, intakes["timestamp"], intakes["time_ns"], intakes["gap"])
    is_skipped: Mask = (counts == 0) & (plan is not None)
    for which in alike(is_skipped, *kinds_of_records(facts, intakes)):
        part = intakes.in_order(which)
        of_record = Sentence(described(facts, part), f" is not late at {name}")
        if plan is not None and is_skipped[which[0]]:
            text = Sentence(of_record, ", but no window contains it.")
            chains.add(numbers[which], AlikeCauses(text, ("10.10",), part))
            slide = (
                f"The windows have a size of {plan.size_ms:,} ms, and a new one starts every {plan.slide_ms:,} ms: a record "
                "in the gap between two windows is skipped. It is not counted as late unless it is also behind the "
                "watermark."
            )
            chains.add(numbers[which], AlikeCauses(Sentence(slide), ("10.4", "I10.a"), part))
        else:
            rules = (lateness_rule(operator, "10.9"),)
            chains.add(numbers[which], AlikeCauses(Sentence(of_record, "."), rules, part))
    rest = np.flatnonzero(~is_skipped)
    if len(rest):
        _add_reasons(
            chains, numbers[rest], operator, plan, intakes.in_order(rest), counts[rest], starts[rest], ends[rest]
        )


def _add_reasons(
    chains: Chains,
    numbers: Ints,
    operator: Operator | None,
    plan: WindowPlan | None,
    intakes: Rows,
    counts: Ints,
    starts: Ints,
    ends: Ints,
) -> None:
    """``counts``, ``starts`` and ``ends``: the number of windows of each record, and its newest one."""
    watermarks = intakes["watermark"]
    is_ahead = intakes["timestamp"] > watermarks
    still_open = np.zeros(len(intakes), dtype=np.int64)
    if plan is not None and plan.event_time:
        for at in range(min(_MOST_WINDOWS_LISTED, int(counts.max()))):
            # The newest windows are cleaned up last.
            cleanup = cleanups_of(plan, starts - at * plan.slide_ms, ends - at * plan.slide_ms)
            still_open += (at < counts) & (cleanup > watermarks)
    for which in alike(watermarks == NO_TIMESTAMP, is_ahead, still_open):
        part, watermark = intakes.in_order(which), EventTime(watermarks[which])
        rules, lines = (lateness_rule(operator, "10.9"),), tuple[Sentence, ...]()
        if plan is not None and not plan.event_time:
            why = never_late(plan)
            text, rules = Sentence(f"{capital(why)}."), ("10.6",)
        elif watermarks[which[0]] == NO_TIMESTAMP:
            text = Sentence("It arrived before the first watermark.")
        elif is_interval_join(operator):
            text = Sentence("Its timestamp is not below the watermark, which was ", watermark, ".")
        elif is_ahead[which[0]]:
            text = Sentence("It arrived above the watermark, which was ", watermark, ".")
        elif plan is None:
            text = Sentence("It arrived behind the watermark, which was ", watermark, ".")
        else:
            count = int(still_open[which[0]])
            windows = [(starts[which] - at * plan.slide_ms, ends[which] - at * plan.slide_ms) for at in range(count)]
            lines = tuple(
                Sentence(
                    Window(*window),
                    " accepts records until the watermark reaches ",
                    EventTime(cleanups_of(plan, *window)),
                )
                for window in windows
            )
            why = "a window was still open" if lines else "it merged into a window that was still open"
            how = f", but {why}: lateness depends on the end of the window, not on the record's own timestamp."
            text = Sentence("It arrived behind the watermark, which was ", watermark, how)
            chains.add(numbers[which], AlikeCauses(text, ("10.8", "10.9") if lines else ("10.9", "10.25"), part, lines))
            continue
        chains.add(numbers[which], AlikeCauses(text, rules, part))
