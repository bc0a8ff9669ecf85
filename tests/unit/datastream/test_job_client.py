"""The client of a job, and what its result has in PyFlink."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.datastream.common.job_client import JobStatus
from flowsim.errors import BadInput, JobFailed
from flowsim.pyflink import ProgramExecutor, run_program


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_client_of_finished_job_has_its_result(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2]).map(lambda n: n).print()
    client = env.execute_async("numbers")
    result = client.get_job_execution_result().result()
    assert (result.job_name, result.records_read) == ("numbers", 2)
    assert str(client.get_job_id()) == str(result.get_job_id())
    assert client.get_job_id() == result.get_job_id()
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert result.get_net_runtime() == result.elapsed_ns // 1_000_000
    assert (result.get_accumulator_result("n"), result.get_all_accumulator_results()) == (None, {})
    assert client.get_accumulators().result() == {}


def test_finished_job_cannot_be_canceled(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).print()
    client = env.execute_async()
    future = client.cancel()
    assert (future.done(), future.cancelled(), future.cancel()) == (True, False, False)
    with pytest.raises(BadInput, match="was not canceled, but instead FINISHED"):
        future.result()
    assert isinstance(future.exception(), BadInput)


def test_failure_of_the_job_is_in_its_result(env: StreamExecutionEnvironment) -> None:
    env.from_collection([0]).map(lambda n: 1 // n).print()  # type: ignore[operator]
    client = env.execute_async()
    assert client.get_job_status().result() is JobStatus.FAILED
    future = client.get_job_execution_result()
    assert isinstance(future.exception(), JobFailed)
    with pytest.raises(JobFailed, match="ZeroDivisionError"):
        future.result()


def test_job_without_end_is_running_until_its_client_cancels_it(env: StreamExecutionEnvironment) -> None:
    endless = GeneratorSource(None, {"n": SequenceOf()}, pace_ns=1_000_000)
    env.from_source(endless, WatermarkStrategy.no_watermarks(), "endless").print()
    client = env.flowsim_settings(until_ns=5_000_000).execute_async()
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.cancel().result() is None
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert client.get_job_execution_result().exception() is None


def test_savepoint_of_a_job_that_has_run_is_refused(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).print()
    client = env.execute_async()
    for method, arguments in (("stop_with_savepoint", (True, "there")), ("trigger_savepoint", ())):
        with pytest.raises(BadInput, match=rf"^JobClient\.{method}: the job has run to its end in execute_async"):
            getattr(client, method)(*arguments)


def test_states_that_are_terminal() -> None:
    terminal = {status.name for status in JobStatus if status.is_terminal_state()}
    assert terminal == {"FAILED", "CANCELED", "FINISHED", "SUSPENDED"}
    assert {status.name for status in JobStatus if status.is_globally_terminal_state()} == terminal - {"SUSPENDED"}


PROGRAM = """
from pyflink.common import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).print()
client = env.execute_async("one")
assert isinstance(client, JobClient) and isinstance(client.get_job_id(), JobID)
assert isinstance(client.get_job_status(), CompletableFuture)
result = client.get_job_execution_result().result()
assert isinstance(result, JobExecutionResult)
print(client.get_job_status().result() == JobStatus.FINISHED, len(str(client.get_job_id())))
"""


def test_program_for_pyflink_has_the_client(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    run_program(path, [], ProgramExecutor())
    assert capsys.readouterr().out == "1\nTrue 32\n"
