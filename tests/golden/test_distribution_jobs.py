"""The targets of the records of whole jobs, per source, as on the real Flink (section 2).

Which subtask gets which record is compared in ``tests/unit/datastream/test_golden_jobs.py``. Here: how many go from each
source to each target, and that each source's records reach a target in order.
"""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.graph.stream_graph import PartitionerSpec
from tests.support.flink.golden import cases
from tests.support.jobs.small_jobs import Arrivals, SmallJob, by_key

pytestmark = pytest.mark.golden
NAMES = {"rebalance", "rescale", "broadcast", "shuffle", "global", "forward"}


def arrived(case: dict[str, Any]) -> Arrivals:
    """Plays the records (id, key, source) of every source subtask."""
    scripts, how = case["sources"][0]["script"], case["params"]["how"]
    by: str | PartitionerSpec | None = how.upper() if how in NAMES else None
    if how == "hash":
        by = by_key(lambda value: value[1])  # type: ignore[index]
    job = SmallJob(buffer_timeout_ms=0)
    source = job.values(lambda subtask: [(e[2], e[3], subtask) for e in scripts[subtask]], len(scripts))
    arrivals = job.sink(
        source, by=by, parallelism=case["params"]["parallelism"], max_parallelism=case["params"].get("max_parallelism"),
        chain=False,
    )  # fmt: skip
    job.run()
    return arrivals


def test_records_are_distributed_over_targets_as_in_flink() -> None:
    """Exactly for what is determined; rebalance up to where it starts, shuffle only in its sum."""
    examined = records = 0
    for case in cases("job/distribution"):
        scripts, how, targets = case["sources"][0]["script"], case["params"]["how"], case["params"]["parallelism"]
        arrivals = arrived(case)
        counts = [[0] * targets for _ in scripts]
        for arrival in arrivals.records:
            counts[arrival.value[2]][arrival.subtask] += 1  # type: ignore[index]
        flink = case["result"]["counts_src_by_dst"]
        by_rebalance = how == "rebalance" or (how == "default" and len(scripts) != targets)
        if by_rebalance:
            assert [sorted(row) for row in counts] == [sorted(row) for row in flink], case["id"]
        elif how == "shuffle":
            assert [sum(row) for row in counts] == [sum(row) for row in flink], case["id"]
        else:
            assert counts == flink, case["id"]
        assert case["result"]["fifo_ok"]
        for target in range(targets):
            for source in range(len(scripts)):
                ids = [value[0] for value in arrivals.of(target) if value[2] == source]  # type: ignore[index]
                assert ids == sorted(ids), case["id"]
        examined += 1
        records += len(arrivals.records)
    assert (examined, records) == (39, 3_794)
