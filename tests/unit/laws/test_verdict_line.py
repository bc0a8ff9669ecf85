"""The verdicts of runs as one line."""

from __future__ import annotations

from flowsim.laws.law import Outcome, Verdict
from flowsim.laws.verdict_line import verdict_line


def outcomes(verdict: Verdict, *laws: str) -> list[Outcome]:
    return [Outcome(law, verdict, 0, 0) for law in laws]


def test_line_counts_laws_that_hold_and_that_do_not_apply() -> None:
    holding, others = outcomes(Verdict.HOLDS, "a", "b"), outcomes(Verdict.NOT_APPLICABLE, "c")
    assert verdict_line([*holding, *others]) == "2 laws hold, 1 does not apply"
    assert verdict_line(holding[:1]) == "1 law holds"
    assert verdict_line(others) == "1 law does not apply"
    assert verdict_line([]) == "no law was checked"


def test_line_names_violated_and_vacuous_laws_first() -> None:
    line = verdict_line(
        [*outcomes(Verdict.HOLDS, "a"), *outcomes(Verdict.VACUOUS, "b"), *outcomes(Verdict.VIOLATED, "c", "d")]
    )
    assert line == "c and d are violated, b is vacuous, 1 law holds"


def test_line_counts_violated_laws_after_the_first_three() -> None:
    violated = outcomes(Verdict.VIOLATED, "a", "b", "c", "d", "e")
    assert verdict_line(violated[:4]) == "a, b, c and d are violated"
    assert verdict_line(violated) == "a, b, c and 2 more laws are violated"


def test_line_of_several_runs_has_the_worst_verdict_of_each_law() -> None:
    first = [*outcomes(Verdict.HOLDS, "a", "b"), *outcomes(Verdict.NOT_APPLICABLE, "c")]
    second = [*outcomes(Verdict.VIOLATED, "a"), *outcomes(Verdict.VACUOUS, "b"), *outcomes(Verdict.HOLDS, "c")]
    assert verdict_line([*first, *second]) == "a is violated, b is vacuous, 1 law holds"


def test_line_names_recomputations_that_hold() -> None:
    recomputed, others = outcomes(Verdict.HOLDS, "recompute:flights"), outcomes(Verdict.NOT_APPLICABLE, "b")
    assert verdict_line([*outcomes(Verdict.HOLDS, "a"), *recomputed, *others]) == (
        "1 law and recompute:flights hold, 1 does not apply"
    )
    assert verdict_line([*recomputed, *others]) == "recompute:flights holds, 1 law does not apply"
