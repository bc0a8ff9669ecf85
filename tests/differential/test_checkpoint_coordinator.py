"""CheckpointCoordinator beside the real one, in virtual time (rules 12.38-12.57).

Beyond the recorded cases: operator coordinators that deliver their states late or fail, backlog, and the shutdown.
"""

from __future__ import annotations

from random import Random

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.state.redistribution.operator_state import FINISHED_ON_RESTORE, OperatorSubtaskState, TaskStateSnapshot
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from tests.support.checkpoints.coordinated_job import START_MS, CoordinatedJob
from tests.support.checkpoints.scripted_coordinator import ScriptedCoordinator
from tests.support.flink.machine import Answers, Differential

NEVER_MS = 2**63 - 1
REASONS = (
    "CHECKPOINT_DECLINED",
    "CHECKPOINT_DECLINED_TASK_NOT_READY",
    "CHECKPOINT_ASYNC_EXCEPTION",
    "IO_EXCEPTION",
)


def write_script(random: Random) -> list[str]:
    parallelism = random.choice([[1], [1, 1], [2, 1], [2, 2]])
    tasks = [f"{vertex}/{subtask}" for vertex, p in enumerate(parallelism) for subtask in range(p)]
    is_unaligned = random.random() < 0.4
    coordinators = random.choice([0, 1, 1, 2])
    settings = [
        random.choice([100, 100, 50, 20]),
        random.choice([30, 80, 250]),
        random.choice([0, 0, 20, 70]),
        1 if is_unaligned else random.choice([1, 1, 2, 3]),
        random.choice([0, 1, 100, 2**31 - 1]),
        random.choice([1, 2]),
        str(is_unaligned).lower(),
        random.choice([0, 0, 15, NEVER_MS]),
        coordinators,
        random.choice([0, 10, 40, 300]),
    ]
    script = [f"{','.join(map(str, parallelism))} {' '.join(map(str, settings))}"]
    restored_vertex = random.choice(["0", "1", *[""] * 8])
    kinds = random.choice([["none"], ["none", "plain"], ["plain", "finished"], ["union", "plain", "union_finished"]])

    def state_kind(task: str) -> str:
        return "restored" if task.split("/")[0] == restored_vertex else random.choice(kinds)

    newest = 0
    for _ in range(random.randint(10, 50)):
        number = random.random()
        newest += number < 0.2
        checkpoint = random.randint(max(1, newest - 3), newest + 1)
        if number < 0.06:
            script.append("start")
        elif number < 0.08:
            script.append("stop_scheduler")
        elif number < 0.2:
            script.append(f"trigger {random.choice(['checkpoint', 'checkpoint', 'savepoint', 'stop', 'drain'])}")
        elif number < 0.4 and coordinators:
            outcome = random.choice(["state"] * 6 + ["error", "io"])
            script.append(f"coordinator {random.randrange(coordinators)} {outcome}")
        elif number < 0.65:
            acknowledged = random.sample(tasks, len(tasks)) if random.random() < 0.6 else [random.choice(tasks)]
            script += [f"ack {task} {checkpoint} {state_kind(task)}" for task in acknowledged]
        elif number < 0.7:
            script.append(f"decline {random.choice(tasks)} {checkpoint} {random.choice(REASONS)}")
        elif number < 0.72 and len(parallelism) > 1:
            script.append(f"finish {random.choice([task for task in tasks if task.startswith('0')])}")
        elif number < 0.74:
            script.append("failover")
        elif number < 0.78:
            script.append(f"backlog {random.choice(['true', 'false'])}")
        else:
            script.append(f"advance {random.choice([0, 1, 10, 25, 50, 50, 100])}")
    if random.random() < 0.2:
        # Time ends here: Flink leaves the periodic trigger to the end of its timer thread, ours is cancelled.
        script += ["shutdown", f"trigger {random.choice(['checkpoint', 'savepoint'])}", f"ack {tasks[0]} {newest} none"]
    return script


