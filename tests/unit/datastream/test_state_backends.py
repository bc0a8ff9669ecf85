"""State backends and checkpoint storages: what PyFlink's classes return, and the warnings."""

from __future__ import annotations

import warnings

import pytest

from flowsim.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from flowsim.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, PredefinedOptions
from flowsim.datastream.without_effect import WithoutEffect
from flowsim.errors import BadInput


def test_backend_on_the_heap_is_what_jobs_have() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(HashMapStateBackend()) == "HashMapStateBackend"


def test_rocksdb_warns_and_keeps_its_settings() -> None:
    with pytest.warns(WithoutEffect, match=r"^EmbeddedRocksDBStateBackend: .*: keyed state is on the heap") as noted:
        backend = EmbeddedRocksDBStateBackend(True)
    assert [one.filename for one in noted] == [__file__]
    assert backend.is_incremental_checkpoints_enabled()
    # Flink 2.3.0: 4 threads.
    assert (backend.get_number_of_transfer_threads(), backend.get_options()) == (4, None)
    assert (backend.get_predefined_options(), backend.get_db_storage_paths()) == (PredefinedOptions.DEFAULT, [])
    backend.set_number_of_transfer_threads(2)
    backend.set_options("com.example.Factory")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_db_storage_paths("/one", "/two")
    assert (backend.get_number_of_transfer_threads(), backend.get_options()) == (2, "com.example.Factory")
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert backend.get_db_storage_paths() == ["/one", "/two"]
    assert str(backend) == "EmbeddedRocksDBStateBackend"


@pytest.mark.filterwarnings("ignore::flowsim.datastream.without_effect.WithoutEffect")
def test_wrong_settings_of_rocksdb_are_errors() -> None:
    with pytest.raises(TypeError, match="expected None, True or False, got 'yes'"):
        EmbeddedRocksDBStateBackend("yes")  # type: ignore[arg-type]
    backend = EmbeddedRocksDBStateBackend()
    with pytest.raises(BadInput, match="expected at least one path"):
        backend.set_db_storage_paths()
    with pytest.raises(BadInput, match="expected 1 or more, got 0"):
        backend.set_number_of_transfer_threads(0)


def test_storages_warn_and_have_flinks_defaults() -> None:
    with pytest.warns(WithoutEffect, match=r"^JobManagerCheckpointStorage: ") as noted:
        memory = JobManagerCheckpointStorage()
    assert [one.filename for one in noted] == [__file__]
    assert (memory.get_checkpoint_path(), memory.get_max_state_size(), memory.get_savepoint_path()) == (
        None,
        5 << 20,
        None,
    )
    with pytest.warns(WithoutEffect, match=r"^FileSystemCheckpointStorage: ") as noted:
        files = FileSystemCheckpointStorage("file:///tmp/x")
    assert [one.filename for one in noted] == [__file__]
    with pytest.warns(WithoutEffect):
        other = FileSystemCheckpointStorage("file:///tmp/x", 5000, 100)
    assert (files.get_checkpoint_path(), files.get_savepoint_path()) == ("file:///tmp/x", None)
    assert (files.get_min_file_size_threshold(), files.get_write_buffer_size()) == (20480, 4096)
    assert (other.get_min_file_size_threshold(), other.get_write_buffer_size()) == (5000, 100)
    assert [str(memory), str(files)] == ["JobManagerCheckpointStorage", "FileSystemCheckpointStorage"]


def test_wrong_settings_of_storages_are_errors() -> None:
    with pytest.raises(ValueError, match="checkpoint_path must not be None"):
        FileSystemCheckpointStorage()
    with pytest.raises(BadInput, match="file_state_size_threshold: expected -1 to 1048576, got 1048577"):
        FileSystemCheckpointStorage("file:///tmp/x", (1 << 20) + 1)
