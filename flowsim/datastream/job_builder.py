"""The settings and operators of a job, and how it is run. Flink: StreamExecutionEnvironment."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, Self

from flowsim.datastream.building.network_settings import BLOCKS
from flowsim.datastream.building.operator_factories import MakeOperator
from flowsim.datastream.building.transformation import Transformation, Upstream, execution_plan, generate
from flowsim.datastream.common.configuration import Configuration
from flowsim.datastream.execution_config import ExecutionConfig
from flowsim.datastream.job_executor import RecordingSettings, change_of_context, executor_of_context
from flowsim.errors import BadInput, Deadlock, JobFailed, MissingTimestamp, NoTimestamp, did_you_mean
from flowsim.facts.kinds import Level
from flowsim.facts.recorder import VALUES_BYTES
from flowsim.graph.job_settings import JOB_SETTINGS, JobSettings
from flowsim.graph.stream_graph import OperatorDescription, StreamGraph
from flowsim.not_simulated import missing_attribute

if TYPE_CHECKING:
    from flowsim.cluster.job_execution import JobExecutionResult
    from flowsim.datastream.common.job_client import JobClient

DEFAULT_JOB_NAME = "Flink Streaming Job"


class JobBuilder:
    """The settings and operators of a job, without the methods that return streams; streams refer to a JobBuilder.

    ``StreamExecutionEnvironment`` adds those methods.
    """

    def __init__(self) -> None:
        self.settings: JobSettings = JobSettings()
        """Settings of the job; read when its operators are made."""
        self._run_settings: dict[str, object] = {}
        self._recording: RecordingSettings | None = None
        self._executor = executor_of_context()
        self._change_settings = change_of_context()
        self._operators: list[Transformation] = []
        self._next_id = 1
        self._job_parameters: dict[str, str] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

    # Settings.

    def configure(self, configuration: Configuration | None = None, **settings: object) -> Self:
        """Sets options by Flink's keys, or fields of ``JobSettings`` by name, such as ``segment_size_bytes=1024``."""
        if configuration is not None:
            settings = {**configuration.settings(), **settings}
        for name, value in settings.items():
            if name not in JOB_SETTINGS:
                raise BadInput(f"configure: unknown setting {name!r}{did_you_mean(name, list(JOB_SETTINGS))}")
            if name in BLOCKS:
                setattr(self.settings, name, BLOCKS[name](value))
            else:
                JOB_SETTINGS[name].check(value, f"configure: {name}")
                setattr(self.settings, name, value)
        return self

    def flowsim_settings(self, **settings: object) -> Self:
        """Sets fields of ``RunOptions``, by name, for the runs that ``execute`` starts; not in PyFlink."""
        from flowsim.cluster.job_execution import RunOptions

        known = [field.name for field in fields(RunOptions)]
        for name in settings:
            if name not in known:
                raise BadInput(f"flowsim_settings: unknown setting {name!r}{did_you_mean(name, known)}")
        self._run_settings.update(settings)
        return self

    def flowsim_recording(
        self,
        directory: str | Path,
        level: Literal["elements", "full"] = "full",
        record_values_bytes: int = VALUES_BYTES,
        record_state: bool = False,
    ) -> Self:
        """Sets the recording directory of later runs, for ``flowsim validate``; not in PyFlink.

        Each run replaces the recording of the previous one.

        ``record_values_bytes``: up to this size all distinct record values are stored, beyond this size a sample; 0: no
        values. ``record_state``: whether every change of keyed state is also recorded, which needs level full.
        """
        levels = {"elements": Level.ELEMENTS, "full": Level.FULL}
        if level not in levels:
            raise BadInput(f"flowsim_recording: level: expected elements or full, got {level!r}")
        if not isinstance(record_values_bytes, int) or record_values_bytes < 0:
            raise BadInput(
                f"flowsim_recording: record_values_bytes: expected an integer >= 0, got {record_values_bytes!r}"
            )
        if record_state and level != "full":
            raise BadInput(
                "flowsim_recording: record_state: state changes are recorded at level full only; set level='full'"
            )
        self._recording = RecordingSettings(directory, levels[level], record_values_bytes, record_state)
        return self

    def get_config(self) -> ExecutionConfig:
        """Returns the job's settings, which its setters change."""
        return ExecutionConfig(self.settings, self._job_parameters)

    def set_parallelism(self, parallelism: int) -> Self:
        """Sets the parallelism of operators that are added later and set none."""
        return self.configure(parallelism=parallelism)

    def get_parallelism(self) -> int:
        return self.settings.parallelism

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Sets the number of key groups of operators that set none; default: by the parallelism (rule 1.21)."""
        return self.configure(max_parallelism=max_parallelism)

    def get_max_parallelism(self) -> int:
        """Returns the number of key groups; -1 if none is set, as in Flink."""
        return -1 if self.settings.max_parallelism is None else self.settings.max_parallelism

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Sets the time after which partly filled buffers are sent, in ms; 0: at once, -1: never."""
        return self.configure(buffer_timeout_ms=timeout_millis)

    def get_buffer_timeout(self) -> int:
        return self.settings.buffer_timeout_ms

    def disable_operator_chaining(self) -> Self:
        """Makes every operator a separate task (rule 1.6)."""
        self.settings.operator_chaining = False
        return self

    def is_chaining_enabled(self) -> bool:
        return self.settings.operator_chaining

    # The job.

    def add_operator(
        self, name: str, description: OperatorDescription, make: MakeOperator, inputs: tuple[Upstream, ...]
    ) -> Transformation:
        """Adds an operator that reads these streams; for the stream classes and extensions of flowsim."""
        added = self.create_transformation(name, description, make, inputs)
        self._operators.append(added)
        return added

    def create_transformation(
        self, name: str, description: OperatorDescription, make: MakeOperator, inputs: tuple[Upstream, ...]
    ) -> Transformation:
        """Creates an operator that is not in the job yet; ``add_operator`` adds it."""
        self._change_settings(self)
        added = Transformation(self._next_id, name, make, description, self.settings.parallelism, inputs)
        self._next_id += 1
        added.job_parameters = self._job_parameters
        return added

    def stream_graph(self, job_name: str | None = None) -> StreamGraph:
        """Returns the job built so far. Flink: StreamExecutionEnvironment.getStreamGraph."""
        self._change_settings(self)
        return generate(job_name or DEFAULT_JOB_NAME, self.settings, self._operators)

    def get_execution_plan(self) -> str:
        """Returns the job as JSON, in the form of Flink's plan."""
        return execution_plan(self.stream_graph())

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Runs the job to its end; the environment is then empty, as in Flink. Raises JobFailed, Deadlock."""
        try:
            return self._execute(job_name)
        except JobFailed as failed:
            if isinstance(failed.cause, NoTimestamp):
                raise failed.advised(_TIMESTAMP_ADVICE) from failed.__cause__
            if isinstance(failed.cause, MissingTimestamp):
                raise failed.advised(_MISSING_ADVICE) from failed.__cause__
            raise

    def execute_async(self, job_name: str = DEFAULT_JOB_NAME) -> JobClient:
        """Runs the job to its end, as ``execute``, and returns its client, which has the result or the failure."""
        from flowsim.datastream.common.job_client import JobClient

        try:
            return JobClient(job_name, self.execute(job_name))
        except (JobFailed, Deadlock) as error:
            return JobClient(job_name, error)

    def _execute(self, job_name: str | None) -> JobExecutionResult:
        from flowsim.cluster.checkpoint_folders import checkpoint_folders, locked_folders
        from flowsim.cluster.job_execution import RunOptions

        graph = self.stream_graph(job_name)
        self._operators.clear()
        options = RunOptions(**self._run_settings)  # type: ignore[arg-type]
        if self._recording is not None and options.recorder is not None:
            raise BadInput("flowsim_recording: a run has one recorder, and flowsim_settings has already set one")
        with locked_folders(checkpoint_folders(graph.settings.checkpointing, options.actions)):
            return self._executor.execute(graph, options, self._recording)

    def close(self) -> None:
        """Does nothing: the environment holds no resources between runs."""


_TIMESTAMP_ADVICE = (
    "give the stream timestamps and watermarks before that operator: a WatermarkStrategy with a timestamp assigner, in "
    "from_source(...) or assign_timestamps_and_watermarks(...)"
)

_MISSING_ADVICE = "correct the record, or allow it by WatermarkStrategy.with_missing_timestamps('drop' or an OutputTag)"
