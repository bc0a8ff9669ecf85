"""Random windows, triggers, evictors and data: the laws hold, and count damage as the oracle does."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.testing import DrawnScenario, Schedule, assert_laws, schedules, window_jobs
from tests.support.jobs.window_forms import Damaged, by_definition, by_machines, by_machines_in_epochs

pytestmark = pytest.mark.property

TABLES = ("window_fire", "window_fire", "window_intake", "window_merge", "late_drop", "task_watermark")
LEFT_ALONE = ("task", "operator", "key_hash", "kind", "input")


def damage(facts: Damaged, random: Random) -> None:
    """Changes, takes out or repeats one row; now and then nothing."""
    rows = facts.tables[random.choice(TABLES)]
    if not rows or random.random() < 0.1:
        return
    row = random.choice(rows)
    match random.randrange(4):
        case 0:
            rows.remove(row)
        case 1:
            later = [r for table in facts.tables.values() for r in table if r["seq"] > row["seq"]]
            for other in later:
                other["seq"] = int(other["seq"]) + 1
            rows.append({**row, "seq": int(row["seq"]) + 1})
        case _:
            column = random.choice([name for name in row if name not in LEFT_ALONE])
            far = column in ("seq", "time_ns") and random.random() < 0.5
            value = int(row[column])
            step = random.choice((-9, 9) if far else (-1, 1))
            changed = value + (step if abs(value) < 2**62 else -1 if value > 0 else 1)
            if column == "seq":
                # Two facts of a task never have the same place: they change places.
                for other in (r for table in facts.tables.values() for r in table if r["task"] == row["task"]):
                    if other["seq"] == changed:
                        other["seq"] = value
            row[column] = changed


@given(job=window_jobs(), schedule=schedules(), damages=st.integers(0, 10**6), whole=st.booleans())
def test_window_jobs_satisfy_laws_and_damage_counts_equal_oracle(
    job: DrawnScenario, schedule: Schedule, damages: int, whole: bool
) -> None:
    run = assert_laws(job, schedule=schedule, must_examine=("conservation",))
    for seed in range(damages, damages + 4):
        facts = Damaged(run.facts)
        damage(facts, Random(seed))
        expected = by_definition(facts, whole)
        assert by_machines(facts, whole) == expected
        for epochs in (2, 5):
            assert by_machines_in_epochs(facts, whole, epochs, seed) == expected
