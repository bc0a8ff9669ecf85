"""Jobs that ran: with async operators, timers, windows and joins; correct ones violate no law, damaged ones do."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.facts.kinds import AsyncAction
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from tests.support.facts.cases import Case, with_async, with_event_time, with_windows
from tests.support.facts.slicing import BuiltFacts
from tests.support.jobs.window_scenarios import ASSIGNERS, TRIGGERS

Judged = list[tuple[Case, dict[str, Outcome]]]

OF_EVENT_TIME = ("task-watermark", "idle", "timers", "end")
OF_WINDOWS = ("window-fire", "late-rows", "lateness", "task-watermark", "idle", "timers")


def judged(cases: Iterable[Case]) -> Judged:
    return [(case, {o.law: o for o in check_all(BuiltFacts(case.facts), case.status)}) for case in cases]


@pytest.fixture(scope="module")
def async_jobs() -> Judged:
    return judged(with_async(2))


@pytest.fixture(scope="module")
def event_time_jobs() -> Judged:
    return judged(with_event_time(18))


@pytest.fixture(scope="module")
def window_jobs() -> Judged:
    return judged(with_windows(2))


@pytest.fixture(scope="module")
def all_jobs(async_jobs: Judged, event_time_jobs: Judged, window_jobs: Judged) -> Judged:
    return [*async_jobs, *event_time_jobs, *window_jobs]


def violated(cases: Judged) -> set[str]:
    return {law for _, outcomes in cases for law, o in outcomes.items() if o.verdict is Verdict.VIOLATED}


def test_correct_jobs_violate_no_law(all_jobs: Judged) -> None:
    honest = [(case, outcomes) for case, outcomes in all_jobs if case.honest]
    broken = {(case.name, law): o.evidence for case, outcomes in honest for law, o in outcomes.items() if o.violations}
    assert broken.keys() == {("stuck", "progress")}  # a job that is deadlocked


def test_correct_jobs_have_every_step_of_an_async_element(async_jobs: Judged) -> None:
    honest = [case for case, _ in async_jobs if case.honest]
    steps = {int(row["action"]) for case in honest for row in case.facts.rows("async_elements")}
    assert steps == {int(action) for action in AsyncAction}


def test_damage_violates_async_laws(async_jobs: Judged) -> None:
    assert violated(async_jobs) >= {"async-order", "async-once", "async-capacity", "async-retries"}


def test_event_time_laws_hold_in_correct_jobs_and_fail_after_damage(event_time_jobs: Judged) -> None:
    honest = [outcomes for case, outcomes in event_time_jobs if case.honest]
    assert len(honest) == 4
    assert {outcomes[law].verdict for outcomes in honest for law in OF_EVENT_TIME} == {Verdict.HOLDS}
    assert violated(event_time_jobs) >= {"task-watermark", "idle", "timers"}


def test_window_jobs_have_every_assigner_and_trigger(window_jobs: Judged) -> None:
    pairs = {tuple(case.name.split(", ", 1)) for case, _ in window_jobs if case.honest}
    assert {pair[0] for pair in pairs} >= set(ASSIGNERS)
    assert {pair[1] for pair in pairs if len(pair) == 2} >= set(TRIGGERS)


def test_window_laws_hold_in_correct_jobs_and_fail_after_damage(window_jobs: Judged) -> None:
    honest = [outcomes for case, outcomes in window_jobs if case.honest]
    held = {law for outcomes in honest for law in OF_WINDOWS if outcomes[law].verdict is Verdict.HOLDS}
    assert held == set(OF_WINDOWS)
    assert violated(window_jobs) >= {"window-fire", "late-rows", "lateness", "timers"}


def test_reason_names_windows_that_cannot_be_predicted(window_jobs: Judged) -> None:
    (outcomes,) = [outcomes for case, outcomes in window_jobs if case.name == "windows that cannot be foretold"]
    assert outcomes["window-fire"].reason == (
        "not checked: staggered (all), by the data (when it fires), "
        "evicting (when it fires, and which rows its evictor leaves)"
    )
    assert {outcomes[law].reason for law in ("late-rows", "lateness")} == {""}
