"""Kafka with a simulated broker, under the name of PyFlink's module. ``simulated_topics`` is flowsim's own."""

from __future__ import annotations

from flowsim.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, KafkaTopicPartition
from flowsim.connectors.kafka.sink import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
)
from flowsim.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from flowsim.connectors.kafka.topics import Topics, simulated_topics

__all__ = [
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Topics",
    "simulated_topics",
]
