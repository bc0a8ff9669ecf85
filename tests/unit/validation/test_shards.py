"""Shards: the outcomes are equal for any division of tasks and files, and any order."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from flowsim.errors import BadInput
from flowsim.laws.catalogue import LAWS
from flowsim.laws.files import TaskRange
from flowsim.laws.judge import Errand, Judgement, applicable, judge, judging
from flowsim.laws.law import Outcome
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.recorded_run import RecordedRun
from flowsim.validation.shards import Piece, shards_of
from flowsim.validation.spark_worker import ShardExaminer
from tests.support.facts.cases import SMALL_JOBS
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.valid_job import honest_job


def damaged(folder: Path, number: int, epochs: int) -> RecordedRun:
    seed, records, pace_ms = SMALL_JOBS[number % 3]
    facts = honest_job(seed=seed, records=records, pace_ms=pace_ms)
    for part in range(number % 4):
        kind = KINDS[(13 * number + part) % len(KINDS)]
        kind.damage(facts, Random(number))
    (run,) = open_runs([facts.write(folder / str(number), epochs=epochs)])
    return run


def in_shards(run: RecordedRun, random: Random) -> dict[str, Outcome]:
    """Judged as Spark's workers do, over a random division of the tasks, in a random order."""
    laws, _ = applicable(LAWS, run.graph, run.level)
    end = max(run.graph.tasks) + 1
    cuts = sorted({0, end, *(random.randrange(1, end) for _ in range(random.randrange(4)))})
    pieces = []
    for part, (first, last) in enumerate(pairwise(cuts)):
        keys = random.choice((1, 1, 2, 5))
        pieces.append(Piece(0, TaskRange(first, last), part, len(cuts) - 1, (0, keys)))
        pieces += [Piece(0, TaskRange(first, last), 0, 0, (index, keys)) for index in range(1, keys)]
    random.shuffle(pieces)

    def walk(errand: Errand) -> Judgement:
        examiner = pickle.loads(pickle.dumps(ShardExaminer([(0, run, errand)], [[piece] for piece in pieces])))
        found = Judgement(errand.laws)
        numbers = pa.RecordBatch.from_pydict({"id": list(range(len(pieces)))})
        for batch in examiner(iter([numbers])):
            (row,) = batch.to_pylist()
            assert not row["refused"], row["refused"]
            found.add(pickle.loads(row["judgement"]))
        return found

    return {outcome.law: outcome for outcome in judge(walk, judging(run.graph, laws, run.whole))}


@pytest.mark.parametrize("number", range(12))
def test_division_into_shards_and_epochs_does_not_change_outcomes(tmp_path: Path, number: int) -> None:
    random = Random(number)
    run = damaged(tmp_path / "one", number, epochs=1)
    whole = validate([run]).of(0)
    for epochs in (1, 3):
        again = damaged(tmp_path / str(epochs), number, epochs)
        for _ in range(3):
            found = in_shards(again, random)
            assert found == {law: whole[law] for law in found}


def test_evidence_of_two_senders_on_one_channel_does_not_depend_on_division(tmp_path: Path) -> None:
    facts = honest_job(seed=2, records=40)
    (two_senders,) = (kind for kind in KINDS if kind.name == "a record is on a channel of another task")
    two_senders.damage(facts, Random(10))
    (run,) = open_runs([facts.write(tmp_path)])
    whole = validate([run]).of(0)
    assert str(whole["channel-fifo"].evidence[0]["what"]).endswith("was sent and never received")
    for seed in range(6):
        assert in_shards(run, Random(seed))["channel-fifo"] == whole["channel-fifo"]


def test_every_file_is_verified_once_and_every_task_is_in_one_piece(tmp_path: Path) -> None:
    runs = [damaged(tmp_path, number, epochs=2) for number in range(3)]
    works = [(number, run, Errand(tuple(LAWS))) for number, run in enumerate(runs)]
    pieces = [piece for shard in shards_of(works, cores=2) for piece in shard]
    for number, run in enumerate(runs):
        mine = [piece for piece in pieces if piece.work == number]
        for file in range(run.files.files):
            assert sum(piece.is_verified(file) for piece in mine) == 1
        for task in run.graph.tasks:
            assert sum(task in piece.tasks for piece in mine) == 1


def test_keys_of_large_task_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = open_runs([honest_job(seed=1, records=40).write(tmp_path)])
    monkeypatch.setattr("flowsim.validation.shards._LEAST_ROWS", 20)
    monkeypatch.setattr("flowsim.validation.shards._MOST_ROWS", 20)
    laws, _ = applicable(LAWS, run.graph, run.level)
    pieces = [piece for shard in shards_of([(0, run, Errand(tuple(laws)))], cores=2) for piece in shard]
    split = [piece for piece in pieces if piece.keys is not None]
    assert split
    assert all(piece.tasks.end - piece.tasks.first == 1 for piece in split)
    for piece in split:
        parts = [other.keys for other in split if other.tasks == piece.tasks]
        assert sorted(parts) == [(index, len(parts)) for index in range(len(parts))]
        assert len(parts) > 1
    assert {file for piece in pieces for file in range(run.files.files) if piece.is_verified(file)} == set(
        range(run.files.files)
    )


def test_worker_reports_damage_as_row(tmp_path: Path) -> None:
    run = damaged(tmp_path, 0, epochs=2)
    part = Path(run.files.directory) / "sent" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"!")
    with pytest.raises(BadInput, match="is not the file that was recorded"):
        validate([run])
    piece = Piece(0, TaskRange(0, 100), 0, 1)
    examiner = ShardExaminer([(0, run, Errand(tuple(LAWS)))], [[piece]])
    (batch,) = examiner(iter([pa.RecordBatch.from_pydict({"id": [0]})]))
    (row,) = batch.to_pylist()
    assert "part-00001.parquet: is not the file that was recorded" in row["refused"]
