"""The operator that calls an asynchronous function for every record, and the queues that keep order for it (section 11)."""
