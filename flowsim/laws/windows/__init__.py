"""Laws about windows and late records.

**Judged window operators** are rows of `operators` with kind `window` (including window joins, coGroups and windows
without a key) without `params.batch`. They are the head of their chain, their tasks have one input (`tasks.inputs` = 1),
and their assigner is one of these:
- `tumbling_event_time`, `tumbling_processing_time` (`size_ms`, `offset_ms`; `stagger` absent or `aligned`): one window
  per record (rules 10.1, 10.2);
- `sliding_event_time`, `sliding_processing_time` (`size_ms`, `slide_ms`, `offset_ms`): no window, or one or several
  (at most 100,000), the newest first (rule 10.4);
- `session_event_time`, `session_processing_time` (`gap_ms`): [t, t + gap), merged with all windows of its key that it
  overlaps or touches (rules 10.5, 10.25);
- `dynamic_session_event_time`, `dynamic_session_processing_time`: the same with column `gap` of the intake (rule 10.5);
- `global`: the global window (-2^63, 2^63-1), whose last millisecond is `MAX` (rule 10.6).

In event time, t is the timestamp of the record. In processing time, t is the milliseconds of the `time_ns` of the
intake, but never below that of an earlier intake. Bounds of windows are Java longs. Operators with staggered windows or
user-defined assigners are not judged; the reason of the outcome names them. Each subtask is judged separately.

**Cleanup time.** In event time, the cleanup time of a window is its last millisecond + lateness. In processing time, it
is its last millisecond.

**Intakes and causes.** An *intake* is a row of `window_intake`. The *intakes before* a row are the number of earlier
intakes of the same (task, operator). If an intake causes an expected row, the intakes before this row include the
intake. The *causes* of a window operator are its intakes and the WATERMARK rows of `task_watermark` with its task and
input 0. The **derived watermark** of a row is the timestamp of the last of these WATERMARK rows before it, or `MIN`.
"""
