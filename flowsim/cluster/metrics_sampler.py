"""Samples the metrics of all tasks periodically. Flink: ViewUpdater (rule 13.2)."""

from __future__ import annotations

from flowsim.cluster.deployment import Deployment
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_metrics import MeasuredGate, MetricsSample, TaskMetrics
from flowsim.tasks.task_state import TaskState
from flowsim.tasks.timer_gauge import SAMPLES, UPDATE_INTERVAL_MS
from flowsim.units import NS_PER_MS


class MetricsSampler:
    """At every interval, closes the samples of the gauges and records one row of metrics per task.

    Intervals start with the job. A run is the same with any interval, because the sampler only reads. Its timer is a
    daemon: the timer does not keep a run alive, does not end a batch and is not a choice of the policy. A task that
    ends gets one more row for its last, shorter interval. Rows are omitted if no task worked for a whole ring of
    samples: they would repeat the previous row. With interval 0 there is no timer, and rows are recorded only when
    tasks end.
    """

    def __init__(self, deployment: Deployment, scheduler: Scheduler) -> None:
        settings = deployment.settings
        self._scheduler = scheduler
        self._interval_ns = settings.metrics_interval_ms * NS_PER_MS
        self._began_ns = scheduler.now_ns
        """Start time of the running interval, in ns."""
        self._timer: Timer | None = None
        self._idle_samples = 0
        self._metrics = [
            _metrics_of(task, deployment, settings.metrics_interval_ms or UPDATE_INTERVAL_MS)
            for task in deployment.tasks
        ]
        self.last: list[MetricsSample | None] = [None] * len(deployment.tasks)
        """The last sample of each task that has ended, by task id."""
        self.pool_peaks: list[tuple[int, int] | None] = [None] * len(deployment.tasks)
        """The highest sampled usage of input and output pools while a task ran, in millionths, by task id."""

    def start(self) -> None:
        """Registers the first timer."""
        if self._interval_ns:
            self._timer = self._scheduler.call_at_ns(
                self._began_ns + self._interval_ns, self._on_interval, daemon_while_not=_never
            )

    def stop(self) -> None:
        """Cancels the timer when the job has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def task_restarted(self, task: StreamTask, deployment: Deployment) -> None:
        """Samples the new attempt of a task from now on."""
        interval_ms = deployment.settings.metrics_interval_ms or UPDATE_INTERVAL_MS
        self._metrics[task.id] = _metrics_of(task, deployment, interval_ms)

    def task_ended(self, task: StreamTask) -> None:
        """Takes the last sample of a task that has ended; a task that never ran has no sample."""
        if task.times.started_ns:
            sample = self._metrics[task.id].last_sample(self._began_ns)
            self.last[task.id] = sample
            _record(task, sample)

    def _on_interval(self) -> None:
        previous_ns, self._began_ns = self._began_ns, self._scheduler.now_ns
        running = [one for one in self._metrics if one.task.state is TaskState.RUNNING]
        for metrics in running:
            metrics.update()
        worked = any(one.task.clock.now_ns >= previous_ns for one in running)
        self._idle_samples = 0 if worked else self._idle_samples + 1
        if self._idle_samples <= SAMPLES:
            for metrics in running:
                self._note(metrics.task, metrics.sample())
        self.start()

    def _note(self, task: StreamTask, sample: MetricsSample) -> None:
        highest_in, highest_out = self.pool_peaks[task.id] or (0, 0)
        self.pool_peaks[task.id] = (
            max(highest_in, sample.input_pool_usage),
            max(highest_out, sample.output_pool_usage),
        )
        _record(task, sample)


def _record(task: StreamTask, sample: MetricsSample) -> None:
    if task.trace is not None:
        task.trace.metrics(*sample)


def _metrics_of(task: StreamTask, deployment: Deployment, interval_ms: int) -> TaskMetrics:
    memory = deployment.execution.memory
    gates = [
        MeasuredGate(gate, memory.inputs[edge_id, task.id].exclusive)
        for edge_id, gate in deployment.network.gates_of(task.id)
    ]
    times = task.times.measure(deployment.scheduler, interval_ms)
    return TaskMetrics(task, times, gates, lambda: deployment.network.buffer_size(task.id))


def _never() -> bool:
    return False
