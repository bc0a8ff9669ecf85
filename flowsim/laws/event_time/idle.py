"""Law idle: an idle output emits no watermark, and is idle exactly when its inputs, or its strategy, are (5.8, 8.4, 8.16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.event_time.idle_timeouts import IdleTimeouts
from flowsim.laws.event_time.marks import Mark, generated_event_time, sent_event_time, statuses
from flowsim.laws.event_time.origins import Origins
from flowsim.laws.event_time.paths import ACTIVE, FREE, IDLE, STATUS, WATERMARK, EventTimePaths
from flowsim.laws.event_time.readers import Reader
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Slice

ID: Final = "idle"


class Channel(NamedTuple):
    """A channel, and the comparison of its statuses with those of their origin; None if no facts determine them."""

    origin: int
    number: int
    reader: Reader | None


@reads(sent=("kind",), task_watermark=("kind",), generated_watermark=("kind",))
def _has_statuses(facts: Slice) -> bool:
    """Whether a status was sent, arrived or was generated."""
    tables = (facts.of(table) for table in ("sent", "task_watermark", "generated_watermark"))
    return any(bool((rows.column("kind") == STATUS).any()) for rows in tables if len(rows))


class TaskStatuses(Machine):
    """Tracks the statuses of all channels and strategies of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._found = found[ID]
        self._task = task.task
        self._origins = Origins(task.inputs)
        self._paths = graph.once(EventTimePaths)
        self._channels: list[Channel] = []
        for origin, channels in self._paths.channels_by_origin.get(task.task, {}).items():
            of_statuses = self._paths.origin_of_statuses(task.vertex, origin)
            for channel in channels:
                reader = None if of_statuses == FREE else Reader(self._found, {"task": task.task, "channel": channel})
                self._channels.append(Channel(of_statuses, channel, reader))
        self._sent: dict[int, int] = {}
        """The status of each channel."""
        self._generated: dict[int, int] = {}
        """The status of each operator."""
        self._timeouts = IdleTimeouts(graph, task, self._found)

    @reads(sent_event_time, generated_event_time, _has_statuses, Origins.causes)
    def _examine(self, facts: Slice) -> None:
        sent, generated = facts.once(sent_event_time), facts.once(generated_event_time)
        self._found.examined += sum(map(len, sent.values())) + sum(map(len, generated.values()))
        # Watermarks alone have no effect, unless something is idle.
        if IDLE in self._sent.values() or self._origins.has_idle_inputs or facts.once(_has_statuses):
            causes = self._origins.causes(facts)
            for channel in self._channels:
                self._examine_channel(channel, causes.get(channel.origin, ()), sent.get(channel.number, ()))

    @reads(IdleTimeouts)
    def _examine_timeouts(self, facts: Slice) -> None:
        self._timeouts.feed(facts)

    def _examine_channel(self, channel: Channel, causes: Sequence[Mark], marks: Sequence[Mark]) -> None:
        if channel.reader is not None:
            channel.reader.feed(statuses(causes), statuses(marks))
            channel.reader.settle()
        status = self._sent.get(channel.number, ACTIVE)
        for seq, (kind, value) in marks:
            if kind == WATERMARK:
                if status == IDLE:
                    self._broken("a watermark is sent while idle", seq, channel=channel.number, timestamp=value)
                continue
            if value == status and channel.reader is None:
                self._broken("a status equals the previous one", seq, channel=channel.number, status=value)
            status = value
        self._sent[channel.number] = status

    @on_row("generated_watermark", kind=ElementKind.WATERMARK)
    def _generate_watermark(self, seq: int, operator: int, split: int, timestamp: int) -> None:
        if split == -1 and self._generated.get(operator, ACTIVE) == IDLE:
            self._broken("a watermark is sent while idle", seq, operator=operator, timestamp=timestamp)

    @on_row("generated_watermark", kind=ElementKind.STATUS)
    def _generate_status(self, seq: int, operator: int, split: int, timestamp: int) -> None:
        if split == -1:
            if timestamp == self._generated.get(operator, ACTIVE):
                self._broken("a status equals the previous one", seq, operator=operator, status=timestamp)
            self._generated[operator] = timestamp

    def _broken(self, what: str, seq: int, **shown: int) -> None:
        self._found.broken(what, (self._task, seq), task=self._task, seq=seq, **shown)

    def end(self, whole: bool) -> None:
        for channel in self._channels:
            if channel.reader is not None:
                channel.reader.end(whole)
        self._timeouts.end(whole)