def state_of(task: str, kind: str) -> TaskStateSnapshot | None:
    if kind == "none":
        return None
    if kind == "restored":
        return FINISHED_ON_RESTORE
    mode = DistributionMode.UNION if kind.startswith("union") else DistributionMode.SPLIT_DISTRIBUTE
    handle = OperatorStateHandle("state", {"list": StateMetaInfo((0,), mode)})
    states = {f"v{task.split('/')[0]}": OperatorSubtaskState(managed_operator=(handle,))}
    return TaskStateSnapshot(states, is_task_finished=kind.endswith("finished"))


class Played:
    """Our coordinator under a script."""

    def __init__(self, description: str) -> None:
        words = description.split()
        numbers = [0 if word in ("true", "false") else int(word) for word in words[1:]]
        configuration = CheckpointCoordinatorConfiguration(
            checkpoint_interval_ms=numbers[0],
            checkpoint_timeout_ms=numbers[1],
            min_pause_ms=numbers[2],
            max_concurrent_checkpoints=numbers[3],
            is_unaligned_enabled=words[7] == "true",
            aligned_checkpoint_timeout_ms=numbers[7],
            checkpoint_interval_during_backlog_ms=numbers[9],
        )
        self.coordinators = [ScriptedCoordinator(number) for number in range(numbers[8])]
        self.job = CoordinatedJob(
            [int(p) for p in words[0].split(",")],
            configuration,
            tolerable_failures=numbers[4],
            max_retained=numbers[5],
            operator_coordinators=self.coordinators,
        )
        for coordinator in self.coordinators:
            coordinator.on_call = self.job.events.append

    def answer(self, command: str) -> str:
        job = self.job
        job.events.clear()
        error = ""
        try:
            self.execute(command.split())
            job.drain()
        except Exception as raised:
            error = f" !{ERRORS[type(raised).__name__]}"
        retained = ",".join(str(checkpoint.checkpoint_id) for checkpoint in job.store.all_checkpoints)
        counts = job.statistics.counts
        state = (
            f"{job.executor.now_ms - START_MS} pending {sorted(job.coordinator.pending_checkpoints)} "
            f"retained [{retained}] queued {job.coordinator.queued_request_count} in progress {counts.in_progress} "
            f"completed {counts.completed} failed {counts.failed}"
        )
        return f"{'; '.join(job.events)} | {state}{error}"

    def execute(self, words: list[str]) -> None:
        job = self.job
        match words:
            case ["start"]:
                job.start()
            case ["stop_scheduler"]:
                job.stop_scheduler()
            case ["shutdown"]:
                job.coordinator.shutdown()
                job.drain()
            case ["trigger", kind]:
                job.trigger(kind)
            case ["coordinator", number, outcome]:
                self.coordinators[int(number)].deliver(outcome)
                job.drain()
            case ["ack", task, checkpoint, kind]:
                job.acknowledge(task, int(checkpoint), state_of(task, kind))
            case ["decline", task, checkpoint, reason]:
                job.decline(task, int(checkpoint), reason)
            case ["finish", task]:
                job.finish(task)
            case ["failover"]:
                job.failover()
            case ["backlog", is_processing]:
                job.coordinator.set_is_processing_backlog("source", is_processing == "true")
                job.drain()
            case ["advance", duration]:
                job.advance(int(duration))
            case _:
                raise AssertionError(f"unknown command {words}")


ERRORS = {"InvariantViolation": "IllegalArgumentException", "CheckpointException": "CheckpointException"}


def test_course_of_checkpoints_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.runtime.checkpoint.CoordinatedJobs

    def play(script: list[str]) -> Answers:
        played = Played(script[0])
        ours = [played.answer(command) for command in script[1:]]
        return ["", *real.run("\n".join(script)).split("\n")], ["", *(ours or [""])]

    differential.run_scripts("CheckpointCoordinator", write_script, play, examples=60)
