"""Sources whose enumerators assign splits: no split is lost or read twice (rules 12.108-12.114, law L8)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from flowsim.connectors.files.csv import CsvSource
from flowsim.connectors.files.file_sources import JsonLinesSource
from flowsim.connectors.generator import SequenceOf, UniformInt
from flowsim.connectors.number_sequence import NumberSequenceSource
from flowsim.connectors.partitioned_generator import Burst, Partition, PartitionedGeneratorSource, Pause
from flowsim.connectors.script import ScriptedSource, end, record, sleep
from flowsim.connectors.source import Source
from flowsim.errors import BadInput
from tests.support.checkpoints.coordinated_source import CoordinatedSource


def files(folder: Path) -> Source:
    paths = []
    for name, numbers in (
        ("0", range(7)),
        ("1", range(7, 8)),
        ("2", range(0)),
        ("3", range(8, 20)),
        ("4", range(20, 25)),
    ):
        paths.append(folder / f"{name}.jsonl")
        paths[-1].write_text("".join(f'{{"n": {n}}}\n' for n in numbers))
    return JsonLinesSource(paths, {"n": "long"}, assignment="dynamic")


def scripts(folder: Path) -> Source:
    return ScriptedSource(
        [record((0,), 1, step=0), sleep(1), record((1,))], [record((2,))], [end()], [record((n,)) for n in range(3, 15)],
        [record((15,), step=3), end(), record("never")], assignment="dynamic",
    )  # fmt: skip


def partitions(folder: Path) -> Source:
    return PartitionedGeneratorSource(
        [
            Partition(1_000_000, start_lag=7, records=9),
            Partition(500, records=5, pauses=[Pause(1, 3)], out_of_orderness_ms=4),
            Partition(1_000, start_lag=2, records=8, bursts=[Burst(1, 2, 4_000)]),
        ],
        {"id": SequenceOf(), "draw": UniformInt(0, 10**6)},
        timestamp_field="t",
        max_poll_records=3,
    )


def numbers(folder: Path) -> Source:
    return NumberSequenceSource(-3, 17)


SOURCES = pytest.mark.parametrize("source_of", [files, scripts, partitions, numbers])


def expected(source: Source) -> list[str]:
    run = CoordinatedSource(source, 1)
    run.drain()
    return sorted(map(repr, run.records))


@SOURCES
@pytest.mark.parametrize("parallelism", [1, 2, 3, 7])
def test_every_split_is_read_once_at_any_parallelism(
    tmp_path: Path, source_of: Callable[[Path], Source], parallelism: int
) -> None:
    source = source_of(tmp_path)
    run = CoordinatedSource(source, parallelism)
    run.drain()
    assert sorted(map(repr, run.records)) == expected(source)


@SOURCES
@pytest.mark.property
def test_no_split_is_lost_or_doubled_by_failures(tmp_path: Path, source_of: Callable[[Path], Source]) -> None:
    source = source_of(tmp_path)
    every = expected(source)
    for seed in range(60):
        random = Random(seed)
        run = CoordinatedSource(source, random.randint(1, 4))
        for _ in range(random.randint(5, 60)):
            step(run, random)
        checkpoint = run.completed
        run.drain()
        assert sorted(map(repr, run.records)) == every, seed
        if checkpoint is not None:
            rescaled = CoordinatedSource(source, random.randint(1, 5), checkpoint)
            rescaled.drain()
            before = [value for records in checkpoint.records.values() for value in records]
            assert sorted(map(repr, [*before, *rescaled.records])) == every, seed


def step(run: CoordinatedSource, random: Random) -> None:
    """One step of the job, of those that are possible."""
    index = random.randrange(run.parallelism)
    subtask = run.subtasks[index]
    match random.choices(["poll", "up", "down", "time", "trigger", "snapshot", "abort", "fail", "all"], WEIGHTS)[0]:
        case "poll":
            subtask.poll(random.randint(1, 4))
        case "up" if subtask.to_coordinator:
            run.deliver(index)
        case "down" if subtask.to_task:
            subtask.receive()
        case "time":
            run.clock.now_ns += random.randint(0, 2_000_000)
        case "trigger" if run.pending is None:
            run.trigger()
        case "snapshot" if run.can_take_snapshot(index):
            run.snapshot(index)
        case "abort":
            run.abort()
        case "fail":
            run.fail_region(index)
        case "all":
            run.fail_all()


WEIGHTS = [8, 10, 10, 3, 4, 12, 0.3, 0.7, 0.4]


def test_region_failover_gives_splits_after_checkpoint_back(tmp_path: Path) -> None:
    """Rule 12.112: subtask 0 read file 0 before the checkpoint and file 2 after it; subtask 1 reads file 2 instead."""
    paths = [tmp_path / f"{i}.csv" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_text(f"n\n{i}0\n{i}1\n")
    run = CoordinatedSource(CsvSource(paths, {"n": "long"}, assignment="dynamic"), 2)
    for one in run.subtasks:
        one.poll(1)
        run.settle()
        one.poll(1)
    assert [one.output.records for one in run.subtasks] == [[(0,)], [(10,)]]
    run.trigger()
    run.snapshot(0)
    run.snapshot(1)
    run.subtasks[0].poll(100)
    run.settle()
    run.subtasks[0].poll(100)
    assert run.subtasks[0].output.records == [(0,), (1,), (20,), (21,)]
    run.fail_region(0)
    run.subtasks[1].poll(100)
    run.settle()
    run.subtasks[1].poll(100)
    run.drain()
    assert [one.output.records for one in run.subtasks] == [[(0,), (1,)], [(10,), (11,), (20,), (21,)]]


def test_dynamic_scripts_name_no_splits_and_groups_are_fixed(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="subtask 1, entry 0: each script is a split: its entries cannot name splits"):
        ScriptedSource([], [record(1, split="a")], assignment="dynamic")
    with pytest.raises(BadInput, match="assignment: expected fixed or dynamic, got 'free'"):
        ScriptedSource([], assignment="free")  # type: ignore[arg-type]
    (tmp_path / "a.csv").write_text("n\n1\n")
    with pytest.raises(BadInput, match="split_by gives each subtask a fixed share"):
        CsvSource(tmp_path / "a.csv", {"n": "long"}, split_by="n", assignment="dynamic")
