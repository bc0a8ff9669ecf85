"""A sink that writes the topics of a simulated broker. Flink: KafkaSink, KafkaRecordSerializationSchema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from flowsim.connectors.kafka.topic_files import TopicRecord
from flowsim.connectors.kafka.topics import Topics, checked_topic, topics_of_context
from flowsim.connectors.schemas import SerializationSchema
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.errors import BadInput
from flowsim.operators.sink import InitContext


class KafkaTopicSelector(ABC):
    """Chooses the topic of a record. Flink: TopicSelector."""

    @abstractmethod
    def apply(self, data: object) -> str:
        """Returns the name of the topic."""


class _Function(KafkaTopicSelector):
    def __init__(self, function: Callable[[object], str]) -> None:
        self._function = function

    def apply(self, data: object) -> str:
        return self._function(data)


class KafkaRecordSerializationSchema:
    """Turns a record into one of a topic. Flink: KafkaRecordSerializationSchema."""

    def __init__(
        self,
        topic: str | KafkaTopicSelector,
        value_schema: SerializationSchema,
        key_schema: SerializationSchema | None = None,
    ) -> None:
        self.topic: str | KafkaTopicSelector = topic
        self._value_schema = value_schema
        self._key_schema = key_schema

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Creates a builder."""
        return KafkaRecordSerializationSchemaBuilder()

    def serialize(self, value: object, timestamp: int | None) -> tuple[str, TopicRecord]:
        """Returns the topic and its record. Raises BadInput."""
        topic = self.topic if isinstance(self.topic, str) else self.topic.apply(value)
        key = None if self._key_schema is None else self._key_schema.serialize(value)
        at_ms = timestamp if timestamp is not None and timestamp >= 0 else None
        return topic, TopicRecord(self._value_schema.serialize(value), key, timestamp_ms=at_ms)


class KafkaRecordSerializationSchemaBuilder:
    """Builds a KafkaRecordSerializationSchema. Flink: KafkaRecordSerializationSchemaBuilder."""

    def __init__(self) -> None:
        self._topic: str | KafkaTopicSelector | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Writes all records to one topic."""
        self._topic = checked_topic(topic, "KafkaRecordSerializationSchema.set_topic")
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[object], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Chooses the topic of each record."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic = topic_selector
        elif callable(topic_selector):
            self._topic = _Function(topic_selector)
        else:
            raise TypeError("topic_selector must be KafkaTopicSelector or a callable")
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Gives records a key; without it they have none."""
        self._key = _checked_schema(key_serialization_schema, "set_key_serialization_schema")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        self._value = _checked_schema(value_serialization_schema, "set_value_serialization_schema")
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Raises BadInput without a topic or a schema of the value."""
        if self._topic is None:
            raise BadInput("KafkaRecordSerializationSchema: no topic is set: call set_topic(...)")
        if self._value is None:
            raise BadInput("KafkaRecordSerializationSchema: call set_value_serialization_schema(...)")
        return KafkaRecordSerializationSchema(self._topic, self._value, self._key)


def _checked_schema(schema: SerializationSchema, method: str) -> SerializationSchema:
    if not isinstance(schema, SerializationSchema):
        raise BadInput(f"KafkaRecordSerializationSchema.{method}: expected a SerializationSchema, got {schema!r:.60}")
    return schema


class KafkaSink:
    """Writes records to topics. Flink: KafkaSink.

    With EXACTLY_ONCE a record is visible when its checkpoint has completed, and in a job without checkpoints when the
    job has ended. Otherwise it is visible at once, and after a failure records are there again; the broker is never
    lost, so NONE is as good as AT_LEAST_ONCE.
    """

    kind = "kafka"

    def __init__(
        self, serializer: KafkaRecordSerializationSchema, delivery: DeliveryGuarantee, prefix: str, topics: Topics
    ) -> None:
        self.delivery: DeliveryGuarantee = delivery
        self._serializer = serializer
        self._prefix = prefix
        self._topics = topics

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Creates a builder."""
        return KafkaSinkBuilder()

    @property
    def params(self) -> Mapping[str, object]:
        topic = self._serializer.topic
        return {"topic": topic if isinstance(topic, str) else None, "delivery": self.delivery.value}

    def check_run(self, clock: Literal["virtual", "real"]) -> None:
        """Removes what an earlier run of this sink wrote."""
        self._topics.begin_run(self)

    def create_writer(self, context: InitContext) -> KafkaWriter:
        """Creates the writer of one subtask in a job with checkpoints."""
        return KafkaWriter(self, self._serializer, self._topics, self._transactions(context))

    def restore_writer(self, context: InitContext, recovered_state: Sequence[object]) -> KafkaWriter:
        return self.create_writer(context)

    def create_direct_writer(self, context: InitContext) -> KafkaWriter:
        """Creates the writer of one subtask in a job without checkpoints."""
        return DirectKafkaWriter(self, self._serializer, self._topics, self._transactions(context))

    def _transactions(self, context: InitContext) -> _Transactions | None:
        if self.delivery is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        return _Transactions(self._topics, self._prefix, context)

    def create_committer(self, context: InitContext) -> KafkaCommitter:
        return KafkaCommitter(self._topics)


