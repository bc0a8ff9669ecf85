"""Which operators are chained, and their ids, beside StreamingJobGraphGenerator (rules 1.1, 1.5-1.12, 1.24, 12.121)."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flowsim.connectors.memory import CollectionSource, CollectSink
from flowsim.datastream import AsyncDataStream, AsyncFunction, CoMapFunction, DataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.graph.job_graph import JobGraph, create_job_graph
from flowsim.legacy.source_function import ParallelSourceFunction
from tests.support.flink.machine import Differential


@dataclass(frozen=True)
class Operator:
    """``inputs``: numbers of operators before it; several are united. ``strategy``: of chaining. ``group``: of slots.

    Kind ``connect`` connects two inputs, which may be the same one.
    """

    kind: str
    inputs: tuple[int, ...]
    parallelism: int
    strategy: str
    rebalance: bool
    group: str | None = None
    uid: str | None = None
    is_keyed: bool = False


@st.composite
def jobs(draw: st.DrawFn) -> list[Operator]:
    """Sources first; most operators are chainable, or nothing would be chained for long."""
    sources = draw(st.lists(st.sampled_from(["source", "legacy"]), min_size=1, max_size=2))
    made = [_operator(draw, kind, (), number) for number, kind in enumerate(sources)]
    for _ in range(draw(st.integers(1, 9))):
        known = [number for number, operator in enumerate(made) if operator.kind != "sink"]
        # Rather the last one than any: chains are long then.
        one = st.one_of(st.just(known[-1]), st.sampled_from(known))
        kind = draw(st.sampled_from(["map"] * 4 + ["async"] * 3 + ["connect", "sink", "source"]))
        if kind == "connect":
            inputs = draw(st.tuples(one, one))
        elif kind == "source":
            inputs = ()
        else:
            inputs = tuple(
                sorted(set(draw(st.one_of(st.tuples(one), st.tuples(one), st.tuples(one), st.tuples(one, one)))))
            )
        made.append(_operator(draw, kind, inputs, len(made)))
    if not any(operator.inputs for operator in made):
        made.append(_operator(draw, "map", (0,), len(made)))
    return made


def _operator(draw: st.DrawFn, kind: str, inputs: tuple[int, ...], number: int) -> Operator:
    strategy = draw(st.sampled_from(["ALWAYS"] * 6 + (["NEVER"] if kind == "sink" else ["HEAD", "NEVER"])))
    parallelism = draw(st.sampled_from([2] * 7 + [1]))
    rebalance = draw(st.sampled_from([False] * 7 + [True]))
    group = draw(st.sampled_from([None] * 12 + ["default", "a", "a", "b"]))
    uid = draw(st.one_of([st.none()] * 9 + [st.text(max_size=40).map(lambda text: f"{number} {text}")]))
    is_keyed = kind not in ("source", "legacy", "connect") and draw(st.sampled_from([False] * 7 + [True]))
    return Operator(kind, inputs, parallelism, strategy, rebalance, group, uid, is_keyed)


class Nothing(ParallelSourceFunction):
    def run(self, ctx: Any) -> None:
        return

    def cancel(self) -> None:
        return


class Same(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


def our_job(operators: list[Operator], chaining: bool) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(1000)  # Only then the sink has a committer.
    if not chaining:
        env.disable_operator_chaining()
    made: list[Any] = []
    for number, operator in enumerate(operators):
        stream = _made(env, operator, made, f"n{number}").set_parallelism(operator.parallelism)
        if operator.uid is not None:
            stream.uid(operator.uid)
        if operator.strategy == "HEAD":
            stream.start_new_chain()
        elif operator.strategy == "NEVER":
            stream.disable_chaining()
        if operator.group is not None:
            stream.slot_sharing_group(operator.group)
        made.append(stream)
    return create_job_graph(env.stream_graph())


def _made(env: StreamExecutionEnvironment, operator: Operator, made: list[Any], name: str) -> Any:
    if operator.kind == "source":
        return env.from_source(AnyNumber([1]), WatermarkStrategy.no_watermarks(), name)
    if operator.kind == "legacy":
        return env.add_source(Nothing(), name)
    inputs = [made[number].rebalance() if operator.rebalance else made[number] for number in operator.inputs]
    if operator.kind == "connect":
        return inputs[0].connect(inputs[1]).map(Either()).name(name)
    stream: DataStream = inputs[0].union(*inputs[1:]) if len(inputs) > 1 else inputs[0]
    if operator.is_keyed:
        stream = stream.key_by(lambda value: value)
    if operator.kind == "sink":
        return stream.sink_to(CollectSink()).name(name)
    if operator.kind == "async":
        return AsyncDataStream.unordered_wait(stream, Same(), Duration.of_seconds(1)).name(name)
    return stream.map(lambda value: value).name(name)


class Either(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class AnyNumber(CollectionSource):
    """A source of any parallelism; nothing of it ever runs."""

    required_parallelism = None


def chains(names: list[str]) -> list[list[str]]:
    """The operators of each chain, whatever is written between them."""
    return sorted(sorted(re.findall(r"n\d+", name)) for name in names)


def groups(job: JobGraph) -> dict[str, str]:
    """The slot sharing group of each operator."""
    return {number(node.name): node.slot_sharing_group for node in job.graph.nodes.values()}


def ids(of_names: dict[str, str]) -> dict[str, str]:
    """The id of each operator; a sink's writer has the number of the sink, its committer is named apart."""
    return {number(name) + (" committer" if name.endswith(": Committer") else ""): id for name, id in of_names.items()}


def number(name: str) -> str:
    (found,) = re.findall(r"n\d+", name)
    return str(found)


def test_chains_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.Chains

    @differential.settings(150)
    @given(jobs(), st.sampled_from([True] * 9 + [False]))
    def compare(operators: list[Operator], chaining: bool) -> None:
        described = json.dumps({"chaining": chaining, "operators": [asdict(one) for one in operators]})
        theirs = json.loads(real.of(described))
        with differential.comparing("StreamingJobGraphGenerator", commands=len(operators)):
            mine = our_job(operators, chaining)
            assert chains([vertex.name for vertex in mine.vertices]) == chains(theirs["vertices"])
            assert groups(mine) == {number(name): group for name, group in theirs["groups"].items()}
            assert ids({each.name: each.operator_id for each in mine.operators}) == ids(theirs["ids"])

    compare()
