"""``why checkpoint``: how long a checkpoint took and what it waited for, or why it failed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from flowsim.errors import BadInput
from flowsim.facts.kinds import AlignmentType, CheckpointStep, CommittableAction, ElementKind, Level, SnapshotKind
from flowsim.history.barriers import barriers_of
from flowsim.history.checkpoint_path import CheckpointSteps, Part, PathPart
from flowsim.history.checkpoints import RecordedCheckpoint, subtasks_of
from flowsim.quantities import count_text, duration_text
from flowsim.trace.alignment import forced_exchanges, reason_of
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.checkpoints.failed import checkpoint_text, failed_answer, is_counted, rejected_lines, why_none
from flowsim.why.checkpoints.parts import LEAST_NS, part_causes, part_line, part_text
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import capital

_MOST_LINES: Final = 8
_MOST_OTHERS: Final = 12


def why_checkpoint(facts: RunFacts, words: Sequence[str], tasks: Collection[int] | None = None) -> WhyAnswer:
    """Explains a checkpoint by its number; without one the first whose failure counts, or the slowest. Raises BadInput.

    ``tasks``: explains the last acknowledgement of these tasks.
    """
    if facts.recording.level < Level.ELEMENTS:
        raise BadInput("the recording has no checkpoints: they need --record elements")
    known = facts.checkpoints(facts.until_ns).checkpoints
    if not known and not words:
        return why_none(facts)
    if words:
        later = _later(facts, words[0])
        return later or _answer(facts, checkpoint_named(facts, words[0]), tasks)
    chosen = slowest_first(facts, known.values())[0]
    answered = _answer(facts, chosen, tasks)
    others = [one for one in known.values() if one is not chosen]
    notes = [_note(facts, one) for one in others[:_MOST_OTHERS]]
    if len(others) > _MOST_OTHERS:
        notes.append(
            f"and {count_text(len(others) - _MOST_OTHERS, 'checkpoint')} more: 'flowsim checkpoints' lists them"
        )
    return WhyAnswer(answered.statement, answered.causes, (*answered.notes, *notes, *rejected_lines(facts)))


def checkpoint_named(facts: RunFacts, text: str) -> RecordedCheckpoint:
    """The triggered checkpoint with a number; raises BadInput."""
    triggered = facts.checkpoints(facts.until_ns).checkpoints
    found = next((one for one in triggered.values() if str(one.checkpoint) == text), None)
    if found is None:
        numbers = list(triggered)
        has = f"{numbers[0]} to {numbers[-1]}" if numbers else "no checkpoints"
        raise BadInput(f"there is no checkpoint {text!r}; the recording has {has}{facts.by_moment}")
    return found


def _later(facts: RunFacts, text: str) -> WhyAnswer | None:
    """That a checkpoint is triggered after the moment; None if it is not."""
    found = next((one for one in facts.checkpoints().checkpoints.values() if str(one.checkpoint) == text), None)
    if found is None or facts.until_ns is None or found.triggered_ns <= facts.until_ns:
        return None
    name, at = capital(checkpoint_text(found)), facts.moment(found.triggered_ns)
    return WhyAnswer(Cause(f"{name} was not triggered{facts.by_moment}: that happens at {at}.", ("12.43",)))


def slowest_first(facts: RunFacts, known: Iterable[RecordedCheckpoint]) -> list[RecordedCheckpoint]:
    """The checkpoints whose failure counts, and then those that took longest."""
    return sorted(known, key=lambda one: (not is_counted(one), 0 if is_counted(one) else -_length_ns(facts, one)))


def _length_ns(facts: RunFacts, one: RecordedCheckpoint) -> int:
    """From the trigger to the end, or to the moment of the facts."""
    return (facts.end_ns if one.ended_ns is None else one.ended_ns) - one.triggered_ns


def _note(facts: RunFacts, one: RecordedCheckpoint) -> str:
    name, took = checkpoint_text(one), duration_text(_length_ns(facts, one))
    if one.status == "completed":
        return f"{name}: completed after {took}"
    if one.status == "failed":
        return f"{name}: failed after {took}, {one.reason.name}"
    return f"{name}: in progress since {facts.moment(one.triggered_ns)}"


def _answer(facts: RunFacts, one: RecordedCheckpoint, tasks: Collection[int] | None) -> WhyAnswer:
    steps = CheckpointSteps(facts, one)
    if tasks is None and (one.status != "completed" or one.ended_ns is None):
        return failed_answer(facts, one)
    last = None
    if tasks is not None:
        at = {task: at_ns for task, at_ns in one.acknowledged_at.items() if task in tasks}
        if not at:
            raise BadInput(f"--task: no acknowledgement of {checkpoint_text(one)} came from it{facts.by_moment}")
        last, end_ns = max(at.items(), key=lambda each: each[1])
        text = f"{facts.task(last)} acknowledged {checkpoint_text(one)}"
    else:
        end_ns = one.ended_ns or one.triggered_ns
        text = f"{capital(checkpoint_text(one))} was complete"
    path = steps.path(last)
    longest = max(path, key=lambda part: part.length_ns, default=None)
    text += f" {duration_text(end_ns - one.triggered_ns)} after its trigger at {facts.moment(one.triggered_ns)}."
    if longest is not None:
        share = longest.length_ns / (end_ns - one.triggered_ns)
        text += f" For {duration_text(longest.length_ns)} of it ({share:.0%}) {part_text(facts, longest)}."
    lines = [part_line(facts, part) for part in path[:_MOST_LINES]]
    if len(path) > _MOST_LINES:
        lines.append(f"and {count_text(len(path) - _MOST_LINES, 'part')} more")
    row = None if longest is None else longest.row
    statement = Cause(text, ("12.3", "12.144"), None if row is None else place_of(row), tuple(lines))
    causes = [] if longest is None else part_causes(facts, steps, longest)
    causes += [*_alignment(facts, steps, path), *_barriers(facts, one, longest)]
    causes += _measured(facts, one, longest)
    if last is None:
        causes += [*_last(facts, one), *_committed(facts, one)]
    notes = () if facts.is_full else ("what tasks did meanwhile is not recorded without --record full",)
    return WhyAnswer(statement, tuple(causes), notes)


def _measured(facts: RunFacts, one: RecordedCheckpoint, longest: PathPart | None) -> list[Cause]:
    """The measurements of the task of the longest part, by their names in Flink."""
    measured = {each.task: each for each in subtasks_of(facts.recording, one)}
    found = None if longest is None else measured.get(longest.task)
    if longest is None or found is None or longest.length_ns < LEAST_NS:
        return []
    text = (
        f"{facts.task(longest.task)} measured a start delay of {duration_text(found.start_delay_ns)}, from the trigger to its "
        f"first barrier, and an alignment of {duration_text(found.alignment_ns)}, from its first barrier to the last; its "
        f"synchronous part took {found.sync_ms:,} ms and the asynchronous one {found.async_ms:,} ms, for "
        f"{count_text(found.state_bytes, 'byte')}."
    )
    return [Cause(text, ("12.142",))]


def _last(facts: RunFacts, one: RecordedCheckpoint) -> list[Cause]:
    """Who acknowledged first and last."""
    at = one.acknowledged_at
    if len(at) < 2:
        return []
    rules = ("12.3", "12.49")
    (first, first_ns), (last, last_ns) = next(iter(at.items())), next(reversed(at.items()))
    text = (
        f"{facts.task(last)} was the last of {count_text(len(at), 'task')} that acknowledged it, "
        f"{duration_text(last_ns - one.triggered_ns)} after the trigger; the first was {facts.task(first)}, after "
        f"{duration_text(first_ns - one.triggered_ns)}."
    )
    if one.tasks > len(at):
        finished = count_text(one.tasks - len(at), "task")
        text += f" {finished} had finished before: a checkpoint goes on without them, and stores that they finished."
        rules = ("12.3", "12.35")
    return [Cause(text, rules, None if (row := _row(facts, one, last)) is None else place_of(row))]


def _row(facts: RunFacts, one: RecordedCheckpoint, task: int) -> Row | None:
    return CheckpointSteps(facts, one).of(task).get(CheckpointStep.ACKNOWLEDGE)


def _alignment(facts: RunFacts, steps: CheckpointSteps, path: Sequence[PathPart]) -> list[Cause]:
    """The longest time that a task of the path waited for its last barrier, and what that meant for its channels."""
    of_tasks = [steps.of(task) for task in dict.fromkeys(part.task for part in path if part.part is Part.BARRIER)]
    pairs = [(one.get(CheckpointStep.ALIGNMENT_START), one.get(CheckpointStep.ALIGNMENT_END)) for one in of_tasks]
    known = [(first, last) for first, last in pairs if first is not None and last is not None and last["channel"] >= 0]
    if not known:
        return []
    first, last = max(known, key=lambda pair: pair[1]["time_ns"] - pair[0]["time_ns"])
    wait_ns, task = last["time_ns"] - first["time_ns"], facts.task(first["task"])
    if wait_ns <= 0:
        return []
    channel = facts.graph.channels[last["channel"]]
    text = (
        f"{task} had its first barrier at {facts.moment(first['time_ns'])}, and the last one {duration_text(wait_ns)} later, on "
        f"{facts.from_(channel)}"
    )
    rules: tuple[str, ...] = ("12.18",)
    if steps.checkpoint.alignment is AlignmentType.AT_LEAST_ONCE:
        behind = _read_behind(steps, facts, first["task"])
        text += (
            f": no channel waits. It read {count_text(behind, 'record')} behind the barrier of their channel before its "
            "snapshot, which contains them; after a restore from it they are read again"
        )
        rules = ("12.16",)
    elif steps.checkpoint.alignment is AlignmentType.ALIGNED or channel.edge in facts.names.forced:
        text += ": that is its alignment, in which it reads nothing on the channels that have delivered theirs"
        rules = ("12.11", "12.142")
    return [Cause(f"{text}.", rules, place_of(last), (), last["channel"])]


def _read_behind(steps: CheckpointSteps, facts: RunFacts, task: int) -> int:
    """The records that a task read behind the barrier of their channel, and before its snapshot."""
    snapshot = steps.of(task).get(CheckpointStep.SYNC_START)
    if snapshot is None:
        return 0
    count = 0
    for channel in facts.received_by(task):
        barrier = steps.received(channel)
        if barrier is not None:
            rows = steps.received_rows(channel).equal(channel=channel.channel, kind=ElementKind.RECORD)
            count += len(rows.after(barrier["seq"]).before(snapshot["seq"]))
    return count


def _barriers(facts: RunFacts, one: RecordedCheckpoint, longest: PathPart | None) -> list[Cause]:
    """Why its barriers did not overtake data, or what they overtook and what was stored."""
    if longest is None or not facts.graph.edges:
        return []
    causes, reason = [], reason_of(one, facts.names)
    barriers = [barrier for edge in facts.graph.edges for barrier in barriers_of(facts, edge, one)]
    overtaken, channels = sum(each.overtaken for each in barriers), sum(each.overtaken > 0 for each in barriers)
    stored = sum(each.persisted_bytes for each in subtasks_of(facts.recording, one))
    if overtaken or stored:
        text = (
            f"Its barriers overtook {count_text(overtaken, 'element')} on {count_text(channels, 'channel')} of "
            f"{len(barriers):,}; {count_text(stored, 'byte')} of data in flight are stored in it."
        )
        if one.alignment is AlignmentType.ALIGNED:
            causes.append(Cause(f"{text} They were aligned until the aligned-checkpoint-timeout.", ("12.20", "12.83")))
        else:
            causes.append(Cause(text, ("12.18", "12.83")))
    elif reason is not None and longest.part is Part.BARRIER:
        is_aligned = one.alignment is not AlignmentType.AT_LEAST_ONCE
        text = f"Its barriers overtake nothing: {reason.sentence}." if is_aligned else f"{capital(reason.sentence)}."
        causes.append(Cause(text, reason.rules))
    if one.alignment is AlignmentType.UNALIGNED or overtaken:
        causes += [Cause(f"{forced.sentence}.", ("12.19",)) for forced in forced_exchanges(facts.names)]
    return causes


def _committed(facts: RunFacts, one: RecordedCheckpoint) -> list[Cause]:
    """When the tasks knew that it was complete, and what they committed."""
    if one.kind is SnapshotKind.SAVEPOINT:
        text = (
            "A savepoint that stops nothing notifies no task of its completion, so sinks commit nothing because of it."
        )
        return [Cause(text, ("12.51",))]
    rows = facts.all_rows("checkpoint_steps").equal(checkpoint=one.checkpoint, step=CheckpointStep.NOTIFY_COMPLETE)
    last = rows.last()
    if last is None or one.ended_ns is None:
        return []
    text = (
        f"{count_text(len(rows), 'task')} {'was' if len(rows) == 1 else 'were'} notified of its completion, the last one "
        f"{duration_text(max(0, last['time_ns'] - one.ended_ns))} after it"
    )
    commits = facts.all_rows("committables").equal(checkpoint=one.checkpoint, action=CommittableAction.COMMITTED)
    commit = commits.last()
    if commit is None:
        return [Cause(f"{text}.", ("12.4", "12.50"), place_of(last))]
    rules = ("12.4", "12.50", "12.31", *(("12.135",) if one.restores else ()))
    # The fingerprint of a committable is that of its content: two sinks may have the same.
    distinct = len(set(zip(*(commits[name].tolist() for name in ("task", "operator", "committable")), strict=True)))
    text += f"; {count_text(distinct, 'committable')} {'was' if distinct == 1 else 'were'} committed with it"
    if len(commits) > distinct:
        text += f", in {count_text(len(commits), 'commit')}{', because a restore commits them again' if one.restores else ''}"
    return [Cause(f"{text}.", rules, place_of(commit))]
