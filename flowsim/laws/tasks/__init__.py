"""Laws about the mailbox, the life cycle, the counters and the state of a task."""
