"""Objects of compiled classes give back what they refer to."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.operators.sink_operator import SinkOperator
from flowsim.operators.windowing.window_functions import InternalApplyWindowFunction, InternalProcessWindowFunction
from flowsim.tasks.operator_outputs import ChainingOutput, CopyingChainingOutput

ROOT = Path(__file__).parents[2]
COMPILED: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["flowsim"]["compiled"]


def compiled_classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for module in COMPILED:
        tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                yield module, node


def base_names(node: ast.ClassDef) -> list[str]:
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [base.id for base in bases if isinstance(base, ast.Name)]


def has_init(node: ast.ClassDef) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == "__init__" for each in node.body)


def test_compiled_class_does_not_inherit_a_compiled_init() -> None:
    """mypyc calls an inherited ``__init__`` twice, in ``tp_new`` and in ``tp_init``; the second call drops no reference.

    A class that inherits one must have its own, which calls it.
    """
    classes = {node.name: node for _, node in compiled_classes()}
    assert len(classes) > 100

    def inherits_init(node: ast.ClassDef) -> bool:
        bases = [classes[name] for name in base_names(node) if name in classes]
        return any(has_init(base) or inherits_init(base) for base in bases)

    found = [
        f"{module}.{node.name}" for module, node in compiled_classes() if not has_init(node) and inherits_init(node)
    ]
    assert found == []


def test_bounds_of_compiled_slices_call_nothing() -> None:
    """mypyc evaluates the bounds of a slice twice if the sliced value is not a list, a tuple or a string."""
    calls = [
        f"{module}, line {node.lineno}"
        for module in COMPILED
        for node in ast.walk(ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text()))
        if isinstance(node, ast.Slice) and any(isinstance(part, ast.Call | ast.NamedExpr) for part in ast.walk(node))
    ]
    assert calls == []


@pytest.mark.parametrize(
    "make",
    [
        lambda one: ChainingOutput(one, "x"),
        lambda one: CopyingChainingOutput(one, "x"),
        lambda one: InternalProcessWindowFunction(one),
        lambda one: InternalApplyWindowFunction(one),
    ],
    ids=["ChainingOutput", "CopyingChainingOutput", "InternalProcessWindowFunction", "InternalApplyWindowFunction"],
)
def test_object_gives_back_its_references(make: Callable[[SinkOperator], object]) -> None:
    held = SinkOperator(CollectSink())
    before = sys.getrefcount(held)
    made = make(held)
    assert sys.getrefcount(held) == before + 1
    del made
    gc.collect()
    assert sys.getrefcount(held) == before


RUNS = """
import gc
from flowsim.cluster.job_execution import RunOptions
from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.explore.explored_job import ExploredJob
from flowsim.facts.kinds import Level
from flowsim.sim.choice_token import Sampled
from flowsim.sim.sampled.by_strategy import sampled_run
from flowsim.testing.runs import run_job
from flowsim.testing.schedule import Schedule

def job():
    env = StreamExecutionEnvironment.get_execution_environment()
    one, other = (env.add_source(ScriptedSource([record(f"{c}{i}", i) for i in range(3)])).name(c) for c in "ab")
    one.union(other).map(lambda value: value).name("merged")
    return env

explored = ExploredJob(job().stream_graph(), RunOptions(), "", "runtime")

def drawn(seed):
    run_job(job(), schedule=Schedule("random", seed, 1), level=Level.OFF)

def of_strategy(seed):
    explored.run(sampled_run("runtime", Sampled("pos", seed, 100)))

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

for seed in range(200):
    RUN(seed)
before = resident()
for seed in range(2000):
    RUN(seed)
print(resident() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("run", ["drawn", "of_strategy"])
def test_memory_of_2000_runs_stays_below_5_mb(run: str) -> None:
    program = RUNS.replace("RUN(", f"{run}(")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 5_000_000
