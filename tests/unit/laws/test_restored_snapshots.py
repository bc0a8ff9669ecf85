"""Law restored-state of a job that continues from a snapshot of another run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from flowsim.checkpoints.storage.directory.manifest import CheckpointManifest
from flowsim.cluster.job_status import JobStatus
from flowsim.facts.kinds import CommittableAction, Level, StoredAction, StoredKind
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.simulation import FailTask
from flowsim.units import NS_PER_MS
from tests.support.jobs.continued_job import run_job, take_savepoint
from tests.unit.laws.test_checkpoint_laws import DamagedFacts, Row, add, changed, last_changed, violations

NOT_DESCRIBED = "the snapshot from which the job started does not say what its run stored"


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return take_savepoint(MemoryRecorder(Level.FULL), tmp_path_factory.mktemp("savepoints"))


def continued(savepoint: str, **options: object) -> MemoryRecorder:
    facts = MemoryRecorder(Level.FULL)
    assert run_job(facts, savepoint=savepoint, **options).status is JobStatus.FINISHED  # type: ignore[arg-type]
    return facts


def violated(outcomes: list[Outcome]) -> set[str]:
    return {outcome.law for outcome in outcomes if outcome.verdict is Verdict.VIOLATED}


def judged(facts: MemoryRecorder) -> Outcome:
    outcomes = check_all(facts)
    assert violated(outcomes) == set()
    return next(each for each in outcomes if each.law == "restored-state")


def actions(facts: MemoryRecorder) -> set[StoredAction]:
    return {StoredAction(row[5]) for row in facts.rows("stored_state")}


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
def test_continued_job_is_compared_with_what_the_other_run_stored(parallelism: int, savepoint: str) -> None:
    facts = continued(savepoint, parallelism=parallelism)
    assert judged(facts).rows_examined > 60
    known = {StoredAction.IN_SNAPSHOT} | ({StoredAction.IN_RESCALED_SNAPSHOT} if parallelism != 2 else set())
    assert actions(facts) == known | {StoredAction.RESTORED}
    kinds = {StoredKind(row[6]) for row in facts.rows("stored_state") if row[5] != StoredAction.RESTORED}
    assert kinds == set(StoredKind)


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize("at_ms", [0, 1, 30])
def test_task_that_fails_after_the_restore_is_compared_again(at_ms: int, parallelism: int, savepoint: str) -> None:
    failures = (FailTask("counts", at_ns=at_ms * NS_PER_MS),)
    facts = continued(savepoint, parallelism=parallelism, failures=failures)
    assert len({facts.attempt(row[1], row[0]) for row in facts.rows("stored_state")}) == 2
    assert judged(facts).verdict is Verdict.HOLDS


def test_state_that_no_operator_restores_is_not_missing(savepoint: str) -> None:
    facts = continued(savepoint, without=["counts"])
    assert judged(facts).reason == ""
    assert StoredKind.EVENT_TIME_TIMERS not in {row[6] for row in facts.rows("stored_state")}


def test_snapshot_of_a_run_that_was_not_recorded_says_what_was_stored(tmp_path: Path, savepoint: str) -> None:
    facts, recorded = continued(take_savepoint(None, tmp_path)), continued(savepoint)
    assert judged(facts).rows_examined == judged(recorded).rows_examined
    of_states = [row for row in recorded.rows("stored_state") if row[6] != StoredKind.COMMITTABLE]
    assert [row[1:] for row in facts.rows("stored_state")] == [row[1:] for row in of_states]


def without_contents(savepoint: str, directory: Path) -> str:
    """Copies a snapshot that does not say what its run stored."""
    shutil.copytree(savepoint, directory)
    shutil.rmtree(directory / "stored_state")
    manifest = json.loads((directory / "manifest.json").read_bytes())
    del manifest["tables"]["stored_state"]
    unsigned = msgspec.convert(manifest, CheckpointManifest)
    (directory / "manifest.json").write_bytes(unsigned.to_bytes())
    return str(directory)


@pytest.mark.parametrize("parallelism", [2, 3])
def test_reason_says_that_a_snapshot_without_contents_is_not_judged(
    parallelism: int, savepoint: str, tmp_path: Path
) -> None:
    facts = continued(without_contents(savepoint, tmp_path / "bare"), parallelism=parallelism)
    outcome = judged(facts)
    assert (outcome.verdict, outcome.reason) == (Verdict.HOLDS, NOT_DESCRIBED)
    assert actions(facts) == {StoredAction.RESTORED}


def lost(**where: int) -> Callable[[list[Row]], list[Row]]:
    """Removes the last row with these values."""

    def damage(rows: list[Row]) -> list[Row]:
        found = [row for row in rows if all(row[name] == value for name, value in where.items())][-1]
        return [row for row in rows if row is not found]

    return damage


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize(
    "kind", [each for each in StoredKind if each is not StoredKind.COMMITTABLE], ids=lambda kind: kind.name
)
def test_content_that_is_not_restored_violates_the_law(kind: StoredKind, parallelism: int, savepoint: str) -> None:
    facts = continued(savepoint, parallelism=parallelism)
    where = {"kind": kind, "action": StoredAction.RESTORED}
    for damage in (
        lost(**where),
        changed(add("entries", 5), **where),
        last_changed(add("fingerprint_sum", 1), **where),
        last_changed(add("key_group" if kind < StoredKind.LIST else "state", 1), **where),
    ):
        assert violated(check_all(DamagedFacts(facts, "stored_state", damage))) == {"restored-state"}


@pytest.mark.parametrize("parallelism", [2, 3])
def test_committable_that_is_not_restored_violates_the_law_of_committables(parallelism: int, savepoint: str) -> None:
    facts = continued(savepoint, parallelism=parallelism)
    restored = [row for row in facts.rows("committables") if row[5] == CommittableAction.RESTORED]
    assert len(restored) == 4
    damage = changed(add("committable", 1), action=CommittableAction.RESTORED)
    damaged = DamagedFacts(facts, "committables", damage)
    assert violated(check_all(damaged)) == {"committed-once"}
    assert "a committable of the snapshot was not restored" in violations(damaged, "committed-once")


def test_elements_of_a_list_that_are_not_distributed_evenly_violate_the_law(savepoint: str) -> None:
    facts = continued(savepoint, parallelism=3)

    def move(rows: list[Row]) -> list[Row]:
        """Two elements from a subtask to another one."""
        of_list = [row for row in rows if (row["kind"], row["action"]) == (StoredKind.LIST, StoredAction.RESTORED)]
        first, _, third = [row for row in of_list if row["entries"] == 20]
        first["entries"] += 2
        third["entries"] -= 2
        return rows

    found = violations(DamagedFacts(facts, "stored_state", move), "restored-state")
    assert found == {"the elements of the list are not distributed evenly"}


def test_subtasks_that_restore_different_contents_violate_the_law_without_a_description(
    savepoint: str, tmp_path: Path
) -> None:
    facts = continued(without_contents(savepoint, tmp_path / "bare"), parallelism=2)
    of_union = changed(add("fingerprint_sum", 1), kind=StoredKind.UNION_LIST, action=StoredAction.RESTORED)
    found = violations(DamagedFacts(facts, "stored_state", of_union), "restored-state")
    assert found == {"subtasks restored different contents"}

    def of_other_subtask(rows: list[Row]) -> list[Row]:
        """A key group of one subtask is restored by the other one as well."""
        first = next(row for row in rows if row["kind"] < StoredKind.LIST)
        other = next(row for row in rows if row["kind"] == first["kind"] and row["operator"] == first["operator"]
                     and row["state"] == first["state"] and row["task"] != first["task"])  # fmt: skip
        other["key_group"] = first["key_group"]
        return rows

    found = violations(DamagedFacts(facts, "stored_state", of_other_subtask), "restored-state")
    assert found == {"several subtasks restored the key group"}
