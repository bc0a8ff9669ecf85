"""Where a job is built and run. Flink: StreamExecutionEnvironment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

from flowsim.cluster.mini_cluster import JobExecutionResult, RunOptions, execute
from flowsim.cluster.recorded_run import execute_recorded
from flowsim.connectors.files.columns import nearest
from flowsim.connectors.memory import CollectionSource
from flowsim.connectors.script import ScriptedSource
from flowsim.connectors.source import Source
from flowsim.datastream import operator_factories as factories
from flowsim.datastream.common.configuration import Configuration
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.execution_config import ExecutionConfig
from flowsim.datastream.execution_plan import execution_plan
from flowsim.datastream.network_settings import NETWORK_SETTINGS, checked_number
from flowsim.datastream.operator_factories import MakeOperator
from flowsim.datastream.operator_handle import checked_buffer_timeout, checked_max_parallelism
from flowsim.datastream.transformation import Transformation, Upstream, generate, positive
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.graph.stream_graph import JobSettings, OperatorDescription, StreamGraph
from flowsim.legacy.source_function import LegacySource, ParallelSourceFunction, SourceFunction
from flowsim.operators.input_selection import MAX_SUPPORTED_INPUT_COUNT
from flowsim.operators.stream_operator import StreamOperator
from flowsim.values import Row, TypeInformation, TypeKind

DEFAULT_JOB_NAME = "Flink Streaming Job"


class StreamExecutionEnvironment:
    """Builds jobs and runs them. PyFlink: StreamExecutionEnvironment.

    The default parallelism is 1, so that a job does not depend on the machine. ``configure`` takes settings of the job,
    ``flowsim_settings`` those of its runs (seed, policy, clock, ...) and ``flowsim_recording`` where they leave what
    happened; PyFlink has no words for either.
    """

    def __init__(self) -> None:
        self.settings = JobSettings()
        """Settings of the job; read when its operators are made."""
        self._max_parallelism: int | None = None
        self._run_settings: dict[str, object] = {}
        self._recording: tuple[str | Path, Level] | None = None
        self._operators: list[Transformation] = []
        self._next_id = 1

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        """A fresh environment."""
        env = StreamExecutionEnvironment()
        return env if configuration is None else env.configure(configuration)

    # Settings.

    def configure(self, configuration: Configuration | None = None, **settings: object) -> StreamExecutionEnvironment:
        """Sets Flink's option keys, or settings of ``JobSettings`` by name, such as ``segment_size_bytes=1024``."""
        if configuration is not None:
            settings = {**configuration.settings(), **settings}
        known = {field.name: getattr(self.settings, field.name) for field in fields(JobSettings)}
        for name, value in settings.items():
            if name == "parallelism":
                self.set_parallelism(_integer(name, value))
            elif name == "max_parallelism":
                self.set_max_parallelism(_integer(name, value))
            elif name == "buffer_timeout_ms":
                self.set_buffer_timeout(_integer(name, value))
            elif name in NETWORK_SETTINGS:
                setattr(self.settings, name, NETWORK_SETTINGS[name](value))
            elif name not in known:
                raise BadInput(f"configure: unknown setting {name!r}{nearest(name, [*known, 'max_parallelism'])}")
            elif isinstance(known[name], bool):
                if not isinstance(value, bool):
                    raise BadInput(f"configure: {name}: expected True or False, got {value!r}")
                setattr(self.settings, name, value)
            else:
                setattr(self.settings, name, checked_number(name, value))
        return self

    def flowsim_settings(self, **settings: object) -> StreamExecutionEnvironment:
        """flowsim's own: settings of the runs that ``execute`` starts, the fields of ``RunOptions`` by name."""
        known = [field.name for field in fields(RunOptions)]
        for name in settings:
            if name not in known:
                raise BadInput(f"flowsim_settings: unknown setting {name!r}{nearest(name, known)}")
        self._run_settings.update(settings)
        return self

    def flowsim_recording(
        self, directory: str | Path, level: Literal["elements", "full"] = "full"
    ) -> StreamExecutionEnvironment:
        """flowsim's own: where the next runs leave their recording, for ``flowsim validate``; a run replaces the last."""
        levels = {"elements": Level.ELEMENTS, "full": Level.FULL}
        if level not in levels:
            raise BadInput(f"flowsim_recording: level: expected elements or full, got {level!r}")
        self._recording = (directory, levels[level])
        return self

    def get_config(self) -> ExecutionConfig:
        return ExecutionConfig(self.settings)

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Parallelism of operators added from now on that set none."""
        self.settings.parallelism = positive(parallelism, "set_parallelism")
        return self

    def get_parallelism(self) -> int:
        return self.settings.parallelism

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Number of key groups of operators that set none; without it derived from the parallelism (rule 1.21)."""
        self._max_parallelism = checked_max_parallelism(max_parallelism, "set_max_parallelism")
        return self

    def get_max_parallelism(self) -> int:
        """-1 where none is set, as in Flink."""
        return -1 if self._max_parallelism is None else self._max_parallelism

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """After how many ms partly filled buffers are sent; 0 at once, -1 never."""
        self.settings.buffer_timeout_ms = checked_buffer_timeout(timeout_millis, "set_buffer_timeout")
        return self

    def get_buffer_timeout(self) -> int:
        return self.settings.buffer_timeout_ms

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Every operator becomes a task of its own (rule 1.6)."""
        self.settings.operator_chaining = False
        return self

    def is_chaining_enabled(self) -> bool:
        return self.settings.operator_chaining

    # Sources.

    def from_collection(self, collection: Iterable[object], type_info: TypeInformation | None = None) -> DataStream:
        """The values in order, at parallelism 1; under a ROW type tuples and lists become Rows."""
        if isinstance(collection, str | bytes):
            raise TypeError(f"from_collection: expected a collection of values, got {collection!r}")
        values = list(collection)
        if type_info is not None and type_info.kind is TypeKind.ROW:
            values = [_as_row(value, type_info) for value in values]
        strategy = WatermarkStrategy.no_watermarks()
        return self.from_source(CollectionSource(values), strategy, "Collection Source", type_info)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """A stream of what a source reads, such as ``flowsim.connectors.files.csv.CsvSource``.

        A source that emits watermarks itself keeps them under ``WatermarkStrategy.no_watermarks()``.
        """
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise TypeError(f"from_source: expected a WatermarkStrategy, got {watermark_strategy!r}")
        _check_source(source, "from_source")
        own = source.emits_watermarks and watermark_strategy.makes_no_watermarks
        return self._source(source, None if own else watermark_strategy, source_name, type_info)

    def add_source(
        self,
        source_func: Source | SourceFunction | LegacySource,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """A source that speaks for itself: a SourceFunction, on a thread of its own as in Flink, or a ScriptedSource.

        ``LegacySource(source)`` plays any other source as such a function. Flink: SourceFunction (deprecated there).
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
            if isinstance(source, ScriptedSource) and source.speaks_of_event_time:
                described["watermarks"] = {**strategy.params, "kind": "custom"}
        description = OperatorDescription("source", described)
        added = self._transformation(f"Source: {name}", description, make, ())
        added.is_source = True
        added.needs_cost = source.needs_cost
        if source.required_parallelism is not None:
            added.parallelism = added.required_parallelism = source.required_parallelism
            added.required_because = f"a {source.kind} source of this kind has as many subtasks, no more and no fewer"
        return DataStream(self, (Upstream(added),), type_info)

    def _legacy_source(
        self, function: SourceFunction | LegacySource, name: str, type_info: TypeInformation | None
    ) -> DataStream:
        make = factories.source_function_operator(function, self.settings)
        described: dict[str, object] = {"source": "function"}
        if isinstance(function, LegacySource):
            described = {"source": function.kind, **function.params}
        description = OperatorDescription("source", {**described, "legacy": True})
        added = self._transformation(f"Source: {name}", description, make, ())
        added.is_source = added.is_legacy_source = True
        required: int | None = 1
        if isinstance(function, LegacySource):
            added.needs_cost, required = function.needs_cost, function.required_parallelism
        elif isinstance(function, ParallelSourceFunction):
            required = None
        if required is not None:
            added.parallelism = added.required_parallelism = required
            added.required_because = "such a source has as many subtasks (a ParallelSourceFunction may have more)"
        return DataStream(self, (Upstream(added),), type_info)

    # The job.

    def add_operator(
        self, name: str, description: OperatorDescription, make: MakeOperator, inputs: tuple[Upstream, ...]
    ) -> Transformation:
        """Puts an operator behind these streams; for the stream classes and extensions of flowsim."""
        added = self._transformation(name, description, make, inputs)
        self._operators.append(added)
        return added

    def add_inputs(
        self,
        name: str,
        description: OperatorDescription,
        make: MakeOperator,
        streams: Sequence[DataStream],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Puts an operator behind these streams, one input each; raises BadInput where they cannot meet.

        Flink: TwoInputTransformation, KeyedMultipleInputTransformation.
        """
        if any(stream.get_execution_environment() is not self for stream in streams):
            raise BadInput(f"{name}: the streams belong to different environments")
        keys = [stream.key for stream in streams]
        if all(selector is not None for selector, _ in keys) and len({key_type for _, key_type in keys}) > 1:
            raise BadInput(f"{name}: the inputs are keyed by different types, expected the same key_type for all")
        upstreams = [upstream for index, stream in enumerate(streams) for upstream in stream.as_input(index)]
        added = self.add_operator(name, description, make, tuple(upstreams))
        added.key_selectors = tuple(selector for selector, _ in keys)
        if None not in added.key_selectors:
            added.key_selector, added.key_type = keys[0]
        return DataStream(self, (Upstream(added),), output_type)

    def multiple_input(
        self,
        operator_name: str,
        operator_factory: Callable[[], StreamOperator],
        *streams: DataStream,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """flowsim's own: an operator of the caller's with one input per stream, made once per subtask.

        Such as a ``MultipleInputOperator``, which may be ``InputSelectable``. Flink: MultipleInputTransformation.
        """
        if not 2 <= len(streams) <= MAX_SUPPORTED_INPUT_COUNT:
            raise BadInput(
                f"multiple_input: expected 2 to {MAX_SUPPORTED_INPUT_COUNT} streams, got {len(streams)} (rule 7.24)"
            )
        description = OperatorDescription("multiple_input", {"inputs": len(streams)})
        return self.add_inputs(operator_name, description, lambda name: operator_factory(), streams, output_type)

    def _transformation(
        self, name: str, description: OperatorDescription, make: MakeOperator, inputs: tuple[Upstream, ...]
    ) -> Transformation:
        added = Transformation(self._next_id, name, make, description, self.settings.parallelism, inputs)
        self._next_id += 1
        return added

    def stream_graph(self, job_name: str | None = None) -> StreamGraph:
        """The job built so far. Flink: StreamExecutionEnvironment.getStreamGraph."""
        return generate(job_name or DEFAULT_JOB_NAME, self.settings, self._operators, self._max_parallelism)

    def get_execution_plan(self) -> str:
        """The job as JSON, in the form of Flink's plan."""
        return execution_plan(self.stream_graph())

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Runs the job to its end; the environment then starts empty, as Flink's does. Raises JobFailed, Deadlock."""
        graph = self.stream_graph(job_name)
        self._operators.clear()
        options = RunOptions(**self._run_settings)  # type: ignore[arg-type]
        if self._recording is None:
            return execute(graph, options)
        if options.recorder is not None:
            raise BadInput("flowsim_recording: the facts of a run go to one recorder, and flowsim_settings has set one")
        return execute_recorded(graph, options, *self._recording)

    def close(self) -> None:
        """Nothing is held between runs."""


def _integer(name: str, value: object) -> int:
    if type(value) is not int:
        raise BadInput(f"configure: {name}: expected an integer, got {value!r}")
    return value


def _check_source(source: object, called: str) -> None:
    if not callable(getattr(source, "create_reader", None)):
        raise TypeError(f"{called}: expected a source such as flowsim.connectors.files.csv.CsvSource, got {source!r}")


def _as_row(value: object, type_info: TypeInformation) -> object:
    if not isinstance(value, tuple | list):
        return value
    if len(value) != len(type_info.arguments):
        raise BadInput(f"from_collection: expected {len(type_info.arguments)} fields of {type_info}, got {value!r}")
    return Row.of(tuple(value), type_info.field_names)
