"""The sentence of each fact, as templates with the rules of Flink that explain it (``template.py``).

``flowsim trace`` fills them in here; the viewer of reports reads the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cache
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from flowsim.facts.kinds import ActionPhase, WaitKind
from flowsim.facts.schema import ACTIONS, OUTPUT_FULL, TABLES
from flowsim.history.job_events import job_fact_out_of_range
from flowsim.recording.recorded_file import out_of_range
from flowsim.trace import phrases
from flowsim.trace.compiled_template import CompiledTemplates
from flowsim.trace.fields import Row, Text
from flowsim.trace.names import Names
from flowsim.trace.sentence import Sentence
from flowsim.trace.template import parsed


class FactText(NamedTuple):
    """The sentence of a table's facts; ``{phrase}`` is that of the members in the columns ``by``."""

    text: str
    rules: str = ""
    """After those of the phrase."""
    by: tuple[str, ...] = ()
    phrases: Mapping[Any, tuple[str, str]] = {}


def _of_actions() -> Mapping[tuple[ActionPhase, IntEnum], tuple[str, str]]:
    """Returns the phrases of table ``actions``, whose column ``kind`` has members of two enums."""
    texts: dict[tuple[ActionPhase, IntEnum], tuple[str, str]] = {}
    for kind, (text, rules) in phrases.ACTIONS.items():
        texts[ActionPhase.BEGIN, kind] = f"begins {text} (action {{action}})", rules
        texts[ActionPhase.END, kind] = f"ends {text} (action {{action}})", ""
    for wait, (text, rules) in phrases.WAITS.items():
        texts[ActionPhase.WAIT, wait] = (
            f"[priority={OUTPUT_FULL}?waits for output: soft back pressure|{text}]",
            f"[priority={OUTPUT_FULL}?3.28 4.6|{rules}]",
        )
        texts[ActionPhase.RESUME, wait] = phrases.AFTER_WAITING.get(WaitKind(wait), "continues"), ""
    return texts


_TOTAL_TIMES: Final = (
    "[busy_ns?{busy_ns:duration} busy]"
    "[idle_ns?[busy_ns?, ]{idle_ns:duration} idle]"
    "[soft_backpressured_ns?[busy_ns?, |idle_ns?, ]{soft_backpressured_ns:duration} soft back-pressured]"
    "[hard_backpressured_ns?[busy_ns?, |idle_ns?, |soft_backpressured_ns?, ]"
    "{hard_backpressured_ns:duration} hard back-pressured]"
    "[busy_ns?|idle_ns?|soft_backpressured_ns?|hard_backpressured_ns?|no time]"
)
_ENTRIES_NOW: Final = "|".join(
    f"state_kind={kind}?, {{entries:count {noun}}} now" for kind, noun in phrases.ENTRY_NOUNS.items()
)
_INSTEAD: Final = " instead of {fingerprint:value}"

