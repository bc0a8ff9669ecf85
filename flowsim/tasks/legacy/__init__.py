"""The task of a source function: its loop runs beside the mailbox, and a lock keeps the two apart."""
