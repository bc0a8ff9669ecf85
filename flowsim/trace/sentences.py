"""Formats each fact as one sentence, for readers of a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.facts.schema import ACTIONS, TABLES
from flowsim.recording.recorded_file import out_of_range
from flowsim.trace.channel_sentences import (
    buffer_sizes_sentence,
    buffers_sentence,
    credits_sentence,
    received_sentence,
    segments_sentence,
    sent_sentence,
)
from flowsim.trace.checkpoint_sentences import (
    checkpoint_metrics_sentence,
    checkpoint_steps_sentence,
    committables_sentence,
    source_positions_sentence,
    stored_state_sentence,
)
from flowsim.trace.event_time_sentences import (
    alignment_sentence,
    generated_watermark_sentence,
    join_pairs_sentence,
    late_drop_sentence,
    task_watermark_sentence,
    timers_sentence,
    window_fire_sentence,
    window_intake_sentence,
    window_joins_sentence,
    window_merge_sentence,
)
from flowsim.trace.names import Names
from flowsim.trace.sentence import Sentence
from flowsim.trace.state_sentences import state_changes_sentence
from flowsim.trace.task_sentences import (
    actions_sentence,
    async_element_sentence,
    latencies_sentence,
    lifecycle_sentence,
    mails_sentence,
    metrics_sentence,
    operator_counts_sentence,
    snapshots_sentence,
    system_timers_sentence,
    task_times_sentence,
)

SentenceFunction = Callable[..., Sentence]


def sentence(names: Names, table: str, row: tuple[int, ...], depth: int | None = None) -> Sentence:
    """Returns one fact as text. Raises BadInput if one of its numbers is out of range."""
    function = SENTENCES[table]
    try:
        return function(names, *row, depth=depth) if table == ACTIONS.name else function(names, *row)
    except (LookupError, ValueError):
        task = row[TABLES[table].names.index("task")]
        raise out_of_range(names.directory, table, task, row[0]) from None


SENTENCES: Final[dict[str, SentenceFunction]] = {
    "sent": sent_sentence,
    "received": received_sentence,
    "task_watermark": task_watermark_sentence,
    "generated_watermark": generated_watermark_sentence,
    "alignment": alignment_sentence,
    "window_merge": window_merge_sentence,
    "window_intake": window_intake_sentence,
    "window_fire": window_fire_sentence,
    "join_pairs": join_pairs_sentence,
    "window_joins": window_joins_sentence,
    "late_drop": late_drop_sentence,
    "async_elements": async_element_sentence,
    "snapshots": snapshots_sentence,
    "operator_counts": operator_counts_sentence,
    "lifecycle": lifecycle_sentence,
    "task_times": task_times_sentence,
    "metrics": metrics_sentence,
    "latencies": latencies_sentence,
    "buffers": buffers_sentence,
    "credits": credits_sentence,
    "segments": segments_sentence,
    "buffer_sizes": buffer_sizes_sentence,
    "mails": mails_sentence,
    "actions": actions_sentence,
    "timers": timers_sentence,
    "system_timers": system_timers_sentence,
    "state_changes": state_changes_sentence,
    "checkpoint_steps": checkpoint_steps_sentence,
    "checkpoint_metrics": checkpoint_metrics_sentence,
    "stored_state": stored_state_sentence,
    "source_positions": source_positions_sentence,
    "committables": committables_sentence,
}
