"""``flowsim pyflink``: the options before the program are flowsim's, those after it the program's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowsim.recording.reader import Recording

PROGRAM = """
import sys
from pyflink.datastream import StreamExecutionEnvironment

divisor = int(sys.argv[2])
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).map(lambda value: 6 // (value - divisor)).print()
env.execute("division")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "division.py"
    path.write_text(PROGRAM)
    return str(path)


def test_program_runs_is_recorded_and_judged(flowsim: Any, program: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = flowsim("pyflink", "--out", str(out), "--seed", "3", "--validate", program, "--seed", "0")
    assert done.code == 0
    assert done.out.startswith("6\n3\n\njob 1     division: finished after ")
    assert f"recording {out}/1\n" in done.out
    document = flowsim("pyflink", "--out", str(out), "--seed", "3", "--json", program, "--seed", "0").document
    assert [job["status"] for job in document["jobs"]] == ["finished"]
    assert document["jobs"][0]["digest"] in done.out


def test_failed_job_has_its_exit_code(flowsim: Any, program: str, tmp_path: Path) -> None:
    done = flowsim("pyflink", "--out", str(tmp_path / "out"), program, "--minus", "1")
    assert done.code == 3
    assert "job 1     division: failed after " in done.out
    assert "ZeroDivisionError" in done.err


def test_error_of_the_program_is_bad_input(flowsim: Any, program: str) -> None:
    done = flowsim("pyflink", "--record", "off", program)
    assert done.code == 2
    assert "IndexError: list index out of range" in done.err


def test_laws_need_a_recording(flowsim: Any, program: str) -> None:
    done = flowsim("pyflink", "--record", "off", "--validate", program, "--minus", "0")
    assert (done.code, done.err) == (
        2,
        "error: --validate needs a recording, but recording is off: use --record elements or full\n",
    )


CONFIGURED = """
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1).enable_checkpointing(1000).set_buffer_timeout(7)
env.get_checkpoint_config().set_min_pause_between_checkpoints(30)
words = env.from_collection(["a", "b"])
words.rebalance().map(str.upper).name("upper").print()
words.rebalance().map(str.upper).name("one").set_parallelism(1).print()
env.set_parallelism(1)
env.execute("configured")
"""


def test_settings_have_priority_over_those_of_the_program(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "configured.py").write_text(CONFIGURED)
    overrides = ["settings.parallelism=3", "settings.checkpointing.interval=5 s", "settings.segment_size=4 KiB"]
    given = [word for each in overrides for word in ("--set", each)]
    command = ("pyflink", *given, "--json", "--out", str(tmp_path / "out"), str(tmp_path / "configured.py"))
    job = flowsim(*command).document["jobs"][0]
    names = [task["name"] for task in job["tasks"]]
    assert len([name for name in names if name.startswith("upper")]) == 3
    assert len([name for name in names if name.startswith("one")]) == 1
    run = Recording.open(Path(job["recording"])).manifest.run
    settings = run.settings
    assert (settings["segment_size_bytes"], settings["buffer_timeout_ms"]) == (4096, 7)
    assert (settings["checkpointing"]["interval_ms"], settings["checkpointing"]["min_pause_ms"]) == (5_000, 30)
    assert run.options["program"]["settings"] == overrides
    replayed = flowsim("replay", job["recording"], "--allow-python", "--folder", str(tmp_path))
    assert (replayed.code, replayed.err) == (0, "")
    off = flowsim("pyflink", "--set", "settings.checkpointing=", "--set", "settings.buffer_debloat={}", *command[-4:])
    assert off.code == 0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("settings.paralelism=2", "settings.paralelism: unknown key 'paralelism' (did you mean 'parallelism'?)"),
        ("settings.parallelism=0", "settings.parallelism: expected a value >= 1, got 0"),
        ("setings.parallelism=2", "setings: unknown key 'setings' (did you mean 'settings'?)"),
        ("settings.set_parallelism=2", "settings.set_parallelism: unknown key 'set_parallelism'"),
        ("settings.checkpointing.intervall=1s", "did you mean 'interval'?"),
        ("settings.seed=2", "settings.seed: this is a setting of the run, not of a job: use --seed"),
        ("settings.clock=real", "settings.clock: this is a setting of the run, not of a job: it is for scenarios only"),
        ("parallelism", "expected key=value, such as settings.seed=7"),
    ],
)
def test_wrong_setting_is_named(flowsim: Any, program: str, override: str, message: str) -> None:
    done = flowsim("pyflink", "--set", override, program, "--minus", "0")
    assert done.code == 2
    assert f"--set {override}" in done.err
    assert message in done.err


