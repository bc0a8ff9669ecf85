"""A source function under stop with savepoint: the savepoint waits until the function has returned (rule 4.20)."""

from __future__ import annotations

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.run_actions import StopWithSavepoint
from flowsim.legacy.source_function import SourceContext, SourceFunction
from flowsim.legacy.stream_source import StreamSource
from tests.support.jobs.logged_operators import CallLog, checkpointed_job, run_and_judge
from tests.support.jobs.requested_checkpoints import ON_REQUEST


class LateEmitter(SourceFunction):
    """Emits a number every 3 ms; emits four more records after ``cancel``."""

    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: SourceContext) -> None:
        number = 0
        while self.running:
            ctx.collect((number,))
            number += 1
            ctx.sleep(3)
        for _ in range(4):
            ctx.collect((-1,))

    def cancel(self) -> None:
        self.running = False


@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("drain", [False, True])
def test_savepoint_of_a_stop_contains_what_the_function_emits_after_cancel(chain: bool, drain: bool) -> None:
    log = CallLog()
    job = checkpointed_job(ON_REQUEST)
    source = job.source(lambda: StreamSource(LateEmitter()), is_legacy_source=True)
    job.operator(source, "count", "count", log.make(), chain=chain)
    result = run_and_judge(job, actions=(StopWithSavepoint(50_000_000, drain, None),))
    assert result.status is JobStatus.FINISHED
    count = 15 if chain else 17
    ending = ["end input", "finish"] if drain else []
    assert log.of("count") == [
        "initialize", "open", *ending, "prepare 1", f"snapshot 1 {count}", "complete 1", "close",
    ]  # fmt: skip
