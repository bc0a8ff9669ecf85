"""The settings of a job in Python, mainly those of the network, and their keys in Flink."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Configuration
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.graph.execution_graph import create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.job_settings import AdaptivePartitionerSettings, BufferDebloatSettings, JobSettings, Link
from flowsim.graph.setting import settings_of
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from tests.support.pages.settings_page import OWNERS, PAGE, settings_page


def env(**settings: object) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().configure(None, **settings)


def test_flink_key_enables_debloating_with_defaults() -> None:
    keys = {"taskmanager.network.memory.buffer-debloat.enabled": "true"}
    configured = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(keys))
    assert configured.settings.buffer_debloat == BufferDebloatSettings(200, 1000, 25, 20, 1024, 256)


def test_flink_keys_set_every_debloating_number() -> None:
    prefix = "taskmanager.network.memory.buffer-debloat."
    keys = {
        f"{prefix}enabled": "true",
        f"{prefix}period": "50 ms",
        f"{prefix}target": "2 s",
        f"{prefix}threshold-percentages": "10",
        f"{prefix}samples": "5",
        "taskmanager.memory.starting-segment-size": "2kb",
        "taskmanager.memory.min-segment-size": "128",
    }
    configured = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(keys))
    assert configured.settings.buffer_debloat == BufferDebloatSettings(50, 2000, 10, 5, 2048, 128)
    keys[f"{prefix}enabled"] = "false"
    assert env().configure(Configuration.from_dict(keys)).settings.buffer_debloat is None
    del keys[f"{prefix}enabled"]
    assert env().configure(Configuration.from_dict(keys)).settings.buffer_debloat is None


ADAPTIVE = "taskmanager.network.adaptive-partitioner."


def test_flink_keys_set_adaptive_partitioner() -> None:
    keys = {f"{ADAPTIVE}enabled": "true"}
    assert env().configure(Configuration.from_dict(keys)).settings.adaptive_partitioner == AdaptivePartitionerSettings(
        4
    )
    keys[f"{ADAPTIVE}max-traverse-size"] = "7"
    assert env().configure(Configuration.from_dict(keys)).settings.adaptive_partitioner == AdaptivePartitionerSettings(
        7
    )
    keys[f"{ADAPTIVE}enabled"] = "false"
    assert env().configure(Configuration.from_dict(keys)).settings.adaptive_partitioner is None
    del keys[f"{ADAPTIVE}enabled"]
    assert env().configure(Configuration.from_dict(keys)).settings.adaptive_partitioner is None
    assert env(adaptive_partitioner=True).settings.adaptive_partitioner == AdaptivePartitionerSettings()


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_adaptive_partitioner_compares_two_channels_at_least(enabled: str) -> None:
    """Flink checks the number also where the partitioner is not enabled."""
    keys = {f"{ADAPTIVE}enabled": enabled, f"{ADAPTIVE}max-traverse-size": "1"}
    with pytest.raises(BadInput, match=re.escape(f"{ADAPTIVE}max-traverse-size: expected 2 or more, got 1")):
        env().configure(Configuration.from_dict(keys))


@pytest.mark.parametrize("value", [4, "yes", AdaptivePartitionerSettings(1), AdaptivePartitionerSettings(2**31)])
def test_adaptive_partitioner_refuses_other_values(value: object) -> None:
    with pytest.raises(BadInput, match="configure: adaptive_partitioner"):
        env(adaptive_partitioner=value)


@pytest.mark.parametrize(
    ("partition", "parallelism", "text"),
    [
        ("rebalance", 3, "REBALANCE adaptive(4)"),
        ("rescale", 3, "RESCALE adaptive(4)"),
        ("shuffle", 3, "SHUFFLE"),
        ("global_", 3, "GLOBAL"),
        ("broadcast", 3, "BROADCAST"),
        ("rebalance", 1, "REBALANCE"),
    ],
)
def test_adaptive_writers_belong_to_rebalance_and_rescale(partition: str, parallelism: int, text: str) -> None:
    made = env(parallelism=2, adaptive_partitioner=True)
    sent = getattr(made.from_collection([1, 2, 3]), partition)()
    sent.map(lambda value: value).set_parallelism(parallelism).print()
    job = create_job_graph(made.stream_graph())
    assert job.edges[0].partitioner_text == text


def test_disabled_buffer_timeout_never_flushes() -> None:
    keys = {"execution.buffer-timeout.interval": "20 ms", "execution.buffer-timeout.enabled": "true"}
    assert env().configure(Configuration.from_dict(keys)).get_buffer_timeout() == 20
    keys["execution.buffer-timeout.enabled"] = "false"
    assert env().configure(Configuration.from_dict(keys)).get_buffer_timeout() == -1


def test_exchange_mode_belongs_to_edge_into_next_operator() -> None:
    made = env(parallelism=2)
    source = made.from_collection([1, 2, 3])
    keyed = source.exchange("blocking").key_by(lambda value: value).exchange("pipelined")
    keyed.reduce(lambda a, b: a).name("keyed")
    source.exchange("blocking").map(lambda value: value).name("mapped")
    source.map(lambda value: value).set_parallelism(1).name("chained")
    edges = {edge.target_id: edge.exchange for edge in made.stream_graph().edges}
    names = {node.name: node.id for node in made.stream_graph().nodes.values()}
    assert edges[names["keyed"]] is ResultPartitionType.PIPELINED
    assert edges[names["mapped"]] is ResultPartitionType.BLOCKING
    assert edges[names["chained"]] is None
    vertices = [vertex.name for vertex in create_job_graph(made.stream_graph()).vertices]
    assert vertices == ["Source: Collection Source -> chained", "keyed", "mapped"]


def test_name_after_exchange_is_refused() -> None:
    stream = env().from_collection([1]).exchange("blocking")
    with pytest.raises(BadInput, match="this stream comes from 'Source: Collection Source' by a blocking exchange"):
        stream.name("late")


def test_placement_and_links_use_operator_names() -> None:
    made = env(
        task_managers={"left": ["Source: Collection Source", "out/0"]},
        links=[Link("Source: Collection Source", "out", 5)],
    )
    made.from_collection([1]).rebalance().map(lambda value: value).set_parallelism(2).name("out")
    execution = create_execution_graph(create_job_graph(made.stream_graph()))
    assert execution.placement.task_manager_of == [0, 0, 1]
    assert execution.links == {0: Link("Source: Collection Source", "out", 5)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"exchange": "batch"},
            "configure: exchange: expected one of pipelined_bounded, pipelined, blocking, got 'batch'",
        ),
        ({"task_managers": 3}, "configure: task_managers: expected 'each', 'one' or a mapping"),
        ({"links": "slow"}, "configure: links: expected a list of Link, got 'slow'"),
        ({"links": ["slow"]}, r"configure: links\[0\]: expected a Link, got 'slow'"),
        ({"links": [Link(latency_ns=-1)]}, r"configure: links\[0\]: latency_ns: expected 0 or more, got -1"),
        (
            {"links": [Link(bytes_per_second=0)]},
            r"configure: links\[0\]: bytes_per_second: expected 1 or more, got 0",
        ),
        ({"buffer_debloat": 5}, "configure: buffer_debloat: expected BufferDebloatSettings, True or None, got 5"),
        (
            {"buffer_debloat": BufferDebloatSettings(samples=0)},
            "configure: buffer_debloat: samples: expected 1 or more, got 0",
        ),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        env(**settings)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("segment_size_bytes", 1),
        ("network_buffers", 2),
        ("exclusive_buffers_per_channel", 0),
        ("floating_buffers_per_gate", 0),
        ("max_buffers_per_channel", 2),
        ("overdraft_buffers", 0),
        ("auto_watermark_interval_ms", 0),
        ("latency_interval_ms", 0),
        ("metrics_interval_ms", 0),
        ("cost_ns", 0),
        ("budget_records", 1),
    ],
)
def test_number_below_minimum_is_refused(name: str, least: int) -> None:
    """Below it a run would never end, or mean nothing."""
    assert getattr(env(**{name: least}).settings, name) == least
    with pytest.raises(BadInput, match=f"configure: {name}: expected {least} or more, got {least - 1}"):
        env(**{name: least - 1})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (CheckpointSettings(exactly_once=1), "checkpointing: exactly_once: expected one of True, False, got 1"),  # type: ignore[arg-type]
        (CheckpointSettings(unaligned=1), "checkpointing: unaligned: expected True or False, got 1"),  # type: ignore[arg-type]
        (CheckpointSettings(retention="NEVER"), "checkpointing: retention: expected one of NO_EXTERNALIZED"),  # type: ignore[arg-type]
        (CheckpointSettings(directory=Path("x")), "checkpointing: directory: expected the path of a folder"),  # type: ignore[arg-type]
        (
            CheckpointSettings(min_pause_ms=31_536_000_001),
            "checkpointing: min_pause_ms: expected at most 31536000000, got",
        ),
        (CheckpointSettings(retained=True), "checkpointing: retained: expected an integer, got True"),
    ],
)
def test_value_of_another_form_is_refused(settings: CheckpointSettings, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        env(checkpointing=settings)


def test_every_job_setting_can_be_configured() -> None:
    defaults = JobSettings()
    for field in fields(JobSettings):
        value = getattr(defaults, field.name)
        value = 5 if field.name == "network_buffers" else value
        assert getattr(env(**{field.name: value}).settings, field.name) == value


def test_docs_list_every_setting_with_scenario_key_option_and_method() -> None:
    page = PAGE.read_text()
    assert page == settings_page(page), "write them again: make docs"


def test_every_method_of_a_setting_exists() -> None:
    made = env()
    owners = made, made.get_config(), made.get_checkpoint_config()
    named = [setting.method for owner in OWNERS.values() for setting in settings_of(owner) if setting.method]
    assert len(named) > 10
    assert [name for name in named if not any(name in dir(owner) for owner in owners)] == []


def test_unknown_exchange_mode_is_refused() -> None:
    with pytest.raises(BadInput, match="exchange: expected one of pipelined_bounded, pipelined, blocking, got 'fast'"):
        env().from_collection([1]).exchange("fast")
