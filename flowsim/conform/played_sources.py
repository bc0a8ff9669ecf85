"""What the readers of simulated sources read: scripts that a source on Flink plays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from flowsim.cluster.components import Components, SubtaskComponents
from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_bounds import RunBounds
from flowsim.conform.unsupported import Unsupported
from flowsim.connectors.script import ScriptedSource
from flowsim.connectors.script_entries import EndEntry, Entry, IdleEntry, RecordEntry, SleepEntry, WatermarkEntry
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import ChainedOperator
from flowsim.graph.stream_graph import StreamGraph
from flowsim.legacy.source_function import LegacySource
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, StreamOperator
from flowsim.units import NS_PER_MS

PlayedEntry = list[object]
"""``[due, kind, ...]``: see ``Script.java``. Values of records are values, not numbers."""
AT_ONCE: Final = -1
_FOREVER_NS: Final = 10**17
_STEPS: Final = 5_000_000
"""The length of a job that reads one source, in steps of its event loop."""


def played_sources(graph: StreamGraph, options: RunOptions, elapsed_ns: int) -> dict[int, list[list[PlayedEntry]]]:
    """Returns the entries of each subtask, by source node.

    Scripts are what they say. Any other source is read once by a job without its other operators, for as long as the
    whole job took, with the phases before (``elapsed_ns``). Raises Unsupported for a source that cannot be read so.
    """
    found: dict[int, list[list[PlayedEntry]]] = {}
    for node in graph.nodes.values():
        if not node.is_source:
            continue
        source = node.source.source if isinstance(node.source, LegacySource) else node.source
        if isinstance(source, ScriptedSource) and source.assignment == "fixed":
            gap_ns = source.gap_ms * NS_PER_MS
            found[node.id] = [[_entry(entry, gap_ns) for entry in script] for script in source.scripts]
        elif node.is_legacy_source:
            raise Unsupported(f"{node.name}: a source function of the user runs only here")
        else:
            found[node.id] = _read(graph, node.id, replace(options, until_ns=elapsed_ns + NS_PER_MS))
    return found


def _entry(entry: Entry, gap_ns: int) -> PlayedEntry:
    due = AT_ONCE if entry.step < 0 else (entry.step + 1) * gap_ns
    match entry:
        case RecordEntry(value, timestamp, split=split):
            return [due, "r", value, timestamp, split]
        case WatermarkEntry(timestamp, split=split):
            return [due, "w", timestamp, split]
        case IdleEntry(split=split):
            return [due, "i", split]
        case SleepEntry(millis):
            return [due, "sleep", millis * NS_PER_MS]
        case EndEntry(split=split):
            return [due, "end", split]


def _read(graph: StreamGraph, node_id: int, options: RunOptions) -> list[list[PlayedEntry]]:
    alone = StreamGraph(graph.name, replace(graph.settings, checkpointing=None, restart_strategy=None))
    # Flink's source pauses by itself; and the next attempt, which begins later, not at all.
    alone.add_node(replace(graph.nodes[node_id], pauses=()))
    reading = _Reading()
    bounded = replace(
        options,
        recorder=None,
        actions=(),
        failures=(),
        savepoint=None,
        components=reading,
        bounds=RunBounds(steps=_STEPS),
    )
    result = MiniCluster(alone, bounded).run()
    if result.error is not None:
        raise Unsupported(f"{graph.nodes[node_id].name}: the source cannot be read alone: {result.error}")
    scripts = [reading.entries.get(index, []) for index in range(graph.nodes[node_id].parallelism)]
    for script in scripts:
        if not script or script[-1][1:] != ["end", None]:
            script.append([_FOREVER_NS, "sleep", 0])  # not played, so that a later phase can go on here
    return scripts


class _Reading(Components):
    """Notes what readers emit."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[int, list[PlayedEntry]] = {}

    def of_subtasks(self, execution: ExecutionGraph) -> list[SubtaskComponents]:
        return [_ReadingSubtask(subtask, self.entries.setdefault(subtask.index, [])) for subtask in execution.subtasks]


class _ReadingSubtask(SubtaskComponents):
    __slots__ = ("_entries",)

    def __init__(self, subtask: Subtask, entries: list[PlayedEntry]) -> None:
        super().__init__(subtask)
        self._entries = entries

    def create_operator(self, chained: ChainedOperator) -> StreamOperator:
        operator = super().create_operator(chained)
        if isinstance(operator, SourceOperator):
            operator._reader = _NotingReader(operator._reader, self._entries)
        return operator


class _NotingReader:
    """A reader that notes what it emits, and when."""

    def __init__(self, reader: Any, entries: list[PlayedEntry]) -> None:
        self._reader = reader
        self._entries = entries
        self._clock: Any = None
        self._opened_ns = 0
        self._last_ns = AT_ONCE

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def open(self, ctx: OperatorContext) -> None:
        self._clock = ctx.clock
        self._opened_ns = ctx.clock.now_ns
        self._reader.open(ctx)

    def poll_next(self, output: Any) -> DataInputStatus:
        status: DataInputStatus = self._reader.poll_next(_NotingOutput(output, self.note, None))
        if status in (DataInputStatus.END_OF_DATA, DataInputStatus.STOPPED):
            self.note("end", None)
        return status

    def note(self, *entry: object) -> None:
        now = self._clock.now_ns - self._opened_ns
        self._entries.append([AT_ONCE if now == self._last_ns else now, *entry])
        self._last_ns = now


class _NotingOutput:
    """An output of a reader: of the subtask, or of a split."""

    def __init__(self, output: Any, note: Callable[..., None], split: str | None) -> None:
        self._output = output
        self._note = note
        self._split = split

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)

    def collect(self, value: object, timestamp: int | None = None) -> None:
        self._note("r", value, timestamp, self._split)
        self._output.collect(value, timestamp)

    def collect_batch(self, values: Iterator[object]) -> bool:
        return bool(self._output.collect_batch(self._noted(values)))

    def _noted(self, values: Iterator[object]) -> Iterator[object]:
        for value in values:
            self._note("r", value, None, self._split)
            yield value

    def emit_watermark(self, timestamp: int) -> None:
        self._note("w", timestamp, self._split)
        self._output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self._note("i", self._split)
        self._output.mark_idle()

    def create_output_for_split(self, split: str) -> _NotingOutput:
        self._note("begin", split)
        return _NotingOutput(self._output.create_output_for_split(split), self._note, split)

    def release_output_for_split(self, split: str) -> None:
        self._note("end", split)
        self._output.release_output_for_split(split)