TOPICS = """
from pyflink.common import SimpleStringSchema, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSource

source = KafkaSource.builder().set_bootstrap_servers("b").set_topics("orders")
schema = KafkaRecordSerializationSchema.builder().set_topic("copied")
serializer = schema.set_value_serialization_schema(SimpleStringSchema()).build()
env = StreamExecutionEnvironment.get_execution_environment()
orders = source.set_value_only_deserializer(SimpleStringSchema()).build()
env.from_source(orders, WatermarkStrategy.no_watermarks(), "orders").sink_to(
    KafkaSink.builder().set_bootstrap_servers("b").set_record_serializer(serializer).build()
)
env.execute("copy")
"""


def test_topics_are_read_from_files_and_written_to_files(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "copy.py").write_text(TOPICS)
    (tmp_path / "orders.txt").write_text("a\nb\n")
    given = ("--topic", f"orders={tmp_path}/orders.txt@2/s", "--out", str(tmp_path / "out"))
    done = flowsim("pyflink", *given, str(tmp_path / "copy.py"))
    file = tmp_path / "out" / "topics" / "copied.jsonl"
    assert done.code == 0
    assert "job 1     copy: stopped after 1 s, 2 records read\nidle      its sources have read all records" in done.out
    assert f"topic     copied: 2 records in {file}\n" in done.out
    assert file.read_text() == '{"value":"a","timestamp":1500}\n{"value":"b","timestamp":2000}\n'
    document = flowsim("pyflink", *given, "--json", str(tmp_path / "copy.py")).document
    assert document["topics"] == [{"topic": "copied", "file": str(file), "records": 2}]
    assert document["jobs"][0]["is_idle"] is True


def test_second_run_goes_on_at_the_offsets_of_the_first(
    flowsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TOPICS.replace(
        'set_topics("orders")',
        'set_topics("orders").set_group_id("g").set_starting_offsets(\n'
        "    KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST))",
    )
    text = text.replace("import Kafka", "import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, Kafka", 1)
    monkeypatch.chdir(tmp_path)
    Path("copy.py").write_text(text.replace("orders = ", "env.enable_checkpointing(100)\norders = ", 1))
    Path("orders.txt").write_text("a\nb\n")
    given, offsets = ("--topic", "orders=orders.txt@2/s"), "first/offsets/orders.jsonl"
    done = flowsim("pyflink", *given, "--until", "800ms", "--out", "first", "copy.py")
    assert f"offsets   orders: 1 committed offset in {offsets}\n" in done.out
    assert Path(offsets).read_text() == '{"group":"g","partition":0,"offset":1}\n'
    second = ("--topic", f"orders={offsets}", "--out", "second", "--json", "copy.py")
    document = flowsim("pyflink", *given, *second).document
    assert [(each["topic"], each["group"], each["partition"], each["offset"]) for each in document["offsets"]] == [
        ("orders", "g", 0, 2)
    ]
    assert document["jobs"][0]["records_read"] == 1
    replayed = flowsim("replay", document["jobs"][0]["recording"], "--allow-python")
    assert (replayed.code, replayed.err) == (0, "")


@pytest.mark.parametrize("topics", [["orders"], ["orders="], ["a/b=c"]])
def test_topic_needs_a_name_and_a_file(flowsim: Any, program: str, topics: list[str]) -> None:
    done = flowsim("pyflink", *(each for topic in topics for each in ("--topic", topic)), program, "--minus", "0")
    assert done.code == 2
    assert "topic: expected " in done.err


FILES = """
from pyflink.common import Encoder
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink

env = StreamExecutionEnvironment.get_execution_environment()
sink = FileSink.for_row_format("s3://bucket/out", Encoder.simple_string_encoder()).build()
env.from_collection([1, 2]).sink_to(sink)
env.execute("files")
"""


def test_files_are_below_the_output_folder_which_each_run_replaces(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FILES)
    out = tmp_path / "out"
    for _ in range(2):
        done = flowsim("pyflink", "--out", str(out), "--record", "off", str(tmp_path / "program.py"))
        assert (done.code, f"files     below {out}/files\n" in done.out) == (0, True)
        bucket = out / "files" / "s3" / "bucket" / "out" / "1970-01-01--00"
        assert {path.name: path.read_text() for path in bucket.iterdir()} == {"part-0-0": "1\n2\n"}
