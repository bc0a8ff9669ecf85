"""What the writers of scripted jobs do not draw, because the job could not end or Flink runs another one."""

from __future__ import annotations

import pytest

from tests.support.described.job_writer import JobWriter
from tests.support.described.script_writer import goes_back
from tests.support.jobs.checkpoint_comparison import answered, until_savepoint
from tests.support.jobs.checkpoint_job_writer import KINDS, CheckpointJobWriter
from tests.support.jobs.unaligned_job_writer import UnalignedJobWriter

CAPACITY = 20
"""Of the queue of the async operator."""


@pytest.mark.parametrize("writer", [CheckpointJobWriter, UnalignedJobWriter])
def test_queue_of_the_async_operator_is_never_full(writer: type[CheckpointJobWriter]) -> None:
    """Before, it was in 41513, and with in-flight data in 458."""
    kinds = writer.kinds
    first = kinds.index("async")
    seeds = [
        *range(first, 40 * len(KINDS), len(kinds)),
        *(each for each in (458, 41513) if kinds[each % len(kinds)] == "async"),
    ]
    fullest = 0
    for seed in seeds:
        case = writer(seed).case()
        waiting: list[int] = []
        records = 0
        for entry in case["scripts"][0][0]:
            if entry[1] == "r":
                records = entry[2] + 1
                waiting.append(entry[2])
            elif entry[1] == "answer":
                waiting.remove(entry[2])
            if waiting:
                fullest = max(fullest, records - waiting[0] if case["params"]["ordered"] else len(waiting))
    assert 10 < fullest < CAPACITY


def test_source_with_watermarks_that_go_back_and_its_chain_share_a_slot() -> None:
    """On Flink a slot sharing group cuts the chain, and the channel drops such a watermark: 987903."""
    jobs = [JobWriter(seed).job() for seed in (987903, *range(2000))]
    chained = [job for job in jobs if goes_back(job) and not job.get("keyed", True) and job["edges"] == ["none"]]
    assert chained
    assert not any(job["network"]["apart"] for job in chained)
    assert any(job["network"]["apart"] for job in jobs)


def test_failed_requests_and_snapshots_after_a_drained_stop_are_not_compared() -> None:
    suspended = [19, None, "CheckpointException: Checkpoint Coordinator is suspending."]
    assert answered([suspended, [19, 3, "completed"], [29, None, "stopped"]]) == [
        [19, 3, "completed"],
        [29, None, "stopped"],
    ]
    before = [["t1", "element", 2], ["t1", "endInput"], ["t1", "snapshotState", 1]]
    assert until_savepoint([*before, ["t1", "snapshotState", 2], ["t1", "close"]]) == [*before, ["t1", "close"]]
