"""Spark's Python workers check shards with only Python, numpy and pyarrow."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from flowsim.laws.catalogue import LAWS
from flowsim.laws.files import TaskRange
from flowsim.laws.judge import Errand, Judgement, applicable
from flowsim.validation.judge import open_runs
from flowsim.validation.shards import Piece
from flowsim.validation.spark_worker import ShardExaminer
from tests.support.facts.valid_job import honest_job

REPOSITORY = Path(__file__).parents[3]

WORKER = """
import sys
from importlib.abc import MetaPathFinder

FORBIDDEN = {"pydantic", "msgspec", "msgpack", "pandas", "pyspark", "py4j", "typer", "rich"}

class Refusing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in {"numpy", "pyarrow", "flowsim"} and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {top!r}")
        return None

sys.meta_path.insert(0, Refusing())
assert not FORBIDDEN & sys.modules.keys()
import pickle
import flowsim.validation.spark_worker
import flowsim.laws.catalogue
import pyarrow as pa

given, found = sys.argv[1:]
with open(given, "rb") as file:
    examiner = pickle.load(file)
batches = examiner(iter([pa.RecordBatch.from_pydict({"id": [0]})]))
with open(found, "wb") as file:
    pickle.dump([row for batch in batches for row in batch.to_pylist()], file)
assert not FORBIDDEN & {name.partition(".")[0] for name in sys.modules}
print(len(flowsim.laws.catalogue.LAWS))
"""


def test_worker_needs_only_numpy_and_pyarrow(tmp_path: Path) -> None:
    (run,) = open_runs([honest_job(records=11).write(tmp_path)])
    judged, _ = applicable(LAWS, run.graph, run.level)
    examiner = ShardExaminer([(0, run, Errand(tuple(judged)))], [[Piece(0, TaskRange(0, 100), 0, 1)]])
    (tmp_path / "given").write_bytes(pickle.dumps(examiner))
    worker = subprocess.run(
        [sys.executable, "-c", WORKER, str(tmp_path / "given"), str(tmp_path / "found")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert (worker.returncode, worker.stdout) == (0, f"{len(LAWS)}\n"), worker.stderr
    (row,) = pickle.loads((tmp_path / "found").read_bytes())
    assert (row["work"], row["refused"]) == (0, "")
    (batch,) = examiner(iter([pa.RecordBatch.from_pydict({"id": [0]})]))
    found, expected = (pickle.loads(one["judgement"]) for one in (row, *batch.to_pylist()))
    assert isinstance(found, Judgement)
    assert {law: each.examined for law, each in found.found.items()} == {
        law: each.examined for law, each in expected.found.items()
    }
    assert min(each.examined for each in found.found.values()) > 0
