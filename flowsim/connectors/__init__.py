"""Sources and sinks for ``StreamExecutionEnvironment.from_source`` and ``DataStream.sink_to``.

Files, generated rows, scripts, collections, and the protocols for user-defined sources and sinks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsim.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from flowsim.connectors.databases.postgres import PostgresSink
    from flowsim.connectors.databases.sqlite import SqliteSink
    from flowsim.connectors.files.columns import Column, ColumnType
    from flowsim.connectors.files.csv import CsvSource
    from flowsim.connectors.files.file_sources import JsonLinesSource, ParquetSource
    from flowsim.connectors.files.parquet import ParquetSink
    from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
    from flowsim.connectors.generator import (
        Choice,
        GeneratorSource,
        JitteredTime,
        Normal,
        SequenceOf,
        UniformDouble,
        UniformInt,
    )
    from flowsim.connectors.lookup_table import LookupTable, read_latency_trace, read_lookup_table
    from flowsim.connectors.memory import CollectionSource, CollectSink
    from flowsim.connectors.partition_log import Burst, Partition, Pause
    from flowsim.connectors.partitioned_generator import PartitionedGeneratorSource
    from flowsim.connectors.print import PrintSink
    from flowsim.connectors.script import ScriptedSource
    from flowsim.connectors.script_entries import (
        EndEntry,
        IdleEntry,
        RecordEntry,
        SleepEntry,
        WatermarkEntry,
        end,
        idle,
        record,
        sleep,
        watermark,
    )
    from flowsim.connectors.sinks.committables.commit_request import CommitRequest, Committer
    from flowsim.connectors.sinks.sink import (
        DeliveryGuarantee,
        Sink,
        SupportsCommitter,
        SupportsGlobalCommitter,
    )
    from flowsim.connectors.sinks.sink_writer_checkpoints import CommittingSinkWriter
    from flowsim.connectors.source import Source
    from flowsim.connectors.split_assignment import SplitsOnRequest
    from flowsim.operators.sink import InitContext, SinkWriter, StatefulSinkWriter, SupportsWriterState
    from flowsim.operators.sources.source_reader import AssignedReader, CheckpointedReader, SourceReader
    from flowsim.operators.sources.split_enumerator import EnumeratorFactory, SplitEnumerator, SplitEnumeratorContext

_MODULE_OF = {
    "CsvSource": "flowsim.connectors.files.csv",
    "ParquetSource": "flowsim.connectors.files.file_sources",
    "JsonLinesSource": "flowsim.connectors.files.file_sources",
    "CollectionSource": "flowsim.connectors.memory",
    "GeneratorSource": "flowsim.connectors.generator",
    "SequenceOf": "flowsim.connectors.generator",
    "UniformInt": "flowsim.connectors.generator",
    "UniformDouble": "flowsim.connectors.generator",
    "Normal": "flowsim.connectors.generator",
    "Choice": "flowsim.connectors.generator",
    "JitteredTime": "flowsim.connectors.generator",
    "ScriptedSource": "flowsim.connectors.script",
    "record": "flowsim.connectors.script_entries",
    "watermark": "flowsim.connectors.script_entries",
    "idle": "flowsim.connectors.script_entries",
    "sleep": "flowsim.connectors.script_entries",
    "end": "flowsim.connectors.script_entries",
    "RecordEntry": "flowsim.connectors.script_entries",
    "WatermarkEntry": "flowsim.connectors.script_entries",
    "IdleEntry": "flowsim.connectors.script_entries",
    "SleepEntry": "flowsim.connectors.script_entries",
    "EndEntry": "flowsim.connectors.script_entries",
    "CsvSink": "flowsim.connectors.files.text_sinks",
    "ParquetSink": "flowsim.connectors.files.parquet",
    "JsonLinesSink": "flowsim.connectors.files.text_sinks",
    "SqliteSink": "flowsim.connectors.databases.sqlite",
    "PostgresSink": "flowsim.connectors.databases.postgres",
    "CollectSink": "flowsim.connectors.memory",
    "PrintSink": "flowsim.connectors.print",
    "LookupTable": "flowsim.connectors.lookup_table",
    "read_lookup_table": "flowsim.connectors.lookup_table",
    "read_latency_trace": "flowsim.connectors.lookup_table",
    "Column": "flowsim.connectors.files.columns",
    "ColumnType": "flowsim.connectors.files.columns",
    "Source": "flowsim.connectors.source",
    "SourceReader": "flowsim.operators.sources.source_reader",
    "PartitionedGeneratorSource": "flowsim.connectors.partitioned_generator",
    "Partition": "flowsim.connectors.partition_log",
    "Pause": "flowsim.connectors.partition_log",
    "Burst": "flowsim.connectors.partition_log",
    "SplitsOnRequest": "flowsim.connectors.split_assignment",
    "CheckpointedReader": "flowsim.operators.sources.source_reader",
    "AssignedReader": "flowsim.operators.sources.source_reader",
    "SplitEnumerator": "flowsim.operators.sources.split_enumerator",
    "SplitEnumeratorContext": "flowsim.operators.sources.split_enumerator",
    "EnumeratorFactory": "flowsim.operators.sources.split_enumerator",
    "Sink": "flowsim.connectors.sinks.sink",
    "SinkWriter": "flowsim.operators.sink",
    "InitContext": "flowsim.operators.sink",
    "CommittingSinkWriter": "flowsim.connectors.sinks.sink_writer_checkpoints",
    "StatefulSinkWriter": "flowsim.operators.sink",
    "Committer": "flowsim.connectors.sinks.committables.commit_request",
    "CommitRequest": "flowsim.connectors.sinks.committables.commit_request",
    "SupportsCommitter": "flowsim.connectors.sinks.sink",
    "SupportsGlobalCommitter": "flowsim.connectors.sinks.sink",
    "SupportsWriterState": "flowsim.operators.sink",
    "DeliveryGuarantee": "flowsim.connectors.sinks.sink",
}

__all__ = [
    "CsvSource",
    "ParquetSource",
    "JsonLinesSource",
    "CollectionSource",
    "GeneratorSource",
    "SequenceOf",
    "UniformInt",
    "UniformDouble",
    "Normal",
    "Choice",
    "JitteredTime",
    "ScriptedSource",
    "record",
    "watermark",
    "idle",
    "sleep",
    "end",
    "RecordEntry",
    "WatermarkEntry",
    "IdleEntry",
    "SleepEntry",
    "EndEntry",
    "CsvSink",
    "ParquetSink",
    "JsonLinesSink",
    "SqliteSink",
    "PostgresSink",
    "CollectSink",
    "PrintSink",
    "LookupTable",
    "read_lookup_table",
    "read_latency_trace",
    "Column",
    "ColumnType",
    "Source",
    "SourceReader",
    "PartitionedGeneratorSource",
    "Partition",
    "Pause",
    "Burst",
    "SplitsOnRequest",
    "CheckpointedReader",
    "AssignedReader",
    "SplitEnumerator",
    "SplitEnumeratorContext",
    "EnumeratorFactory",
    "Sink",
    "SinkWriter",
    "InitContext",
    "CommittingSinkWriter",
    "StatefulSinkWriter",
    "Committer",
    "CommitRequest",
    "SupportsCommitter",
    "SupportsGlobalCommitter",
    "SupportsWriterState",
    "DeliveryGuarantee",
]

__getattr__, __dir__ = _lazy_names(__name__, _MODULE_OF)