SENTENCES: Final[dict[str, FactText]] = {
    "sent": FactText(
        "{phrase}[ {element}][, key {key},] to {target}[kind=CHECKPOINT_BARRIER?, {timestamp:forced}]",
        "[kind=CHECKPOINT_BARRIER?{timestamp:forced_rule}]", ("kind",), phrases.SENT,
    ),
    "received": FactText(
        "{phrase}[ {element}] from {source}[kind=CHECKPOINT_BARRIER?, {timestamp:forced}]",
        "[kind=CHECKPOINT_BARRIER?{timestamp:forced_rule}]", ("kind",), phrases.RECEIVED,
    ),
    "task_watermark": FactText(
        "[kind=WATERMARK?watermark of input {input} is now {timestamp:time}|input {input} is now {element}]",
        "[kind=WATERMARK?8.9 8.15|8.10 8.11]",
    ),
    "generated_watermark": FactText(
        "{operator}[split>=0?, {split},] generates {element} after {records:count record}", "8.1 8.5"
    ),
    "alignment": FactText(
        "{operator}[split>=0?, {split},] is [paused?paused|resumed] by watermark alignment: "
        "watermark {watermark:time}, limit {limit:time}",
        "8.22 8.23",
    ),
    "window_merge": FactText("{operator} merges {window} of key {key} into {into_start:window into_end}", "10.25 10.26"),
    "window_intake": FactText(
        "{operator} processes {fingerprint:record record}, key {key}, watermark {watermark:time}", "10.7"
    ),
    "window_fire": FactText(
        "{operator} {phrase} {window} of key {key} with {rows:count record}, watermark {watermark:time}",
        "10.11 10.13", ("result",), phrases.WINDOW_RESULTS,
    ),
    "join_pairs": FactText(
        "{operator} joins [{left_fingerprint:value} and {right_fingerprint:value}|two records], key {key}, "
        "timestamp {timestamp:time}",
        "10.33 10.34",
    ),
    "window_joins": FactText(
        "{operator} calls its function {calls:count time} for {left_rows:count left record} and "
        "{right_rows:count right record} of {window} of key {key}",
        "10.37",
    ),
    "late_drop": FactText(
        "{operator} [side_output?sends to the late side output|drops] {fingerprint:record late record}, key {key}, "
        "watermark {watermark:time}",
        "10.9 10.10",
    ),
    "async_elements": FactText("{operator} {phrase}", by=("action",), phrases=phrases.ASYNC_ACTIONS),
    "snapshots": FactText(
        "{operator} snapshots its state [inside?inside an element|between two elements], after {records_in:count record}: "
        "{elements:count element} in the snapshot",
        "[inside?11.37|3.25 11.20]",
    ),
    "operator_counts": FactText(
        "{operator} in total: {records_in:count record} in, {records_out:,} out[records_side?, {records_side:,} to side "
        "outputs][records_dropped?, {records_dropped:,} dropped]",
        "13.4",
    ),
    "lifecycle": FactText("{operator} {phrase}", by=("event",), phrases=phrases.LIFE),
    "task_times": FactText(
        f"the task in total: {_TOTAL_TIMES}; {{records_in:count record}} in, {{records_out:,}} out", "3.28"
    ),
    "metrics": FactText(
        "metrics: [busy_ms>=0?busy {busy_ms}, ]idle {idle_ms}, soft {soft_ms}, hard {hard_ms} ms/s; "
        "{input_queue:count buffer} in ({input_pool_usage:percent} %), {output_queue} out ({output_pool_usage:percent} %); "
        "records {records_in:,} in, {records_out:,} out; "
        "watermarks {input_watermark:time} in, {output_watermark:time} out",
        "13.1 13.2 13.6 13.7",
    ),
    "latencies": FactText(
        "{operator} receives a latency marker from subtask {source_subtask} of {source_vertex:vertex}: "
        "latency {latency_ms} ms",
        "8.20",
    ),
    "buffers": FactText("{phrase}", by=("side",), phrases=phrases.BUFFERS),
    "credits": FactText("{phrase}", by=("kind",), phrases=phrases.CREDITS),
    "segments": FactText(
        "{pool} {phrase}[subpartition>=0? of subpartition {subpartition}]: {requested} held, {free} free, size {size}",
        by=("action",), phrases=phrases.SEGMENTS,
    ),
    "buffer_sizes": FactText(
        "announces a buffer size of {bytes:,} bytes to {edge}: {throughput:,} bytes/s, "
        "{buffers_in_use:count buffer} in use",
        "6.22",
    ),
    "mails": FactText("{phrase}", by=("action",), phrases=phrases.MAILS),
    "actions": FactText("{phrase}", by=("phase", "kind"), phrases=_of_actions()),
    "timers": FactText(
        "{operator} {phrase} [domain=EVENT_TIME?event-time|processing-time] timer {timestamp:time}[, key {key}]"
        "[window_start<window_end?, {window}][domain=EVENT_TIME?, watermark {watermark:time}]",
        by=("action",), phrases=phrases.TIMERS,
    ),
    "system_timers": FactText(
        "{operator} {phrase}", "[kind=TIMEOUT?11.17|11.24]", ("action",), phrases.SYSTEM_TIMERS
    ),
    "state_changes": FactText(
        "{operator} {phrase} [state_kind=window_records?the contents of {window} of key {key}|"
        "state_kind=window_value?the contents of {window} of key {key}|"
        "{state}[ of key {key}[window_start<window_end?, {window}]]]"
        f"[action=WRONG_CONTENT?{_INSTEAD}|action=WRONG_READ?{_INSTEAD}|: {{fingerprint:value}}]"
        f"[action=CLEAR?|action=WRONG_CONTENT?|action=WRONG_READ?|{_ENTRIES_NOW}]",
        by=("action",), phrases=phrases.STATE_CHANGES,
    ),
    "checkpoint_steps": FactText(
        "{phrase}[channel>=0? on {source}][step=ALIGNMENT_START?, {checkpoint:forced}|reason!=NONE?: {reason}]",
        "[step=ALIGNMENT_START?{checkpoint:forced_rule}]", ("step",), phrases.CHECKPOINT_STEPS,
    ),
    "checkpoint_metrics": FactText(
        "checkpoint {checkpoint}: start delay {start_delay_ns:ms} ms, aligned in {alignment_ns:exact_ms} ms with "
        "{alignment_bytes:,} bytes processed, synchronous part {sync_ms:,} ms, asynchronous part {async_ms:,} ms, "
        "state {state_bytes:,} bytes[persisted_bytes?, {persisted_bytes:,} bytes in flight stored]",
        "12.142",
    ),
    "stored_state": FactText(
        "{operator} [action=STORED?stores|action=RESTORED?restores|stored in another run] {phrase} {state:name}"
        "[key_group>=0? of key group {key_group}] for checkpoint {checkpoint}: {entries:count entry/entries}",
        by=("kind",), phrases=phrases.STORED_KINDS,
    ),
    "source_positions": FactText(
        "{operator} [action=STORED?stores|restores] position {position:,} of split {split:name} "
        "for checkpoint {checkpoint}",
        "12.111",
    ),
    "committables": FactText(
        "{operator} {phrase} committable {committable:name}[action=PREPARED? with {rows:count record}] "
        "of checkpoint {checkpoint}",
        by=("action",), phrases=phrases.COMMITTABLES,
    ),
    "checkpoints": FactText("{phrase}", by=("action",), phrases=phrases.CHECKPOINTS),
    "restarts": FactText("{phrase}", by=("action",), phrases=phrases.RESTARTS),
    "stored_channels": FactText("{phrase}", by=("action",), phrases=phrases.STORED_CHANNELS),
}  # fmt: skip
"""By table."""


