"""Law task-watermark: what a task sends of event time follows from its inputs, or from what its strategies generate."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import AsyncAction, Level
from flowsim.laws.event_time.causes import Causes
from flowsim.laws.event_time.lanes import AlikeLanes, HeldBackLane, Lane
from flowsim.laws.event_time.marks import NO_MARKS, SentMarks, sent_event_time
from flowsim.laws.event_time.paths import FREE, INPUTS, WATERMARK, EventTimePaths
from flowsim.laws.event_time.queues import queues_of
from flowsim.laws.event_time.strategies import Strategies
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, needs_channels
from flowsim.laws.slices import Slice

ID: Final = "task-watermark"
_PUT: Final = int(AsyncAction.PUT)


class TaskEventTime:
    """Follows every origin of event time in one task to the channels and queues that it reaches."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._causes = Causes(task.inputs)
        self._queues = queues_of(graph, task, found)
        self._free: AlikeLanes | None = None
        self._lanes: list[tuple[int, int, Lane | HeldBackLane]] = []
        """Origin and channel of each."""
        paths = graph.once(EventTimePaths)
        for origin, channels in paths.channels_by_origin.get(task.task, {}).items():
            if origin == FREE:
                self._free = AlikeLanes(found, task.task, channels) if len(channels) > 1 else None
            elif origin not in self._queues:
                is_held = origin == INPUTS and paths.holds_back(task.vertex)
                may_end = paths.makes_the_first(task.vertex, origin)
                for channel in channels:
                    place = {"task": task.task, "channel": channel}
                    lane = HeldBackLane(found, place) if is_held else Lane(found, place, may_end)
                    self._lanes.append((origin, channel, lane))
        self._strategies = Strategies(graph, task, found)

    def feed(self, facts: Slice) -> None:
        reaching = self._causes.reaching(facts)
        passing = self._causes.passing(reaching)
        sent = facts.once(sent_event_time)
        self._count(facts, sent)
        for origin, channel, lane in self._lanes:
            causes, marks = passing.get(origin), sent.by_channel.get(channel)
            if causes is not None or marks is not None:
                lane.feed(causes or NO_MARKS, marks or NO_MARKS)
        if self._free is not None and sent.by_channel:
            self._free.feed(sent.by_channel)
        for queue in self._queues.values():
            queue.steps.feed(facts)
        for queue in self._queues.values():
            queue.feed(reaching, passing, sent.by_channel)
        self._strategies.feed(facts, passing.get(INPUTS))

    def _count(self, facts: Slice, sent: SentMarks) -> None:
        count = sent.watermarks + sent.statuses + len(facts.of("task_watermark")) + len(facts.of("generated_watermark"))
        steps = facts.of("async_elements")
        if len(steps):
            puts = (steps.column("action") == _PUT) & (steps.column("kind") == WATERMARK)
            count += int(np.count_nonzero(puts))
        self._found.examined += count

    def end(self, whole: bool) -> None:
        for _, _, lane in self._lanes:
            lane.end(whole)
        if self._free is not None:
            self._free.end(whole)
        for queue in self._queues.values():
            queue.end(whole)
        self._strategies.end(whole, self._queues)


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> TaskEventTime:
    return TaskEventTime(graph, task, found[ID])


