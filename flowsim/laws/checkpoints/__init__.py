"""Laws about checkpoints and recovery.

- A *snapshot* of a task is its SYNC_START row in `checkpoint_steps`; its *cut* are the rows of the same attempt with a
  lower `seq`.
- The events of the job's side are the rows of `checkpoints` and `restarts`, in the order of `step`. A checkpoint is
  *completed* from its COMPLETED row on. Its *alignment* is that of its TRIGGERED row.
- An attempt is *restored* from the checkpoint of its RESTART row in `restarts`. Attempt 0 is restored if a RESTORED row
  is in `checkpoints` before the first row of `restarts`.
"""
