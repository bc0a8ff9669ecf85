"""Random whole jobs with checkpoints, failures, savepoints, stops and rescaling, here and on the real Flink.

Compared are how the phases end, the checkpoints, what is committed, and in each attempt of each subtask what it restores,
receives, emits and snapshots, in order. Jobs with unaligned checkpoints have data in flight when they take a snapshot; of
some of them Flink determines less. ``checkpoint_differences.py`` runs one job alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.flink.machine import Differential, seeds
from tests.support.jobs.checkpoint_differences import differences
from tests.support.jobs.checkpoint_job_writer import CheckpointJobWriter
from tests.support.jobs.unaligned_job_writer import UnalignedJobWriter

FIXED = (0, 1, 3, 5, 10, 240)
"""Kinds of their own; the last one has a stateless task, which is restored as new."""
FIXED_UNALIGNED = (67, 86, 134, 987802, 987817)
"""In the last two a stateless task is restored with the id of the checkpoint, because its sender stored outputs."""

FIXED_DISABLED = (0, 1, 3, 5, 9, 11)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    of_names = (("seed", FIXED), ("unaligned_seed", FIXED_UNALIGNED), ("disabled_seed", FIXED_DISABLED))
    for name, fixed in of_names:
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, seeds(metafunc.config, fixed))


def check(differential: Differential, case: dict[str, Any], folder: Path) -> None:
    different = differences(differential, case, folder)
    if different:
        pytest.fail(f"seed {case['seed']} ({case['job']}):\n{different}", pytrace=False)


def test_random_jobs_restore_and_commit_what_flinks_do(differential: Differential, seed: int, tmp_path: Path) -> None:
    check(differential, CheckpointJobWriter(seed).case(), tmp_path)


def test_random_jobs_without_an_interval_take_no_final_checkpoint(
    differential: Differential, disabled_seed: int, tmp_path: Path
) -> None:
    """Rule 12.146."""
    case = CheckpointJobWriter(disabled_seed).case()
    case["params"]["enabled"] = False
    check(differential, case, tmp_path)


def test_random_jobs_with_in_flight_data_restore_and_commit_what_flinks_do(
    differential: Differential, unaligned_seed: int, tmp_path: Path
) -> None:
    check(differential, UnalignedJobWriter(unaligned_seed).case(), tmp_path)
