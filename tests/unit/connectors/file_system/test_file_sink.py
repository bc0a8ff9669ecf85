"""FileSink: buckets, rolling policies, and when part files are finished, as Flink's FileSink does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobExecutionResult
from flowsim.connectors.file_system.folders import empty_output_folder, output_folder, output_path
from flowsim.connectors.file_system.policies import BucketAssigner, OutputFileConfig, RollingPolicy
from flowsim.connectors.file_system.sink import FileSink
from flowsim.connectors.schemas import Encoder
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.units import NS_PER_MS


def builder(folder: Path) -> FileSink.RowFormatBuilder:
    made = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    return made.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())


def run(sink: FileSink, checkpoint_ms: int | None = None, rows: int = 10, **settings: object) -> JobExecutionResult:
    """A row comes every 100 ms."""
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
    if checkpoint_ms is not None:
        env.enable_checkpointing(checkpoint_ms)
        env.settings.restart_strategy = FixedDelayRestart(attempts=1, delay_ms=10)
    source = ScriptedSource([entry for row in range(rows) for entry in (record(row), sleep(100))])
    env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").disable_chaining().sink_to(sink)
    return env.flowsim_settings(**settings).execute()


def files(folder: Path) -> dict[str, str]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): "".join(path.read_text().split()) for path in found}


def test_files_of_a_bounded_job_are_finished_at_its_end(tmp_path: Path) -> None:
    run(builder(tmp_path).build())
    assert files(tmp_path) == {"part-0-0": "0123456789"}


def test_default_bucket_is_the_hour_of_processing_time(tmp_path: Path) -> None:
    run(FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build())
    assert files(tmp_path) == {"1970-01-01--00/part-0-0": "0123456789"}


def test_buckets_follow_the_clock_of_the_job(tmp_path: Path) -> None:
    assigner = BucketAssigner.date_time_bucket_assigner("'second='ss")
    run(builder(tmp_path).with_bucket_assigner(assigner).build(), rows=12)
    assert files(tmp_path) == {"second=01/part-0-0": "0123456789", "second=02/part-0-1": "1011"}


def test_rolling_on_checkpoints_finishes_a_file_per_checkpoint(tmp_path: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("rows").with_part_suffix(".txt").build()
    made = builder(tmp_path).with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    run(made.with_output_file_config(config).build(), checkpoint_ms=300)
    found = files(tmp_path)
    assert "".join(found.values()) == "0123456789"
    assert list(found) == [f"rows-0-{number}.txt" for number in range(len(found))]
    assert len(found) > 2


def test_default_policy_rolls_by_size_and_age(tmp_path: Path) -> None:
    by_size = RollingPolicy.default_rolling_policy(part_size=5)
    run(builder(tmp_path / "size").with_rolling_policy(by_size).build())
    assert list(files(tmp_path / "size").values()) == ["012", "345", "678", "9"]
    by_age = RollingPolicy.default_rolling_policy(rollover_interval=250)
    run(builder(tmp_path / "age").with_rolling_policy(by_age).with_bucket_check_interval(100).build())
    assert list(files(tmp_path / "age").values()) == ["012", "345", "678", "9"]
    inactive = RollingPolicy.default_rolling_policy(inactivity_interval=60)
    run(builder(tmp_path / "idle").with_rolling_policy(inactive).with_bucket_check_interval(80).build(), rows=3)
    assert list(files(tmp_path / "idle").values()) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "policy",
    [RollingPolicy.default_rolling_policy(), RollingPolicy.on_checkpoint_rolling_policy()],
    ids=["size", "all"],
)
def test_restored_job_writes_each_row_once(tmp_path: Path, policy: RollingPolicy) -> None:
    sink = builder(tmp_path).with_rolling_policy(policy).build()
    result = run(sink, checkpoint_ms=200, failures=(FailTask("Source: rows", at_ns=590 * NS_PER_MS),))
    assert result.restarts == 1
    finished = {name: text for name, text in files(tmp_path).items() if not Path(name).name.startswith(".")}
    assert "".join(sorted("".join(finished.values()))) == "0123456789"


def test_growing_file_is_hidden_until_a_checkpoint_after_it_is_complete(tmp_path: Path) -> None:
    run(builder(tmp_path).build(), checkpoint_ms=200, until_ns=700 * NS_PER_MS)
    assert list(files(tmp_path)) == [".part-0-0.inprogress"]


def test_files_of_other_programs_are_not_replaced_but_those_of_the_last_run_are(tmp_path: Path) -> None:
    (tmp_path / "part-0-0").write_text("mine")
    sink = builder(tmp_path).build()
    for _ in range(2):
        run(sink)
        assert files(tmp_path) == {"part-0-0": "mine", "part-0-1": "0123456789"}
    run(builder(tmp_path).build())
    assert list(files(tmp_path)) == ["part-0-0", "part-0-1", "part-0-2"]


def test_path_is_below_the_output_folder_of_a_run(tmp_path: Path) -> None:
    assert output_path("/data/out", "sink") == Path("/data/out")
    assert output_path("file:///data/out", "sink") == Path("/data/out")
    with pytest.raises(BadInput, match="sink: s3://bucket/out: flowsim has no file system 's3': give a local path"):
        output_path("s3://bucket/out", "sink")
    with output_folder(tmp_path):
        paths = [
            output_path(path, "sink") for path in ("/data/out", "file:///data/out", "s3://bucket/out", "../../out")
        ]
    assert [str(path.relative_to(tmp_path)) for path in paths] == ["data/out", "data/out", "s3/bucket/out", "out"]


def test_only_an_output_folder_of_flowsim_is_emptied(tmp_path: Path) -> None:
    with output_folder(tmp_path / "files"):
        output_path("/out", "sink").mkdir()
    empty_output_folder(tmp_path / "files")
    assert not (tmp_path / "files").exists()
    empty_output_folder(tmp_path / "files")
    with pytest.raises(BadInput, match="flowsim did not create it: use another folder"):
        empty_output_folder(tmp_path)


@pytest.mark.parametrize(
    ("zone", "hour"), [(None, "00"), ("UTC", "00"), ("Europe/Berlin", "01"), ("GMT-08:00", "16"), ("+05:30", "05")]
)
def test_time_zone_of_buckets(zone: str | None, hour: str) -> None:
    assert BucketAssigner.date_time_bucket_assigner("HH", zone).bucket_id(1_000) == hour


Refused = Sequence[tuple[Callable[[], object], str]]
REFUSED: Refused = [
    (lambda: BucketAssigner.date_time_bucket_assigner("yyyy-QQ"), "expected yyyy, .* and quoted text, got 'QQ'"),
    (lambda: BucketAssigner.date_time_bucket_assigner("'x"), "a quote without an end"),
    (lambda: BucketAssigner.date_time_bucket_assigner("'../'yyyy"), "a bucket is below the folder of the sink"),
    (lambda: BucketAssigner.date_time_bucket_assigner("HH", "Mars"), "unknown time zone 'Mars'"),
    (lambda: RollingPolicy.default_rolling_policy(part_size=0), "part_size: expected an integer > 0, got 0"),
    (lambda: OutputFileConfig("a/b", ""), "expected a part of a file name, got 'a/b'"),
    (lambda: OutputFileConfig(".a", ""), "expected a prefix that does not hide files"),
    (lambda: FileSink.for_bulk_format("out", None), "use for_row_format, or ParquetSink"),
    (lambda: FileSink.for_row_format("out", "text"), "expected an Encoder"),  # type: ignore[arg-type]
    (lambda: builder(Path("out")).enable_compact(None, None), "flowsim does not compact files"),
    (lambda: builder(Path("out")).with_rolling_policy("size"), "expected a RollingPolicy, got 'size'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("use", "message"), REFUSED)
def test_wrong_settings_are_refused(use: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        use()
