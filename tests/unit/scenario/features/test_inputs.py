"""A scenario with a custom partition function (rule 2.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster, execute
from tests.support.jobs.scenarios import HEAD, compiled, refused, sinks


def custom(reference: str, key: str = "word") -> str:
    return f"""\
operators:
  subtasks:
    input: rows
    partition: {{python: "flowsim_user_code:{reference}", key: {key}}}
    filter: true
    parallelism: 3
""" + sinks(out="subtasks")


def test_custom_partition_is_python_function_of_key_and_subtask_count(tmp_path: Path) -> None:
    job = compiled(HEAD + custom("last_for_b"), tmp_path, allow_python=True)
    result = execute(job.stream_graph(), job.run_options())
    read = {task.name: task.records_in for task in result.tasks if task.name.startswith("subtasks")}
    assert read == {"subtasks (1/3)": 2, "subtasks (2/3)": 0, "subtasks (3/3)": 2}


def test_custom_partition_with_invalid_subtask_fails_job(tmp_path: Path) -> None:
    job = compiled(HEAD + custom("Outside"), tmp_path, allow_python=True)
    result = MiniCluster(job.stream_graph(), job.run_options()).run()
    assert result.status is JobStatus.FAILED
    assert "the custom partitioner chose channel 3 of 3" in str(result.error)


def test_custom_partition_without_python_takes_the_key_modulo_the_subtasks(tmp_path: Path) -> None:
    """The keys of the rows are -1, 0, 10 and 1."""
    text = HEAD + custom("x", "n - 2").replace('python: "flowsim_user_code:x", ', "")
    job = compiled(text, tmp_path)
    result = execute(job.stream_graph(), job.run_options())
    read = {task.name: task.records_in for task in result.tasks if task.name.startswith("subtasks")}
    assert read == {"subtasks (1/3)": 1, "subtasks (2/3)": 2, "subtasks (3/3)": 1}
    (line,) = refused(text.replace("n - 2", "word"), tmp_path)
    assert line.endswith("partition.key: expected an integer without python, this key gives string")


@pytest.mark.parametrize(
    ("reference", "key", "allowed", "problem"),
    [
        (
            "last_for_b",
            "word",
            False,
            "partition.python: flowsim_user_code:last_for_b is Python code and runs only with",
        ),
        ("last_for_b", "timestamp", True, "partition.key: a key cannot read the timestamp"),
        ("last_for_b", "wort", True, "partition.key: unknown name 'wort' (did you mean 'word'?)"),
        ("Split", "word", True, "partition.python: flowsim_user_code:Split: expected a function or a Partitioner"),
        (
            "Opened",
            "word",
            True,
            "partition.python: partition_custom: open() and close() of a Partitioner are never called",
        ),
    ],
)
def test_invalid_custom_partition_is_refused_with_position(
    reference: str, key: str, allowed: bool, problem: str, tmp_path: Path
) -> None:
    (line,) = refused(HEAD + custom(reference, key), tmp_path, allow_python=allowed)[:1]
    assert f"operators.subtasks.{problem}" in line


@pytest.mark.parametrize(
    "partition", ["forward", "rebalance", "rescale", "shuffle", "broadcast", "global", "{python: 'a:b', key: word}"]
)
def test_partition_of_keyed_input_is_refused(partition: str, tmp_path: Path) -> None:
    body = f"operators:\n  x: {{input: rows, key_by: word, partition: {partition}, reduce: {{n: sum}}}}\n" + sinks(
        out="x"
    )
    (line,) = refused(HEAD + body, tmp_path)
    assert line == "s.yaml:14:6 operators.x: key_by decides the partition, remove partition"
