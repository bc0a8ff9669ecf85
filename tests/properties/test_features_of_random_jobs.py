"""Random jobs reach every feature: the recording shows that it happened, not only that it was drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowsim.cluster.job_execution import JobStatus
from flowsim.facts.kinds import (
    AsyncAction,
    ElementKind,
    FireCause,
    RestartAction,
    StoredAction,
    StoredKind,
    SystemTimer,
    TimerAction,
    WindowResult,
)
from flowsim.facts.schema import FACT_TABLES, STATIC_TABLES
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.testing import (
    DrawnScenario,
    JobRun,
    async_jobs,
    random_jobs,
    run_job,
    schedules,
    window_jobs,
)
from flowsim.units import NO_TIMESTAMP, NS_PER_MS
from tests.support.drawn import drawn

pytestmark = pytest.mark.property

JOBS = 500
AT_LEAST = 5
"""How often each feature must happen in these jobs; no further job is run once all have."""
MANY_TIMERS = 5
NEAR_MS = 2
FORCED = ("FORWARD", "RESCALE", "BROADCAST")
"""Exchanges whose barriers stay in order (rule 12.19)."""
FACTS = {table.name for table in FACT_TABLES}
COLUMNS = {table.name: [column.name for column in table.columns] for table in (*FACT_TABLES, *STATIC_TABLES)}
Row = dict[str, Any]
Feature = Callable[[DrawnScenario, JobRun], bool]


def rows(run: JobRun, table: str, kinds: Collection[int] | None = None) -> Iterator[Row]:
    """The rows of a table, or those of some kinds."""
    names = COLUMNS[table]
    found = run.facts.rows(table) if table in FACTS else run.facts.static_rows(table)
    kind = 0 if kinds is None else names.index("kind")
    return (dict(zip(names, row, strict=True)) for row in found if kinds is None or row[kind] in kinds)


def blocks(job: DrawnScenario) -> dict[str, dict[str, Any]]:
    """The operators of a scenario by name."""
    return job.data["operators"]  # type: ignore[return-value]


def tasks_of_operator(run: JobRun, name: str) -> set[int]:
    vertices = {row["vertex"] for row in rows(run, "operators") if row["name"] == name}
    return {row["task"] for row in rows(run, "tasks") if row["vertex"] in vertices}


def answer_arrives_near_timeout(job: DrawnScenario, run: JobRun) -> bool:
    """A call completes at most 2 ms before the time of its timeout."""
    due = {
        (row["task"], row["operator"], row["entry"]): row["timestamp"]
        for row in rows(run, "system_timers")
        if row["kind"] == SystemTimer.TIMEOUT and row["action"] == TimerAction.REGISTER
    }
    timed_out = set()
    for row in rows(run, "async_elements"):
        element = row["task"], row["operator"], row["entry"]
        if row["action"] == AsyncAction.TIMEOUT:
            timed_out.add(element)
        if row["action"] == AsyncAction.COMPLETE and element in due and element not in timed_out:
            early_ms = due[element] - row["time_ns"] / NS_PER_MS
            if 0 <= early_ms <= NEAR_MS:
                return True
    return False


def timeout_comes_before_answer(job: DrawnScenario, run: JobRun) -> bool:
    """An element times out whose call would have been answered at most 2 ms later."""
    near = {
        task
        for name, block in blocks(job).items()
        if " + n % 4 + 0.5" in str(block.get("async")) and "silent" not in block["async"]
        for task in tasks_of_operator(run, name)
    }
    return any(row["action"] == AsyncAction.TIMEOUT and row["task"] in near for row in rows(run, "async_elements"))


def marker_passes_broadcast(job: DrawnScenario, run: JobRun) -> bool:
    behind = {row["target_vertex"] for row in rows(run, "edges") if row["partitioner"] == "BROADCAST"}
    tasks = {row["task"] for row in rows(run, "tasks") if row["vertex"] in behind}
    return any(row["task"] in tasks for row in rows(run, "latencies"))


def reused_records_are_queued(job: DrawnScenario, run: JobRun) -> bool:
    """Two elements of one mutable record are in the queue at the same time."""
    mutable = {name for name, block in blocks(job).items() if "OneRecord" in str(block.get("map"))}
    behind = [name for name, block in blocks(job).items() if "async" in block and str(block["input"]) in mutable]
    tasks = {task for name in behind for task in tasks_of_operator(run, name)}
    queued: defaultdict[int, set[int]] = defaultdict(set)
    for row in rows(run, "async_elements"):
        if row["task"] in tasks and row["kind"] == ElementKind.RECORD:
            if row["action"] == AsyncAction.PUT:
                queued[row["task"]].add(row["entry"])
            elif row["action"] == AsyncAction.EMIT:
                queued[row["task"]].discard(row["entry"])
            if len(queued[row["task"]]) > 1:
                return True
    return False


def readers_have_other_widths(job: DrawnScenario, run: JobRun) -> bool:
    """Two vertices of different parallelism receive records of one operator."""
    tasks = {row["task"]: row for row in rows(run, "tasks")}
    edge_of = {row["channel"]: row["edge"] for row in rows(run, "channels")}
    read = {
        edge_of[channel] for channel in {row[3] for row in run.facts.rows("received") if row[5] == ElementKind.RECORD}
    }
    width = {row["vertex"]: row["parallelism"] for row in tasks.values()}
    widths: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for row in rows(run, "edges"):
        if row["edge"] in read:
            widths[row["source_vertex"], row["source_operator"]].add(width[row["target_vertex"]])
    return any(len(different) > 1 for different in widths.values())


def aggregate_has_no_result(job: DrawnScenario, run: JobRun) -> bool:
    """A window fires more often than it emits a record (rule 10.32)."""
    fired = Counter(row["task"] for row in rows(run, "window_fire") if row["result"] != WindowResult.PURGE)
    emitted = {row["task"]: row["records_out"] for row in rows(run, "operator_counts") if row["operator"] == 0}
    having = [name for name, block in blocks(job).items() if "having" in block]
    return any(fired[task] > emitted[task] for name in having for task in tasks_of_operator(run, name))


def channel_becomes_active_behind_watermark(job: DrawnScenario, run: JobRun) -> bool:
    event_time = ElementKind.WATERMARK, ElementKind.STATUS
    facts = [*rows(run, "received", event_time), *rows(run, "task_watermark", event_time)]
    of_channel: dict[int, int] = {}
    of_task: dict[int, int] = {}
    for row in sorted(facts, key=lambda row: (row["task"], row["seq"])):
        if "input" in row:
            if row["kind"] == ElementKind.WATERMARK:
                of_task[row["task"]] = row["timestamp"]
        elif row["kind"] == ElementKind.WATERMARK:
            of_channel[row["channel"]] = row["timestamp"]
        elif row["timestamp"] == WatermarkStatus.ACTIVE.value and (
            of_channel.get(row["channel"], NO_TIMESTAMP) < of_task.get(row["task"], NO_TIMESTAMP)
        ):
            return True
    return False


def continuous_trigger_fires_merged_session(job: DrawnScenario, run: JobRun) -> bool:
    """A merged session fires for a timer before its end."""
    merged = {(row["task"], row["into_start"], row["into_end"]) for row in rows(run, "window_merge")}
    return any(
        (row["task"], row["window_start"], row["window_end"]) in merged
        and row["cause"] == FireCause.EVENT_TIME_TIMER
        and row["watermark"] < row["window_end"] - 1
        for row in rows(run, "window_fire")
    )


def alignment_is_forced_beyond_timeout(job: DrawnScenario, run: JobRun) -> bool:
    """A task aligns a checkpoint for longer than the aligned timeout, and stores no in-flight data (rule 12.19)."""
    settings: dict[str, Any] = job.data.get("settings", {})  # type: ignore[assignment]
    timeout_ms = int(settings.get("checkpointing", {}).get("aligned_timeout", "0 ms").split()[0])
    in_order = {row["target_vertex"] for row in rows(run, "edges") if row["partitioner"] in FORCED}
    tasks = {row["task"] for row in rows(run, "tasks") if row["vertex"] in in_order}
    return timeout_ms > 0 and any(
        row["task"] in tasks and row["alignment_ns"] > timeout_ms * NS_PER_MS and row["persisted_bytes"] == 0
        for row in rows(run, "checkpoint_metrics")
    )


def source_waits_until_another_is_idle(job: DrawnScenario, run: JobRun) -> bool:
    """Watermark alignment pauses a source, another source becomes idle, and the first one continues (rule 8.22)."""
    idle = {(row["time_ns"], row["task"]) for row in rows(run, "generated_watermark") if row["timestamp"] == -1}
    paused: dict[int, int] = {}
    for row in sorted(rows(run, "alignment"), key=lambda row: row["time_ns"]):
        if row["split"] == -1 and row["paused"]:
            paused[row["task"]] = row["time_ns"]
        elif row["split"] == -1 and any(
            task != row["task"] and paused[row["task"]] < time_ns < row["time_ns"] for time_ns, task in idle
        ):
            return True
    return False


def _timers_of_checkpoints(run: JobRun, action: StoredAction) -> Counter[tuple[int, int]]:
    stored: Counter[tuple[int, int]] = Counter()
    for row in rows(run, "stored_state"):
        if row["kind"] == StoredKind.PROCESSING_TIME_TIMERS and row["action"] == action:
            stored[row["task"], row["checkpoint"]] += row["entries"]
    return stored


def many_timers_are_stored(job: DrawnScenario, run: JobRun) -> bool:
    return max(_timers_of_checkpoints(run, StoredAction.STORED).values(), default=0) >= MANY_TIMERS


def timers_are_restored(job: DrawnScenario, run: JobRun) -> bool:
    return max(_timers_of_checkpoints(run, StoredAction.RESTORED).values(), default=0) > 1


def queue_is_restored(job: DrawnScenario, run: JobRun) -> bool:
    """A task restarts from a checkpoint that contains elements of its async queue (rule 11.22)."""
    stored = {(row["task"], row["checkpoint"]) for row in rows(run, "snapshots") if row["elements"] > 0}
    return any(
        row["action"] == RestartAction.RESTART and (row["task_id"], row["checkpoint"]) in stored
        for row in rows(run, "restarts")
    )


FEATURES: dict[Feature, tuple[str, ...]] = {
    answer_arrives_near_timeout: ("async:",),
    timeout_comes_before_answer: ("async:", " + n % 4 + 0.5"),
    reused_records_are_queued: ("OneRecord",),
    alignment_is_forced_beyond_timeout: ("aligned_timeout",),
    source_waits_until_another_is_idle: ("alignment:", "idle_after"),
    many_timers_are_stored: ("checkpointing:", "processing"),
    timers_are_restored: ("checkpointing:", "failures:", "processing"),
    queue_is_restored: ("checkpointing:", "failures:", "async:"),
}
"""With the words that a scenario has if it may reach the feature."""
WINDOW_FEATURES: dict[Feature, tuple[str, ...]] = {
    aggregate_has_no_result: ("having:",),
    channel_becomes_active_behind_watermark: ("idle",),
    continuous_trigger_fires_merged_session: ("session", "continuous_event_time"),
}
ASYNC_FEATURES: dict[Feature, tuple[str, ...]] = {
    marker_passes_broadcast: ("latency_interval:", "partition: broadcast"),
    readers_have_other_widths: (),
}


@pytest.mark.parametrize(
    ("strategy", "features"),
    [(random_jobs, FEATURES), (window_jobs, WINDOW_FEATURES), (async_jobs, ASYNC_FEATURES)],
    ids=["random", "window", "async"],
)
def test_scenarios_reach_every_feature(
    strategy: Callable[[], SearchStrategy[DrawnScenario]], features: dict[Feature, tuple[str, ...]]
) -> None:
    missing = dict.fromkeys(features, AT_LEAST)
    for seed in range(JOBS):
        job, schedule = drawn(st.tuples(strategy(), schedules()), seed)
        if not any(all(word in job.yaml for word in features[feature]) for feature in missing):
            continue
        run = run_job(job, schedule=schedule)
        assert run.result.status is JobStatus.FINISHED, (seed, run.result.report)
        for feature in [feature for feature in missing if feature(job, run)]:
            missing[feature] -= 1
            if not missing[feature]:
                del missing[feature]
        if not missing:
            return
    pytest.fail(f"not reached {AT_LEAST} times in {JOBS} jobs: {[feature.__name__ for feature in missing]}")
