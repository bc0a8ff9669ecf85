"""An unknown key that is a word of Flink, or a key of another mapping, is answered with the key of the format."""

from __future__ import annotations

import re
from pathlib import Path as FilePath

import pytest

from flowsim.errors import ScenarioError
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.setting import settings_of
from flowsim.scenario.loader import load_text
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.scenario.yaml.flink_names import FlinkNames, suggested_key, suggested_value
from flowsim.scenario.yaml.keys import every_key, known_keys
from flowsim.scenario.yaml.positions import YamlValue

SETTINGS, SOURCE, OPERATOR, SINK = ("settings",), ("sources", "s"), ("operators", "w"), ("sinks", "o")
WATERMARKS, WINDOW, ASYNC = (*SOURCE, "watermarks"), (*OPERATOR, "window"), (*OPERATOR, "async")


@pytest.mark.parametrize(
    ("place", "word", "keys"),
    [
        (SETTINGS, "execution.buffer-timeout.interval", "'buffer_timeout'"),
        (SETTINGS, "execution.buffer-timeout", "'buffer_timeout'"),
        (SETTINGS, "execution.checkpointing", "'checkpointing'"),
        ((), "enableCheckpointing", "'settings.checkpointing'"),
        (SETTINGS, "setBufferTimeout", "'buffer_timeout'"),
        (SETTINGS, "taskmanager.network.memory.buffers-per-channel", "'exclusive_buffers_per_channel'"),
        (SETTINGS, "buffers-per-channel", "'exclusive_buffers_per_channel'"),
        (
            SETTINGS,
            "buffers",
            (
                "'network_buffers', 'exclusive_buffers_per_channel', 'floating_buffers_per_gate', "
                "'max_buffers_per_channel' or 'overdraft_buffers'"
            ),
        ),
        (SETTINGS, "parallelism.default", "'parallelism'"),
        (SETTINGS, "execution.checkpointing.interval", "'checkpointing.interval'"),
        (SETTINGS, "restart-strategy.type", "'restart_strategy'"),
        (SETTINGS, "restart-strategy.fixed-delay.attempts", "'restart_strategy.fixed_delay.attempts'"),
        (SETTINGS, "idleness", "'idle_after' of sources.NAME.watermarks or 'idle_after' of operators.NAME.watermarks"),
        ((), "parallelism.default", "'settings.parallelism'"),
        ((), "pipeline.name", "'name'"),
        (SOURCE, "withIdleness", "'watermarks.idle_after'"),
        (WATERMARKS, "idleness", "'idle_after'"),
        (WATERMARKS, "with_idleness", "'idle_after'"),
        (WATERMARKS, "forBoundedOutOfOrderness", "'max_out_of_orderness'"),
        (WATERMARKS, "no_watermarks", "'emit: never'"),
        (WATERMARKS, "maxAllowedWatermarkDrift", "'alignment.max_drift'"),
        (OPERATOR, "allowedLateness", "'window.allowed_lateness'"),
        (
            SETTINGS,
            "slotSharingGroup",
            (
                "'slot_sharing_group' of sources.NAME, 'slot_sharing_group' of operators.NAME or "
                "'slot_sharing_group' of sinks.NAME"
            ),
        ),
        (OPERATOR, "sideOutputLateData", "'window.late_output'"),
        (OPERATOR, "keyBy", "'key_by'"),
        (OPERATOR, "flatMap", "'flat_map'"),
        (OPERATOR, "rebalance", "'partition: rebalance'"),
        (OPERATOR, "disable_chaining", "'chaining: never'"),
        (OPERATOR, "TumblingEventTimeWindows", "'window.tumbling'"),
        (OPERATOR, "unorderedWait", "'async.mode: unordered'"),
        (WINDOW, "setParallelism", "'parallelism' of operators.w"),
        (ASYNC, "async_retry_strategy", "'retry'"),
        (SINK, "disableChaining", "'chaining: never'"),
        (("sources", "s", "watermarks"), "out_of_orderness", "'max_out_of_orderness'"),
    ],
)
def test_word_of_flink_is_answered_with_the_key_and_its_place(place: tuple[str, ...], word: str, keys: str) -> None:
    assert suggested_key(ScenarioModel, place, word, None) == f" (did you mean {keys}?)"


def test_name_of_an_operator_is_its_key() -> None:
    for word in ("uid", "name", "setUidHash"):
        assert suggested_key(ScenarioModel, OPERATOR, word, "a") == ": an operator's name is its key, and also its uid"


