"""Law task-watermark: the event time that a task sends follows from its inputs, or from its strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from flowsim.facts.kinds import AsyncAction, Level, LifeEvent
from flowsim.laws.async_wait.places import operators_by_vertex
from flowsim.laws.event_time.generators import Generators
from flowsim.laws.event_time.marks import (
    Mark,
    arrived_event_time,
    generated_event_time,
    sent_event_time,
    statuses,
    watermarks,
)
from flowsim.laws.event_time.merged_splits import NEVER
from flowsim.laws.event_time.origins import Origins
from flowsim.laws.event_time.paths import FREE, INPUTS, LAST, WATERMARK, EventTimePaths
from flowsim.laws.event_time.queues import Queue, QueueOutput
from flowsim.laws.event_time.readers import AlikeChannels, HeldBackReader, Reader
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Slice

ID: Final = "task-watermark"


class Reading(NamedTuple):
    """A reader, and what it reads: a channel, or the input of an operator's queue."""

    origin: int
    channel: int
    queue: Queue | None
    reader: Reader | HeldBackReader
    own: QueueOutput | None = None
    """The emissions of the origin, a queue, if only the channel's own statuses are known."""


class TaskEventTime(Machine):
    """Tracks every origin of event time in one task to the channels and queues that read it."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._found = found[ID]
        self._graph = graph
        self._task = task
        self._paths = graph.once(EventTimePaths)
        self._origins = Origins(task.inputs)
        operators = graph.once(operators_by_vertex).get(task.vertex, ())
        self._queues = {operator.operator: Queue(operator) for operator in sorted(operators)}
        self._outputs: dict[int, tuple[int, QueueOutput]] = {}
        """Per queue the origin of its statuses, if facts determine them, and its emissions."""
        self._readings: list[Reading] = []
        self._free: AlikeChannels | None = None
        for number in self._queues:
            origin = self._paths.origin_of_statuses(task.vertex, number)
            if origin != FREE:
                self._outputs[number] = origin, QueueOutput()
                self._read_queue(number)
        for origin, channels in self._paths.channels_by_origin.get(task.task, {}).items():
            if origin != FREE:
                self._readings += [self._reading(origin, channel) for channel in channels]
            elif len(channels) > 1:
                self._free = AlikeChannels(self._found, task.task, channels)
        self._generators = Generators(graph, task, self._found)
        self._end_of_inputs: int | None = None
        """The row with which the inputs reached the end of event time."""
        self._without_operators: dict[int, Reader] | None = None
        """By channel, if the task was restored as finished."""

    def _read_queue(self, number: int) -> None:
        """The watermarks that an operator enqueues are those of its input."""
        origin = self._paths.origin_of_input(self._task.vertex, number)
        if origin in self._queues and self._queues[origin].is_legacy:
            # Its emitter may wait with a watermark for a place in the next queue, and statuses overtake both.
            return
        reader = self._reader(origin, {"task": self._task.task, "operator": number}, takes_statuses=False)
        self._readings.append(Reading(origin, -1, self._queues[number], reader))

    def _reading(self, origin: int, channel: int) -> Reading:
        place = {"task": self._task.task, "channel": channel}
        if origin in self._queues and origin not in self._outputs:
            reader = Reader(self._found, place, takes_statuses=False)
            return Reading(origin, channel, self._queues[origin], reader, QueueOutput(emits_statuses=False))
        return Reading(origin, channel, None, self._reader(origin, place, takes_statuses=True))

    def _reader(self, origin: int, place: dict[str, int], takes_statuses: bool) -> Reader | HeldBackReader:
        if origin == INPUTS and self._paths.holds_back(self._task.vertex):
            return HeldBackReader(self._found, place, takes_statuses)
        may_end = origin not in self._queues and self._paths.makes_the_first(self._task.vertex, origin)
        return Reader(self._found, place, may_end, takes_statuses)

    @reads(sent_event_time, Origins.causes, Queue.feed)
    def _follow(self, facts: Slice) -> None:
        sent = facts.once(sent_event_time)
        causes = self._origins.causes(facts)
        if self._is_without_operators(facts):
            self._feed_without_operators(causes.get(INPUTS, ()), sent)
            return
        for queue in self._queues.values():
            queue.feed(facts)
        for number, (origin, output) in self._outputs.items():
            causes[number] = output.causes(self._queues[number].left, statuses(causes.get(origin, ())))
        for origin, channel, taking, reader, own in self._readings:
            marks = sent.get(channel, ())
            if own is not None and taking is not None:
                reader.feed(own.causes(taking.left, statuses(marks)), watermarks(marks))
                continue
            reader.feed(causes.get(origin, ()), marks if taking is None else taking.taken)
            if origin not in self._queues:
                reader.settle()
        if self._free is not None:
            self._free.feed(sent)
        if self._end_of_inputs is None:
            self._end_of_inputs = next((seq for seq, emission in causes.get(INPUTS, ()) if emission == LAST), None)

    @reads(Generators.feed)
    def _generate(self, facts: Slice) -> None:
        if self._without_operators is None:
            self._generators.feed(facts)

    def _is_without_operators(self, facts: Slice) -> bool:
        """Whether the task was restored as finished (rule 12.100): the first of its rows shows it."""
        lives = facts.of("lifecycle")
        if (
            self._without_operators is None
            and len(lives)
            and (lives.column("event") == LifeEvent.RESTORED_AS_FINISHED).any()
        ):
            self._without_operators = {}
            for channel in self._graph.sent_by(self._task.task):
                reader = Reader(self._found, {"task": self._task.task, "channel": channel.channel})
                if not self._task.inputs:
                    reader.feed([(0, LAST)], ())
                self._without_operators[channel.channel] = reader
        return self._without_operators is not None

    def _feed_without_operators(self, causes: Sequence[Mark], sent: Mapping[int, Sequence[Mark]]) -> None:
        """Such a task sends the end of event time, after that of its inputs."""
        for channel, reader in (self._without_operators or {}).items():
            reader.feed(causes, sent.get(channel, ()))
            reader.settle()

    @reads(sent_event_time, arrived_event_time, generated_event_time, async_elements=("action", "kind"))
    def _count(self, facts: Slice) -> None:
        count = sum(map(len, facts.once(sent_event_time).values()))
        count += len(facts.of("task_watermark")) + len(facts.of("generated_watermark"))
        steps = facts.of("async_elements")
        if len(steps):
            count += int(
                np.count_nonzero((steps.column("action") == AsyncAction.PUT) & (steps.column("kind") == WATERMARK))
            )
        self._found.examined += count

    def end(self, whole: bool) -> None:
        if self._without_operators is not None:
            for without in self._without_operators.values():
                without.end(whole)
            return
        in_progress: dict[int, list[Mark]] = {}
        for number, (_, output) in self._outputs.items():
            in_progress[number] = [] if whole else output.in_progress(self._queues[number])
        for origin, _, queue, reader, own in self._readings:
            if own is not None and queue is not None and not whole:
                reader.feed(own.in_progress(queue), ())
            reader.feed(in_progress.get(origin, ()), ())
            reader.end(whole)
        if self._free is not None:
            self._free.end(whole)
        self._generators.end(whole, self._end_of)

    def _end_of(self, origin: int) -> int:
        """The row with which an origin emits the end of event time (rules 4.10, 8.7); -1 if no facts show it."""
        if origin in self._outputs:
            found = self._outputs[origin][1].end_at
        elif origin == INPUTS:
            found = self._end_of_inputs
        else:
            return -1
        return NEVER if found is None else found


_COUNTS: Final = """\
- Not applicable: no row in `channels`.
- Rows examined: WATERMARK and STATUS rows of `sent`, all rows of `task_watermark` and `generated_watermark`, and PUT
  rows of kind WATERMARK in `async_elements`.
