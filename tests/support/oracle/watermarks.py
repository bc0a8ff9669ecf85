"""Laws about watermarks: they increase, and a task's watermark is that of its valve."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Outcome
from flowsim.units import MAX_WATERMARK
from tests.support.oracle.facts import Facts, Findings, not_applicable
from tests.support.oracle.valve_model import ACTIVE, IDLE, Emission, ValveModel

_NO_CHANNELS = "the job has no channels"


def watermark_monotone(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law watermark-monotone, on channels and in tasks."""
    if not graph.channels:
        return not_applicable("watermark-monotone", _NO_CHANNELS)
    on_channels: dict[int, list[tuple[int, int, int]]] = {}
    examined = 0
    for _, _, _, channel, position, kind, timestamp, _, _, _ in facts.rows("sent"):
        if kind == ElementKind.WATERMARK or kind == ElementKind.STATUS:
            on_channels.setdefault(channel, []).append((position, kind, timestamp))
            examined += kind == ElementKind.WATERMARK
    in_tasks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for seq, task, _, input_index, kind, timestamp in facts.rows("task_watermark"):
        if kind == ElementKind.WATERMARK:
            in_tasks.setdefault((task, input_index), []).append((seq, timestamp))
            examined += 1
    findings = Findings(examined)
    for channel in sorted(on_channels):
        is_source = graph.tasks[graph.channels[channel].source_task].inputs == 0
        _judge_channel(findings, channel, sorted(on_channels[channel]), is_source)
    for task, input_index in sorted(in_tasks):
        before: int | None = None
        for seq, timestamp in sorted(in_tasks[task, input_index]):
            if before is not None and timestamp <= before:
                findings.broken(
                    "task watermark does not grow",
                    task=task,
                    input=input_index,
                    seq=seq,
                    timestamp=timestamp,
                    before=before,
                )
            before = timestamp
    return findings.outcome("watermark-monotone")


def _judge_channel(findings: Findings, channel: int, elements: list[tuple[int, int, int]], is_source: bool) -> None:
    before: int | None = None
    after_idle = False
    for position, kind, timestamp in elements:
        # Rule 4.10: periodic emissions that were due before a source was drained follow its last watermark.
        if kind == ElementKind.WATERMARK and is_source and before == MAX_WATERMARK and timestamp < before:
            continue
        if kind == ElementKind.STATUS:
            after_idle = timestamp == IDLE
            before = None if after_idle else before
            continue
        # Rule 5.8: an idle output drops watermarks.
        if after_idle:
            findings.broken("a watermark is sent while idle", channel=channel, position=position, timestamp=timestamp)
        elif before is not None and timestamp <= before:
            findings.broken(
                "watermark does not grow", channel=channel, position=position, timestamp=timestamp, before=before
            )
        before, after_idle = timestamp, False


def valve(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law valve: folds what each channel delivered and compares with what the task's inputs emitted."""
    if not graph.channels:
        return not_applicable("valve", _NO_CHANNELS)
    # Per task: (seq, channel, kind, timestamp) of received rows; emissions have channel -1 - input.
    steps: dict[int, list[tuple[int, int, int, int]]] = {}
    examined = 0
    for seq, task, _, channel, _, kind, timestamp, _, _ in facts.rows("received"):
        steps.setdefault(task, []).append((seq, channel, kind, timestamp))
        examined += kind == ElementKind.WATERMARK or kind == ElementKind.STATUS
    for seq, task, _, input_index, kind, timestamp in facts.rows("task_watermark"):
        steps.setdefault(task, []).append((seq, -1 - input_index, kind, timestamp))
    findings = Findings(examined)
    for task in sorted(steps):
        _judge_task(findings, graph, task, sorted(steps[task]), whole)
    return findings.outcome("valve")


def _judge_task(
    findings: Findings, graph: JobGraph, task: int, steps: list[tuple[int, int, int, int]], whole: bool
) -> None:
    valves = _valves(graph, task)
    expected: list[Emission] = []
    emitted: list[Emission] = []
    cause: tuple[int, int, int, int] | None = None

    def close(last: bool) -> None:
        if cause is None:
            return
        judged = expected[: len(emitted)] if last and not whole else expected
        if emitted != judged:
            seq, channel, kind, timestamp = cause
            findings.broken(
                "the valve emits something else", task=task, seq=seq, channel=channel, kind=ElementKind(kind),
                timestamp=timestamp, expected=_texts(expected), emitted=_texts(emitted),
            )  # fmt: skip

    for step in steps:
        seq, channel, kind, timestamp = step
        if channel < 0:
            if cause is None:
                findings.broken(
                    "the input emits before it received any element", task=task, seq=seq, timestamp=timestamp
                )
            else:
                emitted.append((-1 - channel, kind, timestamp))
            continue
        close(last=False)
        cause, emitted = step, []
        about = graph.channels.get(channel)
        expected = [] if about is None else valves[about.input].on_element(about.input_channel, kind, timestamp)
    close(last=True)


def _valves(graph: JobGraph, task: int) -> dict[int, ValveModel]:
    channels: dict[int, int] = {}
    for channel in graph.channels.values():
        if channel.target_task == task:
            channels[channel.input] = channels.get(channel.input, 0) + 1
    return {index: ValveModel(index, count) for index, count in channels.items()}


def _texts(emissions: list[Emission]) -> list[str]:
    def text(kind: int, timestamp: int) -> str:
        if kind == ElementKind.STATUS:
            return "ACTIVE" if timestamp == ACTIVE else "IDLE"
        return f"watermark {timestamp}"

    return [f"input {index}: {text(kind, timestamp)}" for index, kind, timestamp in emissions]
