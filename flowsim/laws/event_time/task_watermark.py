"""Law task-watermark: the event time that a task sends follows from its inputs, or from its strategies."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from flowsim.facts.kinds import AsyncAction, Level
from flowsim.laws.async_wait.places import operators_by_vertex
from flowsim.laws.event_time.generators import NEVER, Generators
from flowsim.laws.event_time.marks import Mark, sent_event_time, statuses, watermarks
from flowsim.laws.event_time.origins import Origins
from flowsim.laws.event_time.paths import FREE, INPUTS, LAST, WATERMARK, EventTimePaths
from flowsim.laws.event_time.queues import Queue, QueueOutput
from flowsim.laws.event_time.readers import AlikeChannels, HeldBackReader, Reader
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, needs_channels
from flowsim.laws.slices import Slice

ID: Final = "task-watermark"
_PUT: Final = int(AsyncAction.PUT)


class Reading(NamedTuple):
    """A reader, and what it reads: a channel, or the input of an operator's queue."""

    origin: int
    channel: int
    queue: Queue | None
    reader: Reader | HeldBackReader
    own: QueueOutput | None = None
    """The emissions of the origin, a queue, if only the channel's own statuses are known."""


class TaskEventTime:
    """Tracks every origin of event time in one task to the channels and queues that read it."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
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
                self._free = AlikeChannels(found, task.task, channels)
        self._generators = Generators(graph, task, found)
        self._end_of_inputs: int | None = None
        """The row with which the inputs reached the end of event time."""

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

    def feed(self, facts: Slice) -> None:
        sent = facts.once(sent_event_time)
        self._count(facts, sent)
        causes = self._origins.causes(facts)
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
        self._generators.feed(facts)

    def _count(self, facts: Slice, sent: dict[int, list[Mark]]) -> None:
        count = sum(map(len, sent.values())) + len(facts.of("task_watermark")) + len(facts.of("generated_watermark"))
        steps = facts.of("async_elements")
        if len(steps):
            count += int(np.count_nonzero((steps.column("action") == _PUT) & (steps.column("kind") == WATERMARK)))
        self._found.examined += count

    def end(self, whole: bool) -> None:
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


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> TaskEventTime:
    return TaskEventTime(graph, task, found[ID])


_COUNTS: Final = """\
**Origins** (also of laws idle and timers). An operator *generates* watermarks when `params.watermarks` is an object; it
*queues* them when it generates none and is of kind `async_wait`. The origin of an operator's output is found by going
from the operator upstream through its chain (`input_operator`): it is the first operator that generates or queues. It
is *free* if a `source` or `watermarks` operator that generates none comes first. Otherwise it is the *inputs* of the
task, or free in a task without inputs. The origin of an operator's input is that of its upstream operator's output; for
the head it is the inputs. The *origin of statuses* skips operators that queue, since a status is not queued (rule
11.3).

**Causes.** An origin's emissions are a list of causes by seq, each with the marks (WATERMARKs and STATUSes) that it
makes:
- an operator that generates: each of its rows of `generated_watermark` with split -1 is a cause; its mark is the row
  itself;
- the inputs: each row of `task_watermark` is a cause. With one input its mark is the row itself. With several inputs,
  the watermark of an input is its highest so far (initially `MIN`), and the input is idle after a STATUS of IDLE until
  its next row. The combined watermark is the lowest of the inputs that are not idle, or the highest of all if all are
  idle. A row makes a WATERMARK if the combined watermark exceeds all earlier ones; then, if the row is a STATUS and
  changes whether all inputs are idle, also that STATUS (rule 8.16). Rows of inputs that the task does not have make no
  marks;
- an operator that queues: causes are its EMIT rows in `async_elements` and, from its origin of statuses, those that
  make a STATUS, with that STATUS. An EMIT row is recorded after its element was sent, so an emitted WATERMARK belongs
  to the cause before its EMIT row, or to the *beginning*, before all causes. In a prefix the last cause also makes the
  next WATERMARK: that of the lowest entry that was put after all emitted entries. If the origin of statuses is free,
  the STATUS rows of the judged channel itself are such causes; they make no marks and are not judged.