_COUNTS: Final = """\
- Not applicable: no row in `channels`.
- Rows examined: WATERMARK and STATUS rows of `sent`, and rows of `generated_watermark` with split -1.
- A WATERMARK row of `sent` is a violation when the last STATUS of its channel is IDLE.
- The STATUS rows of a channel are judged as in law task-watermark, with only the STATUSes of the origin of statuses as
  marks. If this origin is free, a STATUS row is a violation when it equals the last one (initially ACTIVE).
- For the rows of `generated_watermark` with split -1 of one task and operator, a row is a violation when it is
  - a WATERMARK, and the last STATUS is IDLE;
  - a STATUS that equals the last one (initially ACTIVE).
- *Timeouts* (rule 8.4): of operators with `idle_ms` in `params.watermarks` and the kind `bounded`, `monotonous` or `none`.
  A *stream* is the whole operator (split -1) or one of its splits. The whole operator is not judged after the first row of
  a split, nor if `params` has `splits`, `assignment`, `files`, `split_by` or `partitions` (for a script: if the subtask
  has `splits`): each split has its own timeout.
- The *clock* of a stream: `time_ns` minus its pauses. They are the periods from WAIT to RESUME in `actions` of kind BUFFER
  or with priority -2 (back pressure), if they took some time, and those from a row of `alignment` with `paused` 1 to one
  with 0, for the split of the stream. There are no pauses at level elements, on the real clock (`time_ns` above 10^18), and
  in a task with rows of kind LOCK or LOCK_HOLDER; then the next condition compares with T itself.
- *Too early*: an IDLE of a stream that is not idle. Its last record is at T or later: the highest `time_ns`, and the highest
  seq, of the earlier RUNNING rows and of the earlier RECORD rows that the task sent over suitable edges. A suitable edge has
  only operators of the kinds `map`, `filter` and `flat_map` between the operator and itself, and no side output on the way.
  For a split: instead of the RECORD rows, its last row with fewer `records`, and on the first edge with all records (only
  `map` between, no BROADCAST) the RECORD row that is as many rows after it as `records` is higher. The first MAIL that
  begins after T may notice the record, the next periodic call stores the time: not before the second MAIL, and not before
  the next call after the first one, `auto_watermark_interval_ms` later (of a source: counted from its OPEN row). Without
  records, the first MAIL may store. IDLE is a violation when the clock is at most `idle_ms` further at it than then, or when
  there is no such MAIL before it.
- *Too late*: only where pauses are known, with a first edge with all records, `auto_watermark_interval_ms` above 0 and, for a
  source, an OPEN row. In every interval I (of an operator that is no source: plus 2 ms) a periodic call is due. A *moment* is
  a WAIT of kind MAIL outside of all actions that took some time: every call that was due until then has run; or a BEGIN of
  kind DEFAULT_ACTION: every call that was due before the seventh such BEGIN before it has run. After a record, find the end
  of its action; the first moment by which the calls of I after it have run; the first one by which those of I after that
  moment have run; and the first one with I before it more than `idle_ms` later on the clock. 1 if the stream is not idle
  there, nor was it idle after the record, unless a record, FINISH, CLOSE, STOP_NO_DRAIN, CANCELING, CANCELED or FAILED came
  before. For the whole operator, records are the RUNNING row and the RECORD rows of that edge, if more than `idle_ms` is
  between a row and the next one. For a split: each first row with a higher number of `records`; it has no further record
  until the next RECORD row after the last row of its operator at which the numbers of all splits add up to all RECORD rows.
  A split is judged if its first row is ACTIVE with `records` 0 (its beginning), and up to its last row if that is
  END_OF_PARTITION. That first row also counts as a record in "Too early".
- *Merged* (rule 8.6): a split is there from its first row to an END_OF_PARTITION row; nothing is judged from a first row on
  that is not ACTIVE with `records` 0, nor with RECORD rows (records belong to no split).
  - An IDLE row with split -1 is a violation when a split is there and its last row is not IDLE, this also holds at the last
    WATERMARK with split -1 before, there is one, and at no row in between all splits that are there were IDLE.
  - 1 for each row of a split after which all splits that are there are IDLE, but not before it, unless the status of split -1
    is IDLE at the first moment by which the calls of I after the row have run and the operator is idle without records (as
    in "Too late", from the RUNNING row on), or a split is not IDLE before that moment. Under the conditions of "Too late",
    but without an edge with all records.
"""

LAWS: Final = (
    Law(
        ID,
        "An idle output emits no watermark. A task is idle exactly if all its inputs are idle, or if its "
        "strategy received no record during its idle timeout. The timeout does not run under back pressure, nor while "
        "alignment pauses the source or the split.",
        ("5.8", "8.2", "8.4", "8.5", "8.16", "8.23", "8.24"),
        Level.ELEMENTS,
        TaskStatuses,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
