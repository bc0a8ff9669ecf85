"""The operator that calls an asynchronous function for every record, and its element queues (section 11)."""
