"""The life cycles of operators here and on the real Flink, for every end of a job (section 4)."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_actions import CancelJob, RunAction, StopJob
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.source import Source
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.legacy.source_function import LegacySource
from flowsim.legacy.stream_source import StreamSource
from flowsim.operators.inputs.combined_input import combined_inputs
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import OperatorContext, OperatorInput, StreamOperator
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.output import Output
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from tests.support.flink.gateway import Flink
from tests.support.flink.machine import Differential
from tests.support.jobs.small_jobs import SmallJob

Logs = dict[str, list[str]]

ACTIONS: dict[str, tuple[RunAction, ...]] = {
    "input": (),
    "drain": (StopJob(5 * NS_PER_MS, drain=True),),
    "stop": (StopJob(5 * NS_PER_MS),),
    "cancel": (CancelJob(5 * NS_PER_MS),),
}


class LogsLifeCycle(StreamOperator):
    """The operator of the Java program."""

    def __init__(self, log: list[str], name: str, *, tells: bool = False, keeps: bool = False) -> None:
        self.log = log
        self.name = name
        self.tells = tells
        self.keeps = keeps

    def note(self, step: str) -> None:
        self.log.append(f"{self.name} {step}")

    def open(self) -> None:
        self.note("open")

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        if self.tells:
            self.note(f"record {value[0] if isinstance(value, tuple) else value}")
        self.output.collect(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self.note("max watermark" if timestamp == MAX_WATERMARK else "watermark")
        self.output.emit_watermark(timestamp)

    def end_input(self) -> None:
        self.note("end_input")

    def end_input_of(self, input_id: int) -> None:
        self.note("end_input")

    def finish(self) -> None:
        self.note("finish")
        if self.keeps:
            self.output.collect(-1, None)

    def close(self) -> None:
        self.note("close")


class Both(LogsLifeCycle):
    """Reads two inputs."""

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._inputs = combined_inputs(self, [self.process_element, self.process_element])

    @property
    def inputs(self) -> tuple[OperatorInput, ...]:
        return self._inputs


def job_of(case: dict[str, Any], logs: Logs) -> SmallJob:
    job = SmallJob(cost_ns=10_000)
    endless = case["end"] != "input"

    def log(task: str) -> list[str]:
        return logs.setdefault(task, [])

    def source() -> Source:
        return GeneratorSource(None if endless else 3, {"n": SequenceOf(0, 1, None)})

    def head(task: str) -> int:
        if case["legacy"]:
            made = job.source(lambda: StreamSource(LegacySource(source()).create_function()), is_legacy_source=True)
        else:
            made = job.source(lambda: SourceOperator(source().create_reader()))
        for name in "ab":

            def make(name: str = name) -> StreamOperator:
                return LogsLifeCycle(log(task), name, tells=not endless, keeps=case["keeps"])

            made = job.operator(made, name, "diary", make)
        return made

    before = [head("one")] if case["shape"] == "chain" else [head("one"), head("two")]
    if case["shape"] == "two":
        before = [job.operator(before, "both", "diary", lambda: Both(log("both"), "both"), chain=False)]
        for index, edge in enumerate([edge for edge in job.graph.edges if edge.target_id == before[0]]):
            job.graph.edges[job.graph.edges.index(edge)] = edge.__class__(
                edge.source_id, edge.target_id, edge.partitioner, input_index=index
            )
    c = job.operator(before, "c", "diary", lambda: LogsLifeCycle(log("behind"), "c"), by="REBALANCE", chain=False)
    job.operator(c, "d", "diary", lambda: LogsLifeCycle(log("behind"), "d"))
    return job


def ours(case: dict[str, Any], **options: object) -> Logs:
    logs: Logs = {}
    recorder = MemoryRecorder(Level.FULL)
    result = job_of(case, logs).run(actions=ACTIONS[case["end"]], recorder=recorder, **options)
    canceled = case["end"] == "cancel"
    assert result.status is (JobStatus.CANCELED if canceled else JobStatus.FINISHED), result.report
    outcomes = check_all(recorder, "canceled" if canceled else "complete")
    assert [outcome for outcome in outcomes if outcome.verdict is Verdict.VIOLATED] == []
    return logs


def theirs(flink: Flink, case: dict[str, Any]) -> Logs:
    result = json.loads(flink.java.flowsim.jobs.Cluster.run("LifeCycle", json.dumps(case)))
    assert result["error"] is None, result
    logs: Logs = result["log"]
    return logs


def determined(logs: Logs) -> Logs:
    """Without what Flink leaves to chance: whether one of two inputs ends before the other's last watermark came."""
    logs = {task: list(steps) for task, steps in logs.items()}
    if "both end_input" in logs.get("both", ()):
        logs["both"].remove("both end_input")
    return logs


CASES = [
    {"legacy": legacy, "shape": shape, "end": end, "keeps": end == "input"}
    for legacy, shape, end in itertools.product((False, True), ("chain", "union", "two"), ACTIONS)
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_life_cycles_equal_flinks(differential: Differential, case: dict[str, Any]) -> None:
    expected = theirs(differential.flink, case)
    with differential.comparing("jobs: the lives of operators", commands=sum(map(len, expected.values()))):
        for options in ({}, {"policy": "random", "seed": 3}):
            assert determined(ours(case, **options)) == determined(expected)