def test_option_can_be_nested_as_in_flinks_configuration_file() -> None:
    value: YamlValue = {"checkpointing": {"mode": "EXACTLY_ONCE"}}
    assert suggested_key(ScenarioModel, (), "execution", value) == " (did you mean 'settings.checkpointing.mode'?)"


@pytest.mark.parametrize("word", ["state.backend.type", "setStateBackend", "taskmanager.numberOfTaskSlots"])
def test_word_for_a_feature_that_is_not_simulated_is_answered_with_the_reason(word: str) -> None:
    assert suggested_key(ScenarioModel, SETTINGS, word, None).startswith(": flowsim does not simulate this (")


def test_words_without_a_key_are_not_answered() -> None:
    for word in ("", "-", "frobnicate", "ä", "x" * 10_000, "."):
        assert suggested_key(ScenarioModel, SETTINGS, word, None) == ""


@pytest.mark.parametrize(
    ("path", "value", "allowed", "meant"),
    [
        ((*SETTINGS, "checkpointing", "mode"), "EXACTLY_ONCE", ["exactly_once", "at_least_once"], "exactly_once"),
        ((*SETTINGS, "checkpointing", "mode"), "CheckpointingMode.AT_LEAST_ONCE", ["at_least_once"], "at_least_once"),
        (WINDOW, "TumblingEventTimeWindows.of(Duration.ofSeconds(5))", [], "tumbling: ..."),
        ((*WINDOW, "trigger"), "CountTrigger", ["event_time", "never"], "count: ..."),
        ((*WINDOW, "trigger"), "EventTimeTrigger.create()", ["event_time", "never"], "event_time"),
        ((*SETTINGS, "restart_strategy"), "fixed-delay", [], "fixed_delay: ..."),
    ],
)
def test_value_of_flink_is_answered_with_the_value(
    path: tuple[str, ...], value: str, allowed: list[str], meant: str
) -> None:
    assert suggested_value(ScenarioModel, path, value, allowed) == f" (did you mean {meant!r}?)"


def test_messages_of_a_scenario_have_the_suggestions() -> None:
    with pytest.raises(ScenarioError) as refused:
        load_text(
            "flowsim: 1\nname: x\nsources:\n  s: {collection: {fields: {a: long}, rows: [[1]]}, tumbling: 1}\n"
            "operators:\n  w: {input: s, key_by: a, aggregate: {n: count()},\n"
            "      window: {assigner: TumblingEventTimeWindows, size: 5 s}}\n"
            "  m: {input: s, parallel: 2, map: {select: {a: a}}, lateness: 5 s}\n"
            "sinks: {o: {input: m, collect: {}}}\n",
            "s.yaml",
            FilePath(),
        )
    assert str(refused.value).splitlines() == [
        "s.yaml:4:53 sources.s.tumbling: unknown key 'tumbling' (did you mean 'tumbling' of operators.NAME.window?)",
        "s.yaml:7:16 operators.w.window.assigner: unknown key 'assigner' (did you mean 'tumbling'?)",
        "s.yaml:7:52 operators.w.window.size: unknown key 'size' (did you mean 'sliding.size' or 'count.size'?)",
        "s.yaml:8:17 operators.m.parallel: unknown key 'parallel' (did you mean 'parallelism'?)",
        "s.yaml:8:53 operators.m.lateness: unknown key 'lateness' (did you mean 'window.allowed_lateness'?)",
    ]


def test_each_key_is_found_in_its_own_mapping() -> None:
    """The paths of ``every_key`` are those that ``known_keys`` lists, so each suggestion names a key that exists."""
    keys = list(every_key(ScenarioModel))
    assert len(keys) > 300
    for path, _ in keys:
        parts = tuple(0 if part == "[]" else part for part in path)
        assert parts[-1] in known_keys(ScenarioModel, parts[:-1])


def test_option_and_method_of_a_new_setting_are_names_of_its_key() -> None:
    names = {
        path[1]: {name for each in info.metadata if isinstance(each, FlinkNames) for name, _ in each.with_values()}
        for path, info in every_key(ScenarioModel)
        if path[0] == "settings" and len(path) == 2
    }
    for setting in settings_of(JobSettings):
        assert {name for name in (setting.option, setting.method) if name} <= names[setting.key]


def test_names_are_written_as_in_pyflink_or_as_options() -> None:
    for _, info in every_key(ScenarioModel):
        for each in info.metadata:
            for name, _ in each.with_values() if isinstance(each, FlinkNames) else ():
                assert re.fullmatch(r"[a-z_]+|[A-Z][A-Za-z]+|[a-z-]+(\.[a-z-]+)+", name), name
