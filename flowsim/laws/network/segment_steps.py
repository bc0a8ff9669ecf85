"""The steps of a task manager: every movement of a segment between it and a pool, numbered without gaps.

Tasks share the counter of their task manager, so no task has all steps. Each task summarizes blocks of steps. A block
is compared step by step only if the sums do not show that it is complete and that the task manager always had enough
segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from flowsim.facts.kinds import SegmentAction
from flowsim.laws.findings import Findings
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Slice

BLOCKS_A_WALK: Final = 1024
_BLOCK_BITS: Final = 10
_BLOCK: Final = 1 << _BLOCK_BITS
_TAKEN: Final = int(SegmentAction.TAKEN)
_MOVES: Final = (_TAKEN, int(SegmentAction.RETURNED))


class Block:
    """Some steps of one block, and their effect on the number of taken segments."""

    __slots__ = ("count", "highest", "in_order", "lowest", "steps", "taken")

    def __init__(self) -> None:
        self.steps = 0
        """One bit per step."""
        self.count = 0
        self.in_order = True
        self.taken = self.lowest = self.highest = 0
        """Segments taken minus those returned: after all steps, and the minimum and maximum after any of them."""

    def move(self, step: int, change: int) -> None:
        """Adds one step."""
        bit = 1 << (step & (_BLOCK - 1))
        self.in_order = self.in_order and bit > self.steps
        self.steps |= bit
        self.count += 1
        self.taken += change
        self.lowest = min(self.lowest, self.taken)
        self.highest = max(self.highest, self.taken)

    def add(self, other: Block) -> None:
        """Adds the steps of another task; the order between the tasks' steps is not known."""
        self.steps |= other.steps
        self.count += other.count
        self.in_order = self.in_order and other.in_order
        self.taken += other.taken
        self.lowest += other.lowest
        self.highest += other.highest

    @property
    def is_gapless(self) -> bool:
        """Whether each step from the first of the block on exists once."""
        return self.steps == (1 << self.count) - 1


Blocks = dict[tuple[int, int], Block]
"""By task manager and number of the block."""


def add_step(blocks: Blocks, task_manager: int, step: int, change: int) -> None:
    """Adds one step."""
    place = task_manager, step >> _BLOCK_BITS
    block = blocks.get(place)
    if block is None:
        block = blocks[place] = Block()
    block.move(step, change)


class Suspect(NamedTuple):
    """A block to compare step by step."""

    task_manager: int
    block: int
    taken: int
    """Segments taken before the block."""
    before: int
    """The last step before the block, -1 for none."""
    limit: int
    """The segments of the task manager."""
    pools: tuple[tuple[int, int], ...]
    """The pools of the task manager, with their tasks."""


def suspects(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> Sequence[Suspect]:
    """The blocks that are incomplete, or in which more segments may have been taken than there are."""
    managers: dict[int, dict[int, Block]] = {}
    for answer in answers.values():
        assert isinstance(answer, dict)
        for (manager, number), block in answer.items():
            managers.setdefault(manager, {}).setdefault(number, Block()).add(block)
    return [
        suspect
        for manager, blocks in sorted(managers.items())
        if manager in graph.task_managers
        for suspect in _suspects_of(graph, manager, blocks)
    ]


def _suspects_of(graph: JobGraph, manager: int, blocks: dict[int, Block]) -> Iterator[Suspect]:
    limit = graph.task_managers[manager].segments
    taken, before = 0, -1
    for number, block in sorted(blocks.items()):
        follows = before == number * _BLOCK - 1
        enough = taken + block.lowest >= 0 and taken + block.highest <= limit
        if not (follows and enough and block.in_order and block.is_gapless):
            yield Suspect(manager, number, taken, before, limit, graph.once(_pools_by_manager)[manager])
        taken += block.taken
        before = number * _BLOCK + block.steps.bit_length() - 1


def _pools_by_manager(graph: JobGraph) -> dict[int, tuple[tuple[int, int], ...]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for pool in graph.pools.values():
        found.setdefault(pool.task_manager, []).append((pool.task, pool.pool))
    return {manager: tuple(pools) for manager, pools in found.items()}


_Move = tuple[int, int, int, int, int]
"""Step, pool, sequence number, action and task."""


class SuspectSteps(Machine):
    """Collects the steps of suspicious blocks."""

    def __init__(self, suspects: Sequence[Suspect]) -> None:
        self._suspects = {(suspect.task_manager, suspect.block): suspect for suspect in suspects}
        self._managers = {pool: suspect.task_manager for suspect in suspects for pool in suspect.pools}
        self._moves: dict[Suspect, list[_Move]] = {}

    @reads(segments=("pool", "action", "step"))
    def _select(self, facts: Slice) -> None:
        for step, pool, seq, action in facts.of("segments").tuples(("step", "pool", "seq", "action")):
            if action not in _MOVES:
                continue
            suspect = self._suspects.get((self._managers.get((facts.task, pool), -1), step >> _BLOCK_BITS))
            if suspect is not None:
                self._moves.setdefault(suspect, []).append((step, pool, seq, action, facts.task))

    def end(self, whole: bool) -> dict[Suspect, list[_Move]] | None:
        return self._moves or None


def compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    """Every step is the previous one plus 1, and the number of taken segments is between 0 and the limit."""
    moves: dict[Suspect, list[_Move]] = {}
    for answer in answers.values():
        assert isinstance(answer, dict)
        for suspect, of_task in answer.items():
            moves.setdefault(suspect, []).extend(of_task)
    for suspect, of_block in moves.items():
        taken, before = suspect.taken, suspect.before
        for step, pool, seq, action, task in sorted(of_block):
            taken += 1 if action == _TAKEN else -1
            where = {"task_manager": suspect.task_manager, "task": task, "seq": seq, "pool": pool}
            if step != before + 1:
                what = "a step is missing or duplicated"
                found.broken(what, (task, seq), **where, expected=before + 1, found=step)
            elif not 0 <= taken <= suspect.limit:
                what = "more segments than there are" if taken > 0 else "a segment that was not taken is returned"
                found.broken(what, (task, seq), **where, step=step, taken=taken, limit=suspect.limit)
            before = step
