"""The modules of PyFlink 2.3.0 with the names that programs import from them, and where flowsim has these names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

VERSION: Final = "2.3.0"
"""The version of PyFlink whose modules these are."""


@dataclass(frozen=True, slots=True)
class PyFlinkModule:
    """The names of a module: those of its ``__all__``, and the others that it defines."""

    exported: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the module."""
        return self.exported + self.others


def _module(exported: str, others: str = "") -> PyFlinkModule:
    return PyFlinkModule(tuple(exported.split()), tuple(others.split()))


# fmt: off
MODULES: Final = {
    "common": _module(
        "Configuration ConfigOption ConfigOptions ExecutionConfig TypeInformation TypeSerializer Types "
        "SerializationSchema DeserializationSchema SimpleStringSchema ByteArraySchema Encoder "
        "CompletableFuture InputDependencyConstraint JobClient JobExecutionResult JobID JobStatus "
        "RestartStrategies RestartStrategyConfiguration Row RowKind WatermarkStrategy Duration Instant "
        "Time AssignerWithPeriodicWatermarksWrapper",
    ),
    "common.completable_future": _module("CompletableFuture"),
    "common.config_options": _module("ConfigOptions ConfigOption", "T"),
    "common.configuration": _module("Configuration"),
    "common.execution_config": _module("ExecutionConfig"),
    "common.input_dependency_constraint": _module("InputDependencyConstraint"),
    "common.io": _module("InputFormat"),
    "common.job_client": _module("JobClient"),
    "common.job_execution_result": _module("JobExecutionResult"),
    "common.job_id": _module("JobID"),
    "common.job_status": _module("JobStatus"),
    "common.restart_strategy": _module("RestartStrategies RestartStrategyConfiguration"),
    "common.serialization": _module(
        "SerializationSchema DeserializationSchema SimpleStringSchema ByteArraySchema Encoder "
        "BulkWriterFactory RowFieldExtractorSchema",
        "RowDataBulkWriterFactory",
    ),
    "common.serializer": _module("TypeSerializer", "T"),
    "common.time": _module("Duration Instant Time"),
    "common.typeinfo": _module(
        "TypeInformation Types",
        "BasicType BasicTypeInfo InstantTypeInfo SqlTimeTypeInfo PrimitiveArrayTypeInfo "
        "BasicArrayTypeInfo ObjectArrayTypeInfo PickledBytesTypeInfo RowTypeInfo TupleTypeInfo "
        "DateTypeInfo TimeTypeInfo TimestampTypeInfo ListTypeInfo MapTypeInfo LocalTimeTypeInfo "
        "ExternalTypeInfo",
    ),
    "common.types": _module("Row RowKind"),
    "common.watermark_strategy": _module(
        "WatermarkStrategy TimestampAssigner AssignerWithPeriodicWatermarksWrapper",
    ),
    "datastream": _module(
        "StreamExecutionEnvironment DataStream KeyedStream WindowedStream ConnectedStreams "
        "BroadcastStream BroadcastConnectedStream AsyncDataStream DataStreamSink MapFunction "
        "CoMapFunction FlatMapFunction CoFlatMapFunction ReduceFunction FilterFunction ProcessFunction "
        "KeyedProcessFunction CoProcessFunction KeyedCoProcessFunction WindowFunction "
        "ProcessWindowFunction AggregateFunction BroadcastProcessFunction KeyedBroadcastProcessFunction "
        "AsyncFunction RuntimeContext TimerService CheckpointingMode CheckpointConfig "
        "ExternalizedCheckpointRetention StateBackend HashMapStateBackend EmbeddedRocksDBStateBackend "
        "CustomStateBackend PredefinedOptions CheckpointStorage JobManagerCheckpointStorage "
        "FileSystemCheckpointStorage CustomCheckpointStorage RuntimeExecutionMode Window TimeWindow "
        "CountWindow GlobalWindow WindowAssigner MergingWindowAssigner TriggerResult Trigger TimeDomain "
        "KeySelector Partitioner SourceFunction SinkFunction SlotSharingGroup MemorySize OutputTag "
        "AsyncRetryPredicate AsyncRetryStrategy",
    ),
    "datastream.async_data_stream": _module("AsyncDataStream"),
    "datastream.async_retry_predicates": _module(
        "empty_result_predicate has_exception_predicate exception_type_predicate",
    ),
    "datastream.async_retry_strategies": _module(
        "RetryPredicate NoRetryStrategy FixedDelayRetryStrategy ExponentialBackoffDelayRetryStrategy",
        "OUT",
    ),
    "datastream.checkpoint_config": _module("CheckpointConfig"),
    "datastream.checkpoint_storage": _module(
        "CheckpointStorage JobManagerCheckpointStorage FileSystemCheckpointStorage "
        "CustomCheckpointStorage",
    ),
    "datastream.checkpointing_mode": _module("CheckpointingMode"),
    "datastream.connectors": _module(
        "Sink Source DeliveryGuarantee",
        "NumberSequenceSource JdbcSink JdbcConnectionOptions JdbcExecutionOptions KafkaSource "
        "FlinkKafkaConsumer FlinkKafkaProducer Semantic DynamicKafkaSource DynamicKafkaSourceBuilder "
        "KafkaMetadataService KafkaRecordDeserializationSchema KafkaStreamSetSubscriber "
        "KafkaStreamSubscriber StreamPatternSubscriber SingleClusterTopicMetadataService PulsarSource "
        "PulsarSourceBuilder StartCursor StopCursor RMQSource RMQSink RMQConnectionConfig BucketAssigner "
        "FileEnumeratorProvider FileSink FileSplitAssignerProvider FileSource FileSourceBuilder "
        "OutputFileConfig RollingPolicy StreamFormat StreamingFileSink",
    ),
    "datastream.connectors.base": _module(
        "Source Sink DeliveryGuarantee StreamTransformer SupportsPreprocessing",
    ),
    "datastream.connectors.cassandra": _module(
        "CassandraSink ConsistencyLevel MapperOptions ClusterBuilder CassandraCommitter "
        "CassandraFailureHandler",
    ),
    "datastream.connectors.dynamic_kafka": _module(
        "DynamicKafkaSource DynamicKafkaSourceBuilder KafkaMetadataService "
        "KafkaRecordDeserializationSchema KafkaStreamSetSubscriber KafkaStreamSubscriber "
        "StreamPatternSubscriber SingleClusterTopicMetadataService",
    ),
    "datastream.connectors.elasticsearch": _module(
        "FlushBackoffType ElasticsearchEmitter Elasticsearch6SinkBuilder Elasticsearch7SinkBuilder "
        "ElasticsearchSink",
        "ElasticsearchSinkBuilderBase",
    ),
    "datastream.connectors.file_system": _module(
        "FileCompactor FileCompactStrategy OutputFileConfig FileSource FileSourceBuilder FileSink "
        "StreamingFileSink StreamFormat BulkFormat FileEnumeratorProvider FileSplitAssignerProvider "
        "RollingPolicy BucketAssigner",
        "DefaultRollingPolicy OnCheckpointRollingPolicy",
    ),
    "datastream.connectors.hybrid_source": _module("HybridSource HybridSourceBuilder"),
    "datastream.connectors.jdbc": _module(
        "JdbcSink JdbcConnectionOptions JdbcExecutionOptions",
    ),
    "datastream.connectors.kafka": _module(
        "FlinkKafkaConsumer FlinkKafkaProducer KafkaSource KafkaSourceBuilder KafkaSink KafkaSinkBuilder "
        "Semantic KafkaTopicPartition KafkaOffsetsInitializer KafkaOffsetResetStrategy "
        "KafkaRecordSerializationSchema KafkaRecordSerializationSchemaBuilder KafkaTopicSelector",
        "FlinkKafkaConsumerBase FlinkKafkaProducerBase",
    ),
    "datastream.connectors.kinesis": _module(
        "KinesisShardAssigner KinesisDeserializationSchema WatermarkTracker PartitionKeyGenerator "
        "FlinkKinesisConsumer KinesisStreamsSink KinesisStreamsSinkBuilder KinesisFirehoseSink "
        "KinesisFirehoseSinkBuilder",
    ),
    "datastream.connectors.number_seq": _module("NumberSequenceSource"),
    "datastream.connectors.pulsar": _module(
        "PulsarSource PulsarSourceBuilder StartCursor StopCursor RangeGenerator PulsarSink "
        "PulsarSinkBuilder MessageDelayer TopicRoutingMode",
    ),
    "datastream.connectors.rabbitmq": _module("RMQConnectionConfig RMQSource RMQSink"),
    "datastream.data_stream": _module(
        "CloseableIterator DataStream KeyedStream ConnectedStreams WindowedStream DataStreamSink "
        "BroadcastStream BroadcastConnectedStream",
        "CachedDataStream AllWindowedStream",
    ),
    "datastream.execution_mode": _module("RuntimeExecutionMode"),
    "datastream.externalized_checkpoint_retention": _module("ExternalizedCheckpointRetention"),
    "datastream.formats": _module(""),
    "datastream.formats.avro": _module(
        "AvroSchema GenericRecordAvroTypeInfo AvroInputFormat AvroBulkWriters "
        "AvroRowDeserializationSchema AvroRowSerializationSchema",
    ),
    "datastream.formats.csv": _module(
        "CsvSchema CsvSchemaBuilder CsvReaderFormat CsvBulkWriters CsvRowDeserializationSchema "
        "CsvRowSerializationSchema",
    ),
    "datastream.formats.json": _module(
        "JsonRowDeserializationSchema JsonRowSerializationSchema",
    ),
    "datastream.formats.orc": _module("OrcBulkWriters"),
    "datastream.formats.parquet": _module(
        "AvroParquetReaders AvroParquetWriters ParquetColumnarRowInputFormat ParquetBulkWriters",
    ),
    "datastream.functions": _module(
        "RuntimeContext MapFunction CoMapFunction FlatMapFunction CoFlatMapFunction ReduceFunction "
        "AggregateFunction KeySelector FilterFunction Partitioner SourceFunction SinkFunction "
        "ProcessFunction CoProcessFunction KeyedProcessFunction KeyedCoProcessFunction TimerService "
        "WindowFunction AllWindowFunction ProcessWindowFunction ProcessAllWindowFunction "
        "BaseBroadcastProcessFunction BroadcastProcessFunction KeyedBroadcastProcessFunction "
        "AsyncFunction AsyncFunctionDescriptor AsyncRetryPredicate AsyncRetryStrategy",
        "W W2 IN IN1 IN2 OUT KEY KeyedStateStore Function NullByteKeySelector PassThroughWindowFunction "
        "PassThroughAllWindowFunction",
    ),
    "datastream.output_tag": _module("OutputTag"),
    "datastream.slot_sharing_group": _module("MemorySize SlotSharingGroup"),
    "datastream.state": _module(
        "ValueStateDescriptor ValueState ListStateDescriptor ListState MapStateDescriptor MapState "
        "ReducingStateDescriptor ReducingState AggregatingStateDescriptor AggregatingState "
        "ReadOnlyBroadcastState BroadcastState StateTtlConfig OperatorStateStore",
        "T K V IN OUT State AppendingState MergingState StateDescriptor",
    ),
    "datastream.state_backend": _module(
        "StateBackend HashMapStateBackend EmbeddedRocksDBStateBackend CustomStateBackend "
        "PredefinedOptions",
    ),
    "datastream.stream_execution_environment": _module("StreamExecutionEnvironment"),
    "datastream.time_domain": _module("TimeDomain"),
    "datastream.timerservice": _module("TimerService"),
    "datastream.utils": _module("ResultTypeQueryable"),
    "datastream.window": _module(
        "Window TimeWindow CountWindow GlobalWindow WindowAssigner TumblingProcessingTimeWindows "
        "TumblingEventTimeWindows SlidingProcessingTimeWindows SlidingEventTimeWindows "
        "ProcessingTimeSessionWindows EventTimeSessionWindows DynamicProcessingTimeSessionWindows "
        "DynamicEventTimeSessionWindows GlobalWindows MergingWindowAssigner CountTumblingWindowAssigner "
        "CountSlidingWindowAssigner TriggerResult Trigger EventTimeTrigger ProcessingTimeTrigger "
        "ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger NeverTrigger PurgingTrigger "
        "CountTrigger TimeWindowSerializer CountWindowSerializer GlobalWindowSerializer "
        "SessionWindowTimeGapExtractor",
        "T W W2 IN OUT KEY",
    ),
    "metrics": _module("MetricGroup Metric Counter Meter Distribution"),
    "metrics.metricbase": _module("MetricGroup Metric Counter Meter Distribution"),
}  # fmt: skip
# fmt: on
"""Without the prefix ``pyflink.``. A module that Java code implements, and what only PyFlink itself calls, is left out."""