class TransactionName(NamedTuple):
    """The identity of a transaction, which is also its committable. Flink: KafkaCommittable."""

    prefix: str
    subtask: int
    number: int
    """1 more than the last checkpoint before it."""


class _Transactions:
    """The transactions of one writer; a new attempt aborts those that no checkpoint contains."""

    def __init__(self, topics: Topics, prefix: str, context: InitContext) -> None:
        restored, me = context.restored_checkpoint_id or 0, context.subtask_index
        self._prefix, self._subtask = prefix, me
        self.number: int = 1 + restored
        for name in topics.open_transactions():
            match name:
                case TransactionName(found, subtask, number) if found == prefix and number > restored:
                    if subtask == me or (me == 0 and subtask >= context.parallelism):
                        topics.abort(name)

    @property
    def current(self) -> TransactionName:
        return TransactionName(self._prefix, self._subtask, self.number)


class KafkaWriter:
    """Writes the records of one subtask. Flink: KafkaWriter, ExactlyOnceKafkaWriter."""

    def __init__(
        self,
        sink: KafkaSink,
        serializer: KafkaRecordSerializationSchema,
        topics: Topics,
        transactions: _Transactions | None,
    ) -> None:
        self._sink = sink
        self._serializer = serializer
        self._topics = topics
        self._transactions = transactions
        self._has_records: bool = False

    def write(self, value: object, timestamp: int | None) -> None:
        topic, record = self._serializer.serialize(value, timestamp)
        transaction = None if self._transactions is None else self._transactions.current
        self._topics.append(topic, record, self._sink, transaction)
        self._has_records = True

    def flush(self, end_of_input: bool) -> None:
        """Does nothing: the broker has each record at once."""

    def prepare_commit(self) -> Sequence[tuple[str, int, int]]:
        """Returns the transaction, if it has records."""
        if self._transactions is None or not self._has_records:
            return ()
        self._has_records = False
        prefix, subtask, number = self._transactions.current
        return [(prefix, subtask, number)]

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        """Begins the next transaction; a writer has no state."""
        if self._transactions is not None:
            self._transactions.number = checkpoint_id + 1
        return ()

    def close(self) -> None:
        """Does nothing: open transactions stay in the broker until an attempt commits or aborts them."""


class DirectKafkaWriter(KafkaWriter):
    """Writes the records of one subtask in a job without checkpoints: its transaction ends with the job."""

    def flush(self, end_of_input: bool) -> None:
        if end_of_input and self._transactions is not None:
            self._topics.commit(self._transactions.current)


class KafkaCommitter:
    """Commits transactions. Flink: KafkaCommitter."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        """Commits each transaction, unless an earlier attempt did, or it belongs to the run that took the savepoint."""
        for request in requests:
            match request.committable:
                case (str(prefix), int(subtask), int(number)):
                    if not self._topics.commit(TransactionName(prefix, subtask, number)):
                        request.signal_already_committed()
                case other:
                    raise BadInput(f"KafkaSink: expected a transaction, got {other!r:.100}: it belongs to another sink")

    def close(self) -> None:
        """Does nothing: a committer holds no resources."""


class KafkaSinkBuilder:
    """Builds a KafkaSink. Flink: KafkaSinkBuilder. Properties of producers have no effect."""

    def __init__(self) -> None:
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._delivery = DeliveryGuarantee.NONE
        self._prefix: str | None = None
        self._servers = ""

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Sets the brokers, which are not contacted."""
        self._servers = bootstrap_servers
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Sets the guarantee; NONE by default."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise BadInput(
                f"KafkaSink.set_delivery_guarantee: expected a DeliveryGuarantee, got {delivery_guarantee!r:.60}"
            )
        self._delivery = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Names the transactions; needed for EXACTLY_ONCE, and different for each sink."""
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSinkBuilder:
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise BadInput(
                "KafkaSink.set_record_serializer: expected a KafkaRecordSerializationSchema, got "
                f"{record_serializer!r:.60}"
            )
        self._serializer = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        if key == "bootstrap.servers":
            self._servers = value
        return self

    def build(self) -> KafkaSink:
        """Raises BadInput for a setting that lacks."""
        if not self._servers:
            raise BadInput("KafkaSink: no brokers are set: call set_bootstrap_servers(...)")
        if self._serializer is None:
            raise BadInput("KafkaSink: no serializer is set: call set_record_serializer(...)")
        if self._delivery is DeliveryGuarantee.EXACTLY_ONCE and self._prefix is None:
            raise BadInput("KafkaSink: EXACTLY_ONCE needs a prefix: call set_transactional_id_prefix(...)")
        return KafkaSink(self._serializer, self._delivery, self._prefix or "kafka-sink", topics_of_context("KafkaSink"))
