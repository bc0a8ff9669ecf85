"""Every law holds on an honest recording, and falls to the mutation that breaks it: all recordings in one pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsim.facts.kinds import Level, LifeEvent
from flowsim.laws.catalogue import LAW_IDS, LAWS
from flowsim.laws.judge import check_all
from flowsim.laws.law import EVIDENCE_ROWS, Verdict
from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from flowsim.validation.judge import validate
from tests.support.facts.fact_builder import FactBuilder
from tests.support.facts.mutations import MUTATIONS
from tests.support.facts.valid_job import honest_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flowsim.laws.law import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

CUTS = (500, 2500, 4000, 5000, 5600, 6400)


def one_task() -> FactBuilder:
    """A job that is one source: no channel, no window, no key."""
    f = FactBuilder(Level.FULL)
    f.add("tasks", task=0, name="source (1/1)", parallelism=1, max_parallelism=128)
    f.add("operators", name="source", kind="source", params="{}", input_operator=-1)
    for operator, event in (
        (-1, LifeEvent.RUNNING), (0, LifeEvent.OPEN), (0, LifeEvent.FINISH), (0, LifeEvent.CLOSE), (-1, LifeEvent.FINISHED)
    ):  # fmt: skip
        f.add("lifecycle", task=0, operator=operator, event=event)
    f.add("operator_counts", task=0, records_in=3, records_out=3)
    return f


def recordings() -> dict[str, tuple[FactBuilder, str, int]]:
    """By name: facts, status, and how many facts lie behind the last complete epoch."""
    honest = honest_job()
    found = {"honest": (honest, "complete", 0)}
    for name, (mutate, _) in MUTATIONS.items():
        broken = honest.copy()
        mutate(broken)
        found[name] = (broken, "complete", 0)
    for cut in CUTS:
        found[f"cut {cut}"] = (honest.copy(cut), "running", 40)
    late = honest.copy(3000)
    lost = late.rows("received", lambda r: r["kind"] == 0 and r["channel"] == 1)[5]
    late.remove("received", lost)
    for row in late.rows("received", lambda r: r["channel"] == 1 and r["position"] > lost["position"]):
        row["position"] -= 1
    found["failed after a loss"] = (late, "failed", 0)
    found["killed at once"] = (honest.copy(), "running", len(honest.facts))
    found["without records"] = (honest_job(records=0), "complete", 0)
    found["level elements"] = (honest_job(Level.ELEMENTS, seed=2), "complete", 0)
    found["one task"] = (one_task(), "complete", 0)
    return found


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("recordings")
    return {
        name: facts.write(folder / str(number), status, epochs=1 + (number % 8 == 0), open_facts=still_open)
        for number, (name, (facts, status, still_open)) in enumerate(recordings().items())
    }


@pytest.fixture(scope="module")
def judged(spark: SparkSession, paths: dict[str, Path]) -> dict[str, dict[str, Outcome]]:
    report = validate(spark, list(paths.values()))
    return {name: report.of(run) for run, name in enumerate(paths)}


def violated(outcomes: dict[str, Outcome]) -> dict[str, int]:
    return {law: o.violations for law, o in outcomes.items() if o.verdict is Verdict.VIOLATED}


def test_every_law_examines_rows_and_holds_on_an_honest_recording(judged: dict[str, dict[str, Outcome]]) -> None:
    assert tuple(judged["honest"]) == LAW_IDS
    assert {o.verdict for o in judged["honest"].values()} == {Verdict.HOLDS}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_breaks_its_laws_and_no_other(name: str, judged: dict[str, dict[str, Outcome]]) -> None:
    expected = MUTATIONS[name][1]
    found = violated(judged[name])
    assert set(found) == set(expected)
    assert all(found[law] == count for law, count in expected.items() if count >= 0)
    for law in expected:
        assert 0 < len(judged[name][law].evidence) <= EVIDENCE_ROWS


def test_evidence_names_the_rows_that_differ(judged: dict[str, dict[str, Outcome]]) -> None:
    (row,) = judged["a_received_record_has_another_payload"]["channel-fifo"].evidence
    assert int(str(row["received_fingerprint"])) - int(str(row["sent_fingerprint"])) == 1
    assert row["sent_timestamp"] == row["received_timestamp"]


@pytest.mark.parametrize("cut", CUTS)
def test_a_killed_run_is_judged_up_to_its_last_complete_epoch(cut: int, judged: dict[str, dict[str, Outcome]]) -> None:
    outcomes = judged[f"cut {cut}"]
    assert violated(outcomes) == {}
    assert outcomes["channel-fifo"].rows_examined > 0
    assert "judged as a prefix" in outcomes["channel-fifo"].reason


def test_a_loss_inside_the_recording_of_a_failed_run_is_seen(judged: dict[str, dict[str, Outcome]]) -> None:
    assert set(violated(judged["failed after a loss"])) == {"channel-fifo"}


def test_a_law_without_rows_is_vacuous_and_no_pass(judged: dict[str, dict[str, Outcome]]) -> None:
    verdicts = {law: o.verdict for law, o in judged["without records"].items()}
    vacuous = {law for law, verdict in verdicts.items() if verdict is Verdict.VACUOUS}
    assert vacuous == {"key-routing", "window-fire", "late-rows", "lateness", "async-retries"}


def test_a_run_killed_before_its_first_part_passes_no_law(judged: dict[str, dict[str, Outcome]]) -> None:
    found = {(o.verdict, o.reason) for o in judged["killed at once"].values()}
    assert found == {(Verdict.VACUOUS, "the run ended before anything was kept")}


def test_laws_of_level_full_do_not_apply_below_it(judged: dict[str, dict[str, Outcome]]) -> None:
    outcomes = judged["level elements"]
    assert {law for law, o in outcomes.items() if o.verdict is Verdict.NOT_APPLICABLE} == {
        law.id for law in LAWS if law.level is Level.FULL
    }
    assert outcomes["credits"].reason == "needs recording level full, the run was recorded at level elements"


def test_what_the_graph_lacks_makes_a_law_not_applicable(judged: dict[str, dict[str, Outcome]]) -> None:
    outcomes = judged["one task"]
    reasons = {law: o.reason for law, o in outcomes.items() if o.verdict is Verdict.NOT_APPLICABLE}
    assert set(reasons) == set(LAW_IDS) - {"conservation", "actions", "mails", "life-cycle"}
    assert reasons["channel-fifo"] == "the job has no channels"
    assert outcomes["conservation"].verdict is Verdict.HOLDS
    assert outcomes["actions"].verdict is Verdict.VACUOUS


def test_both_judges_agree_on_verdicts_rows_violations_and_reasons(
    judged: dict[str, dict[str, Outcome]], paths: dict[str, Path]
) -> None:
    def seen(outcomes: list[Outcome], whole: bool) -> list[tuple[str, Verdict, int, int, str]]:
        return [(o.law, o.verdict, o.rows_examined, o.violations, o.reason if whole else "") for o in outcomes]

    for name, path in paths.items():
        recording = Recording.open(path)
        whole = recording.status is RunStatus.COMPLETE
        mine = check_all(recording, recording.status.value)
        assert seen(mine, whole) == seen(list(judged[name].values()), whole), name
