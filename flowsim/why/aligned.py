"""``why aligned``: why the barriers of a checkpoint did not overtake data on an exchange, or that they did."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flowsim.errors import BadInput, did_you_mean
from flowsim.facts.kinds import AlignmentType, CheckpointStep, Level, SnapshotKind
from flowsim.graph.alignment import (
    FORCED_RULE,
    AlignedReason,
    CheckpointAlignment,
    ForcedAlignment,
    checkpoint_alignment,
)
from flowsim.history.barriers import Barrier, barriers_of, so_far, written_checkpoints
from flowsim.history.checkpoints import RecordedCheckpoint
from flowsim.quantities import count_text, duration_text
from flowsim.trace.alignment import forced_exchanges
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.checkpoints.question import checkpoint_named
from flowsim.why.run_facts import Row, RunFacts, place_of

_SAVEPOINTS = (SnapshotKind.SAVEPOINT, SnapshotKind.SUSPEND, SnapshotKind.TERMINATE)
_MOST_CHANNELS = 20


def why_aligned(facts: RunFacts, about: Sequence[str], tasks: Collection[int] | None) -> WhyAnswer:
    """Explains an exchange, by default the first that is aligned by force, in a checkpoint, by default its last one."""
    if facts.recording.level < Level.ELEMENTS:
        raise BadInput("the recording has no checkpoints: they need --record elements")
    edge = _exchange(facts, about[0] if about else None, tasks)
    checkpoint = _checkpoint(facts, edge, about[1] if len(about) > 1 else None)
    if checkpoint is None:
        return WhyAnswer(Cause(f"No exchange has barriers: no checkpoint was triggered{facts.by_moment}.", ("12.43",)))
    names = facts.names
    forced = names.forced.get(edge) if checkpoint.checkpoint in names.unaligned_checkpoints else None
    of_all = checkpoint_alignment(checkpoint.alignment, checkpoint.kind, names.alignment_settings)
    barriers = barriers_of(facts, edge, checkpoint)
    statement = _statement(facts, edge, checkpoint, barriers, of_all, forced)
    causes = _reasons(facts, edge, of_all, forced is not None, barriers)
    if (of_all is None and forced is None) or checkpoint.alignment is AlignmentType.AT_LEAST_ONCE:
        return WhyAnswer(statement, tuple(causes))
    return WhyAnswer(statement, (*causes, *_behind_data(facts, barriers), *_waits(facts, checkpoint, barriers)))


def exchanges(facts: RunFacts) -> list[str]:
    """The names of the exchanges of the job, those first that are aligned by force."""
    forced = facts.names.forced
    return [facts.names.edge(edge) for edge in sorted(facts.graph.edges, key=lambda edge: (edge not in forced, edge))]


def _exchange(facts: RunFacts, text: str | None, tasks: Collection[int] | None) -> int:
    """The edge that a text names: its name, both ends of which are operators, a unique part of it, or ``edge 3``."""
    names, edges = facts.names, facts.graph.edges
    vertices = None if tasks is None else {facts.graph.tasks[task].vertex for task in tasks}
    known = [edge for edge in sorted(edges) if vertices is None or edges[edge].target_vertex in vertices]
    if not known:
        raise BadInput("--task: no other task sends to it" if tasks else "the job has no exchange between tasks")
    if text is None:
        return next((edge for edge in known if edge in names.forced), known[0])
    called = {f"edge {edge}": edge for edge in known}
    found = [called[text]] if text in called else [edge for edge in known if names.edge(edge) == text]
    found = found or [edge for edge in known if text.lower() in names.edge(edge).lower()]
    if len(found) == 1:
        return found[0]
    listed = "\n".join(f"  edge {edge}  {names.edge(edge)} ({edges[edge].partitioner})" for edge in found or known)
    if found:
        raise BadInput(f"{text!r} matches {len(found)} exchanges; give the name or the number of one:\n{listed}")
    near = did_you_mean(text, [names.edge(edge) for edge in known], is_listed=True)
    raise BadInput(f"there is no exchange {text!r}{near}; there are:\n{listed}")


def _checkpoint(facts: RunFacts, edge: int, text: str | None) -> RecordedCheckpoint | None:
    """A triggered checkpoint by its number; without one, the last with a barrier on the exchange, or else the last."""
    triggered = facts.checkpoints(facts.until_ns).checkpoints
    if text is None:
        written = written_checkpoints(facts, edge)
        known = reversed(triggered.values())
        return next((one for one in known if one.checkpoint in written), next(reversed(triggered.values()), None))
    return checkpoint_named(facts, text)


def _statement(
    facts: RunFacts,
    edge: int,
    checkpoint: RecordedCheckpoint,
    barriers: Sequence[Barrier],
    of_all: CheckpointAlignment | None,
    forced: ForcedAlignment | None,
) -> Cause:
    name = f"{'savepoint' if checkpoint.kind in _SAVEPOINTS else 'checkpoint'} {checkpoint.checkpoint}"
    exchange = facts.names.edge(edge)
    overtaken = sum(one.overtaken for one in barriers)
    if all(one.sent is None for one in barriers):
        text = f"No barrier of {name} was written to {exchange}: its senders took no part in it, or not yet."
    elif of_all is not None and of_all.reason in (AlignedReason.DISABLED, AlignedReason.AT_LEAST_ONCE):
        text = f"{exchange} is not aligned in {name}: its barriers overtake nothing, and it waits for none of them."
    elif forced is not None:
        text = f"{exchange} is aligned in {name} by force: its barriers overtake nothing, although the checkpoint is unaligned."
    elif of_all is not None and not any(one.overtaken or one.is_early for one in barriers):
        text = f"{exchange} is aligned in {name}: its barriers overtake nothing."
    elif overtaken:
        channels = sum(one.overtaken > 0 for one in barriers)
        text = (
            f"{exchange} is not aligned in {name}: its barriers overtook {count_text(overtaken, 'element')} on "
            f"{count_text(channels, 'channel')} of {len(barriers):,}."
        )
    else:
        text = (
            f"{exchange} is not aligned in {name}: its barriers may overtake data, but there was nothing to overtake."
        )
    slowest = max(barriers, key=lambda one: one.wait_ns, default=None)
    row = None if slowest is None else slowest.received or slowest.sent
    lines = [_line(facts, one) for one in barriers[:_MOST_CHANNELS]]
    if len(barriers) > _MOST_CHANNELS:
        lines.append(f"and {count_text(len(barriers) - _MOST_CHANNELS, 'channel')} more")
    rules = ("12.19",) if forced is not None else ("12.11",) if of_all is not None else ("12.18",)
    channel = None if slowest is None else slowest.channel.channel
    return Cause(text, rules, None if row is None else place_of(row), tuple(lines), channel)


def _line(facts: RunFacts, one: Barrier) -> str:
    """What a barrier did on its channel."""
    channel, sent, received = one.channel, one.sent, one.received
    ends = f"channel #{channel.channel} from {facts.task(channel.source_task)} to {facts.task(channel.target_task)}"
    if sent is None:
        return f"{ends}: no barrier was written"
    if received is None:
        return f"{ends}: written at {facts.moment(sent['time_ns'])}, not read"
    times = f"written at {facts.moment(sent['time_ns'])}, read at {facts.moment(received['time_ns'])}"
    order = f"overtook {count_text(one.overtaken, 'element')}" if one.overtaken else "overtook nothing"
    return f"{ends}: {times}, {order}"


def _reasons(
    facts: RunFacts, edge: int, of_all: CheckpointAlignment | None, is_forced: bool, barriers: Sequence[Barrier]
) -> list[Cause]:
    """Why the exchange is aligned: because of the checkpoint, or of an input of its receiver."""
    causes = []
    if of_all is not None and not is_forced:
        causes.append(Cause(f"In the whole checkpoint {of_all.sentence}.", of_all.rules))
        if of_all.reason is AlignedReason.TIMEOUT:
            causes.append(_after_timeout(barriers))
    forced = facts.names.forced if is_forced else {each.exchange.edge: each for each in forced_exchanges(facts.names)}
    found = forced.get(edge)
    if found is not None:
        causes.append(Cause(f"{found.sentence}.", (FORCED_RULE,)))
        if found.reason is AlignedReason.OTHER_INPUT:
            causes.append(Cause(f"{forced[found.by.edge].sentence}.", (FORCED_RULE,)))
    elif of_all is None:
        text = "The checkpoint is unaligned from its trigger on, and every input of the receiver supports unaligned barriers."
        causes.append(Cause(text, ("12.47", "12.19")))
    return causes


def _after_timeout(barriers: Sequence[Barrier]) -> Cause:
    early = [one for one in barriers if one.overtaken or one.is_early]
    if not early:
        return Cause("No barrier of this exchange became unaligned.", ("12.20", "12.88"))
    text = f"The barriers of {count_text(len(early), 'channel')} of {len(barriers):,} became unaligned after it."
    return Cause(text, ("12.20", "12.90"))


def _behind_data(facts: RunFacts, barriers: Sequence[Barrier]) -> list[Cause]:
    """The longest time that a barrier waited for the elements before it, which the receiver had to process first."""
    slowest = max(barriers, key=lambda one: one.wait_ns, default=None)
    if slowest is None or slowest.sent is None or slowest.received is None or slowest.overtaken:
        return []
    channel, sent = slowest.channel, slowest.sent
    read = (
        facts.until(slowest.received["time_ns"])
        .rows("received", channel.target_task)
        .before(slowest.received["seq"])
        .equal(channel=channel.channel)
    )
    first = read.where(read["time_ns"] > sent["time_ns"]).first()
    if first is None:
        return []
    unread = sent["position"] - first["position"]
    text = (
        f"The barrier on {facts.from_(channel)} waited {duration_text(slowest.wait_ns)} behind "
        f"{count_text(unread, 'element')} that {facts.task(channel.target_task)} had not read when it was written."
    )
    return [Cause(text, ("12.11",), place_of(slowest.received), (), channel.channel)]


def _waits(facts: RunFacts, checkpoint: RecordedCheckpoint, barriers: Sequence[Barrier]) -> list[Cause]:
    """The longest alignment of a receiver: from its first barrier to its last."""
    whole = facts.until(checkpoint.triggered_ns).whole
    found: list[tuple[int, Row, Row]] = []
    for task in sorted({one.channel.target_task for one in barriers}):
        steps = so_far(facts, whole.rows("checkpoint_steps", task)).equal(checkpoint=checkpoint.checkpoint)
        first = steps.equal(step=CheckpointStep.ALIGNMENT_START).first()
        last = steps.equal(step=CheckpointStep.ALIGNMENT_END).first()
        if first is not None and last is not None and last["time_ns"] > first["time_ns"]:
            found.append((last["time_ns"] - first["time_ns"], first, last))
    if not found:
        return []
    wait_ns, first, last = max(found, key=lambda one: one[0])
    text = (
        f"{facts.task(first['task'])} had its first barrier at {facts.moment(first['time_ns'])}, and the last one "
        f"{duration_text(wait_ns)} later, on {facts.from_(facts.graph.channels[last['channel']])}."
    )
    return [Cause(text, ("12.11",), place_of(last), (), last["channel"])]
