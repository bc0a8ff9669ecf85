"""Metrics samples in OpenMetrics text, with the names and labels of Flink's Prometheus reporter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from flowsim.export.job import job_name
from flowsim.export.job_samples import JobSample
from flowsim.export.samples import Sample
from flowsim.recording.reader import Recording

_TASK: Final = "taskmanager_job_task"
_INPUT: Final = f"{_TASK}_Shuffle_Netty_Input_Buffers"
_OUTPUT: Final = f"{_TASK}_Shuffle_Netty_Output_Buffers"
_OPERATOR: Final = f"{_TASK}_operator"
_JOB: Final = "jobmanager_job"
_JOB_MANAGER: Final = "jobmanager"
_UNALLOWED: Final = re.compile(r"[^a-zA-Z0-9:_]")
_NO_JOB_ID: Final = "0" * 32
_FIRST: Final = 0


Value = Callable[[dict[str, int]], str]


def _integer(column: str) -> Value:
    return lambda values: str(values[column])


def _share(column: str) -> Value:
    return lambda values: str(values[column] / 1_000_000)


def _busy(values: dict[str, int]) -> str:
    return "NaN" if values["busy_ms"] < 0 else str(values["busy_ms"])


def _back_pressured(values: dict[str, int]) -> str:
    return str(values["soft_ms"] + values["hard_ms"])


_TASK_METRICS: Final[tuple[tuple[str, str, Value], ...]] = (
    (_TASK, "busyTimeMsPerSecond", _busy),
    (_TASK, "idleTimeMsPerSecond", _integer("idle_ms")),
    (_TASK, "softBackPressuredTimeMsPerSecond", _integer("soft_ms")),
    (_TASK, "hardBackPressuredTimeMsPerSecond", _integer("hard_ms")),
    (_TASK, "backPressuredTimeMsPerSecond", _back_pressured),
    (_TASK, "numRecordsIn", _integer("records_in")),
    (_TASK, "numRecordsOut", _integer("records_out")),
    (_TASK, "numBuffersOut", _integer("buffers_out")),
    (_TASK, "numBytesOut", _integer("bytes_out")),
    (_TASK, "mailboxQueueSize", _integer("mailbox_size")),
    (_INPUT, "inputQueueLength", _integer("input_queue")),
    (_INPUT, "inPoolUsage", _share("input_pool_usage")),
    (_OUTPUT, "outputQueueLength", _integer("output_queue")),
    (_OUTPUT, "outPoolUsage", _share("output_pool_usage")),
)
_WITH_INPUT: Final = (_TASK, "currentInputWatermark", _integer("input_watermark"))
"""Flink has no input watermark of sources."""


@dataclass(frozen=True, slots=True)
class _Series:
    """The values of one metric of one task or operator, in the order of time."""

    labels: str
    points: dict[int, str]
    """By time in nanoseconds; of several samples at the same time the last one remains."""


class _Family(NamedTuple):
    scope: str
    name: str
    series: list[_Series]


def open_metrics(recording: Recording, samples: Iterable[Sample], of_job: Sequence[JobSample] = ()) -> Iterator[str]:
    """Yields the lines of the text; timestamps are seconds on the clock of the run, which is 1 at the start of a job.

    The metrics are gauges, as Flink's reporter has them: a counter of Flink may decrease after a restart.
    """
    by_task: dict[tuple[int, int], list[Sample]] = {}
    for sample in samples:
        by_task.setdefault((sample.task, sample.attempt), []).append(sample)
    labels = _Labels(recording)
    for family in (*_families(labels, by_task), *_job_families(labels, of_job)):
        name = f"flink_{family.scope}_{family.name}"
        yield f"# TYPE {name} gauge\n# HELP {name} {family.name} (scope: {family.scope})\n"
        for series in family.series:
            for time_ns, value in series.points.items():
                seconds, ns = divmod(time_ns, 1_000_000_000)
                yield f"{name}{{{series.labels}}} {value} {seconds}.{ns:09d}\n"
    yield "# EOF\n"


def _families(labels: _Labels, by_task: dict[tuple[int, int], list[Sample]]) -> Iterator[_Family]:
    for scope, name, value in (*_TASK_METRICS, _WITH_INPUT):
        series = [
            _Series(labels.task(task, attempt), {sample.time_ns: value(sample.values) for sample in found})
            for (task, attempt), found in by_task.items()
            if name != _WITH_INPUT[1] or labels.has_input(task)
        ]
        if series:
            yield _Family(scope, name, series)
    yield from _checkpoint_families(labels, by_task)
    for name, of_operator in (
        ("currentInputWatermark", _head_watermark),
        ("currentOutputWatermark", _tail_watermark),
        ("numLateRecordsDropped", _late_records_dropped),
    ):
        series = [
            _Series(labels.operator(task, attempt, operator), {sample.time_ns: value(sample) for sample in found})
            for (task, attempt), found in by_task.items()
            for operator, value in of_operator(labels, found[0])
        ]
        if series:
            yield _Family(_OPERATOR, name, series)


def _checkpoint_families(labels: _Labels, by_task: dict[tuple[int, int], list[Sample]]) -> Iterator[_Family]:
    with_checkpoints = {
        each: of_task for each, of_task in by_task.items() if of_task[0].checkpoint_alignment_ns is not None
    }
    if with_checkpoints:
        delays = [
            _Series(labels.task(*each), {sample.time_ns: str(sample.checkpoint_start_delay_ns) for sample in of_task})
            for each, of_task in with_checkpoints.items()
        ]
        yield _Family(_TASK, "checkpointStartDelayNanos", delays)
    alignments = [
        _Series(labels.task(*each), {sample.time_ns: str(sample.checkpoint_alignment_ns) for sample in of_task})
        for each, of_task in with_checkpoints.items()
        if labels.has_input(each[0])
    ]
    if alignments:
        yield _Family(_TASK, "checkpointAlignmentTime", alignments)


def _job_families(labels: _Labels, samples: Sequence[JobSample]) -> Iterator[_Family]:
    for name in samples[0].values if samples else ():
        points = {sample.time_ns: str(sample.values[name]) for sample in samples}
        yield _Family(_JOB, name, [_Series(labels.job(), points)])


OfOperators = Iterable[tuple[int, Callable[[Sample], str]]]


def _head_watermark(labels: _Labels, first: Sample) -> OfOperators:
    return [(_FIRST, lambda sample: str(sample.values["input_watermark"]))] if labels.has_input(first.task) else []


def _tail_watermark(labels: _Labels, first: Sample) -> OfOperators:
    return [(labels.last_operator(first.task), lambda sample: str(sample.values["output_watermark"]))]


def _late_records_dropped(labels: _Labels, first: Sample) -> OfOperators:
    return [(operator, _late_of(operator)) for operator in first.late_records_dropped]


def _late_of(operator: int) -> Callable[[Sample], str]:
    return lambda sample: str(sample.late_records_dropped[operator])


class _Labels:
    """The variables of Flink's metric groups, without characters that its reporter replaces in values of labels."""

    def __init__(self, recording: Recording) -> None:
        self._job_name = job_name(recording)
        self._job_id = recording.manifest.digest[:32] or _NO_JOB_ID
        self._tasks = {int(row[0]): row for row in recording.static_rows("tasks")}
        self._managers = {int(row[0]): str(row[1]) for row in recording.static_rows("task_managers")}
        self._operators: dict[int, dict[int, str]] = {}
        for row in recording.static_rows("operators"):
            self._operators.setdefault(int(row[0]), {})[int(row[1])] = str(row[2])

    def has_input(self, task: int) -> bool:
        return int(self._tasks[task][7]) > 0

    def last_operator(self, task: int) -> int:
        return max(self._operators[int(self._tasks[task][1])])

    def job(self) -> str:
        return _text({"host": _JOB_MANAGER, "job_id": self._job_id, "job_name": self._job_name})

    def task(self, task: int, attempt: int) -> str:
        return _text(self._variables(task, attempt))

    def operator(self, task: int, attempt: int, operator: int) -> str:
        vertex = int(self._tasks[task][1])
        of_operator = {"operator_id": _id(vertex, operator), "operator_name": self._operators[vertex][operator]}
        return _text(self._variables(task, attempt) | of_operator)

    def _variables(self, task: int, attempt: int) -> dict[str, str]:
        _, vertex, manager, name, subtask, *_ = self._tasks[task]
        task_id = _id(int(vertex), _FIRST)
        task_manager = self._managers[int(manager)]
        return {
            "host": task_manager,
            "tm_id": task_manager,
            "job_id": self._job_id,
            "job_name": self._job_name,
            "task_id": task_id,
            "task_name": str(name).rpartition(" (")[0],
            "task_attempt_id": f"{self._job_id}_{task_id}_{subtask}_{attempt}",
            "task_attempt_num": str(attempt),
            "subtask_index": str(subtask),
        }


def _id(vertex: int, operator: int) -> str:
    """An id as long as Flink's; a vertex has that of its head operator."""
    return f"{vertex:016x}{operator:016x}"


def _text(variables: dict[str, str]) -> str:
    return ",".join(f'{name}="{_UNALLOWED.sub("_", value)}"' for name, value in variables.items())
