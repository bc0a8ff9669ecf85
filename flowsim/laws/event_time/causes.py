"""What calls for watermarks and statuses in one task: what its inputs combine, and what its operators generate."""

from __future__ import annotations

from flowsim.laws.event_time.marks import NO_MARKS, Mark, Marks, arrived_event_time, generated_event_time
from flowsim.laws.event_time.paths import INPUTS, Announced, InputsModel
from flowsim.laws.slices import Slice


class Causes:
    """Follows the origins of event time of one task, epoch by epoch.

    The sequence number of a mark is that of its cause: the row that says what an input or an operator emitted.
    """

    __slots__ = ("_inputs", "_is_single", "_outputs")

    def __init__(self, inputs: int) -> None:
        self._is_single = inputs == 1
        self._inputs = InputsModel(inputs)
        self._outputs: dict[int, Announced] = {}

    @property
    def has_idle_inputs(self) -> bool:
        """Whether the next watermark of an input may change the status of the task."""
        return not self._is_single and self._inputs.has_idle

    def reaching(self, facts: Slice) -> dict[int, Marks]:
        """Per origin the marks that reach the first operator behind it where no output lies between."""
        found = dict(facts.once(generated_event_time))
        if facts.has("task_watermark"):
            found[INPUTS] = facts.once(arrived_event_time) if self._is_single else self._combined(facts)
        return found

    def _combined(self, facts: Slice) -> Marks:
        take, found = self._inputs.take, list[Mark]()
        for seq, index, kind, value in facts.of("task_watermark").tuples(("seq", "input", "kind", "timestamp")):
            for emitted in take(index, kind, value):
                found.append((seq, *emitted))
        return Marks(found)

    def passing(self, reaching: dict[int, Marks]) -> dict[int, Marks]:
        """Those that pass the outputs (rule 5.8)."""
        return {origin: self._passing(origin, marks) for origin, marks in reaching.items()}

    def _passing(self, origin: int, marks: Marks) -> Marks:
        output = self._outputs.get(origin)
        if output is None or not output.is_idle:
            if not marks.has_status():
                return marks
            output = self._outputs.setdefault(origin, Announced())
        passed = [mark for mark in marks.rows if output.passing((mark[1:],))]
        return Marks(passed) if passed else NO_MARKS