Only some marks *pass* the origin's output (rule 5.8): a STATUS that differs from the last one (initially ACTIVE), and a
WATERMARK while the status is not IDLE. Causes without a passing mark are ignored, except those of an operator that
queues.

- Not applicable: no row in `channels`.
- Rows examined: WATERMARK and STATUS rows of `sent`, all rows of `task_watermark` and `generated_watermark`, and the
  PUT rows of kind WATERMARK in `async_elements`.
- Channels: the origin is that of the output of the edge's source operator. Each cause *owns* the WATERMARK and STATUS
  rows of `sent` between it and the next cause; the beginning owns those before the first cause. Violations:
  - each row that is not the next mark of its cause, except a WATERMARK of `MAX` if the origin is the head of a task
    without inputs: the task itself sends it (rule 4.10, law end);
  - 1 for each cause (the beginning included) that does not own all its marks; in a prefix not for the last cause.
- Queues: the PUT rows of kind WATERMARK of an operator of kind `async_wait` after its first OPEN row in `lifecycle` are
  judged as a channel, with only the WATERMARKs of the origin of its input. They are not judged if the origin of
  statuses is free, or if the origin of its input is an async operator of the legacy design: that operator's emitter may
  wait with a watermark for a place in the next queue, and statuses overtake both.
- Channels and queues, if the origin is the inputs and the head has `params.interruptible_timers`: watermarks may be
  delayed and merged (rule 9.18), so a WATERMARK is a violation only when it is not above all earlier ones, or no cause
  with a lower seq makes it.
- Free origins, per task: 1 for each n for which the n-th WATERMARK or STATUS rows of its channels of free origin differ
  in kind or timestamp or, in a whole run, are missing on a channel (rule 8.18).
- A row of `generated_watermark` is a violation (once) when its operator is not in `operators`, or
  - its split is -1 without an earlier row of another split, an edge *shows* its records, and `records` and
    `max_timestamp` are not the number and the highest timestamp (none: `MIN`) of the RECORD rows sent earlier over that
    edge. The edge that shows the records is the lowest one without `side_output`, not BROADCAST, with only operators of
    kind `map` between the operator and the edge;
  - it is a WATERMARK that does not exceed all earlier ones of its task, operator and split (rule 8.5);
  - it is a WATERMARK of `MAX` with split -1 of an operator of kind `watermarks`, before the origin of the operator's
    input passes `MAX` (rule 8.7; only if this origin is the inputs or queues, and its origin of statuses is not free);
  - it is a WATERMARK below `MAX` of a split, or with split -1 without an earlier row of another split, the strategy is
    `bounded` or `monotonous`, and it is not `max_timestamp` - `bound_ms` - 1 (rule 8.1);
  - it is a WATERMARK below `MAX` with split -1 after a row of a split, and not the highest so far of any split (rule
    8.6); or
  - it is the first row of a split after a WATERMARK with split -1 above the highest of that split, which was not idle
    at its last row: the split should have held the watermark back (rule 8.6).
- In a whole run, 1 for each operator of kind `watermarks` that generates, whose origin (of its input, as above) passes
  `MAX`, and that has no later WATERMARK of `MAX` with split -1.

Strategies of kind `custom` (scripted sources with their own watermarks, user-defined generators) may generate any
increasing watermarks.
"""

LAWS: Final = (
    Law(
        ID,
        "A task sends exactly the watermarks and statuses that result from its combined inputs, or that its "
        "strategies generate from their records.",
        ("5.8", "8.1", "8.5", "8.6", "8.7", "8.15", "8.16", "8.18"),
        Level.ELEMENTS,
        {
            "sent": ("channel", "kind", "timestamp"),
            "task_watermark": ("input", "kind", "timestamp"),
            "generated_watermark": ("operator", "split", "kind", "timestamp", "records", "max_timestamp"),
            "async_elements": ("operator", "entry", "action", "kind", "timestamp"),
            "lifecycle": ("operator", "event"),
        },
        _make,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
