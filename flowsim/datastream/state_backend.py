"""State backends, which have no effect: keyed state is on the heap. PyFlink: StateBackend."""

from __future__ import annotations

from enum import Enum

from flowsim.datastream.without_effect import warn_without_effect
from flowsim.errors import BadInput

_ON_THE_HEAP = "keyed state is on the heap; results do not depend on the backend"
_TRANSFER_THREADS = 4


class StateBackend:
    """Where keyed state is kept. PyFlink: StateBackend."""


class HashMapStateBackend(StateBackend):
    """Keyed state on the heap. PyFlink: HashMapStateBackend."""

    def __str__(self) -> str:
        return "HashMapStateBackend"


class PredefinedOptions(Enum):
    """Options of RocksDB. PyFlink: PredefinedOptions."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """Accepted with a warning; keeps its settings. PyFlink: EmbeddedRocksDBStateBackend."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise TypeError(
                "EmbeddedRocksDBStateBackend: enable_incremental_checkpointing: expected None, True or False, got "
                f"{enable_incremental_checkpointing!r:.60}"
            )
        warn_without_effect("EmbeddedRocksDBStateBackend", _ON_THE_HEAP)
        self._is_incremental = bool(enable_incremental_checkpointing)
        self._paths: tuple[str, ...] = ()
        self._predefined = PredefinedOptions.DEFAULT
        self._factory: str | None = None
        self._threads = _TRANSFER_THREADS

    def is_incremental_checkpoints_enabled(self) -> bool:
        return self._is_incremental

    def set_db_storage_paths(self, *paths: str) -> None:
        """Sets the folders of RocksDB; at least one."""
        if not paths:
            raise BadInput("set_db_storage_paths: expected at least one path, got none")
        self._paths = paths

    def get_db_storage_paths(self) -> list[str]:
        return list(self._paths)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Sets the name of a Java class."""
        self._factory = options_factory_class_name

    def get_options(self) -> str | None:
        return self._factory

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        if number_of_transfering_threads < 1:
            raise BadInput(f"set_number_of_transfer_threads: expected 1 or more, got {number_of_transfering_threads}")
        self._threads = number_of_transfering_threads

    def get_number_of_transfer_threads(self) -> int:
        return self._threads

    def __str__(self) -> str:
        return "EmbeddedRocksDBStateBackend"
