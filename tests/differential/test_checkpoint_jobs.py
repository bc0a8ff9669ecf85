"""Random whole jobs with aligned checkpoints, failures, savepoints, stops and rescaling, here and on the real Flink.

Compared are how the phases end, the checkpoints, what is committed, and in each attempt of each subtask what it restores,
receives, emits and snapshots, in order. ``checkpoint_differences.py`` runs one job alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.flink.machine import Differential, seeds
from tests.support.jobs.checkpoint_differences import differences
from tests.support.jobs.checkpoint_job_writer import CheckpointJobWriter

FIXED = (0, 1, 3, 5, 10, 240)
"""Kinds of their own; the last one has a stateless task, which is restored as new."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, FIXED))


def test_random_jobs_restore_and_commit_what_flinks_do(differential: Differential, seed: int, tmp_path: Path) -> None:
    case = CheckpointJobWriter(seed).case()
    different = differences(differential, case, tmp_path)
    if different:
        pytest.fail(f"seed {seed} ({case['job']}):\n{different}", pytrace=False)
