"""Reads facts for an export: what the values of a damaged recording break is reported as bad input."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.history.run_span import start_of
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.recorded_file import out_of_range


def each_fact(recording: Recording, selection: Selection, add: Callable[[Fact, int], object]) -> int:
    """Calls ``add`` with each fact and its time since the start in ns, in causal order; returns their number.

    Raises BadInput if ``add`` fails because a number of a fact is out of range.
    """
    start_ns, count = start_of(recording), 0
    for fact in merged_facts(recording, selection):
        try:
            add(fact, fact.time_ns - start_ns)
        except (LookupError, ValueError):
            raise out_of_range(recording.directory, fact.table, fact.task, fact.row[0]) from None
        count += 1
    return count
