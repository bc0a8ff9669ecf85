"""All laws over recordings cut into epochs, correct and damaged; those that examine whole columns compared with plain
definitions over whole recordings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, islice

import pytest

from flowsim.laws.catalogue import LAWS
from flowsim.laws.job_graph import job_graph as oracle_graph
from flowsim.laws.judge import NOTHING_RECORDED, applicable
from flowsim.laws.law import NOTHING_YET, Outcome, Verdict
from flowsim.laws.law_ids import LAW_IDS
from tests.support.facts.cases import Case, mutated, small, with_async, with_event_time, with_windows
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.restarted import with_restarts
from tests.support.facts.slicing import BuiltFacts, judged_in_slices
from tests.support.oracle.attempts import check_attempts
from tests.support.oracle.facts import NOTHING_KEPT
from tests.support.oracle.judge import CHECKS
from tests.support.oracle.judge import check as oracle_check

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MANY_EPOCHS = 4
DEFINED = tuple(law for law in LAWS if law.id in CHECKS)
Counts = tuple[Verdict, int, int, str]
"""Verdict, rows examined, violations and reason."""


def cases() -> Iterator[Case]:
    """One after the other: together they would need a GiB."""
    return chain(
        islice(mutated(), 0, None, 2),  # Their exact outcomes are in test_mutations.
        small(len(KINDS), some_fail=True),
        islice(with_async(8), 0, None, 2),
        islice(with_event_time(24), 0, None, 2),
        islice(with_windows(4, anywhere=4), 0, None, 3),
    )


def counts(outcome: Outcome) -> Counts:
    return outcome.verdict, outcome.rows_examined, outcome.violations, outcome.reason


def expected_counts(outcome: Outcome, status: str) -> Counts:
    """Where a prefix shows nothing, the judge does not call that vacuous."""
    if outcome.reason == NOTHING_KEPT:
        return Verdict.VACUOUS, 0, 0, NOTHING_RECORDED
    if outcome.verdict is Verdict.VACUOUS and status != "complete":
        return Verdict.NOT_APPLICABLE, 0, 0, NOTHING_YET
    return counts(outcome)


@pytest.fixture(scope="module")
def differences() -> Mapping[str, list[str]]:
    """By law, where the machines and the definition count otherwise, or depend on how the facts were cut into epochs."""
    found: dict[str, list[str]] = defaultdict(list)
    for number, case in enumerate(cases()):
        facts = BuiltFacts(case.kept)
        graph, whole = oracle_graph(facts), case.status == "complete"
        at_once = judged_in_slices(facts, LAWS, case.status, seed=number)
        # Cutting takes a third of the time of all, and does not depend on the damage: every fifth case is enough.
        cut = judged_in_slices(facts, LAWS, case.status, MANY_EPOCHS, number) if number % 5 == 0 else at_once
        for law in CHECKS:
            expected = oracle_check(law, facts, graph, whole)
            for epochs, mine in ((1, at_once[law]), (MANY_EPOCHS, cut[law])):
                if counts(mine) != expected_counts(expected, case.status):
                    found[law].append(
                        f"{case.name}, {case.status}, {epochs} epochs: {counts(mine)} {mine.evidence[:3]}, "
                        f"by definition {expected_counts(expected, case.status)} {expected.evidence[:3]}"
                    )
        for law, outcome in at_once.items():
            if cut[law] != outcome:
                found[law].append(f"{case.name}: {outcome} at once, {cut[law]} in {MANY_EPOCHS} epochs")
    return found


@pytest.mark.parametrize("law", LAW_IDS)
def test_laws_agree_with_oracle_and_do_not_depend_on_epochs(law: str, differences: Mapping[str, list[str]]) -> None:
    differing = differences.get(law, [])
    assert not differing, f"{len(differing)} differ:\n" + "\n".join(differing[:8])


def test_laws_of_restarted_jobs_agree_with_oracle() -> None:
    differing = []
    for number, case in enumerate(with_restarts(8)):
        facts = BuiltFacts(case.kept)
        graph, whole = oracle_graph(facts), case.status == "complete"
        outcomes = judged_in_slices(facts, LAWS, case.status, epochs=1 + number % 3, seed=number)
        for law in applicable(DEFINED, graph, facts.level)[0]:
            expected = check_attempts(law.id, facts, graph, whole, law.attempts)
            found = outcomes[law.id].rows_examined, outcomes[law.id].violations
            if found != expected:
                differing.append(f"{case.name}, {case.status}: {law.id} {found}, by definition {expected}")
        assert not case.honest or not any(outcome.violations for outcome in outcomes.values()), case.name
    assert not differing, f"{len(differing)} differ:\n" + "\n".join(differing[:8])
