"""Every law holds for correct recordings, and is violated by its mutations: recordings checked from their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from flowsim.facts.kinds import Level
from flowsim.laws.catalogue import LAWS
from flowsim.laws.findings import EVIDENCE_ROWS
from flowsim.laws.judge import NOTHING_RECORDED, check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.laws.law_ids import LAW_IDS
from flowsim.recording.reader import Recording
from flowsim.validation.judge import open_runs, validate
from tests.benchmarks.bench_judge import write
from tests.benchmarks.big_recording import BigJob
from tests.support.facts.cases import CUTS, Case, mutated, small
from tests.support.facts.checkpoint_laws import OF_CHECKPOINTS, OTHER_LAWS
from tests.support.facts.fact_builder import FactBuilder
from tests.support.facts.mutations import MUTATIONS
from tests.support.facts.random_mutations import KINDS, KINDS_OF_JOINS
from tests.support.facts.slicing import BuiltFacts, judged_in_slices
from tests.support.facts.valid_job import honest_job
from tests.support.oracle.judge import CHECKS

Outcomes = dict[str, Outcome]
DAMAGED = len(KINDS)
OF_JOINS = {"joins", "window-joins"}
"""Laws about what the model job does not have."""


@dataclass(frozen=True)
class Judged:
    """A recording, and its outcomes from its files and, of every third one, from memory."""

    case: Case
    outcomes: Outcomes
    in_memory: Outcomes


def judged(cases: list[Case], folder: Path, more_epochs: bool) -> list[Judged]:
    """Every eighth recording has two epochs if ``more_epochs``."""
    paths = [
        case.write(folder / str(number), epochs=1 + (more_epochs and number % 8 == 0))
        for number, case in enumerate(cases)
    ]
    report = validate(open_runs(paths))
    return [
        Judged(
            case,
            report.of(run),
            {} if run % 3 else {o.law: o for o in check_all(Recording.open(path), case.status)},
        )
        for run, (case, path) in enumerate(zip(cases, paths, strict=True))
    ]


@pytest.fixture(scope="module")
def of_the_honest_job(tmp_path_factory: pytest.TempPathFactory) -> list[Judged]:
    """The honest job, its mutations and its prefixes."""
    return judged(list(mutated()), tmp_path_factory.mktemp("mutated"), more_epochs=True)


@pytest.fixture(scope="module")
def outcomes_of(of_the_honest_job: list[Judged]) -> Mapping[str, Outcomes]:
    return {one.case.name: one.outcomes for one in of_the_honest_job}


@pytest.fixture(scope="module")
def at_random(tmp_path_factory: pytest.TempPathFactory) -> list[Judged]:
    """Small jobs damaged at random."""
    return judged(list(small(DAMAGED)), tmp_path_factory.mktemp("small"), more_epochs=False)


@cache
def honest() -> FactBuilder:
    """Does not depend on the laws."""
    return honest_job()


def violated(outcomes: Outcomes) -> dict[str, int]:
    return {law: o.violations for law, o in outcomes.items() if o.verdict is Verdict.VIOLATED}


def test_every_law_examines_rows_and_holds_on_correct_recording(outcomes_of: Mapping[str, Outcomes]) -> None:
    assert tuple(outcomes_of["honest"]) == LAW_IDS
    found = {law: outcomes_of[law if law in OF_JOINS else "honest"][law] for law in OTHER_LAWS}
    assert {o.verdict for o in found.values()} == {Verdict.HOLDS}
    assert all(o.rows_examined > 0 for o in found.values())


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_violates_exactly_its_laws(name: str) -> None:
    mutate, expected = MUTATIONS[name]
    facts = honest().copy()
    mutate(facts)
    outcomes = judged_in_slices(BuiltFacts(facts), LAWS)
    found = violated(outcomes)
    assert set(found) == set(expected)
    assert all(found[law] == count for law, count in expected.items() if count >= 0)
    for law in expected:
        assert 0 < len(outcomes[law].evidence) <= EVIDENCE_ROWS


def test_evidence_names_the_different_rows(outcomes_of: Mapping[str, Outcomes]) -> None:
    (row,) = outcomes_of["a_received_record_has_another_payload"]["channel-fifo"].evidence
    sent, received = row["sent"], row["received"]
    assert isinstance(sent, dict)
    assert received == sent | {"fingerprint": sent["fingerprint"] + 1}
    assert row["what"] == f"the element at position {row['position']} of channel {row['channel']} was changed"


@pytest.mark.parametrize("cut", CUTS)
def test_killed_run_is_checked_up_to_last_complete_epoch(cut: int, outcomes_of: Mapping[str, Outcomes]) -> None:
    outcomes = outcomes_of[f"cut {cut}"]
    assert violated(outcomes) == {}
    assert outcomes["channel-fifo"].rows_examined > 0
    assert outcomes["channel-fifo"].reason == "the run is running: its recording is checked as a prefix"


def test_loss_inside_failed_run_is_reported(outcomes_of: Mapping[str, Outcomes]) -> None:
    assert set(violated(outcomes_of["failed after a loss"])) == {"channel-fifo"}


def test_law_without_rows_is_vacuous(outcomes_of: Mapping[str, Outcomes]) -> None:
    verdicts = {law: o.verdict for law, o in outcomes_of["without records"].items()}
    vacuous = {law for law, verdict in verdicts.items() if verdict is Verdict.VACUOUS}
    assert vacuous == {
        "key-routing",
        "distribution",
        "window-fire",
        "late-rows",
        "lateness",
        "async-retries",
        "cleanup",
        "async-payload",
        "async-timers",
    }


def test_run_killed_before_first_part_is_vacuous_for_every_law(outcomes_of: Mapping[str, Outcomes]) -> None:
    found = {(o.verdict, o.reason) for o in outcomes_of["killed at once"].values()}
    assert found == {(Verdict.VACUOUS, NOTHING_RECORDED)}


def test_laws_of_level_full_are_not_applicable_below_it(outcomes_of: Mapping[str, Outcomes]) -> None:
    outcomes = outcomes_of["level elements"]
    assert {law for law, o in outcomes.items() if o.verdict is Verdict.NOT_APPLICABLE} == {
        *OF_JOINS,
        *OF_CHECKPOINTS,
        *(law.id for law in LAWS if law.level is Level.FULL),
    }
    assert outcomes["credits"].reason == "needs recording level full, the run was recorded at level elements"


def test_laws_about_missing_graph_parts_are_not_applicable(outcomes_of: Mapping[str, Outcomes]) -> None:
    outcomes = outcomes_of["one task"]
    reasons = {law: o.reason for law, o in outcomes.items() if o.verdict is Verdict.NOT_APPLICABLE}
    assert set(reasons) == set(LAW_IDS) - {"conservation", "actions", "mails", "fairness", "life-cycle", "progress"}
    assert reasons["channel-fifo"] == "the job has no channels"
    assert outcomes["conservation"].verdict is Verdict.HOLDS
    assert outcomes["actions"].verdict is Verdict.VACUOUS


def test_random_damage_covers_every_kind_and_law_with_a_second_definition(at_random: list[Judged]) -> None:
    damaged = [one.case for one in at_random if one.case.laws]
    kinds = (*KINDS, *KINDS_OF_JOINS)
    assert len(damaged) == DAMAGED + len(KINDS_OF_JOINS)
    assert {case.name.split(": ")[1] for case in damaged} == {kind.name for kind in kinds}
    assert set().union(*(kind.laws for kind in kinds)) >= CHECKS.keys()


def test_random_damage_violates_laws_of_its_kind(at_random: list[Judged]) -> None:
    missed = {one.case.name: one.case.laws - violated(one.outcomes).keys() for one in at_random}
    assert {name: laws for name, laws in missed.items() if laws} == {}


def test_correct_and_cut_recordings_violate_no_law(at_random: list[Judged]) -> None:
    honest = [one for one in at_random if one.case.honest]
    assert len(honest) == 10
    assert {one.case.name: broken for one in honest if (broken := violated(one.outcomes))} == {}


def test_files_and_memory_get_same_verdicts(of_the_honest_job: list[Judged], at_random: list[Judged]) -> None:
    differ: dict[tuple[str, str], tuple[Outcome, Outcome]] = {}
    for one in (*of_the_honest_job, *at_random):
        for law, mine in one.in_memory.items():
            found = one.outcomes[law]
            # Of a prefix only the judge of files says so in the reason.
            if found != replace(mine, reason=mine.reason if one.case.status == "complete" else found.reason):
                differ[one.case.name, law] = found, mine
    assert differ == {}


def test_generated_benchmark_recording_satisfies_all_laws(tmp_path: Path) -> None:
    write(BigJob(2, 9, 20), tmp_path / "recording")
    outcomes = validate(open_runs([tmp_path])).of(0)
    assert {law: o.verdict for law, o in outcomes.items() if law in OTHER_LAWS and law not in OF_JOINS} == {
        law: Verdict.HOLDS for law in OTHER_LAWS if law not in OF_JOINS
    }
