"""The public names: a frozen list, lazy loading, the page that lists them, and complete type annotations."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages.api_page import PACKAGES, api_page, first_line, public_names, public_value
from tests.support.pages.notebooks import NOTEBOOKS, read

REPOSITORY = Path(__file__).parents[2]

# A name leaves this list only with a release that says so.
FROZEN = {
    "flowsim": """
        run_scenario validate_recording open_recording report_recording plot_event_time plot_queues Recording
        Explanation Trace RecordingReport StreamExecutionEnvironment FlowsimError BadInput ScenarioError JobFailed Deadlock
        InvariantViolation Limits MissingExtra __version__
    """,
    "flowsim.datastream": """
        AggregateFunction AllWindowedStream AsyncDataStream AsyncFunction AsyncRetryPredicate AsyncRetryStrategy
        ResultFutureFunction BaseBroadcastProcessFunction BroadcastConnectedStream BroadcastProcessFunction
        BroadcastStream KeyedBroadcastProcessFunction KeyedStateFunction ProcessAllWindowFunction JoinFunction
        FlatJoinFunction CoGroupFunction AllWindowFunction CloseableIterator CoFlatMapFunction CoMapFunction
        CoProcessFunction ConnectedStreams DataStream DataStreamSink FilterFunction FlatMapFunction Function
        IntervalJoin IntervalJoined KeySelector KeyedCoProcessFunction KeyedProcessFunction KeyedStateStore
        KeyedStream MapFunction NullByteKeySelector Partitioner PassThroughAllWindowFunction
        PassThroughWindowFunction OutputTag ProcessFunction ProcessJoinFunction ProcessWindowFunction ReduceFunction
        RuntimeContext StreamExecutionEnvironment TimeDomain TimerService WindowFunction WindowedStream CountWindow
        GlobalWindow MergingWindowAssigner TimeWindow Trigger TriggerResult Window WindowAssigner CheckpointConfig
        CheckpointedFunction CheckpointingMode ExternalizedCheckpointRetention RuntimeExecutionMode WithoutEffect
    """,
    "flowsim.datastream.window": """
        AnyOfTrigger ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger CountEvictor CountSlidingWindowAssigner
        CountTrigger CountTumblingWindowAssigner CountWindow DeltaEvictor DeltaFunction DeltaTrigger
        DynamicEventTimeSessionWindows DynamicProcessingTimeSessionWindows EventTimeSessionWindows EventTimeTrigger
        Evictor EvictorContext GlobalWindow GlobalWindows MergingWindowAssigner NeverTrigger
        ProcessingTimeSessionWindows ProcessingTimeTrigger ProcessingTimeoutTrigger PurgingTrigger
        SessionWindowTimeGapExtractor SlidingEventTimeWindows SlidingProcessingTimeWindows TimeEvictor TimeWindow
        TimestampedValue Trigger TriggerResult TumblingEventTimeWindows TumblingProcessingTimeWindows Window
        WindowAssigner WindowStagger
    """,
    "flowsim.datastream.common": """
        Configuration Duration Instant Row RowKind Time TimestampAssigner TypeInformation Types WatermarkGenerator
        WatermarkOutput WatermarkStrategy
    """,
    "flowsim.datastream.common.serialization": """
        ByteArraySchema DeserializationSchema Encoder RowFieldExtractorSchema SerializationSchema SimpleStringSchema
    """,
    "flowsim.datastream.connectors.file_system": """
        BucketAssigner DefaultRollingPolicy FileEnumeratorProvider FileSink FileSource FileSourceBuilder
        FileSplitAssignerProvider OnCheckpointRollingPolicy OutputFileConfig RollingPolicy StreamFormat
    """,
    "flowsim.datastream.connectors.kafka": """
        KafkaOffsetResetStrategy KafkaOffsetsInitializer KafkaRecordSerializationSchema
        KafkaRecordSerializationSchemaBuilder KafkaSink KafkaSinkBuilder KafkaSource KafkaSourceBuilder KafkaTopicPartition
        KafkaTopicSelector Topics simulated_topics
    """,
    "flowsim.datastream.formats.csv": """
        CsvReaderFormat CsvRowDeserializationSchema CsvRowSerializationSchema CsvSchema CsvSchemaBuilder
    """,
    "flowsim.datastream.formats.json": "JsonRowDeserializationSchema JsonRowSerializationSchema",
    "flowsim.datastream.state": """
        AggregatingState AggregatingStateDescriptor AppendingState BroadcastState ListState ListStateDescriptor
        MapState MapStateDescriptor MergingState OperatorStateStore ReadOnlyBroadcastState ReducingState
        ReducingStateDescriptor State StateDescriptor StateTtlConfig ValueState ValueStateDescriptor
    """,
    "flowsim.datastream.functions": """
        AggregateFunction AllWindowFunction AsyncFunction AsyncRetryPredicate AsyncRetryStrategy
        BaseBroadcastProcessFunction BroadcastProcessFunction CoFlatMapFunction CoGroupFunction CoMapFunction
        CoProcessFunction FilterFunction FlatJoinFunction FlatMapFunction Function JoinFunction KeySelector
        KeyedBroadcastProcessFunction KeyedCoProcessFunction KeyedProcessFunction KeyedStateStore MapFunction
        NullByteKeySelector ParallelSourceFunction Partitioner PassThroughAllWindowFunction
        PassThroughWindowFunction ProcessAllWindowFunction ProcessFunction ProcessWindowFunction ReduceFunction
        ResultFutureFunction RuntimeContext SourceFunction TwoPhaseCommitSinkFunction WindowFunction CheckpointedFunction
        FunctionInitializationContext FunctionSnapshotContext
    """,
    "flowsim.datastream.async_retry_strategies": """
        NO_RETRY_STRATEGY AsyncRetryPredicate AsyncRetryStrategy ExponentialBackoffDelayRetryStrategy
        FixedDelayRetryStrategy NoRetryStrategy RetryPredicate
    """,
    "flowsim.datastream.async_retry_predicates": """
        empty_result_predicate exception_type_predicate has_exception_predicate
    """,
    "flowsim.connectors": """
        CsvSource ParquetSource JsonLinesSource CollectionSource GeneratorSource SequenceOf UniformInt UniformDouble
        Normal Choice JitteredTime ScriptedSource record watermark idle sleep end RecordEntry WatermarkEntry
        IdleEntry SleepEntry EndEntry CsvSink ParquetSink JsonLinesSink CollectSink PrintSink LookupTable
        read_lookup_table read_latency_trace Column ColumnType Source SourceReader Sink SinkWriter
        InitContext CommittingSinkWriter StatefulSinkWriter Committer CommitRequest SupportsCommitter
        SupportsGlobalCommitter SupportsWriterState DeliveryGuarantee SqliteSink PostgresSink PartitionedGeneratorSource Partition
        Pause Burst SplitsOnRequest CheckpointedReader AssignedReader SplitEnumerator SplitEnumeratorContext EnumeratorFactory
    """,
    "flowsim.simulation": """
        Link AdaptivePartitionerSettings BufferDebloatSettings StopJob CancelJob TriggerCheckpoint TriggerSavepoint
        StopWithSavepoint FailTask LoseTaskManager LoseJobManager FailAnyTask CheckpointSettings FixedDelayRestart
        FailureRateRestart ExponentialDelayRestart NoRestart SavepointRestoreSettings RunOptions Level Fault FaultyComponents
        SimulatedAsyncFunction SomeCalls SimulatedCallFailed Latency FixedLatency UniformLatency NormalLatency LognormalLatency
        ExponentialLatency TraceLatency RecordLatency SpikyLatency JobExecutionResult JobStatus TaskSummary
        LatencySummary TaskAttempt HandledFailure RequestedSnapshot CheckpointStatsCounts ScenarioRun Report Verdict
    """,
    "flowsim.testing": """
        run_job run_program JobRun RunBounds assert_laws assert_same_output_for_all_schedules outputs per_key_order Schedule
        FIFO some_schedules explore OneInputOperatorHarness MultipleInputOperatorHarness CollectingOutput Emitted ManualClock
        AsyncFunctionHarness ScriptedCalls Reply Fault event_streams flat_records values scalars keys timestamps
        seeds policies schedules scripted_sources job_settings network_settings scenarios numbered_scenario
        register_part FAMILIES FEATURES DrawnScenario random_jobs window_jobs async_steps
        async_jobs AsyncStep Answer Retry
    """,
}

LAZY = ("flowsim", "flowsim.connectors", "flowsim.simulation", "flowsim.testing")


def test_public_names_equal_the_frozen_list() -> None:
    assert {package: sorted(public_names(package)) for package in PACKAGES} == {
        package: sorted(names.split()) for package, names in FROZEN.items()
    }


def test_api_page_is_up_to_date() -> None:
    page = (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8")
    assert page == api_page(), "write it again: make docs"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_docstring(package: str) -> None:
    assert [name for name in public_names(package) if not first_line(package, name)] == []


@pytest.mark.parametrize("package", LAZY)
def test_lazy_package_has_same_origins_for_type_checkers_and_at_run_time(package: str) -> None:
    module = importlib.import_module(package)
    (checked,) = (node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    origins = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
    assert origins == module._MODULE_OF
    assert list(module._MODULE_OF) == module.__all__
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", LAZY)
def test_unknown_name_raises_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such_name'"):
        importlib.import_module(package).no_such_name  # noqa: B018


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "flowsim.testing"])
def test_no_submodule_has_the_name_of_an_export(package: str) -> None:
    """Importing such a submodule would put it in the place of the exported name."""
    module = importlib.import_module(package)
    submodules = {found.name for found in pkgutil.iter_modules(getattr(module, "__path__", []))}
    assert submodules & set(module.__all__) == set()


def test_exported_name_is_the_same_object_everywhere() -> None:
    values: dict[str, Any] = {}
    for package in PACKAGES:
        for name in public_names(package):
            assert values.setdefault(name, public_value(package, name)) is public_value(package, name), name


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True)


def test_help_imports_no_heavy_module() -> None:
    run = run_python("-X", "importtime", "-m", "flowsim", "--help")
    assert "Usage: flowsim" in run.stdout
    loaded = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    assert "flowsim.cli.main" in loaded
    heavy = {"numpy", "pyarrow", "pyspark", "pydantic", "flowsim.api", "flowsim.datastream", "flowsim.simulation"}
    assert loaded & heavy == set()


@pytest.mark.parametrize("package", LAZY)
def test_lazy_package_imports_nothing_before_use(package: str) -> None:
    program = f"import sys, {package}; print(sorted(name for name in sys.modules if name.startswith('flowsim')))"
    assert run_python("-c", program).stdout.strip() == str(
        sorted({"flowsim", "flowsim.compiled_modules", "flowsim.lazy_names", package})
    )


IMPORT = re.compile(r"^ *(?:from (flowsim[\w.]*) import ([\w, ]+)|import (flowsim[\w.]*))", re.M)
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def test_python_in_pages_and_scenarios_imports_only_public_names() -> None:
    internal, seen = [], 0
    for path in [*PAGES, *NOTEBOOKS, *sorted((REPOSITORY / "scenarios").rglob("*.py"))]:
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if path.suffix == ".md" else [text]
        if path in NOTEBOOKS:
            blocks = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
        for package, names, module in (found.groups() for block in blocks for found in IMPORT.finditer(block)):
            seen += 1
            known = FROZEN.get(package or module, "").split()
            if module and module not in FROZEN:
                internal.append(f"{path.name}: {module}")
            internal += [
                f"{path.name}: {package}.{name}" for name in re.findall(r"\w+", names or "") if name not in known
            ]
    assert seen > 20
    assert internal == []


# Type annotations, checked by pyright's --verifytypes.


def verified_symbols() -> list[dict[str, Any]]:
    """Every symbol of the package, with what is wrong with its type."""
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
    command += ["--verifytypes", "flowsim", "--ignoreexternal", "--outputjson"]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}  # pyright does not find an editable installation
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    completeness = json.loads(run.stdout)["typeCompleteness"]
    assert Path(completeness["packageRootDirectory"]) == REPOSITORY / "flowsim"
    symbols: list[dict[str, Any]] = completeness["symbols"]
    return symbols


def definitions() -> set[str]:
    """Full names of what is exported, where it is exported and defined, and of the classes that members come from."""
    found = set()
    for package in PACKAGES:
        for name in public_names(package):
            value = public_value(package, name)
            found.add(f"{package}.{name}")
            if inspect.isroutine(value):
                found.add(f"{value.__module__}.{name}")
            elif inspect.isclass(value):
                ours = (kind for kind in inspect.getmro(value) if kind.__module__.startswith("flowsim."))
                found |= {f"{kind.__module__}.{kind.__qualname__}" for kind in ours}
    return found - {"flowsim.__version__"}  # no symbol for pyright, which takes such names as private


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_public_types_are_complete() -> None:
    if find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed: it is in the extra dev")
    public = definitions()
    symbols = {symbol["name"]: symbol for symbol in verified_symbols()}
    assert public - symbols.keys() == set()
    incomplete = [
        f"{name}: {diagnostic['message']}"
        for name, symbol in symbols.items()
        if name in public or name.rpartition(".")[0] in public
        for diagnostic in symbol["diagnostics"]
        if diagnostic["severity"] == "error"
    ]
    assert incomplete == []
