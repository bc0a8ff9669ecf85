"""Laws about watermarks and idleness.

**Splits.** A row of `generated_watermark` with split -1 is about the output of the operator. A row with split 0 or
above is about a single split of a source.

**Origins** say where watermarks come from. An operator *generates* watermarks when `params.watermarks` is an object. It
*queues* watermarks when it does not generate them and is of kind `async_wait`. To find the *origin* of an operator's
output, go upstream from this operator through its chain (`input_operator`), to the first of these:
- an operator that generates or queues: it is the origin;
- a `source` or `watermarks` operator that does not generate: the origin is *free*, which means that no facts determine
  the watermarks;
- the end of the chain: the origin is the *inputs* of the task, or free if the task has no inputs.

The origin of an operator's input is that of its upstream operator's output. For the head, it is the inputs, or free if
the task has no inputs. The *origin of statuses* is found like the origin, but operators that queue are skipped:
statuses are not queued (rule 11.3). The origins of a channel are those of the output of its edge's source operator.

**Causes.** A *mark* is a WATERMARK or a STATUS. An origin emits its marks by *causes*, a list ordered by seq:
- An operator that generates: each of its rows of `generated_watermark` with split -1 is a cause, and the row is its
  mark.
- The inputs: each row of `task_watermark` is a cause. If the task has one input, the row is its mark. Otherwise, its
  marks follow from the combined watermark.
- An operator that queues has two kinds of cause: its EMIT rows in `async_elements`, and those causes of its origin of
  statuses that make a STATUS. The mark of a cause of the second kind is this STATUS.

**Combined watermark** (several inputs, rule 8.16). The watermark of an input is its highest so far, initially `MIN`. An
input is idle from an IDLE row to its next row. The combined watermark is the lowest watermark of the inputs that are
not idle. If all inputs are idle, it is the highest watermark of all inputs. A row makes a WATERMARK if the combined
watermark exceeds all earlier ones. If a STATUS row changes whether all inputs are idle, it also makes a STATUS with the
new value (IDLE or ACTIVE), after the WATERMARK. A row of an input that the task does not have makes no mark.

**Queued watermarks.** An EMIT row is recorded after its element was sent. So its WATERMARK is a mark of the cause
before the EMIT row. If there is none, it is a mark of the *beginning*, an extra cause before all others. In a prefix,
the last cause also makes the WATERMARK that leaves the queue next, because it may be in progress. It is the WATERMARK
with the lowest entry number above the numbers of all emitted entries. If the origin of statuses is free, the STATUS
rows of the judged channel are causes, too. They make no marks and are not judged.

**Passing** (rule 5.8). Only some marks *pass* the output of the origin: a STATUS that differs from the last one
(initially ACTIVE), and a WATERMARK while the last STATUS is not IDLE. The other marks are ignored. A cause without a
passing mark is ignored, too, except a cause of an operator that queues.
"""
