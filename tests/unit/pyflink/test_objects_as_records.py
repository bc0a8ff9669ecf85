"""Objects of a program's own classes are records, keys and state; recordings are equal in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flowsim.datastream.job_executor import LocalExecutor
from flowsim.pyflink import run_program

PROGRAM = """
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows

class Side(Enum):
    BUY = "buy"
    SELL = "sell"

@dataclass(frozen=True)
class Account:
    name: str

@dataclass
class Order:
    account: Account
    side: Side
    amount: int
    at: int
    tags: set = field(default_factory=set)

class Total:
    def __init__(self):
        self.amounts = []

class Result(NamedTuple):
    account: Account
    total: Total

class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.at

class Sum(KeyedProcessFunction):
    def open(self, ctx):
        self.total = ctx.get_state(ValueStateDescriptor("total", Types.PICKLED_BYTE_ARRAY()))
        self.sides = ctx.get_map_state(
            MapStateDescriptor("sides", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        total = self.total.value() or Total()
        total.amounts.append(value.amount)
        self.total.update(total)
        self.sides.put(value.side, value)
        yield Result(ctx.get_current_key(), total)
        total.amounts.append("the receiver has a copy")

class Last(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key.name, max((result.total.amounts for result in elements), key=len)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
sides = [("a", Side.BUY), ("b", Side.SELL), ("a", Side.SELL), ("c", Side.BUY), ("a", Side.BUY)]
orders = [Order(Account(n), s, i, i * 10, {n, s.value, str(i)}) for i, (n, s) in enumerate(sides)]
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())
results = (
    env.from_collection(orders).assign_timestamps_and_watermarks(strategy).key_by(lambda o: o.account).process(Sum())
)
windows = TumblingEventTimeWindows.of(Duration.of_millis(30))
results.key_by(lambda result: result.account).window(windows).process(Last()).print()
env.execute("orders")
"""


def test_objects_are_records_keys_and_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "orders.py"
    program.write_text(PROGRAM)
    run_program(program, [], LocalExecutor())
    lines = sorted(line.partition("> ")[2] for line in capsys.readouterr().out.splitlines())
    assert lines == ["('a', [0, 2, 4])", "('a', [0, 2])", "('b', [1])", "('c', [3])"]


def recorded(folder: Path, hash_seed: str) -> dict[str, object]:
    command = [sys.executable, "-m", "flowsim", "pyflink", "--validate", "--json", "--out", hash_seed, "orders.py"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_recordings_are_equal_under_another_hash_seed_and_laws_hold(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(PROGRAM)
    first, second = recorded(tmp_path, "1"), recorded(tmp_path, "2")
    digests = [[job["digest"] for job in answer["jobs"]] for answer in (first, second)]  # type: ignore[attr-defined, index]
    assert digests[0] == digests[1]
    assert digests[0][0] is not None
