"""Laws about the mailbox, the life and the counters of a task."""
