"""flowsim: an asyncio actor simulator of Apache Flink 2.3.0 task graphs."""

__version__ = "0.1.0"