- **Channels.** A cause of the channel's origin *owns* the WATERMARK and STATUS rows of the channel in `sent` between
  the cause and the next cause. The beginning owns the rows before the first cause. Violations:
  - each row that is not the next passing mark of its cause. Exception: a WATERMARK of `MAX`, if the origin is an
    operator that generates and is the head of a task without inputs. This WATERMARK comes from the task itself (rule
    4.10, law end);
  - 1 for each cause, the beginning included, that does not own all its passing marks. In a prefix, the last cause is
    not counted.
- **Tasks restored as finished** (a RESTORED_AS_FINISHED row in `lifecycle`): the origin of all channels is the inputs.
  Without inputs, `MAX` is the passing mark of the beginning. Nothing else is judged: the operators do not run (rule
  12.100).
- **Queues.** The PUT rows of kind WATERMARK of an `async_wait` operator are judged like the rows of a channel. The
  origin is that of the operator's input, of which only WATERMARKs count. Only PUT rows after the first OPEN row of the
  operator in `lifecycle` are judged. A queue is not judged in two cases:
  - The origin of statuses of the operator's output is free.
  - The origin of the operator's input is an async operator of the legacy design. The emitter of that operator may hold
    a watermark while it waits for a place in this queue, and statuses overtake the emitter and the queue.
