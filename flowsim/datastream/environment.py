"""Builds and runs a job. Flink: StreamExecutionEnvironment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from flowsim.connectors.memory import CollectionSource
from flowsim.connectors.script import ScriptedSource
from flowsim.connectors.source import Source, enumerator_factory_of
from flowsim.datastream.building import operator_factories as factories
from flowsim.datastream.building.collection_values import as_declared
from flowsim.datastream.building.declared_values import change_in_pyflink_way
from flowsim.datastream.building.transformation import Upstream
from flowsim.datastream.checkpoint_config import CheckpointConfig, CheckpointingMode
from flowsim.datastream.common.configuration import Configuration
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.execution_mode import RuntimeExecutionMode
from flowsim.datastream.job_builder import JobBuilder
from flowsim.datastream.slot_sharing_group import SlotSharingGroup
from flowsim.datastream.streams.stream import add_inputs
from flowsim.datastream.without_effect import warn_without_effect
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import OperatorDescription
from flowsim.legacy.source_function import LegacySource, ParallelSourceFunction, SourceFunction
from flowsim.operators.input_selection import MAX_SUPPORTED_INPUT_COUNT
from flowsim.operators.stream_operator import StreamOperator
from flowsim.values.types import TypeInformation


class StreamExecutionEnvironment(JobBuilder):
    """Builds jobs and runs them. PyFlink: StreamExecutionEnvironment.

    The default parallelism is 1, so that a job does not depend on the machine. Three methods: ``configure`` takes job
    settings, ``flowsim_settings`` run settings (seed, policy, clock, ...), and ``flowsim_recording`` the directory of
    recordings; the last two are not in PyFlink.
    """

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        """Creates a new environment."""
        env = StreamExecutionEnvironment()
        return env if configuration is None else env.configure(configuration)

    # Checkpoints.

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> StreamExecutionEnvironment:
        """Lets the job take a checkpoint every ``interval`` ms; ``mode`` None: exactly once."""
        config = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Returns the settings of checkpoints, which its setters change."""
        return CheckpointConfig(self.settings)

    def get_checkpoint_interval(self) -> int:
        """Returns the interval of checkpoints in ms; -1 without periodic checkpoints."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        return self.get_checkpoint_config().get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Sets whether the job runs in STREAMING or BATCH mode; AUTOMATIC: in BATCH mode if all sources are bounded."""
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise BadInput(f"set_runtime_mode: expected a RuntimeExecutionMode, got {execution_mode!r:.60}")
        return self.configure(runtime_mode=execution_mode)

    # What only a JVM, a cluster or the workers of PyFlink need.

    def add_jars(self, *jars_path: str) -> None:
        """Warns that it has no effect. A connector in a jar is refused where the program uses its class."""
        warn_without_effect("add_jars", "no JVM runs the job")

    def add_classpaths(self, *classpaths: str) -> None:
        """Warns that it has no effect, as ``add_jars``."""
        warn_without_effect("add_classpaths", "no JVM runs the job")

    def add_python_file(self, file_path: str) -> None:
        """Lets functions import a Python file, or the modules of a folder or archive. Raises BadInput if it is missing."""
        path = Path(file_path).resolve()
        if not path.exists():
            raise BadInput(f"add_python_file: {file_path}: no such file")
        folder = str(path.parent if path.suffix == ".py" else path)
        if folder not in sys.path:
            sys.path.append(folder)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Warns that it has no effect: functions import what the program can import."""
        warn_without_effect("add_python_archive", _IN_THIS_PROCESS)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Warns that it has no effect, as ``add_python_archive``."""
        warn_without_effect("set_python_requirements", _IN_THIS_PROCESS)

    def set_python_executable(self, python_exec: str) -> None:
        """Warns that it has no effect, as ``add_python_archive``."""
        warn_without_effect("set_python_executable", _IN_THIS_PROCESS)

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Warns that it has no effect: the action that takes a savepoint names its directory."""
        warn_without_effect("set_default_savepoint_directory", "the action that takes a savepoint names its directory")
        return self

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> StreamExecutionEnvironment:
        """Warns that it has no effect: a slot has no resources here."""
        warn_without_effect("register_slot_sharing_group", "a slot has no resources")
        return self

    # Sources.

    def from_collection(self, collection: Iterable[object], type_info: TypeInformation | None = None) -> DataStream:
        """Creates a stream of the values in order, at parallelism 1.

        With a ROW type, tuples, lists, dicts and objects become Rows with names; with a MAP type, objects become dicts.
        """
        if isinstance(collection, str | bytes):
            raise TypeError(f"from_collection: expected a collection of values, got {collection!r}")
        values = list(collection)
        if type_info is not None:
            values = [as_declared(value, type_info) for value in values]
        strategy = WatermarkStrategy.no_watermarks()
        return self.from_source(CollectionSource(values), strategy, "Collection Source", type_info)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Creates a stream of the records of a source, such as ``flowsim.connectors.files.csv.CsvSource``.

        With ``WatermarkStrategy.no_watermarks()`` the watermarks that a source emits itself are kept.
        """
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise TypeError(f"from_source: expected a WatermarkStrategy, got {watermark_strategy!r}")
        _check_source(source, "from_source")
        own = source.emits_watermarks and watermark_strategy.makes_no_watermarks
        if type_info is None:
            type_info = getattr(source, "produced_type", None)
        return self._source(source, None if own else watermark_strategy, source_name, type_info)

    def add_source(
        self,
        source_func: Source | SourceFunction | LegacySource,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Creates a stream of a source that emits event time itself.

        The source is a SourceFunction, which runs on its own thread as in Flink, or a ScriptedSource.

        ``LegacySource(source)`` runs any other source as a SourceFunction. Flink: SourceFunction (deprecated there).
        """
        if isinstance(source_func, SourceFunction | LegacySource):
            return self._legacy_source(source_func, source_name, type_info)
        _check_source(source_func, "add_source")
        return self._source(source_func, None, source_name, type_info)

    def _source(
        self, source: Source, strategy: WatermarkStrategy | None, name: str, type_info: TypeInformation | None
    ) -> DataStream:
        make = factories.source_operator(source, strategy, self.settings)
        described: dict[str, object] = {"source": source.kind, **source.params}
        if strategy is not None:
            described["watermarks"] = strategy.params
            if isinstance(source, ScriptedSource) and source.has_event_time_entries:
                described["watermarks"] = {**strategy.params, "kind": "custom"}
        description = OperatorDescription("source", described)
        added = self.create_transformation(f"Source: {name}", description, make, ())
        added.is_source, added.source = True, source
        added.change = change_in_pyflink_way(type_info)
        added.enumerator_factory = enumerator_factory_of(source)
        added.check_run = factories.run_check(added.enumerator_factory)
        added.needs_cost = source.needs_cost
        if source.required_parallelism is not None:
            added.parallelism = added.required_parallelism = source.required_parallelism
            added.required_because = f"this {source.kind} source has a fixed number of subtasks"
        return DataStream(self, (Upstream(added),), type_info)

    def _legacy_source(
        self, function: SourceFunction | LegacySource, name: str, type_info: TypeInformation | None
    ) -> DataStream:
        make = factories.source_function_operator(function, self.settings)
        described: dict[str, object] = {"source": "function"}
        if isinstance(function, LegacySource):
            described = {"source": function.kind, **function.params}
        description = OperatorDescription("source", {**described, "legacy": True})
        added = self.create_transformation(f"Source: {name}", description, make, ())
        added.is_source = added.is_legacy_source = True
        added.source = function
        required: int | None = 1
        if isinstance(function, LegacySource):
            added.needs_cost, required = function.needs_cost, function.required_parallelism
        elif isinstance(function, ParallelSourceFunction):
            required = None
        if required is not None:
            added.parallelism = added.required_parallelism = required
            added.required_because = (
                "this source has a fixed number of subtasks (only a ParallelSourceFunction can have more)"
            )
        return DataStream(self, (Upstream(added),), type_info)

    def multiple_input(
        self,
        operator_name: str,
        operator_factory: Callable[[], StreamOperator],
        *streams: DataStream,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """flowsim's own: adds a user-defined operator with one input per stream, created once per subtask.

        An example is a ``MultipleInputOperator``, which may be ``InputSelectable``. Flink: MultipleInputTransformation.
        """
        if not 2 <= len(streams) <= MAX_SUPPORTED_INPUT_COUNT:
            raise BadInput(
                f"multiple_input: expected 2 to {MAX_SUPPORTED_INPUT_COUNT} streams, got {len(streams)} (rule 7.24)"
            )
        description = OperatorDescription("multiple_input", {"inputs": len(streams)})
        return add_inputs(operator_name, description, lambda name: operator_factory(), streams, output_type)


_IN_THIS_PROCESS = "functions run in the process of the program, with its modules"


def _check_source(source: object, called: str) -> None:
    if not callable(getattr(source, "create_reader", None)):
        raise TypeError(f"{called}: expected a source such as flowsim.connectors.files.csv.CsvSource, got {source!r}")
