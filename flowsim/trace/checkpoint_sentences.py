"""Sentences about the checkpoints of a task: steps, measurements, stored and restored state, committables."""

from __future__ import annotations

from flowsim.facts.kinds import CheckpointReason, CheckpointStep, CommittableAction, StoredAction, StoredKind
from flowsim.graph.alignment import FORCED_RULE
from flowsim.quantities import count_text
from flowsim.trace.names import Names
from flowsim.trace.phrases import CHECKPOINT_STEPS, COMMITTABLES, STORED_KINDS
from flowsim.trace.sentence import Sentence
from flowsim.units import NS_PER_MS


def checkpoint_steps_sentence(
    names: Names, seq: int, task: int, time_ns: int, checkpoint: int, step: int, channel: int, reason: int
) -> Sentence:
    text, rules = CHECKPOINT_STEPS[CheckpointStep(step)]
    if step == CheckpointStep.RESTORE and checkpoint < 0:
        return Sentence("starts without a checkpoint", rules)
    where = f" on {names.source(channel)}" if channel >= 0 else ""
    forced = names.forced_barrier(channel, checkpoint) if step == CheckpointStep.ALIGNMENT_START else None
    if forced is not None:
        return Sentence(f"{text.format(checkpoint=checkpoint)}{where}, {forced.short}", (*rules, FORCED_RULE))
    why = f": {CheckpointReason(reason).name}" if reason != CheckpointReason.NONE else ""
    return Sentence(f"{text.format(checkpoint=checkpoint)}{where}{why}", rules)


def checkpoint_metrics_sentence(
    names: Names,
    seq: int,
    task: int,
    time_ns: int,
    checkpoint: int,
    start_delay_ns: int,
    alignment_ns: int,
    alignment_bytes: int,
    persisted_bytes: int,
    sync_ms: int,
    async_ms: int,
    state_bytes: int,
) -> Sentence:
    persisted = f", {persisted_bytes:,} bytes in flight stored" if persisted_bytes else ""
    return Sentence(
        f"checkpoint {checkpoint}: start delay {start_delay_ns // NS_PER_MS:,} ms, aligned in "
        f"{alignment_ns / NS_PER_MS:,g} ms with {alignment_bytes:,} bytes processed, synchronous part {sync_ms:,} ms, "
        f"asynchronous part {async_ms:,} ms, state {state_bytes:,} bytes{persisted}",
        ("12.142",),
    )


def stored_state_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    checkpoint: int,
    action: int,
    kind: int,
    state: int,
    key_group: int,
    entries: int,
    fingerprint_sum: int,
) -> Sentence:
    what, rules = STORED_KINDS[StoredKind(kind)]
    done = {StoredAction.STORED: "stores", StoredAction.RESTORED: "restores"}.get(
        StoredAction(action), "stored in another run"
    )
    group = f" of key group {key_group}" if key_group >= 0 else ""
    name = names.value(state) or f"#{state}"
    text = f"{names.operator(task, operator)} {done} {what} {name}{group}"
    return Sentence(f"{text} for checkpoint {checkpoint}: {count_text(entries, 'entry', 'entries')}", rules)


def source_positions_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    checkpoint: int,
    action: int,
    split: int,
    position: int,
    records: int,
) -> Sentence:
    done = "stores" if action == StoredAction.STORED else "restores"
    name = names.value(split) or f"#{split}"
    text = f"{names.operator(task, operator)} {done} position {position:,} of split {name} for checkpoint {checkpoint}"
    return Sentence(text, ("12.111",))


def committables_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    checkpoint: int,
    action: int,
    committable: int,
    rows: int,
    fingerprint_sum: int,
) -> Sentence:
    text, rules = COMMITTABLES[CommittableAction(action)]
    of_rows = f" with {count_text(rows, 'record')}" if action == CommittableAction.PREPARED else ""
    operator_name = names.operator(task, operator)
    return Sentence(f"{operator_name} {text} committable #{committable}{of_rows} of checkpoint {checkpoint}", rules)
