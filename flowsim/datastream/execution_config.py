"""The job's settings with the names of PyFlink's ExecutionConfig. Flink: ExecutionConfig."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.datastream.without_effect import warn_without_effect
from flowsim.graph.job_settings import JOB_SETTINGS, JobSettings

_JVM = "it is a setting of the JVM or of a cluster"


class ExecutionConfig:
    """A view of the job's settings. PyFlink: ExecutionConfig."""

    def __init__(self, settings: JobSettings, job_parameters: dict[str, str] | None = None) -> None:
        self._settings = settings
        self._job_parameters = {} if job_parameters is None else job_parameters

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Sets the time between two periodic watermarks in ms; 0: no periodic watermarks (rule 8.2)."""
        return self._set("auto_watermark_interval_ms", interval, "set_auto_watermark_interval")

    def get_auto_watermark_interval(self) -> int:
        return self._settings.auto_watermark_interval_ms

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Sets the parallelism of operators that are added later and set none."""
        return self._set("parallelism", parallelism, "set_parallelism")

    def get_parallelism(self) -> int:
        return self._settings.parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Sets the number of key groups of operators that set none."""
        return self._set("max_parallelism", max_parallelism, "set_max_parallelism")

    def get_max_parallelism(self) -> int:
        """Returns the number of key groups; -1 if none is set, as in Flink."""
        return -1 if self._settings.max_parallelism is None else self._settings.max_parallelism

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Sets the time between latency markers of a source in ms; 0 or less: no markers."""
        return self._set("latency_interval_ms", max(0, interval), "set_latency_tracking_interval")

    def get_latency_tracking_interval(self) -> int:
        return self._settings.latency_interval_ms

    def enable_object_reuse(self) -> ExecutionConfig:
        """Lets chained operators pass on the same object, not copied and not checked to be a record value."""
        self._settings.object_reuse = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        self._settings.object_reuse = False
        return self

    def is_object_reuse_enabled(self) -> bool:
        return self._settings.object_reuse

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, object]) -> ExecutionConfig:
        """Sets the parameters that functions read by ``RuntimeContext.get_job_parameter``, as texts."""
        self._job_parameters.clear()
        self._job_parameters.update({str(key): str(value) for key, value in global_job_parameters_dict.items()})
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        return dict(self._job_parameters)

    def _set(self, name: str, value: int, method: str) -> ExecutionConfig:
        JOB_SETTINGS[name].check(value, method)
        setattr(self._settings, name, value)
        return self

    # What only a JVM or a cluster needs: these warn that they have no effect.

    def enable_closure_cleaner(self) -> ExecutionConfig:
        warn_without_effect("enable_closure_cleaner", _JVM)
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        warn_without_effect("disable_closure_cleaner", _JVM)
        return self

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        warn_without_effect("set_task_cancellation_interval", _JVM)
        return self

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        warn_without_effect("set_task_cancellation_timeout", _JVM)
        return self

    def enable_force_kryo(self) -> ExecutionConfig:
        warn_without_effect("enable_force_kryo", _JVM)
        return self

    def disable_force_kryo(self) -> ExecutionConfig:
        warn_without_effect("disable_force_kryo", _JVM)
        return self

    def enable_generic_types(self) -> ExecutionConfig:
        warn_without_effect("enable_generic_types", _JVM)
        return self

    def disable_generic_types(self) -> ExecutionConfig:
        warn_without_effect("disable_generic_types", _JVM)
        return self

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        warn_without_effect("enable_auto_generated_uids", _JVM)
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        warn_without_effect("disable_auto_generated_uids", _JVM)
        return self

    def enable_force_avro(self) -> ExecutionConfig:
        warn_without_effect("enable_force_avro", _JVM)
        return self

    def disable_force_avro(self) -> ExecutionConfig:
        warn_without_effect("disable_force_avro", _JVM)
        return self

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        warn_without_effect("set_use_snapshot_compression", _JVM)
        return self
