"""Restores from checkpoints whose in-flight data was changed by someone who knows the format, so that all digests fit."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.checkpoints.storage.directory.manifest import MANIFEST, CheckpointManifest
from flowsim.checkpoints.storage.directory.tables import CHANNEL_STATE
from flowsim.cluster.job_master.savepoint_restore import SavepointRestoreSettings
from flowsim.cluster.run_actions import CancelJob
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import CheckpointSettings, NoRestart
from flowsim.units import NS_PER_MS
from flowsim.values.encoding import encode_record

RECORDS = 1200
NO_ELEMENT = "expected an element of a stream"
PART = "channel_state/part-00000.parquet"


def run(
    parallelism: int = 2, *, without_channel_state_id: int = -1, directory: str | None = None, **options: Any
) -> int:
    """Runs a job whose second stage is slow; returns the number of its results."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.restart_strategy = NoRestart()
    env.settings.segment_size_bytes = 256
    env.settings.checkpointing = CheckpointSettings(
        interval_ms=20 if directory else 60_000,
        unaligned=True,
        directory=directory,
        retention="RETAIN_ON_CANCELLATION",
        without_channel_state_id=without_channel_state_id,
    )
    sink = CollectSink()
    source = GeneratorSource(RECORDS, {"id": SequenceOf()})
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "source").rebalance()
    stream.map(lambda value: value).set_parallelism(parallelism).cost(1_000_000).rebalance().sink_to(sink)
    env.flowsim_settings(**options).execute()
    return len(sink.values())


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("checkpoints")
    run(directory=str(directory), actions=(CancelJob(30 * NS_PER_MS),))
    return directory / "chk-1"


def changed(stored: Path, folder: Path, change: Callable[[Any], object]) -> Path:
    """Returns a copy of the checkpoint with another manifest."""
    copy = folder / stored.name
    shutil.copytree(stored, copy)
    content = json.loads((copy / MANIFEST).read_bytes())
    change(content)
    (copy / MANIFEST).write_bytes(msgspec.convert(content, CheckpointManifest).to_bytes())
    return copy


def with_buffers(stored: Path, folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> Path:
    """Returns a copy of the checkpoint with other buffers."""
    table = pq.read_table(stored / PART)
    field = table.schema.field("buffer")
    buffers = pa.array(change(table["buffer"].to_pylist()), field.type)
    written = folder / "part.parquet"
    other = table.set_column(table.schema.names.index("buffer"), field, buffers)
    pq.write_table(other, written, store_schema=False, use_dictionary=CHANNEL_STATE.names("s"))
    content = written.read_bytes()

    def describe(manifest: Any) -> None:
        digest = hashlib.sha256(content).hexdigest()
        manifest["tables"]["channel_state"][0] |= {"bytes": len(content), "sha256": digest}

    copy = changed(stored, folder, describe)
    (copy / PART).write_bytes(content)
    return copy


def restored(checkpoint: Path, parallelism: int = 2, **options: Any) -> int:
    return run(parallelism, savepoint=SavepointRestoreSettings(str(checkpoint)), **options)


def handles(manifest: Any, side: str) -> list[Any]:
    """The handles of the first subtask with data on this side."""
    found: list[Any] = next(
        subtask[side] for each in manifest["operators"] for subtask in each["subtasks"] if subtask[side]
    )
    return found


def test_checkpoint_that_was_not_changed_is_restored(stored: Path, tmp_path: Path) -> None:
    """The restored sink also commits what it had before the checkpoint."""
    assert restored(stored) == RECORDS
    assert restored(with_buffers(stored, tmp_path, list), 3) == RECORDS


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (b"\xc1", "the checkpoint is damaged"),
        (b"\x01", NO_ELEMENT),
        (b"\x80", NO_ELEMENT),
        (b"\x90", NO_ELEMENT),
        (b"\x95\1\1\1\1\1", NO_ELEMENT),
        (b"\x91\xa1x", NO_ELEMENT),
        (b"\x91\xc3", NO_ELEMENT),
        (b"\x92\xa1x\1", NO_ELEMENT),
        (b"\x93\2\5\0", NO_ELEMENT),
        (b"\x94\2\0\0\0", NO_ELEMENT),
        (msgpack.packb(msgpack.ExtType(1, b"\x92\xc0\1")), NO_ELEMENT),
        (b"\x92\xc0" + msgpack.packb(msgpack.ExtType(3, b"\x96\1\xa9os:system\x90\xc0\x90\x90")), "no class os.system"),
        (b"\x92\xc0" + msgpack.packb(msgpack.ExtType(7, b"\1")), "msgpack extension 7"),
        (b"\x92\xc0" + b"\x91" * 2000 + b"\1", "the checkpoint is damaged"),
        (b"\xdd\x7f\xff\xff\xff", "the checkpoint is damaged"),
        (b"\x92\xc0\xdb\x7f\xff\xff\xff", "the checkpoint is damaged"),
        (encode_record(None, 1)[:-1], "are no whole value"),
    ],
    ids=repr,
)
def test_buffers_that_are_no_elements_are_refused_before_the_job_starts(
    stored: Path, tmp_path: Path, buffer: bytes, message: str, parallelism: int
) -> None:
    checkpoint = with_buffers(stored, tmp_path, lambda buffers: [buffer] * len(buffers))
    with pytest.raises(BadInput, match=message) as refused:
        restored(checkpoint, parallelism)
    assert "in-flight data from subtask 0 of 'Source: source' to subtask 0 of" in str(refused.value)


def test_element_that_is_cut_is_refused(stored: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"in-flight data from subtask .* use another checkpoint"):
        restored(with_buffers(stored, tmp_path, lambda buffers: [buffer[:-1] for buffer in buffers]))


@pytest.mark.parametrize("side", ["input_channels", "result_subpartitions"])
def test_channel_that_the_job_does_not_have_is_refused(stored: Path, tmp_path: Path, side: str) -> None:
    for number, change in enumerate(({"channel": 9}, {"gate_or_partition": 9}, {"channel": 2**53})):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(BadInput, match=r"the checkpoint has in-flight data of its .* which the job does not have"):
            restored(changed(stored, folder, lambda manifest, new=change: handles(manifest, side)[0].update(new)))


def test_channel_without_its_buffers_is_refused(stored: Path, tmp_path: Path) -> None:
    """The records of a channel begin in the buffers of one side, and go on in those of the other."""

    def forget(manifest: Any) -> None:
        for each in handles(manifest, "input_channels"):
            each["buffers"] = []

    without = changed(stored, tmp_path, forget)
    with pytest.raises(BadInput, match=r"in-flight data from subtask .* use another checkpoint"):
        restored(without)


def test_damaged_in_flight_data_that_is_dropped_is_not_read(stored: Path, tmp_path: Path) -> None:
    checkpoint = with_buffers(stored, tmp_path, lambda buffers: [b"\xc1"] * len(buffers))
    assert 0 < restored(checkpoint, without_channel_state_id=1) < RECORDS
