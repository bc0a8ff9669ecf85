"""The asynchronous operator before there was a mailbox: Flink 1.2 to 1.9 (rules 11.30 to 11.39)."""