_COUNTS: Final = """\
**Origins** (also of idle and timers). An operator *makes watermarks* when `params.watermarks` is an object, and
*keeps them back* when its kind is `async_wait` (and it makes none). The origin of what leaves an operator is the last
that makes watermarks or keeps them back among it and those that feed it in its chain (`input_operator`); it is *free*
when an operator of kind `source` or `watermarks` that makes none comes first. Else it is the task's *inputs*, and free
for a task without inputs. The origin of what reaches an operator is that of what leaves its feeder; what reaches the
head comes from the inputs. The **origin of statuses** is the same, but operators that keep watermarks back are passed
over: a status is not queued (rule 11.3).

**What an origin tells** is a list of causes by seq, each with the WATERMARKs and STATUSes that it makes:
- an operator that makes watermarks: its rows of `generated_watermark` with split -1, each one cause;
- the inputs: each row of `task_watermark` is a cause. With one input it makes itself. With several, each has a
  watermark (at first `MIN`, only growing) and is idle or not (a WATERMARK makes it active); *together* is the lowest
  watermark of those that are not idle, the highest of all when all are. Where together exceeds all before, a
  WATERMARK of it; then, where the row is a STATUS and with it changes whether all inputs are idle, that STATUS (rule
  8.16). Rows of inputs that the task has not make nothing.
- an operator that keeps watermarks back: each of its EMIT rows in `async_elements`, of either kind, is a cause, and
  each cause of its origin of statuses of which a STATUS passes (below) is one that makes that STATUS. An EMIT row comes
  *behind* what it handed on. So a WATERMARK that left is made not by its own EMIT row but by the cause directly before
  that row (where there is none: by the beginning, a cause of seq -1), after all else that this one makes; the EMIT row
  itself makes only what the next one of kind WATERMARK, directly behind it, gives it. In a prefix one may be under way:
  of the entries of kind WATERMARK that were put and not emitted, the one with the lowest number is *perhaps* made by
  the last cause (or the beginning), after all else. Where the origin of statuses is free, statuses are as the judged
  channel has them: each of its own STATUS rows in `sent` is a cause, which counts for what passes, but itself makes
  nothing and is not judged by this law.

Of these pass only STATUSes other than the one before (at first ACTIVE), and no WATERMARK while the last STATUS is
IDLE (rule 5.8). Causes of which nothing passes are left out; but not those of an operator that keeps watermarks back.

- Not applicable: no row in `channels`.
- Rows examined: WATERMARK and STATUS rows of `sent`, all rows of `task_watermark`, all rows of `generated_watermark`,
  and the PUT rows of kind WATERMARK in `async_elements`.
- Per channel, with the origin of what leaves the edge's source operator: each cause *owns* the WATERMARK and STATUS
  rows of `sent` between it and the next cause. Violations:
  - every such row that is not the next of what its cause makes (rows before the first cause: every one, unless the
    beginning makes it). Where the origin is the head of a task without inputs, a WATERMARK of `MAX` is never one: the
    task itself sends it (rule 4.10), law end asks for it;
  - 1 for each cause (the beginning included) that does not own all that it makes; in a prefix not the last cause. What
    is only perhaps made need not be there.
- Per task and operator of kind `async_wait`, what it takes into its queue is judged like a channel: its PUT rows of
  kind WATERMARK behind its first OPEN row in `lifecycle` (without one there are none), against the WATERMARKs alone of
  what the origin of what reaches it makes (here, too, causes that make no WATERMARK stay causes, as the EMIT rows of an
  operator before it). For the head these are all of them, for another operator those that pass (rule 5.8). It is not
  judged where that origin, or that of its statuses, is free, or where that origin is an async operator of the legacy
  design: its emitter may wait for a place in the next queue with a watermark in its hands, and statuses overtake both.
  Where the origin is the inputs and the head has `params.interruptible_timers`, the next paragraph goes for it, too.
- Where the origin is the inputs and the head of the chain has `params.interruptible_timers`, watermarks may be held
  back and merged (rule 9.18): a WATERMARK row is a violation when it is not above all before on the channel, or no
  cause with a lower seq makes it. STATUSes are judged as above.
- Free origins, per task: with the n-th WATERMARK or STATUS rows of all its channels of free origin side by side, 1
  for each n for which kind or timestamp differ or, in a whole run, a channel has none (rule 8.18). In a prefix only n
  that all channels have are compared.
- Each row of `generated_watermark` is a violation (once) when
  - its operator is not in `operators`; or
  - split is -1, the operator has no rows of other splits, an edge *shows* it, and `records` and `max_timestamp` are
    not the number and the highest timestamp (none: `MIN`) of the RECORD rows that the task sent over that edge
    before. It is shown by the lowest edge without `side_output`, not BROADCAST, between which and it lie only
    operators of kind `map`;
  - it is a WATERMARK that does not exceed all before of the same task, operator and split (rule 8.5); or
  - it is a WATERMARK of `MAX` with split -1, the operator is of kind `watermarks`, the origin of what reaches it is
    the inputs or an operator that keeps watermarks back (whose origin of statuses is not free), and none of its causes
    with a lower seq makes `MAX`, perhaps or not (rule 8.7); or
  - it is any other WATERMARK of a split, or of an operator without splits, `params.watermarks.kind` is `bounded` or
    `monotonous`, and it is not `max_timestamp` - `bound_ms` - 1 (rule 8.1); or
  - it is any other WATERMARK with split -1 of an operator with splits, and the highest WATERMARK before of no split
    (rule 8.6); or
  - it is the first row of a split after a WATERMARK with split -1 that was above the split's highest, while the split
    was not idle (by its last row): it is still there and should have held the others back (rule 8.6).
- In a whole run, 1 for each operator of kind `watermarks` that makes watermarks, whose inputs make `MAX`, and that
  has no later WATERMARK of `MAX` with split -1.

A scripted source that speaks of event time itself has strategies of kind `custom`, as has every generator of the
user's: what they say is not foretold.
"""

LAWS: Final = (
    Law(
        ID,
        "The watermarks and statuses that a task sends are those that its inputs combine, or that its strategies generate from "
        "their records.",
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
