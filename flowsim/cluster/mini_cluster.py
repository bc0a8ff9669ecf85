"""Runs a job on an event loop: deploys its tasks, supervises them, returns the result. Flink: MiniCluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from flowsim.cluster.deployment import Deployment
from flowsim.cluster.exhausted_sources import wait_for_records
from flowsim.cluster.job_execution import (
    JobExecutionResult,
    JobStatus,
    Progress,
    RunInterrupted,
    RunOptions,
    latency_summaries,
    missing_timestamp_summaries,
)
from flowsim.cluster.job_master.job_master import JobMaster
from flowsim.cluster.livelock_watch import LivelockWatch
from flowsim.cluster.memory_watch import MemoryWatch
from flowsim.cluster.metrics_sampler import MetricsSampler
from flowsim.cluster.planned_job import planned_job
from flowsim.cluster.region_schedule import RegionSchedule
from flowsim.cluster.run_bounds import EffectiveBounds
from flowsim.cluster.run_events import CheckedEvents, RunEvents
from flowsim.cluster.run_result import (
    END_OF_JOB,
    attempts_of,
    failures_of,
    progress_of,
    reason_of,
    records_read,
    summary,
)
from flowsim.cluster.started_actors import StartedActors
from flowsim.cluster.wait_for_report import wait_for_report
from flowsim.errors import AnswerFromThread, Deadlock, InvariantViolation, JobFailed, RunTooLong
from flowsim.facts.choice_table import CHOICES, recorded_choices
from flowsim.facts.recorder import Recorder
from flowsim.garbage_collection import without_garbage_collection
from flowsim.graph.execution_graph import ExecutionGraph, describe
from flowsim.graph.stream_graph import StreamGraph
from flowsim.sim.policy import policy_of
from flowsim.sim.real_clock import run_real
from flowsim.sim.rng import RandomStreams
from flowsim.sim.run_virtual import run_virtual
from flowsim.sim.scheduler import Scheduler
from flowsim.sim.virtual_time_loop import START_NS, Livelock
from flowsim.tasks.failure import job_failed
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_state import TaskState

__all__ = ["JobExecutionResult", "JobStatus", "MiniCluster", "Progress", "RunOptions", "execute"]


class MiniCluster:
    """One run of one job. Flink: MiniCluster, JobMaster."""

    def __init__(self, job: StreamGraph | ExecutionGraph, options: RunOptions) -> None:
        """``job``: an execution graph is one that ``planned_job`` returned for the same options."""
        self._options = options
        self._bounds = EffectiveBounds(options.bounds, options.limits)
        events = CheckedEvents(options)
        self.execution = planned_job(job, options, events) if isinstance(job, StreamGraph) else job
        self.job_name = self.execution.job.graph.name
        self._schedule = RegionSchedule(self.execution.regions)
        self._events = RunEvents(events, self.execution)
        self._actors = StartedActors()
        self._streams = RandomStreams(options.seed)
        self.deployment: Deployment | None = None
        self._scheduler: Scheduler | None = None
        self._sampler: MetricsSampler | None = None
        self._started_ns = START_NS
        self._ended_ns = 0
        """End time of the job in ns; 0 before the end."""
        self._ended: asyncio.Future[None] | None = None
        self._running = 0
        self._memory = MemoryWatch(options.limits.memory_bytes)
        self._livelock = LivelockWatch(self._tasks, self._bounds, self._elapsed_ns, self._on_bound)
        self._master: JobMaster | None = None
        self._old_attempts: dict[int, list[StreamTask]] = {}
        """The replaced attempts, by task id."""
        self._records_of_old_attempts = 0
        self._failure: JobFailed | None = None
        self._too_long: RunTooLong | None = None
        self._status = JobStatus.FINISHED
        self._is_interrupted = self._is_idle = False
        self._report = ""

    def run(self) -> JobExecutionResult:
        """Runs the job to its end; the result reports a failure or deadlock.

        Raises RunInterrupted after an interrupt, and KeyboardInterrupt if a later one broke off the end of the run.
        """
        recorder = self._options.recorder
        if recorder is not None:
            describe(self.execution, recorder)
        try:
            self._run_on_its_clock(recorder)
        except Livelock as polls:
            error = self._failure or self._too_long
            if error is None:
                # The end of the event loop canceled the job, as an interrupt does.
                self._too_long, self._status, self._is_interrupted = RunTooLong(str(polls)), JobStatus.FAILED, False
                return self._result()
            error.add_note(f"afterwards the job did not end cleanly: {polls}")
        except InvariantViolation as broken:
            if self._options.on_invariant_violation == "raise":
                raise
            self._failure = JobFailed("network", None, None, broken)
            self._status = JobStatus.FAILED
        except KeyboardInterrupt:
            if not self._is_interrupted:
                raise
            raise RunInterrupted(self._result()) from None
        finally:
            # After any end of the run, even by a second Ctrl-C, no spilled files remain.
            if self.deployment is not None:
                self.deployment.network.close()
        return self._result()

    def _run_on_its_clock(self, recorder: Recorder | None) -> None:
        options = self._options
        if options.clock == "real":
            run_real(self._main)
        else:
            on_choice = None if recorder is None else recorded_choices(recorder.appender(CHOICES))
            until_ns, bounds = options.until_ns, self._bounds
            is_bounded = until_ns is None or bounds.virtual_ns < until_ns
            run_virtual(
                self._main,
                policy=policy_of(options.policy, self._streams),
                until_ns=START_NS + (bounds.virtual_ns if until_ns is None else min(bounds.virtual_ns, until_ns)),
                on_until=partial(self._on_bound, partial(bounds.ended_by, "virtual_ms"))
                if is_bounded
                else self._on_until,
                on_quiescent=self._on_quiescent,
                on_choice=on_choice,
                max_steps=bounds.steps,
                on_max_steps=partial(self._on_bound, self._livelock.ended_by_steps),
                on_standstill=self._livelock.on_standstill,
            )

    async def _main(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._started_ns = scheduler.now_ns
        options = self._options
        # Searching for garbage among the objects of a large job took half of its deployment.
        execution, streams, recorder, savepoint = self.execution, self._streams, options.recorder, options.savepoint
        self._master = master = JobMaster(
            execution, scheduler, streams, recorder, self, savepoint, options.components, self._bounds.restarts
        )
        with without_garbage_collection():
            deployment = Deployment(
                execution, scheduler, streams, recorder, options.components, options.budget_records, master.deploy,
                self._events.task_failures,
            )  # fmt: skip
        self.deployment = deployment
        self._ended = asyncio.get_running_loop().create_future()
        self._running = len(deployment.tasks)
        self._arrange(deployment, master, scheduler)
        self._sampler = MetricsSampler(deployment, scheduler)
        self._sampler.start()
        deployment.alignment.start()
        try:
            if master.needs_actor:
                self._actors.start(master.actor.actor, self._on_job_manager_end)
            master.start()
            self._start(self._schedule.start())
            await self._ended
            if self._status is JobStatus.FINISHED:
                await self._network_at_rest(deployment)
            if self._status is JobStatus.STOPPED:
                for task in deployment.tasks:
                    task.chain.retain_results()
        except asyncio.CancelledError:
            # An interrupt cancels the job: checkpoints are retained as after the action.
            self._status, self._ended_ns, self._is_interrupted = JobStatus.CANCELED, scheduler.now_ns, True
            raise
        finally:
            master.close(END_OF_JOB[self._status])
            await self._end_tasks(deployment)
            self._sampler.stop()
            deployment.alignment.stop()
            deployment.network.close()

    def _arrange(self, deployment: Deployment, master: JobMaster, scheduler: Scheduler) -> None:
        """Schedules external events: progress reports, the time limit, actions and failures."""
        options = self._options
        if not scheduler.is_virtual and options.until_ns is not None:
            scheduler.call_at_ns(self._started_ns + options.until_ns, self._on_until)
        self._events.start(deployment, master, scheduler, self._end)
        for task in deployment.tasks:
            self._prepare(task, master)

    def _prepare(self, task: StreamTask, master: JobMaster) -> None:
        """Lets the batches of a task report progress and watch the memory, and end before external events."""
        self._livelock.watch(task, self._on_batch_end)
        self._events.prepare(task, master)

    async def _end_tasks(self, deployment: Deployment) -> None:
        """Cancels running tasks, in task order: this order is part of the recording (D4)."""
        for task in deployment.tasks:
            self._actors.cancel(task)
        await self._actors.when_all_ended()
        old = (each for number in sorted(self._old_attempts) for each in self._old_attempts[number])
        for task in (*old, *deployment.tasks):
            self._calls_ended(task, await task.async_calls.when_over())

    def _calls_ended(self, task: StreamTask, errors: Sequence[Exception]) -> None:
        """Handles errors while asynchronous functions are closed.

        An error fails the job, or is a note if the job failed before.
        """
        for error in errors:
            failure = self._failure
            if failure is None or (isinstance(error, AnswerFromThread) and failure.is_timeout):
                # Virtual time did not wait for the thread, so the timeout is misleading.
                self._failure = job_failed(task.name, error)
                self._failure.__cause__ = error
                self._status = JobStatus.FAILED
            elif failure.cause is not error:
                failure.add_note(f"afterwards {task.name} did not end cleanly: {error}")

    async def _network_at_rest(self, deployment: Deployment) -> None:
        """Waits until credits in flight arrive, so that the counters of a finished run balance.

        The job's time does not advance.
        """
        arrived = asyncio.Event()
        deployment.network.connections.timed.when_idle(arrived.set)
        await arrived.wait()

    def _start(self, subtasks: Sequence[int]) -> None:
        """Starts the subtasks of the regions that may start."""
        if self.deployment is None or self._master is None:
            return
        for number in subtasks:
            self._master.executions.on_started(number)
            task = self.deployment.tasks[number]
            self.deployment.network.start(task)
            for actor in task.actors:
                self._actors.start(actor, self._when_ended(task) if actor is task.actor else None)

    def _when_ended(self, task: StreamTask) -> Callable[[asyncio.Task[None]], None]:
        return lambda done: self._on_task_end(task, done)

    def _on_task_end(self, task: StreamTask, done: asyncio.Task[None]) -> None:
        self._running -= 1
        self._actors.cancel_threads(task)
        if self._sampler is not None:
            self._sampler.task_ended(task)
        if self._ended is None or self._ended.done() or self._master is None:
            return
        if not done.cancelled():
            error = done.exception()
            if error is not None and self._scheduler is not None:
                self._scheduler.on_failure()
            if error is None:
                self._start(self._schedule.on_finished(task.id))
            elif isinstance(error, MemoryError):
                self.fail_job(task.id, error)
            elif not task.cancellation.is_cancelled:
                self._master.on_task_failed(task.id, error)
        self._master.on_task_ended(task.id)
        if self._running == 0:
            self._master.when_handled(self._end_if_over)

    def _on_job_manager_end(self, done: asyncio.Task[None]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self.fail_job(None, error)

    def _end_if_over(self) -> None:
        if self._running == 0 and self._master is not None and not self._master.failover.has_pending_restarts:
            self._end(self._status)

    def cancel_task(self, subtask: int) -> None:
        """Starts to cancel the current attempt, unless it has ended."""
        if self.deployment is not None and not self.is_terminal(subtask):
            self._actors.cancel(self.deployment.tasks[subtask])

    def is_terminal(self, subtask: int) -> bool:
        """True if the current attempt has ended."""
        if self.deployment is None:
            return False
        return self.deployment.tasks[subtask].state.is_terminal and self._actors.has_ended(subtask)

    def redeploy(self, subtasks: Sequence[int]) -> None:
        """Replaces ended attempts by new ones, and starts those that may start."""
        deployment, master = self.deployment, self._master
        if deployment is None or master is None or self._sampler is None:
            return
        for subtask in subtasks:
            self._old_attempts.setdefault(subtask, []).append(deployment.tasks[subtask])
            self._records_of_old_attempts += records_read((deployment.tasks[subtask],))
        deployment.redeploy(subtasks)
        for subtask in subtasks:
            self._running += self._actors.forget(subtask)
            self._prepare(deployment.tasks[subtask], master)
            self._sampler.task_restarted(deployment.tasks[subtask], deployment)
        finished = TaskState.FINISHED
        self._start(self._schedule.restart(subtasks, lambda each: deployment.tasks[each].state is finished))
        self._on_batch_end()

    def fail_job(self, subtask: int | None, error: BaseException) -> None:
        """Ends the job, which does not restart."""
        if self.deployment is not None and self._failure is None and self._status is JobStatus.FINISHED:
            name = self.job_name if subtask is None else self.deployment.tasks[subtask].name
            failed = reason_of(self._master, name, error)
            self._too_long = self._bounds.ended_by_failure(error, failed)
            if self._too_long is None:
                failed.__cause__ = error
                self._failure = failed
            self._end(JobStatus.FAILED)

    def _end(self, status: JobStatus) -> None:
        if self._ended is not None and not self._ended.done():
            self._status = status
            self._ended_ns = 0 if self._scheduler is None else self._scheduler.now_ns
            self._ended.set_result(None)

    def _on_until(self) -> None:
        self._report = self.wait_for_report()
        self._end(JobStatus.STOPPED)

    def _on_bound(self, error: Callable[[str], RunTooLong]) -> None:
        """The run has reached a bound; ``error`` gets the wait-for report."""
        if self._ended is not None and not self._ended.done():
            self._report = self.wait_for_report()
            self._too_long = error(self._report)
            self._end(JobStatus.FAILED)

    def _on_quiescent(self) -> None:
        """Ends the run when no task can run any more (D4)."""
        self._report, tasks = self.wait_for_report(), self._tasks()
        if wait_for_records(tasks):
            if self._master is None or not self._master.wait_for_next_checkpoint():
                self._is_idle = True
                self._end(JobStatus.STOPPED)
            return
        status = self._options.components.status_when_quiescent(tasks)
        if status is JobStatus.DEADLOCKED:
            for task in tasks:
                task.trace_deadlock()
        self._end(status)

    def wait_for_report(self) -> str:
        return "" if self.deployment is None else wait_for_report(self.deployment, self._schedule)

    def _on_batch_end(self) -> None:
        if (reached := self._memory.reached()) is not None:
            self._on_bound(partial(self._bounds.ended_by_memory, reached))
        self._livelock.on_batch()
        if self._options.on_progress is not None:
            self._options.on_progress(progress_of(self._records_read(), self._elapsed_ns(), self._master))

    def _records_read(self) -> int:
        return self._records_of_old_attempts + records_read(self._tasks())

    def _tasks(self) -> list[StreamTask]:
        return [] if self.deployment is None else self.deployment.tasks

    def _elapsed_ns(self) -> int:
        return 0 if self._scheduler is None else (self._ended_ns or self._scheduler.now_ns) - self._started_ns

    def _result(self) -> JobExecutionResult:
        sampler, ended, master = self._sampler, self._tasks(), self._master
        samples, peaks = ([], []) if sampler is None else (sampler.last, sampler.pool_peaks)
        tasks = tuple(summary(*one) for one in zip(ended, samples, peaks, strict=True))
        error: Exception | None = self._failure or self._too_long
        if self._status is JobStatus.DEADLOCKED:
            error = Deadlock(f"the job is deadlocked: nothing can run, and these tasks wait:\n{self._report}")
        return JobExecutionResult(
            self.job_name,
            self._status,
            self._elapsed_ns(),
            self._records_read(),
            tasks,
            self._report,
            error,
            latency_summaries(self.execution.job, ended),
            missing_timestamp_summaries(ended),
            attempts_of(ended, self._old_attempts),
            () if master is None else failures_of(master, ended, self._started_ns),
            0 if master is None else master.failover.number_of_restarts,
            self._events.requested_snapshots(master),
            None if master is None or master.checkpoints is None else master.checkpoints.statistics.counts,
            self._is_interrupted,
            self._is_idle,
        )


def execute(graph: StreamGraph, options: RunOptions) -> JobExecutionResult:
    """Runs a job to its end; raises JobFailed or Deadlock."""
    result = MiniCluster(graph, options).run()
    if result.error is not None:
        raise result.error
    return result