def sentence(names: Names, table: str, row: Row, depth: int | None = None) -> Sentence:
    """Returns one fact as text. ``depth``: the number of actions and waits around an action; None if it is not known.

    Raises BadInput if one of its numbers is out of range.
    """
    if table == ACTIONS.name:
        row = (*row, -1 if depth is None else depth)
    try:
        text, rules = _texts_of(table)(row)
        return Sentence(text(names, row), rules if isinstance(rules, tuple) else tuple(rules(names, row).split()))
    except (LookupError, ValueError):
        if not TABLES[table].has_attempt:
            raise job_fact_out_of_range(names.recording, table, row[0]) from None
        raise out_of_range(names.recording.directory, table, row[TABLES[table].names.index("task")], row[0]) from None


TextAndRules: TypeAlias = tuple[Text, Text | tuple[str, ...]]


@cache
def _texts_of(table: str) -> Callable[[Row], TextAndRules]:
    """Returns the function that chooses the text and the rules of a row; it raises KeyError without a phrase for it."""
    by = SENTENCES[table].by
    if not by:
        only = _compiled(table, "", "", {})
        return lambda row: only
    members_of = itemgetter(*(TABLES[table].names.index(column) for column in by))
    texts: dict[Any, TextAndRules] = {}

    def chosen(row: Row) -> TextAndRules:
        members = members_of(row)
        if members not in texts:
            known = dict(zip(by, members if len(by) > 1 else (members,), strict=True))
            texts[members] = _compiled(table, *SENTENCES[table].phrases[members], known)
        return texts[members]

    return chosen


def _compiled(table: str, phrase: str, rules_of_phrase: str, known: Mapping[str, int]) -> TextAndRules:
    templates = CompiledTemplates(TABLES[table], known)
    text = templates.compiled(parsed(SENTENCES[table].text.replace("{phrase}", phrase), TABLES[table]))
    rules = f"{rules_of_phrase} {SENTENCES[table].rules}"
    if "[" not in rules:
        return text, tuple(rules.split())
    return text, templates.compiled(parsed(rules, TABLES[table]))
