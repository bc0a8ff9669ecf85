"""Laws about the mailbox, the life cycle and the counters of a task."""