- **Interruptible timers.** If the origin is the inputs and the head has `params.interruptible_timers`, watermarks may
  be delayed and merged (rule 9.18). So a WATERMARK on a channel or in a queue is a violation only when it does not
  exceed all earlier ones, or when no earlier cause makes it. Missing WATERMARKs do not count.
- **Free origins**, per task: 1 for each n for which all its channels of free origin have an n-th WATERMARK or STATUS
  row, and these rows differ in kind or timestamp (rule 8.18). In a whole run, also 1 for each n for which only some of
  these channels have such a row.
- **Generated watermarks.** An operator is *without splits* at a row if it has no earlier row of a single split. A row
  of `generated_watermark` is a violation when
  - its operator is not in `operators`;
  - its split is -1 and its kind not RECORD, and `records` and `max_timestamp` are not the number and the highest timestamp
    (none: `MIN`) of the RECORD rows that the task sent earlier over the edge that *shows* the records. This is the edge
    with the lowest number that has no `side_output`, is not BROADCAST, and has only `map` operators with `input_tag` ''
    between the operator and itself. This is checked if there is such an edge;
  - it is a WATERMARK that does not exceed `MIN` and all earlier ones of its task, operator and split (rule 8.5);
  - it is a WATERMARK of `MAX` with split -1 of a `watermarks` operator, and the origin of the operator's input has not
    passed `MAX` before (rule 8.7). This is checked only if this origin is the inputs, or an operator that queues, and
    its origin of statuses is not free;
  - it is a WATERMARK below `MAX`, and not `max_timestamp` - `bound_ms` - 1 (rule 8.1). This is checked if the strategy
    is `bounded` or `monotonous`, and the row is of a single split or its operator is without splits;
  - it is a WATERMARK below `MAX` with split -1, a split counts, and the row is not the *merged watermark* (rule 8.6).
- The **merged watermark**: a split counts from its first row to its END_OF_PARTITION row. The merged watermark is the lowest
  of the highest WATERMARKs of the splits that count and whose last row is not IDLE, or the highest of all that count if there
  are none of these; `MIN` is the watermark of a split without a WATERMARK. It is judged before the first row of a split that
  is not ACTIVE with `records` 0 (its beginning is not recorded), and before the first RECORD row (records belong to no split).
  - *At once*: 1 for a row of a split that counts, neither its first nor its last one, if the next row of its operator does
    not follow in the same call, and the merged watermark then exceeds all WATERMARKs with split -1, and all merged watermarks
    that were counted as missing. A row does not follow in the same call if its `time_ns` is higher, if the task sent a RECORD
    in between, or if it is the first or last row of a split. Without a next row, a later RECORD or the end of a whole run
    shows it.
  - *At the next call*: 1 for an END_OF_PARTITION row of a split that counts, if the merged watermark then exceeds all
    WATERMARKs with split -1, and still does at the moment at which the calls of `auto_watermark_interval_ms` after it have
    run, as in law idle.
- **Records**: 1 for each action of a task (its END outside of all others) before which the highest timestamp of RECORD rows
  over the edge that shows the records rises to T, if no row shows T by the moment at which the calls of
  `auto_watermark_interval_ms` after the action have run, as in law idle. A row shows its `max_timestamp`; with split -1 only if
  its operator is without splits, or the merged watermark is not judged; a WATERMARK of `MAX` with split -1 shows all.
  This is checked if the strategy is `bounded` or `monotonous` and T - `bound_ms` - 1 is above `MIN`.
- *At the next call* and *Records* need the periodic calls: under the conditions of "Too late" in law idle, and until a FINISH,
  CLOSE, STOP_NO_DRAIN, CANCELING, CANCELED or FAILED. `auto_watermark_interval_ms` is in `params.watermarks` of strategies
  with `idle_ms`, and of sources with splits.
- In a whole run, 1 for each `watermarks` operator that generates, if the origin of its input passes `MAX` and the
  operator has no later WATERMARK of `MAX` with split -1. This is checked for the same origins.
- Strategies of kind `custom` are scripted sources with their own watermarks, and user-defined generators. They may
  generate any increasing watermarks.
"""

LAWS: Final = (
    Law(
        ID,
        "A task sends exactly the watermarks and statuses that result from its combined inputs, or that its "
        "strategies generate from their records.",
        ("5.8", "8.1", "8.2", "8.5", "8.6", "8.7", "8.15", "8.16", "8.18", "12.100"),
        Level.ELEMENTS,
        TaskEventTime,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
