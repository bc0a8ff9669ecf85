"""The machine of the window laws: counts of key partitions sum to the whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from random import Random

import pytest

from flowsim.laws.findings import Findings, FoundByLaw
from flowsim.laws.job_graph import job_graph
from flowsim.laws.law import reads_of
from flowsim.laws.windows.lateness import LateCounts, compare_late_counts
from flowsim.laws.windows.window_laws import LATENESS, LAWS, WindowMachine
from tests.support.facts.cases import Case, small, with_windows
from tests.support.facts.slicing import BuiltFacts, cut_slices, judged_in_slices

pytestmark = pytest.mark.slow

Counts = dict[str, tuple[int, int]]
"""Rows examined and violations by law, where rows were examined."""


def cases() -> Iterator[Case]:
    return chain(small(30, some_fail=True), with_windows(1, anywhere=1))


def judged(case: Case) -> Counts:
    outcomes = judged_in_slices(BuiltFacts(case.facts), LAWS, case.status, 2, 5)
    return {law: (each.rows_examined, each.violations) for law, each in outcomes.items() if each.rows_examined}


def judged_in_parts(case: Case, parts: int) -> Counts:
    """Each task examined by one machine for each part of its keys."""
    facts, whole = BuiltFacts(case.facts), case.status == "complete"
    graph, found = job_graph(facts), FoundByLaw({law.id: Findings() for law in LAWS})
    machines = {
        number: [WindowMachine.make(graph, task, found, (index, parts)) for index in range(parts)]
        for number, task in graph.tasks.items()
    }
    for piece in cut_slices(facts, reads_of(LAWS, graph), 3, Random(parts)):
        for machine in machines[piece.task]:
            if machine is not None:
                machine.feed(piece)
    answers: dict[int, object] = {}
    for number, made in machines.items():
        together = answers[number] = LateCounts()
        for machine in made:
            answer = machine.end(whole) if machine is not None else None
            if answer is not None:
                together.add(answer)
    compare_late_counts(graph, answers, whole, found[LATENESS])
    return {law: (each.examined, each.violations) for law, each in found.items() if each.examined}


def test_counts_of_key_partitions_sum_to_those_of_one_machine() -> None:
    damaged = 0
    for case in cases():
        expected = judged(case)
        damaged += any(violations for _, violations in expected.values())
        for parts in (1, 2, 3):
            assert judged_in_parts(case, parts) == expected, (case.name, parts)
    assert damaged > 20
