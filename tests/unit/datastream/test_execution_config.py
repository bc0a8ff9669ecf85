"""PyFlink's names of settings, parameters of the job, slot sharing groups and projections."""

from __future__ import annotations

import pytest

from flowsim.datastream import StreamExecutionEnvironment, WithoutEffect
from flowsim.datastream.common import Configuration, Row, Types
from flowsim.datastream.common.typeinfo import BasicTypeInfo, ListTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo
from flowsim.datastream.functions import MapFunction, RuntimeContext
from flowsim.datastream.pyflink_way import pyflink_way
from flowsim.datastream.slot_sharing_group import SlotSharingGroup
from flowsim.errors import BadInput


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_config_changes_settings_of_job() -> None:
    env = environment()
    config = env.get_config().set_parallelism(3).set_max_parallelism(64).set_latency_tracking_interval(50)
    assert (env.get_parallelism(), env.get_max_parallelism(), env.settings.latency_interval_ms) == (3, 64, 50)
    assert (config.get_parallelism(), config.get_max_parallelism(), config.get_latency_tracking_interval()) == (
        3,
        64,
        50,
    )
    with pytest.raises(BadInput, match="set_parallelism"):
        config.set_parallelism(0)


def test_setting_of_the_jvm_warns_with_the_line_of_its_caller() -> None:
    config = environment().get_config()
    with pytest.warns(WithoutEffect, match="^enable_force_kryo: no effect in flowsim: ") as noted:
        assert config.enable_force_kryo() is config
    assert [one.filename for one in noted] == [__file__]


class _Parameter(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.factor = int(runtime_context.get_job_parameter("factor", "1"))
        self.other = runtime_context.get_job_parameter("other", "none")

    def map(self, value: int) -> object:
        return value * self.factor, self.other


def test_function_reads_parameters_of_job() -> None:
    env = environment()
    stream = env.from_collection([1, 2]).map(_Parameter())
    env.get_config().set_global_job_parameters({"factor": 10})
    assert env.get_config().get_global_job_parameters() == {"factor": "10"}
    assert list(stream.execute_and_collect()) == [(10, "none"), (20, "none")]


def test_slot_sharing_group_with_resources_cuts_the_chain() -> None:
    env = environment()
    group = SlotSharingGroup.builder("heavy").set_cpu_cores(1.5).set_managed_memory_mb(64).build()
    with pytest.warns(WithoutEffect, match="register_slot_sharing_group"):
        env.register_slot_sharing_group(group)
    env.from_collection([1]).map(lambda value: value).slot_sharing_group(group).set_description("cut").print()
    nodes = env.stream_graph().nodes.values()
    assert [node.slot_sharing_group for node in nodes] == ["default", "heavy", "heavy"]
    with pytest.raises(BadInput, match="expected the name of a group or a SlotSharingGroup, got 3"):
        env.from_collection([1]).slot_sharing_group(3)  # type: ignore[arg-type]


def test_projection_selects_fields_in_order() -> None:
    declared = Types.TUPLE([Types.INT(), Types.STRING(), Types.LONG()])
    projected = environment().from_collection([(1, "a", 2)], declared).project(2, 0)
    assert projected.get_type() == Types.TUPLE([Types.LONG(), Types.INT()])
    assert list(projected.execute_and_collect()) == [(2, 1)]
    with pytest.raises(BadInput, match="expected indexes of fields of TUPLE<INT,STRING,LONG>, got 3"):
        environment().from_collection([(1, "a", 2)], declared).project(3)


def test_rows_of_a_declared_type_have_names() -> None:
    stream = environment().from_collection([(1, "a")], Types.ROW([Types.INT(), Types.STRING()]))
    assert list(stream.execute_and_collect()) == [Row(f0=1, f1="a")]


def test_classes_of_types_make_the_same_types() -> None:
    int_, text = BasicTypeInfo.INT_TYPE_INFO(), BasicTypeInfo.STRING_TYPE_INFO()
    assert (int_, text) == (Types.INT(), Types.STRING())
    assert RowTypeInfo([int_], ["a"]) == Types.ROW_NAMED(["a"], [int_])
    assert (TupleTypeInfo([int_]), ListTypeInfo(text)) == (Types.TUPLE([int_]), Types.LIST(text))
    assert MapTypeInfo(text, int_) == Types.MAP(text, int_)


def test_configuration_is_read_as_it_was_set() -> None:
    configuration = Configuration().set_integer("parallelism.default", 2)
    configuration.set_boolean("pipeline.object-reuse", True)
    assert configuration.get_integer("parallelism.default", 1) == 2
    assert configuration.get_float("parallelism.default", 1.0) == 2.0
    assert configuration.get_boolean("pipeline.object-reuse", False) is True
    assert configuration.get_string("nothing", "default") == "default"
    assert configuration.key_set() == {"parallelism.default", "pipeline.object-reuse"}
    with pytest.raises(BadInput, match=r"parallelism.default: expected true or false, got '2'"):
        configuration.get_boolean("parallelism.default", False)
    copied: dict[str, object] = {}
    Configuration().add_all(configuration).add_all_to_dict(copied)
    assert copied == {"parallelism.default": "2", "pipeline.object-reuse": "true"}
    assert (configuration.remove_config("parallelism.default"), configuration.remove_config("x")) == (True, False)
    assert Configuration.parse_list_value("a; b") == ["a", "b"]


def test_program_for_pyflink_may_set_any_key() -> None:
    with pyflink_way():
        for key in ("rest.port", "state.backend.type", "python.fn-execution.bundle.size"):
            with pytest.warns(WithoutEffect, match=f"^configuration: {key}: no effect in flowsim: ") as noted:
                configuration = Configuration().set_string(key, "1")
            assert [one.filename for one in noted] == [__file__]
            assert configuration.get_integer(key, 0) == 1
            environment().configure(configuration)
    with pytest.raises(BadInput, match="flowsim does not simulate this"):
        Configuration().set_string("rest.port", "8081")