HOMES: Final = {
    "common.completable_future": "flowsim.datastream.common.job_client",
    "common.execution_config": "flowsim.datastream.execution_config",
    "common.job_execution_result": "flowsim.cluster.job_execution",
    "common.job_id": "flowsim.cluster.job_id",
    "common.job_status": "flowsim.datastream.common.job_client",
    "datastream.checkpointing_mode": "flowsim.datastream.checkpoint_config",
    "datastream.connectors.base": "flowsim.connectors",
    "datastream.externalized_checkpoint_retention": "flowsim.datastream.checkpoint_config",
    "datastream.stream_execution_environment": "flowsim.datastream.environment",
    "datastream.time_domain": "flowsim.datastream.timerservice",
    "metrics.metricbase": "flowsim.operators.metric_group",
}
"""The modules of flowsim that have the names of a module, where they are not those of ``flowsim.datastream``."""

TYPE_VARIABLES: Final = frozenset(["T", "K", "V", "W", "W2", "IN", "IN1", "IN2", "OUT", "KEY"])


def home_of(module: str) -> str:
    """Returns the module of flowsim that has the names of a module of PyFlink.

    >>> home_of("common.types"), home_of("datastream.window"), home_of("datastream")
    ('flowsim.datastream.common.types', 'flowsim.datastream.window', 'flowsim.datastream')
    """
    inside = module if module.startswith("common") else module.removeprefix("datastream").removeprefix(".")
    return HOMES.get(module, f"flowsim.datastream.{inside}".rstrip("."))


def _defining_modules() -> dict[str, tuple[str, ...]]:
    packages = {module.rpartition(".")[0] for module in MODULES}
    found: dict[str, tuple[str, ...]] = {}
    for module, content in MODULES.items():
        for name in content.names if module not in packages else ():
            found[name] = (*found.get(name, ()), module)
    return found


DEFINING_MODULES: Final = _defining_modules()
"""The modules that have a name and are no packages: the packages import it from there."""
