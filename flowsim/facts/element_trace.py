"""The facts of every record, which a task writes as packed rows itself."""

from __future__ import annotations

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64, u8

from flowsim.facts import schema
from flowsim.facts.fingerprint_set import FingerprintSet
from flowsim.facts.recorder import Recorder, SeenValues
from flowsim.facts.row_buffer import RowBuffer
from flowsim.task_clock import TaskClock
from flowsim.values.encoding import encode_record, fingerprint_frame


class ElementTrace:
    """Stamps facts with a task's id, its next sequence number and its clock, and writes their columns in order.

    The columns of the other facts are checked and packed by ``struct``, which takes five times as long.
    """

    __slots__ = (
        "task", "seq", "clock", "values", "seen_value", "seen_fingerprint",
        "_known", "_sent", "_received", "_intake", "_pairs", "_task_watermark", "_fire",
    )  # fmt: skip

    task: i32
    seq: i64
    seen_fingerprint: i64
    """Fingerprint of ``seen_value``, the last decoded record, for use by the head operator."""

    def __init__(self, task: int, clock: TaskClock, recorder: Recorder) -> None:
        self.task = task
        self.seq = 0
        self.clock: TaskClock = clock
        self.values: SeenValues = recorder.values
        self._known: FingerprintSet = recorder.values.known
        self._sent: RowBuffer = recorder.row_buffer(schema.SENT)
        self._received: RowBuffer = recorder.row_buffer(schema.RECEIVED)
        self._intake: RowBuffer = recorder.row_buffer(schema.WINDOW_INTAKE)
        self._pairs: RowBuffer = recorder.row_buffer(schema.JOIN_PAIRS)
        self._task_watermark: RowBuffer = recorder.row_buffer(schema.TASK_WATERMARK)
        self._fire: RowBuffer = recorder.row_buffer(schema.WINDOW_FIRE)
        self.seen_value: object = None
        self.seen_fingerprint = 0

    def _next(self) -> i64:
        seq = self.seq
        self.seq = seq + 1
        return seq

    def _begin(self, rows: RowBuffer) -> BytesWriter:
        """Writes the first two columns of a row: ``seq`` and ``task``."""
        out = rows.out
        write_i64_le(out, self._next())
        write_i32_le(out, self.task)
        return out

    def sent(
        self, channel: i32, position: i64, kind: u8, timestamp: i64, fingerprint: i64, key_hash: i32, key: i64
    ) -> None:
        """Records that an element was put on a channel."""
        rows = self._sent
        out = self._begin(rows)
        write_i64_le(out, self.clock.now_ns)
        write_i32_le(out, channel)
        write_i64_le(out, position)
        out.append(kind)
        write_i64_le(out, timestamp)
        write_i64_le(out, fingerprint)
        write_i32_le(out, key_hash)
        write_i64_le(out, key)
        rows.end_row()

    def received(self, channel: i32, position: i64, kind: u8, timestamp: i64, fingerprint: i64, epoch: i64) -> None:
        """Records that an element was decoded from a channel."""
        rows = self._received
        out = self._begin(rows)
        write_i64_le(out, self.clock.now_ns)
        write_i32_le(out, channel)
        write_i64_le(out, position)
        out.append(kind)
        write_i64_le(out, timestamp)
        write_i64_le(out, fingerprint)
        write_i64_le(out, epoch)
        rows.end_row()

    def window_intake(
        self,
        operator: i32,
        key_hash: i32,
        key: i64,
        timestamp: i64,
        fingerprint: i64,
        watermark: i64,
        gap: i64,
        side: u8,
    ) -> None:
        """Records that a record entered a window operator."""
        rows = self._intake
        out = self._begin(rows)
        write_i32_le(out, operator)
        write_i64_le(out, self.clock.now_ns)
        write_i32_le(out, key_hash)
        write_i64_le(out, key)
        write_i64_le(out, timestamp)
        write_i64_le(out, fingerprint)
        write_i64_le(out, watermark)
        write_i64_le(out, gap)
        out.append(side)
        rows.end_row()

    def join_pair(
        self, operator: i32, key_hash: i32, key: i64, left_fingerprint: i64, right_fingerprint: i64, timestamp: i64
    ) -> None:
        """Records that an interval join called its function for two records."""
        rows = self._pairs
        out = self._begin(rows)
        write_i32_le(out, operator)
        write_i64_le(out, self.clock.now_ns)
        write_i32_le(out, key_hash)
        write_i64_le(out, key)
        write_i64_le(out, left_fingerprint)
        write_i64_le(out, right_fingerprint)
        write_i64_le(out, timestamp)
        rows.end_row()

    def task_watermark(self, input_index: i32, kind: u8, timestamp: i64) -> None:
        """Records that the valve of a task input emitted a watermark or status."""
        rows = self._task_watermark
        out = self._begin(rows)
        write_i64_le(out, self.clock.now_ns)
        write_i32_le(out, input_index)
        out.append(kind)
        write_i64_le(out, timestamp)
        rows.end_row()

    def window_fire(
        self, operator: i32, key_hash: i32, key: i64, window_start: i64, window_end: i64, watermark: i64, rows_fired: i64,
        fingerprint_sum: i64, fingerprint_xor: i64, result: u8, cause: u8, at: i64,
    ) -> None:  # fmt: skip
        """Records that a trigger fired or purged a window."""
        rows = self._fire
        out = self._begin(rows)
        write_i32_le(out, operator)
        write_i64_le(out, self.clock.now_ns)
        write_i32_le(out, key_hash)
        write_i64_le(out, key)
        write_i64_le(out, window_start)
        write_i64_le(out, window_end)
        write_i64_le(out, watermark)
        write_i64_le(out, rows_fired)
        write_i64_le(out, fingerprint_sum)
        write_i64_le(out, fingerprint_xor)
        out.append(result)
        out.append(cause)
        write_i64_le(out, at)
        rows.end_row()

    def fingerprint(self, timestamp: int | None, value: object) -> i64:
        """Returns the fingerprint of a record, and stores a new value; raises ValueNotAllowed."""
        return self.fingerprint_encoded(encode_record(timestamp, value))

    def fingerprint_encoded(self, encoded: bytes) -> i64:
        """Returns the fingerprint of an encoded record, and stores a new value."""
        number = fingerprint_frame(encoded)
        if self._known.add(number):
            self.values.add(number, encoded)
        return number
