"""Placement, links, exchange modes and debloating in scenarios, and the positions of their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.errors import ScenarioError
from flowsim.graph.job_settings import AdaptivePartitionerSettings, BufferDebloatSettings, Link
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text

BODY = """\
sources:
  rows:
    collection: {fields: {n: long}, rows: [[1], [2], [3]]}
operators:
  bigger: {input: rows, filter: n > 1, parallelism: 4}
sinks:
  out: {input: bigger, collect: {}, exchange: pipelined}
"""


def compiled(settings: str, tmp_path: Path, body: str = BODY) -> CompiledScenario:
    text = f"flowsim: 1\nname: network\nsettings:\n{settings}{body}"
    return compile_scenario(load_text(text, "s.yaml", tmp_path), out_dir=tmp_path)


def refused(settings: str, tmp_path: Path, body: str = BODY) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        compiled(settings, tmp_path, body)
    return str(error.value).splitlines()


ALL = """\
  task_managers:
    left: [rows, "bigger/0"]
    right: ["bigger/2-3"]
  links:
    - {from: rows, to: bigger, latency: 5 ms, bandwidth: 10 MiB}
    - {latency: 1 ms}
  buffer_debloat: {target: 2 s, period: 100 ms}
"""


def test_network_settings_reach_job_under_names_of_graph(tmp_path: Path) -> None:
    job = compiled(ALL, tmp_path)
    graph = job.stream_graph()
    assert graph.settings.task_managers == {"left": ["Source: rows", "bigger/0"], "right": ["bigger/2-3"]}
    assert graph.settings.links == (
        Link("Source: rows", "bigger", 5_000_000, 10 * 1024 * 1024),
        Link(None, None, 1_000_000, None),
    )
    assert graph.settings.buffer_debloat == BufferDebloatSettings(period_ms=100, target_ms=2000)
    cluster = MiniCluster(graph, job.run_options())
    assert cluster.execution.placement.task_manager_of == [0, 0, 2, 1, 1, 3]
    assert cluster.execution.placement.names == ["left", "right", "bigger (2)", "Sink: out (1)"]
    assert [edge.exchange for edge in cluster.execution.job.edges] == [
        ResultPartitionType.PIPELINED_BOUNDED, ResultPartitionType.PIPELINED,
    ]  # fmt: skip
    assert cluster.run().status is JobStatus.FINISHED
    assert job.sinks[0].collected is not None
    assert len(job.sinks[0].collected.values()) == 2


@pytest.mark.parametrize("exchange", ["pipelined_bounded", "pipelined", "blocking"])
def test_every_exchange_mode_gives_same_results(exchange: str, tmp_path: Path) -> None:
    job = compiled(f"  exchange: {exchange}\n", tmp_path, BODY.replace(", exchange: pipelined", ""))
    assert MiniCluster(job.stream_graph(), job.run_options()).run().status is JobStatus.FINISHED
    assert job.sinks[0].collected is not None
    assert sorted(row[0] for row in job.sinks[0].collected.values()) == [2, 3]  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", AdaptivePartitionerSettings(4)),
        ("{max_traverse_size: 2}", AdaptivePartitionerSettings(2)),
        ("{enabled: false, max_traverse_size: 2}", None),
    ],
)
def test_adaptive_partitioner(text: str, expected: AdaptivePartitionerSettings | None, tmp_path: Path) -> None:
    graph = compiled(f"  adaptive_partitioner: {text}\n", tmp_path).stream_graph()
    assert graph.settings.adaptive_partitioner == expected


def test_disabled_debloating_is_none(tmp_path: Path) -> None:
    assert compiled("  buffer_debloat: {enabled: false}\n", tmp_path).stream_graph().settings.buffer_debloat is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "  task_managers: {a: [rows, biger]}\n",
            "s.yaml:4:29 settings.task_managers.a[1]: there is no node 'biger' (did you mean 'bigger'?)",
        ),
        (
            "  task_managers: {a: [bigger/0-9]}\n",
            "s.yaml:4:23 settings.task_managers.a[0]: bigger/0-9: bigger has the subtasks 0 to 3",
        ),
        (
            "  task_managers: {a: [bigger/1], b: [rows, bigger]}\n",
            "s.yaml:4:44 settings.task_managers.b[1]: bigger/1 is already placed on 'a'",
        ),
        (
            "  task_managers: {a: [bigger/-1]}\n",
            "s.yaml:4:23 settings.task_managers.a[0]: expected a subtask: NAME, NAME/INDEX or NAME/FIRST-LAST, got 'bigger/-1'",
        ),
        (
            "  links: [{from: rows, to: out}]\n",
            (
                "s.yaml:4:11 settings.links[0]: no edge goes from rows to out over the network: name operators of two tasks "
                "that an edge connects (flowsim graph shows them)"
            ),
        ),
        ("  links: [{to: ou}]\n", "s.yaml:4:16 settings.links[0].to: there is no node 'ou' (did you mean 'out'?)"),
        ("  links: [{bandwidth: 0}]\n", "s.yaml:4:23 settings.links[0].bandwidth: expected a value >= 1, got 0"),
        ("  links: [{form: rows}]\n", "s.yaml:4:12 settings.links[0].form: unknown key 'form' (did you mean 'from'?)"),
        (
            "  network_buffers: 5\n",
            (
                "s.yaml:4:3 settings: Insufficient number of network buffers: task manager 'out (1)' has 5, and its pools "
                "require 9 (input of out (1/1) from bigger 9); set network_buffers to 9 or more"
            ),
        ),
    ],
)
def test_invalid_network_setting_is_refused_with_position(settings: str, message: str, tmp_path: Path) -> None:
    assert refused(settings, tmp_path) == [message]


def test_chain_placed_twice_is_refused_at_second_place(tmp_path: Path) -> None:
    body = BODY.replace(", parallelism: 4", "")
    settings = "  task_managers:\n    a: [rows]\n    b: [bigger]\n"
    (message,) = refused(settings, tmp_path, body)
    assert message == (
        "s.yaml:6:9 settings.task_managers.b[0]: bigger/0 is chained with rows/0, which runs on 'a': the operators of a "
        "chain (rows -> bigger -> out) run in one task"
    )


def test_buffer_timeout_before_blocking_exchange_is_refused_at_operator(tmp_path: Path) -> None:
    body = BODY.replace("filter: n > 1,", "filter: n > 1, buffer_timeout: 5 ms,").replace("pipelined", "blocking")
    (message,) = refused("  seed: 1\n", tmp_path, body)
    assert message == (
        "s.yaml:9:56 operators.bigger.buffer_timeout: a blocking exchange is read only after it is finished, "
        "so it has no buffer timeout: expected -1 (never) or none, got 5 ms"
    )
