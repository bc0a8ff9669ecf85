"""Law key-routing: a keyed record goes to the subtask that owns the key group of its key."""

from __future__ import annotations

from array import array
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.facts.kinds import Level
from flowsim.laws.channels.expansion import check_channels, output_edges
from flowsim.laws.elements import sent_records
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.java_key import owner_subtask, recorded_key_hash
from flowsim.laws.job_graph import Edge, JobGraph, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Ints, Slice

ID: Final = "key-routing"
_TRIPLE: Final = ("channel", "key", "key_hash")
_DESCRIPTION: Final = ("key", "key_hash", "key_type", "key_json")
_HASH: Final = "HASH"
_TEXTS_KEPT: Final = 10_000
"""Maximum number of keys of a task that evidence shows as text; others are shown as fingerprints."""
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)

Codes = npt.NDArray[np.uint64]
_Triple = tuple[int, int, int]
"""Channel, key and hash code."""
"""The target tasks of channels."""


def _keyed_edges(graph: JobGraph, task: Task) -> list[Edge]:
    return [edge for edge in output_edges(graph, task) if edge.partitioner == _HASH]


class SentKeys(Machine):
    """The distinct (channel, key, hash code) of one task's records on keyed channels.

    A described key makes one triple per keyed edge correct; only triples that are not correct, or not yet, are stored.
    """

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._graph = graph
        self._described = task
        self._edges = _keyed_edges(graph, task)
        """The keyed edges that leave the chain of the task."""
        keyed = {edge.edge for edge in self._edges}
        self._task = task.task
        self._targets = {
            channel.channel: graph.tasks[channel.target_task]
            for channel in graph.sent_by(task.task)
            if channel.edge in keyed and channel.target_task in graph.tasks
        }
        self._by_owner: dict[tuple[int, int], dict[int, list[int]]] = {}
        """By parallelism and maximum parallelism of the receivers, and by subtask, the channels."""
        for channel, target in self._targets.items():
            by_subtask = self._by_owner.setdefault((target.parallelism, target.max_parallelism), {})
            by_subtask.setdefault(target.subtask, []).append(channel)
        self._channels = np.array(sorted(self._targets))
        self._found = found[ID]
        self._right: Codes = np.empty(0, dtype=np.uint64)
        self._keys, self._hashes = array("q"), array("q")
        """In order of description."""
        self._not_java: set[int] = set()
        self._texts: dict[int, str] = {}
        self._doubtful: dict[_Triple, list[int]] = {}
        """Number of rows, and sequence number and position of the first."""

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> SentKeys | None:
        return cls(graph, task, found) if _keyed_edges(graph, task) else None

    @reads(keys=_DESCRIPTION)
    def _describe(self, facts: Slice) -> None:
        right = []
        for key, key_hash, key_type, text in facts.of("keys").tuples(_DESCRIPTION):
            self._keys.append(key)
            self._hashes.append(key_hash)
            if len(self._texts) < _TEXTS_KEPT:
                self._texts[key] = text
            if recorded_key_hash(key_type, text) != key_hash:
                self._not_java.add(key)
                continue
            for parallelism, by_subtask in self._by_owner.items():
                owner = owner_subtask(key_hash, *parallelism)
                right += [(channel, key, key_hash) for channel in by_subtask.get(owner, ())]
        if right:
            codes = _codes(*(np.array(column, dtype=np.int64) for column in zip(*right, strict=True)))
            self._right = np.sort(np.concatenate((self._right, codes)))

    @reads(sent_records, sent=(*_TRIPLE, "position"))
    def _sent(self, facts: Slice) -> None:
        rows = facts.of("sent")
        if not len(rows):
            return
        mask = facts.once(sent_records) & np.isin(rows.column("channel"), self._channels)
        examined = int(np.count_nonzero(mask))
        if not examined:
            return
        self._found.examined += examined
        codes = _codes(*(rows.column(name)[mask] for name in _TRIPLE))
        distinct = np.sort(codes)
        distinct = distinct[np.concatenate(([True], distinct[1:] != distinct[:-1]))]
        doubtful = distinct[~self._are_right(distinct)]
        if len(doubtful):
            mask = mask.copy()
            mask[mask] = np.isin(codes, doubtful)
            for channel, key, key_hash, seq, position in rows.tuples((*_TRIPLE, "seq", "position"), mask):
                self._doubtful.setdefault((channel, key, key_hash), [0, seq, position])[0] += 1

    def _are_right(self, codes: Codes) -> npt.NDArray[np.bool_]:
        if not len(self._right):
            return np.zeros(len(codes), dtype=bool)
        places = np.minimum(np.searchsorted(self._right, codes), len(self._right) - 1)
        are_right: npt.NDArray[np.bool_] = self._right[places] == codes
        return are_right

    def end(self, whole: bool) -> None:
        for edge in self._edges:
            check_channels(self._graph, self._described, edge, self._found)
        if not self._doubtful:
            return
        keys = {key for _, key, _ in self._doubtful}
        hashes = {key: code for key, code in zip(self._keys, self._hashes, strict=True) if key in keys}
        for (channel, key, key_hash), (rows, seq, position) in self._doubtful.items():
            target = self._targets[channel]
            owner = owner_subtask(key_hash, target.parallelism, target.max_parallelism)
            expected, found = hashes.get(key), key_hash
            if key not in hashes:
                what = "the sender never described this key"
            elif expected != key_hash:
                what = "the row's hash code is not its key's"
            elif key in self._not_java:
                what = "the recorded hash code is not Java's"
                expected = None
            elif owner != target.subtask:
                what = "sent to a subtask that does not own the key group"
                expected, found = owner, target.subtask
            else:
                continue
            self._found.broken(what, (self._task, seq), task=self._task, seq=seq, channel=channel, position=position,
                               key=self._texts.get(key, key), key_hash=key_hash, expected=expected, found=found,
                               rows=rows)  # fmt: skip
            self._found.violations += rows - 1


def _codes(channel: Ints, key: Ints, key_hash: Ints) -> Codes:
    """64 bits per triple; they differ for triples with the same key, or with the same rest."""
    rest = (channel.astype(np.uint64) << np.uint64(32)) | key_hash.astype(np.uint32)
    rest *= _ODD
    rest ^= key.astype(np.uint64)
    return rest


def _needs_keyed_edges(graph: JobGraph) -> str:
    keyed = any(edge.partitioner == _HASH for edge in graph.edges.values())
    return "" if keyed else "the job has no keyed edge"


_COUNTS: Final = """\
- Not applicable: no edge with partitioner HASH.
- Rows examined: RECORD rows of `sent` on channels of HASH edges, if the task of the row is the sender of the channel.
- For each task and HASH edge that leaves its chain, a row of `channels` is a violation when its `subpartition` is not the
  index of its target subtask, or another row before it has the same one. Also 1 for each target subtask without a row.
- A row of `sent` is a violation when
  - `keys` has no row for its (task, key);
  - its `key_hash` differs from that of the `keys` row;
  - the Java hash of the key (`key_json` read as `key_type`, rule 1.23) differs from the `key_hash` of the `keys` row;
  - the target task of the channel is not subtask floor((murmur(h) mod m) * p / m). Here h is the `key_hash` of the row,
    and p and m are the parallelism and max_parallelism of the target task (rules 1.18, 1.19).
"""

LAWS: Final = (
    Law(
        ID,
        "Every record of a keyed edge is sent to the subtask that owns the key group of its key.",
        ("1.18", "1.19", "1.20", "1.23"),
        Level.ELEMENTS,
        SentKeys,
        _needs_keyed_edges,
        counts=_COUNTS,
    ),
)  # fmt: skip
