"""Writes a correct recording of any size, at level full, by arithmetic: without the simulator, without rows in Python.

P sources ==HASH==> P tumbling windows ==FORWARD==> P sinks, everything in rounds. In a round every source sends each window
task ``records`` rows of the current window and one that is late, then the watermark that ends the window; the window tasks
fire all their keys, and the sinks take the results. Each round and channel is one data buffer. All facts of a task and round
have fixed places, so a table of many rounds is a handful of numpy arrays. ``bench_judge.py`` has it judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    FireCause,
    MailAction,
    SegmentAction,
    TimeDomain,
    TimerAction,
    WindowResult,
)  # fmt: skip
from flowsim.laws.java_key import owner_subtask, recorded_key_hash
from flowsim.units import NO_TIMESTAMP
from tests.benchmarks import big_recording_async

Array = npt.NDArray[np.int64]
Columns = dict[str, Array | int]
SIZE_MS = 1000
KEYS = 8
"""Keys of each window task."""


def mixed(number: Array) -> Array:
    """A 63-bit number that looks like chance (splitmix64)."""
    with np.errstate(over="ignore"):
        z = number.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


@dataclass(frozen=True)
class BigJob:
    """The job's shape. Tasks: sources 0.., windows P.., sinks 2P..; channels: s * P + w, then P * P + w."""

    parallelism: int = 8
    records: int = 20
    rounds: int = 4000
    sliding: bool = False
    """Whether the windows are sliding ones whose slide is their size: equal windows, checked by another code path."""

    def __post_init__(self) -> None:
        if self.records < KEYS:
            raise ValueError(f"records: expected at least {KEYS}, so that every window has some, got {self.records}")

    @property
    def source_facts(self) -> int:
        """Facts of a source in a round: an action around rows, watermarks and buffers, then a mail."""
        return 6 + self.parallelism * (self.records + 7)

    @property
    def block_facts(self) -> int:
        """Facts of a window task for one buffer."""
        return 3 * (self.records + 1) + 7

    @property
    def window_facts(self) -> int:
        return self.parallelism * self.block_facts + 3 * KEYS + 7

    @property
    def sink_facts(self) -> int:
        return KEYS + 7 + big_recording_async.facts_a_round(KEYS)

    @classmethod
    def of_facts(cls, facts: int, parallelism: int = 8, records: int = 20, sliding: bool = False) -> BigJob:
        """The job that records at least so many facts."""
        one = cls(parallelism, records, 1)
        # A timer has a place behind every record, but only the first record of each key and window registers one.
        empty = parallelism * (records + 1) - KEYS
        each = parallelism * (one.source_facts + one.window_facts + one.sink_facts - empty)
        return cls(parallelism, records, -(-facts // each), sliding)

    def keys(self) -> list[list[tuple[str, int, int]]]:
        """Per window task the text, hash code and fingerprint of its keys."""
        found: list[list[tuple[str, int, int]]] = [[] for _ in range(self.parallelism)]
        number = 0
        while any(len(keys) < KEYS for keys in found):
            text = f"key {number}"
            number += 1
            code = recorded_key_hash("STRING", json.dumps(text))
            assert code is not None
            owner = owner_subtask(code, self.parallelism, 128)
            if len(found[owner]) < KEYS:
                found[owner].append((text, code, 1_000_000 + number))
        return found


class Rounds:
    """The facts of all tasks in rounds ``first`` to ``last`` - 1."""

    def __init__(self, job: BigJob, first: int, last: int) -> None:
        self.job = job
        self.r = np.arange(first, last, dtype=np.int64)
        self.p, self.k = job.parallelism, job.records
        keys = job.keys()
        self.key_hash = np.array([[code for _, code, _ in of_task] for of_task in keys], dtype=np.int64)
        self.key = np.array([[number for _, _, number in of_task] for of_task in keys], dtype=np.int64)
        self.start = self.r * SIZE_MS
        self.before = np.where(self.r == 0, NO_TIMESTAMP, self.start - 1)
        # Axes: round, source, window task, row; the last row is late from the third round on.
        r, s, w, j = np.ix_(self.r, np.arange(self.p), np.arange(self.p), np.arange(self.k + 1))
        self.fingerprint = mixed(((r * self.p + s) * self.p + w) * (self.k + 1) + j)
        self.timestamp = (r - np.where((j == self.k) & (r >= 2), 2, 0)) * SIZE_MS + j * 7 + 0 * (s + w)

    def tables(self) -> Iterator[tuple[str, Columns]]:
        """Table by table, possibly several times, its columns of any shape; scalars hold for all rows."""
        yield from self._of_sources()
        yield from self._of_windows()
        yield from self._of_sinks()

    def _buffer(
        self, seq: Array, task: Array, channel: Array, pool: Array, r: Array, size: int
    ) -> Iterator[tuple[str, Columns]]:
        """A data buffer's way at its sender: segment, queue, wire, segment, credit. ``seq`` is that of the first."""
        place = {"task": task, "pool": pool, "step": -1, "requested": 2, "size": 2}
        yield "segments", {"seq": seq, **place, "action": SegmentAction.HANDED_OUT, "free": 1}
        sent = {"task": task, "channel": channel, "number": r, "kind": BufferKind.DATA, "whole": 1}
        yield "buffers", {"seq": seq + 1, **sent, "side": BufferSide.QUEUED, "bytes": -1, "backlog": 1, "credits": -1}
        yield "buffers", {"seq": seq + 2, **sent, "side": BufferSide.SENT, "bytes": size, "credits": 1}
        yield "segments", {"seq": seq + 3, **place, "action": SegmentAction.RECYCLED, "free": 2}
        yield (
            "credits",
            {"seq": seq + 4, "task": task, "channel": channel, "kind": CreditKind.GOT, "credits": 1, "balance": 2},
        )

    def _arrival(
        self, seq: Array, recycled: Array, task: Array, channel: Array, r: Array, size: int
    ) -> Iterator[tuple[str, Columns]]:
        """A data buffer at its receiver, and when its memory is free again."""
        place = {"task": task, "channel": channel, "number": r, "kind": BufferKind.DATA, "bytes": size, "whole": 1}
        yield "buffers", {"seq": seq, **place, "side": BufferSide.RECEIVED, "credits": 1}
        yield "buffers", {"seq": recycled, **place, "side": BufferSide.RECYCLED, "credits": -1, "backlog": -1}

    def _of_sources(self) -> Iterator[tuple[str, Columns]]:
        p, k = self.p, self.k
        r, s, w, j = np.ix_(self.r, np.arange(p), np.arange(p), np.arange(k + 1))
        base = 5 + p + r * self.job.source_facts
        per_round = r * (k + 2)
        key = {"key_hash": self.key_hash[w, j % KEYS], "key": self.key[w, j % KEYS]}
        yield "sent", {"seq": base + 1 + w * (k + 1) + j, "task": s, "channel": s * p + w, "position": per_round + j,
                       "timestamp": self.timestamp, "fingerprint": self.fingerprint, **key}  # fmt: skip
        r, s, w = np.ix_(self.r, np.arange(p), np.arange(p))
        base = 5 + p + r * self.job.source_facts
        after = base + 1 + p * (k + 1)
        yield "sent", {"seq": after + w, "task": s, "channel": s * p + w, "position": r * (k + 2) + k + 1,
                       "kind": ElementKind.WATERMARK, "timestamp": (r + 1) * SIZE_MS - 1}  # fmt: skip
        yield from self._buffer(after + p + 5 * w, s, s * p + w, s, r, 40 * (k + 2))
        r, s = np.ix_(self.r, np.arange(p))
        base = 5 + p + r * self.job.source_facts
        end = base + 1 + p * (k + 1) + 6 * p
        default, mail = {"task": s, "action": 2 * r}, {"task": s, "action": 2 * r + 1}
        yield "actions", {"seq": base, **default, "kind": ActionKind.DEFAULT_ACTION, "priority": -1}
        yield (
            "actions",
            {"seq": end, **default, "phase": ActionPhase.END, "kind": ActionKind.DEFAULT_ACTION, "priority": -1},
        )
        yield "mails", {"seq": end + 1, "task": s, "action": MailAction.PUT, "mail": r, "priority": 1}
        yield "mails", {"seq": end + 2, "task": s, "action": MailAction.RUN, "mail": r, "priority": 1}
        yield "actions", {"seq": end + 3, **mail, "kind": ActionKind.MAIL, "priority": -1}
        yield "actions", {"seq": end + 4, **mail, "phase": ActionPhase.END, "kind": ActionKind.MAIL, "priority": -1}

    def _of_windows(self) -> Iterator[tuple[str, Columns]]:
        p, k, block = self.p, self.k, self.job.block_facts
        r, s, w, j = np.ix_(self.r, np.arange(p), np.arange(p), np.arange(k + 1))
        base = 5 + p + r * self.job.window_facts + s * block
        row = {"task": p + w, "timestamp": self.timestamp, "fingerprint": self.fingerprint}
        yield (
            "received",
            {"seq": base + 2 + 3 * j, "channel": s * p + w, "position": r * (k + 2) + j, "epoch": r, **row},
        )
        taken = {**row, "key_hash": self.key_hash[w, j % KEYS], "key": self.key[w, j % KEYS],
                 "watermark": self.before.reshape(-1, 1, 1, 1)}  # fmt: skip
        yield "window_intake", {"seq": base + 3 + 3 * j, **taken}
        yield "timers", {"seq": (base + 4 + 3 * j)[:, :1, :, :KEYS], **self._timers(), "action": TimerAction.REGISTER,
                         "watermark": self.before.reshape(-1, 1, 1, 1)}  # fmt: skip
        late = self.r >= 2
        dropped = {name: np.broadcast_to(column, self.timestamp.shape)[late, :, :, k] for name, column in taken.items()}
        place = np.broadcast_to(base + 2 + 3 * (k + 1), (*self.timestamp.shape[:3], 1))[late, :, :, 0]
        yield "late_drop", {"seq": place, **dropped}
        r, s, w = np.ix_(self.r, np.arange(p), np.arange(p))
        base = 5 + p + r * self.job.window_facts + s * block
        action = {"task": p + w, "action": r * p + s, "kind": ActionKind.DEFAULT_ACTION, "priority": -1}
        yield "actions", {"seq": base, **action}
        yield from self._arrival(base + 1, base + block - 1, p + w, s * p + w, r, 40 * (k + 2))
        after = base + 3 + 3 * (k + 1)
        yield "received", {"seq": after, "task": p + w, "channel": s * p + w, "position": r * (k + 2) + k + 1, "epoch": r,
                           "kind": ElementKind.WATERMARK, "timestamp": (r + 1) * SIZE_MS - 1}  # fmt: skip
        yield "credits", {"seq": after + 1, "task": p + w, "channel": s * p + w, "kind": CreditKind.ANNOUNCED, "credits": 1,
                          "balance": -1}  # fmt: skip
        yield "actions", {"seq": after + 2, **action, "phase": ActionPhase.END}
        yield from self._fires()

    def _timers(self) -> Columns:
        """One per round, window task and key, for the end of the window."""
        r, _, w, key = np.ix_(self.r, np.arange(1), np.arange(self.p), np.arange(KEYS))
        end = (r + 1) * SIZE_MS
        return {
            "task": self.p + w, "domain": TimeDomain.EVENT_TIME, "timestamp": end - 1, "key_hash": self.key_hash[w, key],
            "key": self.key[w, key], "window_start": end - SIZE_MS, "window_end": end,
        }  # fmt: skip

    def _fires(self) -> Iterator[tuple[str, Columns]]:
        p, k = self.p, self.k
        r, w, key = np.ix_(self.r, np.arange(p), np.arange(KEYS))
        end = (r + 1) * SIZE_MS
        base = 5 + p + r * self.job.window_facts + p * self.job.block_facts
        in_pane = np.ones((len(self.r), k + 1), dtype=bool)
        in_pane[self.r >= 2, k] = False
        of_key = np.stack([in_pane & (np.arange(k + 1) % KEYS == each) for each in range(KEYS)])
        numbers = np.moveaxis(self.fingerprint, 2, 1)
        total, xor = (np.empty((len(self.r), p, KEYS), dtype=np.int64) for _ in range(2))
        for each in range(KEYS):
            chosen = np.where(of_key[each][:, None, None, :], numbers, 0)
            total[:, :, each] = (chosen >> 31).sum(axis=(2, 3))
            xor[:, :, each] = np.bitwise_xor.reduce(np.bitwise_xor.reduce(chosen, axis=3), axis=2)
        fires = (base + 1 + 2 * key)[:, None]
        yield "timers", {"seq": fires, **self._timers(), "action": TimerAction.FIRE, "watermark": end[:, None] - 1}
        yield "window_fire", {
            "seq": base + 2 + 2 * key, "task": p + w, "key_hash": self.key_hash[w, key], "key": self.key[w, key],
            "window_start": end - SIZE_MS, "window_end": end, "watermark": end - 1,
            "rows": p * of_key.sum(axis=2).T[:, None, :], "fingerprint_sum": total, "fingerprint_xor": xor,
            "result": WindowResult.FIRE, "cause": FireCause.EVENT_TIME_TIMER, "at": end - 1,
        }  # fmt: skip
        result = {
            "channel": p * p + w,
            "position": r * (KEYS + 1) + key,
            "timestamp": end - 1,
            "fingerprint": mixed(xor),
        }
        yield "sent", {"seq": base + 1 + 2 * KEYS + key, "task": p + w, **result}
        sink = 5 + 1 + r * self.job.sink_facts
        yield "received", {"seq": sink + 2 + 3 * key, "task": 2 * p + w, "epoch": r, **result}
        yield from big_recording_async.rounds(
            sink + 3 + 3 * key + 0 * w, sink + 4 + 3 * KEYS, r, 2 * p + w, key, KEYS, end, mixed(xor)
        )
        r, w = np.ix_(self.r, np.arange(p))
        base = 5 + p + r * self.job.window_facts + p * self.job.block_facts
        mark = {"kind": ElementKind.WATERMARK, "timestamp": (r + 1) * SIZE_MS - 1}
        yield "task_watermark", {"seq": base, "task": p + w, **mark}
        last = base + 1 + 3 * KEYS
        yield "sent", {"seq": last, "task": p + w, "channel": p * p + w, "position": r * (KEYS + 1) + KEYS, **mark}
        yield from self._buffer(last + 1, p + w, p * p + w, p + w, r, 40 * (KEYS + 1))

    def _of_sinks(self) -> Iterator[tuple[str, Columns]]:
        p = self.p
        r, w = np.ix_(self.r, np.arange(p))
        base, task, channel = 5 + 1 + r * self.job.sink_facts, 2 * p + w, p * p + w
        action = {"task": task, "action": r, "kind": ActionKind.DEFAULT_ACTION, "priority": -1}
        mark = {"kind": ElementKind.WATERMARK, "timestamp": (r + 1) * SIZE_MS - 1}
        yield "actions", {"seq": base, **action}
        yield from self._arrival(base + 1, base + self.job.sink_facts - 1, task, channel, r, 40 * (KEYS + 1))
        marked = base + 2 + 3 * KEYS
        yield "received", {"seq": marked, "task": task, "channel": channel, "position": r * (KEYS + 1) + KEYS,
                           "epoch": r, **mark}  # fmt: skip
        yield "task_watermark", {"seq": marked + 1, "task": task, **mark}
        after = base + self.job.sink_facts - 3
        yield "credits", {"seq": after, "task": task, "channel": channel, "kind": CreditKind.ANNOUNCED, "credits": 1,
                          "balance": -1}  # fmt: skip
        yield "actions", {"seq": after + 1, **action, "phase": ActionPhase.END}
